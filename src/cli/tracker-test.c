/* tracker-test.c - `reconciler tracker test`: does a helper program keep to reconciler-tracker(7)? For its author.
 *
 * Each check is one exchange, or a few, with the helper; they stand in one table. After a check that failed the helper
 * is started anew, so that one fault does not spoil the rest. Waiting is right here: nothing else is going on. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/settings.h"
#include "tracker/helper.h"
#include "tracker/protocol.h"
#include "tracker/secrets.h"

#define TIMEOUT_US (INT64_C(10) * 1000000)
#define PROBLEM_BYTES 400
#define MANY_LINKS REC_TRACKER_LINKS_MAX
#define URLS_MAX 64u

struct testing {
	struct cli *cli;
	const char *const *command;
	const char *leash;
	int64_t timeout_us, id;
	const char *urls[URLS_MAX];
	size_t url_count;
	struct rec_helper helper;
	bool alive;
	struct rec_arena arena; /* of the answer */
	struct rec_protocol_answer answer;
	char problem[PROBLEM_BYTES]; /* why a check failed */
	uint64_t checks, failures;
};

/* ---- Talking ------------------------------------------------------------------------------------ */

static int64_t now_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context);
}

/* It may quote the helper. */
static void problem_set(struct testing *t, const char *said)
{
	struct rec_secrets secrets;
	rec_cleanup(rec_buffer_release) struct rec_buffer shown;
	rec_secrets_init(&secrets, environ);
	rec_buffer_init(&shown, NULL, 4 * PROBLEM_BYTES);
	bool good = rec_secrets_hide(&secrets, &shown, rec_slice_of(said)) == 0;
	snprintf(t->problem, sizeof t->problem, "%.*s", good ? (int)shown.length : 0, shown.data ? shown.data : "");
}

__attribute__((format(printf, 2, 3))) static bool wrong(struct testing *t, const char *format, ...)
{
	char said[4 * PROBLEM_BYTES];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(said, sizeof said, format, arguments);
	va_end(arguments);
	problem_set(t, said);
	return false;
}

static void answer_forget(struct testing *t)
{
	rec_protocol_answer_release(&t->answer, NULL);
	rec_arena_release(&t->arena);
}

static void helper_end(struct testing *t)
{
	rec_helper_kill(&t->helper);
	for (int64_t until = now_us() + TIMEOUT_US; !rec_helper_reap(&t->helper) && now_us() < until;) {
		struct pollfd gone = {.fd = t->helper.pidfd, .events = POLLIN};
		poll(&gone, 1, 100);
	}
	t->alive = false;
}

/* Until something happens to the helper, or the time is up (false). */
static bool await(struct testing *t, int64_t until_us)
{
	int64_t left_us = until_us - now_us();
	struct pollfd wait = {.fd = t->helper.epoll_fd, .events = POLLIN};
	int ready = left_us > 0 ? poll(&wait, 1, (int)(left_us / 1000 + 1)) : 0;
	return ready > 0 || (ready < 0 && errno == EINTR);
}

/* The next line as an answer, whichever request it is for. */
static bool answer_next(struct testing *t)
{
	struct rec_error error;
	struct rec_slice line;
	rec_cleanup(rec_buffer_release) struct rec_buffer end;
	rec_buffer_init(&end, NULL, PROBLEM_BYTES);
	int64_t until_us = now_us() + t->timeout_us;
	answer_forget(t);
	for (;;) {
		if (rec_helper_work(&t->helper) != 0)
			return wrong(t, "out of memory");
		int r = rec_helper_line(&t->helper, &line);
		if (r == REC_E_LIMIT)
			return wrong(t, "a line is longer than 4 MiB");
		if (r == 0) {
			r = rec_protocol_parse(line, &t->arena, &t->answer, &error);
			rec_helper_line_done(&t->helper, line);
			return r == 0 || wrong(t, "a line is no answer: %.300s", error.message);
		}
		if (t->helper.exited && t->helper.drained) {
			rec_helper_end_text(&t->helper, &end);
			helper_end(t);
			return wrong(t, "%s", end.length ? end.data : "the helper ended");
		}
		if (rec_helper_output_ended(&t->helper) && !t->helper.exited && now_us() >= until_us)
			return wrong(t, "the helper closed its output");
		if (!await(t, until_us))
			return wrong(t, "no answer within %" PRId64 " ms", t->timeout_us / 1000);
	}
}

