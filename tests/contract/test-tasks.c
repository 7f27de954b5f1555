/* test-tasks.c - create, get, edit, delete. */
#include "contract.h"

#include <string.h>

static const struct rec_slice dependencies[] = {{"t2", 2}, {"t/3", 3}};

/* Every field that a task can have. */
static struct rec_task full_task(void)
{
	return (struct rec_task){
		.id = S("full"),
		.title = S("a title; with 'quotes' \"and\" \xc3\xa4"),
		.description = S("line\none"),
		.status = REC_BLOCKED,
		.priority = -7,
		.depends_on = dependencies,
		.depends_on_count = 2,
		.parent_id = S("elsewhere"),
		.external_url = S("https://example.org/acme/app/issues/7"),
		.created_at = S("2026-01-02T03:04:05.000006+00:00"),
		.updated_at = S("2026-01-02T03:04:06.000000+00:00"),
		.is_leaf = true,
		.prd_id = S("prd-1"),
		.uncertainty_level = S("medium"),
		.hierarchical_id = S("1.2"),
		.lineage = S("[\"a\"]"),
		.requirement_ids = S("[\"R1\",\"R2\"]"),
		.has_estimated_hours = true,
		.estimated_hours = 1.5,
		.has_complexity_score = true,
		.complexity_score = 5,
		.has_github_issue_number = true,
		.github_issue_number = INT64_C(9007199254740993),
		.auto_close_github_issue = 1,
	};
}

static void assert_full(const struct rec_task *t)
{
	assert_slice(t->id, "full");
	assert_slice(t->title, "a title; with 'quotes' \"and\" \xc3\xa4");
	assert_slice(t->description, "line\none");
	assert_slice(t->status_text, "BLOCKED");
	assert_int_equal(t->status, REC_BLOCKED);
	assert_int_equal(t->priority, -7);
	assert_int_equal(t->depends_on_count, 2);
	assert_slice(t->depends_on[0], "t2");
	assert_slice(t->depends_on[1], "t/3");
	assert_null(t->depends_on_raw.data);
	assert_slice(t->parent_id, "elsewhere");
	assert_slice(t->external_url, "https://example.org/acme/app/issues/7");
	assert_slice(t->created_at, "2026-01-02T03:04:05.000006+00:00");
	assert_slice(t->updated_at, "2026-01-02T03:04:06.000000+00:00");
	assert_true(t->is_leaf);
	assert_slice(t->prd_id, "prd-1");
	assert_slice(t->uncertainty_level, "medium");
	assert_slice(t->hierarchical_id, "1.2");
	assert_slice(t->lineage, "[\"a\"]");
	assert_slice(t->requirement_ids, "[\"R1\",\"R2\"]");
	assert_true(t->has_estimated_hours && t->estimated_hours == 1.5);
	assert_true(t->has_complexity_score && t->complexity_score == 5);
	assert_true(t->has_github_issue_number && t->github_issue_number == INT64_C(9007199254740993));
	assert_int_equal(t->auto_close_github_issue, 1);
}

static void test_create__every_field_comes_back(void **state)
{
	struct contract *c = *state;
	struct rec_task task = full_task();
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	struct rec_task back = contract_get(c, "full");
	assert_full(&back);
	assert_int_equal(back.blocker_count, 0);
	assert_int_equal(back.attempt, 0);
	assert_false(back.claimed);
	assert_int_equal(contract_status(c, "elsewhere"), REC_STATUS_ABSENT);
}

static void test_create__another_handle_sees_it(void **state)
{
	struct contract *c = *state;
	struct rec_task task = full_task(), back;
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	struct rec_store *second = contract_open(c, REC_STORE_WRITE);
	expect(c, 0, rec_store_get(second, S("full"), &c->arena, &back, &c->error));
	assert_full(&back);
}

static void test_create__what_is_absent_stays_absent_and_times_are_made(void **state)
{
	struct contract *c = *state;
	struct rec_task task = {.id = S("bare"), .title = S(""), .status = REC_BACKLOG};
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	struct rec_task back = contract_get(c, "bare");
	assert_slice(back.title, "");
	assert_null(back.description.data);
	assert_null(back.parent_id.data);
	assert_null(back.external_url.data);
	assert_null(back.prd_id.data);
	assert_null(back.uncertainty_level.data);
	assert_null(back.hierarchical_id.data);
	assert_false(back.has_estimated_hours || back.has_complexity_score || back.has_github_issue_number);
	assert_false(back.is_leaf);
	assert_int_equal(back.depends_on_count, 0);
	assert_slice(back.created_at, "2026-01-01T00:00:00.000000+00:00");
	assert_slice(back.updated_at, "2026-01-01T00:00:00.000000+00:00");
}

