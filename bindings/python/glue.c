/* glue.c - lists to arrays, callbacks to buffers. */
#include "glue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_ROOM_LEAST 4096
#define WARNINGS_BYTES_MAX (1u << 20)
#define VARIANTS_LEAST 32
#define STATUSES (REC_STATUS_UNRECOGNISED + 1)

/* ---- Memory ---- */

static int fail(struct rec_error *error, int code, const char *message)
{
	if (error) {
		error->code = code;
		snprintf(error->message, sizeof error->message, "%s", message);
	}
	return code;
}

static int fail_memory(struct rec_error *error)
{
	return fail(error, REC_E_NOMEM, "memory exhausted");
}

void glue_text_release(struct glue_text *text)
{
	free(text->bytes);
	*text = (struct glue_text){0};
}

int glue_text_append(struct glue_text *text, const char *bytes, size_t length)
{
	if (length > text->room - text->length) {
		size_t room = text->room < TEXT_ROOM_LEAST ? TEXT_ROOM_LEAST : text->room;
		while (room - text->length < length) {
			if (room > SIZE_MAX / 2)
				return REC_E_NOMEM;
			room *= 2;
		}
		char *grown = realloc(text->bytes, room);
		if (!grown)
			return REC_E_NOMEM;
		text->bytes = grown;
		text->room = room;
	}
	if (length)
		memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	return 0;
}

static int field_add(struct glue_text *text, const char *field)
{
	int r = glue_text_append(text, field ? "=" : "-", 1);
	if (r == 0 && field)
		r = glue_text_append(text, field, strlen(field));
	return r ? r : glue_text_append(text, "", 1);
}

static int fields_add(struct glue_text *text, const char *const *fields, size_t count)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = field_add(text, fields[i]);
	return r;
}

/* ---- What is handed in ---- */

/* The next of the texts in *left bytes at *at. */
static int text_next(const char **at, size_t *left, const char **ret_text, struct rec_error *error)
{
	const char *end = *left ? memchr(*at, 0, *left) : NULL;
	if (!end)
		return fail(error, REC_E_INVALID, "batch: fewer ids than it says (give one for each)");
	*ret_text = *at;
	*left -= (size_t)(end + 1 - *at);
	*at = end + 1;
	return 0;
}

/* NULL without an error for "no list". */
static int ids_split(const char *ids, size_t length, size_t count, const char ***ret_ids, struct rec_error *error)
{
	int r = 0;
	const char **split = NULL;
	if (ids && count < SIZE_MAX / sizeof *split)
		split = malloc((count + 1) * sizeof *split);
	if (ids && !split)
		return fail_memory(error);
	for (size_t i = 0; r == 0 && split && i < count; i++)
		r = text_next(&ids, &length, &split[i], error);
	if (r) {
		free(split);
		split = NULL;
	}
	*ret_ids = split;
	return r;
}

/* NULL for "the batch holds nothing and says nothing". */
static int state_make(const struct glue_batch *batch, struct rec_batch_state **ret_state, struct rec_error *error)
{
	struct rec_batch_state *state = NULL;
	const char *at = batch->state, *id;
	size_t left = batch->state_length;
	if (!at) {
		*ret_state = NULL;
		return 0;
	}
	int r = rec_batch_state_new(NULL, &state, error);
	for (size_t i = 0; r == 0 && i < batch->state_count; i++) {
		r = text_next(&at, &left, &id, error);
		if (r == 0)
			r = rec_batch_state_set(state, id, (enum rec_status)batch->statuses[i], error);
	}
	if (r)
		state = rec_batch_state_free(state);
	*ret_state = state;
	return r;
}

struct arguments {
	const char **ids;
	struct rec_batch_state *state;
};

static void arguments_release(struct arguments *a)
{
	free(a->ids);
	rec_batch_state_free(a->state);
}

static int arguments_make(const struct glue_batch *batch, struct arguments *a, struct rec_error *error)
{
	*a = (struct arguments){0};
	int r = ids_split(batch->ids, batch->ids_length, batch->id_count, &a->ids, error);
	return r ? r : state_make(batch, &a->state, error);
}

/* ---- Opening ---- */

int glue_open(const char *place, int64_t check_interval_ms, int mode, struct reconciler **ret_reconciler,
	      struct rec_error *error)
{
	struct rec_open_options options = {.size = sizeof options, .mode = (enum rec_open_mode)mode};
	return rec_open(place, check_interval_ms, &options, ret_reconciler, error);
}

/* What does not fit is not told: a warning is never the end of a read. */
static void warning_note(void *context, const struct rec_warning_info *w)
{
	const char *const fields[] = {w->task_id, w->column, w->problem, w->shown};
	struct glue_text *text = context;
	size_t before = text->length;
	if (before < WARNINGS_BYTES_MAX && fields_add(text, fields, sizeof fields / sizeof *fields) != 0)
		text->length = before;
}

