/* test-sqlite-cold.c - reading a database that is not ours: no trace is left, nothing stale is told. */
#include "store/test-sqlite.h"

#include <sys/wait.h>

#define TASKS 25 /* in codeframe's small workspace */

/* ---- Quiet ---- */

static void test_cold__a_read_of_a_quiet_database_leaves_no_trace(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer before;
	fixture_codeframe(f);
	read_file(f->path, &before);
	fixture_open(f, REC_STORE_READ);
	assert_int_equal(sqlite_of(f)->access, REC_SQLITE_COLD);
	assert_int_equal(task_count(f), TASKS);
	assert_int_equal(file_count(f->directory), 1);
	fixture_close(f);
	assert_same_bytes(f->path, &before);
	assert_int_equal(file_count(f->directory), 1);
	rec_buffer_release(&before);
}

static void test_cold__an_empty_log_is_as_good_as_none(void **state)
{
	struct fixture *f = *state;
	fixture_codeframe(f);
	const char *log = join(f, f->path, "-wal");
	FILE *file = fopen(log, "w");
	assert_non_null(file);
	fclose(file);
	fixture_open(f, REC_STORE_READ);
	assert_int_equal(sqlite_of(f)->access, REC_SQLITE_COLD);
	assert_int_equal(task_count(f), TASKS);
	assert_false(file_exists(f, "-shm"));
	fixture_close(f);
	assert_true(file_exists(f, "-wal"));
}

static void test_cold__waits_until_the_last_modification_is_old_enough(void **state)
{
	struct fixture *f = *state;
	fixture_codeframe(f);
	set_age_ms(f->path, 0);
	int64_t begin = now_us();
	fixture_open(f, REC_STORE_READ);
	assert_true(now_us() - begin >= 40000);
	fixture_close(f);
	set_age_ms(f->path, 0);
	f->options.busy_timeout_ms = 10; /* less than that */
	refused(f, REC_E_BUSY, fixture_try(f, REC_STORE_READ), f->path, "again");
}

static void test_cold__a_time_in_the_future_is_no_reason_to_wait(void **state)
{
	struct fixture *f = *state;
	fixture_codeframe(f);
	set_age_ms(f->path, -3600000);
	f->options.busy_timeout_ms = 10;
	fixture_open(f, REC_STORE_READ);
	assert_int_equal(task_count(f), TASKS);
}

/* ---- Changed while it is read ---- */

struct meddling {
	const char *path, *sql;
	int runs, meddles; /* the first so many runs are meddled with */
	bool told, leave_log;
	sqlite3 *other;
	int64_t count;
};

static void meddle(struct meddling *m)
{
	sqlite3 *db = foreign_open(m->path);
	foreign_run(db, m->sql);
	if (m->leave_log)
		m->other = db;
	else
		sqlite3_close(db);
}

static int count_tasks(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct meddling *m = context;
	sqlite3_stmt *query;
	int r = rec_sqlite_query(s, REC_SQLITE_TASK_COUNT, &query, error);
	if (r == 0)
		r = rec_sqlite_run_int64(s, query, &m->count, error);
	if (m->runs++ < m->meddles)
		meddle(m);
	return r;
}

static const char delete_one[] = "DELETE FROM tasks WHERE rowid=(SELECT max(rowid) FROM tasks)";

static void test_cold__changed_while_it_is_read_it_is_read_again(void **state)
{
	struct fixture *f = *state;
	struct meddling m = {.path = f->path, .sql = delete_one, .meddles = 2};
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	must(f, rec_sqlite_read(sqlite_of(f), count_tasks, &m, NULL, &f->error));
	assert_int_equal(m.runs, 3);
	assert_int_equal(m.count, TASKS - 2);
}

static void test_cold__changed_all_the_time_it_is_given_up(void **state)
{
	struct fixture *f = *state;
	struct meddling m = {.path = f->path, .sql = "UPDATE tasks SET priority=priority+1", .meddles = 100000};
	fixture_codeframe(f);
	f->options.busy_timeout_ms = 300;
	fixture_open(f, REC_STORE_READ);
	int64_t begin = now_us();
	refused(f, REC_E_BUSY, rec_sqlite_read(sqlite_of(f), count_tasks, &m, NULL, &f->error), "again and again");
	assert_true(m.runs > 1);
	assert_true(now_us() - begin < 5000000);
}

