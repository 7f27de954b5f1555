/* test-postgres.c - what is PostgreSQL's own: other sessions, a server that goes away, the schema's version and its
 * privileges. Runs under tests/postgres/with-cluster, whose script starts and stops the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/postgres.h"

#define S(text) rec_slice_of(text)
#define SOON_MS 10000 /* what must happen happens long before */

struct fixture {
	struct rec_failing_allocator memory;
	struct rec_store_options options;
	struct rec_store *store;
	PGconn *other; /* another program */
	struct rec_error error;
};

#define expect(f, wanted, call) expect_result(f, wanted, call, #call, __LINE__)
static void expect_result(struct fixture *f, int wanted, int r, const char *call, int line)
{
	if (r == wanted)
		return;
	print_error("line %d: %s\n  wanted %d, have %d: %s\n", line, call, wanted, r, r < 0 ? f->error.message : "");
	fail();
}

/* ---- The server ---- */

static const char *server(void)
{
	const char *uri = getenv("REC_TEST_POSTGRES");
	assert_non_null(uri); /* run this under tests/postgres/with-cluster */
	return uri;
}

static void cluster(const char *what)
{
	char action[8];
	char *script = getenv("REC_TEST_POSTGRES_CLUSTER");
	char *words[] = {script, action, NULL};
	posix_spawn_file_actions_t silent;
	pid_t pid;
	int status;
	snprintf(action, sizeof action, "%s", what);
	posix_spawn_file_actions_init(&silent);
	for (int fd = 0; fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&silent, fd, "/dev/null", O_RDWR, 0);
	assert_int_equal(posix_spawn(&pid, script, &silent, NULL, words, environ), 0);
	posix_spawn_file_actions_destroy(&silent);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void quiet(void *context, const char *message)
{
	(void)context, (void)message;
}

static PGconn *program_new(void)
{
	PGconn *program = PQconnectdb(server());
	if (PQstatus(program) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(program));
	PQsetNoticeProcessor(program, quiet, NULL);
	return program;
}

static void sql(PGconn *program, const char *text)
{
	PGresult *result = PQexec(program, text);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", text, PQresultErrorMessage(result));
	PQclear(result);
}

static int setup(void **state)
{
	struct fixture *f = rec_zalloc(NULL, 1, sizeof *f);
	assert_non_null(f);
	rec_failing_allocator_init(&f->memory, 0, 0);
	f->options = (struct rec_store_options){
		.mode = REC_STORE_INIT, .allocator = &f->memory.allocator, .busy_timeout_ms = 100};
	f->other = program_new();
	sql(f->other, "DROP SCHEMA IF EXISTS reconciler CASCADE");
	expect(f, 0, rec_store_open(server(), &f->options, &f->store, &f->error));
	f->options.mode = REC_STORE_WRITE;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	rec_store_close(f->store);
	assert_int_equal(f->memory.live, 0);
	PQfinish(f->other);
	rec_free(NULL, f);
	return 0;
}

static int add(struct fixture *f, struct rec_store *s, const char *id)
{
	const struct rec_task task = {.id = S(id), .title = S("a task"), .status = REC_READY, .is_leaf = true};
	return rec_store_create(s, &task, &f->error);
}

/* ---- The change feed ---- */

struct told {
	char ids[256];
};

static int tell(void *context, struct rec_slice id)
{
	struct told *told = context;
	size_t used = strlen(told->ids);
	snprintf(told->ids + used, sizeof told->ids - used, "%.*s ", (int)id.length, id.data);
	return 0;
}

static void assert_told(struct fixture *f, struct rec_cursor *cursor, const char *wanted)
{
	struct told told = {""};
	expect(f, 0, rec_store_changes(f->store, cursor, tell, &told, &f->error));
	assert_string_equal(told.ids, wanted);
}

/* The numbers of the feed are given before the commit. If two transactions could hold some at the same time, the later
 * one could become visible first, a consumer go past it, and the earlier one never be told. */
static void test_feed__a_commit_that_becomes_visible_late_is_not_missed(void **state)
{
	struct fixture *f = *state;
	struct told told = {""};
	struct rec_cursor cursor = {0};
	expect(f, REC_RESCAN, rec_store_changes(f->store, &cursor, tell, &told, &f->error));
	sql(f->other, "BEGIN; INSERT INTO reconciler.tasks(id,title) VALUES('early','x')");
	expect(f, REC_E_BUSY, add(f, f->store, "late"));
	assert_told(f, &cursor, "");
	sql(f->other, "COMMIT");
	expect(f, 0, add(f, f->store, "late"));
	assert_told(f, &cursor, "early late ");
}

static void test_feed__a_program_waits_for_our_group(void **state)
{
	struct fixture *f = *state;
	struct told told = {""};
	struct rec_cursor cursor = {0};
	expect(f, REC_RESCAN, rec_store_changes(f->store, &cursor, tell, &told, &f->error));
	expect(f, 0, rec_store_begin(f->store, &f->error));
	expect(f, 0, add(f, f->store, "ours"));
	sql(f->other, "SET lock_timeout=50");
	const char *const texts[] = {"INSERT INTO reconciler.tasks(id,title) VALUES('theirs','x')",
				     "DELETE FROM reconciler.claims"};
	for (int i = 0; i < 2; i++) {
		PGresult *result = PQexec(f->other, texts[i]);
		assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "55P03");
		PQclear(result);
	}
	expect(f, 0, rec_store_commit(f->store, &f->error));
	sql(f->other, texts[0]);
	assert_told(f, &cursor, "ours theirs ");
}

