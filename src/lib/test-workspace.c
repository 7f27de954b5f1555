/* The public API on SQLite: what opening finds, makes and refuses, and how a watcher is woken by others. */
#include "test-workspace.h"

#include <poll.h>
#include <time.h>

static int setup_workspace(void **state)
{
	static struct workspace w;
	workspace_init(&w);
	*state = &w;
	return 0;
}

static int teardown_workspace(void **state)
{
	workspace_release(*state);
	return 0;
}

static int open_at(const char *place, enum rec_open_mode mode, struct reconciler **ret, struct rec_error *error)
{
	struct rec_open_options options = {.size = sizeof options, .mode = mode};
	return rec_open(place, 1000, &options, ret, error);
}

static void opened(const char *place, enum rec_open_mode mode, struct reconciler **ret)
{
	struct rec_error error;
	int r = open_at(place, mode, ret, &error);
	if (r)
		print_error("%s: %s\n", place, error.message);
	assert_int_equal(r, 0);
}

static int create(struct reconciler *r, const char *id, const char *status, struct rec_error *error)
{
	struct rec_task_info task = {.size = sizeof task, .id = id, .title = "a task", .status = status};
	return rec_task_create(r, &task, NULL, error);
}

static size_t count_of(struct reconciler *r)
{
	struct rec_result_set *set;
	struct rec_error error;
	assert_int_equal(rec_check_all(r, NULL, 0, NULL, &set, &error), 0);
	size_t count = rec_result_set_count(set);
	rec_result_set_free(set);
	return count;
}

static void test_open__a_workspace_is_made_found_and_kept(void **state)
{
	struct workspace *w = *state;
	struct reconciler *r;
	struct rec_error error;
	char wanted[80];
	assert_int_equal(open_at(w->path, REC_OPEN_READ, &r, &error), REC_E_NO_STORE);
	assert_int_equal(open_at(w->path, REC_OPEN_WRITE, &r, &error), REC_E_NO_STORE);
	opened(w->path, REC_OPEN_INIT, &r);
	snprintf(wanted, sizeof wanted, "%s/.reconciler/state.db", w->path);
	assert_string_equal(rec_location(r), wanted);
	assert_int_equal(create(r, "a", NULL, &error), 0);
	rec_close(r);
	opened(w->path, REC_OPEN_INIT, &r);
	assert_int_equal(count_of(r), 1);
	rec_close(r);
	opened(w->path, REC_OPEN_WRITE, &r);
	assert_int_equal(create(r, "b", NULL, &error), 0);
	rec_close(r);
	opened(wanted, REC_OPEN_READ, &r);
	assert_int_equal(count_of(r), 2);
	assert_int_equal(create(r, "c", NULL, &error), REC_E_READ_ONLY);
	rec_close(r);
}

