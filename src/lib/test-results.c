#include "test-api.h"

/* ---- The batch state ---- */

static void test_batch_state__holds_and_forgets(void **state)
{
	struct rec_batch_state *s;
	struct rec_error error;
	(void)state;
	assert_int_equal(rec_batch_state_new(NULL, &s, &error), 0);
	assert_int_equal(rec_batch_state_count(s), 0);
	assert_int_equal(rec_batch_state_get(s, "a"), REC_STATUS_ABSENT);
	assert_int_equal(rec_batch_state_set(s, "a", REC_READY, &error), 0);
	assert_int_equal(rec_batch_state_set(s, "a", REC_DONE, &error), 0);
	assert_int_equal(rec_batch_state_set(s, "b", REC_BACKLOG, &error), 0);
	assert_int_equal(rec_batch_state_count(s), 2);
	assert_int_equal(rec_batch_state_get(s, "a"), REC_DONE);
	assert_int_equal(rec_batch_state_forget(s, "a", &error), 0);
	assert_int_equal(rec_batch_state_forget(s, "a", &error), 0);
	assert_int_equal(rec_batch_state_forget(s, "never", &error), 0);
	assert_int_equal(rec_batch_state_count(s), 1);
	assert_int_equal(rec_batch_state_get(s, "a"), REC_STATUS_ABSENT);
	assert_int_equal(rec_batch_state_set(s, "", REC_DONE, &error), REC_E_INVALID);
	assert_int_equal(rec_batch_state_set(s, NULL, REC_DONE, &error), REC_E_INVALID);
	assert_int_equal(rec_batch_state_set(s, "a", REC_STATUS_ABSENT, &error), REC_E_INVALID);
	assert_null(rec_batch_state_free(s));
	assert_null(rec_batch_state_free(NULL));
}

static void test_batch_state__parses_all_or_nothing(void **state)
{
	struct rec_batch_state *s;
	struct rec_error error;
	(void)state;
	assert_int_equal(rec_batch_state_new(NULL, &s, &error), 0);
	assert_int_equal(parse(s, "{\"a\":\"READY\",\"b\":\"RUNNING\"}", &error), 0);
	assert_int_equal(rec_batch_state_get(s, "b"), REC_IN_PROGRESS);
	assert_int_equal(parse(s, "{\"c\":\"READY\",\"a\":\"DONE\"}", &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "\"a\" is held already"));
	assert_int_equal(parse(s, "{\"c\":\"READY\",\"d\":\"ASLEEP\"}", &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "line 1"));
	assert_int_equal(parse(s, "", &error), REC_E_INVALID);
	assert_int_equal(rec_batch_state_count(s), 2);
	assert_int_equal(rec_batch_state_get(s, "c"), REC_STATUS_ABSENT);
	assert_int_equal(parse(s, "{\"task_id\":\"c\",\"status\":\"DONE\"}\n", &error), 0);
	assert_int_equal(rec_batch_state_count(s), 3);
	rec_batch_state_free(s);
}

static void test_batch_state__memory_that_runs_out_leaves_it_as_it_was(void **state)
{
	int r = REC_E_NOMEM;
	(void)state;
	for (uint64_t fail_at = 1; r; fail_at++) {
		struct world w;
		struct rec_batch_state *s;
		world_init(&w, 0);
		ok(&w, rec_batch_state_new(&w.memory.allocator, &s, &w.error));
		ok(&w, rec_batch_state_set(s, "a", REC_READY, &w.error));
		w.memory.calls = 0;
		w.memory.fail_at = fail_at;
		r = parse(s,
			  "{\"b\":\"DONE\",\"c\":\"DONE\",\"d\":\"DONE\",\"e\":\"DONE\",\"f\":\"DONE\",\"g\":\"DONE\","
			  "\"h\":\"DONE\",\"i\":\"DONE\",\"j\":\"DONE\",\"k\":\"DONE\",\"l\":\"DONE\"}",
			  &w.error);
		assert_true(r == 0 || r == REC_E_NOMEM);
		assert_int_equal(rec_batch_state_count(s), r ? 1 : 12);
		assert_int_equal(rec_batch_state_get(s, "b"), r ? REC_STATUS_ABSENT : REC_DONE);
		rec_batch_state_free(s);
		assert_int_equal(w.memory.live, 0);
	}
}

/* ---- Results ---- */

static void assert_result(struct rec_result_set *set, size_t index, const char *id, const char *current,
			  const char *external, enum rec_action action)
{
	struct rec_result result = {.size = sizeof result};
	assert_int_equal(rec_result_set_get(set, index, &result), 0);
	assert_string_equal(result.task_id, id);
	assert_int_equal(result.current, current ? rec_status_from_name(current) : REC_STATUS_ABSENT);
	assert_int_equal(result.external, external ? rec_status_from_name(external) : REC_STATUS_ABSENT);
	assert_true(!current == !result.current_status && (!current || strcmp(current, result.current_status) == 0));
	assert_true(!external == !result.external_status &&
		    (!external || strcmp(external, result.external_status) == 0));
	assert_int_equal(result.action, action);
}

