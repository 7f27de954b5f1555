/* trackers.c - issues and pull requests that people close, merge, reopen and comment on; helpers that answer late, out
 * of order, in part, wrongly or never; and passes over links that ask them, several at once, each of which may die
 * between any two of its steps. The passes are the real ones (engine/sync.h).
 *
 * A helper is honest about its cursor: what it does not list again it has listed before. So a change that is lost on
 * the way is lost for ever, unless the passes keep to their rules; that is what the end of a run looks for.
 */
#include "sim.h"

#include "engine/apply.h"
#include "engine/observation.h"
#include "engine/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWERS_MAX SIM_TASKS_MAX
#define SYNCERS 2
#define PASSES_MAX 6 /* of the quiet end */

/* ---- Items ---- */

static void url_write(const struct sim *w, unsigned item, char out[SIM_URL_BYTES])
{
	snprintf(out, SIM_URL_BYTES, "https://sim.example/a/b/%s/%u", w->items[item].pull ? "pull" : "issues", item);
}

static int item_find(const struct sim *w, struct rec_slice url)
{
	char own[SIM_URL_BYTES];
	for (unsigned i = 0; i < SIM_ITEMS; i++) {
		url_write(w, i, own);
		if (rec_slice_equal(url, rec_slice_of(own)))
			return (int)i;
	}
	return -1;
}

static int64_t second_now(const struct sim *w)
{
	return w->clock.now_monotonic_us / SIM_SECOND;
}

static void item_change(struct sim *w, struct sim_item *item, struct sim_version next)
{
	if (item->count == SIM_VERSIONS_MAX)
		return;
	next.second = second_now(w);
	next.number = ++w->versions;
	item->versions[item->count++] = next;
	sim_say(w, "item %u is %s%s%s at %lld (version %u)", (unsigned)(item - w->items), rec_observed_text(next.state),
		next.reason ? " as " : "", next.reason ? next.reason : "", (long long)next.second, next.number);
}

static const struct sim_version *item_now(const struct sim_item *item)
{
	return &item->versions[item->count - 1];
}

static void item_act(struct sim *w)
{
	static const char *const reasons[] = {NULL, "completed", "completed", "not_planned", "duplicate", "unheard_of"};
	struct sim_item *item = &w->items[sim_choose(w, SIM_ITEMS)];
	struct sim_version next = *item_now(item);
	if (next.state == REC_OBSERVED_MERGED)
		return;
	next.comments += sim_choose(w, 3) == 0;
	if (sim_choose(w, 3)) {
		bool open = next.state == REC_OBSERVED_OPEN;
		next.state = !open                            ? REC_OBSERVED_OPEN
			     : item->pull && sim_choose(w, 2) ? REC_OBSERVED_MERGED
							      : REC_OBSERVED_CLOSED;
		next.reason = open && !item->pull ? reasons[sim_choose(w, 6)] : NULL;
	}
	item_change(w, item, next);
}

/* The item as a helper sees it that has heard of changes up to `number`. */
static const struct sim_version *item_view(const struct sim_item *item, unsigned number)
{
	unsigned at = item->count - 1;
	while (at > 0 && item->versions[at].number > number)
		at--;
	return &item->versions[at];
}

/* ---- The helper ---- */

struct sim_syncer {
	struct rec_store *store;
	struct rec_sync *pass;
	enum { BEGIN, ASK, TAKE, APPLY } stage;
	bool second, honest, whole;
	struct rec_observation answers[ANSWERS_MAX];
	char urls[ANSWERS_MAX][SIM_URL_BYTES], times[ANSWERS_MAX][REC_TIMESTAMP_BYTES], validators[ANSWERS_MAX][16];
	size_t answer_count;
	bool has_cursor;
	char cursor[16];
};

static void answer_full(struct sim_syncer *y, size_t i, bool pull, const struct sim_version *v)
{
	snprintf(y->validators[i], sizeof y->validators[i], "v%u", v->number);
	rec_timestamp_format(v->second * SIM_SECOND, y->times[i]);
	y->answers[i] = (struct rec_observation){
		.url = rec_slice_of(y->urls[i]),
		.state = v->state,
		.kind = pull ? REC_LINK_PULL_REQUEST : REC_LINK_ISSUE,
		.reason = rec_slice_of(v->reason),
		.time = rec_slice_of(y->times[i]),
		.has_comments = true,
		.comments = v->comments,
		.validator = rec_slice_of(y->validators[i]),
	};
}

