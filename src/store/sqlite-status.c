/* sqlite-status.c - a task's status and its family: what the roll-up of parents is made of. */
#include "store/sqlite.h"

/* Why did the compare-and-set change nothing? */
static int status_now(struct rec_sqlite *s, struct rec_slice id, enum rec_status *now, struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_TASK_STATUS, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	if (now)
		*now = rec_sqlite_status(row, 0);
	sqlite3_reset(row);
	return REC_CONFLICT;
}

int rec_sqlite_write_status(struct rec_store *store, struct rec_slice id, enum rec_status from, enum rec_status to,
			    enum rec_status *now, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	char time[REC_TIMESTAMP_BYTES];
	bool any = from == REC_STATUS_UNRECOGNISED;
	int r = rec_sqlite_query(s, any ? REC_SQLITE_TASK_SET_UNRECOGNISED : REC_SQLITE_TASK_SET_STATUS, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	rec_sqlite_bind_text(s, row, 2, rec_slice_of(rec_status_text(to)));
	if (s->schema.task_columns & REC_SQLITE_BIT(REC_SQLITE_TASK_updated_at))
		rec_sqlite_bind_now(s, row, 3, time);
	if (!any)
		rec_sqlite_bind_text(s, row, 4, rec_slice_of(rec_status_text(from)));
	r = rec_sqlite_run(s, row, error);
	return r == 0 && sqlite3_changes(s->db) == 0 ? status_now(s, id, now, error) : r;
}

int rec_sqlite_parent(struct rec_store *store, struct rec_slice id, struct rec_arena *arena,
		      struct rec_slice *ret_parent, enum rec_status *ret_status, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_TASK_PARENT, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	struct rec_slice parent = rec_sqlite_column(row, 0);
	enum rec_status status = rec_sqlite_status(row, 1);
	char *copy = parent.data ? rec_arena_strndup(arena, parent.data, parent.length) : NULL;
	if (parent.data && !copy)
		r = rec_fail_nomem(error);
	else
		r = rec_sqlite_run(s, row, error);
	sqlite3_reset(row);
	if (r)
		return r;
	*ret_parent = (struct rec_slice){copy, parent.length};
	*ret_status = status;
	return 0;
}

int rec_sqlite_children(struct rec_store *store, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
			uint64_t *unrecognised, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *rows;
	int r = rec_sqlite_query(s, REC_SQLITE_TASK_CHILDREN, &rows, error);
	if (r)
		return r;
	memset(counts, 0, REC_STATUS_COUNT * sizeof *counts);
	*unrecognised = 0;
	rec_sqlite_bind_text(s, rows, 1, id);
	while ((r = rec_sqlite_next(s, rows, error)) == 0) {
		enum rec_status status = rec_sqlite_status(rows, 0);
		uint64_t count = (uint64_t)sqlite3_column_int64(rows, 1);
		if (status == REC_STATUS_UNRECOGNISED)
			*unrecognised += count;
		else
			counts[status] += count;
	}
	return r == REC_END ? 0 : r;
}

int rec_sqlite_mark_composite(struct rec_store *store, struct rec_slice id, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	int r = rec_sqlite_need_task_columns(
		s, REC_SQLITE_BIT(REC_SQLITE_TASK_is_leaf) | REC_SQLITE_BIT(REC_SQLITE_TASK_parent_id), error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_TASK_MARK_COMPOSITE, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	r = rec_sqlite_run(s, row, error);
	if (r || sqlite3_changes(s->db) > 0)
		return r;
	r = status_now(s, id, NULL, error);
	return r == REC_CONFLICT ? 0 : r;
}
