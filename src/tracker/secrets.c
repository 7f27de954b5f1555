/* secrets.c - see secrets.h. Looked for at each place of the text: it is short, and seldom told. */
#include "tracker/secrets.h"

#define SECRET_BYTES_MIN 8u /* "1" and "true" are no secrets */

static bool is_secret_name(struct rec_slice name)
{
	static const char *const ends[] = {"TOKEN", "KEY", "SECRET", "PASSWORD"};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t length = strlen(ends[i]);
		if (name.length >= length && memcmp(name.data + name.length - length, ends[i], length) == 0)
			return true;
	}
	return false;
}

/* How long the longest secret is that `text` begins with; 0: none. */
static size_t secret_at(struct rec_slice text, char *const *environment)
{
	size_t longest = 0;
	for (size_t i = 0; environment && environment[i]; i++) {
		const char *equals = strchr(environment[i], '=');
		size_t length = equals ? strlen(equals + 1) : 0;
		if (length < SECRET_BYTES_MIN || length <= longest || length > text.length)
			continue;
		if (memcmp(text.data, equals + 1, length) == 0 &&
		    is_secret_name((struct rec_slice){environment[i], (size_t)(equals - environment[i])}))
			longest = length;
	}
	return longest;
}

int rec_secrets_hide(struct rec_buffer *out, struct rec_slice text, char *const *environment)
{
	size_t secret;
	for (size_t at = 0; at < text.length; at += secret ? secret : 1) {
		secret = secret_at((struct rec_slice){text.data + at, text.length - at}, environment);
		rec_buffer_add(out, secret ? "***" : text.data + at, secret ? 3 : 1);
	}
	return out->failed;
}
