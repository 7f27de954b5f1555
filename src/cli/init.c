/* init.c - `reconciler init`: the only command that makes tables. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"

static const char *const examples[] = {
	"reconciler init                    # here",
	"reconciler init ~/project          # there, or attach to its codeframe",
	"reconciler -S sqlite:/srv/q.db init",
	NULL,
};

#define URI_PREFIX "sqlite:"

enum outcome { OUTCOME_MADE, OUTCOME_ATTACHED, OUTCOME_PRESENT };
static const char *const outcome_words[] = {
	[OUTCOME_MADE] = "made",
	[OUTCOME_ATTACHED] = "attached",
	[OUTCOME_PRESENT] = "present",
};

static bool exists(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0;
}

/* Where the store of `directory` is, or is to be: a URI, since a bare path that is a directory is searched. */
static int place(const char *directory, char out[PATH_MAX], struct rec_error *error)
{
	static const char *const places[] = {".reconciler", ".codeframe", ".reconciler"};
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		int length = snprintf(out, PATH_MAX, URI_PREFIX "%s/%s/state.db", directory, places[i]);
		if (length < 0 || length >= PATH_MAX)
			return rec_fail(error, REC_E_INVALID, "%s: the path is too long", directory);
		if (exists(out + strlen(URI_PREFIX)))
			return 0;
	}
	return 0; /* none is there: the last one is made */
}

/* What is there before init changes anything; a store that cannot be read is left for init to complain about. */
static enum outcome look_before(const char *uri, bool pooled)
{
	struct rec_store_options reading = {.mode = REC_STORE_READ, .pooled = pooled};
	struct rec_store_info info;
	struct rec_store *store;
	if (rec_store_open(uri, &reading, &store, NULL) < 0)
		return OUTCOME_MADE;
	rec_store_info(store, &info);
	enum outcome outcome = info.attached ? OUTCOME_PRESENT : OUTCOME_ATTACHED;
	rec_store_close(store);
	return outcome;
}

static void tell(struct cli *cli, enum outcome outcome)
{
	struct rec_buffer *out = &cli->out.buffer;
	struct rec_store_info info;
	rec_store_info(cli->store, &info);
	if (cli->format != FORMAT_TABLE) {
		rec_buffer_add_text(out, "{");
		cli_json_text(out, "store", rec_slice_of(info.location));
		cli_json_text(out, "result", rec_slice_of(outcome_words[outcome]));
		cli_json_bool(out, "codeframe", info.codeframe);
		rec_buffer_add_text(out, "}\n");
		return;
	}
	const char *kind = info.codeframe ? "codeframe workspace" : "store";
	output_text(&cli->out, outcome == OUTCOME_MADE       ? "made a new store: "
			       : outcome == OUTCOME_ATTACHED ? "attached to the "
							     : "already set up: ");
	if (outcome == OUTCOME_ATTACHED)
		output_printf(&cli->out, "%s, whose own tables stay as they are: ", kind);
	output_shown(&cli->out, rec_slice_of(info.location), PATH_MAX);
	output_text(&cli->out, "\n");
}

static int init_run(struct cli *cli, const struct arguments *arguments)
{
	struct rec_store_options wanted = {.mode = REC_STORE_INIT};
	struct rec_error error;
	char path[PATH_MAX];
	const char *uri = cli->store_uri;
	if (uri && arguments->word_count > 0)
		return cli_fail("init: DIR stands beside --store (give one of them)");
	if (!uri) {
		if (place(arguments->word_count > 0 ? arguments->words[0] : ".", path, &error) < 0)
			return cli_error(&error);
		uri = path;
	}
	if (cli_store_settings(cli, uri, &wanted, &error) < 0)
		return cli_error(&error);
	enum outcome outcome = look_before(uri, wanted.pooled);
	if (rec_store_open(uri, &wanted, &cli->store, &error) < 0)
		return cli_error(&error);
	tell(cli, outcome);
	const char *named = getenv("RECONCILER_STORE");
	if (uri == path && named && named[0])
		cli_warn(cli, "every other command takes the store that RECONCILER_STORE names (reconciler -S "
			      "\"$RECONCILER_STORE\" init makes that one)");
	return STATUS_OK;
}

const struct command command_init = {
	.name = "init",
	.summary = "make a store, or attach to a codeframe workspace",
	.description =
		"Makes a store in DIR/.reconciler (DIR is the working directory unless given), or attaches to "
		"DIR/.codeframe if that is a codeframe workspace: adds tables and triggers whose names begin with rec_ "
		"and leaves codeframe's own untouched. With --store, that store. Does nothing if all is there already. "
		"No other command makes tables.",
	.words = {{.name = "DIR", .complete = COMPLETE_DIRECTORY, .optional = true}},
	.run = init_run,
	.examples = examples,
};
