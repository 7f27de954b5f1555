/* test-stories-batch.c - stops, blockers, retries, time, dependencies. Faults that systems like ours have had, told in
 * the simulated world: what goes wrong outside, and that it stays harmless here. The numbers are those of the list of
 * such faults that the project was begun with. */
#include "stories.h"

/* ---- Stops ---- */

static void test_b11__one_that_ignores_sigterm_delays_nobody_and_is_killed(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL), t2 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t2);
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
		if (s->w.processes[i].alive && s->w.processes[i].task == t1)
			s->w.processes[i].ignores_term = true;
	int64_t since_us = s->w.clock.now_monotonic_us;
	sim_status_set(&s->w, t1, REC_BLOCKED, "person");
	sim_status_set(&s->w, t2, REC_DONE, "person");
	until_it_is_gone(s, t2);
	int64_t second_us = s->w.clock.now_monotonic_us - since_us;
	until_it_is_gone(s, t1);
	int64_t first_us = s->w.clock.now_monotonic_us - since_us;
	assert_true(second_us <= 7 * SIM_SECOND);
	assert_true(first_us >= 10 * SIM_SECOND && first_us <= 12 * SIM_SECOND);
	until_ended(s);
	assert_status(s, t1, REC_BLOCKED);
	assert_status(s, t2, REC_DONE);
	story_close(s);
}

static void test_stop__a_worker_that_writes_done_itself_and_cleans_up_is_done_not_skipped(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_WRITE_DONE, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_int_equal(events(s, "BATCH_TASK_COMPLETED", "t0"), 1);
	assert_int_equal(events(s, "RECONCILIATION_TASK_SKIPPED", "t0"), 0);
	story_close(s);
}

static void test_stop__a_worker_that_writes_failed_itself_gets_its_retries(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	s->w.options.machine.retries = 1;
	unsigned t1 = task(s, REC_READY, 0, SIM_WRITE_FAILED, SIM_SUCCEED);
	sim_batch_start(&s->w, 0, 0);
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_children(s, t1, 2);
	story_close(s);
}

static void test_stop__deleted_under_its_child_it_is_stopped_and_the_batch_goes_on(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL), t2 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	assert_true(sim_task_delete(&s->w, t1));
	until_ended(s);
	assert_status(s, t2, REC_DONE);
	assert_outcome(s, REC_BATCH_PARTIAL);
	story_close(s);
}

/* ---- Blockers ---- */

static void test_b14__each_answer_gives_exactly_one_requeue_whatever_came_before(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	unsigned t1 = task(s, REC_BLOCKED, 0, SIM_ASK, SIM_SUCCEED), t2 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL);
	sim_blocker_add(&s->w, t1);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t2);
	rounds(s, 10);
	assert_children(s, t1, 0);
	sim_blockers_answer(&s->w, t1);
	rounds(s, 10);
	assert_children(s, t1, 1);
	assert_status(s, t1, REC_BLOCKED); /* it asked again */
	assert_int_equal(events(s, "RECONCILIATION_TASK_REQUEUED", "t0"), 1);
	sim_blockers_answer(&s->w, t1);
	rounds(s, 10);
	assert_children(s, t1, 2);
	assert_status(s, t1, REC_DONE);
	assert_int_equal(events(s, "RECONCILIATION_TASK_REQUEUED", "t0"), 2);
	s->w.quiet = true;
	until_ended(s);
	story_close(s);
}

static void test_b14__blocked_again_without_a_new_question_it_is_held_not_requeued_for_ever(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	unsigned t1 = task(s, REC_BLOCKED, 0, SIM_HANG, SIM_FAIL);
	sim_blocker_add(&s->w, t1);
	sim_blockers_answer(&s->w, t1);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	assert_true(sim_status_set(&s->w, t1, REC_BLOCKED, "person"));
	until_ended(s);
	assert_children(s, t1, 1);
	assert_int_equal(events(s, "RECONCILIATION_TASK_REQUEUED", "t0"), 1);
	assert_status(s, t1, REC_BLOCKED);
	story_close(s);
}

static void test_b15__unblocked_it_still_waits_for_what_it_needs(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL),
		 t2 = task(s, REC_BLOCKED, 1u << 0, SIM_SUCCEED, SIM_FAIL);
	sim_blocker_add(&s->w, t2);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	sim_blockers_answer(&s->w, t2);
	rounds(s, 20);
	assert_status(s, t2, REC_READY);
	assert_children(s, t2, 0);
	s->w.quiet = true;
	until_ended(s);
	assert_children(s, t2, 1);
	story_close(s);
}

static void test_blockers__ready_with_an_open_question_it_is_not_started(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	sim_blocker_add(&s->w, t1);
	sim_batch_start(&s->w, 0, 0);
	until_ended(s);
	assert_children(s, t1, 0);
	assert_status(s, t1, REC_READY);
	assert_outcome(s, REC_BATCH_PARTIAL);
	story_close(s);
}

/* ---- Retries ---- */

