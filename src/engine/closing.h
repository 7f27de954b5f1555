/* closing.h - items that are to be closed at their trackers because a batch finished their task, kept in the store
 * until that is done: one for each link, put in the group that makes the task DONE, taken away in the one that records
 * the close. So who dies in between forgets none, and closes none again that a person has reopened since.
 *
 * They are a list of our own beside the trackers' cursors (store.h), in every kind of store.
 */
#ifndef REC_ENGINE_CLOSING_H
#define REC_ENGINE_CLOSING_H

#include "base/sha256.h"
#include "store/store.h"

struct rec_closing {
	char key[REC_SHA256_HEX_BYTES];
	struct rec_slice task_id, url; /* where to close it */
	struct rec_slice batch_id;     /* that finished the task */
	int64_t attempt;
	struct rec_slice holder; /* the batch that sees to it: that one, or one that came after it */
	struct rec_slice host;   /* of the holder; optional: on a store of one host there is no other */
};

/* The key of a link: its task and the address that it was linked by, wherever that has moved since. 0, REC_E_NOMEM. */
int rec_closing_key(struct rec_slice task_id, struct rec_slice link_url, const struct rec_allocator *a,
		    char out[REC_SHA256_HEX_BYTES]);
/* Inside a group or not. What the store's cursors give otherwise: REC_E_UNSUPPORTED, REC_E_UNINITIALISED. */
int rec_closing_put(struct rec_store *s, const struct rec_closing *c, struct rec_error *error);
/* None there is fine. */
int rec_closing_drop(struct rec_store *s, const char *key, struct rec_error *error);

/* All of them, into `arena`; what cannot be read is passed over. 0, REC_E_NOMEM, or a fault of the store. */
struct rec_closings {
	struct rec_closing *items;
	size_t count, capacity;
};
int rec_closings_read(struct rec_store *s, struct rec_arena *arena, struct rec_closings *ret_closings,
		      struct rec_error *error);
void rec_closings_release(struct rec_closings *all, const struct rec_allocator *a);

#endif
