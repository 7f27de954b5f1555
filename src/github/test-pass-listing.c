/* Many links of one repository: the listing, its pages, its cursor, and batches. */
#include "github/test-world.h"

#define LISTING "GET /repos/acme/app/issues?state=all&sort=updated&direction=asc"
/* A listing since 15:00 (1507647600). */
#define SINCE LISTING "&since=2017-10-10T15:00:00Z&per_page=100"
#define CURSOR_OF(links, etag) "\"repo:acme/app\":\"1;1507647600;" links ";" etag "\""
#define CURSOR(etag) CURSOR_OF(ONE_TO_THREE, etag)
/* Fingerprints of their numbers. */
#define ONE_TO_THREE "2028514652821299400"
#define AND_NINE "6699227646874173726"
#define AND_EIGHT_AND_NINE "3262726307556066949"
#define ONE_TO_150 "8718790343756708174"
/* Known, open, last changed at 14:00, covered until 15:59, verified at 16:00. */
#define QUIET "1;1507651140;1507651200;o;i;2;2017-10-10T14:00:00Z;;"
#define QUIET_LINKS                                                                                                    \
	LINK_SEEN("acme/app/issues/1", QUIET)                                                                          \
	"," LINK_SEEN("Acme/App/issues/2", QUIET) "," LINK_SEEN("acme/app/issues/3", QUIET)
#define UNCHANGED(path) "{\"url\":\"https://github.com/" path "\",\"state\":\"unchanged\"}"
#define ALL_UNCHANGED                                                                                                  \
	UNCHANGED("acme/app/issues/1") "," UNCHANGED("Acme/App/issues/2") "," UNCHANGED("acme/app/issues/3")

static void test_listing__one_conditional_request_tells_of_all(void **state)
{
	(void)state;
	const struct test_step steps[] = {{SINCE " | \"p1\"", 304, NULL, NULL}, {0}};
	assert_pass(FETCH_FROM(QUIET_LINKS, CURSOR("\\\"p1\\\"")), steps,
		    "{\"id\":1,\"observations\":[" ALL_UNCHANGED "]}\n");
}

static void test_listing__what_is_in_it_is_told_and_the_rest_is_unchanged(void **state)
{
	(void)state; /* B23: whatever the age; a title is opaque */
	const struct test_step steps[] = {
		{SINCE " | \"p1\"", 200, "ETag: \"p2\"",
		 "[" ISSUE("77", "\"title\":\"{{..}} %n $(x)\",\"state\":\"open\"") "," DONE_ISSUE("2") "]"},
		{0}};
	assert_pass(FETCH_FROM(QUIET_LINKS, CURSOR("\\\"p1\\\"")), steps,
		    "{\"id\":1,\"observations\":[" UNCHANGED(
			    "acme/app/issues/1") ","
						 "{\"url\":\"https://github.com/Acme/App/issues/"
						 "2\",\"state\":\"closed\",\"kind\":\"issue\","
						 "\"reason\":\"completed\",\"time\":\"2017-10-10T15:00:00Z\","
						 "\"comments\":2,"
						 "\"validator\":\"1;1507651140;1507651200;c;i;2;2017-10-10T15:00:00Z;"
						 "completed;\"}," UNCHANGED(
							 "acme/app/issues/3") "],\"cursors\":{\"repo:acme/"
									      "app\":\"1;1507647600;" ONE_TO_THREE
									      ";\\\"p2\\\"\"}}\n");
}

static void test_listing__without_a_tag_in_the_answer_the_next_one_is_unconditional(void **state)
{
	(void)state;
	const struct test_step steps[] = {{SINCE " | \"p1\"", 200, NULL, "[]"}, {0}};
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("\\\"p1\\\"")), steps,
			 "\"cursors\":{\"repo:acme/app\":\"1;1507647600;" ONE_TO_THREE ";\"}");
}

/* ---- Pages ---- */

static char *page_of(char *out, size_t capacity, unsigned first, unsigned count, const char *time)
{
	size_t length = (size_t)snprintf(out, capacity, "[");
	for (unsigned i = 0; i < count; i++)
		length += (size_t)snprintf(out + length, capacity - length,
					   "%s{\"number\":%u,\"state\":\"open\",\"comments\":0,\"updated_at\":\"%s\"}",
					   i ? "," : "", first + i, time);
	snprintf(out + length, capacity - length, "]");
	return out;
}

