/* test-gc.c - pruning: only what is old goes, and nothing that decisions rest on. */
#include "contract.h"

static int count_event(void *context, const struct rec_event *event)
{
	(void)event;
	++*(size_t *)context;
	return 0;
}

static size_t events(struct contract *c)
{
	size_t count = 0;
	expect(c, 0, rec_store_events(c->store, 0, 0, count_event, &count, &c->error));
	return count;
}

static void say(struct contract *c)
{
	struct rec_event event = {.event = S("X")};
	expect(c, 0, rec_store_event_add(c->store, &event, &c->error));
}

static struct rec_gc collect(struct contract *c, int64_t older_than_us, bool dry_run)
{
	struct rec_gc gc = {older_than_us, dry_run, 77, 77, 77};
	expect(c, 0, rec_store_gc(c->store, &gc, &c->error));
	return gc;
}

static void test_gc__empty_store_has_nothing_to_prune(void **state)
{
	struct contract *c = *state;
	struct rec_gc gc = collect(c, INT64_MAX, false);
	assert_int_equal(gc.changes + gc.events + gc.attempts, 0);
}

static void test_gc__prunes_what_is_older_and_keeps_the_rest(void **state)
{
	struct contract *c = *state;
	say(c);
	say(c);
	rec_clock_manual_advance(&c->clock, 1000000);
	int64_t limit = c->clock.now_wall_us;
	say(c); /* exactly at the limit: not older */
	rec_clock_manual_advance(&c->clock, 1000000);
	say(c);
	struct rec_gc gc = collect(c, limit, true);
	assert_int_equal(gc.events, 2);
	assert_int_equal(events(c), 4);
	gc = collect(c, limit, false);
	assert_int_equal(gc.events, 2);
	assert_int_equal(events(c), 2);
	assert_int_equal(collect(c, limit, false).events, 0);
	assert_int_equal(collect(c, INT64_MIN, false).events, 0);
}

static void test_gc__numbers_of_events_are_not_used_again(void **state)
{
	struct contract *c = *state;
	say(c);
	say(c);
	collect(c, INT64_MAX, false);
	assert_int_equal(events(c), 0);
	say(c);
	size_t count = 0;
	expect(c, 0, rec_store_events(c->store, 2, 0, count_event, &count, &c->error));
	assert_int_equal(count, 1);
}

static void test_gc__keeps_the_last_attempt_of_each_task(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_add_blocker(c, "k", "t");
	contract_answer(c, "k");
	for (int i = 0; i < 3; i++)
		contract_finish(c, contract_claim(c, "t"), REC_READY);
	rec_clock_manual_advance(&c->clock, 1000000);
	struct rec_gc gc = collect(c, c->clock.now_wall_us, true);
	assert_int_equal(gc.attempts, 2);
	gc = collect(c, c->clock.now_wall_us, false);
	assert_int_equal(gc.attempts, 2);
	assert_int_equal(contract_fact(c, "t").attempt, 3);
	assert_int_equal(contract_fact(c, "t").blockers_new, 0);
	contract_claim(c, "t");
	assert_int_equal(contract_fact(c, "t").attempt, 4);
}

static void test_gc__what_ended_at_the_limit_is_not_older(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	for (int i = 0; i < 3; i++) {
		contract_finish(c, contract_claim(c, "t"), REC_READY);
		rec_clock_manual_advance(&c->clock, 1);
	}
	int64_t second = c->clock.now_wall_us - 2;
	assert_int_equal(collect(c, second, false).attempts, 1);
	assert_int_equal(collect(c, second, false).attempts, 0);
	assert_int_equal(collect(c, second + 1, false).attempts, 1);
}

static void test_gc__attempts_of_a_deleted_task_went_with_it(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_finish(c, contract_claim(c, "t"), REC_READY);
	contract_finish(c, contract_claim(c, "t"), REC_READY);
	expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	rec_clock_manual_advance(&c->clock, 1000000);
	assert_int_equal(collect(c, c->clock.now_wall_us, false).attempts, 0);
}

static void test_gc__touches_no_task_blocker_or_claim(void **state)
{
	struct contract *c = *state;
	struct rec_buffer before, after;
	contract_add(c, "p", REC_READY);
	contract_add_child(c, "t", REC_READY, "p");
	contract_add_blocker(c, "k", "t");
	contract_finish(c, contract_claim(c, "t"), REC_READY);
	contract_claim(c, "t");
	rec_clock_manual_advance(&c->clock, 1000000);
	contract_dump(c->store, &before);
	collect(c, INT64_MAX, false);
	contract_dump(c->store, &after);
	assert_same_dump(&before, &after);
	rec_buffer_release(&before);
	rec_buffer_release(&after);
}

static void test_gc__rolled_back_pruned_nothing(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_catch_up(c->store, &cursor);
	contract_add(c, "t", REC_READY);
	say(c);
	rec_clock_manual_advance(&c->clock, 1000000);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	assert_int_equal(collect(c, INT64_MAX, false).events, 1);
	rec_store_rollback(c->store);
	assert_int_equal(events(c), 1);
	assert_true(contract_changes(c->store, &cursor, NULL, 0) >= 1);
}

static const struct CMUnitTest tests[] = {
	contract_test(test_gc__empty_store_has_nothing_to_prune),
	contract_test(test_gc__prunes_what_is_older_and_keeps_the_rest),
	contract_test(test_gc__numbers_of_events_are_not_used_again),
	contract_test(test_gc__keeps_the_last_attempt_of_each_task),
	contract_test(test_gc__what_ended_at_the_limit_is_not_older),
	contract_test(test_gc__attempts_of_a_deleted_task_went_with_it),
	contract_test(test_gc__touches_no_task_blocker_or_claim),
	contract_test(test_gc__rolled_back_pruned_nothing),
};
contract_run(gc, tests)
