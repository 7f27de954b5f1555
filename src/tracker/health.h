/* health.h - how a tracker is doing, as a value: what was heard of it goes in, whether it may be asked comes out.
 * Pure: the time is an argument. */
#ifndef REC_TRACKER_HEALTH_H
#define REC_TRACKER_HEALTH_H

#include "base/slice.h"

#define REC_TRACKER_PAUSE_FIRST_US (INT64_C(5) * 1000000)        /* after the first failure; doubles */
#define REC_TRACKER_PAUSE_MAX_US (INT64_C(600) * 1000000)        /* the longest pause of our own */
#define REC_TRACKER_RETRY_AFTER_MAX_US (INT64_C(3600) * 1000000) /* the longest that a tracker may ask for */
#define REC_TRACKER_PROBLEM_BYTES 256

enum rec_tracker_state {
	REC_TRACKER_UNTRIED, /* nothing was asked yet */
	REC_TRACKER_REACHED, /* the last request was answered */
	REC_TRACKER_PAUSED,  /* it was reached, and asked to be left alone for a while (a rate limit) */
	REC_TRACKER_DOWN,    /* the last request failed */
};
const char *rec_tracker_state_text(enum rec_tracker_state s); /* "untried", "reached", "paused", "down" */

struct rec_tracker_health {
	enum rec_tracker_state state;
	uint32_t failures;     /* in a row */
	int64_t not_before_us; /* monotonic: ask nothing before; 0: at any time */
	bool wished;           /* by the tracker's own wish, which outlives a process */
	int64_t reached_us;    /* monotonic, of the last good answer; 0: never */
	uint64_t requests;
	/* The last failure, for a person, one line; "" after a good answer. */
	char problem[REC_TRACKER_PROBLEM_BYTES];
	char helper[64]; /* what the helper calls itself; "" until it said so */
	bool can_close;
	/* The token's budget, as last told. */
	bool has_budget;
	int64_t budget_limit, budget_remaining, budget_reset_us /* wall clock; 0: not told */;
};

/* A request was answered. retry_after_ms: the tracker's wish, clamped; 0: none. */
void rec_tracker_health_answered(struct rec_tracker_health *h, int64_t now_us, int64_t retry_after_ms);
/* It was not: the pause doubles. retry_after_ms: the tracker's own wish, clamped, where it could still say one; it
 * replaces a shorter pause. The problem is kept as it may be shown, cut. */
void rec_tracker_health_failed(struct rec_tracker_health *h, int64_t now_us, int64_t retry_after_ms,
			       struct rec_slice problem);
static inline bool rec_tracker_health_may_ask(const struct rec_tracker_health *h, int64_t now_us)
{
	return now_us >= h->not_before_us;
}

#endif
