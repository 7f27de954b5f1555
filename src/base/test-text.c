/* Text: UTF-8 against a second decoder, ids, what is shown, columns against the C library. */
#include "base/test-support.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "base/text.h"
#include "base/utf8.h"

/* ---- UTF-8 ---- */

/* The definition read backwards: decode loosely, encode again, and compare. */
static size_t second_decoder(const unsigned char *p, size_t left)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
	if (length == 0 || length > left)
		return 0;
	uint32_t code = length == 1 ? p[0] : p[0] & (0xffu >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		code = code * 64 + p[i] % 64;
	}
	return code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

static size_t second_error_offset(struct rec_slice text)
{
	size_t i = 0, step = 1;
	while (i < text.length && step) {
		step = second_decoder((const unsigned char *)text.data + i, text.length - i);
		i += step;
	}
	return i;
}

static void test_utf8__every_sequence_of_up_to_three_bytes(void **state)
{
	(void)state;
	char bytes[3];
	for (uint32_t n = 0; n < 1u << 24; n++) {
		bytes[0] = (char)(n >> 16);
		bytes[1] = (char)(n >> 8);
		bytes[2] = (char)n;
		struct rec_slice text = {bytes, 3};
		if (rec_utf8_error_offset(text) != second_error_offset(text))
			fail_msg("%02x %02x %02x", n >> 16, n >> 8 & 255, n & 255);
		if ((n & 0xff) == 0) {
			text.length = 2;
			assert_int_equal(rec_utf8_error_offset(text), second_error_offset(text));
		}
	}
}

/* The interesting values of each byte, in all combinations, at all distances from a word's beginning. */
static void test_utf8__four_bytes_behind_ascii(void **state)
{
	(void)state;
	static const unsigned char leads[] = {0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff},
				   others[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
	char bytes[48];
	for (size_t before = 0; before < 40; before++)
		for (size_t n = 0; n < sizeof leads * 1000; n++) {
			memset(bytes, 'a', sizeof bytes);
			bytes[before] = (char)leads[n / 1000];
			bytes[before + 1] = (char)others[n / 100 % 10];
			bytes[before + 2] = (char)others[n / 10 % 10];
			bytes[before + 3] = (char)others[n % 10];
			for (size_t length = before + 1; length <= before + 5; length++) {
				struct rec_slice text = {bytes, length};
				size_t wanted = second_error_offset(text);
				if (rec_utf8_error_offset(text) != wanted || rec_utf8_valid(text) != (wanted == length))
					fail_msg("before %zu n %zu length %zu", before, n, length);
			}
		}
}

static void test_utf8__empty_text_is_valid(void **state)
{
	(void)state;
	assert_true(rec_utf8_valid((struct rec_slice){NULL, 0}));
	assert_int_equal(rec_utf8_error_offset((struct rec_slice){NULL, 0}), 0);
}

static void test_utf8_step__measures_what_is_wrong(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		int step;
		bool truncated;
	} cases[] = {
		{"a", 1, false},         {"\xc3\xa9", 2, false},   {"\xc3", -1, true},
		{"\xe2\x82", -2, true},  {"\xe2", -1, true},       {"\xf0\x9f\x98", -3, true},
		{"\xf0\x9f", -2, true},  {"\xe2\x82z", -2, false}, {"\xf0\x9f\x98z", -3, false},
		{"\xed\xa0", -1, false}, {"\xe0\x80", -1, false},  {"\xf4\x90", -1, false},
		{"\x80", -1, false},     {"\xff", -1, false},      {"\xc0\x80", -1, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t length = strlen(cases[i].bytes);
		int step = rec_utf8_step((const unsigned char *)cases[i].bytes, length);
		assert_int_equal(step, cases[i].step);
		if (step < 0)
			assert_int_equal(rec_utf8_truncated((const unsigned char *)cases[i].bytes, length, step),
					 cases[i].truncated);
	}
}

/* ---- Ids ---- */

static void test_id__any_script_and_punctuation_is_legal(void **state)
{
	(void)state;
	static const char *const ids[] = {"t1",     " ",      "a/b", "../../outside", ".",   "\"'`$(x)%n{{}}",
					  "задача", "日本語", "😀",   "\xc2\xa0",      "a\\b"};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		assert_null(rec_id_problem(rec_slice_of(ids[i])));
}

static void test_id__what_is_wrong_is_said(void **state)
{
	(void)state;
	char text[257];
	memset(text, 'x', sizeof text);
	assert_string_equal(rec_id_problem((struct rec_slice){NULL, 0}), "is empty");
	assert_null(rec_id_problem((struct rec_slice){text, 255}));
	assert_string_equal(rec_id_problem((struct rec_slice){text, 256}), "is longer than 255 bytes");
	assert_string_equal(rec_id_problem(rec_slice_of("a\xff")), "is not UTF-8");
	assert_string_equal(rec_id_problem(rec_slice_of("\xc2")), "is not UTF-8");
	assert_string_equal(rec_id_problem(rec_slice_of("\xed\xa0\x80")), "is not UTF-8");
}

/* The fast way looks at eight bytes at once: every byte at every place of every length. */
static void test_id__a_control_character_is_found_wherever_it_stands(void **state)
{
	(void)state;
	for (size_t length = 1; length <= 40; length++)
		for (size_t at = 0; at < length; at++)
			for (int c = 0; c < 0x100; c++) {
				char text[40];
				memset(text, c & 1 ? '~' : ' ', sizeof text);
				text[at] = (char)c;
				const char *problem = rec_id_problem((struct rec_slice){text, length});
				bool wrong = c < 0x20 || c >= 0x7f;
				if ((problem != NULL) != wrong)
					fail_msg("length %zu at %zu byte %02x", length, at, (unsigned)c);
			}
}

static void test_id__no_control_character(void **state)
{
	(void)state;
	for (int c = 0; c < 0x80; c++) {
		char text[3] = {'a', (char)c, 'b'};
		const char *problem = rec_id_problem((struct rec_slice){text, 3});
		assert_int_equal(problem != NULL, c < 0x20 || c == 0x7f);
		if (problem)
			assert_string_equal(problem, "holds a control character");
	}
	for (int c = 0x80; c < 0xc0; c++) {
		char text[2] = {'\xc2', (char)c}, other[2] = {'\xc3', (char)c};
		assert_int_equal(rec_id_problem((struct rec_slice){text, 2}) != NULL, c < 0xa0);
		assert_null(rec_id_problem((struct rec_slice){other, 2}));
	}
}

/* ---- Showing ---- */

static void assert_shown(struct rec_slice text, size_t bytes_max, const char *wanted)
{
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 1000);
	assert_int_equal(rec_text_show(&b, text, bytes_max), 0);
	assert_slice_equal(rec_buffer_slice(&b), wanted);
	rec_buffer_release(&b);
}

