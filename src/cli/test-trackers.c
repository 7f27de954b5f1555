/* Tests of cli/trackers.h: from the configuration to the registry. */
#include "base/test-support.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "cli/config.h"
#include "cli/trackers.h"

static char folder[] = "/tmp/test-trackers-XXXXXX";

static void write_file(const char *name, const char *text)
{
	struct rec_error error;
	char path[200];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rec_directory_make(path, &error), 0);
	path[strlen(path)] = '/';
	assert_int_equal(rec_file_replace(path, rec_slice_of(text), 0600, &error), 0);
}

/* What trackers_open returns for this configuration of a store in folder/.reconciler. */
static int open_with(const char *text, struct rec_trackers **t)
{
	struct cli cli = {.verbosity = -1};
	struct rec_error error;
	char uri[200], directory[200];
	const struct rec_store_options options = {.mode = REC_STORE_INIT};
	write_file(".reconciler/reconciler.conf", text);
	snprintf(uri, sizeof uri, "sqlite:%s/.reconciler/state.db", folder);
	snprintf(directory, sizeof directory, "%s/.reconciler", folder);
	rec_arena_init(&cli.arena, NULL);
	assert_int_equal(rec_store_open(uri, &options, &cli.store, &error), 0);
	assert_int_equal(config_read(directory, &cli.arena, &cli.config, &error), 0);
	int status = trackers_open(&cli, t);
	rec_store_close(cli.store);
	rec_arena_release(&cli.arena);
	return status;
}

/* "NAME " for each. */
static void assert_names(const char *text, const char *wanted)
{
	struct rec_trackers *t = NULL;
	char names[200] = "";
	assert_int_equal(open_with(text, &t), STATUS_OK);
	for (size_t i = 0; i < rec_trackers_count(t); i++) {
		size_t used = strlen(names);
		snprintf(names + used, sizeof names - used, "%s ", rec_tracker_name(t, i));
	}
	assert_string_equal(names, wanted);
	rec_trackers_free(t);
}

static int setup(void **state)
{
	(void)state;
	unsetenv("GITHUB_TOKEN");
	unsetenv("GH_TOKEN");
	if (!mkdtemp(folder))
		return -1;
	setenv("XDG_CONFIG_HOME", folder, 1);
	return 0;
}

static const char own[] =
	"[tracker jira]\ncommand = sh -c 'cat >/dev/null'\nurl_prefix = https://jira.test/\ntimeout = 5s\n";

static void test_trackers__each_section_is_one(void **state)
{
	struct rec_trackers *t = NULL;
	(void)state;
	assert_names("", "");
	assert_names(own, "jira ");
	assert_int_equal(open_with(own, &t), STATUS_OK);
	assert_int_equal(rec_trackers_find(t, rec_slice_of("https://jira.test/P-1")), 0);
	rec_trackers_free(t);
}

static void test_trackers__what_is_missing_is_named(void **state)
{
	struct rec_trackers *t = NULL;
	(void)state;
	assert_int_equal(open_with("[tracker a]\ncommand = true\n", &t), STATUS_TROUBLE);
	assert_int_equal(open_with("[tracker a]\nurl_prefix = https://x/\n", &t), STATUS_TROUBLE);
	assert_int_equal(open_with("[tracker a]\nurl_prefix = https://x/\ncommand = 'open\n", &t), STATUS_TROUBLE);
	assert_int_equal(open_with("[tracker github]\nurl_prefix = https://x/\ncommand = true\n", &t), STATUS_TROUBLE);
	assert_null(t);
}

/* A program that is not there is told when it is asked, as an unreachable tracker. */
static void test_trackers__a_missing_program_is_no_error_yet(void **state)
{
	(void)state;
	assert_names("[tracker a]\nurl_prefix = https://x/\ncommand = no-such-program-here\n", "a ");
}

static void test_trackers__github_needs_a_remote_and_a_token_unless_told(void **state)
{
	(void)state;
	assert_names("[github]\nreconcile_github = true\n", "github ");
	assert_names("[github]\nreconcile_github = false\n", "");
	setenv("GITHUB_TOKEN", "t", 1);
	assert_names("", ""); /* no repository */
	write_file(".git/config", "[remote \"origin\"]\n\turl = git@github.com:o/r\n");
	assert_names("", "github ");
	assert_names(own, "jira github ");
	assert_names("[github]\nreconcile_github = no\n", "");
	setenv("GITHUB_TOKEN", "", 1);
	assert_names("", "");
	setenv("GH_TOKEN", "t", 1);
	assert_names("", "github ");
	unsetenv("GH_TOKEN");
	assert_names("[github]\ntoken_file = /nowhere/at/all\n", "");
	assert_names("[github]\ntoken_file = /dev/null\n", "github ");
}

static void test_trackers__an_enterprise_has_its_own_addresses(void **state)
{
	struct rec_trackers *t = NULL;
	(void)state;
	assert_int_equal(open_with("[github]\nreconcile_github = true\napi_url = https://git.corp.test/api/v3/\n", &t),
			 STATUS_OK);
	assert_int_equal(rec_trackers_find(t, rec_slice_of("https://git.corp.test/o/r/issues/1")), 0);
	assert_int_equal(rec_trackers_find(t, rec_slice_of("https://github.com/o/r/issues/1")), REC_TRACKER_NONE);
	rec_trackers_free(t);
	assert_int_equal(open_with("[github]\nreconcile_github = true\napi_url = http://127.0.0.1:8080\n", &t),
			 STATUS_OK);
	assert_int_equal(rec_trackers_find(t, rec_slice_of("https://github.com/o/r/issues/1")), 0);
	rec_trackers_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trackers__each_section_is_one),
		cmocka_unit_test(test_trackers__what_is_missing_is_named),
		cmocka_unit_test(test_trackers__a_missing_program_is_no_error_yet),
		cmocka_unit_test(test_trackers__github_needs_a_remote_and_a_token_unless_told),
		cmocka_unit_test(test_trackers__an_enterprise_has_its_own_addresses),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
