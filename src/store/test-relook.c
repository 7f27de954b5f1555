/* test-relook.c - when to look again after a wake-up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/store.h"

static void test_relook__nothing_is_planned_before_a_wake_up(void **state)
{
	(void)state;
	struct rec_relook r = {0};
	assert_int_equal(rec_relook_wait_us(&r, 0), -1);
	assert_int_equal(rec_relook_wait_us(&r, 5000000), -1);
	rec_relook_looked(&r, 5000000); /* a look for another reason plans none */
	assert_int_equal(rec_relook_wait_us(&r, 5000000), -1);
}

static void test_relook__first_look_is_at_once_and_the_pause_doubles_to_50_ms(void **state)
{
	(void)state;
	static const int64_t pauses[] = {50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 50000, 50000};
	struct rec_relook r = {0};
	int64_t now = 1000;
	rec_relook_woken(&r, now);
	assert_int_equal(rec_relook_wait_us(&r, now), 0);
	for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
		rec_relook_looked(&r, now);
		assert_int_equal(rec_relook_wait_us(&r, now), pauses[i]);
		assert_int_equal(rec_relook_wait_us(&r, now + pauses[i] - 1), 1);
		now += pauses[i];
		assert_int_equal(rec_relook_wait_us(&r, now), 0);
		assert_int_equal(rec_relook_wait_us(&r, now + 1000000), 0); /* late is now */
	}
}

static void test_relook__last_look_is_not_before_the_end_of_two_seconds(void **state)
{
	(void)state;
	struct rec_relook r = {0};
	int64_t now = 7000, looks = 0;
	rec_relook_woken(&r, now);
	for (int64_t wait; (wait = rec_relook_wait_us(&r, now)) >= 0; looks++) {
		now += wait;
		assert_true(now <= 7000 + 2050000);
		rec_relook_looked(&r, now);
	}
	assert_true(now >= 7000 + 2000000);
	assert_in_range(looks, 45, 60);
}

static void test_relook__another_wake_up_begins_anew(void **state)
{
	(void)state;
	struct rec_relook r = {0};
	rec_relook_woken(&r, 0);
	for (int64_t now = 0; now < 1900000; now += rec_relook_wait_us(&r, now))
		rec_relook_looked(&r, now);
	rec_relook_woken(&r, 1900000);
	assert_int_equal(rec_relook_wait_us(&r, 1900000), 0);
	rec_relook_looked(&r, 1900000);
	assert_int_equal(rec_relook_wait_us(&r, 1900000), 50);
	rec_relook_looked(&r, 2100000); /* two seconds after the first, not after the second */
	assert_true(rec_relook_wait_us(&r, 2100000) > 0);
}

static void test_relook__own_commits_ask_for_few_looks_over_the_same_window(void **state)
{
	(void)state;
	struct rec_relook r = {0};
	int64_t now = 7000, looks = 0;
	rec_relook_committed(&r, now);
	assert_int_equal(rec_relook_wait_us(&r, now), 50);
	for (int64_t wait; (wait = rec_relook_wait_us(&r, now)) >= 0; looks++) {
		now += wait;
		rec_relook_looked(&r, now);
	}
	assert_true(now >= 7000 + 2000000 && now <= 7000 + 4000000);
	assert_in_range(looks, 14, 18);
}

static void test_relook__own_commits_do_not_stretch_the_looks_for_others(void **state)
{
	(void)state;
	struct rec_relook r = {0};
	rec_relook_woken(&r, 0);
	for (int64_t now = 0; now < 1000000; now += rec_relook_wait_us(&r, now))
		rec_relook_looked(&r, now);
	rec_relook_committed(&r, 1000000);
	rec_relook_looked(&r, 1000000);
	assert_int_equal(rec_relook_wait_us(&r, 1000000), 50000);
	rec_relook_looked(&r, 2000001); /* and end with their own window */
	assert_int_equal(rec_relook_wait_us(&r, 2000001), -1);
	rec_relook_committed(&r, 3000000);
	rec_relook_woken(&r, 3000010); /* somebody else after all */
	rec_relook_looked(&r, 3000010);
	rec_relook_looked(&r, 3400000);
	for (int i = 0; i < 12; i++)
		rec_relook_looked(&r, 3400000);
	assert_int_equal(rec_relook_wait_us(&r, 3400000), 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relook__nothing_is_planned_before_a_wake_up),
		cmocka_unit_test(test_relook__first_look_is_at_once_and_the_pause_doubles_to_50_ms),
		cmocka_unit_test(test_relook__last_look_is_not_before_the_end_of_two_seconds),
		cmocka_unit_test(test_relook__another_wake_up_begins_anew),
		cmocka_unit_test(test_relook__own_commits_ask_for_few_looks_over_the_same_window),
		cmocka_unit_test(test_relook__own_commits_do_not_stretch_the_looks_for_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
