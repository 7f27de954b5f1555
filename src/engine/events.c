/* events.c - the audit log read back: every decision is made again from its recorded inputs, and what is
 * recorded must be exactly what comes out. Inputs that cannot be (more open blockers than blockers) are a
 * difference too. */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/apply.h"
#include "engine/observation.h"

/* ---- Verifying ---- */

static bool is_decision(const struct rec_event *event)
{
	if (event->action.data)
		return true;
	for (int action = REC_SKIP; action < REC_ACTION_COUNT; action++)
		if (rec_slice_equal(event->event, rec_slice_of(rec_action_event((enum rec_action)action))))
			return true;
	return false;
}

struct inputs {
	enum rec_check_kind kind;
	enum rec_status believed;
	struct rec_fact fact;
};

/* Why the recorded counts cannot be, or NULL. */
static const char *counts_read(const struct rec_event *event, struct rec_fact *fact)
{
	int64_t total = event->blockers_total, open = event->blockers_open, fresh = event->blockers_new;
	if (total < 0 || total > UINT32_MAX || open < 0 || fresh < 0 || fresh > total - open)
		return "its blocker counts cannot be";
	fact->blockers_total = (uint32_t)total;
	fact->blockers_open = (uint32_t)open;
	fact->blockers_new = (uint32_t)fresh;
	return NULL;
}

/* Why the inputs cannot be, or NULL. */
static const char *inputs_read(const struct rec_event *event, struct inputs *inputs)
{
	bool believed = event->believed.data != NULL;
	*inputs = (struct inputs){.kind = believed ? REC_CHECK_TASKS : REC_CHECK_BLOCKERS};
	if (!believed && !event->has_blockers)
		return "it records no inputs";
	if (believed && event->has_blockers)
		inputs->kind = REC_CHECK_MERGED;
	inputs->believed = REC_STATUS_ABSENT;
	if (believed && !rec_slice_equal(event->believed, rec_slice_of("-")))
		inputs->believed = rec_status_parse(event->believed);
	if (inputs->believed == REC_STATUS_UNRECOGNISED)
		return "what it records as believed is no status";
	inputs->fact.status = (uint8_t)REC_STATUS_ABSENT;
	if (event->current_status.data)
		inputs->fact.status = (uint8_t)rec_status_parse(event->current_status);
	return event->has_blockers ? counts_read(event, &inputs->fact) : NULL;
}

static bool status_is(struct rec_slice recorded, enum rec_status status)
{
	if (status == REC_STATUS_ABSENT)
		return recorded.data == NULL;
	return rec_slice_equal(recorded, rec_slice_of(rec_status_text(status)));
}

/* A tracker goes by its own name, which is none of ours. */
static bool source_is(struct rec_slice recorded, enum rec_source source)
{
	if (source == REC_SOURCE_TRACKER)
		return recorded.length > 0 && !rec_slice_equal(recorded, rec_slice_of("store")) &&
		       !rec_slice_equal(recorded, rec_slice_of("blockers"));
	return rec_slice_equal(recorded, rec_slice_of(rec_source_text(source)));
}

static bool verdict_is_recorded(const struct rec_event *event, struct rec_verdict verdict)
{
	const char *name = verdict.action == REC_NONE ? NULL : rec_action_event((enum rec_action)verdict.action);
	return rec_slice_equal(event->action, rec_slice_of(rec_action_text((enum rec_action)verdict.action))) &&
	       rec_slice_equal(event->reason, rec_slice_of(rec_reason_text((enum rec_reason)verdict.reason))) &&
	       source_is(event->source, (enum rec_source)verdict.source) &&
	       status_is(event->external_status, (enum rec_status)verdict.external) &&
	       (!name || rec_slice_equal(event->event, rec_slice_of(name)));
}

#define SENTENCE_BYTES 640

/* `RECONCILIATION_... NONE "why" (source, STATUS)` */
static void recorded_show(char *out, size_t capacity, const struct rec_event *event)
{
	char name[64], action[32], reason[80], source[32], external[32];
	(void)snprintf(out, capacity, "%s %s \"%s\" (%s, %s)", rec_text_shown(name, sizeof name, event->event),
		       rec_text_shown(action, sizeof action, event->action),
		       rec_text_shown(reason, sizeof reason, event->reason),
		       rec_text_shown(source, sizeof source, event->source),
		       event->external_status.data ? rec_text_shown(external, sizeof external, event->external_status)
						   : "null");
}

static void difference_show(char out[SENTENCE_BYTES], const struct rec_event *event, const char *problem,
			    struct rec_verdict verdict)
{
	char recorded[300];
	recorded_show(recorded, sizeof recorded, event);
	if (problem)
		(void)snprintf(out, SENTENCE_BYTES, "seq %" PRId64 ": recorded %s, but %s", event->seq, recorded,
			       problem);
	else
		(void)snprintf(out, SENTENCE_BYTES, "seq %" PRId64 ": recorded %s, the inputs give %s \"%s\" (%s, %s)",
			       event->seq, recorded, rec_action_text((enum rec_action)verdict.action),
			       rec_reason_text((enum rec_reason)verdict.reason),
			       rec_source_text((enum rec_source)verdict.source),
			       verdict.external == REC_STATUS_ABSENT
				       ? "null"
				       : rec_status_text((enum rec_status)verdict.external));
}

