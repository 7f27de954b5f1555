/* worker.c - a worker whose life can be checked afterwards.
 *
 * usage: worker FOLDER NAP-MS EXIT-CODE [fork]
 *
 * Appends "start TASK ATTEMPT PID" to FOLDER/journal, naps, appends "end TASK ATTEMPT CODE". For as long as it lives it
 * holds a lock on FOLDER/locks/TASK; if somebody else holds it, it writes "twice TASK ATTEMPT": two of one task at
 * once. A line is one write(2) to a file opened with O_APPEND, so that lines of many processes do not mix. With `fork`
 * a grandchild in a session of its own, which inherits the lock, outlives the worker by far: whoever starts the task
 * again while it lives finds the lock taken too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GRANDCHILD_MS 20000

static const char *task, *attempt;

static void nap(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static void journal_add(const char *what, long number)
{
	char line[256];
	int length = snprintf(line, sizeof line, "%s %s %s %ld\n", what, task, attempt, number);
	int fd = open("journal", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)length) != length)
		_exit(99);
	close(fd);
}

static void lock_take(void)
{
	char path[128];
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	snprintf(path, sizeof path, "locks/%s", task);
	int fd = open(path, O_RDWR | O_CREAT, 0600); /* of the open file, so that a grandchild shares it */
	if (fd < 0)
		_exit(98);
	if (fcntl(fd, F_OFD_SETLK, &whole) != 0)
		journal_add("twice", (long)getpid());
}

static void grandchild_start(void)
{
	if (fork() != 0)
		return;
	setsid();
	nap(GRANDCHILD_MS);
	_exit(0);
}

int main(int count, char **arguments)
{
	task = getenv("REC_TASK_ID");
	attempt = getenv("REC_ATTEMPT");
	if (count < 4 || !task || !attempt || strchr(task, '/') || chdir(arguments[1]) != 0) {
		fprintf(stderr, "usage: worker FOLDER NAP-MS EXIT-CODE [fork], inside a task\n");
		return 97;
	}
	long code = strtol(arguments[3], NULL, 10);
	lock_take();
	journal_add("start", (long)getpid());
	if (count > 4 && strcmp(arguments[4], "fork") == 0)
		grandchild_start();
	nap(strtol(arguments[2], NULL, 10));
	journal_add("end", code);
	return (int)code;
}
