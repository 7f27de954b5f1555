/* secrets.h - what a helper says to people may hold what it was given to keep to itself. Pure. */
#ifndef REC_TRACKER_SECRETS_H
#define REC_TRACKER_SECRETS_H

#include "base/buffer.h"

/* Appends `text`, with "***" for each secret of the environment in it: the values, 8 bytes or longer, of variables
 * whose names end in TOKEN, KEY, SECRET or PASSWORD. Never longer than `text`. 0 or the buffer's failure. */
int rec_secrets_hide(struct rec_buffer *out, struct rec_slice text, char *const *environment);

#endif
