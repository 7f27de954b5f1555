/* The map from ids to indices, against a plain list; the hash. */
#include "base/test-support.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/idmap.h"

static uint32_t add(struct rec_idmap *m, const struct rec_slice *ids, uint32_t index)
{
	uint32_t first = 0;
	int r = rec_idmap_add(m, ids, index, &first);
	assert_true(r == 0 || r == REC_EXISTS);
	return r ? first : index;
}

static void test_idmap__an_empty_map_holds_nothing(void **state)
{
	(void)state;
	struct rec_idmap m;
	rec_idmap_init(&m, NULL, 1);
	assert_int_equal(rec_idmap_find(&m, NULL, rec_slice_of("a")), REC_IDMAP_NONE);
	assert_false(rec_idmap_remove(&m, NULL, rec_slice_of("a")));
	assert_int_equal(rec_idmap_reserve(&m, 0), 0);
	rec_idmap_release(&m);
}

static void test_idmap__finds_what_was_added_and_nothing_else(void **state)
{
	(void)state;
	enum { COUNT = 20000 };
	static char texts[COUNT][16];
	static struct rec_slice ids[COUNT];
	struct rec_idmap m;
	rec_idmap_init(&m, NULL, 42);
	for (uint32_t i = 0; i < COUNT; i++) {
		snprintf(texts[i], sizeof texts[i], "task-%u", i);
		ids[i] = rec_slice_of(texts[i]);
		assert_int_equal(add(&m, ids, i), i);
	}
	assert_int_equal(m.count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(rec_idmap_find(&m, ids, ids[i]), i);
	assert_int_equal(rec_idmap_find(&m, ids, rec_slice_of("task-20000")), REC_IDMAP_NONE);
	assert_int_equal(rec_idmap_find(&m, ids, rec_slice_of("task-")), REC_IDMAP_NONE);
	assert_int_equal(rec_idmap_find(&m, ids, (struct rec_slice){NULL, 0}), REC_IDMAP_NONE);
	rec_idmap_release(&m);
}

static void test_idmap_find_many__answers_as_one_by_one(void **state)
{
	(void)state;
	enum { COUNT = 1000 };
	static char texts[2 * COUNT][16];
	static struct rec_slice ids[2 * COUNT]; /* every second one is in the map */
	uint32_t out[2 * COUNT + 1];
	struct rec_idmap m;
	rec_idmap_init(&m, NULL, 42);
	memset(out, 0x55, sizeof out);
	rec_idmap_find_many(&m, ids, ids, 3, out);
	assert_int_equal(out[2], REC_IDMAP_NONE);
	assert_int_equal(out[3], 0x55555555);
	for (uint32_t i = 0; i < 2 * COUNT; i++) {
		snprintf(texts[i], sizeof texts[i], "task-%u", i);
		ids[i] = rec_slice_of(texts[i]);
		if (i % 2)
			assert_int_equal(add(&m, ids, i), i);
	}
	for (size_t count = 0; count <= 2 * COUNT; count += count < 100 ? 1 : 95) {
		memset(out, 0x55, sizeof out);
		rec_idmap_find_many(&m, ids, ids, count, out);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(out[i], i % 2 ? i : REC_IDMAP_NONE);
		assert_int_equal(out[count], 0x55555555);
	}
	rec_idmap_release(&m);
}

static void test_idmap_add__a_second_equal_id_names_the_first(void **state)
{
	(void)state;
	const struct rec_slice ids[] = {rec_slice_of("a"), rec_slice_of("b"), rec_slice_of("a")};
	struct rec_idmap m;
	rec_idmap_init(&m, NULL, 42);
	assert_int_equal(add(&m, ids, 0), 0);
	assert_int_equal(add(&m, ids, 1), 1);
	assert_int_equal(add(&m, ids, 2), 0);
	assert_int_equal(m.count, 2);
	rec_idmap_release(&m);
}

static void test_idmap__index_zero_and_the_largest_are_ordinary(void **state)
{
	(void)state;
	const struct rec_slice one = rec_slice_of("z");
	/* Only ids[index] is looked at, so the array may begin far below. */
	const struct rec_slice *ids = (const struct rec_slice *)((uintptr_t)&one - sizeof one * (UINT32_MAX - 1));
	struct rec_idmap m;
	rec_idmap_init(&m, NULL, 3);
	assert_int_equal(add(&m, ids, UINT32_MAX - 1), UINT32_MAX - 1);
	assert_int_equal(rec_idmap_find(&m, ids, rec_slice_of("z")), UINT32_MAX - 1);
	rec_idmap_release(&m);
}

/* Adds, removes and finds at random among few ids, so that runs of cells form, wrap around and close again. */
static void test_idmap_remove__against_a_plain_list(void **state)
{
	(void)state;
	enum { COUNT = 300 };
	static char texts[COUNT][8];
	static struct rec_slice ids[COUNT];
	static bool held[COUNT];
	uint64_t random = 7;
	for (uint32_t i = 0; i < COUNT; i++) {
		snprintf(texts[i], sizeof texts[i], "%u", i);
		ids[i] = rec_slice_of(texts[i]);
	}
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rec_idmap m;
		size_t count = 0, ids_used = 10 + (size_t)seed * 14;
		rec_idmap_init(&m, NULL, seed);
		memset(held, 0, sizeof held);
		for (int step = 0; step < 20000; step++) {
			uint32_t i = (uint32_t)(test_random(&random) % ids_used);
			assert_int_equal(rec_idmap_find(&m, ids, ids[i]), held[i] ? i : REC_IDMAP_NONE);
			if (test_random(&random) % 2) {
				assert_int_equal(add(&m, ids, i), i);
				count += !held[i];
				held[i] = true;
			} else {
				assert_int_equal(rec_idmap_remove(&m, ids, ids[i]), held[i]);
				count -= held[i];
				held[i] = false;
			}
			assert_int_equal(m.count, count);
		}
		for (uint32_t i = 0; i < ids_used; i++)
			assert_int_equal(rec_idmap_find(&m, ids, ids[i]), held[i] ? i : REC_IDMAP_NONE);
		rec_idmap_release(&m);
	}
}