/* What goes wrong with one answer. A lie about the state has a time of now at most, and is not the last word. */
static void answer_spoil(struct sim *w, struct sim_syncer *y, size_t i)
{
	struct rec_observation *o = &y->answers[i];
	struct sim_version lie = {.state = sim_choose(w, 2) ? REC_OBSERVED_OPEN : REC_OBSERVED_CLOSED,
				  .second = second_now(w) - (int64_t)sim_choose(w, 30),
				  .number = w->versions};
	switch (sim_choose(w, 12)) {
	case 0:
	case 1:
	case 2:
		*o = (struct rec_observation){.url = o->url};
		y->has_cursor = false; /* it knows that it does not know */
		break;
	case 3:
		o->time = rec_slice_of("soon");
		break;
	case 4:
		o->moved_to = rec_slice_of("https://elsewhere.example/a/b/issues/1");
		break;
	case 5:
		o->reason = rec_slice_of("\xff");
		break;
	case 6:
		if (sim_chance(w, 10))
			*o = (struct rec_observation){.url = o->url, .state = REC_OBSERVED_GONE};
		break;
	default:
		if (w->liars)
			answer_full(y, i, sim_choose(w, 2), &lie);
	}
}

/* From a listing since the cursor: what is not in it is unchanged. Each helper may be behind. */
static void answer_all(struct sim *w, struct sim_syncer *y, const struct rec_sync_question *q)
{
	unsigned since = 0, view = w->versions;
	if (q->cursor_count)
		since = (unsigned)strtoul(q->cursors[0].value.data, NULL, 10);
	if (!y->honest && sim_choose(w, 2))
		view -= sim_choose(w, view < 6 ? view + 1 : 6);
	view = view > since ? view : since; /* behind the others, but never behind its own cursor */
	y->answer_count = q->count < ANSWERS_MAX ? q->count : ANSWERS_MAX;
	y->has_cursor = q->count <= ANSWERS_MAX;
	snprintf(y->cursor, sizeof y->cursor, "%u", view);
	for (size_t i = 0; i < y->answer_count; i++) {
		snprintf(y->urls[i], sizeof y->urls[i], "%.*s", (int)q->links[i].url.length, q->links[i].url.data);
		int item = item_find(w, q->links[i].url);
		y->answers[i] = (struct rec_observation){.url = rec_slice_of(y->urls[i])};
		if (item < 0)
			continue;
		const struct sim_version *v = item_view(&w->items[item], view);
		answer_full(y, i, w->items[item].pull, v);
		if (q->links[i].validator.data && v->number <= since)
			y->answers[i] = (struct rec_observation){.url = rec_slice_of(y->urls[i]),
								 .state = REC_OBSERVED_UNCHANGED};
		if (!y->honest && sim_chance(w, 8))
			answer_spoil(w, y, i);
	}
}

/* ---- Rules ---- */

struct event_check {
	struct sim *w;
	int64_t seq;
};

/* What acted is newer than all that was known when it came, or was read again because of a tie. */
static int event_check(void *context, const struct rec_event *event)
{
	struct event_check *check = context;
	struct sim *w = check->w;
	struct rec_arena arena;
	struct rec_error error;
	struct rec_observation_record record;
	int64_t us = 0;
	check->seq = event->seq;
	if (!event->observation.data)
		return 0;
	rec_arena_init(&arena, NULL);
	int task = sim_task_find(w, event->task_id);
	int r = rec_observation_read(event->observation, &arena, &record, &error);
	if (r || task < 0 || (record.observation.time.data && rec_timestamp_parse(record.observation.time, &us)))
		sim_broken(w, "an event of a tracker cannot be read");
	else if (record.observation.state != REC_OBSERVED_GONE && us < w->tasks[task].known_us)
		sim_broken(w, "%s: an older observation acts", w->tasks[task].id);
	else if (record.observation.state != REC_OBSERVED_GONE && us == w->tasks[task].known_us && !record.input.again)
		sim_broken(w, "%s: what was known already acts again", w->tasks[task].id);
	rec_arena_release(&arena);
	return 0;
}

static int link_note(void *context, const struct rec_link *link)
{
	struct sim *w = context;
	int64_t us = 0;
	int task = sim_task_find(w, link->task_id);
	if (task < 0 || !link->time.data || rec_timestamp_parse(link->time, &us))
		return 0;
	if (us < w->tasks[task].known_us)
		sim_broken(w, "%s: what is known of its link becomes older", w->tasks[task].id);
	w->tasks[task].known_us = us;
	return 0;
}

static void statuses_read(struct sim *w, enum rec_status out[SIM_TASKS_MAX])
{
	for (unsigned i = 0; i < w->task_count; i++)
		out[i] = sim_status_of(w, i);
}

