/* doctor.c - one snapshot says what every task is, one listing says what it refers to; everything is judged on
 * these. What rests on a second read (claims, runs, an id that the listing names but the snapshot lacks) may have
 * moved in between, so it is looked at again before it is told: only what stayed wrong is a finding. */
#include "base/clock.h"
#include "base/file.h"
#include "engine/doctor-visit.h"

#define LEASE_GRACE_US 10000000 /* after it, others take over */

uint32_t rec_doctor_node(const struct rec_doctor *d, struct rec_slice id)
{
	return rec_idmap_find(&d->map, d->snapshot.ids, id);
}

static struct rec_slice keep_text(struct rec_doctor *d, struct rec_slice text)
{
	if (!text.data)
		return text;
	char *copy = rec_arena_strndup(&d->arena, text.data, text.length);
	d->failed |= !copy;
	return (struct rec_slice){copy, copy ? text.length : 0};
}

/* ---- Reading ---- */

static void hear_warning(void *context, const struct rec_warning *warning)
{
	struct rec_doctor *d = context;
	void *rows = d->rows;
	if (strcmp(warning->column, "status") == 0)
		return; /* told as an unrecognised status */
	struct rec_bad_row row = {keep_text(d, warning->task_id), warning->column, warning->problem, NULL};
	row.shown = keep_text(d, rec_slice_of(warning->shown)).data;
	if (d->failed || rec_grow(d->allocator, &rows, &d->row_capacity, d->row_count + 1, sizeof *d->rows)) {
		d->failed = true;
		return;
	}
	d->rows = rows;
	d->rows[d->row_count++] = row;
}

static int nodes_make(struct rec_doctor *d, struct rec_error *error)
{
	size_t count = d->snapshot.count;
	if (count >= REC_IDMAP_NONE)
		return rec_fail(error, REC_E_LIMIT, "doctor: the store has more than %u tasks", REC_IDMAP_NONE - 1);
	d->flags = rec_zalloc(d->allocator, count, sizeof *d->flags);
	if (!d->flags || rec_idmap_reserve(&d->map, count))
		return rec_fail_nomem(error);
	if (rec_graph_new(d->allocator, (uint32_t)count, &d->dependencies) ||
	    rec_graph_new(d->allocator, (uint32_t)count, &d->parents))
		return rec_fail_nomem(error);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t first;
		if (rec_idmap_add(&d->map, d->snapshot.ids, i, &first) < 0)
			return rec_fail_nomem(error);
	}
	return 0;
}

static int missing_add(struct rec_doctor *d, uint32_t task, bool parent, struct rec_slice id)
{
	void *items = d->missing;
	if (rec_grow(d->allocator, &items, &d->missing_capacity, d->missing_count + 1, sizeof *d->missing))
		return REC_E_NOMEM;
	d->missing = items;
	d->missing[d->missing_count++] = (struct rec_missing_reference){task, parent, keep_text(d, id)};
	return d->failed ? REC_E_NOMEM : 0;
}

static int reference_take(struct rec_doctor *d, uint32_t task, bool parent, struct rec_slice id)
{
	uint32_t to = rec_doctor_node(d, id);
	if (to == REC_IDMAP_NONE)
		return missing_add(d, task, parent, id);
	if (parent)
		d->flags[to] |= REC_NODE_PARENT;
	return rec_graph_add(parent ? d->parents : d->dependencies, task, to);
}

static int references_take(void *context, const struct rec_task *task)
{
	struct rec_doctor *d = context;
	uint32_t node = rec_doctor_node(d, task->id);
	int r = 0;
	if (node == REC_IDMAP_NONE)
		return 0; /* made after the snapshot */
	if (task->parent_id.data)
		r = reference_take(d, node, true, task->parent_id);
	for (size_t i = 0; r == 0 && i < task->depends_on_count; i++)
		r = reference_take(d, node, false, task->depends_on[i]);
	return r;
}

static int run_note(void *context, struct rec_slice id)
{
	struct rec_doctor *d = context;
	uint32_t node = rec_doctor_node(d, id);
	if (node != REC_IDMAP_NONE)
		d->flags[node] |= REC_NODE_RUNNING;
	return 0;
}

