/* fields.c - reads the field options; ids may be unique prefixes. */
#include "cli/fields.h"

const char *const status_names[] = {"BACKLOG", "READY", "IN_PROGRESS", "BLOCKED", "FAILED", "DONE", "MERGED", NULL};

/* "": no task at all. */
static int read_task_id(struct cli *cli, const char *text, struct rec_slice *ret_id)
{
	*ret_id = (struct rec_slice){NULL, 0};
	return text[0] ? cli_task_id(cli, text, ret_id) : STATUS_OK;
}

static int read_dependencies(struct cli *cli, const struct arguments *arguments, struct rec_task *task)
{
	size_t position = 0, count = 0;
	while (option_next(arguments, "depends-on", &position))
		count++;
	struct rec_slice *ids = rec_arena_alloc(&cli->arena, (count + 1) * sizeof ids[0]);
	if (!ids)
		return cli_fail("out of memory");
	task->depends_on = ids;
	task->depends_on_count = 0;
	position = 0;
	for (const char *text; (text = option_next(arguments, "depends-on", &position));) {
		int status = read_task_id(cli, text, &ids[task->depends_on_count]);
		if (status)
			return status;
		task->depends_on_count += ids[task->depends_on_count].data != NULL;
	}
	return STATUS_OK;
}

static struct rec_slice text_or_none(const char *text)
{
	return text[0] ? rec_slice_of(text) : (struct rec_slice){NULL, 0};
}

static int read_ids(struct cli *cli, const struct arguments *arguments, struct rec_task *task, unsigned *fields)
{
	const char *parent = option_text(arguments, "parent");
	if (parent) {
		*fields |= REC_EDIT_PARENT;
		int status = read_task_id(cli, parent, &task->parent_id);
		if (status)
			return status;
	}
	if (!option_given(arguments, "depends-on"))
		return STATUS_OK;
	*fields |= REC_EDIT_DEPENDS_ON;
	return read_dependencies(cli, arguments, task);
}

int fields_read(struct cli *cli, const struct arguments *arguments, struct rec_task *task, unsigned *ret_fields)
{
	struct rec_error error;
	const char *description = option_text(arguments, "description");
	const char *issue = option_text(arguments, "issue");
	const char *status = option_text(arguments, "status");
	unsigned fields = 0;
	if (option_int64(arguments, "priority", &task->priority, &error) < 0)
		return cli_error(&error);
	if (option_given(arguments, "priority"))
		fields |= REC_EDIT_PRIORITY;
	if (description) {
		fields |= REC_EDIT_DESCRIPTION;
		task->description = rec_slice_of(description);
	}
	if (issue) {
		fields |= REC_EDIT_EXTERNAL_URL;
		task->external_url = text_or_none(issue);
	}
	if (status)
		task->status = rec_status_parse(rec_slice_of(status));
	*ret_fields = fields;
	return read_ids(cli, arguments, task, ret_fields);
}
