/* sqlite.h - what the parts of the SQLite backend share. Private to src/store/sqlite-*.c.
 *
 * The parts: open (constructors, closing), error (from SQLite's codes to ours), query (prepared statements),
 * schema (which tables and columns there are, what init makes), cold (reading a database that is not ours to write),
 * snapshot with sort and ids, read, row, write, claims, events, changes, wake.
 */
#ifndef REC_STORE_SQLITE_H
#define REC_STORE_SQLITE_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "base/json.h"
#include "store/backend.h"

/* ---- Columns and tables that may be missing ------------------------------------------------------- */

/* In the order in which every query on tasks gives them. */
#define REC_SQLITE_TASK_COLUMNS(X)                                                                                     \
	X(id)                                                                                                          \
	X(status)                                                                                                      \
	X(title)                                                                                                       \
	X(priority)                                                                                                    \
	X(depends_on)                                                                                                  \
	X(parent_id)                                                                                                   \
	X(is_leaf)                                                                                                     \
	X(created_at)                                                                                                  \
	X(description)                                                                                                 \
	X(updated_at)                                                                                                  \
	X(external_url)                                                                                                \
	X(prd_id)                                                                                                      \
	X(uncertainty_level)                                                                                           \
	X(hierarchical_id)                                                                                             \
	X(lineage)                                                                                                     \
	X(requirement_ids)                                                                                             \
	X(estimated_hours)                                                                                             \
	X(complexity_score)                                                                                            \
	X(github_issue_number)                                                                                         \
	X(auto_close_github_issue)                                                                                     \
	X(workspace_id)

enum rec_sqlite_task_column {
#define REC_SQLITE_COLUMN(name) REC_SQLITE_TASK_##name,
	REC_SQLITE_TASK_COLUMNS(REC_SQLITE_COLUMN)
#undef REC_SQLITE_COLUMN
		REC_SQLITE_TASK_COLUMN_COUNT
};
#define REC_SQLITE_BIT(column) (UINT64_C(1) << (column))
/* What a brief listing reads: id to created_at. */
#define REC_SQLITE_TASK_BRIEF (REC_SQLITE_BIT(REC_SQLITE_TASK_created_at + 1) - 1)

#define REC_SQLITE_BLOCKER_COLUMNS(X)                                                                                  \
	X(id)                                                                                                          \
	X(task_id)                                                                                                     \
	X(status)                                                                                                      \
	X(question)                                                                                                    \
	X(answer)                                                                                                      \
	X(created_at)                                                                                                  \
	X(answered_at)                                                                                                 \
	X(created_by)                                                                                                  \
	X(workspace_id)

enum rec_sqlite_blocker_column {
#define REC_SQLITE_COLUMN(name) REC_SQLITE_BLOCKER_##name,
	REC_SQLITE_BLOCKER_COLUMNS(REC_SQLITE_COLUMN)
#undef REC_SQLITE_COLUMN
		REC_SQLITE_BLOCKER_COLUMN_COUNT
};

#define REC_SQLITE_TABLES(X)                                                                                           \
	X(tasks)                                                                                                       \
	X(blockers)                                                                                                    \
	X(workspace)                                                                                                   \
	X(prds)                                                                                                        \
	X(runs)                                                                                                        \
	X(batch_runs)                                                                                                  \
	X(rec_meta)                                                                                                    \
	X(rec_changes)                                                                                                 \
	X(rec_marks)                                                                                                   \
	X(rec_events)                                                                                                  \
	X(rec_claims)                                                                                                  \
	X(rec_attempts)                                                                                                \
	X(rec_released)                                                                                                \
	X(rec_batches)                                                                                                 \
	X(rec_batch_tasks)                                                                                             \
	X(rec_links)                                                                                                   \
	X(rec_cursors)

enum rec_sqlite_table {
#define REC_SQLITE_TABLE_ENUM(name) REC_SQLITE_TABLE_##name,
	REC_SQLITE_TABLES(REC_SQLITE_TABLE_ENUM)
#undef REC_SQLITE_TABLE_ENUM
		REC_SQLITE_TABLE_COUNT
};
#define REC_SQLITE_TABLE_OURS_FIRST REC_SQLITE_TABLE_rec_meta
/* From here on: made by later versions; a store without them can be written, but not what needs them. */
#define REC_SQLITE_TABLE_LATER_FIRST REC_SQLITE_TABLE_rec_links

