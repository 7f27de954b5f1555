/* files.c - the operations of the directory backend: bring the image up to date, then do what the memory store does.
 * Inside a group the image is the group's own, so only the outermost calls look outside. */
#include "store/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/text.h"

struct rec_files *rec_files_of(struct rec_store *s)
{
	return (struct rec_files *)s;
}

/* ---- Reads ---- */

static int files_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			  struct rec_snapshot *out, struct rec_error *error)
{
	int r = rec_files_refresh_ids(rec_files_of(s), ids, count, error);
	if (r < 0)
		return r;
	rec_files_warn(rec_files_of(s), (struct rec_slice){NULL, 0});
	return rec_memory_snapshot(s, ids, count, fields, out, error);
}

static int files_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		     struct rec_error *error)
{
	int r = rec_files_refresh_ids(rec_files_of(s), &id, 1, error);
	if (r < 0)
		return r;
	rec_files_warn(rec_files_of(s), id);
	return rec_memory_task_get(s, id, arena, out, error);
}

static int files_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		      struct rec_error *error)
{
	int r = rec_files_refresh(rec_files_of(s), error);
	if (r < 0)
		return r;
	rec_files_warn(rec_files_of(s), (struct rec_slice){NULL, 0});
	return rec_memory_list(s, options, fn, context, error);
}

static int files_find_prefix(struct rec_store *s, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
			     struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error)
{
	int r = blockers ? rec_files_refresh(rec_files_of(s), error)
			 : rec_files_refresh_prefix(rec_files_of(s), prefix, error);
	return r < 0 ? r : rec_memory_find_prefix(s, blockers, prefix, arena, ids, capacity, ret_count, error);
}

static int files_blockers(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			  void *context, struct rec_error *error)
{
	int r = rec_files_refresh_ids(rec_files_of(s), task_id.data ? &task_id : NULL, 1, error);
	return r < 0 ? r : rec_memory_blockers(s, task_id, open_only, fn, context, error);
}

static int files_blocker_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_blocker *out,
			     struct rec_error *error)
{
	int r = rec_files_refresh(rec_files_of(s), error);
	return r < 0 ? r : rec_memory_blocker_get(s, id, arena, out, error);
}

static int files_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error)
{
	int r = rec_files_refresh(rec_files_of(s), error);
	return r < 0 ? r : rec_memory_claims(s, fn, context, error);
}

static int files_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena,
			   struct rec_batch *out, struct rec_error *error)
{
	int r = rec_files_refresh(rec_files_of(s), error);
	return r < 0 ? r : rec_memory_batch_get(s, batch_id, arena, out, error);
}

static int files_batches(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error)
{
	int r = rec_files_refresh(rec_files_of(s), error);
	return r < 0 ? r : rec_memory_batches(s, fn, context, error);
}

static int files_batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			     struct rec_error *error)
{
	int r = rec_files_refresh(rec_files_of(s), error);
	return r < 0 ? r : rec_memory_batch_tasks(s, batch_id, fn, context, error);
}

static int files_links(struct rec_store *s, struct rec_slice task_id, rec_link_fn *fn, void *context,
		       struct rec_error *error)
{
	int r = rec_files_refresh_ids(rec_files_of(s), task_id.data ? &task_id : NULL, 1, error);
	return r < 0 ? r : rec_memory_links(s, task_id, fn, context, error);
}

static int files_tracker_cursors(struct rec_store *s, struct rec_slice tracker, rec_tracker_cursor_fn *fn,
				 void *context, struct rec_error *error)
{
	int r = rec_files_refresh(rec_files_of(s), error);
	return r < 0 ? r : rec_memory_tracker_cursors(s, tracker, fn, context, error);
}

/* ---- Writes to tasks ---- */

