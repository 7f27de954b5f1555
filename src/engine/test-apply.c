/* apply: what is written, what is not, and what happens when the world moves in between. */
#include "engine/test-world.h"

#include "engine/apply.h"

/* ---- Helpers ---- */

struct applied {
	struct rec_results results;
	bool *flags;
};

static int try_apply(struct world *w, enum rec_check_kind kind, const struct rec_belief *belief, struct applied *a)
{
	return rec_apply(w->store, kind, NULL, 0, belief, S("batch-1"), &a->results, &a->flags, &w->error);
}

static struct applied apply_kind(struct world *w, enum rec_check_kind kind, const struct rec_belief *belief)
{
	struct applied a;
	ok(w, try_apply(w, kind, belief, &a));
	return a;
}

static struct applied apply(struct world *w)
{
	return apply_kind(w, REC_CHECK_MERGED, NULL);
}

static void applied_release(struct applied *a)
{
	rec_free(a->results.snapshot.allocator, a->flags);
	rec_results_release(&a->results);
}

/* "id:ACTION(+ if applied) ..." */
static void applied_is(struct applied a, const char *wanted)
{
	char shown[512];
	size_t used = 0;
	shown[0] = '\0';
	for (size_t i = 0; i < a.results.snapshot.count; i++) {
		struct rec_result_view view;
		rec_results_view(&a.results, i, &view);
		used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%.*s:%s%s", i ? " " : "",
					 (int)view.task_id.length, view.task_id.data, view.action,
					 a.flags[i] ? "+" : "");
	}
	assert_string_equal(shown, wanted);
	applied_release(&a);
}

static int event_show(void *context, const struct rec_event *event)
{
	return rec_event_write_json(context, event) || rec_buffer_add_text(context, "\n");
}

/* The whole log as JSON lines, without times. */
static void events_are(struct world *w, const char *wanted)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	rec_buffer_add_text(&out, "");
	ok(w, rec_store_events(w->outside, 0, 0, event_show, &out, &w->error));
	for (char *time; (time = strstr(out.data, "\"time\":\""));) {
		char *end = strchr(time + 8, '"') + 2;
		memmove(time, end, strlen(end) + 1);
	}
	assert_string_equal(out.data, wanted);
	rec_buffer_release(&out);
}

static int event_count_one(void *context, const struct rec_event *event)
{
	(void)event;
	++*(unsigned *)context;
	return 0;
}

static unsigned event_count(struct world *w)
{
	unsigned count = 0;
	ok(w, rec_store_events(w->outside, 0, 0, event_count_one, &count, &w->error));
	return count;
}

static void all_verified(struct world *w, uint64_t decisions)
{
	uint64_t checked, different;
	ok(w, rec_events_verify(w->outside, NULL, NULL, &checked, &different, &w->error));
	assert_int_equal(checked, decisions);
	assert_int_equal(different, 0);
}

static void add_answered(struct world *w, const char *id, const char *blocker)
{
	add(w, id, REC_BLOCKED);
	ask(w, blocker, id);
	answer(w, blocker);
}

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

/* ---- The world in between ---- */

static void one_more_question(struct world *w)
{
	ask(w, "k2", "t");
}

static void finished(struct world *w)
{
	set(w, "t", REC_DONE);
}

static void already_requeued(struct world *w)
{
	set(w, "t", REC_READY);
}

static void deleted(struct world *w)
{
	ok(w, rec_store_delete(w->outside, S("t"), &w->error));
}

static void ran_and_blocked_again(struct world *w)
{
	set(w, "t", REC_READY);
	finish(w, claim(w, "t"), REC_BLOCKED);
}