/* What the database holds, as of one PRAGMA schema_version. */
struct rec_sqlite_schema {
	bool known;
	int64_t version;                        /* PRAGMA schema_version */
	uint64_t tables;                        /* bits of enum rec_sqlite_table */
	uint64_t task_columns, blocker_columns; /* bits of the enums above */
	bool any, utf8;                         /* there is a table at all; texts are UTF-8 */
	bool tasks_by_rowid, blockers_by_rowid; /* ordinary tables, not WITHOUT ROWID */
	bool blockers_by_task;                  /* there is an index on blockers(task_id) */
	unsigned triggers, indexes;             /* ours that are there, word for word; bits by position */
	bool feed;                              /* all triggers are there that the columns allow */
	uint64_t feed_id;                       /* drawn when the feed was made */
	int64_t page_bytes;
};

/* ---- Prepared statements ---------------------------------------------------------------------------- */

/* One name each; the texts are in sqlite-query.c. */
enum rec_sqlite_query {
	REC_SQLITE_BEGIN,
	REC_SQLITE_BEGIN_IMMEDIATE,
	REC_SQLITE_COMMIT,
	REC_SQLITE_ROLLBACK,
	REC_SQLITE_SCHEMA_VERSION, /* the first that is not about transactions */
	REC_SQLITE_DATA_VERSION,
	REC_SQLITE_PAGE_COUNT,
	/* snapshot */
	REC_SQLITE_TASK_ROWIDS,
	REC_SQLITE_TASK_COUNT,
	REC_SQLITE_STATUS_BY_ROWID,
	REC_SQLITE_IDS_IN_ORDER,
	REC_SQLITE_IDS_FROM,
	REC_SQLITE_TASKS_UNORDERED,
	REC_SQLITE_TASKS_UNRECOGNISED,
	REC_SQLITE_TASKS_OF_IDS,
	REC_SQLITE_BLOCKER_ROWIDS,
	REC_SQLITE_BLOCKERS_UNORDERED,
	REC_SQLITE_BLOCKERS_OF_IDS,
	REC_SQLITE_RELEASED_UNORDERED,
	REC_SQLITE_RELEASED_OF_IDS,
	REC_SQLITE_ATTEMPTS_IN_ORDER,
	REC_SQLITE_CLAIMS_IN_ORDER,
	REC_SQLITE_ATTEMPTS_OF_IDS,
	/* reads */
	REC_SQLITE_TASK_GET,
	REC_SQLITE_TASK_LIST,
	REC_SQLITE_TASK_LIST_AFTER,
	REC_SQLITE_TASK_BRIEF_LIST,
	REC_SQLITE_TASK_BRIEF_LIST_AFTER,
	REC_SQLITE_TASK_FIND,
	REC_SQLITE_BLOCKER_GET,
	REC_SQLITE_BLOCKER_FIND,
	REC_SQLITE_BLOCKER_LIST,
	REC_SQLITE_BLOCKERS_OF_TASK,
	REC_SQLITE_BLOCKERS_BY_TASK,
	/* writes */
	REC_SQLITE_TASK_INSERT,
	REC_SQLITE_TASK_EXISTS,
	REC_SQLITE_TASK_STATUS,
	REC_SQLITE_TASK_SET_STATUS,
	REC_SQLITE_TASK_SET_UNRECOGNISED,
	REC_SQLITE_TASK_DELETE,
	REC_SQLITE_TASK_PARENT,
	REC_SQLITE_TASK_CHILDREN,
	REC_SQLITE_TASK_MARK_COMPOSITE,
	REC_SQLITE_TASK_OF_URL,
	REC_SQLITE_PRD_ENSURE,
	REC_SQLITE_BLOCKER_INSERT,
	REC_SQLITE_BLOCKER_STATUS,
	REC_SQLITE_BLOCKER_ANSWER,
	REC_SQLITE_BLOCKER_RESOLVE,
	REC_SQLITE_EVENT_INSERT,
	REC_SQLITE_EVENT_LIST,
	/* claims */
	REC_SQLITE_CLAIM_OF_TASK,
	REC_SQLITE_CLAIM_GET,
	REC_SQLITE_CLAIM_INSERT,
	REC_SQLITE_CLAIM_DELETE,
	REC_SQLITE_CLAIM_TAKE,
	REC_SQLITE_CLAIM_LIST,
	REC_SQLITE_ATTEMPT_LAST,
	REC_SQLITE_ATTEMPT_INSERT,
	REC_SQLITE_ATTEMPT_ENSURE,
	REC_SQLITE_RELEASED_INSERT,
	REC_SQLITE_RELEASED_FORGET,
	REC_SQLITE_RELEASED_FORGET_OLDER,
	REC_SQLITE_RUN_INSERT,
	REC_SQLITE_RUN_CLOSE,
	REC_SQLITE_RUN_CLOSE_LEFT,
	REC_SQLITE_RUN_DELETE,
	REC_SQLITE_RUN_LIST,
	/* batches */
	REC_SQLITE_BATCH_EXISTS,
	REC_SQLITE_BATCH_GET,
	REC_SQLITE_BATCH_LIST,
	REC_SQLITE_BATCH_INSERT,
	REC_SQLITE_BATCH_UPDATE,
	REC_SQLITE_BATCH_TASK_UPDATE,
	REC_SQLITE_BATCH_TASK_INSERT,
	REC_SQLITE_BATCH_TASK_LIST,
	REC_SQLITE_BATCH_RUN_GET,
	/* links */
	REC_SQLITE_LINK_GET,
	REC_SQLITE_LINK_PUT,
	REC_SQLITE_LINK_REMOVE,
	REC_SQLITE_LINK_REMOVE_ALL,
	REC_SQLITE_LINK_OBSERVED,
	REC_SQLITE_LINK_EXTERNAL,
	REC_SQLITE_LINK_LIST,
	REC_SQLITE_LINK_LIST_OF_TASK,
	REC_SQLITE_LINK_LIST_EXPLICIT,
	REC_SQLITE_LINK_LIST_EXPLICIT_OF_TASK,
	REC_SQLITE_LINK_LIST_IMPLICIT,
	REC_SQLITE_LINK_LIST_IMPLICIT_OF_TASK,
	REC_SQLITE_LINK_PRUNE,
	REC_SQLITE_LINK_PRUNE_EXPLICIT,
	REC_SQLITE_CURSOR_PUT,
	REC_SQLITE_CURSOR_FORGET,
	REC_SQLITE_CURSOR_LIST,
	/* change feed and care */
	REC_SQLITE_CHANGE_INSERT,
	REC_SQLITE_CHANGE_LAST,
	REC_SQLITE_CHANGE_LIST,
	REC_SQLITE_MARK_LAST,
	REC_SQLITE_MARK_INSERT,
	REC_SQLITE_MARK_BEFORE,
	REC_SQLITE_MARK_PRUNE,
	REC_SQLITE_CHANGE_COUNT,
	REC_SQLITE_CHANGE_PRUNE,
	REC_SQLITE_EVENT_TIMES,
	REC_SQLITE_EVENT_PRUNE,
	REC_SQLITE_ATTEMPT_ENDS,
	REC_SQLITE_ATTEMPT_PRUNE,
	REC_SQLITE_QUERY_COUNT
};

