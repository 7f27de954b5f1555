/* tracker.h - asks trackers (outside systems with a state of their own for a task) about links, through helper
 * programs, and never waits.
 *
 * A tracker is a helper program: one JSON object a line on its standard input, one a line on its standard output
 * (reconciler-tracker(7)). It is started without a shell when it is first asked, kept alive between passes, and ended
 * with us. Whatever it does wrong (hangs, exits, lies, floods) makes it an unreachable tracker, and no more: each link
 * asked for is UNKNOWN, the helper is ended and started again after a pause that doubles. Unknown is not gone.
 *
 * How to use it:
 *
 *     rec_trackers_new
 *     for each tracker that is due:  rec_trackers_ask(links of that tracker, its cursors)
 *     for (;;) {
 *             r = rec_trackers_step(t, now_us, error);         // all I/O that can be done now
 *             while (rec_trackers_next(t, &answer) == 0)       // what came of it
 *                     use(answer);                             // apply; store link states and cursors
 *             if (!rec_trackers_busy(t)) break;
 *             poll(rec_trackers_fd(t), until rec_trackers_due_us(t));
 *     }
 *     rec_trackers_free
 *
 * `now_us` is monotonic (CLOCK_MONOTONIC, microseconds) throughout. A registry belongs to one thread.
 */
#ifndef REC_TRACKER_TRACKER_H
#define REC_TRACKER_TRACKER_H

#include "base/error.h"
#include "core/record.h"
#include "tracker/health.h"

#define REC_TRACKER_NONE SIZE_MAX
#define REC_TRACKER_PROTOCOL 1
#define REC_TRACKER_LINE_BYTES_MAX (4u << 20) /* of one request or answer */
#define REC_TRACKER_LINKS_MAX 2000u           /* in one request */
#define REC_TRACKER_TIMEOUT_US (INT64_C(30) * 1000000)

/* One tracker, as configured. Texts are copied. */
struct rec_tracker_options {
	const char *name;           /* "github", or NAME of [tracker NAME]; the key of its cursors in the store */
	const char *url_prefix;     /* the links it answers for; where several fit, the longest prefix wins */
	const char *const *command; /* NULL-terminated; command[0] is an absolute path; run without a shell */
	int64_t timeout_us;         /* for one request with its answer; 0: REC_TRACKER_TIMEOUT_US */
	int64_t interval_us;        /* between two passes that nobody asked for by hand; 0: as whoever asks likes */
	double budget_share;        /* of the token's budget that may be used; told to the helper */
};

struct rec_trackers_options {
	const struct rec_tracker_options *trackers;
	size_t count;
	const char *leash_path;                /* of reconciler-leash: it ends the helper when we die; NULL: without */
	const struct rec_allocator *allocator; /* NULL: libc's */
};

struct rec_link;
struct rec_observation;
struct rec_trackers;
/* No process is started. REC_E_INVALID (a name twice, an empty prefix), REC_E_IO, REC_E_NOMEM. */
int rec_trackers_new(const struct rec_trackers_options *options, struct rec_trackers **ret_trackers,
		     struct rec_error *error);
/* Closes the helpers' input, and ends those that have not left within 200 ms. NULL is fine; returns NULL. */
struct rec_trackers *rec_trackers_free(struct rec_trackers *t);

/* ---- Who there is ------------------------------------------------------------------------------- */

size_t rec_trackers_count(const struct rec_trackers *t);
/* index < count. They live as long as t; health changes with step. */
const char *rec_tracker_name(const struct rec_trackers *t, size_t tracker);
int64_t rec_tracker_interval_us(const struct rec_trackers *t, size_t tracker);
const struct rec_tracker_health *rec_tracker_health(const struct rec_trackers *t, size_t tracker);
/* Which tracker answers for a URL (the longest prefix; scheme and host without regard to case), or REC_TRACKER_NONE. */
size_t rec_trackers_find(const struct rec_trackers *t, struct rec_slice url);
/* Is this process one that t started? Whoever ends unknown children asks first. */
bool rec_trackers_own(const struct rec_trackers *t, int pid);

/* ---- Asking ------------------------------------------------------------------------------------- */

/* What a tracker wants kept from pass to pass; opaque, at most REC_VALIDATOR_BYTES_MAX each. */
struct rec_tracker_cursor {
	struct rec_slice key, value;
};

/* Begins a pass over these links of one tracker. Asked is moved_to where there is one, else url, with the validator;
 * the same address twice is asked once, one longer than REC_LINK_URL_BYTES_MAX not at all. Everything is copied. Many
 * links are asked in several requests, one after the other. A link known to be gone should not be asked again. The
 * answers come by rec_trackers_next, the last of them says so. 0 (if there is nothing to ask, nothing comes);
 * REC_CONFLICT: its former pass is not over; REC_REFUSED: not now, see its health (nothing comes); REC_E_NOMEM. */
int rec_trackers_ask(struct rec_trackers *t, size_t tracker, const struct rec_link *links, size_t count,
		     const struct rec_tracker_cursor *cursors, size_t cursor_count, int64_t now_us,
		     struct rec_error *error);
/* Asks to close the item behind a link, with a comment; the same marker never closes or comments twice. Waits its turn
 * behind a pass. 0: an answer of kind CLOSED comes; REC_REFUSED: not now; REC_E_LIMIT: too many wait. */
int rec_trackers_close(struct rec_trackers *t, size_t tracker, struct rec_slice url, struct rec_slice comment,
		       struct rec_slice marker, int64_t now_us, struct rec_error *error);

/* Asks that tracker nothing before (monotonic, at most REC_TRACKER_RETRY_AFTER_MAX_US from now): what it asked of
 * another process. */
void rec_trackers_pause(struct rec_trackers *t, size_t tracker, int64_t until_us, int64_t now_us);

/* Does all reading, writing, starting, ending that is possible now; never waits. REC_E_NOMEM: call again (nothing is
 * lost); anything a helper does is no error. Idle: O(trackers). */
int rec_trackers_step(struct rec_trackers *t, int64_t now_us, struct rec_error *error);
/* Readable when step has something to do; one for all, owned by t. */
int rec_trackers_fd(const struct rec_trackers *t);
/* When step is to be called though the descriptor stays silent (monotonic); INT64_MAX: never. */
int64_t rec_trackers_due_us(const struct rec_trackers *t);
/* Is an answer still to come? */
bool rec_trackers_busy(const struct rec_trackers *t);

enum rec_tracker_answer_kind { REC_TRACKER_OBSERVED, REC_TRACKER_CLOSED };

struct rec_tracker_answer {
	enum rec_tracker_answer_kind kind;
	size_t tracker;
	bool reached; /* false: the tracker could not be asked; health.problem says why */
	/* OBSERVED: one for each URL of the request, in bytewise order; what was not answered is UNKNOWN. */
	const struct rec_observation *observations;
	size_t count;
	/* To be stored with these observations. Only the last answer of a pass has any, and only if all requests of the
	 * pass were answered, and nothing was told that cannot be: that is unknown, but may be news behind a cursor. */
	const struct rec_tracker_cursor *cursors;
	size_t cursor_count;
	bool last; /* of its pass */
	/* CLOSED */
	struct rec_slice url, marker;
	bool closed;
	struct rec_slice problem; /* why not */
};
/* The next answer: 0, or REC_END if there is none now. It lives until the next call of next, step or free. */
int rec_trackers_next(struct rec_trackers *t, struct rec_tracker_answer *ret_answer);

#endif