static void test_cold__a_log_that_appears_while_it_is_read_is_looked_into(void **state)
{
	struct fixture *f = *state;
	struct meddling m = {.path = f->path, .sql = delete_one, .meddles = 1, .leave_log = true};
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	must(f, rec_sqlite_read(sqlite_of(f), count_tasks, &m, NULL, &f->error));
	assert_int_equal(m.count, TASKS - 1);
	assert_int_equal(sqlite_of(f)->access, REC_SQLITE_LIVE);
	sqlite3_close(m.other);
}

static void test_cold__what_was_told_already_is_not_told_again(void **state)
{
	struct fixture *f = *state;
	struct meddling log = {.path = f->path, .sql = delete_one, .meddles = 1, .told = true, .leave_log = true};
	struct meddling torn = {.path = f->path, .sql = delete_one, .meddles = 1, .told = true};
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	must(f, rec_sqlite_read(sqlite_of(f), count_tasks, &log, &log.told, &f->error));
	assert_int_equal(log.runs, 1);
	assert_int_equal(log.count, TASKS); /* the state of its start, whole */
	sqlite3_close(log.other);
	fixture_close(f);
	set_age_ms(f->path, 1000);
	fixture_open(f, REC_STORE_READ);
	refused(f, REC_E_BUSY, rec_sqlite_read(sqlite_of(f), count_tasks, &torn, &torn.told, &f->error), f->path);
	assert_int_equal(torn.runs, 1);
}

static void test_cold__a_handle_that_is_kept_sees_what_others_commit(void **state)
{
	struct fixture *f = *state;
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	assert_int_equal(task_count(f), TASKS);
	foreign_do(f->path, delete_one);
	assert_int_equal(task_count(f), TASKS - 1);
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, delete_one);
	assert_int_equal(task_count(f), TASKS - 2);
	foreign_run(other, delete_one);
	assert_int_equal(task_count(f), TASKS - 3);
	sqlite3_close(other);
	assert_int_equal(task_count(f), TASKS - 3);
}

static void test_cold__a_database_that_replaces_it_is_seen(void **state)
{
	struct fixture *f = *state;
	for (int live = 0; live < 2; live++) {
		sqlite3 *keeper = NULL;
		fixture_codeframe(f);
		const char *other = join(f, f->path, "-new");
		copy_file(f->path, other);
		foreign_do(other, delete_one);
		set_age_ms(other, 1000);
		if (live) {
			keeper = foreign_open(f->path);
			foreign_run(keeper, "UPDATE tasks SET priority=9");
		}
		fixture_open(f, REC_STORE_READ);
		assert_int_equal(task_count(f), TASKS);
		sqlite3_close(keeper);
		if (live) {
			const char *log = join(f, f->path, "-wal");
			unlink(log);
		}
		assert_int_equal(rename(other, f->path), 0);
		assert_int_equal(task_count(f), TASKS - 1);
		fixture_close(f);
		unlink(f->path);
		refused(f, REC_E_NO_STORE, fixture_try(f, REC_STORE_READ), f->path);
	}
}

static void test_cold__a_file_that_is_gone_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct rec_snapshot snapshot;
	fixture_codeframe(f);
	fixture_open(f, REC_STORE_READ);
	unlink(f->path);
	refused(f, REC_E_NO_STORE, rec_store_snapshot(f->store, NULL, 0, 0, &snapshot, &f->error), f->path, "gone");
}

/* ---- A log in use ---- */

