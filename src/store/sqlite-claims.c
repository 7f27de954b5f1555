/* sqlite-claims.c - claims, attempts, and the runs rows of codeframe that go with them: without a RUNNING row
 * codeframe would start a second worker on our task.
 */
#include <limits.h>

#include "store/sqlite.h"

/* In the order of CLAIM_COLUMNS. */
enum { CLAIM_ID, CLAIM_TASK, CLAIM_ATTEMPT, CLAIM_BATCH, CLAIM_OWNER, CLAIM_TIME, CLAIM_RUN, CLAIM_CHILD_OWNS };

static void claim_row(sqlite3_stmt *row, struct rec_claim *claim)
{
	*claim = (struct rec_claim){
		.claim_id = sqlite3_column_int64(row, CLAIM_ID),
		.task_id = rec_sqlite_column(row, CLAIM_TASK),
		.attempt = (uint32_t)sqlite3_column_int64(row, CLAIM_ATTEMPT),
		.batch_id = rec_sqlite_column(row, CLAIM_BATCH),
		.owner = rec_sqlite_column(row, CLAIM_OWNER),
		.claimed_at = rec_sqlite_column(row, CLAIM_TIME),
		.child_owns_run = sqlite3_column_int64(row, CLAIM_CHILD_OWNS) != 0,
	};
}

/* ---- Making a claim ---- */

/* The number after the last that was claimed. */
static int next_attempt(struct rec_sqlite *s, struct rec_slice task_id, uint32_t *ret_attempt, struct rec_error *error)
{
	sqlite3_stmt *row;
	int64_t last = 0;
	int r = rec_sqlite_query(s, REC_SQLITE_ATTEMPT_LAST, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, task_id);
	r = rec_sqlite_run_int64(s, row, &last, error);
	if (r)
		return r;
	if (last < 0 || last >= UINT32_MAX)
		return rec_fail(error, REC_E_LIMIT, "%s: the task has no attempt numbers left", s->path);
	*ret_attempt = (uint32_t)last + 1;
	return 0;
}

static int run_begin(struct rec_sqlite *s, const struct rec_claim *claim, struct rec_slice run_id,
		     struct rec_error *error)
{
	sqlite3_stmt *row;
	struct rec_slice workspace;
	int r = rec_sqlite_workspace(s, &workspace, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_RUN_INSERT, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, run_id);
	rec_sqlite_bind_text(s, row, 2, workspace);
	rec_sqlite_bind_text(s, row, 3, claim->task_id);
	rec_sqlite_bind_text(s, row, 4, claim->claimed_at);
	return rec_sqlite_run(s, row, error);
}

static int record_released(struct rec_sqlite *s, const struct rec_claim *claim, struct rec_error *error)
{
	sqlite3_stmt *row;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_blockers))
		return 0;
	int r = rec_sqlite_query(s, REC_SQLITE_RELEASED_INSERT, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, claim->task_id);
	rec_sqlite_bind_int64(s, row, 2, claim->attempt);
	return rec_sqlite_run(s, row, error);
}

static int insert_claim(struct rec_sqlite *s, struct rec_claim *claim, struct rec_slice run_id, struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_CLAIM_INSERT, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, claim->task_id);
	rec_sqlite_bind_int64(s, row, 2, claim->attempt);
	rec_sqlite_bind_text(s, row, 3, claim->batch_id);
	rec_sqlite_bind_text(s, row, 4, claim->owner);
	rec_sqlite_bind_text(s, row, 5, claim->claimed_at);
	rec_sqlite_bind_text(s, row, 6, run_id);
	rec_sqlite_bind_int64(s, row, 7, claim->child_owns_run);
	r = rec_sqlite_run(s, row, error);
	if (r == 0)
		claim->claim_id = sqlite3_last_insert_rowid(s->db);
	return r;
}

static int claimed(struct rec_sqlite *s, struct rec_slice task_id, struct rec_error *error)
{
	sqlite3_stmt *row;
	int64_t claim_id;
	int r = rec_sqlite_query(s, REC_SQLITE_CLAIM_OF_TASK, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, task_id);
	r = rec_sqlite_run_int64(s, row, &claim_id, error);
	return r == 0 ? REC_EXISTS : r == REC_NOT_FOUND ? 0 : r;
}

