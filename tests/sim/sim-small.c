/* sim-small.c - small worlds, all of them: up to three tasks, two slots, two conductors; one to three disturbances,
 * placed in every way among the first calls that conductors make of the store and the slots. `sim-small [DEPTH]`
 * (default 22 calls) says how far into the world disturbances may come. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct small {
	const char *name;
	unsigned tasks, slots, conductors, disturbances, depth;
	unsigned depends[3]; /* bits */
	enum sim_script scripts[3][2];
	uint32_t retries;
	int64_t settle_us;
	uint8_t ahead_after;
} worlds[] = {
	{"one task", 1, 1, 1, 3, 12, {0}, {{SIM_SUCCEED, SIM_SUCCEED}}, 0, 0, 0},
	{"one task that settles", 1, 1, 1, 2, 45, {0}, {{SIM_WRITE_DONE, SIM_SUCCEED}}, 0, 5 * SIM_SECOND, 0},
	{"one task that fails once", 1, 1, 1, 2, 45, {0}, {{SIM_FAIL, SIM_SUCCEED}}, 1, 0, 0},
	{"one task that asks", 1, 1, 1, 2, 45, {0}, {{SIM_ASK, SIM_SUCCEED}}, 0, 0, 0},
	{"one after the other", 2, 2, 1, 2, 35, {0, 1}, {{SIM_SUCCEED}, {SIM_SUCCEED}}, 0, 0, 0},
	{"two beside each other", 2, 2, 1, 2, 35, {0, 0}, {{SIM_SUCCEED}, {SIM_WRITE_FAILED, SIM_SUCCEED}}, 1, 0, 0},
	{"three in a row", 3, 2, 1, 2, 35, {0, 1, 2}, {{SIM_SUCCEED}, {SIM_SUCCEED}, {SIM_SUCCEED}}, 0, 0, 0},
	{"two that need one", 3, 2, 1, 2, 35, {0, 1, 1}, {{SIM_SUCCEED}, {SIM_SUCCEED}, {SIM_SUCCEED}}, 0, 0, 0},
	{"one task, two conductors", 1, 1, 2, 2, 50, {0}, {{SIM_SUCCEED, SIM_SUCCEED}}, 0, 0, 0},
	{"two tasks, two conductors", 2, 1, 2, 1, 240, {0, 0}, {{SIM_SUCCEED}, {SIM_SUCCEED}}, 0, 0, 0},
	{"ahead of each other", 3, 1, 1, 2, 42, {0, 0, 0}, {{SIM_SUCCEED}, {SIM_SUCCEED}, {SIM_SUCCEED}}, 0, 0, 1},
	{"ahead of one that fails", 3, 1, 1, 2, 30, {0, 0, 0}, {{SIM_SUCCEED}, {SIM_FAIL}, {SIM_SUCCEED}}, 1, 0, 1},
};

/* ---- Disturbances ---- */

enum disturbance {
	NOTHING,
	DIES,
	SHIM_DIES,
	REBOOT,
	STORE_FAILS,
	SET_DONE,
	SET_BLOCKED,
	SET_READY,
	IS_ASKED,
	TIME_PASSES,
	OTHER_ACTS,
	DISTURBANCES
};

static unsigned branch(struct sim_paths *paths, unsigned ways)
{
	unsigned at = paths->at++;
	if (at >= paths->depth_max)
		return 0;
	if (at >= paths->depth) {
		paths->taken[at] = 0;
		paths->depth = at + 1;
	}
	paths->ways[at] = (uint8_t)ways;
	return paths->taken[at];
}

