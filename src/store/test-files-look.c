/* What of a directory is read for whom: who asks for a few ids gets the same as who has read everything, and costs
 * those files alone. */
#include "base/test-support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/files.h"

#define S(text) rec_slice_of(text)

struct world {
	char path[64];
	struct rec_io io;
	size_t opened; /* task files, since it was last set to 0 */
	struct rec_error error;
};

static int io_openat(void *context, int directory, const char *name, int flags, unsigned mode)
{
	struct world *w = context;
	w->opened += rec_files_name_matters(name);
	return rec_io_real.openat(rec_io_real.context, directory, name, flags, mode);
}

#define expect(w, wanted, call)                                                                                        \
	do {                                                                                                           \
		int result_ = (call);                                                                                  \
		if (result_ != (wanted))                                                                               \
			fail_msg("%s: %d instead of %d: %s", #call, result_, wanted, (w)->error.message);              \
	} while (0)

static struct rec_store *open_store(struct world *w, enum rec_store_mode mode)
{
	struct rec_store_options options = {.mode = mode, .busy_timeout_ms = 200};
	struct rec_store *store = NULL;
	expect(w, 0, rec_store_files_open_with(w->path, &options, &w->io, &store, &w->error));
	w->opened = 0;
	return store;
}

static void file_write(struct world *w, const char *name, const char *text)
{
	char path[400];
	snprintf(path, sizeof path, "%s/%s", w->path, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static char *long_id(char last, char out[REC_ID_BYTES_MAX + 1])
{
	memset(out, 'l', 240);
	out[240] = last;
	out[241] = '\0';
	return out;
}

/* Of everything that a directory can hold something. */
static void fill(struct world *w)
{
	char id[REC_ID_BYTES_MAX + 1], name[REC_FILES_NAME_BYTES], text[600];
	file_write(w, "a.json", "{\"title\": \"x\", \"status\": \"READY\"}");
	file_write(w, "ab.json", "{\"title\": \"x\", \"status\": \"BLOCKED\", \"blockers\": [{\"question\": \"?\"}]}");
	file_write(w, "a%2Fb.json", "{\"title\": \"x\", \"status\": \"DONE\"}");
	file_write(w, "half.json", "{\"title\": ");
	file_write(w, "other.json", "{\"id\": \"a\", \"title\": \"x\", \"status\": \"DONE\"}");
	file_write(w, "no~id.json", "{\"title\": \"x\", \"status\": \"DONE\"}");
	file_write(w, ".json", "{\"title\": \"x\", \"status\": \"DONE\"}");
	for (int last = '1'; last <= '2'; last++) {
		long_id((char)last, id);
		snprintf(text, sizeof text, "{\"id\": \"%s\", \"title\": \"x\", \"status\": \"READY\"}", id);
		file_write(w, rec_files_name(S(id), name), text);
	}
}

static int setup(void **state)
{
	struct world *w = rec_zalloc(NULL, 1, sizeof *w);
	snprintf(w->path, sizeof w->path, "%s/rec-files-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(w->path));
	w->io = rec_io_real;
	w->io.context = w;
	w->io.openat = io_openat;
	rec_store_close(open_store(w, REC_STORE_INIT));
	fill(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	pid_t pid = fork();
	if (pid == 0) {
		execlp("rm", "rm", "-r", w->path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	rec_free(NULL, w);
	return 0;
}

static const char *const asked[] = {"a", "ab", "a/b", "half", "other", "no~id", "", "..", "../a", "absent", "l"};
#define ASKED (sizeof asked / sizeof *asked + 1)

static struct rec_slice asked_id(size_t i, char id[REC_ID_BYTES_MAX + 1])
{
	return S(i < ASKED - 1 ? asked[i] : long_id('2', id));
}

static void assert_same_task(struct world *w, struct rec_store *some, struct rec_store *all, struct rec_slice id)
{
	struct rec_arena arena;
	struct rec_task one = {0}, other = {0};
	rec_arena_init(&arena, NULL);
	int wanted = rec_store_get(all, id, &arena, &other, &w->error);
	expect(w, wanted, rec_store_get(some, id, &arena, &one, &w->error));
	if (wanted == 0) {
		assert_true(rec_slice_equal(one.id, other.id));
		assert_true(rec_slice_equal(one.status_text, other.status_text));
		assert_int_equal(one.status, other.status);
		assert_int_equal(one.blocker_count, other.blocker_count);
	}
	rec_arena_release(&arena);
}

static void test_get__one_task_costs_its_file(void **state)
{
	struct world *w = *state;
	struct rec_store *all = open_store(w, REC_STORE_READ);
	struct rec_snapshot snapshot;
	char id[REC_ID_BYTES_MAX + 1];
	expect(w, 0, rec_store_snapshot(all, NULL, 0, 0, &snapshot, &w->error));
	assert_int_equal(snapshot.count, 7);
	rec_snapshot_release(&snapshot);
	for (size_t i = 0; i < ASKED; i++) {
		struct rec_store *some = open_store(w, REC_STORE_READ);
		assert_same_task(w, some, all, asked_id(i, id));
		assert_true(w->opened <= 1);
		rec_store_close(some);
	}
	rec_store_close(all);
}

static void test_snapshot__of_ids_costs_their_files(void **state)
{
	struct world *w = *state;
	struct rec_store *store = open_store(w, REC_STORE_WRITE);
	struct rec_snapshot snapshot;
	char id[REC_ID_BYTES_MAX + 1];
	struct rec_slice ids[ASKED];
	for (size_t i = 0; i < ASKED; i++)
		ids[i] = asked_id(i, id);
	expect(w, 0, rec_store_snapshot(store, ids, ASKED, REC_SNAPSHOT_BLOCKERS, &snapshot, &w->error));
	assert_int_equal(w->opened, ASKED - 1); /* "" is no id */
	assert_int_equal(snapshot.facts[0].status, REC_READY);
	assert_int_equal(snapshot.facts[1].blockers_open, 1);
	assert_int_equal(snapshot.facts[ASKED - 1].status, REC_READY);
	rec_snapshot_release(&snapshot);
	file_write(w, "a.json", "{\"title\": \"x\", \"status\": \"FAILED\"}"); /* asked again, it is looked at again */
	expect(w, 0, rec_store_snapshot(store, ids, 1, 0, &snapshot, &w->error));
	assert_int_equal(snapshot.facts[0].status, REC_FAILED);
	rec_snapshot_release(&snapshot);
	expect(w, 0, rec_store_snapshot(store, NULL, 0, 0, &snapshot, &w->error)); /* and then all */
	assert_int_equal(snapshot.count, 7);
	rec_snapshot_release(&snapshot);
	rec_store_close(store);
}

static size_t found(struct world *w, struct rec_store *store, const char *prefix)
{
	struct rec_arena arena;
	struct rec_slice ids[16];
	size_t count = 0;
	rec_arena_init(&arena, NULL);
	expect(w, 0, rec_store_find_prefix(store, S(prefix), &arena, ids, 16, &count, &w->error));
	rec_arena_release(&arena);
	return count;
}

static void test_prefix__costs_the_files_that_may_begin_so(void **state)
{
	struct world *w = *state;
	char id[REC_ID_BYTES_MAX + 1], path[400];
	struct rec_store *store = open_store(w, REC_STORE_READ);
	assert_int_equal(found(w, store, "a"), 3); /* a, a/b, ab */
	assert_int_equal(w->opened, 3);
	assert_int_equal(found(w, store, "a/"), 1);
	assert_int_equal(found(w, store, "l"), 2);
	assert_int_equal(found(w, store, long_id('2', id)), 1);
	id[200] = '\0';
	assert_int_equal(found(w, store, id), 2);
	assert_int_equal(found(w, store, "h"), 1);
	snprintf(path, sizeof path, "%s/ab.json", w->path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(found(w, store, "a"), 2);
	rec_store_close(store);
}

static void test_get__who_asks_often_has_read_everything(void **state)
{
	struct world *w = *state;
	struct rec_store *store = open_store(w, REC_STORE_READ);
	struct rec_arena arena;
	struct rec_task task;
	rec_arena_init(&arena, NULL);
	for (int i = 0; i < 2000; i++)
		expect(w, 0, rec_store_get(store, S("a"), &arena, &task, &w->error));
	assert_true(rec_files_of(store)->loaded);
	rec_arena_release(&arena);
	rec_store_close(store);
}

int main(void)
{
#define in_world(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		in_world(test_get__one_task_costs_its_file),
		in_world(test_snapshot__of_ids_costs_their_files),
		in_world(test_prefix__costs_the_files_that_may_begin_so),
		in_world(test_get__who_asks_often_has_read_everything),
	};
	return cmocka_run_group_tests_name("store/files-look", tests, NULL, NULL);
}
