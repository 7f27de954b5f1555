/* fuzz-github-pass.c - any answers to a pass: it ends, asks only where a token may go, and says something of every
 * link.
 *
 * The input is answers, 0x01 between them; in each, header lines up to 0x02, then the body. The first byte chooses the
 * links. When there are no answers left, GitHub is down. */
#include "fuzz.h"
#include "github/document.h"
#include "github/pass.h"

#define NOW_US 1507651200000000
#define REQUESTS_MAX 1000

#define LINK(path, validator) "{\"url\":\"https://github.com/" path "\",\"validator\":" validator "}"
#define SEEN "\"1;1507651140;1507651200;o;i;2;2017-10-10T14:00:00Z;;\\\"a\\\"\""
static const char *const requests[] = {
	"{\"id\":1,\"method\":\"fetch\",\"links\":[" LINK("a/b/issues/1", "null") "," LINK("a/b/pull/2", SEEN) "]}",
	"{\"id\":1,\"method\":\"fetch\",\"cursors\":{\"repo:a/"
	"b\":\"1;1507647600;2028514652821299400;\\\"p\\\"\"},\"links\":[" LINK("a/b/issues/1", SEEN) "," LINK(
		"A/B/issues/2", SEEN) "," LINK("a/b/pull/3", "null") "," LINK("a/c/issues/1", SEEN) "]}",
	"{\"id\":1,\"method\":\"fetch\",\"links\":[" LINK("a/b/issues/1", "null") "," LINK(
		"a/b/issues/2", "null") "," LINK("a/b/pull/3", "null") "," LINK("a/b/pull/3#x", "null") "]}",
};

static struct rec_slice take_until(struct rec_slice *rest, char end)
{
	const char *found = rest->length ? memchr(rest->data, end, rest->length) : NULL;
	struct rec_slice piece = {rest->data, found ? (size_t)(found - rest->data) : rest->length};
	size_t taken = piece.length + (found ? 1 : 0);
	*rest = (struct rec_slice){rest->data + taken, rest->length - taken};
	return piece;
}

static void answer_take(struct rec_slice *rest, struct gh_response *r)
{
	gh_response_clear(r);
	if (!rest->length)
		return;
	struct rec_slice answer = take_until(rest, 1), headers = take_until(&answer, 2);
	while (headers.length)
		gh_response_line(r, take_until(&headers, '\n'));
	if (answer.length)
		rec_buffer_add(&r->body, answer.data, answer.length);
}

static void check_line(struct rec_buffer *out, size_t links)
{
	struct gh_document d;
	size_t urls = 0;
	require(out->length && out->data[out->length - 1] == '\n');
	require(memchr(out->data, '\n', out->length) == out->data + out->length - 1);
	require(gh_document_init(&d, NULL, (struct rec_slice){out->data, out->length - 1}) == 0);
	do {
		require(gh_document_next(&d) == 0);
		urls += d.token.type == REC_JSON_KEY && rec_slice_equal(d.token.text, rec_slice_of("url"));
	} while (d.token.type != REC_JSON_END_DOCUMENT);
	require(urls == links);
	gh_document_release(&d);
}

static void run(struct gh_pass *pass, const struct gh_request *request, const struct gh_place *place,
		struct rec_slice rest)
{
	struct gh_response response;
	struct gh_answer answer;
	struct rec_buffer out;
	const struct gh_ask *ask;
	struct gh_url url;
	size_t sent = 0;
	int r;
	gh_response_init(&response, NULL);
	rec_buffer_init(&out, NULL, SIZE_MAX);
	while ((r = gh_pass_next(pass, 0, &ask)) == 0) {
		require(++sent < REQUESTS_MAX);
		require(gh_url_parse(ask->url, &url) == 0 && gh_url_same_origin(&url, &place->origin));
		answer_take(&rest, &response);
		require(gh_pass_answer(pass, &response, NOW_US) == 0);
	}
	require(r == REC_END);
	require(gh_pass_finish(pass, &answer) == 0);
	require(gh_write_fetch(&out, request->id, &answer) == 0);
	check_line(&out, request->link_count);
	rec_buffer_release(&out);
	gh_response_release(&response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_arena arena;
	struct gh_place place;
	struct gh_request request;
	struct gh_pass *pass;
	if (size == 0)
		return 0;
	rec_arena_init(&arena, NULL);
	const char *line = requests[data[0] % (sizeof requests / sizeof requests[0])];
	require(gh_place_init(&place, &arena, rec_slice_of(GH_API_URL_DEFAULT), NULL) == 0);
	require(gh_request_read(rec_slice_of(line), &arena, &request, NULL) == 0);
	require(gh_pass_new(NULL, &place, &request, data[0] < 128, NULL, NOW_US, &pass) == 0);
	run(pass, &request, &place, (struct rec_slice){(const char *)data + 1, size - 1});
	gh_pass_free(pass);
	rec_arena_release(&arena);
	return 0;
}
