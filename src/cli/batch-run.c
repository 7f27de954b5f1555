/* batch-run.c - see batch-run.h. */
#include "cli/batch-run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "base/timestamp.h"
#include "cli/batches.h"
#include "cli/config.h"
#include "cli/trackers.h"
#include "cli/view.h"

#define REFRESH_US 100000
#define LEASE_SPARE_US 6000000

void batch_run_init(struct batch_run *b, struct cli *cli)
{
	char host[256] = "?";
	*b = (struct batch_run){.cli = cli};
	gethostname(host, sizeof host - 1);
	snprintf(b->owner, sizeof b->owner, "%s:%d", host, (int)getpid());
}

/* A program that is not there is found before a batch exists, not when it has ended. */
static int on_end_settle(struct batch_run *b, struct rec_error *error)
{
	size_t count;
	if (!b->options.on_end)
		return 0;
	int r = command_split(b->cli, b->options.on_end, &b->on_end, &count, error);
	if (r == 0 && count == 0)
		return rec_fail(error, REC_E_INVALID, "--on-end: is empty (name a program, or leave the option out)");
	if (r == 0)
		r = command_resolve(b->cli, b->on_end, error);
	return r < 0 ? rec_fail_context(error, r, "--on-end") : 0;
}

int batch_run_settle(struct batch_run *b, struct rec_error *error)
{
	int r = settings_check(&b->settings, &b->options, error);
	if (r == 0)
		r = on_end_settle(b, error);
	if (r == 0 && b->settings.command_count)
		r = command_resolve(b->cli, b->settings.command, error);
	return r;
}

/* ---- Environment -------------------------------------------------------------------------------- */

/* The conductor's own, less what it sets itself, plus REC_STORE and --env. NULL: no memory. */
static const char **environment_make(struct batch_run *b)
{
	struct cli *cli = b->cli;
	struct rec_store_info info;
	size_t count = 0, used = 0;
	rec_store_info(cli->store, &info);
	while (environ[count])
		count++;
	size_t capacity = count + b->settings.environment_count + 2, length = strlen(info.location) + 24;
	const char **environment = rec_arena_alloc(&cli->arena, capacity * sizeof *environment);
	char *store = rec_arena_alloc(&cli->arena, length);
	if (!environment || !store)
		return NULL;
	bool uri = strstr(info.location, "://"); /* names its kind itself */
	snprintf(store, length, "REC_STORE=%s%s%s", uri ? "" : info.backend, uri ? "" : ":", info.location);
	environment[used++] = store;
	for (size_t i = 0; i < b->settings.environment_count; i++)
		environment[used++] = b->settings.environment[i];
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "REC_", 4) != 0)
			environment[used++] = environ[i];
	environment[used] = NULL;
	return environment;
}

/* ---- The run ------------------------------------------------------------------------------------ */

struct running {
	struct batch_run *batch;
	struct view view;
};

static void tell(void *context, const struct rec_event *event)
{
	struct running *running = context;
	view_event(&running->view, event);
}

static void refresh(void *context, const struct rec_driver *driver, int64_t now_us)
{
	struct running *running = context;
	struct rec_machine_counts counts = rec_machine_counts(rec_driver_machine(driver));
	view_draw(&running->view, &counts, now_us);
}

static int make(void *context, struct rec_error *error)
{
	struct running *running = context;
	int r = running->batch->make(running->batch, error);
	if (r == 0)
		view_begin(&running->view, running->batch->batch_id);
	return r;
}

static void stepped(void *context)
{
	struct running *running = context;
	view_recorded(&running->view);
}

/* What no child could enter would fail every task. 0 or an errno. */
static int workdir_find(const char *given, char out[PATH_MAX])
{
	struct stat status;
	if (!realpath(given, out) || stat(out, &status) != 0)
		return errno;
	if (!S_ISDIR(status.st_mode))
		return ENOTDIR;
	return access(out, X_OK) == 0 ? 0 : errno;
}

