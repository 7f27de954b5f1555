/* test-sqlite-feed.c - the change feed with foreign writers, triggers that must never be in their way, and being
 * woken. */
#include "store/test-sqlite.h"

#include <poll.h>

static void begin_feed(struct fixture *f, struct rec_cursor *cursor)
{
	*cursor = (struct rec_cursor){0};
	assert_changes(f, cursor, REC_RESCAN, "");
	assert_changes(f, cursor, 0, "");
}

static void attached(struct fixture *f)
{
	fixture_open(f, REC_STORE_INIT);
	add_task(f, "a", REC_READY);
	add_task(f, "b", REC_BLOCKED);
	struct rec_blocker blocker = {.id = S("k"), .task_id = S("b"), .question = S("?")};
	must(f, rec_store_blocker_create(f->store, &blocker, &f->error));
}

/* ---- What triggers tell ---- */

static void test_feed__tells_of_every_change_that_matters_and_no_other(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *sql, *told;
	} writes[] = {
		{"UPDATE tasks SET status='DONE' WHERE id='a'", "a "},
		{"UPDATE tasks SET status='DONE' WHERE id='a'", ""},
		{"UPDATE tasks SET priority=7 WHERE id='a'", "a "},
		{"UPDATE tasks SET priority=7,status='DONE'", "b b "},
		{"UPDATE tasks SET depends_on='[\"a\"]' WHERE id='b'", "b "},
		{"UPDATE tasks SET is_leaf=0 WHERE id='b'", "b "},
		{"UPDATE tasks SET title='new',description='x',updated_at='now'", ""},
		{"UPDATE blockers SET answer='x'", ""},
		{"UPDATE blockers SET status='ANSWERED'", "b "},
		{"UPDATE blockers SET status='ANSWERED'", ""},
		{"UPDATE blockers SET task_id='a'", "b a "},
		{"UPDATE blockers SET task_id=NULL", "a "},
		{"INSERT INTO blockers(id,workspace_id,task_id,question,created_at) SELECT 'k2',id,'b','?','' FROM "
		 "workspace",
		 "b "},
		{"DELETE FROM blockers WHERE id='k2'", "b "},
		{"UPDATE tasks SET id='c' WHERE id='a'", "a c "},
		{"DELETE FROM tasks WHERE id='c'", "c "},
		{"INSERT INTO tasks(id,workspace_id,title,created_at,updated_at) SELECT 'd',id,'t','','' FROM "
		 "workspace",
		 "d "},
		{"INSERT OR REPLACE INTO tasks(id,workspace_id,title,created_at,updated_at) SELECT 'd',id,'t','','' "
		 "FROM "
		 "workspace",
		 "d "},
		{"INSERT INTO tasks(id,workspace_id,title,created_at,updated_at) SELECT 'd',id,'t','','' FROM "
		 "workspace WHERE 1 "
		 "ON CONFLICT(id) DO UPDATE SET status='MERGED'",
		 "d "},
		{"BEGIN; UPDATE tasks SET status='READY'; ROLLBACK", ""},
		{"UPDATE runs SET status='FAILED'; UPDATE workspace SET tech_stack='C'", ""},
	};
	struct rec_cursor cursor;
	attached(f);
	begin_feed(f, &cursor);
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "PRAGMA recursive_triggers=OFF");
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
		foreign_run(other, writes[i].sql);
		struct told told;
		int r = changes(f, &cursor, &told);
		if (r != 0 || strcmp(told.text, writes[i].told) != 0)
			fail_msg("%s: %d told '%s'", writes[i].sql, r, told.text);
	}
	sqlite3_close(other);
}

