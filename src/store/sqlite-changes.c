/* sqlite-changes.c - the change feed: which tasks may have changed since a cursor.
 *
 * Idle: PRAGMA data_version, prepared once, tells in about 2 us whether anybody else has committed; it does not
 * tell of our own commits, which are noted by commit itself. A COLD database is asked by stat.
 *
 * Something changed: the rows of rec_changes from the cursor's own on, by one range query. The cursor's row itself must
 * still be there (gc keeps the newest), else the feed was pruned behind this consumer. A cursor also carries a
 * generation, made of the feed's identity and the schema's version, so that a rebuilt table, which may have lost
 * its triggers for a while, means a rescan; without a complete set of triggers, and without our tables, every change
 * does.
 */
#include "base/idmap.h"
#include "base/text.h"
#include "store/sqlite.h"

#define MARK_EVERY_US 1000000

/* ---- Has anything changed? ---- */

static int data_version(struct rec_sqlite *s, int64_t *ret_version, struct rec_error *error)
{
	sqlite3_stmt *query;
	int r = rec_sqlite_query(s, REC_SQLITE_DATA_VERSION, &query, error);
	return r == 0 ? rec_sqlite_run_int64(s, query, ret_version, error) : r;
}

static int changed_since_look(struct rec_sqlite *s, bool *ret_changed, struct rec_error *error)
{
	int64_t version = 0;
	*ret_changed = true;
	if (!s->db || !s->feed.looked || s->feed.own_commit)
		return 0;
	if (s->access != REC_SQLITE_WRITER && !rec_sqlite_unchanged(s))
		return 0;
	int r = rec_sqlite_settle(s, error);
	if (r == 0 && s->access != REC_SQLITE_COLD)
		r = data_version(s, &version, error);
	if (r == 0 && s->access == REC_SQLITE_COLD)
		*ret_changed = false;
	else if (r == 0)
		*ret_changed = version != s->feed.data_version;
	return r;
}

/* Only a writer's connection stays with its database; any other is judged anew by each read. */
int rec_sqlite_stamp(struct rec_store *store, uint64_t *ret_stamp, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	int64_t version = 0;
	if (s->corrupt)
		return rec_sqlite_fail(s, SQLITE_CORRUPT, NULL, error);
	if (!s->db || s->access != REC_SQLITE_WRITER)
		return 0;
	int r = rec_sqlite_settle(s, error);
	if (r == 0)
		r = data_version(s, &version, error);
	if (r == 0)
		*ret_stamp = (uint64_t)version;
	return r;
}

/* ---- What has changed? ---- */

struct asking {
	struct rec_cursor *cursor;
	rec_id_fn *fn;
	void *context;
	bool changed, told;
	int64_t seq; /* of the newest row seen */
};

/* Never 0, which is "never looked". */
static uint64_t feed_generation(const struct rec_sqlite *s)
{
	const struct {
		uint64_t feed_id;
		int64_t schema;
	} parts = {s->schema.feed_id, s->schema.version};
	return rec_hash((struct rec_slice){(const char *)&parts, sizeof parts}, 0) | 1;
}

static bool has_feed(const struct rec_sqlite *s)
{
	return s->base.info.attached && s->schema.feed;
}

/* Without a feed each change is a generation of its own; even, to be told from those of a feed. */
static uint64_t generation_now(struct rec_sqlite *s, bool changed)
{
	if (has_feed(s))
		return feed_generation(s);
	s->feed.ticks += changed;
	return s->feed.ticks << 1 ? s->feed.ticks << 1 : 2;
}

static int last_seq(struct rec_sqlite *s, int64_t *ret_seq, struct rec_error *error)
{
	sqlite3_stmt *query;
	*ret_seq = 0;
	if (!has_feed(s))
		return 0;
	int r = rec_sqlite_query(s, REC_SQLITE_CHANGE_LAST, &query, error);
	return r == 0 ? rec_sqlite_run_int64(s, query, ret_seq, error) : r;
}

static int tell_row(struct asking *a, sqlite3_stmt *row)
{
	if (rec_sqlite_id_problem(row, 1))
		return 0; /* no task can be named so */
	a->told = true;
	return a->fn(a->context, rec_sqlite_column(row, 1));
}

/* Rows until the last. */
static int tell_following(struct rec_sqlite *s, struct asking *a, sqlite3_stmt *rows, struct rec_error *error)
{
	for (;;) {
		int r = rec_sqlite_next(s, rows, error);
		if (r)
			return r == REC_END ? 0 : r;
		a->seq = sqlite3_column_int64(rows, 0);
		r = tell_row(a, rows);
		if (r)
			return r;
	}
}

