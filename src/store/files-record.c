/* files-record.c - rows of the log as lines of JSON, by tables of fields: a new column is one line here. */
#include "store/files.h"

#include <inttypes.h>

#define OF(type, field) offsetof(struct type, field)
#define TEXT(type, field)                                                                                              \
	{                                                                                                              \
#field, REC_FILES_TEXT, OF(type, field), 0                                                             \
	}
#define INT64(type, field)                                                                                             \
	{                                                                                                              \
#field, REC_FILES_INT64, OF(type, field), 0                                                            \
	}
#define MAYBE(type, field, has)                                                                                        \
	{                                                                                                              \
#field, REC_FILES_MAYBE, OF(type, field), OF(type, has)                                                \
	}
#define RECORD(name, ...)                                                                                              \
	static const struct rec_files_field name##_fields[] = {__VA_ARGS__};                                           \
	const struct rec_files_record rec_files_##name##_record = {name##_fields,                                      \
								   sizeof name##_fields / sizeof *name##_fields}

RECORD(counters, INT64(rec_files_counters, claim_id), INT64(rec_files_counters, event_seq),
       INT64(rec_files_counters, change_seq), INT64(rec_files_counters, changes_pruned));
RECORD(events, TEXT(rec_files_events, name), INT64(rec_files_events, bytes));
RECORD(step, TEXT(rec_files_step, name), TEXT(rec_files_step, from),
       {"had_file", REC_FILES_BOOL, OF(rec_files_step, had_file), 0},
       {"inode", REC_FILES_INT64, OF(rec_files_step, was.inode), 0},
       {"size", REC_FILES_INT64, OF(rec_files_step, was.size), 0},
       {"mtime_ns", REC_FILES_INT64, OF(rec_files_step, was.mtime_ns), 0});
RECORD(event, INT64(rec_event, seq), TEXT(rec_event, time), TEXT(rec_event, event), TEXT(rec_event, batch_id),
       TEXT(rec_event, task_id), TEXT(rec_event, action), TEXT(rec_event, reason), TEXT(rec_event, source),
       TEXT(rec_event, current_status), TEXT(rec_event, external_status), TEXT(rec_event, believed),
       TEXT(rec_event, observation), TEXT(rec_event, detail), MAYBE(rec_event, attempt, has_attempt),
       MAYBE(rec_event, blockers_total, has_blockers), MAYBE(rec_event, blockers_open, has_blockers),
       MAYBE(rec_event, blockers_new, has_blockers), MAYBE(rec_event, exit_code, has_exit_code),
       MAYBE(rec_event, exit_signal, has_exit_signal), MAYBE(rec_event, survivors, has_survivors));

/* ---- Writing ---- */

static void key_write(struct rec_buffer *out, const struct rec_files_field *field, bool *first)
{
	rec_buffer_printf(out, "%s\"%s\":", *first ? "" : ",", field->name);
	*first = false;
}

void rec_files_texts_write(struct rec_buffer *out, const struct rec_slice *texts, size_t count, const char *between)
{
	rec_buffer_add_text(out, "[");
	for (size_t i = 0; i < count; i++) {
		rec_buffer_add_text(out, i ? between : "");
		rec_json_write_string(out, texts[i]);
	}
	rec_buffer_add_text(out, "]");
}

static int64_t number_of(const struct rec_files_field *field, const void *value)
{
	switch (field->kind) {
	case REC_FILES_UINT32:
		return *(const uint32_t *)value;
	case REC_FILES_ENUM:
		return *(const int *)value;
	case REC_FILES_BOOL:
		return *(const bool *)value;
	default:
		return *(const int64_t *)value;
	}
}

