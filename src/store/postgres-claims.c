/* postgres-claims.c - claims and what attempts leave behind. The task's row holds the number of its last attempt and
 * the blockers that were released when that was claimed; the claim's row holds those of the attempt before, so that
 * a release can put them back. Making a claim, the status included, is one statement, and ending it another; whoever
 * has just read the task inside the group need not wait for the claim either. */
#include "store/postgres.h"

/* What the row of the claim says: the task's status and parent as they were, and the attempt if there is one. */
static int judge_claim(struct rec_postgres *s, const PGresult *row, struct rec_claim *claim, struct rec_arena *arena,
		       struct rec_slice *ret_parent, enum rec_status *now, struct rec_error *error)
{
	if (s->pq.PQntuples(row) == 0)
		return REC_NOT_FOUND;
	enum rec_status status = rec_status_parse(rec_postgres_text(s, row, 0, 0));
	struct rec_slice parent = rec_postgres_text(s, row, 0, 1);
	struct rec_slice *const one[] = {&parent, NULL};
	*now = status;
	if (status != REC_READY)
		return REC_CONFLICT;
	if (rec_postgres_null(s, row, 0, 2))
		return REC_EXISTS;
	claim->claim_id = ++s->counters.claim_id;
	claim->attempt = (uint32_t)rec_postgres_number(s, row, 0, 2);
	int r = rec_postgres_keep(arena, one, error);
	if (r == 0)
		*ret_parent = parent;
	return r;
}

/* The task was read just now, and nobody else can have written to it: only the server's errors are left. */
static int claim_seen(struct rec_postgres *s, struct rec_postgres_arguments *a, struct rec_claim *claim,
		      struct rec_arena *arena, struct rec_slice *ret_parent, struct rec_error *error)
{
	struct rec_slice parent = rec_slice_of(*s->seen.parent ? s->seen.parent : NULL);
	struct rec_slice *const one[] = {&parent, NULL};
	int64_t attempt = s->seen.attempt + 1;
	rec_postgres_put_number(a, attempt);
	int r = rec_postgres_keep(arena, one, error);
	if (r == 0)
		r = rec_postgres_later(s, REC_POSTGRES_CLAIM_INSERT_SEEN, a, error);
	if (r < 0)
		return r;
	claim->claim_id = ++s->counters.claim_id;
	claim->attempt = (uint32_t)attempt;
	*ret_parent = parent;
	return 0;
}

int rec_postgres_claim(struct rec_store *store, struct rec_claim *claim, struct rec_arena *arena,
		       struct rec_slice *ret_parent, enum rec_status *now, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0};
	PGresult *row = NULL;
	char time[REC_TIMESTAMP_BYTES];
	rec_postgres_put_number(&a, s->counters.claim_id + 1);
	rec_postgres_put_text(&a, claim->task_id);
	rec_postgres_put_text(&a, claim->batch_id);
	rec_postgres_put_text(&a, claim->owner);
	rec_postgres_put_text(&a, claim->claimed_at);
	rec_postgres_put_bool(&a, claim->child_owns_run);
	rec_postgres_put_text(&a, rec_store_now(store, time));
	if (s->seen.there && rec_slice_equal(claim->task_id, rec_slice_of(s->seen.id)))
		return claim_seen(s, &a, claim, arena, ret_parent, error);
	int r = rec_postgres_run(s, REC_POSTGRES_CLAIM_INSERT, &a, &row, error);
	if (r == 0)
		r = judge_claim(s, row, claim, arena, ret_parent, now, error);
	rec_postgres_clear(s, row);
	return r;
}

/* ---- Several claims ---- */

