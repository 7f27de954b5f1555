/* sync.c - a pass: links in an array in the order of their tasks, and an index by tracker and address, by which answers
 * find them. Only what differs is remembered of an answer, so a pass in which nothing happened costs the links.
 */
#include "engine/sync-private.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/idmap.h"
#include "base/text.h"

/* ---- Copies ---- */

int rec_sync_keep(struct rec_arena *arena, struct rec_slice text, struct rec_slice *ret_copy)
{
	*ret_copy = text;
	if (!text.data)
		return 0;
	ret_copy->data = rec_arena_strndup(arena, text.data, text.length);
	return ret_copy->data ? 0 : REC_E_NOMEM;
}

int rec_sync_keep_link(struct rec_arena *arena, const struct rec_link *link, struct rec_link *ret_copy)
{
	*ret_copy = *link;
	int r = rec_sync_keep(arena, link->task_id, &ret_copy->task_id);
	if (r == 0)
		r = rec_sync_keep(arena, link->url, &ret_copy->url);
	if (r == 0)
		r = rec_sync_keep(arena, link->reason, &ret_copy->reason);
	if (r == 0)
		r = rec_sync_keep(arena, link->time, &ret_copy->time);
	if (r == 0)
		r = rec_sync_keep(arena, link->moved_to, &ret_copy->moved_to);
	if (r == 0)
		r = rec_sync_keep(arena, link->validator, &ret_copy->validator);
	if (r == 0)
		r = rec_sync_keep(arena, link->observed_at, &ret_copy->observed_at);
	if (r == 0)
		r = rec_sync_keep(arena, link->made_done_at, &ret_copy->made_done_at);
	return r;
}

static int keep_observation(struct rec_arena *arena, const struct rec_observation *o, struct rec_observation *ret_copy)
{
	*ret_copy = *o;
	int r = rec_sync_keep(arena, o->reason, &ret_copy->reason);
	if (r == 0)
		r = rec_sync_keep(arena, o->time, &ret_copy->time);
	if (r == 0)
		r = rec_sync_keep(arena, o->moved_to, &ret_copy->moved_to);
	if (r == 0)
		r = rec_sync_keep(arena, o->validator, &ret_copy->validator);
	ret_copy->url = (struct rec_slice){NULL, 0};
	ret_copy->problem = (struct rec_slice){NULL, 0};
	return r;
}

/* ---- Beginning: links ---- */

struct gathering {
	struct rec_sync *y;
	struct rec_idmap map; /* of the ids that were given */
	uint32_t at;          /* the last task found, when they are in order */
	bool nomem;
};

/* For LINKED: the task's index, which is made. */
static uint32_t task_add(struct gathering *g, struct rec_slice id)
{
	struct rec_sync *y = g->y;
	void *ids = y->ids;
	struct rec_slice copy;
	if (y->id_count && rec_slice_equal(y->ids[y->id_count - 1], id))
		return (uint32_t)(y->id_count - 1);
	g->nomem = y->id_count >= REC_IDMAP_NONE - 1 || rec_sync_keep(&y->arena, id, &copy) ||
		   rec_grow(y->allocator, &ids, &y->id_capacity, y->id_count + 1, sizeof *y->ids);
	y->ids = ids;
	if (g->nomem)
		return REC_IDMAP_NONE;
	y->ids[y->id_count] = copy;
	return (uint32_t)y->id_count++;
}

/* The task's index, or REC_IDMAP_NONE. Links come in the order of their tasks. */
static uint32_t task_find(struct gathering *g, struct rec_slice id)
{
	const struct rec_snapshot *snapshot = &g->y->results.snapshot;
	if (g->y->scope == REC_SYNC_LINKED)
		return task_add(g, id);
	if (g->y->scope == REC_SYNC_IDS)
		return rec_idmap_find(&g->map, snapshot->ids, id);
	while (g->at < snapshot->count && rec_slice_compare(snapshot->ids[g->at], id) < 0)
		g->at++;
	return g->at < snapshot->count && rec_slice_equal(snapshot->ids[g->at], id) ? g->at : REC_IDMAP_NONE;
}

