/* log-name.h - where the output of an attempt is kept: rec-run/logs/TASK/ATTEMPT.log. Pure, libc only; the
 * shim writes there, `reconciler logs` reads. */
#ifndef REC_SHIM_LOG_NAME_H
#define REC_SHIM_LOG_NAME_H

#include <stddef.h>
#include <stdint.h>

#define REC_LOG_FOLDER_BYTES 256
#define REC_LOG_NAME_BYTES 288

/* The folder of a task's logs: the id with every byte but letters, digits, '-', '_' and '.' (not the first)
 * as %XX; over 200 bytes its first 128, '~' and 32 hexadecimal digits made from the whole id. */
char *rec_log_folder(const char *id, size_t length, char out[REC_LOG_FOLDER_BYTES]);
/* "FOLDER/ATTEMPT.log" */
char *rec_log_name(const char *id, size_t length, int32_t attempt, char out[REC_LOG_NAME_BYTES]);

#endif
