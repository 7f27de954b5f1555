/* sync.c - `reconciler sync`, and the pass that check trackers and apply trackers share.
 *
 * All trackers are asked at once; what one answers is written, and asked once more where that is needed, while the
 * others are still thinking. The waiting is a poll on one descriptor of the trackers and on signals, so Ctrl-C ends it
 * between two writes and never within one.
 */
#include "cli/sync.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/loop.h"
#include "cli/results.h"
#include "cli/trackers.h"
#include "engine/sync.h"
#include "tracker/report.h"

#define WAIT_US_MAX 1000000

struct pass {
	struct cli *cli;
	struct rec_trackers *trackers;
	struct rec_sync *sync;
	struct loop loop;
	struct rec_slice batch_id; /* for the events */
	bool apply;
	bool progress; /* a line on the terminal that comes and goes */
	struct outcome {
		bool told; /* that it cannot be asked */
		size_t asked, unseen;
	} * outcomes; /* of each tracker */
};

/* ---- Telling ------------------------------------------------------------------------------------ */

static void progress_show(const struct pass *p)
{
	size_t links = 0;
	for (size_t i = 0; i < rec_trackers_count(p->trackers); i++)
		links += p->outcomes[i].asked;
	if (p->progress && links)
		fprintf(stderr, "\rasking about %zu %s ...", links, links == 1 ? "link" : "links");
}

static void progress_clear(const struct pass *p)
{
	if (p->progress)
		fputs("\r\033[K", stderr);
}

/* Once a tracker. */
static void tell_down(struct pass *p, size_t tracker)
{
	const struct rec_tracker_health *health = rec_tracker_health(p->trackers, tracker);
	if (p->outcomes[tracker].told)
		return;
	p->outcomes[tracker].told = true;
	progress_clear(p);
	cli_warn(p->cli, "tracker %s: %s (its links are unknown; no task was touched for them)",
		 rec_tracker_name(p->trackers, tracker), health->problem[0] ? health->problem : "cannot be asked now");
}

/* Why single links could not be seen: the first of them, all with --verbose. */
static void tell_unseen(struct pass *p, size_t tracker, const struct rec_observation *o)
{
	char url[200], problem[300];
	struct outcome *outcome = &p->outcomes[tracker];
	bool first = outcome->unseen++ == 0;
	if (outcome->told || !o->problem.data)
		return;
	rec_text_shown(url, sizeof url, o->url);
	rec_text_shown(problem, sizeof problem, o->problem);
	progress_clear(p);
	if (first)
		cli_warn(p->cli, "tracker %s: %s: %s", rec_tracker_name(p->trackers, tracker), url, problem);
	else
		cli_note(p->cli, "tracker %s: %s: %s", rec_tracker_name(p->trackers, tracker), url, problem);
}

static bool has_reason(const struct rec_results *results, enum rec_reason reason)
{
	for (size_t i = 0; i < results->snapshot.count; i++)
		if (results->verdicts[i].reason == reason)
			return true;
	return false;
}

/* ---- Asking ------------------------------------------------------------------------------------- */

static int ask(struct pass *p, size_t tracker, struct rec_error *error)
{
	struct rec_sync_question q;
	int r = rec_sync_question(p->sync, tracker, &q, error);
	p->outcomes[tracker].asked = r == 0 ? q.count : 0;
	if (r < 0 || q.count == 0)
		return r;
	cli_note(p->cli, "tracker %s: asking about %zu links", rec_tracker_name(p->trackers, tracker), q.count);
	r = rec_trackers_ask(p->trackers, tracker, q.links, q.count, q.cursors, q.cursor_count, loop_now_us(), error);
	if (r > 0)
		tell_down(p, tracker);
	return r < 0 ? r : 0;
}

static int take(struct pass *p, const struct rec_tracker_answer *answer, struct rec_error *error)
{
	if (!answer->reached)
		tell_down(p, answer->tracker);
	for (size_t i = 0; i < answer->count; i++)
		if (answer->observations[i].state == REC_OBSERVED_UNKNOWN)
			tell_unseen(p, answer->tracker, &answer->observations[i]);
	int r = rec_sync_take(p->sync, answer->tracker, answer->observations, answer->count, error);
	if (r == 0 && answer->last)
		r = rec_sync_cursors(p->sync, answer->tracker, answer->cursors, answer->cursor_count, error);
	return r;
}

/* All answers that are there. What one tracker has to be asked once more (a tie) is asked when its own are in. */
static int take_all(struct pass *p, struct rec_error *error)
{
	struct rec_tracker_answer answer;
	int r = rec_trackers_step(p->trackers, loop_now_us(), error);
	while (r == 0 && rec_trackers_next(p->trackers, &answer) == 0) {
		r = take(p, &answer, error);
		if (r == 0 && p->apply)
			r = rec_sync_apply(p->sync, error);
		if (r == 0 && answer.last && answer.reached)
			r = ask(p, answer.tracker, error);
	}
	return r;
}

/* Until every tracker has answered or given up. 0, an error, or STATUS_SIGNAL + N. */
static int await(struct pass *p, struct rec_error *error)
{
	for (;;) {
		int r = take_all(p, error);
		if (r < 0 || !rec_trackers_busy(p->trackers))
			return r;
		progress_show(p);
		int64_t now = loop_now_us(), due = rec_trackers_due_us(p->trackers);
		p->loop.looked_us = now;
		p->loop.interval_us = due - now < WAIT_US_MAX ? due - now : WAIT_US_MAX;
		r = loop_wait(&p->loop, error);
		if (r < 0)
			return r;
		if (r & LOOP_STOP)
			return STATUS_SIGNAL + p->loop.signal;
	}
}