static void test_create__empty_text_is_not_absent_text(void **state)
{
	struct contract *c = *state;
	struct rec_task task = contract_task("t", REC_READY);
	task.description = S("");
	task.external_url = S("");
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	struct rec_task back = contract_get(c, "t");
	assert_slice(back.description, "");
	assert_slice(back.external_url, "");
}

static void test_create__brings_its_blockers(void **state)
{
	struct contract *c = *state;
	const struct rec_blocker blockers[] = {
		{.id = S("k2"), .question = S("second?"), .created_at = S("2026-01-01T00:00:02.000000+00:00")},
		{.id = S("k1"),
		 .question = S("first?"),
		 .created_at = S("2026-01-01T00:00:01.000000+00:00"),
		 .status = REC_ANSWERED,
		 .answer = S("yes"),
		 .answered_at = S("2026-01-01T00:00:03.000000+00:00"),
		 .created_by = S("agent")},
	};
	struct rec_task task = contract_task("t", REC_BLOCKED);
	task.blockers = blockers;
	task.blocker_count = 2;
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	struct rec_task back = contract_get(c, "t");
	assert_int_equal(back.blocker_count, 2);
	assert_slice(back.blockers[0].id, "k1");
	assert_slice(back.blockers[0].task_id, "t");
	assert_slice(back.blockers[0].answer, "yes");
	assert_slice(back.blockers[0].answered_at, "2026-01-01T00:00:03.000000+00:00");
	assert_slice(back.blockers[0].created_by, "agent");
	assert_int_equal(back.blockers[0].status, REC_ANSWERED);
	assert_slice(back.blockers[1].id, "k2");
	assert_slice(back.blockers[1].created_by, "human");
	assert_null(back.blockers[1].answer.data);
	assert_null(back.blockers[1].answered_at.data);
}

static void test_create__taken_id_writes_nothing(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	struct rec_task again = contract_task("t", REC_DONE);
	again.title = S("another");
	expect(c, REC_EXISTS, rec_store_create(c->store, &again, &c->error));
	assert_slice(contract_get(c, "t").title, "a task");
	assert_int_equal(contract_status(c, "t"), REC_READY);
}

static void test_create__taken_blocker_id_writes_nothing(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_add_blocker(c, "k", "t");
	const struct rec_blocker blockers[] = {{.id = S("new"), .question = S("?")},
					       {.id = S("k"), .question = S("?")}};
	struct rec_task task = contract_task("u", REC_READY);
	task.blockers = blockers;
	task.blocker_count = 2;
	expect(c, 0, rec_store_begin(c->store, &c->error));
	expect(c, REC_EXISTS, rec_store_create(c->store, &task, &c->error));
	expect(c, 0, rec_store_commit(c->store, &c->error));
	assert_int_equal(contract_status(c, "u"), REC_STATUS_ABSENT);
	struct rec_blocker back;
	expect(c, REC_NOT_FOUND, rec_store_blocker_get(c->store, S("new"), &c->arena, &back, &c->error));
	expect(c, 0, rec_store_blocker_get(c->store, S("k"), &c->arena, &back, &c->error));
	assert_slice(back.task_id, "t");
}

static void test_create__blocker_id_given_twice_is_refused(void **state)
{
	struct contract *c = *state;
	const struct rec_blocker blockers[] = {{.id = S("k"), .question = S("?")}, {.id = S("k"), .question = S("?")}};
	struct rec_task task = contract_task("t", REC_READY);
	task.blockers = blockers;
	task.blocker_count = 2;
	expect(c, REC_E_INVALID, rec_store_create(c->store, &task, &c->error));
	assert_int_equal(contract_status(c, "t"), REC_STATUS_ABSENT);
}

static void test_create__url_of_another_task_is_refused_by_name(void **state)
{
	struct contract *c = *state;
	struct rec_task task = contract_task("first", REC_READY);
	task.external_url = S("https://example.org/1");
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	task.id = S("second");
	expect(c, REC_E_INVALID, rec_store_create(c->store, &task, &c->error));
	assert_non_null(strstr(c->error.message, "https://example.org/1"));
	assert_non_null(strstr(c->error.message, "first"));
	assert_int_equal(contract_status(c, "second"), REC_STATUS_ABSENT);
	expect(c, 0, rec_store_delete(c->store, S("first"), &c->error));
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
}

