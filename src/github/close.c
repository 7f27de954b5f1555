/* close.c - four steps in a row; whatever is not as expected ends it with a problem, and the next attempt begins anew.
 */
#include "github/close.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "github/item.h"

static struct rec_slice checked(struct gh_close *c, struct rec_slice text)
{
	if (!text.length)
		c->failed = REC_E_NOMEM;
	return text;
}

static void end(struct gh_close *c, struct rec_slice problem)
{
	c->step = GH_CLOSE_DONE;
	c->problem = problem;
	c->asked = false;
}

static void ask(struct gh_close *c, enum gh_close_step step, enum gh_verb verb, struct rec_slice url)
{
	c->step = step;
	c->ask = (struct gh_ask){.verb = verb, .url = checked(c, url)};
	if (verb != GH_GET)
		c->ask.body = rec_buffer_slice(&c->body);
	c->asked = true;
}

void gh_close_init(struct gh_close *c, const struct rec_allocator *a, const struct gh_place *place,
		   const struct gh_request *request, bool with_token)
{
	struct gh_link link;
	*c = (struct gh_close){.allocator = a, .place = place, .request = request};
	rec_arena_init(&c->arena, a);
	rec_buffer_init(&c->body, a, 4 * GH_LINE_BYTES_MAX);
	const char *problem = gh_link_parse(request->url, place, &link);
	if (problem)
		end(c, rec_slice_of(problem));
	else if (!with_token)
		end(c, rec_slice_of("there is no token to write with (set GITHUB_TOKEN or token_file)"));
	else if (!request->marker.length || !rec_utf8_valid(request->marker))
		end(c, rec_slice_of("close without a marker"));
	else if (request->comment.length + request->marker.length + 16 > GH_COMMENT_BYTES_MAX)
		end(c, rec_slice_of("the comment is longer than GitHub takes"));
	else
		ask(c, GH_CLOSE_READ, GH_GET,
		    gh_url_text(&c->arena, "%s/repos/%.*s/%.*s/issues/%" PRId64, place->api.data,
				(int)link.owner.length, link.owner.data, (int)link.repo.length, link.repo.data,
				link.number));
}

void gh_close_release(struct gh_close *c)
{
	rec_arena_release(&c->arena);
	rec_buffer_release(&c->body);
}

int gh_close_next(struct gh_close *c, int64_t elapsed_ms, const struct gh_ask **ret_ask)
{
	if (c->failed)
		return c->failed;
	if (c->step == GH_CLOSE_DONE)
		return REC_END;
	if (elapsed_ms + GH_ASK_MS_MIN > c->request->deadline_ms) {
		end(c, rec_slice_of("not done in time"));
		return REC_END;
	}
	*ret_ask = &c->ask;
	return 0;
}

/* ---- Steps ---- */

static void shut(struct gh_close *c)
{
	rec_buffer_clear(&c->body);
	if (rec_buffer_add_text(&c->body, "{\"state\":\"closed\",\"state_reason\":\"completed\"}") < 0)
		c->failed = REC_E_NOMEM;
	ask(c, GH_CLOSE_SHUT, GH_PATCH, c->item);
}

static void comment(struct gh_close *c)
{
	struct rec_buffer text;
	rec_buffer_init(&text, c->allocator, GH_LINE_BYTES_MAX);
	rec_buffer_add(&text, c->request->comment.data, c->request->comment.length);
	bool there = c->request->comment.length && memmem(c->request->comment.data, c->request->comment.length,
							  c->request->marker.data, c->request->marker.length);
	if (!there) {
		rec_buffer_add_text(&text, "\n\n<!-- ");
		rec_buffer_add(&text, c->request->marker.data, c->request->marker.length);
		rec_buffer_add_text(&text, " -->");
	}
	rec_buffer_clear(&c->body);
	rec_buffer_add_text(&c->body, "{\"body\":");
	rec_json_write_string(&c->body, rec_buffer_slice(&text));
	if (rec_buffer_add(&c->body, "}", 1) < 0 || text.failed)
		c->failed = REC_E_NOMEM;
	rec_buffer_release(&text);
	ask(c, GH_CLOSE_COMMENT, GH_POST, gh_url_text(&c->arena, "%s/comments", c->item.data));
}

