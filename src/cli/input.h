/* input.h - a file, or standard input for "-", read in large pieces. */
#ifndef REC_CLI_INPUT_H
#define REC_CLI_INPUT_H

#include "base/error.h"
#include "base/slice.h"

#define INPUT_PIECE_BYTES (256u << 10)

/* "standard input" for "-", else the path. */
const char *input_name(const char *path);

/* Told each piece in turn; a negative result ends the reading. */
typedef int input_fn(void *context, struct rec_slice piece, struct rec_error *error);
/* O(bytes), memory for one piece. The error names the input. */
int input_read(const char *path, input_fn *fn, void *context, struct rec_error *error);

#endif
