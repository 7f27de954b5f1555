/* test-machine-stop.c - stops, timeouts, stalls, the operator. */
#include "core/test-machine.h"

/* The FINISH of the task's ended attempt. */
static const struct rec_effect *ended(struct bench *b)
{
	bench_plan(b);
	return bench_effect(b, REC_EFFECT_FINISH);
}

/* ---- Stops ---- */

static void test_stop__settle_then_term_then_grace_then_kill(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_pass(&b, 7 * SECOND);
	bench_status(&b, task, REC_BLOCKED);
	assert_phase(&b, task, STOPPING);
	bench_plan(&b);
	assert_int_equal(b.plan->count, 0);
	assert_int_equal(b.plan->timer_us, b.now.monotonic_us + 10 * SECOND);
	bench_pass(&b, 10 * SECOND - 1);
	assert_int_equal((bench_plan(&b), b.plan->count), 0);
	bench_pass(&b, 1);
	assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 TERM: changed outside\n"));
	bench_pass(&b, 10 * SECOND - 1);
	assert_int_equal((bench_plan(&b), b.plan->count), 0);
	bench_pass(&b, 1);
	assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 KILL: SIGTERM was not heeded\n"));
	bench_signal(&b, task, 9);
	assert_true(ended(&b)->signalled);
	bench_recorded(&b, task, REC_BLOCKED);
	assert_phase(&b, task, HELD);
	assert_int_equal(rec_machine_hold(b.m, task), REC_HOLD_BLOCKED);
	assert_int_equal(rec_machine_reconciled(b.m).killed, 1);
	bench_close(&b);
}

static void test_stop__without_settle_the_signal_goes_at_once(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.settle_us = 0;
	uint32_t task = bench_running(&b, &options);
	bench_status(&b, task, REC_DONE);
	assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 TERM: changed outside\n"));
	bench_close(&b);
}

static void test_stop__one_stubborn_child_delays_nobody(void **state)
{
	(void)state; /* B11 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.settle_us = 0;
	bench_open(&b, &options, 2);
	uint32_t stubborn = bench_add(&b, "T1"), good = bench_add(&b, "T2");
	bench_link(&b);
	bench_status(&b, stubborn, REC_READY);
	bench_status(&b, good, REC_READY);
	bench_commit_claims(&b);
	bench_say(&b, stubborn, REC_ON_STARTED);
	bench_say(&b, good, REC_ON_STARTED);
	bench_plan(&b);
	bench_status(&b, stubborn, REC_BLOCKED);
	bench_plan(&b);
	bench_pass(&b, 5 * SECOND);
	bench_status(&b, good, REC_DONE);
	assert_non_null(strstr(bench_plan(&b), "stop T2"));
	bench_signal(&b, good, 15);
	bench_plan(&b);
	bench_recorded(&b, good, REC_DONE);
	assert_phase(&b, good, FINISHED);
	bench_pass(&b, 5 * SECOND);
	assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 KILL"));
	for (int i = 0; i < 5; i++) { /* until the tree is gone, however long that takes */
		bench_pass(&b, 10 * SECOND);
		assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 KILL"));
		assert_int_equal(b.plan->outcome, REC_BATCH_RUNNING);
	}
	bench_close(&b);
}

static void test_stop__a_child_that_ends_while_it_settles_has_its_own_outcome(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_status(&b, task, REC_DONE); /* the worker itself wrote it and is cleaning up */
	bench_pass(&b, 3 * SECOND);
	bench_exit(&b, task, 0);
	const struct rec_effect *finish = ended(&b);
	assert_true(finish->own && !finish->signalled);
	bench_recorded(&b, task, REC_DONE);
	assert_int_equal(rec_machine_counts(b.m).done, 1);
	assert_int_equal(rec_machine_counts(b.m).skipped, 0);
	assert_int_equal(rec_machine_reconciled(b.m).skipped, 0);
	bench_close(&b);
}

