/* memory-batch.c - batches and what they know of their tasks. Lists are sorted when they are asked for: that is
 * rare, and every put stays one row. */
#include "store/memory.h"

#include <stdlib.h>

static int batch_put(struct rec_memory_store *m, const struct rec_batch *batch, struct rec_error *error)
{
	return rec_memory_put(m, REC_MEMORY_BATCHES, batch->batch_id, rec_memory_batch_new(m->data->allocator, batch),
			      error);
}

static const struct rec_batch *batch_find(const struct rec_memory_store *m, struct rec_slice batch_id)
{
	const struct rec_memory_batch *row = rec_memory_get(m, REC_MEMORY_BATCHES, batch_id);
	return row ? &row->batch : NULL;
}

int rec_memory_batch_add(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	return batch_find(m, batch->batch_id) ? REC_EXISTS : batch_put(m, batch, error);
}

int rec_memory_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena, struct rec_batch *out,
			 struct rec_error *error)
{
	const struct rec_batch *batch = batch_find(rec_memory_of(s), batch_id);
	if (!batch)
		return REC_NOT_FOUND;
	return rec_memory_batch_copy(arena, batch, out) ? rec_fail_nomem(error) : 0;
}

int rec_memory_batch_write(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	const struct rec_batch *before = batch_find(m, batch->batch_id);
	if (!before)
		return rec_fail(error, REC_E_BUG, "memory: no such batch (please report)");
	struct rec_batch changed = *batch;
	changed.options = before->options;
	changed.started_at = before->started_at;
	return batch_put(m, &changed, error);
}

/* ---- Lists ---- */

/* The rows of a table under a prefix, in an array that the caller frees. */
static int rows_collect(struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice prefix,
			void ***ret_rows, size_t *ret_count, struct rec_error *error)
{
	struct rec_memory_cursor cursor;
	struct rec_slice key;
	void *row, *grown = NULL;
	size_t count = 0, capacity = 0;
	rec_memory_walk(m, table, prefix, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &key)) && rec_memory_key_under(key, prefix)) {
		if (rec_grow(m->store.allocator, &grown, &capacity, count + 1, sizeof row)) {
			rec_free(m->store.allocator, grown);
			return rec_fail_nomem(error);
		}
		((void **)grown)[count++] = row;
	}
	*ret_rows = grown;
	*ret_count = count;
	return 0;
}

static int batch_order(const void *a, const void *b)
{
	const struct rec_batch *x = &(*(const struct rec_memory_batch *const *)a)->batch;
	const struct rec_batch *y = &(*(const struct rec_memory_batch *const *)b)->batch;
	int order = rec_slice_compare(x->started_at, y->started_at);
	return order ? order : rec_slice_compare(x->batch_id, y->batch_id);
}

int rec_memory_batches(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	void **rows = NULL;
	size_t count = 0;
	int r = rows_collect(m, REC_MEMORY_BATCHES, (struct rec_slice){0}, &rows, &count, error);
	if (r < 0)
		return r;
	if (count)
		qsort(rows, count, sizeof *rows, batch_order);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = fn(context, &((const struct rec_memory_batch *)rows[i])->batch);
	rec_free(s->allocator, rows);
	return r;
}

/* ---- Tasks of a batch ---- */

int rec_memory_batch_task_put(struct rec_store *s, struct rec_slice batch_id, const struct rec_batch_task *task,
			      struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	if (!batch_find(m, batch_id))
		return REC_NOT_FOUND;
	struct rec_slice at = rec_memory_key_join(&key, batch_id, task->task_id, (struct rec_slice){0});
	const struct rec_memory_batch_task *before = rec_memory_get(m, REC_MEMORY_BATCH_TASKS, at);
	struct rec_batch_task changed = *task;
	if (before)
		changed.position = before->task.position;
	return rec_memory_put(m, REC_MEMORY_BATCH_TASKS, at, rec_memory_batch_task_new(m->data->allocator, &changed),
			      error);
}

static int batch_task_order(const void *a, const void *b)
{
	const struct rec_batch_task *x = &(*(const struct rec_memory_batch_task *const *)a)->task;
	const struct rec_batch_task *y = &(*(const struct rec_memory_batch_task *const *)b)->task;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return rec_slice_compare(x->task_id, y->task_id);
}

int rec_memory_batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			   struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	void **rows = NULL;
	size_t count = 0;
	if (!batch_find(m, batch_id))
		return REC_NOT_FOUND;
	struct rec_slice under = rec_memory_key_join(&key, batch_id, (struct rec_slice){0}, (struct rec_slice){0});
	int r = rows_collect(m, REC_MEMORY_BATCH_TASKS, under, &rows, &count, error);
	if (r < 0)
		return r;
	if (count)
		qsort(rows, count, sizeof *rows, batch_task_order);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = fn(context, &((const struct rec_memory_batch_task *)rows[i])->task);
	rec_free(s->allocator, rows);
	return r;
}
