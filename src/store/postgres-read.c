/* postgres-read.c - single tasks and blockers, listings, prefixes: one statement each. A listing streams; with
 * blockers, a task's row comes once for each of them, and the task is told when the next one begins. */
#include <stdio.h>

#include "base/text.h"
#include "store/postgres.h"

/* ---- A task with its blockers, from rows that begin with the same task ---- */

struct blocker_list {
	struct rec_blocker *items;
	size_t count, capacity;
};

/* In the arena: the list may move, and leaves its former places there. */
static int blocker_list_add(struct rec_arena *arena, struct blocker_list *list, const struct rec_blocker *blocker,
			    struct rec_error *error)
{
	if (list->count == list->capacity) {
		size_t wanted = list->capacity ? list->capacity * 2 : 4;
		struct rec_blocker *moved = rec_arena_alloc(arena, wanted * sizeof *moved);
		if (!moved)
			return rec_fail_nomem(error);
		if (list->count)
			memcpy(moved, list->items, list->count * sizeof *moved);
		list->items = moved;
		list->capacity = wanted;
	}
	list->items[list->count] = *blocker;
	return rec_postgres_blocker_keep(arena, &list->items[list->count++], error);
}

/* The blocker of this row, if there is one. */
static int row_blocker(struct rec_postgres *s, const PGresult *row, int index, struct rec_arena *arena,
		       struct blocker_list *list, struct rec_error *error)
{
	struct rec_blocker blocker;
	if (rec_postgres_null(s, row, index, REC_POSTGRES_COLUMN_COUNT))
		return 0;
	rec_postgres_blocker_row(s, row, index, REC_POSTGRES_COLUMN_COUNT, &blocker);
	return blocker_list_add(arena, list, &blocker, error);
}

/* ---- get ---- */

struct getting {
	struct rec_slice id;
	struct rec_arena *arena;
	struct rec_task task;
};

/* From the rows `first` to before `end`, at least one. */
static int get_rows(struct rec_postgres *s, const PGresult *rows, int first, int end, struct rec_arena *arena,
		    struct rec_task *task, struct rec_error *error)
{
	struct blocker_list list = {0};
	int r = rec_postgres_task_row(s, rows, first, arena, task, error);
	if (r == 0)
		r = rec_postgres_task_keep(arena, task, error);
	for (int i = first; r == 0 && i < end; i++)
		r = row_blocker(s, rows, i, arena, &list, error);
	task->blockers = list.items;
	task->blocker_count = list.count;
	return r;
}

/* So that a claim of it, which comes next, need not ask again. */
static void note_seen(struct rec_postgres_seen *seen, const struct rec_task *task)
{
	if (task->status != REC_READY || task->claimed || task->id.length >= sizeof seen->id ||
	    task->parent_id.length >= sizeof seen->parent)
		return;
	snprintf(seen->id, sizeof seen->id, "%.*s", (int)task->id.length, task->id.data);
	snprintf(seen->parent, sizeof seen->parent, "%.*s", (int)task->parent_id.length,
		 task->parent_id.data ? task->parent_id.data : "");
	seen->attempt = task->attempt;
	seen->there = true;
}

static int get_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct getting *get = context;
	struct rec_postgres_arguments a = {0};
	PGresult *rows = NULL;
	rec_postgres_put_text(&a, get->id);
	int r = rec_postgres_run(s, REC_POSTGRES_TASK_GET, &a, &rows, error);
	int count = r == 0 ? s->pq.PQntuples(rows) : 0;
	if (r == 0)
		r = count ? get_rows(s, rows, 0, count, get->arena, &get->task, error) : REC_NOT_FOUND;
	rec_postgres_clear(s, rows);
	if (r == 0 && s->in_group)
		note_seen(&s->seen, &get->task);
	return r;
}

int rec_postgres_get(struct rec_store *store, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		     struct rec_error *error)
{
	struct getting get = {.id = id, .arena = arena};
	int r = rec_postgres_read(rec_postgres_of(store), get_body, &get, NULL, error);
	if (r == 0)
		*out = get.task;
	return r;
}

/* ---- get_many ---- */

#define COLUMN_PLACE (REC_POSTGRES_COLUMN_COUNT + REC_POSTGRES_BLOCKER_COLUMNS)

struct getting_many {
	const struct rec_slice *ids;
	size_t count;
	struct rec_arena *arena;
	struct rec_task *tasks;
};

static int get_many_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct getting_many *get = context;
	struct rec_postgres_arguments a = {0};
	struct rec_buffer bytes;
	PGresult *rows = NULL;
	int r = rec_postgres_put_texts(s, &a, get->ids, get->count, &bytes, error);
	if (r == 0)
		r = rec_postgres_run(s, REC_POSTGRES_TASK_GET_MANY, &a, &rows, error);
	int count = r == 0 ? s->pq.PQntuples(rows) : 0;
	for (int first = 0, end; r == 0 && first < count; first = end) {
		int64_t place = rec_postgres_number(s, rows, first, COLUMN_PLACE);
		for (end = first + 1; end < count && rec_postgres_number(s, rows, end, COLUMN_PLACE) == place; end++)
			;
		r = get_rows(s, rows, first, end, get->arena, &get->tasks[place - 1], error);
	}
	rec_postgres_clear(s, rows);
	rec_buffer_release(&bytes);
	return r;
}

