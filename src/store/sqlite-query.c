/* sqlite-query.c - every SQL statement that is not DDL, prepared once each and kept.
 *
 * Parameters are always bound. Statements on codeframe's tables name the columns that there are: an older
 * database lacks some, and a NULL stands for each of those. Such texts are built when they are first needed,
 * and all statements are thrown away when the schema has changed.
 */
#include <string.h>

#include "store/sqlite.h"

#define RELEASED_STATUSES "('ANSWERED','RESOLVED')"
#define TASK_STATUSES "('BACKLOG','READY','IN_PROGRESS','BLOCKED','FAILED','DONE','MERGED')"
/* The attempt of the current claim, else the last one. */
#define LAST_ATTEMPT(id) "coalesce((SELECT attempt FROM rec_claims WHERE task_id=" id ")," LAST_ENDED(id) ")"
#define LAST_ENDED(id) "(SELECT max(attempt) FROM rec_attempts WHERE task_id=" id ")"

#define LEAF "(NOT EXISTS(SELECT 1 FROM tasks c WHERE c.parent_id=?1))"
#define EVENT_COLUMNS                                                                                                  \
	"time,event,batch_id,task_id,action,reason,source,current_status,external_status,believed,observation,detail," \
	"attempt,blockers_total,blockers_open,blockers_new,exit_code,exit_signal,survivors"
#define BATCH_COLUMNS "batch_id,options,started_at,status,stop_requested,owner,ended_at,skipped,killed,requeued,errors"
#define BATCH_TASK_COLUMNS "task_id,position,phase,believed,reason,own,attempt,failures,again,lost,not_before_us"
#define LINK_COLUMNS "state,kind,reason,time,comments,moved_to,validator,observed_at,gone,made_done_at"
#define NO_LINK_COLUMNS "NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL"
/* What somebody linked, of tasks that there are; and the addresses of tasks, with what is known of them. */
#define LINKS_EXPLICIT(of)                                                                                             \
	"SELECT task_id,url,0," LINK_COLUMNS " FROM rec_links l WHERE explicit AND "                                   \
	"EXISTS(SELECT 1 FROM tasks t WHERE t.id=l.task_id)" of
#define LINKS_IMPLICIT(of)                                                                                             \
	"SELECT t.id,t.external_url,1," LINK_COLUMNS " FROM tasks t LEFT JOIN rec_links l ON l.task_id=t.id AND "      \
	"l.url=t.external_url WHERE t.external_url>'' AND l.explicit IS NOT 1" of
#define LINKS_NEVER_SEEN(of)                                                                                           \
	"SELECT t.id,t.external_url,1," NO_LINK_COLUMNS " FROM tasks t WHERE t.external_url IS NOT NULL" of
#define CLAIM_COLUMNS "claim_id,task_id,attempt,batch_id,owner,claimed_at,run_id,child_owns_run"

