/* outside-close.c - closing the item behind a task that a batch finished by its own attempt. The marker names batch,
 * task and attempt, so that a tracker asked twice comments once.
 *
 * That an item is to be closed is in the store since its task is done, and is taken away with the event of its closing,
 * or when it is settled otherwise. What is in memory is only what is being done about it: whatever is dropped here
 * without an answer (its tracker is down, or there is too much) is read again once that tracker can be asked, or by the
 * next conductor of this host. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "conductor/outside-private.h"

#define COMMENT_BYTES_MAX 4096u
#define LINKS_MAX 16u /* of one task */

static void closing_release(const struct rec_outside *o, struct closing *c)
{
	rec_free(o->allocator, c->task_id);
	rec_free(o->allocator, c->batch_id);
	rec_free(o->allocator, c->url);
}

void rec_outside_close_release(struct rec_outside *o)
{
	for (size_t i = 0; i < o->finished_count; i++)
		closing_release(o, &o->finished[i]);
	for (size_t i = 0; i < o->closing_count; i++)
		closing_release(o, &o->closing[i]);
	rec_free(o->allocator, o->finished);
	rec_free(o->allocator, o->closing);
}

static char *text_copy(const struct rec_outside *o, struct rec_slice text)
{
	return rec_strndup(o->allocator, text.data, text.length);
}

/* Of `what`, its key, task, attempt and batch, and its address if there is one. */
static int closing_add(const struct rec_outside *o, struct closing **list, size_t *count, size_t *capacity,
		       const struct rec_closing *what)
{
	void *items = *list;
	int r = rec_grow(o->allocator, &items, capacity, *count + 1, sizeof **list);
	*list = items;
	if (r != 0)
		return r;
	struct closing c = {.attempt = what->attempt};
	memcpy(c.key, what->key, sizeof c.key);
	c.task_id = text_copy(o, what->task_id);
	c.batch_id = text_copy(o, what->batch_id);
	c.url = what->url.data ? text_copy(o, what->url) : NULL;
	if (!c.task_id || !c.batch_id || (what->url.data && !c.url)) {
		closing_release(o, &c);
		return REC_E_NOMEM;
	}
	(*list)[(*count)++] = c;
	return 0;
}

static int finished_add(struct rec_outside *o, const struct rec_closing *what)
{
	return closing_add(o, &o->finished, &o->finished_count, &o->finished_capacity, what);
}

void rec_outside_finished(struct rec_outside *o, struct rec_slice task_id, int64_t attempt)
{
	const struct rec_closing what = {.task_id = task_id, .attempt = attempt, .batch_id = o->options.batch_id};
	if (o->finished_count >= FINISHED_MAX || finished_add(o, &what) != 0)
		o->reload = true;
}

/* ---- Which items -------------------------------------------------------------------------------- */

struct open_link {
	struct rec_slice url; /* where it is now */
	char key[REC_SHA256_HEX_BYTES];
};

struct open_links {
	const struct rec_outside *o;
	struct rec_arena arena;
	struct open_link items[LINKS_MAX];
	size_t count;
};

static int link_keep(void *context, const struct rec_link *link)
{
	struct open_links *links = context;
	struct rec_slice url = link->moved_to.data ? link->moved_to : link->url;
	if (link->gone || link->state == REC_OBSERVED_CLOSED || link->state == REC_OBSERVED_MERGED)
		return 0;
	if (rec_trackers_find(links->o->options.trackers, url) == REC_TRACKER_NONE)
		return 0;
	if (url.length > REC_LINK_URL_BYTES_MAX || !rec_utf8_valid(url))
		return 0; /* others may have written it; no store would take it */
	if (links->count == LINKS_MAX)
		return REC_END;
	struct open_link *kept = &links->items[links->count];
	char *copy = rec_arena_strndup(&links->arena, url.data, url.length);
	if (!copy || rec_closing_key(link->task_id, link->url, links->o->allocator, kept->key))
		return REC_E_NOMEM;
	kept->url = (struct rec_slice){copy, url.length};
	links->count++;
	return 0;
}

/* The open links of a task that is done; none if it is not. wanted: only if somebody wants its items closed. The caller
 * releases links->arena. */
