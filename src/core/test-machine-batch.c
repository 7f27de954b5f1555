/* test-machine-batch.c - who gets a turn and when; the end of the batch. */
#include "core/test-machine.h"

static void depends(struct bench *b, uint32_t task, uint32_t on)
{
	assert_int_equal(rec_machine_depends(b->m, task, &on, 1, false), 0);
}

static void finish(struct bench *b, uint32_t task)
{
	bench_run(b, task);
	bench_exit(b, task, 0);
	bench_plan(b);
	bench_recorded(b, task, REC_DONE);
}

/* ---- Order and slots ---- */

static uint32_t add_with(struct bench *b, const char *id, int32_t priority, int64_t created_us)
{
	uint32_t index = NONE;
	struct rec_machine_task task = {
		.id = rec_slice_of(id), .member = true, .priority = priority, .created_us = created_us};
	assert_int_equal(rec_machine_add(b->m, &task, &index), 0);
	return index;
}

static void see_all(struct bench *b, enum rec_status status)
{
	for (uint32_t i = 0; i < rec_machine_count(b->m); i++) {
		struct rec_seen seen = seen_as(status);
		seen.priority = b->m->tasks[i].priority;
		bench_see(b, i, seen);
	}
}

static void test_queue__turns_go_by_priority_then_age_then_id(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 9;
	bench_open(&b, &options, 9);
	add_with(&b, "late", 0, 9);
	add_with(&b, "low", 5, 1);
	add_with(&b, "b", 0, 3);
	add_with(&b, "a", 0, 3);
	add_with(&b, "first", -1, 9);
	bench_link(&b);
	see_all(&b, REC_READY);
	assert_string_equal(bench_plan(&b), "claim first slot 0: its turn\n"
					    "claim a slot 1: its turn\n"
					    "claim b slot 2: its turn\n"
					    "claim late slot 3: its turn\n"
					    "claim low slot 4: its turn\n");
	bench_close(&b);
}

static void test_queue__a_new_priority_changes_the_turn(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	bench_open(&b, &options, 1);
	bench_add(&b, "a");
	uint32_t urgent = bench_add(&b, "b");
	bench_link(&b);
	see_all(&b, REC_READY);
	struct rec_seen seen = seen_as(REC_READY);
	seen.priority = -7;
	bench_see(&b, urgent, seen);
	assert_string_equal(bench_plan(&b), "claim b slot 0: its turn\n");
	bench_close(&b);
}

static void test_slots__no_more_run_than_allowed_nor_than_there_are_slots(void **state)
{
	(void)state;
	for (uint32_t slots = 1; slots <= 3; slots++) {
		struct bench b;
		struct rec_machine_options options = bench_options();
		bench_open(&b, &options, slots); /* max_parallel 2 */
		for (const char *id = "a\0b\0c\0d\0"; *id; id += 2)
			bench_add(&b, id);
		bench_link(&b);
		see_all(&b, REC_READY);
		bench_commit_claims(&b);
		assert_int_equal(rec_machine_attempts(b.m), slots < 2 ? slots : 2);
		assert_int_equal(rec_machine_counts(b.m).running, slots < 2 ? slots : 2);
		bench_close(&b);
	}
}

static void test_slots__the_next_claim_goes_with_the_end_before_it(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	bench_open(&b, &options, 1);
	uint32_t first = bench_add(&b, "a");
	bench_add(&b, "b");
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_run(&b, first);
	bench_exit(&b, first, 0);
	/* one group commit for both */
	assert_string_equal(bench_plan(&b), "finish a slot 0 claim 100 DONE: exit 0\nclaim b slot 0: its turn\n");
	bench_close(&b);
}

static void exit_at_once(struct bench *b, uint32_t task)
{
	struct rec_machine_event e = {.kind = REC_ON_ENDED, .task = task, .claim_id = rec_machine_claim(b->m, task)};
	assert_int_equal(bench_tell(b, e), 0);
}

