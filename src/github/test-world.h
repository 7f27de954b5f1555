/* test-world.h - a GitHub that is a list: which request is expected next, and what it is answered. Not a part of the
 * product. */
#ifndef REC_GITHUB_TEST_WORLD_H
#define REC_GITHUB_TEST_WORLD_H

#include "base/test-support.h"

#include <stdio.h>

#include "github/pass.h"

#define TEST_NOW_US 1507651200000000 /* 2017-10-10 16:00:00, when the recordings were made */
#define TEST_DATE "Date: Tue, 10 Oct 2017 16:00:00 GMT"
#define API "https://api.github.com"

struct test_step {
	const char *ask; /* "GET /path" or, with a condition, "GET /path | etag"; NULL ends the list */
	int status;
	const char *headers; /* lines, beyond the date; "-" as the first: no date either */
	const char *body;
};

static inline void test_response_fill(struct gh_response *r, int status, const char *headers, const char *body)
{
	char line[64];
	gh_response_clear(r);
	if (status == 0) {
		r->failure = rec_slice_of(body ? body : "it is down");
		return;
	}
	snprintf(line, sizeof line, "HTTP/1.1 %d Whatever\r\n", status);
	gh_response_line(r, rec_slice_of(line));
	if (!headers || headers[0] != '-')
		gh_response_line(r, rec_slice_of(TEST_DATE "\r\n"));
	while (headers && *headers) {
		size_t length = strcspn(headers, "\n");
		gh_response_line(r, (struct rec_slice){headers, length});
		headers += length + (headers[length] ? 1 : 0);
	}
	if (body)
		rec_buffer_add(&r->body, body, strlen(body));
}

static inline void test_ask_text(const struct gh_ask *ask, char *out, size_t capacity)
{
	static const char *const verbs[] = {"GET", "POST", "PATCH"};
	assert_true(ask->url.length > strlen(API));
	assert_memory_equal(ask->url.data, API, strlen(API));
	int length = snprintf(out, capacity, "%s %s", verbs[ask->verb], ask->url.data + strlen(API));
	assert_true(length > 0 && (size_t)length < capacity);
	if (ask->if_none_match.length)
		snprintf(out + length, capacity - (size_t)length, " | %.*s", (int)ask->if_none_match.length,
			 ask->if_none_match.data);
}

struct test_run {
	struct rec_buffer answer, bodies; /* the answer line; the bodies of all requests */
	struct gh_pass_costs costs;
	int64_t now_us, elapsed_ms, answer_ms; /* answer_ms: how long each answer takes */
	bool anonymous;
	struct gh_holds *holds;
};

static inline void test_run_init(struct test_run *run)
{
	*run = (struct test_run){.now_us = TEST_NOW_US};
	rec_buffer_init(&run->answer, NULL, SIZE_MAX);
	rec_buffer_init(&run->bodies, NULL, SIZE_MAX);
}

static inline void test_run_release(struct test_run *run)
{
	rec_buffer_release(&run->answer);
	rec_buffer_release(&run->bodies);
}

/* Runs one pass; with a plain allocator every request must be the expected one. */
static inline int test_pass_with(struct test_run *run, const struct rec_allocator *a, const char *line,
				 const struct test_step *steps)
{
	char text[GH_URL_BYTES_MAX + 300];
	struct rec_arena arena;
	struct gh_place place;
	struct gh_request request;
	struct gh_response response;
	struct gh_pass *pass = NULL;
	struct gh_answer answer;
	const struct gh_ask *ask;
	int64_t elapsed_ms = run->elapsed_ms;
	rec_arena_init(&arena, a);
	gh_response_init(&response, a);
	rec_buffer_clear(&run->answer);
	rec_buffer_clear(&run->bodies);
	int r = gh_place_init(&place, &arena, rec_slice_of(API), NULL);
	if (r == 0)
		r = gh_request_read(rec_slice_of(line), &arena, &request, NULL);
	if (r == 0)
		r = gh_pass_new(a, &place, &request, !run->anonymous, run->holds, run->now_us, &pass);
	while (r == 0 && (r = gh_pass_next(pass, elapsed_ms, &ask)) == 0) {
		test_ask_text(ask, text, sizeof text);
		assert_string_equal(text, steps->ask ? steps->ask : "(nothing)");
		rec_buffer_add(&run->bodies, ask->body.data, ask->body.length);
		test_response_fill(&response, steps->status, steps->headers, steps->body);
		if (response.body.failed == REC_E_NOMEM)
			r = REC_E_NOMEM;
		else
			r = gh_pass_answer(pass, &response, run->now_us);
		elapsed_ms += run->answer_ms;
		steps++;
	}
	if (r == REC_END)
		r = gh_pass_finish(pass, &answer);
	if (r == 0) {
		run->costs = gh_pass_costs(pass);
		assert_string_equal(steps->ask ? steps->ask : "", "");
		r = gh_write_fetch(&run->answer, request.id, &answer);
	}
	gh_pass_free(pass);
	gh_response_release(&response);
	rec_arena_release(&arena);
	return r;
}

/* One pass whose answer is exactly this (the number 1 is the request's). */
static inline void assert_pass(const char *line, const struct test_step *steps, const char *wanted)
{
	struct test_run run;
	test_run_init(&run);
	assert_int_equal(test_pass_with(&run, NULL, line, steps), 0);
	assert_slice_equal(rec_buffer_slice(&run.answer), wanted);
	test_run_release(&run);
}

/* One pass whose answer holds this. */
static inline void assert_pass_says(const char *line, const struct test_step *steps, const char *part)
{
	struct test_run run;
	test_run_init(&run);
	assert_int_equal(test_pass_with(&run, NULL, line, steps), 0);
	if (!strstr(run.answer.data, part))
		fail_msg("\"%s\" does not hold \"%s\"", run.answer.data, part);
	test_run_release(&run);
}

#define FETCH(links) "{\"id\":1,\"method\":\"fetch\",\"links\":[" links "],\"cursors\":{}}"
#define FETCH_FROM(links, cursors) "{\"id\":1,\"method\":\"fetch\",\"links\":[" links "],\"cursors\":{" cursors "}}"
#define LINK(path) "{\"url\":\"https://github.com/" path "\",\"validator\":null}"
#define LINK_SEEN(path, validator) "{\"url\":\"https://github.com/" path "\",\"validator\":\"" validator "\"}"

#define ISSUE(number, rest) "{\"number\":" number ",\"updated_at\":\"2017-10-10T15:00:00Z\",\"comments\":2," rest "}"
#define OPEN_ISSUE(number) ISSUE(number, "\"state\":\"open\",\"state_reason\":null")
#define DONE_ISSUE(number) ISSUE(number, "\"state\":\"closed\",\"state_reason\":\"completed\"")
/* Covered until 15:59, verified at 16:00. */
#define OPEN_MARK "1;1507651140;1507651200;o;i;2;2017-10-10T15:00:00Z;;"

#endif
