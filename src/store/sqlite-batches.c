/* sqlite-batches.c - our own batches, and what they durably know of their tasks. */
#include "store/sqlite.h"

/* In the order of BATCH_COLUMNS and BATCH_TASK_COLUMNS. */
enum {
	BATCH_ID,
	BATCH_OPTIONS,
	BATCH_STARTED,
	BATCH_STATUS,
	BATCH_STOP,
	BATCH_OWNER,
	BATCH_ENDED,
	BATCH_SKIPPED,
	BATCH_KILLED,
	BATCH_REQUEUED,
	BATCH_ERRORS
};
enum {
	TASK_ID,
	TASK_POSITION,
	TASK_PHASE,
	TASK_BELIEVED,
	TASK_REASON,
	TASK_OWN,
	TASK_ATTEMPT,
	TASK_FAILURES,
	TASK_AGAIN,
	TASK_LOST,
	TASK_NOT_BEFORE
};

/* ---- Writing ---- */

static void bind_batch(struct rec_sqlite *s, sqlite3_stmt *row, const struct rec_batch *batch)
{
	const char *stop = rec_batch_stop_text(batch->stop);
	rec_sqlite_bind_text(s, row, BATCH_ID + 1, batch->batch_id);
	rec_sqlite_bind_text(s, row, BATCH_STATUS + 1, rec_slice_of(rec_batch_status_text(batch->status)));
	rec_sqlite_bind_text(s, row, BATCH_STOP + 1, *stop ? rec_slice_of(stop) : (struct rec_slice){0});
	rec_sqlite_bind_text(s, row, BATCH_OWNER + 1, batch->owner);
	rec_sqlite_bind_text(s, row, BATCH_ENDED + 1, batch->ended_at);
	rec_sqlite_bind_int64(s, row, BATCH_SKIPPED + 1, batch->skipped);
	rec_sqlite_bind_int64(s, row, BATCH_KILLED + 1, batch->killed);
	rec_sqlite_bind_int64(s, row, BATCH_REQUEUED + 1, batch->requeued);
	rec_sqlite_bind_int64(s, row, BATCH_ERRORS + 1, batch->errors);
}

/* 0; REC_NOT_FOUND. */
static int batch_exists(struct rec_sqlite *s, struct rec_slice batch_id, struct rec_error *error)
{
	sqlite3_stmt *row;
	int64_t one;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_batches) ||
	    !rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_batch_tasks))
		return REC_NOT_FOUND;
	int r = rec_sqlite_query(s, REC_SQLITE_BATCH_EXISTS, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, batch_id);
	return rec_sqlite_run_int64(s, row, &one, error);
}

int rec_sqlite_batch_add(struct rec_store *store, const struct rec_batch *batch, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	int r = batch_exists(s, batch->batch_id, error);
	if (r != REC_NOT_FOUND)
		return r == 0 ? REC_EXISTS : r;
	r = rec_sqlite_query(s, REC_SQLITE_BATCH_INSERT, &row, error);
	if (r)
		return r;
	bind_batch(s, row, batch);
	rec_sqlite_bind_text(s, row, BATCH_OPTIONS + 1, batch->options);
	rec_sqlite_bind_text(s, row, BATCH_STARTED + 1, batch->started_at);
	return rec_sqlite_run(s, row, error);
}

int rec_sqlite_batch_write(struct rec_store *store, const struct rec_batch *batch, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_BATCH_UPDATE, &row, error);
	if (r)
		return r;
	bind_batch(s, row, batch);
	return rec_sqlite_run(s, row, error);
}

