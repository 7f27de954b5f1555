/* rollup.c - a composite parent's status follows its children's (the rule is rec_rollup's), level by level, as
 * long as something changes. Each parent is visited once and the child that started it never, so a ring of
 * parents ends the climb and an explicit write stands. Children with a status we do not know, and a change
 * without a legal path, leave the parent as it is and end the climb. */
#include "base/idmap.h"
#include "store/wrapper.h"

struct climb {
	struct rec_store *store;
	rec_rollup_fn *fn;
	void *context;
	struct rec_arena arena;
	struct rec_slice *visited;
	size_t count, capacity;
	struct rec_idmap map;
};

static void climb_init(struct climb *c, struct rec_store *s, rec_rollup_fn *fn, void *context)
{
	*c = (struct climb){.store = s, .fn = fn, .context = context};
	rec_arena_init(&c->arena, s->allocator);
	rec_idmap_init(&c->map, s->allocator, rec_random_u64());
}

static void climb_release(struct climb *c)
{
	rec_idmap_release(&c->map);
	rec_free(c->store->allocator, c->visited);
	rec_arena_release(&c->arena);
}

/* 0 the first time, then REC_EXISTS. */
static int climb_visit(struct climb *c, struct rec_slice id, struct rec_error *error)
{
	uint32_t first;
	int r = rec_grow(c->store->allocator, (void **)&c->visited, &c->capacity, c->count + 1, sizeof id);
	if (r == 0) {
		c->visited[c->count] = id;
		r = rec_idmap_add(&c->map, c->visited, (uint32_t)c->count, &first);
	}
	c->count += r == 0;
	return r < 0 ? rec_fail_nomem(error) : r;
}

static void climb_tell(struct climb *c, const struct rec_rollup_change *change)
{
	if (!c->fn)
		return;
	c->store->in_callback = true;
	c->fn(c->context, change);
	c->store->in_callback = false;
}

/* What the parent's status should become, from its children; REC_STATUS_ABSENT: leave it. */
static int wanted_status(struct climb *c, struct rec_slice parent, enum rec_status now, enum rec_status *ret_wanted,
			 struct rec_error *error)
{
	uint64_t counts[REC_STATUS_COUNT] = {0}, unrecognised = 0;
	int r = c->store->ops->children(c->store, parent, counts, &unrecognised, error);
	if (r < 0)
		return r;
	enum rec_status wanted = unrecognised ? REC_STATUS_ABSENT : rec_rollup(counts);
	if (wanted != REC_STATUS_ABSENT && rec_transition_path(now, wanted, NULL) <= 0)
		wanted = REC_STATUS_ABSENT;
	*ret_wanted = wanted;
	return 0;
}

/* One level. 0: it changed, and *id is the next parent (or absent); REC_END: the climb is over. */
static int climb_step(struct climb *c, struct rec_slice *id, struct rec_error *error)
{
	struct rec_slice next = {0};
	enum rec_status now = REC_STATUS_ABSENT, wanted = REC_STATUS_ABSENT;
	int r = climb_visit(c, *id, error);
	if (r)
		return r < 0 ? r : REC_END;
	r = c->store->ops->parent(c->store, *id, &c->arena, &next, &now, error);
	if (r == 0)
		r = wanted_status(c, *id, now, &wanted, error);
	if (r < 0)
		return r;
	if (r > 0 || wanted == REC_STATUS_ABSENT)
		return REC_END;
	r = c->store->ops->write_status(c->store, *id, now, wanted, NULL, error);
	if (r)
		return r < 0 ? r
			     : rec_fail(error, REC_E_BUG, "roll-up: a parent changed inside the group (please report)");
	climb_tell(c, &(struct rec_rollup_change){*id, now, wanted});
	*id = next;
	return 0;
}

int rec_rollup_from(struct rec_store *s, struct rec_slice child, struct rec_slice parent, rec_rollup_fn *fn,
		    void *context, struct rec_error *error)
{
	struct climb c;
	climb_init(&c, s, fn, context);
	int r = climb_visit(&c, child, error);
	while (r == 0 && parent.data)
		r = climb_step(&c, &parent, error);
	climb_release(&c);
	return r < 0 ? r : 0;
}

int rec_rollup_parents(struct rec_store *s, struct rec_slice child, rec_rollup_fn *fn, void *context,
		       struct rec_error *error)
{
	struct rec_arena arena;
	struct rec_slice parent = {0};
	enum rec_status status;
	rec_arena_init(&arena, s->allocator);
	int r = s->ops->parent(s, child, &arena, &parent, &status, error);
	if (r == 0 && parent.data)
		r = rec_rollup_from(s, child, parent, fn, context, error);
	rec_arena_release(&arena);
	return r < 0 ? r : 0;
}
