/* machine-attempt.c - the life of an attempt: its turn, its claim, its start, its end, and what follows.
 *
 * How it ended is decided when the slot says so (`ending`), and acts when the store has it: the status that stands then
 * may be another one, and it is that one that counts. */
#include <assert.h>

#include "core/machine-private.h"

static void pause_claims(struct rec_machine *m, struct rec_now now)
{
	m->claim_pause_us = m->claim_pause_us ? m->claim_pause_us * 2 : STORE_PAUSE_FIRST_US;
	if (m->claim_pause_us > STORE_PAUSE_MAX_US)
		m->claim_pause_us = STORE_PAUSE_MAX_US;
	m->claim_resume_us = now.monotonic_us + m->claim_pause_us;
}

/* ---- Claims ---- */

void rec_machine_on_turn(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)now;
	struct attempt *a = rec_machine_attempt_new(m, t, e->slot);
	rec_machine_move(m, t, REC_PHASE_CLAIMING);
	struct rec_effect *effect =
		rec_machine_emit_for(m, REC_EFFECT_CLAIM, a->ahead ? REC_WHY_AHEAD : REC_WHY_TURN, a);
	effect->ahead = a->ahead;
	effect->attempt = t->attempt + 1;
}

void rec_machine_on_claimed(struct rec_machine *m, struct rec_now now, struct task *t,
			    const struct rec_machine_event *e)
{
	struct attempt *a = task_attempt(m, t);
	a->claim_id = e->claim_id;
	a->since_us = now.monotonic_us;
	t->attempt = e->attempt;
	t->commits++;
	t->stored = REC_IN_PROGRESS;
	m->claim_pause_us = 0;
	if (m->forced || m->failure_stop || (m->drained && a->ahead)) { /* meanwhile it is not wanted any more */
		a->recalled = true;
		rec_machine_emit_for(m, REC_EFFECT_RECALL, m->failure_stop ? REC_WHY_FAILURE_STOP : REC_WHY_OPERATOR,
				     a);
		return;
	}
	rec_machine_emit_for(m, REC_EFFECT_START, REC_WHY_CLAIM_STANDS, a);
	rec_machine_arm(m, a);
}

/* Nothing was claimed, since the task is no longer what it was: wait until it was looked at. */
static void unclaim(struct rec_machine *m, struct rec_now now, struct task *t, enum rec_why why)
{
	rec_machine_attempt_free(m, task_attempt(m, t));
	task_set(t, TASK_UNSEEN, task_has(t, TASK_MEMBER));
	rec_machine_stand(m, now, t);
	rec_machine_emit(m, REC_EFFECT_LOOK, why, t);
}

void rec_machine_on_claim_lost(struct rec_machine *m, struct rec_now now, struct task *t,
			       const struct rec_machine_event *e)
{
	(void)e;
	t->due_us = now.monotonic_us + RACE_PAUSE_US; /* whatever the reason, not in a tight circle */
	unclaim(m, now, t, REC_WHY_RACE);
}

void rec_machine_on_claim_failed(struct rec_machine *m, struct rec_now now, struct task *t,
				 const struct rec_machine_event *e)
{
	(void)e;
	rec_machine_attempt_free(m, task_attempt(m, t));
	rec_machine_stand(m, now, t);
	pause_claims(m, now);
}

/* Whether it runs is for its slot to say. */
void rec_machine_on_adopted(struct rec_machine *m, struct rec_now now, struct task *t,
			    const struct rec_machine_event *e)
{
	task_set(t, TASK_ELSEWHERE, false);
	task_set(t, TASK_UNSEEN, false);
	task_set(t, TASK_REQUEUEING, false);
	task_set(t, TASK_OWN, false);
	t->attempt = e->attempt;
	struct attempt *a = rec_machine_attempt_new(m, t, e->slot);
	a->claim_id = e->claim_id;
	a->since_us = now.monotonic_us;
	a->recalled = true; /* nothing is ahead in a slot that is given no more */
	rec_machine_move(m, t, REC_PHASE_CLAIMING);
	rec_machine_emit(m, REC_EFFECT_LOOK, REC_WHY_FIRST_LOOK, t);
}