static void test_create__is_leaf_is_stored_as_given(void **state)
{
	struct contract *c = *state;
	struct rec_task task = contract_task("composite", REC_READY);
	task.is_leaf = false;
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	assert_false(contract_get(c, "composite").is_leaf);
}

static void test_get__missing_and_impossible_ids_are_not_found(void **state)
{
	struct contract *c = *state;
	struct rec_task task = {.id = S("untouched")};
	char endless[300];
	memset(endless, 'x', sizeof endless);
	const struct rec_slice ids[] = {
		S("missing"), S(""), NO_TEXT, {"a\0b", 3}, S("new\nline"), S("\xff"), {endless, sizeof endless}};
	contract_add(c, "a", REC_READY);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		expect(c, REC_NOT_FOUND, rec_store_get(c->store, ids[i], &c->arena, &task, &c->error));
	assert_slice(task.id, "untouched");
}

/* ---- Ids ---- */

static void test_ids__every_script_and_sign_is_kept_apart(void **state)
{
	struct contract *c = *state;
	static const char *const ids[] = {
		"a/b",
		"a_b",
		"a%b",
		"a%2Fb",
		"../../outside",
		".",
		"..",
		"'; DROP TABLE tasks; --",
		"\"q\"",
		"%",
		"%s%n",
		"a b",
		" ",
		"-x",
		"*",
		"A",
		"a",
		"?1",
		":id",
		"NULL",
		"\xe4\xbb\xbb\xe5\x8a\xa1",         /* Chinese */
		"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", /* Hebrew */
		"\xf0\x9f\x9a\x80",
		"e\xcc\x81",
		"\xc3\xa9", /* composed and decomposed differ */
		"{{x}}",
		"$(x)",
		"\\",
	};
	size_t count = sizeof ids / sizeof *ids;
	for (size_t i = 0; i < count; i++) {
		struct rec_task task = contract_task(ids[i], REC_READY);
		task.title = S(ids[i]);
		expect(c, 0, rec_store_create(c->store, &task, &c->error));
	}
	for (size_t i = 0; i < count; i++)
		contract_set(c, ids[i], REC_READY, i % 2 ? REC_BACKLOG : REC_IN_PROGRESS);
	for (size_t i = 0; i < count; i++) {
		assert_slice(contract_get(c, ids[i]).title, ids[i]);
		assert_int_equal(contract_status(c, ids[i]), i % 2 ? REC_BACKLOG : REC_IN_PROGRESS);
		expect(c, 0, rec_store_delete(c->store, S(ids[i]), &c->error));
		assert_int_equal(contract_status(c, ids[i]), REC_STATUS_ABSENT);
	}
}

static void test_ids__255_bytes_are_kept_whole(void **state)
{
	struct contract *c = *state;
	char one[256], other[256];
	memset(one, 'x', 255);
	one[255] = '\0';
	memcpy(other, one, sizeof one);
	other[254] = 'y';
	contract_add(c, one, REC_READY);
	contract_add(c, other, REC_BACKLOG);
	contract_add_blocker(c, one, other);
	assert_int_equal(contract_status(c, one), REC_READY);
	assert_int_equal(contract_status(c, other), REC_BACKLOG);
	assert_int_equal(contract_get(c, one).blocker_count, 0);
	assert_int_equal(contract_get(c, other).blocker_count, 1);
}

