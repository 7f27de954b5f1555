/* command-run.c - `reconciler run` and `reconciler resume`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/batch-run.h"
#include "cli/batches.h"
#include "cli/commands.h"
#include "cli/plan.h"
#include "conductor/batch.h"

#define OPTIONS_JSON_BYTES_MAX (16u << 20)

static const char *const run_examples[] = {
	"reconciler run --all-ready -j 8 -- ./work.sh {id}",
	"reconciler run 4be0 78e5 --retry 2 --timeout 1h -- make -C {id}",
	"reconciler run --all-ready --child-owns-run -- cf work start {id} --execute",
	NULL,
};

/* ---- run ---------------------------------------------------------------------------------------- */

static int read_ids(struct batch_run *b, const struct arguments *arguments)
{
	size_t count = arguments->plain_count;
	struct rec_slice *ids = rec_arena_alloc(&b->cli->arena, (count ? count : 1) * sizeof *ids);
	if (!ids)
		return cli_fail("out of memory");
	for (size_t i = 0; i < count; i++) {
		int status = cli_task_id(b->cli, arguments->words[i], &ids[i]);
		if (status)
			return status;
	}
	b->ids = count ? ids : NULL;
	b->id_count = count;
	return STATUS_OK;
}

static int run_make(void *context, struct rec_error *error)
{
	struct batch_run *b = context;
	rec_cleanup(rec_buffer_release) struct rec_buffer json;
	size_t count, missing = 0;
	rec_buffer_init(&json, NULL, OPTIONS_JSON_BYTES_MAX);
	if (settings_write_json(&b->settings, &json) != 0)
		return rec_fail(error, REC_E_LIMIT, "the command: is too long to be kept with the batch");
	const struct rec_batch batch = {
		.batch_id = b->batch_id, .owner = rec_slice_of(b->owner), .options = rec_buffer_slice(&json)};
	int r = rec_batch_start(b->cli->store, &batch, b->ids, b->id_count, &count, &missing, error);
	if (r == REC_NOT_FOUND) {
		char shown[REC_ID_BYTES_MAX + 1];
		return rec_fail(error, REC_E_INVALID, "task %s: not found (it was deleted just now)",
				rec_text_shown(shown, sizeof shown, b->ids[missing]));
	}
	if (r == 0 && b->notice > 0)
		batch_detached(b, b->notice);
	if (r == 0 && b->cli->verbosity >= 0)
		dprintf(STDERR_FILENO, "batch %.*s\n", (int)b->batch_id.length, b->batch_id.data);
	return r;
}

/* Everything that can be refused is refused before a batch exists. */
static int run_prepare(struct batch_run *b, const struct arguments *arguments)
{
	struct rec_error error;
	int status = cli_open(b->cli, REC_STORE_WRITE);
	if (!status)
		status = settings_read(&b->settings, b->cli, arguments);
	if (status)
		return status;
	if (batch_run_settle(b, &error) < 0)
		return cli_error(&error);
	if (arguments->plain_count == 0 && !b->options.all_ready)
		return cli_fail("run: no tasks named (give ids, or --all-ready)");
	if (arguments->plain_count > 0 && b->options.all_ready)
		return cli_fail("run: ids beside --all-ready (give one of them)");
	if (b->settings.command_count == 0 && !b->options.dry_run)
		return cli_fail("run: no command (it stands after --, or in reconciler.conf under [worker])");
	return read_ids(b, arguments);
}

static int run_it(struct batch_run *b, const struct arguments *arguments)
{
	char id[REC_UUID_BYTES];
	int status = run_prepare(b, arguments);
	if (status)
		return status;
	if (b->options.dry_run)
		return plan_print(b->cli, b->ids, b->id_count, &b->options);
	b->batch_id = rec_slice_of(rec_arena_strndup(&b->cli->arena, rec_uuid_new(id), REC_UUID_BYTES - 1));
	if (!b->batch_id.data)
		return cli_fail("out of memory");
	b->make = run_make;
	return batch_run(b);
}

