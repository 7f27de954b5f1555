/* exchange-references.h - the ids that an import's tasks name as parents or dependencies, each once, with the
 * place where it was named first. Holds for each distinct id its bytes and about 60 more. */
#ifndef REC_ENGINE_EXCHANGE_REFERENCES_H
#define REC_ENGINE_EXCHANGE_REFERENCES_H

#include "base/idmap.h"
#include "store/store.h"

struct rec_place {
	uint64_t line, column, offset;
};

enum rec_reference_flags {
	REC_REFERENCE_PARENT = 1,    /* named as a parent (else only as a dependency) */
	REC_REFERENCE_SEEN = 2,      /* a task with this id was imported after it was named */
	REC_REFERENCE_COMPOSITE = 4, /* ... and was known to be a parent by then */
	REC_REFERENCE_AS_PARENT = 8, /* the place is that of a parent_id */
};
struct rec_reference {
	struct rec_place place;
	unsigned flags;
};

struct rec_references {
	struct rec_arena arena;
	struct rec_slice *ids;
	struct rec_reference *items;
	size_t count, ids_capacity, items_capacity;
	struct rec_idmap map;
};
void rec_references_init(struct rec_references *r, const struct rec_allocator *a);
void rec_references_release(struct rec_references *r);
int rec_references_add(struct rec_references *r, struct rec_slice id, bool parent, struct rec_place place,
		       struct rec_error *error);
/* Notes that a task with this id is there now; tells whether it was named as a parent before. */
bool rec_references_seen(struct rec_references *r, struct rec_slice id);
/* Every id that was not seen must be in the store: 0, REC_NOT_FOUND with the first missing one, or an error.
 * One snapshot of the unseen ones. */
int rec_references_check(const struct rec_references *r, struct rec_store *s, size_t *ret_missing,
			 struct rec_error *error);
/* Marks every parent that could not be stored as composite because it came before its children. */
int rec_references_mark_parents(const struct rec_references *r, struct rec_store *s, struct rec_error *error);

#endif
