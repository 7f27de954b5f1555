/* memory-claim.c - claims and what attempts leave behind. A task's history row holds its last attempt's number
 * and the blockers that were released when that attempt was claimed; while claimed also those of the attempt
 * before, so that a release can put everything back. */
#include "store/memory.h"

#include <stdlib.h>

static int slice_order(const void *a, const void *b)
{
	return rec_slice_compare(*(const struct rec_slice *)a, *(const struct rec_slice *)b);
}

/* The ids of the task's released blockers in bytewise order; freed by the caller. */
static int released_ids(struct rec_memory_store *m, struct rec_slice task_id, struct rec_slice **ret_ids,
			size_t *ret_count, struct rec_error *error)
{
	struct rec_blocker *blockers = NULL;
	size_t count = 0, released = 0;
	int r = rec_memory_blockers_of(m, task_id, &blockers, &count, error);
	if (r < 0)
		return r;
	struct rec_slice *ids = rec_zalloc(m->store.allocator, count, sizeof *ids);
	for (size_t i = 0; ids && i < count; i++)
		if (blockers[i].status == REC_ANSWERED || blockers[i].status == REC_RESOLVED)
			ids[released++] = blockers[i].id;
	rec_free(m->store.allocator, blockers);
	if (!ids)
		return rec_fail_nomem(error);
	qsort(ids, released, sizeof *ids, slice_order);
	*ret_ids = ids;
	*ret_count = released;
	return 0;
}

static int history_put(struct rec_memory_store *m, struct rec_slice task_id, const struct rec_memory_history *history,
		       struct rec_error *error)
{
	return rec_memory_put(m, REC_MEMORY_HISTORIES, task_id, rec_memory_history_new(m->data->allocator, history),
			      error);
}

/* ---- Claim ---- */

static int history_claim(struct rec_memory_store *m, const struct rec_claim *claim,
			 const struct rec_memory_history *before, struct rec_error *error)
{
	struct rec_slice *released = NULL;
	struct rec_memory_history history = {.attempt = claim->attempt, .claimed = true};
	int r = released_ids(m, claim->task_id, &released, &history.released_count, error);
	if (r < 0)
		return r;
	history.released = released;
	if (before) {
		history.before = before->released;
		history.before_count = before->released_count;
	}
	r = history_put(m, claim->task_id, &history, error);
	rec_free(m->store.allocator, released);
	return r;
}

int rec_memory_claim_add(struct rec_store *s, struct rec_claim *claim, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	const struct rec_memory_history *before = rec_memory_get(m, REC_MEMORY_HISTORIES, claim->task_id);
	if (before && before->claimed)
		return REC_EXISTS;
	struct rec_claim added = *claim;
	added.attempt = before ? before->attempt + 1 : 1;
	added.claim_id = ++m->data->counters[REC_MEMORY_WORKING].claim_id;
	int r = history_claim(m, &added, before, error);
	if (r == 0)
		r = rec_memory_put(m, REC_MEMORY_CLAIMS, rec_memory_key_seq(&key, added.claim_id),
				   rec_memory_claim_new(m->data->allocator, &added), error);
	if (r == 0) {
		claim->claim_id = added.claim_id;
		claim->attempt = added.attempt;
	}
	return r;
}

/* ---- The end of a claim ---- */

static int attempt_record(struct rec_memory_store *m, struct rec_slice task_id, uint32_t number,
			  struct rec_error *error)
{
	struct rec_memory_key key, number_key;
	struct rec_slice at = rec_memory_key_join(&key, task_id, (struct rec_slice){0}, (struct rec_slice){0});
	struct rec_slice tail = rec_memory_key_seq(&number_key, number);
	memcpy(key.bytes + at.length, tail.data, tail.length);
	at.length += tail.length;
	return rec_memory_put(m, REC_MEMORY_ATTEMPTS, at,
			      rec_memory_attempt_new(m->data->allocator, task_id, number, rec_memory_wall_us(m)),
			      error);
}

static int history_finish(struct rec_memory_store *m, struct rec_slice task_id, const struct rec_memory_history *before,
			  struct rec_error *error)
{
	struct rec_memory_history after = *before;
	after.claimed = false;
	after.before = NULL;
	after.before_count = 0;
	int r = attempt_record(m, task_id, before->attempt, error);
	return r < 0 ? r : history_put(m, task_id, &after, error);
}

