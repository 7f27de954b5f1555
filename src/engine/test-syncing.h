/* test-syncing.h - for the tests of sync: a made-up tracker on the world of test-world.h. It holds items by address,
 * answers a question from them, and what happens between asking and writing is up to the test. */
#ifndef REC_ENGINE_TEST_SYNCING_H
#define REC_ENGINE_TEST_SYNCING_H

#include "engine/test-world.h"

#include "engine/apply.h"
#include "engine/sync.h"

#define ISSUE(number) "https://github.com/acme/app/issues/" number
#define PULL(number) "https://github.com/acme/app/pull/" number
#define NO_TEXT ((struct rec_slice){NULL, 0})
#define ITEMS_MAX 64

struct fake {
	struct rec_observation items[ITEMS_MAX]; /* url: the address asked for */
	size_t item_count;
	struct rec_observation later[ITEMS_MAX]; /* what a second reading gives instead, if its url is set */
	bool down;
	const char *cursor; /* what it wants kept under "repo"; NULL: nothing */
	const char *over;   /* a key that it wants forgotten; NULL: none */
	/* what it was asked, as "url=validator " and "+key=value " for cursors */
	struct rec_buffer asked;
	unsigned questions;
};

struct syncing {
	struct world *w;
	struct fake github, other;
	struct rec_sync_trackers trackers;
	const struct rec_results *results;
	const bool *applied;
	struct rec_sync *y;
	void (*before_apply)(struct syncing *s);
	void (*before_second)(struct syncing *s);
};

static const char *const sync_names[] = {"github", "other"};

static inline size_t sync_find(const void *context, struct rec_slice url)
{
	(void)context;
	if (url.length > 19 && memcmp(url.data, "https://github.com/", 19) == 0)
		return 0;
	return url.length > 6 && memcmp(url.data, "other:", 6) == 0 ? 1 : REC_TRACKER_NONE;
}

static inline int syncing_setup(void **state)
{
	struct syncing *s = rec_zalloc(NULL, 1, sizeof *s);
	assert_non_null(s);
	s->w = world_new();
	s->trackers = (struct rec_sync_trackers){sync_names, 2, sync_find, NULL};
	rec_buffer_init(&s->github.asked, NULL, 1u << 20);
	rec_buffer_init(&s->other.asked, NULL, 1u << 20);
	*state = s;
	return 0;
}

static inline int syncing_teardown(void **state)
{
	struct syncing *s = *state;
	rec_sync_free(s->y);
	rec_buffer_release(&s->github.asked);
	rec_buffer_release(&s->other.asked);
	world_free(s->w);
	rec_free(NULL, s);
	return 0;
}
#define sync_test(function) cmocka_unit_test_setup_teardown(function, syncing_setup, syncing_teardown)

/* ---- The tracker ---- */

static inline struct rec_observation *fake_item(struct fake *f, const char *url)
{
	for (size_t i = 0; i < f->item_count; i++)
		if (rec_slice_equal(f->items[i].url, S(url)))
			return &f->items[i];
	assert_true(f->item_count < ITEMS_MAX);
	f->items[f->item_count].url = S(url);
	return &f->items[f->item_count++];
}

/* What the tracker says from now on. */
static inline struct rec_observation *say(struct fake *f, const char *url, enum rec_observed state, const char *reason,
					  const char *time)
{
	struct rec_observation *item = fake_item(f, url);
	item->state = state;
	item->reason = reason ? S(reason) : NO_TEXT;
	item->time = time ? S(time) : NO_TEXT;
	return item;
}

static inline void fake_note(struct fake *f, const char *front, struct rec_slice key, struct rec_slice value)
{
	rec_buffer_printf(&f->asked, "%s%.*s=%.*s ", front, (int)key.length, key.data, (int)value.length,
			  value.data ? value.data : "");
}

static inline struct rec_observation fake_answer(const struct fake *f, const struct rec_link *link, bool second)
{
	for (size_t i = 0; i < f->item_count; i++)
		if (rec_slice_equal(f->items[i].url, link->url))
			return second && f->later[i].url.data ? f->later[i] : f->items[i];
	return (struct rec_observation){.url = link->url, .state = REC_OBSERVED_UNKNOWN};
}

/* One that was asked without cursors begins anew, and does not know what the first round was told. */
static inline void fake_cursors(struct syncing *s, const struct fake *f, size_t tracker, bool second)
{
	struct rec_tracker_cursor cursors[2];
	size_t count = 0;
	if (f->over)
		cursors[count++] = (struct rec_tracker_cursor){S(f->over), NO_TEXT};
	if (f->cursor)
		cursors[count++] = (struct rec_tracker_cursor){S("repo"), S(second ? "anew" : f->cursor)};
	ok(s->w, rec_sync_cursors(s->y, tracker, cursors, count, &s->w->error));
}

