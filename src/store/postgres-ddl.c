/* postgres-ddl.c - the schema, version by version. A migration is text without parameters, run inside the transaction
 * of `init`; what has been released is never changed, only followed by another.
 *
 * Bad rows are made impossible here where the server can see to it, and other programs may write: what they leave out
 * has a default, and triggers tell the change feed.
 */
#include "store/postgres.h"

#define NOW "to_char(clock_timestamp() AT TIME ZONE 'UTC','YYYY-MM-DD\"T\"HH24:MI:SS.US\"+00:00\"')"
#define ID "text COLLATE \"C\""
#define STATUSES "('BACKLOG','READY','IN_PROGRESS','BLOCKED','FAILED','DONE','MERGED')"

static const char version_1[] =
	/* A schema made beforehand needs no right to make one. */
	"DO $$BEGIN IF to_regnamespace('reconciler') IS NULL THEN CREATE SCHEMA reconciler; END IF; END$$;"
	"CREATE TABLE reconciler.meta(key text PRIMARY KEY,value text NOT NULL);"
	"INSERT INTO reconciler.meta VALUES('store_id',gen_random_uuid()::text);"
	/* Always empty. Whoever writes holds a lock on it until the transaction ends. */
	"CREATE TABLE reconciler.writer();"
	/* One row each. */
	"CREATE TABLE reconciler.counters(claim_id bigint NOT NULL,event_seq bigint NOT NULL);"
	"INSERT INTO reconciler.counters VALUES(0,0);"
	"CREATE TABLE reconciler.feed(generation bigint NOT NULL,pruned bigint NOT NULL);"
	"INSERT INTO reconciler.feed VALUES(('x'||substr(md5(gen_random_uuid()::text),1,15))::bit(60)::bigint,0);"

	"CREATE TABLE reconciler.tasks("
	"id " ID " PRIMARY KEY CHECK(octet_length(id) BETWEEN 1 AND 255 AND id!~'[\\u0001-\\u001f\\u007f-\\u009f]'),"
	"title text NOT NULL,description text,"
	"status " ID " NOT NULL DEFAULT 'READY' CONSTRAINT tasks_status CHECK(status IN " STATUSES "),"
	"priority bigint NOT NULL DEFAULT 0,"
	"depends_on text[] COLLATE \"C\" NOT NULL DEFAULT '{}' "
	"CHECK(CASE WHEN array_ndims(depends_on)>1 THEN false ELSE array_position(depends_on,NULL) IS NULL END),"
	"parent_id " ID ",external_url " ID ",is_leaf boolean NOT NULL DEFAULT true,"
	"created_at " ID " NOT NULL DEFAULT " NOW ",updated_at " ID " NOT NULL DEFAULT " NOW ","
	"prd_id text,uncertainty_level text,hierarchical_id text,lineage text,requirement_ids text,"
	"estimated_hours double precision,complexity_score bigint,github_issue_number bigint,"
	"auto_close_github_issue bigint NOT NULL DEFAULT 0,"
	"attempt bigint NOT NULL DEFAULT 0,released text[] COLLATE \"C\" NOT NULL DEFAULT '{}') WITH(fillfactor=80);"

	"CREATE TABLE reconciler.blockers("
	"id " ID " PRIMARY KEY CHECK(octet_length(id) BETWEEN 1 AND 255),"
	"task_id " ID " NOT NULL REFERENCES reconciler.tasks ON DELETE CASCADE,"
	"question text NOT NULL,answer text,"
	"status " ID
	" NOT NULL DEFAULT 'OPEN' CONSTRAINT blockers_status CHECK(status IN('OPEN','ANSWERED','RESOLVED')),"
	"created_at " ID " NOT NULL DEFAULT " NOW ",answered_at text,created_by text NOT NULL DEFAULT 'human');"

	/* Not bound to the task: a claim outlives a task deleted under it. */
	"CREATE TABLE reconciler.claims("
	"claim_id bigint PRIMARY KEY,task_id " ID " NOT NULL UNIQUE,attempt bigint NOT NULL,batch_id text,owner text,"
	"claimed_at text NOT NULL,child_owns_run boolean NOT NULL,before text[] COLLATE \"C\" NOT NULL);"
	/* By the server's clock. */
	"CREATE TABLE reconciler.leases(owner " ID " PRIMARY KEY,until timestamptz NOT NULL);"
	"CREATE TABLE reconciler.attempts("
	"task_id " ID " NOT NULL REFERENCES reconciler.tasks ON DELETE CASCADE,number bigint NOT NULL,batch_id text,"
	"claim_id bigint NOT NULL,claimed_at text NOT NULL,ended_at text NOT NULL,ended_us bigint NOT NULL,outcome "
	"text,"
	"exit_code bigint,exit_signal bigint,survivors bigint NOT NULL,PRIMARY KEY(task_id,number));"

	"CREATE TABLE reconciler.events("
	"seq bigint PRIMARY KEY,time text NOT NULL,time_us bigint,event text NOT NULL,batch_id text,task_id text,"
	"action text,reason text,source text,current_status text,external_status text,believed text,observation text,"
	"detail text,attempt bigint,blockers_total bigint,blockers_open bigint,blockers_new bigint,exit_code bigint,"
	"exit_signal bigint,survivors bigint);"

	"CREATE TABLE reconciler.batches("
	"batch_id " ID " PRIMARY KEY,options text,started_at " ID " NOT NULL,status text NOT NULL,stop text,owner text,"
	"ended_at text,skipped bigint NOT NULL,killed bigint NOT NULL,requeued bigint NOT NULL,errors bigint NOT NULL);"
	"CREATE TABLE reconciler.batch_tasks("
	"batch_id " ID " NOT NULL REFERENCES reconciler.batches ON DELETE CASCADE,task_id " ID " NOT NULL,"
	"position bigint NOT NULL,phase text NOT NULL,believed text,reason text,own boolean NOT NULL,"
	"attempt bigint NOT NULL,failures bigint NOT NULL,again bigint NOT NULL,lost bigint NOT NULL,"
	"not_before_us bigint NOT NULL,PRIMARY KEY(batch_id,task_id)) WITH(fillfactor=70);"

	"CREATE TABLE reconciler.links("
	"task_id " ID " NOT NULL REFERENCES reconciler.tasks ON DELETE CASCADE,url " ID " NOT NULL,"
	"implicit boolean NOT NULL,state text,kind text,reason text,time text,comments bigint,moved_to text,"
	"validator text,observed_at text,gone boolean,made_done_at text,PRIMARY KEY(task_id,url));"
	"CREATE TABLE reconciler.cursors("
	"tracker " ID " NOT NULL,key " ID " NOT NULL,value text NOT NULL,PRIMARY KEY(tracker,key));"

	/* Numbers are given under the writer's lock, so they become visible in their order. The time is the writer's,
	 * if it tells one. */
	"CREATE TABLE reconciler.changes("
	"seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,task_id text NOT NULL,time_us bigint NOT NULL DEFAULT "
	"coalesce(nullif(current_setting('reconciler.now_us',true),'')::bigint,"
	"(extract(epoch FROM clock_timestamp())*1000000)::bigint));"

	"INSERT INTO reconciler.meta VALUES('schema_version','1');";

