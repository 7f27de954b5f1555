/* stop.c - `reconciler stop`: a row that the conductor sees. Without a living conductor nobody would ever see it,
 * so then the batch is CANCELLED here and now. */
#include "base/text.h"
#include "cli/batches.h"
#include "cli/commands.h"

static const struct option_spec options[] = {
	{.name = "force", .help = "stop what runs too; its tasks go back to READY"},
	{0},
};

static const char *const examples[] = {"reconciler stop 5c1e", "reconciler stop 5c1e --force", NULL};

static int cancel_now(struct cli *cli, const struct rec_batch *batch, struct rec_error *error)
{
	int r = rec_store_begin(cli->store, error);
	if (r)
		return r;
	r = rec_store_batch_set_status(cli->store, batch->batch_id, REC_BATCH_RUNNING, REC_BATCH_CANCELLED,
				       (struct rec_slice){0}, NULL, error);
	if (r == 0)
		r = rec_store_event_add(cli->store,
					&(struct rec_event){.event = rec_slice_of("BATCH_CANCELLED"),
							    .batch_id = batch->batch_id,
							    .source = rec_slice_of("person"),
							    .detail = rec_slice_of("its conductor was gone")},
					error);
	if (r == 0)
		return rec_store_commit(cli->store, error);
	rec_store_rollback(cli->store);
	return r;
}

static int stop_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_batch batch = {.status = REC_BATCH_RUNNING};
	struct rec_error error;
	char shown[REC_ID_BYTES_MAX + 1];
	bool living = false, force = option_given(arguments, "force");
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = batch_find(cli, arguments->words[0], &batch);
	if (!status)
		status = batch_living(cli, batch.batch_id, &living);
	if (status)
		return status;
	rec_text_shown(shown, sizeof shown, batch.batch_id);
	int r = rec_store_batch_stop(cli->store, batch.batch_id, force ? REC_BATCH_FORCE : REC_BATCH_DRAIN, &error);
	if (r == 0 && !living)
		r = cancel_now(cli, &batch, &error);
	if (r == REC_REFUSED || r == REC_CONFLICT)
		return cli_refuse("batch %s: it has ended", shown);
	status = cli_outcome(r, "batch", batch.batch_id, &error);
	if (!status)
		cli_print_done(cli, batch.batch_id,
			       !living ? "cancelled (its conductor was gone)"
			       : force ? "stopping"
				       : "starts nothing new");
	return status;
}

const struct command command_stop = {
	.name = "stop",
	.summary = "ask a running batch to stop",
	.description = "Asks the conductor of a batch to start nothing new and to end when what runs has ended; with "
		       "--force to "
		       "stop what runs too. Returns at once. A batch whose conductor is gone is CANCELLED; its tasks "
		       "are brought in order by the next run or resume.",
	.words = {{.name = "BATCH"}},
	.options = options,
	.run = stop_run,
	.examples = examples,
};