static const char *const texts[REC_SQLITE_QUERY_COUNT] = {
	[REC_SQLITE_BEGIN] = "BEGIN",
	[REC_SQLITE_BEGIN_IMMEDIATE] = "BEGIN IMMEDIATE",
	[REC_SQLITE_COMMIT] = "COMMIT",
	[REC_SQLITE_ROLLBACK] = "ROLLBACK",
	[REC_SQLITE_SCHEMA_VERSION] = "PRAGMA schema_version",
	[REC_SQLITE_DATA_VERSION] = "PRAGMA data_version",
	[REC_SQLITE_PAGE_COUNT] = "PRAGMA page_count",

	[REC_SQLITE_TASK_ROWIDS] = "SELECT (SELECT min(rowid) FROM tasks),(SELECT max(rowid) FROM tasks)",
	[REC_SQLITE_TASK_COUNT] = "SELECT count(*) FROM tasks",
	[REC_SQLITE_STATUS_BY_ROWID] = "SELECT rowid,status FROM tasks",
	[REC_SQLITE_TASKS_UNRECOGNISED] =
		"SELECT id,status FROM tasks WHERE status IS NULL OR status NOT IN " TASK_STATUSES,
	[REC_SQLITE_BLOCKER_ROWIDS] = "SELECT (SELECT min(rowid) FROM blockers),(SELECT max(rowid) FROM blockers)",
	[REC_SQLITE_BLOCKERS_UNORDERED] = "SELECT task_id,status FROM blockers",
	[REC_SQLITE_BLOCKERS_OF_IDS] =
		"SELECT k.position,b.status FROM rec_ids k CROSS JOIN blockers b ON b.task_id=k.id",
	[REC_SQLITE_RELEASED_UNORDERED] =
		"SELECT r.task_id FROM rec_released r CROSS JOIN blockers b ON b.id=r.blocker_id "
		"WHERE b.task_id=r.task_id AND b.status IN " RELEASED_STATUSES
		" AND r.attempt=" LAST_ATTEMPT("r.task_id"),
	[REC_SQLITE_RELEASED_OF_IDS] =
		"SELECT k.position FROM rec_ids k CROSS JOIN rec_released r ON r.task_id=k.id CROSS JOIN blockers b "
		"ON b.id=r.blocker_id WHERE b.task_id=r.task_id AND b.status IN " RELEASED_STATUSES
		" AND r.attempt=" LAST_ATTEMPT("r.task_id"),
	[REC_SQLITE_ATTEMPTS_IN_ORDER] = "SELECT task_id,max(attempt) FROM rec_attempts GROUP BY task_id",
	[REC_SQLITE_CLAIMS_IN_ORDER] = "SELECT task_id,attempt FROM rec_claims ORDER BY task_id",
	[REC_SQLITE_ATTEMPTS_OF_IDS] =
		"SELECT k.position,(SELECT attempt FROM rec_claims WHERE task_id=k.id)," LAST_ENDED(
			"k.id") " FROM rec_ids k",

	[REC_SQLITE_TASK_FIND] = "SELECT id FROM tasks WHERE id>=?1 ORDER BY id",
	[REC_SQLITE_BLOCKER_FIND] = "SELECT id FROM blockers WHERE id>=?1 ORDER BY id",

	[REC_SQLITE_TASK_EXISTS] = "SELECT 1 FROM tasks WHERE id=?1",
	[REC_SQLITE_TASK_STATUS] = "SELECT status FROM tasks WHERE id=?1",
	[REC_SQLITE_TASK_DELETE] = "DELETE FROM tasks WHERE id=?1",
	[REC_SQLITE_TASK_CHILDREN] = "SELECT status,count(*) FROM tasks WHERE parent_id=?1 GROUP BY 1",
	[REC_SQLITE_TASK_MARK_COMPOSITE] = "UPDATE tasks SET is_leaf=" LEAF " WHERE id=?1 AND is_leaf IS NOT " LEAF,
	[REC_SQLITE_TASK_OF_URL] = "SELECT id FROM tasks WHERE workspace_id=?1 AND external_url=?2 AND id<>?3 LIMIT 1",
	[REC_SQLITE_PRD_ENSURE] = "INSERT INTO prds(id,workspace_id,content,created_at) SELECT ?1,?2,'',?3 "
				  "WHERE NOT EXISTS(SELECT 1 FROM prds WHERE id=?1)",
	[REC_SQLITE_BLOCKER_STATUS] = "SELECT status FROM blockers WHERE id=?1",
	[REC_SQLITE_BLOCKER_ANSWER] = "UPDATE blockers SET status='ANSWERED',answer=?2,answered_at=?3 WHERE id=?1",
	[REC_SQLITE_BLOCKER_RESOLVE] = "UPDATE blockers SET status='RESOLVED' WHERE id=?1",
	[REC_SQLITE_EVENT_INSERT] = "INSERT INTO rec_events(" EVENT_COLUMNS
				    ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19)",
	[REC_SQLITE_EVENT_LIST] = "SELECT " EVENT_COLUMNS ",seq FROM rec_events WHERE seq>?1 ORDER BY seq LIMIT ?2",

	[REC_SQLITE_CLAIM_OF_TASK] = "SELECT claim_id FROM rec_claims WHERE task_id=?1",
	[REC_SQLITE_CLAIM_GET] = "SELECT " CLAIM_COLUMNS " FROM rec_claims WHERE claim_id=?1",
	[REC_SQLITE_CLAIM_INSERT] = "INSERT INTO rec_claims(task_id,attempt,batch_id,owner,claimed_at,run_id,"
				    "child_owns_run) VALUES(?1,?2,?3,?4,?5,?6,?7)",
	[REC_SQLITE_CLAIM_DELETE] = "DELETE FROM rec_claims WHERE claim_id=?1",
	[REC_SQLITE_CLAIM_TAKE] = "UPDATE rec_claims SET owner=?3 WHERE claim_id=?1 AND owner IS ?2",
	[REC_SQLITE_CLAIM_LIST] = "SELECT " CLAIM_COLUMNS " FROM rec_claims ORDER BY claim_id",
	[REC_SQLITE_ATTEMPT_LAST] = "SELECT max(attempt) FROM rec_attempts WHERE task_id=?1",
	[REC_SQLITE_ATTEMPT_INSERT] =
		"INSERT OR REPLACE INTO rec_attempts(task_id,attempt,batch_id,claim_id,started_at,ended_at,"
		"outcome,exit_code,exit_signal,survivors) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
	[REC_SQLITE_ATTEMPT_ENSURE] =
		"INSERT OR IGNORE INTO rec_attempts(task_id,attempt,claim_id,started_at,ended_at) "
		"SELECT ?1,?2-1,0,'','' WHERE ?2>1",
	[REC_SQLITE_RELEASED_INSERT] =
		"INSERT OR REPLACE INTO rec_released(task_id,attempt,blocker_id) SELECT ?1,?2,id "
		"FROM blockers WHERE task_id=?1 AND status IN " RELEASED_STATUSES " AND id IS NOT NULL",
	[REC_SQLITE_RELEASED_FORGET] = "DELETE FROM rec_released WHERE task_id=?1 AND attempt=?2",
	[REC_SQLITE_RELEASED_FORGET_OLDER] = "DELETE FROM rec_released WHERE task_id=?1 AND attempt<?2",
	[REC_SQLITE_RUN_INSERT] = "INSERT INTO runs(id,workspace_id,task_id,status,started_at) "
				  "VALUES(?1,?2,?3,'RUNNING',?4)",
	[REC_SQLITE_RUN_CLOSE] = "UPDATE runs SET status=?2,completed_at=?3 WHERE id=?1 AND status='RUNNING'",
	[REC_SQLITE_RUN_CLOSE_LEFT] = "UPDATE runs SET status=?2,completed_at=?3 WHERE task_id=?1 AND status='RUNNING'",
	[REC_SQLITE_RUN_DELETE] = "DELETE FROM runs WHERE id=?1 AND status='RUNNING'",
	[REC_SQLITE_RUN_LIST] = "SELECT DISTINCT task_id FROM runs WHERE status='RUNNING' ORDER BY task_id",

	[REC_SQLITE_BATCH_EXISTS] = "SELECT 1 FROM rec_batches WHERE batch_id=?1",
	[REC_SQLITE_BATCH_GET] = "SELECT " BATCH_COLUMNS " FROM rec_batches WHERE batch_id=?1",
	[REC_SQLITE_BATCH_LIST] = "SELECT " BATCH_COLUMNS " FROM rec_batches ORDER BY started_at,batch_id",
	[REC_SQLITE_BATCH_INSERT] =
		"INSERT INTO rec_batches(" BATCH_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
	[REC_SQLITE_BATCH_UPDATE] = "UPDATE rec_batches SET status=?4,stop_requested=?5,owner=?6,ended_at=?7,"
				    "skipped=?8,killed=?9,requeued=?10,errors=?11 WHERE batch_id=?1",
	[REC_SQLITE_BATCH_TASK_UPDATE] =
		"UPDATE rec_batch_tasks SET phase=?3,believed=?4,reason=?5,own=?6,attempt=?7,failures=?8,again=?9,"
		"lost=?10,not_before_us=?11 WHERE batch_id=?12 AND task_id=?1",
	[REC_SQLITE_BATCH_TASK_INSERT] = "INSERT INTO rec_batch_tasks(" BATCH_TASK_COLUMNS
					 ",batch_id) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
	[REC_SQLITE_BATCH_TASK_LIST] =
		"SELECT " BATCH_TASK_COLUMNS " FROM rec_batch_tasks WHERE batch_id=?1 ORDER BY position,task_id",
	[REC_SQLITE_BATCH_RUN_GET] = "SELECT task_ids,results FROM batch_runs WHERE id=?1",

	[REC_SQLITE_LINK_GET] = "SELECT explicit FROM rec_links WHERE task_id=?1 AND url=?2",
	[REC_SQLITE_LINK_PUT] = "INSERT INTO rec_links(task_id,url,explicit) VALUES(?1,?2,1) "
				"ON CONFLICT(task_id,url) DO UPDATE SET explicit=1",
	[REC_SQLITE_LINK_REMOVE] = "DELETE FROM rec_links WHERE task_id=?1 AND url=?2 AND explicit",
	[REC_SQLITE_LINK_REMOVE_ALL] = "DELETE FROM rec_links WHERE task_id=?1 AND explicit",
	[REC_SQLITE_LINK_OBSERVED] =
		"INSERT INTO rec_links(task_id,url,explicit," LINK_COLUMNS
		") VALUES(?1,?2,0,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12) ON CONFLICT(task_id,url) DO UPDATE SET state=?3,"
		"kind=?4,reason=?5,time=?6,comments=?7,moved_to=?8,validator=?9,observed_at=?10,gone=?11,made_done_at=?"
		"12",
	[REC_SQLITE_LINK_EXTERNAL] = "SELECT 1 FROM tasks WHERE id=?1 AND external_url=?2",
	[REC_SQLITE_LINK_LIST] = LINKS_EXPLICIT("") " UNION ALL " LINKS_IMPLICIT("") " ORDER BY 1,2",
	[REC_SQLITE_LINK_LIST_OF_TASK] =
		LINKS_EXPLICIT(" AND task_id=?1") " UNION ALL " LINKS_IMPLICIT(" AND t.id=?1") " ORDER BY 1,2",
	[REC_SQLITE_LINK_LIST_EXPLICIT] = LINKS_EXPLICIT("") " ORDER BY 1,2",
	[REC_SQLITE_LINK_LIST_EXPLICIT_OF_TASK] = LINKS_EXPLICIT(" AND task_id=?1") " ORDER BY 1,2",
	[REC_SQLITE_LINK_LIST_IMPLICIT] = LINKS_NEVER_SEEN("") " ORDER BY 1,2",
	[REC_SQLITE_LINK_LIST_IMPLICIT_OF_TASK] = LINKS_NEVER_SEEN(" AND t.id=?1"),
	[REC_SQLITE_LINK_PRUNE] = "DELETE FROM rec_links WHERE NOT EXISTS(SELECT 1 FROM tasks t WHERE t.id=task_id "
				  "AND (explicit OR t.external_url=url))",
	[REC_SQLITE_LINK_PRUNE_EXPLICIT] = "DELETE FROM rec_links WHERE NOT explicit OR "
					   "NOT EXISTS(SELECT 1 FROM tasks t WHERE t.id=task_id)",
	[REC_SQLITE_CURSOR_PUT] = "INSERT OR REPLACE INTO rec_cursors(tracker,key,value) VALUES(?1,?2,?3)",
	[REC_SQLITE_CURSOR_FORGET] = "DELETE FROM rec_cursors WHERE tracker=?1 AND key=?2",
	[REC_SQLITE_CURSOR_LIST] = "SELECT key,value FROM rec_cursors WHERE tracker=?1 ORDER BY key",

	[REC_SQLITE_CHANGE_INSERT] = "INSERT INTO rec_changes(task_id) VALUES(?1)",
	[REC_SQLITE_CHANGE_LAST] = "SELECT max(seq) FROM rec_changes",
	[REC_SQLITE_CHANGE_LIST] = "SELECT seq,task_id FROM rec_changes WHERE seq>=?1 ORDER BY seq",
	[REC_SQLITE_MARK_LAST] = "SELECT max(at) FROM rec_marks",
	[REC_SQLITE_MARK_INSERT] = "INSERT OR REPLACE INTO rec_marks(at,seq) SELECT ?1,max(seq) FROM rec_changes",
	[REC_SQLITE_MARK_BEFORE] = "SELECT max(seq) FROM rec_marks WHERE at<?1",
	[REC_SQLITE_MARK_PRUNE] = "DELETE FROM rec_marks WHERE at<?1",
	[REC_SQLITE_CHANGE_COUNT] = "SELECT count(*) FROM rec_changes WHERE seq<=?1",
	[REC_SQLITE_CHANGE_PRUNE] = "DELETE FROM rec_changes WHERE seq<=?1",
	[REC_SQLITE_EVENT_TIMES] = "SELECT seq,time FROM rec_events ORDER BY seq",
	[REC_SQLITE_EVENT_PRUNE] = "DELETE FROM rec_events WHERE seq BETWEEN ?1 AND ?2",
	[REC_SQLITE_ATTEMPT_ENDS] =
		"SELECT task_id,attempt,ended_at FROM rec_attempts a WHERE attempt<" LAST_ATTEMPT("a.task_id"),
	[REC_SQLITE_ATTEMPT_PRUNE] = "DELETE FROM rec_attempts WHERE task_id=?1 AND attempt=?2",
};

