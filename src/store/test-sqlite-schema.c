/* test-sqlite-schema.c - what init makes, what is refused, and databases that lack or change something. */
#include "store/test-sqlite.h"

/* ---- What init makes ---- */

static void test_init__a_new_store_has_the_tables_that_codeframe_has(void **state)
{
	struct fixture *f = *state;
	static const char *const tables[] = {"workspace", "prds", "tasks", "events", "blockers", "runs", "batch_runs"};
	const char *data = getenv("REC_TEST_DATA");
	struct rec_buffer schema;
	sqlite3 *theirs, *ours;
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	read_file(join(f, data, "/codeframe/codeframe-schema.sql"), &schema);
	char *line = strstr(schema.data, "CREATE TABLE sqlite_sequence");
	assert_non_null(line);
	memcpy(line, "-- ", 3);
	assert_int_equal(sqlite3_open(":memory:", &theirs), SQLITE_OK);
	foreign_run(theirs, schema.data);
	ours = foreign_open(f->path);
	foreign_run(ours, "ATTACH ':memory:' AS theirs");
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		static const char *const questions[] = {
			"SELECT group_concat(name||type||\"notnull\"||coalesce(dflt_value,'-')||pk,';') "
			"FROM (SELECT * FROM pragma_table_info('%s') ORDER BY name)",
			"SELECT group_concat(\"table\"||\"from\"||\"to\",';') "
			"FROM (SELECT * FROM pragma_foreign_key_list('%s') ORDER BY \"from\")",
			"SELECT group_concat(name||\"unique\",';') FROM (SELECT * FROM pragma_index_list('%s') WHERE "
			"name NOT LIKE 'rec_%%' ORDER BY name)",
			/* checks */
			"SELECT (length(sql)-length(replace(sql,'CHECK','')))/5 FROM sqlite_schema WHERE name='%s'",
		};
		for (size_t q = 0; q < sizeof questions / sizeof *questions; q++) {
			char *sql = sqlite3_mprintf(questions[q], tables[i]);
			sqlite3_stmt *a, *b;
			assert_int_equal(sqlite3_prepare_v2(theirs, sql, -1, &a, NULL), SQLITE_OK);
			assert_int_equal(sqlite3_prepare_v2(ours, sql, -1, &b, NULL), SQLITE_OK);
			assert_int_equal(sqlite3_step(a), SQLITE_ROW);
			assert_int_equal(sqlite3_step(b), SQLITE_ROW);
			const char *x = (const char *)sqlite3_column_text(a, 0);
			const char *y = (const char *)sqlite3_column_text(b, 0);
			assert_string_equal(x ? x : "", y ? y : "");
			sqlite3_finalize(a);
			sqlite3_finalize(b);
			sqlite3_free(sql);
		}
	}
	sqlite3_close(theirs);
	sqlite3_close(ours);
	rec_buffer_release(&schema);
	assert_int_equal(foreign_int64(f->path, "SELECT count(*) FROM workspace"), 1);
	char *where = sqlite3_mprintf("SELECT repo_path||'/'||%Q=%Q FROM workspace", strrchr(f->directory, '/') + 1,
				      f->directory); /* the folder above */
	assert_int_equal(foreign_int64(f->path, where), 1);
	sqlite3_free(where);
	assert_int_equal(foreign_int64(f->path, "PRAGMA user_version"), 0); /* codeframe upgrades it itself */
	assert_int_equal(foreign_int64(f->path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

static void test_init__adds_to_codeframes_database_only_what_begins_with_rec(void **state)
{
	struct fixture *f = *state;
	fixture_codeframe(f);
	foreign_do(f->path, "CREATE TABLE before AS SELECT type,name,tbl_name,sql FROM sqlite_schema");
	fixture_open(f, REC_STORE_INIT);
	assert_true(f->store->info.attached);
	fixture_close(f);
	assert_int_equal(foreign_int64(f->path,
				       "SELECT count(*) FROM (SELECT type,name,tbl_name,sql FROM sqlite_schema "
				       "EXCEPT SELECT * FROM before) WHERE name NOT LIKE 'rec_%' AND name NOT "
				       "LIKE 'sqlite_autoindex_rec_%' AND name<>'before'"),
			 0);
	assert_int_equal(foreign_int64(f->path,
				       "SELECT count(*) FROM (SELECT * FROM before WHERE name NOT NULL EXCEPT SELECT "
				       "type,name,tbl_name,sql FROM sqlite_schema)"),
			 0);
	assert_int_equal(foreign_int64(f->path, "SELECT count(*) FROM sqlite_schema s, pragma_foreign_key_list(s.name) "
						"WHERE s.name LIKE 'rec_%'"),
			 0);
	assert_int_equal(foreign_int64(f->path, "PRAGMA user_version"), 5);
}

static void test_init__again_writes_nothing(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer before;
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	read_file(f->path, &before);
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	assert_same_bytes(f->path, &before);
	rec_buffer_release(&before);
}

static void test_init__of_an_empty_file_or_database_makes_a_store(void **state)
{
	struct fixture *f = *state;
	for (int database = 0; database < 2; database++) {
		FILE *file = fopen(f->path, "w");
		assert_non_null(file);
		fclose(file);
		refused(f, REC_E_NOT_A_STORE, fixture_try(f, REC_STORE_READ), f->path, "empty", "init");
		refused(f, REC_E_NOT_A_STORE, fixture_try(f, REC_STORE_WRITE), f->path, "empty", "init");
		if (database) {
			foreign_do(f->path, "PRAGMA journal_mode=WAL; CREATE TABLE x(y); DROP TABLE x");
			set_age_ms(f->path, 1000);
			refused(f, REC_E_NOT_A_STORE, fixture_try(f, REC_STORE_READ), f->path, "no tables");
			refused(f, REC_E_NOT_A_STORE, fixture_try(f, REC_STORE_WRITE), f->path, "no tables");
		}
		fixture_open(f, REC_STORE_INIT);
		add_task(f, "t", REC_READY);
		fixture_close(f);
		unlink(f->path);
	}
}

static void test_init__brings_back_what_is_missing_of_ours(void **state)
{
	struct fixture *f = *state;
	fixture_open(f, REC_STORE_INIT);
	add_task(f, "t", REC_READY);
	fixture_close(f);
	foreign_do(f->path, "DROP TABLE rec_claims; DROP INDEX rec_blockers_task; DROP TRIGGER rec_on_task_status");
	set_age_ms(f->path, 1000);
	refused(f, REC_E_SCHEMA, fixture_try(f, REC_STORE_WRITE), f->path, "init");
	fixture_open(f, REC_STORE_READ);
	assert_int_equal(status_of(f, "t"), REC_READY);
	fixture_open(f, REC_STORE_INIT);
	struct rec_claim claim = {.task_id = S("t")};
	must(f, rec_store_claim(f->store, &claim, NULL, &f->error));
	assert_true(sqlite_of(f)->schema.feed);
	assert_int_equal(sqlite_of(f)->schema.indexes, 7);
}

static int link_count(void *context, const struct rec_link *link)
{
	*(int *)context += link->implicit && link->state == REC_OBSERVED_UNKNOWN;
	return 0;
}

static int cursor_count(void *context, struct rec_slice key, struct rec_slice value)
{
	(void)key;
	(void)value;
	*(int *)context += 1;
	return 0;
}

static void test_init__adds_links_to_a_store_of_an_older_version(void **state)
{
	struct fixture *f = *state;
	struct rec_slice url = S("https://github.com/acme/app/issues/7");
	struct rec_task task = {.id = S("t"), .title = S("t"), .status = REC_READY, .external_url = url};
	int links = 0, cursors = 0;
	fixture_open(f, REC_STORE_INIT);
	must(f, rec_store_create(f->store, &task, &f->error));
	fixture_close(f);
	foreign_do(f->path, "DROP TABLE rec_links; DROP TABLE rec_cursors");
	/* all but links goes on */
	fixture_open(f, REC_STORE_WRITE);
	assert_true(f->store->info.attached);
	must(f, rec_store_set_status(f->store, S("t"), REC_READY, REC_FAILED, NULL, NULL, NULL, &f->error));
	must(f, rec_store_links(f->store, (struct rec_slice){0}, link_count, &links, &f->error));
	assert_int_equal(links, 1);
	must(f, rec_store_tracker_cursors(f->store, S("github"), cursor_count, &cursors, &f->error));
	refused(f, REC_E_UNINITIALISED, rec_store_link_put(f->store, S("t"), url, &f->error), f->path, "init");
	struct rec_link link = {.task_id = S("t"), .url = url, .state = REC_OBSERVED_OPEN};
	refused(f, REC_E_UNINITIALISED, rec_store_link_observed(f->store, &link, &f->error), f->path, "init");
	refused(f, REC_E_UNINITIALISED, rec_store_tracker_cursor_put(f->store, S("github"), S("k"), S("v"), &f->error),
		f->path, "init");
	must(f, rec_store_delete(f->store, S("t"), &f->error));
	fixture_close(f);
	fixture_open(f, REC_STORE_INIT);
	must(f, rec_store_create(f->store, &task, &f->error));
	must(f, rec_store_link_observed(f->store, &link, &f->error));
	must(f, rec_store_tracker_cursor_put(f->store, S("github"), S("k"), S("v"), &f->error));
	must(f, rec_store_tracker_cursors(f->store, S("github"), cursor_count, &cursors, &f->error));
	assert_int_equal(cursors, 1);
}

static void test_links__rows_that_no_version_writes_are_never_observed(void **state)
{
	struct fixture *f = *state;
	int links = 0;
	fixture_open(f, REC_STORE_INIT);
	struct rec_task task = {.id = S("t"), .title = S("t"), .external_url = S("https://g.org/a/b/issues/1")};
	must(f, rec_store_create(f->store, &task, &f->error));
	foreign_do(f->path, "INSERT INTO rec_links(task_id,url,explicit,state,kind,comments) VALUES"
			    "('t','https://g.org/a/b/issues/1',0,'shut','thing','many')");
	must(f, rec_store_links(f->store, S("t"), link_count, &links, &f->error));
	assert_int_equal(links, 1);
}

static int any_link(void *context, const struct rec_link *link)
{
	(void)context;
	(void)link;
	return 0;
}

static void test_links__a_look_at_all_of_them_does_not_scan_the_tasks(void **state)
{
	struct fixture *f = *state;
	char plan[2000] = "";
	sqlite3_stmt *rows;
	fixture_open(f, REC_STORE_INIT);
	must(f, rec_store_links(f->store, (struct rec_slice){0}, any_link, NULL, &f->error));
	struct rec_sqlite *s = sqlite_of(f);
	char *sql = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sqlite3_sql(s->queries[REC_SQLITE_LINK_LIST]));
	assert_int_equal(sqlite3_prepare_v2(s->db, sql, -1, &rows, NULL), SQLITE_OK);
	while (sqlite3_step(rows) == SQLITE_ROW)
		snprintf(plan + strlen(plan), sizeof plan - strlen(plan), "%s; ",
			 (const char *)sqlite3_column_text(rows, 3));
	sqlite3_finalize(rows);
	sqlite3_free(sql);
	assert_non_null(strstr(plan, "rec_tasks_url"));
	assert_null(strstr(plan, "SCAN t"));
}

static void test_gc__forgets_links_that_are_none(void **state)
{
	struct fixture *f = *state;
	struct rec_gc gc = {.older_than_us = 0};
	fixture_open(f, REC_STORE_INIT);
	struct rec_task task = {.id = S("t"), .title = S("t"), .external_url = S("https://g.org/a/b/issues/1")};
	must(f, rec_store_create(f->store, &task, &f->error));
	must(f, rec_store_link_put(f->store, S("t"), S("x:1"), &f->error));
	foreign_do(f->path, "INSERT INTO rec_links(task_id,url,explicit) VALUES('gone','x:1',1),('gone','x:2',0),"
			    "('t','https://g.org/a/b/issues/1',0),('t','https://g.org/a/b/issues/2',0)");
	must(f, rec_store_gc(f->store, &gc, &f->error));
	assert_int_equal(foreign_int64(f->path, "SELECT count(*) FROM rec_links"), 2);
	assert_int_equal(foreign_int64(f->path, "SELECT count(*) FROM rec_links WHERE task_id='t' AND url<>"
						"'https://g.org/a/b/issues/2'"),
			 2);
}

/* ---- What is refused ---- */

static void refuse_everywhere(struct fixture *f, int code, const char *word)
{
	struct rec_buffer before;
	set_age_ms(f->path, 1000);
	read_file(f->path, &before);
	for (int mode = REC_STORE_READ; mode <= REC_STORE_INIT; mode++) {
		refused(f, code, fixture_try(f, mode), f->path, word);
		assert_same_bytes(f->path, &before);
		assert_int_equal(file_count(f->directory), 1);
	}
	rec_buffer_release(&before);
}

static void test_refused__a_newer_version_and_junk_in_its_place(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *value, *named;
	} versions[] = {{"2", "2"},       {"99", "99"},     {"9223372036854775807", "9223372036854775807"},
			{"0", "0"},       {"-1", "-1"},     {"'1'", "1"},
			{"1.0", "1.0"},   {"NULL", "NULL"}, {"x'01'", "x'01'"},
			{"'new'", "new"}, {"1.5", "1.5"}};
	enum { NEWER = 3 };
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		char *sql =
			sqlite3_mprintf("UPDATE rec_meta SET value=%s WHERE key='schema_version'", versions[i].value);
		foreign_do(f->path, sql);
		sqlite3_free(sql);
		refuse_everywhere(f, REC_E_VERSION, versions[i].named);
		assert_non_null(strstr(f->error.message, "knows 1"));
		assert_int_equal(strstr(f->error.message, "newer program") != NULL, i < NEWER);
	}
	foreign_do(f->path, "DELETE FROM rec_meta WHERE key='schema_version'");
	refuse_everywhere(f, REC_E_VERSION, "schema_version");
	foreign_do(f->path, "DROP TABLE rec_meta; CREATE TABLE rec_meta(other)");
	refuse_everywhere(f, REC_E_SCHEMA, "key");
}

