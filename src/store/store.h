/* store.h - the store contract: where tasks, blockers, claims, batches and events are durable.
 *
 * One vtable (struct rec_store_ops), thin wrappers below that assert the contract and add what is the same
 * for every backend (argument checks, roll-up of parents, group handling). Backends: memory (the oracle), sqlite, dir
 * (files), postgresql. Every backend passes tests/contract unchanged.
 *
 * Results: see base/error.h. Any call may return REC_E_BUSY (locked for longer than busy_timeout_ms),
 * REC_E_IO, REC_E_FULL, REC_E_CORRUPT, REC_E_NOMEM, REC_E_PERMISSION; after any negative result nothing of
 * that call (or, inside a group, of the whole group) is stored, and the store can be used again unless the
 * code is REC_E_CORRUPT. (Where no memory at all is left, a lock may stay until the handle is used again or closed.) A
 * callback's result that ends a read is that read's result. A callback must not call the store it is called from
 * (REC_E_BUG). Reads outside a group see one consistent snapshot each; inside a group they see the group's own writes,
 * and nobody else can write until it ends.
 *
 * Threads: a store belongs to one thread at a time; several stores may be open on the same place.
 */
#ifndef REC_STORE_STORE_H
#define REC_STORE_STORE_H

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "core/record.h"

struct rec_store;

enum rec_store_mode {
	REC_STORE_READ,  /* never writes a byte, works on a database it has never seen */
	REC_STORE_WRITE, /* refuses (REC_E_UNINITIALISED) a store without our tables */
	REC_STORE_INIT,  /* makes our tables, and the whole store where there is none; idempotent */
};

struct rec_store_options {
	enum rec_store_mode mode;
	const struct rec_allocator *allocator; /* NULL: libc */
	const struct rec_clock *clock;         /* NULL: the real one. For created_at and the like */
	int64_t busy_timeout_ms;               /* 0: the default, 5,000 */
	bool pooled; /* PostgreSQL: behind a pooler that gives each transaction another session */
};

/* ---- Opening ------------------------------------------------------------------------------------ */

/* Opens "sqlite:PATH", "dir:PATH" or "memory:" (or, where built, "postgresql://..." or a
 * string of keys and values for libpq); a bare path is SQLite if it
 * is a file (or does not exist and mode is INIT), and a directory is searched for .reconciler/state.db, then
 * .codeframe/state.db. REC_E_NO_STORE, REC_E_NOT_A_STORE, REC_E_UNINITIALISED, REC_E_VERSION, REC_E_SCHEMA,
 * REC_E_NETWORK_FS, ... */
int rec_store_open(const char *uri, const struct rec_store_options *options, struct rec_store **ret_store,
		   struct rec_error *error);
/* Is it one for PostgreSQL, by its form: an address, or keys and values? */
bool rec_store_uri_is_postgres(const char *uri);
struct rec_store *rec_store_close(struct rec_store *s); /* NULL is fine; returns NULL; an open group is rolled back */
/* Where a store is searched for when nobody names one: from `directory` up to the root, the nearest that
 * has .reconciler/state.db or (second) .codeframe/state.db. Appends its path. REC_NOT_FOUND. */
int rec_store_discover(const char *directory, struct rec_buffer *ret_path, struct rec_error *error);

struct rec_store_info {
	const char *backend;   /* "sqlite", "memory", "dir", "postgresql" */
	const char *location;  /* absolute path of the state file, or the URI without secrets */
	const char *directory; /* where the state file is; NULL for memory. rec-run/, reconciler.conf live here */
	bool attached;         /* our tables are there */
	bool shared;           /* several hosts may work on it: conductors need leases */
	bool codeframe;        /* the place is a codeframe workspace (has .codeframe, or foreign tables only) */
	enum rec_store_mode mode;
};
void rec_store_info(const struct rec_store *s, struct rec_store_info *ret_info); /* lives as long as s */
/* What the store was opened with, for whoever works on it; NULL: libc's. */
const struct rec_allocator *rec_store_allocator(const struct rec_store *s);

/* From now on calls wait for a server on the network for at most so long in all, from now; INT64_MAX, as at first: as
 * long as the server may be thought to live. What is cut off so is REC_E_BUSY, and the connection is given up. Looking
 * up the server's name is not counted. */
