/* files-commit.c - a group, all or nothing, also across a kill at any moment:
 *
 *   1. every file that changes is written whole under another name in .rec/new, and synced;
 *   2. one durable write to the log makes it so: it names the files and holds the rows;
 *   3. the files are renamed into place, and their directory is synced.
 *
 * A death before 2 leaves nothing; after it whoever opens the next group does 3 (and readers look at .rec/new until
 * then). A file is changed only if it still is what the image knows, or nothing is and the caller may try again: a
 * person may be editing it.
 */
#include "store/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"

#define SYNC_EACH_MAX 64u /* more files than that: the file system is synced once */
#define COMPACT_BYTES ((size_t)1 << 20)
#define CHANGES_KEPT 4096u /* when the log is written anew */
#define CHANGE_BYTES 128u  /* of one in the log with the step of its file, about */
#define NONE ((struct rec_slice){NULL, 0})

/* ---- What a group does to one file ---- */

struct step {
	struct rec_slice id;
	char name[REC_FILES_NAME_BYTES];
	bool had_file, remove, written;
	struct rec_files_identity was;
};

struct steps {
	struct rec_files *f;
	struct step *list;
	size_t count, capacity;
	int64_t number; /* of the group */
	bool perhaps;   /* it is in the log, although that failed */
	struct rec_error *error;
};

static char *fresh_name(const struct steps *s, size_t index, char out[48])
{
	snprintf(out, 48, "%" PRId64 "-%zu", s->number, index);
	return out;
}

static int fail_step(const struct steps *s, int errnum, const struct step *step)
{
	char path[200];
	return rec_fail_errno(s->error, errnum, "%s/%.200s",
			      rec_text_shown(path, sizeof path, rec_slice_of(s->f->path)), step->name);
}

static int fail_changed(const struct steps *s, const struct step *step)
{
	return rec_fail(s->error, REC_E_BUSY, "%.200s: another program has just changed it (try again)", step->name);
}

/* ---- Which tasks are touched ---- */

static int step_add(struct steps *s, struct rec_slice id)
{
	if (rec_grow(s->f->memory.store.allocator, (void **)&s->list, &s->capacity, s->count + 1, sizeof *s->list) < 0)
		return rec_fail_nomem(s->error);
	s->list[s->count++] = (struct step){.id = id};
	return 0;
}

static int task_touched(void *context, struct rec_slice key, void *committed, void *working)
{
	(void)committed;
	(void)working;
	return step_add(context, key);
}

static int blocker_touched(void *context, struct rec_slice key, void *committed, void *working)
{
	(void)key;
	const struct rec_memory_blocker *row = working ? working : committed;
	return row ? step_add(context, row->blocker.task_id) : 0;
}

static int step_order(const void *a, const void *b)
{
	return rec_slice_compare(((const struct step *)a)->id, ((const struct step *)b)->id);
}

static int touched_collect(struct steps *s)
{
	struct rec_memory_data *data = s->f->memory.data;
	size_t kept = 0;
	int r = rec_memory_map_dirty(&data->tables[REC_MEMORY_TASKS], task_touched, s);
	if (r == 0)
		r = rec_memory_map_dirty(&data->tables[REC_MEMORY_BLOCKERS_OF_TASK], blocker_touched, s);
	if (r < 0 || s->count == 0)
		return r;
	qsort(s->list, s->count, sizeof *s->list, step_order);
	for (size_t i = 0; i < s->count; i++)
		if (kept == 0 || !rec_slice_equal(s->list[kept - 1].id, s->list[i].id))
			s->list[kept++] = s->list[i];
	s->count = kept;
	for (size_t i = 0; i < kept; i++)
		rec_files_name(s->list[i].id, s->list[i].name);
	return 0;
}

/* ---- Texts ---- */

/* A task of one version with its blockers. REC_NOT_FOUND. */
static int task_in(const struct steps *s, enum rec_memory_view view, struct rec_slice id, struct rec_arena *arena,
		   struct rec_task *out)
{
	struct rec_memory_data *data = s->f->memory.data;
	const struct rec_memory_task *task = rec_memory_map_get(&data->tables[REC_MEMORY_TASKS], view, id);
	struct rec_memory_key key;
	struct rec_memory_cursor cursor, again;
	struct rec_slice at, under = rec_memory_key_join(&key, id, NONE, NONE);
	const struct rec_memory_blocker *row;
	size_t count = 0;
	if (!task)
		return REC_NOT_FOUND;
	rec_memory_cursor_init(&cursor, &data->tables[REC_MEMORY_BLOCKERS_OF_TASK], view, under);
	again = cursor;
	while (rec_memory_cursor_next(&cursor, &at) && rec_memory_key_under(at, under))
		count++;
	struct rec_blocker *blockers = rec_arena_alloc(arena, count * sizeof *blockers);
	if (!blockers)
		return rec_fail_nomem(s->error);
	*out = task->task;
	out->blockers = blockers;
	out->blocker_count = count;
	for (; count > 0 && (row = rec_memory_cursor_next(&again, &at)); count--)
		*blockers++ = row->blocker;
	return 0;
}

