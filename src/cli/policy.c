/* policy.c - `reconciler policy`: the decision table. Away from a terminal it is the tab-separated table that the
 * tests compare the engine with, byte for byte; on a terminal the same columns, aligned. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "core/decide.h"

static const char *const examples[] = {
	"reconciler policy",
	"reconciler policy | grep KILL",
	"reconciler policy --format ndjson",
	NULL,
};

static const struct table_column columns[] = {
	{.title = "stored"},
	{.title = "believed"},
	{.title = "action"},
	{.title = "discrepancy"},
	{.title = "reason", .columns_cut = 12},
};
#define COLUMN_COUNT (sizeof columns / sizeof columns[0])

static void print_aligned(struct output *out)
{
	struct table table;
	enum rec_status stored, believed;
	table_init(&table, out, columns, COLUMN_COUNT);
	for (unsigned row = 0; row < REC_TABLE_ROWS; row++) {
		struct rec_verdict verdict = rec_table_row(row, &stored, &believed);
		enum rec_action action = (enum rec_action)verdict.action;
		table_text(&table, style_of_status(stored), rec_status_text(stored));
		table_text(&table, style_of_status(believed), rec_status_text(believed));
		table_text(&table, style_of_action(action), rec_action_text(action));
		table_text(&table, STYLE_PLAIN, verdict.discrepancy ? "yes" : "no");
		table_text(&table, STYLE_PLAIN, rec_reason_text((enum rec_reason)verdict.reason));
	}
	table_flush(&table);
	table_release(&table);
}

static void print_tabs(struct output *out)
{
	enum rec_status stored, believed;
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		output_printf(out, "%s%s", columns[i].title, i + 1 < COLUMN_COUNT ? "\t" : "\n");
	for (unsigned row = 0; row < REC_TABLE_ROWS; row++) {
		struct rec_verdict verdict = rec_table_row(row, &stored, &believed);
		output_printf(out, "%s\t%s\t%s\t%s\t%s\n", rec_status_text(stored), rec_status_text(believed),
			      rec_action_text((enum rec_action)verdict.action), verdict.discrepancy ? "yes" : "no",
			      rec_reason_text((enum rec_reason)verdict.reason));
	}
}

static void print_json(struct cli *cli)
{
	enum rec_status stored, believed;
	cli_list_begin(cli);
	for (unsigned row = 0; row < REC_TABLE_ROWS; row++) {
		struct rec_verdict verdict = rec_table_row(row, &stored, &believed);
		const char *held = believed == REC_STATUS_ABSENT ? NULL : rec_status_text(believed);
		struct rec_buffer *out = cli_list_item(cli, row);
		rec_buffer_add_text(out, "{");
		cli_json_text(out, "stored", rec_slice_of(rec_status_text(stored)));
		cli_json_text(out, "believed", rec_slice_of(held));
		cli_json_text(out, "action", rec_slice_of(rec_action_text((enum rec_action)verdict.action)));
		cli_json_bool(out, "discrepancy", verdict.discrepancy);
		cli_json_text(out, "reason", rec_slice_of(rec_reason_text((enum rec_reason)verdict.reason)));
		rec_buffer_add_text(out, "}");
		cli_list_item_end(cli);
	}
	cli_list_end(cli);
}

static int policy_run(struct cli *cli, const struct arguments *arguments)
{
	(void)arguments;
	if (cli->format != FORMAT_TABLE)
		print_json(cli);
	else if (cli->out.terminal || cli->out.colour)
		print_aligned(&cli->out);
	else
		print_tabs(&cli->out);
	return STATUS_OK;
}

const struct command command_policy = {
	.name = "policy",
	.summary = "print the decision table",
	.description = "Prints the decision table: what is done about a task for each status the store holds and each "
		       "status the batch believes (- for none). On a terminal aligned, elsewhere separated by tabs.",
	.run = policy_run,
	.examples = examples,
};
