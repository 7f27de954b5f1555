/* reconciler.h - keeps a running batch of tasks true to the world.
 *
 * A store holds tasks and the questions (blockers) attached to them; people, programs and trackers change it at any
 * time. A batch that runs some of these tasks holds its own belief about each in memory. A reconciler compares
 * the two and says for each task what to do: nothing, SKIP, KILL or REQUEUE.
 *
 * This header is the contract of libreconciler and the only one that is installed.
 *
 * The one rule for whoever runs a batch: BELIEF NEVER RUNS AHEAD OF THE BATCH'S OWN COMMIT. Write the store first
 * (rec_task_set_status), then the memory (rec_batch_state_set, rec_watcher_believe). A belief that runs ahead looks
 * like a change from outside, and the task would be stopped or started for it.
 *
 * Objects: each is made by its constructor, used through its methods, and ended by its destructor.
 *
 *     object           constructor             methods                     destructor
 *     reconciler       rec_open                rec_check_..., rec_task_... rec_close
 *     rec_batch_state  rec_batch_state_new     rec_batch_state_...         rec_batch_state_free
 *     rec_result_set   rec_check_tasks, ...    rec_result_set_...          rec_result_set_free
 *     rec_watcher      rec_watcher_new         rec_watcher_...             rec_watcher_free
 *     rec_importer     rec_importer_new        rec_importer_...            rec_importer_free
 *     rec_task_info    rec_task_get            (a plain struct)            rec_task_info_free
 *
 * Conventions, valid for every function unless its comment says otherwise:
 * - Result: 0 is success; a positive value is a named outcome (enum rec_outcome) that this function
 *   documents; a negative value is an error (enum rec_error_code), described in *error when error is not
 *   NULL. Outputs (ret_...) are untouched unless the result is 0. Any function that takes an error may return
 *   REC_E_NOMEM, and any that reads or writes the store also BUSY, IO, FULL, PERMISSION, CORRUPT, INTERRUPTED.
 * - Strings are UTF-8 and NUL-terminated; NULL is "none". What is handed in is copied when it must live on;
 *   what is handed out lives as long as the comment says. Times are RFC 3339 in UTC. Durations carry their unit
 *   in the name.
 * - Structs that may grow begin with `size_t size`. One that you hand in: set it to sizeof the struct and every field
 *   that you do not use to zero; a library older than your header refuses a field it does not know
 *   (REC_E_UNSUPPORTED). One that is to be filled in: set size; what an older library does not know becomes zero,
 *   and a newer one leaves alone what is beyond your size. Structs in callbacks carry the library's size.
 *   No size: REC_E_INVALID.
 * - Callbacks: what they are given lives until they return. They return 0 to go on; anything else ends the call,
 *   which returns it. They must not call the library with the reconciler they are called from (REC_E_BUG).
 * - Threads: the library has no global state. A reconciler, and every object made from it, belongs to one
 *   thread at a time; different reconcilers are independent, also on the same store. Objects made without one
 *   (rec_batch_state) belong to one thread at a time too.
 * - The library never prints, never exits, never installs a signal handler and never forks.
 * - A destructor accepts NULL. Every object made from a reconciler must be ended before it is closed, except
 *   rec_result_set and rec_task_info, which need only the allocator.
 * - Everything here is there since 0.1 unless its comment says otherwise.
 */
#ifndef RECONCILER_H
#define RECONCILER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REC_VERSION_MAJOR 0
#define REC_VERSION_MINOR 1
#define REC_VERSION_PATCH 0
#define REC_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define REC_PUBLIC __attribute__((visibility("default")))
#else
#define REC_PUBLIC
#endif

/* The version of the library that is running, as "0.1.0"; the macros above are the header's. */
REC_PUBLIC const char *rec_version(void);

/* ---- Limits ------------------------------------------------------------------------------------- */

#define REC_ID_BYTES_MAX 255                /* a task id: 1 to 255 bytes, UTF-8, no control characters */
#define REC_TITLE_BYTES_MAX (4u << 10)      /* a title */
#define REC_TEXT_BYTES_MAX (16u << 20)      /* a description, a question, an answer */
#define REC_CHECK_INTERVAL_DEFAULT_MS 30000 /* how often a driver looks again without a wake-up */

