/* The end of a lease: what runs is stopped before the store is asked anything, whatever the store does. The store is
 * the one in memory, with every call counted and, once it is `gone`, failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conductor/test-driver-support.h"

/* ---- Tests ---- */

static void test_feed__that_could_not_be_read_is_read_again_after_a_pause(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	assert_true(step_synced() > 20 * SECOND);
	w.feed_gone = true;
	int64_t pause_us = step();
	assert_true(w.calls > 0 && pause_us <= 5 * SECOND);
	w.feed_gone = false;
	rec_clock_manual_advance(&w.clock, pause_us);
	assert_true(step() > 20 * SECOND);
	story_end();
}

static void test_lease__slots_are_told_when_to_stop_by_themselves_at_every_renewal(void **state)
{
	(void)state;
	story_begin();
	int64_t begun_us = rec_clock_boot_us(&w.clock.clock);
	driver_begin();
	assert_int_equal(w.kill_us, begun_us + 595 * SECOND); /* others may run it from 610 s on */
	assert_int_equal(w.term_us, begun_us + 585 * SECOND);
	rec_clock_manual_advance(&w.clock, 31 * SECOND);
	step();
	assert_int_equal(w.kill_us, begun_us + 626 * SECOND);
	story_end();
}

static void test_trouble__of_a_store_that_is_away_is_told_at_first_once_a_minute_and_when_it_is_over(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	for (int i = 0; i < 15; i++) {
		w.gone = i < 11; /* 110 s */
		rec_clock_manual_advance(&w.clock, 10 * SECOND);
		step();
	}
	assert_true(rec_driver_errors(w.driver) > 2);
	assert_non_null(strstr(w.last_told, "answers again"));
	assert_int_equal(w.told, 3);
	story_end();
}

static void test_lease__its_end_stops_before_the_store_is_asked(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	w.gone = true;
	rec_clock_manual_advance(&w.clock, 600 * SECOND);
	step();
	assert_int_equal(w.stops, 1);
	assert_int_equal(w.stopped[0], w.started_claim);
	assert_int_equal(w.calls_at_stop, 0);
	story_end();
}

static void test_lease__a_renewal_that_is_not_answered_is_the_last_call_before_the_stop(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	w.gone = true;
	w.blocks_us = 70 * SECOND;
	int64_t renewed_us = rec_clock_boot_us(&w.clock.clock);
	rec_clock_manual_advance(&w.clock, 550 * SECOND);
	step();
	assert_true(w.stops >= 1);
	assert_int_equal(w.calls_at_stop, 1);
	assert_int_equal(w.stopped_us, renewed_us + 580 * SECOND);
	story_end();
}

static void test_lease__the_stop_goes_on_to_the_end_without_the_store(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	w.gone = true;
	rec_clock_manual_advance(&w.clock, 600 * SECOND);
	step();
	unsigned calls = w.calls;
	w.blocks_us = 70 * SECOND;
	rec_clock_manual_advance(&w.clock, 10 * SECOND);
	w.stops = 0;
	step();
	assert_true(w.stops >= 1);
	assert_int_equal(w.calls_at_stop, calls);
	story_end();
}

static void test_lease__a_stop_by_force_waits_for_no_recovery(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	w.gone = true;
	w.event = (struct rec_slot_event){.kind = REC_SLOT_RUNNING, .claim_id = 999}; /* whose is it? */
	step();
	assert_int_equal(w.stops, 0);
	unsigned calls = w.calls;
	rec_driver_force(w.driver);
	step();
	assert_int_equal(w.stops, 1);
	assert_int_equal(w.calls_at_stop, calls);
	story_end();
}

