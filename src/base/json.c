/* json.c - a state says what may come next; reader_step looks at one byte, consumes punctuation or produces a
 * token. Nothing is consumed before it is known to be whole and sound, so a reader that needs more, or that
 * failed, simply stands at the beginning of what it could not take. How far an unfinished string or number
 * was scanned is remembered. Line feeds occur in white space only, so only there lines are counted. */
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json-scan.h"
#include "base/text.h"
#include "base/utf8.h"

enum state {
	AT_START,           /* between documents */
	AT_START_APART,     /* the same after a number or a literal: white space must come first */
	AT_DOCUMENT_END,    /* END_DOCUMENT is to be reported */
	AT_DOCUMENT_APART,  /* the same after a number or a literal */
	AT_VALUE,           /* behind a colon, or a comma in an array */
	AT_VALUE_OR_END,    /* behind '[' */
	AT_KEY,             /* behind a comma in an object */
	AT_KEY_OR_END,      /* behind '{' */
	AT_COLON,           /* behind a key */
	AT_COMMA_OR_OBJECT, /* behind a value in an object */
	AT_COMMA_OR_ARRAY,  /* behind a value in an array */
};

static const char *const state_expects[] = {
	[AT_START] = "a JSON value",
	[AT_START_APART] = "white space between two documents",
	[AT_VALUE] = "a value",
	[AT_VALUE_OR_END] = "a value or ']'",
	[AT_KEY] = "a key in double quotes",
	[AT_KEY_OR_END] = "a key in double quotes or '}'",
	[AT_COLON] = "':'",
	[AT_COMMA_OR_OBJECT] = "',' or '}'",
	[AT_COMMA_OR_ARRAY] = "',' or ']'",
};

#define STEP_AGAIN 101 /* punctuation was consumed, no token yet */
#define PLACE_BYTES 80

void rec_json_init(struct rec_json_reader *r, const struct rec_allocator *a, size_t token_bytes_max)
{
	*r = (struct rec_json_reader){.token_bytes_max = token_bytes_max, .line = 1};
	rec_buffer_init(&r->window, a, SIZE_MAX);
}

void rec_json_release(struct rec_json_reader *r)
{
	rec_buffer_release(&r->window);
}

char *rec_json_space(struct rec_json_reader *r, size_t wanted)
{
	rec_buffer_consume(&r->window, r->position);
	r->window_offset += r->position;
	r->position = 0;
	return rec_buffer_space(&r->window, wanted);
}

void rec_json_added(struct rec_json_reader *r, size_t length)
{
	rec_buffer_added(&r->window, length);
}

void rec_json_finish(struct rec_json_reader *r)
{
	r->finished = true;
}

/* ---- Errors ---- */

void rec_json_place(const struct rec_json_reader *r, uint64_t offset, char *out, size_t capacity)
{
	if (offset < r->line_offset)
		snprintf(out, capacity, "byte %" PRIu64, offset);
	else
		snprintf(out, capacity, "line %" PRIu64 ", column %" PRIu64 " (byte %" PRIu64 ")", r->line,
			 offset - r->line_offset + 1, offset);
}

static int fail_at(const struct rec_json_reader *r, size_t at, struct rec_error *error, int code, const char *what)
{
	char place[PLACE_BYTES];
	rec_json_place(r, r->window_offset + at, place, sizeof place);
	return rec_fail(error, code, "%s: %s", place, what);
}

/* What stands at the place, for a person: a character, a byte, the end. */
static void found_show(struct rec_slice rest, int step, char *out, size_t capacity)
{
	char shown[16];
	if (rest.length == 0)
		snprintf(out, capacity, "the end of the input");
	else if (step > 0 && (unsigned char)rest.data[0] >= 0x20 && rest.data[0] != 0x7f)
		snprintf(out, capacity, "'%s'",
			 rec_text_shown(shown, sizeof shown, (struct rec_slice){rest.data, (size_t)step}));
	else
		snprintf(out, capacity, "byte 0x%02x", (unsigned char)rest.data[0]);
}

/* "expected X, found Y". Waits for the rest of a character first, so that the message does not depend on how
 * the input was cut. */
