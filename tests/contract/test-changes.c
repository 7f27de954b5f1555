/* test-changes.c - the change feed: nothing missed, nothing told when nothing happened. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static int never(void *context, struct rec_slice id)
{
	(void)context;
	(void)id;
	fail_msg("told of %.*s, but nothing happened", (int)id.length, id.data);
	return 0;
}

static void assert_rescan(struct contract *c, struct rec_cursor *cursor)
{
	expect(c, REC_RESCAN, rec_store_changes(c->store, cursor, never, NULL, &c->error));
	expect(c, 0, rec_store_changes(c->store, cursor, never, NULL, &c->error));
}

/* Exactly these ids, in any order, however often. */
static void assert_told(struct contract *c, struct rec_cursor *cursor, const char *wanted)
{
	char ids[512], copy[512];
	contract_changes(c->store, cursor, ids, sizeof ids);
	snprintf(copy, sizeof copy, "%s", wanted);
	for (char *save, *id = strtok_r(copy, " ", &save); id; id = strtok_r(NULL, " ", &save)) {
		char padded[80], told[520];
		snprintf(padded, sizeof padded, " %s ", id);
		snprintf(told, sizeof told, " %s", ids);
		if (!strstr(told, padded))
			fail_msg("%s was not told, only: %s", id, ids);
	}
	snprintf(copy, sizeof copy, "%s", ids);
	for (char *save, *id = strtok_r(copy, " ", &save); id; id = strtok_r(NULL, " ", &save)) {
		char padded[80], all[520];
		snprintf(padded, sizeof padded, " %s ", id);
		snprintf(all, sizeof all, " %s ", wanted);
		if (!strstr(all, padded))
			fail_msg("%s was told, wanted only: %s", id, wanted);
	}
	expect(c, 0, rec_store_changes(c->store, cursor, never, NULL, &c->error));
}

static void test_changes__never_looked_is_a_rescan(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	assert_rescan(c, &cursor);
	contract_add(c, "t", REC_READY);
	cursor = (struct rec_cursor){0};
	assert_rescan(c, &cursor);
}

static void test_changes__own_writes_are_told(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	assert_rescan(c, &cursor);
	contract_add(c, "t", REC_READY);
	contract_add(c, "u", REC_READY);
	assert_told(c, &cursor, "t u");
	contract_set(c, "t", REC_READY, REC_BLOCKED);
	assert_told(c, &cursor, "t");
	contract_add_blocker(c, "k", "t");
	assert_told(c, &cursor, "t");
	contract_answer(c, "k");
	assert_told(c, &cursor, "t");
	expect(c, 0, rec_store_blocker_resolve(c->store, S("k"), &c->error));
	assert_told(c, &cursor, "t");
	struct rec_task edit = {.id = S("u"), .priority = 4};
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_PRIORITY, &c->error));
	assert_told(c, &cursor, "u");
	edit.depends_on = &(struct rec_slice){"t", 1};
	edit.depends_on_count = 1;
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_DEPENDS_ON, &c->error));
	assert_told(c, &cursor, "u");
	int64_t claim = contract_claim(c, "u");
	assert_told(c, &cursor, "u");
	contract_finish(c, claim, REC_DONE);
	assert_told(c, &cursor, "u");
	expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	assert_told(c, &cursor, "t");
}

static void test_changes__the_end_of_a_claim_is_told_though_the_status_stays(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_add(c, "t", REC_READY);
	int64_t claim = contract_claim(c, "t");
	contract_set(c, "t", REC_IN_PROGRESS, REC_DONE);
	contract_catch_up(c->store, &cursor);
	contract_finish(c, claim, REC_FAILED);
	assert_told(c, &cursor, "t");
}

static void test_changes__composite_mark_is_told(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_add(c, "p", REC_READY);
	contract_catch_up(c->store, &cursor);
	contract_add_child(c, "a", REC_READY, "p");
	assert_told(c, &cursor, "a p");
	expect(c, 0, rec_store_delete(c->store, S("a"), &c->error));
	assert_told(c, &cursor, "a p");
}

