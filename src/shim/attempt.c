/* attempt.c - see attempt.h.
 *
 * The child is started by vfork: fork from a large process costs milliseconds, and the shim wants errno of a
 * failed execve back, which shared memory gives for free. Between vfork and execve the child only makes
 * system calls. PR_SET_PDEATHSIG ends it if the shim is killed; the parent check closes the gap before it. */
#include "shim/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENT_BYTES_MAX (128u << 10) /* MAX_ARG_STRLEN: the kernel takes no longer single argument */
#define DRAIN_BYTES_MAX (1u << 20)      /* a pipe holds at most this much without root */

static int64_t wall_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void rec_attempt_init(struct rec_attempt *attempt)
{
	*attempt = (struct rec_attempt){.pidfd = -1, .output_fd = -1, .writing_fd = -1, .log_fd = -1};
}

static void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void rec_attempt_release(struct rec_attempt *attempt)
{
	fd_close(&attempt->pidfd);
	fd_close(&attempt->output_fd);
	fd_close(&attempt->writing_fd);
	fd_close(&attempt->log_fd);
	rec_attempt_init(attempt);
}

/* ---- Arguments and environment ---- */

struct placeholder {
	const char *name, *value;
};

/* One argument with its placeholders replaced, once, left to right (a title that holds "{id}" is not
 * expanded again). NULL: no memory. The result is free()d by arguments_free. */
