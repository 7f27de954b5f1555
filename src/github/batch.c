/* batch.c - aliases carry the places: rN is the Nth repository, iM the Mth thing asked for. `state` of an issue and of
 * a pull request are of different types, so each has a name of its own; the other names are those of REST. */
#include "github/batch.h"

#include <inttypes.h>

#include "github/document.h"

static const char fields[] = "fragment f on IssueOrPullRequest{"
			     "__typename "
			     "...on Issue{number html_url:url updated_at:updatedAt comments{totalCount}"
			     "issue_state:state state_reason:stateReason(enableDuplicate:true)}"
			     "...on PullRequest{number html_url:url updated_at:updatedAt comments{totalCount}"
			     "pull_state:state}}";

int gh_batch_write(struct rec_buffer *out, const struct gh_batch_asked *asked, size_t count)
{
	rec_buffer_add_text(out, "{\"query\":\"query{");
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || asked[i].repository != asked[i - 1].repository)
			rec_buffer_printf(out, "%sr%zu:repository(owner:\\\"%.*s\\\",name:\\\"%.*s\\\"){", i ? "}" : "",
					  asked[i].repository, (int)asked[i].owner.length, asked[i].owner.data,
					  (int)asked[i].repo.length, asked[i].repo.data);
		rec_buffer_printf(out, "i%zu:issueOrPullRequest(number:%" PRId64 "){...f}", i, asked[i].number);
	}
	rec_buffer_add_text(out, "}}");
	rec_buffer_add_text(out, fields);
	return rec_buffer_add_text(out, "\"}");
}

/* ---- The answer ---- */

/* N of a key like r12 or i3, or SIZE_MAX. */
static size_t alias_of(struct rec_slice key, char letter)
{
	size_t value = 0;
	if (key.length < 2 || key.length > 5 || key.data[0] != letter)
		return SIZE_MAX;
	for (size_t i = 1; i < key.length; i++) {
		if (key.data[i] < '0' || key.data[i] > '9')
			return SIZE_MAX;
		value = value * 10 + (size_t)(key.data[i] - '0');
	}
	return value;
}

/* The value of rN: an object of iM, or null. */
static int repository_take(struct gh_document *d, struct rec_arena *arena, size_t count, struct gh_batch_answer *answer)
{
	int r = 0;
	if (d->token.type != REC_JSON_OBJECT_BEGIN)
		return gh_document_skip(d);
	while (r == 0 && (r = gh_document_key(d)) == 0) {
		size_t at = alias_of(d->token.text, 'i');
		r = gh_document_next(d);
		if (r == 0 && at < count && d->token.type == REC_JSON_OBJECT_BEGIN) {
			r = gh_item_take(d, arena, &answer->items[at]);
			answer->answered[at] = GH_ANSWERED_ITEM;
		} else if (r == 0) {
			r = gh_document_skip(d);
		}
	}
	return r == REC_END ? 0 : r;
}

static int data_take(struct gh_document *d, struct rec_arena *arena, size_t count, struct gh_batch_answer *answer)
{
	int r = 0;
	if (d->token.type != REC_JSON_OBJECT_BEGIN)
		return gh_document_skip(d);
	answer->data = true;
	while (r == 0 && (r = gh_document_key(d)) == 0) {
		bool repository = alias_of(d->token.text, 'r') != SIZE_MAX;
		r = gh_document_next(d);
		if (r == 0)
			r = repository ? repository_take(d, arena, count, answer) : gh_document_skip(d);
	}
	return r == REC_END ? 0 : r;
}

struct batch_error {
	enum gh_answered means;
	bool limited;
	size_t repository, item; /* SIZE_MAX: not in the path */
	struct rec_slice message;
};

static int path_take(struct gh_document *d, struct batch_error *e)
{
	int r = 0;
	if (d->token.type != REC_JSON_ARRAY_BEGIN)
		return gh_document_skip(d);
	while (r == 0 && (r = gh_document_element(d)) == 0) {
		if (d->token.type == REC_JSON_STRING && e->repository == SIZE_MAX)
			e->repository = alias_of(d->token.text, 'r');
		else if (d->token.type == REC_JSON_STRING && e->item == SIZE_MAX)
			e->item = alias_of(d->token.text, 'i');
		r = gh_document_skip(d);
	}
	return r == REC_END ? 0 : r;
}

