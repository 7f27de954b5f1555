/* The scenarios of the originating design, by name, through the installed header and the shared library alone: once
 * in memory, once in a workspace on disk. */
#include "test-workspace.h"

struct scene {
	struct workspace workspace;
	struct reconciler *reconciler;
	struct rec_batch_state *batch;
	struct rec_error error;
};

static void must(struct scene *w, int result)
{
	if (result)
		print_error("%d: %s\n", result, result < 0 ? w->error.message : "");
	assert_int_equal(result, 0);
}

static void scene_open(struct scene *w, const char *place)
{
	struct rec_open_options options = {.size = sizeof options, .mode = REC_OPEN_INIT};
	must(w, rec_open(place, REC_CHECK_INTERVAL_DEFAULT_MS, &options, &w->reconciler, &w->error));
	must(w, rec_batch_state_new(NULL, &w->batch, &w->error));
}

static struct scene scene;

static int setup_memory(void **state)
{
	scene = (struct scene){.reconciler = NULL};
	scene_open(&scene, "memory:");
	*state = &scene;
	return 0;
}

static int setup_workspace(void **state)
{
	scene = (struct scene){.reconciler = NULL};
	workspace_init(&scene.workspace);
	scene_open(&scene, scene.workspace.path);
	*state = &scene;
	return 0;
}

static int teardown_scene(void **state)
{
	struct scene *w = *state;
	rec_batch_state_free(w->batch);
	rec_close(w->reconciler);
	if (*w->workspace.path)
		workspace_release(&w->workspace);
	return 0;
}

/* The task T1 with that stored status and, unless ABSENT, that belief. */
static void given(struct scene *w, const char *stored, enum rec_status believed)
{
	struct rec_task_info task = {.size = sizeof task, .id = "T1", .title = "a task", .status = stored};
	must(w, rec_task_create(w->reconciler, &task, NULL, &w->error));
	if (believed != REC_STATUS_ABSENT)
		must(w, rec_batch_state_set(w->batch, "T1", believed, &w->error));
}

static void blocker(struct scene *w, const char *id)
{
	struct rec_blocker_info info = {.size = sizeof info, .id = id, .task_id = "T1", .question = "why?"};
	must(w, rec_blocker_create(w->reconciler, &info, NULL, &w->error));
}

typedef int check(struct reconciler *, const char *const *, size_t, const struct rec_batch_state *,
		  struct rec_result_set **, struct rec_error *);

/* The one result about T1. */
static void expect(struct scene *w, check *how, enum rec_action action, const char *reason, int discrepancy)
{
	const char *const ids[] = {"T1"};
	struct rec_result_set *set;
	struct rec_result result = {.size = sizeof result};
	must(w, how(w->reconciler, ids, 1, w->batch, &set, &w->error));
	assert_int_equal(rec_result_set_count(set), 1);
	assert_int_equal(rec_result_set_get(set, 0, &result), 0);
	assert_string_equal(result.task_id, "T1");
	assert_string_equal(rec_action_name(result.action), rec_action_name(action));
	assert_string_equal(result.reason, reason);
	assert_int_equal(result.discrepancy, discrepancy);
	assert_int_equal(result.applied, -1);
	assert_int_equal(rec_result_set_count_action(set, action), 1);
	rec_result_set_free(set);
}

static void test_no_discrepancy__task_ready_in_both(void **state)
{
	struct scene *w = *state;
	given(w, "READY", REC_READY);
	expect(w, rec_check_tasks, REC_NONE, "no action required", 0);
}

static void test_no_discrepancy__task_in_progress_without_batch_state(void **state)
{
	struct scene *w = *state;
	given(w, "IN_PROGRESS", REC_STATUS_ABSENT);
	expect(w, rec_check_tasks, REC_NONE, "no action required", 0);
}

static void test_skip__task_done(void **state)
{
	struct scene *w = *state;
	given(w, "DONE", REC_READY);
	expect(w, rec_check_tasks, REC_SKIP, "task already terminal in durable state", 1);
}

static void test_skip__task_failed(void **state)
{
	struct scene *w = *state;
	given(w, "FAILED", REC_READY);
	expect(w, rec_check_tasks, REC_SKIP, "task already terminal in durable state", 1);
}

static void test_skip__task_in_progress_but_completed_outside(void **state)
{
	struct scene *w = *state;
	given(w, "IN_PROGRESS", REC_DONE);
	expect(w, rec_check_tasks, REC_SKIP, "task externally completed", 1);
}