static bool answer_to(struct testing *t, int64_t id)
{
	if (!answer_next(t))
		return false;
	return t->answer.id.value == id ||
	       wrong(t, "an answer to %" PRId64 " came, and %" PRId64 " was asked", t->answer.id.value, id);
}

static void say(struct testing *t, const char *text)
{
	rec_buffer_add_text(&t->helper.to_say, text);
	rec_helper_say(&t->helper);
}

static bool hello(struct testing *t)
{
	rec_protocol_write_hello(&t->helper.to_say, ++t->id, rec_slice_of("test"));
	rec_helper_say(&t->helper);
	if (!answer_to(t, t->id))
		return false;
	if (t->answer.problem.data)
		return wrong(t, "it says: %.*s", (int)t->answer.problem.length, t->answer.problem.data);
	if (!t->answer.protocol.given || t->answer.protocol.value != REC_TRACKER_PROTOCOL)
		return wrong(t, "\"protocol\" is not 1");
	return t->answer.helper.length || wrong(t, "\"helper\" is missing (say who you are and which version)");
}

static bool helper_begin(struct testing *t)
{
	struct rec_error error;
	if (t->alive)
		return true;
	if (rec_helper_start(&t->helper, t->leash, t->command, &error) != 0)
		return wrong(t, "%.300s", error.message);
	t->alive = true;
	return hello(t);
}

static void fetch_say(struct testing *t, const struct rec_protocol_link *links, size_t count)
{
	size_t written;
	const struct rec_protocol_fetch fetch = {.id = ++t->id,
						 .links = links,
						 .count = count,
						 .budget_share = 0.6,
						 .deadline_ms = t->timeout_us / 1000};
	rec_protocol_write_fetch(&t->helper.to_say, &fetch, &written);
	rec_helper_say(&t->helper);
}

static bool has_observations(struct testing *t)
{
	return t->answer.has_observations || t->answer.problem.data || wrong(t, "\"observations\" is missing");
}

static bool fetch(struct testing *t, const struct rec_protocol_link *links, size_t count)
{
	fetch_say(t, links, count);
	return answer_to(t, t->id) && has_observations(t);
}

static const struct rec_observation *observation_of(const struct testing *t, struct rec_slice url)
{
	for (size_t i = 0; i < t->answer.observation_count; i++)
		if (rec_slice_equal(t->answer.observations[i].url, url))
			return &t->answer.observations[i];
	return NULL;
}

/* ---- The checks --------------------------------------------------------------------------------- */

static bool check_hello(struct testing *t)
{
	return helper_begin(t);
}

static bool check_nothing(struct testing *t)
{
	if (!fetch(t, NULL, 0))
		return false;
	return t->answer.observation_count == 0 || wrong(t, "nothing was asked, and something was observed");
}

static const char unknown_url[] = "https://unknown.invalid/nobody/nothing/issues/1";

/* Unknown is not gone. */
static bool check_unknown(struct testing *t)
{
	const struct rec_protocol_link link = {.url = rec_slice_of(unknown_url)};
	if (!fetch(t, &link, 1))
		return false;
	const struct rec_observation *o = observation_of(t, link.url);
	return !o || o->state == REC_OBSERVED_UNKNOWN ||
	       wrong(t, "an address that cannot exist is \"%s\"; it is \"unknown\"", rec_observed_text(o->state));
}

static bool url_is_observed(struct testing *t, const char *url)
{
	const struct rec_protocol_link link = {.url = rec_slice_of(url)};
	if (!fetch(t, &link, 1))
		return false;
	const struct rec_observation *o = observation_of(t, link.url);
	if (!o)
		return wrong(t, "%.200s: not answered (\"url\" must be as asked)", url);
	if (o->state == REC_OBSERVED_UNKNOWN)
		return wrong(t, "%.200s: unknown: %.*s", url, (int)o->problem.length,
			     o->problem.data ? o->problem.data : "");
	if (o->state == REC_OBSERVED_UNCHANGED)
		return wrong(t, "%.200s: \"unchanged\" without a validator", url);
	return o->state == REC_OBSERVED_GONE || o->time.data ||
	       wrong(t, "%.200s: \"time\" is missing: what is older could not be told from what is newer", url);
}

