/* item.c - REST's names rule: a GraphQL batch asks under the same names (batch.c), so that one reader does for both.
 * A key that comes twice counts as its last. Whatever is of the wrong type counts as missing, never as a value. */
#include "github/item.h"

#include "base/timestamp.h"
#include "github/document.h"
#include "github/fold.h"

#define TEXT_BYTES_MAX 512 /* of a text that is kept; a longer one counts as missing */

enum key {
	KEY_NUMBER,
	KEY_STATE,
	KEY_ISSUE_STATE,
	KEY_PULL_STATE,
	KEY_REASON,
	KEY_UPDATED,
	KEY_COMMENTS,
	KEY_PAGE,
	KEY_PULL_REQUEST,
	KEY_MERGED,
	KEY_MERGED_AT,
	KEY_TYPE,
};
static const char *const keys[] = {
	[KEY_NUMBER] = "number",
	[KEY_STATE] = "state",
	[KEY_ISSUE_STATE] = "issue_state",
	[KEY_PULL_STATE] = "pull_state",
	[KEY_REASON] = "state_reason",
	[KEY_UPDATED] = "updated_at",
	[KEY_COMMENTS] = "comments",
	[KEY_PAGE] = "html_url",
	[KEY_PULL_REQUEST] = "pull_request",
	[KEY_MERGED] = "merged",
	[KEY_MERGED_AT] = "merged_at",
	[KEY_TYPE] = "__typename",
	NULL,
};

static int text_keep(const struct gh_document *d, struct rec_arena *arena, bool fold, struct rec_slice *ret_text)
{
	*ret_text = (struct rec_slice){0};
	if (d->token.type != REC_JSON_STRING || d->token.text.length > TEXT_BYTES_MAX)
		return 0;
	char *copy = rec_arena_strndup(arena, d->token.text.data, d->token.text.length);
	if (!copy)
		return REC_E_NOMEM;
	for (size_t i = 0; fold && i < d->token.text.length; i++)
		copy[i] = gh_lower(copy[i]);
	*ret_text = (struct rec_slice){copy, d->token.text.length};
	return 0;
}

int gh_text_keep(const struct gh_document *d, struct rec_arena *arena, struct rec_slice *ret_text)
{
	return text_keep(d, arena, false, ret_text);
}

static int64_t number_of(const struct gh_document *d)
{
	int64_t value;
	if (d->token.type != REC_JSON_NUMBER || rec_json_int64(d->token.text, &value) < 0 || value < 0)
		return -1;
	return value;
}

static int state_take(const struct gh_document *d, struct rec_arena *arena, struct gh_item *item)
{
	struct rec_slice word;
	int r = text_keep(d, arena, true, &word);
	item->state = GH_STATE_UNKNOWN;
	if (rec_slice_equal(word, rec_slice_of("open")))
		item->state = GH_STATE_OPEN;
	else if (rec_slice_equal(word, rec_slice_of("closed")))
		item->state = GH_STATE_CLOSED;
	else if (rec_slice_equal(word, rec_slice_of("merged"))) {
		item->state = GH_STATE_CLOSED;
		item->merged = GH_MERGED_YES;
	}
	return r;
}

static enum gh_merged merged_at_of(const struct gh_document *d)
{
	return d->token.type == REC_JSON_STRING ? GH_MERGED_YES
	       : d->token.type == REC_JSON_NULL ? GH_MERGED_NO
						: GH_MERGED_UNKNOWN;
}

/* The part of a list's item that tells a pull request. */
static int pull_request_take(struct gh_document *d, struct gh_item *item)
{
	static const char *const names[] = {"merged_at", NULL};
	int r = 0;
	if (d->token.type != REC_JSON_OBJECT_BEGIN)
		return gh_document_skip(d);
	item->pull = true;
	while (r == 0 && (r = gh_document_key(d)) == 0) {
		bool wanted = gh_document_name(d, names) == 0;
		r = gh_document_next(d);
		if (r == 0 && wanted)
			item->merged = merged_at_of(d);
		if (r == 0)
			r = gh_document_skip(d);
	}
	return r == REC_END ? 0 : r;
}

