/* The JSON reader: tokens, places, messages, limits, cuts. What is JSON at all: test-json-oracle.c. */
#include "base/test-support.h"

#include <stdio.h>

#include "base/test-json-support.h"

static void assert_reads(const char *document, const char *transcript)
{
	struct rec_slice slice = rec_slice_of(document);
	for (size_t cut = 0; cut <= slice.length + 1; cut++) {
		struct rec_buffer b;
		rec_buffer_init(&b, NULL, SIZE_MAX);
		struct test_cut how = cut == 0             ? test_whole
				      : cut > slice.length ? test_bytewise
							   : (struct test_cut){cut, 0};
		test_json_transcript(NULL, slice, how, 1000, &b);
		assert_slice_equal(rec_buffer_slice(&b), transcript);
		rec_buffer_release(&b);
	}
}

/* The document is refused with this message. */
static void assert_refused(struct rec_slice document, int code, const char *message)
{
	for (size_t cut = 0; cut <= document.length + 1; cut++) {
		struct rec_buffer b;
		char wanted[512];
		rec_buffer_init(&b, NULL, SIZE_MAX);
		struct test_cut how = cut == 0                ? test_whole
				      : cut > document.length ? test_bytewise
							      : (struct test_cut){cut, 0};
		assert_int_equal(test_json_transcript(NULL, document, how, 30, &b), code);
		rec_buffer_add(&b, "", 1);
		snprintf(wanted, sizeof wanted, "= %d %s\n", code, message);
		char *last = strrchr(b.data, '=');
		assert_non_null(last);
		assert_string_equal(strstr(b.data, wanted) ? wanted : last, wanted);
		rec_buffer_release(&b);
	}
}

static void assert_invalid(const char *document, const char *message)
{
	assert_refused(rec_slice_of(document), REC_E_INVALID, message);
}

static void test_json__all_tokens_with_depth_and_offset(void **state)
{
	(void)state;
	assert_reads("{\"a\":[1,-2.5e+3,true,false,null,\"x\"],\"b\":{}}", "0 0 0 0:\n"
									   "4 1 1 1:a\n"
									   "2 1 5 0:\n"
									   "6 2 6 1:1\n"
									   "6 2 8 7:-2.5e+3\n"
									   "7 2 16 0:\n"
									   "8 2 21 0:\n"
									   "9 2 27 0:\n"
									   "5 2 32 1:x\n"
									   "3 1 35 0:\n"
									   "4 1 37 1:b\n"
									   "0 1 41 0:\n"
									   "1 1 42 0:\n"
									   "1 0 43 0:\n"
									   "10 0 44 0:\n"
									   "= 6 \n");
}

static void test_json__nothing_is_no_document(void **state)
{
	(void)state;
	assert_reads("", "= 6 \n");
	assert_reads(" \r\n\t ", "= 6 \n");
}

static void test_json__documents_follow_each_other(void **state)
{
	(void)state;
	assert_reads("{}\n{}\n", "0 0 0 0:\n1 0 1 0:\n10 0 2 0:\n0 0 3 0:\n1 0 4 0:\n10 0 5 0:\n= 6 \n");
	assert_reads("1 2", "6 0 0 1:1\n10 0 1 0:\n6 0 2 1:2\n10 0 3 0:\n= 6 \n");
	assert_reads("[]\"a\"{}", "2 0 0 0:\n3 0 1 0:\n10 0 2 0:\n5 0 2 1:a\n10 0 5 0:\n0 0 5 0:\n1 0 6 0:\n"
				  "10 0 7 0:\n= 6 \n");
	assert_reads("true\nnull", "7 0 0 0:\n10 0 4 0:\n9 0 5 0:\n10 0 9 0:\n= 6 \n");
}

static void test_json__numbers_and_literals_stand_apart(void **state)
{
	(void)state;
	assert_invalid("truefalse", "line 1, column 5 (byte 4): expected white space between two documents, found 'f'");
	assert_invalid("1\"a\"", "line 1, column 2 (byte 1): expected white space between two documents, found '\"'");
	assert_invalid("1x", "line 1, column 2 (byte 1): expected white space between two documents, found 'x'");
}

static void test_json__escapes_are_resolved(void **state)
{
	(void)state;
	assert_reads("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "5 0 0 8:\"\\/\b\f\n\r\t\n10 0 18 0:\n= 6 \n");
	assert_reads("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\\uFFFF\"",
		     "5 0 0 13:A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf\n10 0 38 0:\n= 6 \n");
	assert_reads("{\"a\\tb\":\"c\\nd\\u0001\"}",
		     "0 0 0 0:\n4 1 1 3:a\tb\n5 1 8 4:c\nd\x01\n1 0 20 0:\n10 0 21 0:\n= 6 \n");
	assert_reads("\"plain text in front, then \\u00df and more plain text behind\"",
		     "5 0 0 55:plain text in front, then \xc3\x9f and more plain text behind\n10 0 61 0:\n= 6 \n");
}

