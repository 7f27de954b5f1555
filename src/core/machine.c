/* machine.c - what the machine is made of: tasks, their ids, their dependencies, and questions about them. */
#include "core/machine.h"

#include "core/machine-private.h"

/* ---- Names ---- */

#define TEXT(name, text) text,
static const char *const phase_texts[] = {REC_PHASES(TEXT)};
static const char *const happening_texts[] = {REC_HAPPENINGS(TEXT)};
static const char *const hold_texts[] = {REC_HOLDS(TEXT)};
static const char *const why_texts[] = {REC_WHYS(TEXT)};
static const char *const effect_texts[] = {REC_EFFECTS(TEXT)};
#undef TEXT

const char *rec_phase_text(enum rec_phase phase)
{
	return (unsigned)phase < REC_PHASE_COUNT ? phase_texts[phase] : "?";
}

const char *rec_happening_text(enum rec_happening happening)
{
	return (unsigned)happening < REC_HAPPENING_COUNT ? happening_texts[happening] : "?";
}

const char *rec_hold_text(enum rec_hold hold)
{
	return (unsigned)hold < REC_HOLD_COUNT ? hold_texts[hold] : "?";
}

const char *rec_why_text(enum rec_why why)
{
	return (unsigned)why < REC_WHY_COUNT ? why_texts[why] : "?";
}

const char *rec_effect_text(enum rec_effect_kind kind)
{
	return (unsigned)kind < REC_EFFECT_COUNT ? effect_texts[kind] : "?";
}

/* ---- Making ---- */

/* The order in which tasks get their turn. */
static bool ready_before(const void *context, uint32_t a, uint32_t b)
{
	const struct rec_machine *m = context;
	const struct task *x = &m->tasks[a], *y = &m->tasks[b];
	if (x->priority != y->priority)
		return x->priority < y->priority;
	if (x->created_us != y->created_us)
		return x->created_us < y->created_us;
	return rec_slice_compare(m->ids[a], m->ids[b]) < 0;
}

static bool due_before(const void *context, uint32_t a, uint32_t b)
{
	const struct rec_machine *m = context;
	return m->tasks[a].due_us != m->tasks[b].due_us ? m->tasks[a].due_us < m->tasks[b].due_us : a < b;
}

static void task_placed(void *context, uint32_t item, uint32_t place)
{
	((struct rec_machine *)context)->tasks[item].place = place;
}

static bool deadline_before(const void *context, uint32_t a, uint32_t b)
{
	const struct rec_machine *m = context;
	const struct attempt *x = &m->attempts[a], *y = &m->attempts[b];
	return x->deadline_us != y->deadline_us ? x->deadline_us < y->deadline_us : a < b;
}

static void attempt_placed(void *context, uint32_t item, uint32_t place)
{
	((struct rec_machine *)context)->attempts[item].place = place;
}

int rec_machine_new(const struct rec_machine_options *options, struct rec_machine **ret_machine,
		    struct rec_error *error)
{
	if (options->max_parallel == 0 || options->settle_us < 0 || options->grace_us < 0 ||
	    options->retry_delay_us < 0 || options->timeout_us < 0 || options->stall_timeout_us < 0 ||
	    options->retries > UINT16_MAX)
		return rec_fail(error, REC_E_INVALID, "batch options: out of range");
	struct rec_machine *m = rec_zalloc(options->allocator, 1, sizeof *m);
	if (!m)
		return rec_fail_nomem(error);
	m->allocator = options->allocator;
	m->options = *options;
	m->random.state = options->seed;
	m->attempt_free = m->slot_free = NONE;
	m->armed_us = NEVER;
	rec_arena_init(&m->arena, m->allocator);
	rec_idmap_init(&m->map, m->allocator, options->seed);
	rec_queue_init(&m->ready, m->allocator, ready_before, task_placed, m);
	rec_queue_init(&m->timed, m->allocator, due_before, task_placed, m);
	rec_queue_init(&m->going, m->allocator, deadline_before, attempt_placed, m);
	*ret_machine = m;
	return 0;
}

struct rec_machine *rec_machine_free(struct rec_machine *m)
{
	if (!m)
		return NULL;
	for (unsigned kind = 0; kind < REC_EFFECT_COUNT; kind++) {
		rec_free(m->allocator, m->current.buckets[kind].items);
		rec_free(m->allocator, m->taken.buckets[kind].items);
	}
	rec_queue_release(&m->ready);
	rec_queue_release(&m->timed);
	rec_queue_release(&m->going);
	rec_graph_free(m->graph);
	rec_idmap_release(&m->map);
	rec_arena_release(&m->arena);
	rec_free(m->allocator, m->dependencies.items);
	rec_free(m->allocator, m->attempts);
	rec_free(m->allocator, m->slots);
	rec_free(m->allocator, m->tasks);
	rec_free(m->allocator, m->ids);
	return rec_free(m->allocator, m);
}

static int task_reserve(struct rec_machine *m)
{
	if (m->count >= NONE - 1)
		return REC_E_LIMIT;
	void *tasks = m->tasks, *ids = m->ids;
	int r = rec_grow(m->allocator, &tasks, &m->task_capacity, m->count + 1, sizeof *m->tasks);
	m->tasks = tasks;
	r = r ? r : rec_grow(m->allocator, &ids, &m->id_capacity, m->count + 1, sizeof *m->ids);
	m->ids = ids;
	r = r ? r : rec_queue_reserve(&m->ready, m->count + 1);
	return r ? r : rec_queue_reserve(&m->timed, m->count + 1);
}

