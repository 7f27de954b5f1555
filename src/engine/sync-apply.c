/* sync-apply.c - writing what a pass has taken. Inside the group nobody else can write, so what is decided there on the
 * link and the task as they are then is what is written; what was decided before only says which links are worth it.
 */
#include "engine/closing.h"
#include "engine/moves.h"
#include "engine/observation.h"
#include "engine/sync-private.h"

#define GROUP_LINKS_MAX 500
#define OBSERVATION_BYTES_MAX 65536u

struct applying {
	struct rec_sync *y;
	struct rec_moves moves;
	struct rec_buffer observation; /* the event's text */
	struct rec_sync_link *links[GROUP_LINKS_MAX];
	bool wrote[GROUP_LINKS_MAX];           /* a status */
	struct rec_link left[GROUP_LINKS_MAX]; /* what is known of the link now */
	size_t count;
};

/* ---- One link, inside the group ---- */

struct link_search {
	struct rec_arena *arena;
	struct rec_slice url;
	struct rec_link link;
	bool found, nomem;
};

static int link_seen(void *context, const struct rec_link *link)
{
	struct link_search *search = context;
	if (!rec_slice_equal(link->url, search->url))
		return 0;
	search->found = true;
	search->nomem = rec_sync_keep_link(search->arena, link, &search->link) != 0;
	return REC_END;
}

/* The link and its task as they are now. REC_NOT_FOUND: one of them is no more. */
static int now_read(struct applying *a, const struct rec_sync_link *l, struct rec_arena *arena,
		    struct rec_link *ret_link, struct rec_task *ret_task, struct rec_error *error)
{
	struct link_search search = {.arena = arena, .url = l->link.url};
	int r = rec_store_links(a->y->store, l->link.task_id, link_seen, &search, error);
	if (r < 0)
		return r;
	if (search.nomem)
		return rec_fail_nomem(error);
	if (!search.found)
		return REC_NOT_FOUND;
	*ret_link = search.link;
	return rec_store_get(a->y->store, l->link.task_id, arena, ret_task, error);
}

static int event_record(struct applying *a, const struct rec_sync_link *l, const struct rec_task *task,
			const struct rec_observe_input *input, struct rec_verdict verdict, struct rec_error *error)
{
	struct rec_event event = {
		.event = rec_slice_of(rec_action_event((enum rec_action)verdict.action)),
		.batch_id = a->y->batch_id,
		.task_id = l->link.task_id,
		.action = rec_slice_of(rec_action_text((enum rec_action)verdict.action)),
		.reason = rec_slice_of(rec_reason_text((enum rec_reason)verdict.reason)),
		.source = rec_slice_of(a->y->trackers->names[l->tracker]),
		.current_status = task->status_text,
		.has_attempt = task->attempt > 0,
		.attempt = task->attempt,
	};
	if (verdict.external != REC_STATUS_ABSENT)
		event.external_status = rec_slice_of(rec_status_text((enum rec_status)verdict.external));
	rec_buffer_clear(&a->observation);
	int r = rec_observation_write(&a->observation, input);
	if (r)
		return rec_fail(error, r, "observation: cannot be written down");
	event.observation = rec_buffer_slice(&a->observation);
	r = rec_store_event_add(a->y->store, &event, error);
	return r ? r : rec_moves_record(&a->moves, a->y->store, a->y->batch_id, error);
}

/* The status, by compare-and-set along a legal path; *ret_wrote. */
static int status_write(struct applying *a, const struct rec_sync_link *l, enum rec_status from, enum rec_status to,
			bool *ret_wrote, struct rec_error *error)
{
	if (rec_transition_path(from, to, NULL) < 0)
		return rec_fail(error, REC_E_BUG, "sync: no legal way from %s to %s (please report)",
				rec_status_text(from), rec_status_text(to));
	int r = rec_store_set_status(a->y->store, l->link.task_id, from, to, NULL, rec_moves_add, &a->moves, error);
	*ret_wrote = r == 0;
	return r < 0 ? r : 0;
}

