/* machine-private.h - what the files of the machine share. Only machine*.c include it.
 *
 * Three kinds of things: tasks (many, small), attempts (as many as claims are held) and slots. A task in CLAIMING,
 * RUNNING or STOPPING has exactly one attempt, any other none. A slot holds the attempt that runs (or is about to), the
 * one ahead, and counts those that ended but are not recorded yet.
 */
#ifndef REC_CORE_MACHINE_PRIVATE_H
#define REC_CORE_MACHINE_PRIVATE_H

#include "base/idmap.h"
#include "core/graph.h"
#include "core/machine.h"
#include "core/planted.h"
#include "core/queue.h"
#include "core/retry.h"

#define NONE REC_MACHINE_NONE
#define NEVER INT64_MAX

#define SLOT_STARTED_MAX 2    /* claims of a slot that stand and are not recorded as ended: what its record keeps */
#define AHEAD_RUN_LENGTH 8    /* so many short attempts in a row let a slot be claimed ahead */
#define AHEAD_SHORT_US 100000 /* what counts as short, and how long one may wait ahead */
#define RACE_PAUSE_US 100000  /* before a task whose claim was lost is claimed again */
#define AGAIN_MAX 20          /* exit 75 */
#define LOST_MAX 3            /* lost attempts that are tried again */
#define STORE_PAUSE_FIRST_US 100000
#define STORE_PAUSE_MAX_US (30 * INT64_C(1000000))
#define SUSPENDED_US (10 * INT64_C(1000000)) /* planning this late means that we did not run */
#define STUCK_AT_ONCE 4096                   /* holds of stuck tasks in one plan */

enum task_flags {
	TASK_MEMBER = 1,      /* of the batch */
	TASK_UNSEEN = 2,      /* WAITING to be looked at */
	TASK_ELSEWHERE = 4,   /* somebody else's claim is on it */
	TASK_REQUEUEING = 8,  /* a REQUEUE that writes is under way */
	TASK_RING = 16,       /* member of a ring */
	TASK_UNREADABLE = 32, /* what it depends on cannot be known */
	TASK_OWN = 64,        /* FINISHED by our own attempt */
	TASK_NEW = 128,       /* never looked at */
	TASK_BEFORE = 2048,   /* the batch saw it finished well before it was taken up again */
	TASK_UNTOLD = 4096,   /* HELD, but that was not told since it was being requeued */
	TASK_UNLINKED = 512,  /* due_us is by the wall clock still */
	TASK_ABSENT = 1024,   /* does not exist, as last seen */
	TASK_RELINK = 256,    /* its dependencies were replaced since the last link */
};

struct task {
	int64_t created_us;
	int64_t due_us; /* monotonic: not before; 0: no such time */
	uint32_t place; /* in the ready queue (QUEUED) or among the timed (WAITING with due_us) */
	uint32_t attempt_index;
	uint32_t attempt, commits, unmet;
	uint32_t deps_first, deps_count;
	int32_t priority;
	uint16_t failures;
	uint8_t again, lost;
	uint8_t phase, hold;
	uint8_t outcome; /* enum rec_status: believed while HELD or FINISHED */
	uint8_t stored;  /* enum rec_status as last seen or written */
	uint16_t flags;
};
_Static_assert(sizeof(struct task) <= 64, "a million tasks have to fit");

/* How far the end of an attempt has come. */
enum stage { STAGE_GOING, STAGE_SETTLING, STAGE_TERMINATING, STAGE_KILLING, STAGE_ENDED, STAGE_VOIDED };

/* What is decided when an attempt ended; acts when it is recorded. */
struct ending {
	uint8_t to, why;
	bool member, by_itself, own, retry_failed;
	uint8_t again, lost;
	uint16_t failures;
	int64_t due_us, not_before_us; /* the same moment by both hands of the clock; 0: at once */
};

struct attempt {
	int64_t claim_id;          /* 0: not committed yet */
	int64_t deadline_us;       /* the next time something is due; NEVER */
	int64_t since_us;          /* of this stage: claimed ahead, started, settling, signalled */
	int64_t asked_us, sign_us; /* signs of life: last asked, last changed */
	uint64_t signs;
	uint32_t task, slot, place;
	uint8_t stage;
	uint8_t cause; /* enum rec_why of the stop under way, REC_WHY_COUNT: none */
	bool ahead;    /* behind a running one */
	bool recalled;
	bool has_exit, has_verdict;
	struct rec_exit exit;
	struct ending ending;
	struct rec_verdict verdict; /* what the stop was decided on */
	struct rec_seen seen;
};

struct slot {
	uint32_t running, ahead; /* attempts, NONE */
	uint32_t next_free;
	uint8_t owed;   /* ended or voided, not recorded */
	uint8_t voided; /* of those: voided */
	uint8_t shorts; /* short attempts in a row, as far as they can be counted */
	bool usable, in_free;
};

struct dependencies {
	uint32_t *items; /* of all tasks, one after the other; replaced ones stay as waste until the next link */
	size_t count, capacity;
};

struct rec_machine {
	const struct rec_allocator *allocator;
	struct rec_machine_options options;
	struct rec_random random;

	struct task *tasks;
	struct rec_slice *ids;
	size_t count, task_capacity, id_capacity;
	struct rec_arena arena;
	struct rec_idmap map;
	struct dependencies dependencies;
	struct rec_graph *graph;
	uint32_t graph_count; /* tasks the graph knows */

	struct rec_queue ready; /* QUEUED */
	struct rec_queue timed; /* WAITING with a time */
	struct rec_queue going; /* attempts by deadline */

