/* trackers.h - the trackers that the configuration names: [tracker NAME] and [github]. */
#ifndef REC_CLI_TRACKERS_H
#define REC_CLI_TRACKERS_H

#include "cli/cli.h"
#include "tracker/report.h"

/* After cli_open. The registry, maybe of none; free it with rec_trackers_free. No process is started yet. 0 or the exit
 * status, the reason having been said.
 *
 * GitHub is among them if reconcile_github says so; by default if the workspace's repository has a remote on its host
 * and there seems to be a token: GITHUB_TOKEN or GH_TOKEN is set, or token_file can be read. Whether there is one is
 * all that is asked here; its text is read by reconciler-github alone. */
int trackers_open(struct cli *cli, struct rec_trackers **ret_trackers);

/* How the trackers of the configuration are, as whoever asked them last left it in the store; those that were never
 * asked are left out. Faults are no reason to stop: then there are none. */
typedef void tracker_report_fn(void *context, const char *name, const struct rec_tracker_report *report);
void trackers_reports(struct cli *cli, tracker_report_fn *fn, void *context);
/* "tracker NAME: reached 12 s ago, 4321 of 5000 left", a line each, with a blank line before the first; nothing if
 * there are none. */
void trackers_print(struct cli *cli);
/* ,"trackers":[{...}]; nothing if there are none. */
void trackers_write_json(struct cli *cli, struct rec_buffer *out);

#endif
