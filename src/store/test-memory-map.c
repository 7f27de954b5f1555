/* test-memory-map.c - the ordered map with two versions against a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/memory-map.h"

#define KEYS 3000 /* several leaves */

struct number {
	struct rec_memory_row row;
	int value;
};

struct model {
	struct rec_memory_map map;
	struct rec_failing_allocator memory;
	int rows[2][KEYS]; /* by view; 0: none */
};

static void model_init(struct model *m)
{
	*m = (struct model){.rows = {{0}}};
	rec_failing_allocator_init(&m->memory, 0, 0);
	rec_memory_map_init(&m->map, &m->memory.allocator);
}

static void model_end(struct model *m)
{
	rec_memory_map_release(&m->map);
	assert_int_equal(m->memory.live, 0);
}

/* Keys of different lengths, some the beginning of others, many alike in their first eight bytes. */
static struct rec_slice key_of(int key, char buffer[32])
{
	snprintf(buffer, 32, "%s%0*d", key % 2 ? "" : "00000000", key % 4 + 1, key);
	return rec_slice_of(buffer);
}

static int key_number(struct rec_slice key)
{
	int number = 0;
	for (size_t i = 0; i < key.length; i++)
		number = number * 10 + (key.data[i] - '0');
	return number;
}

static int put(struct model *m, int key, int value)
{
	char buffer[32];
	struct number *row = NULL;
	if (value) {
		row = rec_memory_row_new(&m->memory.allocator, sizeof *row);
		if (!row)
			return REC_E_NOMEM;
		row->value = value;
	}
	int r = rec_memory_map_put(&m->map, key_of(key, buffer), row);
	if (r == 0)
		m->rows[REC_MEMORY_WORKING][key] = value;
	return r;
}

static void end(struct model *m, bool commit)
{
	if (commit)
		rec_memory_map_commit(&m->map);
	else
		rec_memory_map_rollback(&m->map);
	memcpy(m->rows[commit ? REC_MEMORY_COMMITTED : REC_MEMORY_WORKING],
	       m->rows[commit ? REC_MEMORY_WORKING : REC_MEMORY_COMMITTED], sizeof m->rows[0]);
}

static void compare_view(struct model *m, enum rec_memory_view view)
{
	char buffer[32];
	size_t wanted = 0, seen = 0;
	struct rec_memory_cursor cursor;
	struct rec_slice key, last = {"", 0};
	const struct number *row;
	for (int i = 0; i < KEYS; i++) {
		row = rec_memory_map_get(&m->map, view, key_of(i, buffer));
		assert_int_equal(row ? row->value : 0, m->rows[view][i]);
		wanted += m->rows[view][i] != 0;
	}
	rec_memory_cursor_init(&cursor, &m->map, view, (struct rec_slice){NULL, 0});
	while ((row = rec_memory_cursor_next(&cursor, &key))) {
		assert_true(seen++ == 0 || rec_slice_compare(last, key) < 0);
		assert_int_equal(row->value, m->rows[view][key_number(key)]);
		last = key;
	}
	assert_int_equal(seen, wanted);
}

