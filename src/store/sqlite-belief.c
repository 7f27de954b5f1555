/* sqlite-belief.c - what a batch of codeframe believes: a row of batch_runs, whose task_ids is a JSON list and whose
 * results is a JSON object of run statuses, or NULL. Older rows keep other things in results as well: keys that are no
 * task of the batch are passed over.
 */
#include "base/idmap.h"
#include "base/text.h"
#include "store/sqlite.h"

struct batch {
	struct rec_slice batch_id;
	rec_belief_fn *fn;
	void *context;
	bool told;
	struct rec_arena arena;
	const struct rec_slice *ids;
	size_t count;
	uint8_t *statuses;
	struct rec_idmap map;
};

static int fail_malformed(const struct batch *b, const char *what, struct rec_slice value, struct rec_error *error)
{
	char shown[96], id[96];
	return rec_fail(error, REC_E_INVALID, "batch %s: %s: %s", rec_text_shown(id, sizeof id, b->batch_id), what,
			rec_text_shown(shown, sizeof shown, value));
}

/* ---- A row of batch_runs ---- */

/* The value of one key of results; `token` is its first token. Containers are passed over. */
static int result_value(struct batch *b, struct rec_slice key, struct rec_json_reader *reader,
			struct rec_json_token *token, struct rec_error *error)
{
	unsigned depth = token->depth;
	uint32_t at = rec_idmap_find(&b->map, b->ids, key);
	bool text = token->type == REC_JSON_STRING;
	enum rec_status status = text ? rec_status_parse_belief(token->text) : REC_STATUS_UNRECOGNISED;
	if (at != REC_IDMAP_NONE && status == REC_STATUS_UNRECOGNISED)
		return fail_malformed(b, text ? "results holds an unknown status" : "results holds no text for a task",
				      text ? token->text : key, error);
	if (at != REC_IDMAP_NONE)
		b->statuses[at] = (uint8_t)status;
	if (token->type != REC_JSON_OBJECT_BEGIN && token->type != REC_JSON_ARRAY_BEGIN)
		return 0;
	int r;
	do
		r = rec_json_next(reader, token, error);
	while (r == 0 &&
	       !((token->type == REC_JSON_OBJECT_END || token->type == REC_JSON_ARRAY_END) && token->depth == depth));
	return r;
}

static int results_token(struct batch *b, struct rec_json_reader *reader, struct rec_json_token *token,
			 struct rec_error *error)
{
	struct rec_slice key;
	bool outside = token->depth == 0 && (token->type == REC_JSON_OBJECT_BEGIN || token->type == REC_JSON_NULL);
	if (outside || token->type == REC_JSON_OBJECT_END || token->type == REC_JSON_END_DOCUMENT)
		return 0;
	if (token->type != REC_JSON_KEY)
		return fail_malformed(b, "results is not an object", token->text, error);
	key.length = token->text.length;
	key.data = rec_arena_strndup(&b->arena, token->text.data, token->text.length);
	if (!key.data)
		return rec_fail_nomem(error);
	int r = rec_json_next(reader, token, error);
	return r == 0 ? result_value(b, key, reader, token, error) : r;
}

static int read_results(struct batch *b, struct rec_slice results, struct rec_error *error)
{
	struct rec_json_reader reader;
	struct rec_json_token token;
	int r = rec_sqlite_json_open(&reader, b->arena.allocator, results);
	if (r)
		return rec_fail_nomem(error);
	while ((r = rec_json_next(&reader, &token, error)) == 0) {
		r = results_token(b, &reader, &token, error);
		if (r)
			break;
	}
	rec_json_release(&reader);
	if (r == REC_E_INVALID)
		return rec_fail_context(error, r, "batch_runs.results");
	return r == REC_END ? 0 : r;
}

static int index_ids(struct batch *b, struct rec_error *error)
{
	uint32_t first;
	int r = 0;
	b->statuses = rec_arena_alloc(&b->arena, b->count);
	if (!b->statuses)
		return rec_fail_nomem(error);
	memset(b->statuses, REC_READY, b->count);
	for (size_t i = 0; r >= 0 && i < b->count; i++) {
		if (rec_id_problem(b->ids[i]))
			return fail_malformed(b, "task_ids holds what cannot be an id", b->ids[i], error);
		r = rec_idmap_add(&b->map, b->ids, (uint32_t)i, &first);
	}
	return r < 0 ? rec_fail_nomem(error) : 0;
}

static int read_row(struct batch *b, sqlite3_stmt *row, struct rec_error *error)
{
	struct rec_slice ids = rec_sqlite_column(row, 0), results = rec_sqlite_column(row, 1);
	int r = rec_sqlite_id_list(ids, &b->arena, &b->ids, &b->count, error);
	if (r == REC_E_INVALID)
		return fail_malformed(b, "task_ids is not a list of ids", ids, error);
	if (r == 0)
		r = index_ids(b, error);
	if (r == 0 && results.data)
		r = read_results(b, results, error);
	return r;
}

static int foreign_batch(struct rec_sqlite *s, struct batch *b, struct rec_error *error)
{
	sqlite3_stmt *row;
	uint32_t first;
	if (!rec_sqlite_has_table(s, REC_SQLITE_TABLE_batch_runs))
		return REC_NOT_FOUND;
	int r = rec_sqlite_query(s, REC_SQLITE_BATCH_RUN_GET, &row, error);
	if (r)
		return r;
	rec_sqlite_bind_text(s, row, 1, b->batch_id);
	r = rec_sqlite_next(s, row, error);
	if (r)
		return r == REC_END ? REC_NOT_FOUND : r;
	r = read_row(b, row, error);
	if (r == 0)
		r = rec_sqlite_run(s, row, error);
	sqlite3_reset(row);
	for (size_t i = 0; r == 0 && i < b->count; i++) {
		first = rec_idmap_find(&b->map, b->ids, b->ids[i]);
		b->told = true;
		r = b->fn(b->context, b->ids[i], b->statuses[first]);
	}
	return r;
}

/* ---- The operation ---- */

static int batch_body(struct rec_sqlite *s, void *context, struct rec_error *error)
{
	struct batch *b = context;
	rec_idmap_init(&b->map, s->base.allocator, rec_random_u64());
	int r = foreign_batch(s, b, error);
	rec_idmap_release(&b->map);
	rec_arena_release(&b->arena);
	return r;
}

int rec_sqlite_batch_belief(struct rec_store *store, struct rec_slice batch_id, rec_belief_fn *fn, void *context,
			    struct rec_error *error)
{
	struct batch b = {.batch_id = batch_id, .fn = fn, .context = context};
	rec_arena_init(&b.arena, store->allocator);
	return rec_sqlite_read(rec_sqlite_of(store), batch_body, &b, &b.told, error);
}
