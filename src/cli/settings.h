/* settings.h - how a batch is to be run: named texts from the command line and the configuration file, kept with the
 * batch as JSON so that `resume` runs it the same way, and checked into numbers. */
#ifndef REC_CLI_SETTINGS_H
#define REC_CLI_SETTINGS_H

#include "cli/cli.h"
#include "conductor/driver.h"

#define SETTINGS_MAX 64

/* Texts live in cli->arena or in the command line. */
struct settings {
	struct setting {
		const char *name; /* an option of run, without its dashes */
		const char *text; /* "" for a flag */
	} items[SETTINGS_MAX];
	size_t count;
	const char **environment; /* NAME=VALUE, NULL-terminated */
	size_t environment_count, environment_capacity;
	const char **command; /* NULL-terminated */
	size_t command_count, command_capacity;
};

struct run_options {
	struct rec_machine_options machine;
	int64_t reconcile_interval_us;
	uint64_t log_limit_bytes;
	bool all_ready, child_owns_run, close_issues, dry_run, detach;
	const char *workdir; /* NULL: the working directory */
	const char *on_end;  /* NULL: nothing */
};

extern const struct option_spec settings_options[]; /* every option of run */

/* What the command line says, and for the rest the configuration file: section [run], [worker] command (if the
 * line has none) and env.NAME. 0 or the exit status. */
int settings_read(struct settings *s, struct cli *cli, const struct arguments *arguments);
const char *settings_text(const struct settings *s, const char *name); /* NULL: not set */
/* Checks every value. 0 or REC_E_INVALID naming option and value. */
int settings_check(const struct settings *s, struct run_options *ret_options, struct rec_error *error);
/* {"command":[...],"options":{...},"env":[...]} without what concerns one call only (dry-run, detach, all-ready). */
int settings_write_json(const struct settings *s, struct rec_buffer *out);
/* The reverse. 0; REC_E_INVALID, REC_E_NOMEM. */
int settings_read_json(struct settings *s, struct cli *cli, struct rec_slice json, struct rec_error *error);
void settings_release(struct settings *s);

/* Splits a command line at blanks, with POSIX quotes and backslash, no expansion. 0, REC_E_INVALID (open quote). */
int command_split(struct cli *cli, const char *text, const char ***ret_words, size_t *ret_count,
		  struct rec_error *error);
/* Replaces command[0] by the absolute path of the program (looked for in PATH if it has no slash). 0, or REC_E_INVALID
 * saying that it cannot be found or executed. */
int command_resolve(struct cli *cli, const char **command, struct rec_error *error);
/* A program of ours that no user calls: in libexec beside this one as installed, or ../FOLDER/NAME as built. Lives in
 * cli->arena; NULL: there is none. */
const char *program_of_ours(struct cli *cli, const char *name, const char *folder);

#endif
