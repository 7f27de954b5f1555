/* check: facts to verdicts, ids to results, results to JSON. */
#include "engine/test-world.h"

/* ---- One fact ---- */

static struct rec_fact fact(enum rec_status status, uint32_t total, uint32_t open)
{
	return (struct rec_fact){.status = (uint8_t)status, .blockers_total = total, .blockers_open = open};
}

static void test_fact__each_kind_is_its_rule(void **state)
{
	(void)state;
	for (int stored = 0; stored <= REC_STATUS_UNRECOGNISED; stored++)
		for (int believed = 0; believed <= REC_STATUS_ABSENT; believed++)
			for (uint32_t total = 0; total < 3; total++)
				for (uint32_t open = 0; open <= total; open++) {
					enum rec_status s = (enum rec_status)stored, b = (enum rec_status)believed;
					struct rec_fact f = fact(s, total, open);
					struct rec_blocker_counts counts = {total, open};
					struct rec_verdict task = rec_decide_task(s, b);
					struct rec_verdict blockers = rec_decide_blockers(s, counts);
					struct rec_verdict both =
						s == REC_BLOCKED ? rec_merge(task, blockers, b) : task;
					assert_true(rec_verdict_equal(rec_check_fact(REC_CHECK_TASKS, &f, b), task));
					assert_true(
						rec_verdict_equal(rec_check_fact(REC_CHECK_BLOCKERS, &f, b), blockers));
					assert_true(rec_verdict_equal(rec_check_fact(REC_CHECK_MERGED, &f, b), both));
				}
}

/* ---- The ticket's own scenarios ---- */

struct scenario {
	enum rec_status stored, believed;
	uint32_t total, open;
	enum rec_check_kind kind;
	enum rec_action action;
	bool discrepancy;
};

static void test_scenarios__of_the_ticket(void **state)
{
	(void)state;
	static const struct scenario all[] = {
		/* no discrepancy */
		{REC_READY, REC_READY, 0, 0, REC_CHECK_MERGED, REC_NONE, false},
		{REC_IN_PROGRESS, REC_STATUS_ABSENT, 0, 0, REC_CHECK_MERGED, REC_NONE, false},
		/* SKIP */
		{REC_DONE, REC_READY, 0, 0, REC_CHECK_MERGED, REC_SKIP, true},
		{REC_FAILED, REC_READY, 0, 0, REC_CHECK_MERGED, REC_SKIP, true},
		{REC_IN_PROGRESS, REC_DONE, 0, 0, REC_CHECK_MERGED, REC_SKIP, true},
		/* KILL */
		{REC_BLOCKED, REC_IN_PROGRESS, 1, 1, REC_CHECK_MERGED, REC_KILL, true},
		/* REQUEUE */
		{REC_BLOCKED, REC_BLOCKED, 2, 0, REC_CHECK_BLOCKERS, REC_REQUEUE, true},
		{REC_READY, REC_BLOCKED, 0, 0, REC_CHECK_MERGED, REC_REQUEUE, true},
		/* not requeued */
		{REC_BLOCKED, REC_BLOCKED, 2, 1, REC_CHECK_BLOCKERS, REC_NONE, false},
		{REC_READY, REC_READY, 2, 0, REC_CHECK_BLOCKERS, REC_NONE, false},
		/* missing */
		{REC_STATUS_ABSENT, REC_IN_PROGRESS, 0, 0, REC_CHECK_MERGED, REC_NONE, false},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct rec_fact f = fact(all[i].stored, all[i].total, all[i].open);
		struct rec_verdict v = rec_check_fact(all[i].kind, &f, all[i].believed);
		assert_int_equal(v.action, all[i].action);
		assert_int_equal(v.discrepancy, all[i].discrepancy);
	}
}

/* ---- Ids to results ---- */

/* "id:ACTION id:ACTION ..." */
static void results_are(const struct rec_results *r, const char *wanted)
{
	char shown[512];
	size_t used = 0;
	shown[0] = '\0';
	for (size_t i = 0; i < r->snapshot.count; i++) {
		struct rec_result_view view;
		rec_results_view(r, i, &view);
		used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%.*s:%s", i ? " " : "",
					 (int)view.task_id.length, view.task_id.data, view.action);
	}
	assert_string_equal(shown, wanted);
}