	struct attempt *attempts;
	size_t attempt_count, attempt_capacity;
	uint32_t attempt_free; /* chained through `task` */
	struct slot *slots;
	size_t slot_count, slot_capacity;
	uint32_t slot_free;

	uint32_t live, live_members;      /* attempts; those of members */
	uint32_t occupied;                /* slots whose running lane is taken */
	uint32_t ahead;                   /* attempts ahead, not recalled */
	uint64_t able;                    /* tasks that may still come to run or run */
	uint64_t elsewhere;               /* tasks that wait for somebody else's claim */
	uint64_t stuck;                   /* tasks held because of a dependency */
	uint64_t deleted;                 /* members held because they are no more */
	uint64_t phases[REC_PHASE_COUNT]; /* members by phase */
	uint64_t done, failed, skipped;   /* FINISHED members */
	struct rec_reconciled reconciled;

	bool drained, forced, forced_all, failure_stop;
	uint32_t stuck_cursor;
	int64_t armed_us; /* the timer of the last plan */
	int64_t store_resume_us, store_pause_us;
	int64_t claim_resume_us, claim_pause_us;

	struct rec_plan current, taken;
};

typedef void handler(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e);

static inline uint32_t task_index(const struct rec_machine *m, const struct task *t)
{
	return (uint32_t)(t - m->tasks);
}
/* Only of a task that has one. */
static inline struct attempt *task_attempt(const struct rec_machine *m, const struct task *t)
{
	return &m->attempts[t->attempt_index];
}
static inline bool task_has(const struct task *t, enum task_flags flag)
{
	return (t->flags & flag) != 0;
}
static inline void task_set(struct task *t, enum task_flags flag, bool on)
{
	t->flags = (uint16_t)(on ? t->flags | flag : t->flags & ~(unsigned)flag);
}

/* machine-table.c: the table, and the one function that changes a phase */
int rec_machine_dispatch(struct rec_machine *m, struct rec_now now, const struct rec_machine_event *e);
void rec_machine_move(struct rec_machine *m, struct task *t, enum rec_phase phase);
bool rec_machine_is_met(const struct task *t);
/* NULL, or what is wrong with the counts of who may come to run. */
const char *rec_machine_booking_audit(const struct rec_machine *m);

/* machine-link.c */
uint32_t rec_machine_unmet_count(const struct rec_machine *m, uint32_t task);

/* machine-place.c: where a task that does not run belongs */
handler rec_machine_on_joined, rec_machine_on_place, rec_machine_on_finished_skip, rec_machine_on_reopen,
	rec_machine_on_requeued, rec_machine_on_requeue_lost, rec_machine_on_met, rec_machine_on_held_met,
	rec_machine_on_unmet, rec_machine_on_due, rec_machine_on_stuck, rec_machine_on_linked;
/* WAITING or QUEUED, whichever it is now. */
void rec_machine_stand(struct rec_machine *m, struct rec_now now, struct task *t);
/* The hold of a task that is not READY, IN_PROGRESS or finished. */
enum rec_hold rec_machine_hold_for(enum rec_status status);

/* machine-attempt.c: claims, starts, ends */
handler rec_machine_on_turn, rec_machine_on_claimed, rec_machine_on_claim_lost, rec_machine_on_claim_failed,
	rec_machine_on_started, rec_machine_on_ended, rec_machine_on_void, rec_machine_on_lost, rec_machine_on_recorded,
	rec_machine_on_released, rec_machine_on_gone, rec_machine_on_adopted;

/* machine-stop.c: stops and time */
handler rec_machine_on_claiming_verdict, rec_machine_on_running_verdict, rec_machine_on_stopping_verdict,
	rec_machine_on_recall_due, rec_machine_on_timed_out, rec_machine_on_life_due, rec_machine_on_alive,
	rec_machine_on_settled, rec_machine_on_grace_over, rec_machine_on_forced, rec_machine_on_stopping_forced;
/* Plans the attempt's next deadline from its phase and stage. */
void rec_machine_arm(struct rec_machine *m, struct attempt *a);
/* Everything that is due by now happens. 0, REC_E_NOMEM. */
int rec_machine_tick(struct rec_machine *m, struct rec_now now);
/* We did not run for a while: everybody gets a fresh window. */
void rec_machine_freshen(struct rec_machine *m, struct rec_now now);

/* machine-slots.c: slots and attempts */
/* A slot that may be given a claim, NONE if there is none. */
uint32_t rec_machine_slot_free(struct rec_machine *m);
uint32_t rec_machine_slot_ahead(const struct rec_machine *m);
/* The slot table knows that slot. 0, REC_E_NOMEM. */
int rec_machine_slot_known(struct rec_machine *m, uint32_t slot);
/* So that the next attempt needs no memory. 0, REC_E_NOMEM. */
int rec_machine_attempt_reserve(struct rec_machine *m);
struct attempt *rec_machine_attempt_new(struct rec_machine *m, struct task *t, uint32_t slot);
/* It ended, but holds its claim until that is recorded: the slot may run the next. */
void rec_machine_attempt_over(struct rec_machine *m, struct attempt *a);
void rec_machine_attempt_free(struct rec_machine *m, struct attempt *a);

/* machine-plan.c: effects; rec_machine_emit needs room, which dispatch made for two of each kind */
int rec_machine_room(struct rec_machine *m, size_t each);
int rec_machine_room_for(struct rec_machine *m, enum rec_effect_kind kind, size_t count);
struct rec_effect *rec_machine_emit(struct rec_machine *m, enum rec_effect_kind kind, enum rec_why why,
				    const struct task *t);
/* The same, with the attempt's slot and claim. */
struct rec_effect *rec_machine_emit_for(struct rec_machine *m, enum rec_effect_kind kind, enum rec_why why,
					const struct attempt *a);

#endif
