/* watch: what survives a failure, and watching with apply. */
#include "engine/test-watching.h"

/* ---- Failures ---- */

static void test_watch__a_busy_store_loses_nothing(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	add(w, "u", REC_DONE);
	struct watching t = watching_all(w);
	w->snapshot_result = REC_E_BUSY;
	assert_int_equal(try_look(&t), REC_E_BUSY);
	w->snapshot_result = 0;
	look(&t, "u:DONE/0:SKIP");
	set(w, "t", REC_DONE);
	w->snapshot_result = REC_E_BUSY;
	assert_int_equal(try_look(&t), REC_E_BUSY);
	assert_int_equal(try_look(&t), REC_E_BUSY);
	w->snapshot_result = 0;
	look(&t, "t:DONE/0:SKIP");
	rec_watch_free(t.watch);
}

static void test_watch__a_look_that_was_ended_goes_on_with_the_rest(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_DONE);
	add(w, "c", REC_DONE);
	struct watching t = watching_all(w);
	t.end_after = 2;
	assert_int_equal(try_look(&t), 99);
	assert_string_equal(t.told, "a:DONE/0:SKIP b:DONE/0:SKIP");
	look(&t, "c:DONE/0:SKIP");
	set(w, "a", REC_READY);
	set(w, "b", REC_READY);
	set(w, "c", REC_READY);
	t.end_after = 1;
	assert_int_equal(try_look(&t), 99);
	assert_string_equal(t.told, "a:READY/0:NONE");
	look(&t, "b:READY/0:NONE c:READY/0:NONE");
	ok(w, rec_store_delete(w->outside, S("a"), &w->error));
	ok(w, rec_store_delete(w->outside, S("b"), &w->error));
	t.now_us += 600 * SECOND;
	t.end_after = 1;
	assert_int_equal(try_look(&t), 99);
	assert_string_equal(t.told, "a:0/0:NONE");
	look(&t, "b:0/0:NONE");
	rec_watch_free(t.watch);
}

static int watch_through(struct world *w, bool named)
{
	const struct rec_slice ids[] = {S("a"), S("b")};
	struct watching t = {.world = w, .now_us = SECOND};
	struct rec_watch_options options = {.kind = REC_CHECK_MERGED, .apply = true, .batch_id = S("b")};
	if (named) {
		options.ids = ids;
		options.id_count = 2;
	}
	int r = rec_watch_new(w->store, &options, &t.watch, &w->error);
	if (r == 0)
		r = rec_watch_believe(t.watch, S("b"), REC_DONE, &w->error);
	for (int i = 0; i < 3 && r == 0; i++)
		r = try_look(&t);
	rec_watch_free(t.watch);
	return r;
}

static void test_watch__every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
	(void)state;
	for (int named = 0; named < 2; named++) {
		int r = REC_E_NOMEM;
		uint64_t n = 0;
		while (r == REC_E_NOMEM) {
			struct world *w = world_new();
			add(w, "a", REC_BLOCKED);
			ask(w, "k", "a");
			answer(w, "k");
			n++;
			w->memory.fail_at = w->memory.calls + n;
			w->memory.persistent = n % 2 == 0;
			w->error.code = 0;
			r = watch_through(w, named);
			assert_true(r == 0 || (r == REC_E_NOMEM && w->error.code == r));
			world_free(w);
		}
		assert_int_equal(r, 0);
		assert_true(n > 10);
	}
}