/* What a killed program left in its log is for others to bring home. */
static void test_refused__with_a_log_beside_it_nothing_is_checkpointed(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer before, log_before;
	const char *left = in_directory(f, "left.db"), *left_log = join(f, left, "-wal"),
		   *log = join(f, f->path, "-wal");
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "PRAGMA wal_autocheckpoint=0; UPDATE rec_meta SET value=2 WHERE key='schema_version'");
	copy_file(f->path, left);
	copy_file(log, left_log);
	sqlite3_close(other);
	read_file(left, &before);
	read_file(left_log, &log_before);
	f->path = left;
	for (int mode = REC_STORE_READ; mode <= REC_STORE_INIT; mode++) {
		refused(f, REC_E_VERSION, fixture_try(f, mode), f->path, "newer");
		assert_same_bytes(left, &before);
		assert_same_bytes(left_log, &log_before);
	}
	rec_buffer_release(&before);
	rec_buffer_release(&log_before);
}

static void test_refused__other_programs_databases(void **state)
{
	struct fixture *f = *state;
	foreign_do(f->path, "CREATE TABLE songs(id TEXT, status TEXT); INSERT INTO songs VALUES('a','READY')");
	refuse_everywhere(f, REC_E_NOT_A_STORE, "no table tasks");
	foreign_do(f->path, "CREATE TABLE tasks(name TEXT)");
	refuse_everywhere(f, REC_E_SCHEMA, "id");
	foreign_do(f->path, "ALTER TABLE tasks ADD COLUMN id TEXT");
	refuse_everywhere(f, REC_E_SCHEMA, "status");
	foreign_do(f->path, "DROP TABLE tasks; CREATE VIEW tasks AS SELECT id,status FROM songs");
	refuse_everywhere(f, REC_E_NOT_A_STORE, "no table tasks");
}

