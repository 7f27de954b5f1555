/* Sync: what is asked, what is written, in which order; races with people; failures. */
#include "engine/test-syncing.h"

#define T(second) "2026-01-01T10:00:0" second "Z"

static void assert_asked(const struct fake *f, const char *wanted)
{
	assert_string_equal(f->asked.length ? f->asked.data : "", wanted);
}

/* ---- Results ---- */

static void test_sync__every_id_has_its_result(void **state)
{
	struct syncing *s = *state;
	struct rec_slice ids[] = {S("T2"), S("none"), S("T1"), S("T3"), S("T2"), S("T4")};
	add(s->w, "T1", REC_READY);
	add(s->w, "T2", REC_IN_PROGRESS);
	add(s->w, "T3", REC_READY);
	add(s->w, "T4", REC_READY);
	link_to(s, "T2", ISSUE("7"));
	link_to(s, "T3", "unheard:of");
	link_to(s, "T4", ISSUE("8"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, "completed", T("1"));
	ok(s->w, rec_sync_new(s->w->store, &s->trackers, REC_SYNC_IDS, ids, 6, NO_TEXT, &s->y, &s->w->error));
	sync_round(s, false, false);
	s->results = rec_sync_results(s->y, &s->applied);
	assert_int_equal(s->results->snapshot.count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_true(rec_slice_equal(s->results->snapshot.ids[i], ids[i]));
	assert_result(s, "T2", "IN_PROGRESS DONE SKIP issue closed as completed (github, differs)");
	assert_result(s, "none", "null null NONE task not found (tracker)");
	assert_result(s, "T1", "READY null NONE task is not linked (tracker)");
	assert_result(s, "T3", "READY null NONE no tracker for its link (tracker)");
	assert_result(s, "T4", "READY null NONE unknown at the tracker (github)");
	assert_true(rec_verdict_equal(s->results->verdicts[0], s->results->verdicts[4]));
	assert_int_equal(s->results->counts[REC_SKIP], 2);
	assert_int_equal(s->results->counts[REC_NONE], 4);
	assert_int_equal(s->results->calls, 2);
}

static void test_sync__no_tasks_and_no_trackers_are_fine(void **state)
{
	struct syncing *s = *state;
	struct rec_sync_trackers none = {NULL, 0, sync_find, NULL};
	sync_all(s);
	assert_int_equal(s->results->snapshot.count, 0);
	s->y = rec_sync_free(s->y);
	ok(s->w, rec_sync_new(s->w->store, &none, REC_SYNC_IDS, NULL, 0, NO_TEXT, &s->y, &s->w->error));
	ok(s->w, rec_sync_apply(s->y, &s->w->error));
	assert_int_equal(rec_sync_results(s->y, NULL)->snapshot.count, 0);
	s->y = rec_sync_free(s->y);
}

static void test_sync__linked_scope_has_only_tasks_with_links(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	add(s->w, "b", REC_READY);
	add(s->w, "c", REC_READY);
	link_to(s, "b", ISSUE("1"));
	link_to(s, "b", ISSUE("2"));
	link_to(s, "c", ISSUE("1"));
	ok(s->w, rec_sync_new(s->w->store, &s->trackers, REC_SYNC_LINKED, NULL, 0, NO_TEXT, &s->y, &s->w->error));
	s->results = rec_sync_results(s->y, &s->applied);
	assert_int_equal(s->results->snapshot.count, 2);
	assert_result(s, "b", "READY null NONE unknown at the tracker (github)");
	assert_result(s, "c", "READY null NONE unknown at the tracker (github)");
}

static void test_check__asks_and_records_nothing(void **state)
{
	struct syncing *s = *state;
	add(s->w, "T1", REC_READY);
	link_to(s, "T1", ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, NULL, T("1"));
	s->github.cursor = "c1";
	for (int i = 0; i < 2; i++) {
		sync_check(s);
		assert_result(s, "T1", "READY DONE SKIP issue closed as completed (github, differs)");
		assert_asked(&s->github, ISSUE("7") "= ");
	}
	assert_int_equal(status_of(s->w, "T1"), REC_READY);
	assert_events(s, "");
}

/* ---- What is asked ---- */

static void test_question__each_address_once_with_what_all_its_tasks_know(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	add(s->w, "b", REC_READY);
	link_to(s, "a", ISSUE("1"));
	link_to(s, "b", ISSUE("1"));
	link_to(s, "b", "other:x");
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v1");
	say(&s->other, "other:x", REC_OBSERVED_OPEN, NULL, T("1"));
	s->github.cursor = "c1";
	sync_all(s);
	assert_asked(&s->github, ISSUE("1") "= ");
	assert_asked(&s->other, "other:x= ");
	sync_all(s);
	assert_asked(&s->github, "+repo=c1 " ISSUE("1") "=v1 ");
	/* a task that does not know yet what the others know: "unchanged" would tell it nothing */
	add(s->w, "c", REC_READY);
	link_to(s, "c", ISSUE("1"));
	sync_all(s);
	assert_asked(&s->github, "+repo=c1 " ISSUE("1") "= ");
	sync_all(s);
	assert_asked(&s->github, "+repo=c1 " ISSUE("1") "=v1 ");
}

static void test_question__of_some_links_only_takes_no_cursor(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	add(s->w, "b", REC_READY);
	link_to(s, "a", ISSUE("1"));
	link_to(s, "b", ISSUE("2"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v1");
	say(&s->github, ISSUE("2"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v2");
	s->github.cursor = "c1";
	sync_all(s);
	s->github.cursor = "c2";
	sync_of(s, "a", true);
	assert_asked(&s->github, ISSUE("1") "=v1 ");
	sync_all(s);
	assert_asked(&s->github, "+repo=c1 " ISSUE("1") "=v1 " ISSUE("2") "=v2 ");
}

static void test_question__what_is_gone_or_merged_is_not_asked_again(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	add(s->w, "b", REC_READY);
	add(s->w, "c", REC_READY);
	link_to(s, "a", ISSUE("1"));
	link_to(s, "b", PULL("2"));
	link_to(s, "c", ISSUE("3"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_GONE, NULL, NULL);
	say(&s->github, PULL("2"), REC_OBSERVED_MERGED, NULL, T("1"));
	say(&s->github, ISSUE("3"), REC_OBSERVED_OPEN, NULL, T("1"));
	sync_all(s);
	sync_all(s);
	assert_asked(&s->github, ISSUE("3") "= ");
	assert_result(s, "a", "READY null NONE gone at the tracker (github)");
	assert_result(s, "b", "DONE null NONE nothing new at the tracker (github)");
}

/* ---- What is written ---- */

static void test_apply__an_idle_pass_opens_no_group(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"));
	s->github.cursor = "c1";
	sync_all(s);
	s->w->begin_result = REC_E_BUSY;
	sync_all(s);
	say(&s->github, ISSUE("1"), REC_OBSERVED_UNCHANGED, NULL, NULL);
	sync_all(s);
	s->github.down = true;
	sync_all(s);
	assert_result(s, "a", "READY null NONE unknown at the tracker (github)");
	assert_events(s, "");
}

static void test_apply__parents_follow_with_an_event_each(void **state)
{
	struct syncing *s = *state;
	add(s->w, "p", REC_READY);
	add_child(s->w, "c", REC_READY, "p");
	link_to(s, "c", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("1"));
	sync_all(s);
	assert_int_equal(status_of(s->w, "p"), REC_DONE);
	assert_events(s, "c RECONCILIATION_TASK_SKIPPED READY>DONE issue closed as completed (github)\n"
			 "p TASK_STATUS_CHANGED READY>  (rollup)\n");
}

static void test_apply__several_links_of_a_task_act_one_after_the_other(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_IN_PROGRESS);
	link_to(s, "a", ISSUE("1"));
	link_to(s, "a", PULL("2"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("1"));
	say(&s->github, PULL("2"), REC_OBSERVED_MERGED, NULL, T("1"));
	sync_all(s);
	assert_int_equal(status_of(s->w, "a"), REC_MERGED);
	assert_result(s, "a", "IN_PROGRESS DONE SKIP issue closed as completed (github, differs, applied)");
	assert_events(s, "a RECONCILIATION_TASK_SKIPPED IN_PROGRESS>DONE issue closed as completed (github)\n"
			 "a RECONCILIATION_TASK_SKIPPED DONE>MERGED pull request merged (github)\n");
}

static void test_apply__several_tasks_on_one_issue_all_follow(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	add(s->w, "b", REC_BLOCKED);
	link_to(s, "a", ISSUE("1"));
	link_to(s, "b", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, "not_planned", T("1"));
	sync_all(s);
	assert_events(s, "a RECONCILIATION_TASK_SKIPPED READY>BACKLOG issue closed as not planned (github)\n"
			 "b RECONCILIATION_TASK_SKIPPED BLOCKED>BACKLOG issue closed as not planned (github)\n");
}

static void test_apply__an_address_of_the_task_is_a_link(void **state)
{
	struct syncing *s = *state;
	struct rec_task task = {
		.id = S("a"), .title = S("a"), .status = REC_READY, .external_url = S(ISSUE("1")), .is_leaf = true};
	ok(s->w, rec_store_create(s->w->outside, &task, &s->w->error));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("1"));
	sync_all(s);
	assert_int_equal(status_of(s->w, "a"), REC_DONE);
	sync_all(s);
	assert_result(s, "a", "DONE null NONE nothing new at the tracker (github)");
}

/* ---- Made DONE by the tracker ---- */

static void test_reopened__a_task_that_the_tracker_made_done_comes_back(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("1"));
	sync_all(s);
	rec_clock_manual_advance(&s->w->clock, 1000000);
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("2"));
	sync_check(s);
	assert_result(s, "a", "DONE READY REQUEUE issue reopened (github, differs)");
	sync_all(s);
	assert_result(s, "a", "DONE READY REQUEUE issue reopened (github, differs, applied)");
	assert_int_equal(status_of(s->w, "a"), REC_READY);
}

static void test_reopened__a_persons_done_stays(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("1"));
	sync_all(s);
	rec_clock_manual_advance(&s->w->clock, 1000000);
	set(s->w, "a", REC_READY); /* a person takes it up again, and finishes it */
	set(s->w, "a", REC_DONE);
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("2"));
	sync_all(s);
	assert_result(s, "a", "DONE READY NONE issue reopened (github, differs)");
	assert_int_equal(status_of(s->w, "a"), REC_DONE);
	assert_events(s, "a RECONCILIATION_TASK_SKIPPED READY>DONE issue closed as completed (github)\n"
			 "a RECONCILIATION_TASK_NOTICE DONE>READY issue reopened (github)\n");
}

/* ---- Races ---- */

static void person_blocks(struct syncing *s)
{
	set(s->w, "a", REC_BLOCKED);
}

static void test_race__what_is_written_is_decided_on_what_is_stored_then(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_IN_PROGRESS);
	link_to(s, "a", PULL("1"));
	say(&s->github, PULL("1"), REC_OBSERVED_CLOSED, NULL, T("1"));
	s->before_apply = person_blocks;
	sync_all(s);
	assert_int_equal(status_of(s->w, "a"), REC_BLOCKED); /* FAILED only from IN_PROGRESS */
	assert_result(s, "a", "BLOCKED FAILED NONE pull request closed without merging (github, differs)");
}

static void other_pass_is_faster(struct syncing *s)
{
	struct rec_link link = {.task_id = S("a"),
				.url = S(ISSUE("1")),
				.kind = REC_LINK_ISSUE,
				.state = REC_OBSERVED_OPEN,
				.time = S(T("3"))};
	ok(s->w, rec_store_link_observed(s->w->outside, &link, &s->w->error));
}

static void test_race__a_slow_pass_does_not_overwrite_a_newer_observation(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("2"));
	s->before_apply = other_pass_is_faster; /* it has seen that the issue was opened again */
	sync_all(s);
	assert_int_equal(status_of(s->w, "a"), REC_READY);
	assert_result(s, "a", "READY null NONE older than what is known (github)");
	assert_events(s, "");
}

