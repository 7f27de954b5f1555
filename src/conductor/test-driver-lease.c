/* The end of a lease: what runs is stopped before the store is asked anything, whatever the store does. The store is
 * the one in memory, with every call counted and, once it is `gone`, failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conductor/batch.h"
#include "conductor/driver.h"
#include "store/backend.h"

#define SECOND INT64_C(1000000)

/* ---- A store that can go away ---- */

struct world {
	struct rec_clock_manual clock;
	struct rec_store *store;
	const struct rec_store_ops *real;
	struct rec_store_ops ops;
	bool gone, feed_gone;
	unsigned calls;    /* since it is gone */
	int64_t blocks_us; /* how long each call takes then, if it is given so long */
	int64_t patience_end_us;
	unsigned calls_at_stop; /* when the first stop came */
	int64_t stopped_us;
	unsigned stops, started, kills;
	int64_t forgotten;        /* the last one */
	int64_t term_us, kill_us; /* the slots' own deadline */
	bool robbed;              /* another host takes every claim a moment before we do */
	int64_t stopped[4];
	int64_t started_claim;
	struct rec_slot_event event; /* the next one; kind 0: none */
	struct rec_slot_record record;
	bool has_record;
	struct rec_driver *driver;
};

static struct world w;

static int gone(struct rec_error *error)
{
	int64_t left_us = w.patience_end_us - rec_clock_boot_us(&w.clock.clock);
	w.calls++;
	rec_clock_manual_advance(&w.clock, left_us > w.blocks_us ? w.blocks_us : left_us > 0 ? left_us : 0);
	return rec_fail(error, REC_E_BUSY, "no answer");
}

static void store_patience(struct rec_store *s, int64_t us)
{
	(void)s;
	if (__builtin_add_overflow(rec_clock_boot_us(&w.clock.clock), us, &w.patience_end_us))
		w.patience_end_us = INT64_MAX;
}

static int store_begin(struct rec_store *s, struct rec_error *error)
{
	return w.gone ? gone(error) : w.real->begin(s, error);
}

static int store_stamp(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error)
{
	return w.gone ? gone(error) : w.real->stamp(s, ret_stamp, error);
}

static int store_renew(struct rec_store *s, struct rec_slice owner, int64_t lease_us, struct rec_error *error)
{
	return w.gone ? gone(error) : w.real->renew(s, owner, lease_us, error);
}

static int store_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error)
{
	return w.gone ? gone(error) : w.real->claims(s, fn, context, error);
}

static int store_claim_take(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			    struct rec_error *error)
{
	if (w.robbed)
		assert_int_equal(w.real->claim_take(s, claim_id, from, rec_slice_of("thief@there"), error), 0);
	return w.gone ? gone(error) : w.real->claim_take(s, claim_id, from, owner, error);
}

static int store_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena,
			   struct rec_batch *out, struct rec_error *error)
{
	return w.gone ? gone(error) : w.real->batch_get(s, batch_id, arena, out, error);
}

static int store_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
			 struct rec_error *error)
{
	return w.gone || w.feed_gone ? gone(error) : w.real->changes(s, cursor, fn, context, error);
}

static int store_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			  struct rec_snapshot *out, struct rec_error *error)
{
	return w.gone ? gone(error) : w.real->snapshot(s, ids, count, fields, out, error);
}

static void store_open(void)
{
	const struct rec_store_options options = {.mode = REC_STORE_WRITE, .clock = &w.clock.clock};
	assert_int_equal(rec_store_memory_open("", &options, &w.store, NULL), 0);
	w.real = w.store->ops;
	w.ops = *w.real;
	w.ops.patience = store_patience;
	w.patience_end_us = INT64_MAX;
	w.ops.begin = store_begin;
	w.ops.stamp = store_stamp;
	w.ops.renew = store_renew;
	w.ops.claims = store_claims;
	w.ops.claim_take = store_claim_take;
	w.ops.batch_get = store_batch_get;
	w.ops.changes = store_changes;
	w.ops.snapshot = store_snapshot;
	w.store->ops = &w.ops;
}

/* ---- Slots that do nothing ---- */

static uint32_t slots_count(void *self)
{
	(void)self;
	return 1;
}

static int slots_prepare(void *self, uint32_t slot, const struct rec_slot_order *order, struct rec_error *error)
{
	(void)self, (void)slot, (void)order, (void)error;
	return 0;
}

static int slots_start(void *self, uint32_t slot, int64_t claim_id, struct rec_error *error)
{
	(void)self, (void)error;
	w.started++;
	w.started_claim = claim_id;
	w.event = (struct rec_slot_event){.kind = REC_SLOT_RUNNING, .slot = slot, .claim_id = claim_id};
	return 0;
}

