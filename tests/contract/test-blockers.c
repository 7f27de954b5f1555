/* test-blockers.c - questions, their answers, and which of them are new since a task's last claim. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static struct rec_blocker blocker_get(struct contract *c, const char *id)
{
	struct rec_blocker blocker;
	expect(c, 0, rec_store_blocker_get(c->store, S(id), &c->arena, &blocker, &c->error));
	return blocker;
}

static void test_blocker__create_fills_in_what_is_missing(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	contract_add_blocker(c, "k", "t");
	struct rec_blocker b = blocker_get(c, "k");
	assert_slice(b.task_id, "t");
	assert_slice(b.question, "which one?");
	assert_null(b.answer.data);
	assert_null(b.answered_at.data);
	assert_int_equal(b.status, REC_OPEN);
	assert_slice(b.status_text, "OPEN");
	assert_slice(b.created_by, "human");
	assert_slice(b.created_at, "2026-01-01T00:00:00.000000+00:00");
}

static void test_blocker__create_needs_its_task_and_a_free_id(void **state)
{
	struct contract *c = *state;
	struct rec_blocker blocker = {.id = S("k"), .task_id = S("t"), .question = S("?")};
	expect(c, REC_NOT_FOUND, rec_store_blocker_create(c->store, &blocker, &c->error));
	contract_add(c, "t", REC_BLOCKED);
	expect(c, 0, rec_store_blocker_create(c->store, &blocker, &c->error));
	expect(c, REC_EXISTS, rec_store_blocker_create(c->store, &blocker, &c->error));
	blocker.task_id = S("u");
	expect(c, REC_NOT_FOUND, rec_store_blocker_create(c->store, &blocker, &c->error));
	assert_int_equal(contract_fact(c, "t").blockers_total, 1);
}

static void test_blocker__bad_fields_are_refused(void **state)
{
	struct contract *c = *state;
	const struct rec_blocker good = {.id = S("k"), .task_id = S("t"), .question = S("?")};
	struct rec_blocker bad;
	contract_add(c, "t", REC_BLOCKED);
	expect(c, REC_E_INVALID, rec_store_blocker_create(c->store, (bad = good, bad.id = S(""), &bad), &c->error));
	expect(c, REC_E_INVALID,
	       rec_store_blocker_create(c->store, (bad = good, bad.task_id = S("a\nb"), &bad), &c->error));
	expect(c, REC_E_INVALID,
	       rec_store_blocker_create(c->store, (bad = good, bad.question = NO_TEXT, &bad), &c->error));
	expect(c, REC_E_INVALID,
	       rec_store_blocker_create(c->store, (bad = good, bad.question = S("\xfe"), &bad), &c->error));
	expect(c, REC_E_INVALID,
	       rec_store_blocker_create(c->store, (bad = good, bad.created_by = S("nobody"), &bad), &c->error));
	expect(c, REC_E_INVALID,
	       rec_store_blocker_create(c->store, (bad = good, bad.status = REC_BLOCKER_UNRECOGNISED, &bad),
					&c->error));
	assert_int_equal(contract_fact(c, "t").blockers_total, 0);
}

/* A store that keeps blockers with their tasks refuses; any other keeps it, and no task changes for it. */
static void test_blocker__one_about_no_task_is_kept_or_refused(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	const struct rec_blocker blocker = {.id = S("k"), .task_id = NO_TEXT, .question = S("?")};
	contract_add(c, "t", REC_BLOCKED);
	contract_catch_up(c->store, &cursor);
	int r = rec_store_blocker_create(c->store, &blocker, &c->error);
	if (r == REC_E_UNSUPPORTED) {
		assert_non_null(strstr(c->error.message, "with its task"));
		struct rec_blocker none;
		expect(c, REC_NOT_FOUND, rec_store_blocker_get(c->store, S("k"), &c->arena, &none, &c->error));
		return;
	}
	assert_int_equal(r, 0);
	expect(c, REC_EXISTS, rec_store_blocker_create(c->store, &blocker, &c->error));
	assert_null(blocker_get(c, "k").task_id.data);
	contract_answer(c, "k");
	expect(c, 0, rec_store_blocker_resolve(c->store, S("k"), &c->error));
	assert_int_equal(blocker_get(c, "k").status, REC_RESOLVED);
	assert_int_equal(contract_fact(c, "t").blockers_total, 0);
	assert_int_equal(contract_changes(c->store, &cursor, NULL, 0), 0);
}

