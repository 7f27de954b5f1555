/* postgres-sql.c - every statement, as constant text; values are always bound. Each is one round trip, and each read
 * is one statement, so that it sees one snapshot of the store.
 *
 * A part of a statement that writes does not see what its other parts wrote; what such a statement returns beside
 * its effect is the state before it.
 */
#include "store/postgres.h"

#define TASK_COLUMNS                                                                                                   \
	"t.id,t.title,t.status,t.priority,t.depends_on,t.parent_id,t.is_leaf,t.created_at,t.description,"              \
	"t.external_url,t.updated_at,t.prd_id,t.uncertainty_level,t.hierarchical_id,t.lineage,t.requirement_ids,"      \
	"t.estimated_hours,t.complexity_score,t.github_issue_number,t.auto_close_github_issue,t.attempt,"              \
	"EXISTS(SELECT FROM reconciler.claims c WHERE c.task_id=t.id)"
#define BLOCKER_COLUMNS "b.id,b.task_id,b.question,b.answer,b.status,b.created_at,b.answered_at,b.created_by"
#define RELEASED "b.status IN ('ANSWERED','RESOLVED')"
#define THE_SEVEN "'{BACKLOG,READY,IN_PROGRESS,BLOCKED,FAILED,DONE,MERGED}'"
/* $1: ids after this one; $2: statuses; $3: unrecognised ones too; $4: at most so many */
#define LISTED                                                                                                         \
	"t.id>$1 AND ($2::text[] IS NULL OR t.status=ANY($2) OR ($3 AND t.status<>ALL(" THE_SEVEN "))) "               \
	"ORDER BY t.id LIMIT $4"
/* Of a row of a task with one blocker, what it counts for: open, new since the last attempt, released before; NULL: the
 * task has none. */
#define KIND(is_new)                                                                                                   \
	"CASE WHEN b.id IS NULL THEN NULL WHEN NOT " RELEASED " THEN 'o' WHEN " is_new " THEN 'n' ELSE 'r' END"
/* Of some tasks: how many blockers, how many of them open, how many released since the last attempt, eight bytes each.
 * $1: whether blockers count for BLOCKED tasks, $2: for all, $3: the ids, $4: attempts too, $5: priorities too. What is
 * not asked for is not looked up. */
#define COUNTS                                                                                                         \
	"(SELECT int8send(count(*))||int8send(count(*) FILTER (WHERE NOT " RELEASED "))||"                             \
	"int8send(count(*) FILTER (WHERE " RELEASED " AND b.id<>ALL(t.released))) "                                    \
	"FROM reconciler.blockers b WHERE b.task_id=t.id)"
#define FACTS                                                                                                          \
	"t.status,CASE WHEN $2 OR ($1 AND t.status='BLOCKED') THEN " COUNTS " END,"                                    \
	"CASE WHEN $4 THEN t.attempt END,"                                                                             \
	"CASE WHEN $4 THEN EXISTS(SELECT FROM reconciler.claims c WHERE c.task_id=t.id) END,"                          \
	"CASE WHEN $5 THEN t.priority END,CASE WHEN $5 THEN t.is_leaf END "
#define CLAIM_COLUMNS "claim_id,task_id,attempt,batch_id,owner,claimed_at,child_owns_run"
#define LEASE_LEFT "(extract(epoch FROM l.until-clock_timestamp())*1000000)::bigint"
#define LINK_KNOWN                                                                                                     \
	"l.state,l.kind,l.reason,l.time,l.comments,l.moved_to,l.validator,l.observed_at,coalesce(l.gone,false),"       \
	"l.made_done_at "
#define BATCH_COLUMNS "batch_id,options,started_at,status,stop,owner,ended_at,skipped,killed,requeued,errors"
/* Of a task `t` whose attempt ends at $2: whether that makes it $3, and what is written then. */
#define SETTLES "(t.status='IN_PROGRESS' AND $3::text IS NOT NULL AND $3<>'IN_PROGRESS')"
#define SETTLED                                                                                                        \
	"status=CASE WHEN " SETTLES " THEN $3 ELSE t.status END,"                                                      \
	"updated_at=CASE WHEN " SETTLES " THEN $2 ELSE t.updated_at END"
