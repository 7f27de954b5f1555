/* test-snapshot.c - facts about many tasks from one moment. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#define ALL_FIELDS (REC_SNAPSHOT_ALL_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY)

/* A small world in which every field differs somewhere. */
static void world(struct contract *c)
{
	contract_add(c, "blocked", REC_BLOCKED);
	contract_add_blocker(c, "k1", "blocked");
	contract_add_blocker(c, "k2", "blocked");
	contract_answer(c, "k1");
	contract_add(c, "ready", REC_READY);
	contract_add_blocker(c, "k3", "ready");
	contract_add(c, "running", REC_READY);
	contract_claim(c, "running");
	contract_add(c, "tried", REC_READY);
	contract_finish(c, contract_claim(c, "tried"), REC_READY);
	contract_finish(c, contract_claim(c, "tried"), REC_FAILED);
	struct rec_task task = contract_task("urgent", REC_DONE);
	task.priority = -5;
	task.is_leaf = false;
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
}

static void take(struct contract *c, const struct rec_slice *ids, size_t count, unsigned fields,
		 struct rec_snapshot *ret)
{
	expect(c, 0, rec_store_snapshot(c->store, ids, count, fields, ret, &c->error));
	if (ids)
		assert_int_equal(ret->count, count);
}

static void assert_fact(const struct rec_fact *f, enum rec_status status, bool claimed, bool leaf, unsigned attempt,
			int priority)
{
	assert_int_equal(f->status, status);
	assert_int_equal(f->claimed, claimed);
	assert_int_equal(f->is_leaf, leaf);
	assert_int_equal(f->attempt, attempt);
	assert_int_equal(f->priority, priority);
}

static void test_snapshot__of_all_is_in_bytewise_order(void **state)
{
	struct contract *c = *state;
	struct rec_snapshot all;
	world(c);
	take(c, NULL, 0, ALL_FIELDS, &all);
	assert_int_equal(all.count, 5);
	static const char *const ids[] = {"blocked", "ready", "running", "tried", "urgent"};
	for (size_t i = 0; i < 5; i++)
		assert_slice(all.ids[i], ids[i]);
	assert_fact(&all.facts[0], REC_BLOCKED, false, true, 0, 0);
	assert_fact(&all.facts[1], REC_READY, false, true, 0, 0);
	assert_fact(&all.facts[2], REC_IN_PROGRESS, true, true, 1, 0);
	assert_fact(&all.facts[3], REC_FAILED, false, true, 2, 0);
	assert_fact(&all.facts[4], REC_DONE, false, false, 0, -5);
	assert_int_equal(all.facts[0].blockers_total, 2);
	assert_int_equal(all.facts[0].blockers_open, 1);
	assert_int_equal(all.facts[0].blockers_new, 1);
	assert_int_equal(all.facts[1].blockers_total, 1);
	rec_snapshot_release(&all);
}

static void test_snapshot__bytewise_order_means_bytes(void **state)
{
	struct contract *c = *state;
	static const char *const ids[] = {" ", "!", "A", "B", "a", "aa", "b", "\xc3\xa4", "\xe4\xbb\xbb"};
	struct rec_snapshot all;
	for (size_t i = sizeof ids / sizeof *ids; i-- > 0;)
		contract_add(c, ids[i], REC_READY);
	take(c, NULL, 0, 0, &all);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		assert_slice(all.ids[i], ids[i]);
	rec_snapshot_release(&all);
}

static void test_snapshot__of_ids_keeps_their_order_duplicates_and_gaps(void **state)
{
	struct contract *c = *state;
	char endless[300];
	memset(endless, 'x', sizeof endless);
	struct rec_slice ids[] = {S("urgent"), S("missing"), S("blocked"), S("urgent"), S(""),          NO_TEXT,
				  S("\xff"),   S("read"),    S("readyy"),  {"a\0b", 3}, {endless, 300}, S("blocked")};
	struct rec_snapshot some;
	world(c);
	take(c, ids, sizeof ids / sizeof *ids, ALL_FIELDS, &some);
	assert_ptr_equal(some.ids, ids);
	assert_fact(&some.facts[0], REC_DONE, false, false, 0, -5);
	assert_fact(&some.facts[3], REC_DONE, false, false, 0, -5);
	assert_int_equal(some.facts[2].blockers_total, 2);
	assert_memory_equal(&some.facts[2], &some.facts[11], sizeof some.facts[2]);
	static const size_t absent[] = {1, 4, 5, 6, 7, 8, 9, 10};
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
		assert_int_equal(some.facts[absent[i]].status, REC_STATUS_ABSENT);
		assert_int_equal(some.facts[absent[i]].blockers_total, 0);
		assert_int_equal(some.facts[absent[i]].attempt, 0);
	}
	rec_snapshot_release(&some);
}

