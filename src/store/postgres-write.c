/* postgres-write.c - groups, and the writes of tasks and blockers.
 *
 * The answer to a COMMIT may get lost. The group's transaction id then tells on a new connection whether it happened,
 * once the lock is free: the old session cannot be in the middle of it any more.
 */
#include "store/postgres.h"

#include <stdio.h>
#include <stdlib.h>

#define STATEMENT_MS 20000 /* beyond the wait for the lock; the longest statement prunes old rows */
#define IDLE_MS 15000      /* between two statements of a group: a host that was cut off keeps nobody from writing */

/* ---- Groups ---- */

/* Numbers stand in the text, for these statements go together in one round trip, and only parameters go alone. */
static int begin_transaction(struct rec_postgres *s, struct rec_error *error)
{
	char sql[640];
	PGresult *row = NULL;
	long long limit = s->base.busy_timeout_ms, wall = s->base.clock->wall_us(s->base.clock->context);
	snprintf(sql, sizeof sql,
		 "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
		 "SET LOCAL lock_timeout=%lld;SET LOCAL statement_timeout=%lld;"
		 "SET LOCAL idle_in_transaction_session_timeout=%d;SET LOCAL reconciler.now_us='%lld';"
		 "LOCK TABLE reconciler.writer IN EXCLUSIVE MODE;"
		 "SELECT pg_current_xact_id()::text,claim_id,event_seq FROM reconciler.counters",
		 limit, limit + STATEMENT_MS, IDLE_MS, wall);
	int r = rec_postgres_do(s, sql, &row, error);
	if (r < 0)
		return r;
	if (s->pq.PQntuples(row) == 1) {
		snprintf(s->xid, sizeof s->xid, "%s", s->pq.PQgetvalue(row, 0, 0));
		s->counters.claim_id = strtoll(s->pq.PQgetvalue(row, 0, 1), NULL, 10);
		s->counters.event_seq = strtoll(s->pq.PQgetvalue(row, 0, 2), NULL, 10);
		s->counters_before = s->counters;
		s->batch_id[0] = '\0';
		s->seen.there = false;
	} else {
		r = rec_fail(error, REC_E_CORRUPT, "%s: the table reconciler.counters is empty (restore a copy)",
			     s->location);
	}
	rec_postgres_clear(s, row);
	return r;
}

int rec_postgres_begin(struct rec_store *store, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	int r = rec_postgres_connect(s, error);
	if (r < 0)
		return r;
	s->in_group = true; /* for the limits of waiting */
	r = begin_transaction(s, error);
	if (r == REC_E_BUSY && !rec_postgres_connected(s)) { /* the connection had died unnoticed */
		r = rec_postgres_connect(s, error);
		if (r == 0)
			r = begin_transaction(s, error);
	}
	if (r < 0)
		rec_postgres_rollback(store);
	return r;
}

void rec_postgres_rollback(struct rec_store *store)
{
	struct rec_postgres *s = rec_postgres_of(store);
	if (rec_postgres_connected(s))
		(void)rec_postgres_settle(s, NULL);
	if (rec_postgres_connected(s) && s->pq.PQtransactionStatus(s->connection) != PQTRANS_IDLE &&
	    rec_postgres_do(s, "ROLLBACK", NULL, NULL) < 0)
		rec_postgres_disconnect(s); /* that rolls back as well */
	s->in_group = false;
}

/* How did it end, whose COMMIT was not answered? 0: well. */
static int learn_end(struct rec_postgres *s, const char *xid, struct rec_error *error)
{
	struct rec_error later = {0};
	char sql[128];
	PGresult *row = NULL;
	int r = rec_postgres_connect(s, &later);
	if (r == 0)
		r = begin_transaction(s, &later);
	snprintf(sql, sizeof sql, "SELECT pg_xact_status('%s'::xid8)", xid);
	if (r == 0)
		r = rec_postgres_do(s, sql, &row, &later);
	bool committed = r == 0 && strcmp(s->pq.PQgetvalue(row, 0, 0), "committed") == 0;
	rec_postgres_clear(s, row);
	rec_postgres_rollback(&s->base);
	if (committed)
		return 0;
	if (r == 0)
		return rec_fail(error, REC_E_BUSY, "%s: the connection was lost and nothing was stored (try again)",
				s->location);
	return rec_fail(error, REC_E_BUSY,
			"%s: the connection was lost during a commit, and whether it was stored is not known yet: %s",
			s->location, later.message);
}

static int count_put(struct rec_postgres *s, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	if (memcmp(&s->counters, &s->counters_before, sizeof s->counters) == 0)
		return 0;
	rec_postgres_put_number(&a, s->counters.claim_id);
	rec_postgres_put_number(&a, s->counters.event_seq);
	return rec_postgres_later(s, REC_POSTGRES_COUNTERS_PUT, &a, error);
}

