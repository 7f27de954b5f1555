/* fold.h - ASCII without regard to case, whatever the locale: headers, hosts, owners, repositories. Pure. */
#ifndef REC_GITHUB_FOLD_H
#define REC_GITHUB_FOLD_H

#include "base/slice.h"

static inline char gh_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* <0, 0, >0 */
static inline int gh_compare_fold(struct rec_slice a, struct rec_slice b)
{
	for (size_t i = 0; i < a.length && i < b.length; i++) {
		int order = (unsigned char)gh_lower(a.data[i]) - (unsigned char)gh_lower(b.data[i]);
		if (order)
			return order;
	}
	return (a.length > b.length) - (a.length < b.length);
}

static inline bool gh_equal_fold(struct rec_slice a, struct rec_slice b)
{
	return a.length == b.length && gh_compare_fold(a, b) == 0;
}

#endif
