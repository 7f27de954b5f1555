/* test-stories-crash.c - crashes, lost updates, changes behind our back. Faults that systems like ours have had, told
 * in the simulated world: what goes wrong outside, and that it stays harmless here. The numbers are those of the list
 * of such faults that the project was begun with. */
#include "stories.h"

/* ---- Crashes ---- */

static void test_b01__killed_from_elsewhere_it_failed_and_a_resume_runs_it_again(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_DIE, SIM_SUCCEED);
	sim_batch_start(&s->w, 0, 0);
	until_ended(s);
	assert_status(s, t1, REC_FAILED);
	assert_outcome(s, REC_BATCH_PARTIAL);
	sim_batch_resume(&s->w, 0);
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_children(s, t1, 2);
	assert_outcome(s, REC_BATCH_COMPLETED);
	story_close(s);
}

static void test_b02__after_a_restart_the_living_worker_is_watched_and_only_the_lost_one_runs_again(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_SUCCEED), t2 = task(s, REC_READY, 0, SIM_HANG, SIM_SUCCEED);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t2);
	sim_conductor_die(&s->w.conductors[0]);
	sim_conductors_bury(&s->w);
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) /* the second one's shim dies too */
		if (s->w.processes[i].alive && s->w.processes[i].task == t2)
			sim_shim_die(&s->w, s->w.processes[i].folder);
	sim_batch_resume(&s->w, 0);
	rounds(s, 10);
	assert_children(s, t1, 1);
	assert_children(s, t2, 2);
	assert_true(runs(s, t1));
	assert_status(s, t1, REC_IN_PROGRESS);
	assert_int_equal(events(s, "BATCH_TASK_LOST", "t1"), 1);
	s->w.quiet = true; /* what hangs comes to its end */
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_status(s, t2, REC_DONE);
	story_close(s);
}

static void test_crash__lost_again_and_again_it_fails_in_the_end(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_HANG);
	for (unsigned i = 2; i < 8; i++)
		s->w.tasks[t1].scripts[s->w.tasks[t1].script_count++] = SIM_HANG;
	sim_batch_start(&s->w, 0, 0);
	for (unsigned i = 0; i < 4; i++) {
		until_it_runs(s, t1);
		sim_reboot(&s->w, 0);
		sim_conductors_bury(&s->w);
		sim_batch_resume(&s->w, 0);
	}
	until_ended(s);
	assert_status(s, t1, REC_FAILED);
	assert_children(s, t1, 4);
	assert_int_equal(events(s, "BATCH_TASK_LOST", "t0"), 4);
	story_close(s);
}

static void test_crash__the_end_of_a_child_is_not_lost_with_its_conductor(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	sim_conductor_die(&s->w.conductors[0]);
	sim_conductors_bury(&s->w);
	sim_pass(&s->w, 60 * SIM_SECOND);
	sim_shims_act(&s->w);
	assert_false(runs(s, t1));
	sim_batch_resume(&s->w, 0);
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_children(s, t1, 1);
	story_close(s);
}

static void test_crash__another_batch_takes_over_what_a_dead_one_left_and_records_it_there(void **state)
{
	(void)state;
	struct story *s = story_open(1, 2);
	unsigned t1 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL), t2 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 1u << t1);
	until_it_runs(s, t1);
	sim_conductor_die(&s->w.conductors[0]);
	sim_conductors_bury(&s->w);
	sim_batch_start(&s->w, 1, 1u << t2);
	for (unsigned i = 0; i < 100 && !s->w.batches[1].has_ended; i++)
		sim_round(&s->w);
	assert_true(s->w.batches[1].has_ended);
	assert_status(s, t1, REC_DONE);
	assert_status(s, t2, REC_DONE);
	assert_children(s, t1, 1);
	sim_batch_resume(&s->w, 0); /* its row says finished: nothing is left to do */
	until_ended(s);
	assert_outcome(s, REC_BATCH_COMPLETED);
	assert_children(s, t1, 1);
	story_close(s);
}

/* ---- Lost updates ---- */

