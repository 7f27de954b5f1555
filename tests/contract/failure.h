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
};

#define FAILURE_PROBES(X)                                                                                              \
	X(create)                                                                                                      \
	X(edit)                                                                                                        \
	X(delete)                                                                                                      \
	X(set_status)                                                                                                  \
	X(mark_composite)                                                                                              \
	X(blocker_create)                                                                                              \
	X(blocker_answer)                                                                                              \
	X(blocker_resolve)                                                                                             \
	X(event_add)                                                                                                   \
	X(claim)                                                                                                       \
	X(finish)                                                                                                      \
	X(release)                                                                                                     \
	X(gc)                                                                                                          \
	X(group)                                                                                                       \
	X(get)                                                                                                         \
	X(list)                                                                                                        \
	X(snapshot_all)                                                                                                \
	X(snapshot_few)                                                                                                \
	X(snapshot_many)                                                                                               \
	X(find)                                                                                                        \
	X(blockers)                                                                                                    \
	X(blocker_get)                                                                                                 \
	X(events)                                                                                                      \
	X(claims)                                                                                                      \
	X(running_runs)                                                                                                \
	X(changes)                                                                                                     \
	X(wake)                                                                                                        \
	X(problems)                                                                                                    \
	X(open_read)                                                                                                   \
	X(open_write)                                                                                                  \
	X(open_init)

#define FAILURE_PROBE_DECLARE(name) extern struct failure_probe failure_probe_##name;
FAILURE_PROBES(FAILURE_PROBE_DECLARE)
#undef FAILURE_PROBE_DECLARE

#endif
