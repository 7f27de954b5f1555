/* files-log.c - the log of what is not in task files: claims, attempts, batches, the change feed, and which files each
 * group puts in place. A handle reads what is new and never more; when the log was written anew (another inode)
 * it begins from its start with empty tables.
 *
 * A group is committed by one write that is durable when it returns. Before it nothing counts, after it everything
 * does, also what is still to be renamed: the next writer does that.
 */
#include "store/files.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define LOG "log"
#define LOG_NEW "log.new"
#define LOG_BYTES_MAX ((size_t)1 << 40)

static int fail_log(struct rec_files *f, int errnum, struct rec_error *error)
{
	char shown[256];
	return rec_fail_errno(error, errnum, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(f->log_path)));
}

static int fail_content(struct rec_files *f, int code, struct rec_error *error)
{
	char shown[256];
	if (code == REC_E_NOMEM)
		return code;
	return rec_fail_context(error, code, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(f->log_path)));
}

/* ---- Lines ---- */

int rec_files_step_next(struct rec_slice *steps, struct rec_arena *arena, struct rec_files_step *ret,
			struct rec_error *error)
{
	struct rec_slice line, rest;
	if (!rec_files_line_next(steps, &line))
		return REC_END;
	*ret = (struct rec_files_step){0};
	if (!rec_files_line_is(line, "file", &rest))
		return rec_fail(error, REC_E_CORRUPT, "a step of a group is damaged");
	int r = rec_files_record_read(rest, &rec_files_step_record, arena, ret, error);
	if (r == 0 && !ret->name.data)
		r = rec_fail(error, REC_E_CORRUPT, "a step of a group names no file");
	return r;
}

static int row_line(struct rec_files *f, struct rec_slice line, struct rec_error *error)
{
	struct rec_slice rest, word = {line.data + 1, line.length - 1};
	for (size_t i = 0; i < rec_files_table_count; i++)
		if (rec_files_line_is(word, rec_files_tables[i].name, &rest))
			return rec_files_row_take(&f->memory, rec_files_tables[i].table, rest, line.data[0] == '-',
						  &f->arena, error);
	return rec_fail(error, REC_E_CORRUPT, "a row of an unknown kind");
}

static int counters_line(struct rec_files *f, struct rec_slice json, struct rec_error *error)
{
	struct rec_files_counters read = {0};
	struct rec_memory_counters *counters = &f->memory.data->counters[REC_MEMORY_WORKING];
	struct rec_arena arena;
	rec_arena_init(&arena, f->memory.store.allocator);
	int r = rec_files_record_read(json, &rec_files_counters_record, &arena, &read, error);
	rec_arena_release(&arena);
	if (r < 0)
		return r;
	counters->claim_id = read.claim_id;
	counters->event_seq = read.event_seq;
	counters->change_seq = read.change_seq;
	counters->changes_pruned = read.changes_pruned;
	return 0;
}

static int events_line(struct rec_files *f, struct rec_slice json, struct rec_error *error)
{
	struct rec_files_events events = {0};
	struct rec_arena arena;
	rec_arena_init(&arena, f->memory.store.allocator);
	int r = rec_files_record_read(json, &rec_files_events_record, &arena, &events, error);
	if (r == 0 && (events.name.length >= sizeof f->log.events_name || events.bytes < 0 ||
		       (events.name.length && memchr(events.name.data, '/', events.name.length))))
		r = rec_fail(error, REC_E_CORRUPT, "the place of the events is damaged");
	if (r == 0) {
		snprintf(f->log.events_name, sizeof f->log.events_name, "%.*s", (int)events.name.length,
			 events.name.data ? events.name.data : "");
		f->log.events_bytes = events.bytes;
	}
	rec_arena_release(&arena);
	return r;
}

static int step_line(struct rec_files *f, struct rec_slice line, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_files_step step;
	struct rec_slice one = {line.data, line.length + 1}; /* with its newline */
	if (rec_buffer_add(&f->steps, one.data, one.length) < 0)
		return rec_fail_nomem(error);
	if (!f->loaded)
		return 0; /* everything is looked at anyway */
	rec_arena_init(&arena, f->memory.store.allocator);
	int r = rec_files_step_next(&one, &arena, &step, error);
	if (r == 0)
		rec_files_pending_add(f, step.name.data, step.name.length);
	rec_arena_release(&arena);
	return r;
}

static int line_take(struct rec_files *f, struct rec_slice line, struct rec_error *error)
{
	struct rec_slice rest;
	if (line.length > 1 && (line.data[0] == '+' || line.data[0] == '-'))
		return row_line(f, line, error);
	if (rec_files_line_is(line, "file", &rest))
		return step_line(f, line, error);
	if (rec_files_line_is(line, "counters", &rest))
		return counters_line(f, rest, error);
	if (rec_files_line_is(line, "events", &rest))
		return events_line(f, rest, error);
	return rec_fail(error, REC_E_CORRUPT, "a line of an unknown kind");
}

