/* sim-slots.c - slots as slots.h says them: folders with records that outlive everybody but a power cut, shims that run
 * what they were told and end whatever outlives its attempt, and the conductor's view of both. */
#include "sim.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define LANE_RECORDS 2u

/* ---- Records ---- */

struct sim_record *sim_record_find(struct sim_folder *f, int64_t claim_id)
{
	for (unsigned i = 0; i < f->record_count; i++)
		if (f->records[i].claim_id == claim_id)
			return &f->records[i];
	return NULL;
}

static void record_drop(struct sim_folder *f, struct sim_record *record)
{
	unsigned at = (unsigned)(record - f->records);
	memmove(record, record + 1, (f->record_count - at - 1) * sizeof *record);
	f->record_count--;
	if (f->record_count == 0 && f->foreign) {
		f->owner = -1;
		f->foreign = false;
	}
}

static bool is_forgotten(const struct sim_folder *f, int64_t claim_id)
{
	for (unsigned i = 0; i < SIM_FORGOTTEN; i++)
		if (f->forgotten[i] == claim_id)
			return true;
	return false;
}

static bool is_over(const struct sim_record *record)
{
	return record->state == SIM_ENDED || record->state == SIM_VOID || record->state == SIM_LOST;
}

static bool something_runs(struct sim *w, int folder)
{
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
		const struct sim_process *p = &w->processes[i];
		if (p->folder == folder && (p->alive || p->grandchild))
			return true;
	}
	return false;
}

/* ---- Folders ---- */

static int folder_make(struct sim *w)
{
	for (int i = 0; i < SIM_FOLDERS_MAX; i++) {
		struct sim_folder *f = &w->folders[i];
		if (!f->made || (f->owner < 0 && f->record_count == 0 && !something_runs(w, i))) {
			struct sim_folder before = *f;
			*f = (struct sim_folder){.made = true, .owner = -1, .leftover = before.leftover};
			memcpy(f->forgotten, before.forgotten, sizeof f->forgotten); /* the record is used again */
			return i;
		}
	}
	sim_broken(w, "the simulator has no folder left");
	return 0;
}

void sim_slots_take(struct sim_conductor *c)
{
	c->slot_count = c->w->options.slots;
	for (unsigned i = 0; i < c->slot_count; i++) {
		c->folders[i] = folder_make(c->w);
		c->w->folders[c->folders[i]].owner = c->index;
		c->w->folders[c->folders[i]].host = c->host;
		memcpy(c->w->folders[c->folders[i]].batch_id, c->batch_id, sizeof c->batch_id);
	}
}

/* Its shims go on; what they hold is told again to whoever takes them over. */
void sim_slots_leave(struct sim_conductor *c)
{
	for (int i = 0; i < SIM_FOLDERS_MAX; i++) {
		struct sim_folder *f = &c->w->folders[i];
		if (!f->made || f->owner != c->index)
			continue;
		f->owner = -1;
		f->foreign = false;
		for (unsigned k = 0; k < f->record_count; k++)
			f->records[k].adopted = f->records[k].told_running = f->records[k].told_end = false;
	}
}

int sim_folder_of_slot(struct sim_conductor *c, uint32_t slot)
{
	if (slot >= SIM_SLOT_FOREIGN)
		return (int)(slot - SIM_SLOT_FOREIGN);
	assert(slot < SIM_SLOTS_MAX);
	return c->folders[slot];
}

static uint32_t slot_of_folder(const struct sim_conductor *c, int folder)
{
	for (unsigned i = 0; i < c->slot_count; i++)
		if (c->folders[i] == folder)
			return i;
	return SIM_SLOT_FOREIGN + (uint32_t)folder;
}

/* ---- Shims ---- */

/* Starts what was received, one after the other; writes down what has ended. */
void sim_shim_act(struct sim *w, int folder)
{
	struct sim_folder *f = &w->folders[folder];
	bool late = f->kill_us && w->clock.now_monotonic_us >= f->term_us;
	if (!f->shim || !sim_host_is_awake(w, f->host))
		return;
	for (unsigned i = 0; i < f->record_count; i++) {
		struct sim_record *record = &f->records[i];
		struct sim_process *p = sim_process_of(w, record->claim_id);
		if (record->state == SIM_RUNNING && p && !p->alive && !p->grandchild) {
			record->state = SIM_ENDED;
			record->exit = p->exit;
			record->took_us = w->clock.now_monotonic_us - p->started_us;
			p->end_kept = !p->robbed;
		} else if (record->state == SIM_RECEIVED && late) {
			record->state = SIM_VOID;
		} else if (record->state == SIM_RECEIVED && !something_runs(w, folder)) {
			record->state = SIM_RUNNING;
			record->unwritten = false;
			sim_process_start(w, folder, record);
		}
	}
}

