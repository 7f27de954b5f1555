/* tracker.c - see tracker.h. The registry, passes and answers; tracker-talk.c holds the conversation. */
#include "tracker/tracker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "tracker/tracker-private.h"

#define LEAVE_US INT64_C(200000)
#define DIE_US INT64_C(1000000)

/* ---- Making ------------------------------------------------------------------------------------- */

static char *copy(const struct rec_allocator *a, const char *text)
{
	return rec_strndup(a, text, strlen(text));
}

static const char **command_copy(const struct rec_allocator *a, const char *const *command)
{
	size_t count = 0, length = 0;
	for (; command[count]; count++)
		length += strlen(command[count]) + 1;
	const char **copies = rec_alloc(a, (count + 1) * sizeof *copies + length);
	char *to = copies ? (char *)(copies + count + 1) : NULL;
	for (size_t i = 0; copies && i < count; i++) {
		copies[i] = to;
		to = (char *)memcpy(to, command[i], strlen(command[i]) + 1) + strlen(command[i]) + 1;
	}
	if (copies)
		copies[count] = NULL;
	return copies;
}

static int tracker_init(const struct rec_trackers *t, struct tracker *tr, const struct rec_tracker_options *o)
{
	tr->timeout_us = o->timeout_us > 0 ? o->timeout_us : REC_TRACKER_TIMEOUT_US;
	tr->interval_us = o->interval_us;
	tr->budget_share = o->budget_share;
	tr->name = copy(t->allocator, o->name);
	tr->prefix = copy(t->allocator, o->url_prefix);
	tr->command = command_copy(t->allocator, o->command);
	return tr->name && tr->prefix && tr->command ? 0 : REC_E_NOMEM;
}

/* As many trackers as there will be, each of which can be released. */
static int items_make(struct rec_trackers *t, size_t count)
{
	t->items = rec_zalloc(t->allocator, count, sizeof *t->items);
	if (!t->items)
		return REC_E_NOMEM;
	for (; t->count < count; t->count++) {
		struct tracker *tr = &t->items[t->count];
		rec_helper_init(&tr->helper, t->allocator, t->epoll_fd);
		rec_arena_init(&tr->pass.texts, t->allocator);
		rec_arena_init(&tr->answer_texts, t->allocator);
	}
	return 0;
}

static int options_check(const struct rec_trackers_options *o, struct rec_error *error)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct rec_tracker_options *one = &o->trackers[i];
		if (!one->url_prefix[0])
			return rec_fail(error, REC_E_INVALID,
					"tracker %s: an empty url_prefix (name the addresses it "
					"answers for)",
					one->name);
		if (!one->command || !one->command[0])
			return rec_fail(error, REC_E_INVALID, "tracker %s: no command", one->name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(o->trackers[k].name, one->name) == 0)
				return rec_fail(error, REC_E_INVALID, "tracker %s: there are two of that name",
						one->name);
	}
	return 0;
}

int rec_trackers_new(const struct rec_trackers_options *options, struct rec_trackers **ret_trackers,
		     struct rec_error *error)
{
	int r = options_check(options, error);
	if (r != 0)
		return r;
	struct rec_trackers *t = rec_zalloc(options->allocator, 1, sizeof *t);
	if (!t)
		return rec_fail_nomem(error);
	t->allocator = options->allocator;
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0)
		r = rec_fail_errno(error, errno, "trackers");
	else
		r = items_make(t, options->count);
	if (r == 0 && options->leash_path) {
		t->leash_path = copy(t->allocator, options->leash_path);
		r = t->leash_path ? 0 : REC_E_NOMEM;
	}
	for (size_t i = 0; i < options->count && r == 0; i++)
		r = tracker_init(t, &t->items[i], &options->trackers[i]);
	if (r != 0) {
		rec_trackers_free(t);
		return r == REC_E_NOMEM ? rec_fail_nomem(error) : r;
	}
	*ret_trackers = t;
	return 0;
}

/* ---- The end ------------------------------------------------------------------------------------ */

static int64_t clock_us(void)
{
	return rec_clock_real.monotonic_us(rec_clock_real.context);
}

