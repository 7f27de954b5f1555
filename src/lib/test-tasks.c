#include "test-api.h"

/* ---- Tasks and blockers ---- */

static void test_task__every_field_comes_back(void **state)
{
	struct world *w = *state;
	const char *const depends_on[] = {"a", "b"};
	struct rec_task_info *found, task = {
					     .size = sizeof task,
					     .id = "c",
					     .title = "T",
					     .description = "D",
					     .status = "BLOCKED",
					     .priority = 3,
					     .depends_on = depends_on,
					     .depends_on_count = 2,
					     .parent_id = "b",
					     .external_url = "https://example.org/1",
					     .created_at = "2026-01-01T00:00:00Z",
					     .updated_at = "2026-01-02T00:00:00Z",
				     };
	add(w, "a", NULL);
	add(w, "b", "READY");
	ok(w, rec_task_create(w->reconciler, &task, NULL, &w->error));
	ask(w, "K1", "c");
	ok(w, rec_task_get(w->reconciler, "c", &found, &w->error));
	assert_string_equal(found->title, "T");
	assert_string_equal(found->description, "D");
	assert_string_equal(found->status, "BLOCKED");
	assert_int_equal(found->priority, 3);
	assert_int_equal(found->depends_on_count, 2);
	assert_string_equal(found->depends_on[1], "b");
	assert_string_equal(found->parent_id, "b");
	assert_string_equal(found->external_url, "https://example.org/1");
	assert_string_equal(found->created_at, "2026-01-01T00:00:00Z");
	assert_string_equal(found->updated_at, "2026-01-02T00:00:00Z");
	assert_int_equal(found->blocker_count, 1);
	assert_string_equal(found->blockers[0]->question, "why?");
	assert_string_equal(found->blockers[0]->status, "OPEN");
	assert_string_equal(found->blockers[0]->created_by, "human");
	assert_null(found->blockers[0]->answer);
	assert_true(found->is_leaf && !found->claimed && found->attempt == 0);
	rec_task_info_free(found);
	assert_int_equal(status_of(w, "b"), REC_BLOCKED);
}

static void test_task__what_cannot_be_created(void **state)
{
	struct world *w = *state;
	const char *const depends_on[] = {"ghost"}, *const null[] = {NULL};
	struct rec_task_info task = {.size = sizeof task, .id = "a", .title = "T", .status = "ASLEEP"};
	assert_int_equal(rec_task_create(w->reconciler, &task, NULL, &w->error), REC_E_INVALID);
	task = (struct rec_task_info){.size = sizeof task, .title = "T", .created_at = "noon"};
	assert_int_equal(rec_task_create(w->reconciler, &task, NULL, &w->error), REC_E_INVALID);
	task = (struct rec_task_info){.size = sizeof task, .title = "T", .depends_on = depends_on};
	task.depends_on_count = 1;
	assert_int_equal(rec_task_create(w->reconciler, &task, NULL, &w->error), REC_E_INVALID);
	task.depends_on = null;
	assert_int_equal(rec_task_create(w->reconciler, &task, NULL, &w->error), REC_E_INVALID);
	task = (struct rec_task_info){.size = sizeof task};
	assert_int_equal(rec_task_create(w->reconciler, &task, NULL, &w->error), REC_E_INVALID);
	add(w, "a", NULL);
	task = (struct rec_task_info){.size = sizeof task, .id = "a", .title = "T"};
	assert_int_equal(rec_task_create(w->reconciler, &task, NULL, &w->error), REC_EXISTS);
}

