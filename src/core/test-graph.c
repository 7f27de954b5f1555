/* Rings and dependents: small shapes by hand, large ones for depth, random ones against reachability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/graph.h"

static struct rec_graph *graph(uint32_t nodes)
{
	struct rec_graph *g;
	assert_int_equal(rec_graph_new(NULL, nodes, &g), 0);
	return g;
}

static void ring_is(const struct rec_graph *g, uint32_t k, const uint32_t *members, uint32_t count)
{
	uint32_t got;
	const uint32_t *ring = rec_graph_ring(g, k, &got);
	assert_int_equal(got, count);
	assert_memory_equal(ring, members, count * sizeof *members);
}

static void test_graph__nothing_has_no_rings(void **state)
{
	(void)state;
	struct rec_graph *g = graph(0);
	assert_int_equal(rec_graph_analyse(g), 0);
	assert_int_equal(rec_graph_ring_count(g), 0);
	assert_null(rec_graph_free(g));
	assert_null(rec_graph_free(NULL));
}

/* T1 needs T2, T2 needs T3, T3 needs T1; T4 needs T1; T5 free; T6 needs itself. */
static void test_graph__a_ring_is_its_members_and_not_who_waits_behind_it(void **state)
{
	(void)state;
	struct rec_graph *g = graph(6);
	const uint32_t edges[][2] = {{0, 1}, {1, 2}, {2, 0}, {3, 0}, {5, 5}};
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		assert_int_equal(rec_graph_add(g, edges[i][0], edges[i][1]), 0);
	assert_int_equal(rec_graph_analyse(g), 0);
	assert_int_equal(rec_graph_ring_count(g), 2);
	ring_is(g, 0, (const uint32_t[]){0, 1, 2}, 3);
	ring_is(g, 1, (const uint32_t[]){5}, 1);
	const bool in_ring[] = {true, true, true, false, false, true};
	for (uint32_t n = 0; n < 6; n++)
		assert_int_equal(rec_graph_in_ring(g, n), in_ring[n]);
	rec_graph_free(g);
}

static void test_graph__rings_are_numbered_by_their_smallest_member(void **state)
{
	(void)state;
	struct rec_graph *g = graph(7);
	const uint32_t edges[][2] = {{6, 1}, {1, 6}, {5, 0}, {0, 5}, {3, 3}, {0, 1}};
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		assert_int_equal(rec_graph_add(g, edges[i][0], edges[i][1]), 0);
	assert_int_equal(rec_graph_analyse(g), 0);
	assert_int_equal(rec_graph_ring_count(g), 3);
	ring_is(g, 0, (const uint32_t[]){0, 5}, 2);
	ring_is(g, 1, (const uint32_t[]){1, 6}, 2);
	ring_is(g, 2, (const uint32_t[]){3}, 1);
	rec_graph_free(g);
}

static void test_graph__dependents_come_once_each_in_order(void **state)
{
	(void)state;
	struct rec_graph *g = graph(5);
	const uint32_t edges[][2] = {{4, 0}, {2, 0}, {4, 0}, {1, 0}, {2, 0}, {2, 3}, {0, 0}, {0, 0}};
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		assert_int_equal(rec_graph_add(g, edges[i][0], edges[i][1]), 0);
	assert_int_equal(rec_graph_analyse(g), 0);
	uint32_t count;
	const uint32_t *dependents = rec_graph_dependents(g, 0, &count);
	assert_int_equal(count, 4);
	assert_memory_equal(dependents, ((const uint32_t[]){0, 1, 2, 4}), 4 * sizeof(uint32_t));
	dependents = rec_graph_dependents(g, 3, &count);
	assert_int_equal(count, 1);
	assert_int_equal(dependents[0], 2);
	rec_graph_dependents(g, 4, &count);
	assert_int_equal(count, 0);
	rec_graph_free(g);
}

