/* memory.c - the store in memory: the oracle that other backends are compared with, and a store for tests of the
 * floors above. Every table is an ordered map of immutable rows in two versions (memory-map.c); the handle
 * whose group is open reads the working one, all others the committed one. So a rollback needs no undo, and
 * neither commit nor rollback can fail. */
#include "store/memory.h"

struct rec_memory_store *rec_memory_of(struct rec_store *s)
{
	return (struct rec_memory_store *)s;
}

/* ---- Access ---- */

enum rec_memory_view rec_memory_view_of(const struct rec_memory_store *m)
{
	return m->data->writer == m ? REC_MEMORY_WORKING : REC_MEMORY_COMMITTED;
}

void *rec_memory_get(const struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice key)
{
	return rec_memory_map_get(&m->data->tables[table], rec_memory_view_of(m), key);
}

void rec_memory_walk(const struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice from,
		     struct rec_memory_cursor *cursor)
{
	rec_memory_cursor_init(cursor, &m->data->tables[table], rec_memory_view_of(m), from);
}

int rec_memory_put(struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice key, void *row,
		   struct rec_error *error)
{
	if (!row || rec_memory_map_put(&m->data->tables[table], key, row) < 0)
		return rec_fail_nomem(error);
	return 0;
}

void rec_memory_erase(struct rec_memory_store *m, enum rec_memory_table table, struct rec_slice key)
{
	(void)rec_memory_map_put(&m->data->tables[table], key, NULL); /* needs no memory */
}

int64_t rec_memory_wall_us(const struct rec_memory_store *m)
{
	return m->store.clock->wall_us(m->store.clock->context);
}

/* ---- Groups ---- */

int rec_memory_begin(struct rec_store *s, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	if (m->data->writer)
		return rec_fail(error, REC_E_BUSY, "memory: another handle is writing (try again later)");
	m->data->writer = m;
	m->data->change_noted = NULL;
	return 0;
}

int rec_memory_commit(struct rec_store *s, struct rec_error *error)
{
	(void)error;
	struct rec_memory_store *m = rec_memory_of(s);
	rec_memory_changes_trim(m);
	for (unsigned i = 0; i < REC_MEMORY_TABLE_COUNT; i++)
		rec_memory_map_commit(&m->data->tables[i]);
	m->data->counters[REC_MEMORY_COMMITTED] = m->data->counters[REC_MEMORY_WORKING];
	m->data->writer = NULL;
	m->data->commits++;
	return 0;
}

/* Nothing here survives a process, so there is nothing to wait for; who waits is served as by any other store. */
static int memory_sync(struct rec_store *s, struct rec_error *error)
{
	(void)s, (void)error;
	return 0;
}

static int memory_stamp(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error)
{
	(void)error;
	*ret_stamp = rec_memory_of(s)->data->commits;
	return 0;
}

void rec_memory_rollback(struct rec_store *s)
{
	struct rec_memory_store *m = rec_memory_of(s);
	if (m->data->writer != m)
		return;
	for (unsigned i = 0; i < REC_MEMORY_TABLE_COUNT; i++)
		rec_memory_map_rollback(&m->data->tables[i]);
	m->data->counters[REC_MEMORY_WORKING] = m->data->counters[REC_MEMORY_COMMITTED];
	m->data->writer = NULL;
}

/* ---- Opening and closing ---- */

static void data_drop(struct rec_memory_data *data)
{
	if (--data->handles > 0)
		return;
	for (unsigned i = 0; i < REC_MEMORY_TABLE_COUNT; i++)
		rec_memory_map_release(&data->tables[i]);
	rec_free(data->allocator, data);
}

static void memory_close(struct rec_store *s)
{
	data_drop(rec_memory_of(s)->data);
	rec_free(s->allocator, s);
}

