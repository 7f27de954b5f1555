/* What ends a pass early: limits in every form, the share of the budget, outages, the deadline. */
#include "github/test-world.h"

#define ASK_ONE "GET /repos/acme/app/issues/1"
#define TWO LINK("acme/app/issues/1") "," LINK("acme/other/issues/2")

/* One limited answer: the second link is not asked, both are unknown, and this is how long nothing is. */
static void assert_limited(int status, const char *headers, const char *body, int64_t wait_ms)
{
	char wanted[100];
	const struct test_step steps[] = {{ASK_ONE, status, headers, body}, {0}};
	snprintf(wanted, sizeof wanted, "\"retry_after_ms\":%lld,\"problem\":\"GitHub answered %d", (long long)wait_ms,
		 status);
	assert_pass_says(FETCH(TWO), steps, wanted);
	assert_pass_says(FETCH(TWO), steps, "issues/2\",\"state\":\"unknown\"");
}

static void test_limit__each_form(void **state)
{
	static const char primary[] = "{\"message\":\"API rate limit exceeded for user ID 1.\"}";
	static const char secondary[] = "{\"message\":\"You have exceeded a secondary rate limit. Please wait.\"}";
	static const char abuse[] = "{\"message\":\"You have triggered an abuse detection mechanism.\"}";
	(void)state;
	assert_limited(403, "Retry-After: 30", secondary, 31000);
	assert_limited(429, "Retry-After: 0", secondary, 1000);
	assert_limited(429, "Retry-After: Tue, 10 Oct 2017 16:02:00 GMT", secondary, 121000);
	assert_limited(403, "X-RateLimit-Remaining: 0\nX-RateLimit-Limit: 5000\nX-RateLimit-Reset: 1507652400", primary,
		       1201000);
	/* B21: a bare 403; only the body says so. */
	assert_limited(403, "X-RateLimit-Remaining: 4000\nX-RateLimit-Limit: 5000", secondary, 60000);
	assert_limited(403, NULL, abuse, 60000);
	assert_limited(429, NULL, "<html>Too Many Requests</html>", 60000);
}

static void test_limit__waits_are_clamped(void **state)
{
	(void)state;
	/* Recorded answers have the reset in milliseconds. */
	assert_limited(403, "X-RateLimit-Remaining: 0\nX-RateLimit-Limit: 5000\nX-RateLimit-Reset: 1507652400000", "{}",
		       3600000);
	assert_limited(429, "X-RateLimit-Remaining: 0\nX-RateLimit-Limit: 60\nX-RateLimit-Reset: 1", "{}", 60000);
	assert_limited(429, "X-RateLimit-Remaining: 0\nX-RateLimit-Limit: 60", "{}", 60000);
	assert_limited(429, "Retry-After: 999999999999", "{}", 3600000);
	assert_limited(429, "Retry-After: -5", "{}", 60000);
	assert_limited(429, "Retry-After: soon", "{}", 60000);
	assert_limited(429, "Retry-After: Tue, 10 Oct 2090 16:02:00 GMT", "{}", 3600000);
}

/* A pass that begins with this pause in memory; gives what is in memory then. */
static struct gh_pause pause_after(struct gh_pause pause, const char *line, const struct test_step *steps,
				   const char *part)
{
	struct gh_holds holds;
	struct test_run run;
	gh_holds_init(&holds, NULL, 1);
	holds.pause = pause;
	test_run_init(&run);
	run.holds = &holds;
	assert_int_equal(test_pass_with(&run, NULL, line, steps), 0);
	if (!strstr(run.answer.data, part))
		fail_msg("\"%s\" does not hold \"%s\"", run.answer.data, part);
	test_run_release(&run);
	gh_holds_release(&holds);
	return holds.pause;
}

static void test_limit__without_a_reason_each_time_is_longer(void **state)
{
	static const unsigned before[] = {0, 1, 2, 9};
	static const int64_t waits[] = {60, 120, 240, 3600};
	(void)state;
	const struct test_step steps[] = {{ASK_ONE, 429, NULL, "{}"}, {0}};
	for (size_t i = 0; i < 4; i++) {
		char wanted[64];
		snprintf(wanted, sizeof wanted, "\"retry_after_ms\":%lld,", (long long)waits[i] * 1000);
		struct gh_pause pause =
			pause_after((struct gh_pause){1507651199, before[i], false}, FETCH(TWO), steps, wanted);
		assert_int_equal(pause.until_s, 1507651200 + waits[i]);
		assert_int_equal(pause.strikes, before[i] + 1);
	}
}

