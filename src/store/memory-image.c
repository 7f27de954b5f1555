/* memory-image.c - the tables as the image of a place that others write to. What they wrote may break our rules: then
 * the first that came keeps its entry in the index, and the caller is told. */
#include "store/memory.h"

#define NONE ((struct rec_slice){NULL, 0})

/* Row by row, as the walk allows: nothing is put into the table that is walked. */
static void blockers_erase(struct rec_memory_store *m, struct rec_slice task_id)
{
	struct rec_memory_key key, by_time;
	struct rec_memory_cursor cursor;
	struct rec_slice at, under = rec_memory_key_join(&key, task_id, NONE, NONE);
	const struct rec_memory_blocker *row;
	rec_memory_walk(m, REC_MEMORY_BLOCKERS_OF_TASK, under, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &at)) && rec_memory_key_under(at, under)) {
		const struct rec_memory_blocker *indexed = rec_memory_get(m, REC_MEMORY_BLOCKERS, row->blocker.id);
		rec_memory_erase(m, REC_MEMORY_BLOCKERS_BY_TIME,
				 rec_memory_key_join(&by_time, row->blocker.created_at, row->blocker.id, NONE));
		if (indexed == row)
			rec_memory_erase(m, REC_MEMORY_BLOCKERS, row->blocker.id);
		rec_memory_erase(m, REC_MEMORY_BLOCKERS_OF_TASK, at);
	}
}

static int blocker_put(struct rec_memory_store *m, const struct rec_blocker *blocker, bool *ret_doubled,
		       struct rec_error *error)
{
	struct rec_memory_key key;
	bool taken = rec_memory_get(m, REC_MEMORY_BLOCKERS, blocker->id);
	struct rec_memory_blocker *row = rec_memory_blocker_new(m->data->allocator, blocker);
	if (!row)
		return rec_fail_nomem(error);
	*ret_doubled |= taken;
	struct rec_slice at = rec_memory_key_join(&key, blocker->task_id, blocker->created_at, blocker->id);
	int r = rec_memory_put(m, REC_MEMORY_BLOCKERS_OF_TASK, at, rec_memory_row_share(row), error);
	at = rec_memory_key_join(&key, blocker->created_at, blocker->id, NONE);
	if (r == 0 && !taken)
		r = rec_memory_put(m, REC_MEMORY_BLOCKERS_BY_TIME, at, rec_memory_row_share(row), error);
	if (r == 0 && !taken)
		r = rec_memory_put(m, REC_MEMORY_BLOCKERS, blocker->id, rec_memory_row_share(row), error);
	rec_memory_row_drop(m->data->allocator, row);
	return r;
}

static int url_put(struct rec_memory_store *m, const struct rec_task *task, bool *ret_doubled, struct rec_error *error)
{
	if (!task->external_url.data)
		return 0;
	if (rec_memory_get(m, REC_MEMORY_URLS, task->external_url)) {
		*ret_doubled = true;
		return 0;
	}
	return rec_memory_put(m, REC_MEMORY_URLS, task->external_url, rec_memory_id_new(m->data->allocator, task->id),
			      error);
}

static int erase(struct rec_memory_store *m, const struct rec_task *task, struct rec_error *error)
{
	int r = rec_memory_children_adjust(m, task->parent_id, task->status, REC_STATUS_ABSENT, error);
	if (r < 0)
		return r;
	blockers_erase(m, task->id);
	const struct rec_memory_id *owner =
		task->external_url.data ? rec_memory_get(m, REC_MEMORY_URLS, task->external_url) : NULL;
	if (owner && rec_slice_equal(owner->id, task->id))
		rec_memory_erase(m, REC_MEMORY_URLS, task->external_url);
	return 0;
}

int rec_memory_image_erase(struct rec_memory_store *m, struct rec_slice id, struct rec_error *error)
{
	const struct rec_memory_task *before = rec_memory_get(m, REC_MEMORY_TASKS, id);
	int r = before ? erase(m, &before->task, error) : 0;
	if (before && r == 0)
		rec_memory_erase(m, REC_MEMORY_TASKS, id);
	return r;
}

int rec_memory_image_put(struct rec_memory_store *m, const struct rec_task *task, bool *ret_doubled,
			 struct rec_error *error)
{
	const struct rec_memory_task *before = rec_memory_get(m, REC_MEMORY_TASKS, task->id);
	int r = before ? erase(m, &before->task, error) : 0;
	if (r == 0)
		r = rec_memory_put(m, REC_MEMORY_TASKS, task->id, rec_memory_task_new(m->data->allocator, task), error);
	if (r == 0)
		r = rec_memory_children_adjust(m, task->parent_id, REC_STATUS_ABSENT, task->status, error);
	if (r == 0)
		r = url_put(m, task, ret_doubled, error);
	for (size_t i = 0; r == 0 && i < task->blocker_count; i++)
		r = blocker_put(m, &task->blockers[i], ret_doubled, error);
	return r;
}