static int batch_task_write(struct rec_sqlite *s, enum rec_sqlite_query query, struct rec_slice batch_id,
			    const struct rec_batch_task *task, struct rec_error *error)
{
	sqlite3_stmt *row;
	bool believes = task->believed != REC_STATUS_ABSENT;
	int r = rec_sqlite_query(s, query, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, TASK_ID + 1, task->task_id);
	rec_sqlite_bind_int64(s, row, TASK_POSITION + 1, task->position);
	rec_sqlite_bind_text(s, row, TASK_PHASE + 1, task->phase);
	rec_sqlite_bind_text(s, row, TASK_BELIEVED + 1,
			     believes ? rec_slice_of(rec_status_text(task->believed)) : (struct rec_slice){0});
	rec_sqlite_bind_text(s, row, TASK_REASON + 1, task->reason);
	rec_sqlite_bind_int64(s, row, TASK_OWN + 1, task->own);
	rec_sqlite_bind_int64(s, row, TASK_ATTEMPT + 1, task->attempt);
	rec_sqlite_bind_int64(s, row, TASK_FAILURES + 1, task->failures);
	rec_sqlite_bind_int64(s, row, TASK_AGAIN + 1, task->again);
	rec_sqlite_bind_int64(s, row, TASK_LOST + 1, task->lost);
	rec_sqlite_bind_int64(s, row, TASK_NOT_BEFORE + 1, task->not_before_us);
	rec_sqlite_bind_text(s, row, TASK_NOT_BEFORE + 2, batch_id);
	r = rec_sqlite_run(s, row, error);
	return r == 0 && sqlite3_changes(s->db) == 0 ? REC_NOT_FOUND : r;
}

/* A row is made once and changed often; one statement for all of it costs more than these. */
int rec_sqlite_batch_task_put(struct rec_store *store, struct rec_slice batch_id, const struct rec_batch_task *task,
			      struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	int r = batch_task_write(s, REC_SQLITE_BATCH_TASK_UPDATE, batch_id, task, error);
	if (r != REC_NOT_FOUND)
		return r;
	r = batch_exists(s, batch_id, error);
	return r ? r : batch_task_write(s, REC_SQLITE_BATCH_TASK_INSERT, batch_id, task, error);
}

/* ---- Reading ---- */

static int fail_row(const struct rec_sqlite *s, struct rec_slice batch_id, const char *what, struct rec_error *error)
{
	return rec_fail(error, REC_E_INVALID, "%s: the batch %.*s holds an unknown %s", s->path,
			(int)(batch_id.length < 255 ? batch_id.length : 255), batch_id.data ? batch_id.data : "", what);
}

/* Texts live until the next step. */
static int batch_row(const struct rec_sqlite *s, sqlite3_stmt *row, struct rec_batch *batch, struct rec_error *error)
{
	struct rec_slice stop = rec_sqlite_column(row, BATCH_STOP);
	int status = rec_batch_status_parse(rec_sqlite_column(row, BATCH_STATUS));
	int asked = stop.data ? rec_batch_stop_parse(stop) : REC_BATCH_GO_ON;
	*batch = (struct rec_batch){
		.batch_id = rec_sqlite_column(row, BATCH_ID),
		.owner = rec_sqlite_column(row, BATCH_OWNER),
		.options = rec_sqlite_column(row, BATCH_OPTIONS),
		.started_at = rec_sqlite_column(row, BATCH_STARTED),
		.ended_at = rec_sqlite_column(row, BATCH_ENDED),
		.skipped = sqlite3_column_int64(row, BATCH_SKIPPED),
		.killed = sqlite3_column_int64(row, BATCH_KILLED),
		.requeued = sqlite3_column_int64(row, BATCH_REQUEUED),
		.errors = sqlite3_column_int64(row, BATCH_ERRORS),
	};
	if (status < 0 || asked < 0)
		return fail_row(s, batch->batch_id, status < 0 ? "status" : "stop request", error);
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
	bool told;
};

