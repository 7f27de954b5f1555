/* Edits and the doctor on SQLite, with rows that only somebody else could have written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "engine/doctor.h"
#include "engine/edit.h"

#define S(text) rec_slice_of(text)
#define TEXT_BYTES 4096

struct world {
	char directory[32], path[64];
	struct rec_store *store;
	struct rec_error error;
	char found[TEXT_BYTES], commands[TEXT_BYTES]; /* a line for each finding */
};

static void ok(struct world *w, int result)
{
	if (result)
		print_error("%d: %s\n", result, result < 0 ? w->error.message : "");
	assert_int_equal(result, 0);
}

static int setup(void **state)
{
	static struct world w;
	struct rec_store_options options = {.mode = REC_STORE_INIT};
	w = (struct world){.directory = "/tmp/engine-XXXXXX"};
	assert_non_null(mkdtemp(w.directory));
	snprintf(w.path, sizeof w.path, "%s/state.db", w.directory);
	ok(&w, rec_store_open(w.path, &options, &w.store, &w.error));
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	struct world *w = *state;
	char path[80];
	rec_store_close(w->store);
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		snprintf(path, sizeof path, "%s%s", w->path, suffixes[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(w->directory), 0);
	return 0;
}

/* Another program writes, without our rules. */
static void foreign(struct world *w, const char *sql)
{
	sqlite3 *database;
	char *message = NULL;
	assert_int_equal(sqlite3_open(w->path, &database), SQLITE_OK);
	sqlite3_busy_timeout(database, 5000);
	sqlite3_exec(database, "PRAGMA ignore_check_constraints=ON", NULL, NULL, NULL);
	if (sqlite3_exec(database, sql, NULL, NULL, &message))
		fail_msg("%s: %s", sql, message);
	sqlite3_close(database);
}

static void add(struct world *w, const char *id, enum rec_status status)
{
	char made[REC_ID_BYTES_MAX + 1];
	struct rec_task task = {.id = S(id), .title = S("a task"), .status = status, .is_leaf = true};
	ok(w, rec_edit_create(w->store, &task, made, &w->error));
}

static void line_add(char text[TEXT_BYTES], const char *a, const char *b)
{
	size_t length = strlen(text);
	snprintf(text + length, TEXT_BYTES - length, "%s %s\n", a, b);
}

static int finding_keep(void *context, const struct rec_finding *finding)
{
	struct world *w = context;
	line_add(w->found, finding->kind, finding->sentence);
	line_add(w->commands, finding->kind, finding->command);
	return 0;
}

static void visit(struct world *w)
{
	*w->found = *w->commands = '\0';
	ok(w, rec_doctor(w->store, finding_keep, w, NULL, &w->error));
}

static int event_last(void *context, const struct rec_event *event)
{
	char *text = context;
	snprintf(text, TEXT_BYTES, "%.*s: %.*s -> %.*s", (int)event->event.length, event->event.data,
		 (int)event->current_status.length, event->current_status.data, (int)event->detail.length,
		 event->detail.data);
	return 0;
}

static void test_set_status__an_unrecognised_status_is_left_only_by_force(void **state)
{
	struct world *w = *state;
	enum rec_status current = REC_STATUS_ABSENT;
	add(w, "a", REC_READY);
	foreign(w, "UPDATE tasks SET status = 'SLEEPING'");
	assert_int_equal(rec_edit_set_status(w->store, S("a"), REC_DONE, false, "person", &current, &w->error),
			 REC_REFUSED);
	assert_int_equal(current, REC_STATUS_UNRECOGNISED);
	assert_int_equal(rec_edit_retry(w->store, S("a"), &current, &w->error), REC_REFUSED);
	ok(w, rec_edit_set_status(w->store, S("a"), REC_DONE, true, "person", &current, &w->error));
	assert_int_equal(current, REC_STATUS_UNRECOGNISED);
	ok(w, rec_store_events(w->store, 0, 0, event_last, w->found, &w->error));
	assert_string_equal(w->found, "TASK_STATUS_CHANGED: SLEEPING -> DONE, forced");
}

static void test_doctor__a_sound_store(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_READY);
	visit(w);
	assert_string_equal(w->found, "");
}

