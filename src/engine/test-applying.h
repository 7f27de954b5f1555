/* test-applying.h - for tests of apply: apply and show what came of it. */
#ifndef REC_ENGINE_TEST_APPLYING_H
#define REC_ENGINE_TEST_APPLYING_H

#include "engine/apply.h"
#include "engine/test-world.h"

/* ---- Helpers ---- */

struct applied {
	struct rec_results results;
	bool *flags;
};

static inline int try_apply(struct world *w, enum rec_check_kind kind, const struct rec_belief *belief,
			    struct applied *a)
{
	return rec_apply(w->store, kind, NULL, 0, belief, S("batch-1"), &a->results, &a->flags, &w->error);
}

static inline struct applied apply_kind(struct world *w, enum rec_check_kind kind, const struct rec_belief *belief)
{
	struct applied a;
	ok(w, try_apply(w, kind, belief, &a));
	return a;
}

static inline struct applied apply(struct world *w)
{
	return apply_kind(w, REC_CHECK_MERGED, NULL);
}

static inline void applied_release(struct applied *a)
{
	rec_free(a->results.snapshot.allocator, a->flags);
	rec_results_release(&a->results);
}

/* "id:ACTION(+ if applied) ..." */
static inline void applied_is(struct applied a, const char *wanted)
{
	char shown[512];
	size_t used = 0;
	shown[0] = '\0';
	for (size_t i = 0; i < a.results.snapshot.count; i++) {
		struct rec_result_view view;
		rec_results_view(&a.results, i, &view);
		used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%.*s:%s%s", i ? " " : "",
					 (int)view.task_id.length, view.task_id.data, view.action,
					 a.flags[i] ? "+" : "");
	}
	assert_string_equal(shown, wanted);
	applied_release(&a);
}

static inline int event_show(void *context, const struct rec_event *event)
{
	return rec_event_write_json(context, event) || rec_buffer_add_text(context, "\n");
}

/* The whole log as JSON lines, without times. */
static inline void events_are(struct world *w, const char *wanted)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	rec_buffer_add_text(&out, "");
	ok(w, rec_store_events(w->outside, 0, 0, event_show, &out, &w->error));
	for (char *time; (time = strstr(out.data, "\"time\":\""));) {
		char *end = strchr(time + 8, '"') + 2;
		memmove(time, end, strlen(end) + 1);
	}
	assert_string_equal(out.data, wanted);
	rec_buffer_release(&out);
}

static inline int event_count_one(void *context, const struct rec_event *event)
{
	(void)event;
	++*(unsigned *)context;
	return 0;
}

static inline unsigned event_count(struct world *w)
{
	unsigned count = 0;
	ok(w, rec_store_events(w->outside, 0, 0, event_count_one, &count, &w->error));
	return count;
}

static inline void all_verified(struct world *w, uint64_t decisions)
{
	uint64_t checked, different;
	ok(w, rec_events_verify(w->outside, NULL, NULL, &checked, &different, &w->error));
	assert_int_equal(checked, decisions);
	assert_int_equal(different, 0);
}

static inline void add_answered(struct world *w, const char *id, const char *blocker)
{
	add(w, id, REC_BLOCKED);
	ask(w, blocker, id);
	answer(w, blocker);
}

#endif
