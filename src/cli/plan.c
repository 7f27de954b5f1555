/* plan.c - see plan.h. The order is found as a run with one slot would: the first of the ready queue "finishes",
 * and what waited for it alone enters the queue. */
#include "cli/plan.h"

#include <inttypes.h>

#include "base/idmap.h"
#include "base/timestamp.h"
#include "core/graph.h"
#include "core/queue.h"

struct planned {
	struct rec_slice title;
	int64_t priority, created_us;
	enum rec_status status;
	bool is_leaf, ringed;
	uint32_t unmet, place, order; /* order: 0 = not in the plan */
	struct rec_slice waits_for;   /* the first dependency that nothing here will finish */
};

struct edge {
	uint32_t from;
	struct rec_slice to;
};

struct plan {
	struct cli *cli;
	struct rec_arena arena;
	struct rec_idmap map;
	struct rec_slice *ids;
	struct planned *tasks;
	size_t count, id_capacity, task_capacity;
	bool fixed; /* ids were named: only these */
	struct edge *edges;
	size_t edge_count, edge_capacity;
	struct rec_graph *graph;
	struct rec_queue queue;
	struct rec_snapshot snapshot;
};

static void plan_release(struct plan *p)
{
	rec_snapshot_release(&p->snapshot);
	rec_graph_free(p->graph);
	rec_queue_release(&p->queue);
	rec_idmap_release(&p->map);
	rec_free(NULL, p->ids);
	rec_free(NULL, p->tasks);
	rec_free(NULL, p->edges);
	rec_arena_release(&p->arena);
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static struct rec_slice keep(struct plan *p, struct rec_slice text, bool *failed)
{
	char *copy = rec_arena_strndup(&p->arena, text.data ? text.data : "", text.length);
	*failed |= !copy;
	return (struct rec_slice){copy, text.length};
}

/* The index of an id, added if it is new. REC_IDMAP_NONE: no memory. */
static uint32_t add(struct plan *p, struct rec_slice id)
{
	uint32_t first;
	bool failed = rec_grow(NULL, (void **)&p->ids, &p->id_capacity, p->count + 1, sizeof *p->ids) != 0 ||
		      rec_grow(NULL, (void **)&p->tasks, &p->task_capacity, p->count + 1, sizeof *p->tasks) != 0;
	if (failed)
		return REC_IDMAP_NONE;
	p->ids[p->count] = keep(p, id, &failed);
	int r = failed ? REC_E_NOMEM : rec_idmap_add(&p->map, p->ids, (uint32_t)p->count, &first);
	if (r == REC_EXISTS)
		return first;
	if (r != 0)
		return REC_IDMAP_NONE;
	p->tasks[p->count] = (struct planned){.status = REC_STATUS_ABSENT};
	return (uint32_t)p->count++;
}

static int take_task(void *context, const struct rec_task *task)
{
	struct plan *p = context;
	bool failed = false;
	uint32_t index = p->fixed                                     ? rec_idmap_find(&p->map, p->ids, task->id)
			 : task->status == REC_READY && task->is_leaf ? add(p, task->id)
								      : REC_IDMAP_NONE;
	if (index == REC_IDMAP_NONE)
		return 0;
	struct planned *planned = &p->tasks[index];
	planned->title = keep(p, task->title, &failed);
	planned->priority = task->priority;
	planned->status = task->status;
	planned->is_leaf = task->is_leaf;
	if (rec_timestamp_parse(task->created_at, &planned->created_us) != 0)
		planned->created_us = INT64_MAX;
	for (size_t i = 0; i < task->depends_on_count && !failed; i++) {
		failed =
			rec_grow(NULL, (void **)&p->edges, &p->edge_capacity, p->edge_count + 1, sizeof *p->edges) != 0;
		if (!failed)
			p->edges[p->edge_count++] = (struct edge){index, keep(p, task->depends_on[i], &failed)};
	}
	return failed ? REC_E_NOMEM : 0;
}

/* ---- Dependencies ------------------------------------------------------------------------------- */

/* An edge to something outside the plan: met if that is finished. */
static void edge_outside(struct plan *p, const struct edge *edge, enum rec_status status)
{
	if (!rec_status_success(status)) {
		p->tasks[edge->from].unmet++;
		p->tasks[edge->from].waits_for = edge->to;
	}
}

static int edges_link(struct plan *p, struct rec_error *error)
{
	struct rec_snapshot others = {0};
	struct rec_slice *to = rec_zalloc(NULL, p->edge_count, sizeof *to);
	int r = to ? rec_graph_new(NULL, (uint32_t)p->count, &p->graph) : REC_E_NOMEM;
	for (size_t i = 0; r == 0 && i < p->edge_count; i++)
		to[i] = p->edges[i].to;
	if (r == 0 && p->edge_count)
		r = rec_store_snapshot(p->cli->store, to, p->edge_count, 0, &others, error);
	for (size_t i = 0; r == 0 && i < p->edge_count; i++) {
		uint32_t on = rec_idmap_find(&p->map, p->ids, to[i]);
		if (on == REC_IDMAP_NONE || rec_status_success(p->tasks[on].status))
			edge_outside(p, &p->edges[i], (enum rec_status)others.facts[i].status);
		else
			r = rec_graph_add(p->graph, p->edges[i].from, on);
	}
	if (r == 0)
		r = rec_graph_analyse(p->graph);
	rec_snapshot_release(&others);
	rec_free(NULL, to);
	return r == REC_E_NOMEM ? rec_fail_nomem(error) : r;
}

static void unmet_count(struct plan *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t count;
		const uint32_t *dependents = rec_graph_dependents(p->graph, i, &count);
		p->tasks[i].ringed = rec_graph_in_ring(p->graph, i);
		for (uint32_t k = 0; k < count; k++)
			p->tasks[dependents[k]].unmet++;
	}
}