/* ---- Vocabulary --------------------------------------------------------------------------------- */

/* The status of a task. FAILED, DONE and MERGED are terminal for a batch. The numbers are stable. */
enum rec_status {
	REC_BACKLOG = 0,
	REC_READY = 1,
	REC_IN_PROGRESS = 2,
	REC_BLOCKED = 3,
	REC_FAILED = 4,
	REC_DONE = 5,
	REC_MERGED = 6,
	REC_STATUS_ABSENT = 7,       /* no status: the batch holds nothing ("-"), or there is no such task */
	REC_STATUS_UNRECOGNISED = 8, /* the store holds a value that is none of the seven */
};
#define REC_STATUS_COUNT 7 /* the real ones, REC_BACKLOG to REC_MERGED */

/* What to do about a task. The numbers are stable. */
enum rec_action {
	REC_NONE = 0,    /* nothing */
	REC_SKIP = 1,    /* finished or withdrawn elsewhere: leaves the queue; a running child is stopped */
	REC_KILL = 2,    /* blocked or withdrawn elsewhere: the running child is stopped, or the task is held */
	REC_REQUEUE = 3, /* released elsewhere: may run again */
};
#define REC_ACTION_COUNT 4

/* Positive results: outcomes that the caller is expected to handle. */
enum rec_outcome {
	REC_NOT_FOUND = 1, /* there is no such task, blocker, batch, row */
	REC_CONFLICT = 2,  /* a compare-and-set lost: the world is not what justified the write; nothing written */
	REC_EXISTS = 3,    /* that id is taken; nothing written */
	REC_REFUSED = 4,   /* the change is not legal (transition, claimed task, released blocker); nothing written */
	REC_RESCAN = 5,    /* the change feed cannot tell: take a full snapshot */
	REC_END = 6,       /* no more rows, tokens, results */
};

/* Negative results. `rec_error_class_of` sorts them. */
enum rec_error_code {
	REC_E_NOMEM = -1,      /* memory exhausted */
	REC_E_IO = -2,         /* the operating system failed a read, a write, an open */
	REC_E_BUSY = -3,       /* the store stayed locked for longer than the limit */
	REC_E_FULL = -4,       /* no space left */
	REC_E_PERMISSION = -5, /* not allowed by the file system or the server */
	REC_E_READ_ONLY = -6,  /* a write to a store opened or mounted read-only */
	REC_E_CORRUPT = -7,    /* the store is malformed; all work on it stops */
	REC_E_NOT_A_STORE =
		-8,          /* there is something, but no task store (a directory, a text, another program's file) */
	REC_E_NO_STORE = -9, /* there is nothing at that place */
	REC_E_UNINITIALISED = -10, /* a task store without our tables: `reconciler init` makes them */
	REC_E_VERSION = -11,       /* the store was made by a newer version */
	REC_E_SCHEMA = -12,        /* a table or column this operation needs is missing */
	REC_E_NETWORK_FS = -13,    /* SQLite on a network file system */
	REC_E_INVALID = -14,       /* bad input: an argument, a file, a JSON document, an id */
	REC_E_LIMIT = -15,         /* a stated maximum was exceeded */
	REC_E_UNSUPPORTED = -16,   /* this store or build cannot do that */
	REC_E_INTERRUPTED = -17,   /* stopped at the caller's request */
	REC_E_BUG = -18,           /* an invariant of the library broke: please report */
};

enum rec_error_class {
	REC_CLASS_RETRY = 1,    /* may succeed later unchanged: BUSY, FULL, IO, NOMEM */
	REC_CLASS_TERMINAL = 2, /* will fail again until somebody changes something */
	REC_CLASS_BUG = 3,
};

/* Filled in on a negative result; owned by the caller, needs no initialisation, may be reused.
 * message: "WHAT: WHY (way out)", one line, always terminated, never holds a secret. */
struct rec_error {
	int code; /* enum rec_error_code, or 0 */
	char message[1020];
};

