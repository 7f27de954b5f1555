/* exchange-references.c - ids are kept in the order in which they were first named, so the first missing one
 * found is also the first in the file. */
#include "engine/exchange-references.h"

#include "base/clock.h"

void rec_references_init(struct rec_references *r, const struct rec_allocator *a)
{
	*r = (struct rec_references){0};
	rec_arena_init(&r->arena, a);
	rec_idmap_init(&r->map, a, rec_random_u64());
}

void rec_references_release(struct rec_references *r)
{
	const struct rec_allocator *a = r->arena.allocator;
	rec_free(a, r->ids);
	rec_free(a, r->items);
	rec_idmap_release(&r->map);
	rec_arena_release(&r->arena);
}

/* Makes room for one more in both arrays. */
static int references_grow(struct rec_references *r)
{
	const struct rec_allocator *a = r->arena.allocator;
	void *ids = r->ids, *items = r->items;
	int failed = rec_grow(a, &ids, &r->ids_capacity, r->count + 1, sizeof *r->ids);
	r->ids = ids;
	if (!failed)
		failed = rec_grow(a, &items, &r->items_capacity, r->count + 1, sizeof *r->items);
	r->items = items;
	return failed;
}

static int references_append(struct rec_references *r, struct rec_slice id, struct rec_reference item)
{
	uint32_t first;
	char *copy = rec_arena_strndup(&r->arena, id.data, id.length);
	if (!copy || references_grow(r))
		return REC_E_NOMEM;
	r->ids[r->count] = (struct rec_slice){copy, id.length};
	r->items[r->count] = item;
	int failed = rec_idmap_add(&r->map, r->ids, (uint32_t)r->count, &first);
	if (failed)
		return failed;
	r->count++;
	return 0;
}

int rec_references_add(struct rec_references *r, struct rec_slice id, bool parent, struct rec_place place,
		       struct rec_error *error)
{
	unsigned flags = parent ? REC_REFERENCE_PARENT : 0;
	uint32_t index = rec_idmap_find(&r->map, r->ids, id);
	if (index != REC_IDMAP_NONE) {
		r->items[index].flags |= flags;
		return 0;
	}
	if (parent)
		flags |= REC_REFERENCE_AS_PARENT;
	if (r->count >= REC_IDMAP_NONE - 1)
		return rec_fail(error, REC_E_LIMIT, "more than %u different ids are referred to (import in parts)",
				REC_IDMAP_NONE - 1);
	return references_append(r, id, (struct rec_reference){place, flags}) ? rec_fail_nomem(error) : 0;
}

bool rec_references_seen(struct rec_references *r, struct rec_slice id)
{
	uint32_t index = rec_idmap_find(&r->map, r->ids, id);
	if (index == REC_IDMAP_NONE)
		return false;
	unsigned *flags = &r->items[index].flags;
	*flags |= REC_REFERENCE_SEEN;
	if (*flags & REC_REFERENCE_PARENT)
		*flags |= REC_REFERENCE_COMPOSITE;
	return *flags & REC_REFERENCE_PARENT;
}

static int unseen_lookup(struct rec_store *s, const struct rec_slice *ids, const uint32_t *indexes, size_t count,
			 size_t *ret_missing, struct rec_error *error)
{
	struct rec_snapshot snapshot;
	int result = rec_store_snapshot(s, ids, count, 0, &snapshot, error);
	if (result)
		return result;
	for (size_t i = 0; result == 0 && i < count; i++)
		if (snapshot.facts[i].status == REC_STATUS_ABSENT) {
			*ret_missing = indexes[i];
			result = REC_NOT_FOUND;
		}
	rec_snapshot_release(&snapshot);
	return result;
}

int rec_references_check(const struct rec_references *r, struct rec_store *s, size_t *ret_missing,
			 struct rec_error *error)
{
	const struct rec_allocator *a = r->arena.allocator;
	size_t count = 0;
	for (size_t i = 0; i < r->count; i++)
		count += !(r->items[i].flags & REC_REFERENCE_SEEN);
	if (count == 0)
		return 0;
	struct rec_slice *ids = rec_zalloc(a, count, sizeof *ids);
	uint32_t *indexes = rec_zalloc(a, count, sizeof *indexes);
	int result = ids && indexes ? 0 : rec_fail_nomem(error);
	count = 0;
	for (size_t i = 0; result == 0 && i < r->count; i++)
		if (!(r->items[i].flags & REC_REFERENCE_SEEN)) {
			indexes[count] = (uint32_t)i;
			ids[count++] = r->ids[i];
		}
	if (result == 0)
		result = unseen_lookup(s, ids, indexes, count, ret_missing, error);
	rec_free(a, ids);
	rec_free(a, indexes);
	return result;
}

int rec_references_mark_parents(const struct rec_references *r, struct rec_store *s, struct rec_error *error)
{
	for (size_t i = 0; i < r->count; i++) {
		unsigned flags = r->items[i].flags;
		if (!(flags & REC_REFERENCE_PARENT) || (flags & REC_REFERENCE_COMPOSITE))
			continue;
		int result = rec_store_mark_composite(s, r->ids[i], error);
		if (result < 0)
			return result;
	}
	return 0;
}
