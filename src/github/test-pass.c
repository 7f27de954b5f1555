/* One pass over few links: what each answer means, redirects, what is gone and what only cannot be seen. */
#include "github/test-world.h"

#define SEVEN "\"url\":\"https://github.com/acme/app/issues/7\""
#define ASK_SEVEN "GET /repos/acme/app/issues/7"

/* What the answer to the one link acme/app#7 is, for one answer of GitHub. */
static void assert_seven(int status, const char *headers, const char *body, const char *observation)
{
	const struct test_step steps[] = {{ASK_SEVEN, status, headers, body}, {0}};
	assert_pass_says(FETCH(LINK("acme/app/issues/7")), steps, observation);
}

static void test_pass__an_open_issue(void **state)
{
	(void)state;
	const struct test_step steps[] = {{ASK_SEVEN, 200, "ETag: W/\"a1\"", OPEN_ISSUE("7")}, {0}};
	assert_pass(FETCH(LINK("acme/app/issues/7")), steps,
		    "{\"id\":1,\"observations\":[{" SEVEN ",\"state\":\"open\",\"kind\":\"issue\","
		    "\"time\":\"2017-10-10T15:00:00Z\",\"comments\":2,"
		    "\"validator\":\"" OPEN_MARK "W/\\\"a1\\\"\"}]}\n");
}

static void test_pass__each_reason_is_told_and_an_unknown_one_too(void **state)
{
	static const char *const reasons[] = {"completed", "not_planned", "duplicate", "reopened", "eaten_by_a_grue"};
	(void)state;
	for (size_t i = 0; i < 5; i++) {
		char body[300], wanted[200];
		snprintf(body, sizeof body, ISSUE("7", "\"state\":\"closed\",\"state_reason\":\"%s\""), reasons[i]);
		snprintf(wanted, sizeof wanted, "\"state\":\"closed\",\"kind\":\"issue\",\"reason\":\"%s\"",
			 reasons[i]);
		assert_seven(200, NULL, body, wanted);
	}
	assert_seven(200, NULL, ISSUE("7", "\"state\":\"closed\",\"state_reason\":null"),
		     "\"state\":\"closed\",\"kind\":\"issue\",\"time\":");
	assert_seven(200, NULL, ISSUE("7", "\"state\":\"resting\""), "\"state\":\"unknown\"");
}

static void test_pass__closed_at_is_no_state(void **state)
{
	(void)state;
	assert_seven(
		200, NULL,
		ISSUE("7", "\"state\":\"open\",\"state_reason\":\"reopened\",\"closed_at\":\"2017-10-10T14:00:00Z\""),
		"\"state\":\"open\",\"kind\":\"issue\",\"reason\":\"reopened\"");
}

static void test_pass__a_title_is_opaque(void **state)
{
	(void)state;
	assert_seven(200, NULL, ISSUE("7", "\"title\":\"{{..}} %n $(x) \\\" \\u0007\",\"state\":\"open\""),
		     "\"state\":\"open\"");
}

#define PULL_15 "\"url\":\"https://github.com/acme/app/pull/15\""

static void assert_pull(const char *body, const char *observation)
{
	const struct test_step steps[] = {{"GET /repos/acme/app/issues/15", 200, NULL, body}, {0}};
	assert_pass_says(FETCH(LINK("acme/app/pull/15")), steps, observation);
}

static void test_pass__merged_is_told_from_closed(void **state)
{
	(void)state;
	assert_pull(
		ISSUE("15",
		      "\"state\":\"closed\",\"pull_request\":{\"url\":\"x\",\"merged_at\":\"2017-10-10T15:00:00Z\"}"),
		"\"state\":\"merged\",\"kind\":\"pull_request\"");
	assert_pull(ISSUE("15", "\"state\":\"closed\",\"pull_request\":{\"merged_at\":null}"),
		    "\"state\":\"closed\",\"kind\":\"pull_request\"");
	assert_pull(ISSUE("15", "\"state\":\"open\",\"draft\":true,\"pull_request\":{\"merged_at\":null}"),
		    "\"state\":\"open\",\"kind\":\"pull_request\"");
}