/* The allocator hook. NULL where one is taken means malloc, realloc and free. `reallocate` must behave as
 * realloc(3); `release` as free(3). The struct must outlive every object made with it. SQLite keeps its
 * own allocator (sqlite3_config). */
struct rec_allocator {
	void *(*allocate)(void *context, size_t size);
	void *(*reallocate)(void *context, void *memory, size_t size);
	void (*release)(void *context, void *memory);
	void *context;
};

/* How the caller should take a negative result. */
REC_PUBLIC enum rec_error_class rec_error_class_of(int code);

/* "READY" and so on; "-" for REC_STATUS_ABSENT, "?" for anything that is no status. Static text. */
REC_PUBLIC const char *rec_status_name(enum rec_status status);
/* The status of that name exactly as written (case matters), else REC_STATUS_UNRECOGNISED. */
REC_PUBLIC enum rec_status rec_status_from_name(const char *name);
/* "NONE", "SKIP", "KILL", "REQUEUE"; "?" for anything else. Static text. */
REC_PUBLIC const char *rec_action_name(enum rec_action action);

/* ---- The reconciler ----------------------------------------------------------------------------- */

struct reconciler;

enum rec_open_mode {
	REC_OPEN_READ = 0,  /* never writes a byte; works on a codeframe workspace it has never seen */
	REC_OPEN_WRITE = 1, /* refuses (REC_E_UNINITIALISED) a store without our tables */
	REC_OPEN_INIT = 2,  /* makes our tables, and the whole store where there is none; idempotent */
};

struct rec_open_options {
	size_t size;
	enum rec_open_mode mode;
	int64_t busy_timeout_ms;               /* how long to wait for a locked store; 0: the default, 5,000 */
	const struct rec_allocator *allocator; /* NULL: malloc and friends */
};

/* Opens the store of a workspace. workspace_or_uri: a directory that holds .reconciler/state.db or
 * .codeframe/state.db (with REC_OPEN_INIT and neither, .reconciler is made), a SQLite file, or "sqlite:PATH" or
 * "memory:" (which lives as long as the handle).
 * check_interval_ms: how often whoever drives this reconciler should look again without a wake-up; carried for
 * the driver (rec_check_interval_ms) and used by rec_watcher_timeout_ms. 0: off. Usually
 * REC_CHECK_INTERVAL_DEFAULT_MS. Negative: REC_E_INVALID.
 * options: NULL means all zero: read only.
 * Errors: NO_STORE, NOT_A_STORE, UNINITIALISED, VERSION, SCHEMA, NETWORK_FS, READ_ONLY, UNSUPPORTED.
 * End it with rec_close. */
REC_PUBLIC int rec_open(const char *workspace_or_uri, int64_t check_interval_ms, const struct rec_open_options *options,
			struct reconciler **ret_reconciler, struct rec_error *error);
/* An import that is not finished is rolled back. Returns NULL. */
REC_PUBLIC struct reconciler *rec_close(struct reconciler *reconciler);

REC_PUBLIC int64_t rec_check_interval_ms(const struct reconciler *reconciler);
/* The absolute path of the state file, or the URI without secrets. Lives as long as the reconciler. */
REC_PUBLIC const char *rec_location(const struct reconciler *reconciler);

/* A bad row met while reading; it is never the end of a read. */
struct rec_warning_info {
	size_t size;
	const char *task_id; /* NULL: an id that is NULL or no text */
	const char *column;  /* "status", "title", "depends_on", ... */
	const char *problem; /* "is NULL", "is not a list of texts", ... */
	const char *shown;   /* the value, for a person */
};
typedef void rec_warning_callback(void *context, const struct rec_warning_info *warning);
/* Where warnings of later reads go; callback NULL: nowhere. Each row and column is told once. */
REC_PUBLIC void rec_on_warning(struct reconciler *reconciler, rec_warning_callback *callback, void *context);

/* ---- What the batch holds ------------------------------------------------------------------------ */

/* The belief of a running batch: a status for each of its tasks, in the order in which they were first set.
 * Independent of any store. */
struct rec_batch_state;

/* allocator: NULL for malloc and friends; must outlive the object. */
REC_PUBLIC int rec_batch_state_new(const struct rec_allocator *allocator, struct rec_batch_state **ret_state,
				   struct rec_error *error);
