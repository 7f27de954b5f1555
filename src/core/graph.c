/* graph.c - rings by Tarjan's algorithm with the call stack kept in arrays.
 *
 * Edges are collected as pairs, then turned into two lists per node (compressed rows): by counting sort
 * into dependents, without duplicates, and from those into dependencies. Both come out in ascending order.
 */
#include "core/graph.h"

#include <string.h>

#define NONE UINT32_MAX
#define UNNUMBERED (UINT32_MAX - 1) /* a ring that has no number yet */

/* Lists of numbers, one per node: those of node n are items[start[n]] to items[start[n + 1] - 1]. */
struct rows {
	uint32_t *start, *items;
};

struct edge {
	uint32_t from, to;
};

struct rec_graph {
	const struct rec_allocator *allocator;
	uint32_t node_count;
	struct edge *edges; /* until rec_graph_analyse */
	size_t edge_count, edge_capacity;
	struct rows dependents, rings; /* after it */
	uint32_t ring_count;
	uint32_t *ring_of; /* NONE: in no ring */
};

static void rows_release(const struct rec_allocator *a, struct rows *rows)
{
	rows->start = rec_free(a, rows->start);
	rows->items = rec_free(a, rows->items);
}

/* Room for `count` lists with `item_count` numbers together; start[] is zeroed. */
static int rows_init(const struct rec_allocator *a, struct rows *rows, uint32_t count, size_t item_count)
{
	rows->start = rec_zalloc(a, (size_t)count + 1, sizeof *rows->start);
	rows->items = rec_zalloc(a, item_count, sizeof *rows->items);
	if (rows->start && rows->items)
		return 0;
	rows_release(a, rows);
	return REC_E_NOMEM;
}

/* start[n] holds the length of list n; afterwards where it begins, and start[count] where the last ends. */
static void rows_place(struct rows *rows, uint32_t count)
{
	uint32_t at = 0;
	for (uint32_t n = 0; n <= count; n++) {
		uint32_t length = rows->start[n];
		rows->start[n] = at;
		at += length;
	}
}

/* After filling by start[n]++ every start is the next one's beginning: move them back by one. */
static void rows_filled(struct rows *rows, uint32_t count)
{
	memmove(rows->start + 1, rows->start, count * sizeof *rows->start);
	rows->start[0] = 0;
}

/* The same pairs seen from the other side: item i in list n becomes item n in list i. */
static int rows_turn(const struct rec_allocator *a, const struct rows *rows, uint32_t count, struct rows *ret_turned)
{
	struct rows turned;
	int r = rows_init(a, &turned, count, rows->start[count]);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < rows->start[count]; i++)
		turned.start[rows->items[i]]++;
	rows_place(&turned, count);
	for (uint32_t n = 0; n < count; n++)
		for (uint32_t i = rows->start[n]; i < rows->start[n + 1]; i++)
			turned.items[turned.start[rows->items[i]]++] = n;
	rows_filled(&turned, count);
	*ret_turned = turned;
	return 0;
}

/* Drops equal neighbours in every list. */
static void rows_unique(struct rows *rows, uint32_t count)
{
	uint32_t kept = 0, begin = 0;
	for (uint32_t n = 0; n < count; n++) {
		uint32_t end = rows->start[n + 1], first = kept;
		for (uint32_t i = begin; i < end; i++)
			if (kept == first || rows->items[kept - 1] != rows->items[i])
				rows->items[kept++] = rows->items[i];
		begin = end;
		rows->start[n + 1] = kept;
	}
}

int rec_graph_new(const struct rec_allocator *a, uint32_t node_count, struct rec_graph **ret_graph)
{
	if (node_count >= UNNUMBERED)
		return REC_E_LIMIT;
	struct rec_graph *g = rec_zalloc(a, 1, sizeof *g);
	if (!g)
		return REC_E_NOMEM;
	g->allocator = a;
	g->node_count = node_count;
	*ret_graph = g;
	return 0;
}

struct rec_graph *rec_graph_free(struct rec_graph *g)
{
	if (!g)
		return NULL;
	rec_free(g->allocator, g->edges);
	rows_release(g->allocator, &g->dependents);
	rows_release(g->allocator, &g->rings);
	rec_free(g->allocator, g->ring_of);
	return rec_free(g->allocator, g);
}

