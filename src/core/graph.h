/* graph.h - dependencies between tasks: rings, missing ids, order. Pure, no recursion, O(tasks + edges). */
#ifndef REC_CORE_GRAPH_H
#define REC_CORE_GRAPH_H

#include <stdbool.h>

#include "base/memory.h"

/* Nodes are numbered 0..count-1; edges say "from depends on to". A dependency on an id that is no node is
 * missing: whoever turns ids into nodes sees that first and reports it, the graph never hears of it. */
struct rec_graph;
/* 0, REC_E_NOMEM, REC_E_LIMIT (2^32-2 nodes and more). */
int rec_graph_new(const struct rec_allocator *a, uint32_t node_count, struct rec_graph **ret_graph);
struct rec_graph *rec_graph_free(struct rec_graph *g); /* NULL is fine; returns NULL */
/* Duplicates are harmless. 0, REC_E_NOMEM, REC_E_LIMIT (2^32-1 edges), REC_E_INVALID (no such node, or the
 * graph is analysed already). */
int rec_graph_add(struct rec_graph *g, uint32_t from, uint32_t to);
/* Call once after the last edge. 0; REC_E_NOMEM: may be tried again. What follows is valid only after it. */
int rec_graph_analyse(struct rec_graph *g);
/* Rings = strongly connected components of more than one node, and nodes that depend on themselves;
 * numbered by their smallest member, members in ascending order. */
uint32_t rec_graph_ring_count(const struct rec_graph *g);
/* Members of ring k; valid as long as the graph. */
const uint32_t *rec_graph_ring(const struct rec_graph *g, uint32_t k, uint32_t *ret_count);
/* Is the node a member of a ring (not merely behind one)? */
bool rec_graph_in_ring(const struct rec_graph *g, uint32_t node);
/* Direct dependents of a node ("who waits for it"), each once, in ascending order, for waking them. */
const uint32_t *rec_graph_dependents(const struct rec_graph *g, uint32_t node, uint32_t *ret_count);

#endif
