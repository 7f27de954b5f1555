/* test-machine.h - a machine on a bench: short ways to say what happens to it and what it answers. */
#ifndef REC_CORE_TEST_MACHINE_H
#define REC_CORE_TEST_MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/machine-private.h"

#define SECOND INT64_C(1000000)

struct bench {
	struct rec_machine *m;
	struct rec_now now;
	const struct rec_plan *plan;
	int64_t next_claim;
	char text[4096];
};

static inline struct rec_machine_options bench_options(void)
{
	return (struct rec_machine_options){
		.seed = 1,
		.max_parallel = 2,
		.retry_delay_us = 10 * SECOND,
		.settle_us = 10 * SECOND,
		.grace_us = 10 * SECOND,
	};
}

static inline void bench_open(struct bench *b, const struct rec_machine_options *options, uint32_t slots)
{
	*b = (struct bench){.now = {1000 * SECOND, 5000 * SECOND}, .next_claim = 100};
	assert_int_equal(rec_machine_new(options, &b->m, NULL), 0);
	assert_int_equal(rec_machine_slots(b->m, slots), 0);
}

static inline void bench_audit(const struct bench *b)
{
	const char *problem = rec_machine_audit(b->m);
	if (problem)
		fail_msg("audit: %s", problem);
}

static inline void bench_close(struct bench *b)
{
	bench_audit(b);
	b->m = rec_machine_free(b->m);
}

static inline uint32_t bench_add(struct bench *b, const char *id)
{
	uint32_t index = NONE;
	struct rec_machine_task task = {.id = rec_slice_of(id), .member = true};
	assert_int_equal(rec_machine_add(b->m, &task, &index), 0);
	return index;
}

static inline void bench_link(struct bench *b)
{
	assert_int_equal(rec_machine_link(b->m, b->now), 0);
}

/* ---- What happens ---- */

static inline struct rec_seen seen_as(enum rec_status status)
{
	return (struct rec_seen){.status = (uint8_t)status, .is_leaf = true};
}

/* The facts as the decision table judges them against the machine's belief. */
static inline struct rec_machine_event verdict_of(const struct bench *b, uint32_t task, struct rec_seen seen)
{
	enum rec_status believed = rec_machine_belief(b->m, task);
	struct rec_verdict v = rec_decide_task((enum rec_status)seen.status, believed);
	if (seen.status == REC_BLOCKED)
		v = rec_merge(v,
			      rec_decide_blockers(REC_BLOCKED,
						  (struct rec_blocker_counts){seen.blockers_total, seen.blockers_open}),
			      believed);
	return (struct rec_machine_event){
		.kind = (enum rec_happening)v.action,
		.task = task,
		.verdict = v,
		.seen = seen,
		.attempt = rec_machine_attempt(b->m, task),
		.commits = rec_machine_commits(b->m, task),
	};
}

static inline void bench_see(struct bench *b, uint32_t task, struct rec_seen seen)
{
	struct rec_machine_event e = verdict_of(b, task, seen);
	assert_int_equal(rec_machine_handle(b->m, b->now, &e), 0);
	bench_audit(b);
}

static inline void bench_status(struct bench *b, uint32_t task, enum rec_status status)
{
	struct rec_seen seen = seen_as(status);
	seen.claimed = rec_machine_claim(b->m, task) != 0;
	seen.blockers_total = seen.blockers_open = status == REC_BLOCKED;
	bench_see(b, task, seen);
}

static inline int bench_tell(struct bench *b, struct rec_machine_event e)
{
	int r = rec_machine_handle(b->m, b->now, &e);
	bench_audit(b);
	return r;
}

static inline void bench_say(struct bench *b, uint32_t task, enum rec_happening kind)
{
	struct rec_machine_event e = {.kind = kind, .task = task, .claim_id = rec_machine_claim(b->m, task)};
	assert_int_equal(bench_tell(b, e), 0);
}