static void test_refused__texts_that_are_not_compared_by_their_bytes(void **state)
{
	struct fixture *f = *state;
	foreign_do(f->path, "PRAGMA encoding='UTF-16'; CREATE TABLE tasks(id TEXT PRIMARY KEY, status TEXT)");
	refuse_everywhere(f, REC_E_UNSUPPORTED, "UTF-16");
	unlink(f->path);
	foreign_do(f->path, "CREATE TABLE tasks(id TEXT PRIMARY KEY COLLATE NOCASE, status TEXT)");
	refuse_everywhere(f, REC_E_UNSUPPORTED, "NOCASE");
	unlink(f->path);
	foreign_do(f->path, "CREATE TABLE tasks(id TEXT PRIMARY KEY, status TEXT);"
			    "CREATE TABLE blockers(id TEXT, task_id TEXT COLLATE RTRIM, status TEXT)");
	refuse_everywhere(f, REC_E_UNSUPPORTED, "RTRIM");
}

static void test_refused__what_is_no_database_or_only_a_part_of_one(void **state)
{
	struct fixture *f = *state;
	struct stat file;
	FILE *text = fopen(f->path, "w");
	assert_non_null(text);
	for (int i = 0; i < 500; i++)
		fputs("this is not a database\n", text);
	fclose(text);
	refuse_everywhere(f, REC_E_NOT_A_STORE, "not an SQLite database");
	assert_int_equal(truncate(f->path, 1), 0);
	refuse_everywhere(f, REC_E_NOT_A_STORE, "not an SQLite database");
	fixture_codeframe(f);
	assert_int_equal(stat(f->path, &file), 0);
	static const struct {
		int64_t bytes;
		int code;
	} cuts[] = {{60, REC_E_CORRUPT}, {4096, REC_E_CORRUPT}, {20000, REC_E_CORRUPT}};
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		fixture_codeframe(f);
		assert_int_equal(truncate(f->path, cuts[i].bytes), 0);
		refuse_everywhere(f, cuts[i].code, f->path);
	}
}

