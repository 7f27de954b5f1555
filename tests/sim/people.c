/* people.c - everybody else: they set any status at any moment, ask, answer, delete, reopen, add, and stop batches. */
#include "sim.h"

#include "store/memory.h"

#include <stdio.h>
#include <string.h>

static struct rec_slice id_of(const struct sim *w, unsigned task)
{
	return rec_slice_of(w->tasks[task].id);
}

int sim_task_find(const struct sim *w, struct rec_slice id)
{
	for (unsigned i = 0; i < w->task_count; i++)
		if (rec_slice_equal(id, rec_slice_of(w->tasks[i].id)))
			return (int)i;
	return -1;
}

static struct rec_fact fact_of(struct sim *w, unsigned task)
{
	struct rec_snapshot now;
	struct rec_fact fact = {.status = REC_STATUS_ABSENT};
	struct rec_slice id = id_of(w, task);
	if (rec_store_snapshot(w->keeper, &id, 1, REC_SNAPSHOT_ALL_BLOCKERS | REC_SNAPSHOT_ATTEMPT, &now, NULL) == 0) {
		fact = now.facts[0];
		rec_snapshot_release(&now);
	}
	return fact;
}

enum rec_status sim_status_of(struct sim *w, unsigned task)
{
	return (enum rec_status)fact_of(w, task).status;
}

/* A child whose task was so, even for a moment, may be stopped. */
static void remember_bad(struct sim *w, unsigned task, enum rec_status status)
{
	if (status != REC_IN_PROGRESS && status != REC_READY)
		w->tasks[task].bad = true;
}

bool sim_status_set(struct sim *w, unsigned task, enum rec_status to, const char *who)
{
	enum rec_status now = sim_status_of(w, task);
	if (now >= REC_STATUS_COUNT || now == to)
		return false;
	if (rec_store_set_status(w->keeper, id_of(w, task), now, to, NULL, NULL, NULL, NULL))
		return false; /* somebody is writing just now */
	remember_bad(w, task, to);
	sim_say(w, "%s: %s %s -> %s", who, w->tasks[task].id, rec_status_text(now), rec_status_text(to));
	return true;
}

bool sim_blocker_add(struct sim *w, unsigned task)
{
	char id[16];
	snprintf(id, sizeof id, "k%u", w->blockers);
	struct rec_blocker blocker = {
		.id = rec_slice_of(id), .task_id = id_of(w, task), .question = rec_slice_of("why?")};
	if (rec_store_blocker_create(w->keeper, &blocker, NULL))
		return false;
	w->blockers++;
	sim_say(w, "%s is asked %s", w->tasks[task].id, id);
	return true;
}

struct open_blockers {
	char ids[32][16];
	unsigned count;
};

static int open_collect(void *context, const struct rec_blocker *blocker)
{
	struct open_blockers *open = context;
	if (open->count < 32)
		snprintf(open->ids[open->count++], 16, "%.*s", (int)blocker->id.length, blocker->id.data);
	return 0;
}

bool sim_blockers_answer(struct sim *w, unsigned task)
{
	struct open_blockers open = {.count = 0};
	rec_store_blockers(w->keeper, id_of(w, task), true, open_collect, &open, NULL);
	bool answered = false;
	for (unsigned i = 0; i < open.count; i++)
		answered |=
			rec_store_blocker_answer(w->keeper, rec_slice_of(open.ids[i]), rec_slice_of("so"), NULL) == 0;
	if (answered)
		sim_say(w, "%s is answered", w->tasks[task].id);
	return answered;
}

/* As another program does it, which does not know of claims: the row is gone, whatever points at it stays. */
bool sim_task_delete(struct sim *w, unsigned task)
{
	struct rec_memory_store *m = rec_memory_of(w->keeper);
	if (sim_status_of(w, task) == REC_STATUS_ABSENT || rec_store_begin(w->keeper, NULL))
		return false;
	rec_memory_erase(m, REC_MEMORY_TASKS, id_of(w, task));
	if (rec_memory_note(m, id_of(w, task), NULL)) {
		rec_store_rollback(w->keeper);
		return false;
	}
	w->tasks[task].bad = true;
	w->tasks[task].known_us = 0; /* what is known of its link may go with it */
	sim_say(w, "%s is deleted", w->tasks[task].id);
	return rec_store_commit(w->keeper, NULL) == 0;
}

static void dependencies_fill(const struct sim *w, unsigned bits, struct rec_slice *ids, size_t *count)
{
	*count = 0;
	for (unsigned i = 0; i < SIM_TASKS_MAX; i++)
		if (bits & 1u << i)
			ids[(*count)++] = i < w->task_count ? id_of(w, i) : rec_slice_of("nobody");
}

