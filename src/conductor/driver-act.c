/* driver-act.c - carrying a plan out: what concerns processes at once, what concerns the store as one group. Results
 * are told to the machine only when the group has committed. */
#include "conductor/driver-private.h"

#include <stdio.h>

#include "base/timestamp.h"

/* ---- Processes ---- */

static int start(struct rec_driver *d, const struct rec_effect *effect)
{
	const struct rec_slots *slots = &d->options.slots;
	struct rec_error problem = {0};
	int r = slots->ops->start(slots->self, effect->slot, effect->claim_id, &problem);
	if (r == 0)
		return 0;
	rec_driver_note_error(d, "slot", &problem);
	if (rec_driver_news_reserve(d, 1))
		return REC_E_NOMEM;
	rec_driver_news_add(d, &(struct rec_machine_event){
				       .kind = REC_ON_VOID, .task = effect->task, .claim_id = effect->claim_id});
	return 0;
}

static int process_do(struct rec_driver *d, const struct rec_effect *effect)
{
	const struct rec_slots *slots = &d->options.slots;
	if (effect->kind == REC_EFFECT_LOOK)
		return rec_driver_owe_look(d, effect->task);
	if (effect->slot == NONE)
		return 0;
	switch (effect->kind) {
	case REC_EFFECT_START:
		return start(d, effect);
	case REC_EFFECT_STOP:
		slots->ops->stop(slots->self, effect->slot, effect->claim_id,
				 effect->signal == 2 ? REC_SLOT_KILL : REC_SLOT_TERM);
		return 0;
	case REC_EFFECT_RECALL:
		slots->ops->recall(slots->self, effect->slot, effect->claim_id);
		return 0;
	default:
		slots->ops->life(slots->self, effect->slot, effect->claim_id);
		return 0;
	}
}

/* Those that were done are taken out, so that after running out of memory the rest is done once. */
static int processes_do(struct rec_driver *d, const struct rec_plan *plan)
{
	for (unsigned kind = 0; kind < REC_EFFECT_STORE; kind++) {
		const struct rec_effects *bucket = &plan->buckets[kind];
		for (; d->done[kind] < bucket->count; d->done[kind]++) {
			int r = process_do(d, &bucket->items[d->done[kind]]);
			if (r)
				return r;
		}
	}
	return 0;
}

/* ---- Rows and results ---- */

int rec_driver_result_add(struct rec_driver *d, const struct rec_machine_event *e, struct rec_error *error)
{
	void *results = d->results;
	int r = rec_grow(d->allocator, &results, &d->result_capacity, d->result_count + 1, sizeof *d->results);
	d->results = results;
	if (r)
		return rec_fail_nomem(error);
	d->results[d->result_count++] = *e;
	return 0;
}

/* What holds a task, with the cause where there is one. */
static struct rec_slice row_reason(struct rec_driver *d, uint32_t task, const struct rec_machine_row *row,
				   enum rec_why why)
{
	if (row->phase == REC_PHASE_FINISHED)
		return rec_slice_of(rec_why_text(why));
	if (row->phase != REC_PHASE_HELD)
		return (struct rec_slice){0};
	uint32_t cause = row->hold == REC_HOLD_DEPENDENCY ? rec_machine_unmet(d->m, task) : NONE;
	const char *text = rec_hold_text((enum rec_hold)row->hold);
	if (cause == NONE)
		return rec_slice_of(text);
	struct rec_slice id = rec_machine_id(d->m, cause);
	char with_cause[REC_ID_BYTES_MAX + 64];
	int length = snprintf(with_cause, sizeof with_cause, "%s: %.*s", text, (int)id.length, id.data);
	char *copy = rec_arena_strndup(&d->arena, with_cause, (size_t)length);
	return copy ? (struct rec_slice){copy, (size_t)length} : rec_slice_of(text);
}

static struct rec_batch_task row_of(struct rec_driver *d, uint32_t task, const struct rec_machine_row *row,
				    enum rec_why why)
{
	return (struct rec_batch_task){
		.task_id = rec_machine_id(d->m, task),
		.position = d->position,
		.phase = rec_slice_of(rec_phase_text((enum rec_phase)row->phase)),
		.believed = row->belief == REC_STATUS_UNRECOGNISED ? REC_STATUS_ABSENT : (enum rec_status)row->belief,
		.reason = row_reason(d, task, row, why),
		.own = row->own,
		.attempt = row->attempt,
		.failures = row->failures,
		.again = row->again,
		.lost = row->lost,
		.not_before_us = row->not_before_us,
	};
}