void glue_warnings_to(struct reconciler *reconciler, struct glue_text *text)
{
	rec_on_warning(reconciler, text ? warning_note : NULL, text);
}

/* ---- Check and apply ---- */

typedef int check_function(struct reconciler *, const char *const *, size_t, const struct rec_batch_state *,
			   struct rec_result_set **, struct rec_error *);
typedef int apply_function(struct reconciler *, const char *const *, size_t, const struct rec_batch_state *,
			   const char *, struct rec_result_set **, struct rec_error *);

static int decide(struct reconciler *r, int kind, int apply, const struct glue_batch *batch, const char *batch_id,
		  struct rec_result_set **ret_set, struct rec_error *error)
{
	static check_function *const checks[] = {rec_check_all, rec_check_tasks, rec_check_blockers};
	static apply_function *const applies[] = {rec_apply_all, rec_apply_tasks, rec_apply_blockers};
	struct arguments a;
	int result = arguments_make(batch, &a, error);
	const char *const *ids = (const char *const *)a.ids;
	if (result == 0 && apply)
		result = applies[kind](r, ids, batch->id_count, a.state, batch_id, ret_set, error);
	else if (result == 0)
		result = checks[kind](r, ids, batch->id_count, a.state, ret_set, error);
	arguments_release(&a);
	return result;
}

/* The first variant with these numbers, by number. */
typedef int32_t first_table[STATUSES][STATUSES][REC_ACTION_COUNT][2][3];

static int is_variant(const struct glue_variant *v, const struct rec_result *r)
{
	return strcmp(v->reason, r->reason) == 0 && strcmp(v->source, r->source) == 0 &&
	       (r->current != REC_STATUS_UNRECOGNISED || strcmp(v->current_status, r->current_status) == 0) &&
	       (r->external != REC_STATUS_UNRECOGNISED || strcmp(v->external_status, r->external_status) == 0);
}

static int variant_add(struct glue_results *results, const struct rec_result *r)
{
	if (results->variant_count == results->variant_room) {
		size_t room = results->variant_room ? results->variant_room * 2 : VARIANTS_LEAST;
		struct glue_variant *grown = realloc(results->variants, room * sizeof *grown);
		if (!grown)
			return REC_E_NOMEM;
		results->variants = grown;
		results->variant_room = room;
	}
	results->variants[results->variant_count++] = (struct glue_variant){
		.current_status = r->current_status,
		.external_status = r->external_status,
		.action = rec_action_name(r->action),
		.reason = r->reason,
		.source = r->source,
		.discrepancy = r->discrepancy != 0,
		.applied = r->applied,
		.next = -1,
	};
	return 0;
}

static int variant_find(struct glue_results *results, const struct rec_result *r, first_table *first,
			int32_t *ret_variant)
{
	int32_t *link = &(*first)[r->current][r->external][r->action][r->discrepancy != 0][r->applied + 1];
	while (*link >= 0 && !is_variant(&results->variants[*link], r))
		link = &results->variants[*link].next;
	if (*link < 0) {
		*link = (int32_t)results->variant_count; /* before the variants may move */
		*ret_variant = *link;
		return variant_add(results, r);
	}
	*ret_variant = *link;
	return 0;
}

static int results_read(struct glue_results *results)
{
	struct rec_result result = {.size = sizeof result};
	first_table *first = malloc(sizeof *first);
	int r = first ? 0 : REC_E_NOMEM;
	if (first)
		memset(first, 0xff, sizeof *first);
	for (size_t i = 0; r == 0 && i < results->count; i++) {
		r = rec_result_set_get(results->set, i, &result);
		if (r == 0)
			r = variant_find(results, &result, first, &results->variant_of[i]);
	}
	free(first);
	return r;
}

int glue_check(struct reconciler *reconciler, int kind, int apply, const struct glue_batch *batch, const char *batch_id,
	       struct glue_results *ret_results, struct rec_error *error)
{
	struct glue_results results = {0};
	int r = decide(reconciler, kind, apply, batch, batch_id, &results.set, error);
	if (r)
		return r;
	results.count = rec_result_set_count(results.set);
	results.variant_of = malloc((results.count + 1) * sizeof *results.variant_of);
	r = results.variant_of ? results_read(&results) : REC_E_NOMEM;
	if (r) {
		glue_results_release(&results);
		return r == REC_E_NOMEM ? fail_memory(error) : r;
	}
	*ret_results = results;
	return 0;
}

int glue_results_ids(const struct glue_results *results, struct glue_text *text)
{
	struct rec_result result = {.size = sizeof result};
	int r = 0;
	for (size_t i = 0; r == 0 && i < results->count; i++) {
		r = rec_result_set_get(results->set, i, &result);
		if (r == 0)
			r = field_add(text, result.task_id);
	}
	return r;
}