static void test_check__one_result_per_id_in_order_duplicates_and_missing_ones_included(void **state)
{
	struct world *w = *state;
	struct rec_results r;
	add(w, "a", REC_DONE);
	add(w, "b", REC_READY);
	const struct rec_slice ids[] = {S("b"), S("gone"), S("a"), S("b"), S("a")};
	ok(w, rec_check(w->store, REC_CHECK_MERGED, ids, 5, NULL, &r, &w->error));
	results_are(&r, "b:NONE gone:NONE a:SKIP b:NONE a:SKIP");
	assert_int_equal(r.verdicts[1].reason, REC_REASON_NOT_FOUND);
	assert_int_equal(r.counts[REC_NONE], 3);
	assert_int_equal(r.counts[REC_SKIP], 2);
	assert_int_equal(r.calls, 0);
	rec_results_release(&r);
}

static void test_check__without_ids_and_belief_every_task_in_id_order(void **state)
{
	struct world *w = *state;
	struct rec_results r;
	add(w, "b", REC_DONE);
	add(w, "a", REC_READY);
	add(w, "B", REC_BLOCKED);
	ok(w, rec_check(w->store, REC_CHECK_MERGED, NULL, 0, NULL, &r, &w->error));
	results_are(&r, "B:NONE a:NONE b:SKIP");
	assert_int_equal(r.verdicts[0].reason, REC_REASON_NO_BLOCKERS);
	rec_results_release(&r);
}

static void test_check__without_ids_those_of_the_belief_in_its_order(void **state)
{
	struct world *w = *state;
	struct rec_results r;
	struct rec_belief belief;
	add(w, "a", REC_DONE);
	add(w, "b", REC_BLOCKED);
	add(w, "c", REC_READY);
	rec_belief_init(&belief, NULL, 1);
	ok(w, rec_belief_set(&belief, S("c"), REC_FAILED, NULL, NULL));
	ok(w, rec_belief_set(&belief, S("gone"), REC_IN_PROGRESS, NULL, NULL));
	ok(w, rec_belief_set(&belief, S("b"), REC_IN_PROGRESS, NULL, NULL));
	ok(w, rec_check(w->store, REC_CHECK_MERGED, NULL, 0, &belief, &r, &w->error));
	results_are(&r, "c:REQUEUE gone:NONE b:KILL");
	assert_int_equal(r.calls, 2);
	assert_int_equal(r.believed[1], REC_IN_PROGRESS);
	assert_int_equal(w->snapshots, 1);
	rec_results_release(&r);
	rec_belief_release(&belief);
}

static void test_check__an_empty_belief_asks_for_nothing(void **state)
{
	struct world *w = *state;
	struct rec_results r;
	struct rec_belief belief;
	add(w, "a", REC_DONE);
	rec_belief_init(&belief, NULL, 1);
	ok(w, rec_check(w->store, REC_CHECK_MERGED, NULL, 0, &belief, &r, &w->error));
	assert_int_equal(r.snapshot.count, 0);
	rec_results_release(&r);
	rec_belief_release(&belief);
}

static void test_check__named_ids_are_looked_up_in_the_belief(void **state)
{
	struct world *w = *state;
	struct rec_results r;
	struct rec_belief belief;
	add(w, "a", REC_DONE);
	add(w, "b", REC_BLOCKED);
	rec_belief_init(&belief, NULL, 1);
	ok(w, rec_belief_set(&belief, S("b"), REC_IN_PROGRESS, NULL, NULL));
	ok(w, rec_belief_set(&belief, S("a"), REC_READY, NULL, NULL));
	const struct rec_slice ids[] = {S("a"), S("other"), S("b")};
	ok(w, rec_check(w->store, REC_CHECK_TASKS, ids, 3, &belief, &r, &w->error));
	results_are(&r, "a:SKIP other:NONE b:KILL");
	assert_int_equal(r.calls, 2);
	assert_int_equal(r.believed[1], REC_STATUS_ABSENT);
	rec_results_release(&r);
	/* The same array, shorter: its beginning. */
	ok(w, rec_check(w->store, REC_CHECK_TASKS, belief.ids, 1, &belief, &r, &w->error));
	results_are(&r, "b:KILL");
	rec_results_release(&r);
	rec_belief_release(&belief);
}