static void test_stop__completed_outside_then_signalled_is_skipped_not_failed(void **state)
{
	(void)state; /* B03 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.settle_us = 0;
	options.retries = 5;
	uint32_t task = bench_running(&b, &options);
	bench_status(&b, task, REC_DONE);
	bench_plan(&b);
	bench_heed(&b, task, 143);
	const struct rec_effect *finish = ended(&b);
	assert_true(finish->signalled && !finish->own && !finish->retry_failed);
	bench_recorded(&b, task, REC_DONE);
	assert_int_equal(rec_machine_counts(b.m).skipped, 1);
	assert_int_equal(rec_machine_counts(b.m).failed, 0);
	assert_int_equal(rec_machine_reconciled(b.m).skipped, 1);
	bench_close(&b);
}

static void test_stop__failed_written_by_a_worker_that_ends_by_itself_is_a_failed_attempt(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.retries = 1;
	uint32_t task = bench_running(&b, &options);
	bench_status(&b, task, REC_FAILED);
	bench_exit(&b, task, 1);
	assert_true(ended(&b)->retry_failed);
	bench_recorded(&b, task, REC_READY); /* the driver wrote FAILED -> READY */
	assert_phase(&b, task, WAITING);
	bench_close(&b);
}

static void test_stop__failed_stands_after_exit_0_and_once_we_have_signalled(void **state)
{
	(void)state;
	for (int signalled = 0; signalled < 2; signalled++) {
		struct bench b;
		struct rec_machine_options options = bench_options();
		options.retries = 1;
		uint32_t task = bench_running(&b, &options);
		bench_status(&b, task, REC_FAILED);
		if (signalled)
			bench_pass(&b, 10 * SECOND);
		bench_plan(&b);
		if (signalled)
			bench_heed(&b, task, 1);
		else
			bench_exit(&b, task, 0);
		assert_false(ended(&b)->retry_failed);
		bench_recorded(&b, task, REC_FAILED);
		assert_int_equal(rec_machine_counts(b.m).failed, 1);
		bench_close(&b);
	}
}

static void test_stop__called_off_while_it_settles_the_child_goes_on(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_status(&b, task, REC_BLOCKED);
	bench_pass(&b, 5 * SECOND);
	bench_status(&b, task, REC_IN_PROGRESS);
	assert_phase(&b, task, RUNNING);
	bench_pass(&b, 60 * SECOND);
	assert_int_equal((bench_plan(&b), b.plan->count), 0);
	bench_close(&b);
}

static void test_stop__once_signalled_there_is_no_way_back(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.settle_us = 0;
	uint32_t task = bench_running(&b, &options);
	bench_status(&b, task, REC_BLOCKED);
	bench_plan(&b);
	bench_status(&b, task, REC_IN_PROGRESS);
	assert_phase(&b, task, STOPPING);
	bench_signal(&b, task, 15);
	/* somebody changed it back: it is not lost, it gets another turn */
	assert_int_equal(ended(&b)->status, REC_READY);
	bench_close(&b);
}

static void test_stop__deleted_under_it_settles_and_is_held(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_see(&b, task, (struct rec_seen){.status = REC_STATUS_ABSENT});
	bench_pass(&b, 10 * SECOND);
	assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 TERM: task deleted\n"));
	bench_signal(&b, task, 15);
	ended(&b);
	bench_recorded(&b, task, REC_STATUS_ABSENT);
	assert_int_equal(rec_machine_hold(b.m, task), REC_HOLD_DELETED);
	bench_close(&b);
}

static void test_stop__a_claim_that_is_no_longer_ours_is_stopped_at_once(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	uint32_t task = bench_running(&b, &options);
	bench_see(&b, task, seen_as(REC_IN_PROGRESS)); /* not claimed */
	assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 TERM: the claim is no longer ours\n"));
	bench_signal(&b, task, 15);
	ended(&b);
	bench_say(&b, task, REC_ON_GONE);
	assert_string_equal(bench_plan(&b), "look T1: the claim is no longer ours\n");
	bench_close(&b);
}

static void test_stop__before_the_child_started_the_claim_is_recalled(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T1");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	bench_commit_claims(&b);
	bench_plan(&b);
	bench_status(&b, task, REC_BLOCKED);
	assert_non_null(strstr(bench_plan(&b), "recall T1 slot 0 claim 100: changed outside\n"));
	bench_say(&b, task, REC_ON_VOID);
	bench_plan(&b);
	bench_effect(&b, REC_EFFECT_RELEASE);
	bench_say(&b, task, REC_ON_RELEASED);
	assert_phase(&b, task, WAITING);
	bench_close(&b);
}