static void test_refused__a_malformed_database_stops_all_work_and_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer before;
	struct rec_snapshot snapshot;
	struct rec_cursor cursor = {0};
	struct told told;
	fixture_open(f, REC_STORE_INIT);
	must(f, rec_store_begin(f->store, &f->error));
	for (int i = 0; i < 3000; i++) {
		char id[16];
		snprintf(id, sizeof id, "task-%d", i);
		add_task(f, id, REC_READY);
	}
	must(f, rec_store_commit(f->store, &f->error));
	fixture_close(f);
	/* Ruin the index on the status, where the sweep reads. */
	int64_t page = foreign_int64(f->path, "SELECT rootpage FROM sqlite_schema WHERE name='idx_tasks_status'");
	FILE *file = fopen(f->path, "r+");
	assert_non_null(file);
	fseek(file, (long)(page - 1) * 4096, SEEK_SET);
	for (int i = 0; i < 4096; i++)
		fputc(0xa5, file);
	fclose(file);
	set_age_ms(f->path, 1000);
	read_file(f->path, &before);
	for (int mode = REC_STORE_READ; mode <= REC_STORE_WRITE; mode++) {
		fixture_open(f, mode);
		refused(f, REC_E_CORRUPT, rec_store_snapshot(f->store, NULL, 0, 0, &snapshot, &f->error), f->path,
			"malformed", "restore");
		refused(f, REC_E_CORRUPT, rec_store_snapshot(f->store, NULL, 0, 0, &snapshot, &f->error), "stopped");
		refused(f, REC_E_CORRUPT, changes(f, &cursor, &told), f->path);
		if (mode == REC_STORE_WRITE)
			refused(f, REC_E_CORRUPT, rec_store_begin(f->store, &f->error), f->path);
		fixture_close(f);
		assert_same_bytes(f->path, &before);
	}
	rec_buffer_release(&before);
}