/* A number (REST) or {"totalCount": number} (GraphQL). */
static int comments_take(struct gh_document *d, struct gh_item *item)
{
	static const char *const names[] = {"totalCount", NULL};
	int r = 0;
	if (d->token.type != REC_JSON_OBJECT_BEGIN) {
		item->comments = number_of(d);
		return gh_document_skip(d);
	}
	while (r == 0 && (r = gh_document_key(d)) == 0) {
		bool wanted = gh_document_name(d, names) == 0;
		r = gh_document_next(d);
		if (r == 0 && wanted)
			item->comments = number_of(d);
		if (r == 0)
			r = gh_document_skip(d);
	}
	return r == REC_END ? 0 : r;
}

static int updated_take(const struct gh_document *d, struct rec_arena *arena, struct gh_item *item)
{
	int r = text_keep(d, arena, false, &item->updated);
	if (item->updated.length > 40 || rec_timestamp_parse(item->updated, &item->updated_us) < 0)
		item->updated = (struct rec_slice){0};
	return r;
}

static int field_take(struct gh_document *d, struct rec_arena *arena, int key, struct gh_item *item)
{
	switch (key) {
	case KEY_NUMBER:
		item->number = number_of(d) > 0 ? number_of(d) : 0;
		break;
	case KEY_PULL_STATE: /* GraphQL, which has a word of its own for merged */
		item->merged = GH_MERGED_NO;
		return state_take(d, arena, item);
	case KEY_STATE:
	case KEY_ISSUE_STATE:
		return state_take(d, arena, item);
	case KEY_REASON:
		return text_keep(d, arena, true, &item->reason);
	case KEY_UPDATED:
		return updated_take(d, arena, item);
	case KEY_COMMENTS:
		return comments_take(d, item);
	case KEY_PAGE:
		return text_keep(d, arena, false, &item->page);
	case KEY_PULL_REQUEST:
		return pull_request_take(d, item);
	case KEY_MERGED:
		if (d->token.type == REC_JSON_TRUE || d->token.type == REC_JSON_FALSE)
			item->merged = d->token.type == REC_JSON_TRUE ? GH_MERGED_YES : GH_MERGED_NO;
		break;
	case KEY_MERGED_AT:
		if (item->merged == GH_MERGED_UNKNOWN)
			item->merged = merged_at_of(d);
		break;
	case KEY_TYPE:
		item->pull = rec_slice_equal(d->token.text, rec_slice_of("PullRequest"));
		break;
	default:
		break;
	}
	return 0;
}

/* The object that the current token begins. */
int gh_item_take(struct gh_document *d, struct rec_arena *arena, struct gh_item *ret_item)
{
	struct gh_item item = {.comments = -1};
	int r = 0;
	if (d->token.type != REC_JSON_OBJECT_BEGIN) {
		*ret_item = item;
		return gh_document_skip(d);
	}
	while (r == 0 && (r = gh_document_key(d)) == 0) {
		int key = gh_document_name(d, keys);
		r = gh_document_next(d);
		bool whole = d->token.type == REC_JSON_OBJECT_BEGIN && (key == KEY_COMMENTS || key == KEY_PULL_REQUEST);
		if (r == 0 &&
		    (whole || (d->token.type != REC_JSON_OBJECT_BEGIN && d->token.type != REC_JSON_ARRAY_BEGIN)))
			r = field_take(d, arena, key, &item);
		else if (r == 0)
			r = gh_document_skip(d);
	}
	if (r == REC_END)
		*ret_item = item;
	return r == REC_END ? 0 : r;
}

int gh_item_read(struct rec_slice body, struct rec_arena *arena, struct gh_item *ret_item)
{
	struct gh_document d;
	int r = gh_document_init(&d, arena->allocator, body);
	if (r == 0)
		r = gh_document_next(&d);
	if (r == 0 && d.token.type != REC_JSON_OBJECT_BEGIN)
		r = REC_E_INVALID;
	if (r == 0)
		r = gh_item_take(&d, arena, ret_item);
	if (r == 0)
		r = gh_document_end(&d);
	gh_document_release(&d);
	return r;
}