static void test_triggers__never_make_a_foreign_writer_fail(void **state)
{
	struct fixture *f = *state;
	static const char *const conflicts[] = {"", "OR REPLACE", "OR IGNORE", "OR FAIL", "OR ABORT", "OR ROLLBACK"};
	static const char *const values[] = {
		"NULL", "''", "0", "1.5", "x'00ff'", "'READY'", "zeroblob(100000)", "9223372036854775807"};
	static const char *const columns[] = {"id", "status", "priority", "depends_on", "is_leaf"};
	attached(f);
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF; PRAGMA trusted_schema=OFF;"
			   "PRAGMA recursive_triggers=ON");
	/* A table as loose as can be, so that only a trigger could refuse. */
	foreign_run(other, "DROP TABLE blockers; DROP TABLE tasks; CREATE TABLE tasks(id,status,priority,depends_on,"
			   "is_leaf,workspace_id,title); CREATE TABLE blockers(id,task_id,status)");
	fixture_open(f, REC_STORE_INIT);
	assert_true(sqlite_of(f)->schema.feed);
	for (size_t c = 0; c < sizeof conflicts / sizeof *conflicts; c++)
		for (size_t v = 0; v < sizeof values / sizeof *values; v++)
			for (size_t n = 0; n < sizeof columns / sizeof *columns; n++) {
				char *sql = sqlite3_mprintf(
					"INSERT %s INTO tasks(%s) VALUES(%s); UPDATE %s tasks SET %s=%s; INSERT %s "
					"INTO "
					"blockers VALUES(%s,%s,%s); UPDATE %s blockers SET task_id=%s,status=%s; "
					"DELETE FROM tasks WHERE rowid%%2; DELETE FROM blockers WHERE rowid%%2",
					conflicts[c], columns[n], values[v], conflicts[c], columns[n], values[v],
					conflicts[c], values[v], values[v], values[v], conflicts[c], values[v],
					values[v]);
				foreign_run(other, sql);
				sqlite3_free(sql);
			}
	struct rec_cursor cursor = {0};
	struct told told;
	assert_int_equal(changes(f, &cursor, &told), REC_RESCAN);
	foreign_run(other, "UPDATE tasks SET id=NULL; UPDATE tasks SET id=x'00'; UPDATE tasks SET id=5");
	assert_changes(f, &cursor, 0, ""); /* what cannot be an id is nobody's */
	sqlite3_close(other);
}

/* The ways in which codeframe, or anybody, changes a table. */
static void test_triggers__are_not_in_the_way_of_a_migration(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *sql;
		bool rescan;
	} migrations[] = {
		{"ALTER TABLE tasks ADD COLUMN later TEXT DEFAULT 'x'", true},
		{"ALTER TABLE tasks RENAME COLUMN later TO sooner", true},
		{"ALTER TABLE tasks DROP COLUMN sooner", true},
		{"BEGIN; CREATE TABLE tasks_new AS SELECT * FROM tasks; DROP TABLE tasks; ALTER TABLE tasks_new RENAME "
		 "TO "
		 "tasks; COMMIT",
		 true},
		{"BEGIN; ALTER TABLE blockers RENAME TO blockers_old; CREATE TABLE blockers AS SELECT * FROM "
		 "blockers_old; "
		 "DROP TABLE blockers_old; COMMIT",
		 true},
		{"VACUUM", true},
		{"ANALYZE", true},
		{"REINDEX", false},
	};
	struct rec_cursor cursor = {0};
	attached(f);
	for (size_t i = 0; i < sizeof migrations / sizeof *migrations; i++) {
		begin_feed(f, &cursor);
		foreign_do(f->path, migrations[i].sql);
		assert_changes(f, &cursor, migrations[i].rescan ? REC_RESCAN : 0, "");
		assert_int_equal(status_of(f, "a"), REC_READY);
		/* From then on each change is told, or means another look at everything. */
		foreign_do(f->path, "UPDATE tasks SET status='DONE' WHERE id='a'");
		struct told told;
		int r = changes(f, &cursor, &told);
		assert_true(r == REC_RESCAN || (r == 0 && strcmp(told.text, "a ") == 0));
		assert_int_equal(status_of(f, "a"), REC_DONE);
		assert_changes(f, &cursor, 0, "");
		foreign_do(f->path, "UPDATE tasks SET status='READY' WHERE id='a'");
		fixture_open(f, REC_STORE_INIT);
	}
}

