/* completion.h - completion scripts, generated from the command tables. */
#ifndef REC_CLI_COMPLETION_H
#define REC_CLI_COMPLETION_H

#include "cli/options.h"
#include "cli/output.h"

/* Each writes one whole script for the program. */
void completion_bash(struct output *out, const struct command *top);
void completion_zsh(struct output *out, const struct command *top);
void completion_fish(struct output *out, const struct command *top);

/* Calls fn for the program and every command below it, parents first; of *at only the path counts. */
typedef void completion_fn(struct output *out, const struct arguments *at);
void completion_walk(struct output *out, const struct command *top, completion_fn *fn);

/* Positions at which a command takes words, for loops: each word's own, the last one's for ever if repeated. */
size_t completion_word_count(const struct command *command);
/* May the word after this one stand in its place too? */
bool completion_word_may_be_next(const struct command *command, size_t word);

#endif
