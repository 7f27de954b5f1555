/* postgres-connect.c - connecting, and connecting again. Everything a session needs is in its first message, and
 * nothing that matters is kept in the session but prepared statements and LISTEN, so that a new one is as good as
 * the old. While the server cannot be reached, attempts are made at growing intervals, and calls in between fail
 * at once: whoever waits has a loop of his own to wait in.
 */
#include "store/postgres.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#define CONNECT_MS 10000
#define RETRY_FIRST_US 50000
#define RETRY_MOST_US 5000000
#define OLDEST_SERVER 130000

static int64_t now_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context); /* not the store's: the network knows no other */
}

/* ---- Patience ---- */

static int64_t boot_us(void)
{
	return rec_clock_boot_us(&rec_clock_real);
}

void rec_postgres_patience(struct rec_store *store, int64_t us)
{
	struct rec_postgres *s = rec_postgres_of(store);
	if (__builtin_add_overflow(boot_us(), us, &s->patience_end_us))
		s->patience_end_us = INT64_MAX;
}

int rec_postgres_wait_ms(const struct rec_postgres *s, int64_t most_ms)
{
	if (s->patience_end_us == INT64_MAX)
		return (int)most_ms;
	int64_t left_us = s->patience_end_us - boot_us();
	int64_t left_ms = left_us > 0 ? left_us / 1000 + 1 : 0;
	return (int)(left_ms < most_ms ? left_ms : most_ms);
}

bool rec_postgres_connected(const struct rec_postgres *s)
{
	return s->connection && !s->silent && s->pq.PQstatus(s->connection) == CONNECTION_OK;
}

void rec_postgres_disconnect(struct rec_postgres *s)
{
	if (!s->connection)
		return;
	rec_postgres_wake_disconnect(s);
	s->pq.PQfinish(s->connection);
	s->connection = NULL;
	s->silent = false;
	s->queued = 0;
	memset(s->prepared, 0, sizeof s->prepared);
}

static void be_quiet(void *context, const char *message)
{
	(void)context, (void)message; /* libpq would print notices */
}

/* ---- One attempt ---- */

#define SETTINGS_MAX 96

struct settings {
	const char *keywords[SETTINGS_MAX], *values[SETTINGS_MAX];
	size_t count;
};

static void set(struct settings *settings, const char *keyword, const char *value)
{
	for (size_t i = 0; i < settings->count; i++)
		if (strcmp(settings->keywords[i], keyword) == 0)
			return;
	if (settings->count + 1 < SETTINGS_MAX) {
		settings->keywords[settings->count] = keyword;
		settings->values[settings->count++] = value;
	}
}

/* What the user gave, then what he left open. A cut network must be noticed within seconds, not hours. */
static void choose_settings(struct settings *settings, const PQconninfoOption *options)
{
	*settings = (struct settings){0};
	set(settings, "client_encoding", "UTF8");
	for (; options->keyword; options++)
		if (options->val)
			set(settings, options->keyword, options->val);
	set(settings, "fallback_application_name", "reconciler");
	set(settings, "tcp_user_timeout", "15000");
	set(settings, "keepalives_idle", "10");
	set(settings, "keepalives_interval", "5");
	set(settings, "keepalives_count", "3");
}

static int fail_connect(struct rec_postgres *s, struct rec_error *error)
{
	const char *said = s->pq.PQerrorMessage(s->connection);
	struct rec_slice line = rec_postgres_first_line(said);
	if (s->pq.PQconnectionNeedsPassword(s->connection) || strstr(said, "authentication failed"))
		return rec_fail(error, REC_E_PERMISSION, "%s: %.*s (give user and password by .pgpass or service file)",
				s->location, (int)line.length, line.data);
	if (strstr(said, "database \"") && strstr(said, "does not exist"))
		return rec_fail(error, REC_E_NO_STORE,
				"%s: there is no such database (make it, then run `reconciler init`)", s->location);
	return rec_fail(error, REC_E_BUSY, "%s: cannot be reached: %.*s (start the server, or try again)", s->location,
			(int)line.length, line.data);
}