#define NEXT(n)                                                                                                        \
	"Link: <https://api.github.com/repositories/9/issues?per_page=100&page=" n                                     \
	">; rel=\"next\", <https://api.github.com/repositories/9/issues?page=2>; rel=\"last\""
#define PAGE(n) "GET /repositories/9/issues?per_page=100&page=" n

/* 150 links of one repository, so that two pages are not dear. */
static char *many_links(char *out, size_t capacity, const char *mark, const char *cursors)
{
	size_t length =
		(size_t)snprintf(out, capacity, "{\"id\":1,\"method\":\"fetch\",\"cursors\":{%s},\"links\":[", cursors);
	for (unsigned i = 1; i <= 150; i++)
		length += (size_t)snprintf(out + length, capacity - length,
					   "%s{\"url\":\"https://github.com/acme/app/issues/%u\",\"validator\":\"%s\"}",
					   i > 1 ? "," : "", i, mark);
	snprintf(out + length, capacity - length, "]}");
	return out;
}

struct pages {
	char line[40000], one[20000], two[20000];
	struct test_run run;
};

static int setup(void **state)
{
	struct pages *p = test_calloc(1, sizeof *p);
	test_run_init(&p->run);
	many_links(p->line, sizeof p->line, QUIET, CURSOR(""));
	page_of(p->one, sizeof p->one, 1001, 100, "2017-10-10T15:10:00Z");
	page_of(p->two, sizeof p->two, 150, 1, "2017-10-10T15:20:00Z");
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct pages *p = *state;
	test_run_release(&p->run);
	test_free(p);
	return 0;
}

static void assert_run(struct pages *p, const struct test_step *steps, const char *part)
{
	assert_int_equal(test_pass_with(&p->run, NULL, p->line, steps), 0);
	if (!strstr(p->run.answer.data, part))
		fail_msg("\"%s\" does not hold \"%s\"", p->run.answer.data, part);
}

static void test_listing__pages_are_followed_as_they_stand_and_confirmed(void **state)
{
	struct pages *p = *state;
	const struct test_step steps[] = {{SINCE, 200, "ETag: \"p1\"\n" NEXT("2"), p->one},
					  {PAGE("2"), 200, "ETag: \"p2\"", p->two},
					  {SINCE " | \"p1\"", 304, NULL, NULL},
					  {0}};
	/* The cursor moves to a minute before the newest change, and every link is covered up to there. */
	assert_run(p, steps, "\"cursors\":{\"repo:acme/app\":\"1;1507648740;" ONE_TO_150 ";\"}");
	assert_run(p, steps, "issues/150\",\"state\":\"open\"");
	assert_null(strstr(p->run.answer.data, "unknown"));
	assert_int_equal(p->run.costs.requests, 3);
}

static void test_listing__a_page_that_changed_meanwhile_proves_nothing(void **state)
{
	struct pages *p = *state;
	const char *hidden = "{\"data\":{\"r0\":null},\"errors\":[{\"type\":\"NOT_FOUND\",\"path\":[\"r0\"]}]}";
	const struct test_step steps[] = {{SINCE, 200, "ETag: \"p1\"\n" NEXT("2"), p->one},
					  {PAGE("2"), 200, "ETag: \"p2\"", p->two},
					  {SINCE " | \"p1\"", 200, "ETag: \"p3\"", p->one},
					  {"POST /graphql", 200, NULL, hidden},
					  {"POST /graphql", 200, NULL, hidden},
					  {0}};
	const struct test_step without_a_tag[] = {{SINCE, 200, NEXT("2"), p->one},
						  {PAGE("2"), 200, "ETag: \"p2\"", p->two},
						  {"POST /graphql", 200, NULL, hidden},
						  {"POST /graphql", 200, NULL, hidden},
						  {0}};
	assert_run(p, steps, "issues/149\",\"state\":\"unknown\"");
	assert_null(strstr(p->run.answer.data, "unchanged"));
	assert_null(strstr(p->run.answer.data, "1507648740"));
	assert_run(p, without_a_tag, "issues/149\",\"state\":\"unknown\"");
	assert_null(strstr(p->run.answer.data, "1507648740"));
}

