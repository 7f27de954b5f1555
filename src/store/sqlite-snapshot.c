/* sqlite-snapshot.c - what a check needs to know of many tasks at once, from one read transaction.
 *
 * The number of statements does not depend on the number of ids. A list that is short for its store is looked up
 * through rec_ids. Otherwise the table is swept, but never row by row: rows are wide, and both what a check
 * needs have an index that holds nothing else. So the statuses are taken from the index on status into an array by
 * rowid, the ids from the index on id, in order, merged with the sorted list; the rowid joins the two. (Per task
 * at a million: 0.09 and 0.10 us, against 0.21 for the rows themselves and 2 for a join by SQLite.) Where rowids are
 * sparse or missing, or more columns are asked for, the rows are read after all and each id is searched in the
 * sorted list.
 * Blockers: sqlite-snapshot-blockers.c.
 */
#include <limits.h>

#include "base/text.h"
#include "store/sqlite-survey.h"

/* Bytes of the database that stand for one task at least, for an estimate of the number of tasks. */
#define BYTES_A_TASK 200
/* An array by rowid may take this fraction of the database's size. */
#define BYTES_A_ROWID 16
#define ROWIDS_ALWAYS 65536

/* ---- How large is it? ---- */

static int database_bytes(struct rec_sqlite *s, uint64_t *ret_bytes, struct rec_error *error)
{
	int64_t pages = 0;
	sqlite3_stmt *query;
	int r = rec_sqlite_query(s, REC_SQLITE_PAGE_COUNT, &query, error);
	if (r == 0)
		r = rec_sqlite_run_int64(s, query, &pages, error);
	*ret_bytes = (uint64_t)pages * (uint64_t)s->schema.page_bytes;
	return r;
}

int rec_sqlite_rowid_range(struct rec_sqlite *s, enum rec_sqlite_query query, int64_t *ret_lowest, uint64_t *ret_range,
			   struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, query, &row, error);
	if (r == 0)
		r = rec_sqlite_next(s, row, error);
	if (r)
		return r;
	bool any = sqlite3_column_type(row, 0) != SQLITE_NULL;
	uint64_t lowest = (uint64_t)sqlite3_column_int64(row, 0), highest = (uint64_t)sqlite3_column_int64(row, 1);
	sqlite3_reset(row);
	*ret_lowest = (int64_t)lowest;
	*ret_range = any ? highest - lowest : 0;
	*ret_range += any && *ret_range < UINT64_MAX;
	return 0;
}

/* ---- Statuses by rowid ---- */

/* Rows come by status, so that the same text comes many times in a row. */
struct status_memory {
	char text[16];
	size_t length;
	uint8_t status;
};

static uint8_t status_of(struct status_memory *memory, sqlite3_stmt *row, int column)
{
	struct rec_slice text = rec_sqlite_text(row, column);
	if (!text.data || text.length > sizeof memory->text)
		return REC_STATUS_UNRECOGNISED;
	if (memory->length == text.length && text.length && memcmp(memory->text, text.data, text.length) == 0)
		return memory->status;
	memory->status = (uint8_t)rec_status_parse(text);
	memory->length = text.length;
	if (text.length)
		memcpy(memory->text, text.data, text.length);
	return memory->status;
}

static int fill_statuses(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	sqlite3_stmt *rows;
	struct status_memory memory = {0};
	int r = rec_sqlite_query(s, REC_SQLITE_STATUS_BY_ROWID, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0) {
		uint64_t at = (uint64_t)sqlite3_column_int64(rows, 0) - (uint64_t)v->lowest;
		if (at >= v->range) {
			sqlite3_reset(rows);
			return rec_sqlite_fail(s, SQLITE_CORRUPT, NULL, error);
		}
		v->statuses[at] = status_of(&memory, rows, 1);
	}
	return r == REC_END ? 0 : r;
}

/* Leaves v->statuses NULL where rowids do not serve. */
static int read_statuses(struct rec_sqlite *s, struct rec_sqlite_survey *v, uint64_t bytes, struct rec_error *error)
{
	uint64_t most = bytes / BYTES_A_ROWID > ROWIDS_ALWAYS ? bytes / BYTES_A_ROWID : ROWIDS_ALWAYS;
	if (!s->schema.tasks_by_rowid || rec_sqlite_asks(v, REC_SNAPSHOT_PRIORITY) || v->range > most)
		return 0;
	v->statuses = rec_alloc(s->base.allocator, v->range);
	if (!v->statuses)
		return rec_fail_nomem(error);
	memset(v->statuses, REC_STATUS_ABSENT, v->range);
	return fill_statuses(s, v, error);
}

