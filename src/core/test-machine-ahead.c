/* test-machine-ahead.c - claims ahead of short children; tasks that join, change and are linked again; the store out of
 * order; memory. */
#include "core/test-machine.h"

/* ---- Ahead ---- */

static const char *const names[] = {"t00", "t01", "t02", "t03", "t04", "t05", "t06", "t07",
				    "t08", "t09", "t10", "t11", "t12", "t13", "t14", "t15"};

static void exit_after(struct bench *b, uint32_t task, int64_t took_us)
{
	struct rec_machine_event e = {.kind = REC_ON_ENDED, .task = task, .claim_id = rec_machine_claim(b->m, task)};
	e.took_us = took_us;
	assert_int_equal(bench_tell(b, e), 0);
}

/* One slot that has run `runs` short children; as many tasks are left of `total`. */
static void bench_short(struct bench *b, uint32_t total, uint32_t runs, uint32_t slots)
{
	struct rec_machine_options options = bench_options();
	options.max_parallel = slots;
	bench_open(b, &options, slots);
	for (uint32_t i = 0; i < total; i++)
		bench_add(b, names[i]);
	bench_link(b);
	for (uint32_t i = 0; i < total; i++)
		bench_status(b, i, REC_READY);
	for (uint32_t i = 0; i < runs; i++) {
		bench_commit_claims(b);
		bench_plan(b);
		bench_say(b, i, REC_ON_STARTED);
		exit_after(b, i, 1000);
		bench_plan(b);
		bench_recorded(b, i, REC_DONE);
		if (b->plan->buckets[REC_EFFECT_CLAIM].count)
			bench_claimed(b, b->plan->buckets[REC_EFFECT_CLAIM].items[0].task);
	}
}

static void test_ahead__only_after_eight_short_attempts_of_the_slot(void **state)
{
	(void)state;
	for (uint32_t runs = 6; runs <= 8; runs++) {
		struct bench b;
		bench_short(&b, 12, runs, 1);
		/* with the end of the eighth, the next one and one ahead of it */
		const struct rec_effects *claims = &b.plan->buckets[REC_EFFECT_CLAIM];
		assert_int_equal(claims->count, runs == 8 ? 2 : 1);
		for (size_t i = 0; i < claims->count; i++)
			assert_int_equal(claims->items[i].ahead, i == 1);
		bench_say(&b, runs, REC_ON_STARTED);
		bench_plan(&b);
		assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 0); /* at most one */
		bench_close(&b);
	}
}

static void test_ahead__one_long_attempt_ends_it(void **state)
{
	(void)state;
	struct bench b;
	bench_short(&b, 12, 8, 1);
	bench_plan(&b);
	bench_say(&b, 8, REC_ON_STARTED);
	exit_after(&b, 8, 100000);
	bench_plan(&b);
	bench_recorded(&b, 8, REC_DONE);
	bench_claimed(&b, 9);
	bench_plan(&b);
	bench_say(&b, 9, REC_ON_STARTED);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 0);
	bench_close(&b);
}

/* t08 runs, t09 is ahead of it. */
static void bench_one_ahead(struct bench *b, uint32_t total, uint32_t slots)
{
	bench_short(b, total, 8, slots);
	bench_plan(b);
	bench_say(b, 8, REC_ON_STARTED);
	bench_plan(b);
	bench_claimed(b, 9);
	assert_non_null(strstr(bench_plan(b), "start t09"));
}

static void test_ahead__starts_by_itself_when_the_one_before_it_ends(void **state)
{
	(void)state;
	struct bench b;
	bench_one_ahead(&b, 12, 1);
	exit_after(&b, 8, 1000);
	bench_say(&b, 9, REC_ON_STARTED);
	assert_phase(&b, 9, RUNNING);
	/* the record holds one unrecorded end and one that runs; the same group that records the end claims a third */
	assert_string_equal(bench_plan(&b), "finish t08 slot 0 claim 108 DONE: exit 0\n"
					    "claim t10 slot 0: behind a short one\n");
	bench_recorded(&b, 8, REC_DONE);
	bench_claimed(&b, 10);
	assert_non_null(strstr(bench_plan(&b), "start t10"));
	bench_close(&b);
}

