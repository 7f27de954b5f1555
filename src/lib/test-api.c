#include "test-api.h"

/* ---- Names and numbers ---- */

static void test_names__of_version_statuses_and_actions(void **state)
{
	(void)state;
	assert_string_equal(rec_version(), REC_VERSION_STRING);
	for (int i = 0; i < REC_STATUS_COUNT; i++)
		assert_int_equal(rec_status_from_name(rec_status_name((enum rec_status)i)), i);
	assert_string_equal(rec_status_name(REC_STATUS_ABSENT), "-");
	assert_string_equal(rec_status_name(REC_STATUS_UNRECOGNISED), "?");
	assert_string_equal(rec_status_name((enum rec_status)99), "?");
	assert_int_equal(rec_status_from_name("ready"), REC_STATUS_UNRECOGNISED);
	assert_int_equal(rec_status_from_name(NULL), REC_STATUS_UNRECOGNISED);
	assert_string_equal(rec_action_name(REC_KILL), "KILL");
	assert_string_equal(rec_action_name((enum rec_action)9), "?");
	assert_int_equal(rec_error_class_of(REC_E_BUSY), REC_CLASS_RETRY);
	assert_int_equal(rec_error_class_of(REC_E_INVALID), REC_CLASS_TERMINAL);
	assert_int_equal(rec_error_class_of(REC_E_BUG), REC_CLASS_BUG);
}

static void test_policy__is_the_decision_table(void **state)
{
	char path[4096], line[256], wanted[256];
	struct rec_policy_row row = {.size = sizeof row};
	(void)state;
	snprintf(path, sizeof path, "%s/decision-table.tsv", getenv("REC_TEST_DATA"));
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	for (size_t i = 0; i < rec_policy_count(); i++) {
		assert_non_null(fgets(line, sizeof line, file));
		assert_int_equal(rec_policy_get(i, &row), 0);
		snprintf(wanted, sizeof wanted, "%s\t%s\t%s\t%s\t%s\n", rec_status_name(row.stored),
			 rec_status_name(row.believed), rec_action_name(row.action), row.discrepancy ? "yes" : "no",
			 row.reason);
		assert_string_equal(line, wanted);
	}
	assert_null(fgets(line, sizeof line, file));
	fclose(file);
	assert_int_equal(rec_policy_get(rec_policy_count(), &row), REC_END);
}

/* ---- Opening ---- */

static void test_open__refuses_what_cannot_be(void **state)
{
	struct rec_open_options options = {.size = sizeof options};
	struct reconciler *untouched = (void *)&options, *r = untouched;
	struct rec_error error;
	(void)state;
	assert_int_equal(rec_open(NULL, 0, NULL, &r, &error), REC_E_INVALID);
	assert_int_equal(rec_open("memory:", -1, NULL, &r, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "-1 ms"));
	assert_int_equal(rec_open("/nonexistent/place", 0, NULL, &r, &error), REC_E_NO_STORE);
	assert_int_equal(rec_open("carrier-pigeon://x", 0, &options, &r, NULL), REC_E_UNSUPPORTED);
	options.mode = (enum rec_open_mode)7;
	assert_int_equal(rec_open("memory:", 0, &options, &r, &error), REC_E_INVALID);
	assert_ptr_equal(r, untouched);
}

static void test_open__tells_where_and_how_often(void **state)
{
	struct world *w = *state;
	assert_string_equal(rec_location(w->reconciler), "memory:");
	assert_int_equal(rec_check_interval_ms(w->reconciler), 250);
	assert_null(rec_close(NULL));
}

/* ---- Structs of other ages ---- */

static void test_size__a_struct_without_one_is_refused(void **state)
{
	struct world *w = *state;
	struct rec_open_options options = {.size = 0};
	struct rec_task_info task = {.title = "t"};
	struct reconciler *r;
	struct rec_policy_row row = {.size = 3};
	assert_int_equal(rec_open("memory:", 0, &options, &r, &w->error), REC_E_INVALID);
	assert_non_null(strstr(w->error.message, "struct rec_open_options: its size is not set"));
	assert_int_equal(rec_task_create(w->reconciler, &task, NULL, &w->error), REC_E_INVALID);
	assert_int_equal(rec_policy_get(0, &row), REC_E_INVALID);
}

static void test_size__an_older_caller_leaves_the_rest_at_zero(void **state)
{
	struct world *w = *state;
	struct rec_task_info task = {.title = "t", .priority = 9, .status = "DONE", .parent_id = "ignored"};
	char id[REC_ID_BYTES_MAX + 1];
	task.size = offsetof(struct rec_task_info, priority);
	ok(w, rec_task_create(w->reconciler, &task, id, &w->error));
	assert_int_equal(status_of(w, id), REC_DONE);
	struct rec_policy_row row = {.size = offsetof(struct rec_policy_row, reason), .reason = "kept"};
	assert_int_equal(rec_policy_get(0, &row), 0);
	assert_string_equal(row.reason, "kept");
	assert_int_equal(row.believed, REC_STATUS_ABSENT);
}

static void test_size__a_newer_caller_may_not_use_what_is_new(void **state)
{
	struct world *w = *state;
	struct {
		struct rec_task_info task;
		int64_t brand_new;
	} newer = {.task = {.size = sizeof newer, .title = "t"}};
	ok(w, rec_task_create(w->reconciler, &newer.task, NULL, &w->error));
	newer.brand_new = 1;
	assert_int_equal(rec_task_create(w->reconciler, &newer.task, NULL, &w->error), REC_E_UNSUPPORTED);
	struct {
		struct rec_policy_row row;
		int64_t brand_new;
	} newer_row = {.row = {.size = sizeof newer_row}, .brand_new = 5};
	assert_int_equal(rec_policy_get(1, &newer_row.row), 0);
	assert_int_equal(newer_row.brand_new, 0);
	assert_int_equal(newer_row.row.size, sizeof newer_row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		api_test(test_names__of_version_statuses_and_actions),
		api_test(test_policy__is_the_decision_table),
		api_test(test_open__refuses_what_cannot_be),
		api_test(test_open__tells_where_and_how_often),
		api_test(test_size__a_struct_without_one_is_refused),
		api_test(test_size__an_older_caller_leaves_the_rest_at_zero),
		api_test(test_size__a_newer_caller_may_not_use_what_is_new),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
