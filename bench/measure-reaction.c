/* measure-reaction.c - from another program's commit to the line that `watch` prints.
 *
 * usage: measure-reaction RECONCILER FOLDER COMMITS MODE     MODE: NORMAL or FULL (the foreign program's sync)
 * Prints lines "NAME TAB VALUE". The clock starts when COMMIT has returned to the foreign program and stops when
 * the line for that task and that status was read; a line that takes longer than a second is missed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define MISSED_US 1e6
#define QUIET_MS 500 /* the first results have all come when nothing came for so long */

struct reaction {
	pid_t pid;
	int lines; /* what the watch prints */
	char buffer[1 << 16];
	size_t length;
	sqlite3 *foreign;
	sqlite3_stmt *change;
	char id[64];
};

static void start_watch(struct reaction *x, char *program, char *store)
{
	char store_option[] = "-S", format[] = "--format=ndjson", watch[] = "watch";
	char *arguments[] = {program, store_option, store, format, watch, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		measure_die("pipe", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	int failed = posix_spawnp(&x->pid, program, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (failed)
		measure_die(program, strerror(failed));
	(void)close(ends[1]);
	x->lines = ends[0];
}

/* Waits for more output; false when none came in time. */
static bool read_more(struct reaction *x, int timeout_ms)
{
	struct pollfd wait = {.fd = x->lines, .events = POLLIN};

	if (poll(&wait, 1, timeout_ms) <= 0)
		return false;
	if (x->length > sizeof x->buffer / 2)
		x->length = 0;
	ssize_t got = read(x->lines, x->buffer + x->length, sizeof x->buffer - 1 - x->length);
	if (got <= 0)
		measure_die("watch", "ended");
	x->length += (size_t)got;
	x->buffer[x->length] = '\0';
	return true;
}

static void open_foreign(struct reaction *x, const char *store, const char *mode)
{
	char pragma[64];

	if (sqlite3_open_v2(store, &x->foreign, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		measure_die(store, sqlite3_errmsg(x->foreign));
	sqlite3_busy_timeout(x->foreign, 5000);
	snprintf(pragma, sizeof pragma, "PRAGMA synchronous=%s", mode);
	sqlite3_stmt *first;
	if (sqlite3_exec(x->foreign, pragma, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(x->foreign, "UPDATE tasks SET status=?1 WHERE id=?2", -1, &x->change, NULL) !=
		    SQLITE_OK ||
	    sqlite3_prepare_v2(x->foreign, "SELECT id FROM tasks WHERE status='READY' LIMIT 1", -1, &first, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(first) != SQLITE_ROW)
		measure_die(store, sqlite3_errmsg(x->foreign));
	snprintf(x->id, sizeof x->id, "%s", (const char *)sqlite3_column_text(first, 0));
	sqlite3_finalize(first);
}

/* One commit and its line: microseconds, or -1 if it was missed. */
static double react_once(struct reaction *x, const char *status)
{
	char wanted[160];

	snprintf(wanted, sizeof wanted, "{\"task_id\":\"%s\",\"current_status\":\"%s\"", x->id, status);
	x->length = 0;
	sqlite3_bind_text(x->change, 1, status, -1, SQLITE_STATIC);
	sqlite3_bind_text(x->change, 2, x->id, -1, SQLITE_STATIC);
	if (sqlite3_step(x->change) != SQLITE_DONE)
		measure_die("foreign change", sqlite3_errmsg(x->foreign));
	double begin = measure_now_us();
	sqlite3_reset(x->change);
	while (measure_now_us() - begin < MISSED_US) {
		if (read_more(x, 1000) && strstr(x->buffer, wanted))
			return measure_now_us() - begin;
	}
	return -1;
}

static void measure_commits(struct reaction *x, size_t commits)
{
	double *times = measure_alloc(commits, sizeof *times);
	size_t seen = 0;

	srand48(1);
	for (size_t i = 0; i < commits; i++) {
		/* Irregular pauses, so that no phase of the waiting is favoured; a few outlast every re-look. */
		double pause_ms = i % 100 == 99 ? 2500 : 2 + 20 * drand48();
		struct timespec pause = {(time_t)(pause_ms / 1e3), (long)(pause_ms * 1e6) % 1000000000};
		(void)nanosleep(&pause, NULL);
		double us = react_once(x, i & 1 ? "READY" : "DONE");
		if (us >= 0)
			times[seen++] = us;
	}
	printf("reaction_missed\t%zu\n", commits - seen);
	if (seen > 0)
		printf("reaction_us\t%.1f\nreaction_p99_us\t%.1f\n", measure_quantile(times, seen, 0.5),
		       measure_quantile(times, seen, 0.99));
	free(times);
}

int main(int count, char **arguments)
{
	static struct reaction x;
	char store[4096];

	if (count != 5)
		measure_die("usage", "measure-reaction RECONCILER FOLDER COMMITS NORMAL|FULL");
	snprintf(store, sizeof store, "%s/state.db", arguments[2]);
	start_watch(&x, arguments[1], store);
	open_foreign(&x, store, arguments[4]);
	while (read_more(&x, QUIET_MS))
		x.length = 0;
	measure_commits(&x, (size_t)measure_number(arguments[3]));
	(void)kill(x.pid, SIGTERM);
	(void)waitpid(x.pid, NULL, 0);
	sqlite3_finalize(x.change);
	sqlite3_close(x.foreign);
	return 0;
}
