/* text.h - what is acceptable text: UTF-8, ids, what may be shown. Pure. */
#ifndef REC_BASE_TEXT_H
#define REC_BASE_TEXT_H

#include "base/buffer.h"
#include "base/slice.h"

/* Strict UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). O(length), 8 bytes at a time on ASCII. */
bool rec_utf8_valid(struct rec_slice text);
/* The offset of the first bad byte, or length. */
size_t rec_utf8_error_offset(struct rec_slice text);

/* A task id: 1 to 255 bytes of UTF-8 without control characters (U+0000-U+001F, U+007F, U+0080-U+009F).
 * Returns NULL, or why not, as a phrase for an error message ("is empty", "is longer than 255 bytes",
 * "is not UTF-8", "holds a control character"). */
const char *rec_id_problem(struct rec_slice id);

/* Appends `text` for a person to read on one line: control characters, what ends a line or reorders it (U+2028,
 * U+2029, bidirectional embeddings, overrides and isolates) and bytes that are not UTF-8 become \xNN. If that is
 * longer than `bytes_max` bytes it is cut at a character and ends with "...", which counts. No quotes are added. */
int rec_text_show(struct rec_buffer *out, struct rec_slice text, size_t bytes_max);
/* The same into a fixed array; returns `out`. capacity >= 16. For use in error messages. */
char *rec_text_shown(char *out, size_t capacity, struct rec_slice text);

/* How many terminal columns the text takes: wide and combining characters counted as wcwidth would, control
 * characters 0, a bad byte 1; independent of the locale. O(length). */
size_t rec_text_columns(struct rec_slice text);
/* The longest beginning of text that takes at most `columns`, at a character. O(length). */
struct rec_slice rec_text_fitting(struct rec_slice text, size_t columns);

#endif
