/* What follows from observations: every rule as a row, and properties over random histories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/test-support.h"
#include "base/timestamp.h"
#include "core/observe.h"

#define S(text) rec_slice_of(text)
#define NO_TEXT ((struct rec_slice){NULL, 0})
#define ISSUE "https://github.com/acme/app/issues/7"
#define PULL "https://github.com/acme/app/pull/15"
#define T1 "2026-01-01T10:00:00Z"
#define T2 "2026-01-01T10:00:03Z"

static struct rec_slice optional(const char *text)
{
	return text ? S(text) : NO_TEXT;
}

static struct rec_link link_of(const char *url, enum rec_observed state, const char *reason, const char *time)
{
	return (struct rec_link){.task_id = S("t"),
				 .url = S(url),
				 .kind = rec_link_kind_of_url(S(url)),
				 .state = state,
				 .reason = optional(reason),
				 .time = optional(time)};
}

static struct rec_observation seen(enum rec_observed state, const char *reason, const char *time)
{
	return (struct rec_observation){.state = state, .reason = optional(reason), .time = optional(time)};
}

static struct rec_observed_outcome observe(const struct rec_link *link, const struct rec_observation *o,
					   enum rec_status stored)
{
	struct rec_observed_outcome out;
	const struct rec_observe_input in = {.link = link, .observation = o, .stored = stored};
	rec_observe(&in, &out);
	return out;
}

/* ---- The rules ---- */

/* Before (state, reason), now (state, reason), and for each stored status what is written ('.' nothing, '!' a notice;
 * else the first letter of the status: b r i k f d m, k for BLOCKED; '=' the table says so already). */
struct rule {
	const char *name, *url;
	enum rec_observed before;
	const char *before_reason;
	bool made_done;
	enum rec_observed now;
	const char *now_reason, *text, *effects; /* BACKLOG READY IN_PROGRESS BLOCKED FAILED DONE MERGED */
};

static const struct rule rules[] = {
	{"closed as completed", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_CLOSED, "completed",
	 "issue closed as completed", "ddddd=."},
	{"closed without a reason", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_CLOSED, NULL,
	 "issue closed as completed", "ddddd=."},
	{"closed with an empty reason", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_CLOSED, "",
	 "issue closed as completed", "ddddd=."},
	{"closed as not planned", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_CLOSED, "not_planned",
	 "issue closed as not planned", "=bbb!!!"},
	{"closed as a duplicate", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_CLOSED, "duplicate",
	 "issue closed as not planned", "=bbb!!!"},
	{"closed for a reason of tomorrow", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_CLOSED, "superseded",
	 "issue closed for a reason we do not know", "!!!!!!!"},
	{"merged", PULL, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_MERGED, NULL, "pull request merged", "dddddm="},
	{"merged after it was closed", PULL, REC_OBSERVED_CLOSED, NULL, false, REC_OBSERVED_MERGED, NULL,
	 "pull request merged", "dddddm="},
	{"closed without merging", PULL, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_CLOSED, NULL,
	 "pull request closed without merging", "!!f!!!!"},
	{"still open", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_OPEN, NULL, "nothing new at the tracker",
	 "......."},
	{"still closed", ISSUE, REC_OBSERVED_CLOSED, "completed", false, REC_OBSERVED_CLOSED, "completed",
	 "nothing new at the tracker", "......."},
	{"still closed, now with its reason", ISSUE, REC_OBSERVED_CLOSED, NULL, false, REC_OBSERVED_CLOSED, "completed",
	 "nothing new at the tracker", "......."},
	{"still merged", PULL, REC_OBSERVED_MERGED, NULL, false, REC_OBSERVED_MERGED, NULL,
	 "nothing new at the tracker", "......."},
	{"the reason became another", ISSUE, REC_OBSERVED_CLOSED, "completed", false, REC_OBSERVED_CLOSED,
	 "not_planned", "issue closed as not planned", "=bbb!!!"},
	{"reopened", ISSUE, REC_OBSERVED_CLOSED, "completed", false, REC_OBSERVED_OPEN, NULL, "issue reopened",
	 "!...!!!"},
	{"reopened, and its tracker had made the task DONE", ISSUE, REC_OBSERVED_CLOSED, "completed", true,
	 REC_OBSERVED_OPEN, NULL, "issue reopened", "!...!r!"},
	{"reopened pull request", PULL, REC_OBSERVED_CLOSED, NULL, false, REC_OBSERVED_OPEN, NULL,
	 "pull request reopened", "!...!!!"},
	{"first seen open", ISSUE, REC_OBSERVED_UNKNOWN, NULL, false, REC_OBSERVED_OPEN, NULL,
	 "nothing new at the tracker", "......."},
	{"first seen closed", ISSUE, REC_OBSERVED_UNKNOWN, NULL, false, REC_OBSERVED_CLOSED, NULL,
	 "issue closed as completed", "ddddd=."},
	{"first seen closed as not planned", ISSUE, REC_OBSERVED_UNKNOWN, NULL, false, REC_OBSERVED_CLOSED,
	 "not_planned", "issue closed as not planned", "=bbb!!!"},
	{"first seen merged", PULL, REC_OBSERVED_UNKNOWN, NULL, false, REC_OBSERVED_MERGED, NULL, "pull request merged",
	 "dddddm="},
	{"gone", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_GONE, NULL, "gone at the tracker", "!!!!!!!"},
	{"gone before it was seen", ISSUE, REC_OBSERVED_UNKNOWN, NULL, false, REC_OBSERVED_GONE, NULL,
	 "gone at the tracker", "!!!!!!!"},
	{"not to be seen", ISSUE, REC_OBSERVED_OPEN, NULL, false, REC_OBSERVED_UNKNOWN, NULL, "unknown at the tracker",
	 "......."},
	{"unchanged", ISSUE, REC_OBSERVED_CLOSED, NULL, false, REC_OBSERVED_UNCHANGED, NULL,
	 "nothing new at the tracker", "......."},
	{"unchanged, but never seen", ISSUE, REC_OBSERVED_UNKNOWN, NULL, false, REC_OBSERVED_UNCHANGED, NULL,
	 "unknown at the tracker", "......."},
};

