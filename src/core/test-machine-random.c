/* test-machine-random.c - a small made-up world drives the machine at random: whatever happens in whatever order, the
 * books are right after every step (rec_machine_audit), no allocation that fails changes anything, and once nobody
 * disturbs any more the batch ends. Whether what it does is right is the simulator's question (tests/sim). */
#include <stdlib.h>

#include "core/test-machine.h"

#define TASKS 12u
#define SLOTS 3u
#define STEPS 4000
#define LOOKS 64u

struct world {
	struct bench b;
	struct rec_random random;
	struct rec_failing_allocator memory;
	struct {
		enum rec_status status;
		bool claimed, asked, answered;
	} tasks[TASKS];
	struct rec_machine_event looks[LOOKS]; /* taken, not told yet */
	size_t look_count;
	uint32_t disturb; /* one of so many actions is somebody else's; 0: none */
};

static uint32_t below(struct world *w, uint32_t limit)
{
	return (uint32_t)rec_random_below(&w->random, limit);
}

/* Everything is tried with the next allocation failing now and then, until it works. */
#define insist(w, call)                                                                                                \
	do {                                                                                                           \
		int r_;                                                                                                \
		do {                                                                                                   \
			(w)->memory.calls = 0;                                                                         \
			(w)->memory.fail_at = below(w, 3);                                                             \
			r_ = (call);                                                                                   \
			(w)->memory.fail_at = 0;                                                                       \
			bench_audit(&(w)->b);                                                                          \
		} while (r_ == REC_E_NOMEM);                                                                           \
		assert_int_equal(r_, 0);                                                                               \
	} while (0)

static void tell(struct world *w, struct rec_machine_event e)
{
	insist(w, rec_machine_handle(w->b.m, w->b.now, &e));
}

/* ---- The store of this world ---- */

static struct rec_seen seen_of(const struct world *w, uint32_t task)
{
	struct rec_seen seen = seen_as(w->tasks[task].status);
	seen.claimed = w->tasks[task].claimed;
	seen.blockers_total = w->tasks[task].asked || w->tasks[task].answered;
	seen.blockers_open = w->tasks[task].asked;
	seen.blockers_new = w->tasks[task].answered && !w->tasks[task].asked;
	return seen;
}

static void look(struct world *w, uint32_t task)
{
	if (w->look_count < LOOKS)
		w->looks[w->look_count++] = verdict_of(&w->b, task, seen_of(w, task));
}

static void look_tell(struct world *w)
{
	if (!w->look_count)
		return;
	uint32_t which = below(w, (uint32_t)w->look_count); /* late ones come in any order */
	struct rec_machine_event e = w->looks[which];
	w->looks[which] = w->looks[--w->look_count];
	tell(w, e);
}

static void somebody_acts(struct world *w)
{
	uint32_t task = below(w, TASKS);
	switch (below(w, 4)) {
	case 0:
		w->tasks[task].asked = true;
		break;
	case 1:
		w->tasks[task].answered = w->tasks[task].asked;
		w->tasks[task].asked = false;
		break;
	default:
		w->tasks[task].status = (enum rec_status)below(w, REC_STATUS_COUNT);
	}
	look(w, task);
}

/* ---- Doing what is planned ---- */

static void store_do(struct world *w, const struct rec_effect *e)
{
	struct rec_machine_event done = {.task = e->task, .claim_id = e->claim_id, .attempt = e->attempt};
	enum rec_status *status = &w->tasks[e->task].status;
	switch (e->kind) {
	case REC_EFFECT_FINISH:
		*status = *status == REC_IN_PROGRESS ? (enum rec_status)e->status : *status;
		w->tasks[e->task].claimed = false;
		done.kind = REC_ON_RECORDED;
		done.status = (uint8_t)*status;
		break;
	case REC_EFFECT_RELEASE:
		*status = *status == REC_IN_PROGRESS ? REC_READY : *status;
		w->tasks[e->task].claimed = false;
		done.kind = REC_ON_RELEASED;
		break;
	case REC_EFFECT_REQUEUE:
		if (e->status != REC_BLOCKED)
			return;
		done.kind = *status == REC_BLOCKED ? REC_ON_REQUEUED : REC_ON_REQUEUE_LOST;
		*status = *status == REC_BLOCKED ? REC_READY : *status;
		break;
	case REC_EFFECT_CLAIM:
		done.kind = *status == REC_READY && !w->tasks[e->task].claimed ? REC_ON_CLAIMED : REC_ON_CLAIM_LOST;
		done.claim_id = w->b.next_claim++;
		if (done.kind == REC_ON_CLAIMED) {
			*status = REC_IN_PROGRESS;
			w->tasks[e->task].claimed = true;
			w->tasks[e->task].answered = false;
		}
		break;
	default:
		return;
	}
	tell(w, done);
	look(w, e->task);
}

static void process_do(struct world *w, const struct rec_effect *e)
{
	struct rec_machine_event said = {.task = e->task, .claim_id = e->claim_id, .took_us = 50000};
	if (e->kind == REC_EFFECT_LOOK) {
		look(w, e->task);
		return;
	}
	if (e->kind == REC_EFFECT_RECALL)
		said.kind = REC_ON_VOID;
	else if (e->kind == REC_EFFECT_STOP)
		said = (struct rec_machine_event){REC_ON_ENDED, .task = e->task, .claim_id = e->claim_id,
						  .exit.signalled = true};
	else if (e->kind == REC_EFFECT_START)
		said.kind = below(w, 4) ? REC_ON_STARTED : REC_ON_VOID;
	else
		said.kind = REC_ON_ALIVE;
	tell(w, said);
}

