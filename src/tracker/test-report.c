/* Tests of tracker/report.h. */
#include "base/test-support.h"

#include "tracker/report.h"

#define SECOND INT64_C(1000000)
#define WALL INT64_C(1767323045000000) /* 2026-01-02T03:04:05Z */

static struct rec_tracker_health down(void)
{
	struct rec_tracker_health h = {.helper = "fake 1", .has_budget = true, .budget_limit = 5000};
	h.budget_remaining = 4321;
	h.budget_reset_us = WALL + 60 * SECOND;
	rec_tracker_health_answered(&h, 100 * SECOND, 0);
	rec_tracker_health_failed(&h, 130 * SECOND, 0, rec_slice_of("it \"hangs\""));
	return h;
}

static void test_report__times_are_those_of_the_wall(void **state)
{
	struct rec_tracker_health h = down();
	struct rec_tracker_report r = rec_tracker_report_of(&h, 140 * SECOND, WALL);
	(void)state;
	assert_int_equal(r.reached_us, WALL - 40 * SECOND);
	assert_int_equal(r.not_before_us, WALL - 5 * SECOND);
	assert_int_equal(r.told_us, WALL);
	h = (struct rec_tracker_health){.failures = 0};
	r = rec_tracker_report_of(&h, 140 * SECOND, WALL);
	assert_true(r.reached_us == 0 && r.not_before_us == 0);
}

static void test_report__what_is_written_is_read_again(void **state)
{
	struct rec_tracker_health h = down();
	const struct rec_tracker_report r = rec_tracker_report_of(&h, 140 * SECOND, WALL);
	struct rec_tracker_report again;
	struct rec_error error;
	struct rec_buffer text;
	(void)state;
	rec_buffer_init(&text, NULL, 4096);
	assert_int_equal(rec_tracker_report_write(&text, &r), 0);
	assert_int_equal(rec_tracker_report_read(rec_buffer_slice(&text), NULL, &again, &error), 0);
	assert_int_equal(again.state, REC_TRACKER_DOWN);
	assert_int_equal(again.failures, 1);
	assert_int_equal(again.reached_us, r.reached_us);
	assert_int_equal(again.not_before_us, r.not_before_us);
	assert_int_equal(again.told_us, r.told_us);
	assert_string_equal(again.problem, "it \"hangs\"");
	assert_string_equal(again.helper, "fake 1");
	assert_true(again.has_budget && again.budget_limit == 5000 && again.budget_remaining == 4321);
	assert_int_equal(again.budget_reset_us, r.budget_reset_us);
	rec_buffer_release(&text);
}

static void test_report__what_cannot_be_is_as_if_not_known(void **state)
{
	struct rec_tracker_report r;
	struct rec_error error;
	(void)state;
	assert_int_equal(
		rec_tracker_report_read(rec_slice_of("{\"state\":\"odd\",\"failures\":-3,\"told_at\":\"now\"}"), NULL,
					&r, &error),
		0);
	assert_true(r.state == REC_TRACKER_UNTRIED && r.failures == 0 && r.told_us == 0 && !r.has_budget);
	assert_int_equal(rec_tracker_report_read(rec_slice_of("{\"state\":5}"), NULL, &r, &error), REC_E_INVALID);
	assert_int_equal(rec_tracker_report_read(rec_slice_of("what"), NULL, &r, &error), REC_E_INVALID);
}

static int life(const struct rec_allocator *a)
{
	const struct rec_store_options options = {.mode = REC_STORE_INIT, .allocator = a};
	struct rec_tracker_health h = down();
	const struct rec_tracker_report r = rec_tracker_report_of(&h, 140 * SECOND, WALL);
	struct rec_tracker_report again = {.failures = 0};
	struct rec_store *s = NULL;
	struct rec_error error;
	int result = rec_store_open("memory:", &options, &s, &error);
	if (result == 0)
		result = rec_tracker_report_put(s, "github", &r, &error);
	if (result == 0)
		result = rec_tracker_report_get(s, "github", &again, &error);
	if (result == 0)
		assert_int_equal(again.failures, 1);
	if (result == 0 && rec_tracker_report_get(s, "jira", &again, &error) != REC_NOT_FOUND)
		result = REC_E_NOMEM;
	rec_store_close(s);
	return result;
}

static void test_report__a_store_keeps_it_for_other_processes(void **state)
{
	(void)state;
	assert_int_equal(life(NULL), 0);
	test_fail_every_allocation(life);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report__times_are_those_of_the_wall),
		cmocka_unit_test(test_report__what_is_written_is_read_again),
		cmocka_unit_test(test_report__what_cannot_be_is_as_if_not_known),
		cmocka_unit_test(test_report__a_store_keeps_it_for_other_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
