/* task-show.c - `reconciler task show`: one task as a person reads it. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "base/timestamp.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "engine/exchange.h"

#define LABEL_COLUMNS 14
#define DEPENDENCIES_SHOWN 20

static const char *const examples[] = {"reconciler task show 4be0", "reconciler task show 4be0 --json", NULL};

/* ---- Pieces ------------------------------------------------------------------------------------- */

static void label(struct output *out, const char *text)
{
	char padded[LABEL_COLUMNS + 1];
	int length = snprintf(padded, sizeof padded, "%-*s", LABEL_COLUMNS, text);
	output_text(out, "  ");
	output_styled(out, STYLE_DIM, (struct rec_slice){padded, (size_t)length});
}

static void field(struct output *out, const char *name, struct rec_slice value)
{
	if (!value.data || value.length == 0)
		return;
	label(out, name);
	output_shown(out, value, SIZE_MAX);
	output_text(out, "\n");
}

static void number_field(struct output *out, const char *name, int64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, value);
	field(out, name, rec_slice_of(text));
}

/* A text of several lines, each indented; control characters made visible. */
static void paragraph(struct output *out, const char *margin, struct rec_slice text)
{
	while (text.length > 0) {
		const char *end = memchr(text.data, '\n', text.length);
		size_t length = end ? (size_t)(end - text.data) : text.length;
		struct rec_slice line = {text.data, length};
		output_text(out, length ? margin : "");
		output_shown(out, line, SIZE_MAX);
		output_text(out, "\n");
		length += end != NULL;
		text = (struct rec_slice){text.data + length, text.length - length};
	}
}

/* "2026-01-01 00:00:02 UTC", or what is stored if that is no time. */
static void time_field(struct output *out, const char *name, struct rec_slice time)
{
	char text[REC_TIMESTAMP_BYTES + 4];
	int64_t us;
	if (!time.data || rec_timestamp_parse(time, &us) < 0) {
		field(out, name, time);
		return;
	}
	rec_timestamp_format(us, text);
	text[10] = ' ';
	snprintf(text + 19, sizeof text - 19, " UTC");
	field(out, name, rec_slice_of(text));
}

/* ---- The task ----------------------------------------------------------------------------------- */

static void show_head(struct output *out, const struct rec_task *task)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer title;
	rec_buffer_init(&title, NULL, 4 * REC_TITLE_BYTES_MAX);
	rec_text_show(&title, task->title, SIZE_MAX);
	output_styled(out, STYLE_BOLD, rec_buffer_slice(&title));
	output_text(out, "\n");
	label(out, "id");
	output_shown(out, task->id, SIZE_MAX);
	output_text(out, "\n");
	label(out, "status");
	rec_buffer_clear(&title);
	rec_text_show(&title, task->status_text, SIZE_MAX);
	output_styled(out, style_of_status(task->status), rec_buffer_slice(&title));
	if (task->claimed)
		output_printf(out, " (attempt %" PRIu32 " is running)", task->attempt);
	else if (task->attempt)
		output_printf(out, " (%" PRIu32 " %s so far)", task->attempt,
			      task->attempt == 1 ? "attempt" : "attempts");
	output_text(out, "\n");
}

static void show_dependency(struct cli *cli, struct rec_slice id)
{
	struct rec_arena arena;
	struct rec_task task;
	rec_arena_init(&arena, NULL);
	output_shown(&cli->out, id, SIZE_MAX);
	output_text(&cli->out, "  ");
	int r = rec_store_get(cli->store, id, &arena, &task, NULL);
	if (r == 0) {
		output_styled(&cli->out, style_of_status(task.status), rec_slice_of(rec_status_text(task.status)));
		output_text(&cli->out, "  ");
		output_shown(&cli->out, task.title, 60);
	} else {
		output_styled(&cli->out, STYLE_RED, rec_slice_of(r == REC_NOT_FOUND ? "missing" : "unreadable"));
	}
	output_text(&cli->out, "\n");
	rec_arena_release(&arena);
}

