/* status.c - `reconciler status`: the batches, or one of them with its tasks. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/timestamp.h"
#include "cli/commands.h"
#include "cli/standing.h"
#include "cli/trackers.h"

static const char *const examples[] = {"reconciler status", "reconciler status 5c1e", NULL};

static const struct table_column batch_columns[] = {
	{.title = "BATCH", .columns_least = 8, .is_id = true},
	{.title = "STATUS", .columns_least = 9},
	{.title = "CONDUCTOR", .columns_least = 9},
	{.title = "STARTED (UTC)", .columns_least = 19},
	{.title = "ENDED (UTC)", .columns_least = 19},
	{.title = "RECONCILIATION", .columns_least = 14, .columns_cut = 14},
};

static const struct table_column task_columns[] = {
	{.title = "TASK", .columns_least = 8, .is_id = true},
	{.title = "PHASE", .columns_least = 8},
	{.title = "STATUS", .columns_least = 11},
	{.title = "ATTEMPT", .right = true},
	{.title = "REASON", .columns_least = 12, .columns_cut = 12},
};

static const char *conductor_text(enum rec_batch_status status, bool living)
{
	return status != REC_BATCH_RUNNING ? NULL : living ? "alive" : "gone";
}

static enum style style_of_batch(enum rec_batch_status status, bool living)
{
	if (status == REC_BATCH_RUNNING)
		return living ? STYLE_CYAN : STYLE_RED;
	return status == REC_BATCH_COMPLETED ? STYLE_GREEN : STYLE_YELLOW;
}

static const char *phase_text(const struct standing_task *task, int64_t now_us)
{
	static const char *const texts[] = {"waiting", "queued", "running", "held", "finished"};
	if (rec_slice_equal(task->row.phase, rec_slice_of(texts[0])))
		return texts[task->unmet || task->row.not_before_us > now_us ? 0 : 1];
	for (size_t i = 2; i < sizeof texts / sizeof *texts; i++)
		if (rec_slice_equal(task->row.phase, rec_slice_of(texts[i])))
			return texts[i];
	return "?";
}

static const char *reason_when_waiting(const struct standing_task *task, int64_t now_us)
{
	if (!rec_slice_equal(task->row.phase, rec_slice_of("waiting")))
		return NULL;
	return task->unmet                        ? "a dependency is not finished"
	       : task->row.not_before_us > now_us ? "tried again later"
						  : NULL;
}

/* ---- The list ----------------------------------------------------------------------------------- */

struct listing {
	struct cli *cli;
	struct table table;
	struct rec_batch *batches; /* what is shown of each, texts in cli->arena */
	size_t count, capacity;
};

static int keep_text(struct cli *cli, struct rec_slice from, struct rec_slice *to)
{
	*to = from;
	if (from.data)
		to->data = rec_arena_strndup(&cli->arena, from.data, from.length);
	return from.data && !to->data ? REC_E_NOMEM : 0;
}

/* Whether somebody runs it is asked later: another host's lease is in the store, which is not to be asked meanwhile. */
static int keep_batch(void *context, const struct rec_batch *batch)
{
	struct listing *l = context;
	void *batches = l->batches;
	int r = rec_grow(NULL, &batches, &l->capacity, l->count + 1, sizeof *l->batches);
	l->batches = batches;
	if (r)
		return REC_E_NOMEM;
	struct rec_batch *kept = &l->batches[l->count++];
	*kept = *batch;
	kept->options = kept->owner = (struct rec_slice){0};
	r = keep_text(l->cli, batch->batch_id, &kept->batch_id);
	r = r ? r : keep_text(l->cli, batch->started_at, &kept->started_at);
	return r ? r : keep_text(l->cli, batch->ended_at, &kept->ended_at);
}

static void time_cell(struct table *table, struct rec_slice time)
{
	char text[REC_TIMESTAMP_BYTES];
	int64_t us;
	if (!time.data || rec_timestamp_parse(time, &us) < 0) {
		table_text(table, STYLE_DIM, "-");
		return;
	}
	rec_timestamp_format(us, text);
	text[10] = ' ';
	table_cell(table, STYLE_DIM, (struct rec_slice){text, 19});
}

static void write_reconciliation(struct rec_buffer *out, const struct rec_batch *batch)
{
	rec_buffer_add_text(out, ",\"reconciliation\":{");
	cli_json_number(out, "skipped", batch->skipped);
	cli_json_number(out, "killed", batch->killed);
	cli_json_number(out, "requeued", batch->requeued);
	cli_json_number(out, "errors", batch->errors);
	rec_buffer_add_text(out, "}");
}