/* A file that is no task object cannot be changed without losing what a person was writing. */
static int writable(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	char name[REC_FILES_NAME_BYTES];
	const struct rec_files_file *file = rec_files_file(rec_files_of(s), rec_files_name(id, name));
	if (!file || !file->bad)
		return 0;
	return rec_fail(error, REC_E_INVALID, "%s: the file cannot be read as a task (repair or remove it)", name);
}

static int files_edit(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	int r = writable(s, task->id, error);
	return r < 0 ? r : rec_memory_edit(s, task, fields, error);
}

static int files_write_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			      enum rec_status *now, struct rec_error *error)
{
	int r = from == REC_STATUS_UNRECOGNISED ? writable(s, id, error) : 0;
	return r < 0 ? r : rec_memory_write_status(s, id, from, to, now, error);
}

static int files_mark_composite(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	return writable(s, id, NULL) < 0 ? 0 : rec_memory_mark_composite(s, id, error);
}

static int files_blocker_create(struct rec_store *s, const struct rec_blocker *blocker, struct rec_error *error)
{
	int r = writable(s, blocker->task_id, error);
	return r < 0 ? r : rec_memory_blocker_create(s, blocker, error);
}

/* ---- Change feed ---- */

/* How many of this handle's own notices the cursor counts. false: it is none of this store's. */
static bool cursor_noted(const struct rec_files *f, const struct rec_cursor *cursor, size_t *ret_noted)
{
	uint64_t offset = cursor->generation - f->log.generation;
	*ret_noted = 0;
	if (offset != 0) {
		offset -= f->noted_base;
		if (offset == 0 || offset > f->noted_count)
			return false;
		*ret_noted = (size_t)offset;
	}
	return *ret_noted >= f->noted_floor;
}

static int changes_tell(struct rec_files *f, int64_t since, size_t noted, rec_id_fn *fn, void *context)
{
	struct rec_memory_key key;
	struct rec_memory_cursor walk;
	const struct rec_memory_change *row;
	int r = 0;
	if (since < f->memory.data->counters[REC_MEMORY_COMMITTED].change_seq) {
		rec_memory_walk(&f->memory, REC_MEMORY_CHANGES, rec_memory_key_seq(&key, since + 1), &walk);
		while (r == 0 && (row = rec_memory_cursor_next(&walk, NULL)))
			r = fn(context, row->id);
	}
	for (; r == 0 && noted < f->noted_count; noted++)
		if (f->noted[noted].data)
			r = fn(context, f->noted[noted]);
	return r;
}

static int files_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
			 struct rec_error *error)
{
	struct rec_files *f = rec_files_of(s);
	size_t noted;
	int r = rec_files_refresh(f, error);
	if (r < 0)
		return r;
	const struct rec_memory_counters *counters = &f->memory.data->counters[REC_MEMORY_COMMITTED];
	const struct rec_cursor now = {
		.seq = counters->change_seq,
		.generation = f->log.generation + (f->noted_count ? f->noted_base + f->noted_count : 0),
	};
	if (!cursor_noted(f, cursor, &noted) || cursor->seq > now.seq || cursor->seq < counters->changes_pruned) {
		*cursor = now;
		return REC_RESCAN;
	}
	r = changes_tell(f, cursor->seq, noted, fn, context);
	if (r == 0)
		*cursor = now;
	return r;
}

/* Everything that moves when somebody writes: the log's place, and what waits to be looked at. Unwatched it is another
 * number at each call: the wrapper counts them. */
static int files_stamp(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error)
{
	struct rec_files *f = rec_files_of(s);
	bool moved = false;
	rec_files_watch_drain(f);
	int r = rec_files_log_moved(f, &moved, error);
	if (r < 0)
		return r;
	if (moved || f->pending_count || f->rescan || f->watch_directory < 0)
		r = rec_files_refresh(f, error);
	if (r == 0)
		*ret_stamp = (uint64_t)f->log.group_number * 1000003 + f->noted_count +
			     (f->watch_directory < 0 ? s->stamps : 0);
	return r;
}