/* Not if the task was deleted and made anew: then nothing of its file stays. */
static bool same_life(const struct rec_task *before, const struct rec_task *after)
{
	size_t kept = 0;
	for (size_t i = 0; i < before->blocker_count; i++)
		for (size_t k = 0; k < after->blocker_count; k++)
			kept += rec_slice_equal(before->blockers[i].id, after->blockers[k].id);
	return kept == before->blocker_count && rec_slice_equal(before->created_at, after->created_at);
}

static int text_changed(const struct steps *s, const struct step *step, const struct rec_task *after,
			struct rec_arena *arena, struct rec_buffer *out)
{
	struct rec_buffer text;
	struct stat status;
	struct rec_files_identity now = {0};
	struct rec_task before;
	const char *problem = NULL;
	int r = task_in(s, REC_MEMORY_COMMITTED, step->id, arena, &before);
	if (r)
		return r < 0 ? r : rec_fail(s->error, REC_E_BUG, "a file without a task (please report)");
	rec_buffer_init(&text, out->allocator, REC_FILES_TASK_BYTES_MAX);
	r = rec_files_read(s->f, s->f->directory, step->name, &text, &status, &problem, s->error);
	if (r == 0)
		rec_files_identity_of(&status, &now);
	if (r > 0 || (r == 0 && !rec_files_identity_equal(&now, &step->was)))
		r = fail_changed(s, step);
	if (r == 0 && same_life(&before, after))
		r = rec_files_text_edit(rec_buffer_slice(&text), &before, after, arena, out, s->error);
	else if (r == 0)
		r = rec_files_text_new(out, after, s->error);
	rec_buffer_release(&text);
	return r;
}

static int fresh_write(const struct steps *s, size_t index, struct rec_slice text)
{
	const struct rec_io *io = s->f->io;
	char name[48];
	rec_cleanup(rec_close_fd) int fd = io->openat(io->context, s->f->fresh, fresh_name(s, index, name),
						      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail_step(s, errno, &s->list[index]);
	s->list[index].written = true;
	if (io->write(io->context, fd, text.data, text.length, 0) < 0 ||
	    (s->count <= SYNC_EACH_MAX && io->sync(io->context, fd) < 0))
		return fail_step(s, errno, &s->list[index]);
	return 0;
}

/* ---- Preparing ---- */

static int file_absent(const struct steps *s, const struct step *step)
{
	struct stat status;
	if (s->f->io->stat(s->f->io->context, s->f->directory, step->name, &status) == 0)
		return fail_changed(s, step);
	return errno == ENOENT ? 0 : fail_step(s, errno, step);
}

static int removal_prepare(const struct steps *s, struct step *step, const struct rec_files_file *file)
{
	step->remove = true;
	if (file && !file->regular)
		return rec_fail(s->error, REC_E_INVALID, "%.200s: is no file (remove it by hand)", step->name);
	int same = rec_files_stands(s->f, step->name, step->had_file, &step->was);
	if (same <= 0)
		return same < 0 ? fail_step(s, errno, step) : fail_changed(s, step);
	return rec_files_image_written(s->f, step->name, NULL, s->error);
}

/* The row of the file as it will be, but for its identity, which it gets when it is in place. */
static int file_expect(const struct steps *s, const struct step *step)
{
	const struct rec_files_file as = {.regular = true, .young = true, .id = step->id};
	return rec_files_image_written(s->f, step->name, &as, s->error);
}

static int step_prepare(struct steps *s, size_t index, struct rec_arena *arena, struct rec_buffer *text)
{
	struct step *step = &s->list[index];
	const struct rec_files_file *file = rec_files_file(s->f, step->name);
	struct rec_task after;
	step->had_file = file != NULL;
	if (file)
		step->was = file->identity;
	int r = task_in(s, REC_MEMORY_WORKING, step->id, arena, &after);
	if (r == REC_NOT_FOUND)
		return removal_prepare(s, step, file);
	if (r == 0 && file)
		r = text_changed(s, step, &after, arena, text);
	else if (r == 0)
		r = rec_files_text_new(text, &after, s->error);
	if (r == 0 && !file)
		r = file_absent(s, step);
	if (r == 0)
		r = fresh_write(s, index, rec_buffer_slice(text));
	return r == 0 ? file_expect(s, step) : r;
}

static int steps_prepare(struct steps *s)
{
	int r = 0;
	bool fresh = false;
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct rec_arena arena;
		struct rec_buffer text;
		rec_arena_init(&arena, s->f->memory.store.allocator);
		rec_buffer_init(&text, s->f->memory.store.allocator, REC_FILES_TASK_BYTES_MAX);
		r = step_prepare(s, i, &arena, &text);
		fresh |= s->list[i].written;
		rec_buffer_release(&text);
		rec_arena_release(&arena);
	}
	if (r == 0 && s->count > SYNC_EACH_MAX && s->f->io->sync_file_system(s->f->io->context, s->f->fresh) < 0)
		r = fail_step(s, errno, &s->list[0]);
	if (r == 0 && fresh && s->f->io->sync(s->f->io->context, s->f->fresh) < 0)
		r = fail_step(s, errno, &s->list[0]);
	return r;
}