/* Where hosts share the store, its child goes with it at once (PR_SET_PDEATHSIG); what that left behind is nobody's to
 * end if the conductor is dead as well, and nothing is promised of it. */
void sim_shim_die(struct sim *w, int folder)
{
	if (!sim_host_is_awake(w, w->folders[folder].host))
		return;
	w->folders[folder].shim = false;
	sim_say(w, "shim of folder %d dies", folder);
	for (unsigned i = 0; i < SIM_PROCESSES_MAX && w->options.hosts > 1; i++)
		if (w->processes[i].folder == folder)
			sim_process_vanish(&w->processes[i]);
}

/* A dead shim's attempts are hunted down by whoever finds it dead: what carries the claim is ended first. */
static void folder_hunt(struct sim *w, struct sim_folder *f)
{
	for (unsigned i = 0; i < f->record_count; i++) {
		struct sim_record *record = &f->records[i];
		struct sim_process *p = sim_process_of(w, record->claim_id);
		if (is_over(record) || record->state == SIM_STARTING)
			continue;
		if (p)
			sim_process_vanish(p);
		record->state = SIM_LOST;
	}
}

static void shim_ensure(struct sim *w, struct sim_folder *f)
{
	if (!f->shim)
		folder_hunt(w, f);
	f->shim = true;
}

/* ---- The conductor's calls ---- */

static struct sim_conductor *of(void *self)
{
	return self;
}

/* Before every call: the world goes on, and the caller may die. */
static bool enter(struct sim_conductor *c)
{
	if (c->alive)
		sim_interrupt(c->w, c, false);
	return c->alive;
}

static uint32_t sim_count(void *self)
{
	return of(self)->slot_count;
}

static bool slot_fails(struct sim *w)
{
	return !w->quiet && (w->options.faults & SIM_SLOT_FAULTS) && sim_chance(w, 40);
}

/* The conductor's lease is what the slot goes by from now on. */
static void lease_take(const struct sim_conductor *c, struct sim_folder *f)
{
	f->term_us = c->term_us;
	f->kill_us = c->kill_us;
	f->termed = false;
}

static void sim_deadline(void *self, int64_t term_us, int64_t kill_us)
{
	struct sim_conductor *c = of(self);
	if (!enter(c) || (c->w->options.planted & REC_PLANTED_NO_DEADLINE))
		return;
	c->term_us = term_us;
	c->kill_us = kill_us;
	for (int i = 0; i < SIM_FOLDERS_MAX; i++)
		if (c->w->folders[i].made && c->w->folders[i].owner == c->index)
			lease_take(c, &c->w->folders[i]);
}

/* The lane of what is not begun yet holds two: the older one is overwritten. */
static void lane_make_room(struct sim *w, struct sim_folder *f)
{
	struct sim_record *oldest = NULL;
	unsigned count = 0;
	for (unsigned i = f->record_count; i-- > 0;)
		if (f->records[i].state == SIM_STARTING || f->records[i].state == SIM_RECEIVED) {
			oldest = &f->records[i];
			count++;
		}
	if (count < LANE_RECORDS)
		return;
	if (oldest->state == SIM_RECEIVED)
		sim_broken(w, "the record of claim %lld is overwritten before it begins", (long long)oldest->claim_id);
	record_drop(f, oldest);
}

/* As many ends as the record keeps: whatever was started and is not forgotten may end before anybody looks. */
static unsigned started_count(const struct sim_folder *f)
{
	unsigned count = 0;
	for (unsigned i = 0; i < f->record_count; i++)
		count += f->records[i].state != SIM_STARTING;
	return count;
}