/* However the paging is broken, what was not seen is read itself, not taken for unchanged. */
static void assert_incomplete(struct pages *p, const char *first, const char *second_page, const char *second)
{
	const char *hidden = "{\"data\":{\"r0\":null},\"errors\":[{\"type\":\"NOT_FOUND\",\"path\":[\"r0\"]}]}";
	struct test_step steps[6] = {{SINCE, 200, first, p->one}};
	size_t at = 1;
	if (second_page)
		steps[at++] = (struct test_step){second_page, 200, second, p->two};
	steps[at++] = (struct test_step){"POST /graphql", 200, NULL, hidden};
	steps[at] = (struct test_step){"POST /graphql", 200, NULL, hidden};
	assert_run(p, steps, "issues/149\",\"state\":\"unknown\"");
	assert_null(strstr(p->run.answer.data, "unchanged"));
}

static void test_listing__odd_paging_is_incomplete(void **state)
{
	struct pages *p = *state;
	/* The same page again: a loop. */
	assert_incomplete(p, "ETag: \"p1\"\n" NEXT("2"), PAGE("2"), "ETag: \"p2\"\n" NEXT("2"));
	/* Fewer pages than were told. */
	assert_incomplete(p, "Link: <" API "/p?page=2>; rel=\"next\", <" API "/p?page=3>; rel=\"last\"",
			  "GET /p?page=2", "Link: <" API "/p?page=1>; rel=\"last\", <" API "/p?page=3>; rel=\"next\"");
	/* Another host. */
	assert_incomplete(p, "Link: <https://evil.example/p?page=2>; rel=\"next\"", NULL, NULL);
	assert_incomplete(p, "Link: <http://api.github.com/p?page=2>; rel=\"next\"", NULL, NULL);
	/* More pages than it costs to ask for each. */
	assert_incomplete(p, "Link: <" API "/p?page=2>; rel=\"next\", <" API "/p?page=9>; rel=\"last\"", NULL, NULL);
	/* No tag to prove with that the first page is as it was. */
	assert_incomplete(p, NEXT("2"), PAGE("2"), "ETag: \"p2\"");
}

static void test_listing__pages_without_an_end_are_given_up(void **state)
{
	struct pages *p = *state;
	struct test_step steps[8] = {{SINCE, 200, "Link: <" API "/p?page=2>; rel=\"next\"", p->one},
				     {"GET /p?page=2", 200, "Link: <" API "/p?page=3>; rel=\"next\"", p->one},
				     {"GET /p?page=3", 200, "Link: <" API "/p?page=4>; rel=\"next\"", p->one},
				     {"POST /graphql", 502, NULL, "<html>"},
				     {"GET /repos/acme/app/issues/1", 502, NULL, "<html>"},
				     {"GET /repos/acme/app/issues/2", 502, NULL, "<html>"}};
	many_links(p->line, sizeof p->line, QUIET, CURSOR(""));
	assert_run(p, steps,
		   "\"1;1507651140;" ONE_TO_150 ";\"},\"problem\":\"GitHub answered 502, not JSON: <html>\"}");
	assert_null(strstr(p->run.answer.data, "unchanged"));
}

static void test_listing__a_full_page_has_no_tag(void **state)
{
	(void)state; /* a further change would begin a second page and leave this one as it was */
	static char full[20000];
	page_of(full, sizeof full, 1001, 100, "2017-10-10T15:00:30Z");
	const struct test_step steps[] = {{SINCE, 200, "ETag: \"p1\"", full}, {0}};
	assert_pass(FETCH_FROM(QUIET_LINKS, CURSOR("")), steps, "{\"id\":1,\"observations\":[" ALL_UNCHANGED "]}\n");
}

static void test_listing__the_moment_is_held_until_many_changed(void **state)
{
	(void)state;
	static char page[20000];
	const struct test_step steps[] = {{SINCE, 200, "ETag: \"p1\"", page}, {0}};
	page_of(page, sizeof page, 1001, 50, "2017-10-10T15:30:00Z");
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("")), steps,
			 "\"repo:acme/app\":\"1;1507647600;" ONE_TO_THREE ";\\\"p1\\\"\"");
	page_of(page, sizeof page, 1001, 51, "2017-10-10T15:30:00Z");
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("")), steps,
			 "\"repo:acme/app\":\"1;1507649340;" ONE_TO_THREE ";\"");
}

