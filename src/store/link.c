/* link.c - the wrappers of what changes links and trackers' cursors. */
#include "store/wrapper.h"

static int supported(const struct rec_store *s, struct rec_error *error)
{
	if (s->ops->link_put)
		return 0;
	return rec_fail(error, REC_E_UNSUPPORTED, "%s: this kind of store keeps no links", s->info.location);
}

/* A write begins, and what links are kept in is there. */
static int link_enter(struct rec_store *s, bool *ret_own, struct rec_error *error)
{
	int r = rec_write_enter(s, ret_own, error);
	if (r < 0)
		return r;
	r = supported(s, error);
	if (r == 0)
		r = s->ops->links_ready(s, error);
	return r == 0 ? 0 : rec_write_leave(s, "link", *ret_own, r, 0, error);
}

static int task_exists(struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_slice parent;
	enum rec_status status;
	rec_arena_init(&arena, s->allocator);
	int r = s->ops->parent(s, id, &arena, &parent, &status, error);
	rec_arena_release(&arena);
	return r;
}

int rec_store_link_put(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error)
{
	bool own;
	int r = link_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_id("task id", task_id, error);
	if (r == 0)
		r = rec_argument_url_new(url, error);
	if (r == 0)
		r = task_exists(s, task_id, error);
	if (r == 0)
		r = s->ops->link_put(s, task_id, url, error);
	return rec_write_leave(s, "put link", own, r, REC_MAY(REC_NOT_FOUND) | REC_MAY(REC_EXISTS), error);
}

int rec_store_link_remove(struct rec_store *s, struct rec_slice task_id, struct rec_slice url, struct rec_error *error)
{
	bool own;
	int r = link_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_id("task id", task_id, error);
	if (r == 0 && url.data)
		r = rec_argument_url("link", url, error);
	if (r == 0)
		r = s->ops->link_remove(s, task_id, url, error);
	return rec_write_leave(s, "remove link", own, r, REC_MAY(REC_NOT_FOUND), error);
}

int rec_store_link_observed(struct rec_store *s, const struct rec_link *link, struct rec_error *error)
{
	bool own;
	char now[REC_TIMESTAMP_BYTES];
	int r = link_enter(s, &own, error);
	if (r < 0)
		return r;
	struct rec_link complete = *link;
	if (!complete.observed_at.data && complete.state != REC_OBSERVED_UNKNOWN)
		complete.observed_at = rec_store_now(s, now);
	r = rec_argument_link(link, error);
	if (r == 0)
		r = task_exists(s, link->task_id, error);
	if (r == 0)
		r = s->ops->link_observed(s, &complete, error);
	return rec_write_leave(s, "observe link", own, r, REC_MAY(REC_NOT_FOUND), error);
}

int rec_store_tracker_cursor_put(struct rec_store *s, struct rec_slice tracker, struct rec_slice key,
				 struct rec_slice value, struct rec_error *error)
{
	bool own;
	int r = link_enter(s, &own, error);
	if (r < 0)
		return r;
	r = rec_argument_cursor(tracker, key, value, error);
	if (r == 0)
		r = s->ops->tracker_cursor_put(s, tracker, key, value, error);
	return rec_write_leave(s, "put tracker cursor", own, r, 0, error);
}
