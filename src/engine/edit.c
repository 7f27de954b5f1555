/* edit.c - each change is one group: read what is there, judge it, write it, write its event, commit. Inside
 * a group the store stands still, so what was judged is what is written. A caller that has opened a group
 * itself gets the same steps as part of its own. A change that the store refuses or cannot find rolls back
 * an empty group; nothing of it is stored. */
#include "engine/edit.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "engine/moves.h"

/* ---- Groups and events ---- */

/* Opens a group unless the caller has; *own tells which. */
static int group_enter(struct rec_store *s, bool *own, struct rec_error *error)
{
	*own = !rec_store_in_group(s);
	return *own ? rec_store_begin(s, error) : 0;
}

/* Ends what group_enter began: 0 commits, anything else takes it back. */
static int group_leave(struct rec_store *s, bool own, int result, struct rec_error *error)
{
	if (!own)
		return result;
	if (result == 0)
		return rec_store_commit(s, error);
	rec_store_rollback(s);
	return result;
}

static int event_about(struct rec_store *s, const char *name, struct rec_slice task_id, struct rec_slice detail,
		       struct rec_error *error)
{
	struct rec_event event = {.event = rec_slice_of(name), .task_id = task_id, .detail = detail};
	return rec_store_event_add(s, &event, error);
}

static int no_such_status(enum rec_status status, struct rec_error *error)
{
	return rec_fail(error, REC_E_INVALID, "status: %d is none of the seven (see enum rec_status)", (int)status);
}

/* ---- Reading what a change rests on ---- */

/* The status of one task and, if it is none of the seven, its text in `raw`. REC_NOT_FOUND. */
static int status_now(struct rec_store *s, struct rec_slice id, enum rec_status *ret_status, struct rec_buffer *raw,
		      struct rec_error *error)
{
	struct rec_snapshot snapshot;
	int r = rec_store_snapshot(s, &id, 1, 0, &snapshot, error);
	if (r)
		return r;
	*ret_status = snapshot.facts[0].status;
	if (*ret_status == REC_STATUS_UNRECOGNISED) {
		struct rec_slice text = rec_snapshot_raw(&snapshot, 0);
		r = rec_text_show(raw, text, 200);
	}
	rec_snapshot_release(&snapshot);
	if (r)
		return rec_fail_nomem(error);
	return *ret_status == REC_STATUS_ABSENT ? REC_NOT_FOUND : 0;
}

/* Why `other` cannot be what `task` refers to, or 0. */
static int reference_judge(struct rec_slice task, const char *what, struct rec_slice other, enum rec_status status,
			   struct rec_error *error)
{
	char shown[128], missing[128];
	rec_text_shown(shown, sizeof shown, task);
	if (rec_slice_equal(task, other))
		return rec_fail(error, REC_E_INVALID, "task \"%s\": it cannot be its own %s (name another task)", shown,
				what);
	if (status == REC_STATUS_ABSENT)
		return rec_fail(error, REC_E_INVALID, "task \"%s\": its %s \"%s\" does not exist (create that first)",
				shown, what, rec_text_shown(missing, sizeof missing, other));
	return 0;
}

static int references_judge(struct rec_store *s, struct rec_slice task, const char *what, const struct rec_slice *ids,
			    size_t count, struct rec_error *error)
{
	struct rec_snapshot snapshot;
	if (count == 0)
		return 0;
	int r = rec_store_snapshot(s, ids, count, 0, &snapshot, error);
	if (r)
		return r;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = reference_judge(task, what, ids[i], snapshot.facts[i].status, error);
	rec_snapshot_release(&snapshot);
	return r;
}

/* Everything that the given fields of a task refer to exists and is not the task itself. */
static int references_exist(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	int r = 0;
	if ((fields & REC_EDIT_PARENT) && task->parent_id.data)
		r = references_judge(s, task->id, "parent", &task->parent_id, 1, error);
	if (r == 0 && (fields & REC_EDIT_DEPENDS_ON))
		r = references_judge(s, task->id, "dependency", task->depends_on, task->depends_on_count, error);
	return r;
}