static int64_t store_events(struct story *s)
{
	struct event_count all = {"", NULL, 0};
	int64_t count = 0;
	(void)all;
	for (const char *const *name = (const char *const[]){"BATCH_TASK_HELD", "BATCH_TASK_STARTED",
							     "BATCH_TASK_FAILED", "RECONCILIATION_TASK_REQUEUED", NULL};
	     *name; name++)
		count += events(s, *name, NULL);
	return count;
}

static void test_b16__held_back_until_a_time_no_tick_writes_or_claims_and_a_restart_remembers(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	s->w.options.machine.retries = 3;
	s->w.options.machine.retry_delay_us = 300 * SIM_SECOND;
	unsigned t1 = task(s, REC_READY, 0, SIM_FAIL, SIM_SUCCEED);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	while (sim_status_of(&s->w, t1) != REC_READY)
		sim_round(&s->w);
	int64_t before = store_events(s), since_us = s->w.clock.now_monotonic_us;
	for (int tick = 0; tick < 100; tick++) {
		sim_conductor_turn(&s->w.conductors[0]);
		sim_pass(&s->w, SIM_SECOND / 2);
		if (tick == 50) {
			sim_conductor_die(&s->w.conductors[0]);
			sim_conductors_bury(&s->w);
			sim_batch_resume(&s->w, 0);
		}
	}
	assert_children(s, t1, 1);
	assert_true(store_events(s) - before <= 0);
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_true(s->w.clock.now_monotonic_us - since_us >= 150 * SIM_SECOND);
	story_close(s);
}

/* ---- Time ---- */

static void test_b17__the_wall_clock_set_back_or_forward_two_hours_changes_nothing(void **state)
{
	(void)state;
	for (int direction = -1; direction <= 1; direction += 2) {
		struct story *s = story_open(1, 1);
		s->w.options.machine.timeout_us = 600 * SIM_SECOND;
		unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_SUCCEED);
		sim_batch_start(&s->w, 0, 0);
		until_it_runs(s, t1);
		sim_conductor_turn(&s->w.conductors[0]);
		int64_t since_us = s->w.clock.now_monotonic_us;
		sim_pass(&s->w, 60 * SIM_SECOND);
		s->w.clock.now_wall_us += direction * 7200 * SIM_SECOND;
		sim_conductor_turn(&s->w.conductors[0]);
		assert_true(s->w.conductors[0].due_us <= s->w.clock.now_monotonic_us + 30 * SIM_SECOND);
		until_it_is_gone(s, t1);
		int64_t ran_us = s->w.clock.now_monotonic_us - since_us;
		assert_true(ran_us >= 600 * SIM_SECOND && ran_us <= 640 * SIM_SECOND);
		until_ended(s);
		story_close(s);
	}
}

static void test_time__paused_ourselves_nobody_is_timed_out_for_it(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	s->w.options.machine.timeout_us = 100 * SIM_SECOND;
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	rounds(s, 3);
	sim_pass(&s->w, 3600 * SIM_SECOND); /* SIGSTOP */
	rounds(s, 1);
	assert_true(runs(s, t1));
	s->w.quiet = true;
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	story_close(s);
}

/* ---- Dependencies ---- */

static void test_b36__a_ring_is_told_once_and_the_rest_runs(void **state)
{
	(void)state;
	static const unsigned depends_on[] = {1u << 1, 1u << 2, 1u << 0, 1u << 0, 0, 1u << 5};
	static const int64_t children[] = {0, 0, 0,
					   0, 1, 0}; /* a ring of three, one behind it, a free one, a ring of one */
	struct story *s = story_open(2, 1);
	for (unsigned i = 0; i < 6; i++)
		task(s, REC_READY, depends_on[i], SIM_SUCCEED, SIM_FAIL);
	for (unsigned i = 0; i < 6; i++) { /* those that need one that was not there yet */
		struct rec_slice on = rec_slice_of(s->w.tasks[(unsigned)__builtin_ctz(depends_on[i] | 64u) % 6].id);
		struct rec_task edited = {.id = S(s->w.tasks[i].id), .depends_on = &on, .depends_on_count = 1};
		if (depends_on[i])
			assert_int_equal(rec_store_edit(s->w.keeper, &edited, REC_EDIT_DEPENDS_ON, NULL), 0);
	}
	sim_batch_start(&s->w, 0, 0);
	until_ended(s);
	assert_outcome(s, REC_BATCH_PARTIAL);
	for (unsigned i = 0; i < 6; i++)
		assert_children(s, i, children[i]);
	assert_int_equal(events(s, "DEPENDENCY_RING", NULL), 2);
	story_close(s);
}

static void test_dependency__behind_one_that_was_withdrawn_it_is_held_and_the_batch_ends(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL),
		 t2 = task(s, REC_READY, 1u << 0, SIM_SUCCEED, SIM_FAIL),
		 t3 = task(s, REC_READY, 1u << 7, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	sim_status_set(&s->w, t1, REC_BACKLOG, "person");
	until_ended(s);
	assert_children(s, t2, 0);
	assert_children(s, t3, 0);
	assert_outcome(s, REC_BATCH_PARTIAL);
	story_close(s);
}