static void test_feed__a_missing_trigger_means_rescans_until_init_brings_it_back(void **state)
{
	struct fixture *f = *state;
	struct rec_cursor cursor, second;
	attached(f);
	begin_feed(f, &cursor);
	begin_feed(f, &second);
	foreign_do(f->path, "DROP TRIGGER rec_on_task_status");
	assert_changes(f, &cursor, REC_RESCAN, "");
	assert_changes(f, &cursor, 0, "");
	for (int i = 0; i < 3; i++) {
		foreign_do(f->path, i % 2 ? "UPDATE tasks SET status='READY'" : "UPDATE tasks SET status='DONE'");
		assert_changes(f, &cursor, REC_RESCAN, "");
		assert_changes(f, &second, REC_RESCAN, "");
		assert_changes(f, &cursor, 0, "");
	}
	add_task(f, "own", REC_READY);
	assert_changes(f, &cursor, REC_RESCAN, "");
	struct rec_store_options options = f->options;
	struct rec_store *init;
	options.mode = REC_STORE_INIT;
	must(f, rec_store_sqlite_open(f->path, &options, &init, &f->error));
	rec_store_close(init);
	assert_changes(f, &cursor, REC_RESCAN, "");
	foreign_do(f->path, "UPDATE tasks SET status='FAILED' WHERE id='a'");
	assert_changes(f, &cursor, 0, "a ");
	assert_changes(f, &second, REC_RESCAN, "");
}

static void test_feed__rows_that_somebody_deleted_are_noticed(void **state)
{
	struct fixture *f = *state;
	struct rec_cursor cursor, behind;
	attached(f);
	begin_feed(f, &behind);
	foreign_do(f->path, "UPDATE tasks SET status='DONE'");
	begin_feed(f, &cursor);
	foreign_do(f->path,
		   "UPDATE tasks SET status='FAILED'; DELETE FROM rec_changes WHERE seq<=(SELECT max(seq)-2 FROM "
		   "rec_changes)");
	assert_changes(f, &behind, REC_RESCAN, "");
	assert_changes(f, &cursor, REC_RESCAN, "");
	foreign_do(f->path, "DELETE FROM rec_changes");
	assert_changes(f, &cursor, REC_RESCAN, "");
	foreign_do(f->path, "UPDATE tasks SET status='READY' WHERE id='b'");
	struct told told;
	int r = changes(f, &cursor, &told);
	assert_true(r == REC_RESCAN || (r == 0 && strcmp(told.text, "b ") == 0));
}

/* ---- Stores that are only read ---- */

static void test_feed__a_database_without_our_tables_is_reread_whenever_it_changed(void **state)
{
	struct fixture *f = *state;
	struct rec_cursor cursor, second;
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	begin_feed(f, &cursor);
	begin_feed(f, &second);
	for (int i = 0; i < 3; i++) {
		foreign_do(f->path, "UPDATE tasks SET priority=priority+1"); /* opened and closed: quiet again */
		assert_changes(f, &cursor, REC_RESCAN, "");
		assert_changes(f, &cursor, 0, "");
		assert_changes(f, &second, REC_RESCAN, "");
	}
	sqlite3 *other = foreign_open(f->path); /* stays open: a log */
	for (int i = 0; i < 3; i++) {
		foreign_run(other, "UPDATE tasks SET priority=priority+1");
		assert_changes(f, &cursor, REC_RESCAN, "");
		assert_changes(f, &cursor, 0, "");
		assert_changes(f, &second, REC_RESCAN, "");
	}
	sqlite3_close(other);
}

