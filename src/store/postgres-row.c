/* postgres-row.c - from rows to plain data. All values come in binary form: a text is its bytes, a number eight of
 * them, most significant first. The schema sees to it that there are no others. */
#include "store/postgres.h"

/* ---- Single values ---- */

bool rec_postgres_null(struct rec_postgres *s, const PGresult *r, int row, int column)
{
	return s->pq.PQgetisnull(r, row, column);
}

struct rec_slice rec_postgres_text(struct rec_postgres *s, const PGresult *r, int row, int column)
{
	if (s->pq.PQgetisnull(r, row, column))
		return (struct rec_slice){0};
	return (struct rec_slice){s->pq.PQgetvalue(r, row, column), (size_t)s->pq.PQgetlength(r, row, column)};
}

uint64_t rec_postgres_bits(const char *bytes, int count)
{
	uint64_t bits = 0;
	for (int i = 0; i < count; i++)
		bits = bits << 8 | (unsigned char)bytes[i];
	return bits;
}

int64_t rec_postgres_number(struct rec_postgres *s, const PGresult *r, int row, int column)
{
	if (s->pq.PQgetisnull(r, row, column) || s->pq.PQgetlength(r, row, column) != 8)
		return 0;
	return (int64_t)rec_postgres_bits(s->pq.PQgetvalue(r, row, column), 8);
}

double rec_postgres_double(struct rec_postgres *s, const PGresult *r, int row, int column)
{
	int64_t bits = rec_postgres_number(s, r, row, column);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

bool rec_postgres_bool(struct rec_postgres *s, const PGresult *r, int row, int column)
{
	return !s->pq.PQgetisnull(r, row, column) && s->pq.PQgetvalue(r, row, column)[0] != 0;
}

/* ---- Lists of texts ---- */

#define ARRAY_HEAD 20 /* dimensions, NULLs, type, size, lower bound: four bytes each */

/* The elements follow each other behind their lengths. REC_E_CORRUPT if they do not fit into the value. */
static int elements_read(struct rec_slice array, struct rec_slice *texts, size_t count)
{
	size_t at = ARRAY_HEAD;
	for (size_t i = 0; i < count; i++) {
		if (array.length - at < 4)
			return REC_E_CORRUPT;
		size_t length = (size_t)rec_postgres_bits(array.data + at, 4);
		at += 4;
		if (length > array.length - at)
			return REC_E_CORRUPT;
		texts[i] = (struct rec_slice){array.data + at, length};
		at += length;
	}
	return 0;
}

int rec_postgres_texts(struct rec_postgres *s, const PGresult *r, int row, int column, struct rec_arena *arena,
		       const struct rec_slice **ret_texts, size_t *ret_count, struct rec_error *error)
{
	struct rec_slice array = rec_postgres_text(s, r, row, column);
	*ret_texts = NULL;
	*ret_count = 0;
	if (!array.data || array.length < ARRAY_HEAD || rec_postgres_bits(array.data, 4) == 0)
		return 0;
	size_t count = (size_t)rec_postgres_bits(array.data + 12, 4);
	if (count > array.length / 4)
		return rec_fail(error, REC_E_CORRUPT, "%s: a list came in a form that is not PostgreSQL's",
				s->location);
	struct rec_slice *texts = rec_arena_alloc(arena, count * sizeof *texts);
	if (!texts)
		return rec_fail_nomem(error);
	if (elements_read(array, texts, count) < 0)
		return rec_fail(error, REC_E_CORRUPT, "%s: a list came in a form that is not PostgreSQL's",
				s->location);
	*ret_texts = texts;
	*ret_count = count;
	return 0;
}

int rec_postgres_keep(struct rec_arena *arena, struct rec_slice *const texts[], struct rec_error *error)
{
	for (; *texts; texts++) {
		if (!(*texts)->data)
			continue;
		char *copy = rec_arena_strndup(arena, (*texts)->data, (*texts)->length);
		if (!copy)
			return rec_fail_nomem(error);
		(*texts)->data = copy;
	}
	return 0;
}

/* ---- Tasks ---- */

int rec_postgres_task_row(struct rec_postgres *s, const PGresult *r, int row, struct rec_arena *arena,
			  struct rec_task *task, struct rec_error *error)
{
#define TEXT(column) rec_postgres_text(s, r, row, REC_POSTGRES_COLUMN_##column)
#define NUMBER(column) rec_postgres_number(s, r, row, REC_POSTGRES_COLUMN_##column)
#define GIVEN(column) (!rec_postgres_null(s, r, row, REC_POSTGRES_COLUMN_##column))
	*task = (struct rec_task){
		.id = TEXT(ID),
		.title = TEXT(TITLE),
		.description = TEXT(DESCRIPTION),
		.status_text = TEXT(STATUS),
		.status = rec_status_parse(TEXT(STATUS)),
		.priority = NUMBER(PRIORITY),
		.parent_id = TEXT(PARENT),
		.external_url = TEXT(EXTERNAL_URL),
		.created_at = TEXT(CREATED_AT),
		.updated_at = TEXT(UPDATED_AT),
		.is_leaf = rec_postgres_bool(s, r, row, REC_POSTGRES_COLUMN_IS_LEAF),
		.prd_id = TEXT(PRD),
		.uncertainty_level = TEXT(UNCERTAINTY),
		.hierarchical_id = TEXT(HIERARCHICAL),
		.lineage = TEXT(LINEAGE),
		.requirement_ids = TEXT(REQUIREMENTS),
		.has_estimated_hours = GIVEN(HOURS),
		.has_complexity_score = GIVEN(COMPLEXITY),
		.has_github_issue_number = GIVEN(ISSUE_NUMBER),
		.estimated_hours = rec_postgres_double(s, r, row, REC_POSTGRES_COLUMN_HOURS),
		.complexity_score = NUMBER(COMPLEXITY),
		.github_issue_number = NUMBER(ISSUE_NUMBER),
		.auto_close_github_issue = NUMBER(AUTO_CLOSE),
		.attempt = (uint32_t)NUMBER(ATTEMPT),
		.claimed = rec_postgres_bool(s, r, row, REC_POSTGRES_COLUMN_CLAIMED),
	};
#undef TEXT
#undef NUMBER
#undef GIVEN
	return rec_postgres_texts(s, r, row, REC_POSTGRES_COLUMN_DEPENDS_ON, arena, &task->depends_on,
				  &task->depends_on_count, error);
}

static int dependencies_keep(struct rec_arena *arena, struct rec_task *task, struct rec_error *error)
{
	if (task->depends_on_count == 0)
		return 0;
	struct rec_slice *copies = rec_arena_alloc(arena, task->depends_on_count * sizeof *copies);
	if (!copies)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < task->depends_on_count; i++) {
		copies[i] = task->depends_on[i];
		struct rec_slice *const one[] = {&copies[i], NULL};
		int r = rec_postgres_keep(arena, one, error);
		if (r < 0)
			return r;
	}
	task->depends_on = copies;
	return 0;
}

