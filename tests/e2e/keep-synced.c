/* keep-synced.c - preloaded into the command: after each fdatasync of an SQLite log, a copy FILE.synced of what is
 * durable by that, so that a test can take the rest away as a loss of power would. Not a part of the product. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void copy(int from, const char *path)
{
	char made[4200], kept[4200], bytes[65536];
	off_t at = 0;
	ssize_t n;
	snprintf(made, sizeof made, "%s.made", path);
	snprintf(kept, sizeof kept, "%s.synced", path);
	int to = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (to >= 0 && (n = pread(from, bytes, sizeof bytes, at)) > 0) {
		if (write(to, bytes, (size_t)n) != n)
			abort();
		at += n;
	}
	if (to < 0 || close(to) != 0 || rename(made, kept) != 0)
		abort();
}

static int keeping_fdatasync(int fd)
{
	char link[40], path[4096];
	long r = syscall(SYS_fdatasync, fd);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t length = r == 0 ? readlink(link, path, sizeof path - 1) : 0;
	path[length > 0 ? length : 0] = '\0';
	if (length > 4 && strcmp(path + length - 4, "-wal") == 0)
		copy(fd, path);
	return (int)r;
}

int fdatasync(int) __attribute__((alias("keeping_fdatasync"), visibility("default")));