static void test_graph__edges_of_no_node_and_late_ones_are_refused(void **state)
{
	(void)state;
	struct rec_graph *g = graph(2), *untouched = NULL;
	assert_int_equal(rec_graph_add(g, 0, 2), REC_E_INVALID);
	assert_int_equal(rec_graph_add(g, 2, 0), REC_E_INVALID);
	assert_int_equal(rec_graph_analyse(g), 0);
	assert_int_equal(rec_graph_add(g, 0, 1), REC_E_INVALID);
	assert_int_equal(rec_graph_analyse(g), 0);
	rec_graph_free(g);
	assert_int_equal(rec_graph_new(NULL, UINT32_MAX, &untouched), REC_E_LIMIT);
	assert_null(untouched);
}

#define MILLION 1000000u

static void test_graph__a_chain_of_a_million_needs_no_recursion(void **state)
{
	(void)state;
	struct rec_graph *g = graph(MILLION);
	for (uint32_t n = 0; n + 1 < MILLION; n++)
		assert_int_equal(rec_graph_add(g, n, n + 1), 0);
	assert_int_equal(rec_graph_analyse(g), 0);
	assert_int_equal(rec_graph_ring_count(g), 0);
	for (uint32_t n = 1; n < MILLION; n++) {
		uint32_t count;
		if (rec_graph_dependents(g, n, &count)[0] != n - 1 || count != 1)
			fail_msg("node %u has other dependents", n);
	}
	rec_graph_free(g);
}

static void test_graph__a_ring_of_a_million_is_one_ring(void **state)
{
	(void)state;
	struct rec_graph *g = graph(MILLION);
	for (uint32_t n = 0; n < MILLION; n++)
		assert_int_equal(rec_graph_add(g, n, (n + 1) % MILLION), 0);
	assert_int_equal(rec_graph_analyse(g), 0);
	assert_int_equal(rec_graph_ring_count(g), 1);
	uint32_t count;
	const uint32_t *ring = rec_graph_ring(g, 0, &count);
	assert_int_equal(count, MILLION);
	for (uint32_t n = 0; n < MILLION; n++)
		if (ring[n] != n)
			fail_msg("member %u is %u", n, ring[n]);
	rec_graph_free(g);
}

/* ---- Random graphs against a naive oracle ---- */

#define NODES_MAX 24u

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % limit;
}

struct oracle {
	uint32_t nodes;
	bool edge[NODES_MAX][NODES_MAX], reach[NODES_MAX][NODES_MAX]; /* reach: by one step or more */
};

static void oracle_close(struct oracle *o)
{
	memcpy(o->reach, o->edge, sizeof o->edge);
	for (uint32_t k = 0; k < o->nodes; k++)
		for (uint32_t i = 0; i < o->nodes; i++)
			for (uint32_t j = 0; j < o->nodes; j++)
				o->reach[i][j] |= o->reach[i][k] && o->reach[k][j];
}

static void rings_match(const struct rec_graph *g, const struct oracle *o)
{
	uint32_t rings = 0;
	for (uint32_t n = 0; n < o->nodes; n++) {
		uint32_t members[NODES_MAX], count = 0;
		assert_int_equal(rec_graph_in_ring(g, n), o->reach[n][n]);
		for (uint32_t m = 0; m < o->nodes; m++)
			if (o->reach[n][m] && o->reach[m][n])
				members[count++] = m;
		if (count && members[0] == n)
			ring_is(g, rings++, members, count);
	}
	assert_int_equal(rec_graph_ring_count(g), rings);
}

static void dependents_match(const struct rec_graph *g, const struct oracle *o)
{
	for (uint32_t to = 0; to < o->nodes; to++) {
		uint32_t count, at = 0;
		const uint32_t *dependents = rec_graph_dependents(g, to, &count);
		for (uint32_t from = 0; from < o->nodes; from++)
			if (o->edge[from][to]) {
				assert_true(at < count);
				assert_int_equal(dependents[at++], from);
			}
		assert_int_equal(at, count);
	}
}

