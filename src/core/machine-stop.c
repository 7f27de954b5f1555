/* machine-stop.c - stops, each task on its own ladder, and everything that time does.
 *
 *     verdict SKIP or KILL, task deleted         settle -> SIGTERM -> grace -> SIGKILL
 *     timeout, stall, operator, claim not ours             SIGTERM -> grace -> SIGKILL
 *
 * What is wanted is read anew at every look: while a child still settles, a stop whose cause is gone is called off.
 * Once signalled there is no way back. */
#include "core/machine-private.h"

#define KILL_AGAIN_US 1000000 /* SIGKILL is repeated, no faster than this, until the tree is gone */
#define LIFE_QUESTIONS 4      /* asked so many times within the stall timeout */

/* ---- Deadlines ---- */

static int64_t after(int64_t since_us, int64_t span_us)
{
	return since_us > NEVER - span_us ? NEVER : since_us + span_us;
}

static int64_t timeout_at(const struct rec_machine *m, const struct attempt *a)
{
	bool timed = m->options.timeout_us > 0 && task_has(&m->tasks[a->task], TASK_MEMBER);
	return timed ? after(a->since_us, m->options.timeout_us) : NEVER;
}

static int64_t life_at(const struct rec_machine *m, const struct attempt *a)
{
	bool watched = m->options.stall_timeout_us > 0 && task_has(&m->tasks[a->task], TASK_MEMBER);
	return watched ? after(a->asked_us, m->options.stall_timeout_us / LIFE_QUESTIONS + 1) : NEVER;
}

static int64_t kill_again_at(const struct rec_machine *m, const struct attempt *a)
{
	return after(a->since_us, m->options.grace_us > KILL_AGAIN_US ? m->options.grace_us : KILL_AGAIN_US);
}

/* When the next thing is due for the attempt, and what. */
static int64_t next_deadline(const struct rec_machine *m, const struct attempt *a, enum rec_happening *ret_what)
{
	const struct task *t = &m->tasks[a->task];
	if (t->phase == REC_PHASE_CLAIMING && a->ahead && a->claim_id && !a->recalled && a->stage == STAGE_GOING) {
		*ret_what = REC_ON_RECALL_DUE;
		return after(a->since_us, AHEAD_SHORT_US);
	}
	if (t->phase == REC_PHASE_RUNNING) {
		int64_t timeout = timeout_at(m, a), life = life_at(m, a);
		*ret_what = timeout <= life ? REC_ON_TIMED_OUT : REC_ON_LIFE_DUE;
		return timeout <= life ? timeout : life;
	}
	*ret_what = a->stage == STAGE_SETTLING ? REC_ON_SETTLED : REC_ON_GRACE_OVER;
	switch (a->stage) {
	case STAGE_SETTLING:
		return after(a->since_us, m->options.settle_us);
	case STAGE_TERMINATING:
		return after(a->since_us, m->options.grace_us);
	case STAGE_KILLING:
		return kill_again_at(m, a);
	default:
		return NEVER;
	}
}

void rec_machine_arm(struct rec_machine *m, struct attempt *a)
{
	enum rec_happening what;
	a->deadline_us = next_deadline(m, a, &what);
	if (a->place != REC_QUEUE_OUT)
		rec_queue_remove(&m->going, a->place);
	if (a->deadline_us != NEVER)
		rec_queue_add(&m->going, (uint32_t)(a - m->attempts));
}

static int tick_attempts(struct rec_machine *m, struct rec_now now)
{
	for (;;) {
		uint32_t index = rec_queue_first(&m->going);
		if (index == REC_QUEUE_OUT || m->attempts[index].deadline_us > now.monotonic_us)
			return 0;
		struct rec_machine_event e = {.task = m->attempts[index].task};
		next_deadline(m, &m->attempts[index], &e.kind);
		int r = rec_machine_dispatch(m, now, &e);
		if (r)
			return r;
	}
}

