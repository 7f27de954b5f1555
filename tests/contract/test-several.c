/* test-several.c - what asks for several tasks at once: it means the same as asking for one after the other. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

static const struct rec_claim like = {.owner = {"host:1", 6}, .batch_id = {"batch", 5}};

static int claim_tell(void *context, const struct rec_claim *claim)
{
	char *text = context;
	size_t used = strlen(text);
	snprintf(text + used, 256 - used, "%lld=%.*s#%u:%.*s ", (long long)claim->claim_id, (int)claim->task_id.length,
		 claim->task_id.data, claim->attempt, (int)claim->owner.length, claim->owner.data);
	return 0;
}

static void assert_claims(struct contract *c, const char *wanted)
{
	char text[256] = "";
	expect(c, 0, rec_store_claims(c->store, claim_tell, text, &c->error));
	assert_string_equal(text, wanted);
}

static void test_claim_many__gives_numbers_in_order_and_leaves_what_is_not_free(void **state)
{
	struct contract *c = *state;
	struct rec_claimed claimed[7];
	const struct rec_slice ids[] = {S("z"), S("done"), S("none"), S("held"), S("a"), S("z"), S("m")};
	const int wanted[] = {0, REC_CONFLICT, REC_NOT_FOUND, REC_EXISTS, 0, REC_CONFLICT, 0};
	contract_add(c, "z", REC_READY);
	contract_add(c, "done", REC_DONE);
	contract_add(c, "held", REC_READY);
	contract_add(c, "a", REC_READY);
	contract_add(c, "m", REC_READY);
	contract_claim(c, "held"); /* 1 */
	contract_set(c, "held", REC_IN_PROGRESS, REC_READY);
	contract_finish(c, contract_claim(c, "a"), REC_READY); /* 2 */
	expect(c, 0, rec_store_claim_many(c->store, &like, ids, 7, claimed, &c->error));
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(claimed[i].result, wanted[i]);
	assert_claims(c, "1=held#1:host:1 3=z#1:host:1 4=a#2:host:1 5=m#1:host:1 ");
	assert_int_equal(claimed[0].claim_id, 3);
	assert_int_equal(claimed[4].claim_id, 4);
	assert_int_equal(claimed[4].attempt, 2);
	assert_int_equal(claimed[6].claim_id, 5);
	assert_int_equal(contract_status(c, "m"), REC_IN_PROGRESS);
	assert_int_equal(contract_fact(c, "a").attempt, 2);
	assert_int_equal(contract_status(c, "held"), REC_READY);
}

static void test_claim_many__records_what_was_released_and_gives_it_back(void **state)
{
	struct contract *c = *state;
	struct rec_claimed claimed[2];
	const struct rec_slice ids[] = {S("a"), S("b")};
	contract_add(c, "a", REC_READY);
	contract_add(c, "b", REC_READY);
	contract_add_blocker(c, "k1", "a");
	contract_add_blocker(c, "k2", "b");
	contract_answer(c, "k1");
	expect(c, 0, rec_store_claim_many(c->store, &like, ids, 2, claimed, &c->error));
	assert_int_equal(contract_fact(c, "a").blockers_new, 0);
	contract_answer(c, "k2");
	assert_int_equal(contract_fact(c, "b").blockers_new, 1);
	expect(c, 0, rec_store_release(c->store, claimed[0].claim_id, &c->error));
	assert_int_equal(contract_fact(c, "a").blockers_new, 1);
	assert_int_equal(contract_fact(c, "a").attempt, 0);
}

struct moved {
	char text[128];
};

static void rolled_up(void *context, const struct rec_rollup_change *change)
{
	struct moved *moved = context;
	size_t used = strlen(moved->text);
	snprintf(moved->text + used, sizeof moved->text - used, "%.*s:%d ", (int)change->id.length, change->id.data,
		 (int)change->to);
}

