#include "test-api.h"

/* ---- Watching ---- */

/* Looks and compares what is told. */
static void look(struct world *w, struct rec_watcher *watcher, const char *wanted)
{
	struct text told = {.length = 0};
	uint64_t count = 0;
	ok(w, rec_watcher_look(watcher, result_append, &told, &count, &w->error));
	assert_string_equal(told.bytes, wanted);
	assert_int_equal(count == 0, *wanted == '\0');
}

static void test_watch__tells_what_changed(void **state)
{
	struct world *w = *state;
	struct rec_watcher *watcher;
	struct rec_batch_state *batch;
	struct rec_watcher_options options = {.size = sizeof options};
	add(w, "a", "READY");
	add(w, "b", "DONE");
	ok(w, rec_batch_state_new(NULL, &batch, &w->error));
	ok(w, rec_batch_state_set(batch, "b", REC_IN_PROGRESS, &w->error));
	options.state = batch;
	ok(w, rec_watcher_new(w->reconciler, &options, &watcher, &w->error));
	rec_batch_state_free(batch);
	assert_int_equal(rec_watcher_timeout_ms(watcher), 0);
	look(w, watcher, "b DONE SKIP -1;");
	look(w, watcher, "");
	ok(w, rec_watcher_believe(watcher, "a", REC_IN_PROGRESS, &w->error));
	assert_int_equal(rec_watcher_timeout_ms(watcher), 0);
	ok(w, rec_task_set_status(w->reconciler, "a", REC_BLOCKED, 0, NULL, &w->error));
	look(w, watcher, "a BLOCKED KILL -1;");
	ok(w, rec_watcher_believe(watcher, "a", REC_STATUS_ABSENT, &w->error));
	look(w, watcher, "a BLOCKED NONE -1;");
	assert_int_equal(rec_watcher_believe(watcher, "a", REC_STATUS_UNRECOGNISED, &w->error), REC_E_INVALID);
	assert_int_equal(rec_watcher_believe(watcher, "", REC_DONE, &w->error), REC_E_INVALID);
	assert_null(rec_watcher_free(watcher));
	assert_null(rec_watcher_free(NULL));
}

static void test_watch__honours_the_check_interval(void **state)
{
	struct world *w = *state;
	struct rec_watcher *watcher;
	ok(w, rec_watcher_new(w->reconciler, NULL, &watcher, &w->error));
	look(w, watcher, "");
	int timeout_ms = rec_watcher_timeout_ms(watcher);
	assert_true(timeout_ms > 0 && timeout_ms <= 250);
	assert_int_equal(rec_watcher_descriptor(watcher), -1);
	rec_watcher_free(watcher);
}

static void test_watch__applies_if_asked(void **state)
{
	struct world *w = *state;
	struct rec_watcher *watcher;
	const char *const ids[] = {"a"};
	struct rec_watcher_options options = {
		.size = sizeof options, .kind = REC_WATCH_BLOCKERS, .ids = ids, .id_count = 1, .apply = 1};
	add(w, "a", "BLOCKED");
	add(w, "b", "BLOCKED");
	ask(w, "K1", "a");
	ok(w, rec_watcher_new(w->reconciler, &options, &watcher, &w->error));
	look(w, watcher, "");
	ok(w, rec_blocker_answer(w->reconciler, "K1", "so", &w->error));
	look(w, watcher, "a BLOCKED REQUEUE 1;");
	look(w, watcher, "a READY NONE 0;");
	assert_int_equal(status_of(w, "a"), REC_READY);
	rec_watcher_free(watcher);
}

static void test_watch__a_look_that_was_ended_goes_on_at_once(void **state)
{
	struct world *w = *state;
	struct rec_watcher *watcher;
	struct text told = {.end_with = 77};
	add(w, "a", "DONE");
	add(w, "b", "DONE");
	ok(w, rec_watcher_new(w->reconciler, NULL, &watcher, &w->error));
	assert_int_equal(rec_watcher_look(watcher, result_append, &told, NULL, &w->error), 77);
	assert_string_equal(told.bytes, "a DONE SKIP -1;");
	assert_int_equal(rec_watcher_timeout_ms(watcher), 0);
	look(w, watcher, "b DONE SKIP -1;");
	assert_true(rec_watcher_timeout_ms(watcher) > 0);
	ok(w, rec_watcher_believe(watcher, "a", REC_DONE, &w->error));
	ok(w, rec_watcher_believe(watcher, "b", REC_READY, &w->error));
	told = (struct text){.end_with = 77};
	assert_int_equal(rec_watcher_look(watcher, result_append, &told, NULL, &w->error), 77);
	assert_int_equal(rec_watcher_timeout_ms(watcher), 0);
	look(w, watcher, "b DONE SKIP -1;");
	rec_watcher_free(watcher);
}

static void test_watch__refuses_bad_options(void **state)
{
	struct world *w = *state;
	struct rec_watcher *watcher;
	const char *const ids[] = {NULL};
	struct rec_watcher_options options = {.size = sizeof options, .kind = (enum rec_watch_kind)3};
	assert_int_equal(rec_watcher_new(w->reconciler, &options, &watcher, &w->error), REC_E_INVALID);
	options = (struct rec_watcher_options){.size = sizeof options, .rescan_interval_ms = -1};
	assert_int_equal(rec_watcher_new(w->reconciler, &options, &watcher, &w->error), REC_E_INVALID);
	options = (struct rec_watcher_options){.size = sizeof options, .ids = ids, .id_count = 1};
	assert_int_equal(rec_watcher_new(w->reconciler, &options, &watcher, &w->error), REC_E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		api_test(test_watch__tells_what_changed),  api_test(test_watch__honours_the_check_interval),
		api_test(test_watch__applies_if_asked),    api_test(test_watch__a_look_that_was_ended_goes_on_at_once),
		api_test(test_watch__refuses_bad_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
