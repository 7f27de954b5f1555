/* moves.c - an array of moves with the ids in an arena; memory that runs out is remembered, because the
 * callback cannot say so. */
#include "engine/moves.h"

void rec_moves_init(struct rec_moves *m, const struct rec_allocator *a)
{
	*m = (struct rec_moves){.failed = false};
	rec_arena_init(&m->arena, a);
}

void rec_moves_release(struct rec_moves *m)
{
	rec_free(m->arena.allocator, m->items);
	rec_arena_release(&m->arena);
	rec_moves_init(m, m->arena.allocator);
}

void rec_moves_add(void *moves, const struct rec_rollup_change *change)
{
	struct rec_moves *m = moves;
	void *items = m->items;
	char *id = rec_arena_strndup(&m->arena, change->id.data, change->id.length);
	if (!id || rec_grow(m->arena.allocator, &items, &m->capacity, m->count + 1, sizeof *m->items)) {
		m->failed = true;
		return;
	}
	m->items = items;
	m->items[m->count++] = (struct rec_move){{id, change->id.length}, change->from, change->to};
}

int rec_moves_record(struct rec_moves *m, struct rec_store *s, struct rec_slice batch_id, struct rec_error *error)
{
	if (m->failed)
		return rec_fail_nomem(error);
	for (size_t i = 0; i < m->count; i++) {
		struct rec_event event = {
			.event = rec_slice_of("TASK_STATUS_CHANGED"),
			.batch_id = batch_id,
			.task_id = m->items[i].id,
			.source = rec_slice_of("rollup"),
			.current_status = rec_slice_of(rec_status_text(m->items[i].from)),
			.detail = rec_slice_of(rec_status_text(m->items[i].to)),
		};
		int r = rec_store_event_add(s, &event, error);
		if (r)
			return r;
	}
	m->count = 0;
	rec_arena_release(&m->arena);
	return 0;
}
