/* view.c - see view.h. The live lines are redrawn with two control sequences only: up, and clear to the end of the
 * screen; what a terminal cannot do is never asked of it. */
#include "cli/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "cli/batches.h"
#include "cli/loop.h"
#include "engine/apply.h"

#define BAR_COLUMNS 24
#define BAR_COLUMNS_LEAST 4
#define ESTIMATE_COLUMNS 15 /* "  ~99h59m left", and the last column stays free */
#define LIVE_LINES_MAX 16
#define ID_BYTES_SHOWN 24

void view_init(struct view *v, struct cli *cli)
{
	*v = (struct view){.cli = cli, .started_us = loop_now_us()};
	output_init(&v->err, STDERR_FILENO, cli->colour);
	rec_buffer_init(&v->last, NULL, 1u << 20);
	v->live = output_lively(STDERR_FILENO) && cli->verbosity >= 0 && cli->format != FORMAT_NDJSON;
}

void view_release(struct view *v)
{
	output_release(&v->err);
	rec_buffer_release(&v->last);
}

/* ---- Events ------------------------------------------------------------------------------------- */

static bool is_event(const struct rec_event *event, const char *name)
{
	return rec_slice_equal(event->event, rec_slice_of(name));
}

static bool ends_batch(const struct rec_event *event)
{
	return is_event(event, "BATCH_COMPLETED") || is_event(event, "BATCH_PARTIAL") ||
	       is_event(event, "BATCH_CANCELLED");
}

static void event_json(struct view *v, const struct rec_event *event)
{
	struct rec_buffer *out = &v->cli->out.buffer;
	if (ends_batch(event)) { /* waits for the counts */
		v->ended = true;
		rec_buffer_clear(&v->last);
		rec_event_write_json(&v->last, event);
		if (v->last.length)
			v->last.data[--v->last.length] = '\0';
		return;
	}
	rec_event_write_json(out, event);
	rec_buffer_add_text(out, "\n");
}

static void add_words(struct rec_buffer *out, const struct rec_event *event)
{
	if (event->task_id.data) {
		rec_buffer_add_text(out, " ");
		rec_text_show(out, event->task_id, 80);
	}
	if (event->has_attempt)
		rec_buffer_printf(out, " attempt %" PRId64, event->attempt);
	if (event->has_exit_code)
		rec_buffer_printf(out, " exit %" PRId64, event->exit_code);
	if (event->has_exit_signal)
		rec_buffer_printf(out, " signal %" PRId64, event->exit_signal);
	if (event->has_survivors)
		rec_buffer_printf(out, " survivors %" PRId64, event->survivors);
	const struct rec_slice texts[] = {event->reason, event->observation, event->detail};
	for (size_t i = 0, shown = 0; i < 3; i++) {
		if (!texts[i].length)
			continue;
		rec_buffer_add_text(out, shown++ ? "; " : ": ");
		rec_text_show(out, texts[i], 400);
	}
}

/* "15:04:05 BATCH_TASK_COMPLETED 4be0... attempt 1 exit 0" */
static void event_line(struct view *v, const struct rec_event *event)
{
	char time[REC_TIMESTAMP_BYTES];
	rec_timestamp_format(rec_clock_real.wall_us(rec_clock_real.context), time);
	output_styled(&v->err, STYLE_DIM, (struct rec_slice){time + 11, 8});
	output_text(&v->err, " ");
	int action = event->action.data ? rec_action_parse(event->action) : -1;
	output_styled(&v->err, action > 0 ? style_of_action((enum rec_action)action) : STYLE_PLAIN, event->event);
	add_words(&v->err.buffer, event);
	output_text(&v->err, "\n");
	output_flush(&v->err);
}

/* ---- Who runs ----------------------------------------------------------------------------------- */

static struct view_running *running_find(struct view *v, struct rec_slice id)
{
	for (size_t i = 0; i < v->running_count; i++)
		if (rec_slice_equal(rec_slice_of(v->running[i].id), id))
			return &v->running[i];
	return NULL;
}

static void running_add(struct view *v, const struct rec_event *event)
{
	struct view_running *running = running_find(v, event->task_id);
	if (!running && v->running_count == VIEW_RUNNING_MAX)
		return;
	if (!running)
		running = &v->running[v->running_count++];
	*running = (struct view_running){.attempt = event->attempt, .since_us = loop_now_us()};
	memcpy(running->id, event->task_id.data, event->task_id.length);
}