static int group_take(struct rec_files *f, const struct rec_files_group *group, struct rec_error *error)
{
	struct rec_slice body = group->body, line;
	int r = 0;
	if (group->print_only) {
		f->log.print = group->print;
		f->log.has_print = true;
		f->log.open_ended = false;
		return 0;
	}
	rec_buffer_clear(&f->steps);
	while (r == 0 && rec_files_line_next(&body, &line))
		r = line_take(f, line, error);
	f->log.group_number = group->number;
	f->log.open_ended = true;
	return r;
}

/* ---- Reading ---- */

static int groups_take(struct rec_files *f, struct rec_slice bytes, struct rec_error *error)
{
	struct rec_files_group group;
	int r;
	while ((r = rec_files_group_next(bytes, &group, error)) == 0) {
		r = group_take(f, &group, error);
		if (r < 0)
			return fail_content(f, r == REC_E_INVALID ? REC_E_CORRUPT : r, error);
		bytes = (struct rec_slice){bytes.data + group.length, bytes.length - group.length};
		f->log.position += group.length;
	}
	return r == REC_END ? 0 : fail_content(f, r, error);
}

static int bytes_read(struct rec_files *f, size_t length, struct rec_buffer *out, struct rec_error *error)
{
	size_t done = 0;
	char *space = rec_buffer_space(out, length);
	if (!space)
		return rec_fail_nomem(error);
	while (done < length) {
		ssize_t got = f->io->read(f->io->context, f->log_fd, space + done, length - done,
					  (off_t)(f->log.position + done));
		if (got < 0)
			return fail_log(f, errno, error);
		if (got == 0)
			break;
		done += (size_t)got;
	}
	rec_buffer_added(out, done);
	return 0;
}

static int bytes_take(struct rec_files *f, struct rec_slice bytes, struct rec_error *error)
{
	size_t length = 0;
	int r = 0;
	if (f->log.position == 0) {
		r = rec_files_head_read(bytes, &f->log.generation, &length, error);
		if (r < 0)
			return fail_content(f, r, error);
		f->log.position = length;
	}
	return groups_take(f, (struct rec_slice){bytes.data + length, bytes.length - length}, error);
}

static int tail_read(struct rec_files *f, size_t length, struct rec_error *error)
{
	struct rec_buffer bytes;
	if (length == 0)
		return 0;
	rec_buffer_init(&bytes, f->memory.store.allocator, LOG_BYTES_MAX);
	int r = bytes_read(f, length, &bytes, error);
	if (r == 0)
		r = bytes_take(f, rec_buffer_slice(&bytes), error);
	rec_buffer_release(&bytes);
	return r;
}

/* Everything that the old log told is forgotten. */
static void tables_clear(struct rec_files *f)
{
	struct rec_memory_counters *counters = &f->memory.data->counters[REC_MEMORY_WORKING];
	for (size_t i = 0; i < rec_files_table_count; i++) {
		struct rec_memory_cursor cursor;
		struct rec_slice key;
		rec_memory_walk(&f->memory, rec_files_tables[i].table, (struct rec_slice){NULL, 0}, &cursor);
		while (rec_memory_cursor_next(&cursor, &key))
			rec_memory_erase(&f->memory, rec_files_tables[i].table, key);
	}
	*counters = (struct rec_memory_counters){0};
}

