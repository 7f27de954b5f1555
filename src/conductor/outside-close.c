/* outside-close.c - closing the item behind a task that this batch finished by its own attempt. The marker names batch,
 * task and attempt, so that a tracker asked twice comments once. What waits when the conductor dies is not closed. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "conductor/outside-private.h"

#define COMMENT_BYTES_MAX 4096u
#define LINKS_MAX 16u /* of one task */

static void closing_release(const struct rec_outside *o, struct closing *c)
{
	rec_free(o->allocator, c->task_id);
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

static int closing_add(const struct rec_outside *o, struct closing **list, size_t *count, size_t *capacity,
		       struct rec_slice task_id, int64_t attempt, struct rec_slice url)
{
	void *items = *list;
	int r = rec_grow(o->allocator, &items, capacity, *count + 1, sizeof **list);
	*list = items;
	if (r != 0)
		return r;
	struct closing c = {.attempt = attempt};
	c.task_id = rec_strndup(o->allocator, task_id.data, task_id.length);
	c.url = url.data ? rec_strndup(o->allocator, url.data, url.length) : NULL;
	if (!c.task_id || (url.data && !c.url)) {
		closing_release(o, &c);
		return REC_E_NOMEM;
	}
	(*list)[(*count)++] = c;
	return 0;
}

void rec_outside_finished(struct rec_outside *o, struct rec_slice task_id, int64_t attempt)
{
	const struct rec_slice none = {0};
	if (o->finished_count < FINISHED_MAX &&
	    closing_add(o, &o->finished, &o->finished_count, &o->finished_capacity, task_id, attempt, none) == 0)
		return;
	if (!o->overrun)
		rec_outside_warn(o, "trackers", "too many tasks finish at once: the items of some stay open");
	o->overrun = true;
}

/* ---- Asking ------------------------------------------------------------------------------------- */

struct open_links {
	struct rec_arena arena;
	struct rec_slice urls[LINKS_MAX];
	size_t count;
};

static int link_keep(void *context, const struct rec_link *link)
{
	struct open_links *links = context;
	struct rec_slice url = link->moved_to.data ? link->moved_to : link->url;
	if (link->gone || link->state == REC_OBSERVED_CLOSED || link->state == REC_OBSERVED_MERGED)
		return 0;
	if (links->count == LINKS_MAX)
		return REC_END;
	char *copy = rec_arena_strndup(&links->arena, url.data, url.length);
	if (!copy)
		return REC_E_NOMEM;
	links->urls[links->count++] = (struct rec_slice){copy, url.length};
	return 0;
}

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
		rec_outside_warn(o, rec_tracker_name(o->options.trackers, tracker),
				 "the tracker cannot be asked now: items of tasks that are done stay open");
	o->open_told = true;
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
	add_code(&comment, o->options.batch_id);
	rec_buffer_printf(&comment, ", attempt %" PRId64 ".", c->attempt);
	rec_buffer_printf(&marker, "reconciler:%.*s:%s:%" PRId64, (int)o->options.batch_id.length,
			  o->options.batch_id.data, c->task_id, c->attempt);
	int r = comment.failed || marker.failed ? rec_fail_nomem(error) : 0;
	if (r == 0)
		r = closing_add(o, &o->closing, &o->closing_count, &o->closing_capacity, rec_slice_of(c->task_id),
				c->attempt, url);
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
	struct open_links links = {.count = 0};
	struct rec_task task;
	rec_arena_init(&links.arena, o->allocator);
	int r = rec_store_get(o->options.store, rec_slice_of(c.task_id), &links.arena, &task, error);
	bool wanted =
		r == 0 && rec_status_success(task.status) && (o->options.close_issues || task.auto_close_github_issue);
	if (wanted)
		r = rec_store_links(o->options.store, rec_slice_of(c.task_id), link_keep, &links, error);
	for (size_t i = 0; i < links.count && wanted && r >= 0; i++)
		r = closing_add(o, &o->finished, &o->finished_count, &o->finished_capacity, rec_slice_of(c.task_id),
				c.attempt, links.urls[i]);
	while (r < 0 && o->finished_count > before)
		closing_release(o, &o->finished[--o->finished_count]);
	rec_arena_release(&links.arena);
	return r == REC_E_NOMEM ? rec_fail_nomem(error) : r > 0 ? 0 : r;
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
	while (done < o->finished_count && (r = finished_take(o, done, now_us, error)) == 0)
		closing_release(o, &o->finished[done++]);
	o->finished_count -= done;
	if (done && o->finished_count)
		memmove(o->finished, o->finished + done, o->finished_count * sizeof *o->finished);
	return r == REC_E_LIMIT ? 0 : r;
}

/* ---- What came of it ---------------------------------------------------------------------------- */

static int closed_record(struct rec_outside *o, const struct closing *c, const struct rec_tracker_answer *answer,
			 struct rec_error *error)
{
	const struct rec_event event = {
		.event = rec_slice_of("TRACKER_ITEM_CLOSED"),
		.batch_id = o->options.batch_id,
		.task_id = rec_slice_of(c->task_id),
		.source = rec_slice_of(rec_tracker_name(o->options.trackers, answer->tracker)),
		.detail = answer->url,
		.has_attempt = true,
		.attempt = c->attempt,
	};
	int r = rec_store_event_add(o->options.store, &event, error);
	if (r == 0 && o->options.tell)
		o->options.tell(o->options.context, &event);
	return r;
}

int rec_outside_closed(struct rec_outside *o, const struct rec_tracker_answer *answer, struct rec_error *error)
{
	char detail[400], shown[160], why[200];
	size_t i = 0;
	int r = 0;
	while (i < o->closing_count && !rec_slice_equal(rec_slice_of(o->closing[i].url), answer->url))
		i++;
	if (i == o->closing_count)
		return 0;
	if (answer->closed) {
		r = closed_record(o, &o->closing[i], answer, error);
		o->counts.closed++;
	} else if (!answer->reached) {
		stays_open(o, answer->tracker);
	} else {
		snprintf(detail, sizeof detail, "%s stays open: %s", rec_text_shown(shown, sizeof shown, answer->url),
			 rec_text_shown(why, sizeof why, answer->problem));
		rec_outside_warn(o, rec_tracker_name(o->options.trackers, answer->tracker), detail);
	}
	closing_release(o, &o->closing[i]);
	o->closing[i] = o->closing[--o->closing_count];
	return r;
}