static void test_json__faults_name_line_column_and_byte(void **state)
{
	(void)state;
	assert_invalid("{\"uuid\": \"READY\",\n \"b\":\n   x}",
		       "line 3, column 4 (byte 27): expected a value, found 'x'");
	assert_invalid("{\"a\":1\n,\"b\":2\nx", "line 3, column 1 (byte 14): expected ',' or '}', found 'x'");
	assert_invalid("[1 2]", "line 1, column 4 (byte 3): expected ',' or ']', found '2'");
	assert_invalid("{\"a\" 1}", "line 1, column 6 (byte 5): expected ':', found '1'");
	assert_invalid("{,}", "line 1, column 2 (byte 1): expected a key in double quotes or '}', found ','");
	assert_invalid("{\"a\":1,}", "line 1, column 8 (byte 7): expected a key in double quotes, found '}'");
	assert_invalid("[,]", "line 1, column 2 (byte 1): expected a value or ']', found ','");
	assert_invalid("[1,]", "line 1, column 4 (byte 3): expected a value, found ']'");
	assert_invalid("]", "line 1, column 1 (byte 0): expected a JSON value, found ']'");
	assert_invalid("{]", "line 1, column 2 (byte 1): expected a key in double quotes or '}', found ']'");
	assert_invalid("[}", "line 1, column 2 (byte 1): expected a value or ']', found '}'");
	assert_invalid("[1}", "line 1, column 3 (byte 2): expected ',' or ']', found '}'");
	assert_invalid("{a:1}", "line 1, column 2 (byte 1): expected a key in double quotes or '}', found 'a'");
	assert_invalid("{'a':1}", "line 1, column 2 (byte 1): expected a key in double quotes or '}', found '''");
	assert_invalid("// x", "line 1, column 1 (byte 0): expected a JSON value, found '/'");
	assert_invalid("[NaN]", "line 1, column 2 (byte 1): expected a value or ']', found 'N'");
	assert_invalid("nul", "line 1, column 4 (byte 3): expected null, found the end of the input");
	assert_invalid("[trve]", "line 1, column 4 (byte 3): expected true, found 'v'");
}

static void test_json__what_was_found_is_a_whole_character(void **state)
{
	(void)state;
	assert_invalid("{\u201ca\u201d:1}",
		       "line 1, column 2 (byte 1): expected a key in double quotes or '}', found '\u201c'");
	assert_invalid("[\xe2\x82", "line 1, column 2 (byte 1): expected a value or ']', found byte 0xe2");
	assert_invalid("[\xff", "line 1, column 2 (byte 1): expected a value or ']', found byte 0xff");
	assert_invalid("[\x01", "line 1, column 2 (byte 1): expected a value or ']', found byte 0x01");
	assert_invalid("[\x7f", "line 1, column 2 (byte 1): expected a value or ']', found byte 0x7f");
	assert_refused(slice_of_array("[\0]"), REC_E_INVALID,
		       "line 1, column 2 (byte 1): expected a value or ']', found byte 0x00");
	assert_invalid("[\u2029]", "line 1, column 2 (byte 1): expected a value or ']', found '\\xe2\\x80\\xa9'");
}

static void test_json__an_input_that_ends_too_early(void **state)
{
	(void)state;
	assert_invalid("{", "line 1, column 2 (byte 1): expected a key in double quotes or '}', found the end of the "
			    "input");
	assert_invalid("{\"a\":1", "line 1, column 7 (byte 6): expected ',' or '}', found the end of the input");
	assert_invalid("{\"a\"", "line 1, column 5 (byte 4): expected ':', found the end of the input");
	assert_invalid("[1,\n", "line 2, column 1 (byte 4): expected a value, found the end of the input");
	assert_invalid("[\"abc", "line 1, column 2 (byte 1): this string is not closed before the end of the input");
	assert_invalid("[\"abc\\", "line 1, column 2 (byte 1): this string is not closed before the end of the input");
	assert_invalid("[\"abc\\u00",
		       "line 1, column 2 (byte 1): this string is not closed before the end of the input");
	assert_invalid("[\"abc\xe2\x82",
		       "line 1, column 2 (byte 1): this string is not closed before the end of the input");
	assert_invalid("-", "line 1, column 2 (byte 1): expected a digit after '-', found the end of the input");
}

