/* sqlite-read.c - single tasks and blockers, listings, prefixes. Listings stream: a row is told while the statement
 * stands on it. A task's blockers come from a second statement in the order of the tasks, merged, so that a
 * listing costs two statements whatever its length, also where blockers have no index.
 */
#include "base/text.h"
#include "store/sqlite.h"

/* ---- Blockers of one task, kept ---- */

struct blocker_list {
	struct rec_arena *arena;
	struct rec_blocker *items;
	size_t count, capacity;
};

static int blocker_list_add(struct blocker_list *list, const struct rec_blocker *blocker, struct rec_error *error)
{
	if (list->count == list->capacity) {
		size_t wanted = list->capacity ? list->capacity * 2 : 4;
		struct rec_blocker *moved = rec_arena_alloc(list->arena, wanted * sizeof *moved);
		if (!moved)
			return rec_fail_nomem(error);
		if (list->count)
			memcpy(moved, list->items, list->count * sizeof *moved);
		list->items = moved;
		list->capacity = wanted;
	}
	list->items[list->count] = *blocker;
	return rec_sqlite_blocker_keep(list->arena, &list->items[list->count++], error);
}

static int blockers_of(struct rec_sqlite *s, struct rec_slice task_id, struct blocker_list *list,
		       struct rec_error *error)
{
	sqlite3_stmt *rows;
	struct rec_blocker blocker;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_blockers))
		return 0;
	int r = rec_sqlite_query(s, REC_SQLITE_BLOCKERS_OF_TASK, &rows, error);
	if (r == 0)
		rec_sqlite_bind_text(s, rows, 1, task_id);
	while (r == 0 && (r = rec_sqlite_next(s, rows, error)) == 0) {
		r = rec_sqlite_blocker_row(s, rows, &blocker, error);
		r = r == 0 ? blocker_list_add(list, &blocker, error) : r == REC_NOT_FOUND ? 0 : r;
	}
	if (rows)
		sqlite3_reset(rows);
	return r == REC_END ? 0 : r;
}

/* ---- get ---- */

struct get_context {
	struct rec_slice id;
	struct rec_arena *arena;
	struct rec_task task;
};

static int get_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct get_context *get = context;
	sqlite3_stmt *row;
	int r = rec_sqlite_query(s, REC_SQLITE_TASK_GET, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, get->id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	r = rec_sqlite_task_row(s, row, get->arena, &get->task, error);
	if (r == 0)
		r = rec_sqlite_task_keep(get->arena, &get->task, error);
	if (r == 0)
		r = rec_sqlite_run(s, row, error);
	sqlite3_reset(row);
	struct blocker_list list = {.arena = get->arena};
	if (r == 0)
		r = blockers_of(s, get->id, &list, error);
	get->task.blockers = list.items;
	get->task.blocker_count = list.count;
	return r;
}

int rec_sqlite_get(struct rec_store *store, struct rec_slice id, struct rec_arena *arena, struct rec_task *out,
		   struct rec_error *error)
{
	struct get_context get = {.id = id, .arena = arena};
	int r = rec_sqlite_read(rec_sqlite_of(store), get_body, &get, NULL, error);
	if (r == 0)
		*out = get.task;
	return r;
}

/* ---- list ---- */

struct listing {
	const struct rec_list_options *options;
	rec_task_fn *fn;
	void *context;
	struct rec_arena arena; /* of the present task */
	uint64_t count;
	bool told;
	sqlite3_stmt *tasks, *blockers;
	bool blocker_waits; /* `blockers` stands on a row not used yet */
};

/* Behind the texts come blobs, which belong to no task. */
static int next_blocker(struct rec_sqlite *s, struct listing *l, struct rec_error *error)
{
	int r = rec_sqlite_next(s, l->blockers, error);
	l->blocker_waits = r == 0 && rec_sqlite_is_text(l->blockers, REC_SQLITE_BLOCKER_task_id);
	return r == REC_END ? 0 : r;
}

