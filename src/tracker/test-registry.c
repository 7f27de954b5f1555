/* Tests of tracker/tracker.h: who answers for an address. What helpers do: tests/tracker. */
#include "base/test-support.h"

#include "core/record.h"
#include "tracker/tracker.h"

static const char *const nothing[] = {"/bin/false", NULL};

static int make(const struct rec_tracker_options *trackers, size_t count, const struct rec_allocator *a,
		struct rec_trackers **t, struct rec_error *error)
{
	const struct rec_trackers_options options = {.trackers = trackers, .count = count, .allocator = a};
	return rec_trackers_new(&options, t, error);
}

static const struct rec_tracker_options several[] = {
	{"all", "https://git.test/", nothing, 0, 0, 0}, {"org", "https://git.test/org/", nothing, 0, 0, 0},
	{"host", "https://hub.test", nothing, 0, 0, 0}, {"jira", "https://jira.test/browse/PROJ-", nothing, 0, 0, 0},
	{"short", "jira:", nothing, 0, 0, 0},
};

static void test_registry__the_longest_prefix_answers(void **state)
{
	static const struct {
		const char *url;
		size_t tracker;
	} cases[] = {
		{"https://git.test/a/b/issues/1", 0},
		{"https://git.test/org/b/issues/1", 1},
		{"HTTPS://Git.Test/org/b/issues/1", 1},
		{"https://git.test/ORG/b/issues/1", 0}, /* a path keeps its case */
		{"https://git.test.evil.example/a", REC_TRACKER_NONE},
		{"https://hub.test/a", 2},
		{"https://hub.test?x", 2},
		{"https://hub.testing/a", REC_TRACKER_NONE},
		{"https://hub.test:8080/a", REC_TRACKER_NONE},
		{"https://jira.test/browse/PROJ-12", 3},
		{"https://jira.test/browse/OTHER-12", REC_TRACKER_NONE},
		{"jira:12", 4},
		{"http://git.test/a", REC_TRACKER_NONE},
		{"", REC_TRACKER_NONE},
	};
	struct rec_trackers *t = NULL;
	struct rec_error error;
	(void)state;
	assert_int_equal(make(several, 5, NULL, &t, &error), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(rec_trackers_find(t, rec_slice_of(cases[i].url)), cases[i].tracker);
	assert_int_equal(rec_trackers_count(t), 5);
	assert_string_equal(rec_tracker_name(t, 3), "jira");
	assert_null(rec_trackers_free(t));
}

static void test_registry__none_at_all_is_fine(void **state)
{
	struct rec_trackers *t = NULL;
	struct rec_tracker_answer answer;
	struct rec_error error;
	(void)state;
	assert_int_equal(make(NULL, 0, NULL, &t, &error), 0);
	assert_int_equal(rec_trackers_find(t, rec_slice_of("https://git.test/")), REC_TRACKER_NONE);
	assert_int_equal(rec_trackers_step(t, 1, &error), 0);
	assert_int_equal(rec_trackers_next(t, &answer), REC_END);
	assert_int_equal(rec_trackers_due_us(t), INT64_MAX);
	assert_false(rec_trackers_busy(t));
	rec_trackers_free(t);
	assert_null(rec_trackers_free(NULL));
}

static void test_registry__what_cannot_work_is_refused(void **state)
{
	const struct rec_tracker_options twice[] = {several[0], several[0]};
	const struct rec_tracker_options empty = {"a", "", nothing, 0, 0, 0};
	const struct rec_tracker_options idle = {"a", "https://", nothing + 1, 0, 0, 0};
	struct rec_trackers *t = NULL;
	struct rec_error error;
	(void)state;
	assert_int_equal(make(twice, 2, NULL, &t, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "tracker all"));
	assert_int_equal(make(&empty, 1, NULL, &t, &error), REC_E_INVALID);
	assert_int_equal(make(&idle, 1, NULL, &t, &error), REC_E_INVALID);
	assert_null(t);
}

/* Two tasks on one issue: one question, and a validator only if both have it. */
static int ask_with(const struct rec_allocator *a)
{
	struct rec_trackers *t = NULL;
	struct rec_error error;
	const struct rec_link links[] = {{.url = rec_slice_of("https://git.test/2"), .validator = rec_slice_of("v")},
					 {.url = rec_slice_of("https://git.test/1"), .validator = rec_slice_of("v")},
					 {.url = rec_slice_of("https://git.test/2")}};
	const struct rec_tracker_cursor cursor = {rec_slice_of("k"), rec_slice_of("v")};
	int r = make(several, 5, a, &t, &error);
	if (r == 0)
		r = rec_trackers_ask(t, 0, links, 3, &cursor, 1, 1, &error);
	if (r == 0)
		r = rec_trackers_close(t, 1, links[0].url, cursor.key, cursor.value, 1, &error);
	rec_trackers_free(t);
	return r;
}

static void test_registry__each_allocation_may_fail(void **state)
{
	(void)state;
	test_fail_every_allocation(ask_with);
	assert_int_equal(ask_with(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry__the_longest_prefix_answers),
		cmocka_unit_test(test_registry__none_at_all_is_fine),
		cmocka_unit_test(test_registry__what_cannot_work_is_refused),
		cmocka_unit_test(test_registry__each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