static int task_create(struct sim *w, unsigned task, enum rec_status status, unsigned depends_on)
{
	struct rec_slice ids[SIM_TASKS_MAX];
	char at[REC_TIMESTAMP_BYTES];
	int parent = w->tasks[task].parent;
	struct rec_task made = {
		.id = id_of(w, task),
		.title = rec_slice_of("work"),
		.status = status,
		.priority = (int64_t)sim_choose(w, 3),
		.depends_on = ids,
		.is_leaf = !sim_chance(w, 30),
		.created_at = rec_slice_of(rec_timestamp_format(w->clock.now_wall_us, at)),
	};
	if (parent >= 0)
		made.parent_id = id_of(w, (unsigned)parent);
	dependencies_fill(w, depends_on, ids, &made.depends_on_count);
	return rec_store_create(w->keeper, &made, NULL);
}

void sim_parent_moved(void *context, const struct rec_rollup_change *change)
{
	struct sim *w = context;
	int task = sim_task_find(w, change->id);
	if (task >= 0)
		remember_bad(w, (unsigned)task, change->to);
	sim_say(w, "%.*s follows its children: %s -> %s", (int)change->id.length, change->id.data,
		rec_status_text(change->from), rec_status_text(change->to));
}

unsigned sim_task_add(struct sim *w, enum rec_status status, unsigned depends_on)
{
	bool child = w->task_count && (w->options.faults & SIM_PARENTS) && sim_chance(w, 3);
	return sim_child_add(w, status, depends_on, child ? (int)sim_choose(w, w->task_count) : -1);
}

unsigned sim_child_add(struct sim *w, enum rec_status status, unsigned depends_on, int parent)
{
	unsigned task = w->task_count;
	if (task == SIM_TASKS_MAX)
		return task - 1;
	snprintf(w->tasks[task].id, sizeof w->tasks[task].id, "t%u", task);
	w->tasks[task].parent = parent;
	w->task_count++;
	if (task_create(w, task, status, depends_on)) {
		w->task_count--;
		return task ? task - 1 : 0;
	}
	w->tasks[task].made = true;
	sim_trackers_link(w, task);
	return task;
}

static void edit(struct sim *w, unsigned task)
{
	struct rec_slice ids[SIM_TASKS_MAX];
	struct rec_task changed = {.id = id_of(w, task), .priority = (int64_t)sim_choose(w, 5), .depends_on = ids};
	unsigned on = sim_choose(w, 3) ? 0 : 1u << sim_choose(w, w->task_count + 1);
	dependencies_fill(w, on, ids, &changed.depends_on_count);
	unsigned fields = sim_choose(w, 2) ? REC_EDIT_PRIORITY : REC_EDIT_DEPENDS_ON;
	if (rec_store_edit(w->keeper, &changed, fields, NULL) == 0)
		sim_say(w, "%s is edited (%s, on %x)", w->tasks[task].id,
			fields == REC_EDIT_PRIORITY ? "priority" : "dependencies", on);
}

static void operator_acts(struct sim *w)
{
	unsigned k = sim_choose(w, SIM_CONDUCTORS_MAX);
	if (!w->batches[k].made || !(w->options.faults & SIM_OPERATOR))
		return;
	enum rec_batch_stop stop = sim_choose(w, 3) ? REC_BATCH_DRAIN : REC_BATCH_FORCE;
	if (rec_store_batch_stop(w->keeper, rec_slice_of(w->batches[k].id), stop, NULL) == 0) {
		sim_say(w, "operator: %s %s", rec_batch_stop_text(stop), w->batches[k].id);
		w->batches[k].forced = w->batches[k].forced || stop == REC_BATCH_FORCE;
	}
}

void sim_people_act(struct sim *w)
{
	unsigned task = sim_choose(w, w->task_count);
	switch (sim_choose(w, 16)) {
	case 0:
	case 1:
		sim_blocker_add(w, task);
		break;
	case 2:
	case 3:
	case 4:
		sim_blockers_answer(w, task);
		break;
	case 5:
		edit(w, task);
		break;
	case 6:
		if (sim_chance(w, 3))
			sim_task_delete(w, task);
		else if (sim_status_of(w, task) == REC_STATUS_ABSENT)
			task_create(w, task, REC_READY, 0);
		break;
	case 7:
		if (w->task_count < SIM_TASKS_MAX && sim_chance(w, 3))
			sim_task_add(w, REC_READY, 0);
		break;
	case 8:
		if (sim_chance(w, 10))
			operator_acts(w);
		break;
	case 9:
	case 10:
		sim_status_set(w, task, REC_READY, "person");
		break;
	default:
		sim_status_set(w, task, (enum rec_status)sim_choose(w, REC_STATUS_COUNT), "person");
	}
}

void sim_people_settle(struct sim *w)
{
	for (unsigned i = 0; i < w->task_count; i++) {
		struct rec_fact fact = fact_of(w, i);
		bool nobody_runs_it = !fact.claimed && fact.status < REC_STATUS_COUNT;
		bool stuck = fact.status != REC_READY || sim_choose(w, 4) == 0;
		if (nobody_runs_it && !rec_status_terminal((enum rec_status)fact.status) && stuck)
			sim_status_set(w, i, REC_DONE, "person");
		if (fact.blockers_open)
			sim_blockers_answer(w, i);
	}
}
