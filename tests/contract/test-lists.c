/* test-lists.c - listing tasks in pages, and ids by their beginning. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

struct seen {
	struct contract *c;
	char ids[512];
	size_t count;
	int end_after, end_with;
	struct rec_task last; /* shallow: its texts live until fn returns */
};

static int see(void *context, const struct rec_task *task)
{
	struct seen *s = context;
	size_t used = strlen(s->ids);
	if (used + task->id.length + 2 < sizeof s->ids)
		snprintf(s->ids + used, sizeof s->ids - used, "%.*s ", (int)task->id.length, task->id.data);
	s->last = *task;
	return (int)++s->count == s->end_after ? s->end_with : 0;
}

static void assert_list(struct contract *c, struct rec_list_options options, const char *wanted)
{
	struct seen seen = {.c = c};
	expect(c, 0, rec_store_list(c->store, &options, see, &seen, &c->error));
	assert_string_equal(seen.ids, wanted);
}

static void seven(struct contract *c)
{
	static const char *const ids[REC_STATUS_COUNT] = {"g", "f", "e", "d", "c", "b", "a"};
	for (unsigned i = 0; i < REC_STATUS_COUNT; i++)
		contract_add(c, ids[i], i);
}

static void test_list__is_in_id_order(void **state)
{
	struct contract *c = *state;
	struct seen seen = {.c = c};
	assert_list(c, (struct rec_list_options){0}, "");
	seven(c);
	assert_list(c, (struct rec_list_options){0}, "a b c d e f g ");
	expect(c, 0, rec_store_list(c->store, NULL, see, &seen, &c->error));
	assert_string_equal(seen.ids, "a b c d e f g ");
}

static void test_list__by_status(void **state)
{
	struct contract *c = *state;
	seven(c);
	for (unsigned i = 0; i < REC_STATUS_COUNT; i++) {
		const char wanted[] = {(char)('g' - i), ' ', '\0'};
		assert_list(c, (struct rec_list_options){.status_mask = 1u << i}, wanted);
	}
	assert_list(c, (struct rec_list_options){.status_mask = 1u << REC_DONE | 1u << REC_MERGED}, "a b ");
	assert_list(c, (struct rec_list_options){.status_mask = 1u << REC_STATUS_UNRECOGNISED}, "");
}

static void test_list__pages_by_after_and_limit(void **state)
{
	struct contract *c = *state;
	seven(c);
	assert_list(c, (struct rec_list_options){.limit = 3}, "a b c ");
	assert_list(c, (struct rec_list_options){.limit = 3, .after = S("c")}, "d e f ");
	assert_list(c, (struct rec_list_options){.limit = 3, .after = S("f")}, "g ");
	assert_list(c, (struct rec_list_options){.limit = 3, .after = S("g")}, "");
	assert_list(c, (struct rec_list_options){.after = S("cc")}, "d e f g ");
	assert_list(c, (struct rec_list_options){.after = S("")}, "a b c d e f g ");
	assert_list(c, (struct rec_list_options){.limit = 1, .after = S("b"), .status_mask = 1u << REC_READY}, "f ");
}

static void test_list__goes_on_soundly_when_tasks_come_and_go_between_pages(void **state)
{
	struct contract *c = *state;
	seven(c);
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	assert_list(c, (struct rec_list_options){.limit = 3}, "a b c ");
	struct rec_task early = contract_task("aa", REC_READY), late = contract_task("dd", REC_READY);
	expect(c, 0, rec_store_create(second, &early, &c->error));
	expect(c, 0, rec_store_create(second, &late, &c->error));
	expect(c, 0, rec_store_delete(second, S("c"), &c->error));
	expect(c, 0, rec_store_delete(second, S("e"), &c->error));
	assert_list(c, (struct rec_list_options){.limit = 3, .after = S("c")}, "d dd f ");
	assert_list(c, (struct rec_list_options){0}, "a aa b d dd f g ");
}

static void test_list__callback_ends_it_with_its_own_result(void **state)
{
	struct contract *c = *state;
	static const int results[] = {1, 77, REC_NOT_FOUND, REC_E_INTERRUPTED, -99};
	seven(c);
	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		struct seen seen = {.c = c, .end_after = 2, .end_with = results[i]};
		int r = rec_store_list(c->store, NULL, see, &seen, &c->error);
		assert_int_equal(r, results[i]);
		assert_int_equal(seen.count, 2);
		contract_set(c, "f", REC_READY, REC_DONE); /* the store is free for writes */
		contract_set(c, "f", REC_DONE, REC_READY);
	}
}