static void test_b03__completed_by_a_person_the_stopped_childs_exit_does_not_fail_it(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	s->w.options.machine.stop_on_failure = true;
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL),
		 t2 = task(s, REC_READY, 1u << 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	assert_true(sim_status_set(&s->w, t1, REC_DONE, "person"));
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_status(s, t2, REC_DONE);
	assert_children(s, t1, 1);
	assert_outcome(s, REC_BATCH_COMPLETED);
	assert_int_equal(events(s, "RECONCILIATION_TASK_SKIPPED", "t0"), 1);
	assert_int_equal(events(s, "BATCH_TASK_FAILED", NULL), 0);
	story_close(s);
}

static int64_t assert_cancelled(struct story *s)
{
	struct rec_arena arena;
	struct rec_batch batch;
	rec_arena_init(&arena, NULL);
	assert_int_equal(rec_store_batch_get(s->w.keeper, S("b0"), &arena, &batch, NULL), 0);
	assert_int_equal(batch.status, REC_BATCH_CANCELLED);
	rec_arena_release(&arena);
	return batch.skipped;
}

/* The row of the batch is written once more meanwhile, for what reconciliation did. */
static void test_b04__a_batch_cancelled_in_the_store_stays_cancelled_and_starts_nothing(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL), t2 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL),
		 t3 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	assert_int_equal(rec_batch_cancel(s->w.keeper, S("b0"), NULL), 0);
	assert_int_equal(assert_cancelled(s), 0);
	sim_status_set(&s->w, t1, REC_DONE, "person");
	while (runs(s, t1)) {
		sim_round(&s->w);
		assert_cancelled(s);
	}
	until_ended(s);
	assert_int_equal(assert_cancelled(s), 1);
	assert_status(s, t1, REC_DONE);
	assert_status(s, t2, REC_READY);
	assert_status(s, t3, REC_READY);
	story_close(s);
}

static void test_lost_update__a_stop_row_drains_and_a_second_one_gives_the_tasks_back(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL), t2 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	assert_int_equal(rec_store_batch_stop(s->w.keeper, S("b0"), REC_BATCH_DRAIN, NULL), 0);
	rounds(s, 5);
	assert_true(runs(s, t1));
	s->w.batches[0].forced = true;
	assert_int_equal(rec_store_batch_stop(s->w.keeper, S("b0"), REC_BATCH_FORCE, NULL), 0);
	until_ended(s);
	assert_outcome(s, REC_BATCH_CANCELLED);
	assert_status(s, t1, REC_READY);
	assert_status(s, t2, REC_READY);
	story_close(s);
}

/* ---- Looked at, then changed ---- */

/* At the moment when the claim is planned and not yet written. */
static void block_before_the_claim(struct sim *w, struct sim_conductor *c, bool in_group)
{
	if (w->paths->stage || in_group || !c->driver)
		return;
	if (rec_machine_phase(rec_driver_machine(c->driver), 0) != REC_PHASE_CLAIMING)
		return;
	w->paths->stage = 1;
	sim_blocker_add(w, 0);
	sim_status_set(w, 0, REC_BLOCKED, "person");
}

static void test_b05__blocked_after_it_was_queued_it_is_held_not_started(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	s->paths.disturb = block_before_the_claim;
	sim_batch_start(&s->w, 0, 0);
	until_ended(s);
	assert_int_equal(s->paths.stage, 1);
	assert_status(s, t1, REC_BLOCKED);
	assert_children(s, t1, 0);
	assert_outcome(s, REC_BATCH_PARTIAL);
	assert_int_equal(events(s, "RECONCILIATION_TASK_KILLED", "t0"), 1);
	sim_blockers_answer(&s->w, t1);
	sim_batch_resume(&s->w, 0);
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_int_equal(events(s, "RECONCILIATION_TASK_REQUEUED", "t0"), 1);
	story_close(s);
}

static void reopen_before_the_claim(struct sim *w, struct sim_conductor *c, bool in_group)
{
	if (w->paths->stage || in_group || !c->driver)
		return;
	if (rec_machine_phase(rec_driver_machine(c->driver), 1) != REC_PHASE_CLAIMING)
		return;
	w->paths->stage = 1;
	sim_status_set(w, 0, REC_BLOCKED, "person");
}

