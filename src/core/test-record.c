/* The names of blocker statuses and batches. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocker_status__every_name_round_trips),
		cmocka_unit_test(test_blocker_status__anything_else_is_unrecognised),
		cmocka_unit_test(test_batch__names_round_trip_and_nothing_else_is_one),
	};
	return cmocka_run_group_tests_name("core/record", tests, NULL, NULL);
}
