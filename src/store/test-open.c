/* test-open.c - what a name opens, and the search upwards. The SQLite constructor is replaced by one that only
 * remembers what it was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "store/backend.h"

/* Gives a store in memory that says it lies at `path`, so that the test can see where it was looked for. */
int rec_store_sqlite_open(const char *path, const struct rec_store_options *options, struct rec_store **ret_store,
			  struct rec_error *error)
{
	int r = rec_store_memory_open("", options, ret_store, error);
	if (r == 0)
		(*ret_store)->info.location = rec_strndup(NULL, path, strlen(path));
	return r;
}

/* ---- A directory to play in ---- */

struct fixture {
	char root[64];
	struct rec_error error;
};

static int setup(void **state)
{
	struct fixture *f = rec_zalloc(NULL, 1, sizeof *f);
	snprintf(f->root, sizeof f->root, "/tmp/rec-open-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	*state = f;
	return 0;
}

/* Removes what the tests make: known names only, deepest first. */
static int teardown(void **state)
{
	struct fixture *f = *state;
	static const char *const made[] = {
		"a/b/c/.reconciler/state.db",
		"a/b/c/.reconciler",
		"a/b/c",
		"a/b/.codeframe/state.db",
		"a/b/.codeframe",
		"a/b",
		"a/.reconciler/state.db",
		"a/.reconciler",
		"a/.codeframe/state.db",
		"a/.codeframe",
		"a/odd:name",
		"a/pipe",
		"a/dangling",
		"a",
	};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		char path[256];
		snprintf(path, sizeof path, "%s/%s", f->root, made[i]);
		if (unlink(path) < 0)
			rmdir(path);
	}
	assert_int_equal(rmdir(f->root), 0);
	rec_free(NULL, f);
	return 0;
}

static char *path_in(struct fixture *f, const char *name, char out[256])
{
	snprintf(out, 256, "%s%s%s", f->root, *name ? "/" : "", name);
	return out;
}

static void make_directory(struct fixture *f, const char *name)
{
	char path[256];
	assert_int_equal(rec_directory_make(path_in(f, name, path), &f->error), 0);
}

static void make_file(struct fixture *f, const char *name)
{
	char path[256];
	assert_int_equal(rec_file_replace(path_in(f, name, path), rec_slice_of("x"), 0600, &f->error), 0);
}

/* Opens `name` (below the root unless it is a URI) and compares the path that SQLite was asked for. */
static void assert_opens(struct fixture *f, const char *name, enum rec_store_mode mode, const char *wanted)
{
	char path[256], expected[256];
	struct rec_store *store = NULL;
	struct rec_store_info info;
	const struct rec_store_options options = {.mode = mode};
	int r = rec_store_open(strchr(name, ':') == name + 6 ? name : path_in(f, name, path), &options, &store,
			       &f->error);
	if (r < 0)
		print_error("%s\n", f->error.message);
	assert_int_equal(r, 0);
	rec_store_info(store, &info);
	assert_string_equal(info.location, *wanted == '=' ? wanted + 1 : path_in(f, wanted, expected));
	assert_int_equal(info.codeframe, strstr(info.location, "/.codeframe/") != NULL);
	char *location = store->info.location != NULL && *wanted != '=' ? (char *)(uintptr_t)info.location : NULL;
	rec_store_close(store);
	rec_free(NULL, location);
}

static void assert_refused(struct fixture *f, const char *uri, int code, const char *why)
{
	struct rec_store *store = NULL;
	int r = rec_store_open(uri, NULL, &store, &f->error);
	assert_int_equal(r, code);
	assert_int_equal(f->error.code, code);
	assert_null(store);
	if (!strstr(f->error.message, why))
		fail_msg("'%s' does not say '%s'", f->error.message, why);
}

/* ---- Names ---- */

static void test_open__memory_is_a_store_of_its_own(void **state)
{
	struct fixture *f = *state;
	assert_opens(f, "memory:", REC_STORE_WRITE, "=memory:");
	assert_refused(f, "memory:name", REC_E_UNSUPPORTED, "takes no name");
}

