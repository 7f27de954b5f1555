/* files-scan.c - bringing the image up to date. A look at a file costs a stat; it is read only if its identity (inode,
 * size and two times) is another than the image's, or if it had changed so shortly before it was read that the
 * clock of the file system may not tell a further change.
 *
 * Who asks for a few ids before anything else gets their files alone: a file is one task's, by its name. After that,
 * and for all that depends on other files (a group, the feed), everything is read.
 *
 * One consistent state: whoever puts a group in place holds a lock alone while it renames its files, and a reader holds
 * it shared while it looks, so it sees all of a group or nothing. The first look, which reads everything,
 * is done before the lock is taken; under the lock only what changed meanwhile is read again.
 */
#include "store/files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define YOUNG_NS INT64_C(20000000)
#define RESCAN_US INT64_C(60000000) /* the safety net below the wake-ups */
#define ASKED_MAX 1024u             /* ids that are looked up file by file before all is read */
#define LIST_BYTES ((size_t)32 << 10)
#define TEXT_KEPT ((size_t)1 << 20)
#define AHEAD 8u /* names that are on their way from memory */
#define READ_PIECE ((size_t)16 << 10)
#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* ---- Identities ---- */

void rec_files_identity_of(const struct stat *status, struct rec_files_identity *ret)
{
	*ret = (struct rec_files_identity){
		.inode = status->st_ino,
		.size = status->st_size,
		.mtime_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec,
		.ctime_ns = (int64_t)status->st_ctim.tv_sec * 1000000000 + status->st_ctim.tv_nsec,
	};
}

bool rec_files_identity_equal(const struct rec_files_identity *a, const struct rec_files_identity *b)
{
	return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

int rec_files_stands(const struct rec_files *f, const char *name, bool had_file, const struct rec_files_identity *was)
{
	struct stat status;
	struct rec_files_identity now = *was;
	bool there = f->io->stat(f->io->context, f->directory, name, &status) == 0;
	if (!there && errno != ENOENT)
		return -1;
	if (there)
		rec_files_identity_of(&status, &now);
	return there == had_file && now.inode == was->inode && now.size == was->size && now.mtime_ns == was->mtime_ns;
}

bool rec_files_young(const struct rec_files_identity *identity)
{
	int64_t now_ns = rec_clock_real.wall_us(rec_clock_real.context) * 1000;
	return now_ns - identity->ctime_ns < YOUNG_NS; /* also if it lies ahead */
}

/* ---- Reading one file ---- */

static int fail_file(struct rec_files *f, int errnum, const char *name, struct rec_error *error)
{
	char path[256], shown[200];
	return rec_fail_errno(error, errnum, "%s/%s", rec_text_shown(path, sizeof path, rec_slice_of(f->path)),
			      rec_text_shown(shown, sizeof shown, rec_slice_of(name)));
}

static const char *kind_problem(mode_t mode)
{
	if (S_ISREG(mode))
		return NULL;
	if (S_ISDIR(mode))
		return "is a directory";
	return S_ISLNK(mode) ? "is a symbolic link" : "is a pipe, a socket or a device";
}

/* What is wrong with this file alone; NULL: the trouble is ours, or the disk's. */
static const char *open_problem(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
		return "cannot be read: permission denied";
	case ELOOP:
		return "is a symbolic link";
	case ENXIO:
	case ENODEV:
		return "is a pipe, a socket or a device";
	default:
		return NULL;
	}
}

static int content_read(struct rec_files *f, int fd, const char *name, size_t size, struct rec_buffer *out,
			struct rec_error *error)
{
	size_t piece = size + 1 > READ_PIECE ? size + 1 : READ_PIECE;
	ssize_t got;
	do {
		char *space = rec_buffer_space(out, piece);
		if (!space)
			return out->failed == REC_E_LIMIT ? REC_REFUSED : rec_fail_nomem(error);
		got = f->io->read(f->io->context, fd, space, piece, -1);
		if (got < 0)
			return fail_file(f, errno, name, error);
		rec_buffer_added(out, (size_t)got);
		piece = READ_PIECE;
	} while (got > 0 && out->length > size); /* it was as long as it said, unless it grows */
	return 0;
}

