/* config.c - inih reads lines; this file knows the keys.
 *
 * inih's defaults would lose something silently: a line over 200 bytes is split in two, a name over 49 bytes
 * is cut, " ;" ends a value (also inside a quoted command), an indented line continues the one before. So the
 * lines are read here, over-long ones refused, and those extensions switched off.
 */
#include "cli/config.h"

#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/timestamp.h"

#define LINE_BYTES_MAX 4096
#define FILE_BYTES_MAX (1u << 20)
#define NAME_BYTES_MAX 48 /* inih cuts names at 49 */
#define SHOWN_BYTES 80

enum value_kind {
	VALUE_TEXT,
	VALUE_COUNT,
	VALUE_DURATION,
	VALUE_TIMEOUT, /* a duration that is not 0 */
	VALUE_SIZE,
	VALUE_BOOLEAN,
	VALUE_SHARE,
	VALUE_ON_FAILURE
};

struct key_spec {
	const char *section; /* a trailing blank: a name follows, as in [tracker NAME] */
	const char *key;     /* a trailing dot: a name follows, as in env.NAME */
	enum value_kind kind;
};

static const struct key_spec keys[] = {
	{"run", "all-ready", VALUE_BOOLEAN},
	{"run", "max-parallel", VALUE_COUNT},
	{"run", "reconcile-interval", VALUE_DURATION},
	{"run", "on-failure", VALUE_ON_FAILURE},
	{"run", "retry", VALUE_COUNT},
	{"run", "retry-delay", VALUE_DURATION},
	{"run", "timeout", VALUE_DURATION},
	{"run", "stall-timeout", VALUE_DURATION},
	{"run", "settle", VALUE_DURATION},
	{"run", "grace", VALUE_DURATION},
	{"run", "wait", VALUE_BOOLEAN},
	{"run", "ignore-blockers", VALUE_BOOLEAN},
	{"run", "close-issues", VALUE_BOOLEAN},
	{"run", "child-owns-run", VALUE_BOOLEAN},
	{"run", "dry-run", VALUE_BOOLEAN},
	{"run", "detach", VALUE_BOOLEAN},
	{"run", "workdir", VALUE_TEXT},
	{"run", "env", VALUE_TEXT},
	{"run", "log-limit", VALUE_SIZE},
	{"run", "on-end", VALUE_TEXT},
	{"github", "reconcile_github", VALUE_BOOLEAN},
	{"github", "api_url", VALUE_TEXT},
	{"github", "token_file", VALUE_TEXT},
	{"github", "interval", VALUE_DURATION},
	{"github", "budget_share", VALUE_SHARE},
	{"tracker ", "command", VALUE_TEXT},
	{"tracker ", "url_prefix", VALUE_TEXT},
	{"tracker ", "timeout", VALUE_TIMEOUT},
	{"worker", "command", VALUE_TEXT},
	{"worker", "env.", VALUE_TEXT},
	{"postgres", "pooled", VALUE_BOOLEAN},
	{"postgres", "lease", VALUE_DURATION},
};
#define KEY_COUNT (sizeof keys / sizeof keys[0])

/* One file being read. */
struct reading {
	const char *path;
	const char *rest; /* of the file's text, NUL-terminated */
	int line, head;   /* the one inih holds, and the last that begins a section */
	const char *kept; /* path, as long as config lives */
	struct rec_error *error;
	int failed; /* the first error's code */
	struct config *config;
};

/* ---- What was read ------------------------------------------------------------------------------ */

struct config {
	struct rec_arena *arena;
	struct config_pair *first, *last;
};

const struct config_pair *config_first(const struct config *config)
{
	return config ? config->first : NULL;
}

const struct config_pair *config_pair(const struct config *config, const char *section, const char *key)
{
	const struct config_pair *found = NULL;
	for (const struct config_pair *pair = config_first(config); pair; pair = pair->next)
		if (strcmp(pair->section, section) == 0 && strcmp(pair->key, key) == 0)
			found = pair;
	return found;
}

const char *config_text(const struct config *config, const char *section, const char *key)
{
	const struct config_pair *pair = config_pair(config, section, key);
	return pair ? pair->value : NULL;
}

