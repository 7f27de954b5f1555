/* Trackers beside a batch (conductor/outside.h): passes, and trackers that fail. */
#include "outside-world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Passes ------------------------------------------------------------------------------------- */

/* B23: a title is opaque; every link is asked, whatever its age. */
static void test_outside__issues_closed_as_completed_make_their_tasks_done(void **state)
{
	struct world w;
	(void)state;
	world_open(&w, "closed", "");
	world_settle(&w);
	for (int i = 0; i < LINKS; i++)
		assert_int_equal(world_status(&w, i == 0 ? "t0" : i == 1 ? "t1" : "t2"), REC_DONE);
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
	world_settle(&w);
	assert_int_equal(world_health(&w)->requests, 2); /* hello, fetch */
	for (int i = 0; i < 29; i++)
		world_pass(&w, 1);
	assert_int_equal(world_health(&w)->requests, 2);
	world_pass(&w, 1);
	assert_int_equal(world_health(&w)->requests, 3);
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
		world_pass(&w, 1000);
	assert_int_equal(world_health(&w)->requests, 0);
	assert_int_equal(world_status(&w, "t0"), REC_READY);
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
	while (world_status(&w, "t0") != REC_DONE)
		world_step(&w);
	assert_int_equal(world_status(&w, "t2"), REC_READY);
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
	world_settle(&w);
	for (int i = 0; i < 600; i++)
		world_pass(&w, 30);
	assert_int_equal(w.warnings, 1);
	assert_non_null(strstr(w.warning, "tracker fake cannot be asked: the helper exited with status 7"));
	assert_int_equal(w.others, 0);
	assert_int_equal(world_status(&w, "t0"), REC_READY);
	/* Five hours in pauses that double up to ten minutes. */
	assert_true(world_health(&w)->requests > 20 && world_health(&w)->requests < 40);
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
	world_settle(&w);
	world_pass(&w, 30);
	assert_int_equal(world_health(&w)->failures, 2);
	assert_int_equal(world_status(&w, "t0"), REC_READY);
	fd = open(place, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	world_pass(&w, 30);
	assert_int_equal(world_status(&w, "t0"), REC_DONE);
	assert_int_equal(world_health(&w)->failures, 0);
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
	world_settle(&w);
	uint64_t requests = world_health(&w)->requests;
	for (int i = 0; i < 59; i++)
		world_pass(&w, 1);
	assert_int_equal(world_health(&w)->requests, requests);
	assert_int_equal(w.warnings, 0);
	world_pass(&w, 1);
	assert_int_equal(world_health(&w)->requests, requests + 1);
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
	world_settle(&w);
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
			world_step(&w);
		while (rec_tracker_health(w.trackers, 1)->requests < passes + 1 ||
		       rec_tracker_health(w.trackers, 1)->reached_us < w.clock.now_monotonic_us);
		assert_int_equal(world_status(&w, "a"), REC_DONE);
		assert_true(w.due_us <= w.clock.now_monotonic_us + 5 * SECOND);
		rec_clock_manual_advance(&w.clock, 5 * SECOND);
		w.due_us = 0;
	}
	assert_true(world_health(&w)->requests <= 2); /* hello, and the fetch that it still owes */
	assert_int_equal(w.warnings, 0);
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
			world_settle(&w);
			for (int i = 0; i < 3 && world_status(&w, "t2") != REC_DONE; i++)
				world_pass(&w, 700); /* a pass that was given up is made again */
			assert_int_equal(world_status(&w, "t2"), REC_DONE);
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
		cmocka_unit_test(test_outside__each_allocation_may_fail),
	};
	return outside_main(count, arguments, tests, sizeof tests / sizeof *tests);
}
