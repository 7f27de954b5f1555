/* files-recover.c - what writers that died left: the files of a group that is in the log and not yet in place, and
 * files that no group names. Done by whoever opens the next group. */
#include "store/files.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/text.h"

/* ---- Steps ---- */

static int fail_step(struct rec_files *f, int errnum, const struct rec_files_step *step, struct rec_error *error)
{
	char path[200];
	return rec_fail_errno(error, errnum, "%s/%.200s", rec_text_shown(path, sizeof path, rec_slice_of(f->path)),
			      step->name.data);
}

static int undone_apply(struct rec_files *f, const struct rec_files_step *step, struct rec_error *error)
{
	struct stat status;
	if (step->from.data && f->io->stat(f->io->context, f->fresh, step->from.data, &status) < 0)
		return errno == ENOENT ? 0 : fail_step(f, errno, step, error);
	int r = 0, same = rec_files_stands(f, step->name.data, step->had_file, &step->was);
	if (same < 0)
		return fail_step(f, errno, step, error);
	if (same && step->from.data)
		r = f->io->rename(f->io->context, f->fresh, step->from.data, f->directory, step->name.data);
	else if (same && step->had_file)
		r = f->io->unlink(f->io->context, f->directory, step->name.data);
	else if (step->from.data) /* somebody changed it since: that stands */
		r = f->io->unlink(f->io->context, f->fresh, step->from.data);
	return r < 0 ? fail_step(f, errno, step, error) : 0;
}

static int undone_all(struct rec_files *f, struct rec_error *error)
{
	struct rec_slice steps = rec_buffer_slice(&f->steps);
	struct rec_files_step step;
	struct rec_arena arena;
	int r;
	rec_arena_init(&arena, f->memory.store.allocator);
	while ((r = rec_files_step_next(&steps, &arena, &step, error)) == 0) {
		r = undone_apply(f, &step, error);
		if (r < 0)
			break;
	}
	rec_arena_release(&arena);
	if (r == REC_END && f->io->sync(f->io->context, f->directory) < 0)
		return rec_fail_errno(error, errno, "%s", f->path);
	return r == REC_END ? 0 : r;
}

static int undone_finish(struct rec_files *f, struct rec_error *error)
{
	if (!f->log.open_ended || !f->steps.length)
		return 0;
	int r = rec_files_lock(f, REC_FILES_LOCK_STEPS, F_WRLCK, error);
	if (r < 0)
		return r;
	r = undone_all(f, error);
	if (r == 0) {
		f->log.open_ended = false;
		f->rescan = true;
		r = rec_files_refresh_locked(f, error);
		if (r == 0)
			rec_files_log_print(f);
		else
			f->log.open_ended = true;
	}
	rec_files_unlock(f, REC_FILES_LOCK_STEPS);
	return r;
}

/* ---- Files that belong to nothing ---- */

static bool left_fresh(const struct rec_files *f, const char *name)
{
	(void)f;
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int folder_clean(struct rec_files *f, int folder, bool (*left)(const struct rec_files *f, const char *name),
			struct rec_error *error)
{
	_Alignas(struct rec_files_entry) char entries[4096];
	ssize_t got = 0;
	rec_cleanup(rec_close_fd) int fd =
		f->io->openat(f->io->context, folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	while (fd >= 0 && (got = f->io->list(f->io->context, fd, entries, sizeof entries)) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct rec_files_entry *entry = (const void *)(entries + at);
			if (left(f, entry->name))
				(void)f->io->unlink(f->io->context, folder, entry->name);
			at += entry->length;
		}
	return fd < 0 || got < 0 ? rec_fail_errno(error, errno, "%s", f->folder) : 0;
}

/* What writers that died left; once for each handle. */
static int left_clean(struct rec_files *f, struct rec_error *error)
{
	int r = f->cleaned ? 0 : folder_clean(f, f->fresh, left_fresh, error);
	if (r == 0 && !f->cleaned)
		r = folder_clean(f, f->rec, rec_files_events_left, error);
	f->cleaned = r == 0;
	return r;
}

int rec_files_recover(struct rec_files *f, struct rec_error *error)
{
	int r = undone_finish(f, error);
	return r == 0 ? left_clean(f, error) : r;
}
