/* backend-sqlite.c - the contract suite on SQLite: each place is a directory of its own, and another program is a
 * second connection made without us. File operations fail through failing-vfs.c; the allocations of SQLite itself
 * through its own hook, set before SQLite is first used. */
#include "contract.h"
#include "failing-vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

struct place {
	char directory[256];
	char path[300];
};

/* In memory if there is such a place: thousands of stores are made, and none is to survive a power cut. */
static const char *where(void)
{
	const char *named = getenv("TMPDIR");
	if (named && strlen(named) < 200)
		return named;
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static void *place_new(void)
{
	struct place *place = rec_zalloc(NULL, 1, sizeof *place);
	assert_non_null(place);
	failing_vfs_install();
	snprintf(place->directory, sizeof place->directory, "%s/rec-contract-XXXXXX", where());
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->path, sizeof place->path, "%s/state.db", place->directory);
	return place;
}

static void place_free(void *context)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	struct place *place = context;
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		char path[320];
		snprintf(path, sizeof path, "%s%s", place->path, suffixes[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(place->directory), 0); /* nothing else may be left there */
	rec_free(NULL, place);
}

static int place_open(void *context, const struct rec_store_options *options, struct rec_store **ret_store,
		      struct rec_error *error)
{
	struct place *place = context;
	return rec_store_sqlite_open(place->path, options, ret_store, error);
}

/* ---- Another program ---- */

/* Without its checks, so that it can write what we would refuse. */
static void foreign_run(struct place *place, const char *sql, const char *first, const char *second)
{
	sqlite3 *db;
	sqlite3_stmt *statement;
	assert_int_equal(sqlite3_open_v2(place->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	sqlite3_exec(db, "PRAGMA ignore_check_constraints=ON", NULL, NULL, NULL);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
	if (second)
		sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void foreign_status(void *place, const char *task_id, const char *status)
{
	foreign_run(place, "UPDATE tasks SET status=?2 WHERE id=?1", task_id, status);
}

static void foreign_delete(void *place, const char *task_id)
{
	foreign_run(place, "DELETE FROM tasks WHERE id=?1", task_id, NULL);
}

static void foreign_value(void *place, const char *task_id, const char *column, const char *literal)
{
	char sql[512];
	snprintf(sql, sizeof sql, "UPDATE tasks SET %s=%s WHERE id=?1", column, literal);
	foreign_run(place, sql, task_id, NULL);
}

static void foreign_blocker_status(void *place, const char *blocker_id, const char *status)
{
	foreign_run(place, "UPDATE blockers SET status=?2 WHERE id=?1", blocker_id, status);
}

/* ---- Faults ---- */

static uint64_t set_io_failure(void *place, uint64_t n, bool persistent)
{
	(void)place;
	return failing_vfs_set(n, persistent);
}

static uint64_t set_memory_failure(void *place, uint64_t n, bool persistent)
{
	(void)place;
	return failing_memory_set(n, persistent);
}

const struct contract_backend contract_backend = {
	.name = "sqlite",
	.place_new = place_new,
	.place_free = place_free,
	.open = place_open,
	.has_runs = true,
	.processes = true,
	.foreign_status = foreign_status,
	.foreign_delete = foreign_delete,
	.foreign_value = foreign_value,
	.foreign_blocker_status = foreign_blocker_status,
	.set_io_failure = set_io_failure,
	.set_memory_failure = set_memory_failure,
};
