/* driver-recover.c - taking over what dead conductors left: claims in the store, records in slots, and what each says
 * about the other.
 *
 *     claim, record       taken over: the slot will tell RUNNING, ENDED, VOID or LOST
 *     claim, no record    nothing is known of it (power was lost): LOST
 *     record, no claim    it never committed, its end is in the store, or another host ended it, whose attempt this is
 *                         not any more: whatever runs is stopped; then it is forgotten
 *
 * Only batches that no living conductor holds are touched; holding them first makes that so for as long as it takes.
 * Claims are read again after that, since their conductor may have ended them just before it ended.
 *
 * On a store that hosts share, a claim of another host has no record and no lock here: its owner's lease tells, and
 * once that is over the attempt is LOST.
 *
 * A claim is taken in the store before anything is done about it: from then on our own lease covers it, and of several
 * that want it (the host where it runs, and one that finds its lease over) one gets it. For the others it is no claim.
 */
#include "conductor/driver-private.h"

/* A claim or a record, copied. */
struct left {
	int64_t claim_id;
	struct rec_slice batch_id, task_id, owner;
	uint32_t attempt, slot;
	bool held;
	bool runs;      /* a record's child, as far as it tells */
	bool taken;     /* in the store: ours */
	bool lost;      /* somebody else's by now, or gone */
	bool elsewhere; /* a claim's owner, when it was read: on another host */
	bool forgotten; /* a record, already */
};

struct lefts {
	struct rec_driver *d;
	struct left *items;
	size_t count, capacity;
};

struct recovery {
	struct rec_driver *d;
	struct rec_arena arena;
	struct lefts claims, records;
	struct rec_slice *held; /* batches that we hold for this */
	size_t held_count, held_capacity;
};

/* ---- Reading ---- */

static int text_copy(struct recovery *r, struct rec_slice from, struct rec_slice *to)
{
	*to = (struct rec_slice){0};
	if (!from.data)
		return 0;
	char *copy = rec_arena_strndup(&r->arena, from.data, from.length);
	*to = (struct rec_slice){copy, from.length};
	return copy ? 0 : REC_E_NOMEM;
}

static int left_add(struct recovery *r, struct lefts *all, const struct left *left)
{
	void *items = all->items;
	struct left copy = *left;
	int e = rec_grow(r->d->allocator, &items, &all->capacity, all->count + 1, sizeof *all->items);
	all->items = items;
	e = e ? e : text_copy(r, left->batch_id, &copy.batch_id);
	e = e ? e : text_copy(r, left->task_id, &copy.task_id);
	e = e ? e : text_copy(r, left->owner, &copy.owner);
	if (!e)
		all->items[all->count++] = copy;
	return e;
}

/* Ours and under way are no news; one without a batch is nobody's to judge (doctor lists it). */
static int claim_read(void *context, const struct rec_claim *claim)
{
	struct recovery *r = context;
	if (!claim->batch_id.data || rec_driver_live_find(r->d, claim->claim_id))
		return 0;
	for (size_t i = 0; i < r->d->unsure_count; i++)
		if (r->d->unsure[i].claim_id == claim->claim_id)
			return 0;
	bool over = rec_planted(r->d->options.machine.planted, REC_PLANTED_TAKEN_EARLY) ||
		    rec_driver_is_over(claim->lease_left_us);
	bool elsewhere = !rec_driver_is_here(r->d, claim->owner);
	if (elsewhere && !over)
		return 0;
	struct left left = {.claim_id = claim->claim_id,
			    .batch_id = claim->batch_id,
			    .task_id = claim->task_id,
			    .owner = claim->owner,
			    .elsewhere = elsewhere,
			    .attempt = claim->attempt};
	return left_add(r, &r->claims, &left);
}

static int record_read(void *context, const struct rec_slot_record *record)
{
	struct recovery *r = context;
	struct left left = {
		.claim_id = record->claim_id, .batch_id = record->batch_id, .slot = record->slot, .runs = record->runs};
	const struct live *live = rec_driver_live_find(r->d, record->claim_id);
	if ((live && live->slot == record->slot) || rec_driver_stray_find(r->d, record->slot, record->claim_id))
		return 0;
	return left_add(r, &r->records, &left);
}

static int claims_read(struct recovery *r, struct rec_error *error)
{
	r->claims.count = 0;
	int e = rec_store_claims(r->d->store, claim_read, r, error);
	return e == REC_E_NOMEM ? rec_fail_nomem(error) : e;
}

/* ---- Holding ---- */