static int history_release(struct rec_memory_store *m, struct rec_slice task_id,
			   const struct rec_memory_history *before, struct rec_error *error)
{
	const struct rec_memory_history after = {
		.attempt = before->attempt - 1,
		.released = before->before,
		.released_count = before->before_count,
	};
	if (after.attempt > 0)
		return history_put(m, task_id, &after, error);
	rec_memory_erase(m, REC_MEMORY_HISTORIES, task_id);
	return 0;
}

int rec_memory_claim_end(struct rec_store *s, int64_t claim_id, const struct rec_finish *finish,
			 struct rec_arena *arena, struct rec_slice *ret_task_id, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	struct rec_slice at = rec_memory_key_seq(&key, claim_id);
	const struct rec_memory_claim *row = claim_id > 0 ? rec_memory_get(m, REC_MEMORY_CLAIMS, at) : NULL;
	if (!row)
		return REC_NOT_FOUND;
	struct rec_slice id = {rec_arena_strndup(arena, row->claim.task_id.data, row->claim.task_id.length),
			       row->claim.task_id.length};
	if (!id.data)
		return rec_fail_nomem(error);
	const struct rec_memory_history *history = rec_memory_get(m, REC_MEMORY_HISTORIES, id);
	if (!history)
		return rec_fail(error, REC_E_BUG, "memory: a claim without a history (please report)");
	int r = finish ? history_finish(m, id, history, error) : history_release(m, id, history, error);
	if (r < 0)
		return r;
	r = rec_memory_note(m, id, error); /* the status may stay what somebody else stored */
	if (r < 0)
		return r;
	rec_memory_erase(m, REC_MEMORY_CLAIMS, at);
	*ret_task_id = id;
	return 0;
}

int rec_memory_claim_take(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			  struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	struct rec_slice at = rec_memory_key_seq(&key, claim_id);
	const struct rec_memory_claim *row = claim_id > 0 ? rec_memory_get(m, REC_MEMORY_CLAIMS, at) : NULL;
	if (!row)
		return REC_NOT_FOUND;
	if (!row->claim.owner.data != !from.data || !rec_slice_equal(row->claim.owner, from))
		return REC_CONFLICT;
	struct rec_claim taken = row->claim;
	taken.owner = owner;
	return rec_memory_put(m, REC_MEMORY_CLAIMS, at, rec_memory_claim_new(m->data->allocator, &taken), error);
}

/* ---- Leases ---- */

/* By a group of its own: the map has one working version. */
int rec_memory_renew(struct rec_store *s, struct rec_slice owner, int64_t lease_us, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	int r = s->ops->begin(s, error);
	if (r < 0)
		return r;
	struct rec_memory_lease *row = rec_memory_row_new(m->data->allocator, sizeof *row);
	int64_t now_us = rec_memory_wall_us(m);
	if (row && __builtin_add_overflow(now_us, lease_us, &row->until_us))
		row->until_us = INT64_MAX;
	r = rec_memory_put(m, REC_MEMORY_LEASES, owner, row, error);
	if (r == 0)
		return s->ops->commit(s, error);
	s->ops->rollback(s);
	return r;
}

static int64_t lease_left(struct rec_memory_store *m, struct rec_slice owner)
{
	const struct rec_memory_lease *row = owner.data ? rec_memory_get(m, REC_MEMORY_LEASES, owner) : NULL;
	return row ? row->until_us - rec_memory_wall_us(m) : INT64_MIN;
}

int rec_memory_lease(struct rec_store *s, struct rec_slice owner, int64_t *ret_left_us, struct rec_error *error)
{
	(void)error;
	*ret_left_us = lease_left(rec_memory_of(s), owner);
	return *ret_left_us == INT64_MIN ? REC_NOT_FOUND : 0;
}

int rec_memory_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error)
{
	(void)error;
	struct rec_memory_cursor cursor;
	const struct rec_memory_claim *row;
	int r = 0;
	rec_memory_walk(rec_memory_of(s), REC_MEMORY_CLAIMS, (struct rec_slice){0}, &cursor);
	while (r == 0 && (row = rec_memory_cursor_next(&cursor, NULL))) {
		struct rec_claim claim = row->claim;
		claim.lease_left_us = lease_left(rec_memory_of(s), claim.owner);
		r = fn(context, &claim);
	}
	return r;
}
