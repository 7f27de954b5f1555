/* gc.c - `reconciler gc`: forget what is old. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"

#define OLDER_THAN_DEFAULT_US (INT64_C(30) * 86400 * 1000000)

static const struct option_spec options[] = {
	{.name = "older-than", .argument = "DURATION", .help = "how old: 12h, 90d (30d unless given)"},
	{.name = "dry-run", .help = "only tell what would go"},
	{0},
};

static const char *const examples[] = {"reconciler gc --older-than 90d --dry-run", NULL};

static void tell(struct cli *cli, const struct rec_gc *gc)
{
	struct rec_buffer *out = &cli->out.buffer;
	if (cli->format == FORMAT_TABLE) {
		output_printf(&cli->out, "%s %" PRIu64 " changes, %" PRIu64 " events, %" PRIu64 " attempts\n",
			      gc->dry_run ? "would remove" : "removed", gc->changes, gc->events, gc->attempts);
		return;
	}
	rec_buffer_add_text(out, "{");
	cli_json_number(out, "changes", (int64_t)gc->changes);
	cli_json_number(out, "events", (int64_t)gc->events);
	cli_json_number(out, "attempts", (int64_t)gc->attempts);
	cli_json_bool(out, "dry_run", gc->dry_run);
	rec_buffer_add_text(out, "}\n");
}

static int gc_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_error error;
	int64_t age_us = OLDER_THAN_DEFAULT_US;
	if (option_duration(arguments, "older-than", &age_us, &error) < 0)
		return cli_error(&error);
	int status = cli_open(cli, REC_STORE_WRITE);
	if (status)
		return status;
	struct rec_gc gc = {
		.older_than_us = rec_clock_real.wall_us(rec_clock_real.context) - age_us,
		.dry_run = option_given(arguments, "dry-run"),
	};
	if (rec_store_gc(cli->store, &gc, &error) < 0)
		return cli_error(&error);
	tell(cli, &gc);
	return STATUS_OK;
}

const struct command command_gc = {
	.name = "gc",
	.summary = "remove old events, changes and ended attempts",
	.description =
		"Removes old events, entries of the change feed and ended attempts. Tasks and blockers are never "
		"touched. A watcher that has fallen behind the feed looks at everything again.",
	.options = options,
	.run = gc_run,
	.examples = examples,
};
