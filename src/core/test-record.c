/* The names of blocker statuses. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocker_status__every_name_round_trips),
		cmocka_unit_test(test_blocker_status__anything_else_is_unrecognised),
	};
	return cmocka_run_group_tests_name("core/record", tests, NULL, NULL);
}