static bool is_held(const struct recovery *r, struct rec_slice batch_id)
{
	if (rec_slice_equal(batch_id, r->d->options.batch_id))
		return true;
	for (size_t i = 0; i < r->held_count; i++)
		if (rec_slice_equal(r->held[i], batch_id))
			return true;
	return false;
}

static int batch_hold(struct recovery *r, struct rec_slice batch_id, struct rec_error *error)
{
	const struct rec_slots *slots = &r->d->options.slots;
	void *held = r->held;
	if (is_held(r, batch_id))
		return 0;
	int e = rec_grow(r->d->allocator, &held, &r->held_capacity, r->held_count + 1, sizeof *r->held);
	r->held = held;
	if (e)
		return rec_fail_nomem(error);
	e = slots->ops->hold(slots->self, batch_id, error);
	if (e == 0)
		r->held[r->held_count++] = batch_id;
	return e < 0 ? e : 0;
}

static int lefts_hold(struct recovery *r, struct lefts *all, struct rec_error *error)
{
	int e = 0;
	for (size_t i = 0; !e && i < all->count; i++)
		if (all->items[i].batch_id.data)
			e = batch_hold(r, all->items[i].batch_id, error);
	for (size_t i = 0; i < all->count; i++)
		all->items[i].held = is_held(r, all->items[i].batch_id);
	return e;
}

static void holds_end(struct recovery *r)
{
	const struct rec_slots *slots = &r->d->options.slots;
	for (size_t i = 0; i < r->held_count; i++)
		if (!rec_driver_batch_is_needed(r->d, r->held[i]))
			slots->ops->let_go(slots->self, r->held[i]);
}

/* ---- Taking over ---- */

/* A record here that says no more than STARTING may be of a group that was rolled back, whose number another host was
 * given then, for the same batch. */
static bool is_record_of(const struct left *record, const struct left *claim)
{
	return record->claim_id == claim->claim_id && rec_slice_equal(record->batch_id, claim->batch_id) &&
	       (!claim->elsewhere || record->runs);
}

static const struct left *record_of(const struct recovery *r, const struct left *claim)
{
	for (size_t i = 0; i < r->records.count; i++) {
		const struct left *record = &r->records.items[i];
		if (is_record_of(record, claim))
			return record;
	}
	return NULL;
}

struct row_search {
	struct rec_slice task_id;
	struct rec_machine_task *task;
};

static int row_take(void *context, const struct rec_batch_task *row)
{
	struct row_search *search = context;
	if (!rec_slice_equal(row->task_id, search->task_id))
		return 0;
	search->task->failures = (uint16_t)row->failures;
	search->task->again = (uint8_t)row->again;
	search->task->lost = (uint8_t)row->lost;
	return REC_END;
}

/* The machine's task for the claim: of our batch, or one that is only watched, with what its own batch knows of it. */
static int task_of(struct recovery *r, const struct left *claim, uint32_t *ret_task, struct rec_error *error)
{
	struct rec_machine_task task = {.id = claim->task_id, .attempt = claim->attempt};
	struct row_search search = {claim->task_id, &task};
	*ret_task = rec_machine_find(r->d->m, claim->task_id);
	if (*ret_task != NONE)
		return 0;
	int e = rec_store_batch_tasks(r->d->store, claim->batch_id, row_take, &search, error);
	if (e < 0)
		return e;
	e = rec_machine_add(r->d->m, &task, ret_task);
	if (e >= 0)
		e = rec_driver_owe(r->d, *ret_task, OWED_LOOK);
	return e < 0 ? rec_fail(error, e, "recovery: out of memory") : 0;
}

static int batch_copy(struct recovery *r, struct rec_slice batch_id, struct rec_slice *ret_copy,
		      struct rec_error *error)
{
	*ret_copy = (struct rec_slice){0};
	if (rec_slice_equal(batch_id, r->d->options.batch_id))
		return 0;
	char *copy = rec_strndup(r->d->allocator, batch_id.data, batch_id.length);
	*ret_copy = (struct rec_slice){copy, copy ? batch_id.length : 0};
	return copy ? 0 : rec_fail_nomem(error);
}

/* Everything that needs memory, before anything is taken over: what the slot tells must find its claim here. */
static int live_prepare(struct recovery *r, const struct left *claim, struct live *live, struct rec_error *error)
{
	struct rec_driver *d = r->d;
	if (rec_driver_live_reserve(d, 1) || rec_driver_news_reserve(d, 2))
		return rec_fail_nomem(error);
	return batch_copy(r, claim->batch_id, &live->batch_id, error);
}

