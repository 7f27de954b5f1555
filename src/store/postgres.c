/* postgres.c - opening and closing: which server, is the schema there and of our version, making it. */
#include "store/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

struct rec_postgres *rec_postgres_of(struct rec_store *s)
{
	return (struct rec_postgres *)s;
}

static void postgres_close(struct rec_store *store)
{
	struct rec_postgres *s = rec_postgres_of(store);
	const struct rec_allocator *a = store->allocator;
	rec_postgres_disconnect(s);
	rec_close_fd(&s->wake_fd);
	rec_close_fd(&s->heard_fd);
	rec_free(a, s->conninfo);
	rec_free(a, s->location);
	rec_free(a, s->directory);
	rec_free(a, s);
}

static const struct rec_store_ops postgres_ops = {
	.backend = "postgresql",
	.close = postgres_close,
	.patience = rec_postgres_patience,
	.snapshot = rec_postgres_snapshot,
	.get = rec_postgres_get,
	.get_many = rec_postgres_get_many,
	.list = rec_postgres_list,
	.find_prefix = rec_postgres_find_prefix,
	.blockers = rec_postgres_blockers,
	.blocker_get = rec_postgres_blocker_get,
	.begin = rec_postgres_begin,
	.commit = rec_postgres_commit,
	.rollback = rec_postgres_rollback,
	.create = rec_postgres_create,
	.edit = rec_postgres_edit,
	.remove = rec_postgres_remove,
	.write_status = rec_postgres_write_status,
	.parent = rec_postgres_parent,
	.children = rec_postgres_children,
	.mark_composite = rec_postgres_mark_composite,
	.blocker_create = rec_postgres_blocker_create,
	.blocker_answer = rec_postgres_blocker_answer,
	.blocker_resolve = rec_postgres_blocker_resolve,
	.event_add = rec_postgres_event_add,
	.events = rec_postgres_events,
	.claim = rec_postgres_claim,
	.claim_many = rec_postgres_claim_many,
	.claim_settle = rec_postgres_claim_settle,
	.claim_take = rec_postgres_claim_take,
	.claims = rec_postgres_claims,
	.renew = rec_postgres_renew,
	.lease = rec_postgres_lease,
	.batch_add = rec_postgres_batch_add,
	.batch_get = rec_postgres_batch_get,
	.batch_write = rec_postgres_batch_write,
	.batches = rec_postgres_batches,
	.batch_task_put = rec_postgres_batch_task_put,
	.batch_tasks = rec_postgres_batch_tasks,
	.links_ready = rec_postgres_links_ready,
	.link_put = rec_postgres_link_put,
	.link_remove = rec_postgres_link_remove,
	.links = rec_postgres_links,
	.link_observed = rec_postgres_link_observed,
	.tracker_cursor_put = rec_postgres_tracker_cursor_put,
	.tracker_cursors = rec_postgres_tracker_cursors,
	.changes = rec_postgres_changes,
	.stamp = rec_postgres_stamp,
	.wake_fd = rec_postgres_wake_fd,
	.wake_drain = rec_postgres_wake_drain,
	.gc = rec_postgres_gc,
	.problems = rec_postgres_problems,
};

/* ---- The schema ---- */

struct schema {
	long version; /* 0: there is none */
	char store_id[64];
};

static int schema_look(struct rec_postgres *s, struct schema *ret, struct rec_error *error)
{
	PGresult *row = NULL;
	int r = rec_postgres_do(s, "SELECT to_regclass('reconciler.meta') IS NOT NULL", &row, error);
	bool there = r == 0 && s->pq.PQgetvalue(row, 0, 0)[0] == 't';
	rec_postgres_clear(s, row);
	row = NULL;
	*ret = (struct schema){0};
	if (r < 0 || !there)
		return r;
	r = rec_postgres_do(s,
			    "SELECT (SELECT value FROM reconciler.meta WHERE key='schema_version'),"
			    "(SELECT value FROM reconciler.meta WHERE key='store_id')",
			    &row, error);
	if (r == 0) {
		ret->version = strtol(s->pq.PQgetvalue(row, 0, 0), NULL, 10);
		snprintf(ret->store_id, sizeof ret->store_id, "%s", s->pq.PQgetvalue(row, 0, 1));
	}
	rec_postgres_clear(s, row);
	return r;
}

