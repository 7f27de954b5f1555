/* contract.h - the suite that every store backend passes unchanged. A backend supplies one struct and a main of one
 * line; see backend-memory.c. Tests are sentences; each gets a fresh store, a clock that stands still, and an
 * allocator that counts, and each is checked for leaks at its end. */
#ifndef REC_TESTS_CONTRACT_H
#define REC_TESTS_CONTRACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/backend.h"

/* ---- What a backend supplies ---- */

struct contract_backend {
	const char *name;
	/* A fresh place for a store; freed with all that lies there. */
	void *(*place_new)(void);
	void (*place_free)(void *place);
	/* Opens a handle on the store of that place; the first one (mode INIT) makes it. */
	int (*open)(void *place, const struct rec_store_options *options, struct rec_store **ret_store,
		    struct rec_error *error);
	bool has_runs;  /* a claim shows in rec_store_running_runs */
	bool processes; /* several processes can open the same place */
	/* All below may be NULL. Another program that writes to the store without us, in the backend's own
	 * language; for rows that we would refuse. */
	void (*foreign_status)(void *place, const char *task_id, const char *status);
	void (*foreign_delete)(void *place, const char *task_id);
	/* A column of codeframe's tasks table set to an SQL literal. */
	void (*foreign_value)(void *place, const char *task_id, const char *column, const char *literal);
	void (*foreign_blocker_status)(void *place, const char *blocker_id, const char *status);
	/* Makes the Nth file operation from now on fail (0: none any more), and all after it if persistent;
	 * returns how many there were since the last call. */
	uint64_t (*set_io_failure)(void *place, uint64_t n, bool persistent);
	/* The same for allocations that the backend does not make through the options' allocator. */
	uint64_t (*set_memory_failure)(void *place, uint64_t n, bool persistent);
};
extern const struct contract_backend contract_backend; /* the one of this executable */

/* ---- What a test gets: struct contract *c = *state ---- */

#define CONTRACT_HANDLES_MAX 8

struct contract {
	void *place;
	struct rec_clock_manual clock;
	struct rec_failing_allocator memory;
	struct rec_store_options options; /* WRITE, with the two above */
	struct rec_store *store;          /* the first handle */
	struct rec_store *others[CONTRACT_HANDLES_MAX];
	size_t other_count;
	struct rec_arena arena; /* for what a test reads; freed at its end */
	struct rec_error error;
	const void *parameter; /* the test's initial state */
	int64_t claim;         /* for a topic's own use */
	struct rec_cursor cursor;
	uint64_t fault_at;
};
int contract_setup(void **state);
int contract_teardown(void **state);
/* Closes everything and begins with a fresh place. */
void contract_restart(struct contract *c);
void contract_restart_empty(struct contract *c); /* nothing is opened, c->store is NULL */
/* Another handle on the same place, closed at the test's end. */
struct rec_store *contract_open(struct contract *c, enum rec_store_mode mode);
struct rec_store *contract_memory_store(struct contract *c); /* the oracle, empty, on the same clock */

#define contract_test(function) cmocka_unit_test_setup_teardown(function, contract_setup, contract_teardown)

/* ---- Shorthand ---- */

#define S(text) rec_slice_of(text)
#define NO_TEXT ((struct rec_slice){NULL, 0})
#define assert_slice(slice, text) contract_assert_slice(slice, text, __FILE__, __LINE__)
void contract_assert_slice(struct rec_slice slice, const char *text, const char *file, int line);
/* The call must give `wanted`; a negative result other than that prints its message. */
#define expect(c, wanted, call) contract_expect(c, wanted, call, #call, __FILE__, __LINE__)
void contract_expect(struct contract *c, int wanted, int result, const char *call, const char *file, int line);

void contract_add(struct contract *c, const char *id, enum rec_status status);
void contract_add_child(struct contract *c, const char *id, enum rec_status status, const char *parent);
void contract_add_blocker(struct contract *c, const char *id, const char *task_id);
void contract_answer(struct contract *c, const char *id);
void contract_set(struct contract *c, const char *id, enum rec_status from, enum rec_status to);
int64_t contract_claim(struct contract *c, const char *id);
void contract_finish(struct contract *c, int64_t claim_id, enum rec_status to);
enum rec_status contract_status(struct contract *c, const char *id); /* ABSENT: no such task */
struct rec_fact contract_fact(struct contract *c, const char *id);   /* with every field */
struct rec_task contract_get(struct contract *c, const char *id);    /* fails the test if missing */
/* How many ids the feed tells; the ids, each followed by a blank, go to `ids` (may be NULL). */
size_t contract_changes(struct rec_store *s, struct rec_cursor *cursor, char *ids, size_t capacity);
/* Asks until the feed is quiet, so that the next look tells only what is new. */
void contract_catch_up(struct rec_store *s, struct rec_cursor *cursor);
/* A sound title, no more. */
struct rec_task contract_task(const char *id, enum rec_status status);

/* Everything that can be seen through the contract, as text. */
void contract_dump(struct rec_store *s, struct rec_buffer *out);
/* Fails with the first line that differs. */
#define assert_same_dump(a, b) contract_assert_same_dump(a, b, __FILE__, __LINE__)
void contract_assert_same_dump(const struct rec_buffer *a, const struct rec_buffer *b, const char *file, int line);

/* ---- Topics ---- */

/* clang-format off */
#define CONTRACT_TOPICS(X) \
	X(tasks) X(status) X(rollup) X(blockers) X(groups) X(snapshot) X(lists) \
	X(events) X(claims) X(several) X(batches) X(links) X(changes) X(gc) X(errors) X(warnings) \
	X(processes) X(model) X(failure)
/* clang-format on */
#define CONTRACT_DECLARE(topic) int contract_run_##topic(void);
CONTRACT_TOPICS(CONTRACT_DECLARE)
#undef CONTRACT_DECLARE
#define contract_run(topic, tests)                                                                                     \
	int contract_run_##topic(void)                                                                                 \
	{                                                                                                              \
		return cmocka_run_group_tests_name(#topic, tests, NULL, NULL);                                         \
	}

#endif