static enum rec_status status_of_letter(char letter, enum rec_status stored)
{
	static const char letters[] = "brikfdm";
	const char *at = letter ? strchr(letters, letter) : NULL;
	return letter == '=' ? stored : at ? (enum rec_status)(at - letters) : REC_STATUS_ABSENT;
}

static void assert_rule(const struct rule *rule, enum rec_status stored)
{
	char letter = rule->effects[stored];
	struct rec_observed_outcome out;
	const struct rec_link link = link_of(rule->url, rule->before, rule->before_reason, T1);
	const struct rec_observation o = seen(rule->now, rule->now_reason, T2);
	const struct rec_observe_input in = {
		.link = &link, .observation = &o, .stored = stored, .made_done = rule->made_done};
	enum rec_status target = status_of_letter(letter, stored);
	bool writes = target != REC_STATUS_ABSENT;
	rec_observe(&in, &out);
	if (strcmp(rec_reason_text(out.verdict.reason), rule->text) != 0)
		fail_msg("%s, stored %s: %s", rule->name, rec_status_text(stored), rec_reason_text(out.verdict.reason));
	assert_int_equal(out.verdict.stored, stored);
	assert_int_equal(out.verdict.source, REC_SOURCE_TRACKER);
	assert_int_equal(out.write, writes && target != stored ? target : REC_STATUS_ABSENT);
	assert_int_equal(out.tell, letter == '!' || (writes && target != stored));
	assert_int_equal(out.made_done, out.write == REC_DONE);
	struct rec_verdict cell = rec_decide_task(target, stored);
	assert_int_equal(out.verdict.action, writes ? cell.action : REC_NONE);
	assert_int_equal(out.verdict.discrepancy, writes ? cell.discrepancy : letter == '!');
	if (writes)
		assert_int_equal(out.verdict.external, target);
	if (out.write != REC_STATUS_ABSENT)
		assert_true(rec_transition_path(stored, out.write, NULL) > 0);
}

static void test_observe__every_rule_for_every_stored_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		for (unsigned stored = 0; stored < REC_STATUS_COUNT; stored++)
			assert_rule(&rules[i], (enum rec_status)stored);
}

static void test_observe__a_missing_task_and_an_unknown_status_are_left_alone(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, T1);
	const struct rec_observation o = seen(REC_OBSERVED_CLOSED, NULL, T2);
	struct rec_observed_outcome out = observe(&link, &o, REC_STATUS_ABSENT);
	assert_string_equal(rec_reason_text(out.verdict.reason), "task not found");
	assert_false(out.tell || out.remember || out.verdict.discrepancy);
	/* what changed is acted on when the row has been mended */
	out = observe(&link, &o, REC_STATUS_UNRECOGNISED);
	assert_string_equal(rec_reason_text(out.verdict.reason), "unrecognised status in durable state");
	assert_true(out.verdict.discrepancy);
	assert_false(out.tell || out.remember);
	link.validator = S("a1"); /* by which the next answer would be "unchanged" */
	out = observe(&link, &o, REC_STATUS_UNRECOGNISED);
	assert_true(out.remember);
	assert_null(out.link.validator.data);
	assert_int_equal(out.link.state, REC_OBSERVED_OPEN);
}

