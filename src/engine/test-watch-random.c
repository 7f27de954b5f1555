/* watch at random: whatever happens, the told verdicts are those of a fresh check. */
#include "engine/test-world.h"

#include "engine/watch.h"

#define SECOND INT64_C(1000000)
#ifdef REC_TEST_SQLITE
#define RANDOM_SEEDS 5 /* every step is a transaction there */
#else
#define RANDOM_SEEDS 30
#endif

struct random_watch {
	struct world *world;
	struct rec_watch *watch;
	int64_t now_us;
};

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % limit;
}

#define IDS 12

/* What a listener knows: the last line about each task; a line that says it is gone wipes it. */
struct listener {
	enum { EVERY, NAMED, BELIEVED } mode;
	struct rec_belief belief;
	char known[IDS][200];
	unsigned blockers;
};

static void view_show(char out[200], const struct rec_result_view *view)
{
	struct rec_buffer text;
	rec_buffer_init(&text, NULL, 199);
	assert_int_equal(rec_result_write_json(&text, view, -1), 0);
	memcpy(out, text.data, text.length + 1);
	rec_buffer_release(&text);
}

static size_t id_number(struct rec_slice id)
{
	return (size_t)(id.data[0] - 'a');
}

static int listen(void *context, const struct rec_result_view *view, int applied)
{
	struct listener *l = context;
	assert_int_equal(applied, -1);
	view_show(l->known[id_number(view->task_id)], view);
	return 0;
}

/* Is the task watched, going by the mode? */
static bool watched(const struct listener *l, struct world *w, const char *id)
{
	bool believed = rec_belief_of(&l->belief, S(id)) != REC_STATUS_ABSENT;
	switch (l->mode) {
	case NAMED:
		return id[0] % 2;
	case BELIEVED:
		return believed;
	case EVERY:
		break;
	}
	return believed || status_of(w, id) != REC_STATUS_ABSENT;
}

static void listener_agrees(struct listener *l, struct world *w, uint64_t step)
{
	for (size_t i = 0; i < IDS; i++) {
		const char id[2] = {(char)('a' + i), '\0'};
		struct rec_slice slice = S(id);
		struct rec_results fresh;
		struct rec_result_view view;
		char wanted[200];
		if (!watched(l, w, id)) {
			l->known[i][0] = '\0';
			continue;
		}
		ok(w, rec_check(w->outside, REC_CHECK_MERGED, &slice, 1, &l->belief, &fresh, &w->error));
		rec_results_view(&fresh, 0, &view);
		view_show(wanted, &view);
		bool quiet = strcmp(view.action, "NONE") == 0 && !view.discrepancy;
		if (l->known[i][0] ? strcmp(l->known[i], wanted) != 0 : !quiet)
			fail_msg("step %llu: knows %s, is %s", (unsigned long long)step, l->known[i], wanted);
		rec_results_release(&fresh);
	}
}

static void outside_acts(struct listener *l, struct world *w, uint64_t *seed)
{
	char id[2] = {(char)('a' + random_below(seed, IDS)), '\0'}, name[16];
	enum rec_status now = status_of(w, id), next = (enum rec_status)random_below(seed, REC_STATUS_COUNT);
	if (now == REC_STATUS_ABSENT) {
		add(w, id, next);
		return;
	}
	switch (random_below(seed, 8)) {
	case 0:
		ok(w, rec_store_delete(w->outside, S(id), &w->error));
		break;
	case 1:
		snprintf(name, sizeof name, "k%u", l->blockers++);
		ask(w, name, id);
		break;
	case 2:
	case 3:
		if (l->blockers) {
			snprintf(name, sizeof name, "k%u", random_below(seed, l->blockers));
			(void)rec_store_blocker_answer(w->outside, S(name), S("so"), &w->error);
		}
		break;
	default:
		set(w, id, next);
	}
}

static void something_happens(struct listener *l, struct random_watch *t, uint64_t *seed)
{
	struct world *w = t->world;
	char id[2] = {(char)('a' + random_below(seed, IDS)), '\0'};
	uint32_t what = random_below(seed, 20);
	if (what == 0) {
		struct rec_gc gc = {.older_than_us = INT64_MAX};
		ok(w, rec_store_gc(w->outside, &gc, &w->error));
	} else if (what == 1) {
		t->now_us += 700 * SECOND;
	} else if (what < 8) {
		enum rec_status status = (enum rec_status)random_below(seed, REC_STATUS_COUNT + 1);
		ok(w, rec_watch_believe(t->watch, S(id), status, &w->error));
		ok(w, rec_belief_set(&l->belief, S(id), status, NULL, NULL));
	} else {
		outside_acts(l, w, seed);
	}
}

static void random_run(uint64_t seed, int mode)
{
	struct world *w = world_new();
	struct listener l = {.mode = mode};
	rec_belief_init(&l.belief, NULL, seed);
	const struct rec_slice odd[] = {S("a"), S("c"), S("e"), S("g"), S("i"), S("k")};
	struct rec_watch_options options = {.kind = REC_CHECK_MERGED, .only_believed = mode == BELIEVED};
	if (mode == NAMED) {
		options.ids = odd;
		options.id_count = 6;
	}
	struct random_watch t = {.world = w, .now_us = SECOND};
	ok(w, rec_watch_new(w->store, &options, &t.watch, &w->error));
	for (uint64_t step = 0; step < 400; step++) {
		for (uint32_t i = random_below(&seed, 4); i > 0; i--)
			something_happens(&l, &t, &seed);
		w->snapshot_result = random_below(&seed, 10) == 0 ? REC_E_BUSY : 0;
		int r = rec_watch_look(t.watch, t.now_us, listen, &l, NULL, &w->error);
		w->snapshot_result = 0;
		if (r == REC_E_BUSY)
			r = rec_watch_look(t.watch, t.now_us, listen, &l, NULL, &w->error);
		assert_int_equal(r, 0);
		listener_agrees(&l, w, step);
	}
	rec_watch_free(t.watch);
	rec_belief_release(&l.belief);
	world_free(w);
}

static void test_watch__told_verdicts_are_those_of_a_fresh_check_whatever_happens(void **state)
{
	(void)state;
	uint64_t first = 1;
	print_message("seeds from %llu\n", (unsigned long long)first);
	for (uint64_t seed = first; seed < first + RANDOM_SEEDS; seed++)
		for (int mode = EVERY; mode <= BELIEVED; mode++)
			random_run(seed, mode);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watch__told_verdicts_are_those_of_a_fresh_check_whatever_happens),
	};
	return cmocka_run_group_tests_name("engine/watch-random", tests, NULL, NULL);
}
