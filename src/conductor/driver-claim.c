/* driver-claim.c - the claims of a group: the tasks are read once more and must still be what the machine thinks, then
 * the claims are written, then the slots' records; the commit makes it true. All of them at once, so that a server is
 * asked twice, however many slots are free. */
#include "conductor/driver-private.h"

static int claim_result(struct rec_driver *d, const struct rec_effect *effect, enum rec_happening kind,
			struct rec_error *error)
{
	struct rec_machine_event e = {.kind = kind, .task = effect->task, .slot = effect->slot};
	return rec_driver_result_add(d, &e, error);
}

/* ---- May it still be claimed? ---- */

static bool has_open_blocker(const struct rec_task *task)
{
	for (size_t i = 0; i < task->blocker_count; i++)
		if (task->blockers[i].status == REC_OPEN || task->blockers[i].status == REC_BLOCKER_UNRECOGNISED)
			return true;
	return false;
}

static bool may_be_claimed(const struct rec_driver *d, const struct rec_task *task)
{
	if (task->status != REC_READY || task->claimed || !task->is_leaf || task->depends_on_raw.data)
		return false;
	return d->options.machine.ignore_blockers || !has_open_blocker(task);
}

/* Whatever it depends on now must be met now. */
static int dependencies_met(struct rec_driver *d, const struct rec_task *task, bool *ret_met, struct rec_error *error)
{
	struct rec_snapshot now;
	*ret_met = true;
	if (!task->depends_on_count)
		return 0;
	int r = rec_store_snapshot(d->store, task->depends_on, task->depends_on_count, 0, &now, error);
	if (r)
		return rec_driver_unexpected(r, "claim", error);
	for (size_t i = 0; i < now.count; i++)
		*ret_met = *ret_met && rec_status_success((enum rec_status)now.facts[i].status);
	rec_snapshot_release(&now);
	return 0;
}

/* 0; REC_CONFLICT: not any more. */
static int claim_check(struct rec_driver *d, const struct rec_task *task, struct rec_error *error)
{
	bool met = true;
	if (!task->id.data) /* deleted */
		return REC_CONFLICT;
	if (rec_planted(d->options.machine.planted, REC_PLANTED_NO_RECHECK))
		return 0;
	if (!may_be_claimed(d, task))
		return REC_CONFLICT;
	int r = dependencies_met(d, task, &met, error);
	return r ? r : met ? 0 : REC_CONFLICT;
}

/* ---- Claiming ---- */

static int slot_prepare(struct rec_driver *d, const struct rec_effect *effect, const struct rec_claimed *claim,
			const struct rec_task *task, struct rec_error *error)
{
	const struct rec_slots *slots = &d->options.slots;
	struct rec_task running = *task;
	running.status = REC_IN_PROGRESS;
	running.status_text = rec_slice_of(rec_status_text(REC_IN_PROGRESS));
	running.attempt = claim->attempt;
	running.claimed = true;
	struct rec_slot_order order = {.claim_id = claim->claim_id, .attempt = claim->attempt, .task = &running};
	if (rec_planted(d->options.machine.planted, REC_PLANTED_NO_STARTING))
		return 0;
	return slots->ops->prepare(slots->self, effect->slot, &order, error);
}

static int claimed_note(struct rec_driver *d, const struct rec_effect *effect, const struct rec_claimed *claim,
			struct rec_error *error)
{
	void *claimed = d->claimed;
	int r = rec_grow(d->allocator, &claimed, &d->claimed_capacity, d->claimed_count + 1, sizeof *d->claimed);
	d->claimed = claimed;
	if (r)
		return rec_fail_nomem(error);
	d->claimed[d->claimed_count++] = (struct live){
		.claim_id = claim->claim_id,
		.task = effect->task,
		.slot = effect->slot,
		.claimed_us = rec_driver_now(d).wall_us,
	};
	return 0;
}

static int claim_tell(struct rec_driver *d, const struct rec_effect *effect, const struct rec_claimed *claim,
		      struct rec_error *error)
{
	struct rec_effect with_attempt = *effect;
	with_attempt.attempt = claim->attempt;
	int r = rec_driver_row_put(d, &with_attempt, REC_IN_PROGRESS, (struct rec_slice){0}, error);
	if (!r)
		r = rec_driver_event_plain(d, "BATCH_TASK_STARTED", rec_machine_id(d->m, effect->task), claim->attempt,
					   NULL, (struct rec_slice){0}, error);
	if (r)
		return r;
	struct rec_machine_event e = {
		.kind = REC_ON_CLAIMED,
		.task = effect->task,
		.claim_id = claim->claim_id,
		.attempt = claim->attempt,
		.slot = effect->slot,
	};
	return rec_driver_result_add(d, &e, error);
}