/* Waits for one process to go, at most until then. */
static void await(const struct rec_helper *h, int64_t until_us)
{
	struct pollfd gone = {.fd = h->pidfd, .events = POLLIN};
	int64_t left_us = until_us - clock_us();
	if (h->pid && h->pidfd >= 0 && left_us > 0)
		poll(&gone, 1, (int)((left_us + 999) / 1000));
}

static void helpers_end(struct rec_trackers *t)
{
	for (size_t i = 0; i < t->count; i++)
		rec_helper_hang_up(&t->items[i].helper);
	int64_t until_us = clock_us() + LEAVE_US;
	for (size_t i = 0; i < t->count; i++) {
		await(&t->items[i].helper, until_us);
		rec_helper_kill(&t->items[i].helper);
	}
	until_us = clock_us() + DIE_US;
	for (size_t i = 0; i < t->count; i++) {
		await(&t->items[i].helper, until_us);
		rec_helper_reap(&t->items[i].helper);
	}
}

static void pass_clear(const struct rec_trackers *t, struct pass *pass)
{
	rec_arena_release(&pass->texts);
	rec_free(t->allocator, pass->links);
	rec_free(t->allocator, pass->observations);
	rec_free(t->allocator, pass->cursors);
	rec_free(t->allocator, pass->kept);
	*pass = (struct pass){.on = false};
	rec_arena_init(&pass->texts, t->allocator);
}

static void tracker_release(const struct rec_trackers *t, struct tracker *tr)
{
	rec_helper_release(&tr->helper);
	pass_clear(t, &tr->pass);
	for (size_t i = 0; i < tr->close_count; i++)
		rec_free(t->allocator, tr->closes[i].texts);
	rec_free(t->allocator, tr->closes);
	rec_arena_release(&tr->answer_texts);
	rec_protocol_answer_release(&tr->parsed, t->allocator);
	rec_free(t->allocator, tr->closed_texts);
	rec_free(t->allocator, tr->name);
	rec_free(t->allocator, tr->prefix);
	rec_free(t->allocator, tr->command);
}

struct rec_trackers *rec_trackers_free(struct rec_trackers *t)
{
	if (!t)
		return NULL;
	helpers_end(t);
	for (size_t i = 0; i < t->count; i++)
		tracker_release(t, &t->items[i]);
	rec_close_fd(&t->epoll_fd);
	rec_free(t->allocator, t->items);
	rec_free(t->allocator, t->leash_path);
	return rec_free(t->allocator, t);
}

/* ---- Who there is ------------------------------------------------------------------------------- */

size_t rec_trackers_count(const struct rec_trackers *t)
{
	return t->count;
}

const char *rec_tracker_name(const struct rec_trackers *t, size_t tracker)
{
	return t->items[tracker].name;
}

int64_t rec_tracker_interval_us(const struct rec_trackers *t, size_t tracker)
{
	return t->items[tracker].interval_us;
}

const struct rec_tracker_health *rec_tracker_health(const struct rec_trackers *t, size_t tracker)
{
	return &t->items[tracker].health;
}

bool rec_trackers_own(const struct rec_trackers *t, int pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].helper.pid == pid)
			return true;
	return false;
}

/* Where the path begins: behind "scheme://host", else 0. */
static size_t path_at(struct rec_slice url)
{
	const char *colon = url.length ? memchr(url.data, ':', url.length) : NULL;
	size_t at = colon ? (size_t)(colon - url.data) : url.length;
	if (url.length < at + 3 || memcmp(url.data + at, "://", 3) != 0)
		return 0;
	for (at += 3; at < url.length && !memchr("/?#", url.data[at], 3); at++)
		;
	return at;
}

static bool fits(struct rec_slice prefix, struct rec_slice url)
{
	size_t host = path_at(prefix);
	if (url.length < prefix.length || strncasecmp(url.data, prefix.data, host) != 0 ||
	    memcmp(url.data + host, prefix.data + host, prefix.length - host) != 0)
		return false;
	/* a prefix that is no more than a host means that host, not one whose name goes on */
	return host == 0 || host < prefix.length || path_at(url) == host;
}