static void test_blocker__answer_leaves_the_task_alone(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	contract_add_blocker(c, "k", "t");
	rec_clock_manual_advance(&c->clock, 1000000);
	contract_answer(c, "k");
	struct rec_blocker b = blocker_get(c, "k");
	assert_int_equal(b.status, REC_ANSWERED);
	assert_slice(b.answer, "that one");
	assert_slice(b.answered_at, "2026-01-01T00:00:01.000000+00:00");
	assert_int_equal(contract_status(c, "t"), REC_BLOCKED);
	assert_slice(contract_get(c, "t").updated_at, "2026-01-01T00:00:00.000000+00:00");
}

static void test_blocker__can_be_answered_again_until_resolved(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	contract_add_blocker(c, "k", "t");
	expect(c, REC_REFUSED, rec_store_blocker_resolve(c->store, S("k"), &c->error));
	assert_int_equal(blocker_get(c, "k").status, REC_OPEN);
	contract_answer(c, "k");
	expect(c, 0, rec_store_blocker_answer(c->store, S("k"), S("no, this one"), &c->error));
	assert_slice(blocker_get(c, "k").answer, "no, this one");
	expect(c, 0, rec_store_blocker_resolve(c->store, S("k"), &c->error));
	assert_int_equal(blocker_get(c, "k").status, REC_RESOLVED);
	assert_slice(blocker_get(c, "k").answer, "no, this one");
	expect(c, REC_REFUSED, rec_store_blocker_answer(c->store, S("k"), S("too late"), &c->error));
	assert_slice(blocker_get(c, "k").answer, "no, this one");
}

static void test_blocker__resolving_twice_writes_nothing(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_add(c, "t", REC_BLOCKED);
	contract_add_blocker(c, "k", "t");
	contract_answer(c, "k");
	expect(c, 0, rec_store_blocker_resolve(c->store, S("k"), &c->error));
	contract_catch_up(c->store, &cursor);
	expect(c, 0, rec_store_blocker_resolve(c->store, S("k"), &c->error));
	assert_int_equal(contract_changes(c->store, &cursor, NULL, 0), 0);
}