static void test_slots__two_ends_and_two_claims_are_one_group(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	options.ahead_after = 1;
	bench_open(&b, &options, 1);
	uint32_t tasks[] = {bench_add(&b, "a"), bench_add(&b, "b"), bench_add(&b, "c"), bench_add(&b, "d"),
			    bench_add(&b, "e")};
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_commit_claims(&b);
	bench_plan(&b);
	exit_at_once(&b, tasks[0]);
	/* the record keeps two ends: as many are claimed once the one that is there is recorded with them */
	assert_string_equal(bench_plan(&b), "finish a slot 0 claim 100 DONE: exit 0\nclaim b slot 0: its turn\n"
					    "claim c slot 0: behind a short one\n");
	bench_recorded(&b, tasks[0], REC_DONE);
	bench_claimed(&b, tasks[1]);
	bench_claimed(&b, tasks[2]);
	bench_plan(&b);
	exit_at_once(&b, tasks[1]);
	exit_at_once(&b, tasks[2]);
	assert_string_equal(bench_plan(&b),
			    "finish b slot 0 claim 101 DONE: exit 0\nfinish c slot 0 claim 102 DONE: exit 0\n"
			    "claim d slot 0: its turn\nclaim e slot 0: behind a short one\n");
	bench_close(&b);
}

static void test_slots__one_ahead_of_a_claim_that_is_lost_is_its_slots_next(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	options.ahead_after = 1;
	bench_open(&b, &options, 1);
	uint32_t tasks[] = {bench_add(&b, "a"), bench_add(&b, "b"), bench_add(&b, "c")};
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_commit_claims(&b);
	bench_plan(&b);
	exit_at_once(&b, tasks[0]);
	bench_plan(&b);
	bench_recorded(&b, tasks[0], REC_DONE);
	bench_say(&b, tasks[1], REC_ON_CLAIM_LOST);
	bench_claimed(&b, tasks[2]);
	assert_non_null(strstr(bench_plan(&b), "start c slot 0"));
	assert_int_equal(b.plan->timer_us, b.now.monotonic_us + 100000); /* of b, which was lost; c waits for nothing */
	bench_say(&b, tasks[2], REC_ON_STARTED);
	assert_phase(&b, tasks[2], RUNNING);
	bench_close(&b);
}

static void test_stop_on_failure__a_failure_known_only_when_recorded_starts_nothing_that_was_claimed_with_it(
	void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	options.stop_on_failure = true;
	bench_open(&b, &options, 1);
	uint32_t first = bench_add(&b, "a"), second = bench_add(&b, "b");
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_run(&b, first);
	bench_exit(&b, first, 0); /* but the worker has written FAILED, which stands */
	assert_string_equal(bench_plan(&b), "finish a slot 0 claim 100 DONE: exit 0\nclaim b slot 0: its turn\n");
	bench_recorded(&b, first, REC_FAILED);
	bench_claimed(&b, second);
	assert_string_equal(bench_plan(&b), "recall b slot 0 claim 101: a task has failed\n");
	bench_say(&b, second, REC_ON_VOID);
	assert_string_equal(bench_plan(&b), "release b slot 0 claim 101: never started\n");
	bench_say(&b, second, REC_ON_RELEASED);
	bench_plan(&b);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_PARTIAL);
	bench_close(&b);
}

/* ---- Claims ---- */

static void test_claim__lost_the_task_waits_until_it_was_looked_at(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "a");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	bench_plan(&b);
	bench_say(&b, task, REC_ON_CLAIM_LOST);
	bench_plan(&b);
	assert_int_equal(bench_effect(&b, REC_EFFECT_LOOK)->why, REC_WHY_RACE);
	bench_plan(&b);
	assert_int_equal(b.plan->count, 0);
	assert_int_equal(b.plan->outcome, REC_BATCH_RUNNING);
	bench_status(&b, task, REC_BLOCKED);
	assert_string_equal(bench_plan(&b), "hold a (blocked): changed outside\n");
	bench_close(&b);
}