static void test_dependency__edited_while_it_waits_it_runs_as_soon_as_it_may(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL),
		 t2 = task(s, REC_READY, 1u << 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	struct rec_task free = {.id = S("t1")};
	assert_int_equal(rec_store_edit(s->w.keeper, &free, REC_EDIT_DEPENDS_ON, NULL), 0);
	rounds(s, 10);
	assert_status(s, t2, REC_DONE);
	assert_true(runs(s, t1));
	assert_int_equal(rec_machine_counts(machine(s)).done, 1);
	s->w.quiet = true;
	until_ended(s);
	story_close(s);
}

static void ends_now(struct story *s, unsigned number, enum sim_script script)
{
	struct sim_process *p = process_of(s, number);
	assert_true(p != NULL);
	if (!p)
		return;
	p->script = script;
	p->next_us = s->w.clock.now_monotonic_us;
}

/* It ran before somebody gave it a child, and both end at once: it is what its child makes of it, not what its own end
 * said. */
static void test_lost_update__a_parent_that_its_child_fails_with_the_same_commit_counts_as_failed(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	unsigned parent = task(s, REC_READY, 0, SIM_HANG, SIM_HANG);
	sim_batch_start(&s->w, 0, 0);
	s->w.options.wait = true;
	until_it_runs(s, parent);
	unsigned child = sim_child_add(&s->w, REC_READY, 0, (int)parent);
	s->w.tasks[child].scripts[0] = SIM_HANG;
	s->w.tasks[child].script_count = 1;
	until_it_runs(s, child);
	ends_now(s, parent, SIM_SUCCEED);
	ends_now(s, child, SIM_FAIL);
	sim_processes_act(&s->w);
	sim_shims_act(&s->w);
	sim_conductor_turn(&s->w.conductors[0]);
	assert_status(s, parent, REC_FAILED);
	until_ended(s);
	assert_int_equal(events_with(s, "BATCH_PARTIAL", "0 done, 2 failed"), 1);
	story_close(s);
}

static void test_join__a_dependency_that_becomes_ready_is_taken_by_a_waiting_batch(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	s->w.options.wait = true;
	unsigned t0 = task(s, REC_BACKLOG, 0, SIM_SUCCEED, SIM_SUCCEED);
	unsigned t1 = task(s, REC_READY, 1, SIM_SUCCEED, SIM_SUCCEED);
	sim_batch_start(&s->w, 0, 1u << t1);
	rounds(s, 5);
	assert_children(s, t1, 0);
	sim_status_set(&s->w, t0, REC_READY, "person");
	until_ended(s);
	assert_children(s, t0, 1);
	assert_children(s, t1, 1);
	assert_int_equal(events(s, "BATCH_TASK_JOINED", "t0"), 1);
	story_close(s);
}

static void test_join__a_batch_that_does_not_wait_takes_nothing_that_becomes_ready_later(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	s->w.options.all_ready = true;
	unsigned t0 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_SUCCEED);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t0);
	unsigned later = sim_task_add(&s->w, REC_READY, 0);
	until_ended(s);
	assert_status(s, t0, REC_DONE);
	assert_status(s, later, REC_READY);
	story_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_b11__one_that_ignores_sigterm_delays_nobody_and_is_killed),
		cmocka_unit_test(test_stop__a_worker_that_writes_done_itself_and_cleans_up_is_done_not_skipped),
		cmocka_unit_test(test_stop__a_worker_that_writes_failed_itself_gets_its_retries),
		cmocka_unit_test(test_stop__deleted_under_its_child_it_is_stopped_and_the_batch_goes_on),
		cmocka_unit_test(test_b14__each_answer_gives_exactly_one_requeue_whatever_came_before),
		cmocka_unit_test(test_b14__blocked_again_without_a_new_question_it_is_held_not_requeued_for_ever),
		cmocka_unit_test(test_b15__unblocked_it_still_waits_for_what_it_needs),
		cmocka_unit_test(test_blockers__ready_with_an_open_question_it_is_not_started),
		cmocka_unit_test(test_b16__held_back_until_a_time_no_tick_writes_or_claims_and_a_restart_remembers),
		cmocka_unit_test(test_b17__the_wall_clock_set_back_or_forward_two_hours_changes_nothing),
		cmocka_unit_test(test_time__paused_ourselves_nobody_is_timed_out_for_it),
		cmocka_unit_test(test_b36__a_ring_is_told_once_and_the_rest_runs),
		cmocka_unit_test(test_dependency__behind_one_that_was_withdrawn_it_is_held_and_the_batch_ends),
		cmocka_unit_test(test_dependency__edited_while_it_waits_it_runs_as_soon_as_it_may),
		cmocka_unit_test(test_lost_update__a_parent_that_its_child_fails_with_the_same_commit_counts_as_failed),
		cmocka_unit_test(test_join__a_batch_that_does_not_wait_takes_nothing_that_becomes_ready_later),
		cmocka_unit_test(test_join__a_dependency_that_becomes_ready_is_taken_by_a_waiting_batch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
