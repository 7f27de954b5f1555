/* machine.h - the conductor's state machine: which task is where, and what is to be done about it. Pure.
 *
 * State + event -> new state + effects. No clock, no I/O, no ids made up, no log: the time is an argument, jitter
 * comes from a seed. All behaviour is one table, phase x event (machine-table.c).
 *
 * How a driver works with it:
 *
 *     rec_machine_new, rec_machine_slots
 *     rec_machine_add and rec_machine_depends for every task, then rec_machine_link
 *     for ever:
 *             rec_machine_handle(what happened)            as often as something did
 *             rec_machine_plan(&plan)                      what is to be done now
 *             do it; tell the results by rec_machine_handle; rec_machine_stored or rec_machine_failed
 *             look again at the tasks of plan's LOOK bucket; sleep until plan->timer_us at most
 *
 * Belief never runs ahead of the store: a claim, an end, a requeue change the state only when the driver says that
 * they were committed. An event about another attempt, or a verdict older than the last own commit on its task, is
 * dropped and the task asked to be looked at again.
 *
 * Memory: 64 bytes of state a task, and about 48 for its id and order; 4 bytes a dependency beside the graph.
 */
#ifndef REC_CORE_MACHINE_H
#define REC_CORE_MACHINE_H

#include "base/buffer.h"
#include "base/error.h"
#include "core/record.h"

struct rec_machine;

/* ---- Vocabulary --------------------------------------------------------------------------------- */

/* Where a task is. Belief: WAITING, QUEUED READY; CLAIMING READY until the claim committed, then IN_PROGRESS;
 * RUNNING, STOPPING IN_PROGRESS; HELD the stored status when the hold was decided; FINISHED the outcome. */
#define REC_PHASES(X)                                                                                                  \
	X(WAITING, "waiting")   /* a dependency is unmet, or not before a time, or not looked at yet */                \
	X(QUEUED, "queued")     /* may run as soon as there is room */                                                 \
	X(CLAIMING, "claiming") /* given to a slot; its child was not seen running yet */                              \
	X(RUNNING, "running")   /* its child runs */                                                                   \
	X(STOPPING, "stopping") /* the attempt comes to its end: it settles, is signalled, or has ended unrecorded */  \
	X(HELD, "held")         /* may not run, and why */                                                             \
	X(FINISHED, "finished") /* DONE, MERGED, FAILED */
enum rec_phase {
#define REC_PHASE_ENUM(name, text) REC_PHASE_##name,
	REC_PHASES(REC_PHASE_ENUM)
#undef REC_PHASE_ENUM
		REC_PHASE_COUNT
};
const char *rec_phase_text(enum rec_phase phase);

/* What can happen to a task. The driver tells what stands before FORCED; the rest happens inside. */
#define REC_HAPPENINGS(X)                                                                                              \
	/* a look at the store: the verdict of the decision table */                                                   \
	X(NONE, "verdict NONE")                                                                                        \
	X(SKIP, "verdict SKIP")                                                                                        \
	X(KILL, "verdict KILL")                                                                                        \
	X(REQUEUE, "verdict REQUEUE")                                                                                  \
	/* own commits */                                                                                              \
	X(CLAIMED, "the claim committed")                                                                              \
	X(CLAIM_LOST, "the store is not what the claim needs")                                                         \
	X(CLAIM_FAILED, "the claim could not be tried")                                                                \
	X(RECORDED, "the end committed")                                                                               \
	X(RELEASED, "the claim was given back")                                                                        \
	X(GONE, "the claim is no longer ours")                                                                         \
	X(REQUEUED, "the requeue committed")                                                                           \
	X(REQUEUE_LOST, "the requeue lost")                                                                            \
	/* slots */                                                                                                    \
	X(STARTED, "the child runs")                                                                                   \
	X(ENDED, "the child ended")                                                                                    \
	X(VOID, "the child was never started")                                                                         \
	X(LOST, "the child is lost")                                                                                   \
	X(ALIVE, "an answer about signs of life")                                                                      \
	X(ADOPTED, "an attempt of a dead conductor was taken over")                                                    \
	/* the operator */                                                                                             \
	X(FORCED, "everything is to stop now")                                                                         \
	/* the batch */                                                                                                \
	X(JOINED, "a watched task joins the batch")                                                                    \
	/* other tasks */                                                                                              \
	X(MET, "a dependency is met")                                                                                  \
	X(UNMET, "a dependency is no longer met")                                                                      \
	X(LINKED, "its dependencies changed")                                                                          \
	/* the plan */                                                                                                 \
	X(TURN, "there is room for it")                                                                                \
	X(STUCK, "nothing that runs can release it")                                                                   \
	/* time */                                                                                                     \
	X(DUE, "not before is now")                                                                                    \
	X(RECALL_DUE, "waited too long behind another child")                                                          \
	X(TIMED_OUT, "ran for too long")                                                                               \
	X(LIFE_DUE, "signs of life are to be asked for")                                                               \
	X(SETTLED, "the time to end by itself is over")                                                                \
	X(GRACE_OVER, "the time to heed SIGTERM is over")