/* The parent of `id` into `out` (length 0: none). */
static int parent_of(struct rec_store *s, struct rec_slice id, char out[REC_ID_BYTES_MAX], size_t *ret_length,
		     struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_task task;
	rec_arena_init(&arena, rec_store_allocator(s));
	int r = rec_store_get(s, id, &arena, &task, error);
	if (r >= 0)
		*ret_length = 0;
	if (r == 0 && task.parent_id.data && task.parent_id.length <= REC_ID_BYTES_MAX) {
		*ret_length = task.parent_id.length;
		memcpy(out, task.parent_id.data, task.parent_id.length);
	}
	rec_arena_release(&arena);
	return r < 0 ? r : 0;
}

/* Refuses a parent below the task itself. The walk up ends at a root, at the task, or in a ring that was there
 * before: the hare of Brent's method notices it when it meets the mark it left 1, 2, 4, 8, ... steps ago. */
static int parent_not_below(struct rec_store *s, const struct rec_task *task, struct rec_error *error)
{
	char mark[REC_ID_BYTES_MAX], at[REC_ID_BYTES_MAX], shown[128], child[128];
	size_t mark_length = 0, at_length = task->parent_id.length;
	uint64_t steps = 0, next_mark = 1;
	memcpy(at, task->parent_id.data, at_length);
	while (at_length) {
		struct rec_slice id = {at, at_length};
		if (rec_slice_equal(id, task->id))
			return rec_fail(error, REC_E_INVALID,
					"task \"%s\": \"%s\" lies below it and cannot be its parent (choose another)",
					rec_text_shown(shown, sizeof shown, task->id),
					rec_text_shown(child, sizeof child, task->parent_id));
		if (rec_slice_equal(id, (struct rec_slice){mark, mark_length}))
			return 0;
		if (++steps == next_mark) {
			next_mark *= 2;
			mark_length = at_length;
			memcpy(mark, at, at_length);
		}
		int r = parent_of(s, id, at, &at_length, error);
		if (r)
			return r;
	}
	return 0;
}

/* ---- Statuses ---- */

static int status_event(struct rec_store *s, struct rec_slice id, struct rec_slice from, enum rec_status to, bool force,
			const char *source, struct rec_error *error)
{
	char detail[64];
	snprintf(detail, sizeof detail, "%s%s", rec_status_text(to), force ? ", forced" : "");
	struct rec_event event = {
		.event = rec_slice_of("TASK_STATUS_CHANGED"),
		.task_id = id,
		.source = rec_slice_of(source),
		.current_status = from,
		.detail = rec_slice_of(detail),
	};
	return rec_store_event_add(s, &event, error);
}

static int status_write(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			struct rec_moves *moves, struct rec_error *error)
{
	int r = rec_store_set_status(s, id, from, to, NULL, rec_moves_add, moves, error);
	if (r > 0)
		return rec_fail(error, REC_E_BUG,
				"status: the task changed inside the group that read it (please report)");
	return r;
}

static int set_status_in_group(struct rec_store *s, struct rec_slice id, enum rec_status to, bool force,
			       const char *source, enum rec_status *ret_current, struct rec_error *error)
{
	const struct rec_allocator *a = rec_store_allocator(s);
	struct rec_buffer raw;
	struct rec_moves moves;
	rec_buffer_init(&raw, a, 1024);
	rec_moves_init(&moves, a);
	enum rec_status from;
	int r = status_now(s, id, &from, &raw, error);
	if (r)
		goto out;
	*ret_current = from;
	if (from == to)
		goto out;
	r = force || rec_transition_path(from, to, NULL) > 0 ? 0 : REC_REFUSED;
	if (r == 0)
		r = status_write(s, id, from, to, &moves, error);
	struct rec_slice was =
		from == REC_STATUS_UNRECOGNISED ? rec_buffer_slice(&raw) : rec_slice_of(rec_status_text(from));
	if (r == 0)
		r = status_event(s, id, was, to, force, source, error);
	if (r == 0)
		r = rec_moves_record(&moves, s, (struct rec_slice){0}, error);
out:
	rec_moves_release(&moves);
	rec_buffer_release(&raw);
	return r;
}

int rec_edit_set_status(struct rec_store *s, struct rec_slice id, enum rec_status to, bool force, const char *source,
			enum rec_status *ret_current, struct rec_error *error)
{
	bool own;
	enum rec_status current = REC_STATUS_ABSENT;
	if ((unsigned)to >= REC_STATUS_COUNT)
		return no_such_status(to, error);
	int r = group_enter(s, &own, error);
	if (r)
		return r;
	r = set_status_in_group(s, id, to, force, source, &current, error);
	r = group_leave(s, own, r, error);
	if (ret_current && (r == 0 || r == REC_REFUSED))
		*ret_current = current;
	return r;
}

