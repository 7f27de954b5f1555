/* shim.c - reconciler-shim: serves one slot, attempt after attempt. libc only.
 *
 * The shim is the parent and the subreaper of everything an attempt starts; it ends every descendant before
 * it writes that the attempt ended. It outlives its conductor: what runs goes on, its end is written into
 * the slot's record, and a conductor that comes later may connect to the socket `control` and watch it to
 * its end. The order on every end: record, then the next attempt's start, then the message.
 *
 * Standard input and output are /dev/null (the conductor sees to that); standard error too once it serves.
 * One thread, one poll loop; wake-ups are a signalfd (SIGCHLD), the conductor's socket, the listening
 * socket, the child's output, the deadline of survivors, and the conductor's own: where hosts share a store, others
 * may run the task after that, and the conductor may be dead, stopped, or waiting for a server by then. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/attempt.h"
#include "shim/record.h"
#include "shim/tree.h"

#define SURVIVORS_GRACE_US 2000000 /* between SIGTERM and SIGKILL for what outlived the child */
#define LET_ALONE_US 2000          /* so long a child is not disturbed by what the conductor says */
#define SURVIVORS_AGAIN_MS 20      /* SIGKILL is repeated for as long as something forks */

struct shim {
	struct rec_shim_setup setup;
	struct rec_record_map *map;
	int signal_fd, listen_fd, conductor_fd, deadline_fd;
	int64_t term_us, kill_us; /* the deadline, by the clock that goes on while the machine sleeps; 0: none */
	struct rec_attempt attempt;
	struct rec_attempt_order ahead;
	int64_t begun_us; /* the attempt, monotonic */
	bool quit;
	bool some_ended; /* SIGCHLD came since children were reaped last */
	bool alone;      /* no child of any kind was left then, and none was started since */
};

static int64_t clock_us(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- Saying ---- */

/* Records that what waits will not be started; its claim, or 0 if nothing waits. */
static int64_t void_ahead_record(struct shim *shim)
{
	int64_t claim_id = shim->ahead.claim_id;
	if (claim_id) {
		shim->ahead.claim_id = 0;
		rec_record_write(shim->map, REC_LANE_ENDED,
				 (struct rec_record){.phase = REC_RECORD_VOID, .claim_id = claim_id});
	}
	return claim_id;
}

/* What is not started yet will not be: nobody is there to record its end soon. */
static void conductor_lost(struct shim *shim)
{
	if (shim->conductor_fd >= 0)
		close(shim->conductor_fd);
	shim->conductor_fd = -1;
	void_ahead_record(shim);
}

/* A conductor that does not read (its queue is full for seconds) counts as gone. */
static void message_send(struct shim *shim, struct rec_shim_message message, int pass_fd)
{
	message.version = REC_SHIM_VERSION;
	struct iovec bytes = {&message, sizeof message};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr header = {.msg_iov = &bytes, .msg_iovlen = 1};
	if (pass_fd >= 0) {
		header.msg_control = control;
		header.msg_controllen = sizeof control;
		struct cmsghdr *part = CMSG_FIRSTHDR(&header);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &pass_fd, sizeof pass_fd);
	}
	ssize_t n;
	do
		n = shim->conductor_fd >= 0 ? sendmsg(shim->conductor_fd, &header, MSG_NOSIGNAL) : 0;
	while (n < 0 && errno == EINTR);
	if (n < 0)
		conductor_lost(shim);
}

static struct rec_shim_message attempt_message(const struct rec_attempt *attempt, enum rec_shim_type type)
{
	return (struct rec_shim_message){.type = type,
					 .claim_id = attempt->claim_id,
					 .number = attempt->pid,
					 .signalled = attempt->signalled,
					 .started_us = attempt->started_us,
					 .output_bytes = attempt->output_bytes};
}

static void void_ahead(struct shim *shim)
{
	int64_t claim_id = void_ahead_record(shim);
	if (claim_id)
		message_send(shim, (struct rec_shim_message){.type = REC_SHIM_VOID, .claim_id = claim_id}, -1);
}