static void test_open__a_codeframe_workspace_is_read_without_a_trace(void **state)
{
	struct workspace *w = *state;
	struct stat before, after;
	struct reconciler *r;
	struct rec_error error;
	char path[128];
	workspace_codeframe(w, "small", path);
	assert_int_equal(stat(path, &before), 0);
	opened(w->path, REC_OPEN_READ, &r);
	assert_string_equal(rec_location(r), path);
	assert_int_equal(count_of(r), 25);
	rec_close(r);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	snprintf(path, sizeof path, "%s/.codeframe/state.db-wal", w->path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(open_at(w->path, REC_OPEN_WRITE, &r, &error), REC_E_UNINITIALISED);
	assert_non_null(strstr(error.message, "init"));
	opened(w->path, REC_OPEN_INIT, &r);
	assert_int_equal(count_of(r), 25);
	assert_int_equal(create(r, "mine", NULL, &error), 0);
	rec_close(r);
}

/* ---- Waking ---- */

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int action_note(void *context, const struct rec_result *result)
{
	int *action = context;
	*action = (int)result->action;
	return 0;
}

/* Waits as a caller would, for what is told next; -1 after five seconds. */
static int told_next(struct rec_watcher *watcher)
{
	int action = -1;
	struct rec_error error;
	for (int64_t end_ms = now_ms() + 5000; action < 0 && now_ms() < end_ms;) {
		struct pollfd p = {.fd = rec_watcher_descriptor(watcher), .events = POLLIN};
		assert_true(p.fd >= 0);
		poll(&p, 1, rec_watcher_timeout_ms(watcher));
		assert_int_equal(rec_watcher_look(watcher, action_note, &action, NULL, &error), 0);
	}
	return action;
}

static void test_watch__is_woken_by_another_reconciler(void **state)
{
	struct workspace *w = *state;
	struct reconciler *mine, *theirs;
	struct rec_watcher *watcher, *second;
	struct rec_error error;
	struct rec_watcher_options options = {.size = sizeof options};
	opened(w->path, REC_OPEN_INIT, &mine);
	opened(w->path, REC_OPEN_WRITE, &theirs);
	assert_int_equal(create(mine, "a", "IN_PROGRESS", &error), 0);
	assert_int_equal(rec_watcher_new(mine, &options, &watcher, &error), 0);
	assert_int_equal(rec_watcher_new(mine, &options, &second, &error), 0);
	assert_int_equal(rec_watcher_believe(watcher, "a", REC_IN_PROGRESS, &error), 0);
	assert_int_equal(rec_watcher_believe(second, "a", REC_IN_PROGRESS, &error), 0);
	assert_int_equal(rec_watcher_look(watcher, action_note, NULL, NULL, &error), 0);
	assert_int_equal(rec_watcher_look(second, action_note, NULL, NULL, &error), 0);
	assert_in_range(rec_watcher_timeout_ms(second), 0,
			50); /* what was just written may become visible any moment */
	assert_int_equal(rec_task_set_status(theirs, "a", REC_BLOCKED, 0, NULL, &error), 0);
	assert_int_equal(told_next(watcher), REC_KILL);
	assert_int_equal(told_next(second), REC_KILL);
	assert_int_equal(rec_task_set_status(theirs, "a", REC_DONE, 1, NULL, &error), 0);
	assert_int_equal(told_next(second), REC_SKIP);
	assert_int_equal(told_next(watcher), REC_SKIP);
	rec_watcher_free(watcher);
	rec_watcher_free(second);
	rec_close(theirs);
	rec_close(mine);
}

/* ---- Memory ---- */

static int small_life(struct memory *memory, const char *place)
{
	struct rec_open_options options = {
		.size = sizeof options, .mode = REC_OPEN_INIT, .allocator = &memory->allocator};
	struct reconciler *r;
	struct rec_result_set *set;
	struct rec_error error;
	int result = rec_open(place, 0, &options, &r, &error);
	if (result)
		return result;
	result = create(r, "a", NULL, &error);
	if (result == 0)
		result = rec_apply_all(r, NULL, 0, NULL, NULL, &set, &error);
	if (result == 0)
		rec_result_set_free(set);
	if (result == 0)
		result = rec_task_delete(r, "a", &error);
	rec_close(r);
	return result;
}

static void test_memory__every_failed_allocation_is_a_clean_error(void **state)
{
	struct workspace *w = *state;
	struct reconciler *r;
	int result = REC_E_NOMEM;
	opened(w->path, REC_OPEN_INIT, &r);
	rec_close(r);
	for (uint64_t fail_at = 1; result; fail_at++) {
		struct world world;
		world_init(&world, fail_at);
		result = small_life(&world.memory, w->path);
		assert_true(result == 0 || result == REC_E_NOMEM);
		assert_int_equal(world.memory.live, 0);
		opened(w->path, REC_OPEN_WRITE, &r);
		if (count_of(r))
			assert_int_equal(rec_task_delete(r, "a", NULL), 0);
		rec_close(r);
	}
}

int main(void)
{
#define T(function) cmocka_unit_test_setup_teardown(function, setup_workspace, teardown_workspace)
	const struct CMUnitTest tests[] = {
		T(test_open__a_workspace_is_made_found_and_kept),
		T(test_open__a_codeframe_workspace_is_read_without_a_trace),
		T(test_watch__is_woken_by_another_reconciler),
		T(test_memory__every_failed_allocation_is_a_clean_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
