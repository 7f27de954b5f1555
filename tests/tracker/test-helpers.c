/* Trackers with real helpers: what each kind of misbehaviour comes to. Arguments: fake-helper, reconciler-leash. */
#include "driving.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void assert_unreachable(const struct driving *d, size_t count, const char *problem)
{
	assert_int_equal(d->told_count, count);
	assert_true(d->last);
	assert_false(d->reached);
	assert_int_equal(d->cursor_count, 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(d->told[i].state, REC_OBSERVED_UNKNOWN);
		assert_non_null(strstr(d->told[i].problem, problem));
	}
	assert_int_equal(driving_health(d)->state, REC_TRACKER_DOWN);
	assert_non_null(strstr(driving_health(d)->problem, problem));
}

static void pass_fails(void **state, const char *mode, const char *problem, bool hangs)
{
	struct driving *d = driving_of(state, mode);
	assert_int_equal(driving_ask(d, 7, 3, false), 0);
	if (hangs)
		driving_run_out(d);
	else
		assert_true(driving_run(d, -1));
	assert_unreachable(d, 3, problem);
	assert_int_equal(driving_ask(d, 7, 3, false), REC_REFUSED);
	assert_false(rec_trackers_busy(d->t));
}

/* One pass over three links that fails by what the helper does. */
static void fails(void **state, const char *mode, const char *problem)
{
	pass_fails(state, mode, problem, false);
}

/* Or by what it does not. */
static void hangs(void **state, const char *mode)
{
	pass_fails(state, mode, "did not answer within 30000 ms", true);
}

/* ---- Good ones ---------------------------------------------------------------------------------- */

static void test_helpers__links_are_asked_and_answered_in_order(void **state)
{
	struct driving *d = driving_of(state, "good");
	assert_int_equal(driving_ask(d, 1, 3, true), 0);
	assert_true(driving_run(d, -1));
	driving_assert_open(d, 3);
	assert_string_equal(d->told[0].url, "https://x.test/1");
	assert_string_equal(d->told[2].url, "https://x.test/3");
	assert_int_equal(d->answers, 1);
}

/* Three standard descriptors and nothing else of ours. */
static void test_helpers__a_helper_inherits_three_descriptors(void **state)
{
	struct driving *d = driving_of(state, "good");
	assert_int_equal(driving_ask(d, 1, 1, false), 0);
	assert_true(driving_run(d, -1));
	assert_string_equal(driving_health(d)->helper, "fake 3");
}

static void test_helpers__one_process_serves_many_passes(void **state)
{
	struct driving *d = driving_of(state, "good");
	for (int i = 0; i < 5; i++) {
		assert_int_equal(driving_ask(d, 1, 3, true), 0);
		assert_true(driving_run(d, -1));
		driving_assert_open(d, 3);
	}
	assert_int_equal(driving_health(d)->requests, 6); /* one hello */
}

static void test_helpers__a_helper_that_leaves_after_each_answer_is_started_again(void **state)
{
	struct driving *d = driving_of(state, "one-shot");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(driving_ask(d, 1, 3, true), 0);
		assert_true(driving_run(d, -1));
		driving_assert_open(d, 3);
	}
	assert_int_equal(driving_health(d)->failures, 0);
}

static void test_helpers__many_links_are_asked_in_several_requests(void **state)
{
	struct driving *d = driving_of(state, "cursors");
	assert_int_equal(driving_ask(d, 0, 5000, true), 0);
	assert_int_equal(driving_ask(d, 0, 0, true), REC_CONFLICT);
	assert_true(driving_run(d, -1));
	driving_assert_open(d, 5000);
	assert_int_equal(d->answers, 3);
	for (size_t i = 1; i < d->told_count; i++)
		assert_true(strcmp(d->told[i - 1].url, d->told[i].url) < 0);
	/* The first value of a key stands; they come with the last answer. */
	assert_string_equal(d->cursors, "repo:a=1 only:1=x only:2=x only:3=x ");
}