static void test_doctor__foreign_values_with_what_mends_them(void **state)
{
	struct world *w = *state;
	add(w, "a'b", REC_READY);
	add(w, "c", REC_READY);
	foreign(w, "UPDATE tasks SET status = 'SLEEPING', depends_on = '7', created_at = 'noon' WHERE id = 'a''b';"
		   "INSERT INTO tasks(id, workspace_id, title, created_at, updated_at)"
		   " SELECT NULL, workspace_id, 't', created_at, updated_at FROM tasks WHERE id = 'c'");
	visit(w);
	assert_string_equal(
		w->found, "bad-row a row: id is NULL: NULL\n"
			  "bad-row task \"a'b\": created_at is not a time: noon\n"
			  "bad-row task \"a'b\": depends_on is not a list of ids: 7\n"
			  "unrecognised-status task \"a'b\" has the status \"SLEEPING\", which is none of the seven\n");
	assert_non_null(strstr(w->commands, "reconciler task edit --depends-on= 'a'\\''b'"));
	assert_non_null(strstr(w->commands, "WHERE id = '\\''a'\\'''\\''b'\\'''\n"));
}

static void test_doctor__its_sql_mends(void **state)
{
	struct world *w = *state;
	add(w, "c", REC_READY);
	foreign(w, "UPDATE tasks SET created_at = 'noon', updated_at = 'noon';"
		   "INSERT INTO tasks(id, workspace_id, title, created_at, updated_at)"
		   " SELECT NULL, workspace_id, 't', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z' FROM tasks WHERE "
		   "id = 'c'");
	visit(w);
	assert_non_null(strstr(w->found, "id is NULL"));
	foreign(w, "UPDATE tasks SET id = lower(hex(randomblob(16))) WHERE id IS NULL OR typeof(id) <> 'text'");
	foreign(w, "UPDATE tasks SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = 'c'");
	foreign(w, "UPDATE tasks SET updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = 'c'");
	visit(w);
	assert_string_equal(w->found, "");
}

static void test_doctor__a_blocker_with_a_status_nobody_knows(void **state)
{
	struct world *w = *state;
	struct rec_blocker blocker = {.id = S("k"), .task_id = S("a"), .question = S("why?")};
	char made[REC_ID_BYTES_MAX + 1];
	add(w, "a", REC_BLOCKED);
	ok(w, rec_edit_blocker_create(w->store, &blocker, made, &w->error));
	foreign(w, "UPDATE blockers SET status = 'SHUT'");
	visit(w);
	assert_string_equal(w->found, "bad-row task \"a\": blocker status is none of OPEN, ANSWERED, RESOLVED: SHUT\n");
	foreign(w, "UPDATE blockers SET status = 'OPEN' WHERE status NOT IN ('OPEN', 'ANSWERED', 'RESOLVED') AND "
		   "task_id = 'a'");
	visit(w);
	assert_string_equal(w->found, "");
}

static void test_doctor__a_trigger_that_is_gone(void **state)
{
	struct world *w = *state;
	struct rec_store_options options = {.mode = REC_STORE_INIT};
	add(w, "a", REC_READY);
	foreign(w, "DROP TRIGGER rec_on_task_status");
	visit(w);
	assert_non_null(strstr(w->found, "rec_on_task_status"));
	assert_non_null(strstr(w->commands, " reconciler init\n"));
	rec_store_close(w->store);
	ok(w, rec_store_open(w->path, &options, &w->store, &w->error));
	visit(w);
	assert_string_equal(w->found, "");
}

static void test_doctor__a_running_run_of_codeframe(void **state)
{
	struct world *w = *state;
	add(w, "a", REC_IN_PROGRESS);
	visit(w);
	assert_non_null(strstr(w->found, "in-progress-without-run task \"a\""));
	foreign(w, "INSERT INTO runs(id, workspace_id, task_id, status, started_at)"
		   " SELECT 'r', workspace_id, id, 'RUNNING', created_at FROM tasks");
	visit(w);
	assert_string_equal(w->found, "");
	foreign(w, "UPDATE runs SET status = 'FAILED'");
	visit(w);
	assert_non_null(strstr(w->found, "in-progress-without-run task \"a\""));
}

static void test_doctor__works_on_a_store_opened_for_reading(void **state)
{
	struct world *w = *state;
	struct rec_store_options options = {.mode = REC_STORE_READ};
	add(w, "a", REC_BLOCKED);
	rec_store_close(w->store);
	ok(w, rec_store_open(w->path, &options, &w->store, &w->error));
	visit(w);
	assert_non_null(strstr(w->found, "blocked-without-blockers task \"a\""));
}

int main(void)
{
#define T(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_set_status__an_unrecognised_status_is_left_only_by_force),
		T(test_doctor__a_sound_store),
		T(test_doctor__foreign_values_with_what_mends_them),
		T(test_doctor__its_sql_mends),
		T(test_doctor__a_blocker_with_a_status_nobody_knows),
		T(test_doctor__a_trigger_that_is_gone),
		T(test_doctor__a_running_run_of_codeframe),
		T(test_doctor__works_on_a_store_opened_for_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