static void test_feed__our_store_opened_for_reading_has_the_feed(void **state)
{
	struct fixture *f = *state;
	struct rec_cursor cursor;
	attached(f);
	fixture_open(f, REC_STORE_READ);
	begin_feed(f, &cursor);
	foreign_do(f->path, "UPDATE tasks SET status='DONE' WHERE id='a'");
	assert_changes(f, &cursor, 0, "a ");
	assert_changes(f, &cursor, 0, "");
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "UPDATE tasks SET status='READY' WHERE id='a'");
	assert_changes(f, &cursor, 0, "a ");
	foreign_run(other, "UPDATE blockers SET status='ANSWERED'");
	assert_changes(f, &cursor, 0, "b ");
	sqlite3_close(other);
	assert_changes(f, &cursor, 0, "");
	assert_int_equal(status_of(f, "a"), REC_READY);
}

static void test_feed__a_database_that_replaces_ours_is_a_rescan(void **state)
{
	struct fixture *f = *state;
	struct rec_cursor cursor;
	const char *other = join(f, f->path, "-new");
	attached(f);
	fixture_close(f);
	copy_file(f->path, other);
	fixture_open(f, REC_STORE_READ);
	begin_feed(f, &cursor);
	foreign_do(other, "UPDATE tasks SET status='MERGED' WHERE id='a'; DELETE FROM rec_changes WHERE seq<3; UPDATE "
			  "rec_meta SET value=value+1 WHERE key='feed_id'");
	assert_int_equal(rename(other, f->path), 0);
	assert_changes(f, &cursor, REC_RESCAN, "");
	assert_int_equal(status_of(f, "a"), REC_MERGED);
}

/* ---- The cost of looking ---- */

static int statements;

static int count_statement(unsigned type, void *context, void *statement, void *text)
{
	(void)type, (void)context, (void)statement, (void)text;
	statements++;
	return 0;
}

static void test_feed__an_idle_look_is_one_statement_and_k_changes_are_one_query(void **state)
{
	struct fixture *f = *state;
	struct rec_cursor cursor;
	struct told told;
	attached(f);
	begin_feed(f, &cursor);
	sqlite3_trace_v2(sqlite_of(f)->db, SQLITE_TRACE_STMT, count_statement, NULL);
	statements = 0;
	assert_int_equal(changes(f, &cursor, &told), 0);
	assert_int_equal(statements, 1);
	int few = 0, many = 0;
	for (int i = 1; i <= 1000; i *= 1000) {
		char *sql =
			sqlite3_mprintf("INSERT INTO tasks(id,workspace_id,title,created_at,updated_at) WITH RECURSIVE "
					"n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<%d) SELECT "
					"'n%d-'||i,w.id,'t','','' FROM n, workspace w",
					i, i);
		foreign_do(f->path, sql);
		sqlite3_free(sql);
		statements = 0;
		assert_int_equal(changes(f, &cursor, &told), 0);
		assert_int_equal(told.count, i);
		*(i == 1 ? &few : &many) = statements;
	}
	assert_int_equal(few, many);
}

static void test_stamp__is_the_same_until_somebody_else_commits_and_costs_one_statement(void **state)
{
	struct fixture *f = *state;
	uint64_t stamp, again;
	attached(f);
	must(f, rec_store_stamp(f->store, &stamp, &f->error));
	task_count(f); /* reading is no commit */
	must(f, rec_store_event_add(f->store, &(struct rec_event){.event = rec_slice_of("OWN")}, &f->error));
	sqlite3_trace_v2(sqlite_of(f)->db, SQLITE_TRACE_STMT, count_statement, NULL);
	statements = 0;
	must(f, rec_store_stamp(f->store, &again, &f->error));
	assert_int_equal(statements, 1);
	assert_true(again == stamp);
	foreign_do(f->path, "UPDATE tasks SET title=title||'.'"); /* nothing that the feed tells */
	must(f, rec_store_stamp(f->store, &again, &f->error));
	assert_true(again != stamp);
}

static void test_stamp__of_a_reader_promises_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t stamp, again;
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	must(f, rec_store_stamp(f->store, &stamp, &f->error));
	must(f, rec_store_stamp(f->store, &again, &f->error));
	assert_true(again != stamp);
}