static void test_check__one_result_per_id_in_order_duplicates_included(void **state)
{
	struct world *w = *state;
	const char *ids[] = {"b", "nobody", "a", "b"};
	char volatile_id[] = "b";
	struct rec_result_set *set;
	struct rec_batch_state *batch;
	struct rec_result result = {.size = sizeof result};
	add(w, "a", "READY");
	add(w, "b", "BLOCKED");
	ids[0] = volatile_id;
	ok(w, rec_batch_state_new(&w->memory.allocator, &batch, &w->error));
	ok(w, rec_batch_state_set(batch, "b", REC_IN_PROGRESS, &w->error));
	ok(w, rec_check_all(w->reconciler, ids, 4, batch, &set, &w->error));
	rec_batch_state_free(batch);
	volatile_id[0] = 'x';
	assert_int_equal(rec_result_set_count(set), 4);
	assert_result(set, 0, "b", "BLOCKED", "IN_PROGRESS", REC_KILL);
	assert_result(set, 1, "nobody", NULL, NULL, REC_NONE);
	assert_result(set, 2, "a", "READY", NULL, REC_NONE);
	assert_result(set, 3, "b", "BLOCKED", "IN_PROGRESS", REC_KILL);
	assert_int_equal(rec_result_set_get(set, 4, &result), REC_END);
	assert_int_equal(rec_result_set_count_action(set, REC_KILL), 2);
	assert_int_equal(rec_result_set_count_action(set, REC_NONE), 2);
	assert_int_equal(rec_result_set_count_action(set, (enum rec_action)17), 0);
	assert_int_equal(rec_result_set_count_calls(set), 2);
	assert_null(rec_result_set_free(set));
	assert_null(rec_result_set_free(NULL));
}

static void test_check__without_ids_the_batch_or_everything(void **state)
{
	struct world *w = *state;
	struct rec_result_set *set;
	struct rec_batch_state *batch;
	add(w, "b", "READY");
	add(w, "a", "DONE");
	ok(w, rec_check_tasks(w->reconciler, NULL, 0, NULL, &set, &w->error));
	assert_int_equal(rec_result_set_count(set), 2);
	assert_result(set, 0, "a", "DONE", NULL, REC_SKIP);
	assert_result(set, 1, "b", "READY", NULL, REC_NONE);
	rec_result_set_free(set);
	ok(w, rec_batch_state_new(NULL, &batch, &w->error));
	ok(w, rec_check_tasks(w->reconciler, NULL, 0, batch, &set, &w->error));
	assert_int_equal(rec_result_set_count(set), 0);
	rec_result_set_free(set);
	ok(w, rec_batch_state_set(batch, "z", REC_READY, &w->error));
	ok(w, rec_batch_state_set(batch, "b", REC_BLOCKED, &w->error));
	ok(w, rec_batch_state_set(batch, "a", REC_DONE, &w->error));
	ok(w, rec_batch_state_forget(batch, "a", &w->error));
	ok(w, rec_check_tasks(w->reconciler, NULL, 0, batch, &set, &w->error));
	rec_batch_state_free(batch);
	assert_int_equal(rec_result_set_count(set), 2);
	assert_result(set, 0, "z", NULL, NULL, REC_NONE);
	assert_result(set, 1, "b", "READY", "BLOCKED", REC_REQUEUE);
	rec_result_set_free(set);
}

static void test_check__an_id_that_is_null_is_refused(void **state)
{
	struct world *w = *state;
	const char *ids[] = {"a", NULL};
	struct rec_result_set *set = NULL;
	assert_int_equal(rec_check_tasks(w->reconciler, ids, 2, NULL, &set, &w->error), REC_E_INVALID);
	assert_null(set);
}

static int event_count(void *context, const struct rec_event_info *event)
{
	unsigned *count = context;
	if (strcmp(event->event, "RECONCILIATION_TASK_REQUEUED") != 0)
		return 0;
	assert_string_equal(event->task_id, "a");
	assert_string_equal(event->batch_id, "B1");
	assert_string_equal(event->current_status, "BLOCKED");
	assert_int_equal(event->blockers_total, 1);
	assert_int_equal(event->blockers_open, 0);
	assert_int_equal(event->exit_code, REC_NO_NUMBER);
	++*count;
	return 0;
}

static void test_apply__requeues_what_was_released_once(void **state)
{
	struct world *w = *state;
	struct rec_result_set *set;
	struct rec_result result = {.size = sizeof result};
	unsigned events = 0;
	uint64_t checked = 0, different = 9;
	add(w, "a", "BLOCKED");
	ask(w, "K1", "a");
	ok(w, rec_blocker_answer(w->reconciler, "K1", "so", &w->error));
	ok(w, rec_apply_all(w->reconciler, NULL, 0, NULL, "B1", &set, &w->error));
	assert_int_equal(rec_result_set_get(set, 0, &result), 0);
	assert_int_equal(result.action, REC_REQUEUE);
	assert_int_equal(result.applied, 1);
	rec_result_set_free(set);
	assert_int_equal(status_of(w, "a"), REC_READY);
	ok(w, rec_apply_blockers(w->reconciler, NULL, 0, NULL, NULL, &set, &w->error));
	assert_int_equal(rec_result_set_get(set, 0, &result), 0);
	assert_int_equal(result.applied, 0);
	rec_result_set_free(set);
	ok(w, rec_apply_tasks(w->reconciler, NULL, 0, NULL, NULL, &set, &w->error));
	rec_result_set_free(set);
	ok(w, rec_event_list(w->reconciler, 0, 0, event_count, &events, &w->error));
	assert_int_equal(events, 1);
	ok(w, rec_event_verify(w->reconciler, NULL, NULL, &checked, &different, &w->error));
	assert_int_equal(checked, 1);
	assert_int_equal(different, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		api_test(test_batch_state__holds_and_forgets),
		api_test(test_batch_state__parses_all_or_nothing),
		api_test(test_batch_state__memory_that_runs_out_leaves_it_as_it_was),
		api_test(test_check__one_result_per_id_in_order_duplicates_included),
		api_test(test_check__without_ids_the_batch_or_everything),
		api_test(test_check__an_id_that_is_null_is_refused),
		api_test(test_apply__requeues_what_was_released_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
