/* postgres.h - what the files of the PostgreSQL backend share.
 *
 * The model: every write is made inside a group, and a group holds the lock on the empty table reconciler.writer from
 * its first statement to its end. So groups are serial, as the contract wants; what was read inside one stays so;
 * numbers are given without gaps in the order in which they become visible; and a reader of the change feed can miss
 * nothing: no row of it can become visible after one with a higher number. Other programs that write to our tables
 * take the same lock through triggers. The lock belongs to the transaction, never to the session, so a
 * transaction-mode pooler can stand between.
 *
 * A read is one statement, and so sees one snapshot without a transaction around it.
 *
 * A write whose answer nobody waits for is sent along with the next statement that is waited for, the COMMIT at the
 * latest (rec_postgres_later). If it fails, that statement fails with its error, and the group is over.
 */
#ifndef REC_STORE_POSTGRES_H
#define REC_STORE_POSTGRES_H

#include "store/backend.h"
#include "store/postgres-libpq.h"

#define REC_POSTGRES_VERSION 1 /* of the schema: reconciler.meta, schema_version */

/* ---- Statements (postgres-sql.c) ---- */

/* clang-format off */
#define REC_POSTGRES_QUERIES(X) \
	X(TASK_GET) X(TASK_GET_MANY) X(TASK_LIST) X(TASK_LIST_BLOCKERS) X(TASK_FIND) X(TASK_EXISTS) X(TASK_OF_URL) X(TASK_INSERT) \
	X(TASK_EDIT) X(TASK_DELETE) X(TASK_SET_STATUS) X(TASK_SET_UNRECOGNISED) X(TASK_PARENT) X(TASK_CHILDREN) \
	X(TASK_MARK) X(SNAPSHOT_ALL) X(SNAPSHOT_ALL_BLOCKED) X(SNAPSHOT_ALL_FACTS) X(SNAPSHOT_MANY) X(SNAPSHOT_FEW) X(SNAPSHOT_FEW_BLOCKED) \
	X(BLOCKER_FIND) X(BLOCKER_GET) X(BLOCKERS_OF_TASK) X(BLOCKER_LIST) X(BLOCKER_INSERT) X(BLOCKER_ANSWER) \
	X(BLOCKER_RESOLVE) \
	X(EVENT_INSERT) X(EVENT_LIST) X(CLAIM_INSERT) X(CLAIM_INSERT_SEEN) X(CLAIM_INSERT_MANY) X(CLAIM_FINISH) X(CLAIM_RELEASE) X(CLAIM_TAKE) X(CLAIM_LIST) X(LEASE_RENEW) X(LEASE_GET) \
	X(BATCH_INSERT) X(BATCH_GET) X(BATCH_UPDATE) X(BATCH_LIST) X(BATCH_TASK_PUT) X(BATCH_TASK_PUT_MORE) X(BATCH_TASK_LIST) \
	X(LINK_PUT) X(LINK_REMOVE) X(LINK_OBSERVED) X(LINK_LIST) X(LINK_PRUNE) X(CURSOR_PUT) X(CURSOR_FORGET) X(CURSOR_LIST) \
	X(COUNTERS_PUT) X(COMMIT) X(STAMP) X(FEED_LOOK) X(GC_CHANGES) X(GC_EVENTS) X(GC_ATTEMPTS) X(GC_COUNT) X(PROBLEMS)
/* clang-format on */

enum rec_postgres_query {
#define REC_POSTGRES_QUERY_NAME(name) REC_POSTGRES_##name,
	REC_POSTGRES_QUERIES(REC_POSTGRES_QUERY_NAME)
#undef REC_POSTGRES_QUERY_NAME
		REC_POSTGRES_QUERY_COUNT
};
const char *rec_postgres_sql(enum rec_postgres_query query);
const char *rec_postgres_query_name(enum rec_postgres_query query);

