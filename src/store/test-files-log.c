/* The log of the directory backend on a disk that fails: what is in it counts whole, and what was told to be durable
 * is. */
#include "base/test-support.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/files.h"

#define S(text) rec_slice_of(text)

struct world {
	char path[64];
	struct rec_io io;
	struct rec_store *store;
	struct rec_error error;
	bool append_fails; /* with all of it written */
	bool append_torn;  /* or half of it */
	bool truncate_fails;
	bool folder_sync_fails;
};

static int io_write_durably(void *context, int fd, const void *bytes, size_t length, off_t at)
{
	const struct world *w = context;
	if (!w->append_fails)
		return rec_io_real.write_durably(NULL, fd, bytes, length, at);
	assert_int_equal(rec_io_real.write(NULL, fd, bytes, w->append_torn ? length / 2 : length, at), 0);
	errno = EIO;
	return -1;
}

static int io_truncate(void *context, int fd, off_t length)
{
	const struct world *w = context;
	if (!w->truncate_fails)
		return rec_io_real.truncate(NULL, fd, length);
	errno = EIO;
	return -1;
}

static int io_sync(void *context, int fd)
{
	struct world *w = context;
	if (!w->folder_sync_fails || fd != rec_files_of(w->store)->rec)
		return rec_io_real.sync(NULL, fd);
	errno = EIO;
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
	return store;
}