/* Else what changed between two requests, of which the second failed, would never be seen. */
static void test_helpers__cursors_of_a_pass_that_was_not_answered_whole_are_dropped(void **state)
{
	struct driving *d = driving_of(state, "cursors-fail");
	assert_int_equal(driving_ask(d, 0, 3000, true), 0);
	assert_true(driving_run(d, -1));
	assert_int_equal(d->told_count, 3000);
	assert_int_equal(d->told[0].state, REC_OBSERVED_OPEN);
	assert_int_equal(d->told[2999].state, REC_OBSERVED_UNKNOWN);
	assert_int_equal(d->cursor_count, 0);
	assert_false(d->reached);
}

static void test_helpers__no_links_are_no_request(void **state)
{
	struct driving *d = driving_of(state, "good");
	assert_int_equal(driving_ask(d, 0, 0, false), 0);
	assert_false(rec_trackers_busy(d->t));
	assert_int_equal(rec_trackers_due_us(d->t), INT64_MAX);
	assert_int_equal(driving_health(d)->state, REC_TRACKER_UNTRIED);
}

/* B21: nobody asks again before the time, and nothing is a refusal. */
static void test_helpers__a_limit_pauses_the_tracker_and_keeps_what_was_told(void **state)
{
	struct driving *d = driving_of(state, "limit");
	assert_int_equal(driving_ask(d, 0, 3000, true), 0);
	assert_true(driving_run(d, -1));
	assert_int_equal(d->told[0].state, REC_OBSERVED_OPEN);
	assert_int_equal(d->told[2999].state, REC_OBSERVED_UNKNOWN);
	assert_int_equal(driving_health(d)->state, REC_TRACKER_PAUSED);
	assert_true(driving_health(d)->has_budget);
	assert_int_equal(driving_health(d)->budget_limit, 5000);
	assert_int_equal(driving_health(d)->requests, 2);
	d->now_us += 59 * SECOND;
	assert_int_equal(driving_ask(d, 0, 3, true), REC_REFUSED);
	d->now_us += SECOND;
	assert_int_equal(driving_ask(d, 0, 3, true), 0);
	assert_true(driving_run(d, -1));
	driving_assert_open(d, 3);
}

static void test_helpers__a_tracker_that_says_why_it_cannot_keeps_its_helper(void **state)
{
	struct driving *d = driving_of(state, "problem");
	assert_int_equal(driving_ask(d, 0, 3, true), 0);
	assert_true(driving_run(d, -1));
	assert_unreachable(d, 3, "401: bad credentials");
	d->now_us += 120 * SECOND;
	assert_int_equal(driving_ask(d, 0, 3, true), 0);
	assert_true(driving_run(d, -1));
	assert_int_equal(driving_health(d)->requests, 3); /* one hello */
}

/* ---- Bad ones ----------------------------------------------------------------------------------- */

static void test_helpers__one_that_hangs_is_unreachable(void **state)
{
	hangs(state, "hang");
}

static void test_helpers__one_that_never_says_hello_is_unreachable(void **state)
{
	hangs(state, "silent");
}

static void test_helpers__one_that_closes_its_input_is_unreachable(void **state)
{
	hangs(state, "deaf");
}

/* B22: garbage is neither closed nor missing. */
static void test_helpers__one_that_prints_html_is_unreachable(void **state)
{
	fails(state, "garbage", "cannot be read");
}

static void test_helpers__one_whose_line_never_ends_is_unreachable(void **state)
{
	fails(state, "huge", "said more than it may");
}

static void test_helpers__one_that_floods_is_unreachable(void **state)
{
	fails(state, "flood", "answers what it was not asked");
}

/* Nothing is asked of it any more, and yet it would be read for ever. */
static void test_helpers__one_that_never_stops_talking_to_people_is_ended(void **state)
{
	struct rec_error error;
	struct driving *d = driving_of(state, "mutter");
	assert_int_equal(driving_ask(d, 1, 3, false), 0);
	assert_true(driving_run(d, -1));
	driving_assert_open(d, 3);
	for (int i = 0; i < 10000 && driving_health(d)->state == REC_TRACKER_REACHED; i++) {
		struct pollfd wait = {.fd = rec_trackers_fd(d->t), .events = POLLIN};
		assert_true(poll(&wait, 1, 20000) > 0);
		assert_int_equal(rec_trackers_step(d->t, d->now_us, &error), 0);
	}
	assert_int_equal(driving_health(d)->state, REC_TRACKER_DOWN);
	assert_non_null(strstr(driving_health(d)->problem, "said more than it may"));
}