static void test_listing__links_get_the_moment_they_are_covered_to_when_it_moves(void **state)
{
	(void)state;
	static char page[20000];
	const struct test_step steps[] = {{SINCE, 200, "ETag: \"p1\"", page}, {0}};
	page_of(page, sizeof page, 1001, 51, "2017-10-10T15:58:00Z");
#define EARLIER "1;1507647600;1507651200;o;i;2;2017-10-10T14:00:00Z;;"
	assert_pass_says(
		FETCH_FROM(LINK_SEEN("acme/app/issues/1", EARLIER) "," LINK_SEEN(
				   "acme/app/issues/2", EARLIER) "," LINK_SEEN("acme/app/issues/3", EARLIER),
			   CURSOR("")),
		steps,
		"\"state\":\"unchanged\",\"validator\":\"1;1507651020;1507651200;o;i;2;2017-10-10T14:00:00Z;;\"");
}

/* ---- What a listing does not cover ---- */

#define GRAPHQL_ISSUE(alias, number)                                                                                   \
	"\"" alias "\":{\"__typename\":\"Issue\",\"number\":" number                                                   \
	",\"html_url\":\"https://github.com/acme/app/issues/" number                                                   \
	"\",\"updated_at\":\"2017-10-10T14:00:00Z\",\"comments\":{\"totalCount\":2},\"issue_state\":\"OPEN\",\"state_" \
	"reason\":null}"

static void test_listing__a_new_link_is_read_itself(void **state)
{
	(void)state;
	const struct test_step steps[] = {{SINCE " | \"p1\"", 304, NULL, NULL},
					  {"GET /repos/acme/app/issues/9", 200, "ETag: \"i\"", OPEN_ISSUE("9")},
					  {0}};
	assert_pass_says(FETCH_FROM(QUIET_LINKS "," LINK("acme/app/issues/9"), CURSOR_OF(AND_NINE, "\\\"p1\\\"")),
			 steps, "issues/9\",\"state\":\"open\"");
}

static void test_listing__a_link_that_was_left_out_while_the_moment_moved_is_read_itself(void **state)
{
	(void)state; /* covered until 14:59:59, and the listing begins at 15:00 */
	const struct test_step steps[] = {{SINCE " | \"p1\"", 304, NULL, NULL},
					  {"GET /repos/acme/app/issues/9", 200, "ETag: \"i\"", DONE_ISSUE("9")},
					  {0}};
	assert_pass_says(FETCH_FROM(QUIET_LINKS "," LINK_SEEN("acme/app/issues/9",
							      "1;1507647599;1507651200;o;i;2;2017-10-10T14:00:00Z;;"),
				    CURSOR_OF(AND_NINE, "\\\"p1\\\"")),
			 steps, "issues/9\",\"state\":\"closed\"");
}

static void test_listing__what_should_be_in_it_and_is_not_is_looked_for(void **state)
{
	(void)state; /* changed at 15:30, listing since 15:00: it was deleted or transferred */
	const struct test_step steps[] = {
		{SINCE, 200, NULL, "[]"},
		{"GET /repos/acme/app/issues/9", 410, NULL, "{\"message\":\"This issue was deleted\"}"},
		{0}};
	assert_pass_says(FETCH_FROM(QUIET_LINKS "," LINK_SEEN("acme/app/issues/9",
							      "1;1507651140;1507651200;o;i;2;2017-10-10T15:30:00Z;;"),
				    CURSOR("")),
			 steps, "issues/9\",\"state\":\"gone\"");
}