static void test_task__list_by_status_after_and_limit(void **state)
{
	struct world *w = *state;
	struct text ids = {.length = 0};
	struct rec_list_query query = {.size = sizeof query, .status_mask = 1u << REC_READY};
	add(w, "a", "READY");
	add(w, "b", "DONE");
	add(w, "c", "READY");
	ok(w, rec_task_list(w->reconciler, &query, id_append, &ids, &w->error));
	assert_string_equal(ids.bytes, "ac");
	query = (struct rec_list_query){.size = sizeof query, .after = "a", .limit = 1};
	ids.length = 0;
	ok(w, rec_task_list(w->reconciler, &query, id_append, &ids, &w->error));
	assert_string_equal(ids.bytes, "b");
	ids.length = 0;
	ok(w, rec_task_list(w->reconciler, NULL, id_append, &ids, &w->error));
	assert_string_equal(ids.bytes, "abc");
	ids = (struct text){.end_with = 5};
	assert_int_equal(rec_task_list(w->reconciler, NULL, id_append, &ids, &w->error), 5);
	assert_string_equal(ids.bytes, "a");
}

static void test_task__status_retry_edit_delete(void **state)
{
	struct world *w = *state;
	enum rec_status current = REC_STATUS_ABSENT;
	struct rec_task_info *found, change = {.size = sizeof change, .id = "a", .title = "new", .priority = 4};
	add(w, "a", "MERGED");
	assert_int_equal(rec_task_set_status(w->reconciler, "a", REC_READY, 0, &current, &w->error), REC_REFUSED);
	assert_int_equal(current, REC_MERGED);
	ok(w, rec_task_set_status(w->reconciler, "a", REC_FAILED, 1, &current, &w->error));
	ok(w, rec_task_retry(w->reconciler, "a", &current, &w->error));
	assert_int_equal(current, REC_FAILED);
	assert_int_equal(rec_task_retry(w->reconciler, "a", NULL, &w->error), REC_REFUSED);
	ok(w, rec_task_edit(w->reconciler, &change, REC_CHANGE_TITLE | REC_CHANGE_PRIORITY, &w->error));
	ok(w, rec_task_get(w->reconciler, "a", &found, &w->error));
	assert_string_equal(found->title, "new");
	assert_int_equal(found->priority, 4);
	rec_task_info_free(found);
	ok(w, rec_task_delete(w->reconciler, "a", &w->error));
	assert_int_equal(rec_task_delete(w->reconciler, "a", &w->error), REC_NOT_FOUND);
	assert_int_equal(rec_task_get(w->reconciler, "a", &found, &w->error), REC_NOT_FOUND);
	assert_int_equal(rec_task_set_status(w->reconciler, NULL, REC_READY, 0, NULL, &w->error), REC_NOT_FOUND);
}

static void test_blocker__life_and_list(void **state)
{
	struct world *w = *state;
	struct text ids = {.length = 0};
	char made[REC_ID_BYTES_MAX + 1] = "";
	struct rec_blocker_info info = {.size = sizeof info, .task_id = "a", .question = "q", .created_by = "agent"};
	add(w, "a", "BLOCKED");
	ask(w, "K1", "a");
	ask(w, "K2", "a");
	assert_int_equal(rec_blocker_resolve(w->reconciler, "K1", &w->error), REC_REFUSED);
	ok(w, rec_blocker_answer(w->reconciler, "K1", "so", &w->error));
	ok(w, rec_blocker_resolve(w->reconciler, "K1", &w->error));
	assert_int_equal(rec_blocker_answer(w->reconciler, "K1", "so", &w->error), REC_REFUSED);
	assert_int_equal(rec_blocker_answer(w->reconciler, "K2", NULL, &w->error), REC_E_INVALID);
	assert_int_equal(rec_blocker_answer(w->reconciler, "none", "so", &w->error), REC_NOT_FOUND);
	ok(w, rec_blocker_list(w->reconciler, "a", 0, blocker_append, &ids, &w->error));
	assert_string_equal(ids.bytes, "K1K2");
	ids.length = 0;
	ok(w, rec_blocker_list(w->reconciler, NULL, 1, blocker_append, &ids, &w->error));
	assert_string_equal(ids.bytes, "K2");
	ids.length = 0;
	ok(w, rec_blocker_get(w->reconciler, "K1", blocker_append, &ids, &w->error));
	assert_string_equal(ids.bytes, "K1");
	assert_int_equal(rec_blocker_get(w->reconciler, "none", blocker_append, &ids, &w->error), REC_NOT_FOUND);
	ids.end_with = 7;
	assert_int_equal(rec_blocker_get(w->reconciler, "K2", blocker_append, &ids, &w->error), 7);
	ok(w, rec_blocker_create(w->reconciler, &info, made, &w->error));
	assert_int_equal(strlen(made), 36);
	info.task_id = "nobody";
	assert_int_equal(rec_blocker_create(w->reconciler, &info, made, &w->error), REC_NOT_FOUND);
}

