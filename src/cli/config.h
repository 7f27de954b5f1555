/* config.h - the configuration file: INI, checked whole. Every key is known, typed and named at its place;
 * anything else is an error naming file and line, so that a slip of the pen is never a setting ignored.
 *
 * The keys known are those of cli.md, also the ones that no command of this version takes a value from: one file
 * serves every version, and a bad one is told today and not when a batch starts.
 */
#ifndef REC_CLI_CONFIG_H
#define REC_CLI_CONFIG_H

#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"

/* What the files say, in the order read: a later pair wins. */
struct config_pair {
	const char *section, *key, *value;
	const char *path; /* of the file, one pointer for all of it */
	int line, head;   /* where it stands, and where its [section] does */
	struct config_pair *next;
};
struct config;                                                       /* lives in the arena it was read into */
const struct config_pair *config_first(const struct config *config); /* NULL (also for a NULL config): none */
/* The pair that counts, or NULL. O(pairs). */
const struct config_pair *config_pair(const struct config *config, const char *section, const char *key);
/* Its value. */
const char *config_text(const struct config *config, const char *section, const char *key);

/* A value of a key that is true or false. */
bool config_true(const char *value);

/* Reads $XDG_CONFIG_HOME/reconciler/reconciler.conf (else ~/.config/...), then reconciler.conf in `directory` (NULL:
 * none), checking them whole. A missing file is fine. 0; REC_E_INVALID naming file and line; REC_E_IO, ... */
int config_read(const char *directory, struct rec_arena *arena, struct config **ret_config, struct rec_error *error);
/* Checks one file, and adds what it says to config (may be NULL). REC_NOT_FOUND. */
int config_read_file(const char *path, struct config *config, struct rec_error *error);

#endif