/* The statements that bring a schema of version - 1 to `version`, run as one transaction. */
const char *rec_postgres_migration(int version);
/* Those that make indexes, triggers and their functions, whether or not they are there. */
const char *rec_postgres_guards(void);

#define REC_POSTGRES_FEED_PAGE 256 /* so many changes are read at once */
#define REC_POSTGRES_QUEUE 64      /* so many messages wait to be sent */

/* ---- The handle ---- */

struct rec_postgres_counters {
	int64_t claim_id, event_seq; /* the last ones given */
};

/* What was put into the pipeline and is not answered yet. */
struct rec_postgres_queued {
	enum rec_postgres_query query;
	bool prepares; /* it is not run but prepared */
};

/* A task that was read inside the group and may be claimed, while nothing else was written. */
struct rec_postgres_seen {
	bool there;
	char id[256], parent[256]; /* NUL-terminated; parent empty: none */
	int64_t attempt;           /* the last one */
};

struct rec_postgres {
	struct rec_store base;
	struct rec_libpq pq;
	PGconn *connection; /* NULL: none */
	char *conninfo;     /* as given, without our prefix; may hold a password */
	char *location;     /* without secrets */
	char *directory;
	bool pooled;
	bool in_group;
	bool silent;                             /* the connection was given up */
	bool prepared[REC_POSTGRES_QUERY_COUNT]; /* on this connection */
	struct rec_postgres_queued queue[REC_POSTGRES_QUEUE];
	int queued;
	struct rec_postgres_counters counters, counters_before;
	struct rec_postgres_seen seen;
	char batch_id[256];       /* a batch that this group found, NUL-terminated */
	char xid[24];             /* of the group, to learn how a commit ended whose answer got lost */
	uint64_t generation;      /* of the feed */
	bool small;               /* when all tasks were last looked at, they were few */
	int wake_fd;              /* an epoll descriptor (or a timer, if pooled) that outlives connections; -1 */
	int heard_fd;             /* in it: readable once a notification came behind an answer; -1 */
	int64_t patience_end_us;  /* boot clock: nothing is waited for any longer; INT64_MAX: no such end */
	int64_t retry_us;         /* monotonic: no new connection is tried before that */
	int64_t retry_step_us;    /* 0: the last attempt succeeded */
	struct rec_error refused; /* why it failed */
};

struct rec_postgres *rec_postgres_of(struct rec_store *s);

/* ---- Connections (postgres-connect.c) ---- */

/* A living connection, made anew if there is none. REC_E_BUSY while the server cannot be reached. */
int rec_postgres_connect(struct rec_postgres *s, struct rec_error *error);
void rec_postgres_disconnect(struct rec_postgres *s);
bool rec_postgres_connected(const struct rec_postgres *s);
void rec_postgres_patience(struct rec_store *store, int64_t us);
/* How long the socket may be waited for, of `most_ms`; 0: not at all. */
int rec_postgres_wait_ms(const struct rec_postgres *s, int64_t most_ms);
/* What a person may see of a conninfo: everything but passwords, as a URI; NUL-terminated, appended. */
int rec_postgres_location(const struct rec_libpq *pq, const char *conninfo, struct rec_buffer *out,
			  struct rec_error *error);

/* ---- Errors (postgres-error.c) ---- */

/* From a failed result, or (result == NULL) from the connection's state. */
int rec_postgres_fail(struct rec_postgres *s, const PGresult *result, const char *doing, struct rec_error *error);
/* For messages of the server: its first line, without the end of line. */
struct rec_slice rec_postgres_first_line(const char *message);

/* ---- Running statements (postgres-query.c). All values travel in binary form. ---- */

#define REC_POSTGRES_PARAMETERS_MAX 32

