/* tree.c - walks /proc/PID/task/TID/children breadth first. The list of one round is bounded; what does not
 * fit is met in the next round, since the caller repeats. */
#include "shim/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROCESSES_MAX 1024

struct process {
	pid_t pid, parent;
};
struct tree {
	struct process found[PROCESSES_MAX];
	unsigned count;
};

/* The contents of a small /proc file, NUL-terminated; the length, or -1. */
static ssize_t proc_read(const char *path, char *out, size_t capacity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t length = 0;
	ssize_t n = 0;
	while (length < capacity - 1 && (n = read(fd, out + length, capacity - 1 - length)) > 0)
		length += (size_t)n;
	close(fd);
	out[length] = '\0';
	return n < 0 ? -1 : (ssize_t)length;
}

static void children_add(struct tree *tree, pid_t parent, const char *list)
{
	char *end;
	for (const char *at = list; tree->count < PROCESSES_MAX; at = end) {
		long pid = strtol(at, &end, 10);
		if (end == at)
			break;
		if (pid > 0)
			tree->found[tree->count++] = (struct process){(pid_t)pid, parent};
	}
}

/* Adds the children of every thread of `pid`. */
static void children_of(struct tree *tree, pid_t pid)
{
	char path[64], list[8192];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *threads = opendir(path);
	if (!threads)
		return;
	for (struct dirent *entry; (entry = readdir(threads));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%.12s/children", (int)pid, entry->d_name);
		if (proc_read(path, list, sizeof list) > 0)
			children_add(tree, pid, list);
	}
	closedir(threads);
}

static void descendants_of(struct tree *tree, pid_t root)
{
	tree->count = 0;
	children_of(tree, root);
	for (unsigned i = 0; i < tree->count; i++)
		children_of(tree, tree->found[i].pid);
}

/* The fields of /proc/PID/stat behind the name (which may hold anything): fields[0] is the state. */
static bool stat_fields(pid_t pid, char *text, size_t capacity, const char **ret_fields)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (proc_read(path, text, capacity) <= 0)
		return false;
	const char *behind = strrchr(text, ')');
	if (!behind || behind[1] != ' ')
		return false;
	*ret_fields = behind + 2;
	return true;
}

static bool still_child_of(pid_t pid, pid_t parent)
{
	char text[1024];
	const char *fields;
	return stat_fields(pid, text, sizeof text, &fields) && strtol(fields + 1, NULL, 10) == parent;
}

static void process_signal(struct process process, int signal_number)
{
	int pidfd = (int)syscall(SYS_pidfd_open, process.pid, 0);
	if (pidfd < 0)
		return;
	if (still_child_of(process.pid, process.parent))
		syscall(SYS_pidfd_send_signal, pidfd, signal_number, NULL, 0);
	close(pidfd);
}

unsigned rec_tree_signal(int signal_number)
{
	static struct tree tree; /* too large for the stack; the shim has one thread */
	descendants_of(&tree, getpid());
	for (unsigned i = 0; signal_number && i < tree.count; i++)
		process_signal(tree.found[i], signal_number);
	return tree.count;
}

/* utime, stime, cutime, cstime are fields 14 to 17 of proc(5), that is 11 to 14 behind the name. */
static uint64_t process_cpu_ticks(pid_t pid)
{
	char text[1024];
	const char *at;
	if (!stat_fields(pid, text, sizeof text, &at))
		return 0;
	for (int field = 0; field < 11 && at; field++)
		at = strchr(at + 1, ' ');
	uint64_t ticks = 0;
	char *end;
	for (int field = 0; field < 4 && at; field++, at = end)
		ticks += strtoull(at, &end, 10);
	return ticks;
}

uint64_t rec_tree_cpu_us(pid_t pid)
{
	static struct tree tree;
	uint64_t ticks = process_cpu_ticks(pid);
	descendants_of(&tree, pid);
	for (unsigned i = 0; i < tree.count; i++)
		ticks += process_cpu_ticks(tree.found[i].pid);
	return ticks * 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}
