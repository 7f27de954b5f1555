/* sqlite-cold.c - reading, and above all reading a database that is not ours to write.
 *
 * A read must leave no trace: not a byte, no -wal, no -shm, and nothing checkpointed. Two ways lead there.
 *
 * COLD: nobody has the database open for writing, as far as its files tell: no -wal and no -journal, or empty ones
 * (an empty log holds no commit), and last modified at least 50 ms ago, or in the future: file times are coarse, and
 * only then does a write that comes during the read give the file another time. It is opened immutable, without
 * locks and without -shm, and after the read it is looked at again: another inode, size or time, or a log, and the
 * read is done again. An immutable database with a log in use would silently give stale rows.
 *
 * LIVE: there is a log. Then SQLite's own reader is right (mode=ro, its locks, its -shm), and the connection is
 * kept, with closing it set not to checkpoint. Without the right to make -shm it is refused with the way out.
 *
 * A body that calls back while it reads cannot be run again once it has called. If meanwhile the file itself is
 * untouched (only a log has appeared) what it was told is still one consistent state, that of the start; else
 * it ends with REC_E_BUSY.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "store/sqlite.h"

#define QUIET_US 50000

/* ---- What stat tells ---- */

struct look {
	struct rec_sqlite_identity identity;
	bool quiet; /* no log, no journal */
};

/* Bytes of a side file; 0 if there is none. One that cannot be looked at counts as being there. */
static off_t bytes_of(const char *path)
{
	struct stat file;
	if (stat(path, &file) != 0)
		return errno == ENOENT ? 0 : 1;
	return file.st_size;
}

static int look_at(const struct rec_sqlite *s, struct look *ret_look)
{
	struct stat file;
	*ret_look = (struct look){0};
	if (stat(s->path, &file) != 0)
		return errno;
	ret_look->identity =
		(struct rec_sqlite_identity){file.st_dev, file.st_ino, file.st_size, file.st_mtim, file.st_ctim};
	ret_look->quiet = bytes_of(s->log_path) == 0 && bytes_of(s->journal_path) == 0;
	return 0;
}

static bool same_file(const struct rec_sqlite_identity *a, const struct rec_sqlite_identity *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_content(const struct rec_sqlite_identity *a, const struct rec_sqlite_identity *b)
{
	return same_file(a, b) && a->bytes == b->bytes && same_time(a->modified, b->modified) &&
	       same_time(a->changed, b->changed);
}

bool rec_sqlite_unchanged(struct rec_sqlite *s)
{
	struct look look;
	if (look_at(s, &look) != 0)
		return false;
	if (s->access == REC_SQLITE_COLD)
		return look.quiet && same_content(&look.identity, &s->identity);
	return same_file(&look.identity, &s->identity);
}

/* ---- Waiting ---- */

static int64_t monotonic_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context);
}

