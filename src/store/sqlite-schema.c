/* sqlite-schema.c - what the database at hand holds, and making what is missing of ours.
 *
 * The schema is read once and again whenever PRAGMA schema_version has moved: somebody may rebuild a table, which
 * drops the triggers on it silently, or add a column. What there is is kept as bits; each operation asks for the
 * columns it needs, so that an old database can still do what it has the columns for.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "store/sqlite.h"

/* ---- Names ---- */

const char *rec_sqlite_table_name(enum rec_sqlite_table table)
{
	static const char *const names[] = {
#define NAME(name) [REC_SQLITE_TABLE_##name] = #name,
		REC_SQLITE_TABLES(NAME)
#undef NAME
	};
	return names[table];
}

const char *rec_sqlite_task_column_name(enum rec_sqlite_task_column column)
{
	static const char *const names[] = {
#define NAME(name) [REC_SQLITE_TASK_##name] = #name,
		REC_SQLITE_TASK_COLUMNS(NAME)
#undef NAME
	};
	return names[column];
}

const char *rec_sqlite_blocker_column_name(enum rec_sqlite_blocker_column column)
{
	static const char *const names[] = {
#define NAME(name) [REC_SQLITE_BLOCKER_##name] = #name,
		REC_SQLITE_BLOCKER_COLUMNS(NAME)
#undef NAME
	};
	return names[column];
}

/* ---- Reading what there is ---- */

static bool is_name(sqlite3_stmt *row, int column, const char *name)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	return text && sqlite3_stricmp(text, name) == 0;
}

static unsigned same_text_bit(sqlite3_stmt *row, const struct rec_sqlite_trigger *made, size_t count)
{
	const char *sql = (const char *)sqlite3_column_text(row, 2);
	for (size_t i = 0; sql && i < count; i++)
		if (is_name(row, 1, made[i].name))
			return strcmp(sql, made[i].sql) == 0 ? 1u << i : 0;
	return 0;
}

static void note_object(struct rec_sqlite_schema *schema, sqlite3_stmt *row)
{
	if (is_name(row, 0, "trigger"))
		schema->triggers |= same_text_bit(row, rec_sqlite_triggers, rec_sqlite_trigger_count);
	else if (is_name(row, 0, "index"))
		schema->indexes |= same_text_bit(row, rec_sqlite_indexes, rec_sqlite_index_count);
	if (!is_name(row, 0, "table"))
		return;
	const char *name = (const char *)sqlite3_column_text(row, 1);
	schema->any = schema->any || (name && sqlite3_strnicmp(name, "sqlite_", 7) != 0);
	for (int i = 0; i < REC_SQLITE_TABLE_COUNT; i++)
		if (is_name(row, 1, rec_sqlite_table_name(i)))
			schema->tables |= REC_SQLITE_BIT(i);
}

typedef void note_fn(struct rec_sqlite_schema *schema, sqlite3_stmt *row);

static int read_rows(struct rec_sqlite *s, const char *sql, note_fn *note, struct rec_sqlite_schema *schema,
		     struct rec_error *error)
{
	sqlite3_stmt *rows = NULL;
	int r = rec_sqlite_prepare(s, sql, &rows, error);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0)
		note(schema, rows);
	sqlite3_finalize(rows);
	return r == REC_END ? 0 : r;
}

/* A column called rowid hides the number that rows are joined by; WITHOUT ROWID has none. */
static void note_column(struct rec_sqlite_schema *schema, sqlite3_stmt *row)
{
	bool task = sqlite3_column_int(row, 0) == 0, hides = is_name(row, 1, "rowid");
	if (hides && task)
		schema->tasks_by_rowid = false;
	else if (hides)
		schema->blockers_by_rowid = false;
	for (int i = 0; task && i < REC_SQLITE_TASK_COLUMN_COUNT; i++)
		if (is_name(row, 1, rec_sqlite_task_column_name(i)))
			schema->task_columns |= REC_SQLITE_BIT(i);
	for (int i = 0; !task && i < REC_SQLITE_BLOCKER_COLUMN_COUNT; i++)
		if (is_name(row, 1, rec_sqlite_blocker_column_name(i)))
			schema->blocker_columns |= REC_SQLITE_BIT(i);
}

