/* test-machine-attempt.c - how attempts end, who comes back when, and what comes too late. */
#include "core/test-machine.h"

/* The FINISH of the task's ended attempt. */
static const struct rec_effect *ended(struct bench *b)
{
	bench_plan(b);
	return bench_effect(b, REC_EFFECT_FINISH);
}

/* ---- Ends by itself ---- */

static void test_end__exit_0_is_done_and_the_attempts_own(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_exit(&b, task, 0);
	const struct rec_effect *finish = ended(&b);
	assert_int_equal(finish->status, REC_DONE);
	assert_true(finish->own && finish->blocker_counts && finish->has_exit && !finish->signalled);
	struct rec_machine_row row = rec_machine_row(b.m, finish, REC_DONE);
	assert_int_equal(row.phase, REC_PHASE_FINISHED);
	assert_true(row.own);
	bench_recorded(&b, task, REC_DONE);
	assert_int_equal(rec_machine_counts(b.m).done, 1);
	bench_close(&b);
}

static void test_end__believes_nothing_before_the_store_has_it(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_exit(&b, task, 0);
	bench_plan(&b);
	assert_int_equal(rec_machine_belief(b.m, task), REC_IN_PROGRESS);
	assert_int_equal(rec_machine_failed(b.m, b.now), 0);
	assert_int_equal(rec_machine_belief(b.m, task), REC_IN_PROGRESS);
	bench_pass(&b, SECOND);
	bench_plan(&b);
	bench_recorded(&b, task, REC_DONE);
	assert_int_equal(rec_machine_belief(b.m, task), REC_DONE);
	bench_close(&b);
}

static void test_end__what_the_store_says_afterwards_is_what_counts(void **state)
{
	(void)state;
	static const struct {
		enum rec_status status;
		enum rec_phase phase;
		enum rec_hold hold;
	} cases[] = {
		{REC_DONE, REC_PHASE_FINISHED, REC_HOLD_NOT},
		{REC_MERGED, REC_PHASE_FINISHED, REC_HOLD_NOT},
		{REC_FAILED, REC_PHASE_FINISHED, REC_HOLD_NOT},
		{REC_READY, REC_PHASE_WAITING, REC_HOLD_NOT},
		{REC_BLOCKED, REC_PHASE_HELD, REC_HOLD_RAISED},
		{REC_BACKLOG, REC_PHASE_HELD, REC_HOLD_WITHDRAWN},
		{REC_STATUS_ABSENT, REC_PHASE_HELD, REC_HOLD_DELETED},
		{REC_STATUS_UNRECOGNISED, REC_PHASE_HELD, REC_HOLD_UNRECOGNISED},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bench b;
		struct rec_machine_options options = bench_options();
		uint32_t task = bench_running(&b, &options);
		bench_exit(&b, task, 0);
		struct rec_machine_row row = rec_machine_row(b.m, ended(&b), cases[i].status);
		assert_int_equal(row.phase, cases[i].phase);
		assert_int_equal(row.hold, cases[i].hold);
		bench_recorded(&b, task, cases[i].status);
		assert_int_equal(rec_machine_phase(b.m, task), cases[i].phase);
		assert_int_equal(rec_machine_hold(b.m, task), cases[i].hold);
		bench_close(&b);
	}
}

static void test_end__set_ready_under_a_living_child_runs_once_more_after_it(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_status(&b, task, REC_READY);
	assert_phase(&b, task, RUNNING);
	assert_string_equal(bench_plan(&b), "");
	bench_exit(&b, task, 0);
	bench_plan(&b);
	bench_recorded(&b, task, REC_READY);
	bench_status(&b, task, REC_READY);
	assert_phase(&b, task, QUEUED);
	bench_close(&b);
}

static void test_end__stopped_by_a_conductor_that_died_since_is_a_stop_and_no_failure(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_heed(&b, task, 1);
	const struct rec_effect *finish = ended(&b);
	assert_int_equal(finish->status, REC_READY);
	assert_int_equal(finish->why, REC_WHY_STOPPED);
	assert_true(finish->signalled);
	bench_close(&b);
}

/* ---- Retries ---- */

