/* git-remote.h - does a working tree have a remote on some host? Read from git's own files; git is not run. */
#ifndef REC_CLI_GIT_REMOTE_H
#define REC_CLI_GIT_REMOTE_H

#include "base/slice.h"

/* Whether the text of a git configuration names a remote whose URL is on that host: https://HOST/...,
 * ssh://...@HOST/..., git@HOST:... Pure. */
bool git_config_names_host(struct rec_slice text, const char *host);
/* The configuration of the repository that `directory` is in (or above it, up to the root). No repository, or one that
 * cannot be read: false. */
bool git_remote_is_on(const char *directory, const char *host);

#endif
