/* The names, the legal transitions and the roll-up of parents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/status.h"

static void test_status__every_name_round_trips(void **state)
{
	(void)state;
	for (unsigned s = 0; s < REC_STATUS_COUNT; s++) {
		assert_int_equal(rec_status_parse(rec_slice_of(rec_status_text((enum rec_status)s))), s);
		assert_int_equal(rec_status_parse_belief(rec_slice_of(rec_status_text((enum rec_status)s))), s);
	}
	assert_string_equal(rec_status_text(REC_STATUS_ABSENT), "-");
	assert_string_equal(rec_status_text(REC_STATUS_UNRECOGNISED), "?");
	assert_string_equal(rec_status_text((enum rec_status)77), "?");
}

static void test_status__near_misses_are_never_guessed(void **state)
{
	(void)state;
	const char *wrong[] = {"",
			       "-",
			       "?",
			       "ready",
			       "Ready",
			       "READ",
			       "READYY",
			       " READY",
			       "READY ",
			       "BACKLO",
			       "BACKLOGS",
			       "BLOCKEDX",
			       "IN PROGRESS",
			       "IN_PROGRES",
			       "FAILURE",
			       "DON",
			       "DONE\n",
			       "MERGE",
			       "RUNNING",
			       "XXAXX",
			       "__C____",
			       "\xff\xff\xff\xff"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(rec_status_parse(rec_slice_of(wrong[i])), REC_STATUS_UNRECOGNISED);
	assert_int_equal(rec_status_parse((struct rec_slice){NULL, 0}), REC_STATUS_UNRECOGNISED);
	assert_int_equal(rec_status_parse((struct rec_slice){"READY\0", 6}), REC_STATUS_UNRECOGNISED);
	assert_int_equal(rec_status_parse((struct rec_slice){"READYX", 5}), REC_READY);
}

static void test_status__one_changed_letter_is_unrecognised(void **state)
{
	(void)state;
	for (unsigned s = 0; s < REC_STATUS_COUNT; s++) {
		char text[16];
		int length = snprintf(text, sizeof text, "%s", rec_status_text((enum rec_status)s));
		for (int i = 0; i < length; i++)
			for (unsigned c = 0; c < 256; c++) {
				char before = text[i];
				text[i] = (char)c;
				enum rec_status got = rec_status_parse((struct rec_slice){text, (size_t)length});
				assert_int_equal(got, text[i] == before ? s : REC_STATUS_UNRECOGNISED);
				text[i] = before;
			}
	}
}

static void test_status__codeframe_run_statuses_are_beliefs(void **state)
{
	(void)state;
	assert_int_equal(rec_status_parse_belief(rec_slice_of("RUNNING")), REC_IN_PROGRESS);
	assert_int_equal(rec_status_parse_belief(rec_slice_of("COMPLETED")), REC_DONE);
	assert_int_equal(rec_status_parse_belief(rec_slice_of("FAILED")), REC_FAILED);
	assert_int_equal(rec_status_parse_belief(rec_slice_of("BLOCKED")), REC_BLOCKED);
	assert_int_equal(rec_status_parse_belief(rec_slice_of("running")), REC_STATUS_UNRECOGNISED);
	assert_int_equal(rec_status_parse_belief(rec_slice_of("-")), REC_STATUS_UNRECOGNISED);
}

static void test_status__three_are_terminal_and_two_a_success(void **state)
{
	(void)state;
	for (int s = 0; s <= REC_STATUS_UNRECOGNISED; s++) {
		assert_int_equal(rec_status_terminal((enum rec_status)s),
				 s == REC_FAILED || s == REC_DONE || s == REC_MERGED);
		assert_int_equal(rec_status_success((enum rec_status)s), s == REC_DONE || s == REC_MERGED);
	}
}

/* The list of design.md, as text: this is the second formulation that the table is held against. */
static const char *const legal_steps[][2] = {
	{"BACKLOG", "READY"},    {"READY", "IN_PROGRESS"}, {"READY", "BACKLOG"},      {"IN_PROGRESS", "BLOCKED"},
	{"IN_PROGRESS", "DONE"}, {"IN_PROGRESS", "READY"}, {"IN_PROGRESS", "FAILED"}, {"BLOCKED", "IN_PROGRESS"},
	{"BLOCKED", "READY"},    {"FAILED", "READY"},      {"FAILED", "IN_PROGRESS"}, {"DONE", "READY"},
	{"DONE", "MERGED"},
};

static bool listed(int from, int to)
{
	for (size_t i = 0; i < sizeof legal_steps / sizeof *legal_steps; i++)
		if (strcmp(legal_steps[i][0], rec_status_text((enum rec_status)from)) == 0 &&
		    strcmp(legal_steps[i][1], rec_status_text((enum rec_status)to)) == 0)
			return true;
	return false;
}

static void test_transition__exactly_the_listed_steps_are_legal(void **state)
{
	(void)state;
	for (int from = 0; from <= REC_STATUS_UNRECOGNISED; from++)
		for (int to = 0; to <= REC_STATUS_UNRECOGNISED; to++) {
			bool legal = rec_transition_legal((enum rec_status)from, (enum rec_status)to);
			unsigned targets = rec_transition_targets((enum rec_status)from);
			assert_int_equal(legal, listed(from, to));
			assert_int_equal(targets >> to & 1u, listed(from, to));
		}
}

