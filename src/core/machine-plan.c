/* machine-plan.c - from state to what is to be done: effects in their buckets, claims for free slots, the timer, the
 * end of the batch.
 *
 * There are two plans: `current` collects, `taken` is in the driver's hands. While the store is out of order only the
 * buckets about processes are handed out; what is meant for the store stays in `current`. */
#include "core/machine-private.h"

/* ---- Effects ---- */

int rec_machine_room_for(struct rec_machine *m, enum rec_effect_kind kind, size_t count)
{
	struct rec_effects *bucket = &m->current.buckets[kind];
	if (bucket->capacity - bucket->count >= count)
		return 0;
	void *items = bucket->items;
	int r = rec_grow(m->allocator, &items, &bucket->capacity, bucket->count + count, sizeof *bucket->items);
	bucket->items = items;
	return r;
}

int rec_machine_room(struct rec_machine *m, size_t each)
{
	int r = 0;
	for (unsigned kind = 0; !r && kind < REC_EFFECT_COUNT; kind++)
		r = rec_machine_room_for(m, (enum rec_effect_kind)kind, each);
	return r;
}

struct rec_effect *rec_machine_emit(struct rec_machine *m, enum rec_effect_kind kind, enum rec_why why,
				    const struct task *t)
{
	struct rec_effects *bucket = &m->current.buckets[kind];
	struct rec_effect *effect = &bucket->items[bucket->count++];
	m->current.count++;
	*effect = (struct rec_effect){
		.kind = (uint8_t)kind,
		.why = (uint8_t)why,
		.cause = REC_WHY_COUNT,
		.task = task_index(m, t),
		.slot = NONE,
		.attempt = t->attempt,
	};
	return effect;
}

struct rec_effect *rec_machine_emit_for(struct rec_machine *m, enum rec_effect_kind kind, enum rec_why why,
					const struct attempt *a)
{
	struct rec_effect *effect = rec_machine_emit(m, kind, why, &m->tasks[a->task]);
	effect->slot = a->slot;
	effect->claim_id = a->claim_id;
	return effect;
}

/* ---- The operator ---- */

void rec_machine_drain(struct rec_machine *m)
{
	m->drained = true;
}

int rec_machine_force(struct rec_machine *m, struct rec_now now)
{
	m->drained = m->forced = true;
	for (size_t i = 0; i < m->attempt_count; i++) {
		const struct attempt *a = &m->attempts[i];
		if (!a->claim_id || (!m->forced_all && !task_has(&m->tasks[a->task], TASK_MEMBER)))
			continue; /* what a dead conductor of another batch left goes on without us */
		int r = rec_machine_dispatch(m, now,
					     &(struct rec_machine_event){.kind = REC_ON_FORCED, .task = a->task});
		if (r)
			return r;
	}
	return 0;
}

int rec_machine_force_all(struct rec_machine *m, struct rec_now now)
{
	m->forced_all = true;
	return rec_machine_force(m, now);
}

/* ---- Claims ---- */

static bool starts_nothing(const struct rec_machine *m)
{
	return m->drained || m->failure_stop;
}

static bool store_pauses(const struct rec_machine *m, struct rec_now now)
{
	return now.monotonic_us < m->store_resume_us;
}

/* An end that may be the final failure is on its way to the store: whether anything starts is known when it is there.
 */
static bool failure_is_near(const struct rec_machine *m)
{
	if (!m->options.stop_on_failure)
		return false;
	for (size_t i = 0; i < m->attempt_count; i++) {
		const struct attempt *a = &m->attempts[i];
		if (a->claim_id && a->stage == STAGE_ENDED && a->ending.member && a->ending.to == REC_FAILED)
			return true;
	}
	return false;
}

/* With stop_on_failure nothing is claimed ahead: its start would not wait for the end before it to be known. */
static uint32_t slot_for_next(struct rec_machine *m)
{
	if (m->occupied < m->options.max_parallel) {
		uint32_t slot = rec_machine_slot_free(m);
		if (slot != NONE)
			return slot;
	}
	return m->options.no_ahead || m->options.stop_on_failure ? NONE : rec_machine_slot_ahead(m);
}

static int claims_plan(struct rec_machine *m, struct rec_now now)
{
	if (starts_nothing(m) || store_pauses(m, now) || now.monotonic_us < m->claim_resume_us || failure_is_near(m))
		return 0;
	while (m->ready.count) {
		struct rec_machine_event e = {.kind = REC_ON_TURN, .task = rec_queue_first(&m->ready)};
		e.slot = slot_for_next(m);
		if (e.slot == NONE)
			return 0;
		int r = rec_machine_attempt_reserve(m);
		r = r ? r : rec_machine_dispatch(m, now, &e);
		if (r)
			return r;
	}
	return 0;
}

