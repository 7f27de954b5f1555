/* belief-parser.c - a state machine over tokens. The reader below has checked the syntax, so a token is either
 * of the type that the state expects or of the wrong type.
 *
 * The form is decided by the first object as soon as the value of "task_id" or any other key is seen; until
 * then at most one value is pending, that of a leading "status". Ids are entered when they are read, so that a
 * duplicate is named at its place; statuses follow.
 */
#include "engine/belief.h"

#include <stdio.h>

#include "base/text.h"

#define TOKEN_BYTES_MAX (64u << 10)
#define STATUSES "BACKLOG, READY, IN_PROGRESS, BLOCKED, FAILED, DONE, MERGED, RUNNING, COMPLETED"
#define PIECE_BYTES (64u << 10) /* of a long feed, so that the window stays small */

enum form { UNDECIDED, ONE_OBJECT, LINES };
enum state { BETWEEN, AT_KEY, AT_ENTRY_VALUE, AT_TASK_ID, AT_STATUS, AT_DOCUMENT_END };
enum { SEEN_TASK_ID = 1, SEEN_STATUS = 2 };

static const struct rec_slice task_id_key = {"task_id", 7}, status_key = {"status", 6};

void rec_belief_parser_init(struct rec_belief_parser *p, struct rec_belief *belief, bool live)
{
	*p = (struct rec_belief_parser){.belief = belief, .live = live, .form = live ? LINES : UNDECIDED};
	rec_json_init(&p->reader, belief->allocator, TOKEN_BYTES_MAX);
}

void rec_belief_parser_release(struct rec_belief_parser *p)
{
	rec_json_release(&p->reader);
}

/* ---- Errors ---- */

struct shown {
	char text[128];
};

static const char *show(struct shown *shown, struct rec_slice text)
{
	return rec_text_shown(shown->text, sizeof shown->text, text);
}

__attribute__((format(printf, 4, 5))) static int fail_at(const struct rec_belief_parser *p,
							 const struct rec_json_token *token, struct rec_error *error,
							 const char *format, ...)
{
	char place[96], what[400];
	va_list arguments;
	rec_json_place(&p->reader, token->offset, place, sizeof place);
	va_start(arguments, format);
	(void)vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return rec_fail(error, REC_E_INVALID, "%s: %s", place, what);
}

static const char *type_text(enum rec_json_type type)
{
	switch (type) {
	case REC_JSON_OBJECT_BEGIN:
		return "an object";
	case REC_JSON_ARRAY_BEGIN:
		return "a list";
	case REC_JSON_NUMBER:
		return "a number";
	case REC_JSON_TRUE:
	case REC_JSON_FALSE:
		return "a truth value";
	case REC_JSON_NULL:
		return "null";
	default:
		return "a text";
	}
}

static int fail_duplicate(const struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_slice id,
			  struct rec_error *error)
{
	struct shown shown;
	return fail_at(p, token, error, "duplicate id \"%s\" (a batch holds each task once)", show(&shown, id));
}

/* ---- Values ---- */

/* What the belief says of an id or a status, with the place put before the message. */
static int id_enter(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_slice id,
		    enum rec_status status, struct rec_error *error)
{
	int r = rec_belief_add(p->belief, id, status, &p->index, error);
	if (r < 0) {
		char place[96];
		rec_json_place(&p->reader, token->offset, place, sizeof place);
		return rec_fail_context(error, r, "%s", place);
	}
	if (r == REC_EXISTS && !p->live)
		return fail_duplicate(p, token, id, error);
	return 0;
}

/* id: whose status this is; data == NULL if that is not known yet. */
static int fail_status(const struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_slice id,
		       struct rec_error *error)
{
	struct shown shown, task;
	char of[160] = "";
	if (id.data)
		(void)snprintf(of, sizeof of, " of task \"%s\"", show(&task, id));
	if (token->type != REC_JSON_STRING)
		return fail_at(p, token, error, "the status%s is %s, not a text like \"READY\"", of,
			       type_text(token->type));
	return fail_at(p, token, error, "unknown status \"%s\"%s (one of " STATUSES ")", show(&shown, token->text), of);
}

static int status_read(const struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_slice id,
		       enum rec_status *ret_status, struct rec_error *error)
{
	enum rec_status status = REC_STATUS_UNRECOGNISED;
	if (token->type == REC_JSON_STRING)
		status = rec_status_parse_belief(token->text);
	if (status == REC_STATUS_UNRECOGNISED)
		return fail_status(p, token, id, error);
	*ret_status = status;
	return 0;
}

/* ---- The object form ---- */

/* It is one object after all: a pending "status" was an id. */
static int become_one_object(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	p->form = ONE_OBJECT;
	if (!(p->seen & SEEN_STATUS))
		return 0;
	return id_enter(p, token, status_key, (enum rec_status)p->pending_status, error);
}

static int entry_key(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	p->state = AT_ENTRY_VALUE;
	return id_enter(p, token, token->text, REC_STATUS_ABSENT, error);
}

static int entry_value(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	enum rec_status status = REC_STATUS_ABSENT;
	int r = status_read(p, token, p->belief->ids[p->index], &status, error);
	if (r < 0)
		return r;
	p->belief->statuses[p->index] = (uint8_t)status;
	p->state = AT_KEY;
	return 0;
}