/* ---- The store ---------------------------------------------------------------------------------------- */

enum rec_sqlite_access {
	REC_SQLITE_CLOSED,
	REC_SQLITE_COLD,   /* read: a quiet database, opened immutable and looked at again afterwards */
	REC_SQLITE_LIVE,   /* read: somebody else has it open; mode=ro, with SQLite's locks */
	REC_SQLITE_WRITER, /* ours to write */
};

/* What of a file must not change while it is read without locks. */
struct rec_sqlite_identity {
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec modified, changed;
};

struct rec_sqlite_feed {
	bool looked;          /* the values below are from this connection */
	int64_t data_version; /* PRAGMA data_version at the last look */
	bool own_commit;      /* we have committed since; data_version does not tell */
	int64_t last_seq;     /* newest row of rec_changes at the last look */
	uint64_t generation;  /* what a cursor of now carries */
	int told_at;          /* sqlite3_total_changes when the feed was told inside the open group; -1: it was not */
	uint64_t ticks;       /* changes without a feed; starts at random, so that no two handles agree */
};

struct rec_sqlite_wake {
	int fd, directory, database, log, journal; /* inotify and its watches; -1: none */
};

/* The ids that the virtual table rec_ids shows (sqlite-ids.c); lent for one query. */
struct rec_sqlite_ids {
	const struct rec_slice *ids;
	const uint32_t *positions; /* which of them; NULL: all */
	size_t count;
};

typedef int rec_sqlite_probe_fn(const char *path, bool *ret_network, const char **ret_name, struct rec_error *error);

