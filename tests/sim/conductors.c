/* conductors.c - conductors come, take their turns, die at any call, and others take up what they left. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

static struct rec_driver_options driver_options(struct sim_conductor *c)
{
	const struct sim *w = c->w;
	struct rec_driver_options options = {
		.store = c->store,
		.slots = {&sim_slots_ops, c},
		.clock = &c->w->hosts[c->host].clock,
		.allocator = &c->memory.allocator,
		.batch_id = rec_slice_of(c->batch_id),
		.owner = rec_slice_of(c->owner),
		.machine = w->options.machine,
		.reconcile_interval_us = 30 * SIM_SECOND,
		.lease_us = SIM_LEASE_US,
		.all_ready = w->options.wait || w->options.all_ready,
	};
	if (w->options.hosts > 1)
		options.host = rec_slice_of(w->hosts[c->host].name);
	options.machine.planted = w->options.planted;
	options.machine.wait = w->options.wait;
	options.machine.seed = w->options.seed;
	return options;
}

static void conductor_open(struct sim *w, int index, unsigned host)
{
	struct sim_conductor *c = &w->conductors[index];
	*c = (struct sim_conductor){.w = w, .index = index, .host = host, .alive = true};
	rec_failing_allocator_init(&c->memory, 0, 0);
	memcpy(c->batch_id, w->batches[index].id, sizeof c->batch_id);
	(void)snprintf(c->owner, sizeof c->owner, "sim:%u@h%u", ++w->owners, host);
	sim_slots_take(c);
	if (sim_store_open(c, &c->store) || sim_store_open(c, &c->reader))
		sim_broken(w, "the simulator has no memory");
	c->memory.calls = 0;
	c->memory.fail_at = w->paths ? w->paths->fail_at : 0;
	sim_say(w, "c%d begins with %s on %s", index, c->batch_id, w->hosts[host].name);
}

/* The driver is made in the conductor's first turn, so that everything may go wrong then too. */
static void driver_make(struct sim_conductor *c)
{
	struct rec_error error = {0};
	struct rec_driver_options options = driver_options(c);
	int r = rec_driver_new(&options, &c->driver, &error);
	if (r == 0) {
		rec_driver_look_apart(c->driver, (c->w->options.faults & SIM_STALE_LOOKS) != 0);
	} else if (r == REC_REFUSED) { /* its last conductor died just after it had ended the batch */
		c->w->batches[c->index].has_ended = true;
		sim_conductor_die(c);
	} else if (r == REC_CONFLICT || r == REC_NOT_FOUND) {
		sim_conductor_die(c); /* somebody holds it for a while */
	} else if (!(r < 0 && r != REC_E_BUG && r != REC_E_INVALID)) {
		sim_broken(c->w, "c%d cannot begin: %s", c->index, error.message);
	}
}

static unsigned host_awake(struct sim *w)
{
	unsigned host = sim_choose(w, w->options.hosts);
	for (unsigned i = 0; i < w->options.hosts && !sim_host_is_awake(w, host); i++)
		host = (host + 1) % w->options.hosts;
	return host;
}

void sim_batch_start(struct sim *w, int index, unsigned tasks)
{
	struct sim_batch *batch = &w->batches[index];
	struct rec_slice ids[SIM_TASKS_MAX];
	size_t count = 0;
	for (unsigned i = 0; i < w->task_count; i++)
		if (!tasks || (tasks & 1u << i))
			ids[count++] = rec_slice_of(w->tasks[i].id);
	snprintf(batch->id, sizeof batch->id, "b%d", index);
	struct rec_batch made = {.batch_id = rec_slice_of(batch->id)};
	int r = rec_batch_start(w->keeper, &made, ids, count, NULL, NULL, NULL);
	if (r)
		return; /* somebody is writing, or a task is missing: another time */
	batch->made = true;
	conductor_open(w, index, host_awake(w));
}

static bool is_held_by_living(const struct sim *w, int index, unsigned host)
{
	int holder = w->batches[index].holder[host];
	return holder && w->conductors[holder - 1].alive;
}

void sim_batch_resume(struct sim *w, int index)
{
	unsigned host = host_awake(w);
	if (!w->batches[index].made || w->conductors[index].alive || w->conductors[index].driver ||
	    is_held_by_living(w, index, host))
		return;
	/* one that crashed goes on as it is; sometimes it is taken up formally, its failed tasks anew */
	if (!w->batches[index].has_ended && sim_choose(w, 2) == 0) {
		conductor_open(w, index, host);
		return;
	}
	if (rec_batch_resume(w->keeper, rec_slice_of(w->batches[index].id), rec_slice_of("sim"), NULL) == 0) {
		sim_say(w, "%s is resumed", w->batches[index].id);
		w->batches[index].has_ended = w->batches[index].forced = false;
		conductor_open(w, index, host);
	}
}