static void write_head(struct rec_buffer *out, const struct rec_batch *batch, bool living)
{
	rec_buffer_add_text(out, "{");
	cli_json_text(out, "batch_id", batch->batch_id);
	cli_json_text(out, "status", rec_slice_of(rec_batch_status_text(batch->status)));
	cli_json_text(out, "conductor", rec_slice_of(conductor_text(batch->status, living)));
}

static void batch_row(struct listing *l, const struct rec_batch *batch, bool living)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer what;
	const char *conductor = conductor_text(batch->status, living);
	rec_buffer_init(&what, NULL, 4096);
	batch_describe_reconciliation(&what, batch->skipped, batch->killed, batch->requeued);
	table_cell(&l->table, STYLE_PLAIN, batch->batch_id);
	table_text(&l->table, style_of_batch(batch->status, living), rec_batch_status_text(batch->status));
	table_text(&l->table, living ? STYLE_CYAN : STYLE_PLAIN, conductor ? conductor : "-");
	time_cell(&l->table, batch->started_at);
	time_cell(&l->table, batch->ended_at);
	table_text(&l->table, STYLE_PLAIN, what.length ? what.data : "-");
}

static int print_batch(struct listing *l, size_t index)
{
	const struct rec_batch *batch = &l->batches[index];
	bool living = false;
	int status = batch->status == REC_BATCH_RUNNING ? batch_living(l->cli, batch->batch_id, &living) : STATUS_OK;
	if (status)
		return status;
	if (l->cli->format == FORMAT_TABLE) {
		batch_row(l, batch, living);
		return STATUS_OK;
	}
	struct rec_buffer *out = cli_list_item(l->cli, index);
	write_head(out, batch, living);
	cli_json_text(out, "started_at", batch->started_at);
	cli_json_text(out, "ended_at", batch->ended_at);
	write_reconciliation(out, batch);
	rec_buffer_add_text(out, "}");
	cli_list_item_end(l->cli);
	return STATUS_OK;
}

static int print_batches(struct listing *l)
{
	int status = STATUS_OK;
	table_init(&l->table, &l->cli->out, batch_columns, sizeof batch_columns / sizeof *batch_columns);
	cli_list_begin(l->cli);
	for (size_t i = 0; i < l->count && !status && !output_broken(&l->cli->out); i++)
		status = print_batch(l, i);
	table_flush(&l->table);
	cli_list_end(l->cli);
	table_release(&l->table);
	return status;
}

static int list_all(struct cli *cli)
{
	struct listing l = {.cli = cli};
	struct rec_error error;
	int r = rec_store_batches(cli->store, keep_batch, &l, &error);
	if (r == REC_E_NOMEM)
		rec_fail_nomem(&error);
	int status = r < 0 ? cli_error(&error) : print_batches(&l);
	if (r >= 0 && l.count == 0)
		cli_note(cli, "no batches (reconciler run starts one)");
	if (r >= 0 && cli->format == FORMAT_TABLE)
		trackers_print(cli);
	rec_free(NULL, l.batches);
	return status;
}

/* ---- One batch ---------------------------------------------------------------------------------- */

static void write_counts(struct rec_buffer *out, const struct batch_counts *counts)
{
	rec_buffer_add_text(out, ",\"counts\":{");
	cli_json_number(out, "waiting", (int64_t)counts->waiting);
	cli_json_number(out, "queued", (int64_t)counts->queued);
	cli_json_number(out, "running", (int64_t)counts->running);
	cli_json_number(out, "held", (int64_t)counts->held);
	cli_json_number(out, "done", (int64_t)counts->done);
	cli_json_number(out, "failed", (int64_t)counts->failed);
	cli_json_number(out, "skipped", (int64_t)counts->skipped);
	rec_buffer_add_text(out, "}");
}

static struct rec_slice stored_status(const struct standing *st, size_t i)
{
	enum rec_status status = (enum rec_status)st->snapshot.facts[i].status;
	if (status == REC_STATUS_ABSENT)
		return (struct rec_slice){0};
	return status == REC_STATUS_UNRECOGNISED ? rec_snapshot_raw(&st->snapshot, i)
						 : rec_slice_of(rec_status_text(status));
}

static struct rec_slice reason_of(const struct standing_task *task, int64_t now_us)
{
	const char *waiting = reason_when_waiting(task, now_us);
	return waiting ? rec_slice_of(waiting) : task->row.reason;
}