static void test_ahead__is_recalled_when_the_one_before_it_takes_long(void **state)
{
	(void)state;
	struct bench b;
	bench_one_ahead(&b, 12, 1);
	assert_int_equal(b.plan->timer_us, b.now.monotonic_us + 100000);
	bench_pass(&b, 100000);
	assert_string_equal(bench_plan(&b), "recall t09 slot 0 claim 109: the one before it takes long\n");
	assert_string_equal(bench_plan(&b), "");
	bench_say(&b, 9, REC_ON_VOID);
	assert_string_equal(bench_plan(&b), "release t09 slot 0 claim 109: never started\n");
	bench_say(&b, 9, REC_ON_RELEASED);
	bench_status(&b, 9, REC_READY);
	assert_phase(&b, 9, QUEUED);
	bench_plan(&b); /* nothing else is put behind the long one */
	assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 0);
	bench_close(&b);
}

static void test_ahead__recalled_too_late_it_runs(void **state)
{
	(void)state;
	struct bench b;
	bench_one_ahead(&b, 12, 1);
	bench_pass(&b, 100000);
	bench_plan(&b);
	exit_after(&b, 8, 1000);
	bench_say(&b, 9, REC_ON_STARTED);
	assert_phase(&b, 9, RUNNING);
	bench_close(&b);
}

static void test_ahead__is_recalled_when_another_slot_would_stay_idle(void **state)
{
	(void)state;
	struct bench b;
	bench_one_ahead(&b, 10, 1);
	assert_int_equal(rec_machine_slots(b.m, 2), 0);
	b.m->options.max_parallel = 2;
	assert_string_equal(bench_plan(&b), "recall t09 slot 0 claim 109: another slot is free\n");
	bench_close(&b);
}

static void test_ahead__is_recalled_when_nothing_is_to_start_any_more(void **state)
{
	(void)state;
	struct bench b;
	bench_one_ahead(&b, 12, 1);
	rec_machine_drain(b.m);
	assert_non_null(strstr(bench_plan(&b), "recall t09"));
	bench_say(&b, 9, REC_ON_VOID);
	bench_plan(&b);
	bench_say(&b, 9, REC_ON_RELEASED);
	exit_after(&b, 8, 1000);
	bench_plan(&b);
	bench_recorded(&b, 8, REC_DONE);
	bench_plan(&b);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_CANCELLED);
	bench_close(&b);
}

static void test_ahead__blocked_meanwhile_it_is_recalled_not_started(void **state)
{
	(void)state;
	struct bench b;
	bench_one_ahead(&b, 12, 1);
	bench_status(&b, 9, REC_BLOCKED);
	assert_non_null(strstr(bench_plan(&b), "recall t09 slot 0 claim 109: changed outside\n"));
	bench_close(&b);
}

static void test_ahead__lost_before_the_one_that_runs_leaves_that_one_alone(void **state)
{
	(void)state;
	struct bench b;
	bench_one_ahead(&b, 12, 1);
	bench_say(&b, 9, REC_ON_LOST);
	bench_plan(&b);
	bench_recorded(&b, 9, REC_READY);
	assert_phase(&b, 8, RUNNING);
	exit_after(&b, 8, 1000);
	bench_plan(&b);
	bench_recorded(&b, 8, REC_DONE);
	bench_close(&b);
}