/* One group of a pass, and what it did. Returns how many statuses it changed, or -1: it could not. */
static int apply_and_check(struct sim *w, struct sim_syncer *y)
{
	enum rec_status before[SIM_TASKS_MAX], after[SIM_TASKS_MAX];
	struct rec_error error;
	struct event_check check = {w, w->event_seq};
	int changed = 0;
	statuses_read(w, before);
	if (rec_sync_apply(y->pass, &error))
		return -1; /* somebody is writing: again later */
	statuses_read(w, after);
	for (unsigned i = 0; i < w->task_count; i++) {
		if (before[i] == after[i])
			continue;
		changed++;
		w->tasks[i].bad = w->tasks[i].bad || (after[i] != REC_IN_PROGRESS && after[i] != REC_READY);
		sim_say(w, "tracker: %s %s -> %s", w->tasks[i].id, rec_status_text(before[i]),
			rec_status_text(after[i]));
		if (before[i] == REC_MERGED)
			sim_broken(w, "%s: MERGED is overwritten by a tracker", w->tasks[i].id);
	}
	rec_store_events(w->keeper, w->event_seq, 0, event_check, &check, NULL);
	w->event_seq = check.seq;
	rec_store_links(w->keeper, (struct rec_slice){0}, link_note, w, NULL);
	return changed;
}

/* ---- Passes ---- */

static size_t find(const void *context, struct rec_slice url)
{
	(void)context;
	return url.length > 20 && memcmp(url.data, "https://sim.example/", 20) == 0 ? 0 : REC_TRACKER_NONE;
}

static const char *const names[] = {"sim"};
static const struct rec_sync_trackers trackers = {names, 1, find, NULL};

static void pass_end(struct sim_syncer *y)
{
	y->pass = rec_sync_free(y->pass);
	y->stage = BEGIN;
}

static void pass_begin(struct sim *w, struct sim_syncer *y)
{
	struct rec_slice id = rec_slice_of(w->tasks[sim_choose(w, w->task_count)].id);
	struct rec_error error;
	y->whole = y->honest || sim_choose(w, 4) != 0;
	y->second = false;
	if (rec_sync_new(y->store, &trackers, y->whole ? REC_SYNC_LINKED : REC_SYNC_IDS, &id, y->whole ? 0 : 1,
			 (struct rec_slice){0}, &y->pass, &error) == 0)
		y->stage = ASK;
}

static void pass_ask(struct sim *w, struct sim_syncer *y)
{
	struct rec_sync_question q;
	struct rec_error error;
	if (rec_sync_question(y->pass, 0, &q, &error) || (q.count == 0 && y->second)) {
		pass_end(y);
		return;
	}
	answer_all(w, y, &q);
	y->stage = TAKE;
}

static void pass_take(struct sim *w, struct sim_syncer *y)
{
	struct rec_error error;
	const struct rec_tracker_cursor cursor = {rec_slice_of("list"), rec_slice_of(y->cursor)};
	int r = rec_sync_take(y->pass, 0, y->answers, y->answer_count, &error);
	if (r == 0)
		r = rec_sync_cursors(y->pass, 0, &cursor, y->has_cursor, &error);
	if (r)
		sim_broken(w, "a pass fails: %s", error.message);
	y->stage = APPLY;
}

/* Planted: what was known is forgotten before it is compared. */
static int link_forget(void *context, const struct rec_link *link)
{
	struct rec_link *forgotten = context;
	*forgotten = (struct rec_link){.observed_at = link->observed_at};
	return 0;
}

static void plant(struct sim *w, struct sim_syncer *y)
{
	struct rec_link forgotten;
	char url[SIM_URL_BYTES];
	for (unsigned i = 0; i < w->task_count; i++) {
		url_write(w, i % SIM_ITEMS, url);
		forgotten = (struct rec_link){0};
		rec_store_links(y->store, rec_slice_of(w->tasks[i].id), link_forget, &forgotten, NULL);
		forgotten.task_id = rec_slice_of(w->tasks[i].id);
		forgotten.url = rec_slice_of(url);
		(void)rec_store_link_observed(y->store, &forgotten, NULL);
	}
}

static void answers_say(struct sim *w, const struct sim_syncer *y)
{
	for (size_t i = 0; i < y->answer_count; i++)
		sim_say(w, "pass %d%s: %s is %s, %.*s (cursor %s)", y == w->syncers[1], y->second ? " again" : "",
			y->urls[i], rec_observed_text(y->answers[i].state), (int)y->answers[i].validator.length,
			y->answers[i].validator.data ? y->answers[i].validator.data : "",
			y->has_cursor ? y->cursor : "-");
}

static int pass_apply(struct sim *w, struct sim_syncer *y)
{
	if (w->options.planted & SIM_PLANTED_FORGETS)
		plant(w, y);
	answers_say(w, y);
	int changed = apply_and_check(w, y);
	if (changed < 0)
		return 0;
	y->stage = ASK;
	if (y->second)
		pass_end(y);
	y->second = true;
	return changed;
}