static void test_toctou__a_dependency_reopened_before_the_claim_is_seen_by_the_claim(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	task(s, REC_READY, 0, SIM_SUCCEED, SIM_SUCCEED);
	unsigned t2 = task(s, REC_READY, 1u << 0, SIM_SUCCEED, SIM_FAIL);
	s->paths.disturb = reopen_before_the_claim;
	sim_batch_start(&s->w, 0, 0);
	until_ended(s);
	assert_int_equal(s->paths.stage, 1);
	assert_children(s, t2, 0);
	assert_status(s, t2, REC_READY);
	story_close(s);
}

/* ---- Twice ---- */

static void other_takes_its_turn(struct sim *w, struct sim_conductor *c, bool in_group)
{
	if (in_group || !c->driver || c->index || w->paths->stage)
		return;
	if (rec_machine_phase(rec_driver_machine(c->driver), 0) != REC_PHASE_CLAIMING)
		return;
	w->paths->stage = 1;
	sim_conductor_turn(&w->conductors[1]);
}

static void test_b06__two_conductors_want_the_same_task_one_runs_it_the_other_waits(void **state)
{
	(void)state;
	struct story *s = story_open(1, 2);
	unsigned t1 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	s->paths.disturb = other_takes_its_turn;
	sim_batch_start(&s->w, 0, 0);
	sim_batch_start(&s->w, 1, 0);
	until_ended(s);
	assert_int_equal(s->paths.stage, 1);
	assert_children(s, t1, 1);
	assert_status(s, t1, REC_DONE);
	assert_outcome(s, REC_BATCH_COMPLETED);
	assert_int_equal(s->w.batches[1].outcome, REC_BATCH_COMPLETED);
	story_close(s);
}

static void test_duplicate__a_task_of_a_conductor_that_died_is_not_started_beside_its_living_child(void **state)
{
	(void)state;
	struct story *s = story_open(1, 2);
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_SUCCEED);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	sim_conductor_die(&s->w.conductors[0]);
	sim_conductors_bury(&s->w);
	sim_batch_start(&s->w, 1, 0);
	assert_true(sim_status_set(&s->w, t1, REC_READY, "person")); /* "it hangs, run it again" */
	rounds(s, 20);
	assert_children(s, t1, 1);
	assert_true(runs(s, t1));
	s->w.quiet = true;
	for (unsigned i = 0; i < 100 && !s->w.batches[1].has_ended; i++)
		sim_round(&s->w);
	assert_children(s, t1, 2); /* the next one when the first had ended */
	assert_status(s, t1, REC_DONE);
	story_close(s);
}

/* ---- The store out of order ---- */

static void lock_between_read_and_write(struct sim *w, struct sim_conductor *c, bool in_group)
{
	if (!c->driver || in_group)
		return;
	bool stopping = rec_machine_phase(rec_driver_machine(c->driver), 0) == REC_PHASE_STOPPING;
	if (w->paths->stage == 0 && stopping && rec_store_begin(w->keeper, NULL) == 0)
		w->paths->stage = 1;
	else if (w->paths->stage && w->paths->stage++ == 30 && rec_store_in_group(w->keeper))
		assert_int_equal(rec_store_commit(w->keeper, NULL), 0);
}

static void test_b29__a_busy_store_is_waited_for_and_both_changes_land_once(void **state)
{
	(void)state;
	struct story *s = story_open(2, 1);
	s->w.options.machine.settle_us = 0;
	unsigned t1 = task(s, REC_READY, 0, SIM_HANG, SIM_FAIL), t2 = task(s, REC_BLOCKED, 0, SIM_SUCCEED, SIM_FAIL);
	sim_blocker_add(&s->w, t2);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	sim_status_set(&s->w, t1, REC_DONE, "person");
	sim_blockers_answer(&s->w, t2);
	s->paths.disturb = lock_between_read_and_write;
	until_ended(s);
	assert_true(s->paths.stage > 30);
	assert_status(s, t1, REC_DONE);
	assert_status(s, t2, REC_DONE);
	assert_children(s, t2, 1);
	assert_int_equal(events(s, "RECONCILIATION_TASK_SKIPPED", "t0"), 1);
	assert_int_equal(events(s, "RECONCILIATION_TASK_REQUEUED", "t1"), 1);
	assert_true(events(s, "RECONCILIATION_ERROR", NULL) >= 1);
	story_close(s);
}