/* ---- Databases that lack something ---- */

static void test_columns__two_of_each_are_enough_to_check(void **state)
{
	struct fixture *f = *state;
	struct rec_slice ids[] = {S("a"), S("b"), S("c")};
	struct rec_snapshot s;
	unsigned fields = REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY;
	struct rec_task task;
	foreign_do(f->path, "CREATE TABLE tasks(id TEXT PRIMARY KEY, status TEXT); CREATE TABLE blockers(task_id TEXT, "
			    "status TEXT); INSERT INTO tasks VALUES('a','DONE'),('b','BLOCKED'); "
			    "INSERT INTO blockers VALUES('b','OPEN'),('b','ANSWERED')");
	set_age_ms(f->path, 1000);
	fixture_open(f, REC_STORE_READ);
	must(f, rec_store_snapshot(f->store, ids, 3, fields, &s, &f->error));
	assert_int_equal(s.facts[0].status, REC_DONE);
	assert_int_equal(s.facts[1].status, REC_BLOCKED);
	assert_int_equal(s.facts[1].blockers_total, 2);
	assert_int_equal(s.facts[1].blockers_open, 1);
	assert_true(s.facts[1].is_leaf);
	assert_int_equal(s.facts[2].status, REC_STATUS_ABSENT);
	rec_snapshot_release(&s);
	refused(f, REC_E_SCHEMA, rec_store_get(f->store, S("b"), &f->arena, &task, &f->error), f->path);
	foreign_do(f->path, "ALTER TABLE blockers RENAME COLUMN status TO state");
	refused(f, REC_E_SCHEMA, rec_store_snapshot(f->store, ids, 3, fields, &s, &f->error), "blockers", "status");
	foreign_do(f->path, "DROP TABLE blockers");
	must(f, rec_store_snapshot(f->store, ids, 3, fields, &s, &f->error));
	assert_int_equal(s.facts[1].blockers_total, 0);
	rec_snapshot_release(&s);
	must(f, rec_store_get(f->store, S("a"), &f->arena, &task, &f->error));
	assert_int_equal(task.status, REC_DONE);
}

