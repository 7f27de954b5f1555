/* exchange.h - task objects as JSON: import (a stream, all or nothing) and export. Sans-IO. */
#ifndef REC_ENGINE_EXCHANGE_H
#define REC_ENGINE_EXCHANGE_H

#include "base/json.h"
#include "store/store.h"

/* Appends the task object of cli.md (one line, no newline): every column the store knows; keys whose value
 * is absent are left out except the named ones of cli.md. */
int rec_task_write_json(struct rec_buffer *out, const struct rec_task *task, bool blockers);
int rec_blocker_write_json(struct rec_buffer *out, const struct rec_blocker *blocker, bool task_id);

/* Import: JSON array or NDJSON of task objects, any size; memory holds one task object at a time (plus an
 * id set for references). Runs in one group of `store`: rec_import_begin opens it, rec_import_finish commits
 * (after checking that every parent and dependency exists now), and any error rolls everything back and names
 * line, column and key. Existing id: REC_E_INVALID (all or nothing). */
struct rec_import;
struct rec_import_options {
	bool ignore_unknown; /* unknown keys are skipped instead of refused */
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
