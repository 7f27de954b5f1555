/* The audit log read back: honest decisions verify, every kind of tampering is a difference; events as JSON. */
#include "engine/test-world.h"

#include "engine/apply.h"

static const struct rec_slice absent = {NULL, 0};

/* ---- Honest events ---- */

static void record(struct world *w, const struct rec_event *event)
{
	ok(w, rec_store_event_add(w->store, event, &w->error));
}

static struct rec_slice status_slice(enum rec_status status)
{
	return status == REC_STATUS_ABSENT ? absent : S(rec_status_text(status));
}

/* What a faithful recorder writes of a decision. */
static struct rec_event faithful(enum rec_check_kind kind, const struct rec_fact *fact, enum rec_status believed)
{
	static const char *const names[] = {"RECONCILIATION_TASK_HELD", "RECONCILIATION_TASK_SKIPPED",
					    "RECONCILIATION_TASK_KILLED", "RECONCILIATION_TASK_REQUEUED"};
	struct rec_verdict v = rec_apply_fact(kind, fact, believed);
	struct rec_event event = {
		.event = S(names[v.action]),
		.task_id = S("t"),
		.action = S(rec_action_text((enum rec_action)v.action)),
		.reason = S(rec_reason_text((enum rec_reason)v.reason)),
		.source = S(rec_source_text((enum rec_source)v.source)),
		.current_status = status_slice((enum rec_status)v.stored),
		.external_status = status_slice((enum rec_status)v.external),
	};
	if (kind != REC_CHECK_BLOCKERS)
		event.believed = S(rec_status_text(believed));
	if (kind != REC_CHECK_TASKS) {
		event.has_blockers = true;
		event.blockers_total = fact->blockers_total;
		event.blockers_open = fact->blockers_open;
		event.blockers_new = fact->blockers_new;
	}
	return event;
}

struct differences {
	unsigned count;
	int64_t seq;
	char sentence[700];
	int stop;
};

static int difference(void *context, int64_t seq, const char *sentence)
{
	struct differences *d = context;
	d->count++;
	d->seq = seq;
	snprintf(d->sentence, sizeof d->sentence, "%s", sentence);
	return d->stop;
}

static uint64_t verify(struct world *w, struct differences *d, uint64_t *ret_checked)
{
	uint64_t different;
	d->count = 0;
	ok(w, rec_events_verify(w->store, difference, d, ret_checked, &different, &w->error));
	assert_int_equal(different, d->count);
	return different;
}

static void test_verify__an_empty_log_is_sound(void **state)
{
	struct differences d = {0};
	uint64_t checked = 77;
	assert_int_equal(verify(*state, &d, &checked), 0);
	assert_int_equal(checked, 0);
}

static void test_verify__every_faithfully_recorded_decision_is_confirmed(void **state)
{
	struct world *w = *state;
	struct differences d = {0};
	uint64_t recorded = 0, checked;
	for (int kind = REC_CHECK_MERGED; kind <= REC_CHECK_BLOCKERS; kind++)
		for (int stored = 0; stored <= REC_STATUS_UNRECOGNISED; stored++)
			for (int believed = 0; believed <= REC_STATUS_ABSENT; believed++)
				for (uint32_t code = 0; code < 27; code++) {
					struct rec_fact fact = {.status = (uint8_t)stored,
								.blockers_total = code / 9,
								.blockers_open = code / 3 % 3,
								.blockers_new = code % 3};
					if (fact.blockers_open + fact.blockers_new > fact.blockers_total)
						continue;
					struct rec_event event =
						faithful((enum rec_check_kind)kind, &fact, (enum rec_status)believed);
					record(w, &event);
					recorded++;
				}
	uint64_t different = verify(w, &d, &checked);
	if (different)
		fail_msg("%u differences, the last: %s", d.count, d.sentence);
	assert_int_equal(checked, recorded);
}

static void test_verify__other_events_are_no_decisions(void **state)
{
	struct world *w = *state;
	struct differences d = {0};
	uint64_t checked;
	record(w, &(struct rec_event){.event = S("TASK_STATUS_CHANGED"),
				      .task_id = S("t"),
				      .source = S("rollup"),
				      .current_status = S("READY"),
				      .detail = S("DONE")});
	record(w, &(struct rec_event){.event = S("BATCH_STARTED"), .batch_id = S("b")});
	assert_int_equal(verify(w, &d, &checked), 0);
	assert_int_equal(checked, 0);
}

/* ---- Tampering ---- */

static struct rec_event a_requeue(void)
{
	const struct rec_fact fact = {
		.status = REC_BLOCKED, .blockers_total = 2, .blockers_open = 0, .blockers_new = 2};
	return faithful(REC_CHECK_MERGED, &fact, REC_READY);
}

static struct rec_event a_skip(void)
{
	const struct rec_fact fact = {.status = REC_DONE};
	return faithful(REC_CHECK_TASKS, &fact, REC_IN_PROGRESS);
}