static void disturb(struct sim *w, struct sim_conductor *c, bool in_group)
{
	struct sim_paths *paths = w->paths;
	if (!paths->left || paths->at >= paths->depth_max)
		return;
	enum disturbance what = (enum disturbance)branch(paths, DISTURBANCES);
	paths->left -= what != NOTHING;
	switch (what) {
	case DIES:
		sim_conductor_die(c);
		break;
	case SHIM_DIES:
		sim_shim_die(w, 0);
		break;
	case REBOOT:
		sim_reboot(w, 0);
		break;
	case STORE_FAILS:
		paths->store_fails = true;
		break;
	case SET_DONE:
		sim_status_set(w, 0, REC_DONE, "person");
		break;
	case SET_BLOCKED:
		sim_status_set(w, 0, REC_BLOCKED, "person");
		break;
	case SET_READY:
		sim_status_set(w, 0, REC_READY, "person");
		break;
	case IS_ASKED:
		sim_blocker_add(w, 0);
		break;
	case TIME_PASSES:
		sim_pass_to_next(w);
		sim_shims_act(w);
		break;
	case OTHER_ACTS:
		if (!in_group && w->options.conductors > 1)
			sim_conductor_turn(&w->conductors[1 - c->index]);
		break;
	default:
		break;
	}
}

/* The next path; false if there is none. */
static bool paths_next(struct sim_paths *paths)
{
	while (paths->depth && paths->taken[paths->depth - 1] + 1u >= paths->ways[paths->depth - 1])
		paths->depth--;
	if (paths->depth)
		paths->taken[paths->depth - 1]++;
	return paths->depth > 0;
}

/* ---- One path ---- */

static void world_make(struct sim *w, const struct small *small)
{
	for (unsigned i = 0; i < small->tasks; i++) {
		unsigned task = sim_task_add(w, REC_READY, small->depends[i]);
		for (unsigned k = 0; k < 2; k++)
			w->tasks[task].scripts[w->tasks[task].script_count++] = (int)small->scripts[i][k];
	}
	for (unsigned i = 0; i < small->conductors; i++)
		sim_batch_start(w, (int)i, 0);
}

/* Whoever died is taken up again. */
static void round_go(struct sim *w)
{
	sim_round(w);
	for (unsigned i = 0; i < w->options.conductors; i++)
		if (!w->conductors[i].alive && !w->batches[i].has_ended)
			sim_batch_resume(w, (int)i);
}

static bool path_run(struct sim *w, const struct small *small, struct sim_paths *paths, bool trace)
{
	struct sim_options options = {
		.seed = 1, .conductors = small->conductors, .slots = small->slots, .trace = trace};
	options.machine = (struct rec_machine_options){
		.max_parallel = small->slots,
		.retries = small->retries,
		.settle_us = small->settle_us,
		.grace_us = 2 * SIM_SECOND,
		.ahead_after = small->ahead_after,
	};
	paths->left = small->disturbances;
	paths->disturb = disturb;
	if (sim_open_story(w, &options, paths))
		return false;
	world_make(w, small);
	for (unsigned round = 0; round < 400 && !w->violation[0] && !sim_all_ended(w); round++)
		round_go(w);
	if (!sim_all_ended(w))
		sim_broken(w, "a batch does not end");
	if (!w->violation[0])
		sim_rules_at_the_end(w);
	if (w->violation[0] && trace)
		sim_show(w);
	if (w->violation[0] && !trace)
		fprintf(stderr, "%s: %s\n", small->name, w->violation);
	bool well = !w->violation[0];
	sim_close(w);
	return well;
}

static bool small_try(struct sim *w, const struct small *small, unsigned depth)
{
	struct sim_paths paths = {.depth_max = depth};
	uint64_t count = 0;
	do {
		count++;
		if (path_run(w, small, &paths, false))
			continue;
		printf("%s: path ", small->name);
		for (unsigned i = 0; i < paths.depth; i++)
			printf("%u ", paths.taken[i]);
		printf("breaks a rule\n");
		path_run(w, small, &paths, true);
		return false;
	} while (paths_next(&paths));
	printf("%-28s %8" PRIu64 " ways of %u disturbances in %u calls\n", small->name, count, small->disturbances,
	       depth);
	fflush(stdout);
	return true;
}

int main(int argc, char **argv)
{
	unsigned percent = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
	struct sim *w = calloc(1, sizeof *w);
	bool well = w != NULL;
	for (size_t i = 0; well && i < sizeof worlds / sizeof *worlds; i++) {
		unsigned depth = worlds[i].depth * percent / 100;
		well = small_try(w, &worlds[i], depth > SIM_DEPTH_MAX ? SIM_DEPTH_MAX : depth);
	}
	free(w);
	return !well;
}