/* The record keeps two that have not begun: t09, which is about to, and t10, until its release is committed. */
static void test_ahead__not_while_one_that_never_started_is_not_released(void **state)
{
	(void)state;
	struct bench b;
	bench_one_ahead(&b, 16, 1);
	exit_after(&b, 8, 1000);
	bench_plan(&b);
	bench_recorded(&b, 8, REC_DONE);
	bench_claimed(&b, 10);
	bench_plan(&b);
	bench_say(&b, 10, REC_ON_VOID);
	assert_non_null(strstr(bench_plan(&b), "release t10 slot 0 claim 110: never started\n"));
	bench_pass(&b, 60 * SECOND);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 0);
	bench_say(&b, 10, REC_ON_RELEASED);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 1);
	bench_close(&b);
}

static void test_ahead__not_at_all_if_unwanted(void **state)
{
	(void)state;
	struct bench b;
	bench_short(&b, 12, 8, 1);
	b.m->options.no_ahead = true;
	bench_plan(&b);
	bench_say(&b, 8, REC_ON_STARTED);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 0);
	bench_close(&b);
}

static void depends(struct bench *b, uint32_t task, const char *on)
{
	uint32_t tasks[4];
	size_t count = 0;
	for (; *on; on++)
		tasks[count++] = rec_machine_find(b->m, (struct rec_slice){on, 1});
	assert_int_equal(rec_machine_depends(b->m, task, tasks, count, false), 0);
}

/* ---- Joining ---- */

static void test_join__a_watched_task_becomes_a_member(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t first, again;
	struct rec_machine_task task = {.id = rec_slice_of("T")};
	assert_int_equal(rec_machine_add(b.m, &task, &first), 0);
	bench_link(&b);
	bench_status(&b, first, REC_READY);
	assert_string_equal(bench_plan(&b), "");
	assert_int_equal(rec_machine_add(b.m, &task, &again), REC_EXISTS);
	assert_false(rec_machine_member(b.m, again));
	assert_int_equal(first, again);
	assert_int_equal(rec_machine_join(b.m, b.now, again), 0);
	assert_int_equal(rec_machine_join(b.m, b.now, again), 0);
	assert_true(rec_machine_member(b.m, again));
	assert_int_equal(rec_machine_members(b.m), 1);
	bench_audit(&b);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_RUNNING); /* to be looked at with other eyes */
	bench_status(&b, first, REC_READY);
	assert_string_equal(bench_plan(&b), "claim T slot 0: its turn\n");
	bench_close(&b);
}

static void test_join__a_watched_attempt_counts_once_its_task_is_a_member(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task;
	struct rec_machine_task watched = {.id = rec_slice_of("T")};
	assert_int_equal(rec_machine_add(b.m, &watched, &task), 0);
	struct rec_machine_event adopted = {.kind = REC_ON_ADOPTED, .task = task, .claim_id = 7, .attempt = 1};
	assert_int_equal(bench_tell(&b, adopted), 0);
	assert_int_equal(rec_machine_join(b.m, b.now, task), 0);
	bench_audit(&b);
	assert_int_equal(rec_machine_counts(b.m).running, 1);
	bench_plan(&b);
	bench_exit(&b, task, 0);
	bench_plan(&b);
	bench_recorded(&b, task, REC_DONE);
	assert_int_equal(rec_machine_counts(b.m).done, 1);
	bench_close(&b);
}

/* It was done, and so whoever depends on it might have run. */
static void test_join__a_task_that_was_met_is_waited_for_once_it_is_a_member(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t t = bench_add(&b, "t"), w;
	struct rec_machine_task watched = {.id = rec_slice_of("w")};
	assert_int_equal(rec_machine_add(b.m, &watched, &w), 0);
	depends(&b, t, "w");
	bench_link(&b);
	bench_status(&b, w, REC_DONE);
	bench_status(&b, t, REC_READY);
	assert_phase(&b, t, QUEUED);
	assert_int_equal(rec_machine_join(b.m, b.now, w), 0);
	bench_audit(&b);
	assert_phase(&b, t, WAITING);
	bench_status(&b, w, REC_READY);
	assert_string_equal(bench_plan(&b), "claim w slot 0: its turn\n");
	bench_close(&b);
}

