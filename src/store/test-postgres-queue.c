/* test-postgres-queue.c - writes that nobody waits for: how often the server is asked, and where their errors come.
 * Runs under tests/postgres/with-cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libpq-fe.h>

#include "store/postgres.h"

#define S(text) rec_slice_of(text)
#define MANY 200 /* more than wait at once */

struct fixture {
	struct rec_store *store;
	PGconn *other; /* another program */
	struct rec_libpq pq;
	int trips;
	struct rec_error error;
};

static struct fixture fixture; /* whose functions libpq's stand-ins count in */

#define expect(f, wanted, call) expect_result(f, wanted, call, #call, __LINE__)
static void expect_result(struct fixture *f, int wanted, int r, const char *call, int line)
{
	if (r == wanted)
		return;
	print_error("line %d: %s\n  wanted %d, have %d: %s\n", line, call, wanted, r, r < 0 ? f->error.message : "");
	fail();
}

static void sql(struct fixture *f, const char *text)
{
	PGresult *result = PQexec(f->other, text);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", text, PQresultErrorMessage(result));
	PQclear(result);
}

static void assert_count(struct fixture *f, const char *table, int wanted)
{
	char text[200], number[16];
	snprintf(number, sizeof number, "%d", wanted);
	snprintf(text, sizeof text, "SELECT count(*) FROM reconciler.%s", table);
	PGresult *result = PQexec(f->other, text);
	assert_string_equal(PQgetvalue(result, 0, 0), number);
	PQclear(result);
}

/* ---- Trips: what is sent alone, and the marks of pipelines ---- */

static void count_alone(const PGconn *connection)
{
	fixture.trips += PQpipelineStatus(connection) == PQ_PIPELINE_OFF;
}

static int send_query(PGconn *connection, const char *query)
{
	count_alone(connection);
	return fixture.pq.PQsendQuery(connection, query);
}

static int send_parameters(PGconn *connection, const char *query, int count, const Oid *types,
			   const char *const *values, const int *lengths, const int *formats, int format)
{
	count_alone(connection);
	return fixture.pq.PQsendQueryParams(connection, query, count, types, values, lengths, formats, format);
}

static int send_prepared(PGconn *connection, const char *name, int count, const char *const *values, const int *lengths,
			 const int *formats, int format)
{
	count_alone(connection);
	return fixture.pq.PQsendQueryPrepared(connection, name, count, values, lengths, formats, format);
}

static int pipeline_sync(PGconn *connection)
{
	fixture.trips++;
	return fixture.pq.PQpipelineSync(connection);
}

static int open_store(struct fixture *f, enum rec_store_mode mode, bool pooled)
{
	const struct rec_store_options options = {.mode = mode, .busy_timeout_ms = 100, .pooled = pooled};
	rec_store_close(f->store);
	f->store = NULL;
	expect(f, 0, rec_store_open(getenv("REC_TEST_POSTGRES"), &options, &f->store, &f->error));
	struct rec_libpq *pq = &rec_postgres_of(f->store)->pq;
	f->pq = *pq;
	pq->PQsendQuery = send_query;
	pq->PQsendQueryParams = send_parameters;
	pq->PQsendQueryPrepared = send_prepared;
	pq->PQpipelineSync = pipeline_sync;
	return 0;
}

static int setup(void **state)
{
	struct fixture *f = *state = &fixture;
	assert_non_null(getenv("REC_TEST_POSTGRES")); /* run this under tests/postgres/with-cluster */
	*f = (struct fixture){.other = PQconnectdb(getenv("REC_TEST_POSTGRES"))};
	sql(f, "SET client_min_messages=warning");
	sql(f, "DROP SCHEMA IF EXISTS reconciler CASCADE");
	return open_store(f, REC_STORE_INIT, false);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	rec_store_close(f->store);
	PQfinish(f->other);
	return 0;
}

/* ---- Writes ---- */