static void link_place(struct rec_sync *y, struct rec_sync_link *l)
{
	l->place = l->link.url;
	if (l->link.moved_to.data && y->trackers->find(y->trackers->context, l->link.moved_to) == l->tracker)
		l->place = l->link.moved_to;
}

static int link_gather(void *context, const struct rec_link *link)
{
	struct gathering *g = context;
	struct rec_sync *y = g->y;
	struct rec_sync_link added = {.tracker = y->trackers->find(y->trackers->context, link->url)};
	void *links = y->links;
	if (y->scope == REC_SYNC_LINKED && added.tracker == REC_TRACKER_NONE)
		return 0;
	added.task = task_find(g, link->task_id);
	if (added.task == REC_IDMAP_NONE)
		return g->nomem ? REC_END : 0;
	g->nomem = rec_sync_keep_link(&y->arena, link, &added.link) ||
		   rec_grow(y->allocator, &links, &y->link_capacity, y->link_count + 1, sizeof *y->links);
	y->links = links;
	if (g->nomem)
		return REC_END;
	link_place(y, &added);
	y->links[y->link_count++] = added;
	return 0;
}

static int tasks_map(struct gathering *g, struct rec_error *error)
{
	struct rec_sync *y = g->y;
	const struct rec_snapshot *snapshot = &y->results.snapshot;
	y->first = rec_zalloc(y->allocator, snapshot->count, sizeof *y->first);
	if (!y->first || rec_idmap_reserve(&g->map, snapshot->count))
		return rec_fail_nomem(error);
	for (size_t i = 0; i < snapshot->count; i++) {
		y->first[i] = (uint32_t)i;
		if (rec_idmap_add(&g->map, snapshot->ids, (uint32_t)i, &y->first[i]) < 0)
			return rec_fail_nomem(error);
	}
	return 0;
}

/* A few tasks, one by one. */
static int links_of_each(struct gathering *g, struct rec_error *error)
{
	const struct rec_snapshot *snapshot = &g->y->results.snapshot;
	int r = 0;
	for (size_t i = 0; r == 0 && i < snapshot->count; i++)
		if (g->y->first[i] == i && snapshot->facts[i].status != REC_STATUS_ABSENT)
			r = rec_store_links(g->y->store, snapshot->ids[i], link_gather, g, error);
	return r;
}

#define FEW 64 /* up to so many tasks are asked about one by one */

static int links_read(struct rec_sync *y, struct rec_error *error)
{
	struct gathering g = {.y = y};
	rec_idmap_init(&g.map, y->allocator, rec_random_u64());
	int r = y->scope == REC_SYNC_IDS ? tasks_map(&g, error) : 0;
	if (r == 0 && y->scope == REC_SYNC_IDS && y->results.snapshot.count <= FEW)
		r = links_of_each(&g, error);
	else if (r == 0)
		r = rec_store_links(y->store, (struct rec_slice){NULL, 0}, link_gather, &g, error);
	rec_idmap_release(&g.map);
	return g.nomem ? rec_fail_nomem(error) : r;
}

/* ---- Beginning: cursors ---- */

struct cursor_gathering {
	const struct rec_allocator *allocator;
	struct rec_arena *arena;
	struct rec_sync_tracker *of;
	bool nomem;
};

static int cursor_gather(void *context, struct rec_slice key, struct rec_slice value)
{
	struct cursor_gathering *g = context;
	struct rec_tracker_cursor cursor;
	void *cursors = (void *)(uintptr_t)g->of->cursors;
	g->nomem = rec_sync_keep(g->arena, key, &cursor.key) || rec_sync_keep(g->arena, value, &cursor.value) ||
		   rec_grow(g->allocator, &cursors, &g->of->cursor_capacity, g->of->cursor_count + 1, sizeof cursor);
	g->of->cursors = cursors;
	if (g->nomem)
		return REC_END;
	((struct rec_tracker_cursor *)cursors)[g->of->cursor_count++] = cursor;
	return 0;
}

int rec_sync_cursors_read(struct rec_sync *y, struct rec_arena *arena, size_t tracker, struct rec_sync_tracker *ret_of,
			  struct rec_error *error)
{
	struct cursor_gathering g = {y->allocator, arena, ret_of, false};
	int r = rec_store_tracker_cursors(y->store, rec_slice_of(y->trackers->names[tracker]), cursor_gather, &g,
					  error);
	return g.nomem ? rec_fail_nomem(error) : r;
}

