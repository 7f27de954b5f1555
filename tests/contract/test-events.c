/* test-events.c - the audit log: appended, numbered, never changed. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

struct heard {
	char text[1024];
	int64_t last;
	int end_with;
};

static int hear(void *context, const struct rec_event *event)
{
	struct heard *h = context;
	size_t used = strlen(h->text);
	snprintf(h->text + used, sizeof h->text - used, "%.*s ", (int)event->event.length, event->event.data);
	assert_true(event->seq > h->last);
	h->last = event->seq;
	return h->end_with;
}

static int64_t assert_heard(struct contract *c, int64_t since, uint64_t limit, const char *wanted)
{
	struct heard heard = {.last = since};
	expect(c, 0, rec_store_events(c->store, since, limit, hear, &heard, &c->error));
	assert_string_equal(heard.text, wanted);
	return heard.last;
}

static void say(struct contract *c, const char *name)
{
	struct rec_event event = {.event = S(name)};
	expect(c, 0, rec_store_event_add(c->store, &event, &c->error));
}

static void test_events__are_numbered_upwards_and_read_in_pages(void **state)
{
	struct contract *c = *state;
	assert_heard(c, 0, 0, "");
	say(c, "A");
	say(c, "B");
	say(c, "C");
	assert_heard(c, 0, 0, "A B C ");
	int64_t at = assert_heard(c, 0, 2, "A B ");
	at = assert_heard(c, at, 2, "C ");
	assert_int_equal(rec_store_event_seq(c->store), at); /* the last one of this handle */
	assert_heard(c, at, 2, "");
	say(c, "D");
	assert_heard(c, at, 0, "D ");
	assert_heard(c, INT64_MAX, 0, "");
	assert_heard(c, -5, 1, "A ");
}

static int assert_full(void *context, const struct rec_event *e)
{
	int *count = context;
	assert_slice(e->time, "2026-01-02T03:04:05.000000+00:00");
	assert_slice(e->event, "RECONCILIATION_TASK_REQUEUED");
	assert_slice(e->batch_id, "b1");
	assert_slice(e->task_id, "t'1");
	assert_slice(e->action, "REQUEUE");
	assert_slice(e->reason, "all blockers resolved");
	assert_slice(e->source, "blockers");
	assert_slice(e->current_status, "BLOCKED");
	assert_slice(e->external_status, "DONE");
	assert_slice(e->believed, "-");
	assert_slice(e->observation, "{\"state\":\"closed\"}");
	assert_slice(e->detail, "forced\n\xc3\xa4");
	assert_true(e->has_attempt && e->attempt == 3);
	assert_true(e->has_blockers && e->blockers_total == 5 && e->blockers_open == 0 && e->blockers_new == 2);
	assert_true(e->has_exit_code && e->exit_code == -1);
	assert_true(e->has_exit_signal && e->exit_signal == INT64_MAX);
	assert_true(e->has_survivors && e->survivors == 0);
	++*count;
	return 0;
}

static void test_events__every_field_comes_back(void **state)
{
	struct contract *c = *state;
	int count = 0;
	const struct rec_event event = {
		.time = S("2026-01-02T03:04:05.000000+00:00"),
		.event = S("RECONCILIATION_TASK_REQUEUED"),
		.batch_id = S("b1"),
		.task_id = S("t'1"),
		.action = S("REQUEUE"),
		.reason = S("all blockers resolved"),
		.source = S("blockers"),
		.current_status = S("BLOCKED"),
		.external_status = S("DONE"),
		.believed = S("-"),
		.observation = S("{\"state\":\"closed\"}"),
		.detail = S("forced\n\xc3\xa4"),
		.has_attempt = true,
		.attempt = 3,
		.has_blockers = true,
		.blockers_total = 5,
		.blockers_new = 2,
		.has_exit_code = true,
		.exit_code = -1,
		.has_exit_signal = true,
		.exit_signal = INT64_MAX,
		.has_survivors = true,
	};
	expect(c, 0, rec_store_event_add(c->store, &event, &c->error));
	expect(c, 0, rec_store_events(c->store, 0, 0, assert_full, &count, &c->error));
	assert_int_equal(count, 1);
}

static int assert_bare(void *context, const struct rec_event *e)
{
	int *count = context;
	assert_slice(e->time, "2026-01-01T00:00:00.000000+00:00");
	assert_true(!e->batch_id.data && !e->task_id.data && !e->action.data && !e->reason.data && !e->source.data);
	assert_true(!e->current_status.data && !e->external_status.data && !e->believed.data);
	assert_true(!e->observation.data && !e->detail.data);
	assert_false(e->has_attempt || e->has_blockers || e->has_exit_code || e->has_exit_signal || e->has_survivors);
	++*count;
	return 0;
}

static void test_events__absent_fields_stay_absent_and_the_time_is_now(void **state)
{
	struct contract *c = *state;
	int count = 0;
	say(c, "BARE");
	expect(c, 0, rec_store_events(c->store, 0, 0, assert_bare, &count, &c->error));
	assert_int_equal(count, 1);
}

static void test_events__bad_ones_are_refused(void **state)
{
	struct contract *c = *state;
	struct rec_event event = {.event = NO_TEXT};
	expect(c, REC_E_INVALID, rec_store_event_add(c->store, &event, &c->error));
	event.event = S("X");
	event.reason = S("\xff");
	expect(c, REC_E_INVALID, rec_store_event_add(c->store, &event, &c->error));
	assert_non_null(strstr(c->error.message, "reason"));
	assert_heard(c, 0, 0, "");
}

static void test_events__outlive_their_task(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	struct rec_event event = {.event = S("A"), .task_id = S("t")};
	expect(c, 0, rec_store_event_add(c->store, &event, &c->error));
	expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	assert_heard(c, 0, 0, "A ");
}

static void test_events__callback_ends_the_reading(void **state)
{
	struct contract *c = *state;
	struct heard heard = {.end_with = 9};
	say(c, "A");
	say(c, "B");
	expect(c, 9, rec_store_events(c->store, 0, 0, hear, &heard, &c->error));
	assert_string_equal(heard.text, "A ");
}

static void test_events__of_two_handles_share_one_numbering(void **state)
{
	struct contract *c = *state;
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	struct rec_event event = {.event = S("B")};
	say(c, "A");
	expect(c, 0, rec_store_event_add(second, &event, &c->error));
	say(c, "C");
	assert_heard(c, 0, 0, "A B C ");
}

static const struct CMUnitTest tests[] = {
	contract_test(test_events__are_numbered_upwards_and_read_in_pages),
	contract_test(test_events__every_field_comes_back),
	contract_test(test_events__absent_fields_stay_absent_and_the_time_is_now),
	contract_test(test_events__bad_ones_are_refused),
	contract_test(test_events__outlive_their_task),
	contract_test(test_events__callback_ends_the_reading),
	contract_test(test_events__of_two_handles_share_one_numbering),
};
contract_run(events, tests)
