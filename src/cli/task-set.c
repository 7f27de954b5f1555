/* task-set.c - `reconciler task set` and `task retry`.
 *
 * The engine accepts any status that a chain of legal steps leads to, which is right for a tracker that saw only
 * the end of the story; a person who sets a status means one step, so the step itself must be legal here.
 */
#include <stdio.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/fields.h"
#include "cli/transition.h"
#include "engine/edit.h"

static const struct option_spec options[] = {
	{.name = "force", .help = "write it even if the transition is not legal; the event says so"},
	{0},
};

static const char *const examples[] = {
	"reconciler task set 4be0 READY",
	"reconciler task set 4be0 DONE --force",
	NULL,
};

/* ---- One transition ----------------------------------------------------------------------------- */

static const char *allowed_targets(enum rec_status from, char *out, size_t capacity)
{
	unsigned targets = rec_transition_targets(from);
	size_t length = 0;
	out[0] = '\0';
	for (unsigned to = 0; to < REC_STATUS_COUNT && length < capacity; to++) {
		if (targets & (1u << to))
			length += (size_t)snprintf(out + length, capacity - length, "%s%s", length ? ", " : "",
						   rec_status_text((enum rec_status)to));
	}
	return length ? out : "none";
}

static int refuse(struct rec_slice id, const struct rec_snapshot *snapshot, enum rec_status to)
{
	char shown[REC_ID_BYTES_MAX + 1], allowed[128], raw[80];
	enum rec_status from = (enum rec_status)snapshot->facts[0].status;
	rec_text_shown(shown, sizeof shown, id);
	if (from == REC_STATUS_UNRECOGNISED)
		return cli_refuse("task %s: its status '%s' is none of ours and cannot become %s (--force writes it "
				  "anyway)",
				  shown, rec_text_shown(raw, sizeof raw, rec_snapshot_raw(snapshot, 0)),
				  rec_status_text(to));
	return cli_refuse("task %s: %s cannot become %s (allowed: %s; --force writes it anyway)", shown,
			  rec_status_text(from), rec_status_text(to), allowed_targets(from, allowed, sizeof allowed));
}

/* Is the step from what the snapshot holds to `to` allowed? */
static int judge(struct rec_slice id, const struct rec_snapshot *snapshot, enum rec_status to, bool force)
{
	enum rec_status from = (enum rec_status)snapshot->facts[0].status;
	if (from == REC_STATUS_ABSENT)
		return cli_outcome(REC_NOT_FOUND, "task", id, NULL);
	if (force || from == to || rec_transition_legal(from, to))
		return STATUS_OK;
	return refuse(id, snapshot, to);
}

int transition_in_group(struct cli *cli, struct rec_slice id, enum rec_status to, bool force,
			enum rec_status *ret_before)
{
	struct rec_snapshot snapshot;
	struct rec_error error;
	if (rec_store_snapshot(cli->store, &id, 1, 0, &snapshot, &error) < 0)
		return cli_error(&error);
	int status = judge(id, &snapshot, to, force);
	rec_snapshot_release(&snapshot);
	if (status)
		return status;
	int r = rec_edit_set_status(cli->store, id, to, force, "person", ret_before, &error);
	return cli_outcome(r, "task", id, &error);
}

static int set(struct cli *cli, struct rec_slice id, enum rec_status to, bool force, enum rec_status *ret_before)
{
	struct rec_error error;
	if (rec_store_begin(cli->store, &error) < 0)
		return cli_error(&error);
	int status = transition_in_group(cli, id, to, force, ret_before);
	if (status) {
		rec_store_rollback(cli->store);
		return status;
	}
	return rec_store_commit(cli->store, &error) < 0 ? cli_error(&error) : STATUS_OK;
}

static int set_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_slice id = {NULL, 0};
	enum rec_status before, to = rec_status_parse(rec_slice_of(arguments->words[1]));
	char shown[80];
	if (to == REC_STATUS_UNRECOGNISED)
		return cli_fail("task set: '%s' is no status (BACKLOG, READY, IN_PROGRESS, BLOCKED, FAILED, DONE, "
				"MERGED)",
				rec_text_shown(shown, sizeof shown, rec_slice_of(arguments->words[1])));
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = cli_task_id(cli, arguments->words[0], &id);
	if (!status)
		status = set(cli, id, to, option_given(arguments, "force"), &before);
	if (status)
		return status;
	cli_print_change(cli, id, before, to);
	if (cli->format != FORMAT_TABLE)
		output_text(&cli->out, "\n");
	return STATUS_OK;
}

