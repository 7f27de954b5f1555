/* number.h - real numbers as JSON, whatever the locale of the process says about decimal points. */
#ifndef REC_BASE_NUMBER_H
#define REC_BASE_NUMBER_H

#include "base/buffer.h"

/* Appends the shortest form that reads back as the same value; an infinity becomes 1e999, which every reader
 * of JSON accepts as a number and ours refuses as out of range; not-a-number becomes null. */
int rec_number_write(struct rec_buffer *out, double value);
/* A JSON number. 0, REC_E_INVALID (longer than 127 bytes or not finite). */
int rec_number_parse(struct rec_slice number, double *ret_value);

#endif