static void test_text_show__sound_text_as_it_is(void **state)
{
	(void)state;
	assert_shown(rec_slice_of("plain \"text\" \\ żółw 日本 😀"), 100, "plain \"text\" \\ żółw 日本 😀");
	assert_shown((struct rec_slice){NULL, 0}, 100, "");
}

static void test_text_show__control_characters_and_bad_bytes_in_hexadecimal(void **state)
{
	(void)state;
	assert_shown(slice_of_array("a\0b\n\x1b[2J\x7f"), 100, "a\\x00b\\x0a\\x1b[2J\\x7f");
	assert_shown(rec_slice_of("\xc2\x85 \xff \xe2\x82 \xed\xa0\x80"), 100,
		     "\\xc2\\x85 \\xff \\xe2\\x82 \\xed\\xa0\\x80");
}

static void test_text_show__nothing_that_turns_the_line_around(void **state)
{
	(void)state;
	assert_shown(rec_slice_of("a\u2028b\u2029"), 100, "a\\xe2\\x80\\xa8b\\xe2\\x80\\xa9");
	assert_shown(rec_slice_of("\u202eevil\u202c\u2066\u2069"), 100,
		     "\\xe2\\x80\\xaeevil\\xe2\\x80\\xac\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
	assert_shown(rec_slice_of("\u200d\u202f\u2065\u206a"), 100, "\u200d\u202f\u2065\u206a");
}

static void test_text_show__cuts_at_a_character(void **state)
{
	(void)state;
	assert_shown(rec_slice_of("abcdefgh"), 8, "abcdefgh");
	assert_shown(rec_slice_of("abcdefghi"), 8, "abcde...");
	assert_shown(rec_slice_of("żółwżółw"), 9, "żół...");
	assert_shown(rec_slice_of("żółwżółw"), 8, "żó...");
	assert_shown(rec_slice_of("ab\x01zzzz"), 8, "ab...");
	assert_shown(rec_slice_of("abc"), 0, "");
	assert_shown(rec_slice_of("abc"), 2, "..");
}

static void test_text_show__appends_and_reports_a_full_buffer(void **state)
{
	(void)state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 8);
	assert_int_equal(rec_text_show(&b, rec_slice_of("abcd"), 100), 0);
	assert_int_equal(rec_text_show(&b, rec_slice_of("efgh"), 100), 0);
	assert_slice_equal(rec_buffer_slice(&b), "abcdefgh");
	assert_int_equal(rec_text_show(&b, rec_slice_of("i"), 100), REC_E_LIMIT);
	rec_buffer_release(&b);
}

