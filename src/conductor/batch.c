/* batch.c - a batch begins, is taken up again, or is given up. */
#include "conductor/batch.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/idmap.h"
#include "engine/edit.h"

/* Ids of a batch, each once, in order; the texts live in the arena. */
struct members {
	struct rec_arena arena;
	const struct rec_allocator *allocator;
	struct rec_slice *ids;
	size_t count, capacity;
	struct rec_idmap map;
};

static void members_init(struct members *m, const struct rec_allocator *a)
{
	*m = (struct members){.allocator = a};
	rec_arena_init(&m->arena, a);
	rec_idmap_init(&m->map, a, 0);
}

static void members_release(struct members *m)
{
	rec_idmap_release(&m->map);
	rec_free(m->allocator, m->ids);
	rec_arena_release(&m->arena);
}

/* 0 or REC_E_NOMEM, REC_E_LIMIT. */
static int members_add(struct members *m, struct rec_slice id)
{
	uint32_t first;
	void *ids = m->ids;
	int r = rec_grow(m->allocator, &ids, &m->capacity, m->count + 1, sizeof *m->ids);
	m->ids = ids;
	char *copy = r ? NULL : rec_arena_strndup(&m->arena, id.data, id.length);
	if (!copy)
		return REC_E_NOMEM;
	m->ids[m->count] = (struct rec_slice){copy, id.length};
	r = rec_idmap_add(&m->map, m->ids, (uint32_t)m->count, &first);
	if (r == 0)
		m->count++;
	return r == REC_EXISTS ? 0 : r;
}

static int group_end(struct rec_store *s, int r, struct rec_error *error)
{
	if (r == 0)
		return rec_store_commit(s, error);
	rec_store_rollback(s);
	return r;
}

static int event_add(struct rec_store *s, const char *name, struct rec_slice batch_id, const char *detail,
		     struct rec_error *error)
{
	struct rec_event event = {.event = rec_slice_of(name), .batch_id = batch_id, .detail = rec_slice_of(detail)};
	return rec_store_event_add(s, &event, error);
}

/* ---- Start ---- */

static int ready_collect(void *context, const struct rec_task *task)
{
	return task->is_leaf ? members_add(context, task->id) : 0;
}

static int members_fill(struct rec_store *s, struct members *m, const struct rec_slice *ids, size_t count,
			struct rec_error *error)
{
	const struct rec_list_options ready = {.status_mask = 1u << REC_READY, .brief = true};
	int r = 0;
	if (!ids)
		r = rec_store_list(s, &ready, ready_collect, m, error);
	for (size_t i = 0; !r && ids && i < count; i++)
		r = members_add(m, ids[i]);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	return r == REC_E_LIMIT ? rec_fail(error, r, "batch: too many tasks") : r;
}

static int missing_find(struct rec_store *s, const struct rec_slice *ids, size_t count, size_t *ret_missing,
			struct rec_error *error)
{
	struct rec_snapshot now;
	if (!ids || !count)
		return 0;
	int r = rec_store_snapshot(s, ids, count, 0, &now, error);
	if (r)
		return r;
	for (size_t i = 0; !r && i < count; i++)
		if (now.facts[i].status == REC_STATUS_ABSENT) {
			r = REC_NOT_FOUND;
			if (ret_missing)
				*ret_missing = i;
		}
	rec_snapshot_release(&now);
	return r;
}

static int rows_put(struct rec_store *s, struct rec_slice batch_id, const struct members *m, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->count; i++) {
		struct rec_batch_task row = {
			.task_id = m->ids[i],
			.position = (int64_t)i,
			.phase = rec_slice_of("waiting"),
			.believed = REC_READY,
		};
		r = rec_store_batch_task_put(s, batch_id, &row, error);
	}
	return r;
}