static void test_claim__lost_again_and_again_never_becomes_a_tight_circle(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "a");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	int claims = 0;
	for (int64_t us = 0; us < SECOND; us += 1000) {
		bench_plan(&b);
		claims += (int)b.plan->buckets[REC_EFFECT_CLAIM].count;
		if (b.plan->buckets[REC_EFFECT_CLAIM].count)
			bench_say(&b, task, REC_ON_CLAIM_LOST);
		bench_status(&b, task, REC_READY);
		bench_pass(&b, 1000);
	}
	assert_int_equal(claims, 10);
	bench_close(&b);
}

static void test_claim__that_could_not_be_tried_pauses_all_claims_longer_each_time(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "a");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	int64_t pause_us = 100000;
	for (int i = 0; i < 12; i++) {
		bench_plan(&b);
		bench_effect(&b, REC_EFFECT_CLAIM);
		bench_say(&b, task, REC_ON_CLAIM_FAILED);
		bench_plan(&b);
		assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 0);
		assert_int_equal(b.plan->timer_us, b.now.monotonic_us + pause_us);
		bench_pass(&b, pause_us);
		pause_us = pause_us * 2 > 30 * SECOND ? 30 * SECOND : pause_us * 2;
	}
	bench_commit_claims(&b);
	assert_phase(&b, task, CLAIMING);
	bench_close(&b);
}

static void test_claim__never_started_is_given_back_and_its_number_used_again(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "a");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	bench_commit_claims(&b);
	assert_string_equal(bench_plan(&b), "start a slot 0 claim 100: the claim committed\n");
	bench_say(&b, task, REC_ON_VOID);
	assert_non_null(strstr(bench_plan(&b), "release a slot 0 claim 100: never started\n"));
	bench_say(&b, task, REC_ON_RELEASED);
	assert_int_equal(rec_machine_attempt(b.m, task), 0);
	bench_status(&b, task, REC_READY);
	bench_pass(&b, SECOND);
	bench_plan(&b);
	assert_int_equal(bench_effect(&b, REC_EFFECT_CLAIM)->attempt, 1);
	bench_close(&b);
}

/* ---- The end of the batch ---- */

static enum rec_batch_status outcome(struct bench *b)
{
	bench_plan(b);
	bench_plan(b);
	return b->plan->outcome;
}

static void test_end__all_done_or_skipped_is_completed(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t own = bench_add(&b, "a"), merged = bench_add(&b, "b");
	bench_link(&b);
	bench_status(&b, own, REC_READY);
	bench_status(&b, merged, REC_MERGED);
	finish(&b, own);
	assert_int_equal(outcome(&b), REC_BATCH_COMPLETED);
	assert_int_equal(rec_machine_counts(b.m).done, 1);
	assert_int_equal(rec_machine_counts(b.m).skipped, 1);
	bench_close(&b);
}

static void test_end__nothing_to_do_is_completed(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	bench_link(&b);
	assert_int_equal(outcome(&b), REC_BATCH_COMPLETED);
	bench_close(&b);
}

static void test_end__not_before_everything_was_looked_at(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	bench_add(&b, "a");
	bench_link(&b);
	assert_int_equal(outcome(&b), REC_BATCH_RUNNING);
	bench_close(&b);
}

static void test_end__failed_outside_counts_as_failed_and_is_partial(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	bench_status(&b, bench_add(&b, "a"), REC_FAILED);
	bench_link(&b);
	assert_int_equal(outcome(&b), REC_BATCH_PARTIAL);
	assert_int_equal(rec_machine_counts(b.m).failed, 1);
	assert_int_equal(rec_machine_counts(b.m).skipped, 0);
	bench_close(&b);
}

static void test_end__done_then_failed_outside_counts_as_failed(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "a");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	finish(&b, task);
	bench_status(&b, task, REC_FAILED);
	assert_int_equal(rec_machine_counts(b.m).failed, 1);
	assert_int_equal(rec_machine_counts(b.m).done, 0);
	bench_status(&b, task, REC_DONE);
	assert_int_equal(rec_machine_counts(b.m).failed, 1);
	bench_close(&b);
}

