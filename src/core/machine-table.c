/* machine-table.c - the machine's whole behaviour as one table: phase x happening.
 *
 * Before the table: what is about another attempt, or older than the task's last own commit, is dropped here, in one
 * place. After it: the difference the handler made to the task is booked (counts, who may still come to run) and, if it
 * became or ceased to be a met dependency, its dependents are told. Nothing here recurses: being told never changes
 * whether a task is met.
 *
 * An empty cell cannot happen; a caller that makes it happen gets REC_E_BUG and nothing changes. `ignore` is a cell
 * that can happen and means nothing. */
#include <assert.h>

#include "core/machine-private.h"

static void ignore(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)m, (void)now, (void)t, (void)e;
}

/* Too late to be of use, but the world has moved: look again. */
static void look_again(struct rec_machine *m, struct rec_now now, struct task *t, const struct rec_machine_event *e)
{
	(void)now;
	t->commits += e->kind == REC_ON_REQUEUED;
	task_set(t, TASK_REQUEUEING, false);
	rec_machine_emit(m, REC_EFFECT_LOOK, REC_WHY_RACE, t);
}

static handler *const table[REC_PHASE_COUNT][REC_HAPPENING_COUNT] =
	{
		[REC_PHASE_WAITING] =
			{
				[REC_ON_NONE] = rec_machine_on_place,
				[REC_ON_SKIP] = rec_machine_on_place,
				[REC_ON_KILL] = rec_machine_on_place,
				[REC_ON_REQUEUE] = rec_machine_on_place,
				[REC_ON_REQUEUED] = rec_machine_on_requeued,
				[REC_ON_REQUEUE_LOST] = rec_machine_on_requeue_lost,
				[REC_ON_ADOPTED] = rec_machine_on_adopted,
				[REC_ON_FORCED] = ignore,
				[REC_ON_JOINED] = rec_machine_on_joined,
				[REC_ON_MET] = rec_machine_on_met,
				[REC_ON_UNMET] = rec_machine_on_unmet,
				[REC_ON_LINKED] = rec_machine_on_linked,
				[REC_ON_STUCK] = rec_machine_on_stuck,
				[REC_ON_DUE] = rec_machine_on_due,
			},
		[REC_PHASE_QUEUED] =
			{
				[REC_ON_NONE] = rec_machine_on_place,
				[REC_ON_SKIP] = rec_machine_on_place,
				[REC_ON_KILL] = rec_machine_on_place,
				[REC_ON_REQUEUE] = rec_machine_on_place,
				[REC_ON_REQUEUED] = look_again,
				[REC_ON_REQUEUE_LOST] = look_again,
				[REC_ON_ADOPTED] = rec_machine_on_adopted,
				[REC_ON_FORCED] = ignore,
				[REC_ON_JOINED] = ignore, /* a member already */
				[REC_ON_UNMET] = rec_machine_on_unmet,
				[REC_ON_LINKED] = rec_machine_on_linked,
				[REC_ON_TURN] = rec_machine_on_turn,
			},
		[REC_PHASE_CLAIMING] =
			{
				[REC_ON_NONE] = rec_machine_on_claiming_verdict,
				[REC_ON_SKIP] = rec_machine_on_claiming_verdict,
				[REC_ON_KILL] = rec_machine_on_claiming_verdict,
				[REC_ON_REQUEUE] = ignore, /* the next attempt starts after this one ended */
				[REC_ON_CLAIMED] = rec_machine_on_claimed,
				[REC_ON_CLAIM_LOST] = rec_machine_on_claim_lost,
				[REC_ON_CLAIM_FAILED] = rec_machine_on_claim_failed,
				[REC_ON_RELEASED] = rec_machine_on_released,
				[REC_ON_GONE] = rec_machine_on_gone,
				[REC_ON_REQUEUED] = look_again,
				[REC_ON_REQUEUE_LOST] = look_again,
				[REC_ON_STARTED] = rec_machine_on_started,
				[REC_ON_ENDED] = rec_machine_on_ended,
				[REC_ON_VOID] = rec_machine_on_void,
				[REC_ON_LOST] = rec_machine_on_lost,
				[REC_ON_ALIVE] = ignore,
				[REC_ON_FORCED] = rec_machine_on_forced,
				[REC_ON_JOINED] = rec_machine_on_joined,
				[REC_ON_MET] = ignore,
				[REC_ON_UNMET] = ignore, /* the claim itself looks at dependencies again */
				[REC_ON_LINKED] = ignore,
				[REC_ON_RECALL_DUE] = rec_machine_on_recall_due,
			},
		[REC_PHASE_RUNNING] =
			{
				[REC_ON_NONE] = rec_machine_on_running_verdict,
				[REC_ON_SKIP] = rec_machine_on_running_verdict,
				[REC_ON_KILL] = rec_machine_on_running_verdict,
				[REC_ON_REQUEUE] = ignore,
				[REC_ON_REQUEUED] = look_again,
				[REC_ON_REQUEUE_LOST] = look_again,
				[REC_ON_STARTED] = ignore,
				[REC_ON_ENDED] = rec_machine_on_ended,
				[REC_ON_VOID] = rec_machine_on_void, /* recalled, then its stop was called off */
				[REC_ON_LOST] = rec_machine_on_lost,
				[REC_ON_ALIVE] = rec_machine_on_alive,
				[REC_ON_FORCED] = rec_machine_on_forced,
				[REC_ON_JOINED] = rec_machine_on_joined,
				[REC_ON_MET] = ignore,
				[REC_ON_UNMET] = ignore,
				[REC_ON_LINKED] = ignore,
				[REC_ON_TIMED_OUT] = rec_machine_on_timed_out,
				[REC_ON_LIFE_DUE] = rec_machine_on_life_due,
			},
		[REC_PHASE_STOPPING] =
			{
				[REC_ON_NONE] = rec_machine_on_stopping_verdict,
				[REC_ON_SKIP] = rec_machine_on_stopping_verdict,
				[REC_ON_KILL] = rec_machine_on_stopping_verdict,
				[REC_ON_REQUEUE] = ignore,
				[REC_ON_RECORDED] = rec_machine_on_recorded,
				[REC_ON_RELEASED] = rec_machine_on_released,
				[REC_ON_GONE] = rec_machine_on_gone,
				[REC_ON_REQUEUED] = look_again,
				[REC_ON_REQUEUE_LOST] = look_again,
				[REC_ON_STARTED] = ignore,
				[REC_ON_ENDED] = rec_machine_on_ended,
				[REC_ON_VOID] = rec_machine_on_void,
				[REC_ON_LOST] = rec_machine_on_lost,
				[REC_ON_ALIVE] = ignore,
				[REC_ON_FORCED] = rec_machine_on_stopping_forced,
				[REC_ON_JOINED] = rec_machine_on_joined,
				[REC_ON_MET] = ignore,
				[REC_ON_UNMET] = ignore,
				[REC_ON_LINKED] = ignore,
				[REC_ON_SETTLED] = rec_machine_on_settled,
				[REC_ON_GRACE_OVER] = rec_machine_on_grace_over,
			},
		[REC_PHASE_HELD] =
			{
				[REC_ON_NONE] = rec_machine_on_place,
				[REC_ON_SKIP] = rec_machine_on_place,
				[REC_ON_KILL] = rec_machine_on_place,
				[REC_ON_REQUEUE] = rec_machine_on_place,
				[REC_ON_REQUEUED] = rec_machine_on_requeued,
				[REC_ON_REQUEUE_LOST] = rec_machine_on_requeue_lost,
				[REC_ON_ADOPTED] = rec_machine_on_adopted,
				[REC_ON_FORCED] = ignore,
				[REC_ON_JOINED] = ignore, /* a member already */
				[REC_ON_MET] = rec_machine_on_held_met,
				[REC_ON_UNMET] = ignore,
				[REC_ON_LINKED] = rec_machine_on_linked,
			},
		[REC_PHASE_FINISHED] =
			{
				[REC_ON_NONE] = ignore, /* what is stored was noted, that is all */
				[REC_ON_SKIP] = rec_machine_on_finished_skip,
				[REC_ON_KILL] = ignore,
				[REC_ON_REQUEUE] = rec_machine_on_reopen,
				[REC_ON_REQUEUED] = look_again,
				[REC_ON_REQUEUE_LOST] = look_again,
				[REC_ON_ADOPTED] = rec_machine_on_adopted,
				[REC_ON_FORCED] = ignore,
				[REC_ON_JOINED] = ignore, /* a member already */
				[REC_ON_MET] = ignore,
				[REC_ON_UNMET] = ignore,
				[REC_ON_LINKED] = ignore,
			},
};

