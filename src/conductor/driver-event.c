/* driver-event.c - what goes into the audit log: every decision that was applied with all its inputs, so that it can be
 * made again, and what became of each attempt. An event is written in the group that makes it true. */
#include "conductor/driver-private.h"

#include <string.h>

#include "base/timestamp.h"

/* ---- Adding ---- */

/* Makes it fit to be told later: with its time, and with texts that last as long as the others (which are constants,
 * the machine's, or the options'). */
static int event_keep(struct rec_driver *d, struct rec_event *event)
{
	void *told = d->told;
	char *time = rec_arena_alloc(&d->told_texts, REC_TIMESTAMP_BYTES);
	char *detail =
		rec_arena_strndup(&d->told_texts, event->detail.data ? event->detail.data : "", event->detail.length);
	int r = rec_grow(d->allocator, &told, &d->told_capacity, d->told_count + 1, sizeof *d->told);
	d->told = told;
	if (r || !time || !detail)
		return REC_E_NOMEM;
	event->time = rec_slice_of(rec_timestamp_format(rec_driver_now(d).wall_us, time));
	if (event->detail.data)
		event->detail.data = detail;
	return 0;
}

int rec_driver_event_add(struct rec_driver *d, const struct rec_event *event, struct rec_error *error)
{
	struct rec_event complete = *event;
	complete.batch_id = d->options.batch_id;
	if (d->options.tell && event_keep(d, &complete))
		return rec_fail_nomem(error);
	int r = rec_store_event_add(d->store, &complete, error);
	if (r)
		return rec_driver_unexpected(r, "event", error);
	if (d->options.tell)
		d->told[d->told_count++] = complete;
	return rec_moves_record(&d->moves, d->store, d->options.batch_id, error);
}

/* ---- Telling ---- */

static void events_tell(struct rec_driver *d)
{
	for (size_t i = 0; i < d->told_committed; i++)
		d->options.tell(d->options.context, &d->told[i]);
	d->told_count = d->told_committed = 0;
	rec_arena_release(&d->told_texts);
}

void rec_driver_events_stored(struct rec_driver *d, bool committed)
{
	if (committed)
		d->told_committed = d->told_count;
	d->told_count = d->told_committed;
	if (!rec_store_unsynced(d->store))
		events_tell(d);
}

/* Each commit puts it off, up to a point. After a failure it is the pause that counts. */
static void sync_plan(struct rec_driver *d, int64_t now_us)
{
	bool first = !d->sync_due_us;
	if (d->sync_pause_us || (!first && d->commits == d->synced_commits))
		return;
	if (first)
		d->sync_latest_us = now_us + SYNC_LATEST_US;
	int64_t quiet_us = now_us + SYNC_QUIET_US;
	d->sync_due_us = quiet_us < d->sync_latest_us ? quiet_us : d->sync_latest_us;
	d->synced_commits = d->commits;
}

void rec_driver_sync(struct rec_driver *d, bool now)
{
	struct rec_error problem = {0};
	int64_t now_us = rec_driver_now(d).monotonic_us;
	if (!rec_store_unsynced(d->store))
		return;
	sync_plan(d, now_us);
	if (!now && now_us < d->sync_due_us)
		return;
	if (rec_store_sync(d->store, &problem) == 0) {
		d->sync_due_us = d->sync_pause_us = 0;
	} else {
		rec_driver_note_error(d, "sync", &problem);
		d->sync_due_us = rec_driver_pause(d, &d->sync_pause_us);
	}
	if (now || !d->sync_due_us)
		events_tell(d);
}

int rec_driver_event_plain(struct rec_driver *d, const char *name, struct rec_slice task_id, uint32_t attempt,
			   const char *reason, struct rec_slice detail, struct rec_error *error)
{
	return rec_driver_event_add(d,
				    &(struct rec_event){
					    .event = rec_slice_of(name),
					    .task_id = task_id,
					    .reason = rec_slice_of(reason),
					    .detail = detail,
					    .has_attempt = attempt > 0,
					    .attempt = attempt,
				    },
				    error);
}

/* ---- Decisions ---- */

static struct rec_slice status_slice(unsigned status)
{
	struct rec_slice none = {0};
	return status == REC_STATUS_ABSENT ? none : rec_slice_of(rec_status_text((enum rec_status)status));
}

static void decision_fill(struct rec_event *event, struct rec_verdict verdict, const struct rec_seen *seen)
{
	event->event = rec_slice_of(rec_action_event((enum rec_action)verdict.action));
	event->action = rec_slice_of(rec_action_text((enum rec_action)verdict.action));
	event->reason = rec_slice_of(rec_reason_text((enum rec_reason)verdict.reason));
	event->source = rec_slice_of(rec_source_text((enum rec_source)verdict.source));
	event->current_status = status_slice(verdict.stored);
	event->external_status = status_slice(verdict.external);
	event->believed = rec_slice_of(rec_status_text((enum rec_status)seen->believed));
	event->has_blockers = true;
	event->blockers_total = seen->blockers_total;
	event->blockers_open = seen->blockers_open;
	event->blockers_new = seen->blockers_new;
}

