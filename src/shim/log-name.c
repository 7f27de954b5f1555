/* log-name.c - see log-name.h. The digits are two FNV-1a sums with different beginnings: two ids of one batch
 * that share 128 bytes and both sums do not happen by chance. */
#include "shim/log-name.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PLAIN_BYTES_MAX 200
#define CUT_BYTES 128

static bool plain(unsigned char c, bool first)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
	       (c == '.' && !first);
}

static uint64_t sum_of(const char *id, size_t length, uint64_t sum)
{
	for (size_t i = 0; i < length; i++)
		sum = (sum ^ (unsigned char)id[i]) * UINT64_C(1099511628211);
	return sum;
}

char *rec_log_folder(const char *id, size_t length, char out[REC_LOG_FOLDER_BYTES])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t used = 0;
	bool cut = false;
	for (size_t i = 0; i < length && !cut; i++) {
		unsigned char c = (unsigned char)id[i];
		if (plain(c, i == 0)) {
			out[used++] = (char)c;
		} else {
			out[used++] = '%';
			out[used++] = digits[c >> 4];
			out[used++] = digits[c & 15];
		}
		cut = used > PLAIN_BYTES_MAX;
	}
	out[used] = '\0';
	if (cut)
		snprintf(out + CUT_BYTES, REC_LOG_FOLDER_BYTES - CUT_BYTES, "~%016" PRIx64 "%016" PRIx64,
			 sum_of(id, length, UINT64_C(14695981039346656037)), sum_of(id, length, length + 1));
	return out;
}

char *rec_log_name(const char *id, size_t length, int32_t attempt, char out[REC_LOG_NAME_BYTES])
{
	char folder[REC_LOG_FOLDER_BYTES];
	snprintf(out, REC_LOG_NAME_BYTES, "%s/%" PRId32 ".log", rec_log_folder(id, length, folder), attempt);
	return out;
}
