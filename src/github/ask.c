/* ask.c - a token is sent to the origin that it was given for and to no other, so a redirect that leaves it is not
 * followed at all, rather than followed without the token: what answers there is not GitHub. */
#include "github/ask.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

int gh_ask_redirect(struct gh_ask *ask, const struct gh_response *r, struct rec_arena *arena,
		    const struct gh_place *place, const char **ret_problem)
{
	struct rec_slice next;
	bool permanent = r->status == 301 || r->status == 308;
	if (!permanent && r->status != 302 && r->status != 303 && r->status != 307)
		return GH_REDIRECT_NONE;
	if (ask->verb != GH_GET && r->status != 307 && r->status != 308) {
		*ret_problem = "a write was redirected";
		return GH_REDIRECT_REFUSED;
	}
	int result = gh_place_resolve(place, arena, ask->url, r->location, &next);
	if (result == REC_E_NOMEM)
		return result;
	if (result < 0) {
		*ret_problem =
			result == REC_E_PERMISSION ? "a redirect leads to another host" : "a redirect leads nowhere";
		return GH_REDIRECT_REFUSED;
	}
	if (ask->hops >= GH_HOPS_MAX || rec_slice_equal(next, ask->url)) {
		*ret_problem = "redirects without an end";
		return GH_REDIRECT_REFUSED;
	}
	ask->url = next;
	ask->hops++;
	ask->temporary |= !permanent;
	return GH_REDIRECT_FOLLOW;
}

struct rec_slice gh_text(struct rec_arena *arena, const char *format, ...)
{
	char text[400];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	size_t kept = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
	kept = rec_utf8_error_offset((struct rec_slice){text, kept});
	char *copy = rec_arena_strndup(arena, text, kept);
	return (struct rec_slice){copy, copy ? kept : 0};
}

struct rec_slice gh_url_text(struct rec_arena *arena, const char *format, ...)
{
	char text[GH_URL_BYTES_MAX + 1];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof text)
		return (struct rec_slice){0};
	char *copy = rec_arena_strndup(arena, text, (size_t)length);
	return (struct rec_slice){copy, copy ? (size_t)length : 0};
}

struct rec_slice gh_answer_problem(const struct gh_response *r, struct rec_slice message, struct rec_arena *arena)
{
	char shown[120];
	struct rec_slice body = rec_buffer_slice(&r->body);
	if (r->status == 0)
		return gh_text(arena, "GitHub could not be asked: %s",
			       rec_text_shown(shown, sizeof shown,
					      r->failure.length ? r->failure : rec_slice_of("no answer")));
	if (message.length)
		return gh_text(arena, "GitHub answered %d: %s", r->status,
			       rec_text_shown(shown, sizeof shown, message));
	if (body.length)
		return gh_text(arena, "GitHub answered %d, not JSON: %s", r->status, rec_text_shown(shown, 60, body));
	return gh_text(arena, "GitHub answered %d", r->status);
}
