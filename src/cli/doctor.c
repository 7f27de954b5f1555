/* doctor.c - `reconciler doctor`: what can never heal by itself, and the command that mends it. */
#include "engine/doctor.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/trackers.h"

#define TRACKER_FAILURES 3 /* in a row */

struct listing {
	struct cli *cli;
	uint64_t count;
};

static void print_text(struct output *out, const struct rec_finding *finding)
{
	output_styled(out, STYLE_YELLOW, rec_slice_of(finding->kind));
	if (finding->task_id.data) {
		output_text(out, "  ");
		output_shown(out, finding->task_id, REC_ID_BYTES_MAX);
	}
	output_text(out, "\n    ");
	output_shown(out, rec_slice_of(finding->sentence), SIZE_MAX);
	output_text(out, "\n    mend: ");
	output_shown(out, rec_slice_of(finding->command), SIZE_MAX);
	output_text(out, "\n");
}

static void print_json(struct rec_buffer *out, const struct rec_finding *finding)
{
	rec_buffer_add_text(out, "{");
	cli_json_text(out, "kind", rec_slice_of(finding->kind));
	cli_json_text(out, "task_id", finding->task_id);
	cli_json_text(out, "problem", rec_slice_of(finding->sentence));
	cli_json_text(out, "command", rec_slice_of(finding->command));
	rec_buffer_add_text(out, "}");
}

static int print_finding(void *context, const struct rec_finding *finding)
{
	struct listing *listing = context;
	struct cli *cli = listing->cli;
	if (cli->format == FORMAT_TABLE) {
		print_text(&cli->out, finding);
	} else {
		print_json(cli_list_item(cli, listing->count), finding);
		cli_list_item_end(cli);
	}
	listing->count++;
	return 0;
}

/* One that failed again and again needs a person: a token, a name, a network. */
static void print_tracker(void *context, const char *name, const struct rec_tracker_report *report)
{
	char sentence[REC_TRACKER_PROBLEM_BYTES + 160];
	if (report->state != REC_TRACKER_DOWN || report->failures < TRACKER_FAILURES)
		return;
	snprintf(sentence, sizeof sentence, "tracker %.80s could not be asked, %" PRIu32 " times in a row: %.250s",
		 name, report->failures, report->problem);
	const struct rec_finding finding = {
		.kind = "tracker-down", .sentence = sentence, .command = "reconciler sync --verbose"};
	print_finding(context, &finding);
}

static int doctor_run(struct cli *cli, const struct arguments *arguments)
{
	struct listing listing = {.cli = cli};
	struct rec_error error;
	(void)arguments;
	int status = cli_open(cli, REC_STORE_READ);
	if (status)
		return status;
	cli_list_begin(cli);
	if (rec_doctor(cli->store, print_finding, &listing, NULL, &error) < 0)
		return cli_error(&error);
	trackers_reports(cli, print_tracker, &listing);
	cli_list_end(cli);
	if (cli->format == FORMAT_TABLE && listing.count == 0)
		output_text(&cli->out, "nothing that would not heal by itself\n");
	else if (cli->format == FORMAT_TABLE)
		output_printf(&cli->out, "\n%" PRIu64 " %s\n", listing.count,
			      listing.count == 1 ? "finding" : "findings");
	return listing.count ? STATUS_NO : STATUS_OK;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "find what can never heal by itself",
	.description =
		"Looks for what can never heal by itself: claims without a process, tasks in progress that nobody "
		"works "
		"on, tasks blocked without blockers, missing or circular dependencies, unknown statuses, bad rows, "
		"missing triggers, trackers that failed again and again, links that are gone. Names the command that "
		"mends each. Changes nothing. Exit "
		"status 1 if it finds any.",
	.run = doctor_run,
};