static int log_open(struct rec_files *f, struct rec_error *error)
{
	int fd = f->io->openat(f->io->context, f->rec, LOG,
			       (f->memory.store.info.mode == REC_STORE_READ ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY,
			       0);
	if (fd < 0)
		return fail_log(f, errno, error);
	rec_close_fd(&f->log_fd);
	f->log_fd = fd;
	return 0;
}

int rec_files_log_read(struct rec_files *f, struct rec_error *error)
{
	struct stat named, opened;
	if (f->rec < 0)
		return 0;
	if (f->io->stat(f->io->context, f->rec, LOG, &named) < 0)
		return fail_log(f, errno, error);
	int r = 0;
	if (f->log_fd < 0 || named.st_ino != f->log.inode)
		r = log_open(f, error);
	if (r < 0)
		return r;
	if (f->io->fstat(f->io->context, f->log_fd, &opened) < 0)
		return fail_log(f, errno, error);
	if (opened.st_ino != f->log.inode || (size_t)opened.st_size < f->log.position) {
		tables_clear(f);
		rec_buffer_clear(&f->steps);
		f->log = (struct rec_files_log){.inode = opened.st_ino};
		f->compacted_bytes = (size_t)opened.st_size;
	}
	return tail_read(f, (size_t)opened.st_size - f->log.position, error);
}

int rec_files_log_moved(struct rec_files *f, bool *ret_moved, struct rec_error *error)
{
	struct stat named;
	*ret_moved = false;
	if (f->rec < 0)
		return 0;
	if (f->io->stat(f->io->context, f->rec, LOG, &named) < 0)
		return fail_log(f, errno, error);
	*ret_moved = named.st_ino != f->log.inode || (size_t)named.st_size != f->log.position;
	return 0;
}

/* ---- Writing ---- */

void rec_files_tail_write(struct rec_buffer *out, const struct rec_memory_counters *now,
			  const struct rec_files_events *events)
{
	const struct rec_files_counters counters = {now->claim_id, now->event_seq, now->change_seq,
						    now->changes_pruned};
	rec_files_record_line(out, "counters", &rec_files_counters_record, &counters);
	rec_files_record_line(out, "events", &rec_files_events_record, events);
}

int rec_files_log_append(struct rec_files *f, struct rec_slice group, bool *ret_perhaps, struct rec_error *error)
{
	*ret_perhaps = false;
	if (!f->log.name_durable && f->io->sync(f->io->context, f->rec) < 0)
		return fail_log(f, errno, error); /* a power cut could bring the log before it back */
	f->log.name_durable = true;
	if (f->io->write_durably(f->io->context, f->log_fd, group.data, group.length, (off_t)f->log.position) == 0) {
		f->log.position += group.length;
		f->log.group_number++;
		f->log.open_ended = true;
		return 0;
	}
	int errnum = errno;
	if (f->io->truncate(f->io->context, f->log_fd, (off_t)f->log.position) < 0) {
		*ret_perhaps = true;
		f->rescan = true;
		f->cleaned = false; /* a torn group is none, and its files are of no use */
	}
	return fail_log(f, errnum, error);
}

void rec_files_log_print(struct rec_files *f)
{
	struct rec_buffer line;
	rec_buffer_init(&line, f->memory.store.allocator, 64);
	if (rec_files_print_write(&line, f->print) == 0 &&
	    f->io->write(f->io->context, f->log_fd, line.data, line.length, (off_t)f->log.position) == 0) {
		f->log.position += line.length;
		f->log.print = f->print;
		f->log.has_print = true;
		f->log.open_ended = false;
	}
	rec_buffer_release(&line);
}

/* ---- Writing it anew ---- */

static void table_write(struct rec_files *f, const struct rec_files_table *table, struct rec_buffer *out)
{
	struct rec_memory_cursor cursor;
	struct rec_slice key;
	const void *row;
	rec_memory_walk(&f->memory, table->table, (struct rec_slice){NULL, 0}, &cursor);
	while (!out->failed && (row = rec_memory_cursor_next(&cursor, &key)))
		rec_files_row_write(out, table, key, row, false);
}

static int log_write(struct rec_files *f, struct rec_buffer *out, struct rec_error *error)
{
	const struct rec_files_events events = {rec_slice_of(f->log.events_name), f->log.events_bytes};
	rec_files_head_write(out, f->log.generation);
	size_t from = out->length;
	for (size_t i = 0; i < rec_files_table_count; i++)
		table_write(f, &rec_files_tables[i], out);
	rec_files_tail_write(out, &f->memory.data->counters[REC_MEMORY_COMMITTED], &events);
	rec_files_group_end(out, from, f->log.group_number);
	rec_files_print_write(out, f->print);
	return out->failed ? rec_fail_nomem(error) : 0;
}

/* Write, sync, rename. Both logs tell the same until something is appended, and before that the folder is synced. */
static int log_place(struct rec_files *f, struct rec_slice content, struct rec_error *error)
{
	rec_cleanup(rec_close_fd) int fd = f->io->openat(f->io->context, f->rec, LOG_NEW,
							 O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail_log(f, errno, error);
	if (f->io->write(f->io->context, fd, content.data, content.length, 0) < 0 ||
	    f->io->sync(f->io->context, fd) < 0 || f->io->rename(f->io->context, f->rec, LOG_NEW, f->rec, LOG) < 0) {
		int errnum = errno;
		(void)f->io->unlink(f->io->context, f->rec, LOG_NEW);
		return fail_log(f, errnum, error);
	}
	return 0;
}

int rec_files_log_renew(struct rec_files *f, struct rec_error *error)
{
	struct rec_buffer content;
	rec_buffer_init(&content, f->memory.store.allocator, LOG_BYTES_MAX);
	int r = log_write(f, &content, error);
	if (r == 0)
		r = log_place(f, rec_buffer_slice(&content), error);
	rec_buffer_release(&content);
	return r;
}

int rec_files_log_make(struct rec_files *f, struct rec_error *error)
{
	f->log = (struct rec_files_log){.generation = rec_random_u64() | 1};
	int r = rec_files_log_renew(f, error);
	f->log = (struct rec_files_log){0};
	return r;
}