static void test_helpers__one_that_exits_at_once_is_unreachable_and_quoted(void **state)
{
	fails(state, "at-once", "exited with status 7: fake: there is no such repository");
}

static void test_helpers__what_is_quoted_holds_no_secret_and_no_control_character(void **state)
{
	setenv("FAKE_TOKEN", "fake-0123456789", 1);
	fails(state, "leak", "exited with status 7: \\x1b[31mrefused\\x1b[0m: ***");
	driving_close(*state);
	fails(state, "leak-problem", "bad token ***");
}

static void test_helpers__what_is_told_of_a_link_or_a_close_holds_no_secret(void **state)
{
	struct rec_error error;
	setenv("FAKE_TOKEN", "fake-0123456789", 1);
	struct driving *d = driving_of(state, "leak-links");
	assert_int_equal(driving_ask(d, 0, 5, false), 0);
	assert_true(driving_run(d, -1));
	assert_int_equal(d->told_count, 5);
	assert_string_equal(d->told[0].problem, "refused ***");
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(d->told[i].state, REC_OBSERVED_UNKNOWN);
		assert_string_equal(d->told[i].problem, "the tracker told a secret of ours");
	}
	assert_int_equal(d->told[4].state, REC_OBSERVED_OPEN);
	assert_int_equal(d->cursor_count, 0);
	assert_int_equal(rec_trackers_close(d->t, 0, rec_slice_of("https://x.test/0"), rec_slice_of("done"),
					    rec_slice_of("m"), d->now_us, &error),
			 0);
	assert_true(driving_run(d, -1));
	assert_string_equal(d->close_problem, "403 for ***");
}

static void test_helpers__one_that_exits_while_asked_is_unreachable(void **state)
{
	fails(state, "exit", "exited with status 3");
}

static void test_helpers__one_that_is_killed_is_unreachable(void **state)
{
	fails(state, "die", "ended by signal 9");
}

static void test_helpers__one_that_answers_without_observations_is_unreachable(void **state)
{
	fails(state, "empty", "without observations");
}

static void test_helpers__one_of_another_protocol_is_unreachable(void **state)
{
	fails(state, "old", "does not speak protocol 1");
}

static void test_helpers__one_without_a_token_says_so(void **state)
{
	fails(state, "no-token", "there is no token");
}

static void test_helpers__one_that_is_not_there_is_unreachable(void **state)
{
	struct driving *d = *state, missing = *d;
	missing.program = "/nowhere/at/all";
	for (int leashed = 1; leashed >= 0; leashed--) {
		missing.leash = leashed ? d->leash : NULL;
		driving_open(&missing, "good", "", NULL);
		assert_int_equal(driving_ask(&missing, 7, 3, false), 0);
		assert_true(driving_run(&missing, -1));
		assert_unreachable(&missing, 3, "/nowhere/at/all");
		driving_close(&missing);
	}
}

static void test_helpers__one_that_answers_twice_is_heard_once(void **state)
{
	struct driving *d = driving_of(state, "twice");
	for (int i = 0; i < 5; i++) {
		assert_int_equal(driving_ask(d, 1, 3, true), 0);
		assert_true(driving_run(d, -1));
		driving_assert_open(d, 3);
		assert_int_equal(d->answers, 1);
	}
}

static void test_helpers__one_that_closes_its_output_after_an_answer_is_started_again(void **state)
{
	struct driving *d = driving_of(state, "half");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(driving_ask(d, 1, 3, true), 0);
		assert_true(driving_run(d, -1));
		driving_assert_open(d, 3);
	}
}