/* The shortest legal path by trying every sequence of up to six steps, in the order of the enum. */
static bool search_path(int at, int to, int steps_left, enum rec_status *steps)
{
	if (steps_left == 0)
		return at == to;
	for (int next = 0; next < REC_STATUS_COUNT; next++)
		if (listed(at, next)) {
			*steps = (enum rec_status)next;
			if (search_path(next, to, steps_left - 1, steps + 1))
				return true;
		}
	return false;
}

static void test_transition__all_49_paths_are_the_shortest(void **state)
{
	(void)state;
	int reachable = 0;
	for (int from = 0; from < REC_STATUS_COUNT; from++)
		for (int to = 0; to < REC_STATUS_COUNT; to++) {
			enum rec_status wanted[REC_STATUS_COUNT], got[REC_STATUS_COUNT];
			int length = 0;
			while (length < REC_STATUS_COUNT && !search_path(from, to, length, wanted))
				length++;
			length = length == REC_STATUS_COUNT ? -1 : length;
			assert_int_equal(rec_transition_path((enum rec_status)from, (enum rec_status)to, got), length);
			assert_int_equal(rec_transition_path((enum rec_status)from, (enum rec_status)to, NULL), length);
			if (length > 0)
				assert_memory_equal(got, wanted, (size_t)length * sizeof *got);
			reachable += length >= 0;
		}
	assert_int_equal(reachable, 43); /* all but MERGED to the six others */
}

static void test_transition__there_is_no_path_from_or_to_what_is_no_status(void **state)
{
	(void)state;
	assert_int_equal(rec_transition_path(REC_STATUS_ABSENT, REC_READY, NULL), -1);
	assert_int_equal(rec_transition_path(REC_READY, REC_STATUS_UNRECOGNISED, NULL), -1);
	assert_int_equal(rec_transition_path(REC_STATUS_ABSENT, REC_STATUS_ABSENT, NULL), -1);
}

/* codeframe's rule over a list of children, as one would write it over a list. */
static enum rec_status rollup_of_list(const enum rec_status *children, size_t count)
{
	bool seen[REC_STATUS_COUNT] = {false}, all_success = true;
	for (size_t i = 0; i < count; i++) {
		seen[children[i]] = true;
		all_success &= children[i] >= REC_DONE;
	}
	static const struct {
		enum rec_status if_any, then;
	} rules[] = {
		{REC_FAILED, REC_FAILED},    {REC_IN_PROGRESS, REC_IN_PROGRESS}, {REC_BLOCKED, REC_BLOCKED},
		{REC_DONE, REC_IN_PROGRESS}, {REC_MERGED, REC_IN_PROGRESS},      {REC_READY, REC_READY},
	};
	if (!count)
		return REC_STATUS_ABSENT;
	if (all_success)
		return REC_DONE;
	for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
		if (seen[rules[r].if_any])
			return rules[r].then;
	return REC_BACKLOG;
}

static void test_rollup__agrees_with_a_list_of_children_for_all_small_families(void **state)
{
	(void)state;
	unsigned families = 0;
	for (unsigned code = 0; code < 16384; code++) { /* 0 to 3 children of each status */
		enum rec_status children[REC_STATUS_COUNT * 3];
		uint64_t counts[REC_STATUS_COUNT];
		size_t count = 0;
		for (unsigned s = 0; s < REC_STATUS_COUNT; s++) {
			counts[s] = code >> (2 * s) & 3u;
			for (uint64_t i = 0; i < counts[s]; i++)
				children[count++] = (enum rec_status)s;
		}
		assert_int_equal(rec_rollup(counts), rollup_of_list(children, count));
		families++;
	}
	assert_int_equal(families, 16384);
}

static void test_rollup__counts_beyond_32_bits_still_count(void **state)
{
	(void)state;
	uint64_t counts[REC_STATUS_COUNT] = {[REC_DONE] = 1, [REC_READY] = UINT64_C(1) << 40};
	assert_int_equal(rec_rollup(counts), REC_IN_PROGRESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status__every_name_round_trips),
		cmocka_unit_test(test_status__near_misses_are_never_guessed),
		cmocka_unit_test(test_status__one_changed_letter_is_unrecognised),
		cmocka_unit_test(test_status__codeframe_run_statuses_are_beliefs),
		cmocka_unit_test(test_status__three_are_terminal_and_two_a_success),
		cmocka_unit_test(test_transition__exactly_the_listed_steps_are_legal),
		cmocka_unit_test(test_transition__all_49_paths_are_the_shortest),
		cmocka_unit_test(test_transition__there_is_no_path_from_or_to_what_is_no_status),
		cmocka_unit_test(test_rollup__agrees_with_a_list_of_children_for_all_small_families),
		cmocka_unit_test(test_rollup__counts_beyond_32_bits_still_count),
	};
	return cmocka_run_group_tests_name("core/status", tests, NULL, NULL);
}
