/* test-sqlite.h - what the tests of the SQLite backend share: a directory of their own, another program's connection,
 * a look at files. A file that SQLite has open must not be opened here (closing it would drop SQLite's locks), so
 * contents are read only while nothing is open. */
#ifndef REC_STORE_TEST_SQLITE_H
#define REC_STORE_TEST_SQLITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "store/sqlite.h"

#define S(text) rec_slice_of(text)

struct fixture {
	const char *directory;
	const char *path; /* state.db there */
	struct rec_failing_allocator memory;
	struct rec_store_options options;
	struct rec_store *store;
	struct rec_error error;
	struct rec_arena arena;
};

/* One text from two; lives as long as the fixture. */
static inline const char *join(struct fixture *f, const char *a, const char *b)
{
	struct rec_buffer joined;
	rec_buffer_init(&joined, NULL, 65536);
	assert_int_equal(rec_buffer_printf(&joined, "%s%s", a, b), 0);
	const char *kept = rec_arena_strndup(&f->arena, joined.data, joined.length);
	assert_non_null(kept);
	rec_buffer_release(&joined);
	return kept;
}

static inline const char *in_directory(struct fixture *f, const char *name)
{
	return join(f, f->directory, join(f, "/", name));
}

static inline void remove_tree(struct fixture *f, const char *directory)
{
	DIR *entries = opendir(directory);
	assert_non_null(entries);
	for (struct dirent *e = readdir(entries); e; e = readdir(entries)) {
		struct stat file;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		const char *path = join(f, directory, join(f, "/", e->d_name));
		assert_int_equal(lstat(path, &file), 0);
		if (S_ISDIR(file.st_mode))
			remove_tree(f, path);
		else
			unlink(path);
	}
	closedir(entries);
	assert_int_equal(rmdir(directory), 0);
}

static inline int fixture_setup(void **state)
{
	struct fixture *f = rec_zalloc(NULL, 1, sizeof *f);
	char name[] = "rec-sqlite-XXXXXX", here[200];
	assert_non_null(f);
	assert_non_null(mkdtemp(name));
	assert_non_null(getcwd(here, sizeof here));
	rec_failing_allocator_init(&f->memory, 0, 0);
	rec_arena_init(&f->arena, NULL);
	f->directory = join(f, here, join(f, "/", name));
	f->path = in_directory(f, "state.db");
	f->options = (struct rec_store_options){.allocator = &f->memory.allocator, .busy_timeout_ms = 2000};
	*state = f;
	return 0;
}

static inline void fixture_close(struct fixture *f)
{
	f->store = rec_store_close(f->store);
}

static inline int fixture_teardown(void **state)
{
	struct fixture *f = *state;
	fixture_close(f);
	assert_int_equal(f->memory.live, 0);
	chmod(f->directory, 0700);
	remove_tree(f, f->directory);
	rec_arena_release(&f->arena);
	rec_free(NULL, f);
	return 0;
}

#define sqlite_test(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

static inline int fixture_try(struct fixture *f, enum rec_store_mode mode)
{
	struct rec_store_options options = f->options;
	options.mode = mode;
	fixture_close(f);
	f->error.code = 0;
	f->error.message[0] = '\0';
	return rec_store_sqlite_open(f->path, &options, &f->store, &f->error);
}

static inline void fixture_open(struct fixture *f, enum rec_store_mode mode)
{
	int r = fixture_try(f, mode);
	if (r)
		fail_msg("open: %d %s", r, f->error.message);
}

#define must(f, call) must_at(f, call, #call, __FILE__, __LINE__)
static inline void must_at(const struct fixture *f, int r, const char *call, const char *file, int line)
{
	if (r == 0)
		return;
	print_error("%s: %d %s\n", call, r, f->error.message);
	_fail(file, line);
}

/* Refused with this code, and the message names all of the words. */
#define refused(f, code, call, ...)                                                                                    \
	do {                                                                                                           \
		const char *const words_[] = {__VA_ARGS__, NULL};                                                      \
		int result = call;                                                                                     \
		if (result != (code))                                                                                  \
			fail_msg("%s: %d %s", #call, result, (f)->error.message);                                      \
		for (size_t word_ = 0; words_[word_]; word_++)                                                         \
			if (!strstr((f)->error.message, words_[word_]))                                                \
				fail_msg("'%s' is not in: %s", words_[word_], (f)->error.message);                     \
	} while (0)

/* ---- Another program ---- */

static inline sqlite3 *foreign_open(const char *path)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	return db;
}