int rec_machine_tick(struct rec_machine *m, struct rec_now now)
{
	for (;;) {
		uint32_t task = rec_queue_first(&m->timed);
		if (task == REC_QUEUE_OUT || m->tasks[task].due_us > now.monotonic_us)
			return tick_attempts(m, now);
		int r = rec_machine_dispatch(m, now, &(struct rec_machine_event){.kind = REC_ON_DUE, .task = task});
		if (r)
			return r;
	}
}

void rec_machine_freshen(struct rec_machine *m, struct rec_now now)
{
	for (size_t i = 0; i < m->attempt_count; i++) {
		struct attempt *a = &m->attempts[i];
		if (a->place == REC_QUEUE_OUT)
			continue;
		a->since_us = a->asked_us = a->sign_us = now.monotonic_us;
		rec_machine_arm(m, a);
	}
}

/* ---- The ladder ---- */

static void signal_tree(struct rec_machine *m, struct rec_now now, struct attempt *a, enum stage stage,
			enum rec_why why)
{
	a->stage = (uint8_t)stage;
	a->since_us = now.monotonic_us;
	rec_machine_emit_for(m, REC_EFFECT_STOP, why, a)->signal = stage == STAGE_KILLING ? 2 : 1;
	rec_machine_arm(m, a);
}

static void remember_verdict(struct attempt *a, const struct rec_machine_event *e)
{
	a->has_verdict = true;
	a->verdict = e->verdict;
	a->seen = e->seen;
}

static void stop(struct rec_machine *m, struct rec_now now, struct task *t, enum rec_why cause)
{
	struct attempt *a = task_attempt(m, t);
	bool settles = (cause == REC_WHY_OUTSIDE || cause == REC_WHY_DELETED) && m->options.settle_us > 0;
	bool starting = t->phase == REC_PHASE_CLAIMING;
	a->cause = (uint8_t)cause;
	rec_machine_move(m, t, REC_PHASE_STOPPING);
	if (!settles) {
		signal_tree(m, now, a, STAGE_TERMINATING, cause);
		return;
	}
	a->stage = STAGE_SETTLING;
	a->since_us = now.monotonic_us;
	if (starting) {
		a->recalled = true;
		rec_machine_emit_for(m, REC_EFFECT_RECALL, cause, a);
	}
	rec_machine_arm(m, a);
}

/* What a look says about a task whose attempt is ours: REC_WHY_COUNT if it may go on. */
static enum rec_why cause_of(const struct rec_machine_event *e)
{
	if (e->kind == REC_ON_SKIP || e->kind == REC_ON_KILL)
		return REC_WHY_OUTSIDE;
	if (e->seen.status == REC_STATUS_ABSENT)
		return REC_WHY_DELETED;
	return e->seen.claimed ? REC_WHY_COUNT : REC_WHY_FENCED;
}

void rec_machine_on_running_verdict(struct rec_machine *m, struct rec_now now, struct task *t,
				    const struct rec_machine_event *e)
{
	enum rec_why cause = cause_of(e);
	if (cause == REC_WHY_COUNT)
		return;
	remember_verdict(task_attempt(m, t), e);
	stop(m, now, t, cause);
}

/* Before the claim committed there is nothing to stop: the claim itself is conditional. */
void rec_machine_on_claiming_verdict(struct rec_machine *m, struct rec_now now, struct task *t,
				     const struct rec_machine_event *e)
{
	const struct attempt *a = task_attempt(m, t);
	if (a->claim_id && a->stage == STAGE_GOING)
		rec_machine_on_running_verdict(m, now, t, e);
}