static void test_snapshot__ids_need_no_terminating_nul(void **state)
{
	struct contract *c = *state;
	struct rec_slice ids[] = {{"readyxxx", 5}};
	struct rec_snapshot some;
	world(c);
	take(c, ids, 1, 0, &some);
	assert_int_equal(some.facts[0].status, REC_READY);
	rec_snapshot_release(&some);
}

static void test_snapshot__empty_list_and_empty_store(void **state)
{
	struct contract *c = *state;
	struct rec_slice ids[] = {S("t")};
	struct rec_snapshot snapshot;
	take(c, NULL, 0, ALL_FIELDS, &snapshot);
	assert_int_equal(snapshot.count, 0);
	rec_snapshot_release(&snapshot);
	take(c, ids, 1, ALL_FIELDS, &snapshot);
	assert_int_equal(snapshot.facts[0].status, REC_STATUS_ABSENT);
	rec_snapshot_release(&snapshot);
	world(c);
	take(c, ids, 0, ALL_FIELDS, &snapshot);
	assert_int_equal(snapshot.count, 0);
	rec_snapshot_release(&snapshot);
}

static void test_snapshot__blockers_are_counted_for_blocked_tasks_or_for_all(void **state)
{
	struct contract *c = *state;
	struct rec_slice ids[] = {S("blocked"), S("ready")};
	struct rec_snapshot some;
	world(c);
	take(c, ids, 2, REC_SNAPSHOT_BLOCKERS, &some);
	assert_int_equal(some.facts[0].blockers_total, 2);
	assert_int_equal(some.facts[0].blockers_open, 1);
	assert_int_equal(some.facts[0].blockers_new, 1);
	assert_int_equal(some.facts[1].blockers_total, 0);
	rec_snapshot_release(&some);
	take(c, ids, 2, REC_SNAPSHOT_ALL_BLOCKERS, &some);
	assert_int_equal(some.facts[1].blockers_total, 1);
	assert_int_equal(some.facts[1].blockers_open, 1);
	rec_snapshot_release(&some);
}

static void test_snapshot__every_set_of_fields_tells_what_was_asked(void **state)
{
	struct contract *c = *state;
	struct rec_slice ids[] = {S("blocked"), S("running"), S("urgent")};
	world(c);
	for (unsigned fields = 0; fields < 16; fields++)
		for (int all = 0; all < 2; all++) {
			struct rec_snapshot s;
			take(c, all ? NULL : ids, 3, fields, &s);
			const struct rec_fact *blocked = &s.facts[0], *running = &s.facts[all ? 2 : 1],
					      *urgent = &s.facts[all ? 4 : 2];
			assert_int_equal(blocked->status, REC_BLOCKED);
			assert_int_equal(running->status, REC_IN_PROGRESS);
			if (fields & (REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ALL_BLOCKERS))
				assert_int_equal(blocked->blockers_open, 1);
			if (fields & REC_SNAPSHOT_ATTEMPT)
				assert_true(running->claimed && running->attempt == 1);
			if (fields & REC_SNAPSHOT_PRIORITY)
				assert_true(urgent->priority == -5 && !urgent->is_leaf);
			rec_snapshot_release(&s);
		}
}

static void test_snapshot__owns_what_it_shows(void **state)
{
	struct contract *c = *state;
	struct rec_snapshot all;
	world(c);
	take(c, NULL, 0, 0, &all);
	expect(c, 0, rec_store_delete(c->store, S("blocked"), &c->error));
	contract_add(c, "another", REC_READY);
	assert_slice(all.ids[0], "blocked");
	assert_int_equal(all.facts[0].status, REC_BLOCKED);
	rec_snapshot_release(&all);
	assert_int_equal(all.count, 0);
	rec_snapshot_release(&all); /* twice is harmless */
}

static void test_snapshot__raw_status_of_a_known_one_is_absent(void **state)
{
	struct contract *c = *state;
	struct rec_snapshot all;
	world(c);
	take(c, NULL, 0, 0, &all);
	for (size_t i = 0; i < 10; i++)
		assert_null(rec_snapshot_raw(&all, i).data);
	rec_snapshot_release(&all);
}

