/* test-claims.c - the durable right to run one attempt. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

struct claims {
	char text[512];
	struct rec_claim last;
	size_t count;
};

static int collect(void *context, const struct rec_claim *claim)
{
	struct claims *all = context;
	size_t used = strlen(all->text);
	snprintf(all->text + used, sizeof all->text - used, "%.*s#%u ", (int)claim->task_id.length, claim->task_id.data,
		 claim->attempt);
	all->count++;
	return 0;
}

static void assert_claims(struct contract *c, const char *wanted)
{
	struct claims all = {.text = ""};
	expect(c, 0, rec_store_claims(c->store, collect, &all, &c->error));
	assert_string_equal(all.text, wanted);
}

static int collect_id(void *context, struct rec_slice id)
{
	char *text = context;
	size_t used = strlen(text);
	snprintf(text + used, 256 - used, "%.*s ", (int)id.length, id.data);
	return 0;
}

static void assert_runs(struct contract *c, const char *wanted)
{
	char text[256] = "";
	expect(c, 0, rec_store_running_runs(c->store, collect_id, text, &c->error));
	assert_string_equal(text, contract_backend.has_runs ? wanted : "");
}

static void test_claim__takes_a_ready_task(void **state)
{
	struct contract *c = *state;
	enum rec_status now = REC_MERGED;
	contract_add(c, "t", REC_READY);
	struct rec_claim claim = {.task_id = S("t"), .owner = S("host:1")};
	expect(c, 0, rec_store_claim(c->store, &claim, &now, &c->error));
	assert_true(claim.claim_id > 0);
	assert_int_equal(claim.attempt, 1);
	assert_int_equal(now, REC_MERGED);
	struct rec_task task = contract_get(c, "t");
	assert_int_equal(task.status, REC_IN_PROGRESS);
	assert_int_equal(task.attempt, 1);
	assert_true(task.claimed);
	assert_claims(c, "t#1 ");
	assert_runs(c, "t ");
}

static int assert_full(void *context, const struct rec_claim *claim)
{
	int *count = context;
	assert_slice(claim->task_id, "t");
	assert_slice(claim->batch_id, *count ? NULL : "batch-1");
	assert_slice(claim->owner, *count ? "" : "host:42:boot");
	assert_slice(claim->claimed_at,
		     *count ? "2026-01-01T00:00:00.000000+00:00" : "2026-01-02T00:00:00.000000+00:00");
	assert_int_equal(claim->child_owns_run, *count == 0);
	return 0;
}

static void test_claim__every_field_comes_back(void **state)
{
	struct contract *c = *state;
	int count = 0;
	contract_add(c, "t", REC_READY);
	struct rec_claim claim = {.task_id = S("t"),
				  .batch_id = S("batch-1"),
				  .owner = S("host:42:boot"),
				  .claimed_at = S("2026-01-02T00:00:00.000000+00:00"),
				  .child_owns_run = true};
	expect(c, 0, rec_store_claim(c->store, &claim, NULL, &c->error));
	expect(c, 0, rec_store_claims(c->store, assert_full, &count, &c->error));
	assert_runs(c, "");
	expect(c, 0, rec_store_release(c->store, claim.claim_id, &c->error));
	claim = (struct rec_claim){.task_id = S("t"), .owner = S("")};
	count = 1;
	expect(c, 0, rec_store_claim(c->store, &claim, NULL, &c->error));
	expect(c, 0, rec_store_claims(c->store, assert_full, &count, &c->error));
}

static void test_claim__of_what_is_not_ready_conflicts(void **state)
{
	struct contract *c = *state;
	for (unsigned status = 0; status < REC_STATUS_COUNT; status++) {
		enum rec_status now = REC_STATUS_ABSENT;
		struct rec_claim claim = {.task_id = S("t")};
		contract_add(c, "t", status);
		if (status != REC_READY) {
			expect(c, REC_CONFLICT, rec_store_claim(c->store, &claim, &now, &c->error));
			assert_int_equal(now, status);
			assert_int_equal(claim.claim_id, 0);
			assert_int_equal(contract_status(c, "t"), status);
			assert_int_equal(contract_fact(c, "t").attempt, 0);
		}
		expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	}
	assert_claims(c, "");
	assert_runs(c, "");
}

static void test_claim__missing_and_impossible_tasks(void **state)
{
	struct contract *c = *state;
	struct rec_claim claim = {.task_id = S("t")};
	expect(c, REC_NOT_FOUND, rec_store_claim(c->store, &claim, NULL, &c->error));
	claim.task_id = S("");
	expect(c, REC_E_INVALID, rec_store_claim(c->store, &claim, NULL, &c->error));
	claim.task_id = S("t");
	claim.owner = S("\xff");
	expect(c, REC_E_INVALID, rec_store_claim(c->store, &claim, NULL, &c->error));
	assert_int_equal(claim.claim_id, 0);
}

static void test_claim__of_two_handles_one_wins(void **state)
{
	struct contract *c = *state;
	enum rec_status now = REC_STATUS_ABSENT;
	struct rec_claim claim = {.task_id = S("t"), .owner = S("other")};
	contract_add(c, "t", REC_READY);
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	int64_t first = contract_claim(c, "t");
	expect(c, REC_CONFLICT, rec_store_claim(second, &claim, &now, &c->error));
	assert_int_equal(now, REC_IN_PROGRESS);
	assert_claims(c, "t#1 ");
	contract_finish(c, first, REC_READY);
	expect(c, 0, rec_store_claim(second, &claim, &now, &c->error));
	assert_int_equal(claim.attempt, 2);
	assert_claims(c, "t#2 ");
}

static void test_claim__of_a_ready_task_under_a_living_claim_exists_and_writes_nothing(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	struct rec_claim claim = {.task_id = S("t")};
	contract_add(c, "t", REC_READY);
	int64_t first = contract_claim(c, "t");
	contract_set(c, "t", REC_IN_PROGRESS, REC_READY); /* a person sets it READY under our child */
	contract_catch_up(c->store, &cursor);
	expect(c, REC_EXISTS, rec_store_claim(c->store, &claim, NULL, &c->error));
	assert_int_equal(contract_status(c, "t"), REC_READY);
	assert_int_equal(contract_changes(c->store, &cursor, NULL, 0), 0);
	contract_finish(c, first, REC_DONE);
	assert_int_equal(contract_status(c, "t"), REC_READY); /* what was set outside stands */
	expect(c, 0, rec_store_claim(c->store, &claim, NULL, &c->error));
	assert_int_equal(claim.attempt, 2);
}

