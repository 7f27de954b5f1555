/* test-store.c - the wrappers against a backend that does whatever the test says: undocumented results, failures
 * without a message, failures in the middle of a composed operation. What sound backends do is in tests/contract. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/wrapper.h"

#define S(text) rec_slice_of(text)

/* Every op gives the next result of the script (0 at its end) and writes down its name. */
struct scripted {
	struct rec_store store;
	const int *results;
	size_t result_count, next;
	bool with_message;
	bool closed;
	char calls[512];
	struct rec_fact fact;
	enum rec_status parent_status;
	const char *parent;
	uint64_t unrecognised;
};

static int step(struct rec_store *s, const char *name, struct rec_error *error)
{
	struct scripted *script = (struct scripted *)s;
	size_t used = strlen(script->calls);
	snprintf(script->calls + used, sizeof script->calls - used, "%s ", name);
	int r = script->next < script->result_count ? script->results[script->next] : 0;
	script->next++;
	return r < 0 && script->with_message ? rec_fail(error, r, "the backend's own words") : r;
}

static void op_close(struct rec_store *s)
{
	((struct scripted *)s)->closed = true;
}

static int op_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
		       struct rec_snapshot *out, struct rec_error *error)
{
	(void)ids;
	(void)fields;
	int r = step(s, "snapshot", error);
	for (size_t i = 0; i < count; i++)
		out->facts[i] = ((struct scripted *)s)->fact;
	return r;
}

static int op_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		  struct rec_error *error)
{
	(void)id;
	(void)arena;
	(void)out;
	return step(s, "get", error);
}

static int op_begin(struct rec_store *s, struct rec_error *error)
{
	return step(s, "begin", error);
}

static int op_commit(struct rec_store *s, struct rec_error *error)
{
	return step(s, "commit", error);
}

static void op_rollback(struct rec_store *s)
{
	step(s, "rollback", NULL);
}

static int op_create(struct rec_store *s, const struct rec_task *task, struct rec_error *error)
{
	(void)task;
	return step(s, "create", error);
}

static int op_write_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			   enum rec_status *now, struct rec_error *error)
{
	(void)id;
	(void)to;
	if (now)
		*now = from;
	return step(s, "write_status", error);
}

static int op_parent(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
		     enum rec_status *ret_status, struct rec_error *error)
{
	struct scripted *script = (struct scripted *)s;
	(void)id;
	(void)arena;
	int r = step(s, "parent", error);
	if (r == 0) {
		*ret_parent = S(script->parent);
		*ret_status = script->parent_status;
	}
	return r;
}

static int op_children(struct rec_store *s, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
		       uint64_t *unrecognised, struct rec_error *error)
{
	(void)id;
	counts[REC_DONE] = 1;
	*unrecognised = ((struct scripted *)s)->unrecognised;
	return step(s, "children", error);
}

static int op_claim_add(struct rec_store *s, struct rec_claim *claim, struct rec_error *error)
{
	claim->claim_id = 99;
	return step(s, "claim_add", error);
}

static int op_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		      struct rec_error *error)
{
	cursor->seq = 42;
	int r = fn(context, rec_slice_of("t"));
	return r ? r : step(s, "changes", error);
}

static int op_gc(struct rec_store *s, struct rec_gc *gc, struct rec_error *error)
{
	(void)gc;
	return step(s, "gc", error);
}

static const struct rec_store_ops scripted_ops = {
	.backend = "scripted",
	.close = op_close,
	.snapshot = op_snapshot,
	.get = op_get,
	.begin = op_begin,
	.commit = op_commit,
	.rollback = op_rollback,
	.create = op_create,
	.write_status = op_write_status,
	.parent = op_parent,
	.children = op_children,
	.claim_add = op_claim_add,
	.changes = op_changes,
	.gc = op_gc,
};

static void script(struct scripted *s, const int *results, size_t count)
{
	*s = (struct scripted){.results = results, .result_count = count, .with_message = true};
	rec_store_setup(&s->store, &scripted_ops, &(struct rec_store_options){.mode = REC_STORE_WRITE});
	s->store.info.location = "/somewhere/state.db";
	s->store.info.attached = true;
}

#define SCRIPT(s, ...) script(&(s), (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static const struct rec_task good_task = {.id = {"t", 1}, .title = {"x", 1}, .status = REC_READY};

/* ---- Results ---- */

static void test_wrappers__undocumented_results_are_bugs_with_names(void **state)
{
	(void)state;
	static const int wrong[] = {REC_NOT_FOUND, REC_CONFLICT, REC_RESCAN, 7, 1000, -19, -1000};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct scripted s;
		struct rec_error error;
		SCRIPT(s, 0, wrong[i]);
		assert_int_equal(rec_store_create(&s.store, &good_task, &error), REC_E_BUG);
		assert_int_equal(error.code, REC_E_BUG);
		assert_non_null(strstr(error.message, "scripted"));
		assert_non_null(strstr(error.message, "create"));
		assert_string_equal(s.calls, "begin create rollback ");
	}
}

