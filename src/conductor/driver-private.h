/* driver-private.h - what the files of the driver share. Only driver*.c include it. */
#ifndef REC_CONDUCTOR_DRIVER_PRIVATE_H
#define REC_CONDUCTOR_DRIVER_PRIVATE_H

#include "base/idmap.h"
#include "conductor/driver.h"
#include "core/planted.h"
#include "engine/apply.h"
#include "engine/moves.h"

#define NONE REC_MACHINE_NONE
#define NEVER INT64_MAX
#define LOOK_FIELDS (REC_SNAPSHOT_ALL_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY)
#define RESCAN_INTERVAL_US (10 * 60 * INT64_C(1000000))
#define RECOVER_INTERVAL_US (30 * INT64_C(1000000))
#define AWAY_TELL_US (60 * INT64_C(1000000))
#define PAUSE_FIRST_US INT64_C(100000)
#define PAUSE_MAX_US (30 * INT64_C(1000000))
/* From a commit until it is durable: once no other has followed for a while, for they share the wait; at most so long.
 */
#define SYNC_QUIET_US INT64_C(5000)
#define SYNC_LATEST_US INT64_C(50000)

/* A claim that this conductor answers for. */
struct live {
	int64_t claim_id;
	uint32_t task, slot;
	int64_t claimed_us; /* wall clock: what is a blocker of this attempt's own */
	int32_t spawn_errno;
	struct rec_slice batch_id; /* of a dead conductor's batch that is not ours; owned; data == NULL: ours */
};

/* What may run in the slot of a dead conductor though the claim is gone or somebody else's: it is stopped, and
 * forgotten once it has ended. */
struct stray {
	int64_t claim_id;
	uint32_t slot;
	struct rec_slice batch_id; /* as of struct live */
};

/* A claim of a group whose commit failed: it may stand all the same. */
struct unsure {
	int64_t claim_id;
	uint32_t slot, task;
	bool stands;
};

/* What happened and the machine was not told yet; in order. */
struct news {
	struct rec_machine_event *items;
	size_t head, count, capacity;
};

struct rec_driver {
	const struct rec_allocator *allocator;
	struct rec_driver_options options;
	const struct rec_clock *clock;
	struct rec_store *store;
	struct rec_machine *m;
	struct rec_moves moves;
	uint32_t *moved; /* tasks that a roll-up of the open group moved */
	size_t moved_count, moved_capacity;

	struct news news;
	struct live *live;
	size_t live_count, live_capacity;
	struct stray *strays;
	size_t stray_count, stray_capacity;
	struct unsure *unsure;
	size_t unsure_count, unsure_capacity;

	/* looks */
	uint64_t stamp; /* of the store when the batch's row was read last, if `heeded` */
	bool heeded;
	struct rec_cursor cursor;
	struct rec_cursor cursor_in_group; /* where it is once the group has committed, if feed_taken */
	bool feed_taken;
	bool behind; /* the feed could not be read: it is again after a pause, also if nobody commits any more */
	bool rescan, apart;
	unsigned looks_out; /* begun, not ended */
	uint8_t *owed;      /* by task: enum owed */
	size_t owed_capacity;
	uint32_t *owed_list;
	size_t owed_count, owed_list_capacity;
	struct rec_arena strangers_arena;
	struct rec_slice *strangers; /* ids in the feed that are not ours; only with all_ready */
	size_t stranger_count, stranger_capacity;
	struct rec_look *unfinished; /* for want of memory */
	int64_t look_resume_us, look_pause_us;
	int64_t tick_due_us, rescan_due_us;

	/* recovery */
	bool recovered, recover_again;
	int64_t recover_due_us, recover_pause_us;

	/* the lease; the end is of the boot clock, the rest monotonic */
	bool lease_held, lease_lost;
	int64_t lease_end_us, renew_due_us, renew_pause_us;

	/* the plan that is carried out, and how far */
	const struct rec_plan *plan;
	size_t done[REC_EFFECT_STORE];

