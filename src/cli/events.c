/* events.c - `reconciler events` and `events verify`: the audit log, and whether it is right. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/json.h"
#include "base/timestamp.h"
#include "cli/commands.h"
#include "cli/loop.h"
#include "engine/apply.h"

static const struct option_spec options[] = {
	{.name = "since", .argument = "CURSOR", .help = "only events after this sequence number"},
	{.name = "follow", .letter = 'f', .help = "stay and print events as they are written (table or ndjson)"},
	{0},
};

static const char *const examples[] = {
	"reconciler events",
	"reconciler events --since 120 -f --format ndjson",
	"reconciler events verify",
	NULL,
};

static const struct table_column columns[] = {
	{.title = "SEQ", .right = true, .columns_least = 4},
	{.title = "TIME (UTC)", .columns_least = 19},
	{.title = "EVENT", .columns_least = 20},
	{.title = "TASK", .columns_least = 8, .is_id = true},
	{.title = "WHAT", .columns_least = 20, .columns_cut = 12},
};

struct listing {
	struct cli *cli;
	struct table table;
	int64_t since; /* the last one printed */
	uint64_t count;
};

/* ---- Printing ----------------------------------------------------------------------------------- */

static struct rec_slice or_dash(struct rec_slice text)
{
	return text.data ? text : rec_slice_of("-");
}

static void time_cell(struct table *table, struct rec_slice time)
{
	char text[REC_TIMESTAMP_BYTES];
	int64_t us;
	if (rec_timestamp_parse(time, &us) < 0) {
		table_cell(table, STYLE_PLAIN, or_dash(time));
		return;
	}
	rec_timestamp_format(us, text);
	text[10] = ' ';
	table_cell(table, STYLE_DIM, (struct rec_slice){text, 19});
}

static void add_slice(struct rec_buffer *out, struct rec_slice text)
{
	rec_buffer_add(out, text.data, text.length);
}

/* What the event's name leaves open: "READY -> DONE, forced (person)", "all blockers resolved (blockers)". */
static void describe(struct rec_buffer *out, const struct rec_event *event)
{
	if (event->reason.data) {
		add_slice(out, event->reason);
	} else if (event->current_status.data && event->detail.data) {
		add_slice(out, event->current_status);
		rec_buffer_add_text(out, " -> ");
		add_slice(out, event->detail);
	} else {
		add_slice(out, event->detail.data ? event->detail : event->current_status);
	}
	if (event->source.data) {
		rec_buffer_add_text(out, out->length ? " (" : "(");
		add_slice(out, event->source);
		rec_buffer_add_text(out, ")");
	}
	if (out->length == 0)
		rec_buffer_add_text(out, "-");
}

static enum style style_of_event(const struct rec_event *event)
{
	int action = event->action.data ? rec_action_parse(event->action) : -1;
	return action < 0 ? STYLE_PLAIN : style_of_action((enum rec_action)action);
}

static void event_row(struct table *table, const struct rec_event *event)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer what;
	rec_buffer_init(&what, NULL, 1u << 16);
	describe(&what, event);
	table_number(table, event->seq);
	time_cell(table, event->time);
	table_cell(table, style_of_event(event), event->event);
	table_cell(table, STYLE_PLAIN, or_dash(event->task_id));
	table_cell(table, STYLE_PLAIN, rec_buffer_slice(&what));
}

static int print_event(void *context, const struct rec_event *event)
{
	struct listing *listing = context;
	struct cli *cli = listing->cli;
	if (cli->format == FORMAT_TABLE) {
		event_row(&listing->table, event);
	} else {
		rec_event_write_json(cli_list_item(cli, listing->count), event);
		cli_list_item_end(cli);
	}
	listing->count++;
	listing->since = event->seq;
	return output_broken(&cli->out) ? REC_END : 0;
}

static int print_new(struct listing *listing, struct rec_error *error)
{
	int r = rec_store_events(listing->cli->store, listing->since, 0, print_event, listing, error);
	table_flush(&listing->table);
	return r;
}