/* ---- The one function that changes a phase ---- */

#define BIT(phase) (1u << REC_PHASE_##phase)
static const uint8_t legal[REC_PHASE_COUNT] = {
	[REC_PHASE_WAITING] = BIT(QUEUED) | BIT(CLAIMING) | BIT(HELD) | BIT(FINISHED),
	[REC_PHASE_QUEUED] = BIT(WAITING) | BIT(CLAIMING) | BIT(HELD) | BIT(FINISHED),
	[REC_PHASE_CLAIMING] = BIT(WAITING) | BIT(QUEUED) | BIT(RUNNING) | BIT(STOPPING),
	[REC_PHASE_RUNNING] = BIT(STOPPING),
	[REC_PHASE_STOPPING] = BIT(RUNNING) | BIT(WAITING) | BIT(HELD) | BIT(FINISHED),
	[REC_PHASE_HELD] = BIT(WAITING) | BIT(QUEUED) | BIT(CLAIMING) | BIT(FINISHED),
	[REC_PHASE_FINISHED] = BIT(WAITING) | BIT(QUEUED) | BIT(CLAIMING) | BIT(HELD),
};

void rec_machine_move(struct rec_machine *m, struct task *t, enum rec_phase phase)
{
	assert(legal[t->phase] & 1u << phase);
	if (t->place != REC_QUEUE_OUT)
		rec_queue_remove(t->phase == REC_PHASE_QUEUED ? &m->ready : &m->timed, t->place);
	t->phase = (uint8_t)phase;
	if (phase == REC_PHASE_QUEUED)
		rec_queue_add(&m->ready, task_index(m, t));
	else if (phase == REC_PHASE_WAITING && t->due_us)
		rec_queue_add(&m->timed, task_index(m, t));
	if (phase != REC_PHASE_HELD) {
		t->hold = REC_HOLD_NOT;
		task_set(t, TASK_UNTOLD, false);
	}
}