void rec_store_patience(struct rec_store *s, int64_t us);

/* ---- Warnings: bad rows are never the end of a read ------------------------------------------------ */

/* One bad row or value met during a read. `shown` is the value for a person (cut, escaped). */
struct rec_warning {
	struct rec_slice task_id; /* may be absent (an id that is NULL or no text) */
	const char *column;       /* "status", "id", "title", "depends_on", "created_at", ... static text */
	const char *problem;      /* "is NULL", "is not text", "is not a list of texts", ... static text */
	const char *shown;
};
typedef void rec_warning_fn(void *context, const struct rec_warning *warning);
/* Where warnings of later reads go; NULL: nowhere. Each (id, column) is told once to each listener: setting one
 * (again) forgets what was told. */
void rec_store_on_warning(struct rec_store *s, rec_warning_fn *fn, void *context);
/* Who listens now, so that a borrower can set it again. */
void rec_store_warning_listener(const struct rec_store *s, rec_warning_fn **ret_fn, void **ret_context);

/* ---- Reads -------------------------------------------------------------------------------------- */

/* What the snapshot should know of each task. Status always. Ask only for what you use. */
enum rec_snapshot_fields {
	REC_SNAPSHOT_BLOCKERS = 1,     /* blockers_total, _open, _new; only for BLOCKED tasks unless _ALL_BLOCKERS */
	REC_SNAPSHOT_ALL_BLOCKERS = 2, /* ... for every task */
	REC_SNAPSHOT_ATTEMPT = 4,      /* attempt, claimed */
	REC_SNAPSHOT_PRIORITY = 8,     /* priority, is_leaf */
};

struct rec_fact {
	uint8_t status; /* enum rec_status; ABSENT: no such task; UNRECOGNISED: see rec_snapshot_raw */
	bool claimed, is_leaf;
	uint32_t attempt;
	int32_t priority; /* clamped */
	uint32_t blockers_total, blockers_open;
	uint32_t blockers_new; /* released, and not among those recorded by the task's last claim (all released
				* ones if it was never claimed) */
};

/* Filled by rec_store_snapshot, released by rec_snapshot_release. Its own ids and the raw statuses end with a NUL. */
struct rec_snapshot {
	const struct rec_allocator *allocator;
	size_t count;
	struct rec_fact *facts;      /* [count], in the order of the ids */
	const struct rec_slice *ids; /* [count]: the caller's array, or (all) the snapshot's own in bytewise order */
	struct rec_arena arena;      /* own ids and raw statuses */
	void *own_ids;
	struct rec_raw_status {
		uint32_t index;
		struct rec_slice text;
	} * raws; /* sorted by index */
	size_t raw_count, raw_capacity;
};
/* ids == NULL: every task. One read transaction; the number of queries does not depend on count; a short
 * list in a large store costs lookups (O(count log N)), a long one a scan (O(N + count)). At most 48 bytes
 * an id while it runs, 28 after. Duplicate ids get equal facts. Ids that no task can have are ABSENT. */
int rec_store_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
		       struct rec_snapshot *ret_snapshot, struct rec_error *error);
void rec_snapshot_release(struct rec_snapshot *snapshot);
/* The raw text of an UNRECOGNISED status (shown form if it was not text). */
struct rec_slice rec_snapshot_raw(const struct rec_snapshot *snapshot, size_t index);

/* One task, with its blockers; strings live in `arena`. REC_NOT_FOUND. */
int rec_store_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *ret_task,
		  struct rec_error *error);
/* Several, in the order of their ids; one that is not there is all zero (its id absent). One question to a server,
 * whatever the count. Outside a group the tasks may be of different moments, each of one. */
int rec_store_get_many(struct rec_store *s, const struct rec_slice *ids, size_t count, struct rec_arena *arena,
		       struct rec_task *ret_tasks, struct rec_error *error);

/* Calls fn for each task in id order; the task lives until fn returns. fn returns 0 to go on, else the
 * listing ends with that result. Streams: memory does not grow with the number of tasks. Not for use
 * while writing. fn must not call the store. */
