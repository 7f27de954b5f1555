/* fields.h - the options of `task add` and `task edit` as the fields of a task. */
#ifndef REC_CLI_FIELDS_H
#define REC_CLI_FIELDS_H

#include "cli/cli.h"

extern const char *const status_names[]; /* the seven, NULL-terminated, for option tables */

#define FIELD_OPTIONS                                                                                                  \
	{.name = "description", .argument = "TEXT", .help = "what is to be done"},                                     \
		{.name = "status", .argument = "STATUS", .help = "its status", .choices = status_names},               \
		{.name = "priority", .argument = "N", .help = "0 goes first"},                                         \
		{.name = "depends-on",                                                                                 \
		 .argument = "ID",                                                                                     \
		 .help = "a task that must be DONE or MERGED first",                                                   \
		 .complete = COMPLETE_TASK,                                                                            \
		 .repeatable = true},                                                                                  \
		{.name = "parent",                                                                                     \
		 .argument = "ID",                                                                                     \
		 .help = "the composite task it is part of",                                                           \
		 .complete = COMPLETE_TASK},                                                                           \
	{                                                                                                              \
		.name = "issue", .argument = "URL", .help = "the issue or pull request it is about"                    \
	}

/* Reads those options into *task (texts live as long as the arguments or cli->arena) and says which were given
 * (enum rec_edit_fields); the store must be open. An empty value clears a field: no dependencies, no parent, no
 * issue. task->status: as given, else left alone. 0 or the exit status. */
int fields_read(struct cli *cli, const struct arguments *arguments, struct rec_task *task, unsigned *ret_fields);

#endif