static int opened_read(struct rec_files *f, int fd, const char *name, struct rec_buffer *out, struct stat *ret_status,
		       const char **ret_problem, struct rec_error *error)
{
	if (f->io->fstat(f->io->context, fd, ret_status) < 0)
		return fail_file(f, errno, name, error);
	*ret_problem = kind_problem(ret_status->st_mode);
	if (!*ret_problem && (uint64_t)ret_status->st_size > REC_FILES_TASK_BYTES_MAX)
		*ret_problem = "is too long for a task";
	if (*ret_problem)
		return REC_REFUSED;
	int r = content_read(f, fd, name, (size_t)ret_status->st_size, out, error);
	if (r == REC_REFUSED)
		*ret_problem = "is too long for a task";
	return r;
}

int rec_files_read(struct rec_files *f, int directory, const char *name, struct rec_buffer *out,
		   struct stat *ret_status, const char **ret_problem, struct rec_error *error)
{
	rec_cleanup(rec_close_fd) int fd = f->io->openat(f->io->context, directory, name, OPEN_FLAGS, 0);
	if (fd >= 0)
		return opened_read(f, fd, name, out, ret_status, ret_problem, error);
	int errnum = errno;
	*ret_problem = open_problem(errnum);
	if (errnum == ENOENT)
		return REC_NOT_FOUND;
	if (!*ret_problem)
		return fail_file(f, errnum, name, error);
	if (f->io->stat(f->io->context, directory, name, ret_status) < 0)
		return errno == ENOENT ? (int)REC_NOT_FOUND : fail_file(f, errno, name, error);
	return REC_REFUSED;
}

/* ---- One file into the image ---- */

static int text_take(struct rec_files *f, const char *name, struct rec_slice text, const struct stat *status,
		     const char *problem, struct rec_error *error)
{
	struct rec_files_task task;
	int r = 0;
	if (problem)
		rec_files_task_bad(name, problem, &f->arena, &task);
	else
		r = rec_files_task_read(text, name, &f->arena, &task, error);
	if (r == 0) {
		struct rec_files_file as = {
			.id = task.task.id,
			.bad = task.problem != NULL,
			.regular = S_ISREG(status->st_mode) || S_ISLNK(status->st_mode),
		};
		rec_files_identity_of(status, &as.identity);
		as.young = rec_files_young(&as.identity);
		r = rec_files_image_put(f, name, &as, &task, error);
	}
	rec_arena_clear(&f->arena);
	return r;
}

/* Reads a file of `directory` as the task file `name`. */
static int file_take(struct rec_files *f, int directory, const char *from, const char *name, struct rec_error *error)
{
	struct stat status;
	const char *problem = NULL;
	rec_buffer_clear(&f->text);
	int r = rec_files_read(f, directory, from, &f->text, &status, &problem, error);
	if (r == REC_NOT_FOUND) {
		r = rec_files_image_put(f, name, NULL, NULL, error);
	} else if (r >= 0) {
		r = text_take(f, name, rec_buffer_slice(&f->text), &status, problem, error);
		if (r == 0 && !problem && directory == f->directory)
			rec_files_index_keep(f, name, rec_buffer_slice(&f->text), &status);
	}
	if (f->text.capacity > TEXT_KEPT)
		rec_buffer_release(&f->text);
	return r;
}

/* ---- A group whose writer died before all its files were in place ---- */

static int step_of(struct rec_files *f, const char *name, struct rec_arena *arena, struct rec_files_step *ret,
		   struct rec_error *error)
{
	struct rec_slice steps = rec_buffer_slice(&f->steps);
	int r;
	do
		r = rec_files_step_next(&steps, arena, ret, error);
	while (r == 0 && !rec_slice_equal(ret->name, rec_slice_of(name)));
	return r;
}

/* The step as if it were done, unless it is or somebody has changed the file since. REC_END: look at the file itself.
 */
static int step_take(struct rec_files *f, const char *name, const struct rec_files_step *step, struct rec_error *error)
{
	struct stat status;
	if (step->from.data && f->io->stat(f->io->context, f->fresh, step->from.data, &status) < 0)
		return errno == ENOENT ? (int)REC_END : fail_file(f, errno, step->from.data, error);
	int same = rec_files_stands(f, name, step->had_file, &step->was);
	if (same <= 0)
		return same < 0 ? fail_file(f, errno, name, error) : (int)REC_END;
	if (!step->from.data)
		return rec_files_image_put(f, name, NULL, NULL, error);
	return file_take(f, f->fresh, step->from.data, name, error);
}