typedef int rec_task_fn(void *context, const struct rec_task *task);
struct rec_list_options {
	unsigned status_mask;   /* 1u << status ...; 0: all, unrecognised ones too */
	struct rec_slice after; /* ids greater than this; data == NULL: from the start */
	uint64_t limit;         /* 0: none */
	bool blockers;          /* fill in task->blockers */
	bool brief;             /* only id, title, status, priority, depends_on, parent_id, is_leaf, created_at */
};
int rec_store_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		   struct rec_error *error);

/* Up to `capacity` ids that begin with `prefix` (bytewise, literal), in order. *ret_count tells how many
 * were found (at most capacity). Ids live in arena. */
int rec_store_find_prefix(struct rec_store *s, struct rec_slice prefix, struct rec_arena *arena, struct rec_slice *ids,
			  size_t capacity, size_t *ret_count, struct rec_error *error);
/* The same for blockers. */
int rec_store_find_blocker_prefix(struct rec_store *s, struct rec_slice prefix, struct rec_arena *arena,
				  struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error);

/* Blockers of one task (or all: task_id.data == NULL), oldest first; open_only leaves out released ones. */
typedef int rec_blocker_fn(void *context, const struct rec_blocker *blocker);
int rec_store_blockers(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn, void *context,
		       struct rec_error *error);
int rec_store_blocker_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena,
			  struct rec_blocker *ret_blocker, struct rec_error *error); /* REC_NOT_FOUND */

/* ---- Groups ------------------------------------------------------------------------------------- */

/* Several writes as one durable step (group commit). begin waits for the writer's lock; what is read until
 * commit is the newest state and stays so. Groups do not nest (REC_E_BUG). A write outside a group is a
 * group of its own. Positive outcomes inside a group leave the group usable; a negative result of any call
 * inside it rolls everything back at once, and until the group is ended by rollback or commit every further
 * call (commit too, which then ends it) returns that same code. REC_E_READ_ONLY, REC_E_UNINITIALISED: no
 * group here. */
int rec_store_begin(struct rec_store *s, struct rec_error *error);
int rec_store_commit(struct rec_store *s, struct rec_error *error); /* negative: everything was rolled back */
void rec_store_rollback(struct rec_store *s);
bool rec_store_in_group(const struct rec_store *s);

/* From now on a commit does not wait for the disk: what it wrote is seen by everybody at once and survives the death of
 * this process, a loss of power only once rec_store_sync has returned 0. Commits become durable in their order, none
 * without those before it, whoever made them. Closing syncs, too. A store that cannot keep the two apart goes on as
 * before: commits are durable, nothing is ever unsynced. 0, or what the store says. */
int rec_store_sync_apart(struct rec_store *s, struct rec_error *error);
bool rec_store_unsynced(const struct rec_store *s); /* something was committed since the last sync */
/* Waits for the disk, if anything is unsynced. REC_E_IO: what was committed is there for everybody, and a loss of power
 * may undo it. REC_E_BUG inside a group. */
int rec_store_sync(struct rec_store *s, struct rec_error *error);

/* ---- Writes ------------------------------------------------------------------------------------- */
/* All of these take UTF-8 within the limits of reconciler.h (REC_E_INVALID names what is wrong), and no new address
 * with a user or a password before its host (no message shows such a one); what a store holds already stays as it is.
 */

/* Creates a task with its blockers. Missing values are the caller's business, except: created_at and
 * updated_at absent -> now, and a blocker's created_at -> now, created_by -> "human". is_leaf is stored as
 * given; giving a parent_id makes the parent composite (is_leaf = 0), and rolls it up. A parent and
 * dependencies that do not exist are taken as they are. REC_EXISTS: the task's id or that of one of its
 * blockers is taken. REC_E_INVALID also if another task has that external_url. */
int rec_store_create(struct rec_store *s, const struct rec_task *task, struct rec_error *error);
/* The same for import: the task is stored exactly as given and no other row is touched (no composite mark, no
 * roll-up), so that what was exported comes back whatever the order. */
int rec_store_create_as_given(struct rec_store *s, const struct rec_task *task, struct rec_error *error);
/* The mark alone, for the end of an import: is_leaf = 0 if the task has children, else 1. REC_NOT_FOUND. */
int rec_store_mark_composite(struct rec_store *s, struct rec_slice id, struct rec_error *error);

