/* transition.h - changing a status on somebody's word. */
#ifndef REC_CLI_TRANSITION_H
#define REC_CLI_TRANSITION_H

#include "cli/cli.h"

/* One legal step to `to`, or any with force, inside an open group (so that what is judged is what is written).
 * 0 and what it was before, or the exit status, the reason having been said: STATUS_NO if the task is not there
 * or the step is not legal. */
int transition_in_group(struct cli *cli, struct rec_slice id, enum rec_status to, bool force,
			enum rec_status *ret_before);

#endif