static void test_check__every_blocker_counts_however_many(void **state)
{
	struct world *w = *state;
	struct rec_results r;
	struct rec_slice id = S("t");
	char name[16];
	add(w, "t", REC_BLOCKED);
	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof name, "k%d", i);
		ask(w, name, "t");
		if (i != 149)
			answer(w, name);
	}
	ok(w, rec_check(w->store, REC_CHECK_BLOCKERS, &id, 1, NULL, &r, &w->error));
	assert_int_equal(r.verdicts[0].reason, REC_REASON_BLOCKERS_OPEN);
	rec_results_release(&r);
	answer(w, "k149");
	ok(w, rec_check(w->store, REC_CHECK_BLOCKERS, &id, 1, NULL, &r, &w->error));
	assert_int_equal(r.verdicts[0].reason, REC_REASON_BLOCKERS_RESOLVED);
	assert_int_equal(r.calls, 1);
	rec_results_release(&r);
}

/* Enough tasks that rec_check decides by its own table of outcomes. */
static void test_check__many_tasks_are_decided_as_each_alone(void **state)
{
	struct world *w = *state;
	struct rec_belief belief;
	char id[16], blocker[16];
	rec_belief_init(&belief, NULL, 1);
	ok(w, rec_store_begin(w->outside, &w->error));
	for (unsigned i = 0; i < 600; i++) {
		snprintf(id, sizeof id, "t%u", i);
		snprintf(blocker, sizeof blocker, "k%u", i);
		if (i % 7 != 5)
			add(w, id, (enum rec_status)(i % 7));
		if (i % 7 == REC_BLOCKED && i % 3) {
			ask(w, blocker, id);
			if (i % 3 == 2)
				answer(w, blocker);
		}
		ok(w, rec_belief_set(&belief, S(id), (enum rec_status)(i / 7 % 8), NULL, NULL));
	}
	ok(w, rec_store_commit(w->outside, &w->error));
	for (int kind = REC_CHECK_MERGED; kind <= REC_CHECK_BLOCKERS; kind++) {
		struct rec_results r;
		uint64_t counts[REC_ACTION_COUNT] = {0}, calls = 0;
		ok(w, rec_check(w->store, (enum rec_check_kind)kind, NULL, 0, &belief, &r, &w->error));
		assert_int_equal(r.snapshot.count, 600);
		for (unsigned i = 0; i < 600; i++) {
			struct rec_verdict alone = rec_check_fact((enum rec_check_kind)kind, &r.snapshot.facts[i],
								  (enum rec_status)(i / 7 % 8));
			assert_true(rec_verdict_equal(r.verdicts[i], alone));
			counts[alone.action]++;
			calls += rec_verdict_calls(alone);
		}
		assert_memory_equal(counts, r.counts, sizeof counts);
		assert_int_equal(calls, r.calls);
		rec_results_release(&r);
	}
	rec_belief_release(&belief);
}

static void test_check__a_failing_store_leaves_the_results_untouched(void **state)
{
	struct world *w = *state;
	struct rec_results r, before;
	memset(&r, 0x5a, sizeof r);
	before = r;
	w->snapshot_result = REC_E_BUSY;
	assert_int_equal(rec_check(w->store, REC_CHECK_MERGED, NULL, 0, NULL, &r, &w->error), REC_E_BUSY);
	assert_memory_equal(&r, &before, sizeof r);
	assert_int_equal(w->error.code, REC_E_BUSY);
}

static void test_check__every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_DONE);
	add(w, "b", REC_BLOCKED);
	int r = REC_E_NOMEM;
	uint64_t n = 0, live = w->memory.live;
	while (r == REC_E_NOMEM) {
		struct rec_results results;
		n++;
		w->memory.fail_at = w->memory.calls + n;
		w->memory.persistent = n % 2 == 0;
		w->error.code = 0;
		r = rec_check(w->store, REC_CHECK_MERGED, NULL, 0, NULL, &results, &w->error);
		assert_true(r == 0 || w->error.code == REC_E_NOMEM);
		if (r == 0)
			rec_results_release(&results);
		assert_int_equal(w->memory.live, live);
	}
	assert_int_equal(r, 0);
	assert_true(n > 3);
}

/* ---- Results to JSON ---- */

static void json_is(const struct rec_result_view *view, int applied, const char *wanted)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, 4096);
	assert_int_equal(rec_result_write_json(&out, view, applied), 0);
	assert_string_equal(out.data, wanted);
	rec_buffer_release(&out);
}