/* ---- The deadline ---- */

static bool deadline_over(const struct shim *shim)
{
	return shim->term_us && clock_us(CLOCK_BOOTTIME) >= shim->term_us;
}

static void deadline_arm(const struct shim *shim, int64_t at_us)
{
	at_us = at_us > 0 ? at_us : 1; /* 0 would be never */
	struct itimerspec at = {.it_value = {at_us / 1000000, at_us % 1000000 * 1000}};
	timerfd_settime(shim->deadline_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void deadline_meet(struct shim *shim)
{
	uint64_t ticks;
	if (read(shim->deadline_fd, &ticks, sizeof ticks) != (ssize_t)sizeof ticks || !deadline_over(shim))
		return; /* it was put off just now */
	bool kill = clock_us(CLOCK_BOOTTIME) >= shim->kill_us;
	void_ahead(shim);
	if (shim->attempt.claim_id) {
		shim->attempt.signalled = true;
		rec_tree_signal(kill ? SIGKILL : SIGTERM);
		if (kill)
			shim->attempt.kill_at_us = 1;
	}
	if (!kill)
		deadline_arm(shim, shim->kill_us);
}

/* ---- Attempts ---- */

static void attempt_begin(struct shim *shim, const struct rec_attempt_order *order)
{
	unlinkat(shim->setup.slot_fd, REC_SLOT_HEARTBEAT, 0);
	rec_record_write(shim->map, REC_LANE_RUNNING,
			 (struct rec_record){.phase = REC_RECORD_RUNNING,
					     .claim_id = order->claim_id,
					     .started_us = clock_us(CLOCK_REALTIME)});
	rec_attempt_start(&shim->attempt, &shim->setup, order);
	shim->begun_us = clock_us(CLOCK_MONOTONIC);
	shim->alone = shim->alone && !shim->attempt.pid;
}

static void conductor_read(struct shim *shim); /* below: hearing may start an attempt, whose end hears what waits */

/* The whole tree is gone: record, start what waits, then tell. */
static void attempt_end(struct shim *shim)
{
	struct rec_attempt ended = shim->attempt;
	struct rec_record record = {.phase = REC_RECORD_ENDED,
				    .claim_id = ended.claim_id,
				    .wait_status = ended.wait_status,
				    .spawn_errno = ended.spawn_errno,
				    .survivors = ended.survivors,
				    .signalled = ended.signalled,
				    .started_us = ended.started_us,
				    .ended_us = ended.ended_us,
				    .output_bytes = ended.output_bytes};
	rec_record_write(shim->map, REC_LANE_ENDED, record);
	conductor_read(shim); /* what it may have sent to a child that was let alone */
	rec_attempt_release(&shim->attempt);
	if (deadline_over(shim))
		void_ahead(shim);
	struct rec_attempt_order next = shim->ahead;
	shim->ahead.claim_id = 0;
	if (next.claim_id)
		attempt_begin(shim, &next);
	struct rec_shim_message message = attempt_message(&ended, REC_SHIM_ENDED);
	message.number = ended.wait_status;
	message.spawn_errno = ended.spawn_errno;
	message.survivors = ended.survivors;
	message.ended_us = ended.ended_us;
	message_send(shim, message, -1);
	if (next.claim_id)
		message_send(shim, attempt_message(&shim->attempt, REC_SHIM_RUNNING), -1);
}

/* Reaps whatever ended; true if no child of any kind is left. */
static bool reap(struct shim *shim)
{
	while (shim->some_ended) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0) {
			shim->some_ended = false;
			shim->alone = pid < 0;
		} else if (pid == shim->attempt.pid) {
			shim->attempt.reaped = true;
			shim->attempt.pid = 0;
			shim->attempt.wait_status = status;
			shim->attempt.ended_us = clock_us(CLOCK_REALTIME);
		}
	}
	return shim->alone;
}

