/* watch: what is told and when, what a look costs, what survives a failure. */
#include "engine/test-world.h"

#include "engine/apply.h"
#include "engine/watch.h"

#define SECOND INT64_C(1000000)

struct watching {
	struct world *world;
	struct rec_watch *watch;
	int64_t now_us;
	char told[2000]; /* by the last look */
	size_t used;
	int end_after; /* the fn ends the look after so many */
};

static int tell(void *context, const struct rec_result_view *view, int applied)
{
	struct watching *t = context;
	static const char *const marks[] = {"", "-", "+"};
	t->used += (size_t)snprintf(t->told + t->used, sizeof t->told - t->used, "%s%.*s:%.*s/%.*s:%s%s%s",
				    t->used ? " " : "", (int)view->task_id.length, view->task_id.data,
				    view->current_status.data ? (int)view->current_status.length : 1,
				    view->current_status.data ? view->current_status.data : "0",
				    view->external_status.data ? (int)view->external_status.length : 1,
				    view->external_status.data ? view->external_status.data : "0", view->action,
				    view->discrepancy ? "!" : "", marks[applied + 1]);
	return t->end_after && --t->end_after == 0 ? 99 : 0;
}

static int try_look(struct watching *t)
{
	uint64_t told = 0;
	t->used = 0;
	t->told[0] = '\0';
	return rec_watch_look(t->watch, t->now_us, tell, t, &told, &t->world->error);
}

static void look_at(struct watching *t, const char *wanted, int line)
{
	int r = try_look(t);
	if (r || strcmp(t->told, wanted) != 0)
		fail_msg("line %d: %d, told [%s], wanted [%s]", line, r, t->told, wanted);
}
#define look(t, wanted) look_at(t, wanted, __LINE__)

static struct watching watching(struct world *w, const struct rec_watch_options *options)
{
	struct watching t = {.world = w, .now_us = SECOND};
	ok(w, rec_watch_new(w->store, options, &t.watch, &w->error));
	return t;
}

static struct watching watching_all(struct world *w)
{
	return watching(w, &(struct rec_watch_options){.kind = REC_CHECK_MERGED});
}

static void believe(struct watching *t, const char *id, enum rec_status status)
{
	ok(t->world, rec_watch_believe(t->watch, S(id), status, &t->world->error));
}

/* ---- What is told ---- */

static void test_watch__first_look_tells_all_but_what_is_quiet(void **state)
{
	struct world *w = *state;
	add(w, "ready", REC_READY);
	add(w, "done", REC_DONE);
	add(w, "blocked", REC_BLOCKED);
	struct watching t = watching_all(w);
	look(&t, "blocked:BLOCKED/0:NONE! done:DONE/0:SKIP");
	look(&t, "");
	rec_watch_free(t.watch);
}

static void test_watch__each_change_is_told_once_a_return_to_none_included(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	struct watching t = watching_all(w);
	look(&t, "");
	believe(&t, "t", REC_IN_PROGRESS);
	look(&t, "t:READY/IN_PROGRESS:NONE!");
	set(w, "t", REC_IN_PROGRESS);
	look(&t, "t:IN_PROGRESS/IN_PROGRESS:NONE");
	set(w, "t", REC_BLOCKED);
	look(&t, "t:BLOCKED/IN_PROGRESS:KILL!");
	look(&t, "");
	believe(&t, "t", REC_BLOCKED);
	look(&t, "t:BLOCKED/0:NONE!"); /* without blockers */
	ask(w, "k", "t");
	look(&t, "t:BLOCKED/BLOCKED:NONE");
	answer(w, "k");
	look(&t, "t:BLOCKED/0:REQUEUE!");
	ask(w, "k2", "t");
	look(&t, "t:BLOCKED/BLOCKED:NONE");
	rec_watch_free(t.watch);
}

static void test_watch__a_change_that_was_undone_is_not_told(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	struct watching t = watching_all(w);
	look(&t, "");
	set(w, "t", REC_DONE);
	set(w, "t", REC_READY);
	believe(&t, "t", REC_DONE);
	believe(&t, "t", REC_STATUS_ABSENT);
	look(&t, "");
	rec_watch_free(t.watch);
}

static void test_watch__a_forgotten_belief_a_deleted_and_a_new_task(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_READY);
	struct watching t = watching_all(w);
	believe(&t, "a", REC_READY);
	look(&t, "a:DONE/READY:SKIP!");
	believe(&t, "a", REC_STATUS_ABSENT);
	look(&t, "a:DONE/0:SKIP");
	ok(w, rec_store_delete(w->outside, S("a"), &w->error));
	look(&t, "a:0/0:NONE");
	add(w, "c", REC_FAILED);
	add(w, "d", REC_READY);
	look(&t, "c:FAILED/0:SKIP");
	set(w, "d", REC_IN_PROGRESS);
	look(&t, "d:IN_PROGRESS/0:NONE");
	add(w, "a", REC_BLOCKED);
	look(&t, "a:BLOCKED/0:NONE!");
	rec_watch_free(t.watch);
}

