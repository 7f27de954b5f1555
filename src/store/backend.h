/* backend.h - what a backend implements. Only store.c and the backends include this.
 *
 * A backend embeds struct rec_store as its first member. Every op is "must" unless marked "may" (NULL
 * allowed). Arguments were checked by the wrapper in store.c; a write op is only called inside a group
 * (the wrapper opens one around a single write), so a backend implements begin/commit/rollback and then
 * plain writes. After a negative result of any op inside a group the wrapper calls rollback at once (which must
 * be harmless when the backend has rolled back already), and no op before the next begin but close.
 * A positive outcome has written nothing.
 */
#ifndef REC_STORE_BACKEND_H
#define REC_STORE_BACKEND_H

#include <string.h>

#include "base/timestamp.h"
#include "store/store.h"

/* What claim_settle found. */
struct rec_settled {
	struct rec_slice task_id, parent; /* parent absent: none */
	enum rec_status before;           /* ABSENT: the task is gone */
};

/* A cursor's tracker that is none of the configuration, but a list of ours: no link is forgotten for it. */
static inline bool rec_cursor_is_ours(struct rec_slice tracker)
{
	return tracker.length && memchr(tracker.data, ':', tracker.length) != NULL;
}

struct rec_store_ops {
	const char *backend; /* "sqlite" */
	void (*close)(struct rec_store *s);
	void (*patience)(struct rec_store *s, int64_t us); /* may */

	/* may: blockers of no task (their task_id is absent); where not, the wrapper refuses them */
	bool keeps_loose_blockers;

	/* reads: as the wrappers of store.h */
	int (*snapshot)(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			struct rec_snapshot *out,
			struct rec_error *error); /* out is initialised, its facts reserved if ids are given; released
						   * by the wrapper on failure */
	int (*get)(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		   struct rec_error *error);
	/* may: where one question is cheaper than several; `out` is all zero, and so stays what is not there */
	int (*get_many)(struct rec_store *s, const struct rec_slice *ids, size_t count, struct rec_arena *arena,
			struct rec_task *out, struct rec_error *error);
	int (*list)(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		    struct rec_error *error);
	int (*find_prefix)(struct rec_store *s, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
			   struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error);
	int (*blockers)(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			void *context, struct rec_error *error);
	int (*blocker_get)(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_blocker *out,
			   struct rec_error *error);

	/* groups */
	int (*begin)(struct rec_store *s, struct rec_error *error);
	int (*commit)(struct rec_store *s, struct rec_error *error); /* on failure the backend has rolled back */
	void (*rollback)(struct rec_store *s);
	/* may, both or none */
	int (*sync_apart)(struct rec_store *s, struct rec_error *error);
	int (*sync)(struct rec_store *s, struct rec_error *error);

	/* writes, inside a group. None of them rolls parents up: the wrapper does, with the four below. Every
	 * created_at, updated_at, created_by, claimed_at and event time is present; updated_at (edit,
	 * write_status) and answered_at are made with rec_store_now. external_url is unique: REC_E_INVALID
	 * naming it and the task that has it. */
	int (*create)(struct rec_store *s, const struct rec_task *task, struct rec_error *error);
	int (*edit)(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error);
	int (*remove)(struct rec_store *s, struct rec_slice id, struct rec_error *error);
	/* compare-and-set of one row; REC_NOT_FOUND, REC_CONFLICT + *now */
	int (*write_status)(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			    enum rec_status *now, struct rec_error *error);
	/* parent_id of a task into `arena` (data == NULL: none) and its status; REC_NOT_FOUND */
	int (*parent)(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
		      enum rec_status *ret_status, struct rec_error *error);
	/* how many children by status, and how many with an unrecognised one */
	int (*children)(struct rec_store *s, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
			uint64_t *unrecognised, struct rec_error *error);
	/* is_leaf = 0 if it has children, 1 if none; updated_at stays (REC_NOT_FOUND is fine: a dangling
	 * parent_id) */
	int (*mark_composite)(struct rec_store *s, struct rec_slice id, struct rec_error *error);

	int (*blocker_create)(struct rec_store *s, const struct rec_blocker *blocker, struct rec_error *error);
	int (*blocker_answer)(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error);
	int (*blocker_resolve)(struct rec_store *s, struct rec_slice id, struct rec_error *error);
	int (*event_add)(struct rec_store *s, const struct rec_event *event, struct rec_error *error);
	int (*events)(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		      struct rec_error *error);