static int config_add(const struct reading *reading, const char *section, const char *key, const char *value)
{
	struct config *config = reading->config;
	struct config_pair *pair = rec_arena_alloc(config->arena, sizeof *pair);
	const char *texts[] = {section, key, value};
	for (size_t i = 0; pair && i < 3; i++)
		texts[i] = texts[i] ? rec_arena_strndup(config->arena, texts[i], strlen(texts[i])) : NULL;
	if (!pair || !texts[0] || !texts[1] || !texts[2])
		return REC_E_NOMEM;
	*pair = (struct config_pair){texts[0], texts[1], texts[2], reading->kept, reading->line, reading->head, NULL};
	*(config->last ? &config->last->next : &config->first) = pair;
	config->last = pair;
	return 0;
}

static int fail_here(struct reading *reading, const char *name, const char *why)
{
	char shown[SHOWN_BYTES];
	if (!reading->failed)
		reading->failed = rec_fail(reading->error, REC_E_INVALID, "%s, line %d: %s %s", reading->path,
					   reading->line, rec_text_shown(shown, sizeof shown, rec_slice_of(name)), why);
	return 0; /* inih: stop */
}

/* fgets for inih, over memory, counting lines. */
static char *read_line(char *out, int capacity, void *context)
{
	struct reading *reading = context;
	size_t length = strcspn(reading->rest, "\n");
	if (reading->failed || reading->rest[0] == '\0')
		return NULL;
	reading->line++;
	if (reading->rest[strspn(reading->rest, " \t")] == '[')
		reading->head = reading->line;
	length += reading->rest[length] == '\n';
	if (length >= LINE_BYTES_MAX || length >= (size_t)capacity) {
		fail_here(reading, "the line", "is too long (at most 4,000 bytes)");
		return NULL;
	}
	memcpy(out, reading->rest, length);
	out[length] = '\0';
	reading->rest += length;
	return out;
}

/* ---- Values ------------------------------------------------------------------------------------- */

static bool is_boolean(const char *text)
{
	static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "1", "0", NULL};
	for (const char *const *word = words; *word; word++) {
		if (strcmp(*word, text) == 0)
			return true;
	}
	return false;
}

bool config_true(const char *value)
{
	return strcmp(value, "true") == 0 || strcmp(value, "yes") == 0 || strcmp(value, "on") == 0 ||
	       strcmp(value, "1") == 0;
}

static bool is_share(const char *text)
{
	char *end;
	double share = strtod(text, &end);
	return *text && *end == '\0' && share >= 0 && share <= 1;
}

/* NULL, or what is wrong with the value. */
static const char *value_problem(enum value_kind kind, const char *text)
{
	struct rec_slice value = rec_slice_of(text);
	int64_t number;
	uint64_t bytes;
	switch (kind) {
	case VALUE_TEXT:
		return value.length ? NULL : "needs a value";
	case VALUE_COUNT:
		return rec_json_int64(value, &number) == 0 && number >= 0 ? NULL : "must be a number of 0 or more";
	case VALUE_DURATION:
		return rec_duration_parse(value, &number) == 0 ? NULL : "must be a duration (500ms, 30s, 5m, 2h)";
	case VALUE_TIMEOUT:
		return rec_duration_parse(value, &number) == 0 && number > 0
			       ? NULL
			       : "must be a duration of more than 0 (500ms, 30s, 5m; without this key it is 30s)";
	case VALUE_SIZE:
		return rec_size_parse(value, &bytes) == 0 ? NULL : "must be a size (64K, 16M, 1G)";
	case VALUE_BOOLEAN:
		return is_boolean(text) ? NULL : "must be true or false";
	case VALUE_SHARE:
		return is_share(text) ? NULL : "must be a share between 0 and 1";
	case VALUE_ON_FAILURE:
		return strcmp(text, "continue") == 0 || strcmp(text, "stop") == 0 ? NULL : "must be continue or stop";
	}
	return "cannot be read";
}

/* ---- Keys --------------------------------------------------------------------------------------- */

/* Equal, or `pattern` ends in `open` and the rest of `name` after it is not empty. */
static bool matches(const char *pattern, const char *name, char open)
{
	size_t length = strlen(pattern);
	if (pattern[length - 1] != open)
		return strcmp(pattern, name) == 0;
	return strncmp(pattern, name, length) == 0 && name[length] != '\0';
}

/* The first pair of the file that stands under another [section] of that name, or NULL. */
static const struct config_pair *stands_twice(const struct reading *reading, const char *section)
{
	const struct config *config = reading->config;
	if (!config || (config->last && config->last->path == reading->kept && config->last->head == reading->head))
		return NULL;
	for (const struct config_pair *pair = config->first; pair; pair = pair->next)
		if (pair->path == reading->kept && strcmp(pair->section, section) == 0)
			return pair;
	return NULL;
}