static void test_watch__a_believed_task_that_is_missing_shows_up_when_it_is_made(void **state)
{
	struct world *w = *state;
	struct watching t = watching_all(w);
	believe(&t, "t", REC_IN_PROGRESS);
	look(&t, "");
	add(w, "t", REC_BLOCKED);
	look(&t, "t:BLOCKED/IN_PROGRESS:KILL!");
	ok(w, rec_store_delete(w->outside, S("t"), &w->error));
	look(&t, "t:0/0:NONE");
	add(w, "t", REC_DONE);
	look(&t, "t:DONE/IN_PROGRESS:SKIP!");
	rec_watch_free(t.watch);
}

/* ---- Which tasks ---- */

static void test_watch__only_named_ids_missing_ones_included(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_DONE);
	const struct rec_slice ids[] = {S("b"), S("gone"), S("b")};
	struct watching t =
		watching(w, &(struct rec_watch_options){.kind = REC_CHECK_MERGED, .ids = ids, .id_count = 3});
	believe(&t, "a", REC_READY);
	look(&t, "b:DONE/0:SKIP");
	set(w, "a", REC_BLOCKED);
	look(&t, "");
	add(w, "gone", REC_READY);
	look(&t, "gone:READY/0:NONE");
	believe(&t, "gone", REC_READY);
	look(&t, "gone:READY/READY:NONE");
	ok(w, rec_store_delete(w->outside, S("gone"), &w->error));
	look(&t, "gone:0/0:NONE");
	add(w, "gone", REC_READY);
	look(&t, "gone:READY/READY:NONE");
	rec_watch_free(t.watch);
}

static void test_watch__no_ids_at_all_is_not_every_task(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	const struct rec_slice none[1] = {{NULL, 0}};
	struct watching t = watching(w, &(struct rec_watch_options){.kind = REC_CHECK_MERGED, .ids = none});
	look(&t, "");
	rec_watch_free(t.watch);
}

static void test_watch__only_what_is_believed(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_DONE);
	add(w, "c", REC_READY);
	struct watching t = watching(w, &(struct rec_watch_options){.kind = REC_CHECK_MERGED, .only_believed = true});
	look(&t, "");
	believe(&t, "b", REC_READY);
	believe(&t, "c", REC_READY);
	look(&t, "b:DONE/READY:SKIP!");
	set(w, "a", REC_BLOCKED);
	set(w, "c", REC_BLOCKED);
	look(&t, "c:BLOCKED/READY:KILL!");
	believe(&t, "b", REC_STATUS_ABSENT);
	look(&t, "b:DONE/0:SKIP");
	set(w, "b", REC_READY);
	look(&t, "");
	believe(&t, "b", REC_FAILED);
	look(&t, "b:READY/FAILED:REQUEUE!");
	rec_watch_free(t.watch);
}

static void test_watch__refuses_what_is_no_task_id(void **state)
{
	struct world *w = *state;
	struct watching t = watching_all(w);
	assert_int_equal(rec_watch_believe(t.watch, S(""), REC_READY, &w->error), REC_E_INVALID);
	assert_int_equal(rec_watch_believe(t.watch, S("a\n"), REC_READY, &w->error), REC_E_INVALID);
	look(&t, "");
	rec_watch_free(t.watch);
}

static void test_watch__kinds_are_those_of_check(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_BLOCKED);
	ask(w, "k", "t");
	answer(w, "k");
	struct watching tasks = watching(w, &(struct rec_watch_options){.kind = REC_CHECK_TASKS});
	struct watching blockers = watching(w, &(struct rec_watch_options){.kind = REC_CHECK_BLOCKERS});
	believe(&tasks, "t", REC_READY);
	believe(&blockers, "t", REC_READY);
	look(&tasks, "t:BLOCKED/READY:KILL!");
	look(&blockers, "t:BLOCKED/0:REQUEUE!");
	rec_watch_free(tasks.watch);
	rec_watch_free(blockers.watch);
}

/* ---- What a look costs ---- */

static void test_watch__an_idle_look_takes_no_snapshot_and_no_memory(void **state)
{
	struct world *w = *state;
	char id[16];
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "t%d", i);
		add(w, id, REC_READY);
	}
	struct watching t = watching_all(w);
	look(&t, "");
	unsigned snapshots = w->snapshots;
	uint64_t calls = w->memory.calls;
	for (int i = 0; i < 10; i++)
		look(&t, "");
	assert_int_equal(w->snapshots, snapshots);
	assert_int_equal(w->memory.calls, calls);
	rec_watch_free(t.watch);
}

