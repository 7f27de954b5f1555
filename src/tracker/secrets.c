/* secrets.c - see secrets.h. */
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

/* The variable's value, if it is a secret; else of no length. */
static struct rec_slice secret_of(const char *variable)
{
	const char *equals = strchr(variable, '=');
	struct rec_slice value = rec_slice_of(equals ? equals + 1 : "");
	if (value.length < SECRET_BYTES_MIN ||
	    !is_secret_name((struct rec_slice){variable, (size_t)(equals - variable)}))
		value.length = 0;
	return value;
}

void rec_secrets_init(struct rec_secrets *s, char *const *environment)
{
	*s = (struct rec_secrets){.environment = environment};
	for (size_t i = 0; environment && environment[i]; i++) {
		struct rec_slice secret = secret_of(environment[i]);
		if (secret.length)
			s->firsts[(unsigned char)secret.data[0]] = true;
	}
}

/* How long the longest secret is that `text` begins with; 0: none. */
static size_t secret_at(const struct rec_secrets *s, struct rec_slice text)
{
	size_t longest = 0;
	if (!s->firsts[(unsigned char)text.data[0]])
		return 0;
	for (size_t i = 0; s->environment[i]; i++) {
		struct rec_slice secret = secret_of(s->environment[i]);
		if (secret.length > longest && secret.length <= text.length &&
		    memcmp(text.data, secret.data, secret.length) == 0)
			longest = secret.length;
	}
	return longest;
}

static struct rec_slice rest_of(struct rec_slice text, size_t at)
{
	return (struct rec_slice){text.data + at, text.length - at};
}

bool rec_secrets_in(const struct rec_secrets *s, struct rec_slice text)
{
	for (size_t at = 0; at < text.length; at++)
		if (secret_at(s, rest_of(text, at)))
			return true;
	return false;
}

int rec_secrets_hide(const struct rec_secrets *s, struct rec_buffer *out, struct rec_slice text)
{
	size_t secret;
	for (size_t at = 0; at < text.length; at += secret ? secret : 1) {
		secret = secret_at(s, rest_of(text, at));
		rec_buffer_add(out, secret ? "***" : text.data + at, secret ? 3 : 1);
	}
	return out->failed;
}