struct rec_sqlite {
	struct rec_store base;
	char *path, *log_path, *journal_path, *directory;
	rec_sqlite_probe_fn *probe_network;
	sqlite3 *db;
	enum rec_sqlite_access access;
	struct rec_sqlite_identity identity; /* of what is open */
	bool in_group;
	int corrupt;     /* 0, or the code with which all work has stopped */
	int bind_failed; /* first failure of a rec_sqlite_bind_... since the last statement ran */
	sqlite3_stmt *queries[REC_SQLITE_QUERY_COUNT];
	struct rec_sqlite_schema schema;
	struct rec_sqlite_feed feed;
	struct rec_sqlite_wake wake;
	struct rec_sqlite_ids ids;
	char workspace_id[REC_ID_BYTES_MAX + 1]; /* empty: not known yet */
	int64_t marked_us;                       /* time of the newest row of rec_marks that we know of */
	int changes_before;                      /* sqlite3_total_changes at the begin of the group */
};

static inline struct rec_sqlite *rec_sqlite_of(struct rec_store *s)
{
	return (struct rec_sqlite *)s;
}

extern const struct rec_store_ops rec_sqlite_ops;

/* ---- Opening and closing (sqlite-open.c) ---------------------------------------------------------------- */

/* rec_store_sqlite_open with another way to ask what a path lies on; for tests. */
int rec_sqlite_open_with(const char *path, const struct rec_store_options *options, rec_sqlite_probe_fn *probe,
			 struct rec_store **ret_store, struct rec_error *error);
/* Opens a connection: `uri` or plain path, by flags; sets what every connection of ours has set. */
int rec_sqlite_connect(struct rec_sqlite *s, const char *name, int flags, struct rec_error *error);
void rec_sqlite_disconnect(struct rec_sqlite *s);

/* ---- Errors (sqlite-error.c) ------------------------------------------------------------------------------ */

/* Our code for a result of SQLite on s->db, with message. Remembers corruption. `doing` may be NULL. */
int rec_sqlite_fail(struct rec_sqlite *s, int rc, const char *doing, struct rec_error *error);
/* REC_E_SCHEMA for a column or a whole table (column == NULL). */
int rec_sqlite_fail_missing(struct rec_sqlite *s, const char *table, const char *column, struct rec_error *error);

/* ---- Statements (sqlite-query.c) ---------------------------------------------------------------------------- */

/* The statement, reset and without bindings; prepared at first use. */
int rec_sqlite_query(struct rec_sqlite *s, enum rec_sqlite_query query, sqlite3_stmt **ret_statement,
		     struct rec_error *error);
/* Prepares those that begin and end transactions, so that ending one never waits for memory. */
int rec_sqlite_queries_begin(struct rec_sqlite *s, struct rec_error *error);
/* Those that name tables, or really all. */
void rec_sqlite_queries_finalize(struct rec_sqlite *s, bool all);
/* Next row: 0; REC_END (reset) after the last; negative (reset). */
int rec_sqlite_next(struct rec_sqlite *s, sqlite3_stmt *statement, struct rec_error *error);
/* Runs to the end, rows ignored; resets. */
int rec_sqlite_run(struct rec_sqlite *s, sqlite3_stmt *statement, struct rec_error *error);
/* The first column of the only row as an integer, NULL as 0; REC_NOT_FOUND if there is no row. Resets. */
int rec_sqlite_run_int64(struct rec_sqlite *s, sqlite3_stmt *statement, int64_t *ret_value, struct rec_error *error);
/* query + run, for statements without parameters. */
int rec_sqlite_do(struct rec_sqlite *s, enum rec_sqlite_query query, struct rec_error *error);
/* A transaction that a failure left open (its ROLLBACK failed too) is rolled back now; inside a group nothing. */
int rec_sqlite_settle(struct rec_sqlite *s, struct rec_error *error);
/* A statement that is not kept; the caller finalizes it. */
int rec_sqlite_prepare(struct rec_sqlite *s, const char *text, sqlite3_stmt **ret_statement, struct rec_error *error);
int rec_sqlite_execute(struct rec_sqlite *s, const char *text, struct rec_error *error); /* any number, no results */

