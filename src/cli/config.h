/* config.h - the configuration file: INI, checked whole. Every key is known, typed and named at its place;
 * anything else is an error naming file and line, so that a slip of the pen is never a setting ignored.
 *
 * The keys known are those of cli.md. In this version no command takes a value from it yet; it is checked so
 * that one file serves every version, and so that a bad one is told today and not when a batch starts.
 */
#ifndef REC_CLI_CONFIG_H
#define REC_CLI_CONFIG_H

#include "base/error.h"

/* Checks $XDG_CONFIG_HOME/reconciler/reconciler.conf (else ~/.config/...) and reconciler.conf in `directory`
 * (NULL: none). A missing file is fine. 0; REC_E_INVALID naming file and line; REC_E_IO, ... */
int config_check(const char *directory, struct rec_error *error);
/* One file. REC_NOT_FOUND. */
int config_check_file(const char *path, struct rec_error *error);

#endif