static void test_retry__comes_back_after_a_doubling_delay_then_failed_is_stored(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.retries = 3;
	uint32_t task = bench_running(&b, &options);
	int64_t most_us = options.retry_delay_us;
	for (int round = 0; round < 3; round++, most_us *= 2) {
		bench_exit(&b, task, 1);
		const struct rec_effect *finish = ended(&b);
		assert_int_equal(finish->status, REC_READY);
		assert_int_equal(finish->why, REC_WHY_RETRY);
		assert_true(finish->retry_failed);
		struct rec_machine_row row = rec_machine_row(b.m, finish, REC_READY);
		assert_int_equal(row.failures, round + 1);
		assert_true(row.not_before_us >= b.now.wall_us + most_us / 2);
		assert_true(row.not_before_us <= b.now.wall_us + most_us);
		bench_recorded(&b, task, REC_READY);
		bench_status(&b, task, REC_READY);
		bench_plan(&b);
		assert_int_equal(b.plan->timer_us - b.now.monotonic_us, row.not_before_us - b.now.wall_us);
		bench_pass(&b, b.plan->timer_us - b.now.monotonic_us - 1);
		bench_plan(&b);
		assert_phase(&b, task, WAITING);
		bench_pass(&b, 1);
		bench_run(&b, task);
	}
	bench_exit(&b, task, 1);
	assert_int_equal(ended(&b)->status, REC_FAILED);
	assert_false(bench_effect(&b, REC_EFFECT_FINISH)->retry_failed);
	bench_recorded(&b, task, REC_FAILED);
	assert_int_equal(rec_machine_counts(b.m).failed, 1);
	bench_close(&b);
}

static void test_retry__held_back_nothing_happens_for_as_long_as_it_lasts(void **state)
{
	(void)state; /* B16 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.retries = 9;
	options.retry_delay_us = 300 * SECOND;
	uint32_t task = bench_running(&b, &options);
	bench_exit(&b, task, 1);
	ended(&b);
	bench_recorded(&b, task, REC_READY);
	bench_plan(&b);
	for (int tick = 0; tick < 149; tick++) {
		bench_pass(&b, SECOND);
		bench_status(&b, task, REC_READY);
		assert_string_equal(strchr(bench_plan(&b), 't'), b.text); /* the timer alone */
		assert_int_equal(b.plan->count, 0);
	}
	assert_int_equal(rec_machine_attempt(b.m, task), 1);
	bench_close(&b);
}

static void test_retry__reset_by_somebody_starts_with_a_full_budget_at_once(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.retries = 1;
	uint32_t task = bench_running(&b, &options);
	bench_exit(&b, task, 1);
	ended(&b);
	bench_recorded(&b, task, REC_READY);
	bench_status(&b, task, REC_READY);
	bench_pass(&b, 20 * SECOND);
	bench_run(&b, task);
	bench_exit(&b, task, 1);
	ended(&b);
	bench_recorded(&b, task, REC_FAILED);
	bench_status(&b, task, REC_READY);
	assert_string_equal(bench_plan(&b), "requeue T1 READY: changed outside\nclaim T1 slot 0: its turn\n");
	bench_claimed(&b, task);
	bench_exit(&b, task, 1);
	assert_int_equal(ended(&b)->status, REC_READY);
	bench_close(&b);
}

static void test_again__exit_75_has_its_own_limit_and_costs_no_retry(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	for (int round = 1; round <= 20; round++) {
		bench_exit(&b, task, 75);
		const struct rec_effect *finish = ended(&b);
		assert_int_equal(finish->status, REC_READY);
		assert_int_equal(finish->why, REC_WHY_AGAIN);
		assert_int_equal(rec_machine_row(b.m, finish, REC_READY).again, round);
		assert_int_equal(rec_machine_row(b.m, finish, REC_READY).failures, 0);
		bench_recorded(&b, task, REC_READY);
		bench_status(&b, task, REC_READY);
		bench_pass(&b, 300 * SECOND);
		bench_run(&b, task);
	}
	bench_exit(&b, task, 75);
	assert_int_equal(ended(&b)->status, REC_FAILED);
	assert_int_equal(bench_effect(&b, REC_EFFECT_FINISH)->why, REC_WHY_AGAIN_LIMIT);
	bench_close(&b);
}

