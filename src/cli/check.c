/* check.c - `reconciler check`: decide and print, change nothing. */
#include "engine/check.h"

#include "cli/check.h"
#include "cli/commands.h"
#include "cli/results.h"
#include "cli/selection.h"

static const struct option_spec options[] = {SELECTION_OPTIONS, {0}};

static const char *const examples[] = {
	"reconciler check                                # every task",
	"reconciler check --batch-state batch.json       # the tasks of a batch",
	"reconciler check tasks --batch ID --json         # of a batch this store knows",
	"reconciler check -- tasks                       # a task called \"tasks\"",
	NULL,
};

static int check(struct cli *cli, struct selection *selection)
{
	struct rec_results results;
	struct rec_error error;
	if (selection->trackers) {
		uint64_t calls = 0;
		int status = selection_sync(selection, cli, false, &calls);
		return status ? status : calls > 0 ? STATUS_NO : STATUS_OK;
	}
	int r = rec_check(cli->store, selection->kind, selection->ids, selection->id_count, selection_belief(selection),
			  &results, &error);
	if (r < 0)
		return cli_error(&error);
	results_print(cli, &results, NULL, selection->ids != NULL);
	int status = results.calls > 0 ? STATUS_NO : STATUS_OK;
	rec_results_release(&results);
	return status;
}

int check_run(struct cli *cli, const struct arguments *arguments)
{
	rec_cleanup(selection_release) struct selection selection;
	int status = selection_init(&selection, cli, arguments);
	if (!status)
		status = selection_read_state(&selection);
	if (!status)
		status = cli_open(cli, REC_STORE_READ);
	if (!status)
		status = selection_read_batch(&selection, cli);
	return status ? status : check(cli, &selection);
}

const struct command command_check = {
	.name = "check",
	.summary = "decide what to do about each task and print it; change nothing",
	.description =
		"Decides what to do about each task and prints it. Changes nothing: the store is opened read-only, and "
		"may be one that reconciler never saw before.\n\n"
		"Without a kind, tasks and the blockers of blocked tasks give one result per task; trackers asks the "
		"trackers about linked tasks and records nothing. Without ids, every "
		"task of the batch state in its order, or every task in id order. Ids are taken literally. The table "
		"lists what differs and what was named; json and ndjson list every result.\n\n"
		"Exit status 1 if a result calls for something: KILL, REQUEUE, or SKIP with a discrepancy.",
	.words = SELECTION_WORDS("tasks|blockers|trackers", selection_kinds),
	.options = options,
	.run = check_run,
	.examples = examples,
};
