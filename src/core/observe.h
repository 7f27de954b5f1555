/* observe.h - what follows from an observation: the rules of check_trackers. Pure; O(1), no allocation.
 *
 * Only what changed since the last observation acts, and only if it is newer by the tracker's own time. What a
 * tracker does not know says nothing about the task.
 */
#ifndef REC_CORE_OBSERVE_H
#define REC_CORE_OBSERVE_H

#include "core/record.h"

struct rec_observe_input {
	const struct rec_link *link; /* what is remembered */
	const struct rec_observation *observation;
	enum rec_status stored; /* the task's; ABSENT and UNRECOGNISED too */
	bool made_done;         /* the task is still as it was when this tracker made it DONE */
	bool again;             /* the observation was read because of a tie: it is followed, and no validator kept */
};

struct rec_observed_outcome {
	/* Action and discrepancy are the decision table's cell for stored = the observed status and believed = the
	 * stored one; the reason is the tracker's. external: the observed status, ABSENT where there is none. */
	struct rec_verdict verdict;
	enum rec_status write; /* the status to store, by compare-and-set against `stored`; ABSENT: none */
	bool tell;             /* worth one event: a write, a notice, new comments */
	bool read_again;       /* a tie: ask once more, without a validator */
	bool remember;         /* `link` differs from what is remembered */
	bool made_done;        /* the write makes the task DONE: link.made_done_at is for the caller to fill in */
	struct rec_link link;  /* what is to be remembered; its texts are those of link and observation */
};

/* observed_at of the link to remember is left as it is: the caller knows the time. */
void rec_observe(const struct rec_observe_input *input, struct rec_observed_outcome *ret_outcome);

/* Why an observation cannot be taken for what it says (a time that is none, a text that is too long or not UTF-8), or
 * NULL. Such a one counts as unknown. */
const char *rec_observation_problem(const struct rec_observation *observation);

#endif
