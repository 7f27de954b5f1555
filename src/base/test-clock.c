/* Clocks and random numbers. */
#include "base/test-support.h"

#include <time.h>

#include "base/clock.h"

static void test_clock__the_real_one_tells_the_time(void **state)
{
	(void)state;
	int64_t before = (int64_t)time(NULL) - 1, wall = rec_clock_real.wall_us(rec_clock_real.context);
	assert_in_range(wall / 1000000, before, time(NULL) + 1);
	int64_t first = rec_clock_real.monotonic_us(rec_clock_real.context);
	assert_true(first > 0);
	assert_true(rec_clock_real.monotonic_us(rec_clock_real.context) >= first);
}

static void test_clock__the_manual_one_stands_still_until_moved(void **state)
{
	(void)state;
	struct rec_clock_manual m;
	rec_clock_manual_init(&m, 1000);
	assert_int_equal(m.clock.wall_us(m.clock.context), 1000);
	assert_int_equal(m.clock.monotonic_us(m.clock.context), 0);
	rec_clock_manual_advance(&m, 25);
	assert_int_equal(m.clock.wall_us(m.clock.context), 1025);
	assert_int_equal(m.clock.monotonic_us(m.clock.context), 25);
	m.now_wall_us -= 500; /* somebody sets the clock back: the other hand does not notice */
	assert_int_equal(m.clock.wall_us(m.clock.context), 525);
	assert_int_equal(m.clock.monotonic_us(m.clock.context), 25);
}

static void test_boot__counts_on_in_sleep_or_is_the_other_clock(void **state)
{
	(void)state;
	struct timespec boot;
	struct rec_clock_manual m;
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &boot), 0);
	int64_t before = (int64_t)boot.tv_sec * 1000000 + boot.tv_nsec / 1000;
	assert_in_range(rec_clock_boot_us(&rec_clock_real), before, before + 60 * INT64_C(1000000));
	rec_clock_manual_init(&m, 1000);
	rec_clock_manual_advance(&m, 25);
	m.clock.boot_us = NULL;
	assert_int_equal(rec_clock_boot_us(&m.clock), 25);
}

static void test_random__does_not_repeat(void **state)
{
	(void)state;
	uint64_t seen[64], ones = 0;
	for (size_t i = 0; i < 64; i++) {
		seen[i] = rec_random_u64();
		ones += (uint64_t)__builtin_popcountll(seen[i]);
		for (size_t k = 0; k < i; k++)
			assert_true(seen[k] != seen[i]);
	}
	assert_in_range(ones, 64 * 64 * 2 / 5, 64 * 64 * 3 / 5);
}

static void test_uuid__is_version_four_in_lower_case(void **state)
{
	(void)state;
	uint8_t bytes[16];
	char text[REC_UUID_BYTES];
	memset(bytes, 0xff, sizeof bytes);
	assert_string_equal(rec_uuid_format(bytes, text), "ffffffff-ffff-4fff-bfff-ffffffffffff");
	memset(bytes, 0, sizeof bytes);
	assert_string_equal(rec_uuid_format(bytes, text), "00000000-0000-4000-8000-000000000000");
	for (uint8_t i = 0; i < 16; i++)
		bytes[i] = (uint8_t)(i * 0x11);
	assert_string_equal(rec_uuid_format(bytes, text), "00112233-4455-4677-8899-aabbccddeeff");
}

static void test_uuid_new__gives_another_each_time(void **state)
{
	(void)state;
	char one[REC_UUID_BYTES], two[REC_UUID_BYTES];
	assert_ptr_equal(rec_uuid_new(one), one);
	rec_uuid_new(two);
	assert_int_equal(strlen(one), 36);
	assert_string_not_equal(one, two);
	assert_int_equal(one[14], '4');
	assert_non_null(strchr("89ab", one[19]));
}

static void test_uuid_new_ordered__begins_with_the_time(void **state)
{
	(void)state;
	char early[REC_UUID_BYTES], same[REC_UUID_BYTES], late[REC_UUID_BYTES];
	rec_uuid_new_ordered(INT64_C(0x0123456789ab) * 1000 + 999, early);
	rec_uuid_new_ordered(INT64_C(0x0123456789ab) * 1000, same);
	rec_uuid_new_ordered(INT64_C(0x0123456789ac) * 1000, late);
	assert_memory_equal(early, "01234567-89ab-7", 15);
	assert_memory_equal(same, early, 15);
	assert_string_not_equal(same, early);
	assert_true(strcmp(early, late) < 0);
	assert_int_equal(strlen(late), 36);
	assert_non_null(strchr("89ab", late[19]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock__the_real_one_tells_the_time),
		cmocka_unit_test(test_clock__the_manual_one_stands_still_until_moved),
		cmocka_unit_test(test_boot__counts_on_in_sleep_or_is_the_other_clock),
		cmocka_unit_test(test_random__does_not_repeat),
		cmocka_unit_test(test_uuid__is_version_four_in_lower_case),
		cmocka_unit_test(test_uuid_new__gives_another_each_time),
		cmocka_unit_test(test_uuid_new_ordered__begins_with_the_time),
	};
	return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