static uint8_t status_at(struct rec_sqlite_survey *v, int64_t rowid)
{
	uint64_t at = (uint64_t)rowid - (uint64_t)v->lowest;
	uint8_t status = v->statuses && at < v->range ? v->statuses[at] : REC_STATUS_ABSENT;
	v->unrecognised = v->unrecognised || status == REC_STATUS_UNRECOGNISED;
	return status;
}

/* ---- Facts ---- */

static int32_t clamp(int64_t value)
{
	return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

static void warn_status(struct rec_sqlite *s, struct rec_slice id, sqlite3_stmt *row, int column)
{
	char buffer[REC_SQLITE_SHOWN_BYTES];
	if (!rec_sqlite_is_text(row, column) && s->base.warn)
		rec_store_warn(&s->base, id, "status", "is not text", rec_sqlite_shown(row, column, buffer));
}

static int keep_raw(struct rec_sqlite *s, struct rec_sqlite_survey *v, size_t index, sqlite3_stmt *row, int column,
		    struct rec_error *error)
{
	char buffer[REC_SQLITE_SHOWN_BYTES];
	warn_status(s, v->out->ids[index], row, column);
	return rec_snapshot_add_raw(v->out, index, rec_sqlite_shown(row, column, buffer), error);
}

/* status, priority, is_leaf in columns 1 to 3. */
static int set_fact(struct rec_sqlite *s, struct rec_sqlite_survey *v, size_t index, sqlite3_stmt *row,
		    struct rec_error *error)
{
	struct rec_fact *fact = &v->out->facts[index];
	fact->status = (uint8_t)rec_sqlite_status(row, 1);
	if (rec_sqlite_asks(v, REC_SNAPSHOT_PRIORITY)) {
		int type = sqlite3_column_type(row, 2);
		bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
		fact->priority = number ? clamp(sqlite3_column_int64(row, 2)) : 0;
		fact->is_leaf = sqlite3_column_type(row, 3) != SQLITE_INTEGER || sqlite3_column_int64(row, 3) != 0;
	}
	return fact->status == REC_STATUS_UNRECOGNISED ? keep_raw(s, v, index, row, 1, error) : 0;
}

/* ---- A few: lookups ---- */

/* Positions of the ids that a task can have; NULL without an error: all of them. */
static int valid_positions(const struct rec_sqlite_survey *v, uint32_t **ret_positions, size_t *ret_count,
			   struct rec_error *error)
{
	size_t valid = 0;
	*ret_positions = NULL;
	for (size_t i = 0; i < v->count; i++)
		valid += rec_id_problem(v->ids[i]) == NULL;
	*ret_count = valid;
	if (valid == v->count)
		return 0;
	uint32_t *positions = rec_realloc_array(v->out->allocator, NULL, valid, sizeof *positions);
	if (!positions)
		return rec_fail_nomem(error);
	for (size_t i = 0, at = 0; i < v->count; i++)
		if (!rec_id_problem(v->ids[i]))
			positions[at++] = (uint32_t)i;
	*ret_positions = positions;
	return 0;
}

static int look_up_tasks(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	sqlite3_stmt *rows;
	int r = rec_sqlite_query(s, REC_SQLITE_TASKS_OF_IDS, &rows, error);
	if (r)
		return r;
	while ((r = rec_sqlite_next(s, rows, error)) == 0) {
		r = set_fact(s, v, (size_t)sqlite3_column_int64(rows, 0), rows, error);
		if (r)
			break;
	}
	sqlite3_reset(rows);
	return r == REC_END ? 0 : r;
}

static bool keeps_attempts(const struct rec_sqlite *s)
{
	return rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_claims) &&
	       rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_attempts);
}