static void test_wrappers__a_failure_without_a_message_gets_one(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error = {.code = REC_E_IO, .message = "stale"};
	SCRIPT(s, 0, REC_E_IO);
	s.with_message = false;
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), REC_E_IO);
	assert_int_equal(error.code, REC_E_IO);
	assert_non_null(strstr(error.message, "scripted"));
}

static void test_wrappers__reads_are_checked_too(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	struct rec_task task;
	struct rec_arena arena;
	struct rec_snapshot snapshot;
	rec_arena_init(&arena, NULL);
	SCRIPT(s, REC_CONFLICT, REC_NOT_FOUND, REC_E_CORRUPT);
	assert_int_equal(rec_store_get(&s.store, S("t"), &arena, &task, &error), REC_E_BUG);
	assert_int_equal(rec_store_snapshot(&s.store, NULL, 0, 0, &snapshot, &error), REC_E_BUG);
	assert_int_equal(rec_store_get(&s.store, S("t"), &arena, &task, &error), REC_E_CORRUPT);
	assert_string_equal(error.message, "the backend's own words");
	rec_arena_release(&arena);
}

/* ---- Groups ---- */

static void test_wrappers__one_write_is_one_group(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	SCRIPT(s, 0);
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), 0);
	assert_string_equal(s.calls, "begin create commit ");
	SCRIPT(s, 0, REC_EXISTS);
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), REC_EXISTS);
	assert_string_equal(s.calls, "begin create rollback ");
	SCRIPT(s, REC_E_BUSY);
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), REC_E_BUSY);
	assert_string_equal(s.calls, "begin ");
	SCRIPT(s, 0, 0, REC_E_FULL);
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), REC_E_FULL);
	assert_string_equal(s.calls, "begin create commit ");
	assert_false(rec_store_in_group(&s.store));
}

static void test_wrappers__a_failure_in_a_group_rolls_back_once_and_is_answered_until_its_end(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	struct rec_snapshot snapshot;
	SCRIPT(s, 0, REC_E_FULL);
	assert_int_equal(rec_store_begin(&s.store, &error), 0);
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), REC_E_FULL);
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), REC_E_FULL);
	assert_int_equal(rec_store_snapshot(&s.store, NULL, 0, 0, &snapshot, &error), REC_E_FULL);
	assert_int_equal(rec_store_commit(&s.store, &error), REC_E_FULL);
	assert_non_null(strstr(error.message, "the backend's own words"));
	assert_string_equal(s.calls, "begin create rollback ");
	assert_int_equal(rec_store_begin(&s.store, &error), 0); /* the next one is sound */
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), 0);
	assert_int_equal(rec_store_commit(&s.store, &error), 0);
}

static void test_wrappers__a_failed_read_in_a_group_fails_it(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	struct rec_snapshot snapshot;
	SCRIPT(s, 0, 0, REC_E_IO);
	assert_int_equal(rec_store_begin(&s.store, &error), 0);
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), 0);
	assert_int_equal(rec_store_snapshot(&s.store, NULL, 0, 0, &snapshot, &error), REC_E_IO);
	assert_int_equal(rec_store_commit(&s.store, &error), REC_E_IO);
	assert_string_equal(s.calls, "begin create snapshot rollback ");
}

static void test_wrappers__close_rolls_back_what_is_open(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	SCRIPT(s, 0);
	assert_int_equal(rec_store_begin(&s.store, &error), 0);
	assert_null(rec_store_close(&s.store));
	assert_string_equal(s.calls, "begin rollback ");
	assert_true(s.closed);
	SCRIPT(s, 0);
	assert_null(rec_store_close(&s.store));
	assert_string_equal(s.calls, "");
}

static void test_wrappers__a_store_without_our_tables_names_init(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	SCRIPT(s, 0);
	s.store.info.attached = false;
	assert_int_equal(rec_store_create(&s.store, &good_task, &error), REC_E_UNINITIALISED);
	assert_non_null(strstr(error.message, "/somewhere/state.db"));
	assert_non_null(strstr(error.message, "reconciler init"));
	s.store.info.mode = REC_STORE_READ;
	assert_int_equal(rec_store_begin(&s.store, &error), REC_E_READ_ONLY);
	assert_non_null(strstr(error.message, "/somewhere/state.db"));
	assert_string_equal(s.calls, "");
}

/* ---- Composed operations ---- */