int gh_item_list_read(struct rec_slice body, struct rec_arena *arena, struct gh_item_list *ret_list)
{
	struct gh_document d;
	struct gh_item item;
	ret_list->count = 0;
	ret_list->more = false;
	int r = gh_document_init(&d, arena->allocator, body);
	if (r == 0)
		r = gh_document_next(&d);
	if (r == 0 && d.token.type != REC_JSON_ARRAY_BEGIN)
		r = REC_E_INVALID;
	while (r == 0 && (r = gh_document_element(&d)) == 0) {
		r = gh_item_take(&d, arena, &item);
		if (r == 0 && ret_list->count < GH_ITEMS_MAX)
			ret_list->items[ret_list->count++] = item;
		else if (r == 0)
			ret_list->more = true;
	}
	if (r == REC_END)
		r = gh_document_end(&d);
	gh_document_release(&d);
	return r;
}

const char *gh_item_problem(const struct gh_item *item)
{
	if (item->number == 0)
		return "an item without a number";
	if (item->updated.length == 0)
		return "an item without a time";
	if (item->state == GH_STATE_UNKNOWN)
		return "an item in a state that is not known";
	return NULL;
}

/* ---- Other bodies ---- */

int gh_message_read(struct rec_slice body, struct rec_arena *arena, struct rec_slice *ret_message)
{
	static const char *const names[] = {"message", NULL};
	struct gh_document d;
	struct rec_slice message = {0};
	int r = gh_document_init(&d, arena->allocator, body);
	if (r == 0)
		r = gh_document_next(&d);
	if (r == 0 && d.token.type != REC_JSON_OBJECT_BEGIN)
		r = REC_E_INVALID;
	while (r == 0 && (r = gh_document_key(&d)) == 0) {
		bool wanted = gh_document_name(&d, names) == 0;
		r = gh_document_next(&d);
		if (r == 0 && wanted)
			r = text_keep(&d, arena, false, &message);
		if (r == 0)
			r = gh_document_skip(&d);
	}
	gh_document_release(&d);
	if (r == REC_E_NOMEM)
		return r;
	*ret_message = r == REC_END ? message : (struct rec_slice){0};
	return 0;
}

int gh_repository_read(struct rec_slice body, struct rec_arena *arena, bool *ret_without_issues)
{
	static const char *const names[] = {"has_issues", "full_name", NULL};
	struct gh_document d;
	bool without = false, named = false;
	int r = gh_document_init(&d, arena->allocator, body);
	if (r == 0)
		r = gh_document_next(&d);
	if (r == 0 && d.token.type != REC_JSON_OBJECT_BEGIN)
		r = REC_E_INVALID;
	while (r == 0 && (r = gh_document_key(&d)) == 0) {
		int name = gh_document_name(&d, names);
		r = gh_document_next(&d);
		if (r == 0 && name == 0)
			without = d.token.type == REC_JSON_FALSE;
		if (r == 0 && name == 1)
			named = d.token.type == REC_JSON_STRING;
		if (r == 0)
			r = gh_document_skip(&d);
	}
	if (r == REC_END)
		r = gh_document_end(&d);
	gh_document_release(&d);
	if (r < 0)
		return r;
	if (!named)
		return REC_E_INVALID;
	*ret_without_issues = without;
	return 0;
}

int gh_comments_read(struct rec_slice body, struct rec_arena *arena, struct rec_slice marker, bool *ret_found)
{
	static const char *const names[] = {"body", NULL};
	struct gh_document d;
	bool found = false;
	int r = gh_document_init(&d, arena->allocator, body);
	if (r == 0)
		r = gh_document_next(&d);
	if (r == 0 && d.token.type != REC_JSON_ARRAY_BEGIN)
		r = REC_E_INVALID;
	while (r == 0 && (r = gh_document_element(&d)) == 0) {
		if (d.token.type != REC_JSON_OBJECT_BEGIN) {
			r = REC_E_INVALID;
			break;
		}
		while (r == 0 && (r = gh_document_key(&d)) == 0) {
			bool wanted = gh_document_name(&d, names) == 0;
			r = gh_document_next(&d);
			if (r == 0 && wanted && d.token.type == REC_JSON_STRING && marker.length &&
			    memmem(d.token.text.data, d.token.text.length, marker.data, marker.length))
				found = true;
			if (r == 0)
				r = gh_document_skip(&d);
		}
		r = r == REC_END ? 0 : r;
	}
	if (r == REC_END)
		r = gh_document_end(&d);
	gh_document_release(&d);
	if (r == 0)
		*ret_found = found;
	return r;
}