static void caught(struct world *w, struct rec_event event, const char *part)
{
	struct differences d = {0};
	uint64_t checked;
	record(w, &event);
	uint64_t different = verify(w, &d, &checked);
	if (different != 1 || !strstr(d.sentence, part))
		fail_msg("%u differences [%s], wanted \"%s\"", d.count, d.sentence, part);
	/* The next one is judged in a log of its own. */
	struct rec_gc gc = {.older_than_us = INT64_MAX};
	ok(w, rec_store_gc(w->store, &gc, &w->error));
}

static void test_verify__every_kind_of_tampering_is_caught(void **state)
{
	struct world *w = *state;
	struct rec_event e;
#define TAMPER(base, change, part)                                                                                     \
	do {                                                                                                           \
		e = base();                                                                                            \
		change;                                                                                                \
		caught(w, e, part);                                                                                    \
	} while (0)
	TAMPER(a_requeue, e.action = S("KILL"), "recorded RECONCILIATION_TASK_REQUEUED KILL");
	TAMPER(a_requeue, e.action = S("NONE"), "the inputs give REQUEUE \"all blockers resolved\" (blockers, null)");
	TAMPER(a_requeue, e.action = S("requeue"), "the inputs give REQUEUE");
	TAMPER(a_requeue, e.action = absent, "the inputs give REQUEUE");
	TAMPER(a_requeue, e.event = S("RECONCILIATION_TASK_SKIPPED"), "recorded RECONCILIATION_TASK_SKIPPED");
	TAMPER(a_requeue, e.reason = S("open blockers remain"), "recorded RECONCILIATION_TASK_REQUEUED REQUEUE \"open");
	TAMPER(a_requeue, e.reason = absent, "the inputs give REQUEUE");
	TAMPER(a_requeue, e.source = S("store"), "(store, null), the inputs");
	TAMPER(a_requeue, e.source = absent, "the inputs give REQUEUE");
	TAMPER(a_requeue, e.current_status = S("READY"), "the inputs give NONE \"no action required\" (store, READY)");
	TAMPER(a_requeue, e.current_status = absent, "the inputs give NONE \"task not found\"");
	TAMPER(a_requeue, e.current_status = S("blocked"), "the inputs give NONE \"unrecognised status");
	TAMPER(a_requeue, e.external_status = S("READY"), "(blockers, READY), the inputs");
	TAMPER(a_requeue, e.believed = S("IN_PROGRESS"), "the inputs give KILL \"task externally transitioned");
	TAMPER(a_requeue, e.believed = S("DONE"), "the inputs give SKIP \"task externally completed while blocked\"");
	TAMPER(a_requeue, e.believed = S("running"), "is no status");
	TAMPER(a_requeue, e.blockers_open = 1, "its blocker counts cannot be");
	TAMPER(a_requeue, (e.blockers_open = 1, e.blockers_new = 1), "the inputs give KILL");
	TAMPER(a_requeue, (e.blockers_total = 0, e.blockers_new = 0), "the inputs give KILL");
	TAMPER(a_requeue, e.blockers_total = 1, "its blocker counts cannot be");
	TAMPER(a_requeue, e.blockers_total = -1, "its blocker counts cannot be");
	TAMPER(a_requeue, e.blockers_total = INT64_C(1) << 32, "its blocker counts cannot be");
	TAMPER(a_requeue, e.blockers_open = -1, "its blocker counts cannot be");
	TAMPER(a_requeue, e.blockers_new = -1, "its blocker counts cannot be");
	TAMPER(a_requeue, e.blockers_new = 3, "its blocker counts cannot be");
	TAMPER(a_requeue, e.has_blockers = false, "the inputs give KILL");
	TAMPER(a_requeue, (e.has_blockers = false, e.believed = absent), "it records no inputs");
	TAMPER(a_skip, e.action = S("NONE"), "the inputs give SKIP");
	TAMPER(a_skip, e.reason = S("task externally completed"), "the inputs give SKIP \"task already terminal");
	TAMPER(a_skip, e.current_status = S("READY"), "the inputs give NONE \"start not recorded");
	TAMPER(a_skip, e.external_status = S("READY"), "the inputs give SKIP");
	TAMPER(a_skip, e.external_status = absent, "(store, null), the inputs give SKIP");
	TAMPER(a_skip, e.believed = S("DONE"),
	       "the inputs give SKIP \"task already terminal in durable state\" (store, DONE)");
	TAMPER(a_skip, e.believed = absent, "it records no inputs");
	TAMPER(a_skip, e.source = S("somebody"), "(somebody, IN_PROGRESS), the inputs");
#undef TAMPER
}

static void test_verify__a_requeue_without_a_new_answer_is_a_difference(void **state)
{
	struct world *w = *state;
	struct rec_event event = a_requeue();
	event.blockers_new = 0;
	caught(w, event, "the inputs give NONE \"blocked again without a new answer\" (blockers, null)");
}