void rec_machine_on_started(struct rec_machine *m, struct rec_now now, struct task *t,
			    const struct rec_machine_event *e)
{
	(void)e;
	struct attempt *a = task_attempt(m, t);
	a->since_us = a->sign_us = a->asked_us = now.monotonic_us;
	rec_machine_move(m, t, REC_PHASE_RUNNING);
	rec_machine_arm(m, a);
}

/* ---- How it ended ---- */

static void try_later(struct rec_machine *m, struct rec_now now, struct ending *end, uint32_t times)
{
	int64_t delay_us = rec_retry_delay_us(m->options.retry_delay_us, times, &m->random);
	end->to = REC_READY;
	if (delay_us) {
		end->due_us = now.monotonic_us + delay_us;
		end->not_before_us = now.wall_us + delay_us;
	}
}

static void end_failed(struct rec_machine *m, struct rec_now now, struct ending *end, enum rec_why last)
{
	bool again = end->member && end->failures < m->options.retries; /* how often others retry is not ours to say */
	end->to = REC_FAILED;
	end->why = (uint8_t)(again && last == REC_WHY_FAILED ? REC_WHY_RETRY : last);
	if (!again)
		return;
	end->failures++;
	end->retry_failed = end->by_itself;
	try_later(m, now, end, end->failures);
}

static void end_by_code(struct rec_machine *m, struct rec_now now, struct ending *end, const struct rec_exit *e)
{
	if (!e->by_signal && e->code == 0) {
		end->to = REC_DONE;
		end->why = REC_WHY_SUCCESS;
		end->own = true;
	} else if (!e->by_signal && e->code == 75 && end->again < AGAIN_MAX) {
		end->again++;
		end->why = REC_WHY_AGAIN;
		try_later(m, now, end, end->again);
	} else {
		bool too_often = !e->by_signal && e->code == 75;
		end_failed(m, now, end, too_often ? REC_WHY_AGAIN_LIMIT : REC_WHY_FAILED);
	}
}

static void end_lost(struct rec_machine *m, struct rec_now now, struct ending *end)
{
	(void)m, (void)now;
	bool again = end->lost < LOST_MAX;
	end->lost += again;
	end->to = again ? REC_READY : REC_FAILED;
	end->why = again ? REC_WHY_LOST_AGAIN : REC_WHY_LOST;
}

/* The stop was sent before it ended. What was stored then stands; only where that is IN_PROGRESS again (somebody
 * changed it back and forth) does `to` say what becomes of the task. */
static void end_signalled(struct rec_machine *m, struct rec_now now, const struct attempt *a, struct ending *end)
{
	if (a->cause == REC_WHY_TIMED_OUT || a->cause == REC_WHY_STALLED) {
		end_failed(m, now, end, (enum rec_why)a->cause);
	} else {
		end->to = REC_READY;
		end->why = a->cause == REC_WHY_COUNT ? REC_WHY_STOPPED : a->cause; /* by a conductor that is dead */
	}
}

/* Whatever was decided meanwhile: a stop that came too late stopped nothing. */
static bool ended_by_itself(const struct rec_machine *m, const struct attempt *a)
{
	if (rec_planted(m->options.planted, REC_PLANTED_LATE_EXIT) && a->stage != STAGE_GOING)
		return false;
	return a->has_exit && !a->exit.signalled;
}

static void decide_ending(struct rec_machine *m, struct rec_now now, const struct task *t, struct attempt *a)
{
	bool by_itself = ended_by_itself(m, a);
	struct ending end = {
		.member = task_has(t, TASK_MEMBER),
		.by_itself = by_itself,
		.failures = t->failures,
		.again = t->again,
		.lost = t->lost,
	};
	if (by_itself)
		end_by_code(m, now, &end, &a->exit);
	else if (a->has_exit || a->cause == REC_WHY_OPERATOR)
		end_signalled(m, now, a, &end);
	else
		end_lost(m, now, &end);
	a->ending = end;
}