static int links_read(const struct rec_outside *o, struct rec_slice task_id, bool wanted, struct open_links *links,
		      struct rec_error *error)
{
	struct rec_task task;
	links->o = o;
	links->count = 0;
	rec_arena_init(&links->arena, o->allocator);
	int r = rec_store_get(o->options.store, task_id, &links->arena, &task, error);
	if (r != 0 || !rec_status_success(task.status) ||
	    (wanted && !o->options.close_issues && !task.auto_close_github_issue))
		return r < 0 ? r : 0;
	r = rec_store_links(o->options.store, task_id, link_keep, links, error);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	return r < 0 ? r : 0;
}

int rec_outside_finishing(struct rec_outside *o, struct rec_slice task_id, int64_t attempt, struct rec_error *error)
{
	struct open_links links;
	if (!o->keeps || (o->counts.passes && !o->linked))
		return 0;
	int r = links_read(o, task_id, true, &links, error);
	for (size_t i = 0; i < links.count && r == 0; i++) {
		struct rec_closing c = {.task_id = task_id,
					.url = links.items[i].url,
					.batch_id = o->options.batch_id,
					.attempt = attempt,
					.holder = o->options.batch_id,
					.host = o->options.host};
		memcpy(c.key, links.items[i].key, sizeof c.key);
		r = rec_closing_put(o->options.store, &c, error);
	}
	rec_arena_release(&links.arena);
	return r;
}

/* Tried with one that is not there, before a group depends on it: a write that fails takes its whole group back. */
bool rec_outside_keeps(const struct rec_outside *o)
{
	int r = rec_closing_drop(o->options.store, "none", NULL);
	return r != REC_E_UNSUPPORTED && r != REC_E_UNINITIALISED;
}

/* ---- What is in the store ----------------------------------------------------------------------- */

/* Is it ours to see to? What another batch left becomes ours, unless that has a living conductor. */
static int holder_become(struct rec_outside *o, struct rec_closing *c, bool *ret_ours, struct rec_error *error)
{
	const struct rec_slots *slots = &o->options.slots;
	*ret_ours = rec_slice_equal(c->holder, o->options.batch_id);
	if (*ret_ours || !slots->ops || !rec_slice_equal(c->host, o->options.host))
		return 0;
	struct rec_slice former = c->holder;
	bool held = slots->ops->holds(slots->self, former); /* it is being recovered */
	int r = held ? 0 : slots->ops->hold(slots->self, former, error);
	if (r != 0)
		return r < 0 ? r : 0;
	c->holder = o->options.batch_id;
	r = rec_closing_put(o->options.store, c, error);
	if (!held)
		slots->ops->let_go(slots->self, former);
	*ret_ours = r == 0;
	return r;
}

static bool is_known(const struct rec_outside *o, const struct rec_closing *c)
{
	for (size_t i = 0; i < o->closing_count; i++)
		if (memcmp(o->closing[i].key, c->key, sizeof c->key) == 0)
			return true;
	return false;
}

/* One of the store joins what is finished, if it is still to be closed. */
static int stored_take(struct rec_outside *o, struct rec_closing *c, struct rec_error *error)
{
	struct open_links links;
	bool ours;
	size_t at = 0;
	int r = is_known(o, c) ? REC_END : holder_become(o, c, &ours, error);
	if (r != 0 || !ours)
		return r < 0 ? r : 0;
	r = links_read(o, c->task_id, false, &links, error);
	while (at < links.count && memcmp(links.items[at].key, c->key, sizeof c->key) != 0)
		at++;
	if (r == 0 && at < links.count) {
		c->url = links.items[at].url;
		r = finished_add(o, c) ? rec_fail_nomem(error) : 0;
	} else if (r == 0) {
		r = rec_closing_drop(o->options.store, c->key, error);
	}
	rec_arena_release(&links.arena);
	return r;
}

/* What a loss of power may undo is not closed. The driver sees to the disk, as long as there is one. */
static bool is_lasting(struct rec_outside *o)
{
	struct rec_error problem;
	if (!rec_store_unsynced(o->options.store))
		return true;
	if (o->ending && rec_store_sync(o->options.store, &problem) < 0)
		o->reload = false;
	return o->ending && o->reload;
}