	/* claims: the status itself is written by the wrapper with write_status afterwards (READY -> IN_PROGRESS), so
	 * claim_add only adds the row (REC_EXISTS), records the released blockers, makes the runs row. */
	int (*claim_add)(struct rec_store *s, struct rec_claim *claim, struct rec_error *error);
	/* instead of claim_add (one of the two): all of it at once, the status too: 0, REC_NOT_FOUND, REC_CONFLICT (+
	 * *now), REC_EXISTS; the task's parent into `arena` (data == NULL: none), which the wrapper rolls up */
	int (*claim)(struct rec_store *s, struct rec_claim *claim, struct rec_arena *arena,
		     struct rec_slice *ret_parent, enum rec_status *now, struct rec_error *error);
	/* may, with claim: several at once, as rec_store_claim_many; parents[i] as of claim, absent and all of ret zero
	 * beforehand */
	int (*claim_many)(struct rec_store *s, const struct rec_claim *like, const struct rec_slice *ids, size_t count,
			  struct rec_arena *arena, struct rec_slice *parents, struct rec_claimed *ret,
			  struct rec_error *error);
	/* removes the claim, records the attempt (finish) or frees its number and forgets the blockers it recorded
	 * (release: finish == NULL), closes or removes the runs row; gives the task id. REC_NOT_FOUND */
	int (*claim_end)(struct rec_store *s, int64_t claim_id, const struct rec_finish *finish,
			 struct rec_arena *arena, struct rec_slice *ret_task_id, struct rec_error *error);
	/* instead of claim_end (one of the two): with it, `to` is written if the task is IN_PROGRESS and `to` is
	 * another status (ABSENT: none) */
	int (*claim_settle)(struct rec_store *s, int64_t claim_id, const struct rec_finish *finish, enum rec_status to,
			    struct rec_arena *arena, struct rec_settled *ret, struct rec_error *error);
	/* compare-and-set of the owner; from absent: it has none. REC_NOT_FOUND, REC_CONFLICT */
	int (*claim_take)(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			  struct rec_error *error);
	int (*claims)(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error);
	/* leases: may, both or none; outside a group. lease_left_us of claims: INT64_MIN for an owner without one */
	int (*renew)(struct rec_store *s, struct rec_slice owner, int64_t lease_us, struct rec_error *error);
	int (*lease)(struct rec_store *s, struct rec_slice owner, int64_t *ret_left_us,
		     struct rec_error *error); /* REC_NOT_FOUND */
	int (*running_runs)(struct rec_store *s, rec_id_fn *fn, void *context, struct rec_error *error); /* may */
	/* batches: may, all or none; one row each: the wrapper composes get and write inside one group */
	int (*batch_add)(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error); /* REC_EXISTS */
	int (*batch_get)(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena, struct rec_batch *out,
			 struct rec_error *error); /* REC_NOT_FOUND */
	/* everything but batch_id, options and started_at; the batch is there */
	int (*batch_write)(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);
	int (*batches)(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error);
	int (*batch_task_put)(struct rec_store *s, struct rec_slice batch_id, const struct rec_batch_task *task,
			      struct rec_error *error); /* REC_NOT_FOUND */
	int (*batch_tasks)(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			   struct rec_error *error); /* REC_NOT_FOUND */
	int (*batch_belief)(struct rec_store *s, struct rec_slice batch_id, rec_belief_fn *fn, void *context,
			    struct rec_error *error); /* may: REC_NOT_FOUND; only for batches that are not ours */

	/* links: may, all or none. links_ready: 0, or REC_E_UNINITIALISED where what they are kept in is missing; asked
	 * before each write of the four below */
	int (*links_ready)(struct rec_store *s, struct rec_error *error);
	/* REC_EXISTS: it is explicit already. The task is there. */
	int (*link_put)(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error);
	int (*link_remove)(struct rec_store *s, struct rec_slice task_id, struct rec_slice url,
			   struct rec_error *error); /* url absent: all explicit ones; REC_NOT_FOUND */
	/* Every explicit link of a task that exists, and every external_url that is not also one of these; the
	 * wrapper leaves out what is no issue's address. Rows of what is neither any more are passed over. */
	int (*links)(struct rec_store *s, struct rec_slice task_id, rec_link_fn *fn, void *context,
		     struct rec_error *error);
	/* REC_NOT_FOUND: neither an explicit link nor the task's external_url */
	int (*link_observed)(struct rec_store *s, const struct rec_link *link, struct rec_error *error);
	/* forgets what is known of what is no link now, too */
	int (*tracker_cursor_put)(struct rec_store *s, struct rec_slice tracker, struct rec_slice key,
				  struct rec_slice value, struct rec_error *error);
	int (*tracker_cursors)(struct rec_store *s, struct rec_slice tracker, rec_tracker_cursor_fn *fn, void *context,
			       struct rec_error *error);

