/* test-machine-hold.c - what keeps a task from running: dependencies, blockers, somebody else. */
#include "core/test-machine.h"

static void see_all(struct bench *b, enum rec_status status)
{
	for (uint32_t i = 0; i < rec_machine_count(b->m); i++) {
		struct rec_seen seen = seen_as(status);
		seen.priority = b->m->tasks[i].priority;
		bench_see(b, i, seen);
	}
}

/* ---- Dependencies ---- */

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

static void test_dependency__done_lets_the_next_one_run_and_not_before(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t first = bench_add(&b, "z"), second = bench_add(&b, "a");
	depends(&b, second, first);
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_run(&b, first);
	assert_phase(&b, second, WAITING);
	bench_exit(&b, first, 0);
	bench_plan(&b);
	assert_phase(&b, second, WAITING); /* not until it is in the store */
	bench_recorded(&b, first, REC_DONE);
	assert_phase(&b, second, QUEUED);
	bench_close(&b);
}

static void test_dependency__completed_outside_counts_once_its_child_is_gone(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t first = bench_add(&b, "a"), second = bench_add(&b, "b");
	depends(&b, second, first);
	bench_link(&b);
	see_all(&b, REC_READY);
	bench_run(&b, first);
	bench_status(&b, first, REC_DONE);
	assert_phase(&b, second, WAITING);
	bench_signal(&b, first, 15);
	bench_plan(&b);
	bench_recorded(&b, first, REC_DONE);
	assert_phase(&b, second, QUEUED);
	bench_close(&b);
}

static void test_dependency__reopened_sends_the_queued_back_to_wait(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.max_parallel = 1;
	bench_open(&b, &options, 1);
	uint32_t first = bench_add(&b, "a"), second = bench_add(&b, "b");
	depends(&b, second, first);
	bench_link(&b);
	see_all(&b, REC_READY);
	finish(&b, first);
	assert_phase(&b, second, QUEUED);
	bench_status(&b, first, REC_READY);
	assert_phase(&b, second, WAITING);
	assert_phase(&b, first, QUEUED);
	bench_close(&b);
}

static void test_dependency__ring_is_told_once_with_its_members_and_the_rest_goes_on(void **state)
{
	(void)state; /* B36 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t t[7], count;
	const char *ids[] = {"", "T1", "T2", "T3", "T4", "T5", "T6"};
	for (int i = 1; i <= 6; i++)
		t[i] = bench_add(&b, ids[i]);
	depends(&b, t[1], t[2]);
	depends(&b, t[2], t[3]);
	depends(&b, t[3], t[1]);
	depends(&b, t[4], t[1]);
	depends(&b, t[6], t[6]);
	bench_link(&b);
	see_all(&b, REC_READY);
	const char *plan = bench_plan(&b);
	assert_non_null(strstr(plan, "event T1: dependencies in a ring\nevent T6: dependencies in a ring\n"));
	assert_non_null(strstr(plan, "hold T1 (in a ring of dependencies)"));
	assert_non_null(strstr(plan, "hold T6 (in a ring of dependencies)"));
	assert_null(strstr(plan, "hold T4"));
	assert_non_null(strstr(plan, "claim T5"));
	const uint32_t *members = rec_machine_ring(b.m, t[3], &count);
	assert_int_equal(count, 3);
	assert_int_equal(members[0], t[1]);
	rec_machine_ring(b.m, t[4], &count);
	assert_int_equal(count, 0);
	bench_claimed(&b, t[5]);
	bench_exit(&b, t[5], 0);
	bench_plan(&b);
	bench_recorded(&b, t[5], REC_DONE);
	/* the one behind the ring is held when nothing can release it any more, and the cause is known */
	assert_string_equal(bench_plan(&b), "hold T4 (a dependency cannot finish): nothing that runs can release it\n");
	assert_int_equal(rec_machine_unmet(b.m, t[4]), t[1]);
	assert_string_equal(bench_plan(&b), "");
	assert_int_equal(b.plan->outcome, REC_BATCH_PARTIAL);
	assert_int_equal(rec_machine_link(b.m, b.now), 0);
	assert_null(strstr(bench_plan(&b), "event"));
	bench_close(&b);
}

