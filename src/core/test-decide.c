/* Every cell of the decision table against the file it was agreed in, the blocker rule, the merge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/decide.h"

/* ---- The table ---- */

struct row {
	char text[5][64]; /* stored, believed, action, discrepancy, reason */
};

static size_t table_read(struct row *rows, size_t capacity)
{
	char path[4096], line[512];
	const char *folder = getenv("REC_TEST_DATA");
	assert_non_null(folder);
	snprintf(path, sizeof path, "%s/decision-table.tsv", folder);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	assert_string_equal(line, "stored\tbelieved\taction\tdiscrepancy\treason\n");
	size_t count = 0;
	while (fgets(line, sizeof line, file)) {
		assert_true(count < capacity);
		char *cursor = line, *field;
		line[strcspn(line, "\n")] = '\0';
		int fields = 0;
		while ((field = strsep(&cursor, "\t"))) {
			assert_true(fields < 5);
			snprintf(rows[count].text[fields++], sizeof rows[count].text[0], "%s", field);
		}
		assert_int_equal(fields, 5);
		count++;
	}
	fclose(file);
	return count;
}

static enum rec_status status_of(const char *text)
{
	return strcmp(text, "-") == 0 ? REC_STATUS_ABSENT : rec_status_parse(rec_slice_of(text));
}

static void row_matches(const struct row *row, struct rec_verdict v)
{
	assert_string_equal(rec_status_text((enum rec_status)v.stored), row->text[0]);
	assert_string_equal(rec_status_text((enum rec_status)v.external), row->text[1]);
	assert_string_equal(rec_action_text((enum rec_action)v.action), row->text[2]);
	assert_string_equal(v.discrepancy ? "yes" : "no", row->text[3]);
	assert_string_equal(rec_reason_text((enum rec_reason)v.reason), row->text[4]);
	assert_int_equal(v.source, REC_SOURCE_STORE);
}

static void test_decide__every_cell_is_that_of_the_file(void **state)
{
	(void)state;
	struct row rows[100];
	bool seen[REC_STATUS_COUNT][REC_STATUS_COUNT + 1] = {{false}};
	size_t count = table_read(rows, 100);
	assert_int_equal(count, 56);
	for (size_t i = 0; i < count; i++) {
		enum rec_status stored = status_of(rows[i].text[0]), believed = status_of(rows[i].text[1]);
		assert_true(stored < REC_STATUS_COUNT);
		assert_true(believed <= REC_STATUS_ABSENT);
		assert_false(seen[stored][believed]);
		seen[stored][believed] = true;
		row_matches(&rows[i], rec_decide_task(stored, believed));
	}
}

static void test_table__rows_come_in_the_order_of_the_file(void **state)
{
	(void)state;
	struct row rows[100];
	assert_int_equal(table_read(rows, 100), REC_TABLE_ROWS);
	for (unsigned i = 0; i < REC_TABLE_ROWS; i++) {
		enum rec_status stored, believed;
		row_matches(&rows[i], rec_table_row(i, &stored, &believed));
		assert_int_equal(stored, status_of(rows[i].text[0]));
		assert_int_equal(believed, status_of(rows[i].text[1]));
	}
}

static void test_decide__missing_task_is_no_discrepancy_and_shows_no_status(void **state)
{
	(void)state;
	for (int believed = 0; believed <= REC_STATUS_ABSENT; believed++) {
		struct rec_verdict v = rec_decide_task(REC_STATUS_ABSENT, (enum rec_status)believed);
		assert_int_equal(v.stored, REC_STATUS_ABSENT);
		assert_int_equal(v.external, REC_STATUS_ABSENT);
		assert_int_equal(v.action, REC_NONE);
		assert_int_equal(v.reason, REC_REASON_NOT_FOUND);
		assert_false(v.discrepancy);
	}
}

static void test_decide__unrecognised_status_is_never_guessed(void **state)
{
	(void)state;
	for (int believed = 0; believed <= REC_STATUS_ABSENT; believed++) {
		struct rec_verdict v = rec_decide_task(REC_STATUS_UNRECOGNISED, (enum rec_status)believed);
		assert_int_equal(v.stored, REC_STATUS_UNRECOGNISED);
		assert_int_equal(v.external, believed);
		assert_int_equal(v.action, REC_NONE);
		assert_int_equal(v.reason, REC_REASON_UNRECOGNISED_STATUS);
		assert_true(v.discrepancy);
	}
	assert_int_equal(rec_decide_task((enum rec_status)200, REC_READY).reason, REC_REASON_UNRECOGNISED_STATUS);
}

