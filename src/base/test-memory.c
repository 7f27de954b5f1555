/* Memory: the wrappers, the arena, the allocator that fails on purpose. */
#include "base/test-support.h"

#include <stdlib.h>

static void test_alloc__size_zero_gives_a_block(void **state)
{
	(void)state;
	void *one = rec_alloc(NULL, 0), *two = rec_zalloc(NULL, 0, 0), *three = rec_realloc_array(NULL, NULL, 0, 8);
	assert_non_null(one);
	assert_non_null(two);
	assert_non_null(three);
	three = rec_realloc_array(NULL, three, 0, 8); /* realloc would release it */
	assert_non_null(three);
	assert_null(rec_free(NULL, one));
	rec_free(NULL, two);
	rec_free(NULL, three);
}

static void test_alloc__refuses_sizes_that_overflow(void **state)
{
	(void)state;
	struct rec_failing_allocator f;
	rec_failing_allocator_init(&f, 0, 0);
	assert_null(rec_zalloc(&f.allocator, SIZE_MAX / 2, 3));
	assert_null(rec_realloc_array(&f.allocator, NULL, SIZE_MAX, 2));
	assert_null(rec_strndup(&f.allocator, "x", SIZE_MAX));
	assert_int_equal(f.calls, 0);
}

static void test_zalloc__zeroes_whatever_the_allocator_gives(void **state)
{
	(void)state;
	struct rec_failing_allocator f;
	rec_failing_allocator_init(&f, 0, 0);
	for (int i = 0; i < 2; i++) {
		unsigned char *bytes = rec_zalloc(i ? &f.allocator : NULL, 100, 3);
		for (size_t k = 0; k < 300; k++)
			assert_int_equal(bytes[k], 0);
		rec_free(i ? &f.allocator : NULL, bytes);
	}
	assert_int_equal(f.live, 0);
}

static void test_strndup__copies_and_terminates(void **state)
{
	(void)state;
	char *copy = rec_strndup(NULL, "a\0bcd", 4), *empty = rec_strndup(NULL, NULL, 0);
	assert_memory_equal(copy, "a\0bc", 5);
	assert_string_equal(empty, "");
	rec_free(NULL, copy);
	rec_free(NULL, empty);
}

static void test_grow__doubles_and_leaves_all_as_it_was_on_failure(void **state)
{
	(void)state;
	struct rec_failing_allocator f;
	rec_failing_allocator_init(&f, 2, 1);
	void *items = NULL;
	size_t capacity = 0;
	assert_int_equal(rec_grow(&f.allocator, &items, &capacity, 0, 4), 0);
	assert_null(items);
	assert_int_equal(rec_grow(&f.allocator, &items, &capacity, 1, 4), 0);
	assert_int_equal(capacity, 8);
	void *before = items;
	assert_int_equal(rec_grow(&f.allocator, &items, &capacity, 9, 4), REC_E_NOMEM);
	assert_ptr_equal(items, before);
	assert_int_equal(capacity, 8);
	rec_failing_allocator_init(&f, 0, 0);
	assert_int_equal(rec_grow(&f.allocator, &items, &capacity, 1000, 4), 0);
	assert_int_equal(capacity, 1024);
	assert_int_equal(rec_grow(&f.allocator, &items, &capacity, SIZE_MAX / 2 + 2, 4), REC_E_NOMEM);
	assert_int_equal(rec_grow(&f.allocator, &items, &capacity, SIZE_MAX, 4), REC_E_NOMEM);
	rec_free(&f.allocator, items);
}

/* What one of many tasks needs is taken once; what a large one needed goes. */
static void test_arena__cleared_keeps_a_little(void **state)
{
	(void)state;
	struct rec_failing_allocator memory;
	struct rec_arena arena;
	rec_failing_allocator_init(&memory, 0, 0);
	rec_arena_init(&arena, &memory.allocator);
	rec_arena_clear(&arena);
	for (int i = 0; i < 3; i++) {
		assert_non_null(rec_arena_alloc(&arena, 4000));
		assert_non_null(rec_arena_alloc(&arena, 4000));
		rec_arena_clear(&arena);
		assert_int_equal(arena.bytes, 0);
		assert_int_equal(memory.live, 1);
	}
	assert_int_equal(memory.calls, 4);
	rec_arena_release(&arena);
	assert_non_null(rec_arena_alloc(&arena, 1u << 20));
	rec_arena_clear(&arena);
	assert_int_equal(memory.live, 0);
}

