/* watch: what is told and when, and what a look costs. */
#include "engine/test-watching.h"
#include "engine/watch-table.h"

/* ---- What is told ---- */

static void test_watch__first_look_tells_all_but_what_is_quiet(void **state)
{
	struct world *w = *state;
	add(w, "ready", REC_READY);
	add(w, "done", REC_DONE);
	add(w, "blocked", REC_BLOCKED);
	struct watching t = watching_all(w);
	look(&t, "blocked:BLOCKED/0:NONE! done:DONE/0:SKIP");
	look(&t, "");
	rec_watch_free(t.watch);
}

static void test_watch__each_change_is_told_once_a_return_to_none_included(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	struct watching t = watching_all(w);
	look(&t, "");
	believe(&t, "t", REC_IN_PROGRESS);
	look(&t, "t:READY/IN_PROGRESS:NONE!");
	set(w, "t", REC_IN_PROGRESS);
	look(&t, "t:IN_PROGRESS/IN_PROGRESS:NONE");
	set(w, "t", REC_BLOCKED);
	look(&t, "t:BLOCKED/IN_PROGRESS:KILL!");
	look(&t, "");
	believe(&t, "t", REC_BLOCKED);
	look(&t, "t:BLOCKED/0:NONE!"); /* without blockers */
	ask(w, "k", "t");
	look(&t, "t:BLOCKED/BLOCKED:NONE");
	answer(w, "k");
	look(&t, "t:BLOCKED/0:REQUEUE!");
	ask(w, "k2", "t");
	look(&t, "t:BLOCKED/BLOCKED:NONE");
	rec_watch_free(t.watch);
}

static void test_watch__a_change_that_was_undone_is_not_told(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	struct watching t = watching_all(w);
	look(&t, "");
	set(w, "t", REC_DONE);
	set(w, "t", REC_READY);
	believe(&t, "t", REC_DONE);
	believe(&t, "t", REC_STATUS_ABSENT);
	look(&t, "");
	rec_watch_free(t.watch);
}

static void test_watch__an_unrecognised_status_is_told_raw_and_again_when_it_changes(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	struct watching t = watching_all(w);
	w->raw_status = "doing";
	look(&t, "t:doing/0:NONE!");
	set(w, "t", REC_DONE);
	look(&t, "");
	w->raw_status = "done";
	set(w, "t", REC_READY);
	look(&t, "t:done/0:NONE!");
	w->raw_status = NULL;
	set(w, "t", REC_FAILED);
	look(&t, "t:FAILED/0:SKIP");
	rec_watch_free(t.watch);
}

static void test_watch__a_forgotten_belief_a_deleted_and_a_new_task(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_READY);
	struct watching t = watching_all(w);
	believe(&t, "a", REC_READY);
	look(&t, "a:DONE/READY:SKIP!");
	believe(&t, "a", REC_STATUS_ABSENT);
	look(&t, "a:DONE/0:SKIP");
	ok(w, rec_store_delete(w->outside, S("a"), &w->error));
	look(&t, "a:0/0:NONE");
	add(w, "c", REC_FAILED);
	add(w, "d", REC_READY);
	look(&t, "c:FAILED/0:SKIP");
	set(w, "d", REC_IN_PROGRESS);
	look(&t, "d:IN_PROGRESS/0:NONE");
	add(w, "a", REC_BLOCKED);
	look(&t, "a:BLOCKED/0:NONE!");
	rec_watch_free(t.watch);
}

static void test_watch__a_believed_task_that_is_missing_shows_up_when_it_is_made(void **state)
{
	struct world *w = *state;
	struct watching t = watching_all(w);
	believe(&t, "t", REC_IN_PROGRESS);
	look(&t, "");
	add(w, "t", REC_BLOCKED);
	look(&t, "t:BLOCKED/IN_PROGRESS:KILL!");
	ok(w, rec_store_delete(w->outside, S("t"), &w->error));
	look(&t, "t:0/0:NONE");
	add(w, "t", REC_DONE);
	look(&t, "t:DONE/IN_PROGRESS:SKIP!");
	rec_watch_free(t.watch);
}

/* ---- Which tasks ---- */

static void test_watch__only_named_ids_missing_ones_included(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_DONE);
	const struct rec_slice ids[] = {S("b"), S("gone"), S("b")};
	struct watching t =
		watching(w, &(struct rec_watch_options){.kind = REC_CHECK_MERGED, .ids = ids, .id_count = 3});
	believe(&t, "a", REC_READY);
	look(&t, "b:DONE/0:SKIP");
	set(w, "a", REC_BLOCKED);
	look(&t, "");
	add(w, "gone", REC_READY);
	look(&t, "gone:READY/0:NONE");
	believe(&t, "gone", REC_READY);
	look(&t, "gone:READY/READY:NONE");
	ok(w, rec_store_delete(w->outside, S("gone"), &w->error));
	look(&t, "gone:0/0:NONE");
	add(w, "gone", REC_READY);
	look(&t, "gone:READY/READY:NONE");
	rec_watch_free(t.watch);
}