	/* the group that is being written */
	struct rec_arena arena;
	struct rec_machine_event *results; /* told once it is committed */
	size_t result_count, result_capacity;
	struct rec_event *told;      /* audit events for the listener, of committed groups first */
	struct rec_arena told_texts; /* of these */
	size_t told_count, told_capacity, told_committed;
	struct live *claimed; /* by this group */
	size_t claimed_count, claimed_capacity;
	uint32_t *joined; /* tasks whose first row is to be written */
	size_t joined_count, joined_capacity;

	struct rec_batch base;         /* what reconciliation did before us, from the batch's row */
	struct rec_reconciled written; /* since, as the batch's row has it */
	uint64_t errors, errors_written, bugs, commits;
	char last_error[256]; /* of a check; to be written to the log */
	int64_t away_tell_us;
	uint64_t untold;
	int64_t sync_due_us, sync_latest_us, sync_pause_us; /* when to wait for the disk; 0: not known yet */
	uint64_t synced_commits;                            /* `commits` when that was planned */
	bool away;                                          /* the store was, when it was asked last */
	bool drained, forced;
	bool stopping; /* what runs was told to stop, which goes on without the store */
	int64_t stop_due_us;
	bool ended;
	enum rec_batch_status outcome;
	int64_t position; /* of the next task that joins */
};

enum owed { OWED_NOTHING, OWED_LOOK, OWED_LOOK_CLOSELY /* and at what it depends on */ };
#define OWED_SETTLED 128u /* beside that: what the open group writes about it is all that is new */

struct rec_now rec_driver_now(const struct rec_driver *d);
/* Is it worth trying again later? */
bool rec_driver_may_pass(int code);
/* Counts a failure that may pass and tells it. */
void rec_driver_note_error(struct rec_driver *d, const char *doing, const struct rec_error *error);
/* After something that it failed to do while it was away. */
void rec_driver_store_answered(struct rec_driver *d);
/* Doubles a pause, and says when it is over. */
int64_t rec_driver_pause(struct rec_driver *d, int64_t *pause_us);

/* ---- News (driver.c) ---- */

int rec_driver_news_reserve(struct rec_driver *d, size_t count);
void rec_driver_news_add(struct rec_driver *d, const struct rec_machine_event *e); /* there must be room */
/* Tells the machine all of it. 0, REC_E_NOMEM (the rest stays). */
int rec_driver_news_tell(struct rec_driver *d);

/* ---- Claims we answer for (driver.c) ---- */

struct live *rec_driver_live_find(struct rec_driver *d, int64_t claim_id);
int rec_driver_live_reserve(struct rec_driver *d, size_t count);
struct live *rec_driver_live_add(struct rec_driver *d, const struct live *live); /* there must be room */
/* The slot may forget it; a dead batch whose last claim it was is let go. */
void rec_driver_live_drop(struct rec_driver *d, int64_t claim_id);
/* Forgets it, and lets go of the batch (owned; freed) unless something else of it is left. */
void rec_driver_slot_forget(struct rec_driver *d, uint32_t slot, int64_t claim_id, struct rec_slice batch_id);
/* Does a claim, or something stray, need the dead batch to be held? */
bool rec_driver_batch_is_needed(const struct rec_driver *d, struct rec_slice batch_id);

/* ---- Looks (driver-feed.c, driver-look.c) ---- */

/* Remembers to look at a task. 0, REC_E_NOMEM. */
int rec_driver_owe(struct rec_driver *d, uint32_t task, enum owed how);
/* As closely as is of use now. */
int rec_driver_owe_look(struct rec_driver *d, uint32_t task);
/* A task that is not in the batch is owed one; the id is copied. 0, REC_E_NOMEM. */
int rec_driver_stranger_add(struct rec_driver *d, struct rec_slice id);
/* What changed is owed a look. 0, or what the store says. */
int rec_driver_feed_read(struct rec_driver *d, struct rec_error *error);
/* A rec_rollup_fn with the driver as its context: for the log, and for the feed at the end of the group. */
void rec_driver_moved(void *driver, const struct rec_rollup_change *change);
/* The same at the end of a group, for what was written in it and before; about tasks whose results the group holds
 * nothing more need be known. Counts with the commit. */