static int row_put(struct rec_driver *d, struct rec_slice batch_id, const struct rec_batch_task *row,
		   struct rec_error *error)
{
	int r = rec_store_batch_task_put(d->store, batch_id, row, error);
	return r == REC_NOT_FOUND ? 0 : r; /* a batch that somebody removed needs no rows */
}

int rec_driver_row_put(struct rec_driver *d, const struct rec_effect *effect, enum rec_status status,
		       struct rec_slice batch_id, struct rec_error *error)
{
	struct rec_machine_row state = rec_machine_row(d->m, effect, status);
	struct rec_batch_task row = row_of(d, effect->task, &state, (enum rec_why)effect->why);
	int r = 0;
	if (rec_machine_member(d->m, effect->task))
		r = row_put(d, d->options.batch_id, &row, error);
	if (!r && batch_id.data)
		r = row_put(d, batch_id, &row, error);
	return r;
}

static int joined_put(struct rec_driver *d, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; !r && i < d->joined_count; i++) {
		struct rec_machine_row state = {.phase = REC_PHASE_WAITING, .belief = REC_READY};
		struct rec_batch_task row = row_of(d, d->joined[i], &state, REC_WHY_TURN);
		row.position += (int64_t)i;
		r = row_put(d, d->options.batch_id, &row, error);
		if (!r)
			r = rec_driver_event_plain(d, "BATCH_TASK_JOINED", row.task_id, 0, NULL, (struct rec_slice){0},
						   error);
	}
	return r;
}

/* ---- Ends ---- */

struct raised {
	int64_t since_us;
	bool found;
};

static int raised_find(void *context, const struct rec_blocker *blocker)
{
	struct raised *raised = context;
	int64_t created_us;
	bool since = rec_timestamp_parse(blocker->created_at, &created_us) || created_us >= raised->since_us;
	raised->found = raised->found || since;
	return 0;
}

/* Is there an open blocker that this attempt raised? No task with an open one is started, unless they are ignored. */
static int raised_blocker(struct rec_driver *d, const struct rec_effect *effect, const struct live *live,
			  bool *ret_raised, struct rec_error *error)
{
	bool any = !d->options.machine.ignore_blockers || !live;
	struct raised raised = {.since_us = any ? INT64_MIN : live->claimed_us};
	int r = rec_store_blockers(d->store, rec_machine_id(d->m, effect->task), true, raised_find, &raised, error);
	*ret_raised = raised.found;
	return r;
}

/* What the worker wrote itself, failed and may try again. */
static int retry_failed(struct rec_driver *d, const struct rec_effect *effect, enum rec_status *status,
			struct rec_error *error)
{
	if (!effect->retry_failed || *status != REC_FAILED)
		return 0;
	int r = rec_store_set_status(d->store, rec_machine_id(d->m, effect->task), REC_FAILED, REC_READY, status,
				     rec_driver_moved, d, error);
	*status = r == 0 ? REC_READY : *status;
	return r > 0 ? 0 : r;
}

static int status_now(struct rec_driver *d, uint32_t task, enum rec_status *ret_status, struct rec_error *error)
{
	struct rec_snapshot now;
	struct rec_slice id = rec_machine_id(d->m, task);
	int r = rec_store_snapshot(d->store, &id, 1, 0, &now, error);
	if (r)
		return rec_driver_unexpected(r, "finish", error);
	*ret_status = (enum rec_status)now.facts[0].status;
	rec_snapshot_release(&now);
	return 0;
}

static int finish_result(struct rec_driver *d, const struct rec_effect *effect, enum rec_happening kind,
			 enum rec_status status, struct rec_error *error)
{
	struct rec_machine_event e = {
		.kind = kind, .task = effect->task, .claim_id = effect->claim_id, .status = (uint8_t)status};
	return rec_driver_result_add(d, &e, error);
}

/* No such claim: somebody else ended it; or we did, in a group that seemed to fail. */
static int finish_gone(struct rec_driver *d, const struct rec_effect *effect, struct rec_error *error)
{
	enum rec_status status = REC_STATUS_ABSENT;
	if (!effect->tried)
		return finish_result(d, effect, REC_ON_GONE, status, error);
	int r = status_now(d, effect->task, &status, error);
	return r ? r : finish_result(d, effect, REC_ON_RECORDED, status, error);
}