static int listing_begin(struct rec_sqlite *s, struct listing *l, struct rec_error *error)
{
	bool brief = l->options->brief, after = l->options->after.data;
	enum rec_sqlite_query query = brief   ? after ? REC_SQLITE_TASK_BRIEF_LIST_AFTER : REC_SQLITE_TASK_BRIEF_LIST
				      : after ? REC_SQLITE_TASK_LIST_AFTER
					      : REC_SQLITE_TASK_LIST;
	int r = rec_sqlite_query(s, query, &l->tasks, error);
	if (r == 0 && after)
		rec_sqlite_bind_text(s, l->tasks, 1, l->options->after);
	if (r || !l->options->blockers || !rec_sqlite_has_table(s, REC_SQLITE_TABLE_blockers))
		return r;
	r = rec_sqlite_query(s, REC_SQLITE_BLOCKERS_BY_TASK, &l->blockers, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, l->blockers, 1, after ? l->options->after : rec_slice_of(""));
	return next_blocker(s, l, error);
}

/* The blockers that belong to `task`; those of tasks that are not there are passed over. */
static int merge_blockers(struct rec_sqlite *s, struct listing *l, struct rec_task *task, struct rec_error *error)
{
	struct blocker_list list = {.arena = &l->arena};
	struct rec_blocker blocker;
	int r = 0;
	while (r == 0 && l->blocker_waits) {
		int order = rec_slice_compare(rec_sqlite_column(l->blockers, REC_SQLITE_BLOCKER_task_id), task->id);
		if (order > 0)
			break;
		if (order == 0) {
			r = rec_sqlite_blocker_row(s, l->blockers, &blocker, error);
			r = r == 0 ? blocker_list_add(&list, &blocker, error) : r == REC_NOT_FOUND ? 0 : r;
		}
		if (r == 0)
			r = next_blocker(s, l, error);
	}
	task->blockers = list.items;
	task->blocker_count = list.count;
	return r;
}

static bool wanted(const struct listing *l, enum rec_status status)
{
	return l->options->status_mask == 0 || l->options->status_mask & 1u << status;
}

static int listing_row(struct rec_sqlite *s, struct listing *l, struct rec_error *error)
{
	struct rec_task task;
	if (l->options->status_mask && !wanted(l, rec_sqlite_status(l->tasks, REC_SQLITE_TASK_status)))
		return 0;
	int r = rec_sqlite_task_row(s, l->tasks, &l->arena, &task, error);
	if (r)
		return r == REC_NOT_FOUND ? 0 : r;
	if (l->blockers)
		r = merge_blockers(s, l, &task, error);
	if (r)
		return r;
	l->count++;
	l->told = true;
	return l->fn(l->context, &task);
}

static int listing_rows(struct rec_sqlite *s, struct listing *l, struct rec_error *error)
{
	while (l->options->limit == 0 || l->count < l->options->limit) {
		int r = rec_sqlite_next(s, l->tasks, error);
		if (r == REC_END)
			return 0;
		if (r == 0)
			r = listing_row(s, l, error);
		rec_arena_release(&l->arena);
		if (r)
			return r;
	}
	return 0;
}

static int listing_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct listing *l = context;
	l->tasks = l->blockers = NULL;
	l->count = 0;
	int r = listing_begin(s, l, error);
	if (r == 0)
		r = listing_rows(s, l, error);
	if (l->tasks)
		sqlite3_reset(l->tasks);
	if (l->blockers)
		sqlite3_reset(l->blockers);
	return r;
}

int rec_sqlite_list(struct rec_store *store, const struct rec_list_options *options, rec_task_fn *fn, void *context,
		    struct rec_error *error)
{
	struct listing l = {.options = options, .fn = fn, .context = context};
	rec_arena_init(&l.arena, store->allocator);
	int r = rec_sqlite_read(rec_sqlite_of(store), listing_body, &l, &l.told, error);
	rec_arena_release(&l.arena);
	return r;
}

/* ---- Prefixes ---- */

struct finding {
	bool blockers;
	struct rec_slice prefix;
	struct rec_arena *arena;
	struct rec_slice *ids;
	size_t capacity, count;
};

static bool begins_with(struct rec_slice text, struct rec_slice front)
{
	return front.length == 0 ||
	       (front.data && text.length >= front.length && memcmp(text.data, front.data, front.length) == 0);
}

/* 0; REC_END: ids that begin so are over. */
static int finding_row(struct finding *f, sqlite3_stmt *row, struct rec_error *error)
{
	struct rec_slice id = rec_sqlite_text(row, 0);
	if (!id.data || rec_id_problem(id))
		return 0;
	if (!begins_with(id, f->prefix))
		return REC_END;
	char *copy = rec_arena_strndup(f->arena, id.data, id.length);
	if (!copy)
		return rec_fail_nomem(error);
	f->ids[f->count++] = (struct rec_slice){copy, id.length};
	return 0;
}