static void test_ids__bad_ones_are_refused_with_the_reason(void **state)
{
	struct contract *c = *state;
	char endless[256];
	memset(endless, 'x', sizeof endless);
	const struct {
		struct rec_slice id;
		const char *reason;
	} bad[] = {
		{S(""), "empty"},           {NO_TEXT, "missing"},        {{endless, sizeof endless}, "longer than 255"},
		{{"a\0b", 3}, "control"},   {S("new\nline"), "control"}, {S("del\x7f"), "control"},
		{S("\xc2\x80"), "control"}, {S("\xff"), "UTF-8"},        {S("\xed\xa0\x80"), "UTF-8"},
		{S("cut\xc3"), "UTF-8"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct rec_task task = contract_task("t", REC_READY);
		task.id = bad[i].id;
		expect(c, REC_E_INVALID, rec_store_create(c->store, &task, &c->error));
		assert_non_null(strstr(c->error.message, bad[i].reason));
		expect(c, REC_E_INVALID, rec_store_delete(c->store, bad[i].id, &c->error));
		expect(c, REC_E_INVALID,
		       rec_store_set_status(c->store, bad[i].id, REC_READY, REC_DONE, NULL, NULL, NULL, &c->error));
	}
	struct rec_snapshot all;
	expect(c, 0, rec_store_snapshot(c->store, NULL, 0, 0, &all, &c->error));
	assert_int_equal(all.count, 0);
	rec_snapshot_release(&all);
}

/* ---- What is refused ---- */

static void refuse(struct contract *c, struct rec_task task, const char *what)
{
	expect(c, REC_E_INVALID, rec_store_create(c->store, &task, &c->error));
	if (!strstr(c->error.message, what))
		fail_msg("'%s' does not name '%s'", c->error.message, what);
	assert_int_equal(contract_status(c, "t"), REC_STATUS_ABSENT);
}

static void test_create__bad_fields_are_refused_by_name(void **state)
{
	struct contract *c = *state;
	const struct rec_slice bad_ids[] = {S("fine"), S("")};
	struct rec_task good = contract_task("t", REC_READY), bad;
	refuse(c, (bad = good, bad.title = NO_TEXT, bad), "title");
	refuse(c, (bad = good, bad.title = S("\xc0\x80"), bad), "title");
	refuse(c, (bad = good, bad.description = (struct rec_slice){"a\0b", 3}, bad), "description");
	refuse(c, (bad = good, bad.status = REC_STATUS_ABSENT, bad), "status");
	refuse(c, (bad = good, bad.status = REC_STATUS_UNRECOGNISED, bad), "status");
	refuse(c, (bad = good, bad.depends_on = bad_ids, bad.depends_on_count = 2, bad), "depends_on");
	refuse(c, (bad = good, bad.depends_on_raw = S("{"), bad), "depends_on");
	refuse(c, (bad = good, bad.parent_id = S("t"), bad), "parent_id");
	refuse(c, (bad = good, bad.parent_id = S(""), bad), "parent_id");
	refuse(c, (bad = good, bad.external_url = S("\xff"), bad), "external_url");
	refuse(c, (bad = good, bad.uncertainty_level = S("some"), bad), "uncertainty_level");
	refuse(c, (bad = good, bad.has_complexity_score = true, bad.complexity_score = 6, bad), "complexity_score");
	refuse(c, (bad = good, bad.has_estimated_hours = true, bad.estimated_hours = __builtin_nan(""), bad),
	       "estimated_hours");
}

static void test_create__title_and_text_have_limits(void **state)
{
	struct contract *c = *state;
	size_t limit = REC_TEXT_BYTES_MAX;
	char *text = rec_arena_alloc(&c->arena, limit + 1);
	memset(text, 'x', limit + 1);
	struct rec_task task = contract_task("t", REC_READY);
	task.title = (struct rec_slice){text, REC_TITLE_BYTES_MAX + 1};
	refuse(c, task, "title");
	task.title.length--;
	task.description = (struct rec_slice){text, limit + 1};
	refuse(c, task, "description");
	task.description.length--;
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	struct rec_task back = contract_get(c, "t");
	assert_true(rec_slice_equal(back.title, task.title));
	assert_true(rec_slice_equal(back.description, task.description));
	contract_set(c, "t", REC_READY, REC_DONE);
	assert_true(rec_slice_equal(contract_get(c, "t").description, task.description));
}

static void test_create__text_is_opaque(void **state)
{
	struct contract *c = *state;
	static const char text[] =
		"'; DROP TABLE tasks; -- {{..}} %n $(x) \\ \" \x01\x7f\t\r\n\xe2\x80\xae\xef\xbf\xbf";
	struct rec_task task = contract_task("t", REC_READY);
	task.title = task.description = S(text);
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	assert_slice(contract_get(c, "t").title, text);
	assert_slice(contract_get(c, "t").description, text);
}

static void test_create__priorities_of_any_size_come_back_and_are_clamped_in_facts(void **state)
{
	struct contract *c = *state;
	static const struct {
		const char *id;
		int64_t priority;
		int32_t fact;
	} cases[] = {
		{"smallest", INT64_MIN, INT32_MIN}, {"below", (int64_t)INT32_MIN - 1, INT32_MIN},
		{"low", INT32_MIN, INT32_MIN},      {"zero", 0, 0},
		{"high", INT32_MAX, INT32_MAX},     {"above", (int64_t)INT32_MAX + 1, INT32_MAX},
		{"largest", INT64_MAX, INT32_MAX},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rec_task task = contract_task(cases[i].id, REC_READY);
		task.priority = cases[i].priority;
		expect(c, 0, rec_store_create(c->store, &task, &c->error));
		assert_true(contract_get(c, cases[i].id).priority == cases[i].priority);
		assert_int_equal(contract_fact(c, cases[i].id).priority, cases[i].fact);
	}
}

/* ---- Edit ---- */

static void test_edit__writes_the_named_fields_only(void **state)
{
	struct contract *c = *state;
	struct rec_task task = full_task();
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	rec_clock_manual_advance(&c->clock, 1500000);
	struct rec_task edit = {.id = S("full"), .title = S("new title"), .priority = 3};
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_TITLE, &c->error));
	struct rec_task back = contract_get(c, "full");
	assert_slice(back.title, "new title");
	assert_slice(back.updated_at, "2026-01-01T00:00:01.500000+00:00");
	back.title = task.title;
	back.updated_at = task.updated_at;
	assert_full(&back);
}