void sim_conductor_die(struct sim_conductor *c)
{
	if (!c->alive)
		return;
	sim_say(c->w, "c%d dies", c->index);
	c->alive = false;
	for (unsigned k = 0; k < SIM_CONDUCTORS_MAX; k++)
		if (c->w->batches[k].holder[c->host] == c->index + 1)
			c->w->batches[k].holder[c->host] = 0;
	sim_slots_leave(c);
	if (c->store)
		sim_store_abandon(c->store);
	if (c->reader)
		sim_store_abandon(c->reader);
}

void sim_conductors_bury(struct sim *w)
{
	for (unsigned i = 0; i < SIM_CONDUCTORS_MAX; i++) {
		struct sim_conductor *c = &w->conductors[i];
		if (c->alive || c->busy || !c->store)
			continue;
		if (c->look)
			rec_look_free(c->look);
		rec_driver_free(c->driver);
		rec_store_close(c->store);
		rec_store_close(c->reader);
		if (w->paths && c->memory.calls > w->paths->calls_max)
			w->paths->calls_max = c->memory.calls;
		if (c->memory.live)
			sim_broken(w, "c%u leaves %llu pieces of memory behind", i, (unsigned long long)c->memory.live);
		*c = (struct sim_conductor){.w = w, .index = (int)i};
	}
}

/* They had not reached the disk. */
static void records_lose(struct sim *w, struct sim_folder *f)
{
	for (unsigned i = 0; i < f->record_count; i++) {
		struct sim_process *p = sim_process_of(w, f->records[i].claim_id);
		if (p)
			p->end_kept = false;
	}
	f->record_count = 0;
}

void sim_reboot(struct sim *w, unsigned host)
{
	sim_say(w, "reboot of %s", w->hosts[host].name);
	for (unsigned i = 0; i < SIM_CONDUCTORS_MAX; i++)
		if (w->conductors[i].store && w->conductors[i].host == host)
			sim_conductor_die(&w->conductors[i]);
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
		if (w->processes[i].host == host)
			sim_process_vanish(&w->processes[i]);
	for (unsigned i = 0; i < SIM_FOLDERS_MAX; i++) {
		struct sim_folder *f = &w->folders[i];
		if (f->host != host)
			continue;
		f->shim = false;
		if (sim_choose(w, 2) == 0)
			records_lose(w, f);
	}
}

/* ---- Turns ---- */

static void ended(struct sim_conductor *c)
{
	struct sim_batch *batch = &c->w->batches[c->index];
	batch->has_ended = true;
	batch->outcome = rec_driver_outcome(c->driver);
	c->ended = true;
	sim_say(c->w, "%s has ended: %s", batch->id, rec_batch_status_text(batch->outcome));
	sim_rules_at_batch_end(c);
	sim_conductor_die(c);
}

/* Looks that are read apart: begun, read and told in turns of their own. */
static void look_turn(struct sim_conductor *c)
{
	if (!c->look) {
		if (rec_driver_look_begin(c->driver, &c->look, &c->look_error))
			c->look = NULL;
		c->look_read = false;
		return;
	}
	if (!c->look_read) {
		c->look_result = rec_look_read(c->look, c->reader, &c->look_error);
		c->look_read = true;
		return;
	}
	if (rec_driver_look_end(c->driver, c->look, c->look_result, &c->look_error) == 0)
		c->look = NULL;
}

static void driver_turn(struct sim_conductor *c)
{
	struct rec_error error = {0};
	int64_t due_us = INT64_MAX;
	bool apart = c->w->options.faults & SIM_STALE_LOOKS;
	if (apart && (c->look || sim_choose(c->w, 2) == 0))
		look_turn(c);
	if (!c->alive)
		return;
	int r = rec_driver_step(c->driver, &due_us, &error);
	if (!c->alive)
		return;
	int64_t slept_us = c->w->hosts[c->host].slept_us;
	c->due_us = apart ? c->w->clock.now_monotonic_us : due_us == INT64_MAX ? due_us : due_us + slept_us;
	if (r == REC_END)
		ended(c);
	else if (r < 0 && r != REC_E_NOMEM)
		sim_broken(c->w, "c%d fails: %s", c->index, error.message);
}

/* One allocation of this turn, or all from one on, may fail. */
static void memory_set(struct sim_conductor *c)
{
	if (c->w->paths)
		return;
	bool fails = !c->w->quiet && (c->w->options.faults & SIM_NO_MEMORY) && sim_chance(c->w, 4);
	c->memory.calls = 0;
	c->memory.fail_at = fails ? 1 + sim_choose(c->w, 60) : 0;
	c->memory.persistent = fails && sim_choose(c->w, 4) == 0;
}

void sim_conductor_turn(struct sim_conductor *c)
{
	if (!c->alive || c->busy || !sim_host_is_awake(c->w, c->host))
		return;
	c->busy = true;
	c->calls = 0;
	c->may_die = !c->w->quiet && (c->w->options.faults & SIM_CRASHES) && sim_chance(c->w, 12);
	memory_set(c);
	if (!c->driver)
		driver_make(c);
	if (c->driver && c->alive)
		driver_turn(c);
	if (c->driver && c->alive)
		sim_rules_after_turn(c);
	c->busy = false;
}
