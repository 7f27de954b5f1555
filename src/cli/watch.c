/* watch.c - `reconciler watch`: keep checking.
 *
 * One loop: look, flush, wait. What the batch believes comes in on standard input while the store tells of its
 * own changes; both only lead to the next look, where the engine decides from what is true then.
 */
#include "engine/watch.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/timestamp.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/loop.h"
#include "cli/results.h"
#include "cli/selection.h"

static const struct option_spec options[] = {
	SELECTION_OPTIONS,
	{.name = "apply", .help = "also apply what apply would"},
	{0},
};

static const char *const kinds[] = {"tasks", "blockers", NULL};

static const char *const examples[] = {
	"reconciler watch                          # every task of the store",
	"reconciler watch --batch ID               # a batch this store knows",
	"orchestrator | reconciler watch --batch-state - --format ndjson",
	NULL,
};

struct watching {
	struct cli *cli;
	struct rec_watch *watch;
	struct table table;
	struct rec_belief_parser parser; /* live updates */
	bool live, applying;
	int update_failed; /* what rec_watch_believe gave inside the parser's callback */
	struct rec_error update_error;
	char *piece;
};

/* ---- Out ---------------------------------------------------------------------------------------- */

/* "HH:MM:SS" of now, into the buffer that rec_timestamp_format fills. */
static struct rec_slice utc_time(char out[REC_TIMESTAMP_BYTES])
{
	rec_timestamp_format(rec_clock_real.wall_us(rec_clock_real.context), out);
	return (struct rec_slice){out + 11, 8};
}

static int tell(void *context, const struct rec_result_view *view, int applied)
{
	struct watching *w = context;
	struct output *out = &w->cli->out;
	if (w->cli->format == FORMAT_NDJSON) {
		rec_result_write_json(&out->buffer, view, applied);
		output_text(out, "\n");
		return 0;
	}
	char time[REC_TIMESTAMP_BYTES];
	table_cell(&w->table, STYLE_DIM, utc_time(time));
	results_row(&w->table, view, w->applying ? applied > 0 : -1);
	return 0;
}

static int look(struct watching *w, struct loop *loop)
{
	struct rec_error error;
	loop_looking(loop);
	int r = rec_watch_look(w->watch, loop->looked_us, tell, w, NULL, &error);
	table_flush(&w->table);
	output_flush(&w->cli->out);
	return loop_looked(loop, w->cli, r, &error);
}

/* ---- In ----------------------------------------------------------------------------------------- */

static void believe(void *context, uint32_t index)
{
	struct watching *w = context;
	const struct rec_belief *belief = w->parser.belief;
	if (!w->update_failed)
		w->update_failed = rec_watch_believe(w->watch, belief->ids[index],
						     (enum rec_status)belief->statuses[index], &w->update_error);
}

/* What the batch believed before the watch began. */
static int believe_all(struct watching *w, const struct rec_belief *belief)
{
	struct rec_error error;
	for (size_t i = 0; i < belief->count; i++) {
		enum rec_status status = (enum rec_status)belief->statuses[i];
		int r = rec_watch_believe(w->watch, belief->ids[i], status, &error);
		if (r < 0)
			return cli_error(&error);
	}
	return STATUS_OK;
}

/* One read. *ret_ended: standard input came to its end. */
static int take_updates(struct watching *w, bool *ret_ended)
{
	struct rec_error error;
	ssize_t length = read(STDIN_FILENO, w->piece, INPUT_PIECE_BYTES);
	if (length < 0 && (errno == EINTR || errno == EAGAIN))
		return STATUS_OK;
	if (length < 0)
		return cli_fail("standard input: %s", strerror(errno));
	*ret_ended = length == 0;
	int r = length ? rec_belief_parser_feed(&w->parser, (struct rec_slice){w->piece, (size_t)length}, &error)
		       : rec_belief_parser_finish(&w->parser, &error);
	if (w->update_failed)
		return cli_error(&w->update_error);
	if (r < 0) {
		rec_fail_context(&error, r, "standard input");
		return cli_error(&error);
	}
	return STATUS_OK;
}