/* What finds, keeps writers one behind the other, and tells of changes. It holds nothing, so it can be made again. */
static const char guards[] =
	"CREATE INDEX IF NOT EXISTS tasks_parent ON reconciler.tasks(parent_id) WHERE parent_id IS NOT NULL;"
	"CREATE UNIQUE INDEX IF NOT EXISTS tasks_url ON reconciler.tasks(md5(external_url)) WHERE external_url IS NOT "
	"NULL;"
	"CREATE INDEX IF NOT EXISTS blockers_task ON reconciler.blockers(task_id);"

	"CREATE OR REPLACE FUNCTION reconciler.lock_writer() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
	"LOCK TABLE reconciler.writer IN EXCLUSIVE MODE; RETURN NULL; END$$;"
	"CREATE OR REPLACE FUNCTION reconciler.note_task() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
	"IF TG_OP<>'INSERT' THEN INSERT INTO reconciler.changes(task_id) VALUES(OLD.id); END IF; "
	"IF TG_OP='INSERT' OR (TG_OP='UPDATE' AND NEW.id<>OLD.id) THEN "
	"INSERT INTO reconciler.changes(task_id) VALUES(NEW.id); END IF; "
	"PERFORM pg_notify('reconciler',''); RETURN NULL; END$$;"
	"CREATE OR REPLACE FUNCTION reconciler.note_of_task() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
	"IF TG_OP<>'INSERT' THEN INSERT INTO reconciler.changes(task_id) VALUES(OLD.task_id); END IF; "
	"IF TG_OP='INSERT' OR (TG_OP='UPDATE' AND NEW.task_id<>OLD.task_id) THEN "
	"INSERT INTO reconciler.changes(task_id) VALUES(NEW.task_id); END IF; "
	"PERFORM pg_notify('reconciler',''); RETURN NULL; END$$;"
	/* Nobody can say which ids went: every consumer takes a snapshot. */
	"CREATE OR REPLACE FUNCTION reconciler.note_truncate() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
	"UPDATE reconciler.feed SET generation=generation+1; PERFORM pg_notify('reconciler',''); RETURN NULL; END$$;"

	"DROP TRIGGER IF EXISTS tasks_lock ON reconciler.tasks;"
	"CREATE TRIGGER tasks_lock BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON reconciler.tasks "
	"FOR EACH STATEMENT EXECUTE FUNCTION reconciler.lock_writer();"
	"DROP TRIGGER IF EXISTS tasks_note ON reconciler.tasks;"
	"CREATE TRIGGER tasks_note AFTER INSERT OR DELETE ON reconciler.tasks "
	"FOR EACH ROW EXECUTE FUNCTION reconciler.note_task();"
	"DROP TRIGGER IF EXISTS tasks_note_update ON reconciler.tasks;"
	"CREATE TRIGGER tasks_note_update AFTER UPDATE ON reconciler.tasks FOR EACH ROW WHEN("
	"OLD.status IS DISTINCT FROM NEW.status OR OLD.priority IS DISTINCT FROM NEW.priority OR "
	"OLD.depends_on IS DISTINCT FROM NEW.depends_on OR OLD.is_leaf IS DISTINCT FROM NEW.is_leaf OR "
	"OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION reconciler.note_task();"
	"DROP TRIGGER IF EXISTS tasks_truncate ON reconciler.tasks;"
	"CREATE TRIGGER tasks_truncate AFTER TRUNCATE ON reconciler.tasks "
	"FOR EACH STATEMENT EXECUTE FUNCTION reconciler.note_truncate();"
	"DROP TRIGGER IF EXISTS blockers_lock ON reconciler.blockers;"
	"CREATE TRIGGER blockers_lock BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON reconciler.blockers "
	"FOR EACH STATEMENT EXECUTE FUNCTION reconciler.lock_writer();"
	"DROP TRIGGER IF EXISTS blockers_note ON reconciler.blockers;"
	"CREATE TRIGGER blockers_note AFTER INSERT OR DELETE ON reconciler.blockers "
	"FOR EACH ROW EXECUTE FUNCTION reconciler.note_of_task();"
	"DROP TRIGGER IF EXISTS blockers_note_update ON reconciler.blockers;"
	"CREATE TRIGGER blockers_note_update AFTER UPDATE ON reconciler.blockers FOR EACH ROW WHEN("
	"OLD.status IS DISTINCT FROM NEW.status OR OLD.task_id IS DISTINCT FROM NEW.task_id OR "
	"OLD.answer IS DISTINCT FROM NEW.answer) EXECUTE FUNCTION reconciler.note_of_task();"
	"DROP TRIGGER IF EXISTS blockers_truncate ON reconciler.blockers;"
	"CREATE TRIGGER blockers_truncate AFTER TRUNCATE ON reconciler.blockers "
	"FOR EACH STATEMENT EXECUTE FUNCTION reconciler.note_truncate();"
	/* The status may stay what somebody else stored, and yet the task is free now. */
	"DROP TRIGGER IF EXISTS claims_lock ON reconciler.claims;"
	"CREATE TRIGGER claims_lock BEFORE DELETE OR TRUNCATE ON reconciler.claims "
	"FOR EACH STATEMENT EXECUTE FUNCTION reconciler.lock_writer();"
	"DROP TRIGGER IF EXISTS claims_note ON reconciler.claims;"
	"CREATE TRIGGER claims_note AFTER DELETE ON reconciler.claims "
	"FOR EACH ROW EXECUTE FUNCTION reconciler.note_of_task();"
	/* A request to stop concerns no task; whoever waits is woken all the same. */
	"CREATE OR REPLACE FUNCTION reconciler.notify() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
	"PERFORM pg_notify('reconciler',''); RETURN NULL; END$$;"
	"DROP TRIGGER IF EXISTS batches_notify ON reconciler.batches;"
	"CREATE TRIGGER batches_notify AFTER UPDATE ON reconciler.batches FOR EACH ROW "
	"WHEN(OLD.stop IS DISTINCT FROM NEW.stop OR OLD.status IS DISTINCT FROM NEW.status) "
	"EXECUTE FUNCTION reconciler.notify();";

const char *rec_postgres_migration(int version)
{
	static const char *const versions[REC_POSTGRES_VERSION] = {version_1};
	return version >= 1 && version <= REC_POSTGRES_VERSION ? versions[version - 1] : NULL;
}

const char *rec_postgres_guards(void)
{
	return guards;
}