static void test_open__other_kinds_are_refused_with_the_way_out(void **state)
{
	struct fixture *f = *state;
	assert_refused(f, "", REC_E_INVALID, "empty");
	assert_refused(f, "sqlite:", REC_E_INVALID, "sqlite:PATH");
	assert_refused(f, "dir:", REC_E_INVALID, "the path is missing");
	assert_refused(f, "dir:/no/such/place", REC_E_NO_STORE, "reconciler init");
	assert_refused(f, "https://user:secret@host/db", REC_E_UNSUPPORTED, "unknown kind");
	assert_null(strstr(f->error.message, "secret"));
}

/* Whatever is wrong with the address, or with this build, no message shows a part of the password. */
static void test_open__no_part_of_a_password_is_ever_shown(void **state)
{
	struct fixture *f = *state;
	static const char *const uris[] = {
		"postgresql://user:secret@127.0.0.1:1/db",
		"postgres://user:secret@127.0.0.1:1/db",
		"postgresql://user:pass@secret@127.0.0.1:1/db",
		"postgresql://user:pass/secret@127.0.0.1:1/db",
		"postgresql://user:secret@127.0.0.1:secret/db",
		"postgresql://user:%secret@127.0.0.1:1/db",
		"postgresql://[secret/db",
		"postgresql://127.0.0.1:1/db?user=u&password=secret",
		"postgresql://127.0.0.1:1/db?passwort=secret",
		"postgresql:host=127.0.0.1 port=1 user=u password='secret' dbname=d",
		"postgresql:host=127.0.0.1 port=1 password='secret",
		"postgresql:secret",
		"host=127.0.0.1 port=1 user=u password=secret dbname=d",
		"password = secret host=127.0.0.1 port=1",
		"dbname='secret",
	};
	for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
		struct rec_store *store = NULL;
		int r = rec_store_open(uris[i], NULL, &store, &f->error);
		assert_true(r == REC_E_BUSY || r == REC_E_INVALID || r == REC_E_UNSUPPORTED);
		assert_null(store);
		if (strstr(f->error.message, "secret"))
			fail_msg("%s", f->error.message);
	}
}

static void test_open__which_names_are_for_postgres(void **state)
{
	static const char *const are[] = {"postgresql://h/d", "postgres:d", "host=h dbname=d", "dbname = d"};
	static const char *const are_not[] = {"postgres.db", "./host=h", "sqlite:host=h", "guest=h", ""};
	(void)state;
	for (size_t i = 0; i < sizeof are / sizeof *are; i++)
		assert_true(rec_store_uri_is_postgres(are[i]));
	for (size_t i = 0; i < sizeof are_not / sizeof *are_not; i++)
		assert_false(rec_store_uri_is_postgres(are_not[i]));
}

static void test_open__sqlite_prefix_takes_the_path_as_it_is(void **state)
{
	struct fixture *f = *state;
	char uri[300];
	make_directory(f, "a");
	snprintf(uri, sizeof uri, "sqlite:%s/a", f->root);
	assert_opens(f, uri, REC_STORE_READ, "a"); /* even a directory: the backend says what is wrong with it */
}

static void test_open__bare_path_of_a_file(void **state)
{
	struct fixture *f = *state;
	make_directory(f, "a");
	make_file(f, "a/odd:name");
	assert_opens(f, "a/odd:name", REC_STORE_READ, "a/odd:name");
}

static void test_open__bare_path_of_nothing(void **state)
{
	struct fixture *f = *state;
	char path[256];
	assert_refused(f, path_in(f, "missing.db", path), REC_E_NO_STORE, "reconciler init");
	assert_refused(f, path_in(f, "missing/missing.db", path), REC_E_NO_STORE, "reconciler init");
	assert_opens(f, "missing.db", REC_STORE_INIT, "missing.db");
}

