/* sqlite-care.c - pruning what is older than somebody still needs. Nothing is deleted that the store itself needs:
 * the newest row of the feed (by it a cursor knows whether it fell behind) and the last attempt of each task
 * (by it the next one gets its number; that of a living claim is in the claim) stay.
 */
#include "store/sqlite.h"

static int number(struct rec_sqlite *s, enum rec_sqlite_query name, const int64_t *parameter, int64_t *ret_value,
		  struct rec_error *error)
{
	sqlite3_stmt *query;
	int r = rec_sqlite_query(s, name, &query, error);
	if (r)
		return r;
	if (parameter)
		rec_sqlite_bind_int64(s, query, 1, *parameter);
	return rec_sqlite_run_int64(s, query, ret_value, error);
}

static int prune(struct rec_sqlite *s, enum rec_sqlite_query name, int64_t parameter, struct rec_error *error)
{
	sqlite3_stmt *query;
	int r = rec_sqlite_query(s, name, &query, error);
	if (r)
		return r;
	rec_sqlite_bind_int64(s, query, 1, parameter);
	return rec_sqlite_run(s, query, error);
}

/* ---- The change feed ---- */

static int prune_changes(struct rec_sqlite *s, struct rec_gc *gc, struct rec_error *error)
{
	int64_t until = 0, last = 0, count = 0;
	int r = number(s, REC_SQLITE_CHANGE_LAST, NULL, &last, error);
	if (r == 0)
		r = number(s, REC_SQLITE_MARK_BEFORE, &gc->older_than_us, &until, error);
	if (s->base.clock->wall_us(s->base.clock->context) < gc->older_than_us)
		until = last;
	if (until >= last)
		until = last - 1;
	if (r == 0)
		r = number(s, REC_SQLITE_CHANGE_COUNT, &until, &count, error);
	gc->changes = (uint64_t)count;
	if (r || gc->dry_run || count == 0)
		return r;
	r = prune(s, REC_SQLITE_CHANGE_PRUNE, until, error);
	return r == 0 ? prune(s, REC_SQLITE_MARK_PRUNE, gc->older_than_us, error) : r;
}

/* ---- Events ---- */

/* Neighbours that go together, so that a long log is deleted in a few strokes. */
struct event_range {
	struct event_range *next;
	int64_t first, last;
};

static int range_add(struct rec_arena *arena, struct event_range **range, int64_t seq, bool joins,
		     struct rec_error *error)
{
	if (joins) {
		(*range)->last = seq;
		return 0;
	}
	struct event_range *made = rec_arena_alloc(arena, sizeof *made);
	if (!made)
		return rec_fail_nomem(error);
	*made = (struct event_range){*range, seq, seq};
	*range = made;
	return 0;
}

/* An event whose time cannot be read stays: nobody knows how old it is. */
static int collect_events(struct rec_sqlite *s, struct rec_arena *arena, struct rec_gc *gc,
			  struct event_range **ret_ranges, struct rec_error *error)
{
	sqlite3_stmt *rows;
	int64_t us;
	bool joins = false;
	gc->events = 0;
	int r = rec_sqlite_query(s, REC_SQLITE_EVENT_TIMES, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0) {
		struct rec_slice time = rec_sqlite_column(rows, 1);
		bool old = time.data && rec_timestamp_parse(time, &us) == 0 && us < gc->older_than_us;
		if (old)
			r = range_add(arena, ret_ranges, sqlite3_column_int64(rows, 0), joins, error);
		gc->events += old;
		joins = old;
	}
	if (rows)
		sqlite3_reset(rows);
	return r == REC_END ? 0 : r;
}

static int prune_events(struct rec_sqlite *s, struct rec_gc *gc, struct rec_error *error)
{
	struct rec_arena arena;
	struct event_range *range = NULL;
	rec_arena_init(&arena, s->base.allocator);
	int r = collect_events(s, &arena, gc, &range, error);
	for (; r == 0 && range && !gc->dry_run; range = range->next) {
		sqlite3_stmt *query;
		r = rec_sqlite_query(s, REC_SQLITE_EVENT_PRUNE, &query, error);
		if (r)
			break;
		rec_sqlite_bind_int64(s, query, 1, range->first);
		rec_sqlite_bind_int64(s, query, 2, range->last);
		r = rec_sqlite_run(s, query, error);
	}
	rec_arena_release(&arena);
	return r;
}

/* ---- Attempts ---- */

struct old_attempt {
	struct old_attempt *next;
	struct rec_slice task_id;
	int64_t attempt;
};

static int collect_attempts(struct rec_sqlite *s, struct rec_arena *arena, struct rec_gc *gc,
			    struct old_attempt **ret_first, struct rec_error *error)
{
	sqlite3_stmt *rows;
	int64_t us;
	gc->attempts = 0;
	int r = rec_sqlite_query(s, REC_SQLITE_ATTEMPT_ENDS, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0) {
		struct rec_slice ended = rec_sqlite_column(rows, 2), id = rec_sqlite_column(rows, 0);
		if (!ended.data || rec_timestamp_parse(ended, &us) != 0 || us >= gc->older_than_us)
			continue;
		struct old_attempt *old = rec_arena_alloc(arena, sizeof *old);
		char *copy = rec_arena_strndup(arena, id.data, id.length);
		if (!old || !copy) {
			sqlite3_reset(rows);
			return rec_fail_nomem(error);
		}
		*old = (struct old_attempt){*ret_first, {copy, id.length}, sqlite3_column_int64(rows, 1)};
		*ret_first = old;
		gc->attempts++;
	}
	return r == REC_END ? 0 : r;
}

static int prune_attempts(struct rec_sqlite *s, struct rec_gc *gc, struct rec_error *error)
{
	struct rec_arena arena;
	struct old_attempt *old = NULL;
	rec_arena_init(&arena, s->base.allocator);
	int r = collect_attempts(s, &arena, gc, &old, error);
	for (; r == 0 && old && !gc->dry_run; old = old->next) {
		sqlite3_stmt *query;
		r = rec_sqlite_query(s, REC_SQLITE_ATTEMPT_PRUNE, &query, error);
		if (r)
			break;
		rec_sqlite_bind_text(s, query, 1, old->task_id);
		rec_sqlite_bind_int64(s, query, 2, old->attempt);
		r = rec_sqlite_run(s, query, error);
	}
	rec_arena_release(&arena);
	return r;
}

/* ---- Links ---- */

/* Another program deleted the task, or gave it another address. */
static int prune_links(struct rec_sqlite *s, const struct rec_gc *gc, struct rec_error *error)
{
	return gc->dry_run || !rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_links) ? 0
										   : rec_sqlite_links_prune(s, error);
}

/* ---- The operation ---- */

static int gc_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct rec_gc *gc = context;
	if (!s->base.info.attached)
		return 0;
	int r = prune_changes(s, gc, error);
	if (r == 0)
		r = prune_events(s, gc, error);
	if (r == 0)
		r = prune_links(s, gc, error);
	return r == 0 ? prune_attempts(s, gc, error) : r;
}

int rec_sqlite_gc(struct rec_store *store, struct rec_gc *gc, struct rec_error *error)
{
	return rec_sqlite_read(rec_sqlite_of(store), gc_body, gc, NULL, error);
}