/* As an older codeframe made it. */
static void old_codeframe(struct fixture *f)
{
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	foreign_do(
		f->path,
		"DROP TABLE batch_runs; DROP TABLE tasks; DROP TABLE blockers; DROP TABLE prds;"
		"CREATE TABLE tasks(id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL REFERENCES workspace(id), title "
		"TEXT NOT NULL, description TEXT, status TEXT NOT NULL DEFAULT 'BACKLOG', priority INTEGER DEFAULT 0, "
		"created_at TEXT NOT NULL, updated_at TEXT NOT NULL);"
		"CREATE TABLE blockers(id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, task_id TEXT REFERENCES "
		"tasks(id), question TEXT NOT NULL, answer TEXT, status TEXT NOT NULL DEFAULT 'OPEN', created_at TEXT "
		"NOT NULL, answered_at TEXT)");
}

static void test_columns__an_older_database_takes_what_it_has_columns_for(void **state)
{
	struct fixture *f = *state;
	struct rec_task task = {.id = S("t"), .title = S("x"), .status = REC_READY, .is_leaf = true}, got;
	struct rec_blocker blocker = {.id = S("k"), .task_id = S("t"), .question = S("?")};
	old_codeframe(f);
	fixture_open(f, REC_STORE_INIT);
	must(f, rec_store_create(f->store, &task, &f->error));
	must(f, rec_store_blocker_create(f->store, &blocker, &f->error));
	must(f, rec_store_get(f->store, S("t"), &f->arena, &got, &f->error));
	assert_int_equal(got.blocker_count, 1);
	assert_true(rec_slice_equal(got.blockers[0].created_by, S("human")));
	must(f, rec_store_set_status(f->store, S("t"), REC_READY, REC_DONE, NULL, NULL, NULL, &f->error));
	task.id = S("u");
	task.external_url = S("https://example.org/1");
	refused(f, REC_E_SCHEMA, rec_store_create(f->store, &task, &f->error), "tasks", "external_url");
	refused(f, REC_E_SCHEMA, rec_store_edit(f->store, &task, REC_EDIT_EXTERNAL_URL, &f->error), "external_url");
	blocker.id = S("k2");
	blocker.created_by = S("agent");
	refused(f, REC_E_SCHEMA, rec_store_blocker_create(f->store, &blocker, &f->error), "blockers", "created_by");
	assert_int_equal(task_count(f), 1);
	must(f, rec_store_delete(f->store, S("t"), &f->error));
}