static void note_blocker_index(struct rec_sqlite_schema *schema, sqlite3_stmt *row)
{
	(void)row;
	schema->blockers_by_task = true;
}

static void note_page_bytes(struct rec_sqlite_schema *schema, sqlite3_stmt *row)
{
	schema->page_bytes = sqlite3_column_int64(row, 0);
}

static void note_encoding(struct rec_sqlite_schema *schema, sqlite3_stmt *row)
{
	schema->utf8 = is_name(row, 0, "UTF-8");
}

static const char columns_sql[] = "SELECT 0,name FROM pragma_table_info('tasks') UNION ALL "
				  "SELECT 1,name FROM pragma_table_info('blockers') UNION ALL "
				  "SELECT name='blockers','rowid' FROM pragma_table_list "
				  "WHERE schema='main' AND name IN('tasks','blockers') AND wr";
static const char blocker_index_sql[] = "SELECT 1 FROM pragma_index_list('blockers') l, pragma_index_info(l.name) i "
					"WHERE i.seqno=0 AND i.name='task_id' AND l.partial=0";

/* All triggers of ours that the columns allow, and nothing in their place. */
static bool feed_complete(const struct rec_sqlite_schema *schema)
{
	for (size_t i = 0; i < rec_sqlite_trigger_count; i++) {
		const struct rec_sqlite_trigger *t = &rec_sqlite_triggers[i];
		bool possible = (t->task_columns & ~schema->task_columns) == 0 &&
				(t->blocker_columns & ~schema->blocker_columns) == 0;
		if (possible && !(schema->triggers & 1u << i))
			return false;
	}
	return schema->tables >> REC_SQLITE_TABLE_rec_changes & 1;
}

static int read_schema(struct rec_sqlite *s, struct rec_sqlite_schema *schema, struct rec_error *error)
{
	int r = read_rows(s, "SELECT type,name,sql FROM sqlite_schema", note_object, schema, error);
	schema->tasks_by_rowid = schema->blockers_by_rowid = true;
	if (r == 0)
		r = read_rows(s, columns_sql, note_column, schema, error);
	if (r == 0)
		r = read_rows(s, blocker_index_sql, note_blocker_index, schema, error);
	if (r == 0)
		r = read_rows(s, "PRAGMA page_size", note_page_bytes, schema, error);
	if (r == 0)
		r = read_rows(s, "PRAGMA encoding", note_encoding, schema, error);
	schema->feed = feed_complete(schema);
	return r;
}

/* ---- Judging it ---- */

/* One value of rec_meta; REC_NOT_FOUND. The caller finalizes *ret_row in any case. */
static int read_meta(struct rec_sqlite *s, const char *key, sqlite3_stmt **ret_row, struct rec_error *error)
{
	*ret_row = NULL;
	int r = rec_sqlite_prepare(s, "SELECT value FROM rec_meta WHERE key=?1", ret_row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, *ret_row, 1, rec_slice_of(key));
	r = rec_sqlite_next(s, *ret_row, error);
	return r == REC_END ? REC_NOT_FOUND : r;
}

/* Whatever is not exactly our number is refused: a newer one, and what nobody can have written on purpose. */
static int judge_version(struct rec_sqlite *s, struct rec_error *error)
{
	sqlite3_stmt *row;
	char buffer[REC_SQLITE_SHOWN_BYTES], shown[REC_SQLITE_SHOWN_BYTES];
	int r = read_meta(s, "schema_version", &row, error);
	bool number = r == 0 && sqlite3_column_type(row, 0) == SQLITE_INTEGER;
	int64_t version = number ? sqlite3_column_int64(row, 0) : 0;
	if (r == REC_NOT_FOUND)
		r = rec_fail(
			error, REC_E_VERSION,
			"%s: rec_meta holds no schema_version (this program knows %d; restore the row or the database)",
			s->path, REC_SQLITE_SCHEMA_VERSION_OURS);
	else if (r == 0 && number && version > REC_SQLITE_SCHEMA_VERSION_OURS)
		r = rec_fail(
			error, REC_E_VERSION,
			"%s: was made by a newer version: its schema_version is %lld, this program knows %d (use the "
			"newer program)",
			s->path, (long long)version, REC_SQLITE_SCHEMA_VERSION_OURS);
	else if (r == 0 && version != REC_SQLITE_SCHEMA_VERSION_OURS)
		r = rec_fail(
			error, REC_E_VERSION,
			"%s: rec_meta holds the schema_version %s, which no version writes (this program knows %d; "
			"restore the row or the database)",
			s->path, rec_text_shown(shown, sizeof shown, rec_sqlite_shown(row, 0, buffer)),
			REC_SQLITE_SCHEMA_VERSION_OURS);
	sqlite3_finalize(row);
	return r;
}