static void test_verify__tells_each_difference_with_its_seq_and_can_be_ended(void **state)
{
	struct world *w = *state;
	struct differences d = {0};
	struct rec_event good = a_skip(), bad = a_skip();
	uint64_t checked, different;
	bad.action = S("KILL");
	record(w, &good);
	record(w, &bad);
	record(w, &good);
	record(w, &bad);
	assert_int_equal(verify(w, &d, &checked), 2);
	assert_int_equal(checked, 4);
	assert_int_equal(d.seq, 4);
	assert_memory_equal(d.sentence, "seq 4: recorded ", 16);
	d = (struct differences){.stop = 7};
	assert_int_equal(rec_events_verify(w->store, difference, &d, &checked, &different, &w->error), 7);
	assert_int_equal(d.seq, 2);
	ok(w, rec_events_verify(w->store, NULL, NULL, NULL, NULL, &w->error));
}

static void test_verify__hostile_texts_fit_into_the_sentence(void **state)
{
	struct world *w = *state;
	char text[4001];
	memset(text, '"', 4000);
	text[4000] = '\0';
	struct rec_event event = a_skip();
	event.event = event.action = event.reason = event.source = event.external_status = S(text);
	caught(w, event, "the inputs give SKIP");
}

/* ---- JSON ---- */

static void json_is(const struct rec_event *event, const char *wanted)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, 4096);
	assert_int_equal(rec_event_write_json(&out, event), 0);
	assert_string_equal(out.data, wanted);
	rec_buffer_release(&out);
}

static void test_json__every_key_in_the_order_of_the_manual(void **state)
{
	(void)state;
	json_is(&(struct rec_event){.seq = 12,
				    .time = S("2026-01-01T00:00:00.000000+00:00"),
				    .event = S("RECONCILIATION_TASK_KILLED"),
				    .batch_id = S("b"),
				    .task_id = S("t \"1\""),
				    .has_attempt = true,
				    .attempt = 3,
				    .action = S("KILL"),
				    .reason = S("r"),
				    .source = S("store"),
				    .current_status = S("BLOCKED"),
				    .external_status = S("IN_PROGRESS"),
				    .believed = S("IN_PROGRESS"),
				    .has_blockers = true,
				    .blockers_total = 2,
				    .blockers_open = 1,
				    .blockers_new = 0,
				    .observation = S("o"),
				    .has_exit_code = true,
				    .exit_code = 75,
				    .has_exit_signal = true,
				    .exit_signal = 15,
				    .has_survivors = true,
				    .survivors = 1,
				    .detail = S("d")},
		"{\"seq\":12,\"time\":\"2026-01-01T00:00:00.000000+00:00\",\"event\":\"RECONCILIATION_TASK_KILLED\","
		"\"batch_id\":\"b\",\"task_id\":\"t \\\"1\\\"\",\"attempt\":3,\"action\":\"KILL\",\"reason\":\"r\","
		"\"source\":\"store\",\"current_status\":\"BLOCKED\",\"external_status\":\"IN_PROGRESS\","
		"\"believed\":\"IN_PROGRESS\",\"blockers_total\":2,\"blockers_open\":1,\"blockers_new\":0,"
		"\"observation\":\"o\",\"exit_code\":75,\"exit_signal\":15,\"survivors\":1,\"detail\":\"d\"}");
}

static void test_json__what_is_absent_is_left_out(void **state)
{
	(void)state;
	json_is(&(struct rec_event){.seq = -1, .event = S("X")}, "{\"seq\":-1,\"event\":\"X\"}");
	json_is(&(struct rec_event){.seq = 1, .event = S("X"), .detail = S("")},
		"{\"seq\":1,\"event\":\"X\",\"detail\":\"\"}");
}

static void test_json__a_full_buffer_is_reported(void **state)
{
	(void)state;
	struct rec_buffer out;
	struct rec_event event = {.seq = 1, .event = S("a long name of an event")};
	rec_buffer_init(&out, NULL, 20);
	assert_int_equal(rec_event_write_json(&out, &event), REC_E_LIMIT);
	rec_buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_verify__an_empty_log_is_sound),
		world_test(test_verify__every_faithfully_recorded_decision_is_confirmed),
		world_test(test_verify__other_events_are_no_decisions),
		world_test(test_verify__every_kind_of_tampering_is_caught),
		world_test(test_verify__a_requeue_without_a_new_answer_is_a_difference),
		world_test(test_verify__tells_each_difference_with_its_seq_and_can_be_ended),
		world_test(test_verify__hostile_texts_fit_into_the_sentence),
		cmocka_unit_test(test_json__every_key_in_the_order_of_the_manual),
		cmocka_unit_test(test_json__what_is_absent_is_left_out),
		cmocka_unit_test(test_json__a_full_buffer_is_reported),
	};
	return cmocka_run_group_tests_name("engine/events", tests, NULL, NULL);
}