static inline void foreign_run(sqlite3 *db, const char *sql)
{
	char *message = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
}

static inline void foreign_do(const char *path, const char *sql)
{
	sqlite3 *db = foreign_open(path);
	foreign_run(db, sql);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline int64_t foreign_int64(const char *path, const char *sql)
{
	sqlite3 *db = foreign_open(path);
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	int64_t value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return value;
}

/* ---- Files ---- */

static inline void read_file(const char *path, struct rec_buffer *out)
{
	rec_buffer_init(out, NULL, SIZE_MAX / 2);
	assert_int_equal(rec_file_read(path, SIZE_MAX / 4, out, NULL), 0);
}

static inline void copy_file(const char *from, const char *to)
{
	struct rec_buffer bytes;
	read_file(from, &bytes);
	FILE *file = fopen(to, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes.data, 1, bytes.length, file), bytes.length);
	assert_int_equal(fclose(file), 0);
	rec_buffer_release(&bytes);
}

static inline void assert_same_bytes(const char *path, const struct rec_buffer *before)
{
	struct rec_buffer now;
	read_file(path, &now);
	assert_int_equal(now.length, before->length);
	assert_memory_equal(now.data, before->data, now.length);
	rec_buffer_release(&now);
}

static inline bool file_exists(struct fixture *f, const char *suffix)
{
	struct stat file;
	return lstat(join(f, f->path, suffix), &file) == 0;
}

static inline size_t file_count(const char *directory)
{
	size_t count = 0;
	DIR *entries = opendir(directory);
	assert_non_null(entries);
	while (readdir(entries))
		count++;
	closedir(entries);
	return count - 2;
}

/* Last modified so many milliseconds ago (negative: in the future). */
static inline void set_age_ms(const char *path, int64_t ms)
{
	struct timespec now, times[2];
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - ms * 1000000;
	times[0] = times[1] = (struct timespec){ns / 1000000000, ns % 1000000000};
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static inline int64_t now_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context);
}

/* codeframe's small workspace (25 tasks), as it would be found: quiet. */
static inline void fixture_codeframe(struct fixture *f)
{
	const char *data = getenv("REC_TEST_DATA");
	assert_non_null(data);
	copy_file(join(f, data, "/codeframe/codeframe-small.db"), f->path);
	set_age_ms(f->path, 1000);
}

/* ---- The store ---- */

static inline struct rec_sqlite *sqlite_of(const struct fixture *f)
{
	return rec_sqlite_of(f->store);
}

static inline enum rec_status status_of(struct fixture *f, const char *id)
{
	struct rec_snapshot snapshot;
	struct rec_slice ids[] = {S(id)};
	must(f, rec_store_snapshot(f->store, ids, 1, 0, &snapshot, &f->error));
	enum rec_status status = snapshot.facts[0].status;
	rec_snapshot_release(&snapshot);
	return status;
}

static inline size_t task_count(struct fixture *f)
{
	struct rec_snapshot snapshot;
	must(f, rec_store_snapshot(f->store, NULL, 0, 0, &snapshot, &f->error));
	size_t count = snapshot.count;
	rec_snapshot_release(&snapshot);
	return count;
}

static inline void add_task(struct fixture *f, const char *id, enum rec_status status)
{
	struct rec_task task = {.id = S(id), .title = S("a task"), .status = status, .is_leaf = true};
	must(f, rec_store_create(f->store, &task, &f->error));
}

/* ---- The change feed ---- */

struct told {
	char text[512];
	size_t count;
};

static inline int tell_id(void *context, struct rec_slice id)
{
	struct told *told = context;
	size_t used = strlen(told->text);
	snprintf(told->text + used, sizeof told->text - used, "%.*s ", (int)id.length, id.data);
	told->count++;
	return 0;
}

static inline int changes(struct fixture *f, struct rec_cursor *cursor, struct told *told)
{
	*told = (struct told){.count = 0};
	return rec_store_changes(f->store, cursor, tell_id, told, &f->error);
}

static inline void assert_changes(struct fixture *f, struct rec_cursor *cursor, int result, const char *ids)
{
	struct told told;
	int r = changes(f, cursor, &told);
	if (r != result)
		fail_msg("changes: %d %s", r, r < 0 ? f->error.message : told.text);
	assert_string_equal(told.text, ids);
}

#endif
