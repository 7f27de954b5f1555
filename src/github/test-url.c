/* URLs: what is one, where a token may go, what a link names. */
#include "base/test-support.h"

#include <stdio.h>

#include "github/url.h"

static void test_url__what_is_none(void **state)
{
	static const char *const bad[] = {"",
					  "https",
					  "https://",
					  "https:///x",
					  "ftp://a/",
					  "//a/x",
					  "/x",
					  "https://a b/",
					  "https://a\\b/",
					  "https://u@a/",
					  "https://u:p@a/",
					  "https://a:0/",
					  "https://a:65536/",
					  "https://a:/x",
					  "https://a:8x/",
					  "https://a#f",
					  "https://a/#f",
					  "https://a?q",
					  "https://a/\"",
					  "https://a/<",
					  "https://a/\x7f",
					  "https://a/\n",
					  "https://[::1",
					  "https://[::g]/",
					  "https://[]/",
					  "https://a%41/",
					  "https://\xc3\xa4/"};
	struct gh_url url;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (gh_url_parse(rec_slice_of(bad[i]), &url) == 0)
			fail_msg("%s was taken", bad[i]);
	assert_int_equal(gh_url_parse(slice_of_array("https://a/\0b"), &url), REC_E_INVALID);
	char longest[GH_URL_BYTES_MAX + 2];
	memset(longest, 'a', sizeof longest);
	memcpy(longest, "https://a/", 10);
	longest[GH_URL_BYTES_MAX] = 0;
	assert_int_equal(gh_url_parse(rec_slice_of(longest), &url), 0);
	longest[GH_URL_BYTES_MAX] = 'a';
	longest[GH_URL_BYTES_MAX + 1] = 0;
	assert_int_equal(gh_url_parse(rec_slice_of(longest), &url), REC_E_INVALID);
}

static void test_url__parts(void **state)
{
	struct gh_url url;
	(void)state;
	assert_int_equal(gh_url_parse(rec_slice_of("HTTPS://Api.GitHub.com/repos?a=b"), &url), 0);
	assert_true(url.https);
	assert_slice_equal(url.host, "Api.GitHub.com");
	assert_int_equal(url.port, 443);
	assert_slice_equal(url.path, "/repos?a=b");
	assert_int_equal(gh_url_parse(rec_slice_of("http://[::1]:8080"), &url), 0);
	assert_false(url.https);
	assert_slice_equal(url.host, "::1");
	assert_int_equal(url.port, 8080);
	assert_int_equal(url.path.length, 0);
}

static void assert_origin(const char *a, const char *b, bool same)
{
	struct gh_url left, right;
	assert_int_equal(gh_url_parse(rec_slice_of(a), &left), 0);
	assert_int_equal(gh_url_parse(rec_slice_of(b), &right), 0);
	assert_int_equal(gh_url_same_origin(&left, &right), same);
}

static void test_url__same_origin(void **state)
{
	(void)state;
	assert_origin("https://api.github.com/a", "https://API.github.com:443/b", true);
	assert_origin("https://api.github.com/", "http://api.github.com/", false);
	assert_origin("https://api.github.com/", "http://api.github.com:443/", false);
	assert_origin("https://api.github.com/", "https://api.github.com:444/", false);
	assert_origin("https://api.github.com/", "https://api.github.com./", false);
	assert_origin("https://api.github.com/", "https://github.com/", false);
}

static void assert_place(const char *api, const char *web, const char *graphql)
{
	struct rec_arena arena;
	struct gh_place place;
	rec_arena_init(&arena, NULL);
	int r = gh_place_init(&place, &arena, rec_slice_of(api), NULL);
	if (web) {
		assert_int_equal(r, 0);
		assert_slice_equal(place.web, web);
		assert_slice_equal(place.graphql, graphql);
	} else {
		assert_int_equal(r, REC_E_INVALID);
	}
	rec_arena_release(&arena);
}

static void test_url__where_the_pages_of_an_api_are(void **state)
{
	(void)state;
	assert_place("https://api.github.com", "https://github.com", "https://api.github.com/graphql");
	assert_place("https://api.github.com/", "https://github.com", "https://api.github.com/graphql");
	assert_place("https://ghe.example/api/v3/", "https://ghe.example", "https://ghe.example/api/graphql");
	assert_place("https://api.acme.ghe.com", "https://acme.ghe.com", "https://api.acme.ghe.com/graphql");
	assert_place("http://127.0.0.1:8080", "https://github.com", "http://127.0.0.1:8080/graphql");
	assert_place("http://localhost:1/api/v3", "http://localhost:1", "http://localhost:1/api/graphql");
	assert_place("http://api.github.com", NULL, NULL); /* the token would be readable on the way */
	assert_place("http://127.0.0.1.evil.example", NULL, NULL);
	assert_place("http://127.evil.0.1", NULL, NULL);
	assert_place("https://ghe.example/api/v3?x=y", NULL, NULL);
	assert_place("ghe.example", NULL, NULL);
	assert_place("https://api.", NULL, NULL); /* its pages are nowhere */
	assert_place("https://api.:443", NULL, NULL);
	assert_place("", NULL, NULL);
}

