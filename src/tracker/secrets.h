/* secrets.h - what a helper says to people may hold what it was given to keep to itself. Pure. */
#ifndef REC_TRACKER_SECRETS_H
#define REC_TRACKER_SECRETS_H

#include "base/buffer.h"

/* The secrets of an environment, which must outlive it: the values, 8 bytes or longer, of variables whose names end in
 * TOKEN, KEY, SECRET or PASSWORD. Looking for them costs no more than the text. */
struct rec_secrets {
	char *const *environment;
	bool firsts[256]; /* bytes that one begins with */
};
void rec_secrets_init(struct rec_secrets *s, char *const *environment);
bool rec_secrets_in(const struct rec_secrets *s, struct rec_slice text);
/* Appends `text`, with "***" for each of them in it. Never longer than `text`. 0 or the buffer's failure. */
int rec_secrets_hide(const struct rec_secrets *s, struct rec_buffer *out, struct rec_slice text);

#endif