/* What the task's updated_at became: by it we know later that nobody touched it. */
static int made_done_note(struct applying *a, struct rec_arena *arena, struct rec_link *link, struct rec_error *error)
{
	struct rec_task task;
	int r = rec_store_get(a->y->store, link->task_id, arena, &task, error);
	if (r == 0)
		link->made_done_at = task.updated_at;
	return r < 0 ? r : 0;
}

/* An observation that came while another pass moved the cursors on, or that was asked for without them, may be older
 * than these: "unchanged" would then pass over what it has missed. So the next question is for all of it. */
static bool may_be_behind(const struct rec_sync *y, size_t tracker)
{
	const struct rec_sync_tracker *of = &y->of_trackers[tracker];
	return of->moved || (y->scope == REC_SYNC_IDS && of->cursor_count > 0);
}

/* What is closed there needs no closing from here any more, also if a person opens it again. */
static int closing_forget(struct applying *a, const struct rec_link *link, struct rec_error *error)
{
	char key[REC_SHA256_HEX_BYTES];
	if (!link->gone && link->state != REC_OBSERVED_CLOSED && link->state != REC_OBSERVED_MERGED)
		return 0;
	if (rec_closing_key(link->task_id, link->url, a->y->allocator, key))
		return rec_fail_nomem(error);
	return rec_closing_drop(a->y->store, key, error);
}

static int link_write(struct applying *a, size_t i, struct rec_arena *arena, struct rec_observed_outcome *outcome,
		      struct rec_error *error)
{
	const struct rec_sync_link *l = a->links[i];
	if (may_be_behind(a->y, l->tracker))
		outcome->link.validator = (struct rec_slice){NULL, 0};
	if (outcome->made_done) {
		int r = made_done_note(a, arena, &outcome->link, error);
		if (r)
			return r;
	}
	if (outcome->link.state != l->link.state || !rec_slice_equal(outcome->link.time, l->link.time))
		outcome->link.observed_at = (struct rec_slice){NULL, 0}; /* now */
	int r = rec_store_link_observed(a->y->store, &outcome->link, error);
	if (r == 0)
		r = closing_forget(a, &outcome->link, error);
	if (r == 0 && rec_sync_keep_link(&a->y->arena, &outcome->link, &a->left[i]))
		return rec_fail_nomem(error);
	return r < 0 ? r : 0;
}

static int outcome_write(struct applying *a, size_t i, struct rec_arena *arena, const struct rec_task *task,
			 const struct rec_observe_input *input, struct rec_observed_outcome *outcome,
			 struct rec_error *error)
{
	int r = 0;
	struct rec_sync_link *l = a->links[i];
	if (outcome->write != REC_STATUS_ABSENT) {
		r = status_write(a, l, input->stored, outcome->write, &a->wrote[i], error);
		if (r == 0 && !a->wrote[i]) { /* not remembered, so it must come again */
			a->y->of_trackers[l->tracker].spoiled = true;
			return 0;
		}
	}
	if (r == 0 && outcome->tell)
		r = event_record(a, l, task, input, outcome->verdict, error);
	if (r == 0 && outcome->remember)
		r = link_write(a, i, arena, outcome, error);
	return r;
}

static int link_apply(struct applying *a, size_t i, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_link link;
	struct rec_task task;
	struct rec_observe_input input;
	struct rec_observed_outcome outcome;
	struct rec_sync_link *l = a->links[i];
	rec_arena_init(&arena, a->y->allocator);
	a->left[i] = l->link;
	l->left = &a->left[i];
	int r = now_read(a, l, &arena, &link, &task, error);
	if (r == 0)
		r = rec_sync_decide(a->y, l, &link, task.status, &input, &outcome, error);
	if (r == 0)
		r = outcome_write(a, i, &arena, &task, &input, &outcome, error);
	rec_arena_release(&arena);
	return r < 0 ? r : 0; /* what is no more has nothing to be told */
}

/* ---- One group ---- */

static const struct rec_tracker_cursor *cursor_find(const struct rec_sync_tracker *of, struct rec_slice key)
{
	for (size_t i = 0; i < of->cursor_count; i++)
		if (rec_slice_equal(of->cursors[i].key, key))
			return &of->cursors[i];
	return NULL;
}

