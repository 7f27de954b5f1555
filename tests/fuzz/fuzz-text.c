/* fuzz-text.c - text, ids, times, durations and sizes against simple second opinions. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/idmap.h"
#include "base/text.h"
#include "base/timestamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth, const char *what)
{
	if (!truth) {
		(void)fprintf(stderr, "fuzz-text: %s\n", what);
		abort();
	}
}

/* Decodes loosely, then asks whether this was the only and the shortest way. Returns the length or 0. */
static size_t simple_step(const unsigned char *p, size_t left, uint32_t *ret_code)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
	if (length == 0 || length > left)
		return 0;
	uint32_t code = length == 1 ? p[0] : p[0] & (0xffu >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		code = code * 64 + p[i] % 64;
	}
	*ret_code = code;
	return code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

struct opinion {
	size_t valid_length; /* up to the first bad byte */
	bool control;
};

static struct opinion simple_opinion(struct rec_slice text)
{
	struct opinion opinion = {0};
	while (opinion.valid_length < text.length) {
		uint32_t code;
		size_t step = simple_step((const unsigned char *)text.data + opinion.valid_length,
					  text.length - opinion.valid_length, &code);
		if (!step)
			break;
		opinion.control |= code < 0x20 || (code >= 0x7f && code < 0xa0);
		opinion.valid_length += step;
	}
	return opinion;
}

static void check_validity(struct rec_slice text)
{
	struct opinion opinion = simple_opinion(text);
	bool valid = opinion.valid_length == text.length;
	demand(rec_utf8_error_offset(text) == opinion.valid_length, "the first bad byte");
	demand(rec_utf8_valid(text) == valid, "validity");
	bool good_id = valid && text.length >= 1 && text.length <= 255 && !opinion.control;
	demand((rec_id_problem(text) == NULL) == good_id, "an id");
}

static void check_shown(struct rec_slice text, size_t bytes_max)
{
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, bytes_max);
	demand(rec_text_show(&b, text, bytes_max) == 0, "not shown within its limit");
	struct opinion opinion = simple_opinion(rec_buffer_slice(&b));
	demand(opinion.valid_length == b.length && !opinion.control, "what is shown is not printable UTF-8");
	demand(rec_text_columns(rec_buffer_slice(&b)) <= 2 * b.length, "columns");
	char fixed[16 + 32];
	size_t capacity = 16 + text.length % 32;
	demand(strlen(rec_text_shown(fixed, capacity, text)) < capacity, "shown beyond the array");
	demand(rec_utf8_valid(rec_slice_of(fixed)), "the array is not UTF-8");
	rec_buffer_release(&b);
}

static void check_values(struct rec_slice text)
{
	int64_t us, again;
	uint64_t bytes;
	if (rec_timestamp_parse(text, &us) == 0) {
		char formatted[REC_TIMESTAMP_BYTES];
		rec_timestamp_format(us, formatted);
		demand(rec_timestamp_parse(rec_slice_of(formatted), &again) == 0, "a formatted time is not read");
		bool clamped = memcmp(formatted, "0000-01-01", 10) == 0 || memcmp(formatted, "9999-12-31", 10) == 0;
		demand(again == us || clamped, "a time changed");
	}
	if (rec_duration_parse(text, &us) == 0)
		demand(us >= 0 && us <= INT64_MAX / 1000, "a duration out of its range");
	if (rec_size_parse(text, &bytes) == 0 && text.data[text.length - 1] <= '9') {
		struct rec_buffer b;
		rec_buffer_init(&b, NULL, SIZE_MAX);
		rec_buffer_printf(&b, "%llu", (unsigned long long)bytes);
		while (text.length > 1 && text.data[0] == '0') {
			text.data++;
			text.length--;
		}
		demand(rec_slice_equal(rec_buffer_slice(&b), text), "a size changed");
		rec_buffer_release(&b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of just that size, so that a sanitizer sees the first byte read beyond it. */
	char *exact = malloc(size ? size : 1);
	demand(exact != NULL, "out of memory");
	if (size)
		memcpy(exact, data, size);
	struct rec_slice text = {exact, size};
	check_validity(text);
	check_shown(text, 4 * size + 3);
	check_shown(text, size % 64);
	check_values(text);
	demand(rec_hash(text, 1) == rec_hash((struct rec_slice){(const char *)data, size}, 1), "the hash of a copy");
	free(exact);
	return 0;
}