static int finish_do(struct rec_driver *d, const struct rec_effect *effect, struct rec_error *error)
{
	const struct live *live = rec_driver_live_find(d, effect->claim_id);
	enum rec_status status;
	bool raised = false;
	int r = effect->blocker_counts ? raised_blocker(d, effect, live, &raised, error) : 0;
	if (r)
		return r;
	struct rec_finish finish = {
		.claim_id = effect->claim_id,
		.to = raised ? REC_BLOCKED : (enum rec_status)effect->status,
		.outcome = rec_slice_of(rec_why_text((enum rec_why)effect->why)),
		.has_exit_code = effect->has_exit && !effect->exit.by_signal,
		.has_exit_signal = effect->has_exit && effect->exit.by_signal,
		.exit_code = effect->exit.code,
		.exit_signal = effect->exit.code,
		.survivors = effect->exit.survivors,
	};
	r = rec_store_finish(d->store, &finish, &status, error);
	if (r == REC_NOT_FOUND)
		return finish_gone(d, effect, error);
	r = r ? r : retry_failed(d, effect, &status, error);
	struct rec_slice own_batch = live ? live->batch_id : (struct rec_slice){0};
	r = r ? r : rec_driver_row_put(d, effect, status, own_batch, error);
	r = r ? r : rec_driver_event_finish(d, effect, status, live, error);
	return r ? r : finish_result(d, effect, REC_ON_RECORDED, status, error);
}

static int release_do(struct rec_driver *d, const struct rec_effect *effect, struct rec_error *error)
{
	const struct live *live = rec_driver_live_find(d, effect->claim_id);
	int r = rec_store_release(d->store, effect->claim_id, error);
	if (r == REC_NOT_FOUND)
		return finish_result(d, effect, REC_ON_GONE, REC_STATUS_ABSENT, error);
	struct rec_slice own_batch = live ? live->batch_id : (struct rec_slice){0};
	r = r ? r : rec_driver_row_put(d, effect, REC_READY, own_batch, error);
	r = r ? r
	      : rec_driver_event_plain(d, "BATCH_TASK_RECALLED", rec_machine_id(d->m, effect->task), effect->attempt,
				       rec_why_text((enum rec_why)effect->why), (struct rec_slice){0}, error);
	return r ? r : finish_result(d, effect, REC_ON_RELEASED, REC_READY, error);
}

/* ---- Requeue ---- */

static int fact_now(struct rec_driver *d, uint32_t task, struct rec_fact *ret_fact, struct rec_error *error)
{
	struct rec_snapshot now;
	struct rec_slice id = rec_machine_id(d->m, task);
	int r = rec_store_snapshot(d->store, &id, 1, LOOK_FIELDS, &now, error);
	if (r)
		return rec_driver_unexpected(r, "requeue", error);
	*ret_fact = now.facts[0];
	rec_snapshot_release(&now);
	return 0;
}

/* Decided again inside the group: what is written is what still holds. */
static int requeue_do(struct rec_driver *d, const struct rec_effect *effect, struct rec_error *error)
{
	struct rec_fact fact = {.status = REC_STATUS_ABSENT};
	struct rec_machine_event lost = {.kind = REC_ON_REQUEUE_LOST, .task = effect->task};
	enum rec_status believed = (enum rec_status)effect->seen.believed;
	int r = fact_now(d, effect->task, &fact, error);
	if (r)
		return r;
	struct rec_verdict verdict = rec_apply_fact(REC_CHECK_MERGED, &fact, believed);
	if (verdict.action != REC_REQUEUE || fact.status != REC_BLOCKED)
		return rec_driver_result_add(d, &lost, error);
	r = rec_store_set_status(d->store, rec_machine_id(d->m, effect->task), REC_BLOCKED, REC_READY, NULL,
				 rec_driver_moved, d, error);
	if (r > 0)
		return rec_driver_result_add(d, &lost, error);
	struct rec_seen seen = effect->seen;
	seen.blockers_total = fact.blockers_total;
	seen.blockers_open = fact.blockers_open;
	seen.blockers_new = fact.blockers_new;
	r = r ? r : rec_driver_row_put(d, effect, REC_READY, (struct rec_slice){0}, error);
	r = r ? r : rec_driver_event_decision(d, effect, verdict, &seen, error);
	return r ? r
		 : rec_driver_result_add(d, &(struct rec_machine_event){.kind = REC_ON_REQUEUED, .task = effect->task},
					 error);
}