/* ---- Booking ---- */

static bool is_verdict(enum rec_happening kind)
{
	return kind <= REC_ON_REQUEUE;
}

/* A dependency is met when its task is stored as a success and nothing of it runs any more. */
bool rec_machine_is_met(const struct task *t)
{
	if (!rec_status_success((enum rec_status)t->stored))
		return false;
	return task_has(t, TASK_MEMBER) ? t->phase == REC_PHASE_FINISHED : t->attempt_index == NONE;
}

struct standing {
	bool member, able, elsewhere, stuck, deleted;
	enum rec_phase phase;
	uint64_t *outcome; /* done, failed, skipped; NULL */
};

/* Does its wait end when somebody else's claim does? */
static bool waits_elsewhere(const struct task *t)
{
	return task_has(t, TASK_ELSEWHERE) && (t->phase == REC_PHASE_WAITING || !task_has(t, TASK_MEMBER));
}

/* May it still come to run, or let others run, without anybody doing anything outside? */
static bool is_able(const struct task *t)
{
	if (t->attempt_index != NONE || waits_elsewhere(t))
		return true;
	if (!task_has(t, TASK_MEMBER))
		return task_has(t, TASK_NEW); /* what it is will be known soon */
	switch (t->phase) {
	case REC_PHASE_WAITING:
		return task_has(t, TASK_UNSEEN) || (t->due_us && t->unmet == 0);
	case REC_PHASE_HELD:
		return task_has(t, TASK_REQUEUEING);
	default:
		return t->phase == REC_PHASE_QUEUED;
	}
}

static struct standing standing_of(struct rec_machine *m, const struct task *t)
{
	struct standing s = {
		.member = task_has(t, TASK_MEMBER),
		.able = is_able(t),
		.elsewhere = waits_elsewhere(t),
		.stuck = t->phase == REC_PHASE_HELD && t->hold == REC_HOLD_DEPENDENCY,
		.deleted = t->phase == REC_PHASE_HELD && t->hold == REC_HOLD_DELETED,
		.phase = (enum rec_phase)t->phase,
	};
	if (s.member && s.phase == REC_PHASE_FINISHED)
		s.outcome = t->outcome == REC_FAILED ? &m->failed : task_has(t, TASK_OWN) ? &m->done : &m->skipped;
	return s;
}