/* ---- Finish ---- */

static void test_finish__records_the_end_and_the_status(void **state)
{
	struct contract *c = *state;
	static const enum rec_status ends[] = {REC_DONE, REC_FAILED, REC_BLOCKED, REC_READY, REC_MERGED, REC_BACKLOG};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		enum rec_status after = REC_STATUS_ABSENT;
		contract_add(c, "t", REC_READY);
		struct rec_finish finish = {.claim_id = contract_claim(c, "t"),
					    .to = ends[i],
					    .outcome = S("some outcome"),
					    .has_exit_code = true,
					    .exit_code = 3,
					    .has_exit_signal = true,
					    .exit_signal = 9,
					    .survivors = 2};
		expect(c, 0, rec_store_finish(c->store, &finish, &after, &c->error));
		assert_int_equal(after, ends[i]);
		assert_int_equal(contract_status(c, "t"), ends[i]);
		assert_false(contract_fact(c, "t").claimed);
		assert_int_equal(contract_fact(c, "t").attempt, 1);
		assert_claims(c, "");
		assert_runs(c, "");
		expect(c, REC_NOT_FOUND, rec_store_finish(c->store, &finish, &after, &c->error));
		expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	}
}

static void test_finish__leaves_what_others_wrote(void **state)
{
	struct contract *c = *state;
	for (unsigned outside = 0; outside < REC_STATUS_COUNT; outside++) {
		enum rec_status after = REC_STATUS_ABSENT;
		if (outside == REC_IN_PROGRESS)
			continue;
		contract_add(c, "t", REC_READY);
		struct rec_finish finish = {.claim_id = contract_claim(c, "t"), .to = REC_FAILED, .outcome = S("x")};
		contract_set(c, "t", REC_IN_PROGRESS, outside);
		expect(c, 0, rec_store_finish(c->store, &finish, &after, &c->error));
		assert_int_equal(after, outside);
		assert_int_equal(contract_status(c, "t"), outside);
		assert_claims(c, "");
		assert_runs(c, "");
		expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	}
}

