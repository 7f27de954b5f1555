/* test-groups.c - several writes as one step: all or nothing, own writes visible, others kept out. */
#include "contract.h"

#include <string.h>

static enum rec_status status_by(struct contract *c, struct rec_store *s, const char *id)
{
	struct rec_snapshot snapshot;
	struct rec_slice ids[] = {S(id)};
	expect(c, 0, rec_store_snapshot(s, ids, 1, 0, &snapshot, &c->error));
	enum rec_status status = snapshot.facts[0].status;
	rec_snapshot_release(&snapshot);
	return status;
}

static void test_group__commit_keeps_everything(void **state)
{
	struct contract *c = *state;
	assert_false(rec_store_in_group(c->store));
	expect(c, 0, rec_store_begin(c->store, &c->error));
	assert_true(rec_store_in_group(c->store));
	contract_add(c, "a", REC_READY);
	contract_add_blocker(c, "k", "a");
	contract_set(c, "a", REC_READY, REC_BLOCKED);
	expect(c, 0, rec_store_commit(c->store, &c->error));
	assert_false(rec_store_in_group(c->store));
	assert_int_equal(contract_status(c, "a"), REC_BLOCKED);
	assert_int_equal(contract_fact(c, "a").blockers_open, 1);
}

static void test_group__rollback_keeps_nothing(void **state)
{
	struct contract *c = *state;
	struct rec_buffer before, after;
	contract_add(c, "p", REC_READY);
	contract_add_child(c, "a", REC_READY, "p");
	contract_add(c, "b", REC_READY);
	contract_add_blocker(c, "k", "a");
	contract_dump(c->store, &before);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add_child(c, "new", REC_READY, "b");
	contract_add_blocker(c, "k2", "new");
	contract_answer(c, "k");
	int64_t claim = contract_claim(c, "a");
	contract_finish(c, claim, REC_DONE);
	struct rec_task edit = {.id = S("b"), .title = S("changed"), .parent_id = S("p"), .external_url = S("u")};
	expect(c, 0,
	       rec_store_edit(c->store, &edit, REC_EDIT_TITLE | REC_EDIT_PARENT | REC_EDIT_EXTERNAL_URL, &c->error));
	expect(c, 0, rec_store_delete(c->store, S("a"), &c->error));
	struct rec_event event = {.event = S("TEST"), .task_id = S("a")};
	expect(c, 0, rec_store_event_add(c->store, &event, &c->error));
	rec_store_rollback(c->store);
	assert_false(rec_store_in_group(c->store));
	contract_dump(c->store, &after);
	assert_same_dump(&before, &after);
	rec_buffer_release(&before);
	rec_buffer_release(&after);
	/* What was given up is free again. */
	contract_add(c, "new", REC_READY);
	edit.id = S("new");
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_EXTERNAL_URL, &c->error));
	assert_int_equal(contract_claim(c, "a") > 0, 1);
	assert_int_equal(contract_fact(c, "a").attempt, 1);
}

static void test_group__rollback_without_a_group_is_harmless(void **state)
{
	struct contract *c = *state;
	rec_store_rollback(c->store);
	contract_add(c, "a", REC_READY);
	rec_store_rollback(c->store);
	assert_int_equal(contract_status(c, "a"), REC_READY);
}

static void test_group__reads_see_its_own_writes(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	contract_add(c, "b", REC_READY);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_set(c, "a", REC_READY, REC_DONE);
	contract_add(c, "c", REC_BACKLOG);
	expect(c, 0, rec_store_delete(c->store, S("b"), &c->error));
	assert_int_equal(contract_status(c, "a"), REC_DONE);
	assert_int_equal(contract_status(c, "b"), REC_STATUS_ABSENT);
	assert_int_equal(contract_get(c, "c").status, REC_BACKLOG);
	struct rec_snapshot all;
	expect(c, 0, rec_store_snapshot(c->store, NULL, 0, 0, &all, &c->error));
	assert_int_equal(all.count, 2);
	assert_slice(all.ids[0], "a");
	assert_slice(all.ids[1], "c");
	rec_snapshot_release(&all);
	expect(c, 0, rec_store_commit(c->store, &c->error));
}

static void test_group__same_id_can_go_and_come_again_inside(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_DONE);
	contract_add_blocker(c, "k", "a");
	for (int round = 0; round < 2; round++) {
		expect(c, 0, rec_store_begin(c->store, &c->error));
		expect(c, 0, rec_store_delete(c->store, S("a"), &c->error));
		contract_add(c, "a", REC_READY);
		contract_add(c, "b", REC_READY);
		contract_add_blocker(c, "k", "b");
		if (round == 0)
			rec_store_rollback(c->store);
		else
			expect(c, 0, rec_store_commit(c->store, &c->error));
		assert_int_equal(contract_status(c, "a"), round ? REC_READY : REC_DONE);
		assert_int_equal(contract_fact(c, "a").blockers_total, round ? 0 : 1);
	}
	assert_int_equal(contract_fact(c, "b").blockers_total, 1);
}