/* Called after every wake-up: carries the running attempt towards its end. A loop, since an attempt that is
 * over may start the next one, which may be over at once (a command that cannot be executed). */
static void attempts_advance(struct shim *shim)
{
	bool alone = reap(shim);
	while (shim->attempt.claim_id && shim->attempt.reaped) {
		struct rec_attempt *attempt = &shim->attempt;
		if (alone) {
			rec_attempt_drain(attempt, &shim->setup);
			attempt_end(shim);
			alone = reap(shim);
			continue;
		}
		int64_t now = clock_us(CLOCK_MONOTONIC);
		if (!attempt->kill_at_us) {
			attempt->kill_at_us = now + SURVIVORS_GRACE_US;
			attempt->survivors = rec_tree_signal(SIGTERM);
		} else if (now >= attempt->kill_at_us) {
			rec_tree_signal(SIGKILL);
		}
		return;
	}
}

/* ---- Hearing ---- */

static void handle_start(struct shim *shim, const struct rec_shim_message *message, const char *texts, size_t length)
{
	struct rec_attempt_order order = {
		.claim_id = message->claim_id, .number = message->number, .task_file = message->task_file};
	if (message->task_file >= REC_SLOT_TASK_FILES || message->id_length >= sizeof order.id ||
	    message->title_length >= sizeof order.title ||
	    length != (size_t)message->id_length + message->title_length || shim->ahead.claim_id ||
	    deadline_over(shim)) {
		shim->ahead.claim_id = shim->ahead.claim_id ? shim->ahead.claim_id : order.claim_id;
		void_ahead(shim);
		return;
	}
	memcpy(order.id, texts, message->id_length);
	memcpy(order.title, texts + message->id_length, message->title_length);
	if (shim->attempt.claim_id) {
		shim->ahead = order;
		return;
	}
	attempt_begin(shim, &order);
	message_send(shim, attempt_message(&shim->attempt, REC_SHIM_RUNNING), -1);
}

static void handle_signal(struct shim *shim, const struct rec_shim_message *message)
{
	if (message->claim_id != shim->attempt.claim_id || message->number <= 0 || message->number >= NSIG)
		return; /* about an attempt that is over */
	shim->attempt.signalled = true;
	rec_tree_signal(message->number);
	if (message->number == SIGKILL) /* and again, until nothing is left */
		shim->attempt.kill_at_us = 1;
}

static void handle_life(struct shim *shim)
{
	struct stat heartbeat;
	struct rec_shim_message message = attempt_message(&shim->attempt, REC_SHIM_LIFE);
	message.cpu_us = shim->attempt.pid ? rec_tree_cpu_us(shim->attempt.pid) : 0;
	if (fstatat(shim->setup.slot_fd, REC_SLOT_HEARTBEAT, &heartbeat, 0) == 0)
		message.heartbeat_us = (int64_t)heartbeat.st_mtim.tv_sec * 1000000 + heartbeat.st_mtim.tv_nsec / 1000;
	message_send(shim, message, -1);
}

static void handle_message(struct shim *shim, const char *bytes, size_t length)
{
	struct rec_shim_message message;
	if (length < sizeof message)
		return;
	memcpy(&message, bytes, sizeof message);
	if (message.version != REC_SHIM_VERSION)
		return;
	switch (message.type) {
	case REC_SHIM_START:
		handle_start(shim, &message, bytes + sizeof message, length - sizeof message);
		break;
	case REC_SHIM_SIGNAL:
		handle_signal(shim, &message);
		break;
	case REC_SHIM_RECALL:
		if (message.claim_id == shim->ahead.claim_id)
			void_ahead(shim);
		break;
	case REC_SHIM_LIFE:
		handle_life(shim);
		break;
	case REC_SHIM_QUIT:
		shim->quit = true;
		break;
	case REC_SHIM_DEADLINE:
		shim->term_us = message.started_us;
		shim->kill_us = message.ended_us;
		deadline_arm(shim, shim->term_us);
		break;
	default:
		break;
	}
}

