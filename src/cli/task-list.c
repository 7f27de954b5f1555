/* task-list.c - `reconciler task list` */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/fields.h"
#include "engine/exchange.h"

static const struct option_spec options[] = {
	{.name = "status",
	 .argument = "STATUS",
	 .help = "only tasks with this status",
	 .choices = status_names,
	 .repeatable = true},
	{.name = "limit", .argument = "N", .help = "at most so many"},
	{0},
};

static const char *const examples[] = {
	"reconciler task list --status BLOCKED --status FAILED",
	"reconciler task list --format ndjson --limit 10",
	NULL,
};

static const struct table_column columns[] = {
	{.title = "ID", .columns_least = 8, .is_id = true},
	{.title = "STATUS", .columns_least = 11},
	{.title = "PRIO", .right = true},
	{.title = "AFTER", .right = true},
	{.title = "TITLE", .columns_least = 20, .columns_cut = 12},
};

struct listing {
	struct cli *cli;
	struct table table;
	uint64_t count;
};

static void row(struct table *table, const struct rec_task *task)
{
	table_cell(table, STYLE_PLAIN, task->id);
	table_cell(table, style_of_status(task->status), task->status_text);
	table_number(table, task->priority);
	table_number(table, (int64_t)task->depends_on_count);
	table_cell(table, task->is_leaf ? STYLE_PLAIN : STYLE_BOLD, task->title);
}

static int print_task(void *context, const struct rec_task *task)
{
	struct listing *listing = context;
	struct cli *cli = listing->cli;
	if (cli->format == FORMAT_TABLE) {
		row(&listing->table, task);
	} else {
		rec_task_write_json(cli_list_item(cli, listing->count), task, true);
		cli_list_item_end(cli);
	}
	listing->count++;
	return output_broken(&cli->out) ? REC_END : 0;
}

static int list(struct cli *cli, const struct rec_list_options *wanted)
{
	struct listing listing = {.cli = cli};
	struct rec_error error;
	table_init(&listing.table, &cli->out, columns, sizeof columns / sizeof columns[0]);
	cli_list_begin(cli);
	int r = rec_store_list(cli->store, wanted, print_task, &listing, &error);
	cli_list_end(cli);
	table_flush(&listing.table);
	table_release(&listing.table);
	return r < 0 ? cli_error(&error) : STATUS_OK;
}

static int list_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_list_options wanted = {
		.brief = cli->format == FORMAT_TABLE,
		.blockers = cli->format != FORMAT_TABLE,
	};
	struct rec_error error;
	size_t position = 0;
	for (const char *text; (text = option_next(arguments, "status", &position));)
		wanted.status_mask |= 1u << rec_status_parse(rec_slice_of(text));
	if (option_count(arguments, "limit", &wanted.limit, &error) < 0)
		return cli_error(&error);
	int status = cli_open(cli, REC_STORE_READ);
	if (status || (wanted.limit == 0 && option_given(arguments, "limit")))
		return status;
	return list(cli, &wanted);
}

const struct command command_task_list = {
	.name = "list",
	.summary = "list tasks",
	.description = "Lists tasks in the order of their ids. AFTER counts the tasks that must be finished first; a "
		       "composite task's title is bold. json and ndjson give whole task objects.",
	.options = options,
	.run = list_run,
	.examples = examples,
};
