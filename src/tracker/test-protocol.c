/* Tests of tracker/protocol.h. */
#include "base/test-support.h"

#include <stdio.h>

#include "base/json.h"
#include "tracker/protocol.h"

struct bench {
	struct rec_arena arena;
	struct rec_protocol_answer answer;
	struct rec_error error;
};

static int parse(struct bench *b, const char *line)
{
	rec_arena_init(&b->arena, NULL);
	b->answer = (struct rec_protocol_answer){.has_budget = false};
	return rec_protocol_parse(rec_slice_of(line), &b->arena, &b->answer, &b->error);
}

static void release(struct bench *b)
{
	rec_protocol_answer_release(&b->answer, NULL);
	rec_arena_release(&b->arena);
}

/* ---- Requests ----------------------------------------------------------------------------------- */

static void test_protocol__requests_are_one_line_each(void **state)
{
	struct rec_buffer out;
	(void)state;
	rec_buffer_init(&out, NULL, 1 << 20);
	assert_int_equal(rec_protocol_write_hello(&out, 1, rec_slice_of("git\"hub")), 0);
	assert_string_equal(out.data, "{\"id\":1,\"method\":\"hello\",\"protocol\":1,\"name\":\"git\\\"hub\"}\n");
	rec_buffer_clear(&out);
	assert_int_equal(rec_protocol_write_close(&out, 9, rec_slice_of("https://x/5"), rec_slice_of("a\nb"),
						  rec_slice_of("reconciler:b:t:1")),
			 0);
	assert_string_equal(out.data, "{\"id\":9,\"method\":\"close\",\"url\":\"https://x/5\",\"comment\":\"a\\nb\","
				      "\"marker\":\"reconciler:b:t:1\"}\n");
	rec_buffer_clear(&out);
	const struct rec_protocol_link links[] = {{rec_slice_of("u1"), rec_slice_of("W/\"e\"")},
						  {rec_slice_of("u2"), {0}}};
	const struct rec_tracker_cursor cursors[] = {{rec_slice_of("k"), rec_slice_of("v")},
						     {rec_slice_of("l"), rec_slice_of("")}};
	const struct rec_protocol_fetch fetch = {2, links, 2, cursors, 2, 0.6, 27000};
	size_t written;
	assert_int_equal(rec_protocol_write_fetch(&out, &fetch, &written), 0);
	assert_int_equal(written, 2);
	assert_string_equal(out.data, "{\"id\":2,\"method\":\"fetch\",\"budget_share\":0.6,\"deadline_ms\":27000,"
				      "\"cursors\":{\"k\":\"v\",\"l\":\"\"},\"links\":[{\"url\":\"u1\",\"validator\":"
				      "\"W/\\\"e\\\"\"},{\"url\":\"u2\",\"validator\":null}]}\n");
	rec_buffer_release(&out);
}

/* Escapes make a validator six times as long. */
static void test_protocol__a_request_never_outgrows_its_line(void **state)
{
	static char validator[REC_VALIDATOR_BYTES_MAX];
	static struct rec_protocol_link links[1000];
	struct rec_buffer out;
	size_t done = 0, written = 0, requests = 0;
	(void)state;
	memset(validator, 1, sizeof validator);
	for (size_t i = 0; i < 1000; i++)
		links[i] = (struct rec_protocol_link){rec_slice_of("u"), {validator, sizeof validator}};
	rec_buffer_init(&out, NULL, REC_TRACKER_LINE_BYTES_MAX + REC_TRACKER_LINE_ROOM);
	for (; done < 1000; done += written, requests++) {
		const struct rec_protocol_fetch fetch = {2, links + done, 1000 - done, NULL, 0, 0.6, 27000};
		rec_buffer_clear(&out);
		assert_int_equal(rec_protocol_write_fetch(&out, &fetch, &written), 0);
		assert_true(written > 0 && out.length <= REC_TRACKER_LINE_BYTES_MAX + 1);
		assert_int_equal(out.data[out.length - 1], '\n');
		assert_int_equal(out.data[out.length - 2], '}');
	}
	assert_true(requests > 5);
	rec_buffer_release(&out);
}

static void test_protocol__cursors_beyond_their_share_are_left_out(void **state)
{
	static char value[REC_VALIDATOR_BYTES_MAX];
	static struct rec_tracker_cursor cursors[2000];
	const struct rec_protocol_link link = {rec_slice_of("u"), {0}};
	struct rec_buffer out;
	size_t written;
	(void)state;
	memset(value, 'c', sizeof value);
	for (size_t i = 0; i < 2000; i++)
		cursors[i] = (struct rec_tracker_cursor){rec_slice_of("k"), {value, sizeof value}};
	rec_buffer_init(&out, NULL, REC_TRACKER_LINE_BYTES_MAX + REC_TRACKER_LINE_ROOM);
	const struct rec_protocol_fetch fetch = {2, &link, 1, cursors, 2000, 0.6, 27000};
	assert_int_equal(rec_protocol_write_fetch(&out, &fetch, &written), 0);
	assert_int_equal(written, 1);
	assert_true(out.length < (1 << 20) + 200);
	rec_buffer_release(&out);
}