static void field_write(struct rec_buffer *out, const struct rec_files_field *field, const void *record, bool *first)
{
	const void *value = (const char *)record + field->offset;
	const void *more = (const char *)record + field->more;
	if (field->kind == REC_FILES_TEXT) {
		const struct rec_slice *text = value;
		if (!text->data)
			return;
		key_write(out, field, first);
		rec_json_write_string(out, *text);
	} else if (field->kind == REC_FILES_TEXTS) {
		size_t count = *(const size_t *)more;
		if (!count)
			return;
		key_write(out, field, first);
		rec_files_texts_write(out, *(const struct rec_slice *const *)value, count, ",");
	} else {
		int64_t number = number_of(field, value);
		if (field->kind == REC_FILES_MAYBE ? !*(const bool *)more : number == 0)
			return;
		key_write(out, field, first);
		rec_buffer_printf(out, "%" PRId64, number);
	}
}

int rec_files_record_write(struct rec_buffer *out, const struct rec_files_record *type, const void *record)
{
	bool first = true;
	rec_buffer_add_text(out, "{");
	for (size_t i = 0; i < type->count; i++)
		field_write(out, &type->fields[i], record, &first);
	return rec_buffer_add_text(out, "}");
}

int rec_files_record_line(struct rec_buffer *out, const char *word, const struct rec_files_record *type,
			  const void *record)
{
	rec_buffer_printf(out, "%s ", word);
	rec_files_record_write(out, type, record);
	return rec_buffer_add_text(out, "\n");
}

/* ---- Reading ---- */

struct reading {
	struct rec_json_reader json; /* its window is the record's own copy, which nothing moves */
	struct rec_arena *arena;
	struct rec_error *error;
};

static int token_next(struct reading *g, struct rec_json_token *token)
{
	int r = rec_json_next(&g->json, token, g->error);
	return r > 0 ? rec_fail(g->error, REC_E_INVALID, "a record ends too early") : r;
}

static int damaged(const struct rec_files_field *field, struct rec_error *error)
{
	return rec_fail(error, REC_E_INVALID, "the field \"%s\" is damaged", field->name);
}

/* With a NUL behind it, where its quote was: some are names of files. */
static struct rec_slice text_take(struct reading *g, const struct rec_json_token *token)
{
	size_t at = (size_t)(token->text.data - g->json.window.data);
	g->json.window.data[at + token->text.length] = '\0';
	return token->text;
}

static int texts_read(struct reading *g, const struct rec_files_field *field, void *value, size_t *ret_count)
{
	struct rec_slice *texts = NULL;
	struct rec_json_token token;
	size_t count = 0, capacity = 0;
	int r;
	while ((r = token_next(g, &token)) == 0 && token.type == REC_JSON_STRING) {
		if (count == capacity) {
			size_t wanted = capacity ? 2 * capacity : 4;
			struct rec_slice *moved = rec_arena_alloc(g->arena, wanted * sizeof *moved);
			if (!moved)
				return rec_fail_nomem(g->error);
			if (count)
				memcpy(moved, texts, count * sizeof *moved);
			texts = moved;
			capacity = wanted;
		}
		texts[count++] = text_take(g, &token);
	}
	*(const struct rec_slice **)value = texts;
	*ret_count = count;
	return r < 0 || token.type == REC_JSON_ARRAY_END ? r : damaged(field, g->error);
}

static int number_set(const struct rec_files_field *field, struct rec_slice text, void *value, void *more)
{
	int64_t number;
	if (rec_json_int64(text, &number) != 0)
		return REC_E_INVALID;
	if (field->kind == REC_FILES_BOOL)
		*(bool *)value = number != 0;
	else if (field->kind == REC_FILES_ENUM && number >= 0 && number < 256)
		*(int *)value = (int)number;
	else if (field->kind == REC_FILES_UINT32 && number >= 0 && number <= UINT32_MAX)
		*(uint32_t *)value = (uint32_t)number;
	else if (field->kind == REC_FILES_INT64 || field->kind == REC_FILES_MAYBE)
		*(int64_t *)value = number;
	else
		return REC_E_INVALID;
	if (field->kind == REC_FILES_MAYBE)
		*(bool *)more = true;
	return 0;
}

