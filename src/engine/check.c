/* check.c - one snapshot, then one pass over its facts: a table look-up each, into flat arrays that were allocated
 * before. Writing a result copies ready pieces of text; no format is interpreted. */
#include "engine/check.h"

#include "base/json.h"

#define MANY 256 /* from here on the table of outcomes pays */

static struct rec_verdict blockers_verdict(const struct rec_fact *fact)
{
	return rec_decide_blockers((enum rec_status)fact->status,
				   (struct rec_blocker_counts){fact->blockers_total, fact->blockers_open});
}

struct rec_verdict rec_check_fact(enum rec_check_kind kind, const struct rec_fact *fact, enum rec_status believed)
{
	if (kind == REC_CHECK_BLOCKERS)
		return blockers_verdict(fact);
	struct rec_verdict verdict = rec_decide_task((enum rec_status)fact->status, believed);
	if (kind == REC_CHECK_MERGED && fact->status == REC_BLOCKED)
		return rec_merge(verdict, blockers_verdict(fact), believed);
	return verdict;
}

/* What the batch holds about each id of the snapshot. */
static void believed_fill(struct rec_results *r, const struct rec_belief *belief)
{
	const struct rec_snapshot *snapshot = &r->snapshot;
	if (!belief)
		memset(r->believed, REC_STATUS_ABSENT, snapshot->count);
	else if (snapshot->ids == belief->ids && snapshot->count <= belief->count)
		memcpy(r->believed, belief->statuses, snapshot->count);
	else
		for (size_t i = 0; i < snapshot->count; i++)
			r->believed[i] = (uint8_t)rec_belief_of(belief, snapshot->ids[i]);
}

static void decide_each(struct rec_results *r, enum rec_check_kind kind)
{
	for (size_t i = 0; i < r->snapshot.count; i++) {
		struct rec_verdict verdict =
			rec_check_fact(kind, &r->snapshot.facts[i], (enum rec_status)r->believed[i]);
		r->verdicts[i] = verdict;
		r->counts[verdict.action]++;
		r->calls += rec_verdict_calls(verdict);
	}
}

/* All that can come of a task that is not BLOCKED, by stored and believed status. */
#define STATUS_VALUES (REC_STATUS_UNRECOGNISED + 1)
struct outcome {
	struct rec_verdict verdict;
	bool calls;
};

static void outcomes_decide(struct outcome outcomes[STATUS_VALUES][STATUS_VALUES], enum rec_check_kind kind)
{
	for (unsigned stored = 0; stored < STATUS_VALUES; stored++)
		for (unsigned believed = 0; believed < STATUS_VALUES; believed++) {
			const struct rec_fact fact = {.status = (uint8_t)stored};
			struct outcome *outcome = &outcomes[stored][believed];
			outcome->verdict = rec_check_fact(kind, &fact, (enum rec_status)believed);
			outcome->calls = rec_verdict_calls(outcome->verdict);
		}
}

/* The same as decide_each with one look-up a task: statuses follow no order that a processor could learn, and every
 * wrongly guessed branch costs more than the rest. */
static void decide_many(struct rec_results *r, enum rec_check_kind kind)
{
	struct outcome outcomes[STATUS_VALUES][STATUS_VALUES];
	outcomes_decide(outcomes, kind);
	for (size_t i = 0; i < r->snapshot.count; i++) {
		const struct rec_fact *fact = &r->snapshot.facts[i];
		struct outcome outcome = outcomes[fact->status][r->believed[i]];
		if (fact->status == REC_BLOCKED) {
			outcome.verdict = rec_check_fact(kind, fact, (enum rec_status)r->believed[i]);
			outcome.calls = rec_verdict_calls(outcome.verdict);
		}
		r->verdicts[i] = outcome.verdict;
		r->counts[outcome.verdict.action]++;
		r->calls += outcome.calls;
	}
}

int rec_check(struct rec_store *s, enum rec_check_kind kind, const struct rec_slice *ids, size_t count,
	      const struct rec_belief *belief, struct rec_results *ret_results, struct rec_error *error)
{
	/* A belief of nothing has no array of ids, and none of them is not all of them. */
	static const struct rec_slice no_ids[1];
	struct rec_results results = {0};
	if (!ids && belief) {
		ids = belief->count ? belief->ids : no_ids;
		count = belief->count;
	}
	int r = rec_store_snapshot(s, ids, count, kind == REC_CHECK_TASKS ? 0 : REC_SNAPSHOT_BLOCKERS,
				   &results.snapshot, error);
	if (r)
		return r;
	const struct rec_allocator *a = results.snapshot.allocator;
	results.verdicts = rec_zalloc(a, results.snapshot.count, sizeof *results.verdicts);
	results.believed = rec_alloc(a, results.snapshot.count);
	if (!results.verdicts || !results.believed) {
		rec_results_release(&results);
		return rec_fail_nomem(error);
	}
	believed_fill(&results, belief);
	if (results.snapshot.count < MANY)
		decide_each(&results, kind);
	else
		decide_many(&results, kind);
	*ret_results = results;
	return 0;
}