static void test_stop__that_comes_too_late_stopped_nothing(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.settle_us = 0;
	uint32_t task = bench_running(&b, &options);
	bench_status(&b, task, REC_DONE);
	bench_plan(&b);
	bench_exit(&b, task, 0); /* it had ended before the signal came */
	assert_true(ended(&b)->own);
	bench_recorded(&b, task, REC_DONE);
	assert_int_equal(rec_machine_counts(b.m).done, 1);
	bench_close(&b);
}

/* ---- Time ---- */

static void test_timeout__is_a_failed_attempt_even_if_the_child_then_exits_well(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.timeout_us = 60 * SECOND;
	options.retries = 1;
	uint32_t task = bench_running(&b, &options);
	bench_pass(&b, 60 * SECOND - 1);
	assert_int_equal((bench_plan(&b), b.plan->count), 0);
	bench_pass(&b, 1);
	assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 TERM: timed out\n"));
	bench_heed(&b, task, 0);
	const struct rec_effect *finish = ended(&b);
	assert_int_equal(finish->status, REC_READY);
	assert_int_equal(finish->why, REC_WHY_TIMED_OUT);
	assert_int_equal(rec_machine_row(b.m, finish, REC_READY).failures, 1);
	bench_close(&b);
}

static void test_timeout__not_if_we_did_not_run_ourselves_meanwhile(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.timeout_us = 60 * SECOND;
	uint32_t task = bench_running(&b, &options);
	bench_plan(&b);
	bench_pass(&b, 3600 * SECOND); /* the timer rang an hour ago, and nobody was there to hear it */
	assert_int_equal((bench_plan(&b), b.plan->count), 0);
	assert_phase(&b, task, RUNNING);
	bench_pass(&b, 60 * SECOND);
	assert_non_null(strstr(bench_plan(&b), "timed out"));
	bench_close(&b);
}

static void test_timeout__the_wall_clock_may_jump_as_it_likes(void **state)
{
	(void)state; /* B17 */
	static const int64_t steps[] = {-7200 * SECOND, 7200 * SECOND};
	for (int i = 0; i < 2; i++) {
		struct bench b;
		struct rec_machine_options options = bench_options();
		options.timeout_us = 600 * SECOND;
		uint32_t task = bench_running(&b, &options);
		bench_pass(&b, 60 * SECOND);
		b.now.wall_us += steps[i];
		bench_plan(&b);
		assert_int_equal(b.plan->count, 0);
		assert_int_equal(b.plan->timer_us - b.now.monotonic_us, 540 * SECOND);
		assert_phase(&b, task, RUNNING);
		bench_close(&b);
	}
}

static void alive(struct bench *b, uint32_t task, uint64_t signs)
{
	struct rec_machine_event e = {.kind = REC_ON_ALIVE, .task = task, .claim_id = rec_machine_claim(b->m, task)};
	e.signs = signs;
	assert_int_equal(bench_tell(b, e), 0);
}

static void test_stall__no_sign_of_life_for_the_whole_time_and_not_before(void **state)
{
	(void)state; /* B18 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.stall_timeout_us = 300 * SECOND;
	uint32_t task = bench_running(&b, &options);
	int asked = 0;
	uint64_t signs = 0;
	for (int second = 0; second < 720; second++) { /* silent, but busy */
		bench_pass(&b, SECOND);
		bench_plan(&b);
		assert_int_equal(b.plan->count, b.plan->buckets[REC_EFFECT_LIFE].count);
		if (b.plan->count) {
			asked++;
			alive(&b, task, ++signs);
		}
	}
	assert_true(asked >= 9 && asked <= 10);
	assert_phase(&b, task, RUNNING);
	int64_t since_us = b.now.monotonic_us;
	while (rec_machine_phase(b.m, task) == REC_PHASE_RUNNING) { /* now truly hung */
		bench_pass(&b, SECOND);
		bench_plan(&b);
		if (b.plan->buckets[REC_EFFECT_LIFE].count)
			alive(&b, task, signs);
	}
	assert_true(b.now.monotonic_us - since_us >= 225 * SECOND);
	assert_true(b.now.monotonic_us - since_us <= 390 * SECOND);
	assert_non_null(strstr(bench_plan(&b), "TERM: no sign of life"));
	bench_heed(&b, task, 0);
	assert_int_equal(ended(&b)->why, REC_WHY_STALLED);
	bench_close(&b);
}

