/* Trackers beside a batch (conductor/outside.h), with real helpers, a store in memory and a clock of our own.
 * Arguments: fake-helper, reconciler-leash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "conductor/outside.h"

#define SECOND INT64_C(1000000)
#define GUARD_MS 20000
#define LINKS 3

static const char *program, *leash;

struct world {
	struct rec_store *store;
	struct rec_trackers *trackers;
	struct rec_outside *outside;
	struct rec_clock_manual clock;
	int64_t due_us; /* of the next step */
	unsigned warnings, others;
	char warning[400];
};

static void tell(void *context, const struct rec_event *event)
{
	struct world *w = context;
	if (!rec_slice_equal(event->event, rec_slice_of("RECONCILIATION_ERROR"))) {
		w->others++;
		return;
	}
	w->warnings++;
	snprintf(w->warning, sizeof w->warning, "%.*s", (int)event->detail.length, event->detail.data);
}

static int store_fill(struct rec_store *s, struct rec_error *error)
{
	int r = 0;
	for (int i = 0; i < LINKS && r == 0; i++) {
		char id[8], url[64];
		snprintf(id, sizeof id, "t%d", i);
		snprintf(url, sizeof url, "https://x.test/acme/app/issues/%d", i);
		const struct rec_task task = {.id = rec_slice_of(id),
					      .title = rec_slice_of("{{..}} %n $(x)"),
					      .status = REC_READY,
					      .status_text = rec_slice_of("READY"),
					      .external_url = rec_slice_of(url),
					      .is_leaf = true};
		r = rec_store_create(s, &task, error);
	}
	return r;
}

/* beside: the mode of a second tracker, or NULL. */
static int world_make_beside(struct world *w, const char *mode, const char *place, const char *beside,
			     int64_t interval_us, bool close_issues, const struct rec_allocator *a,
			     struct rec_error *error)
{
	const char *const commands[][4] = {{program, mode, place, NULL}, {program, beside, "", NULL}};
	const struct rec_tracker_options two[] = {
		{.name = "fake", .url_prefix = "https://x.test/", .command = commands[0]},
		{.name = "beside", .url_prefix = "https://a.test/", .command = commands[1]},
	};
	const struct rec_trackers_options trackers = {two, beside ? 2 : 1, leash, a};
	const struct rec_store_options store = {.mode = REC_STORE_INIT, .allocator = a};
	*w = (struct world){.warnings = 0};
	rec_clock_manual_init(&w->clock, INT64_C(1767323045000000));
	w->clock.now_monotonic_us = 1000 * SECOND;
	int r = rec_store_open("memory:", &store, &w->store, error);
	r = r ? r : store_fill(w->store, error);
	r = r ? r : rec_trackers_new(&trackers, &w->trackers, error);
	const struct rec_outside_options options = {.store = w->store,
						    .trackers = w->trackers,
						    .batch_id = rec_slice_of("b1"),
						    .interval_us = interval_us,
						    .close_issues = close_issues,
						    .allocator = a,
						    .clock = &w->clock.clock,
						    .tell = tell,
						    .context = w};
	return r ? r : rec_outside_new(&options, &w->outside, error);
}

static int world_make(struct world *w, const char *mode, const char *place, int64_t interval_us, bool close_issues,
		      const struct rec_allocator *a, struct rec_error *error)
{
	return world_make_beside(w, mode, place, NULL, interval_us, close_issues, a, error);
}

static void world_free(struct world *w)
{
	w->outside = rec_outside_free(w->outside);
	w->trackers = rec_trackers_free(w->trackers);
	w->store = rec_store_close(w->store);
}

static void world_open(struct world *w, const char *mode, const char *place)
{
	struct rec_error error;
	assert_int_equal(world_make(w, mode, place, 30 * SECOND, false, NULL, &error), 0);
}

