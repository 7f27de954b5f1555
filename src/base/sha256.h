/* sha256.h - SHA-256 (FIPS 180-4) of bytes at hand. Pure. For names and sums, not for secrets. */
#ifndef REC_BASE_SHA256_H
#define REC_BASE_SHA256_H

#include "base/slice.h"

#define REC_SHA256_HEX_BYTES 65
/* 64 lower-case hexadecimal digits and the NUL. Returns out. O(bytes). */
char *rec_sha256_hex(struct rec_slice bytes, char out[REC_SHA256_HEX_BYTES]);

#endif
