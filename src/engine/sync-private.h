/* sync-private.h - what the two halves of a pass share: deciding (sync.c) and writing (sync-apply.c). */
#ifndef REC_ENGINE_SYNC_PRIVATE_H
#define REC_ENGINE_SYNC_PRIVATE_H

#include "core/observe.h"
#include "engine/sync.h"

enum rec_sync_stage {
	REC_SYNC_IDLE,    /* not asked; or not to be asked at all */
	REC_SYNC_ASKED,   /* a question has named it */
	REC_SYNC_AGAIN,   /* its answer was a tie: it is to be asked once more */
	REC_SYNC_REASKED, /* a second question has named it */
	REC_SYNC_TAKEN,   /* answered */
};

struct rec_sync_link {
	struct rec_link link;   /* as it was when the pass began, then as the pass left it */
	struct rec_slice place; /* the address to ask */
	size_t tracker;         /* REC_TRACKER_NONE */
	uint32_t task;          /* index of (the first of) its id */
	struct rec_observation observation;
	struct rec_verdict verdict;
	enum rec_sync_stage stage;
	const struct rec_link *left; /* while its group is open: as the pass leaves it; else NULL */
	bool reread;                 /* the observation is of a second reading */
	bool pending;                /* something is to be written */
	bool applied;                /* a status was written */
};

struct rec_sync_tracker {
	const struct rec_tracker_cursor *cursors; /* as stored */
	size_t cursor_count, cursor_capacity;
	const struct rec_tracker_cursor *cursors_new; /* to be stored; NULL: none have come */
	size_t cursors_new_count;
	bool spoiled; /* an observation could not be taken: the new cursors are not kept */
	bool moved;   /* another pass has stored other cursors since this one began */
};

struct rec_sync {
	struct rec_store *store;
	const struct rec_allocator *allocator;
	const struct rec_sync_trackers *trackers;
	struct rec_slice batch_id;
	enum rec_sync_scope scope;
	struct rec_arena arena;
	struct rec_slice *ids; /* of LINKED */
	size_t id_count, id_capacity;
	struct rec_results results;
	bool *applied;   /* [results.snapshot.count] */
	uint32_t *first; /* [results.snapshot.count]: where an id stands first; NULL: each stands once */
	struct rec_sync_link *links;
	size_t link_count, link_capacity;
	uint32_t *by_place; /* indices of links by tracker, place */
	struct rec_sync_tracker *of_trackers;
};

/* Is the task still as it was when this tracker made it DONE? */
int rec_sync_made_done(struct rec_sync *y, const struct rec_link *link, bool *ret_made_done, struct rec_error *error);
/* The outcome of a link's observation on `link`, for a task stored as `stored`; sets its verdict and stage. */
int rec_sync_decide(struct rec_sync *y, struct rec_sync_link *l, const struct rec_link *link, enum rec_status stored,
		    struct rec_observe_input *ret_input, struct rec_observed_outcome *ret_outcome,
		    struct rec_error *error);
/* Do two links know the same of an address? Only then is "unchanged" the same for both. */
bool rec_sync_know_the_same(const struct rec_link *a, const struct rec_link *b);
/* The cursors of a tracker as stored now, into *ret_of (whose array is the caller's to free). */
int rec_sync_cursors_read(struct rec_sync *y, struct rec_arena *arena, size_t tracker, struct rec_sync_tracker *ret_of,
			  struct rec_error *error);
/* An absent text stays absent; REC_E_NOMEM without message. */
int rec_sync_keep(struct rec_arena *arena, struct rec_slice text, struct rec_slice *ret_copy);
int rec_sync_keep_link(struct rec_arena *arena, const struct rec_link *link, struct rec_link *ret_copy);

#endif
