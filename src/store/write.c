/* write.c - the wrappers of what changes tasks, blockers and events: check the arguments, fill in times, let the
 * backend write its row, then settle the parents. */
#include "store/wrapper.h"

/* ---- Parents ---- */

static int parent_settle(struct rec_store *s, struct rec_slice child, struct rec_slice parent, struct rec_error *error)
{
	if (!parent.data)
		return 0;
	int r = s->ops->mark_composite(s, parent, error);
	return r < 0 ? r : rec_rollup_from(s, child, parent, s->on_rollup, s->rollup_context, error);
}

static int parent_of(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
		     struct rec_error *error)
{
	enum rec_status status;
	return s->ops->parent(s, id, arena, ret_parent, &status, error);
}

/* ---- Create ---- */

/* A task's blockers with what may be missing filled in; lives in `arena`. */
static int blockers_complete(struct rec_task *task, struct rec_slice now, struct rec_arena *arena,
			     struct rec_error *error)
{
	if (task->blocker_count == 0)
		return 0;
	size_t bytes;
	struct rec_blocker *complete = NULL;
	if (!__builtin_mul_overflow(task->blocker_count, sizeof *complete, &bytes))
		complete = rec_arena_alloc(arena, bytes);
	if (!complete)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < task->blocker_count; i++) {
		complete[i] = task->blockers[i];
		complete[i].task_id = task->id;
		if (!complete[i].created_at.data)
			complete[i].created_at = now;
		if (!complete[i].created_by.data)
			complete[i].created_by = rec_slice_of("human");
	}
	task->blockers = complete;
	return 0;
}

static int create_row(struct rec_store *s, const struct rec_task *given, struct rec_error *error)
{
	char now_text[REC_TIMESTAMP_BYTES];
	struct rec_slice now = rec_store_now(s, now_text);
	struct rec_task task = *given;
	struct rec_arena arena;
	rec_arena_init(&arena, s->allocator);
	if (!task.created_at.data)
		task.created_at = now;
	if (!task.updated_at.data)
		task.updated_at = now;
	int r = blockers_complete(&task, now, &arena, error);
	if (r == 0)
		r = s->ops->create(s, &task, error);
	rec_arena_release(&arena);
	return r;
}

static int create(struct rec_store *s, const struct rec_task *task, bool settle, struct rec_error *error)
{
	bool own;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_task(task, s->allocator, error);
	if (r == 0)
		r = create_row(s, task, error);
	if (r == 0 && settle)
		r = parent_settle(s, task->id, task->parent_id, error);
	return rec_write_leave(s, "create", own, r, REC_MAY(REC_EXISTS), error);
}

int rec_store_create(struct rec_store *s, const struct rec_task *task, struct rec_error *error)
{
	return create(s, task, true, error);
}

int rec_store_create_as_given(struct rec_store *s, const struct rec_task *task, struct rec_error *error)
{
	return create(s, task, false, error);
}

int rec_store_mark_composite(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	bool own;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_id("task id", id, error);
	if (r == 0)
		r = s->ops->mark_composite(s, id, error);
	return rec_write_leave(s, "mark composite", own, r, REC_MAY(REC_NOT_FOUND), error);
}

void rec_store_on_rollup(struct rec_store *s, rec_rollup_fn *fn, void *context)
{
	s->on_rollup = fn;
	s->rollup_context = context;
}

/* ---- Edit, delete ---- */

static bool same_parent(struct rec_slice a, struct rec_slice b)
{
	return a.data && b.data ? rec_slice_equal(a, b) : a.data == b.data;
}

static int edit_and_move(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_slice before = {0};
	rec_arena_init(&arena, s->allocator);
	int r = parent_of(s, task->id, &arena, &before, error);
	if (r == 0)
		r = s->ops->edit(s, task, fields, error);
	if (r == 0 && !same_parent(before, task->parent_id)) {
		r = parent_settle(s, task->id, before, error);
		if (r == 0)
			r = parent_settle(s, task->id, task->parent_id, error);
	}
	rec_arena_release(&arena);
	return r;
}

int rec_store_edit(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	bool own;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_edit(task, fields, error);
	if (r == 0 && (fields & REC_EDIT_PARENT))
		r = edit_and_move(s, task, fields, error);
	else if (r == 0)
		r = s->ops->edit(s, task, fields, error);
	return rec_write_leave(s, "edit", own, r, REC_MAY(REC_NOT_FOUND), error);
}

static int remove_and_settle(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_slice parent = {0};
	rec_arena_init(&arena, s->allocator);
	int r = parent_of(s, id, &arena, &parent, error);
	if (r == 0)
		r = s->ops->remove(s, id, error);
	if (r == 0)
		r = parent_settle(s, id, parent, error);
	rec_arena_release(&arena);
	return r;
}

