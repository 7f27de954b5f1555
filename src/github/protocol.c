/* protocol.c - a request is read whole before anything is done about it; unknown keys are passed over. */
#include "github/protocol.h"

#include <inttypes.h>

#include "base/number.h"
#include "base/timestamp.h"
#include "github/document.h"

/* ---- Requests ---- */

struct reading {
	struct gh_document document;
	struct rec_arena *arena;
	struct gh_request *request;
	size_t link_capacity, cursor_capacity;
	struct rec_error *error;
};

static int fail_type(struct reading *r, const char *what, const char *wanted)
{
	return rec_fail(r->error, REC_E_INVALID, "request: %s is not %s", what, wanted);
}

/* Room for one more in an array that lives in the arena. */
static void *array_grow(struct rec_arena *arena, void *items, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	size_t wanted = *capacity ? 2 * *capacity : 16;
	void *grown = rec_arena_alloc(arena, wanted * size);
	if (!grown)
		return NULL;
	if (count)
		memcpy(grown, items, count * size);
	*capacity = wanted;
	return grown;
}

/* A string, or null (empty). */
static int text_take(struct reading *r, const char *what, struct rec_slice *ret_text)
{
	const struct rec_json_token *t = &r->document.token;
	if (t->type == REC_JSON_NULL) {
		*ret_text = (struct rec_slice){0};
		return 0;
	}
	if (t->type != REC_JSON_STRING)
		return fail_type(r, what, "a string");
	char *copy = rec_arena_strndup(r->arena, t->text.data, t->text.length);
	if (!copy)
		return rec_fail_nomem(r->error);
	*ret_text = (struct rec_slice){copy, t->text.length};
	return 0;
}

static int integer_take(struct reading *r, const char *what, int64_t minimum, int64_t *ret_value)
{
	const struct rec_json_token *t = &r->document.token;
	if (t->type != REC_JSON_NUMBER || rec_json_int64(t->text, ret_value) < 0 || *ret_value < minimum)
		return fail_type(r, what, "a whole number in range");
	return 0;
}

static int share_take(struct reading *r, double *ret_share)
{
	const struct rec_json_token *t = &r->document.token;
	double value;
	if (t->type != REC_JSON_NUMBER)
		return fail_type(r, "budget_share", "a number");
	if (rec_number_parse(t->text, &value) < 0 || value < 0 || value > 1)
		return fail_type(r, "budget_share", "between 0 and 1");
	*ret_share = value;
	return 0;
}

static int method_take(struct reading *r)
{
	static const char *const names[] = {
		[GH_METHOD_HELLO] = "hello", [GH_METHOD_FETCH] = "fetch", [GH_METHOD_CLOSE] = "close"};
	const struct rec_json_token *t = &r->document.token;
	if (t->type != REC_JSON_STRING)
		return fail_type(r, "method", "a string");
	for (size_t i = GH_METHOD_HELLO; i <= GH_METHOD_CLOSE; i++)
		if (rec_slice_equal(t->text, rec_slice_of(names[i])))
			r->request->method = (enum gh_method)i;
	return 0;
}

static int link_take(struct reading *r)
{
	static const char *const names[] = {"url", "validator", NULL};
	struct gh_asked asked = {0};
	int result = 0;
	if (r->document.token.type != REC_JSON_OBJECT_BEGIN)
		return fail_type(r, "a link", "an object");
	while (result == 0 && (result = gh_document_key(&r->document)) == 0) {
		int name = gh_document_name(&r->document, names);
		result = gh_document_next(&r->document);
		if (result == 0)
			result = name == 0   ? text_take(r, "url", &asked.url)
				 : name == 1 ? text_take(r, "validator", &asked.validator)
					     : gh_document_skip(&r->document);
	}
	if (result != REC_END)
		return result;
	if (!asked.url.length)
		return fail_type(r, "a link's url", "a string");
	if (r->request->link_count >= GH_LINKS_MAX)
		return rec_fail(r->error, REC_E_LIMIT, "request: more than %u links", GH_LINKS_MAX);
	struct gh_asked *links =
		array_grow(r->arena, r->request->links, r->request->link_count, &r->link_capacity, sizeof asked);
	if (!links)
		return rec_fail_nomem(r->error);
	links[r->request->link_count++] = asked;
	r->request->links = links;
	return 0;
}

static int links_take(struct reading *r)
{
	int result = 0;
	if (r->document.token.type != REC_JSON_ARRAY_BEGIN)
		return fail_type(r, "links", "an array");
	while (result == 0 && (result = gh_document_element(&r->document)) == 0)
		result = link_take(r);
	return result == REC_END ? 0 : result;
}