static void test_apply__what_changed_in_between_is_not_written(void **state)
{
	static const struct {
		void (*happens)(struct world *w);
		enum rec_status then;
	} all[] = {
		{one_more_question, REC_BLOCKED},     {finished, REC_DONE},
		{already_requeued, REC_READY},        {deleted, REC_STATUS_ABSENT},
		{ran_and_blocked_again, REC_BLOCKED},
	};
	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct world *w = world_new();
		add_answered(w, "t", "k");
		w->before_begin = all[i].happens;
		applied_is(apply(w), "t:REQUEUE");
		assert_int_equal(status_of(w, "t"), all[i].then);
		assert_int_equal(event_count(w), 0);
		world_free(w);
	}
}

static void another_answer(struct world *w)
{
	ask(w, "k2", "t");
	answer(w, "k2");
}

static void test_apply__the_event_records_what_the_write_rested_on(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	w->before_begin = another_answer;
	applied_is(apply(w), "t:REQUEUE+");
	events_are(w,
		   "{\"seq\":1,\"event\":\"RECONCILIATION_TASK_REQUEUED\",\"batch_id\":\"batch-1\",\"task_id\":\"t\","
		   "\"action\":\"REQUEUE\",\"reason\":\"all blockers resolved\",\"source\":\"blockers\","
		   "\"current_status\":\"BLOCKED\",\"believed\":\"-\",\"blockers_total\":2,\"blockers_open\":0,"
		   "\"blockers_new\":2}\n");
}

static void test_apply__a_parent_that_the_roll_up_moved_loses_its_own_requeue(void **state)
{
	struct world *w = *state;
	add_answered(w, "b-parent", "k1");
	add_child(w, "a-child", REC_BLOCKED, "b-parent");
	ask(w, "k2", "a-child");
	answer(w, "k2");
	set(w, "b-parent", REC_BLOCKED);
	applied_is(apply(w), "a-child:REQUEUE+ b-parent:REQUEUE");
	assert_int_equal(status_of(w, "b-parent"), REC_READY);
	assert_int_equal(event_count(w), 2); /* the requeue and the roll-up */
}

/* ---- Failures ---- */

static void apply_fails(struct world *w, int code)
{
	struct applied a, before;
	memset(&a, 0x5a, sizeof a);
	before = a;
	assert_int_equal(try_apply(w, REC_CHECK_MERGED, NULL, &a), code);
	assert_int_equal(w->error.code, code);
	assert_memory_equal(&a, &before, sizeof a);
}

static void test_apply__a_busy_store_is_reported_and_nothing_is_written(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	w->begin_result = REC_E_BUSY;
	apply_fails(w, REC_E_BUSY);
	assert_int_equal(status_of(w, "t"), REC_BLOCKED);
	w->begin_result = 0;
	applied_is(apply(w), "t:REQUEUE+");
}

static void test_apply__another_writer_in_the_way_is_busy(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	ok(w, rec_store_begin(w->outside, &w->error));
	apply_fails(w, REC_E_BUSY);
	rec_store_rollback(w->outside);
	applied_is(apply(w), "t:REQUEUE+");
}

static void test_apply__a_commit_that_fails_leaves_nothing(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	w->commit_result = REC_E_FULL;
	apply_fails(w, REC_E_FULL);
	assert_int_equal(status_of(w, "t"), REC_BLOCKED);
	assert_int_equal(event_count(w), 0);
	w->commit_result = 0;
	applied_is(apply(w), "t:REQUEUE+");
}

static void snapshot_fails(struct world *w)
{
	w->snapshot_result = REC_E_IO;
}

static void test_apply__a_second_look_that_fails_leaves_nothing(void **state)
{
	struct world *w = *state;
	add_answered(w, "t", "k");
	w->before_begin = snapshot_fails;
	apply_fails(w, REC_E_IO);
	assert_int_equal(status_of(w, "t"), REC_BLOCKED);
	w->snapshot_result = 0;
	applied_is(apply(w), "t:REQUEUE+");
}

#define MANY 1500u

