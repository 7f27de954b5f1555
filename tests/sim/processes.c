/* processes.c - children: each follows a script, in stages; some leave something behind, some do not heed SIGTERM. What
 * a worker writes into the store is, to the conductor, a change from outside. */
#include "sim.h"

#include <string.h>

struct sim_process *sim_process_of(struct sim *w, int64_t claim_id)
{
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
		if (w->processes[i].claim_id == claim_id && claim_id)
			return &w->processes[i];
	return NULL;
}

bool sim_claim_lives(const struct sim *w, int64_t claim_id)
{
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
		const struct sim_process *p = &w->processes[i];
		if (p->claim_id == claim_id && (p->alive || p->grandchild))
			return true;
	}
	return false;
}

/* The oldest one that is gone makes room. */
static struct sim_process *place_for(struct sim *w)
{
	struct sim_process *oldest = NULL;
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
		struct sim_process *p = &w->processes[i];
		if (!p->alive && !p->grandchild && (!oldest || p->claim_id < oldest->claim_id))
			oldest = p;
	}
	return oldest;
}

static enum sim_script script_for(struct sim *w, struct sim_task *task)
{
	static const enum sim_script usual[] = {SIM_SUCCEED, SIM_SUCCEED,    SIM_SUCCEED,
						SIM_FAIL,    SIM_WRITE_DONE, SIM_ASK};
	if (task->script_next < task->script_count)
		return (enum sim_script)task->scripts[task->script_next++];
	if (w->paths)
		return SIM_SUCCEED;
	uint32_t roll = sim_choose(w, 12);
	if (roll < 6)
		return usual[roll];
	enum sim_script script = (enum sim_script)sim_choose(w, SIM_SCRIPT_COUNT);
	bool endless = script == SIM_HANG || script == SIM_WRITE_DONE_HANG;
	return endless && w->quiet ? SIM_SUCCEED : script;
}

static int64_t some_time(struct sim *w)
{
	static const int64_t spans_us[] = {1000, 50000, SIM_SECOND, 20 * SIM_SECOND};
	if (w->paths) /* where claims ahead are told of, short */
		return w->options.machine.ahead_after ? 1000 : SIM_SECOND;
	return spans_us[sim_choose(w, 4)] + 1;
}

static int64_t task_of_claim(struct sim *w, int64_t claim_id);

void sim_process_start(struct sim *w, int folder, struct sim_record *record)
{
	struct sim_process *p = place_for(w);
	if (!p) {
		sim_broken(w, "the simulator has no process left");
		return;
	}
	unsigned number = record->task == UINT32_MAX ? (unsigned)task_of_claim(w, record->claim_id) : record->task;
	struct sim_task *task = &w->tasks[number];
	*p = (struct sim_process){
		.claim_id = record->claim_id,
		.task = number,
		.folder = folder,
		.host = w->folders[folder].host,
		.alive = true,
		.started_us = w->clock.now_monotonic_us,
		.ignores_term = sim_chance(w, 5),
		.grandchild = false,
	};
	p->script = script_for(w, task);
	p->next_us = w->clock.now_monotonic_us + some_time(w);
	task->children++;
	sim_say(w, "child of %s starts: claim %lld, folder %d, script %d", task->id, (long long)p->claim_id, folder,
		p->script);
	sim_rules_at_start(w, p);
}

struct claim_search {
	int64_t claim_id;
	char id[8];
};

static int claim_match(void *context, const struct rec_claim *claim)
{
	struct claim_search *search = context;
	if (claim->claim_id == search->claim_id && claim->task_id.length < sizeof search->id)
		memcpy(search->id, claim->task_id.data, claim->task_id.length);
	return 0;
}

static int64_t task_of_claim(struct sim *w, int64_t claim_id)
{
	struct claim_search search = {.claim_id = claim_id};
	rec_store_claims(w->keeper, claim_match, &search, NULL);
	int found = sim_task_find(w, rec_slice_of(search.id));
	return found < 0 ? 0 : found;
}

/* ---- Ends ---- */

static void end(struct sim *w, struct sim_process *p, int32_t code, bool by_signal)
{
	p->alive = false;
	p->by_itself = !p->signalled;
	p->exit = (struct rec_exit){.code = code, .by_signal = by_signal, .signalled = p->signalled};
	if (p->grandchild) { /* the shim ends it too, which takes a moment */
		p->exit.survivors = 1;
		p->next_us = w->clock.now_monotonic_us + 2 * SIM_SECOND;
	}
	sim_say(w, "child of %s ends: claim %lld, %s %d", w->tasks[p->task].id, (long long)p->claim_id,
		by_signal ? "signal" : "exit", code);
}

