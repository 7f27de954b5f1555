/* driver.c - the driver's life and its step: hear the slots, recover, look at the store, act, until nothing is left to
 * do now. Between any two calls of the store or of the slots the process may die; nothing is assumed that the store and
 * the slots do not know. */
#include "conductor/driver-private.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

struct rec_now rec_driver_now(const struct rec_driver *d)
{
	return (struct rec_now){
		.monotonic_us = d->clock->monotonic_us(d->clock->context),
		.wall_us = d->clock->wall_us(d->clock->context),
	};
}

/* ---- Faults ---- */

bool rec_driver_may_pass(int code)
{
	return code < 0 && code != REC_E_NOMEM && code != REC_E_CORRUPT && code != REC_E_BUG && code != REC_E_INVALID;
}

int64_t rec_driver_pause(struct rec_driver *d, int64_t *pause_us)
{
	*pause_us = *pause_us ? *pause_us * 2 : PAUSE_FIRST_US;
	if (*pause_us > PAUSE_MAX_US)
		*pause_us = PAUSE_MAX_US;
	return rec_driver_now(d).monotonic_us + *pause_us;
}

static void tell_trouble(struct rec_driver *d, const char *detail)
{
	if (d->options.tell)
		d->options.tell(d->options.context, &(struct rec_event){
							    .event = rec_slice_of("RECONCILIATION_ERROR"),
							    .batch_id = d->options.batch_id,
							    .detail = rec_slice_of(detail),
						    });
}

/* A store that is away fails whatever is tried, again and again: that is told once, and then once a minute. */
void rec_driver_note_error(struct rec_driver *d, const char *doing, const struct rec_error *error)
{
	int64_t now_us = rec_driver_now(d).monotonic_us;
	bool away = error->code == REC_E_BUSY;
	bool told = away && d->away && now_us < d->away_tell_us;
	d->errors++;
	(void)snprintf(d->last_error, sizeof d->last_error, "%s: %.200s", doing, error->message);
	if (away && !told) {
		d->away = true;
		d->away_tell_us = now_us + AWAY_TELL_US;
	}
	d->untold += told;
	if (!told)
		tell_trouble(d, d->last_error);
}

void rec_driver_store_answered(struct rec_driver *d)
{
	char text[128];
	(void)snprintf(text, sizeof text, "store: answers again (%llu more failures were not told)",
		       (unsigned long long)d->untold);
	if (d->away && d->untold)
		tell_trouble(d, text);
	d->away = false;
	d->untold = 0;
}

int rec_driver_unexpected(int r, const char *doing, struct rec_error *error)
{
	return r > 0 ? rec_fail(error, REC_E_BUG, "%s: unexpected outcome %d (please report)", doing, r) : r;
}

/* ---- News ---- */

int rec_driver_news_reserve(struct rec_driver *d, size_t count)
{
	struct news *n = &d->news;
	if (n->head == n->count)
		n->head = n->count = 0;
	void *items = n->items;
	int r = rec_grow(d->allocator, &items, &n->capacity, n->count + count, sizeof *n->items);
	n->items = items;
	return r;
}

void rec_driver_news_add(struct rec_driver *d, const struct rec_machine_event *e)
{
	assert(d->news.count < d->news.capacity);
	d->news.items[d->news.count++] = *e;
}

int rec_driver_news_tell(struct rec_driver *d)
{
	struct news *n = &d->news;
	while (n->head < n->count) {
		int r = rec_machine_handle(d->m, rec_driver_now(d), &n->items[n->head]);
		if (r == REC_E_NOMEM)
			return r;
		d->bugs += r < 0;
		n->head++;
	}
	n->head = n->count = 0;
	return 0;
}

/* ---- Claims we answer for ---- */

struct live *rec_driver_live_find(struct rec_driver *d, int64_t claim_id)
{
	for (size_t i = 0; i < d->live_count; i++)
		if (d->live[i].claim_id == claim_id)
			return &d->live[i];
	return NULL;
}

int rec_driver_live_reserve(struct rec_driver *d, size_t count)
{
	void *live = d->live;
	int r = rec_grow(d->allocator, &live, &d->live_capacity, d->live_count + count, sizeof *d->live);
	d->live = live;
	return r;
}

struct live *rec_driver_live_add(struct rec_driver *d, const struct live *live)
{
	assert(d->live_count < d->live_capacity);
	d->live[d->live_count] = *live;
	return &d->live[d->live_count++];
}

