/* task-edit.c - `reconciler task edit` and `task delete`. */
#include "base/text.h"
#include "cli/commands.h"
#include "cli/fields.h"
#include "cli/transition.h"
#include "engine/edit.h"

static const struct option_spec options[] = {
	{.name = "title", .argument = "TEXT", .help = "a new title"},
	FIELD_OPTIONS,
	{0},
};

static const char *const examples[] = {
	"reconciler task edit 4be0 --title \"A better title\" --priority 2",
	"reconciler task edit 4be0 --depends-on \"\"   # no dependencies any more",
	NULL,
};

/* Fields and status are one step: both or neither. */
static int write_all(struct cli *cli, const struct rec_task *task, unsigned fields)
{
	struct rec_error error;
	enum rec_status before;
	int r = rec_store_begin(cli->store, &error);
	int status = r < 0 ? cli_error(&error) : STATUS_OK;
	if (!status && fields)
		status = cli_outcome(rec_edit_task(cli->store, task, fields, &error), "task", task->id, &error);
	if (!status && task->status != REC_STATUS_ABSENT)
		status = transition_in_group(cli, task->id, task->status, false, &before);
	if (!status && rec_store_commit(cli->store, &error) < 0)
		return cli_error(&error);
	if (status && rec_store_in_group(cli->store))
		rec_store_rollback(cli->store);
	return status;
}

static int edit_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_task task = {.status = REC_STATUS_ABSENT};
	const char *title = option_text(arguments, "title");
	unsigned fields = 0;
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = cli_task_id(cli, arguments->words[0], &task.id);
	if (!status)
		status = fields_read(cli, arguments, &task, &fields);
	if (status)
		return status;
	if (title) {
		task.title = rec_slice_of(title);
		fields |= REC_EDIT_TITLE;
	}
	if (!fields && task.status == REC_STATUS_ABSENT)
		return cli_fail("task edit: nothing to change (give --title, --priority, ...)");
	status = write_all(cli, &task, fields);
	if (!status)
		cli_print_done(cli, task.id, "edited");
	return status;
}

const struct command command_task_edit = {
	.name = "edit",
	.summary = "change a task",
	.description = "Changes what the options name and nothing else. --depends-on replaces the whole list; an empty "
		       "value clears dependencies, parent or issue. --status must be a legal transition, as for task "
		       "set.",
	.words = {{.name = "ID", .complete = COMPLETE_TASK}},
	.options = options,
	.run = edit_run,
	.examples = examples,
};

/* ---- delete ------------------------------------------------------------------------------------- */

static int delete_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_error error;
	struct rec_slice id = {NULL, 0};
	char shown[REC_ID_BYTES_MAX + 1];
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = cli_task_id(cli, arguments->words[0], &id);
	if (status)
		return status;
	int r = rec_edit_delete(cli->store, id, &error);
	if (r == REC_REFUSED)
		return cli_refuse("task %s: is being worked on and cannot be deleted (stop its batch first)",
				  rec_text_shown(shown, sizeof shown, id));
	status = cli_outcome(r, "task", id, &error);
	if (!status)
		cli_print_done(cli, id, "deleted");
	return status;
}

const struct command command_task_delete = {
	.name = "delete",
	.summary = "delete a task and its blockers",
	.description = "Deletes a task and everything that belongs to it. Refused while it is being worked on.",
	.words = {{.name = "ID", .complete = COMPLETE_TASK}},
	.run = delete_run,
};