static void test_idmap_reserve__adding_then_needs_no_memory(void **state)
{
	(void)state;
	static char texts[3000][8];
	static struct rec_slice ids[3000];
	for (uint32_t i = 0; i < 3000; i++) {
		snprintf(texts[i], sizeof texts[i], "%u", i);
		ids[i] = rec_slice_of(texts[i]);
	}
	for (uint32_t count = 1; count <= 3000; count += count < 50 ? 1 : 113) {
		struct rec_failing_allocator f;
		struct rec_idmap m;
		rec_failing_allocator_init(&f, 2, 1);
		rec_idmap_init(&m, &f.allocator, 1);
		assert_int_equal(rec_idmap_reserve(&m, count), 0);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(add(&m, ids, i), i);
		assert_int_equal(f.calls, 1);
		assert_true(m.capacity <= 16 || m.capacity * 3 <= (uint64_t)count * 4 + 8);
		rec_idmap_release(&m);
		assert_int_equal(f.live, 0);
	}
}

static void test_idmap_reserve__too_many_is_a_limit(void **state)
{
	(void)state;
	struct rec_failing_allocator f;
	struct rec_idmap m;
	rec_failing_allocator_init(&f, 1, 1);
	rec_idmap_init(&m, &f.allocator, 1);
	assert_int_equal(rec_idmap_reserve(&m, SIZE_MAX), REC_E_LIMIT);
	assert_int_equal(rec_idmap_reserve(&m, ((size_t)3 << 30) + 1), REC_E_LIMIT);
	assert_int_equal(f.calls, 0);
	assert_int_equal(rec_idmap_reserve(&m, (size_t)3 << 30), REC_E_NOMEM);
	rec_idmap_release(&m);
}

static int idmap_scenario(const struct rec_allocator *a)
{
	static char texts[200][8];
	static struct rec_slice ids[200];
	struct rec_idmap m;
	int r = 0;
	rec_idmap_init(&m, a, 9);
	for (uint32_t i = 0; i < 200 && r == 0; i++) {
		uint32_t first;
		snprintf(texts[i], sizeof texts[i], "%u", i);
		ids[i] = rec_slice_of(texts[i]);
		r = rec_idmap_add(&m, ids, i, &first);
		for (uint32_t k = 0; k < i; k++)
			assert_int_equal(rec_idmap_find(&m, ids, ids[k]), k); /* sound after a failure too */
	}
	rec_idmap_release(&m);
	return r;
}

