/* machine-link.c - what depends on what. The list of a task's dependencies is kept forward here (for "is it met?") and
 * backward in the graph (for "who waits for it?"), which also finds the rings. */
#include <stdlib.h>

#include "core/machine-private.h"

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

int rec_machine_depends(struct rec_machine *m, uint32_t task, const uint32_t *on, size_t count, bool unreadable)
{
	struct dependencies *d = &m->dependencies;
	if (count > UINT32_MAX - d->count)
		return REC_E_LIMIT;
	void *items = d->items;
	int r = rec_grow(m->allocator, &items, &d->capacity, d->count + count, sizeof *d->items);
	d->items = items;
	if (r)
		return r;
	struct task *t = &m->tasks[task];
	uint32_t *own = d->items + d->count;
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		own[i] = on[i];
	qsort(own, count, sizeof *own, ascending);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || own[kept - 1] != own[i])
			own[kept++] = own[i];
	t->deps_first = (uint32_t)d->count;
	t->deps_count = (uint32_t)kept;
	task_set(t, TASK_UNREADABLE, unreadable);
	task_set(t, TASK_RELINK, true);
	d->count += kept;
	return 0;
}

const uint32_t *rec_machine_dependencies(const struct rec_machine *m, uint32_t task, uint32_t *ret_count)
{
	const struct task *t = &m->tasks[task];
	*ret_count = t->deps_count;
	return m->dependencies.items ? m->dependencies.items + t->deps_first : NULL;
}

bool rec_machine_linked(const struct rec_machine *m, uint32_t task)
{
	return !task_has(&m->tasks[task], TASK_RELINK);
}

bool rec_machine_unreadable(const struct rec_machine *m, uint32_t task)
{
	return task_has(&m->tasks[task], TASK_UNREADABLE);
}

uint32_t rec_machine_unmet(const struct rec_machine *m, uint32_t task)
{
	uint32_t count;
	const uint32_t *on = rec_machine_dependencies(m, task, &count);
	for (uint32_t i = 0; i < count; i++)
		if (!rec_machine_is_met(&m->tasks[on[i]]))
			return on[i];
	return NONE;
}

uint32_t rec_machine_unmet_count(const struct rec_machine *m, uint32_t task)
{
	uint32_t count, unmet = 0;
	const uint32_t *on = rec_machine_dependencies(m, task, &count);
	for (uint32_t i = 0; i < count; i++)
		unmet += !rec_machine_is_met(&m->tasks[on[i]]);
	return unmet;
}

static bool holds(const uint32_t *members, uint32_t count, uint32_t task)
{
	for (uint32_t i = 0; i < count; i++)
		if (members[i] == task)
			return true;
	return false;
}

const uint32_t *rec_machine_ring(const struct rec_machine *m, uint32_t task, uint32_t *ret_count)
{
	for (uint32_t k = 0; m->graph && k < rec_graph_ring_count(m->graph); k++) {
		const uint32_t *members = rec_graph_ring(m->graph, k, ret_count);
		if (holds(members, *ret_count, task))
			return members;
	}
	*ret_count = 0;
	return NULL;
}

/* ---- Linking ---- */

/* Drops what was replaced, once it is more than what counts. */
static int compact(struct rec_machine *m)
{
	struct dependencies *d = &m->dependencies, packed = {0};
	size_t live = 0;
	for (size_t i = 0; i < m->count; i++)
		live += m->tasks[i].deps_count;
	if (d->count <= 2 * live + 64)
		return 0;
	void *items = NULL;
	int r = rec_grow(m->allocator, &items, &packed.capacity, live, sizeof *packed.items);
	if (r)
		return r;
	packed.items = items;
	for (size_t i = 0; i < m->count; i++) {
		struct task *t = &m->tasks[i];
		for (uint32_t k = 0; k < t->deps_count; k++)
			packed.items[packed.count + k] = d->items[t->deps_first + k];
		t->deps_first = (uint32_t)packed.count;
		packed.count += t->deps_count;
	}
	rec_free(m->allocator, d->items);
	*d = packed;
	return 0;
}

static int graph_make(const struct rec_machine *m, struct rec_graph **ret_graph)
{
	struct rec_graph *graph = NULL;
	int r = rec_graph_new(m->allocator, (uint32_t)m->count, &graph);
	for (uint32_t i = 0; !r && i < m->count; i++) {
		uint32_t count;
		const uint32_t *on = rec_machine_dependencies(m, i, &count);
		for (uint32_t k = 0; !r && k < count; k++)
			r = rec_graph_add(graph, i, on[k]);
	}
	r = r ? r : rec_graph_analyse(graph);
	if (r)
		rec_graph_free(graph);
	else
		*ret_graph = graph;
	return r;
}

/* A ring is told when one of its members is not known as such. */
static int rings_tell(struct rec_machine *m)
{
	for (uint32_t k = 0; k < rec_graph_ring_count(m->graph); k++) {
		uint32_t count, known = 0;
		const uint32_t *members = rec_graph_ring(m->graph, k, &count);
		for (uint32_t i = 0; i < count; i++)
			known += task_has(&m->tasks[members[i]], TASK_RING);
		if (known == count)
			continue;
		int r = rec_machine_room_for(m, REC_EFFECT_EVENT, 1);
		if (r)
			return r;
		rec_machine_emit(m, REC_EFFECT_EVENT, REC_WHY_RING, &m->tasks[members[0]]);
	}
	return 0;
}

/* From the wall clock, which may have been set since, to ours: never longer than any delay can be. */
static void due_by_our_clock(struct rec_machine *m, struct rec_now now, struct task *t)
{
	int64_t rest_us = t->due_us > now.wall_us ? t->due_us - now.wall_us : 0;
	if (rest_us > REC_RETRY_CAP_US)
		rest_us = REC_RETRY_CAP_US;
	t->due_us = rest_us ? now.monotonic_us + rest_us : 0;
	task_set(t, TASK_UNLINKED, false);
	if (t->due_us && t->phase == REC_PHASE_WAITING)
		rec_queue_add(&m->timed, task_index(m, t));
}

static int task_link(struct rec_machine *m, struct rec_now now, uint32_t index)
{
	struct task *t = &m->tasks[index];
	bool ring = rec_graph_in_ring(m->graph, index);
	if (task_has(t, TASK_UNLINKED))
		due_by_our_clock(m, now, t);
	if (!task_has(t, TASK_RELINK) && ring == task_has(t, TASK_RING) &&
	    t->unmet == rec_machine_unmet_count(m, index))
		return 0;
	task_set(t, TASK_RING, ring);
	int r = rec_machine_dispatch(m, now, &(struct rec_machine_event){.kind = REC_ON_LINKED, .task = index});
	if (!r)
		task_set(t, TASK_RELINK, false);
	return r;
}

int rec_machine_link(struct rec_machine *m, struct rec_now now)
{
	struct rec_graph *graph;
	int r = compact(m);
	r = r ? r : graph_make(m, &graph);
	if (r)
		return r;
	rec_graph_free(m->graph);
	m->graph = graph;
	m->graph_count = (uint32_t)m->count;
	r = rings_tell(m);
	for (uint32_t i = 0; !r && i < m->count; i++)
		r = task_link(m, now, i);
	return r;
}
