/* machine-place.c - where a task that does not run belongs, and what has to be told when that changes.
 *
 * The place follows from what is stored, not from the verdict: the same facts give the same place whatever way they
 * came about, so a repeated look changes nothing and tells nothing. The verdict says what the change was: a SKIP, a
 * hold, a requeue. */
#include "core/machine-private.h"

enum rec_hold rec_machine_hold_for(enum rec_status status)
{
	switch (status) {
	case REC_BLOCKED:
		return REC_HOLD_BLOCKED;
	case REC_BACKLOG:
		return REC_HOLD_WITHDRAWN;
	case REC_IN_PROGRESS:
		return REC_HOLD_STARTED_ELSEWHERE;
	case REC_STATUS_ABSENT:
		return REC_HOLD_DELETED;
	case REC_STATUS_UNRECOGNISED:
		return REC_HOLD_UNRECOGNISED;
	default:
		return REC_HOLD_NOT;
	}
}

void rec_machine_stand(struct rec_machine *m, struct rec_now now, struct task *t)
{
	if (t->due_us && t->due_us <= now.monotonic_us)
		t->due_us = 0;
	bool ready =
		task_has(t, TASK_MEMBER) && !t->due_us && !t->unmet && !(t->flags & (TASK_UNSEEN | TASK_ELSEWHERE));
	enum rec_phase phase = ready ? REC_PHASE_QUEUED : REC_PHASE_WAITING;
	if (t->phase != phase) {
		rec_machine_move(m, t, phase);
	} else if (phase == REC_PHASE_WAITING) {
		if (t->place != REC_QUEUE_OUT)
			rec_queue_remove(&m->timed, t->place);
		if (t->due_us)
			rec_queue_add(&m->timed, task_index(m, t));
	}
}

static bool misses_a_dependency(const struct rec_machine *m, const struct task *t)
{
	for (uint32_t i = 0; i < t->deps_count; i++) {
		const struct task *on = &m->tasks[m->dependencies.items[t->deps_first + i]];
		if (task_has(on, TASK_ABSENT) && !task_has(on, TASK_MEMBER))
			return true;
	}
	return task_has(t, TASK_UNREADABLE);
}

static enum rec_hold hold_of_ready(const struct rec_machine *m, const struct task *t, const struct rec_seen *seen)
{
	bool stuck = t->phase == REC_PHASE_HELD && t->hold == REC_HOLD_DEPENDENCY && t->unmet;
	if (!seen->is_leaf)
		return REC_HOLD_COMPOSITE;
	if (task_has(t, TASK_RING))
		return REC_HOLD_RING;
	if (misses_a_dependency(m, t))
		return REC_HOLD_MISSING;
	if (seen->blockers_open && !m->options.ignore_blockers)
		return REC_HOLD_OPEN_BLOCKERS;
	return stuck ? REC_HOLD_DEPENDENCY : REC_HOLD_NOT;
}

/* All blockers are released, but none since its last attempt. */
static bool no_new_answer(const struct rec_machine_event *e)
{
	return !e->seen.blockers_open && !e->seen.blockers_new;
}

static enum rec_hold hold_of(const struct rec_machine *m, const struct task *t, const struct rec_machine_event *e)
{
	switch (e->seen.status) {
	case REC_READY:
		return hold_of_ready(m, t, &e->seen);
	case REC_IN_PROGRESS:
		return e->seen.claimed ? REC_HOLD_NOT : REC_HOLD_STARTED_ELSEWHERE;
	case REC_BLOCKED:
		if (!e->seen.blockers_total)
			return REC_HOLD_NO_BLOCKERS;
		return no_new_answer(e) ? REC_HOLD_NO_NEW_ANSWER : REC_HOLD_BLOCKED;
	default:
		return rec_machine_hold_for((enum rec_status)e->seen.status);
	}
}

static void emit_verdict(struct rec_machine *m, enum rec_effect_kind kind, const struct task *t,
			 const struct rec_machine_event *e)
{
	struct rec_effect *effect = rec_machine_emit(m, kind, REC_WHY_OUTSIDE, t);
	effect->has_verdict = true;
	effect->verdict = e->verdict;
	effect->seen = e->seen;
	effect->hold = t->hold;
	effect->status = e->seen.status;
}