static const struct rec_store_ops memory_ops = {
	.backend = "memory",
	.close = memory_close,
	.snapshot = rec_memory_snapshot,
	.get = rec_memory_task_get,
	.list = rec_memory_list,
	.find_prefix = rec_memory_find_prefix,
	.blockers = rec_memory_blockers,
	.blocker_get = rec_memory_blocker_get,
	.begin = rec_memory_begin,
	.commit = rec_memory_commit,
	.sync_apart = memory_sync,
	.sync = memory_sync,
	.rollback = rec_memory_rollback,
	.create = rec_memory_create,
	.edit = rec_memory_edit,
	.remove = rec_memory_remove,
	.write_status = rec_memory_write_status,
	.parent = rec_memory_parent,
	.children = rec_memory_children,
	.mark_composite = rec_memory_mark_composite,
	.keeps_loose_blockers = true,
	.blocker_create = rec_memory_blocker_create,
	.blocker_answer = rec_memory_blocker_answer,
	.blocker_resolve = rec_memory_blocker_resolve,
	.event_add = rec_memory_event_add,
	.events = rec_memory_events,
	.claim_add = rec_memory_claim_add,
	.claim_end = rec_memory_claim_end,
	.claim_take = rec_memory_claim_take,
	.claims = rec_memory_claims,
	.renew = rec_memory_renew,
	.lease = rec_memory_lease,
	.batch_add = rec_memory_batch_add,
	.batch_get = rec_memory_batch_get,
	.batch_write = rec_memory_batch_write,
	.batches = rec_memory_batches,
	.batch_task_put = rec_memory_batch_task_put,
	.batch_tasks = rec_memory_batch_tasks,
	.links_ready = rec_memory_links_ready,
	.link_put = rec_memory_link_put,
	.link_remove = rec_memory_link_remove,
	.links = rec_memory_links,
	.link_observed = rec_memory_link_observed,
	.tracker_cursor_put = rec_memory_tracker_cursor_put,
	.tracker_cursors = rec_memory_tracker_cursors,
	.changes = rec_memory_changes,
	.changes_in_group = rec_memory_changes,
	.stamp = memory_stamp,
	.gc = rec_memory_gc,
};

static struct rec_memory_data *data_new(const struct rec_allocator *a)
{
	struct rec_memory_data *data = rec_zalloc(a, 1, sizeof *data);
	if (!data)
		return NULL;
	data->allocator = a;
	data->generation = rec_random_u64() | 1;
	for (unsigned i = 0; i < REC_MEMORY_TABLE_COUNT; i++)
		rec_memory_map_init(&data->tables[i], a);
	return data;
}

int rec_memory_embed(struct rec_memory_store *m, struct rec_error *error)
{
	m->data = data_new(m->store.allocator);
	if (!m->data)
		return rec_fail_nomem(error);
	m->data->handles = 1;
	return 0;
}

void rec_memory_disembed(struct rec_memory_store *m)
{
	if (m->data)
		data_drop(m->data);
	m->data = NULL;
}

static int handle_new(const struct rec_store_options *options, struct rec_memory_data *data,
		      struct rec_store **ret_store, struct rec_error *error)
{
	struct rec_memory_store *m = rec_zalloc(options ? options->allocator : NULL, 1, sizeof *m);
	if (!m)
		return rec_fail_nomem(error);
	rec_store_setup(&m->store, &memory_ops, options);
	m->store.info.location = "memory:";
	m->store.info.attached = true;
	m->data = data;
	data->handles++;
	*ret_store = &m->store;
	return 0;
}

int rec_store_memory_open(const char *name, const struct rec_store_options *options, struct rec_store **ret_store,
			  struct rec_error *error)
{
	if (*name)
		return rec_fail(error, REC_E_UNSUPPORTED, "store 'memory:': takes no name (it lives in one handle)");
	const struct rec_allocator *a = options ? options->allocator : NULL;
	struct rec_memory_data *data = data_new(a);
	if (!data)
		return rec_fail_nomem(error);
	int r = handle_new(options, data, ret_store, error);
	if (r < 0)
		rec_free(a, data);
	return r;
}

int rec_store_memory_share(struct rec_store *store, const struct rec_store_options *options,
			   struct rec_store **ret_second, struct rec_error *error)
{
	if (store->ops != &memory_ops)
		return rec_fail(error, REC_E_UNSUPPORTED, "share: only a memory store can be shared");
	return handle_new(options, rec_memory_of(store)->data, ret_second, error);
}
