#include "engine/test-exchange.h"
#include "base/number.h"

/* ---- There and back ---- */

static void test_exchange__export_import_export_is_byte_identical(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer first, second;
	rec_buffer_init(&first, NULL, SIZE_MAX);
	rec_buffer_init(&second, NULL, SIZE_MAX);
	assert_imported(f, everything, 3);
	export_lines(f, &first);
	assert_imported(f, first.data, 3);
	assert_string_equal(export_lines(f, &second), first.data);
	rec_buffer_release(&first);
	rec_buffer_release(&second);
}

static void test_exchange__export_writes_what_was_imported(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_imported(f, everything, 3);
	assert_string_equal(export_lines(f, &out), everything);
	rec_buffer_release(&out);
}

static void test_exchange__texts_that_hold_lists_keep_their_bytes(void **state)
{
	struct fixture *f = *state;
	assert_imported(f, everything, 3);
	assert_slice(task_of(f, "z").lineage, "[ ]");
	assert_slice(task_of(f, "-x").lineage, "[]");
	assert_slice(task_of(f, "-x").requirement_ids, "not json");
	assert_slice(task_of(f, " '\"/../\\é\u202e實裝 🚧").lineage, "[\"a\", \"é\", \"\"]");
	assert_slice(task_of(f, " '\"/../\\é\u202e實裝 🚧").requirement_ids, "[\"\\u00e9\"]");
}

static void test_exchange__values_that_cannot_come_back_are_refused_aloud(void **state)
{
	struct fixture *f = *state;
	struct rec_task task = {
		.id = S("a"),
		.title = S("t"),
		.status = REC_STATUS_UNRECOGNISED,
		.status_text = S("SLEEPING"),
		.depends_on_raw = S("{\"a\":1}"),
		.created_at = S("2026-01-01T00:00:00Z"),
		.updated_at = S("2026-01-01T00:00:00Z"),
	};
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_int_equal(rec_task_write_json(&out, &task, false), 0);
	assert_non_null(strstr(out.data, "\"status\":\"SLEEPING\",\"priority\":0,\"depends_on\":\"{\\\"a\\\":1}\""));
	assert_null(strstr(out.data, "blockers"));
	assert_refused(f, out.data, REC_E_INVALID, "\"SLEEPING\" is not allowed");
	rec_buffer_release(&out);
}

static void test_exchange__a_blocker_alone_names_its_task(void **state)
{
	struct rec_blocker blocker = {.id = S("k"),
				      .task_id = S("a"),
				      .question = S("q"),
				      .status_text = S("OPEN"),
				      .created_at = S("2026-01-01T00:00:00Z"),
				      .created_by = S("human")};
	struct rec_buffer out;
	(void)state;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_int_equal(rec_blocker_write_json(&out, &blocker, true), 0);
	assert_string_equal(out.data,
			    "{\"id\":\"k\",\"task_id\":\"a\",\"question\":\"q\",\"answer\":null,\"status\":\"OPEN\","
			    "\"created_at\":\"2026-01-01T00:00:00Z\",\"answered_at\":null,\"created_by\":\"human\"}");
	rec_buffer_release(&out);
}

static void test_exchange__what_a_helper_keeps_stays_in_its_store(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer out;
	const struct rec_link seen = {.task_id = S("a"),
				      .url = S("u"),
				      .validator = S("v"),
				      .kind = REC_LINK_ISSUE,
				      .time = S("2026-01-01T00:00:00Z")};
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_imported(f, "{\"id\":\"a\",\"title\":\"T\",\"links\":[{\"url\":\"u\"}]}", 1);
	assert_int_equal(rec_store_link_observed(f->store, &seen, &f->error), 0);
	export_lines(f, &out);
	assert_non_null(
		strstr(out.data, "\"links\":[{\"url\":\"u\",\"kind\":\"issue\",\"time\":\"2026-01-01T00:00:00Z\"}]}"));
	rec_buffer_release(&out);
}

static void test_exchange__a_link_that_says_nothing_more_than_the_task_is_left_out(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_imported(f, "{\"title\":\"T\",\"external_url\":\"https://t.example/a/b/issues/1\"}", 1);
	assert_null(strstr(export_lines(f, &out), "links"));
	rec_buffer_release(&out);
}

static int first_only(void *context, const struct rec_exported *exported)
{
	(void)exported;
	++*(unsigned *)context;
	return REC_END;
}

