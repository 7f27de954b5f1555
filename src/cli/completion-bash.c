/* completion-bash.c - two generated tables (what a command offers, what kind a value is) and a fixed function that
 * walks the words typed so far. "=" is a word of its own in bash's list, hence the care for "--format=json". */
#include "cli/completion.h"

static const char head[] =
	"# bash completion for reconciler, made by: reconciler completion bash\n"
	"\n"
	"# Ids with a quote or a backslash are not offered.\n"
	"_reconciler_ids()\n"
	"{\n"
	"\treconciler \"${globals[@]}\" \"$1\" list --format ndjson --quiet 2>/dev/null | head -n 1000 |\n"
	"\t\tsed -n 's/^{\"id\":\"\\([^\"\\\\]*\\)\".*/\\1/p'\n"
	"}\n";

static const char tail[] =
	"\n"
	"_reconciler_offer()\n"
	"{\n"
	"\tlocal kind line\n"
	"\tfor kind in \"${kinds[@]}\"; do\n"
	"\t\tcase \"$kind\" in\n"
	"\t\tfile) compopt -o filenames; mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
	"\t\tdirectory) compopt -o filenames; mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -d -- \"$cur\") "
	";;\n"
	"\t\ttask | blocker)\n"
	"\t\t\twhile IFS= read -r line; do\n"
	"\t\t\t\t[[ $line == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$line\")\")\n"
	"\t\t\tdone < <(_reconciler_ids \"$kind\") ;;\n"
	"\t\t=*) mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -W \"${kind#=}\" -- \"$cur\") ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"}\n"
	"\n"
	"_reconciler()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} path=reconciler option= ended= word\n"
	"\tlocal subs options valued\n"
	"\tlocal -i i=0 position=0\n"
	"\tlocal -a globals=() kinds=()\n"
	"\tCOMPREPLY=()\n"
	"\t_reconciler_command \"$path\"\n"
	"\twhile ((++i < COMP_CWORD)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ ! $ended && $word == -- ]]; then\n"
	"\t\t\tended=1\n"
	"\t\telif [[ ! $ended && \" $valued \" == *\" $word \"* ]]; then\n"
	"\t\t\t[[ ${COMP_WORDS[i + 1]} == = ]] && ((++i))\n"
	"\t\t\tif ((++i >= COMP_CWORD)); then\n"
	"\t\t\t\toption=$word\n"
	"\t\t\t\t[[ $cur == = ]] && cur=\n"
	"\t\t\t\tbreak\n"
	"\t\t\tfi\n"
	"\t\t\tcase \"$word\" in -C | -S | --store) globals+=(\"$word\" \"${COMP_WORDS[i]}\") ;; esac\n"
	"\t\telif [[ ! $ended && $word == -* ]]; then\n"
	"\t\t\t:\n"
	"\t\telif [[ ! $ended && $position -eq 0 && \" $subs \" == *\" $word \"* ]]; then\n"
	"\t\t\tpath+=\" $word\"\n"
	"\t\t\t_reconciler_command \"$path\"\n"
	"\t\telse\n"
	"\t\t\tposition+=1\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ $option ]]; then\n"
	"\t\t_reconciler_kinds \"$path\" \"$option\"\n"
	"\telif [[ ! $ended && $cur == -* ]]; then\n"
	"\t\tkinds=(\"=$options\")\n"
	"\telse\n"
	"\t\t_reconciler_kinds \"$path\" \"$position\"\n"
	"\t\t((position == 0)) && kinds+=(\"=$subs\")\n"
	"\tfi\n"
	"\t_reconciler_offer\n"
	"}\n"
	"complete -F _reconciler reconciler\n";

static void name_option(struct output *out, const struct option_spec *option, const char *separator)
{
	if (option->name)
		output_printf(out, "%s--%s", separator, option->name);
	if (option->letter)
		output_printf(out, "%s-%c", option->name ? " " : separator, option->letter);
}

static void list_options(struct output *out, const struct arguments *at, bool only_valued)
{
	const char *separator = "";
	for (size_t level = at->depth; level-- > 0;) {
		FOR_EACH_OPTION(option, arguments_options(at, level))
		{
			if (only_valued && !option->argument)
				continue;
			name_option(out, option, separator);
			separator = " ";
		}
	}
}

static void write_command(struct output *out, const struct arguments *at)
{
	char name[128];
	output_printf(out, "\t'%s')\n\t\tsubs='", arguments_command_name(at, name, sizeof name));
	for (const struct command *const *sub = arguments_command(at)->subcommands; sub && *sub; sub++)
		output_printf(out, "%s%s", sub == arguments_command(at)->subcommands ? "" : " ", (*sub)->name);
	output_text(out, "'\n\t\toptions='");
	list_options(out, at, false);
	output_text(out, "'\n\t\tvalued='");
	list_options(out, at, true);
	output_text(out, "'\n\t\t;;\n");
}

static void write_kind(struct output *out, enum complete complete, const char *const *choices)
{
	static const char *const names[] = {
		[COMPLETE_NOTHING] = "",  [COMPLETE_FILE] = "file",       [COMPLETE_DIRECTORY] = "directory",
		[COMPLETE_TASK] = "task", [COMPLETE_BLOCKER] = "blocker",
	};
	if (!choices) {
		output_printf(out, "%s ", names[complete]);
		return;
	}
	output_text(out, "'=");
	for (const char *const *choice = choices; *choice; choice++)
		output_printf(out, "%s%s", choice == choices ? "" : " ", *choice);
	output_text(out, "' ");
}

static void write_option_kinds(struct output *out, const struct arguments *at, const char *name)
{
	for (size_t level = at->depth; level-- > 0;) {
		FOR_EACH_OPTION(option, arguments_options(at, level))
		{
			if (!option->argument || (!option->choices && option->complete == COMPLETE_NOTHING))
				continue;
			output_text(out, "\t");
			if (option->name)
				output_printf(out, "'%s:--%s'", name, option->name);
			if (option->letter)
				output_printf(out, "%s'%s:-%c'", option->name ? " | " : "", name, option->letter);
			output_text(out, ") kinds=(");
			write_kind(out, option->complete, option->choices);
			output_text(out, ") ;;\n");
		}
	}
}

static void write_kinds(struct output *out, const struct arguments *at)
{
	const struct command *command = arguments_command(at);
	char name[128];
	arguments_command_name(at, name, sizeof name);
	write_option_kinds(out, at, name);
	for (size_t word = 0; word < completion_word_count(command); word++) {
		if (command->words[word].repeated)
			output_printf(out, "\t'%s:'[0-9]*) kinds=(", name);
		else
			output_printf(out, "\t'%s:%zu') kinds=(", name, word);
		write_kind(out, command->words[word].complete, command->words[word].choices);
		if (completion_word_may_be_next(command, word))
			write_kind(out, command->words[word + 1].complete, command->words[word + 1].choices);
		output_text(out, ") ;;\n");
	}
}

void completion_bash(struct output *out, const struct command *top)
{
	output_text(out, head);
	output_text(out, "\n_reconciler_command()\n{\n\tcase \"$1\" in\n");
	completion_walk(out, top, write_command);
	output_text(out, "\tesac\n}\n\n_reconciler_kinds()\n{\n\tkinds=()\n\tcase \"$1:$2\" in\n");
	completion_walk(out, top, write_kinds);
	output_text(out, "\tesac\n}\n");
	output_text(out, tail);
}
