/* queue.c - the textbook heap: the hole moves, not the pairs, so each step writes one item. */
#include "core/queue.h"

#include <assert.h>

void rec_queue_init(struct rec_queue *q, const struct rec_allocator *a,
		    bool (*before)(const void *context, uint32_t a, uint32_t b),
		    void (*placed)(void *context, uint32_t item, uint32_t place), void *context)
{
	*q = (struct rec_queue){.allocator = a, .before = before, .placed = placed, .context = context};
}

void rec_queue_release(struct rec_queue *q)
{
	q->items = rec_free(q->allocator, q->items);
	q->count = q->capacity = 0;
}

int rec_queue_reserve(struct rec_queue *q, size_t count)
{
	void *items = q->items;
	int r = rec_grow(q->allocator, &items, &q->capacity, count, sizeof *q->items);
	q->items = items;
	return r;
}

static void put(struct rec_queue *q, size_t place, uint32_t item)
{
	q->items[place] = item;
	q->placed(q->context, item, (uint32_t)place);
}

static size_t rise(struct rec_queue *q, size_t hole, uint32_t item)
{
	while (hole > 0) {
		size_t parent = (hole - 1) / 2;
		if (!q->before(q->context, item, q->items[parent]))
			break;
		put(q, hole, q->items[parent]);
		hole = parent;
	}
	return hole;
}

static size_t sink(struct rec_queue *q, size_t hole, uint32_t item)
{
	for (;;) {
		size_t child = 2 * hole + 1;
		if (child >= q->count)
			return hole;
		if (child + 1 < q->count && q->before(q->context, q->items[child + 1], q->items[child]))
			child++;
		if (!q->before(q->context, q->items[child], item))
			return hole;
		put(q, hole, q->items[child]);
		hole = child;
	}
}

void rec_queue_add(struct rec_queue *q, uint32_t item)
{
	assert(q->count < q->capacity);
	q->count++;
	put(q, rise(q, q->count - 1, item), item);
}

uint32_t rec_queue_first(const struct rec_queue *q)
{
	return q->count ? q->items[0] : REC_QUEUE_OUT;
}

void rec_queue_remove(struct rec_queue *q, uint32_t place)
{
	assert(place < q->count);
	q->placed(q->context, q->items[place], REC_QUEUE_OUT);
	uint32_t last = q->items[--q->count];
	if (place == q->count)
		return;
	q->items[place] = last;
	rec_queue_moved(q, place);
}

void rec_queue_moved(struct rec_queue *q, uint32_t place)
{
	assert(place < q->count);
	uint32_t item = q->items[place];
	put(q, sink(q, rise(q, place, item), item), item);
}