static void test_feed__what_is_truncated_means_a_snapshot(void **state)
{
	struct fixture *f = *state;
	struct told told = {""};
	struct rec_cursor cursor = {0};
	expect(f, 0, add(f, f->store, "a"));
	expect(f, REC_RESCAN, rec_store_changes(f->store, &cursor, tell, &told, &f->error));
	sql(f->other, "TRUNCATE reconciler.tasks CASCADE");
	expect(f, REC_RESCAN, rec_store_changes(f->store, &cursor, tell, &told, &f->error));
}

static void test_rows__a_program_cannot_write_what_is_no_task(void **state)
{
	struct fixture *f = *state;
	static const char *const bad[] = {
		"INSERT INTO reconciler.tasks(id,title) VALUES('','x')",
		"INSERT INTO reconciler.tasks(id,title) VALUES(E'a\\nb','x')",
		"INSERT INTO reconciler.tasks(id,title) VALUES(U&'a\\0085b','x')",
		"INSERT INTO reconciler.tasks(id,title) VALUES(repeat('x',256),'x')",
		"INSERT INTO reconciler.tasks(id,title,status) VALUES('a','x','ready')",
		"INSERT INTO reconciler.tasks(id,title,depends_on) VALUES('a','x',ARRAY['b',NULL])",
		"INSERT INTO reconciler.tasks(id,title,depends_on) VALUES('a','x',ARRAY[['b'],['c']])",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		PGresult *result = PQexec(f->other, bad[i]);
		const char *state_of = PQresultErrorField(result, PG_DIAG_SQLSTATE);
		if (!state_of || strcmp(state_of, "23514") != 0)
			fail_msg("%s: %s", bad[i], PQresultErrorMessage(result));
		PQclear(result);
	}
}

static void test_errors__a_session_that_idled_too_long_may_try_again(void **state)
{
	struct fixture *f = *state;
	static const char *const states[] = {"25P03", "25P04"};
	sql(f->other, "CREATE TABLE reconciler.idled(state text)");
	sql(f->other, "CREATE FUNCTION reconciler.idle() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
		      "RAISE 'idled' USING ERRCODE = (SELECT state FROM reconciler.idled); END$$");
	sql(f->other, "CREATE TRIGGER idle BEFORE INSERT ON reconciler.tasks FOR EACH STATEMENT "
		      "EXECUTE FUNCTION reconciler.idle()");
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		char set[120];
		snprintf(set, sizeof set, "DELETE FROM reconciler.idled; INSERT INTO reconciler.idled VALUES('%s')",
			 states[i]);
		sql(f->other, set);
		expect(f, REC_E_BUSY, add(f, f->store, "a"));
	}
}

/* ---- Being woken ---- */

static void await(int fd)
{
	struct pollfd wake = {.fd = fd, .events = POLLIN};
	assert_int_equal(poll(&wake, 1, SOON_MS), 1);
}

static bool quiet_now(int fd)
{
	struct pollfd wake = {.fd = fd, .events = POLLIN};
	return poll(&wake, 1, 0) == 0;
}

static void test_wake__a_program_that_writes_wakes(void **state)
{
	struct fixture *f = *state;
	int fd = -1;
	expect(f, 0, rec_store_wake_fd(f->store, &fd, &f->error));
	assert_true(fd >= 0);
	assert_true(quiet_now(fd));
	sql(f->other, "INSERT INTO reconciler.tasks(id,title) VALUES('a','x')");
	await(fd);
	rec_store_wake_drain(f->store);
	assert_true(quiet_now(fd));
}

