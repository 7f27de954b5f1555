/* failure.h - the operations that are tried with faults, by test-failure.c. */
#ifndef REC_TESTS_FAILURE_H
#define REC_TESTS_FAILURE_H

#include "contract.h"

/* Does one operation on `s`, returns the call's result and writes down what it told. Everything it reads is
 * allocated by the contract's failing allocator. */
typedef int failure_probe_fn(struct contract *c, struct rec_store *s, struct rec_buffer *out);

struct failure_probe {
	const char *name;
	failure_probe_fn *run;
	bool writes;
};

/* Name, and whether it writes. */
/* clang-format off */
#define FAILURE_PROBES(X) \
	X(create, true) X(edit, true) X(delete, true) X(set_status, true) \
	X(mark_composite, true) X(blocker_create, true) X(blocker_answer, true) X(blocker_resolve, true) \
	X(event_add, true) X(claim, true) X(claim_many, true) X(finish, true) X(release, true) X(claim_take, true) \
	X(gc, true) X(group, true) X(batch, true) X(link_put, true) \
	X(link_remove, true) X(link_observed, true) X(cursor_put, true) X(links, false) \
	X(get, false) \
	X(list, false) X(snapshot_all, false) X(snapshot_few, false) X(snapshot_many, false) \
	X(find, false) X(blockers, false) X(blocker_get, false) X(events, false) \
	X(get_many, false) X(claims, false) X(lease, false) X(running_runs, false) X(changes, false) X(wake, false) \
	X(problems, false) X(open_read, false) X(open_write, false) X(open_init, false)
/* clang-format on */
#define FAILURE_PROBE_DECLARE(name, writes) extern const struct failure_probe failure_probe_##name;
FAILURE_PROBES(FAILURE_PROBE_DECLARE)
#undef FAILURE_PROBE_DECLARE

#endif
