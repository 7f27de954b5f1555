/* io.h - the system calls of a store made of files, as a table, so that a test can fail the Nth of them. Each does
 * what the call of that name does (-1 and errno), tried again when interrupted. */
#ifndef REC_BASE_IO_H
#define REC_BASE_IO_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct rec_io {
	int (*openat)(void *context, int directory, const char *path, int flags, unsigned mode);
	ssize_t (*read)(void *context, int fd, void *bytes, size_t length, off_t at); /* at < 0: where it stands */
	/* Writes all of it or fails, with an unknown part of it written. */
	int (*write)(void *context, int fd, const void *bytes, size_t length, off_t at);
	/* The same, and it is on the disk when this returns: one call, so that there is nothing between. */
	int (*write_durably)(void *context, int fd, const void *bytes, size_t length, off_t at);
	int (*truncate)(void *context, int fd, off_t length);
	int (*sync)(void *context, int fd);             /* a file or a directory; EINVAL (cannot be synced) is 0 */
	int (*sync_file_system)(void *context, int fd); /* all that is on the file system of fd */
	int (*stat)(void *context, int directory, const char *path, struct stat *ret); /* no link is followed */
	int (*fstat)(void *context, int fd, struct stat *ret);
	int (*rename)(void *context, int from_directory, const char *from, int to_directory, const char *to);
	int (*unlink)(void *context, int directory, const char *path);
	int (*mkdir)(void *context, int directory, const char *path, unsigned mode);
	ssize_t (*list)(void *context, int fd, void *entries, size_t length); /* getdents64 */
	/* An open file description lock of one byte at `at`; F_RDLCK, F_WRLCK, F_UNLCK; EAGAIN: another holds it. */
	int (*lock)(void *context, int fd, short type, off_t at);
	void *context;
};
extern const struct rec_io rec_io_real; /* const: not state */

#endif
