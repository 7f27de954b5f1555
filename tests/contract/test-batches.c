/* test-batches.c - batches, and what they durably know of their tasks. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static void batch_add(struct contract *c, const char *id)
{
	struct rec_batch batch = {.batch_id = S(id), .owner = S("host:1"), .options = S("{\"retry\":2}")};
	expect(c, 0, rec_store_batch_create(c->store, &batch, &c->error));
}

static struct rec_batch batch_of(struct contract *c, const char *id)
{
	struct rec_batch batch;
	expect(c, 0, rec_store_batch_get(c->store, S(id), &c->arena, &batch, &c->error));
	return batch;
}

static void set(struct contract *c, int wanted, const char *id, enum rec_batch_status from, enum rec_batch_status to)
{
	expect(c, wanted, rec_store_batch_set_status(c->store, S(id), from, to, NO_TEXT, NULL, &c->error));
}

static void put(struct contract *c, const char *batch, const char *id, int64_t position, const char *phase)
{
	struct rec_batch_task task = {.task_id = S(id), .position = position, .phase = S(phase), .believed = REC_READY};
	expect(c, 0, rec_store_batch_task_put(c->store, S(batch), &task, &c->error));
}

/* ---- The batch ---- */

static void test_batch__every_field_comes_back(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	struct rec_batch b = batch_of(c, "b");
	assert_slice(b.batch_id, "b");
	assert_slice(b.owner, "host:1");
	assert_slice(b.options, "{\"retry\":2}");
	assert_slice(b.started_at, "2026-01-01T00:00:00.000000+00:00");
	assert_null(b.ended_at.data);
	assert_int_equal(b.status, REC_BATCH_RUNNING);
	assert_int_equal(b.stop, REC_BATCH_GO_ON);
	assert_int_equal(b.skipped + b.killed + b.requeued + b.errors, 0);
}

static void test_batch__an_id_is_taken_once(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	struct rec_batch again = {.batch_id = S("b"), .owner = S("other")};
	expect(c, REC_EXISTS, rec_store_batch_create(c->store, &again, &c->error));
	assert_slice(batch_of(c, "b").owner, "host:1");
}

