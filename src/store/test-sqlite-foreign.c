/* test-sqlite-foreign.c - codeframe's own tables: what we write to them, what we only read, what goes with a task; and
 * writers that are killed. */
#include "store/test-sqlite.h"

#include <signal.h>
#include <sys/wait.h>

static int64_t ask(struct fixture *f, const char *sql)
{
	return foreign_int64(f->path, sql);
}

static void codeframe(struct fixture *f)
{
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_INIT);
}

/* ---- Runs ---- */

static int64_t claim(struct fixture *f, const char *id, bool child_owns_run)
{
	struct rec_claim claim = {.task_id = S(id), .owner = S("host:1"), .child_owns_run = child_owns_run};
	must(f, rec_store_claim(f->store, &claim, NULL, &f->error));
	return claim.claim_id;
}

static void finish(struct fixture *f, int64_t claim_id, enum rec_status to, const char *outcome)
{
	struct rec_finish finish = {.claim_id = claim_id, .to = to, .outcome = S(outcome)};
	must(f, rec_store_finish(f->store, &finish, NULL, &f->error));
}

static void test_runs__a_claim_makes_the_row_and_its_end_closes_it(void **state)
{
	struct fixture *f = *state;
	static const struct {
		enum rec_status to;
		const char *outcome, *status;
	} ends[] = {{REC_DONE, "done", "COMPLETED"},           {REC_MERGED, "done", "COMPLETED"},
		    {REC_FAILED, "failed", "FAILED"},          {REC_READY, "failed", "FAILED"},
		    {REC_BLOCKED, "blocked", "BLOCKED"},       {REC_STATUS_ABSENT, "done", "COMPLETED"},
		    {REC_STATUS_ABSENT, "blocked", "BLOCKED"}, {REC_STATUS_ABSENT, "lost", "FAILED"}};
	codeframe(f);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		char id[8], sql[200];
		snprintf(id, sizeof id, "t%zu", i);
		add_task(f, id, REC_READY);
		int64_t claim_id = claim(f, id, false);
		snprintf(sql, sizeof sql,
			 "SELECT count(*) FROM runs WHERE task_id='%s' AND status='RUNNING' AND "
			 "completed_at IS NULL AND workspace_id=(SELECT id FROM workspace)",
			 id);
		assert_int_equal(ask(f, sql), 1);
		finish(f, claim_id, ends[i].to, ends[i].outcome);
		snprintf(sql, sizeof sql,
			 "SELECT count(*) FROM runs WHERE task_id='%s' AND status='%s' AND completed_at "
			 "NOT NULL",
			 id, ends[i].status);
		assert_int_equal(ask(f, sql), 1);
	}
}

static void test_runs__what_the_worker_closed_itself_stands(void **state)
{
	struct fixture *f = *state;
	codeframe(f);
	add_task(f, "t", REC_READY);
	int64_t claim_id = claim(f, "t", false);
	foreign_do(f->path, "UPDATE runs SET status='COMPLETED',completed_at='then' WHERE task_id='t'");
	finish(f, claim_id, REC_FAILED, "failed");
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE task_id='t' AND status='COMPLETED' AND "
				"completed_at='then'"),
			 1);
}