static void test_limit__in_a_pause_nothing_is_asked(void **state)
{
	(void)state;
	const struct test_step nothing[] = {{0}};
	const struct test_step over[] = {{ASK_ONE, 200, NULL, OPEN_ISSUE("1")},
					 {"GET /repos/acme/other/issues/2", 200, NULL, OPEN_ISSUE("2")},
					 {0}};
	struct gh_pause pause = pause_after((struct gh_pause){1507651260, 1, false}, FETCH(TWO), nothing,
					    "],\"retry_after_ms\":60000,\"problem\":\"GitHub asked for a pause\"}");
	assert_int_equal(pause.strikes, 1);
	pause_after((struct gh_pause){1507651260, 0, true}, FETCH(TWO), nothing,
		    "\"problem\":\"the rest of the token's budget is left to people\"}");
	pause = pause_after((struct gh_pause){1507651200, 1, false}, FETCH(TWO), over, "\"state\":\"open\"");
	assert_int_equal(pause.strikes, 0);
	/* A pause beyond every limit is a wrong clock's. */
	pause_after((struct gh_pause){9507651200, 1, false}, FETCH(TWO), over, "\"state\":\"open\"");
}

static void test_limit__one_pause_after_the_other(void **state)
{
	(void)state;
	const struct test_step limited[] = {{ASK_ONE, 429, NULL, "{}"}, {0}}, nothing[] = {{0}};
	const struct test_step good[] = {{ASK_ONE, 200, NULL, OPEN_ISSUE("1")}, {0}};
	const struct test_step last[] = {
		{ASK_ONE, 200, "X-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 2000\nX-RateLimit-Reset: 1507651259",
		 OPEN_ISSUE("1")},
		{0}};
	struct gh_holds holds;
	struct test_run run;
	gh_holds_init(&holds, NULL, 1);
	test_run_init(&run);
	run.holds = &holds;
	const char *line = FETCH(LINK("acme/app/issues/1"));
	assert_int_equal(test_pass_with(&run, NULL, line, last), 0); /* the budget's, which is no strike */
	run.now_us += 60000000;
	assert_int_equal(test_pass_with(&run, NULL, line, limited), 0);
	run.now_us += 59000000;
	assert_int_equal(test_pass_with(&run, NULL, line, nothing), 0);
	run.now_us += 1000000; /* over; the next one is twice as long */
	assert_int_equal(test_pass_with(&run, NULL, line, limited), 0);
	assert_non_null(strstr(run.answer.data, "\"retry_after_ms\":120000"));
	run.now_us += 120000000;
	assert_int_equal(test_pass_with(&run, NULL, line, good), 0);
	assert_int_equal(test_pass_with(&run, NULL, line, limited), 0);
	assert_non_null(strstr(run.answer.data, "\"retry_after_ms\":60000"));
	test_run_release(&run);
	gh_holds_release(&holds);
}

static void test_limit__a_plain_refusal_is_none(void **state)
{
	(void)state;
	const struct test_step steps[] = {
		{ASK_ONE, 403, "X-RateLimit-Remaining: 10\nX-RateLimit-Limit: 15", "{\"message\":\"Forbidden\"}"},
		{"GET /repos/acme/other/issues/2", 200, NULL, OPEN_ISSUE("2")},
		{0}};
	assert_pass_says(FETCH(TWO), steps, "issues/2\",\"state\":\"open\"");
}

/* ---- The share of the budget ---- */

static void test_budget__forty_percent_are_left_to_people(void **state)
{
	(void)state;
	const struct test_step left[] = {
		{ASK_ONE, 200, "X-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 2001\nX-RateLimit-Reset: 1507652400",
		 OPEN_ISSUE("1")},
		{"GET /repos/acme/other/issues/2", 200,
		 "X-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 2000\nX-RateLimit-Reset: 1507652400",
		 OPEN_ISSUE("2")},
		{0}};
	const struct test_step spent[] = {
		{ASK_ONE, 200, "X-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 2000\nX-RateLimit-Reset: 1507652400",
		 OPEN_ISSUE("1")},
		{0}};
	assert_pass_says(FETCH(TWO), left,
			 "],\"budget\":{\"limit\":5000,\"remaining\":2000,"
			 "\"reset\":\"2017-10-10T16:20:00.000000+00:00\"},\"retry_after_ms\":1201000}");
	/* The tracker was reached and is well, so it has no problem. */
	assert_pass_says(FETCH(TWO), spent,
			 "issues/2\",\"state\":\"unknown\",\"problem\":\"the rest of the token's budget is left to "
			 "people\"}],\"cursors\":{\"turn\":\"1;1;\"},\"budget\":{\"limit\":5000,\"remaining\":2000,"
			 "\"reset\":\"2017-10-10T16:20:00.000000+00:00\"},\"retry_after_ms\":1201000}");
	assert_pass_says("{\"id\":1,\"method\":\"fetch\",\"budget_share\":1,\"links\":[" TWO "]}", left,
			 "issues/2\",\"state\":\"open\"");
}

