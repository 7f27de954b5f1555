/* command.h - how a command is described: one constant value from which the parser, --help, the completion
 * scripts and the tests all follow, so that none of them can forget an option.
 */
#ifndef REC_CLI_COMMAND_H
#define REC_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct arguments;
struct cli;

/* What may stand for a value; tells the completion scripts where to look. */
enum complete {
	COMPLETE_NOTHING,
	COMPLETE_FILE,
	COMPLETE_DIRECTORY,
	COMPLETE_TASK,
	COMPLETE_BLOCKER,
};

struct option_spec {
	const char *name;           /* long form without its dashes; NULL: there is only the short one */
	const char *argument;       /* its name in the help, "FILE"; NULL: a flag */
	const char *help;           /* one sentence, no full stop */
	const char *const *choices; /* the only values allowed, NULL-terminated; NULL: any */
	enum complete complete;
	char letter;     /* short form; 0: none */
	bool repeatable; /* every occurrence counts; else the last one does */
};

/* A word after the command that is no option. */
struct word_spec {
	const char *name; /* "TASK" */
	enum complete complete;
	const char *const *choices; /* what to offer, NULL-terminated; checked by the command, not by the parser */
	bool optional, repeated;    /* repeated: the last one, any number of times */
};

#define WORDS_MAX 3

struct command {
	const char *name;
	const char *summary;     /* one line for the list of commands */
	const char *description; /* paragraphs for --help, separated by "\n\n"; NULL: the summary is enough */
	struct word_spec words[WORDS_MAX];
	const struct option_spec *options;                              /* ends with an all-zero one; NULL: none */
	const struct command *const *subcommands;                       /* NULL-terminated; NULL: none */
	int (*run)(struct cli *cli, const struct arguments *arguments); /* exit status; NULL: needs a subcommand */
	const char *const *examples;                                    /* NULL-terminated; NULL: none */
};

/* Walks an option table that may be NULL. */
#define FOR_EACH_OPTION(option, table)                                                                                 \
	for (const struct option_spec *option = (table); option && (option->name || option->letter); option++)

/* How many words a command takes; SIZE_MAX: any number. */
void command_word_range(const struct command *command, size_t *ret_least, size_t *ret_most);

#endif