REC_PUBLIC struct rec_batch_state *rec_batch_state_free(struct rec_batch_state *state);
/* Adds or changes the belief about one task. O(1). REC_E_INVALID (a bad id, or none of the seven statuses). */
REC_PUBLIC int rec_batch_state_set(struct rec_batch_state *state, const char *task_id, enum rec_status status,
				   struct rec_error *error);
/* Forgets a task: the batch holds nothing about it any more. Unknown ids are fine. */
REC_PUBLIC int rec_batch_state_forget(struct rec_batch_state *state, const char *task_id, struct rec_error *error);
/* REC_STATUS_ABSENT if the batch holds nothing about it. O(1). */
REC_PUBLIC enum rec_status rec_batch_state_get(const struct rec_batch_state *state, const char *task_id);
/* How many tasks the batch holds. */
REC_PUBLIC size_t rec_batch_state_count(const struct rec_batch_state *state);
/* Adds a whole batch state as text: a JSON object {"id":"STATUS",...} or lines {"task_id":"...","status":"..."}.
 * Statuses are the seven, or a codeframe run status (RUNNING, COMPLETED, FAILED, BLOCKED). A duplicate id, one that
 * is held already, an unknown status, a wrong type, an empty text or broken JSON: REC_E_INVALID naming line and column,
 * and the state is as it was. O(length). */
REC_PUBLIC int rec_batch_state_parse(struct rec_batch_state *state, const char *bytes, size_t length,
				     struct rec_error *error);

/* ---- Results ------------------------------------------------------------------------------------- */

/* What is to be done about one task, and why. */
struct rec_result {
	size_t size;
	const char *task_id;
	const char *current_status;  /* stored; an unrecognised value as it stands; NULL: no such task */
	const char *external_status; /* believed; NULL: nothing is believed, or belief played no part */
	enum rec_status current;     /* the same as numbers, REC_STATUS_ABSENT for NULL */
	enum rec_status external;
	enum rec_action action;
	const char *reason; /* static text */
	const char *source; /* "store", "blockers"; static text */
	int discrepancy;    /* stored and believed differ, or the task cannot heal as it stands */
	int applied;        /* something was written for it; -1: nothing was to be applied */
};

/* One result for each id asked about, in that order, duplicates included. Owns all its strings. */
struct rec_result_set;
REC_PUBLIC size_t rec_result_set_count(const struct rec_result_set *set);
/* Fills in *ret_result; its strings live as long as the set. O(1). REC_END: no such index. */
REC_PUBLIC int rec_result_set_get(const struct rec_result_set *set, size_t index, struct rec_result *ret_result);
/* How many results have that action, and how many call for something (KILL, REQUEUE, SKIP with discrepancy). */
REC_PUBLIC size_t rec_result_set_count_action(const struct rec_result_set *set, enum rec_action action);
REC_PUBLIC size_t rec_result_set_count_calls(const struct rec_result_set *set);
REC_PUBLIC struct rec_result_set *rec_result_set_free(struct rec_result_set *set);

/* Decide, and change nothing. All from one consistent snapshot of the store.
 * ids: NULL for every id of `state` in its order, or, without a state, every task of the store in id order.
 * state: what the batch believes; NULL: it holds nothing.
 * A missing task is a result of its own (NONE, "task not found"). O(n) for all tasks, O(n log N) for few ids.
 * End *ret_set with rec_result_set_free. */
/* Tasks alone: the decision table, stored against believed. */
REC_PUBLIC int rec_check_tasks(struct reconciler *reconciler, const char *const *ids, size_t id_count,
			       const struct rec_batch_state *state, struct rec_result_set **ret_set,
			       struct rec_error *error);
/* Blockers alone: BLOCKED with all of its blockers released is a REQUEUE. */
REC_PUBLIC int rec_check_blockers(struct reconciler *reconciler, const char *const *ids, size_t id_count,
				  const struct rec_batch_state *state, struct rec_result_set **ret_set,
				  struct rec_error *error);