static void test_arena__pieces_are_aligned_and_do_not_overlap(void **state)
{
	(void)state;
	struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	enum { PIECES = 2000 };
	size_t bytes = 0;
	static unsigned char *pieces[PIECES];
	static size_t sizes[PIECES];
	uint64_t random = 1;
	for (size_t i = 0; i < PIECES; i++) {
		sizes[i] = test_random(&random) % 300;
		if (i % 2) {
			pieces[i] = rec_arena_alloc(&arena, sizes[i]);
			assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
		} else {
			static const char text[300];
			pieces[i] = (unsigned char *)rec_arena_strndup(&arena, text, sizes[i]);
			assert_int_equal(pieces[i][sizes[i]], 0);
		}
		memset(pieces[i], (int)i & 0xff, sizes[i]);
		bytes += sizes[i] + (i % 2 == 0 || sizes[i] == 0); /* the NUL; no piece is empty */
	}
	for (size_t i = 0; i < PIECES; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(pieces[i][k], i & 0xff);
	assert_int_equal(arena.bytes, bytes);
	rec_arena_release(&arena);
	assert_int_equal(arena.bytes, 0);
	assert_non_null(rec_arena_alloc(&arena, 1)); /* may be used again */
	rec_arena_release(&arena);
}

static void test_arena__takes_a_piece_larger_than_any_block(void **state)
{
	(void)state;
	struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	char *small = rec_arena_alloc(&arena, 10), *large = rec_arena_alloc(&arena, 5u << 20);
	memset(large, 1, 5u << 20);
	memset(small, 2, 10);
	assert_null(rec_arena_alloc(&arena, SIZE_MAX));
	assert_null(rec_arena_alloc(&arena, SIZE_MAX - 8));
	assert_null(rec_arena_strndup(&arena, "", SIZE_MAX));
	rec_arena_release(&arena);
}

static int arena_scenario(const struct rec_allocator *a)
{
	struct rec_arena arena;
	rec_arena_init(&arena, a);
	int r = 0;
	for (int i = 0; i < 100 && r == 0; i++)
		if (!rec_arena_alloc(&arena, 1000) || !rec_arena_strndup(&arena, "abc", 3))
			r = REC_E_NOMEM;
	rec_arena_release(&arena);
	return r;
}

static void test_arena__fails_cleanly_without_memory(void **state)
{
	(void)state;
	test_fail_every_allocation(arena_scenario);
}

static void test_failing_allocator__fails_once_or_for_ever(void **state)
{
	(void)state;
	struct rec_failing_allocator f;
	for (int persistent = 0; persistent <= 1; persistent++) {
		rec_failing_allocator_init(&f, 2, persistent);
		void *first = rec_alloc(&f.allocator, 8);
		assert_non_null(first);
		assert_null(rec_alloc(&f.allocator, 8));
		assert_int_equal(f.live, 1);
		void *third = rec_realloc_array(&f.allocator, NULL, 1, 8);
		assert_int_equal(third == NULL, persistent);
		assert_int_equal(f.calls, 3);
		assert_int_equal(f.live, persistent ? 1 : 2);
		rec_free(&f.allocator, first);
		rec_free(&f.allocator, third);
		assert_int_equal(f.live, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc__size_zero_gives_a_block),
		cmocka_unit_test(test_alloc__refuses_sizes_that_overflow),
		cmocka_unit_test(test_zalloc__zeroes_whatever_the_allocator_gives),
		cmocka_unit_test(test_strndup__copies_and_terminates),
		cmocka_unit_test(test_grow__doubles_and_leaves_all_as_it_was_on_failure),
		cmocka_unit_test(test_arena__cleared_keeps_a_little),
		cmocka_unit_test(test_arena__pieces_are_aligned_and_do_not_overlap),
		cmocka_unit_test(test_arena__takes_a_piece_larger_than_any_block),
		cmocka_unit_test(test_arena__fails_cleanly_without_memory),
		cmocka_unit_test(test_failing_allocator__fails_once_or_for_ever),
	};
	return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
