/* Headers: status lines, dates, Link. (Limits: test-pass-limits.c.) */
#include "base/test-support.h"

#include "github/response.h"

static void lines_take(struct gh_response *r, const char *const *lines)
{
	for (; *lines; lines++)
		gh_response_line(r, rec_slice_of(*lines));
}

static void test_response__headers_in_any_case(void **state)
{
	static const char *const lines[] = {"HTTP/2 200\r\n",
					    "ETAG:W/\"a\"\r\n",
					    "x-RateLimit-limit: 60 \r\n",
					    "X-RateLimit-Remaining: 59\r\n",
					    "x-ratelimit-reset: 1507652400\r\n",
					    "X-RateLimit-Resource: GraphQL\r\n",
					    "nonsense\r\n",
					    ": x\r\n",
					    "\r\n",
					    NULL};
	struct gh_response r;
	(void)state;
	gh_response_init(&r, NULL);
	lines_take(&r, lines);
	assert_int_equal(r.status, 200);
	assert_slice_equal(r.etag, "W/\"a\"");
	assert_int_equal(r.budget.limit, 60);
	assert_int_equal(r.budget.remaining, 59);
	assert_int_equal(r.budget.reset_s, 1507652400);
	assert_true(r.graphql);
	gh_response_release(&r);
}

static void test_response__a_new_status_forgets_what_came_before(void **state)
{
	static const char *const lines[] = {"HTTP/1.1 100 Continue", "ETag: \"no\"", "Retry-After: 7",
					    "HTTP/1.1 200 OK", NULL};
	struct gh_response r;
	(void)state;
	gh_response_init(&r, NULL);
	lines_take(&r, lines);
	assert_int_equal(r.status, 200);
	assert_int_equal(r.etag.length, 0);
	assert_int_equal(r.retry_after_s, -1);
	gh_response_line(&r, rec_slice_of("HTTP/1.1 99999"));
	assert_int_equal(r.status, 0);
	gh_response_line(&r, rec_slice_of("HTTP/1.1"));
	assert_int_equal(r.status, 0);
	gh_response_release(&r);
}

static void test_response__what_is_too_much_is_dropped(void **state)
{
	static char line[GH_HEADERS_BYTES_MAX + 100] = "ETag: ";
	struct gh_response r;
	(void)state;
	memset(line + 6, 'x', sizeof line - 7);
	gh_response_init(&r, NULL);
	gh_response_line(&r, rec_slice_of("HTTP/1.1 200 OK"));
	gh_response_line(&r, rec_slice_of(line));
	assert_int_equal(r.etag.length, 0);
	assert_int_equal(r.failed, 0);
	gh_response_release(&r);
}

static void test_response__dates(void **state)
{
	int64_t us;
	(void)state;
	assert_int_equal(gh_http_date_parse(rec_slice_of("Tue, 10 Oct 2017 16:00:00 GMT"), &us), 0);
	assert_int_equal(us, 1507651200000000);
	static const char *const bad[] = {"",
					  "Tue, 10 Oct 2017 16:00:00",
					  "Tue, 10 Okt 2017 16:00:00 GMT",
					  "Tue, 32 Oct 2017 16:00:00 GMT",
					  "Tue, 1x Oct 2017 16:00:00 GMT",
					  "Tuesday, 10-Oct-17 16:00:00 GMT",
					  "Tue, 10 Oct 2017 16:00:00 UTC"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(gh_http_date_parse(rec_slice_of(bad[i]), &us), REC_E_INVALID);
}

static void assert_links(const char *header, const char *next)
{
	assert_slice_equal(gh_link_header_find(rec_slice_of(header), "next"), next);
}

static void test_response__link(void **state)
{
	(void)state;
	assert_links("<https://a/?page=2>; rel=\"next\", <https://a/?page=5>; rel=\"last\"", "https://a/?page=2");
	assert_links("<https://a/1>; rel=\"prev\", <https://a/3>; rel=\"next\"", "https://a/3");
	assert_links("<https://a/3>;rel=next", "https://a/3");
	assert_links("<https://a/3> ; title=\"a, b; rel=\\\"next\\\"\" ; REL=\"last next\"", "https://a/3");
	assert_links("<https://a/x>; rel=\"last\"; rel=\"next\", <https://a/y>; rel=\"next\"", "https://a/y");
	assert_links("<https://a/,>; rel=\"next\"", "https://a/,");
	assert_links("<>; rel=\"next\"", "");
	assert_links("", "");
	assert_links("<https://a/1>; rel=\"nextish\"", "");
	assert_links("<https://a/1", "");
	assert_links("https://a/1; rel=\"next\"", "");
	assert_links("<https://a/1>; rel=\"next", "https://a/1");
	assert_links("<https://a/1>; ==;;=\"; rel=next", "");
}

static void test_response__page_numbers(void **state)
{
	(void)state;
	assert_int_equal(gh_url_page(rec_slice_of("https://a/?per_page=100&page=7")), 7);
	assert_int_equal(gh_url_page(rec_slice_of("https://a/?page=7&x=y")), 7);
	assert_int_equal(gh_url_page(rec_slice_of("https://a/?per_page=100")), -1);
	assert_int_equal(gh_url_page(rec_slice_of("https://a/?page=")), -1);
	assert_int_equal(gh_url_page(rec_slice_of("https://a/?page=99999999999999999999")), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_response__headers_in_any_case),
		cmocka_unit_test(test_response__a_new_status_forgets_what_came_before),
		cmocka_unit_test(test_response__what_is_too_much_is_dropped),
		cmocka_unit_test(test_response__dates),
		cmocka_unit_test(test_response__link),
		cmocka_unit_test(test_response__page_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