static int sim_prepare(void *self, uint32_t slot, const struct rec_slot_order *order, struct rec_error *error)
{
	struct sim_conductor *c = of(self);
	struct sim *w = c->w;
	if (!enter(c))
		return rec_fail(error, REC_E_IO, "sim: dead");
	if (slot_fails(w))
		return rec_fail(error, REC_E_FULL, "sim: no room for a record");
	struct sim_folder *f = &w->folders[sim_folder_of_slot(c, slot)];
	lane_make_room(w, f);
	if (f->record_count >= REC_SLOT_CLAIMS_MAX)
		sim_broken(w, "slot %u is given a claim while it holds %u", slot, f->record_count);
	int task = sim_task_find(w, order->task->id);
	struct sim_record record = {.claim_id = order->claim_id, .task = (unsigned)task, .state = SIM_STARTING};
	memcpy(record.batch_id, c->batch_id, sizeof record.batch_id);
	f->records[f->record_count++] = record;
	for (unsigned i = 0; i < SIM_FORGOTTEN; i++)
		if (f->forgotten[i] == order->claim_id && !(w->options.planted & SIM_PLANTED_TOMBSTONE))
			f->forgotten[i] = 0;
	shim_ensure(w, f);
	lease_take(c, f);
	sim_say(w, "c%d prepares claim %lld of %s in folder %d", c->index, (long long)order->claim_id,
		w->tasks[task].id, sim_folder_of_slot(c, slot));
	return 0;
}

static int sim_start(void *self, uint32_t slot, int64_t claim_id, struct rec_error *error)
{
	struct sim_conductor *c = of(self);
	if (!enter(c))
		return rec_fail(error, REC_E_IO, "sim: dead");
	int folder = sim_folder_of_slot(c, slot);
	struct sim_folder *f = &c->w->folders[folder];
	struct sim_record *record = sim_record_find(f, claim_id);
	if (slot_fails(c->w) && record && record->state == SIM_STARTING)
		return rec_fail(error, REC_E_IO, "sim: the shim does not start");
	if (!record && f->record_count < SIM_RECORDS_MAX) { /* planted: no STARTING; the shim alone knows of it */
		record = &f->records[f->record_count++];
		*record = (struct sim_record){
			.claim_id = claim_id, .state = SIM_STARTING, .task = UINT32_MAX, .unwritten = true};
		memcpy(record->batch_id, c->batch_id, sizeof record->batch_id);
	}
	if (!record)
		return rec_fail(error, REC_E_IO, "sim: no such claim");
	if (record->state == SIM_STARTING && started_count(f) >= REC_SLOT_STARTED_MAX)
		sim_broken(c->w, "slot %u is to start a claim while it holds the ends of %u", slot, started_count(f));
	shim_ensure(c->w, f); /* a new one is told, an old one's attempts are lost first */
	if (record->state == SIM_STARTING)
		record->state = SIM_RECEIVED;
	if (sim_choose(c->w, 2) == 0)
		sim_shim_act(c->w, folder);
	return 0;
}

static void sim_stop(void *self, uint32_t slot, int64_t claim_id, enum rec_slot_signal signal)
{
	struct sim_conductor *c = of(self);
	if (!enter(c))
		return;
	int folder = sim_folder_of_slot(c, slot);
	struct sim_record *record = sim_record_find(&c->w->folders[folder], claim_id);
	struct sim_process *p = sim_process_of(c->w, claim_id);
	if (!record || is_over(record))
		return;
	sim_say(c->w, "c%d stops claim %lld (%s)", c->index, (long long)claim_id,
		signal == REC_SLOT_KILL ? "KILL" : "TERM");
	if (record->state == SIM_STARTING || record->state == SIM_RECEIVED) {
		record->state = SIM_VOID;
	} else if (p && c->w->folders[folder].shim) {
		sim_rules_at_stop(c, p);
		sim_process_signal(c->w, p, signal == REC_SLOT_KILL);
		sim_shim_act(c->w, folder);
	}
}

static void sim_recall(void *self, uint32_t slot, int64_t claim_id)
{
	struct sim_conductor *c = of(self);
	if (!enter(c))
		return;
	struct sim_record *record = sim_record_find(&c->w->folders[sim_folder_of_slot(c, slot)], claim_id);
	if (record && (record->state == SIM_STARTING || record->state == SIM_RECEIVED))
		record->state = SIM_VOID;
}

static void sim_life(void *self, uint32_t slot, int64_t claim_id)
{
	struct sim_conductor *c = of(self);
	if (!enter(c))
		return;
	struct sim_record *record = sim_record_find(&c->w->folders[sim_folder_of_slot(c, slot)], claim_id);
	if (record && record->state == SIM_RUNNING)
		record->asked = true;
}

