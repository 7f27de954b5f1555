/* loop.h - runs one batch to its end on real processes: the driver, the slots, the store's wake-ups, signals and
 * the clock, in one loop of one thread.
 *
 * Signals, as an operator expects them: the first SIGINT drains (nothing new starts, what runs goes on), a
 * second one, or SIGTERM, stops what runs and gives its tasks back; SIGHUP is ignored, so a batch goes on without its
 * terminal. They are blocked and read from a descriptor; no handler is installed. They stay blocked
 * afterwards, so that one key too many does not turn the end of a batch into a death by signal: a caller that goes on
 * restores them. */
#ifndef REC_CONDUCTOR_LOOP_H
#define REC_CONDUCTOR_LOOP_H

#include "conductor/driver.h"
#include "conductor/outside.h"
#include "conductor/shim-slots.h"

struct rec_loop_options {
	struct rec_driver_options driver; /* .slots is filled in */
	struct rec_shim_options slots;
	struct rec_trackers *trackers; /* lent; asked about links at the driver's reconcile interval. NULL: none */
	bool close_issues;             /* close what is linked to tasks that the batch finishes */
	/* For a live view: called at most every refresh_us, and only while something may have changed or time passes
	 * for what runs; 0: never. */
	int64_t refresh_us;
	void (*refresh)(void *context, const struct rec_driver *driver, int64_t now_us);
	/* Once the batch is held and read, before its first step. NULL: not called. */
	void (*begun)(void *context, const struct rec_driver *driver);
	/* After each step, once what it committed can be read. NULL: not called. */
	void (*stepped)(void *context);
	void *context;
};

struct rec_loop_result {
	enum rec_batch_status outcome;
	int signal; /* the first that asked for the end: SIGINT, SIGTERM; 0: none */
	struct rec_machine_counts counts;
	struct rec_reconciled reconciled;
	uint64_t errors;
	struct rec_outside_counts outside;
};

/* Opens slots, then calls `make` (may be NULL) with the batch held by its lock, so that it can create or resume it;
 * then runs it. 0 with *ret_result; REC_CONFLICT: another living conductor has the batch; whatever `make` gives;
 * an error: the store or the slots cannot go on (what runs lives on and can be adopted). */
typedef int rec_loop_make_fn(void *context, struct rec_error *error);
int rec_loop_run(const struct rec_loop_options *options, rec_loop_make_fn *make, struct rec_loop_result *ret_result,
		 struct rec_error *error);

#endif