static int command_run_run(struct cli *cli, const struct arguments *arguments)
{
	struct batch_run b;
	int status, notice = 0;
	if (option_given(arguments, "detach") && (notice = batch_detach(cli, &status)) < 0)
		return status;
	batch_run_init(&b, cli);
	b.notice = notice;
	status = run_it(&b, arguments);
	settings_release(&b.settings);
	return status;
}

const struct command command_run = {
	.name = "run",
	.summary = "run a batch of tasks that stays true to the store",
	.description =
		"Runs the command once for each task, as many at a time as --max-parallel says, in order of priority "
		"and age, dependencies first. What changes in the store meanwhile counts at once: a task finished "
		"elsewhere is skipped or its child stopped, a blocked or withdrawn one is stopped or held, a released "
		"one runs again; nobody's status is ever overwritten.\n\n"
		"The command runs without a shell, with the whole task as JSON on its input and in the file "
		"REC_TASK_FILE, and with REC_TASK_ID, REC_TASK_TITLE, REC_ATTEMPT, REC_BATCH_ID, REC_STORE and "
		"REC_CLAIM; {id}, {title} and {attempt} in its arguments are replaced. Exit 0 makes the task DONE, 75 "
		"means again later, anything else FAILED.\n\n"
		"First Ctrl-C: start nothing new. Second, or SIGTERM: stop what runs, its tasks go back to READY.",
	.words = {{.name = "ID", .complete = COMPLETE_TASK, .optional = true, .repeated = true}},
	.options = settings_options,
	.run = command_run_run,
	.examples = run_examples,
};

/* ---- resume ------------------------------------------------------------------------------------- */

static const char *const resume_examples[] = {"reconciler resume 5c1e", NULL};

static int resume_make(void *context, struct rec_error *error)
{
	struct batch_run *b = context;
	int r = rec_batch_resume(b->cli->store, b->batch_id, rec_slice_of(b->owner), error);
	if (r == 0 && b->cli->verbosity >= 0)
		dprintf(STDERR_FILENO, "batch %.*s\n", (int)b->batch_id.length, b->batch_id.data);
	return r;
}

/* A lock on this host knows nothing of another one. */
static bool resume_elsewhere(struct batch_run *b, const struct rec_batch *batch)
{
	struct rec_store_info info;
	bool living = false;
	rec_store_info(b->cli->store, &info);
	if (!info.shared || batch->status != REC_BATCH_RUNNING)
		return false;
	if (batch_living(b->cli, batch->batch_id, &living))
		return true;
	if (living)
		cli_say("batch %.*s: is being run by %.*s", (int)batch->batch_id.length, batch->batch_id.data,
			(int)batch->owner.length, batch->owner.data ? batch->owner.data : "");
	return living;
}

static int resume_it(struct batch_run *b, const struct arguments *arguments)
{
	struct rec_batch batch;
	struct rec_error error;
	int status = cli_open(b->cli, REC_STORE_WRITE);
	if (!status)
		status = batch_find(b->cli, arguments->words[0], &batch);
	if (status)
		return status;
	if (!batch.options.data || settings_read_json(&b->settings, b->cli, batch.options, &error) < 0 ||
	    b->settings.command_count == 0)
		return cli_fail("batch %.*s: how it was run is not recorded (start a new one with reconciler run)",
				(int)batch.batch_id.length, batch.batch_id.data);
	if (batch_run_settle(b, &error) < 0)
		return cli_error(&error);
	b->batch_id = batch.batch_id;
	b->make = resume_make;
	return resume_elsewhere(b, &batch) ? STATUS_TROUBLE : batch_run(b);
}

static int resume_run(struct cli *cli, const struct arguments *arguments)
{
	struct batch_run b;
	batch_run_init(&b, cli);
	int status = resume_it(&b, arguments);
	settings_release(&b.settings);
	return status;
}

const struct command command_resume = {
	.name = "resume",
	.summary = "take up a batch that crashed, was stopped or did not complete",
	.description = "Runs what is not DONE or MERGED of a batch, as it was started; FAILED tasks are READY again "
		       "first. What "
		       "its dead conductor left running is watched to its end. A living batch is refused.",
	.words = {{.name = "BATCH"}},
	.run = resume_run,
	.examples = resume_examples,
};
