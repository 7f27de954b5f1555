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

static void texts_write(struct rec_buffer *out, const struct rec_slice *texts, size_t count)
{
	rec_buffer_add_text(out, "[");
	for (size_t i = 0; i < count; i++) {
		rec_buffer_add_text(out, i ? "," : "");
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
		texts_write(out, *(const struct rec_slice *const *)value, count);
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

static int damaged(const struct rec_files_field *field, struct rec_error *error)
{
	return rec_fail(error, REC_E_INVALID, "the field \"%s\" is damaged", field->name);
}

static int texts_read(const struct rec_files_node *node, struct rec_arena *arena, void *value, size_t *ret_count,
		      struct rec_error *error)
{
	size_t count = 0;
	for (const struct rec_files_node *n = node->child; n; n = n->next)
		count++;
	struct rec_slice *texts = rec_arena_alloc(arena, count * sizeof *texts);
	if (!texts)
		return rec_fail_nomem(error);
	*(const struct rec_slice **)value = texts;
	*ret_count = count;
	for (const struct rec_files_node *n = node->child; n; n = n->next)
		*texts++ = n->text.data ? n->text : rec_slice_of("");
	return 0;
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

/* With a NUL behind it: some are names of files. */
static int text_read(struct rec_slice text, struct rec_arena *arena, struct rec_slice *ret, struct rec_error *error)
{
	const char *copy = rec_arena_strndup(arena, text.data, text.length);
	if (!copy)
		return rec_fail_nomem(error);
	*ret = (struct rec_slice){copy, text.length};
	return 0;
}

static int field_read(const struct rec_files_field *field, const struct rec_files_node *node, struct rec_arena *arena,
		      void *record, struct rec_error *error)
{
	void *value = (char *)record + field->offset, *more = (char *)record + field->more;
	enum rec_json_type wanted = field->kind == REC_FILES_TEXT    ? REC_JSON_STRING
				    : field->kind == REC_FILES_TEXTS ? REC_JSON_ARRAY_BEGIN
								     : REC_JSON_NUMBER;
	if (node->type != wanted)
		return damaged(field, error);
	if (wanted == REC_JSON_ARRAY_BEGIN)
		return texts_read(node, arena, value, more, error);
	if (wanted == REC_JSON_NUMBER)
		return number_set(field, node->text, value, more) ? damaged(field, error) : 0;
	return text_read(node->text, arena, value, error);
}

int rec_files_record_read(struct rec_slice json, const struct rec_files_record *type, struct rec_arena *arena,
			  void *record, struct rec_error *error)
{
	struct rec_files_node *root = NULL;
	int r = rec_files_document(json, arena, &root, error);
	for (size_t i = 0; r == 0 && i < type->count; i++) {
		const struct rec_files_node *node = rec_files_member(root, type->fields[i].name);
		if (node)
			r = field_read(&type->fields[i], node, arena, record, error);
	}
	return r;
}
