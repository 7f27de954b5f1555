/* exchange.h - task objects as JSON: import (a stream, all or nothing) and export. Sans-IO. */
#ifndef REC_ENGINE_EXCHANGE_H
#define REC_ENGINE_EXCHANGE_H

#include "base/json.h"
#include "store/store.h"

/* Appends the task object of cli.md (one line, no newline): every column the store knows; keys whose value
 * is absent are left out except the named ones of cli.md. A value that import would not take (an unknown status,
 * a depends_on that is no list) is written as the text it is, so that import refuses it aloud instead of
 * changing it. 0, or what the buffer failed with. */
int rec_task_write_json(struct rec_buffer *out, const struct rec_task *task, bool blockers);
int rec_blocker_write_json(struct rec_buffer *out, const struct rec_blocker *blocker, bool task_id);

/* Export: each task with its blockers and its links, those made by hand and what is remembered of the external_url;
 * one that was never observed and was not made by hand says nothing that the task does not. What the callback gets
 * lives until it returns; its result other than 0 ends the export and is the result. The links are read before the
 * tasks, in a read of their own: so a link may be older than its task, which the next sync mends, but never newer,
 * which nothing would. What a tracker's helper keeps (validators, cursors) stays where it is: the next sync in the
 * other store asks about every link, and tells what has changed since it was last seen. Memory: the links of all that
 * is exported. */
struct rec_exported {
	const struct rec_task *task;
	const struct rec_link *links; /* by address */
	size_t link_count;
};
typedef int rec_export_fn(void *context, const struct rec_exported *exported);
int rec_export_all(struct rec_store *s, rec_export_fn *fn, void *context, struct rec_error *error);
/* The same of one task. REC_NOT_FOUND. */
int rec_export_one(struct rec_store *s, struct rec_slice id, rec_export_fn *fn, void *context, struct rec_error *error);
/* As rec_task_write_json with blockers, and the key `links` last if there are any. */
int rec_exported_write_json(struct rec_buffer *out, const struct rec_exported *exported);

/* Import: a JSON array or NDJSON of task objects, of any size. Runs in one group of `store`: rec_import_begin opens
 * it, rec_import_finish commits (after checking that every parent and dependency exists now), and any error
 * rolls everything back at once and names line, column and key. Existing id: REC_E_INVALID (all or nothing).
 *
 * An import writes what it is given and nothing else: statuses as they stand, without a look at transitions, and
 * no parent is rolled up, because every status is explicit; so export -> import loses nothing. A task that
 * another names as its parent becomes composite (also one that was in the store before; it is rolled up at the
 * next change below it). Links come with what is remembered of them, so that the next sync tells only what is new.
 * One event, TASKS_IMPORTED, with the number of tasks.
 *
 * Memory: the task object at hand (at most 256 MiB), the token at hand (at most 96 MiB), 64 KiB of input, and
 * for each distinct id that is named as a parent or dependency its bytes and about 60 more (at the end 50 more
 * for those that did not come later in the input). O(bytes of input) beyond the store. */
struct rec_import;
struct rec_import_options {
	bool ignore_unknown; /* unknown keys are skipped instead of refused */
	bool keep_missing;   /* a parent or dependency may be missing: kept as it is, for doctor to list */
	bool dry_run;        /* checks everything, then rolls back */
};
int rec_import_begin(struct rec_store *s, const struct rec_import_options *options, struct rec_import **ret_import,
		     struct rec_error *error);
int rec_import_feed(struct rec_import *i, struct rec_slice bytes, struct rec_error *error);
/* *ret_tasks: how many were imported. On success the group is committed. Either way the import is freed by
 * rec_import_free. */
int rec_import_finish(struct rec_import *i, uint64_t *ret_tasks, struct rec_error *error);
struct rec_import *rec_import_free(struct rec_import *i); /* rolls back if not finished; returns NULL */

#endif