static int undone_look(struct rec_files *f, const char *name, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_files_step step;
	rec_arena_init(&arena, f->memory.store.allocator);
	int r = step_of(f, name, &arena, &step, error);
	if (r == 0)
		r = step_take(f, name, &step, error);
	rec_arena_release(&arena);
	return r;
}

int rec_files_look(struct rec_files *f, const char *name, struct rec_error *error)
{
	struct rec_files_file *known = rec_files_file(f, name);
	struct stat status;
	struct rec_files_identity now;
	struct rec_slice text;
	if (f->log.open_ended && f->steps.length) {
		int r = undone_look(f, name, error);
		if (r != REC_END)
			return r;
	}
	if (!known && rec_files_index_find(f, name, &text, &status))
		return text_take(f, name, text, &status, NULL, error);
	if (!known || known->young || f->reload)
		return file_take(f, f->directory, name, name, error);
	if (f->io->stat(f->io->context, f->directory, name, &status) < 0)
		return errno == ENOENT ? rec_files_image_put(f, name, NULL, NULL, error)
				       : fail_file(f, errno, name, error);
	rec_files_identity_of(&status, &now);
	if (!rec_files_identity_equal(&now, &known->identity))
		return file_take(f, f->directory, name, name, error);
	known->seen = f->pass;
	return 0;
}

/* ---- The whole directory ---- */

/* Looked at in the order of their names: then rows are put at the end of their tables, not all over them. */
struct name {
	uint64_t prefix; /* its first bytes as a number that orders as they do */
	const char *text;
};
struct names {
	struct rec_arena arena;
	struct name *list;
	size_t count, capacity;
};

static uint64_t name_prefix(const char *name)
{
	uint64_t prefix = 0;
	for (size_t i = 0; i < sizeof prefix; i++) {
		prefix = prefix << 8 | (unsigned char)*name;
		name += *name != '\0';
	}
	return prefix;
}

static int entries_take(struct rec_files *f, struct names *names, const char *entries, size_t length,
			const struct rec_slice *prefix, struct rec_error *error)
{
	for (size_t at = 0; at < length;) {
		const struct rec_files_entry *entry = (const void *)(entries + at);
		at += entry->length;
		if (!rec_files_name_matters(entry->name) || (prefix && !rec_files_name_may(entry->name, *prefix)))
			continue;
		char *copy = rec_arena_strndup(&names->arena, entry->name, strlen(entry->name));
		if (!copy || rec_grow(f->memory.store.allocator, (void **)&names->list, &names->capacity,
				      names->count + 1, sizeof *names->list) < 0)
			return rec_fail_nomem(error);
		names->list[names->count++] = (struct name){name_prefix(copy), copy};
	}
	return 0;
}

static int names_take(struct rec_files *f, int fd, char *entries, const struct rec_slice *prefix, struct names *names,
		      struct rec_error *error)
{
	for (;;) {
		ssize_t got = f->io->list(f->io->context, fd, entries, LIST_BYTES);
		if (got < 0)
			return fail_file(f, errno, ".", error);
		if (got == 0)
			return 0;
		int r = entries_take(f, names, entries, (size_t)got, prefix, error);
		if (r < 0)
			return r;
	}
}

static int name_order(const void *a, const void *b)
{
	const struct name *first = a, *second = b;
	if (first->prefix != second->prefix)
		return first->prefix < second->prefix ? -1 : 1;
	return strcmp(first->text, second->text);
}

static int entries_look(struct rec_files *f, int fd, char *entries, const struct rec_slice *prefix,
			struct rec_error *error)
{
	struct names names = {0};
	rec_arena_init(&names.arena, f->memory.store.allocator);
	int r = names_take(f, fd, entries, prefix, &names, error);
	if (r == 0 && names.count)
		qsort(names.list, names.count, sizeof *names.list, name_order);
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		if (i + AHEAD < names.count)
			__builtin_prefetch(names.list[i + AHEAD].text);
		r = rec_files_look(f, names.list[i].text, error);
	}
	rec_free(f->memory.store.allocator, names.list);
	rec_arena_release(&names.arena);
	return r;
}