static int read_feed_id(struct rec_sqlite *s, struct rec_sqlite_schema *schema, struct rec_error *error)
{
	sqlite3_stmt *row;
	int r = read_meta(s, "feed_id", &row, error);
	if (r == 0)
		schema->feed_id = (uint64_t)sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return r == REC_NOT_FOUND ? 0 : r;
}

/* Ids are compared by their bytes in UTF-8, here and in SQLite's indexes. */
static int judge_comparison(struct rec_sqlite *s, const struct rec_sqlite_schema *schema, struct rec_error *error)
{
	static const char *const columns[][2] = {{"tasks", "id"},    {"tasks", "status"},     {"tasks", "parent_id"},
						 {"blockers", "id"}, {"blockers", "task_id"}, {"blockers", "status"}};
	if (!schema->utf8)
		return rec_fail(error, REC_E_UNSUPPORTED,
				"%s: keeps its texts as UTF-16 (dump it and load it into a database in UTF-8)",
				s->path);
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		const char *collation = NULL;
		int rc = sqlite3_table_column_metadata(s->db, "main", columns[i][0], columns[i][1], NULL, &collation,
						       NULL, NULL, NULL);
		if (rc == SQLITE_NOMEM)
			return rec_fail_nomem(error);
		if (rc == SQLITE_OK && collation && sqlite3_stricmp(collation, "BINARY") != 0)
			return rec_fail(
				error, REC_E_UNSUPPORTED,
				"%s: the column %s of %s is compared as %s, not by its bytes (rebuild the table as "
				"codeframe has it)",
				s->path, columns[i][1], columns[i][0], collation);
	}
	return 0;
}

/* Is it a task store at all? */
static int judge(struct rec_sqlite *s, const struct rec_sqlite_schema *schema, struct rec_error *error)
{
	if (!schema->any)
		return rec_fail(error, REC_E_NOT_A_STORE, "%s: holds no tables (`reconciler init` makes a store there)",
				s->path);
	if (!(schema->tables >> REC_SQLITE_TABLE_tasks & 1))
		return rec_fail(error, REC_E_NOT_A_STORE,
				"%s: is some other program's database: it has no table tasks (name a task store)",
				s->path);
	for (int column = REC_SQLITE_TASK_id; column <= REC_SQLITE_TASK_status; column++)
		if (!(schema->task_columns & REC_SQLITE_BIT(column)))
			return rec_sqlite_fail_missing(s, "tasks", rec_sqlite_task_column_name(column), error);
	return judge_comparison(s, schema, error);
}

/* Are our tables there, up to `end`? */
static bool has_ours(const struct rec_sqlite_schema *schema, int end)
{
	for (int i = REC_SQLITE_TABLE_OURS_FIRST; i < end; i++)
		if (!(schema->tables & REC_SQLITE_BIT(i)))
			return false;
	return true;
}

static int schema_version(struct rec_sqlite *s, int64_t *ret_version, struct rec_error *error)
{
	sqlite3_stmt *query;
	int r = rec_sqlite_query(s, REC_SQLITE_SCHEMA_VERSION, &query, error);
	return r == 0 ? rec_sqlite_run_int64(s, query, ret_version, error) : r;
}

static int look(struct rec_sqlite *s, struct rec_sqlite_schema *schema, struct rec_error *error)
{
	int r = read_schema(s, schema, error);
	if (r == 0 && schema->tables >> REC_SQLITE_TABLE_rec_meta & 1) {
		r = judge_version(s, error);
		if (r == 0)
			r = read_feed_id(s, schema, error);
	}
	return r;
}

