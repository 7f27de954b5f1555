/* plan.h - `run --dry-run`: what would run, in order, and what holds the rest. */
#ifndef REC_CLI_PLAN_H
#define REC_CLI_PLAN_H

#include "cli/settings.h"

/* ids == NULL: every READY task. O(tasks of the store). The exit status. */
int plan_print(struct cli *cli, const struct rec_slice *ids, size_t count, const struct run_options *options);

#endif
