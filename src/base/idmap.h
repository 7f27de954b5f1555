/* idmap.h - from an id to its index, for lists of up to 3 * 2^30 ids. Open addressing, average O(1); 11 bytes of
 * memory an id when reserved, 11 to 22 while growing. The map does not own the ids: the caller keeps them in an
 * array of slices (or gives them back through the array pointer at each call). Seeded, so hostile ids cannot
 * line up. */
#ifndef REC_BASE_IDMAP_H
#define REC_BASE_IDMAP_H

#include "base/memory.h"
#include "base/slice.h"

#define REC_IDMAP_NONE UINT32_MAX

struct rec_idmap {
	const struct rec_allocator *allocator;
	uint64_t *cells; /* low half: index + 1, high half: hash bits; 0 = empty */
	size_t capacity, count;
	uint64_t seed;
};
void rec_idmap_init(struct rec_idmap *m, const struct rec_allocator *a, uint64_t seed);
void rec_idmap_release(struct rec_idmap *m);
int rec_idmap_reserve(struct rec_idmap *m, size_t count); /* 0, REC_E_NOMEM, REC_E_LIMIT */
/* The index of `id` among ids[] or REC_IDMAP_NONE. */
uint32_t rec_idmap_find(const struct rec_idmap *m, const struct rec_slice *ids, struct rec_slice id);
/* The same for many at once, out[i] for queries[i]; in a large map about twice as fast, because the waits
 * for memory overlap. Worth it from about 8 queries on. */
void rec_idmap_find_many(const struct rec_idmap *m, const struct rec_slice *ids, const struct rec_slice *queries,
			 size_t count, uint32_t *out);
/* Adds ids[index]; if an equal id is there already, adds nothing and returns its index in *ret_first with
 * outcome REC_EXISTS. 0, REC_EXISTS, REC_E_NOMEM, REC_E_LIMIT. */
int rec_idmap_add(struct rec_idmap *m, const struct rec_slice *ids, uint32_t index, uint32_t *ret_first);
/* Removes `id` (backward shift, no tombstones). Returns whether it was there. */
bool rec_idmap_remove(struct rec_idmap *m, const struct rec_slice *ids, struct rec_slice id);
/* For tables in memory only: the value may change with the version and the machine. */
uint64_t rec_hash(struct rec_slice bytes, uint64_t seed);

#endif
