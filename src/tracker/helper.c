/* helper.c - see helper.h.
 *
 * A process is named by its pidfd, never by its number alone: a conductor reaps every child that it does not know, and
 * a number that was reaped may belong to a stranger. The group is signalled only while its leader is still ours. */
#include "tracker/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "tracker/protocol.h"
#include "tracker/secrets.h"

#define PIECE_BYTES 65536u
#define KEPT_BYTES_MAX (2 * PIECE_BYTES) /* of an empty buffer */
#define STEP_BYTES_MAX (1u << 20)        /* read in one step: others want their turn */
#define WORDS_LINE_BYTES_MAX 4096u
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

void rec_helper_init(struct rec_helper *h, const struct rec_allocator *a, int epoll_fd)
{
	*h = (struct rec_helper){
		.allocator = a, .epoll_fd = epoll_fd, .pidfd = -1, .input_fd = -1, .output_fd = -1, .error_fd = -1};
	rec_buffer_init(&h->to_say, a, REC_TRACKER_LINE_BYTES_MAX + REC_TRACKER_LINE_ROOM);
	rec_buffer_init(&h->heard, a, REC_TRACKER_LINE_BYTES_MAX + 1 + PIECE_BYTES);
	rec_buffer_init(&h->words, a, WORDS_LINE_BYTES_MAX);
	rec_buffer_init(&h->words_line, a, WORDS_LINE_BYTES_MAX);
}

void rec_helper_release(struct rec_helper *h)
{
	rec_buffer_release(&h->to_say);
	rec_buffer_release(&h->heard);
	rec_buffer_release(&h->words);
	rec_buffer_release(&h->words_line);
}

/* ---- Starting ----------------------------------------------------------------------------------- */

struct ends {
	int input[2], output[2], error[2];
};

static void ends_close(struct ends *e)
{
	for (int i = 0; i < 2; i++) {
		rec_close_fd(&e->input[i]);
		rec_close_fd(&e->output[i]);
		rec_close_fd(&e->error[i]);
	}
}

/* Ours do not block; theirs are other descriptions, which do. */
static int ends_open(struct ends *e)
{
	if (pipe2(e->input, O_CLOEXEC) != 0 || pipe2(e->output, O_CLOEXEC) != 0 || pipe2(e->error, O_CLOEXEC) != 0)
		return errno;
	const int ours[] = {e->input[1], e->output[0], e->error[0]};
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (fcntl(ours[i], F_SETFL, O_NONBLOCK) != 0)
			return errno;
	return 0;
}

static int spawn(pid_t *ret_pid, const char *const *arguments, const struct ends *e)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGXFSZ);
	sigaddset(&defaults, SIGTERM); /* by which the leash is told to end it */
	int r = posix_spawn_file_actions_init(&actions);
	if (r)
		return r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return r;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	r = posix_spawn_file_actions_adddup2(&actions, e->input[0], STDIN_FILENO);
	r = r ? r : posix_spawn_file_actions_adddup2(&actions, e->output[1], STDOUT_FILENO);
	r = r ? r : posix_spawn_file_actions_adddup2(&actions, e->error[1], STDERR_FILENO);
	r = r ? r
	      : posix_spawn(ret_pid, arguments[0], &actions, &attributes, (char *const *)(uintptr_t)arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* {leash, our pid, command...} or the command itself. NULL: no memory. */
static const char **arguments_make(const struct rec_helper *h, const char *leash, const char *parent,
				   const char *const *command)
{
	size_t count = 0, used = 0;
	while (command[count])
		count++;
	const char **arguments = rec_zalloc(h->allocator, count + 3, sizeof *arguments);
	if (arguments && leash) {
		arguments[used++] = leash;
		arguments[used++] = parent;
	}
	for (size_t i = 0; arguments && i < count; i++)
		arguments[used++] = command[i];
	return arguments;
}

static int watch(const struct rec_helper *h, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events};
	return epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

/* Takes our ends over, whatever it returns. */
static int adopt(struct rec_helper *h, struct ends *e, pid_t pid)
{
	h->pid = pid;
	h->input_fd = e->input[1];
	h->output_fd = e->output[0];
	h->error_fd = e->error[0];
	e->input[1] = e->output[0] = e->error[0] = -1;
	h->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r = h->pidfd < 0 ? errno : watch(h, h->pidfd, EPOLLIN);
	r = r ? r : watch(h, h->output_fd, EPOLLIN);
	return r ? r : watch(h, h->error_fd, EPOLLIN);
}

int rec_helper_start(struct rec_helper *h, const char *leash, const char *const *command, struct rec_error *error)
{
	struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}};
	char parent[24];
	pid_t pid = 0;
	snprintf(parent, sizeof parent, "%d", (int)getpid());
	const char **arguments = arguments_make(h, leash, parent, command);
	if (!arguments)
		return rec_fail_nomem(error);
	int r = ends_open(&ends);
	r = r ? r : spawn(&pid, arguments, &ends);
	rec_free(h->allocator, arguments);
	if (r == 0) {
		h->exited = h->writing = false;
		h->leashed = leash != NULL;
		h->said = h->taken = h->scanned = 0;
		h->drained = false;
		h->heard_bytes = 0;
		rec_buffer_clear(&h->to_say);
		rec_buffer_clear(&h->heard);
		rec_buffer_clear(&h->words);
		rec_buffer_clear(&h->words_line);
		r = adopt(h, &ends, pid);
		if (r)
			rec_helper_kill(h);
	}
	ends_close(&ends);
	return r ? rec_fail_errno(error, r, "%s: cannot be started", command[0]) : 0;
}

