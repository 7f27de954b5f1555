/* loop.c - poll(2) over at most four descriptors.
 *
 * Nothing is lost between a look and the wait after it: the wake-up descriptor is open before the first look
 * and is emptied before a look, never after, so what happens meanwhile makes it readable again. Since a wake-up
 * may come before its commit can be seen, struct rec_relook plans further looks, and opening counts as one. Signals
 * arrive through a descriptor as well: no handler, no global flag, no race between a check of it and the wait.
 */
#include "cli/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define RETRY_US 1000000
#define UNWOKEN_INTERVAL_US 1000000 /* where the store has no wake-up descriptor */

int64_t loop_now_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context);
}

static int open_signals(int *ret_fd, struct rec_error *error)
{
	sigset_t wanted;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGINT);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &wanted, NULL) < 0)
		return rec_fail_errno(error, errno, "signals");
	*ret_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	return *ret_fd < 0 ? rec_fail_errno(error, errno, "signals") : 0;
}

int loop_init(struct loop *loop, struct rec_store *store, int input, struct rec_error *error)
{
	*loop = (struct loop){.store = store, .wake = -1, .input = input, .signals = -1, .output = STDOUT_FILENO};
	int r = store ? rec_store_wake_fd(store, &loop->wake, error) : 0;
	if (r < 0)
		return r;
	if (loop->wake >= 0)
		rec_relook_woken(&loop->relook, loop_now_us());
	loop->interval_us = loop->wake >= 0 ? REC_CHECK_INTERVAL_DEFAULT_MS * INT64_C(1000) : UNWOKEN_INTERVAL_US;
	return open_signals(&loop->signals, error);
}

void loop_release(struct loop *loop)
{
	rec_close_fd(&loop->signals);
}

void loop_looking(struct loop *loop)
{
	loop->looked_us = loop_now_us();
	rec_relook_looked(&loop->relook, loop->looked_us);
}

int loop_looked(struct loop *loop, const struct cli *cli, int result, const struct rec_error *error)
{
	bool failed_before = loop->failed;
	loop->failed = result < 0;
	if (result >= 0)
		return STATUS_OK;
	if (rec_error_class_of(result) != REC_CLASS_RETRY)
		return cli_error(error);
	if (!failed_before)
		cli_warn(cli, "%s; looking again", error->message);
	return STATUS_OK;
}

/* Until the next look that nobody has to ask for. */
static int64_t wait_us(const struct loop *loop)
{
	int64_t now = loop_now_us();
	int64_t due = loop->looked_us + (loop->failed ? RETRY_US : loop->interval_us) - now;
	int64_t again = rec_relook_wait_us(&loop->relook, now);
	if (again >= 0 && again < due)
		due = again;
	return due > 0 ? due : 0;
}

static int take_signal(struct loop *loop)
{
	struct signalfd_siginfo info;
	if (read(loop->signals, &info, sizeof info) != (ssize_t)sizeof info)
		return 0;
	loop->signal = (int)info.ssi_signo;
	return LOOP_STOP;
}

static int take_wake(struct loop *loop)
{
	rec_store_wake_drain(loop->store);
	rec_relook_woken(&loop->relook, loop_now_us());
	return LOOP_LOOK;
}

int loop_wait(struct loop *loop, struct rec_error *error)
{
	/* Asking standard output for nothing still tells POLLERR when a pipe's reader is gone. */
	struct pollfd polled[] = {
		{.fd = loop->signals, .events = POLLIN},
		{.fd = loop->wake, .events = POLLIN},
		{.fd = loop->input, .events = POLLIN},
		{.fd = loop->output, .events = 0},
	};
	int64_t wait = wait_us(loop);
	struct timespec limit = {.tv_sec = wait / 1000000, .tv_nsec = wait % 1000000 * 1000};
	int ready = ppoll(polled, sizeof polled / sizeof polled[0], &limit, NULL);
	if (ready < 0 && errno != EINTR)
		return rec_fail_errno(error, errno, "waiting");
	if (ready < 0)
		return 0;
	int events = ready == 0 ? LOOP_LOOK : 0;
	if (polled[0].revents)
		events |= take_signal(loop);
	if (polled[1].revents)
		events |= take_wake(loop);
	if (polled[2].revents)
		events |= LOOP_INPUT;
	if (polled[3].revents & POLLERR)
		events |= LOOP_GONE;
	return events;
}