/* The notification is there, and is then read behind the answer to a question. */
static void test_wake__outlasts_a_statement(void **state)
{
	struct fixture *f = *state;
	uint64_t stamp = 0;
	int fd = -1;
	expect(f, 0, rec_store_wake_fd(f->store, &fd, &f->error));
	sql(f->other, "INSERT INTO reconciler.tasks(id,title) VALUES('a','x')");
	await(fd);
	expect(f, 0, rec_store_stamp(f->store, &stamp, &f->error));
	assert_false(quiet_now(fd));
	rec_store_wake_drain(f->store);
	assert_true(quiet_now(fd));
	expect(f, 0, add(f, f->store, "b"));
	assert_true(quiet_now(fd)); /* we know what we wrote */
}

static void test_wake__lives_through_a_restart_of_the_server(void **state)
{
	struct fixture *f = *state;
	struct told told = {""};
	struct rec_cursor cursor = {0};
	int fd = -1, again = -1;
	expect(f, REC_RESCAN, rec_store_changes(f->store, &cursor, tell, &told, &f->error));
	expect(f, 0, rec_store_wake_fd(f->store, &fd, &f->error));
	cluster("stop");
	await(fd); /* the lost connection wakes ... */
	rec_store_wake_drain(f->store);
	assert_true(quiet_now(fd)); /* ... but once */
	expect(f, REC_E_BUSY, rec_store_changes(f->store, &cursor, tell, &told, &f->error));
	cluster("start");
	PQreset(f->other);
	sql(f->other, "INSERT INTO reconciler.tasks(id,title) VALUES('a','x')");
	while (rec_store_changes(f->store, &cursor, tell, &told, &f->error) == REC_E_BUSY)
		poll(NULL, 0, 5); /* until the next attempt is due */
	assert_string_equal(told.ids, "a ");
	expect(f, 0, rec_store_wake_fd(f->store, &again, &f->error));
	assert_int_equal(again, fd);
	sql(f->other, "INSERT INTO reconciler.tasks(id,title) VALUES('b','x')");
	await(fd);
	rec_store_wake_drain(f->store);
	told.ids[0] = '\0';
	assert_told(f, &cursor, "b ");
}

static void test_wake__behind_a_pooler_it_ticks(void **state)
{
	struct fixture *f = *state;
	struct rec_store *pooled = NULL;
	int fd = -1;
	f->options.pooled = true;
	expect(f, 0, rec_store_open(server(), &f->options, &pooled, &f->error));
	expect(f, 0, rec_store_wake_fd(pooled, &fd, &f->error));
	await(fd);
	rec_store_wake_drain(pooled);
	assert_true(quiet_now(fd));
	rec_store_close(pooled);
}

/* ---- A server that goes away ---- */

/* Ends our session as an administrator would, and waits until it is gone. */
static void cut_session(struct fixture *f)
{
	sql(f->other, "SELECT pg_terminate_backend(pid,10000) FROM pg_stat_activity "
		      "WHERE application_name='reconciler' AND pid<>pg_backend_pid()");
}

static void test_lost__a_read_goes_on_with_a_new_connection(void **state)
{
	struct fixture *f = *state;
	struct rec_snapshot snapshot;
	expect(f, 0, add(f, f->store, "a"));
	cut_session(f);
	expect(f, 0, rec_store_snapshot(f->store, NULL, 0, 0, &snapshot, &f->error));
	assert_int_equal(snapshot.count, 1);
	rec_snapshot_release(&snapshot);
	cut_session(f);
	expect(f, 0, add(f, f->store, "b")); /* nothing had begun yet */
}

static pid_t session_of(struct fixture *f)
{
	PGresult *row = PQexec(f->other, "SELECT pid FROM pg_stat_activity WHERE application_name='reconciler' AND "
					 "pid<>pg_backend_pid()");
	assert_int_equal(PQntuples(row), 1);
	pid_t pid = (pid_t)strtol(PQgetvalue(row, 0, 0), NULL, 10);
	PQclear(row);
	return pid;
}

