/* What a tracker's decision rested on, written down and read back; the audit log decides it again. */
#include "engine/test-syncing.h"

#include "base/test-support.h"
#include "engine/observation.h"

static struct rec_slice optional(const char *text)
{
	return text ? S(text) : NO_TEXT;
}

static bool same(struct rec_slice a, struct rec_slice b)
{
	return a.data && b.data ? rec_slice_equal(a, b) : a.data == b.data;
}

/* ---- Round trips ---- */

static void assert_round_trip(const struct rec_observe_input *input)
{
	struct rec_arena arena;
	struct rec_buffer text;
	struct rec_error error;
	struct rec_observation_record record;
	struct rec_observed_outcome before, after;
	rec_arena_init(&arena, NULL);
	rec_buffer_init(&text, NULL, 1u << 16);
	assert_int_equal(rec_observation_write(&text, input), 0);
	if (rec_observation_read(rec_buffer_slice(&text), &arena, &record, &error))
		fail_msg("%s: %s", text.data, error.message);
	record.input.stored = input->stored;
	rec_observe(input, &before);
	rec_observe(&record.input, &after);
	if (!rec_verdict_equal(before.verdict, after.verdict))
		fail_msg("%s", text.data);
	assert_int_equal(record.input.made_done, input->made_done);
	assert_int_equal(record.input.again, input->again);
	assert_true(same(record.link.reason, input->link->reason) && same(record.link.time, input->link->time));
	assert_true(same(record.observation.reason, input->observation->reason));
	rec_buffer_release(&text);
	rec_arena_release(&arena);
}

static void test_observation__whatever_was_decided_on_is_read_back(void **state)
{
	(void)state;
	static const char *const reasons[] = {NULL, "", "completed", "not_planned", "duplicate", "\"\\\n\xc3\xa4"};
	static const char *const times[] = {NULL, "2026-01-01T10:00:00Z", "2026-01-01T10:00:03Z"};
	uint64_t random = 7;
#define DRAW(below) (test_random(&random) % (below))
	for (int i = 0; i < 20000; i++) {
		const struct rec_link link = {.url = S(DRAW(2) ? ISSUE("1") : PULL("1")),
					      .state = (enum rec_observed)DRAW(4),
					      .kind = (enum rec_link_kind)DRAW(3),
					      .reason = optional(reasons[DRAW(6)]),
					      .time = optional(times[DRAW(3)]),
					      .has_comments = DRAW(2),
					      .comments = (int64_t)DRAW(3),
					      .gone = DRAW(2)};
		const struct rec_observation o = {.state = (enum rec_observed)DRAW(6),
						  .kind = (enum rec_link_kind)DRAW(3),
						  .reason = optional(reasons[DRAW(6)]),
						  .time = optional(times[DRAW(3)]),
						  .has_comments = DRAW(2),
						  .comments = (int64_t)DRAW(3)};
		const struct rec_observe_input input = {.link = &link,
							.observation = &o,
							.stored = (enum rec_status)DRAW(REC_STATUS_COUNT),
							.made_done = DRAW(2),
							.again = DRAW(2)};
		assert_round_trip(&input);
	}
}

#define GOOD "{\"url\":\"u\",\"state\":\"open\",\"known\":{\"state\":\"unknown\"}}"

static void test_observation__what_we_do_not_write_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"null",
		"{\"url\":\"u\",\"state\":\"open\"}",
		"{\"url\":\"u\",\"known\":{\"state\":\"open\"}}",
		"{\"state\":\"open\",\"known\":{\"state\":\"open\"}}",
		"{\"url\":\"u\",\"state\":\"open\",\"known\":{}}",
		"{\"url\":\"u\",\"state\":\"shut\",\"known\":{\"state\":\"open\"}}",
		"{\"url\":\"u\",\"state\":\"open\",\"known\":{\"state\":\"gone\"}}",
		"{\"url\":\"u\",\"state\":\"open\",\"known\":{\"state\":\"open\",\"url\":\"v\"}}",
		"{\"url\":\"u\",\"state\":\"open\",\"known\":{\"state\":\"open\"},\"known\":{}}",
		"{\"url\":\"u\",\"state\":\"open\",\"known\":{\"state\":\"open\",\"comments\":1.5}}",
		"{\"url\":\"u\",\"state\":\"open\",\"known\":{\"state\":\"open\",\"gone\":false}}",
		"{\"url\":\"u\",\"state\":\"open\",\"known\":{\"state\":\"open\"},\"more\":1}",
		"{\"url\":\"u\",\"state\":\"open\",\"a_key_that_is_longer_than_ours\":1}",
		"{\"url\":1,\"state\":\"open\",\"known\":{\"state\":\"open\"}}",
		"{\"url\":\"u\",\"state\":{\"a\":1},\"known\":{\"state\":\"open\"}}",
		"{\"url\":\"u\",\"state\":\"open\",\"known\":{\"state\":\"open\"}} true",
	};
	struct rec_arena arena;
	struct rec_error error;
	struct rec_observation_record record = {.input.again = true};
	rec_arena_init(&arena, NULL);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (rec_observation_read(S(bad[i]), &arena, &record, &error) != REC_E_INVALID)
			fail_msg("%s", bad[i]);
	assert_true(record.input.again); /* untouched */
	assert_int_equal(rec_observation_read(NO_TEXT, &arena, &record, &error), REC_E_INVALID);
	assert_int_equal(rec_observation_read(S(GOOD), &arena, &record, &error), 0);
	assert_false(record.input.again);
	rec_arena_release(&arena);
}

