/* Errors: the message, its limits, its class. */
#include "base/test-support.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"

static void test_fail__fills_code_and_message(void **state)
{
	(void)state;
	struct rec_error error;
	assert_int_equal(rec_fail(&error, REC_E_INVALID, "task %s: %d", "t1", 7), REC_E_INVALID);
	assert_int_equal(error.code, REC_E_INVALID);
	assert_string_equal(error.message, "task t1: 7");
}

static void test_fail__accepts_no_error_at_all(void **state)
{
	(void)state;
	assert_int_equal(rec_fail(NULL, REC_E_BUSY, "x"), REC_E_BUSY);
	assert_int_equal(rec_fail_errno(NULL, ENOSPC, "x"), REC_E_FULL);
	assert_int_equal(rec_fail_context(NULL, REC_E_IO, "x"), REC_E_IO);
	assert_int_equal(rec_fail_nomem(NULL), REC_E_NOMEM);
}

static void test_fail__lets_no_control_character_through(void **state)
{
	(void)state;
	struct rec_error error;
	rec_fail(&error, REC_E_INVALID, "a\nb\x1b[31m\x7f\tc");
	assert_string_equal(error.message, "a?b?[31m??c");
}

static void test_fail__lets_nothing_through_that_is_not_printable_utf8(void **state)
{
	(void)state;
	struct rec_error error;
	rec_fail(&error, REC_E_INVALID,
		 "ż\xc2\x9b"
		 "1 \xff \xe2\x82 \u2029 \u2028 \xe2\x82");
	assert_string_equal(error.message, "ż??1 ? ?? ??? ??? ??");
}

static void test_fail__cuts_a_long_message_at_a_character(void **state)
{
	(void)state;
	for (size_t before = 0; before < 4; before++) {
		char text[1500] = "";
		memset(text, 'a', before);
		for (size_t i = before; i + 3 < sizeof text; i += 3)
			memcpy(text + i, "\xe2\x82\xac", 4);
		struct rec_error error;
		rec_fail(&error, REC_E_INVALID, "%s", text);
		size_t length = strlen(error.message);
		assert_true(length < sizeof error.message && length > sizeof error.message - 5);
		assert_true(rec_utf8_valid(rec_slice_of(error.message)));
		assert_memory_equal(error.message, text, length);
	}
}

static void test_fail_errno__chooses_the_code_and_says_why(void **state)
{
	(void)state;
	static const struct {
		int errnum, code;
	} cases[] = {{ENOSPC, REC_E_FULL},      {EDQUOT, REC_E_FULL},     {EACCES, REC_E_PERMISSION},
		     {EPERM, REC_E_PERMISSION}, {EROFS, REC_E_READ_ONLY}, {ENOMEM, REC_E_NOMEM},
		     {ENOENT, REC_E_IO},        {EIO, REC_E_IO}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rec_error error;
		assert_int_equal(rec_fail_errno(&error, cases[i].errnum, "file %d", 3), cases[i].code);
		assert_int_equal(error.code, cases[i].code);
		char wanted[256];
		snprintf(wanted, sizeof wanted, "file 3: %s", strerrordesc_np(cases[i].errnum));
		assert_string_equal(error.message, wanted);
	}
}

static void test_fail_errno__survives_a_number_that_is_none(void **state)
{
	(void)state;
	struct rec_error error;
	assert_int_equal(rec_fail_errno(&error, 99999, "file"), REC_E_IO);
	assert_string_equal(error.message, "file: error 99999");
}

static void test_fail_errno__has_room_after_a_message_that_fills_it(void **state)
{
	(void)state;
	char text[1200];
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	struct rec_error error;
	assert_int_equal(rec_fail_errno(&error, EIO, "%s", text), REC_E_IO);
	assert_int_equal(strlen(error.message), sizeof error.message - 1);
}

static void test_fail_context__puts_words_before_the_message(void **state)
{
	(void)state;
	struct rec_error error;
	rec_fail(&error, REC_E_BUSY, "locked");
	assert_int_equal(rec_fail_context(&error, error.code, "store %s", "a.db"), REC_E_BUSY);
	assert_int_equal(error.code, REC_E_BUSY);
	assert_string_equal(error.message, "store a.db: locked");
}

static void test_fail_context__cuts_a_long_message_at_a_character(void **state)
{
	(void)state;
	for (size_t before = 1; before <= 4; before++) {
		struct rec_error error = {.code = REC_E_IO};
		for (size_t i = 0; i + 3 < sizeof error.message; i += 3)
			memcpy(error.message + i, "\xe2\x82\xac", 4);
		rec_fail_context(&error, error.code, "%.*s", (int)before, "abcd");
		size_t length = strlen(error.message);
		assert_in_range(length, sizeof error.message - 4, sizeof error.message - 1);
		assert_true(rec_utf8_valid(rec_slice_of(error.message)));
	}
}

static void test_error_class__sorts_every_code(void **state)
{
	(void)state;
	for (int code = REC_E_BUG; code <= REC_E_NOMEM; code++) {
		enum rec_error_class wanted = REC_CLASS_TERMINAL;
		if (code == REC_E_BUSY || code == REC_E_FULL || code == REC_E_IO || code == REC_E_NOMEM)
			wanted = REC_CLASS_RETRY;
		if (code == REC_E_BUG)
			wanted = REC_CLASS_BUG;
		assert_int_equal(rec_error_class_of(code), wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fail__fills_code_and_message),
		cmocka_unit_test(test_fail__accepts_no_error_at_all),
		cmocka_unit_test(test_fail__lets_no_control_character_through),
		cmocka_unit_test(test_fail__lets_nothing_through_that_is_not_printable_utf8),
		cmocka_unit_test(test_fail__cuts_a_long_message_at_a_character),
		cmocka_unit_test(test_fail_errno__chooses_the_code_and_says_why),
		cmocka_unit_test(test_fail_errno__survives_a_number_that_is_none),
		cmocka_unit_test(test_fail_errno__has_room_after_a_message_that_fills_it),
		cmocka_unit_test(test_fail_context__puts_words_before_the_message),
		cmocka_unit_test(test_fail_context__cuts_a_long_message_at_a_character),
		cmocka_unit_test(test_error_class__sorts_every_code),
	};
	return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
