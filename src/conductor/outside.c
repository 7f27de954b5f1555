/* outside.c - see outside.h.
 *
 * Each tracker has passes of its own, one at a time: its links and cursors are read, it is asked, answers are taken and
 * applied as they come, what came as old as what is known is asked once more; then the pass is over. The next is due an
 * interval after it began. Whatever another tracker does in the meantime, only the store is common to both, and there
 * every write is decided on what is stored then. Closing runs beside it. */
#include "conductor/outside.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "base/text.h"
#include "conductor/outside-private.h"

#define RELOAD_US INT64_C(100000) /* what is to be read waits for the disk, or for what is before it */
#define FAULT_PAUSE_US (INT64_C(30) * 1000000)
#define KEPT_AGAIN_US (INT64_C(300) * 1000000)
#define TOLD_AGAIN_US (INT64_C(600) * 1000000) /* an outage that comes and goes is told so often */

int64_t rec_outside_now(const struct rec_outside *o)
{
	return o->clock->monotonic_us(o->clock->context);
}

/* ---- Telling ------------------------------------------------------------------------------------ */

void rec_outside_warn(const struct rec_outside *o, const char *source, const char *detail)
{
	if (o->options.tell)
		o->options.tell(o->options.context, &(struct rec_event){.event = rec_slice_of("RECONCILIATION_ERROR"),
									.batch_id = o->options.batch_id,
									.source = rec_slice_of(source),
									.detail = rec_slice_of(detail)});
}

/* For `status` and for other processes: when it is another, and now and then. */
static void health_keep(struct rec_outside *o, size_t tracker, int64_t now_us)
{
	const struct rec_tracker_health *h = rec_tracker_health(o->options.trackers, tracker);
	struct watched *w = &o->watched[tracker];
	if (w->kept_us && w->kept == h->state && now_us - w->kept_us < KEPT_AGAIN_US)
		return;
	w->kept = h->state;
	w->kept_us = now_us;
	const struct rec_tracker_report report = rec_tracker_report_of(h, now_us, o->clock->wall_us(o->clock->context));
	(void)rec_tracker_report_put(o->options.store, rec_tracker_name(o->options.trackers, tracker), &report, NULL);
}

/* Once for each outage. */
static void health_look(struct rec_outside *o, size_t tracker, int64_t now_us)
{
	const struct rec_tracker_health *h = rec_tracker_health(o->options.trackers, tracker);
	struct watched *w = &o->watched[tracker];
	char detail[REC_TRACKER_PROBLEM_BYTES + 128];
	if (h->state != REC_TRACKER_DOWN) {
		w->down = false;
		return;
	}
	if (w->down)
		return;
	w->down = true;
	o->counts.unreachable++;
	if (w->told_us && now_us - w->told_us < TOLD_AGAIN_US)
		return;
	w->told_us = now_us;
	snprintf(detail, sizeof detail, "tracker %.64s cannot be asked: %.250s",
		 rec_tracker_name(o->options.trackers, tracker), h->problem);
	rec_outside_warn(o, rec_tracker_name(o->options.trackers, tracker), detail);
}

/* ---- A pass ------------------------------------------------------------------------------------- */

/* In a pass of one tracker: is it the one that answers? */
static size_t find(const void *context, struct rec_slice url)
{
	const struct watched *w = context;
	size_t tracker = rec_trackers_find(w->outside->options.trackers, url);
	return tracker == (size_t)(w - w->outside->watched) ? 0 : REC_TRACKER_NONE;
}

static int64_t interval_of(const struct rec_outside *o, size_t tracker)
{
	int64_t own = rec_tracker_interval_us(o->options.trackers, tracker);
	return o->options.interval_us <= 0 ? 0 : own > 0 ? own : o->options.interval_us;
}

/* One change that a tracker made; its event is in the audit log since the group that wrote it. */
static void change_tell(const struct rec_outside *o, const struct rec_results *results, size_t index)
{
	struct rec_result_view view;
	enum rec_action action = (enum rec_action)results->verdicts[index].action;
	rec_results_view(results, index, &view);
	if (o->options.tell)
		o->options.tell(o->options.context, &(struct rec_event){.event = rec_slice_of(rec_action_event(action)),
									.batch_id = o->options.batch_id,
									.task_id = view.task_id,
									.action = rec_slice_of(view.action),
									.reason = rec_slice_of(view.reason),
									.source = rec_slice_of(view.source)});
}