int rec_machine_add(struct rec_machine *m, const struct rec_machine_task *task, uint32_t *ret_index)
{
	uint32_t found = rec_machine_find(m, task->id);
	if (found != NONE) {
		*ret_index = found;
		return REC_EXISTS;
	}
	int r = task_reserve(m);
	char *id = r ? NULL : rec_arena_strndup(&m->arena, task->id.data, task->id.length);
	if (r || !id)
		return r ? r : REC_E_NOMEM;
	uint32_t index = (uint32_t)m->count, first;
	m->ids[index] = (struct rec_slice){id, task->id.length};
	r = rec_idmap_add(&m->map, m->ids, index, &first);
	if (r)
		return r;
	m->tasks[index] = (struct task){
		.created_us = task->created_us,
		.due_us = task->not_before_us, /* by the wall; rec_machine_link knows the time */
		.place = REC_QUEUE_OUT,
		.attempt_index = NONE,
		.attempt = task->attempt,
		.priority = task->priority,
		.failures = task->failures,
		.again = task->again,
		.lost = task->lost,
		.phase = REC_PHASE_WAITING,
		.stored = REC_STATUS_ABSENT,
		.flags = (uint16_t)(TASK_RELINK | TASK_UNLINKED | TASK_NEW |
				    (task->member ? TASK_MEMBER | TASK_UNSEEN : 0) | (task->own ? TASK_OWN : 0) |
				    (task->finished ? TASK_BEFORE : 0)),
	};
	m->count++;
	m->able++;
	m->phases[REC_PHASE_WAITING] += task->member;
	*ret_index = index;
	return 0;
}

int rec_machine_join(struct rec_machine *m, struct rec_now now, uint32_t task)
{
	return rec_machine_dispatch(m, now, &(struct rec_machine_event){.kind = REC_ON_JOINED, .task = task});
}

void rec_machine_describe(struct rec_machine *m, uint32_t task, int32_t priority, int64_t created_us)
{
	struct task *t = &m->tasks[task];
	t->priority = priority;
	t->created_us = created_us;
	if (t->phase == REC_PHASE_QUEUED)
		rec_queue_moved(&m->ready, t->place);
}

/* ---- Questions ---- */

uint32_t rec_machine_count(const struct rec_machine *m)
{
	return (uint32_t)m->count;
}

uint64_t rec_machine_members(const struct rec_machine *m)
{
	uint64_t members = 0;
	for (unsigned phase = 0; phase < REC_PHASE_COUNT; phase++)
		members += m->phases[phase];
	return members;
}

uint32_t rec_machine_find(const struct rec_machine *m, struct rec_slice id)
{
	return rec_idmap_find(&m->map, m->ids, id);
}

struct rec_slice rec_machine_id(const struct rec_machine *m, uint32_t task)
{
	return m->ids[task];
}

bool rec_machine_member(const struct rec_machine *m, uint32_t task)
{
	return task_has(&m->tasks[task], TASK_MEMBER);
}

enum rec_phase rec_machine_phase(const struct rec_machine *m, uint32_t task)
{
	return (enum rec_phase)m->tasks[task].phase;
}

enum rec_status rec_machine_belief(const struct rec_machine *m, uint32_t task)
{
	const struct task *t = &m->tasks[task];
	if (t->attempt_index != NONE)
		return task_attempt(m, t)->claim_id ? REC_IN_PROGRESS : REC_READY;
	if (!task_has(t, TASK_MEMBER))
		return REC_STATUS_ABSENT;
	if (t->phase != REC_PHASE_HELD && t->phase != REC_PHASE_FINISHED)
		return REC_READY;
	return t->outcome == REC_STATUS_UNRECOGNISED ? REC_STATUS_ABSENT : (enum rec_status)t->outcome;
}

enum rec_hold rec_machine_hold(const struct rec_machine *m, uint32_t task)
{
	return (enum rec_hold)m->tasks[task].hold;
}

uint32_t rec_machine_commits(const struct rec_machine *m, uint32_t task)
{
	return m->tasks[task].commits;
}

uint32_t rec_machine_attempt(const struct rec_machine *m, uint32_t task)
{
	return m->tasks[task].attempt;
}

int64_t rec_machine_claim(const struct rec_machine *m, uint32_t task)
{
	const struct task *t = &m->tasks[task];
	return t->attempt_index != NONE ? task_attempt(m, t)->claim_id : 0;
}

bool rec_machine_runs(const struct rec_machine *m)
{
	return m->occupied || m->ahead;
}

struct rec_machine_counts rec_machine_counts(const struct rec_machine *m)
{
	const uint64_t *phases = m->phases;
	return (struct rec_machine_counts){
		.waiting = phases[REC_PHASE_WAITING],
		.queued = phases[REC_PHASE_QUEUED],
		.running = phases[REC_PHASE_CLAIMING] + phases[REC_PHASE_RUNNING] + phases[REC_PHASE_STOPPING],
		.held = phases[REC_PHASE_HELD],
		.done = m->done,
		.failed = m->failed,
		.skipped = m->skipped,
	};
}

struct rec_reconciled rec_machine_reconciled(const struct rec_machine *m)
{
	return m->reconciled;
}

bool rec_machine_waits_elsewhere(const struct rec_machine *m)
{
	return m->elsewhere > 0;
}