static int claim_note(void *context, const struct rec_claim *claim)
{
	struct rec_doctor *d = context;
	void *claims = d->claims, *tasks = d->claim_tasks;
	size_t need = d->claim_count + 1;
	uint32_t first;
	int r = rec_grow(d->allocator, &claims, &d->claim_capacity, need, sizeof *d->claims);
	d->claims = claims;
	if (r == 0)
		r = rec_grow(d->allocator, &tasks, &d->claim_task_capacity, need, sizeof *d->claim_tasks);
	d->claim_tasks = tasks;
	if (r)
		return r;
	d->claims[d->claim_count] = (struct rec_seen_claim){claim->claim_id, keep_text(d, claim->batch_id), false,
							    false, claim->lease_left_us};
	d->claim_tasks[d->claim_count] = keep_text(d, claim->task_id);
	if (d->failed || rec_idmap_add(&d->claim_map, d->claim_tasks, (uint32_t)d->claim_count, &first) < 0)
		return REC_E_NOMEM;
	d->claim_count++;
	return 0;
}

static int claim_see_again(void *context, const struct rec_claim *claim)
{
	struct rec_doctor *d = context;
	uint32_t index = rec_idmap_find(&d->claim_map, d->claim_tasks, claim->task_id);
	if (index != REC_IDMAP_NONE)
		d->claims[index].seen_again |= d->claims[index].claim_id == claim->claim_id;
	return 0;
}

/* A callback's own REC_E_NOMEM comes back without a message. */
static int read_result(int r, struct rec_error *error)
{
	return r == REC_E_NOMEM ? rec_fail_nomem(error) : r;
}

static int read_everything(struct rec_doctor *d, struct rec_error *error)
{
	const struct rec_list_options all = {.blockers = true};
	int r = rec_store_snapshot(d->store, NULL, 0,
				   REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY, &d->snapshot,
				   error);
	if (r == 0)
		r = nodes_make(d, error);
	if (r == 0)
		r = read_result(rec_store_list(d->store, &all, references_take, d, error), error);
	if (r == 0)
		r = read_result(rec_store_claims(d->store, claim_note, d, error), error);
	if (r == 0)
		r = rec_store_running_runs(d->store, run_note, d, error);
	if (r == 0 && (rec_graph_analyse(d->dependencies) || rec_graph_analyse(d->parents)))
		r = rec_fail_nomem(error);
	return r;
}

/* ---- The second look ---- */

/* Is the conductor of this claim's batch gone? A place without a directory has no other processes. */
static int claim_is_stale(struct rec_doctor *d, const struct rec_seen_claim *claim, bool *ret_stale,
			  struct rec_error *error)
{
	struct rec_store_info info;
	struct rec_buffer path;
	bool locked = false;
	rec_store_info(d->store, &info);
	*ret_stale = info.directory != NULL;
	if (info.shared) { /* only the lease tells what another host does */
		*ret_stale = claim->lease_left_us < -LEASE_GRACE_US;
		return 0;
	}
	struct rec_slice batch = claim->batch_id;
	if (!info.directory || !batch.length || memchr(batch.data, '/', batch.length))
		return 0;
	rec_buffer_init(&path, d->allocator, 1u << 16);
	rec_buffer_printf(&path, "%s/rec-run/batch-", info.directory);
	rec_buffer_add(&path, batch.data, batch.length);
	int r = rec_buffer_add_text(&path, ".lock") ? rec_fail_nomem(error) : 0;
	if (r == 0)
		r = rec_file_locked(path.data, &locked, error);
	rec_buffer_release(&path);
	*ret_stale = !locked;
	return r;
}

/* A claim that stood before and after its batch's lock was seen free has no process. */
static int claims_confirm(struct rec_doctor *d, struct rec_error *error)
{
	bool any = false;
	for (size_t i = 0; i < d->claim_count; i++) {
		int r = claim_is_stale(d, &d->claims[i], &d->claims[i].stale, error);
		if (r)
			return r;
		any |= d->claims[i].stale;
	}
	return any ? rec_store_claims(d->store, claim_see_again, d, error) : 0;
}

static bool node_is_idle(const struct rec_doctor *d, uint32_t node)
{
	const struct rec_fact *fact = &d->snapshot.facts[node];
	return fact->status == REC_IN_PROGRESS && !fact->claimed &&
	       !(d->flags[node] & (REC_NODE_PARENT | REC_NODE_RUNNING));
}