static void test_edit__every_field_can_be_set_and_cleared(void **state)
{
	struct contract *c = *state;
	unsigned all = REC_EDIT_DESCRIPTION | REC_EDIT_PRIORITY | REC_EDIT_DEPENDS_ON | REC_EDIT_PARENT |
		       REC_EDIT_EXTERNAL_URL;
	contract_add(c, "t", REC_READY);
	struct rec_task edit = full_task();
	edit.id = S("t");
	expect(c, 0, rec_store_edit(c->store, &edit, all, &c->error));
	struct rec_task back = contract_get(c, "t");
	assert_slice(back.description, "line\none");
	assert_int_equal(back.priority, -7);
	assert_int_equal(back.depends_on_count, 2);
	assert_slice(back.parent_id, "elsewhere");
	assert_slice(back.external_url, "https://example.org/acme/app/issues/7");
	edit = (struct rec_task){.id = S("t")};
	expect(c, 0, rec_store_edit(c->store, &edit, all, &c->error));
	back = contract_get(c, "t");
	assert_null(back.description.data);
	assert_int_equal(back.priority, 0);
	assert_int_equal(back.depends_on_count, 0);
	assert_null(back.parent_id.data);
	assert_null(back.external_url.data);
	assert_slice(back.title, "a task");
}

