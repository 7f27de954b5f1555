/* files-group.c - the log as bytes: a head line, then groups. A group is lines and an end line with its number, its
 * length and a sum over all that, so that a group that a power cut tore is none. Behind a group may stand the print of
 * the files as they were after it. */
#include "store/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WAY_OUT                                                                                                        \
	"(put a copy of .rec back; or move .rec away, and `reconciler init` makes a new one: tasks stay, claims and "  \
	"events do not)"

#define HEAD "reconciler-files "
#define END_BYTES_MAX 128

static uint64_t sum_add(uint64_t sum, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < length; i++)
		sum = (sum ^ at[i]) * UINT64_C(1099511628211);
	return sum;
}

static uint64_t sum_of(struct rec_slice body, int64_t number)
{
	uint64_t sum = sum_add(UINT64_C(14695981039346656037), body.data, body.length);
	return sum_add(sum, &number, sizeof number);
}

bool rec_files_line_next(struct rec_slice *body, struct rec_slice *ret_line)
{
	const char *end = body->length ? memchr(body->data, '\n', body->length) : NULL;
	if (!end)
		return false;
	size_t length = (size_t)(end - body->data);
	*ret_line = (struct rec_slice){body->data, length};
	*body = (struct rec_slice){end + 1, body->length - length - 1};
	return true;
}

bool rec_files_line_is(struct rec_slice line, const char *word, struct rec_slice *ret_rest)
{
	size_t length = strlen(word);
	if (line.length <= length || memcmp(line.data, word, length) != 0 || line.data[length] != ' ')
		return false;
	*ret_rest = (struct rec_slice){line.data + length + 1, line.length - length - 1};
	return true;
}

/* Is the line this text, made of those numbers? They are read loosely and then written again. */
static bool line_matches(struct rec_slice line, const char *wanted)
{
	return rec_slice_equal(line, rec_slice_of(wanted));
}

static bool end_read(struct rec_slice line, struct rec_slice body, struct rec_files_group *ret)
{
	char text[END_BYTES_MAX], again[END_BYTES_MAX];
	int64_t number = 0;
	if (line.length >= sizeof text)
		return false;
	memcpy(text, line.data, line.length);
	text[line.length] = '\0';
	number = strtoll(text + 2, NULL, 10);
	snprintf(again, sizeof again, "= %" PRId64 " %zu %016" PRIx64, number, body.length, sum_of(body, number));
	ret->body = body;
	ret->number = number;
	return line_matches(line, again);
}

static bool print_read(struct rec_slice line, struct rec_files_group *ret)
{
	char text[END_BYTES_MAX], again[END_BYTES_MAX];
	if (line.length >= sizeof text)
		return false;
	memcpy(text, line.data, line.length);
	text[line.length] = '\0';
	ret->print = strtoull(text + 2, NULL, 16);
	ret->print_only = true;
	snprintf(again, sizeof again, "! %016" PRIx64, ret->print);
	return line_matches(line, again);
}

static int damaged(struct rec_slice rest, struct rec_error *error)
{
	if (rest.length == 0)
		return REC_END; /* the last write did not end well: it never happened */
	return rec_fail(error, REC_E_CORRUPT, "a group of changes is damaged " WAY_OUT);
}

int rec_files_group_next(struct rec_slice bytes, struct rec_files_group *ret, struct rec_error *error)
{
	struct rec_slice rest = bytes, line;
	struct rec_files_group group = {0};
	while (rec_files_line_next(&rest, &line)) {
		bool end = line.length >= 2 && line.data[1] == ' ' && line.data[0] == '=';
		bool print = line.length >= 2 && line.data[1] == ' ' && line.data[0] == '!';
		if (!end && !print)
			continue;
		struct rec_slice body = {bytes.data, (size_t)(line.data - bytes.data)};
		if (print ? body.length > 0 || !print_read(line, &group) : !end_read(line, body, &group))
			return damaged(rest, error);
		group.length = (size_t)(rest.data - bytes.data);
		*ret = group;
		return 0;
	}
	return REC_END;
}

int rec_files_group_end(struct rec_buffer *out, size_t from, int64_t number)
{
	if (out->failed)
		return out->failed;
	struct rec_slice body = {out->data + from, out->length - from};
	return rec_buffer_printf(out, "= %" PRId64 " %zu %016" PRIx64 "\n", number, body.length, sum_of(body, number));
}

int rec_files_print_write(struct rec_buffer *out, uint64_t print)
{
	return rec_buffer_printf(out, "! %016" PRIx64 "\n", print);
}

int rec_files_head_write(struct rec_buffer *out, uint64_t generation)
{
	return rec_buffer_printf(out, HEAD "%d %016" PRIx64 "\n", REC_FILES_VERSION, generation);
}

int rec_files_head_read(struct rec_slice bytes, uint64_t *ret_generation, size_t *ret_length, struct rec_error *error)
{
	struct rec_slice line;
	char text[64], *end;
	if (!rec_files_line_next(&bytes, &line) || line.length >= sizeof text || line.length < sizeof HEAD ||
	    memcmp(line.data, HEAD, sizeof HEAD - 1) != 0)
		return rec_fail(error, REC_E_NOT_A_STORE, "this is no log of reconciler " WAY_OUT);
	memcpy(text, line.data, line.length);
	text[line.length] = '\0';
	long version = strtol(text + sizeof HEAD - 1, &end, 10);
	if (version != REC_FILES_VERSION)
		return rec_fail(error, REC_E_VERSION,
				"version %ld of the format is not known here, only version %d (use a reconciler that "
				"knows it)",
				version, REC_FILES_VERSION);
	*ret_generation = strtoull(end, NULL, 16);
	*ret_length = line.length + 1;
	return 0;
}
