/* apply: what is written, what is not, and what happens when the world moves in between. */
#include "engine/test-applying.h"

/* ---- What is written ---- */

static void test_apply__released_task_becomes_ready_with_one_event(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	applied_is(apply(w), "t:REQUEUE+");
	assert_int_equal(status_of(w, "t"), REC_READY);
	events_are(w,
		   "{\"seq\":1,\"event\":\"RECONCILIATION_TASK_REQUEUED\",\"batch_id\":\"batch-1\",\"task_id\":\"t\","
		   "\"action\":\"REQUEUE\",\"reason\":\"all blockers resolved\",\"source\":\"blockers\","
		   "\"current_status\":\"BLOCKED\",\"believed\":\"-\",\"blockers_total\":1,\"blockers_open\":0,"
		   "\"blockers_new\":1}\n");
	all_verified(w, 1);
}

static void test_apply__is_idempotent(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	applied_is(apply(w), "t:REQUEUE+");
	applied_is(apply(w), "t:NONE");
	assert_int_equal(event_count(w), 1);
}

static void test_apply__one_open_blocker_holds(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	ask(w, "k2", "t");
	applied_is(apply(w), "t:NONE");
	assert_int_equal(status_of(w, "t"), REC_BLOCKED);
	assert_int_equal(event_count(w), 0);
}

static void test_apply__skip_kill_and_requeue_of_a_ready_task_write_nothing(void **state)
{
	struct world *w = *state;
	struct rec_belief belief;
	add(w, "done", REC_DONE);
	add(w, "blocked", REC_BLOCKED);
	add(w, "ready", REC_READY);
	ask(w, "k", "blocked");
	rec_belief_init(&belief, NULL, 1);
	ok(w, rec_belief_set(&belief, S("done"), REC_IN_PROGRESS, NULL, NULL));
	ok(w, rec_belief_set(&belief, S("blocked"), REC_IN_PROGRESS, NULL, NULL));
	ok(w, rec_belief_set(&belief, S("ready"), REC_FAILED, NULL, NULL));
	applied_is(apply_kind(w, REC_CHECK_MERGED, &belief), "done:SKIP blocked:KILL ready:REQUEUE");
	assert_int_equal(status_of(w, "done"), REC_DONE);
	assert_int_equal(status_of(w, "blocked"), REC_BLOCKED);
	assert_int_equal(status_of(w, "ready"), REC_READY);
	assert_int_equal(event_count(w), 0);
	rec_belief_release(&belief);
}

static void test_apply__a_running_belief_comes_before_released_blockers(void **state)
{
	struct world *w = *state;
	struct rec_belief belief;
	add_answered(w, "t", "k");
	rec_belief_init(&belief, NULL, 1);
	ok(w, rec_belief_set(&belief, S("t"), REC_IN_PROGRESS, NULL, NULL));
	applied_is(apply_kind(w, REC_CHECK_MERGED, &belief), "t:KILL");
	assert_int_equal(status_of(w, "t"), REC_BLOCKED);
	/* The blockers alone do not know of the belief. */
	applied_is(apply_kind(w, REC_CHECK_BLOCKERS, &belief), "t:REQUEUE+");
	events_are(w,
		   "{\"seq\":1,\"event\":\"RECONCILIATION_TASK_REQUEUED\",\"batch_id\":\"batch-1\",\"task_id\":\"t\","
		   "\"action\":\"REQUEUE\",\"reason\":\"all blockers resolved\",\"source\":\"blockers\","
		   "\"current_status\":\"BLOCKED\",\"blockers_total\":1,\"blockers_open\":0,\"blockers_new\":1}\n");
	all_verified(w, 1);
	rec_belief_release(&belief);
}

static void test_apply__of_tasks_alone_never_looks_at_blockers(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	applied_is(apply_kind(w, REC_CHECK_TASKS, NULL), "t:NONE");
	assert_int_equal(status_of(w, "t"), REC_BLOCKED);
}

