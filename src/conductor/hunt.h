/* hunt.h - the processes of an attempt whose shim is gone, found by the claim in their environment.
 *
 * Everything an attempt starts inherits REC_CLAIM and REC_BATCH_ID. A shim that was killed can no longer say
 * what it had started, but /proc can. A descendant that cleaned its environment escapes (documented). */
#ifndef REC_CONDUCTOR_HUNT_H
#define REC_CONDUCTOR_HUNT_H

#include <sys/types.h>

#include "base/slice.h"

/* Whether an environment block (NAME=VALUE\0NAME=VALUE\0...) names that claim of that batch. Pure. */
bool rec_environment_claims(struct rec_slice block, int64_t claim_id, struct rec_slice batch_id);
/* SIGKILL through a pidfd to every process that carries the claim; returns how many there were. They are gone once a
 * later call returns 0: repeat it. One pass over /proc, O(processes). */
unsigned rec_hunt(int64_t claim_id, struct rec_slice batch_id);
/* Children of this process that it did not start: what dead shims left to it, the nearest subreaper. SIGKILL for each
 * that `known` does not know; ended ones are reaped. Returns how many are not gone yet: repeat it. For a process with
 * one thread. O(children). */
typedef bool rec_known_child_fn(void *context, pid_t pid);
unsigned rec_orphans_end(rec_known_child_fn *known, void *context);

#endif
