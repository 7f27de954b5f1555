/* Real numbers as JSON. */
#include "base/test-support.h"

#include <locale.h>
#include <math.h>

#include "base/number.h"

static void assert_written(double value, const char *wanted)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, 64);
	assert_int_equal(rec_number_write(&out, value), 0);
	assert_string_equal(out.data, wanted);
	rec_buffer_release(&out);
}

static void test_number__is_written_as_short_as_it_can_be(void **state)
{
	(void)state;
	assert_written(0, "0");
	assert_written(1.5, "1.5");
	assert_written(-0.1, "-0.1");
	assert_written(1e21, "1e+21");
	assert_written(0.1 + 0.2, "0.30000000000000004");
	assert_written((double)INFINITY, "1e999");
	assert_written(-(double)INFINITY, "-1e999");
	assert_written((double)NAN, "null");
}

static void test_number__is_read_if_it_is_finite(void **state)
{
	(void)state;
	static const char *const good[] = {"0", "-0.1", "1e+21", "0.30000000000000004", "5e-324"};
	char digits[129];
	double value = 0;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(rec_number_parse(rec_slice_of(good[i]), &value), 0);
		if (i < 4)
			assert_written(value, good[i]);
	}
	assert_true(value > 0);
	assert_int_equal(rec_number_parse(rec_slice_of("1e999"), &value), REC_E_INVALID);
	memset(digits, '1', sizeof digits);
	assert_int_equal(rec_number_parse((struct rec_slice){digits, 127}, &value), 0);
	assert_int_equal(rec_number_parse((struct rec_slice){digits, 128}, &value), REC_E_INVALID);
}

/* Where one is installed that writes a comma; else the same as above. */
static void test_number__has_a_point_whatever_the_locale(void **state)
{
	(void)state;
	double value = 0;
	(void)setlocale(LC_ALL, "de_DE.UTF-8");
	assert_written(1.5, "1.5");
	assert_int_equal(rec_number_parse(rec_slice_of("2.5"), &value), 0);
	assert_written(value, "2.5");
	(void)setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number__is_written_as_short_as_it_can_be),
		cmocka_unit_test(test_number__is_read_if_it_is_finite),
		cmocka_unit_test(test_number__has_a_point_whatever_the_locale),
	};
	return cmocka_run_group_tests_name("base/number", tests, NULL, NULL);
}