bool rec_driver_batch_is_needed(const struct rec_driver *d, struct rec_slice batch_id)
{
	for (size_t i = 0; i < d->live_count; i++)
		if (d->live[i].batch_id.data && rec_slice_equal(d->live[i].batch_id, batch_id))
			return true;
	for (size_t i = 0; i < d->stray_count; i++)
		if (d->strays[i].batch_id.data && rec_slice_equal(d->strays[i].batch_id, batch_id))
			return true;
	return false;
}

void rec_driver_slot_forget(struct rec_driver *d, uint32_t slot, int64_t claim_id, struct rec_slice batch_id)
{
	const struct rec_slots *slots = &d->options.slots;
	if (slot != NONE)
		slots->ops->forget(slots->self, slot, claim_id);
	if (batch_id.data && !rec_driver_batch_is_needed(d, batch_id))
		slots->ops->let_go(slots->self, batch_id);
	rec_free(d->allocator, (void *)(uintptr_t)batch_id.data);
}

void rec_driver_live_drop(struct rec_driver *d, int64_t claim_id)
{
	struct live *found = rec_driver_live_find(d, claim_id);
	if (!found)
		return;
	struct live dropped = *found;
	*found = d->live[--d->live_count];
	rec_driver_slot_forget(d, dropped.slot, claim_id, dropped.batch_id);
}

/* ---- Slots ---- */

static enum rec_happening happening_of(enum rec_slot_event_kind kind)
{
	static const enum rec_happening happenings[] = {
		[REC_SLOT_RUNNING] = REC_ON_STARTED, [REC_SLOT_ENDED] = REC_ON_ENDED, [REC_SLOT_VOID] = REC_ON_VOID,
		[REC_SLOT_LOST] = REC_ON_LOST,       [REC_SLOT_LIFE] = REC_ON_ALIVE,
	};
	return happenings[kind];
}

/* What no command is to blame for and what passes: processes, memory or descriptors are all in use. */
static bool passes(int spawn_errno)
{
	return spawn_errno == EAGAIN || spawn_errno == ENOMEM || spawn_errno == EMFILE || spawn_errno == ENFILE;
}

static void slot_event_tell(struct rec_driver *d, const struct rec_slot_event *said)
{
	struct live *live = rec_driver_live_find(d, said->claim_id);
	struct stray *stray = rec_driver_stray_find(d, said->slot, said->claim_id);
	struct rec_machine_event e = {
		.kind = happening_of(said->kind),
		.claim_id = said->claim_id,
		.exit = {said->code, said->by_signal, said->signalled, said->survivors},
		.took_us = said->took_us,
		.signs = said->signs,
	};
	if (stray) {
		rec_driver_stray_tell(d, stray, said->kind);
		return;
	}
	if (!live) { /* whose it is, recovery will see */
		d->recovered = false;
		d->recover_due_us = 0;
		return;
	}
	if (said->kind == REC_SLOT_ENDED && said->not_executed) {
		live->spawn_errno = said->code;
		e.exit = (struct rec_exit){.code = passes(said->code) ? 75 : 127, .signalled = said->signalled};
	}
	e.task = live->task;
	rec_driver_news_add(d, &e);
}

static int slots_hear(struct rec_driver *d, struct rec_error *error)
{
	const struct rec_slots *slots = &d->options.slots;
	struct rec_slot_event said;
	for (;;) {
		if (rec_driver_news_reserve(d, 1))
			return rec_fail_nomem(error);
		int r = slots->ops->next(slots->self, &said, error);
		if (r == REC_END)
			return 0;
		if (r)
			return rec_driver_unexpected(r, "slots", error);
		slot_event_tell(d, &said);
		if (rec_driver_news_tell(d))
			return rec_fail_nomem(error);
	}
}

/* ---- The operator ---- */

void rec_driver_drain(struct rec_driver *d)
{
	d->drained = true;
}

void rec_driver_force(struct rec_driver *d)
{
	d->drained = d->forced = true;
}

static int operator_heed(struct rec_driver *d)
{
	if (d->drained)
		rec_machine_drain(d->m);
	if (!d->forced && !d->lease_lost)
		return 0;
	d->stopping = true;
	int r = d->lease_lost ? rec_machine_force_all(d->m, rec_driver_now(d))
			      : rec_machine_force(d->m, rec_driver_now(d));
	d->forced = r != 0;
	return r;
}

