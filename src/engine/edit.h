/* edit.h - changes a person or program makes on purpose, each one durable step with its event. Inside a group of
 * the caller's they become part of it. Create, edit and delete use the store's place for a listener of roll-ups and
 * leave it empty. */
#ifndef REC_ENGINE_EDIT_H
#define REC_ENGINE_EDIT_H

#include "store/store.h"

/* Sets a status. Without force the shortest legal path must exist (else REC_REFUSED with *ret_current and
 * nothing written). Force writes any status and says so in the event (detail "forced"). Events:
 * TASK_STATUS_CHANGED for the task, and for each parent the roll-up moved (source "rollup"). *ret_current
 * is what the task had (also on REC_REFUSED). REC_NOT_FOUND. from == to: 0, nothing written, no event.
 * source: "person", "import", "retry"... goes into the event. */
int rec_edit_set_status(struct rec_store *s, struct rec_slice id, enum rec_status to, bool force, const char *source,
			enum rec_status *ret_current, struct rec_error *error);
/* FAILED -> READY; REC_REFUSED if not FAILED (*ret_current). */
int rec_edit_retry(struct rec_store *s, struct rec_slice id, enum rec_status *ret_current, struct rec_error *error);
/* As rec_store_create, with an event (TASK_CREATED). A missing id is made; *ret_id is filled in (at least
 * REC_ID_BYTES_MAX + 1 bytes). parent and dependencies must exist unless they are in the same group
 * (REC_E_INVALID names the missing one). */
int rec_edit_create(struct rec_store *s, struct rec_task *task, char ret_id[REC_ID_BYTES_MAX + 1],
		    struct rec_error *error);
int rec_edit_delete(struct rec_store *s, struct rec_slice id, struct rec_error *error);
/* As rec_store_edit, with an event (TASK_EDITED), checked that a new parent does not make a ring of parents. */
int rec_edit_task(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error);
/* BLOCKER_CREATED, BLOCKER_ANSWERED, BLOCKER_RESOLVED events. A missing blocker id is made. */
int rec_edit_blocker_create(struct rec_store *s, struct rec_blocker *blocker, char ret_id[REC_ID_BYTES_MAX + 1],
			    struct rec_error *error);
int rec_edit_blocker_answer(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error);
int rec_edit_blocker_resolve(struct rec_store *s, struct rec_slice id, struct rec_error *error);

/* As rec_store_link_put and rec_store_link_remove, with an event each: TASK_LINKED, TASK_UNLINKED; detail is the
 * address (absent when all of a task's were taken). */
int rec_edit_link(struct rec_store *s, struct rec_slice id, struct rec_slice url, struct rec_error *error);
int rec_edit_unlink(struct rec_store *s, struct rec_slice id, struct rec_slice url, struct rec_error *error);

#endif
