/* protocol.h - the lines that a helper program and we exchange (reconciler-tracker(7)). Sans-IO: a request becomes a
 * line, a line becomes an answer or an error. */
#ifndef REC_TRACKER_PROTOCOL_H
#define REC_TRACKER_PROTOCOL_H

#include "base/buffer.h"
#include "base/error.h"
#include "core/record.h"
#include "tracker/fields.h"
#include "tracker/tracker.h"

/* ---- Requests: appended to out, with the line's end. 0, REC_E_NOMEM, REC_E_LIMIT (over the buffer's maximum) ---- */

int rec_protocol_write_hello(struct rec_buffer *out, int64_t id, struct rec_slice name);

struct rec_protocol_link {
	struct rec_slice url, validator; /* validator: absent (data == NULL) if there is none */
};
struct rec_protocol_fetch {
	int64_t id;
	const struct rec_protocol_link *links;
	size_t count;
	const struct rec_tracker_cursor *cursors; /* those beyond 1 MiB in all are left out: they only save requests */
	size_t cursor_count;
	double budget_share;
	int64_t deadline_ms;
};
/* Writes as many of the links as fit into one line and REC_TRACKER_LINKS_MAX, at least one. *ret_written: how many. The
 * buffer needs REC_TRACKER_LINE_ROOM above a line's limit: what does not fit is written and taken back. */
#define REC_TRACKER_LINE_ROOM (64u << 10)
int rec_protocol_write_fetch(struct rec_buffer *out, const struct rec_protocol_fetch *fetch, size_t *ret_written);

int rec_protocol_write_close(struct rec_buffer *out, int64_t id, struct rec_slice url, struct rec_slice comment,
			     struct rec_slice marker);

/* ---- Answers ------------------------------------------------------------------------------------ */

struct rec_protocol_answer {
	struct rec_number id, protocol, retry_after_ms;
	struct rec_number can_close, closed; /* 0 or 1 */
	struct rec_slice helper, problem;    /* absent: data == NULL */
	bool has_observations;               /* also if the list is empty */
	/* As told, in that order. What cannot be (a state that we do not know, a time that is none, a text that is too
	 * long) makes its observation UNKNOWN with a problem; it is never guessed. */
	bool unsound; /* there was such a one: what it should have told lies behind the cursors, which are worth nothing
		       */
	struct rec_observation *observations;
	size_t observation_count, observation_capacity;
	struct rec_tracker_cursor *cursors; /* value absent: forget it */
	size_t cursor_count, cursor_capacity;
	struct rec_protocol_budget {
		struct rec_number limit, remaining;
		struct rec_slice reset;
	} budget;
	bool has_budget;
};
/* Reads one line (without its end). Texts lie in the arena, the lists are released by answer_release. 0; REC_E_INVALID:
 * not JSON, not an object, a wrong type, a cursor that is too long; REC_E_NOMEM. Unknown keys are ignored. Without an
 * id it answers nothing that was asked. */
int rec_protocol_parse(struct rec_slice line, struct rec_arena *arena, struct rec_protocol_answer *ret_answer,
		       struct rec_error *error);
void rec_protocol_answer_release(struct rec_protocol_answer *answer, const struct rec_allocator *allocator);

#endif
