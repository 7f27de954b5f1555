/* exchange-fields.h - which keys a task object, a blocker object and a link object have, and what may stand under each.
 * Used by the importer only. */
#ifndef REC_ENGINE_EXCHANGE_FIELDS_H
#define REC_ENGINE_EXCHANGE_FIELDS_H

#include "base/json.h"
#include "core/record.h"

enum rec_field_kind {
	REC_FIELD_TEXT,
	REC_FIELD_ID,
	REC_FIELD_TIME,
	REC_FIELD_CHOICE,         /* a text, one of `choices` */
	REC_FIELD_STATUS,         /* of a task */
	REC_FIELD_BLOCKER_STATUS, /* of a blocker */
	REC_FIELD_OBSERVED,       /* the state of a link */
	REC_FIELD_LINK_KIND,
	REC_FIELD_INTEGER,
	REC_FIELD_REAL,
	REC_FIELD_BOOLEAN, /* true, false, 1, 0 */
	REC_FIELD_FLAG,    /* the same into an int64; any integer is kept */
	REC_FIELD_IGNORED, /* known, of any type, and not ours to store */
	/* the rest is not a single token; the importer walks it */
	REC_FIELD_IDS,      /* a list of ids */
	REC_FIELD_LIST,     /* a list of texts, or the text of a list as it is stored */
	REC_FIELD_BLOCKERS, /* a list of blocker objects */
	REC_FIELD_LINKS,    /* a list of link objects */
};

struct rec_field {
	const char *name;
	enum rec_field_kind kind;
	bool optional;     /* null is allowed and means absent */
	size_t offset;     /* of the value in its record */
	size_t has_offset; /* of the presence flag; 0: none */
	size_t bytes_max;
	int64_t least, most;
	const char *const *choices; /* ends with NULL */
};
struct rec_field_table {
	const char *what; /* "task", "blocker", "link" */
	const struct rec_field *fields;
	unsigned count; /* at most 32 */
};
extern const struct rec_field_table rec_task_fields, rec_blocker_fields, rec_link_fields;

/* The index of the field named `key`, or -1. `hint`: where to begin; files tend to keep an order. */
int rec_field_find(const struct rec_field_table *table, struct rec_slice key, unsigned hint);

/* Puts a single-token value into *record; texts are copied to `arena`. 0, REC_E_NOMEM, or REC_E_INVALID or
 * REC_E_LIMIT with why (and the way out) in the error, to be completed with place and key by the caller. */
int rec_field_set(const struct rec_field *field, void *record, const struct rec_json_token *token,
		  struct rec_arena *arena, struct rec_error *error);
/* One element of a list: an id (REC_FIELD_IDS) or a text (REC_FIELD_LIST); the same results. */
int rec_field_element(const struct rec_field *field, const struct rec_json_token *token, struct rec_arena *arena,
		      struct rec_slice *ret_text, struct rec_error *error);
/* "a string", "null", ... */
const char *rec_token_kind(enum rec_json_type type);

#endif
