/* Faults that systems like ours have had with trackers, told in their words; what the tracker's helper has to do with
 * them is told where helpers are tested. */
#include "engine/test-syncing.h"

static void assert_status(struct syncing *s, const char *id, enum rec_status wanted)
{
	assert_string_equal(rec_status_text(status_of(s->w, id)), rec_status_text(wanted));
}

static void add_linked(struct syncing *s, const char *id, enum rec_status status, const char *url)
{
	add(s->w, id, status);
	link_to(s, id, url);
}

/* An issue closed upstream kept a non-final state here, and "not planned" passed for done. */
static void test_story__an_issue_closed_as_completed_is_done_one_not_planned_is_withdrawn(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_READY, ISSUE("7"));
	add_linked(s, "T3", REC_READY, ISSUE("8"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, "completed", "2026-01-01T10:00:00Z");
	say(&s->github, ISSUE("8"), REC_OBSERVED_CLOSED, "not_planned", "2026-01-01T10:00:00Z");
	sync_all(s);
	assert_result(s, "T1", "READY DONE SKIP issue closed as completed (github, differs, applied)");
	assert_result(s, "T3", "READY BACKLOG SKIP issue closed as not planned (github, differs, applied)");
	assert_status(s, "T1", REC_DONE);
	assert_status(s, "T3", REC_BACKLOG);
}

/* "Is it merged?" was all that was asked: closed without merging looked like an error and was retried. */
static void test_story__a_pull_request_closed_without_merging_is_one_notice(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_DONE, PULL("15"));
	add_linked(s, "T2", REC_DONE, PULL("16"));
	say(&s->github, PULL("15"), REC_OBSERVED_CLOSED, NULL, "2026-01-01T10:00:00Z");
	say(&s->github, PULL("16"), REC_OBSERVED_MERGED, NULL, "2026-01-01T10:00:00Z");
	for (int tick = 0; tick < 10; tick++)
		sync_all(s);
	assert_status(s, "T1", REC_DONE);
	assert_status(s, "T2", REC_MERGED);
	assert_events(s, "T1 RECONCILIATION_TASK_NOTICE DONE>FAILED pull request closed without merging (github)\n"
			 "T2 RECONCILIATION_TASK_SKIPPED DONE>MERGED pull request merged (github)\n");
}

/* A limit, a refusal, an outage, an error page: none of them says anything about a task. */
static void test_story__a_tracker_that_cannot_be_asked_changes_nothing_however_long(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_READY, ISSUE("7"));
	add_linked(s, "T2", REC_IN_PROGRESS, PULL("15"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, "completed", "2026-01-01T10:00:00Z");
	s->github.down = true;
	for (int tick = 0; tick < 200; tick++)
		sync_all(s);
	assert_result(s, "T1", "READY null NONE unknown at the tracker (github)");
	assert_events(s, "");
	s->github.down = false;
	sync_all(s);
	assert_status(s, "T1", REC_DONE);
	assert_status(s, "T2", REC_IN_PROGRESS);
}

/* Tasks tied to older issues were never checked, and braces in a title stopped the pass. */
static void test_story__old_issues_count_as_new_ones_and_titles_are_opaque(void **state)
{
	struct syncing *s = *state;
	struct rec_task task = {.id = S("T2"), .title = S("{{..}} %n %s $(x)"), .status = REC_READY, .is_leaf = true};
	add_linked(s, "T1", REC_READY, ISSUE("3"));
	ok(s->w, rec_store_create(s->w->outside, &task, &s->w->error));
	link_to(s, "T2", ISSUE("240"));
	say(&s->github, ISSUE("3"), REC_OBSERVED_CLOSED, "completed", "2019-01-01T10:00:00Z");
	say(&s->github, ISSUE("240"), REC_OBSERVED_CLOSED, "completed", "2026-01-01T10:00:00Z");
	sync_all(s);
	assert_status(s, "T1", REC_DONE);
	assert_status(s, "T2", REC_DONE);
}

