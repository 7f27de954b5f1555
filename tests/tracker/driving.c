/* driving.c - see driving.h. */
#include "driving.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GUARD_MS 20000 /* no test waits so long: the machine is at fault */

void driving_open(struct driving *d, const char *mode, const char *place, const struct rec_allocator *a)
{
	const char *const command[] = {d->program, mode, place, NULL};
	const struct rec_tracker_options one = {.name = "fake", .url_prefix = "https://x.test/", .command = command};
	const struct rec_trackers_options options = {
		.trackers = &one, .count = 1, .leash_path = d->leash, .allocator = a};
	struct rec_error error;
	assert_int_equal(rec_trackers_new(&options, &d->t, &error), 0);
	d->now_us = 1000 * SECOND;
}

void driving_close(struct driving *d)
{
	d->t = rec_trackers_free(d->t);
}

int driving_ask(struct driving *d, size_t first, size_t count, bool known)
{
	struct rec_link *links = calloc(count, sizeof *links);
	char(*urls)[32] = calloc(count, sizeof *urls);
	struct rec_error error;
	const struct rec_tracker_cursor cursor = {rec_slice_of("repo:a"), rec_slice_of("0")};
	assert_true(links && urls);
	for (size_t i = 0; i < count; i++) {
		snprintf(urls[i], sizeof urls[i], "https://x.test/%zu", first + i);
		links[i].url = rec_slice_of(urls[i]);
		if (known)
			links[i].validator = rec_slice_of("v0");
	}
	d->told_count = d->answers = d->cursor_count = d->closed_count = 0;
	d->cursors[0] = d->close_problem[0] = '\0';
	d->last = d->reached = d->closed = false;
	int r = rec_trackers_ask(d->t, 0, links, count, &cursor, 1, d->now_us, &error);
	free(links);
	free(urls);
	return r;
}

static void text_keep(char *out, size_t capacity, struct rec_slice text)
{
	snprintf(out, capacity, "%.*s", (int)text.length, text.data ? text.data : "");
}

static void answer_keep(struct driving *d, const struct rec_tracker_answer *answer)
{
	d->answers++;
	d->reached = answer->reached;
	if (answer->kind == REC_TRACKER_CLOSED) {
		d->closed_count++;
		d->closed = answer->closed;
		text_keep(d->close_problem, sizeof d->close_problem, answer->problem);
		return;
	}
	assert_false(d->last); /* nothing comes after the last */
	d->last = answer->last;
	for (size_t i = 0; i < answer->count; i++) {
		struct told *told = &d->told[d->told_count++];
		assert_true(d->told_count <= TOLD_MAX);
		text_keep(told->url, sizeof told->url, answer->observations[i].url);
		text_keep(told->problem, sizeof told->problem, answer->observations[i].problem);
		told->state = answer->observations[i].state;
	}
	d->cursor_count += answer->cursor_count;
	for (size_t i = 0; i < answer->cursor_count; i++) {
		size_t used = strlen(d->cursors);
		snprintf(d->cursors + used, sizeof d->cursors - used, "%.*s=%.*s ", (int)answer->cursors[i].key.length,
			 answer->cursors[i].key.data, (int)answer->cursors[i].value.length,
			 answer->cursors[i].value.data);
	}
}

bool driving_run(struct driving *d, int silence_ms)
{
	struct rec_tracker_answer answer;
	struct rec_error error;
	for (;;) {
		int r = rec_trackers_step(d->t, d->now_us, &error);
		assert_true(r == 0 || r == REC_E_NOMEM);
		while (rec_trackers_next(d->t, &answer) == 0)
			answer_keep(d, &answer);
		if (!rec_trackers_busy(d->t))
			return true;
		if (r == REC_E_NOMEM || rec_trackers_due_us(d->t) <= d->now_us)
			continue;
		struct pollfd wait = {.fd = rec_trackers_fd(d->t), .events = POLLIN};
		if (poll(&wait, 1, silence_ms < 0 ? GUARD_MS : silence_ms) == 0) {
			assert_true(silence_ms >= 0);
			return false;
		}
	}
}

void driving_run_out(struct driving *d)
{
	while (!driving_run(d, 20)) {
		assert_true(rec_trackers_due_us(d->t) < INT64_MAX);
		d->now_us = rec_trackers_due_us(d->t);
	}
}

const struct rec_tracker_health *driving_health(const struct driving *d)
{
	return rec_tracker_health(d->t, 0);
}

struct driving *driving_of(void **state, const char *mode)
{
	struct driving *d = *state;
	driving_open(d, mode, "", NULL);
	return d;
}

int driving_teardown(void **state)
{
	driving_close(*state);
	return 0;
}

void driving_assert_open(const struct driving *d, size_t count)
{
	assert_int_equal(d->told_count, count);
	assert_true(d->last);
	assert_true(d->reached);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(d->told[i].state, REC_OBSERVED_OPEN);
	assert_int_equal(driving_health(d)->failures, 0);
}

static char folder[] = "/tmp/reconciler-trackers-XXXXXX";

const char *driving_place(char *out, size_t capacity, const char *name)
{
	snprintf(out, capacity, "%s/%s", folder, name);
	return out;
}

int driving_main(int count, char **arguments, const struct CMUnitTest *tests, size_t test_count)
{
	struct driving *d = calloc(1, sizeof *d);
	struct CMUnitTest *run = calloc(test_count, sizeof *run);
	for (int fd = 3; fd < 1024; fd++) /* whatever the test itself was started with */
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (count != 3 || !d || !run || !mkdtemp(folder))
		return 2;
	d->program = arguments[1];
	d->leash = arguments[2];
	for (size_t i = 0; i < test_count; i++) {
		run[i] = tests[i];
		run[i].initial_state = d;
	}
	int failed = _cmocka_run_group_tests("helpers", run, test_count, NULL, NULL);
	free(run);
	free(d);
	return failed;
}
