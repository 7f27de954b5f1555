/* api-abi.c - how structs of different ages meet: the size in front says how much the other side knows. */
#include "lib/api.h"

static int no_size(const char *what, struct rec_error *error)
{
	return rec_fail(error, REC_E_INVALID, "%s: its size is not set (set it to sizeof the struct)", what);
}

int rec_abi_read(void *own, size_t own_size, const void *theirs, const char *what, struct rec_error *error)
{
	const unsigned char *bytes = theirs;
	size_t size = 0;
	memset(own, 0, own_size);
	if (!theirs)
		return 0;
	memcpy(&size, theirs, sizeof size);
	if (size < sizeof size)
		return no_size(what, error);
	for (size_t i = own_size; i < size; i++)
		if (bytes[i])
			return rec_fail(error, REC_E_UNSUPPORTED,
					"%s: byte %zu is set, which this version does not know (upgrade it)", what, i);
	memcpy(own, theirs, size < own_size ? size : own_size);
	return 0;
}

int rec_abi_write(void *theirs, const void *own, size_t own_size, const char *what, struct rec_error *error)
{
	size_t size;
	memcpy(&size, theirs, sizeof size);
	if (size < sizeof size)
		return no_size(what, error);
	size_t copied = size < own_size ? size : own_size;
	memset(theirs, 0, size);
	memcpy(theirs, own, copied);
	memcpy(theirs, &size, sizeof size);
	return 0;
}
