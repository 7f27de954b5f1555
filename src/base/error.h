/* error.h - how every floor reports failure.
 *
 * A function returns 0, a positive documented outcome (enum rec_outcome; its caller must handle it) or a
 * negative code (enum rec_error_code; passed up unchanged). Whoever first knows what went wrong fills the
 * error once: "WHAT: WHY (way out)". Floors above may prefix context, never replace the code.
 */
#ifndef REC_BASE_ERROR_H
#define REC_BASE_ERROR_H

#include <stdarg.h>

#include "reconciler.h"

/* Fills *error (may be NULL) and returns code, so that `return rec_fail(error, REC_E_IO, ...)` reads well.
 * What is not UTF-8, control characters and what turns a line around become '?'; a long message is cut at a
 * character. */
int rec_fail(struct rec_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: appends ": strerror(errnum)" and picks the code from errnum
 * (ENOSPC, EDQUOT -> FULL; EACCES, EPERM -> PERMISSION; EROFS -> READ_ONLY; ENOMEM -> NOMEM; ENOENT ->
 * NO_STORE is NOT picked here: it is IO; else IO). */
int rec_fail_errno(struct rec_error *error, int errnum, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the message already in *error; returns error->code (or code if error is NULL). */
int rec_fail_context(struct rec_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "out of memory" */
int rec_fail_nomem(struct rec_error *error);

/* rec_error_class_of is public: reconciler.h */

#ifdef __clang_analyzer__
/* The static analyzer does not look into another file, so it is told here that a failure is never 0. */
#define rec_fail(error, code, ...) ((void)(rec_fail)(error, code, __VA_ARGS__), (code))
#define rec_fail_errno(error, errnum, ...) ((void)(rec_fail_errno)(error, errnum, __VA_ARGS__), REC_E_IO)
#define rec_fail_context(error, code, ...) ((void)(rec_fail_context)(error, code, __VA_ARGS__), (code))
#define rec_fail_nomem(error) ((void)(rec_fail_nomem)(error), REC_E_NOMEM)
#endif

#endif