static void test_pass__a_missing_merged_at_is_asked_of_the_pull_request(void **state)
{
	(void)state;
	const char *pulls[] = {"\"merged\":true,\"merged_at\":\"2017-10-10T15:00:00Z\"", "\"merged\":false",
			       "\"merged_at\":null", "\"draft\":false"};
	const char *wanted[] = {"\"state\":\"merged\"", "\"state\":\"closed\"", "\"state\":\"closed\"",
				"\"state\":\"unknown\""};
	for (size_t i = 0; i < 4; i++) {
		char body[300];
		snprintf(body, sizeof body, ISSUE("15", "\"state\":\"closed\",%s"), pulls[i]);
		const struct test_step steps[] = {{"GET /repos/acme/app/issues/15", 200, "ETag: \"e\"",
						   ISSUE("15", "\"state\":\"closed\",\"pull_request\":{}")},
						  {"GET /repos/acme/app/pulls/15", 200, "ETag: \"f\"", body},
						  {0}};
		assert_pass_says(FETCH(LINK("acme/app/pull/15")), steps, wanted[i]);
	}
}

static void test_pass__a_pull_request_that_reopened_in_between_is_not_asked_for_ever(void **state)
{
	(void)state;
	const struct test_step steps[] = {
		{"GET /repos/acme/app/issues/15", 200, NULL, ISSUE("15", "\"state\":\"closed\",\"pull_request\":{}")},
		{"GET /repos/acme/app/pulls/15", 200, NULL, ISSUE("15", "\"state\":\"open\"")},
		{0}};
	assert_pass_says(FETCH(LINK("acme/app/pull/15")), steps, "\"state\":\"unknown\"");
}

/* ---- Conditional requests ---- */

static void test_pass__not_modified_without_a_tag_keeps_the_tag(void **state)
{
	(void)state; /* B24, tick 1: nothing is written, so the tag stays what it was */
	const struct test_step steps[] = {{ASK_SEVEN " | W/\"a1\"", 304, NULL, NULL}, {0}};
	assert_pass(FETCH(LINK_SEEN("acme/app/issues/7", OPEN_MARK "W/\\\"a1\\\"")), steps,
		    "{\"id\":1,\"observations\":[{" SEVEN ",\"state\":\"unchanged\"}]}\n");
}

static void test_pass__a_change_brings_a_new_tag(void **state)
{
	(void)state; /* B24, tick 2 */
	const struct test_step steps[] = {{ASK_SEVEN " | W/\"a1\"", 200, "ETag: \"b2\"", DONE_ISSUE("7")}, {0}};
	assert_pass_says(
		FETCH(LINK_SEEN("acme/app/issues/7", OPEN_MARK "W/\\\"a1\\\"")), steps,
		"\"state\":\"closed\",\"kind\":\"issue\",\"reason\":\"completed\",\"time\":\"2017-10-10T15:00:00Z\","
		"\"comments\":2,\"validator\":\"1;1507651140;1507651200;c;i;2;2017-10-10T15:00:00Z;completed;"
		"\\\"b2\\\"\"");
}

static void test_pass__the_same_again_is_unchanged_but_its_tag_is_kept(void **state)
{
	(void)state;
	const struct test_step steps[] = {{ASK_SEVEN " | \"a1\"", 200, "ETag: \"b2\"", OPEN_ISSUE("7")}, {0}};
	assert_pass(FETCH(LINK_SEEN("acme/app/issues/7", OPEN_MARK "\\\"a1\\\"")), steps,
		    "{\"id\":1,\"observations\":[{" SEVEN ",\"state\":\"unchanged\",\"validator\":\"" OPEN_MARK
		    "\\\"b2\\\"\"}]}\n");
}