static void test_open__bare_path_of_something_else(void **state)
{
	struct fixture *f = *state;
	char path[256];
	make_directory(f, "a");
	assert_int_equal(mkfifo(path_in(f, "a/pipe", path), 0600), 0);
	assert_refused(f, path, REC_E_NOT_A_STORE, "neither a file nor a directory");
	assert_refused(f, "/dev/null", REC_E_NOT_A_STORE, "neither a file nor a directory");
	assert_int_equal(symlink("nowhere", path_in(f, "a/dangling", path)), 0);
	assert_refused(f, path, REC_E_NO_STORE, "reconciler init");
}

static void test_open__directory_is_searched_ours_first(void **state)
{
	struct fixture *f = *state;
	make_directory(f, "a/.codeframe");
	make_file(f, "a/.codeframe/state.db");
	assert_opens(f, "a", REC_STORE_READ, "a/.codeframe/state.db");
	assert_opens(f, "a/", REC_STORE_READ, "a/.codeframe/state.db");
	assert_opens(f, "a", REC_STORE_INIT, "a/.codeframe/state.db");
	make_directory(f, "a/.reconciler");
	assert_opens(f, "a", REC_STORE_READ, "a/.codeframe/state.db"); /* the directory alone is no store */
	make_file(f, "a/.reconciler/state.db");
	assert_opens(f, "a", REC_STORE_READ, "a/.reconciler/state.db");
}

static void test_open__directory_without_a_store(void **state)
{
	struct fixture *f = *state;
	char path[256];
	struct stat status;
	make_directory(f, "a");
	assert_refused(f, path_in(f, "a", path), REC_E_NO_STORE, "reconciler init");
	assert_opens(f, "a", REC_STORE_INIT, "a/.reconciler/state.db");
	assert_int_equal(stat(path_in(f, "a/.reconciler", path), &status), 0);
	assert_true(S_ISDIR(status.st_mode));
}

static void test_open__overlong_paths_are_refused(void **state)
{
	struct fixture *f = *state;
	char path[6000];
	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	assert_refused(f, path, REC_E_IO, "too long");
	for (size_t i = 0; i < sizeof path - 1; i++)
		path[i] = i % 2 ? '.' : '/';
	path[4090] = '\0';
	assert_refused(f, path, REC_E_INVALID, "longer than");
}

/* ---- Search ---- */

static void assert_discovers(struct fixture *f, const char *from, const char *wanted)
{
	char path[256], expected[256];
	struct rec_buffer found;
	rec_buffer_init(&found, NULL, 4096);
	rec_buffer_add_text(&found, ">");
	int r = rec_store_discover(path_in(f, from, path), &found, &f->error);
	if (wanted) {
		assert_int_equal(r, 0);
		assert_string_equal(found.data + 1, path_in(f, wanted, expected));
	} else {
		assert_int_equal(r, REC_NOT_FOUND);
		assert_string_equal(found.data, ">");
	}
	rec_buffer_release(&found);
}

static void test_discover__nearest_ancestor_wins_and_ours_within_one(void **state)
{
	struct fixture *f = *state;
	make_directory(f, "a/b/c");
	assert_discovers(f, "a/b/c", NULL);
	make_directory(f, "a/.reconciler");
	make_file(f, "a/.reconciler/state.db");
	assert_discovers(f, "a/b/c", "a/.reconciler/state.db");
	assert_discovers(f, "a", "a/.reconciler/state.db");
	assert_discovers(f, "", NULL);
	make_directory(f, "a/.codeframe");
	make_file(f, "a/.codeframe/state.db");
	assert_discovers(f, "a/b", "a/.reconciler/state.db");
	make_directory(f, "a/b/.codeframe");
	make_file(f, "a/b/.codeframe/state.db");
	assert_discovers(f, "a/b/c", "a/b/.codeframe/state.db");
	assert_discovers(f, "a/b/c/../c/.", "a/b/.codeframe/state.db");
	make_directory(f, "a/b/c/.reconciler");
	assert_discovers(f, "a/b/c", "a/b/.codeframe/state.db"); /* a directory alone is no store */
	make_file(f, "a/b/c/.reconciler/state.db");
	assert_discovers(f, "a/b/c", "a/b/c/.reconciler/state.db");
}