/* A server that takes what is sent and answers nothing. */
static void test_lost__a_silent_server_is_waited_for_no_longer_than_is_allowed(void **state)
{
	struct fixture *f = *state;
	struct rec_snapshot snapshot;
	pid_t session = session_of(f);
	assert_int_equal(kill(session, SIGSTOP), 0);
	rec_store_patience(f->store, 100000);
	int64_t begun_us = rec_clock_real.monotonic_us(NULL);
	int r = rec_store_snapshot(f->store, NULL, 0, 0, &snapshot, &f->error);
	int64_t took_us = rec_clock_real.monotonic_us(NULL) - begun_us;
	int written = add(f, f->store, "a"); /* none is left */
	kill(session, SIGCONT);
	assert_int_equal(r, REC_E_BUSY);
	assert_true(took_us >= 99000 && took_us < SOON_MS * INT64_C(1000));
	assert_int_equal(written, REC_E_BUSY);
	rec_store_patience(f->store, INT64_MAX);
	expect(f, 0, add(f, f->store, "a"));
}

static void test_lost__a_group_is_gone_as_a_whole(void **state)
{
	struct fixture *f = *state;
	PGresult *row = NULL;
	struct rec_snapshot snapshot;
	expect(f, 0, rec_store_begin(f->store, &f->error));
	expect(f, 0,
	       rec_postgres_do(rec_postgres_of(f->store), "SHOW idle_in_transaction_session_timeout", &row, &f->error));
	assert_string_equal(PQgetvalue(row, 0, 0), "15s"); /* a host that was cut off keeps nobody from writing */
	PQclear(row);
	expect(f, 0, add(f, f->store, "a"));
	cut_session(f);
	expect(f, REC_E_BUSY, add(f, f->store, "b"));
	expect(f, REC_E_BUSY, rec_store_commit(f->store, &f->error));
	expect(f, 0, rec_store_snapshot(f->store, NULL, 0, 0, &snapshot, &f->error));
	assert_int_equal(snapshot.count, 0);
	rec_snapshot_release(&snapshot);
	expect(f, 0, add(f, f->store, "a"));
}

static void test_lost__a_commit_that_cannot_be_is_told(void **state)
{
	struct fixture *f = *state;
	struct rec_snapshot snapshot;
	expect(f, 0, rec_store_begin(f->store, &f->error));
	expect(f, 0, add(f, f->store, "a"));
	cut_session(f);
	expect(f, REC_E_BUSY, rec_store_commit(f->store, &f->error));
	assert_non_null(strstr(f->error.message, "nothing was stored"));
	expect(f, 0, rec_store_snapshot(f->store, NULL, 0, 0, &snapshot, &f->error));
	assert_int_equal(snapshot.count, 0);
	rec_snapshot_release(&snapshot);
}

/* ---- The schema ---- */

static void test_schema__a_newer_one_is_refused_with_both_versions(void **state)
{
	struct fixture *f = *state;
	struct rec_store *store = NULL;
	sql(f->other, "UPDATE reconciler.meta SET value='99' WHERE key='schema_version'");
	for (int mode = REC_STORE_READ; mode <= REC_STORE_INIT; mode++) {
		f->options.mode = (enum rec_store_mode)mode;
		expect(f, REC_E_VERSION, rec_store_open(server(), &f->options, &store, &f->error));
		assert_non_null(strstr(f->error.message, "99"));
		assert_null(store);
	}
}

static void test_schema__without_one_only_init_goes_on(void **state)
{
	struct fixture *f = *state;
	struct rec_store *store = NULL;
	sql(f->other, "DROP SCHEMA reconciler CASCADE");
	for (int mode = REC_STORE_READ; mode <= REC_STORE_WRITE; mode++) {
		f->options.mode = (enum rec_store_mode)mode;
		expect(f, REC_E_UNINITIALISED, rec_store_open(server(), &f->options, &store, &f->error));
		assert_non_null(strstr(f->error.message, "reconciler init"));
	}
	/* An administrator may make the schema for somebody who may not. */
	sql(f->other, "CREATE SCHEMA reconciler");
	f->options.mode = REC_STORE_INIT;
	expect(f, 0, rec_store_open(server(), &f->options, &store, &f->error));
	rec_store_close(store);
}

static int say(void *context, const char *kind, const char *sentence)
{
	struct told *told = context;
	size_t used = strlen(told->ids);
	snprintf(told->ids + used, sizeof told->ids - used, "%s: %s;", kind, sentence);
	return 0;
}

