/* watch-table.h - the tasks a watch knows: id, belief, the last verdict; found by id, queued when they must be
 * looked at. Slots are reused, so a long watch over many short-lived tasks does not grow. */
#ifndef REC_ENGINE_WATCH_TABLE_H
#define REC_ENGINE_WATCH_TABLE_H

#include "base/error.h"
#include "base/idmap.h"
#include "core/decide.h"

enum rec_watched_flags {
	REC_WATCHED_USED = 1,   /* the slot holds a task */
	REC_WATCHED_NAMED = 2,  /* it was named: never dropped */
	REC_WATCHED_KNOWN = 4,  /* it has a verdict */
	REC_WATCHED_QUEUED = 8, /* it waits to be looked at */
	REC_WATCHED_SEEN = 16,  /* it was in the full snapshot being told */
};

struct rec_watched {
	char *id; /* the memory that ids[slot] shows */
	struct rec_verdict verdict;
	uint8_t believed; /* enum rec_status */
	uint8_t flags;
	uint32_t raw_hash; /* of the stored text, if the verdict's stored is UNRECOGNISED; else 0 */
	uint32_t next;     /* in the queue, or among the free slots */
};

struct rec_watch_table {
	const struct rec_allocator *allocator;
	struct rec_watched *items; /* [slots] */
	struct rec_slice *ids;     /* [slots] */
	size_t slots, capacity, ids_capacity;
	struct rec_idmap map;
	uint32_t free_first;
	uint32_t queue_first, queue_last;
	size_t queued;
};
void rec_watch_table_init(struct rec_watch_table *t, const struct rec_allocator *a, uint64_t hash_seed);
void rec_watch_table_release(struct rec_watch_table *t);
/* REC_IDMAP_NONE: not there. */
uint32_t rec_watch_table_find(const struct rec_watch_table *t, struct rec_slice id);
/* The slot of id, made if need be (believed ABSENT). 0, REC_E_NOMEM, REC_E_LIMIT. Moves items and ids. */
int rec_watch_table_add(struct rec_watch_table *t, struct rec_slice id, uint32_t *ret_slot, struct rec_error *error);
/* It must not be queued. */
void rec_watch_table_drop(struct rec_watch_table *t, uint32_t slot);
/* First in, first out; a task is queued once. */
void rec_watch_table_queue(struct rec_watch_table *t, uint32_t slot);
/* Takes the first, which must be there. */
uint32_t rec_watch_table_unqueue(struct rec_watch_table *t);

#endif