enum rec_happening {
#define REC_HAPPENING_ENUM(name, text) REC_ON_##name,
	REC_HAPPENINGS(REC_HAPPENING_ENUM)
#undef REC_HAPPENING_ENUM
		REC_HAPPENING_COUNT
};
const char *rec_happening_text(enum rec_happening happening);

/* Why a task is held. */
#define REC_HOLDS(X)                                                                                                   \
	X(NOT, "not held")                                                                                             \
	X(BLOCKED, "blocked")                                                                                          \
	X(RAISED, "the attempt raised a blocker")                                                                      \
	X(NO_BLOCKERS, "blocked without blockers")                                                                     \
	X(NO_NEW_ANSWER, "blocked again without a new answer")                                                         \
	X(WITHDRAWN, "withdrawn to BACKLOG")                                                                           \
	X(OPEN_BLOCKERS, "open blockers")                                                                              \
	X(STARTED_ELSEWHERE, "in progress without a claim")                                                            \
	X(COMPOSITE, "composite task")                                                                                 \
	X(RING, "in a ring of dependencies")                                                                           \
	X(MISSING, "a dependency does not exist")                                                                      \
	X(DEPENDENCY, "a dependency cannot finish")                                                                    \
	X(DELETED, "task not found")                                                                                   \
	X(UNRECOGNISED, "unrecognised status in durable state")
enum rec_hold {
#define REC_HOLD_ENUM(name, text) REC_HOLD_##name,
	REC_HOLDS(REC_HOLD_ENUM)
#undef REC_HOLD_ENUM
		REC_HOLD_COUNT
};
const char *rec_hold_text(enum rec_hold hold);

/* Why something is to be done. */
#define REC_WHYS(X)                                                                                                    \
	X(TURN, "its turn")                                                                                            \
	X(AHEAD, "behind a short one")                                                                                 \
	X(CLAIM_STANDS, "the claim committed")                                                                         \
	X(SLOT_FREE, "another slot is free")                                                                           \
	X(TOO_LONG_AHEAD, "the one before it takes long")                                                              \
	X(OUTSIDE, "changed outside")                                                                                  \
	X(STOP_ENDED, "what asked for it holds no longer")                                                             \
	X(DELETED, "task deleted")                                                                                     \
	X(FENCED, "the claim is no longer ours")                                                                       \
	X(TIMED_OUT, "timed out")                                                                                      \
	X(STALLED, "no sign of life")                                                                                  \
	X(OPERATOR, "stopped by the operator")                                                                         \
	X(FAILURE_STOP, "a task has failed")                                                                           \
	X(STOPPED, "stopped before")                                                                                   \
	X(GRACE_OVER, "SIGTERM was not heeded")                                                                        \
	X(SUCCESS, "exit 0")                                                                                           \
	X(AGAIN, "exit 75: again later")                                                                               \
	X(AGAIN_LIMIT, "exit 75 too often")                                                                            \
	X(RETRY, "failed, to be tried again")                                                                          \
	X(FAILED, "failed")                                                                                            \
	X(LOST_AGAIN, "process lost, to be tried again")                                                               \
	X(LOST, "process lost")                                                                                        \
	X(NEVER_STARTED, "never started")                                                                              \
	X(FIRST_LOOK, "not looked at yet")                                                                             \
	X(STALE, "the result was older than an own commit")                                                            \
	X(RACE, "the store moved first")                                                                               \
	X(LINKED, "its dependencies changed")                                                                          \
	X(STUCK, "nothing that runs can release it")                                                                   \
	X(LIFE, "silent for a while")                                                                                  \
	X(RING, "dependencies in a ring")
