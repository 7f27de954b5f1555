/* record.h - the plain data that floors hand each other: tasks, blockers, events. No behaviour but
 * release; strings are slices into an arena or a row buffer named by whoever fills them. */
#ifndef REC_CORE_RECORD_H
#define REC_CORE_RECORD_H

#include "core/decide.h"

enum rec_blocker_status { REC_OPEN, REC_ANSWERED, REC_RESOLVED, REC_BLOCKER_UNRECOGNISED };
const char *rec_blocker_status_text(enum rec_blocker_status s);
enum rec_blocker_status rec_blocker_status_parse(struct rec_slice text);

/* An absent optional text is a slice with data == NULL; an empty one has length 0 and data != NULL. */
struct rec_blocker {
	struct rec_slice id, task_id /* optional */, question, answer /* optional */;
	struct rec_slice status_text; /* as stored */
	enum rec_blocker_status status;
	struct rec_slice created_at, answered_at /* optional */, created_by;
};

/* Every column of codeframe's schema is known in every store, so that export -> import loses nothing. */
struct rec_task {
	struct rec_slice id, title, description /* optional */;
	struct rec_slice status_text; /* as stored */
	enum rec_status status;
	int64_t priority;
	const struct rec_slice *depends_on; /* ids */
	size_t depends_on_count;
	struct rec_slice depends_on_raw; /* set (data != NULL) if the stored value is no list of texts */
	struct rec_slice parent_id /* optional */, external_url /* optional */;
	struct rec_slice created_at, updated_at;
	bool is_leaf;
	/* codeframe's further columns; optional texts, and numbers with a presence flag */
	struct rec_slice prd_id, uncertainty_level, hierarchical_id;
	struct rec_slice lineage, requirement_ids; /* JSON texts as stored; optional */
	bool has_estimated_hours, has_complexity_score, has_github_issue_number;
	double estimated_hours;
	int64_t complexity_score, github_issue_number;
	int64_t auto_close_github_issue;
	const struct rec_blocker *blockers; /* oldest first (created_at, then id); only if asked for */
	size_t blocker_count;
	/* live facts, read only */
	uint32_t attempt; /* of the current or last claim; 0: never claimed by us */
	bool claimed;
};

/* One line of the audit log. Absent texts: data == NULL. Absent numbers: the has_ flag is false. */
struct rec_event {
	int64_t seq;            /* given by the store */
	struct rec_slice time;  /* RFC 3339 */
	struct rec_slice event; /* RECONCILIATION_TASK_REQUEUED, TASK_STATUS_CHANGED, ... */
	struct rec_slice batch_id, task_id;
	struct rec_slice action, reason, source;
	struct rec_slice current_status, external_status, believed; /* external_status: as in the result */
	struct rec_slice observation;
	struct rec_slice detail; /* free text for people: "forced", the new status, ... */
	bool has_attempt, has_blockers, has_exit_code, has_exit_signal, has_survivors;
	int64_t attempt, blockers_total, blockers_open, blockers_new, exit_code, exit_signal, survivors;
};

#endif