/* What the row of a place says: the status and parent of its task, its claim if there is a new one, and its attempt. */
static int many_row(struct rec_postgres *s, const PGresult *rows, int i, struct rec_arena *arena,
		    struct rec_slice *ret_parent, struct rec_claimed *ret, struct rec_error *error)
{
	bool ready = rec_status_parse(rec_postgres_text(s, rows, i, 1)) == REC_READY;
	if (!ready || rec_postgres_null(s, rows, i, 4)) {
		bool claimed_before = ready && rec_postgres_null(s, rows, i, 3);
		ret->result = claimed_before ? REC_EXISTS : REC_CONFLICT;
		return 0;
	}
	struct rec_slice parent = rec_postgres_text(s, rows, i, 2);
	struct rec_slice *const one[] = {&parent, NULL};
	int r = rec_postgres_keep(arena, one, error);
	*ret_parent = parent;
	*ret = (struct rec_claimed){.claim_id = rec_postgres_number(s, rows, i, 3),
				    .attempt = (uint32_t)rec_postgres_number(s, rows, i, 4)};
	if (ret->claim_id > s->counters.claim_id)
		s->counters.claim_id = ret->claim_id;
	return r;
}

int rec_postgres_claim_many(struct rec_store *store, const struct rec_claim *like, const struct rec_slice *ids,
			    size_t count, struct rec_arena *arena, struct rec_slice *parents, struct rec_claimed *ret,
			    struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0};
	struct rec_buffer bytes;
	PGresult *rows = NULL;
	char time[REC_TIMESTAMP_BYTES];
	rec_postgres_put_number(&a, s->counters.claim_id);
	int r = rec_postgres_put_texts(s, &a, ids, count, &bytes, error);
	rec_postgres_put_text(&a, like->batch_id);
	rec_postgres_put_text(&a, like->owner);
	rec_postgres_put_text(&a, like->claimed_at);
	rec_postgres_put_bool(&a, like->child_owns_run);
	rec_postgres_put_text(&a, rec_store_now(store, time));
	if (r == 0)
		r = rec_postgres_run(s, REC_POSTGRES_CLAIM_INSERT_MANY, &a, &rows, error);
	for (size_t i = 0; i < count; i++)
		ret[i].result = REC_NOT_FOUND;
	for (int i = 0, end = r == 0 ? s->pq.PQntuples(rows) : 0; r == 0 && i < end; i++) {
		int64_t place = rec_postgres_number(s, rows, i, 0) - 1;
		r = many_row(s, rows, i, arena, &parents[place], &ret[place], error);
	}
	rec_postgres_clear(s, rows);
	rec_buffer_release(&bytes);
	return r;
}

/* ---- The end of a claim ---- */

static void put_finish(struct rec_postgres_arguments *a, const struct rec_finish *finish, int64_t now_us)
{
	rec_postgres_put_number(a, now_us);
	rec_postgres_put_text(a, finish->outcome);
	rec_postgres_put_optional(a, finish->has_exit_code, finish->exit_code);
	rec_postgres_put_optional(a, finish->has_exit_signal, finish->exit_signal);
	rec_postgres_put_number(a, finish->survivors);
}

int rec_postgres_claim_settle(struct rec_store *store, int64_t claim_id, const struct rec_finish *finish,
			      enum rec_status to, struct rec_arena *arena, struct rec_settled *ret,
			      struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0};
	char now[REC_TIMESTAMP_BYTES];
	PGresult *row = NULL;
	rec_postgres_put_number(&a, claim_id);
	rec_postgres_put_text(&a, rec_store_now(store, now));
	rec_postgres_put_word(&a, to == REC_STATUS_ABSENT ? NULL : rec_status_text(to));
	if (finish)
		put_finish(&a, finish, store->clock->wall_us(store->clock->context));
	int r = rec_postgres_run(s, finish ? REC_POSTGRES_CLAIM_FINISH : REC_POSTGRES_CLAIM_RELEASE, &a, &row, error);
	if (r == 0 && s->pq.PQntuples(row) == 0)
		r = REC_NOT_FOUND;
	if (r == 0) {
		struct rec_slice status = rec_postgres_text(s, row, 0, 1);
		struct rec_settled settled = {.task_id = rec_postgres_text(s, row, 0, 0),
					      .parent = rec_postgres_text(s, row, 0, 2),
					      .before = status.data ? rec_status_parse(status) : REC_STATUS_ABSENT};
		struct rec_slice *const texts[] = {&settled.task_id, &settled.parent, NULL};
		r = rec_postgres_keep(arena, texts, error);
		if (r == 0)
			*ret = settled;
	}
	rec_postgres_clear(s, row);
	return r;
}