int rec_postgres_commit(struct rec_store *store, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	const struct rec_postgres_arguments none = {0};
	char xid[sizeof s->xid];
	PGresult *result = NULL;
	memcpy(xid, s->xid, sizeof xid);
	int r = count_put(s, error);
	if (r == 0)
		r = rec_postgres_run(s, REC_POSTGRES_COMMIT, &none, &result, error);
	if (r == 0 && strcmp(s->pq.PQcmdStatus(result), "COMMIT") != 0)
		r = rec_fail(error, REC_E_BUG, "%s: the server rolled back instead of committing (please report)",
			     s->location);
	rec_postgres_clear(s, result);
	if (r == REC_E_BUSY && !rec_postgres_connected(s))
		r = learn_end(s, xid, error);
	if (r < 0)
		rec_postgres_rollback(store);
	s->in_group = false;
	return r;
}

/* ---- A row of one or two answers ---- */

struct outcome {
	bool first, second; /* booleans */
	bool has_second;    /* not NULL */
	char text[64];      /* of the second, if it is a text */
	size_t text_length;
};

static int ask(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
	       struct outcome *ret, struct rec_error *error)
{
	PGresult *row = NULL;
	int r = rec_postgres_run(s, query, a, &row, error);
	if (r == 0 && s->pq.PQntuples(row) != 1)
		r = rec_fail(error, REC_E_BUG, "%s: an answer of no row (please report)", s->location);
	if (r == 0) {
		struct rec_slice second = rec_postgres_text(s, row, 0, 1);
		*ret = (struct outcome){.first = rec_postgres_bool(s, row, 0, 0),
					.second = rec_postgres_bool(s, row, 0, 1),
					.has_second = second.data != NULL,
					.text_length = second.length < sizeof ret->text ? second.length : 0};
		if (second.data && ret->text_length)
			memcpy(ret->text, second.data, ret->text_length);
	}
	rec_postgres_clear(s, row);
	return r;
}

/* ---- Tasks ---- */

static int judge_new(struct rec_postgres *s, const struct rec_task *task, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct rec_buffer bytes;
	PGresult *row = NULL;
	if (task->blocker_count == 0 && !task->external_url.data)
		return 0; /* the insertion itself tells */
	struct rec_slice *ids = rec_zalloc(s->base.allocator, task->blocker_count, sizeof *ids);
	if (!ids)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < task->blocker_count; i++)
		ids[i] = task->blockers[i].id;
	rec_postgres_put_text(&a, task->id);
	int r = rec_postgres_put_texts(s, &a, ids, task->blocker_count, &bytes, error);
	if (r == 0)
		r = rec_postgres_run(s, REC_POSTGRES_TASK_EXISTS, &a, &row, error);
	if (r == 0 && rec_postgres_bool(s, row, 0, 0))
		r = REC_EXISTS;
	rec_postgres_clear(s, row);
	rec_buffer_release(&bytes);
	rec_free(s->base.allocator, ids);
	return r;
}

static int judge_url(struct rec_postgres *s, const struct rec_task *task, bool exists, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	PGresult *row = NULL;
	if (!task->external_url.data)
		return 0;
	rec_postgres_put_text(&a, task->external_url);
	rec_postgres_put_text(&a, task->id);
	rec_postgres_put_bool(&a, exists);
	int r = rec_postgres_run(s, REC_POSTGRES_TASK_OF_URL, &a, &row, error);
	if (r == 0 && s->pq.PQntuples(row) > 0) {
		struct rec_slice other = rec_postgres_text(s, row, 0, 0), url = task->external_url;
		r = rec_fail(error, REC_E_INVALID,
			     "external_url %.*s: the task %.*s has it already (one task an address)",
			     (int)(url.length < 300 ? url.length : 300), url.data,
			     (int)(other.length < 256 ? other.length : 256), other.data);
	}
	rec_postgres_clear(s, row);
	return r;
}