static void steps_undo(const struct steps *s)
{
	char name[48];
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].written)
			(void)s->f->io->unlink(s->f->io->context, s->f->fresh, fresh_name(s, i, name));
}

/* ---- The group as lines ---- */

struct lines {
	struct rec_buffer *out;
	const struct rec_files_table *table;
};

static int row_line(void *context, struct rec_slice key, void *committed, void *working)
{
	const struct lines *l = context;
	if (committed == working)
		return 0;
	return rec_files_row_write(l->out, l->table, key, working ? working : committed, !working);
}

static void step_lines(const struct steps *s, struct rec_buffer *out)
{
	char name[48];
	for (size_t i = 0; i < s->count && !out->failed; i++) {
		const struct step *step = &s->list[i];
		struct rec_files_step line = {
			.name = rec_slice_of(step->name),
			.from = step->remove ? NONE : rec_slice_of(fresh_name(s, i, name)),
			.had_file = step->had_file,
			.was = step->was,
		};
		rec_files_record_line(out, "file", &rec_files_step_record, &line);
	}
}

static int group_write(const struct steps *s, const struct rec_files_events *events, struct rec_buffer *out)
{
	struct rec_memory_data *data = s->f->memory.data;
	for (size_t i = 0; i < rec_files_table_count; i++) {
		struct lines lines = {out, &rec_files_tables[i]};
		(void)rec_memory_map_dirty(&data->tables[rec_files_tables[i].table], row_line, &lines);
	}
	step_lines(s, out);
	rec_files_tail_write(out, &data->counters[REC_MEMORY_WORKING], events);
	rec_files_group_end(out, 0, s->number);
	return out->failed ? rec_fail_nomem(s->error) : 0;
}

/* ---- In place ---- */

static bool step_apply(const struct steps *s, size_t index)
{
	const struct rec_io *io = s->f->io;
	const struct step *step = &s->list[index];
	struct rec_files_file *file;
	struct stat status;
	char name[48];
	int same = rec_files_stands(s->f, step->name, step->had_file, &step->was);
	if (same < 0)
		return false;
	if (!same) { /* somebody has changed it since it was prepared: that stands, and is looked at */
		rec_files_pending_add(s->f, step->name, strlen(step->name));
		return step->remove || io->unlink(io->context, s->f->fresh, fresh_name(s, index, name)) == 0;
	}
	if (step->remove)
		return io->unlink(io->context, s->f->directory, step->name) == 0 || errno == ENOENT;
	if (io->rename(io->context, s->f->fresh, fresh_name(s, index, name), s->f->directory, step->name) < 0)
		return false;
	file = rec_files_file(s->f, step->name);
	if (file && io->stat(io->context, s->f->directory, step->name, &status) == 0)
		rec_files_image_settle(s->f, step->name, file, &status);
	return true;
}

/* From here on nothing can fail any more: what is not done is done by whoever opens the next group. */
static void steps_apply(const struct steps *s)
{
	bool done = true;
	for (size_t i = 0; i < s->count; i++)
		done = step_apply(s, i) && done;
	if (s->count && done)
		done = s->f->io->sync(s->f->io->context, s->f->directory) == 0;
	if (done)
		rec_files_log_print(s->f);
	else
		s->f->rescan = true;
}

/* ---- Begin, commit, rollback ---- */

int rec_files_begin(struct rec_store *store, struct rec_error *error)
{
	struct rec_files *f = rec_files_of(store);
	int r = rec_files_lock(f, REC_FILES_LOCK_GROUP, F_WRLCK, error);
	if (r < 0)
		return r;
	r = rec_files_refresh_locked(f, error);
	if (r == 0)
		r = rec_files_recover(f, error);
	if (r == 0)
		rec_files_index_write(f);
	if (r == 0)
		r = rec_files_change_begin(f, error);
	if (r < 0)
		rec_files_unlock(f, REC_FILES_LOCK_GROUP);
	return r;
}

