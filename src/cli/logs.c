/* logs.c - `reconciler logs`: the output of an attempt, byte for byte, while it runs or afterwards.
 *
 * Following waits for the store as well as for the file: an attempt has ended when its claim is gone, and what
 * was written until then is printed before the command ends. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/batches.h"
#include "cli/commands.h"
#include "cli/loop.h"
#include "conductor/run-files.h"

#define PIECE_BYTES (64u << 10)
#define AGAIN_US 100000 /* a file says nothing by itself when it grows */

static const struct option_spec options[] = {
	{.name = "attempt",
	 .argument = "N",
	 .help = "of this attempt (the last one that printed something unless given)"},
	{.name = "follow", .letter = 'f', .help = "stay until the attempt has ended"},
	{0},
};

static const char *const examples[] = {"reconciler logs 4be0", "reconciler logs 4be0 --attempt 1",
				       "reconciler logs 4be0 -f", NULL};

struct logs {
	struct cli *cli;
	struct rec_slice task_id;
	struct rec_buffer path;
	uint64_t attempt;
	int fd; /* -1: nothing was printed yet */
};

/* The highest attempt that has a file; 0: none. */
static uint64_t last_attempt(const char *folder)
{
	uint64_t last = 0;
	DIR *files = opendir(folder);
	for (struct dirent *entry; files && (entry = readdir(files));) {
		char *end;
		uint64_t number = strtoull(entry->d_name, &end, 10);
		if (end > entry->d_name && strcmp(end, ".log") == 0 && number > last)
			last = number;
	}
	if (files)
		closedir(files);
	return last;
}

/* Which attempt is meant, and where its output is. 0 or the exit status. */
static int locate(struct logs *l, const struct arguments *arguments)
{
	struct rec_error error;
	struct rec_task task;
	char shown[REC_ID_BYTES_MAX + 1];
	const char *run = batch_run_directory(l->cli);
	if (option_count(arguments, "attempt", &l->attempt, &error) < 0)
		return cli_error(&error);
	int r = rec_store_get(l->cli->store, l->task_id, &l->cli->arena, &task, &error);
	if (r != 0)
		return cli_outcome(r, "task", l->task_id, &error);
	if (rec_log_folder_path(&l->path, run ? run : "", l->task_id) != 0)
		return cli_fail("out of memory");
	if (l->attempt == 0)
		l->attempt = task.claimed ? task.attempt : last_attempt(l->path.data);
	if (l->attempt == 0 || l->attempt > INT32_MAX)
		return cli_refuse("task %s: no attempt of it has printed anything",
				  rec_text_shown(shown, sizeof shown, l->task_id));
	rec_buffer_clear(&l->path);
	if (rec_log_path(&l->path, run ? run : "", l->task_id, (uint32_t)l->attempt) != 0)
		return cli_fail("out of memory");
	return STATUS_OK;
}

/* Copies what is there by now. 0 or the exit status. */
static int copy(struct logs *l)
{
	struct output *out = &l->cli->out;
	if (l->fd < 0)
		l->fd = open(l->path.data, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0)
		return errno == ENOENT ? STATUS_OK : cli_fail("%s: %s", l->path.data, strerror(errno));
	for (;;) {
		char *space = rec_buffer_space(&out->buffer, PIECE_BYTES);
		ssize_t length = space ? read(l->fd, space, PIECE_BYTES) : 0;
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return cli_fail("%s: %s", l->path.data, strerror(errno));
		rec_buffer_added(&out->buffer, (size_t)length);
		output_more(out);
		if (length == 0 || output_broken(out))
			return STATUS_OK;
	}
}

static int running(struct logs *l, bool *ret_running)
{
	struct rec_error error;
	struct rec_task task;
	rec_cleanup(rec_arena_release) struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	int r = rec_store_get(l->cli->store, l->task_id, &arena, &task, &error);
	*ret_running = r == 0 && task.claimed && task.attempt == l->attempt;
	return r < 0 ? cli_error(&error) : STATUS_OK;
}

static int follow(struct logs *l)
{
	rec_cleanup(loop_release) struct loop loop = {.signals = -1};
	struct rec_error error;
	bool goes_on = true;
	if (loop_init(&loop, l->cli->store, -1, &error) < 0)
		return cli_error(&error);
	loop.interval_us = AGAIN_US;
	while (goes_on) {
		loop_looking(&loop);
		int status = running(l, &goes_on); /* before the copy: what it printed until its end is copied */
		status = status ? status : copy(l);
		if (status || output_flush(&l->cli->out))
			return status;
		int events = goes_on ? loop_wait(&loop, &error) : 0;
		if (events < 0)
			return cli_error(&error);
		if (events & LOOP_STOP)
			return STATUS_SIGNAL + loop.signal;
		if (events & LOOP_GONE)
			return STATUS_SIGNAL + SIGPIPE;
	}
	return STATUS_OK;
}

static int logs_run(struct cli *cli, const struct arguments *arguments)
{
	struct logs l = {.cli = cli, .fd = -1};
	rec_buffer_init(&l.path, NULL, 64u << 10);
	int status = cli_open(cli, REC_STORE_READ);
	if (!status)
		status = cli_task_id(cli, arguments->words[0], &l.task_id);
	if (!status)
		status = locate(&l, arguments);
	if (!status)
		status = option_given(arguments, "follow") ? follow(&l) : copy(&l);
	if (!status && l.fd < 0 && option_given(arguments, "attempt"))
		status = cli_refuse("%s: that attempt has printed nothing", l.path.data);
	rec_close_fd(&l.fd);
	rec_buffer_release(&l.path);
	return status;
}

const struct command command_logs = {
	.name = "logs",
	.summary = "print what an attempt of a task printed",
	.description = "Prints the output (both streams) of an attempt as it was written, raw.",
	.words = {{.name = "TASK", .complete = COMPLETE_TASK}},
	.options = options,
	.run = logs_run,
	.examples = examples,
};
