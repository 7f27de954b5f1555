/* memory.h - what the files of the memory backend share: the data that several handles may look at, and its
 * rows. */
#ifndef REC_STORE_MEMORY_H
#define REC_STORE_MEMORY_H

#include "store/backend.h"
#include "store/memory-map.h"

enum rec_memory_table {
	REC_MEMORY_TASKS,            /* id -> task */
	REC_MEMORY_CHILDREN,         /* parent id -> children */
	REC_MEMORY_URLS,             /* external_url -> id */
	REC_MEMORY_BLOCKERS,         /* id -> blocker */
	REC_MEMORY_BLOCKERS_OF_TASK, /* task id, created_at, id -> blocker */
	REC_MEMORY_BLOCKERS_BY_TIME, /* created_at, id -> blocker */
	REC_MEMORY_HISTORIES,        /* task id -> history */
	REC_MEMORY_CLAIMS,           /* claim id -> claim */
	REC_MEMORY_LEASES,           /* owner -> lease */
	REC_MEMORY_ATTEMPTS,         /* task id, number -> attempt */
	REC_MEMORY_EVENTS,           /* seq -> event */
	REC_MEMORY_CHANGES,          /* seq -> change */
	REC_MEMORY_BATCHES,          /* batch id -> batch */
	REC_MEMORY_BATCH_TASKS,      /* batch id, task id -> batch task */
	REC_MEMORY_LINKS,            /* task id, url -> link */
	REC_MEMORY_CURSORS,          /* tracker, key -> cursor */
	REC_MEMORY_TABLE_COUNT,
};

struct rec_memory_counters {
	int64_t claim_id, event_seq, change_seq; /* the last ones given */
	int64_t changes_pruned;                  /* changes up to this one are gone */
	uint64_t change_count;
};

struct rec_memory_store;
struct rec_memory_change;

struct rec_memory_data {
	const struct rec_allocator *allocator;
	uint32_t handles;
	uint64_t generation, commits;
	const struct rec_memory_store *writer; /* whose group is open */
	struct rec_memory_map tables[REC_MEMORY_TABLE_COUNT];
	struct rec_memory_counters counters[2];       /* by enum rec_memory_view */
	const struct rec_memory_change *change_noted; /* the last one of this group */
};

struct rec_memory_store {
	struct rec_store store;
	struct rec_memory_data *data;
};

/* ---- Rows: one piece of memory each, texts behind the struct ---- */

struct rec_memory_task {
	struct rec_memory_row row;
	struct rec_task task; /* without blockers and live facts */
};
struct rec_memory_blocker {
	struct rec_memory_row row;
	struct rec_blocker blocker;
};
struct rec_memory_event {
	struct rec_memory_row row;
	struct rec_event event;
};
struct rec_memory_claim {
	struct rec_memory_row row;
	struct rec_claim claim;
};
struct rec_memory_lease {
	struct rec_memory_row row;
	int64_t until_us; /* wall clock */
};
struct rec_memory_batch {
	struct rec_memory_row row;
	struct rec_batch batch;
};
struct rec_memory_batch_task {
	struct rec_memory_row row;
	struct rec_batch_task task;
};
struct rec_memory_link {
	struct rec_memory_row row;
	struct rec_link link; /* implicit: only remembered, listed if it is the task's external_url */
};
struct rec_memory_tracker_cursor {
	struct rec_memory_row row;
	struct rec_memory_kept {
		struct rec_slice key, value;
	} cursor;
};
struct rec_memory_children {
	struct rec_memory_row row;
	uint64_t counts[REC_STATUS_COUNT], unrecognised;
};
struct rec_memory_id {
	struct rec_memory_row row;
	struct rec_slice id;
};
struct rec_memory_change {
	struct rec_memory_row row;
	int64_t time_us;
	struct rec_slice id;
};
/* What the last attempt of a task left: its number and the blockers released when it was claimed. */
struct rec_memory_history {
	struct rec_memory_row row;
	uint32_t attempt;
	bool claimed;
	size_t released_count, before_count;
	const struct rec_slice *released; /* bytewise order */
	const struct rec_slice *before;   /* while claimed: those of the attempt before, for a release */
};
struct rec_memory_attempt {
	struct rec_memory_row row;
	uint32_t number;
	int64_t ended_us;
	struct rec_slice task_id;
};