static int fail_expected(const struct rec_json_reader *r, size_t at, const char *expected, struct rec_error *error)
{
	struct rec_slice rest = {r->window.data + at, r->window.length - at};
	const unsigned char *p = (const unsigned char *)rest.data;
	int step = rest.length ? rec_utf8_step(p, rest.length) : 0;
	if (!r->finished && (rest.length == 0 || (step < 0 && rec_utf8_truncated(p, rest.length, step))))
		return REC_JSON_NEED_MORE;
	if (r->window_offset + at == 0 && step == 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		return fail_at(r, at, error, REC_E_INVALID,
			       "a byte order mark is not JSON (save the text as UTF-8 without it)");
	char found[32], what[160];
	found_show(rest, step, found, sizeof found);
	snprintf(what, sizeof what, "expected %s, found %s", expected, found);
	return fail_at(r, at, error, REC_E_INVALID, what);
}

static int fail_long(const struct rec_json_reader *r, const char *thing, struct rec_error *error)
{
	char what[96];
	snprintf(what, sizeof what, "this %s is longer than %zu bytes", thing, r->token_bytes_max);
	return fail_at(r, r->position, error, REC_E_LIMIT, what);
}

/* ---- Tokens ---- */

static void token_take(struct rec_json_reader *r, struct rec_json_token *token, enum rec_json_type type, size_t length)
{
	*token = (struct rec_json_token){.type = type, .depth = r->depth, .offset = r->window_offset + r->position};
	r->position += length;
}

static inline void value_done(struct rec_json_reader *r, bool apart)
{
	if (r->depth == 0)
		r->state = apart ? AT_DOCUMENT_APART : AT_DOCUMENT_END;
	else
		r->state = r->stack[r->depth - 1] == '{' ? AT_COMMA_OR_OBJECT : AT_COMMA_OR_ARRAY;
}

static int container_begin(struct rec_json_reader *r, char c, struct rec_json_token *token, struct rec_error *error)
{
	if (r->depth == REC_JSON_DEPTH_MAX) {
		char what[64];
		snprintf(what, sizeof what, "nested deeper than %d levels", REC_JSON_DEPTH_MAX);
		return fail_at(r, r->position, error, REC_E_LIMIT, what);
	}
	token_take(r, token, c == '{' ? REC_JSON_OBJECT_BEGIN : REC_JSON_ARRAY_BEGIN, 1);
	r->stack[r->depth++] = (uint8_t)c;
	r->state = c == '{' ? AT_KEY_OR_END : AT_VALUE_OR_END;
	return 0;
}

static int container_end(struct rec_json_reader *r, char c, struct rec_json_token *token)
{
	r->depth--;
	token_take(r, token, c == '}' ? REC_JSON_OBJECT_END : REC_JSON_ARRAY_END, 1);
	value_done(r, false);
	return 0;
}

static int string_fail(const struct rec_json_reader *r, enum rec_scan fault, size_t at, struct rec_error *error)
{
	switch (fault) {
	case REC_SCAN_ESCAPE:
		return fail_expected(r, at, "one of \"\\/bfnrtu after the backslash", error);
	case REC_SCAN_HEX:
		return fail_expected(r, at, "four hexadecimal digits after \\u", error);
	case REC_SCAN_UTF8:
		return fail_at(r, at, error, REC_E_INVALID, "not UTF-8");
	case REC_SCAN_ZERO:
		return fail_at(r, at, error, REC_E_INVALID, "\\u0000 is refused");
	case REC_SCAN_SURROGATE:
		return fail_at(r, at, error, REC_E_INVALID, "half a surrogate pair");
	case REC_SCAN_CONTROL:
		return fail_expected(r, at, "'\"' (a control character in a string must be escaped)", error);
	case REC_SCAN_MORE:
	case REC_SCAN_DONE:
		break;
	}
	return fail_at(r, r->position, error, REC_E_INVALID, "this string is not closed before the end of the input");
}

static int string_read(struct rec_json_reader *r, enum rec_json_type type, struct rec_json_token *token,
		       struct rec_error *error)
{
	size_t start = r->position + 1, at = r->position + (r->scanned ? r->scanned : 1);
	enum rec_scan scan = rec_scan_string(r->window.data, r->window.length, &at, &r->escaped);
	if (at - start > r->token_bytes_max)
		return fail_long(r, type == REC_JSON_KEY ? "key" : "string", error);
	if (scan == REC_SCAN_MORE && !r->finished) {
		r->scanned = at - r->position;
		return REC_JSON_NEED_MORE;
	}
	if (scan != REC_SCAN_DONE)
		return string_fail(r, scan, at, error);
	token_take(r, token, type, at + 1 - r->position);
	token->text = (struct rec_slice){r->window.data + start, at - start};
	if (r->escaped)
		token->text.length = rec_unescape(r->window.data + start, at - start);
	r->scanned = 0;
	r->escaped = false;
	if (type == REC_JSON_KEY)
		r->state = AT_COLON;
	else
		value_done(r, false);
	return 0;
}

static const char *const digits_expect[] = {
	[REC_DIGITS_MINUS] = "a digit after '-'",
	[REC_DIGITS_ZERO] = "no digit after a leading 0",
	[REC_DIGITS_POINT] = "a digit after the decimal point",
	[REC_DIGITS_E] = "the digits of an exponent",
	[REC_DIGITS_E_SIGN] = "the digits of an exponent",
};

static int number_read(struct rec_json_reader *r, struct rec_json_token *token, struct rec_error *error)
{
	size_t at = r->position + r->scanned;
	enum rec_digits digits = rec_scan_number(r->window.data, r->window.length, &at, (enum rec_digits)r->digits);
	if (at - r->position > r->token_bytes_max)
		return fail_long(r, "number", error);
	if (at == r->window.length && !r->finished) {
		r->scanned = at - r->position;
		r->digits = (uint8_t)digits;
		return REC_JSON_NEED_MORE;
	}
	char next = at < r->window.length ? r->window.data[at] : '\0';
	if (!rec_digits_complete(digits) || (digits == REC_DIGITS_ZERO && next >= '0' && next <= '9'))
		return fail_expected(r, at, digits_expect[digits], error);
	const char *text = r->window.data + r->position;
	size_t length = at - r->position;
	token_take(r, token, REC_JSON_NUMBER, length);
	token->text = (struct rec_slice){text, length};
	r->scanned = 0;
	r->digits = REC_DIGITS_START;
	value_done(r, true);
	return 0;
}

static int literal_read(struct rec_json_reader *r, const char *word, enum rec_json_type type,
			struct rec_json_token *token, struct rec_error *error)
{
	size_t length = strlen(word), i = 0;
	while (i < length && r->position + i < r->window.length && r->window.data[r->position + i] == word[i])
		i++;
	if (i < length)
		return fail_expected(r, r->position + i, word, error);
	token_take(r, token, type, length);
	value_done(r, true);
	return 0;
}

static int value_read(struct rec_json_reader *r, char c, struct rec_json_token *token, struct rec_error *error)
{
	switch (c) {
	case '"':
		return string_read(r, REC_JSON_STRING, token, error);
	case '{':
	case '[':
		return container_begin(r, c, token, error);
	case 't':
		return literal_read(r, "true", REC_JSON_TRUE, token, error);
	case 'f':
		return literal_read(r, "false", REC_JSON_FALSE, token, error);
	case 'n':
		return literal_read(r, "null", REC_JSON_NULL, token, error);
	default:
		if (c == '-' || (c >= '0' && c <= '9'))
			return number_read(r, token, error);
		return fail_expected(r, r->position, state_expects[r->state], error);
	}
}

/* ---- Steps ---- */

static void white_skip(struct rec_json_reader *r)
{
	const char *data = r->window.data;
	size_t i = r->position, length = r->window.length;
	for (; i < length && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t'); i++)
		if (data[i] == '\n') {
			r->line++;
			r->line_offset = r->window_offset + i + 1;
		}
	if (r->state == AT_START_APART && i > r->position)
		r->state = AT_START;
	r->position = i;
}

static int input_ended(const struct rec_json_reader *r, struct rec_error *error)
{
	if (!r->finished)
		return REC_JSON_NEED_MORE;
	if (r->state == AT_START || r->state == AT_START_APART)
		return REC_END;
	return fail_expected(r, r->position, state_expects[r->state], error);
}

static int punctuation_read(struct rec_json_reader *r, enum state next)
{
	r->position++;
	r->state = (uint8_t)next;
	return STEP_AGAIN;
}

static int reader_step(struct rec_json_reader *r, struct rec_json_token *token, struct rec_error *error)
{
	white_skip(r);
	if (r->position == r->window.length)
		return input_ended(r, error);
	char c = r->window.data[r->position];
	switch ((enum state)r->state) {
	case AT_COMMA_OR_OBJECT:
		if (c == ',')
			return punctuation_read(r, AT_KEY);
		if (c == '}')
			return container_end(r, c, token);
		break;
	case AT_COMMA_OR_ARRAY:
		if (c == ',')
			return punctuation_read(r, AT_VALUE);
		if (c == ']')
			return container_end(r, c, token);
		break;
	case AT_COLON:
		if (c == ':')
			return punctuation_read(r, AT_VALUE);
		break;
	case AT_KEY_OR_END:
	case AT_KEY:
		if (c == '"')
			return string_read(r, REC_JSON_KEY, token, error);
		if (c == '}' && r->state == AT_KEY_OR_END)
			return container_end(r, c, token);
		break;
	case AT_VALUE_OR_END:
		if (c == ']')
			return container_end(r, c, token);
		return value_read(r, c, token, error);
	case AT_VALUE:
	case AT_START:
		return value_read(r, c, token, error);
	case AT_START_APART:
	case AT_DOCUMENT_END:
	case AT_DOCUMENT_APART:
		break;
	}
	return fail_expected(r, r->position, state_expects[r->state], error);
}

int rec_json_next(struct rec_json_reader *r, struct rec_json_token *ret_token, struct rec_error *error)
{
	if (r->window.failed)
		return rec_fail_nomem(error);
	if (r->state == AT_DOCUMENT_END || r->state == AT_DOCUMENT_APART) {
		r->state = r->state == AT_DOCUMENT_END ? AT_START : AT_START_APART;
		token_take(r, ret_token, REC_JSON_END_DOCUMENT, 0);
		return 0;
	}
	int result;
	do
		result = reader_step(r, ret_token, error);
	while (result == STEP_AGAIN);
	return result;
}
