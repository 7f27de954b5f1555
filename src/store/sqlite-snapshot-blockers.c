/* sqlite-snapshot-blockers.c - counting blockers for a snapshot: of BLOCKED tasks only, unless all were asked for. Few
 * tasks are looked up through rec_ids, if there is an index; else all blockers are swept and each one's task is
 * searched in the sorted list. Blockers that the task's last claim recorded as released are not new; those
 * records are few, so they are counted off at the end.
 */
#include "store/sqlite-survey.h"

static bool counts(const struct rec_sqlite_survey *v, const struct rec_fact *fact)
{
	return rec_sqlite_asks(v, REC_SNAPSHOT_ALL_BLOCKERS) ? fact->status != REC_STATUS_ABSENT
							     : fact->status == REC_BLOCKED;
}

/* A status we do not know is not taken for released. */
static void add_blocker(struct rec_fact *fact, sqlite3_stmt *row, int column)
{
	struct rec_slice text = rec_sqlite_text(row, column);
	enum rec_blocker_status status = text.data ? rec_blocker_status_parse(text) : REC_BLOCKER_UNRECOGNISED;
	bool released = status == REC_ANSWERED || status == REC_RESOLVED;
	fact->blockers_total++;
	fact->blockers_open += !released;
	fact->blockers_new += released;
}

static void forget_recorded(struct rec_fact *fact)
{
	fact->blockers_new -= fact->blockers_new > 0;
}

static int look_up_blockers(struct rec_sqlite *s, struct rec_sqlite_survey *v, size_t candidates,
			    struct rec_error *error)
{
	sqlite3_stmt *rows;
	uint32_t *positions = rec_realloc_array(v->out->allocator, NULL, candidates, sizeof *positions);
	if (!positions)
		return rec_fail_nomem(error);
	for (size_t i = 0, at = 0; i < v->out->count; i++)
		if (counts(v, &v->out->facts[i]))
			positions[at++] = (uint32_t)i;
	s->ids = (struct rec_sqlite_ids){v->out->ids, positions, candidates};
	int r = rec_sqlite_query(s, REC_SQLITE_BLOCKERS_OF_IDS, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0)
		add_blocker(&v->out->facts[sqlite3_column_int64(rows, 0)], rows, 1);
	if (r == REC_END && s->base.info.attached) {
		r = rec_sqlite_query(s, REC_SQLITE_RELEASED_OF_IDS, &rows, error);
		while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0)
			forget_recorded(&v->out->facts[sqlite3_column_int64(rows, 0)]);
	}
	s->ids = (struct rec_sqlite_ids){0};
	rec_free(v->out->allocator, positions);
	return r == REC_END ? 0 : r;
}

/* Only entries that count are left: fewer are faster to search. */
static void keep_candidates(struct rec_sqlite_survey *v)
{
	size_t kept = 0;
	for (size_t i = 0; i < v->sorted.count; i++)
		if (counts(v, &v->out->facts[v->sorted.entries[i].index]))
			v->sorted.entries[kept++] = v->sorted.entries[i];
	v->sorted.count = kept;
	v->sorted.near = 0;
}

/* Counted was the first of equal ids. */
static void copy_to_duplicates(struct rec_sqlite_survey *v)
{
	size_t end;
	for (size_t i = 0; i < v->sorted.count; i = end) {
		const struct rec_fact *first = &v->out->facts[v->sorted.entries[i].index];
		end = rec_sqlite_run_end(&v->sorted, i);
		for (size_t j = i + 1; j < end; j++)
			v->out->facts[v->sorted.entries[j].index] = *first;
	}
}

static int sweep_blockers(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	sqlite3_stmt *rows;
	size_t end;
	int r = rec_sqlite_survey_sort(v, error);
	if (r)
		return r;
	keep_candidates(v);
	r = rec_sqlite_query(s, REC_SQLITE_BLOCKERS_UNORDERED, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0) {
		size_t i = rec_sqlite_survey_seek(v, rows, 0, &end);
		if (end)
			add_blocker(&v->out->facts[v->sorted.entries[i].index], rows, 1);
	}
	if (r == REC_END && s->base.info.attached) {
		r = rec_sqlite_query(s, REC_SQLITE_RELEASED_UNORDERED, &rows, error);
		while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0) {
			size_t i = rec_sqlite_survey_seek(v, rows, 0, &end);
			if (end)
				forget_recorded(&v->out->facts[v->sorted.entries[i].index]);
		}
	}
	copy_to_duplicates(v);
	return r == REC_END ? 0 : r;
}

int rec_sqlite_survey_blockers(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error)
{
	size_t candidates = 0;
	int64_t lowest;
	uint64_t rows = UINT64_MAX;
	int r = 0;
	for (size_t i = 0; i < v->out->count; i++)
		candidates += counts(v, &v->out->facts[i]);
	if (candidates == 0 || !rec_sqlite_has_table(s, REC_SQLITE_TABLE_blockers))
		return 0;
	r = rec_sqlite_need_blocker_columns(
		s, REC_SQLITE_BIT(REC_SQLITE_BLOCKER_task_id) | REC_SQLITE_BIT(REC_SQLITE_BLOCKER_status), error);
	if (r == 0 && s->schema.blockers_by_task && s->schema.blockers_by_rowid)
		r = rec_sqlite_rowid_range(s, REC_SQLITE_BLOCKER_ROWIDS, &lowest, &rows, error);
	if (r)
		return r;
	if (s->schema.blockers_by_task && candidates < rows / REC_SQLITE_ROWS_A_LOOKUP)
		return look_up_blockers(s, v, candidates, error);
	return sweep_blockers(s, v, error);
}