/* A stop by force does not wait for the store, which may be silent for longer than the lease lasts: this comes before
 * and after whatever may wait for it. */
static int stop_in_time(struct rec_driver *d, struct rec_error *error)
{
	rec_driver_lease_check(d);
	if ((d->forced || d->stopping) && (operator_heed(d) || rec_driver_act_processes(d)))
		return rec_fail_nomem(error);
	rec_driver_patience_set(d);
	return 0;
}

/* ---- The step ---- */

/* 0: recovered, or not due; REC_END: not yet, which forbids claims. Whose lease is over takes over nothing: it would be
 * anybody's the next moment, and still run here. */
static int recovery_step(struct rec_driver *d, struct rec_error *error)
{
	if (d->lease_lost) {
		d->recover_due_us = NEVER;
		return 0;
	}
	int64_t now_us = rec_driver_now(d).monotonic_us;
	if (now_us < d->recover_due_us)
		return d->recovered ? 0 : REC_END;
	struct rec_error problem = {0};
	int r = rec_driver_recover(d, &problem);
	if (r == 0) {
		d->recovered = true;
		d->recover_pause_us = 0;
		int64_t every_us = d->options.reconcile_interval_us;
		d->recover_due_us = now_us + (every_us > 0 ? every_us : RECOVER_INTERVAL_US);
		if (d->recover_again) /* some could not be taken over just now */
			d->recover_due_us = now_us + PAUSE_FIRST_US;
		d->recover_again = false;
		return 0;
	}
	if (!rec_driver_may_pass(r)) {
		*error = problem;
		return r;
	}
	rec_driver_note_error(d, "recovery", &problem);
	d->recover_due_us = rec_driver_pause(d, &d->recover_pause_us);
	return d->recovered ? 0 : REC_END;
}

static int batch_end(struct rec_driver *d, enum rec_batch_status outcome, struct rec_error *error)
{
	static const char *const names[] = {
		[REC_BATCH_COMPLETED] = "BATCH_COMPLETED",
		[REC_BATCH_PARTIAL] = "BATCH_PARTIAL",
		[REC_BATCH_CANCELLED] = "BATCH_CANCELLED",
	};
	struct rec_machine_counts c = rec_machine_counts(d->m);
	enum rec_batch_status now = outcome;
	char detail[160];
	(void)snprintf(detail, sizeof detail, "%llu done, %llu failed, %llu skipped, %llu held, %llu not started",
		       (unsigned long long)c.done, (unsigned long long)c.failed, (unsigned long long)c.skipped,
		       (unsigned long long)c.held, (unsigned long long)c.waiting + c.queued);
	int r = rec_store_begin(d->store, error);
	if (r)
		return r;
	int ended = rec_store_batch_set_status(d->store, d->options.batch_id, REC_BATCH_RUNNING, outcome,
					       (struct rec_slice){0}, &now, error);
	r = ended < 0 ? ended : 0;
	if (ended == 0)
		r = rec_driver_event_plain(d, names[outcome], (struct rec_slice){0}, 0, NULL, rec_slice_of(detail),
					   error);
	if (r == 0)
		r = rec_driver_counts_put(d, error);
	if (r == 0)
		r = rec_store_commit(d->store, error);
	else
		rec_store_rollback(d->store);
	rec_driver_events_stored(d, r == 0);
	if (r == 0)
		rec_driver_sync(d, true);
	rec_arena_release(&d->arena);
	if (r < 0)
		return r;
	d->ended = true; /* also if somebody else has ended it, or removed it */
	d->outcome = ended == REC_CONFLICT ? now : outcome;
	d->options.slots.ops->let_go(d->options.slots.self, d->options.batch_id);
	return 0;
}

/* Looks and acts until both have nothing to do. *ret_plan: the last one. */
static int work(struct rec_driver *d, const struct rec_plan **ret_plan, struct rec_error *error)
{
	for (;;) {
		int looked = d->apart ? REC_END : rec_driver_look(d, error);
		if (looked < 0)
			return looked;
		int stopped = stop_in_time(d, error);
		if (stopped)
			return stopped;
		int acted = rec_driver_act(d, ret_plan, error);
		if (acted < 0)
			return acted;
		if (looked == REC_END && acted == REC_END)
			return 0;
	}
}