/* Binding; absent texts become NULL. The bytes must live until the statement has run. */
void rec_sqlite_bind_text(struct rec_sqlite *s, sqlite3_stmt *statement, int index, struct rec_slice text);
void rec_sqlite_bind_int64(struct rec_sqlite *s, sqlite3_stmt *statement, int index, int64_t value);
void rec_sqlite_bind_optional(struct rec_sqlite *s, sqlite3_stmt *statement, int index, bool has, int64_t value);
void rec_sqlite_bind_now(struct rec_sqlite *s, sqlite3_stmt *statement, int index,
			 char buffer[REC_TIMESTAMP_BYTES]); /* rec_store_now */

/* A column as text, whatever it is; data == NULL for NULL. Lives until the next step. */
struct rec_slice rec_sqlite_column(sqlite3_stmt *statement, int column);
/* The same if it is text; data == NULL for NULL, a number, a blob. */
struct rec_slice rec_sqlite_text(sqlite3_stmt *statement, int column);
/* Is it text (and not NULL, a number, a blob)? */
static inline bool rec_sqlite_is_text(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_type(statement, column) == SQLITE_TEXT;
}

/* ---- Schema (sqlite-schema.c, sqlite-ddl.c) ------------------------------------------------------------------- */

/* Inside a transaction: reads what there is if it has changed since. Refuses what is no task store, and a newer
 * version. Sets info.attached. */
int rec_sqlite_schema_look(struct rec_sqlite *s, struct rec_error *error);
/* Makes whatever is missing, in one transaction; the whole store in an empty database. */
int rec_sqlite_schema_make(struct rec_sqlite *s, struct rec_error *error);
static inline bool rec_sqlite_has_table(const struct rec_sqlite *s, enum rec_sqlite_table table)
{
	return s->schema.tables >> table & 1;
}
/* 0, or REC_E_SCHEMA naming table and column. */
int rec_sqlite_need_task_columns(struct rec_sqlite *s, uint64_t columns, struct rec_error *error);
int rec_sqlite_need_blocker_columns(struct rec_sqlite *s, uint64_t columns, struct rec_error *error);
int rec_sqlite_need_table(struct rec_sqlite *s, enum rec_sqlite_table table, struct rec_error *error);
int rec_sqlite_problems(struct rec_store *s, rec_problem_fn *fn, void *context, struct rec_error *error);

const char *rec_sqlite_table_name(enum rec_sqlite_table table);
const char *rec_sqlite_task_column_name(enum rec_sqlite_task_column column);
const char *rec_sqlite_blocker_column_name(enum rec_sqlite_blocker_column column);

/* What init makes (sqlite-ddl.c). */
#define REC_SQLITE_SCHEMA_VERSION_OURS 1
extern const char rec_sqlite_ddl_codeframe[]; /* the whole schema of codeframe */
extern const char rec_sqlite_ddl_ours[];      /* our tables, IF NOT EXISTS */
struct rec_sqlite_trigger {
	const char *name, *table;
	uint64_t task_columns, blocker_columns; /* made only if these are there */
	const char *sql;                        /* as sqlite_schema will hold it */
};
extern const struct rec_sqlite_trigger rec_sqlite_triggers[];
extern const size_t rec_sqlite_trigger_count;
/* Indexes of ours on their tables; same shape. */
extern const struct rec_sqlite_trigger rec_sqlite_indexes[];
extern const size_t rec_sqlite_index_count;

/* ---- Reading (sqlite-cold.c) --------------------------------------------------------------------------------- */

/* What runs inside one read transaction. It may be run again from its start. */
typedef int rec_sqlite_body(struct rec_sqlite *s, void *context, struct rec_error *error);
/* Runs body in one consistent read transaction, opening the database by the rules of sqlite-cold.c if this
 * store only reads. Inside a group body is simply run. *told (may be NULL): body has called back already, so
 * that it must not be run again. */
int rec_sqlite_read(struct rec_sqlite *s, rec_sqlite_body *body, void *context, const bool *told,
		    struct rec_error *error);
/* Waits, unless the store's time limit would then be over: false. The limit runs from the first call (deadline 0) on,
 * so that what need not wait need not look at the clock. */
bool rec_sqlite_wait(const struct rec_sqlite *s, int64_t *deadline, int64_t us);
/* Is the database at our path still what we have open, as far as stat can tell? COLD and LIVE only. */
bool rec_sqlite_unchanged(struct rec_sqlite *s);

/* ---- Ids (sqlite-ids.c, sqlite-sort.c) ------------------------------------------------------------------------- */