static int ask_all(struct pass *p, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < rec_trackers_count(p->trackers); i++)
		r = ask(p, i, error);
	return r == 0 ? await(p, error) : r;
}

/* ---- The pass ----------------------------------------------------------------------------------- */

static size_t find(const void *context, struct rec_slice url)
{
	return rec_trackers_find(context, url);
}

static int pass_run(struct pass *p, const struct rec_slice *ids, size_t count, uint64_t *ret_calls)
{
	struct rec_error error;
	const bool *applied;
	size_t trackers = rec_trackers_count(p->trackers);
	const char **names = rec_arena_alloc(&p->cli->arena, (trackers + 1) * sizeof *names);
	p->outcomes = rec_arena_alloc(&p->cli->arena, (trackers + 1) * sizeof *p->outcomes);
	if (!names || !p->outcomes)
		return cli_fail("out of memory");
	memset(p->outcomes, 0, (trackers + 1) * sizeof *p->outcomes);
	for (size_t i = 0; i < trackers; i++)
		names[i] = rec_tracker_name(p->trackers, i);
	const struct rec_sync_trackers table = {names, trackers, find, p->trackers};
	int r = rec_sync_new(p->cli->store, &table, ids ? REC_SYNC_IDS : REC_SYNC_ALL, ids, count, p->batch_id,
			     &p->sync, &error);
	if (r == 0)
		r = ask_all(p, &error);
	progress_clear(p);
	if (r == 0) {
		const struct rec_results *results = rec_sync_results(p->sync, &applied);
		if (has_reason(results, REC_REASON_NO_TRACKER))
			cli_warn(p->cli,
				 "some links have no tracker: [github] and [tracker NAME] of reconciler.conf(5) "
				 "say who answers for an address");
		results_print(p->cli, results, p->apply ? applied : NULL, ids != NULL);
		*ret_calls = results->calls;
	}
	p->sync = rec_sync_free(p->sync);
	return r < 0 ? cli_error(&error) : r;
}

int sync_pass(struct cli *cli, const struct rec_slice *ids, size_t count, struct rec_slice batch_id, bool apply,
	      uint64_t *ret_calls)
{
	struct pass p = {.cli = cli,
			 .batch_id = batch_id,
			 .apply = apply,
			 .progress = cli->verbosity >= 0 && isatty(STDERR_FILENO) == 1};
	struct rec_error error;
	int status = trackers_open(cli, &p.trackers);
	if (status)
		return status;
	if (loop_init(&p.loop, NULL, rec_trackers_fd(p.trackers), &error) < 0)
		status = cli_error(&error);
	p.loop.output = -1; /* written to at the end; whether somebody reads it changes nothing of what is recorded */
	rec_tracker_reports_heed(p.trackers, cli->store, loop_now_us(), rec_clock_real.wall_us(NULL));
	if (!status)
		status = pass_run(&p, ids, count, ret_calls);
	if (apply)
		rec_tracker_reports_put(p.trackers, cli->store, loop_now_us(), rec_clock_real.wall_us(NULL));
	loop_release(&p.loop);
	rec_trackers_free(p.trackers);
	return status;
}

/* ---- sync --------------------------------------------------------------------------------------- */

static const struct option_spec options[] = {
	{.name = "dry-run", .help = "ask, decide and print, but record nothing; as check trackers does"},
	{0},
};

static const char *const examples[] = {
	"reconciler sync                  # every linked task",
	"reconciler sync --dry-run 4be0   # what would happen to one",
	NULL,
};

static int sync_run(struct cli *cli, const struct arguments *arguments)
{
	bool apply = !option_given(arguments, "dry-run");
	struct rec_slice *ids = NULL;
	uint64_t calls = 0;
	int status = cli_open(cli, apply ? REC_STORE_WRITE : REC_STORE_READ);
	if (!status && arguments->word_count > 0) {
		ids = rec_arena_alloc(&cli->arena, arguments->word_count * sizeof *ids);
		if (!ids)
			return cli_fail("out of memory");
	}
	for (size_t i = 0; !status && i < arguments->word_count; i++)
		status = cli_task_id(cli, arguments->words[i], &ids[i]);
	if (status)
		return status;
	status = sync_pass(cli, ids, arguments->word_count, (struct rec_slice){NULL, 0}, apply, &calls);
	return status || apply ? status : calls > 0 ? STATUS_NO : STATUS_OK;
}

const struct command command_sync = {
	.name = "sync",
	.summary = "ask the trackers about linked tasks, and record what they say",
	.description =
		"Asks every tracker about the tasks that are linked to it (link, task add --issue, or a codeframe "
		"task's external_url), and writes what follows: an issue closed as completed makes its task DONE, a "
		"merged pull request too, and so on (reconciler-sync(1)). Only changes act, each once, and an older "
		"observation never overrides a newer one. What a tracker cannot tell says nothing about the task.\n\n"
		"All trackers are asked at once, each within its time limit. One that cannot be asked is a warning. "
		"The results are those of apply. Exit status 0 unless there was an error; with --dry-run as check.",
	.words = {{.name = "ID", .complete = COMPLETE_TASK, .optional = true, .repeated = true}},
	.options = options,
	.run = sync_run,
	.examples = examples,
};
