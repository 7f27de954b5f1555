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

/* results: as rec_check would give them, taken before the writes; applied[i] (array of results.snapshot.count,
 * owned by the caller, released with rec_free of the results' allocator) tells what was changed for result i
 * (for a duplicated id, its first result). */
int rec_apply(struct rec_store *s, enum rec_check_kind kind, const struct rec_slice *ids, size_t count,
	      const struct rec_belief *belief, struct rec_slice batch_id, struct rec_results *ret_results,
	      bool **ret_applied, struct rec_error *error);

/* Re-decides every recorded decision from its recorded inputs. fn is told each difference: the event's seq and a
 * sentence
 * ("seq 12: recorded KILL ..., the inputs give NONE ..."). *ret_checked counts decisions, *ret_different
 * differences. fn returns 0 to go on. */
typedef int rec_difference_fn(void *context, int64_t seq, const char *sentence);
int rec_events_verify(struct rec_store *s, rec_difference_fn *fn, void *context, uint64_t *ret_checked,
		      uint64_t *ret_different, struct rec_error *error);
/* Appends the event object of cli.md, compact, no newline. */
int rec_event_write_json(struct rec_buffer *out, const struct rec_event *event);

#endif