static void emit_finish(struct rec_machine *m, const struct attempt *a)
{
	const struct ending *end = &a->ending;
	struct rec_effect *effect = rec_machine_emit_for(m, REC_EFFECT_FINISH, (enum rec_why)end->why, a);
	effect->status = end->to;
	effect->own = end->own;
	effect->retry_failed = end->retry_failed;
	effect->blocker_counts = end->by_itself;
	effect->signalled = a->has_exit && !end->by_itself;
	effect->has_exit = a->has_exit;
	effect->exit = a->exit;
	effect->cause = a->cause;
	effect->has_verdict = a->has_verdict;
	effect->verdict = a->verdict;
	effect->seen = a->seen;
}

static void attempt_ended(struct rec_machine *m, struct rec_now now, struct task *t, struct attempt *a)
{
	decide_ending(m, now, t, a);
	a->stage = STAGE_ENDED;
	rec_machine_attempt_over(m, a);
	if (t->phase != REC_PHASE_STOPPING)
		rec_machine_move(m, t, REC_PHASE_STOPPING);
	rec_machine_arm(m, a);
	emit_finish(m, a);
}

void rec_machine_on_ended(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	struct attempt *a = task_attempt(m, t);
	int64_t took_us = e->took_us >= 0 ? e->took_us : now.monotonic_us - a->since_us;
	if (a->slot != NONE) {
		struct slot *s = &m->slots[a->slot];
		s->shorts = took_us >= AHEAD_SHORT_US ? 0 : (uint8_t)(s->shorts + (s->shorts < UINT8_MAX));
	}
	a->has_exit = true;
	a->exit = e->exit;
	attempt_ended(m, now, t, a);
}

void rec_machine_on_lost(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)e;
	attempt_ended(m, now, t, task_attempt(m, t));
}

void rec_machine_on_void(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)e;
	struct attempt *a = task_attempt(m, t);
	bool asked = a->recalled || a->stage != STAGE_GOING;
	a->stage = STAGE_VOIDED;
	rec_machine_attempt_over(m, a);
	if (t->phase == REC_PHASE_RUNNING)
		rec_machine_move(m, t, REC_PHASE_STOPPING);
	rec_machine_arm(m, a);
	rec_machine_emit_for(m, REC_EFFECT_RELEASE, REC_WHY_NEVER_STARTED, a);
	if (!asked) /* something is wrong with starting */
		pause_claims(m, now);
}

/* ---- The end is in the store ---- */

/* What holds of a task once the end of its attempt is recorded and `status` stands. */
static struct rec_machine_row row_of_ending(const struct task *t, const struct ending *end, enum rec_status status)
{
	struct rec_machine_row row = {
		.belief = (uint8_t)status,
		.failures = end->failures,
		.again = end->again,
		.lost = end->lost,
		.attempt = t->attempt,
	};
	if (status == REC_READY) {
		row.phase = REC_PHASE_WAITING;
		row.not_before_us = end->not_before_us;
	} else if (rec_status_terminal(status)) {
		row.phase = REC_PHASE_FINISHED;
		row.own = end->own && rec_status_success(status);
	} else {
		row.phase = REC_PHASE_HELD;
		row.hold = (uint8_t)rec_machine_hold_for(status);
		if (status == REC_BLOCKED && end->by_itself)
			row.hold = REC_HOLD_RAISED;
	}
	return row;
}

static struct rec_machine_row row_of_task(const struct rec_machine *m, const struct task *t)
{
	struct rec_machine_row row = {
		.phase = t->phase,
		.belief = (uint8_t)rec_machine_belief(m, task_index(m, t)),
		.hold = t->hold,
		.own = task_has(t, TASK_OWN),
		.failures = t->failures,
		.again = t->again,
		.lost = t->lost,
		.attempt = t->attempt,
	};
	if (row.phase == REC_PHASE_QUEUED || row.phase == REC_PHASE_CLAIMING)
		row.phase = REC_PHASE_WAITING;
	else if (row.phase == REC_PHASE_STOPPING)
		row.phase = REC_PHASE_RUNNING;
	return row;
}