static void test_finish__without_a_status_leaves_it(void **state)
{
	struct contract *c = *state;
	enum rec_status after = REC_STATUS_ABSENT;
	contract_add(c, "t", REC_READY);
	struct rec_finish finish = {.claim_id = contract_claim(c, "t"), .to = REC_STATUS_ABSENT, .outcome = S("lost")};
	expect(c, 0, rec_store_finish(c->store, &finish, &after, &c->error));
	assert_int_equal(after, REC_IN_PROGRESS);
	assert_claims(c, "");
	assert_runs(c, "");
	finish.claim_id = 4711;
	expect(c, REC_NOT_FOUND, rec_store_finish(c->store, &finish, NULL, &c->error));
	finish.to = REC_STATUS_UNRECOGNISED;
	expect(c, REC_E_INVALID, rec_store_finish(c->store, &finish, NULL, &c->error));
}

static void test_finish__unknown_claims_are_not_found(void **state)
{
	struct contract *c = *state;
	static const int64_t ids[] = {0, -1, 1, INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct rec_finish finish = {.claim_id = ids[i], .to = REC_DONE, .outcome = S("done")};
		expect(c, REC_NOT_FOUND, rec_store_finish(c->store, &finish, NULL, &c->error));
		expect(c, REC_NOT_FOUND, rec_store_release(c->store, ids[i], &c->error));
	}
}

static void test_finish__of_a_task_deleted_outside_still_ends_the_claim(void **state)
{
	struct contract *c = *state;
	enum rec_status after = REC_READY;
	if (!contract_backend.foreign_delete)
		skip();
	contract_add(c, "t", REC_READY);
	contract_add(c, "u", REC_READY);
	struct rec_finish finish = {.claim_id = contract_claim(c, "t"), .to = REC_DONE, .outcome = S("done")};
	int64_t other = contract_claim(c, "u");
	contract_backend.foreign_delete(c->place, "t");
	contract_backend.foreign_delete(c->place, "u");
	expect(c, 0, rec_store_finish(c->store, &finish, &after, &c->error));
	assert_int_equal(after, REC_STATUS_ABSENT);
	expect(c, 0, rec_store_release(c->store, other, &c->error));
	assert_claims(c, "");
}

/* ---- Release and numbering ---- */

static void test_release__puts_everything_back(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	int64_t first = contract_claim(c, "t");
	expect(c, 0, rec_store_release(c->store, first, &c->error));
	assert_int_equal(contract_status(c, "t"), REC_READY);
	assert_int_equal(contract_fact(c, "t").attempt, 0);
	assert_false(contract_fact(c, "t").claimed);
	assert_claims(c, "");
	assert_runs(c, "");
	expect(c, REC_NOT_FOUND, rec_store_release(c->store, first, &c->error));
	int64_t second = contract_claim(c, "t");
	assert_true(second != first); /* a claim's id is never used again, its number is */
	assert_claims(c, "t#1 ");
}

static void test_release__leaves_what_others_wrote(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	int64_t claim = contract_claim(c, "t");
	contract_set(c, "t", REC_IN_PROGRESS, REC_DONE);
	expect(c, 0, rec_store_release(c->store, claim, &c->error));
	assert_int_equal(contract_status(c, "t"), REC_DONE);
}

/* ---- Taking over ---- */

static int collect_owner(void *context, const struct rec_claim *claim)
{
	char *text = context;
	size_t used = strlen(text);
	bool owned = claim->owner.data != NULL;
	snprintf(text + used, 256 - used, "%.*s:%.*s#%u ", (int)claim->task_id.length, claim->task_id.data,
		 owned ? (int)claim->owner.length : 1, owned ? claim->owner.data : "-", claim->attempt);
	return 0;
}

