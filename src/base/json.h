/* json.h - a pull tokenizer for bulk JSON and the functions that write JSON. Sans-IO.
 *
 * The reader keeps a window of bytes that the caller fills; it never sees a file. Tokens point into the
 * window and stay valid until the next call of rec_json_next or rec_json_space. RFC 8259, strict: no
 * comments, no trailing commas, no leading zeros, valid UTF-8 only, lone surrogates and \u0000 refused.
 * Depth is limited (REC_JSON_DEPTH_MAX), a single token too (token_bytes_max). O(input), however it is cut:
 * an unfinished token is not scanned again from its start.
 *
 * Several documents one after another (NDJSON) are read by calling rec_json_next again after REC_JSON_END_DOCUMENT.
 * Only numbers and literals need white space between them.
 *
 *     for (;;) {
 *             r = rec_json_next(&reader, &token, error);
 *             if (r == REC_JSON_NEED_MORE) { read into rec_json_space(); rec_json_added(n) or rec_json_finish(); }
 *             else if (r == REC_END) break;     // input finished between documents
 *             else if (r < 0) return r;         // REC_E_INVALID with line, column and byte offset
 *             else use(token);
 *     }
 */
#ifndef REC_BASE_JSON_H
#define REC_BASE_JSON_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/slice.h"

#define REC_JSON_DEPTH_MAX 64
#define REC_JSON_NEED_MORE 100 /* positive outcome of rec_json_next */

enum rec_json_type {
	REC_JSON_OBJECT_BEGIN,
	REC_JSON_OBJECT_END,
	REC_JSON_ARRAY_BEGIN,
	REC_JSON_ARRAY_END,
	REC_JSON_KEY,    /* text: unescaped */
	REC_JSON_STRING, /* text: unescaped */
	REC_JSON_NUMBER, /* text: as written */
	REC_JSON_TRUE,
	REC_JSON_FALSE,
	REC_JSON_NULL,
	REC_JSON_END_DOCUMENT, /* a top-level value is complete (reported after its last token) */
};

struct rec_json_token {
	enum rec_json_type type;
	struct rec_slice text; /* KEY, STRING, NUMBER */
	unsigned depth;        /* containers around this token; BEGIN and END carry the depth outside them */
	uint64_t offset;       /* of the token's first byte in the input */
};

/* Opaque in spirit; embedded so that a reader needs one allocation (the window). */
struct rec_json_reader {
	struct rec_buffer window;
	size_t position; /* in the window */
	size_t token_bytes_max;
	uint64_t window_offset;     /* of window[0] in the input */
	uint64_t line, line_offset; /* for messages: current line (from 1) and the offset where it begins */
	unsigned depth;
	uint8_t stack[REC_JSON_DEPTH_MAX]; /* '{' or '[' */
	uint8_t state;
	bool finished;
	bool escaped;   /* the unfinished string holds an escape */
	uint8_t digits; /* where the unfinished number stands (json-scan.h) */
	size_t scanned; /* bytes of the unfinished token that are known to be sound */
};

/* token_bytes_max: of one key, string (as written, without its quotes) or number; more is REC_E_LIMIT. */
void rec_json_init(struct rec_json_reader *r, const struct rec_allocator *a, size_t token_bytes_max);
void rec_json_release(struct rec_json_reader *r);
/* Where the caller may write the next bytes of the input, at least `wanted` of them (exactly `wanted` may be
 * relied on). Forgets what was read: tokens end here. An unfinished token is kept, so ask for a fixed piece
 * (say 64 KiB) each time rec_json_next wants more; the window then stays near piece + token. NULL: out of
 * memory; rec_json_next then says so as well. */
char *rec_json_space(struct rec_json_reader *r, size_t wanted);
void rec_json_added(struct rec_json_reader *r, size_t length); /* so many of them were written */
void rec_json_finish(struct rec_json_reader *r);               /* no more input */
/* 0 and a token; REC_JSON_NEED_MORE; REC_END; REC_E_INVALID, REC_E_LIMIT, REC_E_NOMEM. The message names
 * line, column and byte offset, what was expected and what was found. A leading byte order mark is an error
 * that says so. After an error the reader stays where it is: the same call gives the same error. */
int rec_json_next(struct rec_json_reader *r, struct rec_json_token *ret_token, struct rec_error *error);
/* "line L, column C (byte B)" for an offset at or after the current line's start, "byte B" for one before it.
 * Lines and columns count from 1, columns in bytes; B is the offset, from 0. capacity >= 1; 80 is enough. */
void rec_json_place(const struct rec_json_reader *r, uint64_t offset, char *out, size_t capacity);

/* Number tokens: the exact value as int64, or REC_E_INVALID (fraction, exponent, overflow). */
int rec_json_int64(struct rec_slice number, int64_t *ret_value);

/* Writing: appends text as a JSON string with quotes; UTF-8 is kept as it is, control characters, quote
 * and backslash are escaped, bytes that are not UTF-8 become U+FFFD so that the output is always valid. */
int rec_json_write_string(struct rec_buffer *out, struct rec_slice text);

#endif