static void link_is_taken_away(struct syncing *s)
{
	ok(s->w, rec_store_link_remove(s->w->outside, S("a"), NO_TEXT, &s->w->error));
}

static void task_is_deleted(struct syncing *s)
{
	ok(s->w, rec_store_delete(s->w->outside, S("a"), &s->w->error));
}

static void test_race__a_link_or_task_that_is_no_more_is_left_alone(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("2"));
	s->before_apply = link_is_taken_away;
	sync_all(s);
	assert_int_equal(status_of(s->w, "a"), REC_READY);
	link_to(s, "a", ISSUE("1"));
	s->before_apply = task_is_deleted;
	sync_all(s);
	assert_events(s, "");
}

/* ---- Cursors ---- */

static void test_cursors__wait_for_what_is_to_be_read_again(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v1");
	s->github.cursor = "c1";
	sync_all(s);
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("1"));
	s->github.cursor = "c2";
	sync_begin(s, NULL);
	sync_round(s, true, false); /* and then the machine stops */
	sync_begin(s, NULL);
	sync_round(s, true, false);
	assert_asked(&s->github, "+repo=c1 " ISSUE("1") "=v1 ");
	sync_round(s, true, true);
	assert_int_equal(status_of(s->w, "a"), REC_DONE);
	sync_all(s);
	assert_asked(&s->github, "+repo=c2 " ISSUE("1") "= ");
}

