/* help.h - --help, made from the command tables. */
#ifndef REC_CLI_HELP_H
#define REC_CLI_HELP_H

#include "cli/options.h"
#include "cli/output.h"

/* The help of the command that the arguments name. */
void help_print(struct output *out, const struct arguments *arguments);

#endif