static void test_wrappers__claim_looks_before_it_writes(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	struct rec_claim claim = {.task_id = S("t")};
	enum rec_status now = REC_STATUS_ABSENT;
	SCRIPT(s, 0);
	s.parent_status = REC_BLOCKED;
	assert_int_equal(rec_store_claim(&s.store, &claim, &now, &error), REC_CONFLICT);
	assert_int_equal(now, REC_BLOCKED);
	assert_string_equal(s.calls, "begin parent rollback ");
	/* The claim comes before the status: one that is there already finds nothing written. */
	SCRIPT(s, 0, 0, REC_EXISTS);
	s.parent_status = REC_READY;
	assert_int_equal(rec_store_claim(&s.store, &claim, NULL, &error), REC_EXISTS);
	assert_string_equal(s.calls, "begin parent claim_add rollback ");
	assert_int_equal(claim.claim_id, 0);
	/* If the status is another one although the look said it was not, something is broken: never half a claim. */
	SCRIPT(s, 0, 0, 0, REC_CONFLICT);
	s.parent_status = REC_READY;
	assert_int_equal(rec_store_claim(&s.store, &claim, NULL, &error), REC_E_BUG);
	assert_string_equal(s.calls, "begin parent claim_add write_status rollback ");
	assert_int_equal(claim.claim_id, 0);
}

static void test_wrappers__a_failed_roll_up_undoes_the_write(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	SCRIPT(s, 0, 0, 0, 0, 0, REC_E_IO); /* begin, write, parent, parent, children, write of the parent */
	s.parent = "p";
	s.parent_status = REC_READY;
	assert_int_equal(rec_store_set_status(&s.store, S("t"), REC_READY, REC_DONE, NULL, NULL, NULL, &error),
			 REC_E_IO);
	assert_string_equal(s.calls, "begin write_status parent parent children write_status rollback ");
}

static void test_wrappers__roll_up_of_a_parent_that_changed_meanwhile_is_a_bug(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	SCRIPT(s, 0, 0, 0, 0, 0, REC_CONFLICT);
	s.parent = "p";
	s.parent_status = REC_READY;
	assert_int_equal(rec_store_set_status(&s.store, S("t"), REC_READY, REC_DONE, NULL, NULL, NULL, &error),
			 REC_E_BUG);
}

static void test_wrappers__a_child_with_an_unknown_status_leaves_the_parent_alone(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	SCRIPT(s, 0);
	s.parent = "p";
	s.parent_status = REC_READY;
	s.unrecognised = 1;
	assert_int_equal(rec_store_set_status(&s.store, S("t"), REC_READY, REC_DONE, NULL, NULL, NULL, &error), 0);
	assert_string_equal(s.calls, "begin write_status parent parent children commit ");
}

static int ignore_id(void *context, struct rec_slice id)
{
	(void)context;
	(void)id;
	return 0;
}

static void test_wrappers__the_cursor_moves_only_when_the_feed_was_read(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	struct rec_cursor cursor = {7, 1};
	SCRIPT(s, REC_E_IO, 0, REC_RESCAN);
	assert_int_equal(rec_store_changes(&s.store, &cursor, ignore_id, NULL, &error), REC_E_IO);
	assert_int_equal(cursor.seq, 7);
	assert_int_equal(rec_store_changes(&s.store, &cursor, ignore_id, NULL, &error), 0);
	assert_int_equal(cursor.seq, 42);
	cursor.seq = 7;
	assert_int_equal(rec_store_changes(&s.store, &cursor, ignore_id, NULL, &error), REC_RESCAN);
	assert_int_equal(cursor.seq, 42);
}

static int end_read(void *context, struct rec_slice id)
{
	(void)context;
	(void)id;
	return REC_RESCAN; /* whatever it looks like */
}

static void test_wrappers__a_feed_ended_by_its_reader_does_not_move_the_cursor(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	struct rec_cursor cursor = {7, 1};
	SCRIPT(s, 0);
	assert_int_equal(rec_store_changes(&s.store, &cursor, end_read, NULL, &error), REC_RESCAN);
	assert_int_equal(cursor.seq, 7);
}

static void test_wrappers__gc_counts_from_zero(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	struct rec_gc gc = {.changes = 5, .events = 5, .attempts = 5};
	SCRIPT(s, 0, REC_E_IO);
	assert_int_equal(rec_store_gc(&s.store, &gc, &error), REC_E_IO);
	assert_int_equal(gc.events, 5);
	gc.dry_run = true;
	assert_int_equal(rec_store_gc(&s.store, &gc, &error), 0);
	assert_int_equal(gc.changes + gc.events + gc.attempts, 0);
	assert_string_equal(s.calls, "begin gc rollback gc "); /* a dry run takes no writer's lock */
}

