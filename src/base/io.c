/* io.c - the real table: thin wrappers. A durable write is one pwritev2 with RWF_DSYNC where the file system knows it,
 * else a write and an fdatasync. */
#include "base/io.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int real_openat(void *context, int directory, const char *path, int flags, unsigned mode)
{
	(void)context;
	return (int)TEMP_FAILURE_RETRY(openat(directory, path, flags, mode));
}

static ssize_t real_read(void *context, int fd, void *bytes, size_t length, off_t at)
{
	(void)context;
	if (at < 0)
		return TEMP_FAILURE_RETRY(read(fd, bytes, length));
	return TEMP_FAILURE_RETRY(pread(fd, bytes, length, at));
}

static int real_write(void *context, int fd, const void *bytes, size_t length, off_t at)
{
	(void)context;
	for (const char *from = bytes; length;) {
		ssize_t written = TEMP_FAILURE_RETRY(pwrite(fd, from, length, at));
		if (written < 0)
			return -1;
		from += written;
		at += written;
		length -= (size_t)written;
	}
	return 0;
}

static int real_sync(void *context, int fd)
{
	(void)context;
	return TEMP_FAILURE_RETRY(fsync(fd)) < 0 && errno != EINVAL ? -1 : 0;
}

static int real_write_durably(void *context, int fd, const void *bytes, size_t length, off_t at)
{
	struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
	ssize_t written = TEMP_FAILURE_RETRY(pwritev2(fd, &piece, 1, at, RWF_DSYNC));
	if (written < 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
		return -1;
	if (written == (ssize_t)length)
		return 0;
	size_t done = written > 0 ? (size_t)written : 0;
	if (real_write(context, fd, (const char *)bytes + done, length - done, at + (off_t)done) < 0)
		return -1;
	return real_sync(context, fd);
}

static int real_truncate(void *context, int fd, off_t length)
{
	(void)context;
	return (int)TEMP_FAILURE_RETRY(ftruncate(fd, length));
}

static int real_sync_file_system(void *context, int fd)
{
	(void)context;
	return (int)TEMP_FAILURE_RETRY(syncfs(fd));
}

static int real_stat(void *context, int directory, const char *path, struct stat *ret)
{
	(void)context;
	return fstatat(directory, path, ret, AT_SYMLINK_NOFOLLOW);
}

static int real_fstat(void *context, int fd, struct stat *ret)
{
	(void)context;
	return fstat(fd, ret);
}

static int real_rename(void *context, int from_directory, const char *from, int to_directory, const char *to)
{
	(void)context;
	return renameat(from_directory, from, to_directory, to);
}

static int real_unlink(void *context, int directory, const char *path)
{
	(void)context;
	return unlinkat(directory, path, 0);
}

static int real_mkdir(void *context, int directory, const char *path, unsigned mode)
{
	(void)context;
	return mkdirat(directory, path, mode);
}

static ssize_t real_list(void *context, int fd, void *entries, size_t length)
{
	(void)context;
	return TEMP_FAILURE_RETRY((ssize_t)syscall(SYS_getdents64, fd, entries, length));
}

static int real_lock(void *context, int fd, short type, off_t at)
{
	(void)context;
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
	int r = (int)TEMP_FAILURE_RETRY(fcntl(fd, F_OFD_SETLK, &lock));
	if (r < 0 && errno == EACCES)
		errno = EAGAIN;
	return r;
}

const struct rec_io rec_io_real = {
	.openat = real_openat,
	.read = real_read,
	.write = real_write,
	.write_durably = real_write_durably,
	.truncate = real_truncate,
	.sync = real_sync,
	.sync_file_system = real_sync_file_system,
	.stat = real_stat,
	.fstat = real_fstat,
	.rename = real_rename,
	.unlink = real_unlink,
	.mkdir = real_mkdir,
	.list = real_list,
	.lock = real_lock,
};