int rec_driver_feed_read_in_group(struct rec_driver *d, struct rec_error *error);
/* begin, read, end in one. 0 (looked), REC_END (nothing to look at, or not yet), REC_E_NOMEM, fatal codes. */
int rec_driver_look(struct rec_driver *d, struct rec_error *error);
/* The stop request and the status of the batch's row. */
int rec_driver_heed_row(struct rec_driver *d, struct rec_error *error);

/* ---- Acting (driver-act.c, driver-claim.c, driver-event.c) ---- */

/* One plan, carried out. 0 (did something), REC_END (nothing to do). *ret_plan as rec_machine_plan gave it. */
int rec_driver_act(struct rec_driver *d, const struct rec_plan **ret_plan, struct rec_error *error);
/* What concerns processes, without a call of the store. 0, REC_E_NOMEM: call again. */
int rec_driver_act_processes(struct rec_driver *d);
/* A positive result of store calls cannot happen here. */
int rec_driver_unexpected(int r, const char *doing, struct rec_error *error);
int rec_driver_result_add(struct rec_driver *d, const struct rec_machine_event *e, struct rec_error *error);
/* The batch's row of the effect's task, as it is once the effect is in the store. batch_id: of the claim's own batch if
 * that is another one, which is written too; data == NULL: none. */
int rec_driver_row_put(struct rec_driver *d, const struct rec_effect *effect, enum rec_status status,
		       struct rec_slice batch_id, struct rec_error *error);
/* The batch's row of what reconciliation did, if that has changed. */
int rec_driver_counts_put(struct rec_driver *d, struct rec_error *error);
/* The claims of a group: rows, records, events, results. */
int rec_driver_claim(struct rec_driver *d, const struct rec_effects *bucket, struct rec_error *error);
/* Forgets what was prepared for a group that was rolled back; after a failed commit it is unsure. */
void rec_driver_claims_undo(struct rec_driver *d, bool unsure);

/* Audit events of effects. */
int rec_driver_event_add(struct rec_driver *d, const struct rec_event *event, struct rec_error *error);
int rec_driver_event_plain(struct rec_driver *d, const char *name, struct rec_slice task_id, uint32_t attempt,
			   const char *reason, struct rec_slice detail, struct rec_error *error);
int rec_driver_event_decision(struct rec_driver *d, const struct rec_effect *effect, struct rec_verdict verdict,
			      const struct rec_seen *seen, struct rec_error *error);
int rec_driver_event_finish(struct rec_driver *d, const struct rec_effect *effect, enum rec_status status,
			    const struct live *live, struct rec_error *error);
int rec_driver_event_ring(struct rec_driver *d, const struct rec_effect *effect, struct rec_error *error);
/* The group has ended: its events are to be told once they are durable; or forgotten. */
void rec_driver_events_stored(struct rec_driver *d, bool committed);
/* Waits for the disk, if that is due or has to be now, and tells what is durable by that. */
void rec_driver_sync(struct rec_driver *d, bool now);

/* ---- The lease (driver-lease.c) ---- */

/* Renews it, or stops the batch at its end. 0; REC_END: there is none yet, which forbids everything. */
int rec_driver_lease_step(struct rec_driver *d, struct rec_error *error);
/* Stops the batch if the lease has ended meanwhile; calls nobody. */
void rec_driver_lease_check(struct rec_driver *d);
int64_t rec_driver_lease_due(const struct rec_driver *d); /* monotonic */
/* The store's calls wait no longer than until something is to be stopped. */
void rec_driver_patience_set(struct rec_driver *d);
/* Is it an owner of this host, whose locks and slots tell what became of him? */
bool rec_driver_is_here(const struct rec_driver *d, struct rec_slice owner);
/* May others take over what an owner has, who has so much left of his lease? */
bool rec_driver_is_over(int64_t lease_left_us);

/* ---- Recovery (driver-recover.c) ---- */

/* Takes over what dead conductors left. 0; codes that may pass: to be tried again. */
int rec_driver_recover(struct rec_driver *d, struct rec_error *error);
struct stray *rec_driver_stray_find(struct rec_driver *d, uint32_t slot, int64_t claim_id);
void rec_driver_stray_tell(struct rec_driver *d, struct stray *stray, enum rec_slot_event_kind said);

#endif
