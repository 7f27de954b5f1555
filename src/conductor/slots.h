/* slots.h - what the conductor asks of processes: slots that run one child at a time and outlive it.
 *
 * The driver (driver.c) decides nothing about processes and knows none; it talks to this table. The real
 * implementation stands on shims and the event loop, the simulator's on a seed. Everything is named by
 * (slot, claim id): a command about a claim that the slot does not know, or whose attempt has ended already, is
 * harmless and does nothing.
 *
 * The life of a claim in its slot:
 *
 *     prepare --> the claim commits --> start --> RUNNING --> ENDED --> its finish commits --> forget
 *        |                                |          |
 *        |                                |          +--> LOST   the shim is gone, and so is the whole tree
 *        |                                +--> VOID    never started and never will be (recall, stop, start failed)
 *        +--> forget   the claim did not commit
 *
 * Exactly one of ENDED, VOID and LOST comes for a claim that was started or adopted, and it is the last word; RUNNING
 * may be left out when the end is known as soon as the beginning. Each of them is told again, by the
 * adopting conductor's `next`, if the conductor that first heard it died before `forget`. ENDED and LOST are said
 * only when no process of the attempt is left, whatever group or session it moved to.
 *
 * What the driver keeps to, so that a slot's record needs no more room than it has:
 *   - `start` only while at most one other claim of the slot that was started or adopted is not forgotten; so one runs
 *     or waits to be recorded, and one may be ahead: it starts by itself as soon as the running one ends;
 *   - `prepare` only for as many claims as may be started once the group commits that they are prepared in. That group
 *     may hold the ends of both before, so up to REC_SLOT_CLAIMS_MAX claims are not forgotten for a moment.
 */
#ifndef REC_CONDUCTOR_SLOTS_H
#define REC_CONDUCTOR_SLOTS_H

#include "core/record.h"

#define REC_SLOT_STARTED_MAX 2u /* as many ends as the slot's record keeps */
#define REC_SLOT_CLAIMS_MAX 4u

/* What a slot needs to run a claim. Everything lives until the call returns. */
struct rec_slot_order {
	int64_t claim_id;
	uint32_t attempt;
	const struct rec_task *task; /* with its blockers: the JSON that the child reads */
};

enum rec_slot_signal {
	REC_SLOT_TERM = 1, /* SIGTERM */
	REC_SLOT_KILL = 2, /* SIGKILL */
};

enum rec_slot_event_kind {
	REC_SLOT_RUNNING = 1, /* the child was started */
	REC_SLOT_ENDED,       /* the child ended and its tree is gone */
	REC_SLOT_VOID,        /* it was never started and never will be */
	REC_SLOT_LOST,        /* how it ended cannot be known; its tree is gone */
	REC_SLOT_LIFE,        /* the answer to `life` */
};
struct rec_slot_event {
	enum rec_slot_event_kind kind;
	uint32_t slot;
	int64_t claim_id;
	/* ENDED */
	bool by_signal;     /* `code` is a signal number, else an exit code */
	bool not_executed;  /* the command could not be executed: `code` is the errno; counts as exit 127, and as 75
			     * (again  later) for want of processes, memory or descriptors */
	bool signalled;     /* a stop reached it before it ended (whoever asked for it) */
	int32_t code;       /* exit 143 and signal 15 are different things */
	uint32_t survivors; /* descendants that had to be ended after the child */
	int64_t took_us;    /* from start to end; -1: not known */
	/* LIFE */
	uint64_t signs; /* any number that is another one after a sign of life (output, heartbeat, CPU time of the tree)
			 */
};

/* One claim that some conductor's slot durably knows. A claim may be in two records (prepared again elsewhere). */
struct rec_slot_record {
	uint32_t slot; /* this conductor's name for it: what `adopt` and the commands take */
	int64_t claim_id;
	bool runs; /* its child was started, which takes a claim that committed, and no end is recorded */
	struct rec_slice batch_id; /* whose conductor prepared it */
};
typedef int rec_slot_record_fn(void *context, const struct rec_slot_record *record);

struct rec_slots_ops {
	/* How many slots can be given claims: 0 to count - 1. Constant. Slots of dead conductors have higher numbers.
	 */
	uint32_t (*count)(void *self);

	/* Before the claim commits: makes the slot's record say STARTING with that claim, durably enough to survive
	 * kill -9 of everybody. Nothing starts. Called inside a store group. Negative: the claim must not commit. */
	int (*prepare)(void *self, uint32_t slot, const struct rec_slot_order *order, struct rec_error *error);
	/* After the claim committed: run it now, or as soon as the slot's running one ended. Negative: it was certainly
	 * not started; VOID does not come, the driver takes it as said. */
	int (*start)(void *self, uint32_t slot, int64_t claim_id, struct rec_error *error);
	/* The signal to the whole tree; a claim not started yet becomes VOID. Does not wait. */
	void (*stop)(void *self, uint32_t slot, int64_t claim_id, enum rec_slot_signal signal);
	/* If it has not started: VOID. Else nothing; RUNNING has come or will. */
	void (*recall)(void *self, uint32_t slot, int64_t claim_id);
	/* Where hosts share a store: whatever runs in any slot of this conductor, then or later, gets SIGTERM at
	 * term_us and SIGKILL at kill_us (boot clock) from the slot itself, whatever the conductor does by then, and
	 * nothing is started any more. Each call replaces the one before; it goes for adopted slots too. NULL where
	 * there are no leases. */
	void (*deadline)(void *self, int64_t term_us, int64_t kill_us);
	/* Asks for signs of life; LIFE comes if the claim runs. */
	void (*life)(void *self, uint32_t slot, int64_t claim_id);
	/* The end is in the store, or the claim never committed: the record may be overwritten. Commands and events
	 * about it are over. */
	void (*forget)(void *self, uint32_t slot, int64_t claim_id);
	/* The next event: 0, or REC_END if there is none now. Negative: this conductor cannot go on. */
	int (*next)(void *self, struct rec_slot_event *ret_event, struct rec_error *error);

	/* For recovery. Takes hold of a batch, so that no two conductors run or recover it: 0 (held, again if it was
	 * already); REC_CONFLICT: another living conductor has it. A hold ends with `let_go` or with the process. */
	int (*hold)(void *self, struct rec_slice batch_id, struct rec_error *error);
	void (*let_go)(void *self, struct rec_slice batch_id);
	/* Is it held by this conductor? Needed only beside trackers (outside.h). */
	bool (*holds)(void *self, struct rec_slice batch_id);
	/* Every claim in records of slots, except those of living conductors other than this one. fn may not call back;
	 * it returns 0 to go on. */
	int (*records)(void *self, rec_slot_record_fn *fn, void *context, struct rec_error *error);
	/* Takes over the claim of a dead conductor's slot (its batch is held): from now on `next` tells about it and
	 * the commands reach it. A STARTING that no shim received becomes VOID, an end that was recorded is told as
	 * ENDED; a shim that does not answer is ended with its tree: LOST. */
	int (*adopt)(void *self, uint32_t slot, int64_t claim_id, struct rec_error *error);
};

const char *rec_slot_event_text(enum rec_slot_event_kind kind); /* "ENDED"; "?" if it is none */

/* The table and whom it is about. */
struct rec_slots {
	const struct rec_slots_ops *ops;
	void *self;
};

#endif