static void test_json__faults_inside_strings(void **state)
{
	(void)state;
	assert_invalid("[\"ab\ncd\"]",
		       "line 1, column 5 (byte 4): expected '\"' (a control character in a string must be "
		       "escaped), found byte 0x0a");
	assert_invalid("\"a\\x\"",
		       "line 1, column 4 (byte 3): expected one of \"\\/bfnrtu after the backslash, found 'x'");
	assert_refused(slice_of_array("\"\\\0\""), REC_E_INVALID,
		       "line 1, column 3 (byte 2): expected one of \"\\/bfnrtu after the backslash, found byte 0x00");
	assert_invalid("\"\\u12G4\"",
		       "line 1, column 6 (byte 5): expected four hexadecimal digits after \\u, found 'G'");
	assert_invalid("\"\\ud800\\u12\"",
		       "line 1, column 12 (byte 11): expected four hexadecimal digits after \\u, found '\"'");
	assert_invalid("\"a\\u0000\"", "line 1, column 3 (byte 2): \\u0000 is refused");
	assert_invalid("\"\\ud800\"", "line 1, column 2 (byte 1): half a surrogate pair");
	assert_invalid("\"\\ud800\\n\"", "line 1, column 2 (byte 1): half a surrogate pair");
	assert_invalid("\"\\ud800\\ud800\"", "line 1, column 2 (byte 1): half a surrogate pair");
	assert_invalid("\"\\udc00\"", "line 1, column 2 (byte 1): half a surrogate pair");
	assert_invalid("\"abc\xff\"", "line 1, column 5 (byte 4): not UTF-8");
	assert_invalid("\"abc\xed\xa0\x80\"", "line 1, column 5 (byte 4): not UTF-8");
	assert_invalid("{\"\xc0\x80\":1}", "line 1, column 3 (byte 2): not UTF-8");
}

static void test_json__faults_inside_numbers(void **state)
{
	(void)state;
	assert_invalid("[01]", "line 1, column 3 (byte 2): expected no digit after a leading 0, found '1'");
	assert_invalid("[00]", "line 1, column 3 (byte 2): expected no digit after a leading 0, found '0'");
	assert_invalid("[-09]", "line 1, column 4 (byte 3): expected no digit after a leading 0, found '9'");
	assert_invalid("[0/]", "line 1, column 3 (byte 2): expected ',' or ']', found '/'");
	assert_invalid("[0:]", "line 1, column 3 (byte 2): expected ',' or ']', found ':'");
	assert_invalid("[-x]", "line 1, column 3 (byte 2): expected a digit after '-', found 'x'");
	assert_invalid("[1.]", "line 1, column 4 (byte 3): expected a digit after the decimal point, found ']'");
	assert_invalid("[1e]", "line 1, column 4 (byte 3): expected the digits of an exponent, found ']'");
	assert_invalid("[1e+]", "line 1, column 5 (byte 4): expected the digits of an exponent, found ']'");
	assert_invalid("[+1]", "line 1, column 2 (byte 1): expected a value or ']', found '+'");
	assert_invalid("[.5]", "line 1, column 2 (byte 1): expected a value or ']', found '.'");
	assert_invalid("[1.5.5]", "line 1, column 5 (byte 4): expected ',' or ']', found '.'");
}

static void test_json__a_byte_order_mark_is_named(void **state)
{
	(void)state;
	assert_invalid("\xef\xbb\xbf{}",
		       "line 1, column 1 (byte 0): a byte order mark is not JSON (save the text as UTF-8 "
		       "without it)");
	assert_invalid("\xef", "line 1, column 1 (byte 0): expected a JSON value, found byte 0xef");
	assert_invalid("\xff\xfe{", "line 1, column 1 (byte 0): expected a JSON value, found byte 0xff");
}

static void test_json__depth_is_limited(void **state)
{
	(void)state;
	char document[2 * REC_JSON_DEPTH_MAX + 3] = "";
	memset(document, '[', REC_JSON_DEPTH_MAX);
	memset(document + REC_JSON_DEPTH_MAX, ']', REC_JSON_DEPTH_MAX);
	int code;
	json_t *value = test_json_value(rec_slice_of(document), test_whole, &code);
	assert_non_null(value);
	json_decref(value);
	memset(document, '[', REC_JSON_DEPTH_MAX + 1);
	assert_refused(rec_slice_of(document), REC_E_LIMIT,
		       "line 1, column 65 (byte 64): nested deeper than 64 levels");
}