static void test_not_before__from_another_life_is_never_longer_than_a_delay_can_be(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t index;
	struct rec_machine_task task = {.id = rec_slice_of("T"), .member = true, .failures = 2};
	task.not_before_us = b.now.wall_us + 7200 * SECOND; /* the wall clock was set back meanwhile */
	assert_int_equal(rec_machine_add(b.m, &task, &index), 0);
	bench_link(&b);
	bench_status(&b, index, REC_READY);
	bench_plan(&b);
	assert_int_equal(b.plan->timer_us - b.now.monotonic_us, 300 * SECOND);
	bench_pass(&b, 300 * SECOND);
	bench_plan(&b);
	bench_effect(&b, REC_EFFECT_CLAIM);
	bench_close(&b);
}

/* ---- The operator ---- */

static void test_force__stops_without_settling_and_gives_the_tasks_back(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.retries = 0;
	uint32_t task = bench_running(&b, &options);
	assert_int_equal(rec_machine_force(b.m, b.now), 0);
	assert_non_null(strstr(bench_plan(&b), "stop T1 slot 0 claim 100 TERM: stopped by the operator\n"));
	bench_signal(&b, task, 15);
	assert_int_equal(ended(&b)->status, REC_READY);
	bench_recorded(&b, task, REC_READY);
	bench_status(&b, task, REC_READY);
	bench_plan(&b);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_CANCELLED);
	assert_int_equal(rec_machine_counts(b.m).failed, 0);
	bench_close(&b);
}

static void test_force__a_claim_that_commits_afterwards_is_not_started(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	bench_plan(&b);
	assert_int_equal(rec_machine_force(b.m, b.now), 0);
	bench_claimed(&b, task);
	assert_string_equal(bench_plan(&b), "recall T slot 0 claim 100: stopped by the operator\n");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop__settle_then_term_then_grace_then_kill),
		cmocka_unit_test(test_stop__without_settle_the_signal_goes_at_once),
		cmocka_unit_test(test_stop__one_stubborn_child_delays_nobody),
		cmocka_unit_test(test_stop__a_child_that_ends_while_it_settles_has_its_own_outcome),
		cmocka_unit_test(test_stop__completed_outside_then_signalled_is_skipped_not_failed),
		cmocka_unit_test(test_stop__failed_written_by_a_worker_that_ends_by_itself_is_a_failed_attempt),
		cmocka_unit_test(test_stop__failed_stands_after_exit_0_and_once_we_have_signalled),
		cmocka_unit_test(test_stop__called_off_while_it_settles_the_child_goes_on),
		cmocka_unit_test(test_stop__once_signalled_there_is_no_way_back),
		cmocka_unit_test(test_stop__deleted_under_it_settles_and_is_held),
		cmocka_unit_test(test_stop__a_claim_that_is_no_longer_ours_is_stopped_at_once),
		cmocka_unit_test(test_stop__before_the_child_started_the_claim_is_recalled),
		cmocka_unit_test(test_stop__that_comes_too_late_stopped_nothing),
		cmocka_unit_test(test_timeout__is_a_failed_attempt_even_if_the_child_then_exits_well),
		cmocka_unit_test(test_timeout__not_if_we_did_not_run_ourselves_meanwhile),
		cmocka_unit_test(test_timeout__the_wall_clock_may_jump_as_it_likes),
		cmocka_unit_test(test_stall__no_sign_of_life_for_the_whole_time_and_not_before),
		cmocka_unit_test(test_not_before__from_another_life_is_never_longer_than_a_delay_can_be),
		cmocka_unit_test(test_force__stops_without_settling_and_gives_the_tasks_back),
		cmocka_unit_test(test_force__a_claim_that_commits_afterwards_is_not_started),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
