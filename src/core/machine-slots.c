/* machine-slots.c - which slot may be given what.
 *
 * A slot's record keeps two ends. So at most two of its claims may have been started and be unrecorded at any time: one
 * that runs and one ahead, which starts when the first ends, as both may then wait to be recorded. What ended is in the
 * way of nothing: it is recorded by the very group that holds the slot's next claims, and those start after its commit.
 *
 * Of what has not begun the record keeps two as well: what is to run next, and one ahead. A claim that came to nothing
 * counts as such until its release is committed, so until then nothing is claimed ahead: its record would take the
 * place of one that is about to begin.
 */
#include <assert.h>

#include "core/machine-private.h"

static bool slot_is_free(const struct slot *s)
{
	return s->usable && s->running == NONE;
}

/* Free ones are chained; those that are no longer free are left in the chain and passed over when they come up. */
static void slot_offer(struct rec_machine *m, uint32_t index)
{
	struct slot *s = &m->slots[index];
	if (!slot_is_free(s) || s->in_free)
		return;
	s->in_free = true;
	s->next_free = m->slot_free;
	m->slot_free = index;
}

uint32_t rec_machine_slot_free(struct rec_machine *m)
{
	while (m->slot_free != NONE && !slot_is_free(&m->slots[m->slot_free])) {
		m->slots[m->slot_free].in_free = false;
		m->slot_free = m->slots[m->slot_free].next_free;
	}
	return m->slot_free;
}

static unsigned ahead_after(const struct rec_machine *m)
{
	return m->options.ahead_after ? m->options.ahead_after : AHEAD_RUN_LENGTH;
}

static bool may_be_claimed_ahead(const struct rec_machine *m, const struct slot *s)
{
	return s->usable && s->running != NONE && s->ahead == NONE && s->voided == 0 && s->shorts >= ahead_after(m) &&
	       m->attempts[s->running].stage == STAGE_GOING;
}

uint32_t rec_machine_slot_ahead(const struct rec_machine *m)
{
	for (uint32_t i = 0; i < m->slot_count; i++)
		if (may_be_claimed_ahead(m, &m->slots[i]))
			return i;
	return NONE;
}

int rec_machine_slot_known(struct rec_machine *m, uint32_t slot)
{
	if (slot >= REC_MACHINE_SLOTS_MAX)
		return REC_E_LIMIT;
	void *slots = m->slots;
	int r = rec_grow(m->allocator, &slots, &m->slot_capacity, (size_t)slot + 1, sizeof *m->slots);
	m->slots = slots;
	if (r)
		return r;
	for (; m->slot_count <= slot; m->slot_count++)
		m->slots[m->slot_count] = (struct slot){.running = NONE, .ahead = NONE, .next_free = NONE};
	return 0;
}

int rec_machine_slots(struct rec_machine *m, uint32_t count)
{
	int r = count ? rec_machine_slot_known(m, count - 1) : 0;
	if (r)
		return r;
	for (uint32_t i = count; i-- > 0;) {
		m->slots[i].usable = true;
		slot_offer(m, i);
	}
	return 0;
}

/* ---- Attempts ---- */

int rec_machine_attempt_reserve(struct rec_machine *m)
{
	if (m->attempt_free != NONE)
		return 0;
	void *attempts = m->attempts;
	int r = rec_grow(m->allocator, &attempts, &m->attempt_capacity, m->attempt_count + 1, sizeof *m->attempts);
	m->attempts = attempts;
	r = r ? r : rec_queue_reserve(&m->going, m->attempt_count + 1);
	if (r)
		return r;
	m->attempts[m->attempt_count] = (struct attempt){.task = NONE, .place = REC_QUEUE_OUT};
	m->attempt_free = (uint32_t)m->attempt_count++;
	return 0;
}

static void lane_take(struct rec_machine *m, struct attempt *a)
{
	struct slot *s = &m->slots[a->slot];
	uint32_t index = (uint32_t)(a - m->attempts);
	a->ahead = s->running != NONE;
	if (a->ahead) {
		s->ahead = index;
		m->ahead++;
	} else {
		s->running = index;
		m->occupied++;
	}
}

static void lane_leave(struct rec_machine *m, struct attempt *a)
{
	struct slot *s = &m->slots[a->slot];
	uint32_t index = (uint32_t)(a - m->attempts);
	if (s->running == index) {
		s->running = s->ahead;
		if (s->ahead == NONE) {
			m->occupied--;
		} else { /* the one ahead starts now, by itself */
			m->attempts[s->ahead].ahead = false;
			rec_machine_arm(m, &m->attempts[s->ahead]);
			m->ahead--;
		}
		s->ahead = NONE;
	} else if (s->ahead == index) {
		s->ahead = NONE;
		m->ahead--;
	}
}

struct attempt *rec_machine_attempt_new(struct rec_machine *m, struct task *t, uint32_t slot)
{
	assert(m->attempt_free != NONE && t->attempt_index == NONE);
	uint32_t index = m->attempt_free;
	struct attempt *a = &m->attempts[index];
	m->attempt_free = a->task;
	*a = (struct attempt){
		.task = task_index(m, t),
		.slot = slot,
		.place = REC_QUEUE_OUT,
		.deadline_us = NEVER,
		.cause = REC_WHY_COUNT,
	};
	t->attempt_index = index;
	m->live++;
	m->live_members += task_has(t, TASK_MEMBER);
	if (slot != NONE)
		lane_take(m, a);
	return a;
}

void rec_machine_attempt_over(struct rec_machine *m, struct attempt *a)
{
	if (a->slot == NONE)
		return;
	lane_leave(m, a);
	m->slots[a->slot].owed++;
	m->slots[a->slot].voided += a->stage == STAGE_VOIDED;
	slot_offer(m, a->slot);
}

void rec_machine_attempt_free(struct rec_machine *m, struct attempt *a)
{
	struct task *t = &m->tasks[a->task];
	if (a->place != REC_QUEUE_OUT)
		rec_queue_remove(&m->going, a->place);
	if (a->slot != NONE) {
		if (a->stage == STAGE_ENDED || a->stage == STAGE_VOIDED)
			m->slots[a->slot].owed--;
		else
			lane_leave(m, a);
		m->slots[a->slot].voided -= a->stage == STAGE_VOIDED;
		slot_offer(m, a->slot);
	}
	m->live--;
	m->live_members -= task_has(t, TASK_MEMBER);
	t->attempt_index = NONE;
	a->task = m->attempt_free;
	a->claim_id = 0;
	m->attempt_free = (uint32_t)(a - m->attempts);
}

uint32_t rec_machine_attempts(const struct rec_machine *m)
{
	return m->live;
}