static void test_json__tokens_are_limited(void **state)
{
	(void)state;
	assert_refused(rec_slice_of("[\"123456789012345678901234567890\", \"1234567890123456789012345678901\"]"),
		       REC_E_LIMIT, "line 1, column 36 (byte 35): this string is longer than 30 bytes");
	assert_refused(rec_slice_of("{\"1234567890123456789012345678901\":1}"), REC_E_LIMIT,
		       "line 1, column 2 (byte 1): this key is longer than 30 bytes");
	assert_refused(rec_slice_of("[123456789012345678901234567890,1234567890123456789012345678901]"), REC_E_LIMIT,
		       "line 1, column 33 (byte 32): this number is longer than 30 bytes");
	/* whatever else is wrong beyond the limit is not looked at */
	assert_refused(rec_slice_of("\"123456789012345678901234567890x\xff"), REC_E_LIMIT,
		       "line 1, column 1 (byte 0): this string is longer than 30 bytes");
	assert_refused(rec_slice_of("\"123456789012345678901234567890\xff"), REC_E_INVALID,
		       "line 1, column 32 (byte 31): not UTF-8");
}

static void test_json__the_same_call_gives_the_same_error(void **state)
{
	(void)state;
	static const char *const documents[] = {"[\"abc\\n\xff\"", "[1.]", "[\n x", "[trux", "\"\\ud800\"", "{\"a\""};
	for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
		struct rec_json_reader r;
		struct rec_json_token token;
		struct rec_error first = {0}, second = {0};
		size_t at = 0;
		int result;
		rec_json_init(&r, NULL, 1000);
		do
			result = test_json_next(&r, rec_slice_of(documents[i]), test_bytewise, &at, &token, &first);
		while (result == 0);
		assert_int_equal(result, REC_E_INVALID);
		assert_int_equal(rec_json_next(&r, &token, &second), REC_E_INVALID);
		assert_string_equal(first.message, second.message);
		rec_json_release(&r);
	}
}

static void test_json__text_stays_until_the_next_call(void **state)
{
	(void)state;
	struct rec_json_reader r;
	struct rec_json_token token;
	size_t at = 0;
	rec_json_init(&r, NULL, 1000);
	assert_int_equal(test_json_next(&r, rec_slice_of("[\"a\\nb\", 1]"), test_whole, &at, &token, NULL), 0);
	assert_int_equal(test_json_next(&r, rec_slice_of("[\"a\\nb\", 1]"), test_whole, &at, &token, NULL), 0);
	assert_int_equal(token.type, REC_JSON_STRING);
	assert_slice_equal(token.text, "a\nb");
	rec_json_release(&r);
}

static void test_json_place__an_earlier_line_has_only_its_byte(void **state)
{
	(void)state;
	struct rec_json_reader r;
	struct rec_json_token token;
	size_t at = 0;
	char place[80], tiny[5];
	const struct rec_slice document = rec_slice_of("{\"a\":\n\"b\"}");
	rec_json_init(&r, NULL, 1000);
	for (int i = 0; i < 2; i++)
		assert_int_equal(test_json_next(&r, document, test_whole, &at, &token, NULL), 0);
	uint64_t key = token.offset;
	rec_json_place(&r, key, place, sizeof place);
	assert_string_equal(place, "line 1, column 2 (byte 1)");
	assert_int_equal(test_json_next(&r, document, test_whole, &at, &token, NULL), 0);
	rec_json_place(&r, token.offset, place, sizeof place);
	assert_string_equal(place, "line 2, column 1 (byte 6)");
	rec_json_place(&r, key, place, sizeof place);
	assert_string_equal(place, "byte 1");
	rec_json_place(&r, key, tiny, sizeof tiny);
	assert_string_equal(tiny, "byte");
	rec_json_release(&r);
}

/* Of an unfinished token at most an unfinished escape or character is looked at again. */
static void test_json__a_long_token_in_small_pieces_is_scanned_once(void **state)
{
	(void)state;
	static const struct {
		const char *beginning;
		char goes_on;
	} cases[] = {{"[\"", 'x'}, {"[\"\\u00e9 ", 'x'}, {"{\"", 'x'}, {"\"\xc3\xa9", 'x'},
		     {"[", '7'},   {"[-", '7'},          {"[0.", '7'}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rec_json_reader r;
		struct rec_json_token token;
		size_t length = strlen(cases[i].beginning);
		rec_json_init(&r, NULL, 100000);
		memcpy(rec_json_space(&r, length), cases[i].beginning, length);
		rec_json_added(&r, length);
		int result;
		do
			result = rec_json_next(&r, &token, NULL);
		while (result == 0);
		for (int piece = 0; piece < 1000; piece++) {
			assert_int_equal(result, REC_JSON_NEED_MORE);
			assert_int_equal(r.scanned, r.window.length - r.position);
			memset(rec_json_space(&r, 10), cases[i].goes_on, 10);
			rec_json_added(&r, 10);
			result = rec_json_next(&r, &token, NULL);
		}
		rec_json_release(&r);
	}
}