/* ---- Order -------------------------------------------------------------------------------------- */

static bool before(const void *context, uint32_t a, uint32_t b)
{
	const struct plan *p = context;
	const struct planned *x = &p->tasks[a], *y = &p->tasks[b];
	if (x->priority != y->priority)
		return x->priority < y->priority;
	if (x->created_us != y->created_us)
		return x->created_us < y->created_us;
	return rec_slice_compare(p->ids[a], p->ids[b]) < 0;
}

static void moved(void *context, uint32_t item, uint32_t place)
{
	struct plan *p = context;
	p->tasks[item].place = place;
}

static bool may_run(const struct plan *p, uint32_t i, const struct run_options *options)
{
	const struct planned *task = &p->tasks[i];
	return task->status == REC_READY && task->is_leaf &&
	       (options->machine.ignore_blockers || p->snapshot.facts[i].blockers_open == 0);
}

static uint32_t order_all(struct plan *p, const struct run_options *options)
{
	uint32_t order = 0, count;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->tasks[i].unmet == 0 && may_run(p, i, options))
			rec_queue_add(&p->queue, i);
	for (uint32_t i; (i = rec_queue_first(&p->queue)) != REC_QUEUE_OUT;) {
		rec_queue_remove(&p->queue, p->tasks[i].place);
		p->tasks[i].order = ++order;
		const uint32_t *dependents = rec_graph_dependents(p->graph, i, &count);
		for (uint32_t k = 0; k < count; k++)
			if (--p->tasks[dependents[k]].unmet == 0 && may_run(p, dependents[k], options))
				rec_queue_add(&p->queue, dependents[k]);
	}
	return order;
}

static const char *hold_text(const struct plan *p, uint32_t i)
{
	const struct planned *task = &p->tasks[i];
	if (task->status == REC_STATUS_ABSENT)
		return "task not found";
	if (rec_status_terminal(task->status))
		return "skipped: already terminal";
	if (!task->is_leaf)
		return "held: composite task";
	if (task->status != REC_READY)
		return "held: not READY";
	if (task->ringed)
		return "held: in a ring of dependencies";
	if (p->snapshot.facts[i].blockers_open > 0)
		return "held: open blockers";
	return "held: a dependency is not finished by this batch";
}