static void test_columns__that_come_later_are_used_at_once(void **state)
{
	struct fixture *f = *state;
	struct rec_task task = {.id = S("t"),
				.title = S("x"),
				.status = REC_READY,
				.is_leaf = true,
				.external_url = S("https://example.org/1")};
	struct rec_cursor cursor = {0};
	old_codeframe(f);
	fixture_open(f, REC_STORE_INIT);
	refused(f, REC_E_SCHEMA, rec_store_create(f->store, &task, &f->error), "external_url");
	assert_changes(f, &cursor, REC_RESCAN, "");
	foreign_do(f->path,
		   "ALTER TABLE tasks ADD COLUMN external_url TEXT; ALTER TABLE tasks ADD COLUMN is_leaf INTEGER "
		   "DEFAULT 1; ALTER TABLE tasks ADD COLUMN depends_on TEXT DEFAULT '[]'");
	must(f, rec_store_create(f->store, &task, &f->error));
	assert_changes(f, &cursor, REC_RESCAN, ""); /* and the new columns have no trigger yet */
	assert_false(sqlite_of(f)->schema.feed);
	fixture_open(f, REC_STORE_INIT);
	assert_true(sqlite_of(f)->schema.feed);
}

static void test_columns__workspace_without_a_row(void **state)
{
	struct fixture *f = *state;
	struct rec_task task = {.id = S("t"), .title = S("x"), .status = REC_READY, .is_leaf = true};
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	foreign_do(f->path, "DELETE FROM workspace");
	fixture_open(f, REC_STORE_WRITE);
	refused(f, REC_E_SCHEMA, rec_store_create(f->store, &task, &f->error), "workspace");
}

/* ---- Problems ---- */

static int collect_problem(void *context, const char *kind, const char *sentence)
{
	char *text = context;
	size_t used = strlen(text);
	assert_true(strlen(sentence) > 20);
	snprintf(text + used, 512 - used, "%s ", kind);
	return 0;
}

static void test_problems__name_what_is_missing_of_ours(void **state)
{
	struct fixture *f = *state;
	char text[512] = "";
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	must(f, rec_store_problems(f->store, collect_problem, text, &f->error));
	assert_string_equal(text, ""); /* not ours to miss anything */
	fixture_open(f, REC_STORE_INIT);
	must(f, rec_store_problems(f->store, collect_problem, text, &f->error));
	assert_string_equal(text, "");
	foreign_do(f->path,
		   "DROP TRIGGER rec_on_blocker_status; DROP INDEX rec_tasks_parent; DROP TRIGGER "
		   "rec_on_task_status; CREATE TRIGGER rec_on_task_status AFTER UPDATE OF status ON tasks BEGIN "
		   "SELECT 1; END; DROP TABLE rec_released");
	must(f, rec_store_problems(f->store, collect_problem, text, &f->error));
	assert_string_equal(text, "missing-table missing-trigger missing-trigger missing-index ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sqlite_test(test_init__a_new_store_has_the_tables_that_codeframe_has),
		sqlite_test(test_init__adds_to_codeframes_database_only_what_begins_with_rec),
		sqlite_test(test_init__again_writes_nothing),
		sqlite_test(test_init__of_an_empty_file_or_database_makes_a_store),
		sqlite_test(test_init__brings_back_what_is_missing_of_ours),
		sqlite_test(test_init__adds_links_to_a_store_of_an_older_version),
		sqlite_test(test_links__rows_that_no_version_writes_are_never_observed),
		sqlite_test(test_links__a_look_at_all_of_them_does_not_scan_the_tasks),
		sqlite_test(test_gc__forgets_links_that_are_none),
		sqlite_test(test_refused__a_newer_version_and_junk_in_its_place),
		sqlite_test(test_refused__with_a_log_beside_it_nothing_is_checkpointed),
		sqlite_test(test_refused__other_programs_databases),
		sqlite_test(test_refused__texts_that_are_not_compared_by_their_bytes),
		sqlite_test(test_refused__what_is_no_database_or_only_a_part_of_one),
		sqlite_test(test_refused__a_malformed_database_stops_all_work_and_is_left_alone),
		sqlite_test(test_columns__two_of_each_are_enough_to_check),
		sqlite_test(test_columns__an_older_database_takes_what_it_has_columns_for),
		sqlite_test(test_columns__that_come_later_are_used_at_once),
		sqlite_test(test_columns__workspace_without_a_row),
		sqlite_test(test_problems__name_what_is_missing_of_ours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