static void test_text_shown__fills_an_array_and_no_more(void **state)
{
	(void)state;
	for (size_t capacity = 16; capacity < 40; capacity++) {
		char out[41];
		memset(out, '#', sizeof out);
		assert_ptr_equal(rec_text_shown(out, capacity, rec_slice_of("0123456789\x01żółwżółwżółw")), out);
		assert_true(strlen(out) < capacity);
		assert_true(strlen(out) + 5 > capacity || strlen(out) == 32);
		assert_int_equal(out[capacity], '#');
		assert_true(rec_utf8_valid(rec_slice_of(out)));
	}
}

/* ---- Columns ---- */

static size_t fitting(const char *text, size_t columns)
{
	return rec_text_fitting(rec_slice_of(text), columns).length;
}

static void test_text_fitting__cuts_at_a_character(void **state)
{
	(void)state;
	assert_int_equal(fitting("", 0), 0);
	assert_int_equal(fitting("abc", 0), 0);
	assert_int_equal(fitting("abc", 2), 2);
	assert_int_equal(fitting("abc", 3), 3);
	assert_int_equal(fitting("abc", SIZE_MAX), 3);
	assert_int_equal(fitting("日本語", 3), 3);
	assert_int_equal(fitting("日本語", 4), 6);
	assert_int_equal(fitting("e\u0301z", 1), 3); /* the accent goes with its letter */
	assert_int_equal(fitting("a\xff\xe2\x82z", 2), 2);
	assert_int_equal(fitting("a\xff\xe2\x82z", 3), 4);
}

static void test_text_columns__counts_wide_combining_and_bad(void **state)
{
	(void)state;
	assert_int_equal(rec_text_columns((struct rec_slice){NULL, 0}), 0);
	assert_int_equal(rec_text_columns(rec_slice_of("abc")), 3);
	assert_int_equal(rec_text_columns(rec_slice_of("żółw")), 4);
	assert_int_equal(rec_text_columns(rec_slice_of("日本語")), 6);
	assert_int_equal(rec_text_columns(rec_slice_of("😀")), 2);
	assert_int_equal(rec_text_columns(rec_slice_of("e\u0301")), 1);
	assert_int_equal(rec_text_columns(rec_slice_of("a\u200bb\n")), 2);
	assert_int_equal(rec_text_columns(rec_slice_of("a\xff\xe2\x82z")), 4);
}

/* Unicode versions differ between the tables and the C library, so a few characters may differ. */
static void test_text_columns__agrees_with_the_c_library(void **state)
{
	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	unsigned different = 0, compared = 0;
	for (uint32_t code = 0xa0; code < 0x40000; code++) {
		int wanted = wcwidth((wchar_t)code);
		if (wanted < 0 || (code >= 0xd800 && code < 0xe000))
			continue;
		char text[5] = "";
		mbstate_t shift = {0};
		size_t length = wcrtomb(text, (wchar_t)code, &shift);
		different += rec_text_columns((struct rec_slice){text, length}) != (size_t)wanted;
		compared++;
	}
	assert_true(compared > 100000);
	if (different > compared / 500)
		fail_msg("%u of %u differ", different, compared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_utf8__every_sequence_of_up_to_three_bytes),
		cmocka_unit_test(test_utf8__four_bytes_behind_ascii),
		cmocka_unit_test(test_utf8__empty_text_is_valid),
		cmocka_unit_test(test_utf8_step__measures_what_is_wrong),
		cmocka_unit_test(test_id__any_script_and_punctuation_is_legal),
		cmocka_unit_test(test_id__what_is_wrong_is_said),
		cmocka_unit_test(test_id__a_control_character_is_found_wherever_it_stands),
		cmocka_unit_test(test_id__no_control_character),
		cmocka_unit_test(test_text_show__sound_text_as_it_is),
		cmocka_unit_test(test_text_show__control_characters_and_bad_bytes_in_hexadecimal),
		cmocka_unit_test(test_text_show__nothing_that_turns_the_line_around),
		cmocka_unit_test(test_text_show__cuts_at_a_character),
		cmocka_unit_test(test_text_show__appends_and_reports_a_full_buffer),
		cmocka_unit_test(test_text_shown__fills_an_array_and_no_more),
		cmocka_unit_test(test_text_columns__counts_wide_combining_and_bad),
		cmocka_unit_test(test_text_fitting__cuts_at_a_character),
		cmocka_unit_test(test_text_columns__agrees_with_the_c_library),
	};
	return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