static void test_graph__random_graphs_agree_with_reachability(void **state)
{
	(void)state;
	uint64_t seed = 1;
	print_message("seed %llu\n", (unsigned long long)seed);
	for (int round = 0; round < 20000; round++) {
		struct oracle o = {.nodes = 1 + random_below(&seed, NODES_MAX)};
		struct rec_graph *g = graph(o.nodes);
		uint32_t edges = random_below(&seed, 2 * o.nodes + 1);
		for (uint32_t e = 0; e < edges; e++) {
			uint32_t from = random_below(&seed, o.nodes), to = random_below(&seed, o.nodes);
			o.edge[from][to] = true;
			assert_int_equal(rec_graph_add(g, from, to), 0);
		}
		oracle_close(&o);
		assert_int_equal(rec_graph_analyse(g), 0);
		rings_match(g, &o);
		dependents_match(g, &o);
		rec_graph_free(g);
	}
}

/* ---- Memory ---- */

static int build(const struct rec_allocator *a)
{
	struct rec_graph *g = NULL;
	int r = rec_graph_new(a, 20, &g);
	for (uint32_t n = 0; r == 0 && n < 20; n++)
		r = rec_graph_add(g, n, (n + 1) % 20);
	if (r == 0)
		r = rec_graph_analyse(g);
	if (r == 0)
		assert_int_equal(rec_graph_ring_count(g), 1);
	rec_graph_free(g);
	return r;
}

static void test_graph__every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
	(void)state;
	int r = REC_E_NOMEM;
	uint64_t n = 0;
	while (r == REC_E_NOMEM) {
		struct rec_failing_allocator failing;
		n++;
		rec_failing_allocator_init(&failing, n, n % 2 == 0);
		r = build(&failing.allocator);
		assert_int_equal(failing.live, 0);
	}
	assert_int_equal(r, 0);
	assert_true(n > 10);
}

static void test_graph__analysis_may_be_tried_again_after_running_out_of_memory(void **state)
{
	(void)state;
	int r = REC_E_NOMEM;
	for (uint64_t n = 1; r == REC_E_NOMEM; n++) {
		struct rec_failing_allocator failing;
		struct rec_graph *g;
		rec_failing_allocator_init(&failing, 0, 0);
		assert_int_equal(rec_graph_new(&failing.allocator, 3, &g), 0);
		assert_int_equal(rec_graph_add(g, 0, 1), 0);
		assert_int_equal(rec_graph_add(g, 1, 0), 0);
		failing.fail_at = failing.calls + n;
		r = rec_graph_analyse(g);
		failing.fail_at = 0;
		assert_int_equal(rec_graph_analyse(g), 0);
		ring_is(g, 0, (const uint32_t[]){0, 1}, 2);
		rec_graph_free(g);
		assert_int_equal(failing.live, 0);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graph__nothing_has_no_rings),
		cmocka_unit_test(test_graph__a_ring_is_its_members_and_not_who_waits_behind_it),
		cmocka_unit_test(test_graph__rings_are_numbered_by_their_smallest_member),
		cmocka_unit_test(test_graph__dependents_come_once_each_in_order),
		cmocka_unit_test(test_graph__edges_of_no_node_and_late_ones_are_refused),
		cmocka_unit_test(test_graph__a_chain_of_a_million_needs_no_recursion),
		cmocka_unit_test(test_graph__a_ring_of_a_million_is_one_ring),
		cmocka_unit_test(test_graph__random_graphs_agree_with_reachability),
		cmocka_unit_test(test_graph__every_failing_allocation_is_reported_and_leaks_nothing),
		cmocka_unit_test(test_graph__analysis_may_be_tried_again_after_running_out_of_memory),
	};
	return cmocka_run_group_tests_name("core/graph", tests, NULL, NULL);
}