/* A "not modified" without a tag made the client forget its own. */
static void test_story__not_modified_without_a_tag_keeps_the_tag(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_IN_PROGRESS, ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_OPEN, NULL, "2026-01-01T10:00:00Z")->validator = S("a1");
	sync_all(s);
	*say(&s->github, ISSUE("7"), REC_OBSERVED_UNCHANGED, NULL, NULL) =
		(struct rec_observation){.url = S(ISSUE("7")), .state = REC_OBSERVED_UNCHANGED};
	sync_all(s);
	assert_result(s, "T1", "IN_PROGRESS null NONE nothing new at the tracker (github)");
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, NULL, "2026-01-01T10:00:05Z")->validator = S("b2");
	sync_all(s);
	assert_string_equal(s->github.asked.data, ISSUE("7") "=a1 ");
	assert_result(s, "T1", "IN_PROGRESS DONE SKIP issue closed as completed (github, differs, applied)");
	sync_all(s);
	assert_string_equal(s->github.asked.data, ISSUE("7") "=b2 ");
}

/* A transferred issue answers from its new place, which is stored. */
static void test_story__a_moved_issue_is_followed_and_asked_for_at_its_new_place(void **state)
{
	struct syncing *s = *state;
	const char *old = "https://github.com/acme/old/issues/7";
	add_linked(s, "T1", REC_IN_PROGRESS, old);
	say(&s->github, old, REC_OBSERVED_CLOSED, NULL, "2026-01-01T10:00:00Z")->moved_to = S(ISSUE("9"));
	sync_all(s);
	assert_status(s, "T1", REC_DONE);
	say(&s->github, ISSUE("9"), REC_OBSERVED_OPEN, NULL, "2026-01-01T10:00:05Z");
	sync_all(s);
	assert_string_equal(s->github.asked.data, ISSUE("9") "= ");
	assert_status(s, "T1", REC_READY);
}

/* A redirect to another host must not take us, or a token, there. */
static void test_story__a_move_to_where_the_tracker_does_not_answer_is_unknown(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_IN_PROGRESS, ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, NULL, "2026-01-01T10:00:00Z")->moved_to =
		S("https://evil.example.org/acme/app/issues/7");
	sync_all(s);
	assert_result(s, "T1", "IN_PROGRESS null NONE unknown at the tracker (github)");
	sync_all(s);
	assert_string_equal(s->github.asked.data, ISSUE("7") "= ");
	assert_status(s, "T1", REC_IN_PROGRESS);
	assert_events(s, "");
}

/* "Gone" and "forbidden" were both filed under network trouble. */
static void test_story__gone_is_marked_once_forbidden_is_unknown_and_neither_delays_a_third(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_READY, ISSUE("9"));
	add_linked(s, "T2", REC_READY, ISSUE("10"));
	add_linked(s, "T3", REC_READY, ISSUE("11"));
	say(&s->github, ISSUE("9"), REC_OBSERVED_GONE, NULL, NULL);
	say(&s->github, ISSUE("10"), REC_OBSERVED_UNKNOWN, NULL, NULL);
	say(&s->github, ISSUE("11"), REC_OBSERVED_CLOSED, NULL, "2026-01-01T10:00:00Z");
	for (int tick = 0; tick < 5; tick++)
		sync_all(s);
	assert_string_equal(s->github.asked.data, ISSUE("10") "= " ISSUE("11") "= ");
	assert_status(s, "T1", REC_READY);
	assert_status(s, "T2", REC_READY);
	assert_status(s, "T3", REC_DONE);
	assert_events(s, "T1 RECONCILIATION_TASK_NOTICE READY> gone at the tracker (github)\n"
			 "T3 RECONCILIATION_TASK_SKIPPED READY>DONE issue closed as completed (github)\n");
}

/* A "closed" that was delayed landed after the later "reopened" and won. */
static void test_story__a_late_closed_does_not_win_over_the_later_reopened(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_READY, ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_OPEN, NULL, "2026-01-01T10:00:03Z");
	sync_all(s);
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, NULL, "2026-01-01T10:00:00Z");
	for (int tick = 0; tick < 3; tick++)
		sync_all(s);
	assert_result(s, "T1", "READY null NONE older than what is known (github)");
	assert_int_equal(s->github.questions, 4); /* an older one is no tie */
	assert_status(s, "T1", REC_READY);
	assert_events(s, "");
}