static int pass_step(struct sim *w, struct sim_syncer *y)
{
	switch (y->stage) {
	case BEGIN:
		pass_begin(w, y);
		return 0;
	case ASK:
		pass_ask(w, y);
		return 0;
	case TAKE:
		pass_take(w, y);
		return 0;
	case APPLY:
		return pass_apply(w, y);
	}
	return 0;
}

void sim_trackers_act(struct sim *w)
{
	struct sim_syncer *y = w->syncers[sim_choose(w, SYNCERS)];
	if (sim_choose(w, 3) == 0)
		item_act(w);
	if (sim_chance(w, 40)) {
		pass_end(y); /* whoever ran it has died */
		return;
	}
	y->honest = y->stage == BEGIN ? sim_choose(w, 3) == 0 : y->honest;
	(void)pass_step(w, y);
	if (sim_chance(w, 60)) { /* somebody takes a link away, and makes it again */
		unsigned task = sim_choose(w, w->task_count);
		char url[SIM_URL_BYTES];
		url_write(w, task % SIM_ITEMS, url);
		struct rec_slice id = rec_slice_of(w->tasks[task].id), none = {NULL, 0};
		if (rec_store_link_remove(w->keeper, id, none, NULL) == 0)
			w->tasks[task].known_us = 0;
		(void)rec_store_link_put(w->keeper, id, rec_slice_of(url), NULL);
	}
}

/* ---- The quiet end ---- */

static int link_compare(void *context, const struct rec_link *link)
{
	struct sim *w = context;
	int item = item_find(w, link->url);
	const struct sim_version *v = item < 0 ? NULL : item_now(&w->items[item]);
	if (v && !link->gone && link->state != v->state)
		sim_broken(w, "%.*s: its item is %s, but %s is known (version %u)", (int)link->task_id.length,
			   link->task_id.data, rec_observed_text(v->state), rec_observed_text(link->state), v->number);
	return 0;
}

/* Everybody tells the truth; soon nothing is written any more, and what is known is true. */
void sim_trackers_settle(struct sim *w)
{
	int changed = 1;
	if (!(w->options.faults & SIM_TRACKERS) || w->violation[0])
		return;
	sim_pass(w, 2 * SIM_SECOND);
	for (unsigned i = 0; w->liars && i < SIM_ITEMS; i++) { /* something newer than any lie */
		struct sim_version next = *item_now(&w->items[i]);
		next.comments++;
		w->items[i].count -= w->items[i].count == SIM_VERSIONS_MAX;
		item_change(w, &w->items[i], next);
	}
	for (unsigned i = 0; i < SYNCERS; i++)
		pass_end(w->syncers[i]);
	w->syncers[0]->honest = true;
	for (unsigned pass = 0; pass < PASSES_MAX && changed && !w->violation[0]; pass++) {
		changed = 0;
		do
			changed += pass_step(w, w->syncers[0]);
		while (w->syncers[0]->stage != BEGIN && !w->violation[0]);
	}
	if (changed)
		sim_broken(w, "passes over links do not come to rest");
	rec_store_links(w->keeper, (struct rec_slice){0}, link_compare, w, NULL);
}

/* ---- Making ---- */

static int syncer_new(struct sim *w, struct sim_syncer **ret_syncer)
{
	const struct rec_store_options options = {.mode = REC_STORE_WRITE, .clock = &w->clock.clock};
	struct sim_syncer *y = rec_zalloc(NULL, 1, sizeof *y);
	int r = y ? rec_store_memory_share(w->keeper, &options, &y->store, NULL) : REC_E_NOMEM;
	*ret_syncer = y;
	return r;
}

void sim_trackers_link(struct sim *w, unsigned task)
{
	char url[SIM_URL_BYTES];
	if (!(w->options.faults & SIM_TRACKERS))
		return;
	url_write(w, task % SIM_ITEMS, url);
	(void)rec_store_link_put(w->keeper, rec_slice_of(w->tasks[task].id), rec_slice_of(url), NULL);
}

int sim_trackers_open(struct sim *w)
{
	int r = 0;
	if (!(w->options.faults & SIM_TRACKERS))
		return 0;
	w->liars = sim_choose(w, 2);
	for (unsigned i = 0; i < SIM_ITEMS; i++) {
		w->items[i].pull = i % 2;
		item_change(w, &w->items[i], (struct sim_version){.state = REC_OBSERVED_OPEN});
	}
	for (unsigned i = 0; r == 0 && i < SYNCERS; i++)
		r = syncer_new(w, &w->syncers[i]);
	return r;
}

void sim_trackers_close(struct sim *w)
{
	for (unsigned i = 0; i < SYNCERS; i++) {
		if (!w->syncers[i])
			continue;
		pass_end(w->syncers[i]);
		rec_store_close(w->syncers[i]->store);
		rec_free(NULL, w->syncers[i]);
		w->syncers[i] = NULL;
	}
}
