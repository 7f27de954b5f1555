/* test-failure.c - every operation with every allocation, and where the backend can fail them every file
 * operation, failing in turn, once and for good. Whatever fails: a documented code with a message, or success with
 * the right answer; the store as it was before or complete, through the same handle and a new one; and once
 * the fault is gone the same handle does the same operation. Leaks are found by the teardown. */
#include "failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS_ALL 8u    /* so many places are tried in any case */
#define FAULTS_MAX 40000 /* an operation that needs more has lost its way */

/* ---- Faults ---- */

struct fault {
	const char *name;
	bool memory; /* must be reported as REC_E_NOMEM */
	void (*arm)(struct contract *c, uint64_t n, bool persistent);
	bool (*disarm)(struct contract *c); /* did it strike? */
};

static void allocation_arm(struct contract *c, uint64_t n, bool persistent)
{
	c->memory.fail_at = c->memory.calls + n;
	c->memory.persistent = persistent;
}

static bool allocation_disarm(struct contract *c)
{
	bool struck = c->memory.calls >= c->memory.fail_at;
	c->memory.fail_at = 0;
	return struck;
}

static void file_arm(struct contract *c, uint64_t n, bool persistent)
{
	c->fault_at = n;
	contract_backend.set_io_failure(c->place, n, persistent);
}

static bool file_disarm(struct contract *c)
{
	return contract_backend.set_io_failure(c->place, 0, false) >= c->fault_at;
}

static void memory_arm(struct contract *c, uint64_t n, bool persistent)
{
	c->fault_at = n;
	contract_backend.set_memory_failure(c->place, n, persistent);
}

static bool memory_disarm(struct contract *c)
{
	return contract_backend.set_memory_failure(c->place, 0, false) >= c->fault_at;
}

static const struct fault allocation_fault = {"allocation", true, allocation_arm, allocation_disarm};
static const struct fault file_fault = {"file operation", false, file_arm, file_disarm};
static const struct fault memory_fault = {"allocation of the backend", true, memory_arm, memory_disarm};

/* ---- The world in which operations are tried ---- */

static void world_link(struct contract *c)
{
	const struct rec_link seen = {.task_id = S("a"),
				      .url = S("https://example.org/o/r/issues/1"),
				      .state = REC_OBSERVED_OPEN,
				      .validator = S("v")};
	expect(c, 0, rec_store_link_put(c->store, S("a"), seen.url, &c->error));
	expect(c, 0, rec_store_link_observed(c->store, &seen, &c->error));
	expect(c, 0, rec_store_tracker_cursor_put(c->store, S("github"), S("repo"), S("1"), &c->error));
}

static void world_fill(struct contract *c)
{
	expect(c, 0, rec_store_begin(c->store, &c->error));
	contract_add(c, "top", REC_READY);
	contract_add_child(c, "p", REC_READY, "top");
	contract_add_child(c, "a", REC_READY, "p");
	contract_add_child(c, "b", REC_BLOCKED, "p");
	contract_add_blocker(c, "k1", "b");
	contract_add_blocker(c, "k2", "b");
	contract_answer(c, "k1");
	contract_add(c, "running", REC_READY);
	contract_finish(c, contract_claim(c, "running"), REC_READY);
	contract_finish(c, contract_claim(c, "running"), REC_READY);
	c->claim = contract_claim(c, "running");
	struct rec_task task = contract_task("t", REC_DONE);
	task.external_url = S("https://example.org/1");
	task.description = S("some text");
	task.depends_on = &(struct rec_slice){"a", 1};
	task.depends_on_count = 1;
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	if (c->store->ops->link_put)
		world_link(c);
	struct rec_event event = {.event = S("X"), .task_id = S("t"), .reason = S("a reason")};
	expect(c, 0, rec_store_event_add(c->store, &event, &c->error));
	expect(c, 0, rec_store_commit(c->store, &c->error));
	contract_catch_up(c->store, &c->cursor);
	contract_set(c, "t", REC_DONE, REC_READY);
	rec_clock_manual_advance(&c->clock, 1000000);
}

static void world_make(struct contract *c)
{
	contract_restart(c);
	world_fill(c);
}

