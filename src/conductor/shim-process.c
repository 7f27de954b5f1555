/* shim-process.c - starting a shim, talking to it, finding one that lingers.
 *
 * The shim inherits three descriptors and nothing else of ours (everything here is CLOEXEC); its standard
 * descriptors are /dev/null, so that a shim which outlives us holds no pipe of ours open, except standard
 * error until it serves. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "conductor/slot.h"

#define HELLO_MS 2000 /* design: one that does not answer within 2 s is ended */

static int epoll_add(struct rec_shim_slots *s, struct slot *slot, struct rec_error *error)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = slot};
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, slot->socket, &event) != 0)
		return rec_fail_errno(error, errno, "%s: epoll", slot->folder);
	return 0;
}

void rec_slot_disconnect(struct rec_shim_slots *s, struct slot *slot)
{
	if (slot->socket < 0)
		return;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, slot->socket, NULL);
	close(slot->socket);
	slot->socket = -1;
}

/* ---- Starting ---- */

static int spawn_actions(posix_spawn_file_actions_t *actions, const int *inherit, size_t count)
{
	int r = posix_spawn_file_actions_init(actions);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, 0, 1);
	for (size_t i = 0; r == 0 && i < count; i++) /* onto itself: clears CLOEXEC in the child only */
		r = posix_spawn_file_actions_adddup2(actions, inherit[i], inherit[i]);
	return r;
}

static int shim_spawn(struct rec_shim_slots *s, struct slot *slot, int socket_end)
{
	char slot_text[16], logs_text[16], socket_text[16], limit_text[24];
	size_t count = 0;
	while (s->options.command[count])
		count++;
	const char **arguments = rec_zalloc(s->allocator, count + 8, sizeof *arguments);
	if (!arguments)
		return ENOMEM;
	const char *fixed[] = {s->options.shim_path, slot_text,  logs_text, socket_text,
			       s->options.workdir,   limit_text, "--"};
	snprintf(slot_text, sizeof slot_text, "%d", slot->folder_fd);
	snprintf(logs_text, sizeof logs_text, "%d", s->logs_fd);
	snprintf(socket_text, sizeof socket_text, "%d", socket_end);
	snprintf(limit_text, sizeof limit_text, "%" PRIu64, s->options.log_limit_bytes);
	memcpy(arguments, fixed, sizeof fixed);
	memcpy(arguments + sizeof fixed / sizeof *fixed, s->options.command, count * sizeof *arguments);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	int r = spawn_actions(&actions, (int[]){slot->folder_fd, s->logs_fd, socket_end}, 3);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	if (r == 0)
		r = posix_spawn(&slot->shim_pid, s->options.shim_path, &actions, &attributes,
				(char *const *)(uintptr_t)arguments, s->environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	rec_free(s->allocator, arguments);
	return r;
}

int rec_slot_shim_start(struct rec_shim_slots *s, struct slot *slot, struct rec_error *error)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return rec_fail_errno(error, errno, "%s: socketpair", slot->folder);
	int failed = shim_spawn(s, slot, ends[1]);
	close(ends[1]);
	if (failed) {
		close(ends[0]);
		slot->shim_pid = 0;
		return rec_fail_errno(error, failed, "%s (reinstall reconciler)", s->options.shim_path);
	}
	prlimit(slot->shim_pid, RLIMIT_NOFILE, &s->files_before, NULL);
	slot->socket = ends[0];
	rec_slot_deadline_send(s, slot);
	int r = epoll_add(s, slot, error);
	if (r) /* one that is not heard is of no use */
		rec_slot_hang_up(s, slot);
	return r;
}

/* ---- Adopting ---- */

static bool readable_until(int socket, int64_t deadline_us)
{
	for (;;) {
		int64_t left_us = deadline_us - rec_clock_real.monotonic_us(NULL);
		struct pollfd wait = {socket, POLLIN, 0};
		int n = left_us > 0 ? poll(&wait, 1, (int)(left_us / 1000 + 1)) : 0;
		if (n >= 0 || errno != EINTR)
			return n > 0;
	}
}

/* One packet. The child's pidfd comes along with HELLO; it is not needed as long as the shim itself can be ended by
 * one. */
static bool hello_receive(int socket, struct rec_shim_message *message)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec bytes = {message, sizeof *message};
	struct msghdr header = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	ssize_t n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *part = n > 0 ? CMSG_FIRSTHDR(&header) : NULL;
	if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
		int fd;
		memcpy(&fd, CMSG_DATA(part), sizeof fd);
		close(fd);
	}
	return n == (ssize_t)sizeof *message && message->version == REC_SHIM_VERSION && message->type == REC_SHIM_HELLO;
}

/* Only a shim of our own user is believed; its pidfd is kept, so that ending it never hits a stranger. */
static bool peer_accept(struct slot *slot, int socket)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid())
		return false;
	slot->shim_pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	return slot->shim_pidfd >= 0 && rec_record_locked(slot->record_fd) == 1;
}

/* Whoever holds the record's lock does not answer: end it through its pidfd and wait for the lock to fall. */
static void shim_end(struct slot *slot)
{
	struct pollfd gone = {slot->shim_pidfd, POLLIN, 0};
	if (slot->shim_pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, slot->shim_pidfd, SIGKILL, NULL, 0);
	poll(&gone, 1, HELLO_MS);
}

int rec_slot_shim_connect(struct rec_shim_slots *s, struct slot *slot, int64_t *ret_running, struct rec_error *error)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct rec_shim_message hello = {0};
	if (rec_record_locked(slot->record_fd) == 0)
		return REC_NOT_FOUND;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return rec_fail_errno(error, errno, "%s: socket", slot->folder);
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" REC_SLOT_CONTROL, slot->folder_fd);
	bool connected = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 && peer_accept(slot, fd);
	int64_t deadline_us = rec_clock_real.monotonic_us(NULL) + HELLO_MS * INT64_C(1000);
	if (!connected || !readable_until(fd, deadline_us) || !hello_receive(fd, &hello)) {
		close(fd);
		shim_end(slot);
		return rec_record_locked(slot->record_fd) == 0 && !connected ? REC_NOT_FOUND : REC_CONFLICT;
	}
	slot->socket = fd;
	rec_slot_deadline_send(s, slot);
	*ret_running = hello.claim_id;
	int r = epoll_add(s, slot, error);
	if (r)
		rec_slot_disconnect(s, slot);
	return r;
}

/* ---- Saying ---- */

bool rec_slot_send(struct slot *slot, const struct rec_shim_message *message, struct rec_slice id,
		   struct rec_slice title)
{
	struct rec_shim_message head = *message;
	head.version = REC_SHIM_VERSION;
	head.id_length = (uint32_t)id.length;
	head.title_length = (uint32_t)title.length;
	struct iovec parts[] = {{&head, sizeof head},
				{(void *)(uintptr_t)id.data, id.length},
				{(void *)(uintptr_t)title.data, title.length}};
	struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 3};
	ssize_t n;
	do
		n = slot->socket >= 0 ? sendmsg(slot->socket, &packet, MSG_NOSIGNAL) : -1;
	while (n < 0 && slot->socket >= 0 && errno == EINTR);
	return n >= 0;
}

void rec_slot_deadline_send(const struct rec_shim_slots *s, struct slot *slot)
{
	if (s->kill_us && slot->socket >= 0)
		rec_slot_send(slot,
			      &(struct rec_shim_message){
				      .type = REC_SHIM_DEADLINE, .started_us = s->term_us, .ended_us = s->kill_us},
			      (struct rec_slice){0}, (struct rec_slice){0});
}
