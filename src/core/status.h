/* status.h - statuses, their names and the legal transitions. Pure. */
#ifndef REC_CORE_STATUS_H
#define REC_CORE_STATUS_H

#include <stdbool.h>

#include "base/slice.h"
#include "reconciler.h"

/* "READY" and so on; "-" for REC_STATUS_ABSENT, "?" for REC_STATUS_UNRECOGNISED. */
const char *rec_status_text(enum rec_status status);
/* One of the seven, exactly as written (case matters), else REC_STATUS_UNRECOGNISED. O(1). */
enum rec_status rec_status_parse(struct rec_slice text);
/* As rec_status_parse, and codeframe's run statuses: RUNNING -> IN_PROGRESS, COMPLETED -> DONE (FAILED and
 * BLOCKED are the same word in both). For beliefs only. */
enum rec_status rec_status_parse_belief(struct rec_slice text);
bool rec_status_terminal(enum rec_status status); /* FAILED, DONE, MERGED */
bool rec_status_success(enum rec_status status);  /* DONE, MERGED */

/* One legal step. */
bool rec_transition_legal(enum rec_status from, enum rec_status to);
/* The shortest legal path from..to without `from`; 0 steps if from == to, -1 if there is none (or one of
 * them is not a real status). steps may be NULL. Ties are broken by the order of enum rec_status. */
int rec_transition_path(enum rec_status from, enum rec_status to, enum rec_status steps[REC_STATUS_COUNT]);
/* The statuses one legal step away, as a bit set (1u << status). */
unsigned rec_transition_targets(enum rec_status from);

/* What a composite parent's status should be, from how many children have each of the seven statuses
 * (codeframe's rule): all DONE or MERGED -> DONE; else any FAILED -> FAILED; any IN_PROGRESS ->
 * IN_PROGRESS; any BLOCKED -> BLOCKED; some finished -> IN_PROGRESS; any READY -> READY; else BACKLOG.
 * No children at all -> REC_STATUS_ABSENT (leave it). */
enum rec_status rec_rollup(const uint64_t children[REC_STATUS_COUNT]);

#endif
