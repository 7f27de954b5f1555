/* sqlite-write.c - groups, and the writes of tasks. A group is BEGIN IMMEDIATE: the writer's lock is waited for
 * before anything is read, so that what a decision rests on cannot change before it is written (a transaction that
 * begins by reading and then writes may fail at once, whatever the time limit says).
 */
#include <stdio.h>

#include "store/sqlite.h"

/* ---- Groups ---- */

/* A file that was renamed or replaced under us is written to by nobody else and seen by nobody. */
static int judge_moved(struct rec_sqlite *s, struct rec_error *error)
{
	int moved = 0;
	int rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return rc == SQLITE_OK && moved ? rec_sqlite_fail(s, SQLITE_READONLY_DBMOVED, NULL, error) : 0;
}

int rec_sqlite_begin(struct rec_store *store, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	if (s->corrupt)
		return rec_sqlite_fail(s, SQLITE_CORRUPT, NULL, error);
	int r = judge_moved(s, error);
	if (r == 0)
		r = rec_sqlite_settle(s, error);
	if (r == 0)
		r = rec_sqlite_do(s, REC_SQLITE_BEGIN_IMMEDIATE, error);
	if (r == 0)
		r = rec_sqlite_schema_look(s, error);
	if (r)
		rec_sqlite_rollback(store);
	s->in_group = r == 0;
	s->feed.told_at = -1;
	s->changes_before = sqlite3_total_changes(s->db);
	return r;
}

int rec_sqlite_commit(struct rec_store *store, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	bool told = s->feed.told_at == sqlite3_total_changes(s->db);
	int r = rec_sqlite_changes_mark(s, error);
	if (r == 0)
		r = rec_sqlite_do(s, REC_SQLITE_COMMIT, error);
	if (r)
		rec_sqlite_rollback(store);
	s->in_group = false;
	s->feed.own_commit = r != 0 || !told; /* else what there is to tell of it was told */
	return r;
}

void rec_sqlite_rollback(struct rec_store *store)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	s->in_group = false;
	rec_sqlite_settle(s, NULL);
}

/* ---- Waiting for the disk ---- */

/* With NORMAL a commit does not wait; a checkpoint does, before it copies anything. (Sources: SQLite, PRAGMA
 * synchronous; the log's file is what JOURNAL_POINTER gives while there is a log.) */
int rec_sqlite_sync_apart(struct rec_store *store, struct rec_error *error)
{
	return rec_sqlite_execute(rec_sqlite_of(store), "PRAGMA synchronous=NORMAL", error);
}

int rec_sqlite_sync(struct rec_store *store, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_file *log = NULL;
	int rc = sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, (void *)&log);
	if (rc == SQLITE_OK && log && log->pMethods)
		rc = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
	return rc == SQLITE_OK ? 0 : rec_sqlite_fail(s, rc, NULL, error);
}

/* ---- What rows need ---- */

int rec_sqlite_workspace(struct rec_sqlite *s, struct rec_slice *ret_id, struct rec_error *error)
{
	sqlite3_stmt *row = NULL;
	if (s->workspace_id[0]) {
		*ret_id = rec_slice_of(s->workspace_id);
		return 0;
	}
	int r = rec_sqlite_need_table(s, REC_SQLITE_TABLE_workspace, error);
	if (r == 0)
		r = rec_sqlite_prepare(s, "SELECT id FROM workspace ORDER BY rowid LIMIT 1", &row, error);
	if (r == 0)
		r = rec_sqlite_next(s, row, error);
	struct rec_slice id = r == 0 ? rec_sqlite_column(row, 0) : (struct rec_slice){0};
	if (r == 0 && id.length > 0 && id.length < sizeof s->workspace_id) {
		memcpy(s->workspace_id, id.data, id.length);
		s->workspace_id[id.length] = '\0';
		*ret_id = rec_slice_of(s->workspace_id);
	} else if (r >= 0) {
		r = rec_fail(error, REC_E_SCHEMA,
			     "%s: the table workspace has no row with an id (let codeframe make it)", s->path);
	}
	sqlite3_finalize(row);
	return r;
}