enum rec_edit_fields {
	REC_EDIT_TITLE = 1,
	REC_EDIT_DESCRIPTION = 2,
	REC_EDIT_PRIORITY = 4,
	REC_EDIT_DEPENDS_ON = 8,
	REC_EDIT_PARENT = 16,
	REC_EDIT_EXTERNAL_URL = 32,
};
/* Writes those fields of *task to the task with id task->id. A moved task (REC_EDIT_PARENT) makes the new parent
 * composite and the old one a leaf again if that was its last child, and rolls both up. REC_NOT_FOUND.
 * REC_E_INVALID also for a task that would be its own parent or an external_url that another task has. */
int rec_store_edit(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error);
/* Deletes a task and everything of it (blockers, runs and other rows that point at it). REC_NOT_FOUND;
 * REC_REFUSED while claimed. */
int rec_store_delete(struct rec_store *s, struct rec_slice id, struct rec_error *error);

/* A parent that the roll-up moved. */
struct rec_rollup_change {
	struct rec_slice id;
	enum rec_status from, to;
};
typedef void rec_rollup_fn(void *context, const struct rec_rollup_change *change);
/* Who is told of the roll-ups of every later write that takes no on_rollup of its own (create, edit, delete,
 * claim, finish, release); NULL: nobody. fn must not call the store. */
void rec_store_on_rollup(struct rec_store *s, rec_rollup_fn *fn, void *context);
/* Compare-and-set from -> to, then the roll-up of its parents. Legality of the path is checked by the
 * caller (rec_transition_path), not here. from == REC_STATUS_UNRECOGNISED matches any value that is none of
 * the seven. on_rollup may be NULL. REC_NOT_FOUND; REC_CONFLICT with *ret_now the present status (may be
 * NULL). from == to writes nothing, returns 0. */
int rec_store_set_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			 enum rec_status *ret_now, rec_rollup_fn *on_rollup, void *context, struct rec_error *error);

/* blocker->task_id must exist (REC_NOT_FOUND, which comes before REC_EXISTS), or be absent: a question that is about no
 * task, which some stores do not keep (REC_E_UNSUPPORTED). status OPEN unless given otherwise
 * (import). created_at absent -> now; created_by ("human", "agent", "system") absent -> "human". */
int rec_store_blocker_create(struct rec_store *s, const struct rec_blocker *blocker, struct rec_error *error);
/* OPEN -> ANSWERED (an ANSWERED one may be answered again). REC_NOT_FOUND; REC_REFUSED if RESOLVED. The task is
 * untouched. */
int rec_store_blocker_answer(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error);
/* ANSWERED -> RESOLVED. REC_NOT_FOUND; REC_REFUSED if OPEN; an already RESOLVED one: 0, nothing written. */
int rec_store_blocker_resolve(struct rec_store *s, struct rec_slice id, struct rec_error *error);

/* ---- Events ------------------------------------------------------------------------------------- */

/* Appends (time absent -> now; seq is given by the store). */
int rec_store_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error);
/* The seq of the last event that was added through this handle; 0: none was. */
int64_t rec_store_event_seq(const struct rec_store *s);
typedef int rec_event_fn(void *context, const struct rec_event *event);
/* Events with seq > since in order, at most limit (0: all). fn as for rec_store_list. */
int rec_store_events(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		     struct rec_error *error);

/* ---- Claims ------------------------------------------------------------------------------------- */

struct rec_claim {
	int64_t claim_id; /* unique in the store for ever; given by claim() */
	struct rec_slice task_id, batch_id /* optional */, owner /* who: "host:pid:..." for people */;
	uint32_t attempt; /* given by claim(): the task's last attempt + 1 */
	struct rec_slice claimed_at;
	bool child_owns_run;   /* do not make or close the RUNNING runs row */
	int64_t lease_left_us; /* given by claims(): see rec_store_lease; INT64_MAX on a store that is not shared */
};
/* READY -> IN_PROGRESS and the claim, or nothing: REC_NOT_FOUND, REC_CONFLICT (not READY, claimed or not;
 * *ret_now, which may be NULL), REC_EXISTS (READY but still claimed). Records which blockers are released now, and
 * (unless child_owns_run) makes the RUNNING runs row. Rolls parents up. Fills in claim->claim_id and ->attempt. */