static char *argument_expand(const char *text, const struct placeholder *placeholders, size_t count)
{
	size_t capacity = strlen(text) + 1;
	for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{'))
		for (size_t i = 0; i < count; i++)
			if (!strncmp(at, placeholders[i].name, strlen(placeholders[i].name)))
				capacity += strlen(placeholders[i].value);
	char *out = malloc(capacity), *to = out;
	while (out && *text) {
		size_t i = 0;
		while (i < count && strncmp(text, placeholders[i].name, strlen(placeholders[i].name)) != 0)
			i++;
		if (i == count) {
			*to++ = *text++;
			continue;
		}
		size_t length = strlen(placeholders[i].value);
		memcpy(to, placeholders[i].value, length);
		to += length;
		text += strlen(placeholders[i].name);
	}
	if (out)
		*to = '\0';
	return out;
}

static void arguments_free(char **arguments)
{
	for (size_t i = 0; arguments && arguments[i]; i++)
		free(arguments[i]);
	free(arguments);
}

static char **arguments_of(char **command, const struct rec_attempt_order *order)
{
	char number[16];
	snprintf(number, sizeof number, "%d", order->number);
	const struct placeholder placeholders[] = {
		{"{id}", order->id}, {"{title}", order->title}, {"{attempt}", number}};
	size_t count = 0;
	while (command[count])
		count++;
	char **arguments = calloc(count + 1, sizeof *arguments);
	for (size_t i = 0; arguments && i < count; i++) {
		arguments[i] = argument_expand(command[i], placeholders, sizeof placeholders / sizeof *placeholders);
		if (!arguments[i]) {
			arguments_free(arguments);
			return NULL;
		}
	}
	return arguments;
}

#define ADDED_VARIABLES 5
/* The shim's environment plus the attempt's own; `texts` holds the added ones. NULL: no memory. */
static char **environment_of(const struct rec_shim_setup *setup, const struct rec_attempt_order *order,
			     char texts[ADDED_VARIABLES][4128 + 256])
{
	const size_t room = sizeof texts[0];
	snprintf(texts[0], room, "REC_TASK_ID=%s", order->id);
	snprintf(texts[1], room, "REC_TASK_TITLE=%s", order->title);
	snprintf(texts[2], room, "REC_ATTEMPT=%d", order->number);
	snprintf(texts[3], room, "REC_CLAIM=%" PRId64, order->claim_id);
	snprintf(texts[4], room, "REC_TASK_FILE=%s/" REC_SLOT_TASK, setup->slot_path, order->task_file);
	size_t count = 0;
	while (setup->environment[count])
		count++;
	char **environment = calloc(count + ADDED_VARIABLES + 1, sizeof *environment);
	if (!environment)
		return NULL;
	for (size_t i = 0; i < ADDED_VARIABLES; i++)
		environment[i] = texts[i];
	if (count)
		memcpy(environment + ADDED_VARIABLES, setup->environment, count * sizeof *environment);
	return environment;
}

/* ---- The child ---- */

struct child {
	char **arguments, **environment;
	const char *workdir;
	int stdin_fd, output_fd;
	uint32_t task_file;
	pid_t parent;
	volatile int failed_errno; /* written by the child in our memory */
};

/* Only system calls from here to execve. */
static void child_run(struct child *child)
{
	static const int defaults[] = {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGHUP, SIGTERM};
	sigset_t none;
	for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
		signal(defaults[i], SIG_DFL);
	sigemptyset(&none);
	if (setpgid(0, 0) == 0 && dup2(child->stdin_fd, 0) == 0 && dup2(child->output_fd, 1) == 1 &&
	    dup2(child->output_fd, 2) == 2 && chdir(child->workdir) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
	    getppid() == child->parent) {
		sigprocmask(SIG_SETMASK, &none, NULL);
		execve(child->arguments[0], child->arguments, child->environment);
	}
	child->failed_errno = errno ? errno : ESRCH;
	_exit(127);
}

static pid_t child_start(struct child *child)
{
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = vfork();
	if (pid == 0)
		child_run(child);
	int failed = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = failed;
	return pid;
}

static bool argument_too_long(char **arguments)
{
	for (size_t i = 0; arguments[i]; i++)
		if (strlen(arguments[i]) >= ARGUMENT_BYTES_MAX)
			return true;
	return false;
}

/* Only a plain file: whatever ran in the slot before may have put a FIFO there, which would never be opened, or a link.
 * -1 with errno. */
static int task_open(const struct rec_shim_setup *setup, uint32_t file)
{
	char name[REC_SLOT_TASK_BYTES];
	struct stat status;
	snprintf(name, sizeof name, REC_SLOT_TASK, file);
	int fd = openat(setup->slot_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int failed = fstat(fd, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
	if (!failed && fcntl(fd, F_SETFL, 0) == 0)
		return fd;
	failed = failed ? failed : errno;
	close(fd);
	errno = failed;
	return -1;
}

/* Opens what the child needs and starts it; 0 or an errno. */
static int attempt_spawn(struct rec_attempt *attempt, const struct rec_shim_setup *setup, struct child *child)
{
	int ends[2];
	if (argument_too_long(child->arguments))
		return E2BIG;
	child->stdin_fd = task_open(setup, child->task_file);
	if (child->stdin_fd < 0)
		return errno;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		int failed = errno;
		close(child->stdin_fd);
		return failed;
	}
	fcntl(ends[1], F_SETFL, 0); /* the child's end blocks as everybody expects */
	child->output_fd = ends[1];
	pid_t pid = child_start(child);
	int failed = pid < 0 ? errno : child->failed_errno;
	close(child->stdin_fd);
	attempt->output_fd = ends[0];
	attempt->writing_fd = ends[1];
	if (pid > 0) {
		attempt->pid = pid;
		attempt->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	}
	return failed;
}

void rec_attempt_start(struct rec_attempt *attempt, const struct rec_shim_setup *setup,
		       const struct rec_attempt_order *order)
{
	static char texts[ADDED_VARIABLES][4128 + 256];
	rec_attempt_init(attempt);
	attempt->claim_id = order->claim_id;
	attempt->started_us = wall_us();
	rec_log_name(order->id, strlen(order->id), order->number, attempt->log_name);
	struct child child = {.arguments = arguments_of(setup->command, order),
			      .environment = environment_of(setup, order, texts),
			      .workdir = setup->workdir,
			      .task_file = order->task_file,
			      .parent = getpid()};
	attempt->spawn_errno = child.arguments && child.environment ? attempt_spawn(attempt, setup, &child) : ENOMEM;
	arguments_free(child.arguments);
	free(child.environment);
	if (attempt->spawn_errno && !attempt->pid) { /* there is no child to wait for */
		attempt->reaped = true;
		attempt->wait_status = 127 << 8;
		attempt->ended_us = wall_us();
	}
}

/* ---- Output ---- */

static void log_open(struct rec_attempt *attempt, const struct rec_shim_setup *setup)
{
	char *slash = strchr(attempt->log_name, '/');
	*slash = '\0';
	mkdirat(setup->logs_fd, attempt->log_name, 0700);
	*slash = '/';
	attempt->log_fd =
		openat(setup->logs_fd, attempt->log_name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

static void log_write(struct rec_attempt *attempt, const char *bytes, size_t length)
{
	while (length && attempt->log_fd >= 0) {
		ssize_t n = write(attempt->log_fd, bytes, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* a full disk loses output, never the attempt */
		bytes += n;
		length -= (size_t)n;
	}
}

/* Keeps the head of the output up to the limit, says once that the rest is cut, counts everything. */
static void log_keep(struct rec_attempt *attempt, const struct rec_shim_setup *setup, const char *bytes, size_t length)
{
	char notice[96];
	uint64_t before = attempt->output_bytes, limit = setup->log_limit_bytes;
	if (before == 0)
		log_open(attempt, setup);
	attempt->output_bytes += length;
	if (before < limit)
		log_write(attempt, bytes, length < limit - before ? length : (size_t)(limit - before));
	if (before <= limit && attempt->output_bytes > limit) {
		int n = snprintf(notice, sizeof notice, "\n[output cut after %" PRIu64 " bytes]\n", limit);
		log_write(attempt, notice, (size_t)n);
	}
}

static void output_read(struct rec_attempt *attempt, const struct rec_shim_setup *setup, size_t bytes_max)
{
	static char bytes[32768];
	for (size_t done = 0; attempt->output_fd >= 0 && done < bytes_max;) {
		ssize_t n = read(attempt->output_fd, bytes, sizeof bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* nothing more now; no end of file while we hold the other end */
			return;
		log_keep(attempt, setup, bytes, (size_t)n);
		done += (size_t)n;
	}
}

void rec_attempt_output(struct rec_attempt *attempt, const struct rec_shim_setup *setup)
{
	output_read(attempt, setup, 4 * 32768);
}

void rec_attempt_drain(struct rec_attempt *attempt, const struct rec_shim_setup *setup)
{
	output_read(attempt, setup, DRAIN_BYTES_MAX);
	fd_close(&attempt->output_fd);
	fd_close(&attempt->writing_fd);
}