/* ---- Links ---- */

static int link_append(void *context, const struct rec_link_info *link)
{
	struct text *text = context;
	assert_int_equal(link->size, sizeof *link);
	int length = snprintf(text->bytes + text->length, sizeof text->bytes - text->length, "%s %s%s %s;",
			      link->task_id, link->url, link->implicit ? " (implicit)" : "", link->state);
	text->length += (size_t)length;
	return text->end_with;
}

static void test_links__are_made_listed_and_taken_away(void **state)
{
	struct world *w = *state;
	struct text links = {.length = 0};
	add(w, "a", "READY");
	ok(w, rec_link_add(w->reconciler, "a", "x:1", &w->error));
	ok(w, rec_link_add(w->reconciler, "a", "x:2", &w->error));
	assert_int_equal(rec_link_add(w->reconciler, "a", "x:1", &w->error), REC_EXISTS);
	assert_int_equal(rec_link_add(w->reconciler, "b", "x:1", &w->error), REC_NOT_FOUND);
	assert_int_equal(rec_link_add(w->reconciler, "a", NULL, &w->error), REC_E_INVALID);
	ok(w, rec_link_list(w->reconciler, NULL, link_append, &links, &w->error));
	assert_string_equal(links.bytes, "a x:1 unknown;a x:2 unknown;");
	links.end_with = 7;
	assert_int_equal(rec_link_list(w->reconciler, "a", link_append, &links, &w->error), 7);
	ok(w, rec_link_remove(w->reconciler, "a", "x:2", &w->error));
	ok(w, rec_link_remove(w->reconciler, "a", NULL, &w->error));
	assert_int_equal(rec_link_remove(w->reconciler, "a", NULL, &w->error), REC_NOT_FOUND);
}

/* ---- The doctor ---- */

static void test_diagnose__tells_findings(void **state)
{
	struct world *w = *state;
	struct text text = {.length = 0};
	uint64_t count = 0;
	add(w, "a", "IN_PROGRESS");
	ok(w, rec_diagnose(w->reconciler, finding_append, &text, &count, &w->error));
	assert_int_equal(count, 1);
	assert_string_equal(text.bytes, "in-progress-without-run a|reconciler task set a READY;");
	ok(w, rec_diagnose(w->reconciler, NULL, NULL, &count, &w->error));
}

static void test_warnings__may_be_asked_for(void **state)
{
	struct world *w = *state;
	rec_on_warning(w->reconciler, NULL, NULL);
}

/* ---- Export and import ---- */

static void test_exchange__there_and_back(void **state)
{
	struct world *w = *state, other;
	struct text first = {.length = 0}, second = {.length = 0};
	const char *const ids[] = {"b"}, *const missing[] = {"nobody"};
	uint64_t tasks = 0;
	add(w, "a", "BLOCKED");
	ask(w, "K1", "a");
	add(w, "b", "DONE");
	ok(w, rec_export(w->reconciler, NULL, 0, REC_EXPORT_ARRAY, text_append, &first, &w->error));
	assert_true(first.bytes[0] == '[' && first.bytes[first.length - 2] == ']');
	world_init(&other, 0);
	ok(&other, open_memory(&other));
	ok(&other, import(&other, first.bytes, &tasks));
	assert_int_equal(tasks, 2);
	ok(&other, rec_export(other.reconciler, NULL, 0, REC_EXPORT_ARRAY, text_append, &second, &other.error));
	assert_string_equal(second.bytes, first.bytes);
	rec_close(other.reconciler);
	assert_int_equal(other.memory.live, 0);
	second.length = 0;
	ok(w, rec_export(w->reconciler, ids, 1, REC_EXPORT_LINES, text_append, &second, &w->error));
	assert_true(strncmp(second.bytes, "{\"id\":\"b\"", 9) == 0 && second.bytes[second.length - 1] == '\n');
	assert_int_equal(rec_export(w->reconciler, missing, 1, REC_EXPORT_LINES, text_append, &second, &w->error),
			 REC_NOT_FOUND);
	second.end_with = 9;
	assert_int_equal(rec_export(w->reconciler, NULL, 0, REC_EXPORT_LINES, text_append, &second, &w->error), 9);
}

