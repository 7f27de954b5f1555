/* protocol-parse.c - a line as an answer: see protocol.h.
 *
 * An object is read by a table of its keys; a value of the wrong type ends the line, a value that cannot be ends the
 * one observation it stands in. */
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "tracker/protocol.h"

struct parser {
	struct rec_json_reader reader;
	struct rec_json_token token;
	struct rec_arena *arena;
	struct rec_error *error;
};

enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_FLAG, FIELD_NESTED };
struct field {
	const char *name;
	enum field_kind kind;
	size_t offset;                              /* in what is filled; not for NESTED */
	int (*nested)(struct parser *p, void *out); /* the value's first token is there */
};

/* ---- Tokens ------------------------------------------------------------------------------------- */

static int next(struct parser *p)
{
	int r = rec_json_next(&p->reader, &p->token, p->error);
	return r > 0 ? rec_fail(p->error, REC_E_INVALID, "the line ends too early") : r;
}

static int wrong(struct parser *p, const char *name, const char *wanted)
{
	return rec_fail(p->error, REC_E_INVALID, "\"%s\": %s was expected", name, wanted);
}

/* Reads on to the end of the value whose first token is there. */
static int skip(struct parser *p)
{
	unsigned depth = p->token.depth;
	if (p->token.type != REC_JSON_OBJECT_BEGIN && p->token.type != REC_JSON_ARRAY_BEGIN)
		return 0;
	do {
		int r = next(p);
		if (r != 0)
			return r;
	} while (p->token.depth != depth ||
		 (p->token.type != REC_JSON_OBJECT_END && p->token.type != REC_JSON_ARRAY_END));
	return 0;
}

static int take_text(struct parser *p, const char *name, struct rec_slice *out)
{
	if (p->token.type == REC_JSON_NULL) {
		*out = (struct rec_slice){0};
		return 0;
	}
	if (p->token.type != REC_JSON_STRING)
		return wrong(p, name, "a text");
	const char *copy = rec_arena_strndup(p->arena, p->token.text.data, p->token.text.length);
	if (!copy)
		return rec_fail_nomem(p->error);
	*out = (struct rec_slice){copy, p->token.text.length};
	return 0;
}

static int take_number(struct parser *p, const char *name, struct rec_protocol_number *out)
{
	int64_t value = 0;
	if (p->token.type == REC_JSON_NULL) {
		*out = (struct rec_protocol_number){0};
		return 0;
	}
	if (p->token.type != REC_JSON_NUMBER || rec_json_int64(p->token.text, &value) != 0)
		return wrong(p, name, "a whole number");
	*out = (struct rec_protocol_number){true, value};
	return 0;
}

static int take_flag(struct parser *p, const char *name, struct rec_protocol_number *out)
{
	if (p->token.type != REC_JSON_TRUE && p->token.type != REC_JSON_FALSE && p->token.type != REC_JSON_NULL)
		return wrong(p, name, "true or false");
	*out = (struct rec_protocol_number){p->token.type != REC_JSON_NULL, p->token.type == REC_JSON_TRUE};
	return 0;
}

/* ---- Objects ------------------------------------------------------------------------------------ */

static const struct field *field_find(const struct field *fields, struct rec_slice name)
{
	for (; fields->name; fields++)
		if (rec_slice_equal(rec_slice_of(fields->name), name))
			return fields;
	return NULL;
}

static int take_value(struct parser *p, const struct field *field, void *out)
{
	void *place = (char *)out + field->offset;
	switch (field->kind) {
	case FIELD_TEXT:
		return take_text(p, field->name, place);
	case FIELD_NUMBER:
		return take_number(p, field->name, place);
	case FIELD_FLAG:
		return take_flag(p, field->name, place);
	case FIELD_NESTED:
		return field->nested(p, out);
	}
	return REC_E_BUG;
}

/* The object whose beginning is there. */
static int take_object(struct parser *p, const char *name, const struct field *fields, void *out)
{
	if (p->token.type != REC_JSON_OBJECT_BEGIN)
		return wrong(p, name, "an object");
	for (;;) {
		int r = next(p);
		if (r != 0 || p->token.type == REC_JSON_OBJECT_END)
			return r;
		const struct field *field = field_find(fields, p->token.text); /* before the key's text is gone */
		r = next(p);
		if (r == 0)
			r = field ? take_value(p, field, out) : skip(p);
		if (r != 0)
			return r;
	}
}

/* ---- Observations ------------------------------------------------------------------------------- */

struct told {
	struct rec_slice url, state, kind, reason, time, moved_to, validator, problem;
	struct rec_protocol_number comments;
};

