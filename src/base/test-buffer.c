/* Buffers: growing, the maximum, sticky failure. */
#include "base/test-support.h"

#include "base/buffer.h"

static void test_buffer__is_empty_at_first(void **state)
{
	(void)state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 10);
	assert_int_equal(rec_buffer_slice(&b).length, 0);
	rec_buffer_clear(&b);
	rec_buffer_consume(&b, 0);
	rec_buffer_added(&b, 0);
	rec_buffer_release(&b);
}

static void test_buffer_add__keeps_everything_and_terminates(void **state)
{
	(void)state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, SIZE_MAX);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(rec_buffer_add(&b, &(char){(char)('a' + i % 26)}, 1), 0);
		assert_int_equal(b.data[b.length], 0);
	}
	assert_int_equal(b.length, 5000);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	assert_true(b.capacity <= 2 * 5001);
	rec_buffer_release(&b);
	assert_null(b.data);
}

static void test_buffer_add__nothing_is_fine(void **state)
{
	(void)state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 0);
	assert_int_equal(rec_buffer_add(&b, NULL, 0), 0);
	assert_string_equal(b.data, "");
	assert_int_equal(rec_buffer_add(&b, "x", 1), REC_E_LIMIT);
	rec_buffer_release(&b);
}

static void test_buffer__may_be_filled_to_its_maximum_and_no_further(void **state)
{
	(void)state;
	for (size_t maximum = 1; maximum < 200; maximum++) {
		struct rec_buffer b;
		rec_buffer_init(&b, NULL, maximum);
		for (size_t i = 0; i < maximum; i++)
			assert_int_equal(rec_buffer_add(&b, "x", 1), 0);
		assert_int_equal(rec_buffer_add(&b, "x", 1), REC_E_LIMIT);
		assert_int_equal(b.length, maximum);
		assert_true(b.capacity <= maximum + 1);
		rec_buffer_release(&b);
	}
}

static void test_buffer__stays_failed_until_cleared(void **state)
{
	(void)state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 5);
	assert_int_equal(rec_buffer_add_text(&b, "abc"), 0);
	assert_int_equal(rec_buffer_add_text(&b, "def"), REC_E_LIMIT);
	assert_int_equal(rec_buffer_add_text(&b, "d"), REC_E_LIMIT);
	assert_int_equal(rec_buffer_printf(&b, "d"), REC_E_LIMIT);
	assert_null(rec_buffer_space(&b, 0));
	assert_slice_equal(rec_buffer_slice(&b), "abc");
	rec_buffer_clear(&b);
	assert_int_equal(rec_buffer_add_text(&b, "de"), 0);
	assert_slice_equal(rec_buffer_slice(&b), "de");
	rec_buffer_release(&b);
}

static void test_buffer__a_huge_length_is_a_limit_not_an_overflow(void **state)
{
	(void)state;
	struct rec_failing_allocator f;
	struct rec_buffer b;
	rec_failing_allocator_init(&f, 2, 0);
	rec_buffer_init(&b, &f.allocator, SIZE_MAX);
	assert_int_equal(rec_buffer_add_text(&b, "abc"), 0);
	assert_null(rec_buffer_space(&b, SIZE_MAX));
	assert_int_equal(b.failed, REC_E_LIMIT);
	rec_buffer_clear(&b);
	assert_null(rec_buffer_space(&b, SIZE_MAX / 2));
	assert_int_equal(b.failed, REC_E_NOMEM);
	rec_buffer_release(&b);
}

static void test_buffer_printf__fits_or_grows(void **state)
{
	(void)state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 1000);
	for (int width = 0; width < 70; width++) {
		rec_buffer_clear(&b);
		assert_int_equal(rec_buffer_printf(&b, "%*d", width, 7), 0);
		assert_int_equal(b.length, width ? width : 1);
		assert_int_equal(b.data[b.length - 1], '7');
		assert_int_equal(b.data[b.length], 0);
	}
	rec_buffer_clear(&b);
	assert_int_equal(rec_buffer_printf(&b, "%1000s", "x"), 0);
	assert_int_equal(b.length, 1000);
	rec_buffer_clear(&b);
	rec_buffer_add_text(&b, "abc");
	assert_int_equal(rec_buffer_printf(&b, "%1000s", "x"), REC_E_LIMIT);
	assert_slice_equal(rec_buffer_slice(&b), "abc");
	assert_int_equal(b.data[3], 0);
	rec_buffer_release(&b);
}

static void test_buffer_space__what_was_added_counts(void **state)
{
	(void)state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 1000);
	char *place = rec_buffer_space(&b, 500);
	assert_string_equal(b.data, ""); /* terminated before anything is added too */
	memcpy(place, "hello", 5);
	rec_buffer_added(&b, 5);
	assert_slice_equal(rec_buffer_slice(&b), "hello");
	assert_int_equal(b.data[5], 0);
	rec_buffer_release(&b);
}

static void test_buffer_consume__drops_from_the_front(void **state)
{
	(void)state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 1000);
	rec_buffer_add_text(&b, "hello world");
	rec_buffer_consume(&b, 6);
	assert_slice_equal(rec_buffer_slice(&b), "world");
	assert_string_equal(b.data, "world");
	rec_buffer_consume(&b, 5);
	assert_slice_equal(rec_buffer_slice(&b), "");
	rec_buffer_release(&b);
}

static int buffer_scenario(const struct rec_allocator *a)
{
	struct rec_buffer b;
	rec_buffer_init(&b, a, 100000);
	int r = rec_buffer_add_text(&b, "abc");
	for (int i = 0; i < 50 && !r; i++)
		r = rec_buffer_printf(&b, "%100d", i);
	if (!r && !rec_buffer_space(&b, 50000))
		r = b.failed;
	rec_buffer_release(&b);
	return r;
}

static void test_buffer__fails_cleanly_without_memory(void **state)
{
	(void)state;
	test_fail_every_allocation(buffer_scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffer__is_empty_at_first),
		cmocka_unit_test(test_buffer_add__keeps_everything_and_terminates),
		cmocka_unit_test(test_buffer_add__nothing_is_fine),
		cmocka_unit_test(test_buffer__may_be_filled_to_its_maximum_and_no_further),
		cmocka_unit_test(test_buffer__stays_failed_until_cleared),
		cmocka_unit_test(test_buffer__a_huge_length_is_a_limit_not_an_overflow),
		cmocka_unit_test(test_buffer_printf__fits_or_grows),
		cmocka_unit_test(test_buffer_space__what_was_added_counts),
		cmocka_unit_test(test_buffer_consume__drops_from_the_front),
		cmocka_unit_test(test_buffer__fails_cleanly_without_memory),
	};
	return cmocka_run_group_tests_name("base/buffer", tests, NULL, NULL);
}
