/* exchange-fields.c - the keys as tables: the named ones of a task object, then the further columns of codeframe's
 * schema; those of a blocker; those of a link. A value is judged by its field's kind; nothing is stored before it is
 * known to be sound. */
#include "engine/exchange-fields.h"

#include <stdio.h>

#include "base/number.h"
#include "base/text.h"
#include "base/timestamp.h"

#define TIME_BYTES_MAX 64 /* a time of any sane precision */

static const char *const creators[] = {"human", "agent", "system", NULL};
static const char *const uncertainties[] = {"low", "medium", "high", NULL};

#define OF(record, member) .offset = offsetof(struct record, member)
#define HAS(record, member) .has_offset = offsetof(struct record, member)
#define ANY_INTEGER .least = INT64_MIN, .most = INT64_MAX
#define ANY_TEXT .bytes_max = REC_TEXT_BYTES_MAX

static const struct rec_field task_fields[] = {
	{"id", REC_FIELD_ID, false, OF(rec_task, id)},
	{"title", REC_FIELD_TEXT, false, OF(rec_task, title), .bytes_max = REC_TITLE_BYTES_MAX},
	{"description", REC_FIELD_TEXT, true, OF(rec_task, description), ANY_TEXT},
	{"status", REC_FIELD_STATUS, false},
	{"priority", REC_FIELD_INTEGER, false, OF(rec_task, priority), ANY_INTEGER},
	{"depends_on", REC_FIELD_IDS, false, OF(rec_task, depends_on)},
	{"parent_id", REC_FIELD_ID, true, OF(rec_task, parent_id)},
	{"external_url", REC_FIELD_TEXT, true, OF(rec_task, external_url), ANY_TEXT},
	{"created_at", REC_FIELD_TIME, false, OF(rec_task, created_at)},
	{"updated_at", REC_FIELD_TIME, false, OF(rec_task, updated_at)},
	{"blockers", REC_FIELD_BLOCKERS, false, OF(rec_task, blockers)},
	{"is_leaf", REC_FIELD_BOOLEAN, false, OF(rec_task, is_leaf)},
	{"prd_id", REC_FIELD_TEXT, true, OF(rec_task, prd_id), ANY_TEXT},
	{"estimated_hours", REC_FIELD_REAL, true, OF(rec_task, estimated_hours), HAS(rec_task, has_estimated_hours)},
	{"complexity_score", REC_FIELD_INTEGER, true, OF(rec_task, complexity_score),
	 HAS(rec_task, has_complexity_score), .least = 1, .most = 5},
	{"uncertainty_level", REC_FIELD_CHOICE, true, OF(rec_task, uncertainty_level), .choices = uncertainties},
	{"lineage", REC_FIELD_LIST, true, OF(rec_task, lineage), ANY_TEXT},
	{"hierarchical_id", REC_FIELD_TEXT, true, OF(rec_task, hierarchical_id), ANY_TEXT},
	{"github_issue_number", REC_FIELD_INTEGER, true, OF(rec_task, github_issue_number),
	 HAS(rec_task, has_github_issue_number), ANY_INTEGER},
	{"requirement_ids", REC_FIELD_LIST, true, OF(rec_task, requirement_ids), ANY_TEXT},
	{"auto_close_github_issue", REC_FIELD_FLAG, true, OF(rec_task, auto_close_github_issue)},
	{"workspace_id", REC_FIELD_IGNORED, true},
	{"links", REC_FIELD_LINKS, false},
};

static const struct rec_field blocker_fields[] = {
	{"id", REC_FIELD_ID, false, OF(rec_blocker, id)},
	{"task_id", REC_FIELD_ID, true, OF(rec_blocker, task_id)},
	{"question", REC_FIELD_TEXT, false, OF(rec_blocker, question), ANY_TEXT},
	{"answer", REC_FIELD_TEXT, true, OF(rec_blocker, answer), ANY_TEXT},
	{"status", REC_FIELD_BLOCKER_STATUS, false},
	{"created_at", REC_FIELD_TIME, false, OF(rec_blocker, created_at)},
	{"answered_at", REC_FIELD_TIME, true, OF(rec_blocker, answered_at)},
	{"created_by", REC_FIELD_CHOICE, false, OF(rec_blocker, created_by), .choices = creators},
	{"workspace_id", REC_FIELD_IGNORED, true},
};

