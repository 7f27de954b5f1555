/* postgres-snapshot.c - facts of many tasks by one statement. The ids go as one array; the answer's rows carry the
 * place of the id in it, so that the server may join in whatever order is cheapest, and the same id may come twice. */
#include "base/text.h"
#include "store/postgres.h"

/* Columns behind the first one, which is the id or the place. */
enum { STATUS = 1, ATTEMPT, CLAIMED, PRIORITY, IS_LEAF, TOTAL, OPEN, FRESH };

#define FEW 1000 /* more are joined as the server likes */

struct taking {
	const struct rec_slice *ids; /* NULL: all */
	size_t count;
	unsigned fields;
	struct rec_snapshot *out;
	size_t taken, fact_capacity, id_capacity;
	struct rec_slice *own_ids;
};

static int32_t clamp(int64_t priority)
{
	return priority > INT32_MAX ? INT32_MAX : priority < INT32_MIN ? INT32_MIN : (int32_t)priority;
}

static bool counts_blockers(unsigned fields, enum rec_status status)
{
	return (fields & REC_SNAPSHOT_ALL_BLOCKERS) || ((fields & REC_SNAPSHOT_BLOCKERS) && status == REC_BLOCKED);
}

static int fill(struct rec_postgres *s, struct taking *t, const PGresult *row, int index, size_t place,
		struct rec_error *error)
{
	struct rec_slice text = rec_postgres_text(s, row, index, STATUS);
	enum rec_status status = rec_status_parse(text);
	struct rec_fact *fact = &t->out->facts[place];
#define NUMBER(column) rec_postgres_number(s, row, index, column)
	fact->status = (uint8_t)status;
	if (t->fields & REC_SNAPSHOT_ATTEMPT) {
		fact->attempt = (uint32_t)NUMBER(ATTEMPT);
		fact->claimed = rec_postgres_bool(s, row, index, CLAIMED);
	}
	if (t->fields & REC_SNAPSHOT_PRIORITY) {
		fact->priority = clamp(NUMBER(PRIORITY));
		fact->is_leaf = rec_postgres_bool(s, row, index, IS_LEAF);
	}
	if (counts_blockers(t->fields, status)) {
		fact->blockers_total = (uint32_t)NUMBER(TOTAL);
		fact->blockers_open = (uint32_t)NUMBER(OPEN);
		fact->blockers_new = (uint32_t)NUMBER(FRESH);
	}
#undef NUMBER
	return status == REC_STATUS_UNRECOGNISED ? rec_snapshot_add_raw(t->out, place, text, error) : 0;
}

/* ---- Some ---- */

static int place_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	struct taking *t = context;
	int64_t place = rec_postgres_number(s, row, index, 0) - 1;
	if (place < 0 || (uint64_t)place >= t->count)
		return rec_fail(error, REC_E_BUG, "%s: an answer without a question (please report)", s->location);
	return fill(s, t, row, index, (size_t)place, error);
}

/* What no task can be named is asked for as the empty text, so that places stay. */
static int put_ids(struct rec_postgres *s, struct rec_postgres_arguments *a, const struct taking *t,
		   struct rec_buffer *bytes, struct rec_error *error)
{
	size_t i = 0;
	while (i < t->count && !rec_id_problem(t->ids[i]))
		i++;
	if (i == t->count)
		return rec_postgres_put_texts(s, a, t->ids, t->count, bytes, error);
	struct rec_slice *ids = rec_zalloc(s->base.allocator, t->count, sizeof *ids);
	rec_buffer_init(bytes, s->base.allocator, 0);
	if (!ids)
		return rec_fail_nomem(error);
	for (i = 0; i < t->count; i++)
		ids[i] = rec_id_problem(t->ids[i]) ? (struct rec_slice){"", 0} : t->ids[i];
	int r = rec_postgres_put_texts(s, a, ids, t->count, bytes, error);
	rec_free(s->base.allocator, ids);
	return r;
}

/* ---- All ---- */

static int keep_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	struct taking *t = context;
	const struct rec_allocator *a = t->out->allocator;
	size_t place = t->taken;
	if (rec_grow(a, (void **)&t->out->facts, &t->fact_capacity, place + 1, sizeof *t->out->facts) < 0 ||
	    rec_grow(a, (void **)&t->own_ids, &t->id_capacity, place + 1, sizeof *t->own_ids) < 0)
		return rec_fail_nomem(error);
	t->out->ids = t->out->own_ids = t->own_ids;
	struct rec_slice id = rec_postgres_text(s, row, index, 0);
	t->own_ids[place] = (struct rec_slice){rec_arena_strndup(&t->out->arena, id.data, id.length), id.length};
	if (!t->own_ids[place].data)
		return rec_fail_nomem(error);
	t->out->facts[place] = (struct rec_fact){0};
	t->taken = t->out->count = place + 1;
	return fill(s, t, row, index, place, error);
}

/* ---- The operation ---- */

/* A second attempt begins anew. */
static int forget(struct taking *t, struct rec_error *error)
{
	t->taken = 0;
	t->out->raw_count = 0;
	if (t->ids)
		return rec_snapshot_reserve(t->out, t->count, error);
	rec_arena_release(&t->out->arena);
	t->out->count = 0;
	return 0;
}

static int take_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct taking *t = context;
	struct rec_postgres_arguments a = {0};
	struct rec_buffer bytes;
	enum rec_postgres_query query = t->ids ? REC_POSTGRES_SNAPSHOT_IDS : REC_POSTGRES_SNAPSHOT_ALL;
	int r = forget(t, error);
	rec_buffer_init(&bytes, s->base.allocator, 0);
	bool few = t->ids && t->count <= FEW;
	if (t->fields || few) {
		query = few      ? REC_POSTGRES_SNAPSHOT_FEW
			: t->ids ? REC_POSTGRES_SNAPSHOT_IDS_FACTS
				 : REC_POSTGRES_SNAPSHOT_ALL_FACTS;
		rec_postgres_put_bool(&a, t->fields & REC_SNAPSHOT_BLOCKERS);
		rec_postgres_put_bool(&a, t->fields & REC_SNAPSHOT_ALL_BLOCKERS);
	}
	if (r == 0 && t->ids)
		r = put_ids(s, &a, t, &bytes, error);
	if (r == 0)
		r = rec_postgres_stream(s, query, &a, t->ids ? place_row : keep_row, t, error);
	rec_buffer_release(&bytes);
	return r;
}

int rec_postgres_snapshot(struct rec_store *store, const struct rec_slice *ids, size_t count, unsigned fields,
			  struct rec_snapshot *out, struct rec_error *error)
{
	struct taking t = {.ids = ids, .count = count, .fields = fields, .out = out};
	if (ids && count == 0)
		return 0;
	return rec_postgres_read(rec_postgres_of(store), take_body, &t, NULL, error);
}
