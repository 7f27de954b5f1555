/* failing-io.c - each call counts, and one of them fails; the rest goes to the real table. */
#include "failing-io.h"

#include <errno.h>

static bool fails(void *context)
{
	struct failing_io *f = context;
	f->calls++;
	if (!f->fail_at || f->calls < f->fail_at || (f->calls > f->fail_at && !f->persistent))
		return false;
	errno = EIO;
	return true;
}

static int fail_openat(void *context, int directory, const char *path, int flags, unsigned mode)
{
	return fails(context) ? -1 : rec_io_real.openat(NULL, directory, path, flags, mode);
}

static ssize_t fail_read(void *context, int fd, void *bytes, size_t length, off_t at)
{
	return fails(context) ? -1 : rec_io_real.read(NULL, fd, bytes, length, at);
}

static int fail_write(void *context, int fd, const void *bytes, size_t length, off_t at)
{
	if (!fails(context))
		return rec_io_real.write(NULL, fd, bytes, length, at);
	(void)rec_io_real.write(NULL, fd, bytes, length / 2, at);
	errno = EIO;
	return -1;
}

static int fail_write_durably(void *context, int fd, const void *bytes, size_t length, off_t at)
{
	if (!fails(context))
		return rec_io_real.write_durably(NULL, fd, bytes, length, at);
	(void)rec_io_real.write(NULL, fd, bytes, length / 2, at);
	errno = EIO;
	return -1;
}

static int fail_truncate(void *context, int fd, off_t length)
{
	return fails(context) ? -1 : rec_io_real.truncate(NULL, fd, length);
}

static int fail_sync(void *context, int fd)
{
	return fails(context) ? -1 : rec_io_real.sync(NULL, fd);
}

/* Not the whole machine's file system: only the count matters. */
static int fail_sync_file_system(void *context, int fd)
{
	return fails(context) ? -1 : rec_io_real.sync(NULL, fd);
}

static int fail_stat(void *context, int directory, const char *path, struct stat *ret)
{
	return fails(context) ? -1 : rec_io_real.stat(NULL, directory, path, ret);
}

static int fail_fstat(void *context, int fd, struct stat *ret)
{
	return fails(context) ? -1 : rec_io_real.fstat(NULL, fd, ret);
}

static int fail_rename(void *context, int from_directory, const char *from, int to_directory, const char *to)
{
	return fails(context) ? -1 : rec_io_real.rename(NULL, from_directory, from, to_directory, to);
}

static int fail_unlink(void *context, int directory, const char *path)
{
	return fails(context) ? -1 : rec_io_real.unlink(NULL, directory, path);
}

static int fail_mkdir(void *context, int directory, const char *path, unsigned mode)
{
	return fails(context) ? -1 : rec_io_real.mkdir(NULL, directory, path, mode);
}

static ssize_t fail_list(void *context, int fd, void *entries, size_t length)
{
	return fails(context) ? -1 : rec_io_real.list(NULL, fd, entries, length);
}

static int fail_lock(void *context, int fd, short type, off_t at)
{
	return fails(context) ? -1 : rec_io_real.lock(NULL, fd, type, at);
}

void failing_io_init(struct failing_io *f)
{
	*f = (struct failing_io){.io = {
					 .openat = fail_openat,
					 .read = fail_read,
					 .write = fail_write,
					 .write_durably = fail_write_durably,
					 .truncate = fail_truncate,
					 .sync = fail_sync,
					 .sync_file_system = fail_sync_file_system,
					 .stat = fail_stat,
					 .fstat = fail_fstat,
					 .rename = fail_rename,
					 .unlink = fail_unlink,
					 .mkdir = fail_mkdir,
					 .list = fail_list,
					 .lock = fail_lock,
					 .context = f,
				 }};
}

uint64_t failing_io_set(struct failing_io *f, uint64_t n, bool persistent)
{
	uint64_t calls = f->calls;
	f->calls = 0;
	f->fail_at = n;
	f->persistent = persistent;
	return calls;
}