void rec_machine_on_stopping_verdict(struct rec_machine *m, struct rec_now now, struct task *t,
				     const struct rec_machine_event *e)
{
	struct attempt *a = task_attempt(m, t);
	enum rec_why cause = cause_of(e);
	bool outside = a->cause == REC_WHY_OUTSIDE || a->cause == REC_WHY_DELETED;
	if (a->stage == STAGE_ENDED || a->stage == STAGE_VOIDED)
		return;
	if (cause == REC_WHY_COUNT) {
		if (a->stage != STAGE_SETTLING || !outside)
			return;
		a->stage = STAGE_GOING;
		a->cause = REC_WHY_COUNT;
		a->has_verdict = false;
		a->since_us = now.monotonic_us;
		rec_machine_move(m, t, REC_PHASE_RUNNING);
		rec_machine_arm(m, a);
	} else if (outside) {
		a->cause = (uint8_t)cause;
		remember_verdict(a, e);
		if (cause == REC_WHY_FENCED && a->stage == STAGE_SETTLING)
			signal_tree(m, now, a, STAGE_TERMINATING, cause);
	}
}

void rec_machine_on_forced(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)e;
	const struct attempt *a = task_attempt(m, t);
	if (a->claim_id && a->stage == STAGE_GOING)
		stop(m, now, t, REC_WHY_OPERATOR);
}

void rec_machine_on_stopping_forced(struct rec_machine *m, struct rec_now now, struct task *t,
				    const struct rec_machine_event *e)
{
	(void)e;
	struct attempt *a = task_attempt(m, t);
	if (a->stage == STAGE_SETTLING)
		signal_tree(m, now, a, STAGE_TERMINATING, REC_WHY_OPERATOR);
}

void rec_machine_on_settled(struct rec_machine *m, struct rec_now now, struct task *t,
			    const struct rec_machine_event *e)
{
	(void)e;
	struct attempt *a = task_attempt(m, t);
	signal_tree(m, now, a, STAGE_TERMINATING, (enum rec_why)a->cause);
}

void rec_machine_on_grace_over(struct rec_machine *m, struct rec_now now, struct task *t,
			       const struct rec_machine_event *e)
{
	(void)e;
	signal_tree(m, now, task_attempt(m, t), STAGE_KILLING, REC_WHY_GRACE_OVER);
}

void rec_machine_on_timed_out(struct rec_machine *m, struct rec_now now, struct task *t,
			      const struct rec_machine_event *e)
{
	(void)e;
	stop(m, now, t, REC_WHY_TIMED_OUT);
}

/* ---- Signs of life ---- */

void rec_machine_on_life_due(struct rec_machine *m, struct rec_now now, struct task *t,
			     const struct rec_machine_event *e)
{
	(void)e;
	struct attempt *a = task_attempt(m, t);
	a->asked_us = now.monotonic_us;
	rec_machine_emit_for(m, REC_EFFECT_LIFE, REC_WHY_LIFE, a);
	rec_machine_arm(m, a);
}

void rec_machine_on_alive(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	struct attempt *a = task_attempt(m, t);
	if (e->signs != a->signs) {
		a->signs = e->signs;
		a->sign_us = now.monotonic_us;
	} else if (m->options.stall_timeout_us > 0 && now.monotonic_us - a->sign_us >= m->options.stall_timeout_us) {
		stop(m, now, t, REC_WHY_STALLED);
	}
}

/* ---- Ahead ---- */

void rec_machine_on_recall_due(struct rec_machine *m, struct rec_now now, struct task *t,
			       const struct rec_machine_event *e)
{
	(void)e;
	struct attempt *a = task_attempt(m, t);
	if (a->recalled || !a->claim_id || a->stage != STAGE_GOING)
		return;
	bool late = now.monotonic_us - a->since_us >= AHEAD_SHORT_US;
	a->recalled = true;
	if (late) /* what runs before it is not short: nothing else is to wait behind it */
		m->slots[a->slot].shorts = 0;
	rec_machine_emit_for(m, REC_EFFECT_RECALL, late ? REC_WHY_TOO_LONG_AHEAD : REC_WHY_SLOT_FREE, a);
	rec_machine_arm(m, a);
}