static void test_apply__a_duplicated_id_is_applied_at_its_first_result(void **state)
{
	struct world *w = *state;
	struct applied a;
	add_answered(w, "t", "k");
	const struct rec_slice ids[] = {S("t"), S("gone"), S("t")};
	ok(w, rec_apply(w->store, REC_CHECK_MERGED, ids, 3, NULL, (struct rec_slice){NULL, 0}, &a.results, &a.flags,
			&w->error));
	applied_is(a, "t:REQUEUE+ gone:NONE t:REQUEUE");
	assert_int_equal(event_count(w), 1);
}

static void test_apply__nothing_to_requeue_opens_no_group(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	w->begin_result = REC_E_BUSY;
	applied_is(apply(w), "t:NONE");
}

static void test_apply__parents_roll_up_with_an_event_each(void **state)
{
	struct world *w = *state;
	add(w, "grandparent", REC_BLOCKED);
	add_child(w, "parent", REC_BLOCKED, "grandparent");
	add_child(w, "t", REC_BLOCKED, "parent");
	ask(w, "k", "t");
	answer(w, "k");
	assert_int_equal(status_of(w, "parent"), REC_BLOCKED);
	applied_is(apply(w), "grandparent:NONE parent:NONE t:REQUEUE+");
	assert_int_equal(status_of(w, "parent"), REC_READY);
	assert_int_equal(status_of(w, "grandparent"), REC_READY);
	events_are(w,
		   "{\"seq\":1,\"event\":\"RECONCILIATION_TASK_REQUEUED\",\"batch_id\":\"batch-1\",\"task_id\":\"t\","
		   "\"action\":\"REQUEUE\",\"reason\":\"all blockers resolved\",\"source\":\"blockers\","
		   "\"current_status\":\"BLOCKED\",\"believed\":\"-\",\"blockers_total\":1,\"blockers_open\":0,"
		   "\"blockers_new\":1}\n"
		   "{\"seq\":2,\"event\":\"TASK_STATUS_CHANGED\",\"batch_id\":\"batch-1\",\"task_id\":\"parent\","
		   "\"source\":\"rollup\",\"current_status\":\"BLOCKED\",\"detail\":\"READY\"}\n"
		   "{\"seq\":3,\"event\":\"TASK_STATUS_CHANGED\",\"batch_id\":\"batch-1\",\"task_id\":\"grandparent\","
		   "\"source\":\"rollup\",\"current_status\":\"BLOCKED\",\"detail\":\"READY\"}\n");
	all_verified(w, 1);
}

static void test_apply__a_roll_up_is_recorded_with_the_task_that_caused_it_and_once(void **state)
{
	struct world *w = *state;
	add(w, "p1", REC_BLOCKED);
	add(w, "p2", REC_BLOCKED);
	add_child(w, "t1", REC_BLOCKED, "p1");
	add_child(w, "t2", REC_BLOCKED, "p2");
	ask(w, "k1", "t1");
	ask(w, "k2", "t2");
	answer(w, "k1");
	answer(w, "k2");
	applied_is(apply(w), "p1:NONE p2:NONE t1:REQUEUE+ t2:REQUEUE+");
	assert_int_equal(event_count(w), 4);
}

/* ---- Holds ---- */

/* Answered, requeued, run, and blocked again. */
static void run_into_block_again(struct world *w, const char *id, const char *blocker)
{
	add_answered(w, id, blocker);
	struct applied a = apply(w);
	applied_release(&a);
	finish(w, claim(w, id), REC_BLOCKED);
	assert_int_equal(status_of(w, id), REC_BLOCKED);
}

static void test_hold__blocked_again_without_a_new_answer_is_held_and_check_stays_literal(void **state)
{
	struct world *w = *state;
	struct rec_results literal;
	run_into_block_again(w, "t", "k1");
	ok(w, rec_check(w->store, REC_CHECK_MERGED, NULL, 0, NULL, &literal, &w->error));
	assert_int_equal(literal.verdicts[0].action, REC_REQUEUE);
	rec_results_release(&literal);
	struct applied a = apply(w);
	struct rec_verdict v = a.results.verdicts[0];
	assert_int_equal(v.action, REC_NONE);
	assert_int_equal(v.reason, REC_REASON_NO_NEW_ANSWER);
	assert_int_equal(v.source, REC_SOURCE_BLOCKERS);
	assert_int_equal(v.external, REC_STATUS_ABSENT);
	assert_true(v.discrepancy);
	assert_int_equal(a.results.counts[REC_NONE], 1);
	assert_int_equal(a.results.counts[REC_REQUEUE], 0);
	assert_int_equal(a.results.calls, 0);
	applied_is(a, "t:NONE");
	assert_int_equal(status_of(w, "t"), REC_BLOCKED);
	assert_int_equal(event_count(w), 1);
}

