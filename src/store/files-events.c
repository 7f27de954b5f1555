/* files-events.c - the audit log: a file of lines that only grows, until gc writes it anew under another name. The log
 * tells how many of its bytes count; what a writer that died left behind them is written over. */
#include "store/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define FIRST_NAME "events.ndjson"
#define PIECE_BYTES ((size_t)64 << 10)
#define LINE_BYTES_MAX ((size_t)256 << 20)
#define PENDING_BYTES_MAX (SIZE_MAX / 2)

static const char *events_name(const struct rec_files *f)
{
	return f->log.events_name[0] ? f->log.events_name : FIRST_NAME;
}

static int fail_events(struct rec_files *f, int errnum, struct rec_error *error)
{
	char shown[256];
	return rec_fail_errno(error, errnum, "%s/%s", rec_text_shown(shown, sizeof shown, rec_slice_of(f->folder)),
			      events_name(f));
}

/* ---- Writing ---- */

int rec_files_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error)
{
	struct rec_files *f = rec_files_of(s);
	struct rec_event added = *event;
	size_t before = f->events.length;
	added.seq = s->event_seq = ++f->memory.data->counters[REC_MEMORY_WORKING].event_seq;
	rec_files_record_write(&f->events, &rec_files_event_record, &added);
	if (rec_buffer_add_text(&f->events, "\n") == 0)
		return 0;
	f->events.length = before;
	f->events.failed = 0;
	return rec_fail_nomem(error);
}

void rec_files_events_forget(struct rec_files *f)
{
	if (f->events_renewed && f->events_next[0])
		(void)f->io->unlink(f->io->context, f->rec, f->events_next);
	f->events_renewed = false;
	f->events_next[0] = '\0';
	rec_buffer_clear(&f->events);
}

static int events_append(struct rec_files *f, const char *name, int64_t at, struct rec_error *error)
{
	const struct rec_io *io = f->io;
	struct stat status;
	rec_cleanup(rec_close_fd) int fd =
		io->openat(io->context, f->rec, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0 || io->fstat(io->context, fd, &status) < 0)
		return fail_events(f, errno, error);
	if (status.st_size < at)
		return rec_fail(error, REC_E_CORRUPT, "%s/%s: is shorter than the log says", f->folder, name);
	if (status.st_size > at && io->truncate(io->context, fd, at) < 0)
		return fail_events(f, errno, error);
	if (io->write(io->context, fd, f->events.data, f->events.length, at) < 0 || io->sync(io->context, fd) < 0)
		return fail_events(f, errno, error);
	if (at == 0 && io->sync(io->context, f->rec) < 0)
		return fail_events(f, errno, error);
	return 0;
}

int rec_files_events_write(struct rec_files *f, struct rec_files_events *ret, struct rec_error *error)
{
	const char *name = f->events_renewed ? f->events_next : events_name(f);
	int64_t bytes = f->events_renewed ? f->events_next_bytes : f->log.events_bytes;
	if (f->events.length) {
		int r = events_append(f, name, bytes, error);
		if (r < 0)
			return r;
		bytes += (int64_t)f->events.length;
	}
	*ret = (struct rec_files_events){rec_slice_of(name), bytes};
	return 0;
}

void rec_files_events_place(struct rec_files *f, const struct rec_files_events *events)
{
	if (f->events_renewed)
		(void)f->io->unlink(f->io->context, f->rec, events_name(f));
	f->events_renewed = false;
	if (events->name.data != f->log.events_name)
		snprintf(f->log.events_name, sizeof f->log.events_name, "%.*s", (int)events->name.length,
			 events->name.data);
	f->log.events_bytes = events->bytes;
}

