/* sqlite-open.c - constructors, connections, closing.
 *
 * What a path is, is asked of stat, never by opening it: a file opened and closed beside SQLite drops SQLite's
 * locks in this process. A store to be written is opened by SQLite at once, but nothing of it may be changed
 * before it is known to be one of ours: until then a -wal that others left is not checkpointed, not even
 * when the connection is closed again.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "store/sqlite.h"

#define PATH_BYTES_MAX 500 /* SQLite's own limit is 512 with what it appends */

/* ---- Paths ---- */

static int fail_path(const char *path, int errnum, struct rec_error *error)
{
	char shown[256];
	rec_text_shown(shown, sizeof shown, rec_slice_of(path));
	if (errnum == ENOENT || errnum == ENOTDIR)
		return rec_fail(error, REC_E_NO_STORE, "%s: there is no such file (`reconciler init` makes a store)",
				shown);
	return rec_fail_errno(error, errnum, "%s", shown);
}

/* The directory of a file that does not exist yet, made if it is missing. */
static int directory_ensure(const char *path, char directory[PATH_MAX], struct rec_error *error)
{
	char shown[256];
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	if (length >= PATH_MAX - 1)
		return rec_fail(error, REC_E_INVALID, "%s: the path is too long",
				rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
	if (slash && length == 0)
		length = 1;
	memcpy(directory, path, length);
	directory[length] = '\0';
	return slash ? rec_directory_make(directory, error) : 0;
}

/* Where a new state file will be: its directory without links, then its name. */
static int path_of_new(const char *path, char resolved[PATH_MAX], struct rec_error *error)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int r = directory_ensure(path, directory, error);
	if (r)
		return r;
	if (!*name)
		return rec_fail(error, REC_E_INVALID, "%s: names no file", path);
	if (!realpath(*directory ? directory : ".", resolved))
		return fail_path(path, errno, error);
	size_t length = strlen(resolved), more = strlen(name);
	if (length + more + 2 > PATH_MAX)
		return rec_fail(error, REC_E_INVALID, "%s: the path is too long", name);
	if (resolved[length - 1] != '/')
		resolved[length++] = '/';
	memcpy(resolved + length, name, more + 1);
	return 0;
}

/* A regular file, not empty, or (init) nothing yet. */
static int judge_file(const char *path, enum rec_store_mode mode, struct rec_error *error)
{
	struct stat file;
	char shown[256];
	if (stat(path, &file) != 0)
		return errno == ENOENT && mode == REC_STORE_INIT ? 0 : fail_path(path, errno, error);
	rec_text_shown(shown, sizeof shown, rec_slice_of(path));
	if (S_ISDIR(file.st_mode))
		return rec_fail(error, REC_E_NOT_A_STORE, "%s: is a directory (name the state file in it)", shown);
	if (!S_ISREG(file.st_mode))
		return rec_fail(error, REC_E_NOT_A_STORE, "%s: is not a regular file", shown);
	if (file.st_size == 0 && mode != REC_STORE_INIT)
		return rec_fail(error, REC_E_NOT_A_STORE, "%s: is empty (`reconciler init` makes a store there)",
				shown);
	if (file.st_size == 1) /* SQLite would take it for an empty one, and overwrite it */
		return rec_fail(error, REC_E_NOT_A_STORE,
				"%s: is not an SQLite database (name a task store, or make one with `reconciler init`)",
				shown);
	return 0;
}

static int resolve(const char *path, enum rec_store_mode mode, char resolved[PATH_MAX], struct rec_error *error)
{
	int r = 0;
	if (!realpath(path, resolved))
		r = errno == ENOENT && mode == REC_STORE_INIT ? path_of_new(path, resolved, error)
							      : fail_path(path, errno, error);
	if (r == 0)
		r = judge_file(resolved, mode, error);
	if (r == 0 && strlen(resolved) > PATH_BYTES_MAX)
		r = rec_fail(error, REC_E_INVALID,
			     "%.100s...: the path is longer than %d bytes, which SQLite cannot open "
			     "(move the store, or name it by a shorter way)",
			     resolved, PATH_BYTES_MAX);
	return r;
}