static int setup(void **state)
{
	struct world *w = rec_zalloc(NULL, 1, sizeof *w);
	snprintf(w->path, sizeof w->path, "%s/rec-files-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(w->path));
	w->io = rec_io_real;
	w->io.context = w;
	w->io.write_durably = io_write_durably;
	w->io.truncate = io_truncate;
	w->io.sync = io_sync;
	w->store = open_store(w, REC_STORE_INIT);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	rec_store_close(w->store);
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

static int set(struct world *w, const char *id, enum rec_status from, enum rec_status to)
{
	return rec_store_set_status(w->store, S(id), from, to, NULL, NULL, NULL, &w->error);
}

static bool is_there(const struct world *w, const char *name)
{
	char path[400];
	snprintf(path, sizeof path, "%s/%s", w->path, name);
	return access(path, F_OK) == 0;
}

/* ---- An append that fails ---- */

/* A task changes, one goes, one comes. */
static void group_fails(struct world *w)
{
	add(w, "a", REC_READY);
	add(w, "gone", REC_READY);
	expect(w, 0, rec_store_begin(w->store, &w->error));
	expect(w, 0, set(w, "a", REC_READY, REC_DONE));
	expect(w, 0, rec_store_delete(w->store, S("gone"), &w->error));
	add(w, "new", REC_READY);
	w->append_fails = true;
	expect(w, REC_E_IO, rec_store_commit(w->store, &w->error));
	w->append_fails = w->truncate_fails = false;
}

static void assert_group(struct world *w, struct rec_store *store, bool whole)
{
	assert_int_equal(status_of(w, store, "a"), whole ? REC_DONE : REC_READY);
	assert_int_equal(status_of(w, store, "gone"), whole ? REC_STATUS_ABSENT : REC_READY);
	assert_int_equal(status_of(w, store, "new"), whole ? REC_READY : REC_STATUS_ABSENT);
}

static void test_append__what_fails_and_is_taken_back_never_was(void **state)
{
	struct world *w = *state;
	group_fails(w);
	struct rec_store *second = open_store(w, REC_STORE_READ);
	assert_group(w, second, false);
	assert_group(w, w->store, false);
	add(w, "next", REC_READY);
	assert_group(w, second, false);
	rec_store_close(second);
}

static void test_append__what_fails_and_stays_in_the_log_counts_whole(void **state)
{
	struct world *w = *state;
	w->truncate_fails = true;
	group_fails(w);
	struct rec_store *second = open_store(w, REC_STORE_READ);
	assert_group(w, second, true);
	assert_group(w, w->store, true);
	assert_true(is_there(w, "gone.json"));
	add(w, "next", REC_READY); /* whoever writes next puts its files in place */
	assert_false(is_there(w, "gone.json"));
	assert_true(is_there(w, "new.json"));
	assert_group(w, second, true);
	assert_group(w, w->store, true);
	rec_store_close(second);
}

static void test_append__what_is_torn_and_stays_in_the_log_is_nothing(void **state)
{
	struct world *w = *state;
	w->truncate_fails = w->append_torn = true;
	group_fails(w);
	struct rec_store *second = open_store(w, REC_STORE_READ);
	assert_group(w, second, false);
	assert_group(w, w->store, false);
	add(w, "next", REC_READY);
	assert_group(w, second, false);
	assert_int_equal(status_of(w, second, "next"), REC_READY);
	char path[400];
	snprintf(path, sizeof path, "%s/.rec/new", w->path);
	assert_int_equal(rmdir(path), 0); /* nothing of it is left there */
	rec_store_close(second);
}

static int count_event(void *context, const struct rec_event *event)
{
	(void)event;
	++*(size_t *)context;
	return 0;
}

static void assert_events(struct world *w, struct rec_store *store, size_t wanted)
{
	size_t count = 0;
	expect(w, 0, rec_store_events(store, 0, 0, count_event, &count, &w->error));
	assert_int_equal(count, wanted);
}

static void events_add(struct world *w)
{
	static const char *const times[] = {"2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"};
	for (size_t i = 0; i < 2; i++) {
		struct rec_event event = {.event = S("X"), .time = S(times[i])};
		expect(w, 0, rec_store_event_add(w->store, &event, &w->error));
	}
}

/* Of the two events one goes. */
static int gc(struct world *w)
{
	struct rec_gc gc = {.older_than_us = INT64_C(1800000000000000)};
	return rec_store_gc(w->store, &gc, &w->error);
}

static void test_append__of_a_gc_that_fails_and_stays_keeps_the_events(void **state)
{
	struct world *w = *state;
	events_add(w);
	w->append_fails = w->truncate_fails = true;
	expect(w, REC_E_IO, gc(w));
	w->append_fails = w->truncate_fails = false;
	struct rec_store *second = open_store(w, REC_STORE_READ);
	assert_events(w, second, 1);
	assert_events(w, w->store, 1);
	events_add(w);
	assert_events(w, second, 3);
	assert_events(w, w->store, 3);
	rec_store_close(second);
}

/* A gc that was killed, before its group was written or after it, and somebody's copy. */
static void test_events__what_a_killed_writer_left_is_removed(void **state)
{
	struct world *w = *state;
	static const char *const names[] = {".rec/events.ndjson", ".rec/events-7.ndjson", ".rec/events-old.ndjson"};
	char path[400];
	events_add(w);
	expect(w, 0, gc(w));
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", w->path, names[i]);
		FILE *file = fopen(path, "w");
		assert_non_null(file);
		fclose(file);
	}
	rec_store_close(w->store);
	w->store = open_store(w, REC_STORE_WRITE);
	add(w, "a", REC_READY);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(is_there(w, names[i]), i == 2);
	assert_events(w, w->store, 1);
}

/* ---- A log that is written anew ---- */

static void test_append__only_to_a_log_whose_name_is_durable(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_READY);
	w->folder_sync_fails = true;
	expect(w, 0, set(w, "a", REC_READY, REC_BACKLOG)); /* it is */
	(void)rec_files_log_renew(rec_files_of(w->store), &w->error);
	expect(w, REC_E_IO, set(w, "a", REC_BACKLOG, REC_DONE));
	assert_int_equal(status_of(w, w->store, "a"), REC_BACKLOG);
	w->folder_sync_fails = false;
	expect(w, 0, set(w, "a", REC_BACKLOG, REC_DONE));
	assert_int_equal(status_of(w, w->store, "a"), REC_DONE);
}

