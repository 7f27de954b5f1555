/* view.h - what a person or a program sees while a batch runs.
 *
 * On a terminal: a line for each running task and a progress bar with counts and an estimate, redrawn in place on
 * standard error. Without one: a line for each event. With --format ndjson: each event as an object on
 * standard output, the last one with the counts. The summary at the end is a result and goes to standard output. */
#ifndef REC_CLI_VIEW_H
#define REC_CLI_VIEW_H

#include "cli/cli.h"
#include "conductor/outside.h"
#include "core/machine.h"

#define VIEW_RUNNING_MAX 256 /* lines kept; the terminal shows as many as fit */

struct view_running {
	char id[REC_ID_BYTES_MAX + 1];
	char title[128];
	int64_t attempt, since_us; /* monotonic */
};

struct view {
	struct cli *cli;
	struct output err; /* standard error, for the live lines */
	bool live;         /* redraw in place */
	bool ended;        /* the batch's last event is in `last` */
	size_t columns;    /* of the terminal, at the last drawing */
	size_t drawn;      /* lines on the screen that the next drawing replaces */
	struct view_running running[VIEW_RUNNING_MAX];
	size_t running_count;
	int64_t started_us;
	uint64_t finished_before; /* tasks that were finished when the run began */
	bool begun;
	struct rec_slice batch_id;
	int64_t seen_seq;       /* ndjson: events up to this one are printed */
	bool news;              /* ... and there are more */
	struct rec_buffer last; /* ndjson: the batch's last event without its closing brace */
};
void view_init(struct view *v, struct cli *cli);
void view_release(struct view *v);

/* The batch is made or taken up; what its event and later ones say is shown. */
void view_begin(struct view *v, struct rec_slice batch_id);
/* One event as it happens. With ndjson it is only noted: view_recorded prints what the store recorded, which has
 * numbers and times; one that could not be recorded is a line on standard error. */
void view_event(struct view *v, const struct rec_event *event);
/* ndjson: prints what was recorded of the batch since the last time. Not inside a group. */
void view_recorded(struct view *v);
/* Redraws the live lines; nothing without a terminal. */
void view_draw(struct view *v, const struct rec_machine_counts *counts, int64_t now_us);

struct view_summary {
	struct rec_slice batch_id;
	enum rec_batch_status outcome;
	struct rec_machine_counts counts;
	int64_t skipped, killed, requeued, errors;
	struct rec_outside_counts outside;
};
/* Ends the live lines and prints the summary in the format asked for. */
void view_end(struct view *v, const struct view_summary *summary);
/* {"batch_id":...,"status":...,"counts":{...},"reconciliation":{...}} */
void view_summary_json(struct rec_buffer *out, const struct view_summary *summary);

#endif