static int judge_place(struct rec_sqlite *s, struct rec_error *error)
{
	bool network;
	const char *name;
	int r = s->probe_network(s->path, &network, &name, error);
	if (r == 0 && network)
		r = rec_fail(
			error, REC_E_NETWORK_FS,
			"%s: lies on %s, where SQLite's locks and write-ahead log do not work (keep the store on a "
			"local disk)",
			s->path, name);
	return r;
}

/* ---- Connections ---- */

static int busy_timeout(const struct rec_sqlite *s)
{
	return s->base.busy_timeout_ms > INT_MAX ? INT_MAX : (int)s->base.busy_timeout_ms;
}

/* Names the database's own files only by what we have checked; runs nothing that the schema of a stranger
 * smuggles in; does not let a text in it become a command for SQLite's own tables. */
static int configure(struct rec_sqlite *s)
{
	static const int on[] = {SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_ENABLE_FKEY,
				 SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE};
	int rc = sqlite3_extended_result_codes(s->db, 1);
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof on / sizeof *on; i++)
		rc = sqlite3_db_config(s->db, on[i], 1, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(s->db, busy_timeout(s));
	return rc;
}

int rec_sqlite_connect(struct rec_sqlite *s, const char *name, int flags, struct rec_error *error)
{
	int rc = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = configure(s);
	int r = rc == SQLITE_OK ? rec_sqlite_ids_register(s, error) : rec_sqlite_fail(s, rc, "open", error);
	if (r == 0)
		r = rec_sqlite_queries_begin(s, error);
	if (r)
		rec_sqlite_disconnect(s);
	return r;
}

void rec_sqlite_disconnect(struct rec_sqlite *s)
{
	rec_sqlite_queries_finalize(s, true);
	sqlite3_close_v2(s->db);
	s->db = NULL;
	s->access = REC_SQLITE_CLOSED;
	s->schema.known = false;
	s->feed.looked = false;
	s->in_group = false;
}

/* ---- A store to be written ---- */

static int nothing(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	(void)s, (void)context, (void)error;
	return 0;
}

/* A read that only looks at what there is. */
static int look(struct rec_sqlite *s, struct rec_error *error)
{
	return rec_sqlite_read(s, nothing, NULL, NULL, error);
}

/* SQLite opens for reading what it may not write, and says so only when asked. */
static int judge_right(struct rec_sqlite *s, struct rec_error *error)
{
	if (sqlite3_db_readonly(s->db, "main") == 0)
		return 0;
	return rec_sqlite_fail(s, SQLITE_READONLY, NULL, error);
}

static int try_wal(struct rec_sqlite *s, struct rec_error *error)
{
	sqlite3_stmt *mode = NULL;
	int r = rec_sqlite_settle(s, error);
	if (r == 0)
		r = rec_sqlite_prepare(s, "PRAGMA journal_mode=WAL", &mode, error);
	if (r == 0)
		r = rec_sqlite_next(s, mode, error);
	if (r == 0 && sqlite3_stricmp((const char *)sqlite3_column_text(mode, 0), "wal") != 0)
		r = rec_fail(error, REC_E_IO,
			     "%s: the write-ahead log cannot be used here (keep the store on a local disk)", s->path);
	sqlite3_finalize(mode);
	return r;
}

/* Of two that switch to the log at once SQLite tells one so at once, however long it may wait. */
static int use_wal(struct rec_sqlite *s, struct rec_error *error)
{
	int64_t deadline = 0;
	int r;
	do
		r = try_wal(s, error);
	while (r == REC_E_BUSY && rec_sqlite_wait(s, &deadline, 2000));
	return r == 0 ? rec_sqlite_execute(s, "PRAGMA synchronous=FULL", error) : r;
}

static int judge_attached(struct rec_sqlite *s, struct rec_error *error)
{
	if (s->base.info.attached)
		return 0;
	if (rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_meta))
		return rec_fail(error, REC_E_SCHEMA,
				"%s: a table of reconciler's is missing (`reconciler init` makes it again)", s->path);
	return rec_fail(error, REC_E_UNINITIALISED, "%s: has no reconciler tables (`reconciler init` makes them)",
			s->path);
}