int rec_store_claim(struct rec_store *s, struct rec_claim *claim, enum rec_status *ret_now, struct rec_error *error);
/* Several tasks in one group and in their order, each claimed as `like` says (but for its task_id, claim_id and
 * attempt) or left alone, and so told in ret[i]. One question to a server, whatever the count. Parents are rolled up
 * behind the last claim: a parent that is itself among the ids is claimed as it was. A task's second place among them
 * is REC_CONFLICT (it is in progress by then). What fails claims nothing. */
struct rec_claimed {
	int result; /* 0, or REC_NOT_FOUND, REC_CONFLICT, REC_EXISTS as of rec_store_claim; the rest is for 0 */
	uint32_t attempt;
	int64_t claim_id;
};
int rec_store_claim_many(struct rec_store *s, const struct rec_claim *like, const struct rec_slice *ids, size_t count,
			 struct rec_claimed *ret, struct rec_error *error);
/* Ends the attempt: removes the claim, records the outcome, closes the runs row, and writes `to` only if
 * the status is still IN_PROGRESS (to == ABSENT: leave it), rolling parents up. REC_NOT_FOUND: no such claim.
 * *ret_status (may be NULL) is the status afterwards, ABSENT if the task is gone. */
struct rec_finish {
	int64_t claim_id;
	enum rec_status to;
	struct rec_slice outcome; /* "done", "failed", "blocked", "lost", ... for the attempt's record */
	bool has_exit_code, has_exit_signal;
	int64_t exit_code, exit_signal, survivors;
};
int rec_store_finish(struct rec_store *s, const struct rec_finish *finish, enum rec_status *ret_status,
		     struct rec_error *error);
/* Gives a claim back that never started: IN_PROGRESS -> READY if still so, the attempt number is reused,
 * the runs row removed, the released blockers it recorded forgotten (those of the attempt before count again).
 * REC_NOT_FOUND. */
int rec_store_release(struct rec_store *s, int64_t claim_id, struct rec_error *error);
/* Another conductor answers for the attempt from now on: compare-and-set of the claim's owner (from.data == NULL: it
 * has none). Nothing else of it changes; the lease that counts for it is that of `owner` from now on, who has renewed
 * it before. Whoever takes over what somebody else left, to watch it or to call it lost, does this first.
 * REC_NOT_FOUND: no such claim; REC_CONFLICT: it is not `from`'s any more. */
int rec_store_claim_take(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			 struct rec_error *error);
typedef int rec_claim_fn(void *context, const struct rec_claim *claim);
int rec_store_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error);

/* Leases: on a store that hosts share, an owner of claims says from time to time that it is alive, in the time of the
 * store's own clock. Nobody but its own host touches the claims of an owner while its lease lasts. A lease binds no
 * write: who lost his claims to somebody else learns it from their ids, which are never used again. */

/* So long after a lease ran out, others take over. */
#define REC_LEASE_GRACE_US (INT64_C(10) * 1000000)

/* The owner's lease lasts from now for lease_us, whatever it was before. Not inside a group (REC_E_BUG): it waits for
 * no writer. REC_E_UNSUPPORTED where the store has no leases. */
int rec_store_renew(struct rec_store *s, struct rec_slice owner, int64_t lease_us, struct rec_error *error);
/* How long it still lasts; negative: since when it does not. REC_NOT_FOUND: there is none. */
int rec_store_lease(struct rec_store *s, struct rec_slice owner, int64_t *ret_left_us, struct rec_error *error);
/* Ids of tasks with a RUNNING row in codeframe's runs table (none on other stores). */
typedef int rec_id_fn(void *context, struct rec_slice id);
int rec_store_running_runs(struct rec_store *s, rec_id_fn *fn, void *context, struct rec_error *error);

/* ---- Batches ------------------------------------------------------------------------------------ */

/* A new batch, RUNNING. started_at absent -> now. REC_EXISTS. */
int rec_store_batch_create(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);
/* Texts live in `arena`. REC_NOT_FOUND. */
int rec_store_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena,
			struct rec_batch *ret_batch, struct rec_error *error);
/* All of them, oldest first (started_at, then id). fn as for rec_store_list. */
typedef int rec_batch_fn(void *context, const struct rec_batch *batch);
int rec_store_batches(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error);

/* Compare-and-set of the status. Leaving RUNNING sets ended_at to now; entering it (resume) clears ended_at and the
 * stop request and takes `owner` over (if not absent). REC_NOT_FOUND; REC_CONFLICT with *ret_now (may be NULL). */
