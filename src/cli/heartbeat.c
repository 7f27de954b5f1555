/* heartbeat.c - `reconciler heartbeat`: a sign of life from inside a task. It touches a file beside the one that
 * REC_TASK_FILE names; no store is opened, so a worker may call it as often as it likes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "shim/protocol.h"

static const char *const examples[] = {"while work_goes_on; do reconciler heartbeat; done", NULL};

static int heartbeat_run(struct cli *cli, const struct arguments *arguments)
{
	char path[PATH_MAX];
	(void)cli, (void)arguments;
	const char *task = getenv("REC_TASK_FILE");
	const char *slash = task ? strrchr(task, '/') : NULL;
	if (!slash || strcmp(slash + 1, REC_SLOT_TASK) != 0)
		return cli_fail(
			"heartbeat: REC_TASK_FILE is not set (it works inside a task that reconciler run started)");
	int length = snprintf(path, sizeof path, "%.*s/" REC_SLOT_HEARTBEAT, (int)(slash - task), task);
	if (length < 0 || (size_t)length >= sizeof path)
		return cli_fail("heartbeat: REC_TASK_FILE: too long");
	rec_cleanup(rec_close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || futimens(fd, NULL) < 0)
		return cli_fail("heartbeat: %s: %s", path, strerror(errno));
	return STATUS_OK;
}

const struct command command_heartbeat = {
	.name = "heartbeat",
	.summary = "inside a task: say that it is alive",
	.description =
		"A worker that is silent for longer than --stall-timeout is stopped. Output, CPU time and this command "
		"are signs of life.",
	.run = heartbeat_run,
	.examples = examples,
};
