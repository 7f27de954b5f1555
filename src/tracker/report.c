/* report.c - see report.h. */
#include "tracker/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "tracker/fields.h"

#define KEY "health"
#define NAME_BYTES 300

static int64_t wall_of(int64_t at_us, int64_t monotonic_us, int64_t wall_us)
{
	return at_us ? wall_us + (at_us - monotonic_us) : 0;
}

struct rec_tracker_report rec_tracker_report_of(const struct rec_tracker_health *h, int64_t monotonic_us,
						int64_t wall_us)
{
	struct rec_tracker_report report = {
		.state = h->state,
		.failures = h->failures,
		.wished = h->wished,
		.told_us = wall_us,
		.reached_us = wall_of(h->reached_us, monotonic_us, wall_us),
		.not_before_us = wall_of(h->not_before_us, monotonic_us, wall_us),
		.has_budget = h->has_budget,
		.budget_limit = h->budget_limit,
		.budget_remaining = h->budget_remaining,
		.budget_reset_us = h->budget_reset_us,
	};
	memcpy(report.problem, h->problem, sizeof report.problem);
	memcpy(report.helper, h->helper, sizeof report.helper);
	return report;
}

/* ---- As text ------------------------------------------------------------------------------------ */

static void write_time(struct rec_buffer *out, const char *key, int64_t us)
{
	char time[REC_TIMESTAMP_BYTES];
	if (us)
		rec_buffer_printf(out, ",\"%s\":\"%s\"", key, rec_timestamp_format(us, time));
	else
		rec_buffer_printf(out, ",\"%s\":null", key);
}

static void write_text(struct rec_buffer *out, const char *key, const char *text)
{
	rec_buffer_printf(out, ",\"%s\":", key);
	rec_json_write_string(out, rec_slice_of(text));
}

int rec_tracker_report_write(struct rec_buffer *out, const struct rec_tracker_report *report)
{
	rec_buffer_printf(out, "{\"state\":\"%s\",\"failures\":%" PRIu32, rec_tracker_state_text(report->state),
			  report->failures);
	write_time(out, "told_at", report->told_us);
	write_time(out, "reached_at", report->reached_us);
	write_time(out, "not_before", report->not_before_us);
	rec_buffer_add_text(out, report->wished ? ",\"wished\":true" : ",\"wished\":false");
	write_text(out, "problem", report->problem);
	write_text(out, "helper", report->helper);
	if (report->has_budget)
		rec_buffer_printf(out, ",\"budget_limit\":%" PRId64 ",\"budget_remaining\":%" PRId64,
				  report->budget_limit, report->budget_remaining);
	write_time(out, "budget_reset", report->has_budget ? report->budget_reset_us : 0);
	return rec_buffer_add_text(out, "}");
}

struct told {
	struct rec_slice state, told_at, reached_at, not_before, problem, helper, budget_reset;
	struct rec_number failures, wished, budget_limit, budget_remaining;
};

static const struct rec_field told_fields[] = {
	{"state", REC_FIELD_TEXT, offsetof(struct told, state), NULL},
	{"told_at", REC_FIELD_TEXT, offsetof(struct told, told_at), NULL},
	{"reached_at", REC_FIELD_TEXT, offsetof(struct told, reached_at), NULL},
	{"not_before", REC_FIELD_TEXT, offsetof(struct told, not_before), NULL},
	{"problem", REC_FIELD_TEXT, offsetof(struct told, problem), NULL},
	{"helper", REC_FIELD_TEXT, offsetof(struct told, helper), NULL},
	{"budget_reset", REC_FIELD_TEXT, offsetof(struct told, budget_reset), NULL},
	{"wished", REC_FIELD_FLAG, offsetof(struct told, wished), NULL},
	{"failures", REC_FIELD_NUMBER, offsetof(struct told, failures), NULL},
	{"budget_limit", REC_FIELD_NUMBER, offsetof(struct told, budget_limit), NULL},
	{"budget_remaining", REC_FIELD_NUMBER, offsetof(struct told, budget_remaining), NULL},
	{0},
};

static enum rec_tracker_state state_of(struct rec_slice text)
{
	for (int s = REC_TRACKER_UNTRIED; s <= REC_TRACKER_DOWN; s++)
		if (rec_slice_equal(text, rec_slice_of(rec_tracker_state_text((enum rec_tracker_state)s))))
			return (enum rec_tracker_state)s;
	return REC_TRACKER_UNTRIED;
}