static int get_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct batch_reading *b = context;
	sqlite3_stmt *row;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_batches))
		return REC_NOT_FOUND;
	int r = rec_sqlite_query(s, REC_SQLITE_BATCH_GET, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, b->batch_id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	r = batch_row(s, row, &b->batch, error);
	struct rec_slice *const texts[] = {&b->batch.batch_id,   &b->batch.owner,    &b->batch.options,
					   &b->batch.started_at, &b->batch.ended_at, NULL};
	if (r == 0)
		r = rec_sqlite_keep(b->arena, texts, error);
	if (r == 0)
		r = rec_sqlite_run(s, row, error);
	sqlite3_reset(row);
	return r;
}

int rec_sqlite_batch_get(struct rec_store *store, struct rec_slice batch_id, struct rec_arena *arena,
			 struct rec_batch *out, struct rec_error *error)
{
	struct batch_reading b = {.batch_id = batch_id, .arena = arena};
	int r = rec_sqlite_read(rec_sqlite_of(store), get_body, &b, NULL, error);
	if (r == 0)
		*out = b.batch;
	return r;
}

static int batch_tell(struct rec_sqlite *s, struct batch_reading *b, sqlite3_stmt *row, struct rec_error *error)
{
	int r = batch_row(s, row, &b->batch, error);
	if (r)
		return r;
	b->told = true;
	return b->fn(b->context, &b->batch);
}

static int task_tell(struct batch_reading *b, sqlite3_stmt *row)
{
	struct rec_slice believed = rec_sqlite_column(row, TASK_BELIEVED);
	enum rec_status status = believed.data ? rec_status_parse(believed) : REC_STATUS_ABSENT;
	const struct rec_batch_task task = {
		.task_id = rec_sqlite_column(row, TASK_ID),
		.position = sqlite3_column_int64(row, TASK_POSITION),
		.phase = rec_sqlite_column(row, TASK_PHASE),
		.believed = status == REC_STATUS_UNRECOGNISED ? REC_STATUS_ABSENT : status,
		.reason = rec_sqlite_column(row, TASK_REASON),
		.own = sqlite3_column_int64(row, TASK_OWN) != 0,
		.attempt = sqlite3_column_int64(row, TASK_ATTEMPT),
		.failures = sqlite3_column_int64(row, TASK_FAILURES),
		.again = sqlite3_column_int64(row, TASK_AGAIN),
		.lost = sqlite3_column_int64(row, TASK_LOST),
		.not_before_us = sqlite3_column_int64(row, TASK_NOT_BEFORE),
	};
	b->told = true;
	return b->task_fn(b->context, &task);
}

static int rows_tell(struct rec_sqlite *s, struct batch_reading *b, sqlite3_stmt *rows, struct rec_error *error)
{
	for (;;) {
		int r = rec_sqlite_next(s, rows, error);
		if (r)
			return r == REC_END ? 0 : r;
		r = b->fn ? batch_tell(s, b, rows, error) : task_tell(b, rows);
		if (r) {
			sqlite3_reset(rows);
			return r;
		}
	}
}

static int list_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct batch_reading *b = context;
	sqlite3_stmt *rows;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_batches))
		return 0;
	int r = rec_sqlite_query(s, REC_SQLITE_BATCH_LIST, &rows, error);
	return r == 0 ? rows_tell(s, b, rows, error) : r;
}

int rec_sqlite_batches(struct rec_store *store, rec_batch_fn *fn, void *context, struct rec_error *error)
{
	struct batch_reading b = {.fn = fn, .context = context};
	return rec_sqlite_read(rec_sqlite_of(store), list_body, &b, &b.told, error);
}

static int tasks_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct batch_reading *b = context;
	sqlite3_stmt *rows;
	int r = batch_exists(s, b->batch_id, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_BATCH_TASK_LIST, &rows, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, rows, 1, b->batch_id);
	return rows_tell(s, b, rows, error);
}

int rec_sqlite_batch_tasks(struct rec_store *store, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			   struct rec_error *error)
{
	struct batch_reading b = {.batch_id = batch_id, .task_fn = fn, .context = context};
	return rec_sqlite_read(rec_sqlite_of(store), tasks_body, &b, &b.told, error);
}