static void type_take(const struct gh_document *d, struct batch_error *e)
{
	struct rec_slice type = d->token.text;
	if (d->token.type != REC_JSON_STRING)
		return;
	e->limited = rec_slice_equal(type, rec_slice_of("RATE_LIMITED"));
	if (rec_slice_equal(type, rec_slice_of("NOT_FOUND")))
		e->means = GH_ANSWERED_NO_ITEM;
	else if (rec_slice_equal(type, rec_slice_of("FORBIDDEN")) ||
		 rec_slice_equal(type, rec_slice_of("INSUFFICIENT_SCOPES")) ||
		 rec_slice_equal(type, rec_slice_of("SAML_ENFORCEMENT")))
		e->means = GH_ANSWERED_NO_ACCESS;
}

static int error_take(struct gh_document *d, struct rec_arena *arena, struct batch_error *e)
{
	static const char *const names[] = {"type", "path", "message", NULL};
	int r = 0;
	if (d->token.type != REC_JSON_OBJECT_BEGIN)
		return gh_document_skip(d);
	while (r == 0 && (r = gh_document_key(d)) == 0) {
		int name = gh_document_name(d, names);
		r = gh_document_next(d);
		if (r == 0 && name == 0)
			type_take(d, e);
		if (r == 0 && name == 2)
			r = gh_text_keep(d, arena, &e->message);
		if (r == 0)
			r = name == 1 ? path_take(d, e) : gh_document_skip(d);
	}
	return r == REC_END ? 0 : r;
}

/* What an error says of the asked things: of one, of all of a repository, or of none in particular. */
static void error_apply(const struct batch_error *e, const size_t *repositories, size_t count,
			struct gh_batch_answer *answer)
{
	answer->limited |= e->limited;
	if (!answer->message.length)
		answer->message = e->message;
	for (size_t i = 0; i < count && i < GH_ITEMS_MAX; i++) {
		bool of_repository =
			e->item == SIZE_MAX && e->repository != SIZE_MAX && repositories[i] == e->repository;
		if ((e->item != i && !of_repository) || answer->answered[i] == GH_ANSWERED_ITEM)
			continue;
		answer->answered[i] = of_repository && e->means == GH_ANSWERED_NO_ITEM ? GH_ANSWERED_NO_REPO : e->means;
	}
}

static int errors_take(struct gh_document *d, struct rec_arena *arena, const size_t *repositories, size_t count,
		       struct gh_batch_answer *answer)
{
	int r = 0;
	if (d->token.type != REC_JSON_ARRAY_BEGIN)
		return gh_document_skip(d);
	while (r == 0 && (r = gh_document_element(d)) == 0) {
		struct batch_error e = {.repository = SIZE_MAX, .item = SIZE_MAX};
		r = error_take(d, arena, &e);
		if (r == 0)
			error_apply(&e, repositories, count, answer);
	}
	return r == REC_END ? 0 : r;
}

int gh_batch_read(struct rec_slice body, struct rec_arena *arena, const size_t *repositories, size_t count,
		  struct gh_batch_answer *ret_answer)
{
	static const char *const names[] = {"data", "errors", NULL};
	struct gh_document d;
	*ret_answer = (struct gh_batch_answer){0};
	if (count > GH_ITEMS_MAX)
		return REC_E_LIMIT;
	int r = gh_document_init(&d, arena->allocator, body);
	if (r == 0)
		r = gh_document_next(&d);
	if (r == 0 && d.token.type != REC_JSON_OBJECT_BEGIN)
		r = REC_E_INVALID;
	while (r == 0 && (r = gh_document_key(&d)) == 0) {
		int name = gh_document_name(&d, names);
		r = gh_document_next(&d);
		if (r == 0)
			r = name == 0   ? data_take(&d, arena, count, ret_answer)
			    : name == 1 ? errors_take(&d, arena, repositories, count, ret_answer)
					: gh_document_skip(&d);
	}
	if (r == REC_END)
		r = gh_document_end(&d);
	gh_document_release(&d);
	return r;
}