/* ---- Texts that depend on the columns there are ---- */

static void add_task_columns(struct rec_buffer *out, const struct rec_sqlite *s, uint64_t wanted)
{
	for (unsigned i = 0; i < REC_SQLITE_TASK_workspace_id; i++) {
		bool there = wanted & s->schema.task_columns & REC_SQLITE_BIT(i);
		rec_buffer_printf(out, "%s%s%s", i ? "," : "", there ? "t." : "",
				  there ? rec_sqlite_task_column_name(i) : "NULL");
	}
}

/* The live facts follow the columns of the table. */
static void add_task_select(struct rec_buffer *out, const struct rec_sqlite *s, uint64_t wanted, bool live)
{
	rec_buffer_add_text(out, "SELECT ");
	add_task_columns(out, s, wanted);
	if (live && rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_claims) &&
	    rec_sqlite_has_table(s, REC_SQLITE_TABLE_rec_attempts))
		rec_buffer_add_text(out, ",(SELECT attempt FROM rec_claims WHERE task_id=t.id)," LAST_ENDED("t.id"));
	else
		rec_buffer_add_text(out, ",NULL,NULL");
	rec_buffer_add_text(out, " FROM tasks t");
}

static void add_blocker_select(struct rec_buffer *out, const struct rec_sqlite *s)
{
	for (unsigned i = 0; i < REC_SQLITE_BLOCKER_workspace_id; i++) {
		bool there = s->schema.blocker_columns & REC_SQLITE_BIT(i);
		rec_buffer_printf(out, "%s%s", i ? "," : "SELECT ", there ? rec_sqlite_blocker_column_name(i) : "NULL");
	}
	rec_buffer_add_text(out, " FROM blockers");
}

