/* The texts that are kept of task files: who has them reads only what has changed, and what is wrong with them changes
 * nothing. */
#include "base/test-support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/files.h"

#define S(text) rec_slice_of(text)
#define FILES 300

struct world {
	char path[64];
	struct rec_io io;
	size_t opened; /* task files, since it was last set to 0 */
	bool all_young, coarse, writes_fail;
	struct rec_error error;
};

static int io_openat(void *context, int directory, const char *name, int flags, unsigned mode)
{
	struct world *w = context;
	w->opened += rec_files_name_matters(name);
	return rec_io_real.openat(rec_io_real.context, directory, name, flags, mode);
}

static int io_fstat(void *context, int fd, struct stat *ret)
{
	struct world *w = context;
	int r = rec_io_real.fstat(rec_io_real.context, fd, ret);
	if (w->all_young || w->coarse)
		clock_gettime(CLOCK_REALTIME, &ret->st_ctim);
	if (w->coarse) {
		ret->st_ctim.tv_sec--;
		ret->st_ctim.tv_nsec = 0;
	}
	return r;
}

static int io_write(void *context, int fd, const void *bytes, size_t length, off_t at)
{
	struct world *w = context;
	if (!w->writes_fail)
		return rec_io_real.write(rec_io_real.context, fd, bytes, length, at);
	errno = ENOSPC;
	return -1;
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

static char *path_of(const struct world *w, const char *name, char out[200])
{
	snprintf(out, 200, "%s/%s", w->path, name);
	return out;
}

static void bytes_write(const struct world *w, const char *name, const char *bytes, size_t length)
{
	char path[200];
	FILE *file = fopen(path_of(w, name, path), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static void file_write(const struct world *w, const char *name, const char *text)
{
	bytes_write(w, name, text, strlen(text));
}

static void settle(const struct world *w, const char *name)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct rec_files_identity identity;
	struct stat status;
	char path[200];
	assert_int_equal(stat(path_of(w, name, path), &status), 0);
	rec_files_identity_of(&status, &identity);
	while (rec_files_young(&identity))
		nanosleep(&pause, NULL);
}

static int setup(void **state)
{
	struct world *w = rec_zalloc(NULL, 1, sizeof *w);
	char name[64], text[200];
	snprintf(w->path, sizeof w->path, "%s/rec-files-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(w->path));
	w->io = rec_io_real;
	w->io.context = w;
	w->io.openat = io_openat;
	w->io.fstat = io_fstat;
	w->io.write = io_write;
	rec_store_close(open_store(w, REC_STORE_INIT));
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "t%03d.json", i);
		snprintf(text, sizeof text, "{\"title\": \"task %d\", \"status\": \"%s\"}", i,
			 i % 3 ? "READY" : "DONE");
		file_write(w, name, text);
	}
	file_write(w, "t007.json", "<<<<<<< ours\n");
	settle(w, "t007.json");
	settle(w, name);
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

/* As a command that changes something. */
static void group(struct world *w)
{
	struct rec_store *store = open_store(w, REC_STORE_WRITE);
	expect(w, 0, rec_store_begin(store, &w->error));
	rec_store_rollback(store);
	rec_store_close(store);
}

static bool index_there(const struct world *w)
{
	char path[200];
	return access(path_of(w, ".rec/index", path), F_OK) == 0;
}

/* The statuses of all, in their order; how many files were read is in w->opened. */
static size_t statuses(struct world *w, uint8_t out[FILES + 1])
{
	struct rec_store *store = open_store(w, REC_STORE_READ);
	struct rec_snapshot snapshot;
	expect(w, 0, rec_store_snapshot(store, NULL, 0, 0, &snapshot, &w->error));
	assert_in_range(snapshot.count, 1, FILES + 1);
	for (size_t i = 0; i < snapshot.count; i++)
		out[i] = snapshot.facts[i].status;
	size_t count = snapshot.count;
	rec_snapshot_release(&snapshot);
	rec_store_close(store);
	return count;
}

static void assert_as_written(struct world *w)
{
	uint8_t now[FILES + 1];
	assert_int_equal(statuses(w, now), FILES);
	for (size_t i = 0; i < FILES; i++)
		assert_int_equal(now[i], i == 7 ? REC_STATUS_UNRECOGNISED : i % 3 ? REC_READY : REC_DONE);
}

/* ---- What is read ---- */

static void test_index__after_a_group_no_file_is_read_again(void **state)
{
	struct world *w = *state;
	assert_as_written(w);
	assert_int_equal(w->opened, FILES);
	assert_false(index_there(w)); /* who only reads writes nothing */
	group(w);
	assert_true(index_there(w));
	assert_as_written(w);
	assert_int_equal(w->opened, 0);
	group(w); /* nor does this one, and all stays */
	assert_int_equal(w->opened, 0);
	assert_as_written(w);
	assert_int_equal(w->opened, 0);
}

static void test_index__is_its_owners_alone(void **state)
{
	struct world *w = *state;
	struct stat status;
	char path[200];
	group(w);
	assert_int_equal(stat(path_of(w, ".rec/index", path), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

/* A change that keeps the size and puts the time back is one all the same. */
static void test_index__what_has_changed_is_read(void **state)
{
	struct world *w = *state;
	uint8_t now[FILES + 1];
	struct stat before;
	char path[200], other[200];
	group(w);
	assert_int_equal(stat(path_of(w, "t001.json", path), &before), 0);
	file_write(w, "t001.json", "{\"title\": \"task 1\", \"status\": \"MERGE\"}");
	assert_int_equal(truncate(path, before.st_size), 0);
	const struct timespec times[2] = {before.st_atim, before.st_mtim};
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	file_write(w, ".new", "{\"title\": \"x\", \"status\": \"FAILED\"}");
	assert_int_equal(rename(path_of(w, ".new", other), path_of(w, "t002.json", path)), 0);
	assert_int_equal(unlink(path_of(w, "t003.json", path)), 0);
	file_write(w, "t900.json", "{\"title\": \"x\", \"status\": \"BACKLOG\"}");
	file_write(w, "t004.json", "{\"title\": \"x\", \"sta");
	assert_int_equal(statuses(w, now), FILES);
	assert_int_equal(w->opened, 4);
	assert_int_equal(now[1], REC_STATUS_UNRECOGNISED);
	assert_int_equal(now[2], REC_FAILED);
	assert_int_equal(now[3], REC_STATUS_UNRECOGNISED); /* t004 */
	assert_int_equal(now[4], REC_READY);               /* t005 */
	assert_int_equal(now[FILES - 1], REC_BACKLOG);
}

/* ---- What goes in ---- */

static void test_index__not_what_may_change_again_without_a_sign(void **state)
{
	struct world *w = *state;
	w->all_young = true;
	group(w);
	assert_false(index_there(w));
	w->all_young = false;
	w->coarse = true;
	group(w);
	assert_false(index_there(w));
	w->coarse = false;
	group(w);
	assert_true(index_there(w));
}

static void test_index__is_written_anew_when_much_has_changed(void **state)
{
	struct world *w = *state;
	char name[64];
	group(w);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "t%03d.json", i);
		file_write(w, name, "{\"title\": \"x\", \"status\": \"FAILED\"}");
		if (i == 0) { /* not for one */
			settle(w, name);
			group(w);
			uint8_t now[FILES + 1];
			statuses(w, now);
			assert_int_equal(w->opened, 1);
		}
	}
	settle(w, name);
	group(w);
	uint8_t now[FILES + 1];
	assert_int_equal(statuses(w, now), FILES);
	assert_int_equal(w->opened, 0);
	assert_int_equal(now[5], REC_FAILED);
}

static void test_index__that_it_cannot_be_written_does_not_matter(void **state)
{
	struct world *w = *state;
	char path[200];
	w->writes_fail = true;
	group(w);
	w->writes_fail = false;
	assert_false(index_there(w));
	assert_int_equal(access(path_of(w, ".rec/index.new", path), F_OK), -1);
	assert_as_written(w);
	group(w);
	assert_true(index_there(w));
}

/* ---- What is wrong with it ---- */

static void test_index__torn_or_damaged_anywhere_it_changes_nothing(void **state)
{
	struct world *w = *state;
	char path[200];
	struct stat status;
	group(w);
	assert_int_equal(stat(path_of(w, ".rec/index", path), &status), 0);
	size_t length = (size_t)status.st_size;
	char *whole = rec_alloc(NULL, length);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fread(whole, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	for (size_t at = 0; at < length; at += length / 60 + 1) {
		bytes_write(w, ".rec/index", whole, at);
		assert_as_written(w);
		whole[at] ^= 0x55;
		bytes_write(w, ".rec/index", whole, length);
		assert_as_written(w);
		whole[at] ^= 0x55;
	}
	bytes_write(w, ".rec/index", whole, length);
	assert_as_written(w);
	assert_int_equal(w->opened, 0);
	rec_free(NULL, whole);
}

static void test_index__what_is_no_file_or_not_ours_is_none(void **state)
{
	struct world *w = *state;
	char path[200], moved[200];
	group(w);
	path_of(w, ".rec/index", path);
	assert_int_equal(rename(path, path_of(w, ".rec/moved", moved)), 0);
	assert_int_equal(symlink("moved", path), 0);
	assert_as_written(w);
	assert_int_equal(w->opened, FILES);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_as_written(w);
	assert_int_equal(w->opened, FILES);
	assert_int_equal(unlink(path), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(rename(moved, path), 0);
	assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
	assert_as_written(w);
	assert_int_equal(w->opened, FILES);
}

static void test_index__without_memory_for_it_nothing_is_wrong(void **state)
{
	struct world *w = *state;
	struct rec_failing_allocator failing;
	uint64_t calls = 1;
	group(w);
	for (uint64_t n = 0; n < calls; n += 1 + n / 16) { /* first without a failure */
		rec_failing_allocator_init(&failing, n, 0);
		const struct rec_store_options options = {.mode = REC_STORE_READ, .allocator = &failing.allocator};
		struct rec_store *store = NULL;
		struct rec_snapshot snapshot;
		int r = rec_store_files_open_with(w->path, &options, &w->io, &store, &w->error);
		if (r == 0)
			r = rec_store_snapshot(store, NULL, 0, 0, &snapshot, &w->error);
		if (r == 0) {
			assert_int_equal(snapshot.count, FILES);
			rec_snapshot_release(&snapshot);
		} else {
			assert_int_equal(r, REC_E_NOMEM);
		}
		rec_store_close(store);
		assert_int_equal(failing.live, 0);
		calls = n == 0 ? failing.calls : calls;
	}
	assert_true(calls > 100);
}

int main(void)
{
#define in_world(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		in_world(test_index__after_a_group_no_file_is_read_again),
		in_world(test_index__is_its_owners_alone),
		in_world(test_index__what_has_changed_is_read),
		in_world(test_index__not_what_may_change_again_without_a_sign),
		in_world(test_index__is_written_anew_when_much_has_changed),
		in_world(test_index__that_it_cannot_be_written_does_not_matter),
		in_world(test_index__torn_or_damaged_anywhere_it_changes_nothing),
		in_world(test_index__what_is_no_file_or_not_ours_is_none),
		in_world(test_index__without_memory_for_it_nothing_is_wrong),
	};
	return cmocka_run_group_tests_name("store/files-index", tests, NULL, NULL);
}
