/* test-json-support.h - what the JSON tests and the JSON fuzzer share: a document read in pieces, as a transcript
 * of its tokens and as a jansson value. Not a part of the product. */
#ifndef REC_BASE_TEST_JSON_SUPPORT_H
#define REC_BASE_TEST_JSON_SUPPORT_H

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/json.h"

/* How a document is cut: at `cut` if that is not 0, else into pieces of `piece` bytes. */
struct test_cut {
	size_t cut, piece;
};
static const struct test_cut test_whole = {0, SIZE_MAX}, test_bytewise = {0, 1};

static inline size_t test_piece_length(struct test_cut cut, size_t at, size_t left)
{
	size_t wanted = cut.piece;
	if (cut.cut)
		wanted = at < cut.cut ? cut.cut - at : SIZE_MAX;
	return wanted < left ? wanted : left;
}

/* The next token of a document that is fed as the reader asks for it; *at: how far. */
static inline int test_json_next(struct rec_json_reader *r, struct rec_slice document, struct test_cut cut, size_t *at,
				 struct rec_json_token *token, struct rec_error *error)
{
	int result;
	while ((result = rec_json_next(r, token, error)) == REC_JSON_NEED_MORE) {
		size_t length = test_piece_length(cut, *at, document.length - *at);
		if (length == 0) {
			rec_json_finish(r);
			continue;
		}
		char *space = rec_json_space(r, length);
		if (!space)
			continue; /* the next call says why */
		memcpy(space, document.data + *at, length);
		rec_json_added(r, length);
		*at += length;
	}
	return result;
}

/* One line for each token, and how it ended. */
static inline int test_json_transcript(const struct rec_allocator *a, struct rec_slice document, struct test_cut cut,
				       size_t token_bytes_max, struct rec_buffer *out)
{
	struct rec_json_reader r;
	struct rec_json_token token;
	struct rec_error error = {0};
	size_t at = 0;
	int result;
	rec_json_init(&r, a, token_bytes_max);
	while ((result = test_json_next(&r, document, cut, &at, &token, &error)) == 0) {
		rec_buffer_printf(out, "%d %u %" PRIu64 " %zu:", (int)token.type, token.depth, token.offset,
				  token.text.length);
		rec_buffer_add(out, token.text.data, token.text.length);
		rec_buffer_add_text(out, "\n");
	}
	rec_buffer_printf(out, "= %d %s\n", result, result < 0 ? error.message : "");
	rec_json_release(&r);
	return result;
}

/* ---- As a jansson value ---- */

static inline json_t *test_number_value(struct rec_slice text)
{
	char *copy = strndup(text.data, text.length);
	json_t *value = strpbrk(copy, ".eE") ? json_real(strtod(copy, NULL)) : json_integer(strtoll(copy, NULL, 10));
	free(copy);
	return value;
}

static inline json_t *test_token_value(const struct rec_json_token *token)
{
	switch (token->type) {
	case REC_JSON_OBJECT_BEGIN:
		return json_object();
	case REC_JSON_ARRAY_BEGIN:
		return json_array();
	case REC_JSON_STRING:
		return json_stringn_nocheck(token->text.data, token->text.length);
	case REC_JSON_NUMBER:
		return test_number_value(token->text);
	case REC_JSON_TRUE:
		return json_true();
	case REC_JSON_FALSE:
		return json_false();
	case REC_JSON_NULL:
		return json_null();
	default:
		return NULL;
	}
}

/* Puts a value where it belongs (taking it over); a key waits in *key. */
static inline void test_value_put(json_t *container, char **key, json_t *value)
{
	if (json_is_array(container)) {
		json_array_append_new(container, value);
	} else {
		json_object_set_new_nocheck(container, *key, value);
		free(*key);
		*key = NULL;
	}
}

/* The value of exactly one document, or NULL: refused (*ret_code: the reader's result; REC_END: not one). */
static inline json_t *test_json_value(struct rec_slice document, struct test_cut cut, int *ret_code)
{
	struct rec_json_reader r;
	struct rec_json_token token;
	size_t at = 0, depth = 0, documents = 0;
	json_t *stack[REC_JSON_DEPTH_MAX + 1] = {json_array()};
	char *key = NULL;
	rec_json_init(&r, NULL, (size_t)1 << 20);
	while ((*ret_code = test_json_next(&r, document, cut, &at, &token, NULL)) == 0) {
		json_t *value = test_token_value(&token);
		if (value)
			test_value_put(stack[depth], &key, value);
		if (token.type == REC_JSON_OBJECT_BEGIN || token.type == REC_JSON_ARRAY_BEGIN)
			stack[++depth] = value;
		else if (token.type == REC_JSON_OBJECT_END || token.type == REC_JSON_ARRAY_END)
			depth--;
		else if (token.type == REC_JSON_KEY && !key)
			key = strndup(token.text.data, token.text.length);
		documents += token.type == REC_JSON_END_DOCUMENT;
	}
	rec_json_release(&r);
	free(key);
	json_t *only = *ret_code == REC_END && documents == 1 ? json_incref(json_array_get(stack[0], 0)) : NULL;
	json_decref(stack[0]);
	return only;
}

/* NULL if the reader and jansson agree about the document, else what they disagree about. Where the reader may
 * differ: it is stricter about depth (64 instead of 2048) and about a NUL byte behind a number or a literal,
 * which jansson 2.14 overlooks; and it does not interpret numbers, so that ones too large for jansson pass. */
static inline const char *test_json_disagreement(struct rec_slice document, struct test_cut cut)
{
	json_error_t error;
	int code;
	json_t *wanted = json_loadb(document.data ? document.data : "", document.length, JSON_DECODE_ANY, &error);
	json_t *actual = test_json_value(document, cut, &code);
	const char *problem = NULL;
	if (wanted && actual)
		problem = json_equal(wanted, actual) ? NULL : "the values differ";
	else if (wanted && code != REC_E_LIMIT && !memchr(document.data, 0, document.length))
		problem = "refused, but jansson accepts it";
	else if (actual && json_error_code(&error) != json_error_numeric_overflow)
		problem = "accepted, but jansson refuses it";
	json_decref(wanted);
	json_decref(actual);
	return problem;
}

#endif