void glue_results_release(struct glue_results *results)
{
	rec_result_set_free(results->set);
	free(results->variant_of);
	free(results->variants);
	*results = (struct glue_results){0};
}

/* ---- Watching ---- */

int glue_watcher_new(struct reconciler *reconciler, int kind, int apply, const struct glue_batch *batch,
		     int only_believed, const char *batch_id, struct rec_watcher **ret_watcher, struct rec_error *error)
{
	static const enum rec_watch_kind kinds[] = {REC_WATCH_ALL, REC_WATCH_TASKS, REC_WATCH_BLOCKERS};
	struct arguments a;
	int r = arguments_make(batch, &a, error);
	if (r == 0) {
		struct rec_watcher_options options = {
			.size = sizeof options,
			.kind = kinds[kind],
			.ids = (const char *const *)a.ids,
			.id_count = batch->id_count,
			.state = a.state,
			.only_believed = only_believed,
			.apply = apply,
			.batch_id = batch_id,
		};
		r = rec_watcher_new(reconciler, &options, ret_watcher, error);
	}
	arguments_release(&a);
	return r;
}

static int result_note(void *context, const struct rec_result *r)
{
	const char *const fields[] = {
		r->task_id, r->current_status, r->external_status,         rec_action_name(r->action),
		r->reason,  r->source,         r->discrepancy ? "1" : "0", r->applied > 0 ? "1" : "0",
	};
	return fields_add(context, fields, sizeof fields / sizeof *fields);
}

int glue_watcher_look(struct rec_watcher *watcher, struct glue_text *text, struct rec_error *error)
{
	return rec_watcher_look(watcher, result_note, text, NULL, error);
}

/* ---- Tasks and blockers ---- */

static int id_note(void *context, const struct rec_task_info *task)
{
	return field_add(context, task->id);
}

int glue_task_ids(struct reconciler *reconciler, unsigned status_mask, uint64_t limit, struct glue_text *text,
		  struct rec_error *error)
{
	struct rec_list_query query = {.size = sizeof query, .status_mask = status_mask, .limit = limit};
	return rec_task_list(reconciler, &query, id_note, text, error);
}

static int bytes_note(void *context, const char *bytes, size_t length)
{
	return glue_text_append(context, bytes, length);
}

/* One by one, for a missing one ends an export. */
int glue_tasks_export(struct reconciler *reconciler, const char *ids, size_t ids_length, size_t id_count,
		      struct glue_text *text, struct rec_error *error)
{
	const char *id;
	int r = 0;
	for (size_t i = 0; r >= 0 && i < id_count; i++) {
		r = text_next(&ids, &ids_length, &id, error);
		if (r == 0)
			r = rec_export(reconciler, &id, 1, REC_EXPORT_LINES, bytes_note, text, error);
	}
	return r < 0 ? r : 0;
}

int glue_task_import(struct reconciler *reconciler, const char *json, size_t length, struct rec_error *error)
{
	struct rec_import_settings settings = {.size = sizeof settings};
	struct rec_importer *importer = NULL;
	int r = rec_importer_new(reconciler, &settings, &importer, error);
	if (r)
		return r;
	r = rec_importer_feed(importer, json, length, error);
	if (r == 0)
		r = rec_importer_finish(importer, NULL, error);
	rec_importer_free(importer);
	return r;
}

int glue_task_set_status(struct reconciler *reconciler, const char *task_id, int status, int force, int *ret_current,
			 struct rec_error *error)
{
	enum rec_status current = REC_STATUS_ABSENT;
	int r = rec_task_set_status(reconciler, task_id, (enum rec_status)status, force, &current, error);
	*ret_current = (int)current;
	return r;
}

int glue_blocker_create(struct reconciler *reconciler, const char *task_id, const char *question,
			const char *created_by, char *ret_id, struct rec_error *error)
{
	struct rec_blocker_info info = {
		.size = sizeof info, .task_id = task_id, .question = question, .created_by = created_by};
	return rec_blocker_create(reconciler, &info, ret_id, error);
}

static int blocker_note(void *context, const struct rec_blocker_info *b)
{
	const char *const fields[] = {
		b->id, b->task_id, b->question, b->answer, b->status, b->created_at, b->answered_at, b->created_by,
	};
	return fields_add(context, fields, sizeof fields / sizeof *fields);
}

int glue_blocker_get(struct reconciler *reconciler, const char *blocker_id, struct glue_text *text,
		     struct rec_error *error)
{
	return rec_blocker_get(reconciler, blocker_id, blocker_note, text, error);
}

int glue_blocker_list(struct reconciler *reconciler, const char *task_id, int open_only, struct glue_text *text,
		      struct rec_error *error)
{
	return rec_blocker_list(reconciler, task_id, open_only, blocker_note, text, error);
}
