/* link.c - `reconciler link` and `unlink`. */
#include "base/text.h"
#include "cli/commands.h"
#include "cli/trackers.h"
#include "engine/edit.h"

static const char *const link_examples[] = {
	"reconciler link 4be0 https://github.com/acme/app/issues/7",
	NULL,
};

/* A link that nobody answers for is allowed: the tracker may be configured later. */
static void warn_of_nobody(const struct cli *cli, const struct rec_trackers *trackers, struct rec_slice url)
{
	char shown[200];
	if (rec_trackers_find(trackers, url) == REC_TRACKER_NONE)
		cli_warn(cli, "%s: no tracker answers for it yet (reconciler.conf(5): [github], [tracker NAME])",
			 rec_text_shown(shown, sizeof shown, url));
}

static int link_it(struct cli *cli, const struct rec_trackers *trackers, struct rec_slice id, struct rec_slice url)
{
	struct rec_error error;
	char shown[REC_ID_BYTES_MAX + 1];
	int r = rec_edit_link(cli->store, id, url, &error);
	if (r == REC_EXISTS)
		return cli_refuse("task %s: is linked to that already", rec_text_shown(shown, sizeof shown, id));
	int status = cli_outcome(r, "task", id, &error);
	if (status)
		return status;
	warn_of_nobody(cli, trackers, url);
	cli_print_done(cli, id, "linked");
	return STATUS_OK;
}

static int link_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_trackers *trackers = NULL;
	struct rec_slice id = {NULL, 0};
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = cli_task_id(cli, arguments->words[0], &id);
	if (!status)
		status = trackers_open(cli, &trackers); /* first: a bad configuration links nothing */
	if (!status)
		status = link_it(cli, trackers, id, rec_slice_of(arguments->words[1]));
	rec_trackers_free(trackers);
	return status;
}

const struct command command_link = {
	.name = "link",
	.summary = "tie a task to an issue or a pull request",
	.description =
		"Ties a task to an address that a tracker answers for. From then on sync, and a running batch, keep "
		"the "
		"task true to it. A task may have several links, and several tasks may have the same one. A codeframe "
		"task whose external_url is an issue or a pull request is linked without this.",
	.words = {{.name = "TASK", .complete = COMPLETE_TASK}, {.name = "URL"}},
	.run = link_run,
	.examples = link_examples,
};

/* ---- unlink ------------------------------------------------------------------------------------- */

static int link_seen(void *context, const struct rec_link *link)
{
	*(bool *)context = link->implicit;
	return 0;
}

/* There was no explicit link. */
static int refuse_unlink(struct cli *cli, struct rec_slice id)
{
	struct rec_error error;
	bool implicit = false;
	char shown[REC_ID_BYTES_MAX + 1];
	if (rec_store_links(cli->store, id, link_seen, &implicit, &error) < 0)
		return cli_error(&error);
	rec_text_shown(shown, sizeof shown, id);
	if (implicit)
		return cli_refuse("task %s: is linked by its external_url (task edit %s --issue \"\" clears it)", shown,
				  shown);
	return cli_refuse("task %s: is not linked (link TASK URL ties it to an issue)", shown);
}

static int unlink_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_error error;
	struct rec_slice id = {NULL, 0};
	int status = cli_open(cli, REC_STORE_WRITE);
	if (!status)
		status = cli_task_id(cli, arguments->words[0], &id);
	if (status)
		return status;
	int r = rec_edit_unlink(cli->store, id, (struct rec_slice){NULL, 0}, &error);
	if (r == REC_NOT_FOUND)
		return refuse_unlink(cli, id);
	if (r < 0)
		return cli_error(&error);
	cli_print_done(cli, id, "unlinked");
	return STATUS_OK;
}

const struct command command_unlink = {
	.name = "unlink",
	.summary = "take the links of a task away",
	.description = "Takes away every link that was made with link, and what was known of it. The task stays as it "
		       "is. A link by the task's external_url goes with that (task edit TASK --issue \"\").",
	.words = {{.name = "TASK", .complete = COMPLETE_TASK}},
	.run = unlink_run,
};