	int (*changes)(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		       struct rec_error *error);
	int (*changes_in_group)(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
				struct rec_error *error);                                /* may */
	int (*stamp)(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error); /* may */
	int (*wake_fd)(struct rec_store *s, int *ret_fd, struct rec_error *error);       /* may: -1 */
	void (*wake_drain)(struct rec_store *s);                                         /* may */
	int (*gc)(struct rec_store *s, struct rec_gc *gc, struct rec_error *error); /* outside a group if dry_run */
	int (*problems)(struct rec_store *s, rec_problem_fn *fn, void *context, struct rec_error *error); /* may */
	void (*task_file)(const struct rec_store *s, struct rec_slice id, struct rec_buffer *out,
			  bool *ret_edit); /* may */
};

struct rec_store {
	const struct rec_store_ops *ops;
	const struct rec_allocator *allocator;
	const struct rec_clock *clock;
	struct rec_store_info info;
	int64_t busy_timeout_ms;
	bool in_group;                 /* the caller's view: true until commit or rollback, also after a failure */
	bool sync_apart, unsynced;     /* commits do not wait for the disk; one has not */
	bool in_callback;              /* a callback of the caller's is running */
	struct rec_error group_failed; /* .code: 0, or what a call inside the group failed with */
	rec_warning_fn *warn;
	void *warn_context;
	int64_t event_seq;         /* event_add notes here what the event got */
	uint64_t stamps;           /* given so far, where the backend has none */
	struct rec_warned *warned; /* which (id, column) were told already; bounded */
	rec_rollup_fn *on_rollup;
	void *rollup_context;
};

/* For constructors: fills in all of the above from the options (may be NULL) with the defaults; info.backend and
 * info.mode too. rec_store_close releases `warned`, then calls ops->close, which frees the rest. */
void rec_store_setup(struct rec_store *s, const struct rec_store_ops *ops, const struct rec_store_options *options);
/* The wall clock's time as text, in `buffer`. */
struct rec_slice rec_store_now(const struct rec_store *s, char buffer[REC_TIMESTAMP_BYTES]);
/* For backends: tell a warning once. `shown` is made from `value`. Costs nothing while nobody listens. */
void rec_store_warn(struct rec_store *s, struct rec_slice task_id, const char *column, const char *problem,
		    struct rec_slice value);
/* Snapshot filling. */
int rec_snapshot_reserve(struct rec_snapshot *out, size_t count, struct rec_error *error); /* facts, all ABSENT */
int rec_snapshot_add_raw(struct rec_snapshot *out, size_t index, struct rec_slice text, struct rec_error *error);

/* Raws may be added in any order; the wrapper sorts them. */

/* Constructors; what `path` may be is the backend's business. */
int rec_store_memory_open(const char *name, const struct rec_store_options *options, struct rec_store **ret_store,
			  struct rec_error *error);
/* A second handle on the data of a memory store, for tests of concurrency. It sees committed state only; a
 * begin while another handle is in a group is REC_E_BUSY at once. The data lives until the last handle is
 * closed, in the memory of the first one's allocator. */
int rec_store_memory_share(struct rec_store *store, const struct rec_store_options *options,
			   struct rec_store **ret_second, struct rec_error *error);
/* A directory of task files (files.h). */
int rec_store_files_open(const char *path, const struct rec_store_options *options, struct rec_store **ret_store,
			 struct rec_error *error);
int rec_store_sqlite_open(const char *path, const struct rec_store_options *options, struct rec_store **ret_store,
			  struct rec_error *error);
/* `uri`: as libpq takes it (postgresql://...), or "postgresql:" and keys with values. */
int rec_store_postgres_open(const char *uri, const struct rec_store_options *options, struct rec_store **ret_store,
			    struct rec_error *error);

#endif