static int stored_read(struct rec_outside *o, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_closings all;
	if (!o->reload || o->finished_count || !is_lasting(o))
		return 0;
	rec_arena_init(&arena, o->allocator);
	int r = rec_closings_read(o->options.store, &arena, &all, error);
	o->reload = r != 0;
	for (size_t i = 0; i < all.count && r == 0; i++) {
		o->reload = o->finished_count >= FINISHED_MAX;
		if (o->reload)
			break;
		r = stored_take(o, &all.items[i], error);
	}
	o->reload = o->reload || r != 0;
	rec_closings_release(&all, o->allocator);
	rec_arena_release(&arena);
	return r;
}

/* ---- Asking ------------------------------------------------------------------------------------- */

/* Ids are anybody's: they stand as code, which takes no other meaning from them. */
static void add_code(struct rec_buffer *out, struct rec_slice text)
{
	size_t from = out->length + 1;
	rec_buffer_add_text(out, "`");
	rec_text_show(out, text, 300);
	for (size_t i = from; i < out->length; i++)
		if (out->data[i] == '`')
			out->data[i] = '\'';
	rec_buffer_add_text(out, "`");
}

/* What stays open because its tracker cannot be asked is told once. */
static void stays_open(struct rec_outside *o, size_t tracker)
{
	if (!o->open_told)
		rec_outside_warn(
			o, rec_tracker_name(o->options.trackers, tracker),
			"the tracker cannot be asked now: items of tasks that are done stay open until it can");
	o->open_told = true;
	o->left = true;
}

/* REC_E_LIMIT: later, too many wait. */
static int item_ask(struct rec_outside *o, const struct closing *c, int64_t now_us, struct rec_error *error)
{
	struct rec_slice url = rec_slice_of(c->url);
	size_t tracker = rec_trackers_find(o->options.trackers, url);
	struct rec_buffer comment, marker;
	if (tracker == REC_TRACKER_NONE)
		return 0;
	rec_buffer_init(&comment, o->allocator, COMMENT_BYTES_MAX);
	rec_buffer_init(&marker, o->allocator, COMMENT_BYTES_MAX);
	rec_buffer_add_text(&comment, "Done by task ");
	add_code(&comment, rec_slice_of(c->task_id));
	rec_buffer_add_text(&comment, " in batch ");
	add_code(&comment, rec_slice_of(c->batch_id));
	rec_buffer_printf(&comment, ", attempt %" PRId64 ".", c->attempt);
	rec_buffer_printf(&marker, "reconciler:%s:%s:%" PRId64, c->batch_id, c->task_id, c->attempt);
	int r = comment.failed || marker.failed ? rec_fail_nomem(error) : 0;
	struct rec_closing what = {.task_id = rec_slice_of(c->task_id),
				   .url = url,
				   .batch_id = rec_slice_of(c->batch_id),
				   .attempt = c->attempt};
	memcpy(what.key, c->key, sizeof what.key);
	if (r == 0)
		r = closing_add(o, &o->closing, &o->closing_count, &o->closing_capacity, &what);
	if (r == 0) {
		r = rec_trackers_close(o->options.trackers, tracker, url, rec_buffer_slice(&comment),
				       rec_buffer_slice(&marker), now_us, error);
		if (r != 0)
			closing_release(o, &o->closing[--o->closing_count]);
		if (r == REC_REFUSED)
			stays_open(o, tracker);
	}
	rec_buffer_release(&comment);
	rec_buffer_release(&marker);
	return r == REC_E_NOMEM ? rec_fail_nomem(error) : r > 0 ? 0 : r;
}

/* The task's items join what is finished, all or none. */
static int task_look(struct rec_outside *o, size_t at, struct rec_error *error)
{
	const struct closing c = o->finished[at]; /* which moves when others join */
	size_t before = o->finished_count;
	struct open_links links;
	int r = links_read(o, rec_slice_of(c.task_id), true, &links, error);
	for (size_t i = 0; i < links.count && r == 0; i++) {
		struct rec_closing what = {.task_id = rec_slice_of(c.task_id),
					   .url = links.items[i].url,
					   .batch_id = rec_slice_of(c.batch_id),
					   .attempt = c.attempt};
		memcpy(what.key, links.items[i].key, sizeof what.key);
		r = finished_add(o, &what) ? rec_fail_nomem(error) : 0;
	}
	while (r < 0 && o->finished_count > before)
		closing_release(o, &o->finished[--o->finished_count]);
	rec_arena_release(&links.arena);
	return r;
}