static void test_protocol__each_request_can_run_out_of_memory(void **state)
{
	const struct rec_protocol_link link = {rec_slice_of("u"), {0}};
	const struct rec_tracker_cursor cursor = {rec_slice_of("k"), rec_slice_of("v")};
	const struct rec_protocol_fetch fetch = {2, &link, 1, &cursor, 1, 0.6, 27000};
	(void)state;
	for (uint64_t n = 1; n < 4; n++) {
		struct rec_failing_allocator f;
		struct rec_buffer out;
		size_t written = 77;
		rec_failing_allocator_init(&f, n, 1);
		rec_buffer_init(&out, &f.allocator, 1 << 20);
		int r = rec_protocol_write_fetch(&out, &fetch, &written);
		assert_true(r == 0 || (r == REC_E_NOMEM && written == 77));
		assert_true(n > 1 || r == REC_E_NOMEM);
		rec_buffer_release(&out);
		assert_int_equal(f.live, 0);
	}
}

/* ---- Answers ------------------------------------------------------------------------------------ */

static const char whole[] =
	"{\"observations\":[{\"url\":\"https://x/5\",\"state\":\"closed\",\"kind\":\"issue\",\"reason\":\"completed\","
	"\"time\":\"2026-01-02T03:04:05Z\",\"comments\":7,\"moved_to\":\"https://x/6\",\"validator\":\"W/\\\"a\\\"\","
	"\"problem\":null,\"new\":{\"a\":[1,{\"b\":[]}]}},{\"url\":\"https://x/8\",\"state\":\"unknown\","
	"\"problem\":\"403\"}],\"cursors\":{\"repo:o/r\":\"c1\",\"old\":null},"
	"\"budget\":{\"limit\":5000,\"remaining\":4321,\"reset\":\"2026-01-02T04:00:00Z\"},\"retry_after_ms\":60000,"
	"\"problem\":\"half\",\"what\":[[[]],null],\"id\":3}";

static void test_protocol__an_answer_is_read_whole(void **state)
{
	struct bench b;
	(void)state;
	assert_int_equal(parse(&b, whole), 0);
	const struct rec_observation *o = b.answer.observations;
	assert_int_equal(b.answer.id.value, 3);
	assert_int_equal(b.answer.observation_count, 2);
	assert_int_equal(o[0].state, REC_OBSERVED_CLOSED);
	assert_int_equal(o[0].kind, REC_LINK_ISSUE);
	assert_slice_equal(o[0].url, "https://x/5");
	assert_slice_equal(o[0].reason, "completed");
	assert_slice_equal(o[0].time, "2026-01-02T03:04:05Z");
	assert_slice_equal(o[0].moved_to, "https://x/6");
	assert_slice_equal(o[0].validator, "W/\"a\"");
	assert_true(o[0].has_comments && o[0].comments == 7);
	assert_null(o[0].problem.data);
	assert_int_equal(o[1].state, REC_OBSERVED_UNKNOWN);
	assert_slice_equal(o[1].problem, "403");
	assert_int_equal(b.answer.cursor_count, 2);
	assert_slice_equal(b.answer.cursors[0].key, "repo:o/r");
	assert_slice_equal(b.answer.cursors[0].value, "c1");
	assert_null(b.answer.cursors[1].value.data);
	assert_true(b.answer.has_budget && b.answer.budget.remaining.value == 4321);
	assert_int_equal(b.answer.retry_after_ms.value, 60000);
	assert_slice_equal(b.answer.problem, "half");
	release(&b);
}

static void test_protocol__hello_and_close_are_read(void **state)
{
	struct bench b;
	(void)state;
	assert_int_equal(parse(&b, "{\"id\":1,\"protocol\":1,\"helper\":\"h 1\",\"can_close\":true}"), 0);
	assert_true(b.answer.protocol.value == 1 && b.answer.can_close.value == 1);
	assert_false(b.answer.has_observations);
	release(&b);
	assert_int_equal(parse(&b, " {\"id\":1,\"closed\":true}\r"), 0);
	assert_true(b.answer.closed.value == 1);
	release(&b);
	assert_int_equal(parse(&b, "{\"id\":2,\"observations\":[],\"cursors\":null,\"budget\":null,\"problem\":null}"),
			 0);
	assert_true(b.answer.has_observations && !b.answer.has_budget && !b.answer.problem.data);
	release(&b);
}