/* ---- Being woken ---- */

/* Whoever waits has the number of the descriptor, so it stays what it is. */
static void test_wake__the_descriptor_outlives_the_watch(void **state)
{
	struct world *w = *state;
	struct rec_files *f = rec_files_of(w->store);
	struct pollfd wake = {.events = POLLIN};
	add(w, "a", REC_READY);
	expect(w, 0, rec_store_wake_fd(w->store, &wake.fd, &w->error));
	assert_true(wake.fd >= 0);
	assert_int_equal(inotify_rm_watch(f->watch, f->watch_directory), 0); /* as when what it lay on was taken away */
	assert_int_equal(poll(&wake, 1, 5000), 1);
	rec_store_wake_drain(w->store);
	assert_int_equal(poll(&wake, 1, 0), 0);
	assert_int_not_equal(fcntl(wake.fd, F_GETFD), -1);
	struct rec_store *second = open_store(w, REC_STORE_WRITE); /* all is seen without it */
	expect(w, 0, rec_store_set_status(second, S("a"), REC_READY, REC_DONE, NULL, NULL, NULL, &w->error));
	assert_int_equal(poll(&wake, 1, 5000), 1);
	assert_int_equal(status_of(w, w->store, "a"), REC_DONE);
	rec_store_wake_drain(w->store);
	assert_int_not_equal(fcntl(wake.fd, F_GETFD), -1);
	rec_store_close(second);
}

static void test_wake__without_a_watch_of_the_log_there_is_none(void **state)
{
	struct world *w = *state;
	struct rec_store *second = open_store(w, REC_STORE_READ);
	char folder[80], moved[80];
	int fd = -1;
	snprintf(folder, sizeof folder, "%s/.rec", w->path);
	snprintf(moved, sizeof moved, "%s/moved", w->path);
	assert_int_equal(rename(folder, moved), 0);
	expect(w, 0, rec_store_wake_fd(second, &fd, &w->error));
	assert_int_equal(fd, -1);
	assert_int_equal(rename(moved, folder), 0);
	add(w, "a", REC_READY);
	assert_int_equal(status_of(w, second, "a"), REC_READY);
	rec_store_close(second);
}

/* ---- The change feed ---- */

static int count_id(void *context, struct rec_slice id)
{
	(void)id;
	++*(size_t *)context;
	return 0;
}

#define LOG_BYTES ((size_t)1 << 20) /* a log of that length is written anew */
#define CHANGES_SOME ((size_t)600)  /* of 128 bytes each as the store counts them */

/* Two changes each round. */
static void many_changes(struct world *w, size_t rounds)
{
	expect(w, 0, rec_store_begin(w->store, &w->error));
	for (size_t i = 0; i < rounds; i++) {
		enum rec_status from = i % 2 ? REC_READY : REC_BACKLOG, to = i % 2 ? REC_BACKLOG : REC_READY;
		expect(w, 0, set(w, "a", from, to));
		expect(w, 0, set(w, "b", from, to));
	}
	expect(w, 0, rec_store_commit(w->store, &w->error));
}

