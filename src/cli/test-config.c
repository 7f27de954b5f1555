/* The configuration file: what is accepted, and how a mistake is told. */
#include "base/test-support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cli/config.h"

static char directory[] = "/tmp/test-config-XXXXXX";
static char path[128];
static struct rec_error error;

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof path, "%s/reconciler.conf", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static int check(const char *text)
{
	error.message[0] = '\0';
	assert_int_equal(rec_file_replace(path, rec_slice_of(text), 0600, &error), 0);
	return config_read_file(path, NULL, &error);
}

static void assert_refused(const char *text, int line, const char *words)
{
	char place[160];
	assert_int_equal(check(text), REC_E_INVALID);
	snprintf(place, sizeof place, "%s, line %d: ", path, line);
	if (strncmp(error.message, place, strlen(place)) != 0 || !strstr(error.message, words))
		fail_msg("\"%s\" names neither \"%s\" nor \"%s\"", error.message, place, words);
}

static void test_config__takes_every_documented_key(void **state)
{
	(void)state;
	assert_int_equal(check("; a comment\n"
			       "[run]\n"
			       "max-parallel = 8\n"
			       "reconcile-interval: 30s\n"
			       "on-failure = stop\n"
			       "retry = 3\n"
			       "retry-delay = 10s\n"
			       "timeout = 2h\n"
			       "stall-timeout = 0\n"
			       "settle = 500ms\n"
			       "grace = 10\n"
			       "all-ready = yes\nwait = true\nignore-blockers = off\nchild-owns-run = 1\n"
			       "close-issues = no\n"
			       "dry-run = no\ndetach = false\n"
			       "workdir = /srv/a b\n"
			       "env = A=b\n"
			       "log-limit = 64M\n"
			       "on-end = sh -c \"echo a ; echo b\"\n"
			       "\n"
			       "# another\n"
			       "[github]\n"
			       "reconcile_github = true\napi_url = https://api.github.com\ntoken_file = /x\n"
			       "interval = 60s\nbudget_share = 0.6\n"
			       "[tracker jira]\n"
			       "command = jira-helper --x\nurl_prefix = https://jira/\ntimeout = 10s\n"
			       "[worker]\n"
			       "command = ./work\nenv.LANG = C.UTF-8\n"
			       "[postgres]\n"
			       "pooled = true\n"),
			 0);
}

static void test_config__may_be_missing_or_empty(void **state)
{
	(void)state;
	assert_int_equal(check(""), 0);
	assert_int_equal(check("\n\n; nothing\n"), 0);
	assert_int_equal(config_read_file("/nonexistent/reconciler.conf", NULL, &error), REC_NOT_FOUND);
}

static void test_config__names_file_and_line_of_an_unknown_key(void **state)
{
	(void)state;
	assert_refused("[run]\nmax-parallel = 8\n\nmax-paralel = 9\n", 4, "max-paralel is not a key");
	assert_refused("[run]\nMax-Parallel = 8\n", 2, "is not a key");
	assert_refused("[worker]\nenv. = x\n", 2, "is not a key");
	assert_refused("[run\nwait = 1\n", 1, "neither [section] nor key = value");
}

static void test_config__names_an_unknown_section(void **state)
{
	(void)state;
	assert_refused("[rum]\nwait = true\n", 2, "rum is not a section");
	assert_refused("[tracker ]\ntimeout = 1s\n", 2, "is not a section");
	assert_refused("wait = true\n", 1, "stands before the first [section]");
	assert_refused("[run]\n\n  indented line without equals\n", 3, "neither");
}

/* What config_read says of the file beside the store. */
static void assert_read(const char *text, int line, const char *words)
{
	char place[160];
	struct config *config;
	rec_cleanup(rec_arena_release) struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	assert_int_equal(setenv("XDG_CONFIG_HOME", "/nonexistent", 1), 0);
	assert_int_equal(rec_file_replace(path, rec_slice_of(text), 0600, &error), 0);
	assert_int_equal(config_read(directory, &arena, &config, &error), line ? REC_E_INVALID : 0);
	snprintf(place, sizeof place, "%s, line %d: ", path, line);
	if (line && (strncmp(error.message, place, strlen(place)) != 0 || !strstr(error.message, words)))
		fail_msg("\"%s\" names neither \"%s\" nor \"%s\"", error.message, place, words);
}

static void test_config__takes_a_name_once_in_a_file(void **state)
{
	(void)state;
	assert_read("[tracker a]\ntimeout = 1s\n[tracker b]\ntimeout = 1s\n  [tracker a]\ntimeout = 2s\n", 6,
		    "tracker a stands here a second time, after line 1 (");
	assert_read("\n[tracker a]\ntimeout = 1s\n[tracker a]\ncommand = x\n", 5, "a second time, after line 2 (");
	assert_read("[tracker a]\ntimeout = 1s\ncommand = [x]\n", 0, "");
	assert_read("[run]\nwait = 1\n[worker]\ncommand = x\n[run]\nretry = 1\n", 0, "");
}

static void test_config__takes_a_key_once_in_a_file(void **state)
{
	(void)state;
	assert_read("[run]\nretry = 1\nwait = 1\nretry = 2\n", 4, "retry stands here a second time, after line 2 (");
	assert_read("[worker]\nenv.A = 1\nenv.B = 1\nenv.A = 1\n", 4, "env.A stands here a second time");
	assert_read("[run]\nretry = 1\n[worker]\nenv.A = 1\n[run]\nretry = 1\n", 6, "a second time, after line 2 (");
}

