/* observation.c - written key by key; read strictly, because an audit log that was touched is to be found out. */
#include "engine/observation.h"

#include <inttypes.h>

#include "base/json.h"

#define RECORD_BYTES_MAX 65536u

/* ---- Writing ---- */

static void key_write(struct rec_buffer *out, const char *key)
{
	char last = out->length ? out->data[out->length - 1] : '{';
	rec_buffer_add_text(out, last == '{' ? "\"" : ",\"");
	rec_buffer_add_text(out, key);
	rec_buffer_add_text(out, "\":");
}

static void text_write(struct rec_buffer *out, const char *key, struct rec_slice text)
{
	if (!text.data)
		return;
	key_write(out, key);
	rec_json_write_string(out, text);
}

static void flag_write(struct rec_buffer *out, const char *key, bool set)
{
	if (!set)
		return;
	key_write(out, key);
	rec_buffer_add_text(out, "true");
}

static void comments_write(struct rec_buffer *out, bool has, int64_t comments)
{
	if (!has)
		return;
	key_write(out, "comments");
	rec_buffer_printf(out, "%" PRId64, comments);
}

static void state_write(struct rec_buffer *out, enum rec_observed state, enum rec_link_kind kind,
			struct rec_slice reason, struct rec_slice time)
{
	text_write(out, "state", rec_slice_of(rec_observed_text(state)));
	if (kind != REC_LINK_KIND_UNKNOWN)
		text_write(out, "kind", rec_slice_of(rec_link_kind_text(kind)));
	text_write(out, "reason", reason);
	text_write(out, "time", time);
}

int rec_observation_write(struct rec_buffer *out, const struct rec_observe_input *input)
{
	const struct rec_link *link = input->link;
	const struct rec_observation *o = input->observation;
	rec_buffer_add_text(out, "{");
	text_write(out, "url", link->url);
	state_write(out, o->state, o->kind, o->reason, o->time);
	comments_write(out, o->has_comments, o->comments);
	text_write(out, "moved_to", o->moved_to);
	flag_write(out, "again", input->again);
	key_write(out, "known");
	rec_buffer_add_text(out, "{");
	state_write(out, link->state, link->kind, link->reason, link->time);
	comments_write(out, link->has_comments, link->comments);
	flag_write(out, "gone", link->gone);
	flag_write(out, "made_done", input->made_done);
	return rec_buffer_add_text(out, "}}");
}

/* ---- Reading ---- */

struct reading {
	struct rec_arena *arena;
	struct rec_observation_record *record;
	bool known; /* inside "known" */
	bool known_seen, state_seen, url_seen, known_state_seen;
};

static int text_keep(struct reading *r, const struct rec_json_token *value, struct rec_slice *ret_text)
{
	if (value->type != REC_JSON_STRING)
		return REC_E_INVALID;
	char *copy = rec_arena_strndup(r->arena, value->text.data, value->text.length);
	if (!copy)
		return REC_E_NOMEM;
	*ret_text = (struct rec_slice){copy, value->text.length};
	return 0;
}

static int word_read(const struct rec_json_token *value, int (*parse)(struct rec_slice text), int *ret_word)
{
	if (value->type != REC_JSON_STRING)
		return REC_E_INVALID;
	*ret_word = parse(value->text);
	return *ret_word < 0 ? REC_E_INVALID : 0;
}

static int state_read(struct reading *r, const struct rec_json_token *value)
{
	int state = 0;
	int result = word_read(value, rec_observed_parse, &state);
	if (r->known) {
		r->record->link.state = (enum rec_observed)state;
		r->known_state_seen = true;
		return state > REC_OBSERVED_MERGED ? REC_E_INVALID : result;
	}
	r->record->observation.state = (enum rec_observed)state;
	r->state_seen = true;
	return result;
}

static int kind_read(struct reading *r, const struct rec_json_token *value)
{
	int kind = 0;
	int result = word_read(value, rec_link_kind_parse, &kind);
	if (r->known)
		r->record->link.kind = (enum rec_link_kind)kind;
	else
		r->record->observation.kind = (enum rec_link_kind)kind;
	return result;
}

static int comments_read(struct reading *r, const struct rec_json_token *value)
{
	int64_t comments = 0;
	if (value->type != REC_JSON_NUMBER || rec_json_int64(value->text, &comments))
		return REC_E_INVALID;
	if (r->known) {
		r->record->link.has_comments = true;
		r->record->link.comments = comments;
	} else {
		r->record->observation.has_comments = true;
		r->record->observation.comments = comments;
	}
	return 0;
}

