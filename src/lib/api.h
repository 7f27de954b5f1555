/* api.h - what the files of the public library share: the handle, the frame around every call, and the translation
 * between the public structs (NUL-terminated strings, a size in front) and ours (slices). */
#ifndef REC_LIB_API_H
#define REC_LIB_API_H

#include "base/text.h"
#include "engine/belief.h"
#include "engine/check.h"
#include "store/store.h"

struct reconciler {
	struct rec_store *store;
	const struct rec_allocator *allocator;
	struct rec_store_info info;
	int64_t check_interval_ms;
	uint64_t wakes;            /* how often the store's descriptor was found readable */
	struct rec_import *import; /* the one that is going on */
	rec_warning_callback *on_warning;
	void *warning_context;
};

struct rec_batch_state {
	struct rec_belief belief;
	size_t held; /* without the forgotten ones */
};

/* Every function begins with it: refuses while an import is going on. */
int rec_api_enter(const struct reconciler *r, struct rec_error *error);

/* ---- Structs that begin with their size (abi.c) ---- */

/* Copies what the caller handed in to *own, zeroing what an older caller does not know. NULL: all zero.
 * REC_E_INVALID: no size. REC_E_UNSUPPORTED: the caller sets something that this library does not know. */
int rec_abi_read(void *own, size_t own_size, const void *theirs, const char *what, struct rec_error *error);
/* Copies *own to the caller's struct, as much as fits, zeroing what is beyond us. REC_E_INVALID: no size. */
int rec_abi_write(void *theirs, const void *own, size_t own_size, const char *what, struct rec_error *error);
#define REC_ABI_READ(own, theirs, error) rec_abi_read(own, sizeof *(own), theirs, #own, error)

/* ---- Texts ---- */

/* Slices over the caller's strings, in `arena`; NULL for NULL (and count 0 without NULL is an empty list). */
int rec_api_ids(struct rec_arena *arena, const char *const *ids, size_t count, struct rec_slice **ret_ids,
		struct rec_error *error);
/* A NUL-terminated copy in `arena`; NULL for an absent slice or, with *failed set, for want of memory. */
const char *rec_api_text(struct rec_arena *arena, struct rec_slice text, bool *failed);
/* A task and a blocker for the caller; everything in `arena`. 0 or REC_E_NOMEM. */
int rec_api_task(struct rec_arena *arena, const struct rec_task *task, struct rec_task_info *ret_info,
		 struct rec_error *error);
int rec_api_blocker(struct rec_arena *arena, const struct rec_blocker *blocker, struct rec_blocker_info *ret_info,
		    struct rec_error *error);
/* A result whose id and raw status are NUL-terminated already. */
void rec_api_result(const struct rec_result_view *view, int applied, struct rec_result *ret_result);

#endif
