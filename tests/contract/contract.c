/* contract.c - setting up and the shorthand of the tests. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#define CLOCK_START_US INT64_C(1767225600000000) /* 2026-01-01 */

struct rec_store *contract_open(struct contract *c, enum rec_store_mode mode)
{
	struct rec_store_options options = c->options;
	struct rec_store *store = NULL;
	options.mode = mode;
	assert_true(c->other_count < CONTRACT_HANDLES_MAX);
	expect(c, 0, contract_backend.open(c->place, &options, &store, &c->error));
	return c->others[c->other_count++] = store;
}

struct rec_store *contract_memory_store(struct contract *c)
{
	struct rec_store *store = NULL;
	assert_true(c->other_count < CONTRACT_HANDLES_MAX);
	expect(c, 0, rec_store_memory_open("", &c->options, &store, &c->error));
	return c->others[c->other_count++] = store;
}

static void place_end(struct contract *c)
{
	while (c->other_count > 0)
		rec_store_close(c->others[--c->other_count]);
	c->store = rec_store_close(c->store);
	if (c->place)
		contract_backend.place_free(c->place);
	c->place = NULL;
}

void contract_restart_empty(struct contract *c)
{
	place_end(c);
	assert_int_equal(c->memory.live, 0);
	rec_clock_manual_init(&c->clock, CLOCK_START_US);
	c->place = contract_backend.place_new();
	assert_non_null(c->place);
}

void contract_restart(struct contract *c)
{
	struct rec_store_options first = c->options;
	first.mode = REC_STORE_INIT;
	contract_restart_empty(c);
	expect(c, 0, contract_backend.open(c->place, &first, &c->store, &c->error));
}

int contract_setup(void **state)
{
	struct contract *c = rec_zalloc(NULL, 1, sizeof *c);
	assert_non_null(c);
	c->parameter = *state;
	*state = c;
	rec_failing_allocator_init(&c->memory, 0, 0);
	rec_arena_init(&c->arena, NULL);
	c->options = (struct rec_store_options){
		.mode = REC_STORE_WRITE,
		.allocator = &c->memory.allocator,
		.clock = &c->clock.clock,
		.busy_timeout_ms = 50,
	};
	contract_restart(c);
	return 0;
}

int contract_teardown(void **state)
{
	struct contract *c = *state;
	c->memory.fail_at = 0;
	place_end(c);
	rec_arena_release(&c->arena);
	assert_int_equal(c->memory.live, 0);
	rec_free(NULL, c);
	return 0;
}

/* ---- Assertions ---- */

void contract_assert_slice(struct rec_slice slice, const char *text, const char *file, int line)
{
	if (text ? slice.data && rec_slice_equal(slice, S(text)) : !slice.data)
		return;
	print_error("wanted %s, have %.*s\n", text ? text : "(absent)", slice.data ? (int)slice.length : 8,
		    slice.data ? slice.data : "(absent)");
	_fail(file, line);
}

void contract_expect(struct contract *c, int wanted, int result, const char *call, const char *file, int line)
{
	bool told = result >= 0 || (c->error.code == result && c->error.message[0]);
	if (result == wanted && told)
		return;
	print_error("%s\n  wanted %d, have %d%s%s\n", call, wanted, result, result < 0 ? ": " : "",
		    result >= 0 ? ""
		    : told      ? c->error.message
				: "(without a message)");
	_fail(file, line);
}

/* ---- Shorthand ---- */

struct rec_task contract_task(const char *id, enum rec_status status)
{
	return (struct rec_task){.id = S(id), .title = S("a task"), .status = status, .is_leaf = true};
}

void contract_add(struct contract *c, const char *id, enum rec_status status)
{
	contract_add_child(c, id, status, NULL);
}

void contract_add_child(struct contract *c, const char *id, enum rec_status status, const char *parent)
{
	struct rec_task task = contract_task(id, status);
	task.parent_id = S(parent);
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
}

void contract_add_blocker(struct contract *c, const char *id, const char *task_id)
{
	struct rec_blocker blocker = {.id = S(id), .task_id = S(task_id), .question = S("which one?")};
	expect(c, 0, rec_store_blocker_create(c->store, &blocker, &c->error));
}

void contract_answer(struct contract *c, const char *id)
{
	expect(c, 0, rec_store_blocker_answer(c->store, S(id), S("that one"), &c->error));
}

void contract_set(struct contract *c, const char *id, enum rec_status from, enum rec_status to)
{
	expect(c, 0, rec_store_set_status(c->store, S(id), from, to, NULL, NULL, NULL, &c->error));
}

int64_t contract_claim(struct contract *c, const char *id)
{
	struct rec_claim claim = {.task_id = S(id), .owner = S("host:1")};
	expect(c, 0, rec_store_claim(c->store, &claim, NULL, &c->error));
	return claim.claim_id;
}

void contract_finish(struct contract *c, int64_t claim_id, enum rec_status to)
{
	struct rec_finish finish = {.claim_id = claim_id, .to = to, .outcome = S("done")};
	expect(c, 0, rec_store_finish(c->store, &finish, NULL, &c->error));
}

struct rec_fact contract_fact(struct contract *c, const char *id)
{
	struct rec_snapshot snapshot;
	struct rec_slice ids[] = {S(id)};
	unsigned fields = REC_SNAPSHOT_ALL_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY;
	expect(c, 0, rec_store_snapshot(c->store, ids, 1, fields, &snapshot, &c->error));
	struct rec_fact fact = snapshot.facts[0];
	rec_snapshot_release(&snapshot);
	return fact;
}

enum rec_status contract_status(struct contract *c, const char *id)
{
	return contract_fact(c, id).status;
}

struct rec_task contract_get(struct contract *c, const char *id)
{
	struct rec_task task;
	expect(c, 0, rec_store_get(c->store, S(id), &c->arena, &task, &c->error));
	return task;
}

/* ---- Change feed ---- */

struct told {
	char *ids;
	size_t capacity, count;
};

static int tell(void *context, struct rec_slice id)
{
	struct told *t = context;
	size_t used = t->ids ? strlen(t->ids) : 0;
	if (t->ids && used + id.length + 2 <= t->capacity)
		snprintf(t->ids + used, t->capacity - used, "%.*s ", (int)id.length, id.data);
	t->count++;
	return 0;
}

size_t contract_changes(struct rec_store *s, struct rec_cursor *cursor, char *ids, size_t capacity)
{
	struct told t = {ids, capacity, 0};
	struct rec_error error = {0};
	if (ids)
		ids[0] = '\0';
	int r = rec_store_changes(s, cursor, tell, &t, &error);
	if (r < 0)
		print_error("changes: %s\n", error.message);
	assert_int_equal(r, 0);
	return t.count;
}

void contract_catch_up(struct rec_store *s, struct rec_cursor *cursor)
{
	struct told t = {0};
	struct rec_error error = {0};
	int r = rec_store_changes(s, cursor, tell, &t, &error);
	assert_true(r == 0 || r == REC_RESCAN);
	assert_int_equal(contract_changes(s, cursor, NULL, 0), 0);
}
