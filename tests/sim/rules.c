/* rules.c - what must never happen, checked the moment it could; and what must be so at the end. */
#include "sim.h"

#include "engine/apply.h"

#include <string.h>

/* ---- When a child starts ---- */

struct claim_view {
	int64_t claim_id;
	bool found;
	char task[8];
	char owner[24];
};

static int claim_view_find(void *context, const struct rec_claim *claim)
{
	struct claim_view *view = context;
	if (claim->claim_id != view->claim_id || claim->task_id.length >= sizeof view->task)
		return 0;
	view->found = true;
	memcpy(view->task, claim->task_id.data, claim->task_id.length);
	if (claim->owner.length < sizeof view->owner)
		memcpy(view->owner, claim->owner.data, claim->owner.length);
	return 0;
}

static bool claim_stands(struct sim *w, int64_t claim_id, const char *task)
{
	struct claim_view view = {.claim_id = claim_id};
	rec_store_claims(w->keeper, claim_view_find, &view, NULL);
	return view.found && strcmp(view.task, task) == 0;
}

static unsigned children_of_slots(const struct sim *w, int conductor)
{
	unsigned count = 0;
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
		const struct sim_process *p = &w->processes[i];
		const struct sim_folder *f = &w->folders[p->folder];
		count += p->alive && f->owner == conductor && !f->foreign;
	}
	return count;
}

void sim_rules_at_start(struct sim *w, const struct sim_process *p)
{
	const char *id = w->tasks[p->task].id;
	int owner = w->folders[p->folder].owner;
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++) {
		const struct sim_process *other = &w->processes[i];
		bool paused = sim_host_was_paused(w, other->host);
		if (other != p && other->task == p->task && (other->alive || other->grandchild) && !paused)
			sim_broken(w, "two living children of %s: claims %lld and %lld", id, (long long)other->claim_id,
				   (long long)p->claim_id);
	}
	if (!claim_stands(w, p->claim_id, id))
		sim_broken(w, "a child of %s starts without a claim (%lld)", id, (long long)p->claim_id);
	if (owner >= 0 && children_of_slots(w, owner) > w->options.machine.max_parallel)
		sim_broken(w, "more children than allowed");
}

/* ---- When a claim is made ---- */

void sim_rules_at_claim(struct sim_conductor *c, struct rec_store *inner, const struct rec_claim *claim)
{
	struct rec_arena arena;
	struct rec_task task;
	struct sim *w = c->w;
	int number = sim_task_find(w, claim->task_id);
	rec_arena_init(&arena, NULL);
	if (number < 0 || inner->ops->get(inner, claim->task_id, &arena, &task, NULL)) {
		sim_broken(w, "a claim on nothing");
		rec_arena_release(&arena);
		return;
	}
	w->tasks[number].bad = false;
	for (size_t i = 0; i < task.depends_on_count; i++) {
		struct rec_slice parent;
		enum rec_status status;
		int r = inner->ops->parent(inner, task.depends_on[i], &arena, &parent, &status, NULL);
		if (r || !rec_status_success(status))
			sim_broken(w, "%s is claimed before its dependencies", w->tasks[number].id);
	}
	for (size_t i = 0; i < task.blocker_count; i++)
		if (task.blockers[i].status == REC_OPEN && !w->options.machine.ignore_blockers)
			sim_broken(w, "%s is claimed with an open blocker", w->tasks[number].id);
	if (!task.is_leaf)
		sim_broken(w, "%s is claimed though it is composite", w->tasks[number].id);
	sim_say(w, "c%d claims %s: %lld", c->index, w->tasks[number].id, (long long)claim->claim_id);
	rec_arena_release(&arena);
}

/* ---- When a claim is taken over ---- */

static bool is_of_this_host(const struct sim_conductor *c, const char *owner)
{
	const char *host = strchr(owner, '@');
	return host && strcmp(host, c->w->hosts[c->host].name) == 0;
}

/* What another host has taken is adopted only to be ended. */
void sim_rules_at_adoption(struct sim_conductor *c, int64_t claim_id)
{
	struct claim_view view = {.claim_id = claim_id};
	rec_store_claims(c->w->keeper, claim_view_find, &view, NULL);
	if (view.found && strcmp(view.owner, c->owner) != 0 && is_of_this_host(c, view.owner))
		sim_broken(c->w, "claim %lld is adopted by %s, but the store says that it is %s's", (long long)claim_id,
			   c->owner, view.owner);
}

/* ---- When a status is written ---- */

static bool may_requeue(struct sim *w, struct rec_store *inner, struct rec_slice id)
{
	struct rec_snapshot now = {0};
	struct rec_error error;
	bool may = rec_snapshot_reserve(&now, 1, &error) == 0;
	now.ids = &id;
	may = may && inner->ops->snapshot(inner, &id, 1, REC_SNAPSHOT_ALL_BLOCKERS, &now, &error) == 0;
	may = may && now.facts[0].blockers_total > 0 && now.facts[0].blockers_open == 0 &&
	      now.facts[0].blockers_new > 0;
	rec_snapshot_release(&now);
	(void)w;
	return may;
}

