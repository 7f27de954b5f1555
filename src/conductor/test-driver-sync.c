/* When what was committed becomes durable, and who waits for it: whoever is told, nobody who runs. The store is the one
 * in memory, whose syncs are counted and may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conductor/test-driver-support.h"

#define QUIET (SECOND / 200)
#define LATEST (SECOND / 20)

static void child_ends(int code)
{
	w.event = (struct rec_slot_event){.kind = REC_SLOT_ENDED, .claim_id = w.started_claim, .code = code};
}

static void test_sync__comes_after_the_start_and_before_anybody_is_told(void **state)
{
	(void)state;
	story_begin();
	driver_begin(); /* the child was started */
	assert_int_equal(w.syncs, 0);
	assert_int_equal(w.heard, 0);
	int64_t due_us = step();
	assert_true(due_us > 0 && due_us <= QUIET);
	rec_clock_manual_advance(&w.clock, due_us - 1);
	step();
	assert_int_equal(w.syncs, 0);
	rec_clock_manual_advance(&w.clock, 1);
	assert_true(step() > LATEST);
	assert_int_equal(w.syncs, 1);
	assert_string_equal(w.last_heard, "BATCH_TASK_STARTED");
	story_end();
}

static void test_sync__is_shared_by_commits_that_follow_each_other_but_not_put_off_for_ever(void **state)
{
	(void)state;
	struct rec_slice ids[30];
	char texts[30][4];
	struct rec_batch batch = {.batch_id = rec_slice_of("ours")};
	w = (struct world){0};
	rec_clock_manual_init(&w.clock, 1000 * SECOND);
	store_open();
	for (size_t i = 0; i < 30; i++) {
		snprintf(texts[i], sizeof texts[i], "t%zu", i);
		task_add(texts[i]);
		ids[i] = rec_slice_of(texts[i]);
	}
	assert_int_equal(rec_batch_start(w.store, &batch, ids, 30, NULL, NULL, NULL), 0);
	driver_make();
	int64_t waited_us = 0;
	for (step(); w.syncs == 0; waited_us += QUIET - 1) {
		uint64_t commits = rec_driver_commits(w.driver);
		rec_clock_manual_advance(&w.clock, QUIET - 1);
		child_ends(0);
		step();
		assert_true(rec_driver_commits(w.driver) > commits);
	}
	assert_true(waited_us >= LATEST && waited_us < LATEST + QUIET);
	assert_true(w.heard > 10);
	story_end();
}

static void test_sync__that_fails_is_tried_again_and_nothing_is_told_meanwhile(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	w.sync_fails = true;
	int64_t pause_us = step_synced();
	assert_int_equal(w.syncs, 1);
	assert_int_equal(w.heard, 0);
	assert_non_null(strstr(w.last_told, "the disk does not write"));
	assert_int_equal(rec_driver_errors(w.driver), 1);
	assert_true(pause_us > LATEST && pause_us <= 5 * SECOND);
	w.sync_fails = false;
	rec_clock_manual_advance(&w.clock, pause_us);
	step();
	assert_int_equal(w.syncs, 2);
	assert_string_equal(w.last_heard, "BATCH_TASK_STARTED");
	story_end();
}

static void test_sync__does_not_wait_at_the_end_of_the_batch(void **state)
{
	(void)state;
	int64_t due_us;
	story_begin();
	driver_begin();
	child_ends(0);
	while (rec_driver_step(w.driver, &due_us, NULL) == 0)
		rec_clock_manual_advance(&w.clock, 1);
	assert_int_equal(rec_driver_outcome(w.driver), REC_BATCH_COMPLETED);
	assert_int_equal(w.syncs, 1);
	assert_int_equal(w.heard, 3); /* started, completed, the batch */
	assert_string_equal(w.last_heard, "BATCH_COMPLETED");
	assert_false(rec_store_unsynced(w.store));
	story_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync__comes_after_the_start_and_before_anybody_is_told),
		cmocka_unit_test(test_sync__is_shared_by_commits_that_follow_each_other_but_not_put_off_for_ever),
		cmocka_unit_test(test_sync__that_fails_is_tried_again_and_nothing_is_told_meanwhile),
		cmocka_unit_test(test_sync__does_not_wait_at_the_end_of_the_batch),
	};
	return cmocka_run_group_tests_name("conductor/driver-sync", tests, NULL, NULL);
}