static void test_wrappers__what_a_backend_may_leave_out(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_error error;
	int fd = 7;
	SCRIPT(s, 0);
	assert_int_equal(rec_store_running_runs(&s.store, ignore_id, NULL, &error), 0);
	assert_int_equal(rec_store_batch_belief(&s.store, S("b"), NULL, NULL, &error), REC_NOT_FOUND);
	assert_int_equal(rec_store_problems(&s.store, NULL, NULL, &error), 0);
	assert_int_equal(rec_store_wake_fd(&s.store, &fd, &error), 0);
	assert_int_equal(fd, -1);
	rec_store_wake_drain(&s.store);
	assert_string_equal(s.calls, "");
}

/* ---- Snapshots ---- */

static void test_snapshot__raw_statuses_are_found_whatever_the_order_they_came_in(void **state)
{
	(void)state;
	struct scripted s;
	struct rec_snapshot snapshot;
	struct rec_error error;
	struct rec_slice ids[8] = {{0}};
	static const size_t order[] = {6, 2, 7, 0, 4};
	SCRIPT(s, 0);
	assert_int_equal(rec_snapshot_init(&snapshot, NULL, ids, 8, &error), 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(snapshot.facts[i].status, REC_STATUS_ABSENT);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		char text[8];
		snprintf(text, sizeof text, "raw%zu", order[i]);
		assert_int_equal(rec_snapshot_add_raw(&snapshot, order[i], S(text), &error), 0);
	}
	rec_snapshot_sort_raws(&snapshot);
	for (size_t i = 0; i < 10; i++) {
		char wanted[8];
		struct rec_slice raw = rec_snapshot_raw(&snapshot, i);
		bool given = i == 6 || i == 2 || i == 7 || i == 0 || i == 4;
		snprintf(wanted, sizeof wanted, "raw%zu", i);
		assert_int_equal(given, raw.data != NULL && rec_slice_equal(raw, S(wanted)));
	}
	rec_snapshot_release(&snapshot);
	rec_snapshot_release(NULL);
}

static void test_snapshot__too_many_ids_are_refused(void **state)
{
	(void)state;
	struct rec_snapshot snapshot;
	struct rec_error error;
	struct rec_slice id = {"t", 1};
	assert_int_equal(rec_snapshot_init(&snapshot, NULL, &id, (size_t)UINT32_MAX + 5, &error), REC_E_LIMIT);
	rec_snapshot_release(&snapshot);
}

static void test_setup__fills_in_defaults(void **state)
{
	(void)state;
	struct rec_store s;
	char now[REC_TIMESTAMP_BYTES];
	rec_store_setup(&s, &scripted_ops, NULL);
	assert_int_equal(s.info.mode, REC_STORE_READ);
	assert_int_equal(s.busy_timeout_ms, 5000);
	assert_ptr_equal(s.clock, &rec_clock_real);
	assert_null(rec_store_allocator(&s));
	assert_int_equal(rec_store_now(&s, now).length, REC_TIMESTAMP_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrappers__undocumented_results_are_bugs_with_names),
		cmocka_unit_test(test_wrappers__a_failure_without_a_message_gets_one),
		cmocka_unit_test(test_wrappers__reads_are_checked_too),
		cmocka_unit_test(test_wrappers__one_write_is_one_group),
		cmocka_unit_test(test_wrappers__a_failure_in_a_group_rolls_back_once_and_is_answered_until_its_end),
		cmocka_unit_test(test_wrappers__a_failed_read_in_a_group_fails_it),
		cmocka_unit_test(test_wrappers__close_rolls_back_what_is_open),
		cmocka_unit_test(test_wrappers__a_store_without_our_tables_names_init),
		cmocka_unit_test(test_wrappers__claim_looks_before_it_writes),
		cmocka_unit_test(test_wrappers__a_failed_roll_up_undoes_the_write),
		cmocka_unit_test(test_wrappers__roll_up_of_a_parent_that_changed_meanwhile_is_a_bug),
		cmocka_unit_test(test_wrappers__the_cursor_moves_only_when_the_feed_was_read),
		cmocka_unit_test(test_wrappers__a_child_with_an_unknown_status_leaves_the_parent_alone),
		cmocka_unit_test(test_wrappers__a_feed_ended_by_its_reader_does_not_move_the_cursor),
		cmocka_unit_test(test_wrappers__gc_counts_from_zero),
		cmocka_unit_test(test_wrappers__what_a_backend_may_leave_out),
		cmocka_unit_test(test_snapshot__raw_statuses_are_found_whatever_the_order_they_came_in),
		cmocka_unit_test(test_snapshot__too_many_ids_are_refused),
		cmocka_unit_test(test_setup__fills_in_defaults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
