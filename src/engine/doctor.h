/* doctor.h - what can never heal by itself. Read-only. */
#ifndef REC_ENGINE_DOCTOR_H
#define REC_ENGINE_DOCTOR_H

#include "store/store.h"

struct rec_finding {
	const char *kind;         /* "claim-without-process", "in-progress-without-run", "blocked-without-blockers",
				   * "missing-dependency", "dependency-ring", "unrecognised-status", "dead-link",
				   * "missing-trigger", "bad-row", "missing-parent", "parent-ring", or what
				   * the store itself calls its problem */
	struct rec_slice task_id; /* absent for the store itself */
	const char *sentence;     /* what is wrong, naming values */
	const char *command; /* the command that mends it, e.g. "reconciler task set --force ID BACKLOG"; quoted for a
				POSIX shell */
};
typedef int rec_finding_fn(void *context, const struct rec_finding *finding);
/* O(tasks + dependencies), one snapshot; what rests on a second read is confirmed by another look. Listens to the
 * store's warnings meanwhile and sets the former listener again. fn returns 0 to go on, else that is the result; it
 * may be NULL. *ret_count (may be NULL). */
int rec_doctor(struct rec_store *s, rec_finding_fn *fn, void *context, uint64_t *ret_count, struct rec_error *error);

#endif