static void assert_owners(struct contract *c, struct rec_store *store, const char *wanted)
{
	char text[256] = "";
	expect(c, 0, rec_store_claims(store, collect_owner, text, &c->error));
	assert_string_equal(text, wanted);
}

static int64_t claim_of(struct contract *c, const char *task, struct rec_slice owner)
{
	struct rec_claim claim = {.task_id = S(task), .batch_id = S("batch"), .owner = owner, .child_owns_run = true};
	contract_add(c, task, REC_READY);
	expect(c, 0, rec_store_claim(c->store, &claim, NULL, &c->error));
	return claim.claim_id;
}

static void test_claim_take__changes_the_owner_and_nothing_else(void **state)
{
	struct contract *c = *state;
	int64_t claim = claim_of(c, "t", S("dead")), other = claim_of(c, "u", S("dead"));
	expect(c, 0, rec_store_claim_take(c->store, claim, S("dead"), S("heir"), &c->error));
	assert_owners(c, c->store, "t:heir#1 u:dead#1 ");
	assert_int_equal(contract_status(c, "t"), REC_IN_PROGRESS);
	assert_true(contract_get(c, "t").claimed);
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	assert_owners(c, second, "t:heir#1 u:dead#1 ");
	expect(c, 0,
	       rec_store_finish(second, &(struct rec_finish){.claim_id = claim, .to = REC_DONE}, NULL, &c->error));
	expect(c, 0, rec_store_release(second, other, &c->error));
	assert_owners(c, c->store, "");
}

static void test_claim_take__of_two_one_wins(void **state)
{
	struct contract *c = *state;
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	int64_t claim = claim_of(c, "t", S("dead"));
	expect(c, 0, rec_store_claim_take(second, claim, S("dead"), S("first"), &c->error));
	expect(c, REC_CONFLICT, rec_store_claim_take(c->store, claim, S("dead"), S("second"), &c->error));
	assert_owners(c, c->store, "t:first#1 ");
	expect(c, 0, rec_store_claim_take(c->store, claim, S("first"), S("first"), &c->error));
}