static void test_budget__a_budget_that_makes_no_sense_stops_nothing(void **state)
{
	(void)state;
	const struct test_step steps[] = {
		{ASK_ONE, 200, "X-RateLimit-Limit: 0\nX-RateLimit-Remaining: 0", OPEN_ISSUE("1")},
		{"GET /repos/acme/other/issues/2", 200, "X-RateLimit-Limit: many\nX-RateLimit-Remaining: -7",
		 OPEN_ISSUE("2")},
		{0}};
	assert_pass_says(FETCH(TWO), steps, "issues/2\",\"state\":\"open\"");
}

/* ---- Outages and the deadline ---- */

static void test_outage__three_in_a_row_end_the_pass(void **state)
{
	(void)state;
	const struct test_step steps[] = {{"GET /repos/a/a/issues/1", 502, NULL, "<html>"},
					  {"GET /repos/a/b/issues/1", 0, NULL, "connection refused"},
					  {"GET /repos/a/c/issues/1", 503, NULL, "{\"message\":\"unavailable\"}"},
					  {0}};
	const struct test_step recovers[] = {{"GET /repos/a/a/issues/1", 502, NULL, "<html>"},
					     {"GET /repos/a/b/issues/1", 500, NULL, "{}"},
					     {"GET /repos/a/c/issues/1", 200, NULL, OPEN_ISSUE("1")},
					     {"GET /repos/a/d/issues/1", 502, NULL, "<html>"},
					     {0}};
	struct test_run run;
	test_run_init(&run);
#define FOUR LINK("a/a/issues/1") "," LINK("a/b/issues/1") "," LINK("a/c/issues/1") "," LINK("a/d/issues/1")
	assert_int_equal(test_pass_with(&run, NULL, FETCH(FOUR), steps), 0);
	assert_non_null(strstr(run.answer.data, "],\"problem\":\"GitHub answered 503: unavailable\"}"));
	assert_int_equal(test_pass_with(&run, NULL, FETCH(FOUR), recovers), 0);
	assert_non_null(strstr(run.answer.data, "a/c/issues/1\",\"state\":\"open\""));
	assert_null(strstr(run.answer.data, "],\"problem\""));
	test_run_release(&run);
}

static void test_deadline__after_an_answer_an_earlier_outage_is_over(void **state)
{
	(void)state;
	const struct test_step steps[] = {{"GET /repos/a/a/issues/1", 502, NULL, "<html>"},
					  {"GET /repos/a/b/issues/1", 200, NULL, OPEN_ISSUE("1")},
					  {0}};
	struct test_run run;
	test_run_init(&run);
	run.elapsed_ms = 9700;
	run.answer_ms = 10000;
	assert_int_equal(test_pass_with(&run, NULL, FETCH(FOUR), steps), 0);
	assert_non_null(strstr(run.answer.data, "a/b/issues/1\",\"state\":\"open\""));
	assert_non_null(
		strstr(run.answer.data, "a/c/issues/1\",\"state\":\"unknown\",\"problem\":\"not asked in time"));
	assert_null(strstr(run.answer.data, "],\"problem\""));
	test_run_release(&run);
}

static void test_deadline__what_was_not_asked_is_unknown_and_nobodys_fault(void **state)
{
	(void)state;
	struct test_run run;
	const struct test_step nothing[] = {{0}};
	test_run_init(&run);
	run.elapsed_ms = 29600;
	assert_int_equal(test_pass_with(&run, NULL, FETCH(LINK("acme/app/issues/1")), nothing), 0);
	assert_slice_equal(
		rec_buffer_slice(&run.answer),
		"{\"id\":1,\"observations\":[{\"url\":\"https://github.com/acme/app/issues/1\",\"state\":\"unknown\","
		"\"problem\":\"not asked in time; the next pass goes on\"}]}\n");
	test_run_release(&run);
}