/* Empties a buffer; what a large request or answer needed is given back. */
static void buffer_empty(struct rec_buffer *b)
{
	if (b->capacity > KEPT_BYTES_MAX)
		rec_buffer_release(b);
	else
		rec_buffer_clear(b);
}

/* ---- Saying ------------------------------------------------------------------------------------- */

/* write(2) without the signal that a helper's death would bring. */
static ssize_t write_quietly(int fd, const char *data, size_t length)
{
	sigset_t broken, before, pending;
	const struct timespec now = {0};
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigpending(&pending);
	bool was_pending = sigismember(&pending, SIGPIPE) == 1;
	if (pthread_sigmask(SIG_BLOCK, &broken, &before) != 0)
		return -1;
	ssize_t n = write(fd, data, length);
	int failed = errno;
	if (n < 0 && failed == EPIPE && !was_pending)
		while (sigtimedwait(&broken, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = failed;
	return n;
}

static void input_wait(struct rec_helper *h, bool wanted)
{
	struct epoll_event event = {.events = EPOLLOUT};
	if (h->writing == wanted || h->input_fd < 0)
		return;
	h->writing = wanted;
	epoll_ctl(h->epoll_fd, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, h->input_fd, &event);
}

static void input_close(struct rec_helper *h)
{
	input_wait(h, false);
	rec_close_fd(&h->input_fd);
}

static void input_work(struct rec_helper *h)
{
	while (h->input_fd >= 0 && h->said < h->to_say.length) {
		ssize_t n = write_quietly(h->input_fd, h->to_say.data + h->said, h->to_say.length - h->said);
		if (n < 0 && errno == EAGAIN) {
			input_wait(h, true);
			return;
		}
		if (n < 0 && errno != EINTR) { /* it does not listen any more; its exit or its silence will tell */
			input_close(h);
			return;
		}
		h->said += n > 0 ? (size_t)n : 0;
	}
	input_wait(h, false);
	buffer_empty(&h->to_say);
	h->said = 0;
}

void rec_helper_say(struct rec_helper *h)
{
	h->heard_bytes = 0;
	input_work(h);
}

/* ---- Hearing ------------------------------------------------------------------------------------ */

/* Reads one piece into `out`: > 0; 0: nothing now; REC_END: the end; REC_E_NOMEM. */
static int piece_read(int fd, struct rec_buffer *out)
{
	char *space = rec_buffer_space(out, PIECE_BYTES);
	if (!space) {
		bool full = out->failed == REC_E_LIMIT;
		out->failed = 0;
		return full ? 0 : REC_E_NOMEM;
	}
	ssize_t n = read(fd, space, PIECE_BYTES);
	if (n > 0) {
		rec_buffer_added(out, (size_t)n);
		return (int)n;
	}
	return n == 0 ? REC_END : errno == EAGAIN || errno == EINTR ? 0 : REC_END;
}

static int output_work(struct rec_helper *h)
{
	size_t taken = 0;
	rec_buffer_consume(&h->heard, h->taken);
	h->scanned -= h->taken;
	h->taken = 0;
	if (h->heard.length == 0)
		buffer_empty(&h->heard);
	h->drained = h->output_fd < 0;
	while (h->output_fd >= 0 && taken < STEP_BYTES_MAX) {
		size_t before = h->heard.length;
		int r = piece_read(h->output_fd, &h->heard);
		if (r == REC_E_NOMEM)
			return r;
		h->drained = h->heard.length == before;
		if (h->drained && r == 0)
			return 0;
		if (h->drained) {
			rec_close_fd(&h->output_fd); /* which takes it out of epoll */
			return 0;
		}
		taken += h->heard.length - before;
		h->heard_bytes += h->heard.length - before;
	}
	return 0;
}

/* Keeps the last line that is not empty. */
static void words_take(struct rec_helper *h, const char *data, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		struct rec_buffer line = h->words_line;
		if (data[i] == '\n' && line.length) {
			h->words_line = h->words;
			h->words = line;
		}
		if (data[i] == '\n')
			rec_buffer_clear(&h->words_line);
		else
			rec_buffer_add(&h->words_line, data + i, 1);
	}
}

static void error_work(struct rec_helper *h)
{
	char piece[4096];
	size_t taken = 0;
	while (h->error_fd >= 0 && taken < PIECE_BYTES) {
		ssize_t n = read(h->error_fd, piece, sizeof piece);
		if (n > 0) {
			words_take(h, piece, (size_t)n);
			taken += (size_t)n;
			h->heard_bytes += (size_t)n;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			words_take(h, "\n", 1);
			rec_close_fd(&h->error_fd);
		} else {
			return;
		}
	}
}

/* Is it still there to be waited for? Not when somebody else reaped it. */
static void exit_look(struct rec_helper *h)
{
	siginfo_t info = {0};
	if (h->pidfd < 0 || h->exited)
		return;
	if (waitid(P_PIDFD, (id_t)h->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
		h->exited = true;
		h->status_code = 0;
	} else if (info.si_pid) {
		h->exited = true;
		h->status_code = info.si_code;
		h->status = info.si_status;
	}
	if (h->exited) /* it would be ready for ever */
		epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, h->pidfd, NULL);
}

int rec_helper_work(struct rec_helper *h)
{
	if (!h->pid)
		return 0;
	exit_look(h); /* before the pipes, so that what it said last is read before its exit is told */
	input_work(h);
	error_work(h);
	return output_work(h);
}

int rec_helper_line(struct rec_helper *h, struct rec_slice *ret_line)
{
	size_t from = h->scanned;
	const char *end = h->heard.length > from ? memchr(h->heard.data + from, '\n', h->heard.length - from) : NULL;
	h->scanned = end ? (size_t)(end - h->heard.data) : h->heard.length;
	if (h->scanned - h->taken > REC_TRACKER_LINE_BYTES_MAX)
		return REC_E_LIMIT;
	if (!end)
		return REC_END;
	*ret_line = (struct rec_slice){h->heard.data + h->taken, h->scanned - h->taken};
	return 0;
}

void rec_helper_line_done(struct rec_helper *h, struct rec_slice line)
{
	h->taken += line.length + 1;
	h->scanned = h->taken;
}

bool rec_helper_output_ended(const struct rec_helper *h)
{
	return h->output_fd < 0;
}

/* ---- The end ------------------------------------------------------------------------------------ */

static void words_add(const struct rec_helper *h, struct rec_buffer *out)
{
	struct rec_secrets secrets;
	struct rec_buffer shown;
	rec_secrets_init(&secrets, environ);
	rec_buffer_init(&shown, h->allocator, WORDS_LINE_BYTES_MAX);
	if (rec_secrets_hide(&secrets, &shown, rec_buffer_slice(&h->words)) == 0 && shown.length) {
		rec_buffer_add_text(out, ": ");
		rec_text_show(out, rec_buffer_slice(&shown), REC_HELPER_WORDS_BYTES);
	}
	rec_buffer_release(&shown);
}

void rec_helper_end_text(const struct rec_helper *h, struct rec_buffer *out)
{
	if (h->status_code == CLD_EXITED)
		rec_buffer_printf(out, "the helper exited with status %d", h->status);
	else if (h->status_code)
		rec_buffer_printf(out, "the helper was ended by signal %d", h->status);
	else
		rec_buffer_add_text(out, "the helper ended");
	words_add(h, out);
}

void rec_helper_hang_up(struct rec_helper *h)
{
	input_close(h);
}

void rec_helper_kill(struct rec_helper *h)
{
	siginfo_t info = {0};
	if (!h->pid)
		return;
	input_close(h);
	rec_close_fd(&h->output_fd);
	rec_close_fd(&h->error_fd);
	/* While it can be waited for, the number is its own, and so is the group's. */
	bool ours = h->pidfd < 0 || waitid(P_PIDFD, (id_t)h->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
	int how = h->leashed ? SIGTERM : SIGKILL; /* the leash ends all that the helper started, then itself */
	if (ours && kill(-h->pid, how) != 0)
		kill(h->pid, how); /* not in its group yet */
	rec_helper_reap(h);
}

bool rec_helper_reap(struct rec_helper *h)
{
	siginfo_t info = {0};
	if (!h->pid)
		return true;
	int r = h->pidfd < 0 ? waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG)
			     : waitid(P_PIDFD, (id_t)h->pidfd, &info, WEXITED | WNOHANG);
	if (r == 0 && info.si_pid == 0)
		return false;
	h->pid = 0;
	rec_close_fd(&h->pidfd);
	return true;
}
