/* settings.c - see settings.h. Every option of run passes through one list of names and texts, whatever said it. */
#include "cli/settings.h"

#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "cli/config.h"

#define RETRY_DELAY_US (INT64_C(10) * 1000000)
#define SETTLE_US (INT64_C(10) * 1000000)
#define SETTLE_CHILD_OWNS_US (INT64_C(90) * 1000000)
#define GRACE_US (INT64_C(10) * 1000000)
#define LOG_LIMIT_BYTES (UINT64_C(64) << 20)
#define PARALLEL_DEFAULT 4
#define PARALLEL_MAX 10000
#define RETRY_MAX 1000000

static const char *const on_failure[] = {"continue", "stop", NULL};

const struct option_spec settings_options[] = {
	{.name = "all-ready", .help = "every READY task of the store"},
	{.name = "max-parallel", .letter = 'j', .argument = "N", .help = "how many run at once (4)"},
	{.name = "reconcile-interval",
	 .argument = "D",
	 .help = "look again at least so often (30s; 0: only when woken)"},
	{.name = "on-failure",
	 .argument = "WHAT",
	 .help = "after a final failure: go on, or start nothing new",
	 .choices = on_failure},
	{.name = "retry", .argument = "N", .help = "try a failed task again up to N times (0)"},
	{.name = "retry-delay", .argument = "D", .help = "before the first retry, doubling, at most 5m (10s)"},
	{.name = "timeout", .argument = "D", .help = "stop an attempt that takes longer (0: never)"},
	{.name = "stall-timeout",
	 .argument = "D",
	 .help = "stop an attempt without a sign of life for so long (0: never)"},
	{.name = "settle",
	 .argument = "D",
	 .help = "let a child whose task was changed outside end by itself first (10s)"},
	{.name = "grace", .argument = "D", .help = "between SIGTERM and SIGKILL (10s)"},
	{.name = "wait", .help = "stay until every task is finished, also those held now"},
	{.name = "ignore-blockers", .help = "start READY tasks although they have open blockers"},
	{.name = "close-issues", .help = "close the issues of tasks that this batch finishes"},
	{.name = "child-owns-run", .help = "the command is codeframe itself: it keeps the runs table"},
	{.name = "dry-run", .help = "print what would run, in order"},
	{.name = "detach", .help = "go to the background; print the batch id"},
	{.name = "workdir", .argument = "DIR", .help = "where the command runs (here)", .complete = COMPLETE_DIRECTORY},
	{.name = "env",
	 .argument = "NAME=VALUE",
	 .help = "add to the command's environment; kept with the batch, so no secrets",
	 .repeatable = true},
	{.name = "log-limit", .argument = "SIZE", .help = "keep at most so much output of an attempt (64M)"},
	{.name = "on-end",
	 .argument = "COMMAND",
	 .help = "run this when the batch has ended, its summary as JSON on its input"},
	{0},
};

/* ---- The list ----------------------------------------------------------------------------------- */

const char *settings_text(const struct settings *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->items[i].name, name) == 0)
			return s->items[i].text;
	return NULL;
}

/* The first word counts: the command line is read before the configuration. */
static void set(struct settings *s, const char *name, const char *text)
{
	if (!settings_text(s, name) && s->count < SETTINGS_MAX)
		s->items[s->count++] = (struct setting){name, text};
}

static int append(const char ***list, size_t *count, size_t *capacity, const char *text)
{
	if (rec_grow(NULL, (void **)list, capacity, *count + 2, sizeof **list) != 0)
		return REC_E_NOMEM;
	(*list)[(*count)++] = text;
	(*list)[*count] = NULL;
	return 0;
}

static int add_environment(struct settings *s, const char *text)
{
	return append(&s->environment, &s->environment_count, &s->environment_capacity, text);
}

static int add_command(struct settings *s, const char *text)
{
	return append(&s->command, &s->command_count, &s->command_capacity, text);
}

