/* memory-link.c - links and trackers' cursors. What is known of an external_url is a row that stays when the task gets
 * another one; it counts again only if the old address comes back. */
#include "store/memory.h"

#define NONE ((struct rec_slice){NULL, 0})

static struct rec_slice link_key(struct rec_memory_key *key, struct rec_slice task_id, struct rec_slice url)
{
	return rec_memory_key_join(key, task_id, url, NONE);
}

static const struct rec_link *link_find(struct rec_memory_store *m, struct rec_slice task_id, struct rec_slice url)
{
	struct rec_memory_key key;
	const struct rec_memory_link *row = rec_memory_get(m, REC_MEMORY_LINKS, link_key(&key, task_id, url));
	return row ? &row->link : NULL;
}

static int link_write(struct rec_memory_store *m, const struct rec_link *link, struct rec_error *error)
{
	struct rec_memory_key key;
	struct rec_memory_link *row = rec_memory_link_new(m->data->allocator, link);
	if (!row)
		return rec_fail_nomem(error);
	return rec_memory_put(m, REC_MEMORY_LINKS, link_key(&key, row->link.task_id, row->link.url), row, error);
}

int rec_memory_links_ready(struct rec_store *s, struct rec_error *error)
{
	(void)s;
	(void)error;
	return 0;
}

int rec_memory_link_put(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	const struct rec_link *before = link_find(m, task_id, url);
	struct rec_link link = {.task_id = task_id, .url = url};
	if (before && !before->implicit)
		return REC_EXISTS;
	if (before)
		link = *before;
	link.implicit = false;
	return link_write(m, &link, error);
}

int rec_memory_link_remove(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error)
{
	(void)error;
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	struct rec_memory_cursor cursor;
	struct rec_slice at, under = link_key(&key, task_id, url);
	const struct rec_memory_link *row;
	int r = REC_NOT_FOUND;
	rec_memory_walk(m, REC_MEMORY_LINKS, under, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &at)) && rec_memory_key_under(at, under))
		if (!row->link.implicit) {
			rec_memory_erase(m, REC_MEMORY_LINKS, at);
			r = 0;
		}
	return r;
}

static struct rec_slice external_url(struct rec_memory_store *m, struct rec_slice task_id)
{
	const struct rec_memory_task *row = rec_memory_get(m, REC_MEMORY_TASKS, task_id);
	return row && row->task.external_url.data && row->task.external_url.length <= REC_LINK_URL_BYTES_MAX
		       ? row->task.external_url
		       : NONE;
}

int rec_memory_link_observed(struct rec_store *s, const struct rec_link *link, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	const struct rec_link *before = link_find(m, link->task_id, link->url);
	struct rec_slice external = external_url(m, link->task_id);
	struct rec_link after = *link;
	after.implicit = !before || before->implicit;
	if (after.implicit && !(external.data && rec_slice_equal(external, link->url)))
		return REC_NOT_FOUND;
	return link_write(m, &after, error);
}

/* ---- Listing ---- */

static int tell_implicit(struct rec_memory_store *m, struct rec_slice task_id, struct rec_slice url, rec_link_fn *fn,
			 void *context)
{
	struct rec_link link = {.task_id = task_id, .url = url, .implicit = true};
	const struct rec_link *known = link_find(m, task_id, url);
	return fn(context, known ? known : &link);
}

/* The explicit ones, and the external_url in its place among them. */
static int tell_task(struct rec_memory_store *m, struct rec_slice task_id, rec_link_fn *fn, void *context)
{
	struct rec_memory_key key;
	struct rec_memory_cursor cursor;
	struct rec_slice at, under = link_key(&key, task_id, NONE), external = external_url(m, task_id);
	const struct rec_memory_link *row;
	int r = 0;
	rec_memory_walk(m, REC_MEMORY_LINKS, under, &cursor);
	while (r == 0 && (row = rec_memory_cursor_next(&cursor, &at)) && rec_memory_key_under(at, under)) {
		int order = external.data ? rec_slice_compare(external, row->link.url) : 1;
		if (row->link.implicit)
			continue;
		if (order < 0)
			r = tell_implicit(m, task_id, external, fn, context);
		if (order <= 0)
			external = NONE;
		if (r == 0)
			r = fn(context, &row->link);
	}
	return r == 0 && external.data ? tell_implicit(m, task_id, external, fn, context) : r;
}

int rec_memory_links(struct rec_store *s, struct rec_slice task_id, rec_link_fn *fn, void *context,
		     struct rec_error *error)
{
	(void)error;
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_cursor cursor;
	struct rec_slice id;
	int r = 0;
	if (task_id.data)
		return rec_memory_get(m, REC_MEMORY_TASKS, task_id) ? tell_task(m, task_id, fn, context) : 0;
	rec_memory_walk(m, REC_MEMORY_TASKS, NONE, &cursor);
	while (r == 0 && rec_memory_cursor_next(&cursor, &id))
		r = tell_task(m, id, fn, context);
	return r;
}

/* ---- Cursors ---- */

static bool is_link(struct rec_memory_store *m, const struct rec_link *link)
{
	struct rec_slice external = external_url(m, link->task_id);
	if (!rec_memory_get(m, REC_MEMORY_TASKS, link->task_id))
		return false;
	return !link->implicit || (external.data && rec_slice_equal(external, link->url));
}

static void links_prune(struct rec_memory_store *m)
{
	struct rec_memory_cursor cursor;
	struct rec_slice at;
	const struct rec_memory_link *row;
	rec_memory_walk(m, REC_MEMORY_LINKS, NONE, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &at)))
		if (!is_link(m, &row->link))
			rec_memory_erase(m, REC_MEMORY_LINKS, at);
}

int rec_memory_tracker_cursor_put(struct rec_store *s, struct rec_slice tracker, struct rec_slice key,
				  struct rec_slice value, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key joined;
	struct rec_slice at = rec_memory_key_join(&joined, tracker, key, NONE);
	const struct rec_memory_kept cursor = {key, value};
	if (!rec_cursor_is_ours(tracker))
		links_prune(m);
	if (value.data)
		return rec_memory_put(m, REC_MEMORY_CURSORS, at,
				      rec_memory_tracker_cursor_new(m->data->allocator, &cursor), error);
	rec_memory_erase(m, REC_MEMORY_CURSORS, at);
	return 0;
}

int rec_memory_tracker_cursors(struct rec_store *s, struct rec_slice tracker, rec_tracker_cursor_fn *fn, void *context,
			       struct rec_error *error)
{
	(void)error;
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	struct rec_memory_cursor cursor;
	struct rec_slice at, under = rec_memory_key_join(&key, tracker, NONE, NONE);
	const struct rec_memory_tracker_cursor *row;
	int r = 0;
	rec_memory_walk(m, REC_MEMORY_CURSORS, under, &cursor);
	while (r == 0 && (row = rec_memory_cursor_next(&cursor, &at)) && rec_memory_key_under(at, under))
		r = fn(context, row->cursor.key, row->cursor.value);
	return r;
}
