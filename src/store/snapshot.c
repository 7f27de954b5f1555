/* snapshot.c - the memory of a snapshot and the wrapper that fills one. */
#include "store/wrapper.h"

#include <stdlib.h>

int rec_snapshot_reserve(struct rec_snapshot *out, size_t count, struct rec_error *error)
{
	if (count > UINT32_MAX - 1)
		return rec_fail(error, REC_E_LIMIT, "snapshot: %zu ids are too many at once (at most %u)", count,
				UINT32_MAX - 1);
	struct rec_fact *facts = rec_zalloc(out->allocator, count, sizeof *facts);
	if (!facts)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < count; i++)
		facts[i].status = REC_STATUS_ABSENT;
	rec_free(out->allocator, out->facts);
	out->facts = facts;
	out->count = count;
	return 0;
}

int rec_snapshot_init(struct rec_snapshot *out, const struct rec_allocator *a, const struct rec_slice *ids,
		      size_t count, struct rec_error *error)
{
	*out = (struct rec_snapshot){.allocator = a, .ids = ids};
	rec_arena_init(&out->arena, a);
	return ids ? rec_snapshot_reserve(out, count, error) : 0;
}

void rec_snapshot_release(struct rec_snapshot *snapshot)
{
	if (!snapshot)
		return;
	const struct rec_allocator *a = snapshot->allocator;
	rec_free(a, snapshot->facts);
	rec_free(a, snapshot->own_ids);
	rec_free(a, snapshot->raws);
	rec_arena_release(&snapshot->arena);
	*snapshot = (struct rec_snapshot){.allocator = a};
}

/* ---- Raw statuses ---- */

int rec_snapshot_add_raw(struct rec_snapshot *out, size_t index, struct rec_slice text, struct rec_error *error)
{
	if (rec_grow(out->allocator, (void **)&out->raws, &out->raw_capacity, out->raw_count + 1, sizeof *out->raws))
		return rec_fail_nomem(error);
	char *copy = rec_arena_strndup(&out->arena, text.data, text.length);
	if (!copy)
		return rec_fail_nomem(error);
	out->raws[out->raw_count++] = (struct rec_raw_status){(uint32_t)index, {copy, text.length}};
	return 0;
}

static int raw_compare(const void *a, const void *b)
{
	uint32_t x = ((const struct rec_raw_status *)a)->index, y = ((const struct rec_raw_status *)b)->index;
	return (x > y) - (x < y);
}

void rec_snapshot_sort_raws(struct rec_snapshot *snapshot)
{
	for (size_t i = 1; i < snapshot->raw_count; i++)
		if (snapshot->raws[i - 1].index > snapshot->raws[i].index) {
			qsort(snapshot->raws, snapshot->raw_count, sizeof *snapshot->raws, raw_compare);
			return;
		}
}

struct rec_slice rec_snapshot_raw(const struct rec_snapshot *snapshot, size_t index)
{
	if (!snapshot->raws || index > UINT32_MAX)
		return (struct rec_slice){0};
	const struct rec_raw_status key = {.index = (uint32_t)index};
	const struct rec_raw_status *found =
		bsearch(&key, snapshot->raws, snapshot->raw_count, sizeof key, raw_compare);
	return found ? found->text : (struct rec_slice){0};
}

/* ---- The wrapper ---- */

int rec_store_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
		       struct rec_snapshot *ret_snapshot, struct rec_error *error)
{
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	struct rec_snapshot snapshot;
	r = rec_snapshot_init(&snapshot, s->allocator, ids, count, error);
	if (r == 0)
		r = s->ops->snapshot(s, ids, ids ? count : 0, fields, &snapshot, error);
	r = rec_read_leave(s, "snapshot", r, 0, error);
	if (r) {
		rec_snapshot_release(&snapshot);
		return r;
	}
	rec_snapshot_sort_raws(&snapshot);
	*ret_snapshot = snapshot;
	return 0;
}
