/* close: each step, each interruption, nothing twice. */
#include "github/test-world.h"

#include "github/close.h"

#define ITEM "GET /repos/acme/app/issues/7"
#define COMMENTS "GET /repos/acme/app/issues/7/comments?per_page=100"
#define POST "POST /repos/acme/app/issues/7/comments"
#define PATCH "PATCH /repos/acme/app/issues/7"
#define MARKER "reconciler:b1:t1:2"
#define LINE                                                                                                           \
	"{\"id\":3,\"method\":\"close\",\"url\":\"https://github.com/acme/app/issues/7\",\"comment\":\"Done by "       \
	"t1.\",\"marker\":\"" MARKER "\"}"

/* Runs it and gives the problem ("": closed) and the bodies that were sent. */
static int run_with(const struct rec_allocator *a, const char *line, const struct test_step *steps, bool with_token,
		    struct rec_buffer *problem, struct rec_buffer *bodies)
{
	char text[GH_URL_BYTES_MAX + 300];
	struct rec_arena arena;
	struct gh_place place;
	struct gh_request request;
	struct gh_response response;
	struct gh_close c;
	const struct gh_ask *ask;
	rec_arena_init(&arena, a);
	gh_response_init(&response, a);
	int r = gh_place_init(&place, &arena, rec_slice_of(API), NULL);
	if (r == 0)
		r = gh_request_read(rec_slice_of(line), &arena, &request, NULL);
	bool begun = r == 0;
	if (begun)
		gh_close_init(&c, a, &place, &request, with_token);
	while (begun && r == 0 && (r = gh_close_next(&c, 0, &ask)) == 0) {
		test_ask_text(ask, text, sizeof text);
		assert_string_equal(text, steps->ask ? steps->ask : "(nothing)");
		rec_buffer_add(bodies, ask->body.data, ask->body.length);
		test_response_fill(&response, steps->status, steps->headers, steps->body);
		r = response.body.failed == REC_E_NOMEM ? REC_E_NOMEM : gh_close_answer(&c, &response, TEST_NOW_US);
		steps++;
	}
	if (begun) {
		rec_buffer_add(problem, c.problem.data, c.problem.length);
		if (r == REC_END)
			assert_null(steps->ask);
		gh_close_release(&c);
	}
	gh_response_release(&response);
	rec_arena_release(&arena);
	return r == REC_END ? 0 : r;
}

static void assert_close(const char *line, const struct test_step *steps, bool with_token, const char *problem,
			 const char *sent)
{
	struct rec_buffer said, bodies;
	rec_buffer_init(&said, NULL, SIZE_MAX);
	rec_buffer_init(&bodies, NULL, SIZE_MAX);
	assert_int_equal(run_with(NULL, line, steps, with_token, &said, &bodies), 0);
	assert_slice_equal(rec_buffer_slice(&said), problem);
	assert_slice_equal(rec_buffer_slice(&bodies), sent);
	rec_buffer_release(&said);
	rec_buffer_release(&bodies);
}

#define SENT_COMMENT "{\"body\":\"Done by t1.\\n\\n<!-- " MARKER " -->\"}"
#define SENT_CLOSE "{\"state\":\"closed\",\"state_reason\":\"completed\"}"

static void test_close__comments_then_closes(void **state)
{
	(void)state;
	const struct test_step steps[] = {{ITEM, 200, NULL, OPEN_ISSUE("7")},
					  {COMMENTS, 200, NULL, "[{\"body\":\"hello\"},{\"body\":null}]"},
					  {POST, 201, NULL, "{}"},
					  {PATCH, 200, NULL, DONE_ISSUE("7")},
					  {0}};
	assert_close(LINE, steps, true, "", SENT_COMMENT SENT_CLOSE);
}

static void test_close__a_comment_that_is_there_is_not_written_again(void **state)
{
	(void)state; /* the answer to the comment, or the close, was lost */
	const struct test_step steps[] = {
		{ITEM, 200, NULL, OPEN_ISSUE("7")},
		{COMMENTS, 200, "Link: <" API "/c?page=2>; rel=\"next\"", "[{\"body\":\"hello\"}]"},
		{"GET /c?page=2", 200, NULL, "[{\"body\":\"Done by t1.\\n\\n<!-- " MARKER " -->\"}]"},
		{PATCH, 200, NULL, DONE_ISSUE("7")},
		{0}};
	assert_close(LINE, steps, true, "", SENT_CLOSE);
}

static void test_close__what_is_closed_needs_nothing(void **state)
{
	(void)state;
	const struct test_step steps[] = {{ITEM, 200, NULL, DONE_ISSUE("7")}, {0}};
	assert_close(LINE, steps, true, "", "");
}

