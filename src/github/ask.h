/* ask.h - one HTTP request to GitHub, as a value, and the rules that hold for every one: redirects, and what an answer
 * that is no good is called. Pure. */
#ifndef REC_GITHUB_ASK_H
#define REC_GITHUB_ASK_H

#include "github/response.h"
#include "github/url.h"

#define GH_HOPS_MAX 5
#define GH_ASK_MS_MIN 500 /* with less than that left nothing more is asked */

enum gh_verb { GH_GET, GH_POST, GH_PATCH };

/* Every ask goes to the API's own origin; that is what lets a token go with it. */
struct gh_ask {
	enum gh_verb verb;
	struct rec_slice url;           /* NUL-terminated */
	struct rec_slice if_none_match; /* empty: none */
	struct rec_slice body;          /* POST and PATCH */
	unsigned hops;                  /* redirects followed */
	bool temporary;                 /* one of them was temporary: where it led is not to be remembered */
};

enum gh_redirect {
	GH_REDIRECT_NONE,    /* the answer is none */
	GH_REDIRECT_FOLLOW,  /* *ask is now the next one to send */
	GH_REDIRECT_REFUSED, /* *ret_problem says why */
};
/* 301 and 308 are permanent, 302, 303 and 307 temporary. Followed within the API's origin only, at most GH_HOPS_MAX
 * times, never twice to the same place in a row; a write only where its method is kept (307, 308).
 * REC_E_NOMEM, else one of the above. */
int gh_ask_redirect(struct gh_ask *ask, const struct gh_response *r, struct rec_arena *arena,
		    const struct gh_place *place, const char **ret_problem);

/* "GitHub answered 502: <!DOCTYPE html>..." for a person, in the arena: the status and the message, or the body's
 * beginning. Empty: out of memory. */
struct rec_slice gh_answer_problem(const struct gh_response *r, struct rec_slice message, struct rec_arena *arena);
/* A formatted text in the arena, cut at 400 bytes. Empty: out of memory. */
struct rec_slice gh_text(struct rec_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A NUL-terminated URL in the arena; empty: out of memory, or longer than GH_URL_BYTES_MAX. */
struct rec_slice gh_url_text(struct rec_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
