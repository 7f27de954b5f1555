/* driver-look.c - reading the store about tasks: the change feed says which, one snapshot says what, the decision table
 * says what that means, and the machine is told. In three parts, so that the reading may happen elsewhere; tags are
 * taken before anything is read, so an own commit in between makes the results stale, never the other way round. */
#include "conductor/driver-private.h"

#include <stdlib.h>

#include "base/timestamp.h"

#define LIST_FROM 256u /* so many members at once are read by listing the store, fewer one by one */

/* One task that is looked at. */
struct seen_task {
	uint32_t task; /* NONE: the machine does not know it */
	uint32_t commits, attempt;
	bool stranger; /* the machine did not know it when the look began */
	bool joins;    /* not in the batch; joins it if it is READY */
	bool told;
	bool closely; /* its priority, age and dependencies too */
	bool read;    /* those below are filled in */
	bool unreadable;
	int32_t priority;
	int64_t created_us;
	const struct rec_slice *depends_on;
	size_t depends_on_count;
};

struct rec_look {
	const struct rec_allocator *allocator;
	struct rec_arena arena;
	struct seen_task *tasks;
	struct rec_slice *ids;
	size_t count, capacity, id_capacity;
	bool all;       /* a rescan */
	bool all_ready; /* strangers are listed too */
	bool placed;    /* priorities and dependencies were taken over */
	bool has_snapshot;
	int read_result; /* while it could not be ended for want of memory */
	struct rec_snapshot snapshot;
	struct rec_idmap map;
};

/* ---- Begin ---- */

/* May one that is only watched join? Not while something of it runs. */
static bool may_join(const struct rec_driver *d, uint32_t task)
{
	enum rec_phase phase = rec_machine_phase(d->m, task);
	bool runs = phase == REC_PHASE_CLAIMING || phase == REC_PHASE_RUNNING || phase == REC_PHASE_STOPPING;
	return d->options.all_ready && !rec_machine_member(d->m, task) && !runs;
}

static int look_add(struct rec_look *look, const struct rec_driver *d, uint32_t task, struct rec_slice id, bool closely)
{
	void *tasks = look->tasks, *ids = look->ids;
	int r = rec_grow(look->allocator, &tasks, &look->capacity, look->count + 1, sizeof *look->tasks);
	look->tasks = tasks;
	r = r ? r : rec_grow(look->allocator, &ids, &look->id_capacity, look->count + 1, sizeof *look->ids);
	look->ids = ids;
	if (r)
		return r;
	bool joins = task == NONE || may_join(d, task);
	struct seen_task seen = {.task = task, .stranger = task == NONE, .joins = joins, .closely = closely || joins};
	if (task != NONE) {
		seen.commits = rec_machine_commits(d->m, task);
		seen.attempt = rec_machine_attempt(d->m, task);
	}
	look->tasks[look->count] = seen;
	look->ids[look->count++] = id;
	return 0;
}

static int look_fill_all(struct rec_look *look, const struct rec_driver *d)
{
	int r = 0;
	for (uint32_t i = 0; !r && i < rec_machine_count(d->m); i++)
		r = look_add(look, d, i, rec_machine_id(d->m, i), rec_machine_member(d->m, i));
	return r;
}

static int look_fill_owed(struct rec_look *look, const struct rec_driver *d)
{
	int r = 0;
	for (size_t i = 0; !r && i < d->owed_count; i++) {
		uint32_t task = d->owed_list[i];
		r = look_add(look, d, task, rec_machine_id(d->m, task), d->owed[task] == OWED_LOOK_CLOSELY);
	}
	return r;
}

static int look_fill_strangers(struct rec_look *look, const struct rec_driver *d)
{
	int r = 0;
	for (size_t i = 0; !r && i < d->stranger_count; i++) {
		const struct rec_slice *id = &d->strangers[i];
		char *copy = rec_arena_strndup(&look->arena, id->data, id->length);
		r = copy ? look_add(look, d, NONE, (struct rec_slice){copy, id->length}, true) : REC_E_NOMEM;
	}
	return r;
}

struct rec_look *rec_look_free(struct rec_look *look)
{
	if (!look)
		return NULL;
	if (look->has_snapshot)
		rec_snapshot_release(&look->snapshot);
	rec_idmap_release(&look->map);
	rec_arena_release(&look->arena);
	rec_free(look->allocator, look->tasks);
	rec_free(look->allocator, look->ids);
	return rec_free(look->allocator, look);
}

static void owed_clear(struct rec_driver *d)
{
	for (size_t i = 0; i < d->owed_count; i++)
		d->owed[d->owed_list[i]] = OWED_NOTHING;
	d->owed_count = d->stranger_count = 0;
	rec_arena_release(&d->strangers_arena);
	d->rescan = false;
}

