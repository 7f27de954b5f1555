/* What a running batch reads of its store: what changed, however many tasks it has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "conductor/test-driver-support.h"

#define NEEDS 3

struct cost {
	unsigned reads;
	size_t tasks_read;
};

/* A batch of so many tasks, each of which needs the three before it but for the first three; one runs. */
static void large_batch_begin(unsigned count)
{
	struct rec_slice *ids = calloc(count, sizeof *ids), batch_id = rec_slice_of("ours");
	char(*texts)[16] = calloc(count, sizeof *texts);
	struct rec_batch batch = {.batch_id = batch_id};
	w = (struct world){0};
	rec_clock_manual_init(&w.clock, 1000 * SECOND);
	store_open();
	assert_non_null(ids);
	assert_non_null(texts);
	for (unsigned i = 0; i < count; i++) {
		snprintf(texts[i], sizeof texts[i], "t%05u", i);
		ids[i] = rec_slice_of(texts[i]);
		const struct rec_task task = {.id = ids[i],
					      .title = rec_slice_of("t"),
					      .is_leaf = true,
					      .status = REC_READY,
					      .depends_on = i < NEEDS ? NULL : &ids[i - NEEDS],
					      .depends_on_count = i < NEEDS ? 0 : NEEDS};
		assert_int_equal(rec_store_create(w.store, &task, NULL), 0);
	}
	assert_int_equal(rec_batch_start(w.store, &batch, ids, count, NULL, NULL, NULL), 0);
	driver_start();
	step_synced();
	free(ids);
	free(texts);
}

static struct cost steps(unsigned count)
{
	w.reads = 0;
	w.tasks_read = 0;
	while (count--)
		step_synced();
	return (struct cost){w.reads, w.tasks_read};
}

static struct cost of_outside_change(unsigned count)
{
	large_batch_begin(count);
	assert_int_equal(
		rec_store_set_status(w.store, rec_slice_of("t00001"), REC_READY, REC_BACKLOG, NULL, NULL, NULL, NULL),
		0);
	unsigned heard = w.heard;
	struct cost cost = steps(4);
	assert_int_equal(w.heard, heard + 1); /* it is held */
	story_end();
	return cost;
}

static struct cost of_end(unsigned count)
{
	large_batch_begin(count);
	w.event = (struct rec_slot_event){.kind = REC_SLOT_ENDED, .claim_id = w.started_claim};
	struct cost cost = steps(4);
	assert_int_equal(w.started, 2);
	story_end();
	return cost;
}

static struct cost of_nothing(unsigned count)
{
	large_batch_begin(count);
	struct cost cost = steps(4);
	story_end();
	return cost;
}

static void assert_same(struct cost (*of)(unsigned), size_t tasks_max)
{
	struct cost small = of(20), large = of(5000);
	assert_int_equal(small.reads, large.reads);
	assert_int_equal(small.tasks_read, large.tasks_read);
	assert_in_range(large.tasks_read, 0, tasks_max);
}

static void test_b37__what_changes_outside_is_read_and_nothing_else(void **state)
{
	(void)state;
	assert_same(of_outside_change, 10);
}

static void test_b37__an_end_and_the_next_start_read_only_what_they_concern(void **state)
{
	(void)state;
	assert_same(of_end, 20);
}

static void test_b37__where_nothing_changes_no_task_is_read(void **state)
{
	(void)state;
	assert_same(of_nothing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_b37__what_changes_outside_is_read_and_nothing_else),
		cmocka_unit_test(test_b37__an_end_and_the_next_start_read_only_what_they_concern),
		cmocka_unit_test(test_b37__where_nothing_changes_no_task_is_read),
	};
	return cmocka_run_group_tests_name("conductor/driver-look", tests, NULL, NULL);
}
