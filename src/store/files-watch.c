/* files-watch.c - being woken by inotify. It watches the directory for files that are written, moved or removed, and
 * .rec for the log. What it tells becomes names to look at again; when it tells that it has lost some, the whole
 * directory is looked at. Where no watch can be had, every look is at the whole directory.
 *
 * A file is looked at when its writer closes it (or it is moved into place), not at every write: most halves are
 * never seen. */
#include <errno.h>
#include <limits.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/files.h"

#define FILE_EVENTS (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ATTRIB | IN_ONLYDIR)
#define LOG_EVENTS (IN_MODIFY | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR)
#define PENDING_MAX 65536u

/* ---- Names to look at ---- */

void rec_files_pending_clear(struct rec_files *f)
{
	for (size_t i = 0; i < f->pending_count; i++)
		rec_free(f->memory.store.allocator, f->pending[i]);
	f->pending_count = 0;
}

/* Needs no memory to be right: without it the whole directory is looked at. */
void rec_files_pending_add(struct rec_files *f, const char *name, size_t length)
{
	const struct rec_allocator *a = f->memory.store.allocator;
	if (f->pending_count && strncmp(f->pending[f->pending_count - 1], name, length) == 0 &&
	    f->pending[f->pending_count - 1][length] == '\0')
		return;
	char *copy = f->pending_count < PENDING_MAX ? rec_strndup(a, name, length) : NULL;
	if (copy && rec_grow(a, (void **)&f->pending, &f->pending_capacity, f->pending_count + 1, sizeof copy) == 0) {
		f->pending[f->pending_count++] = copy;
		return;
	}
	rec_free(a, copy);
	f->rescan = true;
}

/* ---- Events ---- */

/* The descriptor stays: whoever waits for it has its number. */
static void watch_lost(struct rec_files *f)
{
	f->watch_directory = -1;
	f->rescan = true;
}

static void event_take(struct rec_files *f, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		f->rescan = true;
	else if (event->wd != f->watch_directory)
		return; /* the log is asked by its size */
	else if (event->mask & IN_IGNORED)
		watch_lost(f);
	else if (event->len && rec_files_name_matters(event->name))
		rec_files_pending_add(f, event->name, strlen(event->name));
}

void rec_files_watch_drain(struct rec_files *f)
{
	_Alignas(struct inotify_event) char events[16384];
	ssize_t got;
	while (f->watch >= 0 && (got = read(f->watch, events, sizeof events)) > 0) {
		const struct inotify_event *event;
		for (ssize_t at = 0; at < got; at += (ssize_t)(sizeof *event + event->len)) {
			event = (const void *)(events + at);
			event_take(f, event);
		}
	}
}

void rec_files_watch_end(struct rec_files *f)
{
	rec_close_fd(&f->watch);
	f->watch_directory = -1;
	f->rescan = true;
}

void rec_files_watch_begin(struct rec_files *f)
{
	if (f->watch >= 0)
		return;
	f->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (f->watch < 0)
		return;
	f->watch_directory = inotify_add_watch(f->watch, f->path, FILE_EVENTS);
	if (f->watch_directory < 0 || (f->rec >= 0 && inotify_add_watch(f->watch, f->folder, LOG_EVENTS) < 0))
		rec_files_watch_end(f);
}
