/* test-world.h - for the engine's tests: a store with an allocator that counts, a second handle on the same data (the
 * world outside), and hooks that let something happen just before an operation. The store is in memory, or, if
 * REC_TEST_SQLITE is defined, in a directory of its own. */
#ifndef REC_ENGINE_TEST_WORLD_H
#define REC_ENGINE_TEST_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/check.h"
#include "store/backend.h"

#define S(text) rec_slice_of(text)

struct world {
	struct rec_failing_allocator memory;
	struct rec_clock_manual clock;
	struct rec_store *store;   /* the engine's */
	struct rec_store *outside; /* another's */
	struct rec_error error;
	char directory[256], path[300]; /* where SQLite's file is */
	/* Operations of `store` that are hooked; each hook acts on the world. */
	struct rec_store_ops ops;
	const struct rec_store_ops *real;
	void (*before_begin)(struct world *w);
	int begin_result, commit_result, snapshot_result; /* instead of calling, if not 0 */
	unsigned snapshots, snapshot_ids;                 /* how many, of how many ids together */
	const char *raw_status; /* if not NULL, what every task's status is in a snapshot: none of the seven */
};

static inline struct world *world_of(struct rec_store *s)
{
	/* The hooked table is the one in the world. */
	return (struct world *)((char *)(uintptr_t)s->ops - offsetof(struct world, ops));
}

static inline int world_begin(struct rec_store *s, struct rec_error *error)
{
	struct world *w = world_of(s);
	void (*before)(struct world *) = w->before_begin;
	w->before_begin = NULL;
	if (before)
		before(w);
	if (w->begin_result)
		return rec_fail(error, w->begin_result, "begin fails on purpose");
	return w->real->begin(s, error);
}

static inline int world_commit(struct rec_store *s, struct rec_error *error)
{
	struct world *w = world_of(s);
	if (!w->commit_result)
		return w->real->commit(s, error);
	w->real->rollback(s);
	return rec_fail(error, w->commit_result, "commit fails on purpose");
}

static inline int world_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
				 struct rec_snapshot *out, struct rec_error *error)
{
	struct world *w = world_of(s);
	w->snapshots++;
	w->snapshot_ids += (unsigned)count;
	if (w->snapshot_result)
		return rec_fail(error, w->snapshot_result, "snapshot fails on purpose");
	int r = w->real->snapshot(s, ids, count, fields, out, error);
	for (size_t i = 0; r == 0 && w->raw_status && i < out->count; i++) {
		out->facts[i].status = REC_STATUS_UNRECOGNISED;
		r = rec_snapshot_add_raw(out, i, rec_slice_of(w->raw_status), error);
	}
	return r;
}