static void test_watch__after_running_out_of_memory_the_next_look_tells_all(void **state)
{
	(void)state;
	bool failed = true;
	for (uint64_t n = 1; failed; n++) {
		struct world *w = world_new();
		add(w, "a", REC_DONE);
		add(w, "b", REC_READY);
		struct watching t = watching_all(w);
		w->memory.fail_at = w->memory.calls + n;
		failed = try_look(&t) == REC_E_NOMEM;
		w->memory.fail_at = 0;
		assert_string_equal(t.told, failed ? "" : "a:DONE/0:SKIP");
		look(&t, failed ? "a:DONE/0:SKIP" : "");
		set(w, "a", REC_READY);
		add(w, "c", REC_DONE);
		w->memory.fail_at = w->memory.calls + n;
		bool failed_again = try_look(&t) == REC_E_NOMEM;
		w->memory.fail_at = 0;
		assert_string_equal(t.told, failed_again ? "" : "a:READY/0:NONE c:DONE/0:SKIP");
		look(&t, failed_again ? "a:READY/0:NONE c:DONE/0:SKIP" : "");
		rec_watch_free(t.watch);
		world_free(w);
	}
}

/* ---- With apply ---- */

static struct watching applying(struct world *w)
{
	return watching(w,
			&(struct rec_watch_options){.kind = REC_CHECK_MERGED, .apply = true, .batch_id = S("batch-1")});
}

static void test_apply__a_released_task_is_requeued_and_told_then_its_new_state(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_BLOCKED);
	ask(w, "k", "t");
	struct watching t = applying(w);
	look(&t, "");
	answer(w, "k");
	look(&t, "t:BLOCKED/0:REQUEUE!+");
	assert_int_equal(status_of(w, "t"), REC_READY);
	look(&t, "t:READY/0:NONE-");
	look(&t, "");
	uint64_t checked, different;
	ok(w, rec_events_verify(w->outside, NULL, NULL, &checked, &different, &w->error));
	assert_int_equal(checked, 1);
	assert_int_equal(different, 0);
	rec_watch_free(t.watch);
}

static void test_apply__holds_are_told_as_such(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_BLOCKED);
	ask(w, "k", "t");
	answer(w, "k");
	struct watching t = applying(w);
	look(&t, "t:BLOCKED/0:REQUEUE!+");
	finish(w, claim(w, "t"), REC_BLOCKED);
	look(&t, "t:BLOCKED/0:NONE!-");
	look(&t, "");
	ask(w, "k2", "t");
	look(&t, "t:BLOCKED/0:NONE-");
	answer(w, "k2");
	look(&t, "t:BLOCKED/0:REQUEUE!+");
	rec_watch_free(t.watch);
}

static void test_apply__kills_and_skips_are_told_not_applied(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_BLOCKED);
	add(w, "u", REC_DONE);
	struct watching t = applying(w);
	believe(&t, "t", REC_IN_PROGRESS);
	believe(&t, "u", REC_IN_PROGRESS);
	believe(&t, "v", REC_IN_PROGRESS);
	look(&t, "t:BLOCKED/IN_PROGRESS:KILL!- u:DONE/IN_PROGRESS:SKIP!-");
	rec_watch_free(t.watch);
}

static void test_apply__a_busy_store_is_tried_again_at_the_next_look(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_BLOCKED);
	ask(w, "k", "t");
	struct watching t = applying(w);
	look(&t, "");
	answer(w, "k");
	w->begin_result = REC_E_BUSY;
	assert_int_equal(try_look(&t), REC_E_BUSY);
	assert_string_equal(t.told, "");
	w->begin_result = 0;
	look(&t, "t:BLOCKED/0:REQUEUE!+");
	rec_watch_free(t.watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_watch__a_busy_store_loses_nothing),
		world_test(test_watch__a_look_that_was_ended_goes_on_with_the_rest),
		cmocka_unit_test(test_watch__every_failing_allocation_is_reported_and_leaks_nothing),
		cmocka_unit_test(test_watch__after_running_out_of_memory_the_next_look_tells_all),
		world_test(test_apply__a_released_task_is_requeued_and_told_then_its_new_state),
		world_test(test_apply__holds_are_told_as_such),
		world_test(test_apply__kills_and_skips_are_told_not_applied),
		world_test(test_apply__a_busy_store_is_tried_again_at_the_next_look),
	};
	return cmocka_run_group_tests_name("engine/watch-failure", tests, NULL, NULL);
}
