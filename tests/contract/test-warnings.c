/* test-warnings.c - rows that another program left in a bad state: told once, used as far as they go, and never in the
 * way of the others. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

struct heard {
	size_t count;
	char text[1024];
};

static void hear(void *context, const struct rec_warning *w)
{
	struct heard *h = context;
	size_t used = strlen(h->text);
	assert_non_null(w->problem);
	assert_true(w->problem[0] != '\0');
	assert_non_null(w->shown);
	snprintf(h->text + used, sizeof h->text - used, "%.*s.%s=%s ", (int)w->task_id.length,
		 w->task_id.data ? w->task_id.data : "", w->column, w->shown);
	h->count++;
}

static int count_task(void *context, const struct rec_task *task)
{
	(void)task;
	++*(size_t *)context;
	return 0;
}

static size_t list(struct contract *c, struct rec_store *s)
{
	size_t count = 0;
	expect(c, 0, rec_store_list(s, NULL, count_task, &count, &c->error));
	return count;
}

static void three(struct contract *c)
{
	contract_add(c, "a", REC_READY);
	contract_add(c, "bad", REC_READY);
	contract_add(c, "z", REC_READY);
}

static void test_warnings__a_bad_value_is_told_once_and_hides_nobody(void **state)
{
	struct contract *c = *state;
	struct heard heard = {0}, other = {0};
	if (!contract_backend.foreign_value)
		skip();
	three(c);
	contract_backend.foreign_value(c->place, "bad", "depends_on", "'{\"no\":\"list\"}'");
	rec_store_on_warning(c->store, hear, &heard);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(list(c, c->store), 3);
		contract_get(c, "bad");
		assert_string_equal(heard.text, "bad.depends_on={\"no\":\"list\"} ");
	}
	struct rec_store *second = contract_open(c, REC_STORE_READ);
	rec_store_on_warning(second, hear, &other);
	assert_int_equal(list(c, second), 3);
	assert_int_equal(other.count, 1);
}

static void test_warnings__whatever_is_in_depends_on_the_task_goes_on(void **state)
{
	struct contract *c = *state;
	static const char *const bad[] = {"'{'",      "'[1]'",  "'\"x\"'",  "'x'", "7",          "x'5b225d'",
					  "'[\"a\"'", "'[[]]'", "'[null]'", "2.5", "'[\"a\",2]'"};
	if (!contract_backend.foreign_value)
		skip();
	three(c);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		contract_backend.foreign_value(c->place, "bad", "depends_on", bad[i]);
		struct rec_task task = contract_get(c, "bad");
		assert_int_equal(task.depends_on_count, 0);
		assert_non_null(task.depends_on_raw.data);
		assert_int_equal(contract_status(c, "bad"), REC_READY);
		contract_set(c, "bad", REC_READY, REC_BACKLOG);
		contract_set(c, "bad", REC_BACKLOG, REC_READY);
		assert_non_null(contract_get(c, "bad").depends_on_raw.data); /* and it is left as it is */
	}
	struct rec_task edit = {.id = S("bad")};
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_DEPENDS_ON, &c->error));
	assert_null(contract_get(c, "bad").depends_on_raw.data);
}

static void test_warnings__no_dependencies_may_be_written_as_null_or_nothing(void **state)
{
	struct contract *c = *state;
	struct heard heard = {0};
	if (!contract_backend.foreign_value)
		skip();
	three(c);
	rec_store_on_warning(c->store, hear, &heard);
	contract_backend.foreign_value(c->place, "bad", "depends_on", "NULL");
	contract_backend.foreign_value(c->place, "z", "depends_on", "''");
	contract_backend.foreign_value(c->place, "bad", "priority", "NULL");
	struct rec_task task = contract_get(c, "bad");
	assert_int_equal(task.depends_on_count, 0);
	assert_null(task.depends_on_raw.data);
	assert_int_equal(task.priority, 0);
	assert_int_equal(contract_fact(c, "bad").priority, 0);
	assert_null(contract_get(c, "z").depends_on_raw.data);
	assert_int_equal(heard.count, 0);
}

static void test_warnings__other_columns(void **state)
{
	struct contract *c = *state;
	struct heard heard = {0};
	if (!contract_backend.foreign_value)
		skip();
	three(c);
	rec_store_on_warning(c->store, hear, &heard);
	contract_backend.foreign_value(c->place, "bad", "priority", "'urgent'");
	assert_int_equal(contract_get(c, "bad").priority, 0);
	assert_int_equal(contract_fact(c, "bad").priority, 0);
	contract_backend.foreign_value(c->place, "bad", "created_at", "'some time ago'");
	assert_slice(contract_get(c, "bad").created_at, "some time ago");
	contract_backend.foreign_value(c->place, "bad", "created_at", "'2026-03-12 03:11:13'");
	assert_slice(contract_get(c, "bad").created_at, "2026-03-12 03:11:13"); /* readable: no zone is UTC */
	assert_string_equal(heard.text, "bad.priority=urgent bad.created_at=some time ago ");
	assert_int_equal(contract_status(c, "bad"), REC_READY);
	assert_int_equal(list(c, c->store), 3);
}

static void test_warnings__a_foreign_blocker_status_counts_as_open(void **state)
{
	struct contract *c = *state;
	struct rec_blocker blocker;
	if (!contract_backend.foreign_blocker_status)
		skip();
	contract_add(c, "t", REC_BLOCKED);
	contract_add_blocker(c, "k", "t");
	contract_answer(c, "k");
	contract_backend.foreign_blocker_status(c->place, "k", "answered");
	struct rec_fact fact = contract_fact(c, "t");
	assert_int_equal(fact.blockers_total, 1);
	assert_int_equal(fact.blockers_open, 1); /* never guessed released */
	assert_int_equal(fact.blockers_new, 0);
	expect(c, 0, rec_store_blocker_get(c->store, S("k"), &c->arena, &blocker, &c->error));
	assert_int_equal(blocker.status, REC_BLOCKER_UNRECOGNISED);
	assert_slice(blocker.status_text, "answered");
}

static const struct CMUnitTest tests[] = {
	contract_test(test_warnings__a_bad_value_is_told_once_and_hides_nobody),
	contract_test(test_warnings__whatever_is_in_depends_on_the_task_goes_on),
	contract_test(test_warnings__no_dependencies_may_be_written_as_null_or_nothing),
	contract_test(test_warnings__other_columns),
	contract_test(test_warnings__a_foreign_blocker_status_counts_as_open),
};
contract_run(warnings, tests)
