/* test-errors.c - stores that cannot be written to, and calls without an error to fill in. */
#include "contract.h"

#include <string.h>

/* Every write on a handle opened for reading. */
static void test_read_only__every_write_is_refused(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_add_blocker(c, "k", "t");
	struct rec_store *s = contract_open(c, REC_STORE_READ);
	struct rec_store_info info;
	rec_store_info(s, &info);
	assert_int_equal(info.mode, REC_STORE_READ);
	struct rec_task task = contract_task("u", REC_READY);
	struct rec_blocker blocker = {.id = S("k2"), .task_id = S("t"), .question = S("?")};
	struct rec_event event = {.event = S("X")};
	struct rec_claim claim = {.task_id = S("t")};
	struct rec_finish finish = {.claim_id = 1, .to = REC_DONE};
	struct rec_gc gc = {.older_than_us = INT64_MAX};
	struct rec_error *e = &c->error;
	expect(c, REC_E_READ_ONLY, rec_store_begin(s, e));
	expect(c, REC_E_READ_ONLY, rec_store_create(s, &task, e));
	expect(c, REC_E_READ_ONLY, rec_store_create_as_given(s, &task, e));
	expect(c, REC_E_READ_ONLY, rec_store_edit(s, &task, REC_EDIT_TITLE, e));
	expect(c, REC_E_READ_ONLY, rec_store_delete(s, S("t"), e));
	expect(c, REC_E_READ_ONLY, rec_store_set_status(s, S("t"), REC_READY, REC_DONE, NULL, NULL, NULL, e));
	expect(c, REC_E_READ_ONLY, rec_store_blocker_create(s, &blocker, e));
	expect(c, REC_E_READ_ONLY, rec_store_blocker_answer(s, S("k"), S("x"), e));
	expect(c, REC_E_READ_ONLY, rec_store_blocker_resolve(s, S("k"), e));
	expect(c, REC_E_READ_ONLY, rec_store_event_add(s, &event, e));
	expect(c, REC_E_READ_ONLY, rec_store_claim(s, &claim, NULL, e));
	expect(c, REC_E_READ_ONLY, rec_store_finish(s, &finish, NULL, e));
	expect(c, REC_E_READ_ONLY, rec_store_release(s, 1, e));
	expect(c, REC_E_READ_ONLY, rec_store_gc(s, &gc, e));
	gc.dry_run = true;
	expect(c, 0, rec_store_gc(s, &gc, e));
}

static void test_read_only__reads_what_others_write(void **state)
{
	struct contract *c = *state;
	struct rec_buffer ours, theirs;
	contract_add(c, "t", REC_READY);
	contract_add_blocker(c, "k", "t");
	struct rec_store *s = contract_open(c, REC_STORE_READ);
	contract_claim(c, "t");
	contract_answer(c, "k");
	contract_dump(c->store, &ours);
	contract_dump(s, &theirs);
	assert_same_dump(&ours, &theirs);
	rec_buffer_release(&ours);
	rec_buffer_release(&theirs);
}

static void test_info__says_what_was_opened(void **state)
{
	struct contract *c = *state;
	struct rec_store_info info;
	rec_store_info(c->store, &info);
	assert_string_equal(info.backend, contract_backend.name);
	assert_non_null(info.location);
	assert_true(info.attached);
	assert_false(info.codeframe);
}

static void test_open__again_with_init_keeps_everything(void **state)
{
	struct contract *c = *state;
	struct rec_buffer before, after;
	contract_add(c, "t", REC_READY);
	contract_claim(c, "t");
	contract_dump(c->store, &before);
	struct rec_store *again = contract_open(c, REC_STORE_INIT);
	contract_dump(again, &after);
	assert_same_dump(&before, &after);
	rec_buffer_release(&before);
	rec_buffer_release(&after);
}

/* An error pointer may be NULL everywhere, and a stale error must not be mistaken for a new one. */
static void test_error__may_be_null(void **state)
{
	struct contract *c = *state;
	struct rec_task task = contract_task("", REC_READY), back;
	struct rec_snapshot snapshot;
	assert_int_equal(rec_store_create(c->store, &task, NULL), REC_E_INVALID);
	task.id = S("t");
	assert_int_equal(rec_store_begin(c->store, NULL), 0);
	assert_int_equal(rec_store_create(c->store, &task, NULL), 0);
	assert_int_equal(rec_store_delete(c->store, S(""), NULL), REC_E_INVALID);
	assert_int_equal(rec_store_get(c->store, S("t"), &c->arena, &back, NULL), REC_E_INVALID);
	assert_int_equal(rec_store_commit(c->store, NULL), REC_E_INVALID);
	assert_int_equal(rec_store_create(c->store, &task, NULL), 0);
	assert_int_equal(rec_store_snapshot(c->store, NULL, 0, 0, &snapshot, NULL), 0);
	assert_int_equal(snapshot.count, 1);
	rec_snapshot_release(&snapshot);
	assert_null(rec_store_close(NULL));
}

static void test_warnings__are_silent_on_sound_rows(void **state)
{
	struct contract *c = *state;
	struct rec_buffer dump;
	int told = 0;
	rec_store_on_warning(c->store, NULL, &told);
	contract_add(c, "t", REC_READY);
	contract_dump(c->store, &dump);
	rec_buffer_release(&dump);
	assert_int_equal(told, 0);
}

static int problem(void *context, const char *kind, const char *sentence)
{
	(void)context;
	fail_msg("%s: %s", kind, sentence);
	return 0;
}

static void test_problems__a_fresh_store_has_none(void **state)
{
	struct contract *c = *state;
	expect(c, 0, rec_store_problems(c->store, problem, NULL, &c->error));
}

static const struct CMUnitTest tests[] = {
	contract_test(test_read_only__every_write_is_refused),
	contract_test(test_read_only__reads_what_others_write),
	contract_test(test_info__says_what_was_opened),
	contract_test(test_open__again_with_init_keeps_everything),
	contract_test(test_error__may_be_null),
	contract_test(test_warnings__are_silent_on_sound_rows),
	contract_test(test_problems__a_fresh_store_has_none),
};
contract_run(errors, tests)
