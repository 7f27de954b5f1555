/* apply.c - `reconciler apply`: decide and apply once, without a conductor. */
#include "engine/apply.h"

#include "cli/check.h"
#include "cli/commands.h"
#include "cli/results.h"
#include "cli/selection.h"

static const struct option_spec options[] = {
	SELECTION_OPTIONS,
	{.name = "dry-run", .help = "only decide and print, exactly as check does"},
	{0},
};

static const char *const examples[] = {
	"reconciler apply --batch-state batch.json",
	"reconciler apply blockers                  # requeue what was answered",
	"reconciler apply --dry-run --format ndjson",
	NULL,
};

static int apply(struct cli *cli, struct selection *selection)
{
	struct rec_results results;
	struct rec_error error;
	bool *applied;
	uint64_t calls = 0;
	if (selection->trackers)
		return selection_sync(selection, cli, true, &calls);
	struct rec_slice batch = rec_slice_of(selection->batch);
	int r = rec_apply(cli->store, selection->kind, selection->ids, selection->id_count, selection_belief(selection),
			  batch, &results, &applied, &error);
	if (r < 0)
		return cli_error(&error);
	results_print(cli, &results, applied, selection->ids != NULL);
	rec_free(NULL, applied);
	rec_results_release(&results);
	return STATUS_OK;
}

static int apply_run(struct cli *cli, const struct arguments *arguments)
{
	if (option_given(arguments, "dry-run"))
		return check_run(cli, arguments);
	rec_cleanup(selection_release) struct selection selection;
	int status = selection_init(&selection, cli, arguments);
	if (!status)
		status = selection_read_state(&selection);
	if (!status)
		status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = selection_read_batch(&selection, cli);
	return status ? status : apply(cli, &selection);
}

const struct command command_apply = {
	.name = "apply",
	.summary = "decide, and apply what can be applied without a conductor",
	.description =
		"Decides as check does and applies it once: a BLOCKED task whose blockers are all released goes back "
		"to READY, with an event. Nothing is ever signalled: a process is stopped only by the conductor that "
		"started it. With trackers it does what sync does. Every write is made only if what justified it still "
		"holds, so apply may run at any time, "
		"as often as you like.\n\n"
		"The results carry a last key, applied. Exit status 0 unless there was an error.",
	.words = SELECTION_WORDS("tasks|blockers|trackers", selection_kinds),
	.options = options,
	.run = apply_run,
	.examples = examples,
};