static void live_take(struct recovery *r, const struct left *claim, const struct live *live)
{
	struct rec_machine_event e = {
		.kind = REC_ON_ADOPTED,
		.task = live->task,
		.claim_id = claim->claim_id,
		.attempt = claim->attempt,
		.slot = live->slot,
	};
	rec_driver_live_add(r->d, live);
	rec_driver_news_add(r->d, &e);
	e.kind = REC_ON_LOST;
	if (live->slot == NONE)
		rec_driver_news_add(r->d, &e);
}

static int claim_adopt(struct recovery *r, const struct left *claim, uint32_t task, struct rec_error *error)
{
	const struct rec_slots *slots = &r->d->options.slots;
	const struct left *record = record_of(r, claim);
	struct live live = {
		.claim_id = claim->claim_id,
		.task = task,
		.slot = record ? record->slot : NONE,
		.claimed_us = INT64_MIN,
	};
	int e = live_prepare(r, claim, &live, error);
	if (!e && record)
		e = rec_driver_unexpected(slots->ops->adopt(slots->self, record->slot, claim->claim_id, error), "adopt",
					  error);
	if (e) {
		rec_free(r->d->allocator, (void *)(uintptr_t)live.batch_id.data);
		return e;
	}
	live_take(r, claim, &live);
	return 0;
}

/* We are about to claim it ourselves, which this claim will prevent; once that is over it can be taken over. */
static bool has_attempt(const struct rec_machine *m, uint32_t task)
{
	enum rec_phase phase = rec_machine_phase(m, task);
	return phase == REC_PHASE_CLAIMING || phase == REC_PHASE_RUNNING || phase == REC_PHASE_STOPPING;
}

static int claim_take(struct recovery *r, const struct left *claim, struct rec_error *error)
{
	uint32_t task;
	if (rec_planted(r->d->options.machine.planted, REC_PLANTED_CLAIM_DIES)) {
		int released = rec_store_release(r->d->store, claim->claim_id, error);
		return released < 0 ? released : 0;
	}
	int e = task_of(r, claim, &task, error);
	return e ? e : claim_adopt(r, claim, task, error);
}

static int claims_take(struct recovery *r, struct rec_error *error)
{
	int e = 0;
	for (size_t i = 0; !e && i < r->claims.count; i++)
		if (r->claims.items[i].taken)
			e = claim_take(r, &r->claims.items[i], error);
	return e;
}

/* One is ours already if its conductor failed between the two steps. */
static int owner_write(struct recovery *r, struct left *claim, struct rec_error *error)
{
	struct rec_driver *d = r->d;
	bool ours = claim->owner.data && rec_slice_equal(claim->owner, d->options.owner);
	if (ours || rec_planted(d->options.machine.planted, REC_PLANTED_NOT_TAKEN)) {
		claim->taken = true;
		return 0;
	}
	int e = rec_store_in_group(d->store) ? 0 : rec_store_begin(d->store, error);
	e = e ? e : rec_store_claim_take(d->store, claim->claim_id, claim->owner, d->options.owner, error);
	claim->taken = e == 0;
	claim->lost = e > 0;
	return e > 0 ? 0 : e;
}

/* All that may be taken over becomes ours, in one group. */
static int owners_write(struct recovery *r, struct rec_error *error)
{
	struct rec_driver *d = r->d;
	int e = 0;
	for (size_t i = 0; !e && i < r->claims.count; i++) {
		struct left *claim = &r->claims.items[i];
		uint32_t task = rec_machine_find(d->m, claim->task_id);
		if (!is_held(r, claim->batch_id))
			continue;
		if (task != NONE && has_attempt(d->m, task))
			d->recover_again = true;
		else
			e = owner_write(r, claim, error);
	}
	if (!rec_store_in_group(d->store))
		return e;
	if (!e)
		return rec_store_commit(d->store, error);
	rec_store_rollback(d->store);
	return e;
}

/* ---- What is no claim of ours ---- */

static bool has_claim(const struct recovery *r, const struct left *record)
{
	const struct rec_driver *d = r->d;
	for (size_t i = 0; i < r->claims.count; i++)
		if (!r->claims.items[i].lost && is_record_of(record, &r->claims.items[i]))
			return true;
	for (size_t i = 0; i < d->unsure_count; i++)
		if (d->unsure[i].claim_id == record->claim_id)
			return true;
	return false;
}