static void test_close__a_transferred_issue_is_closed_where_it_is(void **state)
{
	(void)state;
	const struct test_step steps[] = {{ITEM, 301, "Location: /repositories/2/issues/9", NULL},
					  {"GET /repositories/2/issues/9", 200, NULL, OPEN_ISSUE("9")},
					  {"GET /repositories/2/issues/9/comments?per_page=100", 200, NULL, "[]"},
					  {"POST /repositories/2/issues/9/comments", 201, NULL, "{}"},
					  {"PATCH /repositories/2/issues/9", 200, NULL, DONE_ISSUE("9")},
					  {0}};
	assert_close(LINE, steps, true, "", SENT_COMMENT SENT_CLOSE);
}

static void test_close__nothing_is_written_when_in_doubt(void **state)
{
	(void)state;
	const struct test_step pull[] = {{ITEM, 200, NULL, ISSUE("7", "\"state\":\"open\",\"pull_request\":{}")}, {0}};
	const struct test_step odd[] = {{ITEM, 200, NULL, ISSUE("7", "\"state\":\"resting\"")}, {0}};
	const struct test_step html[] = {{ITEM, 200, NULL, OPEN_ISSUE("7")}, {COMMENTS, 200, NULL, "<html>"}, {0}};
	const struct test_step cut[] = {
		{ITEM, 200, NULL, OPEN_ISSUE("7")}, {COMMENTS, 200, NULL, "[{\"body\":\"x\"}"}, {0}};
	const struct test_step loop[] = {{ITEM, 200, NULL, OPEN_ISSUE("7")},
					 {COMMENTS, 200, "Link: <" API "/c>; rel=\"next\"", "[]"},
					 {"GET /c", 200, "Link: <" API "/c>; rel=\"next\"", "[]"},
					 {0}};
	const struct test_step refused[] = {{ITEM, 200, NULL, OPEN_ISSUE("7")},
					    {COMMENTS, 200, NULL, "[]"},
					    {POST, 403, NULL, "{\"message\":\"Resource not accessible\"}"},
					    {0}};
	const struct test_step down[] = {{ITEM, 0, NULL, "no route"}, {0}};
	const struct test_step redirected[] = {{ITEM, 200, NULL, OPEN_ISSUE("7")},
					       {COMMENTS, 200, NULL, "[]"},
					       {POST, 301, "Location: /x", NULL},
					       {0}};
	assert_close(LINE, pull, true, "it is a pull request, which is not closed from here", "");
	assert_close(LINE, odd, true, "GitHub gave an item in a state that is not known", "");
	assert_close(LINE, html, true, "GitHub answered 200, not JSON: <html>", "");
	assert_close(LINE, cut, true, "GitHub answered 200, not JSON: [{\"body\":\"x\"}", "");
	assert_close(LINE, loop, true, "the list of its comments has no end, so whether ours is there is not known",
		     "");
	assert_close(LINE, refused, true, "GitHub answered 403: Resource not accessible", SENT_COMMENT);
	assert_close(LINE, down, true, "GitHub could not be asked: no route", "");
	assert_close(LINE, redirected, true, "a write was redirected", SENT_COMMENT);
}

static void test_close__what_cannot_begin(void **state)
{
	(void)state;
	const struct test_step nothing[] = {{0}};
	assert_close(LINE, nothing, false, "there is no token to write with (set GITHUB_TOKEN or token_file)", "");
	assert_close("{\"id\":3,\"method\":\"close\",\"url\":\"https://github.com/acme/app/issues/7\"}", nothing, true,
		     "close without a marker", "");
	assert_close("{\"id\":3,\"method\":\"close\",\"url\":\"https://example.org/1\",\"marker\":\"m\"}", nothing,
		     true, "it is at another host than the API", "");
}

static int scenario(const struct rec_allocator *a)
{
	const struct test_step steps[] = {
		{ITEM, 200, NULL, OPEN_ISSUE("7")},
		{COMMENTS, 200, "Link: <" API "/c?page=2>; rel=\"next\"", "[{\"body\":\"hello\"}]"},
		{"GET /c?page=2", 200, NULL, "[]"},
		{POST, 201, NULL, "{}"},
		{PATCH, 200, NULL, DONE_ISSUE("7")},
		{0}};
	struct rec_buffer said, bodies;
	rec_buffer_init(&said, NULL, SIZE_MAX);
	rec_buffer_init(&bodies, NULL, SIZE_MAX);
	int r = run_with(a, LINE, steps, true, &said, &bodies);
	rec_buffer_release(&said);
	rec_buffer_release(&bodies);
	return r;
}

static void test_close__memory_that_runs_out(void **state)
{
	(void)state;
	test_fail_every_allocation(scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close__comments_then_closes),
		cmocka_unit_test(test_close__a_comment_that_is_there_is_not_written_again),
		cmocka_unit_test(test_close__what_is_closed_needs_nothing),
		cmocka_unit_test(test_close__a_transferred_issue_is_closed_where_it_is),
		cmocka_unit_test(test_close__nothing_is_written_when_in_doubt),
		cmocka_unit_test(test_close__what_cannot_begin),
		cmocka_unit_test(test_close__memory_that_runs_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