/* ---- The audit log ---- */

static int read_event(void *context, const struct rec_event *event)
{
	struct rec_event *copy = context;
	static char observation[1000];
	if (!event->observation.data)
		return 0;
	snprintf(observation, sizeof observation, "%.*s", (int)event->observation.length, event->observation.data);
	*copy = (struct rec_event){.event = S("RECONCILIATION_TASK_SKIPPED"),
				   .task_id = S("T1"),
				   .action = S("SKIP"),
				   .reason = S("issue closed as completed"),
				   .source = S("github"),
				   .current_status = S("READY"),
				   .external_status = S("DONE"),
				   .observation = S(observation)};
	return 0;
}

static uint64_t differences(struct syncing *s, const struct rec_event *event)
{
	static uint64_t before;
	uint64_t different = 0;
	ok(s->w, rec_store_event_add(s->w->outside, event, &s->w->error));
	ok(s->w, rec_events_verify(s->w->store, NULL, NULL, NULL, &different, &s->w->error));
	uint64_t more = different - before;
	before = different;
	return more;
}

static void test_verify__a_trackers_decision_is_made_again_and_tampering_is_caught(void **state)
{
	struct syncing *s = *state;
	struct rec_event event = {0};
	add(s->w, "T1", REC_READY);
	link_to(s, "T1", ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, "completed", "2026-01-01T10:00:00Z");
	sync_all(s);
	ok(s->w, rec_store_events(s->w->outside, 0, 0, read_event, &event, &s->w->error));
	assert_non_null(event.observation.data);
	assert_non_null(strstr(event.observation.data, "\"known\":{\"state\":\"unknown\"}"));
	struct rec_event honest = event;
	assert_int_equal(differences(s, &honest), 0);
#define TAMPER(field, text)                                                                                            \
	do {                                                                                                           \
		struct rec_event changed_ = event;                                                                     \
		changed_.field = (text);                                                                               \
		assert_int_equal(differences(s, &changed_), 1);                                                        \
	} while (0)
	TAMPER(event, S("RECONCILIATION_TASK_KILLED"));
	TAMPER(action, S("NONE"));
	TAMPER(reason, S("pull request merged"));
	TAMPER(source, S("store"));
	TAMPER(source, NO_TEXT);
	TAMPER(current_status, S("MERGED"));
	TAMPER(current_status, NO_TEXT);
	TAMPER(external_status, S("MERGED"));
	TAMPER(external_status, NO_TEXT);
	TAMPER(observation, NO_TEXT);
	TAMPER(observation, S("{}"));
	TAMPER(observation, S("{\"url\":\"" ISSUE("7") "\",\"state\":\"closed\",\"reason\":\"not_planned\","
						       "\"known\":{\"state\":\"open\"}}"));
}

static void test_verify__every_failed_allocation_is_reported(void **state)
{
	struct syncing *s = *state;
	uint64_t checked = 0;
	add(s->w, "T1", REC_READY);
	link_to(s, "T1", ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, "completed", "2026-01-01T10:00:00Z");
	sync_all(s);
	for (uint64_t n = 1, again = 1; again; n++) {
		s->w->memory.calls = 0;
		s->w->memory.fail_at = n;
		int r = rec_events_verify(s->w->store, NULL, NULL, &checked, NULL, &s->w->error);
		again = s->w->memory.calls >= n;
		s->w->memory.fail_at = 0;
		if (r)
			assert_int_equal(r, REC_E_NOMEM);
	}
	assert_int_equal(checked, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_observation__whatever_was_decided_on_is_read_back),
		cmocka_unit_test(test_observation__what_we_do_not_write_is_refused),
		sync_test(test_verify__a_trackers_decision_is_made_again_and_tampering_is_caught),
		sync_test(test_verify__every_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests_name("engine/observation", tests, NULL, NULL);
}
