/* api-watch.c - a watch with its timing. The store has one descriptor for all: whoever finds it readable empties it
 * and counts, and every watcher that has not seen that count yet takes it as its own wake-up. */
#include <limits.h>
#include <poll.h>

#include "base/clock.h"
#include "engine/watch.h"
#include "lib/api.h"

struct rec_watcher {
	struct reconciler *reconciler;
	struct rec_watch *watch;
	struct rec_relook relook;
	uint64_t wakes_seen;
	int64_t looked_us;
	bool due; /* never looked, a belief changed, or the last look failed */
	rec_result_callback *callback;
	void *context;
};

static int64_t now_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context);
}

/* ---- Making ---- */

static int options_check(const struct rec_watcher_options *options, struct rec_error *error)
{
	if ((unsigned)options->kind > REC_WATCH_BLOCKERS)
		return rec_fail(error, REC_E_INVALID, "watch: %d is no kind (see enum rec_watch_kind)",
				(int)options->kind);
	if (options->rescan_interval_ms < 0 || options->rescan_interval_ms > INT64_MAX / 1000)
		return rec_fail(error, REC_E_INVALID, "watch: the rescan interval %lld ms is out of range",
				(long long)options->rescan_interval_ms);
	return 0;
}

static int watch_make(struct rec_watcher *w, const struct rec_watcher_options *options, struct rec_error *error)
{
	static const enum rec_check_kind kinds[] = {
		[REC_WATCH_ALL] = REC_CHECK_MERGED,
		[REC_WATCH_TASKS] = REC_CHECK_TASKS,
		[REC_WATCH_BLOCKERS] = REC_CHECK_BLOCKERS,
	};
	struct rec_slice *ids;
	struct rec_arena arena;
	rec_arena_init(&arena, w->reconciler->allocator);
	int r = rec_api_ids(&arena, options->ids, options->id_count, &ids, error);
	if (r == 0) {
		struct rec_watch_options own = {
			.kind = kinds[options->kind],
			.ids = ids,
			.id_count = options->id_count,
			.only_believed = options->only_believed != 0,
			.apply = options->apply != 0,
			.rescan_interval_us = options->rescan_interval_ms * 1000,
			.batch_id = rec_slice_of(options->batch_id),
		};
		r = rec_watch_new(w->reconciler->store, &own, &w->watch, error);
	}
	rec_arena_release(&arena);
	return r;
}

static int state_take(struct rec_watcher *w, const struct rec_batch_state *state, struct rec_error *error)
{
	int r = 0;
	for (size_t i = 0; state && r == 0 && i < state->belief.count; i++)
		if (state->belief.statuses[i] != REC_STATUS_ABSENT)
			r = rec_watch_believe(w->watch, state->belief.ids[i],
					      (enum rec_status)state->belief.statuses[i], error);
	return r;
}

int rec_watcher_new(struct reconciler *r, const struct rec_watcher_options *options, struct rec_watcher **ret_watcher,
		    struct rec_error *error)
{
	struct rec_watcher_options own;
	int result = rec_api_enter(r, error);
	if (result == 0)
		result = rec_abi_read(&own, sizeof own, options, "struct rec_watcher_options", error);
	if (result == 0)
		result = options_check(&own, error);
	if (result)
		return result;
	struct rec_watcher *w = rec_zalloc(r->allocator, 1, sizeof *w);
	if (!w)
		return rec_fail_nomem(error);
	*w = (struct rec_watcher){.reconciler = r, .wakes_seen = r->wakes, .due = true};
	result = watch_make(w, &own, error);
	if (result == 0)
		result = state_take(w, own.state, error);
	if (result) {
		rec_watcher_free(w);
		return result;
	}
	*ret_watcher = w;
	return 0;
}

struct rec_watcher *rec_watcher_free(struct rec_watcher *w)
{
	if (!w)
		return NULL;
	rec_watch_free(w->watch);
	return rec_free(w->reconciler->allocator, w);
}

int rec_watcher_believe(struct rec_watcher *w, const char *task_id, enum rec_status status, struct rec_error *error)
{
	if ((unsigned)status > REC_STATUS_ABSENT)
		return rec_fail(error, REC_E_INVALID, "belief: %d is no status to be believed", (int)status);
	int r = rec_watch_believe(w->watch, rec_slice_of(task_id), status, error);
	w->due |= r == 0;
	return r;
}

/* ---- Looking ---- */

int rec_watcher_descriptor(struct rec_watcher *w)
{
	int fd = -1;
	return rec_store_wake_fd(w->reconciler->store, &fd, NULL) == 0 ? fd : -1;
}

/* Empties the descriptor if it is readable, and takes wake-ups that others have emptied. Opening it counts as one. */
static void wakes_take(struct rec_watcher *w, int64_t now)
{
	struct pollfd p = {.fd = rec_watcher_descriptor(w), .events = POLLIN};
	if (p.fd >= 0 && poll(&p, 1, 0) > 0) {
		rec_store_wake_drain(w->reconciler->store);
		w->reconciler->wakes++;
	}
	bool first = w->looked_us == 0 && p.fd >= 0;
	if (first || w->wakes_seen != w->reconciler->wakes)
		rec_relook_woken(&w->relook, now);
	w->wakes_seen = w->reconciler->wakes;
}

/* The watch's texts end with a NUL. */
static int result_pass(void *context, const struct rec_result_view *view, int applied)
{
	struct rec_watcher *w = context;
	struct rec_result result;
	rec_api_result(view, applied, &result);
	return w->callback(w->context, &result);
}

int rec_watcher_look(struct rec_watcher *w, rec_result_callback *callback, void *context, uint64_t *ret_told,
		     struct rec_error *error)
{
	int r = rec_api_enter(w->reconciler, error);
	if (r)
		return r;
	int64_t now = now_us();
	wakes_take(w, now);
	w->callback = callback;
	w->context = context;
	r = rec_watch_look(w->watch, now, result_pass, w, ret_told, error);
	w->due = r != 0;
	w->looked_us = now;
	rec_relook_looked(&w->relook, now_us());
	return r;
}

static int64_t sooner(int64_t a, int64_t b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

int rec_watcher_timeout_ms(struct rec_watcher *w)
{
	int64_t now = now_us(), interval_us = w->reconciler->check_interval_ms * 1000;
	if (w->due || w->wakes_seen != w->reconciler->wakes)
		return 0;
	int64_t wait_us = rec_relook_wait_us(&w->relook, now);
	wait_us = sooner(wait_us, rec_watch_rescan_wait_us(w->watch, now));
	if (interval_us > 0) {
		int64_t left_us = w->looked_us + interval_us - now;
		wait_us = sooner(wait_us, left_us > 0 ? left_us : 0);
	}
	if (wait_us < 0)
		return -1;
	return wait_us / 1000 < INT_MAX ? (int)(wait_us / 1000) : INT_MAX;
}
