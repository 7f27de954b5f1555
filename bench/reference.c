/* reference.c - a check written by hand, as fast as libsqlite3 lets it be.
 *
 * It knows what the product must not assume: every id is a UUID (so an id is two words), the schema is
 * codeframe's, no row is odd, nothing but DONE and "BLOCKED with all blockers released" matters. Each check
 * hashes the batch, walks the blockers, walks the tasks, and fills one answer per task of the batch.
 */
#include "reference.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { RELEASED = 1, OPEN = 2 };                       /* bits about a task's blockers */
enum { NOTHING, FINISHED, FINISHED_RUNNING, REQUEUE }; /* answers */

static unsigned hex_digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);
}

static struct reference_key key_of(const char *uuid)
{
	uint64_t words[2] = {0, 0};
	unsigned digits = 0;

	for (unsigned i = 0; i < 36; i++) {
		if (uuid[i] == '-')
			continue;
		words[digits >> 4] = words[digits >> 4] << 4 | hex_digit(uuid[i]);
		digits++;
	}
	return (struct reference_key){words[0], words[1]};
}

static void hash_batch(struct reference *r)
{
	uint32_t capacity = 16;
	while (capacity < r->count * 2)
		capacity *= 2;
	r->mask = capacity - 1;
	r->keys = measure_alloc(capacity, sizeof *r->keys);
	r->cells = measure_alloc(capacity, sizeof *r->cells);
	for (size_t i = 0; i < r->count; i++) {
		struct reference_key key = key_of(r->ids[i]);
		uint32_t at = (uint32_t)(key.high ^ key.low) & r->mask;
		while (r->cells[at])
			at = (at + 1) & r->mask;
		r->keys[at] = key;
		r->cells[at] = (uint32_t)i + 1;
	}
}

static void forget_hash(struct reference *r)
{
	free(r->keys);
	free(r->cells);
	r->keys = NULL;
	r->cells = NULL;
}

/* The index in the batch, or -1. */
static int64_t find(const struct reference *r, const char *uuid)
{
	struct reference_key key = key_of(uuid);
	uint32_t at = (uint32_t)(key.high ^ key.low) & r->mask;

	for (; r->cells[at]; at = (at + 1) & r->mask) {
		if (r->keys[at].high == key.high && r->keys[at].low == key.low)
			return (int64_t)r->cells[at] - 1;
	}
	return -1;
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK)
		measure_die(sql, sqlite3_errmsg(database));
	return statement;
}

static void read_batch(struct reference *r, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[128];
	size_t capacity = 0;

	if (!file)
		measure_die(path, strerror(errno));
	while (fgets(line, sizeof line, file)) {
		if (strlen(line) < 40)
			measure_die(path, "a line is not UUID TAB STATUS");
		if (r->count == capacity) {
			capacity = capacity ? capacity * 2 : 1024;
			r->ids = realloc(r->ids, capacity * sizeof *r->ids);
			r->believed = realloc(r->believed, capacity);
			if (!r->ids || !r->believed)
				measure_die("memory", "exhausted");
		}
		memcpy(r->ids[r->count], line, 36);
		r->ids[r->count][36] = '\0';
		r->believed[r->count] = line[37] == 'B' ? (line[38] == 'A' ? 'X' : 'L') : line[37];
		r->count++;
	}
	(void)fclose(file);
}

void reference_open(struct reference *r, const char *database, const char *batch)
{
	*r = (struct reference){0};
	read_batch(r, batch);
	r->blocker_bits = measure_alloc(r->count, 1);
	r->answers = measure_alloc(r->count, 1);
	if (sqlite3_open_v2(database, &r->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		measure_die(database, sqlite3_errmsg(r->database));
	sqlite3_busy_timeout(r->database, 5000);
	r->blockers = prepare(r->database, "SELECT task_id, status FROM blockers WHERE task_id NOT NULL");
	r->finished =
		prepare(r->database, "SELECT id, status FROM tasks NOT INDEXED WHERE status IN ('DONE', 'BLOCKED')");
	r->all = prepare(r->database, "SELECT id, status FROM tasks NOT INDEXED");
	r->begin = prepare(r->database, "BEGIN");
	r->commit = prepare(r->database, "COMMIT");
}

void reference_close(struct reference *r)
{
	sqlite3_finalize(r->blockers);
	sqlite3_finalize(r->finished);
	sqlite3_finalize(r->all);
	sqlite3_finalize(r->begin);
	sqlite3_finalize(r->commit);
	sqlite3_close(r->database);
	free(r->ids);
	free(r->believed);
	free(r->blocker_bits);
	free(r->answers);
}

static void run_statement(struct reference *r, sqlite3_stmt *statement)
{
	if (sqlite3_step(statement) != SQLITE_DONE)
		measure_die("transaction", sqlite3_errmsg(r->database));
	sqlite3_reset(statement);
}

static void walk_blockers(struct reference *r)
{
	while (sqlite3_step(r->blockers) == SQLITE_ROW) {
		int64_t i = find(r, (const char *)sqlite3_column_text(r->blockers, 0));
		if (i >= 0)
			r->blocker_bits[i] |= sqlite3_column_text(r->blockers, 1)[0] == 'O' ? OPEN : RELEASED;
	}
	sqlite3_reset(r->blockers);
}

static void walk_tasks(struct reference *r, sqlite3_stmt *tasks)
{
	while (sqlite3_step(tasks) == SQLITE_ROW) {
		int64_t i = find(r, (const char *)sqlite3_column_text(tasks, 0));
		if (i < 0)
			continue;
		const unsigned char *status = sqlite3_column_text(tasks, 1);
		if (status[0] == 'D')
			r->answers[i] = r->believed[i] == 'I' ? FINISHED_RUNNING : FINISHED;
		else if (status[0] == 'B' && status[1] == 'L' && r->blocker_bits[i] == RELEASED)
			r->answers[i] = REQUEUE;
	}
	sqlite3_reset(tasks);
}

double reference_check(struct reference *r, bool all_statuses)
{
	double begin = measure_cpu_us();

	hash_batch(r);
	memset(r->blocker_bits, 0, r->count);
	memset(r->answers, NOTHING, r->count);
	run_statement(r, r->begin);
	walk_blockers(r);
	walk_tasks(r, all_statuses ? r->all : r->finished);
	run_statement(r, r->commit);
	double end = measure_cpu_us();
	forget_hash(r);
	return end - begin;
}

void reference_counts(const struct reference *r, size_t *ret_finished, size_t *ret_released)
{
	size_t finished = 0, released = 0;

	for (size_t i = 0; i < r->count; i++) {
		finished += r->answers[i] == FINISHED || r->answers[i] == FINISHED_RUNNING;
		released += r->answers[i] == REQUEUE;
	}
	*ret_finished = finished;
	*ret_released = released;
}