static void test_pass__a_new_comment_is_news_though_nothing_else_is(void **state)
{
	(void)state;
	const struct test_step steps[] = {
		{ASK_SEVEN, 200, NULL,
		 "{\"number\":7,\"updated_at\":\"2017-10-10T15:00:00Z\",\"comments\":3,\"state\":\"open\"}"},
		{0}};
	assert_pass_says(FETCH(LINK_SEEN("acme/app/issues/7", OPEN_MARK)), steps,
			 "\"state\":\"open\",\"kind\":\"issue\",\"time\":\"2017-10-10T15:00:00Z\",\"comments\":3");
}

static void test_pass__not_modified_without_having_asked_so_is_read_once_more(void **state)
{
	(void)state; /* B24, the variant */
	const struct test_step once[] = {{ASK_SEVEN, 304, NULL, NULL}, {ASK_SEVEN, 200, NULL, OPEN_ISSUE("7")}, {0}};
	const struct test_step twice[] = {{ASK_SEVEN, 304, NULL, NULL}, {ASK_SEVEN, 304, NULL, NULL}, {0}};
	assert_pass_says(FETCH(LINK("acme/app/issues/7")), once, "\"state\":\"open\"");
	assert_pass_says(FETCH(LINK("acme/app/issues/7")), twice, "\"state\":\"unknown\"");
}

static void test_pass__a_mark_that_is_not_understood_costs_one_read(void **state)
{
	(void)state;
	const struct test_step steps[] = {{ASK_SEVEN, 200, NULL, OPEN_ISSUE("7")}, {0}};
	assert_pass_says(FETCH(LINK_SEEN("acme/app/issues/7", "2;whatever;\\u000a")), steps, "\"state\":\"open\"");
}

/* ---- Redirects ---- */

#define MOVED(number)                                                                                                  \
	ISSUE(number, "\"state\":\"closed\",\"state_reason\":\"completed\",\"html_url\":\"https://github.com/acme/"    \
		      "new/issues/" number "\"")

static void test_pass__a_renamed_repository_is_followed_and_told(void **state)
{
	(void)state; /* B25 (a) */
	const struct test_step steps[] = {
		{ASK_SEVEN, 301, "Location: " API "/repositories/1000/issues/7", "{\"message\":\"Moved Permanently\"}"},
		{"GET /repositories/1000/issues/7", 200, "ETag: \"n\"", MOVED("7")},
		{0}};
	assert_pass_says(FETCH(LINK("acme/app/issues/7")), steps,
			 "\"moved_to\":\"https://github.com/acme/new/issues/7\"");
	assert_pass_says(FETCH(LINK("acme/app/issues/7")), steps, "\"state\":\"closed\"");
}

static void test_pass__a_transferred_issue_has_another_number(void **state)
{
	(void)state;
	const struct test_step steps[] = {{ASK_SEVEN, 301, "Location: /repositories/1000/issues/99", NULL},
					  {"GET /repositories/1000/issues/99", 200, NULL, MOVED("99")},
					  {0}};
	assert_pass_says(FETCH(LINK("acme/app/issues/7")), steps,
			 "\"moved_to\":\"https://github.com/acme/new/issues/99\"");
}

static void test_pass__a_temporary_redirect_is_followed_and_not_told(void **state)
{
	(void)state;
	struct test_run run;
	const struct test_step steps[] = {{ASK_SEVEN, 307, "Location: /repositories/1000/issues/7", NULL},
					  {"GET /repositories/1000/issues/7", 200, NULL, MOVED("7")},
					  {0}};
	test_run_init(&run);
	assert_int_equal(test_pass_with(&run, NULL, FETCH(LINK("acme/app/issues/7")), steps), 0);
	assert_non_null(strstr(run.answer.data, "\"state\":\"closed\""));
	assert_null(strstr(run.answer.data, "moved_to"));
	test_run_release(&run);
}

