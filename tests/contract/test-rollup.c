/* test-rollup.c - composite parents follow their children. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

struct moves {
	char text[512];
};

static void remember(void *context, const struct rec_rollup_change *change)
{
	struct moves *m = context;
	size_t used = strlen(m->text);
	snprintf(m->text + used, sizeof m->text - used, "%.*s %s->%s; ", (int)change->id.length, change->id.data,
		 rec_status_text(change->from), rec_status_text(change->to));
}

static void set_and_hear(struct contract *c, const char *id, enum rec_status from, enum rec_status to,
			 const char *wanted)
{
	struct moves moves = {""};
	expect(c, 0, rec_store_set_status(c->store, S(id), from, to, NULL, remember, &moves, &c->error));
	assert_string_equal(moves.text, wanted);
}

static void test_rollup__parent_becomes_composite_with_its_first_child(void **state)
{
	struct contract *c = *state;
	contract_add(c, "p", REC_BACKLOG);
	assert_true(contract_get(c, "p").is_leaf);
	contract_add_child(c, "a", REC_READY, "p");
	assert_false(contract_get(c, "p").is_leaf);
	assert_false(contract_fact(c, "p").is_leaf);
	assert_true(contract_fact(c, "a").is_leaf);
	assert_int_equal(contract_status(c, "p"), REC_READY);
}

static void test_rollup__follows_each_change_of_its_children(void **state)
{
	struct contract *c = *state;
	contract_add(c, "p", REC_READY);
	contract_add_child(c, "a", REC_READY, "p");
	contract_add_child(c, "b", REC_READY, "p");
	set_and_hear(c, "a", REC_READY, REC_IN_PROGRESS, "p READY->IN_PROGRESS; ");
	set_and_hear(c, "b", REC_READY, REC_IN_PROGRESS, "");
	set_and_hear(c, "a", REC_IN_PROGRESS, REC_BLOCKED, "");
	set_and_hear(c, "b", REC_IN_PROGRESS, REC_DONE, "p IN_PROGRESS->BLOCKED; ");
	set_and_hear(c, "a", REC_BLOCKED, REC_READY, "p BLOCKED->IN_PROGRESS; "); /* some finished */
	set_and_hear(c, "a", REC_READY, REC_FAILED, "p IN_PROGRESS->FAILED; ");
	set_and_hear(c, "a", REC_FAILED, REC_DONE, "p FAILED->DONE; ");
	set_and_hear(c, "a", REC_DONE, REC_MERGED, "");
	set_and_hear(c, "b", REC_DONE, REC_READY, "p DONE->IN_PROGRESS; "); /* demoted */
	assert_int_equal(contract_status(c, "p"), REC_IN_PROGRESS);
}

static void test_rollup__climbs_as_long_as_something_changes(void **state)
{
	struct contract *c = *state;
	contract_add(c, "top", REC_READY);
	contract_add_child(c, "middle", REC_READY, "top");
	contract_add_child(c, "side", REC_READY, "top");
	contract_add_child(c, "leaf", REC_READY, "middle");
	contract_add_child(c, "leaf2", REC_READY, "middle");
	set_and_hear(c, "leaf", REC_READY, REC_IN_PROGRESS, "middle READY->IN_PROGRESS; top READY->IN_PROGRESS; ");
	set_and_hear(c, "leaf", REC_IN_PROGRESS, REC_DONE, "");
	set_and_hear(c, "leaf2", REC_READY, REC_DONE, "middle IN_PROGRESS->DONE; ");
	set_and_hear(c, "side", REC_READY, REC_DONE, "top IN_PROGRESS->DONE; ");
}

static void test_rollup__without_a_legal_path_the_parent_stays_and_the_climb_ends(void **state)
{
	struct contract *c = *state;
	contract_add(c, "top", REC_READY);
	contract_add_child(c, "p", REC_MERGED, "top");
	contract_add_child(c, "a", REC_MERGED, "p");
	assert_int_equal(contract_status(c, "top"), REC_DONE);
	set_and_hear(c, "a", REC_MERGED, REC_FAILED, "");
	assert_int_equal(contract_status(c, "p"), REC_MERGED);
	assert_int_equal(contract_status(c, "top"), REC_DONE);
}