static void book(struct rec_machine *m, const struct standing *s, bool add)
{
	uint64_t one = add ? 1 : UINT64_MAX; /* adding the latter takes one away */
	m->able += s->able ? one : 0;
	m->elsewhere += s->elsewhere ? one : 0;
	m->stuck += s->stuck ? one : 0;
	m->deleted += s->deleted ? one : 0;
	if (s->member)
		m->phases[s->phase] += one;
	if (s->outcome)
		*s->outcome += one;
}

const char *rec_machine_booking_audit(const struct rec_machine *m)
{
	uint64_t able = 0, elsewhere = 0, stuck = 0, deleted = 0;
	for (size_t i = 0; i < m->count; i++) {
		const struct task *t = &m->tasks[i];
		able += is_able(t);
		elsewhere += waits_elsewhere(t);
		stuck += t->phase == REC_PHASE_HELD && t->hold == REC_HOLD_DEPENDENCY;
		deleted += t->phase == REC_PHASE_HELD && t->hold == REC_HOLD_DELETED;
	}
	if (able != m->able)
		return "those that may come to run are counted wrongly";
	return elsewhere == m->elsewhere && stuck == m->stuck && deleted == m->deleted
		       ? NULL
		       : "those that wait are counted wrongly";
}

/* What a look saw, whatever it means. */
static void see(struct rec_machine *m, struct task *t, const struct rec_seen *seen)
{
	t->stored = seen->status;
	task_set(t, TASK_ABSENT, seen->status == REC_STATUS_ABSENT);
	if (!task_has(t, TASK_MEMBER))
		task_set(t, TASK_NEW, false);
	task_set(t, TASK_ELSEWHERE, seen->claimed && t->attempt_index == NONE);
	if (seen->status == REC_STATUS_ABSENT || t->priority == seen->priority)
		return;
	t->priority = seen->priority;
	if (t->phase == REC_PHASE_QUEUED)
		rec_queue_moved(&m->ready, t->place);
}

static int apply(struct rec_machine *m, struct rec_now now, const struct rec_machine_event *e)
{
	struct task *t = &m->tasks[e->task];
	handler *act = table[t->phase][e->kind];
	if (!act)
		return REC_E_BUG;
	struct standing before = standing_of(m, t);
	if (is_verdict(e->kind))
		see(m, t, &e->seen);
	else if (e->kind == REC_ON_MET)
		t->unmet--;
	else if (e->kind == REC_ON_UNMET)
		t->unmet++;
	else if (e->kind == REC_ON_LINKED)
		t->unmet = rec_machine_unmet_count(m, e->task);
	act(m, now, t, e);
	struct standing after = standing_of(m, t);
	book(m, &before, false);
	book(m, &after, true);
	return 0;
}

static const uint32_t *dependents_of(const struct rec_machine *m, uint32_t task, uint32_t *ret_count)
{
	*ret_count = 0;
	return m->graph && task < m->graph_count ? rec_graph_dependents(m->graph, task, ret_count) : NULL;
}

/* What those who depend on a task care about. */
struct effect_on_others {
	bool met;
	bool absent; /* holds them, if it is not in the batch */
};

static struct effect_on_others effect_of(const struct task *t)
{
	return (struct effect_on_others){
		.met = rec_machine_is_met(t),
		.absent = task_has(t, TASK_ABSENT) && !task_has(t, TASK_MEMBER),
	};
}

/* Room for the handler's own effects, and for those of dependents that may be told. */
static int room_for_others(struct rec_machine *m, const struct task *t, const struct rec_machine_event *e,
			   uint32_t count)
{
	int r = rec_machine_room(m, 2);
	if (!r && m->stuck) /* whoever was held because of this task may be released */
		r = rec_machine_room_for(m, REC_EFFECT_RECORD, (size_t)count + 2);
	if (!r && (is_verdict(e->kind) || e->kind == REC_ON_JOINED) && !task_has(t, TASK_MEMBER))
		r = rec_machine_room_for(m, REC_EFFECT_LOOK, (size_t)count + 2);
	return r;
}