/* "INSERT INTO table(those columns that there are) VALUES(?1,?4,...)", each parameter numbered by its column. */
static void add_insert(struct rec_buffer *out, const char *table, uint64_t there, unsigned count,
		       const char *(*name_of)(unsigned))
{
	const char *comma = "(";
	rec_buffer_printf(out, "INSERT INTO %s", table);
	for (unsigned i = 0; i < count; i++)
		if (there & REC_SQLITE_BIT(i)) {
			rec_buffer_printf(out, "%s%s", comma, name_of(i));
			comma = ",";
		}
	comma = ") VALUES(";
	for (unsigned i = 0; i < count; i++)
		if (there & REC_SQLITE_BIT(i)) {
			rec_buffer_printf(out, "%s?%u", comma, i + 1);
			comma = ",";
		}
	rec_buffer_add_text(out, ")");
}

static const char *task_column_name(unsigned column)
{
	return rec_sqlite_task_column_name(column);
}

static const char *blocker_column_name(unsigned column)
{
	return rec_sqlite_blocker_column_name(column);
}

static const char *task_column_or_null(const struct rec_sqlite *s, enum rec_sqlite_task_column column)
{
	return s->schema.task_columns & REC_SQLITE_BIT(column) ? rec_sqlite_task_column_name(column) : "NULL";
}