static void test_again__signal_75_is_not_exit_75(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	struct rec_machine_event died = {.kind = REC_ON_ENDED, .task = task, .claim_id = rec_machine_claim(b.m, task)};
	died.exit = (struct rec_exit){.code = 75, .by_signal = true};
	assert_int_equal(bench_tell(&b, died), 0);
	assert_int_equal(ended(&b)->status, REC_FAILED);
	bench_close(&b);
}

static void test_lost__is_tried_again_three_times_then_failed(void **state)
{
	(void)state; /* B02 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	for (int round = 1; round <= 3; round++) {
		bench_say(&b, task, REC_ON_LOST);
		const struct rec_effect *finish = ended(&b);
		assert_int_equal(finish->status, REC_READY);
		assert_int_equal(finish->why, REC_WHY_LOST_AGAIN);
		assert_false(finish->has_exit);
		assert_int_equal(rec_machine_row(b.m, finish, REC_READY).lost, round);
		bench_recorded(&b, task, REC_READY);
		bench_status(&b, task, REC_READY);
		bench_run(&b, task);
	}
	bench_say(&b, task, REC_ON_LOST);
	assert_int_equal(ended(&b)->status, REC_FAILED);
	assert_int_equal(bench_effect(&b, REC_EFFECT_FINISH)->why, REC_WHY_LOST);
	bench_close(&b);
}

/* ---- Too late ---- */

static void test_stale__a_verdict_older_than_the_claim_does_not_stop_the_child(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	struct rec_seen blocked = seen_as(REC_BLOCKED);
	struct rec_machine_event old = verdict_of(&b, task, blocked);
	bench_run(&b, task);
	assert_int_equal(bench_tell(&b, old), 0);
	assert_phase(&b, task, RUNNING);
	assert_string_equal(bench_plan(&b), "look T: the result was older than an own commit\n");
	assert_int_equal(rec_machine_reconciled(b.m).dropped, 1);
	bench_close(&b);
}

static void test_stale__a_verdict_about_the_attempt_before_does_not_touch_this_one(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.retries = 1;
	options.retry_delay_us = 0;
	uint32_t task = bench_running(&b, &options);
	struct rec_seen failed = seen_as(REC_FAILED);
	struct rec_machine_event old = verdict_of(&b, task, failed);
	bench_exit(&b, task, 1);
	ended(&b);
	bench_recorded(&b, task, REC_READY);
	bench_status(&b, task, REC_READY);
	bench_run(&b, task);
	assert_int_equal(bench_tell(&b, old), 0);
	assert_phase(&b, task, RUNNING);
	bench_close(&b);
}

static void test_stale__an_end_of_the_attempt_before_does_not_end_this_one(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	struct rec_machine_event end = {.kind = REC_ON_ENDED, .task = task, .claim_id = 99};
	assert_int_equal(bench_tell(&b, end), 0);
	assert_phase(&b, task, RUNNING);
	bench_close(&b);
}

static void test_stale__a_verdict_older_than_the_requeue_does_not_hold_again(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_status(&b, task, REC_BLOCKED);
	struct rec_seen answered = seen_as(REC_BLOCKED);
	answered.blockers_total = answered.blockers_new = 1;
	struct rec_machine_event old = verdict_of(&b, task, answered);
	bench_see(&b, task, answered);
	bench_plan(&b);
	bench_say(&b, task, REC_ON_REQUEUED);
	bench_plan(&b);
	assert_int_equal(bench_tell(&b, old), 0);
	assert_phase(&b, task, WAITING);
	assert_int_equal(rec_machine_reconciled(b.m).dropped, 1);
	bench_close(&b);
}

/* ---- Adoption ---- */

static void test_adopt__a_living_child_is_watched_to_its_end_and_the_task_runs_once(void **state)
{
	(void)state; /* B02 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T1");
	bench_link(&b);
	struct rec_machine_event adopted = {
		.kind = REC_ON_ADOPTED, .task = task, .claim_id = 7, .attempt = 3, .slot = 5};
	assert_int_equal(bench_tell(&b, adopted), 0);
	assert_int_equal(bench_tell(&b, adopted), REC_E_BUG);
	assert_string_equal(bench_plan(&b), "look T1: not looked at yet\n");
	bench_status(&b, task, REC_IN_PROGRESS);
	bench_say(&b, task, REC_ON_STARTED);
	assert_phase(&b, task, RUNNING);
	assert_string_equal(bench_plan(&b), "");
	bench_exit(&b, task, 0);
	assert_string_equal(bench_plan(&b), "finish T1 slot 5 claim 7 DONE: exit 0\n");
	bench_recorded(&b, task, REC_DONE);
	assert_int_equal(rec_machine_counts(b.m).done, 1);
	bench_close(&b);
}

static void test_adopt__counts_against_the_limit_but_its_slot_is_not_used_again(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	bench_open(&b, &options, 1);
	uint32_t old = bench_add(&b, "T1"), next = bench_add(&b, "T2");
	bench_link(&b);
	struct rec_machine_event adopted = {
		.kind = REC_ON_ADOPTED, .task = old, .claim_id = 7, .attempt = 1, .slot = 9};
	assert_int_equal(bench_tell(&b, adopted), 0);
	bench_status(&b, old, REC_IN_PROGRESS);
	bench_status(&b, next, REC_READY);
	assert_string_equal(bench_plan(&b), "look T1: not looked at yet\n");
	bench_exit(&b, old, 0);
	assert_non_null(strstr(bench_plan(&b), "claim T2 slot 0: its turn\n"));
	bench_close(&b);
}

static void test_adopt__what_belongs_to_another_batch_is_ended_but_not_counted(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.timeout_us = SECOND;
	bench_open(&b, &options, 2);
	uint32_t guest;
	struct rec_machine_task watched = {.id = rec_slice_of("G")};
	assert_int_equal(rec_machine_add(b.m, &watched, &guest), 0);
	bench_link(&b);
	struct rec_machine_event adopted = {
		.kind = REC_ON_ADOPTED, .task = guest, .claim_id = 7, .attempt = 1, .slot = 0};
	assert_int_equal(bench_tell(&b, adopted), 0);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_RUNNING);
	bench_status(&b, guest, REC_IN_PROGRESS);
	bench_pass(&b, 9 * SECOND); /* our timeout is not its own */
	assert_string_equal(bench_plan(&b), "");
	bench_exit(&b, guest, 1);
	bench_plan(&b);
	bench_recorded(&b, guest, REC_FAILED);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_COMPLETED);
	assert_int_equal(rec_machine_counts(b.m).failed, 0);
	assert_int_equal(rec_machine_belief(b.m, guest), REC_STATUS_ABSENT);
	bench_close(&b);
}

