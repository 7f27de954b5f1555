/* sync.h - one pass over links: what is to be asked of which tracker, what follows from the answers, and writing it.
 * Sans-IO: whoever drives it does the asking (src/tracker/tracker.h), and may take and apply answers as they come.
 *
 *     rec_sync_new                                   // reads links, statuses, cursors
 *     for each tracker:  rec_sync_question           // ask that; count 0: nothing to ask
 *     for each answer:   rec_sync_take, and rec_sync_cursors with the last of a tracker
 *                        rec_sync_apply              // writes what was taken; not for a mere check
 *     for each tracker:  rec_sync_question again     // what came as old as what is known is read once more
 *     rec_sync_results                               // one result per id
 *     rec_sync_free
 *
 * Nothing is written but by rec_sync_apply: by compare-and-set, decided again inside the write group on what is stored
 * then, one event each, and what is remembered of the link in the same group.
 *
 * Cursors are handled with care, since a helper calls unchanged what it has listed before them. They are written with
 * or after the last observations they came with; not at all while one of these is still to be read again, or could not
 * be taken for what it says, or when another pass has stored cursors meanwhile. A link that is not as the pass left it,
 * or that a pass saw while another moved the cursors on, is asked about in full the next time.
 */
#ifndef REC_ENGINE_SYNC_H
#define REC_ENGINE_SYNC_H

#include "engine/check.h"
#include "tracker/tracker.h"

/* Which trackers there are. All of it must outlive the pass. */
struct rec_sync_trackers {
	const char *const *names; /* each is the source of its results and events, and the key of its cursors */
	size_t count;
	size_t (*find)(const void *context, struct rec_slice url); /* which answers for a URL; REC_TRACKER_NONE */
	const void *context;
};

enum rec_sync_scope {
	REC_SYNC_IDS,    /* the ids given */
	REC_SYNC_ALL,    /* every task, in id order */
	REC_SYNC_LINKED, /* every task with a link of these trackers, in id order; what it costs does not depend on
			    others */
};

struct rec_sync;
/* The ids (only for REC_SYNC_IDS) must outlive the pass. batch_id (optional) goes into the events. Cursors are used
 * only by a pass over all links: one that asked about some would take the news of the others for known. */
int rec_sync_new(struct rec_store *s, const struct rec_sync_trackers *trackers, enum rec_sync_scope scope,
		 const struct rec_slice *ids, size_t count, struct rec_slice batch_id, struct rec_sync **ret_sync,
		 struct rec_error *error);
struct rec_sync *rec_sync_free(struct rec_sync *y); /* NULL is fine; returns NULL */

/* What to ask a tracker next: of each link its address now and (to be sent along) its validator; the cursors. Each
 * address once, in bytewise order. What is gone, and what was merged, is not asked about any more. Given once for each
 * link, and once more, without validator and cursors, for those that have to be read again. Lives as long as y. */
struct rec_sync_question {
	const struct rec_link *links; /* only url and validator */
	size_t count;
	const struct rec_tracker_cursor *cursors;
	size_t cursor_count;
};
int rec_sync_question(struct rec_sync *y, size_t tracker, struct rec_sync_question *ret_question,
		      struct rec_error *error);

/* Observations of a tracker; by the address asked for, in any order; those that nobody asked for are passed over.
 * Everything is copied. Decides; writes nothing. */
int rec_sync_take(struct rec_sync *y, size_t tracker, const struct rec_observation *observations, size_t count,
		  struct rec_error *error);
/* The cursors that came with a tracker's last observations, none too. The first stand: a second reading is asked
 * without cursors about a few, so what its helper would keep knows nothing of the others' news. */
int rec_sync_cursors(struct rec_sync *y, size_t tracker, const struct rec_tracker_cursor *cursors, size_t count,
		     struct rec_error *error);

/* Writes what was taken since the last time; nothing to write: no group is opened. Groups of up to 500 links. A
 * negative result leaves what earlier groups did; calling again does the rest. Not inside a group. Events:
 * RECONCILIATION_TASK_SKIPPED, _KILLED, _REQUEUED where a status was written, RECONCILIATION_TASK_NOTICE where there is
 * only something to tell, and TASK_STATUS_CHANGED for each parent that the roll-up moved. */
int rec_sync_apply(struct rec_sync *y, struct rec_error *error);

/* Results as of now, one per id in order; of several links of a task the one that calls for most. What was asked and
 * not answered is NONE "unknown at the tracker". *ret_applied (may be NULL): [results->snapshot.count], whether a
 * status was written. Both are y's. */
const struct rec_results *rec_sync_results(struct rec_sync *y, const bool **ret_applied);

#endif