static int cursors_read(struct rec_sync *y, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < y->trackers->count; i++)
		r = rec_sync_cursors_read(y, &y->arena, i, &y->of_trackers[i], error);
	return r;
}

/* ---- Beginning: the index ---- */

static int place_order(const void *a, const void *b, void *context)
{
	const struct rec_sync *y = context;
	const struct rec_sync_link *x = &y->links[*(const uint32_t *)a], *z = &y->links[*(const uint32_t *)b];
	if (x->tracker != z->tracker)
		return x->tracker < z->tracker ? -1 : 1;
	int order = rec_slice_compare(x->place, z->place);
	return order ? order
		     : (*(const uint32_t *)a > *(const uint32_t *)b) - (*(const uint32_t *)a < *(const uint32_t *)b);
}

static int index_make(struct rec_sync *y, struct rec_error *error)
{
	if (y->link_count >= UINT32_MAX)
		return rec_fail(error, REC_E_LIMIT, "sync: the store has more than %u links", UINT32_MAX - 1);
	y->by_place = rec_zalloc(y->allocator, y->link_count, sizeof *y->by_place);
	if (!y->by_place)
		return rec_fail_nomem(error);
	for (uint32_t i = 0; i < y->link_count; i++)
		y->by_place[i] = i;
	qsort_r(y->by_place, y->link_count, sizeof *y->by_place, place_order, y);
	return 0;
}

/* What is not asked has its verdict from the start. */
static void verdicts_begin(struct rec_sync *y)
{
	for (size_t i = 0; i < y->link_count; i++) {
		struct rec_sync_link *l = &y->links[i];
		enum rec_status stored = (enum rec_status)y->results.snapshot.facts[l->task].status;
		enum rec_reason reason = REC_REASON_TRACKER_UNKNOWN;
		if (l->tracker == REC_TRACKER_NONE)
			reason = REC_REASON_NO_TRACKER;
		else if (l->link.gone)
			reason = REC_REASON_LINK_GONE;
		else if (l->link.state == REC_OBSERVED_MERGED)
			reason = REC_REASON_NOTHING_NEW;
		l->verdict = (struct rec_verdict){.stored = (uint8_t)stored,
						  .external = REC_STATUS_ABSENT,
						  .reason = (uint8_t)reason,
						  .source = REC_SOURCE_TRACKER};
	}
}

static int tasks_read(struct rec_sync *y, const struct rec_slice *ids, size_t count, struct rec_error *error)
{
	static const struct rec_slice no_ids[1]; /* none of them is not all of them */
	if (y->scope != REC_SYNC_ALL && count == 0)
		ids = no_ids;
	int r = rec_store_snapshot(y->store, y->scope == REC_SYNC_ALL ? NULL : ids, count, REC_SNAPSHOT_ATTEMPT,
				   &y->results.snapshot, error);
	if (r == 0 && y->results.snapshot.count >= REC_IDMAP_NONE)
		r = rec_fail(error, REC_E_LIMIT, "sync: there are more than %u tasks", REC_IDMAP_NONE - 1);
	return r;
}

static int results_make(struct rec_sync *y, struct rec_error *error)
{
	size_t tasks = y->results.snapshot.count;
	y->results.verdicts = rec_zalloc(y->allocator, tasks, sizeof *y->results.verdicts);
	y->results.believed = rec_zalloc(y->allocator, tasks, 1);
	y->results.trackers = rec_zalloc(y->allocator, tasks, sizeof *y->results.trackers);
	y->applied = rec_zalloc(y->allocator, tasks, sizeof *y->applied);
	bool made = y->results.verdicts && y->results.believed && y->results.trackers && y->applied;
	return made ? 0 : rec_fail_nomem(error);
}