static void test_end__drained_leaves_the_unstarted_and_is_cancelled(void **state)
{
	(void)state; /* B04 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	bench_open(&b, &options, 1);
	uint32_t first = bench_add(&b, "T1"), second = bench_add(&b, "T2");
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_run(&b, first);
	rec_machine_drain(b.m);
	assert_string_equal(bench_plan(&b), "");
	assert_int_equal(b.plan->outcome, REC_BATCH_RUNNING);
	bench_exit(&b, first, 0);
	assert_string_equal(bench_plan(&b), "finish T1 slot 0 claim 100 DONE: exit 0\n");
	bench_recorded(&b, first, REC_DONE);
	assert_int_equal(outcome(&b), REC_BATCH_CANCELLED);
	assert_phase(&b, second, QUEUED);
	assert_int_equal(rec_machine_belief(b.m, second), REC_READY);
	bench_close(&b);
}

static void test_end__drained_with_nothing_left_is_what_it_is(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T1");
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	bench_run(&b, task);
	rec_machine_drain(b.m);
	bench_exit(&b, task, 0);
	bench_plan(&b);
	bench_recorded(&b, task, REC_DONE);
	assert_int_equal(outcome(&b), REC_BATCH_COMPLETED);
	bench_close(&b);
}

static void test_end__stop_on_failure_starts_nothing_after_the_first_and_is_partial(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	options.stop_on_failure = true;
	bench_open(&b, &options, 1);
	uint32_t first = bench_add(&b, "T1"), second = bench_add(&b, "T2");
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_run(&b, first);
	bench_exit(&b, first, 1);
	/* no claim goes with this end */
	assert_string_equal(bench_plan(&b), "finish T1 slot 0 claim 100 FAILED: failed\n");
	bench_recorded(&b, first, REC_FAILED);
	assert_int_equal(outcome(&b), REC_BATCH_PARTIAL);
	assert_phase(&b, second, QUEUED);
	bench_close(&b);
}

static void test_end__stop_on_failure_goes_on_when_the_store_says_it_was_none(void **state)
{
	(void)state; /* a person stored DONE just before the child failed */
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	options.stop_on_failure = true;
	bench_open(&b, &options, 1);
	uint32_t first = bench_add(&b, "T1");
	bench_add(&b, "T2");
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_run(&b, first);
	bench_exit(&b, first, 1);
	bench_plan(&b);
	bench_recorded(&b, first, REC_DONE);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 1);
	bench_close(&b);
}

static void test_end__stop_on_failure_minds_one_set_failed_outside_while_the_batch_runs(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	options.stop_on_failure = true;
	bench_open(&b, &options, 1);
	uint32_t first = bench_add(&b, "T1"), second = bench_add(&b, "T2");
	bench_add(&b, "T3");
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_run(&b, first);
	bench_status(&b, second, REC_FAILED);
	bench_exit(&b, first, 0);
	bench_plan(&b);
	assert_int_equal(b.plan->buckets[REC_EFFECT_CLAIM].count, 0);
	bench_recorded(&b, first, REC_DONE);
	assert_int_equal(outcome(&b), REC_BATCH_PARTIAL);
	bench_close(&b);
}

static void test_end__failed_then_withdrawn_is_held(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_status(&b, task, REC_FAILED);
	bench_plan(&b);
	bench_status(&b, task, REC_BACKLOG);
	assert_string_equal(bench_plan(&b), "hold T (withdrawn to BACKLOG): changed outside\n");
	assert_int_equal(rec_machine_counts(b.m).held, 1);
	assert_int_equal(rec_machine_counts(b.m).failed, 0);
	bench_close(&b);
}

