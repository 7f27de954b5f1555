/* measure-postgres.c - the PostgreSQL store against a bare client of the same server in the same run: snapshots, an
 * idle look at the feed, from a foreign commit to the word of it, claims by several connections at once.
 *
 * usage: tests/postgres/with-cluster measure-postgres TASKS CONNECTIONS
 * Prints lines "NAME TAB VALUE". The bare claims are one UPDATE ... SKIP LOCKED ... RETURNING each (and, as a second
 * figure, sixteen at once) on a table without checks and triggers, and any READY task will do. Ours are sixteen a
 * group, as of a conductor with as many free slots, of tasks that are named, each with a claim's row, its attempt and
 * the feed: more durable work than the bare loop's, which is left as the goal has it.
 */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "store/store.h"

#define GROUP 16
#define CLAIMS_MAX 2000 /* however many tasks there are */
#define PAIRS 9
#define WARM_UP 8 /* a plan is kept after five */
#define IDLE_LOOKS 500
#define REACTIONS 200

struct bench {
	const char *uri;
	struct rec_store *store;
	PGconn *bare;
	int tasks, connections, claims;
	struct rec_slice *ids; /* of all tasks */
	char *array;           /* the same, as the server takes a text[] */
	unsigned ready;        /* so that the bare client looks at what it read */
};

static void must(int r, const struct rec_error *error)
{
	if (r < 0)
		measure_die("store", error->message);
}

static PGresult *bare_run(PGconn *bare, const char *sql)
{
	PGresult *result = PQexec(bare, sql);
	if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
		measure_die(sql, PQresultErrorMessage(result));
	return result;
}

static void bare_do(PGconn *bare, const char *sql)
{
	PQclear(bare_run(bare, sql));
}

static PGconn *bare_new(const char *uri)
{
	PGconn *bare = PQconnectdb(uri);
	if (PQstatus(bare) != CONNECTION_OK)
		measure_die("connection", PQerrorMessage(bare));
	bare_do(bare, "SET client_min_messages=warning");
	return bare;
}

static struct rec_store *store_new(const char *uri, enum rec_store_mode mode)
{
	struct rec_store *store = NULL;
	struct rec_error error;
	const struct rec_store_options options = {.mode = mode, .busy_timeout_ms = 60000};
	must(rec_store_open(uri, &options, &store, &error), &error);
	return store;
}

/* ---- Snapshot ---- */

static double take(struct bench *b, const struct rec_slice *ids, size_t count)
{
	struct rec_snapshot snapshot;
	struct rec_error error;
	double begun = measure_now_us();
	must(rec_store_snapshot(b->store, ids, count, REC_SNAPSHOT_BLOCKERS, &snapshot, &error), &error);
	rec_snapshot_release(&snapshot);
	return measure_now_us() - begun;
}

static double snapshot_ours(void *context)
{
	return take(context, NULL, 0);
}

static double ids_ours(void *context)
{
	struct bench *b = context;
	return take(b, b->ids, (size_t)b->tasks);
}

static void look_at(struct bench *b, PGresult *rows)
{
	for (int i = 0, count = PQntuples(rows); i < count; i++)
		b->ready += strcmp(PQgetvalue(rows, i, 1), "READY") == 0 && PQgetlength(rows, i, 0) > 0;
	PQclear(rows);
}

/* Everything at once, then what a client has to look at: status by status, and the blockers; not which of them were
 * released before the last attempt. */
static double snapshot_bare(void *context)
{
	struct bench *b = context;
	double begun = measure_now_us();
	PGresult *rows = bare_run(b->bare, "SELECT id,status FROM reconciler.tasks ORDER BY id");
	PGresult *blockers = bare_run(b->bare, "SELECT task_id,status FROM reconciler.blockers");
	look_at(b, rows);
	PQclear(blockers);
	return measure_now_us() - begun;
}

/* That, too. */
static double blocked_bare(void *context)
{
	struct bench *b = context;
	double begun = measure_now_us();
	PGresult *rows = bare_run(b->bare, "SELECT id,status FROM reconciler.tasks ORDER BY id");
	PGresult *released = bare_run(b->bare, "SELECT id,released FROM reconciler.tasks WHERE status='BLOCKED'");
	PGresult *blockers = bare_run(b->bare, "SELECT id,task_id,status FROM reconciler.blockers");
	look_at(b, rows);
	PQclear(released);
	PQclear(blockers);
	return measure_now_us() - begun;
}

static double ids_bare(void *context)
{
	struct bench *b = context;
	const char *const values[] = {b->array};
	double begun = measure_now_us();
	PGresult *rows = PQexecParams(b->bare, "SELECT id,status FROM reconciler.tasks WHERE id=ANY($1::text[])", 1,
				      NULL, values, NULL, NULL, 0);
	if (PQntuples(rows) != b->tasks)
		measure_die("ids", PQresultErrorMessage(rows));
	PGresult *blockers = bare_run(b->bare, "SELECT task_id,status FROM reconciler.blockers");
	look_at(b, rows);
	PQclear(blockers);
	return measure_now_us() - begun;
}

