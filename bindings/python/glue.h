/* glue.h - what the Python package needs beside reconciler.h: many ids in one call, many results in one answer.
 *
 * Lists cross the border as one piece of memory: ids as texts one after the other, each ended by NUL; rows of results
 * as fields, each a '=' and the text, or a '-' for none, ended by NUL. So a call costs the same number of crossings
 * whatever the number of tasks, and none of them needs the interpreter: it is released for the whole call.
 * Results are those of reconciler.h. What is handed out is malloc'ed and ended by the named function.
 */
#ifndef REC_PYTHON_GLUE_H
#define REC_PYTHON_GLUE_H

#include <reconciler.h>

/* Bytes that grow. Begin with all zero; end with glue_text_release. */
struct glue_text {
	char *bytes;
	size_t length, room;
};
/* 0 or REC_E_NOMEM. */
int glue_text_append(struct glue_text *text, const char *bytes, size_t length);
void glue_text_release(struct glue_text *text);

/* ids: that many in so many bytes, or NULL for "no list". statuses[i]: what is believed about the i-th id of `state`.
 * REC_E_INVALID, if there are fewer ids in the bytes. */
struct glue_batch {
	const char *ids;
	size_t ids_length, id_count;
	const char *state;
	size_t state_length;
	const unsigned char *statuses;
	size_t state_count;
};

int glue_open(const char *place, int64_t check_interval_ms, int mode, struct reconciler **ret_reconciler,
	      struct rec_error *error);
/* Warnings of later reads are added to *text (4 fields a row: task id, column, problem, shown), at most 1,000. */
void glue_warnings_to(struct reconciler *reconciler, struct glue_text *text);

/* ---- Check and apply ---- */

/* Everything of a result but its task. There are few different ones, so each is made into an object once. */
struct glue_variant {
	const char *current_status, *external_status, *action, *reason, *source;
	int discrepancy, applied;
	int32_t next; /* the next one with the same statuses, action and flags; -1: none */
};
struct glue_results {
	struct rec_result_set *set;
	int32_t *variant_of; /* [count] */
	size_t count;
	struct glue_variant *variants;
	size_t variant_count, variant_room;
};
enum glue_kind { GLUE_ALL, GLUE_TASKS, GLUE_BLOCKERS };
int glue_check(struct reconciler *reconciler, int kind, int apply, const struct glue_batch *batch, const char *batch_id,
	       struct glue_results *ret_results, struct rec_error *error);
/* The ids of the results, a field each. */
int glue_results_ids(const struct glue_results *results, struct glue_text *text);
void glue_results_release(struct glue_results *results);

/* ---- Watching ---- */

int glue_watcher_new(struct reconciler *reconciler, int kind, int apply, const struct glue_batch *batch,
		     int only_believed, const char *batch_id, struct rec_watcher **ret_watcher,
		     struct rec_error *error);
/* 8 fields a row: task id, current status, external status, action, reason, source, discrepancy, applied. */
int glue_watcher_look(struct rec_watcher *watcher, struct glue_text *text, struct rec_error *error);

/* ---- Tasks and blockers ---- */

/* Ids of the tasks with one of the statuses (0: all), at most `limit` (0: all), a field each. */
int glue_task_ids(struct reconciler *reconciler, unsigned status_mask, uint64_t limit, struct glue_text *text,
		  struct rec_error *error);
/* Each of the tasks that exists as a JSON object and a newline. */
int glue_tasks_export(struct reconciler *reconciler, const char *ids, size_t ids_length, size_t id_count,
		      struct glue_text *text, struct rec_error *error);
/* All or nothing. */
int glue_task_import(struct reconciler *reconciler, const char *json, size_t length, struct rec_error *error);
/* *ret_current: enum rec_status. */
int glue_task_set_status(struct reconciler *reconciler, const char *task_id, int status, int force, int *ret_current,
			 struct rec_error *error);
/* ret_id: REC_ID_BYTES_MAX + 1 bytes. */
int glue_blocker_create(struct reconciler *reconciler, const char *task_id, const char *question,
			const char *created_by, char *ret_id, struct rec_error *error);
/* 8 fields a row: id, task id, question, answer, status, created at, answered at, created by. */
int glue_blocker_get(struct reconciler *reconciler, const char *blocker_id, struct glue_text *text,
		     struct rec_error *error);
int glue_blocker_list(struct reconciler *reconciler, const char *task_id, int open_only, struct glue_text *text,
		      struct rec_error *error);

/* ---- Which SQLite? ---- */

enum glue_sqlite {
	GLUE_SQLITE_SAME = 0,    /* that object uses the same copy of SQLite as we do */
	GLUE_SQLITE_OTHER = 1,   /* it uses another one */
	GLUE_SQLITE_HIDDEN = 2,  /* it shows none, so one that it has is its own */
	GLUE_SQLITE_UNKNOWN = 3, /* it is not loaded */
};
/* path: of a loaded object; NULL: the program itself. */
int glue_sqlite_of(const char *path);
/* The paths of the loaded objects that bring another copy, each ended by NUL. */
int glue_sqlite_others(struct glue_text *text);

#endif