static const char *updated_at_set(const struct rec_sqlite *s)
{
	return s->schema.task_columns & REC_SQLITE_BIT(REC_SQLITE_TASK_updated_at) ? ",updated_at=?3" : "";
}

static void build_tasks(const struct rec_sqlite *s, enum rec_sqlite_query query, struct rec_buffer *out)
{
	const char *rowid = s->schema.tasks_by_rowid ? "rowid" : "0";
	const char *priority = task_column_or_null(s, REC_SQLITE_TASK_priority);
	const char *is_leaf = task_column_or_null(s, REC_SQLITE_TASK_is_leaf);
	switch (query) {
	case REC_SQLITE_IDS_FROM:
		rec_buffer_printf(out, "SELECT %s,id FROM tasks WHERE id>=?1 ORDER BY id", rowid);
		break;
	case REC_SQLITE_IDS_IN_ORDER:
		rec_buffer_printf(out, "SELECT %s,id FROM tasks ORDER BY id", rowid);
		break;
	case REC_SQLITE_TASKS_UNORDERED:
		rec_buffer_printf(out, "SELECT id,status,%s,%s FROM tasks", priority, is_leaf);
		break;
	case REC_SQLITE_TASKS_OF_IDS:
		rec_buffer_printf(out,
				  "SELECT k.position,t.status,%s,%s FROM rec_ids k CROSS JOIN tasks t ON t.id=k.id",
				  priority, is_leaf);
		break;
	case REC_SQLITE_TASK_PARENT:
		rec_buffer_printf(out, "SELECT %s,status FROM tasks WHERE id=?1",
				  task_column_or_null(s, REC_SQLITE_TASK_parent_id));
		break;
	case REC_SQLITE_TASK_SET_STATUS:
		rec_buffer_printf(out, "UPDATE tasks SET status=?2%s WHERE id=?1 AND status=?4", updated_at_set(s));
		break;
	case REC_SQLITE_TASK_SET_UNRECOGNISED:
		rec_buffer_printf(
			out,
			"UPDATE tasks SET status=?2%s WHERE id=?1 AND (status IS NULL OR status NOT IN " TASK_STATUSES
			")",
			updated_at_set(s));
		break;
	case REC_SQLITE_TASK_INSERT:
		add_insert(out, "tasks", s->schema.task_columns, REC_SQLITE_TASK_COLUMN_COUNT, task_column_name);
		break;
	default:
		break;
	}
}