static void test_changes__writes_of_another_handle_are_told(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	contract_add(c, "t", REC_READY);
	contract_catch_up(c->store, &cursor);
	expect(c, 0, rec_store_set_status(second, S("t"), REC_READY, REC_DONE, NULL, NULL, NULL, &c->error));
	assert_told(c, &cursor, "t");
}

static void test_changes__two_consumers_each_see_all(void **state)
{
	struct contract *c = *state;
	struct rec_cursor fast = {0}, slow = {0};
	assert_rescan(c, &fast);
	assert_rescan(c, &slow);
	contract_add(c, "a", REC_READY);
	assert_told(c, &fast, "a");
	contract_add(c, "b", REC_READY);
	assert_told(c, &fast, "b");
	assert_told(c, &slow, "a b");
}

static void test_changes__what_was_rolled_back_is_not_told(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	assert_rescan(c, &cursor);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add(c, "gone", REC_READY);
	rec_store_rollback(c->store);
	expect(c, 0, rec_store_changes(c->store, &cursor, never, NULL, &c->error));
	/* And what comes after it is not mistaken for it. */
	contract_add(c, "t", REC_READY);
	assert_told(c, &cursor, "t");
}

static void test_changes__of_a_group_are_told_once_it_is_committed(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	contract_catch_up(second, &cursor);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add(c, "t", REC_READY);
	assert_int_equal(contract_changes(second, &cursor, NULL, 0), 0);
	expect(c, 0, rec_store_commit(c->store, &c->error));
	assert_true(contract_changes(second, &cursor, NULL, 0) >= 1);
}

static void test_changes__inside_a_group_are_refused(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0}, before;
	contract_catch_up(c->store, &cursor);
	before = cursor;
	expect(c, 0, rec_store_begin(c->store, &c->error));
	expect(c, REC_E_BUG, rec_store_changes(c->store, &cursor, never, NULL, &c->error));
	rec_store_rollback(c->store);
	assert_memory_equal(&before, &cursor, sizeof cursor);
}

static int end_with(void *context, struct rec_slice id)
{
	(void)id;
	return *(int *)context;
}

static void test_changes__ended_by_the_callback_are_told_again(void **state)
{
	struct contract *c = *state;
	static int results[] = {1, 42, REC_RESCAN, REC_END, -77};
	struct rec_cursor cursor = {0};
	assert_rescan(c, &cursor);
	contract_add(c, "a", REC_READY);
	contract_add(c, "b", REC_READY);
	for (size_t i = 0; i < sizeof results / sizeof *results; i++)
		assert_int_equal(rec_store_changes(c->store, &cursor, end_with, &results[i], &c->error), results[i]);
	assert_told(c, &cursor, "a b");
}

static void test_changes__writes_that_change_nothing_are_not_told(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_add(c, "t", REC_READY);
	contract_catch_up(c->store, &cursor);
	struct rec_task edit = {.id = S("t"), .priority = 0};
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_PRIORITY | REC_EDIT_DEPENDS_ON, &c->error));
	struct rec_event event = {.event = S("X"), .task_id = S("t")};
	expect(c, 0, rec_store_event_add(c->store, &event, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_delete(c->store, S("u"), &c->error));
	expect(c, 0, rec_store_mark_composite(c->store, S("t"), &c->error)); /* a leaf already */
	expect(c, REC_NOT_FOUND, rec_store_mark_composite(c->store, S("u"), &c->error));
	expect(c, 0, rec_store_changes(c->store, &cursor, never, NULL, &c->error));
}

