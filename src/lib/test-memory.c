/* The whole API with every allocation failing in turn. */
#include "test-api.h"

/* ---- Memory ---- */

static int results_read(struct world *w, struct rec_batch_state *batch)
{
	struct rec_result_set *set;
	const char *const ids[] = {"a", "nobody"};
	int r = rec_check_all(w->reconciler, ids, 2, batch, &set, &w->error);
	if (r == 0)
		rec_result_set_free(set);
	if (r == 0)
		r = rec_check_tasks(w->reconciler, NULL, 0, NULL, &set, &w->error);
	if (r == 0)
		rec_result_set_free(set);
	if (r == 0)
		r = rec_apply_all(w->reconciler, NULL, 0, batch, "B1", &set, &w->error);
	if (r == 0)
		rec_result_set_free(set);
	return r;
}

static int watching(struct world *w, struct rec_batch_state *batch)
{
	struct rec_watcher_options options = {.size = sizeof options, .state = batch, .apply = 1, .batch_id = "B1"};
	struct text told = {.length = 0};
	struct rec_watcher *watcher;
	int r = rec_watcher_new(w->reconciler, &options, &watcher, &w->error);
	if (r)
		return r;
	r = rec_watcher_believe(watcher, "b", REC_READY, &w->error);
	if (r == 0)
		r = rec_watcher_look(watcher, result_append, &told, NULL, &w->error);
	rec_watcher_free(watcher);
	return r;
}

static int changing(struct world *w)
{
	const char *const depends_on[] = {"a"};
	struct rec_task_info task = {.size = sizeof task, .id = "b", .title = "T", .depends_on = depends_on};
	struct rec_blocker_info blocker = {.size = sizeof blocker, .id = "K1", .task_id = "b", .question = "q"};
	task.depends_on_count = 1;
	int r = rec_task_create(w->reconciler, &task, NULL, &w->error);
	if (r == 0)
		r = rec_task_set_status(w->reconciler, "b", REC_FAILED, 0, NULL, &w->error);
	if (r == 0)
		r = rec_task_retry(w->reconciler, "b", NULL, &w->error);
	if (r == 0)
		r = rec_task_edit(w->reconciler, &task, REC_CHANGE_DEPENDS_ON, &w->error);
	if (r == 0)
		r = rec_blocker_create(w->reconciler, &blocker, NULL, &w->error);
	if (r == 0)
		r = rec_blocker_answer(w->reconciler, "K1", "x", &w->error);
	if (r == 0)
		r = rec_blocker_resolve(w->reconciler, "K1", &w->error);
	return r ? r : rec_task_set_status(w->reconciler, "b", REC_BLOCKED, 1, NULL, &w->error);
}

static int event_ignore(void *context, const struct rec_event_info *event)
{
	(void)context, (void)event;
	return 0;
}

static int reading(struct world *w)
{
	struct text text = {.length = 0};
	struct text told = {.length = 0};
	struct rec_list_query query = {.size = sizeof query, .blockers = 1};
	struct rec_task_info *task;
	int r = rec_task_get(w->reconciler, "b", &task, &w->error);
	if (r)
		return r;
	rec_task_info_free(task);
	r = rec_task_list(w->reconciler, &query, id_append, &told, &w->error);
	if (r == 0)
		r = rec_blocker_list(w->reconciler, NULL, 0, blocker_append, &told, &w->error);
	if (r == 0)
		r = rec_blocker_get(w->reconciler, "K1", blocker_append, &told, &w->error);
	if (r == 0)
		r = rec_event_list(w->reconciler, 0, 0, event_ignore, NULL, &w->error);
	if (r == 0)
		r = rec_event_verify(w->reconciler, NULL, NULL, NULL, NULL, &w->error);
	if (r == 0)
		r = rec_diagnose(w->reconciler, finding_append, &text, NULL, &w->error);
	text.length = 0;
	if (r == 0)
		r = rec_export(w->reconciler, NULL, 0, REC_EXPORT_ARRAY, text_append, &text, &w->error);
	return r;
}

static int everything_with(struct world *w, struct rec_batch_state *batch)
{
	uint64_t tasks;
	int r = rec_batch_state_set(batch, "a", REC_READY, &w->error);
	if (r == 0)
		r = parse(batch, "{\"b\":\"READY\",\"c\":\"DONE\"}", &w->error);
	if (r == 0)
		r = import(w, "[{\"id\":\"a\",\"title\":\"T\",\"depends_on\":[\"z\"]},{\"id\":\"z\",\"title\":\"T\"}]",
			   &tasks);
	if (r == 0)
		r = changing(w);
	if (r == 0)
		r = results_read(w, batch);
	if (r == 0)
		r = watching(w, batch);
	if (r == 0)
		r = reading(w);
	return r ? r : rec_task_delete(w->reconciler, "b", &w->error);
}

/* The whole API once; the first failure ends it. */
static int everything(struct world *w)
{
	struct rec_batch_state *batch;
	int r = open_memory(w);
	if (r)
		return r;
	r = rec_batch_state_new(&w->memory.allocator, &batch, &w->error);
	if (r == 0) {
		r = everything_with(w, batch);
		rec_batch_state_free(batch);
	}
	rec_close(w->reconciler);
	return r;
}

static void test_memory__every_failed_allocation_is_a_clean_error(void **state)
{
	int r = REC_E_NOMEM;
	uint64_t fail_at = 0;
	(void)state;
	while (r) {
		struct world w;
		world_init(&w, ++fail_at);
		r = everything(&w);
		if (r && r != REC_E_NOMEM)
			print_error("allocation %d: %d %s\n", (int)fail_at, r, w.error.message);
		assert_true(r == 0 || r == REC_E_NOMEM);
		assert_int_equal(w.memory.live, 0);
	}
	assert_true(fail_at > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory__every_failed_allocation_is_a_clean_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
