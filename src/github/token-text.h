/* token-text.h - a token as text: what is one, and how it is kept out of what is said. Pure. */
#ifndef REC_GITHUB_TOKEN_TEXT_H
#define REC_GITHUB_TOKEN_TEXT_H

#include "base/slice.h"

#define GH_TOKEN_BYTES_MIN 8 /* GitHub's have forty and more; a short one would be found in the keys of an answer */
#define GH_TOKEN_BYTES_MAX 1024

struct gh_token {
	char text[GH_TOKEN_BYTES_MAX + 1]; /* empty: none, requests are anonymous */
	bool from_environment;
};
/* A token from what a file or a program gave: blanks around it are dropped. 0 or REC_E_INVALID (too short, too long, or
 * with anything but what a bearer token has by RFC 6750: none of that is written otherwise in JSON, and an asterisk
 * could make a token anew where one was hidden). */
int gh_token_read(struct rec_slice text, struct gh_token *ret_token);
/* Puts asterisks over every place where the token stands. The last guard before anything leaves this process. */
void gh_token_hide(const struct gh_token *token, char *data, size_t length);

#endif