static int poll_connection(struct rec_postgres *s, struct rec_error *error)
{
	int64_t end = now_us() + (int64_t)CONNECT_MS * 1000;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;
	while (status == PGRES_POLLING_READING || status == PGRES_POLLING_WRITING) {
		struct pollfd socket = {.fd = s->pq.PQsocket(s->connection),
					.events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT};
		int64_t left = (end - now_us()) / 1000;
		int wait_ms = rec_postgres_wait_ms(s, left);
		int ready = wait_ms > 0 ? poll(&socket, 1, wait_ms) : 0;
		if (ready < 0 && errno != EINTR)
			return rec_fail_errno(error, errno, "%s: poll", s->location);
		if (ready == 0 && wait_ms < left)
			return rec_fail(error, REC_E_BUSY, "%s: no answer in time (try again)", s->location);
		if (ready == 0)
			return rec_fail(error, REC_E_BUSY, "%s: no answer within %d s (try again)", s->location,
					CONNECT_MS / 1000);
		if (ready > 0)
			status = s->pq.PQconnectPoll(s->connection);
	}
	return status == PGRES_POLLING_OK ? 0 : fail_connect(s, error);
}

static int start(struct rec_postgres *s, struct rec_error *error)
{
	struct settings settings;
	PQconninfoOption *options = s->pq.PQconninfoParse(s->conninfo, NULL);
	if (!options)
		return rec_fail_nomem(error); /* it could be read when the store was opened */
	choose_settings(&settings, options);
	s->connection = s->pq.PQconnectStartParams(settings.keywords, settings.values, 0);
	s->pq.PQconninfoFree(options);
	if (!s->connection)
		return rec_fail_nomem(error);
	s->pq.PQsetNoticeProcessor(s->connection, be_quiet, NULL);
	if (s->pq.PQstatus(s->connection) == CONNECTION_BAD)
		return fail_connect(s, error);
	int r = poll_connection(s, error);
	if (r == 0)
		s->pq.PQsetnonblocking(s->connection, 1);
	return r;
}

/* ---- Is it what we know? ---- */

static int judge_server(struct rec_postgres *s, struct rec_error *error)
{
	const char *encoding = s->pq.PQparameterStatus(s->connection, "server_encoding");
	int version = s->pq.PQserverVersion(s->connection);
	if (version < OLDEST_SERVER)
		return rec_fail(error, REC_E_UNSUPPORTED, "%s: the server's version is %d (%d or newer is needed)",
				s->location, version / 10000, OLDEST_SERVER / 10000);
	if (!encoding || strcmp(encoding, "UTF8") != 0)
		return rec_fail(error, REC_E_UNSUPPORTED,
				"%s: the database is encoded as %s (make one with ENCODING 'UTF8')", s->location,
				encoding ? encoding : "unknown");
	return 0;
}

/* Compiling a statement takes the server longer than any of ours runs, and it would do so for each look at many
 * tasks. A session behind a pooler is not ours to set. */
static int tune_session(struct rec_postgres *s, struct rec_error *error)
{
	return s->pooled ? 0 : rec_postgres_do(s, "SET jit=off", NULL, error);
}

static int connect_once(struct rec_postgres *s, struct rec_error *error)
{
	int r = start(s, error);
	if (r == 0)
		r = judge_server(s, error);
	if (r == 0)
		r = tune_session(s, error);
	if (r == 0)
		r = rec_postgres_wake_connect(s, error);
	if (r < 0)
		rec_postgres_disconnect(s);
	return r;
}

static void plan_retry(struct rec_postgres *s, const struct rec_error *why)
{
	int64_t step = s->retry_step_us ? s->retry_step_us * 2 : RETRY_FIRST_US;
	s->retry_step_us = step < RETRY_MOST_US ? step : RETRY_MOST_US;
	/* Many conductors lose the same server at the same time, and shall not come back all at once. */
	int64_t share = (int64_t)(rec_random_u64() % (uint64_t)(s->retry_step_us / 2));
	s->retry_us = now_us() + s->retry_step_us - share;
	s->refused = *why;
}

int rec_postgres_connect(struct rec_postgres *s, struct rec_error *error)
{
	struct rec_error why = {0};
	if (rec_postgres_connected(s))
		return 0;
	rec_postgres_disconnect(s);
	if (s->retry_step_us && now_us() < s->retry_us)
		return rec_fail(error, s->refused.code, "%s", s->refused.message);
	if (rec_postgres_wait_ms(s, 1) == 0) /* says nothing about the server */
		return rec_fail(error, REC_E_BUSY, "%s: no time to connect (try again)", s->location);
	int r = connect_once(s, &why);
	if (r == 0) {
		s->retry_step_us = 0;
		return 0;
	}
	plan_retry(s, &why);
	return rec_fail(error, r, "%s", why.message);
}