static void build_lists(const struct rec_sqlite *s, enum rec_sqlite_query query, struct rec_buffer *out)
{
	bool brief = query == REC_SQLITE_TASK_BRIEF_LIST || query == REC_SQLITE_TASK_BRIEF_LIST_AFTER;
	uint64_t every = ~UINT64_C(0), wanted = brief ? REC_SQLITE_TASK_BRIEF : every;
	switch (query) {
	case REC_SQLITE_TASK_GET:
		add_task_select(out, s, every, true);
		rec_buffer_add_text(out, " WHERE t.id=?1");
		break;
	case REC_SQLITE_TASK_LIST:
	case REC_SQLITE_TASK_BRIEF_LIST:
		add_task_select(out, s, wanted, !brief);
		rec_buffer_add_text(out, " ORDER BY t.id");
		break;
	case REC_SQLITE_TASK_LIST_AFTER:
	case REC_SQLITE_TASK_BRIEF_LIST_AFTER:
		add_task_select(out, s, wanted, !brief);
		rec_buffer_add_text(out, " WHERE t.id>?1 ORDER BY t.id");
		break;
	case REC_SQLITE_BLOCKER_GET:
		add_blocker_select(out, s);
		rec_buffer_add_text(out, " WHERE id=?1");
		break;
	case REC_SQLITE_BLOCKER_LIST:
		add_blocker_select(out, s);
		rec_buffer_add_text(out, " ORDER BY created_at,id");
		break;
	case REC_SQLITE_BLOCKERS_OF_TASK:
		add_blocker_select(out, s);
		rec_buffer_add_text(out, " WHERE task_id=?1 ORDER BY created_at,id");
		break;
	case REC_SQLITE_BLOCKERS_BY_TASK:
		add_blocker_select(out, s);
		rec_buffer_add_text(out, " WHERE task_id>=?1 ORDER BY task_id,created_at,id");
		break;
	case REC_SQLITE_BLOCKER_INSERT:
		add_insert(out, "blockers", s->schema.blocker_columns, REC_SQLITE_BLOCKER_COLUMN_COUNT,
			   blocker_column_name);
		break;
	default:
		build_tasks(s, query, out);
	}
}

