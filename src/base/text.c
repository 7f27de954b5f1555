/* text.c - ASCII is passed over eight bytes at a time; everything else goes through one step of utf8.h. */
#include "base/text.h"

#include "base/utf8.h"

size_t rec_utf8_error_offset(struct rec_slice text)
{
	size_t i = 0;
	while (i < text.length) {
		i += rec_ascii_run(text.data + i, text.length - i);
		if (i == text.length)
			break;
		int step = rec_utf8_step((const unsigned char *)text.data + i, text.length - i);
		if (step < 0)
			return i;
		i += (size_t)step;
	}
	return i;
}

bool rec_utf8_valid(struct rec_slice text)
{
	return rec_utf8_error_offset(text) == text.length;
}

/* Is this at least eight bytes of printable ASCII, as nearly every id is? The last word overlaps. */
static bool id_is_plain(struct rec_slice id)
{
	if (id.length < 8)
		return false;
	uint64_t stops = rec_word_unprintable(rec_load_u64(id.data + id.length - 8));
	for (size_t i = 0; i + 8 < id.length; i += 8)
		stops |= rec_word_unprintable(rec_load_u64(id.data + i));
	return stops == 0;
}

const char *rec_id_problem(struct rec_slice id)
{
	if (id.length == 0)
		return "is empty";
	if (id.length > REC_ID_BYTES_MAX)
		return "is longer than 255 bytes";
	if (id_is_plain(id))
		return NULL;
	if (!rec_utf8_valid(id))
		return "is not UTF-8";
	const unsigned char *p = (const unsigned char *)id.data;
	for (size_t i = 0; i < id.length; i++)
		if (p[i] < 0x20 || p[i] == 0x7f || (p[i] == 0xc2 && p[i + 1] < 0xa0))
			return "holds a control character";
	return NULL;
}

/* One piece of shown text: a character as it is, or one byte as \xNN. Returns how many bytes of the text it
 * stands for. */
static size_t show_piece(struct rec_slice text, size_t at, char piece[4], size_t *ret_length)
{
	const unsigned char *p = (const unsigned char *)text.data + at;
	int step = rec_utf8_step(p, text.length - at);
	if (step > 0 && rec_code_printable(rec_utf8_code_point(p, step))) {
		memcpy(piece, p, (size_t)step);
		*ret_length = (size_t)step;
		return (size_t)step;
	}
	static const char digits[] = "0123456789abcdef";
	piece[0] = '\\';
	piece[1] = 'x';
	piece[2] = digits[*p >> 4];
	piece[3] = digits[*p & 15];
	*ret_length = 4;
	return 1;
}

/* Writes at most `room` bytes to out (NULL: only measures) and returns how many. */
static size_t show(char *out, size_t room, struct rec_slice text)
{
	size_t used = 0, cut = 0;
	for (size_t at = 0; at < text.length;) {
		char piece[4];
		size_t length;
		at += show_piece(text, at, piece, &length);
		if (length > room - used) {
			size_t dots = room - cut < 3 ? room - cut : 3;
			if (out)
				memset(out + cut, '.', dots);
			return cut + dots;
		}
		if (out)
			memcpy(out + used, piece, length);
		used += length;
		if (room - used >= 3)
			cut = used;
	}
	return used;
}

int rec_text_show(struct rec_buffer *out, struct rec_slice text, size_t bytes_max)
{
	size_t length = show(NULL, bytes_max, text);
	char *place = rec_buffer_space(out, length);
	if (!place)
		return out->failed;
	rec_buffer_added(out, show(place, bytes_max, text));
	return 0;
}

char *rec_text_shown(char *out, size_t capacity, struct rec_slice text)
{
	out[show(out, capacity - 1, text)] = '\0';
	return out;
}