static void running_remove(struct view *v, struct rec_slice id)
{
	struct view_running *running = running_find(v, id);
	if (!running)
		return;
	size_t after = (size_t)(v->running + v->running_count - (running + 1));
	memmove(running, running + 1, after * sizeof *running); /* a line keeps its place */
	v->running_count--;
}

static bool ends_attempt(const struct rec_event *event)
{
	static const char *const names[] = {"BATCH_TASK_COMPLETED", "BATCH_TASK_FAILED",  "BATCH_TASK_BLOCKED",
					    "BATCH_TASK_ENDED",     "BATCH_TASK_STOPPED", "BATCH_TASK_LOST"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (is_event(event, names[i]))
			return true;
	return (is_event(event, "RECONCILIATION_TASK_SKIPPED") || is_event(event, "RECONCILIATION_TASK_KILLED")) &&
	       event->has_exit_code + event->has_exit_signal > 0;
}

/* On a terminal only what a person should not miss becomes a line of its own; the rest is in the live lines. */
static bool worth_a_line(const struct view *v, const struct rec_event *event)
{
	return !v->live || v->cli->verbosity > 0 || event->action.data || is_event(event, "BATCH_TASK_FAILED") ||
	       is_event(event, "BATCH_TASK_LOST") || is_event(event, "RECONCILIATION_ERROR") ||
	       is_event(event, "DEPENDENCY_RING");
}

static void erase(struct view *v)
{
	if (v->drawn)
		output_printf(&v->err, "\x1b[%zuA\x1b[J", v->drawn);
	v->drawn = 0;
}

/* Trouble is told twice: at once, without a time, and when the store can be written again. */
void view_event(struct view *v, const struct rec_event *event)
{
	if (v->live && is_event(event, "BATCH_TASK_STARTED"))
		running_add(v, event);
	else if (v->live && ends_attempt(event))
		running_remove(v, event->task_id);
	if (v->cli->format == FORMAT_NDJSON)
		v->news = true;
	bool trouble = is_event(event, "RECONCILIATION_ERROR");
	bool otherwise_shown = trouble ? event->time.data != NULL : v->cli->format == FORMAT_NDJSON;
	if (!otherwise_shown && v->cli->verbosity >= 0 && worth_a_line(v, event)) {
		erase(v);
		event_line(v, event);
	}
}

void view_begin(struct view *v, struct rec_slice batch_id)
{
	int64_t own = rec_store_event_seq(v->cli->store); /* of the event that the batch was begun with */
	v->batch_id = batch_id;
	v->seen_seq = own > 0 ? own - 1 : 0;
	v->news = true;
}

static int recorded_show(void *context, const struct rec_event *event)
{
	struct view *v = context;
	v->seen_seq = event->seq;
	if (rec_slice_equal(event->batch_id, v->batch_id))
		event_json(v, event);
	return 0;
}

void view_recorded(struct view *v)
{
	struct rec_error error = {0};
	if (v->cli->format != FORMAT_NDJSON || !v->news)
		return;
	v->news = false;
	int r = rec_store_events(v->cli->store, v->seen_seq, 0, recorded_show, v, &error);
	output_flush(&v->cli->out);
	if (r < 0) { /* the next time, from where it ended */
		v->news = true;
		cli_warn(v->cli, "%s", error.message);
	}
}

/* ---- The live lines ----------------------------------------------------------------------------- */

static void add_duration(struct rec_buffer *out, int64_t us)
{
	int64_t seconds = us / 1000000;
	if (seconds >= 3600)
		rec_buffer_printf(out, "%" PRId64 "h%02" PRId64 "m", seconds / 3600, seconds / 60 % 60);
	else if (seconds >= 60)
		rec_buffer_printf(out, "%" PRId64 "m%02" PRId64 "s", seconds / 60, seconds % 60);
	else
		rec_buffer_printf(out, "%" PRId64 "s", seconds);
}

static void title_read(struct view *v, struct view_running *running)
{
	struct rec_task task;
	rec_cleanup(rec_arena_release) struct rec_arena arena;
	rec_arena_init(&arena, NULL);
	if (rec_store_get(v->cli->store, rec_slice_of(running->id), &arena, &task, NULL) == 0)
		rec_text_shown(running->title, sizeof running->title, task.title);
	else
		snprintf(running->title, sizeof running->title, "-");
}

/* One line: what would wrap could not be taken back. */
static void draw_line(struct view *v, enum style style, struct rec_slice text)
{
	size_t room = v->columns - 1;
	bool whole = rec_text_columns(text) <= room;
	output_styled(&v->err, style, whole ? text : rec_text_fitting(text, room > 3 ? room - 3 : room));
	output_styled(&v->err, style, rec_slice_of(whole || room <= 3 ? "" : "..."));
	output_text(&v->err, "\n");
	v->drawn++;
}

static void add_spaces(struct rec_buffer *out, size_t count)
{
	while (count-- > 0)
		rec_buffer_add(out, " ", 1);
}

static const char *id_shown(const struct view_running *running, char shown[ID_BYTES_SHOWN + 1])
{
	return rec_text_shown(shown, ID_BYTES_SHOWN + 1, rec_slice_of(running->id));
}

static size_t id_columns(const struct view *v, size_t count)
{
	char shown[ID_BYTES_SHOWN + 1];
	size_t widest = 0;
	for (size_t i = 0; i < count; i++) {
		size_t columns = rec_text_columns(rec_slice_of(id_shown(&v->running[i], shown)));
		widest = columns > widest ? columns : widest;
	}
	return widest;
}

static void draw_running(struct view *v, struct view_running *running, size_t id_width, int64_t now_us)
{
	char shown[ID_BYTES_SHOWN + 1];
	rec_cleanup(rec_buffer_release) struct rec_buffer line, time;
	rec_buffer_init(&line, NULL, 8192);
	rec_buffer_init(&time, NULL, 64);
	if (!running->title[0])
		title_read(v, running);
	add_duration(&time, now_us - running->since_us);
	struct rec_slice id = rec_slice_of(id_shown(running, shown));
	rec_buffer_add_text(&line, "  ");
	rec_buffer_add(&line, id.data, id.length);
	add_spaces(&line, id_width - rec_text_columns(id));
	rec_buffer_printf(&line, "  %6s", time.length ? time.data : "");
	if (running->attempt > 1)
		rec_buffer_printf(&line, "  attempt %" PRId64, running->attempt);
	rec_buffer_add_text(&line, "  ");
	rec_buffer_add_text(&line, running->title);
	draw_line(v, STYLE_CYAN, rec_buffer_slice(&line));
}

static void add_bar(struct rec_buffer *out, uint64_t finished, uint64_t all, size_t columns)
{
	size_t full = all ? (size_t)(finished * columns / all) : columns;
	rec_buffer_add_text(out, "[");
	for (size_t i = 0; i < columns; i++)
		rec_buffer_add_text(out, i < full ? "#" : ".");
	rec_buffer_add_text(out, "] ");
}

/* The counts matter more than the bar, and the estimate more than its length. */
static void draw_bar(struct view *v, const struct rec_machine_counts *c, int64_t now_us)
{
	rec_cleanup(rec_buffer_release) struct rec_buffer line, counts;
	uint64_t finished = c->done + c->skipped + c->failed, left = c->waiting + c->queued + c->running;
	uint64_t all = finished + left + c->held, since = finished - v->finished_before;
	rec_buffer_init(&line, NULL, 4096);
	rec_buffer_init(&counts, NULL, 4096);
	rec_buffer_printf(&counts,
			  "%" PRIu64 "/%" PRIu64 "  %" PRIu64 " done, %" PRIu64 " running, %" PRIu64 " held, %" PRIu64
			  " failed, %" PRIu64 " skipped",
			  finished, all, c->done, c->running, c->held, c->failed, c->skipped);
	size_t others = counts.length + sizeof "[] " + ESTIMATE_COLUMNS;
	size_t room = v->columns > others ? v->columns - others : 0;
	if (room >= BAR_COLUMNS_LEAST)
		add_bar(&line, finished, all, room < BAR_COLUMNS ? room : BAR_COLUMNS);
	rec_buffer_add(&line, counts.data, counts.length);
	if (since > 0 && left > 0) {
		rec_buffer_add_text(&line, "  ~");
		add_duration(&line, (now_us - v->started_us) / (int64_t)since * (int64_t)left);
		rec_buffer_add_text(&line, " left");
	}
	draw_line(v, STYLE_PLAIN, rec_buffer_slice(&line));
}

/* The window may have changed since the last drawing. Lines that leave it at the top could not be taken back: the bar
 * and the cursor's line need room too. Gives how many lines are left for running tasks. */
static size_t measure(struct view *v)
{
	struct winsize window = {0};
	(void)ioctl(STDERR_FILENO, TIOCGWINSZ, &window);
	v->columns = window.ws_col ? window.ws_col : 80;
	size_t rows = window.ws_row ? window.ws_row : 24;
	size_t room = rows > 3 ? rows - 2 : 1;
	return room < LIVE_LINES_MAX ? room : LIVE_LINES_MAX;
}

void view_draw(struct view *v, const struct rec_machine_counts *counts, int64_t now_us)
{
	if (!v->begun) {
		v->finished_before = counts->done + counts->skipped + counts->failed;
		v->begun = true;
	}
	if (!v->live)
		return;
	size_t room = measure(v), shown = v->running_count > room ? room - 1 : v->running_count;
	size_t id_width = id_columns(v, shown);
	erase(v);
	for (size_t i = 0; i < shown; i++)
		draw_running(v, &v->running[i], id_width, now_us);
	if (shown < v->running_count) {
		char more[48];
		snprintf(more, sizeof more, "  and %zu more", v->running_count - shown);
		draw_line(v, STYLE_PLAIN, rec_slice_of(more));
	}
	draw_bar(v, counts, now_us);
	output_flush(&v->err);
}

/* ---- The end ------------------------------------------------------------------------------------ */

static void add_counts(struct rec_buffer *out, const struct view_summary *s)
{
	const struct rec_machine_counts *c = &s->counts;
	rec_buffer_printf(out,
			  ",\"counts\":{\"waiting\":%" PRIu64 ",\"queued\":%" PRIu64 ",\"running\":%" PRIu64
			  ",\"held\":%" PRIu64 ",\"done\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"skipped\":%" PRIu64 "}",
			  c->waiting, c->queued, c->running, c->held, c->done, c->failed, c->skipped);
	rec_buffer_printf(out,
			  ",\"reconciliation\":{\"skipped\":%" PRId64 ",\"killed\":%" PRId64 ",\"requeued\":%" PRId64
			  ",\"errors\":%" PRId64 "}",
			  s->skipped, s->killed, s->requeued, s->errors);
	if (s->outside.passes)
		rec_buffer_printf(out,
				  ",\"trackers\":{\"changed\":%" PRIu64 ",\"closed\":%" PRIu64
				  ",\"unreachable\":%" PRIu64 "}",
				  s->outside.changed, s->outside.closed, s->outside.unreachable);
	rec_buffer_add_text(out, "}");
}

void view_summary_json(struct rec_buffer *out, const struct view_summary *summary)
{
	rec_buffer_add_text(out, "{");
	cli_json_text(out, "batch_id", summary->batch_id);
	cli_json_text(out, "status", rec_slice_of(rec_batch_status_text(summary->outcome)));
	add_counts(out, summary);
}

static void summary_table(struct view *v, const struct view_summary *s)
{
	const struct rec_machine_counts *c = &s->counts;
	rec_cleanup(rec_buffer_release) struct rec_buffer what;
	rec_buffer_init(&what, NULL, 4096);
	batch_describe_reconciliation(&what, s->skipped, s->killed, s->requeued);
	output_text(&v->cli->out, "batch ");
	output_shown(&v->cli->out, s->batch_id, REC_ID_BYTES_MAX);
	output_text(&v->cli->out, " ");
	output_styled(&v->cli->out, s->outcome == REC_BATCH_COMPLETED ? STYLE_GREEN : STYLE_YELLOW,
		      rec_slice_of(rec_batch_status_text(s->outcome)));
	output_printf(&v->cli->out, ": %" PRIu64 " done, %" PRIu64 " skipped, %" PRIu64 " failed, %" PRIu64 " held",
		      c->done, c->skipped, c->failed, c->held);
	if (c->waiting + c->queued + c->running)
		output_printf(&v->cli->out, ", %" PRIu64 " not started", c->waiting + c->queued + c->running);
	output_printf(&v->cli->out, "\nreconciliation: %s\n", what.length ? what.data : "nothing to do");
	if (s->outside.passes)
		output_printf(&v->cli->out,
			      "trackers: %" PRIu64 " changed tasks, %" PRIu64 " items closed, %" PRIu64
			      " could not be asked\n",
			      s->outside.changed, s->outside.closed, s->outside.unreachable);
	if (s->errors)
		output_printf(&v->cli->out, "%" PRId64 " checks failed and were repeated\n", s->errors);
}

void view_end(struct view *v, const struct view_summary *summary)
{
	struct rec_buffer *out = &v->cli->out.buffer;
	erase(v);
	output_flush(&v->err);
	if (v->cli->format == FORMAT_TABLE) {
		summary_table(v, summary);
	} else if (v->cli->format == FORMAT_NDJSON && v->ended) {
		rec_buffer_add(out, v->last.data, v->last.length);
		add_counts(out, summary);
		rec_buffer_add_text(out, "\n");
	} else {
		view_summary_json(out, summary);
		rec_buffer_add_text(out, "\n");
	}
}
