/* The names of records' values, and which addresses are those of issues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/record.h"

static void test_blocker_status__every_name_round_trips(void **state)
{
	(void)state;
	const char *names[] = {"OPEN", "ANSWERED", "RESOLVED"};
	for (unsigned s = 0; s < 3; s++) {
		assert_string_equal(rec_blocker_status_text((enum rec_blocker_status)s), names[s]);
		assert_int_equal(rec_blocker_status_parse(rec_slice_of(names[s])), s);
	}
}

static void test_blocker_status__anything_else_is_unrecognised(void **state)
{
	(void)state;
	const char *wrong[] = {"", "open", "OPEN ", "OPE", "OPENED", "?", "CLOSED"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(rec_blocker_status_parse(rec_slice_of(wrong[i])), REC_BLOCKER_UNRECOGNISED);
	assert_int_equal(rec_blocker_status_parse((struct rec_slice){NULL, 0}), REC_BLOCKER_UNRECOGNISED);
	assert_string_equal(rec_blocker_status_text(REC_BLOCKER_UNRECOGNISED), "?");
	assert_string_equal(rec_blocker_status_text((enum rec_blocker_status)99), "?");
}

static void test_batch__names_round_trip_and_nothing_else_is_one(void **state)
{
	(void)state;
	const char *names[] = {"RUNNING", "COMPLETED", "PARTIAL", "CANCELLED"}, *stops[] = {"", "drain", "force"};
	for (int s = 0; s < 4; s++) {
		assert_string_equal(rec_batch_status_text((enum rec_batch_status)s), names[s]);
		assert_int_equal(rec_batch_status_parse(rec_slice_of(names[s])), s);
	}
	for (int s = 0; s < 3; s++) {
		assert_string_equal(rec_batch_stop_text((enum rec_batch_stop)s), stops[s]);
		assert_int_equal(rec_batch_stop_parse(rec_slice_of(stops[s])), s);
	}
	assert_int_equal(rec_batch_status_parse(rec_slice_of("running")), -1);
	assert_int_equal(rec_batch_stop_parse(rec_slice_of("stop")), -1);
	assert_string_equal(rec_batch_status_text((enum rec_batch_status)9), "?");
	assert_string_equal(rec_batch_stop_text((enum rec_batch_stop)9), "?");
}

static void test_link__names_round_trip_and_nothing_else_is_one(void **state)
{
	(void)state;
	const char *states[] = {"unknown", "open", "closed", "merged", "gone", "unchanged"};
	const char *kinds[] = {"unknown", "issue", "pull_request"};
	for (int i = 0; i < 6; i++) {
		assert_string_equal(rec_observed_text((enum rec_observed)i), states[i]);
		assert_int_equal(rec_observed_parse(rec_slice_of(states[i])), i);
	}
	for (int i = 0; i < 3; i++) {
		assert_string_equal(rec_link_kind_text((enum rec_link_kind)i), kinds[i]);
		assert_int_equal(rec_link_kind_parse(rec_slice_of(kinds[i])), i);
	}
	assert_int_equal(rec_observed_parse(rec_slice_of("Open")), -1);
	assert_int_equal(rec_link_kind_parse(rec_slice_of("pull")), -1);
	assert_int_equal(rec_observed_parse((struct rec_slice){NULL, 0}), -1);
	assert_string_equal(rec_observed_text((enum rec_observed)9), "?");
	assert_string_equal(rec_link_kind_text((enum rec_link_kind)9), "?");
}

static void test_link_kind__is_told_by_the_end_of_the_path(void **state)
{
	(void)state;
	static const struct {
		const char *url;
		enum rec_link_kind kind;
	} cases[] = {
		{"https://github.com/acme/app/issues/7", REC_LINK_ISSUE},
		{"http://127.0.0.1:8080/acme/app/issues/7/", REC_LINK_ISSUE},
		{"https://github.com/acme/app/issues/7#issuecomment-1", REC_LINK_ISSUE},
		{"https://github.com/acme/app/issues/7?a=b/c", REC_LINK_ISSUE},
		{"https://github.com/acme/app/pull/15", REC_LINK_PULL_REQUEST},
		{"https://ghe.example.org/api/v3/repos/acme/app/pulls/15", REC_LINK_PULL_REQUEST},
		{"https://gitlab.com/group/sub/app/-/issues/3", REC_LINK_ISSUE},
		{"https://gitlab.com/acme/app/-/merge_requests/3", REC_LINK_PULL_REQUEST},
		{"https://github.com/acme/app/issues", REC_LINK_KIND_UNKNOWN},
		{"https://github.com/acme/app/issues/", REC_LINK_KIND_UNKNOWN},
		{"https://github.com/acme/app/issues/7a", REC_LINK_KIND_UNKNOWN},
		{"https://github.com/acme/app/issues/new", REC_LINK_KIND_UNKNOWN},
		{"https://github.com/acme/app/issues/12345678901234567890", REC_LINK_KIND_UNKNOWN},
		{"https://github.com/acme/app/tree/7", REC_LINK_KIND_UNKNOWN},
		{"https://github.com/issues/7", REC_LINK_KIND_UNKNOWN},
		{"https://issues/7", REC_LINK_KIND_UNKNOWN},
		{"https:///issues/7", REC_LINK_KIND_UNKNOWN},
		{"https://", REC_LINK_KIND_UNKNOWN},
		{"ftp://github.com/acme/app/issues/7", REC_LINK_KIND_UNKNOWN},
		{"HTTPS://github.com/acme/app/issues/7", REC_LINK_KIND_UNKNOWN},
		{"https://github.com/acme/my app/issues/7", REC_LINK_KIND_UNKNOWN},
		{"https://github.com/acme/\xff/issues/7", REC_LINK_KIND_UNKNOWN},
		{"/acme/app/issues/7", REC_LINK_KIND_UNKNOWN},
		{"", REC_LINK_KIND_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (rec_link_kind_of_url(rec_slice_of(cases[i].url)) != cases[i].kind)
			fail_msg("%s", cases[i].url);
	assert_int_equal(rec_link_kind_of_url((struct rec_slice){NULL, 0}), REC_LINK_KIND_UNKNOWN);
	assert_int_equal(rec_link_kind_of_url((struct rec_slice){"https://g/a/issues/7\0", 21}), REC_LINK_KIND_UNKNOWN);
}

static void test_link__a_login_stands_before_the_host(void **state)
{
	static const char *const with[] = {"https://me:pw@host/x", "https://token@host", "HTTP://:pw@host?x",
					   "x://a@b@c/", "ssh://git@host/x"};
	static const char *const without[] = {"https://host/@me", "https://host?x=a@b", "https://host#a@b",
					      "https://host:8080/a:b@c", "https://[::1]/a@b",
					      /* no address of the web, as it stands */
					      "me@host", "mailto:me@host", "git@host:a/b", "a/b://c@d/e", "a@b://c",
					      "https:/a@b", "://", "https://", ""};
	(void)state;
	for (size_t i = 0; i < sizeof with / sizeof *with; i++)
		if (!rec_link_url_has_login(rec_slice_of(with[i])))
			fail_msg("%s", with[i]);
	for (size_t i = 0; i < sizeof without / sizeof *without; i++)
		if (rec_link_url_has_login(rec_slice_of(without[i])))
			fail_msg("%s", without[i]);
	assert_false(rec_link_url_has_login((struct rec_slice){NULL, 0}));
	assert_false(rec_link_url_has_login((struct rec_slice){"https\0//a@b", 11}));
	assert_false(rec_link_url_has_login((struct rec_slice){"https://a@b", 9}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocker_status__every_name_round_trips),
		cmocka_unit_test(test_blocker_status__anything_else_is_unrecognised),
		cmocka_unit_test(test_batch__names_round_trip_and_nothing_else_is_one),
		cmocka_unit_test(test_link__names_round_trip_and_nothing_else_is_one),
		cmocka_unit_test(test_link_kind__is_told_by_the_end_of_the_path),
		cmocka_unit_test(test_link__a_login_stands_before_the_host),
	};
	return cmocka_run_group_tests_name("core/record", tests, NULL, NULL);
}
