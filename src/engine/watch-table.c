/* watch-table.c - two flat arrays with one slot a task; the queue and the list of free slots run through them. */
#include "engine/watch-table.h"

void rec_watch_table_init(struct rec_watch_table *t, const struct rec_allocator *a, uint64_t hash_seed)
{
	*t = (struct rec_watch_table){.allocator = a,
				      .free_first = REC_IDMAP_NONE,
				      .queue_first = REC_IDMAP_NONE,
				      .queue_last = REC_IDMAP_NONE};
	rec_idmap_init(&t->map, a, hash_seed);
}

void rec_watch_table_release(struct rec_watch_table *t)
{
	for (size_t slot = 0; slot < t->slots; slot++)
		rec_free(t->allocator, t->items[slot].id);
	rec_free(t->allocator, t->items);
	rec_free(t->allocator, t->ids);
	rec_idmap_release(&t->map);
	rec_watch_table_init(t, t->allocator, 0);
}

uint32_t rec_watch_table_find(const struct rec_watch_table *t, struct rec_slice id)
{
	return rec_idmap_find(&t->map, t->ids, id);
}

/* A slot to be filled: a free one, or one more (not counted yet). */
static int slot_find(struct rec_watch_table *t, uint32_t *ret_slot)
{
	if (t->free_first != REC_IDMAP_NONE) {
		*ret_slot = t->free_first;
		return 0;
	}
	void *items = t->items, *ids = t->ids;
	int r = t->slots >= REC_IDMAP_NONE - 1 ? REC_E_LIMIT : 0;
	if (r == 0)
		r = rec_grow(t->allocator, &items, &t->capacity, t->slots + 1, sizeof *t->items);
	t->items = items;
	if (r == 0)
		r = rec_grow(t->allocator, &ids, &t->ids_capacity, t->slots + 1, sizeof *t->ids);
	t->ids = ids;
	*ret_slot = (uint32_t)t->slots;
	return r;
}

static void slot_take(struct rec_watch_table *t, uint32_t slot)
{
	if (slot == t->free_first)
		t->free_first = t->items[slot].next;
	else
		t->slots++;
	t->items[slot] =
		(struct rec_watched){.believed = REC_STATUS_ABSENT, .flags = REC_WATCHED_USED, .next = REC_IDMAP_NONE};
}

static int slot_fill(struct rec_watch_table *t, struct rec_slice id, uint32_t *ret_slot)
{
	uint32_t slot, first;
	char *copy = rec_strndup(t->allocator, id.data, id.length);
	int r = copy ? slot_find(t, &slot) : REC_E_NOMEM;
	if (r == 0) {
		t->ids[slot] = (struct rec_slice){copy, id.length};
		r = rec_idmap_add(&t->map, t->ids, slot, &first);
	}
	if (r) {
		rec_free(t->allocator, copy);
		return r;
	}
	slot_take(t, slot);
	t->items[slot].id = copy;
	*ret_slot = slot;
	return 0;
}

int rec_watch_table_add(struct rec_watch_table *t, struct rec_slice id, uint32_t *ret_slot, struct rec_error *error)
{
	uint32_t slot = rec_watch_table_find(t, id);
	int r = slot == REC_IDMAP_NONE ? slot_fill(t, id, &slot) : 0;
	if (r == REC_E_LIMIT)
		return rec_fail(error, r, "watch: more than %zu tasks", t->slots);
	if (r)
		return rec_fail_nomem(error);
	*ret_slot = slot;
	return 0;
}

void rec_watch_table_drop(struct rec_watch_table *t, uint32_t slot)
{
	rec_idmap_remove(&t->map, t->ids, t->ids[slot]);
	rec_free(t->allocator, t->items[slot].id);
	t->items[slot] = (struct rec_watched){.next = t->free_first};
	t->free_first = slot;
}

void rec_watch_table_queue(struct rec_watch_table *t, uint32_t slot)
{
	struct rec_watched *item = &t->items[slot];
	if (item->flags & REC_WATCHED_QUEUED)
		return;
	item->flags |= REC_WATCHED_QUEUED;
	item->next = REC_IDMAP_NONE;
	if (t->queued++)
		t->items[t->queue_last].next = slot;
	else
		t->queue_first = slot;
	t->queue_last = slot;
}

uint32_t rec_watch_table_unqueue(struct rec_watch_table *t)
{
	uint32_t slot = t->queue_first;
	struct rec_watched *item = &t->items[slot];
	t->queue_first = item->next;
	item->flags &= (uint8_t)~REC_WATCHED_QUEUED;
	item->next = REC_IDMAP_NONE;
	t->queued--;
	return slot;
}