size_t rec_trackers_find(const struct rec_trackers *t, struct rec_slice url)
{
	size_t best = REC_TRACKER_NONE, best_length = 0;
	for (size_t i = 0; i < t->count; i++) {
		struct rec_slice prefix = rec_slice_of(t->items[i].prefix);
		if (prefix.length > best_length && fits(prefix, url)) {
			best = i;
			best_length = prefix.length;
		}
	}
	return best;
}

/* ---- Asking ------------------------------------------------------------------------------------- */

static bool text_copy(struct rec_arena *arena, struct rec_slice from, struct rec_slice *to)
{
	*to = (struct rec_slice){0};
	if (!from.data)
		return true;
	*to = (struct rec_slice){rec_arena_strndup(arena, from.data, from.length), from.length};
	return to->data != NULL;
}

int rec_tracker_by_url(const void *a, const void *b)
{
	const struct rec_protocol_link *x = a, *y = b;
	return rec_slice_compare(x->url, y->url);
}

/* Sorted, each URL once. A validator that not all of them hold is worth nothing: who holds none has to be told all. */
static size_t links_unite(struct rec_protocol_link *links, size_t count)
{
	size_t kept = 0;
	if (count)
		qsort(links, count, sizeof *links, rec_tracker_by_url);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || !rec_slice_equal(links[kept - 1].url, links[i].url))
			links[kept++] = links[i];
		else if (!links[i].validator.data || !rec_slice_equal(links[kept - 1].validator, links[i].validator))
			links[kept - 1].validator = (struct rec_slice){0};
	}
	return kept;
}

static int pass_fill(const struct rec_trackers *t, struct pass *pass, const struct rec_link *links, size_t count,
		     const struct rec_tracker_cursor *cursors, size_t cursor_count)
{
	pass->links = rec_zalloc(t->allocator, count, sizeof *pass->links);
	pass->observations = rec_zalloc(t->allocator, count, sizeof *pass->observations);
	pass->cursors = rec_zalloc(t->allocator, cursor_count, sizeof *pass->cursors);
	if (!pass->links || !pass->observations || !pass->cursors)
		return REC_E_NOMEM;
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		struct rec_slice url = links[i].moved_to.data ? links[i].moved_to : links[i].url;
		struct rec_slice validator = links[i].validator;
		if (url.length > REC_LINK_URL_BYTES_MAX)
			continue;
		if (validator.length > REC_VALIDATOR_BYTES_MAX)
			validator = (struct rec_slice){0};
		if (!text_copy(&pass->texts, url, &pass->links[used].url) ||
		    !text_copy(&pass->texts, validator, &pass->links[used].validator))
			return REC_E_NOMEM;
		used++;
	}
	for (size_t i = 0; i < cursor_count; i++)
		if (!text_copy(&pass->texts, cursors[i].key, &pass->cursors[i].key) ||
		    !text_copy(&pass->texts, cursors[i].value, &pass->cursors[i].value))
			return REC_E_NOMEM;
	pass->cursor_count = cursor_count;
	pass->count = links_unite(pass->links, used);
	return 0;
}

static void answer_over(const struct rec_trackers *t, struct tracker *tr)
{
	if (!tr->handed)
		return;
	tr->handed = tr->answering = false;
	tr->answer = (struct rec_tracker_answer){.last = false};
	rec_arena_release(&tr->answer_texts);
	rec_protocol_answer_release(&tr->parsed, t->allocator);
	tr->closed_texts = rec_free(t->allocator, tr->closed_texts);
	if (!tr->pass.on)
		pass_clear(t, &tr->pass);
}

int rec_trackers_ask(struct rec_trackers *t, size_t tracker, const struct rec_link *links, size_t count,
		     const struct rec_tracker_cursor *cursors, size_t cursor_count, int64_t now_us,
		     struct rec_error *error)
{
	struct tracker *tr = &t->items[tracker];
	answer_over(t, tr);
	if (tr->pass.on || tr->answering)
		return REC_CONFLICT;
	if (!rec_tracker_health_may_ask(&tr->health, now_us))
		return REC_REFUSED;
	if (pass_fill(t, &tr->pass, links, count, cursors, cursor_count) != 0) {
		pass_clear(t, &tr->pass);
		return rec_fail_nomem(error);
	}
	if (tr->pass.count == 0)
		pass_clear(t, &tr->pass);
	else
		tr->pass.on = tr->pass.sound = true;
	return 0;
}