static void test_blocker__missing_one_is_not_found(void **state)
{
	struct contract *c = *state;
	struct rec_blocker blocker;
	expect(c, REC_NOT_FOUND, rec_store_blocker_answer(c->store, S("k"), S("x"), &c->error));
	expect(c, REC_NOT_FOUND, rec_store_blocker_resolve(c->store, S("k"), &c->error));
	expect(c, REC_NOT_FOUND, rec_store_blocker_get(c->store, S("k"), &c->arena, &blocker, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_blocker_get(c->store, S(""), &c->arena, &blocker, &c->error));
	expect(c, REC_E_INVALID, rec_store_blocker_answer(c->store, S(""), S("x"), &c->error));
	expect(c, REC_E_INVALID, rec_store_blocker_answer(c->store, S("k"), NO_TEXT, &c->error));
}

static void test_blocker__answer_may_be_empty_and_is_opaque(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	contract_add_blocker(c, "k", "t");
	expect(c, 0, rec_store_blocker_answer(c->store, S("k"), S(""), &c->error));
	assert_slice(blocker_get(c, "k").answer, "");
	expect(c, 0, rec_store_blocker_answer(c->store, S("k"), S("'; DROP TABLE blockers; --"), &c->error));
	assert_slice(blocker_get(c, "k").answer, "'; DROP TABLE blockers; --");
	expect(c, REC_E_INVALID, rec_store_blocker_answer(c->store, S("k"), S("\xff\xfe"), &c->error));
}

/* ---- Listing ---- */

static int collect(void *context, const struct rec_blocker *blocker)
{
	char *ids = context;
	size_t used = strlen(ids);
	snprintf(ids + used, 256 - used, "%.*s ", (int)blocker->id.length, blocker->id.data);
	return blocker->id.data[0] == '!' ? 77 : 0;
}

static void assert_listed(struct contract *c, struct rec_slice task_id, bool open_only, const char *wanted)
{
	char ids[256] = "";
	expect(c, 0, rec_store_blockers(c->store, task_id, open_only, collect, ids, &c->error));
	assert_string_equal(ids, wanted);
}

static void add_at(struct contract *c, const char *id, const char *task_id, const char *time)
{
	struct rec_blocker blocker = {.id = S(id), .task_id = S(task_id), .question = S("?"), .created_at = S(time)};
	expect(c, 0, rec_store_blocker_create(c->store, &blocker, &c->error));
}

static void test_blockers__are_listed_oldest_first(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	contract_add(c, "u", REC_READY);
	add_at(c, "c", "t", "2026-01-03T00:00:00.000000+00:00");
	add_at(c, "b", "t", "2026-01-01T00:00:00.000000+00:00");
	add_at(c, "a", "t", "2026-01-03T00:00:00.000000+00:00"); /* the same time: by id */
	add_at(c, "x", "u", "2026-01-02T00:00:00.000000+00:00");
	contract_answer(c, "b");
	assert_listed(c, S("t"), false, "b a c ");
	assert_listed(c, S("t"), true, "a c ");
	assert_listed(c, S("u"), false, "x ");
	assert_listed(c, NO_TEXT, false, "b x a c ");
	assert_listed(c, NO_TEXT, true, "x a c ");
	assert_listed(c, S("missing"), false, "");
	assert_listed(c, S(""), false, "");
	struct rec_task t = contract_get(c, "t");
	assert_int_equal(t.blocker_count, 3);
	assert_slice(t.blockers[0].id, "b");
	assert_slice(t.blockers[1].id, "a");
	assert_slice(t.blockers[2].id, "c");
}

static void test_blockers__callback_ends_the_listing_with_its_own_result(void **state)
{
	struct contract *c = *state;
	char ids[256] = "";
	contract_add(c, "t", REC_BLOCKED);
	add_at(c, "!", "t", "2026-01-01T00:00:00.000000+00:00");
	add_at(c, "k", "t", "2026-01-02T00:00:00.000000+00:00");
	expect(c, 77, rec_store_blockers(c->store, NO_TEXT, false, collect, ids, &c->error));
	assert_string_equal(ids, "! ");
	contract_answer(c, "k"); /* the store is not left in the middle of something */
}

/* ---- Counting ---- */

static void assert_counts(struct contract *c, const char *id, unsigned total, unsigned open, unsigned fresh)
{
	struct rec_fact fact = contract_fact(c, id);
	assert_int_equal(fact.blockers_total, total);
	assert_int_equal(fact.blockers_open, open);
	assert_int_equal(fact.blockers_new, fresh);
}

static void test_blockers_new__counts_all_released_ones_of_a_task_never_claimed(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	assert_counts(c, "t", 0, 0, 0);
	contract_add_blocker(c, "k1", "t");
	contract_add_blocker(c, "k2", "t");
	contract_add_blocker(c, "k3", "t");
	assert_counts(c, "t", 3, 3, 0);
	contract_answer(c, "k1");
	assert_counts(c, "t", 3, 2, 1);
	contract_answer(c, "k2");
	expect(c, 0, rec_store_blocker_resolve(c->store, S("k2"), &c->error));
	assert_counts(c, "t", 3, 1, 2);
}

static void test_blockers_new__counts_what_was_released_since_the_last_claim(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	contract_add_blocker(c, "k1", "t");
	contract_answer(c, "k1");
	contract_set(c, "t", REC_BLOCKED, REC_READY);
	int64_t claim = contract_claim(c, "t");
	assert_counts(c, "t", 1, 0, 0); /* k1 was known when it was claimed */
	contract_add_blocker(c, "k2", "t");
	contract_finish(c, claim, REC_BLOCKED);
	assert_counts(c, "t", 2, 1, 0);
	contract_answer(c, "k2");
	assert_counts(c, "t", 2, 0, 1);
	contract_set(c, "t", REC_BLOCKED, REC_READY);
	contract_finish(c, contract_claim(c, "t"), REC_BLOCKED);
	assert_counts(c, "t", 2, 0, 0); /* blocked again without a new question */
	expect(c, 0, rec_store_blocker_resolve(c->store, S("k1"), &c->error));
	assert_counts(c, "t", 2, 0, 0); /* resolving what was released is nothing new */
}

/* Released in any way, and created in an order that is not that of their ids. */
static void test_blockers_new__all_that_were_released_are_known_to_a_claim(void **state)
{
	struct contract *c = *state;
	static const char *const ids[] = {"z", "m", "a", "q"};
	contract_add(c, "t", REC_READY);
	for (size_t i = 0; i < 4; i++) {
		contract_add_blocker(c, ids[i], "t");
		contract_answer(c, ids[i]);
		rec_clock_manual_advance(&c->clock, 1000000);
		if (i % 2)
			expect(c, 0, rec_store_blocker_resolve(c->store, S(ids[i]), &c->error));
	}
	assert_counts(c, "t", 4, 0, 4);
	contract_finish(c, contract_claim(c, "t"), REC_BLOCKED);
	assert_counts(c, "t", 4, 0, 0);
}

static void test_blockers_new__open_at_the_claim_and_answered_during_it_is_new(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_add_blocker(c, "k", "t");
	int64_t claim = contract_claim(c, "t");
	contract_answer(c, "k");
	assert_counts(c, "t", 1, 0, 1);
	contract_finish(c, claim, REC_BLOCKED);
	assert_counts(c, "t", 1, 0, 1);
}

static void test_blockers_new__a_released_claim_knew_nothing(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_add_blocker(c, "k1", "t");
	contract_answer(c, "k1");
	expect(c, 0, rec_store_release(c->store, contract_claim(c, "t"), &c->error));
	assert_counts(c, "t", 1, 0, 1); /* it never ran: k1 is still news */
	contract_finish(c, contract_claim(c, "t"), REC_READY);
	contract_add_blocker(c, "k2", "t");
	contract_answer(c, "k2");
	assert_counts(c, "t", 2, 0, 1);
	expect(c, 0, rec_store_release(c->store, contract_claim(c, "t"), &c->error));
	assert_counts(c, "t", 2, 0, 1); /* back to what the first attempt knew */
}

static void test_blockers_new__a_task_made_anew_remembers_nothing(void **state)
{
	struct contract *c = *state;
	for (int life = 0; life < 2; life++) {
		contract_add(c, "t", REC_READY);
		contract_add_blocker(c, "k", "t");
		if (life == 0)
			contract_answer(c, "k"); /* known to the claim of the first life only */
		int64_t claim = contract_claim(c, "t");
		if (life == 1)
			contract_answer(c, "k");
		contract_finish(c, claim, REC_BLOCKED);
		assert_counts(c, "t", 1, 0, life == 1);
		expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	}
}

static void test_blockers_new__one_reopened_by_another_program_is_open_and_not_new(void **state)
{
	struct contract *c = *state;
	if (!contract_backend.foreign_blocker_status)
		skip();
	contract_add(c, "t", REC_READY);
	contract_add_blocker(c, "k", "t");
	contract_answer(c, "k");
	contract_finish(c, contract_claim(c, "t"), REC_BLOCKED);
	contract_backend.foreign_blocker_status(c->place, "k", "OPEN");
	assert_counts(c, "t", 1, 1, 0);
	struct rec_snapshot all;
	expect(c, 0, rec_store_snapshot(c->store, NULL, 0, REC_SNAPSHOT_BLOCKERS, &all, &c->error));
	assert_int_equal(all.facts[0].blockers_open, 1);
	assert_int_equal(all.facts[0].blockers_new, 0);
	rec_snapshot_release(&all);
}

static void test_blockers__of_other_tasks_do_not_count(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	contract_add(c, "tt", REC_BLOCKED);
	contract_add(c, "T", REC_BLOCKED);
	contract_add_blocker(c, "k", "tt");
	assert_counts(c, "t", 0, 0, 0);
	assert_counts(c, "T", 0, 0, 0);
	assert_counts(c, "tt", 1, 1, 0);
}

static void test_blockers__every_one_counts_however_many(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_BLOCKED);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	for (int i = 0; i < 250; i++) {
		char id[16];
		snprintf(id, sizeof id, "k%d", i);
		contract_add_blocker(c, id, "t");
		if (i < 249)
			contract_answer(c, id);
	}
	expect(c, 0, rec_store_commit(c->store, &c->error));
	assert_counts(c, "t", 250, 1, 249);
	assert_int_equal(contract_get(c, "t").blocker_count, 250);
}