/* What the store has limits of its own for is judged by it. */
static const struct rec_field link_fields[] = {
	{"url", REC_FIELD_TEXT, false, OF(rec_link, url), .bytes_max = REC_LINK_URL_BYTES_MAX},
	{"implicit", REC_FIELD_BOOLEAN, false, OF(rec_link, implicit)},
	{"state", REC_FIELD_OBSERVED, false},
	{"kind", REC_FIELD_LINK_KIND, false},
	{"reason", REC_FIELD_TEXT, true, OF(rec_link, reason), .bytes_max = REC_VALIDATOR_BYTES_MAX},
	{"time", REC_FIELD_TIME, true, OF(rec_link, time)},
	{"comments", REC_FIELD_INTEGER, true, OF(rec_link, comments), HAS(rec_link, has_comments), ANY_INTEGER},
	{"moved_to", REC_FIELD_TEXT, true, OF(rec_link, moved_to), .bytes_max = REC_LINK_URL_BYTES_MAX},
	{"observed_at", REC_FIELD_TIME, true, OF(rec_link, observed_at)},
	{"gone", REC_FIELD_BOOLEAN, false, OF(rec_link, gone)},
	{"made_done_at", REC_FIELD_TIME, true, OF(rec_link, made_done_at)},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
const struct rec_field_table rec_task_fields = {"task", task_fields, COUNT(task_fields)};
const struct rec_field_table rec_blocker_fields = {"blocker", blocker_fields, COUNT(blocker_fields)};
const struct rec_field_table rec_link_fields = {"link", link_fields, COUNT(link_fields)};

int rec_field_find(const struct rec_field_table *table, struct rec_slice key, unsigned hint)
{
	for (unsigned i = 0; i < table->count; i++) {
		unsigned index = (hint + i) % table->count;
		if (rec_slice_equal(key, rec_slice_of(table->fields[index].name)))
			return (int)index;
	}
	return -1;
}

/* ---- What is wrong with a value ---- */

const char *rec_token_kind(enum rec_json_type type)
{
	static const char *const kinds[] = {
		[REC_JSON_OBJECT_BEGIN] = "an object",
		[REC_JSON_OBJECT_END] = "the end of an object",
		[REC_JSON_ARRAY_BEGIN] = "a list",
		[REC_JSON_ARRAY_END] = "the end of a list",
		[REC_JSON_KEY] = "a key",
		[REC_JSON_STRING] = "a string",
		[REC_JSON_NUMBER] = "a number",
		[REC_JSON_TRUE] = "true",
		[REC_JSON_FALSE] = "false",
		[REC_JSON_NULL] = "null",
		[REC_JSON_END_DOCUMENT] = "the end",
	};
	return kinds[type];
}

static int wrong_type(const struct rec_json_token *token, const char *wanted, struct rec_error *error)
{
	return rec_fail(error, REC_E_INVALID, "it must be %s, not %s", wanted, rec_token_kind(token->type));
}

/* `wanted` in the shape "one of a, b, c". */
static int no_choice(struct rec_slice text, const char *const *choices, struct rec_error *error)
{
	char shown[128], list[160] = "";
	size_t length = 0;
	for (size_t i = 0; choices[i] && length < sizeof list; i++)
		length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", choices[i]);
	return rec_fail(error, REC_E_INVALID, "\"%s\" is not allowed (one of %s)",
			rec_text_shown(shown, sizeof shown, text), list);
}

/* ---- Texts ---- */

static int text_keep(struct rec_slice text, struct rec_arena *arena, void *out, struct rec_error *error)
{
	char *copy = rec_arena_strndup(arena, text.data, text.length);
	if (!copy)
		return rec_fail_nomem(error);
	*(struct rec_slice *)out = (struct rec_slice){copy, text.length};
	return 0;
}

static int text_judge(struct rec_slice text, size_t bytes_max, struct rec_error *error)
{
	if (text.length > bytes_max)
		return rec_fail(error, REC_E_LIMIT, "%zu bytes are over the limit of %zu (shorten it)", text.length,
				bytes_max);
	return 0;
}

static int id_judge(struct rec_slice text, struct rec_error *error)
{
	char shown[64];
	const char *problem = rec_id_problem(text);
	if (!problem)
		return 0;
	return rec_fail(error, REC_E_INVALID, "the id \"%s\" %s (ids have 1 to %d bytes of UTF-8)",
			rec_text_shown(shown, sizeof shown, text), problem, REC_ID_BYTES_MAX);
}

static int time_judge(struct rec_slice text, struct rec_error *error)
{
	char shown[64];
	int64_t us;
	if (text.length <= TIME_BYTES_MAX && rec_timestamp_parse(text, &us) == 0)
		return 0;
	return rec_fail(error, REC_E_INVALID, "\"%s\" is no time (write it as 2026-01-31T12:00:00Z)",
			rec_text_shown(shown, sizeof shown, text));
}

static int choice_judge(struct rec_slice text, const char *const *choices, struct rec_error *error)
{
	for (size_t i = 0; choices[i]; i++)
		if (rec_slice_equal(text, rec_slice_of(choices[i])))
			return 0;
	return no_choice(text, choices, error);
}

static int text_set(const struct rec_field *field, void *value, const struct rec_json_token *token,
		    struct rec_arena *arena, struct rec_error *error)
{
	int r = 0;
	if (token->type != REC_JSON_STRING)
		return wrong_type(token, "a string", error);
	if (field->kind == REC_FIELD_ID)
		r = id_judge(token->text, error);
	else if (field->kind == REC_FIELD_TIME)
		r = time_judge(token->text, error);
	else if (field->kind == REC_FIELD_CHOICE)
		r = choice_judge(token->text, field->choices, error);
	else
		r = text_judge(token->text, field->bytes_max, error);
	return r ? r : text_keep(token->text, arena, value, error);
}

static int status_set(struct rec_task *task, const struct rec_json_token *token, struct rec_error *error)
{
	static const char *const statuses[] = {"BACKLOG", "READY", "IN_PROGRESS", "BLOCKED",
					       "FAILED",  "DONE",  "MERGED",      NULL};
	if (token->type != REC_JSON_STRING)
		return wrong_type(token, "a string", error);
	enum rec_status status = rec_status_parse(token->text);
	if (status == REC_STATUS_UNRECOGNISED)
		return no_choice(token->text, statuses, error);
	task->status = status;
	task->status_text = rec_slice_of(rec_status_text(status));
	return 0;
}

static int blocker_status_set(struct rec_blocker *blocker, const struct rec_json_token *token, struct rec_error *error)
{
	static const char *const statuses[] = {"OPEN", "ANSWERED", "RESOLVED", NULL};
	if (token->type != REC_JSON_STRING)
		return wrong_type(token, "a string", error);
	enum rec_blocker_status status = rec_blocker_status_parse(token->text);
	if (status == REC_BLOCKER_UNRECOGNISED)
		return no_choice(token->text, statuses, error);
	blocker->status = status;
	blocker->status_text = rec_slice_of(rec_blocker_status_text(status));
	return 0;
}

static int observed_set(struct rec_link *link, const struct rec_json_token *token, struct rec_error *error)
{
	static const char *const states[] = {"unknown", "open", "closed", "merged", NULL};
	if (token->type != REC_JSON_STRING)
		return wrong_type(token, "a string", error);
	int r = choice_judge(token->text, states, error);
	if (r == 0)
		link->state = (enum rec_observed)rec_observed_parse(token->text);
	return r;
}

static int link_kind_set(struct rec_link *link, const struct rec_json_token *token, struct rec_error *error)
{
	static const char *const kinds[] = {"unknown", "issue", "pull_request", NULL};
	if (token->type != REC_JSON_STRING)
		return wrong_type(token, "a string", error);
	int r = choice_judge(token->text, kinds, error);
	if (r == 0)
		link->kind = (enum rec_link_kind)rec_link_kind_parse(token->text);
	return r;
}

/* ---- Numbers ---- */

static int integer_read(const struct rec_field *field, const struct rec_json_token *token, int64_t *ret_value,
			struct rec_error *error)
{
	char shown[64];
	int64_t value;
	if (token->type != REC_JSON_NUMBER)
		return wrong_type(token, "an integer", error);
	if (rec_json_int64(token->text, &value) == 0 && value >= field->least && value <= field->most) {
		*ret_value = value;
		return 0;
	}
	return rec_fail(error, REC_E_INVALID, "%s is no integer from %lld to %lld",
			rec_text_shown(shown, sizeof shown, token->text), (long long)field->least,
			(long long)field->most);
}

static int boolean_read(const struct rec_json_token *token, int64_t least, int64_t most, int64_t *ret_value,
			struct rec_error *error)
{
	const struct rec_field as_number = {.least = least, .most = most};
	if (token->type == REC_JSON_NUMBER)
		return integer_read(&as_number, token, ret_value, error);
	if (token->type != REC_JSON_TRUE && token->type != REC_JSON_FALSE)
		return wrong_type(token, "true or false", error);
	*ret_value = token->type == REC_JSON_TRUE;
	return 0;
}

static int real_set(void *value, const struct rec_json_token *token, struct rec_error *error)
{
	char shown[64];
	double number;
	if (token->type != REC_JSON_NUMBER)
		return wrong_type(token, "a number", error);
	if (rec_number_parse(token->text, &number))
		return rec_fail(error, REC_E_INVALID, "the number %s is out of range",
				rec_text_shown(shown, sizeof shown, token->text));
	*(double *)value = number;
	return 0;
}

/* ---- One value ---- */

static int value_set(const struct rec_field *field, void *record, const struct rec_json_token *token,
		     struct rec_arena *arena, struct rec_error *error)
{
	void *value = (char *)record + field->offset;
	int64_t number = 0;
	int r;
	switch (field->kind) {
	case REC_FIELD_STATUS:
		return status_set(record, token, error);
	case REC_FIELD_BLOCKER_STATUS:
		return blocker_status_set(record, token, error);
	case REC_FIELD_OBSERVED:
		return observed_set(record, token, error);
	case REC_FIELD_LINK_KIND:
		return link_kind_set(record, token, error);
	case REC_FIELD_INTEGER:
		return integer_read(field, token, value, error);
	case REC_FIELD_REAL:
		return real_set(value, token, error);
	case REC_FIELD_FLAG:
		return boolean_read(token, INT64_MIN, INT64_MAX, value, error);
	case REC_FIELD_BOOLEAN:
		r = boolean_read(token, 0, 1, &number, error);
		if (r == 0)
			*(bool *)value = number != 0;
		return r;
	case REC_FIELD_IGNORED:
		return 0;
	case REC_FIELD_IDS:
		return wrong_type(token, "a list of ids", error);
	case REC_FIELD_BLOCKERS:
		return wrong_type(token, "a list of blockers", error);
	case REC_FIELD_LINKS:
		return wrong_type(token, "a list of links", error);
	case REC_FIELD_LIST:
		if (token->type != REC_JSON_STRING)
			return wrong_type(token, "a list of strings", error);
		return text_set(field, value, token, arena, error);
	case REC_FIELD_TEXT:
	case REC_FIELD_ID:
	case REC_FIELD_TIME:
	case REC_FIELD_CHOICE:
		break;
	}
	return text_set(field, value, token, arena, error);
}

int rec_field_set(const struct rec_field *field, void *record, const struct rec_json_token *token,
		  struct rec_arena *arena, struct rec_error *error)
{
	if (token->type == REC_JSON_NULL && field->optional)
		return 0;
	if (token->type == REC_JSON_NULL)
		return rec_fail(error, REC_E_INVALID, "it must not be null (leave the key out if there is no value)");
	int r = value_set(field, record, token, arena, error);
	if (r == 0 && field->has_offset)
		*(bool *)((char *)record + field->has_offset) = true;
	return r;
}

int rec_field_element(const struct rec_field *field, const struct rec_json_token *token, struct rec_arena *arena,
		      struct rec_slice *ret_text, struct rec_error *error)
{
	int r = 0;
	if (token->type != REC_JSON_STRING)
		return rec_fail(error, REC_E_INVALID, "every element must be a string, not %s",
				rec_token_kind(token->type));
	if (field->kind == REC_FIELD_IDS)
		r = id_judge(token->text, error);
	return r ? r : text_keep(token->text, arena, ret_text, error);
}