bool rec_sqlite_wait(const struct rec_sqlite *s, int64_t *deadline, int64_t us)
{
	struct timespec left = {us / 1000000, us % 1000000 * 1000};
	int64_t now = monotonic_us();
	if (*deadline == 0)
		*deadline = now + s->base.busy_timeout_ms * 1000;
	if (now + us > *deadline)
		return false;
	while (us > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	return true;
}

/* How long until the last modification is so old that the next one shows. */
static int64_t unquiet_us(const struct rec_sqlite_identity *identity)
{
	int64_t modified = (int64_t)identity->modified.tv_sec * 1000000 + identity->modified.tv_nsec / 1000;
	int64_t age = rec_clock_real.wall_us(rec_clock_real.context) - modified;
	return age < QUIET_US && age > -QUIET_US ? QUIET_US - age : 0;
}

static int fail_restless(const struct rec_sqlite *s, struct rec_error *error)
{
	return rec_fail(error, REC_E_BUSY, "%s: was changed again and again while it was read (try again)", s->path);
}

/* ---- Opening ---- */

/* "file://" and the path, with what has a meaning in a URI escaped. */
static int uri_of(const struct rec_sqlite *s, const char *query, struct rec_buffer *out)
{
	static const char digits[] = "0123456789abcdef";
	rec_buffer_add_text(out, "file://");
	for (const unsigned char *c = (const unsigned char *)s->path; *c; c++) {
		char escaped[3] = {'%', digits[*c >> 4], digits[*c & 15]};
		bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
			     *c == '/' || *c == '.' || *c == '-' || *c == '_';
		rec_buffer_add(out, plain ? (const void *)c : escaped, plain ? 1 : 3);
	}
	return rec_buffer_add_text(out, query);
}

static int open_reader(struct rec_sqlite *s, enum rec_sqlite_access access, struct rec_error *error)
{
	struct rec_buffer uri;
	rec_buffer_init(&uri, s->base.allocator, 4096);
	int r = uri_of(s, access == REC_SQLITE_COLD ? "?immutable=1" : "?mode=ro", &uri);
	r = r ? rec_fail_nomem(error) : rec_sqlite_connect(s, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error);
	rec_buffer_release(&uri);
	if (r == 0)
		s->access = access;
	return r;
}

static int judge_place(const struct rec_sqlite *s, struct rec_error *error)
{
	bool network;
	const char *name;
	int r = s->probe_network(s->path, &network, &name, error);
	if (r == 0 && network)
		r = rec_fail(error, REC_E_NETWORK_FS,
			     "%s: lies on %s and has a write-ahead log, which cannot be shared there (read it on the "
			     "machine "
			     "that writes it)",
			     s->path, name);
	return r;
}

static int fail_gone(struct rec_sqlite *s, int errnum, struct rec_error *error)
{
	if (errnum == ENOENT)
		return rec_fail(error, REC_E_NO_STORE, "%s: the file is gone", s->path);
	return rec_fail_errno(error, errnum, "%s", s->path);
}

/* Something by which the database can be read now is open. */
static int ensure_open(struct rec_sqlite *s, int64_t *deadline, struct rec_error *error)
{
	struct look look;
	for (;;) {
		int errnum = look_at(s, &look);
		if (errnum) {
			rec_sqlite_disconnect(s);
			return fail_gone(s, errnum, error);
		}
		if (s->access == REC_SQLITE_COLD && look.quiet && same_content(&look.identity, &s->identity))
			return 0;
		if (s->access == REC_SQLITE_LIVE && same_file(&look.identity, &s->identity))
			return 0;
		rec_sqlite_disconnect(s);
		int64_t wait = look.quiet ? unquiet_us(&look.identity) : 0;
		if (wait == 0)
			break;
		if (!rec_sqlite_wait(s, deadline, wait))
			return fail_restless(s, error);
	}
	s->identity = look.identity;
	if (look.quiet)
		return open_reader(s, REC_SQLITE_COLD, error);
	int r = judge_place(s, error);
	return r == 0 ? open_reader(s, REC_SQLITE_LIVE, error) : r;
}

/* ---- One read ---- */

/* In WAL mode a reader needs -shm, and SQLite says only that something could not be opened. */
static int explain_live(struct rec_sqlite *s, int r, struct rec_error *error)
{
	if (s->access != REC_SQLITE_LIVE || (r != REC_E_PERMISSION && r != REC_E_READ_ONLY && r != REC_E_IO) ||
	    faccessat(AT_FDCWD, s->directory, W_OK, AT_EACCESS) == 0)
		return r;
	r = errno == EROFS ? REC_E_READ_ONLY : REC_E_PERMISSION;
	return rec_fail(
		error, r,
		"%s: there is a write-ahead log beside it, which cannot be read without the right to make %s-shm "
		"(run this as a user who may write in that directory, or copy the database together with its -wal)",
		s->path, s->path);
}

static int transaction_begin(struct rec_sqlite *s, struct rec_error *error)
{
	int r = rec_sqlite_settle(s, error);
	if (r == 0)
		r = rec_sqlite_do(s, REC_SQLITE_BEGIN, error);
	return r == 0 ? rec_sqlite_schema_look(s, error) : r;
}

static void transaction_end(struct rec_sqlite *s)
{
	if (s->db && !sqlite3_get_autocommit(s->db))
		rec_sqlite_do(s, REC_SQLITE_COMMIT, NULL);
	rec_sqlite_settle(s, NULL);
}

static int read_once(struct rec_sqlite *s, rec_sqlite_body *body, void *context, struct rec_error *error)
{
	int r = transaction_begin(s, error);
	if (r)
		r = explain_live(s, r, error);
	else
		r = body(s, context, error);
	transaction_end(s);
	return r;
}

static int fail_corrupt_again(const struct rec_sqlite *s, struct rec_error *error)
{
	return rec_fail(error, s->corrupt, "%s: the database was found malformed: all work on it has stopped", s->path);
}

int rec_sqlite_read(struct rec_sqlite *s, rec_sqlite_body *body, void *context, const bool *told,
		    struct rec_error *error)
{
	if (s->corrupt)
		return fail_corrupt_again(s, error);
	if (s->in_group)
		return body(s, context, error);
	if (s->base.info.mode != REC_STORE_READ)
		return read_once(s, body, context, error);
	int64_t deadline = 0;
	for (;;) {
		struct look look;
		int r = ensure_open(s, &deadline, error);
		if (r)
			return r;
		r = read_once(s, body, context, error);
		if (s->access != REC_SQLITE_COLD || rec_sqlite_unchanged(s))
			return r;
		if (told && *told)
			return look_at(s, &look) == 0 && same_content(&look.identity, &s->identity)
				       ? r
				       : fail_restless(s, error);
		rec_sqlite_disconnect(s);
		s->corrupt = 0;
		if (!rec_sqlite_wait(s, &deadline, 0))
			return fail_restless(s, error);
	}
}
