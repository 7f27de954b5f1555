/* memory-read.c - snapshot, get, list and prefixes. A listed task points straight into its row. */
#include "store/memory.h"

#include <stdlib.h>

static int slice_order(const void *a, const void *b)
{
	return rec_slice_compare(*(const struct rec_slice *)a, *(const struct rec_slice *)b);
}

/* ---- Snapshot ---- */

static void blockers_count(struct rec_memory_store *m, struct rec_slice id, const struct rec_memory_history *history,
			   struct rec_fact *fact)
{
	struct rec_memory_key key;
	struct rec_memory_cursor cursor;
	struct rec_slice at, none = {NULL, 0}, under = rec_memory_key_join(&key, id, none, none);
	const struct rec_memory_blocker *row;
	rec_memory_walk(m, REC_MEMORY_BLOCKERS_OF_TASK, under, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &at)) && rec_memory_key_under(at, under)) {
		fact->blockers_total++;
		if (row->blocker.status != REC_ANSWERED && row->blocker.status != REC_RESOLVED)
			fact->blockers_open++;
		else if (!history || !history->released_count ||
			 !bsearch(&row->blocker.id, history->released, history->released_count, sizeof none,
				  slice_order))
			fact->blockers_new++;
	}
}

static int32_t priority_clamp(int64_t priority)
{
	return priority > INT32_MAX ? INT32_MAX : priority < INT32_MIN ? INT32_MIN : (int32_t)priority;
}

static void fact_fill(struct rec_memory_store *m, const struct rec_task *task, unsigned fields, struct rec_fact *fact)
{
	const struct rec_memory_history *history = NULL;
	bool blockers = (fields & REC_SNAPSHOT_ALL_BLOCKERS) ||
			((fields & REC_SNAPSHOT_BLOCKERS) && task->status == REC_BLOCKED);
	if (blockers || (fields & REC_SNAPSHOT_ATTEMPT))
		history = rec_memory_get(m, REC_MEMORY_HISTORIES, task->id);
	fact->status = (uint8_t)task->status;
	if (blockers)
		blockers_count(m, task->id, history, fact);
	if ((fields & REC_SNAPSHOT_ATTEMPT) && history) {
		fact->attempt = history->attempt;
		fact->claimed = history->claimed;
	}
	if (fields & REC_SNAPSHOT_PRIORITY) {
		fact->priority = priority_clamp(task->priority);
		fact->is_leaf = task->is_leaf;
	}
}

static int fact_at(struct rec_memory_store *m, const struct rec_task *task, unsigned fields, struct rec_snapshot *out,
		   size_t index, struct rec_error *error)
{
	fact_fill(m, task, fields, &out->facts[index]);
	return task->status == REC_STATUS_UNRECOGNISED ? rec_snapshot_add_raw(out, index, task->status_text, error) : 0;
}

static size_t tasks_count(struct rec_memory_store *m)
{
	struct rec_memory_cursor cursor;
	size_t count = 0;
	rec_memory_walk(m, REC_MEMORY_TASKS, (struct rec_slice){0}, &cursor);
	while (rec_memory_cursor_next(&cursor, NULL))
		count++;
	return count;
}

static int snapshot_all(struct rec_memory_store *m, unsigned fields, struct rec_snapshot *out, struct rec_error *error)
{
	struct rec_memory_cursor cursor;
	const struct rec_memory_task *row;
	size_t count = tasks_count(m), i = 0;
	int r = rec_snapshot_reserve(out, count, error);
	struct rec_slice *ids = r < 0 ? NULL : rec_zalloc(out->allocator, count, sizeof *ids);
	if (!ids)
		return r < 0 ? r : rec_fail_nomem(error);
	out->ids = out->own_ids = ids;
	rec_memory_walk(m, REC_MEMORY_TASKS, (struct rec_slice){0}, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, NULL))) {
		const struct rec_slice *id = &row->task.id;
		ids[i] = (struct rec_slice){rec_arena_strndup(&out->arena, id->data, id->length), id->length};
		if (!ids[i].data)
			return rec_fail_nomem(error);
		r = fact_at(m, &row->task, fields, out, i++, error);
		if (r < 0)
			return r;
	}
	return 0;
}