int rec_store_delete(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	bool own;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_id("task id", id, error);
	if (r == 0)
		r = remove_and_settle(s, id, error);
	return rec_write_leave(s, "delete", own, r, REC_MAY(REC_NOT_FOUND) | REC_MAY(REC_REFUSED), error);
}

/* ---- Status ---- */

/* from == to: only looks whether that is so. */
static int status_compare(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status *now,
			  struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_slice parent;
	rec_arena_init(&arena, s->allocator);
	int r = s->ops->parent(s, id, &arena, &parent, now, error);
	rec_arena_release(&arena);
	return r == 0 && *now != from ? REC_CONFLICT : r;
}

int rec_store_set_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			 enum rec_status *ret_now, rec_rollup_fn *on_rollup, void *context, struct rec_error *error)
{
	bool own;
	enum rec_status now = REC_STATUS_ABSENT;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_id("task id", id, error);
	if (r == 0)
		r = rec_argument_status("status", to, error);
	if (r == 0 && from != REC_STATUS_UNRECOGNISED)
		r = rec_argument_status("status to change", from, error);
	if (r == 0 && from == to) {
		r = status_compare(s, id, from, &now, error);
	} else if (r == 0) {
		r = s->ops->write_status(s, id, from, to, &now, error);
		if (r == 0)
			r = rec_rollup_parents(s, id, on_rollup ? on_rollup : s->on_rollup,
					       on_rollup ? context : s->rollup_context, error);
	}
	r = rec_write_leave(s, "set status", own, r, REC_MAY(REC_NOT_FOUND) | REC_MAY(REC_CONFLICT), error);
	if (r == REC_CONFLICT && ret_now)
		*ret_now = now;
	return r;
}

/* ---- Blockers ---- */

int rec_store_blocker_create(struct rec_store *s, const struct rec_blocker *blocker, struct rec_error *error)
{
	bool own;
	char now[REC_TIMESTAMP_BYTES];
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	struct rec_blocker complete = *blocker;
	if (!complete.created_at.data)
		complete.created_at = rec_store_now(s, now);
	if (!complete.created_by.data)
		complete.created_by = rec_slice_of("human");
	r = rec_argument_blocker(blocker, error);
	if (r == 0 && !blocker->task_id.data && !s->ops->keeps_loose_blockers)
		r = rec_fail(error, REC_E_UNSUPPORTED,
			     "blocker: this store keeps a blocker with its task (name the task it is about)");
	if (r == 0)
		r = s->ops->blocker_create(s, &complete, error);
	return rec_write_leave(s, "create blocker", own, r, REC_MAY(REC_NOT_FOUND) | REC_MAY(REC_EXISTS), error);
}

int rec_store_blocker_answer(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error)
{
	bool own;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_id("blocker id", id, error);
	if (r == 0 && !text.data)
		r = rec_fail(error, REC_E_INVALID, "answer: is missing");
	if (r == 0)
		r = rec_argument_text("answer", text, REC_TEXT_BYTES_MAX, error);
	if (r == 0)
		r = s->ops->blocker_answer(s, id, text, error);
	return rec_write_leave(s, "answer blocker", own, r, REC_MAY(REC_NOT_FOUND) | REC_MAY(REC_REFUSED), error);
}

int rec_store_blocker_resolve(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	bool own;
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_id("blocker id", id, error);
	if (r == 0)
		r = s->ops->blocker_resolve(s, id, error);
	return rec_write_leave(s, "resolve blocker", own, r, REC_MAY(REC_NOT_FOUND) | REC_MAY(REC_REFUSED), error);
}

/* ---- Events, care ---- */

int rec_store_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error)
{
	bool own;
	char now[REC_TIMESTAMP_BYTES];
	int r = rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	struct rec_event complete = *event;
	if (!complete.time.data)
		complete.time = rec_store_now(s, now);
	r = rec_argument_event(event, error);
	if (r == 0)
		r = s->ops->event_add(s, &complete, error);
	return rec_write_leave(s, "add event", own, r, 0, error);
}

int rec_store_gc(struct rec_store *s, struct rec_gc *gc, struct rec_error *error)
{
	bool own;
	struct rec_gc counted = *gc;
	counted.changes = counted.events = counted.attempts = 0;
	int r = gc->dry_run ? rec_read_enter(s, error) : rec_write_enter(s, &own, error);
	if (r < 0)
		return r;
	r = s->ops->gc(s, &counted, error);
	if (gc->dry_run)
		r = rec_read_leave(s, "gc", r, 0, error);
	else
		r = rec_write_leave(s, "gc", own, r, 0, error);
	if (r == 0)
		*gc = counted;
	return r;
}
