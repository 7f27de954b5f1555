/* batch-run.h - what `run` and `resume` share: a batch driven to its end by this process. */
#ifndef REC_CLI_BATCH_RUN_H
#define REC_CLI_BATCH_RUN_H

#include "cli/settings.h"
#include "conductor/loop.h"

struct batch_run {
	struct cli *cli;
	struct settings settings;
	struct run_options options;
	const char **on_end; /* its words; NULL: none */
	struct rec_slice batch_id;
	char owner[400];
	const char *host;            /* how the owners of this host end; "": the store is not shared */
	rec_loop_make_fn *make;      /* creates or resumes the batch, with it held; context: this struct */
	const struct rec_slice *ids; /* run: NULL means all that are READY */
	size_t id_count;
	int notice; /* run --detach: tell the parent here; 0: no */
};
/* Fills in owner. */
void batch_run_init(struct batch_run *b, struct cli *cli);
/* The settings are read: checks them, and finds the programs of the command, if there is one, and of --on-end. */
int batch_run_settle(struct batch_run *b, struct rec_error *error);
/* Runs it; prints, runs --on-end. The exit status. */
int batch_run(struct batch_run *b);
/* For --detach: goes to the background before a store is open. In the parent returns -1 with *ret_status, what it is to
 * exit with, once the child said how it went; in the child >= 0: what batch_detached is to be told. */
int batch_detach(struct cli *cli, int *ret_status);
/* The child: the batch exists; standard error becomes rec-run/batch-ID.log. */
void batch_detached(struct batch_run *b, int notice);

#endif