/* Those that may hold an id with this prefix; NULL: all. */
static int directory_look(struct rec_files *f, const struct rec_slice *prefix, struct rec_error *error)
{
	const struct rec_allocator *a = f->memory.store.allocator;
	rec_cleanup(rec_close_fd) int fd =
		f->io->openat(f->io->context, f->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return fail_file(f, errno, ".", error);
	char *entries = rec_alloc(a, LIST_BYTES);
	if (!entries)
		return rec_fail_nomem(error);
	int r = entries_look(f, fd, entries, prefix, error);
	rec_free(a, entries);
	return r;
}

static int gone_take(struct rec_files *f, struct rec_error *error)
{
	struct rec_memory_cursor cursor;
	struct rec_slice key;
	const struct rec_files_file *row;
	char name[NAME_MAX + 1];
	int r = 0;
	rec_memory_cursor_init(&cursor, &f->files, REC_MEMORY_WORKING, (struct rec_slice){NULL, 0});
	while (r == 0 && (row = rec_memory_cursor_next(&cursor, &key))) {
		if (row->seen == f->pass || key.length >= sizeof name)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)key.length, key.data);
		r = rec_files_image_put(f, name, NULL, NULL, error);
	}
	return r;
}

int rec_files_scan(struct rec_files *f, struct rec_error *error)
{
	f->pass++;
	rec_files_index_open(f);
	int r = directory_look(f, NULL, error);
	rec_files_index_close(f);
	return r == 0 ? gone_take(f, error) : r;
}

/* ---- Refreshing ---- */

static int pending_look(struct rec_files *f, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < f->pending_count; i++)
		r = rec_files_look(f, f->pending[i], error);
	return r;
}

/* The files of the last group. */
static int steps_pending(struct rec_files *f, struct rec_error *error)
{
	struct rec_slice steps = rec_buffer_slice(&f->steps);
	struct rec_arena arena;
	struct rec_files_step step;
	int r;
	rec_arena_init(&arena, f->memory.store.allocator);
	while ((r = rec_files_step_next(&steps, &arena, &step, error)) == 0)
		rec_files_pending_add(f, step.name.data, step.name.length);
	rec_arena_release(&arena);
	return r == REC_END ? 0 : r;
}

static bool scan_due(const struct rec_files *f)
{
	return !f->loaded || f->rescan || f->reload || f->watch_directory < 0 ||
	       rec_clock_real.monotonic_us(rec_clock_real.context) - f->scanned_us > RESCAN_US;
}

static int whole_look(struct rec_files *f, struct rec_error *error)
{
	bool reload = f->reload, rescan = f->rescan;
	f->rescan = false;
	if (reload)
		f->doubled = false;
	int r = rec_files_scan(f, error);
	f->reload = r < 0 && reload;
	f->rescan |= r < 0 && rescan;
	if (r == 0)
		f->scanned_us = rec_clock_real.monotonic_us(rec_clock_real.context);
	return r;
}

/* The first look at everything. Did somebody change files while no handle of ours looked? */
static int first_judge(struct rec_files *f, struct rec_error *error)
{
	bool known = f->log.has_print && f->log.print == f->print;
	if (f->rec >= 0 && !known && f->noted_count == 0) {
		int r = rec_files_noted_add(f, (struct rec_slice){NULL, 0}, error);
		if (r < 0)
			return r;
		f->noted_floor = f->noted_count;
	}
	f->loaded = true;
	return 0;
}

/* Inside a change, under a lock. `early`: everything was looked at just before. */
static int look(struct rec_files *f, bool early, struct rec_error *error)
{
	rec_files_watch_drain(f);
	int r = rec_files_log_read(f, error);
	if (r == 0 && f->log.open_ended) {
		early = false; /* what was read early may belong to a group that is half in place */
		r = steps_pending(f, error);
	}
	if (r == 0 && scan_due(f) && !(early && !f->rescan && !f->reload))
		r = whole_look(f, error);
	if (r == 0)
		r = pending_look(f, error);
	if (r == 0 && f->reload)
		r = whole_look(f, error);
	if (r == 0 && !f->loaded)
		r = first_judge(f, error);
	return r;
}

/* ---- Some files alone ---- */

/* Which ids somebody asks for; ids == NULL: all that begin with the prefix. */
struct some {
	const struct rec_slice *ids;
	size_t count;
	struct rec_slice prefix;
};