static void add_batch(struct fixture *f)
{
	const struct rec_batch batch = {.batch_id = S("b"), .status = REC_BATCH_RUNNING};
	expect(f, 0, rec_store_batch_create(f->store, &batch, &f->error));
	sql(f, "INSERT INTO reconciler.tasks(id,title) SELECT 't'||i,'a task' FROM generate_series(1,9) i");
}

static int put_row(struct fixture *f, const char *id)
{
	const struct rec_batch_task task = {.task_id = S(id), .phase = S("QUEUED"), .believed = REC_READY};
	return rec_store_batch_task_put(f->store, S("b"), &task, &f->error);
}

static int tell(struct fixture *f, const char *name)
{
	const struct rec_event event = {.event = S(name)};
	return rec_store_event_add(f->store, &event, &f->error);
}

/* As a conductor does: read, claim, keep, tell. */
static void claim(struct fixture *f, const char *id, struct rec_claim *claim)
{
	struct rec_arena arena;
	struct rec_task task;
	rec_arena_init(&arena, NULL);
	*claim = (struct rec_claim){.task_id = S(id), .owner = S("me")};
	expect(f, 0, rec_store_get(f->store, claim->task_id, &arena, &task, &f->error));
	expect(f, 0, rec_store_claim(f->store, claim, NULL, &f->error));
	expect(f, 0, put_row(f, id));
	expect(f, 0, tell(f, "BATCH_TASK_STARTED"));
	rec_arena_release(&arena);
}

static void finish(struct fixture *f, const struct rec_claim *claim, enum rec_status wanted)
{
	const struct rec_finish finish = {.claim_id = claim->claim_id, .to = REC_DONE, .outcome = S("exit 0")};
	enum rec_status now = REC_STATUS_ABSENT;
	expect(f, 0, rec_store_finish(f->store, &finish, &now, &f->error));
	assert_int_equal(now, wanted);
	expect(f, 0, tell(f, "BATCH_TASK_COMPLETED"));
}

static void claim_and_finish(struct fixture *f, int number)
{
	char ids[2][8];
	struct rec_claim claims[2];
	expect(f, 0, rec_store_begin(f->store, &f->error));
	for (int i = 0; i < 2; i++) {
		snprintf(ids[i], sizeof ids[i], "t%d", number + i);
		claim(f, ids[i], &claims[i]);
		assert_int_equal(claims[i].attempt, 1);
	}
	expect(f, 0, rec_store_commit(f->store, &f->error));
	expect(f, 0, rec_store_begin(f->store, &f->error));
	finish(f, &claims[0], REC_DONE);
	finish(f, &claims[1], REC_DONE);
	expect(f, 0, rec_store_commit(f->store, &f->error));
}

/* The two groups' begins and commits, a read for each claim, an answer for each end, and whether the batch is there. */
static void test_queue__a_claim_and_its_end_cost_a_trip_each(void **state)
{
	struct fixture *f = *state;
	for (int pooled = 0; pooled < 2; pooled++) {
		if (pooled)
			open_store(f, REC_STORE_WRITE, true);
		else
			add_batch(f);
		claim_and_finish(f, 1 + 4 * pooled);
		f->trips = 0;
		claim_and_finish(f, 3 + 4 * pooled);
		assert_int_equal(f->trips, 4 + 2 + 2 + 1);
	}
	assert_count(f, "tasks WHERE status='DONE' AND attempt=1", 8);
	assert_count(f, "attempts", 8);
	assert_count(f, "claims", 0);
	assert_count(f, "batch_tasks", 8);
	assert_count(f, "events", 16);
	assert_count(f, "counters WHERE event_seq=16 AND claim_id=8", 1);
}

static void test_queue__more_than_it_holds_is_written_as_well(void **state)
{
	struct fixture *f = *state;
	expect(f, 0, rec_store_begin(f->store, &f->error));
	for (int i = 0; i < MANY; i++)
		expect(f, 0, tell(f, "SOMETHING"));
	expect(f, 0, rec_store_commit(f->store, &f->error));
	assert_count(f, "events", MANY);
	assert_true(f->trips < 10);
}

