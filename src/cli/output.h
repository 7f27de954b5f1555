/* output.h - standard output: bytes through one large buffer, colours only where they are wanted, and never a
 * silent loss: the first failed write is remembered and told at the end.
 */
#ifndef REC_CLI_OUTPUT_H
#define REC_CLI_OUTPUT_H

#include "base/buffer.h"
#include "base/error.h"
#include "core/record.h"

#define OUTPUT_FLUSH_BYTES (1u << 16)
#define OUTPUT_RECORD_BYTES_MAX (1u << 30) /* one object: a task with its texts and blockers */

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_RED,
	STYLE_GREEN,
	STYLE_YELLOW,
	STYLE_BLUE,
	STYLE_CYAN,
	STYLE_COUNT,
};

struct output {
	int fd;
	struct rec_buffer buffer; /* may be appended to directly; then call output_more */
	int problem;              /* errno of the first write that failed */
	bool terminal, colour;
	size_t columns; /* width of the terminal; 0: no limit */
};

enum colour_choice { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/* Looks whether fd is a terminal, and at NO_COLOR, TERM and COLUMNS. */
void output_init(struct output *out, int fd, enum colour_choice colour);
void output_release(struct output *out);
/* Is fd a terminal on which a line may be rewritten (not TERM=dumb)? */
bool output_lively(int fd);

void output_bytes(struct output *out, struct rec_slice bytes);
void output_text(struct output *out, const char *text);
void output_printf(struct output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text in a style, if colours are wanted. */
void output_styled(struct output *out, enum style style, struct rec_slice text);
/* Text from outside for a person on one line: control characters made visible, cut after bytes_max. */
void output_shown(struct output *out, struct rec_slice text, size_t bytes_max);

/* Writes the buffer if it is full. */
void output_more(struct output *out);
/* Writes the buffer now. 0, or the errno of the first write that ever failed. */
int output_flush(struct output *out);
/* Is there no use in going on? */
bool output_broken(const struct output *out);

enum style style_of_status(enum rec_status status);
enum style style_of_action(enum rec_action action);

#endif
