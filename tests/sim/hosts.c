/* hosts.c - machines that share a store: each has its own clocks, its own locks and folders, and may sleep, or be cut
 * off from the store. Its slots know by when what they run has to be gone, and see to that by themselves. */
#include "sim.h"

#include <stdio.h>

/* ---- Clocks ---- */

static int64_t host_wall_us(void *context)
{
	const struct sim_host *h = context;
	return h->w->clock.now_wall_us + h->wall_us;
}

/* Stands still while the machine sleeps. */
static int64_t host_monotonic_us(void *context)
{
	const struct sim_host *h = context;
	return h->w->clock.now_monotonic_us - h->slept_us;
}

static int64_t host_boot_us(void *context)
{
	const struct sim_host *h = context;
	return h->w->clock.now_monotonic_us;
}

void sim_hosts_open(struct sim *w)
{
	for (unsigned i = 0; i < SIM_HOSTS_MAX; i++) {
		struct sim_host *h = &w->hosts[i];
		*h = (struct sim_host){.w = w};
		h->clock = (struct rec_clock){host_wall_us, host_monotonic_us, h, host_boot_us};
		(void)snprintf(h->name, sizeof h->name, "@h%u", i);
	}
	if (w->options.hosts == 0)
		w->options.hosts = 1;
}

/* ---- Asleep, cut off ---- */

bool sim_host_is_awake(const struct sim *w, unsigned host)
{
	return !w->hosts[host].asleep;
}

bool sim_host_was_paused(const struct sim *w, unsigned host)
{
	return w->hosts[host].asleep || w->hosts[host].waking;
}

void sim_host_sleep(struct sim *w, unsigned host)
{
	struct sim_host *h = &w->hosts[host];
	if (h->asleep)
		return;
	h->asleep = true;
	h->asleep_us = w->clock.now_monotonic_us;
	sim_say(w, "host %s sleeps", h->name);
}

void sim_host_wake(struct sim *w, unsigned host)
{
	struct sim_host *h = &w->hosts[host];
	if (!h->asleep)
		return;
	h->asleep = false;
	h->waking = true;
	h->slept_us += w->clock.now_monotonic_us - h->asleep_us;
	sim_say(w, "host %s wakes", h->name);
	if (sim_choose(w, 2))
		sim_processes_act(w);
	sim_deadlines_keep(w);
	h->waking = false;
}

void sim_hosts_act(struct sim *w)
{
	unsigned host = sim_choose(w, w->options.hosts);
	struct sim_host *h = &w->hosts[host];
	if (h->asleep && sim_chance(w, 4)) {
		sim_host_wake(w, host);
	} else if (h->cut && sim_chance(w, 4)) {
		h->cut = false;
		sim_say(w, "host %s reaches the store again", h->name);
	} else if (!h->asleep && sim_chance(w, 40)) {
		sim_host_sleep(w, host);
	} else if (!h->cut && sim_chance(w, 40)) {
		h->cut = true;
		sim_say(w, "host %s is cut off from the store", h->name);
	} else if (sim_chance(w, 40)) { /* somebody sets its clock */
		h->wall_us += (int64_t)sim_choose(w, 3) * 3600 * SIM_SECOND - 3600 * SIM_SECOND;
	}
}

void sim_hosts_settle(struct sim *w)
{
	for (unsigned i = 0; i < SIM_HOSTS_MAX; i++) {
		sim_host_wake(w, i);
		w->hosts[i].cut = false;
	}
}

/* ---- Deadlines of slots ---- */

static bool is_of(const struct sim_process *p, int folder)
{
	return p->folder == folder && (p->alive || p->grandchild);
}

static bool runs_something(const struct sim *w, int folder)
{
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
		if (is_of(&w->processes[i], folder))
			return true;
	return false;
}

int64_t sim_deadline_next(const struct sim *w)
{
	int64_t next_us = INT64_MAX;
	for (int i = 0; i < SIM_FOLDERS_MAX; i++) {
		const struct sim_folder *f = &w->folders[i];
		if (!f->made || !f->shim || !f->kill_us || !sim_host_is_awake(w, f->host) || !runs_something(w, i))
			continue;
		int64_t due_us = f->termed ? f->kill_us : f->term_us;
		next_us = due_us < next_us ? due_us : next_us;
	}
	return next_us;
}

static void processes_signal(struct sim *w, int folder, bool kill)
{
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
		if (is_of(&w->processes[i], folder))
			sim_process_signal(w, &w->processes[i], kill);
}

static void deadline_keep(struct sim *w, int folder)
{
	struct sim_folder *f = &w->folders[folder];
	int64_t now_us = w->clock.now_monotonic_us;
	if (now_us < f->term_us)
		return;
	for (unsigned i = 0; i < f->record_count; i++)
		if (f->records[i].state == SIM_RECEIVED)
			f->records[i].state = SIM_VOID;
	if (!f->termed)
		processes_signal(w, folder, false);
	f->termed = true;
	if (now_us >= f->kill_us)
		processes_signal(w, folder, true);
	sim_shim_act(w, folder);
}

void sim_deadlines_keep(struct sim *w)
{
	for (int i = 0; i < SIM_FOLDERS_MAX; i++) {
		const struct sim_folder *f = &w->folders[i];
		if (f->made && f->shim && f->kill_us && sim_host_is_awake(w, f->host))
			deadline_keep(w, i);
	}
}
