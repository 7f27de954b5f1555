/* postgres-error.c - from what the server or the connection says to our codes, with the way out in words. The five
 * characters of SQLSTATE decide; the server's own first line is kept, for it knows best. What libpq says about a
 * connection names host, user and database but no password; what it says about a URI that it cannot read might, and
 * is never shown (postgres-location.c).
 */
#include "store/postgres.h"

#include <stdlib.h>

struct rec_slice rec_postgres_first_line(const char *message)
{
	static const char *const noise[] = {"ERROR:  ", "FATAL:  ", "PANIC:  "};
	if (!message)
		message = "";
	for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
		if (strncmp(message, noise[i], strlen(noise[i])) == 0)
			message += strlen(noise[i]);
	size_t length = strcspn(message, "\n");
	return (struct rec_slice){message, length < 300 ? length : 300};
}

struct rule {
	const char *state; /* the whole SQLSTATE, or the class that it begins with */
	int code;
	const char *way_out; /* NULL: none */
};

static const struct rule rules[] = {
	{"55P03", REC_E_BUSY, "try again, or end the session that holds the lock"},
	{"57014", REC_E_BUSY, "try again"},
	{"40", REC_E_BUSY, "another session changed the same rows; try again"},
	{"57P", REC_E_BUSY, "the server is going down or coming up; try again"},
	{"08", REC_E_BUSY, "try again"},
	{"53300", REC_E_BUSY, "the server takes no more connections; try again, or put a pooler between"},
	{"53100", REC_E_FULL, "free some space on the server and try again"},
	{"53", REC_E_IO, "the server lacks resources; try again"},
	{"58", REC_E_IO, "look into the server's log"},
	{"28", REC_E_PERMISSION, "give user and password by URI, .pgpass or service file"},
	{"42501", REC_E_PERMISSION, "see ROLES in reconciler-postgres(5)"},
	{"25006", REC_E_READ_ONLY, "name the primary server"},
	{"25P03", REC_E_BUSY, "try again"}, /* a session or a transaction that the server thought idle for too long */
	{"25P04", REC_E_BUSY, "try again"},
	{"3D000", REC_E_NO_STORE, "make the database, then run `reconciler init`"},
	{"3F000", REC_E_UNINITIALISED, "`reconciler init` makes it"},
	{"42P01", REC_E_SCHEMA, "run `reconciler init`"},
	{"42703", REC_E_SCHEMA, "run `reconciler init`"},
	{"42883", REC_E_SCHEMA, "run `reconciler init`"},
	{"26000", REC_E_UNSUPPORTED, "behind a transaction-mode pooler set pooled = true in [postgres]"},
	{"42P05", REC_E_UNSUPPORTED, "behind a transaction-mode pooler set pooled = true in [postgres]"},
	{"23", REC_E_INVALID, "the database refuses the row"},
	{"22", REC_E_INVALID, "the database refuses the value"},
	{"54", REC_E_LIMIT, NULL},
	{"XX001", REC_E_CORRUPT, "stop every program that uses it and restore a copy"},
	{"XX002", REC_E_CORRUPT, "REINDEX, or restore a copy"},
};

static const struct rule *rule_of(const char *state)
{
	for (size_t i = 0; state && i < sizeof rules / sizeof *rules; i++)
		if (strncmp(state, rules[i].state, strlen(rules[i].state)) == 0)
			return &rules[i];
	return NULL;
}

static int fail_lost(struct rec_postgres *s, const char *why, struct rec_error *error)
{
	struct rec_slice line = rec_postgres_first_line(why);
	return rec_fail(error, REC_E_BUSY, "%s: the connection was lost%s%.*s (try again)", s->location,
			line.length ? ": " : "", (int)line.length, line.data);
}

int rec_postgres_fail(struct rec_postgres *s, const PGresult *result, const char *doing, struct rec_error *error)
{
	const char *state = result ? s->pq.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *said = result ? s->pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	const struct rule *rule = rule_of(state);
	if (!state && !rec_postgres_connected(s))
		return fail_lost(s, s->connection ? s->pq.PQerrorMessage(s->connection) : NULL, error);
	if (!said)
		said = s->pq.PQerrorMessage(s->connection);
	struct rec_slice line = rec_postgres_first_line(said);
	if (!rule)
		return rec_fail(error, REC_E_BUG, "%s: %s: %.*s%s%s%s (please report)", s->location,
				doing ? doing : "query", (int)line.length, line.data, state ? " [" : "",
				state ? state : "", state ? "]" : "");
	return rec_fail(error, rule->code, "%s: %.*s%s%s%s", s->location, (int)line.length, line.data,
			rule->way_out ? " (" : "", rule->way_out ? rule->way_out : "", rule->way_out ? ")" : "");
}