static void test_json__keys_are_always_there_and_in_order(void **state)
{
	(void)state;
	struct rec_result_view view;
	rec_verdict_view(rec_decide_task(REC_IN_PROGRESS, REC_DONE), S("t-1"), (struct rec_slice){NULL, 0}, &view);
	json_is(&view, -1,
		"{\"task_id\":\"t-1\",\"current_status\":\"IN_PROGRESS\",\"external_status\":\"DONE\",\"action\":"
		"\"SKIP\","
		"\"reason\":\"task externally completed\",\"source\":\"store\",\"discrepancy\":true}");
	json_is(&view, 1,
		"{\"task_id\":\"t-1\",\"current_status\":\"IN_PROGRESS\",\"external_status\":\"DONE\",\"action\":"
		"\"SKIP\","
		"\"reason\":\"task externally completed\",\"source\":\"store\",\"discrepancy\":true,\"applied\":true}");
	rec_verdict_view(rec_decide_task(REC_STATUS_ABSENT, REC_DONE), S("gone"), (struct rec_slice){NULL, 0}, &view);
	json_is(&view, 0,
		"{\"task_id\":\"gone\",\"current_status\":null,\"external_status\":null,\"action\":\"NONE\","
		"\"reason\":\"task not found\",\"source\":\"store\",\"discrepancy\":false,\"applied\":false}");
}

static void test_json__hostile_ids_and_raw_statuses_stay_valid_json(void **state)
{
	(void)state;
	struct rec_result_view view;
	rec_verdict_view(rec_decide_task(REC_STATUS_UNRECOGNISED, REC_STATUS_ABSENT), S("\"\\ \xd0\xb6"),
			 S("done\n\xff"), &view);
	json_is(&view, -1,
		"{\"task_id\":\"\\\"\\\\ "
		"\xd0\xb6\",\"current_status\":\"done\\n\xef\xbf\xbd\",\"external_status\":null,"
		"\"action\":\"NONE\",\"reason\":\"unrecognised status in durable state\",\"source\":\"store\","
		"\"discrepancy\":true}");
}

static void test_json__a_full_buffer_is_reported(void **state)
{
	(void)state;
	struct rec_result_view view;
	struct rec_buffer out;
	rec_verdict_view(rec_decide_task(REC_READY, REC_READY), S("t"), (struct rec_slice){NULL, 0}, &view);
	rec_buffer_init(&out, NULL, 100);
	assert_int_equal(rec_result_write_json(&out, &view, -1), REC_E_LIMIT);
	rec_buffer_release(&out);
}

static void test_view__an_unrecognised_status_is_shown_raw(void **state)
{
	(void)state;
	struct rec_fact facts[] = {{.status = REC_READY}, {.status = REC_STATUS_UNRECOGNISED}};
	struct rec_slice ids[] = {S("a"), S("b")};
	struct rec_raw_status raws[] = {{1, S("doing")}};
	uint8_t believed[] = {REC_STATUS_ABSENT, REC_DONE};
	struct rec_verdict verdicts[2];
	for (int i = 0; i < 2; i++)
		verdicts[i] = rec_check_fact(REC_CHECK_MERGED, &facts[i], (enum rec_status)believed[i]);
	struct rec_results r = {.snapshot = {.count = 2, .facts = facts, .ids = ids, .raws = raws, .raw_count = 1},
				.verdicts = verdicts,
				.believed = believed};
	struct rec_result_view view;
	rec_results_view(&r, 1, &view);
	assert_true(rec_slice_equal(view.current_status, S("doing")));
	assert_true(rec_slice_equal(view.external_status, S("DONE")));
	rec_results_view(&r, 0, &view);
	assert_true(rec_slice_equal(view.current_status, S("READY")));
	assert_null(view.external_status.data);
}

/* ---- codeframe's fixtures: our results against the expected bytes ---- */

static void fixture_path(char *out, size_t capacity, const char *before, const char *size, const char *after)
{
	snprintf(out, capacity, "%s/codeframe/%s%s%s", getenv("REC_TEST_DATA"), before, size, after);
}