static void test_rollup__dangling_parent_is_harmless(void **state)
{
	struct contract *c = *state;
	contract_add_child(c, "a", REC_READY, "nowhere");
	set_and_hear(c, "a", REC_READY, REC_DONE, "");
	expect(c, 0, rec_store_delete(c->store, S("a"), &c->error));
}

static void test_rollup__ring_of_parents_ends_and_the_explicit_write_stands(void **state)
{
	struct contract *c = *state;
	contract_add_child(c, "a", REC_READY, "c");
	contract_add_child(c, "b", REC_READY, "a");
	contract_add_child(c, "c", REC_READY, "b");
	set_and_hear(c, "a", REC_READY, REC_DONE, "c READY->DONE; b READY->DONE; ");
	set_and_hear(c, "a", REC_DONE, REC_READY, "c DONE->READY; b DONE->READY; ");
	assert_int_equal(contract_status(c, "a"), REC_READY);
}

static void test_rollup__explicit_write_stands_even_where_a_ring_leads_back_to_it(void **state)
{
	struct contract *c = *state;
	contract_add_child(c, "a", REC_READY, "c");
	contract_add_child(c, "b", REC_READY, "a");
	contract_add_child(c, "c", REC_READY, "b");
	contract_add_child(c, "failed", REC_FAILED, "a");
	assert_int_equal(contract_status(c, "a"), REC_FAILED);
	set_and_hear(c, "a", REC_FAILED, REC_DONE, "c FAILED->DONE; b FAILED->DONE; ");
	assert_int_equal(contract_status(c, "a"), REC_DONE);
}

static void test_rollup__deep_chain_is_climbed_to_its_top(void **state)
{
	struct contract *c = *state;
	char parent[16] = "", id[16];
	expect(c, 0, rec_store_begin(c->store, &c->error));
	for (int i = 0; i < 300; i++) {
		snprintf(id, sizeof id, "t%d", i);
		contract_add_child(c, id, REC_READY, i ? parent : NULL);
		memcpy(parent, id, sizeof id);
	}
	expect(c, 0, rec_store_commit(c->store, &c->error));
	contract_set(c, id, REC_READY, REC_DONE);
	assert_int_equal(contract_status(c, "t0"), REC_DONE);
}

static void test_rollup__delete_of_a_child_settles_its_parent(void **state)
{
	struct contract *c = *state;
	contract_add(c, "top", REC_READY);
	contract_add_child(c, "p", REC_READY, "top");
	contract_add_child(c, "a", REC_DONE, "p");
	contract_add_child(c, "b", REC_READY, "p");
	assert_int_equal(contract_status(c, "top"), REC_IN_PROGRESS);
	expect(c, 0, rec_store_delete(c->store, S("b"), &c->error));
	assert_int_equal(contract_status(c, "p"), REC_DONE);
	assert_int_equal(contract_status(c, "top"), REC_DONE);
	assert_false(contract_get(c, "p").is_leaf);
	expect(c, 0, rec_store_delete(c->store, S("a"), &c->error));
	assert_true(contract_get(c, "p").is_leaf);
	assert_int_equal(contract_status(c, "p"), REC_DONE); /* nobody left to follow */
}

static void test_rollup__moving_a_child_settles_both_parents(void **state)
{
	struct contract *c = *state;
	contract_add(c, "p", REC_BACKLOG);
	contract_add(c, "q", REC_BACKLOG);
	contract_add_child(c, "a", REC_DONE, "p");
	contract_add_child(c, "b", REC_READY, "p");
	assert_int_equal(contract_status(c, "p"), REC_IN_PROGRESS);
	struct rec_task edit = {.id = S("b"), .parent_id = S("q")};
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_PARENT, &c->error));
	assert_int_equal(contract_status(c, "p"), REC_DONE);
	assert_int_equal(contract_status(c, "q"), REC_READY);
	assert_false(contract_get(c, "q").is_leaf);
	edit.id = S("a");
	edit.parent_id = NO_TEXT;
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_PARENT, &c->error));
	assert_true(contract_get(c, "p").is_leaf);
	edit.parent_id = S("p");
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_PARENT, &c->error));
	assert_false(contract_get(c, "p").is_leaf);
}

