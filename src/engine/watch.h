/* watch.h - keeps a verdict per task and tells what changed. Sans-IO: the caller waits (store wake-up,
 * timers, belief updates) and says "look"; the watch reads the store's change feed and decides again. */
#ifndef REC_ENGINE_WATCH_H
#define REC_ENGINE_WATCH_H

#include "engine/check.h"

struct rec_watch;
struct rec_watch_options {
	enum rec_check_kind kind;
	const struct rec_slice *ids; /* watch exactly these; copied. NULL: see only_believed */
	size_t id_count;
	bool only_believed;         /* ids NULL: watch just what is believed, else every task (and what is believed) */
	bool apply;                 /* apply what calls for it (REQUEUE of BLOCKED), as rec_apply */
	int64_t rescan_interval_us; /* full snapshot at least so often; 0: the default, 10 minutes */
	struct rec_slice batch_id;  /* for events; optional; copied */
};
#define REC_WATCH_RESCAN_DEFAULT_US INT64_C(600000000)

/* Told for each changed result. Of each task first its first result, unless that is NONE without discrepancy; then
 * each change of any field, a return to NONE included (a forgotten or deleted task too). A task that is neither in
 * the store nor believed is watched no longer, unless it was named; should it come back, it starts anew.
 * applied: -1 without options.apply, else whether this result was applied just now. fn must not call the watch; the
 * view lives until it returns. It returns 0 to go on. */
typedef int rec_watch_fn(void *context, const struct rec_result_view *view, int applied);

/* The store must outlive the watch. About 100 bytes a task. 0, REC_E_NOMEM, REC_E_LIMIT. */
int rec_watch_new(struct rec_store *s, const struct rec_watch_options *options, struct rec_watch **ret_watch,
		  struct rec_error *error);
struct rec_watch *rec_watch_free(struct rec_watch *w); /* NULL is fine; returns NULL */
/* Changes the belief; takes effect at the next look. ABSENT forgets. What is not watched is ignored (ids were named,
 * this is none of them). O(1). 0, REC_E_INVALID (not a task id, no status), REC_E_NOMEM, REC_E_LIMIT. */
int rec_watch_believe(struct rec_watch *w, struct rec_slice id, enum rec_status status, struct rec_error *error);
/* Looks at what changed since the last look (store and beliefs) and tells fn. Idle: O(1), no allocation. k changes:
 * O(k log N), one snapshot of these k. The first look, one after REC_RESCAN of the feed and one after the interval
 * take a full snapshot. now_us is monotonic. *ret_told (may be NULL) counts the results told. After a negative result
 * (the store is busy, ...) or when fn ended it (that value is the result), the next look tells the rest. */
int rec_watch_look(struct rec_watch *w, int64_t now_us, rec_watch_fn *fn, void *context, uint64_t *ret_told,
		   struct rec_error *error);
/* Microseconds from now until the next look is a full one, whatever happens; for the caller's timer. 0: now. */
int64_t rec_watch_rescan_wait_us(const struct rec_watch *w, int64_t now_us);

#endif
