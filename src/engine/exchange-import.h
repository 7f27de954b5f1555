/* exchange-import.h - an import at work: what exchange-read.c (the walk over the tokens), exchange-links.c and
 * exchange-import.c (the life of the import) share. */
#ifndef REC_ENGINE_EXCHANGE_IMPORT_H
#define REC_ENGINE_EXCHANGE_IMPORT_H

#include "base/clock.h"
#include "engine/exchange-fields.h"
#include "engine/exchange-references.h"
#include "engine/exchange.h"

#define REC_PLACE_BYTES 96

enum rec_walk {
	REC_WALK_TOP,           /* between task objects */
	REC_WALK_TASK,          /* before a key or the end of a task object */
	REC_WALK_TASK_VALUE,    /* behind a key of it */
	REC_WALK_LIST,          /* in a list of texts of it */
	REC_WALK_BLOCKERS,      /* in its list of blockers */
	REC_WALK_BLOCKER,       /* before a key or the end of a blocker */
	REC_WALK_BLOCKER_VALUE, /* behind a key of it */
	REC_WALK_LINKS,         /* in its list of links */
	REC_WALK_LINK,          /* before a key or the end of a link */
	REC_WALK_LINK_VALUE,    /* behind a key of it */
	REC_WALK_SKIP,          /* in a value that nobody wants */
};

/* An object that is being read. */
struct rec_import_object {
	const struct rec_field_table *table;
	const struct rec_field *field; /* of the key read last */
	uint32_t seen;                 /* a bit for each field */
	struct rec_place place;
};

struct rec_import_link {
	struct rec_link link;
	struct rec_place place;
};

struct rec_import {
	struct rec_store *store;
	const struct rec_allocator *allocator;
	struct rec_import_options options;
	struct rec_json_reader reader;
	struct rec_references references;
	struct rec_error failure; /* .code: 0 as long as all is well */
	uint64_t documents, tasks;
	bool group, array;

	enum rec_walk walk, walk_after_skip;
	unsigned skip_depth;
	struct rec_import_object object, blocker_object, link_object;
	struct rec_arena arena; /* of the task at hand */
	struct rec_task task;
	struct rec_blocker *blockers;
	struct rec_import_link *links;
	struct rec_slice *elements;
	size_t blocker_count, blocker_capacity, link_count, link_capacity, element_count, element_capacity;
	struct rec_buffer list; /* a list of texts as it is stored */
	char id_made[REC_UUID_BYTES];
};

/* "line L, column C (byte B)" */
const char *rec_place_show(struct rec_place place, char out[REC_PLACE_BYTES]);

/* Is more known of it than that it is there? (The validator aside, which no export has.) */
bool rec_link_is_remembered(const struct rec_link *link);
/* Ties the task at hand, which was stored just now, to the links that were read with it. */
int rec_import_links(struct rec_import *i, struct rec_error *error);

/* Walks what the reader's window holds. REC_JSON_NEED_MORE, REC_END, or an error. */
int rec_import_walk(struct rec_import *i, struct rec_error *error);

#endif