/* The slot cannot take it: the group goes on without this claim. */
static int claim_give_up(struct rec_driver *d, const struct rec_effect *effect, int64_t claim_id,
			 const struct rec_error *why, struct rec_error *error)
{
	d->claimed_count--;
	rec_driver_note_error(d, "slot", why);
	int r = rec_store_release(d->store, claim_id, error);
	if (r)
		return rec_driver_unexpected(r, "release", error);
	r = rec_moves_record(&d->moves, d->store, d->options.batch_id, error);
	return r ? r : claim_result(d, effect, REC_ON_CLAIM_FAILED, error);
}

/* It is claimed: the slot must take it. */
static int claim_take(struct rec_driver *d, const struct rec_effect *effect, const struct rec_claimed *claim,
		      const struct rec_task *task, struct rec_error *error)
{
	struct rec_error problem = {0};
	int r = claimed_note(d, effect, claim, error);
	if (r)
		return r;
	r = slot_prepare(d, effect, claim, task, &problem);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	if (r)
		return claim_give_up(d, effect, claim->claim_id, &problem, error);
	return claim_tell(d, effect, claim, error);
}

/* ---- All claims of a group ---- */

struct claiming {
	const struct rec_effect *effects; /* of the bucket; places[i] is the i-th of those that are left */
	size_t count, *places;
	struct rec_slice *ids;
	struct rec_task *tasks;
	struct rec_claimed *claims;
};

static int claiming_init(struct rec_driver *d, struct claiming *c, const struct rec_effects *bucket,
			 struct rec_error *error)
{
	size_t count = bucket->count;
	*c = (struct claiming){
		.count = count,
		.places = rec_arena_alloc(&d->arena, count * sizeof *c->places),
		.effects = bucket->items,
		.ids = rec_arena_alloc(&d->arena, count * sizeof *c->ids),
		.tasks = rec_arena_alloc(&d->arena, count * sizeof *c->tasks),
		.claims = rec_arena_alloc(&d->arena, count * sizeof *c->claims),
	};
	if (!c->places || !c->ids || !c->tasks || !c->claims)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < count; i++) {
		c->places[i] = i;
		c->ids[i] = rec_machine_id(d->m, bucket->items[i].task);
	}
	return 0;
}

/* Leaves those that may still be claimed. */
static int claiming_check(struct rec_driver *d, struct claiming *c, struct rec_error *error)
{
	size_t kept = 0;
	int r = rec_store_get_many(d->store, c->ids, c->count, &d->arena, c->tasks, error);
	for (size_t i = 0; r == 0 && i < c->count; i++) {
		r = claim_check(d, &c->tasks[i], error);
		if (r == REC_CONFLICT) {
			r = claim_result(d, &c->effects[c->places[i]], REC_ON_CLAIM_LOST, error);
			continue;
		}
		c->places[kept] = c->places[i];
		c->ids[kept] = c->ids[i];
		c->tasks[kept++] = c->tasks[i];
	}
	c->count = kept;
	return r;
}

int rec_driver_claim(struct rec_driver *d, const struct rec_effects *bucket, struct rec_error *error)
{
	struct claiming c;
	const struct rec_claim like = {
		.batch_id = d->options.batch_id,
		.owner = d->options.owner,
		.child_owns_run = d->options.child_owns_run,
	};
	int r = bucket->count ? claiming_init(d, &c, bucket, error) : REC_END;
	if (r)
		return r == REC_END ? 0 : r;
	r = claiming_check(d, &c, error);
	r = r ? r : rec_store_claim_many(d->store, &like, c.ids, c.count, c.claims, error);
	for (size_t i = 0; r == 0 && i < c.count; i++) {
		const struct rec_effect *effect = &c.effects[c.places[i]];
		r = c.claims[i].result ? claim_result(d, effect, REC_ON_CLAIM_LOST, error)
				       : claim_take(d, effect, &c.claims[i], &c.tasks[i], error);
	}
	return r;
}

/* ---- The group was rolled back ---- */

static void unsure_note(struct rec_driver *d, const struct live *claimed)
{
	void *unsure = d->unsure;
	/* without memory the slot's record stays as it is; recovery finds it */
	if (rec_grow(d->allocator, &unsure, &d->unsure_capacity, d->unsure_count + 1, sizeof *d->unsure)) {
		d->recover_due_us = 0;
		return;
	}
	d->unsure = unsure;
	d->unsure[d->unsure_count++] =
		(struct unsure){.claim_id = claimed->claim_id, .slot = claimed->slot, .task = claimed->task};
}

void rec_driver_claims_undo(struct rec_driver *d, bool unsure)
{
	const struct rec_slots *slots = &d->options.slots;
	for (size_t i = 0; i < d->claimed_count; i++)
		if (unsure)
			unsure_note(d, &d->claimed[i]);
		else
			slots->ops->forget(slots->self, d->claimed[i].slot, d->claimed[i].claim_id);
	d->claimed_count = 0;
}