/* ---- The group ---- */

static int tell_do(struct rec_driver *d, const struct rec_effect *effect, struct rec_error *error)
{
	int r = rec_driver_row_put(d, effect, REC_READY, (struct rec_slice){0}, error);
	return r ? r : rec_driver_event_decision(d, effect, effect->verdict, &effect->seen, error);
}

static int store_do(struct rec_driver *d, const struct rec_effect *effect, struct rec_error *error)
{
	switch (effect->kind) {
	case REC_EFFECT_FINISH:
		return finish_do(d, effect, error);
	case REC_EFFECT_RELEASE:
		return release_do(d, effect, error);
	case REC_EFFECT_REQUEUE:
		return effect->status == REC_BLOCKED ? requeue_do(d, effect, error) : tell_do(d, effect, error);
	case REC_EFFECT_EVENT:
		return rec_driver_event_ring(d, effect, error);
	default:
		return tell_do(d, effect, error);
	}
}

int rec_driver_counts_put(struct rec_driver *d, struct rec_error *error)
{
	struct rec_reconciled now = rec_machine_reconciled(d->m);
	const struct rec_reconciled *was = &d->written;
	if (now.skipped == was->skipped && now.killed == was->killed && now.requeued == was->requeued &&
	    d->errors == d->errors_written)
		return 0;
	if (d->errors != d->errors_written) {
		int r = rec_driver_event_plain(d, "RECONCILIATION_ERROR", (struct rec_slice){0}, 0, NULL,
					       rec_slice_of(d->last_error), error);
		if (r)
			return r;
	}
	struct rec_batch counts = {
		.batch_id = d->options.batch_id,
		.skipped = d->base.skipped + (int64_t)now.skipped,
		.killed = d->base.killed + (int64_t)now.killed,
		.requeued = d->base.requeued + (int64_t)now.requeued,
		.errors = d->base.errors + (int64_t)d->errors,
	};
	int r = rec_store_batch_count(d->store, &counts, error);
	return r > 0 ? 0 : r;
}

static int group_fill(struct rec_driver *d, const struct rec_plan *plan, struct rec_error *error)
{
	int r = joined_put(d, error);
	for (unsigned kind = REC_EFFECT_STORE; kind < REC_EFFECT_CLAIM; kind++)
		for (size_t i = 0; !r && i < plan->buckets[kind].count; i++)
			r = store_do(d, &plan->buckets[kind].items[i], error);
	r = r ? r : rec_driver_claim(d, &plan->buckets[REC_EFFECT_CLAIM], error);
	return r ? r : rec_driver_counts_put(d, error);
}

static void group_clear(struct rec_driver *d)
{
	d->result_count = d->moved_count = 0;
	rec_moves_release(&d->moves);
	rec_arena_release(&d->arena);
}

static void group_taken(struct rec_driver *d)
{
	for (size_t i = 0; i < d->claimed_count; i++)
		rec_driver_live_add(d, &d->claimed[i]);
	for (size_t i = 0; i < d->result_count; i++) {
		const struct rec_machine_event *e = &d->results[i];
		rec_driver_news_add(d, e);
		if (e->kind == REC_ON_RECORDED || e->kind == REC_ON_RELEASED || e->kind == REC_ON_GONE)
			rec_driver_live_drop(d, e->claim_id);
	}
	if (d->feed_taken)
		d->cursor = d->cursor_in_group;
	d->feed_taken = false;
	d->written = rec_machine_reconciled(d->m);
	d->errors_written = d->errors;
	d->position += (int64_t)d->joined_count;
	d->claimed_count = d->joined_count = 0;
	rec_driver_events_stored(d, true);
}

/* 0: committed. Negative: nothing is stored, or (the commit itself failed) one cannot know. */
static int group_write(struct rec_driver *d, const struct rec_plan *plan, struct rec_error *error)
{
	bool committing = false;
	int r = rec_store_begin(d->store, error);
	if (r)
		return r;
	r = group_fill(d, plan, error);
	r = r ? r : rec_driver_feed_read_in_group(d, error);
	if (!r && (rec_driver_news_reserve(d, d->result_count) || rec_driver_live_reserve(d, d->claimed_count)))
		r = rec_fail_nomem(error);
	if (!r) {
		committing = true;
		r = rec_store_commit(d->store, error);
	} else {
		rec_store_rollback(d->store);
	}
	if (r) {
		rec_driver_claims_undo(d, committing);
		rec_driver_events_stored(d, false);
	}
	return r;
}

