/* Numbers as values, strings as JSON. */
#include "base/test-support.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json.h"

static void test_json_int64__reads_exact_values(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {{"0", 0},
		     {"-0", 0},
		     {"42", 42},
		     {"-1", -1},
		     {"9223372036854775807", INT64_MAX},
		     {"-9223372036854775808", INT64_MIN}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t value = 77;
		assert_int_equal(rec_json_int64(rec_slice_of(cases[i].text), &value), 0);
		assert_int_equal(value, cases[i].value);
	}
}

static void test_json_int64__refuses_what_is_no_int64(void **state)
{
	(void)state;
	static const char *const cases[] = {"",
					    "-",
					    "1.0",
					    "1e3",
					    "1E0",
					    "9223372036854775808",
					    "-9223372036854775809",
					    "99999999999999999999999",
					    "+1",
					    " 1",
					    "1 ",
					    "--1",
					    "0x1"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t value = 77;
		assert_int_equal(rec_json_int64(rec_slice_of(cases[i]), &value), REC_E_INVALID);
		assert_int_equal(value, 77);
	}
}

static void assert_written(struct rec_slice text, const char *wanted)
{
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 1000);
	assert_int_equal(rec_json_write_string(&b, text), 0);
	assert_slice_equal(rec_buffer_slice(&b), wanted);
	rec_buffer_release(&b);
}

static void test_json_write_string__keeps_utf8_and_escapes_what_must_be(void **state)
{
	(void)state;
	assert_written((struct rec_slice){NULL, 0}, "\"\"");
	assert_written(rec_slice_of("plain"), "\"plain\"");
	assert_written(rec_slice_of("zażółć 日本 😀"), "\"zażółć 日本 😀\"");
	assert_written(rec_slice_of("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
	assert_written(rec_slice_of("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"");
	assert_written(slice_of_array("\0\x01\x1f"), "\"\\u0000\\u0001\\u001f\"");
	assert_written(rec_slice_of("\x7f\xc2\x80\xc2\x9f\xc2\xa0"), "\"\\u007f\\u0080\\u009f\xc2\xa0\"");
}

static void test_json_write_string__bad_bytes_become_replacement_characters(void **state)
{
	(void)state;
	assert_written(rec_slice_of("a\xff"
				    "b"),
		       "\"a\xef\xbf\xbd"
		       "b\"");
	assert_written(rec_slice_of("\xe2\x82"), "\"\xef\xbf\xbd\"");
	assert_written(rec_slice_of("\xe2\x82z"), "\"\xef\xbf\xbdz\"");
	assert_written(rec_slice_of("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_written(rec_slice_of("\xc3"), "\"\xef\xbf\xbd\"");
}

/* Eight bytes are looked at at once: every byte at every place of every length. */
static void test_json_write_string__an_escape_wherever_it_stands(void **state)
{
	(void)state;
	for (size_t length = 1; length <= 24; length++)
		for (size_t at = 0; at < length; at++)
			for (int c = 0; c < 0x100; c++) {
				char text[24], wanted[64], one[16];
				struct rec_buffer b;
				memset(text, c & 1 ? '~' : ' ', sizeof text);
				text[at] = (char)c;
				if (c == '"' || c == '\\')
					snprintf(one, sizeof one, "\\%c", c);
				else if (c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t')
					snprintf(one, sizeof one, "\\%c", "btn?fr"[c - '\b']);
				else if (c < 0x20 || c == 0x7f)
					snprintf(one, sizeof one, "\\u%04x", (unsigned)c);
				else
					snprintf(one, sizeof one, c < 0x80 ? "%c" : "\xef\xbf\xbd", c);
				snprintf(wanted, sizeof wanted, "\"%.*s%s%.*s\"", (int)at, text, one,
					 (int)(length - at - 1), text + at + 1);
				rec_buffer_init(&b, NULL, 1000);
				assert_int_equal(rec_json_write_string(&b, (struct rec_slice){text, length}), 0);
				assert_slice_equal(rec_buffer_slice(&b), wanted);
				rec_buffer_release(&b);
			}
}

static void test_json_write_string__a_full_buffer_is_reported(void **state)
{
	(void)state;
	for (size_t maximum = 0; maximum < 20; maximum++) {
		struct rec_buffer b;
		rec_buffer_init(&b, NULL, maximum);
		int wanted = maximum < strlen("\"abc\\n\\u0001\"") ? REC_E_LIMIT : 0;
		assert_int_equal(rec_json_write_string(&b, rec_slice_of("abc\n\x01")), wanted);
		rec_buffer_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_int64__reads_exact_values),
		cmocka_unit_test(test_json_int64__refuses_what_is_no_int64),
		cmocka_unit_test(test_json_write_string__keeps_utf8_and_escapes_what_must_be),
		cmocka_unit_test(test_json_write_string__bad_bytes_become_replacement_characters),
		cmocka_unit_test(test_json_write_string__an_escape_wherever_it_stands),
		cmocka_unit_test(test_json_write_string__a_full_buffer_is_reported),
	};
	return cmocka_run_group_tests_name("base/json-write", tests, NULL, NULL);
}