void rec_files_rollback(struct rec_store *store)
{
	struct rec_files *f = rec_files_of(store);
	if (f->memory.data->writer != &f->memory)
		return;
	rec_files_change_end(f, false);
	rec_files_events_forget(f);
	rec_files_unlock(f, REC_FILES_LOCK_GROUP);
}

static bool anything(const struct rec_files *f)
{
	bool any = f->events.length || f->events_renewed;
	for (unsigned i = 0; i < REC_MEMORY_TABLE_COUNT; i++)
		any = any || f->memory.data->tables[i].dirty;
	return any;
}

/* What this handle alone has seen becomes part of the feed, so that the print may count it. */
static int noted_share(struct rec_files *f, struct rec_error *error)
{
	struct rec_memory_counters *counters = &f->memory.data->counters[REC_MEMORY_WORKING];
	int r = 0;
	for (size_t i = f->noted_logged; r == 0 && i < f->noted_count; i++) {
		if (f->noted[i].data) {
			r = rec_memory_note(&f->memory, f->noted[i], error);
			continue;
		}
		/* Nobody knows what changed: whoever stands before this must take a snapshot. */
		rec_memory_changes_keep(&f->memory, 0);
		counters->changes_pruned = ++counters->change_seq;
	}
	return r;
}

static int group_place(struct steps *s, struct rec_slice group)
{
	int r = rec_files_lock(s->f, REC_FILES_LOCK_STEPS, F_WRLCK, s->error);
	if (r < 0)
		return r;
	r = rec_files_log_append(s->f, group, &s->perhaps, s->error);
	if (r == 0)
		steps_apply(s);
	rec_files_unlock(s->f, REC_FILES_LOCK_STEPS);
	return r;
}

static int group_commit(struct steps *s)
{
	struct rec_buffer group;
	struct rec_files_events events;
	struct rec_buffer steps;
	rec_buffer_init(&group, s->f->memory.store.allocator, SIZE_MAX / 2);
	rec_buffer_init(&steps, s->f->memory.store.allocator, SIZE_MAX / 2);
	int r = steps_prepare(s);
	if (r == 0)
		r = rec_files_events_write(s->f, &events, s->error);
	step_lines(s, &steps);
	if (r == 0 && steps.failed)
		r = rec_fail_nomem(s->error);
	if (r == 0)
		r = group_write(s, &events, &group);
	if (r == 0)
		r = group_place(s, rec_buffer_slice(&group));
	if (r == 0) {
		struct rec_buffer before = s->f->steps;
		s->f->steps = steps;
		steps = before;
		rec_files_events_place(s->f, &events);
	} else if (!s->perhaps) {
		steps_undo(s);
	}
	rec_buffer_release(&steps);
	rec_buffer_release(&group);
	return r;
}

/* Asked before a group, which then drops the older changes: they go with the old log, or are never written. A group of
 * many changes counts as if it were written: nobody after it should have to read them all. */
static bool compact_due(const struct rec_files *f)
{
	const struct rec_memory_counters *counters = f->memory.data->counters;
	int64_t added = counters[REC_MEMORY_WORKING].change_seq - counters[REC_MEMORY_COMMITTED].change_seq;
	uint64_t bytes = f->log.position + (uint64_t)added * CHANGE_BYTES;
	return bytes >= COMPACT_BYTES && bytes / 4 >= f->compacted_bytes;
}

static void log_compact(struct rec_files *f)
{
	if (f->log.open_ended || rec_files_lock(f, REC_FILES_LOCK_STEPS, F_WRLCK, NULL) < 0)
		return;
	if (rec_files_log_renew(f, NULL) < 0)
		f->compacted_bytes = f->log.position; /* not again at once */
	rec_files_unlock(f, REC_FILES_LOCK_STEPS);
}

int rec_files_commit(struct rec_store *store, struct rec_error *error)
{
	struct rec_files *f = rec_files_of(store);
	struct steps s = {.f = f, .number = f->log.group_number + 1, .error = error};
	bool any = anything(f);
	size_t logged = f->noted_count;
	int r = any ? noted_share(f, error) : 0;
	bool compact = r == 0 && any && compact_due(f);
	if (compact)
		rec_memory_changes_keep(&f->memory, CHANGES_KEPT);
	if (r == 0 && any)
		r = touched_collect(&s);
	if (r == 0 && any)
		r = group_commit(&s);
	rec_free(store->allocator, s.list);
	if (s.perhaps)
		f->events_next[0] = '\0'; /* the group in the log may name this file */
	if (r < 0) {
		rec_files_rollback(store);
		return r;
	}
	if (any)
		f->noted_logged = logged;
	rec_files_change_end(f, true);
	rec_files_events_forget(f);
	if (compact)
		log_compact(f);
	rec_files_unlock(f, REC_FILES_LOCK_GROUP);
	return 0;
}
