/* fields.h - reads one line of JSON, an object whose keys are in a table. Sans-IO. */
#ifndef REC_TRACKER_FIELDS_H
#define REC_TRACKER_FIELDS_H

#include "base/json.h"

/* Numbers and flags may be missing. */
struct rec_number {
	bool given;
	int64_t value;
};

struct rec_fields {
	struct rec_json_reader reader;
	struct rec_json_token token;
	struct rec_arena *arena; /* for texts */
	struct rec_error *error;
};

enum rec_field_kind {
	REC_FIELD_TEXT,   /* struct rec_slice; null: absent */
	REC_FIELD_NUMBER, /* struct rec_number, whole */
	REC_FIELD_FLAG,   /* struct rec_number, 0 or 1 */
	REC_FIELD_NESTED, /* its own function */
};
struct rec_field {
	const char *name;
	enum rec_field_kind kind;
	size_t offset;                                  /* in what is filled; not for NESTED */
	int (*nested)(struct rec_fields *f, void *out); /* the value's first token is there */
};

/* Reads a line that is one object and nothing else into `out` by the table `fields` (its end: all zero). Unknown keys
 * are ignored. 0; REC_E_INVALID with what is wrong; REC_E_NOMEM. */
int rec_fields_read(struct rec_slice line, struct rec_arena *arena, const struct rec_field *fields, void *out,
		    struct rec_error *error);

/* For nested values: the next token; the object or the text whose first token is there; a wrong type. */
int rec_fields_next(struct rec_fields *f);
int rec_fields_object(struct rec_fields *f, const char *name, const struct rec_field *fields, void *out);
int rec_fields_text(struct rec_fields *f, const char *name, struct rec_slice *out);
int rec_fields_wrong(struct rec_fields *f, const char *name, const char *wanted);

#endif
