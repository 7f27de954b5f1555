/* timestamp.h - wall-clock times as text and as microseconds since 1970 (UTC). Pure: no clock is read. */
#ifndef REC_BASE_TIMESTAMP_H
#define REC_BASE_TIMESTAMP_H

#include "base/slice.h"

#define REC_TIMESTAMP_BYTES 33 /* "2026-01-01T00:00:02.000246+00:00" and the NUL */

/* Writes codeframe's form: YYYY-MM-DDTHH:MM:SS.ffffff+00:00 (years 0000 to 9999; clamped). Returns out. */
char *rec_timestamp_format(int64_t us, char out[REC_TIMESTAMP_BYTES]);
/* Reads RFC 3339 and what people write: 'T', 't' or a blank between date and time, any number of fraction
 * digits (cut to 6), zone Z, z, +HH:MM, -HHMM or none (= UTC). The date must exist; second 60 counts as
 * the next minute. 0 or REC_E_INVALID. */
int rec_timestamp_parse(struct rec_slice text, int64_t *ret_us);
/* "500ms", "30s", "5m", "2h", "1d"; a bare number is seconds; decimals allowed ("1.5s"). Not negative.
 * Digits below a microsecond are cut. 0, REC_E_INVALID or REC_E_LIMIT (over about 292 years: nanoseconds still fit
 * 64 bits). */
int rec_duration_parse(struct rec_slice text, int64_t *ret_us);
/* "64K", "16M", "1G", "2T", small letters too, bare bytes; powers of 1024. 0, REC_E_INVALID, REC_E_LIMIT. */
int rec_size_parse(struct rec_slice text, uint64_t *ret_bytes);

#endif
