/* close.h - one `close`: comment on an issue, then close it, so that doing it again after any interruption does nothing
 * twice. No I/O; driven like a pass (pass.h).
 *
 * The issue is read first (an issue that is closed already needs nothing more), then its comments: one that holds the
 * marker is ours, from an attempt whose answer got lost. Only if there is none is a comment written, with the marker
 * in it, and only then the issue is closed. Pull requests are not closed: a task that is done is no reason to throw a
 * change away. */
#ifndef REC_GITHUB_CLOSE_H
#define REC_GITHUB_CLOSE_H

#include "github/ask.h"
#include "github/protocol.h"

#define GH_COMMENT_PAGES_MAX 30
#define GH_COMMENT_BYTES_MAX 65536 /* GitHub takes no longer ones */

enum gh_close_step { GH_CLOSE_READ, GH_CLOSE_LOOK, GH_CLOSE_COMMENT, GH_CLOSE_SHUT, GH_CLOSE_DONE };

struct gh_close {
	const struct rec_allocator *allocator;
	const struct gh_place *place;
	const struct gh_request *request;
	struct rec_arena arena;
	struct rec_buffer body;
	enum gh_close_step step;
	bool asked;
	struct gh_ask ask;
	struct rec_slice item; /* the issue's own URL, behind all redirects */
	struct rec_slice pages[GH_COMMENT_PAGES_MAX];
	size_t page_count;
	int failed;
	struct rec_slice problem; /* empty once DONE: it is closed */
	int64_t wait_s;
};
void gh_close_init(struct gh_close *c, const struct rec_allocator *a, const struct gh_place *place,
		   const struct gh_request *request, bool with_token);
void gh_close_release(struct gh_close *c);
/* 0 and the next request; REC_END: done, c->problem tells how; REC_E_NOMEM. */
int gh_close_next(struct gh_close *c, int64_t elapsed_ms, const struct gh_ask **ret_ask);
int gh_close_answer(struct gh_close *c, const struct gh_response *r, int64_t now_us); /* 0 or REC_E_NOMEM */

#endif
