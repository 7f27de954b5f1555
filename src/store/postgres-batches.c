/* postgres-batches.c - our own batches, and what they durably know of their tasks. */
#include "store/postgres.h"

#include <stdio.h>

/* In the order of BATCH_COLUMNS. */
enum { ID, OPTIONS, STARTED, STATUS, STOP, OWNER, ENDED, SKIPPED, KILLED, REQUEUED, ERRORS };

/* ---- Writing ---- */

static struct rec_slice stop_text(enum rec_batch_stop stop)
{
	const char *text = rec_batch_stop_text(stop);
	return *text ? rec_slice_of(text) : (struct rec_slice){0};
}

static void put_state(struct rec_postgres_arguments *a, const struct rec_batch *batch)
{
	rec_postgres_put_word(a, rec_batch_status_text(batch->status));
	rec_postgres_put_text(a, stop_text(batch->stop));
	rec_postgres_put_text(a, batch->owner);
	rec_postgres_put_text(a, batch->ended_at);
	rec_postgres_put_number(a, batch->skipped);
	rec_postgres_put_number(a, batch->killed);
	rec_postgres_put_number(a, batch->requeued);
	rec_postgres_put_number(a, batch->errors);
}

int rec_postgres_batch_add(struct rec_store *store, const struct rec_batch *batch, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	int rows = 0;
	rec_postgres_put_text(&a, batch->batch_id);
	rec_postgres_put_text(&a, batch->options);
	rec_postgres_put_text(&a, batch->started_at);
	put_state(&a, batch);
	int r = rec_postgres_effect(rec_postgres_of(store), REC_POSTGRES_BATCH_INSERT, &a, &rows, error);
	return r == 0 && rows == 0 ? REC_EXISTS : r;
}

int rec_postgres_batch_write(struct rec_store *store, const struct rec_batch *batch, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	rec_postgres_put_text(&a, batch->batch_id);
	put_state(&a, batch);
	return rec_postgres_later(rec_postgres_of(store), REC_POSTGRES_BATCH_UPDATE, &a, error);
}

/* Whether the batch is there is asked once a group: the others need no answer. */
int rec_postgres_batch_task_put(struct rec_store *store, struct rec_slice batch_id, const struct rec_batch_task *task,
				struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0};
	bool believes = task->believed != REC_STATUS_ABSENT;
	int rows = 0;
	rec_postgres_put_text(&a, batch_id);
	rec_postgres_put_text(&a, task->task_id);
	rec_postgres_put_number(&a, task->position);
	rec_postgres_put_text(&a, task->phase);
	rec_postgres_put_word(&a, believes ? rec_status_text(task->believed) : NULL);
	rec_postgres_put_text(&a, task->reason);
	rec_postgres_put_bool(&a, task->own);
	rec_postgres_put_number(&a, task->attempt);
	rec_postgres_put_number(&a, task->failures);
	rec_postgres_put_number(&a, task->again);
	rec_postgres_put_number(&a, task->lost);
	rec_postgres_put_number(&a, task->not_before_us);
	if (rec_slice_equal(batch_id, rec_slice_of(s->batch_id)))
		return rec_postgres_later(s, REC_POSTGRES_BATCH_TASK_PUT_MORE, &a, error);
	int r = rec_postgres_effect(s, REC_POSTGRES_BATCH_TASK_PUT, &a, &rows, error);
	if (r == 0 && rows > 0 && batch_id.length < sizeof s->batch_id)
		snprintf(s->batch_id, sizeof s->batch_id, "%.*s", (int)batch_id.length, batch_id.data);
	return r == 0 && rows == 0 ? REC_NOT_FOUND : r;
}

/* ---- Reading ---- */

static int batch_row(struct rec_postgres *s, const PGresult *r, int row, struct rec_batch *batch,
		     struct rec_error *error)
{
	struct rec_slice stop = rec_postgres_text(s, r, row, STOP);
	int status = rec_batch_status_parse(rec_postgres_text(s, r, row, STATUS));
	int asked = stop.data ? rec_batch_stop_parse(stop) : REC_BATCH_GO_ON;
	*batch = (struct rec_batch){
		.batch_id = rec_postgres_text(s, r, row, ID),
		.owner = rec_postgres_text(s, r, row, OWNER),
		.options = rec_postgres_text(s, r, row, OPTIONS),
		.started_at = rec_postgres_text(s, r, row, STARTED),
		.ended_at = rec_postgres_text(s, r, row, ENDED),
		.skipped = rec_postgres_number(s, r, row, SKIPPED),
		.killed = rec_postgres_number(s, r, row, KILLED),
		.requeued = rec_postgres_number(s, r, row, REQUEUED),
		.errors = rec_postgres_number(s, r, row, ERRORS),
	};
	if (status < 0 || asked < 0)
		return rec_fail(error, REC_E_INVALID, "%s: the batch %.*s holds an unknown %s", s->location,
				(int)(batch->batch_id.length < 255 ? batch->batch_id.length : 255),
				batch->batch_id.data, status < 0 ? "status" : "stop request");
	batch->status = (enum rec_batch_status)status;
	batch->stop = (enum rec_batch_stop)asked;
	return 0;
}

