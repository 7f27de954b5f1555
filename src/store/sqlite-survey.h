/* sqlite-survey.h - what the two halves of a snapshot share: tasks (sqlite-snapshot.c) and blockers
 * (sqlite-snapshot-blockers.c). */
#ifndef REC_STORE_SQLITE_SURVEY_H
#define REC_STORE_SQLITE_SURVEY_H

#include "store/sqlite.h"

/* A lookup costs about as much as this many rows of a sweep. */
#define REC_SQLITE_ROWS_A_LOOKUP 12

struct rec_sqlite_survey {
	const struct rec_slice *ids; /* as asked; NULL: all */
	size_t count;
	unsigned fields;
	struct rec_snapshot *out;
	bool again; /* the body runs a second time */
	struct rec_sqlite_sorted sorted;
	uint8_t *statuses; /* by rowid - lowest */
	int64_t lowest;
	uint64_t range;
	bool unrecognised; /* a fact whose raw status is not kept yet */
};

static inline bool rec_sqlite_asks(const struct rec_sqlite_survey *v, unsigned fields)
{
	return v->fields & fields;
}

/* From the lowest to the highest rowid, both included; 0: no rows. */
int rec_sqlite_rowid_range(struct rec_sqlite *s, enum rec_sqlite_query query, int64_t *ret_lowest, uint64_t *ret_range,
			   struct rec_error *error);
/* Sorts the snapshot's ids, once. */
int rec_sqlite_survey_sort(struct rec_sqlite_survey *v, struct rec_error *error);
/* One past the last entry that is the same id as the one at `position`. */
size_t rec_sqlite_run_end(const struct rec_sqlite_sorted *sorted, size_t position);
/* Where the id in a column stands in the sorted list; *ret_end is behind its last duplicate, 0 if it is not there. */
size_t rec_sqlite_survey_seek(struct rec_sqlite_survey *v, sqlite3_stmt *row, int column, size_t *ret_end);
/* Fills in the facts' blockers. */
int rec_sqlite_survey_blockers(struct rec_sqlite *s, struct rec_sqlite_survey *v, struct rec_error *error);

#endif