static inline void bench_claimed(struct bench *b, uint32_t task)
{
	struct rec_machine_event e = {.kind = REC_ON_CLAIMED, .task = task, .claim_id = b->next_claim++};
	e.attempt = rec_machine_attempt(b->m, task) + 1;
	assert_int_equal(bench_tell(b, e), 0);
}

static inline void bench_exit(struct bench *b, uint32_t task, int32_t code)
{
	struct rec_machine_event e = {.kind = REC_ON_ENDED, .task = task, .claim_id = rec_machine_claim(b->m, task)};
	e.exit.code = code;
	e.took_us = SECOND;
	assert_int_equal(bench_tell(b, e), 0);
}

/* It was signalled, and exits. */
static inline void bench_heed(struct bench *b, uint32_t task, int32_t code)
{
	struct rec_machine_event e = {.kind = REC_ON_ENDED, .task = task, .claim_id = rec_machine_claim(b->m, task)};
	e.exit = (struct rec_exit){.code = code, .signalled = true};
	assert_int_equal(bench_tell(b, e), 0);
}

/* It dies of our signal. */
static inline void bench_signal(struct bench *b, uint32_t task, int32_t signal)
{
	struct rec_machine_event e = {.kind = REC_ON_ENDED, .task = task, .claim_id = rec_machine_claim(b->m, task)};
	e.exit = (struct rec_exit){.code = signal, .by_signal = true, .signalled = true};
	assert_int_equal(bench_tell(b, e), 0);
}

static inline void bench_recorded(struct bench *b, uint32_t task, enum rec_status status)
{
	struct rec_machine_event e = {.kind = REC_ON_RECORDED, .task = task, .status = (uint8_t)status};
	e.claim_id = rec_machine_claim(b->m, task);
	assert_int_equal(bench_tell(b, e), 0);
}

/* ---- What it answers ---- */

/* The plan as text. */
static inline const char *bench_plan(struct bench *b)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, sizeof b->text - 1);
	assert_int_equal(rec_machine_plan(b->m, b->now, &b->plan), 0);
	bench_audit(b);
	assert_int_equal(rec_plan_write(&out, b->m, b->plan), 0);
	b->text[0] = '\0';
	if (out.length)
		memcpy(b->text, out.data, out.length + 1);
	rec_buffer_release(&out);
	return b->text;
}

static inline const struct rec_effect *bench_effect(const struct bench *b, enum rec_effect_kind kind)
{
	assert_int_equal(b->plan->buckets[kind].count, 1);
	return &b->plan->buckets[kind].items[0];
}

/* The plan as it is usually carried out: claims commit, looks find what is given. */
static inline void bench_commit_claims(struct bench *b)
{
	bench_plan(b);
	const struct rec_effects *claims = &b->plan->buckets[REC_EFFECT_CLAIM];
	for (size_t i = 0; i < claims->count; i++)
		bench_claimed(b, claims->items[i].task);
	rec_machine_stored(b->m);
}

/* From a fresh task to a running child. */
static inline void bench_run(struct bench *b, uint32_t task)
{
	bench_commit_claims(b);
	bench_say(b, task, REC_ON_STARTED);
	bench_plan(b);
	assert_int_equal(rec_machine_phase(b->m, task), REC_PHASE_RUNNING);
}

static inline void bench_pass(struct bench *b, int64_t us)
{
	b->now.monotonic_us += us;
	b->now.wall_us += us;
}

/* One task that runs in one slot. */
static inline uint32_t bench_running(struct bench *b, const struct rec_machine_options *options)
{
	bench_open(b, options, 2);
	uint32_t task = bench_add(b, "T1");
	bench_link(b);
	bench_status(b, task, REC_READY);
	bench_run(b, task);
	return task;
}

#define assert_phase(b, task, phase) assert_int_equal(rec_machine_phase((b)->m, task), REC_PHASE_##phase)

#endif
