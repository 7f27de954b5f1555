/* check.h - snapshot -> decide -> results. */
#ifndef REC_ENGINE_CHECK_H
#define REC_ENGINE_CHECK_H

#include "core/decide.h"
#include "engine/belief.h"
#include "store/store.h"

enum rec_check_kind {
	REC_CHECK_MERGED, /* tasks, plus blockers of BLOCKED tasks, merged to one result per task */
	REC_CHECK_TASKS,
	REC_CHECK_BLOCKERS,
};

/* Results of one check, in the order asked, from one consistent snapshot. */
struct rec_results {
	struct rec_snapshot snapshot; /* ids, facts, raw statuses */
	struct rec_verdict *verdicts; /* [snapshot.count] */
	uint8_t *believed;            /* [snapshot.count] enum rec_status */
	uint64_t counts[REC_ACTION_COUNT];
	uint64_t calls; /* results that call for something */
	/* [snapshot.count], or NULL; where not NULL, the name of the tracker that a verdict is from. The array is the
	 * results' own, the names are not. */
	const char **trackers;
};
/* ids == NULL: every id of `belief` in its order, or, without a belief (NULL), every task in id order.
 * Exactly one result per id, duplicates included. The ids must outlive the results (belief's too).
 * O(n) beyond the snapshot; no allocation per task. */
int rec_check(struct rec_store *s, enum rec_check_kind kind, const struct rec_slice *ids, size_t count,
	      const struct rec_belief *belief, struct rec_results *ret_results, struct rec_error *error);
void rec_results_release(struct rec_results *r);
/* The verdict for one set of facts; what rec_check does for each task. Pure. */
struct rec_verdict rec_check_fact(enum rec_check_kind kind, const struct rec_fact *fact, enum rec_status believed);

/* A result for people and programs, with the pieces as text; `arena`-free: everything static or owned by r. */
struct rec_result_view {
	struct rec_slice task_id;
	struct rec_slice current_status, external_status; /* data == NULL: null */
	const char *action, *reason, *source;
	bool discrepancy;
};
/* The same for a verdict that stands alone; raw: the stored text if it is UNRECOGNISED. The texts live as long as
 * task_id and raw do. */
void rec_verdict_view(struct rec_verdict verdict, struct rec_slice task_id, struct rec_slice raw,
		      struct rec_result_view *ret_view);
void rec_results_view(const struct rec_results *r, size_t index, struct rec_result_view *ret_view);
/* Appends the result object of cli.md, compact, without a newline; applied: -1 leaves the key out, else 0/1. */
int rec_result_write_json(struct rec_buffer *out, const struct rec_result_view *view, int applied);

#endif
