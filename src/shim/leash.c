/* leash.c - reconciler-leash PARENT PROGRAM [ARGUMENT...]: runs PROGRAM, and ends it with all that it started once the
 * parent is gone, or on SIGTERM, or when PROGRAM itself has ended. Then it ends the way PROGRAM did.
 *
 * What starts helpers uses posix_spawn, and may be killed at any time; so somebody has to stay with the helper who
 * knows its descendants, those that left its group and its session too. libc only. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/tree.h"

#define AGAIN_MS 20     /* SIGKILL is repeated for as long as something forks */
#define GIVE_UP_MS 5000 /* there are processes that we may not signal, and some that cannot end */

struct leash {
	int signal_fd, parent_fd;
	pid_t helper; /* 0: reaped */
	int status;
};

/* false: no child is left. */
static bool reap(struct leash *leash)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid == 0 || (pid < 0 && errno != ECHILD))
			return true;
		if (pid < 0)
			return false;
		if (pid == leash->helper) {
			leash->helper = 0;
			leash->status = status;
		}
	}
}

/* true: it is time to end. */
static bool wait_for_something(const struct leash *leash)
{
	struct signalfd_siginfo info;
	struct pollfd waits[] = {{leash->signal_fd, POLLIN, 0}, {leash->parent_fd, POLLIN, 0}};
	bool asked = false;
	if (poll(waits, 2, -1) < 0)
		return errno != EINTR;
	while (read(leash->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		asked = asked || info.ssi_signo == SIGTERM;
	return asked || waits[1].revents;
}

static int64_t clock_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void tree_end(struct leash *leash)
{
	int64_t until_ms = clock_ms() + GIVE_UP_MS;
	while (clock_ms() < until_ms) {
		struct signalfd_siginfo info;
		struct pollfd wait = {leash->signal_fd, POLLIN, 0};
		if (leash->helper)
			kill(leash->helper, SIGKILL); /* where /proc does not tell of children */
		rec_tree_signal(SIGKILL);
		if (!reap(leash))
			return;
		poll(&wait, 1, AGAIN_MS);
		while (read(leash->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
			;
	}
}

/* In the child; does not return. */
static void become(pid_t leash, char **command)
{
	sigset_t none;
	sigemptyset(&none);
	setpgid(0, 0); /* what it sends to its group is not for us */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != leash)
		_exit(125);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(command[0], command);
	int failed = errno;
	fprintf(stderr, "%s: %s\n", command[0], strerror(failed));
	_exit(failed == ENOENT ? 127 : 126);
}

/* The helper's pipes are its own: their ends would never be seen if we held them too. */
static bool pipes_let_go(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return fd >= 0 && dup2(fd, 0) == 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2;
}

static bool leash_open(struct leash *leash, pid_t parent)
{
	sigset_t heard;
	sigemptyset(&heard);
	sigaddset(&heard, SIGTERM);
	sigaddset(&heard, SIGCHLD);
	leash->parent_fd = (int)syscall(SYS_pidfd_open, parent, 0);
	if (leash->parent_fd < 0 || getppid() != parent) /* it is gone, and its number may be somebody else's */
		return false;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || sigprocmask(SIG_SETMASK, &heard, NULL) != 0)
		return false;
	leash->signal_fd = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
	return leash->signal_fd >= 0;
}

static int end_alike(int status)
{
	const struct rlimit no_core = {0, 0};
	sigset_t one;
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	sigemptyset(&one);
	sigaddset(&one, WTERMSIG(status));
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return 128 + WTERMSIG(status);
}

int main(int count, char **arguments)
{
	struct leash leash = {.signal_fd = -1, .parent_fd = -1};
	if (count < 3) {
		fprintf(stderr, "usage: reconciler-leash PARENT PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	pid_t self = getpid();
	if (!leash_open(&leash, (pid_t)strtol(arguments[1], NULL, 10)))
		return 125;
	leash.helper = fork();
	if (leash.helper == 0)
		become(self, arguments + 2);
	if (leash.helper < 0)
		return 125;
	bool over = !pipes_let_go();
	while (!over)
		over = wait_for_something(&leash) || (reap(&leash), leash.helper == 0);
	tree_end(&leash);
	return end_alike(leash.status);
}