enum rec_why {
#define REC_WHY_ENUM(name, text) REC_WHY_##name,
	REC_WHYS(REC_WHY_ENUM)
#undef REC_WHY_ENUM
		REC_WHY_COUNT
};
const char *rec_why_text(enum rec_why why);

/* Both hands of the clock. Timeouts and ticks go by the first; what must survive a restart by the second. */
struct rec_now {
	int64_t monotonic_us, wall_us;
};

/* What a look at the store saw of a task. */
struct rec_seen {
	uint8_t status;   /* enum rec_status; ABSENT: no such task; UNRECOGNISED */
	uint8_t believed; /* enum rec_status: what the machine believed when the verdict was made */
	bool claimed, is_leaf;
	int32_t priority;
	uint32_t blockers_total, blockers_open, blockers_new;
};

/* How a child ended. */
struct rec_exit {
	int32_t code; /* exit code, or signal number */
	bool by_signal;
	bool signalled; /* a stop reached it before it ended; else it ended by itself, whatever was decided meanwhile */
	uint32_t survivors;
};

/* ---- Making ------------------------------------------------------------------------------------- */

struct rec_machine_options {
	const struct rec_allocator *allocator; /* NULL: libc's */
	uint64_t seed;
	uint32_t max_parallel; /* at least 1 */
	uint32_t retries;      /* attempts that may fail before FAILED is stored */
	int64_t retry_delay_us;
	int64_t timeout_us, stall_timeout_us; /* 0: off */
	int64_t settle_us, grace_us;
	bool stop_on_failure, ignore_blockers;
	bool wait;           /* the batch ends only when every task is terminal */
	bool no_ahead;       /* never claim ahead */
	uint8_t ahead_after; /* a slot is claimed ahead after so many short attempts in a row; 0: the usual number */
	unsigned planted;    /* enum rec_planted; heeded only in the simulator's build */
};

/* Faults that the simulator plants to see that it catches them (core/planted.h). */
enum rec_planted {
	REC_PLANTED_STALE = 1,         /* stale verdicts act */
	REC_PLANTED_LATE_EXIT = 2,     /* a child that ends by itself while it settles counts as stopped */
	REC_PLANTED_CLAIM_DIES = 4,    /* the claim of a dead conductor is given back though its process may live */
	REC_PLANTED_NO_STARTING = 8,   /* no STARTING record before the claim commits */
	REC_PLANTED_CAS = 16,          /* statuses are written whatever is stored */
	REC_PLANTED_NO_RECHECK = 32,   /* claims do not look at dependencies and blockers again */
	REC_PLANTED_EARLY_FINISH = 64, /* the end is recorded when the stop is sent, not when the tree is gone */
	REC_PLANTED_NOT_TAKEN = 128,   /* what a dead conductor left is adopted without being taken in the store */
	REC_PLANTED_NO_DEADLINE = 256, /* nothing is stopped before the lease ends */
	REC_PLANTED_TAKEN_EARLY = 512  /* claims of another host are taken over while its lease lasts */
};

int rec_machine_new(const struct rec_machine_options *options, struct rec_machine **ret_machine,
		    struct rec_error *error);
struct rec_machine *rec_machine_free(struct rec_machine *m); /* NULL is fine; returns NULL */
#define REC_MACHINE_SLOTS_MAX 65536u
/* Slots 0 to count - 1 may be given claims. Slots of dead conductors get known by ADOPTED. 0, REC_E_NOMEM,
 * REC_E_LIMIT. */
int rec_machine_slots(struct rec_machine *m, uint32_t count);