static int cursor_take(struct reading *r)
{
	struct gh_pair pair = {0};
	const struct rec_json_token *t = &r->document.token;
	char *key = rec_arena_strndup(r->arena, t->text.data, t->text.length);
	if (!key)
		return rec_fail_nomem(r->error);
	pair.key = (struct rec_slice){key, t->text.length};
	int result = gh_document_next(&r->document);
	if (result == 0)
		result = text_take(r, "a cursor", &pair.value);
	if (result < 0)
		return result;
	if (r->request->cursor_count >= GH_CURSORS_MAX)
		return rec_fail(r->error, REC_E_LIMIT, "request: more than %u cursors", GH_CURSORS_MAX);
	struct gh_pair *cursors =
		array_grow(r->arena, r->request->cursors, r->request->cursor_count, &r->cursor_capacity, sizeof pair);
	if (!cursors)
		return rec_fail_nomem(r->error);
	cursors[r->request->cursor_count++] = pair;
	r->request->cursors = cursors;
	return 0;
}

static int cursors_take(struct reading *r)
{
	int result = 0;
	if (r->document.token.type == REC_JSON_NULL)
		return 0;
	if (r->document.token.type != REC_JSON_OBJECT_BEGIN)
		return fail_type(r, "cursors", "an object");
	while (result == 0 && (result = gh_document_key(&r->document)) == 0)
		result = cursor_take(r);
	return result == REC_END ? 0 : result;
}

enum request_key {
	KEY_ID,
	KEY_METHOD,
	KEY_PROTOCOL,
	KEY_LINKS,
	KEY_CURSORS,
	KEY_SHARE,
	KEY_DEADLINE,
	KEY_URL,
	KEY_COMMENT,
	KEY_MARKER
};

static int field_take(struct reading *r, int key)
{
	struct gh_request *q = r->request;
	int result;
	switch (key) {
	case KEY_ID:
		result = integer_take(r, "id", INT64_MIN, &q->id);
		q->has_id = result == 0;
		return result;
	case KEY_METHOD:
		return method_take(r);
	case KEY_PROTOCOL:
		return integer_take(r, "protocol", 0, &q->protocol);
	case KEY_LINKS:
		return links_take(r);
	case KEY_CURSORS:
		return cursors_take(r);
	case KEY_SHARE:
		return share_take(r, &q->budget_share);
	case KEY_DEADLINE:
		return integer_take(r, "deadline_ms", 0, &q->deadline_ms);
	case KEY_URL:
		return text_take(r, "url", &q->url);
	case KEY_COMMENT:
		return text_take(r, "comment", &q->comment);
	case KEY_MARKER:
		return text_take(r, "marker", &q->marker);
	default:
		return gh_document_skip(&r->document);
	}
}

static int request_take(struct reading *r)
{
	static const char *const names[] = {[KEY_ID] = "id",
					    [KEY_METHOD] = "method",
					    [KEY_PROTOCOL] = "protocol",
					    [KEY_LINKS] = "links",
					    [KEY_CURSORS] = "cursors",
					    [KEY_SHARE] = "budget_share",
					    [KEY_DEADLINE] = "deadline_ms",
					    [KEY_URL] = "url",
					    [KEY_COMMENT] = "comment",
					    [KEY_MARKER] = "marker",
					    NULL};
	int result = gh_document_next(&r->document);
	if (result == 0 && r->document.token.type != REC_JSON_OBJECT_BEGIN)
		return fail_type(r, "the line", "an object");
	while (result == 0 && (result = gh_document_key(&r->document)) == 0) {
		int key = gh_document_name(&r->document, names);
		result = gh_document_next(&r->document);
		if (result == 0)
			result = field_take(r, key);
	}
	return result == REC_END ? gh_document_end(&r->document) : result;
}

int gh_request_read(struct rec_slice line, struct rec_arena *arena, struct gh_request *ret_request,
		    struct rec_error *error)
{
	struct reading r = {.arena = arena, .request = ret_request, .error = error};
	struct rec_error own = {0};
	if (!r.error)
		r.error = &own;
	r.error->code = 0;
	*ret_request =
		(struct gh_request){.budget_share = GH_BUDGET_SHARE_DEFAULT, .deadline_ms = GH_DEADLINE_MS_DEFAULT};
	int result = gh_document_init(&r.document, arena->allocator, line);
	if (result == 0)
		result = request_take(&r);
	gh_document_release(&r.document);
	if (result < 0 && r.error->code == 0)
		result = result == REC_E_NOMEM ? rec_fail_nomem(r.error)
					       : rec_fail(r.error, REC_E_INVALID, "request: the line is not JSON");
	if (result == 0 && ret_request->method == GH_METHOD_CLOSE && !ret_request->url.length)
		result = rec_fail(r.error, REC_E_INVALID, "request: close without a url");
	return result;
}

