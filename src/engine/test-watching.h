/* test-watching.h - for tests of watch: look, and compare what is told with one line of text. A result is
 * id:STORED/EXTERNAL:ACTION, null shown as 0, "!" for a discrepancy, "+" applied, "-" not applied. */
#ifndef REC_ENGINE_TEST_WATCHING_H
#define REC_ENGINE_TEST_WATCHING_H

#include "engine/apply.h"
#include "engine/test-world.h"
#include "engine/watch.h"

#define SECOND INT64_C(1000000)

struct watching {
	struct world *world;
	struct rec_watch *watch;
	int64_t now_us;
	char told[2000]; /* by the last look */
	size_t used;
	int end_after; /* the fn ends the look after so many */
};

static inline int tell(void *context, const struct rec_result_view *view, int applied)
{
	struct watching *t = context;
	static const char *const marks[] = {"", "-", "+"};
	t->used += (size_t)snprintf(t->told + t->used, sizeof t->told - t->used, "%s%.*s:%.*s/%.*s:%s%s%s",
				    t->used ? " " : "", (int)view->task_id.length, view->task_id.data,
				    view->current_status.data ? (int)view->current_status.length : 1,
				    view->current_status.data ? view->current_status.data : "0",
				    view->external_status.data ? (int)view->external_status.length : 1,
				    view->external_status.data ? view->external_status.data : "0", view->action,
				    view->discrepancy ? "!" : "", marks[applied + 1]);
	return t->end_after && --t->end_after == 0 ? 99 : 0;
}

static inline int try_look(struct watching *t)
{
	uint64_t told = 0;
	t->used = 0;
	t->told[0] = '\0';
	return rec_watch_look(t->watch, t->now_us, tell, t, &told, &t->world->error);
}

static inline void look_at(struct watching *t, const char *wanted, int line)
{
	int r = try_look(t);
	if (r || strcmp(t->told, wanted) != 0)
		fail_msg("line %d: %d, told [%s], wanted [%s]", line, r, t->told, wanted);
}
#define look(t, wanted) look_at(t, wanted, __LINE__)

static inline struct watching watching(struct world *w, const struct rec_watch_options *options)
{
	struct watching t = {.world = w, .now_us = SECOND};
	ok(w, rec_watch_new(w->store, options, &t.watch, &w->error));
	return t;
}

static inline struct watching watching_all(struct world *w)
{
	return watching(w, &(struct rec_watch_options){.kind = REC_CHECK_MERGED});
}

static inline void believe(struct watching *t, const char *id, enum rec_status status)
{
	ok(t->world, rec_watch_believe(t->watch, S(id), status, &t->world->error));
}

#endif