/* Both, merged to one result per task. What a driver should use. */
REC_PUBLIC int rec_check_all(struct reconciler *reconciler, const char *const *ids, size_t id_count,
			     const struct rec_batch_state *state, struct rec_result_set **ret_set,
			     struct rec_error *error);

/* Decide and apply: a BLOCKED task whose blockers are released becomes READY, with an event, unless it was blocked
 * again without a new answer. Nothing else is written, and nothing is ever signalled: to stop a running child
 * (SKIP, KILL) is the business of whoever started it. Idempotent; each write is a compare-and-set on what
 * justified it. batch_id: goes into the events; may be NULL. Needs REC_OPEN_WRITE. The same otherwise. */
REC_PUBLIC int rec_apply_tasks(struct reconciler *reconciler, const char *const *ids, size_t id_count,
			       const struct rec_batch_state *state, const char *batch_id,
			       struct rec_result_set **ret_set, struct rec_error *error);
REC_PUBLIC int rec_apply_blockers(struct reconciler *reconciler, const char *const *ids, size_t id_count,
				  const struct rec_batch_state *state, const char *batch_id,
				  struct rec_result_set **ret_set, struct rec_error *error);
REC_PUBLIC int rec_apply_all(struct reconciler *reconciler, const char *const *ids, size_t id_count,
			     const struct rec_batch_state *state, const char *batch_id, struct rec_result_set **ret_set,
			     struct rec_error *error);

/* The decision table itself: stored against believed (REC_STATUS_ABSENT: the batch holds nothing). */
struct rec_policy_row {
	size_t size;
	enum rec_status stored, believed;
	enum rec_action action;
	int discrepancy;
	const char *reason; /* static text */
};
REC_PUBLIC size_t rec_policy_count(void);
/* REC_END: no such row. */
REC_PUBLIC int rec_policy_get(size_t row, struct rec_policy_row *ret_row);

/* ---- Watching ------------------------------------------------------------------------------------ */

/* Keeps a result per task and tells what changed. The caller waits and says "look":
 *
 *     for (;;) {
 *             struct pollfd p = {rec_watcher_descriptor(w), POLLIN, 0};
 *             poll(&p, 1, rec_watcher_timeout_ms(w));
 *             rec_watcher_look(w, tell, context, NULL, &error);
 *     }
 */
struct rec_watcher;

enum rec_watch_kind {
	REC_WATCH_ALL = 0, /* as rec_check_all */
	REC_WATCH_TASKS = 1,
	REC_WATCH_BLOCKERS = 2,
};

struct rec_watcher_options {
	size_t size;
	enum rec_watch_kind kind;
	const char *const *ids; /* NULL: every task, also those created later */
	size_t id_count;
	const struct rec_batch_state *state; /* what the batch believes to begin with; NULL: nothing */
	int only_believed;                   /* watch just the tasks that the batch holds */
	int apply;                           /* apply as rec_apply_... does; needs REC_OPEN_WRITE */
	const char *batch_id;                /* for the events of apply; may be NULL */
	int64_t rescan_interval_ms;          /* a full snapshot at least so often; 0: the default, 10 minutes */
};
typedef int rec_result_callback(void *context, const struct rec_result *result);

/* Several watchers may share a reconciler. Ids and state are copied. */
REC_PUBLIC int rec_watcher_new(struct reconciler *reconciler, const struct rec_watcher_options *options,
			       struct rec_watcher **ret_watcher, struct rec_error *error);
REC_PUBLIC struct rec_watcher *rec_watcher_free(struct rec_watcher *watcher);
/* Changes the belief about one task, seen by the next look; REC_STATUS_ABSENT forgets it. */
REC_PUBLIC int rec_watcher_believe(struct rec_watcher *watcher, const char *task_id, enum rec_status status,
				   struct rec_error *error);
/* Tells each result that changed since the last look: first every result but NONE without discrepancy, then each
 * change of any field, a return to NONE included. *ret_told (may be NULL) counts them. Nothing new: O(1); k changes:
 * O(k log N). */
REC_PUBLIC int rec_watcher_look(struct rec_watcher *watcher, rec_result_callback *callback, void *context,
				uint64_t *ret_told, struct rec_error *error);