static void test_pass__another_host_is_not_followed(void **state)
{
	static const char *const places[] = {"https://evil.example/repos/acme/app/issues/7",
					     "//evil.example/x",
					     "http://api.github.com/repositories/1",
					     "https://api.github.com:8443/x",
					     "https://api.github.com@evil.example/x",
					     "https://api.github.com.evil.example/x",
					     "ftp://api.github.com/x",
					     "https:\\\\evil.example/",
					     "relative",
					     ""};
	(void)state; /* B25 (b) */
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		char header[200];
		snprintf(header, sizeof header, "Location: %s", places[i]);
		assert_seven(302, header, NULL, "\"state\":\"unknown\",\"problem\":\"a redirect leads ");
	}
}

static void test_pass__a_redirect_loop_ends(void **state)
{
	(void)state; /* B25 (c) */
	const struct test_step steps[] = {{ASK_SEVEN, 301, "Location: /a", NULL},
					  {"GET /a", 301, "Location: /b", NULL},
					  {"GET /b", 301, "Location: /a", NULL},
					  {"GET /a", 301, "Location: /b", NULL},
					  {"GET /b", 301, "Location: /a", NULL},
					  {"GET /a", 301, "Location: /b", NULL},
					  {0}};
	assert_pass_says(FETCH(LINK("acme/app/issues/7")), steps, "\"problem\":\"redirects without an end\"");
	assert_seven(301, "Location: /repos/acme/app/issues/7", NULL, "\"problem\":\"redirects without an end\"");
}

static void test_pass__moved_out_of_sight_is_not_gone(void **state)
{
	(void)state;
	const struct test_step steps[] = {{ASK_SEVEN, 301, "Location: /repositories/2/issues/7", NULL},
					  {"GET /repositories/2/issues/7", 404, NULL, "{\"message\":\"Not Found\"}"},
					  {0}};
	assert_pass_says(FETCH(LINK("acme/app/issues/7")), steps, "\"state\":\"unknown\"");
}

/* ---- Gone, refused, not seen ---- */

static void test_pass__deleted_is_gone_and_switched_off_is_not(void **state)
{
	(void)state; /* B26 */
	assert_seven(410, NULL, "{\"message\":\"This issue was deleted\"}", "\"state\":\"gone\"");
	assert_seven(410, NULL, "{\"message\":\"Issues are disabled for this repo\"}", "\"state\":\"unknown\"");
	assert_seven(410, NULL, "{\"message\":\"This API version is no longer supported\"}", "\"state\":\"unknown\"");
	assert_seven(410, NULL, "<html>gone fishing</html>", "\"state\":\"unknown\"");
}

static void test_pass__not_found_is_gone_only_where_the_repository_is_seen(void **state)
{
	static const char *const bodies[] = {"{\"full_name\":\"acme/app\",\"has_issues\":true}",
					     "{\"full_name\":\"acme/app\",\"has_issues\":false}",
					     "{\"message\":\"Not Found\"}", "<html>"};
	static const char *const states[] = {"gone", "unknown", "unknown", "unknown"};
	static const int statuses[] = {200, 200, 404, 200};
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char wanted[64];
		snprintf(wanted, sizeof wanted, "\"state\":\"%s\"", states[i]);
		const struct test_step steps[] = {{ASK_SEVEN, 404, NULL, "{\"message\":\"Not Found\"}"},
						  {"GET /repos/acme/app", statuses[i], NULL, bodies[i]},
						  {0}};
		assert_pass_says(FETCH(LINK("acme/app/issues/7")), steps, wanted);
	}
}

#define TEN_AND_ELEVEN LINK("acme/app/issues/10") "," LINK("acme/app/issues/11")