static int pass_begin(struct rec_sync *y, const struct rec_slice *ids, size_t count, struct rec_error *error)
{
	int r = 0;
	if (y->scope == REC_SYNC_LINKED) {
		r = links_read(y, error);
		if (r == 0)
			r = tasks_read(y, y->ids, y->id_count, error);
	} else {
		r = tasks_read(y, ids, count, error);
		if (r == 0)
			r = links_read(y, error);
	}
	y->of_trackers = rec_zalloc(y->allocator, y->trackers->count, sizeof *y->of_trackers);
	if (r == 0 && !y->of_trackers)
		r = rec_fail_nomem(error);
	if (r == 0)
		r = results_make(y, error);
	if (r == 0)
		r = cursors_read(y, error);
	if (r == 0)
		r = index_make(y, error);
	if (r == 0)
		verdicts_begin(y);
	return r;
}

int rec_sync_new(struct rec_store *s, const struct rec_sync_trackers *trackers, enum rec_sync_scope scope,
		 const struct rec_slice *ids, size_t count, struct rec_slice batch_id, struct rec_sync **ret_sync,
		 struct rec_error *error)
{
	const struct rec_allocator *allocator = rec_store_allocator(s);
	struct rec_sync *y = rec_zalloc(allocator, 1, sizeof *y);
	if (!y)
		return rec_fail_nomem(error);
	y->store = s;
	y->allocator = allocator;
	y->trackers = trackers;
	y->scope = scope;
	y->batch_id = batch_id;
	y->results.snapshot.allocator = allocator;
	rec_arena_init(&y->arena, allocator);
	int r = pass_begin(y, ids, count, error);
	if (r) {
		rec_sync_free(y);
		return r;
	}
	*ret_sync = y;
	return 0;
}

struct rec_sync *rec_sync_free(struct rec_sync *y)
{
	if (!y)
		return NULL;
	const struct rec_allocator *a = y->allocator;
	for (size_t i = 0; y->of_trackers && i < y->trackers->count; i++)
		rec_free(a, (void *)(uintptr_t)y->of_trackers[i].cursors);
	rec_free(a, y->of_trackers);
	rec_free(a, y->by_place);
	rec_free(a, y->links);
	rec_free(a, y->first);
	rec_free(a, y->ids);
	rec_free(a, y->applied);
	rec_results_release(&y->results);
	rec_arena_release(&y->arena);
	return rec_free(a, y);
}

/* ---- Questions ---- */

/* The first of by_place that is not before (tracker, place). */
static size_t place_seek(const struct rec_sync *y, size_t tracker, struct rec_slice place)
{
	size_t low = 0, high = y->link_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct rec_sync_link *l = &y->links[y->by_place[middle]];
		bool before = l->tracker < tracker || (l->tracker == tracker && rec_slice_compare(l->place, place) < 0);
		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	return low;
}

static bool to_be_asked(const struct rec_sync_link *l)
{
	if (l->stage == REC_SYNC_IDLE)
		return !l->link.gone && l->link.state != REC_OBSERVED_MERGED;
	return l->stage == REC_SYNC_AGAIN;
}

bool rec_sync_know_the_same(const struct rec_link *a, const struct rec_link *b)
{
	return a->state == b->state && rec_slice_equal(a->validator, b->validator) &&
	       rec_slice_equal(a->time, b->time) && rec_slice_equal(a->reason, b->reason) &&
	       a->has_comments == b->has_comments && a->comments == b->comments;
}

/* Puts a link into the question, or next to the one with the same address. */
static void question_add(struct rec_sync_link *l, const struct rec_sync_link *before, struct rec_link *links,
			 size_t *count)
{
	bool known = l->stage == REC_SYNC_IDLE && l->link.state != REC_OBSERVED_UNKNOWN;
	struct rec_slice validator = known ? l->link.validator : (struct rec_slice){NULL, 0};
	if (before && rec_slice_equal(before->place, l->place)) {
		if (!known || !rec_sync_know_the_same(&before->link, &l->link))
			links[*count - 1].validator = (struct rec_slice){NULL, 0};
	} else {
		links[(*count)++] = (struct rec_link){.url = l->place, .validator = validator};
	}
	l->reread = l->stage == REC_SYNC_AGAIN;
	l->stage = l->reread ? REC_SYNC_REASKED : REC_SYNC_ASKED;
}