void settings_release(struct settings *s)
{
	rec_free(NULL, s->environment);
	rec_free(NULL, s->command);
	*s = (struct settings){.count = 0};
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static int read_arguments(struct settings *s, const struct arguments *arguments)
{
	int r = 0;
	FOR_EACH_OPTION(option, settings_options)
	if (!option->repeatable && option_given(arguments, option->name))
		set(s, option->name, option->argument ? option_text(arguments, option->name) : "");
	size_t position = 0;
	for (const char *text; r == 0 && (text = option_next(arguments, "env", &position));)
		r = add_environment(s, text);
	for (size_t i = arguments->plain_count; r == 0 && i < arguments->word_count; i++)
		r = add_command(s, arguments->words[i]);
	return r;
}

static bool is_flag(const char *name)
{
	FOR_EACH_OPTION(option, settings_options)
	if (strcmp(option->name, name) == 0)
		return !option->argument;
	return false;
}

/* [worker] env.NAME = VALUE; one given on the line wins, since it stands later in the environment. */
static int read_worker_environment(struct settings *s, struct cli *cli)
{
	struct settings line = *s;
	int r = 0;
	s->environment = NULL;
	s->environment_count = s->environment_capacity = 0;
	for (const struct config_pair *pair = config_first(cli->config); pair && r == 0; pair = pair->next) {
		if (strcmp(pair->section, "worker") != 0 || strncmp(pair->key, "env.", 4) != 0)
			continue;
		size_t length = strlen(pair->key) + strlen(pair->value) + 1;
		char *text = rec_arena_alloc(&cli->arena, length);
		if (!text)
			return REC_E_NOMEM;
		snprintf(text, length, "%s=%s", pair->key + 4, pair->value);
		r = add_environment(s, text);
	}
	for (size_t i = 0; i < line.environment_count && r == 0; i++)
		r = add_environment(s, line.environment[i]);
	rec_free(NULL, line.environment);
	return r;
}

static int read_config(struct settings *s, struct cli *cli, struct rec_error *error)
{
	FOR_EACH_OPTION(option, settings_options)
	{
		const char *text = config_text(cli->config, "run", option->name);
		if (text && !option->repeatable && (!is_flag(option->name) || config_true(text)))
			set(s, option->name, is_flag(option->name) ? "" : text);
	}
	const char *environment = config_text(cli->config, "run", "env");
	const struct config_pair *command = config_pair(cli->config, "worker", "command");
	int r = environment && !s->environment_count ? add_environment(s, environment) : 0;
	if (r == 0)
		r = read_worker_environment(s, cli);
	if (r != 0 || s->command_count || !command)
		return r;
	const char **words;
	size_t count;
	r = command_split(cli, command->value, &words, &count, error);
	if (r < 0)
		return rec_fail_context(error, r, "%s, line %d", command->path, command->line);
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_command(s, words[i]);
	return r;
}

int settings_read(struct settings *s, struct cli *cli, const struct arguments *arguments)
{
	struct rec_error error = {.code = 0};
	int r = read_arguments(s, arguments);
	if (r == 0)
		r = read_config(s, cli, &error);
	if (r == REC_E_NOMEM)
		rec_fail_nomem(&error);
	return r < 0 ? cli_error(&error) : STATUS_OK;
}

/* ---- Checking ----------------------------------------------------------------------------------- */

struct checking {
	const struct settings *settings;
	struct rec_error *error;
	int failed;
};

static void wrong(struct checking *c, const char *name, const char *text, const char *wanted)
{
	char shown[80];
	if (!c->failed)
		c->failed = rec_fail(c->error, REC_E_INVALID, "--%s '%s': %s", name,
				     rec_text_shown(shown, sizeof shown, rec_slice_of(text)), wanted);
}

static int64_t duration(struct checking *c, const char *name, int64_t fallback)
{
	const char *text = settings_text(c->settings, name);
	int64_t us = fallback;
	if (text && rec_duration_parse(rec_slice_of(text), &us) != 0)
		wrong(c, name, text, "is not a duration (500ms, 30s, 5m, 2h)");
	return us;
}

static uint64_t number(struct checking *c, const char *name, int64_t fallback, int64_t least, int64_t most)
{
	const char *text = settings_text(c->settings, name);
	int64_t value = fallback;
	char wanted[80];
	if (text && (rec_json_int64(rec_slice_of(text), &value) != 0 || value < least || value > most)) {
		snprintf(wanted, sizeof wanted, "is not a number from %lld to %lld", (long long)least, (long long)most);
		wrong(c, name, text, wanted);
	}
	return (uint64_t)value;
}

static uint64_t size(struct checking *c, const char *name, uint64_t fallback)
{
	const char *text = settings_text(c->settings, name);
	uint64_t bytes = fallback;
	if (text && (rec_size_parse(rec_slice_of(text), &bytes) != 0 || bytes > INT64_MAX))
		wrong(c, name, text, "is not a size (64K, 16M, 1G)");
	return bytes;
}

static bool flag(const struct checking *c, const char *name)
{
	return settings_text(c->settings, name) != NULL;
}

static void check_environment(struct checking *c)
{
	for (size_t i = 0; i < c->settings->environment_count; i++) {
		const char *text = c->settings->environment[i], *equals = strchr(text, '=');
		if (!equals || equals == text)
			wrong(c, "env", text, "is not NAME=VALUE");
		else if (strncmp(text, "REC_", 4) == 0)
			wrong(c, "env", text, "names a variable that reconciler sets itself");
	}
}

int settings_check(const struct settings *s, struct run_options *ret_options, struct rec_error *error)
{
	struct checking c = {.settings = s, .error = error};
	const char *failure = settings_text(s, "on-failure");
	bool child_owns_run = flag(&c, "child-owns-run");
	struct run_options o = {
		.machine = {.max_parallel = (uint32_t)number(&c, "max-parallel", PARALLEL_DEFAULT, 1, PARALLEL_MAX),
			    .retries = (uint32_t)number(&c, "retry", 0, 0, RETRY_MAX),
			    .retry_delay_us = duration(&c, "retry-delay", RETRY_DELAY_US),
			    .timeout_us = duration(&c, "timeout", 0),
			    .stall_timeout_us = duration(&c, "stall-timeout", 0),
			    .settle_us = duration(&c, "settle", child_owns_run ? SETTLE_CHILD_OWNS_US : SETTLE_US),
			    .grace_us = duration(&c, "grace", GRACE_US),
			    .stop_on_failure = failure && strcmp(failure, "stop") == 0,
			    .ignore_blockers = flag(&c, "ignore-blockers"),
			    .wait = flag(&c, "wait")},
		.reconcile_interval_us =
			duration(&c, "reconcile-interval", REC_CHECK_INTERVAL_DEFAULT_MS * INT64_C(1000)),
		.log_limit_bytes = size(&c, "log-limit", LOG_LIMIT_BYTES),
		.all_ready = flag(&c, "all-ready"),
		.child_owns_run = child_owns_run,
		.close_issues = flag(&c, "close-issues"),
		.dry_run = flag(&c, "dry-run"),
		.detach = flag(&c, "detach"),
		.workdir = settings_text(s, "workdir"),
		.on_end = settings_text(s, "on-end"),
	};
	check_environment(&c);
	if (c.failed)
		return c.failed;
	*ret_options = o;
	return 0;
}
