/* apply.c - check, then for the tasks that are to be requeued: open a group (now nobody else can write), look
 * again, write what is still decided so, with its event, commit. The compare-and-set of set_status is a second
 * belt: two results about one task, or a parent that the roll-up has just moved, lose it and nothing happens. */
#include "engine/apply.h"

#include "engine/moves.h"

#define GROUP_TASKS_MAX 1000

struct rec_verdict rec_apply_fact(enum rec_check_kind kind, const struct rec_fact *fact, enum rec_status believed)
{
	struct rec_verdict verdict = rec_check_fact(kind, fact, believed);
	if (verdict.reason == REC_REASON_BLOCKERS_RESOLVED && fact->blockers_new == 0) {
		verdict.action = REC_NONE;
		verdict.reason = REC_REASON_NO_NEW_ANSWER;
	}
	return verdict;
}

struct apply {
	struct rec_store *store;
	enum rec_check_kind kind;
	struct rec_slice batch_id;
	const struct rec_results *results;
	struct rec_moves moves;
	/* the group: ids and indices of results */
	struct rec_slice ids[GROUP_TASKS_MAX];
	size_t indices[GROUP_TASKS_MAX];
	bool done[GROUP_TASKS_MAX];
	size_t count;
};

/* ---- One task, inside the group ---- */

/* The verdict is the blocker rule's, so it has no external status to record. */
static int event_record(struct apply *a, struct rec_slice id, const struct rec_fact *fact, enum rec_status believed,
			struct rec_verdict verdict, struct rec_error *error)
{
	struct rec_event event = {
		.event = rec_slice_of(rec_action_event(REC_REQUEUE)),
		.batch_id = a->batch_id,
		.task_id = id,
		.action = rec_slice_of(rec_action_text((enum rec_action)verdict.action)),
		.reason = rec_slice_of(rec_reason_text((enum rec_reason)verdict.reason)),
		.source = rec_slice_of(rec_source_text((enum rec_source)verdict.source)),
		.current_status = rec_slice_of(rec_status_text((enum rec_status)verdict.stored)),
		.has_attempt = fact->attempt > 0,
		.attempt = fact->attempt,
		.has_blockers = true,
		.blockers_total = fact->blockers_total,
		.blockers_open = fact->blockers_open,
		.blockers_new = fact->blockers_new,
	};
	if (a->kind != REC_CHECK_BLOCKERS)
		event.believed = rec_slice_of(rec_status_text(believed));
	int r = rec_store_event_add(a->store, &event, error);
	return r ? r : rec_moves_record(&a->moves, a->store, a->batch_id, error);
}

static bool requeues_blocked(struct rec_verdict verdict)
{
	return verdict.action == REC_REQUEUE && verdict.stored == REC_BLOCKED;
}

static int task_apply(struct apply *a, size_t i, const struct rec_fact *fact, struct rec_error *error)
{
	enum rec_status believed = (enum rec_status)a->results->believed[a->indices[i]];
	struct rec_verdict verdict = rec_apply_fact(a->kind, fact, believed);
	if (!requeues_blocked(verdict))
		return 0;
	int r = rec_store_set_status(a->store, a->ids[i], REC_BLOCKED, REC_READY, NULL, rec_moves_add, &a->moves,
				     error);
	if (r > 0)
		return 0;
	if (r == 0)
		r = event_record(a, a->ids[i], fact, believed, verdict, error);
	a->done[i] = r == 0;
	return r;
}

/* ---- One group ---- */

static int group_fill(struct apply *a, struct rec_error *error)
{
	struct rec_snapshot now;
	int r = rec_store_snapshot(a->store, a->ids, a->count, REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ATTEMPT, &now,
				   error);
	if (r)
		return r;
	for (size_t i = 0; r == 0 && i < a->count; i++)
		r = task_apply(a, i, &now.facts[i], error);
	rec_snapshot_release(&now);
	return r;
}

static int group_apply(struct apply *a, bool *applied, struct rec_error *error)
{
	memset(a->done, 0, sizeof a->done);
	int r = rec_store_begin(a->store, error);
	if (r)
		return r;
	r = group_fill(a, error);
	if (r) {
		rec_store_rollback(a->store);
		return r;
	}
	r = rec_store_commit(a->store, error);
	for (size_t i = 0; r == 0 && i < a->count; i++)
		applied[a->indices[i]] = a->done[i];
	a->count = 0;
	return r;
}

/* ---- All ---- */

/* Replaces what rec_check decided by what holds for apply. */
static void hold_all(struct rec_results *results, enum rec_check_kind kind)
{
	for (size_t i = 0; i < results->snapshot.count; i++) {
		if (!requeues_blocked(results->verdicts[i]))
			continue;
		struct rec_verdict held =
			rec_apply_fact(kind, &results->snapshot.facts[i], (enum rec_status)results->believed[i]);
		results->counts[results->verdicts[i].action]--;
		results->counts[held.action]++;
		results->calls -= !rec_verdict_calls(held);
		results->verdicts[i] = held;
	}
}

static int apply_all(struct apply *a, bool *applied, struct rec_error *error)
{
	const struct rec_results *results = a->results;
	for (size_t i = 0; i < results->snapshot.count; i++) {
		if (!requeues_blocked(results->verdicts[i]))
			continue;
		a->ids[a->count] = results->snapshot.ids[i];
		a->indices[a->count++] = i;
		if (a->count == GROUP_TASKS_MAX) {
			int r = group_apply(a, applied, error);
			if (r)
				return r;
		}
	}
	return a->count ? group_apply(a, applied, error) : 0;
}

int rec_apply_results(struct rec_store *s, enum rec_check_kind kind, struct rec_slice batch_id,
		      const struct rec_results *results, bool *applied, struct rec_error *error)
{
	const struct rec_allocator *allocator = results->snapshot.allocator;
	struct apply *a = rec_zalloc(allocator, 1, sizeof *a);
	if (!a)
		return rec_fail_nomem(error);
	a->store = s;
	a->kind = kind;
	a->batch_id = batch_id;
	a->results = results;
	rec_moves_init(&a->moves, allocator);
	int r = apply_all(a, applied, error);
	rec_moves_release(&a->moves);
	rec_free(allocator, a);
	return r;
}

int rec_apply(struct rec_store *s, enum rec_check_kind kind, const struct rec_slice *ids, size_t count,
	      const struct rec_belief *belief, struct rec_slice batch_id, struct rec_results *ret_results,
	      bool **ret_applied, struct rec_error *error)
{
	struct rec_results results;
	int r = rec_check(s, kind, ids, count, belief, &results, error);
	if (r)
		return r;
	bool *applied = rec_zalloc(results.snapshot.allocator, results.snapshot.count, sizeof *applied);
	hold_all(&results, kind);
	r = applied ? rec_apply_results(s, kind, batch_id, &results, applied, error) : rec_fail_nomem(error);
	if (r) {
		rec_free(results.snapshot.allocator, applied);
		rec_results_release(&results);
		return r;
	}
	*ret_results = results;
	*ret_applied = applied;
	return 0;
}