int rec_memory_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			struct rec_snapshot *out, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	if (!ids)
		return snapshot_all(m, fields, out, error);
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct rec_memory_task *row = rec_memory_get(m, REC_MEMORY_TASKS, ids[i]);
		if (row)
			r = fact_at(m, &row->task, fields, out, i, error);
	}
	return r;
}

/* ---- Get ---- */

static void live_facts(struct rec_memory_store *m, struct rec_task *task)
{
	const struct rec_memory_history *history = rec_memory_get(m, REC_MEMORY_HISTORIES, task->id);
	task->attempt = history ? history->attempt : 0;
	task->claimed = history && history->claimed;
}

static int blockers_copy(struct rec_arena *arena, const struct rec_blocker *blockers, size_t count,
			 struct rec_task *task)
{
	struct rec_blocker *copies = rec_arena_alloc(arena, count * sizeof *copies);
	if (!copies)
		return REC_E_NOMEM;
	for (size_t i = 0; i < count; i++)
		if (rec_memory_blocker_copy(arena, &blockers[i], &copies[i]) < 0)
			return REC_E_NOMEM;
	task->blockers = copies;
	task->blocker_count = count;
	return 0;
}

int rec_memory_task_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
			struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_blocker *blockers = NULL;
	size_t count;
	const struct rec_memory_task *row = rec_memory_get(m, REC_MEMORY_TASKS, id);
	if (!row)
		return REC_NOT_FOUND;
	int r = rec_memory_blockers_of(m, id, &blockers, &count, error);
	if (r < 0)
		return r;
	r = rec_memory_task_copy(arena, &row->task, out);
	if (r == 0)
		r = blockers_copy(arena, blockers, count, out);
	rec_free(s->allocator, blockers);
	if (r < 0)
		return rec_fail_nomem(error);
	live_facts(m, out);
	return 0;
}

/* ---- List ---- */

static void task_brief(const struct rec_task *task, struct rec_task *brief)
{
	*brief = (struct rec_task){
		.id = task->id,
		.title = task->title,
		.status_text = task->status_text,
		.status = task->status,
		.priority = task->priority,
		.depends_on = task->depends_on,
		.depends_on_count = task->depends_on_count,
		.parent_id = task->parent_id,
		.is_leaf = task->is_leaf,
		.created_at = task->created_at,
	};
}

static int task_tell(struct rec_memory_store *m, const struct rec_task *row, const struct rec_list_options *options,
		     rec_task_fn *fn, void *context, struct rec_error *error)
{
	struct rec_task task = *row;
	struct rec_blocker *blockers = NULL;
	if (options->brief)
		task_brief(row, &task);
	else
		live_facts(m, &task);
	if (options->blockers) {
		int r = rec_memory_blockers_of(m, row->id, &blockers, &task.blocker_count, error);
		if (r < 0)
			return r;
		task.blockers = blockers;
	}
	int r = fn(context, &task);
	rec_free(m->store.allocator, blockers);
	return r;
}

static bool listed(const struct rec_task *task, const struct rec_list_options *options)
{
	if (options->after.data && rec_slice_compare(task->id, options->after) <= 0)
		return false;
	return !options->status_mask || (options->status_mask & (1u << task->status));
}

int rec_memory_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		    struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_cursor cursor;
	const struct rec_memory_task *row;
	uint64_t told = 0;
	int r = 0;
	rec_memory_walk(m, REC_MEMORY_TASKS, options->after, &cursor);
	while (r == 0 && (!options->limit || told < options->limit) && (row = rec_memory_cursor_next(&cursor, NULL)))
		if (listed(&row->task, options)) {
			r = task_tell(m, &row->task, options, fn, context, error);
			told++;
		}
	return r;
}

int rec_memory_find_prefix(struct rec_store *s, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
			   struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error)
{
	struct rec_memory_cursor cursor;
	struct rec_slice id;
	size_t count = 0;
	rec_memory_walk(rec_memory_of(s), blockers ? REC_MEMORY_BLOCKERS : REC_MEMORY_TASKS, prefix, &cursor);
	while (count < capacity && rec_memory_cursor_next(&cursor, &id) && rec_memory_key_under(id, prefix)) {
		ids[count] = (struct rec_slice){rec_arena_strndup(arena, id.data, id.length), id.length};
		if (!ids[count++].data)
			return rec_fail_nomem(error);
	}
	*ret_count = count;
	return 0;
}
