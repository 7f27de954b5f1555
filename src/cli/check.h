/* check.h - the check command, which `apply --dry-run` is too. */
#ifndef REC_CLI_CHECK_H
#define REC_CLI_CHECK_H

#include "cli/cli.h"

int check_run(struct cli *cli, const struct arguments *arguments);

#endif
