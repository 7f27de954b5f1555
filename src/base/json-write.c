/* json-write.c - values of number tokens, and strings as JSON. Strings leave in runs: whatever needs no escape
 * is copied at once. */
#include "base/json.h"
#include "base/utf8.h"

int rec_json_int64(struct rec_slice number, int64_t *ret_value)
{
	size_t i = number.length && number.data[0] == '-';
	bool negative = i == 1;
	if (i == number.length)
		return REC_E_INVALID;
	int64_t value = 0;
	for (; i < number.length; i++) {
		int digit = number.data[i] - '0';
		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, negative ? -digit : digit, &value))
			return REC_E_INVALID;
	}
	*ret_value = value;
	return 0;
}

static inline bool word_is_plain(uint64_t word)
{
	return !(rec_word_unprintable(word) | rec_word_has(word, '"') | rec_word_has(word, '\\'));
}

/* The length of the run from `at` on that is written as it is. */
static size_t plain_length(struct rec_slice text, size_t at)
{
	const unsigned char *p = (const unsigned char *)text.data;
	size_t i = at;
	while (i < text.length) {
		if (text.length - i >= 8 && word_is_plain(rec_load_u64(p + i))) {
			i += 8;
			continue;
		}
		if (p[i] < 0x80) {
			if (p[i] < 0x20 || p[i] == 0x7f || p[i] == '"' || p[i] == '\\')
				break;
			i++;
			continue;
		}
		int step = rec_utf8_step(p + i, text.length - i);
		if (step < 0 || (p[i] == 0xc2 && p[i + 1] < 0xa0))
			break;
		i += (size_t)step;
	}
	return i - at;
}

/* Appends what stands for the character or bad bytes at p; returns how many bytes of text that covers. */
static size_t escape_add(struct rec_buffer *out, const unsigned char *p, size_t left)
{
	static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
	int step = rec_utf8_step(p, left);
	if (step < 0) {
		rec_buffer_add(out, "\xef\xbf\xbd", 3);
		return (size_t)-step;
	}
	const char *value = memchr(values, *p, sizeof values - 1);
	if (value) {
		char pair[2] = {'\\', names[value - values]};
		rec_buffer_add(out, pair, 2);
	} else {
		rec_buffer_printf(out, "\\u%04x", (unsigned)rec_utf8_code_point(p, step));
	}
	return (size_t)step;
}

/* A text that needs no escape, in one piece. */
static int plain_add(struct rec_buffer *out, struct rec_slice text)
{
	char *space = rec_buffer_space(out, text.length + 2);
	if (!space)
		return out->failed;
	space[0] = '"';
	if (text.length)
		memcpy(space + 1, text.data, text.length);
	space[text.length + 1] = '"';
	rec_buffer_added(out, text.length + 2);
	return 0;
}

int rec_json_write_string(struct rec_buffer *out, struct rec_slice text)
{
	size_t plain = plain_length(text, 0);
	if (plain == text.length)
		return plain_add(out, text);
	rec_buffer_add(out, "\"", 1);
	for (size_t at = 0; at < text.length && !out->failed; plain = plain_length(text, at)) {
		rec_buffer_add(out, text.data + at, plain);
		at += plain;
		if (at < text.length)
			at += escape_add(out, (const unsigned char *)text.data + at, text.length - at);
	}
	return rec_buffer_add(out, "\"", 1);
}