static void test_end__stop_on_failure_does_not_mind_what_failed_before_the_start_nor_what_was_completed_outside(
	void **state)
{
	(void)state; /* B03 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.stop_on_failure = true;
	bench_open(&b, &options, 1);
	uint32_t old = bench_add(&b, "old"), first = bench_add(&b, "T1"), second = bench_add(&b, "T2");
	depends(&b, second, first);
	bench_link(&b);
	bench_status(&b, old, REC_FAILED);
	bench_status(&b, first, REC_READY);
	bench_status(&b, second, REC_READY);
	bench_run(&b, first);
	bench_status(&b, first, REC_DONE);
	bench_signal(&b, first, 15);
	bench_plan(&b);
	bench_recorded(&b, first, REC_DONE);
	assert_string_equal(bench_plan(&b), "claim T2 slot 0: its turn\n");
	assert_int_equal(rec_machine_counts(b.m).failed, 1);
	assert_int_equal(rec_machine_counts(b.m).skipped, 1);
	bench_close(&b);
}

static void test_end__waiting_batch_ends_only_when_all_are_terminal(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.wait = true;
	bench_open(&b, &options, 1);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_status(&b, task, REC_BLOCKED);
	assert_int_equal(outcome(&b), REC_BATCH_RUNNING);
	bench_status(&b, task, REC_DONE);
	assert_int_equal(outcome(&b), REC_BATCH_COMPLETED);
	bench_close(&b);
}

static void test_end__not_while_the_store_has_not_taken_everything(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 1);
	bench_status(&b, bench_add(&b, "T"), REC_DONE);
	bench_link(&b);
	bench_plan(&b);
	bench_effect(&b, REC_EFFECT_SKIP);
	assert_int_equal(rec_machine_failed(b.m, b.now), 0);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_RUNNING);
	assert_int_equal(b.plan->count, 0);
	bench_pass(&b, b.plan->timer_us - b.now.monotonic_us);
	bench_plan(&b);
	bench_effect(&b, REC_EFFECT_SKIP);
	rec_machine_stored(b.m);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_COMPLETED);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue__turns_go_by_priority_then_age_then_id),
		cmocka_unit_test(test_queue__a_new_priority_changes_the_turn),
		cmocka_unit_test(test_slots__no_more_run_than_allowed_nor_than_there_are_slots),
		cmocka_unit_test(test_slots__the_next_claim_goes_with_the_end_before_it),
		cmocka_unit_test(test_slots__two_ends_and_two_claims_are_one_group),
		cmocka_unit_test(
			test_stop_on_failure__a_failure_known_only_when_recorded_starts_nothing_that_was_claimed_with_it),
		cmocka_unit_test(test_slots__one_ahead_of_a_claim_that_is_lost_is_its_slots_next),
		cmocka_unit_test(test_claim__lost_the_task_waits_until_it_was_looked_at),
		cmocka_unit_test(test_claim__lost_again_and_again_never_becomes_a_tight_circle),
		cmocka_unit_test(test_claim__that_could_not_be_tried_pauses_all_claims_longer_each_time),
		cmocka_unit_test(test_claim__never_started_is_given_back_and_its_number_used_again),
		cmocka_unit_test(test_end__all_done_or_skipped_is_completed),
		cmocka_unit_test(test_end__nothing_to_do_is_completed),
		cmocka_unit_test(test_end__not_before_everything_was_looked_at),
		cmocka_unit_test(test_end__failed_outside_counts_as_failed_and_is_partial),
		cmocka_unit_test(test_end__done_then_failed_outside_counts_as_failed),
		cmocka_unit_test(test_end__drained_leaves_the_unstarted_and_is_cancelled),
		cmocka_unit_test(test_end__drained_with_nothing_left_is_what_it_is),
		cmocka_unit_test(test_end__stop_on_failure_starts_nothing_after_the_first_and_is_partial),
		cmocka_unit_test(test_end__stop_on_failure_goes_on_when_the_store_says_it_was_none),
		cmocka_unit_test(test_end__stop_on_failure_minds_one_set_failed_outside_while_the_batch_runs),
		cmocka_unit_test(test_end__failed_then_withdrawn_is_held),
		cmocka_unit_test(
			test_end__stop_on_failure_does_not_mind_what_failed_before_the_start_nor_what_was_completed_outside),
		cmocka_unit_test(test_end__waiting_batch_ends_only_when_all_are_terminal),
		cmocka_unit_test(test_end__not_while_the_store_has_not_taken_everything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
