/* batch.h - making batches and taking them up again, each one durable step. */
#ifndef REC_CONDUCTOR_BATCH_H
#define REC_CONDUCTOR_BATCH_H

#include "store/store.h"

/* A new batch with these tasks, in this order; ids == NULL: every READY task that is not composite, in id order.
 * Duplicates count once. Writes BATCH_STARTED. *ret_count: how many. 0; REC_EXISTS; REC_NOT_FOUND: a task is missing,
 * its index in *ret_missing (may be NULL) and nothing written. O(tasks log N), one group. */
int rec_batch_start(struct rec_store *s, const struct rec_batch *batch, const struct rec_slice *ids, size_t count,
		    size_t *ret_count, size_t *ret_missing, struct rec_error *error);
/* Takes a batch up again: RUNNING, owned by `owner`; its FAILED tasks go to READY first, and all that is not DONE or
 * MERGED starts with a full budget. Only while the caller holds the batch (slots.hold), so that a crashed one (still
 * RUNNING) can be told from a living one. REC_NOT_FOUND; REC_REFUSED: it is COMPLETED. One group. */
int rec_batch_resume(struct rec_store *s, struct rec_slice batch_id, struct rec_slice owner, struct rec_error *error);
/* Ends a batch that has no living conductor: CANCELLED. Only while the caller holds it. REC_NOT_FOUND; REC_REFUSED: it
 * has ended. */
int rec_batch_cancel(struct rec_store *s, struct rec_slice batch_id, struct rec_error *error);

#endif