static int exists(struct rec_sqlite *s, enum rec_sqlite_query query, struct rec_slice id, bool *ret_exists,
		  struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, query, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	r = rec_sqlite_next(s, row, error);
	sqlite3_reset(row);
	if (r < 0)
		return r;
	*ret_exists = r == 0;
	return 0;
}

/* No two tasks of a workspace may have the same address: codeframe's index says so, and it says it in SQL. */
static int judge_url(struct rec_sqlite *s, const struct rec_task *task, struct rec_error *error)
{
	sqlite3_stmt *row;
	struct rec_slice workspace;
	if (!task->external_url.data || !(s->schema.task_columns & REC_SQLITE_BIT(REC_SQLITE_TASK_external_url)))
		return 0;
	int r = rec_sqlite_workspace(s, &workspace, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_TASK_OF_URL, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, workspace);
	rec_sqlite_bind_text(s, row, 2, task->external_url);
	rec_sqlite_bind_text(s, row, 3, task->id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? 0 : r;
	struct rec_slice other = rec_sqlite_column(row, 0);
	r = rec_fail(error, REC_E_INVALID, "external_url %.*s: the task %.*s has it already (one task an address)",
		     (int)(task->external_url.length < 300 ? task->external_url.length : 300), task->external_url.data,
		     (int)(other.length < 256 ? other.length : 256), other.data);
	sqlite3_reset(row);
	return r;
}

/* codeframe's prd_id is a foreign key. A task that comes from another store brings only the id: an empty document
 * stands for the one that stayed behind. */
static int ensure_prd(struct rec_sqlite *s, const struct rec_task *task, struct rec_error *error)
{
	sqlite3_stmt *row;
	struct rec_slice workspace;
	char now[REC_TIMESTAMP_BYTES];
	if (!task->prd_id.data || !rec_sqlite_has_table(s, REC_SQLITE_TABLE_prds))
		return 0;
	int r = rec_sqlite_workspace(s, &workspace, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_PRD_ENSURE, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, task->prd_id);
	rec_sqlite_bind_text(s, row, 2, workspace);
	rec_sqlite_bind_now(s, row, 3, now);
	return rec_sqlite_run(s, row, error);
}

/* ---- create ---- */

static uint64_t columns_given(const struct rec_task *task)
{
	uint64_t given = REC_SQLITE_BIT(REC_SQLITE_TASK_id) | REC_SQLITE_BIT(REC_SQLITE_TASK_title) |
			 REC_SQLITE_BIT(REC_SQLITE_TASK_status);
#define GIVEN(column, present) given |= (present) ? REC_SQLITE_BIT(REC_SQLITE_TASK_##column) : 0
	GIVEN(description, task->description.data);
	GIVEN(priority, task->priority != 0);
	GIVEN(depends_on, task->depends_on_count > 0);
	GIVEN(parent_id, task->parent_id.data);
	GIVEN(is_leaf, !task->is_leaf);
	GIVEN(external_url, task->external_url.data);
	GIVEN(prd_id, task->prd_id.data);
	GIVEN(uncertainty_level, task->uncertainty_level.data);
	GIVEN(hierarchical_id, task->hierarchical_id.data);
	GIVEN(lineage, task->lineage.data);
	GIVEN(requirement_ids, task->requirement_ids.data);
	GIVEN(estimated_hours, task->has_estimated_hours);
	GIVEN(complexity_score, task->has_complexity_score);
	GIVEN(github_issue_number, task->has_github_issue_number);
	GIVEN(auto_close_github_issue, task->auto_close_github_issue != 0);
#undef GIVEN
	return given;
}

struct task_binding {
	struct rec_sqlite *s;
	sqlite3_stmt *row;
};

static bool has(const struct task_binding *b, enum rec_sqlite_task_column column)
{
	return b->s->schema.task_columns & REC_SQLITE_BIT(column);
}

static void put_text(const struct task_binding *b, enum rec_sqlite_task_column column, struct rec_slice text)
{
	if (has(b, column))
		rec_sqlite_bind_text(b->s, b->row, (int)column + 1, text);
}

static void put_number(const struct task_binding *b, enum rec_sqlite_task_column column, bool present, int64_t value)
{
	if (has(b, column))
		rec_sqlite_bind_optional(b->s, b->row, (int)column + 1, present, value);
}

static void put_task(const struct task_binding *b, const struct rec_task *task, struct rec_slice depends_on,
		     struct rec_slice workspace)
{
	put_text(b, REC_SQLITE_TASK_id, task->id);
	put_text(b, REC_SQLITE_TASK_workspace_id, workspace);
	put_text(b, REC_SQLITE_TASK_title, task->title);
	put_text(b, REC_SQLITE_TASK_status, rec_slice_of(rec_status_text(task->status)));
	put_text(b, REC_SQLITE_TASK_description, task->description);
	put_number(b, REC_SQLITE_TASK_priority, true, task->priority);
	put_text(b, REC_SQLITE_TASK_depends_on, depends_on);
	put_text(b, REC_SQLITE_TASK_parent_id, task->parent_id);
	put_number(b, REC_SQLITE_TASK_is_leaf, true, task->is_leaf);
	put_text(b, REC_SQLITE_TASK_created_at, task->created_at);
	put_text(b, REC_SQLITE_TASK_updated_at, task->updated_at);
	put_text(b, REC_SQLITE_TASK_external_url, task->external_url);
	put_text(b, REC_SQLITE_TASK_prd_id, task->prd_id);
	put_text(b, REC_SQLITE_TASK_uncertainty_level, task->uncertainty_level);
	put_text(b, REC_SQLITE_TASK_hierarchical_id, task->hierarchical_id);
	put_text(b, REC_SQLITE_TASK_lineage, task->lineage);
	put_text(b, REC_SQLITE_TASK_requirement_ids, task->requirement_ids);
	put_number(b, REC_SQLITE_TASK_complexity_score, task->has_complexity_score, task->complexity_score);
	put_number(b, REC_SQLITE_TASK_github_issue_number, task->has_github_issue_number, task->github_issue_number);
	put_number(b, REC_SQLITE_TASK_auto_close_github_issue, true, task->auto_close_github_issue);
	if (has(b, REC_SQLITE_TASK_estimated_hours) && task->has_estimated_hours &&
	    sqlite3_bind_double(b->row, REC_SQLITE_TASK_estimated_hours + 1, task->estimated_hours) != SQLITE_OK)
		b->s->bind_failed = SQLITE_ERROR;
}

/* The bytes of depends_on as text; the buffer holds them. */
static int depends_on_text(const struct rec_sqlite *s, const struct rec_task *task, struct rec_buffer *buffer,
			   struct rec_error *error)
{
	rec_buffer_init(buffer, s->base.allocator, SIZE_MAX / 2);
	return rec_sqlite_id_list_write(buffer, task->depends_on, task->depends_on_count) ? rec_fail_nomem(error) : 0;
}

static int insert_task(struct rec_sqlite *s, const struct rec_task *task, struct rec_error *error)
{
	struct task_binding b = {.s = s};
	struct rec_slice workspace = {0};
	struct rec_buffer depends_on;
	int r = depends_on_text(s, task, &depends_on, error);
	if (r == 0 && (s->schema.task_columns & REC_SQLITE_BIT(REC_SQLITE_TASK_workspace_id)))
		r = rec_sqlite_workspace(s, &workspace, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_TASK_INSERT, &b.row, error);
	if (r == 0) {
		put_task(&b, task, rec_buffer_slice(&depends_on), workspace);
		r = rec_sqlite_run(s, b.row, error);
	}
	rec_buffer_release(&depends_on);
	return r;
}

/* Nothing is written before it is known that everything can be. */
static int judge_new(struct rec_sqlite *s, const struct rec_task *task, struct rec_error *error)
{
	bool there = false;
	int r = rec_sqlite_need_task_columns(s, columns_given(task), error);
	if (r == 0 && task->blocker_count > 0)
		r = rec_sqlite_need_table(s, REC_SQLITE_TABLE_blockers, error);
	if (r == 0)
		r = exists(s, REC_SQLITE_TASK_EXISTS, task->id, &there, error);
	for (size_t i = 0; r == 0 && !there && i < task->blocker_count; i++)
		r = exists(s, REC_SQLITE_BLOCKER_STATUS, task->blockers[i].id, &there, error);
	if (r == 0 && there)
		r = REC_EXISTS;
	return r == 0 ? judge_url(s, task, error) : r;
}

int rec_sqlite_create(struct rec_store *store, const struct rec_task *task, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	int r = judge_new(s, task, error);
	if (r == 0)
		r = ensure_prd(s, task, error);
	if (r == 0)
		r = insert_task(s, task, error);
	for (size_t i = 0; r == 0 && i < task->blocker_count; i++) {
		struct rec_blocker blocker = task->blockers[i];
		blocker.task_id = task->id;
		r = rec_sqlite_blocker_insert(s, &blocker, error);
	}
	return r;
}

/* ---- edit ---- */

static const struct {
	unsigned field;
	enum rec_sqlite_task_column column;
} edits[] = {
	{REC_EDIT_TITLE, REC_SQLITE_TASK_title},       {REC_EDIT_DESCRIPTION, REC_SQLITE_TASK_description},
	{REC_EDIT_PRIORITY, REC_SQLITE_TASK_priority}, {REC_EDIT_DEPENDS_ON, REC_SQLITE_TASK_depends_on},
	{REC_EDIT_PARENT, REC_SQLITE_TASK_parent_id},  {REC_EDIT_EXTERNAL_URL, REC_SQLITE_TASK_external_url},
};
#define EDIT_COUNT (sizeof edits / sizeof *edits)

static uint64_t edited_columns(unsigned fields)
{
	uint64_t columns = 0;
	for (size_t i = 0; i < EDIT_COUNT; i++)
		if (fields & edits[i].field)
			columns |= REC_SQLITE_BIT(edits[i].column);
	return columns;
}

/* Only the given columns stand in the statement, so that only their triggers run. */
static int prepare_edit(struct rec_sqlite *s, uint64_t columns, sqlite3_stmt **ret_row, struct rec_error *error)
{
	char text[512];
	struct rec_slice comma = rec_slice_of("");
	size_t length = (size_t)snprintf(text, sizeof text, "UPDATE tasks SET ");
	for (int i = 0; i < REC_SQLITE_TASK_workspace_id; i++)
		if (columns & REC_SQLITE_BIT(i)) {
			length += (size_t)snprintf(text + length, sizeof text - length, "%s%s=?%d", comma.data,
						   rec_sqlite_task_column_name(i), i + 1);
			comma = rec_slice_of(",");
		}
	snprintf(text + length, sizeof text - length, " WHERE id=?1");
	return rec_sqlite_prepare(s, text, ret_row, error);
}

static int write_edit(struct rec_sqlite *s, const struct rec_task *task, uint64_t columns, struct rec_slice depends_on,
		      struct rec_error *error)
{
	struct task_binding b = {.s = s};
	char now[REC_TIMESTAMP_BYTES];
	columns |= s->schema.task_columns & REC_SQLITE_BIT(REC_SQLITE_TASK_updated_at);
	int r = columns ? prepare_edit(s, columns, &b.row, error) : 0;
	if (r || !columns)
		return r;
	rec_sqlite_bind_text(s, b.row, REC_SQLITE_TASK_id + 1, task->id);
	for (int i = 0; i < REC_SQLITE_TASK_workspace_id; i++) {
		if (!(columns & REC_SQLITE_BIT(i)))
			continue;
		if (i == REC_SQLITE_TASK_title)
			put_text(&b, i, task->title);
		else if (i == REC_SQLITE_TASK_description)
			put_text(&b, i, task->description);
		else if (i == REC_SQLITE_TASK_priority)
			put_number(&b, i, true, task->priority);
		else if (i == REC_SQLITE_TASK_depends_on)
			put_text(&b, i, depends_on);
		else if (i == REC_SQLITE_TASK_parent_id)
			put_text(&b, i, task->parent_id);
		else if (i == REC_SQLITE_TASK_external_url)
			put_text(&b, i, task->external_url);
		else
			rec_sqlite_bind_now(s, b.row, i + 1, now);
	}
	r = rec_sqlite_run(s, b.row, error);
	sqlite3_finalize(b.row);
	return r;
}

int rec_sqlite_edit(struct rec_store *store, const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	struct rec_buffer depends_on;
	uint64_t columns = edited_columns(fields);
	bool there = false;
	int r = rec_sqlite_need_task_columns(s, columns, error);
	if (r == 0)
		r = exists(s, REC_SQLITE_TASK_EXISTS, task->id, &there, error);
	if (r || !there)
		return r ? r : REC_NOT_FOUND;
	if (fields & REC_EDIT_EXTERNAL_URL)
		r = judge_url(s, task, error);
	if (r)
		return r;
	r = depends_on_text(s, task, &depends_on, error);
	if (r == 0)
		r = write_edit(s, task, columns, rec_buffer_slice(&depends_on), error);
	rec_buffer_release(&depends_on);
	return r;
}

/* ---- remove ---- */

/* Rows that belong to a task, grandchildren first; the foreign keys among them have no ON DELETE. codeframe's
 * events and batch_runs are history, not part of the task. */
static const struct {
	const char *table, *column, *sql;
} belongings[] = {
#define OF_RUNS(table)                                                                                                 \
	{                                                                                                              \
#table, "run_id", "DELETE FROM " #table " WHERE run_id IN (SELECT id FROM runs WHERE task_id=?1)"      \
	}
#define OF_TASK(table)                                                                                                 \
	{                                                                                                              \
#table, "task_id", "DELETE FROM " #table " WHERE task_id=?1"                                           \
	}
	OF_RUNS(llm_interactions),   OF_RUNS(file_operations),
	OF_RUNS(execution_steps),    OF_RUNS(cloud_run_metadata),
	OF_RUNS(run_logs),           OF_TASK(run_logs),
	OF_RUNS(diagnostic_reports), OF_TASK(diagnostic_reports),
	OF_TASK(run_engine_log),     OF_TASK(runs),
	OF_TASK(blockers),           OF_TASK(rec_attempts),
	OF_TASK(rec_released),       OF_TASK(rec_links),
#undef OF_RUNS
#undef OF_TASK
};

/* Older databases lack some of the tables. */
static int has_column(struct rec_sqlite *s, const char *table, const char *column, bool *ret_has,
		      struct rec_error *error)
{
	sqlite3_stmt *row = NULL;
	int64_t count = 0;
	int r = rec_sqlite_prepare(s, "SELECT count(*) FROM pragma_table_info(?1) WHERE name=?2", &row, error);
	if (r == 0) {
		rec_sqlite_bind_text(s, row, 1, rec_slice_of(table));
		rec_sqlite_bind_text(s, row, 2, rec_slice_of(column));
		r = rec_sqlite_run_int64(s, row, &count, error);
	}
	sqlite3_finalize(row);
	*ret_has = count > 0;
	return r;
}

static int remove_belongings(struct rec_sqlite *s, struct rec_slice id, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < sizeof belongings / sizeof *belongings; i++) {
		bool there = false, runs = rec_sqlite_has_table(s, REC_SQLITE_TABLE_runs);
		sqlite3_stmt *row = NULL;
		if (!runs && strcmp(belongings[i].column, "run_id") == 0)
			continue;
		r = has_column(s, belongings[i].table, belongings[i].column, &there, error);
		if (r || !there)
			continue;
		r = rec_sqlite_prepare(s, belongings[i].sql, &row, error);
		if (r == 0) {
			rec_sqlite_bind_text(s, row, 1, id);
			r = rec_sqlite_run(s, row, error);
		}
		sqlite3_finalize(row);
	}
	return r;
}

int rec_sqlite_remove(struct rec_store *store, struct rec_slice id, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	sqlite3_stmt *row;
	bool there = false, claimed = false;
	int r = exists(s, REC_SQLITE_TASK_EXISTS, id, &there, error);
	if (r == 0 && there)
		r = exists(s, REC_SQLITE_CLAIM_OF_TASK, id, &claimed, error);
	if (r || !there || claimed)
		return r ? r : there ? REC_REFUSED : REC_NOT_FOUND;
	r = remove_belongings(s, id, error);
	if (r == 0)
		r = rec_sqlite_query(s, REC_SQLITE_TASK_DELETE, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, id);
	return rec_sqlite_run(s, row, error);
}
