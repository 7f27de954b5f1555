/* api-task.c - tasks and blockers: translate, hand on to the engine, translate back. */
#include "base/timestamp.h"
#include "engine/edit.h"
#include "lib/api.h"

/* ---- What is handed in ---- */

static int time_read(const char *what, const char *text, struct rec_slice *ret_time, struct rec_error *error)
{
	int64_t us;
	char shown[64];
	*ret_time = rec_slice_of(text);
	if (!text || rec_timestamp_parse(*ret_time, &us) == 0)
		return 0;
	return rec_fail(error, REC_E_INVALID, "%s: \"%s\" is no time (write it as 2026-01-31T12:00:00Z)", what,
			rec_text_shown(shown, sizeof shown, *ret_time));
}

static int status_read(const char *text, struct rec_task *task, struct rec_error *error)
{
	char shown[64];
	task->status = text ? rec_status_parse(rec_slice_of(text)) : REC_READY;
	task->status_text = rec_slice_of(rec_status_text(task->status));
	if (task->status != REC_STATUS_UNRECOGNISED)
		return 0;
	return rec_fail(error, REC_E_INVALID, "status: \"%s\" is none of the seven (READY, for one)",
			rec_text_shown(shown, sizeof shown, rec_slice_of(text)));
}

/* Points into the caller's strings; the list of dependencies lives in `arena`. */
static int task_read(const struct rec_task_info *info, struct rec_arena *arena, struct rec_task *task,
		     struct rec_error *error)
{
	struct rec_slice *dependencies;
	size_t count = info->depends_on ? info->depends_on_count : 0;
	int r = rec_api_ids(arena, info->depends_on, count, &dependencies, error);
	if (r)
		return r;
	*task = (struct rec_task){
		.id = rec_slice_of(info->id),
		.title = rec_slice_of(info->title),
		.description = rec_slice_of(info->description),
		.priority = info->priority,
		.depends_on = dependencies,
		.depends_on_count = count,
		.parent_id = rec_slice_of(info->parent_id),
		.external_url = rec_slice_of(info->external_url),
		.is_leaf = true,
	};
	r = status_read(info->status, task, error);
	if (r == 0)
		r = time_read("created_at", info->created_at, &task->created_at, error);
	return r ? r : time_read("updated_at", info->updated_at, &task->updated_at, error);
}

static void id_give(char *ret_id, const char *id)
{
	if (ret_id)
		memcpy(ret_id, id, strlen(id) + 1);
}

/* ---- Writing tasks ---- */

int rec_task_create(struct reconciler *r, const struct rec_task_info *task, char *ret_id, struct rec_error *error)
{
	char id[REC_ID_BYTES_MAX + 1];
	struct rec_task_info own;
	struct rec_arena arena;
	struct rec_task row;
	int result = rec_api_enter(r, error);
	if (result == 0)
		result = rec_abi_read(&own, sizeof own, task, "struct rec_task_info", error);
	if (result)
		return result;
	rec_arena_init(&arena, r->allocator);
	result = task_read(&own, &arena, &row, error);
	if (result == 0)
		result = rec_edit_create(r->store, &row, id, error);
	rec_arena_release(&arena);
	if (result == 0)
		id_give(ret_id, id);
	return result;
}

int rec_task_edit(struct reconciler *r, const struct rec_task_info *task, unsigned changes, struct rec_error *error)
{
	_Static_assert(REC_CHANGE_TITLE == (int)REC_EDIT_TITLE && REC_CHANGE_DESCRIPTION == (int)REC_EDIT_DESCRIPTION &&
			       REC_CHANGE_PRIORITY == (int)REC_EDIT_PRIORITY &&
			       REC_CHANGE_DEPENDS_ON == (int)REC_EDIT_DEPENDS_ON &&
			       REC_CHANGE_PARENT == (int)REC_EDIT_PARENT &&
			       REC_CHANGE_EXTERNAL_URL == (int)REC_EDIT_EXTERNAL_URL,
		       "the public numbers are the store's");
	struct rec_task_info own;
	struct rec_arena arena;
	struct rec_task row;
	int result = rec_api_enter(r, error);
	if (result == 0)
		result = rec_abi_read(&own, sizeof own, task, "struct rec_task_info", error);
	if (result)
		return result;
	own.status = own.created_at = own.updated_at = NULL; /* none of these can be changed here */
	rec_arena_init(&arena, r->allocator);
	result = task_read(&own, &arena, &row, error);
	if (result == 0)
		result = rec_edit_task(r->store, &row, changes, error);
	rec_arena_release(&arena);
	return result;
}

int rec_task_delete(struct reconciler *r, const char *task_id, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	return result ? result : rec_edit_delete(r->store, rec_slice_of(task_id), error);
}

int rec_task_set_status(struct reconciler *r, const char *task_id, enum rec_status status, int force,
			enum rec_status *ret_current, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	return rec_edit_set_status(r->store, rec_slice_of(task_id), status, force != 0, "library", ret_current, error);
}

int rec_task_retry(struct reconciler *r, const char *task_id, enum rec_status *ret_current, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	return result ? result : rec_edit_retry(r->store, rec_slice_of(task_id), ret_current, error);
}

