/* files-open.c - opening and closing a directory of task files, and its locks. What reconciler keeps beside the task
 * files is in .rec, which git is told to leave out. */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "store/files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define WAIT_FIRST_US 50
#define WAIT_MOST_US 5000
#define EVENTS_BYTES_MAX (SIZE_MAX / 2)
#define IGNORE                                                                                                         \
	"# Made by reconciler; nothing here but the configuration belongs into "                                       \
	"git.\n*\n!.gitignore\n!reconciler.conf\n"

static int fail_path(const char *path, int errnum, struct rec_error *error)
{
	char shown[512];
	return rec_fail_errno(error, errnum, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
}

/* ---- Locks ---- */

static int64_t now_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context);
}

int rec_files_lock(struct rec_files *f, enum rec_files_lock lock, short type, struct rec_error *error)
{
	int64_t until_us = now_us() + f->memory.store.busy_timeout_ms * 1000, wait_us = WAIT_FIRST_US;
	if (f->lock < 0)
		return 0; /* nobody writes here in our way */
	while (f->io->lock(f->io->context, f->lock, type, lock) < 0) {
		if (errno != EAGAIN)
			return fail_path(f->folder, errno, error);
		if (now_us() >= until_us)
			return rec_fail(error, REC_E_BUSY, "%s: another process is writing (try again later)", f->path);
		const struct timespec pause = {.tv_nsec = wait_us * 1000};
		nanosleep(&pause, NULL);
		wait_us = wait_us * 2 < WAIT_MOST_US ? wait_us * 2 : WAIT_MOST_US;
	}
	return 0;
}

void rec_files_unlock(struct rec_files *f, enum rec_files_lock lock)
{
	struct flock none = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = lock, .l_len = 1};
	if (f->lock >= 0)
		(void)fcntl(f->lock, F_OFD_SETLK, &none); /* not through the table: it must not fail */
}

/* ---- Closing ---- */

void rec_files_close(struct rec_store *s)
{
	struct rec_files *f = rec_files_of(s);
	const struct rec_allocator *a = s->allocator;
	int *const descriptors[] = {&f->log_fd, &f->watch, &f->lock, &f->fresh, &f->rec, &f->directory};
	for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
		rec_close_fd(descriptors[i]);
	rec_memory_map_release(&f->files);
	rec_memory_map_release(&f->warnings);
	rec_memory_disembed(&f->memory);
	rec_files_pending_clear(f);
	rec_files_index_release(f);
	rec_buffer_release(&f->steps);
	rec_buffer_release(&f->text);
	rec_arena_release(&f->arena);
	rec_buffer_release(&f->events);
	rec_arena_release(&f->noted_arena);
	rec_free(a, f->noted);
	rec_free(a, f->pending);
	rec_free(a, f->path);
	rec_free(a, f->folder);
	rec_free(a, f->log_path);
	rec_free(a, f);
}

/* ---- Opening ---- */

static struct rec_files *handle_new(const struct rec_store_options *options, const struct rec_io *io,
				    struct rec_error *error)
{
	const struct rec_allocator *a = options ? options->allocator : NULL;
	struct rec_files *f = rec_zalloc(a, 1, sizeof *f);
	if (!f) {
		rec_fail_nomem(error);
		return NULL;
	}
	rec_store_setup(&f->memory.store, &rec_files_ops, options);
	f->io = io;
	f->directory = f->rec = f->fresh = f->lock = f->log_fd = f->watch = f->watch_directory = -1;
	rec_memory_map_init(&f->files, a);
	rec_memory_map_init(&f->warnings, a);
	rec_buffer_init(&f->steps, a, EVENTS_BYTES_MAX);
	rec_buffer_init(&f->text, a, REC_FILES_TASK_BYTES_MAX);
	rec_buffer_init(&f->events, a, EVENTS_BYTES_MAX);
	rec_arena_init(&f->arena, a);
	rec_arena_init(&f->noted_arena, a);
	f->noted_base = rec_random_u64() | 1;
	f->log.generation = rec_random_u64() | 1;
	if (rec_memory_embed(&f->memory, error) == 0)
		return f;
	rec_files_close(&f->memory.store);
	return NULL;
}

static char *path_join(struct rec_files *f, const char *directory, const char *name)
{
	struct rec_buffer path;
	rec_buffer_init(&path, f->memory.store.allocator, PATH_MAX);
	rec_buffer_printf(&path, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, name);
	char *copy = path.failed ? NULL : rec_strndup(f->memory.store.allocator, path.data, path.length);
	rec_buffer_release(&path);
	return copy;
}

