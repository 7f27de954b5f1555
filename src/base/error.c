/* error.c - one struct, filled once by whoever first knows what went wrong. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Leaves nothing that is not UTF-8 or that could forge or turn around a line: each such byte becomes '?'. A message
 * that was cut loses the half character at its end. */
static void message_tidy(char *message, size_t capacity, size_t wanted)
{
	unsigned char *p = (unsigned char *)message;
	size_t length = wanted < capacity ? wanted : capacity - 1;
	for (size_t i = 0; i < length;) {
		int step = rec_utf8_step(p + i, length - i);
		if (step < 0 && wanted >= capacity && rec_utf8_truncated(p + i, length - i, step)) {
			p[i] = '\0';
			return;
		}
		if (step < 0 || !rec_code_printable(rec_utf8_code_point(p + i, step)))
			memset(p + i, '?', (size_t)abs(step));
		i += (size_t)abs(step);
	}
}

__attribute__((format(printf, 3, 0))) static int fail_v(struct rec_error *error, int code, const char *format,
							va_list arguments)
{
	if (error) {
		int wanted = vsnprintf(error->message, sizeof error->message, format, arguments);
		error->code = code;
		if (wanted < 0)
			error->message[wanted = 0] = '\0';
		message_tidy(error->message, sizeof error->message, (size_t)wanted);
	}
	return code;
}

int(rec_fail)(struct rec_error *error, int code, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int r = fail_v(error, code, format, arguments);
	va_end(arguments);
	return r;
}

static int code_from_errno(int errnum)
{
	switch (errnum) {
	case ENOSPC:
	case EDQUOT:
		return REC_E_FULL;
	case EACCES:
	case EPERM:
		return REC_E_PERMISSION;
	case EROFS:
		return REC_E_READ_ONLY;
	case ENOMEM:
		return REC_E_NOMEM;
	default:
		return REC_E_IO;
	}
}

int(rec_fail_errno)(struct rec_error *error, int errnum, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int r = fail_v(error, code_from_errno(errnum), format, arguments);
	va_end(arguments);
	if (error) {
		size_t used = strlen(error->message), room = sizeof error->message - used;
		const char *why = strerrordesc_np(errnum);
		int wanted = why ? snprintf(error->message + used, room, ": %s", why)
				 : snprintf(error->message + used, room, ": error %d", errnum);
		message_tidy(error->message, sizeof error->message, used + (wanted < 0 ? 0 : (size_t)wanted));
	}
	return r;
}

int(rec_fail_context)(struct rec_error *error, int code, const char *format, ...)
{
	if (!error)
		return code;
	struct rec_error inner = *error;
	va_list arguments;
	va_start(arguments, format);
	fail_v(error, code, format, arguments);
	va_end(arguments);
	size_t used = strlen(error->message), room = sizeof error->message - used;
	int wanted = snprintf(error->message + used, room, ": %s", inner.message);
	message_tidy(error->message, sizeof error->message, used + (wanted < 0 ? 0 : (size_t)wanted));
	return code;
}

int(rec_fail_nomem)(struct rec_error *error)
{
	return rec_fail(error, REC_E_NOMEM, "out of memory");
}

enum rec_error_class rec_error_class_of(int code)
{
	switch (code) {
	case REC_E_BUSY:
	case REC_E_FULL:
	case REC_E_IO:
	case REC_E_NOMEM:
		return REC_CLASS_RETRY;
	case REC_E_BUG:
		return REC_CLASS_BUG;
	default:
		return REC_CLASS_TERMINAL;
	}
}