/* A task must not wait behind another while a slot is idle, nor when nothing is to start any more. */
static int recalls_plan(struct rec_machine *m, struct rec_now now)
{
	bool room = m->occupied < m->options.max_parallel && rec_machine_slot_free(m) != NONE && !m->ready.count;
	if (!m->ahead || (!room && !starts_nothing(m)))
		return 0;
	for (size_t i = 0; i < m->slot_count; i++) {
		if (m->slots[i].ahead == NONE)
			continue;
		struct rec_machine_event e = {.kind = REC_ON_RECALL_DUE, .task = m->attempts[m->slots[i].ahead].task};
		int r = m->tasks[e.task].phase == REC_PHASE_CLAIMING ? rec_machine_dispatch(m, now, &e) : 0;
		if (r)
			return r;
	}
	return 0;
}

/* ---- The end ---- */

/* Nothing runs and nothing can run: what waits, waits for what will not come. */
static int stuck_plan(struct rec_machine *m, struct rec_now now)
{
	if (m->able || m->options.wait || starts_nothing(m) || !m->phases[REC_PHASE_WAITING])
		return 0;
	unsigned found = 0;
	for (size_t seen = 0; seen < m->count && found < STUCK_AT_ONCE; seen++) {
		m->stuck_cursor = m->stuck_cursor + 1 < m->count ? m->stuck_cursor + 1 : 0;
		const struct task *t = &m->tasks[m->stuck_cursor];
		if (t->phase != REC_PHASE_WAITING || !task_has(t, TASK_MEMBER))
			continue;
		found++;
		int r = rec_machine_dispatch(
			m, now, &(struct rec_machine_event){.kind = REC_ON_STUCK, .task = m->stuck_cursor});
		if (r)
			return r;
	}
	return 0;
}

static bool has_ended(const struct rec_machine *m)
{
	if (m->current.count)
		return false;
	if (m->drained)
		return (m->forced_all ? m->live : m->live_members) == 0;
	if (m->failure_stop)
		return m->live == 0;
	if (m->options.wait && m->phases[REC_PHASE_FINISHED] + m->deleted < rec_machine_members(m))
		return false; /* a deleted task will never be terminal: nobody waits for it */
	return m->able == 0;
}

static enum rec_batch_status outcome_of(const struct rec_machine *m)
{
	if (!has_ended(m))
		return REC_BATCH_RUNNING;
	uint64_t unstarted = m->phases[REC_PHASE_WAITING] + m->phases[REC_PHASE_QUEUED];
	if (unstarted && m->drained)
		return REC_BATCH_CANCELLED;
	return unstarted || m->phases[REC_PHASE_HELD] || m->failed ? REC_BATCH_PARTIAL : REC_BATCH_COMPLETED;
}

/* ---- The plan ---- */

static void earlier(int64_t *timer_us, int64_t at_us)
{
	if (at_us < *timer_us)
		*timer_us = at_us;
}

static int64_t timer_of(const struct rec_machine *m, struct rec_now now)
{
	int64_t timer_us = NEVER;
	uint32_t task = rec_queue_first(&m->timed), attempt = rec_queue_first(&m->going);
	if (task != REC_QUEUE_OUT)
		earlier(&timer_us, m->tasks[task].due_us);
	if (attempt != REC_QUEUE_OUT)
		earlier(&timer_us, m->attempts[attempt].deadline_us);
	if (store_pauses(m, now))
		earlier(&timer_us, m->store_resume_us);
	if (now.monotonic_us < m->claim_resume_us && m->ready.count && !starts_nothing(m))
		earlier(&timer_us, m->claim_resume_us);
	return timer_us;
}

/* Nothing of that kind is in the driver's hands any more. */
static void bucket_hand_out(struct rec_machine *m, unsigned kind)
{
	struct rec_effects *collected = &m->current.buckets[kind], *handed = &m->taken.buckets[kind];
	struct rec_effects swapped = *handed;
	swapped.count = 0;
	*handed = *collected;
	*collected = swapped;
	m->current.count -= handed->count;
}

static void taken_count(struct rec_machine *m)
{
	m->taken.count = 0;
	for (unsigned kind = 0; kind < REC_EFFECT_COUNT; kind++)
		m->taken.count += m->taken.buckets[kind].count;
}

static void hand_out(struct rec_machine *m, bool with_store)
{
	for (unsigned kind = 0; kind < REC_EFFECT_COUNT; kind++)
		if (kind < REC_EFFECT_STORE || with_store)
			bucket_hand_out(m, kind);
		else
			m->taken.buckets[kind].count = 0;
	taken_count(m);
}

