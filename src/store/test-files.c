/* The directory backend from inside: texts that are edited in place, groups that a death cuts short, files that
 * people change meanwhile, and what a cursor is worth then. What every store promises is in tests/contract. */
#include "base/test-support.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/files.h"

#define S(text) rec_slice_of(text)

/* ---- A place, and a table of calls in which renames, or all writing, can be made to fail ---- */

struct world {
	char path[64];
	struct rec_io io;
	struct rec_store *store;
	struct rec_error error;
};

static int renames_left = -1, write_errno;

static int io_rename(void *context, int from_directory, const char *from, int to_directory, const char *to)
{
	if (renames_left == 0) {
		errno = EIO;
		return -1;
	}
	renames_left -= renames_left > 0;
	return rec_io_real.rename(context, from_directory, from, to_directory, to);
}

static int io_write(void *context, int fd, const void *bytes, size_t length, off_t at)
{
	if (write_errno) {
		errno = write_errno;
		return -1;
	}
	return rec_io_real.write(context, fd, bytes, length, at);
}

/* A person at work when the next group reaches the log. */
static void (*person)(struct world *w);
static struct world *person_world;

static int io_write_durably(void *context, int fd, const void *bytes, size_t length, off_t at)
{
	void (*now)(struct world * w) = person;
	person = NULL;
	if (now)
		now(person_world);
	return rec_io_real.write_durably(context, fd, bytes, length, at);
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
	return store;
}

