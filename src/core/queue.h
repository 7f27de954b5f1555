/* queue.h - a priority queue of numbers that knows where each of them stands. Pure.
 *
 * A binary heap of item numbers. The order is the caller's; so is the memory of an item's place, which the queue
 * reports through `placed` whenever it changes, so that any item can be taken out or moved in O(log n).
 */
#ifndef REC_CORE_QUEUE_H
#define REC_CORE_QUEUE_H

#include <stdbool.h>

#include "base/memory.h"

#define REC_QUEUE_OUT UINT32_MAX /* the place of an item that is not in the queue */

struct rec_queue {
	const struct rec_allocator *allocator;
	uint32_t *items;
	size_t count, capacity;
	bool (*before)(const void *context, uint32_t a, uint32_t b); /* a strict order */
	void (*placed)(void *context, uint32_t item, uint32_t place);
	void *context;
};
void rec_queue_init(struct rec_queue *q, const struct rec_allocator *a,
		    bool (*before)(const void *context, uint32_t a, uint32_t b),
		    void (*placed)(void *context, uint32_t item, uint32_t place), void *context);
void rec_queue_release(struct rec_queue *q);
/* Room for `count` items in all, so that rec_queue_add cannot fail. 0, REC_E_NOMEM. */
int rec_queue_reserve(struct rec_queue *q, size_t count);
/* There must be room. O(log n). */
void rec_queue_add(struct rec_queue *q, uint32_t item);
/* The first item, REC_QUEUE_OUT if there is none. O(1). */
uint32_t rec_queue_first(const struct rec_queue *q);
/* Takes out the item at `place`. O(log n). */
void rec_queue_remove(struct rec_queue *q, uint32_t place);
/* The item at `place` changed its rank. O(log n). */
void rec_queue_moved(struct rec_queue *q, uint32_t place);

#endif