/* However it ends: what it has written is told. */
static void pass_end(struct rec_outside *o, struct watched *w)
{
	const bool *applied;
	w->asked = false;
	if (!w->sync)
		return;
	const struct rec_results *results = rec_sync_results(w->sync, &applied);
	for (size_t i = 0; i < results->snapshot.count; i++) {
		if (!applied[i])
			continue;
		o->counts.changed++;
		change_tell(o, results, i);
	}
	w->sync = rec_sync_free(w->sync);
}

static void passes_end(struct rec_outside *o)
{
	for (size_t i = 0; i < o->count; i++)
		pass_end(o, &o->watched[i]);
}

/* The passes are given up: what an answer said may be lost, and with it what its cursors stand for. The fault is told
 * once. One that may pass makes the next passes wait a while; any other (a store that keeps no links, or is older than
 * they are) ends the asking, not the batch. */
static int fault(struct rec_outside *o, int r, const struct rec_error *problem, struct rec_error *error)
{
	passes_end(o);
	if (r == REC_E_NOMEM || r == REC_E_CORRUPT || r == REC_E_BUG) {
		*error = *problem;
		return r;
	}
	if (!o->faulty)
		rec_outside_warn(o, "trackers", problem->message);
	o->faulty = true;
	o->resume_us = rec_outside_now(o) + FAULT_PAUSE_US;
	if (rec_error_class_of(r) != REC_CLASS_RETRY) {
		o->options.interval_us = 0;
		o->linked = false;
	}
	return 0;
}

/* Asks tracker i what its pass wants to know; nothing, if there is nothing. */
static int question_ask(struct rec_outside *o, size_t i, int64_t now_us, struct rec_error *error)
{
	struct rec_sync_question question;
	int r = rec_sync_question(o->watched[i].sync, 0, &question, error);
	if (r != 0 || question.count == 0)
		return r;
	o->linked = true;
	r = rec_trackers_ask(o->options.trackers, i, question.links, question.count, question.cursors,
			     question.cursor_count, now_us, error);
	if (r == 0)
		o->watched[i].asked = true;
	return r == REC_REFUSED || r == REC_CONFLICT ? 0 : r;
}

/* When the next pass of tracker i is to begin; INT64_MAX: not before the present one is over, or never. */
static int64_t pass_due_us(const struct rec_outside *o, size_t i)
{
	const struct watched *w = &o->watched[i];
	if (w->sync || interval_of(o, i) <= 0)
		return INT64_MAX;
	return w->due_us > o->resume_us ? w->due_us : o->resume_us;
}

static int pass_begin(struct rec_outside *o, size_t i, int64_t now_us, struct rec_error *error)
{
	struct watched *w = &o->watched[i];
	int r = rec_sync_new(o->options.store, &w->who, REC_SYNC_LINKED, NULL, 0, o->options.batch_id, &w->sync, error);
	if (r == 0)
		r = question_ask(o, i, now_us, error);
	if (r != 0)
		return r;
	w->due_us = now_us + interval_of(o, i);
	o->counts.passes++;
	if (!w->asked)
		pass_end(o, w);
	return 0;
}

static int passes_begin(struct rec_outside *o, int64_t now_us, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; i < o->count && r == 0; i++)
		if (now_us >= pass_due_us(o, i))
			r = pass_begin(o, i, now_us, error);
	return r;
}

static int answer_take(struct rec_outside *o, const struct rec_tracker_answer *answer, bool *wrote,
		       struct rec_error *error)
{
	struct watched *w = &o->watched[answer->tracker];
	health_look(o, answer->tracker, rec_outside_now(o));
	health_keep(o, answer->tracker, rec_outside_now(o));
	if (answer->kind == REC_TRACKER_CLOSED)
		return rec_outside_closed(o, answer, error);
	if (!w->asked)
		return 0; /* of a pass that was given up */
	w->asked = !answer->last;
	if (answer->reached && o->left) {
		o->left = false;
		o->reload = true;
	}
	int r = rec_sync_take(w->sync, 0, answer->observations, answer->count, error);
	if (r == 0 && answer->last)
		r = rec_sync_cursors(w->sync, 0, answer->cursors, answer->cursor_count, error);
	if (r != 0)
		return r;
	*wrote = true;
	r = rec_sync_apply(w->sync, error);
	if (r == 0 && answer->last && answer->reached) /* what has to be read again */
		r = question_ask(o, answer->tracker, rec_outside_now(o), error);
	if (r == 0 && !w->asked) {
		pass_end(o, w);
		o->faulty = false;
	}
	return r;
}