static void test_rollup__edit_of_other_fields_touches_no_parent(void **state)
{
	struct contract *c = *state;
	contract_add(c, "p", REC_READY);
	contract_add_child(c, "a", REC_READY, "p");
	/* A person set the parent on purpose; only a change below may move it again. */
	contract_set(c, "p", REC_READY, REC_BLOCKED);
	struct rec_task edit = {.id = S("a"), .title = S("new"), .parent_id = S("p")};
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_TITLE | REC_EDIT_PARENT, &c->error));
	assert_int_equal(contract_status(c, "p"), REC_BLOCKED);
}

static void test_rollup__import_touches_no_other_row(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	contract_add(c, "p", REC_BLOCKED);
	contract_catch_up(c->store, &cursor);
	struct rec_task task = contract_task("a", REC_DONE);
	task.parent_id = S("p");
	expect(c, 0, rec_store_create_as_given(c->store, &task, &c->error));
	assert_int_equal(contract_status(c, "p"), REC_BLOCKED);
	assert_true(contract_get(c, "p").is_leaf);
	char ids[64];
	contract_changes(c->store, &cursor, ids, sizeof ids);
	assert_string_equal(ids, "a ");
	expect(c, REC_EXISTS, rec_store_create_as_given(c->store, &task, &c->error));
	/* Its children count from then on. */
	set_and_hear(c, "a", REC_DONE, REC_READY, "p BLOCKED->READY; ");
}

static void test_rollup__claims_and_their_ends_move_parents(void **state)
{
	struct contract *c = *state;
	contract_add(c, "p", REC_READY);
	contract_add_child(c, "a", REC_READY, "p");
	int64_t claim = contract_claim(c, "a");
	assert_int_equal(contract_status(c, "p"), REC_IN_PROGRESS);
	expect(c, 0, rec_store_release(c->store, claim, &c->error));
	assert_int_equal(contract_status(c, "p"), REC_READY);
	contract_finish(c, contract_claim(c, "a"), REC_DONE);
	assert_int_equal(contract_status(c, "p"), REC_DONE);
}

static void test_rollup__parent_change_is_in_the_feed(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	char ids[64];
	contract_add(c, "p", REC_READY);
	contract_add_child(c, "a", REC_READY, "p");
	contract_catch_up(c->store, &cursor);
	contract_set(c, "a", REC_READY, REC_DONE);
	contract_changes(c->store, &cursor, ids, sizeof ids);
	assert_non_null(strstr(ids, "a "));
	assert_non_null(strstr(ids, "p "));
}

static void test_rollup__a_listener_hears_of_every_write(void **state)
{
	struct contract *c = *state;
	struct moves moves = {""};
	contract_add(c, "p", REC_BACKLOG);
	contract_add(c, "q", REC_BACKLOG);
	rec_store_on_rollup(c->store, remember, &moves);
	contract_add_child(c, "a", REC_READY, "p");
	int64_t claim = contract_claim(c, "a");
	contract_finish(c, claim, REC_FAILED);
	contract_set(c, "a", REC_FAILED, REC_READY);
	expect(c, 0, rec_store_release(c->store, contract_claim(c, "a"), &c->error));
	struct rec_task edit = {.id = S("a"), .parent_id = S("q")};
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_PARENT, &c->error));
	contract_add_child(c, "b", REC_BLOCKED, "q");
	expect(c, 0, rec_store_delete(c->store, S("b"), &c->error));
	assert_string_equal(moves.text, "p BACKLOG->READY; p READY->IN_PROGRESS; p IN_PROGRESS->FAILED; "
					"p FAILED->READY; p READY->IN_PROGRESS; p IN_PROGRESS->READY; "
					"q BACKLOG->READY; q READY->BLOCKED; q BLOCKED->READY; ");
	/* A call with a listener of its own tells that one alone. */
	set_and_hear(c, "a", REC_READY, REC_DONE, "q READY->DONE; ");
	rec_store_on_rollup(c->store, NULL, NULL);
	contract_set(c, "a", REC_DONE, REC_READY);
	assert_null(strstr(moves.text, "DONE"));
}