/* ---- Preparing ---- */

#define QUERY_BYTES_MAX 4096u

static int prepare(struct rec_sqlite *s, const char *text, unsigned flags, sqlite3_stmt **ret_statement,
		   struct rec_error *error)
{
	int rc = sqlite3_prepare_v3(s->db, text, -1, flags, ret_statement, NULL);
	return rc == SQLITE_OK ? 0 : rec_sqlite_fail(s, rc, text, error);
}

int rec_sqlite_prepare(struct rec_sqlite *s, const char *text, sqlite3_stmt **ret_statement, struct rec_error *error)
{
	s->bind_failed = SQLITE_OK;
	return prepare(s, text, 0, ret_statement, error);
}

static int prepare_built(struct rec_sqlite *s, enum rec_sqlite_query query, sqlite3_stmt **ret_statement,
			 struct rec_error *error)
{
	struct rec_buffer text;
	rec_buffer_init(&text, s->base.allocator, QUERY_BYTES_MAX);
	build_lists(s, query, &text);
	int r;
	if (text.failed)
		r = text.failed == REC_E_NOMEM ? rec_fail_nomem(error)
					       : rec_fail(error, REC_E_BUG, "a query is too long (please report)");
	else
		r = prepare(s, text.data, SQLITE_PREPARE_PERSISTENT, ret_statement, error);
	rec_buffer_release(&text);
	return r;
}

int rec_sqlite_query(struct rec_sqlite *s, enum rec_sqlite_query query, sqlite3_stmt **ret_statement,
		     struct rec_error *error)
{
	sqlite3_stmt **kept = &s->queries[query];
	int r = 0;
	s->bind_failed = SQLITE_OK;
	if (*kept) {
		sqlite3_reset(*kept);
		sqlite3_clear_bindings(*kept);
	} else if (texts[query]) {
		r = prepare(s, texts[query], SQLITE_PREPARE_PERSISTENT, kept, error);
	} else {
		r = prepare_built(s, query, kept, error);
	}
	*ret_statement = *kept;
	return r;
}

int rec_sqlite_queries_begin(struct rec_sqlite *s, struct rec_error *error)
{
	sqlite3_stmt *statement;
	int r = 0;
	for (int i = 0; r == 0 && i < REC_SQLITE_SCHEMA_VERSION; i++)
		r = rec_sqlite_query(s, (enum rec_sqlite_query)i, &statement, error);
	return r;
}

void rec_sqlite_queries_finalize(struct rec_sqlite *s, bool all)
{
	for (size_t i = all ? 0 : REC_SQLITE_SCHEMA_VERSION; i < REC_SQLITE_QUERY_COUNT; i++) {
		sqlite3_finalize(s->queries[i]);
		s->queries[i] = NULL;
	}
}

/* ---- Running ---- */

