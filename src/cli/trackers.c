/* trackers.c - see trackers.h. */
#include "cli/trackers.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/timestamp.h"
#include "cli/config.h"
#include "cli/git-remote.h"
#include "cli/settings.h"

#define BUDGET_SHARE 0.6 /* the rest is for people */
#define API_URL "https://api.github.com"
#define SECTION "tracker "

struct listing {
	struct cli *cli;
	struct rec_tracker_options *items;
	const struct config_pair **prefixes; /* of each; NULL: the built-in one, which comes last */
	size_t count;
	struct rec_error *error;
};

/* ---- [tracker NAME] ----------------------------------------------------------------------------- */

static const char *own_text(const struct listing *l, const char *section, const char *key)
{
	return config_text(l->cli->config, section, key);
}

static int own_wrong(const struct listing *l, const struct config_pair *at, const char *why)
{
	return rec_fail(l->error, REC_E_INVALID, "%s, line %d: [%s]: %s", at->path, at->line, at->section, why);
}

/* first: of the section's pairs. */
static int own_add(struct listing *l, const struct config_pair *first)
{
	struct rec_tracker_options *one = &l->items[l->count];
	const char *section = first->section, *name = section + strlen(SECTION);
	const struct config_pair *command = config_pair(l->cli->config, section, "command");
	const struct config_pair *prefix = config_pair(l->cli->config, section, "url_prefix");
	const char *timeout = own_text(l, section, "timeout"), **words;
	size_t count;
	if (strcmp(name, "github") == 0)
		return own_wrong(l, first, "that name is the built-in tracker's (choose another)");
	if (strchr(name, ':'))
		return own_wrong(l, first, "a name holds no colon");
	if (!command)
		return own_wrong(l, first, "command is missing (a tracker needs command and url_prefix)");
	if (!prefix)
		return own_wrong(l, first, "url_prefix is missing (a tracker needs command and url_prefix)");
	int r = command_split(l->cli, command->value, &words, &count, l->error);
	if (r != 0)
		return rec_fail_context(l->error, r, "%s, line %d: [%s]", command->path, command->line, section);
	if (count == 0 || !words[0][0])
		return own_wrong(l, command, "command is empty");
	(void)command_resolve(l->cli, words, NULL); /* one that is not there is an unreachable tracker, told later */
	*one = (struct rec_tracker_options){
		.name = name, .url_prefix = prefix->value, .command = words, .budget_share = BUDGET_SHARE};
	if (timeout)
		(void)rec_duration_parse(rec_slice_of(timeout), &one->timeout_us); /* checked when read */
	l->prefixes[l->count++] = prefix;
	return 0;
}

static bool is_listed(const struct listing *l, const char *section)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->items[i].name, section + strlen(SECTION)) == 0)
			return true;
	return false;
}

static int own_add_all(struct listing *l)
{
	int r = 0;
	for (const struct config_pair *pair = config_first(l->cli->config); pair && r == 0; pair = pair->next)
		if (strncmp(pair->section, SECTION, strlen(SECTION)) == 0 && !is_listed(l, pair->section))
			r = own_add(l, pair);
	return r;
}

/* ---- [github] ----------------------------------------------------------------------------------- */

/* The web host that an API address belongs to: HOST of https://HOST/api/v3, else github.com. */
static const char *web_host(struct cli *cli, const char *api_url)
{
	static const char scheme[] = "https://", enterprise[] = "/api/v3";
	if (strncasecmp(api_url, scheme, strlen(scheme)) != 0)
		return "github.com";
	const char *host = api_url + strlen(scheme);
	size_t length = strcspn(host, "/");
	size_t path = strlen(host + length);
	while (path && host[length + path - 1] == '/')
		path--;
	if (length == 0 || path != strlen(enterprise) || strncmp(host + length, enterprise, path) != 0)
		return "github.com";
	return rec_arena_strndup(&cli->arena, host, length);
}

static bool token_seems_there(const char *token_file)
{
	const char *first = getenv("GITHUB_TOKEN"), *second = getenv("GH_TOKEN");
	return (first && *first) || (second && *second) || (token_file && access(token_file, R_OK) == 0);
}

static bool github_is_wanted(const struct listing *l, const char *host, const char *token_file)
{
	const char *said = own_text(l, "github", "reconcile_github");
	struct rec_store_info info;
	if (said)
		return config_true(said);
	rec_store_info(l->cli->store, &info);
	return token_seems_there(token_file) && git_remote_is_on(info.directory, host);
}