static void test_idmap__fails_cleanly_without_memory(void **state)
{
	(void)state;
	test_fail_every_allocation(idmap_scenario);
}

/* ---- The hash ---- */

static void test_hash__depends_on_every_byte_the_length_and_the_seed(void **state)
{
	(void)state;
	char text[80];
	for (size_t length = 0; length <= sizeof text; length++) {
		memset(text, 'x', sizeof text);
		struct rec_slice slice = {text, length};
		uint64_t hash = rec_hash(slice, 1);
		assert_int_equal(hash, rec_hash(slice, 1));
		assert_true(hash != rec_hash(slice, 2));
		if (length)
			assert_true(hash != rec_hash((struct rec_slice){text, length - 1}, 1));
		for (size_t i = 0; i < length * 8; i++) {
			text[i / 8] ^= (char)(1 << i % 8);
			assert_true(hash != rec_hash(slice, 1));
			text[i / 8] ^= (char)(1 << i % 8);
		}
	}
}

static void test_hash__does_not_read_beyond_the_text(void **state)
{
	(void)state;
	for (size_t length = 0; length <= 70; length++) {
		char *exact = malloc(length ? length : 1);
		memset(exact, 'y', length);
		uint64_t hash = rec_hash((struct rec_slice){exact, length}, 5);
		char larger[80];
		memset(larger, 'z', sizeof larger);
		memset(larger + 3, 'y', length);
		assert_int_equal(hash, rec_hash((struct rec_slice){larger + 3, length}, 5));
		free(exact);
	}
}

/* Zeroes are what makes a product vanish: texts of zeroes must not meet. */
static void test_hash__zeroes_of_different_length_differ(void **state)
{
	(void)state;
	static const char zeroes[256];
	uint64_t seen[257];
	for (size_t length = 0; length <= 256; length++) {
		seen[length] = rec_hash((struct rec_slice){zeroes, length}, 0);
		for (size_t k = 0; k < length; k++)
			assert_true(seen[k] != seen[length]);
	}
}

/* Each bit of the text turns each bit of the hash over about as often as not. */
static void test_hash__spreads_every_bit(void **state)
{
	(void)state;
	enum { ROUNDS = 2000 };
	uint64_t random = 99;
	for (size_t bit = 0; bit < 36 * 8; bit += 7) {
		unsigned turned[64] = {0};
		for (int round = 0; round < ROUNDS; round++) {
			uint64_t words[5];
			for (int i = 0; i < 5; i++)
				words[i] = test_random(&random);
			char text[40];
			memcpy(text, words, sizeof words);
			uint64_t before = rec_hash((struct rec_slice){text, 36}, 1);
			text[bit / 8] ^= (char)(1 << bit % 8);
			uint64_t change = before ^ rec_hash((struct rec_slice){text, 36}, 1);
			for (int i = 0; i < 64; i++)
				turned[i] += change >> i & 1;
		}
		for (int i = 0; i < 64; i++)
			assert_in_range(turned[i], ROUNDS * 4 / 10, ROUNDS * 6 / 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idmap__an_empty_map_holds_nothing),
		cmocka_unit_test(test_idmap__finds_what_was_added_and_nothing_else),
		cmocka_unit_test(test_idmap_find_many__answers_as_one_by_one),
		cmocka_unit_test(test_idmap_add__a_second_equal_id_names_the_first),
		cmocka_unit_test(test_idmap__index_zero_and_the_largest_are_ordinary),
		cmocka_unit_test(test_idmap_remove__against_a_plain_list),
		cmocka_unit_test(test_idmap_reserve__adding_then_needs_no_memory),
		cmocka_unit_test(test_idmap_reserve__too_many_is_a_limit),
		cmocka_unit_test(test_idmap__fails_cleanly_without_memory),
		cmocka_unit_test(test_hash__depends_on_every_byte_the_length_and_the_seed),
		cmocka_unit_test(test_hash__does_not_read_beyond_the_text),
		cmocka_unit_test(test_hash__zeroes_of_different_length_differ),
		cmocka_unit_test(test_hash__spreads_every_bit),
	};
	return cmocka_run_group_tests_name("base/idmap", tests, NULL, NULL);
}
