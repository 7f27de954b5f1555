/* item.h - what the bodies of GitHub's answers say: issues and pull requests by REST and GraphQL, messages, comments.
 * Pure; texts are copied into an arena. */
#ifndef REC_GITHUB_ITEM_H
#define REC_GITHUB_ITEM_H

#include "base/memory.h"
#include "base/slice.h"

#define GH_ITEMS_MAX 100 /* of one page or one batch */

enum gh_state {
	GH_STATE_UNKNOWN, /* a word this program does not know */
	GH_STATE_OPEN,
	GH_STATE_CLOSED,
	GH_STATE_MERGED, /* in a mark or an observation; in an item it is CLOSED and merged */
};
enum gh_merged {
	GH_MERGED_UNKNOWN, /* the answer did not say: older servers leave the key out of a list */
	GH_MERGED_NO,
	GH_MERGED_YES,
};

/* One issue or pull request. */
struct gh_item {
	int64_t number; /* 0: missing or not a number */
	enum gh_state state;
	struct rec_slice reason;  /* lower case; empty: none */
	struct rec_slice updated; /* RFC 3339 as written; empty: missing or no time */
	int64_t updated_us;
	int64_t comments;      /* -1: not said */
	struct rec_slice page; /* html_url; empty: missing */
	bool pull;
	enum gh_merged merged;
};

struct gh_item_list {
	struct gh_item items[GH_ITEMS_MAX];
	size_t count;
	bool more; /* there were more than GH_ITEMS_MAX */
};

/* A body that is one item (/issues/N, /pulls/N). 0, REC_E_INVALID (not JSON, or not an object), REC_E_NOMEM. Missing
 * and wrong fields are left as the struct says. */
int gh_item_read(struct rec_slice body, struct rec_arena *arena, struct gh_item *ret_item);
/* A body that is an array of items. An element that is no object becomes an item without a number. */
int gh_item_list_read(struct rec_slice body, struct rec_arena *arena, struct gh_item_list *ret_list);
/* Why an item cannot be used, or NULL. */
const char *gh_item_problem(const struct gh_item *item);

/* "message" of an error body; empty if the body is not such an object. 0 or REC_E_NOMEM. */
int gh_message_read(struct rec_slice body, struct rec_arena *arena, struct rec_slice *ret_message);
/* A repository: are its issues switched off? 0, REC_E_INVALID, REC_E_NOMEM. */
int gh_repository_read(struct rec_slice body, struct rec_arena *arena, bool *ret_without_issues);
/* A list of comments: does the body of one hold the marker? 0, REC_E_INVALID, REC_E_NOMEM. */
int gh_comments_read(struct rec_slice body, struct rec_arena *arena, struct rec_slice marker, bool *ret_found);

/* For batch.c: the object that the current token begins; a short text that is the current token (empty if it is none,
 * or a long one). */
struct gh_document;
int gh_item_take(struct gh_document *d, struct rec_arena *arena, struct gh_item *ret_item);
int gh_text_keep(const struct gh_document *d, struct rec_arena *arena, struct rec_slice *ret_text);

#endif
