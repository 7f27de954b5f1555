/* completion-zsh.c - one function per command, each an _arguments call whose specs carry our own words. */
#include "cli/completion.h"

#include <stdio.h>

static const char head[] =
	"#compdef reconciler\n"
	"# zsh completion for reconciler, made by: reconciler completion zsh\n"
	"\n"
	"# Ids with a quote or a backslash are not offered.\n"
	"_reconciler_ids() {\n"
	"\tlocal -a ids\n"
	"\tids=(${(f)\"$(reconciler $reconciler_globals $1 list --format ndjson --quiet 2>/dev/null | head -n 1000 |\n"
	"\t\tsed -n 's/^{\"id\":\"\\([^\"\\\\]*\\)\".*/\\1/p')\"})\n"
	"\tcompadd -a ids\n"
	"}\n"
	"\n"
	"_reconciler_either() {\n"
	"\tcompadd -- ${@:2}\n"
	"\t_reconciler_ids $1\n"
	"}\n"
	"\n"
	"# -C and --store decide whose ids are offered.\n"
	"_reconciler_keep_globals() {\n"
	"\tlocal name\n"
	"\tfor name in -C -S --store; do\n"
	"\t\t(( $+opt_args[$name] )) && reconciler_globals+=($name ${(Q)opt_args[$name]})\n"
	"\tdone\n"
	"}\n";

static const char tail[] = "\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
			   "\t_reconciler \"$@\"\n"
			   "else\n"
			   "\tcompdef _reconciler reconciler\n"
			   "fi\n";

/* Inside single quotes; `special` characters get a backslash for _arguments or _describe. */
static void quoted(struct output *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			output_text(out, "'\\''");
		else
			output_printf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
	}
}

static void function_name(struct output *out, const struct arguments *at)
{
	for (size_t i = 0; i < at->depth; i++)
		output_printf(out, "_%s", at->path[i]->name);
}

/* ":message:action" */
static void write_action(struct output *out, const char *message, enum complete complete, const char *const *choices)
{
	static const char *const actions[] = {
		[COMPLETE_NOTHING] = " ",
		[COMPLETE_FILE] = "_files",
		[COMPLETE_DIRECTORY] = "_directories",
		[COMPLETE_TASK] = " _reconciler_ids task",
		[COMPLETE_BLOCKER] = " _reconciler_ids blocker",
	};
	output_text(out, ":");
	quoted(out, message, ":\\");
	output_text(out, ":");
	if (!choices) {
		output_text(out, actions[complete]);
		return;
	}
	output_text(out, "(");
	for (const char *const *choice = choices; *choice; choice++)
		output_printf(out, "%s%s", choice == choices ? "" : " ", *choice);
	output_text(out, ")");
}

static void write_form(struct output *out, const struct option_spec *option, const char *form)
{
	output_printf(out, " \\\n\t\t'%s%s%s[", option->repeatable ? "*" : "", form,
		      option->argument && form[1] == '-' ? "=" : "");
	quoted(out, option->help, "[]:\\");
	output_text(out, "]");
	if (option->argument)
		write_action(out, option->argument, option->complete, option->choices);
	output_text(out, "'");
}

static void write_options(struct output *out, const struct arguments *at)
{
	for (size_t level = at->depth; level-- > 0;) {
		FOR_EACH_OPTION(option, arguments_options(at, level))
		{
			char form[64] = {'-', option->letter, '\0'};
			if (option->letter)
				write_form(out, option, form);
			if (!option->name)
				continue;
			snprintf(form, sizeof form, "--%s", option->name);
			write_form(out, option, form);
		}
	}
}

/* An optional word and the one that may stand in its place are offered together. */
static void write_either(struct output *out, const struct word_spec *first, const struct word_spec *next)
{
	output_printf(out, ":%s or %s: _reconciler_either %s", first->name, next->name,
		      next->complete == COMPLETE_BLOCKER ? "blocker" : "task");
	for (const char *const *choice = first->choices; choice && *choice; choice++)
		output_printf(out, " %s", *choice);
}

static void write_words(struct output *out, const struct command *command)
{
	for (size_t i = 0; i < completion_word_count(command); i++) {
		const struct word_spec *word = &command->words[i];
		if (word->repeated)
			output_text(out, " \\\n\t\t'*");
		else
			output_printf(out, " \\\n\t\t'%zu", i + 1);
		if (completion_word_may_be_next(command, i))
			write_either(out, word, word + 1);
		else
			write_action(out, word->name, word->complete, word->choices);
		output_text(out, "'");
	}
}

static void write_subcommands(struct output *out, const struct arguments *at)
{
	const struct command *const *subs = arguments_command(at)->subcommands;
	output_text(out, " \\\n\t\t'1: :->command' '*:: :->rest'\n"
			 "\t_reconciler_keep_globals\n"
			 "\tcase $state in\n"
			 "\tcommand)\n"
			 "\t\tcommands=(");
	for (const struct command *const *sub = subs; *sub; sub++) {
		output_printf(out, "\n\t\t\t'%s:", (*sub)->name);
		quoted(out, (*sub)->summary, "\\");
		output_text(out, "'");
	}
	output_text(out, ")\n\t\t_describe command commands ;;\n"
			 "\trest)\n"
			 "\t\tcase $words[1] in\n");
	for (const struct command *const *sub = subs; *sub; sub++) {
		output_printf(out, "\t\t%s) ", (*sub)->name);
		function_name(out, at);
		output_printf(out, "_%s ;;\n", (*sub)->name);
	}
	output_text(out, "\t\tesac ;;\n\tesac\n");
}

static void write_function(struct output *out, const struct arguments *at)
{
	const struct command *command = arguments_command(at);
	output_text(out, "\n");
	function_name(out, at);
	output_text(out,
		    "() {\n\tlocal curcontext=$curcontext state line\n\tlocal -a commands\n\ttypeset -A opt_args\n");
	if (at->depth == 1)
		output_text(out, "\tlocal -a reconciler_globals\n");
	output_text(out, "\t_arguments -C -s -S");
	write_options(out, at);
	if (command->subcommands) {
		write_subcommands(out, at);
	} else {
		write_words(out, command);
		output_text(out, "\n");
	}
	output_text(out, "}\n");
}

void completion_zsh(struct output *out, const struct command *top)
{
	output_text(out, head);
	completion_walk(out, top, write_function);
	output_text(out, tail);
}
