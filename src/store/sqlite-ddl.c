/* sqlite-ddl.c - everything that `init` makes, in one place: codeframe's schema for a new store, our tables, our
 * triggers and indexes.
 *
 * A trigger of ours may never be the reason why somebody else's write fails. So each one only appends to
 * rec_changes, a table without any constraint that a value could break; none names another table of theirs
 * (renaming or rebuilding that table would fail), and each column has a trigger of its own, made only where the
 * column is. The texts are compared word for word with what sqlite_schema holds.
 */
#include "store/sqlite.h"

/* Those tables of codeframe's schema that this program reads or writes, as its version 5 has them. The other tables
 * and user_version are left to codeframe: opening a database with a lower version it makes what is missing
 * itself, whereas a 5 would tell it that nothing is. A check of more than two words is written with OR where codeframe
 * has IN: SQLite fills a table with the list of an IN each time a row is checked, which costs more than the row. */
const char rec_sqlite_ddl_codeframe[] =
	"CREATE TABLE workspace (\n"
	"  id TEXT PRIMARY KEY,\n"
	"  repo_path TEXT NOT NULL,\n"
	"  tech_stack TEXT,\n"
	"  created_at TEXT NOT NULL,\n"
	"  updated_at TEXT NOT NULL\n"
	");\n"
	"CREATE TABLE prds (\n"
	"  id TEXT PRIMARY KEY,\n"
	"  workspace_id TEXT NOT NULL,\n"
	"  title TEXT,\n"
	"  content TEXT NOT NULL,\n"
	"  metadata TEXT,\n"
	"  created_at TEXT NOT NULL,\n"
	"  version INTEGER DEFAULT 1,\n"
	"  parent_id TEXT,\n"
	"  change_summary TEXT,\n"
	"  chain_id TEXT,\n"
	"  depends_on TEXT,\n"
	"  FOREIGN KEY (workspace_id) REFERENCES workspace(id),\n"
	"  FOREIGN KEY (parent_id) REFERENCES prds(id),\n"
	"  FOREIGN KEY (chain_id) REFERENCES prds(id)\n"
	");\n"
	"CREATE TABLE tasks (\n"
	"  id TEXT PRIMARY KEY,\n"
	"  workspace_id TEXT NOT NULL,\n"
	"  prd_id TEXT,\n"
	"  title TEXT NOT NULL,\n"
	"  description TEXT,\n"
	"  status TEXT NOT NULL DEFAULT 'BACKLOG',\n"
	"  priority INTEGER DEFAULT 0,\n"
	"  depends_on TEXT DEFAULT '[]',\n"
	"  estimated_hours REAL,\n"
	"  complexity_score INTEGER CHECK(complexity_score IS NULL OR (complexity_score BETWEEN 1 AND 5)),\n"
	"  uncertainty_level TEXT CHECK(uncertainty_level IS NULL OR uncertainty_level IN ('low', 'medium', 'high')),\n"
	"  parent_id TEXT,\n"
	"  lineage TEXT DEFAULT '[]',\n"
	"  is_leaf INTEGER DEFAULT 1,\n"
	"  hierarchical_id TEXT,\n"
	"  created_at TEXT NOT NULL,\n"
	"  updated_at TEXT NOT NULL,\n"
	"  github_issue_number INTEGER,\n"
	"  requirement_ids TEXT DEFAULT '[]',\n"
	"  external_url TEXT,\n"
	"  auto_close_github_issue INTEGER DEFAULT 0,\n"
	"  FOREIGN KEY (workspace_id) REFERENCES workspace(id),\n"
	"  FOREIGN KEY (prd_id) REFERENCES prds(id),\n"
	"  CHECK (status='BACKLOG' OR status='READY' OR status='IN_PROGRESS' OR status='BLOCKED' OR\n"
	"    status='FAILED' OR status='DONE' OR status='MERGED')\n"
	");\n"
	"CREATE TABLE events (\n"
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,\n"
	"  workspace_id TEXT NOT NULL,\n"
	"  event_type TEXT NOT NULL,\n"
	"  payload TEXT,\n"
	"  created_at TEXT NOT NULL,\n"
	"  FOREIGN KEY (workspace_id) REFERENCES workspace(id)\n"
	");\n"
	"CREATE TABLE blockers (\n"
	"  id TEXT PRIMARY KEY,\n"
	"  workspace_id TEXT NOT NULL,\n"
	"  task_id TEXT,\n"
	"  question TEXT NOT NULL,\n"
	"  answer TEXT,\n"
	"  status TEXT NOT NULL DEFAULT 'OPEN',\n"
	"  created_at TEXT NOT NULL,\n"
	"  answered_at TEXT,\n"
	"  created_by TEXT NOT NULL DEFAULT 'human',\n"
	"  FOREIGN KEY (workspace_id) REFERENCES workspace(id),\n"
	"  FOREIGN KEY (task_id) REFERENCES tasks(id),\n"
	"  CHECK (status='OPEN' OR status='ANSWERED' OR status='RESOLVED'),\n"
	"  CHECK (created_by='system' OR created_by='agent' OR created_by='human')\n"
	");\n"
	"CREATE TABLE runs (\n"
	"  id TEXT PRIMARY KEY,\n"
	"  workspace_id TEXT NOT NULL,\n"
	"  task_id TEXT NOT NULL,\n"
	"  status TEXT NOT NULL DEFAULT 'RUNNING',\n"
	"  started_at TEXT NOT NULL,\n"
	"  completed_at TEXT,\n"
	"  FOREIGN KEY (workspace_id) REFERENCES workspace(id),\n"
	"  FOREIGN KEY (task_id) REFERENCES tasks(id),\n"
	"  CHECK (status='RUNNING' OR status='COMPLETED' OR status='FAILED' OR status='BLOCKED')\n"
	");\n"
	"CREATE TABLE batch_runs (\n"
	"  id TEXT PRIMARY KEY,\n"
	"  workspace_id TEXT NOT NULL,\n"
	"  task_ids TEXT NOT NULL,\n"
	"  status TEXT NOT NULL DEFAULT 'PENDING',\n"
	"  strategy TEXT NOT NULL DEFAULT 'serial',\n"
	"  max_parallel INTEGER NOT NULL DEFAULT 4,\n"
	"  on_failure TEXT NOT NULL DEFAULT 'continue',\n"
	"  started_at TEXT NOT NULL,\n"
	"  completed_at TEXT,\n"
	"  results TEXT,\n"
	"  engine TEXT NOT NULL DEFAULT 'plan',\n"
	"  isolation TEXT NOT NULL DEFAULT 'none',\n"
	"  stall_timeout_s INTEGER NOT NULL DEFAULT 300,\n"
	"  stall_action TEXT NOT NULL DEFAULT 'blocker',\n"
	"  concurrency_by_status TEXT,\n"
	"  llm_provider TEXT,\n"
	"  llm_model TEXT,\n"
	"  config_reloads TEXT,\n"
	"  cloud_timeout_minutes INTEGER NOT NULL DEFAULT 30,\n"
	"  FOREIGN KEY (workspace_id) REFERENCES workspace(id),\n"
	"  CHECK (status='PENDING' OR status='RUNNING' OR status='COMPLETED' OR status='PARTIAL' OR\n"
	"    status='FAILED' OR status='CANCELLED')\n"
	");\n"
	"CREATE INDEX idx_tasks_workspace ON tasks(workspace_id);\n"
	"CREATE INDEX idx_tasks_status ON tasks(status);\n"
	"CREATE UNIQUE INDEX idx_tasks_external_url ON tasks(workspace_id, external_url);\n"
	"CREATE INDEX idx_events_workspace ON events(workspace_id);\n"
	"CREATE INDEX idx_blockers_workspace ON blockers(workspace_id);\n"
	"CREATE INDEX idx_blockers_status ON blockers(status);\n"
	"CREATE INDEX idx_batch_runs_workspace ON batch_runs(workspace_id);\n"
	"CREATE INDEX idx_batch_runs_status ON batch_runs(status);\n"
	"CREATE INDEX idx_prds_parent ON prds(parent_id);\n"
	"CREATE INDEX idx_prds_chain ON prds(chain_id);\n"
	"CREATE INDEX idx_prds_depends_on ON prds(depends_on);\n";