#define SETTLED_TASK "SELECT c.task_id,t.status,t.parent_id FROM c LEFT JOIN reconciler.tasks t ON t.id=c.task_id"
#define BATCH_TASK_COLUMNS                                                                                             \
	"batch_id,task_id,position,phase,believed,reason,own,attempt,failures,again,lost,not_before_us"
#define BATCH_TASK_AGAIN                                                                                               \
	"ON CONFLICT (batch_id,task_id) DO UPDATE SET phase=$4,believed=$5,reason=$6,own=$7,attempt=$8,failures=$9,"   \
	"again=$10,lost=$11,not_before_us=$12"

static const char *const texts[REC_POSTGRES_QUERY_COUNT] = {
	[REC_POSTGRES_TASK_GET] = "SELECT " TASK_COLUMNS "," BLOCKER_COLUMNS " FROM reconciler.tasks t "
				  "LEFT JOIN reconciler.blockers b ON b.task_id=t.id "
				  "WHERE t.id=$1 ORDER BY b.created_at,b.id",
	/* Lookups, whatever the server thinks of its tables. The last column is the place among $1, from 1. */
	[REC_POSTGRES_TASK_GET_MANY] =
		"SELECT " TASK_COLUMNS "," BLOCKER_COLUMNS ",w.n FROM unnest($1) WITH ORDINALITY AS w(id,n) "
		"CROSS JOIN LATERAL (SELECT * FROM reconciler.tasks t WHERE t.id=w.id OFFSET 0) t "
		"LEFT JOIN reconciler.blockers b ON b.task_id=t.id ORDER BY w.n,b.created_at,b.id",
	[REC_POSTGRES_TASK_LIST] = "SELECT " TASK_COLUMNS " FROM reconciler.tasks t WHERE " LISTED,
	[REC_POSTGRES_TASK_LIST_BLOCKERS] = "SELECT " TASK_COLUMNS "," BLOCKER_COLUMNS
					    " FROM (SELECT * FROM reconciler.tasks t WHERE " LISTED ") t "
					    "LEFT JOIN reconciler.blockers b ON b.task_id=t.id "
					    "ORDER BY t.id,b.created_at,b.id",
	[REC_POSTGRES_TASK_FIND] = "SELECT id FROM reconciler.tasks WHERE id>=$1 ORDER BY id LIMIT $2",
	[REC_POSTGRES_TASK_EXISTS] = "SELECT EXISTS(SELECT FROM reconciler.tasks WHERE id=$1) "
				     "OR EXISTS(SELECT FROM reconciler.blockers WHERE id=ANY($2))",
	/* $3: only if the task itself is there */
	[REC_POSTGRES_TASK_OF_URL] = "SELECT id FROM reconciler.tasks WHERE md5(external_url)=md5($1) AND id<>$2 "
				     "AND (NOT $3 OR EXISTS(SELECT FROM reconciler.tasks WHERE id=$2))",
	[REC_POSTGRES_TASK_INSERT] =
		"INSERT INTO reconciler.tasks(id,title,status,priority,depends_on,parent_id,is_leaf,created_at,"
		"description,external_url,updated_at,prd_id,uncertainty_level,hierarchical_id,lineage,requirement_ids,"
		"estimated_hours,complexity_score,github_issue_number,auto_close_github_issue) "
		"VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20) "
		"ON CONFLICT (id) DO NOTHING RETURNING id",
	[REC_POSTGRES_TASK_EDIT] = "UPDATE reconciler.tasks SET updated_at=$3,"
				   "title=CASE WHEN $2&1<>0 THEN $4 ELSE title END,"
				   "description=CASE WHEN $2&2<>0 THEN $5 ELSE description END,"
				   "priority=CASE WHEN $2&4<>0 THEN $6 ELSE priority END,"
				   "depends_on=CASE WHEN $2&8<>0 THEN $7 ELSE depends_on END,"
				   "parent_id=CASE WHEN $2&16<>0 THEN $8 ELSE parent_id END,"
				   "external_url=CASE WHEN $2&32<>0 THEN $9 ELSE external_url END "
				   "WHERE id=$1 RETURNING id",
	[REC_POSTGRES_TASK_DELETE] = "WITH d AS (DELETE FROM reconciler.tasks WHERE id=$1 "
				     "AND NOT EXISTS(SELECT FROM reconciler.claims WHERE task_id=$1) RETURNING id) "
				     "SELECT EXISTS(SELECT FROM d),EXISTS(SELECT FROM reconciler.tasks WHERE id=$1)",
	[REC_POSTGRES_TASK_SET_STATUS] =
		"WITH u AS (UPDATE reconciler.tasks SET status=$3,updated_at=$4 WHERE id=$1 AND status=$2 RETURNING "
		"id) "
		"SELECT EXISTS(SELECT FROM u),(SELECT status FROM reconciler.tasks WHERE id=$1)",
	[REC_POSTGRES_TASK_SET_UNRECOGNISED] =
		"WITH u AS (UPDATE reconciler.tasks SET status=$2,updated_at=$3 WHERE id=$1 AND status<>ALL(" THE_SEVEN
		") RETURNING id) "
		"SELECT EXISTS(SELECT FROM u),(SELECT status FROM reconciler.tasks WHERE id=$1)",
	[REC_POSTGRES_TASK_PARENT] = "SELECT parent_id,status FROM reconciler.tasks WHERE id=$1",
	[REC_POSTGRES_TASK_CHILDREN] =
		"SELECT status,count(*) FROM reconciler.tasks WHERE parent_id=$1 GROUP BY status",
	[REC_POSTGRES_TASK_MARK] =
		"WITH k AS (SELECT NOT EXISTS(SELECT FROM reconciler.tasks WHERE parent_id=$1) AS leaf),"
		"u AS (UPDATE reconciler.tasks t SET is_leaf=k.leaf FROM k WHERE t.id=$1 AND t.is_leaf<>k.leaf) "
		"SELECT id FROM reconciler.tasks WHERE id=$1",

	[REC_POSTGRES_SNAPSHOT_ALL] = "SELECT t.id,t.status FROM reconciler.tasks t ORDER BY t.id",
	/* The tasks in order, and among or behind them a row for each blocker of a BLOCKED one: instead of an id a byte
	 * that no id has, what the blocker counts for, the task. Joined, the tasks would take half as long again; with
	 * a column more, a fifth; sorted as one, the blockers are waited for. */
	[REC_POSTGRES_SNAPSHOT_ALL_BLOCKED] =
		"(SELECT t.id,t.status FROM reconciler.tasks t ORDER BY t.id) UNION ALL "
		"SELECT chr(1)||" KIND(
			"b.id<>ALL(t.released)") "||b.task_id,NULL FROM reconciler.blockers b "
						 "JOIN reconciler.tasks t ON t.id=b.task_id AND t.status='BLOCKED'",
	/* A task with several blockers comes several times: counting them is cheaper than having them counted.
	 * $1: whether blockers count for BLOCKED tasks, $2: for all. */
	[REC_POSTGRES_SNAPSHOT_ALL_FACTS] = "SELECT t.id,t.status," KIND(
		"b.id<>ALL(t.released)") ",t.attempt,c.task_id IS NOT NULL,t.priority,t.is_leaf "
					 "FROM reconciler.tasks t LEFT JOIN reconciler.claims c ON c.task_id=t.id "
					 "LEFT JOIN reconciler.blockers b ON b.task_id=t.id AND ($2 OR ($1 AND "
					 "t.status='BLOCKED')) "
					 "ORDER BY t.id",
	/* The server looks up what it is asked for, or reads the table, and knows well which is cheaper; with a join it
	 * does not. */
	[REC_POSTGRES_SNAPSHOT_MANY] = "SELECT t.id," FACTS "FROM reconciler.tasks t WHERE t.id=ANY($3)",
	/* Lookups, whatever the server thinks of its tables: its statistics are old where much is written. */
	[REC_POSTGRES_SNAPSHOT_FEW] =
		"SELECT w.n," FACTS "FROM unnest($3) WITH ORDINALITY AS w(id,n) CROSS JOIN LATERAL "
		"(SELECT t.id,t.status,t.released,t.attempt,t.priority,t.is_leaf "
		"FROM reconciler.tasks t WHERE t.id=w.id OFFSET 0) t",
	/* The same with nothing but the blockers of BLOCKED tasks: what is not even mentioned costs least. */
	[REC_POSTGRES_SNAPSHOT_FEW_BLOCKED] =
		"SELECT w.n,t.status,CASE WHEN t.status='BLOCKED' THEN " COUNTS " END "
		"FROM unnest($1) WITH ORDINALITY AS w(id,n) CROSS JOIN LATERAL "
		"(SELECT t.id,t.status,t.released FROM reconciler.tasks t WHERE t.id=w.id OFFSET 0) t",

	[REC_POSTGRES_BLOCKER_FIND] = "SELECT id FROM reconciler.blockers WHERE id>=$1 ORDER BY id LIMIT $2",
	[REC_POSTGRES_BLOCKER_GET] = "SELECT " BLOCKER_COLUMNS " FROM reconciler.blockers b WHERE b.id=$1",
	[REC_POSTGRES_BLOCKERS_OF_TASK] = "SELECT " BLOCKER_COLUMNS " FROM reconciler.blockers b WHERE b.task_id=$1 "
					  "AND NOT ($2 AND " RELEASED ") ORDER BY b.created_at,b.id",
	[REC_POSTGRES_BLOCKER_LIST] = "SELECT " BLOCKER_COLUMNS " FROM reconciler.blockers b "
				      "WHERE NOT ($1 AND " RELEASED ") ORDER BY b.created_at,b.id",
	/* A row: whether it was put in, and whether its task is there. */
	[REC_POSTGRES_BLOCKER_INSERT] =
		"WITH i AS (INSERT INTO reconciler.blockers(id,task_id,question,answer,status,created_at,answered_at,"
		"created_by) SELECT $1,t.id,$3,$4,$5,$6,$7,$8 FROM reconciler.tasks t WHERE t.id=$2 "
		"ON CONFLICT (id) DO NOTHING RETURNING id) "
		"SELECT EXISTS(SELECT FROM i),EXISTS(SELECT FROM reconciler.tasks WHERE id=$2)",
	[REC_POSTGRES_BLOCKER_ANSWER] =
		"WITH u AS (UPDATE reconciler.blockers SET status='ANSWERED',answer=$2,answered_at=$3 "
		"WHERE id=$1 AND status<>'RESOLVED' RETURNING id) "
		"SELECT EXISTS(SELECT FROM u),(SELECT status FROM reconciler.blockers WHERE id=$1)",
	[REC_POSTGRES_BLOCKER_RESOLVE] =
		"WITH u AS (UPDATE reconciler.blockers SET status='RESOLVED' "
		"WHERE id=$1 AND status='ANSWERED' RETURNING id) "
		"SELECT EXISTS(SELECT FROM u),(SELECT status FROM reconciler.blockers WHERE id=$1)",

	[REC_POSTGRES_EVENT_INSERT] =
		"INSERT INTO reconciler.events(seq,time,time_us,event,batch_id,task_id,action,reason,source,"
		"current_status,external_status,believed,observation,detail,attempt,blockers_total,blockers_open,"
		"blockers_new,exit_code,exit_signal,survivors) "
		"VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21)",
	[REC_POSTGRES_EVENT_LIST] =
		"SELECT seq,time,event,batch_id,task_id,action,reason,source,current_status,external_status,believed,"
		"observation,detail,attempt,blockers_total,blockers_open,blockers_new,exit_code,exit_signal,survivors "
		"FROM reconciler.events WHERE seq>$1 ORDER BY seq LIMIT $2",

	/* A row: the task as it was, and the attempt unless it was claimed already or is not ready. */
	[REC_POSTGRES_CLAIM_INSERT] =
		"WITH c AS (INSERT INTO reconciler.claims(" CLAIM_COLUMNS ",before) "
		"SELECT $1,t.id,t.attempt+1,$3,$4,$5,$6,t.released FROM reconciler.tasks t WHERE t.id=$2 "
		"AND t.status='READY' ON CONFLICT (task_id) DO NOTHING RETURNING attempt),"
		"u AS (UPDATE reconciler.tasks t SET status='IN_PROGRESS',updated_at=$7,attempt=c.attempt,released="
		"ARRAY(SELECT b.id FROM reconciler.blockers b WHERE b.task_id=$2 AND " RELEASED ") "
		"FROM c WHERE t.id=$2) "
		"SELECT t.status,t.parent_id,c.attempt FROM reconciler.tasks t LEFT JOIN c ON true WHERE t.id=$2",
	/* The same of a task that was read before: $8 is the attempt. */
	[REC_POSTGRES_CLAIM_INSERT_SEEN] =
		"WITH c AS (INSERT INTO reconciler.claims(" CLAIM_COLUMNS ",before) "
		"SELECT $1,t.id,$8,$3,$4,$5,$6,t.released FROM reconciler.tasks t WHERE t.id=$2) "
		"UPDATE reconciler.tasks t SET status='IN_PROGRESS',updated_at=$7,attempt=$8,released="
		"ARRAY(SELECT b.id FROM reconciler.blockers b WHERE b.task_id=$2 AND " RELEASED ") WHERE t.id=$2",
	/* Of the tasks $2, the first of them claimed as $1 + 1. A row for each place where one is: the place, the task
	 * as it was, the claim of the task, and the attempt if it is this place's. */
	[REC_POSTGRES_CLAIM_INSERT_MANY] =
		"WITH w AS (SELECT id,min(n) AS n FROM unnest($2) WITH ORDINALITY AS w(id,n) GROUP BY id),"
		"e AS (SELECT w.id,w.n,$1+row_number() OVER (ORDER BY w.n) AS claim_id,t.attempt+1 AS attempt,"
		"t.released AS before FROM w CROSS JOIN LATERAL (SELECT t.attempt,t.released FROM reconciler.tasks t "
		"WHERE t.id=w.id AND t.status='READY' AND NOT EXISTS(SELECT FROM reconciler.claims c WHERE "
		"c.task_id=w.id) OFFSET 0) t),"
		"c AS (INSERT INTO reconciler.claims(" CLAIM_COLUMNS ",before) "
		"SELECT e.claim_id,e.id,e.attempt,$3,$4,$5,$6,e.before FROM e),"
		"u AS (UPDATE reconciler.tasks t SET status='IN_PROGRESS',updated_at=$7,attempt=e.attempt,released="
		"ARRAY(SELECT b.id FROM reconciler.blockers b WHERE b.task_id=e.id AND " RELEASED ") "
		"FROM e WHERE t.id=e.id) "
		"SELECT w.n,t.status,t.parent_id,e.claim_id,CASE WHEN e.n=w.n THEN e.attempt END "
		"FROM unnest($2) WITH ORDINALITY AS w(id,n) CROSS JOIN LATERAL (SELECT t.status,t.parent_id "
		"FROM reconciler.tasks t WHERE t.id=w.id OFFSET 0) t LEFT JOIN e ON e.id=w.id",
	/* A row: the task, and what it was if it is still there. $3: what it becomes if it is in progress; NULL: that.
	 */
	[REC_POSTGRES_CLAIM_FINISH] =
		"WITH c AS (DELETE FROM reconciler.claims WHERE claim_id=$1 RETURNING *),"
		"a AS (INSERT INTO reconciler.attempts(task_id,number,batch_id,claim_id,claimed_at,ended_at,ended_us,"
		"outcome,exit_code,exit_signal,survivors) "
		"SELECT c.task_id,c.attempt,c.batch_id,c.claim_id,c.claimed_at,$2,$4,$5,$6,$7,$8 "
		"FROM c JOIN reconciler.tasks t ON t.id=c.task_id ON CONFLICT (task_id,number) DO NOTHING),"
		"u AS (UPDATE reconciler.tasks t SET attempt=greatest(t.attempt,c.attempt)," SETTLED
		" FROM c WHERE t.id=c.task_id AND (t.attempt<c.attempt OR " SETTLES ")) " SETTLED_TASK,
	[REC_POSTGRES_CLAIM_RELEASE] =
		"WITH c AS (DELETE FROM reconciler.claims WHERE claim_id=$1 RETURNING *),"
		"u AS (UPDATE reconciler.tasks t SET "
		"attempt=CASE WHEN t.attempt=c.attempt THEN c.attempt-1 ELSE t.attempt END,"
		"released=CASE WHEN t.attempt=c.attempt THEN c.before ELSE t.released END," SETTLED
		" FROM c WHERE t.id=c.task_id AND (t.attempt=c.attempt OR " SETTLES ")) " SETTLED_TASK,
	/* A row: whether it was taken, and whether it is there. */
	[REC_POSTGRES_CLAIM_TAKE] =
		"WITH u AS (UPDATE reconciler.claims SET owner=$3 WHERE claim_id=$1 AND owner IS NOT DISTINCT FROM $2 "
		"RETURNING claim_id) "
		"SELECT EXISTS(SELECT FROM u),EXISTS(SELECT FROM reconciler.claims WHERE claim_id=$1)",
	[REC_POSTGRES_CLAIM_LIST] =
		"SELECT c.claim_id,c.task_id,c.attempt,c.batch_id,c.owner,c.claimed_at,c.child_owns_run," LEASE_LEFT
		" FROM reconciler.claims c LEFT JOIN reconciler.leases l ON l.owner=c.owner ORDER BY c.claim_id",
	/* The clock, not the transaction's time: it may have waited. */
	[REC_POSTGRES_LEASE_RENEW] =
		"INSERT INTO reconciler.leases(owner,until) VALUES($1,clock_timestamp()+$2*interval '1 microsecond') "
		"ON CONFLICT (owner) DO UPDATE SET until=EXCLUDED.until",
	[REC_POSTGRES_LEASE_GET] = "SELECT " LEASE_LEFT " FROM reconciler.leases l WHERE l.owner=$1",

	[REC_POSTGRES_BATCH_INSERT] =
		"INSERT INTO reconciler.batches(" BATCH_COLUMNS ") VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11) "
		"ON CONFLICT (batch_id) DO NOTHING RETURNING batch_id",
	[REC_POSTGRES_BATCH_GET] = "SELECT " BATCH_COLUMNS " FROM reconciler.batches WHERE batch_id=$1",
	[REC_POSTGRES_BATCH_UPDATE] = "UPDATE reconciler.batches SET status=$2,stop=$3,owner=$4,ended_at=$5,"
				      "skipped=$6,killed=$7,requeued=$8,errors=$9 WHERE batch_id=$1",
	[REC_POSTGRES_BATCH_LIST] = "SELECT " BATCH_COLUMNS " FROM reconciler.batches ORDER BY started_at,batch_id",
	[REC_POSTGRES_BATCH_TASK_PUT] =
		"INSERT INTO reconciler.batch_tasks(" BATCH_TASK_COLUMNS
		") SELECT b.batch_id,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12 "
		"FROM reconciler.batches b WHERE b.batch_id=$1 " BATCH_TASK_AGAIN " RETURNING batch_id",
	/* Where the batch is known to be there; without it, the reference is an error. */
	[REC_POSTGRES_BATCH_TASK_PUT_MORE] = "INSERT INTO reconciler.batch_tasks(" BATCH_TASK_COLUMNS
					     ") VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12) " BATCH_TASK_AGAIN,
	/* A batch without tasks gives one row with a task that is NULL. */
	[REC_POSTGRES_BATCH_TASK_LIST] =
		"SELECT t.task_id,t.position,t.phase,t.believed,t.reason,t.own,t.attempt,t.failures,t.again,t.lost,"
		"t.not_before_us FROM reconciler.batches b LEFT JOIN reconciler.batch_tasks t ON t.batch_id=b.batch_id "
		"WHERE b.batch_id=$1 ORDER BY t.position,t.task_id",

	[REC_POSTGRES_LINK_PUT] =
		"INSERT INTO reconciler.links AS l(task_id,url,implicit) VALUES($1,$2,false) "
		"ON CONFLICT (task_id,url) DO UPDATE SET implicit=false WHERE l.implicit RETURNING task_id",
	[REC_POSTGRES_LINK_REMOVE] = "DELETE FROM reconciler.links WHERE task_id=$1 AND NOT implicit "
				     "AND ($2::text IS NULL OR url=$2) RETURNING task_id",
	[REC_POSTGRES_LINK_OBSERVED] =
		"INSERT INTO reconciler.links(task_id,url,implicit,state,kind,reason,time,comments,moved_to,validator,"
		"observed_at,gone,made_done_at) SELECT $1,$2,true,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12 "
		"WHERE EXISTS(SELECT FROM reconciler.links WHERE task_id=$1 AND url=$2 AND NOT implicit) "
		"OR EXISTS(SELECT FROM reconciler.tasks WHERE id=$1 AND external_url=$2) "
		"ON CONFLICT (task_id,url) DO UPDATE SET state=$3,kind=$4,reason=$5,time=$6,comments=$7,moved_to=$8,"
		"validator=$9,observed_at=$10,gone=$11,made_done_at=$12 RETURNING task_id",
	[REC_POSTGRES_LINK_LIST] =
		"SELECT l.task_id AS id,l.url AS address,false," LINK_KNOWN "FROM reconciler.links l "
		"WHERE NOT l.implicit AND ($1::text IS NULL OR l.task_id=$1) UNION ALL "
		"SELECT t.id,t.external_url,true," LINK_KNOWN
		"FROM reconciler.tasks t LEFT JOIN reconciler.links l ON l.task_id=t.id AND l.url=t.external_url "
		"WHERE t.external_url IS NOT NULL AND l.implicit IS NOT FALSE AND ($1::text IS NULL OR t.id=$1) "
		"ORDER BY id,address",
	[REC_POSTGRES_LINK_PRUNE] =
		"DELETE FROM reconciler.links l WHERE NOT EXISTS(SELECT 1 FROM reconciler.tasks t WHERE t.id=l.task_id "
		"AND (NOT l.implicit OR t.external_url=l.url))",
	[REC_POSTGRES_CURSOR_PUT] = "INSERT INTO reconciler.cursors(tracker,key,value) VALUES($1,$2,$3) "
				    "ON CONFLICT (tracker,key) DO UPDATE SET value=$3",
	[REC_POSTGRES_CURSOR_FORGET] = "DELETE FROM reconciler.cursors WHERE tracker=$1 AND key=$2",
	[REC_POSTGRES_CURSOR_LIST] = "SELECT key,value FROM reconciler.cursors WHERE tracker=$1 ORDER BY key",

	/* $1: the cursor, $2: its generation. A row without a change tells where the feed stands. The limit lets the
	 * server read by the index, which without it would sort what it takes for a third of the feed. */
	[REC_POSTGRES_FEED_LOOK] =
		"SELECT f.generation,f.pruned,greatest(f.pruned,(SELECT max(seq) FROM "
		"reconciler.changes)),c.seq,c.task_id "
		"FROM reconciler.feed f LEFT JOIN (SELECT seq,task_id FROM reconciler.changes WHERE seq>$1 "
		"ORDER BY seq LIMIT 256) c ON f.generation=$2 AND f.pruned<=$1",
	[REC_POSTGRES_COUNTERS_PUT] = "UPDATE reconciler.counters SET claim_id=$1,event_seq=$2",
	[REC_POSTGRES_COMMIT] = "COMMIT",
	/* Whoever commits leaves the transactions that are under way, or moves their end. */
	[REC_POSTGRES_STAMP] = "SELECT hashtextextended(pg_current_snapshot()::text,0)",
	[REC_POSTGRES_GC_CHANGES] = "WITH d AS (DELETE FROM reconciler.changes WHERE time_us<$1 RETURNING seq),"
				    "u AS (UPDATE reconciler.feed f SET pruned=greatest(f.pruned,m.last) FROM (SELECT "
				    "max(seq) AS last FROM d) m "
				    "WHERE m.last IS NOT NULL) SELECT count(*) FROM d",
	[REC_POSTGRES_GC_EVENTS] = "WITH d AS (DELETE FROM reconciler.events WHERE time_us<$1 RETURNING seq),"
				   "l AS (DELETE FROM reconciler.leases WHERE extract(epoch FROM until)*1000000<$1) "
				   "SELECT count(*) FROM d",
	[REC_POSTGRES_GC_ATTEMPTS] = "WITH d AS (DELETE FROM reconciler.attempts a USING reconciler.tasks t "
				     "WHERE t.id=a.task_id AND t.attempt<>a.number AND a.ended_us<$1 RETURNING number) "
				     "SELECT count(*) FROM d",
	[REC_POSTGRES_GC_COUNT] =
		"SELECT (SELECT count(*) FROM reconciler.changes WHERE time_us<$1),"
		"(SELECT count(*) FROM reconciler.events WHERE time_us<$1),"
		"(SELECT count(*) FROM reconciler.attempts a JOIN reconciler.tasks t ON t.id=a.task_id "
		"WHERE t.attempt<>a.number AND a.ended_us<$1)",
	[REC_POSTGRES_PROBLEMS] =
		"SELECT w.kind,w.name FROM (VALUES('trigger','tasks_lock'),('trigger','tasks_note'),"
		"('trigger','tasks_note_update'),('trigger','tasks_truncate'),('trigger','blockers_lock'),('trigger','"
		"blockers_note'),('trigger','blockers_note_update'),('trigger','blockers_truncate'),"
		"('trigger','claims_lock'),('trigger','claims_note'),('trigger','batches_notify'),('index','tasks_"
		"parent'),('index','tasks_url'),"
		"('index','blockers_task')) "
		"AS w(kind,name) WHERE CASE w.kind WHEN 'trigger' THEN NOT EXISTS(SELECT FROM pg_catalog.pg_trigger g "
		"JOIN pg_catalog.pg_class c ON c.oid=g.tgrelid WHERE c.relnamespace='reconciler'::regnamespace "
		"AND g.tgname=w.name AND g.tgenabled IN ('O','A')) "
		"ELSE to_regclass('reconciler.'||w.name) IS NULL END ORDER BY 1,2",
};

const char *rec_postgres_sql(enum rec_postgres_query query)
{
	return texts[query];
}

const char *rec_postgres_query_name(enum rec_postgres_query query)
{
	static const char *const names[] = {
#define QUERY_NAME(name) [REC_POSTGRES_##name] = "reconciler_" #name,
		REC_POSTGRES_QUERIES(QUERY_NAME)
#undef QUERY_NAME
	};
	return names[query];
}