/* ---- Lines ---- */

static int line_key_again(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	struct shown shown;
	return fail_at(p, token, error, "duplicate key \"%s\"", show(&shown, token->text));
}

static int line_key(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	struct shown shown;
	if (rec_slice_equal(token->text, task_id_key)) {
		p->state = AT_TASK_ID;
		return p->seen & SEEN_TASK_ID ? line_key_again(p, token, error) : 0;
	}
	if (rec_slice_equal(token->text, status_key)) {
		p->state = AT_STATUS;
		return p->seen & SEEN_STATUS ? line_key_again(p, token, error) : 0;
	}
	if (p->form == LINES)
		return fail_at(p, token, error, "unknown key \"%s\" (a line has \"task_id\" and \"status\")",
			       show(&shown, token->text));
	int r = become_one_object(p, token, error);
	return r ? r : entry_key(p, token, error);
}

static int task_id_value(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	p->state = AT_KEY;
	if (token->type != REC_JSON_STRING)
		return fail_at(p, token, error, "a task id is a text, not %s", type_text(token->type));
	enum rec_status status = rec_status_parse_belief(token->text);
	if (p->form == UNDECIDED && status != REC_STATUS_UNRECOGNISED) {
		int r = become_one_object(p, token, error);
		return r ? r : id_enter(p, token, task_id_key, status, error);
	}
	p->form = LINES;
	p->seen |= SEEN_TASK_ID;
	return id_enter(p, token, token->text, REC_STATUS_ABSENT, error);
}

static int status_value(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	enum rec_status status = REC_STATUS_ABSENT;
	if (!p->live || token->type != REC_JSON_NULL) {
		struct rec_slice id = {NULL, 0};
		if (p->seen & SEEN_TASK_ID)
			id = p->belief->ids[p->index];
		int r = status_read(p, token, id, &status, error);
		if (r < 0)
			return r;
	}
	p->pending_status = (uint8_t)status;
	p->seen |= SEEN_STATUS;
	p->state = AT_KEY;
	return 0;
}

static int line_end(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	if (p->seen != (SEEN_TASK_ID | SEEN_STATUS))
		return fail_at(p, token, error, "\"%s\" is missing (a line has \"task_id\" and \"status\")",
			       p->seen & SEEN_TASK_ID ? "status" : "task_id");
	p->belief->statuses[p->index] = p->pending_status;
	if (p->live && p->on_update)
		p->on_update(p->context, p->index);
	return 0;
}

/* ---- Documents ---- */

static int document_begin(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	if (p->form == ONE_OBJECT)
		return fail_at(p, token, error,
			       "content after the object (a batch state is one object {\"id\":\"STATUS\",...} or one "
			       "{\"task_id\":...,\"status\":...} a line)");
	if (token->type != REC_JSON_OBJECT_BEGIN)
		return fail_at(p, token, error, "expected an object {...}, found %s", type_text(token->type));
	p->state = AT_KEY;
	p->seen = 0;
	return 0;
}

static int key_or_end(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	if (token->type == REC_JSON_KEY)
		return p->form == ONE_OBJECT ? entry_key(p, token, error) : line_key(p, token, error);
	p->state = AT_DOCUMENT_END;
	if (p->form == LINES)
		return line_end(p, token, error);
	return p->form == UNDECIDED ? become_one_object(p, token, error) : 0;
}

static int document_end(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error)
{
	(void)token;
	(void)error;
	p->documents++;
	p->state = BETWEEN;
	return 0;
}

typedef int take_fn(struct rec_belief_parser *p, const struct rec_json_token *token, struct rec_error *error);

static take_fn *const takes[] = {
	[BETWEEN] = document_begin,   [AT_KEY] = key_or_end,      [AT_ENTRY_VALUE] = entry_value,
	[AT_TASK_ID] = task_id_value, [AT_STATUS] = status_value, [AT_DOCUMENT_END] = document_end,
};

/* Takes every token there is. 0: more input is needed, or (finished) the input ended between documents. */
static int tokens_take(struct rec_belief_parser *p, struct rec_error *error)
{
	for (;;) {
		struct rec_json_token token;
		int r = rec_json_next(&p->reader, &token, error);
		if (r)
			return r < 0 ? r : 0;
		r = takes[p->state](p, &token, error);
		if (r)
			return r;
	}
}

int rec_belief_parser_feed(struct rec_belief_parser *p, struct rec_slice bytes, struct rec_error *error)
{
	while (bytes.length) {
		size_t piece = bytes.length < PIECE_BYTES ? bytes.length : PIECE_BYTES;
		char *space = rec_json_space(&p->reader, piece);
		if (!space)
			return rec_fail_nomem(error);
		memcpy(space, bytes.data, piece);
		rec_json_added(&p->reader, piece);
		bytes = (struct rec_slice){bytes.data + piece, bytes.length - piece};
		int r = tokens_take(p, error);
		if (r < 0)
			return r;
	}
	return 0;
}

int rec_belief_parser_finish(struct rec_belief_parser *p, struct rec_error *error)
{
	rec_json_finish(&p->reader);
	int r = tokens_take(p, error);
	if (r == 0 && p->documents == 0 && !p->live)
		return rec_fail(error, REC_E_INVALID, "empty batch state (say {} for none)");
	return r;
}