/* As it lies there: read-only, never seen before, without our tables. */
static struct rec_store *fixture_open(const char *size)
{
	char path[4096];
	struct rec_store *store;
	struct rec_error error;
	fixture_path(path, sizeof path, "codeframe-", size, ".db");
	if (rec_store_open(path, &(struct rec_store_options){.mode = REC_STORE_READ}, &store, &error))
		fail_msg("%s", error.message);
	return store;
}

static char *fixture_read(const char *size, const char *after, size_t *ret_length)
{
	char path[4096];
	size_t capacity = 1u << 20;
	char *text = rec_alloc(NULL, capacity);
	fixture_path(path, sizeof path, "", size, after);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	*ret_length = fread(text, 1, capacity, file);
	assert_true(*ret_length > 0 && *ret_length < capacity);
	fclose(file);
	return text;
}

static void fixture_belief(const char *size, struct rec_belief *belief)
{
	size_t length;
	char *text = fixture_read(size, ".batch-state.json", &length);
	struct rec_belief_parser parser;
	rec_belief_init(belief, NULL, 1);
	rec_belief_parser_init(&parser, belief, false);
	assert_int_equal(rec_belief_parser_feed(&parser, (struct rec_slice){text, length}, NULL), 0);
	assert_int_equal(rec_belief_parser_finish(&parser, NULL), 0);
	rec_belief_parser_release(&parser);
	rec_free(NULL, text);
}

static void fixture_matches(struct rec_store *store, const char *size, enum rec_check_kind kind, const char *after,
			    const struct rec_belief *belief)
{
	size_t length;
	char *wanted = fixture_read(size, after, &length);
	struct rec_results results;
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_int_equal(rec_check(store, kind, NULL, 0, belief, &results, NULL), 0);
	for (size_t i = 0; i < results.snapshot.count; i++) {
		struct rec_result_view view;
		rec_results_view(&results, i, &view);
		rec_result_write_json(&out, &view, -1);
		rec_buffer_add_text(&out, "\n");
	}
	assert_int_equal(out.failed, 0);
	assert_int_equal(out.length, length);
	assert_memory_equal(out.data, wanted, length);
	rec_results_release(&results);
	rec_buffer_release(&out);
	rec_free(NULL, wanted);
}

static void fixture_holds(const char *size)
{
	struct rec_belief belief;
	struct rec_store *store = fixture_open(size);
	fixture_belief(size, &belief);
	fixture_matches(store, size, REC_CHECK_MERGED, ".expected-all.ndjson", &belief);
	fixture_matches(store, size, REC_CHECK_TASKS, ".expected-tasks.ndjson", &belief);
	fixture_matches(store, size, REC_CHECK_BLOCKERS, ".expected-blockers.ndjson", &belief);
	rec_belief_release(&belief);
	rec_store_close(store);
}

static void test_fixture__small_codeframe_workspace_byte_for_byte(void **state)
{
	(void)state;
	fixture_holds("small");
}

static void test_fixture__medium_codeframe_workspace_byte_for_byte(void **state)
{
	(void)state;
	fixture_holds("medium");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fact__each_kind_is_its_rule),
		cmocka_unit_test(test_scenarios__of_the_ticket),
		world_test(test_check__one_result_per_id_in_order_duplicates_and_missing_ones_included),
		world_test(test_check__without_ids_and_belief_every_task_in_id_order),
		world_test(test_check__without_ids_those_of_the_belief_in_its_order),
		world_test(test_check__an_empty_belief_asks_for_nothing),
		world_test(test_check__named_ids_are_looked_up_in_the_belief),
		world_test(test_check__every_blocker_counts_however_many),
		world_test(test_check__many_tasks_are_decided_as_each_alone),
		world_test(test_check__a_failing_store_leaves_the_results_untouched),
		world_test(test_check__every_failing_allocation_is_reported_and_leaks_nothing),
		cmocka_unit_test(test_json__keys_are_always_there_and_in_order),
		cmocka_unit_test(test_json__hostile_ids_and_raw_statuses_stay_valid_json),
		cmocka_unit_test(test_json__a_full_buffer_is_reported),
		cmocka_unit_test(test_view__an_unrecognised_status_is_shown_raw),
		cmocka_unit_test(test_fixture__small_codeframe_workspace_byte_for_byte),
		cmocka_unit_test(test_fixture__medium_codeframe_workspace_byte_for_byte),
	};
	return cmocka_run_group_tests_name("engine/check", tests, NULL, NULL);
}