int rec_sqlite_schema_look(struct rec_sqlite *s, struct rec_error *error)
{
	struct rec_sqlite_schema schema = {0};
	int r = schema_version(s, &schema.version, error);
	if (r || (s->schema.known && s->schema.version == schema.version))
		return r;
	r = look(s, &schema, error);
	if (r == 0)
		r = judge(s, &schema, error);
	if (r)
		return r;
	schema.known = true;
	s->schema = schema;
	s->base.info.attached = has_ours(&schema, REC_SQLITE_TABLE_LATER_FIRST);
	rec_sqlite_queries_finalize(s, false);
	return 0;
}

/* ---- Asking for what an operation needs ---- */

int rec_sqlite_need_task_columns(struct rec_sqlite *s, uint64_t columns, struct rec_error *error)
{
	for (int i = 0; i < REC_SQLITE_TASK_COLUMN_COUNT; i++)
		if (columns & ~s->schema.task_columns & REC_SQLITE_BIT(i))
			return rec_sqlite_fail_missing(s, "tasks", rec_sqlite_task_column_name(i), error);
	return 0;
}

int rec_sqlite_need_blocker_columns(struct rec_sqlite *s, uint64_t columns, struct rec_error *error)
{
	int r = rec_sqlite_need_table(s, REC_SQLITE_TABLE_blockers, error);
	for (int i = 0; r == 0 && i < REC_SQLITE_BLOCKER_COLUMN_COUNT; i++)
		if (columns & ~s->schema.blocker_columns & REC_SQLITE_BIT(i))
			r = rec_sqlite_fail_missing(s, "blockers", rec_sqlite_blocker_column_name(i), error);
	return r;
}

int rec_sqlite_need_table(struct rec_sqlite *s, enum rec_sqlite_table table, struct rec_error *error)
{
	return rec_sqlite_has_table(s, table) ? 0
					      : rec_sqlite_fail_missing(s, rec_sqlite_table_name(table), NULL, error);
}

/* ---- Making what is missing ---- */

/* The folder above the one that holds the state file: what codeframe calls repo_path. */
static struct rec_slice repository_of(const char *directory)
{
	const char *slash = strrchr(directory, '/');
	return (struct rec_slice){directory, slash && slash > directory ? (size_t)(slash - directory) : 1};
}

static int make_workspace(struct rec_sqlite *s, struct rec_error *error)
{
	sqlite3_stmt *row = NULL;
	char now[REC_TIMESTAMP_BYTES], id[REC_UUID_BYTES];
	int r = rec_sqlite_execute(s, rec_sqlite_ddl_codeframe, error);
	if (r == 0)
		r = rec_sqlite_prepare(s,
				       "INSERT INTO workspace(id,repo_path,created_at,updated_at) VALUES(?1,?2,?3,?3)",
				       &row, error);
	if (r == 0) {
		rec_sqlite_bind_text(s, row, 1, rec_slice_of(rec_uuid_new(id)));
		rec_sqlite_bind_text(s, row, 2, repository_of(s->directory));
		rec_sqlite_bind_now(s, row, 3, now);
		r = rec_sqlite_run(s, row, error);
	}
	sqlite3_finalize(row);
	return r;
}

/* The feed begins with a row that names no task, so that every cursor has a row to stand on. */
static int make_meta(struct rec_sqlite *s, struct rec_error *error)
{
	sqlite3_stmt *row = NULL;
	int r = rec_sqlite_prepare(s, "INSERT INTO rec_meta(key,value) VALUES('schema_version',?1),('feed_id',?2)",
				   &row, error);
	if (r == 0) {
		rec_sqlite_bind_int64(s, row, 1, REC_SQLITE_SCHEMA_VERSION_OURS);
		rec_sqlite_bind_int64(s, row, 2, (int64_t)(rec_random_u64() >> 1));
		r = rec_sqlite_run(s, row, error);
	}
	sqlite3_finalize(row);
	return r == 0 ? rec_sqlite_execute(s, "INSERT INTO rec_changes(task_id) VALUES(NULL)", error) : r;
}

