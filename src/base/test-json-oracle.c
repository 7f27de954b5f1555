/* What is JSON and what it says: the reader against jansson, over documents written by hand and over what seeded
 * mutation makes of them; every document at every cut. */
#include "base/test-support.h"

#include <stdio.h>

#include "base/test-json-support.h"

static const char *const good[] = {
	"null",
	"true",
	"false",
	"0",
	"-0",
	"-0.0",
	"1",
	"-1",
	"123456789",
	"9223372036854775807",
	"-9223372036854775808",
	"1.5",
	"0.1e1",
	"1E5",
	"1e+5",
	"1e-5",
	"1.0000000000000000000000000000000001",
	"\"\"",
	"\"a\"",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
	"\"\\u0001\\u007f\\u0080\\u07ff\\u0800\\uffff\\uD7FF\\uE000\"",
	"\"\\ud800\\udc00\\udbff\\udfff\"",
	"\"zażółć gęślą jaźń, 日本語, 😀, \x7f\"",
	"\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
	"\"\u2028\u2029\ufeff\"",
	"[]",
	"{}",
	" [ ] ",
	"\t{\r\n}\n",
	"[1,2,3]",
	"[[[[[[[[[[]]]]]]]]]]",
	"[{},[],{},[{}]]",
	"{\"a\":1}",
	"{\"a\":1,\"a\":2,\"b\":3,\"a\":4}",
	"{\"\":0}",
	"{\"a\":{\"b\":{\"c\":[1,{\"d\":null}]}}}",
	"{\"\\u0061\\n\":\"\\u0062\"}",
	"{\"f81d4fae-7dec-41d0-a765-00a0c91e6bf6\":\"IN_PROGRESS\",\"00000000-0000-4000-8000-000000000000\":\"DONE\"}",
	"[ 1 , 2.5 , \"x\" , null , true , false , { \"k\" : [ ] } ]",
};

static const char *const bad[] = {
	"",
	" ",
	"nul",
	"nulll",
	"True",
	"NaN",
	"Infinity",
	"-Infinity",
	"undefined",
	"01",
	"-01",
	"00",
	"-",
	"+1",
	".5",
	"5.",
	"1.e5",
	"1e",
	"1e+",
	"1e5.5",
	"0x10",
	"1_000",
	"--1",
	"'a'",
	"\"",
	"\"a",
	"\"\\\"",
	"\"\\a\"",
	"\"\\'\"",
	"\"\\x41\"",
	"\"\\u\"",
	"\"\\u123\"",
	"\"\\u123g\"",
	"\"\\U0041\"",
	"\"\\u0000\"",
	"{\"\\u0000\":1}",
	"\"\\ud800\"",
	"\"\\ud800x\"",
	"\"\\ud800\\u0041\"",
	"\"\\udc00\"",
	"\"\\udc00\\ud800\"",
	"\"a\nb\"",
	"\"a\tb\"",
	"\"\x01\"",
	"\"\x80\"",
	"\"\xc0\x80\"",
	"\"\xc3\"",
	"\"\xe0\x80\x80\"",
	"\"\xed\xa0\x80\"",
	"\"\xf4\x90\x80\x80\"",
	"\"\xf8\x88\x80\x80\x80\"",
	"\"\xff\"",
	"\xef\xbb\xbf{}",
	"\xc2\xa0",
	"[",
	"]",
	"{",
	"}",
	"[1",
	"[1,",
	"[1,]",
	"[,1]",
	"[1 2]",
	"[1,,2]",
	"[1}",
	"{\"a\"",
	"{\"a\":",
	"{\"a\":1",
	"{\"a\":1,",
	"{\"a\":1,}",
	"{,\"a\":1}",
	"{\"a\" 1}",
	"{\"a\"::1}",
	"{\"a\":1 \"b\":2}",
	"{a:1}",
	"{1:1}",
	"{null:1}",
	"{\"a\":1]",
	"[]]",
	"{}}",
	"1 2",
	"{} {}",
	"[] x",
	"// c\n1",
	"/* c */1",
	"#\n1",
	"1;",
	"\x0b[]",
	"\x0c[]",
};

static struct rec_buffer transcript_of(struct rec_slice document, struct test_cut cut)
{
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, SIZE_MAX);
	test_json_transcript(NULL, document, cut, 1 << 20, &b);
	return b;
}

static void assert_agrees(struct rec_slice document, struct test_cut cut)
{
	const char *problem = test_json_disagreement(document, cut);
	if (problem)
		fail_msg("%s: %.*s", problem, (int)document.length, document.data);
}

static void assert_same_at_every_cut(struct rec_slice document)
{
	struct rec_buffer whole = transcript_of(document, test_whole);
	for (size_t cut = 1; cut <= document.length; cut++) {
		struct test_cut how = cut < document.length ? (struct test_cut){cut, 0} : test_bytewise;
		struct rec_buffer other = transcript_of(document, how);
		if (!rec_slice_equal(rec_buffer_slice(&whole), rec_buffer_slice(&other)))
			fail_msg("cut at %zu: %s\ninstead of %s\nfor %.*s", cut, other.data, whole.data,
				 (int)document.length, document.data);
		rec_buffer_release(&other);
	}
	rec_buffer_release(&whole);
}