static void test_changes__after_pruning_those_behind_must_rescan(void **state)
{
	struct contract *c = *state;
	struct rec_cursor behind = {0}, upright = {0};
	assert_rescan(c, &behind);
	contract_add(c, "a", REC_READY);
	contract_catch_up(c->store, &upright);
	rec_clock_manual_advance(&c->clock, 10000000);
	struct rec_gc gc = {.older_than_us = c->clock.now_wall_us, .dry_run = true};
	expect(c, 0, rec_store_gc(c->store, &gc, &c->error));
	assert_true(gc.changes >= 1);
	gc.dry_run = false;
	expect(c, 0, rec_store_gc(c->store, &gc, &c->error));
	assert_true(gc.changes >= 1);
	assert_rescan(c, &behind);
	expect(c, 0, rec_store_changes(c->store, &upright, never, NULL, &c->error));
	contract_add(c, "b", REC_READY);
	assert_told(c, &behind, "b");
	assert_told(c, &upright, "b");
}

static void test_changes__what_is_young_is_not_pruned(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_add(c, "before", REC_READY);
	rec_clock_manual_advance(&c->clock, 5000000);
	assert_rescan(c, &cursor);
	contract_add(c, "a", REC_READY);
	rec_clock_manual_advance(&c->clock, 5000000);
	contract_add(c, "b", REC_READY);
	struct rec_gc gc = {.older_than_us = c->clock.now_wall_us - INT64_C(3600000000)};
	expect(c, 0, rec_store_gc(c->store, &gc, &c->error));
	assert_int_equal(gc.changes, 0);
	assert_told(c, &cursor, "a b");
}

static int hear_of_b(void *context, struct rec_slice id)
{
	bool *heard = context;
	*heard = *heard || rec_slice_equal(id, S("b"));
	return 0;
}

/* A backend may prune in coarse steps and may ask for a snapshot too often, but nobody may miss what is new. */
static void test_changes__pruning_hides_nothing_that_is_new(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursors[2] = {{0}};
	assert_rescan(c, &cursors[0]);
	contract_add(c, "a", REC_READY);
	cursors[1] = cursors[0];
	contract_catch_up(c->store, &cursors[1]);
	rec_clock_manual_advance(&c->clock, 1000000);
	struct rec_gc gc = {.older_than_us = c->clock.now_wall_us};
	contract_add(c, "b", REC_READY); /* exactly at the limit */
	expect(c, 0, rec_store_gc(c->store, &gc, &c->error));
	for (size_t i = 0; i < 2; i++) {
		bool heard = false;
		int r = rec_store_changes(c->store, &cursors[i], hear_of_b, &heard, &c->error);
		assert_true(r == REC_RESCAN || (r == 0 && heard));
	}
}

static void test_changes__cursor_from_elsewhere_must_rescan(void **state)
{
	struct contract *c = *state;
	struct rec_store *other = contract_memory_store(c);
	struct rec_cursor cursor = {0}, ahead;
	contract_catch_up(other, &cursor);
	expect(c, REC_RESCAN, rec_store_changes(c->store, &cursor, never, NULL, &c->error));
	ahead = cursor;
	ahead.seq += 1000;
	assert_rescan(c, &ahead);
	contract_add(c, "t", REC_READY);
	assert_told(c, &cursor, "t");
}

static void test_changes__many_at_once_are_all_told(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	char id[16];
	assert_rescan(c, &cursor);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	for (int i = 0; i < 3000; i++) {
		snprintf(id, sizeof id, "t%d", i);
		contract_add(c, id, REC_READY);
	}
	expect(c, 0, rec_store_commit(c->store, &c->error));
	assert_true(contract_changes(c->store, &cursor, NULL, 0) >= 3000);
	assert_int_equal(contract_changes(c->store, &cursor, NULL, 0), 0);
}

struct in_group {
	unsigned count;
	bool foreign, own;
};

static int in_group_note(void *context, struct rec_slice id)
{
	struct in_group *told = context;
	told->count++;
	told->foreign = told->foreign || rec_slice_equal(id, S("foreign"));
	told->own = told->own || rec_slice_equal(id, S("own"));
	return 0;
}

