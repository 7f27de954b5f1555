/* postgres-location.c - what may be shown of a connection string: everything but passwords, as a URI that opens the
 * same store again (the password then comes from .pgpass, a service file or the environment). What libpq says about
 * a string that it cannot read is never passed on, for it quotes parts of it. */
#include "store/postgres.h"

static bool given(const PQconninfoOption *option)
{
	return option->val && option->val[0];
}

/* libpq marks what must not be shown with a star, what is for its own tests with a D. */
static bool secret(const PQconninfoOption *option)
{
	return option->dispchar[0] == '*' || option->dispchar[0] == 'D' || strstr(option->keyword, "password") ||
	       strstr(option->keyword, "secret");
}

static void add_encoded(struct rec_buffer *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
	for (; *text; text++) {
		if (strchr(plain, *text))
			rec_buffer_add(out, text, 1);
		else
			rec_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
	}
}

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
	for (; options->keyword; options++)
		if (strcmp(options->keyword, keyword) == 0)
			return given(options) ? options->val : NULL;
	return NULL;
}

/* The parts that have a place of their own; a list of hosts, an IPv6 address or a socket's folder is easier read as a
 * parameter. */
static const char *plain_host(const PQconninfoOption *options)
{
	const char *host = value_of(options, "host");
	return host && !strpbrk(host, ",:[]/") ? host : NULL;
}

static bool has_place(const PQconninfoOption *options, const char *keyword)
{
	if (strcmp(keyword, "dbname") == 0)
		return true;
	return plain_host(options) &&
	       (strcmp(keyword, "host") == 0 || strcmp(keyword, "port") == 0 || strcmp(keyword, "user") == 0);
}

static void add_authority(struct rec_buffer *out, const PQconninfoOption *options)
{
	const char *host = plain_host(options), *user = value_of(options, "user"), *port = value_of(options, "port");
	if (!host)
		return;
	if (user) {
		add_encoded(out, user);
		rec_buffer_add_text(out, "@");
	}
	add_encoded(out, host);
	if (port) {
		rec_buffer_add_text(out, ":");
		add_encoded(out, port);
	}
}

static void add_uri(struct rec_buffer *out, const PQconninfoOption *options)
{
	const char *separator = "?", *database = value_of(options, "dbname");
	rec_buffer_add_text(out, "postgresql://");
	add_authority(out, options);
	rec_buffer_add_text(out, "/");
	if (database)
		add_encoded(out,
			    database); /* a slash in a name needs no escape there: nothing follows but the parameters */
	for (const PQconninfoOption *option = options; option->keyword; option++) {
		if (!given(option) || secret(option) || has_place(options, option->keyword))
			continue;
		rec_buffer_add_text(out, separator);
		rec_buffer_add_text(out, option->keyword);
		rec_buffer_add_text(out, "=");
		add_encoded(out, option->val);
		separator = "&";
	}
}

/* An '@', '/', '?' or ':' of a password that is not written as %XX makes libpq take the rest of the password for a
 * host, a port or a database, which everybody may see. In a sound URI the only '@' ends user and password. */
static bool misleading(const char *conninfo)
{
	const char *authority = strstr(conninfo, "://");
	if (!authority || strncmp(conninfo, "postgres", strlen("postgres")) != 0)
		return false;
	authority += strlen("://");
	const char *end = authority + strcspn(authority, "/?#"), *at = strchr(authority, '@');
	return at && (at >= end || strchr(at + 1, '@'));
}

int rec_postgres_location(const struct rec_libpq *pq, const char *conninfo, struct rec_buffer *out,
			  struct rec_error *error)
{
	char *said = NULL;
	PQconninfoOption *options = misleading(conninfo) ? NULL : pq->PQconninfoParse(conninfo, &said);
	const char *port = options ? value_of(options, "port") : NULL;
	pq->PQfreemem(said);
	if (port && port[strspn(port, "0123456789,")]) {
		pq->PQconninfoFree(options);
		options = NULL;
	}
	if (!options)
		return rec_fail(error, REC_E_INVALID,
				"store 'postgresql:': is not a connection URI or string that libpq can read "
				"(postgresql://USER@HOST:PORT/DATABASE; in a password write @ as %%40, / as %%2F)");
	add_uri(out, options);
	pq->PQconninfoFree(options);
	return out->failed ? rec_fail_nomem(error) : 0;
}