static const struct field told_fields[] = {
	{"url", FIELD_TEXT, offsetof(struct told, url), NULL},
	{"state", FIELD_TEXT, offsetof(struct told, state), NULL},
	{"kind", FIELD_TEXT, offsetof(struct told, kind), NULL},
	{"reason", FIELD_TEXT, offsetof(struct told, reason), NULL},
	{"time", FIELD_TEXT, offsetof(struct told, time), NULL},
	{"comments", FIELD_NUMBER, offsetof(struct told, comments), NULL},
	{"moved_to", FIELD_TEXT, offsetof(struct told, moved_to), NULL},
	{"validator", FIELD_TEXT, offsetof(struct told, validator), NULL},
	{"problem", FIELD_TEXT, offsetof(struct told, problem), NULL},
	{0},
};

static bool is_address(struct rec_slice url)
{
	for (size_t i = 0; i < url.length; i++)
		if ((unsigned char)url.data[i] <= ' ' || url.data[i] == 0x7f)
			return false;
	return url.length > 0 && url.length <= REC_LINK_URL_BYTES_MAX;
}

/* NULL, or what cannot be. */
static const char *told_problem(const struct told *t)
{
	int64_t us;
	if (!t->state.data || rec_observed_parse(t->state) < 0)
		return "the tracker told a state that is not known";
	if (t->time.data && rec_timestamp_parse(t->time, &us) != 0)
		return "the tracker told a time that is none";
	if (t->validator.length > REC_TRACKER_OPAQUE_BYTES_MAX)
		return "the tracker told a validator that is too long";
	if (t->moved_to.data && !is_address(t->moved_to))
		return "the tracker told a new place that is no address";
	if (t->comments.given && t->comments.value < 0)
		return "the tracker told a number of comments below zero";
	return NULL;
}

static struct rec_observation observation_of(const struct told *t)
{
	int kind = t->kind.data ? rec_link_kind_parse(t->kind) : -1;
	const char *problem = told_problem(t);
	if (problem)
		return (struct rec_observation){.url = t->url, .problem = rec_slice_of(problem)};
	return (struct rec_observation){
		.url = t->url,
		.state = (enum rec_observed)rec_observed_parse(t->state),
		.kind = kind < 0 ? REC_LINK_KIND_UNKNOWN : (enum rec_link_kind)kind,
		.reason = t->reason,
		.time = t->time,
		.has_comments = t->comments.given,
		.comments = t->comments.value,
		.moved_to = t->moved_to,
		.validator = t->validator,
		.problem = t->problem,
	};
}

static int take_observation(struct parser *p, struct rec_protocol_answer *answer)
{
	struct told told = {.url = {0}};
	int r = take_object(p, "observations", told_fields, &told);
	if (r == 0 && !told.url.data)
		r = wrong(p, "url", "the address that was asked for");
	if (r != 0)
		return r;
	void *items = answer->observations;
	r = rec_grow(p->arena->allocator, &items, &answer->observation_capacity, answer->observation_count + 1,
		     sizeof *answer->observations);
	answer->observations = items;
	if (r != 0)
		return rec_fail_nomem(p->error);
	answer->observations[answer->observation_count++] = observation_of(&told);
	return 0;
}

static int take_observations(struct parser *p, void *out)
{
	struct rec_protocol_answer *answer = out;
	if (p->token.type == REC_JSON_NULL)
		return 0;
	if (p->token.type != REC_JSON_ARRAY_BEGIN)
		return wrong(p, "observations", "a list");
	answer->has_observations = true;
	for (;;) {
		int r = next(p);
		if (r != 0 || p->token.type == REC_JSON_ARRAY_END)
			return r;
		r = take_observation(p, answer);
		if (r != 0)
			return r;
	}
}

/* ---- Cursors, budget ---------------------------------------------------------------------------- */

static int take_cursor(struct parser *p, struct rec_protocol_answer *answer)
{
	struct rec_tracker_cursor cursor = {.value = {0}};
	int r = 0;
	const char *key = rec_arena_strndup(p->arena, p->token.text.data, p->token.text.length);
	if (!key)
		return rec_fail_nomem(p->error);
	cursor.key = (struct rec_slice){key, p->token.text.length};
	r = next(p);
	r = r ? r : take_text(p, "cursors", &cursor.value);
	if (r != 0)
		return r;
	if (cursor.key.length == 0 || cursor.key.length > REC_TRACKER_KEY_BYTES_MAX ||
	    cursor.value.length > REC_TRACKER_OPAQUE_BYTES_MAX)
		return rec_fail(p->error, REC_E_INVALID, "\"cursors\": a key or value that is empty or too long");
	void *items = answer->cursors;
	r = rec_grow(p->arena->allocator, &items, &answer->cursor_capacity, answer->cursor_count + 1,
		     sizeof *answer->cursors);
	answer->cursors = items;
	if (r != 0)
		return rec_fail_nomem(p->error);
	answer->cursors[answer->cursor_count++] = cursor;
	return 0;
}