int rec_sync_question(struct rec_sync *y, size_t tracker, struct rec_sync_question *ret_question,
		      struct rec_error *error)
{
	size_t first = place_seek(y, tracker, (struct rec_slice){"", 0}), wanted = 0, count = 0;
	size_t end = first;
	for (; end < y->link_count && y->links[y->by_place[end]].tracker == tracker; end++)
		wanted += to_be_asked(&y->links[y->by_place[end]]);
	const struct rec_sync_tracker *of = &y->of_trackers[tracker];
	const struct rec_sync_link *before = NULL;
	struct rec_link *links = rec_arena_alloc(&y->arena, (wanted + 1) * sizeof *links);
	bool again = false;
	if (!links)
		return rec_fail_nomem(error);
	for (size_t i = first; i < end; i++) {
		struct rec_sync_link *l = &y->links[y->by_place[i]];
		if (!to_be_asked(l))
			continue;
		again = again || l->stage == REC_SYNC_AGAIN;
		question_add(l, before, links, &count);
		before = l;
	}
	*ret_question = (struct rec_sync_question){.links = links, .count = count};
	if (!again && y->scope != REC_SYNC_IDS) {
		ret_question->cursors = of->cursors;
		ret_question->cursor_count = of->cursor_count;
	}
	return 0;
}

/* ---- Answers ---- */

int rec_sync_made_done(struct rec_sync *y, const struct rec_link *link, bool *ret_made_done, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_task task;
	*ret_made_done = false;
	if (!link->made_done_at.data)
		return 0;
	rec_arena_init(&arena, y->allocator);
	int r = rec_store_get(y->store, link->task_id, &arena, &task, error);
	*ret_made_done = r == 0 && task.status == REC_DONE && rec_slice_equal(task.updated_at, link->made_done_at);
	rec_arena_release(&arena);
	return r < 0 ? r : 0;
}

int rec_sync_decide(struct rec_sync *y, struct rec_sync_link *l, const struct rec_link *link, enum rec_status stored,
		    struct rec_observe_input *ret_input, struct rec_observed_outcome *ret_outcome,
		    struct rec_error *error)
{
	*ret_input = (struct rec_observe_input){
		.link = link, .observation = &l->observation, .stored = stored, .again = l->reread};
	if (l->observation.state == REC_OBSERVED_OPEN) {
		int r = rec_sync_made_done(y, link, &ret_input->made_done, error);
		if (r)
			return r;
	}
	rec_observe(ret_input, ret_outcome);
	l->verdict = ret_outcome->verdict;
	l->stage = ret_outcome->read_again ? REC_SYNC_AGAIN : REC_SYNC_TAKEN;
	return 0;
}

/* What came is not what it says: it counts as unknown, and the cursors that come with it must not be kept. */
static bool spoils(const struct rec_sync *y, size_t tracker, const struct rec_observation *o)
{
	if (rec_observation_problem(o))
		return true;
	return o->moved_to.data && y->trackers->find(y->trackers->context, o->moved_to) != tracker;
}

static int link_take(struct rec_sync *y, struct rec_sync_link *l, const struct rec_observation *o,
		     struct rec_error *error)
{
	struct rec_observe_input input;
	struct rec_observed_outcome outcome;
	enum rec_status stored = (enum rec_status)y->results.snapshot.facts[l->task].status;
	if (keep_observation(&y->arena, o, &l->observation))
		return rec_fail_nomem(error);
	int r = rec_sync_decide(y, l, &l->link, stored, &input, &outcome, error);
	l->pending = r == 0 && (outcome.remember || outcome.tell);
	return r;
}

static int observation_take(struct rec_sync *y, size_t tracker, const struct rec_observation *o,
			    struct rec_error *error)
{
	struct rec_observation taken = *o;
	if (spoils(y, tracker, o)) {
		y->of_trackers[tracker].spoiled = true;
		taken = (struct rec_observation){.state = REC_OBSERVED_UNKNOWN};
	}
	for (size_t i = place_seek(y, tracker, o->url); i < y->link_count; i++) {
		struct rec_sync_link *l = &y->links[y->by_place[i]];
		if (l->tracker != tracker || !rec_slice_equal(l->place, o->url))
			break;
		if (l->stage != REC_SYNC_ASKED && l->stage != REC_SYNC_REASKED)
			continue;
		int r = link_take(y, l, &taken, error);
		if (r)
			return r;
	}
	return 0;
}

int rec_sync_take(struct rec_sync *y, size_t tracker, const struct rec_observation *observations, size_t count,
		  struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = observation_take(y, tracker, &observations[i], error);
	return r;
}