int rec_postgres_claim_take(struct rec_store *store, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			    struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0};
	PGresult *row = NULL;
	rec_postgres_put_number(&a, claim_id);
	rec_postgres_put_text(&a, from);
	rec_postgres_put_text(&a, owner);
	int r = rec_postgres_run(s, REC_POSTGRES_CLAIM_TAKE, &a, &row, error);
	if (r == 0 && !rec_postgres_bool(s, row, 0, 0))
		r = rec_postgres_bool(s, row, 0, 1) ? REC_CONFLICT : REC_NOT_FOUND;
	rec_postgres_clear(s, row);
	return r;
}

/* ---- Leases ---- */

struct leasing {
	struct rec_slice owner;
	int64_t us;
	bool renew;
};

/* A statement of its own, outside of any group: it waits for nobody but the owner's own row. */
static int lease_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct leasing *l = context;
	struct rec_postgres_arguments a = {0};
	PGresult *row = NULL;
	rec_postgres_put_text(&a, l->owner);
	if (l->renew) {
		rec_postgres_put_number(&a, l->us);
		return rec_postgres_effect(s, REC_POSTGRES_LEASE_RENEW, &a, NULL, error);
	}
	int r = rec_postgres_run(s, REC_POSTGRES_LEASE_GET, &a, &row, error);
	if (r == 0 && s->pq.PQntuples(row) == 0)
		r = REC_NOT_FOUND;
	if (r == 0)
		l->us = rec_postgres_number(s, row, 0, 0);
	rec_postgres_clear(s, row);
	return r;
}

int rec_postgres_renew(struct rec_store *store, struct rec_slice owner, int64_t lease_us, struct rec_error *error)
{
	struct leasing l = {.owner = owner, .us = lease_us, .renew = true};
	return rec_postgres_read(rec_postgres_of(store), lease_body, &l, NULL, error);
}

int rec_postgres_lease(struct rec_store *store, struct rec_slice owner, int64_t *ret_left_us, struct rec_error *error)
{
	struct leasing l = {.owner = owner};
	int r = rec_postgres_read(rec_postgres_of(store), lease_body, &l, NULL, error);
	if (r == 0)
		*ret_left_us = l.us;
	return r;
}

/* ---- Listing ---- */

struct claim_listing {
	rec_claim_fn *fn;
	void *context;
	bool told;
};

static int claim_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	(void)error;
	struct claim_listing *l = context;
	const struct rec_claim claim = {
		.claim_id = rec_postgres_number(s, row, index, 0),
		.task_id = rec_postgres_text(s, row, index, 1),
		.attempt = (uint32_t)rec_postgres_number(s, row, index, 2),
		.batch_id = rec_postgres_text(s, row, index, 3),
		.owner = rec_postgres_text(s, row, index, 4),
		.claimed_at = rec_postgres_text(s, row, index, 5),
		.child_owns_run = rec_postgres_bool(s, row, index, 6),
		.lease_left_us =
			rec_postgres_null(s, row, index, 7) ? INT64_MIN : rec_postgres_number(s, row, index, 7),
	};
	l->told = true;
	return l->fn(l->context, &claim);
}

static int claims_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	const struct rec_postgres_arguments none = {0};
	return rec_postgres_stream(s, REC_POSTGRES_CLAIM_LIST, &none, claim_row, context, error);
}

int rec_postgres_claims(struct rec_store *store, rec_claim_fn *fn, void *context, struct rec_error *error)
{
	struct claim_listing l = {fn, context, false};
	return rec_postgres_read(rec_postgres_of(store), claims_body, &l, &l.told, error);
}