static void test_skip__running_task_completed_in_the_store(void **state)
{
	struct scene *w = *state;
	given(w, "IN_PROGRESS", REC_IN_PROGRESS);
	must(w, rec_task_set_status(w->reconciler, "T1", REC_DONE, 0, NULL, &w->error));
	expect(w, rec_check_tasks, REC_SKIP, "task already terminal in durable state", 1);
}

static void test_kill__running_task_blocked_outside(void **state)
{
	struct scene *w = *state;
	given(w, "BLOCKED", REC_IN_PROGRESS);
	expect(w, rec_check_tasks, REC_KILL, "task externally transitioned to BLOCKED", 1);
}

static void test_requeue__blocked_task_with_all_blockers_resolved(void **state)
{
	struct scene *w = *state;
	given(w, "BLOCKED", REC_BLOCKED);
	blocker(w, "K1");
	blocker(w, "K2");
	must(w, rec_blocker_answer(w->reconciler, "K1", "so", &w->error));
	must(w, rec_blocker_answer(w->reconciler, "K2", "so", &w->error));
	must(w, rec_blocker_resolve(w->reconciler, "K2", &w->error));
	expect(w, rec_check_blockers, REC_REQUEUE, "all blockers resolved", 1);
	expect(w, rec_check_all, REC_REQUEUE, "all blockers resolved", 1);
	expect(w, rec_check_tasks, REC_NONE, "no action required", 0);
}

static void test_not_requeued__one_blocker_open(void **state)
{
	struct scene *w = *state;
	given(w, "BLOCKED", REC_BLOCKED);
	blocker(w, "K1");
	blocker(w, "K2");
	must(w, rec_blocker_answer(w->reconciler, "K1", "so", &w->error));
	expect(w, rec_check_blockers, REC_NONE, "open blockers remain", 0);
	expect(w, rec_check_all, REC_NONE, "no action required", 0);
}

static void test_not_requeued__task_not_blocked(void **state)
{
	struct scene *w = *state;
	given(w, "READY", REC_READY);
	blocker(w, "K1");
	must(w, rec_blocker_answer(w->reconciler, "K1", "so", &w->error));
	expect(w, rec_check_blockers, REC_NONE, "task is not blocked", 0);
	expect(w, rec_check_all, REC_NONE, "no action required", 0);
}

static void test_missing_task__is_a_result_of_its_own(void **state)
{
	struct scene *w = *state;
	expect(w, rec_check_tasks, REC_NONE, "task not found", 0);
	expect(w, rec_check_blockers, REC_NONE, "task not found", 0);
	expect(w, rec_check_all, REC_NONE, "task not found", 0);
}

static void test_check_interval__is_carried_for_the_driver(void **state)
{
	struct scene *w = *state;
	assert_int_equal(rec_check_interval_ms(w->reconciler), 30000);
}

int main(void)
{
#define SCENARIOS(T)                                                                                                   \
	T(test_no_discrepancy__task_ready_in_both)                                                                     \
	T(test_no_discrepancy__task_in_progress_without_batch_state)                                                   \
	T(test_skip__task_done)                                                                                        \
	T(test_skip__task_failed)                                                                                      \
	T(test_skip__task_in_progress_but_completed_outside)                                                           \
	T(test_skip__running_task_completed_in_the_store)                                                              \
	T(test_kill__running_task_blocked_outside)                                                                     \
	T(test_requeue__blocked_task_with_all_blockers_resolved)                                                       \
	T(test_not_requeued__one_blocker_open)                                                                         \
	T(test_not_requeued__task_not_blocked)                                                                         \
	T(test_missing_task__is_a_result_of_its_own)                                                                   \
	T(test_check_interval__is_carried_for_the_driver)
#define IN_MEMORY(function) cmocka_unit_test_setup_teardown(function, setup_memory, teardown_scene),
#define ON_DISK(function) cmocka_unit_test_setup_teardown(function, setup_workspace, teardown_scene),
	const struct CMUnitTest memory[] = {SCENARIOS(IN_MEMORY)}, workspace[] = {SCENARIOS(ON_DISK)};
	int failed = cmocka_run_group_tests_name("in memory", memory, NULL, NULL);
	return failed + cmocka_run_group_tests_name("in a workspace", workspace, NULL, NULL);
}
