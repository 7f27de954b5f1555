/* apply while the world moves, and when something fails: what changed in between is not written, and a failure
 * leaves whole steps only. */
#include "engine/test-applying.h"

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

static void one_of_the_second_group_is_finished(struct world *w)
{
	set(w, "t1200", REC_DONE);
}

static void before_the_second_group(struct world *w)
{
	w->before_begin = one_of_the_second_group_is_finished;
}

static void test_apply__each_group_tells_what_it_did_itself(void **state)
{
	struct world *w = *state;
	add_many(w);
	w->before_begin = before_the_second_group;
	struct applied a = apply(w);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(a.flags[i], i != 1200);
	applied_release(&a);
	all_verified(w, MANY - 1);
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
	w->begin_result = REC_E_BUSY;
	apply_fails(w, REC_E_BUSY);
	assert_int_equal(count_ready(w), 0);
	w->begin_result = 0;
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
		cmocka_unit_test(test_apply__what_changed_in_between_is_not_written),
		world_test(test_apply__the_event_records_what_the_write_rested_on),
		world_test(test_apply__a_parent_that_the_roll_up_moved_loses_its_own_requeue),
		world_test(test_apply__a_busy_store_is_reported_and_nothing_is_written),
		world_test(test_apply__another_writer_in_the_way_is_busy),
		world_test(test_apply__a_commit_that_fails_leaves_nothing),
		world_test(test_apply__a_second_look_that_fails_leaves_nothing),
		world_test(test_apply__many_tasks_are_written_in_groups),
		world_test(test_apply__each_group_tells_what_it_did_itself),
		world_test(test_apply__a_failing_group_keeps_the_earlier_ones_whole),
		cmocka_unit_test(test_apply__every_failing_allocation_leaves_all_or_nothing),
	};
	return cmocka_run_group_tests_name("engine/apply-race", tests, NULL, NULL);
}