static void test_group__others_see_the_committed_state_until_it_ends(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_set(c, "a", REC_READY, REC_DONE);
	contract_add(c, "b", REC_READY);
	assert_int_equal(status_by(c, second, "a"), REC_READY);
	assert_int_equal(status_by(c, second, "b"), REC_STATUS_ABSENT);
	expect(c, 0, rec_store_commit(c->store, &c->error));
	assert_int_equal(status_by(c, second, "a"), REC_DONE);
	assert_int_equal(status_by(c, second, "b"), REC_READY);
}

static void test_group__others_that_write_are_told_busy_and_can_write_afterwards(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	expect(c, REC_E_BUSY, rec_store_begin(second, &c->error));
	assert_false(rec_store_in_group(second));
	expect(c, REC_E_BUSY, rec_store_set_status(second, S("a"), REC_READY, REC_DONE, NULL, NULL, NULL, &c->error));
	rec_store_rollback(c->store);
	expect(c, 0, rec_store_set_status(second, S("a"), REC_READY, REC_DONE, NULL, NULL, NULL, &c->error));
	assert_int_equal(contract_status(c, "a"), REC_DONE);
}

static void test_group__what_was_read_inside_stays_so_until_commit(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	/* The second handle read long ago; its group must begin from the newest state, not from that. */
	assert_int_equal(status_by(c, second, "a"), REC_READY);
	contract_set(c, "a", REC_READY, REC_IN_PROGRESS);
	expect(c, 0, rec_store_begin(second, &c->error));
	assert_int_equal(status_by(c, second, "a"), REC_IN_PROGRESS);
	expect(c, REC_E_BUSY,
	       rec_store_set_status(c->store, S("a"), REC_IN_PROGRESS, REC_DONE, NULL, NULL, NULL, &c->error));
	expect(c, 0, rec_store_set_status(second, S("a"), REC_IN_PROGRESS, REC_FAILED, NULL, NULL, NULL, &c->error));
	expect(c, 0, rec_store_commit(second, &c->error));
	assert_int_equal(contract_status(c, "a"), REC_FAILED);
}

static void test_group__does_not_nest(void **state)
{
	struct contract *c = *state;
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add(c, "a", REC_READY);
	expect(c, REC_E_BUG, rec_store_begin(c->store, &c->error));
	expect(c, REC_E_BUG, rec_store_commit(c->store, &c->error));
	assert_int_equal(contract_status(c, "a"), REC_STATUS_ABSENT);
	expect(c, REC_E_BUG, rec_store_commit(c->store, &c->error));
	contract_add(c, "a", REC_READY);
}

