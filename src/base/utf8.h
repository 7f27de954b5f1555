/* utf8.h - one step of UTF-8 decoding, inline, for the files of this floor that walk through text. */
#ifndef REC_BASE_UTF8_H
#define REC_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REC_HIGH_BITS UINT64_C(0x8080808080808080)
#define REC_ALL_BYTES UINT64_C(0x0101010101010101)

static inline uint64_t rec_load_u64(const void *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof word);
	return word;
}

/* Not zero if one of the eight bytes is `byte` (ASCII); right only if none is beyond ASCII. Only such a byte becomes
 * negative by the subtraction; a borrow can reach another byte only from one that did. */
static inline uint64_t rec_word_has(uint64_t word, unsigned char byte)
{
	return ((word ^ REC_ALL_BYTES * byte) - REC_ALL_BYTES) & REC_HIGH_BITS;
}

/* Not zero if one of the eight bytes is a control character (0x00-0x1f, 0x7f) or beyond ASCII. */
static inline uint64_t rec_word_unprintable(uint64_t word)
{
	return ((word | (word - REC_ALL_BYTES * 0x20)) & REC_HIGH_BITS) | rec_word_has(word, 0x7f);
}

/* How many leading bytes are ASCII, 8 at a time; the answer may stop short of the first other byte by up to 7. */
static inline size_t rec_ascii_run(const char *bytes, size_t length)
{
	size_t i = 0;
	while (length - i >= 32 && !((rec_load_u64(bytes + i) | rec_load_u64(bytes + i + 8) |
				      rec_load_u64(bytes + i + 16) | rec_load_u64(bytes + i + 24)) &
				     REC_HIGH_BITS))
		i += 32;
	while (length - i >= 8 && !(rec_load_u64(bytes + i) & REC_HIGH_BITS))
		i += 8;
	return i;
}

/* How many bytes the character that begins with `lead` takes; 0 if nothing begins so. */
static inline int rec_utf8_length(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* The length of the character at p (left >= 1), or minus the length of what is wrong there: the longest
 * beginning of a character, at least one byte, that is not continued as it must be. */
static inline int rec_utf8_step(const unsigned char *p, size_t left)
{
	int length = rec_utf8_length(p[0]);
	if (length <= 1)
		return length ? 1 : -1;
	/* Only the second byte's range depends on the first: it excludes overlong forms, surrogates and
	 * everything beyond U+10FFFF. */
	unsigned low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
	unsigned high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
	if (left < 2 || p[1] < low || p[1] > high)
		return -1;
	for (int i = 2; i < length; i++)
		if (left <= (size_t)i || (p[i] & 0xc0) != 0x80)
			return -i;
	return length;
}

/* After a negative step: would more bytes make a character of it? */
static inline bool rec_utf8_truncated(const unsigned char *p, size_t left, int step)
{
	return (size_t)-step == left && left < (size_t)rec_utf8_length(p[0]);
}

/* The code point of a character that rec_utf8_step found sound. */
static inline uint32_t rec_utf8_code_point(const unsigned char *p, int length)
{
	if (length == 1)
		return p[0];
	uint32_t code = p[0] & (0x7fu >> length);
	for (int i = 1; i < length; i++)
		code = code << 6 | (p[i] & 0x3fu);
	return code;
}

/* May a person be shown this code point in a line? Not control characters (U+0000-U+001F, U+007F-U+009F), nor
 * what ends a line (U+2028, U+2029), nor the embeddings, overrides and isolates that reorder what follows
 * them: a hostile id could look like another. */
static inline bool rec_code_printable(uint32_t code)
{
	bool control = code < 0x20 || (code >= 0x7f && code <= 0x9f);
	bool turns = (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
	return !control && !turns;
}

#endif