int rec_graph_add(struct rec_graph *g, uint32_t from, uint32_t to)
{
	if (from >= g->node_count || to >= g->node_count || g->ring_of)
		return REC_E_INVALID;
	if (g->edge_count == NONE)
		return REC_E_LIMIT;
	void *edges = g->edges;
	int r = rec_grow(g->allocator, &edges, &g->edge_capacity, g->edge_count + 1, sizeof *g->edges);
	if (r < 0)
		return r;
	g->edges = edges;
	g->edges[g->edge_count++] = (struct edge){from, to};
	return 0;
}

/* The collected pairs as lists by `from`, in the order they came. */
static int edges_to_rows(const struct rec_graph *g, struct rows *ret_rows)
{
	struct rows rows;
	int r = rows_init(g->allocator, &rows, g->node_count, g->edge_count);
	if (r < 0)
		return r;
	for (size_t e = 0; e < g->edge_count; e++)
		rows.start[g->edges[e].from]++;
	rows_place(&rows, g->node_count);
	for (size_t e = 0; e < g->edge_count; e++)
		rows.items[rows.start[g->edges[e].from]++] = g->edges[e].to;
	rows_filled(&rows, g->node_count);
	*ret_rows = rows;
	return 0;
}

static int dependents_build(const struct rec_graph *g, struct rows *ret_dependents)
{
	struct rows rows;
	int r = edges_to_rows(g, &rows);
	if (r < 0)
		return r;
	r = rows_turn(g->allocator, &rows, g->node_count, ret_dependents);
	rows_release(g->allocator, &rows);
	if (r == 0)
		rows_unique(ret_dependents, g->node_count);
	return r;
}

/* ---- Tarjan ---- */

struct search {
	const struct rows *edges;
	uint32_t *order;     /* when a node was reached, from 1; 0: not yet */
	uint32_t *low;       /* the earliest node on the stack that it reaches */
	uint32_t *component; /* its component is named by the member reached first; NONE: not known yet */
	uint32_t *next;      /* the edge to follow next */
	uint32_t *stack;     /* reached, component not known yet */
	uint32_t *path;      /* what would be the call stack */
	uint32_t stack_count, path_count, reached;
};

static void enter(struct search *s, uint32_t node)
{
	s->order[node] = s->low[node] = ++s->reached;
	s->next[node] = s->edges->start[node];
	s->stack[s->stack_count++] = node;
	s->path[s->path_count++] = node;
}

static void leave(struct search *s, uint32_t node)
{
	s->path_count--;
	if (s->low[node] == s->order[node]) {
		uint32_t member;
		do {
			member = s->stack[--s->stack_count];
			s->component[member] = node;
		} while (member != node);
	}
	if (s->path_count) {
		uint32_t caller = s->path[s->path_count - 1];
		if (s->low[node] < s->low[caller])
			s->low[caller] = s->low[node];
	}
}

static void follow(struct search *s, uint32_t node, uint32_t to)
{
	if (!s->order[to])
		enter(s, to);
	else if (s->component[to] == NONE && s->order[to] < s->low[node])
		s->low[node] = s->order[to];
}

static void search_from(struct search *s, uint32_t root)
{
	enter(s, root);
	while (s->path_count) {
		uint32_t node = s->path[s->path_count - 1];
		if (s->next[node] < s->edges->start[node + 1])
			follow(s, node, s->edges->items[s->next[node]++]);
		else
			leave(s, node);
	}
}

/* component[] of every node, allocated; the other arrays live in one piece of memory. */
static int components_find(const struct rec_graph *g, const struct rows *edges, uint32_t **ret_component)
{
	size_t n = g->node_count;
	uint32_t *component = rec_zalloc(g->allocator, n, sizeof *component);
	uint32_t *memory = rec_zalloc(g->allocator, n, 5 * sizeof *memory);
	if (!component || !memory) {
		rec_free(g->allocator, component);
		rec_free(g->allocator, memory);
		return REC_E_NOMEM;
	}
	struct search s = {.edges = edges, .component = component};
	s.order = memory;
	s.low = memory + n;
	s.next = memory + 2 * n;
	s.stack = memory + 3 * n;
	s.path = memory + 4 * n;
	memset(component, 0xff, n * sizeof *component);
	for (uint32_t node = 0; node < g->node_count; node++)
		if (!s.order[node])
			search_from(&s, node);
	rec_free(g->allocator, memory);
	*ret_component = component;
	return 0;
}