/* No foreign key leads from ours to theirs: it would break their delete. */
const char rec_sqlite_ddl_ours[] =
	/* schema_version, feed_id */
	"CREATE TABLE IF NOT EXISTS rec_meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	/* which task may have changed, in order; written by the triggers */
	"CREATE TABLE IF NOT EXISTS rec_changes(seq INTEGER PRIMARY KEY AUTOINCREMENT, task_id);"
	/* up to which seq the feed went at a time (microseconds since 1970), for pruning it by age */
	"CREATE TABLE IF NOT EXISTS rec_marks(at INTEGER PRIMARY KEY, seq INTEGER);"
	/* the audit log */
	"CREATE TABLE IF NOT EXISTS rec_events(seq INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL,"
	"  event TEXT NOT NULL, batch_id TEXT, task_id TEXT, attempt INTEGER, action TEXT, reason TEXT, source TEXT,"
	"  current_status TEXT, external_status TEXT, believed TEXT, blockers_total INTEGER, blockers_open INTEGER,"
	"  blockers_new INTEGER, observation TEXT, exit_code INTEGER, exit_signal INTEGER, survivors INTEGER,"
	"  detail TEXT);"
	/* the right to run one attempt, at most one a task */
	"CREATE TABLE IF NOT EXISTS rec_claims(claim_id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  task_id TEXT NOT NULL UNIQUE, attempt INTEGER NOT NULL, batch_id TEXT, owner TEXT,"
	"  claimed_at TEXT NOT NULL, run_id TEXT, child_owns_run INTEGER NOT NULL);"
	/* attempts that have ended */
	"CREATE TABLE IF NOT EXISTS rec_attempts(task_id TEXT NOT NULL, attempt INTEGER NOT NULL, batch_id TEXT,"
	"  claim_id INTEGER NOT NULL, started_at TEXT NOT NULL, ended_at TEXT NOT NULL, outcome TEXT,"
	"  exit_code INTEGER, exit_signal INTEGER, survivors INTEGER, PRIMARY KEY(task_id, attempt)) WITHOUT ROWID;"
	/* which blockers were released when an attempt was claimed; kept for the last two attempts of a task */
	"CREATE TABLE IF NOT EXISTS rec_released(task_id TEXT NOT NULL, attempt INTEGER NOT NULL,"
	"  blocker_id TEXT NOT NULL, PRIMARY KEY(task_id, attempt, blocker_id)) WITHOUT ROWID;"
	/* batches; stop_requested is NULL, 'drain' or 'force' */
	"CREATE TABLE IF NOT EXISTS rec_batches(batch_id TEXT PRIMARY KEY, options TEXT, started_at TEXT NOT NULL,"
	"  status TEXT NOT NULL, stop_requested TEXT, owner TEXT, ended_at TEXT, skipped INTEGER NOT NULL,"
	"  killed INTEGER NOT NULL, requeued INTEGER NOT NULL, errors INTEGER NOT NULL) WITHOUT ROWID;"
	/* what a batch durably knows of its tasks; not_before_us is 0 or a time in microseconds since 1970 */
	"CREATE TABLE IF NOT EXISTS rec_batch_tasks(batch_id TEXT NOT NULL, task_id TEXT NOT NULL,"
	"  position INTEGER NOT NULL, phase TEXT NOT NULL, believed TEXT, reason TEXT, own INTEGER NOT NULL,"
	"  attempt INTEGER NOT NULL, failures INTEGER NOT NULL, again INTEGER NOT NULL, lost INTEGER NOT NULL,"
	"  not_before_us INTEGER NOT NULL, PRIMARY KEY(batch_id, task_id)) WITHOUT ROWID;"
	/* ties to trackers, and what is known of them; explicit = 0: only of a task's external_url */
	"CREATE TABLE IF NOT EXISTS rec_links(task_id TEXT NOT NULL, url TEXT NOT NULL, explicit INTEGER NOT NULL,"
	"  state TEXT, kind TEXT, reason TEXT, time TEXT, comments INTEGER, moved_to TEXT, validator TEXT,"
	"  observed_at TEXT, gone INTEGER NOT NULL DEFAULT 0, made_done_at TEXT,"
	"  PRIMARY KEY(task_id, url)) WITHOUT ROWID;"
	/* what the helper of a tracker wants to be given back */
	"CREATE TABLE IF NOT EXISTS rec_cursors(tracker TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,"
	"  PRIMARY KEY(tracker, key)) WITHOUT ROWID;";