static void test_watch__k_changes_take_one_snapshot_of_k_ids(void **state)
{
	struct world *w = *state;
	char id[16];
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "t%02d", i);
		add(w, id, REC_READY);
	}
	struct watching t = watching_all(w);
	look(&t, "");
	w->snapshots = w->snapshot_ids = 0;
	set(w, "t07", REC_DONE);
	set(w, "t03", REC_DONE);
	set(w, "t07", REC_MERGED);
	believe(&t, "t03", REC_READY);
	believe(&t, "t50", REC_READY);
	look(&t, "t03:DONE/READY:SKIP! t50:READY/READY:NONE t07:MERGED/0:SKIP");
	assert_int_equal(w->snapshots, 1);
	assert_int_equal(w->snapshot_ids, 3);
	rec_watch_free(t.watch);
}

static void test_watch__many_short_lived_tasks_do_not_grow_it(void **state)
{
	struct world *w = *state;
	struct watching t = watching_all(w);
	char id[32];
	look(&t, "");
	uint64_t live = 0;
	for (int i = 0; i < 1000; i++) {
		snprintf(id, sizeof id, "task-%d", i);
		add(w, id, REC_DONE);
		assert_int_equal(try_look(&t), 0);
		ok(w, rec_store_delete(w->outside, S(id), &w->error));
		assert_int_equal(try_look(&t), 0);
	}
	/* The store keeps its feed; what the watch alone holds is seen when it goes. */
	live = w->memory.live;
	rec_watch_free(t.watch);
	assert_true(live - w->memory.live < 10);
}

/* ---- Rescans ---- */

static void test_watch__takes_a_full_snapshot_after_the_interval(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	struct watching t = watching_all(w);
	assert_int_equal(rec_watch_rescan_wait_us(t.watch, t.now_us), 0);
	look(&t, "");
	assert_int_equal(w->snapshots, 1);
	assert_int_equal(rec_watch_rescan_wait_us(t.watch, t.now_us), 600 * SECOND);
	t.now_us += 600 * SECOND - 1;
	look(&t, "");
	assert_int_equal(w->snapshots, 1);
	t.now_us += 1;
	assert_int_equal(rec_watch_rescan_wait_us(t.watch, t.now_us), 0);
	look(&t, "");
	assert_int_equal(w->snapshots, 2);
	look(&t, "");
	assert_int_equal(w->snapshots, 2);
	rec_watch_free(t.watch);
}

static void test_watch__a_pruned_feed_means_a_full_snapshot_that_finds_everything(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_READY);
	struct watching t = watching_all(w);
	look(&t, "a:DONE/0:SKIP");
	ok(w, rec_store_delete(w->outside, S("a"), &w->error));
	set(w, "b", REC_FAILED);
	add(w, "c", REC_MERGED);
	struct rec_gc gc = {.older_than_us = INT64_MAX};
	ok(w, rec_store_gc(w->outside, &gc, &w->error));
	assert_true(gc.changes > 0);
	w->snapshots = 0;
	look(&t, "b:FAILED/0:SKIP c:MERGED/0:SKIP a:0/0:NONE");
	assert_int_equal(w->snapshots, 1);
	look(&t, "");
	rec_watch_free(t.watch);
}

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
		world_test(test_watch__first_look_tells_all_but_what_is_quiet),
		world_test(test_watch__each_change_is_told_once_a_return_to_none_included),
		world_test(test_watch__a_change_that_was_undone_is_not_told),
		world_test(test_watch__a_forgotten_belief_a_deleted_and_a_new_task),
		world_test(test_watch__a_believed_task_that_is_missing_shows_up_when_it_is_made),
		world_test(test_watch__only_named_ids_missing_ones_included),
		world_test(test_watch__no_ids_at_all_is_not_every_task),
		world_test(test_watch__only_what_is_believed),
		world_test(test_watch__refuses_what_is_no_task_id),
		world_test(test_watch__kinds_are_those_of_check),
		world_test(test_watch__an_idle_look_takes_no_snapshot_and_no_memory),
		world_test(test_watch__k_changes_take_one_snapshot_of_k_ids),
		world_test(test_watch__many_short_lived_tasks_do_not_grow_it),
		world_test(test_watch__takes_a_full_snapshot_after_the_interval),
		world_test(test_watch__a_pruned_feed_means_a_full_snapshot_that_finds_everything),
		world_test(test_watch__a_busy_store_loses_nothing),
		world_test(test_watch__a_look_that_was_ended_goes_on_with_the_rest),
		cmocka_unit_test(test_watch__every_failing_allocation_is_reported_and_leaks_nothing),
		cmocka_unit_test(test_watch__after_running_out_of_memory_the_next_look_tells_all),
		world_test(test_apply__a_released_task_is_requeued_and_told_then_its_new_state),
		world_test(test_apply__holds_are_told_as_such),
		world_test(test_apply__kills_and_skips_are_told_not_applied),
		world_test(test_apply__a_busy_store_is_tried_again_at_the_next_look),
	};
	return cmocka_run_group_tests_name("engine/watch", tests, NULL, NULL);
}