/* A parent's status follows its children's. */
static bool follows_children(struct rec_store *inner, struct rec_slice id, enum rec_status to)
{
	uint64_t counts[REC_STATUS_COUNT] = {0}, unrecognised = 0;
	struct rec_error error;
	return inner->ops->children(inner, id, counts, &unrecognised, &error) == 0 && !unrecognised &&
	       rec_rollup(counts) == to;
}

/* Only these, each where what was stored is what justified it: claims, ends, requeues, what a parent's children say,
 * and a second try of what the worker itself called failed. Whatever else is stored came from outside and stands. */
void sim_rules_at_status(struct sim_conductor *c, struct rec_store *inner, struct rec_slice id, enum rec_status now,
			 enum rec_status from, enum rec_status to)
{
	int task = sim_task_find(c->w, id);
	const char *name = task < 0 ? "?" : c->w->tasks[task].id;
	bool requeue = from == REC_BLOCKED && to == REC_READY && may_requeue(c->w, inner, id);
	bool legal = from == REC_IN_PROGRESS || (from == REC_READY && to == REC_IN_PROGRESS) || requeue ||
		     (from == REC_FAILED && to == REC_READY) || follows_children(inner, id, to);
	if (task >= 0 && to != REC_IN_PROGRESS && to != REC_READY && follows_children(inner, id, to))
		c->w->tasks[task].bad = true;
	if (now != from)
		sim_broken(c->w, "%s: outside status %s is overwritten by %s", name, rec_status_text(now),
			   rec_status_text(to));
	else if (!legal)
		sim_broken(c->w, "%s: %s -> %s is nobody's to write", name, rec_status_text(from), rec_status_text(to));
	sim_say(c->w, "c%d writes %s %s -> %s", c->index, name, rec_status_text(from), rec_status_text(to));
}

/* ---- When an attempt's end is recorded ---- */

/* Whoever records an end, or gives a claim back, is who has it. Where another host has taken it meanwhile, the one
 * where it ran may be faster: what it tells of the attempt is true. */
void sim_rules_before_end(struct sim_conductor *c, struct rec_store *inner, int64_t claim_id)
{
	struct claim_view view = {.claim_id = claim_id};
	struct rec_error error;
	inner->ops->claims(inner, claim_view_find, &view, &error);
	if (view.found && strcmp(view.owner, c->owner) != 0 && is_of_this_host(c, view.owner))
		sim_broken(c->w, "claim %lld is ended by %s, but the store says that it is %s's", (long long)claim_id,
			   c->owner, view.owner);
}

void sim_rules_at_end(struct sim_conductor *c, int64_t claim_id, const struct rec_finish *finish)
{
	struct sim *w = c->w;
	const struct sim_process *p = sim_process_of(w, claim_id);
	c->ending = finish ? claim_id : 0;
	sim_say(w, "c%d ends claim %lld: %.*s", c->index, (long long)claim_id, finish ? (int)finish->outcome.length : 8,
		finish ? finish->outcome.data : "released");
	bool elsewhere = p && p->host != c->host;
	if (sim_claim_lives(w, claim_id) && !(elsewhere && sim_host_was_paused(w, p->host)))
		sim_broken(w, "claim %lld ends while its process lives", (long long)claim_id);
	if (p && p->claim_id == claim_id && !finish)
		sim_broken(w, "claim %lld is given back as never started, but it was", (long long)claim_id);
	if (!p || !finish || !p->end_kept || elsewhere)
		return;
	bool told = p->exit.by_signal ? finish->has_exit_signal && finish->exit_signal == p->exit.code
				      : finish->has_exit_code && finish->exit_code == p->exit.code;
	if (!told)
		sim_broken(w, "claim %lld: how it ended is known, but not recorded", (long long)claim_id);
}

/* A success is the attempt's own if and only if its child ended well before any stop reached it. */
void sim_rules_at_row(struct sim_conductor *c, const struct rec_batch_task *row)
{
	struct sim *w = c->w;
	int task = sim_task_find(w, row->task_id);
	const struct sim_process *p = sim_process_of(w, c->ending);
	c->ending = 0;
	if (task < 0 || !rec_slice_equal(row->phase, rec_slice_of("finished")) || !rec_status_success(row->believed))
		return;
	if (!p || p->task != (unsigned)task || p->host != c->host)
		return;
	bool well = !p->alive && !p->exit.by_signal && p->exit.code == 0 && !p->exit.signalled;
	if (row->own && !well)
		sim_broken(w, "%s counts as done by its attempt, which did not end well", w->tasks[task].id);
	if (!row->own && well && p->end_kept)
		sim_broken(w, "%s ended well by itself, but counts as completed outside", w->tasks[task].id);
}

/* ---- When a child is stopped ---- */

static bool may_have_timed_out(const struct sim *w, const struct sim_process *p)
{
	const struct rec_machine_options *m = &w->options.machine;
	int64_t ran_us = w->clock.now_monotonic_us - p->started_us;
	return (m->timeout_us && ran_us >= m->timeout_us) || (m->stall_timeout_us && ran_us >= m->stall_timeout_us);
}