#ifdef REC_TEST_SQLITE
/* In memory if there is such a place: none of these stores is to survive a power cut. */
static inline const char *world_place(void)
{
	const char *named = getenv("TMPDIR");
	if (named && strlen(named) < 200)
		return named;
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static inline void world_open(struct world *w, const struct rec_store_options *ours,
			      const struct rec_store_options *others)
{
	snprintf(w->directory, sizeof w->directory, "%s/rec-engine-XXXXXX", world_place());
	assert_non_null(mkdtemp(w->directory));
	snprintf(w->path, sizeof w->path, "%s/state.db", w->directory);
	assert_int_equal(rec_store_sqlite_open(w->path, ours, &w->store, &w->error), 0);
	assert_int_equal(rec_store_sqlite_open(w->path, others, &w->outside, &w->error), 0);
}

static inline void world_remove(struct world *w)
{
	assert_int_equal(unlink(w->path), 0);
	assert_int_equal(rmdir(w->directory), 0);
}
#else
static inline void world_open(struct world *w, const struct rec_store_options *ours,
			      const struct rec_store_options *others)
{
	assert_int_equal(rec_store_memory_open("", ours, &w->store, &w->error), 0);
	assert_int_equal(rec_store_memory_share(w->store, others, &w->outside, &w->error), 0);
}

static inline void world_remove(struct world *w)
{
	(void)w;
}
#endif

static inline struct world *world_new(void)
{
	struct world *w = rec_zalloc(NULL, 1, sizeof *w);
	assert_non_null(w);
	rec_failing_allocator_init(&w->memory, 0, 0);
	rec_clock_manual_init(&w->clock, INT64_C(1700000000000000));
	struct rec_store_options ours = {.mode = REC_STORE_INIT,
					 .allocator = &w->memory.allocator,
					 .clock = &w->clock.clock,
					 .busy_timeout_ms = 20};
	struct rec_store_options others = ours;
	others.mode = REC_STORE_WRITE;
	others.allocator = NULL;
	world_open(w, &ours, &others);
	w->real = w->store->ops;
	w->ops = *w->real;
	w->ops.begin = world_begin;
	w->ops.commit = world_commit;
	w->ops.snapshot = world_snapshot;
	w->store->ops = &w->ops;
	return w;
}

static inline void world_free(struct world *w)
{
	w->memory.fail_at = 0;
	rec_store_close(w->outside);
	rec_store_close(w->store);
	world_remove(w);
	assert_int_equal(w->memory.live, 0);
	rec_free(NULL, w);
}

static inline int world_setup(void **state)
{
	*state = world_new();
	return 0;
}

static inline int world_teardown(void **state)
{
	world_free(*state);
	return 0;
}
#define world_test(function) cmocka_unit_test_setup_teardown(function, world_setup, world_teardown)

/* ---- What others do ---- */

static inline void world_ok(struct world *w, int result, const char *what)
{
	if (result)
		fail_msg("%s: %d %s", what, result, result < 0 ? w->error.message : "");
}
#define ok(w, call) world_ok(w, call, #call)

static inline void add_child(struct world *w, const char *id, enum rec_status status, const char *parent)
{
	struct rec_task task = {.id = S(id),
				.title = S("a task"),
				.status = status,
				.status_text = S(rec_status_text(status)),
				.is_leaf = true,
				.parent_id = S(parent)};
	ok(w, rec_store_create(w->outside, &task, &w->error));
}

static inline void add(struct world *w, const char *id, enum rec_status status)
{
	add_child(w, id, status, NULL);
}

static inline void ask(struct world *w, const char *blocker, const char *task)
{
	struct rec_blocker row = {
		.id = S(blocker), .task_id = S(task), .question = S("why?"), .status_text = S("OPEN")};
	ok(w, rec_store_blocker_create(w->outside, &row, &w->error));
}

static inline void answer(struct world *w, const char *blocker)
{
	ok(w, rec_store_blocker_answer(w->outside, S(blocker), S("because"), &w->error));
}

static inline enum rec_status status_of(struct world *w, const char *id)
{
	struct rec_snapshot snapshot;
	struct rec_slice slice = S(id);
	ok(w, rec_store_snapshot(w->outside, &slice, 1, 0, &snapshot, &w->error));
	enum rec_status status = (enum rec_status)snapshot.facts[0].status;
	rec_snapshot_release(&snapshot);
	return status;
}

static inline void set(struct world *w, const char *id, enum rec_status to)
{
	ok(w, rec_store_set_status(w->outside, S(id), status_of(w, id), to, NULL, NULL, NULL, &w->error));
}

static inline int64_t claim(struct world *w, const char *id)
{
	struct rec_claim row = {.task_id = S(id), .owner = S("test")};
	ok(w, rec_store_claim(w->outside, &row, NULL, &w->error));
	return row.claim_id;
}

static inline void finish(struct world *w, int64_t claim_id, enum rec_status to)
{
	struct rec_finish row = {.claim_id = claim_id, .to = to, .outcome = S("done")};
	ok(w, rec_store_finish(w->outside, &row, NULL, &w->error));
}

#endif