/* Everything that init would make is there: then it need not write. */
static bool complete(const struct rec_sqlite *s)
{
	unsigned indexes = 0;
	for (size_t i = 0; i < rec_sqlite_index_count; i++)
		if (!(rec_sqlite_indexes[i].task_columns & ~s->schema.task_columns) &&
		    !(rec_sqlite_indexes[i].blocker_columns & ~s->schema.blocker_columns))
			indexes |= 1u << i;
	for (int i = REC_SQLITE_TABLE_LATER_FIRST; i < REC_SQLITE_TABLE_COUNT; i++)
		if (!rec_sqlite_has_table(s, i))
			return false;
	return s->base.info.attached && s->schema.feed && (s->schema.indexes & indexes) == indexes;
}

/* An empty database is fine for init; everything else is judged before it is touched. */
static int look_before_init(struct rec_sqlite *s, struct rec_error *error)
{
	sqlite3_stmt *any = NULL;
	int64_t tables = 0;
	int r = rec_sqlite_prepare(s, "SELECT count(*) FROM sqlite_schema", &any, error);
	if (r == 0)
		r = rec_sqlite_run_int64(s, any, &tables, error);
	sqlite3_finalize(any);
	return r == 0 && tables > 0 ? look(s, error) : r;
}

static int initialise(struct rec_sqlite *s, struct rec_error *error)
{
	int r = look_before_init(s, error);
	if (r == 0)
		r = use_wal(s, error);
	if (r == 0 && !complete(s))
		r = rec_sqlite_schema_make(s, error);
	return r == 0 ? look(s, error) : r;
}

static int open_writer(struct rec_sqlite *s, struct rec_error *error)
{
	bool init = s->base.info.mode == REC_STORE_INIT;
	struct stat log;
	bool log_left = stat(s->log_path, &log) == 0;
	int r = rec_sqlite_connect(s, s->path, SQLITE_OPEN_READWRITE | (init ? SQLITE_OPEN_CREATE : 0), error);
	if (r == 0)
		r = judge_right(s, error);
	if (r == 0)
		r = init ? initialise(s, error) : look(s, error);
	if (r == 0)
		r = judge_attached(s, error);
	if (r == 0 && !init)
		r = use_wal(s, error);
	if (s->db && (r == 0 || !log_left))
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	s->access = REC_SQLITE_WRITER;
	return r;
}

/* ---- The store ---- */

static void close_store(struct rec_store *store)
{
	struct rec_sqlite *s = rec_sqlite_of(store);
	const struct rec_allocator *a = s->base.allocator;
	rec_sqlite_wake_close(s);
	rec_sqlite_disconnect(s);
	rec_free(a, s->path);
	rec_free(a, s->log_path);
	rec_free(a, s->journal_path);
	rec_free(a, s->directory);
	rec_free(a, s);
}

