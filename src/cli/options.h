/* options.h - reads a command line by the tables of command.h. Pure: no printing, no process state.
 *
 * Words and options may be mixed; "--" ends the options. An option belongs to the command named so far or to
 * the program, so a global option may stand before or after the command, and the others after theirs. One of a command
 * that has subcommands is none of theirs.
 */
#ifndef REC_CLI_OPTIONS_H
#define REC_CLI_OPTIONS_H

#include "base/error.h"
#include "base/memory.h"
#include "cli/command.h"

#define COMMAND_DEPTH_MAX 3

struct option_value {
	const struct option_spec *spec;
	const char *text; /* NULL for a flag */
};

struct arguments {
	const struct command *path[COMMAND_DEPTH_MAX]; /* from the program itself to the command named last */
	size_t depth;                                  /* how many of them */
	struct option_value *options;                  /* in the order given */
	size_t option_count, option_capacity;
	const char **words;
	size_t word_count, word_capacity;
	size_t plain_count; /* words that stand before "--" */
};

/* Texts point into `words`, which must outlive *arguments. O(words). 0; REC_E_INVALID for a usage error;
 * REC_E_NOMEM. Release afterwards in every case. */
int options_parse(struct arguments *arguments, const struct command *program, int count, const char *const words[],
		  struct rec_error *error);
void arguments_release(struct arguments *arguments);

/* The command to run. */
const struct command *arguments_command(const struct arguments *arguments);
/* The options that belong to the command, a level at a time (0: the program; depth - 1: the command); NULL: none. */
const struct option_spec *arguments_options(const struct arguments *arguments, size_t level);
/* Are there as many words as the command takes, a command at all, and no option of another? 0 or REC_E_INVALID. */
int arguments_complete(const struct arguments *arguments, struct rec_error *error);
/* "reconciler task add" */
char *arguments_command_name(const struct arguments *arguments, char *out, size_t capacity);

/* Was the option given? `name` is the long form, or the letter where there is none. */
bool option_given(const struct arguments *arguments, const char *name);
/* The last value given, or NULL. */
const char *option_text(const struct arguments *arguments, const char *name);
/* Every value in turn: start with *position = 0; NULL at the end. */
const char *option_next(const struct arguments *arguments, const char *name, size_t *position);

/* Values of an option, checked. 0, or REC_E_INVALID naming the option and the value; *ret_value is left alone
 * if the option was not given. */
int option_int64(const struct arguments *arguments, const char *name, int64_t *ret_value, struct rec_error *error);
int option_count(const struct arguments *arguments, const char *name, uint64_t *ret_value, struct rec_error *error);
int option_duration(const struct arguments *arguments, const char *name, int64_t *ret_us, struct rec_error *error);

/* The candidate most like `text`, or NULL if none is near enough to be meant. names ends with NULL. */
const char *nearest_name(const char *text, const char *const *names);

#endif