static int look_up_attempts(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	sqlite3_stmt *rows;
	int r = rec_sqlite_query(s, REC_SQLITE_ATTEMPTS_OF_IDS, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0) {
		struct rec_fact *fact = &v->out->facts[sqlite3_column_int64(rows, 0)];
		if (fact->status == REC_STATUS_ABSENT)
			continue;
		fact->claimed = sqlite3_column_type(rows, 1) != SQLITE_NULL;
		fact->attempt = (uint32_t)sqlite3_column_int64(rows, fact->claimed ? 1 : 2);
	}
	return r == REC_END ? 0 : r;
}

static int look_up(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	uint32_t *positions;
	size_t count;
	int r = valid_positions(v, &positions, &count, error);
	if (r)
		return r;
	s->ids = (struct rec_sqlite_ids){v->ids, positions, count};
	r = look_up_tasks(s, v, error);
	if (r == 0 && rec_sqlite_asks(v, REC_SNAPSHOT_ATTEMPT) && keeps_attempts(s))
		r = look_up_attempts(s, v, error);
	s->ids = (struct rec_sqlite_ids){0};
	rec_free(v->out->allocator, positions);
	return r;
}

/* ---- Many: sweeps ---- */

int rec_sqlite_survey_sort(struct rec_sqlite_survey *v, struct rec_error *error)
{
	return v->sorted.entries ? 0
				 : rec_sqlite_sort(&v->sorted, v->out->allocator, v->out->ids, v->out->count, error);
}

size_t rec_sqlite_run_end(const struct rec_sqlite_sorted *sorted, size_t position)
{
	const struct rec_sqlite_sorted_id *e = sorted->entries;
	size_t end = position + 1;
	while (end < sorted->count && e[end].key == e[position].key &&
	       rec_slice_equal(sorted->ids[e[end].index], sorted->ids[e[position].index]))
		end++;
	return end;
}

size_t rec_sqlite_survey_seek(struct rec_sqlite_survey *v, sqlite3_stmt *row, int column, size_t *ret_end)
{
	bool equal = false;
	struct rec_slice id = rec_sqlite_text(row, column);
	size_t position = id.data ? rec_sqlite_sorted_seek(&v->sorted, id, &equal) : 0;
	*ret_end = equal ? rec_sqlite_run_end(&v->sorted, position) : 0;
	return position;
}

/* In bytewise order the list, its texts and the facts are touched here and there in memory; what comes soon is
 * fetched while SQLite steps. Always inline: gcc takes a function that only prefetches for one without effect. */
__attribute__((always_inline)) static inline void fetch_ahead(const struct rec_sqlite_survey *v, size_t position)
{
	enum { TEXTS = 8, SLICES = 16 };
	const struct rec_sqlite_sorted_id *entries = v->sorted.entries;
	if (position + SLICES >= v->sorted.count)
		return;
	uint32_t soon = entries[position + TEXTS].index;
	__builtin_prefetch(&v->ids[entries[position + SLICES].index]);
	__builtin_prefetch(v->ids[soon].data);
	__builtin_prefetch(&v->out->facts[soon], 1);
}

static int sweep_ids(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	sqlite3_stmt *rows;
	size_t end;
	if (v->sorted.count == 0)
		return 0;
	int r = rec_sqlite_query(s, REC_SQLITE_IDS_FROM, &rows, error);
	if (r)
		return r;
	struct rec_slice first = v->ids[v->sorted.entries[0].index];
	rec_sqlite_bind_text(s, rows, 1, first.data ? first : rec_slice_of(""));
	while ((r = rec_sqlite_next(s, rows, error)) == 0) {
		size_t i = rec_sqlite_survey_seek(v, rows, 1, &end);
		if (i == v->sorted.count)
			break;
		fetch_ahead(v, i);
		if (end == 0 || rec_id_problem(v->ids[v->sorted.entries[i].index]))
			continue;
		uint8_t status = status_at(v, sqlite3_column_int64(rows, 0));
		if (i + REC_SQLITE_AHEAD < v->sorted.count)
			__builtin_prefetch(&v->out->facts[v->sorted.entries[i + REC_SQLITE_AHEAD].index], 1);
		for (; i < end; i++)
			v->out->facts[v->sorted.entries[i].index].status = status;
	}
	sqlite3_reset(rows);
	return r == REC_END ? 0 : r;
}