static void test_discover__from_the_root_ends(void **state)
{
	struct fixture *f = *state;
	struct rec_buffer found;
	rec_buffer_init(&found, NULL, 4096);
	assert_int_equal(rec_store_discover("/", &found, &f->error), REC_NOT_FOUND);
	rec_buffer_release(&found);
}

static void test_discover__from_nowhere_is_an_error(void **state)
{
	struct fixture *f = *state;
	char path[256];
	struct rec_buffer found;
	rec_buffer_init(&found, NULL, 4096);
	assert_int_equal(rec_store_discover(path_in(f, "missing", path), &found, &f->error), REC_E_IO);
	assert_non_null(strstr(f->error.message, "missing"));
	assert_int_equal(rec_store_discover("", &found, &f->error), REC_E_IO);
	rec_buffer_release(&found);
}

static void test_discover__result_too_long_for_the_buffer(void **state)
{
	struct fixture *f = *state;
	char path[256];
	struct rec_buffer found;
	make_directory(f, "a/.reconciler");
	make_file(f, "a/.reconciler/state.db");
	rec_buffer_init(&found, NULL, 10);
	assert_int_equal(rec_store_discover(path_in(f, "a", path), &found, &f->error), REC_E_LIMIT);
	rec_buffer_release(&found);
}

static void test_open_and_discover__fail_cleanly_without_memory(void **state)
{
	struct fixture *f = *state;
	char path[256];
	make_directory(f, "a/.reconciler");
	make_file(f, "a/.reconciler/state.db");
	for (uint64_t n = 1;; n++) {
		struct rec_failing_allocator memory;
		struct rec_buffer found;
		rec_failing_allocator_init(&memory, n, 1);
		rec_buffer_init(&found, &memory.allocator, 4096);
		int r = rec_store_discover(path_in(f, "a", path), &found, &f->error);
		rec_buffer_release(&found);
		assert_int_equal(memory.live, 0);
		if (r == 0)
			break;
		assert_int_equal(r, REC_E_NOMEM);
	}
	for (uint64_t n = 1;; n++) {
		struct rec_failing_allocator memory;
		struct rec_store *store = NULL;
		rec_failing_allocator_init(&memory, n, 1);
		const struct rec_store_options options = {.mode = REC_STORE_READ, .allocator = &memory.allocator};
		int r = rec_store_open(path_in(f, "a", path), &options, &store, &f->error);
		char *location = r == 0 ? (char *)(uintptr_t)store->info.location : NULL;
		rec_store_close(store);
		rec_free(NULL, location);
		assert_int_equal(memory.live, 0);
		if (r == 0)
			break;
		assert_int_equal(r, REC_E_NOMEM);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_open__memory_is_a_store_of_its_own),
		TEST(test_open__other_kinds_are_refused_with_the_way_out),
		TEST(test_open__no_part_of_a_password_is_ever_shown),
		TEST(test_open__which_names_are_for_postgres),
		TEST(test_open__sqlite_prefix_takes_the_path_as_it_is),
		TEST(test_open__bare_path_of_a_file),
		TEST(test_open__bare_path_of_nothing),
		TEST(test_open__bare_path_of_something_else),
		TEST(test_open__directory_is_searched_ours_first),
		TEST(test_open__directory_without_a_store),
		TEST(test_open__overlong_paths_are_refused),
		TEST(test_discover__nearest_ancestor_wins_and_ours_within_one),
		TEST(test_discover__from_the_root_ends),
		TEST(test_discover__from_nowhere_is_an_error),
		TEST(test_discover__result_too_long_for_the_buffer),
		TEST(test_open_and_discover__fail_cleanly_without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