static void tell_other(struct rec_machine *m, struct rec_now now, enum rec_happening kind, uint32_t task)
{
	int r = apply(m, now, &(struct rec_machine_event){.kind = kind, .task = task});
	assert(r == 0);
	(void)r;
}

int rec_machine_dispatch(struct rec_machine *m, struct rec_now now, const struct rec_machine_event *e)
{
	uint32_t count;
	const uint32_t *dependents = dependents_of(m, e->task, &count);
	const struct task *t = &m->tasks[e->task];
	struct effect_on_others before = effect_of(t), after;
	int r = room_for_others(m, t, e, count);
	r = r ? r : apply(m, now, e);
	if (r)
		return r;
	after = effect_of(t);
	for (uint32_t i = 0; i < count; i++) {
		if (before.met != after.met)
			tell_other(m, now, after.met ? REC_ON_MET : REC_ON_UNMET, dependents[i]);
		if (before.absent != after.absent)
			tell_other(m, now, REC_ON_LINKED, dependents[i]);
	}
	return 0;
}

/* ---- What is let in ---- */

/* Results of an attempt's commits and what its slot says. */
static bool is_about_an_attempt(enum rec_happening kind)
{
	switch (kind) {
	case REC_ON_RECORDED:
	case REC_ON_RELEASED:
	case REC_ON_GONE:
	case REC_ON_STARTED:
	case REC_ON_ENDED:
	case REC_ON_VOID:
	case REC_ON_LOST:
	case REC_ON_ALIVE:
		return true;
	default:
		return false;
	}
}

static bool is_stale(const struct rec_machine *m, const struct rec_machine_event *e)
{
	const struct task *t = &m->tasks[e->task];
	if (rec_planted(m->options.planted, REC_PLANTED_STALE))
		return false;
	return e->commits != t->commits || e->attempt != t->attempt;
}

/* A slot's last word about an attempt counts once. */
static bool is_of_this_attempt(const struct rec_machine *m, const struct rec_machine_event *e)
{
	const struct task *t = &m->tasks[e->task];
	if (t->attempt_index == NONE || task_attempt(m, t)->claim_id != e->claim_id)
		return false;
	const struct attempt *a = task_attempt(m, t);
	bool over = a->stage == STAGE_ENDED || a->stage == STAGE_VOIDED;
	switch (e->kind) {
	case REC_ON_RECORDED:
		return a->stage == STAGE_ENDED;
	case REC_ON_RELEASED:
		return a->stage == STAGE_VOIDED;
	case REC_ON_GONE:
		return over;
	default:
		return !over;
	}
}

/* The result of a claim that was planned and has no result yet. */
static bool is_awaited_claim(const struct rec_machine *m, const struct task *t)
{
	return t->phase == REC_PHASE_CLAIMING && task_attempt(m, t)->claim_id == 0;
}

static int drop(struct rec_machine *m, const struct task *t)
{
	int r = rec_machine_room(m, 1);
	if (r)
		return r;
	m->reconciled.dropped++;
	rec_machine_emit(m, REC_EFFECT_LOOK, REC_WHY_STALE, t);
	return 0;
}

static int adoption_prepare(struct rec_machine *m, const struct rec_machine_event *e)
{
	int r = e->slot == NONE ? 0 : rec_machine_slot_known(m, e->slot);
	r = r ? r : rec_machine_attempt_reserve(m);
	if (!r && e->slot != NONE && m->slots[e->slot].ahead != NONE)
		return REC_E_BUG; /* more than its record can hold */
	return r;
}

int rec_machine_handle(struct rec_machine *m, struct rec_now now, const struct rec_machine_event *e)
{
	if (e->task >= m->count || e->kind >= REC_ON_FORCED)
		return REC_E_BUG;
	const struct task *t = &m->tasks[e->task];
	if ((is_verdict(e->kind) && is_stale(m, e)) || (is_about_an_attempt(e->kind) && !is_of_this_attempt(m, e)))
		return drop(m, t);
	bool of_claim = e->kind >= REC_ON_CLAIMED && e->kind <= REC_ON_CLAIM_FAILED;
	if (of_claim && !is_awaited_claim(m, t))
		return REC_E_BUG;
	if (e->kind == REC_ON_ADOPTED) {
		int r = adoption_prepare(m, e);
		if (r)
			return r;
	}
	return rec_machine_dispatch(m, now, e);
}