static int answers_take(struct rec_outside *o, bool *wrote, struct rec_error *error)
{
	struct rec_tracker_answer answer;
	int r = 0;
	while (r == 0 && rec_trackers_next(o->options.trackers, &answer) == 0)
		r = answer_take(o, &answer, wrote, error);
	return r;
}

/* ---- The step ----------------------------------------------------------------------------------- */

int rec_outside_step(struct rec_outside *o, int64_t *ret_due_us, bool *ret_wrote, struct rec_error *error)
{
	struct rec_error problem = {.code = 0};
	int64_t now_us = rec_outside_now(o);
	bool wrote = false;
	int r = passes_begin(o, now_us, &problem);
	r = r ? r : rec_outside_close_ask(o, now_us, &problem);
	r = r ? r : rec_trackers_step(o->options.trackers, now_us, &problem);
	r = r ? r : answers_take(o, &wrote, &problem);
	if (r != 0)
		r = fault(o, r, &problem, error);
	int64_t due_us = rec_trackers_due_us(o->options.trackers);
	for (size_t i = 0; i < o->count; i++)
		due_us = pass_due_us(o, i) < due_us ? pass_due_us(o, i) : due_us;
	if (o->linked && o->reload && due_us > now_us + RELOAD_US)
		due_us = now_us + RELOAD_US;
	*ret_due_us = due_us;
	*ret_wrote = wrote;
	return r;
}

int rec_outside_fd(const struct rec_outside *o)
{
	return rec_trackers_fd(o->options.trackers);
}

static bool is_closing(const struct rec_outside *o)
{
	return o->closing_count || o->finished_count || (o->linked && o->reload);
}

static void closing_await(struct rec_outside *o, int64_t limit_us)
{
	struct rec_error error;
	int64_t until_us = rec_outside_now(o) + limit_us, due_us;
	bool wrote;
	for (;;) {
		int r = is_closing(o) ? rec_outside_step(o, &due_us, &wrote, &error) : REC_END;
		int64_t now_us = rec_outside_now(o);
		if (r != 0 || now_us >= until_us || !is_closing(o))
			return;
		if (due_us > until_us)
			due_us = until_us;
		struct pollfd wait = {.fd = rec_outside_fd(o), .events = POLLIN};
		if (due_us > now_us && poll(&wait, 1, (int)((due_us - now_us) / 1000 + 1)) < 0 && errno != EINTR)
			return;
	}
}

void rec_outside_finish(struct rec_outside *o, int64_t limit_us)
{
	o->options.interval_us = 0; /* no more passes */
	o->ending = true;
	closing_await(o, limit_us);
	passes_end(o);
}

struct rec_outside_counts rec_outside_counts(const struct rec_outside *o)
{
	return o->counts;
}

/* ---- Making ------------------------------------------------------------------------------------- */

int rec_outside_new(const struct rec_outside_options *options, struct rec_outside **ret_outside,
		    struct rec_error *error)
{
	struct rec_outside *o = rec_zalloc(options->allocator, 1, sizeof *o);
	if (!o)
		return rec_fail_nomem(error);
	o->options = *options;
	o->allocator = options->allocator;
	o->clock = options->clock ? options->clock : &rec_clock_real;
	o->linked = options->interval_us <= 0;
	o->keeps = rec_outside_keeps(o);
	o->reload = o->keeps;
	o->count = rec_trackers_count(options->trackers);
	o->watched = rec_zalloc(o->allocator, o->count, sizeof *o->watched);
	if (!o->watched) {
		rec_outside_free(o);
		return rec_fail_nomem(error);
	}
	for (size_t i = 0; i < o->count; i++) {
		struct watched *w = &o->watched[i];
		w->outside = o;
		w->name = rec_tracker_name(options->trackers, i);
		w->who = (struct rec_sync_trackers){&w->name, 1, find, w};
	}
	rec_tracker_reports_heed(options->trackers, options->store, rec_outside_now(o),
				 o->clock->wall_us(o->clock->context));
	*ret_outside = o;
	return 0;
}

struct rec_outside *rec_outside_free(struct rec_outside *o)
{
	if (!o)
		return NULL;
	for (size_t i = 0; o->watched && i < o->count; i++)
		rec_sync_free(o->watched[i].sync);
	rec_outside_close_release(o);
	rec_free(o->allocator, o->watched);
	return rec_free(o->allocator, o);
}
