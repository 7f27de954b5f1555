/* sqlite-links.c - links to trackers, what is known of them, and what the trackers' helpers want to keep.
 *
 * rec_links holds a row for each explicit link, and one for each external_url that was ever observed; the second kind
 * counts only while it is the task's external_url. Both tables are younger than the others of ours: a store made by an
 * older version lacks them until `init`, and whatever only reads then finds nothing in them.
 */
#include "store/sqlite.h"

/* In the order of LINK_COLUMNS, behind task, address and implicit. */
enum {
	LINK_TASK,
	LINK_URL,
	LINK_IMPLICIT,
	LINK_STATE,
	LINK_KIND,
	LINK_REASON,
	LINK_TIME,
	LINK_COMMENTS,
	LINK_MOVED_TO,
	LINK_VALIDATOR,
	LINK_OBSERVED_AT,
	LINK_GONE,
	LINK_MADE_DONE_AT
};

static bool has_external_url(const struct rec_sqlite *s)
{
	return s->schema.task_columns & REC_SQLITE_BIT(REC_SQLITE_TASK_external_url);
}

int rec_sqlite_links_ready(struct rec_store *store, struct rec_error *error)
{
	const struct rec_sqlite *s = rec_sqlite_of(store);
	if (rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_links) &&
	    rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_cursors))
		return 0;
	return rec_fail(
		error, REC_E_UNINITIALISED,
		"%s: was made by an older version, which kept no links (`reconciler init` adds what is missing)",
		s->path);
}

/* ---- Writing ---- */

/* Is there an explicit link? */
static int explicit_exists(struct rec_sqlite *s, struct rec_slice task_id, struct rec_slice url, bool *ret_exists,
			   struct rec_error *error)
{
	sqlite3_stmt *row;
	int64_t is_explicit = 0;
	int r = rec_sqlite_query(s, REC_SQLITE_LINK_GET, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, task_id);
	rec_sqlite_bind_text(s, row, 2, url);
	r = rec_sqlite_run_int64(s, row, &is_explicit, error);
	*ret_exists = r == 0 && is_explicit;
	return r < 0 ? r : 0;
}

int rec_sqlite_link_put(struct rec_store *store, struct rec_slice task_id, struct rec_slice url,
			struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	bool there = false;
	int r = explicit_exists(s, task_id, url, &there, error);
	if (r || there)
		return r ? r : REC_EXISTS;
	r = rec_sqlite_query(s, REC_SQLITE_LINK_PUT, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, task_id);
	rec_sqlite_bind_text(s, row, 2, url);
	return rec_sqlite_run(s, row, error);
}

int rec_sqlite_link_remove(struct rec_store *store, struct rec_slice task_id, struct rec_slice url,
			   struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, url.data ? REC_SQLITE_LINK_REMOVE : REC_SQLITE_LINK_REMOVE_ALL, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, task_id);
	if (url.data)
		rec_sqlite_bind_text(s, row, 2, url);
	r = rec_sqlite_run(s, row, error);
	return r == 0 && sqlite3_changes(s->db) == 0 ? REC_NOT_FOUND : r;
}

/* 0: an explicit link, or the task's address; REC_NOT_FOUND. */
static int link_exists(struct rec_sqlite *s, const struct rec_link *link, struct rec_error *error)
{
	sqlite3_stmt *row;
	int64_t one;
	bool there = false;
	int r = explicit_exists(s, link->task_id, link->url, &there, error);
	if (r || there)
		return r;
	if (!has_external_url(s))
		return REC_NOT_FOUND;
	r = rec_sqlite_query(s, REC_SQLITE_LINK_EXTERNAL, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, link->task_id);
	rec_sqlite_bind_text(s, row, 2, link->url);
	return rec_sqlite_run_int64(s, row, &one, error);
}

int rec_sqlite_link_observed(struct rec_store *store, const struct rec_link *link, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	int r = link_exists(s, link, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_LINK_OBSERVED, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, LINK_TASK + 1, link->task_id);
	rec_sqlite_bind_text(s, row, LINK_URL + 1, link->url);
	rec_sqlite_bind_text(s, row, LINK_STATE, rec_slice_of(rec_observed_text(link->state)));
	rec_sqlite_bind_text(s, row, LINK_KIND, rec_slice_of(rec_link_kind_text(link->kind)));
	rec_sqlite_bind_text(s, row, LINK_REASON, link->reason);
	rec_sqlite_bind_text(s, row, LINK_TIME, link->time);
	rec_sqlite_bind_optional(s, row, LINK_COMMENTS, link->has_comments, link->comments);
	rec_sqlite_bind_text(s, row, LINK_MOVED_TO, link->moved_to);
	rec_sqlite_bind_text(s, row, LINK_VALIDATOR, link->validator);
	rec_sqlite_bind_text(s, row, LINK_OBSERVED_AT, link->observed_at);
	rec_sqlite_bind_int64(s, row, LINK_GONE, link->gone);
	rec_sqlite_bind_text(s, row, LINK_MADE_DONE_AT, link->made_done_at);
	return rec_sqlite_run(s, row, error);
}

int rec_sqlite_links_prune(struct rec_sqlite *s, struct rec_error *error)
{
	return rec_sqlite_do(s, has_external_url(s) ? REC_SQLITE_LINK_PRUNE : REC_SQLITE_LINK_PRUNE_EXPLICIT, error);
}