/* Until nothing is to be done before the clock moves. */
static void settle(struct world *w)
{
	struct rec_error error;
	int64_t due_us;
	bool wrote;
	for (;;) {
		int r = rec_outside_step(w->outside, &due_us, &wrote, &error);
		assert_true(r == 0 || r == REC_E_NOMEM);
		if (r == REC_E_NOMEM || due_us <= w->clock.now_monotonic_us)
			continue;
		if (!rec_trackers_busy(w->trackers))
			return;
		struct pollfd wait = {.fd = rec_outside_fd(w->outside), .events = POLLIN};
		assert_true(poll(&wait, 1, GUARD_MS) > 0);
	}
}

static void pass(struct world *w, int64_t seconds)
{
	rec_clock_manual_advance(&w->clock, seconds * SECOND);
	settle(w);
}

/* Waits for what is to come, and does it. */
static void step(struct world *w)
{
	struct rec_error error;
	bool wrote;
	struct pollfd wait = {.fd = rec_outside_fd(w->outside), .events = POLLIN};
	if (w->due_us > w->clock.now_monotonic_us)
		assert_true(poll(&wait, 1, GUARD_MS) > 0);
	assert_int_equal(rec_outside_step(w->outside, &w->due_us, &wrote, &error), 0);
}

static enum rec_status status_of(struct world *w, const char *id)
{
	struct rec_arena arena;
	struct rec_task task;
	struct rec_error error;
	rec_arena_init(&arena, NULL);
	assert_int_equal(rec_store_get(w->store, rec_slice_of(id), &arena, &task, &error), 0);
	rec_arena_release(&arena);
	return task.status;
}

static const struct rec_tracker_health *health(const struct world *w)
{
	return rec_tracker_health(w->trackers, 0);
}

/* ---- Passes ------------------------------------------------------------------------------------- */

/* B23: a title is opaque; every link is asked, whatever its age. */
static void test_outside__issues_closed_as_completed_make_their_tasks_done(void **state)
{
	struct world w;
	(void)state;
	world_open(&w, "closed", "");
	settle(&w);
	for (int i = 0; i < LINKS; i++)
		assert_int_equal(status_of(&w, i == 0 ? "t0" : i == 1 ? "t1" : "t2"), REC_DONE);
	struct rec_outside_counts counts = rec_outside_counts(w.outside);
	assert_int_equal(counts.passes, 1);
	assert_int_equal(counts.changed, LINKS);
	assert_int_equal(w.others, LINKS); /* each is told */
	assert_int_equal(w.warnings, 0);
	world_free(&w);
}

static void test_outside__a_pass_is_made_once_an_interval(void **state)
{
	struct world w;
	(void)state;
	world_open(&w, "good", "");
	settle(&w);
	assert_int_equal(health(&w)->requests, 2); /* hello, fetch */
	for (int i = 0; i < 29; i++)
		pass(&w, 1);
	assert_int_equal(health(&w)->requests, 2);
	pass(&w, 1);
	assert_int_equal(health(&w)->requests, 3);
	assert_int_equal(rec_outside_counts(w.outside).passes, 2);
	world_free(&w);
}

static void test_outside__an_interval_of_zero_asks_nobody(void **state)
{
	struct world w;
	struct rec_error error;
	(void)state;
	assert_int_equal(world_make(&w, "closed", "", 0, false, NULL, &error), 0);
	for (int i = 0; i < 10; i++)
		pass(&w, 1000);
	assert_int_equal(health(&w)->requests, 0);
	assert_int_equal(status_of(&w, "t0"), REC_READY);
	world_free(&w);
}

/* The batch ends while the second reading of a tie is awaited. */
static void test_outside__what_a_pass_that_never_ended_has_written_is_told(void **state)
{
	struct world w;
	struct rec_error error;
	(void)state;
	world_open(&w, "closed-once", "");
	const struct rec_link open = {.task_id = rec_slice_of("t2"),
				      .url = rec_slice_of("https://x.test/acme/app/issues/2"),
				      .kind = REC_LINK_ISSUE,
				      .state = REC_OBSERVED_OPEN,
				      .time = rec_slice_of("2026-01-02T03:04:05Z")};
	assert_int_equal(rec_store_link_observed(w.store, &open, &error), 0);
	while (status_of(&w, "t0") != REC_DONE)
		step(&w);
	assert_int_equal(status_of(&w, "t2"), REC_READY);
	rec_outside_finish(w.outside, 0);
	assert_int_equal(rec_outside_counts(w.outside).changed, 2);
	assert_int_equal(w.others, 2);
	world_free(&w);
}