static void test_json__accepts_what_is_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		int code;
		json_t *value = test_json_value(rec_slice_of(good[i]), test_whole, &code);
		if (!value)
			fail_msg("refused: %s", good[i]);
		json_decref(value);
		assert_agrees(rec_slice_of(good[i]), test_whole);
		assert_same_at_every_cut(rec_slice_of(good[i]));
	}
}

static void test_json__refuses_what_is_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int code;
		if (test_json_value(rec_slice_of(bad[i]), test_whole, &code))
			fail_msg("accepted: %s", bad[i]);
		assert_agrees(rec_slice_of(bad[i]), test_whole);
		assert_same_at_every_cut(rec_slice_of(bad[i]));
	}
}

/* Strings of every length up to three pieces of the fast scan, with each interesting thing at each place. */
static void test_json__interesting_things_at_every_place_of_a_string(void **state)
{
	(void)state;
	static const char *const things[] = {
		"\"",   "\\",       "\\n",  "\\u00e9", "\\ud83d\\ude00",   "\\u0000", "\xc3\xa9",
		"\xff", "\xe2\x82", "\x1f", "\x7f",    "\xf0\x9f\x98\x80", " ",       "!"};
	char document[128];
	for (size_t t = 0; t < sizeof things / sizeof *things; t++)
		for (size_t length = 0; length <= 48; length++)
			for (size_t at = 0; at <= length; at++) {
				char text[49];
				memset(text, 'x', length);
				text[length] = '\0';
				int n = snprintf(document, sizeof document, "\"%.*s%s%s\"", (int)at, text, things[t],
						 text + at);
				assert_agrees((struct rec_slice){document, (size_t)n}, test_whole);
			}
}

/* One or two changes: a byte flipped, taken out, doubled, replaced by a piece of JSON. */
static size_t mutate(char *document, size_t length, size_t capacity, uint64_t *random)
{
	static const char pieces[][8] = {"\"", "\\u", "\\ud8", "{", "}", "[",    "]", ",",
					 ":",  "e",   ".",     "-", "0", "\xc3", "\n"};
	for (uint64_t changes = 1 + test_random(random) % 2; changes; changes--) {
		size_t at = length ? test_random(random) % length : 0;
		const char *piece = pieces[test_random(random) % (sizeof pieces / sizeof *pieces)];
		size_t piece_length = strlen(piece);
		switch (test_random(random) % 4) {
		case 0:
			if (length)
				document[at] = (char)(document[at] ^ 1 << test_random(random) % 8);
			break;
		case 1:
			if (length) {
				memmove(document + at, document + at + 1, length - at - 1);
				length--;
			}
			break;
		default:
			if (length + piece_length > capacity)
				break;
			memmove(document + at + piece_length, document + at, length - at);
			memcpy(document + at, piece, piece_length);
			length += piece_length;
		}
	}
	return length;
}

static void test_json__agrees_with_jansson_about_mutated_documents(void **state)
{
	(void)state;
	uint64_t random = 20260312;
	for (int round = 0; round < 40000; round++) {
		const char *seed = good[test_random(&random) % (sizeof good / sizeof *good)];
		char document[256];
		size_t length = strlen(seed);
		memcpy(document, seed, length);
		length = mutate(document, length, sizeof document, &random);
		assert_agrees((struct rec_slice){document, length}, round % 2 ? test_bytewise : test_whole);
		if (round % 16 == 0)
			assert_same_at_every_cut((struct rec_slice){document, length});
	}
}

/* ---- Writing, read back by jansson ---- */

static void test_json_write_string__jansson_reads_it_back(void **state)
{
	(void)state;
	uint64_t random = 5;
	for (int round = 0; round < 20000; round++) {
		char text[64];
		size_t length = test_random(&random) % sizeof text;
		bool ascii = round % 2;
		for (size_t i = 0; i < length; i++)
			text[i] = (char)(test_random(&random) % (ascii ? 128 : 256));
		struct rec_buffer b;
		rec_buffer_init(&b, NULL, 1000);
		assert_int_equal(rec_json_write_string(&b, (struct rec_slice){text, length}), 0);
		json_t *value = json_loadb(b.data, b.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_true(json_is_string(value));
		for (size_t i = 0; i < b.length; i++)
			assert_true((unsigned char)b.data[i] >= 0x20 && b.data[i] != 0x7f);
		if (ascii) {
			assert_int_equal(json_string_length(value), length);
			assert_memory_equal(json_string_value(value), text, length);
		}
		json_decref(value);
		rec_buffer_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json__accepts_what_is_json),
		cmocka_unit_test(test_json__refuses_what_is_not),
		cmocka_unit_test(test_json__interesting_things_at_every_place_of_a_string),
		cmocka_unit_test(test_json__agrees_with_jansson_about_mutated_documents),
		cmocka_unit_test(test_json_write_string__jansson_reads_it_back),
	};
	return cmocka_run_group_tests_name("base/json-oracle", tests, NULL, NULL);
}