/* ---- Time ---- */

static void test_observe__an_older_observation_changes_nothing(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, T2);
	struct rec_observation late = seen(REC_OBSERVED_CLOSED, NULL, T1);
	late.validator = S("new");
	late.moved_to = S("https://github.com/acme/new/issues/1");
	struct rec_observed_outcome out = observe(&link, &late, REC_READY);
	assert_string_equal(rec_reason_text(out.verdict.reason), "older than what is known");
	assert_int_equal(out.write, REC_STATUS_ABSENT);
	assert_false(out.tell || out.remember || out.read_again || out.verdict.discrepancy);
}

static void test_observe__times_are_compared_as_times_not_as_text(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, "2026-01-01T11:00:00+01:00"); /* 10:00:00Z */
	struct rec_observation o = seen(REC_OBSERVED_CLOSED, NULL, "2026-01-01T10:00:00.5Z");
	assert_int_equal(observe(&link, &o, REC_READY).write, REC_DONE);
	o.time = S("2026-01-01 09:59:59");
	assert_int_equal(observe(&link, &o, REC_READY).write, REC_STATUS_ABSENT);
}

static void test_observe__a_tie_is_read_again_and_then_followed(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, T1);
	struct rec_observation o = seen(REC_OBSERVED_CLOSED, NULL, T1);
	struct rec_observed_outcome out = observe(&link, &o, REC_READY);
	assert_true(out.read_again);
	assert_string_equal(rec_reason_text(out.verdict.reason), "as old as what is known; to be read again");
	assert_int_equal(out.write, REC_STATUS_ABSENT);
	assert_false(out.tell || out.remember);
	const struct rec_observe_input again = {.link = &link, .observation = &o, .stored = REC_READY, .again = true};
	rec_observe(&again, &out);
	assert_int_equal(out.write, REC_DONE);
	assert_false(out.read_again);
	/* either of the two may have been late: nothing must make the next answer "unchanged" */
	struct rec_link with_validator = link;
	with_validator.validator = S("a1");
	o.validator = S("b2");
	struct rec_observe_input once_more = again;
	once_more.link = &with_validator;
	for (int i = 0; i < 4; i++) {
		o.state = (enum rec_observed[]){REC_OBSERVED_CLOSED, REC_OBSERVED_OPEN, REC_OBSERVED_UNKNOWN,
						REC_OBSERVED_UNCHANGED}[i];
		rec_observe(&once_more, &out);
		assert_true(out.remember);
		assert_null(out.link.validator.data);
	}
	/* a tie that says the same is none */
	o = seen(REC_OBSERVED_OPEN, NULL, T1);
	out = observe(&link, &o, REC_READY);
	assert_false(out.read_again || out.remember);
	/* read again it may still be late: older stays older */
	o = seen(REC_OBSERVED_CLOSED, NULL, T1);
	link.time = S(T2);
	rec_observe(&again, &out);
	assert_int_equal(out.write, REC_STATUS_ABSENT);
}

static void test_observe__without_a_time_after_one_with_it_is_read_again(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, T1);
	struct rec_observation o = seen(REC_OBSERVED_CLOSED, NULL, NULL);
	assert_true(observe(&link, &o, REC_READY).read_again);
	link.time = NO_TEXT; /* a tracker that never tells a time */
	assert_int_equal(observe(&link, &o, REC_READY).write, REC_DONE);
}

/* ---- Comments ---- */

static void test_observe__new_comments_are_told_once_and_only_while_open(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, T1);
	struct rec_observation o = seen(REC_OBSERVED_OPEN, NULL, T2);
	o.has_comments = true;
	o.comments = 3;
	struct rec_observed_outcome out = observe(&link, &o, REC_IN_PROGRESS);
	assert_false(out.tell); /* never counted before: these are not new */
	assert_true(out.remember);
	link = out.link;
	o.comments = 5;
	o.time = S("2026-01-01T10:00:04Z");
	out = observe(&link, &o, REC_IN_PROGRESS);
	assert_string_equal(rec_reason_text(out.verdict.reason), "new comments");
	assert_true(out.tell);
	assert_int_equal(out.verdict.action, REC_NONE);
	assert_int_equal(out.verdict.discrepancy, 0);
	assert_int_equal(out.write, REC_STATUS_ABSENT);
	link = out.link;
	assert_false(observe(&link, &o, REC_IN_PROGRESS).tell);
	o.comments = 4; /* one was deleted */
	o.time = S("2026-01-01T10:00:05Z");
	out = observe(&link, &o, REC_IN_PROGRESS);
	assert_false(out.tell);
	assert_int_equal(out.link.comments, 4);
	o = seen(REC_OBSERVED_OPEN, NULL, "2026-01-01T10:00:06Z"); /* a tracker that forgot to count */
	assert_int_equal(observe(&out.link, &o, REC_READY).link.comments, 4);
}

