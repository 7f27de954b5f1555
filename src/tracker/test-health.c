/* Tests of tracker/health.h. */
#include "base/test-support.h"

#include "tracker/health.h"

#define SECOND INT64_C(1000000)

static void fail_at(struct rec_tracker_health *h, int64_t now_us)
{
	rec_tracker_health_failed(h, now_us, 0, rec_slice_of("it hangs"));
}

static void test_health__what_was_never_tried_may_be_asked(void **state)
{
	struct rec_tracker_health h = {.failures = 0};
	(void)state;
	assert_true(rec_tracker_health_may_ask(&h, 0));
	assert_string_equal(rec_tracker_state_text(h.state), "untried");
}

static void test_health__pauses_double_up_to_ten_minutes(void **state)
{
	static const int64_t seconds[] = {5, 10, 20, 40, 80, 160, 320, 600, 600, 600};
	struct rec_tracker_health h = {.failures = 0};
	int64_t now = 7;
	(void)state;
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
		fail_at(&h, now);
		assert_int_equal(h.state, REC_TRACKER_DOWN);
		assert_false(rec_tracker_health_may_ask(&h, now + seconds[i] * SECOND - 1));
		assert_true(rec_tracker_health_may_ask(&h, now + seconds[i] * SECOND));
		now = h.not_before_us;
	}
	assert_string_equal(h.problem, "it hangs");
}

static void test_health__a_good_answer_ends_every_pause(void **state)
{
	struct rec_tracker_health h = {.failures = 0};
	(void)state;
	for (int i = 0; i < 9; i++)
		fail_at(&h, 0);
	rec_tracker_health_answered(&h, 5, 0);
	assert_int_equal(h.state, REC_TRACKER_REACHED);
	assert_int_equal(h.failures, 0);
	assert_true(rec_tracker_health_may_ask(&h, 5));
	assert_string_equal(h.problem, "");
	fail_at(&h, 10);
	assert_int_equal(h.not_before_us, 10 + 5 * SECOND);
}

/* B21: a limit is no refusal. */
static void test_health__a_limit_is_waited_for_as_long_as_the_tracker_says_within_reason(void **state)
{
	struct rec_tracker_health h = {.failures = 0};
	(void)state;
	rec_tracker_health_answered(&h, 1000, 60000);
	assert_int_equal(h.state, REC_TRACKER_PAUSED);
	assert_int_equal(h.not_before_us, 1000 + 60 * SECOND);
	assert_true(h.wished);
	rec_tracker_health_answered(&h, 1000, INT64_MAX);
	assert_int_equal(h.not_before_us, 1000 + REC_TRACKER_RETRY_AFTER_MAX_US);
	rec_tracker_health_answered(&h, 1000, INT64_MIN);
	assert_int_equal(h.not_before_us, 0);
	rec_tracker_health_failed(&h, 1000, 60000, rec_slice_of("rate limit"));
	assert_int_equal(h.not_before_us, 1000 + 60 * SECOND);
	rec_tracker_health_failed(&h, 1000, 1, rec_slice_of("rate limit"));
	assert_int_equal(h.not_before_us, 1000 + 10 * SECOND);
}

static void test_health__failures_beyond_counting_stay_at_the_longest_pause(void **state)
{
	struct rec_tracker_health h = {.failures = UINT32_MAX};
	(void)state;
	fail_at(&h, 0);
	assert_int_equal(h.failures, UINT32_MAX);
	assert_int_equal(h.not_before_us, REC_TRACKER_PAUSE_MAX_US);
}

static void test_health__a_problem_is_shown_on_one_line_and_cut(void **state)
{
	struct rec_tracker_health h = {.failures = 0};
	char page[2000];
	(void)state;
	memset(page, 'x', sizeof page);
	page[1] = '\n';
	page[2] = '\x1b';
	rec_tracker_health_failed(&h, 0, 0, (struct rec_slice){page, sizeof page});
	assert_true(strlen(h.problem) < sizeof h.problem);
	assert_null(strchr(h.problem, '\n'));
	assert_null(strchr(h.problem, '\x1b'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_health__what_was_never_tried_may_be_asked),
		cmocka_unit_test(test_health__pauses_double_up_to_ten_minutes),
		cmocka_unit_test(test_health__a_good_answer_ends_every_pause),
		cmocka_unit_test(test_health__a_limit_is_waited_for_as_long_as_the_tracker_says_within_reason),
		cmocka_unit_test(test_health__failures_beyond_counting_stay_at_the_longest_pause),
		cmocka_unit_test(test_health__a_problem_is_shown_on_one_line_and_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