static void test_adopt__its_time_runs_from_its_start(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.timeout_us = 40 * SECOND;
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	struct rec_machine_event adopted = {.kind = REC_ON_ADOPTED, .task = task, .claim_id = 7, .attempt = 1};
	assert_int_equal(bench_tell(&b, adopted), 0);
	bench_status(&b, task, REC_IN_PROGRESS);
	bench_pass(&b, 30 * SECOND);
	bench_say(&b, task, REC_ON_STARTED);
	bench_plan(&b);
	assert_int_equal(b.plan->timer_us, b.now.monotonic_us + 40 * SECOND);
	bench_close(&b);
}

static void test_adopt__before_the_first_link_it_need_not_wait_for_its_time(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t index;
	struct rec_machine_task task = {
		.id = rec_slice_of("T"), .member = true, .not_before_us = b.now.wall_us + SECOND};
	assert_int_equal(rec_machine_add(b.m, &task, &index), 0);
	struct rec_machine_event adopted = {.kind = REC_ON_ADOPTED, .task = index, .claim_id = 7, .attempt = 1};
	assert_int_equal(bench_tell(&b, adopted), 0);
	bench_link(&b);
	bench_audit(&b);
	bench_pass(&b, 2 * SECOND);
	bench_plan(&b);
	assert_phase(&b, index, CLAIMING);
	bench_close(&b);
}

static void test_adopt__without_any_record_it_is_lost(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	struct rec_machine_event adopted = {.kind = REC_ON_ADOPTED, .task = task, .claim_id = 7, .attempt = 1};
	adopted.slot = REC_MACHINE_NONE;
	assert_int_equal(bench_tell(&b, adopted), 0);
	bench_say(&b, task, REC_ON_LOST);
	assert_non_null(strstr(bench_plan(&b), "finish T claim 7 READY: process lost, to be tried again\n"));
	bench_recorded(&b, task, REC_READY);
	bench_status(&b, task, REC_READY);
	bench_plan(&b);
	bench_effect(&b, REC_EFFECT_CLAIM);
	bench_close(&b);
}

