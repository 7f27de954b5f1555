/* mark.h - what this program remembers, as text that others keep for it: a mark for each link (its validator), a cursor
 * for each repository, and whose turn it is. A text that is not understood is as good as none, so a newer or
 * older version costs one fresh read and nothing else. Pure. */
#ifndef REC_GITHUB_MARK_H
#define REC_GITHUB_MARK_H

#include "base/buffer.h"
#include "github/item.h"

#define GH_MARK_BYTES_MAX 1024
#define GH_ETAG_BYTES_MAX 256 /* a longer one is not kept */

/* What is known of a link. Times are seconds since 1970 by the server's clock. */
struct gh_mark {
	int64_t covered_s;   /* every change before this is in what follows */
	int64_t verified_s;  /* when the link itself was last read, rather than missed in a listing */
	enum gh_state state; /* UNKNOWN: never seen */
	bool pull;
	int64_t comments;                       /* -1: not known */
	struct rec_slice updated, reason, etag; /* empty: none */
};
/* Slices of the result point into the text. */
int gh_mark_read(struct rec_slice text, struct gh_mark *ret_mark); /* 0 or REC_E_INVALID */
int gh_mark_write(struct rec_buffer *out, const struct gh_mark *mark);
/* Do both say the same of the issue? */
bool gh_mark_same(const struct gh_mark *a, const struct gh_mark *b);

/* How far the listing of a repository was read, and for whom: that it is as it was (304) tells something of just those
 * links that were asked about when it was read. */
struct gh_cursor {
	int64_t since_s;       /* 0: from the beginning */
	int64_t links;         /* a fingerprint of their numbers */
	struct rec_slice etag; /* of the one page that listing had; empty: none */
};
int gh_cursor_read(struct rec_slice text, struct gh_cursor *ret_cursor);
int gh_cursor_write(struct rec_buffer *out, const struct gh_cursor *cursor);

/* The place among the links that single reads begin with. */
int gh_turn_read(struct rec_slice text, size_t *ret_turn);
int gh_turn_write(struct rec_buffer *out, size_t turn);

#endif