int rec_sqlite_tracker_cursor_put(struct rec_store *store, struct rec_slice tracker, struct rec_slice key,
				  struct rec_slice value, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	int r = rec_cursor_is_ours(tracker) ? 0 : rec_sqlite_links_prune(s, error);
	if (r == 0)
		r = rec_sqlite_query(s, value.data ? REC_SQLITE_CURSOR_PUT : REC_SQLITE_CURSOR_FORGET, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, tracker);
	rec_sqlite_bind_text(s, row, 2, key);
	if (value.data)
		rec_sqlite_bind_text(s, row, 3, value);
	return rec_sqlite_run(s, row, error);
}

/* ---- Reading ---- */

struct link_listing {
	struct rec_slice task_id;
	rec_link_fn *fn;
	void *context;
	bool told;
};

/* A state that no version writes counts as never observed. */
static void link_row(sqlite3_stmt *row, struct rec_link *link)
{
	int state = rec_observed_parse(rec_sqlite_text(row, LINK_STATE));
	int kind = rec_link_kind_parse(rec_sqlite_text(row, LINK_KIND));
	*link = (struct rec_link){
		.task_id = rec_sqlite_column(row, LINK_TASK),
		.url = rec_sqlite_column(row, LINK_URL),
		.implicit = sqlite3_column_int(row, LINK_IMPLICIT) != 0,
		.state = state < 0 || state > REC_OBSERVED_MERGED ? REC_OBSERVED_UNKNOWN : (enum rec_observed)state,
		.kind = kind < 0 ? REC_LINK_KIND_UNKNOWN : (enum rec_link_kind)kind,
		.reason = rec_sqlite_text(row, LINK_REASON),
		.time = rec_sqlite_text(row, LINK_TIME),
		.has_comments = sqlite3_column_type(row, LINK_COMMENTS) == SQLITE_INTEGER,
		.comments = sqlite3_column_int64(row, LINK_COMMENTS),
		.moved_to = rec_sqlite_text(row, LINK_MOVED_TO),
		.validator = rec_sqlite_text(row, LINK_VALIDATOR),
		.observed_at = rec_sqlite_text(row, LINK_OBSERVED_AT),
		.gone = sqlite3_column_int(row, LINK_GONE) != 0,
		.made_done_at = rec_sqlite_text(row, LINK_MADE_DONE_AT),
	};
}

/* Which of the listings the database has the tables and columns for; false: none. */
static bool link_query(const struct rec_sqlite *s, bool of_task, enum rec_sqlite_query *ret_query)
{
	bool kept = rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_links);
	if (kept && has_external_url(s))
		*ret_query = of_task ? REC_SQLITE_LINK_LIST_OF_TASK : REC_SQLITE_LINK_LIST;
	else if (kept)
		*ret_query = of_task ? REC_SQLITE_LINK_LIST_EXPLICIT_OF_TASK : REC_SQLITE_LINK_LIST_EXPLICIT;
	else
		*ret_query = of_task ? REC_SQLITE_LINK_LIST_IMPLICIT_OF_TASK : REC_SQLITE_LINK_LIST_IMPLICIT;
	return kept || has_external_url(s);
}

static int links_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct link_listing *l = context;
	struct rec_link link;
	enum rec_sqlite_query query;
	sqlite3_stmt *rows;
	if (!link_query(s, l->task_id.data, &query))
		return 0;
	int r = rec_sqlite_query(s, query, &rows, error);
	if (r)
		return r;
	if (l->task_id.data)
		rec_sqlite_bind_text(s, rows, 1, l->task_id);
	while ((r = rec_sqlite_next(s, rows, error)) == 0) {
		if (rec_sqlite_id_problem(rows, LINK_TASK) || !rec_sqlite_is_text(rows, LINK_URL))
			continue;
		link_row(rows, &link);
		l->told = true;
		r = l->fn(l->context, &link);
		if (r) {
			sqlite3_reset(rows);
			return r;
		}
	}
	return r == REC_END ? 0 : r;
}

int rec_sqlite_links(struct rec_store *store, struct rec_slice task_id, rec_link_fn *fn, void *context,
		     struct rec_error *error)
{
	struct link_listing l = {task_id, fn, context, false};
	return rec_sqlite_read(rec_sqlite_of(store), links_body, &l, &l.told, error);
}

struct cursor_listing {
	struct rec_slice tracker;
	rec_tracker_cursor_fn *fn;
	void *context;
	bool told;
};

static int cursors_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct cursor_listing *l = context;
	sqlite3_stmt *rows;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_cursors))
		return 0;
	int r = rec_sqlite_query(s, REC_SQLITE_CURSOR_LIST, &rows, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, rows, 1, l->tracker);
	while ((r = rec_sqlite_next(s, rows, error)) == 0) {
		l->told = true;
		r = l->fn(l->context, rec_sqlite_column(rows, 0), rec_sqlite_column(rows, 1));
		if (r) {
			sqlite3_reset(rows);
			return r;
		}
	}
	return r == REC_END ? 0 : r;
}

int rec_sqlite_tracker_cursors(struct rec_store *store, struct rec_slice tracker, rec_tracker_cursor_fn *fn,
			       void *context, struct rec_error *error)
{
	struct cursor_listing l = {tracker, fn, context, false};
	return rec_sqlite_read(rec_sqlite_of(store), cursors_body, &l, &l.told, error);
}