static int64_t time_of(struct rec_slice text)
{
	int64_t us;
	return text.data && rec_timestamp_parse(text, &us) == 0 ? us : 0;
}

int rec_tracker_report_read(struct rec_slice text, const struct rec_allocator *a, struct rec_tracker_report *ret_report,
			    struct rec_error *error)
{
	struct told told = {.state = {0}};
	struct rec_arena arena;
	rec_arena_init(&arena, a);
	int r = rec_fields_read(text, &arena, told_fields, &told, error);
	if (r == 0) {
		*ret_report = (struct rec_tracker_report){
			.state = state_of(told.state),
			.failures = told.failures.value > 0 && told.failures.value <= UINT32_MAX
					    ? (uint32_t)told.failures.value
					    : 0,
			.wished = told.wished.value != 0,
			.told_us = time_of(told.told_at),
			.reached_us = time_of(told.reached_at),
			.not_before_us = time_of(told.not_before),
			.has_budget = told.budget_limit.given && told.budget_remaining.given,
			.budget_limit = told.budget_limit.value,
			.budget_remaining = told.budget_remaining.value,
			.budget_reset_us = time_of(told.budget_reset),
		};
		rec_text_shown(ret_report->problem, sizeof ret_report->problem, told.problem);
		rec_text_shown(ret_report->helper, sizeof ret_report->helper, told.helper);
	}
	rec_arena_release(&arena);
	return r;
}

/* ---- In the store ------------------------------------------------------------------------------- */

/* No tracker of the configuration can have a name with a colon. */
static struct rec_slice row_name(char out[NAME_BYTES], const char *name)
{
	int length = snprintf(out, NAME_BYTES, "health:%.240s", name);
	return (struct rec_slice){out, length > 0 ? (size_t)length : 0};
}

int rec_tracker_report_put(struct rec_store *s, const char *name, const struct rec_tracker_report *report,
			   struct rec_error *error)
{
	char row[NAME_BYTES];
	struct rec_buffer text;
	rec_buffer_init(&text, rec_store_allocator(s), REC_VALIDATOR_BYTES_MAX);
	int r = rec_tracker_report_write(&text, report);
	r = r ? rec_fail(error, r, "tracker %s: its health cannot be written down", name)
	      : rec_store_tracker_cursor_put(s, row_name(row, name), rec_slice_of(KEY), rec_buffer_slice(&text), error);
	rec_buffer_release(&text);
	return r;
}

struct search {
	const struct rec_allocator *allocator;
	struct rec_tracker_report report;
	bool found;
};

static int row_seen(void *context, struct rec_slice key, struct rec_slice value)
{
	struct search *search = context;
	if (!rec_slice_equal(key, rec_slice_of(KEY)))
		return 0;
	int r = rec_tracker_report_read(value, search->allocator, &search->report, NULL);
	search->found = r == 0;
	return r == REC_E_NOMEM ? r : REC_END;
}

int rec_tracker_report_get(struct rec_store *s, const char *name, struct rec_tracker_report *ret_report,
			   struct rec_error *error)
{
	char row[NAME_BYTES];
	struct search search = {.allocator = rec_store_allocator(s)};
	int r = rec_store_tracker_cursors(s, row_name(row, name), row_seen, &search, error);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	if (r < 0)
		return r;
	if (!search.found)
		return REC_NOT_FOUND;
	*ret_report = search.report;
	return 0;
}

/* ---- For a registry ----------------------------------------------------------------------------- */

void rec_tracker_reports_heed(struct rec_trackers *t, struct rec_store *s, int64_t monotonic_us, int64_t wall_us)
{
	struct rec_tracker_report report;
	for (size_t i = 0; i < rec_trackers_count(t); i++)
		if (rec_tracker_report_get(s, rec_tracker_name(t, i), &report, NULL) == 0 && report.wished &&
		    report.not_before_us > wall_us && report.not_before_us - wall_us < INT64_MAX / 2)
			rec_trackers_pause(t, i, monotonic_us + (report.not_before_us - wall_us), monotonic_us);
}

void rec_tracker_reports_put(const struct rec_trackers *t, struct rec_store *s, int64_t monotonic_us, int64_t wall_us)
{
	for (size_t i = 0; i < rec_trackers_count(t); i++) {
		const struct rec_tracker_health *h = rec_tracker_health(t, i);
		const struct rec_tracker_report report = rec_tracker_report_of(h, monotonic_us, wall_us);
		if (h->requests)
			(void)rec_tracker_report_put(s, rec_tracker_name(t, i), &report, NULL);
	}
}