static void test_group__positive_outcomes_leave_it_usable(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	struct rec_task again = contract_task("a", REC_READY);
	struct rec_claim claim = {.task_id = S("missing")};
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add(c, "b", REC_READY);
	expect(c, REC_EXISTS, rec_store_create(c->store, &again, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_delete(c->store, S("missing"), &c->error));
	expect(c, REC_NOT_FOUND, rec_store_claim(c->store, &claim, NULL, &c->error));
	expect(c, REC_CONFLICT,
	       rec_store_set_status(c->store, S("b"), REC_DONE, REC_READY, NULL, NULL, NULL, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_release(c->store, 1, &c->error));
	contract_add(c, "c", REC_READY);
	expect(c, 0, rec_store_commit(c->store, &c->error));
	assert_int_equal(contract_status(c, "b"), REC_READY);
	assert_int_equal(contract_status(c, "c"), REC_READY);
}

static void test_group__after_a_negative_result_only_its_end_is_possible(void **state)
{
	struct contract *c = *state;
	struct rec_task bad = contract_task("b", REC_READY);
	bad.title = S("\xff");
	struct rec_snapshot snapshot;
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add(c, "a", REC_READY);
	expect(c, REC_E_INVALID, rec_store_create(c->store, &bad, &c->error));
	assert_true(rec_store_in_group(c->store));
	bad.title = S("good now");
	expect(c, REC_E_INVALID, rec_store_create(c->store, &bad, &c->error));
	assert_non_null(strstr(c->error.message, "title"));
	expect(c, REC_E_INVALID, rec_store_snapshot(c->store, NULL, 0, 0, &snapshot, &c->error));
	expect(c, REC_E_INVALID, rec_store_commit(c->store, &c->error));
	assert_non_null(strstr(c->error.message, "title"));
	assert_false(rec_store_in_group(c->store));
	assert_int_equal(contract_status(c, "a"), REC_STATUS_ABSENT);
	/* The next group knows nothing of it. */
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add(c, "a", REC_READY);
	expect(c, 0, rec_store_commit(c->store, &c->error));
}

static void test_group__a_failed_one_does_not_keep_others_out(void **state)
{
	struct contract *c = *state;
	contract_add(c, "a", REC_READY);
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_set(c, "a", REC_READY, REC_BACKLOG);
	expect(c, REC_E_INVALID, rec_store_delete(c->store, S(""), &c->error));
	expect(c, 0, rec_store_set_status(second, S("a"), REC_READY, REC_DONE, NULL, NULL, NULL, &c->error));
	rec_store_rollback(c->store); /* must not touch what the second wrote */
	assert_int_equal(contract_status(c, "a"), REC_DONE);
}

static void test_group__commit_without_one_is_a_bug(void **state)
{
	struct contract *c = *state;
	expect(c, REC_E_BUG, rec_store_commit(c->store, &c->error));
}

static void test_group__open_at_close_is_rolled_back(void **state)
{
	struct contract *c = *state;
	struct rec_store *second = NULL;
	expect(c, 0, contract_backend.open(c->place, &c->options, &second, &c->error));
	expect(c, 0, rec_store_begin(second, &c->error));
	struct rec_task task = contract_task("a", REC_READY);
	expect(c, 0, rec_store_create(second, &task, &c->error));
	assert_null(rec_store_close(second));
	assert_int_equal(contract_status(c, "a"), REC_STATUS_ABSENT);
	contract_add(c, "a", REC_READY);
}

static void test_group__empty_one_commits(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_catch_up(c->store, &cursor);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	expect(c, 0, rec_store_commit(c->store, &c->error));
	assert_int_equal(contract_changes(c->store, &cursor, NULL, 0), 0);
}

/* ---- Waiting for the disk ---- */

static uint64_t group_operations(struct contract *c, const char *id)
{
	if (contract_backend.set_io_failure)
		contract_backend.set_io_failure(c->place, 0, false);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add(c, id, REC_READY);
	expect(c, 0, rec_store_commit(c->store, &c->error));
	return contract_backend.set_io_failure ? contract_backend.set_io_failure(c->place, 0, false) : 0;
}

static void test_sync__apart_is_seen_by_others_before_it(void **state)
{
	struct contract *c = *state;
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	group_operations(c, "before");
	assert_false(rec_store_unsynced(c->store));
	expect(c, 0, rec_store_sync(c->store, &c->error));
	uint64_t with = group_operations(c, "with");
	expect(c, 0, rec_store_sync_apart(c->store, &c->error));
	expect(c, 0, rec_store_sync_apart(c->store, &c->error));
	uint64_t without = group_operations(c, "without");
	assert_int_equal(status_by(c, second, "without"), REC_READY);
	if (rec_store_unsynced(c->store) && contract_backend.set_io_failure)
		assert_true(without < with);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	if (rec_store_unsynced(c->store))
		expect(c, REC_E_BUG, rec_store_sync(c->store, &c->error));
	rec_store_rollback(c->store);
	expect(c, 0, rec_store_sync(c->store, &c->error));
	assert_false(rec_store_unsynced(c->store));
	contract_set(c, "without", REC_READY, REC_DONE); /* a write alone, too */
	expect(c, 0, rec_store_sync(c->store, &c->error));
	assert_int_equal(status_by(c, second, "without"), REC_DONE);
}

static void test_sync__that_fails_leaves_it_unsynced_and_can_be_tried_again(void **state)
{
	struct contract *c = *state;
	expect(c, 0, rec_store_sync_apart(c->store, &c->error));
	group_operations(c, "a");
	if (!rec_store_unsynced(c->store) || !contract_backend.set_io_failure)
		skip();
	contract_backend.set_io_failure(c->place, 1, false);
	expect(c, REC_E_IO, rec_store_sync(c->store, &c->error));
	assert_true(c->error.message[0]);
	assert_true(rec_store_unsynced(c->store));
	assert_int_equal(contract_status(c, "a"), REC_READY);
	contract_backend.set_io_failure(c->place, 0, false);
	expect(c, 0, rec_store_sync(c->store, &c->error));
	assert_false(rec_store_unsynced(c->store));
}

static const struct CMUnitTest tests[] = {
	contract_test(test_group__commit_keeps_everything),
	contract_test(test_group__rollback_keeps_nothing),
	contract_test(test_group__rollback_without_a_group_is_harmless),
	contract_test(test_group__reads_see_its_own_writes),
	contract_test(test_group__same_id_can_go_and_come_again_inside),
	contract_test(test_group__others_see_the_committed_state_until_it_ends),
	contract_test(test_group__others_that_write_are_told_busy_and_can_write_afterwards),
	contract_test(test_group__what_was_read_inside_stays_so_until_commit),
	contract_test(test_group__does_not_nest),
	contract_test(test_group__positive_outcomes_leave_it_usable),
	contract_test(test_group__after_a_negative_result_only_its_end_is_possible),
	contract_test(test_group__a_failed_one_does_not_keep_others_out),
	contract_test(test_group__commit_without_one_is_a_bug),
	contract_test(test_group__open_at_close_is_rolled_back),
	contract_test(test_group__empty_one_commits),
	contract_test(test_sync__apart_is_seen_by_others_before_it),
	contract_test(test_sync__that_fails_leaves_it_unsynced_and_can_be_tried_again),
};
contract_run(groups, tests)
