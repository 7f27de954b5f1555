/* apply.h - one-shot apply: decide and apply once, without a conductor. Idempotent and race-free.
 *
 * What it does: REQUEUE of a BLOCKED task moves it to READY with one event, unless the task was blocked
 * again without a new answer since its last claim (then the verdict is NONE "blocked again without a new
 * answer"). REQUEUE of a READY task, SKIP and KILL change nothing here: a process is stopped only by the
 * conductor that owns its claim. Nothing is ever signalled.
 *
 * Race-freedom: candidates from the check are looked at again inside the write group; only what is still
 * decided the same way is written, together with its event.
 */
#ifndef REC_ENGINE_APPLY_H
#define REC_ENGINE_APPLY_H

#include "engine/check.h"

/* As rec_check_fact, with the hold: "all blockers resolved" of a task whose last claim knew all of them already
 * becomes NONE "blocked again without a new answer" (source blockers, discrepancy). fact needs
 * REC_SNAPSHOT_BLOCKERS. Pure. */
struct rec_verdict rec_apply_fact(enum rec_check_kind kind, const struct rec_fact *fact, enum rec_status believed);

/* Writes what `results` (decided with rec_apply_fact from their snapshot) call for; sets applied[i] (given as
 * false) where something was changed. Nothing to requeue costs a pass over the verdicts.
 * Events: RECONCILIATION_TASK_REQUEUED with every input of the decision (believed only if the kind uses it, "-" for
 * none), and TASK_STATUS_CHANGED for each parent the roll-up moved. batch_id is optional.
 * Writes in groups of up to 1,000 tasks, so that nobody else is locked out for long. A negative result leaves what
 * earlier groups did, each change whole with its event; calling again does the rest. Not inside a group. */
int rec_apply_results(struct rec_store *s, enum rec_check_kind kind, struct rec_slice batch_id,
		      const struct rec_results *results, bool *applied, struct rec_error *error);
/* Check and apply. results: as rec_check would give them, with the holds, taken before the writes; applied[i] (array of
 * results.snapshot.count, owned by the caller, released with rec_free of results.snapshot.allocator) tells whether
 * something was changed for result i (for a duplicated id, its first result). */
int rec_apply(struct rec_store *s, enum rec_check_kind kind, const struct rec_slice *ids, size_t count,
	      const struct rec_belief *belief, struct rec_slice batch_id, struct rec_results *ret_results,
	      bool **ret_applied, struct rec_error *error);

/* Re-decides every recorded decision (an event with an action, or called RECONCILIATION_TASK_SKIPPED, _KILLED or
 * _REQUEUED) from its recorded inputs: current_status, believed and the blocker counts, or the observation. Which of
 * them are there tells the kind: an observation is a tracker's; both MERGED, only believed TASKS, only counts BLOCKERS.
 * fn is told each difference: the event's seq and a sentence ("seq 12: recorded REQUEUE ..., the inputs give NONE
 * ..."). *ret_checked counts decisions, *ret_different differences (both may be NULL). fn returns 0 to go on, else that
 * ends it; fn may be NULL. O(events). */
typedef int rec_difference_fn(void *context, int64_t seq, const char *sentence);
int rec_events_verify(struct rec_store *s, rec_difference_fn *fn, void *context, uint64_t *ret_checked,
		      uint64_t *ret_different, struct rec_error *error);
/* Appends the event object of cli.md, compact, no newline; what is absent is left out. `detail`, if there is one,
 * comes last. 0, or the buffer's sticky failure. */
int rec_event_write_json(struct rec_buffer *out, const struct rec_event *event);

#endif
