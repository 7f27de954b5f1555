/* belief.c - ids live in an arena, in the order they came; the map finds their index. */
#include "engine/belief.h"

#include "base/text.h"

void rec_belief_init(struct rec_belief *b, const struct rec_allocator *a, uint64_t hash_seed)
{
	*b = (struct rec_belief){.allocator = a};
	rec_arena_init(&b->arena, a);
	rec_idmap_init(&b->map, a, hash_seed);
}

void rec_belief_release(struct rec_belief *b)
{
	b->ids = rec_free(b->allocator, b->ids);
	b->statuses = rec_free(b->allocator, b->statuses);
	b->count = b->capacity = 0;
	rec_idmap_release(&b->map);
	rec_arena_release(&b->arena);
}

/* Room for one more in both arrays. */
static int belief_grow(struct rec_belief *b)
{
	size_t capacity = b->capacity;
	void *ids = b->ids;
	if (rec_grow(b->allocator, &ids, &capacity, b->count + 1, sizeof *b->ids))
		return REC_E_NOMEM;
	b->ids = ids;
	void *statuses = rec_realloc_array(b->allocator, b->statuses, capacity, sizeof *b->statuses);
	if (!statuses)
		return REC_E_NOMEM;
	b->statuses = statuses;
	b->capacity = capacity;
	return 0;
}

/* Enters ids[count], which still points at the caller's bytes, and makes it our own. */
static int belief_enter(struct rec_belief *b, uint32_t *ret_index)
{
	int r = rec_idmap_add(&b->map, b->ids, (uint32_t)b->count, ret_index);
	if (r)
		return r;
	struct rec_slice *id = &b->ids[b->count];
	const char *copy = rec_arena_strndup(&b->arena, id->data, id->length);
	if (!copy) {
		rec_idmap_remove(&b->map, b->ids, *id);
		return REC_E_NOMEM;
	}
	id->data = copy;
	*ret_index = (uint32_t)b->count++;
	return 0;
}

/* 0, or why this can be no belief about that id. */
static int belief_judge(struct rec_slice id, enum rec_status status, struct rec_error *error)
{
	char shown[128];
	const char *problem = rec_id_problem(id);
	if (problem)
		return rec_fail(error, REC_E_INVALID, "task id \"%s\": it %s (ids are 1 to %d bytes of UTF-8)",
				rec_text_shown(shown, sizeof shown, id), problem, REC_ID_BYTES_MAX);
	if ((unsigned)status > REC_STATUS_ABSENT)
		return rec_fail(error, REC_E_INVALID, "task \"%s\": %d is no status that a batch can believe",
				rec_text_shown(shown, sizeof shown, id), (int)status);
	return 0;
}

int rec_belief_add(struct rec_belief *b, struct rec_slice id, enum rec_status status, uint32_t *ret_index,
		   struct rec_error *error)
{
	int r = belief_judge(id, status, error);
	if (r)
		return r;
	if (b->count >= REC_IDMAP_NONE - 1)
		return rec_fail(error, REC_E_LIMIT, "batch state: more than %u tasks", REC_IDMAP_NONE - 1);
	if (b->count == b->capacity && belief_grow(b))
		return rec_fail_nomem(error);
	uint32_t index = 0;
	b->ids[b->count] = id;
	r = belief_enter(b, &index);
	if (r == REC_E_LIMIT)
		return rec_fail(error, r, "batch state: more than %zu tasks", b->count);
	if (r < 0)
		return rec_fail_nomem(error);
	if (r == 0)
		b->statuses[index] = (uint8_t)status;
	if (ret_index)
		*ret_index = index;
	return r;
}

int rec_belief_set(struct rec_belief *b, struct rec_slice id, enum rec_status status, uint32_t *ret_index,
		   struct rec_error *error)
{
	uint32_t index = 0;
	int r = rec_belief_add(b, id, status, &index, error);
	if (r < 0)
		return r;
	b->statuses[index] = (uint8_t)status;
	if (ret_index)
		*ret_index = index;
	return 0;
}

enum rec_status rec_belief_of(const struct rec_belief *b, struct rec_slice id)
{
	uint32_t index = rec_idmap_find(&b->map, b->ids, id);
	return index == REC_IDMAP_NONE ? REC_STATUS_ABSENT : (enum rec_status)b->statuses[index];
}