static void test_listing__after_an_hour_links_are_verified_in_one_batch(void **state)
{
	(void)state;
#define OLD "1;1507651140;1507647600;o;i;2;2017-10-10T14:00:00Z;;"
	struct test_run run;
	const struct test_step steps[] = {
		{SINCE " | \"p1\"", 304, NULL, NULL},
		{"POST /graphql", 200, NULL,
		 "{\"data\":{\"r0\":{" GRAPHQL_ISSUE("i0", "1") "," GRAPHQL_ISSUE(
			 "i1", "2") ",\"i2\":null}},"
				    "\"errors\":[{\"type\":\"NOT_FOUND\",\"path\":[\"r0\",\"i2\"],\"message\":\"Could "
				    "not resolve\"}]}"},
		{"GET /repos/acme/app/issues/3", 301, "Location: /repositories/2/issues/5", NULL},
		{"GET /repositories/2/issues/5", 200, NULL,
		 ISSUE("5", "\"state\":\"open\",\"html_url\":\"https://github.com/acme/other/issues/5\"")},
		{0}};
	test_run_init(&run);
	assert_int_equal(
		test_pass_with(&run, NULL,
			       FETCH_FROM(LINK_SEEN("acme/app/issues/1", OLD) "," LINK_SEEN(
						  "acme/app/issues/2", OLD) "," LINK_SEEN("acme/app/issues/3", OLD),
					  CURSOR("\\\"p1\\\"")),
			       steps),
		0);
	assert_non_null(strstr(run.answer.data, "issues/"
						"2\",\"state\":\"unchanged\",\"validator\":\"1;1507651140;1507651200;"
						"o;i;2;2017-10-10T14:00:00Z;;\""));
	assert_non_null(strstr(run.answer.data, "\"moved_to\":\"https://github.com/acme/other/issues/5\""));
	assert_slice_equal(rec_buffer_slice(&run.bodies),
			   "{\"query\":\"query{r0:repository(owner:\\\"acme\\\",name:\\\"app\\\"){i0:"
			   "issueOrPullRequest(number:1){...f}"
			   "i1:issueOrPullRequest(number:2){...f}i2:issueOrPullRequest(number:3){...f}}}"
			   "fragment f on IssueOrPullRequest{__typename ...on "
			   "Issue{number "
			   "html_url:url updated_at:updatedAt comments{totalCount}issue_state:state "
			   "state_reason:stateReason(enableDuplicate:true)}...on PullRequest{number html_url:url "
			   "updated_at:updatedAt comments{totalCount}pull_state:state}}\"}");
	test_run_release(&run);
}

static void test_listing__as_it_was_tells_only_of_those_that_were_asked_about_then(void **state)
{
	(void)state; /* number 9 was left out when the listing was read, which may have held its news: no condition now
		      */
	const struct test_step steps[] = {
		{SINCE, 200, "ETag: \"p1\"", "[" ISSUE("9", "\"state\":\"closed\",\"state_reason\":\"completed\"") "]"},
		{0}};
	assert_pass_says(FETCH_FROM(QUIET_LINKS "," LINK_SEEN("acme/app/issues/9", QUIET), CURSOR("\\\"p1\\\"")), steps,
			 "issues/9\",\"state\":\"closed\"");
	assert_pass_says(FETCH_FROM(QUIET_LINKS "," LINK_SEEN("acme/app/issues/9", QUIET), CURSOR("\\\"p1\\\"")), steps,
			 "{\"repo:acme/app\":\"1;1507647600;" AND_NINE ";\\\"p1\\\"\"}");
}

static void test_listing__news_that_could_not_be_told_are_asked_for_again(void **state)
{
	(void)state; /* closed, but was it merged? */
	const struct test_step steps[] = {{SINCE " | \"p1\"", 200, "ETag: \"p2\"",
					   "[" ISSUE("2", "\"state\":\"closed\",\"pull_request\":{}") "]"},
					  {"GET /repos/Acme/App/pulls/2", 502, NULL, "<html>"},
					  {0}};
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("\\\"p1\\\"")), steps,
			 "{\"repo:acme/app\":\"1;1507647600;" ONE_TO_THREE ";\"}");
}

/* ---- The first pass ---- */

#define NEW_LINKS LINK("acme/app/issues/1") "," LINK("acme/app/issues/2") "," LINK("acme/app/issues/3")

static void test_listing__the_first_pass_is_a_batch_and_begins_the_listing(void **state)
{
	(void)state;
	const struct test_step steps[] = {{"POST /graphql", 200, NULL,
					   "{\"data\":{\"r0\":{" GRAPHQL_ISSUE("i0", "1") "," GRAPHQL_ISSUE(
						   "i1", "2") "," GRAPHQL_ISSUE("i2", "3") "}}}"},
					  {0}};
	assert_pass_says(FETCH(NEW_LINKS), steps,
			 "\"cursors\":{\"repo:acme/app\":\"1;1507651140;" ONE_TO_THREE ";\"}}");
}