/* The same, both in one second: the issue is read afresh, and that is followed. */
static void test_story__two_changes_in_one_second_are_read_afresh(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_READY, ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_OPEN, NULL, "2026-01-01T10:00:00Z")->validator = S("a1");
	sync_all(s);
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, NULL, "2026-01-01T10:00:00Z");
	s->github.later[0] = (struct rec_observation){
		.url = S(ISSUE("7")), .state = REC_OBSERVED_OPEN, .time = S("2026-01-01T10:00:00Z")};
	sync_all(s);
	assert_string_equal(s->github.asked.data, ISSUE("7") "=a1 " ISSUE("7") "= "); /* again, without a tag */
	assert_status(s, "T1", REC_READY);
	assert_events(s, "");
	s->github.later[0].state = REC_OBSERVED_CLOSED;
	sync_all(s);
	assert_status(s, "T1", REC_DONE);
}

/* A person's word after the observation stands, however often the same observation comes back, also after a restart. */
static void test_story__what_a_person_set_later_is_not_overwritten_by_what_was_seen_before(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_READY, ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, "completed", "2026-01-01T10:00:00Z");
	sync_all(s);
	set(s->w, "T1", REC_READY); /* "no, there is more to do" */
	for (int tick = 0; tick < 3; tick++)
		sync_all(s);
	assert_status(s, "T1", REC_READY);
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, "not_planned", "2026-01-01T09:59:00Z");
	sync_all(s);
	assert_status(s, "T1", REC_READY);
	assert_events(s, "T1 RECONCILIATION_TASK_SKIPPED READY>DONE issue closed as completed (github)\n");
}

/* A state that nobody knew yet stalled the loop. */
static void test_story__a_reason_of_tomorrow_is_one_notice(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_READY, ISSUE("7"));
	say(&s->github, ISSUE("7"), REC_OBSERVED_CLOSED, "superseded", "2026-01-01T10:00:00Z");
	sync_all(s);
	sync_all(s);
	assert_status(s, "T1", REC_READY);
	assert_events(s, "T1 RECONCILIATION_TASK_NOTICE READY> issue closed for a reason we do not know (github)\n");
}

/* Comments are told once, and again only when there are more. */
static void test_story__new_comments_are_told_once(void **state)
{
	struct syncing *s = *state;
	add_linked(s, "T1", REC_IN_PROGRESS, ISSUE("7"));
	struct rec_observation *item = say(&s->github, ISSUE("7"), REC_OBSERVED_OPEN, NULL, "2026-01-01T10:00:00Z");
	item->has_comments = true;
	sync_all(s);
	item->comments = 2;
	item->time = S("2026-01-01T10:00:09Z");
	sync_all(s);
	assert_result(s, "T1", "IN_PROGRESS null NONE new comments (github)");
	sync_all(s);
	assert_events(s, "T1 RECONCILIATION_TASK_NOTICE IN_PROGRESS> new comments (github)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sync_test(test_story__an_issue_closed_as_completed_is_done_one_not_planned_is_withdrawn),
		sync_test(test_story__a_pull_request_closed_without_merging_is_one_notice),
		sync_test(test_story__a_tracker_that_cannot_be_asked_changes_nothing_however_long),
		sync_test(test_story__old_issues_count_as_new_ones_and_titles_are_opaque),
		sync_test(test_story__not_modified_without_a_tag_keeps_the_tag),
		sync_test(test_story__a_moved_issue_is_followed_and_asked_for_at_its_new_place),
		sync_test(test_story__a_move_to_where_the_tracker_does_not_answer_is_unknown),
		sync_test(test_story__gone_is_marked_once_forbidden_is_unknown_and_neither_delays_a_third),
		sync_test(test_story__a_late_closed_does_not_win_over_the_later_reopened),
		sync_test(test_story__two_changes_in_one_second_are_read_afresh),
		sync_test(test_story__what_a_person_set_later_is_not_overwritten_by_what_was_seen_before),
		sync_test(test_story__a_reason_of_tomorrow_is_one_notice),
		sync_test(test_story__new_comments_are_told_once),
	};
	return cmocka_run_group_tests_name("engine/sync-stories", tests, NULL, NULL);
}