static void test_pass__a_refusal_is_neither_a_limit_nor_gone_and_is_looked_at_again_slowly(void **state)
{
	(void)state; /* B26: #10 */
	const struct test_step refused = {"GET /repos/acme/app/issues/10", 403,
					  "X-RateLimit-Remaining: 4000\nX-RateLimit-Limit: 5000",
					  "{\"message\":\"Resource not accessible by personal access token\"}"};
	const struct test_step eleven = {"GET /repos/acme/app/issues/11", 200, NULL, DONE_ISSUE("11")};
	const struct test_step both[] = {refused, eleven, {0}}, one[] = {eleven, {0}};
	struct gh_holds holds;
	struct test_run run;
	gh_holds_init(&holds, NULL, 1);
	test_run_init(&run);
	run.holds = &holds;
	assert_int_equal(test_pass_with(&run, NULL, FETCH(TEN_AND_ELEVEN), both), 0);
	assert_non_null(strstr(run.answer.data,
			       "issues/10\",\"state\":\"unknown\",\"problem\":\"GitHub answered 403: Resource"));
	assert_non_null(strstr(run.answer.data, "issues/11\",\"state\":\"closed\""));
	run.now_us += (int64_t)(GH_HOLD_S - 1) * 1000000;
	assert_int_equal(test_pass_with(&run, NULL, FETCH(TEN_AND_ELEVEN), one), 0);
	assert_non_null(
		strstr(run.answer.data, "issues/10\",\"state\":\"unknown\",\"problem\":\"GitHub refused it lately"));
	run.now_us += 2000000; /* time is over */
	assert_int_equal(test_pass_with(&run, NULL, FETCH(TEN_AND_ELEVEN), both), 0);
	run.now_us -= (int64_t)GH_HOLD_S * 2000000; /* the clock was set back */
	assert_int_equal(
		test_pass_with(&run, NULL, FETCH(LINK("acme/app/issues/10")), (const struct test_step[]){refused, {0}}),
		0);
	test_run_release(&run);
	gh_holds_release(&holds);
}

static void test_pass__a_bad_token_ends_the_pass(void **state)
{
	(void)state;
	const struct test_step steps[] = {
		{"GET /repos/acme/app/issues/1", 401, NULL, "{\"message\":\"Bad credentials\"}"}, {0}};
	assert_pass_says(FETCH(LINK("acme/app/issues/1") "," LINK("acme/app/issues/2")), steps,
			 "],\"problem\":\"GitHub answered 401: Bad credentials\"}");
}

/* ---- Bodies that are no good ---- */

static void test_pass__a_page_for_people_is_unknown_and_is_shown_short(void **state)
{
	(void)state; /* B22 */
	assert_seven(502, NULL, "<html><body><h1>502 Bad Gateway</h1></body></html>",
		     "\"state\":\"unknown\",\"problem\":\"GitHub answered 502, not JSON: <html><body>");
	assert_seven(200, NULL, "<!DOCTYPE html>", "\"problem\":\"GitHub answered 200, not JSON: <!DOCTYPE html>\"");
	assert_seven(200, NULL, DONE_ISSUE("7"), "\"state\":\"closed\"");
}

static void test_pass__a_body_cut_anywhere_is_unknown(void **state)
{
	static const char body[] = DONE_ISSUE("7");
	(void)state;
	for (size_t length = 0; length < sizeof body - 1; length++) {
		char cut[sizeof body];
		memcpy(cut, body, length);
		cut[length] = 0;
		assert_seven(200, NULL, cut, "\"state\":\"unknown\"");
	}
}

static void test_pass__wrong_types_and_a_wrong_number_are_unknown(void **state)
{
	(void)state;
	static const char *const bodies[] = {"[]",
					     "null",
					     "{}",
					     ISSUE("8", "\"state\":\"closed\""),
					     ISSUE("\"7\"", "\"state\":\"closed\""),
					     ISSUE("7", "\"state\":7"),
					     ISSUE("7", "\"state\":null"),
					     ISSUE("7", "\"state\":{\"state\":\"closed\"}"),
					     "{\"number\":7,\"state\":\"closed\",\"updated_at\":\"yesterday\"}",
					     "{\"number\":7,\"state\":\"closed\"}"};
	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
		assert_seven(200, NULL, bodies[i], "\"state\":\"unknown\"");
}