static void test_listing__without_the_servers_clock_there_is_no_cursor(void **state)
{
	(void)state;
	struct test_run run;
	const struct test_step steps[] = {{"POST /graphql", 200, "-",
					   "{\"data\":{\"r0\":{" GRAPHQL_ISSUE("i0", "1") "," GRAPHQL_ISSUE(
						   "i1", "2") "," GRAPHQL_ISSUE("i2", "3") "}}}"},
					  {0}};
	test_run_init(&run);
	assert_int_equal(test_pass_with(&run, NULL, FETCH(NEW_LINKS), steps), 0);
	assert_null(strstr(run.answer.data, "cursors"));
	test_run_release(&run);
}

static void test_listing__without_a_token_the_whole_listing_is_read_if_it_is_short(void **state)
{
	(void)state;
	struct test_run run;
	const struct test_step steps[] = {{LISTING "&per_page=100", 200, "ETag: \"w\"",
					   "[" OPEN_ISSUE("1") "," OPEN_ISSUE("2") "," OPEN_ISSUE("3") "]"},
					  {0}};
	test_run_init(&run);
	run.anonymous = true;
	assert_int_equal(test_pass_with(&run, NULL, FETCH(NEW_LINKS), steps), 0);
	assert_non_null(strstr(run.answer.data, "\"cursors\":{\"repo:acme/app\":\"1;0;" ONE_TO_THREE ";\\\"w\\\"\"}"));
	test_run_release(&run);
}

static void test_batch__a_pull_request_in_capitals(void **state)
{
	(void)state;
	const char *const states[] = {"OPEN", "CLOSED", "MERGED"}, *const wanted[] = {"open", "closed", "merged"};
	for (size_t i = 0; i < 3; i++) {
		char body[1200], part[100];
		snprintf(body, sizeof body,
			 "{\"data\":{\"r0\":{" GRAPHQL_ISSUE("i0", "1") "," GRAPHQL_ISSUE(
				 "i1", "2") ",\"i2\":{\"__typename\":\"PullRequest\","
					    "\"number\":3,\"updated_at\":\"2017-10-10T14:00:00Z\",\"comments\":{"
					    "\"totalCount\":0},\"pull_state\":\"%s\"}}}}",
			 states[i]);
		snprintf(part, sizeof part, "issues/3\",\"state\":\"%s\",\"kind\":\"pull_request\"", wanted[i]);
		const struct test_step steps[] = {{"POST /graphql", 200, NULL, body}, {0}};
		assert_pass_says(FETCH(NEW_LINKS), steps, part);
	}
}

static void test_batch__errors_with_status_200(void **state)
{
	(void)state;
	const struct test_step limited[] = {
		{"POST /graphql", 200, "X-RateLimit-Reset: 1507651500",
		 "{\"errors\":[{\"type\":\"RATE_LIMITED\",\"message\":\"API rate limit exceeded\"}]}"},
		{0}};
	const struct test_step broken[] = {
		{"POST /graphql", 200, NULL, "{\"errors\":[{\"message\":\"Something went wrong\"}],\"data\":null}"},
		{"GET /repos/acme/app/issues/1", 200, NULL, OPEN_ISSUE("1")},
		{"GET /repos/acme/app/issues/2", 200, NULL, OPEN_ISSUE("2")},
		{"GET /repos/acme/app/issues/3", 200, NULL, OPEN_ISSUE("3")},
		{0}};
	const struct test_step hidden[] = {
		{"POST /graphql", 200, NULL,
		 "{\"data\":{\"r0\":null},\"errors\":[{\"type\":\"NOT_FOUND\",\"path\":[\"r0\"]}]}"},
		{0}};
	const struct test_step refused[] = {
		{"POST /graphql", 200, NULL,
		 "{\"data\":{\"r0\":null},\"errors\":[{\"type\":\"FORBIDDEN\",\"path\":[\"r0\"]}]}"},
		{0}};
	assert_pass_says(FETCH(NEW_LINKS), limited, "],\"retry_after_ms\":301000,\"problem\":\"");
	assert_pass_says(FETCH(NEW_LINKS), broken, "issues/2\",\"state\":\"open\"");
	assert_pass_says(FETCH(NEW_LINKS), hidden,
			 "issues/2\",\"state\":\"unknown\",\"problem\":\"the repository is not visible");
	assert_pass_says(FETCH(NEW_LINKS), refused, "\"state\":\"unknown\",\"problem\":\"GitHub refuses");
}