/* ---- Printing ----------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
	{.title = "ORDER", .right = true},
	{.title = "TASK", .columns_least = 8, .is_id = true},
	{.title = "STATUS", .columns_least = 11},
	{.title = "PRIORITY", .right = true},
	{.title = "TITLE OR REASON", .columns_least = 16, .columns_cut = 16},
};

static void print_one(struct plan *p, struct table *table, uint32_t i, uint64_t *index)
{
	const struct planned *task = &p->tasks[i];
	struct cli *cli = p->cli;
	const char *held = task->order ? NULL : hold_text(p, i);
	if (cli->format != FORMAT_TABLE) {
		struct rec_buffer *out = cli_list_item(cli, (*index)++);
		rec_buffer_add_text(out, "{");
		cli_json_text(out, "task_id", p->ids[i]);
		if (task->order)
			cli_json_number(out, "order", task->order);
		cli_json_text(out, "reason", rec_slice_of(held));
		rec_buffer_add_text(out, "}");
		cli_list_item_end(cli);
		return;
	}
	if (task->order)
		table_number(table, task->order);
	else
		table_text(table, STYLE_DIM, "-");
	table_cell(table, STYLE_PLAIN, p->ids[i]);
	table_text(table, style_of_status(task->status), rec_status_text(task->status));
	table_number(table, task->priority);
	table_cell(table, held ? STYLE_YELLOW : STYLE_PLAIN, held ? rec_slice_of(held) : task->title);
}

static int print_all(struct plan *p, uint32_t ordered)
{
	struct table table;
	uint64_t index = 0;
	uint32_t *in_order = rec_zalloc(NULL, ordered, sizeof *in_order);
	if (!in_order)
		return cli_fail("out of memory");
	for (uint32_t i = 0; i < p->count; i++)
		if (p->tasks[i].order)
			in_order[p->tasks[i].order - 1] = i;
	table_init(&table, &p->cli->out, columns, sizeof columns / sizeof *columns);
	cli_list_begin(p->cli);
	for (uint32_t i = 0; i < ordered; i++)
		print_one(p, &table, in_order[i], &index);
	for (uint32_t i = 0; i < p->count; i++)
		if (!p->tasks[i].order)
			print_one(p, &table, i, &index);
	table_flush(&table);
	cli_list_end(p->cli);
	table_release(&table);
	rec_free(NULL, in_order);
	return STATUS_OK;
}

static int plan_fill(struct plan *p, const struct rec_slice *ids, size_t count, struct rec_error *error)
{
	for (size_t i = 0; i < count; i++)
		if (add(p, ids[i]) == REC_IDMAP_NONE)
			return rec_fail_nomem(error);
	int r = rec_store_list(p->cli->store, &(struct rec_list_options){.brief = true}, take_task, p, error);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	if (r == 0 && p->count)
		r = rec_store_snapshot(p->cli->store, p->ids, p->count, REC_SNAPSHOT_ALL_BLOCKERS, &p->snapshot, error);
	if (r == 0)
		r = edges_link(p, error);
	if (r == 0 && rec_queue_reserve(&p->queue, p->count) != 0)
		r = rec_fail_nomem(error);
	return r;
}

int plan_print(struct cli *cli, const struct rec_slice *ids, size_t count, const struct run_options *options)
{
	rec_cleanup(plan_release) struct plan p = {.cli = cli, .fixed = ids != NULL};
	struct rec_error error;
	rec_arena_init(&p.arena, NULL);
	rec_idmap_init(&p.map, NULL, rec_random_u64());
	rec_queue_init(&p.queue, NULL, before, moved, &p);
	if (plan_fill(&p, ids, ids ? count : 0, &error) < 0)
		return cli_error(&error);
	unmet_count(&p);
	return print_all(&p, order_all(&p, options));
}