static int sweep_rows(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	sqlite3_stmt *rows;
	size_t end;
	int r = rec_sqlite_query(s, REC_SQLITE_TASKS_UNORDERED, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0) {
		size_t i = rec_sqlite_survey_seek(v, rows, 0, &end);
		if (end && rec_id_problem(v->out->ids[v->sorted.entries[i].index]))
			continue;
		for (; r == 0 && i < end; i++)
			r = set_fact(s, v, v->sorted.entries[i].index, rows, error);
	}
	if (rows)
		sqlite3_reset(rows);
	return r == REC_END ? 0 : r;
}

/* The raw texts that the sweep of the index passed over. */
static int sweep_unrecognised(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	sqlite3_stmt *rows;
	size_t end;
	int r = rec_sqlite_query(s, REC_SQLITE_TASKS_UNRECOGNISED, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0)
		for (size_t i = rec_sqlite_survey_seek(v, rows, 0, &end); r == 0 && i < end; i++)
			if (v->out->facts[v->sorted.entries[i].index].status == REC_STATUS_UNRECOGNISED)
				r = keep_raw(s, v, v->sorted.entries[i].index, rows, 1, error);
	if (rows)
		sqlite3_reset(rows);
	return r == REC_END ? 0 : r;
}

static int sweep_attempts(struct rec_sqlite *s, struct rec_sqlite_survey *v, enum rec_sqlite_query query, bool claimed,
			  struct rec_error *error)
{
	sqlite3_stmt *rows;
	size_t end;
	int r = rec_sqlite_query(s, query, &rows, error);
	v->sorted.near = 0;
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0)
		for (size_t i = rec_sqlite_survey_seek(v, rows, 0, &end); i < end; i++) {
			struct rec_fact *fact = &v->out->facts[v->sorted.entries[i].index];
			if (fact->status == REC_STATUS_ABSENT)
				continue;
			fact->attempt = (uint32_t)sqlite3_column_int64(rows, 1);
			fact->claimed = claimed;
		}
	return r == REC_END ? 0 : r;
}

/* What every sweep does once ids and facts are there and the narrow sweep has been tried. */
static int sweep_rest(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	bool attempts = rec_sqlite_asks(v, REC_SNAPSHOT_ATTEMPT) && keeps_attempts(s);
	int r = !v->statuses || v->unrecognised || attempts ? rec_sqlite_survey_sort(v, error) : 0;
	if (r == 0 && !v->statuses)
		r = sweep_rows(s, v, error);
	if (r == 0 && v->unrecognised)
		r = sweep_unrecognised(s, v, error);
	if (r == 0 && attempts)
		r = sweep_attempts(s, v, REC_SQLITE_ATTEMPTS_IN_ORDER, false, error);
	if (r == 0 && attempts)
		r = sweep_attempts(s, v, REC_SQLITE_CLAIMS_IN_ORDER, true, error);
	return r;
}

static int sweep_list(struct rec_sqlite *s, struct rec_sqlite_survey *v, uint64_t bytes, struct rec_error *error)
{
	int r = rec_sqlite_survey_sort(v, error);
	if (r == 0)
		r = read_statuses(s, v, bytes, error);
	if (r == 0 && v->statuses)
		r = sweep_ids(s, v, error);
	return r == 0 ? sweep_rest(s, v, error) : r;
}

/* ---- All ---- */

static void warn_id(struct rec_sqlite *s, const char *problem, sqlite3_stmt *row, int column)
{
	char buffer[REC_SQLITE_SHOWN_BYTES];
	if (s->base.warn)
		rec_store_warn(&s->base, (struct rec_slice){0}, "id", problem, rec_sqlite_shown(row, column, buffer));
}

/* Adds the row to the snapshot, unless its id is bad. */
static int add_own(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_slice *own, size_t capacity,
		   sqlite3_stmt *row, struct rec_error *error)
{
	struct rec_snapshot *out = v->out;
	struct rec_slice id = rec_sqlite_text(row, 1);
	const char *problem = id.data ? rec_id_problem(id) : rec_sqlite_id_problem(row, 1);
	if (!problem && out->count > 0 && rec_slice_equal(own[out->count - 1], id))
		problem = "is there twice";
	if (problem) {
		warn_id(s, problem, row, 1);
		return 0;
	}
	if (out->count == capacity)
		return rec_sqlite_fail(s, SQLITE_CORRUPT, NULL, error);
	char *copy = rec_arena_strndup(&out->arena, id.data, id.length);
	if (!copy)
		return rec_fail_nomem(error);
	own[out->count] = (struct rec_slice){copy, id.length};
	out->facts[out->count++].status = status_at(v, sqlite3_column_int64(row, 0));
	return 0;
}

