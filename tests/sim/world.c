/* world.c - one seed, one world: its making, its turns, its choices. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Choices ---- */

uint32_t sim_choose(struct sim *w, uint32_t ways)
{
	return ways < 2 || w->paths ? 0 : (uint32_t)rec_random_below(&w->random, ways);
}

bool sim_chance(struct sim *w, uint32_t often)
{
	return !w->paths && rec_random_below(&w->random, often) == 0;
}

/* ---- Telling ---- */

void sim_say(struct sim *w, const char *format, ...)
{
	va_list arguments;
	if (!w->options.trace)
		return;
	fprintf(stderr, "%10.3f  ", (double)w->clock.now_monotonic_us / 1e6);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

void sim_broken(struct sim *w, const char *format, ...)
{
	va_list arguments;
	if (w->violation[0])
		return;
	va_start(arguments, format);
	vsnprintf(w->violation, sizeof w->violation, format, arguments);
	va_end(arguments);
	sim_say(w, "BROKEN: %s", w->violation);
}

/* ---- Time ---- */

void sim_pass(struct sim *w, int64_t us)
{
	int64_t until_us = w->clock.now_monotonic_us + us, due_us;
	while ((due_us = sim_deadline_next(w)) <= until_us && !w->violation[0]) {
		if (due_us > w->clock.now_monotonic_us)
			rec_clock_manual_advance(&w->clock, due_us - w->clock.now_monotonic_us);
		sim_deadlines_keep(w);
	}
	rec_clock_manual_advance(&w->clock, until_us - w->clock.now_monotonic_us);
	sim_processes_act(w);
}

bool sim_pass_to_next(struct sim *w)
{
	int64_t due_us = sim_processes_due(w);
	for (unsigned i = 0; i < SIM_CONDUCTORS_MAX; i++)
		if (w->conductors[i].alive && w->conductors[i].due_us < due_us &&
		    sim_host_is_awake(w, w->conductors[i].host))
			due_us = w->conductors[i].due_us;
	if (due_us == INT64_MAX)
		return false;
	int64_t wait_us = due_us - w->clock.now_monotonic_us;
	sim_pass(w, wait_us > 0 ? wait_us : 0);
	return true;
}

static void some_time_passes(struct sim *w)
{
	static const int64_t spans_us[] = {1, 1000, 100000, SIM_SECOND, 15 * SIM_SECOND};
	if (w->options.hosts > 1 && sim_chance(w, 4))
		sim_pass(w, SIM_LEASE_US / 2);
	else if (sim_choose(w, 2))
		sim_pass(w, spans_us[sim_choose(w, 5)]);
	else
		sim_pass_to_next(w);
	if (w->options.hosts == 1 && !w->quiet && sim_chance(w, 40)) /* somebody sets the wall clock */
		w->clock.now_wall_us += (int64_t)sim_choose(w, 3) * 3600 * SIM_SECOND - 3600 * SIM_SECOND;
}

/* ---- Disasters ---- */

static void disaster(struct sim *w)
{
	unsigned faults = w->options.faults;
	if ((faults & SIM_SHIM_DEATHS) && sim_chance(w, 60)) {
		int folder = (int)sim_choose(w, SIM_FOLDERS_MAX);
		if (w->folders[folder].made && w->folders[folder].shim)
			sim_shim_die(w, folder);
	}
	if ((faults & SIM_REBOOTS) && sim_chance(w, 1500))
		sim_reboot(w, sim_choose(w, w->options.hosts));
	if (w->options.hosts > 1)
		sim_hosts_act(w);
	if ((faults & SIM_CRASHES) && sim_chance(w, 150))
		sim_conductor_die(&w->conductors[sim_choose(w, w->options.conductors)]);
}

void sim_shims_act(struct sim *w)
{
	for (int i = 0; i < SIM_FOLDERS_MAX; i++)
		if (w->folders[i].made && (w->quiet || sim_choose(w, 2)))
			sim_shim_act(w, i);
}

/* Time passes by little; a process acts; a person; another conductor takes a whole turn; the caller dies. */
void sim_interrupt(struct sim *w, struct sim_conductor *c, bool in_group)
{
	if (w->nesting || w->violation[0])
		return;
	w->nesting++;
	if (w->paths) {
		if (w->paths->disturb)
			w->paths->disturb(w, c, in_group);
		w->nesting--;
		return;
	}
	bool people = !w->quiet && (w->options.faults & SIM_PEOPLE);
	if (c->may_die && sim_chance(w, 10))
		sim_conductor_die(c);
	else if (people && sim_chance(w, 12))
		sim_people_act(w);
	else if (!w->quiet && (w->options.faults & SIM_TRACKERS) && sim_chance(w, 15))
		sim_trackers_act(w);
	else if (sim_chance(w, 30))
		sim_pass(w, 1000);
	else if (sim_chance(w, 20))
		sim_shims_act(w);
	else if (w->options.conductors > 1 && !in_group && sim_chance(w, 25))
		sim_conductor_turn(&w->conductors[sim_choose(w, w->options.conductors)]);
	w->nesting--;
}

/* ---- Turns ---- */

static void conductor_comes(struct sim *w)
{
	int index = (int)sim_choose(w, w->options.conductors);
	if (!w->batches[index].made)
		sim_batch_start(w, index, sim_chance(w, 2) ? 0 : sim_choose(w, 1u << w->task_count) | 1);
	else if (!w->batches[index].has_ended || (!w->quiet && sim_chance(w, 12)))
		sim_batch_resume(w, index);
}

static void conductor_acts(struct sim *w)
{
	struct sim_conductor *c = &w->conductors[sim_choose(w, w->options.conductors)];
	if (c->alive)
		sim_conductor_turn(c);
	else
		conductor_comes(w);
	sim_conductors_bury(w);
}

void sim_turn(struct sim *w)
{
	w->turns++;
	switch (sim_choose(w, 8)) {
	case 0:
	case 1:
	case 2:
	case 3:
		conductor_acts(w);
		break;
	case 4:
	case 5:
		some_time_passes(w);
		break;
	case 6:
		sim_shims_act(w);
		break;
	default:
		if (!w->quiet && (w->options.faults & SIM_PEOPLE))
			sim_people_act(w);
	}
	if (!w->quiet && (w->options.faults & SIM_TRACKERS))
		sim_trackers_act(w);
	if (!w->quiet)
		disaster(w);
}

bool sim_all_ended(const struct sim *w)
{
	for (unsigned i = 0; i < w->options.conductors; i++)
		if (w->batches[i].made && (!w->batches[i].has_ended || w->conductors[i].alive))
			return false;
	return true;
}

static void conductor_show(struct sim *w, const struct sim_conductor *c)
{
	if (!c->alive || !c->driver) {
		sim_say(w, "c%d is %s", c->index, c->alive ? "about to begin" : "not there");
		return;
	}
	const struct rec_machine *m = rec_driver_machine(c->driver);
	for (uint32_t i = 0; i < rec_machine_count(m); i++)
		sim_say(w, "c%d: %.*s %s %s believed %s, claim %lld, %s", c->index, (int)rec_machine_id(m, i).length,
			rec_machine_id(m, i).data, rec_machine_member(m, i) ? "member" : "watched",
			rec_phase_text(rec_machine_phase(m, i)), rec_status_text(rec_machine_belief(m, i)),
			(long long)rec_machine_claim(m, i), rec_hold_text(rec_machine_hold(m, i)));
}

void sim_show(struct sim *w)
{
	for (unsigned i = 0; i < w->task_count; i++)
		sim_say(w, "%s is stored as %s", w->tasks[i].id, rec_status_text(sim_status_of(w, i)));
	for (unsigned i = 0; i < w->options.conductors; i++)
		conductor_show(w, &w->conductors[i]);
}

bool sim_settle(struct sim *w, uint64_t turns_max)
{
	w->quiet = true;
	sim_hosts_settle(w);
	for (uint64_t turn = 0; turn < turns_max && !w->violation[0]; turn++) {
		sim_turn(w);
		if (w->options.wait && turn % 50 == 49)
			sim_people_settle(w);
		if (sim_all_ended(w))
			return true;
	}
	sim_show(w);
	sim_broken(w, "a batch does not end within %llu turns", (unsigned long long)turns_max);
	return false;
}

/* What a dead host left may stay until its lease is over and somebody comes: so somebody does. */
static bool leftovers_settle(struct sim *w)
{
	if (w->options.hosts == 1)
		return true;
	sim_pass(w, 2 * SIM_LEASE_US);
	for (unsigned i = 0; i < w->options.conductors && sim_all_ended(w); i++)
		sim_batch_resume(w, (int)i);
	w->nobody_came = sim_all_ended(w);
	return sim_settle(w, 6000);
}

bool sim_run(struct sim *w)
{
	for (unsigned turn = 0; turn < w->options.turns && !w->violation[0]; turn++)
		sim_turn(w);
	sim_trackers_settle(w);
	if (!w->violation[0] && sim_settle(w, 6000) && leftovers_settle(w))
		sim_rules_at_the_end(w);
	return !w->violation[0];
}

/* ---- Making ---- */

struct sim_options sim_options_from_seed(uint64_t seed)
{
	struct rec_random r = {seed ^ 0x5eed};
	struct sim_options o = {.seed = seed};
	struct rec_machine_options *m = &o.machine;
	o.tasks = 1 + (unsigned)rec_random_below(&r, 8);
	o.conductors = 1 + (unsigned)(rec_random_below(&r, 3) == 0) + (unsigned)(rec_random_below(&r, 6) == 0);
	o.slots = 1 + (unsigned)rec_random_below(&r, 4);
	o.turns = 20 + (unsigned)rec_random_below(&r, 400);
	o.faults = (unsigned)rec_random_below(&r, SIM_ALL_FAULTS + 1);
	o.wait = rec_random_below(&r, 6) == 0;
	m->max_parallel = 1 + (uint32_t)rec_random_below(&r, o.slots);
	m->retries = (uint32_t)rec_random_below(&r, 3);
	m->retry_delay_us = (int64_t)rec_random_below(&r, 2) * 10 * SIM_SECOND;
	m->settle_us = (int64_t)rec_random_below(&r, 3) * 5 * SIM_SECOND;
	m->grace_us = (int64_t)rec_random_below(&r, 3) * 5 * SIM_SECOND;
	m->timeout_us = (int64_t)(rec_random_below(&r, 3) == 0) * 40 * SIM_SECOND;
	m->stall_timeout_us = (int64_t)(rec_random_below(&r, 4) == 0) * 60 * SIM_SECOND;
	m->stop_on_failure = rec_random_below(&r, 6) == 0;
	m->ignore_blockers = rec_random_below(&r, 8) == 0;
	m->ahead_after = rec_random_below(&r, 3) != 0; /* worlds are too small for the usual number */
	if (rec_random_below(&r, 3) == 0)
		o.faults |= SIM_TRACKERS;
	if (rec_random_below(&r, 4) == 0)
		o.faults |= SIM_PARENTS;
	bool shared = o.conductors > 1 && rec_random_below(&r, 3) == 0;
	o.hosts = shared ? 2 + (unsigned)rec_random_below(&r, SIM_HOSTS_MAX - 1) : 1;
	return o;
}

int sim_open(struct sim *w, const struct sim_options *options)
{
	*w = (struct sim){.options = *options, .random = {options->seed}};
	rec_clock_manual_init(&w->clock, INT64_C(1780000000) * SIM_SECOND);
	w->clock.now_monotonic_us = 1000 * SIM_SECOND;
	const struct rec_store_options store = {.mode = REC_STORE_INIT, .clock = &w->clock.clock};
	int r = rec_store_memory_open("", &store, &w->keeper, NULL);
	if (r)
		return r;
	rec_store_on_rollup(w->keeper, sim_parent_moved, w);
	sim_hosts_open(w);
	r = sim_trackers_open(w);
	if (r)
		return r;
	for (unsigned i = 0; i < SIM_CONDUCTORS_MAX; i++)
		w->conductors[i] = (struct sim_conductor){.w = w, .index = (int)i};
	for (unsigned i = 0; i < options->tasks; i++) {
		static const enum rec_status usual[] = {REC_READY, REC_READY,   REC_READY,   REC_READY,
							REC_READY, REC_BLOCKED, REC_BACKLOG, REC_DONE};
		unsigned on = i && sim_chance(w, 3) ? 1u << sim_choose(w, i + sim_chance(w, 10)) : 0;
		sim_task_add(w, sim_chance(w, 3) ? usual[sim_choose(w, 8)] : REC_READY, on);
	}
	return 0;
}

int sim_open_story(struct sim *w, const struct sim_options *options, struct sim_paths *paths)
{
	int r = sim_open(w, options);
	w->paths = paths;
	paths->at = paths->stage = 0;
	paths->store_fails = paths->store_is_full = false;
	return r;
}

void sim_round(struct sim *w)
{
	for (unsigned i = 0; i < w->options.conductors; i++) {
		if (w->conductors[i].alive)
			sim_conductor_turn(&w->conductors[i]);
		sim_conductors_bury(w);
	}
	sim_shims_act(w);
	sim_pass_to_next(w);
}

void sim_close(struct sim *w)
{
	for (unsigned i = 0; i < SIM_CONDUCTORS_MAX; i++) {
		w->conductors[i].busy = false;
		if (w->conductors[i].store)
			sim_conductor_die(&w->conductors[i]);
	}
	sim_conductors_bury(w);
	sim_trackers_close(w);
	w->keeper = rec_store_close(w->keeper);
}

bool sim_seed(const struct sim_options *options)
{
	struct sim *w = calloc(1, sizeof *w);
	bool well = w && sim_open(w, options) == 0 && sim_run(w);
	if (w) {
		if (!well)
			fprintf(stderr, "seed %llu: %s\n", (unsigned long long)options->seed, w->violation);
		sim_close(w);
	}
	free(w);
	return well;
}