static bool is_sound_text(struct rec_slice text, size_t bytes_max)
{
	return text.length <= bytes_max && rec_utf8_error_offset(text) == text.length &&
	       (text.length == 0 || !memchr(text.data, '\0', text.length));
}

/* Without a value its key is to be forgotten. */
static bool cursor_is_sound(const struct rec_tracker_cursor *cursor)
{
	return cursor->key.data && is_sound_text(cursor->key, REC_CURSOR_KEY_BYTES_MAX) &&
	       (!cursor->value.data || is_sound_text(cursor->value, REC_VALIDATOR_BYTES_MAX));
}

int rec_sync_cursors(struct rec_sync *y, size_t tracker, const struct rec_tracker_cursor *cursors, size_t count,
		     struct rec_error *error)
{
	if (y->scope == REC_SYNC_IDS || y->of_trackers[tracker].cursors_new)
		return 0;
	struct rec_tracker_cursor *copies = rec_arena_alloc(&y->arena, (count + 1) * sizeof *copies);
	if (!copies)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < count; i++) {
		y->of_trackers[tracker].spoiled |= !cursor_is_sound(&cursors[i]);
		if (rec_sync_keep(&y->arena, cursors[i].key, &copies[i].key) ||
		    rec_sync_keep(&y->arena, cursors[i].value, &copies[i].value))
			return rec_fail_nomem(error);
	}
	y->of_trackers[tracker].cursors_new = copies;
	y->of_trackers[tracker].cursors_new_count = count;
	return 0;
}

/* ---- Results ---- */

static void results_begin(struct rec_sync *y)
{
	struct rec_results *results = &y->results;
	memset(results->counts, 0, sizeof results->counts);
	results->calls = 0;
	for (size_t i = 0; i < results->snapshot.count; i++) {
		enum rec_status stored = (enum rec_status)results->snapshot.facts[i].status;
		enum rec_reason reason = REC_REASON_NOT_LINKED;
		if (stored == REC_STATUS_ABSENT)
			reason = REC_REASON_NOT_FOUND;
		results->verdicts[i] = (struct rec_verdict){.stored = (uint8_t)stored,
							    .external = REC_STATUS_ABSENT,
							    .reason = (uint8_t)reason,
							    .source = REC_SOURCE_TRACKER};
		results->believed[i] = (uint8_t)stored;
		results->trackers[i] = NULL;
		y->applied[i] = false;
	}
}

static void result_merge(struct rec_sync *y, const struct rec_sync_link *l)
{
	struct rec_verdict *verdict = &y->results.verdicts[l->task];
	bool first = verdict->reason == REC_REASON_NOT_LINKED;
	enum rec_status stored = (enum rec_status)verdict->stored;
	struct rec_verdict merged = first ? l->verdict : rec_merge(*verdict, l->verdict, stored);
	/* what was written goes before what was only seen */
	if (l->applied && !y->applied[l->task])
		merged = l->verdict;
	else if (!l->applied && y->applied[l->task])
		merged = *verdict;
	if (first || !rec_verdict_equal(merged, *verdict)) {
		*verdict = merged;
		if (l->tracker != REC_TRACKER_NONE)
			y->results.trackers[l->task] = y->trackers->names[l->tracker];
	}
	y->applied[l->task] = y->applied[l->task] || l->applied;
}

/* An id that was given twice has its result twice. */
static void results_count(struct rec_sync *y)
{
	struct rec_results *results = &y->results;
	for (size_t i = 0; i < results->snapshot.count; i++) {
		if (y->first && y->first[i] != i) {
			results->verdicts[i] = results->verdicts[y->first[i]];
			results->trackers[i] = results->trackers[y->first[i]];
		}
		results->counts[results->verdicts[i].action]++;
		results->calls += rec_verdict_calls(results->verdicts[i]);
	}
}

const struct rec_results *rec_sync_results(struct rec_sync *y, const bool **ret_applied)
{
	results_begin(y);
	for (size_t i = 0; i < y->link_count; i++)
		result_merge(y, &y->links[i]);
	results_count(y);
	if (ret_applied)
		*ret_applied = y->applied;
	return &y->results;
}
