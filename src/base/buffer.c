/* buffer.c - capacity doubles up to maximum + 1 (the terminating NUL is not counted against the maximum), so
 * appending n bytes costs O(n) on average however they are cut. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>

#define CAPACITY_FIRST 64u

void rec_buffer_init(struct rec_buffer *b, const struct rec_allocator *a, size_t maximum)
{
	*b = (struct rec_buffer){.allocator = a, .maximum = maximum < SIZE_MAX ? maximum : SIZE_MAX - 1};
}

void rec_buffer_release(struct rec_buffer *b)
{
	rec_free(b->allocator, b->data);
	rec_buffer_init(b, b->allocator, b->maximum);
}

void rec_buffer_clear(struct rec_buffer *b)
{
	b->length = 0;
	b->failed = 0;
	if (b->data)
		b->data[0] = '\0';
}

static size_t capacity_for(const struct rec_buffer *b, size_t need)
{
	size_t largest = b->maximum + 1, wanted = b->capacity < CAPACITY_FIRST ? CAPACITY_FIRST : b->capacity;
	while (wanted < need)
		wanted = wanted > largest / 2 ? largest : wanted * 2;
	return wanted < largest ? wanted : largest;
}

static int buffer_reserve(struct rec_buffer *b, size_t length)
{
	if (b->failed)
		return b->failed;
	if (length > b->maximum - b->length)
		return b->failed = REC_E_LIMIT;
	size_t need = b->length + length + 1;
	if (need <= b->capacity)
		return 0;
	size_t capacity = capacity_for(b, need);
	char *moved = rec_realloc_array(b->allocator, b->data, capacity, 1);
	if (!moved)
		return b->failed = REC_E_NOMEM;
	b->data = moved;
	b->capacity = capacity;
	b->data[b->length] = '\0';
	return 0;
}

int rec_buffer_add(struct rec_buffer *b, const void *bytes, size_t length)
{
	int r = buffer_reserve(b, length);
	if (r)
		return r;
	if (length)
		memcpy(b->data + b->length, bytes, length);
	rec_buffer_added(b, length);
	return 0;
}

int rec_buffer_add_text(struct rec_buffer *b, const char *text)
{
	return rec_buffer_add(b, text, strlen(text));
}

int rec_buffer_printf(struct rec_buffer *b, const char *format, ...)
{
	if (buffer_reserve(b, 0))
		return b->failed;
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	size_t room = b->capacity - b->length;
	int wanted = vsnprintf(b->data + b->length, room, format, arguments);
	int r = wanted < 0 ? (b->failed = REC_E_LIMIT) : buffer_reserve(b, (size_t)wanted);
	if (r == 0 && (size_t)wanted >= room)
		vsnprintf(b->data + b->length, (size_t)wanted + 1, format, again);
	va_end(again);
	va_end(arguments);
	if (r == 0)
		rec_buffer_added(b, (size_t)wanted);
	else
		b->data[b->length] = '\0';
	return r;
}

char *rec_buffer_space(struct rec_buffer *b, size_t length)
{
	return buffer_reserve(b, length) ? NULL : b->data + b->length;
}

void rec_buffer_added(struct rec_buffer *b, size_t length)
{
	b->length += length;
	if (b->data)
		b->data[b->length] = '\0';
}

void rec_buffer_consume(struct rec_buffer *b, size_t length)
{
	if (length == 0)
		return;
	size_t rest = length < b->length ? b->length - length : 0;
	if (rest)
		memmove(b->data, b->data + length, rest);
	b->length = rest;
	b->data[rest] = '\0';
}

struct rec_slice rec_buffer_slice(const struct rec_buffer *b)
{
	return (struct rec_slice){b->data, b->length};
}