/* Becomes readable when the store may have changed; owned by the reconciler; -1 where there is none. */
REC_PUBLIC int rec_watcher_descriptor(struct rec_watcher *watcher);
/* How long to wait for the descriptor before the next look: 0 at once, -1 for ever. Honours the check interval, and
 * after a wake-up the schedule of re-looks (a wake-up may come before the commit is visible). Rounded down. */
REC_PUBLIC int rec_watcher_timeout_ms(struct rec_watcher *watcher);

/* ---- Tasks --------------------------------------------------------------------------------------- */

struct rec_blocker_info {
	size_t size;
	const char *id, *task_id, *question, *answer;
	const char *status; /* "OPEN", "ANSWERED", "RESOLVED", or a foreign value as it stands */
	const char *created_at, *answered_at;
	const char *created_by; /* "human", "agent", "system" */
};

struct rec_task_info {
	size_t size;
	const char *id; /* rec_task_create: NULL makes a UUID */
	const char *title;
	const char *description;
	const char *status; /* rec_task_create: NULL means READY. A foreign value is shown as it stands */
	int64_t priority;   /* 0 first */
	const char *const *depends_on;
	size_t depends_on_count;
	const char *parent_id;
	const char *external_url;
	const char *created_at, *updated_at; /* rec_task_create: NULL means now */
	/* What follows is filled in by the library and ignored when handed in. */
	int is_leaf;                                    /* 0: other tasks have it as their parent */
	int claimed;                                    /* a conductor runs it */
	uint32_t attempt;                               /* of the current or last claim; 0: never claimed */
	const struct rec_blocker_info *const *blockers; /* oldest first; NULL where they were not asked for */
	size_t blocker_count;
};
typedef int rec_task_callback(void *context, const struct rec_task_info *task);

/* Creates a task, durably and with an event. ret_id: at least REC_ID_BYTES_MAX + 1 bytes, or NULL. Parent and
 * dependencies must exist. REC_EXISTS: the id is taken. REC_E_INVALID, REC_E_LIMIT: a bad value. */
REC_PUBLIC int rec_task_create(struct reconciler *reconciler, const struct rec_task_info *task, char *ret_id,
			       struct rec_error *error);
/* One task with its blockers, in memory of its own: end it with rec_task_info_free. REC_NOT_FOUND. */
REC_PUBLIC int rec_task_get(struct reconciler *reconciler, const char *task_id, struct rec_task_info **ret_task,
			    struct rec_error *error);
REC_PUBLIC struct rec_task_info *rec_task_info_free(struct rec_task_info *task);

struct rec_list_query {
	size_t size;
	unsigned status_mask; /* 1u << status ...; 0: all, foreign ones too */
	const char *after;    /* ids greater than this; NULL: from the start */
	uint64_t limit;       /* 0: none */
	int blockers;         /* with their blockers */
};
/* Calls back for each task in id order (bytewise). Streams. query NULL: everything. */
REC_PUBLIC int rec_task_list(struct reconciler *reconciler, const struct rec_list_query *query,
			     rec_task_callback *callback, void *context, struct rec_error *error);
/* Sets a status, durably and with an event; composite parents follow. Without force the change must be possible by
 * legal transitions: else REC_REFUSED. *ret_current (may be NULL): what the task had, also on REC_REFUSED. force
 * writes any status, and the event says so. From a status to itself: 0, nothing written. REC_NOT_FOUND. */
REC_PUBLIC int rec_task_set_status(struct reconciler *reconciler, const char *task_id, enum rec_status status,
				   int force, enum rec_status *ret_current, struct rec_error *error);
/* FAILED -> READY. REC_NOT_FOUND; REC_REFUSED and *ret_current (may be NULL) if it is not FAILED. */
REC_PUBLIC int rec_task_retry(struct reconciler *reconciler, const char *task_id, enum rec_status *ret_current,
			      struct rec_error *error);

enum rec_change {
	REC_CHANGE_TITLE = 1,
	REC_CHANGE_DESCRIPTION = 2,
	REC_CHANGE_PRIORITY = 4,
	REC_CHANGE_DEPENDS_ON = 8,
	REC_CHANGE_PARENT = 16,
	REC_CHANGE_EXTERNAL_URL = 32,
};
/* Writes those fields (enum rec_change, or-ed) of *task to the task task->id, durably and with an event.
 * REC_NOT_FOUND; REC_E_INVALID also for a parent below the task itself or a dependency that does not exist. */