static bool check_urls(struct testing *t)
{
	for (size_t i = 0; i < t->url_count; i++)
		if (!url_is_observed(t, t->urls[i]))
			return false;
	return true;
}

/* What was given as a validator is taken back. */
static bool check_validator(struct testing *t)
{
	for (size_t i = 0; i < t->url_count; i++) {
		struct rec_protocol_link link = {.url = rec_slice_of(t->urls[i])};
		char validator[REC_VALIDATOR_BYTES_MAX];
		if (!fetch(t, &link, 1))
			return false;
		const struct rec_observation *o = observation_of(t, link.url);
		if (!o || !o->validator.data)
			continue;
		enum rec_observed before = o->state;
		memcpy(validator, o->validator.data, o->validator.length);
		link.validator = (struct rec_slice){validator, o->validator.length};
		if (!fetch(t, &link, 1))
			return false;
		o = observation_of(t, link.url);
		if (!o || (o->state != before && o->state != REC_OBSERVED_UNCHANGED))
			return wrong(t, "%.200s: with its validator it is neither \"unchanged\" nor as before",
				     t->urls[i]);
	}
	return true;
}

static bool check_unknown_keys(struct testing *t)
{
	char request[200];
	snprintf(request, sizeof request,
		 "{\"id\":%" PRId64 ",\"method\":\"fetch\",\"links\":[],\"cursors\":{},\"future\":{\"a\":[1,null]}}\n",
		 ++t->id);
	say(t, request);
	return answer_to(t, t->id) && has_observations(t);
}

/* An answer or none, as long as what comes after is answered. */
static bool goes_on_after(struct testing *t, const char *line)
{
	say(t, line);
	fetch_say(t, NULL, 0);
	do {
		if (!answer_next(t))
			return false;
	} while (t->answer.id.value != t->id);
	return has_observations(t);
}

static bool check_unknown_method(struct testing *t)
{
	char request[80];
	snprintf(request, sizeof request, "{\"id\":%" PRId64 ",\"method\":\"no-such-method\"}\n", ++t->id);
	return goes_on_after(t, request);
}

static bool check_bad_line(struct testing *t)
{
	return goes_on_after(t, "this is not JSON\n") && goes_on_after(t, "\n");
}

static bool check_many(struct testing *t)
{
	struct rec_protocol_link *links = rec_arena_alloc(&t->cli->arena, MANY_LINKS * sizeof *links);
	char(*urls)[80] = rec_arena_alloc(&t->cli->arena, MANY_LINKS * sizeof *urls);
	if (!links || !urls)
		return wrong(t, "out of memory");
	for (size_t i = 0; i < MANY_LINKS; i++) {
		snprintf(urls[i], sizeof urls[i], "https://unknown.invalid/nobody/nothing/issues/%04zu", i);
		links[i] = (struct rec_protocol_link){.url = rec_slice_of(urls[i])};
	}
	return fetch(t, links, MANY_LINKS);
}

static bool check_two(struct testing *t)
{
	fetch_say(t, NULL, 0);
	fetch_say(t, NULL, 0);
	int64_t second = t->id;
	for (int i = 0; i < 2; i++) {
		if (!answer_next(t))
			return false;
		if (t->answer.id.value != second && t->answer.id.value != second - 1)
			return wrong(t, "two requests at once are not both answered");
	}
	return true;
}

static bool check_end(struct testing *t)
{
	int64_t until_us = now_us() + t->timeout_us;
	rec_helper_hang_up(&t->helper);
	while (!t->helper.exited) {
		rec_helper_work(&t->helper);
		if (!t->helper.exited && !await(t, until_us))
			return wrong(t, "it does not exit when its input ends");
	}
	bool good = t->helper.status_code == CLD_EXITED && t->helper.status == 0;
	helper_end(t);
	return good || wrong(t, "it does not exit with status 0 when its input ends");
}

static const struct check {
	const char *name;
	bool (*run)(struct testing *t);
	bool needs_urls;
} checks[] = {
	{"hello", check_hello, false},
	{"nothing asked, nothing observed", check_nothing, false},
	{"an unknown address is unknown", check_unknown, false},
	{"addresses are observed", check_urls, true},
	{"validators are taken back", check_validator, true},
	{"unknown keys are ignored", check_unknown_keys, false},
	{"an unknown method does no harm", check_unknown_method, false},
	{"a bad line does no harm", check_bad_line, false},
	{"many links at once", check_many, false},
	{"two requests at once", check_two, false},
	{"the end of input ends it", check_end, false},
};

