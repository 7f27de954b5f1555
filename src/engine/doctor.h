/* doctor.h - what can never heal by itself. Read-only. */
#ifndef REC_ENGINE_DOCTOR_H
#define REC_ENGINE_DOCTOR_H

#include "store/store.h"

struct rec_finding {
	const char *kind;         /* "claim-without-process", "in-progress-without-run", "blocked-without-blockers",
				   * "missing-dependency", "dependency-ring", "unrecognised-status", "dead-link",
				   * "missing-trigger", "bad-row", "missing-parent" */
	struct rec_slice task_id; /* absent for the store itself */
	const char *sentence;     /* what is wrong, naming values */
	const char *command;      /* the command that mends it, e.g. "reconciler task set ID READY --force" */
};
typedef int rec_finding_fn(void *context, const struct rec_finding *finding);
/* O(tasks + dependencies), one snapshot. fn returns 0 to go on. *ret_count (may be NULL). */
int rec_doctor(struct rec_store *s, rec_finding_fn *fn, void *context, uint64_t *ret_count, struct rec_error *error);

#endif
