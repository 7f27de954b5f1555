/* slice.h - a run of bytes that somebody else owns. */
#ifndef REC_BASE_SLICE_H
#define REC_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rec_slice {
	const char *data; /* not terminated, unless the owner says so; may be NULL if length is 0 */
	size_t length;
};

static inline struct rec_slice rec_slice_of(const char *text)
{
	return (struct rec_slice){text, text ? strlen(text) : 0};
}
static inline bool rec_slice_equal(struct rec_slice a, struct rec_slice b)
{
	return a.length == b.length && (a.length == 0 || (a.data && b.data && memcmp(a.data, b.data, a.length) == 0));
}
/* Bytewise order (as SQLite's BINARY collation): <0, 0, >0. */
static inline int rec_slice_compare(struct rec_slice a, struct rec_slice b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
	return order ? order : (a.length > b.length) - (a.length < b.length);
}

#endif