/* B22, B33: what cannot be is never guessed, and spoils no more than itself. */
static void test_protocol__an_observation_that_cannot_be_is_unknown(void **state)
{
	static const char *const bad[] = {"\"state\":\"done\"",
					  "\"kind\":\"issue\"",
					  "\"state\":null",
					  "\"state\":\"Closed\"",
					  "\"state\":\"closed\",\"time\":\"yesterday\"",
					  "\"state\":\"closed\",\"time\":\"\"",
					  "\"state\":\"closed\",\"moved_to\":\"https://x/a b\"",
					  "\"state\":\"closed\",\"moved_to\":\"\"",
					  "\"state\":\"closed\",\"comments\":-1"};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char line[400];
		struct bench b;
		snprintf(line, sizeof line,
			 "{\"id\":1,\"observations\":[{\"url\":\"u\",%s},{\"url\":\"v\",\"state\":\"open\"}]}", bad[i]);
		assert_int_equal(parse(&b, line), 0);
		assert_int_equal(b.answer.observations[0].state, REC_OBSERVED_UNKNOWN);
		assert_slice_equal(b.answer.observations[0].url, "u");
		assert_true(b.answer.observations[0].problem.length > 0);
		assert_true(b.answer.unsound);
		assert_null(b.answer.observations[0].validator.data);
		assert_int_equal(b.answer.observations[1].state, REC_OBSERVED_OPEN);
		release(&b);
	}
}

static void test_protocol__a_validator_that_is_too_long_makes_its_observation_unknown(void **state)
{
	static char line[6000];
	struct bench b;
	(void)state;
	int length = snprintf(line, sizeof line,
			      "{\"id\":1,\"observations\":[{\"url\":\"u\",\"state\":\"closed\",\"validator\":\"");
	memset(line + length, 'v', REC_VALIDATOR_BYTES_MAX + 1);
	memcpy(line + length + REC_VALIDATOR_BYTES_MAX + 1, "\"}]}", 5);
	assert_int_equal(parse(&b, line), 0);
	assert_int_equal(b.answer.observations[0].state, REC_OBSERVED_UNKNOWN);
	release(&b);
}

static void test_protocol__anything_else_is_no_answer(void **state)
{
	static const char *const bad[] = {
		"",
		"   ",
		"null",
		"[]",
		"{\"id\":\"1\"}",
		"{\"id\":1.5}",
		"{\"id\":1",
		"{\"id\":1}{\"id\":2}",
		"{\"id\":1} x",
		"<html>",
		"{\"id\":1,\"observations\":{}}",
		"{\"id\":1,\"observations\":[5]}",
		"{\"id\":1,\"observations\":[{\"state\":\"open\"}]}",
		"{\"id\":1,\"observations\":[{\"url\":7,\"state\":\"open\"}]}",
		"{\"id\":1,\"observations\":[{\"url\":\"u\",\"state\":5}]}",
		"{\"id\":1,\"cursors\":[]}",
		"{\"id\":1,\"cursors\":{\"k\":5}}",
		"{\"id\":1,\"cursors\":{\"\":\"v\"}}",
		"{\"id\":1,\"budget\":5}",
		"{\"id\":1,\"budget\":{\"limit\":\"many\"}}",
		"{\"id\":1,\"can_close\":1}",
		"{\"id\":1,\"retry_after_ms\":\"60\"}",
		"{\"id\":1,\"problem\":{}}",
		"{\"id\":1,\"a\":\"\xff\"}",
		"{\"id\":99999999999999999999}",
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct bench b;
		assert_int_equal(parse(&b, bad[i]), REC_E_INVALID);
		assert_int_equal(b.error.code, REC_E_INVALID);
		assert_true(b.error.message[0]);
		release(&b);
	}
}

static void test_protocol__a_line_that_is_too_deep_is_no_answer(void **state)
{
	char line[200] = "{\"id\":1,\"a\":";
	struct bench b;
	(void)state;
	memset(line + strlen(line), '[', 100);
	assert_int_equal(parse(&b, line), REC_E_INVALID);
	release(&b);
}

static int parse_with(const struct rec_allocator *a)
{
	struct rec_arena arena;
	struct rec_protocol_answer answer = {.has_budget = false};
	struct rec_error error;
	rec_arena_init(&arena, a);
	int r = rec_protocol_parse(rec_slice_of(whole), &arena, &answer, &error);
	rec_protocol_answer_release(&answer, a);
	rec_arena_release(&arena);
	return r;
}

static void test_protocol__each_allocation_may_fail(void **state)
{
	(void)state;
	test_fail_every_allocation(parse_with);
	assert_int_equal(parse_with(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protocol__requests_are_one_line_each),
		cmocka_unit_test(test_protocol__a_request_never_outgrows_its_line),
		cmocka_unit_test(test_protocol__cursors_beyond_their_share_are_left_out),
		cmocka_unit_test(test_protocol__each_request_can_run_out_of_memory),
		cmocka_unit_test(test_protocol__an_answer_is_read_whole),
		cmocka_unit_test(test_protocol__hello_and_close_are_read),
		cmocka_unit_test(test_protocol__an_observation_that_cannot_be_is_unknown),
		cmocka_unit_test(test_protocol__a_validator_that_is_too_long_makes_its_observation_unknown),
		cmocka_unit_test(test_protocol__anything_else_is_no_answer),
		cmocka_unit_test(test_protocol__a_line_that_is_too_deep_is_no_answer),
		cmocka_unit_test(test_protocol__each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
