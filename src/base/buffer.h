/* buffer.h - a growing run of bytes with a stated maximum. Errors are sticky: after the first failed
 * append every later one fails too, so a writer may check once at the end. */
#ifndef REC_BASE_BUFFER_H
#define REC_BASE_BUFFER_H

#include "base/memory.h"
#include "base/slice.h"

struct rec_buffer {
	const struct rec_allocator *allocator;
	char *data; /* always terminated by a NUL beyond `length` once anything was appended */
	size_t length, capacity, maximum;
	int failed; /* 0, REC_E_NOMEM or REC_E_LIMIT */
};
void rec_buffer_init(struct rec_buffer *b, const struct rec_allocator *a, size_t maximum);
void rec_buffer_release(struct rec_buffer *b);
void rec_buffer_clear(struct rec_buffer *b); /* length 0, failed 0, memory kept */
int rec_buffer_add(struct rec_buffer *b, const void *bytes, size_t length);
int rec_buffer_add_text(struct rec_buffer *b, const char *text);
int rec_buffer_printf(struct rec_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for `length` more bytes at the returned place (NULL: failed); rec_buffer_added(n) makes n of them count. */
char *rec_buffer_space(struct rec_buffer *b, size_t length);
void rec_buffer_added(struct rec_buffer *b, size_t length);
/* Drops `length` bytes from the front. O(rest). */
void rec_buffer_consume(struct rec_buffer *b, size_t length);
struct rec_slice rec_buffer_slice(const struct rec_buffer *b);

#endif