static void test_json__a_long_token_needs_no_more_than_its_length(void **state)
{
	(void)state;
	enum { LENGTH = 4 << 20, PIECE = 1024 };
	struct rec_buffer document;
	rec_buffer_init(&document, NULL, SIZE_MAX);
	rec_buffer_add_text(&document, "[\"");
	memset(rec_buffer_space(&document, LENGTH), 'x', LENGTH);
	rec_buffer_added(&document, LENGTH);
	rec_buffer_add_text(&document, "\",");
	memset(rec_buffer_space(&document, LENGTH), '7', LENGTH);
	rec_buffer_added(&document, LENGTH);
	rec_buffer_add_text(&document, "]");
	struct rec_json_reader r;
	struct rec_json_token token;
	size_t at = 0;
	rec_json_init(&r, NULL, LENGTH);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			test_json_next(&r, rec_buffer_slice(&document), (struct test_cut){0, PIECE}, &at, &token, NULL),
			0);
		assert_int_equal(token.text.length, i == 0 ? 0 : LENGTH);
	}
	assert_true(r.window.capacity <= 4 * (size_t)LENGTH);
	rec_json_release(&r);
	rec_buffer_release(&document);
}

static void test_json__the_window_stays_small(void **state)
{
	(void)state;
	struct rec_buffer document;
	rec_buffer_init(&document, NULL, SIZE_MAX);
	for (int i = 0; i < 20000; i++)
		rec_buffer_printf(&document, "{\"task_id\":\"task-%d\",\"status\":\"READY\"}\n", i);
	struct rec_json_reader r;
	struct rec_json_token token;
	size_t at = 0, documents = 0;
	int result;
	rec_json_init(&r, NULL, 1000);
	while ((result = test_json_next(&r, rec_buffer_slice(&document), (struct test_cut){0, 4096}, &at, &token,
					NULL)) == 0)
		documents += token.type == REC_JSON_END_DOCUMENT;
	assert_int_equal(result, REC_END);
	assert_int_equal(documents, 20000);
	assert_true(r.window.capacity <= 8192);
	assert_int_equal(r.line, 20001);
	rec_json_release(&r);
	rec_buffer_release(&document);
}

static int json_scenario(const struct rec_allocator *a)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	char document[3000] = "[\"";
	memset(document + 2, 'x', sizeof document - 6);
	memcpy(document + sizeof document - 4, "\"]", 3);
	int r = test_json_transcript(a, rec_slice_of(document), (struct test_cut){0, 100}, 4000, &out);
	rec_buffer_release(&out);
	return r == REC_END ? 0 : r;
}

static void test_json__fails_cleanly_without_memory(void **state)
{
	(void)state;
	test_fail_every_allocation(json_scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json__all_tokens_with_depth_and_offset),
		cmocka_unit_test(test_json__nothing_is_no_document),
		cmocka_unit_test(test_json__documents_follow_each_other),
		cmocka_unit_test(test_json__numbers_and_literals_stand_apart),
		cmocka_unit_test(test_json__escapes_are_resolved),
		cmocka_unit_test(test_json__faults_name_line_column_and_byte),
		cmocka_unit_test(test_json__what_was_found_is_a_whole_character),
		cmocka_unit_test(test_json__an_input_that_ends_too_early),
		cmocka_unit_test(test_json__faults_inside_strings),
		cmocka_unit_test(test_json__faults_inside_numbers),
		cmocka_unit_test(test_json__a_byte_order_mark_is_named),
		cmocka_unit_test(test_json__depth_is_limited),
		cmocka_unit_test(test_json__tokens_are_limited),
		cmocka_unit_test(test_json__the_same_call_gives_the_same_error),
		cmocka_unit_test(test_json__text_stays_until_the_next_call),
		cmocka_unit_test(test_json_place__an_earlier_line_has_only_its_byte),
		cmocka_unit_test(test_json__a_long_token_in_small_pieces_is_scanned_once),
		cmocka_unit_test(test_json__a_long_token_needs_no_more_than_its_length),
		cmocka_unit_test(test_json__the_window_stays_small),
		cmocka_unit_test(test_json__fails_cleanly_without_memory),
	};
	return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