static void compare(struct bench *b, const char *name, double (*ours)(void *), double (*bare)(void *))
{
	struct measure_pairs pairs;
	measure_pairs_init(&pairs, PAIRS);
	measure_pairs_run(&pairs, ours, bare, b);
	struct measure_result result = measure_pairs_result(&pairs);
	measure_pairs_release(&pairs);
	printf("%s_us\t%.0f\n%s_bare_us\t%.0f\n%s_ratio\t%.2f\n", name, result.a_us, name, result.b_us, name,
	       result.ratio);
}

static void name_all(struct bench *b)
{
	char *at = b->array = measure_alloc((size_t)b->tasks + 1, 9);
	b->ids = measure_alloc((size_t)b->tasks, sizeof *b->ids);
	*at++ = '{';
	for (int i = 0; i < b->tasks; i++) {
		b->ids[i] = (struct rec_slice){at, 8};
		at += snprintf(at, 10, "t%07d%c", i, i + 1 < b->tasks ? ',' : '}');
	}
}

/* No task is BLOCKED at first; then each tenth is, with two blockers. */
static void snapshots(struct bench *b)
{
	compare(b, "snapshot", snapshot_ours, snapshot_bare);
	compare(b, "ids", ids_ours, ids_bare);
	bare_do(b->bare, "UPDATE reconciler.tasks SET status='BLOCKED' WHERE id LIKE '%0';"
			 "INSERT INTO reconciler.blockers(id,task_id,question,status) SELECT 'b'||n||id,id,'why?',"
			 "CASE n WHEN 1 THEN 'OPEN' ELSE 'RESOLVED' END FROM reconciler.tasks,generate_series(1,2) n "
			 "WHERE status='BLOCKED'");
	bare_do(b->bare, "VACUUM ANALYZE reconciler.tasks,reconciler.blockers");
	compare(b, "blocked", snapshot_ours, blocked_bare);
	bare_do(b->bare, "DELETE FROM reconciler.blockers;"
			 "UPDATE reconciler.tasks SET status='READY' WHERE status='BLOCKED'");
	bare_do(b->bare, "VACUUM FULL ANALYZE reconciler.tasks");
}

/* ---- The feed ---- */

static int hear(void *context, struct rec_slice id)
{
	(void)id;
	++*(int *)context;
	return 0;
}

static int look(struct bench *b, struct rec_cursor *cursor)
{
	struct rec_error error;
	int told = 0;
	must(rec_store_changes(b->store, cursor, hear, &told, &error), &error);
	return told;
}

static double idle(struct bench *b, struct rec_cursor *cursor)
{
	double begun = measure_now_us();
	for (int i = 0; i < IDLE_LOOKS; i++)
		look(b, cursor);
	return (measure_now_us() - begun) / IDLE_LOOKS;
}

/* From the return of the other program's commit. */
static double reaction(struct bench *b, struct rec_cursor *cursor)
{
	struct rec_error error;
	double *took = measure_alloc(REACTIONS, sizeof *took);
	int fd = -1;
	must(rec_store_wake_fd(b->store, &fd, &error), &error);
	for (int i = 0; i < REACTIONS; i++) {
		struct pollfd wake = {.fd = fd, .events = POLLIN};
		bare_do(b->bare, "UPDATE reconciler.tasks SET priority=priority+1 WHERE id='t0000000'");
		double begun = measure_now_us();
		while (poll(&wake, 1, 10000) == 1) {
			rec_store_wake_drain(b->store);
			if (look(b, cursor) > 0)
				break;
		}
		took[i] = measure_now_us() - begun;
	}
	double median = measure_quantile(took, REACTIONS, 0.5);
	free(took);
	return median;
}

/* ---- Claims ---- */

/* Connecting is not what is measured, nor what a connection does only at first (the server reads its catalogues and
 * plans each statement some times): each does it WARM_UP times, taken back, and tells that it is ready; all begin
 * together. */
struct gate {
	int ready[2], go[2];
};

static void gate_pass(const struct gate *gate)
{
	char byte = 0;
	close(gate->go[1]); /* ours is not the one that opens it */
	if (write(gate->ready[1], &byte, 1) != 1 || read(gate->go[0], &byte, 1) != 0)
		measure_die("claims", "the start was missed");
}

static void gate_open(const struct gate *gate, int connections, double *ret_begun)
{
	char byte;
	close(gate->ready[1]);
	for (int i = 0; i < connections; i++)
		if (read(gate->ready[0], &byte, 1) != 1)
			measure_die("claims", "a connection failed");
	*ret_begun = measure_now_us();
	close(gate->go[1]);
	close(gate->go[0]);
	close(gate->ready[0]);
}