/* Makes those of `made` whose columns are there and whose bit is not in `there`. */
static int make_objects(struct rec_sqlite *s, const struct rec_sqlite_schema *schema, const char *kind,
			const struct rec_sqlite_trigger *made, size_t count, unsigned there, struct rec_error *error)
{
	char drop[128];
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (there & 1u << i || made[i].task_columns & ~schema->task_columns ||
		    made[i].blocker_columns & ~schema->blocker_columns)
			continue;
		snprintf(drop, sizeof drop, "DROP %s IF EXISTS %s", kind, made[i].name);
		r = rec_sqlite_execute(s, drop, error);
		if (r == 0)
			r = rec_sqlite_execute(s, made[i].sql, error);
	}
	return r;
}

static int make_missing(struct rec_sqlite *s, struct rec_error *error)
{
	struct rec_sqlite_schema schema = {0};
	int r = look(s, &schema, error);
	if (r == 0 && !schema.any) {
		r = make_workspace(s, error);
		schema = (struct rec_sqlite_schema){0};
		if (r == 0)
			r = look(s, &schema, error);
	}
	if (r == 0)
		r = judge(s, &schema, error);
	if (r == 0 && !has_ours(&schema, REC_SQLITE_TABLE_COUNT))
		r = rec_sqlite_execute(s, rec_sqlite_ddl_ours, error);
	if (r == 0 && !(schema.tables >> REC_SQLITE_TABLE_rec_meta & 1))
		r = make_meta(s, error);
	if (r == 0)
		r = make_objects(s, &schema, "TRIGGER", rec_sqlite_triggers, rec_sqlite_trigger_count, schema.triggers,
				 error);
	if (r == 0)
		r = make_objects(s, &schema, "INDEX", rec_sqlite_indexes, rec_sqlite_index_count, schema.indexes,
				 error);
	return r;
}

int rec_sqlite_schema_make(struct rec_sqlite *s, struct rec_error *error)
{
	int r = rec_sqlite_settle(s, error);
	if (r == 0)
		r = rec_sqlite_do(s, REC_SQLITE_BEGIN_IMMEDIATE, error);
	if (r == 0)
		r = make_missing(s, error);
	if (r == 0)
		r = rec_sqlite_do(s, REC_SQLITE_COMMIT, error);
	rec_sqlite_settle(s, NULL);
	return r;
}

/* ---- What is wrong with the store itself ---- */

struct problems {
	rec_problem_fn *fn;
	void *context;
	bool told;
};

static int tell_missing(struct rec_sqlite *s, struct problems *p, const char *kind, const char *noun,
			const struct rec_sqlite_trigger *made, size_t count, unsigned there, const char *consequence)
{
	char sentence[256];
	for (size_t i = 0; i < count; i++) {
		if (there & 1u << i || made[i].task_columns & ~s->schema.task_columns ||
		    made[i].blocker_columns & ~s->schema.blocker_columns)
			continue;
		snprintf(sentence, sizeof sentence, "the %s %s on %s is missing or changed: %s", noun, made[i].name,
			 made[i].table, consequence);
		p->told = true;
		int r = p->fn(p->context, kind, sentence);
		if (r)
			return r;
	}
	return 0;
}

static int problems_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct problems *p = context;
	(void)error;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_meta))
		return 0;
	for (int i = REC_SQLITE_TABLE_OURS_FIRST; i < REC_SQLITE_TABLE_COUNT; i++) {
		char sentence[128];
		if (rec_sqlite_has_table(s, i))
			continue;
		snprintf(sentence, sizeof sentence, "the table %s is missing: %s", rec_sqlite_table_name(i),
			 i < REC_SQLITE_TABLE_LATER_FIRST ? "nothing can be written"
							  : "nothing can be remembered of links to trackers");
		p->told = true;
		int r = p->fn(p->context, "missing-table", sentence);
		if (r)
			return r;
	}
	int r = tell_missing(s, p, "missing-trigger", "trigger", rec_sqlite_triggers, rec_sqlite_trigger_count,
			     s->schema.triggers, "changes by other programs cost a full look each time");
	return r ? r
		 : tell_missing(s, p, "missing-index", "index", rec_sqlite_indexes, rec_sqlite_index_count,
				s->schema.indexes, "looking at a few tasks costs a scan");
}

int rec_sqlite_problems(struct rec_store *store, rec_problem_fn *fn, void *context, struct rec_error *error)
{
	struct problems p = {fn, context, false};
	return rec_sqlite_read(rec_sqlite_of(store), problems_body, &p, &p.told, error);
}