struct rec_machine_row rec_machine_row(const struct rec_machine *m, const struct rec_effect *effect,
				       enum rec_status status)
{
	const struct task *t = &m->tasks[effect->task];
	struct rec_machine_row row = row_of_task(m, t);
	if (effect->kind == REC_EFFECT_FINISH && t->attempt_index != NONE)
		return row_of_ending(t, &task_attempt(m, t)->ending, status);
	if (effect->kind == REC_EFFECT_CLAIM) {
		row.phase = REC_PHASE_RUNNING;
		row.belief = REC_IN_PROGRESS;
		row.attempt = effect->attempt;
	} else if (effect->kind == REC_EFFECT_RELEASE ||
		   (effect->kind == REC_EFFECT_REQUEUE && effect->status == REC_BLOCKED)) {
		row.phase = REC_PHASE_WAITING;
		row.belief = REC_READY;
		row.hold = REC_HOLD_NOT;
	}
	return row;
}

/* The reconciliation that stopped it is counted when it has worked: a child that ended by itself was not stopped. */
static void count_stop(struct rec_machine *m, const struct attempt *a, const struct rec_machine_row *row)
{
	if (a->cause != REC_WHY_OUTSIDE || !a->has_verdict)
		return;
	if (a->verdict.action == REC_SKIP)
		m->reconciled.skipped += row->phase == REC_PHASE_FINISHED && !row->own;
	else if (!a->ending.by_itself)
		m->reconciled.killed++;
}

static void take_row(struct task *t, const struct rec_machine_row *row, int64_t due_us)
{
	t->failures = row->failures;
	t->again = row->again;
	t->lost = row->lost;
	t->due_us = row->phase == REC_PHASE_WAITING ? due_us : 0;
	t->outcome = row->belief;
	task_set(t, TASK_OWN, row->own);
	task_set(t, TASK_UNSEEN, row->phase == REC_PHASE_WAITING && task_has(t, TASK_MEMBER));
}

void rec_machine_on_recorded(struct rec_machine *m, struct rec_now now, struct task *t,
			     const struct rec_machine_event *e)
{
	struct attempt *a = task_attempt(m, t);
	struct rec_machine_row row = row_of_ending(t, &a->ending, (enum rec_status)e->status);
	int64_t due_us = a->ending.due_us;
	count_stop(m, a, &row);
	rec_machine_attempt_free(m, a);
	t->commits++;
	t->stored = e->status;
	take_row(t, &row, due_us);
	if (!task_has(t, TASK_MEMBER)) {
		t->due_us = 0;
		rec_machine_move(m, t, REC_PHASE_WAITING);
		return;
	}
	if (row.phase == REC_PHASE_WAITING)
		rec_machine_stand(m, now, t);
	else
		rec_machine_move(m, t, (enum rec_phase)row.phase);
	t->hold = row.hold;
	if (row.phase == REC_PHASE_FINISHED && row.belief == REC_FAILED && m->options.stop_on_failure)
		m->failure_stop = true;
	if (row.phase != REC_PHASE_FINISHED)
		rec_machine_emit(m, REC_EFFECT_LOOK, REC_WHY_FIRST_LOOK, t);
}

void rec_machine_on_released(struct rec_machine *m, struct rec_now now, struct task *t,
			     const struct rec_machine_event *e)
{
	(void)e;
	t->commits++;
	t->attempt -= t->attempt > 0; /* its number is used again */
	unclaim(m, now, t, REC_WHY_NEVER_STARTED);
}

/* Somebody else ended our attempt: whatever the store says now. */
void rec_machine_on_gone(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)e;
	t->commits++;
	unclaim(m, now, t, REC_WHY_FENCED);
}