int rec_postgres_task_keep(struct rec_arena *arena, struct rec_task *task, struct rec_error *error)
{
	struct rec_slice *const texts[] = {&task->id,
					   &task->title,
					   &task->description,
					   &task->status_text,
					   &task->parent_id,
					   &task->external_url,
					   &task->created_at,
					   &task->updated_at,
					   &task->prd_id,
					   &task->hierarchical_id,
					   &task->lineage,
					   &task->requirement_ids,
					   &task->uncertainty_level,
					   NULL};
	int r = rec_postgres_keep(arena, texts, error);
	return r < 0 ? r : dependencies_keep(arena, task, error);
}

/* ---- Blockers ---- */

void rec_postgres_blocker_row(struct rec_postgres *s, const PGresult *r, int row, int column,
			      struct rec_blocker *blocker)
{
	*blocker = (struct rec_blocker){
		.id = rec_postgres_text(s, r, row, column),
		.task_id = rec_postgres_text(s, r, row, column + 1),
		.question = rec_postgres_text(s, r, row, column + 2),
		.answer = rec_postgres_text(s, r, row, column + 3),
		.status_text = rec_postgres_text(s, r, row, column + 4),
		.status = rec_blocker_status_parse(rec_postgres_text(s, r, row, column + 4)),
		.created_at = rec_postgres_text(s, r, row, column + 5),
		.answered_at = rec_postgres_text(s, r, row, column + 6),
		.created_by = rec_postgres_text(s, r, row, column + 7),
	};
}

int rec_postgres_blocker_keep(struct rec_arena *arena, struct rec_blocker *blocker, struct rec_error *error)
{
	struct rec_slice *const texts[] = {&blocker->id,          &blocker->task_id,     &blocker->question,
					   &blocker->answer,      &blocker->status_text, &blocker->created_at,
					   &blocker->answered_at, &blocker->created_by,  NULL};
	return rec_postgres_keep(arena, texts, error);
}
