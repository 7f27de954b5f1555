/* warn.c - a bad row is told once to each listener, not at every look. What was told is remembered in a set
 * of "column NUL id"; the set is bounded, and when it is full one last warning says that no more will come. */
#include "base/idmap.h"
#include "base/text.h"
#include "store/wrapper.h"

#define WARNINGS_MAX 10000
#define SHOWN_BYTES 96
#define KEY_BYTES (64 + REC_ID_BYTES_MAX)

struct rec_warned {
	struct rec_arena arena;
	struct rec_idmap map;
	struct rec_slice *keys;
	size_t count, capacity;
	bool full;
};

struct rec_warned *rec_warned_free(const struct rec_allocator *a, struct rec_warned *warned)
{
	if (!warned)
		return NULL;
	rec_idmap_release(&warned->map);
	rec_arena_release(&warned->arena);
	rec_free(a, warned->keys);
	return rec_free(a, warned);
}

void rec_store_on_warning(struct rec_store *s, rec_warning_fn *fn, void *context)
{
	s->warned = rec_warned_free(s->allocator, s->warned);
	s->warn = fn;
	s->warn_context = context;
}

void rec_store_warning_listener(const struct rec_store *s, rec_warning_fn **ret_fn, void **ret_context)
{
	*ret_fn = s->warn;
	*ret_context = s->warn_context;
}

static struct rec_warned *warned_of(struct rec_store *s)
{
	if (s->warned)
		return s->warned;
	struct rec_warned *warned = rec_zalloc(s->allocator, 1, sizeof *warned);
	if (!warned)
		return NULL;
	rec_arena_init(&warned->arena, s->allocator);
	rec_idmap_init(&warned->map, s->allocator, rec_random_u64());
	return s->warned = warned;
}

/* Ids that agree in their first 255 bytes count as one; valid ids are not longer. */
static struct rec_slice key_make(char buffer[KEY_BYTES], const char *column, struct rec_slice id)
{
	size_t column_length = strnlen(column, KEY_BYTES - REC_ID_BYTES_MAX - 1);
	size_t id_length = id.length < REC_ID_BYTES_MAX ? id.length : REC_ID_BYTES_MAX;
	memcpy(buffer, column, column_length);
	buffer[column_length] = '\0';
	if (id_length)
		memcpy(buffer + column_length + 1, id.data, id_length);
	return (struct rec_slice){buffer, column_length + 1 + id_length};
}

/* Is this one new? Without memory to remember it, it counts as new: better told twice than never. */
static bool remember(struct rec_store *s, const char *column, struct rec_slice id)
{
	char buffer[KEY_BYTES];
	uint32_t first;
	struct rec_slice key = key_make(buffer, column, id);
	struct rec_warned *warned = warned_of(s);
	if (!warned)
		return true;
	if (rec_idmap_find(&warned->map, warned->keys, key) != REC_IDMAP_NONE)
		return false;
	char *copy = rec_arena_strndup(&warned->arena, key.data, key.length);
	if (!copy ||
	    rec_grow(s->allocator, (void **)&warned->keys, &warned->capacity, warned->count + 1, sizeof key) < 0)
		return true;
	warned->keys[warned->count] = (struct rec_slice){copy, key.length};
	warned->count += rec_idmap_add(&warned->map, warned->keys, (uint32_t)warned->count, &first) == 0;
	return true;
}

static void tell(struct rec_store *s, struct rec_slice task_id, const char *column, const char *problem,
		 struct rec_slice value)
{
	char shown[SHOWN_BYTES] = "";
	if (value.data)
		rec_text_shown(shown, sizeof shown, value);
	struct rec_warning warning = {task_id, column, problem, shown};
	bool within = s->in_callback; /* a stream that tells of its rows */
	s->in_callback = true;
	s->warn(s->warn_context, &warning);
	s->in_callback = within;
}

void rec_store_warn(struct rec_store *s, struct rec_slice task_id, const char *column, const char *problem,
		    struct rec_slice value)
{
	if (!s->warn || (s->warned && s->warned->full))
		return;
	if (s->warned && s->warned->count >= WARNINGS_MAX) {
		s->warned->full = true;
		tell(s, (struct rec_slice){0}, "warnings", "are too many: further bad rows are not told",
		     (struct rec_slice){0});
		return;
	}
	if (remember(s, column, task_id))
		tell(s, task_id, column, problem, value);
}
