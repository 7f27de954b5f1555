/* sim-store.c - a conductor's handle on the store: the store in memory, with the world stepping in before every call,
 * faults of every kind, and rules checked on every write. Once its conductor is dead nothing gets through. */
#include "sim.h"

struct sim_store {
	struct rec_store base;
	struct rec_store *inner;
	struct sim_conductor *c; /* NULL: abandoned */
	bool in_group;
	bool ends; /* the last call ended a claim */
};

static struct sim_store *of(struct rec_store *s)
{
	return (struct sim_store *)s;
}

static int fault(struct rec_error *error)
{
	return rec_fail(error, REC_E_IO, "sim: the disk does not answer");
}

static int dead(struct rec_error *error)
{
	return rec_fail(error, REC_E_IO, "sim: dead");
}

static bool fails(struct sim *w)
{
	bool told = w->paths && w->paths->store_fails;
	if (told)
		w->paths->store_fails = false;
	return told || (!w->quiet && (w->options.faults & SIM_STORE_FAULTS) && sim_chance(w, 60));
}

static int some_fault(struct sim *w, struct rec_error *error)
{
	static const int codes[] = {REC_E_BUSY, REC_E_IO, REC_E_FULL, REC_E_PERMISSION};
	return rec_fail(error, codes[sim_choose(w, 4)], "sim: the store is out of order");
}

/* Before every call: the world goes on, the conductor may die, the store may fail. */
static int enter(struct rec_store *s, struct rec_error *error)
{
	struct sim_store *me = of(s);
	if (!me->c)
		return dead(error);
	struct sim_conductor *c = me->c;
	struct sim *w = c->w;
	if (++c->calls == SIM_CALLS_MAX)
		sim_broken(w, "c%d runs in a circle", c->index);
	if (w->violation[0])
		return dead(error);
	sim_interrupt(w, c, me->in_group); /* may take the conductor away */
	if (!me->c)
		return dead(error);
	if (w->hosts[c->host].cut)
		return rec_fail(error, REC_E_BUSY, "sim: the server does not answer");
	return fails(w) ? some_fault(w, error) : 0;
}

/* ---- Groups ---- */

static int sim_begin(struct rec_store *s, struct rec_error *error)
{
	struct sim_store *me = of(s);
	int r = enter(s, error);
	if (!r && me->c->w->paths && me->c->w->paths->store_is_full)
		r = rec_fail(error, REC_E_FULL, "sim: no space left");
	r = r ? r : me->inner->ops->begin(me->inner, error);
	me->in_group = r == 0;
	return r;
}

static void sim_rollback(struct rec_store *s)
{
	struct sim_store *me = of(s);
	if (me->in_group)
		me->inner->ops->rollback(me->inner);
	me->in_group = false;
}

/* Fails before or after it has committed; dies before or after. */
static int sim_commit(struct rec_store *s, struct rec_error *error)
{
	struct sim_store *me = of(s);
	int r = enter(s, error);
	if (r) {
		sim_rollback(s);
		return r;
	}
	struct sim *w = me->c->w;
	r = me->inner->ops->commit(me->inner, error);
	me->in_group = false;
	if (r)
		return r;
	sim_interrupt(w, me->c, false);
	if (!me->c)
		return dead(error);
	bool seems_to_fail = !w->quiet && (w->options.faults & SIM_STORE_FAULTS) && sim_chance(w, 120);
	return seems_to_fail ? fault(error) : 0;
}

void sim_store_abandon(struct rec_store *s)
{
	struct sim_store *me = of(s);
	sim_rollback(s);
	me->c = NULL;
}

static void sim_close_store(struct rec_store *s)
{
	struct sim_store *me = of(s);
	sim_rollback(s);
	rec_store_close(me->inner);
	rec_free(s->allocator, me);
}

/* ---- Calls that only go through ---- */

#define INNER of(s)->inner
#define THROUGH(call)                                                                                                  \
	int r = enter(s, error);                                                                                       \
	return r ? r : INNER->ops->call

/* Planted: whatever is stored, writes take it for what they expect. */
static bool blind(const struct rec_store *s)
{
	const struct sim_store *me = (const struct sim_store *)s;
	return me->in_group && (me->c->w->options.planted & REC_PLANTED_CAS);
}