struct rec_postgres_arguments {
	int count;
	Oid types[REC_POSTGRES_PARAMETERS_MAX];
	const char *values[REC_POSTGRES_PARAMETERS_MAX];
	int lengths[REC_POSTGRES_PARAMETERS_MAX], formats[REC_POSTGRES_PARAMETERS_MAX];
	unsigned char numbers[REC_POSTGRES_PARAMETERS_MAX][8];
};
void rec_postgres_put_text(struct rec_postgres_arguments *a, struct rec_slice text); /* absent: NULL */
void rec_postgres_put_word(struct rec_postgres_arguments *a, const char *word);      /* NULL: NULL */
void rec_postgres_put_number(struct rec_postgres_arguments *a, int64_t number);
void rec_postgres_put_optional(struct rec_postgres_arguments *a, bool present, int64_t number);
void rec_postgres_put_bool(struct rec_postgres_arguments *a, bool value);
void rec_postgres_put_double(struct rec_postgres_arguments *a, bool present, double value);
/* text[]; `bytes` must live until the statement has run, and is initialised here. */
int rec_postgres_put_texts(struct rec_postgres *s, struct rec_postgres_arguments *a, const struct rec_slice *texts,
			   size_t count, struct rec_buffer *bytes, struct rec_error *error);

/* Several statements without parameters; the last one's result, if wanted, is in text form. */
int rec_postgres_do(struct rec_postgres *s, const char *sql, PGresult **ret_result, struct rec_error *error);
/* Runs one and gives its rows; clear *ret_result with rec_postgres_clear. */
int rec_postgres_run(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
		     PGresult **ret_result, struct rec_error *error);
/* Runs one for its effect; *ret_rows (may be NULL) is how many rows it returned. */
int rec_postgres_effect(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
			int *ret_rows, struct rec_error *error);
/* Inside a group: runs one before anything else is run, and does not wait for it. For what needs no answer: all that
 * can be wrong must be an error to the server, for the COMMIT may be on its way already when the answer is read. */
int rec_postgres_later(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
		       struct rec_error *error);
/* Sends what waits, and waits for it. */
int rec_postgres_settle(struct rec_postgres *s, struct rec_error *error);
/* Runs one and calls fn for each row as it comes; nothing else may be asked meanwhile. fn's result ends it. */
typedef int rec_postgres_row_fn(struct rec_postgres *s, const PGresult *row, int index, void *context,
				struct rec_error *error);
int rec_postgres_stream(struct rec_postgres *s, enum rec_postgres_query query, const struct rec_postgres_arguments *a,
			rec_postgres_row_fn *fn, void *context, struct rec_error *error);
/* The same, planned for these arguments and for the tables as they are now: for what may read much. */
int rec_postgres_stream_afresh(struct rec_postgres *s, enum rec_postgres_query query,
			       const struct rec_postgres_arguments *a, rec_postgres_row_fn *fn, void *context,
			       struct rec_error *error);
void rec_postgres_clear(struct rec_postgres *s, PGresult *result);

/* Outside a group: connects, runs `body`, and once more on a new connection if it was lost before *told became true.
 * Inside a group: just runs it. */
typedef int rec_postgres_body_fn(struct rec_postgres *s, void *context, struct rec_error *error);
int rec_postgres_read(struct rec_postgres *s, rec_postgres_body_fn *body, void *context, const bool *told,
		      struct rec_error *error);

/* ---- Values of a row (postgres-row.c). Texts live as long as the result. ---- */

struct rec_slice rec_postgres_text(struct rec_postgres *s, const PGresult *r, int row, int column); /* NULL: absent */
bool rec_postgres_null(struct rec_postgres *s, const PGresult *r, int row, int column);
int64_t rec_postgres_number(struct rec_postgres *s, const PGresult *r, int row, int column); /* NULL: 0 */
double rec_postgres_double(struct rec_postgres *s, const PGresult *r, int row, int column);
bool rec_postgres_bool(struct rec_postgres *s, const PGresult *r, int row, int column);
uint64_t rec_postgres_bits(const char *bytes, int count); /* most significant first */
/* A text[] into `arena`. */
int rec_postgres_texts(struct rec_postgres *s, const PGresult *r, int row, int column, struct rec_arena *arena,
		       const struct rec_slice **ret_texts, size_t *ret_count, struct rec_error *error);
