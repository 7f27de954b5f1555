/* From the name and the text of a file to a task: what makes a whole file bad, and what a single value. */
#include "base/test-support.h"

#include <stdio.h>

#include "store/files.h"

#define S(text) rec_slice_of(text)

/* ---- Names ---- */

static void test_names__one_to_one(void **state)
{
	(void)state;
	static const struct {
		const char *id, *name;
	} known[] = {
		{"plain-Id_1.x", "plain-Id_1.x.json"},
		{"a/b", "a%2Fb.json"},
		{"a_b", "a_b.json"},
		{".", "%2E.json"},
		{"..", "%2E..json"},
		{"../../outside", "%2E.%2F..%2Foutside.json"},
		{"~", "%7E.json"},
		{"%41", "%2541.json"},
		{"\xc3\xbc", "%C3%BC.json"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		char name[REC_FILES_NAME_BYTES], id[REC_ID_BYTES_MAX + 1];
		size_t length;
		assert_string_equal(rec_files_name(S(known[i].id), name), known[i].name);
		assert_int_equal(rec_files_name_id(name, id, &length), 0);
		assert_string_equal(id, known[i].id);
	}
}

static void test_names__long_ids_are_hashed(void **state)
{
	(void)state;
	char id[REC_ID_BYTES_MAX + 1], other[REC_FILES_NAME_BYTES], name[REC_FILES_NAME_BYTES];
	size_t length;
	memset(id, 'x', sizeof id);
	struct rec_slice whole = {id, 200};
	rec_files_name(whole, name);
	assert_int_equal(strlen(name), 205);
	whole.length = 201;
	rec_files_name(whole, name);
	assert_int_equal(strlen(name), 128 + 1 + 64 + 5);
	assert_int_equal(rec_files_name_id(name, id, &length), REC_NOT_FOUND);
	whole.length = 255;
	assert_string_not_equal(rec_files_name(whole, other), name);
}

static void test_names__what_no_id_has(void **state)
{
	(void)state;
	static const char *const names[] = {"a b.json",     "%2f.json", "%41.json",      "%.json",
					    "%2.json",      "a~b.json", "\xc3\xbc.json", "%00.json",
					    ".hidden.json", "a.json~",  ".json",         "%C3.json"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char id[REC_ID_BYTES_MAX + 1];
		size_t length;
		assert_int_equal(rec_files_name_id(names[i], id, &length), REC_E_INVALID);
	}
}

/* ---- Keys ---- */

static int keys_read(struct rec_slice text, struct rec_error *error)
{
	struct rec_files_node *root = NULL;
	struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	int r = rec_files_document(text, &arena, &root, error);
	rec_arena_release(&arena);
	return r;
}

/* {"k0":0,"k1":0,...} */
static void keys_write(struct rec_buffer *out, unsigned count)
{
	rec_buffer_add_text(out, "{");
	for (unsigned i = 0; i < count; i++)
		rec_buffer_printf(out, "%s\"k%u\":0", i ? "," : "", i);
	assert_int_equal(rec_buffer_add_text(out, "}"), 0);
}

static void test_keys__each_stands_once_in_its_object(void **state)
{
	(void)state;
	struct rec_error error = {0};
	assert_int_equal(keys_read(S("{\"a\": {\"a\": 1, \"b\": 2}, \"b\": [{\"a\": 1}, {\"a\": 1}]}"), &error), 0);
	assert_int_equal(keys_read(S("{\"a\": 1, \"b\": {\"c\": 1, \"d\": 1, \"c\": 2}}"), &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "\"c\""));
}

static void test_keys__of_one_object_are_bounded(void **state)
{
	(void)state;
	struct rec_buffer text;
	struct rec_error error = {0};
	rec_buffer_init(&text, NULL, SIZE_MAX / 2);
	keys_write(&text, REC_FILES_KEYS_MAX);
	assert_int_equal(keys_read(rec_buffer_slice(&text), &error), 0);
	rec_buffer_clear(&text);
	keys_write(&text, REC_FILES_KEYS_MAX + 1);
	assert_int_equal(keys_read(rec_buffer_slice(&text), &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "4096 keys"));
	rec_buffer_release(&text);
}

/* ---- Values ---- */

static void test_times__one_that_is_too_long_is_none(void **state)
{
	(void)state;
	struct rec_arena arena;
	struct rec_files_task read;
	struct rec_error error = {0};
	struct rec_slice text = S("{\"title\":\"x\",\"status\":\"BLOCKED\",\"created_at\":\"soon\",\"blockers\":["
				  "{\"id\":\"k\",\"question\":\"?\",\"created_at\":\""
				  "2026-01-01T00:00:00Z 2026-01-01T00:00:00Z 2026-01-01T00:00:00Z 2026\"}]}");
	rec_arena_init(&arena, NULL);
	assert_int_equal(rec_files_task_read(text, "a.json", &arena, &read, &error), 0);
	assert_int_equal(read.warning_count, 2);
	assert_string_equal(read.warnings[1].column, "blocker created_at");
	assert_string_equal(read.warnings[1].problem, "is not a time");
	assert_true(rec_slice_equal(read.task.created_at, S("soon"))); /* shown as it is */
	assert_int_equal(read.task.blocker_count, 1);
	assert_int_equal(read.task.blockers[0].created_at.length, 0);
	rec_arena_release(&arena);
}

/* ---- Rows of the log ---- */

static void row_take(struct rec_memory_store *m, size_t id_length, int wanted)
{
	char json[8192], id[8000];
	struct rec_error error = {0};
	struct rec_arena arena;
	memset(id, 'x', sizeof id);
	snprintf(json, sizeof json, "{\"task_id\":\"%.*s\",\"number\":1}", (int)id_length, id);
	rec_arena_init(&arena, NULL);
	assert_int_equal(rec_files_row_take(m, REC_MEMORY_ATTEMPTS, S(json), false, &arena, &error), wanted);
	rec_arena_release(&arena);
}

static void test_rows__one_without_a_key_or_with_one_too_long_is_damaged(void **state)
{
	(void)state;
	struct rec_memory_store m = {0};
	struct rec_error error = {0};
	struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	rec_store_setup(&m.store, &rec_files_ops, NULL);
	assert_int_equal(rec_memory_embed(&m, &error), 0);
	assert_int_equal(rec_memory_begin(&m.store, &error), 0);
	row_take(&m, REC_MEMORY_JOINED_MAX - 1, 0); /* with its NUL */
	row_take(&m, REC_MEMORY_JOINED_MAX, REC_E_INVALID);
	assert_int_equal(rec_files_row_take(&m, REC_MEMORY_HISTORIES, S("{}"), false, &arena, &error), REC_E_INVALID);
	rec_arena_release(&arena);
	rec_memory_rollback(&m.store);
	rec_memory_disembed(&m);
}

/* What changes are read as, whichever way they stand there. */
static void change_take(const char *json, int wanted, int64_t seq, const char *id)
{
	struct rec_memory_store m = {0};
	struct rec_error error = {0};
	struct rec_arena arena;
	struct rec_memory_key key;
	rec_arena_init(&arena, NULL);
	rec_store_setup(&m.store, &rec_files_ops, NULL);
	assert_int_equal(rec_memory_embed(&m, &error), 0);
	assert_int_equal(rec_memory_begin(&m.store, &error), 0);
	assert_int_equal(rec_files_row_take(&m, REC_MEMORY_CHANGES, S(json), false, &arena, &error), wanted);
	const struct rec_memory_change *row = rec_memory_get(&m, REC_MEMORY_CHANGES, rec_memory_key_seq(&key, seq));
	assert_int_equal(row != NULL, wanted == 0);
	if (row) {
		assert_true(rec_slice_equal(row->id, S(id)));
		assert_int_equal(row->id.data[row->id.length], '\0');
		assert_int_equal(row->time_us, strstr(json, "time_us") ? 17 : 0);
	}
	rec_memory_rollback(&m.store);
	rec_memory_disembed(&m);
	rec_arena_release(&arena);
}

static void test_rows__a_change_is_read_the_same_in_any_spelling(void **state)
{
	(void)state;
	change_take("{\"seq\":12,\"id\":\"a b\",\"time_us\":17}", 0, 12, "a b");
	change_take("{ \"seq\":12,\"id\":\"a b\",\"time_us\":17}", 0, 12, "a b");
	change_take("{\"id\":\"a b\",\"time_us\":17,\"seq\":12}", 0, 12, "a b");
	change_take("{\"seq\":12,\"id\":\"a\\\"b\",\"time_us\":17}", 0, 12, "a\"b");
	change_take("{\"seq\":12,\"id\":\"\xc3\xa4\",\"time_us\":17}", 0, 12, "\xc3\xa4");
	change_take("{\"seq\":12,\"id\":\"a\"}", 0, 12, "a");
	change_take("{\"seq\":9223372036854775807,\"id\":\"a\",\"time_us\":17}", 0, INT64_MAX, "a");
	change_take("{\"seq\":9223372036854775808,\"id\":\"a\",\"time_us\":17}", REC_E_INVALID, 1, "a");
	change_take("{\"seq\":012,\"id\":\"a\",\"time_us\":17}", REC_E_INVALID, 12, "a");
	change_take("{\"seq\":12,\"id\":\"a\",\"time_us\":17} ", 0, 12, "a");
	change_take("{\"seq\":12,\"id\":\"a\",\"time_us\":17}x", REC_E_INVALID, 12, "a");
	change_take("{\"seq\":12,\"id\":\"a\",\"time_us\":}", REC_E_INVALID, 12, "a");
	change_take("{\"seq\":12,\"id\":\"a", REC_E_INVALID, 12, "a");
	change_take("{\"seq\":12,\"id\":\"\xff\",\"time_us\":17}", REC_E_INVALID, 12, "");
}

static int history_read(const char *json, struct rec_memory_history *ret, struct rec_arena *arena)
{
	static const struct rec_files_field fields[] = {
		{"attempt", REC_FILES_UINT32, offsetof(struct rec_memory_history, attempt), 0},
		{"claimed", REC_FILES_BOOL, offsetof(struct rec_memory_history, claimed), 0},
		{"released", REC_FILES_TEXTS, offsetof(struct rec_memory_history, released),
		 offsetof(struct rec_memory_history, released_count)},
	};
	static const struct rec_files_record type = {fields, 3};
	struct rec_error error = {0};
	memset(ret, 0, sizeof *ret);
	return rec_files_record_read(S(json), &type, arena, ret, &error);
}

static void test_rows__are_read_in_any_order_and_unknown_fields_passed_over(void **state)
{
	(void)state;
	struct rec_arena arena;
	struct rec_memory_history read;
	static const char *const bad[] = {
		"",
		"[]",
		"{\"attempt\":1",
		"{\"attempt\":1}x",
		"{\"attempt\":1,\"attempt\":2}",
		"{\"attempt\":-1}",
		"{\"attempt\":\"1\"}",
		"{\"released\":[1]}",
		"{\"released\":[[\"a\"]]}",
	};
	rec_arena_init(&arena, NULL);
	assert_int_equal(history_read("{\"x\":{\"attempt\":[9,{}]},\"released\":[\"a\",\"\\u0041\",\"\",\"c\",\"d\"],"
				      "\"y\":[[]],\"claimed\":1,\"attempt\":3}",
				      &read, &arena),
			 0);
	assert_int_equal(read.attempt, 3);
	assert_true(read.claimed);
	assert_int_equal(read.released_count, 5);
	assert_string_equal(read.released[1].data, "A");
	assert_string_equal(read.released[2].data, "");
	assert_string_equal(read.released[4].data, "d");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(history_read(bad[i], &read, &arena), REC_E_INVALID);
	rec_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names__one_to_one),
		cmocka_unit_test(test_names__long_ids_are_hashed),
		cmocka_unit_test(test_names__what_no_id_has),
		cmocka_unit_test(test_keys__each_stands_once_in_its_object),
		cmocka_unit_test(test_keys__of_one_object_are_bounded),
		cmocka_unit_test(test_times__one_that_is_too_long_is_none),
		cmocka_unit_test(test_rows__one_without_a_key_or_with_one_too_long_is_damaged),
		cmocka_unit_test(test_rows__a_change_is_read_the_same_in_any_spelling),
		cmocka_unit_test(test_rows__are_read_in_any_order_and_unknown_fields_passed_over),
	};
	return cmocka_run_group_tests_name("store/files-task", tests, NULL, NULL);
}
