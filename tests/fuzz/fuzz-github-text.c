/* fuzz-github-text.c - URLs, headers, marks, request lines, comments and tokens: what is taken is sound, and comes back
 * as it was. */
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "github/item.h"
#include "github/mark.h"
#include "github/protocol.h"
#include "github/token-text.h"
#include "github/url.h"

static bool inside(struct rec_slice part, struct rec_slice whole)
{
	return part.length == 0 || (part.data >= whole.data && part.data + part.length <= whole.data + whole.length);
}

static void check_url(struct rec_slice text, const struct gh_place *place, struct rec_arena *arena)
{
	struct gh_url url, again;
	struct gh_link link;
	struct rec_slice resolved;
	if (gh_url_parse(text, &url) == 0) {
		require(inside(url.host, text) && inside(url.path, text) && url.host.length && url.port);
		require(!memchr(text.data, '\\', text.length) && !memchr(text.data, 0, text.length));
		require(gh_url_same_origin(&url, &url));
	}
	if (gh_place_resolve(place, arena, place->api, text, &resolved) == 0)
		require(gh_url_parse(resolved, &again) == 0 && gh_url_same_origin(&again, &place->origin));
	if (gh_link_parse(text, place, &link) == NULL) {
		char wanted[400];
		snprintf(wanted, sizeof wanted, "https://github.com/%.*s/%.*s/%s/%lld", (int)link.owner.length,
			 link.owner.data, (int)link.repo.length, link.repo.data, link.pull ? "pull" : "issues",
			 (long long)link.number);
		require(gh_link_parse(rec_slice_of(wanted), place, &link) == NULL);
	}
}

static void check_headers(struct rec_slice text)
{
	struct gh_response r;
	struct rec_slice next = gh_link_header_find(text, "next"), rest = text;
	int64_t wait_s = -1, us;
	require(inside(next, text));
	require(gh_url_page(text) >= -1);
	(void)gh_http_date_parse(text, &us);
	gh_response_init(&r, NULL);
	while (rest.length) {
		const char *end = memchr(rest.data, '\n', rest.length);
		size_t length = end ? (size_t)(end - rest.data) + 1 : rest.length;
		gh_response_line(&r, (struct rec_slice){rest.data, length});
		rest = (struct rec_slice){rest.data + length, rest.length - length};
	}
	require(r.status >= 0 && r.status <= 599);
	if (gh_response_limited(&r, text, (unsigned)text.length, 1507651200000000, &wait_s))
		require(wait_s >= 1 && wait_s <= GH_WAIT_S_MAX);
	gh_response_release(&r);
}

static void check_marks(struct rec_slice text)
{
	struct gh_mark mark, mark_again;
	struct gh_cursor cursor, cursor_again;
	struct rec_buffer b;
	size_t turn, turn_again;
	rec_buffer_init(&b, NULL, GH_MARK_BYTES_MAX);
	if (gh_mark_read(text, &mark) == 0) {
		require(gh_mark_write(&b, &mark) == 0);
		require(gh_mark_read(rec_buffer_slice(&b), &mark_again) == 0);
		require(gh_mark_same(&mark, &mark_again) && rec_slice_equal(mark.etag, mark_again.etag));
	}
	rec_buffer_clear(&b);
	if (gh_cursor_read(text, &cursor) == 0) {
		require(gh_cursor_write(&b, &cursor) == 0);
		require(gh_cursor_read(rec_buffer_slice(&b), &cursor_again) == 0);
		require(cursor.since_s == cursor_again.since_s && rec_slice_equal(cursor.etag, cursor_again.etag));
	}
	rec_buffer_clear(&b);
	if (gh_turn_read(text, &turn) == 0) {
		require(gh_turn_write(&b, turn) == 0);
		require(gh_turn_read(rec_buffer_slice(&b), &turn_again) == 0 && turn == turn_again);
	}
	rec_buffer_release(&b);
}

static void check_request(struct rec_slice text, struct rec_arena *arena)
{
	struct gh_request request;
	struct rec_error error = {0};
	int r = gh_request_read(text, arena, &request, &error);
	require(r == 0 || (r < 0 && error.message[0]));
	require(r < 0 || (request.budget_share >= 0 && request.budget_share <= 1 && request.deadline_ms >= 0));
	for (size_t i = 0; r == 0 && i < request.link_count; i++)
		require(request.links[i].url.length && rec_utf8_valid(request.links[i].url));
}

static void check_comments(struct rec_slice text, struct rec_arena *arena)
{
	bool found = false;
	int r = gh_comments_read(text, arena, rec_slice_of("marker"), &found);
	require(r == 0 || (r == REC_E_INVALID && !found));
	require(!found || text.length > strlen("[{\"body\":\"marker\"}]") - 1);
}

/* Whoever looks for it in JSON finds it: nothing in it is escaped there. */
static void check_token_json(struct rec_slice token)
{
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, SIZE_MAX);
	require(rec_json_write_string(&b, token) == 0);
	require(b.length == token.length + 2 && memcmp(b.data + 1, token.data, token.length) == 0);
	rec_buffer_release(&b);
}

/* The first line is the token, the rest what is said. */
static void check_token(struct rec_slice text)
{
	const char *end = text.length ? memchr(text.data, '\n', text.length) : NULL;
	size_t length = end ? (size_t)(end - text.data) : 0;
	struct gh_token token = {0};
	if (!end || gh_token_read((struct rec_slice){text.data, length}, &token) < 0)
		return;
	size_t wanted = strlen(token.text), rest = text.length - length;
	require(wanted >= GH_TOKEN_BYTES_MIN && wanted <= GH_TOKEN_BYTES_MAX && wanted <= length);
	check_token_json(rec_slice_of(token.text));
	char *said = rec_zalloc(NULL, rest, 1);
	require(said != NULL);
	memcpy(said, end, rest);
	gh_token_hide(&token, said, rest);
	require(!memmem(said, rest, token.text, wanted));
	rec_free(NULL, said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_slice text = {(const char *)data, size};
	struct rec_arena arena;
	struct gh_place place;
	rec_arena_init(&arena, NULL);
	require(gh_place_init(&place, &arena, rec_slice_of(GH_API_URL_DEFAULT), NULL) == 0);
	check_url(text, &place, &arena);
	check_headers(text);
	check_marks(text);
	check_request(text, &arena);
	check_comments(text, &arena);
	check_token(text);
	rec_arena_release(&arena);
	return 0;
}
