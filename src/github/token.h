/* token.h - where the token comes from. It is held by this process alone: it is never in an argument, a message, a log
 * or a core file. */
#ifndef REC_GITHUB_TOKEN_H
#define REC_GITHUB_TOKEN_H

#include "base/error.h"
#include "github/token-text.h"

/* No core file and no look into this process from others of the same user. */
void gh_token_protect(void);
/* The first that is there: $GITHUB_TOKEN, $GH_TOKEN, the file (NULL: none given), `gh auth token` for the host (run
 * without a shell; it has 5 s to print and to end). The variable is overwritten in the environment. None is not an
 * error; a file that cannot be read, or a token that is none, is: 0, REC_E_IO, REC_E_PERMISSION, REC_E_INVALID,
 * REC_E_NOMEM. */
int gh_token_find(const char *file, struct rec_slice host, struct gh_token *ret_token, struct rec_error *error);
void gh_token_forget(struct gh_token *token);

#endif