/* The helper's command line: reconciler-github [--api-url URL] [--token-file FILE]. NULL: no memory. */
static const char **github_command(struct listing *l, const char *token_file)
{
	const char *program = program_of_ours(l->cli, "reconciler-github", "github");
	const char *api_url = own_text(l, "github", "api_url");
	const char **words = rec_arena_alloc(&l->cli->arena, 6 * sizeof *words);
	size_t used = 0;
	if (!words)
		return NULL;
	words[used++] = program ? program : "reconciler-github"; /* cannot be started, which says what is missing */
	if (api_url) {
		words[used++] = "--api-url";
		words[used++] = api_url;
	}
	if (token_file) {
		words[used++] = "--token-file";
		words[used++] = token_file;
	}
	words[used] = NULL;
	return words;
}

static int github_add(struct listing *l)
{
	const char *api_url = own_text(l, "github", "api_url"), *token_file = own_text(l, "github", "token_file");
	const char *interval = own_text(l, "github", "interval"), *share = own_text(l, "github", "budget_share");
	const char *host = web_host(l->cli, api_url ? api_url : API_URL);
	size_t capacity = host ? strlen(host) + 16 : 0;
	char *prefix = host ? rec_arena_alloc(&l->cli->arena, capacity) : NULL;
	if (!prefix)
		return rec_fail_nomem(l->error);
	if (!github_is_wanted(l, host, token_file))
		return 0;
	snprintf(prefix, capacity, "https://%s/", host);
	struct rec_tracker_options *one = &l->items[l->count];
	*one = (struct rec_tracker_options){.name = "github",
					    .url_prefix = prefix,
					    .command = github_command(l, token_file),
					    .budget_share = share ? strtod(share, NULL) : BUDGET_SHARE};
	if (!one->command)
		return rec_fail_nomem(l->error);
	if (interval)
		(void)rec_duration_parse(rec_slice_of(interval), &one->interval_us); /* checked when read */
	l->prefixes[l->count++] = NULL;
	return 0;
}

/* ---- All ---------------------------------------------------------------------------------------- */

/* 0, or an error that was not said yet. */
static int list(struct listing *l)
{
	size_t most = 1;
	for (const struct config_pair *pair = config_first(l->cli->config); pair; pair = pair->next)
		most += strncmp(pair->section, SECTION, strlen(SECTION)) == 0;
	l->items = rec_arena_alloc(&l->cli->arena, most * sizeof *l->items);
	l->prefixes = rec_arena_alloc(&l->cli->arena, most * sizeof(const struct config_pair *));
	int r = l->items && l->prefixes ? own_add_all(l) : rec_fail_nomem(l->error);
	return r == 0 ? github_add(l) : r;
}

/* Of two with the same url_prefix one would never be asked: a prefix fits itself, and the first of equals is found. */
static int prefixes_check(const struct listing *l, const struct rec_trackers *trackers)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct config_pair *prefix = l->prefixes[i];
		size_t other = prefix ? rec_trackers_find(trackers, rec_slice_of(prefix->value)) : i;
		if (other == i)
			continue;
		const struct config_pair *first = l->prefixes[other];
		return rec_fail(l->error, REC_E_INVALID,
				"%s, line %d: [%s]: url_prefix is that of [%s] in %s, line %d, too (of two equal ones "
				"one would "
				"never be asked: change or remove one)",
				prefix->path, prefix->line, prefix->section, first->section, first->path, first->line);
	}
	return 0;
}

int trackers_open(struct cli *cli, struct rec_trackers **ret_trackers)
{
	struct rec_error error = {.code = 0};
	struct listing l = {.cli = cli, .error = &error};
	struct rec_trackers *trackers = NULL;
	int r = list(&l);
	if (r == 0) {
		const struct rec_trackers_options options = {
			.trackers = l.items,
			.count = l.count,
			.leash_path = program_of_ours(cli, "reconciler-leash", "shim"),
		};
		r = rec_trackers_new(&options, &trackers, &error);
	}
	if (r == 0)
		r = prefixes_check(&l, trackers);
	if (r == 0)
		*ret_trackers = trackers;
	else
		rec_trackers_free(trackers);
	return r < 0 ? cli_error(&error) : STATUS_OK;
}

void trackers_reports(struct cli *cli, tracker_report_fn *fn, void *context)
{
	struct rec_error error = {.code = 0};
	struct listing l = {.cli = cli, .error = &error};
	struct rec_tracker_report report;
	if (list(&l) != 0)
		return;
	for (size_t i = 0; i < l.count; i++)
		if (rec_tracker_report_get(cli->store, l.items[i].name, &report, NULL) == 0)
			fn(context, l.items[i].name, &report);
}
