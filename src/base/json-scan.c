/* json-scan.c - strings are searched 16 bytes at a time (SSE2) or 8 (everywhere else) for the first byte that
 * is not plain: a quote, a backslash, a control character, the beginning of a longer character. With REC_PORTABLE
 * the tests build what other machines use. */
#include "base/json-scan.h"

#include "base/utf8.h"

#if defined(__SSE2__) && !defined(REC_PORTABLE)
#define WITH_SSE2 1
#include <emmintrin.h>
#else
#define WITH_SSE2 0
#endif

static inline bool byte_is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

#if WITH_SSE2
#define PIECE_BYTES 16
/* A bit for each byte that is not plain, the first byte lowest. Bytes from 0x80 are negative. */
static inline unsigned piece_stops(const char *p)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i stops = _mm_or_si128(
		_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
		_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
	return (unsigned)_mm_movemask_epi8(stops);
}
#else
#define PIECE_BYTES 8
/* Not zero if any byte may not be plain (0x7f is); which one is left to the caller. */
static inline uint64_t piece_stops(const char *p)
{
	uint64_t word = rec_load_u64(p);
	return ((word | (word - REC_ALL_BYTES * 0x20)) & REC_HIGH_BITS) | rec_word_has(word, '"') |
	       rec_word_has(word, '\\');
}
#endif