static void test_config__tells_where_a_value_stands(void **state)
{
	struct config *config;
	rec_cleanup(rec_arena_release) struct rec_arena arena;
	(void)state;
	rec_arena_init(&arena, NULL);
	assert_int_equal(setenv("XDG_CONFIG_HOME", "/nonexistent", 1), 0);
	assert_int_equal(rec_file_replace(path, rec_slice_of("\n[run]\nsettle = 1s\nretry = 2\n"), 0600, &error), 0);
	assert_int_equal(config_read(directory, &arena, &config, &error), 0);
	const struct config_pair *pair = config_pair(config, "run", "retry");
	assert_string_equal(pair->value, "2");
	assert_string_equal(pair->path, path);
	assert_int_equal(pair->line, 4);
	assert_null(config_pair(config, "run", "wait"));
}

static void test_config__checks_values(void **state)
{
	(void)state;
	assert_refused("[run]\nmax-parallel = many\n", 2, "max-parallel must be a number");
	assert_refused("[run]\nmax-parallel = -1\n", 2, "must be a number");
	assert_refused("[run]\nsettle = soon\n", 2, "settle must be a duration");
	assert_refused("[run]\nlog-limit = big\n", 2, "must be a size");
	assert_refused("[run]\nwait = maybe\n", 2, "must be true or false");
	assert_refused("[run]\non-failure = explode\n", 2, "must be continue or stop");
	assert_refused("[github]\nbudget_share = 1.5\n", 2, "between 0 and 1");
	assert_refused("[github]\nbudget_share = \n", 2, "between 0 and 1");
	assert_refused("[worker]\ncommand =\n", 2, "needs a value");
	assert_refused("[tracker a]\ntimeout = 0\n", 2, "timeout must be a duration of more than 0 (");
	assert_refused("[tracker a]\ntimeout = 0ms\n", 2, "more than 0");
	assert_refused("[tracker a]\ntimeout = x\n", 2, "must be a duration");
}

static void test_config__loses_nothing_of_a_long_line(void **state)
{
	(void)state;
	char text[5000];
	int head = snprintf(text, sizeof text, "[worker]\ncommand = ");
	memset(text + head, 'x', 3000);
	snprintf(text + head + 3000, sizeof text - (size_t)head - 3000, "\nnonsense = 1\n");
	assert_refused(text, 3, "nonsense");
	memset(text + head, 'x', sizeof text - (size_t)head - 1);
	text[sizeof text - 1] = '\0';
	assert_refused(text, 2, "too long");
}

static void test_config__loses_nothing_of_a_long_name(void **state)
{
	(void)state;
	assert_refused("[worker]\nenv.AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEEEEEEEEE = x\n", 2, "too long a name");
	assert_refused("[tracker AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEEEEEEEEE]\ntimeout = 1s\n", 2,
		       "too long a name");
}

static void test_config__refuses_what_is_no_text(void **state)
{
	(void)state;
	assert_int_equal(rec_file_replace(path, (struct rec_slice){"[run]\0x", 7}, 0600, &error), 0);
	assert_int_equal(config_read_file(path, NULL, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "NUL"));
}

static void test_config__is_read_beside_the_store_and_for_the_user(void **state)
{
	(void)state;
	char nested[128], file[192];
	struct config *config;
	rec_cleanup(rec_arena_release) struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	assert_int_equal(setenv("XDG_CONFIG_HOME", "/nonexistent", 1), 0);
	assert_int_equal(check("[run]\nbad = 1\n"), REC_E_INVALID);
	assert_int_equal(config_read(directory, &arena, &config, &error), REC_E_INVALID);
	assert_int_equal(config_read(NULL, &arena, &config, &error), 0);
	snprintf(nested, sizeof nested, "%s/reconciler", directory);
	snprintf(file, sizeof file, "%s/reconciler.conf", nested);
	assert_int_equal(mkdir(nested, 0700), 0);
	assert_int_equal(rec_file_replace(file, rec_slice_of("[rum]\nx = 1\n"), 0600, &error), 0);
	assert_int_equal(setenv("XDG_CONFIG_HOME", directory, 1), 0);
	assert_int_equal(config_read(NULL, &arena, &config, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, file));
	assert_int_equal(setenv("XDG_CONFIG_HOME", "relative/is/ignored", 1), 0);
	assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
	assert_int_equal(config_read(NULL, &arena, &config, &error), 0);
	unlink(file);
	rmdir(nested);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config__takes_every_documented_key),
		cmocka_unit_test(test_config__may_be_missing_or_empty),
		cmocka_unit_test(test_config__names_file_and_line_of_an_unknown_key),
		cmocka_unit_test(test_config__names_an_unknown_section),
		cmocka_unit_test(test_config__takes_a_name_once_in_a_file),
		cmocka_unit_test(test_config__takes_a_key_once_in_a_file),
		cmocka_unit_test(test_config__tells_where_a_value_stands),
		cmocka_unit_test(test_config__checks_values),
		cmocka_unit_test(test_config__loses_nothing_of_a_long_line),
		cmocka_unit_test(test_config__loses_nothing_of_a_long_name),
		cmocka_unit_test(test_config__refuses_what_is_no_text),
		cmocka_unit_test(test_config__is_read_beside_the_store_and_for_the_user),
	};
	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