/* Of a conductor of this host that died: the task b runs, or ran, in its slot. */
static int64_t leavings_make(void)
{
	task_add("b");
	batch_add("theirs", "b");
	struct rec_claim claim = {
		.task_id = rec_slice_of("b"), .batch_id = rec_slice_of("theirs"), .owner = rec_slice_of("dead@here")};
	assert_int_equal(rec_store_claim(w.store, &claim, NULL, NULL), 0);
	w.record = (struct rec_slot_record){
		.slot = 1000, .claim_id = claim.claim_id, .runs = true, .batch_id = rec_slice_of("theirs")};
	w.has_record = true;
	return claim.claim_id;
}

struct owner_search {
	int64_t claim_id;
	char owner[32];
};

static int owner_find(void *context, const struct rec_claim *claim)
{
	struct owner_search *search = context;
	if (claim->claim_id == search->claim_id)
		snprintf(search->owner, sizeof search->owner, "%.*s", (int)claim->owner.length, claim->owner.data);
	return 0;
}

static void assert_owner(int64_t claim_id, const char *wanted)
{
	struct owner_search search = {.claim_id = claim_id};
	assert_int_equal(rec_store_claims(w.store, owner_find, &search, NULL), 0);
	assert_string_equal(search.owner, wanted);
}

static void assert_is_ended_as_a_stray(int64_t claim_id)
{
	assert_int_equal(w.stops, 1);
	assert_int_equal(w.kills, 1);
	assert_int_equal(w.stopped[0], claim_id);
	assert_true(w.forgotten != claim_id);
	rec_clock_manual_advance(&w.clock, 31 * SECOND);
	step(); /* recovery again, which knows it */
	assert_int_equal(w.stops, 1);
	assert_true(w.has_record);
	w.event = (struct rec_slot_event){
		.kind = REC_SLOT_ENDED, .slot = 1000, .claim_id = claim_id, .by_signal = true, .code = 9};
	step();
	assert_int_equal(w.forgotten, claim_id);
	assert_int_equal(rec_driver_bugs(w.driver), 0);
}

static void test_recovery__takes_a_claim_in_the_store_before_it_is_adopted(void **state)
{
	(void)state;
	story_begin();
	int64_t claim_id = leavings_make();
	driver_start();
	assert_owner(claim_id, "we@here");
	assert_int_equal(w.stops, 0);
	story_end();
}

static void test_recovery__stops_what_another_host_took_meanwhile(void **state)
{
	(void)state;
	story_begin();
	int64_t claim_id = leavings_make();
	assert_int_equal(rec_store_renew(w.store, rec_slice_of("thief@there"), 3600 * SECOND, NULL), 0);
	w.robbed = true;
	driver_start();
	assert_owner(claim_id, "thief@there");
	assert_is_ended_as_a_stray(claim_id);
	assert_owner(claim_id, "thief@there");
	story_end();
}

static void test_recovery__stops_what_another_host_has(void **state)
{
	(void)state;
	story_begin();
	int64_t claim_id = leavings_make();
	assert_int_equal(rec_store_renew(w.store, rec_slice_of("thief@there"), 3600 * SECOND, NULL), 0);
	assert_int_equal(
		rec_store_claim_take(w.store, claim_id, rec_slice_of("dead@here"), rec_slice_of("thief@there"), NULL),
		0);
	driver_start();
	assert_is_ended_as_a_stray(claim_id);
	story_end();
}

static void test_recovery__stops_what_another_host_ended(void **state)
{
	(void)state;
	story_begin();
	int64_t claim_id = leavings_make();
	const struct rec_finish lost = {.claim_id = claim_id, .to = REC_READY, .outcome = rec_slice_of("lost")};
	assert_int_equal(rec_store_finish(w.store, &lost, NULL, NULL), 0);
	driver_start();
	assert_is_ended_as_a_stray(claim_id);
	story_end();
}