struct verification {
	const struct rec_allocator *allocator;
	rec_difference_fn *fn;
	void *context;
	uint64_t checked, different;
};

/* Decides again what rested on the store; *ret_problem: why it cannot be. */
static struct rec_verdict redecide(const struct rec_event *event, const char **ret_problem)
{
	struct inputs inputs;
	*ret_problem = inputs_read(event, &inputs);
	if (*ret_problem)
		return (struct rec_verdict){0};
	return rec_apply_fact(inputs.kind, &inputs.fact, inputs.believed);
}

/* The same for what a tracker said. 0 or REC_E_NOMEM. */
static int redecide_observation(const struct verification *v, const struct rec_event *event,
				struct rec_verdict *ret_verdict, const char **ret_problem)
{
	struct rec_arena arena;
	struct rec_error ignored;
	struct rec_observation_record record;
	struct rec_observed_outcome outcome;
	rec_arena_init(&arena, v->allocator);
	int r = rec_observation_read(event->observation, &arena, &record, &ignored);
	*ret_problem = r == REC_E_INVALID ? "what it records as observation is none" : NULL;
	if (r == 0) {
		if (event->current_status.data)
			record.input.stored = rec_status_parse(event->current_status);
		rec_observe(&record.input, &outcome);
		*ret_verdict = outcome.verdict;
	}
	rec_arena_release(&arena);
	return r == REC_E_NOMEM ? r : 0;
}

static int event_verify(void *context, const struct rec_event *event)
{
	struct verification *v = context;
	struct rec_verdict verdict = {0};
	const char *problem = NULL;
	char sentence[SENTENCE_BYTES];
	if (!is_decision(event))
		return 0;
	v->checked++;
	if (!event->observation.data)
		verdict = redecide(event, &problem);
	else if (redecide_observation(v, event, &verdict, &problem))
		return REC_E_NOMEM;
	if (!problem && verdict_is_recorded(event, verdict))
		return 0;
	v->different++;
	difference_show(sentence, event, problem, verdict);
	return v->fn ? v->fn(v->context, event->seq, sentence) : 0;
}

int rec_events_verify(struct rec_store *s, rec_difference_fn *fn, void *context, uint64_t *ret_checked,
		      uint64_t *ret_different, struct rec_error *error)
{
	struct verification v = {.allocator = rec_store_allocator(s), .fn = fn, .context = context};
	int r = rec_store_events(s, 0, 0, event_verify, &v, error);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	if (r)
		return r;
	if (ret_checked)
		*ret_checked = v.checked;
	if (ret_different)
		*ret_different = v.different;
	return 0;
}

/* ---- Writing ---- */

static void add_key(struct rec_buffer *out, const char *key)
{
	rec_buffer_add(out, ",\"", 2);
	rec_buffer_add_text(out, key);
	rec_buffer_add(out, "\":", 2);
}

static void add_text(struct rec_buffer *out, const char *key, struct rec_slice text)
{
	if (!text.data)
		return;
	add_key(out, key);
	rec_json_write_string(out, text);
}

static void add_number(struct rec_buffer *out, const char *key, bool present, int64_t number)
{
	if (!present)
		return;
	add_key(out, key);
	rec_buffer_printf(out, "%" PRId64, number);
}

int rec_event_write_json(struct rec_buffer *out, const struct rec_event *event)
{
	rec_buffer_printf(out, "{\"seq\":%" PRId64, event->seq);
	add_text(out, "time", event->time);
	add_text(out, "event", event->event);
	add_text(out, "batch_id", event->batch_id);
	add_text(out, "task_id", event->task_id);
	add_number(out, "attempt", event->has_attempt, event->attempt);
	add_text(out, "action", event->action);
	add_text(out, "reason", event->reason);
	add_text(out, "source", event->source);
	add_text(out, "current_status", event->current_status);
	add_text(out, "external_status", event->external_status);
	add_text(out, "believed", event->believed);
	add_number(out, "blockers_total", event->has_blockers, event->blockers_total);
	add_number(out, "blockers_open", event->has_blockers, event->blockers_open);
	add_number(out, "blockers_new", event->has_blockers, event->blockers_new);
	add_text(out, "observation", event->observation);
	add_number(out, "exit_code", event->has_exit_code, event->exit_code);
	add_number(out, "exit_signal", event->has_exit_signal, event->exit_signal);
	add_number(out, "survivors", event->has_survivors, event->survivors);
	add_text(out, "detail", event->detail);
	return rec_buffer_add(out, "}", 1);
}