static int call_store(void *context, const struct rec_task *task)
{
	struct seen *s = context;
	struct rec_task other;
	int64_t left;
	expect(s->c, REC_E_BUG, rec_store_renew(s->c->store, S("host:1"), 1, &s->c->error));
	expect(s->c, REC_E_BUG, rec_store_lease(s->c->store, S("host:1"), &left, &s->c->error));
	expect(s->c, REC_E_BUG, rec_store_get(s->c->store, task->id, &s->c->arena, &other, &s->c->error));
	expect(s->c, REC_E_BUG, rec_store_delete(s->c->store, task->id, &s->c->error));
	expect(s->c, REC_E_BUG, rec_store_begin(s->c->store, &s->c->error));
	expect(s->c, REC_E_BUG, rec_store_commit(s->c->store, &s->c->error));
	s->count++;
	return 0;
}

static void test_list__callback_must_not_call_the_store(void **state)
{
	struct contract *c = *state;
	struct seen seen = {.c = c};
	seven(c);
	expect(c, 0, rec_store_list(c->store, NULL, call_store, &seen, &c->error));
	assert_int_equal(seen.count, 7);
	contract_set(c, "f", REC_READY, REC_DONE);
	expect(c, 0, rec_store_begin(c->store, &c->error)); /* nor does a group end by it */
	contract_set(c, "f", REC_DONE, REC_READY);
	expect(c, 0, rec_store_list(c->store, NULL, call_store, &seen, &c->error));
	assert_int_equal(seen.count, 14);
	expect(c, 0, rec_store_commit(c->store, &c->error));
	contract_set(c, "f", REC_READY, REC_DONE);
}

static int look_full(void *context, const struct rec_task *task)
{
	bool *blockers = context;
	assert_slice(task->description, "long");
	assert_slice(task->parent_id, "p");
	assert_slice(task->updated_at, "2026-01-01T00:00:00.000000+00:00");
	assert_slice(task->status_text, "IN_PROGRESS");
	assert_int_equal(task->attempt, 1);
	assert_true(task->claimed);
	assert_int_equal(task->blocker_count, *blockers ? 2 : 0);
	if (*blockers) {
		assert_slice(task->blockers[0].id, "k1");
		assert_slice(task->blockers[1].id, "k2");
		assert_slice(task->blockers[0].task_id, "t");
	}
	return 0;
}

static int look_brief(void *context, const struct rec_task *task)
{
	bool *blockers = context;
	assert_slice(task->id, "t");
	assert_slice(task->title, "a task");
	assert_int_equal(task->status, REC_IN_PROGRESS);
	assert_int_equal(task->priority, 4);
	assert_int_equal(task->depends_on_count, 1);
	assert_slice(task->depends_on[0], "d");
	assert_slice(task->parent_id, "p");
	assert_true(task->is_leaf);
	assert_slice(task->created_at, "2026-01-01T00:00:00.000000+00:00");
	assert_int_equal(task->blocker_count, *blockers ? 2 : 0);
	return 0;
}

static void test_list__full_brief_and_with_blockers(void **state)
{
	struct contract *c = *state;
	const struct rec_slice dependencies[] = {S("d")};
	struct rec_task task = contract_task("t", REC_READY);
	task.description = S("long");
	task.parent_id = S("p");
	task.priority = 4;
	task.depends_on = dependencies;
	task.depends_on_count = 1;
	const struct rec_blocker first = {.id = S("k1"), .question = S("?")};
	task.blockers = &first;
	task.blocker_count = 1;
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	contract_add_blocker(c, "k2", "t");
	contract_claim(c, "t");
	for (int i = 0; i < 4; i++) {
		bool blockers = i & 1;
		const struct rec_list_options options = {.blockers = blockers, .brief = i & 2};
		expect(c, 0,
		       rec_store_list(c->store, &options, options.brief ? look_brief : look_full, &blockers,
				      &c->error));
	}
}

