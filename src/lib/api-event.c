/* api-event.c - the audit log and the doctor. */
#include "engine/apply.h"
#include "engine/doctor.h"
#include "lib/api.h"

struct hearing {
	const struct rec_allocator *allocator;
	rec_event_callback *on_event;
	rec_finding_callback *on_finding;
	void *context;
	struct rec_error *error;
};

static int64_t number(bool present, int64_t value)
{
	return present ? value : REC_NO_NUMBER;
}

static bool event_fill(struct rec_arena *arena, const struct rec_event *e, struct rec_event_info *info)
{
	bool failed = false;
	*info = (struct rec_event_info){
		.size = sizeof *info,
		.seq = e->seq,
		.time = rec_api_text(arena, e->time, &failed),
		.event = rec_api_text(arena, e->event, &failed),
		.batch_id = rec_api_text(arena, e->batch_id, &failed),
		.task_id = rec_api_text(arena, e->task_id, &failed),
		.action = rec_api_text(arena, e->action, &failed),
		.reason = rec_api_text(arena, e->reason, &failed),
		.source = rec_api_text(arena, e->source, &failed),
		.current_status = rec_api_text(arena, e->current_status, &failed),
		.external_status = rec_api_text(arena, e->external_status, &failed),
		.believed = rec_api_text(arena, e->believed, &failed),
		.observation = rec_api_text(arena, e->observation, &failed),
		.detail = rec_api_text(arena, e->detail, &failed),
		.attempt = number(e->has_attempt, e->attempt),
		.blockers_total = number(e->has_blockers, e->blockers_total),
		.blockers_open = number(e->has_blockers, e->blockers_open),
		.blockers_new = number(e->has_blockers, e->blockers_new),
		.exit_code = number(e->has_exit_code, e->exit_code),
		.exit_signal = number(e->has_exit_signal, e->exit_signal),
		.survivors = number(e->has_survivors, e->survivors),
	};
	return !failed;
}

static int event_pass(void *context, const struct rec_event *event)
{
	struct hearing *h = context;
	struct rec_event_info info;
	struct rec_arena arena;
	rec_arena_init(&arena, h->allocator);
	int r = event_fill(&arena, event, &info) ? h->on_event(h->context, &info) : rec_fail_nomem(h->error);
	rec_arena_release(&arena);
	return r;
}

int rec_event_list(struct reconciler *r, int64_t since, uint64_t limit, rec_event_callback *callback, void *context,
		   struct rec_error *error)
{
	struct hearing hearing = {r->allocator, callback, NULL, context, error};
	int result = rec_api_enter(r, error);
	return result ? result : rec_store_events(r->store, since, limit, event_pass, &hearing, error);
}

int rec_event_verify(struct reconciler *r, rec_difference_callback *callback, void *context, uint64_t *ret_checked,
		     uint64_t *ret_different, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	return rec_events_verify(r->store, callback, context, ret_checked, ret_different, error);
}

static int finding_pass(void *context, const struct rec_finding *finding)
{
	struct hearing *h = context;
	char id[REC_ID_BYTES_MAX + 1];
	size_t length = finding->task_id.length < REC_ID_BYTES_MAX ? finding->task_id.length : REC_ID_BYTES_MAX;
	if (finding->task_id.data)
		memcpy(id, finding->task_id.data, length);
	id[length] = '\0';
	struct rec_finding_info info = {
		.size = sizeof info,
		.kind = finding->kind,
		.task_id = finding->task_id.data ? id : NULL,
		.sentence = finding->sentence,
		.command = finding->command,
	};
	return h->on_finding(h->context, &info);
}

int rec_diagnose(struct reconciler *r, rec_finding_callback *callback, void *context, uint64_t *ret_count,
		 struct rec_error *error)
{
	struct hearing hearing = {r->allocator, NULL, callback, context, error};
	int result = rec_api_enter(r, error);
	if (result)
		return result;
	return rec_doctor(r->store, callback ? finding_pass : NULL, &hearing, ret_count, error);
}
