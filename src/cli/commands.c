/* commands.c - the one table of commands, and the global options. */
#include "cli/commands.h"

static const char *const formats[] = {"table", "json", "ndjson", NULL};
static const char *const colours[] = {"auto", "always", "never", NULL};

static const struct option_spec global_options[] = {
	{.letter = 'C', .argument = "DIR", .help = "run as if started in DIR", .complete = COMPLETE_DIRECTORY},
	{.name = "store",
	 .letter = 'S',
	 .argument = "URI",
	 .help = "sqlite:PATH, dir:PATH, postgresql://..., or a path: a state file, or a directory that has "
		 ".reconciler or .codeframe; else "
		 "$RECONCILER_STORE, else the nearest one above the working directory",
	 .complete = COMPLETE_FILE},
	{.name = "format", .argument = "FORMAT", .help = "how results are written", .choices = formats},
	{.name = "json", .help = "the same as --format json"},
	{.name = "color", .argument = "WHEN", .help = "colour the tables", .choices = colours},
	{.name = "quiet", .letter = 'q', .help = "no warnings, no progress on standard error"},
	{.name = "verbose", .letter = 'v', .help = "say more on standard error"},
	{.name = "help", .letter = 'h', .help = "print this and exit"},
	{.name = "version", .help = "print the version and exit"},
	{0},
};

static const struct command *const task_commands[] = {
	&command_task_add, &command_task_edit,  &command_task_delete, &command_task_list,   &command_task_show,
	&command_task_set, &command_task_retry, &command_task_import, &command_task_export, NULL,
};
static const struct command command_task = {
	.name = "task",
	.summary = "add, change, list, import and export tasks",
	.subcommands = task_commands,
};

static const struct command *const blocker_commands[] = {
	&command_blocker_add, &command_blocker_answer, &command_blocker_resolve, &command_blocker_list, NULL,
};
static const struct command command_blocker = {
	.name = "blocker",
	.summary = "ask, answer and resolve the questions that hold tasks up",
	.subcommands = blocker_commands,
};

static const struct command *const tracker_commands[] = {&command_tracker_test, NULL};
static const struct command command_tracker = {
	.name = "tracker",
	.summary = "for authors of tracker helpers",
	.subcommands = tracker_commands,
};

static const struct command *const commands[] = {
	&command_init,      &command_task,   &command_blocker, &command_check,      &command_apply, &command_watch,
	&command_run,       &command_resume, &command_status,  &command_stop,       &command_wait,  &command_logs,
	&command_heartbeat, &command_policy, &command_events,  &command_doctor,     &command_gc,    &command_link,
	&command_unlink,    &command_sync,   &command_tracker, &command_completion, NULL,
};

static const char *const examples[] = {
	"reconciler init                        # a store here, or codeframe's",
	"reconciler check --batch-state b.json  # where do store and batch differ?",
	"reconciler apply --batch-state b.json  # mend what is safe to mend",
	"reconciler watch --batch-state -       # stay, and tell what changes",
	NULL,
};

const struct command program = {
	.name = "reconciler",
	.summary = "keeps a running batch of tasks true to the world",
	.description = "reconciler compares what a batch of tasks believes with what the durable store says, decides "
		       "what to do about each task, and does it.",
	.options = global_options,
	.subcommands = commands,
	.examples = examples,
};
