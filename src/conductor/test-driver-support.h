/* test-driver-support.h - a driver over the store in memory, every call of which is counted and, once it is `gone`,
 * fails; and over slots that do nothing but remember what they were told. */
#ifndef REC_CONDUCTOR_TEST_DRIVER_SUPPORT_H
#define REC_CONDUCTOR_TEST_DRIVER_SUPPORT_H

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
	int64_t forgotten_at_take;
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
	unsigned told; /* troubles */
	char last_told[256];
	unsigned heard; /* events that are no trouble */
	char last_heard[64];
	unsigned syncs;
	bool sync_fails;
	unsigned reads;    /* that concern tasks */
	size_t tasks_read; /* by those */
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
	w.forgotten_at_take = w.forgotten;
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
	if (w.gone)
		return gone(error);
	int r = w.real->snapshot(s, ids, count, fields, out, error);
	w.reads++;
	w.tasks_read += r == 0 ? out->count : 0;
	return r;
}

static int store_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		     struct rec_error *error)
{
	w.reads++;
	w.tasks_read++;
	return w.real->get(s, id, arena, out, error);
}

static int store_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		      struct rec_error *error)
{
	w.reads++;
	w.tasks_read += 1u << 20; /* too many */
	return w.real->list(s, options, fn, context, error);
}

static int store_sync(struct rec_store *s, struct rec_error *error)
{
	(void)s;
	w.syncs++;
	return w.sync_fails ? rec_fail(error, REC_E_IO, "the disk does not write") : 0;
}

static void store_open(void)
{
	const struct rec_store_options options = {.mode = REC_STORE_WRITE, .clock = &w.clock.clock};
	assert_int_equal(rec_store_memory_open("", &options, &w.store, NULL), 0);
	w.real = w.store->ops;
	w.ops = *w.real;
	w.ops.patience = store_patience;
	w.ops.sync = store_sync;
	w.patience_end_us = INT64_MAX;
	w.ops.begin = store_begin;
	w.ops.stamp = store_stamp;
	w.ops.renew = store_renew;
	w.ops.claims = store_claims;
	w.ops.claim_take = store_claim_take;
	w.ops.batch_get = store_batch_get;
	w.ops.changes = store_changes;
	w.ops.snapshot = store_snapshot;
	w.ops.get = store_get;
	w.ops.list = store_list;
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

/* The same, when what was written is durable. */
static int64_t step_synced(void)
{
	step();
	rec_clock_manual_advance(&w.clock, SECOND / 100);
	return step();
}

static inline void story_begin(void)
{
	w = (struct world){0};
	rec_clock_manual_init(&w.clock, 1000 * SECOND);
	store_open();
	task_add("a");
	batch_add("ours", "a");
}

static void trouble_hear(void *context, const struct rec_event *event)
{
	(void)context;
	if (!rec_slice_equal(event->event, rec_slice_of("RECONCILIATION_ERROR"))) {
		w.heard++;
		snprintf(w.last_heard, sizeof w.last_heard, "%.*s", (int)event->event.length, event->event.data);
		return;
	}
	w.told++;
	snprintf(w.last_told, sizeof w.last_told, "%.*s", (int)event->detail.length, event->detail.data);
}

static void driver_make(void)
{
	const struct rec_driver_options options = {
		.store = w.store,
		.slots = {&slots, &w},
		.clock = &w.clock.clock,
		.batch_id = rec_slice_of("ours"),
		.owner = rec_slice_of("we@here"),
		.host = rec_slice_of("@here"),
		.tell = trouble_hear,
		.machine = {.max_parallel = 2, .grace_us = 10 * SECOND},
	};
	assert_int_equal(rec_driver_new(&options, &w.driver, NULL), 0);
}

static void driver_start(void)
{
	driver_make();
	for (int i = 0; i < 3; i++)
		step();
	assert_int_equal(w.started, 1);
}

static inline void driver_begin(void)
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

#endif