static void show_dependencies(struct cli *cli, const struct rec_task *task)
{
	for (size_t i = 0; i < task->depends_on_count && i < DEPENDENCIES_SHOWN; i++) {
		label(&cli->out, i ? "" : "after");
		show_dependency(cli, task->depends_on[i]);
	}
	if (task->depends_on_count > DEPENDENCIES_SHOWN) {
		label(&cli->out, "");
		output_printf(&cli->out, "and %zu more\n", task->depends_on_count - DEPENDENCIES_SHOWN);
	}
	field(&cli->out, "depends_on (!)", task->depends_on_raw);
}

static void show_blocker(struct output *out, const struct rec_blocker *blocker)
{
	enum style style = blocker->status == REC_OPEN ? STYLE_YELLOW : STYLE_GREEN;
	output_text(out, "\n  ");
	output_styled(out, style, rec_slice_of(rec_blocker_status_text(blocker->status)));
	output_text(out, "  ");
	output_shown(out, blocker->id, SIZE_MAX);
	output_text(out, "  asked by ");
	output_shown(out, blocker->created_by, 40);
	output_text(out, "\n");
	paragraph(out, "    ", blocker->question);
	if (blocker->answer.data)
		paragraph(out, "  > ", blocker->answer);
}

static int show_link(void *context, const struct rec_link *link)
{
	struct output *out = context;
	label(out, "link");
	output_shown(out, link->moved_to.data ? link->moved_to : link->url, SIZE_MAX);
	if (link->gone)
		output_styled(out, STYLE_RED, rec_slice_of("  gone"));
	else if (link->state != REC_OBSERVED_UNKNOWN)
		output_printf(out, "  %s", rec_observed_text(link->state));
	output_text(out, "\n");
	return 0;
}

static void show(struct cli *cli, const struct rec_task *task)
{
	struct output *out = &cli->out;
	show_head(out, task);
	number_field(out, "priority", task->priority);
	show_dependencies(cli, task);
	if (task->parent_id.data) {
		label(out, "part of");
		show_dependency(cli, task->parent_id);
	}
	field(out, "issue", task->external_url);
	(void)rec_store_links(cli->store, task->id, show_link, out, NULL);
	time_field(out, "created", task->created_at);
	time_field(out, "updated", task->updated_at);
	field(out, "hierarchy", task->hierarchical_id);
	field(out, "prd", task->prd_id);
	field(out, "uncertainty", task->uncertainty_level);
	if (task->has_complexity_score)
		number_field(out, "complexity", task->complexity_score);
	if (task->has_estimated_hours) {
		label(out, "estimated");
		output_printf(out, "%g hours\n", task->estimated_hours);
	}
	if (task->description.data && task->description.length) {
		output_text(out, "\n");
		paragraph(out, "  ", task->description);
	}
	for (size_t i = 0; i < task->blocker_count; i++)
		show_blocker(out, &task->blockers[i]);
}

static int show_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_task task;
	struct rec_error error;
	struct rec_slice id = {NULL, 0};
	int status = cli_open(cli, REC_STORE_READ);
	if (!status)
		status = cli_task_id(cli, arguments->words[0], &id);
	if (!status)
		status = cli_outcome(rec_store_get(cli->store, id, &cli->arena, &task, &error), "task", id, &error);
	if (status)
		return status;
	if (cli->format == FORMAT_TABLE) {
		show(cli, &task);
	} else {
		rec_task_write_json(&cli->out.buffer, &task, true);
		output_text(&cli->out, "\n");
	}
	return STATUS_OK;
}

const struct command command_task_show = {
	.name = "show",
	.summary = "show one task with its blockers",
	.words = {{.name = "ID", .complete = COMPLETE_TASK}},
	.run = show_run,
	.examples = examples,
};