static int finding_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct finding *f = context;
	sqlite3_stmt *rows;
	f->count = 0;
	if (f->blockers && !rec_sqlite_has_table(s, REC_SQLITE_TABLE_blockers))
		return 0;
	int r = rec_sqlite_query(s, f->blockers ? REC_SQLITE_BLOCKER_FIND : REC_SQLITE_TASK_FIND, &rows, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, rows, 1, f->prefix.data ? f->prefix : rec_slice_of(""));
	while (r == 0 && f->count < f->capacity) {
		r = rec_sqlite_next(s, rows, error);
		if (r == 0)
			r = finding_row(f, rows, error);
	}
	sqlite3_reset(rows);
	return r == REC_END ? 0 : r;
}

int rec_sqlite_find_prefix(struct rec_store *store, bool blockers, struct rec_slice prefix, struct rec_arena *arena,
			   struct rec_slice *ids, size_t capacity, size_t *ret_count, struct rec_error *error)
{
	struct finding f = {blockers, prefix, arena, ids, capacity, 0};
	int r = rec_sqlite_read(rec_sqlite_of(store), finding_body, &f, NULL, error);
	if (r == 0)
		*ret_count = f.count;
	return r;
}

/* ---- Blockers ---- */

struct blocker_listing {
	struct rec_slice task_id;
	bool open_only;
	rec_blocker_fn *fn;
	void *context;
	bool told;
};

static int blocker_listing_row(struct rec_sqlite *s, struct blocker_listing *l, sqlite3_stmt *row,
			       struct rec_error *error)
{
	struct rec_blocker blocker;
	int r = rec_sqlite_blocker_row(s, row, &blocker, error);
	if (r)
		return r == REC_NOT_FOUND ? 0 : r;
	if (l->open_only && (blocker.status == REC_ANSWERED || blocker.status == REC_RESOLVED))
		return 0;
	l->told = true;
	return l->fn(l->context, &blocker);
}

static int blocker_listing_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct blocker_listing *l = context;
	sqlite3_stmt *rows;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_blockers))
		return 0;
	int r = rec_sqlite_query(s, l->task_id.data ? REC_SQLITE_BLOCKERS_OF_TASK : REC_SQLITE_BLOCKER_LIST, &rows,
				 error);
	if (r)
		return r;
	if (l->task_id.data)
		rec_sqlite_bind_text(s, rows, 1, l->task_id);
	for (;;) {
		r = rec_sqlite_next(s, rows, error);
		if (r)
			return r == REC_END ? 0 : r;
		r = blocker_listing_row(s, l, rows, error);
		if (r)
			break;
	}
	sqlite3_reset(rows);
	return r;
}

int rec_sqlite_blockers(struct rec_store *store, struct rec_slice task_id, bool open_only, rec_blocker_fn *fn,
			void *context, struct rec_error *error)
{
	struct blocker_listing l = {task_id, open_only, fn, context, false};
	return rec_sqlite_read(rec_sqlite_of(store), blocker_listing_body, &l, &l.told, error);
}

struct blocker_get {
	struct rec_slice id;
	struct rec_arena *arena;
	struct rec_blocker blocker;
};

static int blocker_get_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct blocker_get *get = context;
	sqlite3_stmt *row;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_blockers))
		return REC_NOT_FOUND;
	int r = rec_sqlite_query(s, REC_SQLITE_BLOCKER_GET, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, get->id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	r = rec_sqlite_blocker_row(s, row, &get->blocker, error);
	if (r == 0)
		r = rec_sqlite_blocker_keep(get->arena, &get->blocker, error);
	if (r == 0)
		r = rec_sqlite_run(s, row, error);
	sqlite3_reset(row);
	return r;
}

int rec_sqlite_blocker_get(struct rec_store *store, struct rec_slice id, struct rec_arena *arena,
			   struct rec_blocker *out, struct rec_error *error)
{
	struct blocker_get get = {.id = id, .arena = arena};
	int r = rec_sqlite_read(rec_sqlite_of(store), blocker_get_body, &get, NULL, error);
	if (r == 0)
		*out = get.blocker;
	return r;
}
