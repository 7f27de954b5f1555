/* command-line.c - commands that stand in texts, and where programs are. No shell is ever involved. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/settings.h"

/* One word from *at into `out` (as large as the whole text); *ret_found: there was one. */
static int word_read(const char **at, char *out, bool *ret_found)
{
	const char *in = *at;
	char quote = 0;
	while (*in == ' ' || *in == '\t' || *in == '\n')
		in++;
	*ret_found = *in != '\0';
	while (*in && (quote || (*in != ' ' && *in != '\t' && *in != '\n'))) {
		if (!quote && (*in == '\'' || *in == '"')) {
			quote = *in++;
		} else if (quote && *in == quote) {
			quote = 0;
			in++;
		} else {
			bool escaped = *in == '\\' && quote != '\'' && in[1] && (!quote || strchr("\"\\$`", in[1]));
			in += escaped;
			*out++ = *in++;
		}
	}
	*out = '\0';
	*at = in;
	return quote ? REC_E_INVALID : 0;
}

int command_split(struct cli *cli, const char *text, const char ***ret_words, size_t *ret_count,
		  struct rec_error *error)
{
	size_t length = strlen(text), count = 0;
	const char **words = rec_arena_alloc(&cli->arena, (length / 2 + 2) * sizeof *words);
	char shown[80];
	bool found = true;
	for (const char *at = text; words && found;) {
		char *word = rec_arena_alloc(&cli->arena, length + 1);
		if (!word)
			return rec_fail_nomem(error);
		if (word_read(&at, word, &found) != 0)
			return rec_fail(error, REC_E_INVALID, "%s: a quote is not closed",
					rec_text_shown(shown, sizeof shown, rec_slice_of(text)));
		if (found)
			words[count++] = word;
	}
	if (!words)
		return rec_fail_nomem(error);
	words[count] = NULL;
	*ret_words = words;
	*ret_count = count;
	return 0;
}

/* ---- Programs ----------------------------------------------------------------------------------- */

/* 0, or why it cannot be executed. */
static int program_problem(const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return errno;
	if (S_ISDIR(status.st_mode))
		return EISDIR;
	return access(path, X_OK) == 0 ? 0 : errno;
}

/* As execvp(3): the first in PATH that can be executed; else what was wrong with the last one found. */
static int search_path(const char *name, char out[PATH_MAX])
{
	const char *path = getenv("PATH");
	int problem = ENOENT;
	for (const char *at = path && *path ? path : "/usr/local/bin:/usr/bin:/bin"; at;) {
		size_t length = strcspn(at, ":");
		int n = snprintf(out, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "./", name);
		int why = n < 0 || n >= PATH_MAX ? ENAMETOOLONG : program_problem(out);
		if (why == 0)
			return 0;
		problem = why == ENOENT || why == ENOTDIR ? problem : why;
		at = at[length] ? at + length + 1 : NULL;
	}
	return problem;
}

/* As a shell does, a relative path is meant from here. */
static int absolute(struct cli *cli, const char *path, const char **ret_path)
{
	char here[PATH_MAX];
	if (!getcwd(here, sizeof here))
		return errno;
	size_t length = strlen(here) + strlen(path) + 2;
	char *out = rec_arena_alloc(&cli->arena, length);
	if (!out)
		return ENOMEM;
	snprintf(out, length, "%s%s%s", path[0] == '/' ? "" : here, path[0] == '/' ? "" : "/", path);
	*ret_path = out;
	return 0;
}

int command_resolve(struct cli *cli, const char **command, struct rec_error *error)
{
	char found[PATH_MAX], shown[200];
	const char *path = command[0];
	int problem = 0;
	if (!strchr(command[0], '/')) {
		problem = search_path(command[0], found);
		path = found;
	}
	if (problem == 0)
		problem = absolute(cli, path, &path);
	if (problem == 0)
		problem = program_problem(path);
	if (problem)
		return rec_fail(error, REC_E_INVALID, "%s: %s (a command begins with a program)",
				rec_text_shown(shown, sizeof shown, rec_slice_of(command[0])), strerror(problem));
	command[0] = path;
	return 0;
}

const char *program_of_ours(struct cli *cli, const char *name, const char *folder)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length < 0)
		return NULL;
	self[length] = '\0';
	char *slash = strrchr(self, '/');
	size_t capacity = (size_t)length + strlen(name) + strlen(folder) + 40;
	char *path = rec_arena_alloc(&cli->arena, capacity);
	if (!path || !slash)
		return NULL;
	*slash = '\0';
	snprintf(path, capacity, "%s/../libexec/reconciler/%s", self, name);
	if (access(path, X_OK) == 0)
		return path;
	snprintf(path, capacity, "%s/../%s/%s", self, folder, name);
	return access(path, X_OK) == 0 ? path : NULL;
}