/* It must outlast what stopping takes, or nothing could ever run. */
static int lease_fill(struct batch_run *b, struct rec_driver_options *driver)
{
	const char *lease = config_text(b->cli->config, "postgres", "lease");
	driver->host = rec_slice_of(b->host);
	if (!lease)
		return STATUS_OK;
	if (rec_duration_parse(rec_slice_of(lease), &driver->lease_us) < 0 ||
	    driver->lease_us / 2 < driver->machine.grace_us + LEASE_SPARE_US)
		return cli_fail("[postgres] lease = %s: is too short (at least twice the grace and %d s)", lease,
				(int)(2 * LEASE_SPARE_US / 1000000));
	return STATUS_OK;
}

static int options_fill(struct running *running, struct rec_loop_options *o)
{
	struct batch_run *b = running->batch;
	struct cli *cli = b->cli;
	static char here[PATH_MAX];
	const char *workdir = b->options.workdir ? b->options.workdir : ".";
	int failed = workdir_find(workdir, here);
	if (failed)
		return cli_fail("--workdir %s: %s (name a directory that can be entered)", workdir, strerror(failed));
	*o = (struct rec_loop_options){
		.driver = {.store = cli->store,
			   .batch_id = b->batch_id,
			   .owner = rec_slice_of(b->owner),
			   .machine = b->options.machine,
			   .reconcile_interval_us = b->options.reconcile_interval_us,
			   .child_owns_run = b->options.child_owns_run,
			   .all_ready = b->options.all_ready,
			   .tell = tell,
			   .context = running},
		.slots = {.run_directory = batch_run_directory(cli),
			  .shim_path = program_of_ours(cli, "reconciler-shim", "shim"),
			  .batch_id = b->batch_id,
			  .slot_count = b->options.machine.max_parallel,
			  .command = b->settings.command,
			  .environment = environment_make(b),
			  .workdir = here,
			  .log_limit_bytes = b->options.log_limit_bytes},
		.close_issues = b->options.close_issues,
		.refresh_us = running->view.live ? REFRESH_US : 0,
		.refresh = refresh,
		.stepped = running->view.cli->format == FORMAT_NDJSON ? stepped : NULL,
		.context = running,
	};
	o->driver.machine.seed = rec_random_u64();
	if (b->host[0] && lease_fill(b, &o->driver))
		return STATUS_TROUBLE;
	if (!o->slots.run_directory)
		return cli_fail("this store has no place for running tasks (use a SQLite store)");
	if (!o->slots.shim_path)
		return cli_fail("reconciler-shim: not found beside this program (reinstall reconciler)");
	return o->slots.environment ? STATUS_OK : cli_fail("out of memory");
}

/* ---- The end ------------------------------------------------------------------------------------ */

static int summary_write(int fd, const struct view_summary *summary)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer json;
	rec_buffer_init(&json, NULL, 1u << 20);
	view_summary_json(&json, summary);
	rec_buffer_add_text(&json, "\n");
	return write(fd, json.data, json.length) == (ssize_t)json.length ? 0 : -1;
}

/* Starts it with one end of a pipe as its input and no signal blocked or ignored; 0 or an errno. */
static int on_end_start(const char **words, int input, int other_end, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE); /* this program ignores them */
	sigaddset(&defaults, SIGXFSZ);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawn_file_actions_addclose(&actions, other_end);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	int failed = posix_spawn(ret_pid, words[0], &actions, &attributes, (char *const *)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return failed;
}

/* --on-end: its failure is a warning; the batch has ended whatever it says. */
static void on_end(struct batch_run *b, const struct view_summary *summary)
{
	const char **words = b->on_end;
	int ends[2], status = 0;
	pid_t pid;
	if (!words)
		return;
	if (pipe(ends) != 0) {
		cli_warn(b->cli, "--on-end: %s", strerror(errno));
		return;
	}
	int failed = on_end_start(words, ends[0], ends[1], &pid);
	close(ends[0]);
	if (!failed)
		summary_write(ends[1], summary); /* fits a pipe; a reader that is gone is its own affair */
	close(ends[1]);
	while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (failed || status != 0)
		cli_warn(b->cli, "--on-end: %s %s", words[0], failed ? strerror(failed) : "did not succeed");
}

static int exit_status(const struct rec_loop_result *result)
{
	if (result->signal)
		return STATUS_SIGNAL + result->signal;
	return batch_exit_status(result->outcome);
}