/* What is missing, and not in the batch, holds; a member that is missing does not exist any more, or will. */
static void test_join__a_task_that_was_missing_no_longer_holds_others(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.wait = true;
	bench_open(&b, &options, 1);
	uint32_t t = bench_add(&b, "t"), w;
	struct rec_machine_task watched = {.id = rec_slice_of("w")};
	assert_int_equal(rec_machine_add(b.m, &watched, &w), 0);
	depends(&b, t, "w");
	bench_link(&b);
	bench_status(&b, w, REC_STATUS_ABSENT);
	bench_status(&b, t, REC_READY);
	assert_int_equal(rec_machine_hold(b.m, t), REC_HOLD_MISSING);
	bench_plan(&b);
	assert_int_equal(rec_machine_join(b.m, b.now, w), 0);
	bench_audit(&b);
	assert_string_equal(bench_plan(&b), "look t: its dependencies changed\n");
	bench_status(&b, t, REC_READY);
	assert_phase(&b, t, WAITING);
	bench_close(&b);
}

/* ---- Dependencies that change ---- */

static void test_link__each_dependency_counts_once_and_can_be_asked_for(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t a = bench_add(&b, "a"), c = bench_add(&b, "c"), t = bench_add(&b, "t"), count;
	depends(&b, t, "caca");
	bench_link(&b);
	const uint32_t *on = rec_machine_dependencies(b.m, t, &count);
	assert_int_equal(count, 2);
	assert_int_equal(on[0], a);
	assert_int_equal(on[1], c);
	bench_status(&b, t, REC_READY);
	bench_status(&b, a, REC_DONE);
	assert_int_equal(rec_machine_unmet(b.m, t), c);
	assert_phase(&b, t, WAITING);
	bench_status(&b, c, REC_DONE);
	assert_int_equal(rec_machine_unmet(b.m, t), REC_MACHINE_NONE);
	assert_phase(&b, t, QUEUED);
	bench_close(&b);
}

static void test_link__many_changes_leave_no_waste(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	bench_add(&b, "a");
	bench_add(&b, "c");
	uint32_t t = bench_add(&b, "t"), u = bench_add(&b, "u"), count;
	depends(&b, u, "ac");
	for (int i = 0; i < 500; i++) {
		depends(&b, t, i % 2 ? "a" : "ca");
		bench_link(&b);
		bench_audit(&b);
	}
	assert_true(b.m->dependencies.count < 100);
	rec_machine_dependencies(b.m, t, &count);
	assert_int_equal(count, 1);
	rec_machine_dependencies(b.m, u, &count);
	assert_int_equal(count, 2);
	bench_close(&b);
}

static void test_link__a_ring_made_later_holds_and_once_broken_releases(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t a = bench_add(&b, "a"), c = bench_add(&b, "c");
	depends(&b, a, "c");
	bench_link(&b);
	bench_status(&b, a, REC_READY);
	depends(&b, c, "a");
	bench_link(&b);
	bench_status(&b, a, REC_READY);
	bench_status(&b, c, REC_READY);
	const char *plan = bench_plan(&b);
	assert_non_null(strstr(plan, "event a: dependencies in a ring\n"));
	assert_int_equal(rec_machine_hold(b.m, a), REC_HOLD_RING);
	depends(&b, c, "");
	bench_link(&b);
	plan = bench_plan(&b);
	assert_non_null(strstr(plan, "look a: its dependencies changed\n"));
	assert_non_null(strstr(plan, "look c: its dependencies changed\n"));
	bench_status(&b, a, REC_READY);
	bench_status(&b, c, REC_READY);
	assert_phase(&b, a, WAITING);
	assert_phase(&b, c, QUEUED);
	bench_link(&b); /* nothing changed: nothing to look at */
	assert_int_equal(b.m->current.buckets[REC_EFFECT_LOOK].count, 0);
	bench_close(&b);
}

