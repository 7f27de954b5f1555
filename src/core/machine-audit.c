/* machine-audit.c - counts everything again from nothing and compares: what is kept up to date step by step must be
 * what a look at the whole gives. For tests and the simulator. */
#include "core/machine-private.h"

struct tally {
	uint64_t phases[REC_PHASE_COUNT], done, failed, skipped;
	uint64_t ready, timed, attempts, member_attempts;
};

static bool has_attempt_phase(const struct task *t)
{
	return t->phase == REC_PHASE_CLAIMING || t->phase == REC_PHASE_RUNNING || t->phase == REC_PHASE_STOPPING;
}

static const char *task_place_audit(const struct rec_machine *m, uint32_t index)
{
	const struct task *t = &m->tasks[index];
	bool queued = t->phase == REC_PHASE_QUEUED, timed = t->phase == REC_PHASE_WAITING && t->due_us > 0;
	if (task_has(t, TASK_UNLINKED))
		return NULL;
	if ((queued || timed) != (t->place != REC_QUEUE_OUT))
		return "a task is in no queue, or in one it does not belong to";
	const struct rec_queue *q = queued ? &m->ready : &m->timed;
	if (t->place != REC_QUEUE_OUT && (t->place >= q->count || q->items[t->place] != index))
		return "a task is not where it thinks it is";
	return NULL;
}

static const char *task_audit(const struct rec_machine *m, uint32_t index)
{
	const struct task *t = &m->tasks[index];
	if (has_attempt_phase(t) != (t->attempt_index != NONE))
		return "a phase with an attempt has none, or one without has one";
	if (t->attempt_index != NONE && m->attempts[t->attempt_index].task != index)
		return "an attempt belongs to another task";
	if (t->phase == REC_PHASE_QUEUED && (t->unmet || !task_has(t, TASK_MEMBER)))
		return "a task is queued that must not run";
	if ((t->phase == REC_PHASE_HELD) != (t->hold != REC_HOLD_NOT))
		return "a held task has no reason, or another one has";
	if (m->graph && index < m->graph_count && !task_has(t, TASK_RELINK) &&
	    t->unmet != rec_machine_unmet_count(m, index))
		return "unmet dependencies are counted wrongly";
	if (task_has(t, TASK_REQUEUEING) && t->phase != REC_PHASE_HELD)
		return "a task that is not held is being requeued";
	return task_place_audit(m, index);
}

static void tally_task(struct tally *all, const struct task *t)
{
	all->attempts += t->attempt_index != NONE;
	if (!task_has(t, TASK_MEMBER))
		return;
	all->member_attempts += t->attempt_index != NONE;
	all->phases[t->phase]++;
	all->ready += t->phase == REC_PHASE_QUEUED;
	if (t->phase != REC_PHASE_FINISHED)
		return;
	all->failed += t->outcome == REC_FAILED;
	all->done += t->outcome != REC_FAILED && task_has(t, TASK_OWN);
	all->skipped += t->outcome != REC_FAILED && !task_has(t, TASK_OWN);
}

static const char *tally_audit(const struct rec_machine *m, const struct tally *all)
{
	for (unsigned phase = 0; phase < REC_PHASE_COUNT; phase++)
		if (all->phases[phase] != m->phases[phase])
			return "members of a phase are counted wrongly";
	if (all->done != m->done || all->failed != m->failed || all->skipped != m->skipped)
		return "outcomes are counted wrongly";
	if (all->attempts != m->live || all->member_attempts != m->live_members)
		return "attempts are counted wrongly";
	return all->ready == m->ready.count ? NULL : "the ready queue holds something else than the queued tasks";
}

static bool lane_is(const struct rec_machine *m, uint32_t lane, uint32_t slot)
{
	return lane == NONE || (m->attempts[lane].slot == slot && m->attempts[lane].task != NONE);
}

/* Is its claim committed? */
static unsigned stands(const struct rec_machine *m, uint32_t attempt)
{
	return attempt != NONE && m->attempts[attempt].claim_id != 0;
}

static const char *slots_audit(const struct rec_machine *m)
{
	uint64_t occupied = 0, ahead = 0, owed = 0;
	for (uint32_t i = 0; i < m->slot_count; i++) {
		const struct slot *s = &m->slots[i];
		unsigned claims = s->owed + stands(m, s->running) + stands(m, s->ahead);
		if (!lane_is(m, s->running, i) || !lane_is(m, s->ahead, i))
			return "a slot's lane holds what is not its";
		if (s->ahead != NONE && s->running == NONE)
			return "something is ahead of nothing";
		if (s->usable && claims > SLOT_STARTED_MAX)
			return "a slot has more claims than its record keeps";
		occupied += s->running != NONE;
		ahead += s->ahead != NONE;
		owed += s->owed;
	}
	if (occupied != m->occupied || ahead != m->ahead)
		return "slots are counted wrongly";
	for (size_t i = 0; i < m->count; i++) {
		if (m->tasks[i].attempt_index == NONE)
			continue;
		const struct attempt *a = &m->attempts[m->tasks[i].attempt_index];
		owed -= a->slot != NONE && (a->stage == STAGE_ENDED || a->stage == STAGE_VOIDED);
		bool timed = a->deadline_us != NEVER;
		if (timed != (a->place != REC_QUEUE_OUT))
			return "an attempt's deadline is not kept";
	}
	return owed == 0 ? NULL : "ended attempts of slots are counted wrongly";
}

const char *rec_machine_audit(const struct rec_machine *m)
{
	struct tally all = {0};
	for (uint32_t i = 0; i < m->count; i++) {
		const char *problem = task_audit(m, i);
		if (problem)
			return problem;
		tally_task(&all, &m->tasks[i]);
	}
	const char *problem = tally_audit(m, &all);
	problem = problem ? problem : slots_audit(m);
	return problem ? problem : rec_machine_booking_audit(m);
}