static void test_claim_many__rolls_parents_up_behind_the_last_claim(void **state)
{
	struct contract *c = *state;
	struct rec_claimed claimed[3];
	struct moved moved = {""};
	const struct rec_slice ids[] = {S("child"), S("parent"), S("other")};
	contract_add(c, "parent", REC_READY);
	contract_add(c, "top", REC_READY);
	contract_add_child(c, "child", REC_READY, "parent");
	contract_add_child(c, "other", REC_READY, "top");
	rec_store_on_rollup(c->store, rolled_up, &moved);
	expect(c, 0, rec_store_claim_many(c->store, &like, ids, 3, claimed, &c->error));
	rec_store_on_rollup(c->store, NULL, NULL);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(claimed[i].result, 0);
	assert_string_equal(moved.text, "top:2 ");
	assert_int_equal(contract_status(c, "parent"), REC_IN_PROGRESS);
}

static void test_claim_many__is_one_group(void **state)
{
	struct contract *c = *state;
	struct rec_claimed claimed[2];
	const struct rec_slice bad[] = {S("a"), S("\xff")}, good[] = {S("a"), S("b")};
	contract_add(c, "a", REC_READY);
	contract_add(c, "b", REC_READY);
	expect(c, REC_E_INVALID, rec_store_claim_many(c->store, &like, bad, 2, claimed, &c->error));
	assert_claims(c, "");
	expect(c, 0, rec_store_claim_many(c->store, &like, good, 0, claimed, &c->error));
	expect(c, 0, rec_store_begin(c->store, &c->error));
	expect(c, 0, rec_store_claim_many(c->store, &like, good, 2, claimed, &c->error));
	assert_claims(c, "1=a#1:host:1 2=b#1:host:1 ");
	rec_store_rollback(c->store);
	assert_claims(c, "");
	assert_int_equal(contract_status(c, "b"), REC_READY);
	expect(c, 0, rec_store_claim_many(c->store, &like, good, 2, claimed, &c->error));
	assert_claims(c, "1=a#1:host:1 2=b#1:host:1 ");
}

static void test_claim_many__is_told_by_the_feed(void **state)
{
	struct contract *c = *state;
	struct rec_claimed claimed[2];
	struct rec_cursor cursor = {0};
	char told[64];
	const struct rec_slice ids[] = {S("a"), S("b")};
	contract_add(c, "a", REC_READY);
	contract_add(c, "b", REC_READY);
	contract_catch_up(c->store, &cursor);
	expect(c, 0, rec_store_claim_many(c->store, &like, ids, 2, claimed, &c->error));
	assert_int_equal(contract_changes(c->store, &cursor, told, sizeof told), 2);
	assert_non_null(strstr(told, "a "));
	assert_non_null(strstr(told, "b "));
}

static void test_get_many__in_the_order_of_the_ids(void **state)
{
	struct contract *c = *state;
	struct rec_task tasks[5];
	const struct rec_slice ids[] = {S("b"), S("none"), S("a"), S("b"), S("\xff")};
	contract_add(c, "a", REC_READY);
	contract_add(c, "b", REC_READY);
	contract_add_blocker(c, "k1", "b");
	contract_add_blocker(c, "k2", "b");
	contract_claim(c, "a");
	for (size_t count = 5; count > 0; count--) {
		memset(tasks, 1, sizeof tasks);
		expect(c, 0, rec_store_get_many(c->store, ids, count, &c->arena, tasks, &c->error));
		for (size_t i = 0; i < count; i++)
			assert_slice(tasks[i].id, i == 1 || i == 4 ? NULL : i == 2 ? "a" : "b");
		assert_int_equal(tasks[0].blocker_count, 2);
		assert_slice(tasks[0].blockers[1].id, "k2");
		if (count > 2) {
			assert_true(tasks[2].claimed);
			assert_int_equal(tasks[2].status, REC_IN_PROGRESS);
			assert_int_equal(tasks[2].blocker_count, 0);
		}
	}
	expect(c, 0, rec_store_get_many(c->store, NULL, 0, &c->arena, NULL, &c->error));
}

static const struct CMUnitTest tests[] = {
	contract_test(test_claim_many__gives_numbers_in_order_and_leaves_what_is_not_free),
	contract_test(test_claim_many__records_what_was_released_and_gives_it_back),
	contract_test(test_claim_many__rolls_parents_up_behind_the_last_claim),
	contract_test(test_claim_many__is_one_group),
	contract_test(test_claim_many__is_told_by_the_feed),
	contract_test(test_get_many__in_the_order_of_the_ids),
};
contract_run(several, tests)