/* A verdict that is no action (NONE) is told as what it led to. */
int rec_driver_event_decision(struct rec_driver *d, const struct rec_effect *effect, struct rec_verdict verdict,
			      const struct rec_seen *seen, struct rec_error *error)
{
	struct rec_event event = {
		.task_id = rec_machine_id(d->m, effect->task),
		.has_attempt = effect->attempt > 0,
		.attempt = effect->attempt,
	};
	if (effect->has_verdict && verdict.action != REC_NONE) {
		decision_fill(&event, verdict, seen);
	} else if (effect->kind == REC_EFFECT_HOLD) {
		event.event = rec_slice_of("BATCH_TASK_HELD");
		event.reason = rec_slice_of(rec_hold_text((enum rec_hold)effect->hold));
	} else {
		event.event = rec_slice_of("BATCH_TASK_RELEASED");
		event.reason = rec_slice_of(rec_why_text((enum rec_why)effect->why));
	}
	return rec_driver_event_add(d, &event, error);
}

/* ---- Ends of attempts ---- */

/* Did reconciliation stop it? A child that ended by itself was not stopped. */
static bool was_stopped_outside(const struct rec_effect *effect)
{
	return effect->cause == REC_WHY_OUTSIDE && effect->has_verdict && effect->signalled &&
	       effect->verdict.action != REC_NONE;
}

static bool is_own_success(const struct rec_effect *effect, enum rec_status status)
{
	return rec_status_success(status) && effect->own;
}

static const char *finish_name(const struct rec_effect *effect, enum rec_status status)
{
	if (is_own_success(effect, status))
		return "BATCH_TASK_COMPLETED";
	if (status == REC_BLOCKED && !effect->signalled)
		return "BATCH_TASK_BLOCKED";
	switch (effect->why) {
	case REC_WHY_LOST:
	case REC_WHY_LOST_AGAIN:
		return "BATCH_TASK_LOST";
	case REC_WHY_SUCCESS:
	case REC_WHY_AGAIN:
		return "BATCH_TASK_ENDED";
	case REC_WHY_OUTSIDE:
	case REC_WHY_DELETED:
	case REC_WHY_FENCED:
	case REC_WHY_OPERATOR:
		return "BATCH_TASK_STOPPED";
	default:
		return "BATCH_TASK_FAILED";
	}
}

int rec_driver_event_finish(struct rec_driver *d, const struct rec_effect *effect, enum rec_status status,
			    const struct live *live, struct rec_error *error)
{
	struct rec_event event = {
		.event = rec_slice_of(finish_name(effect, status)),
		.task_id = rec_machine_id(d->m, effect->task),
		.reason = rec_slice_of(rec_why_text((enum rec_why)effect->why)),
		.detail = status_slice(status),
		.has_attempt = true,
		.attempt = effect->attempt,
		.has_exit_code = effect->has_exit && !effect->exit.by_signal,
		.exit_code = effect->exit.code,
		.has_exit_signal = effect->has_exit && effect->exit.by_signal,
		.exit_signal = effect->exit.code,
		.has_survivors = effect->has_exit && effect->exit.survivors > 0,
		.survivors = effect->exit.survivors,
	};
	if (was_stopped_outside(effect))
		decision_fill(&event, effect->verdict, &effect->seen);
	if (live && live->spawn_errno)
		event.observation = rec_slice_of(strerrordesc_np(live->spawn_errno));
	int r = rec_driver_event_add(d, &event, error);
	if (r || !d->options.finishing || !is_own_success(effect, status))
		return r;
	r = d->options.finishing(d->options.context, event.task_id, event.attempt, error);
	return r ? rec_driver_unexpected(r, "finishing", error) : 0;
}

/* ---- Rings ---- */

int rec_driver_event_ring(struct rec_driver *d, const struct rec_effect *effect, struct rec_error *error)
{
	struct rec_buffer members;
	uint32_t count;
	const uint32_t *ring = rec_machine_ring(d->m, effect->task, &count);
	rec_buffer_init(&members, d->allocator, 4000);
	for (uint32_t i = 0; i < count && !members.failed; i++) {
		struct rec_slice id = rec_machine_id(d->m, ring[i]);
		if (members.length + id.length + 2 > 3000) {
			rec_buffer_printf(&members, " and %u more", count - i);
			break;
		}
		rec_buffer_add(&members, " ", i ? 1 : 0);
		rec_buffer_add(&members, id.data, id.length);
	}
	char *text =
		members.failed ? NULL : rec_arena_strndup(&d->arena, members.data ? members.data : "", members.length);
	rec_buffer_release(&members);
	if (!text)
		return rec_fail_nomem(error);
	return rec_driver_event_plain(d, "DEPENDENCY_RING", rec_machine_id(d->m, effect->task), 0,
				      rec_why_text(REC_WHY_RING), rec_slice_of(text), error);
}