static int finished_take(struct rec_outside *o, size_t at, int64_t now_us, struct rec_error *error)
{
	return o->finished[at].url ? item_ask(o, &o->finished[at], now_us, error) : task_look(o, at, error);
}

static void finished_forget(struct rec_outside *o)
{
	while (o->finished_count)
		closing_release(o, &o->finished[--o->finished_count]);
}

int rec_outside_close_ask(struct rec_outside *o, int64_t now_us, struct rec_error *error)
{
	int r = 0;
	size_t done = 0;
	if (!o->linked)
		finished_forget(o);
	else if (now_us >= o->resume_us)
		r = stored_read(o, error);
	while (r == 0 && done < o->finished_count && (r = finished_take(o, done, now_us, error)) == 0)
		closing_release(o, &o->finished[done++]);
	o->finished_count -= done;
	if (done && o->finished_count)
		memmove(o->finished, o->finished + done, o->finished_count * sizeof *o->finished);
	return r == REC_E_LIMIT ? 0 : r;
}

/* ---- What came of it ---------------------------------------------------------------------------- */

static int closing_drop(struct rec_outside *o, const struct closing *c, struct rec_error *error)
{
	return o->keeps ? rec_closing_drop(o->options.store, c->key, error) : 0;
}

static struct rec_event closed_event(const struct rec_outside *o, const struct closing *c,
				     const struct rec_tracker_answer *answer)
{
	return (struct rec_event){
		.event = rec_slice_of("TRACKER_ITEM_CLOSED"),
		.batch_id = rec_slice_of(c->batch_id),
		.task_id = rec_slice_of(c->task_id),
		.source = rec_slice_of(rec_tracker_name(o->options.trackers, answer->tracker)),
		.detail = answer->url,
		.has_attempt = true,
		.attempt = c->attempt,
	};
}

/* In one group: it is closed, and it is not to be closed any more. */
static int closed_record(struct rec_outside *o, const struct closing *c, const struct rec_tracker_answer *answer,
			 struct rec_error *error)
{
	const struct rec_event event = closed_event(o, c, answer);
	int r = rec_store_begin(o->options.store, error);
	if (r != 0)
		return r;
	r = rec_store_event_add(o->options.store, &event, error);
	if (r == 0)
		r = closing_drop(o, c, error);
	if (r == 0)
		r = rec_store_commit(o->options.store, error);
	else
		rec_store_rollback(o->options.store);
	if (r == 0 && o->options.tell)
		o->options.tell(o->options.context, &event);
	return r;
}

/* It is not closed, and never will be by asking again. */
static int refused_record(struct rec_outside *o, const struct closing *c, const struct rec_tracker_answer *answer,
			  struct rec_error *error)
{
	char detail[400], shown[160], why[200];
	snprintf(detail, sizeof detail, "%s stays open: %s", rec_text_shown(shown, sizeof shown, answer->url),
		 rec_text_shown(why, sizeof why, answer->problem));
	rec_outside_warn(o, rec_tracker_name(o->options.trackers, answer->tracker), detail);
	return closing_drop(o, c, error);
}

int rec_outside_closed(struct rec_outside *o, const struct rec_tracker_answer *answer, struct rec_error *error)
{
	size_t i = 0;
	int r = 0;
	while (i < o->closing_count && !rec_slice_equal(rec_slice_of(o->closing[i].url), answer->url))
		i++;
	if (i == o->closing_count)
		return 0;
	if (answer->closed) {
		r = closed_record(o, &o->closing[i], answer, error);
		o->counts.closed++;
	} else if (!rec_tracker_health_may_ask(rec_tracker_health(o->options.trackers, answer->tracker),
					       rec_outside_now(o))) {
		stays_open(o, answer->tracker);
	} else {
		r = refused_record(o, &o->closing[i], answer, error);
	}
	closing_release(o, &o->closing[i]);
	o->closing[i] = o->closing[--o->closing_count];
	return r;
}