static void sim_forget(void *self, uint32_t slot, int64_t claim_id)
{
	struct sim_conductor *c = of(self);
	if (!enter(c))
		return;
	int folder = sim_folder_of_slot(c, slot);
	struct sim_folder *f = &c->w->folders[folder];
	struct sim_record *record = sim_record_find(f, claim_id);
	const struct sim_process *p = sim_process_of(c->w, claim_id);
	sim_say(c->w, "c%d forgets claim %lld in folder %d", c->index, (long long)claim_id, folder);
	f->forgotten[f->forgotten_next++ % SIM_FORGOTTEN] = claim_id;
	if (f->leftover.claim_id == claim_id)
		f->leftover = (struct sim_leftover){0};
	if (!record)
		return;
	if (record->state == SIM_STARTING && (c->w->options.planted & SIM_PLANTED_LEFT_AHEAD)) {
		f->leftover.claim_id = claim_id;
		memcpy(f->leftover.batch_id, record->batch_id, sizeof f->leftover.batch_id);
	}
	if (p && p->folder == folder && sim_claim_lives(c->w, claim_id))
		sim_broken(c->w, "claim %lld is forgotten while its process lives", (long long)claim_id);
	record_drop(f, record);
}

/* ---- What they say ---- */

static void tell(struct sim_conductor *c, int folder, const struct sim_record *record, enum rec_slot_event_kind kind,
		 struct rec_slot_event *out)
{
	*out = (struct rec_slot_event){
		.kind = kind,
		.slot = slot_of_folder(c, folder),
		.claim_id = record->claim_id,
		.by_signal = record->exit.by_signal,
		.code = record->exit.code,
		.signalled = record->exit.signalled,
		.survivors = record->exit.survivors,
		.took_us = record->took_us,
		.signs = (uint64_t)(c->w->clock.now_monotonic_us / (7 * SIM_SECOND)),
	};
	sim_say(c->w, "c%d hears %s of claim %lld", c->index, rec_slot_event_text(kind), (long long)record->claim_id);
}

static bool record_tell(struct sim_conductor *c, int folder, struct sim_record *record, struct rec_slot_event *out)
{
	static const enum rec_slot_event_kind ends[] = {
		[SIM_ENDED] = REC_SLOT_ENDED, [SIM_VOID] = REC_SLOT_VOID, [SIM_LOST] = REC_SLOT_LOST};
	if (c->w->folders[folder].foreign && !record->adopted)
		return false;
	if (record->state == SIM_RUNNING && !record->told_running) {
		record->told_running = true;
		tell(c, folder, record, REC_SLOT_RUNNING, out);
		return true;
	}
	if (record->asked) {
		record->asked = false;
		tell(c, folder, record, REC_SLOT_LIFE, out);
		return true;
	}
	if (!is_over(record) || record->told_end)
		return false;
	record->told_end = true;
	tell(c, folder, record, ends[record->state], out);
	return true;
}

static int sim_next(void *self, struct rec_slot_event *ret_event, struct rec_error *error)
{
	struct sim_conductor *c = of(self);
	(void)error;
	if (!enter(c))
		return REC_END;
	if (!c->w->quiet && (c->w->options.faults & SIM_SLOT_FAULTS) && sim_chance(c->w, 3))
		return REC_END;
	for (int i = 0; i < SIM_FOLDERS_MAX; i++) {
		struct sim_folder *f = &c->w->folders[i];
		if (!f->made || f->owner != c->index)
			continue;
		if (!f->shim)
			folder_hunt(c->w, f);
		for (unsigned k = 0; k < f->record_count; k++)
			if (record_tell(c, i, &f->records[k], ret_event))
				return 0;
	}
	return REC_END;
}

/* ---- Recovery ---- */

static struct sim_conductor *holder_of(struct sim *w, unsigned host, struct rec_slice batch_id)
{
	for (unsigned i = 0; i < SIM_CONDUCTORS_MAX; i++) {
		struct sim_conductor *c = &w->conductors[i];
		for (unsigned k = 0; c->alive && k < SIM_CONDUCTORS_MAX; k++)
			if (c->host == host && w->batches[k].made && w->batches[k].holder[host] == c->index + 1 &&
			    rec_slice_equal(batch_id, rec_slice_of(w->batches[k].id)))
				return c;
	}
	return NULL;
}

static struct sim_batch *batch_of(struct sim *w, struct rec_slice batch_id)
{
	for (unsigned k = 0; k < SIM_CONDUCTORS_MAX; k++)
		if (w->batches[k].made && rec_slice_equal(batch_id, rec_slice_of(w->batches[k].id)))
			return &w->batches[k];
	return NULL;
}