static int take_cursors(struct parser *p, void *out)
{
	if (p->token.type == REC_JSON_NULL)
		return 0;
	if (p->token.type != REC_JSON_OBJECT_BEGIN)
		return wrong(p, "cursors", "an object");
	for (;;) {
		int r = next(p);
		if (r != 0 || p->token.type == REC_JSON_OBJECT_END)
			return r;
		r = take_cursor(p, out);
		if (r != 0)
			return r;
	}
}

static const struct field budget_fields[] = {
	{"limit", FIELD_NUMBER, offsetof(struct rec_protocol_budget, limit), NULL},
	{"remaining", FIELD_NUMBER, offsetof(struct rec_protocol_budget, remaining), NULL},
	{"reset", FIELD_TEXT, offsetof(struct rec_protocol_budget, reset), NULL},
	{0},
};

static int take_budget(struct parser *p, void *out)
{
	struct rec_protocol_answer *answer = out;
	if (p->token.type == REC_JSON_NULL)
		return 0;
	answer->has_budget = true;
	return take_object(p, "budget", budget_fields, &answer->budget);
}

/* ---- The line ----------------------------------------------------------------------------------- */

static const struct field answer_fields[] = {
	{"id", FIELD_NUMBER, offsetof(struct rec_protocol_answer, id), NULL},
	{"protocol", FIELD_NUMBER, offsetof(struct rec_protocol_answer, protocol), NULL},
	{"helper", FIELD_TEXT, offsetof(struct rec_protocol_answer, helper), NULL},
	{"can_close", FIELD_FLAG, offsetof(struct rec_protocol_answer, can_close), NULL},
	{"observations", FIELD_NESTED, 0, take_observations},
	{"cursors", FIELD_NESTED, 0, take_cursors},
	{"budget", FIELD_NESTED, 0, take_budget},
	{"retry_after_ms", FIELD_NUMBER, offsetof(struct rec_protocol_answer, retry_after_ms), NULL},
	{"problem", FIELD_TEXT, offsetof(struct rec_protocol_answer, problem), NULL},
	{"closed", FIELD_FLAG, offsetof(struct rec_protocol_answer, closed), NULL},
	{0},
};

/* One object, and nothing behind it. */
static int take_line(struct parser *p, struct rec_protocol_answer *answer)
{
	int r = next(p);
	r = r ? r : take_object(p, "the line", answer_fields, answer);
	r = r ? r : next(p); /* END_DOCUMENT */
	if (r != 0)
		return r;
	r = rec_json_next(&p->reader, &p->token, p->error);
	if (r == 0)
		return rec_fail(p->error, REC_E_INVALID, "the line holds more than one object");
	if (r < 0)
		return r;
	return answer->id.given ? 0 : wrong(p, "id", "the request's number");
}

int rec_protocol_parse(struct rec_slice line, struct rec_arena *arena, struct rec_protocol_answer *ret_answer,
		       struct rec_error *error)
{
	struct parser p = {.arena = arena, .error = error};
	struct rec_protocol_answer answer = {.has_budget = false};
	rec_json_init(&p.reader, arena->allocator, REC_TRACKER_LINE_BYTES_MAX);
	char *space = rec_json_space(&p.reader, line.length);
	int r = space ? 0 : rec_fail_nomem(error);
	if (r == 0) {
		if (line.length)
			memcpy(space, line.data, line.length);
		rec_json_added(&p.reader, line.length);
		rec_json_finish(&p.reader);
		r = take_line(&p, &answer);
	}
	rec_json_release(&p.reader);
	if (r == REC_E_LIMIT) /* too deep, too long: bad input like any other */
		r = error ? (error->code = REC_E_INVALID) : REC_E_INVALID;
	if (r == 0)
		*ret_answer = answer;
	else
		rec_protocol_answer_release(&answer, arena->allocator);
	return r;
}

void rec_protocol_answer_release(struct rec_protocol_answer *answer, const struct rec_allocator *allocator)
{
	answer->observations = rec_free(allocator, answer->observations);
	answer->cursors = rec_free(allocator, answer->cursors);
	answer->observation_count = answer->observation_capacity = 0;
	answer->cursor_count = answer->cursor_capacity = 0;
}