static void test_deadline__each_link_gets_its_turn(void **state)
{
	(void)state;
	struct test_run run;
	const struct test_step first[] = {{"GET /repos/a/a/issues/1", 200, NULL, OPEN_ISSUE("1")},
					  {"GET /repos/a/b/issues/1", 200, NULL, OPEN_ISSUE("1")},
					  {0}};
	const struct test_step second[] = {{"GET /repos/a/c/issues/1", 200, NULL, OPEN_ISSUE("1")},
					   {"GET /repos/a/d/issues/1", 200, NULL, OPEN_ISSUE("1")},
					   {"GET /repos/a/a/issues/1", 200, NULL, OPEN_ISSUE("1")},
					   {0}};
	const struct test_step third[] = {{"GET /repos/a/b/issues/1", 200, NULL, OPEN_ISSUE("1")},
					  {"GET /repos/a/c/issues/1", 200, NULL, OPEN_ISSUE("1")},
					  {"GET /repos/a/d/issues/1", 200, NULL, OPEN_ISSUE("1")},
					  {"GET /repos/a/a/issues/1", 200, NULL, OPEN_ISSUE("1")},
					  {0}};
	const struct test_step nothing[] = {{0}};
	test_run_init(&run);
	run.answer_ms = 15000;
	assert_int_equal(test_pass_with(&run, NULL, FETCH(FOUR), first), 0);
	assert_non_null(strstr(run.answer.data, "\"cursors\":{\"turn\":\"1;2;\"}"));
	run.answer_ms = 10000; /* another process goes on */
	assert_int_equal(test_pass_with(&run, NULL, FETCH_FROM(FOUR, "\"turn\":\"1;2;\""), second), 0);
	assert_non_null(strstr(run.answer.data, "\"cursors\":{\"turn\":\"1;1;\"}"));
	run.answer_ms = 0; /* there were more links then; all can be read now */
	assert_int_equal(test_pass_with(&run, NULL, FETCH_FROM(FOUR, "\"turn\":\"1;5;\""), third), 0);
	assert_non_null(strstr(run.answer.data, "\"cursors\":{\"turn\":null}"));
	run.elapsed_ms = 29600; /* nothing was asked, so it stays */
	assert_int_equal(test_pass_with(&run, NULL, FETCH_FROM(FOUR, "\"turn\":\"1;2;\""), nothing), 0);
	assert_null(strstr(run.answer.data, "cursors"));
	test_run_release(&run);
}

#define THREE(repo) LINK("a/" repo "/issues/1") "," LINK("a/" repo "/issues/2") "," LINK("a/" repo "/issues/3")

static void test_deadline__a_turn_is_not_lost_while_listings_are_read(void **state)
{
	(void)state;
	struct test_run run;
	const struct test_step steps[] = {
		{"GET /repos/a/a/issues?state=all&sort=updated&direction=asc&per_page=100", 200, NULL, "[]"}, {0}};
	test_run_init(&run);
	run.anonymous = true;
	run.answer_ms = 29600;
	const char *line = FETCH_FROM(THREE("a") "," THREE("b"), "\"turn\":\"1;2;\"");
	assert_int_equal(test_pass_with(&run, NULL, line, steps), 0);
	assert_null(strstr(run.answer.data, "turn"));
	test_run_release(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit__each_form),
		cmocka_unit_test(test_limit__waits_are_clamped),
		cmocka_unit_test(test_limit__without_a_reason_each_time_is_longer),
		cmocka_unit_test(test_limit__in_a_pause_nothing_is_asked),
		cmocka_unit_test(test_limit__one_pause_after_the_other),
		cmocka_unit_test(test_limit__a_plain_refusal_is_none),
		cmocka_unit_test(test_budget__forty_percent_are_left_to_people),
		cmocka_unit_test(test_budget__a_budget_that_makes_no_sense_stops_nothing),
		cmocka_unit_test(test_outage__three_in_a_row_end_the_pass),
		cmocka_unit_test(test_deadline__after_an_answer_an_earlier_outage_is_over),
		cmocka_unit_test(test_deadline__what_was_not_asked_is_unknown_and_nobodys_fault),
		cmocka_unit_test(test_deadline__each_link_gets_its_turn),
		cmocka_unit_test(test_deadline__a_turn_is_not_lost_while_listings_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