static int idle_collect(struct rec_doctor *d, struct rec_error *error)
{
	for (uint32_t node = 0; node < d->snapshot.count; node++) {
		void *idle = d->idle;
		if (!node_is_idle(d, node))
			continue;
		if (rec_grow(d->allocator, &idle, &d->idle_capacity, d->idle_count + 1, sizeof *d->idle))
			return rec_fail_nomem(error);
		d->idle = idle;
		d->idle[d->idle_count++] = node;
	}
	return 0;
}

/* Keeps of the idle tasks those that still are, and of the missing ids those still missing. */
static void second_look_keep(struct rec_doctor *d, const struct rec_fact *facts)
{
	size_t kept = 0;
	for (size_t i = 0; i < d->idle_count; i++)
		if (facts[i].status == REC_IN_PROGRESS && !facts[i].claimed && node_is_idle(d, d->idle[i]))
			d->idle[kept++] = d->idle[i];
	facts += d->idle_count;
	d->idle_count = kept;
	kept = 0;
	for (size_t i = 0; i < d->missing_count; i++)
		if (facts[i].status == REC_STATUS_ABSENT)
			d->missing[kept++] = d->missing[i];
	d->missing_count = kept;
}

static int second_look(struct rec_doctor *d, struct rec_error *error)
{
	struct rec_snapshot now;
	size_t count = d->idle_count + d->missing_count, at = 0;
	if (count == 0)
		return 0;
	struct rec_slice *ids = rec_zalloc(d->allocator, count, sizeof *ids);
	if (!ids)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < d->idle_count; i++)
		ids[at++] = d->snapshot.ids[d->idle[i]];
	for (size_t i = 0; i < d->missing_count; i++)
		ids[at++] = d->missing[i].id;
	int r = rec_store_running_runs(d->store, run_note, d, error);
	if (r == 0)
		r = rec_store_snapshot(d->store, ids, count, REC_SNAPSHOT_ATTEMPT, &now, error);
	if (r == 0) {
		second_look_keep(d, now.facts);
		rec_snapshot_release(&now);
	}
	rec_free(d->allocator, ids);
	return r;
}

/* ---- The visit ---- */

static int visit(struct rec_doctor *d, struct rec_error *error)
{
	int r = read_everything(d, error);
	if (r == 0)
		r = claims_confirm(d, error);
	if (r == 0)
		r = idle_collect(d, error);
	if (r == 0)
		r = second_look(d, error);
	if (r == 0 && d->failed)
		r = rec_fail_nomem(error);
	return r ? r : rec_doctor_tell(d, error);
}

static void doctor_release(struct rec_doctor *d)
{
	const struct rec_allocator *a = d->allocator;
	rec_teller_release(&d->teller);
	rec_idmap_release(&d->map);
	rec_idmap_release(&d->claim_map);
	rec_graph_free(d->dependencies);
	rec_graph_free(d->parents);
	rec_arena_release(&d->arena);
	rec_snapshot_release(&d->snapshot);
	rec_free(a, d->flags);
	rec_free(a, d->missing);
	rec_free(a, d->rows);
	rec_free(a, d->claims);
	rec_free(a, d->claim_tasks);
	rec_free(a, d->idle);
}

int rec_doctor(struct rec_store *s, rec_finding_fn *fn, void *context, uint64_t *ret_count, struct rec_error *error)
{
	const struct rec_allocator *a = rec_store_allocator(s);
	struct rec_doctor d = {.store = s, .allocator = a, .snapshot = {.allocator = a}};
	rec_warning_fn *listener;
	void *listener_context;
	rec_teller_init(&d.teller, a, fn, context);
	rec_idmap_init(&d.map, a, rec_random_u64());
	rec_idmap_init(&d.claim_map, a, rec_random_u64());
	rec_arena_init(&d.arena, a);
	rec_store_warning_listener(s, &listener, &listener_context);
	rec_store_on_warning(s, hear_warning, &d);
	int r = visit(&d, error);
	rec_store_on_warning(s, listener, listener_context);
	if (r == 0 && ret_count)
		*ret_count = d.teller.count;
	doctor_release(&d);
	return r;
}