static void test_decide__a_belief_that_is_no_status_is_none(void **state)
{
	(void)state;
	for (int stored = 0; stored < REC_STATUS_COUNT; stored++)
		assert_true(rec_verdict_equal(rec_decide_task((enum rec_status)stored, REC_STATUS_UNRECOGNISED),
					      rec_decide_task((enum rec_status)stored, REC_STATUS_ABSENT)));
}

/* The rules that the table was made from, as sentences about all cells. */
static void test_decide__nothing_runs_again_unless_the_store_says_ready(void **state)
{
	(void)state;
	for (unsigned i = 0; i < REC_TABLE_ROWS; i++) {
		enum rec_status stored, believed;
		struct rec_verdict v = rec_table_row(i, &stored, &believed);
		if (v.action == REC_REQUEUE)
			assert_int_equal(stored, REC_READY);
		if (v.action == REC_KILL && believed == REC_IN_PROGRESS)
			assert_true(stored == REC_BLOCKED || stored == REC_BACKLOG);
		if (v.action == REC_KILL || v.action == REC_REQUEUE)
			assert_true(v.discrepancy);
		assert_int_equal(v.discrepancy, believed != REC_STATUS_ABSENT && believed != stored);
	}
}

static void test_decide__blocked_task_stops_its_child(void **state)
{
	(void)state;
	struct rec_verdict v = rec_decide_task(REC_BLOCKED, REC_IN_PROGRESS);
	assert_int_equal(v.action, REC_KILL);
	assert_int_equal(v.reason, REC_REASON_BLOCKED_OUTSIDE);
}

/* ---- Blockers ---- */

static struct rec_verdict blockers(enum rec_status stored, uint32_t total, uint32_t open)
{
	return rec_decide_blockers(stored, (struct rec_blocker_counts){total, open});
}

static void blockers_are(struct rec_verdict v, enum rec_action action, enum rec_reason reason, bool discrepancy)
{
	assert_int_equal(v.action, action);
	assert_int_equal(v.reason, reason);
	assert_int_equal(v.discrepancy, discrepancy);
	assert_int_equal(v.source, REC_SOURCE_BLOCKERS);
	assert_int_equal(v.external, REC_STATUS_ABSENT);
}

static void test_blockers__all_released_requeues(void **state)
{
	(void)state;
	blockers_are(blockers(REC_BLOCKED, 1, 0), REC_REQUEUE, REC_REASON_BLOCKERS_RESOLVED, true);
	blockers_are(blockers(REC_BLOCKED, UINT32_MAX, 0), REC_REQUEUE, REC_REASON_BLOCKERS_RESOLVED, true);
}

static void test_blockers__one_open_of_many_holds(void **state)
{
	(void)state;
	blockers_are(blockers(REC_BLOCKED, 101, 1), REC_NONE, REC_REASON_BLOCKERS_OPEN, false);
	blockers_are(blockers(REC_BLOCKED, 1, 1), REC_NONE, REC_REASON_BLOCKERS_OPEN, false);
}

static void test_blockers__blocked_without_any_is_a_discrepancy(void **state)
{
	(void)state;
	blockers_are(blockers(REC_BLOCKED, 0, 0), REC_NONE, REC_REASON_NO_BLOCKERS, true);
}

static void test_blockers__a_task_that_is_not_blocked_is_left_alone(void **state)
{
	(void)state;
	for (int stored = 0; stored < REC_STATUS_COUNT; stored++)
		for (uint32_t total = 0; total < 3; total++)
			if (stored != REC_BLOCKED)
				blockers_are(blockers((enum rec_status)stored, total, total / 2), REC_NONE,
					     REC_REASON_NOT_BLOCKED, false);
}

static void test_blockers__missing_and_unrecognised_tasks_get_a_result(void **state)
{
	(void)state;
	blockers_are(blockers(REC_STATUS_ABSENT, 0, 0), REC_NONE, REC_REASON_NOT_FOUND, false);
	blockers_are(blockers(REC_STATUS_UNRECOGNISED, 1, 0), REC_NONE, REC_REASON_UNRECOGNISED_STATUS, true);
	assert_int_equal(blockers((enum rec_status)100, 1, 0).stored, REC_STATUS_UNRECOGNISED);
}

/* ---- Merge ---- */

