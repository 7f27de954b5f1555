/* json-scan.h - the inner loops of the JSON reader: pure functions over bytes, without the reader. */
#ifndef REC_BASE_JSON_SCAN_H
#define REC_BASE_JSON_SCAN_H

#include "base/slice.h"

enum rec_scan {
	REC_SCAN_DONE,      /* the end was found */
	REC_SCAN_MORE,      /* sound so far, but the bytes ran out */
	REC_SCAN_CONTROL,   /* an unescaped control character */
	REC_SCAN_UTF8,      /* not UTF-8 */
	REC_SCAN_ESCAPE,    /* no such escape */
	REC_SCAN_HEX,       /* \u without four hexadecimal digits */
	REC_SCAN_ZERO,      /* \u0000 */
	REC_SCAN_SURROGATE, /* half a surrogate pair */
};

/* Scans the inside of a string from *at (just behind the opening quote, or where a scan that returned MORE
 * stopped) to the closing quote. *at: the quote (DONE), where to go on (MORE) or the fault. *escaped is set if
 * there is an escape. */
enum rec_scan rec_scan_string(const char *data, size_t length, size_t *at, bool *escaped);

/* Resolves the escapes of a scanned string in place; returns the new length. */
size_t rec_unescape(char *text, size_t length);

/* Where a number stands; the start is 0, so that a zeroed reader is at the start of a number. */
enum rec_digits {
	REC_DIGITS_START,
	REC_DIGITS_MINUS,
	REC_DIGITS_ZERO,
	REC_DIGITS_WHOLE,
	REC_DIGITS_POINT,
	REC_DIGITS_FRACTION,
	REC_DIGITS_E,
	REC_DIGITS_E_SIGN,
	REC_DIGITS_EXPONENT,
};
/* Follows a number from *at on; *at: the first byte that does not belong to it, or length. */
enum rec_digits rec_scan_number(const char *data, size_t length, size_t *at, enum rec_digits digits);
/* May a number end here? */
bool rec_digits_complete(enum rec_digits digits);

#endif