static int retry_in_group(struct rec_store *s, struct rec_slice id, enum rec_status *ret_current,
			  struct rec_error *error)
{
	struct rec_buffer raw;
	rec_buffer_init(&raw, rec_store_allocator(s), 1024);
	int r = status_now(s, id, ret_current, &raw, error);
	rec_buffer_release(&raw);
	if (r == 0 && *ret_current != REC_FAILED)
		r = REC_REFUSED;
	return r ? r : set_status_in_group(s, id, REC_READY, false, "retry", ret_current, error);
}

int rec_edit_retry(struct rec_store *s, struct rec_slice id, enum rec_status *ret_current, struct rec_error *error)
{
	bool own;
	enum rec_status current = REC_STATUS_ABSENT;
	int r = group_enter(s, &own, error);
	if (r)
		return r;
	r = retry_in_group(s, id, &current, error);
	r = group_leave(s, own, r, error);
	if (ret_current && (r == 0 || r == REC_REFUSED))
		*ret_current = current;
	return r;
}

/* ---- Tasks ---- */

/* What create, edit and delete have in common: the change, its event, the roll-ups it caused. */
struct task_change {
	const struct rec_task *task;
	unsigned fields;
	int (*write)(struct rec_store *s, const struct task_change *change, struct rec_error *error);
	const char *event;
	struct rec_slice detail;
};

static int task_change_in_group(struct rec_store *s, const struct task_change *change, struct rec_error *error)
{
	struct rec_moves moves;
	rec_moves_init(&moves, rec_store_allocator(s));
	rec_store_on_rollup(s, rec_moves_add, &moves);
	int r = change->write(s, change, error);
	rec_store_on_rollup(s, NULL, NULL);
	if (r == 0)
		r = event_about(s, change->event, change->task->id, change->detail, error);
	if (r == 0)
		r = rec_moves_record(&moves, s, (struct rec_slice){0}, error);
	rec_moves_release(&moves);
	return r;
}

static int task_change(struct rec_store *s, const struct task_change *change, struct rec_error *error)
{
	bool own;
	int r = group_enter(s, &own, error);
	return r ? r : group_leave(s, own, task_change_in_group(s, change, error), error);
}

static int write_create(struct rec_store *s, const struct task_change *change, struct rec_error *error)
{
	int r = references_exist(s, change->task, REC_EDIT_PARENT | REC_EDIT_DEPENDS_ON, error);
	return r ? r : rec_store_create(s, change->task, error);
}

int rec_edit_create(struct rec_store *s, struct rec_task *task, char ret_id[REC_ID_BYTES_MAX + 1],
		    struct rec_error *error)
{
	char made[REC_UUID_BYTES];
	struct rec_task created = *task;
	if (!created.id.data)
		created.id = rec_slice_of(rec_uuid_new(made));
	const char *problem = rec_id_problem(created.id);
	if (problem)
		return rec_fail(error, REC_E_INVALID, "task id: it %s (leave it out and one is made)", problem);
	if ((unsigned)created.status >= REC_STATUS_COUNT)
		return no_such_status(created.status, error);
	created.status_text = rec_slice_of(rec_status_text(created.status));
	int r = task_change(s, &(struct task_change){&created, 0, write_create, "TASK_CREATED", {0}}, error);
	if (r == 0) {
		memcpy(ret_id, created.id.data, created.id.length);
		ret_id[created.id.length] = '\0';
	}
	return r;
}

static int write_delete(struct rec_store *s, const struct task_change *change, struct rec_error *error)
{
	return rec_store_delete(s, change->task->id, error);
}

int rec_edit_delete(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	struct rec_task task = {.id = id};
	return task_change(s, &(struct task_change){&task, 0, write_delete, "TASK_DELETED", {0}}, error);
}