/* ---- One operation under one kind of fault ---- */

struct attempt {
	struct rec_buffer told;
	int result;
};

static void attempt_run(struct contract *c, failure_probe_fn *probe, struct attempt *ret)
{
	rec_buffer_init(&ret->told, NULL, SIZE_MAX / 2);
	c->error.code = 0;
	c->error.message[0] = '\0';
	ret->result = probe(c, c->store, &ret->told);
}

static void assert_told_why(struct contract *c, const struct fault *fault, int r)
{
	if (r >= REC_E_BUG && r != REC_E_BUG && r != REC_E_INVALID && c->error.code == r && c->error.message[0] &&
	    (!fault->memory || r == REC_E_NOMEM))
		return;
	fail_msg("%d with error %d: %s", r, c->error.code, c->error.message);
}

static void assert_dump(struct rec_store *s, const struct rec_buffer *wanted)
{
	struct rec_buffer dump;
	contract_dump(s, &dump);
	assert_same_dump(wanted, &dump);
	rec_buffer_release(&dump);
}

enum look {
	LOOK_SAME,      /* through the same handle: nothing can have been written */
	LOOK_FRESH,     /* through a new one as well */
	LOOK_FRESH_FREE /* through a new one first, which nothing that the other left open may keep from writing */
};

static void assert_state(struct contract *c, enum look look, const struct rec_buffer *wanted)
{
	struct rec_store *fresh = NULL;
	if (look == LOOK_FRESH)
		assert_dump(c->store, wanted);
	if (look != LOOK_SAME) {
		expect(c, 0, contract_backend.open(c->place, &c->options, &fresh, &c->error));
		expect(c, 0, rec_store_begin(fresh, &c->error));
		assert_dump(fresh, wanted);
		rec_store_close(fresh);
	}
	assert_dump(c->store, wanted);
}

struct reference {
	struct rec_buffer before, after, told;
};

static void reference_make(struct contract *c, const struct failure_probe *probe, struct reference *ret)
{
	struct attempt attempt;
	world_make(c);
	contract_dump(c->store, &ret->before);
	attempt_run(c, probe->run, &attempt);
	expect(c, 0, attempt.result);
	ret->told = attempt.told;
	contract_dump(c->store, &ret->after);
}

static void reference_release(struct reference *reference)
{
	rec_buffer_release(&reference->before);
	rec_buffer_release(&reference->after);
	rec_buffer_release(&reference->told);
}

/* Returns whether the fault struck; if not, the operation has no more places to fail. */
static bool fault_try(struct contract *c, const struct failure_probe *probe, const struct fault *fault, uint64_t n,
		      bool persistent, const struct reference *reference)
{
	struct attempt attempt;
	fault->arm(c, n, persistent);
	attempt_run(c, probe->run, &attempt);
	bool struck = fault->disarm(c);
	/* Without any memory a backend may be unable to roll back before it is used again (SQLite parses ROLLBACK
	 * anew). */
	enum look look = !probe->writes ? LOOK_SAME : fault->memory && persistent ? LOOK_FRESH : LOOK_FRESH_FREE;
	if (attempt.result < 0) {
		assert_true(struck);
		assert_told_why(c, fault, attempt.result);
		assert_state(c, look, &reference->before);
	} else {
		expect(c, 0, attempt.result);
		assert_same_dump(&reference->told, &attempt.told);
		assert_state(c, look, &reference->after);
		world_make(c);
	}
	rec_buffer_release(&attempt.told);
	return struck;
}

/* REC_TEST_FAULT_STEP=N tries the first 8 places and then every Nth only: for valgrind, under which thousands of stores
 * are opened slowly. */
static uint64_t fault_step(void)
{
	const char *text = getenv("REC_TEST_FAULT_STEP");
	uint64_t step = text ? strtoull(text, NULL, 10) : 1;
	return step ? step : 1;
}

static void faults_tell(const struct failure_probe *probe, const struct fault *fault, uint64_t places)
{
	uint64_t step = fault_step();
	if (step == 1)
		print_message("%s: %llu places for a failed %s\n", probe->name, (unsigned long long)places,
			      fault->name);
	else
		print_message("%s: up to %llu places for a failed %s, of which the first %u and then every %lluth was "
			      "tried\n",
			      probe->name, (unsigned long long)places, fault->name, FAULTS_ALL,
			      (unsigned long long)step);
}