static void call_store(void *context, const struct rec_rollup_change *change)
{
	struct contract *c = context;
	expect(c, REC_E_BUG, rec_store_delete(c->store, change->id, &c->error));
	c->error.code = 0;
	c->claim++;
}

static void test_rollup__a_listener_must_not_call_the_store(void **state)
{
	struct contract *c = *state;
	contract_add(c, "p", REC_READY);
	contract_add_child(c, "a", REC_READY, "p");
	expect(c, 0, rec_store_set_status(c->store, S("a"), REC_READY, REC_DONE, NULL, call_store, c, &c->error));
	assert_int_equal(c->claim, 1);
	assert_int_equal(contract_status(c, "p"), REC_DONE);
}

static void test_rollup__mark_alone_moves_no_status(void **state)
{
	struct contract *c = *state;
	struct rec_task task = contract_task("a", REC_DONE);
	task.parent_id = S("p");
	contract_add(c, "p", REC_READY);
	expect(c, 0, rec_store_create_as_given(c->store, &task, &c->error));
	expect(c, 0, rec_store_mark_composite(c->store, S("p"), &c->error));
	struct rec_task p = contract_get(c, "p");
	assert_false(p.is_leaf);
	assert_int_equal(p.status, REC_READY);
	assert_slice(p.updated_at, "2026-01-01T00:00:00.000000+00:00");
	expect(c, REC_NOT_FOUND, rec_store_mark_composite(c->store, S("q"), &c->error));
	expect(c, REC_E_INVALID, rec_store_mark_composite(c->store, S(""), &c->error));
}

static void test_rollup__child_with_a_foreign_status_leaves_the_parent_alone(void **state)
{
	struct contract *c = *state;
	if (!contract_backend.foreign_status)
		skip();
	contract_add(c, "p", REC_READY);
	contract_add_child(c, "a", REC_READY, "p");
	contract_add_child(c, "b", REC_READY, "p");
	contract_backend.foreign_status(c->place, "a", "WAITING");
	set_and_hear(c, "b", REC_READY, REC_DONE, "");
	contract_set(c, "a", REC_STATUS_UNRECOGNISED, REC_DONE);
	assert_int_equal(contract_status(c, "p"), REC_DONE);
	/* And a parent with a foreign status is no place to start from. */
	contract_backend.foreign_status(c->place, "p", "WAITING");
	set_and_hear(c, "b", REC_DONE, REC_READY, "");
	assert_int_equal(contract_status(c, "p"), REC_STATUS_UNRECOGNISED);
}

static const struct CMUnitTest tests[] = {
	contract_test(test_rollup__parent_becomes_composite_with_its_first_child),
	contract_test(test_rollup__follows_each_change_of_its_children),
	contract_test(test_rollup__climbs_as_long_as_something_changes),
	contract_test(test_rollup__without_a_legal_path_the_parent_stays_and_the_climb_ends),
	contract_test(test_rollup__dangling_parent_is_harmless),
	contract_test(test_rollup__ring_of_parents_ends_and_the_explicit_write_stands),
	contract_test(test_rollup__explicit_write_stands_even_where_a_ring_leads_back_to_it),
	contract_test(test_rollup__deep_chain_is_climbed_to_its_top),
	contract_test(test_rollup__delete_of_a_child_settles_its_parent),
	contract_test(test_rollup__moving_a_child_settles_both_parents),
	contract_test(test_rollup__edit_of_other_fields_touches_no_parent),
	contract_test(test_rollup__import_touches_no_other_row),
	contract_test(test_rollup__claims_and_their_ends_move_parents),
	contract_test(test_rollup__parent_change_is_in_the_feed),
	contract_test(test_rollup__a_listener_hears_of_every_write),
	contract_test(test_rollup__a_listener_must_not_call_the_store),
	contract_test(test_rollup__mark_alone_moves_no_status),
	contract_test(test_rollup__child_with_a_foreign_status_leaves_the_parent_alone),
};
contract_run(rollup, tests)