/* Taken up again, and still as the batch saw it finish: nothing happened since. */
static bool finished_before(const struct task *t, const struct rec_machine_event *e)
{
	return task_has(t, TASK_NEW) && task_has(t, TASK_BEFORE) && rec_status_success((enum rec_status)e->seen.status);
}

static void finish_again(struct rec_machine *m, struct task *t, const struct rec_machine_event *e)
{
	t->outcome = e->seen.status;
	rec_machine_move(m, t, REC_PHASE_FINISHED);
}

static void finish_outside(struct rec_machine *m, struct task *t, const struct rec_machine_event *e)
{
	bool failed = e->seen.status == REC_FAILED;
	if (failed && !task_has(t, TASK_NEW) && m->options.stop_on_failure)
		m->failure_stop = true;
	t->outcome = e->seen.status;
	task_set(t, TASK_OWN, false);
	rec_machine_move(m, t, REC_PHASE_FINISHED);
	m->reconciled.skipped += e->kind == REC_ON_SKIP;
	emit_verdict(m, REC_EFFECT_SKIP, t, e);
}

/* A BLOCKED task whose blockers are all released, one of them since its last attempt, goes back to READY: the store
 * first, then here. */
static bool is_to_be_requeued(const struct task *t, const struct rec_machine_event *e)
{
	return e->seen.status == REC_BLOCKED && e->kind == REC_ON_REQUEUE && e->seen.blockers_new &&
	       !task_has(t, TASK_REQUEUEING);
}

static void hold_tell(struct rec_machine *m, struct task *t, const struct rec_machine_event *e, bool was_held)
{
	task_set(t, TASK_UNTOLD, false);
	m->reconciled.held += !was_held && (e->kind == REC_ON_KILL || e->kind == REC_ON_SKIP);
	emit_verdict(m, REC_EFFECT_HOLD, t, e);
}

static void hold(struct rec_machine *m, struct task *t, const struct rec_machine_event *e, enum rec_hold why)
{
	bool was_held = t->phase == REC_PHASE_HELD, requeue = is_to_be_requeued(t, e);
	if (was_held && t->hold == REC_HOLD_RAISED && why == REC_HOLD_BLOCKED)
		why = REC_HOLD_RAISED; /* the same block, known more exactly */
	bool same = was_held && t->hold == why && t->outcome == e->seen.status;
	t->outcome = e->seen.status;
	if (!was_held)
		rec_machine_move(m, t, REC_PHASE_HELD);
	t->hold = (uint8_t)why;
	if (requeue) /* it is about to be released; only if that is lost is the hold worth telling */
		task_set(t, TASK_UNTOLD, !same || task_has(t, TASK_UNTOLD));
	else if (!same || task_has(t, TASK_UNTOLD))
		hold_tell(m, t, e, was_held);
	if (requeue) {
		task_set(t, TASK_REQUEUEING, true);
		emit_verdict(m, REC_EFFECT_REQUEUE, t, e);
	}
}

/* It may run again, sooner or later. */
static void release(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	bool told = t->phase == REC_PHASE_HELD || t->phase == REC_PHASE_FINISHED;
	rec_machine_stand(m, now, t);
	if (!told)
		return;
	m->reconciled.requeued += e->kind == REC_ON_REQUEUE;
	emit_verdict(m, e->kind == REC_ON_REQUEUE ? REC_EFFECT_REQUEUE : REC_EFFECT_RECORD, t, e);
}

void rec_machine_on_place(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	task_set(t, TASK_UNSEEN, false);
	if (e->seen.status != REC_BLOCKED)
		task_set(t, TASK_REQUEUEING, false);
	if (!task_has(t, TASK_MEMBER))
		return;
	enum rec_hold why = hold_of(m, t, e);
	bool before = finished_before(t, e);
	if (!before)
		task_set(t, TASK_OWN, false);
	if (before)
		finish_again(m, t, e);
	else if (rec_status_terminal((enum rec_status)e->seen.status))
		finish_outside(m, t, e);
	else if (why != REC_HOLD_NOT)
		hold(m, t, e, why);
	else
		release(m, now, t, e);
	task_set(t, TASK_NEW, false);
}