struct rec_machine_task {
	struct rec_slice id; /* copied */
	int64_t created_us;  /* order within a priority */
	int32_t priority;
	bool member; /* of the batch; else it is only watched: a dependency, or an attempt to be brought to its end */
	/* what the batch durably knows of it, when it is taken up again */
	uint32_t attempt;
	uint16_t failures;
	uint8_t again, lost;
	int64_t not_before_us; /* wall clock; 0: none */
	bool finished;         /* it was seen finished well */
	bool own;              /* ... by this batch's own attempt */
};
/* Adds a task; it waits to be looked at. 0 with *ret_index (numbered from 0 in order); REC_EXISTS with the index of the
 * one that is there, as it is. 0, REC_EXISTS, REC_E_NOMEM, REC_E_LIMIT. */
int rec_machine_add(struct rec_machine *m, const struct rec_machine_task *task, uint32_t *ret_index);
/* One that was only watched becomes a member, to be looked at anew; whoever depends on it waits for it from now on,
 * also if it was stored as done. A member stays as it is. 0, REC_E_NOMEM: tell it again. */
int rec_machine_join(struct rec_machine *m, struct rec_now now, uint32_t task);
/* Sets what decides its turn. */
void rec_machine_describe(struct rec_machine *m, uint32_t task, int32_t priority, int64_t created_us);
/* Replaces what a task depends on; duplicates are harmless. What it depends on and is not in the batch is added too, to
 * be watched; one that turns out not to exist holds the task. unreadable: what it depends on cannot be known, which
 * holds it as well. Takes effect with rec_machine_link. 0, REC_E_NOMEM, REC_E_LIMIT. */
int rec_machine_depends(struct rec_machine *m, uint32_t task, const uint32_t *on, size_t count, bool unreadable);
/* After the last of them: finds rings, counts what is unmet, and asks for a look at tasks that were looked at before
 * and whose dependencies changed. O(tasks + dependencies). 0; REC_E_NOMEM: to be called again. */
int rec_machine_link(struct rec_machine *m, struct rec_now now);

/* ---- What happened ------------------------------------------------------------------------------ */

struct rec_machine_event {
	enum rec_happening kind;
	uint32_t task;
	/* NONE, SKIP, KILL, REQUEUE: the kind is the verdict's action; tags as they were when the store was read */
	struct rec_verdict verdict;
	struct rec_seen seen;
	uint32_t attempt, commits;
	/* CLAIMED (with attempt), and whatever follows about that attempt; ADOPTED (with attempt and slot) */
	int64_t claim_id;
	uint32_t slot;
	uint8_t status; /* RECORDED: the stored status afterwards */
	struct rec_exit exit;
	int64_t took_us; /* ENDED: how long it ran; -1: not known */
	uint64_t signs;  /* ALIVE */
};
/* 0 (dropped ones included); REC_E_NOMEM: nothing changed, tell it again; REC_E_BUG: cannot happen in this phase,
 * nothing changed. O(log n) and the dependents of a task that became met or unmet. */
int rec_machine_handle(struct rec_machine *m, struct rec_now now, const struct rec_machine_event *event);
/* Start nothing new; what runs goes on. */
void rec_machine_drain(struct rec_machine *m);
/* Drain, and stop what runs; its tasks go back to READY. 0, REC_E_NOMEM: tell it again. */
int rec_machine_force(struct rec_machine *m, struct rec_now now);
/* The same for all attempts, those of other batches that were taken over too; the batch ends when all of them have. */
int rec_machine_force_all(struct rec_machine *m, struct rec_now now);

/* ---- What to do --------------------------------------------------------------------------------- */

/* The buckets of a plan. The first group is about processes and looks; the second is written to the store, all of it as
 * one group, in this order. */