static void assert_link(const char *url, const char *owner, const char *repo, int64_t number, bool pull)
{
	struct rec_arena arena;
	struct gh_place place;
	struct gh_link link;
	rec_arena_init(&arena, NULL);
	assert_int_equal(gh_place_init(&place, &arena, rec_slice_of(GH_API_URL_DEFAULT), NULL), 0);
	const char *problem = gh_link_parse(rec_slice_of(url), &place, &link);
	if (owner) {
		assert_null(problem);
		assert_slice_equal(link.owner, owner);
		assert_slice_equal(link.repo, repo);
		assert_int_equal(link.number, number);
		assert_int_equal(link.pull, pull);
	} else if (!problem) {
		fail_msg("%s was taken", url);
	}
	rec_arena_release(&arena);
}

static void test_url__links(void **state)
{
	(void)state;
	assert_link("https://github.com/acme/app/issues/7", "acme", "app", 7, false);
	assert_link("https://GitHub.com/Acme/a.p_p-1/pull/15", "Acme", "a.p_p-1", 15, true);
	assert_link("https://github.com/acme/app/pull/15/files", "acme", "app", 15, true);
	assert_link("https://github.com/acme/app/issues/7?x=y", "acme", "app", 7, false);
	assert_link("https://github.com/acme/app/issues/7#issuecomment-1", "acme", "app", 7, false);
	assert_link("https://github.com/acme/app/issues/999999999999999999", "acme", "app", 999999999999999999, false);
	static const char *const bad[] = {"https://github.com/acme/app",
					  "https://github.com/acme/app/issues",
					  "https://github.com/acme/app/issues/",
					  "https://github.com/acme/app/issues/0",
					  "https://github.com/acme/app/issues/-1",
					  "https://github.com/acme/app/issues/x7",
					  "https://github.com/acme/app/issues/7x",
					  "https://github.com/acme/app/issues/1e3",
					  "https://github.com/acme/app/discussions/7",
					  "https://github.com/acme/app/issues/9999999999999999999",
					  "https://github.com//app/issues/7",
					  "https://github.com/../app/issues/7",
					  "https://github.com/a%2Fb/app/issues/7",
					  "https://github.com/a b/app/issues/7",
					  "https://github.com/acme/app\"){x}/issues/7",
					  "https://gitlab.com/acme/app/issues/7",
					  "http://github.com/acme/app/issues/7",
					  "https://github.com:444/acme/app/issues/7",
					  "https://github.com@evil.example/acme/app/issues/7",
					  "acme/app#7",
					  ""};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_link(bad[i], NULL, NULL, 0, false);
}

static void assert_resolves(const char *location, int result, const char *wanted)
{
	struct rec_arena arena;
	struct gh_place place;
	struct rec_slice url;
	rec_arena_init(&arena, NULL);
	assert_int_equal(gh_place_init(&place, &arena, rec_slice_of("https://a:8443"), NULL), 0);
	int r = gh_place_resolve(&place, &arena, rec_slice_of("https://a:8443/x/y?z"), rec_slice_of(location), &url);
	assert_int_equal(r, result);
	if (wanted)
		assert_slice_equal(url, wanted);
	rec_arena_release(&arena);
}

static void test_url__what_answers_lead_to(void **state)
{
	(void)state;
	assert_resolves("https://A:8443/c", 0, "https://A:8443/c");
	assert_resolves("/c?d", 0, "https://a:8443/c?d");
	assert_resolves("https://b:8443/c", REC_E_PERMISSION, NULL);
	assert_resolves("https://a/c", REC_E_PERMISSION, NULL);
	assert_resolves("http://a:8443/c", REC_E_PERMISSION, NULL);
	assert_resolves("https://a:8443@b/c", REC_E_INVALID, NULL);
	assert_resolves("//b/c", REC_E_INVALID, NULL);
	assert_resolves("c", REC_E_INVALID, NULL);
	assert_resolves("", REC_E_INVALID, NULL);
	assert_resolves("/\r\nX: y", REC_E_INVALID, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_url__what_is_none), cmocka_unit_test(test_url__parts),
		cmocka_unit_test(test_url__same_origin),  cmocka_unit_test(test_url__where_the_pages_of_an_api_are),
		cmocka_unit_test(test_url__links),        cmocka_unit_test(test_url__what_answers_lead_to),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