static void test_live__commits_that_are_only_in_the_log_are_seen_and_never_checkpointed(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer before, log_before;
	fixture_codeframe(f);
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "PRAGMA wal_autocheckpoint=0");
	foreign_run(other, delete_one);
	/* What a program leaves that is killed now. */
	const char *copy = in_directory(f, "left.db");
	const char *copied_log = join(f, copy, "-wal");
	const char *log = join(f, f->path, "-wal");
	copy_file(f->path, copy);
	copy_file(log, copied_log);
	sqlite3_close(other);
	read_file(copy, &before);
	read_file(copied_log, &log_before);
	f->path = copy;
	fixture_open(f, REC_STORE_READ);
	assert_int_equal(sqlite_of(f)->access, REC_SQLITE_LIVE);
	assert_int_equal(task_count(f), TASKS - 1);
	fixture_close(f);
	assert_same_bytes(copy, &before);
	assert_same_bytes(copied_log, &log_before);
	rec_buffer_release(&before);
	rec_buffer_release(&log_before);
}

static void test_live__a_journal_means_sqlites_own_locks(void **state)
{
	struct fixture *f = *state;
	fixture_codeframe(f);
	foreign_do(f->path, "PRAGMA journal_mode=PERSIST; UPDATE tasks SET priority=8");
	set_age_ms(f->path, 1000);
	assert_true(file_exists(f, "-journal"));
	fixture_open(f, REC_STORE_READ);
	assert_int_equal(sqlite_of(f)->access, REC_SQLITE_LIVE);
	assert_int_equal(task_count(f), TASKS);
}

static void test_live__a_locked_database_is_waited_for_and_reported(void **state)
{
	struct fixture *f = *state;
	fixture_codeframe(f);
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "PRAGMA locking_mode=EXCLUSIVE; UPDATE tasks SET priority=8");
	f->options.busy_timeout_ms = 100;
	int64_t begin = now_us();
	refused(f, REC_E_BUSY, fixture_try(f, REC_STORE_READ), f->path, "100 ms");
	assert_true(now_us() - begin >= 90000);
	refused(f, REC_E_BUSY, fixture_try(f, REC_STORE_WRITE), f->path, "100 ms");
	sqlite3_close(other);
}

/* Runs body as somebody without rights; root has all of them. */
static int as_nobody(struct fixture *f, int (*body)(struct fixture *))
{
	pid_t child = fork();
	int status = 0;
	assert_true(child >= 0);
	if (child == 0)
		_exit(setgid(65534) != 0 || setuid(65534) != 0 ? 99 : body(f));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Only root can become nobody, and nobody must be able to come here. */
static bool reachable_for_nobody(const struct fixture *f)
{
	struct stat file;
	char path[1024];
	size_t length = strlen(f->directory);
	assert_true(length < sizeof path);
	memcpy(path, f->directory, length + 1);
	for (char *slash = strrchr(path, '/'); slash && slash != path; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (stat(path, &file) != 0 || !(file.st_mode & S_IXOTH))
			return false;
	}
	return getuid() == 0;
}

static int body_read(struct fixture *f)
{
	int r = fixture_try(f, REC_STORE_READ);
	bool told = r == 0 || (strstr(f->error.message, "-shm") && strstr(f->error.message, "(run this as"));
	fixture_close(f);
	return r == 0 ? 0 : told && r == REC_E_PERMISSION ? 1 : 2;
}

static int body_write(struct fixture *f)
{
	int r = fixture_try(f, REC_STORE_WRITE);
	fixture_close(f);
	return r == REC_E_PERMISSION && strstr(f->error.message, f->path) ? 1 : 2;
}

static void test_live__without_the_right_to_make_shm_it_is_refused_with_the_way_out(void **state)
{
	struct fixture *f = *state;
	if (!reachable_for_nobody(f))
		skip();
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	set_age_ms(f->path, 1000);
	chmod(f->path, 0644);
	chmod(f->directory, 0755);
	assert_int_equal(as_nobody(f, body_read), 0); /* quiet: nothing need be made */
	assert_int_equal(as_nobody(f, body_write), 1);
	const char *log = join(f, f->path, "-wal");
	const char *kept = in_directory(f, "kept");
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "PRAGMA wal_autocheckpoint=0; UPDATE workspace SET tech_stack='C'");
	copy_file(log, kept);
	sqlite3_close(other);
	assert_int_equal(rename(kept, log), 0);
	chmod(log, 0644);
	assert_int_equal(as_nobody(f, body_read), 1);
	assert_false(file_exists(f, "-shm"));
}