/* What reconciliation did is told for the batch's whole life, as `status` does: a resumed one had one before. */
static struct view_summary summary_of(struct batch_run *b, const struct rec_loop_result *result)
{
	struct rec_batch batch;
	struct view_summary summary = {.batch_id = b->batch_id,
				       .outcome = result->outcome,
				       .counts = result->counts,
				       .outside = result->outside};
	if (rec_store_batch_get(b->cli->store, b->batch_id, &b->cli->arena, &batch, NULL) == 0) {
		summary.skipped = batch.skipped;
		summary.killed = batch.killed;
		summary.requeued = batch.requeued;
		summary.errors = batch.errors;
	}
	return summary;
}

static int run(struct running *running)
{
	struct batch_run *b = running->batch;
	struct rec_loop_options options;
	struct rec_loop_result result;
	struct rec_error error = {.code = 0};
	char shown[REC_ID_BYTES_MAX + 1];
	int status = options_fill(running, &options);
	if (!status)
		status = trackers_open(b->cli, &options.trackers);
	if (status)
		return status;
	rec_text_shown(shown, sizeof shown, b->batch_id);
	rec_memory_keep();
	int r = rec_loop_run(&options, make, &result, &error);
	rec_trackers_free(options.trackers);
	if (r == REC_CONFLICT)
		return cli_fail("batch %s: is run by %s (reconciler wait watches it, reconciler stop ends it)", shown,
				batch_holder(b->cli, b->batch_id));
	if (r == REC_REFUSED || r == REC_NOT_FOUND)
		return r == REC_REFUSED ? cli_refuse("batch %s: it has completed", shown)
					: cli_outcome(r, "batch", b->batch_id, &error);
	if (r < 0)
		return cli_error(&error);
	if (r > 0)
		return r - REC_END; /* `make` said why */
	struct view_summary summary = summary_of(b, &result);
	view_recorded(&running->view);
	view_end(&running->view, &summary);
	output_flush(&b->cli->out);
	on_end(b, &summary);
	return exit_status(&result);
}

/* On a shared store an owner says which host he is of. */
static bool owner_complete(struct batch_run *b)
{
	size_t length = strlen(b->owner);
	b->host = batch_host(b->cli, true);
	if (b->host && b->host[0])
		snprintf(b->owner + length, sizeof b->owner - length, ":%s", b->host);
	return b->host;
}

int batch_run(struct batch_run *b)
{
	struct running running = {.batch = b};
	if (!owner_complete(b))
		return STATUS_TROUBLE;
	view_init(&running.view, b->cli);
	int status = run(&running);
	view_release(&running.view);
	return status;
}

/* ---- Detaching ---------------------------------------------------------------------------------- */

int batch_detach(struct cli *cli, int *ret_status)
{
	int ends[2];
	char text[1024];
	size_t length = 0;
	ssize_t n;
	if (pipe(ends) != 0) {
		*ret_status = cli_fail("--detach: %s", strerror(errno));
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		setsid();
		return ends[1];
	}
	close(ends[1]);
	while (pid > 0 && length < sizeof text - 1 && (n = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
		length += (size_t)n;
	close(ends[0]);
	text[length] = '\0';
	*ret_status = pid < 0 ? cli_fail("--detach: %s", strerror(errno)) : STATUS_TROUBLE;
	if (pid > 0 && length > 0) { /* it lives: the batch exists */
		cli_print_id(cli, text);
		*ret_status = STATUS_OK;
	} else if (pid > 0) { /* it said why on our standard error */
		int status = 0;
		waitpid(pid, &status, 0);
		*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_TROUBLE;
	}
	return -1;
}

void batch_detached(struct batch_run *b, int notice)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer path;
	rec_buffer_init(&path, NULL, 64u << 10);
	rec_batch_lock_path(&path, batch_run_directory(b->cli), b->batch_id);
	if (!path.failed && path.length > 5) /* ".lock" -> ".log" */
		memcpy(path.data + path.length - 5, ".log", 5);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int log = path.failed ? -1 : open(path.data, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (write(notice, b->batch_id.data, b->batch_id.length) < 0)
		cli_note(b->cli, "--detach: nobody waits");
	close(notice);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(b->cli->format == FORMAT_NDJSON && log >= 0 ? log : null, STDOUT_FILENO);
		dup2(log >= 0 ? log : null, STDERR_FILENO);
		close(null);
	}
	rec_close_fd(&log);
}