static void test_watch__no_ids_at_all_is_not_every_task(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	const struct rec_slice none[1] = {{NULL, 0}};
	struct watching t = watching(w, &(struct rec_watch_options){.kind = REC_CHECK_MERGED, .ids = none});
	look(&t, "");
	rec_watch_free(t.watch);
}

static void test_watch__only_what_is_believed(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_DONE);
	add(w, "c", REC_READY);
	struct watching t = watching(w, &(struct rec_watch_options){.kind = REC_CHECK_MERGED, .only_believed = true});
	look(&t, "");
	believe(&t, "b", REC_READY);
	believe(&t, "c", REC_READY);
	look(&t, "b:DONE/READY:SKIP!");
	set(w, "a", REC_BLOCKED);
	set(w, "c", REC_BLOCKED);
	look(&t, "c:BLOCKED/READY:KILL!");
	believe(&t, "b", REC_STATUS_ABSENT);
	look(&t, "b:DONE/0:SKIP");
	set(w, "b", REC_READY);
	look(&t, "");
	believe(&t, "b", REC_FAILED);
	look(&t, "b:READY/FAILED:REQUEUE!");
	rec_watch_free(t.watch);
}

static void test_watch__refuses_what_is_no_task_id(void **state)
{
	struct world *w = *state;
	struct watching t = watching_all(w);
	assert_int_equal(rec_watch_believe(t.watch, S(""), REC_READY, &w->error), REC_E_INVALID);
	assert_int_equal(rec_watch_believe(t.watch, S("a\n"), REC_READY, &w->error), REC_E_INVALID);
	assert_int_equal(rec_watch_believe(t.watch, S("a"), REC_STATUS_UNRECOGNISED, &w->error), REC_E_INVALID);
	look(&t, "");
	rec_watch_free(t.watch);
}

static void test_watch__kinds_are_those_of_check(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_BLOCKED);
	ask(w, "k", "t");
	answer(w, "k");
	struct watching tasks = watching(w, &(struct rec_watch_options){.kind = REC_CHECK_TASKS});
	struct watching blockers = watching(w, &(struct rec_watch_options){.kind = REC_CHECK_BLOCKERS});
	believe(&tasks, "t", REC_READY);
	believe(&blockers, "t", REC_READY);
	look(&tasks, "t:BLOCKED/READY:KILL!");
	look(&blockers, "t:BLOCKED/0:REQUEUE!");
	rec_watch_free(tasks.watch);
	rec_watch_free(blockers.watch);
}

/* ---- What a look costs ---- */

static void test_watch__an_idle_look_takes_no_snapshot_and_no_memory(void **state)
{
	struct world *w = *state;
	char id[16];
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "t%d", i);
		add(w, id, REC_READY);
	}
	struct watching t = watching_all(w);
	look(&t, "");
	unsigned snapshots = w->snapshots;
	uint64_t calls = w->memory.calls;
	for (int i = 0; i < 10; i++)
		look(&t, "");
	assert_int_equal(w->snapshots, snapshots);
	assert_int_equal(w->memory.calls, calls);
	rec_watch_free(t.watch);
}

static void test_watch__k_changes_take_one_snapshot_of_k_ids(void **state)
{
	struct world *w = *state;
	char id[16];
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "t%02d", i);
		add(w, id, REC_READY);
	}
	struct watching t = watching_all(w);
	look(&t, "");
	w->snapshots = w->snapshot_ids = 0;
	set(w, "t07", REC_DONE);
	set(w, "t03", REC_DONE);
	set(w, "t07", REC_MERGED);
	believe(&t, "t03", REC_READY);
	believe(&t, "t50", REC_READY);
	look(&t, "t03:DONE/READY:SKIP! t50:READY/READY:NONE t07:MERGED/0:SKIP");
	assert_int_equal(w->snapshots, 1);
	assert_int_equal(w->snapshot_ids, 3);
	rec_watch_free(t.watch);
}

static void test_watch__a_belief_that_changes_nothing_costs_no_snapshot(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	struct watching t = watching_all(w);
	believe(&t, "t", REC_READY);
	look(&t, "");
	w->snapshots = 0;
	believe(&t, "t", REC_READY);
	uint64_t live = w->memory.live;
	believe(&t, "never-heard-of", REC_STATUS_ABSENT);
	assert_int_equal(w->memory.live, live);
	look(&t, "");
	assert_int_equal(w->snapshots, 0);
	rec_watch_free(t.watch);
}

