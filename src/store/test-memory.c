/* test-memory.c - what only the store in memory promises; the rest is in tests/contract. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/backend.h"

#define S(text) rec_slice_of(text)

struct fixture {
	struct rec_failing_allocator memory;
	struct rec_clock_manual clock;
	struct rec_store_options options;
	struct rec_store *store;
	struct rec_error error;
};

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){.store = NULL};
	rec_failing_allocator_init(&f->memory, 0, 0);
	rec_clock_manual_init(&f->clock, 1000000000);
	f->options = (struct rec_store_options){
		.mode = REC_STORE_WRITE, .allocator = &f->memory.allocator, .clock = &f->clock.clock};
	assert_int_equal(rec_store_memory_open("", &f->options, &f->store, &f->error), 0);
}

static void fixture_end(struct fixture *f)
{
	rec_store_close(f->store);
	assert_int_equal(f->memory.live, 0);
}

static void add(struct fixture *f, const char *id)
{
	const struct rec_task task = {.id = S(id), .title = S("x"), .status = REC_READY};
	assert_int_equal(rec_store_create(f->store, &task, &f->error), 0);
}

static int count_id(void *context, struct rec_slice id)
{
	(void)id;
	++*(size_t *)context;
	return 0;
}

static void test_memory__two_stores_are_strangers(void **state)
{
	(void)state;
	struct fixture f, g;
	struct rec_snapshot all;
	fixture_init(&f);
	fixture_init(&g);
	add(&f, "t");
	assert_int_equal(rec_store_snapshot(g.store, NULL, 0, 0, &all, &g.error), 0);
	assert_int_equal(all.count, 0);
	rec_snapshot_release(&all);
	fixture_end(&f);
	fixture_end(&g);
}

static void test_memory__shared_data_outlives_the_first_handle(void **state)
{
	(void)state;
	struct fixture f;
	struct rec_store *second = NULL;
	struct rec_snapshot all;
	fixture_init(&f);
	add(&f, "t");
	assert_int_equal(rec_store_memory_share(f.store, &f.options, &second, &f.error), 0);
	f.store = rec_store_close(f.store);
	assert_int_equal(rec_store_snapshot(second, NULL, 0, 0, &all, &f.error), 0);
	assert_int_equal(all.count, 1);
	rec_snapshot_release(&all);
	rec_store_close(second);
	fixture_end(&f);
}

static void test_memory__busy_is_told_at_once_whatever_the_time_limit(void **state)
{
	(void)state;
	struct fixture f;
	struct rec_store *second = NULL;
	fixture_init(&f);
	f.options.busy_timeout_ms = 3600000;
	assert_int_equal(rec_store_memory_share(f.store, &f.options, &second, &f.error), 0);
	assert_int_equal(rec_store_begin(f.store, &f.error), 0);
	assert_int_equal(rec_store_begin(second, &f.error), REC_E_BUSY);
	rec_store_close(second);
	fixture_end(&f);
}

static void test_memory__has_no_place_and_takes_no_name(void **state)
{
	(void)state;
	struct fixture f;
	struct rec_store_info info;
	struct rec_store *named = NULL;
	fixture_init(&f);
	rec_store_info(f.store, &info);
	assert_string_equal(info.location, "memory:");
	assert_null(info.directory);
	assert_int_equal(rec_store_memory_open("x", &f.options, &named, &f.error), REC_E_UNSUPPORTED);
	fixture_end(&f);
}

static void test_memory__the_feed_is_pruned_to_the_microsecond(void **state)
{
	(void)state;
	struct fixture f;
	struct rec_cursor before = {0}, between;
	size_t told = 0;
	fixture_init(&f);
	assert_int_equal(rec_store_changes(f.store, &before, count_id, &told, &f.error), REC_RESCAN);
	add(&f, "a");
	between = before;
	assert_int_equal(rec_store_changes(f.store, &between, count_id, &told, &f.error), 0);
	rec_clock_manual_advance(&f.clock, 1);
	struct rec_gc gc = {.older_than_us = f.clock.now_wall_us};
	add(&f, "b");
	assert_int_equal(rec_store_gc(f.store, &gc, &f.error), 0);
	assert_int_equal(gc.changes, 1);
	told = 0;
	assert_int_equal(rec_store_changes(f.store, &between, count_id, &told, &f.error), 0);
	assert_int_equal(told, 1);
	assert_int_equal(rec_store_changes(f.store, &before, count_id, &told, &f.error), REC_RESCAN);
	fixture_end(&f);
}

/* Nobody ever prunes it, and it still ends somewhere: the older half goes when there are more than 2^20. */
static void test_memory__the_feed_is_bounded(void **state)
{
	(void)state;
	struct fixture f;
	struct rec_cursor slow = {0}, cursor = {0};
	struct rec_gc gc = {.older_than_us = INT64_MAX, .dry_run = true};
	size_t told = 0;
	fixture_init(&f);
	add(&f, "a");
	add(&f, "b");
	assert_int_equal(rec_store_changes(f.store, &slow, count_id, &told, &f.error), REC_RESCAN);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(rec_store_begin(f.store, &f.error), 0);
		for (int k = 0; k < 300000; k++)
			assert_int_equal(
				rec_store_set_status(f.store, k % 2 ? S("a") : S("b"), k / 2 % 2 ? REC_DONE : REC_READY,
						     k / 2 % 2 ? REC_READY : REC_DONE, NULL, NULL, NULL, &f.error),
				0);
		assert_int_equal(rec_store_commit(f.store, &f.error), 0);
		if (i == 2)
			assert_int_equal(rec_store_changes(f.store, &cursor, count_id, &told, &f.error), REC_RESCAN);
	}
	assert_int_equal(rec_store_gc(f.store, &gc, &f.error), 0);
	assert_int_equal(gc.changes, 1u << 19);
	assert_int_equal(rec_store_changes(f.store, &slow, count_id, &told, &f.error), REC_RESCAN);
	told = 0;
	assert_int_equal(rec_store_changes(f.store, &cursor, count_id, &told, &f.error), 0);
	assert_int_equal(told, 300000); /* the younger half is still there */
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory__two_stores_are_strangers),
		cmocka_unit_test(test_memory__shared_data_outlives_the_first_handle),
		cmocka_unit_test(test_memory__busy_is_told_at_once_whatever_the_time_limit),
		cmocka_unit_test(test_memory__has_no_place_and_takes_no_name),
		cmocka_unit_test(test_memory__the_feed_is_pruned_to_the_microsecond),
		cmocka_unit_test(test_memory__the_feed_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