static void add_many(struct world *w)
{
	char id[16], blocker[16];
	ok(w, rec_store_begin(w->outside, &w->error));
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(id, sizeof id, "t%04u", i);
		snprintf(blocker, sizeof blocker, "k%04u", i);
		add_answered(w, id, blocker);
	}
	ok(w, rec_store_commit(w->outside, &w->error));
}

static unsigned count_ready(struct world *w)
{
	struct rec_snapshot all;
	unsigned ready = 0;
	ok(w, rec_store_snapshot(w->outside, NULL, 0, 0, &all, &w->error));
	for (size_t i = 0; i < all.count; i++)
		ready += all.facts[i].status == REC_READY;
	rec_snapshot_release(&all);
	return ready;
}

static void test_apply__many_tasks_are_written_in_groups(void **state)
{
	struct world *w = *state;
	add_many(w);
	struct applied a = apply(w);
	for (unsigned i = 0; i < MANY; i++)
		assert_true(a.flags[i]);
	applied_release(&a);
	assert_int_equal(count_ready(w), MANY);
	assert_int_equal(w->snapshots, 3); /* the check, two groups */
	all_verified(w, MANY);
}

static void second_begin_is_busy(struct world *w)
{
	w->begin_result = REC_E_BUSY;
}

static void first_begin(struct world *w)
{
	w->before_begin = second_begin_is_busy;
}

static void test_apply__a_failing_group_keeps_the_earlier_ones_whole(void **state)
{
	struct world *w = *state;
	add_many(w);
	w->before_begin = first_begin;
	apply_fails(w, REC_E_BUSY);
	assert_int_equal(count_ready(w), 1000);
	all_verified(w, 1000);
	w->begin_result = 0;
	struct applied a = apply(w);
	applied_release(&a);
	assert_int_equal(count_ready(w), MANY);
	all_verified(w, MANY);
}

static void test_apply__every_failing_allocation_leaves_all_or_nothing(void **state)
{
	(void)state;
	int r = REC_E_NOMEM;
	uint64_t n = 0;
	while (r == REC_E_NOMEM) {
		struct world *w = world_new();
		struct applied a;
		add(w, "parent", REC_BLOCKED);
		add_child(w, "t", REC_BLOCKED, "parent");
		ask(w, "k", "t");
		answer(w, "k");
		n++;
		w->memory.fail_at = w->memory.calls + n;
		w->memory.persistent = n % 2 == 0;
		w->error.code = 0;
		r = try_apply(w, REC_CHECK_MERGED, NULL, &a);
		w->memory.fail_at = 0;
		assert_true(r == 0 || (r == REC_E_NOMEM && w->error.code == r));
		if (r == 0)
			applied_is(a, "parent:NONE t:REQUEUE+");
		assert_int_equal(status_of(w, "t"), r ? REC_BLOCKED : REC_READY);
		assert_int_equal(status_of(w, "parent"), r ? REC_BLOCKED : REC_READY);
		assert_int_equal(event_count(w), r ? 0 : 2);
		world_free(w);
	}
	assert_int_equal(r, 0);
	assert_true(n > 10);
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
		cmocka_unit_test(test_apply__what_changed_in_between_is_not_written),
		world_test(test_apply__the_event_records_what_the_write_rested_on),
		world_test(test_apply__a_parent_that_the_roll_up_moved_loses_its_own_requeue),
		world_test(test_apply__a_busy_store_is_reported_and_nothing_is_written),
		world_test(test_apply__another_writer_in_the_way_is_busy),
		world_test(test_apply__a_commit_that_fails_leaves_nothing),
		world_test(test_apply__a_second_look_that_fails_leaves_nothing),
		world_test(test_apply__many_tasks_are_written_in_groups),
		world_test(test_apply__a_failing_group_keeps_the_earlier_ones_whole),
		cmocka_unit_test(test_apply__every_failing_allocation_leaves_all_or_nothing),
	};
	return cmocka_run_group_tests_name("engine/apply", tests, NULL, NULL);
}