int rec_sqlite_claim_add(struct rec_store *store, struct rec_claim *claim, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	char uuid[REC_UUID_BYTES];
	bool own_run = !claim->child_owns_run && rec_sqlite_has_table(s, REC_SQLITE_TABLE_runs);
	const struct rec_clock *clock = s->base.clock;
	struct rec_slice run_id = {0};
	if (own_run) /* in order: what was begun lately is ended soon, and lies together */
		run_id = rec_slice_of(rec_uuid_new_ordered(clock->wall_us(clock->context), uuid));
	int r = claimed(s, claim->task_id, error);
	if (r == 0)
		r = next_attempt(s, claim->task_id, &claim->attempt, error);
	if (r == 0 && own_run)
		r = run_begin(s, claim, run_id, error);
	if (r == 0)
		r = record_released(s, claim, error);
	return r == 0 ? insert_claim(s, claim, run_id, error) : r;
}

/* ---- Ending one ---- */

struct ended {
	struct rec_claim claim;
	struct rec_slice run_id;
};

static int get_claim(struct rec_sqlite *s, int64_t claim_id, struct rec_arena *arena, struct ended *ret_ended,
		     struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_CLAIM_GET, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_int64(s, row, 1, claim_id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	claim_row(row, &ret_ended->claim);
	ret_ended->run_id = rec_sqlite_column(row, CLAIM_RUN);
	struct rec_slice *const texts[] = {&ret_ended->claim.task_id, &ret_ended->claim.batch_id,
					   &ret_ended->claim.owner,   &ret_ended->claim.claimed_at,
					   &ret_ended->run_id,        NULL};
	r = rec_sqlite_keep(arena, texts, error);
	if (r == 0)
		r = rec_sqlite_run(s, row, error);
	sqlite3_reset(row);
	return r;
}

static bool is_word(struct rec_slice text, const char *word)
{
	return text.data && rec_slice_equal(text, rec_slice_of(word));
}

static const char *run_status(const struct rec_finish *finish)
{
	if (rec_status_success(finish->to) || (finish->to == REC_STATUS_ABSENT && is_word(finish->outcome, "done")))
		return "COMPLETED";
	if (finish->to == REC_BLOCKED || (finish->to == REC_STATUS_ABSENT && is_word(finish->outcome, "blocked")))
		return "BLOCKED";
	return "FAILED";
}

static int close_run(struct rec_sqlite *s, enum rec_sqlite_query query, struct rec_slice key, const char *status,
		     struct rec_error *error)
{
	sqlite3_stmt *row;
	char now[REC_TIMESTAMP_BYTES];
	int r = rec_sqlite_query(s, query, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, key);
	rec_sqlite_bind_text(s, row, 2, rec_slice_of(status));
	rec_sqlite_bind_now(s, row, 3, now);
	return rec_sqlite_run(s, row, error);
}

static int end_run(struct rec_sqlite *s, const struct ended *ended, const struct rec_finish *finish,
		   struct rec_error *error)
{
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_runs))
		return 0;
	if (ended->claim.child_owns_run)
		return close_run(s, REC_SQLITE_RUN_CLOSE_LEFT, ended->claim.task_id, run_status(finish), error);
	return ended->run_id.data ? close_run(s, REC_SQLITE_RUN_CLOSE, ended->run_id, run_status(finish), error) : 0;
}

/* A run that never was is removed; if somebody refers to it already it is closed instead. */
static int forget_run(struct rec_sqlite *s, const struct ended *ended, struct rec_error *error)
{
	sqlite3_stmt *row;
	if (!ended->run_id.data || !rec_sqlite_has_table(s, REC_SQLITE_TABLE_runs))
		return 0;
	int r = rec_sqlite_query(s, REC_SQLITE_RUN_DELETE, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, ended->run_id);
	r = rec_sqlite_run(s, row, error);
	return r == REC_E_INVALID ? close_run(s, REC_SQLITE_RUN_CLOSE, ended->run_id, "FAILED", error) : r;
}

static int of_attempt(struct rec_sqlite *s, enum rec_sqlite_query query, const struct ended *ended,
		      struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, query, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, ended->claim.task_id);
	rec_sqlite_bind_int64(s, row, 2, ended->claim.attempt);
	return rec_sqlite_run(s, row, error);
}

static int record_attempt(struct rec_sqlite *s, const struct ended *ended, const struct rec_finish *finish,
			  struct rec_error *error)
{
	sqlite3_stmt *row;
	char now[REC_TIMESTAMP_BYTES];
	int r = rec_sqlite_query(s, REC_SQLITE_ATTEMPT_INSERT, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, ended->claim.task_id);
	rec_sqlite_bind_int64(s, row, 2, ended->claim.attempt);
	rec_sqlite_bind_text(s, row, 3, ended->claim.batch_id);
	rec_sqlite_bind_int64(s, row, 4, ended->claim.claim_id);
	rec_sqlite_bind_text(s, row, 5, ended->claim.claimed_at);
	rec_sqlite_bind_now(s, row, 6, now);
	rec_sqlite_bind_text(s, row, 7, finish->outcome);
	rec_sqlite_bind_optional(s, row, 8, finish->has_exit_code, finish->exit_code);
	rec_sqlite_bind_optional(s, row, 9, finish->has_exit_signal, finish->exit_signal);
	rec_sqlite_bind_int64(s, row, 10, finish->survivors);
	return rec_sqlite_run(s, row, error);
}