static void test_b30__a_full_disk_loses_no_end_and_starts_nothing(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	unsigned t1 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL), t2 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	s->paths.store_is_full = true;
	rounds(s, 60);
	assert_false(runs(s, t1));
	assert_children(s, t2, 0);
	assert_status(s, t1, REC_IN_PROGRESS);
	s->paths.store_is_full = false;
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_status(s, t2, REC_DONE);
	assert_children(s, t1, 1);
	story_close(s);
}

/* ---- Out of memory ---- */

static void whole_life(uint64_t fail_at, uint64_t *ret_calls)
{
	struct story *s = story_open(2, 2);
	s->w.options.machine.retries = 1;
	s->w.options.machine.retry_delay_us = SIM_SECOND;
	unsigned t1 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL), t2 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL),
		 t3 = task(s, REC_READY, 1u << 0, SIM_FAIL, SIM_SUCCEED),
		 t4 = task(s, REC_BLOCKED, 0, SIM_SUCCEED, SIM_FAIL);
	s->paths.fail_at = fail_at;
	sim_blocker_add(&s->w, t4);
	sim_batch_start(&s->w, 0, 1u << t1 | 1u << t2 | 1u << t4);
	until_it_runs(s, t2);
	sim_conductor_die(&s->w.conductors[0]);
	sim_conductors_bury(&s->w);
	sim_batch_start(&s->w, 1, 1u << t1 | 1u << t3);
	rounds(s, 4);
	sim_blockers_answer(&s->w, t4);
	sim_batch_resume(&s->w, 0);
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_status(s, t2, REC_DONE);
	assert_status(s, t3, REC_DONE);
	assert_status(s, t4, REC_DONE);
	assert_children(s, t1, 1);
	assert_children(s, t2, 1);
	assert_children(s, t3, 2);
	*ret_calls = s->paths.calls_max;
	story_close(s);
}

static void test_memory__each_allocation_failing_in_turn_nothing_is_lost_done_twice_or_leaked(void **state)
{
	(void)state;
	uint64_t calls = 1;
	for (uint64_t n = 1; n <= calls; n++)
		whole_life(n, &calls);
	assert_true(calls > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_b01__killed_from_elsewhere_it_failed_and_a_resume_runs_it_again),
		cmocka_unit_test(
			test_b02__after_a_restart_the_living_worker_is_watched_and_only_the_lost_one_runs_again),
		cmocka_unit_test(test_crash__lost_again_and_again_it_fails_in_the_end),
		cmocka_unit_test(test_crash__the_end_of_a_child_is_not_lost_with_its_conductor),
		cmocka_unit_test(test_crash__another_batch_takes_over_what_a_dead_one_left_and_records_it_there),
		cmocka_unit_test(test_b03__completed_by_a_person_the_stopped_childs_exit_does_not_fail_it),
		cmocka_unit_test(test_b04__a_batch_cancelled_in_the_store_stays_cancelled_and_starts_nothing),
		cmocka_unit_test(test_lost_update__a_stop_row_drains_and_a_second_one_gives_the_tasks_back),
		cmocka_unit_test(test_b05__blocked_after_it_was_queued_it_is_held_not_started),
		cmocka_unit_test(test_toctou__a_dependency_reopened_before_the_claim_is_seen_by_the_claim),
		cmocka_unit_test(test_b06__two_conductors_want_the_same_task_one_runs_it_the_other_waits),
		cmocka_unit_test(
			test_duplicate__a_task_of_a_conductor_that_died_is_not_started_beside_its_living_child),
		cmocka_unit_test(test_b29__a_busy_store_is_waited_for_and_both_changes_land_once),
		cmocka_unit_test(test_b30__a_full_disk_loses_no_end_and_starts_nothing),
		cmocka_unit_test(test_memory__each_allocation_failing_in_turn_nothing_is_lost_done_twice_or_leaked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
