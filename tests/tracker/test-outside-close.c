/* Trackers beside a batch (conductor/outside.h): what is finished here is closed there, and by whom. */
#include "outside-world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/closing.h"

/* ---- Closing ------------------------------------------------------------------------------------ */

static void test_outside__a_finished_task_closes_its_item_once(void **state)
{
	struct world w;
	struct rec_error error;
	enum rec_status now;
	(void)state;
	assert_int_equal(world_make(&w, "good", "", 30 * SECOND, true, NULL, &error), 0);
	world_settle(&w);
	assert_int_equal(
		rec_store_set_status(w.store, rec_slice_of("t1"), REC_READY, REC_IN_PROGRESS, &now, NULL, NULL, &error),
		0);
	assert_int_equal(
		rec_store_set_status(w.store, rec_slice_of("t1"), REC_IN_PROGRESS, REC_DONE, &now, NULL, NULL, &error),
		0);
	rec_outside_finished(w.outside, rec_slice_of("t1"), 1);
	rec_outside_finished(w.outside, rec_slice_of("t0"), 1); /* it is not DONE: nothing is closed */
	world_settle(&w);
	assert_int_equal(rec_outside_counts(w.outside).closed, 1);
	assert_int_equal(w.others, 1); /* its event */
	rec_outside_finish(w.outside, SECOND);
	assert_int_equal(rec_outside_counts(w.outside).closed, 1);
	world_free(&w);
}

static void done_with(struct world *w, const char *id, const char *const *urls, size_t count)
{
	struct rec_error error;
	const struct rec_task task = {.id = rec_slice_of(id),
				      .title = rec_slice_of(id),
				      .status = REC_DONE,
				      .status_text = rec_slice_of("DONE"),
				      .is_leaf = true};
	assert_int_equal(rec_store_create(w->store, &task, &error), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rec_store_link_put(w->store, task.id, rec_slice_of(urls[i]), &error), 0);
	rec_outside_finished(w->outside, task.id, 1);
}

/* As many items as may wait with one tracker, which hangs; then a task with one more of its items, and one of another
 * tracker. */
static void test_outside__an_item_is_closed_once_though_the_next_one_has_to_wait(void **state)
{
	struct world w;
	struct rec_error error;
	(void)state;
	assert_int_equal(world_make_beside(&w, "close-hangs", "", "good", 0, true, NULL, &error), 0);
	for (int task = 0; task < 16; task++) {
		char id[8], texts[16][64];
		const char *urls[16];
		snprintf(id, sizeof id, "u%d", task);
		for (int i = 0; i < 16; i++) {
			snprintf(texts[i], sizeof texts[i], "https://x.test/u/%d/%d", task, i);
			urls[i] = texts[i];
		}
		done_with(&w, id, urls, 16);
	}
	const char *const two[] = {"https://a.test/1", "https://x.test/1"};
	done_with(&w, "v", two, 2);
	while (rec_outside_counts(w.outside).closed == 0)
		world_step(&w);
	uint64_t requests = rec_tracker_health(w.trackers, 1)->requests;
	for (int i = 0; i < 10; i++) {
		int64_t due_us;
		bool wrote;
		assert_int_equal(rec_outside_step(w.outside, &due_us, &wrote, &error), 0);
	}
	assert_int_equal(rec_tracker_health(w.trackers, 1)->requests, requests);
	assert_int_equal(w.others, 1);
	world_free(&w);
}

/* ---- Closing what was left ---------------------------------------------------------------------- */

/* Another conductor with the same store; as after its death. */
static void next_conductor(struct world *w, const char *mode, const char *place, const struct rec_outside_options *o)
{
	struct rec_error error;
	const char *const command[] = {outside_program, mode, place, NULL};
	const struct rec_tracker_options one = {.name = "fake", .url_prefix = "https://x.test/", .command = command};
	const struct rec_trackers_options trackers = {&one, 1, outside_leash, NULL};
	struct rec_outside_options options = *o;
	w->outside = rec_outside_free(w->outside);
	w->trackers = rec_trackers_free(w->trackers);
	assert_int_equal(rec_trackers_new(&trackers, &w->trackers, &error), 0);
	options.store = w->store;
	options.trackers = w->trackers;
	options.interval_us = 30 * SECOND;
	options.clock = &w->clock.clock;
	options.tell = world_tell;
	options.context = w;
	w->due_us = 0;
	assert_int_equal(rec_outside_new(&options, &w->outside, &error), 0);
}

/* As the driver does: in one group. */
static void finish_in_group(struct world *w, const char *id)
{
	struct rec_error error;
	struct rec_slice task = rec_slice_of(id);
	enum rec_status now;
	assert_int_equal(rec_store_begin(w->store, &error), 0);
	assert_int_equal(rec_store_set_status(w->store, task, REC_READY, REC_IN_PROGRESS, &now, NULL, NULL, &error), 0);
	assert_int_equal(rec_store_set_status(w->store, task, REC_IN_PROGRESS, REC_DONE, &now, NULL, NULL, &error), 0);
	assert_int_equal(rec_outside_finishing(w->outside, task, 1, &error), 0);
	assert_int_equal(rec_store_commit(w->store, &error), 0);
}

static size_t wanted(struct world *w)
{
	struct rec_arena arena;
	struct rec_closings all;
	struct rec_error error;
	rec_arena_init(&arena, NULL);
	assert_int_equal(rec_closings_read(w->store, &arena, &all, &error), 0);
	size_t count = all.count;
	rec_closings_release(&all, NULL);
	rec_arena_release(&arena);
	return count;
}

static const struct rec_outside_options same_batch = {.batch_id = {"b1", 2}};