/* ---- Rings ---- */

static bool depends_on_itself(const struct rows *edges, uint32_t node)
{
	for (uint32_t i = edges->start[node]; i < edges->start[node + 1]; i++)
		if (edges->items[i] == node)
			return true;
	return false;
}

/* A component is a ring if it has two members, or one that depends on itself. Numbers them by their
 * smallest member. Turns component[] into ring numbers; returns how many nodes are in rings. */
static uint32_t rings_number(struct rec_graph *g, const struct rows *edges, uint32_t *component, uint32_t *ring)
{
	uint32_t members = 0;
	memset(ring, 0xff, g->node_count * sizeof *ring);
	for (uint32_t n = 0; n < g->node_count; n++)
		if (component[n] != n)
			ring[component[n]] = UNNUMBERED;
	for (uint32_t n = 0; n < g->node_count; n++)
		if (component[n] == n && ring[n] == NONE && depends_on_itself(edges, n))
			ring[n] = UNNUMBERED;
	for (uint32_t n = 0; n < g->node_count; n++) {
		uint32_t *number = &ring[component[n]];
		if (*number == UNNUMBERED)
			*number = g->ring_count++;
		members += *number != NONE;
		component[n] = *number;
	}
	return members;
}

static int rings_build(struct rec_graph *g, const struct rows *edges, uint32_t *component)
{
	uint32_t *ring = rec_zalloc(g->allocator, g->node_count, sizeof *ring);
	if (!ring)
		return REC_E_NOMEM;
	uint32_t members = rings_number(g, edges, component, ring);
	rec_free(g->allocator, ring);
	int r = rows_init(g->allocator, &g->rings, g->ring_count, members);
	if (r < 0)
		return r;
	for (uint32_t n = 0; n < g->node_count; n++)
		if (component[n] != NONE)
			g->rings.start[component[n]]++;
	rows_place(&g->rings, g->ring_count);
	for (uint32_t n = 0; n < g->node_count; n++)
		if (component[n] != NONE)
			g->rings.items[g->rings.start[component[n]]++] = n;
	rows_filled(&g->rings, g->ring_count);
	return 0;
}

static int graph_find_rings(struct rec_graph *g, const struct rows *edges)
{
	uint32_t *component;
	int r = components_find(g, edges, &component);
	if (r < 0)
		return r;
	g->ring_count = 0;
	r = rings_build(g, edges, component);
	if (r < 0)
		rec_free(g->allocator, component);
	else
		g->ring_of = component;
	return r;
}

int rec_graph_analyse(struct rec_graph *g)
{
	struct rows dependents, dependencies;
	if (g->ring_of)
		return 0;
	int r = dependents_build(g, &dependents);
	if (r < 0)
		return r;
	r = rows_turn(g->allocator, &dependents, g->node_count, &dependencies);
	if (r == 0) {
		r = graph_find_rings(g, &dependencies);
		rows_release(g->allocator, &dependencies);
	}
	if (r < 0) {
		rows_release(g->allocator, &dependents);
		return r;
	}
	g->dependents = dependents;
	g->edges = rec_free(g->allocator, g->edges);
	return 0;
}

/* ---- Answers ---- */

static const uint32_t *rows_get(const struct rows *rows, uint32_t n, uint32_t *ret_count)
{
	*ret_count = rows->start[n + 1] - rows->start[n];
	return rows->items + rows->start[n];
}

uint32_t rec_graph_ring_count(const struct rec_graph *g)
{
	return g->ring_count;
}

const uint32_t *rec_graph_ring(const struct rec_graph *g, uint32_t k, uint32_t *ret_count)
{
	return rows_get(&g->rings, k, ret_count);
}

bool rec_graph_in_ring(const struct rec_graph *g, uint32_t node)
{
	return g->ring_of[node] != NONE;
}

const uint32_t *rec_graph_dependents(const struct rec_graph *g, uint32_t node, uint32_t *ret_count)
{
	return rows_get(&g->dependents, node, ret_count);
}