void rec_results_release(struct rec_results *r)
{
	r->verdicts = rec_free(r->snapshot.allocator, r->verdicts);
	r->believed = rec_free(r->snapshot.allocator, r->believed);
	r->trackers = rec_free(r->snapshot.allocator, r->trackers);
	rec_snapshot_release(&r->snapshot);
}

/* ---- Showing ---- */

static struct rec_slice status_or_null(enum rec_status status)
{
	if (status == REC_STATUS_ABSENT)
		return (struct rec_slice){NULL, 0};
	return rec_slice_of(rec_status_text(status));
}

void rec_verdict_view(struct rec_verdict verdict, struct rec_slice task_id, struct rec_slice raw,
		      struct rec_result_view *ret_view)
{
	*ret_view = (struct rec_result_view){
		.task_id = task_id,
		.current_status = verdict.stored == REC_STATUS_UNRECOGNISED
					  ? raw
					  : status_or_null((enum rec_status)verdict.stored),
		.external_status = status_or_null((enum rec_status)verdict.external),
		.action = rec_action_text((enum rec_action)verdict.action),
		.reason = rec_reason_text((enum rec_reason)verdict.reason),
		.source = rec_source_text((enum rec_source)verdict.source),
		.discrepancy = verdict.discrepancy,
	};
}

void rec_results_view(const struct rec_results *r, size_t index, struct rec_result_view *ret_view)
{
	struct rec_slice raw = {NULL, 0};
	if (r->verdicts[index].stored == REC_STATUS_UNRECOGNISED)
		raw = rec_snapshot_raw(&r->snapshot, index);
	rec_verdict_view(r->verdicts[index], r->snapshot.ids[index], raw, ret_view);
	if (r->trackers && r->trackers[index])
		ret_view->source = r->trackers[index];
}

#define TEXT(literal) ((struct rec_slice){literal, sizeof(literal) - 1})

static char *put(char *at, struct rec_slice text)
{
	memcpy(at, text.data, text.length);
	return at + text.length;
}

/* The stored status may be any text; every other piece behind the id is one of ours and needs no escape. */
static void add_stored(struct rec_buffer *out, struct rec_slice status)
{
	if (status.data)
		rec_json_write_string(out, status);
	else
		rec_buffer_add(out, "null", 4);
}

int rec_result_write_json(struct rec_buffer *out, const struct rec_result_view *view, int applied)
{
	static const struct rec_slice applied_texts[] = {
		{"", 0}, {",\"applied\":false", 16}, {",\"applied\":true", 15}};
	const struct rec_slice quote = TEXT("\"");
	const struct rec_slice edge = view->external_status.data ? quote : (struct rec_slice){"", 0};
	const struct rec_slice pieces[] = {
		TEXT(",\"external_status\":"),
		edge,
		view->external_status.data ? view->external_status : TEXT("null"),
		edge,
		TEXT(",\"action\":\""),
		rec_slice_of(view->action),
		TEXT("\",\"reason\":\""),
		rec_slice_of(view->reason),
		TEXT("\",\"source\":\""),
		rec_slice_of(view->source),
		view->discrepancy ? TEXT("\",\"discrepancy\":true") : TEXT("\",\"discrepancy\":false"),
		applied_texts[applied < 0 ? 0
			      : applied   ? 2
					  : 1],
		TEXT("}"),
	};
	const size_t count = sizeof pieces / sizeof *pieces;
	size_t length = 0;
	for (size_t i = 0; i < count; i++)
		length += pieces[i].length;
	rec_buffer_add(out, "{\"task_id\":", 11);
	rec_json_write_string(out, view->task_id);
	rec_buffer_add(out, ",\"current_status\":", 18);
	add_stored(out, view->current_status);
	char *at = rec_buffer_space(out, length);
	if (!at)
		return out->failed;
	for (size_t i = 0; i < count; i++)
		at = put(at, pieces[i]);
	rec_buffer_added(out, length);
	return 0;
}
