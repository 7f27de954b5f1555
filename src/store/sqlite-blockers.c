/* sqlite-blockers.c - blockers and events as they are written, events as they are read. */
#include "store/sqlite.h"

/* ---- Blockers ---- */

static bool has(const struct rec_sqlite *s, enum rec_sqlite_blocker_column column)
{
	return s->schema.blocker_columns & REC_SQLITE_BIT(column);
}

static void put(struct rec_sqlite *s, sqlite3_stmt *row, enum rec_sqlite_blocker_column column, struct rec_slice text)
{
	if (has(s, column))
		rec_sqlite_bind_text(s, row, (int)column + 1, text);
}

static int judge_columns(struct rec_sqlite *s, const struct rec_blocker *blocker, struct rec_error *error)
{
	uint64_t needed = REC_SQLITE_BIT(REC_SQLITE_BLOCKER_id) | REC_SQLITE_BIT(REC_SQLITE_BLOCKER_task_id) |
			  REC_SQLITE_BIT(REC_SQLITE_BLOCKER_status) | REC_SQLITE_BIT(REC_SQLITE_BLOCKER_question);
	if (blocker->answer.data)
		needed |= REC_SQLITE_BIT(REC_SQLITE_BLOCKER_answer);
	if (blocker->answered_at.data)
		needed |= REC_SQLITE_BIT(REC_SQLITE_BLOCKER_answered_at);
	if (blocker->created_by.data && !rec_slice_equal(blocker->created_by, rec_slice_of("human")))
		needed |= REC_SQLITE_BIT(REC_SQLITE_BLOCKER_created_by);
	return rec_sqlite_need_blocker_columns(s, needed, error);
}

int rec_sqlite_blocker_insert(struct rec_sqlite *s, const struct rec_blocker *blocker, struct rec_error *error)
{
	sqlite3_stmt *row;
	struct rec_slice workspace = {0};
	int r = judge_columns(s, blocker, error);
	if (r == 0 && has(s, REC_SQLITE_BLOCKER_workspace_id))
		r = rec_sqlite_workspace(s, &workspace, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_BLOCKER_INSERT, &row, error);
	if (r)
		return r;
	put(s, row, REC_SQLITE_BLOCKER_id, blocker->id);
	put(s, row, REC_SQLITE_BLOCKER_workspace_id, workspace);
	put(s, row, REC_SQLITE_BLOCKER_task_id, blocker->task_id);
	put(s, row, REC_SQLITE_BLOCKER_status, rec_slice_of(rec_blocker_status_text(blocker->status)));
	put(s, row, REC_SQLITE_BLOCKER_question, blocker->question);
	put(s, row, REC_SQLITE_BLOCKER_answer, blocker->answer);
	put(s, row, REC_SQLITE_BLOCKER_created_at, blocker->created_at);
	put(s, row, REC_SQLITE_BLOCKER_answered_at, blocker->answered_at);
	put(s, row, REC_SQLITE_BLOCKER_created_by, blocker->created_by);
	return rec_sqlite_run(s, row, error);
}