static void test_recovery__takes_what_another_host_left_once_its_lease_is_over(void **state)
{
	(void)state;
	story_begin();
	int64_t claim_id = leavings_make();
	w.has_record = false;
	assert_int_equal(rec_store_renew(w.store, rec_slice_of("dead@there"), 5 * SECOND, NULL), 0);
	assert_int_equal(
		rec_store_claim_take(w.store, claim_id, rec_slice_of("dead@here"), rec_slice_of("dead@there"), NULL),
		0);
	driver_start();
	assert_owner(claim_id, "dead@there");
	w.robbed = true; /* by a third one */
	rec_clock_manual_advance(&w.clock, 31 * SECOND);
	step();
	assert_owner(claim_id, "thief@there");
	w.robbed = false;
	rec_clock_manual_advance(&w.clock, 31 * SECOND);
	step();
	assert_owner(claim_id, ""); /* thief@there has no lease: it was taken, and its end recorded */
	story_end();
}

/* Its conductor died before the group committed; on the other host the number was given again. */
static void test_recovery__a_record_that_says_starting_is_not_of_another_hosts_claim(void **state)
{
	(void)state;
	story_begin();
	int64_t claim_id = leavings_make();
	w.record.runs = false;
	assert_int_equal(rec_store_renew(w.store, rec_slice_of("dead@there"), 5 * SECOND, NULL), 0);
	assert_int_equal(
		rec_store_claim_take(w.store, claim_id, rec_slice_of("dead@here"), rec_slice_of("dead@there"), NULL),
		0);
	rec_clock_manual_advance(&w.clock, 31 * SECOND);
	driver_start();
	assert_owner(claim_id, "");                      /* not adopted, but lost */
	assert_int_equal(w.forgotten_at_take, claim_id); /* or who comes after a fault would find it */
	story_end();
}

/* It slept: the next step finds that its lease is over, and what somebody left meanwhile. */
static void test_recovery__without_a_lease_nothing_is_taken_over(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	int64_t claim_id = leavings_make();
	rec_clock_manual_advance(&w.clock, 700 * SECOND);
	step();
	assert_true(w.stops > 0);
	assert_owner(claim_id, "dead@here");
	assert_true(w.has_record);
	step();
	assert_owner(claim_id, "dead@here");
	story_end();
}

static void test_lease__its_end_stops_what_was_taken_over_from_other_batches(void **state)
{
	(void)state;
	story_begin();
	int64_t claim_id = leavings_make();
	driver_begin();
	w.gone = true;
	rec_clock_manual_advance(&w.clock, 600 * SECOND);
	step();
	assert_int_equal(w.stops, 2);
	assert_true(w.stopped[0] == claim_id || w.stopped[1] == claim_id);
	assert_int_equal(w.calls_at_stop, 0);
	story_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_feed__that_could_not_be_read_is_read_again_after_a_pause),
		cmocka_unit_test(test_lease__slots_are_told_when_to_stop_by_themselves_at_every_renewal),
		cmocka_unit_test(
			test_trouble__of_a_store_that_is_away_is_told_at_first_once_a_minute_and_when_it_is_over),
		cmocka_unit_test(test_lease__its_end_stops_before_the_store_is_asked),
		cmocka_unit_test(test_lease__a_renewal_that_is_not_answered_is_the_last_call_before_the_stop),
		cmocka_unit_test(test_lease__the_stop_goes_on_to_the_end_without_the_store),
		cmocka_unit_test(test_lease__a_stop_by_force_waits_for_no_recovery),
		cmocka_unit_test(test_lease__its_end_stops_what_was_taken_over_from_other_batches),
		cmocka_unit_test(test_recovery__takes_a_claim_in_the_store_before_it_is_adopted),
		cmocka_unit_test(test_recovery__stops_what_another_host_took_meanwhile),
		cmocka_unit_test(test_recovery__stops_what_another_host_has),
		cmocka_unit_test(test_recovery__stops_what_another_host_ended),
		cmocka_unit_test(test_recovery__a_record_that_says_starting_is_not_of_another_hosts_claim),
		cmocka_unit_test(test_recovery__without_a_lease_nothing_is_taken_over),
		cmocka_unit_test(test_recovery__takes_what_another_host_left_once_its_lease_is_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
