/* fuzz-files-rows.c - a row of the log of a directory of task files, from any bytes: it ends, and what was read of it
 * is read again from what is written of it, and the same with white space that no short way expects.
 *
 * The first byte says which table, the rest is the record.
 */
#include "fuzz.h"
#include "store/files.h"

static void store_begin(struct rec_memory_store *m)
{
	struct rec_error error;
	*m = (struct rec_memory_store){0};
	rec_store_setup(&m->store, &rec_files_ops, NULL);
	require(rec_memory_embed(m, &error) == 0);
	require(rec_memory_begin(&m->store, &error) == 0);
}

static void store_end(struct rec_memory_store *m)
{
	rec_memory_rollback(&m->store);
	rec_memory_disembed(m);
}

/* The table as lines, after one row was put into it. */
static int row_lines(const struct rec_files_table *table, struct rec_slice json, struct rec_buffer *out)
{
	struct rec_memory_store m;
	struct rec_memory_cursor cursor;
	struct rec_arena arena;
	struct rec_slice key;
	struct rec_error error;
	const void *row;

	rec_arena_init(&arena, NULL);
	store_begin(&m);
	int r = rec_files_row_take(&m, table->table, json, false, &arena, &error);
	require(r == 0 || r == REC_E_INVALID || r == REC_E_LIMIT);
	rec_memory_walk(&m, table->table, (struct rec_slice){NULL, 0}, &cursor);
	while ((row = rec_memory_cursor_next(&cursor, &key)))
		require(rec_files_row_write(out, table, key, row, false) == 0);
	require((r == 0) == (out->length > 0));
	if (r == 0) {
		require(rec_files_row_take(&m, table->table, json, true, &arena, &error) == 0);
		rec_memory_walk(&m, table->table, (struct rec_slice){NULL, 0}, &cursor);
		require(!rec_memory_cursor_next(&cursor, &key));
	}
	store_end(&m);
	rec_arena_release(&arena);
	return r;
}

static void check_row(const struct rec_files_table *table, struct rec_slice json)
{
	struct rec_buffer first, second, spaced;
	struct rec_slice line, rest, written;

	rec_buffer_init(&first, NULL, SIZE_MAX / 2);
	rec_buffer_init(&second, NULL, SIZE_MAX / 2);
	rec_buffer_init(&spaced, NULL, SIZE_MAX / 2);
	int r = row_lines(table, json, &first);
	rec_buffer_add_text(&spaced, " ");
	rec_buffer_add(&spaced, json.data, json.length);
	require(row_lines(table, rec_buffer_slice(&spaced), &second) == r);
	require(rec_slice_equal(rec_buffer_slice(&first), rec_buffer_slice(&second)));
	if (r == 0) {
		rest = rec_buffer_slice(&first);
		require(rec_files_line_next(&rest, &line) && rest.length == 0 && line.data[0] == '+');
		line = (struct rec_slice){line.data + 1, line.length - 1};
		require(rec_files_line_is(line, table->name, &written));
		rec_buffer_clear(&second);
		require(row_lines(table, written, &second) == 0);
		require(rec_slice_equal(rec_buffer_slice(&first), rec_buffer_slice(&second)));
	}
	rec_buffer_release(&first);
	rec_buffer_release(&second);
	rec_buffer_release(&spaced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		check_row(&rec_files_tables[data[0] % rec_files_table_count],
			  (struct rec_slice){(const char *)data + 1, size - 1});
	return 0;
}