static void test_pass__links_that_name_nothing_are_unknown_and_not_asked(void **state)
{
	(void)state;
	const struct test_step nothing[] = {{0}};
	assert_pass_says(FETCH("{\"url\":\"https://github.com/acme/app\"},{\"url\":\"x\"}"), nothing,
			 "\"state\":\"unknown\",\"problem\":\"it is not a URL\"");
	assert_pass(FETCH(""), nothing, "{\"id\":1,\"observations\":[]}\n");
}

static int scenario(const struct rec_allocator *a)
{
	const struct test_step steps[] = {
		{ASK_SEVEN, 301, "Location: /repositories/1000/issues/7", NULL},
		{"GET /repositories/1000/issues/7", 200, "ETag: \"n\"", MOVED("7")},
		{"GET /repos/acme/app/issues/8", 404, NULL, "{\"message\":\"Not Found\"}"},
		{"GET /repos/acme/app", 200, NULL, "{\"full_name\":\"acme/app\",\"has_issues\":true}"},
		{0}};
	struct test_run run;
	test_run_init(&run);
	int r = test_pass_with(&run, a, FETCH(LINK("acme/app/issues/7") "," LINK("acme/app/issues/8")), steps);
	test_run_release(&run);
	return r;
}

static void test_pass__memory_that_runs_out(void **state)
{
	(void)state;
	test_fail_every_allocation(scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pass__an_open_issue),
		cmocka_unit_test(test_pass__each_reason_is_told_and_an_unknown_one_too),
		cmocka_unit_test(test_pass__closed_at_is_no_state),
		cmocka_unit_test(test_pass__a_title_is_opaque),
		cmocka_unit_test(test_pass__merged_is_told_from_closed),
		cmocka_unit_test(test_pass__a_missing_merged_at_is_asked_of_the_pull_request),
		cmocka_unit_test(test_pass__a_pull_request_that_reopened_in_between_is_not_asked_for_ever),
		cmocka_unit_test(test_pass__not_modified_without_a_tag_keeps_the_tag),
		cmocka_unit_test(test_pass__a_change_brings_a_new_tag),
		cmocka_unit_test(test_pass__the_same_again_is_unchanged_but_its_tag_is_kept),
		cmocka_unit_test(test_pass__a_new_comment_is_news_though_nothing_else_is),
		cmocka_unit_test(test_pass__not_modified_without_having_asked_so_is_read_once_more),
		cmocka_unit_test(test_pass__a_mark_that_is_not_understood_costs_one_read),
		cmocka_unit_test(test_pass__a_renamed_repository_is_followed_and_told),
		cmocka_unit_test(test_pass__a_transferred_issue_has_another_number),
		cmocka_unit_test(test_pass__a_temporary_redirect_is_followed_and_not_told),
		cmocka_unit_test(test_pass__another_host_is_not_followed),
		cmocka_unit_test(test_pass__a_redirect_loop_ends),
		cmocka_unit_test(test_pass__moved_out_of_sight_is_not_gone),
		cmocka_unit_test(test_pass__deleted_is_gone_and_switched_off_is_not),
		cmocka_unit_test(test_pass__not_found_is_gone_only_where_the_repository_is_seen),
		cmocka_unit_test(test_pass__a_refusal_is_neither_a_limit_nor_gone_and_is_looked_at_again_slowly),
		cmocka_unit_test(test_pass__a_bad_token_ends_the_pass),
		cmocka_unit_test(test_pass__a_page_for_people_is_unknown_and_is_shown_short),
		cmocka_unit_test(test_pass__a_body_cut_anywhere_is_unknown),
		cmocka_unit_test(test_pass__wrong_types_and_a_wrong_number_are_unknown),
		cmocka_unit_test(test_pass__links_that_name_nothing_are_unknown_and_not_asked),
		cmocka_unit_test(test_pass__memory_that_runs_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
