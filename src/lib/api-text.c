/* api-text.c - from slices to strings and back. A text that holds a NUL (no store of ours takes one) ends there for
 * the caller. */
#include "lib/api.h"

int rec_api_ids(struct rec_arena *arena, const char *const *ids, size_t count, struct rec_slice **ret_ids,
		struct rec_error *error)
{
	size_t bytes;
	struct rec_slice *slices = NULL;
	if (!ids) {
		*ret_ids = NULL;
		return 0;
	}
	if (!__builtin_mul_overflow(count, sizeof *slices, &bytes))
		slices = rec_arena_alloc(arena, bytes);
	if (!slices)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < count; i++) {
		if (!ids[i])
			return rec_fail(error, REC_E_INVALID, "id %zu: it is NULL (give a string)", i);
		slices[i] = rec_slice_of(ids[i]);
	}
	*ret_ids = slices;
	return 0;
}

const char *rec_api_text(struct rec_arena *arena, struct rec_slice text, bool *failed)
{
	if (!text.data)
		return NULL;
	const char *copy = rec_arena_strndup(arena, text.data, text.length);
	*failed |= !copy;
	return copy;
}

/* Room for `count` pointers; NULL with *failed unset for none. */
static void *pointers_new(struct rec_arena *arena, size_t count, bool *failed)
{
	size_t bytes;
	void *memory = NULL;
	if (count == 0)
		return NULL;
	if (!__builtin_mul_overflow(count, sizeof(void *), &bytes))
		memory = rec_arena_alloc(arena, bytes);
	*failed |= !memory;
	return memory;
}

static bool blocker_fill(struct rec_arena *arena, const struct rec_blocker *b, struct rec_blocker_info *info)
{
	bool failed = false;
	*info = (struct rec_blocker_info){
		.size = sizeof *info,
		.id = rec_api_text(arena, b->id, &failed),
		.task_id = rec_api_text(arena, b->task_id, &failed),
		.question = rec_api_text(arena, b->question, &failed),
		.answer = rec_api_text(arena, b->answer, &failed),
		.status = rec_api_text(arena, b->status_text, &failed),
		.created_at = rec_api_text(arena, b->created_at, &failed),
		.answered_at = rec_api_text(arena, b->answered_at, &failed),
		.created_by = rec_api_text(arena, b->created_by, &failed),
	};
	return !failed;
}

int rec_api_blocker(struct rec_arena *arena, const struct rec_blocker *blocker, struct rec_blocker_info *ret_info,
		    struct rec_error *error)
{
	return blocker_fill(arena, blocker, ret_info) ? 0 : rec_fail_nomem(error);
}

static const char *const *dependencies_fill(struct rec_arena *arena, const struct rec_task *task, bool *failed)
{
	const char **ids = pointers_new(arena, task->depends_on_count, failed);
	for (size_t i = 0; ids && i < task->depends_on_count; i++)
		ids[i] = rec_api_text(arena, task->depends_on[i], failed);
	return ids;
}

static const struct rec_blocker_info *const *blockers_fill(struct rec_arena *arena, const struct rec_task *task,
							   bool *failed)
{
	const struct rec_blocker_info **infos = pointers_new(arena, task->blocker_count, failed);
	for (size_t i = 0; infos && i < task->blocker_count; i++) {
		struct rec_blocker_info *info = rec_arena_alloc(arena, sizeof *info);
		if (!info || !blocker_fill(arena, &task->blockers[i], info))
			*failed = true;
		infos[i] = info;
	}
	return infos;
}

int rec_api_task(struct rec_arena *arena, const struct rec_task *task, struct rec_task_info *ret_info,
		 struct rec_error *error)
{
	bool failed = false;
	struct rec_task_info info = {
		.size = sizeof info,
		.id = rec_api_text(arena, task->id, &failed),
		.title = rec_api_text(arena, task->title, &failed),
		.description = rec_api_text(arena, task->description, &failed),
		.status = rec_api_text(arena, task->status_text, &failed),
		.priority = task->priority,
		.depends_on = dependencies_fill(arena, task, &failed),
		.depends_on_count = task->depends_on_count,
		.parent_id = rec_api_text(arena, task->parent_id, &failed),
		.external_url = rec_api_text(arena, task->external_url, &failed),
		.created_at = rec_api_text(arena, task->created_at, &failed),
		.updated_at = rec_api_text(arena, task->updated_at, &failed),
		.is_leaf = task->is_leaf,
		.claimed = task->claimed,
		.attempt = task->attempt,
		.blockers = blockers_fill(arena, task, &failed),
		.blocker_count = task->blocker_count,
	};
	if (failed)
		return rec_fail_nomem(error);
	*ret_info = info;
	return 0;
}

static enum rec_status status_number(struct rec_slice text)
{
	return text.data ? rec_status_parse(text) : REC_STATUS_ABSENT;
}

void rec_api_result(const struct rec_result_view *view, int applied, struct rec_result *ret_result)
{
	*ret_result = (struct rec_result){
		.size = sizeof *ret_result,
		.task_id = view->task_id.data,
		.current_status = view->current_status.data,
		.external_status = view->external_status.data,
		.current = status_number(view->current_status),
		.external = status_number(view->external_status),
		.action = (enum rec_action)rec_action_parse(rec_slice_of(view->action)),
		.reason = view->reason,
		.source = view->source,
		.discrepancy = view->discrepancy,
		.applied = applied,
	};
}
