/* file.c - a file is replaced through the descriptor of its directory, so that the temporary name, the rename and
 * the last fsync are about the same directory even if somebody moves it meanwhile. The temporary name is
 * random and does not contain the file's own, which may already be as long as a name can be. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#define PATH_SHOWN 512 /* half of a message */
#define READ_PIECE ((size_t)1 << 16)
#define NAME_TRIES 16

static int fail_path(struct rec_error *error, int errnum, const char *path)
{
	char shown[PATH_SHOWN];
	return rec_fail_errno(error, errnum, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
}

/* ---- Reading ---- */

static int fail_kind(struct rec_error *error, const char *path, mode_t mode)
{
	char shown[PATH_SHOWN];
	return rec_fail(error, REC_E_INVALID, "%s: is %s, not a file",
			rec_text_shown(shown, sizeof shown, rec_slice_of(path)),
			S_ISDIR(mode) ? "a directory" : "a device, a pipe or a socket");
}

/* At the limit one more byte is asked for, to tell a file of just that size from a longer one. */
static int limit_check(int fd, const char *path, size_t limit, struct rec_error *error)
{
	char byte, shown[PATH_SHOWN];
	ssize_t got;
	do
		got = read(fd, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return fail_path(error, errno, path);
	if (got == 0)
		return 0;
	return rec_fail(error, REC_E_LIMIT, "%s: longer than %zu bytes",
			rec_text_shown(shown, sizeof shown, rec_slice_of(path)), limit);
}

static int read_all(int fd, const char *path, size_t limit, struct rec_buffer *out, struct rec_error *error)
{
	size_t left = limit;
	while (left) {
		size_t piece = left < READ_PIECE ? left : READ_PIECE;
		char *place = rec_buffer_space(out, piece);
		if (!place)
			return rec_fail_nomem(error);
		ssize_t got = read(fd, place, piece);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_path(error, errno, path);
		if (got == 0)
			return 0;
		left -= (size_t)got;
		rec_buffer_added(out, (size_t)got);
	}
	return limit_check(fd, path, limit, error);
}

int rec_file_read(const char *path, size_t bytes_max, struct rec_buffer *out, struct rec_error *error)
{
	rec_cleanup(rec_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? (int)REC_NOT_FOUND : fail_path(error, errno, path);
	struct stat status;
	if (fcntl(fd, F_SETFL, 0) < 0 || fstat(fd, &status) < 0)
		return fail_path(error, errno, path);
	if (S_ISDIR(status.st_mode))
		return fail_kind(error, path, status.st_mode);
	size_t before = out->length, room = out->maximum - before;
	int r = read_all(fd, path, bytes_max < room ? bytes_max : room, out, error);
	if (r < 0 && out->data) {
		out->length = before;
		out->data[before] = '\0';
	}
	return r;
}

/* ---- Replacing ---- */

struct replacement {
	char path[PATH_MAX]; /* the file itself, links resolved; cut at its last '/' once the directory is open */
	const char *name;    /* in the directory */
	char temporary[40];
	int directory, file;
};

static void replacement_release(struct replacement *r)
{
	rec_close_fd(&r->file);
	if (r->temporary[0])
		(void)unlinkat(r->directory, r->temporary, 0);
	rec_close_fd(&r->directory);
}

/* Opens the directory of the file; returns 0 or an errno. */
static int directory_open(struct replacement *r, const char *path)
{
	if (!realpath(path, r->path)) {
		size_t length = strlen(path);
		if (errno != ENOENT)
			return errno;
		if (length >= sizeof r->path)
			return ENAMETOOLONG;
		memcpy(r->path, path, length + 1);
	}
	char *slash = strrchr(r->path, '/');
	r->name = slash ? slash + 1 : r->path;
	if (!r->name[0])
		return r->path[0] ? EISDIR : ENOENT;
	const char *directory = slash == r->path ? "/" : slash ? r->path : ".";
	if (slash)
		*slash = '\0';
	r->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r->directory < 0 ? errno : 0;
}

static int temporary_open(struct replacement *r, unsigned mode)
{
	char name[sizeof r->temporary];
	int errnum = EEXIST;
	for (int i = 0; i < NAME_TRIES && errnum == EEXIST; i++) {
		snprintf(name, sizeof name, ".reconciler-%016" PRIx64 ".tmp", rec_random_u64());
		r->file = openat(r->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		errnum = r->file < 0 ? errno : 0;
	}
	if (errnum == 0)
		memcpy(r->temporary, name, sizeof name);
	return errnum;
}

static int write_all(int fd, struct rec_slice content)
{
	while (content.length) {
		ssize_t written = write(fd, content.data, content.length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno;
		content.data += written;
		content.length -= (size_t)written;
	}
	return 0;
}

/* Gives the temporary file the old one's owner (if we may) and mode. */
static int mode_keep(const struct replacement *r)
{
	struct stat old, new;
	if (fstatat(r->directory, r->name, &old, 0) < 0)
		return errno == ENOENT ? 0 : errno;
	if (fstat(r->file, &new) < 0)
		return errno;
	mode_t mode = old.st_mode & 07777;
	if ((old.st_uid != new.st_uid || old.st_gid != new.st_gid) && fchown(r->file, old.st_uid, old.st_gid) < 0)
		mode &= 0777; /* no set-user-id for another owner */
	return fchmod(r->file, mode) < 0 ? errno : 0;
}

static int file_close(int *fd)
{
	int r = close(*fd);
	*fd = -1;
	return r < 0 && errno != EINTR ? errno : 0;
}

static int replace(struct replacement *r, const char *path, struct rec_slice content, unsigned mode)
{
	int errnum = directory_open(r, path);
	if (!errnum)
		errnum = temporary_open(r, mode);
	if (!errnum)
		errnum = mode_keep(r);
	if (!errnum)
		errnum = write_all(r->file, content);
	if (!errnum && fsync(r->file) < 0)
		errnum = errno;
	if (!errnum)
		errnum = file_close(&r->file); /* some file systems report a full disk only here */
	if (!errnum && renameat(r->directory, r->temporary, r->directory, r->name) < 0)
		errnum = errno;
	if (errnum)
		return errnum;
	r->temporary[0] = '\0';
	return fsync(r->directory) < 0 && errno != EINVAL ? errno : 0; /* EINVAL: cannot be synced at all */
}

int rec_file_replace(const char *path, struct rec_slice content, unsigned mode, struct rec_error *error)
{
	rec_cleanup(replacement_release) struct replacement r = {.directory = -1, .file = -1};
	struct stat status = {.st_mode = S_IFREG};
	if (stat(path, &status) < 0 && errno != ENOENT)
		return fail_path(error, errno, path);
	if (!S_ISREG(status.st_mode))
		return fail_kind(error, path, status.st_mode); /* rename would replace a device without a word */
	int errnum = replace(&r, path, content, mode);
	return errnum ? fail_path(error, errnum, path) : 0;
}

/* ---- Directories ---- */

/* Makes one directory unless it is there; returns 0 or an errno. */
static int directory_ensure(const char *path)
{
	if (mkdir(path, 0777) == 0)
		return 0;
	int errnum = errno;
	struct stat status;
	if (stat(path, &status) < 0)
		return errnum;
	return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

int rec_directory_make(const char *path, struct rec_error *error)
{
	char prefix[PATH_MAX];
	size_t length = strlen(path);
	if (length >= sizeof prefix)
		return fail_path(error, ENAMETOOLONG, path);
	memcpy(prefix, path, length + 1);
	for (size_t i = 1; i <= length; i++) {
		if (prefix[i] != '/' && prefix[i] != '\0')
			continue;
		char end = prefix[i];
		prefix[i] = '\0';
		int errnum = directory_ensure(prefix);
		if (errnum)
			return fail_path(error, errnum, prefix);
		prefix[i] = end;
	}
	return length ? 0 : fail_path(error, ENOENT, path);
}
