/* measure-batch.c - what a large batch costs in memory and per turn: the machine alone, without store or processes.
 *
 * usage: measure-batch TASKS SLOTS
 * Prints lines "NAME TAB VALUE": memory a task (its id of 36 bytes included), what it costs to take a task up, an idle
 * plan, and a turn (an end, its record, the next claim, its start) with everything else queued.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine.h"
#include "measure.h"

#define ID_BYTES 37
#define SECOND INT64_C(1000000)
#define TURNS 20000u
#define IDLE_PLANS 200000u

struct batch {
	struct rec_machine *m;
	struct rec_now now;
	int64_t claims;
};

static size_t memory_used(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

static void tell(struct batch *b, const struct rec_machine_event *e)
{
	if (rec_machine_handle(b->m, b->now, e))
		measure_die("machine", "an event was refused");
}

static const struct rec_plan *plan(struct batch *b)
{
	const struct rec_plan *made;
	if (rec_machine_plan(b->m, b->now, &made))
		measure_die("machine", "out of memory");
	return made;
}

static void add_all(struct batch *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char id[ID_BYTES];
		uint32_t task;
		snprintf(id, sizeof id, "%08x-0000-4000-8000-%012x", i * 2654435761u, i);
		const struct rec_machine_task added = {.id = rec_slice_of(id), .member = true, .created_us = i};
		if (rec_machine_add(b->m, &added, &task))
			measure_die("machine", "a task was refused");
	}
	if (rec_machine_link(b->m, b->now))
		measure_die("machine", "out of memory");
}

static void see(struct batch *b, uint32_t task)
{
	tell(b, &(struct rec_machine_event){
			.kind = REC_ON_NONE,
			.task = task,
			.seen = {.status = REC_READY, .believed = REC_READY, .is_leaf = true},
			.attempt = rec_machine_attempt(b->m, task),
			.commits = rec_machine_commits(b->m, task),
		});
}

/* What the plan asks for happens: claims commit, children start, ends are recorded. The tasks that were claimed. */
static size_t carry_out(struct batch *b, const struct rec_plan *made, uint32_t *claimed)
{
	const struct rec_effects *claims = &made->buckets[REC_EFFECT_CLAIM], *ends = &made->buckets[REC_EFFECT_FINISH];
	size_t count = claims->count;
	struct rec_machine_event events[2];
	for (size_t i = 0; i < ends->count; i++) {
		events[0] = (struct rec_machine_event){.kind = REC_ON_RECORDED,
						       .task = ends->items[i].task,
						       .claim_id = ends->items[i].claim_id,
						       .status = REC_DONE};
		tell(b, &events[0]);
	}
	for (size_t i = 0; i < count; i++) {
		claimed[i] = claims->items[i].task;
		events[0] = (struct rec_machine_event){.kind = REC_ON_CLAIMED,
						       .task = claimed[i],
						       .claim_id = ++b->claims,
						       .attempt = 1,
						       .slot = claims->items[i].slot};
		events[1] =
			(struct rec_machine_event){.kind = REC_ON_STARTED, .task = claimed[i], .claim_id = b->claims};
		tell(b, &events[0]);
		tell(b, &events[1]);
	}
	rec_machine_stored(b->m);
	return count;
}

/* Each turn the oldest of those that run ends. */
static void measure_turns(struct batch *b, uint32_t slots, uint32_t turns)
{
	uint32_t *running = measure_alloc(slots + 1u, sizeof *running), claimed[2];
	size_t count = carry_out(b, plan(b), running);
	double begin = measure_cpu_us();
	for (uint32_t i = 0; i < turns; i++) {
		uint32_t task = running[i % count];
		b->now.monotonic_us += SECOND;
		tell(b, &(struct rec_machine_event){.kind = REC_ON_ENDED,
						    .task = task,
						    .claim_id = rec_machine_claim(b->m, task),
						    .took_us = SECOND});
		if (carry_out(b, plan(b), claimed) != 1)
			measure_die("machine", "a slot was not given the next task");
		running[i % count] = claimed[0];
		plan(b);
	}
	printf("batch_turn_us\t%.3f\n", (measure_cpu_us() - begin) / turns);
	free(running);
}

static void measure_idle(struct batch *b)
{
	double begin = measure_cpu_us();
	for (uint32_t i = 0; i < IDLE_PLANS; i++)
		if (plan(b)->count)
			measure_die("machine", "an idle plan asks for something");
	printf("batch_idle_us\t%.4f\n", (measure_cpu_us() - begin) / IDLE_PLANS);
}

int main(int argument_count, char **arguments)
{
	if (argument_count != 3)
		measure_die("usage", "measure-batch TASKS SLOTS");
	uint32_t count = (uint32_t)measure_number(arguments[1]), slots = (uint32_t)measure_number(arguments[2]);
	struct batch b = {.now = {.monotonic_us = SECOND, .wall_us = SECOND}};
	const struct rec_machine_options options = {.max_parallel = slots, .seed = 1};
	size_t before = memory_used();
	double begin = measure_cpu_us();
	if (rec_machine_new(&options, &b.m, NULL) || rec_machine_slots(b.m, slots))
		measure_die("machine", "out of memory");
	add_all(&b, count);
	for (uint32_t i = 0; i < count; i++)
		see(&b, i);
	printf("batch_load_us_per_task\t%.3f\n", (measure_cpu_us() - begin) / count);
	printf("batch_bytes_per_task\t%.1f\n", (double)(memory_used() - before) / count);
	measure_turns(&b, slots, count / 2 < TURNS ? count / 2 : TURNS);
	measure_idle(&b);
	rec_machine_free(b.m);
	return 0;
}