static void group_ours(const struct bench *b, struct rec_store *store, int first)
{
	const struct rec_claim like = {.owner = rec_slice_of("bench")};
	size_t count = b->claims - first < GROUP ? (size_t)(b->claims - first) : GROUP;
	struct rec_claimed claimed[GROUP];
	struct rec_error error;
	must(rec_store_begin(store, &error), &error);
	must(rec_store_claim_many(store, &like, b->ids + first, count, claimed, &error), &error);
	for (size_t i = 0; i < count; i++)
		if (claimed[i].result)
			measure_die("claims", "a task was not free");
}

static void claim_ours(const struct bench *b, int number, const struct gate *gate)
{
	struct rec_store *store = store_new(b->uri, REC_STORE_WRITE);
	struct rec_error error;
	for (int i = 0; i < WARM_UP; i++) {
		group_ours(b, store, 0);
		rec_store_rollback(store);
	}
	gate_pass(gate);
	for (int i = number * GROUP; i < b->claims; i += b->connections * GROUP) {
		group_ours(b, store, i);
		must(rec_store_commit(store, &error), &error);
	}
	rec_store_close(store);
}

static void claim_bare(const struct bench *b, int limit, const struct gate *gate)
{
	char sql[300];
	PGconn *bare = bare_new(b->uri);
	snprintf(sql, sizeof sql,
		 "UPDATE bench_tasks SET status='IN_PROGRESS' WHERE id IN (SELECT id FROM bench_tasks "
		 "WHERE status='READY' LIMIT %d FOR UPDATE SKIP LOCKED) RETURNING id",
		 limit);
	for (int i = 0; i < WARM_UP; i++) {
		bare_do(bare, "BEGIN");
		bare_do(bare, sql);
		bare_do(bare, "ROLLBACK");
	}
	gate_pass(gate);
	for (int rows = 1, left = b->claims / b->connections; rows > 0 && left > 0; left -= rows) {
		PGresult *result = bare_run(bare, sql);
		rows = PQntuples(result);
		PQclear(result);
	}
	PQfinish(bare);
}

/* Claims per second; limit 0: ours. */
static double claims(const struct bench *b, int limit)
{
	struct gate gate;
	double begun;
	if (pipe(gate.ready) < 0 || pipe(gate.go) < 0)
		measure_die("pipe", "none");
	for (int i = 0; i < b->connections; i++)
		if (fork() == 0) {
			if (limit)
				claim_bare(b, limit, &gate);
			else
				claim_ours(b, i, &gate);
			_exit(0);
		}
	gate_open(&gate, b->connections, &begun);
	for (int status = 0; wait(&status) > 0;)
		if (status)
			measure_die("claims", "a connection failed");
	return b->claims / (measure_now_us() - begun) * 1e6;
}

static void bare_table(struct bench *b)
{
	bare_do(b->bare, "DROP TABLE IF EXISTS bench_tasks; CREATE TABLE bench_tasks AS SELECT id,status FROM "
			 "reconciler.tasks; ALTER TABLE bench_tasks ADD PRIMARY KEY(id); "
			 "CREATE INDEX ON bench_tasks(status); ANALYZE bench_tasks; CHECKPOINT");
}

static void fill(struct bench *b)
{
	char sql[300];
	bare_do(b->bare, "DROP SCHEMA IF EXISTS reconciler CASCADE");
	rec_store_close(store_new(b->uri, REC_STORE_INIT));
	snprintf(sql, sizeof sql,
		 "INSERT INTO reconciler.tasks(id,title) SELECT 't'||lpad(i::text,7,'0'),'a task' FROM "
		 "generate_series(0,%d) i; ANALYZE reconciler.tasks",
		 b->tasks - 1);
	bare_do(b->bare, sql);
	b->store = store_new(b->uri, REC_STORE_WRITE);
}

int main(int argc, char **argv)
{
	struct bench b = {.uri = getenv("REC_TEST_POSTGRES")};
	struct rec_cursor cursor = {0};
	if (argc != 3 || !b.uri)
		measure_die("usage", "with-cluster measure-postgres TASKS CONNECTIONS");
	b.tasks = measure_number(argv[1]);
	b.connections = measure_number(argv[2]);
	b.claims = b.tasks < CLAIMS_MAX ? b.tasks : CLAIMS_MAX;
	b.bare = bare_new(b.uri);
	fill(&b);
	name_all(&b);
	snapshots(&b);
	look(&b, &cursor);
	printf("idle_us\t%.1f\n", idle(&b, &cursor));
	printf("reaction_us\t%.0f\n", reaction(&b, &cursor));
	rec_store_close(b.store);
	bare_table(&b);
	double one = claims(&b, 1);
	bare_table(&b);
	double many = claims(&b, GROUP), ours = claims(&b, 0);
	printf("claims_per_s\t%.0f\nclaims_bare_per_s\t%.0f\nclaims_bare_grouped_per_s\t%.0f\nclaims_ratio\t%.2f\n",
	       ours, one, many, one / ours);
	PQfinish(b.bare);
	free(b.ids);
	free(b.array);
	return 0;
}
