/* heartbeat.c - `reconciler heartbeat`: a sign of life from inside a task. It touches a file beside the one that
 * REC_TASK_FILE names; no store is opened, so a worker may call it as often as it likes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "conductor/run-files.h"

static const char *const examples[] = {"while work_goes_on; do reconciler heartbeat; done", NULL};

static int heartbeat_run(struct cli *cli, const struct arguments *arguments)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer path;
	const char *task_file = getenv("REC_TASK_FILE");
	(void)cli, (void)arguments;
	rec_buffer_init(&path, NULL, 64u << 10);
	if (!task_file || rec_heartbeat_path(&path, task_file) != 0)
		return cli_fail("heartbeat: REC_TASK_FILE does not name a task's file (it works inside a task that "
				"reconciler run started)");
	rec_cleanup(rec_close_fd) int fd = open(path.data, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || futimens(fd, NULL) < 0)
		return cli_fail("heartbeat: %s: %s", path.data, strerror(errno));
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