static void test_table__slots_are_used_again(void **state)
{
	(void)state;
	struct rec_watch_table table;
	char id[16];
	uint32_t kept, slot;
	rec_watch_table_init(&table, NULL, 1);
	assert_int_equal(rec_watch_table_add(&table, S("kept"), &kept, NULL), 0);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(id, sizeof id, "t%u", i);
		assert_int_equal(rec_watch_table_add(&table, S(id), &slot, NULL), 0);
		assert_int_equal(rec_watch_table_find(&table, S(id)), slot);
		rec_watch_table_drop(&table, slot);
		assert_int_equal(rec_watch_table_find(&table, S(id)), REC_IDMAP_NONE);
	}
	assert_int_equal(table.slots, 2);
	assert_int_equal(rec_watch_table_find(&table, S("kept")), kept);
	rec_watch_table_release(&table);
}

static void test_watch__many_short_lived_tasks_do_not_grow_it(void **state)
{
	struct world *w = *state;
	struct watching t = watching_all(w);
	char id[32];
	look(&t, "");
	uint64_t live = 0;
	for (int i = 0; i < 200; i++) {
		snprintf(id, sizeof id, "task-%d", i);
		add(w, id, REC_DONE);
		assert_int_equal(try_look(&t), 0);
		ok(w, rec_store_delete(w->outside, S(id), &w->error));
		assert_int_equal(try_look(&t), 0);
	}
	/* The store keeps its feed; what the watch alone holds is seen when it goes. */
	live = w->memory.live;
	rec_watch_free(t.watch);
	assert_true(live - w->memory.live < 10);
}

/* ---- Rescans ---- */

static void test_watch__takes_a_full_snapshot_after_the_interval(void **state)
{
	struct world *w = *state;
	add(w, "t", REC_READY);
	struct watching t = watching_all(w);
	assert_int_equal(rec_watch_rescan_wait_us(t.watch, t.now_us), 0);
	look(&t, "");
	assert_int_equal(w->snapshots, 1);
	assert_int_equal(rec_watch_rescan_wait_us(t.watch, t.now_us), 600 * SECOND);
	t.now_us += 600 * SECOND - 1;
	look(&t, "");
	assert_int_equal(w->snapshots, 1);
	t.now_us += 1;
	assert_int_equal(rec_watch_rescan_wait_us(t.watch, t.now_us), 0);
	look(&t, "");
	assert_int_equal(w->snapshots, 2);
	look(&t, "");
	assert_int_equal(w->snapshots, 2);
	rec_watch_free(t.watch);
}

static void test_watch__a_pruned_feed_means_a_full_snapshot_that_finds_everything(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_READY);
	struct watching t = watching_all(w);
	look(&t, "a:DONE/0:SKIP");
	ok(w, rec_store_delete(w->outside, S("a"), &w->error));
	set(w, "b", REC_FAILED);
	add(w, "c", REC_MERGED);
	struct rec_gc gc = {.older_than_us = INT64_MAX};
	ok(w, rec_store_gc(w->outside, &gc, &w->error));
	assert_true(gc.changes > 0);
	w->snapshots = 0;
	look(&t, "b:FAILED/0:SKIP c:MERGED/0:SKIP a:0/0:NONE");
	assert_int_equal(w->snapshots, 1);
	look(&t, "");
	rec_watch_free(t.watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(test_watch__first_look_tells_all_but_what_is_quiet),
		world_test(test_watch__each_change_is_told_once_a_return_to_none_included),
		world_test(test_watch__a_change_that_was_undone_is_not_told),
		world_test(test_watch__an_unrecognised_status_is_told_raw_and_again_when_it_changes),
		world_test(test_watch__a_belief_that_changes_nothing_costs_no_snapshot),
		cmocka_unit_test(test_table__slots_are_used_again),
		world_test(test_watch__a_forgotten_belief_a_deleted_and_a_new_task),
		world_test(test_watch__a_believed_task_that_is_missing_shows_up_when_it_is_made),
		world_test(test_watch__only_named_ids_missing_ones_included),
		world_test(test_watch__no_ids_at_all_is_not_every_task),
		world_test(test_watch__only_what_is_believed),
		world_test(test_watch__refuses_what_is_no_task_id),
		world_test(test_watch__kinds_are_those_of_check),
		world_test(test_watch__an_idle_look_takes_no_snapshot_and_no_memory),
		world_test(test_watch__k_changes_take_one_snapshot_of_k_ids),
		world_test(test_watch__many_short_lived_tasks_do_not_grow_it),
		world_test(test_watch__takes_a_full_snapshot_after_the_interval),
		world_test(test_watch__a_pruned_feed_means_a_full_snapshot_that_finds_everything),
	};
	return cmocka_run_group_tests_name("engine/watch", tests, NULL, NULL);
}
