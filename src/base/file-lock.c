/* file-lock.c - locks that belong to an open file description: they end with the last descriptor of it, also
 * when the process is killed, are not lost when another part of the process opens and closes the same file,
 * and exclude threads of one process as well. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#define PATH_SHOWN 512
#define LOCK_TRIES 100

static int fail_path(struct rec_error *error, int errnum, const char *path)
{
	char shown[PATH_SHOWN];
	return rec_fail_errno(error, errnum, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
}

/* Is the open file still the one that the path names? Somebody may have removed it before we had the lock. */
static bool still_there(int fd, const char *path)
{
	struct stat held, named;
	return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_dev == named.st_dev &&
	       held.st_ino == named.st_ino;
}

int rec_file_lock(const char *path, int *ret_fd, struct rec_error *error)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		rec_cleanup(rec_close_fd) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
		if (fd < 0)
			return fail_path(error, errno, path);
		struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		if (fcntl(fd, F_OFD_SETLK, &whole) < 0)
			return errno == EAGAIN || errno == EACCES ? (int)REC_CONFLICT : fail_path(error, errno, path);
		if (still_there(fd, path)) {
			*ret_fd = fd;
			fd = -1;
			return 0;
		}
	}
	return REC_CONFLICT; /* whoever removes it that often is busy with it */
}

int rec_file_locked(const char *path, bool *ret_locked, struct rec_error *error)
{
	rec_cleanup(rec_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno != ENOENT)
		return fail_path(error, errno, path);
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) < 0)
		return fail_path(error, errno, path);
	*ret_locked = fd >= 0 && whole.l_type != F_UNLCK;
	return 0;
}
