/* task-add.c - `reconciler task add` */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/fields.h"
#include "engine/edit.h"

static const struct option_spec options[] = {
	{.name = "id", .argument = "ID", .help = "its id; a UUID unless given"},
	FIELD_OPTIONS,
	{0},
};

static const char *const examples[] = {
	"reconciler task add \"Write the README\" --priority 1",
	"reconciler task add Deploy --depends-on 4be0 --depends-on 78e5",
	NULL,
};

static int add_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_task task = {.status = REC_READY, .is_leaf = true, .title = rec_slice_of(arguments->words[0])};
	struct rec_error error;
	char id[REC_ID_BYTES_MAX + 1];
	unsigned fields;
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = fields_read(cli, arguments, &task, &fields);
	if (status)
		return status;
	task.id = rec_slice_of(option_text(arguments, "id"));
	int r = rec_edit_create(cli->store, &task, id, &error);
	if (r < 0)
		return cli_error(&error);
	if (r == REC_EXISTS)
		return cli_refuse("task %s: exists already (choose another --id, or task edit it)", task.id.data);
	cli_print_id(cli, id);
	return STATUS_OK;
}

const struct command command_task_add = {
	.name = "add",
	.summary = "add a task and print its id",
	.description = "Adds a task, READY unless --status says otherwise, and prints its id.",
	.words = {{.name = "TITLE"}},
	.options = options,
	.run = add_run,
	.examples = examples,
};