static void test_claim_take__of_none_and_from_nobody(void **state)
{
	struct contract *c = *state;
	const struct rec_slice none = {0};
	expect(c, REC_NOT_FOUND, rec_store_claim_take(c->store, 1, S("dead"), S("heir"), &c->error));
	expect(c, REC_NOT_FOUND, rec_store_claim_take(c->store, -1, S("dead"), S("heir"), &c->error));
	int64_t nobodys = claim_of(c, "t", none), unnamed = claim_of(c, "u", S(""));
	expect(c, REC_CONFLICT, rec_store_claim_take(c->store, nobodys, S(""), S("heir"), &c->error));
	expect(c, REC_CONFLICT, rec_store_claim_take(c->store, unnamed, none, S("heir"), &c->error));
	expect(c, 0, rec_store_claim_take(c->store, nobodys, none, S("heir"), &c->error));
	expect(c, 0, rec_store_claim_take(c->store, unnamed, S(""), S("heir"), &c->error));
	assert_owners(c, c->store, "t:heir#1 u:heir#1 ");
	expect(c, REC_E_INVALID, rec_store_claim_take(c->store, unnamed, S("heir"), none, &c->error));
	expect(c, REC_E_INVALID, rec_store_claim_take(c->store, unnamed, S("heir"), S("\xff"), &c->error));
	expect(c, 0, rec_store_release(c->store, nobodys, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_claim_take(c->store, nobodys, S("heir"), S("late"), &c->error));
}

static void test_claim_take__is_taken_back_with_its_group(void **state)
{
	struct contract *c = *state;
	int64_t claim = claim_of(c, "t", S("dead"));
	expect(c, 0, rec_store_begin(c->store, &c->error));
	expect(c, 0, rec_store_claim_take(c->store, claim, S("dead"), S("heir"), &c->error));
	expect(c, REC_CONFLICT, rec_store_claim_take(c->store, claim, S("dead"), S("late"), &c->error));
	assert_owners(c, c->store, "t:heir#1 ");
	rec_store_rollback(c->store);
	assert_owners(c, c->store, "t:dead#1 ");
}

static void test_attempts__are_numbered_from_one_without_gaps(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_add(c, "u", REC_READY);
	for (unsigned number = 1; number <= 4; number++) {
		struct rec_claim claim = {.task_id = S("t")};
		expect(c, 0, rec_store_claim(c->store, &claim, NULL, &c->error));
		assert_int_equal(claim.attempt, number);
		expect(c, 0, rec_store_release(c->store, claim.claim_id, &c->error));
		assert_int_equal(contract_fact(c, "t").attempt, number - 1);
		expect(c, 0, rec_store_claim(c->store, &claim, NULL, &c->error));
		assert_int_equal(claim.attempt, number);
		contract_finish(c, claim.claim_id, REC_READY);
	}
	contract_claim(c, "u");
	assert_claims(c, "u#1 ");
}

static void test_claims__are_listed_oldest_first(void **state)
{
	struct contract *c = *state;
	contract_add(c, "b", REC_READY);
	contract_add(c, "a", REC_READY);
	contract_add(c, "c", REC_READY);
	contract_claim(c, "b");
	int64_t middle = contract_claim(c, "a");
	contract_claim(c, "c");
	assert_claims(c, "b#1 a#1 c#1 ");
	contract_finish(c, middle, REC_READY);
	contract_claim(c, "a");
	assert_claims(c, "b#1 c#1 a#2 ");
}

static void test_claims__ids_are_unique_for_ever(void **state)
{
	struct contract *c = *state;
	int64_t last = 0;
	for (int i = 0; i < 5; i++) {
		contract_add(c, "t", REC_READY);
		int64_t claim = contract_claim(c, "t");
		assert_true(claim > last);
		last = claim;
		contract_finish(c, claim, REC_DONE);
		expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
		struct rec_gc gc = {.older_than_us = INT64_MAX};
		expect(c, 0, rec_store_gc(c->store, &gc, &c->error));
	}
}

static void test_batch_belief__of_an_unknown_batch_is_not_found(void **state)
{
	struct contract *c = *state;
	expect(c, REC_NOT_FOUND, rec_store_batch_belief(c->store, S("b"), NULL, NULL, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_batch_belief(c->store, S(""), NULL, NULL, &c->error));
}

/* ---- Leases ---- */

#define HOUR_US INT64_C(3600000000)

static bool has_leases(struct contract *c)
{
	int64_t left;
	return rec_store_lease(c->store, S("nobody"), &left, &c->error) != REC_E_UNSUPPORTED;
}

static int collect_lease(void *context, const struct rec_claim *claim)
{
	*(int64_t *)context = claim->lease_left_us;
	return 0;
}

static int64_t lease_of_claim(struct contract *c)
{
	int64_t left = 0;
	expect(c, 0, rec_store_claims(c->store, collect_lease, &left, &c->error));
	return left;
}

static void test_leases__last_from_the_renewal_by_the_stores_clock(void **state)
{
	struct contract *c = *state;
	int64_t left = 0;
	if (!has_leases(c))
		skip();
	expect(c, REC_NOT_FOUND, rec_store_lease(c->store, S("host:1"), &left, &c->error));
	expect(c, 0, rec_store_renew(c->store, S("host:1"), HOUR_US, &c->error));
	expect(c, 0, rec_store_lease(c->store, S("host:1"), &left, &c->error));
	assert_true(left > HOUR_US / 2 && left <= HOUR_US);
	expect(c, 0, rec_store_renew(c->store, S("host:1"), 0, &c->error));
	rec_clock_manual_advance(&c->clock, 1); /* for a store whose clock is this one */
	expect(c, 0, rec_store_lease(c->store, S("host:1"), &left, &c->error));
	assert_true(left <= 0);
	expect(c, REC_NOT_FOUND, rec_store_lease(c->store, S("host:2"), &left, &c->error));
}

static void test_leases__are_told_with_the_claims_of_their_owner(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_claim(c, "t"); /* owner host:1 */
	if (!has_leases(c)) {
		assert_true(lease_of_claim(c) == INT64_MAX);
		return;
	}
	assert_true(lease_of_claim(c) == INT64_MIN);
	expect(c, 0, rec_store_renew(c->store, S("host:1"), HOUR_US, &c->error));
	assert_true(lease_of_claim(c) > HOUR_US / 2 && lease_of_claim(c) <= HOUR_US);
}

static void test_leases__of_the_new_owner_count_once_a_claim_was_taken(void **state)
{
	struct contract *c = *state;
	if (!has_leases(c))
		skip();
	int64_t claim = claim_of(c, "t", S("dead"));
	expect(c, 0, rec_store_renew(c->store, S("dead"), 0, &c->error));
	expect(c, 0, rec_store_renew(c->store, S("heir"), HOUR_US, &c->error));
	rec_clock_manual_advance(&c->clock, 1);
	assert_true(lease_of_claim(c) <= 0);
	expect(c, 0, rec_store_claim_take(c->store, claim, S("dead"), S("heir"), &c->error));
	assert_true(lease_of_claim(c) > HOUR_US / 2);
}

static void test_leases__are_renewed_while_somebody_else_writes(void **state)
{
	struct contract *c = *state;
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	if (!has_leases(c))
		skip();
	expect(c, 0, rec_store_begin(second, &c->error));
	int r = rec_store_renew(c->store, S("host:1"), HOUR_US, &c->error);
	assert_true(r == 0 || (r == REC_E_BUSY && !contract_backend.processes));
	rec_store_rollback(second);
	expect(c, 0, rec_store_renew(c->store, S("host:1"), HOUR_US, &c->error));
}

static void test_leases__are_no_part_of_a_group(void **state)
{
	struct contract *c = *state;
	int64_t left;
	if (!has_leases(c))
		skip();
	expect(c, 0, rec_store_begin(c->store, &c->error));
	expect(c, REC_E_BUG, rec_store_renew(c->store, S("host:1"), HOUR_US, &c->error));
	rec_store_rollback(c->store);
	expect(c, REC_E_INVALID, rec_store_renew(c->store, S(""), HOUR_US, &c->error));
	expect(c, REC_E_INVALID, rec_store_renew(c->store, S("host:1"), -1, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_lease(c->store, S("host:1"), &left, &c->error));
}

static const struct CMUnitTest tests[] = {
	contract_test(test_leases__last_from_the_renewal_by_the_stores_clock),
	contract_test(test_leases__are_told_with_the_claims_of_their_owner),
	contract_test(test_leases__are_renewed_while_somebody_else_writes),
	contract_test(test_leases__are_no_part_of_a_group),
	contract_test(test_claim__takes_a_ready_task),
	contract_test(test_claim__every_field_comes_back),
	contract_test(test_claim__of_what_is_not_ready_conflicts),
	contract_test(test_claim__missing_and_impossible_tasks),
	contract_test(test_claim__of_two_handles_one_wins),
	contract_test(test_claim__of_a_ready_task_under_a_living_claim_exists_and_writes_nothing),
	contract_test(test_finish__records_the_end_and_the_status),
	contract_test(test_finish__leaves_what_others_wrote),
	contract_test(test_finish__without_a_status_leaves_it),
	contract_test(test_finish__unknown_claims_are_not_found),
	contract_test(test_finish__of_a_task_deleted_outside_still_ends_the_claim),
	contract_test(test_release__puts_everything_back),
	contract_test(test_release__leaves_what_others_wrote),
	contract_test(test_claim_take__changes_the_owner_and_nothing_else),
	contract_test(test_claim_take__of_two_one_wins),
	contract_test(test_claim_take__of_none_and_from_nobody),
	contract_test(test_claim_take__is_taken_back_with_its_group),
	contract_test(test_leases__of_the_new_owner_count_once_a_claim_was_taken),
	contract_test(test_attempts__are_numbered_from_one_without_gaps),
	contract_test(test_claims__are_listed_oldest_first),
	contract_test(test_claims__ids_are_unique_for_ever),
	contract_test(test_batch_belief__of_an_unknown_batch_is_not_found),
};
contract_run(claims, tests)