/* 0 and the status; REC_NOT_FOUND. */
static int status_of(struct rec_sqlite *s, struct rec_slice id, enum rec_blocker_status *ret_status,
		     struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_need_table(s, REC_SQLITE_TABLE_blockers, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_BLOCKER_STATUS, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	*ret_status = rec_sqlite_is_text(row, 0) ? rec_blocker_status_parse(rec_sqlite_column(row, 0))
						 : REC_BLOCKER_UNRECOGNISED;
	sqlite3_reset(row);
	return 0;
}

static int task_exists(struct rec_sqlite *s, struct rec_slice id, struct rec_error *error)
{
	sqlite3_stmt *row;
	int64_t one;
	int r = rec_sqlite_query(s, REC_SQLITE_TASK_EXISTS, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	return rec_sqlite_run_int64(s, row, &one, error);
}

int rec_sqlite_blocker_create(struct rec_store *store, const struct rec_blocker *blocker, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	enum rec_blocker_status status;
	int r = blocker->task_id.data ? task_exists(s, blocker->task_id, error) : 0;
	if (r)
		return r;
	r = status_of(s, blocker->id, &status, error);
	if (r == 0)
		return REC_EXISTS;
	return r == REC_NOT_FOUND ? rec_sqlite_blocker_insert(s, blocker, error) : r;
}

int rec_sqlite_blocker_answer(struct rec_store *store, struct rec_slice id, struct rec_slice text,
			      struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	enum rec_blocker_status status;
	char now[REC_TIMESTAMP_BYTES];
	int r = status_of(s, id, &status, error);
	if (r == 0 && status == REC_RESOLVED)
		return REC_REFUSED;
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_BLOCKER_ANSWER, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	rec_sqlite_bind_text(s, row, 2, text);
	rec_sqlite_bind_now(s, row, 3, now);
	return rec_sqlite_run(s, row, error);
}

int rec_sqlite_blocker_resolve(struct rec_store *store, struct rec_slice id, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	enum rec_blocker_status status;
	int r = status_of(s, id, &status, error);
	if (r || status == REC_RESOLVED)
		return r;
	if (status != REC_ANSWERED)
		return REC_REFUSED;
	r = rec_sqlite_query(s, REC_SQLITE_BLOCKER_RESOLVE, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	return rec_sqlite_run(s, row, error);
}

/* ---- Events ---- */

/* In the order of the columns of both queries. */
static const size_t event_texts[] = {
	offsetof(struct rec_event, time),
	offsetof(struct rec_event, event),
	offsetof(struct rec_event, batch_id),
	offsetof(struct rec_event, task_id),
	offsetof(struct rec_event, action),
	offsetof(struct rec_event, reason),
	offsetof(struct rec_event, source),
	offsetof(struct rec_event, current_status),
	offsetof(struct rec_event, external_status),
	offsetof(struct rec_event, believed),
	offsetof(struct rec_event, observation),
	offsetof(struct rec_event, detail),
};
#define EVENT_TEXT_COUNT ((int)(sizeof event_texts / sizeof *event_texts))

static struct rec_slice *event_text(struct rec_event *event, int i)
{
	return (struct rec_slice *)((char *)event + event_texts[i]);
}

int rec_sqlite_event_add(struct rec_store *store, const struct rec_event *event, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	struct rec_event copy = *event; /* whose texts are reached by their offsets */
	sqlite3_stmt *row;
	int at = EVENT_TEXT_COUNT, r = rec_sqlite_query(s, REC_SQLITE_EVENT_INSERT, &row, error);
	if (r)
		return r;
	for (int i = 0; i < EVENT_TEXT_COUNT; i++)
		rec_sqlite_bind_text(s, row, i + 1, *event_text(&copy, i));
	rec_sqlite_bind_optional(s, row, ++at, event->has_attempt, event->attempt);
	rec_sqlite_bind_optional(s, row, ++at, event->has_blockers, event->blockers_total);
	rec_sqlite_bind_optional(s, row, ++at, event->has_blockers, event->blockers_open);
	rec_sqlite_bind_optional(s, row, ++at, event->has_blockers, event->blockers_new);
	rec_sqlite_bind_optional(s, row, ++at, event->has_exit_code, event->exit_code);
	rec_sqlite_bind_optional(s, row, ++at, event->has_exit_signal, event->exit_signal);
	rec_sqlite_bind_optional(s, row, ++at, event->has_survivors, event->survivors);
	r = rec_sqlite_run(s, row, error);
	if (r == 0)
		store->event_seq = sqlite3_last_insert_rowid(s->db);
	return r;
}

static void read_number(sqlite3_stmt *row, int column, bool *ret_has, int64_t *ret_value)
{
	*ret_has = sqlite3_column_type(row, column) != SQLITE_NULL;
	*ret_value = sqlite3_column_int64(row, column);
}

static void event_row(sqlite3_stmt *row, struct rec_event *event)
{
	int at = EVENT_TEXT_COUNT;
	*event = (struct rec_event){0};
	for (int i = 0; i < EVENT_TEXT_COUNT; i++)
		*event_text(event, i) = rec_sqlite_column(row, i);
	read_number(row, at++, &event->has_attempt, &event->attempt);
	read_number(row, at++, &event->has_blockers, &event->blockers_total);
	read_number(row, at++, &event->has_blockers, &event->blockers_open);
	read_number(row, at++, &event->has_blockers, &event->blockers_new);
	read_number(row, at++, &event->has_exit_code, &event->exit_code);
	read_number(row, at++, &event->has_exit_signal, &event->exit_signal);
	read_number(row, at++, &event->has_survivors, &event->survivors);
	event->seq = sqlite3_column_int64(row, at);
}

struct event_listing {
	int64_t since;
	uint64_t limit;
	rec_event_fn *fn;
	void *context;
	bool told;
};

static int event_listing_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct event_listing *l = context;
	struct rec_event event;
	sqlite3_stmt *rows;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_events))
		return 0;
	int r = rec_sqlite_query(s, REC_SQLITE_EVENT_LIST, &rows, error);
	if (r)
		return r;
	rec_sqlite_bind_int64(s, rows, 1, l->since);
	rec_sqlite_bind_int64(s, rows, 2, l->limit && l->limit < INT64_MAX ? (int64_t)l->limit : -1);
	for (;;) {
		r = rec_sqlite_next(s, rows, error);
		if (r)
			return r == REC_END ? 0 : r;
		event_row(rows, &event);
		l->told = true;
		r = l->fn(l->context, &event);
		if (r)
			break;
	}
	sqlite3_reset(rows);
	return r;
}

int rec_sqlite_events(struct rec_store *store, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		      struct rec_error *error)
{
	struct event_listing l = {since, limit, fn, context, false};
	return rec_sqlite_read(rec_sqlite_of(store), event_listing_body, &l, &l.told, error);
}