struct batch_reading {
	struct rec_slice batch_id;
	struct rec_arena *arena;
	struct rec_batch batch;
	rec_batch_fn *fn;
	rec_batch_task_fn *task_fn;
	void *context;
	bool there, told;
};

static int get_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct batch_reading *b = context;
	struct rec_postgres_arguments a = {0};
	PGresult *row = NULL;
	rec_postgres_put_text(&a, b->batch_id);
	int r = rec_postgres_run(s, REC_POSTGRES_BATCH_GET, &a, &row, error);
	if (r == 0 && s->pq.PQntuples(row) == 0)
		r = REC_NOT_FOUND;
	if (r == 0)
		r = batch_row(s, row, 0, &b->batch, error);
	struct rec_slice *const texts[] = {&b->batch.batch_id,   &b->batch.owner,    &b->batch.options,
					   &b->batch.started_at, &b->batch.ended_at, NULL};
	if (r == 0)
		r = rec_postgres_keep(b->arena, texts, error);
	rec_postgres_clear(s, row);
	return r;
}

int rec_postgres_batch_get(struct rec_store *store, struct rec_slice batch_id, struct rec_arena *arena,
			   struct rec_batch *out, struct rec_error *error)
{
	struct batch_reading b = {.batch_id = batch_id, .arena = arena};
	int r = rec_postgres_read(rec_postgres_of(store), get_body, &b, NULL, error);
	if (r == 0)
		*out = b.batch;
	return r;
}

static int tell_batch(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	struct batch_reading *b = context;
	int r = batch_row(s, row, index, &b->batch, error);
	if (r)
		return r;
	b->told = true;
	return b->fn(b->context, &b->batch);
}

static int list_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	const struct rec_postgres_arguments none = {0};
	return rec_postgres_stream(s, REC_POSTGRES_BATCH_LIST, &none, tell_batch, context, error);
}

int rec_postgres_batches(struct rec_store *store, rec_batch_fn *fn, void *context, struct rec_error *error)
{
	struct batch_reading b = {.fn = fn, .context = context};
	return rec_postgres_read(rec_postgres_of(store), list_body, &b, &b.told, error);
}

static int tell_task(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	(void)error;
	struct batch_reading *b = context;
	struct rec_slice believed = rec_postgres_text(s, row, index, 3);
	enum rec_status status = believed.data ? rec_status_parse(believed) : REC_STATUS_ABSENT;
	b->there = true;
	if (rec_postgres_null(s, row, index, 0))
		return 0; /* a batch of no tasks */
	const struct rec_batch_task task = {
		.task_id = rec_postgres_text(s, row, index, 0),
		.position = rec_postgres_number(s, row, index, 1),
		.phase = rec_postgres_text(s, row, index, 2),
		.believed = status == REC_STATUS_UNRECOGNISED ? REC_STATUS_ABSENT : status,
		.reason = rec_postgres_text(s, row, index, 4),
		.own = rec_postgres_bool(s, row, index, 5),
		.attempt = rec_postgres_number(s, row, index, 6),
		.failures = rec_postgres_number(s, row, index, 7),
		.again = rec_postgres_number(s, row, index, 8),
		.lost = rec_postgres_number(s, row, index, 9),
		.not_before_us = rec_postgres_number(s, row, index, 10),
	};
	b->told = true;
	return b->task_fn(b->context, &task);
}

static int tasks_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct batch_reading *b = context;
	struct rec_postgres_arguments a = {0};
	rec_postgres_put_text(&a, b->batch_id);
	int r = rec_postgres_stream(s, REC_POSTGRES_BATCH_TASK_LIST, &a, tell_task, b, error);
	return r == 0 && !b->there ? REC_NOT_FOUND : r;
}

int rec_postgres_batch_tasks(struct rec_store *store, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			     struct rec_error *error)
{
	struct batch_reading b = {.batch_id = batch_id, .task_fn = fn, .context = context};
	return rec_postgres_read(rec_postgres_of(store), tasks_body, &b, &b.told, error);
}
