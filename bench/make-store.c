/* make-store.c - a large store with codeframe's schema, and a batch state for it.
 *
 * usage: make-store N FOLDER SCHEMA.sql
 * Writes FOLDER/state.db, FOLDER/batch.json (a batch state) and FOLDER/batch.tsv (the same, "UUID TAB STATUS").
 * The same N gives the same content. Statuses, blockers and beliefs are mixed as in a busy workspace: most
 * beliefs agree with the store, about one in six differs.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

#define TIME "2026-11-01T00:00:00.000000+00:00"
#define SENTENCE "Do the thing, then check the thing. "
#define SCHEMA_BYTES_MAX (1u << 20)

static const char *const statuses[] = {"BACKLOG", "READY", "IN_PROGRESS", "BLOCKED", "FAILED", "DONE", "MERGED"};
static const unsigned weights[] = {20, 25, 25, 8, 5, 15, 2}; /* of 100 */
/* What stands on a blocked task: O(pen), A(nswered), R(esolved). */
static const char *const questions[] = {"O", "A", "R", "AR", "OA", "RO", "AA", "", "A", "RR"};

struct maker {
	uint64_t random;
	sqlite3 *database;
	sqlite3_stmt *task, *blocker;
	FILE *json, *tsv;
};

/* SplitMix64. */
static uint64_t next_random(struct maker *m)
{
	uint64_t x = m->random += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static void next_uuid(struct maker *m, char out[37])
{
	uint64_t high = next_random(m), low = next_random(m);

	snprintf(out, 37, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16) & 0xffff,
		 (unsigned)high & 0xfff, (unsigned)(low >> 50 | 0x8000) & 0xbfff,
		 (unsigned long long)(low & 0xffffffffffffu));
}

static const char *next_status(struct maker *m)
{
	unsigned left = (unsigned)(next_random(m) % 100), i = 0;

	while (left >= weights[i])
		left -= weights[i++];
	return statuses[i];
}

static void run_sql(struct maker *m, const char *sql)
{
	if (sqlite3_exec(m->database, sql, NULL, NULL, NULL) != SQLITE_OK)
		measure_die(sql, sqlite3_errmsg(m->database));
}

static void insert(struct maker *m, sqlite3_stmt *statement)
{
	if (sqlite3_step(statement) != SQLITE_DONE)
		measure_die("insert", sqlite3_errmsg(m->database));
	sqlite3_reset(statement);
}

static void add_blockers(struct maker *m, const char *task_id)
{
	for (const char *q = questions[next_random(m) % 10]; *q; q++) {
		char id[37];
		next_uuid(m, id);
		sqlite3_bind_text(m->blocker, 1, id, 36, SQLITE_TRANSIENT);
		sqlite3_bind_text(m->blocker, 2, task_id, 36, SQLITE_TRANSIENT);
		sqlite3_bind_text(m->blocker, 3,
				  *q == 'O'   ? "OPEN"
				  : *q == 'A' ? "ANSWERED"
					      : "RESOLVED",
				  -1, SQLITE_STATIC);
		insert(m, m->blocker);
	}
}

static void add_task(struct maker *m, int number)
{
	char id[37], title[32];
	const char *stored = next_status(m);

	next_uuid(m, id);
	snprintf(title, sizeof title, "Task %d", number);
	sqlite3_bind_text(m->task, 1, id, 36, SQLITE_TRANSIENT);
	sqlite3_bind_text(m->task, 2, title, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(m->task, 3, stored, -1, SQLITE_STATIC);
	sqlite3_bind_int(m->task, 4, (int)(next_random(m) % 5));
	insert(m, m->task);
	if (strcmp(stored, "BLOCKED") == 0)
		add_blockers(m, id);
	const char *believed = next_random(m) % 6 ? stored : statuses[next_random(m) % 7];
	(void)fprintf(m->json, "%s\"%s\":\"%s\"", number ? "," : "{", id, believed);
	(void)fprintf(m->tsv, "%s\t%s\n", id, believed);
}

/* The schema without what SQLite makes itself. */
static void make_schema(struct maker *m, const char *path)
{
	FILE *file = fopen(path, "r");
	char *sql = measure_alloc(SCHEMA_BYTES_MAX, 1), line[4096];
	size_t length = 0;

	if (!file)
		measure_die(path, strerror(errno));
	while (fgets(line, sizeof line, file)) {
		size_t size = strlen(line);
		if (strstr(line, "sqlite_sequence"))
			continue;
		if (length + size >= SCHEMA_BYTES_MAX)
			measure_die(path, "too long");
		memcpy(sql + length, line, size);
		length += size;
	}
	(void)fclose(file);
	run_sql(m, sql);
	free(sql);
}

static FILE *create_file(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	if (!file)
		measure_die(path, strerror(errno));
	return file;
}

static void open_database(struct maker *m, const char *folder, const char *schema)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/state.db", folder);
	(void)unlink(path);
	if (sqlite3_open(path, &m->database) != SQLITE_OK)
		measure_die(path, sqlite3_errmsg(m->database));
	run_sql(m, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA user_version=5;");
	make_schema(m, schema);
	run_sql(m, "BEGIN; INSERT INTO workspace (id, repo_path, created_at, updated_at)"
		   " VALUES ('w', '/repo', '" TIME "', '" TIME "')");
	const char *task = "INSERT INTO tasks (id, workspace_id, title, description, status, priority, created_at,"
			   " updated_at) VALUES (?1, 'w', ?2, '" SENTENCE SENTENCE SENTENCE SENTENCE SENTENCE
			   "', ?3, ?4, '" TIME "', '" TIME "')";
	const char *blocker = "INSERT INTO blockers (id, workspace_id, task_id, question, status, created_at)"
			      " VALUES (?1, 'w', ?2, 'Which?', ?3, '" TIME "')";
	if (sqlite3_prepare_v2(m->database, task, -1, &m->task, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(m->database, blocker, -1, &m->blocker, NULL) != SQLITE_OK)
		measure_die("prepare", sqlite3_errmsg(m->database));
}

int main(int count, char **arguments)
{
	struct maker m = {.random = 1};

	if (count != 4)
		measure_die("usage", "make-store N FOLDER SCHEMA.sql");
	int n = measure_number(arguments[1]);
	open_database(&m, arguments[2], arguments[3]);
	m.json = create_file(arguments[2], "batch.json");
	m.tsv = create_file(arguments[2], "batch.tsv");
	for (int i = 0; i < n; i++)
		add_task(&m, i);
	(void)fprintf(m.json, "}\n");
	if (fclose(m.json) || fclose(m.tsv))
		measure_die(arguments[2], strerror(errno));
	sqlite3_finalize(m.task);
	sqlite3_finalize(m.blocker);
	run_sql(&m, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
	if (sqlite3_close(m.database) != SQLITE_OK)
		measure_die("close", sqlite3_errmsg(m.database));
	return 0;
}