int rec_postgres_get_many(struct rec_store *store, const struct rec_slice *ids, size_t count, struct rec_arena *arena,
			  struct rec_task *out, struct rec_error *error)
{
	struct getting_many get = {ids, count, arena, out};
	return rec_postgres_read(rec_postgres_of(store), get_many_body, &get, NULL, error);
}

/* ---- list ---- */

struct listing {
	const struct rec_list_options *options;
	rec_task_fn *fn;
	void *context;
	struct rec_arena arena; /* of the present task */
	struct rec_task task;
	struct blocker_list blockers;
	bool waits; /* `task` has not been told yet */
	bool told;
};

/* As little as every backend tells, so that nobody relies on more. */
static void task_brief(struct rec_task *task)
{
	*task = (struct rec_task){
		.id = task->id,
		.title = task->title,
		.status_text = task->status_text,
		.status = task->status,
		.priority = task->priority,
		.depends_on = task->depends_on,
		.depends_on_count = task->depends_on_count,
		.parent_id = task->parent_id,
		.is_leaf = task->is_leaf,
		.created_at = task->created_at,
	};
}

static int tell(struct listing *l)
{
	if (!l->waits)
		return 0;
	if (l->options->brief)
		task_brief(&l->task);
	l->task.blockers = l->blockers.items;
	l->task.blocker_count = l->blockers.count;
	l->waits = false;
	l->told = true;
	return l->fn(l->context, &l->task);
}

static int listing_next(struct rec_postgres *s, struct listing *l, const PGresult *row, int index,
			struct rec_error *error)
{
	int r = tell(l);
	rec_arena_release(&l->arena);
	l->blockers = (struct blocker_list){0};
	if (r == 0)
		r = rec_postgres_task_row(s, row, index, &l->arena, &l->task, error);
	if (r == 0 && l->options->blockers) /* it outlives its row */
		r = rec_postgres_task_keep(&l->arena, &l->task, error);
	l->waits = r == 0;
	return r;
}

static int listing_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	struct listing *l = context;
	int r = 0;
	if (!l->waits || !rec_slice_equal(l->task.id, rec_postgres_text(s, row, index, REC_POSTGRES_COLUMN_ID)))
		r = listing_next(s, l, row, index, error);
	if (r == 0 && l->options->blockers)
		return row_blocker(s, row, index, &l->arena, &l->blockers, error);
	return r ? r : tell(l);
}

static int put_filter(struct rec_postgres *s, struct rec_postgres_arguments *a, unsigned mask, struct rec_buffer *bytes,
		      struct rec_error *error)
{
	struct rec_slice statuses[REC_STATUS_COUNT];
	size_t count = 0;
	for (unsigned i = 0; i < REC_STATUS_COUNT; i++)
		if (mask & 1u << i)
			statuses[count++] = rec_slice_of(rec_status_text((enum rec_status)i));
	int r = rec_postgres_put_texts(s, a, statuses, count, bytes, error);
	if (r == 0 && !mask)
		a->values[a->count - 1] = NULL;
	rec_postgres_put_bool(a, mask & 1u << REC_STATUS_UNRECOGNISED);
	return r;
}

static int listing_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct listing *l = context;
	struct rec_postgres_arguments a = {0};
	struct rec_buffer bytes;
	enum rec_postgres_query query = l->options->blockers ? REC_POSTGRES_TASK_LIST_BLOCKERS : REC_POSTGRES_TASK_LIST;
	uint64_t limit = l->options->limit;
	l->waits = false;
	rec_postgres_put_text(&a, l->options->after.data ? l->options->after : rec_slice_of(""));
	int r = put_filter(s, &a, l->options->status_mask, &bytes, error);
	rec_postgres_put_optional(&a, limit > 0 && limit <= INT64_MAX, (int64_t)limit);
	if (r == 0)
		r = rec_postgres_stream(s, query, &a, listing_row, l, error);
	rec_buffer_release(&bytes);
	return r ? r : tell(l);
}

int rec_postgres_list(struct rec_store *store, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		      struct rec_error *error)
{
	struct listing l = {.options = options, .fn = fn, .context = context};
	if (options->after.data && !rec_utf8_valid(options->after))
		return rec_fail(error, REC_E_INVALID, "after: is not UTF-8");
	rec_arena_init(&l.arena, store->allocator);
	int r = rec_postgres_read(rec_postgres_of(store), listing_body, &l, &l.told, error);
	rec_arena_release(&l.arena);
	return r;
}

/* ---- Prefixes ---- */

struct finding {
	enum rec_postgres_query query;
	struct rec_slice from, prefix;
	struct rec_arena *arena;
	struct rec_slice *ids;
	size_t capacity, count;
};