/* ---- Being woken ---- */

static int wake_fd(struct fixture *f)
{
	int fd = -1;
	must(f, rec_store_wake_fd(f->store, &fd, &f->error));
	assert_true(fd >= 0);
	return fd;
}

static bool woken(struct fixture *f, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool readable = poll(&p, 1, 0) == 1;
	rec_store_wake_drain(f->store);
	p.revents = 0;
	assert_int_equal(poll(&p, 1, 0), 0);
	return readable;
}

static void test_wake__by_whoever_writes_the_database_and_by_nothing_else(void **state)
{
	struct fixture *f = *state;
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	const char *log = in_directory(f, "agent.log");
	FILE *noise = fopen(log, "w");
	assert_non_null(noise);
	int fd = wake_fd(f);
	assert_int_equal(wake_fd(f), fd);
	assert_false(woken(f, fd));
	for (int i = 0; i < 10; i++) {
		fprintf(noise, "line %d\n", i);
		fflush(noise);
	}
	assert_false(woken(f, fd));
	for (int i = 0; i < 3; i++) { /* the log comes and goes */
		foreign_do(f->path, "UPDATE tasks SET priority=priority+1");
		assert_true(woken(f, fd));
	}
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "UPDATE tasks SET priority=priority+1");
	assert_true(woken(f, fd));
	for (int i = 0; i < 100; i++) {
		foreign_run(other, "UPDATE tasks SET priority=priority+1");
		assert_true(woken(f, fd));
	}
	assert_int_equal(task_count(f), 25); /* our own reading wakes nobody */
	assert_false(woken(f, fd));
	sqlite3_close(other);
	fclose(noise);
}

static void test_wake__when_the_database_is_replaced(void **state)
{
	struct fixture *f = *state;
	const char *other = join(f, f->path, "-new");
	fixture_codeframe(f);
	copy_file(f->path, other);
	fixture_open(f, REC_STORE_READ);
	int fd = wake_fd(f);
	assert_int_equal(rename(other, f->path), 0);
	assert_true(woken(f, fd));
	foreign_do(f->path, "UPDATE tasks SET priority=priority+1");
	assert_true(woken(f, fd));
}

static void test_wake__without_a_directory_is_an_error(void **state)
{
	struct fixture *f = *state;
	int fd = -1;
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	const char *away = join(f, f->directory, "-away");
	assert_int_equal(rename(f->directory, away), 0);
	refused(f, REC_E_IO, rec_store_wake_fd(f->store, &fd, &f->error), f->directory);
	assert_int_equal(fd, -1);
	rec_store_wake_drain(f->store);
	assert_int_equal(rename(away, f->directory), 0);
	wake_fd(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sqlite_test(test_feed__tells_of_every_change_that_matters_and_no_other),
		sqlite_test(test_triggers__never_make_a_foreign_writer_fail),
		sqlite_test(test_triggers__are_not_in_the_way_of_a_migration),
		sqlite_test(test_feed__a_missing_trigger_means_rescans_until_init_brings_it_back),
		sqlite_test(test_feed__rows_that_somebody_deleted_are_noticed),
		sqlite_test(test_feed__a_database_without_our_tables_is_reread_whenever_it_changed),
		sqlite_test(test_feed__our_store_opened_for_reading_has_the_feed),
		sqlite_test(test_feed__a_database_that_replaces_ours_is_a_rescan),
		sqlite_test(test_feed__an_idle_look_is_one_statement_and_k_changes_are_one_query),
		sqlite_test(test_stamp__is_the_same_until_somebody_else_commits_and_costs_one_statement),
		sqlite_test(test_stamp__of_a_reader_promises_nothing),
		sqlite_test(test_wake__by_whoever_writes_the_database_and_by_nothing_else),
		sqlite_test(test_wake__when_the_database_is_replaced),
		sqlite_test(test_wake__without_a_directory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