/* Unknown is not gone, and a lie is not believed. */
static void test_helpers__lies_are_unknown(void **state)
{
	struct driving *d = driving_of(state, "lie");
	assert_int_equal(driving_ask(d, 6, 4, false), 0);
	assert_true(driving_run(d, -1));
	assert_int_equal(d->told_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(d->told[i].state, REC_OBSERVED_UNKNOWN);
	assert_string_equal(d->told[0].problem, "the tracker did not answer about it");
	assert_string_equal(d->told[1].problem, "the tracker told two different things about it");
	assert_string_equal(d->told[2].problem, "the tracker said unchanged of what it had never told");
	assert_string_equal(d->told[3].problem, "the tracker told a state that is not known");
	assert_int_equal(driving_health(d)->state, REC_TRACKER_REACHED);
	assert_int_equal(d->cursor_count, 0);
}

/* Else what it should have told would lie behind the cursor, and be called unchanged for ever after. */
static void test_helpers__a_cursor_that_comes_with_a_lie_is_not_kept(void **state)
{
	static const char *const lies[] = {
		"\"state\":\"done\"",
		"\"kind\":\"issue\"",
		"\"state\":\"open\",\"time\":\"yesterday\"",
		"\"state\":\"open\",\"comments\":-1",
		"\"state\":\"open\",\"moved_to\":\"no address\"",
		"\"state\":\"unchanged\"",
		"\"state\":\"open\"},{\"url\":\"https://x.test/0\",\"state\":\"closed\"",
	};
	struct driving *d = *state;
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		driving_open(d, "lie-once", lies[i], NULL);
		assert_int_equal(driving_ask(d, 0, 1, false), 0);
		assert_true(driving_run(d, -1));
		assert_int_equal(d->told[0].state, REC_OBSERVED_UNKNOWN);
		assert_int_equal(d->cursor_count, 0);
		assert_true(d->reached);
		driving_close(d);
	}
	driving_open(d, "lie-once", "\"state\":\"unknown\"", NULL); /* this is no lie */
	assert_int_equal(driving_ask(d, 0, 1, false), 0);
	assert_true(driving_run(d, -1));
	assert_int_equal(d->cursor_count, 1);
}

/* ---- Life and death ----------------------------------------------------------------------------- */

static void test_helpers__a_hung_helper_is_started_again_after_its_pause(void **state)
{
	char place[64];
	struct driving *d = *state;
	driving_open(d, "hang-unless", driving_place(place, sizeof place, "well"), NULL);
	assert_int_equal(driving_ask(d, 1, 3, false), 0);
	driving_run_out(d);
	assert_unreachable(d, 3, "did not answer");
	int fd = open(place, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	d->now_us += 4 * SECOND;
	assert_int_equal(driving_ask(d, 1, 3, false), REC_REFUSED);
	d->now_us += SECOND;
	assert_int_equal(driving_ask(d, 1, 3, false), 0);
	assert_true(driving_run(d, -1));
	driving_assert_open(d, 3);
}

/* ---- Closing ------------------------------------------------------------------------------------ */

static int close_ask(struct driving *d)
{
	struct rec_error error;
	d->closed_count = 0;
	return rec_trackers_close(d->t, 0, rec_slice_of("https://x.test/7"), rec_slice_of("done by task \"parser\""),
				  rec_slice_of("reconciler:b:t:1"), d->now_us, &error);
}

static void test_helpers__an_item_is_closed_behind_the_pass(void **state)
{
	struct driving *d = driving_of(state, "good");
	assert_int_equal(driving_ask(d, 1, 3, true), 0);
	assert_int_equal(close_ask(d), 0);
	assert_true(driving_run(d, -1));
	assert_true(d->last);
	assert_int_equal(d->closed_count, 1);
	assert_true(d->closed);
}

static void test_helpers__an_item_that_cannot_be_closed_says_why(void **state)
{
	static const char *const modes[][2] = {{"no-close", "cannot close anything"},
					       {"close-refused", "403: not yours"},
					       {"at-once", "exited with status 7"}};
	struct driving *d = *state;
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		driving_open(d, modes[i][0], "", NULL);
		assert_int_equal(close_ask(d), 0);
		assert_true(driving_run(d, -1));
		assert_int_equal(d->closed_count, 1);
		assert_false(d->closed);
		assert_non_null(strstr(d->close_problem, modes[i][1]));
		driving_close(d);
	}
}