/* A GitHub without GraphQL: the batch is refused, then `count` issues from `first` on (1 to 150) are read one by one.
 */
static void steps_without_batches(struct test_step *steps, char (*texts)[2][200], unsigned first, unsigned count)
{
	*steps++ = (struct test_step){"POST /graphql", 404, NULL, "{\"message\":\"Not Found\"}"};
	for (unsigned i = 0; i < count; i++) {
		unsigned number = (first - 1 + i) % 150 + 1;
		snprintf(texts[i][0], sizeof texts[i][0], "GET /repos/acme/app/issues/%u", number);
		snprintf(texts[i][1], sizeof texts[i][1],
			 "{\"number\":%u,\"state\":\"open\",\"comments\":0,\"updated_at\":\"2017-10-10T15:00:00Z\"}",
			 number);
		*steps++ = (struct test_step){texts[i][0], 200, "-", texts[i][1]};
	}
	*steps = (struct test_step){0};
}

static void test_batch__without_it_a_hundred_are_read_singly_and_the_next_pass_goes_on(void **state)
{
	struct pages *p = *state;
	static struct test_step steps[GH_FALLBACK_MAX + 2];
	static char texts[GH_FALLBACK_MAX][2][200];
	struct gh_holds holds;
	gh_holds_init(&holds, NULL, 1);
	p->run.holds = &holds;
	many_links(p->line, sizeof p->line, "never seen", "");
	steps_without_batches(steps, texts, 1, GH_FALLBACK_MAX);
	assert_run(p, steps, "issues/101\",\"state\":\"unknown\",\"problem\":\"GitHub answered 404: Not Found\"");
	steps_without_batches(steps, texts, 101, GH_FALLBACK_MAX);
	assert_run(p, steps, "issues/51\",\"state\":\"unknown\"");
	gh_holds_release(&holds);
}

/* ---- Listings that are refused ---- */

static void test_listing__refused_is_not_asked_again_at_once(void **state)
{
	(void)state;
	const int statuses[] = {403, 451};
	const struct test_step nothing[] = {{0}};
	for (size_t i = 0; i < 2; i++) {
		const struct test_step refused[] = {{SINCE, statuses[i], NULL, "{\"message\":\"no\"}"}, {0}};
		struct gh_holds holds;
		struct test_run run;
		gh_holds_init(&holds, NULL, 1);
		test_run_init(&run);
		run.holds = &holds;
		const char *line = FETCH_FROM(QUIET_LINKS, CURSOR(""));
		assert_int_equal(test_pass_with(&run, NULL, line, refused), 0);
		assert_int_equal(test_pass_with(&run, NULL, line, nothing), 0);
		test_run_release(&run);
		gh_holds_release(&holds);
	}
}

static void test_listing__a_repository_that_is_not_seen_makes_nothing_gone(void **state)
{
	(void)state;
	const struct test_step missing[] = {{SINCE, 404, NULL, "{\"message\":\"Not Found\"}"}, {0}};
	const struct test_step off[] = {{SINCE, 410, NULL, "{\"message\":\"Issues are disabled for this repo\"}"}, {0}};
	const struct test_step cut[] = {{SINCE, 200, NULL, "[" OPEN_ISSUE("1") ","}, {0}};
	const struct test_step down[] = {{SINCE, 0, NULL, "connection reset"}, {0}};
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("")), missing, "issues/2\",\"state\":\"unknown\"");
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("")), off, "issues/2\",\"state\":\"unknown\"");
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("")), cut, "issues/1\",\"state\":\"unknown\"");
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("")), down,
			 "],\"problem\":\"GitHub could not be asked: connection reset\"");
}

