/* wait.c - `reconciler wait`: the view of a batch that another process runs, until it ends. Everything comes from
 * the store: the audit log tells what happened, the batch's rows how it stands. Whether its conductor lives is asked of
 * its lock each second, since a killed one writes nothing. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/loop.h"
#include "cli/standing.h"
#include "cli/view.h"

#define LIVING_INTERVAL_US 1000000
#define COUNT_INTERVAL_US 500000 /* counting reads all tasks of the batch */

static const char *const examples[] = {"reconciler wait 5c1e", NULL};

struct waiting {
	struct cli *cli;
	struct view view;
	struct rec_batch batch;
	struct rec_machine_counts counts;
	int64_t since, counted_us;
};

static int take_event(void *context, const struct rec_event *event)
{
	struct waiting *w = context;
	w->since = event->seq;
	if (rec_slice_equal(event->batch_id, w->batch.batch_id))
		view_event(&w->view, event);
	return output_broken(&w->cli->out) ? REC_END : 0;
}

static int count_now(struct waiting *w)
{
	rec_cleanup(standing_release) struct standing standing = {.count = 0};
	int status = standing_read(w->cli, &w->batch, &standing);
	const struct batch_counts *c = &standing.counts;
	w->counts =
		(struct rec_machine_counts){c->waiting, c->queued, c->running, c->held, c->done, c->failed, c->skipped};
	w->counted_us = loop_now_us();
	return status;
}

/* Reads the batch anew. 0 or the exit status. */
static int read_batch(struct waiting *w)
{
	struct rec_error error;
	int r = rec_store_batch_get(w->cli->store, w->batch.batch_id, &w->cli->arena, &w->batch, &error);
	return cli_outcome(r, "batch", w->batch.batch_id, &error);
}

/* Looks once; *ret_ended: the batch has ended. The conductor is asked first and the batch second, so that one which
 * ended in between does not look like one that was killed. */
static int look(struct waiting *w, bool *ret_ended)
{
	struct rec_error error;
	char shown[REC_ID_BYTES_MAX + 1];
	bool living = false;
	int status = batch_living(w->cli, w->batch.batch_id, &living);
	if (!status)
		status = read_batch(w);
	if (status)
		return status;
	if (rec_store_events(w->cli->store, w->since, 0, take_event, w, &error) < 0)
		return cli_error(&error);
	*ret_ended = w->batch.status != REC_BATCH_RUNNING;
	if (!*ret_ended && !living)
		return cli_fail("batch %s: its conductor is gone (reconciler resume takes it up)",
				rec_text_shown(shown, sizeof shown, w->batch.batch_id));
	if (*ret_ended || (w->view.live && loop_now_us() - w->counted_us >= COUNT_INTERVAL_US))
		status = count_now(w);
	if (!status && !*ret_ended)
		view_draw(&w->view, &w->counts, loop_now_us());
	return status;
}

static int loop_until_end(struct waiting *w)
{
	rec_cleanup(loop_release) struct loop loop = {.signals = -1};
	struct rec_error error;
	bool ended = false;
	if (loop_init(&loop, w->cli->store, -1, &error) < 0)
		return cli_error(&error);
	loop.interval_us = LIVING_INTERVAL_US;
	for (;;) {
		loop_looking(&loop);
		int status = look(w, &ended);
		if (status || ended || output_flush(&w->cli->out))
			return status;
		int events = loop_wait(&loop, &error);
		if (events < 0)
			return cli_error(&error);
		if (events & LOOP_STOP)
			return STATUS_SIGNAL + loop.signal;
		if (events & LOOP_GONE)
			return STATUS_SIGNAL + SIGPIPE;
	}
}

static int wait_run(struct cli *cli, const struct arguments *arguments)
{
	struct waiting w = {.cli = cli};
	int status = cli_open(cli, REC_STORE_READ);
	if (!status)
		status = batch_find(cli, arguments->words[0], &w.batch);
	if (status)
		return status;
	view_init(&w.view, cli);
	status = loop_until_end(&w);
	if (!status) {
		view_end(&w.view, &(struct view_summary){.batch_id = w.batch.batch_id,
							 .outcome = w.batch.status,
							 .counts = w.counts,
							 .skipped = w.batch.skipped,
							 .killed = w.batch.killed,
							 .requeued = w.batch.requeued,
							 .errors = w.batch.errors});
		status = batch_exit_status(w.batch.status);
	}
	view_release(&w.view);
	return status;
}

const struct command command_wait = {
	.name = "wait",
	.summary = "watch a batch that runs elsewhere until it ends",
	.description =
		"Shows what run shows, for a batch that another process runs, and exits as that run does: 0 if the "
		"batch completed, 1 if not. If its conductor is gone: 2. Ctrl-C ends the watching only.",
	.words = {{.name = "BATCH"}},
	.run = wait_run,
	.examples = examples,
};
