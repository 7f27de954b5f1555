/* memory-blocker.c - blockers: one row in three tables (by id, by task, by time). */
#include "store/memory.h"

#define NONE ((struct rec_slice){NULL, 0})

static const struct rec_blocker *blocker_of(struct rec_memory_store *m, struct rec_slice id)
{
	const struct rec_memory_blocker *row = rec_memory_get(m, REC_MEMORY_BLOCKERS, id);
	return row ? &row->blocker : NULL;
}

static int blocker_put(struct rec_memory_store *m, const struct rec_blocker *blocker, struct rec_error *error)
{
	struct rec_memory_key key;
	struct rec_memory_blocker *row = rec_memory_blocker_new(m->data->allocator, blocker);
	if (!row)
		return rec_fail_nomem(error);
	struct rec_slice at;
	int r = 0;
	if (row->blocker.task_id.data) {
		at = rec_memory_key_join(&key, row->blocker.task_id, row->blocker.created_at, row->blocker.id);
		r = rec_memory_put(m, REC_MEMORY_BLOCKERS_OF_TASK, at, rec_memory_row_share(row), error);
	}
	at = rec_memory_key_join(&key, row->blocker.created_at, row->blocker.id, NONE);
	if (r == 0)
		r = rec_memory_put(m, REC_MEMORY_BLOCKERS_BY_TIME, at, rec_memory_row_share(row), error);
	if (r == 0)
		r = rec_memory_put(m, REC_MEMORY_BLOCKERS, row->blocker.id, rec_memory_row_share(row), error);
	rec_memory_row_drop(m->data->allocator, row);
	return r;
}

/* A blocker of no task changes none. */
static int note_task(struct rec_memory_store *m, const struct rec_blocker *blocker, struct rec_error *error)
{
	return blocker->task_id.data ? rec_memory_note(m, blocker->task_id, error) : 0;
}

int rec_memory_blocker_create(struct rec_store *s, const struct rec_blocker *blocker, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	if (blocker->task_id.data && !rec_memory_get(m, REC_MEMORY_TASKS, blocker->task_id))
		return REC_NOT_FOUND;
	if (blocker_of(m, blocker->id))
		return REC_EXISTS;
	int r = blocker_put(m, blocker, error);
	return r < 0 ? r : note_task(m, blocker, error);
}

int rec_memory_blocker_answer(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	char now[REC_TIMESTAMP_BYTES];
	const struct rec_blocker *before = blocker_of(m, id);
	if (!before)
		return REC_NOT_FOUND;
	if (before->status == REC_RESOLVED)
		return REC_REFUSED;
	struct rec_blocker after = *before;
	after.status = REC_ANSWERED;
	after.answer = text;
	after.answered_at = rec_store_now(s, now);
	int r = note_task(m, before, error);
	return r < 0 ? r : blocker_put(m, &after, error);
}

int rec_memory_blocker_resolve(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	const struct rec_blocker *before = blocker_of(m, id);
	if (!before)
		return REC_NOT_FOUND;
	if (before->status == REC_RESOLVED)
		return 0;
	if (before->status != REC_ANSWERED)
		return REC_REFUSED;
	struct rec_blocker after = *before;
	after.status = REC_RESOLVED;
	int r = note_task(m, before, error);
	return r < 0 ? r : blocker_put(m, &after, error);
}

/* ---- Reads ---- */

int rec_memory_blocker_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_blocker *out,
			   struct rec_error *error)
{
	const struct rec_blocker *blocker = blocker_of(rec_memory_of(s), id);
	if (!blocker)
		return REC_NOT_FOUND;
	return rec_memory_blocker_copy(arena, blocker, out) < 0 ? rec_fail_nomem(error) : 0;
}

int rec_memory_blockers(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			void *context, struct rec_error *error)
{
	(void)error;
	struct rec_memory_key key;
	struct rec_memory_cursor cursor;
	struct rec_slice at, under = rec_memory_key_join(&key, task_id, NONE, NONE);
	const struct rec_memory_blocker *row;
	int r = 0;
	rec_memory_walk(rec_memory_of(s), task_id.data ? REC_MEMORY_BLOCKERS_OF_TASK : REC_MEMORY_BLOCKERS_BY_TIME,
			under, &cursor);
	while (r == 0 && (row = rec_memory_cursor_next(&cursor, &at)) && rec_memory_key_under(at, under))
		if (!open_only || (row->blocker.status != REC_ANSWERED && row->blocker.status != REC_RESOLVED))
			r = fn(context, &row->blocker);
	return r;
}

struct collected {
	const struct rec_allocator *allocator;
	struct rec_blocker *blockers;
	size_t count, capacity;
};

static int collect(void *context, const struct rec_blocker *blocker)
{
	struct collected *c = context;
	if (rec_grow(c->allocator, (void **)&c->blockers, &c->capacity, c->count + 1, sizeof *blocker) < 0)
		return REC_E_NOMEM;
	c->blockers[c->count++] = *blocker;
	return 0;
}

int rec_memory_blockers_of(struct rec_memory_store *m, struct rec_slice task_id, struct rec_blocker **ret_blockers,
			   size_t *ret_count, struct rec_error *error)
{
	struct collected c = {.allocator = m->store.allocator};
	if (rec_memory_blockers(&m->store, task_id, false, collect, &c, error) < 0) {
		rec_free(c.allocator, c.blockers);
		return rec_fail_nomem(error);
	}
	*ret_blockers = c.blockers;
	*ret_count = c.count;
	return 0;
}