static void test_link__a_dependency_added_sends_a_queued_task_back_to_wait(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	bench_add(&b, "a");
	uint32_t t = bench_add(&b, "t");
	bench_link(&b);
	bench_status(&b, t, REC_READY);
	depends(&b, t, "a");
	bench_link(&b);
	assert_phase(&b, t, WAITING);
	bench_close(&b);
}

/* ---- The store is out of order ---- */

static void test_store__out_of_order_ends_and_holds_wait_while_stops_go_on(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.settle_us = 0;
	bench_open(&b, &options, 2);
	uint32_t ends = bench_add(&b, "a"), stops = bench_add(&b, "c"), held = bench_add(&b, "h");
	bench_link(&b);
	bench_status(&b, ends, REC_READY);
	bench_status(&b, stops, REC_READY);
	bench_commit_claims(&b);
	bench_say(&b, ends, REC_ON_STARTED);
	bench_say(&b, stops, REC_ON_STARTED);
	bench_plan(&b);
	bench_exit(&b, ends, 0);
	bench_status(&b, held, REC_BACKLOG);
	int64_t pause_us = 100000;
	for (int i = 0; i < 12; i++) {
		bench_plan(&b);
		assert_int_equal(b.plan->buckets[REC_EFFECT_FINISH].count, 1);
		assert_int_equal(b.plan->buckets[REC_EFFECT_HOLD].count, 1);
		assert_int_equal(rec_machine_failed(b.m, b.now), 0);
		bench_plan(&b);
		assert_int_equal(b.plan->count, 0);
		assert_true(b.plan->timer_us == b.now.monotonic_us + pause_us || i > 0);
		if (i == 0)
			bench_status(&b, stops, REC_DONE);
		if (i == 0)
			assert_non_null(strstr(bench_plan(&b), "stop c slot 1 claim 101 TERM"));
		bench_pass(&b, pause_us);
		pause_us = pause_us * 2 > 30 * SECOND ? 30 * SECOND : pause_us * 2;
	}
	bench_plan(&b);
	bench_recorded(&b, ends, REC_DONE);
	rec_machine_stored(b.m);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_FINISH].count, 0);
	bench_close(&b);
}

static void test_store__claims_of_a_failed_group_are_as_if_never_planned(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t a = bench_add(&b, "a"), c = bench_add(&b, "c");
	bench_link(&b);
	bench_status(&b, a, REC_READY);
	bench_status(&b, c, REC_READY);
	bench_plan(&b);
	assert_int_equal(rec_machine_failed(b.m, b.now), 0);
	bench_audit(&b);
	assert_phase(&b, a, QUEUED);
	assert_phase(&b, c, QUEUED);
	assert_int_equal(rec_machine_attempts(b.m), 0);
	bench_plan(&b);
	assert_int_equal(b.plan->count, 0);
	bench_pass(&b, 10 * SECOND);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 2);
	bench_close(&b);
}

/* ---- Rows ---- */

static void test_row__is_what_holds_once_the_effect_is_in_the_store(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t t = bench_add(&b, "t");
	bench_link(&b);
	bench_status(&b, t, REC_READY);
	bench_plan(&b);
	struct rec_machine_row row = rec_machine_row(b.m, bench_effect(&b, REC_EFFECT_CLAIM), REC_READY);
	assert_int_equal(row.phase, REC_PHASE_RUNNING);
	assert_int_equal(row.belief, REC_IN_PROGRESS);
	assert_int_equal(row.attempt, 1);
	assert_int_equal(rec_machine_belief(b.m, t), REC_READY);
	bench_claimed(&b, t);
	bench_plan(&b);
	bench_say(&b, t, REC_ON_VOID);
	bench_plan(&b);
	row = rec_machine_row(b.m, bench_effect(&b, REC_EFFECT_RELEASE), REC_READY);
	assert_int_equal(row.phase, REC_PHASE_WAITING);
	assert_int_equal(row.belief, REC_READY);
	bench_say(&b, t, REC_ON_RELEASED);
	bench_status(&b, t, REC_BLOCKED);
	bench_plan(&b);
	row = rec_machine_row(b.m, bench_effect(&b, REC_EFFECT_HOLD), REC_READY);
	assert_int_equal(row.phase, REC_PHASE_HELD);
	assert_int_equal(row.hold, REC_HOLD_BLOCKED);
	assert_int_equal(row.belief, REC_BLOCKED);
	struct rec_seen answered = seen_as(REC_BLOCKED);
	answered.blockers_total = answered.blockers_new = 1;
	bench_see(&b, t, answered);
	bench_plan(&b);
	row = rec_machine_row(b.m, bench_effect(&b, REC_EFFECT_REQUEUE), REC_READY);
	assert_int_equal(row.phase, REC_PHASE_WAITING);
	assert_int_equal(row.belief, REC_READY);
	assert_int_equal(row.hold, REC_HOLD_NOT);
	bench_status(&b, t, REC_DONE);
	bench_plan(&b);
	row = rec_machine_row(b.m, bench_effect(&b, REC_EFFECT_SKIP), REC_READY);
	assert_int_equal(row.phase, REC_PHASE_FINISHED);
	assert_int_equal(row.belief, REC_DONE);
	assert_false(row.own);
	bench_close(&b);
}