static void open_and_finish(struct world *w, const char *mode)
{
	struct rec_error error;
	assert_int_equal(world_make(w, mode, "", 30 * SECOND, true, NULL, &error), 0);
	world_settle(w);
	finish_in_group(w, "t1");
	assert_int_equal(wanted(w), 1);
}

static void test_outside__what_was_to_be_closed_outlives_its_conductor(void **state)
{
	struct world w;
	(void)state;
	open_and_finish(&w, "good");
	next_conductor(&w, "good", "", &same_batch); /* which was not told to close anything */
	world_settle(&w);
	assert_int_equal(rec_outside_counts(w.outside).closed, 1);
	assert_int_equal(wanted(&w), 0);
	next_conductor(&w, "good", "", &same_batch);
	world_settle(&w);
	assert_int_equal(rec_outside_counts(w.outside).closed, 0);
	assert_int_equal(w.warnings, 0);
	world_free(&w);
}

static void test_outside__what_is_done_no_more_is_not_closed(void **state)
{
	struct world w;
	struct rec_error error;
	enum rec_status now;
	(void)state;
	open_and_finish(&w, "good");
	assert_int_equal(
		rec_store_set_status(w.store, rec_slice_of("t1"), REC_DONE, REC_READY, &now, NULL, NULL, &error), 0);
	next_conductor(&w, "good", "", &same_batch);
	world_settle(&w);
	assert_int_equal(rec_outside_counts(w.outside).closed, 0);
	assert_int_equal(wanted(&w), 0);
	world_free(&w);
}

static void test_outside__what_is_refused_is_not_asked_again(void **state)
{
	struct world w;
	(void)state;
	open_and_finish(&w, "good");
	next_conductor(&w, "close-refused", "", &same_batch);
	world_settle(&w);
	assert_int_equal(w.warnings, 1);
	assert_non_null(strstr(w.warning, "issues/1 stays open: 403: not yours"));
	assert_int_equal(wanted(&w), 0);
	world_free(&w);
}

/* It hangs while the task is finished; the next pass finds it well again. */
static void test_outside__what_a_tracker_could_not_close_is_closed_when_it_can(void **state)
{
	struct world w;
	struct rec_error error;
	int64_t due_us;
	bool wrote;
	char place[] = "/tmp/test-outside-XXXXXX";
	(void)state;
	int fd = mkstemp(place);
	assert_true(fd >= 0);
	close(fd);
	unlink(place);
	assert_int_equal(world_make(&w, "hang-unless", place, 30 * SECOND, true, NULL, &error), 0);
	while (world_health(&w)->requests < 2)
		world_step(&w);
	rec_clock_manual_advance(&w.clock, 30 * SECOND);
	world_settle(&w);
	finish_in_group(&w, "t1");
	rec_outside_finished(w.outside, rec_slice_of("t1"), 1);
	assert_int_equal(rec_outside_step(w.outside, &due_us, &wrote, &error), 0);
	assert_int_equal(w.warnings, 2); /* that it is down, that items stay open */
	assert_int_equal(wanted(&w), 1);
	fd = open(place, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 10 && wanted(&w); i++)
		world_pass(&w, 30);
	assert_int_equal(rec_outside_counts(w.outside).closed, 1);
	assert_int_equal(wanted(&w), 0);
	assert_int_equal(w.warnings, 2);
	unlink(place);
	world_free(&w);
}

struct holding {
	bool alive, own;
	unsigned held, let_go;
};

static int hold(void *self, struct rec_slice batch_id, struct rec_error *error)
{
	struct holding *h = self;
	(void)error;
	assert_true(rec_slice_equal(batch_id, rec_slice_of("b1")));
	h->held++;
	return h->alive ? REC_CONFLICT : 0;
}

static void let_go(void *self, struct rec_slice batch_id)
{
	(void)batch_id;
	((struct holding *)self)->let_go++;
}

static bool holds(void *self, struct rec_slice batch_id)
{
	(void)batch_id;
	return ((struct holding *)self)->own;
}

static void closed_by_another(struct holding h, const char *host, uint64_t closed)
{
	static const struct rec_slots_ops ops = {.hold = hold, .let_go = let_go, .holds = holds};
	struct world w;
	const struct rec_outside_options other = {
		.batch_id = {"b2", 2}, .slots = {&ops, &h}, .host = rec_slice_of(host)};
	open_and_finish(&w, "good");
	next_conductor(&w, "good", "", &other);
	world_settle(&w);
	assert_int_equal(rec_outside_counts(w.outside).closed, closed);
	assert_int_equal(wanted(&w), 1 - closed);
	assert_int_equal(h.let_go, h.own ? 0 : closed);
	world_free(&w);
}

static void test_outside__another_batch_takes_over_from_the_dead_only(void **state)
{
	(void)state;
	closed_by_another((struct holding){.alive = false}, NULL, 1);
	closed_by_another((struct holding){.alive = true}, NULL, 0);
	closed_by_another((struct holding){.own = true}, NULL, 1); /* which is being recovered */
	closed_by_another((struct holding){.alive = false}, "elsewhere", 0);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outside__a_finished_task_closes_its_item_once),
		cmocka_unit_test(test_outside__an_item_is_closed_once_though_the_next_one_has_to_wait),
		cmocka_unit_test(test_outside__what_was_to_be_closed_outlives_its_conductor),
		cmocka_unit_test(test_outside__what_is_done_no_more_is_not_closed),
		cmocka_unit_test(test_outside__what_is_refused_is_not_asked_again),
		cmocka_unit_test(test_outside__what_a_tracker_could_not_close_is_closed_when_it_can),
		cmocka_unit_test(test_outside__another_batch_takes_over_from_the_dead_only),
	};
	return outside_main(count, arguments, tests, sizeof tests / sizeof *tests);
}