int rec_driver_look_begin(struct rec_driver *d, struct rec_look **ret_look, struct rec_error *error)
{
	int r = rec_driver_feed_read(d, error);
	if (r < 0)
		return r;
	if (!d->owed_count && !d->stranger_count && !d->rescan)
		return REC_END;
	struct rec_look *look = rec_zalloc(d->allocator, 1, sizeof *look);
	if (!look)
		return rec_fail_nomem(error);
	look->allocator = d->allocator;
	look->all = d->rescan;
	look->all_ready = d->options.all_ready;
	rec_arena_init(&look->arena, d->allocator);
	rec_idmap_init(&look->map, d->allocator, d->options.machine.seed);
	r = d->rescan ? look_fill_all(look, d) : look_fill_owed(look, d);
	r = r ? r : look_fill_strangers(look, d);
	if (r) {
		rec_look_free(look);
		return rec_fail(error, r, "look: out of memory");
	}
	owed_clear(d);
	d->looks_out++;
	*ret_look = look;
	return 0;
}

/* ---- Read ---- */

static int32_t clamp32(int64_t value)
{
	return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

static int task_note(struct rec_look *look, struct seen_task *seen, const struct rec_task *task)
{
	struct rec_slice *on = rec_arena_alloc(&look->arena, task->depends_on_count * sizeof *on);
	if (!on)
		return REC_E_NOMEM;
	for (size_t i = 0; i < task->depends_on_count; i++) {
		struct rec_slice id = task->depends_on[i];
		on[i] = (struct rec_slice){rec_arena_strndup(&look->arena, id.data, id.length), id.length};
		if (!on[i].data)
			return REC_E_NOMEM;
	}
	seen->read = true;
	seen->unreadable = task->depends_on_raw.data != NULL;
	seen->priority = clamp32(task->priority);
	if (rec_timestamp_parse(task->created_at, &seen->created_us))
		seen->created_us = 0; /* unreadable: the oldest */
	seen->depends_on = on;
	seen->depends_on_count = task->depends_on_count;
	return 0;
}

static int task_listed(void *context, const struct rec_task *task)
{
	struct rec_look *look = context;
	uint32_t index = rec_idmap_find(&look->map, look->ids, task->id);
	if (index == REC_IDMAP_NONE) {
		if (!look->all_ready || task->status != REC_READY || !task->is_leaf)
			return 0;
		char *id = rec_arena_strndup(&look->arena, task->id.data, task->id.length);
		int r = id ? look_add(look, NULL, NONE, (struct rec_slice){id, task->id.length}, true) : REC_E_NOMEM;
		if (r)
			return r;
		index = (uint32_t)(look->count - 1);
	}
	return look->tasks[index].closely ? task_note(look, &look->tasks[index], task) : 0;
}

static int read_by_listing(struct rec_look *look, struct rec_store *store, struct rec_error *error)
{
	const struct rec_list_options options = {.brief = true};
	uint32_t first;
	int r = rec_idmap_reserve(&look->map, look->count);
	for (uint32_t i = 0; r >= 0 && i < look->count; i++)
		r = rec_idmap_add(&look->map, look->ids, i, &first);
	if (r < 0)
		return rec_fail(error, r, "look: out of memory");
	r = rec_store_list(store, &options, task_listed, look, error);
	return r == REC_E_NOMEM ? rec_fail_nomem(error) : r;
}

static int read_one_by_one(struct rec_look *look, struct rec_store *store, struct rec_error *error)
{
	for (size_t i = 0; i < look->count; i++) {
		struct rec_task task;
		if (!look->tasks[i].closely)
			continue;
		int r = rec_store_get(store, look->ids[i], &look->arena, &task, error);
		if (r == 0 && task_note(look, &look->tasks[i], &task))
			r = rec_fail_nomem(error);
		if (r < 0)
			return r;
	}
	return 0;
}

int rec_look_read(struct rec_look *look, struct rec_store *store, struct rec_error *error)
{
	bool list = look->all && (look->all_ready || look->count > LIST_FROM);
	int r = list ? read_by_listing(look, store, error) : read_one_by_one(look, store, error);
	if (r)
		return r;
	r = rec_store_snapshot(store, look->ids, look->count, LOOK_FIELDS, &look->snapshot, error);
	look->has_snapshot = r == 0;
	return r;
}

/* ---- End ---- */

/* An id's task; one that is not in the batch is watched from now on, and looked at. */
static int watch(struct rec_driver *d, struct rec_slice id, uint32_t *ret_task)
{
	struct rec_machine_task task = {.id = id};
	*ret_task = rec_machine_find(d->m, id);
	if (*ret_task != NONE)
		return 0;
	int r = rec_machine_add(d->m, &task, ret_task);
	return r < 0 ? r : rec_driver_owe(d, *ret_task, OWED_LOOK);
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Sorts, and drops what is there twice: the form in which the machine keeps them. */
static size_t tidy(uint32_t *on, size_t count)
{
	size_t kept = 0;
	if (count)
		qsort(on, count, sizeof *on, ascending);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || on[kept - 1] != on[i])
			on[kept++] = on[i];
	return kept;
}

static bool same_dependencies(const struct rec_driver *d, const struct seen_task *seen, const uint32_t *on,
			      size_t count)
{
	uint32_t known;
	const uint32_t *now = rec_machine_dependencies(d->m, seen->task, &known);
	return rec_machine_linked(d->m, seen->task) && rec_machine_unreadable(d->m, seen->task) == seen->unreadable &&
	       known == count && (count == 0 || memcmp(now, on, count * sizeof *on) == 0);
}

static int depends_take(struct rec_driver *d, struct rec_look *look, const struct seen_task *seen, bool *linked)
{
	uint32_t *on = rec_arena_alloc(&look->arena, seen->depends_on_count * sizeof *on);
	int r = on ? 0 : REC_E_NOMEM;
	for (size_t i = 0; !r && i < seen->depends_on_count; i++)
		r = watch(d, seen->depends_on[i], &on[i]);
	if (r)
		return r;
	size_t count = tidy(on, seen->depends_on_count);
	if (same_dependencies(d, seen, on, count))
		return 0;
	*linked = true;
	return rec_machine_depends(d->m, seen->task, on, count, seen->unreadable);
}

static int joined_reserve(struct rec_driver *d)
{
	void *joined = d->joined;
	int r = rec_grow(d->allocator, &joined, &d->joined_capacity, d->joined_count + 1, sizeof *d->joined);
	d->joined = joined;
	return r;
}

/* A stranger may be known by now; one that was known may have been claimed and ended meanwhile. */
static bool still_joins(const struct rec_driver *d, const struct seen_task *seen)
{
	if (seen->task == NONE)
		return true;
	bool same = rec_machine_commits(d->m, seen->task) == seen->commits &&
		    rec_machine_attempt(d->m, seen->task) == seen->attempt;
	return may_join(d, seen->task) && (seen->stranger || same);
}

/* A task that became READY while a waiting batch takes all that do. */
static int join(struct rec_driver *d, struct rec_look *look, size_t i)
{
	struct seen_task *seen = &look->tasks[i];
	const struct rec_fact *fact = &look->snapshot.facts[i];
	struct rec_machine_task task = {.id = look->ids[i], .member = true};
	if (seen->stranger)
		seen->task = rec_machine_find(d->m, task.id);
	if (fact->status != REC_READY || !fact->is_leaf || !seen->read || !still_joins(d, seen))
		return 0;
	int r = joined_reserve(d);
	if (!r && seen->task == NONE)
		r = rec_machine_add(d->m, &task, &seen->task);
	else if (!r)
		r = rec_machine_join(d->m, rec_driver_now(d), seen->task);
	if (r < 0)
		return r;
	d->joined[d->joined_count++] = seen->task;
	seen->commits = rec_machine_commits(d->m, seen->task);
	seen->attempt = rec_machine_attempt(d->m, seen->task);
	seen->joins = seen->stranger = false;
	return 0;
}

static int places_take(struct rec_driver *d, struct rec_look *look)
{
	bool linked = false;
	int r = 0;
	for (size_t i = 0; !r && i < look->count; i++) {
		struct seen_task *seen = &look->tasks[i];
		if (seen->joins)
			r = join(d, look, i);
		if (r || seen->task == NONE || !seen->read || !rec_machine_member(d->m, seen->task))
			continue;
		rec_machine_describe(d->m, seen->task, seen->priority, seen->created_us);
		r = depends_take(d, look, seen, &linked);
	}
	return r || !linked ? r : rec_machine_link(d->m, rec_driver_now(d));
}

static struct rec_seen seen_of(const struct rec_fact *fact, enum rec_status believed)
{
	return (struct rec_seen){
		.status = fact->status,
		.believed = (uint8_t)believed,
		.claimed = fact->claimed,
		.is_leaf = fact->is_leaf,
		.priority = fact->priority,
		.blockers_total = fact->blockers_total,
		.blockers_open = fact->blockers_open,
		.blockers_new = fact->blockers_new,
	};
}

static int verdict_tell(struct rec_driver *d, const struct seen_task *seen, const struct rec_fact *fact)
{
	enum rec_status believed = rec_machine_belief(d->m, seen->task);
	struct rec_verdict verdict = rec_apply_fact(REC_CHECK_MERGED, fact, believed);
	struct rec_machine_event e = {
		.kind = (enum rec_happening)verdict.action,
		.task = seen->task,
		.verdict = verdict,
		.seen = seen_of(fact, believed),
		.attempt = seen->attempt,
		.commits = seen->commits,
	};
	int r = rec_machine_handle(d->m, rec_driver_now(d), &e);
	if (r == REC_E_BUG)
		d->bugs++;
	return r == REC_E_NOMEM ? r : 0;
}

static int results_tell(struct rec_driver *d, struct rec_look *look)
{
	int r = look->placed ? 0 : places_take(d, look);
	look->placed = r == 0;
	for (size_t i = 0; !r && i < look->count; i++) {
		struct seen_task *seen = &look->tasks[i];
		if (seen->stranger || seen->told)
			continue;
		r = verdict_tell(d, seen, &look->snapshot.facts[i]);
		seen->told = r == 0;
	}
	return r;
}

static int look_again(struct rec_driver *d, const struct rec_look *look)
{
	int r = 0;
	if (look->all)
		d->rescan = true;
	for (size_t i = 0; !r && i < look->count; i++)
		if (!look->tasks[i].stranger)
			r = rec_driver_owe(d, look->tasks[i].task,
					   look->tasks[i].closely ? OWED_LOOK_CLOSELY : OWED_LOOK);
		else
			r = rec_driver_stranger_add(d, look->ids[i]);
	return r;
}

int rec_driver_look_end(struct rec_driver *d, struct rec_look *look, int read_result,
			const struct rec_error *read_error)
{
	int r = read_result == 0 ? results_tell(d, look) : look_again(d, look);
	if (r)
		return r;
	if (read_result == 0) {
		d->look_pause_us = 0;
	} else {
		rec_driver_note_error(d, "check", read_error);
		d->look_resume_us = rec_driver_pause(d, &d->look_pause_us);
	}
	d->looks_out--;
	rec_look_free(look);
	return 0;
}

void rec_driver_look_apart(struct rec_driver *d, bool apart)
{
	d->apart = apart;
}

/* ---- All in one ---- */

static int check_failed(struct rec_driver *d, int r, const struct rec_error *problem, struct rec_error *error)
{
	if (!rec_driver_may_pass(r)) {
		*error = *problem;
		return r;
	}
	rec_driver_note_error(d, "check", problem);
	d->look_resume_us = rec_driver_pause(d, &d->look_pause_us);
	return REC_END;
}

int rec_driver_look(struct rec_driver *d, struct rec_error *error)
{
	struct rec_look *look = d->unfinished;
	struct rec_error problem = {0};
	if (rec_driver_now(d).monotonic_us < d->look_resume_us)
		return REC_END;
	if (!look) {
		int r = rec_driver_look_begin(d, &look, &problem);
		if (r)
			return r == REC_END ? r : check_failed(d, r, &problem, error);
		look->read_result = rec_look_read(look, d->store, &problem);
	}
	int r = look->read_result;
	d->unfinished = look;
	if (rec_driver_look_end(d, look, r, &problem))
		return rec_fail_nomem(error);
	d->unfinished = NULL;
	if (r == 0 || rec_driver_may_pass(r))
		return r ? REC_END : 0;
	*error = problem;
	return r;
}

bool rec_driver_is_quiet(struct rec_driver *d)
{
	uint64_t stamp;
	return d->heeded && rec_store_stamp(d->store, &stamp, NULL) == 0 && stamp == d->stamp;
}

static int row_read(struct rec_driver *d, struct rec_batch *batch, struct rec_error *error)
{
	struct rec_arena arena;
	rec_arena_init(&arena, d->allocator);
	int r = rec_store_batch_get(d->store, d->options.batch_id, &arena, batch, error);
	rec_arena_release(&arena); /* its texts are of no use here */
	return r;
}

/* The row is somebody else's to change: while nobody else has committed it says what it said. */
int rec_driver_heed_row(struct rec_driver *d, struct rec_error *error)
{
	struct rec_batch batch = {0};
	struct rec_error problem = {0};
	uint64_t stamp = 0;
	if (rec_driver_now(d).monotonic_us < d->look_resume_us)
		return 0;
	int r = rec_store_stamp(d->store, &stamp, &problem);
	if (r == 0 && d->heeded && stamp == d->stamp)
		return 0;
	d->heeded = false;
	r = r ? r : row_read(d, &batch, &problem);
	if (r >= 0) {
		d->heeded = true;
		d->stamp = stamp;
	}
	if (r == 0 && batch.status == REC_BATCH_RUNNING) {
		d->drained = d->drained || batch.stop >= REC_BATCH_DRAIN;
		d->forced = d->forced || batch.stop == REC_BATCH_FORCE;
	} else if (r >= 0) { /* ended or removed by somebody: nothing new is started for it */
		d->drained = true;
	} else if (rec_driver_may_pass(r)) {
		rec_driver_note_error(d, "check", &problem);
		d->look_resume_us = rec_driver_pause(d, &d->look_pause_us);
	} else {
		*error = problem;
		return r;
	}
	return 0;
}