/* ---- The command -------------------------------------------------------------------------------- */

static void print_check(struct testing *t, const struct check *check, bool good)
{
	struct cli *cli = t->cli;
	if (cli->format == FORMAT_TABLE) {
		output_styled(&cli->out, good ? STYLE_GREEN : STYLE_RED, rec_slice_of(good ? "ok   " : "FAIL "));
		output_text(&cli->out, check->name);
		if (!good)
			output_text(&cli->out, ": ");
		output_shown(&cli->out, rec_slice_of(good ? "" : t->problem), PROBLEM_BYTES);
		output_text(&cli->out, "\n");
		return;
	}
	struct rec_buffer *out = cli_list_item(cli, t->checks);
	rec_buffer_add_text(out, "{");
	cli_json_text(out, "check", rec_slice_of(check->name));
	cli_json_bool(out, "ok", good);
	cli_json_text(out, "problem", rec_slice_of(good ? NULL : t->problem));
	rec_buffer_add_text(out, "}");
	cli_list_item_end(cli);
}

static void checks_run(struct testing *t)
{
	cli_list_begin(t->cli);
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		if (checks[i].needs_urls && t->url_count == 0)
			continue;
		bool good = helper_begin(t) && checks[i].run(t);
		print_check(t, &checks[i], good);
		t->checks++;
		t->failures += !good;
		if (!good)
			helper_end(t);
		output_flush(&t->cli->out);
	}
	cli_list_end(t->cli);
}

static int urls_take(struct testing *t, const struct arguments *arguments)
{
	size_t position = 0;
	for (const char *url; (url = option_next(arguments, "url", &position));) {
		if (t->url_count == URLS_MAX)
			return cli_fail("--url: too many (at most %u)", URLS_MAX);
		t->urls[t->url_count++] = url;
	}
	return STATUS_OK;
}

static int test_run(struct cli *cli, const struct arguments *arguments)
{
	struct testing t = {.cli = cli, .timeout_us = TIMEOUT_US};
	struct rec_error error;
	const char **command = arguments->words + arguments->plain_count;
	size_t count = arguments->word_count - arguments->plain_count;
	if (option_duration(arguments, "timeout", &t.timeout_us, &error) < 0)
		return cli_error(&error);
	if (arguments->plain_count || count == 0)
		return cli_fail("tracker test: no command (write it after --)");
	const char **words = rec_arena_alloc(&cli->arena, (count + 1) * sizeof *words);
	if (!words)
		return cli_fail("out of memory");
	memcpy(words, command, count * sizeof *words);
	words[count] = NULL;
	if (command_resolve(cli, words, &error) < 0)
		return cli_error(&error);
	t.command = words;
	t.leash = program_of_ours(cli, "reconciler-leash", "shim");
	int status = urls_take(&t, arguments), epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll < 0)
		return cli_fail("epoll: %s", strerror(errno));
	rec_arena_init(&t.arena, NULL);
	rec_helper_init(&t.helper, NULL, epoll);
	if (!status)
		checks_run(&t);
	helper_end(&t);
	answer_forget(&t);
	rec_helper_release(&t.helper);
	close(epoll);
	return status ? status : t.failures ? STATUS_NO : STATUS_OK;
}

static const struct option_spec test_options[] = {
	{.name = "url", .argument = "URL", .help = "an address that the helper knows", .repeatable = true},
	{.name = "timeout", .argument = "D", .help = "wait so long for an answer (10s)"},
	{0},
};

static const char *const test_examples[] = {
	"reconciler tracker test --url https://jira.example/browse/P-1 -- ./jira-helper",
	NULL,
};

const struct command command_tracker_test = {
	.name = "test",
	.summary = "check that a tracker's helper keeps to the protocol",
	.description =
		"Starts a helper program and checks what reconciler-tracker(7) asks of it: hello, fetch, unknown "
		"addresses, bad lines, size, the end of its input. With --url, also that these addresses are "
		"observed. Needs no store. Exit status 1 if a check fails.",
	.words = {{.name = "COMMAND", .optional = true, .repeated = true, .complete = COMPLETE_FILE}},
	.options = test_options,
	.run = test_run,
	.examples = test_examples,
};