static int setup(void **state)
{
	struct world *w = rec_zalloc(NULL, 1, sizeof *w);
	snprintf(w->path, sizeof w->path, "%s/rec-files-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(w->path));
	w->io = rec_io_real;
	w->io.rename = io_rename;
	w->io.write = io_write;
	w->io.write_durably = io_write_durably;
	person_world = w;
	w->store = open_store(w, REC_STORE_INIT);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	char command[128];
	renames_left = -1;
	write_errno = 0;
	person = NULL;
	rec_store_close(w->store);
	snprintf(command, sizeof command, "rm -r %s", w->path);
	pid_t pid = fork();
	if (pid == 0) {
		execlp("rm", "rm", "-r", w->path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	rec_free(NULL, w);
	return 0;
}

static void add(struct world *w, const char *id, enum rec_status status)
{
	struct rec_task task = {.id = S(id), .title = S("a task"), .status = status, .is_leaf = true};
	expect(w, 0, rec_store_create(w->store, &task, &w->error));
}

static enum rec_status status_of(struct world *w, struct rec_store *store, const char *id)
{
	struct rec_snapshot snapshot;
	struct rec_slice ids[] = {S(id)};
	expect(w, 0, rec_store_snapshot(store, ids, 1, 0, &snapshot, &w->error));
	enum rec_status status = snapshot.facts[0].status;
	rec_snapshot_release(&snapshot);
	return status;
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

static char *file_read(struct world *w, const char *name, char text[4096])
{
	char path[400];
	snprintf(path, sizeof path, "%s/%s", w->path, name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, 4095, file)] = '\0';
	fclose(file);
	return text;
}

static int set(struct world *w, const char *id, enum rec_status from, enum rec_status to)
{
	return rec_store_set_status(w->store, S(id), from, to, NULL, NULL, NULL, &w->error);
}

/* ---- A group that a death cut short ---- */

/* As a kill between the renames would: the log has the group, some of its files are not in place. */
static void group_cut_short(struct world *w, int renames)
{
	add(w, "a", REC_READY);
	add(w, "b", REC_READY);
	add(w, "gone", REC_READY);
	renames_left = renames;
	expect(w, 0, rec_store_begin(w->store, &w->error));
	expect(w, 0, set(w, "a", REC_READY, REC_DONE));
	expect(w, 0, set(w, "b", REC_READY, REC_DONE));
	expect(w, 0, rec_store_delete(w->store, S("gone"), &w->error));
	add(w, "new", REC_DONE);
	expect(w, 0, rec_store_commit(w->store, &w->error));
	renames_left = -1;
}

static void assert_whole(struct world *w, struct rec_store *store)
{
	assert_int_equal(status_of(w, store, "a"), REC_DONE);
	assert_int_equal(status_of(w, store, "b"), REC_DONE);
	assert_int_equal(status_of(w, store, "gone"), REC_STATUS_ABSENT);
	assert_int_equal(status_of(w, store, "new"), REC_DONE);
}

static void test_groups__a_reader_sees_all_of_one_that_was_cut_short(void **state)
{
	struct world *w = *state;
	struct rec_store *before = open_store(w, REC_STORE_READ);
	assert_int_equal(status_of(w, before, "a"), REC_STATUS_ABSENT);
	for (int renames = 0; renames < 3; renames++) {
		char text[4096];
		group_cut_short(w, renames);
		if (renames == 0)
			assert_non_null(strstr(file_read(w, "a.json", text), "READY"));
		struct rec_store *after = open_store(w, REC_STORE_READ);
		assert_whole(w, before);
		assert_whole(w, after);
		rec_store_close(after);
		assert_whole(w, w->store);
		expect(w, 0, rec_store_delete(w->store, S("a"), &w->error));
		expect(w, 0, rec_store_delete(w->store, S("b"), &w->error));
		expect(w, 0, rec_store_delete(w->store, S("new"), &w->error));
	}
	rec_store_close(before);
}

static void test_groups__the_next_writer_completes_one_that_was_cut_short(void **state)
{
	struct world *w = *state;
	char text[4096];
	group_cut_short(w, 1);
	rec_store_close(w->store);
	w->store = open_store(w, REC_STORE_WRITE);
	add(w, "next", REC_READY);
	assert_whole(w, w->store);
	assert_non_null(strstr(file_read(w, "a.json", text), "DONE"));
	assert_non_null(strstr(file_read(w, "b.json", text), "DONE"));
	assert_non_null(strstr(file_read(w, "new.json", text), "DONE"));
}

static void test_groups__what_a_person_wrote_after_the_death_stands(void **state)
{
	struct world *w = *state;
	char text[4096];
	group_cut_short(w, 0);
	rec_store_close(w->store);
	file_write(w, "b.json", "{\"title\": \"by hand\", \"status\": \"BACKLOG\"}");
	w->store = open_store(w, REC_STORE_WRITE);
	assert_int_equal(status_of(w, w->store, "a"), REC_DONE);
	assert_int_equal(status_of(w, w->store, "b"), REC_BACKLOG);
	add(w, "next", REC_READY);
	assert_int_equal(status_of(w, w->store, "b"), REC_BACKLOG);
	assert_non_null(strstr(file_read(w, "b.json", text), "by hand"));
}

static void test_groups__one_that_cannot_be_completed_yet_is_completed_later(void **state)
{
	struct world *w = *state;
	struct rec_task next = {.id = S("next"), .title = S("a task"), .status = REC_READY, .is_leaf = true};
	char text[4096];
	group_cut_short(w, 1);
	rec_store_close(w->store);
	w->store = open_store(w, REC_STORE_WRITE);
	renames_left = 0;
	for (int i = 0; i < 2; i++) {
		expect(w, REC_E_IO, rec_store_create(w->store, &next, &w->error));
		assert_non_null(strstr(w->error.message, ".json"));
		assert_whole(w, w->store);
		assert_int_equal(status_of(w, w->store, "next"), REC_STATUS_ABSENT);
	}
	renames_left = -1;
	expect(w, 0, rec_store_create(w->store, &next, &w->error));
	assert_whole(w, w->store);
	assert_non_null(strstr(file_read(w, "b.json", text), "DONE"));
	assert_non_null(strstr(file_read(w, "new.json", text), "DONE"));
}

/* ---- Other people ---- */

static void test_commit__a_file_changed_meanwhile_is_left_to_its_writer(void **state)
{
	struct world *w = *state;
	char text[4096];
	add(w, "a", REC_READY);
	expect(w, 0, rec_store_begin(w->store, &w->error));
	expect(w, 0, set(w, "a", REC_READY, REC_IN_PROGRESS));
	file_write(w, "a.json", "{\"title\": \"by hand\", \"status\": \"DONE\"}");
	expect(w, REC_E_BUSY, rec_store_commit(w->store, &w->error));
	assert_int_equal(status_of(w, w->store, "a"), REC_DONE);
	assert_string_equal(file_read(w, "a.json", text), "{\"title\": \"by hand\", \"status\": \"DONE\"}");
	expect(w, REC_CONFLICT, set(w, "a", REC_READY, REC_IN_PROGRESS));
}

static void file_unlink(struct world *w, const char *name)
{
	char path[400];
	snprintf(path, sizeof path, "%s/%s", w->path, name);
	assert_int_equal(unlink(path), 0);
}

#define BY_HAND "{\"title\": \"by hand\", \"status\": \"BACKLOG\"}"

static void person_writes(struct world *w)
{
	file_write(w, "a.json", BY_HAND);
	file_write(w, "gone.json", BY_HAND);
	file_write(w, "new.json", BY_HAND);
	file_unlink(w, "lost.json");
}

/* The files were prepared, and then a person wrote them, before they were put in place. */
static void test_commit__what_a_person_writes_until_the_files_are_in_place_stands(void **state)
{
	struct world *w = *state;
	static const char *const names[] = {"a.json", "gone.json", "new.json"};
	char text[4096];
	add(w, "a", REC_READY);
	add(w, "b", REC_READY);
	add(w, "gone", REC_READY);
	add(w, "lost", REC_READY);
	struct rec_store *second = open_store(w, REC_STORE_READ);
	assert_int_equal(status_of(w, second, "a"), REC_READY);
	expect(w, 0, rec_store_begin(w->store, &w->error));
	expect(w, 0, set(w, "a", REC_READY, REC_DONE));
	expect(w, 0, set(w, "b", REC_READY, REC_DONE));
	expect(w, 0, set(w, "lost", REC_READY, REC_DONE));
	expect(w, 0, rec_store_delete(w->store, S("gone"), &w->error));
	add(w, "new", REC_DONE);
	person = person_writes;
	expect(w, 0, rec_store_commit(w->store, &w->error));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_string_equal(file_read(w, names[i], text), BY_HAND);
	struct rec_store *third = open_store(w, REC_STORE_WRITE), *stores[] = {w->store, second, third};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(status_of(w, stores[i], "a"), REC_BACKLOG);
		assert_int_equal(status_of(w, stores[i], "b"), REC_DONE);
		assert_int_equal(status_of(w, stores[i], "gone"), REC_BACKLOG);
		assert_int_equal(status_of(w, stores[i], "new"), REC_BACKLOG);
		assert_int_equal(status_of(w, stores[i], "lost"), REC_STATUS_ABSENT);
	}
	expect(w, 0, set(w, "a", REC_BACKLOG, REC_READY));
	assert_non_null(strstr(file_read(w, "a.json", text), "by hand"));
	assert_int_equal(status_of(w, third, "a"), REC_READY);
	rec_store_close(third);
	rec_store_close(second);
}

static void test_commit__a_file_changed_meanwhile_is_not_removed(void **state)
{
	struct world *w = *state;
	char text[4096];
	add(w, "a", REC_READY);
	expect(w, 0, rec_store_begin(w->store, &w->error));
	expect(w, 0, rec_store_delete(w->store, S("a"), &w->error));
	file_write(w, "a.json", BY_HAND);
	expect(w, REC_E_BUSY, rec_store_commit(w->store, &w->error));
	assert_string_equal(file_read(w, "a.json", text), BY_HAND);
	assert_int_equal(status_of(w, w->store, "a"), REC_BACKLOG);
	expect(w, 0, rec_store_delete(w->store, S("a"), &w->error));
	assert_int_equal(status_of(w, w->store, "a"), REC_STATUS_ABSENT);
}

static void test_commit__a_file_made_meanwhile_is_not_replaced(void **state)
{
	struct world *w = *state;
	char text[4096];
	expect(w, 0, rec_store_begin(w->store, &w->error));
	add(w, "new", REC_READY);
	file_write(w, "new.json", BY_HAND);
	expect(w, REC_E_BUSY, rec_store_commit(w->store, &w->error));
	assert_string_equal(file_read(w, "new.json", text), BY_HAND);
	assert_int_equal(status_of(w, w->store, "new"), REC_BACKLOG);
}

static void test_commit__on_a_full_disk_the_old_file_stays_whole(void **state)
{
	struct world *w = *state;
	char before[4096], after[4096];
	add(w, "a", REC_READY);
	file_read(w, "a.json", before);
	write_errno = ENOSPC;
	expect(w, REC_E_FULL, set(w, "a", REC_READY, REC_DONE));
	assert_string_equal(file_read(w, "a.json", after), before);
	assert_int_equal(status_of(w, w->store, "a"), REC_READY);
	write_errno = 0;
	expect(w, 0, set(w, "a", REC_READY, REC_DONE));
}

static int count_id(void *context, struct rec_slice id)
{
	(void)id;
	++*(size_t *)context;
	return 0;
}

static void test_changes__an_edit_by_hand_is_told_to_every_handle(void **state)
{
	struct world *w = *state;
	struct rec_store *second = open_store(w, REC_STORE_READ);
	struct rec_cursor cursors[2] = {{0}};
	struct rec_store *stores[] = {w->store, second};
	add(w, "a", REC_READY);
	for (size_t i = 0; i < 2; i++)
		expect(w, REC_RESCAN, rec_store_changes(stores[i], &cursors[i], count_id, NULL, &w->error));
	for (int round = 0; round < 3; round++) {
		file_write(w, "a.json",
			   round % 2 ? "{\"title\": \"t\", \"status\": \"DONE\"}"
				     : "{\"title\": \"t\", \"status\": \"READY\", \"priority\": 4}");
		for (size_t i = 0; i < 2; i++) {
			size_t told = 0;
			expect(w, 0, rec_store_changes(stores[i], &cursors[i], count_id, &told, &w->error));
			assert_int_equal(told, 1);
			told = 0;
			expect(w, 0, rec_store_changes(stores[i], &cursors[i], count_id, &told, &w->error));
			assert_int_equal(told, 0);
		}
	}
	rec_store_close(second);
}

static void test_changes__an_edit_while_nobody_looked_makes_old_cursors_rescan(void **state)
{
	struct world *w = *state;
	struct rec_cursor cursor = {0}, old;
	size_t told = 0;
	add(w, "a", REC_READY);
	expect(w, REC_RESCAN, rec_store_changes(w->store, &cursor, count_id, NULL, &w->error));
	rec_store_close(w->store);
	w->store = open_store(w, REC_STORE_WRITE);
	old = cursor;
	expect(w, 0, rec_store_changes(w->store, &cursor, count_id, &told, &w->error)); /* nothing happened */
	assert_int_equal(told, 0);
	rec_store_close(w->store);
	file_write(w, "a.json", "{\"title\": \"t\", \"status\": \"DONE\"}");
	w->store = open_store(w, REC_STORE_WRITE);
	expect(w, REC_RESCAN, rec_store_changes(w->store, &cursor, count_id, NULL, &w->error));
	expect(w, 0, rec_store_changes(w->store, &cursor, count_id, &told, &w->error));
	assert_int_equal(told, 0);
	/* Also after a commit has made the edit known to the log, and for a handle that was not there. */
	add(w, "b", REC_READY);
	struct rec_store *second = open_store(w, REC_STORE_READ);
	expect(w, REC_RESCAN, rec_store_changes(second, &old, count_id, NULL, &w->error));
	rec_store_close(second);
}

static void test_feed__without_inotify_everything_is_still_seen(void **state)
{
	struct world *w = *state;
	struct rec_files *f = rec_files_of(w->store);
	struct rec_cursor cursor = {0};
	size_t told = 0;
	add(w, "a", REC_READY);
	expect(w, REC_RESCAN, rec_store_changes(w->store, &cursor, count_id, NULL, &w->error));
	rec_files_watch_end(f);
	file_write(w, "a.json", "{\"title\": \"t\", \"status\": \"DONE\"}");
	expect(w, 0, rec_store_changes(w->store, &cursor, count_id, &told, &w->error));
	assert_int_equal(told, 1);
	f->rescan = true; /* as after an overflow of its queue */
	file_write(w, "b.json", "{\"title\": \"t\", \"status\": \"DONE\"}");
	expect(w, 0, rec_store_changes(w->store, &cursor, count_id, &told, &w->error));
	assert_int_equal(told, 2);
}

static void test_wake__the_descriptor_tells_of_edits_and_of_commits(void **state)
{
	struct world *w = *state;
	struct rec_store *second = open_store(w, REC_STORE_READ);
	struct pollfd wake = {.events = POLLIN};
	struct rec_event event = {.event = S("X")};
	expect(w, 0, rec_store_wake_fd(second, &wake.fd, &w->error));
	assert_true(wake.fd >= 0);
	rec_store_wake_drain(second);
	assert_int_equal(poll(&wake, 1, 0), 0);
	file_write(w, "a.json", "{\"title\": \"t\", \"status\": \"DONE\"}");
	assert_int_equal(poll(&wake, 1, 5000), 1);
	rec_store_wake_drain(second);
	assert_int_equal(status_of(w, second, "a"), REC_DONE); /* what was drained is not forgotten */
	expect(w, 0, rec_store_event_add(w->store, &event, &w->error));
	assert_int_equal(poll(&wake, 1, 5000), 1);
	rec_store_close(second);
}

/* ---- Doubles ---- */

static void test_doubles__the_other_one_takes_over_when_the_first_goes(void **state)
{
	struct world *w = *state;
	struct rec_blocker blocker;
	struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	static const char text[] = "{\"title\": \"t\", \"status\": \"BLOCKED\", \"blockers\": [{\"id\": \"k\", "
				   "\"question\": \"?\"}]}";
	file_write(w, "a.json", text);
	file_write(w, "b.json", text);
	expect(w, 0, rec_store_blocker_get(w->store, S("k"), &arena, &blocker, &w->error));
	char name[16], path[400];
	snprintf(name, sizeof name, "%.*s", (int)blocker.task_id.length, blocker.task_id.data);
	snprintf(path, sizeof path, "%s/%s.json", w->path, name);
	assert_int_equal(unlink(path), 0);
	expect(w, 0, rec_store_blocker_get(w->store, S("k"), &arena, &blocker, &w->error));
	assert_int_equal(blocker.task_id.data[0], name[0] == 'a' ? 'b' : 'a');
	rec_arena_release(&arena);
}

/* ---- The log ---- */

static void test_log__is_written_anew_when_it_has_grown_and_others_follow(void **state)
{
	struct world *w = *state;
	struct rec_store *second = open_store(w, REC_STORE_WRITE);
	struct rec_files *f = rec_files_of(w->store);
	char id[16], long_text[4000];
	memset(long_text, 'x', sizeof long_text);
	add(w, "a", REC_READY);
	struct rec_claim claim = {.task_id = S("a"), .owner = S("o")};
	expect(w, 0, rec_store_claim(w->store, &claim, NULL, &w->error));
	uint64_t inode = f->log.inode;
	for (int i = 0; f->log.inode == inode && i < 2000; i++) {
		snprintf(id, sizeof id, "%d", i % 10);
		struct rec_slice value = {long_text, sizeof long_text - (size_t)(i % 100)};
		expect(w, 0, rec_store_tracker_cursor_put(w->store, S("t"), S(id), value, &w->error));
	}
	assert_int_not_equal(f->log.inode, inode);
	assert_true(f->log.position < 100000);
	add(w, "b", REC_READY);
	assert_int_equal(status_of(w, second, "b"), REC_READY);
	struct rec_finish finish = {.claim_id = claim.claim_id, .to = REC_DONE, .outcome = S("done")};
	expect(w, 0, rec_store_finish(second, &finish, NULL, &w->error));
	assert_int_equal(status_of(w, w->store, "a"), REC_DONE);
	rec_store_close(second);
}

static void test_log__every_cut_of_it_is_a_store_of_whole_groups(void **state)
{
	(void)state;
	struct rec_buffer log;
	size_t ends[4];
	rec_buffer_init(&log, NULL, 4096);
	for (int i = 0; i < 3; i++) {
		ends[i] = log.length;
		rec_buffer_printf(&log, "+claim {\"claim_id\":%d}\ncounters {}\n", i);
		rec_files_group_end(&log, ends[i], i);
	}
	ends[3] = log.length;
	for (size_t length = 0; length <= log.length; length++) {
		struct rec_slice rest = {log.data, length};
		struct rec_files_group group;
		int found = 0;
		while (rec_files_group_next(rest, &group, NULL) == 0) {
			assert_int_equal(group.number, found++);
			rest = (struct rec_slice){rest.data + group.length, rest.length - group.length};
		}
		int wanted = 0;
		for (int i = 1; i < 4; i++)
			wanted += length >= ends[i];
		assert_int_equal(found, wanted);
	}
	for (size_t at = 0; at < ends[2]; at++) { /* a damaged byte before the end is never passed over */
		struct rec_slice rest = rec_buffer_slice(&log);
		struct rec_files_group group;
		int r, found = 0;
		log.data[at] ^= 1;
		while ((r = rec_files_group_next(rest, &group, NULL)) == 0) {
			found++;
			rest = (struct rec_slice){rest.data + group.length, rest.length - group.length};
		}
		log.data[at] ^= 1;
		assert_true(found < 3);
	}
	rec_buffer_release(&log);
}

int main(void)
{
#define in_world(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		in_world(test_groups__a_reader_sees_all_of_one_that_was_cut_short),
		in_world(test_groups__the_next_writer_completes_one_that_was_cut_short),
		in_world(test_groups__what_a_person_wrote_after_the_death_stands),
		in_world(test_groups__one_that_cannot_be_completed_yet_is_completed_later),
		in_world(test_commit__a_file_changed_meanwhile_is_left_to_its_writer),
		in_world(test_commit__what_a_person_writes_until_the_files_are_in_place_stands),
		in_world(test_commit__a_file_changed_meanwhile_is_not_removed),
		in_world(test_commit__a_file_made_meanwhile_is_not_replaced),
		in_world(test_commit__on_a_full_disk_the_old_file_stays_whole),
		in_world(test_changes__an_edit_by_hand_is_told_to_every_handle),
		in_world(test_changes__an_edit_while_nobody_looked_makes_old_cursors_rescan),
		in_world(test_feed__without_inotify_everything_is_still_seen),
		in_world(test_wake__the_descriptor_tells_of_edits_and_of_commits),
		in_world(test_doubles__the_other_one_takes_over_when_the_first_goes),
		in_world(test_log__is_written_anew_when_it_has_grown_and_others_follow),
		cmocka_unit_test(test_log__every_cut_of_it_is_a_store_of_whole_groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