/* NULL: no memory. An UNRECOGNISED status keeps its text. */
struct rec_memory_task *rec_memory_task_new(const struct rec_allocator *a, const struct rec_task *task);
struct rec_memory_blocker *rec_memory_blocker_new(const struct rec_allocator *a, const struct rec_blocker *blocker);
struct rec_memory_event *rec_memory_event_new(const struct rec_allocator *a, const struct rec_event *event);
struct rec_memory_claim *rec_memory_claim_new(const struct rec_allocator *a, const struct rec_claim *claim);
struct rec_memory_batch *rec_memory_batch_new(const struct rec_allocator *a, const struct rec_batch *batch);
struct rec_memory_batch_task *rec_memory_batch_task_new(const struct rec_allocator *a,
							const struct rec_batch_task *task);
struct rec_memory_link *rec_memory_link_new(const struct rec_allocator *a, const struct rec_link *link);
struct rec_memory_tracker_cursor *rec_memory_tracker_cursor_new(const struct rec_allocator *a,
								const struct rec_memory_kept *cursor);
struct rec_memory_id *rec_memory_id_new(const struct rec_allocator *a, struct rec_slice id);
struct rec_memory_change *rec_memory_change_new(const struct rec_allocator *a, struct rec_slice id, int64_t time_us);
struct rec_memory_attempt *rec_memory_attempt_new(const struct rec_allocator *a, struct rec_slice task_id,
						  uint32_t number, int64_t ended_us);
/* released and before are copied. */
struct rec_memory_history *rec_memory_history_new(const struct rec_allocator *a, const struct rec_memory_history *of);
/* Copies into an arena. 0 or REC_E_NOMEM. */
int rec_memory_task_copy(struct rec_arena *arena, const struct rec_task *task, struct rec_task *out);
int rec_memory_blocker_copy(struct rec_arena *arena, const struct rec_blocker *blocker, struct rec_blocker *out);
int rec_memory_batch_copy(struct rec_arena *arena, const struct rec_batch *batch, struct rec_batch *out);

/* ---- Keys ---- */

#define REC_MEMORY_JOINED_MAX (2u * REC_ID_BYTES_MAX + 4096u + 3u) /* two ids and a short text */

struct rec_memory_key {
	size_t length;
	char bytes[REC_MEMORY_JOINED_MAX + 8]; /* a number may follow */
};
struct rec_slice rec_memory_key_seq(struct rec_memory_key *key, int64_t seq);
/* The parts with a NUL behind each; absent ones (data == NULL) are left out. Absent: it would be longer than a key can
 * be, which no row is that a store has let in. */
struct rec_slice rec_memory_key_join(struct rec_memory_key *key, struct rec_slice a, struct rec_slice b,
				     struct rec_slice c);
bool rec_memory_key_under(struct rec_slice key, struct rec_slice prefix);

/* ---- For a backend that keeps its image in such tables (memory.c) ---- */

/* Empty data, held by this handle alone; its store was set up by the caller. 0 or REC_E_NOMEM. */
int rec_memory_embed(struct rec_memory_store *m, struct rec_error *error);
void rec_memory_disembed(struct rec_memory_store *m); /* NULL data is fine */
int rec_memory_begin(struct rec_store *s, struct rec_error *error);
int rec_memory_commit(struct rec_store *s, struct rec_error *error); /* never fails */
void rec_memory_rollback(struct rec_store *s);

/* The count of a parent's children by status; REC_STATUS_ABSENT on a side: the child comes or goes. */
int rec_memory_children_adjust(struct rec_memory_store *m, struct rec_slice parent, enum rec_status from,
			       enum rec_status to, struct rec_error *error);
/* A task with its blockers as it is told from elsewhere, whatever it was (memory-image.c). Unique columns that another
 * task has already do not make it fail: *ret_doubled. */
int rec_memory_image_put(struct rec_memory_store *m, const struct rec_task *task, bool *ret_doubled,
			 struct rec_error *error);
/* And one that is gone there; its attempts stay. */
int rec_memory_image_erase(struct rec_memory_store *m, struct rec_slice id, struct rec_error *error);

/* ---- Access (memory.c) ---- */

struct rec_memory_store *rec_memory_of(struct rec_store *s);
enum rec_memory_view rec_memory_view_of(const struct rec_memory_store *m);
void *rec_memory_get(const struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice key);
void rec_memory_walk(const struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice from,
		     struct rec_memory_cursor *cursor);
/* As rec_memory_map_put, with the error filled in; row == NULL from a failed rec_memory_..._new is REC_E_NOMEM. */
int rec_memory_put(struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice key, void *row,
		   struct rec_error *error);
