/* output.c - the buffer is flushed by write(2) when it holds OUTPUT_FLUSH_BYTES; a record is never split by
 * more than that, and nothing goes through stdio, whose errors would surface only at exit.
 */
#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"

static const char *const style_codes[STYLE_COUNT] = {
	[STYLE_PLAIN] = "",         [STYLE_BOLD] = "\033[1m",    [STYLE_DIM] = "\033[2m",   [STYLE_RED] = "\033[31m",
	[STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m", [STYLE_BLUE] = "\033[34m", [STYLE_CYAN] = "\033[36m",
};

static bool environment_set(const char *name)
{
	const char *value = getenv(name);
	return value && value[0];
}

bool output_lively(int fd)
{
	const char *term = getenv("TERM");
	return isatty(fd) && term && term[0] && strcmp(term, "dumb") != 0;
}

static bool wants_colour(int fd, enum colour_choice choice)
{
	if (choice != COLOUR_AUTO)
		return choice == COLOUR_ALWAYS;
	return output_lively(fd) && !environment_set("NO_COLOR");
}

/* COLUMNS beats what the terminal says, as everywhere. */
static size_t terminal_columns(int fd)
{
	struct winsize size;
	int64_t columns;
	const char *wanted = getenv("COLUMNS");
	if (wanted && rec_json_int64(rec_slice_of(wanted), &columns) == 0 && columns > 0)
		return (size_t)columns;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

void output_init(struct output *out, int fd, enum colour_choice colour)
{
	*out = (struct output){.fd = fd, .terminal = isatty(fd)};
	out->colour = wants_colour(fd, colour);
	out->columns = out->terminal ? terminal_columns(fd) : 0;
	rec_buffer_init(&out->buffer, NULL, OUTPUT_RECORD_BYTES_MAX);
}

void output_release(struct output *out)
{
	rec_buffer_release(&out->buffer);
}

/* ---- Writing ------------------------------------------------------------------------------------ */

/* A descriptor that somebody set to non-blocking is waited for. */
static bool wait_writable(int fd)
{
	struct pollfd wanted = {.fd = fd, .events = POLLOUT};
	return poll(&wanted, 1, -1) >= 0 || errno == EINTR;
}

static int write_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t written = write(fd, data, length);
		if (written >= 0) {
			data += written;
			length -= (size_t)written;
		} else if (errno == EAGAIN) {
			if (!wait_writable(fd))
				return errno;
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

int output_flush(struct output *out)
{
	if (!out->problem && out->buffer.failed)
		out->problem = out->buffer.failed == REC_E_LIMIT ? EMSGSIZE : ENOMEM;
	if (!out->problem && out->buffer.length > 0)
		out->problem = write_all(out->fd, out->buffer.data, out->buffer.length);
	rec_buffer_clear(&out->buffer);
	return out->problem;
}

void output_more(struct output *out)
{
	if (out->buffer.length >= OUTPUT_FLUSH_BYTES || out->buffer.failed)
		output_flush(out);
}

bool output_broken(const struct output *out)
{
	return out->problem != 0;
}

void output_bytes(struct output *out, struct rec_slice bytes)
{
	rec_buffer_add(&out->buffer, bytes.data, bytes.length);
	output_more(out);
}

void output_text(struct output *out, const char *text)
{
	output_bytes(out, rec_slice_of(text));
}

void output_printf(struct output *out, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (length > 0)
		output_bytes(out,
			     (struct rec_slice){text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1});
}

void output_styled(struct output *out, enum style style, struct rec_slice text)
{
	bool coloured = out->colour && style != STYLE_PLAIN;
	if (coloured)
		rec_buffer_add_text(&out->buffer, style_codes[style]);
	rec_buffer_add(&out->buffer, text.data, text.length);
	if (coloured)
		rec_buffer_add_text(&out->buffer, "\033[0m");
	output_more(out);
}

void output_shown(struct output *out, struct rec_slice text, size_t bytes_max)
{
	rec_text_show(&out->buffer, text, bytes_max);
	output_more(out);
}

/* ---- Meanings ----------------------------------------------------------------------------------- */

enum style style_of_status(enum rec_status status)
{
	static const enum style styles[REC_STATUS_COUNT + 2] = {
		[REC_BACKLOG] = STYLE_DIM,    [REC_READY] = STYLE_CYAN,        [REC_IN_PROGRESS] = STYLE_BLUE,
		[REC_BLOCKED] = STYLE_YELLOW, [REC_FAILED] = STYLE_RED,        [REC_DONE] = STYLE_GREEN,
		[REC_MERGED] = STYLE_GREEN,   [REC_STATUS_ABSENT] = STYLE_DIM, [REC_STATUS_UNRECOGNISED] = STYLE_RED,
	};
	return styles[status];
}

enum style style_of_action(enum rec_action action)
{
	static const enum style styles[REC_ACTION_COUNT] = {
		[REC_NONE] = STYLE_DIM,
		[REC_SKIP] = STYLE_YELLOW,
		[REC_KILL] = STYLE_RED,
		[REC_REQUEUE] = STYLE_GREEN,
	};
	return styles[action];
}