static int paths_set(struct rec_files *f, const char *path, struct rec_error *error)
{
	char absolute[PATH_MAX];
	enum rec_store_mode mode = f->memory.store.info.mode;
	int r = mode == REC_STORE_INIT ? rec_directory_make(path, error) : 0;
	if (r < 0)
		return r;
	if (!realpath(path, absolute)) {
		char shown[512];
		if (errno != ENOENT)
			return fail_path(path, errno, error);
		return rec_fail(error, REC_E_NO_STORE,
				"%s: there is no such directory (`reconciler init` makes a store)",
				rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
	}
	f->path = rec_strndup(f->memory.store.allocator, absolute, strlen(absolute));
	f->folder = f->path ? path_join(f, f->path, REC_FILES_FOLDER) : NULL;
	f->log_path = f->folder ? path_join(f, f->folder, "log") : NULL;
	if (!f->log_path)
		return rec_fail_nomem(error);
	f->memory.store.info.location = f->path;
	f->memory.store.info.directory = f->folder;
	return 0;
}

static int judge_place(struct rec_files *f, struct rec_error *error)
{
	bool network;
	const char *name;
	if (f->memory.store.info.mode == REC_STORE_READ)
		return 0;
	int r = rec_file_on_network(f->path, &network, &name, error);
	if (r == 0 && network)
		r = rec_fail(
			error, REC_E_NETWORK_FS,
			"%s: lies on %s, where neither locks nor wake-ups can be trusted (keep the store on a local "
			"disk)",
			f->path, name);
	return r;
}

/* -1 if it is not there. */
static int folder_open(struct rec_files *f, int in, const char *name, int *ret_fd, struct rec_error *error)
{
	int fd = f->io->openat(f->io->context, in, name, DIRECTORY_FLAGS | O_NOFOLLOW, 0);
	if (fd < 0 && errno != ENOENT)
		return fail_path(f->folder, errno, error);
	*ret_fd = fd;
	return 0;
}

static int folder_make(struct rec_files *f, int in, const char *name, int *ret_fd, struct rec_error *error)
{
	if (f->io->mkdir(f->io->context, in, name, 0777) < 0 && errno != EEXIST)
		return fail_path(f->folder, errno, error);
	int r = folder_open(f, in, name, ret_fd, error);
	return r == 0 && *ret_fd < 0 ? fail_path(f->folder, ENOENT, error) : r;
}

static int lock_open(struct rec_files *f, struct rec_error *error)
{
	enum rec_store_mode mode = f->memory.store.info.mode;
	int flags = mode == REC_STORE_READ ? O_RDONLY : mode == REC_STORE_INIT ? O_RDWR | O_CREAT : O_RDWR;
	f->lock = f->io->openat(f->io->context, f->rec, "lock", flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666);
	if (f->lock < 0 && mode == REC_STORE_READ && (errno == ENOENT || errno == EACCES))
		return 0;
	return f->lock < 0 ? fail_path(f->folder, errno, error) : 0;
}

/* ---- Making one ---- */

static int ignore_make(struct rec_files *f, struct rec_error *error)
{
	rec_cleanup(rec_close_fd) int fd = f->io->openat(f->io->context, f->rec, ".gitignore",
							 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno == EEXIST ? 0 : fail_path(f->folder, errno, error);
	if (f->io->write(f->io->context, fd, IGNORE, sizeof IGNORE - 1, 0) == 0)
		return 0;
	int errnum = errno;
	(void)f->io->unlink(f->io->context, f->rec, ".gitignore");
	return fail_path(f->folder, errnum, error);
}

static int log_ensure(struct rec_files *f, struct rec_error *error)
{
	struct stat status;
	if (f->io->stat(f->io->context, f->rec, "log", &status) == 0)
		return 0;
	return errno == ENOENT ? rec_files_log_make(f, error) : fail_path(f->log_path, errno, error);
}

static int store_make(struct rec_files *f, struct rec_error *error)
{
	int r = folder_make(f, f->directory, REC_FILES_FOLDER, &f->rec, error);
	if (r == 0)
		r = folder_make(f, f->rec, "new", &f->fresh, error);
	if (r == 0)
		r = lock_open(f, error);
	if (r == 0)
		r = rec_files_lock(f, REC_FILES_LOCK_GROUP, F_WRLCK, error);
	if (r < 0)
		return r;
	r = ignore_make(f, error);
	if (r == 0)
		r = log_ensure(f, error);
	if (r == 0 && (f->io->sync(f->io->context, f->rec) < 0 || f->io->sync(f->io->context, f->directory) < 0))
		r = fail_path(f->folder, errno, error);
	rec_files_unlock(f, REC_FILES_LOCK_GROUP);
	return r;
}

/* ---- Finding one ---- */

/* A folder that has nothing of a store is none: read as an empty one, a wrong path would look fine. */
static int judge_content(struct rec_files *f, struct rec_error *error)
{
	_Alignas(struct rec_files_entry) char entries[4096];
	ssize_t got = 0;
	rec_cleanup(rec_close_fd) int fd = f->io->openat(f->io->context, f->directory, ".", DIRECTORY_FLAGS, 0);
	while (fd >= 0 && (got = f->io->list(f->io->context, fd, entries, sizeof entries)) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct rec_files_entry *entry = (const void *)(entries + at);
			if (rec_files_name_matters(entry->name) || strcmp(entry->name, REC_FILES_FOLDER) == 0)
				return 0;
			at += entry->length;
		}
	if (fd < 0 || got < 0)
		return fail_path(f->path, errno, error);
	return rec_fail(error, REC_E_NOT_A_STORE,
			"%s: is no store: there is neither a task file nor a .rec folder (`reconciler init` makes one)",
			f->path);
}

static int store_find(struct rec_files *f, struct rec_error *error)
{
	struct stat status;
	int r = folder_open(f, f->directory, REC_FILES_FOLDER, &f->rec, error);
	if (r == 0 && f->rec >= 0)
		r = folder_open(f, f->rec, "new", &f->fresh, error);
	if (r == 0 && f->rec >= 0)
		r = lock_open(f, error);
	if (r < 0)
		return r;
	bool complete = f->rec >= 0 && f->fresh >= 0 && f->io->stat(f->io->context, f->rec, "log", &status) == 0;
	if (f->rec >= 0 && f->fresh >= 0 && !complete && errno != ENOENT)
		return fail_path(f->log_path, errno, error);
	if (complete)
		return 0;
	if (f->memory.store.info.mode == REC_STORE_WRITE)
		return rec_fail(error, REC_E_UNINITIALISED,
				"%s: has no complete .rec folder (`reconciler init` makes it)", f->path);
	rec_close_fd(&f->fresh); /* a reader takes the task files alone */
	rec_close_fd(&f->lock);
	rec_close_fd(&f->rec);
	return judge_content(f, error);
}

/* A log that is not ours to read is refused before anything else. */
static int head_judge(struct rec_files *f, struct rec_error *error)
{
	char head[64], shown[256];
	uint64_t generation;
	size_t length;
	rec_cleanup(rec_close_fd) int fd = -1;
	if (f->rec < 0)
		return 0;
	fd = f->io->openat(f->io->context, f->rec, "log", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	ssize_t got = fd < 0 ? -1 : f->io->read(f->io->context, fd, head, sizeof head, 0);
	if (got < 0)
		return fail_path(f->log_path, errno, error);
	int r = rec_files_head_read((struct rec_slice){head, (size_t)got}, &generation, &length, error);
	return r < 0 ? rec_fail_context(error, r, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(f->log_path)))
		     : 0;
}

static int open_all(struct rec_files *f, const char *path, struct rec_error *error)
{
	int r = paths_set(f, path, error);
	if (r == 0)
		r = judge_place(f, error);
	if (r < 0)
		return r;
	f->directory = f->io->openat(f->io->context, AT_FDCWD, f->path, DIRECTORY_FLAGS, 0);
	if (f->directory < 0 && errno == ENOTDIR)
		return rec_fail(error, REC_E_NOT_A_STORE, "%s: is no directory (dir: takes one)", f->path);
	if (f->directory < 0)
		return fail_path(f->path, errno, error);
	r = f->memory.store.info.mode == REC_STORE_INIT ? store_make(f, error) : store_find(f, error);
	if (r == 0)
		r = head_judge(f, error);
	f->memory.store.info.attached = f->rec >= 0;
	return r;
}

int rec_store_files_open_with(const char *path, const struct rec_store_options *options, const struct rec_io *io,
			      struct rec_store **ret_store, struct rec_error *error)
{
	struct rec_files *f = handle_new(options, io, error);
	if (!f)
		return REC_E_NOMEM;
	int r = open_all(f, path, error);
	if (r < 0) {
		rec_files_close(&f->memory.store);
		return r;
	}
	*ret_store = &f->memory.store;
	return 0;
}

int rec_store_files_open(const char *path, const struct rec_store_options *options, struct rec_store **ret_store,
			 struct rec_error *error)
{
	return rec_store_files_open_with(path, options, &rec_io_real, ret_store, error);
}