static int field_read(struct reading *g, const struct rec_files_field *field, const struct rec_json_token *token,
		      void *record)
{
	void *value = (char *)record + field->offset, *more = (char *)record + field->more;
	enum rec_json_type wanted = field->kind == REC_FILES_TEXT    ? REC_JSON_STRING
				    : field->kind == REC_FILES_TEXTS ? REC_JSON_ARRAY_BEGIN
								     : REC_JSON_NUMBER;
	if (token->type != wanted)
		return damaged(field, g->error);
	if (wanted == REC_JSON_ARRAY_BEGIN)
		return texts_read(g, field, value, more);
	if (wanted == REC_JSON_NUMBER)
		return number_set(field, token->text, value, more) ? damaged(field, g->error) : 0;
	*(struct rec_slice *)value = text_take(g, token);
	return 0;
}

/* A value of a field that is not known: of a later version, which thought it can be done without. */
static int value_skip(struct reading *g, struct rec_json_token *token)
{
	unsigned depth = token->depth;
	int r = 0;
	if (token->type != REC_JSON_OBJECT_BEGIN && token->type != REC_JSON_ARRAY_BEGIN)
		return 0;
	do
		r = token_next(g, token);
	while (r == 0 &&
	       (token->depth > depth || (token->type != REC_JSON_OBJECT_END && token->type != REC_JSON_ARRAY_END)));
	return r;
}

/* Records keep the order of their table. */
static const struct rec_files_field *field_find(const struct rec_files_record *type, struct rec_slice key, size_t hint)
{
	for (size_t i = 0; i < type->count; i++) {
		const struct rec_files_field *field = &type->fields[(hint + i) % type->count];
		if (strncmp(field->name, key.data, key.length) == 0 && field->name[key.length] == '\0')
			return field;
	}
	return NULL;
}

static int member_read(struct reading *g, const struct rec_files_record *type, struct rec_slice key, uint32_t *seen,
		       size_t *hint, void *record)
{
	const struct rec_files_field *field = field_find(type, key, *hint);
	struct rec_json_token token;
	int r = token_next(g, &token);
	if (r < 0 || !field)
		return r < 0 ? r : value_skip(g, &token);
	size_t index = (size_t)(field - type->fields);
	if (*seen & UINT32_C(1) << index)
		return damaged(field, g->error);
	*seen |= UINT32_C(1) << index;
	*hint = index + 1;
	return field_read(g, field, &token, record);
}

static int members_read(struct reading *g, const struct rec_files_record *type, void *record)
{
	struct rec_json_token token;
	uint32_t seen = 0;
	size_t hint = 0;
	int r = token_next(g, &token);
	if (r == 0 && token.type != REC_JSON_OBJECT_BEGIN)
		return rec_fail(g->error, REC_E_INVALID, "a record is no object");
	while (r == 0 && (r = token_next(g, &token)) == 0 && token.type == REC_JSON_KEY)
		r = member_read(g, type, token.text, &seen, &hint, record);
	if (r == 0)
		r = token_next(g, &token); /* the end of the document */
	if (r == 0 && rec_json_next(&g->json, &token, NULL) != REC_END)
		r = rec_fail(g->error, REC_E_INVALID, "something follows behind a record");
	return r;
}

int rec_files_record_read(struct rec_slice json, const struct rec_files_record *type, struct rec_arena *arena,
			  void *record, struct rec_error *error)
{
	struct reading g = {.arena = arena, .error = error};
	char *copy = rec_arena_strndup(arena, json.data, json.length);
	if (!copy)
		return rec_fail_nomem(error);
	rec_json_init(&g.json, arena->allocator, json.length + 1);
	g.json.window.data = copy;
	g.json.window.length = json.length;
	g.json.window.capacity = json.length + 1;
	rec_json_finish(&g.json);
	return members_read(&g, type, record);
}