static int sim_snapshot(struct rec_store *s, const struct rec_slice *ids, size_t count, unsigned fields,
			struct rec_snapshot *out, struct rec_error *error)
{
	THROUGH(snapshot(INNER, ids, count, fields, out, error));
}

static int sim_get(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		   struct rec_error *error)
{
	THROUGH(get(INNER, id, arena, out, error));
}

static int sim_list(struct rec_store *s, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		    struct rec_error *error)
{
	THROUGH(list(INNER, options, fn, context, error));
}

static int sim_blockers(struct rec_store *s, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			void *context, struct rec_error *error)
{
	THROUGH(blockers(INNER, task_id, open_only, fn, context, error));
}

static int sim_parent(struct rec_store *s, struct rec_slice id, struct rec_arena *arena, struct rec_slice *ret_parent,
		      enum rec_status *ret_status, struct rec_error *error)
{
	int r = enter(s, error);
	r = r ? r : INNER->ops->parent(INNER, id, arena, ret_parent, ret_status, error);
	if (r == 0 && blind(s)) /* the look of the end, or of the claim */
		*ret_status = of(s)->ends ? REC_IN_PROGRESS : REC_READY;
	of(s)->ends = false;
	return r;
}

static int sim_children(struct rec_store *s, struct rec_slice id, uint64_t counts[REC_STATUS_COUNT],
			uint64_t *unrecognised, struct rec_error *error)
{
	THROUGH(children(INNER, id, counts, unrecognised, error));
}

static int sim_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error)
{
	THROUGH(event_add(INNER, event, error));
}

static int sim_claims(struct rec_store *s, rec_claim_fn *fn, void *context, struct rec_error *error)
{
	THROUGH(claims(INNER, fn, context, error));
}

static int sim_batch_add(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error)
{
	THROUGH(batch_add(INNER, batch, error));
}

static int sim_batch_get(struct rec_store *s, struct rec_slice batch_id, struct rec_arena *arena, struct rec_batch *out,
			 struct rec_error *error)
{
	THROUGH(batch_get(INNER, batch_id, arena, out, error));
}

static int sim_batch_write(struct rec_store *s, const struct rec_batch *batch, struct rec_error *error)
{
	THROUGH(batch_write(INNER, batch, error));
}

static int sim_batches(struct rec_store *s, rec_batch_fn *fn, void *context, struct rec_error *error)
{
	THROUGH(batches(INNER, fn, context, error));
}

static int sim_batch_tasks(struct rec_store *s, struct rec_slice batch_id, rec_batch_task_fn *fn, void *context,
			   struct rec_error *error)
{
	THROUGH(batch_tasks(INNER, batch_id, fn, context, error));
}

static int sim_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		       struct rec_error *error)
{
	THROUGH(changes(INNER, cursor, fn, context, error));
}

static int sim_changes_in_group(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
				struct rec_error *error)
{
	THROUGH(changes_in_group(INNER, cursor, fn, context, error));
}

static int sim_stamp(struct rec_store *s, uint64_t *ret_stamp, struct rec_error *error)
{
	THROUGH(stamp(INNER, ret_stamp, error));
}

/* ---- Writes that rules look at ---- */

/* Rules have memory. */
static uint64_t memory_spare(struct sim_conductor *c)
{
	uint64_t fail_at = c->memory.fail_at;
	c->memory.fail_at = 0;
	return fail_at;
}

static int sim_write_status(struct rec_store *s, struct rec_slice id, enum rec_status from, enum rec_status to,
			    enum rec_status *now, struct rec_error *error)
{
	struct sim_store *me = of(s);
	struct rec_arena arena;
	struct rec_slice parent;
	enum rec_status before;
	int r = enter(s, error);
	if (r)
		return r;
	rec_arena_init(&arena, s->allocator);
	r = me->inner->ops->parent(me->inner, id, &arena, &parent, &before, error);
	rec_arena_release(&arena);
	if (r)
		return r;
	r = me->inner->ops->write_status(me->inner, id, blind(s) ? before : from, to, now, error);
	if (r)
		return r;
	uint64_t fail_at = memory_spare(me->c);
	sim_rules_at_status(me->c, me->inner, id, before, from, to);
	me->c->memory.fail_at = fail_at;
	return 0;
}