/* The number of a claim that was rolled back may be another claim's by now. */
static int unsure_mark(void *context, const struct rec_claim *claim)
{
	struct rec_driver *d = context;
	for (size_t i = 0; i < d->unsure_count; i++) {
		struct unsure *unsure = &d->unsure[i];
		if (unsure->claim_id == claim->claim_id && rec_slice_equal(claim->batch_id, d->options.batch_id) &&
		    rec_slice_equal(claim->task_id, rec_machine_id(d->m, unsure->task)))
			unsure->stands = true;
	}
	return 0;
}

/* Claims of which we do not know whether they stand: none of them was started, so those that do are given back. */
static int unsure_settle(struct rec_driver *d, struct rec_error *error)
{
	const struct rec_slots *slots = &d->options.slots;
	if (!d->unsure_count)
		return 0;
	int r = rec_store_begin(d->store, error);
	if (r)
		return r;
	r = rec_store_claims(d->store, unsure_mark, d, error);
	for (size_t i = 0; r >= 0 && i < d->unsure_count; i++)
		if (d->unsure[i].stands)
			r = rec_store_release(d->store, d->unsure[i].claim_id, error);
	if (r >= 0)
		r = rec_moves_record(&d->moves, d->store, d->options.batch_id, error);
	if (r < 0) {
		rec_store_rollback(d->store);
		return r;
	}
	r = rec_store_commit(d->store, error);
	if (r)
		return r;
	for (size_t i = 0; i < d->unsure_count; i++)
		slots->ops->forget(slots->self, d->unsure[i].slot, d->unsure[i].claim_id);
	d->unsure_count = 0;
	return 0;
}

static bool has_group(const struct rec_driver *d, const struct rec_plan *plan)
{
	bool waits = d->joined_count || d->unsure_count;
	size_t count = 0;
	for (unsigned kind = REC_EFFECT_STORE; kind < REC_EFFECT_COUNT; kind++)
		count += plan->buckets[kind].count;
	return count || (waits && rec_driver_now(d).monotonic_us >= rec_machine_store_resume_us(d->m));
}

static int group_do(struct rec_driver *d, const struct rec_plan *plan, struct rec_error *error)
{
	struct rec_error problem = {0};
	int r = unsure_settle(d, &problem);
	r = r ? r : group_write(d, plan, &problem);
	if (r == 0) {
		d->commits++;
		rec_driver_store_answered(d);
		group_taken(d);
		rec_machine_stored(d->m);
		group_clear(d);
		return rec_driver_news_tell(d) ? rec_fail_nomem(error) : 0;
	}
	group_clear(d);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error); /* the plan stands, to be tried again */
	if (!rec_driver_may_pass(r)) {
		*error = problem;
		return r;
	}
	rec_driver_note_error(d, "store", &problem);
	return rec_machine_failed(d->m, rec_driver_now(d)) ? rec_fail_nomem(error) : 0;
}

int rec_driver_act_processes(struct rec_driver *d)
{
	const struct rec_plan *plan;
	if (d->plan && processes_do(d, d->plan))
		return REC_E_NOMEM;
	if (rec_machine_plan_processes(d->m, rec_driver_now(d), &plan))
		return REC_E_NOMEM;
	bool pending = d->plan != NULL;
	d->plan = plan;
	memset(d->done, 0, sizeof d->done);
	if (processes_do(d, plan))
		return REC_E_NOMEM;
	if (!pending)
		d->plan = NULL;
	d->stop_due_us = plan->timer_us;
	return rec_driver_news_tell(d);
}

int rec_driver_act(struct rec_driver *d, const struct rec_plan **ret_plan, struct rec_error *error)
{
	if (!d->plan) { /* else the last one could not be carried out for want of memory */
		if (rec_machine_plan(d->m, rec_driver_now(d), &d->plan))
			return rec_fail_nomem(error);
		memset(d->done, 0, sizeof d->done);
	}
	const struct rec_plan *plan = *ret_plan = d->plan;
	bool group = has_group(d, plan);
	if (processes_do(d, plan))
		return rec_fail_nomem(error);
	int r = group ? group_do(d, plan, error) : 0;
	if (r)
		return r;
	d->plan = NULL;
	if (rec_driver_news_tell(d))
		return rec_fail_nomem(error);
	return plan->count || group ? 0 : REC_END;
}