int rec_store_batch_set_status(struct rec_store *s, struct rec_slice batch_id, enum rec_batch_status from,
			       enum rec_batch_status to, struct rec_slice owner, enum rec_batch_status *ret_now,
			       struct rec_error *error);
/* Asks a RUNNING batch to stop; a weaker request than the one that stands writes nothing. REC_NOT_FOUND; REC_REFUSED
 * if it has ended. */
int rec_store_batch_stop(struct rec_store *s, struct rec_slice batch_id, enum rec_batch_stop stop,
			 struct rec_error *error);
/* Writes batch->skipped, killed, requeued, errors and nothing else. REC_NOT_FOUND. */
int rec_store_batch_count(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);

/* Adds a task to a batch or replaces what the batch knows of it (its position stays). The task need not exist.
 * O(log N). REC_NOT_FOUND: no such batch. */
int rec_store_batch_task_put(struct rec_store *s, struct rec_slice batch_id, const struct rec_batch_task *task,
			     struct rec_error *error);
/* The tasks of a batch by position, then id. REC_NOT_FOUND: no such batch. */
typedef int rec_batch_task_fn(void *context, const struct rec_batch_task *task);
int rec_store_batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			  struct rec_error *error);

/* The belief of a batch that this store remembers: ours, or a codeframe batch_runs row (ids from task_ids in
 * order; statuses from results; no entry = READY). REC_NOT_FOUND; REC_E_INVALID if the row is malformed. */
typedef int rec_belief_fn(void *context, struct rec_slice id, enum rec_status believed);
int rec_store_batch_belief(struct rec_store *s, struct rec_slice batch_id, rec_belief_fn *fn, void *context,
			   struct rec_error *error);

/* ---- Links and trackers ------------------------------------------------------------------------- */
/* What writes: REC_E_UNSUPPORTED where the backend keeps no links; REC_E_UNINITIALISED on a store of ours that is older
 * than links (`init` adds what is missing). What reads tells of none there. Nothing here enters the change feed. */

/* Ties a task to an address (1 to REC_LINK_URL_BYTES_MAX bytes, no blanks, no control characters). An address that was
 * linked implicitly keeps what is known of it. REC_NOT_FOUND: no such task; REC_EXISTS: tied already. */
int rec_store_link_put(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error);
/* Takes an explicit link away, with all that was known of it; url.data == NULL: all of the task's. An external_url
 * stays, and with it the implicit link. REC_NOT_FOUND: there is none. */
int rec_store_link_remove(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error);
/* The links of one task (or of all: task_id.data == NULL), by task id, then address: those made by link_put, and each
 * task's external_url that is the address of an issue or a pull request (rec_link_kind_of_url). An address that is
 * both comes once, as explicit. Streams. fn as for rec_store_list. A store that is older than links has implicit ones,
 * never observed. */
typedef int rec_link_fn(void *context, const struct rec_link *link);
int rec_store_links(struct rec_store *s, struct rec_slice task_id, rec_link_fn *fn, void *context,
		    struct rec_error *error);
/* Remembers what `link` says below `implicit` about the link (task_id, url); observed_at absent -> now, once there is a
 * state. REC_NOT_FOUND, and nothing is kept, if that is no link of the task now: neither explicit nor its external_url.
 */
int rec_store_link_observed(struct rec_store *s, const struct rec_link *link, struct rec_error *error);

/* What a tracker's helper wants to be given back next time: opaque texts under keys of its own. `value` absent: forget
 * it. Keys are at most REC_CURSOR_KEY_BYTES_MAX bytes, values REC_VALIDATOR_BYTES_MAX; the tracker's name is an id. A
 * cursor that moves on passes over the news of what is no link at that moment, so whatever is still known of such a one
 * is forgotten: should it become a link again, nothing must call it unchanged. O(links). A name with a colon is no
 * tracker's, but a list of our own that is kept here; nothing is forgotten for it. O(1). */
int rec_store_tracker_cursor_put(struct rec_store *s, struct rec_slice tracker, struct rec_slice key,
				 struct rec_slice value, struct rec_error *error);