/* Copies the texts that are not absent; the list ends with NULL. */
int rec_postgres_keep(struct rec_arena *arena, struct rec_slice *const texts[], struct rec_error *error);

/* A task from the columns of TASK_COLUMNS (postgres-sql.c); its list of dependencies in `arena`, its texts the row's.
 */
int rec_postgres_task_row(struct rec_postgres *s, const PGresult *r, int row, struct rec_arena *arena,
			  struct rec_task *task, struct rec_error *error);
int rec_postgres_task_keep(struct rec_arena *arena, struct rec_task *task, struct rec_error *error);
#define REC_POSTGRES_BLOCKER_COLUMNS 8
/* A blocker from `column` on. */
void rec_postgres_blocker_row(struct rec_postgres *s, const PGresult *r, int row, int column,
			      struct rec_blocker *blocker);
int rec_postgres_blocker_keep(struct rec_arena *arena, struct rec_blocker *blocker, struct rec_error *error);

/* Columns of a task's row, in the order of TASK_COLUMNS in postgres-sql.c. */
enum {
	REC_POSTGRES_COLUMN_ID,
	REC_POSTGRES_COLUMN_TITLE,
	REC_POSTGRES_COLUMN_STATUS,
	REC_POSTGRES_COLUMN_PRIORITY,
	REC_POSTGRES_COLUMN_DEPENDS_ON,
	REC_POSTGRES_COLUMN_PARENT,
	REC_POSTGRES_COLUMN_IS_LEAF,
	REC_POSTGRES_COLUMN_CREATED_AT,
	REC_POSTGRES_COLUMN_DESCRIPTION,
	REC_POSTGRES_COLUMN_EXTERNAL_URL,
	REC_POSTGRES_COLUMN_UPDATED_AT,
	REC_POSTGRES_COLUMN_PRD,
	REC_POSTGRES_COLUMN_UNCERTAINTY,
	REC_POSTGRES_COLUMN_HIERARCHICAL,
	REC_POSTGRES_COLUMN_LINEAGE,
	REC_POSTGRES_COLUMN_REQUIREMENTS,
	REC_POSTGRES_COLUMN_HOURS,
	REC_POSTGRES_COLUMN_COMPLEXITY,
	REC_POSTGRES_COLUMN_ISSUE_NUMBER,
	REC_POSTGRES_COLUMN_AUTO_CLOSE,
	REC_POSTGRES_COLUMN_ATTEMPT,
	REC_POSTGRES_COLUMN_CLAIMED,
	REC_POSTGRES_COLUMN_COUNT
};

/* ---- Operations, as in backend.h ---- */

int rec_postgres_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			  struct rec_snapshot *out, struct rec_error *error);
int rec_postgres_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		     struct rec_error *error);
int rec_postgres_get_many(struct rec_store *s, const struct rec_slice *ids, size_t count, struct rec_arena *arena,
			  struct rec_task *out, struct rec_error *error);
int rec_postgres_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		      struct rec_error *error);
int rec_postgres_find_prefix(struct rec_store *s, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
			     struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error);
int rec_postgres_blockers(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			  void *context, struct rec_error *error);
int rec_postgres_blocker_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_blocker *out,
			     struct rec_error *error);
int rec_postgres_begin(struct rec_store *s, struct rec_error *error);
int rec_postgres_commit(struct rec_store *s, struct rec_error *error);
void rec_postgres_rollback(struct rec_store *s);
int rec_postgres_create(struct rec_store *s, const struct rec_task *task, struct rec_error *error);
int rec_postgres_edit(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error);
int rec_postgres_remove(struct rec_store *s, struct rec_slice id, struct rec_error *error);
int rec_postgres_write_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			      enum rec_status *now, struct rec_error *error);
int rec_postgres_parent(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
			enum rec_status *ret_status, struct rec_error *error);
