/* blocker.c - `reconciler blocker add`, `answer`, `resolve`, `list`. None of them changes the task: reconciliation
 * does, when it sees what was written here. */
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "engine/edit.h"
#include "engine/exchange.h"

/* ---- add ---------------------------------------------------------------------------------------- */

static const char *const askers[] = {"human", "agent", "system", NULL};
static const struct option_spec add_options[] = {
	{.name = "by", .argument = "WHO", .help = "who asks (human unless given)", .choices = askers},
	{0},
};
static const char *const add_examples[] = {"reconciler blocker add 4be0 \"Which database?\" --by agent", NULL};

static int add_run(struct cli *cli, const struct arguments *arguments)
{
	const char *by = option_text(arguments, "by");
	struct rec_blocker blocker = {
		.question = rec_slice_of(arguments->words[1]),
		.created_by = rec_slice_of(by ? by : "human"),
	};
	struct rec_error error;
	char id[REC_ID_BYTES_MAX + 1];
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = cli_task_id(cli, arguments->words[0], &blocker.task_id);
	if (status)
		return status;
	int r = rec_edit_blocker_create(cli->store, &blocker, id, &error);
	status = cli_outcome(r, "task", blocker.task_id, &error);
	if (!status)
		cli_print_id(cli, id);
	return status;
}

const struct command command_blocker_add = {
	.name = "add",
	.summary = "attach a question to a task and print its id",
	.description =
		"Attaches a question to a task and prints its id. The task's status stays as it is (task set TASK "
		"BLOCKED changes it); a READY task with an open question is not started.",
	.words = {{.name = "TASK", .complete = COMPLETE_TASK}, {.name = "QUESTION"}},
	.options = add_options,
	.run = add_run,
	.examples = add_examples,
};

/* ---- answer, resolve ---------------------------------------------------------------------------- */

static int released(struct cli *cli, int result, struct rec_slice id, const char *done, const char *refusal,
		    const struct rec_error *error)
{
	char shown[REC_ID_BYTES_MAX + 1];
	if (result == REC_REFUSED)
		return cli_refuse("blocker %s: %s", rec_text_shown(shown, sizeof shown, id), refusal);
	int status = cli_outcome(result, "blocker", id, error);
	if (!status)
		cli_print_done(cli, id, done);
	return status;
}

static int answer_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_error error;
	struct rec_slice id = {NULL, 0};
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = cli_blocker_id(cli, arguments->words[0], &id);
	if (status)
		return status;
	int r = rec_edit_blocker_answer(cli->store, id, rec_slice_of(arguments->words[1]), &error);
	return released(cli, r, id, "answered",
			"is resolved and cannot be answered any more (blocker add asks a new question)", &error);
}

const struct command command_blocker_answer = {
	.name = "answer",
	.summary = "answer a question",
	.description =
		"Answers a question. When every question of a BLOCKED task is answered or resolved, reconciliation "
		"makes the task READY.",
	.words = {{.name = "ID", .complete = COMPLETE_BLOCKER}, {.name = "TEXT"}},
	.run = answer_run,
};

static int resolve_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_error error;
	struct rec_slice id = {NULL, 0};
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = cli_blocker_id(cli, arguments->words[0], &id);
	if (status)
		return status;
	int r = rec_edit_blocker_resolve(cli->store, id, &error);
	return released(cli, r, id, "resolved", "is OPEN and cannot be resolved (answer it first: blocker answer)",
			&error);
}

const struct command command_blocker_resolve = {
	.name = "resolve",
	.summary = "mark an answered question as dealt with",
	.words = {{.name = "ID", .complete = COMPLETE_BLOCKER}},
	.run = resolve_run,
};

/* ---- list --------------------------------------------------------------------------------------- */

static const struct option_spec list_options[] = {
	{.name = "open", .help = "only questions that nobody has answered"},
	{0},
};

static const struct table_column columns[] = {
	{.title = "ID", .columns_least = 8, .is_id = true},
	{.title = "STATUS", .columns_least = 8},
	{.title = "TASK", .columns_least = 8, .is_id = true},
	{.title = "BY", .columns_least = 5},
	{.title = "QUESTION", .columns_least = 20, .columns_cut = 12},
};

struct listing {
	struct cli *cli;
	struct table table;
	uint64_t count;
};

static void row(struct table *table, const struct rec_blocker *blocker)
{
	table_cell(table, STYLE_PLAIN, blocker->id);
	table_cell(table, blocker->status == REC_OPEN ? STYLE_YELLOW : STYLE_GREEN, blocker->status_text);
	table_cell(table, STYLE_PLAIN, blocker->task_id.data ? blocker->task_id : rec_slice_of("-"));
	table_cell(table, STYLE_PLAIN, blocker->created_by);
	table_cell(table, STYLE_PLAIN, blocker->question);
}

static int print_blocker(void *context, const struct rec_blocker *blocker)
{
	struct listing *listing = context;
	struct cli *cli = listing->cli;
	if (cli->format == FORMAT_TABLE) {
		row(&listing->table, blocker);
	} else {
		rec_blocker_write_json(cli_list_item(cli, listing->count), blocker, true);
		cli_list_item_end(cli);
	}
	listing->count++;
	return output_broken(&cli->out) ? REC_END : 0;
}

static int list(struct cli *cli, struct rec_slice task_id, bool open_only)
{
	struct listing listing = {.cli = cli};
	struct rec_error error;
	table_init(&listing.table, &cli->out, columns, sizeof columns / sizeof columns[0]);
	cli_list_begin(cli);
	int r = rec_store_blockers(cli->store, task_id, open_only, print_blocker, &listing, &error);
	cli_list_end(cli);
	table_flush(&listing.table);
	table_release(&listing.table);
	return r < 0 ? cli_error(&error) : STATUS_OK;
}

static int list_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_slice task_id = {NULL, 0};
	int status = cli_open(cli, REC_STORE_READ);
	if (!status && arguments->word_count > 0)
		status = cli_task_id(cli, arguments->words[0], &task_id);
	return status ? status : list(cli, task_id, option_given(arguments, "open"));
}

const struct command command_blocker_list = {
	.name = "list",
	.summary = "list questions, oldest first",
	.words = {{.name = "TASK", .complete = COMPLETE_TASK, .optional = true}},
	.options = list_options,
	.run = list_run,
};