struct stray *rec_driver_stray_find(struct rec_driver *d, uint32_t slot, int64_t claim_id)
{
	for (size_t i = 0; i < d->stray_count; i++)
		if (d->strays[i].slot == slot && d->strays[i].claim_id == claim_id)
			return &d->strays[i];
	return NULL;
}

static void stray_note(struct rec_driver *d, int64_t claim_id)
{
	struct rec_error why;
	(void)rec_fail(&why, REC_E_IO, "claim %lld is gone or another's, but its process still ran: it is ended",
		       (long long)claim_id);
	rec_driver_note_error(d, "recovery", &why);
}

void rec_driver_stray_tell(struct rec_driver *d, struct stray *stray, enum rec_slot_event_kind said)
{
	if (said == REC_SLOT_RUNNING)
		stray_note(d, stray->claim_id);
	if (said == REC_SLOT_RUNNING || said == REC_SLOT_LIFE)
		return;
	struct stray ended = *stray;
	*stray = d->strays[--d->stray_count];
	rec_driver_slot_forget(d, ended.slot, ended.claim_id, ended.batch_id);
}

/* Somebody else may be running the task already: nothing is waited for. */
static int stray_end(struct recovery *r, const struct left *record, struct rec_error *error)
{
	struct rec_driver *d = r->d;
	const struct rec_slots *slots = &d->options.slots;
	struct stray stray = {.claim_id = record->claim_id, .slot = record->slot};
	void *strays = d->strays;
	int e = rec_grow(d->allocator, &strays, &d->stray_capacity, d->stray_count + 1, sizeof *d->strays);
	d->strays = strays;
	e = e ? rec_fail_nomem(error) : batch_copy(r, record->batch_id, &stray.batch_id, error);
	e = e ? e
	      : rec_driver_unexpected(slots->ops->adopt(slots->self, record->slot, record->claim_id, error), "adopt",
				      error);
	if (e) {
		rec_free(d->allocator, (void *)(uintptr_t)stray.batch_id.data);
		return e;
	}
	d->strays[d->stray_count++] = stray;
	slots->ops->stop(slots->self, record->slot, record->claim_id, REC_SLOT_KILL);
	return 0;
}

/* One that never ran is forgotten at once: its claim may not have committed, and the number be given again. Of a slot
 * of ours everything that runs is known. */
static int records_forget(struct recovery *r, struct rec_error *error)
{
	const struct rec_slots *slots = &r->d->options.slots;
	int e = 0;
	for (size_t i = 0; !e && i < r->records.count; i++) {
		const struct left *record = &r->records.items[i];
		if (!record->held || record->forgotten || has_claim(r, record))
			continue;
		if (record->runs && record->slot >= slots->ops->count(slots->self))
			e = stray_end(r, record, error);
		else
			slots->ops->forget(slots->self, record->slot, record->claim_id);
	}
	return e;
}

/* Before anything is taken: whose a claim was tells whether a record here can be its own, and is not known any more if
 * all this fails half-way. */
static void leavings_forget(struct recovery *r)
{
	const struct rec_slots *slots = &r->d->options.slots;
	for (size_t i = 0; i < r->records.count; i++) {
		struct left *record = &r->records.items[i];
		if (!record->held || record->runs || has_claim(r, record))
			continue;
		slots->ops->forget(slots->self, record->slot, record->claim_id);
		record->forgotten = true;
	}
}

static int recover(struct recovery *r, struct rec_error *error)
{
	const struct rec_slots *slots = &r->d->options.slots;
	int e = claims_read(r, error);
	if (!e && !r->claims.count && r->d->recovered)
		return 0;
	e = e ? e : lefts_hold(r, &r->claims, error);
	e = e ? e : slots->ops->records(slots->self, record_read, r, error);
	e = e ? e : lefts_hold(r, &r->records, error);
	e = e ? e : claims_read(r, error);
	if (!e)
		leavings_forget(r);
	e = e ? e : owners_write(r, error);
	e = e ? e : claims_take(r, error);
	e = e ? e : records_forget(r, error);
	return rec_driver_unexpected(e, "recovery", error);
}

int rec_driver_recover(struct rec_driver *d, struct rec_error *error)
{
	struct recovery r = {.d = d};
	rec_arena_init(&r.arena, d->allocator);
	int e = recover(&r, error);
	holds_end(&r);
	rec_free(d->allocator, r.claims.items);
	rec_free(d->allocator, r.records.items);
	rec_free(d->allocator, r.held);
	rec_arena_release(&r.arena);
	if (rec_driver_news_tell(d) && !e)
		return rec_fail_nomem(error);
	return e;
}
