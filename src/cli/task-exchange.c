/* task-exchange.c - `reconciler task import` and `task export`: task objects in and out, as streams. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "engine/exchange.h"

static const struct option_spec options[] = {
	{.name = "ignore-unknown", .help = "skip keys that are not known instead of refusing them"},
	{0},
};

static const char *const examples[] = {
	"reconciler task import tasks.json",
	"reconciler -S other task export | reconciler task import -",
	NULL,
};

/* ---- import ------------------------------------------------------------------------------------- */

#define PROGRESS_INTERVAL_US 200000

struct importing {
	struct rec_import *import;
	bool telling; /* progress, on a terminal */
	uint64_t bytes;
	int64_t told_us;
};

static void progress(struct importing *importing)
{
	int64_t now = rec_clock_real.monotonic_us(rec_clock_real.context);
	if (!importing->telling || now - importing->told_us < PROGRESS_INTERVAL_US)
		return;
	importing->told_us = now;
	dprintf(STDERR_FILENO, "\rimporting: %" PRIu64 ".%" PRIu64 " MiB read", importing->bytes >> 20,
		(importing->bytes >> 10) % 1024 * 10 / 1024);
}

static void progress_end(const struct importing *importing)
{
	if (importing->telling && importing->bytes > 0)
		dprintf(STDERR_FILENO, "\r\033[K");
}

static int feed(void *context, struct rec_slice piece, struct rec_error *error)
{
	struct importing *importing = context;
	int r = rec_import_feed(importing->import, piece, error);
	importing->bytes += piece.length;
	progress(importing);
	return r;
}

static int import(struct importing *importing, const char *path, uint64_t *ret_tasks, struct rec_error *error)
{
	int r = input_read(path, feed, importing, error);
	if (r < 0)
		return r;
	r = rec_import_finish(importing->import, ret_tasks, error);
	return r < 0 ? rec_fail_context(error, r, "%s", input_name(path)) : r;
}

static void tell_imported(struct cli *cli, uint64_t tasks)
{
	if (cli->format == FORMAT_TABLE)
		output_printf(&cli->out, "%" PRIu64 " %s imported\n", tasks, tasks == 1 ? "task" : "tasks");
	else
		output_printf(&cli->out, "{\"imported\":%" PRIu64 "}\n", tasks);
}

static int import_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_import_options wanted = {.ignore_unknown = option_given(arguments, "ignore-unknown")};
	struct importing importing = {.telling = cli->verbosity >= 0 && output_lively(STDERR_FILENO)};
	struct rec_error error;
	uint64_t tasks = 0;
	int status = cli_open(cli, REC_STORE_WRITE);
	if (status)
		return status;
	importing.told_us = rec_clock_real.monotonic_us(rec_clock_real.context);
	int r = rec_import_begin(cli->store, &wanted, &importing.import, &error);
	if (r == 0)
		r = import(&importing, arguments->words[0], &tasks, &error);
	rec_import_free(importing.import);
	progress_end(&importing);
	if (r < 0)
		return cli_error(&error);
	tell_imported(cli, tasks);
	return STATUS_OK;
}

const struct command command_task_import = {
	.name = "import",
	.summary = "import task objects: all or nothing",
	.description =
		"Imports a JSON array or NDJSON of task objects, any number of them, - being standard input. All "
		"or nothing: an object that is wrong, or an id that exists, refuses the whole import. Only title "
		"is required; status is READY unless given.",
	.words = {{.name = "FILE", .complete = COMPLETE_FILE}},
	.options = options,
	.run = import_run,
	.examples = examples,
};

/* ---- export ------------------------------------------------------------------------------------- */

static const char *const export_examples[] = {
	"reconciler task export > tasks.ndjson",
	"reconciler task export 4be0 78e5 --json",
	NULL,
};

struct exporting {
	struct cli *cli;
	uint64_t count;
};

static int export_task(void *context, const struct rec_exported *exported)
{
	struct exporting *exporting = context;
	rec_exported_write_json(cli_list_item(exporting->cli, exporting->count++), exported);
	cli_list_item_end(exporting->cli);
	return output_broken(&exporting->cli->out) ? REC_END : 0;
}

static int export_all(struct exporting *exporting)
{
	struct rec_error error;
	int r = rec_export_all(exporting->cli->store, export_task, exporting, &error);
	return r < 0 ? cli_error(&error) : STATUS_OK;
}

static int export_one(struct exporting *exporting, struct rec_slice id)
{
	struct rec_error error;
	int r = rec_export_one(exporting->cli->store, id, export_task, exporting, &error);
	return r == REC_END ? STATUS_OK : cli_outcome(r, "task", id, &error);
}

static int export_named(struct exporting *exporting, const struct arguments *arguments)
{
	struct cli *cli = exporting->cli;
	struct rec_slice *ids = rec_arena_alloc(&cli->arena, arguments->word_count * sizeof ids[0]);
	int status = ids ? STATUS_OK : cli_fail("out of memory");
	for (size_t i = 0; !status && i < arguments->word_count; i++)
		status = cli_task_id(cli, arguments->words[i], &ids[i]);
	for (size_t i = 0; !status && i < arguments->word_count; i++)
		status = export_one(exporting, ids[i]);
	return status;
}

static int export_run(struct cli *cli, const struct arguments *arguments)
{
	struct exporting exporting = {.cli = cli};
	if (cli->format == FORMAT_TABLE && cli->format_given)
		return cli_fail("task export --format table: a table would lose something (use json or ndjson)");
	if (cli->format == FORMAT_TABLE)
		cli->format = FORMAT_NDJSON;
	int status = cli_open(cli, REC_STORE_READ);
	if (status)
		return status;
	cli_list_begin(cli);
	status = arguments->word_count ? export_named(&exporting, arguments) : export_all(&exporting);
	cli_list_end(cli);
	return status;
}

const struct command command_task_export = {
	.name = "export",
	.summary = "write task objects that import takes",
	.description =
		"Writes whole task objects, blockers and links included, as NDJSON, or as one JSON array with --json. "
		"Import into any store loses nothing.",
	.words = {{.name = "ID", .complete = COMPLETE_TASK, .optional = true, .repeated = true}},
	.run = export_run,
	.examples = export_examples,
};