/* Every packet that waits; end of file: the conductor is gone, and all it had sent was heard. */
static void conductor_read(struct shim *shim)
{
	static char bytes[REC_SHIM_MESSAGE_BYTES_MAX];
	while (shim->conductor_fd >= 0) {
		ssize_t n = recv(shim->conductor_fd, bytes, sizeof bytes, MSG_DONTWAIT);
		if (n > 0)
			handle_message(shim, bytes, (size_t)n);
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			conductor_lost(shim);
		else if (errno == EAGAIN)
			return;
	}
}

/* A conductor that adopts: only ours or root, only when there is none. It is told what runs, with a pidfd. */
static void conductor_accept(struct shim *shim)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	int fd = accept4(shim->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || (peer.uid != geteuid() && peer.uid != 0)) {
		close(fd);
		return;
	}
	if (shim->conductor_fd >= 0)
		conductor_read(shim); /* it may have hung up just now */
	if (shim->conductor_fd >= 0) {
		close(fd);
		return;
	}
	shim->conductor_fd = fd;
	message_send(shim, attempt_message(&shim->attempt, REC_SHIM_HELLO), shim->attempt.pidfd);
}

/* ---- The loop ---- */

static void signals_drain(struct shim *shim)
{
	struct signalfd_siginfo info;
	while (read(shim->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		;
}

/* A child that just started is let alone: what comes meanwhile is the next one's START as a rule, which can wait. */
static int let_alone_ms(const struct shim *shim)
{
	int64_t left_us = shim->begun_us + LET_ALONE_US - clock_us(CLOCK_MONOTONIC);
	return shim->attempt.claim_id && !shim->attempt.kill_at_us && left_us > 0 ? (int)(left_us / 1000 + 1) : 0;
}

static int wait_ms(const struct shim *shim)
{
	if (!shim->attempt.kill_at_us)
		return -1;
	int64_t left_us = shim->attempt.kill_at_us - clock_us(CLOCK_MONOTONIC);
	return left_us > 0 ? (int)(left_us / 1000 + 1) : SURVIVORS_AGAIN_MS;
}

/* After SIGKILL was asked for, it is repeated as long as the child itself is not reaped (it may fork). */
static void kill_again(struct shim *shim)
{
	if (shim->attempt.kill_at_us == 1 && !shim->attempt.reaped)
		rec_tree_signal(SIGKILL);
}

static void serve(struct shim *shim)
{
	while (!(shim->attempt.claim_id == 0 && (shim->quit || shim->conductor_fd < 0))) {
		struct pollfd waits[] = {{shim->signal_fd, POLLIN, 0},
					 {shim->conductor_fd, POLLIN, 0},
					 {shim->attempt.output_fd, POLLIN, 0},
					 {shim->listen_fd, POLLIN, 0},
					 {shim->deadline_fd, POLLIN, 0}};
		int alone_ms = let_alone_ms(shim);
		if (alone_ms)
			waits[1].fd = -1;
		if (poll(waits, 5, alone_ms ? alone_ms : wait_ms(shim)) < 0 && errno != EINTR)
			return;
		if (waits[0].revents) {
			signals_drain(shim);
			shim->some_ended = true;
		}
		if (waits[2].revents)
			rec_attempt_output(&shim->attempt, &shim->setup);
		kill_again(shim);
		attempts_advance(shim);
		if (waits[1].revents || waits[4].revents)
			conductor_read(shim);
		if (waits[3].revents)
			conductor_accept(shim);
		if (waits[4].revents)
			deadline_meet(shim); /* after whatever puts it off */
		attempts_advance(shim);
	}
}

/* ---- Setting up ---- */

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "reconciler-shim: %s: %s\n", what, why);
	return 2;
}

/* The socket is bound through the folder's descriptor: a path over 108 bytes cannot be bound. */
static int control_listen(int slot_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" REC_SLOT_CONTROL, slot_fd);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	unlinkat(slot_fd, REC_SLOT_CONTROL, 0);
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 4) == 0)
		return fd;
	int failed = errno;
	close(fd);
	errno = failed;
	return -1;
}

