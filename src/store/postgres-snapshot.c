/* postgres-snapshot.c - facts of many tasks by one statement. The ids go as one array. The answer's rows carry the
 * place of the id in it if they are few; if they are many, the id, whose place is looked up here while the server
 * goes on. The same id may come twice. */
#include <stdlib.h>

#include "base/idmap.h"
#include "base/text.h"
#include "store/postgres.h"

/* Columns behind the first one, which is the id or the place. */
enum { STATUS = 1, BLOCKERS, ATTEMPT, CLAIMED, PRIORITY, IS_LEAF };

#define FEW 2048    /* ids; for more it is worth planning how to find them */
#define SMALL 10000 /* tasks; of more, each look is planned anew, for a plan is kept while the tables grow */

struct taking {
	const struct rec_slice *ids; /* NULL: all */
	size_t count;
	unsigned fields;
	struct rec_snapshot *out;
	struct rec_idmap places; /* of ids, if they are many */
	size_t taken, fact_capacity, id_capacity;
	struct rec_slice *own_ids;
	enum rec_postgres_query query;
	struct rec_buffer apart; /* blockers that came as rows of their own: kind, task, NUL */
};

static int32_t clamp(int64_t priority)
{
	return priority > INT32_MAX ? INT32_MAX : priority < INT32_MIN ? INT32_MIN : (int32_t)priority;
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
#undef NUMBER
	return status == REC_STATUS_UNRECOGNISED ? rec_snapshot_add_raw(t->out, place, text, error) : 0;
}

/* ---- Some ---- */

/* Three numbers of eight bytes; NULL: they were not asked for. */
static void fill_counts(struct rec_postgres *s, struct rec_fact *fact, const PGresult *row, int index)
{
	struct rec_slice bytes = rec_postgres_text(s, row, index, BLOCKERS);
	if (bytes.length != 24)
		return;
	fact->blockers_total = (uint32_t)rec_postgres_bits(bytes.data, 8);
	fact->blockers_open = (uint32_t)rec_postgres_bits(bytes.data + 8, 8);
	fact->blockers_new = (uint32_t)rec_postgres_bits(bytes.data + 16, 8);
}

static int place_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	struct taking *t = context;
	int64_t place = t->places.count > 0 ? rec_idmap_find(&t->places, t->ids, rec_postgres_text(s, row, index, 0))
					    : rec_postgres_number(s, row, index, 0) - 1;
	if (place < 0 || (uint64_t)place >= t->count)
		return rec_fail(error, REC_E_BUG, "%s: an answer without a question (please report)", s->location);
	fill_counts(s, &t->out->facts[place], row, index);
	return fill(s, t, row, index, (size_t)place, error);
}

static int places_make(struct taking *t, struct rec_error *error)
{
	uint32_t first;
	int r = rec_idmap_reserve(&t->places, t->count);
	for (size_t i = 0; r >= 0 && i < t->count; i++)
		r = rec_idmap_add(&t->places, t->ids, (uint32_t)i, &first);
	return r < 0 ? rec_fail_nomem(error) : 0;
}

