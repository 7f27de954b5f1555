/* decide.h - the decision table, the blocker rule and the merge of results. Pure; O(1), no allocation. */
#ifndef REC_CORE_DECIDE_H
#define REC_CORE_DECIDE_H

#include "core/status.h"

/* Every reason a verdict can carry. One X-macro: the enum, the texts and the parser follow from it. */
#define REC_REASONS(X)                                                                                                 \
	X(NO_ACTION_REQUIRED, "no action required")                                                                    \
	X(WITHDRAWN, "task externally withdrawn to BACKLOG")                                                           \
	X(NO_SAFE_ACTION, "states differ; no safe action")                                                             \
	X(PROMOTED, "task externally promoted to READY")                                                               \
	X(START_NOT_RECORDED, "start not recorded in durable state")                                                   \
	X(BLOCKED_RELEASED, "blocked task externally released")                                                        \
	X(FAILED_RESET, "failed task externally reset for retry")                                                      \
	X(REOPENED, "completed task externally reopened")                                                              \
	X(STARTED_ELSEWHERE, "task started elsewhere")                                                                 \
	X(BLOCKED_OUTSIDE, "task externally transitioned to BLOCKED")                                                  \
	X(COMPLETED_OUTSIDE, "task externally completed")                                                              \
	X(COMPLETED_WHILE_BLOCKED, "task externally completed while blocked")                                          \
	X(ALREADY_TERMINAL, "task already terminal in durable state")                                                  \
	X(TERMINAL_CONFIRMED, "external state confirms terminal")                                                      \
	X(NOT_FOUND, "task not found")                                                                                 \
	X(UNRECOGNISED_STATUS, "unrecognised status in durable state")                                                 \
	X(NOT_BLOCKED, "task is not blocked")                                                                          \
	X(BLOCKERS_RESOLVED, "all blockers resolved")                                                                  \
	X(BLOCKERS_OPEN, "open blockers remain")                                                                       \
	X(NO_BLOCKERS, "blocked without blockers")                                                                     \
	X(NO_NEW_ANSWER, "blocked again without a new answer")                                                         \
	X(ISSUE_COMPLETED, "issue closed as completed")                                                                \
	X(ISSUE_NOT_PLANNED, "issue closed as not planned")                                                            \
	X(ISSUE_CLOSED_OTHERWISE, "issue closed for a reason we do not know")                                          \
	X(ISSUE_REOPENED, "issue reopened")                                                                            \
	X(PULL_REQUEST_MERGED, "pull request merged")                                                                  \
	X(PULL_REQUEST_CLOSED, "pull request closed without merging")                                                  \
	X(PULL_REQUEST_REOPENED, "pull request reopened")                                                              \
	X(NEW_COMMENTS, "new comments")                                                                                \
	X(NOTHING_NEW, "nothing new at the tracker")                                                                   \
	X(LINK_GONE, "gone at the tracker")                                                                            \
	X(TRACKER_UNKNOWN, "unknown at the tracker")                                                                   \
	X(OBSERVATION_OLDER, "older than what is known")                                                               \
	X(OBSERVATION_TIE, "as old as what is known; to be read again")                                                \
	X(NOT_LINKED, "task is not linked")                                                                            \
	X(NO_TRACKER, "no tracker for its link")

enum rec_reason {
#define REC_REASON_ENUM(name, text) REC_REASON_##name,
	REC_REASONS(REC_REASON_ENUM)
#undef REC_REASON_ENUM
		REC_REASON_COUNT
};
const char *rec_reason_text(enum rec_reason reason);
/* REC_REASON_COUNT if it is none of them. */
enum rec_reason rec_reason_parse(struct rec_slice text);

enum rec_source { REC_SOURCE_STORE, REC_SOURCE_BLOCKERS, REC_SOURCE_TRACKER };
const char *rec_source_text(enum rec_source source); /* "store", "blockers", "tracker" */

const char *rec_action_text(enum rec_action action); /* "NONE", ... */
int rec_action_parse(struct rec_slice text);         /* the action, or -1 */
/* What a decision for it is called in the audit log, "RECONCILIATION_TASK_KILLED"; NONE: that of a mere notice. */
const char *rec_action_event(enum rec_action action);

/* One result, small: the id and a raw status are kept beside it by whoever asked. */
struct rec_verdict {
	uint8_t stored;      /* enum rec_status; ABSENT: no such task; UNRECOGNISED */
	uint8_t external;    /* believed (or a tracker's observed status); ABSENT shows as null */
	uint8_t action;      /* enum rec_action */
	uint8_t reason;      /* enum rec_reason */
	uint8_t source;      /* enum rec_source */
	uint8_t discrepancy; /* 0, 1 */
};
bool rec_verdict_equal(struct rec_verdict a, struct rec_verdict b);

/* The table: stored x believed. stored may be ABSENT (task not found) or UNRECOGNISED; believed is one of
 * the seven or ABSENT ("-"). Total. */
struct rec_verdict rec_decide_task(enum rec_status stored, enum rec_status believed);

/* What a decision about blockers rests on. */
struct rec_blocker_counts {
	uint32_t total; /* attached to the task */
	uint32_t open;  /* of those, OPEN, or with a status we do not know (never guessed released) */
};
struct rec_verdict rec_decide_blockers(enum rec_status stored, struct rec_blocker_counts blockers);

/* Merge of two results about one task with the belief they were made for: SKIP > KILL > REQUEUE > NONE,
 * then discrepancy first, then the order store, blockers, trackers; except that "all blockers resolved"
 * wins over the store's KILL while the batch holds the task neither running nor finished. */
struct rec_verdict rec_merge(struct rec_verdict a, struct rec_verdict b, enum rec_status believed);

/* Does this verdict call for something (exit status 1 of `check`)? KILL, REQUEUE, SKIP with discrepancy. */
bool rec_verdict_calls(struct rec_verdict v);

/* The table's cells in the order of decision-table.tsv, for `policy` and for tests: row 0..55.
 * stored = row / 8, believed = "-" first, then BACKLOG... */
#define REC_TABLE_ROWS (REC_STATUS_COUNT * (REC_STATUS_COUNT + 1))
struct rec_verdict rec_table_row(unsigned row, enum rec_status *ret_stored, enum rec_status *ret_believed);

#endif
