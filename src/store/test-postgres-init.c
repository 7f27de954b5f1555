/* test-postgres-init.c - `init` where a part of the schema was lost. Runs under tests/postgres/with-cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libpq-fe.h>

#include "store/store.h"

#define S(text) rec_slice_of(text)

static void sql(PGconn *other, const char *text)
{
	PGresult *result = PQexec(other, text);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", text, PQresultErrorMessage(result));
	PQclear(result);
}

static struct rec_store *open_store(enum rec_store_mode mode, int wanted)
{
	const struct rec_store_options options = {.mode = mode, .busy_timeout_ms = 100};
	struct rec_store *store = NULL;
	struct rec_error error = {0};
	int r = rec_store_open(getenv("REC_TEST_POSTGRES"), &options, &store, &error);
	if (r != wanted)
		fail_msg("wanted %d, have %d: %s", wanted, r, error.message);
	return store;
}

static int setup(void **state)
{
	assert_non_null(getenv("REC_TEST_POSTGRES")); /* run this under tests/postgres/with-cluster */
	PGconn *other = *state = PQconnectdb(getenv("REC_TEST_POSTGRES"));
	sql(other, "SET client_min_messages=warning");
	sql(other, "DROP SCHEMA IF EXISTS reconciler CASCADE");
	rec_store_close(open_store(REC_STORE_INIT, 0));
	return 0;
}

static int teardown(void **state)
{
	PQfinish(*state);
	return 0;
}

static int count(void *context, const char *kind, const char *sentence)
{
	(void)kind;
	assert_non_null(strstr(sentence, "reconciler init"));
	++*(int *)context;
	return 0;
}

static int problems(struct rec_store *store)
{
	struct rec_error error;
	int found = 0;
	assert_int_equal(rec_store_problems(store, count, &found, &error), 0);
	return found;
}

static int hear(void *context, struct rec_slice id)
{
	(void)context, (void)id;
	return 0;
}

static void test_init__makes_lost_triggers_and_indexes_again(void **state)
{
	PGconn *other = *state;
	struct rec_store *store = open_store(REC_STORE_WRITE, 0);
	struct rec_cursor cursor = {0};
	struct rec_error error;
	assert_int_equal(rec_store_changes(store, &cursor, hear, NULL, &error), REC_RESCAN);
	sql(other, "DROP FUNCTION reconciler.note_task CASCADE; DROP INDEX reconciler.blockers_task;"
		   "ALTER TABLE reconciler.blockers DISABLE TRIGGER blockers_note;"
		   "INSERT INTO reconciler.tasks(id,title) VALUES('unseen','a task')");
	assert_int_equal(problems(store), 4);
	rec_store_close(open_store(REC_STORE_INIT, 0));
	assert_int_equal(problems(store), 0);
	/* nobody was told of the task: only looking at all of them finds it */
	assert_int_equal(rec_store_changes(store, &cursor, hear, NULL, &error), REC_RESCAN);
	sql(other, "INSERT INTO reconciler.tasks(id,title) VALUES('seen','a task')");
	assert_int_equal(rec_store_changes(store, &cursor, hear, NULL, &error), 0);
	/* with all of it there, nothing is touched */
	rec_store_close(open_store(REC_STORE_INIT, 0));
	assert_int_equal(rec_store_changes(store, &cursor, hear, NULL, &error), 0);
	rec_store_close(store);
}

/* Then the program that holds it goes on, whatever it does next. */
static void test_init__gives_up_where_a_table_is_held(void **state)
{
	PGconn *other = *state;
	sql(other, "DROP TRIGGER tasks_note ON reconciler.tasks");
	sql(other, "BEGIN; LOCK TABLE reconciler.tasks IN ROW EXCLUSIVE MODE");
	open_store(REC_STORE_INIT, REC_E_BUSY);
	sql(other, "UPDATE reconciler.tasks SET priority=1; COMMIT");
	struct rec_store *store = open_store(REC_STORE_INIT, 0);
	assert_int_equal(problems(store), 0);
	rec_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_init__makes_lost_triggers_and_indexes_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_init__gives_up_where_a_table_is_held, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
