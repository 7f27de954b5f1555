/* sqlite-error.c - from SQLite's result codes to ours, with the reason and the way out in words.
 *
 * A malformed database stops all work: the code is remembered, every later call gets it again, and nothing is
 * checkpointed at the end, so that the file and its side files stay as they were found.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/sqlite.h"

static const char *path_shown(const struct rec_sqlite *s)
{
	return s->path ? s->path : "store";
}

static int fail_corrupt(struct rec_sqlite *s, struct rec_error *error)
{
	s->corrupt = REC_E_CORRUPT;
	if (s->db)
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return rec_fail(error, REC_E_CORRUPT,
			"%s: the database is malformed (stop every program that uses it, keep the file and its -wal, "
			"then restore a copy or try `sqlite3 %s .recover`)",
			path_shown(s), path_shown(s));
}

static int fail_busy(const struct rec_sqlite *s, struct rec_error *error)
{
	return rec_fail(error, REC_E_BUSY,
			"%s: another program kept it locked for more than %lld ms (try again, or end "
			"that program)",
			path_shown(s), (long long)s->base.busy_timeout_ms);
}

static int fail_full(const struct rec_sqlite *s, struct rec_error *error)
{
	return rec_fail(error, REC_E_FULL, "%s: no space left (free some and try again)", path_shown(s));
}

static int fail_io(struct rec_sqlite *s, int rc, struct rec_error *error)
{
	int errnum = s->db ? sqlite3_system_errno(s->db) : 0;
	if (rc == SQLITE_IOERR_NOMEM)
		return rec_fail_nomem(error);
	if (rc == SQLITE_IOERR_CORRUPTFS)
		return fail_corrupt(s, error);
	if (errnum == ENOSPC || errnum == EDQUOT)
		return fail_full(s, error);
	if (errnum == EROFS)
		return rec_fail(error, REC_E_READ_ONLY,
				"%s: lies on a read-only file system (make it writable, or move the store)",
				path_shown(s));
	return rec_fail(error, REC_E_IO, "%s: %s%s%s", path_shown(s), sqlite3_errstr(rc), errnum ? ": " : "",
			errnum ? strerrordesc_np(errnum) : "");
}

/* The file, one beside it, or the directory did not let itself be opened or written. */
static int fail_access(struct rec_sqlite *s, int rc, struct rec_error *error)
{
	struct statvfs place;
	int errnum = s->db ? sqlite3_system_errno(s->db) : 0;
	if (rc == SQLITE_READONLY_DBMOVED)
		return rec_fail(error, REC_E_IO, "%s: was moved away or replaced while it was open (start again)",
				path_shown(s));
	if (errnum == ENOSPC || errnum == EDQUOT)
		return fail_full(s, error);
	if (errnum == EROFS || (s->directory && statvfs(s->directory, &place) == 0 && (place.f_flag & ST_RDONLY)))
		return rec_fail(error, REC_E_READ_ONLY,
				"%s: lies on a read-only file system (make it writable, or move the store)",
				path_shown(s));
	if (s->path && faccessat(AT_FDCWD, s->path, R_OK, AT_EACCESS) < 0 && errno == EACCES)
		return rec_fail(error, REC_E_PERMISSION,
				"%s: may not be read (give the right to the file and to its "
				"directories)",
				path_shown(s));
	if ((rc & 0xff) == SQLITE_READONLY || errnum == EACCES || errnum == EPERM)
		return rec_fail(error, REC_E_PERMISSION,
				"%s: may not be written to, or no file beside it made (give the right to file and "
				"directory)",
				path_shown(s));
	return rec_fail(error, REC_E_IO, "%s: %s%s%s", path_shown(s), sqlite3_errstr(rc), errnum ? ": " : "",
			errnum ? strerrordesc_np(errnum) : "");
}

/* SQLITE_ERROR is what the compiler of SQL says when the schema is not what a statement expects. */
static int fail_sql(struct rec_sqlite *s, const char *doing, struct rec_error *error)
{
	const char *why = s->db ? sqlite3_errmsg(s->db) : "error";
	bool missing = strstr(why, "no such column") || strstr(why, "no such table") || strstr(why, "has no column") ||
		       strstr(why, "no such index");
	return rec_fail(error, missing ? REC_E_SCHEMA : REC_E_BUG, "%s: %s%s%s%s", path_shown(s), doing ? doing : "",
			doing ? ": " : "", why,
			missing ? " (the database is not laid out as codeframe does; let codeframe upgrade it)"
				: " (please report)");
}

int rec_sqlite_fail(struct rec_sqlite *s, int rc, const char *doing, struct rec_error *error)
{
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return rec_fail_nomem(error);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return fail_busy(s, error);
	case SQLITE_FULL:
		return fail_full(s, error);
	case SQLITE_IOERR:
		return fail_io(s, rc, error);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return fail_access(s, rc, error);
	case SQLITE_CORRUPT:
		return fail_corrupt(s, error);
	case SQLITE_NOTADB:
		if (s->schema.known)
			return fail_corrupt(s, error);
		return rec_fail(error, REC_E_NOT_A_STORE,
				"%s: is not an SQLite database (name a task store, or make one with `reconciler init`)",
				path_shown(s));
	case SQLITE_CONSTRAINT:
		return rec_fail(error, REC_E_INVALID, "%s: the database refuses the row: %s", path_shown(s),
				s->db ? sqlite3_errmsg(s->db) : "constraint failed");
	case SQLITE_TOOBIG:
		return rec_fail(error, REC_E_LIMIT, "%s: a value is too large for the database", path_shown(s));
	case SQLITE_INTERRUPT:
		return rec_fail(error, REC_E_INTERRUPTED, "%s: interrupted", path_shown(s));
	case SQLITE_ERROR:
	case SQLITE_SCHEMA:
		return fail_sql(s, doing, error);
	default:
		return rec_fail(error, REC_E_BUG, "%s: %s: unexpected result %d of SQLite (please report)",
				path_shown(s), doing ? doing : "query", rc);
	}
}

int rec_sqlite_fail_missing(struct rec_sqlite *s, const char *table, const char *column, struct rec_error *error)
{
	if (!column)
		return rec_fail(
			error, REC_E_SCHEMA,
			"%s: the table %s is missing (let codeframe upgrade the database, or run `reconciler init`)",
			path_shown(s), table);
	return rec_fail(error, REC_E_SCHEMA,
			"%s: the table %s has no column %s, which this needs (let codeframe upgrade the database)",
			path_shown(s), table, column);
}
