/* leash.c - reconciler-leash PARENT PROGRAM [ARGUMENT...]: becomes PROGRAM, which is then ended with its parent.
 *
 * What starts helpers uses posix_spawn, which knows no parent-death signal; the signal survives execve, so this program
 * sets it and gets out of the way. The check of the parent closes the gap before. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	if (count < 3) {
		fprintf(stderr, "usage: reconciler-leash PARENT PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (pid_t)strtol(arguments[1], NULL, 10))
		return 125;
	execv(arguments[2], arguments + 2);
	fprintf(stderr, "%s: %s\n", arguments[2], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
