/* completion-fish.c - fish asks a condition for each candidate; ours walks the words once per prompt. */
#include "cli/completion.h"

static const char tail[] =
	"\t\t\tcase '*:--'\n"
	"\t\t\t\tset ended 1\n"
	"\t\t\tcase '*:-*'\n"
	"\t\t\tcase '*'\n"
	"\t\t\t\tset position (math $position + 1)\n"
	"\t\tend\n"
	"\tend\n"
	"\techo $path\n"
	"\techo $position\n"
	"end\n"
	"\n"
	"# Is the command PATH, and (if given) the word being typed number N, or at least N (\"N+\")?\n"
	"function __reconciler_at\n"
	"\tset -l now (__reconciler_where)\n"
	"\ttest \"$now[1]\" = \"$argv[1]\"; or return 1\n"
	"\tswitch \"$argv[2]\"\n"
	"\t\tcase ''\n"
	"\t\t\treturn 0\n"
	"\t\tcase '*+'\n"
	"\t\t\ttest $now[2] -ge (string trim -r -c + -- $argv[2])\n"
	"\t\tcase '*'\n"
	"\t\t\ttest $now[2] -eq $argv[2]\n"
	"\tend\n"
	"end\n"
	"\n"
	"# Ids with a quote or a backslash are not offered.\n"
	"function __reconciler_ids\n"
	"\tset -l globals\n"
	"\tset -l tokens (commandline -opc)\n"
	"\tfor i in (seq 2 (count $tokens))\n"
	"\t\tcontains -- $tokens[$i] -C -S --store; and set -a globals $tokens[$i] $tokens[(math $i + 1)]\n"
	"\tend\n"
	"\treconciler $globals $argv[1] list --format ndjson --quiet 2>/dev/null | head -n 1000 |\n"
	"\t\tstring replace -rf '^\\{\"id\":\"([^\"\\\\\\\\]*)\".*' '$1'\n"
	"end\n"
	"\n"
	"complete -c reconciler -f\n";

static void quoted(struct output *out, const char *text)
{
	output_text(out, "'");
	for (; *text; text++)
		output_printf(out, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
	output_text(out, "'");
}

/* A case for each way an option with a value can be written, and for each subcommand. */
static void write_cases(struct output *out, const struct arguments *at)
{
	char name[128];
	arguments_command_name(at, name, sizeof name);
	for (size_t level = at->depth; level-- > 0;) {
		FOR_EACH_OPTION(option, arguments_options(at, level))
		{
			if (!option->argument)
				continue;
			output_text(out, "\t\t\tcase");
			if (option->name)
				output_printf(out, " '%s:--%s'", name, option->name);
			if (option->letter)
				output_printf(out, " '%s:-%c'", name, option->letter);
			output_text(out, "\n\t\t\t\tset skip 1\n");
		}
	}
	for (const struct command *const *sub = arguments_command(at)->subcommands; sub && *sub; sub++)
		output_printf(out, "\t\t\tcase '%s:%s'\n\t\t\t\tset path \"$path $token\"\n", name, (*sub)->name);
}

static void write_candidates(struct output *out, enum complete complete, const char *const *choices)
{
	static const char *const candidates[] = {
		[COMPLETE_NOTHING] = "",
		[COMPLETE_FILE] = " -F",
		[COMPLETE_DIRECTORY] = " -a '(__fish_complete_directories)'",
		[COMPLETE_TASK] = " -a '(__reconciler_ids task)'",
		[COMPLETE_BLOCKER] = " -a '(__reconciler_ids blocker)'",
	};
	if (!choices) {
		output_text(out, candidates[complete]);
		return;
	}
	output_text(out, " -a '");
	for (const char *const *choice = choices; *choice; choice++)
		output_printf(out, "%s%s", choice == choices ? "" : " ", *choice);
	output_text(out, "'");
}

static void write_option(struct output *out, const struct option_spec *option, const char *command)
{
	output_text(out, "complete -c reconciler");
	if (command)
		output_printf(out, " -n '__reconciler_at \"%s\"'", command);
	if (option->name)
		output_printf(out, " -l %s", option->name);
	if (option->letter)
		output_printf(out, " -s %c", option->letter);
	if (option->argument) {
		output_text(out, option->complete == COMPLETE_FILE ? " -r" : " -x");
		write_candidates(out, option->complete, option->choices);
	}
	output_text(out, " -d ");
	quoted(out, option->help);
	output_text(out, "\n");
}

static void write_words(struct output *out, const struct command *command, const char *name)
{
	for (size_t i = 0; i < completion_word_count(command); i++) {
		const struct word_spec *word = &command->words[i];
		size_t first = i > 0 && completion_word_may_be_next(command, i - 1) ? i - 1 : i;
		if (!word->choices && word->complete == COMPLETE_NOTHING)
			continue;
		output_printf(out, "complete -c reconciler -n '__reconciler_at \"%s\" %zu%s'", name, first,
			      word->repeated ? "+" : "");
		write_candidates(out, word->complete, word->choices);
		output_text(out, "\n");
	}
}

static void write_command(struct output *out, const struct arguments *at)
{
	const struct command *command = arguments_command(at);
	char name[128];
	arguments_command_name(at, name, sizeof name);
	FOR_EACH_OPTION(option, command->options)
	write_option(out, option, at->depth == 1 ? NULL : name);
	for (const struct command *const *sub = command->subcommands; sub && *sub; sub++) {
		output_printf(out, "complete -c reconciler -n '__reconciler_at \"%s\" 0' -a %s -d ", name,
			      (*sub)->name);
		quoted(out, (*sub)->summary);
		output_text(out, "\n");
	}
	write_words(out, command, name);
}

void completion_fish(struct output *out, const struct command *top)
{
	output_text(out, "# fish completion for reconciler, made by: reconciler completion fish\n"
			 "\n"
			 "# Two lines: the command typed so far, and how many words stand after it.\n"
			 "function __reconciler_where\n"
			 "\tset -l path reconciler\n"
			 "\tset -l position 0\n"
			 "\tset -l skip\n"
			 "\tset -l ended\n"
			 "\tfor token in (commandline -opc)[2..]\n"
			 "\t\tif test -n \"$skip\"\n"
			 "\t\t\tset skip\n"
			 "\t\t\tcontinue\n"
			 "\t\tend\n"
			 "\t\tif test -n \"$ended\"\n"
			 "\t\t\tset position (math $position + 1)\n"
			 "\t\t\tcontinue\n"
			 "\t\tend\n"
			 "\t\tswitch \"$path:$token\"\n");
	completion_walk(out, top, write_cases);
	output_text(out, tail);
	completion_walk(out, top, write_command);
}