static bool begins_with(struct rec_slice text, struct rec_slice front)
{
	return text.length >= front.length && rec_slice_equal((struct rec_slice){text.data, front.length}, front);
}

static int finding_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct finding *f = context;
	struct rec_postgres_arguments a = {0};
	PGresult *rows = NULL;
	f->count = 0;
	rec_postgres_put_text(&a, f->from);
	rec_postgres_put_number(&a, (int64_t)f->capacity);
	int r = rec_postgres_run(s, f->query, &a, &rows, error);
	int count = r == 0 ? s->pq.PQntuples(rows) : 0;
	for (int i = 0; r == 0 && i < count; i++) {
		struct rec_slice id = rec_postgres_text(s, rows, i, 0);
		if (!begins_with(id, f->prefix))
			break;
		f->ids[f->count] = id;
		struct rec_slice *const one[] = {&f->ids[f->count++], NULL};
		r = rec_postgres_keep(f->arena, one, error);
	}
	rec_postgres_clear(s, rows);
	return r;
}

/* The server takes no text that ends within a character: the cut one is completed to the first that begins so.
 * False: no id begins with this. */
static bool complete(struct rec_slice prefix, char from[REC_ID_BYTES_MAX + 4], size_t *ret_length)
{
	size_t length = prefix.length, cut = length ? rec_utf8_error_offset(prefix) : 0;
	if (length)
		memcpy(from, prefix.data, length);
	for (int i = 0; i < 3 && !rec_utf8_valid((struct rec_slice){from, length}); i++) {
		bool second = length == cut + 1;
		unsigned char lead = (unsigned char)from[cut];
		from[length++] = (char)(second && lead == 0xe0 ? 0xa0 : second && lead == 0xf0 ? 0x90 : 0x80);
	}
	*ret_length = length;
	return rec_utf8_valid((struct rec_slice){from, length}) && !memchr(from, '\0', length);
}

int rec_postgres_find_prefix(struct rec_store *store, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
			     struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error)
{
	char from[REC_ID_BYTES_MAX + 4] = "";
	struct finding f = {.query = blockers ? REC_POSTGRES_BLOCKER_FIND : REC_POSTGRES_TASK_FIND,
			    .from = {from, 0},
			    .prefix = prefix,
			    .arena = arena,
			    .ids = ids,
			    .capacity = capacity};
	*ret_count = 0;
	if (!complete(prefix, from, &f.from.length))
		return 0;
	int r = rec_postgres_read(rec_postgres_of(store), finding_body, &f, NULL, error);
	if (r == 0)
		*ret_count = f.count;
	return r;
}

/* ---- Blockers ---- */

struct blocker_listing {
	struct rec_slice task_id;
	bool open_only, told;
	rec_blocker_fn *fn;
	void *context;
};

static int blocker_listing_row(struct rec_postgres *s, const PGresult *row, int index, void *context,
			       struct rec_error *error)
{
	(void)error;
	struct blocker_listing *l = context;
	struct rec_blocker blocker;
	rec_postgres_blocker_row(s, row, index, 0, &blocker);
	l->told = true;
	return l->fn(l->context, &blocker);
}

static int blocker_listing_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct blocker_listing *l = context;
	struct rec_postgres_arguments a = {0};
	if (l->task_id.data)
		rec_postgres_put_text(&a, l->task_id);
	rec_postgres_put_bool(&a, l->open_only);
	return rec_postgres_stream(s, l->task_id.data ? REC_POSTGRES_BLOCKERS_OF_TASK : REC_POSTGRES_BLOCKER_LIST, &a,
				   blocker_listing_row, l, error);
}

int rec_postgres_blockers(struct rec_store *store, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			  void *context, struct rec_error *error)
{
	struct blocker_listing l = {.task_id = task_id, .open_only = open_only, .fn = fn, .context = context};
	return rec_postgres_read(rec_postgres_of(store), blocker_listing_body, &l, &l.told, error);
}

struct blocker_getting {
	struct rec_slice id;
	struct rec_arena *arena;
	struct rec_blocker blocker;
};

static int blocker_get_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct blocker_getting *get = context;
	struct rec_postgres_arguments a = {0};
	PGresult *rows = NULL;
	rec_postgres_put_text(&a, get->id);
	int r = rec_postgres_run(s, REC_POSTGRES_BLOCKER_GET, &a, &rows, error);
	if (r == 0 && s->pq.PQntuples(rows) == 0)
		r = REC_NOT_FOUND;
	if (r == 0) {
		rec_postgres_blocker_row(s, rows, 0, 0, &get->blocker);
		r = rec_postgres_blocker_keep(get->arena, &get->blocker, error);
	}
	rec_postgres_clear(s, rows);
	return r;
}

int rec_postgres_blocker_get(struct rec_store *store, struct rec_slice id, struct rec_arena *arena,
			     struct rec_blocker *out, struct rec_error *error)
{
	struct blocker_getting get = {.id = id, .arena = arena};
	int r = rec_postgres_read(rec_postgres_of(store), blocker_get_body, &get, NULL, error);
	if (r == 0)
		*out = get.blocker;
	return r;
}