int rec_trackers_close(struct rec_trackers *t, size_t tracker, struct rec_slice url, struct rec_slice comment,
		       struct rec_slice marker, int64_t now_us, struct rec_error *error)
{
	struct tracker *tr = &t->items[tracker];
	const struct rec_slice parts[] = {url, comment, marker};
	if (!rec_tracker_health_may_ask(&tr->health, now_us))
		return REC_REFUSED;
	if (tr->close_count >= CLOSES_MAX)
		return rec_fail(error, REC_E_LIMIT, "tracker %s: too many items wait to be closed", tr->name);
	void *closes = tr->closes;
	int r = rec_grow(t->allocator, &closes, &tr->close_capacity, tr->close_count + 1, sizeof *tr->closes);
	tr->closes = closes;
	char *texts = r == 0 ? rec_alloc(t->allocator, url.length + comment.length + marker.length) : NULL;
	if (!texts)
		return rec_fail_nomem(error);
	struct rec_slice copies[3];
	char *to = texts;
	for (size_t i = 0; i < 3; i++) {
		copies[i] = (struct rec_slice){to, parts[i].length};
		if (parts[i].length)
			memcpy(to, parts[i].data, parts[i].length);
		to += parts[i].length;
	}
	tr->closes[tr->close_count++] = (struct close_request){texts, copies[0], copies[1], copies[2]};
	return 0;
}

void rec_trackers_pause(struct rec_trackers *t, size_t tracker, int64_t until_us, int64_t now_us)
{
	struct rec_tracker_health *h = &t->items[tracker].health;
	int64_t latest_us = now_us + REC_TRACKER_RETRY_AFTER_MAX_US;
	if (until_us <= now_us || until_us <= h->not_before_us)
		return;
	h->state = REC_TRACKER_PAUSED;
	h->wished = true;
	rec_text_shown(h->problem, sizeof h->problem, rec_slice_of("the tracker asked to be left alone for a while"));
	h->not_before_us = until_us < latest_us ? until_us : latest_us;
}

void rec_tracker_close_pop(const struct rec_trackers *t, struct tracker *tracker)
{
	rec_free(t->allocator, tracker->closed_texts);
	tracker->closed_texts = tracker->closes[0].texts;
	tracker->close_count--;
	memmove(tracker->closes, tracker->closes + 1, tracker->close_count * sizeof *tracker->closes);
}

/* ---- Working ------------------------------------------------------------------------------------ */

int rec_trackers_step(struct rec_trackers *t, int64_t now_us, struct rec_error *error)
{
	int result = 0;
	for (size_t i = 0; i < t->count; i++) {
		answer_over(t, &t->items[i]);
		if (rec_tracker_talk(t, &t->items[i], now_us) != 0)
			result = REC_E_NOMEM; /* the others go on */
	}
	return result ? rec_fail_nomem(error) : 0;
}

int rec_trackers_fd(const struct rec_trackers *t)
{
	return t->epoll_fd;
}

int64_t rec_trackers_due_us(const struct rec_trackers *t)
{
	int64_t due_us = INT64_MAX;
	for (size_t i = 0; i < t->count; i++) {
		int64_t one_us = rec_tracker_talk_due_us(&t->items[i]);
		due_us = one_us < due_us ? one_us : due_us;
	}
	return due_us;
}

bool rec_trackers_busy(const struct rec_trackers *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (tracker_is_wanted(&t->items[i]) || (t->items[i].answering && !t->items[i].handed))
			return true;
	return false;
}

int rec_trackers_next(struct rec_trackers *t, struct rec_tracker_answer *ret_answer)
{
	for (size_t i = 0; i < t->count; i++)
		answer_over(t, &t->items[i]);
	for (size_t i = 0; i < t->count; i++) {
		struct tracker *tr = &t->items[i];
		if (!tr->answering)
			continue;
		tr->handed = true;
		*ret_answer = tr->answer;
		ret_answer->tracker = i;
		return 0;
	}
	return REC_END;
}
