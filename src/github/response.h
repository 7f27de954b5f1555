/* response.h - one HTTP answer as the rest of this program reads it: a status, the few headers that matter, a body.
 * Filled line by line by whoever speaks HTTP. Pure. */
#ifndef REC_GITHUB_RESPONSE_H
#define REC_GITHUB_RESPONSE_H

#include "base/buffer.h"
#include "base/slice.h"

#define GH_BODY_BYTES_MAX (16u << 20)    /* a listing of 100 issues with the longest texts has about 7 MiB */
#define GH_HEADERS_BYTES_MAX (64u << 10) /* of those kept */
#define GH_WAIT_S_MIN 60
#define GH_WAIT_S_MAX 3600 /* whatever an answer says, it is asked again after an hour */

/* What an answer tells of the token's budget; -1: nothing. */
struct gh_budget {
	int64_t limit, remaining, reset_s; /* reset: seconds since 1970, as told */
};

struct gh_response {
	int status; /* 0: there was none, `failure` says why */
	struct rec_arena arena;
	struct rec_slice etag, link, location; /* empty: none */
	int64_t retry_after_s;                 /* -1: none */
	int64_t retry_at_us;                   /* Retry-After as a date; INT64_MIN: none */
	int64_t date_us;                       /* the server's clock; INT64_MIN: none */
	struct gh_budget budget;
	bool graphql; /* the budget is GraphQL's own */
	struct rec_buffer body;
	struct rec_slice failure; /* why there is no answer; a static text, or in the arena */
	int failed;               /* 0 or REC_E_NOMEM */
};
void gh_response_init(struct gh_response *r, const struct rec_allocator *a);
void gh_response_release(struct gh_response *r);
void gh_response_clear(struct gh_response *r); /* for the next answer */
/* One header line, with or without its line end. A status line begins a new answer (what came before, such as 100
 * Continue, is forgotten). Unknown and malformed ones are passed over. */
void gh_response_line(struct gh_response *r, struct rec_slice line);

/* "Tue, 10 Oct 2017 16:00:00 GMT" as microseconds since 1970. 0 or REC_E_INVALID. */
int gh_http_date_parse(struct rec_slice text, int64_t *ret_us);

/* The target of the first link of that relation ("next", "last") in a Link header (RFC 8288), as it stands there;
 * empty if there is none. */
struct rec_slice gh_link_header_find(struct rec_slice header, const char *relation);
/* The value of the field `page` in a URL's query, or -1. */
int64_t gh_url_page(struct rec_slice url);

/* Is this answer "not now" rather than "no"? A limit comes as 403 or 429; by what the headers say, or, without any,
 * by the message. `message` is the body's. *ret_wait_s: how long to ask nothing, 60 s doubled by each strike if
 * nothing says so, always between 1 s and an hour. now_us: our clock, used if the answer has no date. */
bool gh_response_limited(const struct gh_response *r, struct rec_slice message, unsigned strikes, int64_t now_us,
			 int64_t *ret_wait_s);
/* How long until the budget is whole again, clamped likewise. */
int64_t gh_budget_wait_s(const struct gh_budget *b, int64_t now_us);

#endif