static void test_dependency__missing_holds_and_once_it_exists_releases(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "a"), other;
	struct rec_machine_task watched = {.id = rec_slice_of("b")};
	assert_int_equal(rec_machine_add(b.m, &watched, &other), 0);
	depends(&b, task, other);
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	bench_see(&b, other, (struct rec_seen){.status = REC_STATUS_ABSENT});
	assert_non_null(strstr(bench_plan(&b), "look a: its dependencies changed\n"));
	bench_status(&b, task, REC_READY);
	assert_string_equal(bench_plan(&b), "hold a (a dependency does not exist): changed outside\n");
	bench_see(&b, other, (struct rec_seen){.status = REC_STATUS_ABSENT});
	assert_string_equal(bench_plan(&b), "");
	bench_status(&b, other, REC_READY);
	assert_string_equal(bench_plan(&b), "look a: its dependencies changed\n");
	bench_status(&b, task, REC_READY);
	assert_phase(&b, task, WAITING);
	bench_status(&b, other, REC_MERGED);
	assert_phase(&b, task, QUEUED);
	bench_close(&b);
}

static void test_dependency__that_cannot_be_read_holds(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "a");
	assert_int_equal(rec_machine_depends(b.m, task, NULL, 0, true), 0);
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	assert_string_equal(bench_plan(&b), "hold a (a dependency does not exist): changed outside\n");
	assert_int_equal(rec_machine_depends(b.m, task, NULL, 0, false), 0);
	bench_link(&b);
	assert_string_equal(bench_plan(&b), "look a: its dependencies changed\n");
	bench_status(&b, task, REC_READY);
	assert_phase(&b, task, QUEUED);
	bench_close(&b);
}

static void test_dependency__held_because_of_one_is_released_when_it_is_met_after_all(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t first = bench_add(&b, "a"), second = bench_add(&b, "b");
	depends(&b, second, first);
	bench_link(&b);
	bench_status(&b, first, REC_BLOCKED);
	bench_status(&b, second, REC_READY);
	bench_plan(&b);
	bench_plan(&b);
	assert_int_equal(rec_machine_hold(b.m, second), REC_HOLD_DEPENDENCY);
	bench_status(&b, second, REC_READY); /* a look changes nothing and tells nothing */
	assert_string_equal(bench_plan(&b), "");
	bench_status(&b, first, REC_DONE);
	assert_non_null(strstr(bench_plan(&b), "record b: its dependencies changed\nclaim b slot 0: its turn\n"));
	bench_close(&b);
}