const struct rec_store_ops rec_sqlite_ops = {
	.backend = "sqlite",
	.close = close_store,
	.snapshot = rec_sqlite_snapshot,
	.get = rec_sqlite_get,
	.list = rec_sqlite_list,
	.find_prefix = rec_sqlite_find_prefix,
	.blockers = rec_sqlite_blockers,
	.blocker_get = rec_sqlite_blocker_get,
	.begin = rec_sqlite_begin,
	.commit = rec_sqlite_commit,
	.rollback = rec_sqlite_rollback,
	.sync_apart = rec_sqlite_sync_apart,
	.sync = rec_sqlite_sync,
	.create = rec_sqlite_create,
	.edit = rec_sqlite_edit,
	.remove = rec_sqlite_remove,
	.write_status = rec_sqlite_write_status,
	.parent = rec_sqlite_parent,
	.children = rec_sqlite_children,
	.mark_composite = rec_sqlite_mark_composite,
	.keeps_loose_blockers = true,
	.blocker_create = rec_sqlite_blocker_create,
	.blocker_answer = rec_sqlite_blocker_answer,
	.blocker_resolve = rec_sqlite_blocker_resolve,
	.event_add = rec_sqlite_event_add,
	.events = rec_sqlite_events,
	.claim_add = rec_sqlite_claim_add,
	.claim_end = rec_sqlite_claim_end,
	.claim_take = rec_sqlite_claim_take,
	.claims = rec_sqlite_claims,
	.running_runs = rec_sqlite_running_runs,
	.batch_add = rec_sqlite_batch_add,
	.batch_get = rec_sqlite_batch_get,
	.batch_write = rec_sqlite_batch_write,
	.batches = rec_sqlite_batches,
	.batch_task_put = rec_sqlite_batch_task_put,
	.batch_tasks = rec_sqlite_batch_tasks,
	.batch_belief = rec_sqlite_batch_belief,
	.links_ready = rec_sqlite_links_ready,
	.link_put = rec_sqlite_link_put,
	.link_remove = rec_sqlite_link_remove,
	.links = rec_sqlite_links,
	.link_observed = rec_sqlite_link_observed,
	.tracker_cursor_put = rec_sqlite_tracker_cursor_put,
	.tracker_cursors = rec_sqlite_tracker_cursors,
	.changes = rec_sqlite_changes,
	.changes_in_group = rec_sqlite_changes_in_group,
	.stamp = rec_sqlite_stamp,
	.wake_fd = rec_sqlite_wake_fd,
	.wake_drain = rec_sqlite_wake_drain,
	.gc = rec_sqlite_gc,
	.problems = rec_sqlite_problems,
};

static char *path_with(const struct rec_allocator *a, const char *path, const char *suffix)
{
	size_t length = strlen(path), more = strlen(suffix);
	char *joined = rec_alloc(a, length + more + 1);
	if (joined) {
		memcpy(joined, path, length);
		memcpy(joined + length, suffix, more + 1);
	}
	return joined;
}

static struct rec_sqlite *store_new(const char *resolved, const struct rec_store_options *options,
				    rec_sqlite_probe_fn *probe)
{
	const struct rec_allocator *a = options ? options->allocator : NULL;
	struct rec_sqlite *s = rec_zalloc(a, 1, sizeof *s);
	if (!s)
		return NULL;
	rec_store_setup(&s->base, &rec_sqlite_ops, options);
	size_t directory_length = (size_t)(strrchr(resolved, '/') - resolved);
	s->probe_network = probe;
	s->wake = (struct rec_sqlite_wake){-1, -1, -1, -1, -1};
	s->feed.ticks = rec_random_u64();
	s->path = path_with(a, resolved, "");
	s->log_path = path_with(a, resolved, "-wal");
	s->journal_path = path_with(a, resolved, "-journal");
	s->directory = rec_strndup(a, resolved, directory_length ? directory_length : 1);
	if (!s->path || !s->log_path || !s->journal_path || !s->directory) {
		close_store(&s->base);
		return NULL;
	}
	s->base.info.location = s->path;
	s->base.info.directory = s->directory;
	return s;
}

int rec_sqlite_open_with(const char *path, const struct rec_store_options *options, rec_sqlite_probe_fn *probe,
			 struct rec_store **ret_store, struct rec_error *error)
{
	char resolved[PATH_MAX];
	enum rec_store_mode mode = options ? options->mode : REC_STORE_READ;
	int r = resolve(path, mode, resolved, error);
	if (r)
		return r;
	struct rec_sqlite *s = store_new(resolved, options, probe);
	if (!s)
		return rec_fail_nomem(error);
	if (mode == REC_STORE_READ)
		r = look(s, error);
	else
		r = judge_place(s, error);
	if (r == 0 && mode != REC_STORE_READ)
		r = open_writer(s, error);
	if (r) {
		close_store(&s->base);
		return r;
	}
	s->base.info.codeframe = !s->base.info.attached;
	*ret_store = &s->base;
	return 0;
}

int rec_store_sqlite_open(const char *path, const struct rec_store_options *options, struct rec_store **ret_store,
			  struct rec_error *error)
{
	return rec_sqlite_open_with(path, options, rec_file_on_network, ret_store, error);
}