static inline size_t plain_run(const char *data, size_t length)
{
	size_t i = 0;
	for (; length - i >= PIECE_BYTES; i += PIECE_BYTES) {
		__typeof__(piece_stops(data)) stops = piece_stops(data + i);
#if WITH_SSE2
		if (stops)
			return i + (size_t)__builtin_ctz(stops);
#else
		if (stops)
			break;
#endif
	}
	while (i < length && byte_is_plain((unsigned char)data[i]))
		i++;
	return i;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The value of \uXXXX at p (left >= 2 and p[1] == 'u'). *bad: offset of the first wrong digit. */
static enum rec_scan unit_scan(const char *p, size_t left, unsigned *ret_unit, size_t *bad)
{
	unsigned unit = 0;
	for (size_t i = 2; i < 6; i++) {
		if (i == left)
			return REC_SCAN_MORE;
		int digit = hex_value(p[i]);
		if (digit < 0) {
			*bad = i;
			return REC_SCAN_HEX;
		}
		unit = unit << 4 | (unsigned)digit;
	}
	*ret_unit = unit;
	return REC_SCAN_DONE;
}

static inline bool unit_is_high(unsigned unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static inline bool unit_is_low(unsigned unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* The second half of a surrogate pair at p. */
static enum rec_scan low_unit_scan(const char *p, size_t left, size_t *bad)
{
	static const char beginning[] = "\\u";
	for (size_t i = 0; i < 2; i++) {
		if (i == left)
			return REC_SCAN_MORE;
		if (p[i] != beginning[i])
			return REC_SCAN_SURROGATE;
	}
	unsigned unit = 0;
	enum rec_scan r = unit_scan(p, left, &unit, bad);
	if (r != REC_SCAN_DONE)
		return r;
	return unit_is_low(unit) ? REC_SCAN_DONE : REC_SCAN_SURROGATE;
}

/* The escape at p, from its backslash on. *step: its length, or the offset of the fault. */
static enum rec_scan escape_scan(const char *p, size_t left, size_t *step)
{
	if (left < 2)
		return REC_SCAN_MORE;
	if (p[1] != 'u') {
		bool known = p[1] && strchr("\"\\/bfnrt", p[1]);
		*step = known ? 2 : 1;
		return known ? REC_SCAN_DONE : REC_SCAN_ESCAPE;
	}
	unsigned unit = 0;
	enum rec_scan r = unit_scan(p, left, &unit, step);
	if (r != REC_SCAN_DONE)
		return r;
	*step = 0;
	if (unit == 0)
		return REC_SCAN_ZERO;
	if (unit_is_low(unit))
		return REC_SCAN_SURROGATE;
	if (unit_is_high(unit)) {
		size_t bad = 0;
		r = low_unit_scan(p + 6, left - 6, &bad);
		*step = r == REC_SCAN_HEX ? 6 + bad : 0;
		if (r != REC_SCAN_DONE)
			return r;
	}
	*step = unit_is_high(unit) ? 12 : 6;
	return REC_SCAN_DONE;
}

/* One character beyond ASCII. */
static enum rec_scan wide_scan(const char *data, size_t left, size_t *step)
{
	const unsigned char *p = (const unsigned char *)data;
	int r = rec_utf8_step(p, left);
	*step = r > 0 ? (size_t)r : 0;
	if (r > 0)
		return REC_SCAN_DONE;
	return rec_utf8_truncated(p, left, r) ? REC_SCAN_MORE : REC_SCAN_UTF8;
}

enum rec_scan rec_scan_string(const char *data, size_t length, size_t *at, bool *escaped)
{
	size_t i = *at;
	enum rec_scan r = REC_SCAN_DONE;
	while (r == REC_SCAN_DONE) {
		i += plain_run(data + i, length - i);
		size_t step = 0;
		if (i == length)
			r = REC_SCAN_MORE;
		else if (data[i] == '"')
			break;
		else if (data[i] == '\\')
			r = escape_scan(data + i, length - i, &step);
		else if ((unsigned char)data[i] >= 0x80)
			r = wide_scan(data + i, length - i, &step);
		else
			r = REC_SCAN_CONTROL;
		if (r == REC_SCAN_DONE && data[i] == '\\')
			*escaped = true;
		if (r != REC_SCAN_MORE)
			i += step;
	}
	*at = i;
	return r;
}

static size_t utf8_put(char *out, unsigned code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* Resolves the sound escape at p; returns its length, *ret_code the character. */
static size_t escape_value(const char *p, unsigned *ret_code)
{
	static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
	if (p[1] != 'u') {
		const char *name = strchr(names, p[1]);
		*ret_code = (unsigned char)(name ? values[name - names] : p[1]);
		return 2;
	}
	unsigned unit = 0, low = 0;
	size_t bad;
	unit_scan(p, 6, &unit, &bad);
	*ret_code = unit;
	if (!unit_is_high(unit))
		return 6;
	unit_scan(p + 6, 6, &low, &bad);
	*ret_code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
	return 12;
}

/* No escape is shorter than what it stands for, so the text never catches up with what is still to be read. */
size_t rec_unescape(char *text, size_t length)
{
	size_t from = 0, to = 0;
	while (from < length) {
		const char *slash = memchr(text + from, '\\', length - from);
		size_t run = slash ? (size_t)(slash - text) - from : length - from;
		memmove(text + to, text + from, run);
		from += run;
		to += run;
		if (slash) {
			unsigned code;
			from += escape_value(text + from, &code);
			to += utf8_put(text + to, code);
		}
	}
	return to;
}

/* ---- Numbers ---- */

static int digits_next(enum rec_digits digits, char c)
{
	bool digit = c >= '0' && c <= '9', e = c == 'e' || c == 'E';
	switch (digits) {
	case REC_DIGITS_START:
		return c == '-' ? REC_DIGITS_MINUS : c == '0' ? REC_DIGITS_ZERO : digit ? REC_DIGITS_WHOLE : -1;
	case REC_DIGITS_MINUS:
		return c == '0' ? REC_DIGITS_ZERO : digit ? REC_DIGITS_WHOLE : -1;
	case REC_DIGITS_WHOLE:
		if (digit)
			return REC_DIGITS_WHOLE;
		__attribute__((fallthrough));
	case REC_DIGITS_ZERO:
		return c == '.' ? REC_DIGITS_POINT : e ? REC_DIGITS_E : -1;
	case REC_DIGITS_POINT:
		return digit ? REC_DIGITS_FRACTION : -1;
	case REC_DIGITS_FRACTION:
		return digit ? REC_DIGITS_FRACTION : e ? REC_DIGITS_E : -1;
	case REC_DIGITS_E:
		return c == '+' || c == '-' ? REC_DIGITS_E_SIGN : digit ? REC_DIGITS_EXPONENT : -1;
	case REC_DIGITS_E_SIGN:
	case REC_DIGITS_EXPONENT:
		return digit ? REC_DIGITS_EXPONENT : -1;
	}
	return -1;
}

enum rec_digits rec_scan_number(const char *data, size_t length, size_t *at, enum rec_digits digits)
{
	for (; *at < length; ++*at) {
		int next = digits_next(digits, data[*at]);
		if (next < 0)
			break;
		digits = (enum rec_digits)next;
	}
	return digits;
}

bool rec_digits_complete(enum rec_digits digits)
{
	return digits == REC_DIGITS_ZERO || digits == REC_DIGITS_WHOLE || digits == REC_DIGITS_FRACTION ||
	       digits == REC_DIGITS_EXPONENT;
}