static int body_unreadable(struct fixture *f)
{
	int wrong = 0;
	for (enum rec_store_mode mode = REC_STORE_READ; mode <= REC_STORE_WRITE; mode++) {
		int r = fixture_try(f, mode);
		wrong += r != REC_E_PERMISSION || !strstr(f->error.message, "may not be read");
		fixture_close(f);
	}
	return wrong;
}

static void test_open__a_file_that_may_not_be_read_is_told_as_that(void **state)
{
	struct fixture *f = *state;
	if (!reachable_for_nobody(f))
		skip();
	fixture_open(f, REC_STORE_INIT);
	fixture_close(f);
	chmod(f->path, 0);
	chmod(f->directory, 0755);
	assert_int_equal(as_nobody(f, body_unreadable), 0);
}

/* ---- Places ---- */

static int network_probe(const char *path, bool *ret_network, const char **ret_name, struct rec_error *error)
{
	(void)path, (void)error;
	*ret_network = true;
	*ret_name = "NFS";
	return 0;
}

static int open_on_network(struct fixture *f, enum rec_store_mode mode)
{
	struct rec_store_options options = f->options;
	options.mode = mode;
	fixture_close(f);
	return rec_sqlite_open_with(f->path, &options, network_probe, &f->store, &f->error);
}

static void test_place__a_network_file_system_is_refused_before_the_first_write(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer before;
	refused(f, REC_E_NETWORK_FS, open_on_network(f, REC_STORE_INIT), f->path, "NFS", "local disk");
	assert_int_equal(file_count(f->directory), 0);
	fixture_codeframe(f);
	read_file(f->path, &before);
	refused(f, REC_E_NETWORK_FS, open_on_network(f, REC_STORE_INIT), "NFS");
	refused(f, REC_E_NETWORK_FS, open_on_network(f, REC_STORE_WRITE), "NFS");
	must(f, open_on_network(f, REC_STORE_READ)); /* quiet: it is only read */
	assert_int_equal(task_count(f), TASKS);
	fixture_close(f);
	assert_same_bytes(f->path, &before);
	assert_int_equal(file_count(f->directory), 1);
	rec_buffer_release(&before);
	sqlite3 *other = foreign_open(f->path);
	foreign_run(other, "UPDATE tasks SET priority=8");
	refused(f, REC_E_NETWORK_FS, open_on_network(f, REC_STORE_READ), "NFS", "log");
	sqlite3_close(other);
}

static void test_place__any_name_that_a_file_can_have(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"a?immutable=0.db",        "a#b.db",         "100%41.db",   "with blank.db",
					    "\xc3\xa4\xe4\xbb\xbb.db", "file:x?mode=rw", "'quote\".db", "\xff.db"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		f->path = in_directory(f, names[i]);
		fixture_open(f, REC_STORE_INIT);
		add_task(f, "t", REC_DONE);
		fixture_close(f);
		set_age_ms(f->path, 1000);
		fixture_open(f, REC_STORE_READ);
		assert_int_equal(sqlite_of(f)->access, REC_SQLITE_COLD);
		assert_int_equal(status_of(f, "t"), REC_DONE);
		fixture_open(f, REC_STORE_WRITE);
		fixture_close(f);
	}
	assert_int_equal(file_count(f->directory), sizeof names / sizeof *names);
}

