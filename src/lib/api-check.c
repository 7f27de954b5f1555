/* api-check.c - check and apply, their results, and the table. A result set copies the ids before anything is
 * decided (or written), so that it depends on nobody's memory and cannot fail after an apply. */
#include "engine/apply.h"
#include "lib/api.h"

struct rec_result_set {
	const struct rec_allocator *allocator;
	struct rec_arena arena; /* the ids */
	struct rec_slice *ids;
	size_t count;
	bool *applied; /* NULL: nothing was to be applied */
	bool decided;
	struct rec_results results;
};

/* ---- Whom it is about ---- */

static int ids_room(struct rec_result_set *set, size_t count, struct rec_error *error)
{
	size_t bytes;
	if (!__builtin_mul_overflow(count, sizeof *set->ids, &bytes))
		set->ids = rec_arena_alloc(&set->arena, bytes);
	return set->ids ? 0 : rec_fail_nomem(error);
}

static int id_add(struct rec_result_set *set, struct rec_slice id, struct rec_error *error)
{
	char *copy = rec_arena_strndup(&set->arena, id.data, id.length);
	if (!copy)
		return rec_fail_nomem(error);
	set->ids[set->count++] = (struct rec_slice){copy, id.length};
	return 0;
}

static int ids_given(struct rec_result_set *set, const char *const *ids, size_t count, struct rec_error *error)
{
	int r = ids_room(set, count, error);
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!ids[i])
			return rec_fail(error, REC_E_INVALID, "id %zu: it is NULL (give a string)", i);
		r = id_add(set, rec_slice_of(ids[i]), error);
	}
	return r;
}

static int ids_believed(struct rec_result_set *set, const struct rec_batch_state *state, struct rec_error *error)
{
	const struct rec_belief *belief = &state->belief;
	int r = ids_room(set, state->held, error);
	for (size_t i = 0; r == 0 && i < belief->count; i++)
		if (belief->statuses[i] != REC_STATUS_ABSENT)
			r = id_add(set, belief->ids[i], error);
	return r;
}

/* ---- Deciding ---- */

static int set_decide(struct reconciler *r, enum rec_check_kind kind, struct rec_result_set *set,
		      const struct rec_belief *belief, const char *batch_id, bool apply, struct rec_error *error)
{
	int result;
	if (apply)
		result = rec_apply(r->store, kind, set->ids, set->count, belief, rec_slice_of(batch_id), &set->results,
				   &set->applied, error);
	else
		result = rec_check(r->store, kind, set->ids, set->count, belief, &set->results, error);
	set->decided = result == 0;
	return result;
}

static int decide(struct reconciler *r, enum rec_check_kind kind, const char *const *ids, size_t count,
		  const struct rec_batch_state *state, const char *batch_id, bool apply,
		  struct rec_result_set **ret_set, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	struct rec_result_set *set = rec_zalloc(r->allocator, 1, sizeof *set);
	if (!set)
		return rec_fail_nomem(error);
	set->allocator = r->allocator;
	rec_arena_init(&set->arena, r->allocator);
	if (ids)
		result = ids_given(set, ids, count, error);
	else if (state)
		result = ids_believed(set, state, error);
	if (result == 0)
		result = set_decide(r, kind, set, state ? &state->belief : NULL, batch_id, apply, error);
	if (result) {
		rec_result_set_free(set);
		return result;
	}
	*ret_set = set;
	return 0;
}

int rec_check_tasks(struct reconciler *r, const char *const *ids, size_t id_count, const struct rec_batch_state *state,
		    struct rec_result_set **ret_set, struct rec_error *error)
{
	return decide(r, REC_CHECK_TASKS, ids, id_count, state, NULL, false, ret_set, error);
}

int rec_check_blockers(struct reconciler *r, const char *const *ids, size_t id_count,
		       const struct rec_batch_state *state, struct rec_result_set **ret_set, struct rec_error *error)
{
	return decide(r, REC_CHECK_BLOCKERS, ids, id_count, state, NULL, false, ret_set, error);
}

int rec_check_all(struct reconciler *r, const char *const *ids, size_t id_count, const struct rec_batch_state *state,
		  struct rec_result_set **ret_set, struct rec_error *error)
{
	return decide(r, REC_CHECK_MERGED, ids, id_count, state, NULL, false, ret_set, error);
}

int rec_apply_tasks(struct reconciler *r, const char *const *ids, size_t id_count, const struct rec_batch_state *state,
		    const char *batch_id, struct rec_result_set **ret_set, struct rec_error *error)
{
	return decide(r, REC_CHECK_TASKS, ids, id_count, state, batch_id, true, ret_set, error);
}

int rec_apply_blockers(struct reconciler *r, const char *const *ids, size_t id_count,
		       const struct rec_batch_state *state, const char *batch_id, struct rec_result_set **ret_set,
		       struct rec_error *error)
{
	return decide(r, REC_CHECK_BLOCKERS, ids, id_count, state, batch_id, true, ret_set, error);
}

int rec_apply_all(struct reconciler *r, const char *const *ids, size_t id_count, const struct rec_batch_state *state,
		  const char *batch_id, struct rec_result_set **ret_set, struct rec_error *error)
{
	return decide(r, REC_CHECK_MERGED, ids, id_count, state, batch_id, true, ret_set, error);
}

/* ---- The results ---- */

size_t rec_result_set_count(const struct rec_result_set *set)
{
	return set->results.snapshot.count;
}

int rec_result_set_get(const struct rec_result_set *set, size_t index, struct rec_result *ret_result)
{
	struct rec_result_view view;
	if (index >= set->results.snapshot.count)
		return REC_END;
	rec_results_view(&set->results, index, &view);
	struct rec_result result;
	rec_api_result(&view, set->applied ? set->applied[index] : -1, &result);
	return rec_abi_write(ret_result, &result, sizeof result, "struct rec_result", NULL);
}

size_t rec_result_set_count_action(const struct rec_result_set *set, enum rec_action action)
{
	return (unsigned)action < REC_ACTION_COUNT ? (size_t)set->results.counts[action] : 0;
}

size_t rec_result_set_count_calls(const struct rec_result_set *set)
{
	return (size_t)set->results.calls;
}

struct rec_result_set *rec_result_set_free(struct rec_result_set *set)
{
	if (!set)
		return NULL;
	const struct rec_allocator *a = set->allocator;
	if (set->decided)
		rec_results_release(&set->results);
	rec_free(a, set->applied);
	rec_arena_release(&set->arena);
	return rec_free(a, set);
}

/* ---- The table ---- */

size_t rec_policy_count(void)
{
	return REC_TABLE_ROWS;
}

int rec_policy_get(size_t row, struct rec_policy_row *ret_row)
{
	struct rec_policy_row own = {.size = sizeof own};
	if (row >= REC_TABLE_ROWS)
		return REC_END;
	struct rec_verdict verdict = rec_table_row((unsigned)row, &own.stored, &own.believed);
	own.action = (enum rec_action)verdict.action;
	own.discrepancy = verdict.discrepancy;
	own.reason = rec_reason_text((enum rec_reason)verdict.reason);
	return rec_abi_write(ret_row, &own, sizeof own, "struct rec_policy_row", NULL);
}
