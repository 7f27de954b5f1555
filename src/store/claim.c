/* claim.c - a claim, its end and its return, each composed of a status write, a claim row and the roll-up, in one
 * group; a claim's new owner; leases. */
#include "store/wrapper.h"

/* May the task be claimed, as far as its row tells? Looked at before anything is written, so that a refusal has written
 * nothing. */
static int claim_look(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
		      enum rec_status *now, struct rec_error *error)
{
	int r = s->ops->parent(s, id, arena, ret_parent, now, error);
	return r == 0 && *now != REC_READY ? REC_CONFLICT : r;
}

/* The look said that it can be done, and nobody else can write until the group ends. */
static int as_looked(int r, struct rec_error *error)
{
	return r > 0 ? rec_fail(error, REC_E_BUG, "claim: the task changed inside the group (please report)") : r;
}

/* The claim first: where there is one already, nothing has been written yet. */
static int claim_write(struct rec_store *s, struct rec_claim *claim, struct rec_error *error)
{
	enum rec_status now;
	int r = s->ops->claim_add(s, claim, error);
	return r ? r
		 : as_looked(s->ops->write_status(s, claim->task_id, REC_READY, REC_IN_PROGRESS, &now, error), error);
}

/* Without the roll-up. */
static int claim_row(struct rec_store *s, struct rec_claim *claim, struct rec_arena *arena,
		     struct rec_slice *ret_parent, enum rec_status *now, struct rec_error *error)
{
	if (s->ops->claim)
		return s->ops->claim(s, claim, arena, ret_parent, now, error);
	int r = claim_look(s, claim->task_id, arena, ret_parent, now, error);
	return r ? r : claim_write(s, claim, error);
}

static int claim_rollup(struct rec_store *s, struct rec_slice id, struct rec_slice parent, struct rec_error *error)
{
	return parent.data ? rec_rollup_from(s, id, parent, s->on_rollup, s->rollup_context, error) : 0;
}

int rec_store_claim(struct rec_store *s, struct rec_claim *claim, enum rec_status *ret_now, struct rec_error *error)
{
	bool own;
	char time[REC_TIMESTAMP_BYTES];
	enum rec_status now = REC_STATUS_ABSENT;
	struct rec_slice parent = {0};
	struct rec_arena arena;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	struct rec_claim complete = *claim;
	if (!complete.claimed_at.data)
		complete.claimed_at = rec_store_now(s, time);
	r = rec_argument_claim(claim, error);
	rec_arena_init(&arena, s->allocator);
	if (r == 0)
		r = claim_row(s, &complete, &arena, &parent, &now, error);
	if (r == 0)
		r = claim_rollup(s, complete.task_id, parent, error);
	rec_arena_release(&arena);
	r = rec_write_leave(s, "claim", own, r, REC_MAY(REC_NOT_FOUND) | REC_MAY(REC_CONFLICT) | REC_MAY(REC_EXISTS),
			    error);
	if (r == REC_CONFLICT && ret_now)
		*ret_now = now;
	if (r == 0) {
		claim->claim_id = complete.claim_id;
		claim->attempt = complete.attempt;
	}
	return r;
}

/* ---- Several ---- */

static int claim_rows(struct rec_store *s, const struct rec_claim *like, const struct rec_slice *ids, size_t count,
		      struct rec_arena *arena, struct rec_slice *parents, struct rec_claimed *ret,
		      struct rec_error *error)
{
	enum rec_status now;
	if (s->ops->claim_many && count > 1)
		return s->ops->claim_many(s, like, ids, count, arena, parents, ret, error);
	for (size_t i = 0; i < count; i++) {
		struct rec_claim one = *like;
		one.task_id = ids[i];
		int r = claim_row(s, &one, arena, &parents[i], &now, error);
		if (r < 0)
			return r;
		ret[i] = (struct rec_claimed){r, r ? 0 : one.attempt, r ? 0 : one.claim_id};
	}
	return 0;
}

static int claim_all(struct rec_store *s, const struct rec_claim *like, const struct rec_slice *ids, size_t count,
		     struct rec_claimed *ret, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_slice *parents = rec_zalloc(s->allocator, count, sizeof *parents);
	if (!parents)
		return rec_fail_nomem(error);
	rec_arena_init(&arena, s->allocator);
	memset(ret, 0, count * sizeof *ret);
	int r = claim_rows(s, like, ids, count, &arena, parents, ret, error);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (ret[i].result == 0)
			r = claim_rollup(s, ids[i], parents[i], error);
	rec_arena_release(&arena);
	rec_free(s->allocator, parents);
	return r;
}

static int arguments_claim(const struct rec_claim *like, const struct rec_slice *ids, size_t count,
			   struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct rec_claim one = *like;
		one.task_id = ids[i];
		r = rec_argument_claim(&one, error);
	}
	return r;
}

int rec_store_claim_many(struct rec_store *s, const struct rec_claim *like, const struct rec_slice *ids, size_t count,
			 struct rec_claimed *ret, struct rec_error *error)
{
	bool own;
	char time[REC_TIMESTAMP_BYTES];
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	struct rec_claim complete = *like;
	if (!complete.claimed_at.data)
		complete.claimed_at = rec_store_now(s, time);
	r = arguments_claim(&complete, ids, count, error);
	if (r == 0 && count)
		r = claim_all(s, &complete, ids, count, ret, error);
	return rec_write_leave(s, "claim", own, r, 0, error);
}