static int64_t earlier(int64_t a_us, int64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

/* When the store is to be looked at next; not before a pause is over. */
static int64_t look_due_at(const struct rec_driver *d)
{
	int64_t due_us = d->rescan_due_us;
	if (d->options.reconcile_interval_us > 0)
		due_us = earlier(due_us, d->tick_due_us);
	if (d->owed_count || d->stranger_count || d->rescan || d->behind)
		due_us = 0;
	return due_us > d->look_resume_us ? due_us : d->look_resume_us;
}

static int64_t due_at(const struct rec_driver *d, const struct rec_plan *plan)
{
	int64_t due_us = earlier(plan->timer_us, d->recover_due_us);
	return earlier(look_due_at(d), earlier(due_us, rec_driver_lease_due(d)));
}

static bool nothing_is_owed(const struct rec_driver *d)
{
	return !d->owed_count && !d->stranger_count && !d->rescan && !d->looks_out && d->news.head == d->news.count;
}

/* The machine says that the batch has ended; so it has, if nothing has changed that it was not told. */
static int end_if_ended(struct rec_driver *d, const struct rec_plan *plan, int64_t *ret_due_us, struct rec_error *error)
{
	struct rec_error problem = {0};
	*ret_due_us = due_at(d, plan);
	if (plan->outcome == REC_BATCH_RUNNING || !nothing_is_owed(d))
		return 0;
	int r = rec_driver_feed_read(d, &problem);
	if (r == 0 && !nothing_is_owed(d)) {
		*ret_due_us = rec_driver_now(d).monotonic_us;
		return 0;
	}
	r = r ? r : batch_end(d, plan->outcome, &problem);
	if (r == 0)
		return REC_END;
	if (!rec_driver_may_pass(r)) {
		*error = problem;
		return r;
	}
	rec_driver_note_error(d, "end of the batch", &problem);
	*ret_due_us = rec_driver_pause(d, &d->look_pause_us);
	return 0;
}

/* The lease, a stop by force, recovery. 0; REC_END: not yet, which forbids everything else. */
static int ready_step(struct rec_driver *d, struct rec_error *error)
{
	int r = stop_in_time(d, error);
	if (r)
		return r;
	int leased = rec_driver_lease_step(d, error);
	r = leased < 0 ? leased : stop_in_time(d, error);
	if (r || leased)
		return r ? r : leased;
	int recovered = recovery_step(d, error);
	r = recovered < 0 ? recovered : stop_in_time(d, error);
	return r ? r : recovered;
}

static int step(struct rec_driver *d, int64_t *ret_due_us, struct rec_error *error)
{
	const struct rec_plan *plan = NULL;
	int r = rec_driver_news_tell(d) ? rec_fail_nomem(error) : slots_hear(d, error);
	r = r ? r : ready_step(d, error);
	if (r == REC_END) {
		int64_t due_us = earlier(d->recover_due_us, rec_driver_lease_due(d));
		*ret_due_us = d->stopping ? earlier(due_us, d->stop_due_us) : due_us;
		return 0;
	}
	r = r ? r : rec_driver_heed_row(d, error);
	r = r ? r : stop_in_time(d, error);
	if (!r && operator_heed(d))
		r = rec_fail_nomem(error);
	r = r ? r : work(d, &plan, error);
	return r ? r : end_if_ended(d, plan, ret_due_us, error);
}

/* What was committed starts at once, becomes durable a little later and together with what follows, and is told then:
 * no child and no slot waits for the disk. What a loss of power takes away in between never was, as far as the store
 * knows: a claim, and its child with it; an end, and the attempt is lost. */
int rec_driver_step(struct rec_driver *d, int64_t *ret_due_us, struct rec_error *error)
{
	if (d->ended)
		return REC_END;
	int r = step(d, ret_due_us, error);
	rec_driver_sync(d, r < 0 && r != REC_E_NOMEM);
	if (r == 0 && rec_store_unsynced(d->store))
		*ret_due_us = earlier(*ret_due_us, d->sync_due_us);
	return r;
}

/* ---- Making ---- */

struct rec_driver *rec_driver_free(struct rec_driver *d)
{
	if (!d)
		return NULL;
	rec_store_on_rollup(d->store, NULL, NULL);
	for (size_t i = 0; i < d->live_count; i++)
		rec_free(d->allocator, (void *)(uintptr_t)d->live[i].batch_id.data);
	for (size_t i = 0; i < d->stray_count; i++)
		rec_free(d->allocator, (void *)(uintptr_t)d->strays[i].batch_id.data);
	rec_look_free(d->unfinished);
	rec_moves_release(&d->moves);
	rec_arena_release(&d->arena);
	rec_arena_release(&d->told_texts);
	rec_arena_release(&d->strangers_arena);
	rec_free(d->allocator, d->news.items);
	rec_free(d->allocator, d->live);
	rec_free(d->allocator, d->strays);
	rec_free(d->allocator, d->unsure);
	rec_free(d->allocator, d->owed);
	rec_free(d->allocator, d->owed_list);
	rec_free(d->allocator, d->strangers);
	rec_free(d->allocator, d->results);
	rec_free(d->allocator, d->told);
	rec_free(d->allocator, d->claimed);
	rec_free(d->allocator, d->joined);
	rec_free(d->allocator, d->moved);
	rec_machine_free(d->m);
	return rec_free(d->allocator, d);
}

struct loading {
	struct rec_driver *d;
	struct rec_error *error;
};

static int member_add(void *context, const struct rec_batch_task *row)
{
	struct loading *l = context;
	struct rec_machine_task task = {
		.id = row->task_id,
		.member = true,
		.attempt = (uint32_t)row->attempt,
		.failures = (uint16_t)row->failures,
		.again = (uint8_t)row->again,
		.lost = (uint8_t)row->lost,
		.not_before_us = row->not_before_us,
		.finished = rec_slice_equal(row->phase, rec_slice_of(rec_phase_text(REC_PHASE_FINISHED))) &&
			    rec_status_success(row->believed),
		.own = row->own,
	};
	uint32_t index;
	int r = rec_machine_add(l->d->m, &task, &index);
	l->d->position = row->position >= l->d->position ? row->position + 1 : l->d->position;
	return r < 0 ? rec_fail(l->error, r, "batch: %s", r == REC_E_NOMEM ? "out of memory" : "too many tasks") : 0;
}

static int load(struct rec_driver *d, struct rec_error *error)
{
	struct rec_batch batch;
	struct loading l = {d, error};
	int r = d->options.slots.ops->hold(d->options.slots.self, d->options.batch_id, error);
	if (r)
		return r;
	r = rec_store_batch_get(d->store, d->options.batch_id, &d->arena, &batch, error);
	if (!r && batch.status != REC_BATCH_RUNNING)
		r = REC_REFUSED;
	if (!r)
		d->base = (struct rec_batch){.skipped = batch.skipped,
					     .killed = batch.killed,
					     .requeued = batch.requeued,
					     .errors = batch.errors};
	r = r ? r : rec_store_batch_tasks(d->store, d->options.batch_id, member_add, &l, error);
	rec_arena_release(&d->arena);
	if (r)
		d->options.slots.ops->let_go(d->options.slots.self, d->options.batch_id);
	return r;
}

int rec_driver_new(const struct rec_driver_options *options, struct rec_driver **ret_driver, struct rec_error *error)
{
	struct rec_driver *d = rec_zalloc(options->allocator, 1, sizeof *d);
	if (!d)
		return rec_fail_nomem(error);
	d->allocator = options->allocator;
	d->options = *options;
	d->options.machine.allocator = options->allocator;
	d->options.all_ready = options->all_ready && options->machine.wait;
	d->store = options->store;
	d->clock = options->clock ? options->clock : &rec_clock_real;
	rec_arena_init(&d->arena, d->allocator);
	rec_arena_init(&d->told_texts, d->allocator);
	rec_arena_init(&d->strangers_arena, d->allocator);
	rec_moves_init(&d->moves, d->allocator);
	d->rescan = true;
	int r = rec_machine_new(&d->options.machine, &d->m, error);
	if (!r)
		r = rec_machine_slots(d->m, options->slots.ops->count(options->slots.self));
	r = r ? r : load(d, error);
	r = r ? r : rec_store_sync_apart(d->store, error);
	if (r) {
		rec_driver_free(d);
		return r;
	}
	rec_store_on_rollup(d->store, rec_driver_moved, d);
	*ret_driver = d;
	return 0;
}

/* ---- Questions ---- */

enum rec_batch_status rec_driver_outcome(const struct rec_driver *d)
{
	return d->outcome;
}

const struct rec_machine *rec_driver_machine(const struct rec_driver *d)
{
	return d->m;
}

uint64_t rec_driver_errors(const struct rec_driver *d)
{
	return d->errors;
}

uint64_t rec_driver_commits(const struct rec_driver *d)
{
	return d->commits;
}

uint64_t rec_driver_bugs(const struct rec_driver *d)
{
	return d->bugs;
}
