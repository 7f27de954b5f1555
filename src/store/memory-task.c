/* memory-task.c - writes to tasks. A change makes a new row from the old one; the indexes (children of a parent by
 * status, owner of a URL, change feed) follow in the same place. */
#include "store/memory.h"

#include "base/text.h"

static const struct rec_task *task_of(struct rec_memory_store *m, struct rec_slice id)
{
	const struct rec_memory_task *row = rec_memory_get(m, REC_MEMORY_TASKS, id);
	return row ? &row->task : NULL;
}

static int task_put(struct rec_memory_store *m, const struct rec_task *task, struct rec_error *error)
{
	return rec_memory_put(m, REC_MEMORY_TASKS, task->id, rec_memory_task_new(m->data->allocator, task), error);
}

/* ---- Children by status ---- */

/* REC_STATUS_ABSENT on a side: the child comes or goes. */
int rec_memory_children_adjust(struct rec_memory_store *m, struct rec_slice parent, enum rec_status from,
			       enum rec_status to, struct rec_error *error)
{
	if (!parent.data)
		return 0;
	struct rec_memory_children *row = rec_memory_row_new(m->data->allocator, sizeof *row);
	if (!row)
		return rec_fail_nomem(error);
	const struct rec_memory_children *before = rec_memory_get(m, REC_MEMORY_CHILDREN, parent);
	struct rec_memory_row head = row->row;
	if (before)
		*row = *before;
	else
		memset(row, 0, sizeof *row);
	row->row = head;
	if (from < REC_STATUS_COUNT)
		row->counts[from]--;
	if (to < REC_STATUS_COUNT)
		row->counts[to]++;
	row->unrecognised -= from == REC_STATUS_UNRECOGNISED;
	row->unrecognised += to == REC_STATUS_UNRECOGNISED;
	return rec_memory_put(m, REC_MEMORY_CHILDREN, parent, row, error);
}

int rec_memory_children(struct rec_store *s, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
			uint64_t *unrecognised, struct rec_error *error)
{
	(void)error;
	const struct rec_memory_children *row = rec_memory_get(rec_memory_of(s), REC_MEMORY_CHILDREN, id);
	for (unsigned i = 0; i < REC_STATUS_COUNT; i++)
		counts[i] = row ? row->counts[i] : 0;
	*unrecognised = row ? row->unrecognised : 0;
	return 0;
}

static bool has_children(struct rec_store *s, struct rec_slice id)
{
	uint64_t counts[REC_STATUS_COUNT], all = 0, unrecognised;
	(void)rec_memory_children(s, id, counts, &unrecognised, NULL);
	all += unrecognised;
	for (unsigned i = 0; i < REC_STATUS_COUNT; i++)
		all += counts[i];
	return all > 0;
}

int rec_memory_mark_composite(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	const struct rec_task *before = task_of(m, id);
	if (!before)
		return REC_NOT_FOUND;
	struct rec_task task = *before;
	task.is_leaf = !has_children(s, id);
	if (task.is_leaf == before->is_leaf)
		return 0;
	int r = rec_memory_note(m, id, error);
	return r < 0 ? r : task_put(m, &task, error);
}

int rec_memory_parent(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
		      enum rec_status *ret_status, struct rec_error *error)
{
	const struct rec_task *task = task_of(rec_memory_of(s), id);
	if (!task)
		return REC_NOT_FOUND;
	struct rec_slice parent = {NULL, 0};
	if (task->parent_id.data) {
		parent.data = rec_arena_strndup(arena, task->parent_id.data, task->parent_id.length);
		parent.length = task->parent_id.length;
		if (!parent.data)
			return rec_fail_nomem(error);
	}
	*ret_parent = parent;
	*ret_status = task->status;
	return 0;
}

/* ---- URLs ---- */

static int url_free(struct rec_memory_store *m, struct rec_slice url, struct rec_slice id, struct rec_error *error)
{
	char shown_url[160], shown_id[160];
	const struct rec_memory_id *owner = url.data ? rec_memory_get(m, REC_MEMORY_URLS, url) : NULL;
	if (!owner || rec_slice_equal(owner->id, id))
		return 0;
	return rec_fail(error, REC_E_INVALID, "external_url '%s': task '%s' has it already",
			rec_text_shown(shown_url, sizeof shown_url, url),
			rec_text_shown(shown_id, sizeof shown_id, owner->id));
}

static int url_put(struct rec_memory_store *m, struct rec_slice url, struct rec_slice id, struct rec_error *error)
{
	if (!url.data)
		return 0;
	return rec_memory_put(m, REC_MEMORY_URLS, url, rec_memory_id_new(m->data->allocator, id), error);
}

static void url_erase(struct rec_memory_store *m, struct rec_slice url)
{
	if (url.data)
		rec_memory_erase(m, REC_MEMORY_URLS, url);
}

/* ---- Create ---- */

static bool ids_taken(struct rec_memory_store *m, const struct rec_task *task)
{
	if (task_of(m, task->id))
		return true;
	for (size_t i = 0; i < task->blocker_count; i++)
		if (rec_memory_get(m, REC_MEMORY_BLOCKERS, task->blockers[i].id))
			return true;
	return false;
}

int rec_memory_create(struct rec_store *s, const struct rec_task *task, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	if (ids_taken(m, task))
		return REC_EXISTS;
	int r = url_free(m, task->external_url, task->id, error);
	if (r == 0)
		r = task_put(m, task, error);
	if (r == 0)
		r = url_put(m, task->external_url, task->id, error);
	if (r == 0)
		r = rec_memory_children_adjust(m, task->parent_id, REC_STATUS_ABSENT, task->status, error);
	if (r == 0)
		r = rec_memory_note(m, task->id, error);
	for (size_t i = 0; r == 0 && i < task->blocker_count; i++)
		r = rec_memory_blocker_create(s, &task->blockers[i], error);
	return r;
}

