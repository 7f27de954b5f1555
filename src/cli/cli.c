/* cli.c - opening the store, and the one place that writes to standard error. A message is one write(2), so
 * that lines of several processes on one terminal do not mix; it goes through rec_fail, which makes control
 * characters harmless.
 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/config.h"

/* ---- Standard error ----------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 0))) static void say(const char *kind, const char *format, va_list arguments)
{
	char text[sizeof((struct rec_error *)0)->message];
	struct rec_error clean;
	vsnprintf(text, sizeof text, format, arguments);
	rec_fail(&clean, REC_E_INVALID, "%s", text);
	dprintf(STDERR_FILENO, "reconciler: %s%s\n", kind, clean.message);
}

void cli_say(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	say("", format, arguments);
	va_end(arguments);
}

void cli_warn(const struct cli *cli, const char *format, ...)
{
	va_list arguments;
	if (cli->verbosity < 0)
		return;
	va_start(arguments, format);
	say("warning: ", format, arguments);
	va_end(arguments);
}

void cli_note(const struct cli *cli, const char *format, ...)
{
	va_list arguments;
	if (cli->verbosity < 1)
		return;
	va_start(arguments, format);
	say("", format, arguments);
	va_end(arguments);
}

int cli_outcome(int result, const char *thing, struct rec_slice id, const struct rec_error *error)
{
	char shown[REC_ID_BYTES_MAX + 1];
	if (result < 0)
		return cli_error(error);
	if (result == REC_NOT_FOUND)
		return cli_refuse("%s %s: not found", thing, rec_text_shown(shown, sizeof shown, id));
	return STATUS_OK;
}

/* ---- The store ---------------------------------------------------------------------------------- */

static void tell_bad_row(void *context, const struct rec_warning *warning)
{
	char shown[REC_ID_BYTES_MAX + 1];
	const struct cli *cli = context;
	if (warning->task_id.data)
		cli_warn(cli, "task %s: %s %s: %s", rec_text_shown(shown, sizeof shown, warning->task_id),
			 warning->column, warning->problem, warning->shown);
	else
		cli_warn(cli, "a task: %s %s: %s", warning->column, warning->problem, warning->shown);
}

static int find_store(struct cli *cli, struct rec_buffer *path, struct rec_error *error)
{
	char directory[PATH_MAX];
	const char *named = getenv("RECONCILER_STORE");
	if (cli->store_uri || (named && named[0])) {
		named = cli->store_uri ? cli->store_uri : named;
		int r = rec_buffer_add_text(path, named);
		if (r == REC_E_LIMIT)
			return rec_fail(error, REC_E_INVALID, "store: the name is %zu bytes long (at most %zu)",
					strlen(named), path->maximum - 1);
		return r < 0 ? rec_fail_nomem(error) : 0;
	}
	if (!getcwd(directory, sizeof directory))
		return rec_fail_errno(error, errno, "the working directory");
	int r = rec_store_discover(directory, path, error);
	if (r == REC_NOT_FOUND)
		return rec_fail(error, REC_E_NO_STORE,
				"%s: no task store here or in a directory above (reconciler init makes one, --store "
				"names one)",
				directory);
	return r;
}

int cli_store_settings(struct cli *cli, const char *uri, struct rec_store_options *options, struct rec_error *error)
{
	struct config *config = NULL;
	if (!rec_store_uri_is_postgres(uri))
		return 0;
	int r = config_read(NULL, &cli->arena, &config, error);
	const char *pooled = r == 0 ? config_text(config, "postgres", "pooled") : NULL;
	options->pooled = pooled && config_true(pooled);
	return r;
}

static int open_store(struct cli *cli, enum rec_store_mode mode, struct rec_error *error)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer path;
	struct rec_store_options options = {.mode = mode};
	rec_buffer_init(&path, NULL, 64u << 10);
	int r = find_store(cli, &path, error);
	if (r == 0)
		r = cli_store_settings(cli, path.data, &options, error);
	if (r < 0)
		return r;
	r = rec_store_open(path.data, &options, &cli->store, error);
	if (r < 0)
		return r;
	rec_store_on_warning(cli->store, tell_bad_row, cli);
	return 0;
}

int cli_open(struct cli *cli, enum rec_store_mode mode)
{
	struct rec_error error;
	struct rec_store_info info;
	if (open_store(cli, mode, &error) < 0)
		return cli_error(&error);
	rec_store_info(cli->store, &info);
	cli_note(cli, "store %s (%s)", info.location, info.backend);
	if (config_read(info.directory, &cli->arena, &cli->config, &error) < 0)
		return cli_error(&error);
	return STATUS_OK;
}
