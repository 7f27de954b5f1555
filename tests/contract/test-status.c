/* test-status.c - compare-and-set of a task's status. */
#include "contract.h"

static void test_set_status__writes_when_it_is_as_expected(void **state)
{
	struct contract *c = *state;
	enum rec_status now = REC_MERGED;
	contract_add(c, "t", REC_READY);
	rec_clock_manual_advance(&c->clock, 2000000);
	expect(c, 0, rec_store_set_status(c->store, S("t"), REC_READY, REC_IN_PROGRESS, &now, NULL, NULL, &c->error));
	assert_int_equal(now, REC_MERGED); /* untouched */
	struct rec_task back = contract_get(c, "t");
	assert_int_equal(back.status, REC_IN_PROGRESS);
	assert_slice(back.status_text, "IN_PROGRESS");
	assert_slice(back.created_at, "2026-01-01T00:00:00.000000+00:00");
	assert_slice(back.updated_at, "2026-01-01T00:00:02.000000+00:00");
}

static void test_set_status__every_pair_is_written(void **state)
{
	struct contract *c = *state;
	for (unsigned from = 0; from < REC_STATUS_COUNT; from++)
		for (unsigned to = 0; to < REC_STATUS_COUNT; to++) {
			contract_add(c, "t", from);
			contract_set(c, "t", from, to);
			assert_int_equal(contract_status(c, "t"), to);
			expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
		}
}

static void test_set_status__conflict_tells_the_present_one_and_writes_nothing(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_DONE);
	rec_clock_manual_advance(&c->clock, 2000000);
	for (unsigned from = 0; from < REC_STATUS_COUNT; from++) {
		enum rec_status now = REC_STATUS_ABSENT;
		if (from == REC_DONE)
			continue;
		expect(c, REC_CONFLICT,
		       rec_store_set_status(c->store, S("t"), from, REC_READY, &now, NULL, NULL, &c->error));
		assert_int_equal(now, REC_DONE);
		expect(c, REC_CONFLICT,
		       rec_store_set_status(c->store, S("t"), from, from, &now, NULL, NULL, &c->error));
		assert_int_equal(now, REC_DONE);
	}
	expect(c, REC_CONFLICT,
	       rec_store_set_status(c->store, S("t"), REC_STATUS_UNRECOGNISED, REC_READY, NULL, NULL, NULL, &c->error));
	assert_slice(contract_get(c, "t").updated_at, "2026-01-01T00:00:00.000000+00:00");
}

static void test_set_status__to_the_same_writes_nothing(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_add(c, "t", REC_READY);
	contract_catch_up(c->store, &cursor);
	rec_clock_manual_advance(&c->clock, 2000000);
	expect(c, 0, rec_store_set_status(c->store, S("t"), REC_READY, REC_READY, NULL, NULL, NULL, &c->error));
	assert_slice(contract_get(c, "t").updated_at, "2026-01-01T00:00:00.000000+00:00");
	assert_int_equal(contract_changes(c->store, &cursor, NULL, 0), 0);
}

static void test_set_status__missing_task_is_not_found(void **state)
{
	struct contract *c = *state;
	enum rec_status now = REC_MERGED;
	expect(c, REC_NOT_FOUND,
	       rec_store_set_status(c->store, S("t"), REC_READY, REC_DONE, &now, NULL, NULL, &c->error));
	expect(c, REC_NOT_FOUND,
	       rec_store_set_status(c->store, S("t"), REC_READY, REC_READY, &now, NULL, NULL, &c->error));
	assert_int_equal(now, REC_MERGED);
}

static void test_set_status__impossible_statuses_are_refused(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	static const enum rec_status bad[] = {REC_STATUS_ABSENT, REC_STATUS_UNRECOGNISED, (enum rec_status)99,
					      (enum rec_status) - 1};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		expect(c, REC_E_INVALID,
		       rec_store_set_status(c->store, S("t"), REC_READY, bad[i], NULL, NULL, NULL, &c->error));
	expect(c, REC_E_INVALID,
	       rec_store_set_status(c->store, S("t"), REC_STATUS_ABSENT, REC_DONE, NULL, NULL, NULL, &c->error));
	assert_int_equal(contract_status(c, "t"), REC_READY);
}

static void test_set_status__of_two_handles_with_the_same_expectation_one_wins(void **state)
{
	struct contract *c = *state;
	enum rec_status now = REC_STATUS_ABSENT;
	contract_add(c, "t", REC_READY);
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	expect(c, 0, rec_store_set_status(second, S("t"), REC_READY, REC_IN_PROGRESS, NULL, NULL, NULL, &c->error));
	expect(c, REC_CONFLICT,
	       rec_store_set_status(c->store, S("t"), REC_READY, REC_BACKLOG, &now, NULL, NULL, &c->error));
	assert_int_equal(now, REC_IN_PROGRESS);
	assert_int_equal(contract_status(c, "t"), REC_IN_PROGRESS);
}

/* Rows with a status that is none of the seven, written by another program. */
static void test_set_status__unrecognised_matches_any_foreign_value(void **state)
{
	struct contract *c = *state;
	static const char *const foreign[] = {"ready", "WAITING", "", " READY", "READY\n"};
	if (!contract_backend.foreign_status)
		skip();
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		enum rec_status now = REC_STATUS_ABSENT;
		contract_add(c, "t", REC_READY);
		contract_backend.foreign_status(c->place, "t", foreign[i]);
		assert_int_equal(contract_status(c, "t"), REC_STATUS_UNRECOGNISED);
		expect(c, REC_CONFLICT,
		       rec_store_set_status(c->store, S("t"), REC_READY, REC_DONE, &now, NULL, NULL, &c->error));
		assert_int_equal(now, REC_STATUS_UNRECOGNISED);
		expect(c, 0,
		       rec_store_set_status(c->store, S("t"), REC_STATUS_UNRECOGNISED, REC_READY, NULL, NULL, NULL,
					    &c->error));
		assert_int_equal(contract_status(c, "t"), REC_READY);
		expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	}
}

static const struct CMUnitTest tests[] = {
	contract_test(test_set_status__writes_when_it_is_as_expected),
	contract_test(test_set_status__every_pair_is_written),
	contract_test(test_set_status__conflict_tells_the_present_one_and_writes_nothing),
	contract_test(test_set_status__to_the_same_writes_nothing),
	contract_test(test_set_status__missing_task_is_not_found),
	contract_test(test_set_status__impossible_statuses_are_refused),
	contract_test(test_set_status__of_two_handles_with_the_same_expectation_one_wins),
	contract_test(test_set_status__unrecognised_matches_any_foreign_value),
};
contract_run(status, tests)