int rec_sqlite_ids_register(struct rec_sqlite *s, struct rec_error *error); /* the virtual table rec_ids */

/* Ids in bytewise order, each by the 8 bytes that follow what all of them have in common. */
struct rec_sqlite_sorted {
	const struct rec_allocator *allocator;
	struct rec_sqlite_sorted_id {
		uint64_t key;
		uint32_t index; /* into ids */
	} * entries;
	size_t count;
	const struct rec_slice *ids;
	struct rec_slice common; /* the common front */
	size_t near;             /* where the last search ended */
};
/* Sorts ids[0..count-1] (equal ones by index). Ids that are in order already cost O(count). 16 bytes an id. */
int rec_sqlite_sort(struct rec_sqlite_sorted *sorted, const struct rec_allocator *a, const struct rec_slice *ids,
		    size_t count, struct rec_error *error);
void rec_sqlite_sorted_release(struct rec_sqlite_sorted *sorted);
/* Position of the first entry that is not smaller than id; *ret_equal: it is id. O(log distance) from the last
 * search forward, O(log count) backward. */
size_t rec_sqlite_sorted_seek(struct rec_sqlite_sorted *sorted, struct rec_slice id, bool *ret_equal);
/* What a sweep will touch so many entries later is asked from memory now. */
#define REC_SQLITE_AHEAD 8

/* ---- Rows (sqlite-row.c) --------------------------------------------------------------------------------------------
 */

/* What a status column holds; UNRECOGNISED for everything that is not one of the seven as text. */
enum rec_status rec_sqlite_status(sqlite3_stmt *statement, int column);
/* The raw form of an unrecognised one, for people: NULL, 12, x'00ff' (cut); `buffer` may back it. */
#define REC_SQLITE_SHOWN_BYTES 80
struct rec_slice rec_sqlite_shown(sqlite3_stmt *statement, int column, char buffer[REC_SQLITE_SHOWN_BYTES]);
/* Why a value cannot be an id, as a phrase; NULL if it can. */
const char *rec_sqlite_id_problem(sqlite3_stmt *statement, int column);
/* A row of a task query into *task; texts live until the next step, lists in `arena`. REC_NOT_FOUND: the id is
 * bad (told as a warning), skip it. */
int rec_sqlite_task_row(struct rec_sqlite *s, sqlite3_stmt *row, struct rec_arena *arena, struct rec_task *task,
			struct rec_error *error);
int rec_sqlite_blocker_row(struct rec_sqlite *s, sqlite3_stmt *row, struct rec_blocker *blocker,
			   struct rec_error *error);
/* Copies texts (up to a NULL), or every text of *task or *blocker, into arena. */
int rec_sqlite_keep(struct rec_arena *arena, struct rec_slice *const *texts, struct rec_error *error);
int rec_sqlite_task_keep(struct rec_arena *arena, struct rec_task *task, struct rec_error *error);
int rec_sqlite_blocker_keep(struct rec_arena *arena, struct rec_blocker *blocker, struct rec_error *error);
/* The list of ids in a JSON text; REC_E_INVALID (no message) if it is none, REC_E_NOMEM with message. */
int rec_sqlite_id_list(struct rec_slice json, struct rec_arena *arena, const struct rec_slice **ret_ids,
		       size_t *ret_count, struct rec_error *error);
/* A reader that holds the whole text; REC_E_NOMEM without a message (then nothing is to be released). */
int rec_sqlite_json_open(struct rec_json_reader *reader, const struct rec_allocator *a, struct rec_slice json);
/* Writes one. */
int rec_sqlite_id_list_write(struct rec_buffer *out, const struct rec_slice *ids, size_t count);

/* ---- The operations, by file ----------------------------------------------------------------------------------------
 */

int rec_sqlite_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			struct rec_snapshot *out, struct rec_error *error);

int rec_sqlite_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		   struct rec_error *error);
int rec_sqlite_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		    struct rec_error *error);
int rec_sqlite_find_prefix(struct rec_store *s, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
			   struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error);
int rec_sqlite_blockers(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			void *context, struct rec_error *error);
int rec_sqlite_blocker_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_blocker *out,
			   struct rec_error *error);