static int signals_open(void)
{
	sigset_t children;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files loses output, never the attempt */
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN); /* a shutdown tells the children too; their ends are still to be recorded */
	return sigprocmask(SIG_SETMASK, &children, NULL) == 0 ? signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK)
							      : -1;
}

static bool number_argument(const char *text, int64_t maximum, int64_t *ret_number)
{
	char *end;
	errno = 0;
	long long number = strtoll(text, &end, 10);
	if (errno || end == text || *end || number < 0 || number > maximum)
		return false;
	*ret_number = number;
	return true;
}

/* Takes the lock that says "alive" and maps the lanes. */
static int record_open(struct shim *shim)
{
	int fd = openat(shim->setup.slot_fd, REC_SLOT_RECORD, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return complain(REC_SLOT_RECORD, strerror(errno));
	int locked = rec_record_lock(fd);
	if (locked != 0)
		return complain(REC_SLOT_RECORD, locked > 0 ? "another shim serves this slot" : strerror(errno));
	shim->map = rec_record_map_open(fd); /* fd stays open for as long as the shim lives: the lock */
	return shim->map ? 0 : complain(REC_SLOT_RECORD, strerror(errno));
}

static int shim_open(struct shim *shim, int count, char **arguments)
{
	static char slot_path[4096];
	int64_t slot_fd, logs_fd, socket_fd, log_limit;
	if (count < 8 || strcmp(arguments[6], "--") != 0 || !number_argument(arguments[1], INT32_MAX, &slot_fd) ||
	    !number_argument(arguments[2], INT32_MAX, &logs_fd) ||
	    !number_argument(arguments[3], INT32_MAX, &socket_fd) ||
	    !number_argument(arguments[5], INT64_MAX, &log_limit))
		return complain("usage",
				"reconciler-shim SLOT-FD LOGS-FD SOCKET-FD WORKDIR LOG-LIMIT -- COMMAND [ARG...] "
				"(started by reconciler run, not by hand)");
	char link[40];
	snprintf(link, sizeof link, "/proc/self/fd/%d", (int)slot_fd);
	ssize_t length = readlink(link, slot_path, sizeof slot_path - 1);
	if (length < 0)
		return complain(link, strerror(errno));
	shim->setup = (struct rec_shim_setup){.slot_fd = (int)slot_fd,
					      .logs_fd = (int)logs_fd,
					      .slot_path = slot_path,
					      .workdir = arguments[4],
					      .log_limit_bytes = (uint64_t)log_limit,
					      .command = arguments + 7,
					      .environment = environ};
	shim->conductor_fd = (int)socket_fd;
	fcntl(shim->setup.slot_fd, F_SETFD, FD_CLOEXEC);
	fcntl(shim->setup.logs_fd, F_SETFD, FD_CLOEXEC);
	fcntl(shim->conductor_fd, F_SETFD, FD_CLOEXEC);
	return record_open(shim);
}

int main(int count, char **arguments)
{
	static struct shim shim = {.some_ended = true};
	rec_attempt_init(&shim.attempt);
	int r = shim_open(&shim, count, arguments);
	if (r)
		return r;
	setsid();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
		return complain("prctl", strerror(errno));
	shim.signal_fd = signals_open();
	shim.listen_fd = shim.signal_fd < 0 ? -1 : control_listen(shim.setup.slot_fd);
	if (shim.listen_fd < 0)
		return complain(REC_SLOT_CONTROL, strerror(errno));
	shim.deadline_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (shim.deadline_fd < 0)
		return complain("timer", strerror(errno));
	message_send(&shim, attempt_message(&shim.attempt, REC_SHIM_HELLO), -1);
	dup2(0, 2); /* a shim that lingers must not hold somebody's pipe open */
	serve(&shim);
	conductor_lost(&shim);
	rec_record_map_close(shim.map);
	return 0;
}