static int files_wake_fd(struct rec_store *s, int *ret_fd, struct rec_error *error)
{
	(void)error;
	struct rec_files *f = rec_files_of(s);
	rec_files_watch_begin(f);
	*ret_fd = f->watch;
	return 0;
}

static void files_wake_drain(struct rec_store *s)
{
	rec_files_watch_drain(rec_files_of(s));
}

/* ---- Care ---- */

static int files_gc(struct rec_store *s, struct rec_gc *gc, struct rec_error *error)
{
	struct rec_files *f = rec_files_of(s);
	int r = rec_files_refresh(f, error);
	if (r == 0)
		r = rec_memory_gc(s, gc, error);
	return r < 0 ? r : rec_files_events_gc(f, gc->older_than_us, gc->dry_run, &gc->events, error);
}

static int files_problems(struct rec_store *s, rec_problem_fn *fn, void *context, struct rec_error *error)
{
	struct rec_files *f = rec_files_of(s);
	int r = rec_files_refresh(f, error);
	if (r == 0 && f->rec < 0)
		r = fn(context, "read only",
		       "there is no complete .rec folder, so nothing can be changed (`reconciler init` makes it)");
	return r;
}

/* A warning names a file by its own name if that is none of an id. */
static void files_task_file(const struct rec_store *s, struct rec_slice id, struct rec_buffer *out, bool *ret_edit)
{
	const struct rec_files *f = (const struct rec_files *)s;
	char name[REC_FILES_NAME_BYTES];
	const struct rec_files_file *file = rec_files_file(f, rec_files_name(id, name));
	struct stat status;
	rec_buffer_add_text(out, f->path);
	rec_buffer_add_text(out, "/");
	if (!file && rec_memory_map_get(&f->files, REC_MEMORY_WORKING, id)) {
		rec_buffer_add(out, id.data, id.length);
		*ret_edit = false;
		return;
	}
	rec_buffer_add_text(out, name);
	*ret_edit = fstatat(f->directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISREG(status.st_mode);
}

const struct rec_store_ops rec_files_ops = {
	.backend = "dir",
	.close = rec_files_close,
	.snapshot = files_snapshot,
	.get = files_get,
	.list = files_list,
	.find_prefix = files_find_prefix,
	.blockers = files_blockers,
	.blocker_get = files_blocker_get,
	.begin = rec_files_begin,
	.commit = rec_files_commit,
	.rollback = rec_files_rollback,
	.create = rec_memory_create,
	.edit = files_edit,
	.remove = rec_memory_remove,
	.write_status = files_write_status,
	.parent = rec_memory_parent,
	.children = rec_memory_children,
	.mark_composite = files_mark_composite,
	.blocker_create = files_blocker_create,
	.blocker_answer = rec_memory_blocker_answer,
	.blocker_resolve = rec_memory_blocker_resolve,
	.event_add = rec_files_event_add,
	.events = rec_files_events,
	.links_ready = rec_memory_links_ready,
	.link_put = rec_memory_link_put,
	.link_remove = rec_memory_link_remove,
	.links = files_links,
	.link_observed = rec_memory_link_observed,
	.tracker_cursor_put = rec_memory_tracker_cursor_put,
	.tracker_cursors = files_tracker_cursors,
	.claim_add = rec_memory_claim_add,
	.claim_end = rec_memory_claim_end,
	.claim_take = rec_memory_claim_take,
	.claims = files_claims,
	.batch_add = rec_memory_batch_add,
	.batch_get = files_batch_get,
	.batch_write = rec_memory_batch_write,
	.batches = files_batches,
	.batch_task_put = rec_memory_batch_task_put,
	.batch_tasks = files_batch_tasks,
	.changes = files_changes,
	.stamp = files_stamp,
	.wake_fd = files_wake_fd,
	.wake_drain = files_wake_drain,
	.gc = files_gc,
	.problems = files_problems,
	.task_file = files_task_file,
};