static int sim_hold(void *self, struct rec_slice batch_id, struct rec_error *error)
{
	struct sim_conductor *c = of(self);
	(void)error;
	if (!enter(c))
		return rec_fail(error, REC_E_IO, "sim: dead");
	struct sim_conductor *holder = holder_of(c->w, c->host, batch_id);
	struct sim_batch *batch = batch_of(c->w, batch_id);
	if (holder && holder != c)
		return REC_CONFLICT;
	if (batch)
		batch->holder[c->host] = c->index + 1;
	return 0;
}

static void sim_let_go(void *self, struct rec_slice batch_id)
{
	struct sim_conductor *c = of(self);
	struct sim_batch *batch = batch_of(c->w, batch_id);
	if (enter(c) && batch && batch->holder[c->host] == c->index + 1)
		batch->holder[c->host] = 0;
}

static int leftover_tell(struct sim_conductor *c, int folder, rec_slot_record_fn *fn, void *context)
{
	const struct sim_folder *f = &c->w->folders[folder];
	if (!f->leftover.claim_id || is_forgotten(f, f->leftover.claim_id))
		return 0;
	return fn(context, &(struct rec_slot_record){
				   .slot = slot_of_folder(c, folder),
				   .claim_id = f->leftover.claim_id,
				   .batch_id = rec_slice_of(f->leftover.batch_id),
			   });
}

static int sim_records(void *self, rec_slot_record_fn *fn, void *context, struct rec_error *error)
{
	struct sim_conductor *c = of(self);
	int r = enter(c) ? 0 : rec_fail(error, REC_E_IO, "sim: dead");
	for (int i = 0; !r && i < SIM_FOLDERS_MAX; i++) {
		const struct sim_folder *f = &c->w->folders[i];
		if (!f->made || f->host != c->host || (f->owner >= 0 && f->owner != c->index))
			continue;
		r = leftover_tell(c, i, fn, context);
		for (unsigned k = 0; !r && k < f->record_count; k++)
			r = f->records[k].unwritten || is_forgotten(f, f->records[k].claim_id)
				    ? 0
				    : fn(context, &(struct rec_slot_record){
							  .slot = slot_of_folder(c, i),
							  .claim_id = f->records[k].claim_id,
							  .runs = f->records[k].state == SIM_RUNNING,
							  .batch_id = rec_slice_of(f->records[k].batch_id),
						  });
	}
	return r;
}

static int sim_adopt(void *self, uint32_t slot, int64_t claim_id, struct rec_error *error)
{
	struct sim_conductor *c = of(self);
	if (!enter(c))
		return rec_fail(error, REC_E_IO, "sim: dead");
	struct sim_folder *f = &c->w->folders[sim_folder_of_slot(c, slot)];
	struct sim_record *record = sim_record_find(f, claim_id);
	if (!record && f->leftover.claim_id == claim_id && f->record_count < SIM_RECORDS_MAX) {
		record = &f->records[f->record_count++];
		*record = (struct sim_record){.claim_id = claim_id, .state = SIM_STARTING, .task = UINT32_MAX};
		memcpy(record->batch_id, f->leftover.batch_id, sizeof record->batch_id);
		f->leftover = (struct sim_leftover){0};
	}
	if (!record || (f->owner >= 0 && f->owner != c->index))
		return rec_fail(error, REC_E_IO, "sim: that record is gone");
	sim_rules_at_adoption(c, claim_id);
	f->foreign = f->foreign || f->owner < 0;
	f->owner = c->index;
	lease_take(c, f);
	record->adopted = true;
	record->told_running = record->told_end = false;
	if (record->state == SIM_STARTING)
		record->state = SIM_VOID; /* nobody told it to start */
	if (!f->shim)
		folder_hunt(c->w, f);
	sim_say(c->w, "c%d adopts claim %lld in folder %d", c->index, (long long)claim_id, sim_folder_of_slot(c, slot));
	return 0;
}

const struct rec_slots_ops sim_slots_ops = {
	.count = sim_count,
	.prepare = sim_prepare,
	.start = sim_start,
	.stop = sim_stop,
	.recall = sim_recall,
	.deadline = sim_deadline,
	.life = sim_life,
	.forget = sim_forget,
	.next = sim_next,
	.hold = sim_hold,
	.let_go = sim_let_go,
	.records = sim_records,
	.adopt = sim_adopt,
};
