/* sync.h - a pass over links, from asking the trackers to printing: for sync, check trackers and apply trackers. */
#ifndef REC_CLI_SYNC_H
#define REC_CLI_SYNC_H

#include "cli/cli.h"

/* After cli_open. ids == NULL: every task. Asks all trackers at once and waits for them; each has its time limit, and
 * one that cannot be asked is a warning. apply: write what follows, with batch_id (optional) in the events. Prints the
 * results as check or apply would; *ret_calls tells how many call for something. Returns the exit status; 128 + N if
 * signal N ended the waiting (then what was written so far stays, and nothing is printed). */
int sync_pass(struct cli *cli, const struct rec_slice *ids, size_t count, struct rec_slice batch_id, bool apply,
	      uint64_t *ret_calls);

#endif
