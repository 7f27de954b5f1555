/* Request lines and what is remembered for the next pass. */
#include "base/test-support.h"

#include <stdio.h>

#include "github/mark.h"
#include "github/protocol.h"

static int read_line(const char *line, struct rec_arena *arena, struct gh_request *request, struct rec_error *error)
{
	rec_arena_init(arena, NULL);
	return gh_request_read(rec_slice_of(line), arena, request, error);
}

static void test_request__fetch(void **state)
{
	struct rec_arena arena;
	struct gh_request q;
	(void)state;
	assert_int_equal(read_line("{\"links\":[{\"url\":\"a\",\"validator\":null,\"x\":[{}]},{\"validator\":\"v\","
				   "\"url\":\"b\"}],"
				   "\"cursors\":{\"k\":\"c\",\"n\":null},\"later\":{\"x\":1},\"budget_share\":0.25,"
				   "\"deadline_ms\":5,"
				   "\"method\":\"fetch\",\"id\":-9007199254740993}",
				   &arena, &q, NULL),
			 0);
	assert_true(q.has_id);
	assert_int_equal(q.id, -9007199254740993);
	assert_int_equal(q.method, GH_METHOD_FETCH);
	assert_int_equal(q.link_count, 2);
	assert_slice_equal(q.links[1].url, "b");
	assert_slice_equal(q.links[1].validator, "v");
	assert_int_equal(q.cursor_count, 2);
	assert_slice_equal(q.cursors[0].value, "c");
	assert_true(q.budget_share == 0.25);
	assert_int_equal(q.deadline_ms, 5);
	rec_arena_release(&arena);
}

static void test_request__a_share_as_the_host_writes_it(void **state)
{
	static const char *const texts[] = {"0", "1", "1.0", "0.6", "5e-05", "1E-2", "6e-1"};
	static const double shares[] = {0, 1, 1, 0.6, 0.00005, 0.01, 0.6};
	(void)state;
	for (size_t i = 0; i < 7; i++) {
		struct rec_arena arena;
		struct gh_request q;
		char line[80];
		snprintf(line, sizeof line, "{\"id\":1,\"method\":\"fetch\",\"budget_share\":%s}", texts[i]);
		assert_int_equal(read_line(line, &arena, &q, NULL), 0);
		assert_true(q.budget_share == shares[i]);
		rec_arena_release(&arena);
	}
}

static void test_request__what_is_not_said_has_a_default(void **state)
{
	struct rec_arena arena;
	struct gh_request q;
	(void)state;
	assert_int_equal(read_line("{\"id\":1,\"method\":\"dance\"}", &arena, &q, NULL), 0);
	assert_int_equal(q.method, GH_METHOD_UNKNOWN);
	assert_true(q.budget_share == 0.6);
	assert_int_equal(q.deadline_ms, 30000);
	rec_arena_release(&arena);
}

static void assert_refused(const char *line, const char *message)
{
	struct rec_arena arena;
	struct gh_request q;
	struct rec_error error;
	int r = read_line(line, &arena, &q, &error);
	if (r != REC_E_INVALID)
		fail_msg("%s was taken", line);
	assert_string_equal(error.message, message);
	rec_arena_release(&arena);
}

static void test_request__what_is_refused(void **state)
{
	(void)state;
	assert_refused("", "request: the line is not JSON");
	assert_refused("{", "request: the line is not JSON");
	assert_refused("{} {}", "request: the line is not JSON");
	assert_refused("[]", "request: the line is not an object");
	assert_refused("{\"id\":1.5}", "request: id is not a whole number in range");
	assert_refused("{\"id\":\"1\"}", "request: id is not a whole number in range");
	assert_refused("{\"method\":7}", "request: method is not a string");
	assert_refused("{\"links\":{}}", "request: links is not an array");
	assert_refused("{\"links\":[7]}", "request: a link is not an object");
	assert_refused("{\"links\":[{}]}", "request: a link's url is not a string");
	assert_refused("{\"links\":[{\"url\":7}]}", "request: url is not a string");
	assert_refused("{\"cursors\":[]}", "request: cursors is not an object");
	assert_refused("{\"cursors\":{\"a\":1}}", "request: a cursor is not a string");
	assert_refused("{\"budget_share\":1.5}", "request: budget_share is not between 0 and 1");
	assert_refused("{\"budget_share\":-1}", "request: budget_share is not between 0 and 1");
	assert_refused("{\"budget_share\":1e999}", "request: budget_share is not between 0 and 1");
	assert_refused("{\"budget_share\":\"all\"}", "request: budget_share is not a number");
	assert_refused("{\"deadline_ms\":-1}", "request: deadline_ms is not a whole number in range");
	assert_refused("{\"id\":1,\"method\":\"close\"}", "request: close without a url");
}