int rec_batch_start(struct rec_store *s, const struct rec_batch *batch, const struct rec_slice *ids, size_t count,
		    size_t *ret_count, size_t *ret_missing, struct rec_error *error)
{
	struct members m;
	char detail[64];
	int r = rec_store_begin(s, error);
	if (r)
		return r;
	members_init(&m, rec_store_allocator(s));
	r = missing_find(s, ids, count, ret_missing, error);
	r = r ? r : members_fill(s, &m, ids, count, error);
	r = r ? r : rec_store_batch_create(s, batch, error);
	r = r ? r : rows_put(s, batch->batch_id, &m, error);
	(void)snprintf(detail, sizeof detail, "%zu tasks", m.count);
	r = r ? r : event_add(s, "BATCH_STARTED", batch->batch_id, detail, error);
	r = group_end(s, r, error);
	if (r == 0 && ret_count)
		*ret_count = m.count;
	members_release(&m);
	return r;
}

/* ---- Resume ---- */

static int member_collect(void *context, const struct rec_batch_task *row)
{
	return members_add(context, row->task_id);
}

/* A failed task starts anew: READY, and with a full budget. */
static int failed_reset(struct rec_store *s, struct rec_slice batch_id, struct rec_slice id, struct rec_error *error)
{
	enum rec_status now;
	struct rec_batch_task row = {.task_id = id, .phase = rec_slice_of("waiting"), .believed = REC_READY};
	int r = rec_edit_retry(s, id, &now, error);
	if (r)
		return r < 0 ? r : 0;
	return rec_store_batch_task_put(s, batch_id, &row, error);
}

static int failed_reset_all(struct rec_store *s, struct rec_slice batch_id, const struct members *m,
			    struct rec_error *error)
{
	struct rec_snapshot now;
	int r = rec_store_snapshot(s, m->ids, m->count, 0, &now, error);
	if (r)
		return r;
	for (size_t i = 0; !r && i < m->count; i++)
		if (now.facts[i].status == REC_FAILED)
			r = failed_reset(s, batch_id, m->ids[i], error);
	rec_snapshot_release(&now);
	return r;
}

static int status_of(struct rec_store *s, struct rec_slice batch_id, enum rec_batch_status *ret_status,
		     struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_batch batch;
	rec_arena_init(&arena, rec_store_allocator(s));
	int r = rec_store_batch_get(s, batch_id, &arena, &batch, error);
	rec_arena_release(&arena);
	if (r == 0)
		*ret_status = batch.status;
	return r;
}

static int resume(struct rec_store *s, struct rec_slice batch_id, struct rec_slice owner, struct members *m,
		  struct rec_error *error)
{
	enum rec_batch_status now;
	int r = status_of(s, batch_id, &now, error);
	if (r)
		return r;
	if (now == REC_BATCH_COMPLETED)
		return REC_REFUSED;
	r = rec_store_batch_set_status(s, batch_id, now, REC_BATCH_RUNNING, owner, NULL, error);
	r = r ? r : rec_store_batch_tasks(s, batch_id, member_collect, m, error);
	if (r == REC_E_NOMEM)
		rec_fail_nomem(error);
	r = r || !m->count ? r : failed_reset_all(s, batch_id, m, error);
	return r ? r : event_add(s, "BATCH_RESUMED", batch_id, rec_batch_status_text(now), error);
}

int rec_batch_resume(struct rec_store *s, struct rec_slice batch_id, struct rec_slice owner, struct rec_error *error)
{
	struct members m;
	int r = rec_store_begin(s, error);
	if (r)
		return r;
	members_init(&m, rec_store_allocator(s));
	r = group_end(s, resume(s, batch_id, owner, &m, error), error);
	members_release(&m);
	return r;
}

/* ---- Cancel ---- */

int rec_batch_cancel(struct rec_store *s, struct rec_slice batch_id, struct rec_error *error)
{
	int r = rec_store_begin(s, error);
	if (r)
		return r;
	r = rec_store_batch_set_status(s, batch_id, REC_BATCH_RUNNING, REC_BATCH_CANCELLED, (struct rec_slice){0}, NULL,
				       error);
	r = r ? r : event_add(s, "BATCH_CANCELLED", batch_id, "its conductor is gone", error);
	r = group_end(s, r, error);
	return r == REC_CONFLICT ? REC_REFUSED : r;
}
