/* test-queue.c - the queue against a sorted list, at every step of random use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/queue.h"
#include "core/retry.h"

#define ITEMS 200u

struct world {
	uint64_t ranks[ITEMS];
	uint32_t places[ITEMS];
};

static bool before(const void *context, uint32_t a, uint32_t b)
{
	const struct world *w = context;
	return w->ranks[a] != w->ranks[b] ? w->ranks[a] < w->ranks[b] : a < b;
}

static void placed(void *context, uint32_t item, uint32_t place)
{
	((struct world *)context)->places[item] = place;
}

static void world_init(struct world *w)
{
	for (uint32_t i = 0; i < ITEMS; i++)
		w->places[i] = REC_QUEUE_OUT;
}

static uint32_t first_by_scan(const struct world *w)
{
	uint32_t first = REC_QUEUE_OUT;
	for (uint32_t i = 0; i < ITEMS; i++)
		if (w->places[i] != REC_QUEUE_OUT && (first == REC_QUEUE_OUT || before(w, i, first)))
			first = i;
	return first;
}

static void places_check(const struct world *w, const struct rec_queue *q)
{
	for (size_t place = 0; place < q->count; place++)
		assert_int_equal(w->places[q->items[place]], place);
}

static void test_queue__first_is_the_smallest_whatever_was_done(void **state)
{
	(void)state;
	struct world w = {0};
	struct rec_queue q;
	struct rec_random random = {42};
	world_init(&w);
	rec_queue_init(&q, NULL, before, placed, &w);
	assert_int_equal(rec_queue_reserve(&q, ITEMS), 0);
	for (int step = 0; step < 20000; step++) {
		uint32_t item = (uint32_t)rec_random_below(&random, ITEMS);
		uint64_t rank = rec_random_below(&random, 50);
		if (w.places[item] == REC_QUEUE_OUT) {
			w.ranks[item] = rank;
			rec_queue_add(&q, item);
		} else if (rank < 25) {
			rec_queue_remove(&q, w.places[item]);
			assert_int_equal(w.places[item], REC_QUEUE_OUT);
		} else {
			w.ranks[item] = rank;
			rec_queue_moved(&q, w.places[item]);
		}
		assert_int_equal(rec_queue_first(&q), first_by_scan(&w));
		places_check(&w, &q);
	}
	rec_queue_release(&q);
}

static void test_queue__empty_has_no_first(void **state)
{
	(void)state;
	struct world w = {0};
	struct rec_queue q;
	rec_queue_init(&q, NULL, before, placed, &w);
	assert_int_equal(rec_queue_first(&q), REC_QUEUE_OUT);
	rec_queue_release(&q);
	rec_queue_release(&q);
}

static void test_queue__reserve_without_memory_leaves_the_queue_usable(void **state)
{
	(void)state;
	struct world w = {0};
	struct rec_queue q;
	struct rec_failing_allocator failing;
	rec_failing_allocator_init(&failing, 2, 0);
	world_init(&w);
	rec_queue_init(&q, &failing.allocator, before, placed, &w);
	assert_int_equal(rec_queue_reserve(&q, 2), 0);
	rec_queue_add(&q, 7);
	assert_int_equal(rec_queue_reserve(&q, 1000), REC_E_NOMEM);
	assert_int_equal(rec_queue_first(&q), 7);
	assert_int_equal(rec_queue_reserve(&q, 1000), 0);
	assert_int_equal(rec_queue_first(&q), 7);
	rec_queue_release(&q);
	assert_int_equal(failing.live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue__first_is_the_smallest_whatever_was_done),
		cmocka_unit_test(test_queue__empty_has_no_first),
		cmocka_unit_test(test_queue__reserve_without_memory_leaves_the_queue_usable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