static void test_snapshot__foreign_statuses_are_shown_raw(void **state)
{
	struct contract *c = *state;
	static const char *const foreign[] = {"ready", "WAITING", "", " READY", "READY\n", "\xe4\xbb\xbb"};
	enum { COUNT = sizeof foreign / sizeof *foreign };
	struct rec_slice ids[2 * COUNT + 1];
	char names[COUNT][8];
	struct rec_snapshot s;
	if (!contract_backend.foreign_status)
		skip();
	for (size_t i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof names[i], "t%zu", i);
		contract_add(c, names[i], REC_READY);
		contract_backend.foreign_status(c->place, names[i], foreign[i]);
		ids[i] = ids[2 * COUNT - i] = S(names[i]); /* out of order, duplicated */
	}
	contract_add(c, "good", REC_DONE);
	ids[COUNT] = S("good");
	take(c, ids, 2 * COUNT + 1, 0, &s);
	assert_int_equal(s.facts[COUNT].status, REC_DONE);
	assert_null(rec_snapshot_raw(&s, COUNT).data);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(s.facts[i].status, REC_STATUS_UNRECOGNISED);
		assert_slice(rec_snapshot_raw(&s, i), foreign[i]);
		assert_slice(rec_snapshot_raw(&s, 2 * COUNT - i), foreign[i]);
	}
	rec_snapshot_release(&s);
	take(c, NULL, 0, 0, &s);
	assert_int_equal(s.count, COUNT + 1);
	assert_slice(rec_snapshot_raw(&s, 2), "WAITING"); /* good, t0, t1 */
	rec_snapshot_release(&s);
}

/* ---- Many ids ---- */

#define MANY 20000

static void many_add(struct contract *c)
{
	char id[16];
	expect(c, 0, rec_store_begin(c->store, &c->error));
	for (int i = 0; i < MANY; i++) {
		snprintf(id, sizeof id, "t%d", i);
		struct rec_task task = contract_task(id, i % REC_STATUS_COUNT);
		task.priority = i % 100;
		expect(c, 0, rec_store_create_as_given(c->store, &task, &c->error));
		if (i % 50 == 0) {
			contract_add_blocker(c, id, id);
			if (i % 100 == 0)
				contract_answer(c, id);
		}
	}
	expect(c, 0, rec_store_commit(c->store, &c->error));
}

/* A hundred thousand ids with gaps and repetitions must be told what the same ids are told in lists of one. */
static void test_snapshot__long_and_short_lists_give_the_same_facts(void **state)
{
	struct contract *c = *state;
	enum { COUNT = 100000 };
	struct rec_slice *ids = rec_arena_alloc(&c->arena, COUNT * sizeof *ids);
	struct rec_snapshot all, longest, one;
	many_add(c);
	for (size_t i = 0; i < COUNT; i++) {
		char id[16];
		int length = snprintf(id, sizeof id, "t%zu", i * 7919 % (MANY + 5000));
		ids[i] = (struct rec_slice){rec_arena_strndup(&c->arena, id, (size_t)length), (size_t)length};
	}
	take(c, ids, COUNT, ALL_FIELDS, &longest);
	for (size_t i = 0; i < COUNT; i += 97) {
		take(c, ids + i, 1, ALL_FIELDS, &one);
		assert_memory_equal(&longest.facts[i], &one.facts[0], sizeof one.facts[0]);
		rec_snapshot_release(&one);
	}
	take(c, NULL, 0, ALL_FIELDS, &all);
	assert_int_equal(all.count, MANY);
	for (size_t i = 0; i < all.count; i += 89) {
		take(c, all.ids + i, 1, ALL_FIELDS, &one);
		assert_memory_equal(&all.facts[i], &one.facts[0], sizeof one.facts[0]);
		assert_int_not_equal(one.facts[0].status, REC_STATUS_ABSENT);
		rec_snapshot_release(&one);
	}
	rec_snapshot_release(&longest);
	rec_snapshot_release(&all);
}

static const struct CMUnitTest tests[] = {
	contract_test(test_snapshot__of_all_is_in_bytewise_order),
	contract_test(test_snapshot__bytewise_order_means_bytes),
	contract_test(test_snapshot__of_ids_keeps_their_order_duplicates_and_gaps),
	contract_test(test_snapshot__ids_need_no_terminating_nul),
	contract_test(test_snapshot__empty_list_and_empty_store),
	contract_test(test_snapshot__blockers_are_counted_for_blocked_tasks_or_for_all),
	contract_test(test_snapshot__every_set_of_fields_tells_what_was_asked),
	contract_test(test_snapshot__owns_what_it_shows),
	contract_test(test_snapshot__raw_status_of_a_known_one_is_absent),
	contract_test(test_snapshot__foreign_statuses_are_shown_raw),
	contract_test(test_snapshot__long_and_short_lists_give_the_same_facts),
};
contract_run(snapshot, tests)