/* ---- Reading tasks ---- */

/* What rec_task_get gives away: the caller sees the info alone. */
struct owned_task {
	const struct rec_allocator *allocator;
	struct rec_arena arena;
	struct rec_task_info info;
};

int rec_task_get(struct reconciler *r, const char *task_id, struct rec_task_info **ret_task, struct rec_error *error)
{
	struct rec_task row;
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	struct owned_task *task = rec_zalloc(r->allocator, 1, sizeof *task);
	if (!task)
		return rec_fail_nomem(error);
	task->allocator = r->allocator;
	rec_arena_init(&task->arena, r->allocator);
	result = rec_store_get(r->store, rec_slice_of(task_id), &task->arena, &row, error);
	if (result == 0)
		result = rec_api_task(&task->arena, &row, &task->info, error);
	if (result) {
		rec_task_info_free(&task->info);
		return result;
	}
	*ret_task = &task->info;
	return 0;
}

struct rec_task_info *rec_task_info_free(struct rec_task_info *info)
{
	if (!info)
		return NULL;
	struct owned_task *task = (void *)((char *)info - offsetof(struct owned_task, info));
	rec_arena_release(&task->arena);
	return rec_free(task->allocator, task);
}

/* A listing that hands rows on to the caller. */
struct listing {
	const struct rec_allocator *allocator;
	rec_task_callback *on_task;
	rec_blocker_callback *on_blocker;
	void *context;
	struct rec_error *error;
};

static int task_pass(void *context, const struct rec_task *task)
{
	struct listing *l = context;
	struct rec_task_info info;
	struct rec_arena arena;
	rec_arena_init(&arena, l->allocator);
	int r = rec_api_task(&arena, task, &info, l->error);
	if (r == 0)
		r = l->on_task(l->context, &info);
	rec_arena_release(&arena);
	return r;
}

int rec_task_list(struct reconciler *r, const struct rec_list_query *query, rec_task_callback *callback, void *context,
		  struct rec_error *error)
{
	struct listing listing = {r->allocator, callback, NULL, context, error};
	struct rec_list_query own;
	int result = rec_api_enter(r, error);
	if (result == 0)
		result = rec_abi_read(&own, sizeof own, query, "struct rec_list_query", error);
	if (result)
		return result;
	struct rec_list_options options = {
		.status_mask = own.status_mask,
		.after = rec_slice_of(own.after),
		.limit = own.limit,
		.blockers = own.blockers != 0,
	};
	return rec_store_list(r->store, &options, task_pass, &listing, error);
}

/* ---- Blockers ---- */

int rec_blocker_create(struct reconciler *r, const struct rec_blocker_info *blocker, char *ret_id,
		       struct rec_error *error)
{
	char id[REC_ID_BYTES_MAX + 1];
	struct rec_blocker_info own;
	int result = rec_api_enter(r, error);
	if (result == 0)
		result = rec_abi_read(&own, sizeof own, blocker, "struct rec_blocker_info", error);
	if (result)
		return result;
	struct rec_blocker row = {
		.id = rec_slice_of(own.id),
		.task_id = rec_slice_of(own.task_id),
		.question = rec_slice_of(own.question),
		.status = REC_OPEN,
		.status_text = rec_slice_of(rec_blocker_status_text(REC_OPEN)),
		.created_by = rec_slice_of(own.created_by),
	};
	result = rec_edit_blocker_create(r->store, &row, id, error);
	if (result == 0)
		id_give(ret_id, id);
	return result;
}

int rec_blocker_answer(struct reconciler *r, const char *blocker_id, const char *answer, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	return rec_edit_blocker_answer(r->store, rec_slice_of(blocker_id), rec_slice_of(answer), error);
}

int rec_blocker_resolve(struct reconciler *r, const char *blocker_id, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	return result ? result : rec_edit_blocker_resolve(r->store, rec_slice_of(blocker_id), error);
}

static int blocker_pass(void *context, const struct rec_blocker *blocker)
{
	struct listing *l = context;
	struct rec_blocker_info info;
	struct rec_arena arena;
	rec_arena_init(&arena, l->allocator);
	int r = rec_api_blocker(&arena, blocker, &info, l->error);
	if (r == 0)
		r = l->on_blocker(l->context, &info);
	rec_arena_release(&arena);
	return r;
}

int rec_blocker_get(struct reconciler *r, const char *blocker_id, rec_blocker_callback *callback, void *context,
		    struct rec_error *error)
{
	struct listing listing = {r->allocator, NULL, callback, context, error};
	struct rec_blocker row;
	struct rec_arena arena;
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	rec_arena_init(&arena, r->allocator);
	result = rec_store_blocker_get(r->store, rec_slice_of(blocker_id), &arena, &row, error);
	if (result == 0)
		result = blocker_pass(&listing, &row);
	rec_arena_release(&arena);
	return result;
}

int rec_blocker_list(struct reconciler *r, const char *task_id, int open_only, rec_blocker_callback *callback,
		     void *context, struct rec_error *error)
{
	struct listing listing = {r->allocator, NULL, callback, context, error};
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	return rec_store_blockers(r->store, rec_slice_of(task_id), open_only != 0, blocker_pass, &listing, error);
}
