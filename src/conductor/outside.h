/* outside.h - what the trackers say, while a batch runs: passes over every link of the store at the reconcile interval,
 * applied to the store as they come. The driver then sees what changed there as it sees any other outside change.
 *
 * Nothing here waits for a tracker. Links of tasks outside the batch are kept up to date too: the batch may depend on
 * them, and a tracker tells what changed in a repository for the price of one question, however many links there are.
 * A tracker that cannot be reached changes nothing but one warning; it is asked again after pauses that double. Each
 * has passes of its own: one that hangs delays nothing of the others.
 */
#ifndef REC_CONDUCTOR_OUTSIDE_H
#define REC_CONDUCTOR_OUTSIDE_H

#include "conductor/slots.h"
#include "store/store.h"
#include "tracker/tracker.h"

struct rec_outside;

struct rec_outside_options {
	struct rec_store *store;       /* lent, open for writing: the driver's */
	struct rec_trackers *trackers; /* lent */
	struct rec_slots slots;        /* lent: who holds a batch; without ops, nothing is taken over from others */
	struct rec_slice batch_id;     /* goes into the events; must outlive it, as host must */
	struct rec_slice host;         /* on a store that hosts share: ours, as the driver's; else absent */
	int64_t interval_us; /* between passes, of trackers without an interval of their own; 0: none are made */
	bool close_issues;   /* close what is linked to a task that this batch finished; else only where the
			      * task itself says so (auto_close_github_issue) */
	const struct rec_allocator *allocator; /* NULL: libc's */
	const struct rec_clock *clock;         /* NULL: the real one */
	/* Warnings and what was done, like the driver's; these events are in the audit log already, or (a tracker that
	 * cannot be reached) belong only to people. May be NULL. */
	void (*tell)(void *context, const struct rec_event *event);
	void *context;
};

/* What trackers did to this run. */
struct rec_outside_counts {
	uint64_t passes;      /* that were made, each of one tracker */
	uint64_t changed;     /* statuses written because of them */
	uint64_t closed;      /* items closed there */
	uint64_t unreachable; /* trackers that could not be asked, each outage once */
};

/* 0, REC_E_NOMEM. */
int rec_outside_new(const struct rec_outside_options *options, struct rec_outside **ret_outside,
		    struct rec_error *error);
struct rec_outside *rec_outside_free(struct rec_outside *o); /* NULL is fine; returns NULL */

/* Does what can be done now. *ret_due_us: call again then (monotonic), or earlier if the descriptor is readable.
 * *ret_wrote: statuses may have changed: the driver should look. Faults of the store end the pass or, where
 * they cannot pass, the asking; they are told once. Negative: REC_E_NOMEM (call again), REC_E_CORRUPT, REC_E_BUG. */
int rec_outside_step(struct rec_outside *o, int64_t *ret_due_us, bool *ret_wrote, struct rec_error *error);
int rec_outside_fd(const struct rec_outside *o);
/* The batch is finishing a task by its own attempt: that its items are to be closed, if that is wanted, is written down
 * in the group that is open. For `finishing` of the driver. 0, or a fault of the store. */
int rec_outside_finishing(struct rec_outside *o, struct rec_slice task_id, int64_t attempt, struct rec_error *error);
/* It has finished it, and that will last: the items are closed from now on. For `tell` of the driver: touches no
 * store. */
void rec_outside_finished(struct rec_outside *o, struct rec_slice task_id, int64_t attempt);
/* The batch has ended: waits at most limit_us for items that are being closed. */
void rec_outside_finish(struct rec_outside *o, int64_t limit_us);
struct rec_outside_counts rec_outside_counts(const struct rec_outside *o);

#endif
