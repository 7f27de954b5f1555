/* protocol-parse.c - a line as an answer: see protocol.h.
 *
 * An object is read by a table of its keys; a value of the wrong type ends the line, a value that cannot be ends the
 * one observation it stands in. */
#include "core/observe.h"
#include "tracker/protocol.h"

/* ---- Observations ------------------------------------------------------------------------------- */

struct told {
	struct rec_slice url, state, kind, reason, time, moved_to, validator, problem;
	struct rec_number comments;
};

static const struct rec_field told_fields[] = {
	{"url", REC_FIELD_TEXT, offsetof(struct told, url), NULL},
	{"state", REC_FIELD_TEXT, offsetof(struct told, state), NULL},
	{"kind", REC_FIELD_TEXT, offsetof(struct told, kind), NULL},
	{"reason", REC_FIELD_TEXT, offsetof(struct told, reason), NULL},
	{"time", REC_FIELD_TEXT, offsetof(struct told, time), NULL},
	{"comments", REC_FIELD_NUMBER, offsetof(struct told, comments), NULL},
	{"moved_to", REC_FIELD_TEXT, offsetof(struct told, moved_to), NULL},
	{"validator", REC_FIELD_TEXT, offsetof(struct told, validator), NULL},
	{"problem", REC_FIELD_TEXT, offsetof(struct told, problem), NULL},
	{0},
};

/* A kind that we do not know is none; anything else that cannot be makes it unknown. */
static struct rec_observation observation_of(const struct told *t, bool *unsound)
{
	int state = rec_observed_parse(t->state), kind = rec_link_kind_parse(t->kind);
	const struct rec_observation o = {
		.url = t->url,
		.state = state < 0 ? REC_OBSERVED_UNKNOWN : (enum rec_observed)state,
		.kind = kind < 0 ? REC_LINK_KIND_UNKNOWN : (enum rec_link_kind)kind,
		.reason = t->reason,
		.time = t->time,
		.has_comments = t->comments.given,
		.comments = t->comments.value,
		.moved_to = t->moved_to,
		.validator = t->validator,
		.problem = t->problem,
	};
	const char *problem = state < 0 ? "the tracker told a state that is not known" : rec_observation_problem(&o);
	if (!problem)
		return o;
	*unsound = true;
	return (struct rec_observation){.url = t->url, .problem = rec_slice_of(problem)};
}

static int take_observation(struct rec_fields *p, struct rec_protocol_answer *answer)
{
	struct told told = {.url = {0}};
	int r = rec_fields_object(p, "observations", told_fields, &told);
	if (r == 0 && !told.url.data)
		r = rec_fields_wrong(p, "url", "the address that was asked for");
	if (r != 0)
		return r;
	void *items = answer->observations;
	r = rec_grow(p->arena->allocator, &items, &answer->observation_capacity, answer->observation_count + 1,
		     sizeof *answer->observations);
	answer->observations = items;
	if (r != 0)
		return rec_fail_nomem(p->error);
	answer->observations[answer->observation_count++] = observation_of(&told, &answer->unsound);
	return 0;
}

static int take_observations(struct rec_fields *p, void *out)
{
	struct rec_protocol_answer *answer = out;
	if (p->token.type == REC_JSON_NULL)
		return 0;
	if (p->token.type != REC_JSON_ARRAY_BEGIN)
		return rec_fields_wrong(p, "observations", "a list");
	answer->has_observations = true;
	for (;;) {
		int r = rec_fields_next(p);
		if (r != 0 || p->token.type == REC_JSON_ARRAY_END)
			return r;
		r = take_observation(p, answer);
		if (r != 0)
			return r;
	}
}

/* ---- Cursors, budget ---------------------------------------------------------------------------- */

static int take_cursor(struct rec_fields *p, struct rec_protocol_answer *answer)
{
	struct rec_tracker_cursor cursor = {.value = {0}};
	int r = 0;
	const char *key = rec_arena_strndup(p->arena, p->token.text.data, p->token.text.length);
	if (!key)
		return rec_fail_nomem(p->error);
	cursor.key = (struct rec_slice){key, p->token.text.length};
	r = rec_fields_next(p);
	r = r ? r : rec_fields_text(p, "cursors", &cursor.value);
	if (r != 0)
		return r;
	if (cursor.key.length == 0 || cursor.key.length > REC_CURSOR_KEY_BYTES_MAX ||
	    cursor.value.length > REC_VALIDATOR_BYTES_MAX)
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

static int take_cursors(struct rec_fields *p, void *out)
{
	if (p->token.type == REC_JSON_NULL)
		return 0;
	if (p->token.type != REC_JSON_OBJECT_BEGIN)
		return rec_fields_wrong(p, "cursors", "an object");
	for (;;) {
		int r = rec_fields_next(p);
		if (r != 0 || p->token.type == REC_JSON_OBJECT_END)
			return r;
		r = take_cursor(p, out);
		if (r != 0)
			return r;
	}
}

static const struct rec_field budget_fields[] = {
	{"limit", REC_FIELD_NUMBER, offsetof(struct rec_protocol_budget, limit), NULL},
	{"remaining", REC_FIELD_NUMBER, offsetof(struct rec_protocol_budget, remaining), NULL},
	{"reset", REC_FIELD_TEXT, offsetof(struct rec_protocol_budget, reset), NULL},
	{0},
};

static int take_budget(struct rec_fields *p, void *out)
{
	struct rec_protocol_answer *answer = out;
	if (p->token.type == REC_JSON_NULL)
		return 0;
	answer->has_budget = true;
	return rec_fields_object(p, "budget", budget_fields, &answer->budget);
}

/* ---- The line ----------------------------------------------------------------------------------- */

static const struct rec_field answer_fields[] = {
	{"id", REC_FIELD_NUMBER, offsetof(struct rec_protocol_answer, id), NULL},
	{"protocol", REC_FIELD_NUMBER, offsetof(struct rec_protocol_answer, protocol), NULL},
	{"helper", REC_FIELD_TEXT, offsetof(struct rec_protocol_answer, helper), NULL},
	{"can_close", REC_FIELD_FLAG, offsetof(struct rec_protocol_answer, can_close), NULL},
	{"observations", REC_FIELD_NESTED, 0, take_observations},
	{"cursors", REC_FIELD_NESTED, 0, take_cursors},
	{"budget", REC_FIELD_NESTED, 0, take_budget},
	{"retry_after_ms", REC_FIELD_NUMBER, offsetof(struct rec_protocol_answer, retry_after_ms), NULL},
	{"problem", REC_FIELD_TEXT, offsetof(struct rec_protocol_answer, problem), NULL},
	{"closed", REC_FIELD_FLAG, offsetof(struct rec_protocol_answer, closed), NULL},
	{0},
};

int rec_protocol_parse(struct rec_slice line, struct rec_arena *arena, struct rec_protocol_answer *ret_answer,
		       struct rec_error *error)
{
	struct rec_protocol_answer answer = {.has_budget = false};
	int r = rec_fields_read(line, arena, answer_fields, &answer, error);
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
