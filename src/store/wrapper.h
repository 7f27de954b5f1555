/* wrapper.h - what the wrappers of store.h share among themselves. Backends do not include this. */
#ifndef REC_STORE_WRAPPER_H
#define REC_STORE_WRAPPER_H

#include "store/backend.h"

/* ---- Entering and leaving a call (store.c) ---- */

/* Which positive outcomes a call documents, as a set. */
#define REC_MAY(outcome) (1u << (outcome))
#define REC_MAY_ANY (~0u) /* a callback may end it with any result */

/* A read begins: refused in a failed group or from a callback. Clears *error's code. */
int rec_read_enter(struct rec_store *s, struct rec_error *error);
/* A read ends with r: an undocumented result becomes REC_E_BUG, a negative one fails the group. Returns the result. */
int rec_read_leave(struct rec_store *s, const char *call, int r, unsigned may, struct rec_error *error);

/* A write begins: refused also on a store that cannot be written to; *ret_own tells whether a group of its own was
 * opened for it. */
int rec_write_enter(struct rec_store *s, bool *ret_own, struct rec_error *error);
/* A write ends with r: its own group is committed (0) or rolled back. */
int rec_write_leave(struct rec_store *s, const char *call, bool own, int r, unsigned may, struct rec_error *error);
/* A write was refused before anything was asked of the backend. Fails an open group, as any negative result. */
int rec_write_refuse(struct rec_store *s, int r, const struct rec_error *error);

/* ---- Arguments (argument.c): 0 or REC_E_INVALID naming what is wrong and where ---- */

int rec_argument_id(const char *what, struct rec_slice id, struct rec_error *error);
int rec_argument_text(const char *what, struct rec_slice text, size_t bytes_max, struct rec_error *error);
int rec_argument_status(const char *what, enum rec_status status, struct rec_error *error);
int rec_argument_task(const struct rec_task *task, const struct rec_allocator *a, struct rec_error *error);
int rec_argument_edit(const struct rec_task *task, unsigned fields, struct rec_error *error);
int rec_argument_blocker(const struct rec_blocker *blocker, struct rec_error *error);
int rec_argument_event(const struct rec_event *event, struct rec_error *error);
int rec_argument_claim(const struct rec_claim *claim, struct rec_error *error);
int rec_argument_owner(struct rec_slice owner, struct rec_error *error); /* may be absent */
int rec_argument_finish(const struct rec_finish *finish, struct rec_error *error);
int rec_argument_batch(const struct rec_batch *batch, struct rec_error *error);
int rec_argument_batch_task(const struct rec_batch_task *task, struct rec_error *error);
int rec_argument_url(const char *what, struct rec_slice url,
		     struct rec_error *error);                           /* of a link that may be kept already */
int rec_argument_url_new(struct rec_slice url, struct rec_error *error); /* of a link to be made */
int rec_argument_link(const struct rec_link *link, struct rec_error *error);
int rec_argument_cursor(struct rec_slice tracker, struct rec_slice key, struct rec_slice value,
			struct rec_error *error);

/* ---- Roll-up (rollup.c), inside a group ---- */

/* Rolls up the parents of `child`, climbing as long as something changes. */
int rec_rollup_parents(struct rec_store *s, struct rec_slice child, rec_rollup_fn *fn, void *context,
		       struct rec_error *error);
/* Rolls up `parent`, which lost or gained the child `child`, and its parents. */
int rec_rollup_from(struct rec_store *s, struct rec_slice child, struct rec_slice parent, rec_rollup_fn *fn,
		    void *context, struct rec_error *error);

/* ---- Snapshots (snapshot.c) ---- */

/* Ready to be filled: facts for the ids, all ABSENT; none yet when ids == NULL. Release it in any case. */
int rec_snapshot_init(struct rec_snapshot *out, const struct rec_allocator *a, const struct rec_slice *ids,
		      size_t count, struct rec_error *error);

/* So that rec_snapshot_raw finds them. */
void rec_snapshot_sort_raws(struct rec_snapshot *snapshot);

/* ---- Warnings (warn.c) ---- */

struct rec_warned *rec_warned_free(const struct rec_allocator *a, struct rec_warned *warned); /* returns NULL */

#endif