/* The plan's buckets are the machine's; telling results may plan more, never into these. */
static void plan_do(struct world *w)
{
	insist(w, rec_machine_plan(w->b.m, w->b.now, &w->b.plan));
	const struct rec_plan *plan = w->b.plan;
	bool fails = w->disturb && below(w, 10) == 0;
	for (unsigned kind = 0; kind < REC_EFFECT_COUNT; kind++)
		for (size_t i = 0; i < plan->buckets[kind].count && !(kind >= REC_EFFECT_STORE && fails); i++) {
			struct rec_effect e = plan->buckets[kind].items[i];
			if (kind < REC_EFFECT_STORE)
				process_do(w, &e);
			else
				store_do(w, &e);
		}
	if (fails)
		insist(w, rec_machine_failed(w->b.m, w->b.now));
	else
		rec_machine_stored(w->b.m);
}

static void child_acts(struct world *w)
{
	static const int32_t codes[] = {0, 0, 0, 1, 75};
	uint32_t task = below(w, TASKS);
	struct rec_machine_event e = {.task = task, .claim_id = rec_machine_claim(w->b.m, task)};
	if (rec_machine_phase(w->b.m, task) != REC_PHASE_RUNNING)
		return;
	e.kind = w->disturb && below(w, 8) == 0 ? REC_ON_LOST : REC_ON_ENDED;
	e.exit.code = codes[below(w, 5)];
	tell(w, e);
}

/* ---- Making and running it ---- */

static void world_open(struct world *w, uint64_t seed)
{
	*w = (struct world){.random = {seed}, .disturb = 4};
	rec_failing_allocator_init(&w->memory, 0, 0);
	struct rec_machine_options options = bench_options();
	options.allocator = &w->memory.allocator;
	options.seed = seed;
	options.retries = below(w, 3);
	options.retry_delay_us = below(w, 2) * SECOND;
	options.settle_us = below(w, 2) * SECOND;
	options.timeout_us = below(w, 2) * 5 * SECOND;
	options.stall_timeout_us = below(w, 2) * 5 * SECOND;
	options.max_parallel = 1 + below(w, SLOTS);
	bench_open(&w->b, &options, SLOTS);
	for (uint32_t i = 0; i < TASKS; i++) {
		char id[] = {'t', (char)('a' + i), '\0'};
		struct rec_machine_task task = {.id = rec_slice_of(id), .member = below(w, 8) > 0};
		uint32_t index;
		insist(w, rec_machine_add(w->b.m, &task, &index));
		w->tasks[i].status = REC_READY;
	}
	for (uint32_t i = 0; i < TASKS; i++) {
		uint32_t on[] = {below(w, TASKS), below(w, TASKS)};
		if (below(w, 3) == 0)
			insist(w, rec_machine_depends(w->b.m, i, on, 2, below(w, 9) == 0));
	}
	insist(w, rec_machine_link(w->b.m, w->b.now));
	for (uint32_t i = 0; i < TASKS; i++)
		look(w, i);
}

static void world_step(struct world *w)
{
	bench_pass(&w->b, below(w, 400000));
	if (w->disturb && below(w, w->disturb) == 0)
		somebody_acts(w);
	if (w->disturb && below(w, 60) == 0) {
		uint32_t on = below(w, TASKS), task = below(w, TASKS);
		insist(w, rec_machine_depends(w->b.m, task, &on, below(w, 2), false));
		insist(w, rec_machine_link(w->b.m, w->b.now));
	}
	switch (below(w, 3)) {
	case 0:
		look_tell(w);
		break;
	case 1:
		child_acts(w);
		break;
	default:
		plan_do(w);
	}
}

static bool world_settles(struct world *w)
{
	for (int step = 0; step < 20000; step++) {
		world_step(w);
		if (step % 50 == 0)
			for (uint32_t i = 0; i < TASKS; i++)
				look(w, i);
		if (w->b.plan && w->b.plan->outcome != REC_BATCH_RUNNING && !w->look_count)
			return true;
	}
	return false;
}

static void test_random__books_are_right_at_every_step_and_every_batch_ends(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world w;
		world_open(&w, seed);
		for (int step = 0; step < STEPS / 10; step++)
			world_step(&w);
		w.disturb = 0;
		if (seed % 5 == 0)
			insist(&w, rec_machine_force(w.b.m, w.b.now));
		else if (seed % 5 == 1)
			rec_machine_drain(w.b.m);
		if (!world_settles(&w))
			fail_msg("seed %llu: the batch does not end", (unsigned long long)seed);
		struct rec_machine_counts c = rec_machine_counts(w.b.m);
		assert_int_equal(c.waiting + c.queued + c.running + c.held + c.done + c.failed + c.skipped,
				 rec_machine_members(w.b.m));
		bench_close(&w.b);
		assert_int_equal(w.memory.live, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random__books_are_right_at_every_step_and_every_batch_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