/* The rule once more, as a tournament of sentences. */
static bool beats(struct rec_verdict a, struct rec_verdict b, enum rec_status believed)
{
	static const char order[] = {[REC_SKIP] = 4, [REC_KILL] = 3, [REC_REQUEUE] = 2, [REC_NONE] = 1};
	bool at_rest = believed == REC_BACKLOG || believed == REC_READY || believed == REC_BLOCKED ||
		       believed == REC_STATUS_ABSENT;
	bool a_released = a.source == REC_SOURCE_BLOCKERS && a.reason == REC_REASON_BLOCKERS_RESOLVED;
	bool b_released = b.source == REC_SOURCE_BLOCKERS && b.reason == REC_REASON_BLOCKERS_RESOLVED;
	if (at_rest && a_released && b.source == REC_SOURCE_STORE && b.action == REC_KILL)
		return true;
	if (at_rest && b_released && a.source == REC_SOURCE_STORE && a.action == REC_KILL)
		return false;
	if (a.action != b.action)
		return order[a.action] > order[b.action];
	if (a.discrepancy != b.discrepancy)
		return a.discrepancy;
	return a.source < b.source;
}

static size_t all_verdicts(struct rec_verdict *out)
{
	size_t count = 0;
	for (int action = 0; action < REC_ACTION_COUNT; action++)
		for (int reason = 0; reason < REC_REASON_COUNT; reason++)
			for (int source = 0; source <= REC_SOURCE_TRACKER; source++)
				for (int discrepancy = 0; discrepancy < 2; discrepancy++)
					out[count++] = (struct rec_verdict){.stored = REC_BLOCKED,
									    .external = REC_STATUS_ABSENT,
									    .action = (uint8_t)action,
									    .reason = (uint8_t)reason,
									    .source = (uint8_t)source,
									    .discrepancy = (uint8_t)discrepancy};
	return count;
}

static void test_merge__all_pairs_follow_the_rule_whatever_the_order(void **state)
{
	(void)state;
	static struct rec_verdict all[REC_ACTION_COUNT * REC_REASON_COUNT * 3 * 2];
	size_t count = all_verdicts(all);
	for (int believed = 0; believed <= REC_STATUS_ABSENT; believed++)
		for (size_t i = 0; i < count; i++)
			for (size_t k = 0; k < count; k++) {
				enum rec_status b = (enum rec_status)believed;
				struct rec_verdict merged = rec_merge(all[i], all[k], b);
				struct rec_verdict wanted = beats(all[k], all[i], b) ? all[k] : all[i];
				if (!rec_verdict_equal(merged, wanted))
					fail_msg("pair %zu, %zu believed %d", i, k, believed);
				if (all[i].source != all[k].source &&
				    !rec_verdict_equal(merged, rec_merge(all[k], all[i], b)))
					fail_msg("pair %zu, %zu believed %d depends on the order", i, k, believed);
			}
}

static struct rec_verdict merged(enum rec_status stored, enum rec_status believed, uint32_t total, uint32_t open)
{
	return rec_merge(rec_decide_task(stored, believed), blockers(stored, total, open), believed);
}

static void test_merge__released_blockers_win_over_a_kill_of_what_does_not_run(void **state)
{
	(void)state;
	assert_int_equal(merged(REC_BLOCKED, REC_READY, 1, 0).reason, REC_REASON_BLOCKERS_RESOLVED);
	assert_int_equal(merged(REC_BLOCKED, REC_BACKLOG, 1, 0).reason, REC_REASON_BLOCKERS_RESOLVED);
	assert_int_equal(merged(REC_BLOCKED, REC_BLOCKED, 1, 0).reason, REC_REASON_BLOCKERS_RESOLVED);
	assert_int_equal(merged(REC_BLOCKED, REC_STATUS_ABSENT, 1, 0).reason, REC_REASON_BLOCKERS_RESOLVED);
}

static void test_merge__a_running_or_finished_belief_comes_first(void **state)
{
	(void)state;
	assert_int_equal(merged(REC_BLOCKED, REC_IN_PROGRESS, 1, 0).reason, REC_REASON_BLOCKED_OUTSIDE);
	assert_int_equal(merged(REC_BLOCKED, REC_DONE, 1, 0).reason, REC_REASON_COMPLETED_WHILE_BLOCKED);
	assert_int_equal(merged(REC_BLOCKED, REC_FAILED, 1, 0).reason, REC_REASON_COMPLETED_WHILE_BLOCKED);
}

static void test_merge__open_or_no_blockers_leave_the_kill(void **state)
{
	(void)state;
	assert_int_equal(merged(REC_BLOCKED, REC_READY, 1, 1).action, REC_KILL);
	assert_int_equal(merged(REC_BLOCKED, REC_READY, 0, 0).action, REC_KILL);
	assert_int_equal(merged(REC_BLOCKED, REC_BLOCKED, 0, 0).reason, REC_REASON_NO_BLOCKERS);
	assert_int_equal(merged(REC_BLOCKED, REC_BLOCKED, 1, 1).reason, REC_REASON_NO_ACTION_REQUIRED);
}