static bool cursor_differs(const struct rec_sync_tracker *of, const struct rec_tracker_cursor *now)
{
	const struct rec_tracker_cursor *before = cursor_find(of, now->key);
	if (!before || !now->value.data) /* without a value it is to be forgotten */
		return before || now->value.data;
	return !rec_slice_equal(before->value, now->value);
}

/* Has another pass stored cursors since this one began? */
static int moved_look(struct rec_sync *y, struct rec_arena *arena, size_t tracker, struct rec_error *error)
{
	struct rec_sync_tracker now = {0}, *of = &y->of_trackers[tracker];
	int r = rec_sync_cursors_read(y, arena, tracker, &now, error);
	of->moved = of->moved || (r == 0 && now.cursor_count != of->cursor_count);
	for (size_t i = 0; r == 0 && i < now.cursor_count; i++)
		of->moved = of->moved || cursor_differs(of, &now.cursors[i]);
	rec_free(y->allocator, (void *)(uintptr_t)now.cursors);
	return r;
}

static int moved_look_all(struct rec_sync *y, struct rec_error *error)
{
	struct rec_arena arena;
	int r = 0;
	rec_arena_init(&arena, y->allocator);
	for (size_t i = 0; r == 0 && i < y->trackers->count; i++)
		r = moved_look(y, &arena, i, error);
	rec_arena_release(&arena);
	return r;
}

static int group_fill(struct applying *a, struct rec_error *error)
{
	int r = moved_look_all(a->y, error);
	memset(a->wrote, 0, sizeof a->wrote);
	for (size_t i = 0; r == 0 && i < a->count; i++)
		r = link_apply(a, i, error);
	return r;
}

static int group_apply(struct applying *a, int (*fill)(struct applying *a, struct rec_error *error),
		       struct rec_error *error)
{
	int r = rec_store_begin(a->y->store, error);
	if (r)
		return r;
	r = fill(a, error);
	if (r)
		rec_store_rollback(a->y->store);
	else
		r = rec_store_commit(a->y->store, error);
	for (size_t i = 0; i < a->count; i++)
		a->links[i]->left = NULL;
	for (size_t i = 0; r == 0 && i < a->count; i++) {
		a->links[i]->pending = false;
		a->links[i]->link = a->left[i];
		a->links[i]->applied = a->links[i]->applied || a->wrote[i];
	}
	return r;
}

/* ---- Cursors ---- */

/* Is a link of the tracker still to be asked once more? */
static bool unfinished(const struct rec_sync *y, size_t tracker)
{
	for (size_t i = 0; i < y->link_count; i++) {
		const struct rec_sync_link *l = &y->links[i];
		if (l->tracker == tracker && (l->stage == REC_SYNC_AGAIN || l->stage == REC_SYNC_REASKED))
			return true;
	}
	return false;
}

/* The link among those of the pass, which stand in the order of their tasks and addresses. */
static const struct rec_sync_link *link_find(const struct rec_sync *y, const struct rec_link *wanted)
{
	size_t low = 0, high = y->link_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct rec_link *link = &y->links[middle].link;
		int order = rec_slice_compare(link->task_id, wanted->task_id);
		order = order ? order : rec_slice_compare(link->url, wanted->url);
		if (order == 0)
			return &y->links[middle];
		low = order < 0 ? middle + 1 : low;
		high = order < 0 ? high : middle;
	}
	return NULL;
}

struct strangers {
	const struct rec_sync *y;
	size_t tracker;
	struct rec_arena arena;
	struct rec_link *links;
	size_t count, capacity;
	bool nomem;
};

static int stranger_find(void *context, const struct rec_link *link)
{
	struct strangers *s = context;
	void *links = s->links;
	struct rec_link kept;
	if (!link->validator.data || s->y->trackers->find(s->y->trackers->context, link->url) != s->tracker)
		return 0;
	const struct rec_sync_link *own = link_find(s->y, link);
	if (own && rec_sync_know_the_same(own->left ? own->left : &own->link, link))
		return 0;
	s->nomem = rec_sync_keep_link(&s->arena, link, &kept) ||
		   rec_grow(s->arena.allocator, &links, &s->capacity, s->count + 1, sizeof kept);
	s->links = links;
	if (s->nomem)
		return REC_END;
	kept.validator = (struct rec_slice){NULL, 0};
	s->links[s->count++] = kept;
	return 0;
}