static int flag_read(const struct rec_json_token *value, bool *ret_flag)
{
	*ret_flag = true;
	return value->type == REC_JSON_TRUE ? 0 : REC_E_INVALID;
}

static bool is(struct rec_slice key, const char *name)
{
	return rec_slice_equal(key, rec_slice_of(name));
}

static int value_read(struct reading *r, struct rec_slice key, const struct rec_json_token *value)
{
	struct rec_link *link = &r->record->link;
	struct rec_observation *o = &r->record->observation;
	if (is(key, "state"))
		return state_read(r, value);
	if (is(key, "kind"))
		return kind_read(r, value);
	if (is(key, "reason"))
		return text_keep(r, value, r->known ? &link->reason : &o->reason);
	if (is(key, "time"))
		return text_keep(r, value, r->known ? &link->time : &o->time);
	if (is(key, "comments"))
		return comments_read(r, value);
	if (r->known && is(key, "gone"))
		return flag_read(value, &link->gone);
	if (r->known && is(key, "made_done"))
		return flag_read(value, &r->record->input.made_done);
	if (!r->known && is(key, "url")) {
		r->url_seen = true;
		return text_keep(r, value, &link->url);
	}
	if (!r->known && is(key, "moved_to"))
		return text_keep(r, value, &o->moved_to);
	if (!r->known && is(key, "again"))
		return flag_read(value, &r->record->input.again);
	return REC_E_INVALID;
}

/* One key and its value. */
static int member_read(struct reading *r, struct rec_json_reader *json, struct rec_error *error)
{
	char key[16];
	struct rec_json_token token;
	int result = rec_json_next(json, &token, error);
	if (result)
		return result;
	if (token.type == REC_JSON_OBJECT_END && r->known) {
		r->known = false;
		return 0;
	}
	if (token.type == REC_JSON_OBJECT_END)
		return REC_END;
	struct rec_slice name = {key, token.text.length};
	if (token.type != REC_JSON_KEY || token.text.length >= sizeof key)
		return REC_E_INVALID;
	memcpy(key, token.text.data, token.text.length);
	result = rec_json_next(json, &token, error);
	if (result)
		return result;
	if (!r->known && !r->known_seen && is(name, "known") && token.type == REC_JSON_OBJECT_BEGIN) {
		r->known = r->known_seen = true;
		return 0;
	}
	return value_read(r, name, &token);
}

static int document_read(struct reading *r, struct rec_json_reader *json, struct rec_error *error)
{
	struct rec_json_token token;
	int result = rec_json_next(json, &token, error);
	if (result == 0 && token.type != REC_JSON_OBJECT_BEGIN)
		return REC_E_INVALID;
	while (result == 0)
		result = member_read(r, json, error);
	if (result == REC_END && r->url_seen)
		result = rec_json_next(json, &token, error); /* the end of the document */
	if (result == 0)
		result = rec_json_next(json, &token, error); /* and of the input */
	bool complete = r->url_seen && r->state_seen && r->known_seen && r->known_state_seen;
	return result == REC_END && complete ? 0 : result < 0 ? result : REC_E_INVALID;
}

static int json_fill(struct rec_json_reader *json, struct rec_slice text)
{
	char *space = rec_json_space(json, text.length + 1);
	if (!space)
		return REC_E_NOMEM;
	memcpy(space, text.data, text.length);
	rec_json_added(json, text.length);
	rec_json_finish(json);
	return 0;
}

int rec_observation_read(struct rec_slice text, struct rec_arena *arena, struct rec_observation_record *ret_record,
			 struct rec_error *error)
{
	struct rec_json_reader json;
	struct rec_observation_record record = {.input.stored = REC_STATUS_ABSENT};
	struct reading reading = {.arena = arena, .record = &record};
	if (!text.data || text.length > RECORD_BYTES_MAX)
		return rec_fail(error, REC_E_INVALID, "observation: is missing, or longer than any we write");
	rec_json_init(&json, arena->allocator, RECORD_BYTES_MAX);
	int r = json_fill(&json, text);
	if (r == 0)
		r = document_read(&reading, &json, error);
	rec_json_release(&json);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	if (r)
		return rec_fail(error, REC_E_INVALID, "observation: is not as we write it");
	*ret_record = record;
	ret_record->input.link = &ret_record->link;
	ret_record->input.observation = &ret_record->observation;
	return 0;
}