static int write_edit(struct rec_store *s, const struct task_change *change, struct rec_error *error)
{
	enum rec_status status;
	struct rec_buffer raw;
	rec_buffer_init(&raw, rec_store_allocator(s), 1024);
	int r = status_now(s, change->task->id, &status, &raw, error);
	rec_buffer_release(&raw);
	if (r == 0)
		r = references_exist(s, change->task, change->fields, error);
	if (r == 0 && (change->fields & REC_EDIT_PARENT) && change->task->parent_id.data)
		r = parent_not_below(s, change->task, error);
	return r ? r : rec_store_edit(s, change->task, change->fields, error);
}

int rec_edit_task(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	static const struct {
		unsigned field;
		const char *name;
	} names[] = {{REC_EDIT_TITLE, "title"},       {REC_EDIT_DESCRIPTION, "description"},
		     {REC_EDIT_PRIORITY, "priority"}, {REC_EDIT_DEPENDS_ON, "depends_on"},
		     {REC_EDIT_PARENT, "parent_id"},  {REC_EDIT_EXTERNAL_URL, "external_url"}};
	char detail[128] = "";
	size_t length = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (fields & names[i].field)
			length += (size_t)snprintf(detail + length, sizeof detail - length, "%s%s", length ? ", " : "",
						   names[i].name);
	struct task_change change = {task, fields, write_edit, "TASK_EDITED", {detail, length}};
	return task_change(s, &change, error);
}

/* ---- Blockers ---- */

int rec_edit_blocker_create(struct rec_store *s, struct rec_blocker *blocker, char ret_id[REC_ID_BYTES_MAX + 1],
			    struct rec_error *error)
{
	char made[REC_UUID_BYTES];
	struct rec_blocker created = *blocker;
	bool own;
	if (!created.id.data)
		created.id = rec_slice_of(rec_uuid_new(made));
	const char *problem = rec_id_problem(created.id);
	if (problem)
		return rec_fail(error, REC_E_INVALID, "blocker id: it %s (leave it out and one is made)", problem);
	int r = group_enter(s, &own, error);
	if (r)
		return r;
	r = rec_store_blocker_create(s, &created, error);
	if (r == 0)
		r = event_about(s, "BLOCKER_CREATED", created.task_id, created.id, error);
	r = group_leave(s, own, r, error);
	if (r == 0) {
		memcpy(ret_id, created.id.data, created.id.length);
		ret_id[created.id.length] = '\0';
	}
	return r;
}

/* Answers (text.data != NULL) or resolves; resolving what is resolved writes nothing. */
static int blocker_release_in_group(struct rec_store *s, struct rec_slice id, struct rec_slice text,
				    struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_blocker blocker;
	rec_arena_init(&arena, rec_store_allocator(s));
	int r = rec_store_blocker_get(s, id, &arena, &blocker, error);
	if (r || (!text.data && blocker.status == REC_RESOLVED))
		goto out;
	r = text.data ? rec_store_blocker_answer(s, id, text, error) : rec_store_blocker_resolve(s, id, error);
	if (r == 0)
		r = event_about(s, text.data ? "BLOCKER_ANSWERED" : "BLOCKER_RESOLVED", blocker.task_id, id, error);
out:
	rec_arena_release(&arena);
	return r;
}

static int blocker_release(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error)
{
	bool own;
	int r = group_enter(s, &own, error);
	return r ? r : group_leave(s, own, blocker_release_in_group(s, id, text, error), error);
}

int rec_edit_blocker_answer(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error)
{
	if (!text.data)
		return rec_fail(error, REC_E_INVALID, "answer: it is missing (give a text)");
	return blocker_release(s, id, text, error);
}

int rec_edit_blocker_resolve(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	return blocker_release(s, id, (struct rec_slice){0}, error);
}

/* ---- Links ---- */

int rec_edit_link(struct rec_store *s, struct rec_slice id, struct rec_slice url, struct rec_error *error)
{
	bool own;
	int r = group_enter(s, &own, error);
	if (r)
		return r;
	r = rec_store_link_put(s, id, url, error);
	if (r == 0)
		r = event_about(s, "TASK_LINKED", id, url, error);
	return group_leave(s, own, r, error);
}

int rec_edit_unlink(struct rec_store *s, struct rec_slice id, struct rec_slice url, struct rec_error *error)
{
	bool own;
	int r = group_enter(s, &own, error);
	if (r)
		return r;
	r = rec_store_link_remove(s, id, url, error);
	if (r == 0)
		r = event_about(s, "TASK_UNLINKED", id, url, error);
	return group_leave(s, own, r, error);
}
