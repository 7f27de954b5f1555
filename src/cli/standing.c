/* standing.c - see standing.h. */
#include "cli/standing.h"

static struct rec_slice keep(struct standing *st, struct rec_slice text, bool *failed)
{
	if (!text.data)
		return text;
	char *copy = rec_arena_strndup(&st->arena, text.data, text.length);
	*failed |= !copy;
	return (struct rec_slice){copy, text.length};
}

static int keep_task(void *context, const struct rec_batch_task *row)
{
	struct standing *st = context;
	bool failed = rec_grow(NULL, (void **)&st->tasks, &st->capacity, st->count + 1, sizeof *st->tasks) != 0 ||
		      rec_grow(NULL, (void **)&st->ids, &st->id_capacity, st->count + 1, sizeof *st->ids) != 0;
	if (failed)
		return REC_E_NOMEM;
	struct standing_task *task = &st->tasks[st->count];
	*task = (struct standing_task){.row = *row};
	task->row.task_id = keep(st, row->task_id, &failed);
	task->row.phase = keep(st, row->phase, &failed);
	task->row.reason = keep(st, row->reason, &failed);
	st->ids[st->count] = task->row.task_id;
	st->count++;
	return failed ? REC_E_NOMEM : 0;
}

static bool waits(const struct rec_batch_task *row)
{
	return rec_slice_equal(row->phase, rec_slice_of("waiting"));
}

/* Remembers what a waiting task of the batch depends on. */
static int keep_edges(void *context, const struct rec_task *task)
{
	struct standing *st = context;
	bool failed = false;
	uint32_t index = rec_idmap_find(&st->map, st->ids, task->id);
	if (index == REC_IDMAP_NONE || !waits(&st->tasks[index].row))
		return 0;
	for (size_t i = 0; i < task->depends_on_count && !failed; i++) {
		failed = rec_grow(NULL, (void **)&st->edges, &st->edge_capacity, st->edge_count + 1,
				  sizeof *st->edges) != 0;
		if (!failed)
			st->edges[st->edge_count++] =
				(struct standing_edge){index, keep(st, task->depends_on[i], &failed)};
	}
	return failed ? REC_E_NOMEM : 0;
}

static int mark_unmet(struct rec_store *store, struct standing *st, struct rec_error *error)
{
	struct rec_snapshot others;
	struct rec_slice *on = rec_zalloc(NULL, st->edge_count, sizeof *on);
	if (!on)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < st->edge_count; i++)
		on[i] = st->edges[i].on;
	int r = rec_store_snapshot(store, on, st->edge_count, 0, &others, error);
	for (size_t i = 0; r == 0 && i < st->edge_count; i++)
		st->tasks[st->edges[i].task].unmet |= !rec_status_success((enum rec_status)others.facts[i].status);
	if (r == 0)
		rec_snapshot_release(&others);
	rec_free(NULL, on);
	return r;
}

static int map_fill(struct standing *st, struct rec_error *error)
{
	uint32_t first;
	rec_idmap_init(&st->map, NULL, rec_random_u64());
	for (uint32_t i = 0; i < st->count; i++)
		if (rec_idmap_add(&st->map, st->ids, i, &first) < 0)
			return rec_fail_nomem(error);
	return 0;
}

static int fill(struct cli *cli, struct standing *st, struct rec_error *error)
{
	int r = rec_store_batch_tasks(cli->store, st->batch.batch_id, keep_task, st, error);
	if (r)
		return r == REC_E_NOMEM ? rec_fail_nomem(error) : r;
	/* An array that was never made would mean "every task". */
	r = st->count ? rec_store_snapshot(cli->store, st->ids, st->count, 0, &st->snapshot, error) : 0;
	if (r == 0)
		r = map_fill(st, error);
	if (r == 0 && st->count)
		r = rec_store_list(cli->store, &(struct rec_list_options){.brief = true}, keep_edges, st, error);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	return r == 0 && st->edge_count ? mark_unmet(cli->store, st, error) : r;
}

int standing_read(struct cli *cli, const struct rec_batch *batch, struct standing *st)
{
	struct rec_error error;
	*st = (struct standing){.batch = *batch};
	rec_arena_init(&st->arena, NULL);
	int r = fill(cli, st, &error);
	if (r != 0)
		return r < 0 ? cli_error(&error) : cli_outcome(r, "batch", batch->batch_id, &error);
	int64_t now = rec_clock_real.wall_us(rec_clock_real.context);
	for (size_t i = 0; i < st->count; i++)
		batch_count_task(&st->counts, &st->tasks[i].row, st->tasks[i].unmet, now);
	return batch->status == REC_BATCH_RUNNING ? batch_living(cli, batch->batch_id, &st->living) : STATUS_OK;
}

void standing_release(struct standing *st)
{
	rec_snapshot_release(&st->snapshot);
	rec_idmap_release(&st->map);
	rec_free(NULL, st->tasks);
	rec_free(NULL, st->ids);
	rec_free(NULL, st->edges);
	rec_arena_release(&st->arena);
}