#define REC_EFFECTS(X)                                                                                                 \
	X(START, "start")     /* slot, claim_id */                                                                     \
	X(STOP, "stop")       /* slot, claim_id, signal: 1 TERM, 2 KILL */                                             \
	X(RECALL, "recall")   /* slot, claim_id */                                                                     \
	X(LIFE, "life")       /* slot, claim_id: ask for signs of life, answer ALIVE */                                \
	X(LOOK, "look")       /* read the store about this task and tell the verdict */                                \
	X(FINISH, "finish")   /* end the attempt with `status` (a raised blocker: BLOCKED): RECORDED or GONE */        \
	X(RELEASE, "release") /* give the claim back: RELEASED or GONE */                                              \
	X(SKIP, "skip")       /* leaves the queue, finished outside */                                                 \
	X(HOLD, "hold")       /* `hold` says why */                                                                    \
	X(RECORD, "record")   /* what the batch durably knows changed */                                               \
	X(REQUEUE, "requeue") /* status BLOCKED: write READY, then REQUEUED or REQUEUE_LOST; READY: only tell */       \
	X(EVENT, "event")     /* something to tell: a ring (task: a member of it) */                                   \
	X(CLAIM, "claim")     /* slot: CLAIMED, CLAIM_LOST or CLAIM_FAILED */
enum rec_effect_kind {
#define REC_EFFECT_ENUM(name, text) REC_EFFECT_##name,
	REC_EFFECTS(REC_EFFECT_ENUM)
#undef REC_EFFECT_ENUM
		REC_EFFECT_COUNT
};
#define REC_EFFECT_STORE REC_EFFECT_FINISH /* the first that goes to the store */
const char *rec_effect_text(enum rec_effect_kind kind);

/* What the batch durably knows of a task once an effect is in the store. */
struct rec_machine_row {
	uint8_t phase;  /* enum rec_phase; QUEUED and CLAIMING show as WAITING, STOPPING as RUNNING */
	uint8_t belief; /* enum rec_status */
	uint8_t hold;   /* enum rec_hold */
	bool own;       /* finished by this batch's own attempt */
	uint16_t failures;
	uint8_t again, lost;
	uint32_t attempt;
	int64_t not_before_us; /* wall clock; 0: none */
};

struct rec_effect {
	uint8_t kind, why;
	uint8_t status, signal, hold;
	bool ahead;          /* CLAIM */
	bool retry_failed;   /* FINISH: if FAILED stands afterwards, write READY: the worker wrote it, and may try again
			      */
	bool blocker_counts; /* FINISH: a blocker raised by the attempt and still open makes it BLOCKED instead */
	bool has_verdict;
	bool has_exit, signalled; /* FINISH: how it ended is known; we had signalled */
	bool own;                 /* FINISH: a success afterwards is the attempt's own */
	bool tried;               /* it was in a group that failed, which may have committed all the same */
	uint8_t cause;            /* FINISH: enum rec_why of the stop that was under way, or REC_WHY_COUNT */
	uint32_t task, slot, attempt;
	int64_t claim_id;
	struct rec_exit exit;
	struct rec_verdict verdict; /* what it was decided on, if has_verdict (seen too) */
	struct rec_seen seen;
};

struct rec_plan {
	struct rec_effects {
		struct rec_effect *items;
		size_t count, capacity;
	} buckets[REC_EFFECT_COUNT];
	size_t count;     /* in all buckets */
	int64_t timer_us; /* monotonic: plan again at that time at the latest; INT64_MAX: nothing is timed */
	enum rec_batch_status outcome;
};
/* Lets time pass, gives free slots work, and hands out what is to be done; *ret_plan lives until the next call.
 * Not RUNNING: the batch has ended, provided that a look finds nothing new. O(k log n) for k effects.
 * 0, REC_E_NOMEM: nothing is lost, ask again. */
int rec_machine_plan(struct rec_machine *m, struct rec_now now, const struct rec_plan **ret_plan);
/* What concerns processes alone, for when it cannot wait for the store: lets time pass, starts nothing new, leaves what
 * the last plan had for the store in it. That part of the last plan that concerns processes must have been done.
 * 0, REC_E_NOMEM: nothing is lost, ask again. */
int rec_machine_plan_processes(struct rec_machine *m, struct rec_now now, const struct rec_plan **ret_plan);
/* The store took the plan's second group (whatever the single results were). */
void rec_machine_stored(struct rec_machine *m);
/* It did not: claims are as if never planned, the rest is planned again after a pause that doubles up to 30 s. To be
 * told before anything else is handled. 0, REC_E_NOMEM: tell it again. */