static void faults_try(struct contract *c, const struct failure_probe *probe, const struct fault *fault)
{
	struct reference reference;
	struct attempt attempt;
	for (int persistent = 0; persistent < 2; persistent++) {
		uint64_t n = 1;
		reference_make(c, probe, &reference);
		world_make(c);
		while (fault_try(c, probe, fault, n, persistent, &reference))
			assert_true((n += n < FAULTS_ALL ? 1 : fault_step()) < FAULTS_MAX);
		/* The handle that lived through the failures still does it. */
		attempt_run(c, probe->run, &attempt);
		expect(c, 0, attempt.result);
		rec_buffer_release(&attempt.told);
		reference_release(&reference);
		if (persistent == 0)
			faults_tell(probe, fault, n - 1);
	}
}

static bool supported(struct contract *c, const struct failure_probe *probe)
{
	struct attempt attempt;
	world_make(c);
	attempt_run(c, probe->run, &attempt);
	rec_buffer_release(&attempt.told);
	return attempt.result != REC_E_UNSUPPORTED;
}

static void test_failure(void **state)
{
	struct contract *c = *state;
	const struct failure_probe *probe = c->parameter;
	if (!supported(c, probe))
		skip();
	faults_try(c, probe, &allocation_fault);
	if (contract_backend.set_memory_failure)
		faults_try(c, probe, &memory_fault);
	if (contract_backend.set_io_failure)
		faults_try(c, probe, &file_fault);
}

/* ---- Making a store where there is none ---- */

/* What a failed attempt left behind must not be in the way of the next one. */
static bool making_try(struct contract *c, const struct fault *fault, uint64_t n, bool persistent,
		       const struct rec_buffer *empty)
{
	contract_restart_empty(c);
	struct rec_store_options options = c->options;
	options.mode = REC_STORE_INIT;
	fault->arm(c, n, persistent);
	int r = contract_backend.open(c->place, &options, &c->store, &c->error);
	bool struck = fault->disarm(c);
	if (r < 0) {
		assert_true(struck);
		assert_null(c->store);
		assert_told_why(c, fault, r);
		expect(c, 0, contract_backend.open(c->place, &options, &c->store, &c->error));
	}
	assert_state(c, LOOK_FRESH_FREE, empty);
	return struck;
}

/* Making a SQLite store has more than ten thousand places to fail, most of them in its parser: beyond the first few
 * hundred every 37th is tried, unless REC_TEST_EVERY is set. All other operations are tried with every one. */
static uint64_t making_next(uint64_t n)
{
	return n < 300 || getenv("REC_TEST_EVERY") ? n + 1 : n + 37;
}

static void making_faults_try(struct contract *c, const struct fault *fault)
{
	for (int persistent = 0; persistent < 2; persistent++) {
		struct rec_buffer empty;
		uint64_t n = 1;
		contract_restart(c);
		contract_dump(c->store, &empty);
		while (making_try(c, fault, n, persistent, &empty))
			assert_true((n = making_next(n)) < FAULTS_MAX);
		rec_buffer_release(&empty);
		if (persistent == 0)
			print_message("making a store: %llu places for a failed %s\n", (unsigned long long)n - 1,
				      fault->name);
	}
}

static void test_failure__anywhere_in_making_a_store(void **state)
{
	struct contract *c = *state;
	making_faults_try(c, &allocation_fault);
	if (contract_backend.set_memory_failure)
		making_faults_try(c, &memory_fault);
	if (contract_backend.set_io_failure)
		making_faults_try(c, &file_fault);
}

static const struct CMUnitTest tests[] = {contract_test(test_failure__anywhere_in_making_a_store),
#define PROBE_TEST(name, writes)                                                                                       \
	{"test_failure__anywhere_in_" #name, test_failure, contract_setup, contract_teardown,                          \
	 (void *)(uintptr_t)&failure_probe_##name},
					  FAILURE_PROBES(PROBE_TEST)
#undef PROBE_TEST
};
contract_run(failure, tests)
