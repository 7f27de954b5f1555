/* fields.c - see fields.h. */
#include "tracker/fields.h"

/* ---- Tokens ------------------------------------------------------------------------------------- */

int rec_fields_next(struct rec_fields *f)
{
	int r = rec_json_next(&f->reader, &f->token, f->error);
	return r > 0 ? rec_fail(f->error, REC_E_INVALID, "the line ends too early") : r;
}

int rec_fields_wrong(struct rec_fields *f, const char *name, const char *wanted)
{
	return rec_fail(f->error, REC_E_INVALID, "\"%s\": %s was expected", name, wanted);
}

/* Reads on to the end of the value whose first token is there. */
static int skip(struct rec_fields *f)
{
	unsigned depth = f->token.depth;
	if (f->token.type != REC_JSON_OBJECT_BEGIN && f->token.type != REC_JSON_ARRAY_BEGIN)
		return 0;
	do {
		int r = rec_fields_next(f);
		if (r != 0)
			return r;
	} while (f->token.depth != depth ||
		 (f->token.type != REC_JSON_OBJECT_END && f->token.type != REC_JSON_ARRAY_END));
	return 0;
}

int rec_fields_text(struct rec_fields *f, const char *name, struct rec_slice *out)
{
	if (f->token.type == REC_JSON_NULL) {
		*out = (struct rec_slice){0};
		return 0;
	}
	if (f->token.type != REC_JSON_STRING)
		return rec_fields_wrong(f, name, "a text");
	const char *copy = rec_arena_strndup(f->arena, f->token.text.data, f->token.text.length);
	if (!copy)
		return rec_fail_nomem(f->error);
	*out = (struct rec_slice){copy, f->token.text.length};
	return 0;
}

static int take_number(struct rec_fields *f, const char *name, struct rec_number *out)
{
	int64_t value = 0;
	if (f->token.type == REC_JSON_NULL) {
		*out = (struct rec_number){0};
		return 0;
	}
	if (f->token.type != REC_JSON_NUMBER || rec_json_int64(f->token.text, &value) != 0)
		return rec_fields_wrong(f, name, "a whole number");
	*out = (struct rec_number){true, value};
	return 0;
}

static int take_flag(struct rec_fields *f, const char *name, struct rec_number *out)
{
	if (f->token.type != REC_JSON_TRUE && f->token.type != REC_JSON_FALSE && f->token.type != REC_JSON_NULL)
		return rec_fields_wrong(f, name, "true or false");
	*out = (struct rec_number){f->token.type != REC_JSON_NULL, f->token.type == REC_JSON_TRUE};
	return 0;
}

/* ---- Objects ------------------------------------------------------------------------------------ */

static const struct rec_field *field_find(const struct rec_field *fields, struct rec_slice name)
{
	for (; fields->name; fields++)
		if (rec_slice_equal(rec_slice_of(fields->name), name))
			return fields;
	return NULL;
}

static int take_value(struct rec_fields *f, const struct rec_field *field, void *out)
{
	void *place = (char *)out + field->offset;
	switch (field->kind) {
	case REC_FIELD_TEXT:
		return rec_fields_text(f, field->name, place);
	case REC_FIELD_NUMBER:
		return take_number(f, field->name, place);
	case REC_FIELD_FLAG:
		return take_flag(f, field->name, place);
	case REC_FIELD_NESTED:
		return field->nested(f, out);
	}
	return REC_E_BUG;
}

/* The object whose beginning is there. */
int rec_fields_object(struct rec_fields *f, const char *name, const struct rec_field *fields, void *out)
{
	if (f->token.type != REC_JSON_OBJECT_BEGIN)
		return rec_fields_wrong(f, name, "an object");
	for (;;) {
		int r = rec_fields_next(f);
		if (r != 0 || f->token.type == REC_JSON_OBJECT_END)
			return r;
		const struct rec_field *field = field_find(fields, f->token.text); /* before the key's text is gone */
		r = rec_fields_next(f);
		if (r == 0)
			r = field ? take_value(f, field, out) : skip(f);
		if (r != 0)
			return r;
	}
}

/* ---- The line ----------------------------------------------------------------------------------- */

/* One object, and nothing behind it. */
static int take_line(struct rec_fields *f, const struct rec_field *fields, void *out)
{
	int r = rec_fields_next(f);
	r = r ? r : rec_fields_object(f, "the line", fields, out);
	r = r ? r : rec_fields_next(f); /* END_DOCUMENT */
	if (r != 0)
		return r;
	r = rec_json_next(&f->reader, &f->token, f->error);
	if (r == 0)
		return rec_fail(f->error, REC_E_INVALID, "the line holds more than one object");
	return r < 0 ? r : 0;
}

int rec_fields_read(struct rec_slice line, struct rec_arena *arena, const struct rec_field *fields, void *out,
		    struct rec_error *error)
{
	struct rec_fields f = {.arena = arena, .error = error};
	rec_json_init(&f.reader, arena->allocator, line.length + 1);
	char *space = rec_json_space(&f.reader, line.length);
	int r = space ? 0 : rec_fail_nomem(error);
	if (r == 0) {
		if (line.length)
			memcpy(space, line.data, line.length);
		rec_json_added(&f.reader, line.length);
		rec_json_finish(&f.reader);
		r = take_line(&f, fields, out);
	}
	rec_json_release(&f.reader);
	if (r == REC_E_LIMIT) /* too deep: bad input like any other */
		r = error ? (error->code = REC_E_INVALID) : REC_E_INVALID;
	return r;
}
