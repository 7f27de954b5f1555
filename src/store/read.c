/* read.c - the wrappers of what only reads. An id that no task can have is simply not found. While a callback
 * runs the store is marked, so that a call from inside it is told apart from a sound one. */
#include "base/text.h"
#include "store/wrapper.h"

#define ID_MISSING(id) (!(id).data || rec_id_problem(id))

int rec_store_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *ret_task,
		  struct rec_error *error)
{
	struct rec_task task = {0};
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	r = ID_MISSING(id) ? REC_NOT_FOUND : s->ops->get(s, id, arena, &task, error);
	r = rec_read_leave(s, "get", r, REC_MAY(REC_NOT_FOUND), error);
	if (r == 0)
		*ret_task = task;
	return r;
}

static int get_each(struct rec_store *s, const struct rec_slice *ids, size_t count, struct rec_arena *arena,
		    struct rec_task *out, struct rec_error *error)
{
	for (size_t i = 0; i < count; i++) {
		struct rec_task task = {0};
		int r = ID_MISSING(ids[i]) ? REC_NOT_FOUND : s->ops->get(s, ids[i], arena, &task, error);
		if (r < 0)
			return r;
		if (r == 0)
			out[i] = task;
	}
	return 0;
}

int rec_store_get_many(struct rec_store *s, const struct rec_slice *ids, size_t count, struct rec_arena *arena,
		       struct rec_task *ret_tasks, struct rec_error *error)
{
	bool several = s->ops->get_many && count > 1;
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		ret_tasks[i] = (struct rec_task){0};
		several = several && !ID_MISSING(ids[i]);
	}
	r = several ? s->ops->get_many(s, ids, count, arena, ret_tasks, error)
		    : get_each(s, ids, count, arena, ret_tasks, error);
	return rec_read_leave(s, "get", r, 0, error);
}

int rec_store_blocker_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena,
			  struct rec_blocker *ret_blocker, struct rec_error *error)
{
	struct rec_blocker blocker = {0};
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	r = ID_MISSING(id) ? REC_NOT_FOUND : s->ops->blocker_get(s, id, arena, &blocker, error);
	r = rec_read_leave(s, "get blocker", r, REC_MAY(REC_NOT_FOUND), error);
	if (r == 0)
		*ret_blocker = blocker;
	return r;
}

/* ---- Reads with a callback ---- */

static int stream_enter(struct rec_store *s, struct rec_error *error)
{
	int r = rec_read_enter(s, error);
	if (r == 0)
		s->in_callback = true;
	return r;
}

static int stream_leave(struct rec_store *s, const char *call, int r, struct rec_error *error)
{
	s->in_callback = false;
	return rec_read_leave(s, call, r, REC_MAY_ANY, error);
}

int rec_store_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		   struct rec_error *error)
{
	static const struct rec_list_options all = {0};
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	r = s->ops->list(s, options ? options : &all, fn, context, error);
	return stream_leave(s, "list", r, error);
}

int rec_store_blockers(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn, void *context,
		       struct rec_error *error)
{
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	if (!task_id.data || !rec_id_problem(task_id))
		r = s->ops->blockers(s, task_id, open_only, fn, context, error);
	return stream_leave(s, "blockers", r, error);
}

int rec_store_events(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		     struct rec_error *error)
{
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	r = s->ops->events(s, since, limit, fn, context, error);
	return stream_leave(s, "events", r, error);
}

struct claim_listener {
	rec_claim_fn *fn;
	void *context;
};

/* Of a store that is not shared nobody's lease runs out. */
static int claim_without_lease(void *context, const struct rec_claim *claim)
{
	const struct claim_listener *listener = context;
	struct rec_claim told = *claim;
	told.lease_left_us = INT64_MAX;
	return listener->fn(listener->context, &told);
}

int rec_store_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error)
{
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	struct claim_listener listener = {fn, context};
	if (s->ops->renew)
		r = s->ops->claims(s, fn, context, error);
	else
		r = s->ops->claims(s, claim_without_lease, &listener, error);
	return stream_leave(s, "claims", r, error);
}

int rec_store_running_runs(struct rec_store *s, rec_id_fn *fn, void *context, struct rec_error *error)
{
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	if (s->ops->running_runs)
		r = s->ops->running_runs(s, fn, context, error);
	return stream_leave(s, "running runs", r, error);
}

int rec_store_batches(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error)
{
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	if (s->ops->batches)
		r = s->ops->batches(s, fn, context, error);
	return stream_leave(s, "batches", r, error);
}

static int batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
		       struct rec_error *error)
{
	if (ID_MISSING(batch_id) || !s->ops->batch_tasks)
		return REC_NOT_FOUND;
	return s->ops->batch_tasks(s, batch_id, fn, context, error);
}

int rec_store_batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			  struct rec_error *error)
{
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	r = batch_tasks(s, batch_id, fn, context, error);
	return stream_leave(s, "batch tasks", r, error);
}

struct belief_listener {
	rec_belief_fn *fn;
	void *context;
	bool told; /* a result of fn's own must not be taken for the backend's */
};

static int belief_tell(void *context, const struct rec_batch_task *task)
{
	struct belief_listener *listener = context;
	listener->told = true;
	return listener->fn(listener->context, task->task_id, task->believed);
}