/* An id that comes again has what its first place has. */
static int repeat(struct taking *t, struct rec_error *error)
{
	size_t raws = t->out->raw_count;
	bool repeats = t->places.count > 0 && t->places.count < t->count;
	for (size_t i = 0; repeats && i < t->count; i++) {
		uint32_t first = rec_idmap_find(&t->places, t->ids, t->ids[i]);
		t->out->facts[i] = t->out->facts[first];
		for (size_t k = 0; first != i && t->out->facts[i].status == REC_STATUS_UNRECOGNISED && k < raws; k++)
			if (t->out->raws[k].index == first &&
			    rec_snapshot_add_raw(t->out, i, t->out->raws[k].text, error) < 0)
				return REC_E_NOMEM;
	}
	return 0;
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

static void count_kind(struct rec_fact *fact, char kind)
{
	fact->blockers_total++;
	fact->blockers_open += kind == 'o';
	fact->blockers_new += kind == 'n';
}

static void count_blocker(struct rec_postgres *s, struct rec_fact *fact, const PGresult *row, int index)
{
	struct rec_slice kind = rec_postgres_text(s, row, index, BLOCKERS);
	if (kind.data)
		count_kind(fact, kind.data[0]);
}

static int keep_row(struct rec_postgres *s, const PGresult *row, int index, void *context, struct rec_error *error)
{
	struct taking *t = context;
	const struct rec_allocator *a = t->out->allocator;
	size_t place = t->taken;
	struct rec_slice id = rec_postgres_text(s, row, index, 0);
	int order = place > 0 ? rec_slice_compare(t->own_ids[place - 1], id) : -1;
	if (order == 0) { /* its next blocker */
		count_blocker(s, &t->out->facts[place - 1], row, index);
		return 0;
	}
	if (order > 0)
		return rec_fail(error, REC_E_BUG, "%s: an answer out of order (please report)", s->location);
	if (rec_grow(a, (void **)&t->out->facts, &t->fact_capacity, place + 1, sizeof *t->out->facts) < 0 ||
	    rec_grow(a, (void **)&t->own_ids, &t->id_capacity, place + 1, sizeof *t->own_ids) < 0)
		return rec_fail_nomem(error);
	t->out->ids = t->out->own_ids = t->own_ids;
	t->own_ids[place] = (struct rec_slice){rec_arena_strndup(&t->out->arena, id.data, id.length), id.length};
	if (!t->own_ids[place].data)
		return rec_fail_nomem(error);
	t->out->facts[place] = (struct rec_fact){0};
	t->taken = t->out->count = place + 1;
	if (t->query == REC_POSTGRES_SNAPSHOT_ALL_FACTS)
		count_blocker(s, &t->out->facts[place], row, index);
	return fill(s, t, row, index, place, error);
}

/* The same where blockers are rows of their own. */
static int keep_row_apart(struct rec_postgres *s, const PGresult *row, int index, void *context,
			  struct rec_error *error)
{
	struct taking *t = context;
	struct rec_slice text = rec_postgres_text(s, row, index, 0);
	if (text.length < 2 || text.data[0] != 1)
		return keep_row(s, row, index, context, error);
	rec_buffer_add(&t->apart, text.data + 1, text.length); /* with the NUL behind it */
	return t->apart.failed ? rec_fail_nomem(error) : 0;
}

static int compare_ids(const void *a, const void *b)
{
	return rec_slice_compare(*(const struct rec_slice *)a, *(const struct rec_slice *)b);
}

/* Once all tasks are there. */
static int count_apart(struct rec_postgres *s, struct taking *t, struct rec_error *error)
{
	const char *at = t->apart.data, *end = at ? at + t->apart.length : NULL;
	while (at < end) {
		struct rec_slice id = rec_slice_of(at + 1);
		struct rec_slice *found = t->taken ? bsearch(&id, t->own_ids, t->taken, sizeof id, compare_ids) : NULL;
		if (!found)
			return rec_fail(error, REC_E_BUG, "%s: a blocker without its task (please report)",
					s->location);
		count_kind(&t->out->facts[found - t->own_ids], *at);
		at += id.length + 2;
	}
	return 0;
}

/* ---- The operation ---- */

/* A second attempt begins anew. */
static int forget(struct taking *t, struct rec_error *error)
{
	t->taken = 0;
	t->out->raw_count = 0;
	rec_buffer_clear(&t->apart);
	if (t->ids)
		return rec_snapshot_reserve(t->out, t->count, error);
	rec_arena_release(&t->out->arena);
	t->out->count = 0;
	return 0;
}

static int take_ids(struct rec_postgres *s, struct taking *t, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	struct rec_buffer bytes;
	bool few = t->places.count == 0, brief = few && t->fields == REC_SNAPSHOT_BLOCKERS;
	if (!brief) {
		rec_postgres_put_bool(&a, t->fields & REC_SNAPSHOT_BLOCKERS);
		rec_postgres_put_bool(&a, t->fields & REC_SNAPSHOT_ALL_BLOCKERS);
	}
	int r = put_ids(s, &a, t, &bytes, error);
	if (!brief) {
		rec_postgres_put_bool(&a, t->fields & REC_SNAPSHOT_ATTEMPT);
		rec_postgres_put_bool(&a, t->fields & REC_SNAPSHOT_PRIORITY);
	}
	if (r == 0 && few)
		r = rec_postgres_stream(s, brief ? REC_POSTGRES_SNAPSHOT_FEW_BLOCKED : REC_POSTGRES_SNAPSHOT_FEW, &a,
					place_row, t, error);
	else if (r == 0)
		r = rec_postgres_stream_afresh(s, REC_POSTGRES_SNAPSHOT_MANY, &a, place_row, t, error);
	rec_buffer_release(&bytes);
	return r ? r : repeat(t, error);
}

static int take_all(struct rec_postgres *s, struct taking *t, struct rec_error *error)
{
	struct rec_postgres_arguments a = {0};
	bool apart = t->fields == REC_SNAPSHOT_BLOCKERS;
	t->query = t->fields == 0 ? REC_POSTGRES_SNAPSHOT_ALL
		   : apart        ? REC_POSTGRES_SNAPSHOT_ALL_BLOCKED
				  : REC_POSTGRES_SNAPSHOT_ALL_FACTS;
	if (t->query == REC_POSTGRES_SNAPSHOT_ALL_FACTS) {
		rec_postgres_put_bool(&a, t->fields & REC_SNAPSHOT_BLOCKERS);
		rec_postgres_put_bool(&a, t->fields & REC_SNAPSHOT_ALL_BLOCKERS);
	}
	rec_postgres_row_fn *fn = apart ? keep_row_apart : keep_row;
	int r = s->small ? rec_postgres_stream(s, t->query, &a, fn, t, error)
			 : rec_postgres_stream_afresh(s, t->query, &a, fn, t, error);
	r = r ? r : count_apart(s, t, error);
	if (r == 0)
		s->small = t->taken < SMALL;
	return r;
}

static int take_body(struct rec_postgres *s, void *context, struct rec_error *error)
{
	struct taking *t = context;
	int r = forget(t, error);
	if (r < 0)
		return r;
	return t->ids ? take_ids(s, t, error) : take_all(s, t, error);
}

int rec_postgres_snapshot(struct rec_store *store, const struct rec_slice *ids, size_t count, unsigned fields,
			  struct rec_snapshot *out, struct rec_error *error)
{
	struct taking t = {.ids = ids, .count = count, .fields = fields, .out = out};
	if (ids && count == 0)
		return 0;
	rec_idmap_init(&t.places, store->allocator, rec_random_u64());
	rec_buffer_init(&t.apart, store->allocator, SIZE_MAX / 2);
	int r = ids && count > FEW ? places_make(&t, error) : 0;
	if (r == 0)
		r = rec_postgres_read(rec_postgres_of(store), take_body, &t, NULL, error);
	rec_idmap_release(&t.places);
	rec_buffer_release(&t.apart);
	return r;
}