static void test_batch__what_is_missing_is_not_found(void **state)
{
	struct contract *c = *state;
	struct rec_batch batch = {.batch_id = S("nobody")};
	struct rec_batch_task task = {.task_id = S("t"), .phase = S("waiting"), .believed = REC_READY};
	expect(c, REC_NOT_FOUND, rec_store_batch_get(c->store, S("nobody"), &c->arena, &batch, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_batch_get(c->store, S(""), &c->arena, &batch, &c->error));
	set(c, REC_NOT_FOUND, "nobody", REC_BATCH_RUNNING, REC_BATCH_PARTIAL);
	expect(c, REC_NOT_FOUND, rec_store_batch_stop(c->store, S("nobody"), REC_BATCH_DRAIN, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_batch_count(c->store, &batch, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_batch_task_put(c->store, S("nobody"), &task, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_batch_tasks(c->store, S("nobody"), NULL, NULL, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_batch_belief(c->store, S("nobody"), NULL, NULL, &c->error));
}

static void test_batch__bad_input_is_refused(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	struct rec_batch bad_id = {.batch_id = S("a\nb")}, bad_text = {.batch_id = S("x"), .options = S("\xff")};
	struct rec_batch_task no_phase = {.task_id = S("t"), .believed = REC_READY};
	struct rec_batch_task bad_belief = {.task_id = S("t"), .phase = S("held"), .believed = REC_STATUS_UNRECOGNISED};
	expect(c, REC_E_INVALID, rec_store_batch_create(c->store, &bad_id, &c->error));
	expect(c, REC_E_INVALID, rec_store_batch_create(c->store, &bad_text, &c->error));
	expect(c, REC_E_INVALID, rec_store_batch_task_put(c->store, S("b"), &no_phase, &c->error));
	expect(c, REC_E_INVALID, rec_store_batch_task_put(c->store, S("b"), &bad_belief, &c->error));
}

static void test_batch__its_status_is_compared_and_set(void **state)
{
	struct contract *c = *state;
	enum rec_batch_status now = REC_BATCH_COMPLETED;
	batch_add(c, "b");
	rec_clock_manual_advance(&c->clock, 1000000);
	set(c, 0, "b", REC_BATCH_RUNNING, REC_BATCH_CANCELLED);
	assert_slice(batch_of(c, "b").ended_at, "2026-01-01T00:00:01.000000+00:00");
	/* a conductor that still believes it is running must not bring it back */
	expect(c, REC_CONFLICT,
	       rec_store_batch_set_status(c->store, S("b"), REC_BATCH_RUNNING, REC_BATCH_COMPLETED, NO_TEXT, &now,
					  &c->error));
	assert_int_equal(now, REC_BATCH_CANCELLED);
	assert_int_equal(batch_of(c, "b").status, REC_BATCH_CANCELLED);
}

static void test_batch__taken_up_again_it_has_a_new_owner_and_no_stop(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	expect(c, 0, rec_store_batch_stop(c->store, S("b"), REC_BATCH_FORCE, &c->error));
	set(c, 0, "b", REC_BATCH_RUNNING, REC_BATCH_CANCELLED);
	assert_int_equal(batch_of(c, "b").stop, REC_BATCH_FORCE);
	expect(c, 0,
	       rec_store_batch_set_status(c->store, S("b"), REC_BATCH_CANCELLED, REC_BATCH_RUNNING, S("host:2"), NULL,
					  &c->error));
	struct rec_batch b = batch_of(c, "b");
	assert_int_equal(b.status, REC_BATCH_RUNNING);
	assert_int_equal(b.stop, REC_BATCH_GO_ON);
	assert_slice(b.owner, "host:2");
	assert_null(b.ended_at.data);
	assert_slice(b.options, "{\"retry\":2}");
	assert_slice(b.started_at, "2026-01-01T00:00:00.000000+00:00");
}

static void test_batch__a_stop_only_grows_and_only_while_it_runs(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	expect(c, 0, rec_store_batch_stop(c->store, S("b"), REC_BATCH_FORCE, &c->error));
	expect(c, 0, rec_store_batch_stop(c->store, S("b"), REC_BATCH_DRAIN, &c->error));
	assert_int_equal(batch_of(c, "b").stop, REC_BATCH_FORCE);
	set(c, 0, "b", REC_BATCH_RUNNING, REC_BATCH_PARTIAL);
	expect(c, REC_REFUSED, rec_store_batch_stop(c->store, S("b"), REC_BATCH_FORCE, &c->error));
}

static void test_batch__counting_touches_nothing_else(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	expect(c, 0, rec_store_batch_stop(c->store, S("b"), REC_BATCH_DRAIN, &c->error));
	struct rec_batch counts = {.batch_id = S("b"), .skipped = 1, .killed = 2, .requeued = 3, .errors = 4};
	expect(c, 0, rec_store_batch_count(c->store, &counts, &c->error));
	struct rec_batch b = batch_of(c, "b");
	assert_int_equal(b.skipped, 1);
	assert_int_equal(b.killed, 2);
	assert_int_equal(b.requeued, 3);
	assert_int_equal(b.errors, 4);
	assert_int_equal(b.stop, REC_BATCH_DRAIN);
	assert_slice(b.owner, "host:1");
}

static int name_collect(void *context, const struct rec_batch *batch)
{
	char *text = context;
	size_t used = strlen(text);
	snprintf(text + used, 64 - used, "%.*s ", (int)batch->batch_id.length, batch->batch_id.data);
	return 0;
}

static void test_batch__lists_oldest_first(void **state)
{
	struct contract *c = *state;
	char text[64] = "";
	batch_add(c, "z");
	batch_add(c, "m");
	rec_clock_manual_advance(&c->clock, 1000000);
	batch_add(c, "a");
	expect(c, 0, rec_store_batches(c->store, name_collect, text, &c->error));
	assert_string_equal(text, "m z a ");
}

/* ---- Its tasks ---- */

struct rows {
	char text[256];
	struct rec_batch_task last;
};

static int row_collect(void *context, const struct rec_batch_task *task)
{
	struct rows *rows = context;
	size_t used = strlen(rows->text);
	snprintf(rows->text + used, sizeof rows->text - used, "%.*s:%.*s ", (int)task->task_id.length,
		 task->task_id.data, (int)task->phase.length, task->phase.data);
	rows->last = *task;
	return 0;
}

static void assert_rows(struct contract *c, const char *batch, const char *wanted)
{
	struct rows rows = {.text = ""};
	expect(c, 0, rec_store_batch_tasks(c->store, S(batch), row_collect, &rows, &c->error));
	assert_string_equal(rows.text, wanted);
}

static void test_batch_task__lists_by_position_and_keeps_it(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	batch_add(c, "other");
	put(c, "b", "z", 0, "waiting");
	put(c, "b", "a", 1, "waiting");
	put(c, "b", "m", 2, "waiting");
	put(c, "other", "z", 9, "held");
	put(c, "b", "z", 77, "running");
	assert_rows(c, "b", "z:running a:waiting m:waiting ");
	assert_rows(c, "other", "z:held ");
}

static int full_check(void *context, const struct rec_batch_task *task)
{
	(void)context;
	assert_slice(task->task_id, "t");
	assert_slice(task->phase, "finished");
	assert_slice(task->reason, "exit 0");
	assert_int_equal(task->position, 5);
	assert_int_equal(task->believed, REC_DONE);
	assert_true(task->own);
	assert_int_equal(task->attempt, 4);
	assert_int_equal(task->failures, 3);
	assert_int_equal(task->again, 2);
	assert_int_equal(task->lost, 1);
	assert_int_equal(task->not_before_us, INT64_C(1790000000123456));
	return 0;
}

static void test_batch_task__every_field_comes_back(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	struct rec_batch_task task = {
		.task_id = S("t"),
		.position = 5,
		.phase = S("finished"),
		.believed = REC_DONE,
		.reason = S("exit 0"),
		.own = true,
		.attempt = 4,
		.failures = 3,
		.again = 2,
		.lost = 1,
		.not_before_us = INT64_C(1790000000123456),
	};
	expect(c, 0, rec_store_batch_task_put(c->store, S("b"), &task, &c->error));
	expect(c, 0, rec_store_batch_tasks(c->store, S("b"), full_check, NULL, &c->error));
}

static int bare_check(void *context, const struct rec_batch_task *task)
{
	(void)context;
	assert_null(task->reason.data);
	assert_int_equal(task->believed, REC_STATUS_ABSENT);
	assert_false(task->own);
	assert_int_equal(task->not_before_us, 0);
	return 0;
}

static void test_batch_task__what_is_absent_stays_absent(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	struct rec_batch_task task = {.task_id = S("t"), .phase = S("held"), .believed = REC_STATUS_ABSENT};
	expect(c, 0, rec_store_batch_task_put(c->store, S("b"), &task, &c->error));
	expect(c, 0, rec_store_batch_tasks(c->store, S("b"), bare_check, NULL, &c->error));
}

static int belief_collect(void *context, struct rec_slice id, enum rec_status believed)
{
	char *text = context;
	size_t used = strlen(text);
	snprintf(text + used, 64 - used, "%.*s=%s ", (int)id.length, id.data, rec_status_text(believed));
	return 0;
}

static void test_batch_belief__is_what_the_batch_knows_of_its_tasks(void **state)
{
	struct contract *c = *state;
	char text[64] = "";
	batch_add(c, "b");
	put(c, "b", "t", 0, "waiting");
	struct rec_batch_task done = {.task_id = S("a"), .position = 1, .phase = S("finished"), .believed = REC_DONE};
	expect(c, 0, rec_store_batch_task_put(c->store, S("b"), &done, &c->error));
	expect(c, 0, rec_store_batch_belief(c->store, S("b"), belief_collect, text, &c->error));
	assert_string_equal(text, "t=READY a=DONE ");
}

/* ---- Groups ---- */

static void test_batch__a_rollback_takes_all_of_it_back(void **state)
{
	struct contract *c = *state;
	batch_add(c, "b");
	put(c, "b", "t", 0, "waiting");
	expect(c, 0, rec_store_begin(c->store, &c->error));
	batch_add(c, "other");
	put(c, "b", "t", 0, "running");
	put(c, "b", "u", 1, "waiting");
	set(c, 0, "b", REC_BATCH_RUNNING, REC_BATCH_PARTIAL);
	rec_store_rollback(c->store);
	struct rec_batch batch;
	expect(c, REC_NOT_FOUND, rec_store_batch_get(c->store, S("other"), &c->arena, &batch, &c->error));
	assert_rows(c, "b", "t:waiting ");
	assert_int_equal(batch_of(c, "b").status, REC_BATCH_RUNNING);
}

static void test_batch__another_handle_sees_what_was_committed(void **state)
{
	struct contract *c = *state;
	struct rec_store *other = contract_open(c, REC_STORE_WRITE);
	batch_add(c, "b");
	expect(c, 0, rec_store_batch_stop(other, S("b"), REC_BATCH_DRAIN, &c->error));
	assert_int_equal(batch_of(c, "b").stop, REC_BATCH_DRAIN);
}

/* ---- Without memory ---- */

static int everything(struct contract *c)
{
	struct rec_batch batch = {.batch_id = S("b"), .options = S("{}")};
	struct rec_batch_task task = {
		.task_id = S("t"), .phase = S("held"), .reason = S("open"), .believed = REC_READY};
	struct rows rows = {.text = ""};
	char text[64] = "";
	int r = rec_store_begin(c->store, &c->error);
	r = r ? r : rec_store_batch_create(c->store, &batch, &c->error);
	r = r ? r : rec_store_batch_task_put(c->store, S("b"), &task, &c->error);
	r = r ? r : rec_store_batch_stop(c->store, S("b"), REC_BATCH_DRAIN, &c->error);
	r = r ? r : rec_store_batch_count(c->store, &batch, &c->error);
	r = r ? r : rec_store_batch_get(c->store, S("b"), &c->arena, &batch, &c->error);
	r = r ? r : rec_store_batch_tasks(c->store, S("b"), row_collect, &rows, &c->error);
	r = r ? r : rec_store_batches(c->store, name_collect, text, &c->error);
	if (r == 0)
		return rec_store_commit(c->store, &c->error);
	rec_store_rollback(c->store);
	return r;
}

static void test_batch__every_failed_allocation_is_reported_and_leaves_nothing(void **state)
{
	struct contract *c = *state;
	for (uint64_t n = 1;; n++) {
		c->memory.calls = 0;
		c->memory.fail_at = n;
		int r = everything(c);
		c->memory.fail_at = 0;
		if (r == 0)
			break;
		assert_int_equal(r, REC_E_NOMEM);
		struct rec_batch batch;
		expect(c, REC_NOT_FOUND, rec_store_batch_get(c->store, S("b"), &c->arena, &batch, &c->error));
	}
	assert_rows(c, "b", "t:held ");
}

static const struct CMUnitTest tests[] = {
	contract_test(test_batch__every_field_comes_back),
	contract_test(test_batch__an_id_is_taken_once),
	contract_test(test_batch__what_is_missing_is_not_found),
	contract_test(test_batch__bad_input_is_refused),
	contract_test(test_batch__its_status_is_compared_and_set),
	contract_test(test_batch__taken_up_again_it_has_a_new_owner_and_no_stop),
	contract_test(test_batch__a_stop_only_grows_and_only_while_it_runs),
	contract_test(test_batch__counting_touches_nothing_else),
	contract_test(test_batch__lists_oldest_first),
	contract_test(test_batch_task__lists_by_position_and_keeps_it),
	contract_test(test_batch_task__every_field_comes_back),
	contract_test(test_batch_task__what_is_absent_stays_absent),
	contract_test(test_batch_belief__is_what_the_batch_knows_of_its_tasks),
	contract_test(test_batch__a_rollback_takes_all_of_it_back),
	contract_test(test_batch__another_handle_sees_what_was_committed),
	contract_test(test_batch__every_failed_allocation_is_reported_and_leaves_nothing),
};

/* A backend that keeps no batches says so; until then there is nothing to test. */
int contract_run_batches(void)
{
	struct contract *c;
	void *state = NULL;
	struct rec_batch batch;
	if (contract_setup(&state))
		return 1;
	c = state;
	int r = rec_store_batch_get(c->store, S("b"), &c->arena, &batch, &c->error);
	contract_teardown(&state);
	return r == REC_E_UNSUPPORTED ? 0 : cmocka_run_group_tests_name("batches", tests, NULL, NULL);
}