void rec_memory_erase(struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice key);
int64_t rec_memory_wall_us(const struct rec_memory_store *m);
/* The task has changed: into the feed. */
int rec_memory_note(struct rec_memory_store *m, struct rec_slice task_id, struct rec_error *error);

/* The blockers of a task, oldest first, as an array that the caller frees. */
int rec_memory_blockers_of(struct rec_memory_store *m, struct rec_slice task_id, struct rec_blocker **ret_blockers,
			   size_t *ret_count, struct rec_error *error);

/* ---- Operations, as in backend.h ---- */

int rec_memory_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			struct rec_snapshot *out, struct rec_error *error);
int rec_memory_task_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
			struct rec_error *error);
int rec_memory_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		    struct rec_error *error);
int rec_memory_find_prefix(struct rec_store *s, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
			   struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error);
int rec_memory_blockers(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			void *context, struct rec_error *error);
int rec_memory_blocker_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_blocker *out,
			   struct rec_error *error);
int rec_memory_create(struct rec_store *s, const struct rec_task *task, struct rec_error *error);
int rec_memory_edit(struct rec_store *s, const struct rec_task *task, unsigned fields, struct rec_error *error);
int rec_memory_remove(struct rec_store *s, struct rec_slice id, struct rec_error *error);
int rec_memory_write_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			    enum rec_status *now, struct rec_error *error);
int rec_memory_parent(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
		      enum rec_status *ret_status, struct rec_error *error);
int rec_memory_children(struct rec_store *s, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
			uint64_t *unrecognised, struct rec_error *error);
int rec_memory_mark_composite(struct rec_store *s, struct rec_slice id, struct rec_error *error);
int rec_memory_blocker_create(struct rec_store *s, const struct rec_blocker *blocker, struct rec_error *error);
int rec_memory_blocker_answer(struct rec_store *s, struct rec_slice id, struct rec_slice text, struct rec_error *error);
int rec_memory_blocker_resolve(struct rec_store *s, struct rec_slice id, struct rec_error *error);
int rec_memory_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error);
int rec_memory_events(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		      struct rec_error *error);
int rec_memory_claim_add(struct rec_store *s, struct rec_claim *claim, struct rec_error *error);
int rec_memory_claim_end(struct rec_store *s, int64_t claim_id, const struct rec_finish *finish,
			 struct rec_arena *arena, struct rec_slice *ret_task_id, struct rec_error *error);
int rec_memory_claim_take(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			  struct rec_error *error);
int rec_memory_renew(struct rec_store *s, struct rec_slice owner, int64_t lease_us, struct rec_error *error);
int rec_memory_lease(struct rec_store *s, struct rec_slice owner, int64_t *ret_left_us, struct rec_error *error);
int rec_memory_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error);
int rec_memory_batch_add(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);
int rec_memory_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena, struct rec_batch *out,
			 struct rec_error *error);
int rec_memory_batch_write(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error);
int rec_memory_batches(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error);
int rec_memory_batch_task_put(struct rec_store *s, struct rec_slice batch_id, const struct rec_batch_task *task,
			      struct rec_error *error);
int rec_memory_batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			   struct rec_error *error);
int rec_memory_links_ready(struct rec_store *s, struct rec_error *error);
int rec_memory_link_put(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error);
int rec_memory_link_remove(struct rec_store *s, struct rec_slice task_id, struct rec_slice url,
			   struct rec_error *error);
int rec_memory_links(struct rec_store *s, struct rec_slice task_id, rec_link_fn *fn, void *context,
		     struct rec_error *error);
int rec_memory_link_observed(struct rec_store *s, const struct rec_link *link, struct rec_error *error);
int rec_memory_tracker_cursor_put(struct rec_store *s, struct rec_slice tracker, struct rec_slice key,
				  struct rec_slice value, struct rec_error *error);
int rec_memory_tracker_cursors(struct rec_store *s, struct rec_slice tracker, rec_tracker_cursor_fn *fn, void *context,
			       struct rec_error *error);
int rec_memory_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		       struct rec_error *error);
int rec_memory_gc(struct rec_store *s, struct rec_gc *gc, struct rec_error *error);
/* Drops all changes but the newest `keep`. */
void rec_memory_changes_keep(struct rec_memory_store *m, uint64_t keep);
/* At commit: the feed is bounded; its older half goes when it is full. */
void rec_memory_changes_trim(struct rec_memory_store *m);

#endif