static int judge_version(struct rec_postgres *s, long version, struct rec_error *error)
{
	if (version > REC_POSTGRES_VERSION)
		return rec_fail(error, REC_E_VERSION,
				"%s: the schema's version is %ld, this program knows %d (use a newer reconciler)",
				s->location, version, REC_POSTGRES_VERSION);
	if (version == 0)
		return rec_fail(error, REC_E_UNINITIALISED,
				"%s: has no schema of reconciler's (`reconciler init` makes it)", s->location);
	if (version < REC_POSTGRES_VERSION)
		return rec_fail(
			error, REC_E_UNINITIALISED,
			"%s: the schema's version is %ld, this program needs %d (`reconciler init` brings it up)",
			s->location, version, REC_POSTGRES_VERSION);
	return 0;
}

/* One at a time; the lock goes with the transaction. Its number is the first eight bytes of "reconciler". */
static int migrate(struct rec_postgres *s, struct rec_error *error)
{
	char begin[200];
	struct schema schema = {0};
	snprintf(begin, sizeof begin,
		 "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;SET LOCAL lock_timeout=%lld;"
		 "SELECT pg_advisory_xact_lock(8243105134117118057)",
		 (long long)(s->base.busy_timeout_ms > 1000 ? s->base.busy_timeout_ms : 1000));
	int r = rec_postgres_do(s, begin, NULL, error);
	if (r == 0)
		r = schema_look(s, &schema, error);
	if (r == 0 && schema.version > REC_POSTGRES_VERSION)
		r = judge_version(s, schema.version, error);
	for (; r == 0 && schema.version < REC_POSTGRES_VERSION; schema.version++)
		r = rec_postgres_do(s, rec_postgres_migration((int)schema.version + 1), NULL, error);
	if (r == 0)
		r = rec_postgres_do(s, rec_postgres_guards(), NULL, error);
	if (r == 0)
		r = rec_postgres_do(s, "COMMIT", NULL, error);
	else if (rec_postgres_connected(s))
		(void)rec_postgres_do(s, "ROLLBACK", NULL, NULL);
	return r;
}

/* A schema of which a part was lost is not made again: what was in it is lost too, and somebody should know. Only the
 * version can be written again, there being but one that has all of this. */
static int mend(struct rec_postgres *s, struct schema *schema, struct rec_error *error)
{
	static const char look[] =
		"SELECT string_agg(name,', ' ORDER BY name) FILTER (WHERE to_regclass('reconciler.'||name) IS NULL),"
		"count(to_regclass('reconciler.'||name)) FROM "
		"(VALUES('meta'),('writer'),('counters'),('feed'),('tasks'),"
		"('blockers'),('claims'),('leases'),('attempts'),('events'),('batches'),('batch_tasks'),('links'),"
		"('cursors'),('changes')) AS w(name)";
	PGresult *row = NULL;
	int r = rec_postgres_do(s, look, &row, error);
	bool whole = r == 0 && s->pq.PQgetisnull(row, 0, 0);
	bool none = r == 0 && strcmp(s->pq.PQgetvalue(row, 0, 1), "0") == 0;
	if (r == 0 && !whole && !none)
		r = rec_fail(
			error, REC_E_SCHEMA,
			"%s: tables of the schema reconciler are gone: %s (restore a copy; or DROP SCHEMA reconciler "
			"CASCADE, which forgets the others too, and run `reconciler init`)",
			s->location, s->pq.PQgetvalue(row, 0, 0));
	rec_postgres_clear(s, row);
	if (r < 0 || !whole || schema->version)
		return r;
	r = rec_postgres_do(s, "INSERT INTO reconciler.meta VALUES('schema_version','1') ON CONFLICT DO NOTHING", NULL,
			    error);
	return r == 0 ? schema_look(s, schema, error) : r;
}

/* Triggers and indexes that were lost hold nothing and are made again. We come as every writer does; but others may
 * hold a table that they had before the lock, and wait for it: it is us who give up before the server looks for a
 * victim (deadlock_timeout, 1 s). What was written meanwhile nobody was told: every consumer takes a snapshot. */
static int mend_guards(struct rec_postgres *s, struct rec_error *error)
{
	static const char told[] =
		"UPDATE reconciler.feed SET generation=generation+1;SELECT pg_notify('reconciler','');COMMIT";
	char begin[160];
	const struct rec_postgres_arguments none = {0};
	int missing = 0;
	int r = rec_postgres_effect(s, REC_POSTGRES_PROBLEMS, &none, &missing, error);
	if (r < 0 || missing == 0)
		return r;
	snprintf(begin, sizeof begin,
		 "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;SET LOCAL lock_timeout=%lld;"
		 "LOCK TABLE reconciler.writer IN EXCLUSIVE MODE;SET LOCAL lock_timeout=500",
		 (long long)s->base.busy_timeout_ms);
	r = rec_postgres_do(s, begin, NULL, error);
	if (r == 0)
		r = rec_postgres_do(s, rec_postgres_guards(), NULL, error);
	if (r == 0)
		return rec_postgres_do(s, told, NULL, error);
	if (rec_postgres_connected(s))
		(void)rec_postgres_do(s, "ROLLBACK", NULL, NULL);
	return r;
}