/* ---- Edit ---- */

static void edit_fields(struct rec_task *task, const struct rec_task *wanted, unsigned fields)
{
	if (fields & REC_EDIT_TITLE)
		task->title = wanted->title;
	if (fields & REC_EDIT_DESCRIPTION)
		task->description = wanted->description;
	if (fields & REC_EDIT_PRIORITY)
		task->priority = wanted->priority;
	if (fields & REC_EDIT_DEPENDS_ON) {
		task->depends_on = wanted->depends_on;
		task->depends_on_count = wanted->depends_on_count;
		task->depends_on_raw = (struct rec_slice){NULL, 0};
	}
	if (fields & REC_EDIT_PARENT)
		task->parent_id = wanted->parent_id;
	if (fields & REC_EDIT_EXTERNAL_URL)
		task->external_url = wanted->external_url;
}

static bool same_dependencies(const struct rec_task *a, const struct rec_task *b)
{
	if (a->depends_on_count != b->depends_on_count || !a->depends_on_raw.data != !b->depends_on_raw.data)
		return false;
	for (size_t i = 0; i < a->depends_on_count; i++)
		if (!rec_slice_equal(a->depends_on[i], b->depends_on[i]))
			return false;
	return true;
}

/* The indexes, while `before` is still in the table. */
static int edit_indexes(struct rec_memory_store *m, const struct rec_task *before, const struct rec_task *after,
			struct rec_error *error)
{
	int r = url_free(m, after->external_url, after->id, error);
	if (r == 0) {
		url_erase(m, before->external_url);
		r = url_put(m, after->external_url, after->id, error);
	}
	if (r == 0)
		r = rec_memory_children_adjust(m, before->parent_id, before->status, REC_STATUS_ABSENT, error);
	if (r == 0)
		r = rec_memory_children_adjust(m, after->parent_id, REC_STATUS_ABSENT, after->status, error);
	if (r == 0 && (before->priority != after->priority || !same_dependencies(before, after)))
		r = rec_memory_note(m, after->id, error);
	return r;
}

int rec_memory_edit(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	char now[REC_TIMESTAMP_BYTES];
	const struct rec_task *before = task_of(m, task->id);
	if (!before)
		return REC_NOT_FOUND;
	struct rec_task after = *before;
	edit_fields(&after, task, fields);
	after.updated_at = rec_store_now(s, now);
	int r = edit_indexes(m, before, &after, error);
	return r < 0 ? r : task_put(m, &after, error);
}

/* ---- Status ---- */

int rec_memory_write_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			    enum rec_status *now, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	char time[REC_TIMESTAMP_BYTES];
	const struct rec_task *before = task_of(m, id);
	if (!before)
		return REC_NOT_FOUND;
	if (before->status != from) {
		if (now)
			*now = before->status;
		return REC_CONFLICT;
	}
	struct rec_task after = *before;
	after.status = to;
	after.updated_at = rec_store_now(s, time);
	int r = rec_memory_children_adjust(m, before->parent_id, from, to, error);
	if (r == 0)
		r = rec_memory_note(m, id, error);
	return r < 0 ? r : task_put(m, &after, error);
}

/* ---- Delete ---- */

static void erase_under(struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice prefix)
{
	struct rec_memory_cursor cursor;
	struct rec_slice key;
	rec_memory_walk(m, table, prefix, &cursor);
	while (rec_memory_cursor_next(&cursor, &key) && rec_memory_key_under(key, prefix))
		rec_memory_erase(m, table, key);
}

static void blockers_erase(struct rec_memory_store *m, struct rec_slice prefix)
{
	struct rec_memory_cursor cursor;
	struct rec_slice key;
	const struct rec_memory_blocker *row;
	rec_memory_walk(m, REC_MEMORY_BLOCKERS_OF_TASK, prefix, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &key)) && rec_memory_key_under(key, prefix)) {
		struct rec_memory_key by_time;
		rec_memory_erase(
			m, REC_MEMORY_BLOCKERS_BY_TIME,
			rec_memory_key_join(&by_time, row->blocker.created_at, row->blocker.id, (struct rec_slice){0}));
		rec_memory_erase(m, REC_MEMORY_BLOCKERS, row->blocker.id);
	}
	erase_under(m, REC_MEMORY_BLOCKERS_OF_TASK, prefix);
}

int rec_memory_remove(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	const struct rec_task *task = task_of(m, id);
	const struct rec_memory_history *history = rec_memory_get(m, REC_MEMORY_HISTORIES, id);
	if (!task)
		return REC_NOT_FOUND;
	if (history && history->claimed)
		return REC_REFUSED;
	int r = rec_memory_children_adjust(m, task->parent_id, task->status, REC_STATUS_ABSENT, error);
	if (r == 0)
		r = rec_memory_note(m, id, error);
	if (r < 0)
		return r;
	struct rec_slice under = rec_memory_key_join(&key, id, (struct rec_slice){0}, (struct rec_slice){0});
	blockers_erase(m, under);
	erase_under(m, REC_MEMORY_ATTEMPTS, under);
	erase_under(m, REC_MEMORY_LINKS, under);
	rec_memory_erase(m, REC_MEMORY_HISTORIES, id);
	url_erase(m, task->external_url);
	rec_memory_erase(m, REC_MEMORY_TASKS, id);
	return 0;
}