static void test_helpers__only_so_many_closes_wait(void **state)
{
	struct driving *d = driving_of(state, "hang");
	int r = 0;
	for (int i = 0; i < 257 && r == 0; i++)
		r = close_ask(d);
	assert_int_equal(r, REC_E_LIMIT);
}

/* ---- Memory ------------------------------------------------------------------------------------- */

static void test_helpers__each_allocation_may_fail(void **state)
{
	struct driving *d = *state;
	struct rec_failing_allocator f;
	struct rec_error error;
	const struct rec_link link = {.url = rec_slice_of("https://x.test/1")};
	const char *const command[] = {d->program, "cursors", NULL};
	const struct rec_tracker_options one = {"fake", "https://x.test/", command, 0, 0, 0.6};
	uint64_t n = 0;
	do {
		rec_failing_allocator_init(&f, ++n, 0);
		const struct rec_trackers_options options = {
			.trackers = &one, .count = 1, .leash_path = d->leash, .allocator = &f.allocator};
		int r = rec_trackers_new(&options, &d->t, &error);
		if (r != 0) {
			assert_int_equal(r, REC_E_NOMEM);
			assert_int_equal(f.live, 0);
			continue;
		}
		d->now_us = 1000 * SECOND;
		d->told_count = d->closed_count = 0;
		d->last = false;
		do
			r = rec_trackers_ask(d->t, 0, &link, 1, NULL, 0, d->now_us, &error);
		while (r == REC_E_NOMEM);
		do
			r = close_ask(d);
		while (r == REC_E_NOMEM);
		assert_true(driving_run(d, -1));
		driving_assert_open(d, 1);
		assert_true(d->closed);
		driving_close(d);
		assert_int_equal(f.live, 0);
	} while (f.calls >= n);
	assert_true(n > 20);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_helpers__links_are_asked_and_answered_in_order, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__a_helper_inherits_three_descriptors, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_process_serves_many_passes, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__a_helper_that_leaves_after_each_answer_is_started_again,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__many_links_are_asked_in_several_requests, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__cursors_of_a_pass_that_was_not_answered_whole_are_dropped,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__no_links_are_no_request, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__a_limit_pauses_the_tracker_and_keeps_what_was_told,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__a_tracker_that_says_why_it_cannot_keeps_its_helper,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_hangs_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_never_says_hello_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_closes_its_input_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_prints_html_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_whose_line_never_ends_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_floods_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_exits_at_once_is_unreachable_and_quoted,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__what_is_quoted_holds_no_secret_and_no_control_character,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_never_stops_talking_to_people_is_ended,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__what_is_told_of_a_link_or_a_close_holds_no_secret,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_exits_while_asked_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_is_killed_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_answers_without_observations_is_unreachable,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_of_another_protocol_is_unreachable, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_without_a_token_says_so, driving_teardown),
		cmocka_unit_test(test_helpers__one_that_is_not_there_is_unreachable),
		cmocka_unit_test_teardown(test_helpers__one_that_answers_twice_is_heard_once, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__one_that_closes_its_output_after_an_answer_is_started_again,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__lies_are_unknown, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__a_cursor_that_comes_with_a_lie_is_not_kept, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__a_hung_helper_is_started_again_after_its_pause,
					  driving_teardown),
		cmocka_unit_test_teardown(test_helpers__an_item_is_closed_behind_the_pass, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__an_item_that_cannot_be_closed_says_why, driving_teardown),
		cmocka_unit_test_teardown(test_helpers__only_so_many_closes_wait, driving_teardown),
		cmocka_unit_test(test_helpers__each_allocation_may_fail),
	};
	return driving_main(count, arguments, tests, sizeof tests / sizeof *tests);
}