static bool is_forced(const struct sim *w)
{
	for (unsigned k = 0; k < SIM_CONDUCTORS_MAX; k++)
		if (w->batches[k].made && w->batches[k].forced)
			return true;
	return false;
}

void sim_rules_at_stop(struct sim_conductor *c, const struct sim_process *p)
{
	struct sim *w = c->w;
	const struct sim_task *task = &w->tasks[p->task];
	if (task->bad || may_have_timed_out(w, p) || is_forced(w) || c->forced)
		return;
	if (w->options.hosts > 1) /* its lease may have ended */
		return;
	if (!claim_stands(w, p->claim_id, task->id))
		return;
	sim_broken(w, "the child of %s (claim %lld) is stopped without any reason since it was claimed", task->id,
		   (long long)p->claim_id);
}

/* ---- After every turn of a conductor ---- */

static bool is_alone(const struct sim_conductor *c)
{
	for (int i = 0; i < SIM_CONDUCTORS_MAX; i++)
		if (i != c->index && c->w->conductors[i].alive)
			return false;
	return true;
}

void sim_rules_after_turn(struct sim_conductor *c)
{
	const struct rec_machine *m = rec_driver_machine(c->driver);
	struct rec_machine_counts n = rec_machine_counts(m);
	const char *problem = rec_machine_audit(m);
	if (problem)
		sim_broken(c->w, "audit of c%d: %s", c->index, problem);
	if (n.waiting + n.queued + n.running + n.held + n.done + n.failed + n.skipped != rec_machine_members(m))
		sim_broken(c->w, "counts of c%d do not add up", c->index);
	if (rec_driver_bugs(c->driver))
		sim_broken(c->w, "c%d met what cannot happen", c->index);
	c->was_alone = is_alone(c);
}

/* ---- When a batch ends ---- */

/* What the batch believes at its end is what is stored, as far as nobody disturbs. */
static void member_check(struct sim *w, const struct rec_machine *m, uint32_t task)
{
	enum rec_phase phase = rec_machine_phase(m, task);
	int number = sim_task_find(w, rec_machine_id(m, task));
	enum rec_status stored = sim_status_of(w, (unsigned)number);
	enum rec_status believed = rec_machine_belief(m, task);
	const char *id = w->tasks[number].id;
	if (phase == REC_PHASE_RUNNING || phase == REC_PHASE_CLAIMING || phase == REC_PHASE_STOPPING)
		sim_broken(w, "the batch ends while %s runs", id);
	if (phase == REC_PHASE_HELD && believed != stored)
		sim_broken(w, "%s is held as %s, but it is %s", id, rec_status_text(believed), rec_status_text(stored));
	if (phase == REC_PHASE_FINISHED && stored == REC_FAILED && believed != REC_FAILED)
		sim_broken(w, "%s counts as %s, but it has failed", id, rec_status_text(believed));
	if (phase == REC_PHASE_FINISHED && believed != stored && !rec_status_terminal(stored))
		sim_say(w, "%s: finished as %s, stored %s", id, rec_status_text(believed), rec_status_text(stored));
}

void sim_rules_at_batch_end(struct sim_conductor *c)
{
	struct sim *w = c->w;
	const struct rec_machine *m = rec_driver_machine(c->driver);
	struct rec_machine_counts n = rec_machine_counts(m);
	enum rec_batch_status outcome = rec_driver_outcome(c->driver);
	bool all_well = n.done + n.skipped == rec_machine_members(m);
	if (w->options.faults & SIM_STORE_FAULTS)
		all_well = outcome == REC_BATCH_COMPLETED; /* it may have ended in a commit that only seemed to fail */
	else if (outcome == REC_BATCH_PARTIAL && !w->options.machine.stop_on_failure && n.waiting + n.queued)
		sim_broken(w, "%s ends as PARTIAL with tasks that could run", c->batch_id);
	if ((outcome == REC_BATCH_COMPLETED) != all_well)
		sim_broken(w, "%s ends as %s, but %s is well", c->batch_id, rec_batch_status_text(outcome),
			   all_well ? "all" : "not all");
	/* Others may write between its last look and its end, and have died by then. */
	for (uint32_t i = 0; w->quiet && c->was_alone && is_alone(c) && i < rec_machine_count(m); i++)
		if (rec_machine_member(m, i))
			member_check(w, m, i);
}

/* ---- At the very end ---- */

static int claim_left(void *context, const struct rec_claim *claim)
{
	struct sim *w = context;
	sim_broken(w, "claim %lld is left behind", (long long)claim->claim_id);
	return 0;
}

static int difference_note(void *context, int64_t seq, const char *sentence)
{
	(void)seq;
	sim_broken(context, "events: %s", sentence);
	return 0;
}

void sim_rules_at_the_end(struct sim *w)
{
	uint64_t checked, different;
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
		if (w->processes[i].alive || w->processes[i].grandchild)
			sim_broken(w, "a process of %s is left running", w->tasks[w->processes[i].task].id);
	if (!w->nobody_came)
		rec_store_claims(w->keeper, claim_left, w, NULL);
	if (rec_events_verify(w->keeper, difference_note, w, &checked, &different, NULL))
		sim_broken(w, "events cannot be read");
}