int rec_store_batch_belief(struct rec_store *s, struct rec_slice batch_id, rec_belief_fn *fn, void *context,
			   struct rec_error *error)
{
	struct belief_listener listener = {fn, context, false};
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	r = batch_tasks(s, batch_id, belief_tell, &listener, error);
	if (r == REC_NOT_FOUND && !listener.told && s->ops->batch_belief && !ID_MISSING(batch_id))
		r = s->ops->batch_belief(s, batch_id, fn, context, error);
	return stream_leave(s, "batch belief", r, error);
}

int rec_store_problems(struct rec_store *s, rec_problem_fn *fn, void *context, struct rec_error *error)
{
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	if (s->ops->problems)
		r = s->ops->problems(s, fn, context, error);
	return stream_leave(s, "problems", r, error);
}

bool rec_store_task_file(const struct rec_store *s, struct rec_slice id, struct rec_buffer *out, bool *ret_edit)
{
	if (!s->ops->task_file || !id.data)
		return false;
	s->ops->task_file(s, id, out, ret_edit);
	return true;
}

/* ---- Prefixes ---- */

static int find_prefix(struct rec_store *s, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
		       struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error)
{
	size_t count = 0;
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	if (capacity > 0 && prefix.length <= REC_ID_BYTES_MAX)
		r = s->ops->find_prefix(s, blockers, prefix, arena, ids, capacity, &count, error);
	r = rec_read_leave(s, "find", r, 0, error);
	if (r == 0)
		*ret_count = count;
	return r;
}

int rec_store_find_prefix(struct rec_store *s, struct rec_slice prefix, struct rec_arena *arena, struct rec_slice *ids,
			  size_t capacity, size_t *ret_count, struct rec_error *error)
{
	return find_prefix(s, false, prefix, arena, ids, capacity, ret_count, error);
}

int rec_store_find_blocker_prefix(struct rec_store *s, struct rec_slice prefix, struct rec_arena *arena,
				  struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error)
{
	return find_prefix(s, true, prefix, arena, ids, capacity, ret_count, error);
}

/* ---- Change feed ---- */

struct changes_context {
	rec_id_fn *fn;
	void *context;
	int ended; /* what fn ended it with */
};

static int changes_tell(void *context, struct rec_slice id)
{
	struct changes_context *c = context;
	return c->ended = c->fn(c->context, id);
}

int rec_store_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		      struct rec_error *error)
{
	struct rec_cursor moved = *cursor;
	struct changes_context c = {fn, context, 0};
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	if (s->in_group)
		r = rec_fail(error, REC_E_BUG, "changes: asked for inside a group (please report)");
	else
		r = s->ops->changes(s, &moved, changes_tell, &c, error);
	r = stream_leave(s, "changes", r, error);
	if (c.ended == 0 && (r == 0 || r == REC_RESCAN))
		*cursor = moved;
	return r;
}

int rec_store_changes_in_group(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
			       struct rec_error *error)
{
	struct rec_cursor moved = *cursor;
	struct changes_context c = {fn, context, 0};
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	if (!s->in_group)
		r = rec_fail(error, REC_E_BUG, "changes: asked for outside a group (please report)");
	else if (s->ops->changes_in_group)
		r = s->ops->changes_in_group(s, &moved, changes_tell, &c, error);
	else
		r = REC_RESCAN;
	r = stream_leave(s, "changes", r, error);
	if (c.ended == 0 && r == 0)
		*cursor = moved;
	return r;
}

int rec_store_stamp(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error)
{
	uint64_t stamp = ++s->stamps;
	int r = rec_read_enter(s, error);
	if (r < 0)
		return r;
	if (s->ops->stamp)
		r = s->ops->stamp(s, &stamp, error);
	r = rec_read_leave(s, "stamp", r, 0, error);
	if (r == 0)
		*ret_stamp = stamp;
	return r;
}

int rec_store_wake_fd(struct rec_store *s, int *ret_fd, struct rec_error *error)
{
	int fd = -1, r = rec_read_enter(s, error);
	if (r == 0 && s->ops->wake_fd)
		r = s->ops->wake_fd(s, &fd, error);
	if (r == 0)
		*ret_fd = fd;
	return r;
}

void rec_store_wake_drain(struct rec_store *s)
{
	if (s->ops->wake_drain)
		s->ops->wake_drain(s);
}

/* ---- Links ---- */

struct link_filter {
	rec_link_fn *fn;
	void *context;
};

/* Not every external_url is the address of something that a tracker knows. */
static int link_filter(void *context, const struct rec_link *link)
{
	const struct link_filter *f = context;
	if (link->implicit && rec_link_kind_of_url(link->url) == REC_LINK_KIND_UNKNOWN)
		return 0;
	return f->fn(f->context, link);
}

int rec_store_links(struct rec_store *s, struct rec_slice task_id, rec_link_fn *fn, void *context,
		    struct rec_error *error)
{
	struct link_filter filter = {fn, context};
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	if (s->ops->links && (!task_id.data || !rec_id_problem(task_id)))
		r = s->ops->links(s, task_id, link_filter, &filter, error);
	return stream_leave(s, "links", r, error);
}

int rec_store_tracker_cursors(struct rec_store *s, struct rec_slice tracker, rec_tracker_cursor_fn *fn, void *context,
			      struct rec_error *error)
{
	int r = stream_enter(s, error);
	if (r < 0)
		return r;
	if (s->ops->tracker_cursors && !ID_MISSING(tracker))
		r = s->ops->tracker_cursors(s, tracker, fn, context, error);
	return stream_leave(s, "tracker cursors", r, error);
}