static void test_place__a_relative_path_a_link_and_a_path_that_is_too_long(void **state)
{
	struct fixture *f = *state;
	fixture_open(f, REC_STORE_INIT);
	add_task(f, "t", REC_DONE);
	fixture_close(f);
	const char *target = f->path;
	const char *link_name = in_directory(f, "link");
	assert_int_equal(symlink("state.db", link_name), 0);
	f->path = link_name;
	fixture_open(f, REC_STORE_READ);
	assert_string_equal(f->store->info.location, target);
	f->path = join(f, strrchr(f->directory, '/') + 1, "/state.db");
	fixture_open(f, REC_STORE_READ);
	assert_string_equal(f->store->info.location, target);
	assert_string_equal(f->store->info.directory, f->directory);
	fixture_close(f);
	const char *deep = "";
	for (int i = 0; i < 60; i++)
		deep = join(f, deep, "deeper/../a/");
	for (int i = 0; i < 60; i++)
		deep = join(f, deep, "somewhere/");
	f->path = in_directory(f, join(f, deep, "state.db"));
	refused(f, REC_E_INVALID, fixture_try(f, REC_STORE_INIT), "500 bytes");
}

static void test_place__what_is_no_regular_file(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(mkfifo(f->path, 0600), 0); /* opening it would hang */
	for (int mode = REC_STORE_READ; mode <= REC_STORE_INIT; mode++)
		refused(f, REC_E_NOT_A_STORE, fixture_try(f, mode), f->path, "not a regular file");
	unlink(f->path);
	assert_int_equal(mkdir(f->path, 0700), 0);
	for (int mode = REC_STORE_READ; mode <= REC_STORE_INIT; mode++)
		refused(f, REC_E_NOT_A_STORE, fixture_try(f, mode), f->path, "directory");
	rmdir(f->path);
	for (int mode = REC_STORE_READ; mode <= REC_STORE_WRITE; mode++)
		refused(f, REC_E_NO_STORE, fixture_try(f, mode), f->path, "init");
	f->path = in_directory(f, "a/b/state.db");
	refused(f, REC_E_NO_STORE, fixture_try(f, REC_STORE_WRITE), f->path);
	fixture_open(f, REC_STORE_INIT); /* makes the directories */
	add_task(f, "t", REC_READY);
}

static void test_place__a_store_that_is_moved_away_under_a_writer_takes_no_more(void **state)
{
	struct fixture *f = *state;
	struct rec_task task = {.id = S("u"), .title = S("x"), .status = REC_READY, .is_leaf = true};
	fixture_open(f, REC_STORE_INIT);
	add_task(f, "t", REC_READY);
	const char *away = in_directory(f, "away");
	assert_int_equal(rename(f->path, away), 0);
	refused(f, REC_E_IO, rec_store_create(f->store, &task, &f->error), f->path, "moved");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		sqlite_test(test_cold__a_read_of_a_quiet_database_leaves_no_trace),
		sqlite_test(test_cold__an_empty_log_is_as_good_as_none),
		sqlite_test(test_cold__waits_until_the_last_modification_is_old_enough),
		sqlite_test(test_cold__a_time_in_the_future_is_no_reason_to_wait),
		sqlite_test(test_cold__changed_while_it_is_read_it_is_read_again),
		sqlite_test(test_cold__changed_all_the_time_it_is_given_up),
		sqlite_test(test_cold__a_log_that_appears_while_it_is_read_is_looked_into),
		sqlite_test(test_cold__what_was_told_already_is_not_told_again),
		sqlite_test(test_cold__a_handle_that_is_kept_sees_what_others_commit),
		sqlite_test(test_cold__a_database_that_replaces_it_is_seen),
		sqlite_test(test_cold__a_file_that_is_gone_is_an_error),
		sqlite_test(test_live__commits_that_are_only_in_the_log_are_seen_and_never_checkpointed),
		sqlite_test(test_live__a_journal_means_sqlites_own_locks),
		sqlite_test(test_live__a_locked_database_is_waited_for_and_reported),
		sqlite_test(test_live__without_the_right_to_make_shm_it_is_refused_with_the_way_out),
		sqlite_test(test_open__a_file_that_may_not_be_read_is_told_as_that),
		sqlite_test(test_place__a_network_file_system_is_refused_before_the_first_write),
		sqlite_test(test_place__any_name_that_a_file_can_have),
		sqlite_test(test_place__a_relative_path_a_link_and_a_path_that_is_too_long),
		sqlite_test(test_place__what_is_no_regular_file),
		sqlite_test(test_place__a_store_that_is_moved_away_under_a_writer_takes_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