static int insert(struct rec_postgres *s, const struct rec_task *task, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct rec_buffer bytes;
	int rows = 0;
	rec_postgres_put_text(&a, task->id);
	rec_postgres_put_text(&a, task->title);
	rec_postgres_put_word(&a, rec_status_text(task->status));
	rec_postgres_put_number(&a, task->priority);
	int r = rec_postgres_put_texts(s, &a, task->depends_on, task->depends_on_count, &bytes, error);
	rec_postgres_put_text(&a, task->parent_id);
	rec_postgres_put_bool(&a, task->is_leaf);
	rec_postgres_put_text(&a, task->created_at);
	rec_postgres_put_text(&a, task->description);
	rec_postgres_put_text(&a, task->external_url);
	rec_postgres_put_text(&a, task->updated_at);
	rec_postgres_put_text(&a, task->prd_id);
	rec_postgres_put_text(&a, task->uncertainty_level);
	rec_postgres_put_text(&a, task->hierarchical_id);
	rec_postgres_put_text(&a, task->lineage);
	rec_postgres_put_text(&a, task->requirement_ids);
	rec_postgres_put_double(&a, task->has_estimated_hours, task->estimated_hours);
	rec_postgres_put_optional(&a, task->has_complexity_score, task->complexity_score);
	rec_postgres_put_optional(&a, task->has_github_issue_number, task->github_issue_number);
	rec_postgres_put_number(&a, task->auto_close_github_issue);
	if (r == 0)
		r = rec_postgres_effect(s, REC_POSTGRES_TASK_INSERT, &a, &rows, error);
	rec_buffer_release(&bytes);
	return r == 0 && rows == 0 ? REC_EXISTS : r;
}

int rec_postgres_create(struct rec_store *store, const struct rec_task *task, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	int r = judge_new(s, task, error);
	if (r == 0)
		r = judge_url(s, task, false, error);
	if (r == 0)
		r = insert(s, task, error);
	for (size_t i = 0; r == 0 && i < task->blocker_count; i++) {
		struct rec_blocker blocker = task->blockers[i];
		blocker.task_id = task->id;
		r = rec_postgres_blocker_create(store, &blocker, error);
		if (r > 0) /* they were looked at before anything was written */
			r = rec_fail(error, REC_E_BUG, "%s: a blocker's id changed inside the group (please report)",
				     s->location);
	}
	return r;
}

/* Only what is asked for is looked at at all. */
static struct rec_slice edited(unsigned fields, enum rec_edit_fields field, struct rec_slice text)
{
	return fields & field ? text : (struct rec_slice){0};
}

static int write_edit(struct rec_postgres *s, const struct rec_task *task, unsigned fields, int *ret_rows,
		      struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct rec_buffer bytes;
	char now[REC_TIMESTAMP_BYTES];
	rec_postgres_put_text(&a, task->id);
	rec_postgres_put_number(&a, fields);
	rec_postgres_put_text(&a, rec_store_now(&s->base, now));
	rec_postgres_put_text(&a, edited(fields, REC_EDIT_TITLE, task->title));
	rec_postgres_put_text(&a, edited(fields, REC_EDIT_DESCRIPTION, task->description));
	rec_postgres_put_number(&a, task->priority);
	int r = rec_postgres_put_texts(s, &a, task->depends_on,
				       fields & REC_EDIT_DEPENDS_ON ? task->depends_on_count : 0, &bytes, error);
	rec_postgres_put_text(&a, edited(fields, REC_EDIT_PARENT, task->parent_id));
	rec_postgres_put_text(&a, edited(fields, REC_EDIT_EXTERNAL_URL, task->external_url));
	if (r == 0)
		r = rec_postgres_effect(s, REC_POSTGRES_TASK_EDIT, &a, ret_rows, error);
	rec_buffer_release(&bytes);
	return r;
}

int rec_postgres_edit(struct rec_store *store, const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	int rows = 0, r = fields & REC_EDIT_EXTERNAL_URL ? judge_url(s, task, true, error) : 0;
	if (r == 0)
		r = write_edit(s, task, fields, &rows, error);
	return r == 0 && rows == 0 ? REC_NOT_FOUND : r;
}

int rec_postgres_remove(struct rec_store *store, struct rec_slice id, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct outcome outcome = {0};
	rec_postgres_put_text(&a, id);
	int r = ask(rec_postgres_of(store), REC_POSTGRES_TASK_DELETE, &a, &outcome, error);
	if (r < 0 || outcome.first)
		return r;
	return outcome.second ? REC_REFUSED : REC_NOT_FOUND;
}

int rec_postgres_write_status(struct rec_store *store, struct rec_slice id, enum rec_status from, enum rec_status to,
			      enum rec_status *now, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct outcome outcome = {0};
	char time[REC_TIMESTAMP_BYTES];
	bool known = from != REC_STATUS_UNRECOGNISED;
	rec_postgres_put_text(&a, id);
	if (known)
		rec_postgres_put_word(&a, rec_status_text(from));
	rec_postgres_put_word(&a, rec_status_text(to));
	rec_postgres_put_text(&a, rec_store_now(store, time));
	int r = ask(rec_postgres_of(store), known ? REC_POSTGRES_TASK_SET_STATUS : REC_POSTGRES_TASK_SET_UNRECOGNISED,
		    &a, &outcome, error);
	if (r < 0 || outcome.first)
		return r;
	if (!outcome.has_second)
		return REC_NOT_FOUND;
	if (now)
		*now = rec_status_parse((struct rec_slice){outcome.text, outcome.text_length});
	return REC_CONFLICT;
}