static void test_exchange__one_task_comes_with_its_links_and_a_missing_one_is_told(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer out;
	unsigned count = 0;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	assert_imported(f, everything, 3);
	assert_int_equal(rec_export_one(f->store, S("z"), line_write, &out, &f->error), 0);
	assert_non_null(strstr(everything, out.data));
	assert_int_equal(rec_export_one(f->store, S("nobody"), first_only, &count, &f->error), REC_NOT_FOUND);
	assert_int_equal(count, 0);
	assert_int_equal(rec_export_all(f->store, first_only, &count, &f->error), REC_END);
	assert_int_equal(count, 1);
	rec_buffer_release(&out);
}

/* ---- Numbers ---- */

static void test_number__reads_back_as_the_same_value(void **state)
{
	static const double values[] = {0,      1,       -1.5, 0.1,  1e300, 5e-324, 1.7976931348623157e308,
					123456, 1.0 / 3, 1e21, -0.0, 3.5e-7};
	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct rec_buffer out;
		double back;
		rec_buffer_init(&out, NULL, 64);
		assert_int_equal(rec_number_write(&out, values[i]), 0);
		assert_int_equal(rec_number_parse(rec_buffer_slice(&out), &back), 0);
		assert_memory_equal(&back, &values[i], sizeof back);
		rec_buffer_release(&out);
	}
}

static void test_number__what_is_no_finite_number_is_refused(void **state)
{
	char text[200];
	double value = 7;
	struct rec_buffer out;
	(void)state;
	memset(text, '1', sizeof text);
	assert_int_equal(rec_number_parse(S("1e400"), &value), REC_E_INVALID);
	assert_int_equal(rec_number_parse((struct rec_slice){text, 128}, &value), REC_E_INVALID);
	assert_true(value == 7);
	assert_int_equal(rec_number_parse((struct rec_slice){text, 127}, &value), 0);
	rec_buffer_init(&out, NULL, 64);
	rec_number_write(&out, -1 / 0.0);
	rec_number_write(&out, 0 / 0.0);
	assert_string_equal(out.data, "-1e999null");
	rec_buffer_release(&out);
}

/* ---- Memory ---- */

static void test_exchange__every_failed_allocation_is_a_clean_error(void **state)
{
	struct fixture *f = *state;
	int r = REC_E_NOMEM;
	for (uint64_t fail_at = 1; r; fail_at++) {
		struct rec_buffer out;
		fixture_again(f);
		f->memory.calls = 0;
		f->memory.fail_at = fail_at;
		r = import(f, S(everything));
		f->memory.fail_at = 0;
		assert_true(r == 0 || r == REC_E_NOMEM);
		rec_buffer_init(&out, NULL, SIZE_MAX);
		assert_string_equal(export_lines(f, &out), r ? "" : everything);
		rec_buffer_release(&out);
	}
}

static void test_exchange__every_failed_export_is_a_clean_error(void **state)
{
	struct fixture *f = *state;
	int r = REC_E_NOMEM;
	assert_imported(f, everything, 3);
	for (uint64_t fail_at = 1; r; fail_at++) {
		struct rec_buffer out;
		rec_buffer_init(&out, NULL, SIZE_MAX);
		f->memory.calls = 0;
		f->memory.fail_at = fail_at;
		r = rec_export_all(f->store, line_write, &out, &f->error);
		f->memory.fail_at = 0;
		assert_true(r == 0 || r == REC_E_NOMEM);
		if (r)
			assert_non_null(strstr(f->error.message, "memory"));
		else
			assert_string_equal(out.data, everything);
		rec_buffer_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exchange_test(test_exchange__export_import_export_is_byte_identical),
		exchange_test(test_exchange__export_writes_what_was_imported),
		exchange_test(test_exchange__texts_that_hold_lists_keep_their_bytes),
		exchange_test(test_exchange__values_that_cannot_come_back_are_refused_aloud),
		exchange_test(test_exchange__a_blocker_alone_names_its_task),
		exchange_test(test_exchange__what_a_helper_keeps_stays_in_its_store),
		exchange_test(test_exchange__a_link_that_says_nothing_more_than_the_task_is_left_out),
		exchange_test(test_exchange__one_task_comes_with_its_links_and_a_missing_one_is_told),
		exchange_test(test_exchange__every_failed_export_is_a_clean_error),
		exchange_test(test_exchange__every_failed_allocation_is_a_clean_error),
		cmocka_unit_test(test_number__reads_back_as_the_same_value),
		cmocka_unit_test(test_number__what_is_no_finite_number_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