static int read_answer(struct gh_close *c, const struct gh_response *r)
{
	struct gh_item item = {0};
	int result = gh_item_read(rec_buffer_slice(&r->body), &c->arena, &item);
	if (result < 0)
		return result;
	const char *problem = gh_item_problem(&item);
	if (problem) {
		end(c, checked(c, gh_text(&c->arena, "GitHub gave %s", problem)));
	} else if (item.pull) {
		end(c, rec_slice_of("it is a pull request, which is not closed from here"));
	} else if (item.state == GH_STATE_CLOSED) {
		end(c, (struct rec_slice){0});
	} else {
		c->item = c->ask.url;
		ask(c, GH_CLOSE_LOOK, GH_GET, gh_url_text(&c->arena, "%s/comments?per_page=100", c->item.data));
	}
	return 0;
}

static int look_answer(struct gh_close *c, const struct gh_response *r)
{
	bool found = false;
	struct rec_slice url, next = gh_link_header_find(r->link, "next");
	int result = gh_comments_read(rec_buffer_slice(&r->body), &c->arena, c->request->marker, &found);
	if (result < 0)
		return result;
	if (found) {
		shut(c);
		return 0;
	}
	if (!next.length) {
		comment(c);
		return 0;
	}
	result = gh_place_resolve(c->place, &c->arena, c->ask.url, next, &url);
	if (result == REC_E_NOMEM)
		return result;
	bool good = result == 0 && c->page_count < GH_COMMENT_PAGES_MAX;
	for (size_t i = 0; good && i < c->page_count; i++)
		good = !rec_slice_equal(c->pages[i], url);
	if (!good) {
		end(c, rec_slice_of("the list of its comments has no end, so whether ours is there is not known"));
		return 0;
	}
	c->pages[c->page_count++] = url;
	ask(c, GH_CLOSE_LOOK, GH_GET, url);
	return 0;
}

static int step_answer(struct gh_close *c, const struct gh_response *r, bool *ret_good)
{
	*ret_good = true;
	if (c->step == GH_CLOSE_READ && r->status == 200)
		return read_answer(c, r);
	if (c->step == GH_CLOSE_LOOK && r->status == 200)
		return look_answer(c, r);
	if (c->step == GH_CLOSE_COMMENT && r->status == 201)
		shut(c);
	else if (c->step == GH_CLOSE_SHUT && r->status == 200)
		end(c, (struct rec_slice){0});
	else
		*ret_good = false;
	return 0;
}

int gh_close_answer(struct gh_close *c, const struct gh_response *r, int64_t now_us)
{
	struct rec_slice message = {0};
	const char *problem = NULL;
	bool good;
	if (r->failed ||
	    (r->status >= 400 && gh_message_read(rec_buffer_slice(&r->body), &c->arena, &message) == REC_E_NOMEM))
		return c->failed = REC_E_NOMEM;
	if (gh_response_limited(r, message, 0, now_us, &c->wait_s)) {
		end(c, checked(c, gh_answer_problem(r, message, &c->arena)));
		return c->failed;
	}
	int redirect = gh_ask_redirect(&c->ask, r, &c->arena, c->place, &problem);
	if (redirect < 0)
		return c->failed = redirect;
	if (redirect == GH_REDIRECT_REFUSED)
		end(c, rec_slice_of(problem));
	if (redirect != GH_REDIRECT_NONE)
		return 0;
	int result = step_answer(c, r, &good);
	if (result == REC_E_NOMEM)
		c->failed = result;
	else if (result < 0 || !good)
		end(c, checked(c, gh_answer_problem(r, message, &c->arena)));
	return c->failed;
}