static void test_hold__ends_with_a_new_answer(void **state)
{
	struct world *w = *state;
	run_into_block_again(w, "t", "k1");
	ask(w, "k2", "t");
	applied_is(apply(w), "t:NONE");
	answer(w, "k2");
	applied_is(apply(w), "t:REQUEUE+");
	assert_int_equal(status_of(w, "t"), REC_READY);
	all_verified(w, 2);
}

static void test_hold__also_where_the_batch_believes_it_ready(void **state)
{
	struct world *w = *state;
	struct rec_belief belief;
	run_into_block_again(w, "t", "k1");
	rec_belief_init(&belief, NULL, 1);
	ok(w, rec_belief_set(&belief, S("t"), REC_READY, NULL, NULL));
	struct applied a = apply_kind(w, REC_CHECK_MERGED, &belief);
	assert_int_equal(a.results.verdicts[0].reason, REC_REASON_NO_NEW_ANSWER);
	applied_is(a, "t:NONE");
	rec_belief_release(&belief);
}

static void test_hold__the_event_after_it_names_the_attempt_and_only_the_new_answer(void **state)
{
	struct world *w = *state;
	run_into_block_again(w, "t", "k1");
	ask(w, "k2", "t");
	answer(w, "k2");
	applied_is(apply(w), "t:REQUEUE+");
	events_are(w,
		   "{\"seq\":1,\"event\":\"RECONCILIATION_TASK_REQUEUED\",\"batch_id\":\"batch-1\",\"task_id\":\"t\","
		   "\"action\":\"REQUEUE\",\"reason\":\"all blockers resolved\",\"source\":\"blockers\","
		   "\"current_status\":\"BLOCKED\",\"believed\":\"-\",\"blockers_total\":1,\"blockers_open\":0,"
		   "\"blockers_new\":1}\n"
		   "{\"seq\":2,\"event\":\"RECONCILIATION_TASK_REQUEUED\",\"batch_id\":\"batch-1\",\"task_id\":\"t\","
		   "\"attempt\":1,\"action\":\"REQUEUE\",\"reason\":\"all blockers resolved\",\"source\":\"blockers\","
		   "\"current_status\":\"BLOCKED\",\"believed\":\"-\",\"blockers_total\":2,\"blockers_open\":0,"
		   "\"blockers_new\":1}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_apply__released_task_becomes_ready_with_one_event),
		world_test(test_apply__is_idempotent),
		world_test(test_apply__one_open_blocker_holds),
		world_test(test_apply__skip_kill_and_requeue_of_a_ready_task_write_nothing),
		world_test(test_apply__a_running_belief_comes_before_released_blockers),
		world_test(test_apply__of_tasks_alone_never_looks_at_blockers),
		world_test(test_apply__a_duplicated_id_is_applied_at_its_first_result),
		world_test(test_apply__nothing_to_requeue_opens_no_group),
		world_test(test_apply__parents_roll_up_with_an_event_each),
		world_test(test_hold__blocked_again_without_a_new_answer_is_held_and_check_stays_literal),
		world_test(test_hold__ends_with_a_new_answer),
		world_test(test_hold__also_where_the_batch_believes_it_ready),
		world_test(test_hold__the_event_after_it_names_the_attempt_and_only_the_new_answer),
		world_test(test_apply__a_roll_up_is_recorded_with_the_task_that_caused_it_and_once),
	};
	return cmocka_run_group_tests_name("engine/apply", tests, NULL, NULL);
}
