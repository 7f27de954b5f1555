/* moves.h - parents that the roll-up moved, kept until the write is over: a callback of the store must not
 * call it. Then one TASK_STATUS_CHANGED event each: current_status is what the parent had, detail what it has
 * now, source "rollup". */
#ifndef REC_ENGINE_MOVES_H
#define REC_ENGINE_MOVES_H

#include "store/store.h"

struct rec_moves {
	struct rec_arena arena;
	struct rec_move {
		struct rec_slice id;
		enum rec_status from, to;
	} * items;
	size_t count, capacity;
	bool failed; /* out of memory; rec_moves_record says so */
};
void rec_moves_init(struct rec_moves *m, const struct rec_allocator *a);
void rec_moves_release(struct rec_moves *m);
/* A rec_rollup_fn with the moves as its context. */
void rec_moves_add(void *moves, const struct rec_rollup_change *change);
/* Writes the events, in the order of the moves, and forgets them. batch_id is optional. */
int rec_moves_record(struct rec_moves *m, struct rec_store *s, struct rec_slice batch_id, struct rec_error *error);

#endif
