/* api-link.c - which task is tied to which address of a tracker. Asking trackers is the command's business. */
#include "engine/edit.h"
#include "lib/api.h"

int rec_link_add(struct reconciler *r, const char *task_id, const char *url, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	return result ? result : rec_edit_link(r->store, rec_slice_of(task_id), rec_slice_of(url), error);
}

int rec_link_remove(struct reconciler *r, const char *task_id, const char *url, struct rec_error *error)
{
	int result = rec_api_enter(r, error);
	return result ? result : rec_edit_unlink(r->store, rec_slice_of(task_id), rec_slice_of(url), error);
}

struct link_listing {
	const struct rec_allocator *allocator;
	rec_link_callback *callback;
	void *context;
	struct rec_error *error;
};

static int link_pass(void *context, const struct rec_link *link)
{
	struct link_listing *l = context;
	struct rec_arena arena;
	bool failed = false;
	rec_arena_init(&arena, l->allocator);
	const struct rec_link_info info = {
		.size = sizeof info,
		.task_id = rec_api_text(&arena, link->task_id, &failed),
		.url = rec_api_text(&arena, link->url, &failed),
		.implicit = link->implicit,
		.state = rec_observed_text(link->state),
		.kind = rec_link_kind_text(link->kind),
		.reason = rec_api_text(&arena, link->reason, &failed),
		.tracker_time = rec_api_text(&arena, link->time, &failed),
		.observed_at = rec_api_text(&arena, link->observed_at, &failed),
		.moved_to = rec_api_text(&arena, link->moved_to, &failed),
		.gone = link->gone,
	};
	int r = failed ? rec_fail_nomem(l->error) : l->callback(l->context, &info);
	rec_arena_release(&arena);
	return r;
}

int rec_link_list(struct reconciler *r, const char *task_id, rec_link_callback *callback, void *context,
		  struct rec_error *error)
{
	struct link_listing listing = {r->allocator, callback, context, error};
	int result = rec_api_enter(r, error);
	return result ? result : rec_store_links(r->store, rec_slice_of(task_id), link_pass, &listing, error);
}
