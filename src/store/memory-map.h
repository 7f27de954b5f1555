/* memory-map.h - an ordered map from a key of bytes to an immutable row, in two versions: the committed one,
 * which everybody may read, and the working one of the group that is open. A lookup costs O(log N); a new key
 * also moves N / 10,000 bytes or so; commit and rollback cost O(keys touched), need no memory and cannot fail.
 */
#ifndef REC_STORE_MEMORY_MAP_H
#define REC_STORE_MEMORY_MAP_H

#include "base/memory.h"
#include "base/slice.h"

/* The head of every row. Rows are never changed once they are in a map; they are shared by counting. */
struct rec_memory_row {
	uint32_t references;
};

struct rec_memory_node;
struct rec_memory_branch;

struct rec_memory_map {
	const struct rec_allocator *allocator;
	struct rec_memory_branch *branches; /* one a leaf, in the order of their keys; no leaf is empty */
	size_t branch_count, branch_capacity;
	/* Nodes whose working row may differ from the committed one, in the order in which they were put. */
	struct rec_memory_node *dirty, *dirty_last;
};

/* Which of the two versions a reader sees. */
enum rec_memory_view { REC_MEMORY_COMMITTED, REC_MEMORY_WORKING };

void rec_memory_map_init(struct rec_memory_map *m, const struct rec_allocator *a);
void rec_memory_map_release(struct rec_memory_map *m);

/* The row, or NULL; valid until the next commit or rollback of the map. */
void *rec_memory_map_get(const struct rec_memory_map *m, enum rec_memory_view view, struct rec_slice key);
/* Puts `row` (NULL: removes) into the working version. Takes over one reference of row, also on failure.
 * 0 or REC_E_NOMEM. */
int rec_memory_map_put(struct rec_memory_map *m, struct rec_slice key, void *row);
/* Calls fn for each key whose working row was put since the last commit or rollback, in the order in which they first
 * were, with both rows (NULL: none). fn must not put. Its first negative result ends it. */
typedef int rec_memory_dirty_fn(void *context, struct rec_slice key, void *committed, void *working);
int rec_memory_map_dirty(const struct rec_memory_map *m, rec_memory_dirty_fn *fn, void *context);
void rec_memory_map_commit(struct rec_memory_map *m);
void rec_memory_map_rollback(struct rec_memory_map *m);

/* Walks rows in bytewise order of their keys, from the first key >= from. While it walks, rows may be removed or
 * replaced, but no new key put. */
struct rec_memory_cursor {
	const struct rec_memory_map *map;
	enum rec_memory_view view;
	size_t branch, position;
};
void rec_memory_cursor_init(struct rec_memory_cursor *c, const struct rec_memory_map *m, enum rec_memory_view view,
			    struct rec_slice from);
/* The next row, or NULL at the end; *ret_key (may be NULL) lives as long as the row. */
void *rec_memory_cursor_next(struct rec_memory_cursor *c, struct rec_slice *ret_key);

/* A row of `size` bytes with one reference; NULL: no memory. */
void *rec_memory_row_new(const struct rec_allocator *a, size_t size);
void *rec_memory_row_share(void *row); /* one reference more; returns row */
void rec_memory_row_drop(const struct rec_allocator *a, void *row);

#endif