REC_PUBLIC int rec_task_edit(struct reconciler *reconciler, const struct rec_task_info *task, unsigned changes,
			     struct rec_error *error);
/* With everything that belongs to it. REC_NOT_FOUND; REC_REFUSED while claimed. */
REC_PUBLIC int rec_task_delete(struct reconciler *reconciler, const char *task_id, struct rec_error *error);

/* ---- Blockers ------------------------------------------------------------------------------------ */

typedef int rec_blocker_callback(void *context, const struct rec_blocker_info *blocker);

/* blocker: task_id (NULL: it is about no task) and question; id NULL makes a UUID, created_by NULL means "human";
 * answer, status and times are ignored. ret_id: at least REC_ID_BYTES_MAX + 1 bytes, or NULL. REC_NOT_FOUND: no such
 * task. REC_EXISTS. REC_E_UNSUPPORTED: about no task, in a store that keeps blockers with their tasks. */
REC_PUBLIC int rec_blocker_create(struct reconciler *reconciler, const struct rec_blocker_info *blocker, char *ret_id,
				  struct rec_error *error);
/* OPEN -> ANSWERED; the task is untouched until it is reconciled. REC_NOT_FOUND; REC_REFUSED if RESOLVED. */
REC_PUBLIC int rec_blocker_answer(struct reconciler *reconciler, const char *blocker_id, const char *answer,
				  struct rec_error *error);
/* ANSWERED -> RESOLVED. REC_NOT_FOUND; REC_REFUSED if OPEN; already RESOLVED: 0, nothing written. */
REC_PUBLIC int rec_blocker_resolve(struct reconciler *reconciler, const char *blocker_id, struct rec_error *error);
/* Calls back for that one blocker. REC_NOT_FOUND. */
REC_PUBLIC int rec_blocker_get(struct reconciler *reconciler, const char *blocker_id, rec_blocker_callback *callback,
			       void *context, struct rec_error *error);
/* Of one task, or of all (task_id NULL); oldest first. open_only leaves out released ones. */
REC_PUBLIC int rec_blocker_list(struct reconciler *reconciler, const char *task_id, int open_only,
				rec_blocker_callback *callback, void *context, struct rec_error *error);

/* ---- Links --------------------------------------------------------------------------------------- */

/* The tie between a task and an address of a tracker (a GitHub issue, say), with what is known of it. `reconciler
 * sync`, and a running batch, ask the trackers. */
struct rec_link_info {
	size_t size;
	const char *task_id, *url;
	int implicit;                           /* the task's external_url, not a link that somebody made */
	const char *state;                      /* "open", "closed", "merged"; "unknown": never observed */
	const char *kind;                       /* "issue", "pull_request", "unknown" */
	const char *reason;                     /* why it was closed, in the tracker's words; or NULL */
	const char *tracker_time, *observed_at; /* of the last observation: the tracker's time, and ours; or NULL */
	const char *moved_to;                   /* the address it has now, if it has moved; or NULL */
	int gone;                               /* it is no more */
};
typedef int rec_link_callback(void *context, const struct rec_link_info *link);

/* Ties a task to an address, with an event. REC_NOT_FOUND: no such task; REC_EXISTS; REC_E_INVALID also for a user or a
 * password before the address's host (for external_url, too; no message shows it). Needs REC_OPEN_WRITE. */
REC_PUBLIC int rec_link_add(struct reconciler *reconciler, const char *task_id, const char *url,
			    struct rec_error *error);
/* Takes a link away, or all that were made of the task (url NULL), with an event. REC_NOT_FOUND: there is none; an
 * implicit one goes with the task's external_url. Needs REC_OPEN_WRITE. */
REC_PUBLIC int rec_link_remove(struct reconciler *reconciler, const char *task_id, const char *url,
			       struct rec_error *error);
/* Of one task, or of all (task_id NULL); by task, then address. */
REC_PUBLIC int rec_link_list(struct reconciler *reconciler, const char *task_id, rec_link_callback *callback,
			     void *context, struct rec_error *error);

