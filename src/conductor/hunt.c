/* hunt.c - see hunt.h. The environment is read again after the pidfd was opened, so that a pid that changed
 * hands in between is never signalled. */
#include "conductor/hunt.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN_BYTES 32768
#define ENVIRONMENT_BYTES 16384 /* our variables stand in front, so a part suffices */

bool rec_environment_claims(struct rec_slice block, int64_t claim_id, struct rec_slice batch_id)
{
	char claim[40];
	int claim_length = snprintf(claim, sizeof claim, "REC_CLAIM=%" PRId64, claim_id);
	bool claim_found = false, batch_found = false;
	static const char batch_name[] = "REC_BATCH_ID=";
	const size_t name_length = sizeof batch_name - 1;
	for (size_t at = 0; at < block.length && !(claim_found && batch_found);) {
		size_t length = strnlen(block.data + at, block.length - at);
		struct rec_slice variable = {block.data + at, length};
		claim_found |= rec_slice_equal(variable, (struct rec_slice){claim, (size_t)claim_length});
		batch_found |= length == name_length + batch_id.length &&
			       memcmp(variable.data, batch_name, name_length) == 0 &&
			       memcmp(variable.data + name_length, batch_id.data, batch_id.length) == 0;
		at += length + 1;
	}
	return claim_found && batch_found;
}

static bool process_claims(const char *pid, int64_t claim_id, struct rec_slice batch_id)
{
	char block[ENVIRONMENT_BYTES];
	char path[64];
	snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size_t length = 0;
	ssize_t n;
	while (length < sizeof block && (n = read(fd, block + length, sizeof block - length)) > 0)
		length += (size_t)n;
	close(fd);
	return rec_environment_claims((struct rec_slice){block, length}, claim_id, batch_id);
}

static unsigned process_hunt(const char *pid, int64_t claim_id, struct rec_slice batch_id)
{
	if (!process_claims(pid, claim_id, batch_id))
		return 0;
	int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)strtol(pid, NULL, 10), 0);
	if (pidfd < 0)
		return 0;
	unsigned found = process_claims(pid, claim_id, batch_id) ? 1 : 0;
	if (found)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	close(pidfd);
	return found;
}

unsigned rec_hunt(int64_t claim_id, struct rec_slice batch_id)
{
	unsigned found = 0;
	DIR *proc = opendir("/proc");
	for (struct dirent *entry; proc && (entry = readdir(proc));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			found += process_hunt(entry->d_name, claim_id, batch_id);
	if (proc)
		closedir(proc);
	return found;
}

/* ---- Orphans ---- */

static void orphan_kill(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* our child and not reaped: the number is still its own */
	if (pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	close(pidfd);
}

static size_t children_read(char *list, size_t capacity)
{
	char path[64];
	size_t length = 0;
	ssize_t n;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && length < capacity - 1 && (n = read(fd, list + length, capacity - 1 - length)) > 0)
		length += (size_t)n;
	if (fd >= 0)
		close(fd);
	list[length] = '\0';
	return length;
}

unsigned rec_orphans_end(rec_known_child_fn *known, void *context)
{
	char list[CHILDREN_BYTES], *end;
	unsigned found = 0;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (children_read(list, sizeof list) == sizeof list - 1)
		*strrchr(list, ' ') = '\0'; /* the last number may be cut; it is met in a later round */
	for (const char *at = list;; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);
		if (end == at)
			return found;
		if (known(context, pid))
			continue;
		orphan_kill(pid);
		found++;
	}
}
