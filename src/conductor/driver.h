/* driver.h - runs a batch: asks the machine what is to be done and does it with the store and the slots.
 *
 * The driver decides nothing about tasks (core/machine.h does) and waits for nothing: whoever owns it (the event loop,
 * the simulator) calls rec_driver_step whenever something may have happened - a slot event, the store's wake-up, a
 * signal, the time it asked for - and it does all that can be done now.
 *
 * Order, which every crash may cut at any point:
 *
 *     claims: slot record STARTING, claim row and READY -> IN_PROGRESS, commit (several claims, ends and holds in one
 *             group), START to the slot
 *     ends:   the slot's record, then in one group the status, the claim's removal, the batch's row, the event; then
 * the slot may forget
 *
 * Recovery: claims whose batch is held by no living conductor are taken over: watched to their end, recorded if they
 * ended, given back if they never started, lost if nothing is known of them. They end in their own batch. Those of
 * another host (driver-lease.c) are left alone while their owner's lease lasts, and lost after that.
 */
#ifndef REC_CONDUCTOR_DRIVER_H
#define REC_CONDUCTOR_DRIVER_H

#include "base/clock.h"
#include "conductor/slots.h"
#include "core/machine.h"
#include "store/store.h"

struct rec_driver;

struct rec_driver_options {
	struct rec_store *store; /* lent, open for writing; its roll-up listener is taken */
	struct rec_slots slots;
	const struct rec_allocator *allocator; /* NULL: libc's */
	const struct rec_clock *clock;         /* NULL: the real one */
	struct rec_slice batch_id, owner;      /* owner: for people, goes into claims. Both must outlive the driver */
	struct rec_slice
		host;     /* on a store that hosts share: how each owner of this host ends; data == NULL: no leases */
	int64_t lease_us; /* 0: 10 minutes */
	struct rec_machine_options machine; /* allocator is taken from above */
	int64_t reconcile_interval_us;      /* look at everything that changed at least so often; 0: only when woken */
	bool child_owns_run;
	bool all_ready; /* with machine.wait: tasks that become READY later join the batch */
	/* What was written to the audit log, once it is committed (without seq), and (without time too) what could not
	 * be; for the terminal and logs. May be NULL. Must not call back. */
	void (*tell)(void *context, const struct rec_event *event);
	/* A task was finished by an attempt of its own. Called in the group that records it, so what is written to the
	 * store here commits with that, or not at all (and is called again). 0 or a fault of the store. May be NULL. */
	int (*finishing)(void *context, struct rec_slice task_id, int64_t attempt, struct rec_error *error);
	void *context;
};

/* Takes hold of the batch (slots.hold), reads what it durably knows and the tasks, and recovers what dead conductors
 * left. The batch must exist and be RUNNING. 0; REC_CONFLICT: another living conductor has it; REC_NOT_FOUND;
 * REC_REFUSED: it has ended. O(tasks of the batch + dependencies), or of the store. */
int rec_driver_new(const struct rec_driver_options *options, struct rec_driver **ret_driver, struct rec_error *error);
/* Lets go of everything in memory; what runs goes on under its slots. NULL is fine; returns NULL. */
struct rec_driver *rec_driver_free(struct rec_driver *d);

/* Does all that can be done now. 0: call again at *ret_due_us (monotonic; INT64_MAX: only when something happens) or
 * earlier; REC_END: the batch has ended, and that is in the store. Negative: only what can never mend itself
 * (REC_E_CORRUPT, REC_E_BUG, slots that failed) and REC_E_NOMEM (call again); faults that may pass are retried with a
 * growing pause and told as RECONCILIATION_ERROR. Idle: O(1). */
int rec_driver_step(struct rec_driver *d, int64_t *ret_due_us, struct rec_error *error);
/* Whether nobody else has committed since the last step: then a step that is not due and that no slot event asks for
 * finds nothing. O(1), and far cheaper than a step. */
bool rec_driver_is_quiet(struct rec_driver *d);
/* Start nothing new; what runs goes on. */
void rec_driver_drain(struct rec_driver *d);
/* Stop what runs as well; its tasks go back to READY. Takes effect with the next step. */
void rec_driver_force(struct rec_driver *d);

/* The batch's outcome once step returned REC_END. */
enum rec_batch_status rec_driver_outcome(const struct rec_driver *d);
/* For views: phases, counts, what reconciliation did. */
const struct rec_machine *rec_driver_machine(const struct rec_driver *d);
/* Checks that failed and were tried again. */
uint64_t rec_driver_errors(const struct rec_driver *d);
/* How often it has committed. */
uint64_t rec_driver_commits(const struct rec_driver *d);
/* Things that cannot happen and did (REC_E_BUG of the machine); 0 unless there is a fault in the program. */
uint64_t rec_driver_bugs(const struct rec_driver *d);

/* ---- Looks, for those who read the store on another thread ------------------------------------------ */

/* Step looks at the store itself unless rec_driver_look_apart(d, true) was called; then the caller does, in three
 * parts. Results that were overtaken by own commits are dropped, and looked at again. */
void rec_driver_look_apart(struct rec_driver *d, bool apart);
struct rec_look;
/* What is to be looked at, from the change feed and the machine. 0 with *ret_look; REC_END: nothing. */
int rec_driver_look_begin(struct rec_driver *d, struct rec_look **ret_look, struct rec_error *error);
/* Reads; touches nothing but the look and that store, which may be another handle. */
int rec_look_read(struct rec_look *look, struct rec_store *store, struct rec_error *error);
/* For one that will not be ended. NULL is fine; returns NULL. */
struct rec_look *rec_look_free(struct rec_look *look);
/* Tells the machine, or (failed) remembers to look again. Frees the look. 0, REC_E_NOMEM (not freed, call again). */
int rec_driver_look_end(struct rec_driver *d, struct rec_look *look, int read_result,
			const struct rec_error *read_error);

#endif
