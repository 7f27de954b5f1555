/* measure-spawn.c - the bare loop that dispatch is measured against, and a child that says when it was told to stop.
 *
 * usage: measure-spawn loop COUNT SLOTS PROGRAM   runs PROGRAM COUNT times, SLOTS at once; prints nothing
 *        measure-spawn stopped FILE               appends "ready TASK", then at SIGTERM "stopped NANOSECONDS"
 * (monotonic)
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

static void start_one(char *program)
{
	char *arguments[] = {program, NULL};
	pid_t pid;
	int failed = posix_spawn(&pid, program, NULL, NULL, arguments, environ);
	if (failed)
		measure_die(program, strerror(failed));
}

static void wait_one(void)
{
	int status;
	if (wait(&status) < 0 || status != 0)
		measure_die("child", "did not succeed");
}

static void loop(int count, int slots, char *program)
{
	int started = 0, ended = 0;
	while (ended < count) {
		while (started < count && started - ended < slots) {
			start_one(program);
			started++;
		}
		wait_one();
		ended++;
	}
}

static void say(int fd, const char *line, int length)
{
	if (write(fd, line, (size_t)length) != length)
		measure_die("say", strerror(errno));
}

static void stopped(const char *path)
{
	const char *task = getenv("REC_TASK_ID");
	char line[512];
	struct timespec now;
	sigset_t stop;
	int signal, fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		measure_die(path, strerror(errno));
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	say(fd, line, snprintf(line, sizeof line, "ready %.300s\n", task ? task : "-"));
	sigwait(&stop, &signal);
	clock_gettime(CLOCK_MONOTONIC, &now);
	say(fd, line, snprintf(line, sizeof line, "stopped %lld\n", now.tv_sec * 1000000000LL + now.tv_nsec));
}

int main(int count, char **arguments)
{
	if (count == 5 && strcmp(arguments[1], "loop") == 0)
		loop(measure_number(arguments[2]), measure_number(arguments[3]), arguments[4]);
	else if (count == 3 && strcmp(arguments[1], "stopped") == 0)
		stopped(arguments[2]);
	else
		measure_die("usage", "measure-spawn loop COUNT SLOTS PROGRAM | measure-spawn stopped FILE");
	return 0;
}
