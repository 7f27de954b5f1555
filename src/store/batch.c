/* batch.c - the wrappers about batches. A change reads the row and writes it back inside one group, so a status that
 * somebody else set in between is never overwritten. */
#include "base/text.h"
#include "store/wrapper.h"

static int supported(const struct rec_store *s, struct rec_error *error)
{
	if (s->ops->batch_add)
		return 0;
	return rec_fail(error, REC_E_UNSUPPORTED, "%s: this kind of store keeps no batches", s->info.location);
}

/* ---- Reads ---- */

int rec_store_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena,
			struct rec_batch *ret_batch, struct rec_error *error)
{
	struct rec_batch batch;
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	r = supported(s, error);
	if (r == 0)
		r = !batch_id.data || rec_id_problem(batch_id) ? REC_NOT_FOUND
							       : s->ops->batch_get(s, batch_id, arena, &batch, error);
	r = rec_read_leave(s, "batch get", r, REC_MAY(REC_NOT_FOUND), error);
	if (r == 0)
		*ret_batch = batch;
	return r;
}

/* ---- Changes of the row ---- */

typedef int change_fn(struct rec_store *s, struct rec_batch *batch, void *context, struct rec_error *error);

/* Reads the batch, lets `change` decide, writes it back unless the result is REC_END (nothing to write). */
static int batch_change(struct rec_store *s, const char *call, struct rec_slice batch_id, change_fn *change,
			void *context, unsigned may, struct rec_error *error)
{
	bool own;
	struct rec_arena arena;
	struct rec_batch batch;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	rec_arena_init(&arena, s->allocator);
	r = supported(s, error);
	if (r == 0)
		r = rec_argument_id("batch id", batch_id, error);
	if (r == 0)
		r = s->ops->batch_get(s, batch_id, &arena, &batch, error);
	if (r == 0)
		r = change(s, &batch, context, error);
	if (r == 0)
		r = s->ops->batch_write(s, &batch, error);
	else if (r == REC_END)
		r = 0;
	rec_arena_release(&arena);
	return rec_write_leave(s, call, own, r, may | REC_MAY(REC_NOT_FOUND), error);
}

struct status_change {
	enum rec_batch_status from, to, now;
	struct rec_slice owner;
	char time[REC_TIMESTAMP_BYTES];
};

static int status_change(struct rec_store *s, struct rec_batch *batch, void *context, struct rec_error *error)
{
	(void)error;
	struct status_change *change = context;
	change->now = batch->status;
	if (batch->status != change->from)
		return REC_CONFLICT;
	batch->status = change->to;
	batch->ended_at = (struct rec_slice){0};
	if (change->to != REC_BATCH_RUNNING) {
		batch->ended_at = rec_store_now(s, change->time);
		return 0;
	}
	batch->stop = REC_BATCH_GO_ON;
	if (change->owner.data)
		batch->owner = change->owner;
	return 0;
}

int rec_store_batch_set_status(struct rec_store *s, struct rec_slice batch_id, enum rec_batch_status from,
			       enum rec_batch_status to, struct rec_slice owner, enum rec_batch_status *ret_now,
			       struct rec_error *error)
{
	struct status_change change = {.from = from, .to = to, .owner = owner};
	int r = batch_change(s, "batch set status", batch_id, status_change, &change, REC_MAY(REC_CONFLICT), error);
	if (r == REC_CONFLICT && ret_now)
		*ret_now = change.now;
	return r;
}

static int stop_change(struct rec_store *s, struct rec_batch *batch, void *context, struct rec_error *error)
{
	(void)s, (void)error;
	enum rec_batch_stop stop = *(const enum rec_batch_stop *)context;
	if (batch->status != REC_BATCH_RUNNING)
		return REC_REFUSED;
	if (stop <= batch->stop)
		return REC_END;
	batch->stop = stop;
	return 0;
}

int rec_store_batch_stop(struct rec_store *s, struct rec_slice batch_id, enum rec_batch_stop stop,
			 struct rec_error *error)
{
	return batch_change(s, "batch stop", batch_id, stop_change, &stop, REC_MAY(REC_REFUSED), error);
}

static int count_change(struct rec_store *s, struct rec_batch *batch, void *context, struct rec_error *error)
{
	(void)s, (void)error;
	const struct rec_batch *counts = context;
	batch->skipped = counts->skipped;
	batch->killed = counts->killed;
	batch->requeued = counts->requeued;
	batch->errors = counts->errors;
	return 0;
}

int rec_store_batch_count(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error)
{
	struct rec_batch counts = *batch;
	return batch_change(s, "batch count", batch->batch_id, count_change, &counts, 0, error);
}

/* ---- New rows ---- */

int rec_store_batch_create(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error)
{
	bool own;
	char time[REC_TIMESTAMP_BYTES];
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	struct rec_batch complete = *batch;
	complete.status = REC_BATCH_RUNNING;
	complete.ended_at = (struct rec_slice){0};
	if (!complete.started_at.data)
		complete.started_at = rec_store_now(s, time);
	r = supported(s, error);
	if (r == 0)
		r = rec_argument_batch(batch, error);
	if (r == 0)
		r = s->ops->batch_add(s, &complete, error);
	return rec_write_leave(s, "batch create", own, r, REC_MAY(REC_EXISTS), error);
}

int rec_store_batch_task_put(struct rec_store *s, struct rec_slice batch_id, const struct rec_batch_task *task,
			     struct rec_error *error)
{
	bool own;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = supported(s, error);
	if (r == 0)
		r = rec_argument_id("batch id", batch_id, error);
	if (r == 0)
		r = rec_argument_batch_task(task, error);
	if (r == 0)
		r = s->ops->batch_task_put(s, batch_id, task, error);
	return rec_write_leave(s, "batch task put", own, r, REC_MAY(REC_NOT_FOUND), error);
}