const struct command command_task_set = {
	.name = "set",
	.summary = "set a task's status",
	.description =
		"Sets a task's status by a legal transition. Anything else is refused (exit status 1), naming what "
		"is allowed, unless --force is given. Parents roll up.",
	.words = {{.name = "ID", .complete = COMPLETE_TASK}, {.name = "STATUS", .choices = status_names}},
	.options = options,
	.run = set_run,
	.examples = examples,
};

/* ---- retry -------------------------------------------------------------------------------------- */

static const struct option_spec retry_options[] = {
	{.name = "failed", .help = "every task that is FAILED"},
	{0},
};

static const char *const retry_examples[] = {"reconciler task retry --failed", NULL};

struct failed_ids {
	struct rec_arena *arena;
	struct rec_slice *ids;
	size_t count, capacity;
};

static int collect(void *context, const struct rec_task *task)
{
	struct failed_ids *failed = context;
	char *id = rec_arena_strndup(failed->arena, task->id.data, task->id.length);
	if (!id || rec_grow(NULL, (void **)&failed->ids, &failed->capacity, failed->count + 1, sizeof failed->ids[0]))
		return REC_E_NOMEM;
	failed->ids[failed->count++] = (struct rec_slice){id, task->id.length};
	return 0;
}

/* What is no longer FAILED is told; the others go on. */
static int retry_one(struct cli *cli, struct rec_slice id, uint64_t *count)
{
	struct rec_error error;
	enum rec_status before;
	char shown[REC_ID_BYTES_MAX + 1];
	int r = rec_edit_retry(cli->store, id, &before, &error);
	if (r == REC_REFUSED)
		return cli_refuse("task %s: is %s, not FAILED (task set changes any status)",
				  rec_text_shown(shown, sizeof shown, id), rec_status_text(before));
	int status = cli_outcome(r, "task", id, &error);
	if (status)
		return status;
	cli_list_item(cli, (*count)++);
	cli_print_change(cli, id, REC_FAILED, REC_READY);
	cli_list_item_end(cli);
	return STATUS_OK;
}

static int retry_all(struct cli *cli, const struct rec_slice *ids, size_t id_count)
{
	uint64_t done = 0;
	int status = STATUS_OK;
	cli_list_begin(cli);
	for (size_t i = 0; i < id_count && status != STATUS_TROUBLE; i++) {
		int one = retry_one(cli, ids[i], &done);
		status = one > status ? one : status;
	}
	cli_list_end(cli);
	return status;
}

static int retry_failed(struct cli *cli)
{
	struct failed_ids failed = {.arena = &cli->arena};
	struct rec_list_options wanted = {.status_mask = 1u << REC_FAILED, .brief = true};
	struct rec_error error = {.message = "out of memory"};
	int r = rec_store_list(cli->store, &wanted, collect, &failed, &error);
	int status = r < 0 ? cli_error(&error) : retry_all(cli, failed.ids, failed.count);
	rec_free(NULL, failed.ids);
	return status;
}

static int retry_named(struct cli *cli, const struct arguments *arguments)
{
	struct rec_slice *ids = rec_arena_alloc(&cli->arena, arguments->word_count * sizeof ids[0]);
	if (!ids)
		return cli_fail("out of memory");
	for (size_t i = 0; i < arguments->word_count; i++) {
		int status = cli_task_id(cli, arguments->words[i], &ids[i]);
		if (status)
			return status;
	}
	return retry_all(cli, ids, arguments->word_count);
}

static int retry_run(struct cli *cli, const struct arguments *arguments)
{
	bool failed = option_given(arguments, "failed");
	if (failed == (arguments->word_count > 0))
		return cli_fail("task retry: give either ids or --failed");
	int status = cli_open(cli, REC_STORE_WRITE);
	if (status)
		return status;
	return failed ? retry_failed(cli) : retry_named(cli, arguments);
}

const struct command command_task_retry = {
	.name = "retry",
	.summary = "make failed tasks READY again",
	.description =
		"Makes FAILED tasks READY again. A task that is not FAILED is left alone and told (exit status 1).",
	.words = {{.name = "ID", .complete = COMPLETE_TASK, .optional = true, .repeated = true}},
	.options = retry_options,
	.run = retry_run,
	.examples = retry_examples,
};