/* ---- Trackers that fail ------------------------------------------------------------------------- */

static void test_outside__a_tracker_that_is_down_for_hours_is_one_warning(void **state)
{
	struct world w;
	(void)state;
	world_open(&w, "at-once", "");
	settle(&w);
	for (int i = 0; i < 600; i++)
		pass(&w, 30);
	assert_int_equal(w.warnings, 1);
	assert_non_null(strstr(w.warning, "tracker fake cannot be asked: the helper exited with status 7"));
	assert_int_equal(w.others, 0);
	assert_int_equal(status_of(&w, "t0"), REC_READY);
	/* Five hours in pauses that double up to ten minutes. */
	assert_true(health(&w)->requests > 20 && health(&w)->requests < 40);
	world_free(&w);
}

/* B22: two pages of HTML, then the answer. */
static void test_outside__html_is_neither_closed_nor_the_end_of_the_tracker(void **state)
{
	struct world w;
	char place[] = "/tmp/test-outside-XXXXXX";
	(void)state;
	int fd = mkstemp(place);
	assert_true(fd >= 0);
	close(fd);
	unlink(place);
	world_open(&w, "html-unless", place);
	settle(&w);
	pass(&w, 30);
	assert_int_equal(health(&w)->failures, 2);
	assert_int_equal(status_of(&w, "t0"), REC_READY);
	fd = open(place, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	pass(&w, 30);
	assert_int_equal(status_of(&w, "t0"), REC_DONE);
	assert_int_equal(health(&w)->failures, 0);
	assert_int_equal(w.warnings, 1);
	unlink(place);
	world_free(&w);
}

/* B16, B21: a limit is waited for; no call is made only to be rejected. */
static void test_outside__a_limit_is_waited_for_without_a_call_or_a_warning(void **state)
{
	struct world w;
	(void)state;
	world_open(&w, "limit", "");
	settle(&w);
	uint64_t requests = health(&w)->requests;
	for (int i = 0; i < 59; i++)
		pass(&w, 1);
	assert_int_equal(health(&w)->requests, requests);
	assert_int_equal(w.warnings, 0);
	pass(&w, 1);
	assert_int_equal(health(&w)->requests, requests + 1);
	world_free(&w);
}

/* Nothing here waits for it: a step returns at once, and the store is as it was. */
static void test_outside__a_helper_that_hangs_holds_up_nobody(void **state)
{
	struct world w;
	struct rec_error error;
	int64_t due_us;
	bool wrote;
	(void)state;
	world_open(&w, "silent", "");
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(rec_outside_step(w.outside, &due_us, &wrote, &error), 0);
		assert_false(wrote);
		assert_int_equal(due_us, w.clock.now_monotonic_us + 30 * SECOND);
	}
	rec_clock_manual_advance(&w.clock, 30 * SECOND);
	assert_int_equal(rec_outside_step(w.outside, &due_us, &wrote, &error), 0);
	settle(&w);
	assert_int_equal(w.warnings, 1);
	world_free(&w);
}

static void linked_add(struct world *w, const char *id, const char *url)
{
	struct rec_error error;
	const struct rec_task task = {.id = rec_slice_of(id),
				      .title = rec_slice_of(id),
				      .status = REC_READY,
				      .status_text = rec_slice_of("READY"),
				      .external_url = rec_slice_of(url),
				      .is_leaf = true};
	assert_int_equal(rec_store_create(w->store, &task, &error), 0);
}

