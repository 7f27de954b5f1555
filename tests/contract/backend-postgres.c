/* backend-postgres.c - the contract suite on PostgreSQL: the database of tests/postgres/with-cluster, whose schema is
 * thrown away for each place. Another program is a second connection made without us. */
#include "contract.h"
#include "cutting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

struct place {
	PGconn *other; /* the program that is not us */
};

static const char *server(void)
{
	const char *uri = getenv("REC_TEST_POSTGRES");
	if (!uri)
		fail_msg("REC_TEST_POSTGRES is not set (run this under tests/postgres/with-cluster)");
	return uri;
}

static void foreign_run(struct place *place, const char *sql, int count, const char *const *values)
{
	PGresult *result = PQexecParams(place->other, sql, count, NULL, values, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	PQclear(result);
}

static void quiet(void *context, const char *message)
{
	(void)context, (void)message;
}

static void *place_new(void)
{
	struct place *place = rec_zalloc(NULL, 1, sizeof *place);
	assert_non_null(place);
	place->other = PQconnectdb(server());
	if (PQstatus(place->other) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(place->other));
	PQsetNoticeProcessor(place->other, quiet, NULL);
	foreign_run(place, "DROP SCHEMA IF EXISTS reconciler CASCADE", 0, NULL);
	return place;
}

static void place_free(void *context)
{
	struct place *place = context;
	PQfinish(place->other);
	rec_free(NULL, place);
}

static int place_open(void *context, const struct rec_store_options *options, struct rec_store **ret_store,
		      struct rec_error *error)
{
	(void)context;
	int r = rec_store_postgres_open(server(), options, ret_store, error);
	if (r == 0)
		cutting_watch(*ret_store);
	return r;
}

/* ---- Another program; without the checks that would keep it from writing what we refuse ---- */

static void foreign_status(void *place, const char *task_id, const char *status)
{
	const char *const values[] = {task_id, status};
	foreign_run(place, "ALTER TABLE reconciler.tasks DROP CONSTRAINT IF EXISTS tasks_status", 0, NULL);
	foreign_run(place, "UPDATE reconciler.tasks SET status=$2 WHERE id=$1", 2, values);
}

static void foreign_delete(void *place, const char *task_id)
{
	foreign_run(place, "DELETE FROM reconciler.tasks WHERE id=$1", 1, &task_id);
}

static void foreign_blocker_status(void *place, const char *blocker_id, const char *status)
{
	const char *const values[] = {blocker_id, status};
	foreign_run(place, "ALTER TABLE reconciler.blockers DROP CONSTRAINT IF EXISTS blockers_status", 0, NULL);
	foreign_run(place, "UPDATE reconciler.blockers SET status=$2 WHERE id=$1", 2, values);
}

static uint64_t set_io_failure(void *place, uint64_t n, bool persistent)
{
	(void)place;
	return cutting_set(n, persistent);
}

const struct contract_backend contract_backend = {
	.name = "postgresql",
	.place_new = place_new,
	.place_free = place_free,
	.open = place_open,
	.processes = true,
	.foreign_status = foreign_status,
	.foreign_delete = foreign_delete,
	.foreign_blocker_status = foreign_blocker_status,
	.set_io_failure = set_io_failure,
};