/* ---- Answers ---- */

static void text_add(struct rec_buffer *out, const char *key, struct rec_slice text)
{
	if (!text.length)
		return;
	rec_buffer_printf(out, ",\"%s\":", key);
	rec_json_write_string(out, text);
}

static int line_begin(struct rec_buffer *out, int64_t id)
{
	return rec_buffer_printf(out, "{\"id\":%" PRId64, id);
}

int gh_write_hello(struct rec_buffer *out, int64_t id, bool can_close)
{
	line_begin(out, id);
	return rec_buffer_printf(
		out, ",\"protocol\":%d,\"helper\":\"reconciler-github " REC_VERSION_STRING "\",\"can_close\":%s}\n",
		GH_PROTOCOL, can_close ? "true" : "false");
}

static void observation_add(struct rec_buffer *out, const struct gh_observation *o)
{
	static const char *const states[] = {
		[GH_OBSERVED_NOT] = "unknown", [GH_OPEN] = "open", [GH_CLOSED] = "closed",
		[GH_MERGED] = "merged",        [GH_GONE] = "gone", [GH_UNKNOWN] = "unknown",
		[GH_UNCHANGED] = "unchanged"};
	rec_buffer_add_text(out, "{\"url\":");
	rec_json_write_string(out, o->url);
	rec_buffer_printf(out, ",\"state\":\"%s\"", states[o->state]);
	if (o->has_kind)
		rec_buffer_printf(out, ",\"kind\":\"%s\"", o->pull ? "pull_request" : "issue");
	text_add(out, "reason", o->reason);
	text_add(out, "time", o->time);
	if (o->comments >= 0)
		rec_buffer_printf(out, ",\"comments\":%" PRId64, o->comments);
	text_add(out, "moved_to", o->moved_to);
	text_add(out, "validator", o->validator);
	text_add(out, "problem", o->problem);
	rec_buffer_add(out, "}", 1);
}

static void cursors_add(struct rec_buffer *out, const struct gh_answer *answer)
{
	if (!answer->cursor_count)
		return;
	rec_buffer_add_text(out, ",\"cursors\":{");
	for (size_t i = 0; i < answer->cursor_count; i++) {
		rec_buffer_add_text(out, i ? "," : "");
		rec_json_write_string(out, answer->cursors[i].key);
		rec_buffer_add(out, ":", 1);
		if (answer->cursors[i].value.length)
			rec_json_write_string(out, answer->cursors[i].value);
		else
			rec_buffer_add_text(out, "null");
	}
	rec_buffer_add(out, "}", 1);
}

static void budget_add(struct rec_buffer *out, const struct gh_budget *budget)
{
	char time[REC_TIMESTAMP_BYTES];
	if (budget->limit < 0 || budget->remaining < 0)
		return;
	rec_buffer_printf(out, ",\"budget\":{\"limit\":%" PRId64 ",\"remaining\":%" PRId64, budget->limit,
			  budget->remaining);
	if (budget->reset_s >= 0 && budget->reset_s < INT64_MAX / 1000000)
		rec_buffer_printf(out, ",\"reset\":\"%s\"", rec_timestamp_format(budget->reset_s * 1000000, time));
	rec_buffer_add(out, "}", 1);
}

int gh_write_fetch(struct rec_buffer *out, int64_t id, const struct gh_answer *answer)
{
	line_begin(out, id);
	rec_buffer_add_text(out, ",\"observations\":[");
	for (size_t i = 0; i < answer->observation_count; i++) {
		rec_buffer_add_text(out, i ? "," : "");
		observation_add(out, &answer->observations[i]);
	}
	rec_buffer_add(out, "]", 1);
	cursors_add(out, answer);
	budget_add(out, &answer->budget);
	if (answer->retry_after_ms > 0)
		rec_buffer_printf(out, ",\"retry_after_ms\":%" PRId64, answer->retry_after_ms);
	text_add(out, "problem", answer->problem);
	return rec_buffer_add_text(out, "}\n");
}

int gh_write_closed(struct rec_buffer *out, int64_t id)
{
	line_begin(out, id);
	return rec_buffer_add_text(out, ",\"closed\":true}\n");
}

int gh_write_problem(struct rec_buffer *out, int64_t id, struct rec_slice problem, int64_t retry_after_ms)
{
	line_begin(out, id);
	if (retry_after_ms > 0)
		rec_buffer_printf(out, ",\"retry_after_ms\":%" PRId64, retry_after_ms);
	text_add(out, "problem", problem.length ? problem : rec_slice_of("unknown"));
	return rec_buffer_add_text(out, "}\n");
}