bool rec_files_events_left(const struct rec_files *f, const char *name)
{
	static const char head[] = "events-";
	size_t digits = strncmp(name, head, sizeof head - 1) == 0 ? strspn(name + sizeof head - 1, "0123456789") : 0;
	bool ours = digits && strcmp(name + sizeof head - 1 + digits, ".ndjson") == 0;
	return (ours || strcmp(name, FIRST_NAME) == 0) && strcmp(name, events_name(f)) != 0;
}

/* ---- Reading ---- */

struct reading {
	struct rec_files *f;
	int fd;
	int64_t at, end; /* in the file */
	struct rec_buffer bytes;
	struct rec_error *error;
};

static int reading_open(struct reading *e, struct rec_files *f, struct rec_error *error)
{
	const char *name = f->events_renewed ? f->events_next : events_name(f);
	*e = (struct reading){.f = f, .fd = -1, .error = error};
	e->end = f->events_renewed ? f->events_next_bytes : f->log.events_bytes;
	rec_buffer_init(&e->bytes, f->memory.store.allocator, LINE_BYTES_MAX);
	if (e->end == 0)
		return 0;
	e->fd = f->io->openat(f->io->context, f->rec, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
	return e->fd < 0 ? fail_events(f, errno, error) : 0;
}

static void reading_close(struct reading *e)
{
	rec_close_fd(&e->fd);
	rec_buffer_release(&e->bytes);
}

/* Reads on. 0; REC_END: all was read. */
static int piece_read(struct reading *e)
{
	size_t wanted = (size_t)(e->end - e->at) < PIECE_BYTES ? (size_t)(e->end - e->at) : PIECE_BYTES;
	if (wanted == 0)
		return REC_END;
	char *space = rec_buffer_space(&e->bytes, wanted);
	if (!space)
		return e->bytes.failed == REC_E_LIMIT ? rec_fail(e->error, REC_E_CORRUPT, "events: a line without end")
						      : rec_fail_nomem(e->error);
	ssize_t got = e->f->io->read(e->f->io->context, e->fd, space, wanted, (off_t)e->at);
	if (got < 0)
		return fail_events(e->f, errno, e->error);
	if (got == 0)
		return rec_fail(e->error, REC_E_CORRUPT, "%s/%s: is shorter than the log says", e->f->folder,
				events_name(e->f));
	rec_buffer_added(&e->bytes, (size_t)got);
	e->at += got;
	return 0;
}

static int64_t line_seq(struct rec_slice line)
{
	static const char head[] = "{\"seq\":";
	int64_t seq = 0;
	for (size_t i = sizeof head - 1; i < line.length && line.data[i] >= '0' && line.data[i] <= '9'; i++)
		seq = seq * 10 + (line.data[i] - '0');
	return seq;
}

/* Moves to a place at or before the first event after `since`: lines are in the order of their numbers. */
static int seek_since(struct reading *e, int64_t since)
{
	int64_t low = 0, high = e->end;
	int r = 0;
	while (r == 0 && high - low > (int64_t)PIECE_BYTES) {
		int64_t middle = low + (high - low) / 2;
		struct rec_slice rest, skipped, line;
		e->at = middle;
		rec_buffer_clear(&e->bytes);
		r = piece_read(e);
		rest = rec_buffer_slice(&e->bytes);
		if (r != 0 || !rec_files_line_next(&rest, &skipped) || !rec_files_line_next(&rest, &line))
			break;
		if (line_seq(line) <= since)
			low = middle + (int64_t)skipped.length + 1;
		else
			high = middle;
	}
	rec_buffer_clear(&e->bytes);
	e->at = low;
	return r < 0 ? r : 0;
}

struct telling {
	int64_t since;
	uint64_t limit, told;
	rec_event_fn *fn;
	void *context;
	struct rec_files *f;
	struct rec_error *error;
};

static int line_tell(struct telling *t, struct rec_slice line)
{
	struct rec_event event = {0};
	struct rec_arena arena;
	if (line_seq(line) <= t->since)
		return 0;
	rec_arena_init(&arena, t->f->memory.store.allocator);
	int r = rec_files_record_read(line, &rec_files_event_record, &arena, &event, t->error);
	if (r == REC_E_INVALID)
		r = rec_fail_context(t->error, REC_E_CORRUPT, "%s/%s", t->f->folder, events_name(t->f));
	if (r == 0) {
		t->told++;
		r = t->fn(t->context, &event);
	}
	rec_arena_release(&arena);
	return r;
}

static int lines_tell(struct telling *t, struct rec_slice *bytes)
{
	struct rec_slice line;
	int r = 0;
	while (r == 0 && (!t->limit || t->told < t->limit) && rec_files_line_next(bytes, &line))
		r = line_tell(t, line);
	return r;
}

static int file_tell(struct reading *e, struct telling *t)
{
	int r = t->since > 0 ? seek_since(e, t->since) : 0;
	while (r == 0 && (!t->limit || t->told < t->limit)) {
		r = piece_read(e);
		if (r)
			return r == REC_END ? 0 : r;
		struct rec_slice rest = rec_buffer_slice(&e->bytes);
		r = lines_tell(t, &rest);
		rec_buffer_consume(&e->bytes, e->bytes.length - rest.length);
	}
	return r;
}

int rec_files_events(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		     struct rec_error *error)
{
	struct rec_files *f = rec_files_of(s);
	struct telling t = {.since = since, .limit = limit, .fn = fn, .context = context, .f = f, .error = error};
	struct reading e;
	int r = rec_files_refresh(f, error);
	if (r < 0)
		return r;
	r = reading_open(&e, f, error);
	if (r == 0)
		r = file_tell(&e, &t);
	reading_close(&e);
	struct rec_slice pending = rec_buffer_slice(&f->events);
	return r == 0 ? lines_tell(&t, &pending) : r;
}

/* ---- Pruning ---- */

struct pruning {
	struct rec_buffer kept;
	int64_t before_us;
	uint64_t count;
};

/* An event whose time cannot be read is kept. */
static int prune(void *context, const struct rec_event *event)
{
	struct pruning *p = context;
	int64_t time_us;
	if (rec_timestamp_parse(event->time, &time_us) == 0 && time_us < p->before_us) {
		p->count++;
		return 0;
	}
	rec_files_record_write(&p->kept, &rec_files_event_record, event);
	return rec_buffer_add_text(&p->kept, "\n");
}

static int kept_write(struct rec_files *f, const struct pruning *p, struct rec_error *error)
{
	const struct rec_io *io = f->io;
	char name[sizeof f->events_next];
	snprintf(name, sizeof name, "events-%" PRId64 ".ndjson", f->log.group_number + 1);
	rec_cleanup(rec_close_fd) int fd =
		io->openat(io->context, f->rec, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail_events(f, errno, error);
	memcpy(f->events_next, name, sizeof name);
	f->events_next_bytes = (int64_t)p->kept.length;
	f->events_renewed = true;
	rec_buffer_clear(&f->events); /* they are among the kept ones */
	if (io->write(io->context, fd, p->kept.data, p->kept.length, 0) < 0 || io->sync(io->context, fd) < 0 ||
	    io->sync(io->context, f->rec) < 0)
		return fail_events(f, errno, error);
	return 0;
}

int rec_files_events_gc(struct rec_files *f, int64_t before_us, bool dry_run, uint64_t *ret_count,
			struct rec_error *error)
{
	struct pruning p = {.before_us = before_us};
	rec_buffer_init(&p.kept, f->memory.store.allocator, PENDING_BYTES_MAX);
	int r = rec_files_events(&f->memory.store, 0, 0, prune, &p, error);
	if (p.kept.failed)
		r = rec_fail_nomem(error);
	if (r == 0 && p.count && !dry_run)
		r = kept_write(f, &p, error);
	if (r == 0)
		*ret_count = p.count;
	rec_buffer_release(&p.kept);
	return r;
}