static void test_runs__of_a_child_that_makes_them_are_closed_if_it_leaves_one(void **state)
{
	struct fixture *f = *state;
	codeframe(f);
	add_task(f, "t", REC_READY);
	int64_t claim_id = claim(f, "t", true);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE task_id='t'"), 0);
	foreign_do(f->path,
		   "INSERT INTO runs(id,workspace_id,task_id,status,started_at) SELECT 'r1',id,'t','RUNNING','' "
		   "FROM workspace; INSERT INTO runs(id,workspace_id,task_id,status,started_at) SELECT "
		   "'r2',id,'t','BLOCKED','' FROM workspace");
	finish(f, claim_id, REC_FAILED, "failed");
	assert_int_equal(
		ask(f, "SELECT count(*) FROM runs WHERE id='r1' AND status='FAILED' AND completed_at NOT NULL"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE id='r2' AND status='BLOCKED'"), 1);
}

static void test_runs__of_a_claim_given_back_go_unless_somebody_refers_to_them(void **state)
{
	struct fixture *f = *state;
	codeframe(f);
	add_task(f, "t", REC_READY);
	must(f, rec_store_release(f->store, claim(f, "t", false), &f->error));
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE task_id='t'"), 0);
	int64_t claim_id = claim(f, "t", false);
	foreign_do(f->path,
		   "INSERT INTO run_logs(run_id,task_id,timestamp,category,message) SELECT id,'t','','x','y' FROM "
		   "runs WHERE task_id='t'");
	must(f, rec_store_release(f->store, claim_id, &f->error));
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE task_id='t' AND status='FAILED'"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	assert_int_equal(status_of(f, "t"), REC_READY);
}

/* ---- What goes with a task ---- */

static const char belongings[] =
	"INSERT INTO blockers(id,workspace_id,task_id,question,created_at) SELECT 'k',id,'t','?','' FROM workspace;"
	"INSERT INTO runs(id,workspace_id,task_id,started_at) SELECT 'r',id,'t','' FROM workspace;"
	"INSERT INTO run_logs(run_id,task_id,timestamp,category,message) VALUES('r','t','','x','y');"
	"INSERT INTO diagnostic_reports VALUES('d','t','r','','','high','','','');"
	"INSERT INTO execution_steps(id,run_id,step_number,step_type,description,started_at) "
	"VALUES('e','r',1,'','','');"
	"INSERT INTO llm_interactions(id,run_id,step_id,prompt,response,model,timestamp) "
	"VALUES('l','r','e','','','','');"
	"INSERT INTO file_operations(id,run_id,step_id,operation_type,file_path,timestamp) "
	"VALUES('o','r','e','edit','','');"
	"INSERT INTO run_engine_log(run_id,engine,task_id,workspace_id,status,created_at) VALUES('r','','t','','','');"
	"INSERT INTO cloud_run_metadata VALUES('r',1,1,1,1,1,'');"
	"INSERT INTO token_usage(task_id,input_tokens) VALUES('t',5);"
	"INSERT INTO events(workspace_id,event_type,payload,created_at) SELECT id,'X','t','' FROM workspace";

static void test_delete__takes_with_it_what_points_at_the_task(void **state)
{
	struct fixture *f = *state;
	static const char *const gone[] = {"blockers WHERE task_id='t'",
					   "runs WHERE task_id='t'",
					   "run_logs WHERE task_id='t'",
					   "diagnostic_reports",
					   "execution_steps",
					   "llm_interactions",
					   "file_operations",
					   "run_engine_log",
					   "cloud_run_metadata",
					   "tasks WHERE id='t'",
					   "rec_attempts",
					   "rec_released"};
	codeframe(f);
	add_task(f, "t", REC_READY);
	foreign_do(f->path, "DELETE FROM run_logs");
	foreign_do(f->path, belongings);
	finish(f, claim(f, "t", false), REC_DONE, "done");
	int64_t tasks = ask(f, "SELECT count(*) FROM tasks"), events = ask(f, "SELECT count(*) FROM events");
	must(f, rec_store_delete(f->store, S("t"), &f->error));
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
		char sql[100];
		snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", gone[i]);
		assert_int_equal(ask(f, sql), 0);
	}
	assert_int_equal(ask(f, "SELECT count(*) FROM tasks"), tasks - 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM events"), events);
	assert_int_equal(ask(f, "SELECT count(*) FROM token_usage"), 1); /* what it cost stays true */
	assert_int_equal(ask(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

static void test_delete__of_what_an_unknown_table_points_at_is_refused_whole(void **state)
{
	struct fixture *f = *state;
	codeframe(f);
	add_task(f, "t", REC_READY);
	foreign_do(f->path, belongings);
	foreign_do(f->path, "CREATE TABLE later(task_id TEXT REFERENCES tasks(id)); INSERT INTO later VALUES('t')");
	refused(f, REC_E_INVALID, rec_store_delete(f->store, S("t"), &f->error), "FOREIGN KEY");
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE id='r'"), 1);
	assert_int_equal(status_of(f, "t"), REC_READY);
}

static void test_create__a_document_that_stayed_behind_gets_a_place(void **state)
{
	struct fixture *f = *state;
	struct rec_task task = {
		.id = S("t"), .title = S("x"), .status = REC_READY, .is_leaf = true, .prd_id = S("prd-elsewhere")};
	struct rec_task got;
	codeframe(f);
	must(f, rec_store_create(f->store, &task, &f->error));
	must(f, rec_store_get(f->store, S("t"), &f->arena, &got, &f->error));
	assert_true(rec_slice_equal(got.prd_id, S("prd-elsewhere")));
	assert_int_equal(ask(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

/* ---- What is only read ---- */

static void test_foreign__events_and_batch_runs_are_never_written(void **state)
{
	struct fixture *f = *state;
	static const char content[] =
		"SELECT (SELECT group_concat(id||event_type||coalesce(payload,'-')||created_at) FROM "
		"events)||(SELECT group_concat(id||task_ids||status||coalesce(results,'-')) FROM "
		"batch_runs)||(SELECT group_concat(seq) FROM sqlite_sequence WHERE name='events')";
	char *compare = sqlite3_mprintf("CREATE TABLE before AS %s AS content", content);
	codeframe(f);
	foreign_do(f->path, compare);
	sqlite3_free(compare);
	add_task(f, "t", REC_READY);
	struct rec_event event = {.event = S("X"), .task_id = S("t")};
	struct rec_batch batch = {.batch_id = S("b")};
	must(f, rec_store_event_add(f->store, &event, &f->error));
	must(f, rec_store_batch_create(f->store, &batch, &f->error));
	finish(f, claim(f, "t", false), REC_DONE, "done");
	must(f, rec_store_delete(f->store, S("t"), &f->error));
	struct rec_gc gc = {.older_than_us = INT64_MAX};
	must(f, rec_store_gc(f->store, &gc, &f->error));
	compare = sqlite3_mprintf("SELECT content=(%s) FROM before", content);
	assert_int_equal(ask(f, compare), 1);
	sqlite3_free(compare);
}

struct beliefs {
	size_t count;
	char text[300];
};

static int collect_belief(void *context, struct rec_slice id, enum rec_status believed)
{
	struct beliefs *b = context;
	size_t used = strlen(b->text);
	b->count++;
	if (id.length < 8)
		snprintf(b->text + used, sizeof b->text - used, "%.*s=%s ", (int)id.length, id.data,
			 rec_status_text(believed));
	return 0;
}

static int belief_of(struct fixture *f, const char *batch, struct beliefs *b)
{
	*b = (struct beliefs){.count = 0};
	return rec_store_batch_belief(f->store, S(batch), collect_belief, b, &f->error);
}

static void add_batch(struct fixture *f, const char *ids, const char *results)
{
	char *sql =
		sqlite3_mprintf("INSERT OR REPLACE INTO batch_runs(id,workspace_id,task_ids,started_at,results) SELECT "
				"'b',id,%Q,'',%Q FROM workspace",
				ids, results);
	foreign_do(f->path, sql);
	sqlite3_free(sql);
}

static void test_belief__of_a_batch_of_codeframes(void **state)
{
	struct fixture *f = *state;
	struct beliefs b;
	fixture_codeframe(f);
	char id[64];
	sqlite3 *db = foreign_open(f->path);
	sqlite3_stmt *row;
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT id FROM batch_runs", -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	snprintf(id, sizeof id, "%s", (const char *)sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	sqlite3_close(db);
	set_age_ms(f->path, 1000);
	fixture_open(f, REC_STORE_READ);
	must(f, belief_of(f, id, &b));
	assert_int_equal(b.count, 25);
	assert_int_equal(belief_of(f, "no-such-batch", &b), REC_NOT_FOUND);
	fixture_open(f, REC_STORE_INIT);
	add_batch(f, "[\"z\",\"a\",\"m\",\"a\"]",
		  "{\"a\":\"RUNNING\",\"other\":\"WEIRD\",\"__config\":[1,{\"z\":\"FAILED\"},null],\"m\":\"COMPLETED\","
		  "\"a\":\"BLOCKED\"}");
	must(f, belief_of(f, "b", &b));
	assert_string_equal(b.text, "z=READY a=BLOCKED m=DONE a=BLOCKED ");
	add_batch(f, "[]", NULL);
	must(f, belief_of(f, "b", &b));
	add_batch(f, "[\"a\"]", "");
	must(f, belief_of(f, "b", &b));
	add_batch(f, "[\"a\"]", "null");
	must(f, belief_of(f, "b", &b));
	assert_string_equal(b.text, "a=READY ");
}

static void test_belief__of_a_malformed_row_is_refused_naming_it(void **state)
{
	struct fixture *f = *state;
	struct beliefs b;
	static const char *const rows[][2] = {
		{"", NULL},
		{"{", NULL},
		{"[1]", NULL},
		{"{\"a\":1}", NULL},
		{"[\"\"]", NULL},
		{"[\"a\"]", "["},
		{"[\"a\"]", "[]"},
		{"[\"a\"]", "\"x\""},
		{"[\"a\"]", "{\"a\":\"WEIRD\"}"},
		{"[\"a\"]", "{\"a\":5}"},
		{"[\"a\"]", "{\"a\":{}}"},
		{"[\"a\"]", "{\"b\":[}"},
	};
	codeframe(f);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		add_batch(f, rows[i][0], rows[i][1]);
		int r = belief_of(f, "b", &b);
		if (r != REC_E_INVALID || !f->error.message[0])
			fail_msg("%s %s: %d", rows[i][0], rows[i][1] ? rows[i][1] : "NULL", r);
		assert_int_equal(b.count, 0);
	}
	assert_int_equal(task_count(f), 25);
}

/* ---- Odd blockers, and none of our indexes ---- */

static int count_blockers(void *context, const struct rec_task *task)
{
	char *text = context;
	size_t used = strlen(text);
	if (task->id.length == 1)
		snprintf(text + used, 100 - used, "%.*s%zu ", (int)task->id.length, task->id.data, task->blocker_count);
	return 0;
}

static void test_list__blockers_find_their_tasks_also_without_an_index(void **state)
{
	struct fixture *f = *state;
	char text[100] = "";
	const struct rec_list_options options = {.blockers = true};
	fixture_open(f, REC_STORE_INIT);
	for (const char *id = "a\0b\0c\0z\0"; *id; id += 2)
		add_task(f, id, REC_BLOCKED);
	fixture_close(f);
	foreign_do(f->path,
		   "DROP INDEX rec_blockers_task; DROP INDEX rec_tasks_parent; INSERT INTO "
		   "blockers(id,workspace_id,task_id,question,created_at) SELECT "
		   "x.column1,w.id,x.column2,'?',x.column1 FROM workspace w, (VALUES('k1','z'),('k2','b'),('k3',"
		   "'gone'),('k4',NULL),('k5',x'7a'),('k6','b'),('k7',5)) x");
	fixture_open(f, REC_STORE_WRITE);
	must(f, rec_store_list(f->store, &options, count_blockers, text, &f->error));
	assert_string_equal(text, "a0 b2 c0 z1 ");
	struct rec_task child = {
		.id = S("y"), .title = S("x"), .status = REC_DONE, .parent_id = S("a"), .is_leaf = true};
	must(f, rec_store_create(f->store, &child, &f->error)); /* rolls up by a scan */
	assert_int_equal(status_of(f, "a"), REC_DONE);
}

/* ---- Writers that are killed ---- */

#define GROUP 10

/* Groups of ten tasks, for as long as it lives; tells of each that is committed. */
static void write_groups(struct fixture *f, int life, int told)
{
	struct rec_store *s;
	struct rec_store_options options = {.mode = REC_STORE_WRITE};
	if (rec_store_sqlite_open(f->path, &options, &s, NULL) != 0)
		_exit(3);
	for (int group = 0;; group++) {
		if (rec_store_begin(s, NULL) != 0)
			_exit(4);
		for (int i = 0; i < GROUP; i++) {
			char id[64];
			snprintf(id, sizeof id, "l%d-g%d-%d", life, group, i);
			struct rec_task task = {.id = S(id), .title = S("x"), .status = REC_READY, .is_leaf = true};
			if (rec_store_create(s, &task, NULL) != 0)
				_exit(5);
		}
		if (rec_store_commit(s, NULL) != 0 || write(told, "", 1) != 1)
			_exit(6);
	}
}

static void assert_sound(struct fixture *f)
{
	assert_int_equal(ask(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'"), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM (SELECT count(*) n FROM tasks GROUP BY "
				"substr(id,1,instr(id,'-g')+instr(substr(id,instr(id,'-g')+2),'-')) HAVING n<>10)"),
			 0);
}

static void test_killed__a_writer_leaves_whole_groups_and_a_sound_store(void **state)
{
	struct fixture *f = *state;
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	for (int life = 0; life < 25; life++) {
		int told[2], status = 0;
		char byte;
		assert_int_equal(pipe(told), 0);
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0)
			write_groups(f, life, told[1]);
		close(told[1]);
		if (life == 0) /* one of them lives long enough, however slow this machine is */
			assert_int_equal(read(told[0], &byte, 1), 1);
		struct timespec wait = {0, (long)(life % 5 * 7 + 3) * 1000000};
		nanosleep(&wait, NULL); /* a life of some milliseconds is the point */
		kill(child, SIGKILL);
		close(told[0]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_sound(f);
	}
	fixture_open(f, REC_STORE_WRITE);
	add_task(f, "after", REC_READY);
	assert_true(task_count(f) > 1);
}

static void make_store(struct fixture *f)
{
	struct rec_store *s;
	struct rec_store_options options = {.mode = REC_STORE_INIT};
	int r = rec_store_sqlite_open(f->path, &options, &s, &f->error);
	if (r)
		print_error("init: %d %s\n", r, f->error.message);
	else
		rec_store_close(s);
	_exit(r ? 3 : 0);
}

static void test_killed__init_can_be_done_again_and_two_at_once_make_one_store(void **state)
{
	struct fixture *f = *state;
	for (int life = 0; life < 20; life++) {
		pid_t children[2];
		for (int i = 0; i < 2; i++) {
			children[i] = fork();
			assert_true(children[i] >= 0);
			if (children[i] == 0)
				make_store(f);
		}
		if (life % 2) {
			struct timespec wait = {0, (long)life * 300000};
			nanosleep(&wait, NULL);
			kill(children[0], SIGKILL);
		}
		for (int i = 0; i < 2; i++) {
			int status = 0;
			assert_int_equal(waitpid(children[i], &status, 0), children[i]);
			assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
		}
		fixture_open(f, REC_STORE_INIT);
		add_task(f, "t", REC_READY);
		fixture_close(f);
		assert_int_equal(ask(f, "SELECT count(*) FROM workspace"), 1);
		assert_int_equal(ask(f, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'"), 0);
		remove_tree(f, f->directory);
		assert_int_equal(mkdir(f->directory, 0700), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sqlite_test(test_runs__a_claim_makes_the_row_and_its_end_closes_it),
		sqlite_test(test_runs__what_the_worker_closed_itself_stands),
		sqlite_test(test_runs__of_a_child_that_makes_them_are_closed_if_it_leaves_one),
		sqlite_test(test_runs__of_a_claim_given_back_go_unless_somebody_refers_to_them),
		sqlite_test(test_delete__takes_with_it_what_points_at_the_task),
		sqlite_test(test_delete__of_what_an_unknown_table_points_at_is_refused_whole),
		sqlite_test(test_create__a_document_that_stayed_behind_gets_a_place),
		sqlite_test(test_foreign__events_and_batch_runs_are_never_written),
		sqlite_test(test_belief__of_a_batch_of_codeframes),
		sqlite_test(test_belief__of_a_malformed_row_is_refused_naming_it),
		sqlite_test(test_list__blockers_find_their_tasks_also_without_an_index),
		sqlite_test(test_killed__a_writer_leaves_whole_groups_and_a_sound_store),
		sqlite_test(test_killed__init_can_be_done_again_and_two_at_once_make_one_store),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