/* What another batch counted of it is of no account here; of an attempt that was taken over it is. */
void rec_machine_on_joined(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)now, (void)e;
	bool live = t->attempt_index != NONE;
	if (task_has(t, TASK_MEMBER))
		return;
	task_set(t, TASK_MEMBER, true);
	task_set(t, TASK_NEW, true);
	task_set(t, TASK_UNSEEN, !live);
	task_set(t, TASK_OWN, false);
	m->live_members += live;
	if (live)
		rec_machine_arm(m, task_attempt(m, t)); /* limits are for members */
	else
		t->failures = t->again = t->lost = 0;
}

/* Terminal against another terminal counts as failed if either is FAILED; a withdrawn one is held; anything else
 * leaves the outcome as it was recorded. */
void rec_machine_on_finished_skip(struct rec_machine *m, struct rec_now now, struct task *t,
				  const struct rec_machine_event *e)
{
	(void)now;
	if (e->seen.status == REC_BACKLOG) {
		hold(m, t, e, REC_HOLD_WITHDRAWN);
	} else if (e->seen.status == REC_FAILED && t->outcome != REC_FAILED) {
		t->outcome = REC_FAILED;
		task_set(t, TASK_OWN, false);
		emit_verdict(m, REC_EFFECT_SKIP, t, e);
	}
}

/* Reset or reopened by somebody: as if it had never run. */
void rec_machine_on_reopen(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	t->failures = 0;
	t->again = t->lost = 0;
	t->due_us = 0;
	task_set(t, TASK_OWN, false);
	rec_machine_on_place(m, now, t, e);
}

void rec_machine_on_requeued(struct rec_machine *m, struct rec_now now, struct task *t,
			     const struct rec_machine_event *e)
{
	(void)e;
	t->commits++;
	t->stored = REC_READY;
	m->reconciled.requeued++;
	task_set(t, TASK_REQUEUEING, false);
	task_set(t, TASK_UNSEEN, true);
	rec_machine_stand(m, now, t);
	rec_machine_emit(m, REC_EFFECT_LOOK, REC_WHY_FIRST_LOOK, t);
}

void rec_machine_on_requeue_lost(struct rec_machine *m, struct rec_now now, struct task *t,
				 const struct rec_machine_event *e)
{
	(void)now, (void)e;
	task_set(t, TASK_REQUEUEING, false);
	rec_machine_emit(m, REC_EFFECT_LOOK, REC_WHY_RACE, t);
}

void rec_machine_on_met(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)e;
	rec_machine_stand(m, now, t);
}

void rec_machine_on_held_met(struct rec_machine *m, struct rec_now now, struct task *t,
			     const struct rec_machine_event *e)
{
	(void)e;
	if (t->hold != REC_HOLD_DEPENDENCY || t->unmet)
		return;
	rec_machine_stand(m, now, t);
	rec_machine_emit(m, REC_EFFECT_RECORD, REC_WHY_LINKED, t);
}

void rec_machine_on_unmet(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)e;
	rec_machine_stand(m, now, t);
}

void rec_machine_on_due(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)e;
	t->due_us = 0;
	rec_machine_stand(m, now, t);
}

/* Rings and missing dependencies hold a task; that is decided by a look, which knows the rest too. */
void rec_machine_on_linked(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)e;
	if (t->phase != REC_PHASE_HELD)
		rec_machine_stand(m, now, t);
	if (task_has(t, TASK_MEMBER) && !task_has(t, TASK_UNSEEN))
		rec_machine_emit(m, REC_EFFECT_LOOK, REC_WHY_LINKED, t);
}

void rec_machine_on_stuck(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)now, (void)e;
	t->outcome = REC_READY;
	rec_machine_move(m, t, REC_PHASE_HELD);
	t->hold = REC_HOLD_DEPENDENCY;
	struct rec_effect *effect = rec_machine_emit(m, REC_EFFECT_HOLD, REC_WHY_STUCK, t);
	effect->hold = REC_HOLD_DEPENDENCY;
	effect->status = REC_READY;
}