/* Nothing of the group is stored, and the next one is as good as ever. */
static void assert_gone(struct fixture *f)
{
	assert_non_null(strstr(f->error.message, "events_event_check"));
	assert_count(f, "events", 0);
	assert_count(f, "tasks WHERE status<>'READY'", 0);
	expect(f, 0, tell(f, "SOMETHING"));
	assert_count(f, "events WHERE seq=1", 1);
	sql(f, "DELETE FROM reconciler.events; UPDATE reconciler.counters SET event_seq=0");
}

static void test_queue__an_error_comes_with_the_commit_or_what_is_asked_before(void **state)
{
	struct fixture *f = *state;
	struct rec_claim claimed;
	struct rec_snapshot taken;
	add_batch(f);
	sql(f, "ALTER TABLE reconciler.events ADD CHECK(event<>'FORBIDDEN')");
	expect(f, 0, rec_store_begin(f->store, &f->error));
	claim(f, "t1", &claimed);
	expect(f, 0, tell(f, "FORBIDDEN"));
	expect(f, 0, tell(f, "SOMETHING"));
	expect(f, REC_E_INVALID, rec_store_commit(f->store, &f->error));
	assert_gone(f);
	expect(f, 0, rec_store_begin(f->store, &f->error));
	expect(f, 0, tell(f, "FORBIDDEN"));
	expect(f, REC_E_INVALID, rec_store_snapshot(f->store, &claimed.task_id, 1, 0, &taken, &f->error));
	rec_store_rollback(f->store);
	assert_gone(f);
}

/* What was not sent yet goes with the group. */
static void test_queue__a_group_that_is_given_up_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct rec_claim claimed;
	add_batch(f);
	expect(f, 0, rec_store_begin(f->store, &f->error));
	claim(f, "t1", &claimed);
	rec_store_rollback(f->store);
	assert_count(f, "tasks WHERE status<>'READY'", 0);
	assert_count(f, "claims", 0);
	assert_count(f, "events", 0);
	claim(f, "t1", &claimed); /* each call a group of its own */
	assert_int_equal(claimed.attempt, 1);
	finish(f, &claimed, REC_DONE);
}

/* Between the read and the claim of it, the group itself may have written. */
static void test_queue__what_was_written_since_the_read_counts(void **state)
{
	struct fixture *f = *state;
	struct rec_arena arena;
	struct rec_task task;
	struct rec_claim claimed = {.task_id = S("t1"), .owner = S("me")};
	enum rec_status now = REC_STATUS_ABSENT;
	add_batch(f);
	rec_arena_init(&arena, NULL);
	expect(f, 0, rec_store_begin(f->store, &f->error));
	expect(f, 0, rec_store_get(f->store, claimed.task_id, &arena, &task, &f->error));
	expect(f, 0, rec_store_set_status(f->store, S("t1"), REC_READY, REC_BACKLOG, NULL, NULL, NULL, &f->error));
	expect(f, REC_CONFLICT, rec_store_claim(f->store, &claimed, &now, &f->error));
	assert_int_equal(now, REC_BACKLOG);
	expect(f, 0, rec_store_commit(f->store, &f->error));
	/* what was read outside of the group is no better than a guess */
	expect(f, 0, rec_store_get(f->store, S("t2"), &arena, &task, &f->error));
	sql(f, "UPDATE reconciler.tasks SET status='DONE' WHERE id='t2'");
	claimed.task_id = S("t2");
	expect(f, REC_CONFLICT, rec_store_claim(f->store, &claimed, &now, &f->error));
	assert_int_equal(now, REC_DONE);
	rec_arena_release(&arena);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_queue__a_claim_and_its_end_cost_a_trip_each),
		TEST(test_queue__more_than_it_holds_is_written_as_well),
		TEST(test_queue__an_error_comes_with_the_commit_or_what_is_asked_before),
		TEST(test_queue__a_group_that_is_given_up_leaves_nothing),
		TEST(test_queue__what_was_written_since_the_read_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