int rec_postgres_parent(struct rec_store *store, struct rec_slice id, struct rec_arena *arena,
			struct rec_slice *ret_parent, enum rec_status *ret_status, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0};
	PGresult *row = NULL;
	rec_postgres_put_text(&a, id);
	int r = rec_postgres_run(s, REC_POSTGRES_TASK_PARENT, &a, &row, error);
	if (r == 0 && s->pq.PQntuples(row) == 0)
		r = REC_NOT_FOUND;
	if (r == 0) {
		struct rec_slice parent = rec_postgres_text(s, row, 0, 0);
		struct rec_slice *const one[] = {&parent, NULL};
		r = rec_postgres_keep(arena, one, error);
		if (r == 0) {
			*ret_parent = parent;
			*ret_status = rec_status_parse(rec_postgres_text(s, row, 0, 1));
		}
	}
	rec_postgres_clear(s, row);
	return r;
}

int rec_postgres_children(struct rec_store *store, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
			  uint64_t *unrecognised, struct rec_error *error)
{
	struct rec_postgres *s = rec_postgres_of(store);
	struct rec_postgres_arguments a = {0};
	PGresult *rows = NULL;
	memset(counts, 0, REC_STATUS_COUNT * sizeof *counts);
	*unrecognised = 0;
	rec_postgres_put_text(&a, id);
	int r = rec_postgres_run(s, REC_POSTGRES_TASK_CHILDREN, &a, &rows, error);
	int count = r == 0 ? s->pq.PQntuples(rows) : 0;
	for (int i = 0; i < count; i++) {
		enum rec_status status = rec_status_parse(rec_postgres_text(s, rows, i, 0));
		uint64_t *counter = status < REC_STATUS_COUNT ? &counts[status] : unrecognised;
		*counter += (uint64_t)rec_postgres_number(s, rows, i, 1);
	}
	rec_postgres_clear(s, rows);
	return r;
}

int rec_postgres_mark_composite(struct rec_store *store, struct rec_slice id, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	int rows = 0;
	rec_postgres_put_text(&a, id);
	int r = rec_postgres_effect(rec_postgres_of(store), REC_POSTGRES_TASK_MARK, &a, &rows, error);
	return r == 0 && rows == 0 ? REC_NOT_FOUND : r;
}

/* ---- Blockers ---- */

int rec_postgres_blocker_create(struct rec_store *store, const struct rec_blocker *blocker, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct outcome outcome = {0};
	rec_postgres_put_text(&a, blocker->id);
	rec_postgres_put_text(&a, blocker->task_id);
	rec_postgres_put_text(&a, blocker->question);
	rec_postgres_put_text(&a, blocker->answer);
	rec_postgres_put_word(&a, rec_blocker_status_text(blocker->status));
	rec_postgres_put_text(&a, blocker->created_at);
	rec_postgres_put_text(&a, blocker->answered_at);
	rec_postgres_put_text(&a, blocker->created_by);
	int r = ask(rec_postgres_of(store), REC_POSTGRES_BLOCKER_INSERT, &a, &outcome, error);
	if (r < 0 || outcome.first)
		return r;
	return outcome.second ? REC_EXISTS : REC_NOT_FOUND;
}

/* What a release of a blocker came to: done, missing, or not to be done with the status it has. */
static int released(const struct outcome *outcome, int r, const char *fine)
{
	if (r < 0 || outcome->first)
		return r;
	if (!outcome->has_second)
		return REC_NOT_FOUND;
	return fine && outcome->text_length == strlen(fine) && memcmp(outcome->text, fine, outcome->text_length) == 0
		       ? 0
		       : REC_REFUSED;
}

int rec_postgres_blocker_answer(struct rec_store *store, struct rec_slice id, struct rec_slice text,
				struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct outcome outcome = {0};
	char now[REC_TIMESTAMP_BYTES];
	rec_postgres_put_text(&a, id);
	rec_postgres_put_text(&a, text);
	rec_postgres_put_text(&a, rec_store_now(store, now));
	int r = ask(rec_postgres_of(store), REC_POSTGRES_BLOCKER_ANSWER, &a, &outcome, error);
	return released(&outcome, r, NULL);
}

int rec_postgres_blocker_resolve(struct rec_store *store, struct rec_slice id, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct outcome outcome = {0};
	rec_postgres_put_text(&a, id);
	int r = ask(rec_postgres_of(store), REC_POSTGRES_BLOCKER_RESOLVE, &a, &outcome, error);
	return released(&outcome, r, "RESOLVED");
}