static void test_changes__in_a_group_are_told_with_its_own_and_count_with_its_commit(void **state)
{
	struct contract *c = *state;
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	struct rec_cursor cursor = {0}, moved;
	assert_int_equal(rec_store_changes_in_group(c->store, &cursor, in_group_note, NULL, &c->error), REC_E_BUG);
	contract_add(c, "own", REC_READY);
	contract_add(c, "foreign", REC_READY);
	for (int round = 0; round < 2; round++) {
		struct in_group told = {0};
		contract_catch_up(c->store, &cursor);
		enum rec_status from = round ? REC_BACKLOG : REC_READY, to = round ? REC_READY : REC_BACKLOG;
		expect(c, 0, rec_store_set_status(second, S("foreign"), from, to, NULL, NULL, NULL, &c->error));
		expect(c, 0, rec_store_begin(c->store, &c->error));
		expect(c, 0,
		       rec_store_set_status(c->store, S("own"), REC_READY, REC_BACKLOG, NULL, NULL, NULL, &c->error));
		moved = cursor;
		int r = rec_store_changes_in_group(c->store, &moved, in_group_note, &told, &c->error);
		if (r == REC_RESCAN) { /* not in this kind of store */
			rec_store_rollback(c->store);
			return;
		}
		assert_int_equal(r, 0);
		assert_true(told.foreign && told.own);
		if (round == 0) { /* rolled back: as if it had not been asked */
			rec_store_rollback(c->store);
			assert_true(contract_changes(c->store, &cursor, NULL, 0) >= 1);
			continue;
		}
		expect(c, 0, rec_store_commit(c->store, &c->error));
		assert_int_equal(contract_changes(c->store, &moved, NULL, 0), 0);
		expect(c, 0,
		       rec_store_set_status(c->store, S("own"), REC_BACKLOG, REC_READY, NULL, NULL, NULL, &c->error));
		expect(c, 0,
		       rec_store_set_status(second, S("foreign"), REC_READY, REC_DONE, NULL, NULL, NULL, &c->error));
		assert_true(contract_changes(c->store, &moved, NULL, 0) >= 2);
	}
}

static void test_stamp__is_another_one_once_somebody_else_committed(void **state)
{
	struct contract *c = *state;
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	uint64_t before, after;
	expect(c, 0, rec_store_stamp(c->store, &before, &c->error));
	for (int i = 0; i < 3; i++) { /* what concerns no task counts too */
		expect(c, 0, rec_store_event_add(second, &(struct rec_event){.event = S("NOTE")}, &c->error));
		expect(c, 0, rec_store_stamp(c->store, &after, &c->error));
		assert_true(after != before);
		before = after;
	}
}

static void test_wake__descriptor_is_there_or_absent(void **state)
{
	struct contract *c = *state;
	int fd = -2;
	expect(c, 0, rec_store_wake_fd(c->store, &fd, &c->error));
	assert_true(fd >= -1);
	rec_store_wake_drain(c->store);
}

static const struct CMUnitTest tests[] = {
	contract_test(test_changes__never_looked_is_a_rescan),
	contract_test(test_changes__own_writes_are_told),
	contract_test(test_changes__the_end_of_a_claim_is_told_though_the_status_stays),
	contract_test(test_changes__composite_mark_is_told),
	contract_test(test_changes__writes_of_another_handle_are_told),
	contract_test(test_changes__two_consumers_each_see_all),
	contract_test(test_changes__what_was_rolled_back_is_not_told),
	contract_test(test_changes__of_a_group_are_told_once_it_is_committed),
	contract_test(test_changes__inside_a_group_are_refused),
	contract_test(test_changes__ended_by_the_callback_are_told_again),
	contract_test(test_changes__writes_that_change_nothing_are_not_told),
	contract_test(test_changes__after_pruning_those_behind_must_rescan),
	contract_test(test_changes__what_is_young_is_not_pruned),
	contract_test(test_changes__pruning_hides_nothing_that_is_new),
	contract_test(test_changes__cursor_from_elsewhere_must_rescan),
	contract_test(test_changes__many_at_once_are_all_told),
	contract_test(test_changes__in_a_group_are_told_with_its_own_and_count_with_its_commit),
	contract_test(test_stamp__is_another_one_once_somebody_else_committed),
	contract_test(test_wake__descriptor_is_there_or_absent),
};
contract_run(changes, tests)
