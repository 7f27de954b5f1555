/* batches.h - what the commands about batches share: finding one, asking whether somebody runs it, counting it. */
#ifndef REC_CLI_BATCHES_H
#define REC_CLI_BATCHES_H

#include "cli/cli.h"

/* The batch that `text` names or is a unique beginning of. Its texts live in cli->arena. 0 or the exit status (not
 * found and ambiguous: STATUS_NO), the reason having been said. */
int batch_find(struct cli *cli, const char *text, struct rec_batch *ret_batch);
/* `rec-run` beside the store, in cli->arena; NULL for a store that has no place for it (or no memory). */
const char *batch_run_directory(struct cli *cli);
/* How the owners of this host end, on a store that hosts share; "" on others, and (unless `make`) where nothing ever
 * ran. NULL: failed, the reason having been said. In cli->arena. */
const char *batch_host(struct cli *cli, bool make);
/* Does a living conductor hold the batch? Asked of its lock, never of a pid, and of another host's lease. 0 or the exit
 * status. */
int batch_living(struct cli *cli, struct rec_slice batch_id, bool *ret_living);

/* Who holds it, as its lock file says: "pid 12 on host"; "another process" if that cannot be read. In cli->arena. */
const char *batch_holder(struct cli *cli, struct rec_slice batch_id);

/* Exclusive: they add up to the batch's tasks. */
struct batch_counts {
	uint64_t waiting, queued, running, held, done, failed, skipped;
};
/* Adds one task of the batch to the counts. now_us: wall clock. A waiting task is queued unless it has to wait for a
 * time or (unmet) a dependency. */
void batch_count_task(struct batch_counts *counts, const struct rec_batch_task *task, bool unmet, int64_t now_us);
/* "finished as it should": what `run`, `wait` and `resume` exit with. */
int batch_exit_status(enum rec_batch_status status);
/* "3 tasks skipped (externally completed), 1 task killed (externally blocked), 2 tasks requeued", or "" if
 * reconciliation did nothing. */
void batch_describe_reconciliation(struct rec_buffer *out, int64_t skipped, int64_t killed, int64_t requeued);

#endif
