/* test-retry.c - delays double, stop at the cap, and are spread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/retry.h"

#define SECOND INT64_C(1000000)

static void delay_is_between(int64_t base_us, uint32_t times, int64_t low_us, int64_t high_us)
{
	struct rec_random random = {1};
	int64_t least = INT64_MAX, most = 0;
	for (int i = 0; i < 2000; i++) {
		int64_t delay = rec_retry_delay_us(base_us, times, &random);
		assert_true(delay >= low_us && delay <= high_us);
		least = delay < least ? delay : least;
		most = delay > most ? delay : most;
	}
	int64_t spread = high_us - low_us;
	assert_true(least < low_us + spread / 20);
	assert_true(most > high_us - spread / 20);
}

static void test_retry__delay_doubles_and_is_spread_over_its_upper_half(void **state)
{
	(void)state;
	delay_is_between(10 * SECOND, 1, 5 * SECOND, 10 * SECOND);
	delay_is_between(10 * SECOND, 2, 10 * SECOND, 20 * SECOND);
	delay_is_between(10 * SECOND, 5, 80 * SECOND, 160 * SECOND);
}

static void test_retry__delay_stops_at_the_cap(void **state)
{
	(void)state;
	delay_is_between(10 * SECOND, 6, REC_RETRY_CAP_US / 2, REC_RETRY_CAP_US);
	delay_is_between(10 * SECOND, UINT32_MAX, REC_RETRY_CAP_US / 2, REC_RETRY_CAP_US);
	delay_is_between(INT64_MAX, 3, REC_RETRY_CAP_US / 2, REC_RETRY_CAP_US);
}

static void test_retry__no_base_no_delay(void **state)
{
	(void)state;
	struct rec_random random = {1};
	assert_int_equal(rec_retry_delay_us(0, 9, &random), 0);
	assert_int_equal(rec_retry_delay_us(-5, 9, &random), 0);
}

static void test_random__follows_from_the_seed_and_stays_below_the_limit(void **state)
{
	(void)state;
	struct rec_random a = {7}, b = {7}, c = {8};
	int same = 0;
	for (int i = 0; i < 1000; i++) {
		uint64_t x = rec_random_below(&a, 10);
		assert_int_equal(x, rec_random_below(&b, 10));
		assert_true(x < 10);
		same += x == rec_random_below(&c, 10);
	}
	assert_true(same < 200);
	assert_int_equal(rec_random_below(&a, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry__delay_doubles_and_is_spread_over_its_upper_half),
		cmocka_unit_test(test_retry__delay_stops_at_the_cap),
		cmocka_unit_test(test_retry__no_base_no_delay),
		cmocka_unit_test(test_random__follows_from_the_seed_and_stays_below_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
