/* completion.c - `reconciler completion`: what the three scripts share. Ids are completed by asking the program
 * itself, quietly, so that a directory without a store simply offers none. */
#include "cli/completion.h"

#include "cli/cli.h"
#include "cli/commands.h"

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const char *const examples[] = {
	"source <(reconciler completion bash)",
	"reconciler completion zsh  > \"${fpath[1]}/_reconciler\"",
	"reconciler completion fish > ~/.config/fish/completions/reconciler.fish",
	NULL,
};

/* Depth first; next[d] is the next command below path[d] to go to. */
void completion_walk(struct output *out, const struct command *top, completion_fn *fn)
{
	const struct command *const *next[COMMAND_DEPTH_MAX] = {top->subcommands};
	struct arguments at = {.path = {top}, .depth = 1};
	fn(out, &at);
	while (at.depth > 0) {
		const struct command *const **sub = &next[at.depth - 1];
		if (!*sub || !**sub) {
			at.depth--;
			continue;
		}
		at.path[at.depth] = *(*sub)++;
		next[at.depth] = at.path[at.depth]->subcommands;
		at.depth++;
		fn(out, &at);
	}
}

size_t completion_word_count(const struct command *command)
{
	size_t count = 0;
	while (count < WORDS_MAX && command->words[count].name)
		count++;
	return count;
}

bool completion_word_may_be_next(const struct command *command, size_t word)
{
	return command->words[word].optional && word + 1 < completion_word_count(command);
}

static int completion_run(struct cli *cli, const struct arguments *arguments)
{
	const char *shell = arguments->words[0];
	if (strcmp(shell, "bash") == 0)
		completion_bash(&cli->out, arguments->path[0]);
	else if (strcmp(shell, "zsh") == 0)
		completion_zsh(&cli->out, arguments->path[0]);
	else if (strcmp(shell, "fish") == 0)
		completion_fish(&cli->out, arguments->path[0]);
	else
		return cli_fail("completion: '%s' is no shell we know (bash, zsh, fish)", shell);
	return STATUS_OK;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "print a completion script for a shell",
	.words = {{.name = "bash|zsh|fish", .choices = shells}},
	.run = completion_run,
	.examples = examples,
};