static void test_dependency__a_requeued_task_still_waits_for_it(void **state)
{
	(void)state; /* B15 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t first = bench_add(&b, "T1"), second = bench_add(&b, "T2");
	depends(&b, second, first);
	bench_link(&b);
	bench_status(&b, first, REC_READY);
	bench_status(&b, second, REC_BLOCKED);
	bench_run(&b, first);
	struct rec_seen answered = seen_as(REC_BLOCKED);
	answered.blockers_total = answered.blockers_new = 1;
	bench_see(&b, second, answered);
	assert_string_equal(bench_plan(&b), "requeue T2 BLOCKED: changed outside\n");
	bench_say(&b, second, REC_ON_REQUEUED);
	bench_status(&b, second, REC_READY);
	assert_phase(&b, second, WAITING);
	bench_exit(&b, first, 1);
	bench_plan(&b);
	bench_recorded(&b, first, REC_FAILED);
	bench_plan(&b);
	assert_phase(&b, second, HELD);
	bench_close(&b);
}

/* ---- Holds ---- */

struct hold_case {
	struct rec_seen seen;
	const char *plan;
};

static void test_hold__each_reason_is_said_once_and_nothing_starts(void **state)
{
	(void)state;
	static const struct hold_case cases[] = {
		{{.status = REC_BACKLOG, .is_leaf = true}, "hold T (withdrawn to BACKLOG): changed outside\n"},
		{{.status = REC_BLOCKED, .is_leaf = true, .blockers_total = 2, .blockers_open = 1},
		 "hold T (blocked): changed outside\n"},
		{{.status = REC_BLOCKED, .is_leaf = true}, "hold T (blocked without blockers): changed outside\n"},
		{{.status = REC_BLOCKED, .is_leaf = true, .blockers_total = 1},
		 "hold T (blocked again without a new answer): changed outside\n"},
		{{.status = REC_READY, .is_leaf = true, .blockers_total = 2, .blockers_open = 1},
		 "hold T (open blockers): changed outside\n"},
		{{.status = REC_READY}, "hold T (composite task): changed outside\n"},
		{{.status = REC_IN_PROGRESS, .is_leaf = true},
		 "hold T (in progress without a claim): changed outside\n"},
		{{.status = REC_STATUS_ABSENT}, "hold T (task not found): changed outside\n"},
		{{.status = REC_STATUS_UNRECOGNISED, .is_leaf = true},
		 "hold T (unrecognised status in durable state): changed outside\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bench b;
		struct rec_machine_options options = bench_options();
		bench_open(&b, &options, 2);
		uint32_t task = bench_add(&b, "T");
		bench_link(&b);
		bench_see(&b, task, cases[i].seen);
		assert_string_equal(bench_plan(&b), cases[i].plan);
		bench_see(&b, task, cases[i].seen);
		assert_string_equal(bench_plan(&b), "");
		assert_int_equal(b.plan->outcome, REC_BATCH_PARTIAL);
		assert_int_equal(rec_machine_counts(b.m).held, 1);
		bench_close(&b);
	}
}

static void test_hold__open_blockers_do_not_hold_if_they_are_to_be_ignored(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	options.ignore_blockers = true;
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_see(&b, task,
		  (struct rec_seen){.status = REC_READY, .is_leaf = true, .blockers_total = 1, .blockers_open = 1});
	assert_phase(&b, task, QUEUED);
	bench_close(&b);
}

static void test_hold__an_open_blocker_answered_releases_a_ready_task(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_see(&b, task,
		  (struct rec_seen){.status = REC_READY, .is_leaf = true, .blockers_total = 1, .blockers_open = 1});
	bench_plan(&b);
	bench_see(&b, task,
		  (struct rec_seen){.status = REC_READY, .is_leaf = true, .blockers_total = 1, .blockers_new = 1});
	assert_string_equal(bench_plan(&b), "record T: changed outside\nclaim T slot 0: its turn\n");
	bench_close(&b);
}

static void test_requeue__once_for_each_answer_and_again_after_the_next_question(void **state)
{
	(void)state; /* B14 */
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T1"), other = bench_add(&b, "T2");
	bench_link(&b);
	bench_status(&b, task, REC_BLOCKED);
	bench_status(&b, other, REC_READY);
	bench_run(&b, other);
	for (uint32_t round = 1; round <= 2; round++) {
		struct rec_seen answered = seen_as(REC_BLOCKED);
		answered.blockers_total = round;
		answered.blockers_new = 1;
		bench_see(&b, task, answered);
		bench_see(&b, task, answered); /* seen again before it is written: one requeue */
		assert_string_equal(bench_plan(&b), "requeue T1 BLOCKED: changed outside\n");
		bench_say(&b, task, REC_ON_REQUEUED);
		bench_plan(&b);
		for (int tick = 0; tick < 10; tick++) {
			bench_status(&b, task, REC_READY);
			if (tick == 0)
				bench_run(&b, task);
			assert_string_equal(bench_plan(&b), "");
		}
		bench_exit(&b, task, 0); /* it raised a blocker: the driver makes that BLOCKED */
		bench_plan(&b);
		assert_true(bench_effect(&b, REC_EFFECT_FINISH)->blocker_counts);
		bench_recorded(&b, task, REC_BLOCKED);
		assert_int_equal(rec_machine_hold(b.m, task), REC_HOLD_RAISED);
		assert_string_equal(bench_plan(&b), "look T1: not looked at yet\n");
		struct rec_seen asked = seen_as(REC_BLOCKED);
		asked.blockers_total = round + 1;
		asked.blockers_open = 1;
		bench_see(&b, task, asked);
		assert_string_equal(bench_plan(&b), "");
	}
	assert_int_equal(rec_machine_reconciled(b.m).requeued, 2);
	bench_close(&b);
}

static void test_requeue__lost_to_somebody_else_is_looked_at_again(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_status(&b, task, REC_BLOCKED);
	struct rec_seen answered = seen_as(REC_BLOCKED);
	answered.blockers_total = answered.blockers_new = 1;
	bench_see(&b, task, answered);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_RUNNING);
	bench_say(&b, task, REC_ON_REQUEUE_LOST);
	assert_string_equal(bench_plan(&b), "look T: the store moved first\n");
	assert_int_equal(rec_machine_reconciled(b.m).requeued, 0);
	bench_close(&b);
}

static void test_requeue__the_hold_before_it_is_told_only_if_the_requeue_is_lost(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	struct rec_seen answered = seen_as(REC_BLOCKED), asked = seen_as(REC_BLOCKED);
	answered.blockers_total = answered.blockers_new = 1;
	asked.blockers_total = asked.blockers_open = 1;
	bench_see(&b, task, answered);
	assert_string_equal(bench_plan(&b), "requeue T BLOCKED: changed outside\n");
	bench_say(&b, task, REC_ON_REQUEUE_LOST);
	bench_plan(&b);
	bench_see(&b, task, asked);
	assert_string_equal(bench_plan(&b), "hold T (blocked): changed outside\n");
	bench_see(&b, task, asked);
	assert_string_equal(bench_plan(&b), "");
	bench_close(&b);
}

/* ---- Elsewhere ---- */

static void test_elsewhere__the_batch_waits_for_somebody_elses_claim(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_see(&b, task, (struct rec_seen){.status = REC_IN_PROGRESS, .claimed = true, .is_leaf = true});
	assert_phase(&b, task, WAITING);
	assert_true(rec_machine_waits_elsewhere(b.m));
	assert_string_equal(bench_plan(&b), "");
	assert_int_equal(b.plan->outcome, REC_BATCH_RUNNING);
	bench_see(&b, task, (struct rec_seen){.status = REC_DONE, .is_leaf = true});
	assert_false(rec_machine_waits_elsewhere(b.m));
	bench_plan(&b);
	bench_plan(&b);
	assert_int_equal(b.plan->outcome, REC_BATCH_COMPLETED);
	assert_int_equal(rec_machine_counts(b.m).skipped, 1);
	bench_close(&b);
}

static void test_elsewhere__ready_under_somebody_elses_child_is_not_claimed(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T");
	bench_link(&b);
	bench_see(&b, task, (struct rec_seen){.status = REC_READY, .claimed = true, .is_leaf = true});
	assert_string_equal(bench_plan(&b), "");
	bench_see(&b, task, (struct rec_seen){.status = REC_READY, .is_leaf = true});
	assert_string_equal(bench_plan(&b), "claim T slot 0: its turn\n");
	bench_close(&b);
}

static void test_elsewhere__a_dependency_outside_the_batch_that_runs_is_waited_for(void **state)
{
	(void)state;
	struct bench b;
	struct rec_machine_options options = bench_options();
	bench_open(&b, &options, 2);
	uint32_t task = bench_add(&b, "T"), other;
	struct rec_machine_task watched = {.id = rec_slice_of("other")};
	assert_int_equal(rec_machine_add(b.m, &watched, &other), 0);
	depends(&b, task, other);
	bench_link(&b);
	bench_status(&b, task, REC_READY);
	bench_see(&b, other, (struct rec_seen){.status = REC_IN_PROGRESS, .claimed = true, .is_leaf = true});
	assert_string_equal(bench_plan(&b), "");
	bench_see(&b, other, (struct rec_seen){.status = REC_FAILED, .is_leaf = true});
	assert_string_equal(bench_plan(&b), "hold T (a dependency cannot finish): nothing that runs can release it\n");
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dependency__done_lets_the_next_one_run_and_not_before),
		cmocka_unit_test(test_dependency__completed_outside_counts_once_its_child_is_gone),
		cmocka_unit_test(test_dependency__reopened_sends_the_queued_back_to_wait),
		cmocka_unit_test(test_dependency__ring_is_told_once_with_its_members_and_the_rest_goes_on),
		cmocka_unit_test(test_dependency__missing_holds_and_once_it_exists_releases),
		cmocka_unit_test(test_dependency__that_cannot_be_read_holds),
		cmocka_unit_test(test_dependency__held_because_of_one_is_released_when_it_is_met_after_all),
		cmocka_unit_test(test_dependency__a_requeued_task_still_waits_for_it),
		cmocka_unit_test(test_hold__each_reason_is_said_once_and_nothing_starts),
		cmocka_unit_test(test_hold__open_blockers_do_not_hold_if_they_are_to_be_ignored),
		cmocka_unit_test(test_hold__an_open_blocker_answered_releases_a_ready_task),
		cmocka_unit_test(test_requeue__once_for_each_answer_and_again_after_the_next_question),
		cmocka_unit_test(test_requeue__the_hold_before_it_is_told_only_if_the_requeue_is_lost),
		cmocka_unit_test(test_requeue__lost_to_somebody_else_is_looked_at_again),
		cmocka_unit_test(test_elsewhere__the_batch_waits_for_somebody_elses_claim),
		cmocka_unit_test(test_elsewhere__ready_under_somebody_elses_child_is_not_claimed),
		cmocka_unit_test(test_elsewhere__a_dependency_outside_the_batch_that_runs_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