static void test_listing__a_renamed_repository_is_read_link_by_link(void **state)
{
	(void)state;
#define RENAMED(alias, number)                                                                                         \
	"\"" alias "\":{\"__typename\":\"Issue\",\"number\":" number                                                   \
	",\"html_url\":\"https://github.com/acme/new/issues/" number                                                   \
	"\",\"updated_at\":\"2017-10-10T14:00:00Z\",\"comments\":{\"totalCount\":2},\"issue_state\":\"OPEN\",\"state_" \
	"reason\":null}"
	const struct test_step steps[] = {
		{SINCE, 301, "Location: " API "/repositories/1000/issues?per_page=100", NULL},
		{"GET /repositories/1000/issues?per_page=100", 200, NULL, "[]"},
		{"POST /graphql", 200, NULL,
		 "{\"data\":{\"r0\":{" RENAMED("i0", "1") "," RENAMED("i1", "2") "," RENAMED("i2", "3") "}}}"},
		{0}};
	assert_pass_says(FETCH_FROM(QUIET_LINKS, CURSOR("")), steps,
			 "issues/2\",\"state\":\"unchanged\",\"moved_to\":\"https://github.com/acme/new/issues/2\"");
}

static int scenario(const struct rec_allocator *a)
{
	const struct test_step steps[] = {
		{SINCE " | \"p1\"", 200, "ETag: \"p2\"", "[" DONE_ISSUE("2") "]"},
		{"POST /graphql", 200, NULL,
		 "{\"data\":{\"r0\":{" GRAPHQL_ISSUE(
			 "i0", "8") ",\"i1\":null}},\"errors\":[{\"type\":\"NOT_FOUND\",\"path\":[\"r0\",\"i1\"]}]}"},
		{"GET /repos/acme/app/issues/9", 410, NULL, "{\"message\":\"This issue was deleted\"}"},
		{0}};
	struct test_run run;
	test_run_init(&run);
	int r = test_pass_with(&run, a,
			       FETCH_FROM(QUIET_LINKS "," LINK("acme/app/issues/8") "," LINK("acme/app/issues/9"),
					  CURSOR_OF(AND_EIGHT_AND_NINE, "\\\"p1\\\"")),
			       steps);
	test_run_release(&run);
	return r;
}

static void test_listing__memory_that_runs_out(void **state)
{
	(void)state;
	test_fail_every_allocation(scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listing__one_conditional_request_tells_of_all),
		cmocka_unit_test(test_listing__what_is_in_it_is_told_and_the_rest_is_unchanged),
		cmocka_unit_test(test_listing__without_a_tag_in_the_answer_the_next_one_is_unconditional),
		cmocka_unit_test_setup_teardown(test_listing__pages_are_followed_as_they_stand_and_confirmed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_listing__a_page_that_changed_meanwhile_proves_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_listing__odd_paging_is_incomplete, setup, teardown),
		cmocka_unit_test_setup_teardown(test_listing__pages_without_an_end_are_given_up, setup, teardown),
		cmocka_unit_test(test_listing__a_full_page_has_no_tag),
		cmocka_unit_test(test_listing__the_moment_is_held_until_many_changed),
		cmocka_unit_test(test_listing__links_get_the_moment_they_are_covered_to_when_it_moves),
		cmocka_unit_test(test_listing__a_new_link_is_read_itself),
		cmocka_unit_test(test_listing__a_link_that_was_left_out_while_the_moment_moved_is_read_itself),
		cmocka_unit_test(test_listing__what_should_be_in_it_and_is_not_is_looked_for),
		cmocka_unit_test(test_listing__after_an_hour_links_are_verified_in_one_batch),
		cmocka_unit_test(test_listing__as_it_was_tells_only_of_those_that_were_asked_about_then),
		cmocka_unit_test(test_listing__news_that_could_not_be_told_are_asked_for_again),
		cmocka_unit_test(test_listing__the_first_pass_is_a_batch_and_begins_the_listing),
		cmocka_unit_test(test_listing__without_the_servers_clock_there_is_no_cursor),
		cmocka_unit_test(test_listing__without_a_token_the_whole_listing_is_read_if_it_is_short),
		cmocka_unit_test(test_batch__a_pull_request_in_capitals),
		cmocka_unit_test(test_batch__errors_with_status_200),
		cmocka_unit_test_setup_teardown(
			test_batch__without_it_a_hundred_are_read_singly_and_the_next_pass_goes_on, setup, teardown),
		cmocka_unit_test(test_listing__refused_is_not_asked_again_at_once),
		cmocka_unit_test(test_listing__a_repository_that_is_not_seen_makes_nothing_gone),
		cmocka_unit_test(test_listing__a_renamed_repository_is_read_link_by_link),
		cmocka_unit_test(test_listing__memory_that_runs_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