static void test_list__foreign_statuses_are_listed_raw(void **state)
{
	struct contract *c = *state;
	struct seen seen = {.c = c};
	if (!contract_backend.foreign_status)
		skip();
	seven(c);
	contract_backend.foreign_status(c->place, "b", "WAITING");
	assert_list(c, (struct rec_list_options){0}, "a b c d e f g ");
	assert_list(c, (struct rec_list_options){.status_mask = 1u << REC_DONE}, "");
	assert_list(c, (struct rec_list_options){.status_mask = 1u << REC_STATUS_UNRECOGNISED}, "b ");
	assert_slice(contract_get(c, "b").status_text, "WAITING");
	assert_int_equal(contract_get(c, "b").status, REC_STATUS_UNRECOGNISED);
	(void)seen;
}

/* ---- Prefixes ---- */

static void assert_found(struct contract *c, bool blockers, struct rec_slice prefix, size_t capacity,
			 const char *wanted)
{
	struct rec_slice ids[16];
	char text[256] = "";
	size_t count = 99;
	int r = blockers ? rec_store_find_blocker_prefix(c->store, prefix, &c->arena, ids, capacity, &count, &c->error)
			 : rec_store_find_prefix(c->store, prefix, &c->arena, ids, capacity, &count, &c->error);
	expect(c, 0, r);
	assert_true(count <= capacity);
	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "%.*s ", (int)ids[i].length, ids[i].data);
	}
	assert_string_equal(text, wanted);
}

static void test_find__is_literal_bytewise_and_bounded(void **state)
{
	struct contract *c = *state;
	static const char *const ids[] = {"a",  "ab",  "abc", "abd", "a%", "a_",       "a*",
					  "AB", "a\\", "b",   "ac",  "a'", "\xc3\xa4", "a\xef\xbf\xbf"};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		contract_add(c, ids[i], REC_READY);
	assert_found(c, false, S("ab"), 16, "ab abc abd ");
	assert_found(c, false, S("ab"), 2, "ab abc ");
	assert_found(c, false, S("ab"), 0, "");
	assert_found(c, false, S("abc"), 16, "abc ");
	assert_found(c, false, S("abcd"), 16, "");
	assert_found(c, false, S("a%"), 16, "a% ");
	assert_found(c, false, S("a_"), 16, "a_ ");
	assert_found(c, false, S("a*"), 16, "a* ");
	assert_found(c, false, S("a'"), 16, "a' ");
	assert_found(c, false, S("a\\"), 16, "a\\ ");
	assert_found(c, false, S("A"), 16, "AB ");
	assert_found(c, false, S("\xc3\xa4"), 16, "\xc3\xa4 ");
	assert_found(c, false, S("\xc3"), 16, "\xc3\xa4 "); /* half a character is a beginning too */
	assert_found(c, false, S("\xff"), 16, "");
	assert_found(c, false, S("a\xef\xbf"), 16, "a\xef\xbf\xbf ");
	assert_found(c, false, S("zz"), 16, "");
	assert_found(c, false, S(""), 3, "AB a a% ");
}

static void test_find__blockers_likewise(void **state)
{
	struct contract *c = *state;
	contract_add(c, "k-task", REC_BLOCKED);
	contract_add_blocker(c, "k1", "k-task");
	contract_add_blocker(c, "k11", "k-task");
	contract_add_blocker(c, "k2", "k-task");
	assert_found(c, true, S("k1"), 16, "k1 k11 ");
	assert_found(c, true, S("k"), 2, "k1 k11 ");
	assert_found(c, true, S("x"), 16, "");
	assert_found(c, false, S("k"), 16, "k-task ");
}

static void test_find__overlong_prefix_finds_nothing(void **state)
{
	struct contract *c = *state;
	char endless[400];
	memset(endless, 'x', sizeof endless);
	contract_add(c, "x", REC_READY);
	assert_found(c, false, (struct rec_slice){endless, sizeof endless}, 16, "");
}

static const struct CMUnitTest tests[] = {
	contract_test(test_list__is_in_id_order),
	contract_test(test_list__by_status),
	contract_test(test_list__pages_by_after_and_limit),
	contract_test(test_list__goes_on_soundly_when_tasks_come_and_go_between_pages),
	contract_test(test_list__callback_ends_it_with_its_own_result),
	contract_test(test_list__callback_must_not_call_the_store),
	contract_test(test_list__full_brief_and_with_blockers),
	contract_test(test_list__foreign_statuses_are_listed_raw),
	contract_test(test_find__is_literal_bytewise_and_bounded),
	contract_test(test_find__blockers_likewise),
	contract_test(test_find__overlong_prefix_finds_nothing),
};
contract_run(lists, tests)