/* The end of an attempt moves a task only if nobody else has. */
static bool settles(enum rec_status now, enum rec_status to)
{
	return now == REC_IN_PROGRESS && to != REC_STATUS_ABSENT && to != REC_IN_PROGRESS;
}

/* Writes `to` if the task is still IN_PROGRESS; *ret_status is what it has afterwards. */
static int settle_status(struct rec_store *s, struct rec_slice id, enum rec_status to, enum rec_status *ret_status,
			 struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_slice parent;
	enum rec_status now = REC_STATUS_ABSENT;
	rec_arena_init(&arena, s->allocator);
	int r = s->ops->parent(s, id, &arena, &parent, &now, error);
	if (r == 0 && settles(now, to)) {
		r = as_looked(s->ops->write_status(s, id, REC_IN_PROGRESS, to, &now, error), error);
		if (r == 0 && parent.data)
			r = rec_rollup_from(s, id, parent, s->on_rollup, s->rollup_context, error);
		now = to;
	}
	rec_arena_release(&arena);
	if (r < 0)
		return r;
	*ret_status = now; /* ABSENT if the task is gone */
	return 0;
}

static int end_rows(struct rec_store *s, int64_t claim_id, const struct rec_finish *finish, enum rec_status to,
		    struct rec_arena *arena, enum rec_status *ret_status, struct rec_error *error)
{
	struct rec_settled settled = {0};
	if (!s->ops->claim_settle) {
		int r = s->ops->claim_end(s, claim_id, finish, arena, &settled.task_id, error);
		return r ? r : settle_status(s, settled.task_id, to, ret_status, error);
	}
	int r = s->ops->claim_settle(s, claim_id, finish, to, arena, &settled, error);
	if (r)
		return r;
	bool moved = settles(settled.before, to);
	*ret_status = moved ? to : settled.before;
	return moved && settled.parent.data
		       ? rec_rollup_from(s, settled.task_id, settled.parent, s->on_rollup, s->rollup_context, error)
		       : 0;
}

static int end(struct rec_store *s, const char *call, int64_t claim_id, const struct rec_finish *finish,
	       enum rec_status to, enum rec_status *ret_status, struct rec_error *error)
{
	bool own;
	struct rec_arena arena;
	enum rec_status status = REC_STATUS_ABSENT;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	rec_arena_init(&arena, s->allocator);
	r = finish ? rec_argument_finish(finish, error) : 0;
	if (r == 0)
		r = end_rows(s, claim_id, finish, to, &arena, &status, error);
	rec_arena_release(&arena);
	r = rec_write_leave(s, call, own, r, REC_MAY(REC_NOT_FOUND), error);
	if (r == 0 && ret_status)
		*ret_status = status;
	return r;
}

int rec_store_finish(struct rec_store *s, const struct rec_finish *finish, enum rec_status *ret_status,
		     struct rec_error *error)
{
	return end(s, "finish", finish->claim_id, finish, finish->to, ret_status, error);
}

int rec_store_release(struct rec_store *s, int64_t claim_id, struct rec_error *error)
{
	return end(s, "release", claim_id, NULL, REC_READY, NULL, error);
}

int rec_store_claim_take(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			 struct rec_error *error)
{
	bool own;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_owner(from, error);
	if (r == 0)
		r = rec_argument_owner(owner, error);
	if (r == 0 && !owner.data)
		r = rec_fail(error, REC_E_INVALID, "owner: is missing");
	if (r == 0)
		r = s->ops->claim_take(s, claim_id, from, owner, error);
	return rec_write_leave(s, "claim_take", own, r, REC_MAY(REC_NOT_FOUND) | REC_MAY(REC_CONFLICT), error);
}

/* ---- Leases ---- */

static int lease_judge(struct rec_store *s, struct rec_slice owner, struct rec_error *error)
{
	if (!s->ops->renew)
		return rec_fail(error, REC_E_UNSUPPORTED, "%s: this kind of store is not shared and has no leases",
				s->info.location);
	if (s->in_group)
		return rec_fail(error, REC_E_BUG, "lease: asked for inside a group (please report)");
	return rec_argument_id("owner", owner, error);
}

int rec_store_renew(struct rec_store *s, struct rec_slice owner, int64_t lease_us, struct rec_error *error)
{
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	r = lease_judge(s, owner, error);
	if (r == 0 && s->info.mode == REC_STORE_READ)
		r = rec_fail(error, REC_E_READ_ONLY, "%s: was opened for reading only", s->info.location);
	if (r == 0 && lease_us < 0)
		r = rec_fail(error, REC_E_INVALID, "lease: is negative");
	if (r == 0)
		r = s->ops->renew(s, owner, lease_us, error);
	return rec_read_leave(s, "renew", r, 0, error);
}

int rec_store_lease(struct rec_store *s, struct rec_slice owner, int64_t *ret_left_us, struct rec_error *error)
{
	int64_t left_us = 0;
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	r = lease_judge(s, owner, error);
	if (r == 0)
		r = s->ops->lease(s, owner, &left_us, error);
	r = rec_read_leave(s, "lease", r, REC_MAY(REC_NOT_FOUND), error);
	if (r == 0)
		*ret_left_us = left_us;
	return r;
}