static int sim_claim_add(struct rec_store *s, struct rec_claim *claim, struct rec_error *error)
{
	int r = enter(s, error);
	r = r ? r : INNER->ops->claim_add(INNER, claim, error);
	if (r)
		return r;
	uint64_t fail_at = memory_spare(of(s)->c);
	sim_rules_at_claim(of(s)->c, INNER, claim);
	of(s)->c->memory.fail_at = fail_at;
	return 0;
}

static int sim_claim_end(struct rec_store *s, int64_t claim_id, const struct rec_finish *finish,
			 struct rec_arena *arena, struct rec_slice *ret_task_id, struct rec_error *error)
{
	int r = enter(s, error);
	if (r == 0)
		sim_rules_before_end(of(s)->c, INNER, claim_id);
	r = r ? r : INNER->ops->claim_end(INNER, claim_id, finish, arena, ret_task_id, error);
	of(s)->ends = r == 0;
	if (r == 0)
		sim_rules_at_end(of(s)->c, claim_id, finish);
	return r;
}

static int sim_claim_take(struct rec_store *s, int64_t claim_id, struct rec_slice from, struct rec_slice owner,
			  struct rec_error *error)
{
	int r = enter(s, error);
	r = r ? r : INNER->ops->claim_take(INNER, claim_id, from, owner, error);
	if (r)
		return r;
	struct sim_conductor *c = of(s)->c;
	struct sim_process *p = sim_process_of(c->w, claim_id);
	sim_say(c->w, "c%d takes claim %lld from %.*s", c->index, (long long)claim_id, (int)from.length, from.data);
	if (p && p->host != c->host) {
		p->robbed = true;
		p->end_kept = false;
	}
	return 0;
}

/* Not in a group: the backend makes one of its own. */
static int sim_renew(struct rec_store *s, struct rec_slice owner, int64_t lease_us, struct rec_error *error)
{
	THROUGH(renew(INNER, owner, lease_us, error));
}

static int sim_lease(struct rec_store *s, struct rec_slice owner, int64_t *ret_left_us, struct rec_error *error)
{
	THROUGH(lease(INNER, owner, ret_left_us, error));
}

static int sim_batch_task_put(struct rec_store *s, struct rec_slice batch_id, const struct rec_batch_task *task,
			      struct rec_error *error)
{
	int r = enter(s, error);
	r = r ? r : INNER->ops->batch_task_put(INNER, batch_id, task, error);
	if (r == 0)
		sim_rules_at_row(of(s)->c, task);
	return r;
}

static const struct rec_store_ops sim_ops = {
	.backend = "sim",
	.close = sim_close_store,
	.snapshot = sim_snapshot,
	.get = sim_get,
	.list = sim_list,
	.blockers = sim_blockers,
	.begin = sim_begin,
	.commit = sim_commit,
	.rollback = sim_rollback,
	.write_status = sim_write_status,
	.parent = sim_parent,
	.children = sim_children,
	.event_add = sim_event_add,
	.claim_add = sim_claim_add,
	.claim_end = sim_claim_end,
	.claim_take = sim_claim_take,
	.claims = sim_claims,
	.renew = sim_renew,
	.lease = sim_lease,
	.batch_add = sim_batch_add,
	.batch_get = sim_batch_get,
	.batch_write = sim_batch_write,
	.batches = sim_batches,
	.batch_task_put = sim_batch_task_put,
	.batch_tasks = sim_batch_tasks,
	.changes = sim_changes,
	.changes_in_group = sim_changes_in_group,
	.stamp = sim_stamp,
};

int sim_store_open(struct sim_conductor *c, struct rec_store **ret_store)
{
	const struct rec_store_options options = {
		.mode = REC_STORE_WRITE, .clock = &c->w->clock.clock, .allocator = &c->memory.allocator};
	struct sim_store *me = rec_zalloc(options.allocator, 1, sizeof *me);
	if (!me)
		return REC_E_NOMEM;
	int r = rec_store_memory_share(c->w->keeper, &options, &me->inner, NULL);
	if (r) {
		rec_free(options.allocator, me);
		return r;
	}
	rec_store_setup(&me->base, &sim_ops, &options);
	me->base.info.location = "sim:";
	me->base.info.attached = true;
	me->c = c;
	*ret_store = &me->base;
	return 0;
}
