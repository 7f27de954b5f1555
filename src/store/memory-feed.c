/* memory-feed.c - what grows by appending: events and the change feed, and the pruning of both and of ended
 * attempts. */
#include "store/memory.h"

#define CHANGES_MAX (1u << 20)

static struct rec_memory_counters *counters_of(struct rec_memory_store *m)
{
	return &m->data->counters[rec_memory_view_of(m)];
}

/* ---- Events ---- */

int rec_memory_event_add(struct rec_store *s, const struct rec_event *event, struct rec_error *error)
{
	struct rec_memory_store *m = rec_memory_of(s);
	struct rec_memory_key key;
	struct rec_event added = *event;
	added.seq = s->event_seq = ++counters_of(m)->event_seq;
	return rec_memory_put(m, REC_MEMORY_EVENTS, rec_memory_key_seq(&key, added.seq),
			      rec_memory_event_new(m->data->allocator, &added), error);
}

int rec_memory_events(struct rec_store *s, int64_t since, uint64_t limit, rec_event_fn *fn, void *context,
		      struct rec_error *error)
{
	(void)error;
	struct rec_memory_key key;
	struct rec_memory_cursor cursor;
	const struct rec_memory_event *row;
	uint64_t told = 0;
	int r = 0;
	if (since == INT64_MAX)
		return 0;
	rec_memory_walk(rec_memory_of(s), REC_MEMORY_EVENTS, rec_memory_key_seq(&key, since < 0 ? 0 : since + 1),
			&cursor);
	for (; r == 0 && (!limit || told < limit) && (row = rec_memory_cursor_next(&cursor, NULL)); told++)
		r = fn(context, &row->event);
	return r;
}

/* ---- Change feed ---- */

int rec_memory_note(struct rec_memory_store *m, struct rec_slice task_id, struct rec_error *error)
{
	struct rec_memory_data *data = m->data;
	struct rec_memory_key key;
	if (data->change_noted && rec_slice_equal(data->change_noted->id, task_id))
		return 0;
	struct rec_memory_change *row = rec_memory_change_new(data->allocator, task_id, rec_memory_wall_us(m));
	struct rec_memory_counters *counters = &data->counters[REC_MEMORY_WORKING];
	int r = rec_memory_put(m, REC_MEMORY_CHANGES, rec_memory_key_seq(&key, counters->change_seq + 1), row, error);
	if (r < 0)
		return r;
	counters->change_seq++;
	counters->change_count++;
	data->change_noted = row;
	return 0;
}

int rec_memory_changes(struct rec_store *s, struct rec_cursor *cursor, rec_id_fn *fn, void *context,
		       struct rec_error *error)
{
	(void)error;
	struct rec_memory_store *m = rec_memory_of(s);
	const struct rec_memory_counters *counters = counters_of(m);
	const struct rec_cursor now = {counters->change_seq, m->data->generation};
	struct rec_memory_key key;
	struct rec_memory_cursor walk;
	const struct rec_memory_change *row;
	int r = 0;
	if (cursor->generation != now.generation || cursor->seq > now.seq || cursor->seq < counters->changes_pruned) {
		*cursor = now;
		return REC_RESCAN;
	}
	if (cursor->seq == now.seq)
		return 0;
	rec_memory_walk(m, REC_MEMORY_CHANGES, rec_memory_key_seq(&key, cursor->seq + 1), &walk);
	while (r == 0 && (row = rec_memory_cursor_next(&walk, NULL)))
		r = fn(context, row->id);
	if (r == 0)
		*cursor = now;
	return r;
}

/* Drops the oldest changes: those before `before_us`, and as many more as are above `keep`. */
static uint64_t changes_prune(struct rec_memory_store *m, int64_t before_us, uint64_t keep, bool dry_run)
{
	struct rec_memory_counters *counters = counters_of(m);
	struct rec_memory_cursor cursor;
	struct rec_slice at;
	const struct rec_memory_change *row;
	uint64_t pruned = 0, count = counters->change_count;
	rec_memory_walk(m, REC_MEMORY_CHANGES, (struct rec_slice){0}, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &at)) && (row->time_us < before_us || count - pruned > keep)) {
		pruned++;
		if (dry_run)
			continue;
		if (row == m->data->change_noted)
			m->data->change_noted = NULL;
		rec_memory_erase(m, REC_MEMORY_CHANGES, at);
	}
	if (!dry_run) {
		counters->changes_pruned += (int64_t)pruned;
		counters->change_count -= pruned;
	}
	return pruned;
}

void rec_memory_changes_keep(struct rec_memory_store *m, uint64_t keep)
{
	changes_prune(m, INT64_MIN, keep, false);
}

void rec_memory_changes_trim(struct rec_memory_store *m)
{
	if (counters_of(m)->change_count > CHANGES_MAX)
		changes_prune(m, INT64_MIN, CHANGES_MAX / 2, false);
}

/* ---- Care ---- */

/* An event whose time cannot be read is kept. */
static uint64_t events_prune(struct rec_memory_store *m, int64_t before_us, bool dry_run)
{
	struct rec_memory_cursor cursor;
	struct rec_slice at;
	const struct rec_memory_event *row;
	uint64_t pruned = 0;
	rec_memory_walk(m, REC_MEMORY_EVENTS, (struct rec_slice){0}, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &at))) {
		int64_t time_us;
		if (rec_timestamp_parse(row->event.time, &time_us) < 0 || time_us >= before_us)
			continue;
		pruned++;
		if (!dry_run)
			rec_memory_erase(m, REC_MEMORY_EVENTS, at);
	}
	return pruned;
}

static uint64_t attempts_prune(struct rec_memory_store *m, int64_t before_us, bool dry_run)
{
	struct rec_memory_cursor cursor;
	struct rec_slice at;
	const struct rec_memory_attempt *row;
	uint64_t pruned = 0;
	rec_memory_walk(m, REC_MEMORY_ATTEMPTS, (struct rec_slice){0}, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &at))) {
		const struct rec_memory_history *history = rec_memory_get(m, REC_MEMORY_HISTORIES, row->task_id);
		if (row->ended_us >= before_us || (history && history->attempt == row->number))
			continue;
		pruned++;
		if (!dry_run)
			rec_memory_erase(m, REC_MEMORY_ATTEMPTS, at);
	}
	return pruned;
}

int rec_memory_gc(struct rec_store *s, struct rec_gc *gc, struct rec_error *error)
{
	(void)error;
	struct rec_memory_store *m = rec_memory_of(s);
	gc->changes = changes_prune(m, gc->older_than_us, UINT64_MAX, gc->dry_run);
	gc->events = events_prune(m, gc->older_than_us, gc->dry_run);
	gc->attempts = attempts_prune(m, gc->older_than_us, gc->dry_run);
	return 0;
}