static void test_schema__init_writes_a_lost_version_and_names_lost_tables(void **state)
{
	struct fixture *f = *state;
	struct rec_store *store = NULL;
	sql(f->other, "DELETE FROM reconciler.meta WHERE key='schema_version'");
	expect(f, REC_E_UNINITIALISED, rec_store_open(server(), &f->options, &store, &f->error));
	f->options.mode = REC_STORE_INIT;
	expect(f, 0, rec_store_open(server(), &f->options, &store, &f->error));
	rec_store_close(store);
	sql(f->other, "DROP TABLE reconciler.changes; DROP TABLE reconciler.claims");
	expect(f, REC_E_SCHEMA, rec_store_open(server(), &f->options, &store, &f->error));
	assert_non_null(strstr(f->error.message, "gone: changes, claims (restore a copy"));
}

static void test_schema__what_is_missing_is_told_to_the_doctor(void **state)
{
	struct fixture *f = *state;
	struct told told = {""};
	expect(f, 0, rec_store_problems(f->store, say, &told, &f->error));
	assert_string_equal(told.ids, "");
	sql(f->other, "DROP TRIGGER tasks_note ON reconciler.tasks; DROP INDEX reconciler.blockers_task");
	expect(f, 0, rec_store_problems(f->store, say, &told, &f->error));
	assert_non_null(strstr(told.ids, "blockers_task"));
	assert_non_null(strstr(told.ids, "tasks_note"));
}

/* The rights that reconciler-postgres(5) names are enough, and a reader's are enough to read. */
static void test_schema__least_rights_do(void **state)
{
	struct fixture *f = *state;
	struct rec_store *store = NULL;
	char uri[600];
	struct rec_snapshot snapshot;
	sql(f->other, "DROP ROLE IF EXISTS rec_worker; DROP ROLE IF EXISTS rec_reader; CREATE ROLE rec_worker LOGIN;"
		      "CREATE ROLE rec_reader LOGIN; GRANT USAGE ON SCHEMA reconciler TO rec_worker,rec_reader;"
		      "GRANT SELECT ON ALL TABLES IN SCHEMA reconciler TO rec_reader;"
		      "GRANT SELECT,INSERT,UPDATE,DELETE ON ALL TABLES IN SCHEMA reconciler TO rec_worker;");
	snprintf(uri, sizeof uri, "postgresql:host=%s user=rec_worker dbname=postgres", PQhost(f->other));
	expect(f, 0, rec_store_open(uri, &f->options, &store, &f->error));
	expect(f, 0, add(f, store, "a"));
	store = rec_store_close(store);
	snprintf(uri, sizeof uri, "postgresql:host=%s user=rec_reader dbname=postgres", PQhost(f->other));
	expect(f, 0, rec_store_open(uri, &f->options, &store, &f->error));
	expect(f, 0, rec_store_snapshot(store, NULL, 0, REC_SNAPSHOT_BLOCKERS, &snapshot, &f->error));
	assert_int_equal(snapshot.count, 1);
	rec_snapshot_release(&snapshot);
	expect(f, REC_E_PERMISSION, add(f, store, "b"));
	rec_store_close(store);
	sql(f->other, "DROP OWNED BY rec_worker,rec_reader; DROP ROLE rec_worker,rec_reader");
}

/* ---- Names ---- */

static void test_location__shows_what_opens_the_store_again(void **state)
{
	struct fixture *f = *state;
	struct rec_libpq pq;
	static const char *const cases[][2] = {
		{"postgresql://me:secret@db.example:5433/tasks?sslmode=require",
		 "postgresql://me@db.example:5433/tasks?sslmode=require"},
		{"host=/run/pg dbname=tasks password=secret", "postgresql:///tasks?host=/run/pg"},
		{"postgresql://a,b:5433/t", "postgresql:///t?host=a%2Cb&port=%2C5433"},
		{"postgresql://me@[::1]/t", "postgresql:///t?user=me&host=%3A%3A1"},
		{"service=tasks", "postgresql:///?service=tasks"},
		{"postgresql:///", "postgresql:///"},
	};
	expect(f, 0, rec_libpq_load(&pq, &f->error));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rec_buffer shown;
		rec_buffer_init(&shown, NULL, 4096);
		expect(f, 0, rec_postgres_location(&pq, cases[i][0], &shown, &f->error));
		assert_string_equal(shown.data, cases[i][1]);
		rec_buffer_release(&shown);
	}
}

/* ---- Snapshots ---- */

