/* sqlite-wake.c - being woken when somebody writes, by inotify.
 *
 * The directory is watched for files that come and go, and our own files, as far as they exist, for being written. So
 * a log file that somebody writes beside the database wakes nobody, while a -wal that is made anew, or a
 * database that is replaced, does, and is watched from the next draining on (only then: adding watches costs). What
 * happens in between is found by the looks that follow every wake-up (struct rec_relook).
 *
 * inotify works by path: no file of SQLite's is opened.
 */
#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/sqlite.h"

#define DIRECTORY_EVENTS (IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR)
#define FILE_EVENTS IN_MODIFY /* not IN_ATTRIB: as root SQLite changes the owner of a log that it only reads */

/* -1 if the file is not there; the directory then tells of its coming. */
static int watch(int fd, const char *path, uint32_t events)
{
	return inotify_add_watch(fd, path, events);
}

/* A watch stays with its inode: a file made anew gets a new one, one that is still there the same again. */
static void watch_files(struct rec_sqlite *s)
{
	s->wake.database = watch(s->wake.fd, s->path, FILE_EVENTS);
	s->wake.log = watch(s->wake.fd, s->log_path, FILE_EVENTS);
	s->wake.journal = watch(s->wake.fd, s->journal_path, FILE_EVENTS);
}

int rec_sqlite_wake_fd(struct rec_store *store, int *ret_fd, struct rec_error *error)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	if (s->wake.fd >= 0) {
		*ret_fd = s->wake.fd;
		return 0;
	}
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0)
		return rec_fail_errno(error, errno, "%s: cannot watch for changes", s->path);
	s->wake.directory = watch(fd, s->directory, DIRECTORY_EVENTS);
	if (s->wake.directory < 0) {
		int errnum = errno;
		rec_close_fd(&fd);
		return rec_fail_errno(error, errnum, "%s: cannot watch for changes", s->directory);
	}
	*ret_fd = s->wake.fd = fd;
	watch_files(s);
	return 0;
}

/* A file came or went, or events were lost: then our files may be other ones. The length of that event. */
static ssize_t files_moved(const struct rec_sqlite *s, const char *at, bool *moved)
{
	const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
	*moved = *moved || event->wd == s->wake.directory || (event->mask & (IN_IGNORED | IN_Q_OVERFLOW));
	return (ssize_t)(sizeof *event + event->len);
}

void rec_sqlite_wake_drain(struct rec_store *store)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	_Alignas(struct inotify_event) char events[4096];
	bool moved = false;
	ssize_t length;
	if (s->wake.fd < 0)
		return;
	do { /* less than half of it was filled: that was all */
		length = read(s->wake.fd, events, sizeof events);
		for (ssize_t at = 0; at < length;)
			at += files_moved(s, events + at, &moved);
	} while (length > (ssize_t)sizeof events / 2);
	if (moved)
		watch_files(s);
}

void rec_sqlite_wake_close(struct rec_sqlite *s)
{
	rec_close_fd(&s->wake.fd);
}