int rec_sqlite_begin(struct rec_store *s, struct rec_error *error);
int rec_sqlite_commit(struct rec_store *s, struct rec_error *error);
void rec_sqlite_rollback(struct rec_store *s);
int rec_sqlite_sync_apart(struct rec_store *s, struct rec_error *error);
int rec_sqlite_sync(struct rec_store *s, struct rec_error *error);
int rec_sqlite_create(struct rec_store *s, const struct rec_task *task, struct rec_error *error);
int rec_sqlite_edit(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error);
int rec_sqlite_remove(struct rec_store *s, struct rec_slice id, struct rec_error *error);
int rec_sqlite_write_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			    enum rec_status *now, struct rec_error *error);
int rec_sqlite_parent(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
		      enum rec_status *ret_status, struct rec_error *error);
int rec_sqlite_children(struct rec_store *s, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
			uint64_t *unrecognised, struct rec_error *error);
int rec_sqlite_mark_composite(struct rec_store *s, struct rec_slice id, struct rec_error *error);
int rec_sqlite_blocker_create(struct rec_store *s, const struct rec_blocker *blocker, struct rec_error *error);
int rec_sqlite_blocker_answer(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error);
int rec_sqlite_blocker_resolve(struct rec_store *s, struct rec_slice id, struct rec_error *error);
/* The row alone: nothing is asked but the columns. */
int rec_sqlite_blocker_insert(struct rec_sqlite *s, const struct rec_blocker *blocker, struct rec_error *error);
int rec_sqlite_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error);
int rec_sqlite_events(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		      struct rec_error *error);
/* The workspace that new rows belong to; REC_E_SCHEMA if there is none. */
int rec_sqlite_workspace(struct rec_sqlite *s, struct rec_slice *ret_id, struct rec_error *error);

int rec_sqlite_claim_add(struct rec_store *s, struct rec_claim *claim, struct rec_error *error);
int rec_sqlite_claim_end(struct rec_store *s, int64_t claim_id, const struct rec_finish *finish,
			 struct rec_arena *arena, struct rec_slice *ret_task_id, struct rec_error *error);
int rec_sqlite_claim_take(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			  struct rec_error *error);
int rec_sqlite_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error);
int rec_sqlite_running_runs(struct rec_store *s, rec_id_fn *fn, void *context, struct rec_error *error);
int rec_sqlite_batch_add(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);
int rec_sqlite_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena, struct rec_batch *out,
			 struct rec_error *error);
int rec_sqlite_batch_write(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);
int rec_sqlite_batches(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error);
int rec_sqlite_batch_task_put(struct rec_store *s, struct rec_slice batch_id, const struct rec_batch_task *task,
			      struct rec_error *error);
int rec_sqlite_batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			   struct rec_error *error);
int rec_sqlite_batch_belief(struct rec_store *s, struct rec_slice batch_id, rec_belief_fn *fn, void *context,
			    struct rec_error *error);

int rec_sqlite_links_ready(struct rec_store *s, struct rec_error *error);
int rec_sqlite_link_put(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error);
int rec_sqlite_link_remove(struct rec_store *s, struct rec_slice task_id, struct rec_slice url,
			   struct rec_error *error);
int rec_sqlite_links(struct rec_store *s, struct rec_slice task_id, rec_link_fn *fn, void *context,
		     struct rec_error *error);
int rec_sqlite_link_observed(struct rec_store *s, const struct rec_link *link, struct rec_error *error);
/* Forgets what is known of what is no link: of tasks that are gone, of addresses they had. */
int rec_sqlite_links_prune(struct rec_sqlite *s, struct rec_error *error);
int rec_sqlite_tracker_cursor_put(struct rec_store *s, struct rec_slice tracker, struct rec_slice key,
				  struct rec_slice value, struct rec_error *error);
int rec_sqlite_tracker_cursors(struct rec_store *s, struct rec_slice tracker, rec_tracker_cursor_fn *fn, void *context,
			       struct rec_error *error);

int rec_sqlite_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		       struct rec_error *error);
int rec_sqlite_changes_in_group(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
				struct rec_error *error);
int rec_sqlite_stamp(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error);
/* A group of ours is about to be committed: notes the time of its changes, at most once a second. */
int rec_sqlite_changes_mark(struct rec_sqlite *s, struct rec_error *error);
int rec_sqlite_gc(struct rec_store *s, struct rec_gc *gc, struct rec_error *error);
int rec_sqlite_wake_fd(struct rec_store *s, int *ret_fd, struct rec_error *error);
void rec_sqlite_wake_drain(struct rec_store *s);
void rec_sqlite_wake_close(struct rec_sqlite *s);

#endif
