/* Tests of cli/git-remote.h. */
#include "base/test-support.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "cli/git-remote.h"

#define REMOTE(url) "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = " url "\n\tfetch = +refs/*\n"

static void test_git_remote__hosts_are_found_in_every_form_of_url(void **state)
{
	static const struct {
		const char *text;
		bool github;
	} cases[] = {
		{REMOTE("https://github.com/o/r.git"), true},
		{REMOTE("https://user:secret@GitHub.com/o/r"), true},
		{REMOTE("git@github.com:o/r.git"), true},
		{REMOTE("ssh://git@github.com:22/o/r"), true},
		{"[remote \"origin\"]\n url=github.com:o/r", true},
		{"[remote \"a\"]\nurl = https://x.test/o\n[remote \"b\"]\r\n\turl = https://github.com/o/r\r\n", true},
		{REMOTE("https://github.com.evil.test/o/r"), false},
		{REMOTE("https://evil.test/github.com/o/r"), false},
		{REMOTE("https://notgithub.com/o/r"), false},
		{"[url \"https://github.com/\"]\n\turl = https://github.com/\n", false},
		{"[remote \"origin\"]\n\tpushurl = https://github.com/o/r\n", false},
		{"[remote \"origin\"]\n\turl\n\turl =\n[branch]\nurl = git@github.com:o/r\n", false},
		{"", false},
		{"url = https://github.com/o/r", false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (git_config_names_host(rec_slice_of(cases[i].text), "github.com") != cases[i].github)
			fail_msg("case %zu: %s", i, cases[i].text);
}

static char folder[] = "/tmp/test-git-remote-XXXXXX";

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

static bool is_on(const char *name)
{
	char path[200];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return git_remote_is_on(path, "github.com");
}

static void test_git_remote__the_nearest_repository_counts(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_false(is_on("a/b"));
	write_file("a/.git/config", REMOTE("git@github.com:o/r"));
	assert_true(is_on("a"));
	assert_true(is_on("a/.reconciler"));
	assert_true(is_on("a/deeper/not/there"));
	assert_false(is_on("b"));
	write_file("a/inner/.git/config", REMOTE("git@elsewhere.test:o/r"));
	assert_false(is_on("a/inner/x"));
}

static void test_git_remote__a_worktree_leads_to_its_repository(void **state)
{
	(void)state;
	write_file("a/.git/worktrees/w/commondir", "../..\n");
	write_file("w/.git", "gitdir: ../a/.git/worktrees/w\n");
	assert_true(is_on("w/sub"));
	write_file("v/.git", "gitdir:\n");
	assert_false(is_on("v"));
	write_file("u/.git", "nonsense");
	assert_false(is_on("u"));
	assert_false(git_remote_is_on(NULL, "github.com"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_git_remote__hosts_are_found_in_every_form_of_url),
		cmocka_unit_test(test_git_remote__the_nearest_repository_counts),
		cmocka_unit_test(test_git_remote__a_worktree_leads_to_its_repository),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
