/* driver-feed.c - which tasks are to be looked at: what the change feed tells, and what the machine asks for. */
#include "conductor/driver-private.h"

/* ---- What is owed ---- */

static int owed_reserve(struct rec_driver *d, uint32_t task)
{
	size_t before = d->owed_capacity;
	void *owed = d->owed;
	int r = rec_grow(d->allocator, &owed, &d->owed_capacity, (size_t)task + 1, sizeof *d->owed);
	d->owed = owed;
	if (r == 0 && d->owed_capacity > before)
		memset(d->owed + before, 0, d->owed_capacity - before);
	return r;
}

int rec_driver_owe(struct rec_driver *d, uint32_t task, enum owed how)
{
	void *list = d->owed_list;
	int r = owed_reserve(d, task);
	if (r)
		return r;
	r = rec_grow(d->allocator, &list, &d->owed_list_capacity, d->owed_count + 1, sizeof *d->owed_list);
	d->owed_list = list;
	if (r)
		return r;
	if (d->owed[task] == OWED_NOTHING)
		d->owed_list[d->owed_count++] = task;
	if (d->owed[task] < how)
		d->owed[task] = (uint8_t)how;
	return 0;
}

int rec_driver_stranger_add(struct rec_driver *d, struct rec_slice id)
{
	void *strangers = d->strangers;
	int r = rec_grow(d->allocator, &strangers, &d->stranger_capacity, d->stranger_count + 1, sizeof *d->strangers);
	d->strangers = strangers;
	char *copy = r ? NULL : rec_arena_strndup(&d->strangers_arena, id.data, id.length);
	if (!copy)
		return REC_E_NOMEM;
	d->strangers[d->stranger_count++] = (struct rec_slice){copy, id.length};
	return 0;
}

/* What a task depends on only matters while it may come to run. */
int rec_driver_owe_look(struct rec_driver *d, uint32_t task)
{
	enum rec_phase phase = rec_machine_phase(d->m, task);
	bool idle = phase == REC_PHASE_WAITING || phase == REC_PHASE_QUEUED || phase == REC_PHASE_HELD;
	return rec_driver_owe(d, task, idle && rec_machine_member(d->m, task) ? OWED_LOOK_CLOSELY : OWED_LOOK);
}

/* Something about that task changed, by us or by others. */
static int changed(void *context, struct rec_slice id)
{
	struct rec_driver *d = context;
	uint32_t task = rec_machine_find(d->m, id);
	if (task != NONE)
		return rec_driver_owe_look(d, task);
	return d->options.all_ready ? rec_driver_stranger_add(d, id) : 0;
}

int rec_driver_feed_read(struct rec_driver *d, struct rec_error *error)
{
	int64_t now_us = rec_driver_now(d).monotonic_us;
	if (now_us >= d->rescan_due_us) {
		d->rescan = true;
		d->rescan_due_us = now_us + RESCAN_INTERVAL_US;
	}
	d->tick_due_us = now_us + d->options.reconcile_interval_us;
	int r = rec_store_changes(d->store, &d->cursor, changed, d, error);
	d->behind = r < 0;
	if (r == REC_RESCAN)
		d->rescan = true;
	if (r == REC_E_NOMEM && error)
		rec_fail_nomem(error);
	return r == REC_RESCAN ? 0 : r;
}

static int changed_in_group(void *context, struct rec_slice id)
{
	struct rec_driver *d = context;
	uint32_t task = rec_machine_find(d->m, id);
	bool settled = task < d->owed_capacity && (d->owed[task] & OWED_SETTLED);
	return settled ? 0 : changed(context, id);
}

void rec_driver_moved(void *driver, const struct rec_rollup_change *change)
{
	struct rec_driver *d = driver;
	uint32_t task = rec_machine_find(d->m, change->id);
	void *moved = d->moved;
	rec_moves_add(&d->moves, change);
	if (task == NONE)
		return;
	int r = rec_grow(d->allocator, &moved, &d->moved_capacity, d->moved_count + 1, sizeof *d->moved);
	d->moved = moved;
	if (r)
		d->moves.failed = true; /* which fails the group */
	else
		d->moved[d->moved_count++] = task;
}

/* These change what is believed of a member to what is stored now, or ask for a look themselves. */
static bool settles(const struct rec_driver *d, const struct rec_machine_event *result)
{
	return rec_machine_member(d->m, result->task) &&
	       (result->kind == REC_ON_CLAIMED || result->kind == REC_ON_RECORDED || result->kind == REC_ON_RELEASED ||
		result->kind == REC_ON_REQUEUED);
}

/* A task that a roll-up of the group moved is not what its result says. */
static int settled_mark(struct rec_driver *d)
{
	int r = 0;
	for (size_t i = 0; !r && i < d->result_count; i++)
		if (settles(d, &d->results[i])) {
			r = owed_reserve(d, d->results[i].task);
			if (!r)
				d->owed[d->results[i].task] |= OWED_SETTLED;
		}
	for (size_t i = 0; i < d->moved_count; i++)
		if (d->moved[i] < d->owed_capacity)
			d->owed[d->moved[i]] &= (uint8_t)~OWED_SETTLED;
	return r;
}

static void settled_unmark(struct rec_driver *d)
{
	for (size_t i = 0; i < d->result_count; i++)
		if (d->results[i].task < d->owed_capacity)
			d->owed[d->results[i].task] &= (uint8_t)~OWED_SETTLED;
}

int rec_driver_feed_read_in_group(struct rec_driver *d, struct rec_error *error)
{
	d->feed_taken = false;
	if (d->rescan || d->apart || !d->result_count)
		return 0;
	d->cursor_in_group = d->cursor;
	int r = settled_mark(d);
	if (!r)
		r = rec_store_changes_in_group(d->store, &d->cursor_in_group, changed_in_group, d, error);
	settled_unmark(d);
	d->feed_taken = r == 0;
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	return r == REC_RESCAN ? 0 : r;
}
