/* watch.h - keeps a verdict per task and tells what changed. Sans-IO: the caller waits (store wake-up,
 * timers, belief updates) and says "look"; the watch reads the store's change feed and decides again. */
#ifndef REC_ENGINE_WATCH_H
#define REC_ENGINE_WATCH_H

#include "engine/check.h"

struct rec_watch;
struct rec_watch_options {
	enum rec_check_kind kind;
	const struct rec_slice *ids; /* NULL: all tasks (or, with a belief, its ids); copied */
	size_t id_count;
	bool only_believed;         /* watch just what the belief holds (a batch state was given) */
	bool apply;                 /* apply what calls for it (REQUEUE of BLOCKED), as rec_apply */
	int64_t rescan_interval_us; /* full snapshot at least so often; 0: the default, 10 minutes */
	struct rec_slice batch_id;  /* for events; optional */
};
/* Told for each changed result: first every result but NONE without discrepancy, then each change of any field,
 * a return to NONE included (a forgotten or deleted task too). applied: -1 without options.apply. */
typedef int rec_watch_fn(void *context, const struct rec_result_view *view, int applied);

int rec_watch_new(struct rec_store *s, const struct rec_watch_options *options, struct rec_watch **ret_watch,
		  struct rec_error *error);
struct rec_watch *rec_watch_free(struct rec_watch *w);
/* Changes the belief; takes effect at the next look. ABSENT forgets. */
int rec_watch_believe(struct rec_watch *w, struct rec_slice id, enum rec_status status, struct rec_error *error);
/* Looks at what changed since the last look (store and beliefs) and tells fn. Idle: O(1). k changes: O(k log N),
 * one query. now_us is monotonic. *ret_told (may be NULL) counts results told. fn non-zero ends it with that value. */
int rec_watch_look(struct rec_watch *w, int64_t now_us, rec_watch_fn *fn, void *context, uint64_t *ret_told,
		   struct rec_error *error);

#endif
