/* Names of logs: one-to-one, never outside the folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "shim/log-name.h"

static void assert_folder(const char *id, const char *expected)
{
	char out[REC_LOG_FOLDER_BYTES];
	assert_string_equal(rec_log_folder(id, strlen(id), out), expected);
}

static void test_log_name__plain_ids_stay_as_they_are(void **state)
{
	(void)state;
	char out[REC_LOG_NAME_BYTES];
	assert_folder("4be03db0-dc25-44bd-b940-67edfe175330", "4be03db0-dc25-44bd-b940-67edfe175330");
	assert_string_equal(rec_log_name("T1", 2, 12, out), "T1/12.log");
}

static void test_log_name__unsafe_ids_are_encoded_one_to_one(void **state)
{
	(void)state;
	assert_folder("../../outside", "%2E.%2F..%2Foutside");
	assert_folder(".", "%2E");
	assert_folder("a/b", "a%2Fb");
	assert_folder("a%2Fb", "a%252Fb");
	assert_folder("a_b", "a_b");
	assert_folder("\xc3\xa9", "%C3%A9");
}

static void test_log_name__long_ids_are_cut_but_kept_apart(void **state)
{
	(void)state;
	char id[255], first[REC_LOG_FOLDER_BYTES], second[REC_LOG_FOLDER_BYTES];
	memset(id, '/', sizeof id);
	rec_log_folder(id, sizeof id, first);
	assert_int_equal(strlen(first), 128 + 1 + 32);
	id[254] = '.';
	assert_string_not_equal(rec_log_folder(id, sizeof id, second), first);
	assert_string_not_equal(rec_log_folder(id, sizeof id - 1, second), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_name__plain_ids_stay_as_they_are),
		cmocka_unit_test(test_log_name__unsafe_ids_are_encoded_one_to_one),
		cmocka_unit_test(test_log_name__long_ids_are_cut_but_kept_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