int rec_sqlite_next(struct rec_sqlite *s, sqlite3_stmt *statement, struct rec_error *error)
{
	int rc = s->bind_failed == SQLITE_OK ? sqlite3_step(statement) : s->bind_failed;
	if (rc == SQLITE_ROW)
		return 0;
	int r = rc == SQLITE_DONE ? REC_END : rec_sqlite_fail(s, rc, sqlite3_sql(statement), error);
	sqlite3_reset(statement);
	return r;
}

int rec_sqlite_run(struct rec_sqlite *s, sqlite3_stmt *statement, struct rec_error *error)
{
	int r;
	do
		r = rec_sqlite_next(s, statement, error);
	while (r == 0);
	return r == REC_END ? 0 : r;
}

int rec_sqlite_run_int64(struct rec_sqlite *s, sqlite3_stmt *statement, int64_t *ret_value, struct rec_error *error)
{
	int r = rec_sqlite_next(s, statement, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	*ret_value = sqlite3_column_int64(statement, 0);
	sqlite3_reset(statement);
	return 0;
}

int rec_sqlite_do(struct rec_sqlite *s, enum rec_sqlite_query query, struct rec_error *error)
{
	sqlite3_stmt *statement;
	int r = rec_sqlite_query(s, query, &statement, error);
	return r == 0 ? rec_sqlite_run(s, statement, error) : r;
}

int rec_sqlite_settle(struct rec_sqlite *s, struct rec_error *error)
{
	if (!s->db || s->in_group || sqlite3_get_autocommit(s->db))
		return 0;
	int r = rec_sqlite_do(s, REC_SQLITE_ROLLBACK, error);
	return sqlite3_get_autocommit(s->db) ? 0 : r;
}

int rec_sqlite_execute(struct rec_sqlite *s, const char *text, struct rec_error *error)
{
	int rc = sqlite3_exec(s->db, text, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : rec_sqlite_fail(s, rc, NULL, error);
}

/* ---- Binding and columns ---- */

static void bound(struct rec_sqlite *s, int rc)
{
	if (s->bind_failed == SQLITE_OK)
		s->bind_failed = rc;
}

void rec_sqlite_bind_text(struct rec_sqlite *s, sqlite3_stmt *statement, int index, struct rec_slice text)
{
	if (text.data)
		bound(s, sqlite3_bind_text64(statement, index, text.data, text.length, SQLITE_STATIC, SQLITE_UTF8));
	else
		bound(s, sqlite3_bind_null(statement, index));
}

void rec_sqlite_bind_int64(struct rec_sqlite *s, sqlite3_stmt *statement, int index, int64_t value)
{
	bound(s, sqlite3_bind_int64(statement, index, value));
}

void rec_sqlite_bind_optional(struct rec_sqlite *s, sqlite3_stmt *statement, int index, bool has, int64_t value)
{
	bound(s, has ? sqlite3_bind_int64(statement, index, value) : sqlite3_bind_null(statement, index));
}

void rec_sqlite_bind_now(struct rec_sqlite *s, sqlite3_stmt *statement, int index, char buffer[REC_TIMESTAMP_BYTES])
{
	rec_sqlite_bind_text(s, statement, index, rec_store_now(&s->base, buffer));
}

/* One sqlite3_column_value and then the cheap sqlite3_value functions: they may be used so as long as a connection
 * belongs to one thread. */
struct rec_slice rec_sqlite_column(sqlite3_stmt *statement, int column)
{
	sqlite3_value *value = sqlite3_column_value(statement, column);
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return (struct rec_slice){0};
	const char *text = (const char *)sqlite3_value_text(value);
	return (struct rec_slice){text, text ? (size_t)sqlite3_value_bytes(value) : 0};
}

struct rec_slice rec_sqlite_text(sqlite3_stmt *statement, int column)
{
	sqlite3_value *value = sqlite3_column_value(statement, column);
	if (sqlite3_value_type(value) != SQLITE_TEXT)
		return (struct rec_slice){0};
	const char *text = (const char *)sqlite3_value_text(value);
	return (struct rec_slice){text, text ? (size_t)sqlite3_value_bytes(value) : 0};
}