static int follow(struct listing *listing)
{
	rec_cleanup(loop_release) struct loop loop = {.signals = -1};
	struct rec_error error;
	if (loop_init(&loop, listing->cli->store, -1, &error) < 0)
		return cli_error(&error);
	for (;;) {
		loop_looking(&loop);
		int status = loop_looked(&loop, listing->cli, print_new(listing, &error), &error);
		if (status || output_flush(&listing->cli->out))
			return status;
		int events = loop_wait(&loop, &error);
		if (events < 0)
			return cli_error(&error);
		if (events & LOOP_STOP)
			return STATUS_SIGNAL + loop.signal;
		if (events & LOOP_GONE)
			return STATUS_SIGNAL + SIGPIPE;
	}
}

static int events_run(struct cli *cli, const struct arguments *arguments)
{
	struct listing listing = {.cli = cli};
	struct rec_error error;
	bool following = option_given(arguments, "follow");
	uint64_t since = 0;
	if (option_count(arguments, "since", &since, &error) < 0)
		return cli_error(&error);
	if (following && cli->format == FORMAT_JSON)
		return cli_fail("events --follow --format json: it has no end (use table or ndjson)");
	listing.since = (int64_t)since;
	int status = cli_open(cli, REC_STORE_READ);
	if (status)
		return status;
	table_init(&listing.table, &cli->out, columns, sizeof columns / sizeof columns[0]);
	if (following) {
		status = follow(&listing);
	} else {
		cli_list_begin(cli);
		status = print_new(&listing, &error) < 0 ? cli_error(&error) : STATUS_OK;
		cli_list_end(cli);
	}
	table_release(&listing.table);
	return status;
}

static const struct command *const subcommands[] = {&command_events_verify, NULL};

const struct command command_events = {
	.name = "events",
	.summary = "print the audit log, or verify it",
	.description =
		"Prints what reconciler did and on what grounds, oldest first. Each event has a sequence number, "
		"which is the cursor of --since.",
	.options = options,
	.subcommands = subcommands,
	.run = events_run,
	.examples = examples,
};

/* ---- verify ------------------------------------------------------------------------------------- */

struct verifying {
	struct cli *cli;
	uint64_t count;
};

static int print_difference(void *context, int64_t seq, const char *sentence)
{
	struct verifying *verifying = context;
	struct cli *cli = verifying->cli;
	if (cli->format == FORMAT_TABLE) {
		output_shown(&cli->out, rec_slice_of(sentence), SIZE_MAX);
		output_text(&cli->out, "\n");
		return 0;
	}
	struct rec_buffer *out = cli_list_item(cli, verifying->count++);
	rec_buffer_add_text(out, "{");
	cli_json_number(out, "seq", seq);
	cli_json_text(out, "difference", rec_slice_of(sentence));
	rec_buffer_add_text(out, "}");
	cli_list_item_end(cli);
	return 0;
}

static int verify_run(struct cli *cli, const struct arguments *arguments)
{
	struct verifying verifying = {.cli = cli};
	struct rec_error error;
	uint64_t checked = 0, different = 0;
	(void)arguments;
	int status = cli_open(cli, REC_STORE_READ);
	if (status)
		return status;
	if (cli->format == FORMAT_JSON)
		output_text(&cli->out, "{\"differences\":[");
	if (rec_events_verify(cli->store, print_difference, &verifying, &checked, &different, &error) < 0)
		return cli_error(&error);
	if (cli->format == FORMAT_JSON)
		output_printf(&cli->out, "],\"checked\":%" PRIu64 ",\"different\":%" PRIu64 "}\n", checked, different);
	else if (cli->format == FORMAT_NDJSON)
		output_printf(&cli->out, "{\"checked\":%" PRIu64 ",\"different\":%" PRIu64 "}\n", checked, different);
	else
		output_printf(&cli->out, "%" PRIu64 " %s checked, %" PRIu64 " different\n", checked,
			      checked == 1 ? "decision" : "decisions", different);
	return different ? STATUS_NO : STATUS_OK;
}

const struct command command_events_verify = {
	.name = "verify",
	.summary = "decide every recorded decision again from its recorded inputs",
	.description =
		"Decides every recorded decision again from the inputs recorded with it, and names each one that "
		"comes out differently. Exit status 1 if any does.",
	.run = verify_run,
};