/* A link that is not as this pass left it may have been seen before what the new cursors pass over: it is to be asked
 * about in full. */
static int strangers_doubt(struct rec_sync *y, size_t tracker, struct rec_error *error)
{
	struct strangers s = {.y = y, .tracker = tracker};
	rec_arena_init(&s.arena, y->allocator);
	int r = rec_store_links(y->store, (struct rec_slice){NULL, 0}, stranger_find, &s, error);
	if (s.nomem)
		r = rec_fail_nomem(error);
	for (size_t i = 0; r >= 0 && i < s.count; i++)
		r = rec_store_link_observed(y->store, &s.links[i], error);
	rec_free(y->allocator, s.links);
	rec_arena_release(&s.arena);
	return r < 0 ? r : 0;
}

static bool cursors_differ(const struct rec_sync_tracker *of)
{
	for (size_t i = 0; i < of->cursors_new_count; i++)
		if (cursor_differs(of, &of->cursors_new[i]))
			return true;
	return false;
}

/* Writes those that differ from what is stored; those that did not come this time stay. */
static int cursors_write(struct rec_sync *y, size_t tracker, struct rec_error *error)
{
	const struct rec_sync_tracker *of = &y->of_trackers[tracker];
	struct rec_slice name = rec_slice_of(y->trackers->names[tracker]);
	int r = strangers_doubt(y, tracker, error);
	for (size_t i = 0; r == 0 && i < of->cursors_new_count; i++)
		if (cursor_differs(of, &of->cursors_new[i]))
			r = rec_store_tracker_cursor_put(y->store, name, of->cursors_new[i].key,
							 of->cursors_new[i].value, error);
	return r;
}

static bool cursors_due(const struct rec_sync *y, size_t tracker)
{
	const struct rec_sync_tracker *of = &y->of_trackers[tracker];
	return of->cursors_new && !of->spoiled && !of->moved && cursors_differ(of) && !unfinished(y, tracker);
}

/* ---- All ---- */

static int all_due_cursors(struct applying *a, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < a->y->trackers->count; i++)
		if (cursors_due(a->y, i))
			r = cursors_write(a->y, i, error);
	return r;
}

static int last_fill(struct applying *a, struct rec_error *error)
{
	int r = group_fill(a, error);
	return r ? r : all_due_cursors(a, error);
}

static void cursors_done(struct rec_sync *y)
{
	for (size_t i = 0; i < y->trackers->count; i++)
		if (cursors_due(y, i))
			y->of_trackers[i].cursors_new_count = 0;
}

static int apply_all(struct applying *a, struct rec_error *error)
{
	struct rec_sync *y = a->y;
	bool cursors = false;
	for (size_t i = 0; i < y->link_count; i++) {
		if (!y->links[i].pending)
			continue;
		if (a->count == GROUP_LINKS_MAX) {
			int r = group_apply(a, group_fill, error);
			if (r)
				return r;
			a->count = 0;
		}
		a->links[a->count++] = &y->links[i];
	}
	for (size_t i = 0; i < y->trackers->count; i++)
		cursors = cursors || cursors_due(y, i);
	if (a->count == 0 && !cursors)
		return 0;
	int r = group_apply(a, last_fill, error);
	if (r == 0)
		cursors_done(y);
	return r;
}

int rec_sync_apply(struct rec_sync *y, struct rec_error *error)
{
	struct applying *a = rec_zalloc(y->allocator, 1, sizeof *a);
	if (!a)
		return rec_fail_nomem(error);
	a->y = y;
	rec_moves_init(&a->moves, y->allocator);
	rec_buffer_init(&a->observation, y->allocator, OBSERVATION_BYTES_MAX);
	int r = apply_all(a, error);
	rec_buffer_release(&a->observation);
	rec_moves_release(&a->moves);
	rec_free(y->allocator, a);
	return r;
}