/* Those that the image knows already may be gone. */
static int known_look(struct rec_files *f, struct rec_slice prefix, struct rec_error *error)
{
	struct rec_memory_cursor cursor;
	struct rec_slice key;
	char name[NAME_MAX + 1];
	int r = 0;
	rec_memory_cursor_init(&cursor, &f->files, REC_MEMORY_WORKING, (struct rec_slice){NULL, 0});
	while (r == 0 && rec_memory_cursor_next(&cursor, &key)) {
		snprintf(name, sizeof name, "%.*s", (int)key.length, key.data);
		if (rec_files_name_may(name, prefix))
			r = rec_files_look(f, name, error);
	}
	return r;
}

static int some_look(struct rec_files *f, const struct some *some, struct rec_error *error)
{
	char name[REC_FILES_NAME_BYTES];
	int r = rec_files_log_read(f, error);
	for (size_t i = 0; r == 0 && i < some->count; i++)
		if (!rec_id_problem(some->ids[i]))
			r = rec_files_look(f, rec_files_name(some->ids[i], name), error);
	if (r == 0 && !some->ids)
		r = known_look(f, some->prefix, error);
	if (r == 0 && !some->ids)
		r = directory_look(f, &some->prefix, error);
	return r;
}

/* ---- All or nothing ---- */

static int change(struct rec_files *f, bool early, const struct some *some, struct rec_error *error)
{
	struct rec_files_log log = f->log;
	size_t noted = f->noted_count;
	bool loaded = f->loaded;
	int r = some ? some_look(f, some, error) : look(f, early, error);
	rec_files_change_end(f, r == 0);
	if (r == 0) {
		if (!some)
			rec_files_pending_clear(f);
		return 0;
	}
	f->log = log;
	f->loaded = loaded;
	if (f->noted_count > noted)
		f->noted_count = noted;
	f->rescan = true; /* what was known of the steps and the log is read again */
	return r;
}

int rec_files_refresh_locked(struct rec_files *f, struct rec_error *error)
{
	int r = rec_files_change_begin(f, error);
	if (r < 0)
		return r;
	rec_files_watch_begin(f);
	return change(f, false, NULL, error);
}

/* Is there anything to do? The answer costs two system calls. */
static int is_due(struct rec_files *f, bool *ret_due, struct rec_error *error)
{
	rec_files_watch_drain(f);
	*ret_due = f->pending_count || scan_due(f);
	return *ret_due ? 0 : rec_files_log_moved(f, ret_due, error);
}

int rec_files_refresh(struct rec_files *f, struct rec_error *error)
{
	bool due = false, early = false;
	if (f->memory.store.in_group)
		return 0;
	int r = is_due(f, &due, error);
	if (r < 0 || !due)
		return r;
	r = rec_files_change_begin(f, error);
	if (r < 0)
		return r;
	if (!f->loaded)
		rec_files_watch_begin(f);
	if (f->watch_directory >= 0 && !f->loaded && !f->log.open_ended) {
		r = rec_files_scan(f, error);
		f->scanned_us = rec_clock_real.monotonic_us(rec_clock_real.context);
		early = true;
	}
	if (r == 0)
		r = rec_files_lock(f, REC_FILES_LOCK_STEPS, F_RDLCK, error);
	if (r < 0) {
		rec_files_change_end(f, false);
		return r;
	}
	r = change(f, early, NULL, error);
	rec_files_unlock(f, REC_FILES_LOCK_STEPS);
	return r;
}

static int some_refresh(struct rec_files *f, const struct some *some, struct rec_error *error)
{
	if (f->memory.store.in_group || f->loaded || f->asked + some->count > ASKED_MAX)
		return rec_files_refresh(f, error);
	f->asked += some->count + 1;
	int r = rec_files_change_begin(f, error);
	if (r < 0)
		return r;
	r = rec_files_lock(f, REC_FILES_LOCK_STEPS, F_RDLCK, error);
	if (r < 0) {
		rec_files_change_end(f, false);
		return r;
	}
	r = change(f, false, some, error);
	rec_files_unlock(f, REC_FILES_LOCK_STEPS);
	return r;
}

int rec_files_refresh_ids(struct rec_files *f, const struct rec_slice *ids, size_t count, struct rec_error *error)
{
	const struct some some = {.ids = ids, .count = count};
	return ids ? some_refresh(f, &some, error) : rec_files_refresh(f, error);
}

int rec_files_refresh_prefix(struct rec_files *f, struct rec_slice prefix, struct rec_error *error)
{
	const struct some some = {.prefix = prefix};
	return prefix.length ? some_refresh(f, &some, error) : rec_files_refresh(f, error);
}