/* ---- Triggers ---- */

#define ON(name, event, table, when, ids)                                                                              \
	"CREATE TRIGGER " name " AFTER " event " ON " table when " BEGIN INSERT INTO rec_changes(task_id) VALUES" ids  \
	"; END"
#define DIFFERS(column) " WHEN OLD." column " IS NOT NEW." column

#define TASK_TRIGGER(trigger, event, column, when, ids)                                                                \
	{                                                                                                              \
		.name = trigger, .table = "tasks", .task_columns = REC_SQLITE_BIT(REC_SQLITE_TASK_##column),           \
		.sql = ON(trigger, event, "tasks", when, ids)                                                          \
	}
#define BLOCKER_TRIGGER(trigger, event, column, when, ids)                                                             \
	{                                                                                                              \
		.name = trigger, .table = "blockers",                                                                  \
		.blocker_columns =                                                                                     \
			REC_SQLITE_BIT(REC_SQLITE_BLOCKER_task_id) | REC_SQLITE_BIT(REC_SQLITE_BLOCKER_##column),      \
		.sql = ON(trigger, event, "blockers", when, ids)                                                       \
	}

const struct rec_sqlite_trigger rec_sqlite_triggers[] = {
	TASK_TRIGGER("rec_on_task_insert", "INSERT", id, "", "(NEW.id)"),
	TASK_TRIGGER("rec_on_task_delete", "DELETE", id, "", "(OLD.id)"),
	TASK_TRIGGER("rec_on_task_id", "UPDATE OF id", id, DIFFERS("id"), "(OLD.id),(NEW.id)"),
	TASK_TRIGGER("rec_on_task_status", "UPDATE OF status", status, DIFFERS("status"), "(NEW.id)"),
	TASK_TRIGGER("rec_on_task_priority", "UPDATE OF priority", priority, DIFFERS("priority"), "(NEW.id)"),
	TASK_TRIGGER("rec_on_task_depends_on", "UPDATE OF depends_on", depends_on, DIFFERS("depends_on"), "(NEW.id)"),
	TASK_TRIGGER("rec_on_task_is_leaf", "UPDATE OF is_leaf", is_leaf, DIFFERS("is_leaf"), "(NEW.id)"),
	BLOCKER_TRIGGER("rec_on_blocker_insert", "INSERT", task_id, "", "(NEW.task_id)"),
	BLOCKER_TRIGGER("rec_on_blocker_delete", "DELETE", task_id, "", "(OLD.task_id)"),
	BLOCKER_TRIGGER("rec_on_blocker_task", "UPDATE OF task_id", task_id, DIFFERS("task_id"),
			"(OLD.task_id),(NEW.task_id)"),
	BLOCKER_TRIGGER("rec_on_blocker_status", "UPDATE OF status", status, DIFFERS("status"), "(NEW.task_id)"),
};
const size_t rec_sqlite_trigger_count = sizeof rec_sqlite_triggers / sizeof *rec_sqlite_triggers;

/* ---- Indexes ---- */

/* On their tables; an index that is not unique cannot make a write fail, and without these the blockers of one
 * task cost a scan of all blockers, a roll-up and a look at the links a scan of all tasks. */
const struct rec_sqlite_trigger rec_sqlite_indexes[] = {
	{.name = "rec_blockers_task",
	 .table = "blockers",
	 .blocker_columns = REC_SQLITE_BIT(REC_SQLITE_BLOCKER_task_id),
	 .sql = "CREATE INDEX rec_blockers_task ON blockers(task_id)"},
	{.name = "rec_tasks_parent",
	 .table = "tasks",
	 .task_columns = REC_SQLITE_BIT(REC_SQLITE_TASK_parent_id),
	 .sql = "CREATE INDEX rec_tasks_parent ON tasks(parent_id) WHERE parent_id IS NOT NULL"},
	{.name = "rec_tasks_url",
	 .table = "tasks",
	 .task_columns = REC_SQLITE_BIT(REC_SQLITE_TASK_external_url),
	 .sql = "CREATE INDEX rec_tasks_url ON tasks(external_url) WHERE external_url IS NOT NULL"},
};
const size_t rec_sqlite_index_count = sizeof rec_sqlite_indexes / sizeof *rec_sqlite_indexes;