static inline bool sync_ask(struct syncing *s, struct fake *f, size_t tracker, bool second)
{
	struct rec_sync_question q;
	struct rec_observation observations[ITEMS_MAX];
	ok(s->w, rec_sync_question(s->y, tracker, &q, &s->w->error));
	if (q.count == 0)
		return false;
	f->questions++;
	for (size_t i = 0; i < q.cursor_count; i++)
		fake_note(f, "+", q.cursors[i].key, q.cursors[i].value);
	for (size_t i = 0; i < q.count; i++)
		fake_note(f, "", q.links[i].url, q.links[i].validator);
	for (size_t i = 0; i < q.count; i++) {
		observations[i] = (struct rec_observation){.url = q.links[i].url};
		if (!f->down)
			observations[i] = fake_answer(f, &q.links[i], second);
	}
	ok(s->w, rec_sync_take(s->y, tracker, observations, q.count, &s->w->error));
	if (!f->down)
		fake_cursors(s, f, tracker, second);
	return true;
}

/* ---- A pass ---- */

static inline void sync_begin(struct syncing *s, const char *id)
{
	struct rec_slice ids[1] = {id ? S(id) : NO_TEXT};
	s->y = rec_sync_free(s->y);
	rec_buffer_clear(&s->github.asked);
	rec_buffer_clear(&s->other.asked);
	ok(s->w, rec_sync_new(s->w->store, &s->trackers, id ? REC_SYNC_IDS : REC_SYNC_ALL, ids, id ? 1 : 0, NO_TEXT,
			      &s->y, &s->w->error));
}

static inline void sync_write(struct syncing *s)
{
	void (*before)(struct syncing *) = s->before_apply;
	s->before_apply = NULL;
	if (before)
		before(s);
	ok(s->w, rec_sync_apply(s->y, &s->w->error));
}

static inline void sync_round(struct syncing *s, bool apply, bool second)
{
	bool any = sync_ask(s, &s->github, 0, second);
	any = sync_ask(s, &s->other, 1, second) || any;
	if (any && apply)
		sync_write(s);
}

static inline void sync_of(struct syncing *s, const char *id, bool apply)
{
	sync_begin(s, id);
	sync_round(s, apply, false);
	sync_round(s, apply, true);
	s->results = rec_sync_results(s->y, &s->applied);
}

static inline void sync_all(struct syncing *s)
{
	sync_of(s, NULL, true);
}

static inline void sync_check(struct syncing *s)
{
	sync_of(s, NULL, false);
}

/* ---- What came of it ---- */

static inline void link_to(struct syncing *s, const char *id, const char *url)
{
	ok(s->w, rec_store_link_put(s->w->outside, S(id), S(url), &s->w->error));
}

static inline size_t result_index(const struct syncing *s, const char *id)
{
	for (size_t i = 0; i < s->results->snapshot.count; i++)
		if (rec_slice_equal(s->results->snapshot.ids[i], S(id)))
			return i;
	fail_msg("no result for %s", id);
	return 0;
}

/* "READY DONE SKIP issue closed as completed (github, differs, applied)" */
#define assert_result(s, id, wanted)                                                                                   \
	do {                                                                                                           \
		char shown_[300];                                                                                      \
		result_show(s, id, shown_, sizeof shown_);                                                             \
		assert_string_equal(shown_, wanted);                                                                   \
	} while (0)

static inline void result_show(const struct syncing *s, const char *id, char *out, size_t capacity)
{
	struct rec_result_view view;
	size_t i = result_index(s, id);
	rec_results_view(s->results, i, &view);
	snprintf(out, capacity, "%.*s %.*s %s %s (%s%s%s)",
		 view.current_status.data ? (int)view.current_status.length : 4,
		 view.current_status.data ? view.current_status.data : "null",
		 view.external_status.data ? (int)view.external_status.length : 4,
		 view.external_status.data ? view.external_status.data : "null", view.action, view.reason, view.source,
		 view.discrepancy ? ", differs" : "", s->applied[i] ? ", applied" : "");
}

struct told {
	struct rec_buffer text;
};

static inline int event_tell(void *context, const struct rec_event *e)
{
	rec_buffer_printf(context, "%.*s %.*s %.*s>%.*s %.*s (%.*s)\n", (int)e->task_id.length, e->task_id.data,
			  (int)e->event.length, e->event.data, (int)e->current_status.length,
			  e->current_status.data ? e->current_status.data : "", (int)e->external_status.length,
			  e->external_status.data ? e->external_status.data : "", (int)e->reason.length,
			  e->reason.data ? e->reason.data : "", (int)e->source.length,
			  e->source.data ? e->source.data : "");
	return 0;
}

/* All events, a line each: "T1 RECONCILIATION_TASK_SKIPPED READY>DONE issue closed as completed (github)" */
#define assert_events(s, wanted)                                                                                       \
	do {                                                                                                           \
		struct rec_buffer told_;                                                                               \
		uint64_t different_ = 1;                                                                               \
		rec_buffer_init(&told_, NULL, 1u << 20);                                                               \
		rec_buffer_add_text(&told_, "");                                                                       \
		ok((s)->w, rec_store_events((s)->w->outside, 0, 0, event_tell, &told_, &(s)->w->error));               \
		assert_string_equal(told_.data ? told_.data : "", wanted);                                             \
		rec_buffer_release(&told_);                                                                            \
		ok((s)->w, rec_events_verify((s)->w->outside, NULL, NULL, NULL, &different_, &(s)->w->error));         \
		assert_int_equal(different_, 0);                                                                       \
	} while (0)

#endif
