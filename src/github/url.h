/* url.h - URLs as far as this program meets them: where the API is, what a link names, where an answer points.
 * Pure; slices point into the text that was parsed. */
#ifndef REC_GITHUB_URL_H
#define REC_GITHUB_URL_H

#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"

#define GH_URL_BYTES_MAX 2048
#define GH_API_URL_DEFAULT "https://api.github.com"

struct gh_url {
	bool https;
	struct rec_slice host; /* as written; an IPv6 address without its brackets */
	unsigned port;
	struct rec_slice path; /* with the query, from the first '/'; may be empty */
};
/* An absolute http or https URL of printable ASCII without blanks, quotes, angle brackets or a backslash. Refused:
 * a user before the host (it hides the host), a fragment. 0 or REC_E_INVALID. */
int gh_url_parse(struct rec_slice text, struct gh_url *ret_url);
/* Scheme, host (in any case) and port are the same: what a token may be sent to. */
bool gh_url_same_origin(const struct gh_url *a, const struct gh_url *b);
/* 127.0.0.0/8, ::1 or localhost. */
bool gh_host_is_loopback(struct rec_slice host);

/* Where one GitHub is. The texts are NUL-terminated and live in the arena; none ends in '/'. */
struct gh_place {
	struct rec_slice api, graphql, web;
	struct gh_url origin, pages; /* of api; of web */
};
/* From the API's URL: https://api.github.com; https://HOST/api/v3 (GitHub Enterprise Server: the pages are at
 * https://HOST); https://api.HOST (the pages are at https://HOST); anything else is a stand-in whose pages are
 * those of github.com. http is allowed on a loopback address only, since a token travels with each request.
 * 0, REC_E_INVALID, REC_E_NOMEM. */
int gh_place_init(struct gh_place *place, struct rec_arena *arena, struct rec_slice api_url, struct rec_error *error);

/* What a link names. */
struct gh_link {
	struct rec_slice owner, repo;
	int64_t number;
	bool pull; /* written as a pull request; GitHub itself knows one row of numbers for both */
};
/* WEB/OWNER/REPO/issues/N or WEB/OWNER/REPO/pull/N, with anything behind in the query, the fragment or a further
 * folder. NULL, or why not, for a person. */
const char *gh_link_parse(struct rec_slice url, const struct gh_place *place, struct gh_link *ret_link);

/* Where a Location or a Link points that came with an answer from `from`: absolute, or a path. Whatever is asked
 * because an answer said so comes from here, so a token goes to the API's origin alone. The text lives in the arena. 0,
 * REC_E_INVALID (it is no usable URL), REC_E_PERMISSION (it leaves the origin), REC_E_NOMEM. */
int gh_place_resolve(const struct gh_place *place, struct rec_arena *arena, struct rec_slice from,
		     struct rec_slice location, struct rec_slice *ret_url);

#endif
