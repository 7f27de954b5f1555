/* token.c - the token is looked for at the start, and again after GitHub refused it. A message names where a token came
 * from, never any of it. */
#include "github/token.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define GH_TIME_US 5000000
#define GH_LOOK_MS 5 /* so often it is looked whether it ended */
#define HOST_BYTES_MAX 256

void gh_token_protect(void)
{
	const struct rlimit none = {0, 0};
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
}

void gh_token_forget(struct gh_token *token)
{
	explicit_bzero(token, sizeof *token);
}

/* REC_NOT_FOUND: not set, or empty. */
static int from_environment(const char *name, struct gh_token *token, struct rec_error *error)
{
	char *value = getenv(name);
	if (!value || !*value)
		return REC_NOT_FOUND;
	int r = gh_token_read(rec_slice_of(value), token);
	explicit_bzero(value, strlen(value));
	token->from_environment = true;
	return r < 0 ? rec_fail(error, r, "%s: this is not a token", name) : 0;
}

static int from_file(const char *path, struct gh_token *token, struct rec_error *error)
{
	struct rec_buffer text;
	rec_buffer_init(&text, NULL, 4 * GH_TOKEN_BYTES_MAX);
	int r = rec_file_read(path, 4 * (size_t)GH_TOKEN_BYTES_MAX, &text, error);
	if (r == REC_NOT_FOUND)
		r = rec_fail(error, REC_E_IO, "%s: there is no such file (write the token into it, or drop token_file)",
			     path);
	else if (r == 0 && gh_token_read(rec_buffer_slice(&text), token) < 0)
		r = rec_fail(error, REC_E_INVALID, "%s: this is not a token", path);
	if (text.data)
		explicit_bzero(text.data, text.length);
	rec_buffer_release(&text);
	return r;
}

/* ---- gh ---- */

static int64_t left_ms(int64_t until_us)
{
	return (until_us - rec_clock_real.monotonic_us(rec_clock_real.context)) / 1000;
}

static pid_t gh_start(char *host, int output)
{
	char program[] = "gh", auth[] = "auth", word[] = "token", option[] = "--hostname";
	char *arguments[] = {program, auth, word, option, host, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	pid_t pid = -1;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -1;
	}
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE); /* this program ignores it */
	if (posix_spawnattr_setsigdefault(&attributes, &defaults) != 0 ||
	    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
	    posix_spawn_file_actions_adddup2(&actions, output, 1) != 0 ||
	    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) != 0 ||
	    posix_spawnp(&pid, program, &actions, &attributes, arguments, environ) != 0)
		pid = -1;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* What it prints until it closes its output. 0: nothing, more than `capacity`, or not in time. */
static size_t gh_output(int fd, char *text, size_t capacity, int64_t until_us)
{
	size_t length = 0;
	while (length < capacity) {
		int64_t left = left_ms(until_us);
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		ssize_t n = ready > 0 ? read(fd, text + length, capacity - length) : 0;
		if (n <= 0)
			return ready > 0 && n == 0 ? length : 0;
		length += (size_t)n;
	}
	return 0;
}

/* Its status as waitpid has it; what does not end by then is killed. */
static int gh_end(pid_t pid, int64_t until_us)
{
	int status = -1;
	pid_t ended;
	while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && left_ms(until_us) > 0)
		poll(NULL, 0, GH_LOOK_MS);
	if (ended == 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return status;
}

static int from_gh(struct rec_slice host, struct gh_token *token)
{
	char name[HOST_BYTES_MAX], text[GH_TOKEN_BYTES_MAX + 2];
	int ends[2], status = -1;
	int64_t until_us = rec_clock_real.monotonic_us(rec_clock_real.context) + GH_TIME_US;
	if (host.length >= sizeof name || pipe2(ends, O_CLOEXEC) < 0)
		return REC_NOT_FOUND;
	memcpy(name, host.data, host.length);
	name[host.length] = 0;
	pid_t pid = gh_start(name, ends[1]);
	close(ends[1]);
	size_t length = pid > 0 ? gh_output(ends[0], text, sizeof text, until_us) : 0;
	close(ends[0]);
	if (pid > 0)
		status = gh_end(pid, length ? until_us : 0);
	int r = length && status == 0 ? gh_token_read((struct rec_slice){text, length}, token) : REC_E_INVALID;
	explicit_bzero(text, sizeof text);
	return r < 0 ? REC_NOT_FOUND : 0;
}

int gh_token_find(const char *file, struct rec_slice host, struct gh_token *ret_token, struct rec_error *error)
{
	struct gh_token token = {0};
	int r = from_environment("GITHUB_TOKEN", &token, error);
	if (r == REC_NOT_FOUND)
		r = from_environment("GH_TOKEN", &token, error);
	if (r == REC_NOT_FOUND && file)
		r = from_file(file, &token, error);
	if (r == REC_NOT_FOUND)
		r = from_gh(host, &token);
	if (r == REC_NOT_FOUND)
		token = (struct gh_token){0};
	if (r >= 0)
		*ret_token = token;
	explicit_bzero(&token, sizeof token);
	return r < 0 ? r : 0;
}