/* ---- The loop ----------------------------------------------------------------------------------- */

static int run_loop(struct watching *w, struct loop *loop)
{
	bool ended = false;
	int status = look(w, loop);
	while (!status && !ended && !output_broken(&w->cli->out)) {
		struct rec_error error;
		int events = loop_wait(loop, &error);
		if (events < 0)
			return cli_error(&error);
		if (events & LOOP_STOP)
			return STATUS_SIGNAL + loop->signal;
		if (events & LOOP_GONE)
			return STATUS_SIGNAL + SIGPIPE;
		int bad = events & LOOP_INPUT ? take_updates(w, &ended) : STATUS_OK;
		if (events & (LOOP_LOOK | LOOP_INPUT))
			status = look(w, loop); /* what came before a bad line still counts */
		status = bad ? bad : status;
	}
	return status;
}

static int watch(struct watching *w, struct selection *selection)
{
	rec_cleanup(loop_release) struct loop loop = {.signals = -1};
	struct rec_error error;
	if (loop_init(&loop, w->cli->store, w->live ? STDIN_FILENO : -1, &error) < 0)
		return cli_error(&error);
	struct rec_watch_options wanted = {
		.kind = selection->kind,
		.ids = selection->ids,
		.id_count = selection->id_count,
		.only_believed = selection->believes && !selection->ids,
		.apply = w->applying,
		.batch_id = rec_slice_of(selection->batch),
	};
	if (rec_watch_new(w->cli->store, &wanted, &w->watch, &error) < 0)
		return cli_error(&error);
	int status = w->live ? STATUS_OK : believe_all(w, &selection->belief);
	return status ? status : run_loop(w, &loop);
}

static int prepare(struct watching *w, struct selection *selection, const struct arguments *arguments)
{
	w->applying = option_given(arguments, "apply");
	w->live = selection->state_path && strcmp(selection->state_path, "-") == 0;
	if (w->cli->format == FORMAT_JSON)
		return cli_fail("watch --format json: a watch has no end (use table or ndjson)");
	w->piece = rec_alloc(NULL, INPUT_PIECE_BYTES);
	if (!w->piece)
		return cli_fail("out of memory");
	int status = w->live ? STATUS_OK : selection_read_state(selection);
	if (!status)
		status = cli_open(w->cli, w->applying ? REC_STORE_WRITE : REC_STORE_READ);
	return status ? status : selection_read_batch(selection, w->cli);
}

static int watch_run(struct cli *cli, const struct arguments *arguments)
{
	rec_cleanup(selection_release) struct selection selection;
	struct watching w = {.cli = cli};
	int status = selection_init(&selection, cli, arguments);
	if (status)
		return status;
	results_table_init(&w.table, &cli->out, true, option_given(arguments, "apply"));
	rec_belief_parser_init(&w.parser, &selection.belief, true);
	w.parser.on_update = believe;
	w.parser.context = &w;
	status = prepare(&w, &selection, arguments);
	if (!status)
		status = watch(&w, &selection);
	rec_watch_free(w.watch);
	rec_belief_parser_release(&w.parser);
	table_release(&w.table);
	rec_free(NULL, w.piece);
	return status;
}

const struct command command_watch = {
	.name = "watch",
	.summary = "keep checking; print a result whenever a verdict changes",
	.description =
		"Keeps checking and prints a result whenever a verdict changes: first every result but NONE without a "
		"discrepancy, then each change of any field, a return to NONE included. Woken by the store's changes, "
		"whoever makes them. Ends on Ctrl-C.\n\n"
		"With --batch-state - it reads updates of the belief from standard input, one object a line: "
		"{\"task_id\":\"...\",\"status\":\"...\"}; a null status forgets the task. The end of the input ends "
		"the "
		"watch, a bad line ends it with 2. Formats: table (times are UTC) and ndjson.",
	.words = SELECTION_WORDS("tasks|blockers", kinds),
	.options = options,
	.run = watch_run,
	.examples = examples,
};