static void test_changes__of_a_log_that_is_written_anew_the_newest_are_kept(void **state)
{
	struct world *w = *state;
	struct rec_store *second = open_store(w, REC_STORE_READ);
	struct rec_cursor old = {0}, newer;
	size_t told = 0;
	add(w, "a", REC_BACKLOG);
	add(w, "b", REC_BACKLOG);
	expect(w, REC_RESCAN, rec_store_changes(second, &old, count_id, &told, &w->error));
	uint64_t inode = rec_files_of(w->store)->log.inode;
	size_t written = 0;
	for (; rec_files_of(w->store)->log.position < LOG_BYTES - CHANGES_SOME * 128; written += CHANGES_SOME)
		many_changes(w, CHANGES_SOME / 2);
	newer = old;
	expect(w, 0, rec_store_changes(second, &newer, count_id, &told, &w->error));
	assert_int_equal(told, written);
	assert_int_equal(rec_files_of(w->store)->log.inode, inode);
	many_changes(w, CHANGES_SOME / 2);
	add(w, "c", REC_READY);
	assert_int_not_equal(rec_files_of(w->store)->log.inode, inode);
	struct rec_store *third = open_store(w, REC_STORE_WRITE), *stores[] = {w->store, second, third};
	for (size_t i = 0; i < 3; i++) {
		struct rec_cursor cursor = newer;
		told = 0;
		expect(w, 0, rec_store_changes(stores[i], &cursor, count_id, &told, &w->error));
		assert_in_range(told, CHANGES_SOME + 1, CHANGES_SOME + 2); /* a new file is seen by itself, too */
		assert_true(rec_files_of(stores[i])->memory.data->counters[REC_MEMORY_COMMITTED].change_count < 5000);
		cursor = old;
		expect(w, REC_RESCAN, rec_store_changes(stores[i], &cursor, count_id, &told, &w->error));
	}
	rec_store_close(third);
	rec_store_close(second);
}

/* Whoever comes after it reads the newest changes and no steps. */
static void test_changes__a_group_of_many_leaves_a_short_log(void **state)
{
	struct world *w = *state;
	struct rec_store *second = open_store(w, REC_STORE_READ);
	struct rec_cursor cursor = {0};
	add(w, "a", REC_BACKLOG);
	add(w, "b", REC_BACKLOG);
	expect(w, REC_RESCAN, rec_store_changes(second, &cursor, count_id, NULL, &w->error));
	many_changes(w, 10000);
	struct rec_store *third = open_store(w, REC_STORE_READ);
	assert_int_equal(status_of(w, third, "a"), REC_BACKLOG);
	assert_in_range(rec_files_of(third)->log.position, 1, LOG_BYTES / 2);
	expect(w, REC_RESCAN, rec_store_changes(second, &cursor, count_id, NULL, &w->error));
	expect(w, 0, set(w, "a", REC_BACKLOG, REC_READY));
	size_t told = 0;
	expect(w, 0, rec_store_changes(second, &cursor, count_id, &told, &w->error));
	assert_in_range(told, 1, 2);
	rec_store_close(third);
	rec_store_close(second);
}

/* More edits than are remembered were seen; then a commit counts them as known. */
static void test_changes__too_many_edits_are_a_rescan_for_later_handles_too(void **state)
{
	struct world *w = *state;
	struct rec_cursor cursor = {0};
	size_t told = 0;
	add(w, "a", REC_READY);
	expect(w, REC_RESCAN, rec_store_changes(w->store, &cursor, count_id, &told, &w->error));
	for (int i = 0; i < 100001; i++)
		expect(w, 0, rec_files_noted_add(rec_files_of(w->store), S("a"), &w->error));
	add(w, "b", REC_READY);
	struct rec_store *second = open_store(w, REC_STORE_READ);
	expect(w, REC_RESCAN, rec_store_changes(second, &cursor, count_id, &told, &w->error));
	rec_store_close(second);
}

int main(void)
{
#define in_world(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		in_world(test_append__what_fails_and_is_taken_back_never_was),
		in_world(test_append__what_fails_and_stays_in_the_log_counts_whole),
		in_world(test_append__what_is_torn_and_stays_in_the_log_is_nothing),
		in_world(test_append__only_to_a_log_whose_name_is_durable),
		in_world(test_append__of_a_gc_that_fails_and_stays_keeps_the_events),
		in_world(test_events__what_a_killed_writer_left_is_removed),
		in_world(test_wake__the_descriptor_outlives_the_watch),
		in_world(test_wake__without_a_watch_of_the_log_there_is_none),
		in_world(test_changes__of_a_log_that_is_written_anew_the_newest_are_kept),
		in_world(test_changes__a_group_of_many_leaves_a_short_log),
		in_world(test_changes__too_many_edits_are_a_rescan_for_later_handles_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
