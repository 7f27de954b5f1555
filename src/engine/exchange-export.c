/* exchange-export.c - what an export tells: the links are gathered first, by task and address, and merged with the
 * tasks, which come in the same order. */
#include "engine/exchange-import.h"
#include "engine/sync-private.h"

struct gathering {
	const struct rec_allocator *allocator;
	struct rec_arena arena;
	struct rec_link *links;
	size_t count, capacity, next; /* next: the first that no task has taken or passed */
	rec_export_fn *fn;
	void *context;
};

/* What a helper wants to be given back belongs to the cursors of this store: in another one, whose cursors stand
 * elsewhere, it would call unchanged what has changed in between. So it stays here. */
static int link_gather(void *context, const struct rec_link *link)
{
	struct gathering *g = context;
	struct rec_link without = *link, kept;
	void *links = g->links;
	without.validator = (struct rec_slice){NULL, 0};
	if (link->implicit && !rec_link_is_remembered(&without))
		return 0;
	int r = rec_grow(g->allocator, &links, &g->capacity, g->count + 1, sizeof kept);
	g->links = links;
	if (r == 0)
		r = rec_sync_keep_link(&g->arena, &without, &kept);
	if (r == 0)
		g->links[g->count++] = kept;
	return r;
}

/* Links of tasks that are not there (any more) are passed over. */
static int task_tell(void *context, const struct rec_task *task)
{
	struct gathering *g = context;
	while (g->next < g->count && rec_slice_compare(g->links[g->next].task_id, task->id) < 0)
		g->next++;
	size_t first = g->next;
	while (g->next < g->count && rec_slice_equal(g->links[g->next].task_id, task->id))
		g->next++;
	const struct rec_exported exported = {
		.task = task,
		.links = g->links ? g->links + first : NULL,
		.link_count = g->next - first,
	};
	return g->fn(g->context, &exported);
}

static int gather(struct gathering *g, struct rec_store *s, struct rec_slice id, struct rec_error *error)
{
	g->allocator = rec_store_allocator(s);
	rec_arena_init(&g->arena, g->allocator);
	int r = rec_store_links(s, id, link_gather, g, error);
	return r == REC_E_NOMEM ? rec_fail_nomem(error) : r;
}

static int gathering_end(struct gathering *g, int result)
{
	rec_free(g->allocator, g->links);
	rec_arena_release(&g->arena);
	return result;
}

int rec_export_all(struct rec_store *s, rec_export_fn *fn, void *context, struct rec_error *error)
{
	static const struct rec_list_options all = {.blockers = true};
	struct gathering g = {.fn = fn, .context = context};
	int r = gather(&g, s, (struct rec_slice){NULL, 0}, error);
	if (r == 0)
		r = rec_store_list(s, &all, task_tell, &g, error);
	return gathering_end(&g, r);
}

int rec_export_one(struct rec_store *s, struct rec_slice id, rec_export_fn *fn, void *context, struct rec_error *error)
{
	struct gathering g = {.fn = fn, .context = context};
	struct rec_task task;
	int r = gather(&g, s, id, error);
	if (r == 0)
		r = rec_store_get(s, id, &g.arena, &task, error);
	if (r == 0)
		r = task_tell(&g, &task);
	return gathering_end(&g, r);
}