static int collect_ids(struct rec_sqlite *s, struct rec_sqlite_survey *v, size_t capacity, struct rec_error *error)
{
	sqlite3_stmt *rows;
	int r = rec_sqlite_query(s, REC_SQLITE_IDS_IN_ORDER, &rows, error);
	if (r)
		return r;
	v->out->count = 0;
	while ((r = rec_sqlite_next(s, rows, error)) == 0) {
		r = add_own(s, v, v->out->own_ids, capacity, rows, error);
		if (r)
			break;
	}
	sqlite3_reset(rows);
	return r == REC_END ? 0 : r;
}

static int sweep_all(struct rec_sqlite *s, struct rec_sqlite_survey *v, uint64_t bytes, struct rec_error *error)
{
	int64_t count = 0;
	sqlite3_stmt *query;
	int r = rec_sqlite_query(s, REC_SQLITE_TASK_COUNT, &query, error);
	if (r == 0)
		r = rec_sqlite_run_int64(s, query, &count, error);
	if (r == 0)
		r = rec_snapshot_reserve(v->out, (size_t)count, error);
	if (r)
		return r;
	v->out->own_ids = rec_realloc_array(v->out->allocator, NULL, (size_t)count, sizeof(struct rec_slice));
	if (!v->out->own_ids)
		return rec_fail_nomem(error);
	v->out->ids = v->out->own_ids;
	r = read_statuses(s, v, bytes, error);
	if (r == 0)
		r = collect_ids(s, v, (size_t)count, error);
	return r == 0 ? sweep_rest(s, v, error) : r;
}

/* ---- The operation ---- */

static void survey_reset(struct rec_sqlite_survey *v)
{
	const struct rec_allocator *a = v->out->allocator;
	rec_sqlite_sorted_release(&v->sorted);
	v->statuses = rec_free(a, v->statuses);
	v->unrecognised = false;
}

/* A second run begins with an empty snapshot. */
static int survey_begin(struct rec_sqlite_survey *v, struct rec_error *error)
{
	bool again = v->again;
	v->again = true;
	if (!again)
		return 0;
	survey_reset(v);
	v->out->own_ids = rec_free(v->out->allocator, v->out->own_ids);
	v->out->raw_count = 0;
	rec_arena_release(&v->out->arena);
	return v->ids ? rec_snapshot_reserve(v->out, v->count, error) : 0;
}

static int survey_tasks(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	uint64_t bytes = 0, tasks;
	int r = database_bytes(s, &bytes, error);
	v->range = UINT64_MAX;
	if (r == 0 && s->schema.tasks_by_rowid)
		r = rec_sqlite_rowid_range(s, REC_SQLITE_TASK_ROWIDS, &v->lowest, &v->range, error);
	if (r)
		return r;
	tasks = v->range < bytes / BYTES_A_TASK ? v->range : bytes / BYTES_A_TASK;
	if (!v->ids)
		return sweep_all(s, v, bytes, error);
	if (v->count < tasks / REC_SQLITE_ROWS_A_LOOKUP)
		return look_up(s, v, error);
	return sweep_list(s, v, bytes, error);
}

static int survey_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct rec_sqlite_survey *v = context;
	int r = survey_begin(v, error);
	if (r == 0)
		r = survey_tasks(s, v, error);
	if (r == 0 && rec_sqlite_asks(v, REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ALL_BLOCKERS))
		r = rec_sqlite_survey_blockers(s, v, error);
	return r;
}

int rec_sqlite_snapshot(struct rec_store *store, const struct rec_slice *ids, size_t count, unsigned fields,
			struct rec_snapshot *out, struct rec_error *error)
{
	struct rec_sqlite_survey v = {.ids = ids, .count = count, .fields = fields, .out = out};
	int r = rec_sqlite_read(rec_sqlite_of(store), survey_body, &v, NULL, error);
	survey_reset(&v);
	return r;
}