/* The rows behind the cursor. REC_RESCAN: the cursor's own row is gone. */
static int tell_rows(struct rec_sqlite *s, struct asking *a, struct rec_error *error)
{
	sqlite3_stmt *rows;
	int64_t from = a->cursor->seq > 0 ? a->cursor->seq : 1;
	int r = rec_sqlite_query(s, REC_SQLITE_CHANGE_LIST, &rows, error);
	if (r)
		return r;
	rec_sqlite_bind_int64(s, rows, 1, from);
	a->seq = a->cursor->seq;
	r = rec_sqlite_next(s, rows, error);
	if (r == REC_END)
		return a->cursor->seq > 0 ? REC_RESCAN : 0;
	if (r == 0 && sqlite3_column_int64(rows, 0) != from)
		r = REC_RESCAN;
	if (r == 0 && a->cursor->seq == 0)
		r = tell_row(a, rows);
	if (r == 0) {
		a->seq = from;
		r = tell_following(s, a, rows, error);
	}
	sqlite3_reset(rows);
	return r;
}

static int changes_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct asking *a = context;
	int64_t version = 0;
	int r = s->access == REC_SQLITE_COLD ? 0 : data_version(s, &version, error);
	if (r)
		return r;
	bool changed = a->changed || version != s->feed.data_version;
	uint64_t generation = generation_now(s, changed);
	s->feed.data_version = version;
	s->feed.own_commit = false;
	s->feed.generation = generation;
	if (a->cursor->generation == generation && has_feed(s)) {
		r = tell_rows(s, a, error);
		s->feed.last_seq = a->seq;
	} else if (a->cursor->generation != generation) {
		r = REC_RESCAN;
	}
	if (r == REC_RESCAN) {
		int failed = last_seq(s, &s->feed.last_seq, error);
		r = failed ? failed : r;
	}
	s->feed.looked = r == 0 || r == REC_RESCAN;
	return r;
}

int rec_sqlite_changes(struct rec_store *store, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		       struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	struct asking a = {.cursor = cursor, .fn = fn, .context = context};
	int r = s->corrupt ? rec_sqlite_fail(s, SQLITE_CORRUPT, NULL, error) : changed_since_look(s, &a.changed, error);
	if (r)
		return r;
	if (!a.changed && cursor->generation == s->feed.generation && cursor->seq == s->feed.last_seq)
		return 0;
	r = rec_sqlite_read(s, changes_body, &a, &a.told, error);
	if (r == 0 || r == REC_RESCAN)
		*cursor = (struct rec_cursor){s->feed.last_seq, s->feed.generation};
	return r;
}

/* What it tells is known to be all of the group's when it commits, if nothing is written after it. */
int rec_sqlite_changes_in_group(struct rec_store *store, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
				struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	struct asking a = {.cursor = cursor, .fn = fn, .context = context};
	if (!s->feed.looked || !has_feed(s))
		return REC_RESCAN;
	int r = changes_body(s, &a, error);
	if (r == 0) {
		*cursor = (struct rec_cursor){s->feed.last_seq, s->feed.generation};
		s->feed.told_at = sqlite3_total_changes(s->db);
	}
	return r;
}

/* ---- Times of the feed, for pruning it by age ---- */

/* The feed's rows carry no time (a foreign writer would pay for it); instead it is noted now and then how far
 * the feed went. */
int rec_sqlite_changes_mark(struct rec_sqlite *s, struct rec_error *error)
{
	sqlite3_stmt *query;
	int64_t now = s->base.clock->wall_us(s->base.clock->context);
	int r = 0;
	if (sqlite3_total_changes(s->db) == s->changes_before)
		return 0;
	if (s->marked_us == 0) {
		r = rec_sqlite_query(s, REC_SQLITE_MARK_LAST, &query, error);
		if (r == 0)
			r = rec_sqlite_run_int64(s, query, &s->marked_us, error);
	}
	if (r || (now >= s->marked_us && now - s->marked_us < MARK_EVERY_US))
		return r;
	r = rec_sqlite_query(s, REC_SQLITE_MARK_INSERT, &query, error);
	if (r)
		return r;
	rec_sqlite_bind_int64(s, query, 1, now);
	r = rec_sqlite_run(s, query, error);
	if (r == 0)
		s->marked_us = now;
	return r;
}