int rec_machine_plan(struct rec_machine *m, struct rec_now now, const struct rec_plan **ret_plan)
{
	if (m->armed_us != NEVER && now.monotonic_us > m->armed_us + SUSPENDED_US)
		rec_machine_freshen(m, now);
	m->armed_us = NEVER;
	int r = rec_machine_tick(m, now);
	r = r ? r : claims_plan(m, now);
	r = r ? r : recalls_plan(m, now);
	r = r ? r : stuck_plan(m, now);
	if (r)
		return r;
	m->taken.outcome = outcome_of(m);
	hand_out(m, !store_pauses(m, now));
	m->armed_us = m->taken.timer_us = timer_of(m, now);
	*ret_plan = &m->taken;
	return 0;
}

int rec_machine_plan_processes(struct rec_machine *m, struct rec_now now, const struct rec_plan **ret_plan)
{
	int r = rec_machine_tick(m, now);
	if (r)
		return r;
	for (unsigned kind = 0; kind < REC_EFFECT_STORE; kind++)
		bucket_hand_out(m, kind);
	taken_count(m);
	m->taken.outcome = REC_BATCH_RUNNING;
	m->armed_us = m->taken.timer_us = timer_of(m, now);
	*ret_plan = &m->taken;
	return 0;
}

void rec_machine_stored(struct rec_machine *m)
{
	m->store_pause_us = 0;
	for (unsigned kind = REC_EFFECT_STORE; kind < REC_EFFECT_COUNT; kind++)
		m->taken.buckets[kind].count = 0;
}

static int claims_unplan(struct rec_machine *m, struct rec_now now)
{
	struct rec_effects *claims = &m->taken.buckets[REC_EFFECT_CLAIM];
	while (claims->count) {
		uint32_t task = claims->items[claims->count - 1].task;
		int r = rec_machine_handle(m, now,
					   &(struct rec_machine_event){.kind = REC_ON_CLAIM_FAILED, .task = task});
		if (r)
			return r;
		claims->count--;
	}
	return 0;
}

int rec_machine_failed(struct rec_machine *m, struct rec_now now)
{
	int r = claims_unplan(m, now);
	if (r)
		return r;
	for (unsigned kind = REC_EFFECT_STORE; kind < REC_EFFECT_COUNT; kind++) {
		struct rec_effects *handed = &m->taken.buckets[kind], *collected = &m->current.buckets[kind];
		r = rec_machine_room_for(m, (enum rec_effect_kind)kind, handed->count);
		if (r)
			return r;
		for (size_t i = 0; i < handed->count; i++) {
			collected->items[collected->count] = handed->items[i];
			collected->items[collected->count++].tried = true;
		}
		m->current.count += handed->count;
		handed->count = 0;
	}
	m->store_pause_us = m->store_pause_us ? m->store_pause_us * 2 : STORE_PAUSE_FIRST_US;
	if (m->store_pause_us > STORE_PAUSE_MAX_US)
		m->store_pause_us = STORE_PAUSE_MAX_US;
	m->store_resume_us = now.monotonic_us + m->store_pause_us;
	return 0;
}

int64_t rec_machine_store_resume_us(const struct rec_machine *m)
{
	return m->store_resume_us;
}

/* ---- Showing it ---- */

static void effect_write(struct rec_buffer *out, const struct rec_machine *m, const struct rec_effect *e)
{
	struct rec_slice id = rec_machine_id(m, e->task);
	rec_buffer_printf(out, "%s %.*s", rec_effect_text((enum rec_effect_kind)e->kind), (int)id.length, id.data);
	if (e->slot != NONE)
		rec_buffer_printf(out, " slot %u", e->slot);
	if (e->claim_id)
		rec_buffer_printf(out, " claim %lld", (long long)e->claim_id);
	if (e->kind == REC_EFFECT_STOP)
		rec_buffer_add_text(out, e->signal == 2 ? " KILL" : " TERM");
	if (e->kind == REC_EFFECT_FINISH || e->kind == REC_EFFECT_REQUEUE)
		rec_buffer_printf(out, " %s", rec_status_text((enum rec_status)e->status));
	if (e->kind == REC_EFFECT_HOLD)
		rec_buffer_printf(out, " (%s)", rec_hold_text((enum rec_hold)e->hold));
	rec_buffer_printf(out, ": %s\n", rec_why_text((enum rec_why)e->why));
}

int rec_plan_write(struct rec_buffer *out, const struct rec_machine *m, const struct rec_plan *plan)
{
	for (unsigned kind = 0; kind < REC_EFFECT_COUNT; kind++)
		for (size_t i = 0; i < plan->buckets[kind].count; i++)
			effect_write(out, m, &plan->buckets[kind].items[i]);
	if (plan->timer_us != NEVER)
		rec_buffer_printf(out, "timer %lld\n", (long long)plan->timer_us);
	return out->failed;
}