/* Of the two ids, wherever they are among others that no task has. */
static void assert_facts(struct fixture *f, struct rec_store *s, unsigned fields, size_t count)
{
	struct rec_slice *ids = rec_zalloc(NULL, count + 1, sizeof *ids);
	struct rec_snapshot taken;
	assert_non_null(ids);
	for (size_t i = 0; i < count; i++)
		ids[i] = i % 2 ? S("blocked") : i % 4 ? S("foreign") : S("nobody");
	expect(f, 0, rec_store_snapshot(s, count ? ids : NULL, count, fields, &taken, &f->error));
	assert_int_equal(taken.count, count ? count : 2);
	for (size_t i = 0; i < taken.count; i++) {
		const struct rec_fact *fact = &taken.facts[i];
		bool blocked = rec_slice_equal(taken.ids[i], S("blocked"));
		bool foreign = rec_slice_equal(taken.ids[i], S("foreign")), all = fields & REC_SNAPSHOT_ALL_BLOCKERS;
		bool counted = blocked ? fields & (REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ALL_BLOCKERS) : foreign && all;
		assert_int_equal(fact->status, blocked   ? REC_BLOCKED
					       : foreign ? REC_STATUS_UNRECOGNISED
							 : REC_STATUS_ABSENT);
		assert_int_equal(fact->blockers_total, !counted ? 0 : blocked ? 4 : 1);
		assert_int_equal(fact->blockers_open, counted ? 1 : 0);
		assert_int_equal(fact->blockers_new, counted && blocked ? 2 : 0);
		assert_true(
			rec_slice_equal(rec_snapshot_raw(&taken, i), foreign ? S("WAITING") : (struct rec_slice){0}));
	}
	rec_snapshot_release(&taken);
	rec_free(NULL, ids);
}

static void test_snapshot__however_it_is_asked_the_facts_are_the_same(void **state)
{
	struct fixture *f = *state;
	struct rec_store *pooled;
	static const unsigned fields[] = {0, REC_SNAPSHOT_BLOCKERS, REC_SNAPSHOT_ALL_BLOCKERS,
					  REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY};
	static const size_t counts[] = {0, 1, 4, 3000};
	sql(f->other,
	    "ALTER TABLE reconciler.tasks DROP CONSTRAINT tasks_status;"
	    "INSERT INTO reconciler.tasks(id,title,status,released) "
	    "VALUES('blocked','a task','BLOCKED','{old,gone}'),('foreign','a task','WAITING','{}');"
	    "INSERT INTO reconciler.blockers(id,task_id,question,status) VALUES('old','blocked','?','RESOLVED'),"
	    "('open','blocked','?','OPEN'),('new','blocked','?','ANSWERED'),"
	    "('newer','blocked','?','RESOLVED'),('other','foreign','?','OPEN')");
	f->options.pooled = true;
	expect(f, 0, rec_store_open(server(), &f->options, &pooled, &f->error));
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
			assert_facts(f, f->store, fields[i], counts[k]);
			assert_facts(f, f->store, fields[i], counts[k]); /* by the plan that was kept */
			assert_facts(f, pooled, fields[i], counts[k]);
		}
	rec_store_close(pooled);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_snapshot__however_it_is_asked_the_facts_are_the_same),
		TEST(test_feed__a_commit_that_becomes_visible_late_is_not_missed),
		TEST(test_feed__a_program_waits_for_our_group),
		TEST(test_feed__what_is_truncated_means_a_snapshot),
		TEST(test_rows__a_program_cannot_write_what_is_no_task),
		TEST(test_errors__a_session_that_idled_too_long_may_try_again),
		TEST(test_wake__a_program_that_writes_wakes),
		TEST(test_wake__outlasts_a_statement),
		TEST(test_wake__lives_through_a_restart_of_the_server),
		TEST(test_wake__behind_a_pooler_it_ticks),
		TEST(test_lost__a_read_goes_on_with_a_new_connection),
		TEST(test_lost__a_silent_server_is_waited_for_no_longer_than_is_allowed),
		TEST(test_lost__a_group_is_gone_as_a_whole),
		TEST(test_lost__a_commit_that_cannot_be_is_told),
		TEST(test_schema__a_newer_one_is_refused_with_both_versions),
		TEST(test_schema__without_one_only_init_goes_on),
		TEST(test_schema__init_writes_a_lost_version_and_names_lost_tables),
		TEST(test_schema__what_is_missing_is_told_to_the_doctor),
		TEST(test_schema__least_rights_do),
		TEST(test_location__shows_what_opens_the_store_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