/* ---- Options, names ---- */

static void test_options__that_make_no_sense_are_refused(void **state)
{
	(void)state;
	struct rec_machine *m = NULL;
	struct rec_error error;
	struct rec_machine_options none = bench_options(), negative = bench_options(), many = bench_options();
	none.max_parallel = 0;
	negative.grace_us = -1;
	many.retries = 70000;
	assert_int_equal(rec_machine_new(&none, &m, &error), REC_E_INVALID);
	assert_int_equal(rec_machine_new(&negative, &m, &error), REC_E_INVALID);
	assert_int_equal(rec_machine_new(&many, &m, &error), REC_E_INVALID);
	assert_null(m);
	assert_null(rec_machine_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ahead__only_after_eight_short_attempts_of_the_slot),
		cmocka_unit_test(test_ahead__one_long_attempt_ends_it),
		cmocka_unit_test(test_ahead__starts_by_itself_when_the_one_before_it_ends),
		cmocka_unit_test(test_ahead__is_recalled_when_the_one_before_it_takes_long),
		cmocka_unit_test(test_ahead__recalled_too_late_it_runs),
		cmocka_unit_test(test_ahead__is_recalled_when_another_slot_would_stay_idle),
		cmocka_unit_test(test_ahead__is_recalled_when_nothing_is_to_start_any_more),
		cmocka_unit_test(test_ahead__blocked_meanwhile_it_is_recalled_not_started),
		cmocka_unit_test(test_ahead__lost_before_the_one_that_runs_leaves_that_one_alone),
		cmocka_unit_test(test_ahead__not_while_one_that_never_started_is_not_released),
		cmocka_unit_test(test_ahead__not_at_all_if_unwanted),
		cmocka_unit_test(test_join__a_watched_task_becomes_a_member),
		cmocka_unit_test(test_join__a_task_that_was_met_is_waited_for_once_it_is_a_member),
		cmocka_unit_test(test_join__a_task_that_was_missing_no_longer_holds_others),
		cmocka_unit_test(test_join__a_watched_attempt_counts_once_its_task_is_a_member),
		cmocka_unit_test(test_link__each_dependency_counts_once_and_can_be_asked_for),
		cmocka_unit_test(test_link__many_changes_leave_no_waste),
		cmocka_unit_test(test_link__a_ring_made_later_holds_and_once_broken_releases),
		cmocka_unit_test(test_link__a_dependency_added_sends_a_queued_task_back_to_wait),
		cmocka_unit_test(test_store__out_of_order_ends_and_holds_wait_while_stops_go_on),
		cmocka_unit_test(test_store__claims_of_a_failed_group_are_as_if_never_planned),
		cmocka_unit_test(test_row__is_what_holds_once_the_effect_is_in_the_store),
		cmocka_unit_test(test_options__that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