/* What belongs to this host, and to this store on it: slots, logs, a configuration. NULL where nobody says where such
 * things are kept. */
static int choose_directory(struct rec_postgres *s, const char *store_id, struct rec_error *error)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	struct rec_buffer path;
	char host[256] = "?";
	gethostname(host, sizeof host - 1); /* a home may be shared by hosts */
	rec_buffer_init(&path, s->base.allocator, 4096);
	if (strspn(store_id, "0123456789abcdefABCDEF-") != strlen(store_id) || !*store_id)
		return rec_fail(error, REC_E_CORRUPT, "%s: the store_id in reconciler.meta is none (restore a copy)",
				s->location);
	if (state && state[0] == '/')
		rec_buffer_printf(&path, "%s/reconciler/%s@%s", state, store_id, host);
	else if (home && home[0] == '/')
		rec_buffer_printf(&path, "%s/.local/state/reconciler/%s@%s", home, store_id, host);
	if (path.length && !path.failed)
		s->directory = rec_strndup(s->base.allocator, path.data, path.length);
	int r = path.failed == REC_E_LIMIT ? rec_fail(error, REC_E_INVALID, "XDG_STATE_HOME: the path is too long")
		: path.failed || (path.length && !s->directory) ? rec_fail_nomem(error)
								: 0;
	rec_buffer_release(&path);
	s->base.info.directory = s->directory;
	return r;
}

static int attach(struct rec_postgres *s, struct rec_error *error)
{
	struct schema schema = {0};
	int r = rec_postgres_connect(s, error);
	if (r == 0)
		r = schema_look(s, &schema, error);
	if (r == 0 && s->base.info.mode == REC_STORE_INIT)
		r = mend(s, &schema, error);
	if (r == 0 && schema.version < REC_POSTGRES_VERSION && s->base.info.mode == REC_STORE_INIT) {
		r = migrate(s, error);
		if (r == 0)
			r = schema_look(s, &schema, error);
	}
	if (r == 0)
		r = judge_version(s, schema.version, error);
	if (r == 0 && s->base.info.mode == REC_STORE_INIT)
		r = mend_guards(s, error);
	if (r == 0)
		r = choose_directory(s, schema.store_id, error);
	s->base.info.attached = r == 0;
	return r;
}

/* ---- Opening ---- */

/* A URI as it is; behind our prefix alone comes a string of keys and values. */
static const char *conninfo_of(const char *uri)
{
	static const char prefix[] = "postgresql:";
	size_t length = sizeof prefix - 1;
	return strncmp(uri, prefix, length) == 0 && strncmp(uri + length, "//", 2) != 0 ? uri + length : uri;
}

static int name(struct rec_postgres *s, const char *uri, struct rec_error *error)
{
	const struct rec_allocator *a = s->base.allocator;
	struct rec_buffer location;
	rec_buffer_init(&location, a, 1u << 16);
	s->conninfo = rec_strndup(a, uri, strlen(uri));
	int r = s->conninfo ? rec_postgres_location(&s->pq, s->conninfo, &location, error) : rec_fail_nomem(error);
	if (r == 0) {
		s->location = rec_strndup(a, location.data, location.length);
		r = s->location ? 0 : rec_fail_nomem(error);
	}
	rec_buffer_release(&location);
	s->base.info.location = s->location;
	return r;
}

int rec_store_postgres_open(const char *uri, const struct rec_store_options *options, struct rec_store **ret_store,
			    struct rec_error *error)
{
	struct rec_postgres *s = rec_zalloc(options ? options->allocator : NULL, 1, sizeof *s);
	if (!s)
		return rec_fail_nomem(error);
	rec_store_setup(&s->base, &postgres_ops, options);
	s->base.info.shared = true;
	s->wake_fd = s->heard_fd = -1;
	s->patience_end_us = INT64_MAX;
	s->pooled = options && options->pooled;
	int r = rec_libpq_load(&s->pq, error);
	if (r == 0)
		r = name(s, conninfo_of(uri), error);
	if (r == 0)
		r = attach(s, error);
	if (r < 0) {
		postgres_close(&s->base);
		return r;
	}
	*ret_store = &s->base;
	return 0;
}
