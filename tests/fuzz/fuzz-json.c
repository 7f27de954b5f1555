/* fuzz-json.c - the JSON reader against jansson and against itself: every cut gives the same tokens and the same
 * error; what it reads and writes again is read again as the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json-scan.h"
#include "base/test-json-support.h"
#include "base/text.h"

#define TOKEN_BYTES_MAX 64
#define EVERY_CUT_MAX 64 /* longer documents are cut at this many places */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth, const char *what)
{
	if (!truth) {
		(void)fprintf(stderr, "fuzz-json: %s\n", what);
		abort();
	}
}

static struct rec_buffer transcript_of(struct rec_slice document, struct test_cut cut)
{
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, SIZE_MAX);
	(void)test_json_transcript(NULL, document, cut, TOKEN_BYTES_MAX, &b);
	return b;
}

static void check_cuts(struct rec_slice document)
{
	struct rec_buffer whole = transcript_of(document, test_whole);
	demand(rec_utf8_valid(rec_buffer_slice(&whole)), "a token or a message is not UTF-8");
	size_t stride = document.length / EVERY_CUT_MAX + 1;
	for (size_t cut = 1; cut < document.length; cut += stride) {
		struct rec_buffer other = transcript_of(document, (struct test_cut){cut, 0});
		demand(rec_slice_equal(rec_buffer_slice(&whole), rec_buffer_slice(&other)), "a cut changes the tokens");
		rec_buffer_release(&other);
	}
	struct rec_buffer bytewise = transcript_of(document, test_bytewise);
	demand(rec_slice_equal(rec_buffer_slice(&whole), rec_buffer_slice(&bytewise)), "bytewise differs");
	rec_buffer_release(&bytewise);
	rec_buffer_release(&whole);
}

/* On a copy of just that size, so that a sanitizer sees the first byte read beyond it. */
static void check_scans(struct rec_slice document)
{
	char *exact = malloc(document.length ? document.length : 1);
	bool escaped = false;
	size_t at = 0, number_at = 0;
	demand(exact != NULL, "out of memory");
	if (document.length)
		memcpy(exact, document.data, document.length);
	enum rec_scan scan = rec_scan_string(exact, document.length, &at, &escaped);
	demand(at <= document.length, "a scan went too far");
	if (scan == REC_SCAN_DONE)
		demand(rec_unescape(exact, at) <= at, "a text grew");
	(void)rec_scan_number(exact, document.length, &number_at, REC_DIGITS_START);
	demand(number_at <= document.length, "a number went too far");
	free(exact);
}

/* Any bytes as a string: jansson reads it, and UTF-8 comes back as it was. */
static void check_writing(struct rec_slice text)
{
	struct rec_buffer b;
	int code;
	rec_buffer_init(&b, NULL, SIZE_MAX);
	demand(rec_json_write_string(&b, text) == 0, "not written");
	json_t *value = json_loadb(b.data, b.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	demand(json_is_string(value), "jansson does not read what was written");
	if (rec_utf8_valid(text)) {
		demand(json_string_length(value) == text.length &&
			       (!text.length || memcmp(json_string_value(value), text.data, text.length) == 0),
		       "the text changed");
		if (!text.length || !memchr(text.data, 0, text.length)) {
			json_t *again = test_json_value(rec_buffer_slice(&b), test_bytewise, &code);
			demand(json_equal(value, again), "the reader does not read what was written");
			json_decref(again);
		}
	}
	json_decref(value);
	rec_buffer_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_slice document = {(const char *)data, size};
	check_cuts(document);
	check_scans(document);
	check_writing(document);
	const char *problem = test_json_disagreement(document, test_whole);
	demand(!problem, problem ? problem : "");
	return 0;
}
