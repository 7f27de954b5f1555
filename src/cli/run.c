/* run.c - from a command line to an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"

/* Whoever started us may have closed them. A file opened later must not become a standard stream (results would
 * be written into the database), and a lost result must be an error: so each hole is filled with a descriptor
 * that refuses what the stream is for. */
static int fill_standard_streams(void)
{
	static const int modes[] = {[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDWR};
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
			return -1;
	}
	return 0;
}

static enum colour_choice read_colour(const struct arguments *arguments)
{
	const char *when = option_text(arguments, "color");
	if (when && strcmp(when, "always") == 0)
		return COLOUR_ALWAYS;
	return when && strcmp(when, "never") == 0 ? COLOUR_NEVER : COLOUR_AUTO;
}

static void read_format(struct cli *cli, const struct arguments *arguments)
{
	const char *format = option_text(arguments, "format");
	cli->format_given = format || option_given(arguments, "json");
	if (format)
		cli->format = strcmp(format, "json") == 0     ? FORMAT_JSON
			      : strcmp(format, "ndjson") == 0 ? FORMAT_NDJSON
							      : FORMAT_TABLE;
	else if (cli->format_given)
		cli->format = FORMAT_JSON;
}

static void read_global_options(struct cli *cli, const struct arguments *arguments)
{
	*cli = (struct cli){.store_uri = option_text(arguments, "store"), .colour = read_colour(arguments)};
	read_format(cli, arguments);
	if (option_given(arguments, "quiet"))
		cli->verbosity = -1;
	else if (option_given(arguments, "verbose"))
		cli->verbosity = 1;
	output_init(&cli->out, STDOUT_FILENO, cli->colour);
	rec_arena_init(&cli->arena, NULL);
}

static int run_command(struct cli *cli, const struct arguments *arguments)
{
	struct rec_error error;
	const char *directory = option_text(arguments, "C");
	if (option_given(arguments, "help")) {
		help_print(&cli->out, arguments);
		return STATUS_OK;
	}
	if (option_given(arguments, "version")) {
		output_text(&cli->out, "reconciler " REC_VERSION_STRING "\n");
		return STATUS_OK;
	}
	if (arguments_complete(arguments, &error) < 0)
		return cli_error(&error);
	if (directory && chdir(directory) < 0)
		return cli_fail("-C %s: %s", directory, strerror(errno));
	return arguments_command(arguments)->run(cli, arguments);
}

/* The last word on standard output: what could not be written must not look like success. */
static int finish_output(struct cli *cli, int status)
{
	int problem = output_flush(&cli->out);
	output_release(&cli->out);
	if (problem == 0 || status == STATUS_TROUBLE) /* one line of error is enough */
		return status;
	if (problem == EPIPE)
		return STATUS_SIGNAL + SIGPIPE; /* its reader has seen enough */
	return cli_fail("standard output: %s", strerror(problem));
}

int cli_main(int count, const char *const words[])
{
	struct arguments arguments;
	struct rec_error error;
	struct cli cli;
	if (fill_standard_streams() < 0)
		return STATUS_TROUBLE;
	signal(SIGPIPE, SIG_IGN); /* EPIPE says the same, and lets us close the store */
	signal(SIGXFSZ, SIG_IGN); /* EFBIG too */
	if (options_parse(&arguments, &program, count, words, &error) < 0) {
		arguments_release(&arguments);
		return cli_error(&error);
	}
	read_global_options(&cli, &arguments);
	int status = run_command(&cli, &arguments);
	rec_store_close(cli.store);
	status = finish_output(&cli, status);
	rec_arena_release(&cli.arena);
	arguments_release(&arguments);
	return status;
}