static const struct CMUnitTest tests[] = {
	contract_test(test_blocker__create_fills_in_what_is_missing),
	contract_test(test_blocker__create_needs_its_task_and_a_free_id),
	contract_test(test_blocker__bad_fields_are_refused),
	contract_test(test_blocker__one_about_no_task_is_kept_or_refused),
	contract_test(test_blocker__answer_leaves_the_task_alone),
	contract_test(test_blocker__can_be_answered_again_until_resolved),
	contract_test(test_blocker__resolving_twice_writes_nothing),
	contract_test(test_blocker__missing_one_is_not_found),
	contract_test(test_blocker__answer_may_be_empty_and_is_opaque),
	contract_test(test_blockers__are_listed_oldest_first),
	contract_test(test_blockers__callback_ends_the_listing_with_its_own_result),
	contract_test(test_blockers_new__counts_all_released_ones_of_a_task_never_claimed),
	contract_test(test_blockers_new__counts_what_was_released_since_the_last_claim),
	contract_test(test_blockers_new__all_that_were_released_are_known_to_a_claim),
	contract_test(test_blockers_new__open_at_the_claim_and_answered_during_it_is_new),
	contract_test(test_blockers_new__a_released_claim_knew_nothing),
	contract_test(test_blockers_new__a_task_made_anew_remembers_nothing),
	contract_test(test_blockers_new__one_reopened_by_another_program_is_open_and_not_new),
	contract_test(test_blockers__of_other_tasks_do_not_count),
	contract_test(test_blockers__every_one_counts_however_many),
};
contract_run(blockers, tests)
