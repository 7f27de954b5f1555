/* report.h - how a tracker is, for people and for other processes: its health with times of the wall clock, as a line
 * of JSON that whoever asks it leaves in the store. */
#ifndef REC_TRACKER_REPORT_H
#define REC_TRACKER_REPORT_H

#include "store/store.h"
#include "tracker/tracker.h"

struct rec_tracker_report {
	enum rec_tracker_state state;
	uint32_t failures;
	bool wished; /* not_before is the tracker's own wish */
	/* Wall clock, microseconds since 1970; 0: never, or not known. */
	int64_t told_us, reached_us, not_before_us;
	char problem[REC_TRACKER_PROBLEM_BYTES], helper[64];
	bool has_budget;
	int64_t budget_limit, budget_remaining, budget_reset_us;
};

struct rec_tracker_report rec_tracker_report_of(const struct rec_tracker_health *h, int64_t monotonic_us,
						int64_t wall_us);
/* Appends it as one JSON object. 0 or the buffer's failure. */
int rec_tracker_report_write(struct rec_buffer *out, const struct rec_tracker_report *report);
/* The reverse; what is missing or cannot be is as if not known. 0, REC_E_INVALID, REC_E_NOMEM. */
int rec_tracker_report_read(struct rec_slice text, const struct rec_allocator *a, struct rec_tracker_report *ret_report,
			    struct rec_error *error);

/* In the store, beside the tracker's cursors, but never among them. REC_NOT_FOUND: nothing was left there. What the
 * store's cursors give otherwise (REC_E_UNSUPPORTED, REC_E_UNINITIALISED: it keeps none). */
int rec_tracker_report_put(struct rec_store *s, const char *name, const struct rec_tracker_report *report,
			   struct rec_error *error);
int rec_tracker_report_get(struct rec_store *s, const char *name, struct rec_tracker_report *ret_report,
			   struct rec_error *error);

/* For a whole registry: what trackers wished of other processes is heeded here too; how they are is left in the store.
 * Faults of the store are no reason to stop: they are left to those who have more to lose. */
void rec_tracker_reports_heed(struct rec_trackers *t, struct rec_store *s, int64_t monotonic_us, int64_t wall_us);
void rec_tracker_reports_put(const struct rec_trackers *t, struct rec_store *s, int64_t monotonic_us, int64_t wall_us);

#endif
