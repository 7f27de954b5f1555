/* test-stories.c - faults that systems like ours have had, told in the simulated world: what goes wrong outside, and
 * that it stays harmless here. The numbers are those of the list of such faults that the project was begun with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim.h"

#define S(text) rec_slice_of(text)

struct story {
	struct sim w;
	struct sim_paths paths;
};

/* ---- Telling ---- */

static struct story *story_open(unsigned slots, unsigned conductors)
{
	struct story *s = calloc(1, sizeof *s);
	assert_non_null(s);
	struct sim_options options = {
		.seed = 1, .slots = slots, .conductors = conductors, .trace = getenv("SIM_TRACE") != NULL};
	options.machine = (struct rec_machine_options){
		.max_parallel = slots,
		.settle_us = 5 * SIM_SECOND,
		.grace_us = 5 * SIM_SECOND,
		.retry_delay_us = 10 * SIM_SECOND,
	};
	assert_int_equal(sim_open_story(&s->w, &options, &s->paths), 0);
	return s;
}

static void story_close(struct story *s)
{
	if (s->w.violation[0])
		fail_msg("%s", s->w.violation);
	sim_close(&s->w);
	free(s);
}

static unsigned task(struct story *s, enum rec_status status, unsigned depends_on, enum sim_script first,
		     enum sim_script second)
{
	unsigned number = sim_task_add(&s->w, status, depends_on);
	s->w.tasks[number].scripts[0] = (int)first;
	s->w.tasks[number].scripts[1] = (int)second;
	s->w.tasks[number].script_count = 2;
	return number;
}

static void rounds(struct story *s, unsigned count)
{
	while (count-- > 0)
		sim_round(&s->w);
}

static void until_ended(struct story *s)
{
	for (unsigned i = 0; i < 300 && !sim_all_ended(&s->w); i++)
		sim_round(&s->w);
	assert_true(sim_all_ended(&s->w));
	sim_rules_at_the_end(&s->w);
}

static bool runs(struct story *s, unsigned number)
{
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
		if (s->w.processes[i].alive && s->w.processes[i].task == number)
			return true;
	return false;
}

/* No further in time than it takes. */
static void until_it_runs(struct story *s, unsigned number)
{
	for (unsigned i = 0; i < 100 && !runs(s, number); i++) {
		for (unsigned k = 0; k < s->w.options.conductors; k++)
			sim_conductor_turn(&s->w.conductors[k]);
		sim_shims_act(&s->w);
		if (!runs(s, number))
			sim_pass_to_next(&s->w);
	}
	assert_true(runs(s, number));
}

static void until_it_is_gone(struct story *s, unsigned number)
{
	for (unsigned i = 0; i < 200 && runs(s, number); i++) {
		sim_conductor_turn(&s->w.conductors[0]);
		if (runs(s, number))
			sim_pass_to_next(&s->w);
	}
	assert_false(runs(s, number));
}

static const struct rec_machine *machine(struct story *s)
{
	return rec_driver_machine(s->w.conductors[0].driver);
}

#define assert_status(s, number, status) assert_int_equal(sim_status_of(&(s)->w, number), status)
#define assert_children(s, number, count) assert_int_equal((s)->w.tasks[number].children, count)
#define assert_outcome(s, status) assert_int_equal((s)->w.batches[0].outcome, status)

/* Events of a name about a task (NULL: any). */
struct event_count {
	const char *name, *task;
	unsigned count;
};

static int event_match(void *context, const struct rec_event *event)
{
	struct event_count *c = context;
	c->count +=
		rec_slice_equal(event->event, S(c->name)) && (!c->task || rec_slice_equal(event->task_id, S(c->task)));
	return 0;
}

static unsigned events(struct story *s, const char *name, const char *id)
{
	struct event_count c = {name, id, 0};
	assert_int_equal(rec_store_events(s->w.keeper, 0, 0, event_match, &c, NULL), 0);
	return c.count;
}

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
		sim_reboot(&s->w);
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

static void test_b04__a_batch_cancelled_in_the_store_stays_cancelled_and_starts_nothing(void **state)
{
	(void)state;
	struct story *s = story_open(1, 1);
	struct rec_arena arena;
	struct rec_batch batch;
	unsigned t1 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL), t2 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL),
		 t3 = task(s, REC_READY, 0, SIM_SUCCEED, SIM_FAIL);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t1);
	assert_int_equal(rec_batch_cancel(s->w.keeper, S("b0"), NULL), 0);
	until_ended(s);
	assert_status(s, t1, REC_DONE);
	assert_status(s, t2, REC_READY);
	assert_status(s, t3, REC_READY);
	rec_arena_init(&arena, NULL);
	assert_int_equal(rec_store_batch_get(s->w.keeper, S("b0"), &arena, &batch, NULL), 0);
	assert_int_equal(batch.status, REC_BATCH_CANCELLED);
	rec_arena_release(&arena);
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
		cmocka_unit_test(test_b29__a_busy_store_is_waited_for_and_both_changes_land_once),
		cmocka_unit_test(test_b30__a_full_disk_loses_no_end_and_starts_nothing),
		cmocka_unit_test(test_b36__a_ring_is_told_once_and_the_rest_runs),
		cmocka_unit_test(test_dependency__behind_one_that_was_withdrawn_it_is_held_and_the_batch_ends),
		cmocka_unit_test(test_dependency__edited_while_it_waits_it_runs_as_soon_as_it_may),
	};
	return cmocka_run_group_tests_name("stories", tests, NULL, NULL);
}
