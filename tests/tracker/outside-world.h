/* outside-world.h - what the tests of trackers beside a batch share: a store in memory, real helpers, a clock of ours.
 * Arguments: fake-helper, reconciler-leash. */
#ifndef REC_TESTS_TRACKER_OUTSIDE_WORLD_H
#define REC_TESTS_TRACKER_OUTSIDE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "conductor/outside.h"

#define SECOND INT64_C(1000000)
#define LINKS 3

extern const char *outside_program, *outside_leash;

struct world {
	struct rec_store *store;
	struct rec_trackers *trackers;
	struct rec_outside *outside;
	struct rec_clock_manual clock;
	int64_t due_us; /* of the next step */
	unsigned warnings, others;
	char warning[400];
};

/* beside: the mode of a second tracker, or NULL. */
int world_make_beside(struct world *w, const char *mode, const char *place, const char *beside, int64_t interval_us,
		      bool close_issues, const struct rec_allocator *a, struct rec_error *error);
int world_make(struct world *w, const char *mode, const char *place, int64_t interval_us, bool close_issues,
	       const struct rec_allocator *a, struct rec_error *error);
void world_free(struct world *w);
void world_open(struct world *w, const char *mode, const char *place);
/* Until nothing is to be done before the clock moves. */
void world_settle(struct world *w);
void world_pass(struct world *w, int64_t seconds);
/* Waits for what is to come, and does it. */
void world_step(struct world *w);
enum rec_status world_status(struct world *w, const char *id);
const struct rec_tracker_health *world_health(const struct world *w);
void world_tell(void *context, const struct rec_event *event);

int outside_main(int count, char **arguments, const struct CMUnitTest *tests, size_t test_count);

#endif