/* In the order of the keys. */
typedef int rec_tracker_cursor_fn(void *context, struct rec_slice key, struct rec_slice value);
int rec_store_tracker_cursors(struct rec_store *s, struct rec_slice tracker, rec_tracker_cursor_fn *fn, void *context,
			      struct rec_error *error);

/* ---- Change feed -------------------------------------------------------------------------------- */

/* Where a consumer stands. Zero-initialise for "never looked": the first call then gives REC_RESCAN. */
struct rec_cursor {
	int64_t seq;
	uint64_t generation;
};
/* Calls fn with the id of every task that may have changed since the cursor (status, priority, depends_on,
 * is_leaf, insert, delete; its blockers; the end of its claim), own writes included, and moves the cursor to now. An
 * id may come more than once. Nothing new: fn is not called; O(1) whatever the number of tasks. REC_RESCAN (fn not
 * called, cursor moved to now): take a full snapshot; given when the cursor is zero, pruned away, the schema changed, a
 * trigger is gone, or the store has no feed of its own and something changed. If fn ends it, the cursor stays. Not
 * inside a group (REC_E_BUG): what a rollback takes back must not move a cursor. */
int rec_store_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		      struct rec_error *error);
/* The same inside a group, its own writes so far included; nobody else can write before it commits, so nothing is
 * missed in between. The cursor it moves counts only if the group commits. REC_RESCAN (cursor untouched): this cannot
 * be told here; ask rec_store_changes after the group. */
int rec_store_changes_in_group(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
			       struct rec_error *error);
/* A number that is another one once somebody else has committed anything (a stop request, say, which concerns no task;
 * own commits may change it too): while it stays the same nothing need be read again. O(1), cheaper than any read. A
 * store that cannot tell gives another number each time. */
int rec_store_stamp(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error);
/* A descriptor that becomes readable when the store may have changed; owned by the store; -1 where there is
 * none. rec_store_wake_drain empties it. The wake-up may come before the commit is visible: look at once,
 * then again after 50 us, doubling to 50 ms, until 2 s after the last wake-up (struct rec_relook). Opening counts as
 * one: what was written just before may become visible after the first look. */
int rec_store_wake_fd(struct rec_store *s, int *ret_fd, struct rec_error *error);
void rec_store_wake_drain(struct rec_store *s);

/* The re-look schedule as a pure value: when to look next. */
struct rec_relook {
	int64_t last_wake_us, next_us, step_us;
	bool own; /* only own commits were heard of */
};
void rec_relook_woken(struct rec_relook *r, int64_t now_us); /* a wake-up arrived: look now */
/* We committed, and drained the wake-ups after that: those of others from before are visible by now (a writer waits for
 * the one before it), so only one that began in that very moment can have been drained with ours. The pause doubles up
 * to the whole window, which makes 16 looks of 60. */
void rec_relook_committed(struct rec_relook *r, int64_t now_us);
void rec_relook_looked(struct rec_relook *r, int64_t now_us); /* plans the next look */
/* Microseconds until the next look; 0: now; -1: none planned. */
int64_t rec_relook_wait_us(const struct rec_relook *r, int64_t now_us);

/* ---- Care --------------------------------------------------------------------------------------- */

struct rec_gc {
	int64_t older_than_us; /* wall clock: rows older than this may go */
	bool dry_run;
	uint64_t changes, events, attempts; /* out: how many went (or would go) */
};
/* Prunes the change feed, events, ended attempts (never the last one of a task, so numbers go on and blockers_new
 * stays right). Consumers that fall behind the pruned feed get REC_RESCAN. A dry run writes nothing. */
int rec_store_gc(struct rec_store *s, struct rec_gc *gc, struct rec_error *error);

/* What is wrong with the store itself: missing triggers, indexes. fn gets a sentence for each. */
typedef int rec_problem_fn(void *context, const char *kind, const char *sentence);
int rec_store_problems(struct rec_store *s, rec_problem_fn *fn, void *context, struct rec_error *error);
/* Where a person mends what a warning tells about `id`: appends the absolute path of the task's file. false: tasks are
 * no files here. *ret_edit: what is in it is to be mended; else it cannot stay there (a directory, a pipe, no id's
 * name). */
bool rec_store_task_file(const struct rec_store *s, struct rec_slice id, struct rec_buffer *out, bool *ret_edit);

#endif