static void test_resume__what_the_batch_saw_finished_tells_nothing_again(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t own, reopened, skipped;
	bench_open(&b, &options, 1);
	struct rec_machine_task task = {
		.id = rec_slice_of("own"), .member = true, .finished = true, .own = true, .attempt = 1};
	assert_int_equal(rec_machine_add(b.m, &task, &own), 0);
	task.id = rec_slice_of("reopened");
	assert_int_equal(rec_machine_add(b.m, &task, &reopened), 0);
	task = (struct rec_machine_task){.id = rec_slice_of("skipped"), .member = true, .finished = true};
	assert_int_equal(rec_machine_add(b.m, &task, &skipped), 0);
	uint32_t outside = bench_add(&b, "outside");
	bench_link(&b);
	bench_status(&b, own, REC_DONE);
	bench_status(&b, skipped, REC_MERGED);
	bench_status(&b, outside, REC_DONE);
	bench_status(&b, reopened, REC_READY);
	assert_int_equal(rec_machine_phase(b.m, own), REC_PHASE_FINISHED);
	assert_int_equal(rec_machine_phase(b.m, reopened), REC_PHASE_QUEUED);
	assert_int_equal(rec_machine_counts(b.m).done, 1);
	assert_int_equal(rec_machine_counts(b.m).skipped, 2);
	assert_int_equal(rec_machine_reconciled(b.m).skipped, 1);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_SKIP].count, 1);
	assert_int_equal(b.plan->buckets[REC_EFFECT_SKIP].items[0].task, outside);
	bench_status(&b, own, REC_READY); /* reopened later: no longer ours */
	bench_status(&b, own, REC_DONE);
	assert_int_equal(rec_machine_counts(b.m).skipped, 3);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end__exit_0_is_done_and_the_attempts_own),
		cmocka_unit_test(test_end__believes_nothing_before_the_store_has_it),
		cmocka_unit_test(test_end__what_the_store_says_afterwards_is_what_counts),
		cmocka_unit_test(test_end__set_ready_under_a_living_child_runs_once_more_after_it),
		cmocka_unit_test(test_end__stopped_by_a_conductor_that_died_since_is_a_stop_and_no_failure),
		cmocka_unit_test(test_retry__comes_back_after_a_doubling_delay_then_failed_is_stored),
		cmocka_unit_test(test_retry__held_back_nothing_happens_for_as_long_as_it_lasts),
		cmocka_unit_test(test_retry__reset_by_somebody_starts_with_a_full_budget_at_once),
		cmocka_unit_test(test_again__exit_75_has_its_own_limit_and_costs_no_retry),
		cmocka_unit_test(test_again__signal_75_is_not_exit_75),
		cmocka_unit_test(test_lost__is_tried_again_three_times_then_failed),
		cmocka_unit_test(test_stale__a_verdict_older_than_the_claim_does_not_stop_the_child),
		cmocka_unit_test(test_stale__a_verdict_about_the_attempt_before_does_not_touch_this_one),
		cmocka_unit_test(test_stale__an_end_of_the_attempt_before_does_not_end_this_one),
		cmocka_unit_test(test_stale__a_verdict_older_than_the_requeue_does_not_hold_again),
		cmocka_unit_test(test_adopt__a_living_child_is_watched_to_its_end_and_the_task_runs_once),
		cmocka_unit_test(test_adopt__counts_against_the_limit_but_its_slot_is_not_used_again),
		cmocka_unit_test(test_adopt__what_belongs_to_another_batch_is_ended_but_not_counted),
		cmocka_unit_test(test_adopt__its_time_runs_from_its_start),
		cmocka_unit_test(test_resume__what_the_batch_saw_finished_tells_nothing_again),
		cmocka_unit_test(test_adopt__before_the_first_link_it_need_not_wait_for_its_time),
		cmocka_unit_test(test_adopt__without_any_record_it_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