/* ---- Events -------------------------------------------------------------------------------------- */

#define REC_NO_NUMBER INT64_MIN /* a number that an event does not have */

/* One line of the audit log. */
struct rec_event_info {
	size_t size;
	int64_t seq;
	const char *time, *event;
	const char *batch_id, *task_id;
	const char *action, *reason, *source;
	const char *current_status, *external_status, *believed;
	const char *observation, *detail;
	int64_t attempt, blockers_total, blockers_open, blockers_new, exit_code, exit_signal, survivors;
};
typedef int rec_event_callback(void *context, const struct rec_event_info *event);
/* Events with a seq greater than `since`, in order, at most `limit` (0: all). Streams. */
REC_PUBLIC int rec_event_list(struct reconciler *reconciler, int64_t since, uint64_t limit,
			      rec_event_callback *callback, void *context, struct rec_error *error);

typedef int rec_difference_callback(void *context, int64_t seq, const char *sentence);
/* Decides every recorded decision again from its recorded inputs and tells each difference. *ret_checked and
 * *ret_different (may be NULL) count. Both are fine if there is nothing to check. */
REC_PUBLIC int rec_event_verify(struct reconciler *reconciler, rec_difference_callback *callback, void *context,
				uint64_t *ret_checked, uint64_t *ret_different, struct rec_error *error);

/* ---- What can never heal by itself ---------------------------------------------------------------- */

struct rec_finding_info {
	size_t size;
	const char *kind;     /* "dependency-ring", "in-progress-without-run", ... */
	const char *task_id;  /* NULL: it is about the store */
	const char *sentence; /* what is wrong */
	const char *command;  /* the command that mends it */
};
typedef int rec_finding_callback(void *context, const struct rec_finding_info *finding);
/* Read only. *ret_count (may be NULL) counts findings. O(tasks + dependencies). */
REC_PUBLIC int rec_diagnose(struct reconciler *reconciler, rec_finding_callback *callback, void *context,
			    uint64_t *ret_count, struct rec_error *error);

/* ---- Export and import ---------------------------------------------------------------------------- */

enum rec_export_form {
	REC_EXPORT_ARRAY = 0, /* one JSON array */
	REC_EXPORT_LINES = 1, /* a JSON object a line */
};
typedef int rec_write_callback(void *context, const char *bytes, size_t length);
/* Writes tasks as JSON, blockers and links included. ids NULL: all, in id order. Streams. REC_NOT_FOUND: one of the ids
 * does not exist; what was written until then is incomplete. */
REC_PUBLIC int rec_export(struct reconciler *reconciler, const char *const *ids, size_t id_count,
			  enum rec_export_form form, rec_write_callback *callback, void *context,
			  struct rec_error *error);

/* Reads tasks as JSON, an array or lines, of any size, all or nothing. Between rec_importer_new and finish or free
 * the store is locked for other writers, and every other function of that reconciler fails (REC_E_INVALID). */
struct rec_importer;

struct rec_import_settings {
	size_t size;
	int ignore_unknown; /* unknown keys are skipped, not refused */
	int keep_missing;   /* a parent or dependency may be missing */
	int dry_run;        /* checks everything and writes nothing */
};
REC_PUBLIC int rec_importer_new(struct reconciler *reconciler, const struct rec_import_settings *settings,
				struct rec_importer **ret_importer, struct rec_error *error);
/* Any piece of the input, cut anywhere. A failure ends the import (nothing is written) and is repeated by every
 * later call; it names line, column and key. */
REC_PUBLIC int rec_importer_feed(struct rec_importer *importer, const char *bytes, size_t length,
				 struct rec_error *error);
/* Commits. *ret_tasks (may be NULL): how many tasks were imported. */
REC_PUBLIC int rec_importer_finish(struct rec_importer *importer, uint64_t *ret_tasks, struct rec_error *error);
/* Rolls back what was not finished. Returns NULL. */
REC_PUBLIC struct rec_importer *rec_importer_free(struct rec_importer *importer);

#ifdef __cplusplus
}
#endif
#endif