int rec_postgres_children(struct rec_store *s, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
			  uint64_t *unrecognised, struct rec_error *error);
int rec_postgres_mark_composite(struct rec_store *s, struct rec_slice id, struct rec_error *error);
int rec_postgres_blocker_create(struct rec_store *s, const struct rec_blocker *blocker, struct rec_error *error);
int rec_postgres_blocker_answer(struct rec_store *s, struct rec_slice id, struct rec_slice text,
				struct rec_error *error);
int rec_postgres_blocker_resolve(struct rec_store *s, struct rec_slice id, struct rec_error *error);
int rec_postgres_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error);
int rec_postgres_events(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
			struct rec_error *error);
int rec_postgres_claim(struct rec_store *s, struct rec_claim *claim, struct rec_arena *arena,
		       struct rec_slice *ret_parent, enum rec_status *now, struct rec_error *error);
int rec_postgres_claim_many(struct rec_store *s, const struct rec_claim *like, const struct rec_slice *ids,
			    size_t count, struct rec_arena *arena, struct rec_slice *parents, struct rec_claimed *ret,
			    struct rec_error *error);
int rec_postgres_claim_settle(struct rec_store *s, int64_t claim_id, const struct rec_finish *finish,
			      enum rec_status to, struct rec_arena *arena, struct rec_settled *ret,
			      struct rec_error *error);
int rec_postgres_claim_take(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			    struct rec_error *error);
int rec_postgres_renew(struct rec_store *s, struct rec_slice owner, int64_t lease_us, struct rec_error *error);
int rec_postgres_lease(struct rec_store *s, struct rec_slice owner, int64_t *ret_left_us, struct rec_error *error);
int rec_postgres_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error);
int rec_postgres_batch_add(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);
int rec_postgres_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena,
			   struct rec_batch *out, struct rec_error *error);
int rec_postgres_batch_write(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);
int rec_postgres_batches(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error);
int rec_postgres_batch_task_put(struct rec_store *s, struct rec_slice batch_id, const struct rec_batch_task *task,
				struct rec_error *error);
int rec_postgres_batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			     struct rec_error *error);
int rec_postgres_links_ready(struct rec_store *s, struct rec_error *error);
int rec_postgres_link_put(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error);
int rec_postgres_link_remove(struct rec_store *s, struct rec_slice task_id, struct rec_slice url,
			     struct rec_error *error);
int rec_postgres_link_observed(struct rec_store *s, const struct rec_link *link, struct rec_error *error);
int rec_postgres_links(struct rec_store *s, struct rec_slice task_id, rec_link_fn *fn, void *context,
		       struct rec_error *error);
int rec_postgres_tracker_cursor_put(struct rec_store *s, struct rec_slice tracker, struct rec_slice key,
				    struct rec_slice value, struct rec_error *error);
int rec_postgres_tracker_cursors(struct rec_store *s, struct rec_slice tracker, rec_tracker_cursor_fn *fn,
				 void *context, struct rec_error *error);
int rec_postgres_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
			 struct rec_error *error);
int rec_postgres_stamp(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error);
int rec_postgres_wake_fd(struct rec_store *s, int *ret_fd, struct rec_error *error);
void rec_postgres_wake_drain(struct rec_store *s);
/* A new connection: waits for notifications again if somebody asked for the descriptor. */
int rec_postgres_wake_connect(struct rec_postgres *s, struct rec_error *error);
void rec_postgres_wake_disconnect(struct rec_postgres *s); /* before the socket is closed */
/* After every answer: what came with it is no longer in the socket, which alone would not wake. */
void rec_postgres_wake_hear(struct rec_postgres *s);
int rec_postgres_gc(struct rec_store *s, struct rec_gc *gc, struct rec_error *error);
int rec_postgres_problems(struct rec_store *s, rec_problem_fn *fn, void *context, struct rec_error *error);

#endif