/* One hangs for the whole time; the other is asked once an interval, and what it says is written. */
static void test_outside__a_tracker_that_hangs_delays_no_pass_of_another(void **state)
{
	struct world w;
	struct rec_error error;
	(void)state;
	assert_int_equal(world_make_beside(&w, "hang", "", "closed", 5 * SECOND, false, NULL, &error), 0);
	linked_add(&w, "a", "https://a.test/a/b/issues/1");
	for (uint64_t passes = 1; passes <= 5; passes++) {
		do
			step(&w);
		while (rec_tracker_health(w.trackers, 1)->requests < passes + 1 ||
		       rec_tracker_health(w.trackers, 1)->reached_us < w.clock.now_monotonic_us);
		assert_int_equal(status_of(&w, "a"), REC_DONE);
		assert_true(w.due_us <= w.clock.now_monotonic_us + 5 * SECOND);
		rec_clock_manual_advance(&w.clock, 5 * SECOND);
		w.due_us = 0;
	}
	assert_true(health(&w)->requests <= 2); /* hello, and the fetch that it still owes */
	assert_int_equal(w.warnings, 0);
	world_free(&w);
}

/* ---- Closing ------------------------------------------------------------------------------------ */

static void test_outside__a_finished_task_closes_its_item_once(void **state)
{
	struct world w;
	struct rec_error error;
	enum rec_status now;
	(void)state;
	assert_int_equal(world_make(&w, "good", "", 30 * SECOND, true, NULL, &error), 0);
	settle(&w);
	assert_int_equal(
		rec_store_set_status(w.store, rec_slice_of("t1"), REC_READY, REC_IN_PROGRESS, &now, NULL, NULL, &error),
		0);
	assert_int_equal(
		rec_store_set_status(w.store, rec_slice_of("t1"), REC_IN_PROGRESS, REC_DONE, &now, NULL, NULL, &error),
		0);
	rec_outside_finished(w.outside, rec_slice_of("t1"), 1);
	rec_outside_finished(w.outside, rec_slice_of("t0"), 1); /* it is not DONE: nothing is closed */
	settle(&w);
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
		step(&w);
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

/* ---- Memory ------------------------------------------------------------------------------------- */

static void test_outside__each_allocation_may_fail(void **state)
{
	struct rec_failing_allocator f;
	struct rec_error error;
	uint64_t n = 0;
	(void)state;
	do {
		struct world w;
		rec_failing_allocator_init(&f, n += 3, 0); /* every third: a process is started for each */
		int r = world_make(&w, "closed", "", 30 * SECOND, false, &f.allocator, &error);
		if (r == 0) {
			settle(&w);
			for (int i = 0; i < 3 && status_of(&w, "t2") != REC_DONE; i++)
				pass(&w, 700); /* a pass that was given up is made again */
			assert_int_equal(status_of(&w, "t2"), REC_DONE);
		} else {
			assert_int_equal(r, REC_E_NOMEM);
		}
		world_free(&w);
		assert_int_equal(f.live, 0);
	} while (f.calls >= n);
	assert_true(n > 100);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outside__issues_closed_as_completed_make_their_tasks_done),
		cmocka_unit_test(test_outside__a_pass_is_made_once_an_interval),
		cmocka_unit_test(test_outside__an_interval_of_zero_asks_nobody),
		cmocka_unit_test(test_outside__what_a_pass_that_never_ended_has_written_is_told),
		cmocka_unit_test(test_outside__a_tracker_that_is_down_for_hours_is_one_warning),
		cmocka_unit_test(test_outside__html_is_neither_closed_nor_the_end_of_the_tracker),
		cmocka_unit_test(test_outside__a_limit_is_waited_for_without_a_call_or_a_warning),
		cmocka_unit_test(test_outside__a_helper_that_hangs_holds_up_nobody),
		cmocka_unit_test(test_outside__a_tracker_that_hangs_delays_no_pass_of_another),
		cmocka_unit_test(test_outside__a_finished_task_closes_its_item_once),
		cmocka_unit_test(test_outside__an_item_is_closed_once_though_the_next_one_has_to_wait),
		cmocka_unit_test(test_outside__each_allocation_may_fail),
	};
	if (count != 3)
		return 2;
	program = arguments[1];
	leash = arguments[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