static int scenario(const struct rec_allocator *a)
{
	struct rec_arena arena;
	struct gh_request q;
	rec_arena_init(&arena, a);
	int r = gh_request_read(
		rec_slice_of("{\"id\":1,\"method\":\"fetch\",\"links\":[{\"url\":\"a\"}],\"cursors\":{\"k\":\"v\"}}"),
		&arena, &q, NULL);
	rec_arena_release(&arena);
	return r;
}

static void test_request__memory_that_runs_out(void **state)
{
	(void)state;
	test_fail_every_allocation(scenario);
}

/* ---- Marks ---- */

static void test_mark__comes_back_as_it_was(void **state)
{
	const struct gh_mark mark = {.covered_s = 1,
				     .verified_s = 2,
				     .state = GH_STATE_MERGED,
				     .pull = true,
				     .comments = -1,
				     .updated = {"2017-10-10T15:00:00Z", 20},
				     .reason = {"completed", 9},
				     .etag = {"W/\"a;b\"", 7}};
	struct gh_mark again;
	struct rec_buffer b;
	(void)state;
	rec_buffer_init(&b, NULL, GH_MARK_BYTES_MAX);
	assert_int_equal(gh_mark_write(&b, &mark), 0);
	assert_slice_equal(rec_buffer_slice(&b), "1;1;2;m;p;-1;2017-10-10T15:00:00Z;completed;W/\"a;b\"");
	assert_int_equal(gh_mark_read(rec_buffer_slice(&b), &again), 0);
	assert_true(gh_mark_same(&mark, &again));
	assert_int_equal(again.verified_s, 2);
	assert_slice_equal(again.etag, "W/\"a;b\"");
	rec_buffer_release(&b);
}

static void test_mark__what_could_break_a_line_or_a_header_is_left_out(void **state)
{
	struct gh_mark again, mark = {.state = GH_STATE_CLOSED,
				      .updated = {"2017;x", 6},
				      .reason = {"a;b\n", 4},
				      .etag = {"\"a\r\nX: y\"", 9}};
	struct rec_buffer b;
	(void)state;
	rec_buffer_init(&b, NULL, GH_MARK_BYTES_MAX);
	assert_int_equal(gh_mark_write(&b, &mark), 0);
	assert_slice_equal(rec_buffer_slice(&b), "1;0;0;c;i;0;;?;");
	assert_int_equal(gh_mark_read(rec_buffer_slice(&b), &again), 0);
	rec_buffer_release(&b);
	assert_int_equal(gh_mark_read(rec_slice_of("1;0;0;c;i;0;;?;\"a\r\nX: y\""), &again), REC_E_INVALID);
}

static void test_mark__what_is_not_understood_is_none(void **state)
{
	static const char *const bad[] = {"",
					  "1",
					  "2;0;0;0;o;i;0;;;",
					  "1;0;0;o;i;0;;",
					  "1;x;0;0;o;i;0;;;",
					  "1;-1;0;0;o;i;0;;;",
					  "1;0;0;z;i;0;;;",
					  "1;0;0;oo;i;0;;;",
					  "1;0;0;o;x;0;;;",
					  "1;0;0;o;i;-2;;;",
					  "1;9223372036854775807;0;o;i;0;;;"};
	struct gh_mark mark;
	struct gh_cursor cursor;
	size_t turn;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(gh_mark_read(rec_slice_of(bad[i]), &mark), REC_E_INVALID);
	assert_int_equal(gh_cursor_read(rec_slice_of("1;7;"), &cursor), REC_E_INVALID);
	assert_int_equal(gh_cursor_read(rec_slice_of("1;-7;0;"), &cursor), REC_E_INVALID);
	static const char *const turns[] = {"", "7", "1;7", "2;7;", "1;-7;", "1;x;", "1;7;8", "1;9223372036854775808;"};
	for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++)
		assert_int_equal(gh_turn_read(rec_slice_of(turns[i]), &turn), REC_E_INVALID);
	assert_int_equal(gh_turn_read(rec_slice_of("1;7;"), &turn), 0);
	assert_int_equal(turn, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request__fetch),
		cmocka_unit_test(test_request__a_share_as_the_host_writes_it),
		cmocka_unit_test(test_request__what_is_not_said_has_a_default),
		cmocka_unit_test(test_request__what_is_refused),
		cmocka_unit_test(test_request__memory_that_runs_out),
		cmocka_unit_test(test_mark__comes_back_as_it_was),
		cmocka_unit_test(test_mark__what_could_break_a_line_or_a_header_is_left_out),
		cmocka_unit_test(test_mark__what_is_not_understood_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