static void compare(struct model *m)
{
	compare_view(m, REC_MEMORY_COMMITTED);
	compare_view(m, REC_MEMORY_WORKING);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void test_memory_map__agrees_with_a_plain_array(void **state)
{
	(void)state;
	struct model m;
	uint32_t random = 42;
	model_init(&m);
	for (int round = 0; round < 200; round++) {
		uint32_t count = next_random(&random) % 400;
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(put(&m, (int)(next_random(&random) % KEYS), (int)(next_random(&random) % 3)),
					 0);
		compare(&m);
		end(&m, next_random(&random) % 3 != 0);
		compare(&m);
	}
	model_end(&m);
}

/* In order upwards, downwards, and from both ends to the middle: every way to fill and split leaves. */
static void test_memory_map__keys_may_come_in_any_order(void **state)
{
	(void)state;
	for (int way = 0; way < 3; way++) {
		struct model m;
		model_init(&m);
		for (int i = 0; i < KEYS; i++) {
			int key = way == 0 ? i : way == 1 ? KEYS - 1 - i : i % 2 ? KEYS - 1 - i / 2 : i / 2;
			assert_int_equal(put(&m, key, 1), 0);
		}
		end(&m, true);
		compare(&m);
		for (int i = 0; i < KEYS; i += 1 + i % 3)
			assert_int_equal(put(&m, i, 0), 0);
		end(&m, true);
		compare(&m);
		model_end(&m);
	}
}

static void test_memory_map__keys_without_a_row_take_no_memory(void **state)
{
	(void)state;
	struct model m;
	model_init(&m);
	for (int i = 0; i < KEYS; i++)
		assert_int_equal(put(&m, i, i + 1), 0);
	end(&m, false);
	assert_int_equal(m.memory.live, 1); /* the array of leaves */
	for (int i = 0; i < KEYS; i++)
		assert_int_equal(put(&m, i, i + 1), 0);
	end(&m, true);
	for (int i = 0; i < KEYS; i++)
		assert_int_equal(put(&m, i, 0), 0);
	end(&m, true);
	assert_int_equal(m.memory.live, 1);
	compare(&m);
	model_end(&m);
}

static void test_memory_map__empty_one_has_nothing(void **state)
{
	(void)state;
	struct model m;
	model_init(&m);
	compare(&m);
	assert_int_equal(put(&m, 1, 0), 0); /* removing what is not there needs no memory */
	end(&m, true);
	end(&m, false);
	assert_int_equal(m.memory.calls, 0);
	model_end(&m);
}

static void test_memory_map__cursor_begins_at_the_first_key_not_before(void **state)
{
	(void)state;
	struct model m;
	struct rec_memory_cursor cursor;
	struct rec_slice key;
	model_init(&m);
	assert_int_equal(put(&m, 5, 1) + put(&m, 17, 2) + put(&m, 140, 3), 0); /* "05", "17", "00000000140" */
	end(&m, true);
	rec_memory_cursor_init(&cursor, &m.map, REC_MEMORY_COMMITTED, rec_slice_of("00000000140"));
	assert_non_null(rec_memory_cursor_next(&cursor, &key));
	assert_true(rec_slice_equal(key, rec_slice_of("00000000140")));
	rec_memory_cursor_init(&cursor, &m.map, REC_MEMORY_COMMITTED, rec_slice_of("000000001400"));
	assert_non_null(rec_memory_cursor_next(&cursor, &key));
	assert_true(rec_slice_equal(key, rec_slice_of("05")));
	assert_non_null(rec_memory_cursor_next(&cursor, &key));
	assert_true(rec_slice_equal(key, rec_slice_of("17")));
	assert_null(rec_memory_cursor_next(&cursor, &key));
	model_end(&m);
}

static void test_memory_map__shared_rows_live_as_long_as_anybody_holds_them(void **state)
{
	(void)state;
	struct model m;
	char buffer[32];
	model_init(&m);
	struct number *row = rec_memory_row_new(&m.memory.allocator, sizeof *row);
	row->value = 7;
	assert_int_equal(rec_memory_map_put(&m.map, key_of(1, buffer), rec_memory_row_share(row)), 0);
	assert_int_equal(rec_memory_map_put(&m.map, key_of(2, buffer), rec_memory_row_share(row)), 0);
	rec_memory_row_drop(&m.memory.allocator, row);
	rec_memory_map_commit(&m.map);
	assert_int_equal(rec_memory_map_put(&m.map, key_of(1, buffer), NULL), 0);
	rec_memory_map_commit(&m.map);
	assert_int_equal(((struct number *)rec_memory_map_get(&m.map, REC_MEMORY_COMMITTED, key_of(2, buffer)))->value,
			 7);
	model_end(&m);
}

static void test_memory_map__out_of_memory_changes_nothing(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 8; n++) {
		struct model m;
		model_init(&m);
		assert_int_equal(put(&m, 50, 1), 0);
		end(&m, true);
		m.memory.fail_at = m.memory.calls + n;
		m.memory.persistent = 1;
		for (int i = 0; i < 10; i++)
			(void)put(&m, i, 2);
		compare(&m);
		end(&m, false); /* needs no memory */
		compare(&m);
		model_end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_map__agrees_with_a_plain_array),
		cmocka_unit_test(test_memory_map__keys_may_come_in_any_order),
		cmocka_unit_test(test_memory_map__keys_without_a_row_take_no_memory),
		cmocka_unit_test(test_memory_map__empty_one_has_nothing),
		cmocka_unit_test(test_memory_map__cursor_begins_at_the_first_key_not_before),
		cmocka_unit_test(test_memory_map__shared_rows_live_as_long_as_anybody_holds_them),
		cmocka_unit_test(test_memory_map__out_of_memory_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