static void test_edit__missing_task_is_not_found(void **state)
{
	struct contract *c = *state;
	struct rec_task edit = full_task();
	expect(c, REC_NOT_FOUND, rec_store_edit(c->store, &edit, REC_EDIT_TITLE, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_edit(c->store, &edit, REC_EDIT_PARENT, &c->error));
	expect(c, REC_NOT_FOUND, rec_store_edit(c->store, &edit, 0, &c->error));
}

static void test_edit__bad_fields_are_refused(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	struct rec_task edit = {.id = S("t"), .description = S("\xff"), .parent_id = S("t")};
	expect(c, REC_E_INVALID, rec_store_edit(c->store, &edit, REC_EDIT_TITLE, &c->error));
	expect(c, REC_E_INVALID, rec_store_edit(c->store, &edit, REC_EDIT_DESCRIPTION, &c->error));
	expect(c, REC_E_INVALID, rec_store_edit(c->store, &edit, REC_EDIT_PARENT, &c->error));
	expect(c, 0, rec_store_edit(c->store, &edit, REC_EDIT_PRIORITY, &c->error));
}

static void test_edit__url_of_another_task_is_refused_and_own_one_kept(void **state)
{
	struct contract *c = *state;
	struct rec_task task = contract_task("a", REC_READY);
	task.external_url = S("u1");
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	contract_add(c, "b", REC_READY);
	expect(c, 0, rec_store_edit(c->store, &task, REC_EDIT_EXTERNAL_URL, &c->error));
	task.id = S("b");
	expect(c, REC_E_INVALID, rec_store_edit(c->store, &task, REC_EDIT_EXTERNAL_URL, &c->error));
	assert_non_null(strstr(c->error.message, "u1"));
	assert_null(contract_get(c, "b").external_url.data);
	/* Once the first gave it up, the second may have it. */
	struct rec_task clear = {.id = S("a")};
	expect(c, 0, rec_store_edit(c->store, &clear, REC_EDIT_EXTERNAL_URL, &c->error));
	expect(c, 0, rec_store_edit(c->store, &task, REC_EDIT_EXTERNAL_URL, &c->error));
}

/* ---- Delete ---- */

static void test_delete__takes_blockers_and_history_along(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	contract_add(c, "u", REC_READY);
	contract_add_blocker(c, "k", "t");
	contract_add_blocker(c, "other", "u");
	contract_finish(c, contract_claim(c, "t"), REC_FAILED);
	expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	assert_int_equal(contract_status(c, "t"), REC_STATUS_ABSENT);
	struct rec_blocker blocker;
	expect(c, REC_NOT_FOUND, rec_store_blocker_get(c->store, S("k"), &c->arena, &blocker, &c->error));
	expect(c, 0, rec_store_blocker_get(c->store, S("other"), &c->arena, &blocker, &c->error));
	/* The same id again is a new task. */
	contract_add(c, "t", REC_READY);
	assert_int_equal(contract_fact(c, "t").attempt, 0);
	assert_int_equal(contract_fact(c, "t").blockers_total, 0);
	contract_add_blocker(c, "k", "t");
}

static void test_delete__missing_task_is_not_found(void **state)
{
	struct contract *c = *state;
	expect(c, REC_NOT_FOUND, rec_store_delete(c->store, S("t"), &c->error));
	contract_add(c, "t", REC_READY);
	expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
	expect(c, REC_NOT_FOUND, rec_store_delete(c->store, S("t"), &c->error));
}

static void test_delete__is_refused_while_claimed(void **state)
{
	struct contract *c = *state;
	contract_add(c, "t", REC_READY);
	int64_t claim = contract_claim(c, "t");
	expect(c, REC_REFUSED, rec_store_delete(c->store, S("t"), &c->error));
	assert_int_equal(contract_status(c, "t"), REC_IN_PROGRESS);
	contract_finish(c, claim, REC_DONE);
	expect(c, 0, rec_store_delete(c->store, S("t"), &c->error));
}

static void test_delete__leaves_those_that_named_it(void **state)
{
	struct contract *c = *state;
	const struct rec_slice ids[] = {S("gone")};
	struct rec_task task = contract_task("t", REC_READY);
	task.depends_on = ids;
	task.depends_on_count = 1;
	task.parent_id = S("gone");
	contract_add(c, "gone", REC_READY);
	expect(c, 0, rec_store_create(c->store, &task, &c->error));
	expect(c, 0, rec_store_delete(c->store, S("gone"), &c->error));
	struct rec_task back = contract_get(c, "t");
	assert_slice(back.depends_on[0], "gone");
	assert_slice(back.parent_id, "gone");
}

static const struct CMUnitTest tests[] = {
	contract_test(test_create__every_field_comes_back),
	contract_test(test_create__another_handle_sees_it),
	contract_test(test_create__what_is_absent_stays_absent_and_times_are_made),
	contract_test(test_create__empty_text_is_not_absent_text),
	contract_test(test_create__brings_its_blockers),
	contract_test(test_create__taken_id_writes_nothing),
	contract_test(test_create__taken_blocker_id_writes_nothing),
	contract_test(test_create__blocker_id_given_twice_is_refused),
	contract_test(test_create__url_of_another_task_is_refused_by_name),
	contract_test(test_create__is_leaf_is_stored_as_given),
	contract_test(test_create__bad_fields_are_refused_by_name),
	contract_test(test_create__title_and_text_have_limits),
	contract_test(test_create__text_is_opaque),
	contract_test(test_create__priorities_of_any_size_come_back_and_are_clamped_in_facts),
	contract_test(test_get__missing_and_impossible_ids_are_not_found),
	contract_test(test_ids__every_script_and_sign_is_kept_apart),
	contract_test(test_ids__255_bytes_are_kept_whole),
	contract_test(test_ids__bad_ones_are_refused_with_the_reason),
	contract_test(test_edit__writes_the_named_fields_only),
	contract_test(test_edit__every_field_can_be_set_and_cleared),
	contract_test(test_edit__missing_task_is_not_found),
	contract_test(test_edit__bad_fields_are_refused),
	contract_test(test_edit__url_of_another_task_is_refused_and_own_one_kept),
	contract_test(test_delete__takes_blockers_and_history_along),
	contract_test(test_delete__missing_task_is_not_found),
	contract_test(test_delete__is_refused_while_claimed),
	contract_test(test_delete__leaves_those_that_named_it),
};
contract_run(tasks, tests)
