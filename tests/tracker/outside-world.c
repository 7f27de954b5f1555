/* outside-world.c - see outside-world.h. */
#include "outside-world.h"

#include <poll.h>
#include <stdio.h>

#define GUARD_MS 20000

const char *outside_program, *outside_leash;

void world_tell(void *context, const struct rec_event *event)
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

int world_make_beside(struct world *w, const char *mode, const char *place, const char *beside, int64_t interval_us,
		      bool close_issues, const struct rec_allocator *a, struct rec_error *error)
{
	const char *const commands[][4] = {{outside_program, mode, place, NULL}, {outside_program, beside, "", NULL}};
	const struct rec_tracker_options two[] = {
		{.name = "fake", .url_prefix = "https://x.test/", .command = commands[0]},
		{.name = "beside", .url_prefix = "https://a.test/", .command = commands[1]},
	};
	const struct rec_trackers_options trackers = {two, beside ? 2 : 1, outside_leash, a};
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
						    .tell = world_tell,
						    .context = w};
	return r ? r : rec_outside_new(&options, &w->outside, error);
}

int world_make(struct world *w, const char *mode, const char *place, int64_t interval_us, bool close_issues,
	       const struct rec_allocator *a, struct rec_error *error)
{
	return world_make_beside(w, mode, place, NULL, interval_us, close_issues, a, error);
}

void world_free(struct world *w)
{
	w->outside = rec_outside_free(w->outside);
	w->trackers = rec_trackers_free(w->trackers);
	w->store = rec_store_close(w->store);
}

void world_open(struct world *w, const char *mode, const char *place)
{
	struct rec_error error;
	assert_int_equal(world_make(w, mode, place, 30 * SECOND, false, NULL, &error), 0);
}

void world_settle(struct world *w)
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

void world_pass(struct world *w, int64_t seconds)
{
	rec_clock_manual_advance(&w->clock, seconds * SECOND);
	world_settle(w);
}

void world_step(struct world *w)
{
	struct rec_error error;
	bool wrote;
	struct pollfd wait = {.fd = rec_outside_fd(w->outside), .events = POLLIN};
	if (w->due_us > w->clock.now_monotonic_us)
		assert_true(poll(&wait, 1, GUARD_MS) > 0);
	assert_int_equal(rec_outside_step(w->outside, &w->due_us, &wrote, &error), 0);
}

enum rec_status world_status(struct world *w, const char *id)
{
	struct rec_arena arena;
	struct rec_task task;
	struct rec_error error;
	rec_arena_init(&arena, NULL);
	assert_int_equal(rec_store_get(w->store, rec_slice_of(id), &arena, &task, &error), 0);
	rec_arena_release(&arena);
	return task.status;
}

const struct rec_tracker_health *world_health(const struct world *w)
{
	return rec_tracker_health(w->trackers, 0);
}

int outside_main(int count, char **arguments, const struct CMUnitTest *tests, size_t test_count)
{
	if (count != 3)
		return 2;
	outside_program = arguments[1];
	outside_leash = arguments[2];
	return _cmocka_run_group_tests("tests", tests, test_count, NULL, NULL);
}
