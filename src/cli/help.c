/* help.c - the help text of any level, wrapped to 80 columns whatever the terminal, so that it is the same text
 * everywhere (and a test can read it).
 */
#include "cli/help.h"

#include <stdio.h>

#define HELP_COLUMNS 80
#define OPTION_COLUMN 30 /* where explanations begin, if the name leaves room */
#define COMMAND_COLUMN 14

static void heading(struct output *out, const char *text)
{
	output_text(out, "\n");
	output_styled(out, STYLE_BOLD, rec_slice_of(text));
	output_text(out, "\n");
}

static void indent(struct output *out, size_t columns)
{
	output_printf(out, "%*s", (int)columns, "");
}

/* Words of `text` from column `column` on, wrapped with `margin`; ends the line. "\n" in the text is kept. */
static void wrap(struct output *out, size_t margin, size_t column, const char *text)
{
	while (*text) {
		size_t word = strcspn(text, " \n");
		if (column > margin && column + 1 + word > HELP_COLUMNS) {
			output_text(out, "\n");
			column = 0;
		}
		if (column == 0 && margin > 0)
			indent(out, margin);
		if (column > margin)
			output_text(out, " ");
		column = column > margin ? column + 1 + word : margin + word;
		output_bytes(out, (struct rec_slice){text, word});
		text += word;
		for (; *text == ' '; text++)
			;
		for (; *text == '\n'; text++, column = 0)
			output_text(out, "\n");
	}
	output_text(out, "\n");
}

/* "  NAME        explanation" */
static void entry(struct output *out, size_t margin, const char *name, const char *explanation)
{
	size_t length = strlen(name) + 2;
	output_printf(out, "  %s", name);
	if (length + 2 > margin) {
		output_text(out, "\n");
		indent(out, margin);
	} else {
		indent(out, margin - length);
	}
	wrap(out, margin, margin, explanation);
}

/* ---- Parts -------------------------------------------------------------------------------------- */

static void usage(struct output *out, const struct arguments *arguments)
{
	const struct command *command = arguments_command(arguments);
	char name[128];
	output_styled(out, STYLE_BOLD, rec_slice_of("usage:"));
	output_printf(out, " %s", arguments_command_name(arguments, name, sizeof name));
	for (size_t i = 0; i < WORDS_MAX && command->words[i].name; i++) {
		const struct word_spec *word = &command->words[i];
		output_printf(out, " %s%s%s%s", word->optional ? "[" : "", word->name, word->repeated ? "..." : "",
			      word->optional ? "]" : "");
	}
	if (command->subcommands)
		output_text(out, command->run ? " [COMMAND]" : " COMMAND");
	output_text(out, " [OPTIONS]\n\n");
	wrap(out, 0, 0, command->description ? command->description : command->summary);
}

static void commands(struct output *out, const struct command *command)
{
	if (!command->subcommands)
		return;
	heading(out, "Commands:");
	for (const struct command *const *sub = command->subcommands; *sub; sub++)
		entry(out, COMMAND_COLUMN, (*sub)->name, (*sub)->summary);
}

static void option_name(const struct option_spec *option, char *out, size_t capacity)
{
	char letter[] = "   ";
	if (option->letter)
		letter[0] = '-', letter[1] = option->letter, letter[2] = option->name ? ',' : ' ';
	snprintf(out, capacity, "%s%s%s%s%s", letter, option->name ? " --" : "", option->name ? option->name : "",
		 option->argument && option->name ? " " : "", option->argument ? option->argument : "");
}

static void explain_option(const struct option_spec *option, char *out, size_t capacity)
{
	size_t length = (size_t)snprintf(out, capacity, "%s", option->help);
	for (const char *const *choice = option->choices; choice && *choice && length < capacity; choice++)
		length += (size_t)snprintf(out + length, capacity - length, "%s%s",
					   choice == option->choices ? ": " : ", ", *choice);
	if (option->repeatable && length < capacity)
		snprintf(out + length, capacity - length, " (may be repeated)");
}

static void options(struct output *out, const char *title, const struct option_spec *table)
{
	char name[64], explanation[512];
	if (!table)
		return;
	heading(out, title);
	FOR_EACH_OPTION(option, table)
	{
		option_name(option, name, sizeof name);
		explain_option(option, explanation, sizeof explanation);
		entry(out, OPTION_COLUMN, name, explanation);
	}
}

static void examples(struct output *out, const struct command *command)
{
	if (!command->examples)
		return;
	heading(out, "Examples:");
	for (const char *const *example = command->examples; *example; example++)
		output_printf(out, "  %s\n", *example);
}

void help_print(struct output *out, const struct arguments *arguments)
{
	const struct command *command = arguments_command(arguments);
	usage(out, arguments);
	commands(out, command);
	for (size_t level = arguments->depth; level-- > 0;)
		options(out, level == 0 ? "Global options:" : "Options:", arguments_options(arguments, level));
	examples(out, command);
	if (arguments->depth == 1)
		output_text(out, "\nExit status: 0 success, 1 a negative answer, 2 an error.\n");
}
