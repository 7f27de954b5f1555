/* driving.h - what the tests of trackers with real helpers share: a registry over the fake helper, and how it is
 * driven. The time that the registry sees is ours; only the pipes are waited for. */
#ifndef REC_TESTS_TRACKER_DRIVING_H
#define REC_TESTS_TRACKER_DRIVING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "tracker/tracker.h"

#define SECOND INT64_C(1000000)
#define TOLD_MAX 6000

struct driving {
	const char *program, *leash; /* of the fake helper, of reconciler-leash */
	struct rec_trackers *t;
	int64_t now_us;
	/* what was answered since the last ask */
	struct told {
		char url[64], problem[200];
		enum rec_observed state;
	} told[TOLD_MAX];
	size_t told_count, answers, cursor_count, closed_count;
	char cursors[200]; /* KEY=VALUE of the last answer, each with a blank behind */
	bool last, reached, closed;
	char close_problem[200];
};

void driving_open(struct driving *d, const char *mode, const char *place, const struct rec_allocator *a);
void driving_close(struct driving *d);
/* Links https://x.test/0 and so on; validators if `known`. Returns what ask returns. */
int driving_ask(struct driving *d, size_t first, size_t count, bool known);
/* Steps until no answer is owed; the time stands still. false: one is owed, and the pipes are silent for `silence_ms`.
 */
bool driving_run(struct driving *d, int silence_ms);
/* The same; where the helper is silent the time jumps to the deadline. */
void driving_run_out(struct driving *d);
const struct rec_tracker_health *driving_health(const struct driving *d);
/* All of the last pass is told as open. */
void driving_assert_open(const struct driving *d, size_t count);
/* A path in a folder of this run's own. */
const char *driving_place(char *out, size_t capacity, const char *name);

/* Tests whose state is one struct driving, which is closed after each. Arguments: fake-helper, reconciler-leash. */
struct driving *driving_of(void **state, const char *mode); /* opened */
int driving_teardown(void **state);
int driving_main(int count, char **arguments, const struct CMUnitTest *tests, size_t test_count);

#endif