/* ---- Names, small predicates ---- */

static void test_reason__every_text_round_trips_and_is_unique(void **state)
{
	(void)state;
	for (int reason = 0; reason < REC_REASON_COUNT; reason++)
		assert_int_equal(rec_reason_parse(rec_slice_of(rec_reason_text((enum rec_reason)reason))), reason);
	assert_int_equal(rec_reason_parse(rec_slice_of("because")), REC_REASON_COUNT);
	assert_int_equal(rec_reason_parse((struct rec_slice){NULL, 0}), REC_REASON_COUNT);
	assert_string_equal(rec_reason_text(REC_REASON_COUNT), "?");
}

static void test_action__every_text_round_trips(void **state)
{
	(void)state;
	for (int action = 0; action < REC_ACTION_COUNT; action++)
		assert_int_equal(rec_action_parse(rec_slice_of(rec_action_text((enum rec_action)action))), action);
	assert_int_equal(rec_action_parse(rec_slice_of("none")), -1);
	assert_string_equal(rec_action_text((enum rec_action)9), "?");
}

static void test_source__texts(void **state)
{
	(void)state;
	assert_string_equal(rec_source_text(REC_SOURCE_STORE), "store");
	assert_string_equal(rec_source_text(REC_SOURCE_BLOCKERS), "blockers");
	assert_string_equal(rec_source_text(REC_SOURCE_TRACKER), "tracker");
	assert_string_equal(rec_source_text((enum rec_source)9), "?");
}

static void test_calls__a_store_full_of_finished_tasks_is_quiet(void **state)
{
	(void)state;
	assert_false(rec_verdict_calls(rec_decide_task(REC_DONE, REC_STATUS_ABSENT)));
	assert_false(rec_verdict_calls(rec_decide_task(REC_BACKLOG, REC_DONE)));
	assert_true(rec_verdict_calls(rec_decide_task(REC_DONE, REC_READY)));
	assert_true(rec_verdict_calls(rec_decide_task(REC_BLOCKED, REC_READY)));
	assert_true(rec_verdict_calls(rec_decide_task(REC_READY, REC_BLOCKED)));
}

static void test_equal__any_field_counts(void **state)
{
	(void)state;
	struct rec_verdict a = rec_decide_task(REC_READY, REC_READY), b = a;
	assert_true(rec_verdict_equal(a, b));
	b.stored = REC_DONE;
	assert_false(rec_verdict_equal(a, b));
	b = a;
	b.discrepancy = 1;
	assert_false(rec_verdict_equal(a, b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide__every_cell_is_that_of_the_file),
		cmocka_unit_test(test_table__rows_come_in_the_order_of_the_file),
		cmocka_unit_test(test_decide__missing_task_is_no_discrepancy_and_shows_no_status),
		cmocka_unit_test(test_decide__unrecognised_status_is_never_guessed),
		cmocka_unit_test(test_decide__a_belief_that_is_no_status_is_none),
		cmocka_unit_test(test_decide__nothing_runs_again_unless_the_store_says_ready),
		cmocka_unit_test(test_decide__blocked_task_stops_its_child),
		cmocka_unit_test(test_blockers__all_released_requeues),
		cmocka_unit_test(test_blockers__one_open_of_many_holds),
		cmocka_unit_test(test_blockers__blocked_without_any_is_a_discrepancy),
		cmocka_unit_test(test_blockers__a_task_that_is_not_blocked_is_left_alone),
		cmocka_unit_test(test_blockers__missing_and_unrecognised_tasks_get_a_result),
		cmocka_unit_test(test_merge__all_pairs_follow_the_rule_whatever_the_order),
		cmocka_unit_test(test_merge__released_blockers_win_over_a_kill_of_what_does_not_run),
		cmocka_unit_test(test_merge__a_running_or_finished_belief_comes_first),
		cmocka_unit_test(test_merge__open_or_no_blockers_leave_the_kill),
		cmocka_unit_test(test_reason__every_text_round_trips_and_is_unique),
		cmocka_unit_test(test_action__every_text_round_trips),
		cmocka_unit_test(test_source__texts),
		cmocka_unit_test(test_calls__a_store_full_of_finished_tasks_is_quiet),
		cmocka_unit_test(test_equal__any_field_counts),
	};
	return cmocka_run_group_tests_name("core/decide", tests, NULL, NULL);
}