static int delete_claim(struct rec_sqlite *s, int64_t claim_id, struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_CLAIM_DELETE, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_int64(s, row, 1, claim_id);
	return rec_sqlite_run(s, row, error);
}

/* No trigger does: the status may stay what somebody else stored, and yet the task is free now. */
static int tell_change(struct rec_sqlite *s, struct rec_slice task_id, struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_CHANGE_INSERT, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, task_id);
	return rec_sqlite_run(s, row, error);
}

int rec_sqlite_claim_end(struct rec_store *store, int64_t claim_id, const struct rec_finish *finish,
			 struct rec_arena *arena, struct rec_slice *ret_task_id, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	struct ended ended;
	int r = get_claim(s, claim_id, arena, &ended, error);
	if (r == 0)
		r = delete_claim(s, claim_id, error);
	if (r == 0)
		r = tell_change(s, ended.claim.task_id, error);
	if (r == 0 && finish)
		r = record_attempt(s, &ended, finish, error);
	if (r == 0)
		r = of_attempt(s, finish ? REC_SQLITE_RELEASED_FORGET_OLDER : REC_SQLITE_RELEASED_FORGET, &ended,
			       error);
	if (r == 0 && !finish) /* the attempt before may have been pruned meanwhile, but its number counts */
		r = of_attempt(s, REC_SQLITE_ATTEMPT_ENSURE, &ended, error);
	if (r == 0)
		r = finish ? end_run(s, &ended, finish, error) : forget_run(s, &ended, error);
	if (r == 0)
		*ret_task_id = ended.claim.task_id;
	return r;
}

/* ---- Taking one over ---- */

int rec_sqlite_claim_take(struct rec_store *store, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			  struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_CLAIM_TAKE, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_int64(s, row, 1, claim_id);
	rec_sqlite_bind_text(s, row, 2, from);
	rec_sqlite_bind_text(s, row, 3, owner);
	r = rec_sqlite_run(s, row, error);
	if (r || sqlite3_changes(s->db) > 0)
		return r;
	r = rec_sqlite_query(s, REC_SQLITE_CLAIM_GET, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_int64(s, row, 1, claim_id);
	r = rec_sqlite_next(s, row, error);
	sqlite3_reset(row);
	return r == REC_END ? REC_NOT_FOUND : r ? r : REC_CONFLICT;
}

/* ---- Listing ---- */

struct claim_listing {
	rec_claim_fn *fn;
	rec_id_fn *id_fn;
	void *context;
	bool told;
};

static int claim_listing_row(struct claim_listing *l, sqlite3_stmt *row)
{
	struct rec_claim claim;
	l->told = true;
	if (l->id_fn)
		return l->id_fn(l->context, rec_sqlite_column(row, 0));
	claim_row(row, &claim);
	return l->fn(l->context, &claim);
}

static int claim_listing_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct claim_listing *l = context;
	sqlite3_stmt *rows;
	if (!rec_sqlite_has_table(s, l->id_fn ? REC_SQLITE_TABLE_runs : REC_SQLITE_TABLE_rec_claims))
		return 0;
	int r = rec_sqlite_query(s, l->id_fn ? REC_SQLITE_RUN_LIST : REC_SQLITE_CLAIM_LIST, &rows, error);
	if (r)
		return r;
	for (;;) {
		r = rec_sqlite_next(s, rows, error);
		if (r)
			return r == REC_END ? 0 : r;
		if (l->id_fn && !rec_sqlite_is_text(rows, 0))
			continue;
		r = claim_listing_row(l, rows);
		if (r)
			break;
	}
	sqlite3_reset(rows);
	return r;
}

int rec_sqlite_claims(struct rec_store *store, rec_claim_fn *fn, void *context, struct rec_error *error)
{
	struct claim_listing l = {.fn = fn, .context = context};
	return rec_sqlite_read(rec_sqlite_of(store), claim_listing_body, &l, &l.told, error);
}

int rec_sqlite_running_runs(struct rec_store *store, rec_id_fn *fn, void *context, struct rec_error *error)
{
	struct claim_listing l = {.id_fn = fn, .context = context};
	return rec_sqlite_read(rec_sqlite_of(store), claim_listing_body, &l, &l.told, error);
}