static void other_pass_moves_on(struct syncing *s)
{
	ok(s->w, rec_store_tracker_cursor_put(s->w->outside, S("github"), S("repo"), S("c9"), &s->w->error));
}

static void test_cursors__of_a_faster_pass_stand_and_what_came_late_is_asked_in_full(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v1");
	s->github.cursor = "c1";
	s->before_apply = other_pass_moves_on;
	sync_all(s);
	sync_all(s);
	assert_asked(&s->github, "+repo=c9 " ISSUE("1") "= ");
	sync_all(s);
	assert_asked(&s->github, "+repo=c1 " ISSUE("1") "=v1 ");
}

static void link_comes_meanwhile(struct syncing *s)
{
	struct rec_link link = {.task_id = S("b"),
				.url = S(ISSUE("2")),
				.state = REC_OBSERVED_OPEN,
				.time = S(T("1")),
				.validator = S("v2")};
	link_to(s, "b", ISSUE("2"));
	ok(s->w, rec_store_link_observed(s->w->outside, &link, &s->w->error));
}

static void test_cursors__moving_on_a_link_that_the_pass_did_not_ask_about_is_asked_in_full(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	add(s->w, "b", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v1");
	say(&s->github, ISSUE("2"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v2");
	s->github.cursor = "c1";
	s->before_apply = link_comes_meanwhile; /* another pass has seen it, earlier than c1 */
	sync_all(s);
	sync_all(s);
	assert_asked(&s->github, "+repo=c1 " ISSUE("1") "=v1 " ISSUE("2") "= ");
}

static void test_cursors__are_not_kept_when_an_observation_was_no_good(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	s->github.cursor = "c1";
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, "yesterday");
	sync_all(s);
	assert_result(s, "a", "READY null NONE unknown at the tracker (github)");
	sync_all(s);
	assert_asked(&s->github, ISSUE("1") "= ");
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"));
	s->github.cursor = "\xff"; /* no text: refused without harm to the rest */
	sync_all(s);
	sync_all(s);
	assert_asked(&s->github, ISSUE("1") "= ");
}

static void test_cursors__one_that_is_to_be_forgotten_goes_and_the_others_move_on(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"));
	ok(s->w, rec_store_tracker_cursor_put(s->w->outside, S("github"), S("pause"), S("p"), &s->w->error));
	s->github.cursor = "c1";
	sync_all(s);
	assert_asked(&s->github, "+pause=p " ISSUE("1") "= ");
	s->github.cursor = "c2";
	s->github.over = "pause";
	sync_all(s);
	sync_all(s);
	assert_asked(&s->github, "+repo=c2 " ISSUE("1") "= ");
	s->w->begin_result = REC_E_BUSY; /* what is not there is not forgotten again */
	sync_all(s);
	s->w->begin_result = 0;
	s->github.cursor = "";
	s->github.over = NULL;
	sync_all(s);
	s->github.cursor = NULL;
	s->github.over = "repo"; /* an empty value is one */
	sync_all(s);
	sync_all(s);
	assert_asked(&s->github, ISSUE("1") "= ");
}

static void test_unrecognised__a_change_waits_until_the_row_is_mended(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v1");
	sync_all(s);
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("2"));
	s->w->raw_status = "Done";
	sync_check(s);
	assert_result(s, "a", "Done null NONE unrecognised status in durable state (github, differs)");
	s->w->raw_status = NULL;
	sync_all(s);
	assert_int_equal(status_of(s->w, "a"), REC_DONE);
}

/* ---- Failures ---- */

static void test_failure__a_failed_group_changes_nothing_and_the_next_call_does_it(void **state)
{
	struct syncing *s = *state;
	add(s->w, "a", REC_READY);
	link_to(s, "a", ISSUE("1"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, NULL, T("1"));
	s->github.cursor = "c1";
	sync_begin(s, NULL);
	sync_ask(s, &s->github, 0, false);
	s->w->begin_result = REC_E_BUSY;
	assert_int_equal(rec_sync_apply(s->y, &s->w->error), REC_E_BUSY);
	s->w->begin_result = 0;
	s->w->commit_result = REC_E_FULL;
	assert_int_equal(rec_sync_apply(s->y, &s->w->error), REC_E_FULL);
	s->w->commit_result = 0;
	assert_int_equal(status_of(s->w, "a"), REC_READY);
	assert_events(s, "");
	ok(s->w, rec_sync_apply(s->y, &s->w->error));
	s->results = rec_sync_results(s->y, &s->applied);
	assert_result(s, "a", "READY DONE SKIP issue closed as completed (github, differs, applied)");
	ok(s->w, rec_sync_apply(s->y, &s->w->error));
	assert_events(s, "a RECONCILIATION_TASK_SKIPPED READY>DONE issue closed as completed (github)\n");
}

static int whole_pass(struct syncing *s)
{
	struct rec_sync_question q;
	struct rec_observation answers[4];
	const struct rec_tracker_cursor cursor = {S("repo"), S("c1")};
	int r = rec_sync_new(s->w->store, &s->trackers, REC_SYNC_ALL, NULL, 0, NO_TEXT, &s->y, &s->w->error);
	for (int round = 0; r == 0 && round < 2; round++) {
		r = rec_sync_question(s->y, 0, &q, &s->w->error);
		for (size_t i = 0; r == 0 && i < q.count; i++)
			answers[i] = fake_answer(&s->github, &q.links[i], round);
		if (r == 0)
			r = rec_sync_take(s->y, 0, answers, q.count, &s->w->error);
		if (r == 0)
			r = rec_sync_cursors(s->y, 0, &cursor, 1, &s->w->error);
		if (r == 0)
			r = rec_sync_apply(s->y, &s->w->error);
	}
	s->y = rec_sync_free(s->y);
	return r;
}

static void test_failure__every_failed_allocation_is_reported_and_the_pass_can_be_done_again(void **state)
{
	struct syncing *s = *state;
	uint64_t n = 1;
	bool again = true;
	add(s->w, "p", REC_READY);
	add_child(s->w, "a", REC_READY, "p");
	add(s->w, "b", REC_IN_PROGRESS);
	link_to(s, "a", ISSUE("1"));
	link_to(s, "b", PULL("2"));
	link_to(s, "b", ISSUE("3"));
	say(&s->github, ISSUE("1"), REC_OBSERVED_CLOSED, "completed", T("1"));
	say(&s->github, PULL("2"), REC_OBSERVED_OPEN, NULL, T("1"))->validator = S("v");
	say(&s->github, ISSUE("3"), REC_OBSERVED_OPEN, NULL, T("1"))->moved_to = S(ISSUE("4"));
	while (again) {
		s->w->memory.calls = 0;
		s->w->memory.fail_at = n++;
		int r = whole_pass(s);
		again = s->w->memory.calls >= s->w->memory.fail_at;
		s->w->memory.fail_at = 0;
		if (r)
			assert_int_equal(r, REC_E_NOMEM);
	}
	assert_true(n > 20);
	assert_int_equal(status_of(s->w, "a"), REC_DONE);
	assert_events(s, "a RECONCILIATION_TASK_SKIPPED READY>DONE issue closed as completed (github)\n"
			 "p TASK_STATUS_CHANGED READY>  (rollup)\n");
}

/* ---- Many ---- */

static void test_sync__more_links_than_a_group_takes_are_all_written(void **state)
{
	struct syncing *s = *state;
	struct rec_sync_question q;
	ok(s->w, rec_store_begin(s->w->outside, &s->w->error));
	for (int i = 0; i < 1203; i++) {
		char id[16];
		snprintf(id, sizeof id, "t%04d", i);
		add(s->w, id, REC_READY);
		link_to(s, id, ISSUE("1"));
	}
	ok(s->w, rec_store_commit(s->w->outside, &s->w->error));
	sync_begin(s, NULL);
	ok(s->w, rec_sync_question(s->y, 0, &q, &s->w->error));
	assert_int_equal(q.count, 1);
	const struct rec_observation closed = {.url = S(ISSUE("1")), .state = REC_OBSERVED_CLOSED, .time = S(T("1"))};
	ok(s->w, rec_sync_take(s->y, 0, &closed, 1, &s->w->error));
	ok(s->w, rec_sync_apply(s->y, &s->w->error));
	s->results = rec_sync_results(s->y, &s->applied);
	assert_int_equal(s->results->counts[REC_SKIP], 1203);
	assert_true(s->applied[0] && s->applied[1202]);
	assert_int_equal(status_of(s->w, "t1202"), REC_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sync_test(test_sync__every_id_has_its_result),
		sync_test(test_sync__no_tasks_and_no_trackers_are_fine),
		sync_test(test_sync__linked_scope_has_only_tasks_with_links),
		sync_test(test_check__asks_and_records_nothing),
		sync_test(test_question__each_address_once_with_what_all_its_tasks_know),
		sync_test(test_question__of_some_links_only_takes_no_cursor),
		sync_test(test_question__what_is_gone_or_merged_is_not_asked_again),
		sync_test(test_apply__an_idle_pass_opens_no_group),
		sync_test(test_apply__parents_follow_with_an_event_each),
		sync_test(test_apply__several_links_of_a_task_act_one_after_the_other),
		sync_test(test_apply__several_tasks_on_one_issue_all_follow),
		sync_test(test_apply__an_address_of_the_task_is_a_link),
		sync_test(test_reopened__a_task_that_the_tracker_made_done_comes_back),
		sync_test(test_reopened__a_persons_done_stays),
		sync_test(test_race__what_is_written_is_decided_on_what_is_stored_then),
		sync_test(test_race__a_slow_pass_does_not_overwrite_a_newer_observation),
		sync_test(test_race__a_link_or_task_that_is_no_more_is_left_alone),
		sync_test(test_cursors__wait_for_what_is_to_be_read_again),
		sync_test(test_cursors__of_a_faster_pass_stand_and_what_came_late_is_asked_in_full),
		sync_test(test_cursors__moving_on_a_link_that_the_pass_did_not_ask_about_is_asked_in_full),
		sync_test(test_cursors__are_not_kept_when_an_observation_was_no_good),
		sync_test(test_cursors__one_that_is_to_be_forgotten_goes_and_the_others_move_on),
		sync_test(test_unrecognised__a_change_waits_until_the_row_is_mended),
		sync_test(test_failure__a_failed_group_changes_nothing_and_the_next_call_does_it),
		sync_test(test_failure__every_failed_allocation_is_reported_and_the_pass_can_be_done_again),
		sync_test(test_sync__more_links_than_a_group_takes_are_all_written),
	};
	return cmocka_run_group_tests_name("engine/sync", tests, NULL, NULL);
}