/* ---- Gone, moved ---- */

static void test_observe__gone_is_told_once_and_touches_no_task(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_CLOSED, "completed", T2);
	struct rec_observation o = seen(REC_OBSERVED_GONE, NULL, NULL);
	struct rec_observed_outcome out = observe(&link, &o, REC_READY);
	assert_true(out.tell && out.link.gone && out.remember && out.verdict.discrepancy);
	assert_int_equal(out.write, REC_STATUS_ABSENT);
	assert_int_equal(out.link.state, REC_OBSERVED_CLOSED);
	link = out.link;
	out = observe(&link, &o, REC_READY);
	assert_false(out.tell || out.remember || out.verdict.discrepancy);
	/* it may come back, as it was */
	o = seen(REC_OBSERVED_CLOSED, "completed", "2026-01-01T10:00:09Z");
	out = observe(&link, &o, REC_READY);
	assert_false(out.tell || out.link.gone);
	assert_true(out.remember);
}

static void test_observe__where_it_moved_to_is_remembered(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, T1);
	struct rec_observation o = seen(REC_OBSERVED_OPEN, NULL, T1);
	o.moved_to = S("https://github.com/acme/new/issues/1");
	struct rec_observed_outcome out = observe(&link, &o, REC_READY);
	assert_true(out.remember);
	assert_false(out.tell || out.verdict.discrepancy);
	assert_true(rec_slice_equal(out.link.moved_to, o.moved_to));
	assert_true(rec_slice_equal(out.link.url, S(ISSUE)));
	o.moved_to = S("not an address");
	assert_string_equal(rec_reason_text(observe(&link, &o, REC_READY).verdict.reason), "unknown at the tracker");
}

/* ---- Validators ---- */

static void test_observe__a_validator_is_kept_until_another_comes(void **state)
{
	(void)state;
	struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, T1);
	struct rec_observation o = seen(REC_OBSERVED_UNCHANGED, NULL, NULL);
	link.validator = S("a1");
	struct rec_observed_outcome out = observe(&link, &o, REC_READY);
	assert_false(out.remember);
	assert_true(rec_slice_equal(out.link.validator, S("a1")));
	o.validator = S("b2");
	out = observe(&link, &o, REC_READY);
	assert_true(out.remember);
	assert_true(rec_slice_equal(out.link.validator, S("b2")));
	o = seen(REC_OBSERVED_CLOSED, NULL, T2);
	assert_true(rec_slice_equal(observe(&link, &o, REC_READY).link.validator, S("a1")));
	o.state = REC_OBSERVED_UNKNOWN; /* what cannot be seen gives no validator either */
	o.validator = S("c3");
	assert_false(observe(&link, &o, REC_READY).remember);
}

/* ---- What cannot be ---- */

static void test_observe__what_cannot_be_is_unknown(void **state)
{
	(void)state;
	static char longer[REC_VALIDATOR_BYTES_MAX + 2];
	memset(longer, 'x', sizeof longer - 1);
	const struct rec_observation good = seen(REC_OBSERVED_CLOSED, "completed", T2);
	struct rec_observation bad[12];
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		bad[i] = good;
	bad[0].state = (enum rec_observed)17;
	bad[1].kind = (enum rec_link_kind)17;
	bad[2].time = S("yesterday");
	bad[3].time = S("2026-02-30T00:00:00Z");
	bad[4].reason = S(longer);
	bad[5].reason = S("\xff");
	bad[6].reason = (struct rec_slice){"a\0b", 3};
	bad[7].validator = S(longer);
	bad[8].validator = S("\xc3");
	bad[9].moved_to = S("a b");
	bad[10].moved_to = S("");
	bad[11].has_comments = true;
	bad[11].comments = -1;
	const struct rec_link link = link_of(ISSUE, REC_OBSERVED_OPEN, NULL, T1);
	assert_null(rec_observation_problem(&good));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct rec_observed_outcome out = observe(&link, &bad[i], REC_READY);
		assert_non_null(rec_observation_problem(&bad[i]));
		assert_string_equal(rec_reason_text(out.verdict.reason), "unknown at the tracker");
		assert_false(out.tell || out.remember || out.verdict.discrepancy);
		assert_int_equal(out.write, REC_STATUS_ABSENT);
	}
}

