/* From the text of a file to a task: what makes a whole file bad, and what a single value. */
#include "base/test-support.h"

#include "store/files.h"

#define S(text) rec_slice_of(text)

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys__each_stands_once_in_its_object),
		cmocka_unit_test(test_keys__of_one_object_are_bounded),
	};
	return cmocka_run_group_tests_name("store/files-task", tests, NULL, NULL);
}
