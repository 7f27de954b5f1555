/* files-name.c - ids and file names, one to one. A tilde never stands in an encoded name, so that it marks the hashed
 * ones. */
#include "base/sha256.h"
#include "base/text.h"
#include "store/files.h"

#define SUFFIX ".json"
#define SUFFIX_BYTES (sizeof SUFFIX - 1)
#define ENCODED_BYTES_MAX 200u
#define HASHED_BYTES 128u /* of the encoded id before the hash */

static bool plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
	       c == '-';
}

static size_t encode(struct rec_slice id, char out[3 * REC_ID_BYTES_MAX + 1])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t length = 0;
	for (size_t i = 0; i < id.length && i < REC_ID_BYTES_MAX; i++) {
		unsigned char c = (unsigned char)id.data[i];
		if (plain(c) && (i > 0 || c != '.')) {
			out[length++] = (char)c;
			continue;
		}
		out[length++] = '%';
		out[length++] = digits[c >> 4];
		out[length++] = digits[c & 15];
	}
	out[length] = '\0';
	return length;
}

char *rec_files_name(struct rec_slice id, char out[REC_FILES_NAME_BYTES])
{
	char encoded[3 * REC_ID_BYTES_MAX + 1], hash[REC_SHA256_HEX_BYTES];
	size_t length = encode(id, encoded);
	if (length > ENCODED_BYTES_MAX) {
		length = HASHED_BYTES;
		encoded[length++] = '~';
		memcpy(encoded + length, rec_sha256_hex(id, hash), sizeof hash - 1);
		length += sizeof hash - 1;
	}
	memcpy(out, encoded, length);
	memcpy(out + length, SUFFIX, sizeof SUFFIX);
	return out;
}

bool rec_files_name_is(struct rec_slice id, const char *name)
{
	char wanted[REC_FILES_NAME_BYTES];
	size_t i = 0;
	while (i < id.length && i < ENCODED_BYTES_MAX && name[i] == id.data[i] && plain((unsigned char)name[i]))
		i++;
	if (i == id.length && i > 0 && name[0] != '.') /* most ids are their own names */
		return strcmp(name + i, SUFFIX) == 0;
	return strcmp(rec_files_name(id, wanted), name) == 0;
}

bool rec_files_name_may(const char *name, struct rec_slice prefix)
{
	char encoded[3 * REC_ID_BYTES_MAX + 1];
	size_t length = encode(prefix, encoded);
	if (length > HASHED_BYTES && strchr(name, '~'))
		length = HASHED_BYTES;
	return strncmp(name, encoded, length) == 0;
}

bool rec_files_name_matters(const char *name)
{
	size_t length = strlen(name);
	return name[0] != '.' && length > SUFFIX_BYTES &&
	       memcmp(name + length - SUFFIX_BYTES, SUFFIX, SUFFIX_BYTES) == 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int decode(const char *name, size_t length, char out[REC_ID_BYTES_MAX + 1], size_t *ret_length)
{
	size_t made = 0;
	for (size_t i = 0; i < length; i++) {
		char c = name[i];
		if (c == '%') {
			int high = i + 2 < length ? hex_digit(name[i + 1]) : -1;
			int low = i + 2 < length ? hex_digit(name[i + 2]) : -1;
			if (high < 0 || low < 0)
				return REC_E_INVALID;
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (made == REC_ID_BYTES_MAX)
			return REC_E_INVALID;
		out[made++] = c;
	}
	out[made] = '\0';
	*ret_length = made;
	return 0;
}

int rec_files_name_id(const char *name, char ret_id[REC_ID_BYTES_MAX + 1], size_t *ret_length)
{
	char again[REC_FILES_NAME_BYTES];
	size_t length = strlen(name), made = 0;
	if (!rec_files_name_matters(name))
		return REC_E_INVALID;
	if (strchr(name, '~'))
		return length == HASHED_BYTES + 1 + 64 + SUFFIX_BYTES && name[HASHED_BYTES] == '~' ? (int)REC_NOT_FOUND
												   : REC_E_INVALID;
	if (decode(name, length - SUFFIX_BYTES, ret_id, &made) < 0)
		return REC_E_INVALID;
	struct rec_slice id = {ret_id, made};
	if (rec_id_problem(id) || strcmp(rec_files_name(id, again), name) != 0)
		return REC_E_INVALID;
	*ret_length = made;
	return 0;
}
