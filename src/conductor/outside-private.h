/* outside-private.h - what outside.c and outside-close.c share. */
#ifndef REC_CONDUCTOR_OUTSIDE_PRIVATE_H
#define REC_CONDUCTOR_OUTSIDE_PRIVATE_H

#include "base/clock.h"
#include "conductor/outside.h"
#include "engine/closing.h"
#include "engine/sync.h"
#include "tracker/report.h"

#define FINISHED_MAX                                                                                                   \
	10000u /* tasks whose items wait to be looked up; beyond that they are found in the store later                \
		*/

/* One tracker, whose passes know of no other. */
struct watched {
	const struct rec_outside *outside;
	const char *name;
	struct rec_sync_trackers who; /* it alone */
	struct rec_sync *sync;        /* its pass; NULL: none */
	int64_t due_us;               /* of the next pass */
	int64_t told_us;              /* when an outage was last told; 0: never */
	int64_t kept_us;              /* when its health was last left in the store; 0: never */
	enum rec_tracker_state kept;
	bool down;  /* the outage is known */
	bool asked; /* an answer of its pass is to come */
};

/* An item that is being closed, or is to be. */
struct closing {
	char *task_id, *batch_id; /* batch_id: that finished the task */
	int64_t attempt;
	char *url;                      /* NULL: not looked up yet */
	char key[REC_SHA256_HEX_BYTES]; /* in the store, of one with an address */
};

struct rec_outside {
	struct rec_outside_options options;
	const struct rec_allocator *allocator;
	const struct rec_clock *clock;
	size_t count; /* of trackers */
	struct watched *watched;
	bool reload;    /* what is in the store is to be read: some of it is not known here */
	bool keeps;     /* the store can keep what is to be closed */
	bool ending;    /* the batch has ended */
	bool left;      /* some is left there until its tracker can be asked again */
	bool faulty;    /* the last pass was given up, which was told */
	bool linked;    /* some link was seen, or nobody looks */
	bool open_told; /* that items stay open */
	int64_t resume_us;
	struct closing *finished, *closing; /* tasks to look up, items to ask for; items with their trackers */
	size_t finished_count, finished_capacity, closing_count, closing_capacity;
	struct rec_outside_counts counts;
};

int64_t rec_outside_now(const struct rec_outside *o);
void rec_outside_warn(const struct rec_outside *o, const char *source, const char *detail);

/* outside-close.c: what is finished here is closed there */
int rec_outside_close_ask(struct rec_outside *o, int64_t now_us, struct rec_error *error);
int rec_outside_closed(struct rec_outside *o, const struct rec_tracker_answer *answer, struct rec_error *error);
bool rec_outside_keeps(const struct rec_outside *o);
void rec_outside_close_release(struct rec_outside *o);

#endif