static void print_json(struct cli *cli, const struct standing *st, int64_t now_us)
{
	struct rec_buffer *out = &cli->out.buffer;
	write_head(out, &st->batch, st->living);
	write_counts(out, &st->counts);
	write_reconciliation(out, &st->batch);
	rec_buffer_add_text(out, ",\"tasks\":[");
	for (size_t i = 0; i < st->count; i++) {
		const struct standing_task *task = &st->tasks[i];
		rec_buffer_add_text(out, i ? ",{" : "{");
		cli_json_text(out, "task_id", task->row.task_id);
		cli_json_text(out, "phase", rec_slice_of(phase_text(task, now_us)));
		cli_json_text(out, "status", stored_status(st, i));
		cli_json_number(out, "attempt", task->row.attempt);
		cli_json_text(out, "reason", reason_of(task, now_us));
		rec_buffer_add_text(out, "}");
		output_more(&cli->out);
	}
	rec_buffer_add_text(out, "]");
	trackers_write_json(cli, out);
	rec_buffer_add_text(out, "}\n");
}

static void print_head(struct cli *cli, const struct standing *st)
{
	const struct batch_counts *c = &st->counts;
	const struct rec_batch *batch = &st->batch;
	rec_cleanup(rec_buffer_release) struct rec_buffer what;
	rec_buffer_init(&what, NULL, 4096);
	batch_describe_reconciliation(&what, batch->skipped, batch->killed, batch->requeued);
	output_text(&cli->out, "batch ");
	output_styled(&cli->out, STYLE_BOLD, batch->batch_id);
	output_text(&cli->out, "  ");
	output_styled(&cli->out, style_of_batch(batch->status, st->living),
		      rec_slice_of(rec_batch_status_text(batch->status)));
	if (batch->status == REC_BATCH_RUNNING && !st->living)
		output_text(&cli->out, "  its conductor is gone (reconciler resume takes it up)");
	output_printf(&cli->out,
		      "\n%" PRIu64 " done, %" PRIu64 " running, %" PRIu64 " queued, %" PRIu64 " waiting, %" PRIu64
		      " held, %" PRIu64 " failed, %" PRIu64 " skipped\n",
		      c->done, c->running, c->queued, c->waiting, c->held, c->failed, c->skipped);
	if (what.length)
		output_printf(&cli->out, "reconciliation: %s\n", what.data);
	output_text(&cli->out, "\n");
}

static void print_table(struct cli *cli, const struct standing *st, int64_t now_us)
{
	struct table table;
	print_head(cli, st);
	table_init(&table, &cli->out, task_columns, sizeof task_columns / sizeof *task_columns);
	for (size_t i = 0; i < st->count; i++) {
		const struct standing_task *task = &st->tasks[i];
		struct rec_slice status = stored_status(st, i), reason = reason_of(task, now_us);
		table_cell(&table, STYLE_PLAIN, task->row.task_id);
		table_text(&table, STYLE_PLAIN, phase_text(task, now_us));
		table_cell(&table, style_of_status((enum rec_status)st->snapshot.facts[i].status),
			   status.data ? status : rec_slice_of("-"));
		table_number(&table, task->row.attempt);
		table_cell(&table, STYLE_DIM, reason.length ? reason : rec_slice_of("-"));
	}
	table_flush(&table);
	table_release(&table);
	trackers_print(cli);
}

static int show_one(struct cli *cli, const char *text)
{
	rec_cleanup(standing_release) struct standing standing = {.count = 0};
	struct rec_batch batch;
	int status = batch_find(cli, text, &batch);
	if (!status)
		status = standing_read(cli, &batch, &standing);
	if (status)
		return status;
	int64_t now = rec_clock_real.wall_us(rec_clock_real.context);
	if (cli->format == FORMAT_TABLE)
		print_table(cli, &standing, now);
	else
		print_json(cli, &standing, now);
	return STATUS_OK;
}

static int status_run(struct cli *cli, const struct arguments *arguments)
{
	int status = cli_open(cli, REC_STORE_READ);
	if (status)
		return status;
	return arguments->word_count ? show_one(cli, arguments->words[0]) : list_all(cli);
}

const struct command command_status = {
	.name = "status",
	.summary = "list batches, or show one with its tasks",
	.description = "Without a batch: every batch of this store. With one: its counts, what reconciliation did, and "
		       "for each "
		       "task its phase, stored status, attempt, and what holds it. A RUNNING batch whose conductor is "
		       "gone is shown so.",
	.words = {{.name = "BATCH", .optional = true}},
	.run = status_run,
	.examples = examples,
};
