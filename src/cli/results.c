/* results.c - the hot path of `check`: one call per result into the output's buffer, no copy between. */
#include "cli/results.h"

#include <stdio.h>

#define REASON_COLUMNS_CUT 12

/* What the second status is depends on who is asked: the batch, or a tracker. */
#define COLUMNS(second, ...)                                                                                           \
	{.title = "TIME", .columns_least = 8}, {.title = "TASK", .columns_least = 8, .is_id = true},                   \
		{.title = "STORED", .columns_least = 11}, {.title = second, .columns_least = 11},                      \
		{.title = "ACTION", .columns_least = 7}, __VA_ARGS__                                                   \
	{                                                                                                              \
		.title = "REASON", .columns_least = 20, .columns_cut = REASON_COLUMNS_CUT                              \
	}
#define APPLIED {.title = "APPLIED"},
static const struct table_column columns[] = {COLUMNS("BELIEVED", )};
static const struct table_column columns_applied[] = {COLUMNS("BELIEVED", APPLIED)};
static const struct table_column columns_observed[] = {COLUMNS("OBSERVED", )};
static const struct table_column columns_observed_applied[] = {COLUMNS("OBSERVED", APPLIED)};

static void init_with(struct table *table, struct output *out, const struct table_column *all, bool with_time,
		      bool with_applied)
{
	size_t count = with_applied ? 7 : 6;
	table_init(table, out, with_time ? all : all + 1, with_time ? count : count - 1);
}

void results_table_init(struct table *table, struct output *out, bool with_time, bool with_applied)
{
	init_with(table, out, with_applied ? columns_applied : columns, with_time, with_applied);
}

static void status_cell(struct table *table, struct rec_slice status)
{
	if (status.data)
		table_cell(table, style_of_status(rec_status_parse(status)), status);
	else
		table_text(table, STYLE_DIM, "-");
}

void results_row(struct table *table, const struct rec_result_view *view, int applied)
{
	enum rec_action action = (enum rec_action)rec_action_parse(rec_slice_of(view->action));
	table_cell(table, STYLE_PLAIN, view->task_id);
	status_cell(table, view->current_status);
	status_cell(table, view->external_status);
	table_text(table, style_of_action(action), view->action);
	if (applied >= 0)
		table_text(table, applied ? STYLE_GREEN : STYLE_DIM, applied ? "yes" : "no");
	table_text(table, STYLE_PLAIN, view->reason);
}

/* ---- People ------------------------------------------------------------------------------------- */

struct tally {
	uint64_t by_action[REC_ACTION_COUNT]; /* of those with a discrepancy */
	uint64_t missing, unknown, agreeing, applied;
};

static void count(struct tally *tally, struct rec_verdict verdict, bool applied)
{
	tally->applied += applied;
	if (verdict.discrepancy)
		tally->by_action[verdict.action]++;
	else if (verdict.reason == REC_REASON_NOT_FOUND)
		tally->missing++;
	else if (verdict.reason == REC_REASON_TRACKER_UNKNOWN || verdict.reason == REC_REASON_NO_TRACKER)
		tally->unknown++;
	else
		tally->agreeing++;
}

static void part(struct output *out, const char **separator, enum style style, uint64_t number, const char *what)
{
	char text[96];
	if (number == 0)
		return;
	int length = snprintf(text, sizeof text, "%llu %s", (unsigned long long)number, what);
	output_text(out, *separator);
	output_styled(out, style, (struct rec_slice){text, (size_t)length});
	*separator = ", ";
}

/* "19 tasks: 3 SKIP, 4 KILL, 1 REQUEUE, 3 differ without a safe action, 8 agree" */
static void summary(struct output *out, uint64_t total, const struct tally *tally, bool applying)
{
	const char *separator = ": ";
	output_printf(out, "%llu %s", (unsigned long long)total, total == 1 ? "task" : "tasks");
	for (int action = REC_SKIP; action < REC_ACTION_COUNT; action++)
		part(out, &separator, style_of_action((enum rec_action)action), tally->by_action[action],
		     rec_action_text((enum rec_action)action));
	part(out, &separator, STYLE_PLAIN, tally->by_action[REC_NONE], "to look at (no safe action)");
	part(out, &separator, STYLE_PLAIN, tally->missing, "not found");
	part(out, &separator, STYLE_PLAIN, tally->unknown, "unknown at the tracker");
	part(out, &separator, STYLE_PLAIN, tally->agreeing, tally->agreeing == 1 ? "agrees" : "agree");
	if (applying)
		output_printf(out, "; %llu applied", (unsigned long long)tally->applied);
	output_text(out, "\n");
}

static bool worth_a_row(struct rec_verdict verdict)
{
	return verdict.discrepancy || verdict.reason == REC_REASON_NEW_COMMENTS;
}

static void print_table(struct cli *cli, const struct rec_results *results, const bool *applied, bool all)
{
	struct table table;
	struct tally tally = {0};
	if (results->trackers)
		init_with(&table, &cli->out, applied ? columns_observed_applied : columns_observed, false,
			  applied != NULL);
	else
		results_table_init(&table, &cli->out, false, applied != NULL);
	for (size_t i = 0; i < results->snapshot.count && !output_broken(&cli->out); i++) {
		struct rec_result_view view;
		count(&tally, results->verdicts[i], applied && applied[i]);
		if (!all && !worth_a_row(results->verdicts[i]))
			continue;
		rec_results_view(results, i, &view);
		results_row(&table, &view, applied ? applied[i] : -1);
	}
	table_flush(&table);
	if (table.rows > 0)
		output_text(&cli->out, "\n");
	table_release(&table);
	summary(&cli->out, results->snapshot.count, &tally, applied != NULL);
}

/* ---- Programs ----------------------------------------------------------------------------------- */

static void print_ndjson(struct output *out, const struct rec_results *results, const bool *applied)
{
	for (size_t i = 0; i < results->snapshot.count && !output_broken(out); i++) {
		struct rec_result_view view;
		rec_results_view(results, i, &view);
		rec_result_write_json(&out->buffer, &view, applied ? applied[i] : -1);
		rec_buffer_add(&out->buffer, "\n", 1);
		output_more(out);
	}
}

static void print_json(struct output *out, const struct rec_results *results, const bool *applied)
{
	output_text(out, "{\"results\":[");
	for (size_t i = 0; i < results->snapshot.count && !output_broken(out); i++) {
		struct rec_result_view view;
		rec_results_view(results, i, &view);
		if (i > 0)
			rec_buffer_add(&out->buffer, ",", 1);
		rec_result_write_json(&out->buffer, &view, applied ? applied[i] : -1);
		output_more(out);
	}
	output_text(out, "],\"summary\":{");
	for (int action = 0; action < REC_ACTION_COUNT; action++)
		output_printf(out, "%s\"%s\":%llu", action ? "," : "", rec_action_text((enum rec_action)action),
			      (unsigned long long)results->counts[action]);
	output_text(out, "}}\n");
}

void results_print(struct cli *cli, const struct rec_results *results, const bool *applied, bool ids_named)
{
	switch (cli->format) {
	case FORMAT_TABLE:
		print_table(cli, results, applied, ids_named);
		break;
	case FORMAT_JSON:
		print_json(&cli->out, results, applied);
		break;
	case FORMAT_NDJSON:
		print_ndjson(&cli->out, results, applied);
		break;
	}
}
