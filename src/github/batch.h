/* batch.h - up to 100 issues and pull requests of any repositories in one GraphQL query: one request, one point. Pure.
 */
#ifndef REC_GITHUB_BATCH_H
#define REC_GITHUB_BATCH_H

#include "base/buffer.h"
#include "github/item.h"

struct gh_batch_asked {
	struct rec_slice owner, repo; /* as gh_link_parse gives them: nothing in them needs an escape */
	int64_t number;
	size_t repository; /* rN; those of one repository stand together, numbered from 0 without gaps */
};
/* Appends the request's body, {"query":"..."}. 0, REC_E_NOMEM, REC_E_LIMIT. */
int gh_batch_write(struct rec_buffer *out, const struct gh_batch_asked *asked, size_t count);

/* What a batch says of one asked number. */
enum gh_answered {
	GH_ANSWERED_NOT,       /* nothing, or null without a reason: ask by REST */
	GH_ANSWERED_ITEM,      /* the item */
	GH_ANSWERED_NO_ITEM,   /* null, NOT_FOUND: moved, deleted or never there; REST tells which */
	GH_ANSWERED_NO_ACCESS, /* null, FORBIDDEN or the like */
	GH_ANSWERED_NO_REPO,   /* the repository is not visible */
};
struct gh_batch_answer {
	enum gh_answered answered[GH_ITEMS_MAX]; /* by alias: iN stands for the Nth asked */
	struct gh_item items[GH_ITEMS_MAX];
	bool limited;             /* an error of type RATE_LIMITED */
	bool data;                /* there was a data object */
	struct rec_slice message; /* of the first error */
};
/* repositories[i]: which rN the Nth asked item belongs to. 0, REC_E_INVALID, REC_E_NOMEM. */
int gh_batch_read(struct rec_slice body, struct rec_arena *arena, const size_t *repositories, size_t count,
		  struct gh_batch_answer *ret_answer);

#endif
