/* record.h - the plain data that floors hand each other: tasks, blockers, events, batches, links and what trackers say
 * of them. No behaviour but names; strings are slices into an arena or a row buffer named by whoever fills them. */
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

/* ---- Batches ------------------------------------------------------------------------------------ */

enum rec_batch_status { REC_BATCH_RUNNING, REC_BATCH_COMPLETED, REC_BATCH_PARTIAL, REC_BATCH_CANCELLED };
const char *rec_batch_status_text(enum rec_batch_status s); /* "RUNNING", ... */
/* The status, or -1. */
int rec_batch_status_parse(struct rec_slice text);

/* What the operator asked of a batch; it only grows. */
enum rec_batch_stop { REC_BATCH_GO_ON, REC_BATCH_DRAIN, REC_BATCH_FORCE };
const char *rec_batch_stop_text(enum rec_batch_stop s); /* "", "drain", "force" */
int rec_batch_stop_parse(struct rec_slice text);        /* the request, or -1 */

struct rec_batch {
	struct rec_slice batch_id, owner /* optional: "host:pid:..." for people */;
	enum rec_batch_status status;
	enum rec_batch_stop stop;
	struct rec_slice options; /* optional: how it was asked to run, as JSON; kept for `resume` */
	struct rec_slice started_at, ended_at /* optional */;
	int64_t skipped, killed, requeued, errors; /* what reconciliation did */
};

/* What a batch durably knows of one of its tasks. */
struct rec_batch_task {
	struct rec_slice task_id;
	int64_t position;         /* order in the batch */
	struct rec_slice phase;   /* "waiting", "running", "held", "finished" */
	enum rec_status believed; /* ABSENT: nothing */
	struct rec_slice reason;  /* optional: what holds it, or how it ended */
	bool own;                 /* finished by the batch's own attempt, not from outside */
	int64_t attempt, failures, again, lost;
	int64_t not_before_us; /* wall clock, microseconds since 1970; 0: none */
};

/* ---- Links and observations ---------------------------------------------------------------------- */

#define REC_LINK_URL_BYTES_MAX 2048
#define REC_VALIDATOR_BYTES_MAX 4096 /* of cursors, too */
#define REC_CURSOR_KEY_BYTES_MAX 1024

/* What a tracker says of an issue or a pull request. UNKNOWN: it could not be seen, which says nothing about it;
 * UNCHANGED: nothing new since the observation whose validator was sent along. */
enum rec_observed {
	REC_OBSERVED_UNKNOWN,
	REC_OBSERVED_OPEN,
	REC_OBSERVED_CLOSED,
	REC_OBSERVED_MERGED,
	REC_OBSERVED_GONE,
	REC_OBSERVED_UNCHANGED,
};
const char *rec_observed_text(enum rec_observed o); /* "unknown", "open", ... */
int rec_observed_parse(struct rec_slice text);      /* or -1 */

enum rec_link_kind { REC_LINK_KIND_UNKNOWN, REC_LINK_ISSUE, REC_LINK_PULL_REQUEST };
const char *rec_link_kind_text(enum rec_link_kind k); /* "unknown", "issue", "pull_request" */
int rec_link_kind_parse(struct rec_slice text);       /* or -1 */
/* ISSUE or PULL_REQUEST if `url` is a web address of one (".../issues/5", ".../pull/5", ".../-/merge_requests/5"),
 * with or without a trailing slash, query or fragment. This is what makes a task's external_url a link. */
enum rec_link_kind rec_link_kind_of_url(struct rec_slice url);
/* Does something stand before the host, as in "https://NAME:PASSWORD@HOST/"? It is no part of an address, and a secret.
 */
bool rec_link_url_has_login(struct rec_slice url);

/* One answer of a tracker about one address. Absent texts: data == NULL. */
struct rec_observation {
	struct rec_slice url; /* as asked */
	enum rec_observed state;
	enum rec_link_kind kind;
	struct rec_slice reason; /* why it is closed, in the tracker's words; optional */
	struct rec_slice time;   /* the tracker's own: when the item last changed (RFC 3339); optional */
	bool has_comments;
	int64_t comments;
	struct rec_slice moved_to;  /* optional: the address it has now */
	struct rec_slice validator; /* optional: opaque, for the next question */
	struct rec_slice problem;   /* optional: why it is unknown, for a person */
};

/* The tie between a task and an address, with the last observation of it that counted. */
struct rec_link {
	struct rec_slice task_id, url;
	bool implicit; /* the task's external_url, not a link that somebody made */
	/* Below: what is remembered; written together by rec_store_link_observed. */
	enum rec_observed state; /* OPEN, CLOSED, MERGED; UNKNOWN: never observed */
	enum rec_link_kind kind;
	struct rec_slice reason, time; /* of that observation; optional */
	bool has_comments;
	int64_t comments;
	struct rec_slice moved_to;     /* optional: where to ask now */
	struct rec_slice validator;    /* optional */
	struct rec_slice observed_at;  /* our time of the last observation; optional */
	bool gone;                     /* it is no more (told once) */
	struct rec_slice made_done_at; /* optional: the task's updated_at when this tracker made it DONE */
};

#endif