int rec_machine_failed(struct rec_machine *m, struct rec_now now);
/* Until then nothing is handed out for the store (monotonic); in the past: it is. */
int64_t rec_machine_store_resume_us(const struct rec_machine *m);
/* Appends one line for each effect and one for the timer. */
int rec_plan_write(struct rec_buffer *out, const struct rec_machine *m, const struct rec_plan *plan);

/* ---- Questions ---------------------------------------------------------------------------------- */

#define REC_MACHINE_NONE UINT32_MAX
uint64_t rec_machine_members(const struct rec_machine *m);
uint32_t rec_machine_count(const struct rec_machine *m);                     /* tasks, the watched included */
uint32_t rec_machine_find(const struct rec_machine *m, struct rec_slice id); /* or NONE */
struct rec_slice rec_machine_id(const struct rec_machine *m, uint32_t task); /* lives as long as the machine */
bool rec_machine_member(const struct rec_machine *m, uint32_t task);
enum rec_phase rec_machine_phase(const struct rec_machine *m, uint32_t task);
/* ABSENT: the batch holds nothing for it (only watched, no attempt). */
enum rec_status rec_machine_belief(const struct rec_machine *m, uint32_t task);
enum rec_hold rec_machine_hold(const struct rec_machine *m, uint32_t task);
/* The tags of a look. */
uint32_t rec_machine_commits(const struct rec_machine *m, uint32_t task);
uint32_t rec_machine_attempt(const struct rec_machine *m, uint32_t task);
/* The claim of the attempt under way, 0 if there is none. */
int64_t rec_machine_claim(const struct rec_machine *m, uint32_t task);
/* What it depends on, each once; lives until the next rec_machine_depends or rec_machine_link. */
const uint32_t *rec_machine_dependencies(const struct rec_machine *m, uint32_t task, uint32_t *ret_count);
/* The first dependency that is not met, or NONE. */
uint32_t rec_machine_unmet(const struct rec_machine *m, uint32_t task);
/* Are its dependencies in force (rec_machine_link since rec_machine_depends)? Can they not be read? */
bool rec_machine_linked(const struct rec_machine *m, uint32_t task);
bool rec_machine_unreadable(const struct rec_machine *m, uint32_t task);
/* The members of the ring that the task is in (0: in none); lives until the next rec_machine_link. */
const uint32_t *rec_machine_ring(const struct rec_machine *m, uint32_t task, uint32_t *ret_count);
/* What the batch will durably know of the effect's task once the effect is in the store; status: FINISH: the stored
 * status afterwards; else ignored. */
struct rec_machine_row rec_machine_row(const struct rec_machine *m, const struct rec_effect *effect,
				       enum rec_status status);

/* May a child of an attempt run? Not: all have ended, or there are none; what is left of them is to be recorded. */
bool rec_machine_runs(const struct rec_machine *m);

/* Exclusive: they add up to the members. */
struct rec_machine_counts {
	uint64_t waiting, queued, running, held, done, failed, skipped;
};
struct rec_machine_counts rec_machine_counts(const struct rec_machine *m);
/* What reconciliation did, each time it did it. */
struct rec_reconciled {
	uint64_t skipped;  /* SKIP applied: finished elsewhere, in the queue or while running */
	uint64_t killed;   /* KILL applied to a process */
	uint64_t held;     /* KILL or SKIP applied to something that did not run: held */
	uint64_t requeued; /* REQUEUE applied */
	uint64_t dropped;  /* results and events that came too late to act */
};
struct rec_reconciled rec_machine_reconciled(const struct rec_machine *m);
/* How many attempts hold a claim now. */
uint32_t rec_machine_attempts(const struct rec_machine *m);
/* Does something wait for a claim of somebody else to end? */
bool rec_machine_waits_elsewhere(const struct rec_machine *m);

/* Counts everything again and compares with what is kept: NULL, or what is wrong. For tests. O(tasks + dependencies).
 */
const char *rec_machine_audit(const struct rec_machine *m);

#endif