/* ---- Random histories ---- */

struct world {
	uint64_t random;
	struct rec_link link;
	enum rec_status stored;
	bool made_done;
	char times[8][REC_TIMESTAMP_BYTES];
};

static uint32_t draw(struct world *w, uint32_t below)
{
	return (uint32_t)(test_random(&w->random) % below);
}

static struct rec_observation random_observation(struct world *w, int64_t *ret_us)
{
	static const char *const reasons[] = {NULL, "completed", "not_planned", "duplicate", "reopened", "other"};
	static unsigned at;
	char *time = w->times[at++ % 8];
	struct rec_observation o = {.state = (enum rec_observed)draw(w, 6),
				    .kind = (enum rec_link_kind)draw(w, 3),
				    .reason = optional(reasons[draw(w, 6)])};
	*ret_us = 1000000 * (int64_t)(1 + draw(w, 30));
	o.time = S(rec_timestamp_format(*ret_us, time));
	o.has_comments = draw(w, 2);
	o.comments = o.has_comments ? draw(w, 4) : 0;
	return o;
}

static void assert_untouched(const struct rec_observed_outcome *out)
{
	assert_int_equal(out->write, REC_STATUS_ABSENT);
	assert_false(out->tell || out->remember);
	assert_int_equal(out->verdict.action, REC_NONE);
}

/* Whoever comes late, in whatever order, changes nothing: the greatest time seen wins, and the same twice is once. */
static void step(struct world *w)
{
	int64_t now = 0, known = INT64_MIN;
	struct rec_observed_outcome out, twice;
	struct rec_observation o = random_observation(w, &now);
	struct rec_observe_input in = {.link = &w->link,
				       .observation = &o,
				       .stored = w->stored,
				       .made_done = w->made_done,
				       .again = draw(w, 2)};
	if (w->link.state != REC_OBSERVED_UNKNOWN && w->link.time.data)
		assert_int_equal(rec_timestamp_parse(w->link.time, &known), 0);
	rec_observe(&in, &out);
	if (o.state == REC_OBSERVED_UNKNOWN || o.state == REC_OBSERVED_UNCHANGED || now < known)
		assert_untouched(&out);
	if (out.write != REC_STATUS_ABSENT) {
		assert_true(rec_transition_path(w->stored, out.write, NULL) > 0);
		assert_true(out.tell && out.remember);
		assert_true(w->stored != REC_MERGED);
		w->stored = out.write;
		w->made_done = out.made_done;
	}
	if (out.remember) {
		assert_true(now >= known || o.state == REC_OBSERVED_GONE);
		w->link = out.link;
	}
	in.stored = w->stored;
	in.made_done = w->made_done;
	rec_observe(&in, &twice);
	if (!out.read_again)
		assert_untouched(&(struct rec_observed_outcome){
			.write = twice.write, .tell = twice.tell, .remember = twice.remember});
	if (draw(w, 3) == 0) { /* a person */
		w->stored = (enum rec_status)draw(w, REC_STATUS_COUNT);
		w->made_done = false;
	}
}

static void test_observe__late_and_repeated_observations_change_nothing_in_any_history(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		struct world w = {.random = seed, .stored = (enum rec_status)(seed % REC_STATUS_COUNT)};
		w.link = link_of(seed % 2 ? ISSUE : PULL, REC_OBSERVED_UNKNOWN, NULL, NULL);
		for (int i = 0; i < 8; i++)
			step(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_observe__every_rule_for_every_stored_status),
		cmocka_unit_test(test_observe__a_missing_task_and_an_unknown_status_are_left_alone),
		cmocka_unit_test(test_observe__an_older_observation_changes_nothing),
		cmocka_unit_test(test_observe__times_are_compared_as_times_not_as_text),
		cmocka_unit_test(test_observe__a_tie_is_read_again_and_then_followed),
		cmocka_unit_test(test_observe__without_a_time_after_one_with_it_is_read_again),
		cmocka_unit_test(test_observe__new_comments_are_told_once_and_only_while_open),
		cmocka_unit_test(test_observe__gone_is_told_once_and_touches_no_task),
		cmocka_unit_test(test_observe__where_it_moved_to_is_remembered),
		cmocka_unit_test(test_observe__a_validator_is_kept_until_another_comes),
		cmocka_unit_test(test_observe__what_cannot_be_is_unknown),
		cmocka_unit_test(test_observe__late_and_repeated_observations_change_nothing_in_any_history),
	};
	return cmocka_run_group_tests_name("core/observe", tests, NULL, NULL);
}