/* The same key of the same file, or NULL. */
static const struct config_pair *set_twice(const struct reading *reading, const char *section, const char *key)
{
	const struct config_pair *pair = config_pair(reading->config, section, key);
	return pair && pair->path == reading->kept ? pair : NULL;
}

static int fail_twice(struct reading *reading, const char *name, int first, const char *way_out)
{
	char why[96];
	snprintf(why, sizeof why, "stands here a second time, after line %d (%s)", first, way_out);
	return fail_here(reading, name, why);
}

static int take_pair(void *context, const char *section, const char *name, const char *value)
{
	struct reading *reading = context;
	bool known_section = false;
	if (strlen(section) > NAME_BYTES_MAX || strlen(name) > NAME_BYTES_MAX)
		return fail_here(reading, name, "is too long a name (at most 48 bytes)");
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (!matches(keys[i].section, section, ' '))
			continue;
		known_section = true;
		const struct config_pair *first = strchr(keys[i].section, ' ') ? stands_twice(reading, section) : NULL;
		if (first)
			return fail_twice(reading, first->section, first->head, "give it another name");
		if (!matches(keys[i].key, name, '.'))
			continue;
		const char *problem = value_problem(keys[i].kind, value);
		if (problem)
			return fail_here(reading, name, problem);
		first = set_twice(reading, section, name);
		if (first)
			return fail_twice(reading, name, first->line, "keep one of them");
		if (reading->config && config_add(reading, section, name, value) != 0)
			return fail_here(reading, name, "needs more memory than there is");
		return 1;
	}
	if (known_section)
		return fail_here(reading, name, "is not a key of its section (reconciler.conf(5) lists them)");
	if (section[0] == '\0')
		return fail_here(reading, name, "stands before the first [section]");
	return fail_here(reading, section, "is not a section of this version (reconciler.conf(5) lists them)");
}

/* ---- Files -------------------------------------------------------------------------------------- */

/* The library's settings are its globals; they are the same for every file. */
static void set_up_inih(void)
{
	ini_allow_inline_comments = false;
	ini_allow_multiline = false;
	ini_stop_on_first_error = true;
	ini_use_stack = true;
	ini_max_line = LINE_BYTES_MAX;
}

int config_read_file(const char *path, struct config *config, struct rec_error *error)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer text;
	rec_buffer_init(&text, NULL, FILE_BYTES_MAX);
	int r = rec_file_read(path, FILE_BYTES_MAX, &text, error);
	if (r != 0 || text.length == 0)
		return r;
	if (memchr(text.data, '\0', text.length))
		return rec_fail(error, REC_E_INVALID, "%s: holds a NUL byte (it should be a text)", path);
	struct reading reading = {.path = path, .rest = text.data, .error = error, .config = config};
	if (config && !(reading.kept = rec_arena_strndup(config->arena, path, strlen(path))))
		return rec_fail_nomem(error);
	set_up_inih();
	int line = ini_parse_stream(read_line, &reading, take_pair, &reading);
	if (reading.failed)
		return reading.failed;
	if (line != 0)
		return rec_fail(error, REC_E_INVALID, "%s, line %d: is neither [section] nor key = value", path, line);
	return 0;
}

/* Missing files and directories are fine. */
static int read_in(const char *directory, const char *rest, struct config *config, struct rec_error *error)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof path, "%s/%s", directory, rest);
	if (length < 0 || (size_t)length >= sizeof path)
		return rec_fail(error, REC_E_INVALID, "%s: the path is too long", directory);
	int r = config_read_file(path, config, error);
	return r == REC_NOT_FOUND ? 0 : r;
}

static int read_user(struct config *config, struct rec_error *error)
{
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	if (base && base[0] == '/')
		return read_in(base, "reconciler/reconciler.conf", config, error);
	if (home && home[0] == '/')
		return read_in(home, ".config/reconciler/reconciler.conf", config, error);
	return 0;
}

int config_read(const char *directory, struct rec_arena *arena, struct config **ret_config, struct rec_error *error)
{
	struct config *config = rec_arena_alloc(arena, sizeof *config);
	if (!config)
		return rec_fail_nomem(error);
	*config = (struct config){.arena = arena};
	int r = read_user(config, error);
	if (r == 0 && directory)
		r = read_in(directory, "reconciler.conf", config, error);
	if (r == 0)
		*ret_config = config;
	return r;
}