static void slots_stop(void *self, uint32_t slot, int64_t claim_id, enum rec_slot_signal signal)
{
	(void)self, (void)slot;
	w.kills += signal == REC_SLOT_KILL;
	if (!w.stops) {
		w.calls_at_stop = w.calls;
		w.stopped_us = rec_clock_boot_us(&w.clock.clock);
	}
	if (w.stops < 4)
		w.stopped[w.stops] = claim_id;
	w.stops++;
}

static void slots_ask(void *self, uint32_t slot, int64_t claim_id)
{
	(void)self, (void)slot, (void)claim_id;
}

static void slots_deadline(void *self, int64_t term_us, int64_t kill_us)
{
	(void)self;
	w.term_us = term_us;
	w.kill_us = kill_us;
}

static void slots_forget(void *self, uint32_t slot, int64_t claim_id)
{
	(void)self;
	w.forgotten = claim_id;
	if (slot == w.record.slot && claim_id == w.record.claim_id)
		w.has_record = false;
}

static int slots_next(void *self, struct rec_slot_event *ret_event, struct rec_error *error)
{
	(void)self, (void)error;
	if (!w.event.kind)
		return REC_END;
	*ret_event = w.event;
	w.event = (struct rec_slot_event){0};
	return 0;
}

static int slots_hold(void *self, struct rec_slice batch_id, struct rec_error *error)
{
	(void)self, (void)batch_id, (void)error;
	return 0;
}

static void slots_let_go(void *self, struct rec_slice batch_id)
{
	(void)self, (void)batch_id;
}

static int slots_records(void *self, rec_slot_record_fn *fn, void *context, struct rec_error *error)
{
	(void)self, (void)error;
	return w.has_record ? fn(context, &w.record) : 0;
}

static int slots_adopt(void *self, uint32_t slot, int64_t claim_id, struct rec_error *error)
{
	(void)self, (void)error;
	w.event = (struct rec_slot_event){.kind = REC_SLOT_RUNNING, .slot = slot, .claim_id = claim_id};
	return 0;
}

static const struct rec_slots_ops slots = {
	.count = slots_count,
	.prepare = slots_prepare,
	.start = slots_start,
	.stop = slots_stop,
	.recall = slots_ask,
	.deadline = slots_deadline,
	.life = slots_ask,
	.forget = slots_forget,
	.next = slots_next,
	.hold = slots_hold,
	.let_go = slots_let_go,
	.records = slots_records,
	.adopt = slots_adopt,
};

/* ---- The story until the store goes ---- */

static void task_add(const char *id)
{
	const struct rec_task task = {
		.id = rec_slice_of(id), .title = rec_slice_of("t"), .is_leaf = true, .status = REC_READY};
	struct rec_error error = {0};
	if (rec_store_create(w.store, &task, &error))
		fail_msg("%s", error.message);
}

static void batch_add(const char *batch_id, const char *task)
{
	struct rec_slice id = rec_slice_of(task);
	struct rec_batch batch = {.batch_id = rec_slice_of(batch_id)};
	assert_int_equal(rec_batch_start(w.store, &batch, &id, 1, NULL, NULL, NULL), 0);
}

/* How long until the next one is due. */
static int64_t step(void)
{
	int64_t due_us = 0;
	struct rec_error error = {0};
	if (rec_driver_step(w.driver, &due_us, &error) < 0)
		fail_msg("%s", error.message);
	return due_us - w.clock.clock.monotonic_us(w.clock.clock.context);
}

static void story_begin(void)
{
	w = (struct world){0};
	rec_clock_manual_init(&w.clock, 1000 * SECOND);
	store_open();
	task_add("a");
	batch_add("ours", "a");
}

static void driver_start(void)
{
	const struct rec_driver_options options = {
		.store = w.store,
		.slots = {&slots, &w},
		.clock = &w.clock.clock,
		.batch_id = rec_slice_of("ours"),
		.owner = rec_slice_of("we@here"),
		.host = rec_slice_of("@here"),
		.machine = {.max_parallel = 2, .grace_us = 10 * SECOND},
	};
	assert_int_equal(rec_driver_new(&options, &w.driver, NULL), 0);
	for (int i = 0; i < 3; i++)
		step();
	assert_int_equal(w.started, 1);
}

static void driver_begin(void)
{
	driver_start();
	assert_int_equal(w.stops, 0);
}

static void story_end(void)
{
	rec_driver_free(w.driver);
	w.store->ops = w.real;
	rec_store_close(w.store);
}

/* ---- Tests ---- */

static void test_feed__that_could_not_be_read_is_read_again_after_a_pause(void **state)
{
	(void)state;
	story_begin();
	driver_begin();
	assert_true(step() > 20 * SECOND);
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
	w.gone = true;
	rec_clock_manual_advance(&w.clock, 31 * SECOND);
	step();
	assert_int_equal(w.kill_us, begun_us + 626 * SECOND);
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
	assert_owner(claim_id, ""); /* not adopted, but lost */
	assert_int_equal(w.forgotten, claim_id);
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
