/* trackers-print.c - how trackers are, for people and programs: see trackers.h. */
#include <inttypes.h>

#include "base/timestamp.h"
#include "cli/trackers.h"

#define PROBLEM_BYTES 300

struct printing {
	struct cli *cli;
	struct rec_buffer *out;
	int64_t now_us;
	uint64_t count;
};

static int64_t wall_us(void)
{
	return rec_clock_real.wall_us(rec_clock_real.context);
}

static void print_age(struct output *out, int64_t us)
{
	int64_t seconds = us > 0 ? us / 1000000 : 0;
	if (seconds < 120)
		output_printf(out, "%" PRId64 " s ago", seconds);
	else if (seconds < 7200)
		output_printf(out, "%" PRId64 " min ago", seconds / 60);
	else
		output_printf(out, "%" PRId64 " h ago", seconds / 3600);
}

static void print_time(struct output *out, const char *before, int64_t us)
{
	char time[REC_TIMESTAMP_BYTES];
	rec_timestamp_format(us, time);
	output_printf(out, "%s%.8s UTC", before, time + 11);
}

static void print_one(void *context, const char *name, const struct rec_tracker_report *report)
{
	struct printing *p = context;
	struct output *out = &p->cli->out;
	bool down = report->state == REC_TRACKER_DOWN;
	output_text(out, p->count++ ? "" : "\n");
	output_text(out, "tracker ");
	output_shown(out, rec_slice_of(name), 80);
	output_text(out, ": ");
	output_styled(out,
		      down                                  ? STYLE_RED
		      : report->state == REC_TRACKER_PAUSED ? STYLE_YELLOW
							    : STYLE_GREEN,
		      rec_slice_of(rec_tracker_state_text(report->state)));
	if (report->reached_us) {
		output_text(out, down ? ", reached " : " ");
		print_age(out, p->now_us - report->reached_us);
	}
	if (report->has_budget)
		output_printf(out, ", %" PRId64 " of %" PRId64 " requests left", report->budget_remaining,
			      report->budget_limit);
	if (report->not_before_us > p->now_us)
		print_time(out, ", asked again at ", report->not_before_us);
	if (report->problem[0]) {
		output_text(out, ": ");
		output_shown(out, rec_slice_of(report->problem), PROBLEM_BYTES);
	}
	output_text(out, "\n");
}

void trackers_print(struct cli *cli)
{
	struct printing p = {.cli = cli, .now_us = wall_us()};
	trackers_reports(cli, print_one, &p);
}

static void write_time(struct rec_buffer *out, const char *key, int64_t us)
{
	char time[REC_TIMESTAMP_BYTES];
	cli_json_text(out, key, rec_slice_of(us ? rec_timestamp_format(us, time) : NULL));
}

static void write_one(void *context, const char *name, const struct rec_tracker_report *report)
{
	struct printing *p = context;
	struct rec_buffer *out = p->out;
	rec_buffer_add_text(out, p->count++ ? ",{" : ",\"trackers\":[{");
	cli_json_text(out, "name", rec_slice_of(name));
	cli_json_text(out, "state", rec_slice_of(rec_tracker_state_text(report->state)));
	cli_json_number(out, "failures", report->failures);
	cli_json_text(out, "problem", rec_slice_of(report->problem[0] ? report->problem : NULL));
	cli_json_text(out, "helper", rec_slice_of(report->helper[0] ? report->helper : NULL));
	write_time(out, "told_at", report->told_us);
	write_time(out, "reached_at", report->reached_us);
	write_time(out, "not_before", report->not_before_us);
	rec_buffer_add_text(out, ",\"budget\":");
	if (report->has_budget) {
		rec_buffer_add_text(out, "{");
		cli_json_number(out, "limit", report->budget_limit);
		cli_json_number(out, "remaining", report->budget_remaining);
		write_time(out, "reset", report->budget_reset_us);
		rec_buffer_add_text(out, "}");
	} else {
		rec_buffer_add_text(out, "null");
	}
	rec_buffer_add_text(out, "}");
}

void trackers_write_json(struct cli *cli, struct rec_buffer *out)
{
	struct printing p = {.cli = cli, .out = out};
	trackers_reports(cli, write_one, &p);
	if (p.count)
		rec_buffer_add_text(out, "]");
}
