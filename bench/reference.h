/* reference.h - the least work that answers "which tasks of the batch were finished or released outside":
 * a C scan written by hand for one schema and for UUID ids, straight on libsqlite3. What we compare with. */
#ifndef REC_BENCH_REFERENCE_H
#define REC_BENCH_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

struct reference_key {
	uint64_t high, low;
};
struct reference {
	struct sqlite3 *database;
	struct sqlite3_stmt *blockers, *finished, *all, *begin, *commit;
	char (*ids)[37];
	char *believed; /* first letter of the status; 'X' for BACKLOG, 'L' for BLOCKED */
	size_t count;
	struct reference_key *keys; /* the hash, made anew by each check */
	uint32_t *cells, mask;
	uint8_t *blocker_bits, *answers; /* [count] */
};

/* Opens the database for reading and reads the batch (lines "UUID TAB STATUS"). */
void reference_open(struct reference *r, const char *database, const char *batch);
void reference_close(struct reference *r);
/* One check. all_statuses: read every row, not only those the short answer needs. Microseconds. */
double reference_check(struct reference *r, bool all_statuses);
/* How many of the last check's answers were "finished outside" and "all blockers resolved". */
void reference_counts(const struct reference *r, size_t *ret_finished, size_t *ret_released);

#endif