void sim_process_vanish(struct sim_process *p)
{
	p->alive = p->grandchild = false;
	p->signalled = true;
}

void sim_process_signal(struct sim *w, struct sim_process *p, bool kill)
{
	if (p->alive)
		p->signalled = true;
	if (kill) {
		p->grandchild = false;
		if (p->alive)
			end(w, p, 9, true);
	} else if (p->alive && !p->ignores_term) {
		p->stage = 100; /* it heeds it, in its own way and time */
		p->next_us = w->clock.now_monotonic_us + some_time(w);
	}
}

static void heed_term(struct sim *w, struct sim_process *p)
{
	switch (sim_choose(w, 3)) {
	case 0:
		end(w, p, 143, false);
		break;
	case 1:
		end(w, p, 0, false);
		break;
	default:
		end(w, p, 15, true);
	}
}

/* ---- Stages ---- */

static void later(struct sim *w, struct sim_process *p)
{
	p->stage++;
	p->next_us = w->clock.now_monotonic_us + some_time(w);
}

/* First it writes into the store, then (in the next stage) it ends with that code. */
static void write_then_end(struct sim *w, struct sim_process *p, enum rec_status status, int32_t code)
{
	if (p->stage > 0) {
		end(w, p, code, false);
		return;
	}
	if (w->hosts[p->host].cut) { /* it does not get through */
		end(w, p, 1, false);
		return;
	}
	if (status == REC_BLOCKED)
		sim_blocker_add(w, p->task);
	if (sim_status_of(w, p->task) == REC_IN_PROGRESS)
		sim_status_set(w, p->task, status, "worker");
	later(w, p);
}

static void act(struct sim *w, struct sim_process *p)
{
	if (p->stage >= 100) {
		heed_term(w, p);
		return;
	}
	switch (p->script) {
	case SIM_SUCCEED:
		end(w, p, 0, false);
		break;
	case SIM_FAIL:
		end(w, p, 1, false);
		break;
	case SIM_AGAIN:
		end(w, p, 75, false);
		break;
	case SIM_DIE:
		end(w, p, 11, true);
		break;
	case SIM_ASK:
		sim_blocker_add(w, p->task);
		end(w, p, 0, false);
		break;
	case SIM_WRITE_DONE:
		write_then_end(w, p, REC_DONE, 0);
		break;
	case SIM_WRITE_FAILED:
		write_then_end(w, p, REC_FAILED, 1);
		break;
	case SIM_WRITE_BLOCKED:
		write_then_end(w, p, REC_BLOCKED, 0);
		break;
	default: /* hangs; in quiet it comes to its end after all */
		if (p->script == SIM_WRITE_DONE_HANG && p->stage == 0) {
			write_then_end(w, p, REC_DONE, 0);
			p->next_us = INT64_MAX;
		} else if (w->quiet) {
			end(w, p, 0, false);
		} else {
			p->next_us = INT64_MAX;
		}
	}
}

static bool is_due(const struct sim *w, const struct sim_process *p)
{
	bool endless = w->quiet && p->alive && p->next_us == INT64_MAX;
	return (p->alive || p->grandchild) && (endless || p->next_us <= w->clock.now_monotonic_us);
}

void sim_processes_act(struct sim *w)
{
	for (unsigned i = 0; i < SIM_PROCESSES_MAX && !w->violation[0]; i++) {
		struct sim_process *p = &w->processes[i];
		if (!is_due(w, p) || !sim_host_is_awake(w, p->host))
			continue;
		bool shim = w->folders[p->folder].shim;
		if (p->alive && p->stage == 0 && !p->grandchild && sim_chance(w, 8))
			p->grandchild = true;
		if (p->alive)
			act(w, p);
		else if (shim)
			p->grandchild = false; /* swept */
		else
			p->next_us = INT64_MAX; /* nobody sweeps */
		if (sim_choose(w, 2) == 0)
			sim_shim_act(w, p->folder);
	}
}

int64_t sim_processes_due(const struct sim *w)
{
	int64_t due_us = INT64_MAX;
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
		const struct sim_process *p = &w->processes[i];
		if ((p->alive || p->grandchild) && p->next_us < due_us && sim_host_is_awake(w, p->host))
			due_us = p->next_us;
	}
	return due_us;
}