static void test_import__holds_the_reconciler_until_it_is_over(void **state)
{
	struct world *w = *state;
	struct rec_importer *importer, *second;
	struct rec_result_set *set;
	uint64_t tasks;
	ok(w, rec_importer_new(w->reconciler, NULL, &importer, &w->error));
	ok(w, rec_importer_feed(importer, "[{\"id\":\"a\",", 11, &w->error));
	assert_int_equal(rec_check_all(w->reconciler, NULL, 0, NULL, &set, &w->error), REC_E_INVALID);
	assert_non_null(strstr(w->error.message, "an import is going on"));
	assert_int_equal(rec_importer_new(w->reconciler, NULL, &second, &w->error), REC_E_INVALID);
	assert_int_equal(rec_importer_feed(importer, "7", 1, &w->error), REC_E_INVALID);
	ok(w, rec_check_all(w->reconciler, NULL, 0, NULL, &set, &w->error));
	assert_int_equal(rec_result_set_count(set), 0);
	rec_result_set_free(set);
	assert_int_equal(rec_importer_finish(importer, &tasks, &w->error), REC_E_INVALID);
	ok(w, rec_importer_new(w->reconciler, NULL, &second, &w->error));
	rec_importer_free(importer);
	assert_int_equal(rec_check_all(w->reconciler, NULL, 0, NULL, &set, &w->error), REC_E_INVALID);
	rec_importer_free(second);
	ok(w, rec_check_all(w->reconciler, NULL, 0, NULL, &set, &w->error));
	rec_result_set_free(set);
	assert_null(rec_importer_free(NULL));
}

static void test_import__settings(void **state)
{
	struct world *w = *state;
	static const char text[] = "[{\"id\":\"a\",\"title\":\"T\",\"x\":1,\"depends_on\":[\"ghost\"]}]";
	struct rec_import_settings settings = {.size = sizeof settings, .ignore_unknown = 1, .keep_missing = 1};
	struct rec_importer *importer;
	struct rec_task_info *task;
	settings.dry_run = 1;
	for (int i = 0; i < 2; i++, settings.dry_run = 0) {
		ok(w, rec_importer_new(w->reconciler, &settings, &importer, &w->error));
		ok(w, rec_importer_feed(importer, text, sizeof text - 1, &w->error));
		ok(w, rec_importer_finish(importer, NULL, &w->error));
		rec_importer_free(importer);
		assert_int_equal(rec_task_get(w->reconciler, "a", &task, &w->error), i ? 0 : REC_NOT_FOUND);
	}
	rec_task_info_free(task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		api_test(test_task__every_field_comes_back),
		api_test(test_task__what_cannot_be_created),
		api_test(test_task__list_by_status_after_and_limit),
		api_test(test_task__status_retry_edit_delete),
		api_test(test_blocker__life_and_list),
		api_test(test_links__are_made_listed_and_taken_away),
		api_test(test_diagnose__tells_findings),
		api_test(test_warnings__may_be_asked_for),
		api_test(test_exchange__there_and_back),
		api_test(test_import__holds_the_reconciler_until_it_is_over),
		api_test(test_import__settings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
