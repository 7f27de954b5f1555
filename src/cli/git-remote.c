/* git-remote.c - see git-remote.h. A worktree has a file .git that names its folder, and that folder has a file that
 * names the repository's own, where the configuration is (gitrepository-layout(5)). */
#include "cli/git-remote.h"

#include <limits.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"

#define CONFIG_BYTES_MAX (1u << 20)

/* ---- The text ----------------------------------------------------------------------------------- */

static struct rec_slice trimmed(struct rec_slice text)
{
	while (text.length && (unsigned char)text.data[0] <= ' ') {
		text.data++;
		text.length--;
	}
	while (text.length && (unsigned char)text.data[text.length - 1] <= ' ')
		text.length--;
	return text;
}

static bool begins(struct rec_slice text, const char *word)
{
	size_t length = strlen(word);
	return text.length >= length && strncasecmp(text.data, word, length) == 0;
}

static struct rec_slice after(struct rec_slice text, size_t length)
{
	return (struct rec_slice){text.data + length, text.length - length};
}

/* The host of "scheme://user@HOST:port/..." or "user@HOST:path". */
static struct rec_slice host_of(struct rec_slice url)
{
	for (size_t i = 0; i + 3 <= url.length; i++)
		if (memcmp(url.data + i, "://", 3) == 0) {
			url = after(url, i + 3);
			break;
		}
	size_t end = 0;
	for (size_t i = 0; i < url.length && url.data[i] != '/'; i++)
		if (url.data[i] == '@') {
			url = after(url, i + 1);
			i = 0;
		}
	while (end < url.length && url.data[end] != '/' && url.data[end] != ':')
		end++;
	return (struct rec_slice){url.data, end};
}

/* The value of `url = VALUE`, or an empty slice. */
static struct rec_slice url_of(struct rec_slice line)
{
	if (!begins(line, "url"))
		return (struct rec_slice){0};
	struct rec_slice rest = trimmed(after(line, 3));
	return begins(rest, "=") ? trimmed(after(rest, 1)) : (struct rec_slice){0};
}

bool git_config_names_host(struct rec_slice text, const char *host)
{
	bool remote = false;
	while (text.length) {
		const char *end = memchr(text.data, '\n', text.length);
		size_t length = end ? (size_t)(end - text.data) : text.length;
		struct rec_slice line = trimmed((struct rec_slice){text.data, length});
		text = after(text, end ? length + 1 : length);
		if (begins(line, "["))
			remote = begins(line, "[remote ");
		struct rec_slice found = remote ? host_of(url_of(line)) : (struct rec_slice){0};
		if (found.length && found.length == strlen(host) && begins(found, host))
			return true;
	}
	return false;
}

/* ---- The files ---------------------------------------------------------------------------------- */

/* One line of a small file, after `prefix`, as a path below `base` unless it is absolute. false: there is none. */
static bool pointer_read(const char *path, const char *prefix, const char *base, char out[PATH_MAX])
{
	rec_cleanup(rec_buffer_release) struct rec_buffer text;
	rec_buffer_init(&text, NULL, PATH_MAX);
	if (rec_file_read(path, PATH_MAX, &text, NULL) != 0)
		return false;
	struct rec_slice line = trimmed(rec_buffer_slice(&text));
	if (!begins(line, prefix))
		return false;
	line = trimmed(after(line, strlen(prefix)));
	bool absolute = line.length && line.data[0] == '/';
	int n = snprintf(out, PATH_MAX, "%s%s%.*s", absolute ? "" : base, absolute ? "" : "/", (int)line.length,
			 line.length ? line.data : "");
	return line.length > 0 && n > 0 && n < PATH_MAX;
}

static bool config_names(const char *folder, const char *host)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer text;
	char path[PATH_MAX + 16];
	rec_buffer_init(&text, NULL, CONFIG_BYTES_MAX);
	snprintf(path, sizeof path, "%s/config", folder);
	return rec_file_read(path, CONFIG_BYTES_MAX, &text, NULL) == 0 &&
	       git_config_names_host(rec_buffer_slice(&text), host);
}

/* `git`: a folder, or the file of a worktree or submodule. */
static bool repository_is_on(const char *tree, const char *git, bool folder, const char *host)
{
	char own[PATH_MAX], common[PATH_MAX], path[PATH_MAX + 16];
	if (folder)
		return config_names(git, host);
	if (!pointer_read(git, "gitdir:", tree, own))
		return false;
	snprintf(path, sizeof path, "%s/commondir", own);
	return config_names(pointer_read(path, "", own, common) ? common : own, host);
}

bool git_remote_is_on(const char *directory, const char *host)
{
	char tree[PATH_MAX], git[PATH_MAX + 8];
	struct stat status;
	if (!directory || (size_t)snprintf(tree, sizeof tree, "%s", directory) >= sizeof tree)
		return false;
	for (char *slash = tree + strlen(tree); slash; slash = strrchr(tree, '/')) {
		*slash = '\0';
		snprintf(git, sizeof git, "%s/.git", tree);
		if (stat(git, &status) == 0)
			return repository_is_on(tree, git, S_ISDIR(status.st_mode), host);
	}
	return false;
}
