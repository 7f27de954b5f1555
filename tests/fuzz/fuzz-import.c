/* fuzz-import.c - import of arbitrary bytes into a store in memory: whole or in pieces the answer is the same, and
 * what was taken comes back byte for byte by export, import, export.
 *
 * The lowest bits of the first byte are the options, the others say in pieces of which size the rest is fed the
 * second time. Made-up ids are random, so messages that show one are not compared.
 */
#include <string.h>

#include "engine/exchange.h"
#include "fuzz.h"
#include "store/backend.h"

static struct rec_store *store_new(void)
{
	const struct rec_store_options options = {.mode = REC_STORE_INIT};
	struct rec_store *store = NULL;
	require(rec_store_memory_open("", &options, &store, NULL) == 0);
	return store;
}

static int import(struct rec_store *store, const struct rec_import_options *options, struct rec_slice input,
		  size_t piece, uint64_t *tasks, struct rec_error *error)
{
	struct rec_import *import = NULL;
	int r = rec_import_begin(store, options, &import, error);
	require(r == 0);
	for (size_t at = 0; r == 0 && at < input.length;) {
		size_t length = input.length - at < piece ? input.length - at : piece;
		r = rec_import_feed(import, (struct rec_slice){input.data + at, length}, error);
		at += length;
	}
	if (r == 0)
		r = rec_import_finish(import, tasks, error);
	require(r <= 0);
	rec_import_free(import);
	require(!rec_store_in_group(store));
	return r;
}

static int line_write(void *context, const struct rec_exported *exported)
{
	struct rec_buffer *out = context;
	require(rec_exported_write_json(out, exported) == 0);
	return rec_buffer_add_text(out, "\n");
}

static void export(struct rec_store *store, struct rec_buffer *out)
{
	rec_buffer_init(out, NULL, SIZE_MAX);
	require(rec_export_all(store, line_write, out, NULL) == 0);
}

static void check_comes_back(struct rec_store *store, bool keep_missing, uint64_t tasks)
{
	const struct rec_import_options options = {.keep_missing = keep_missing};
	struct rec_store *other = store_new();
	struct rec_buffer first, second;
	struct rec_error error;
	uint64_t again = 0;

	export(store, &first);
	require(import(other, &options, rec_buffer_slice(&first), SIZE_MAX, &again, &error) == 0);
	require(again == tasks);
	export(other, &second);
	require(rec_slice_equal(rec_buffer_slice(&first), rec_buffer_slice(&second)));
	rec_buffer_release(&first);
	rec_buffer_release(&second);
	rec_store_close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_error error, error_pieces;
	uint64_t tasks = 0, tasks_pieces = 0;

	if (size == 0)
		return 0;
	const struct rec_import_options options = {.ignore_unknown = data[0] & 1, .keep_missing = data[0] & 2};
	struct rec_slice input = {(const char *)data + 1, size - 1};
	struct rec_store *whole = store_new(), *pieces = store_new();
	int r = import(whole, &options, input, SIZE_MAX, &tasks, &error);
	require(import(pieces, &options, input, (data[0] >> 2) % 32u + 1, &tasks_pieces, &error_pieces) == r);
	require(tasks == tasks_pieces);
	if (r < 0)
		require(strstr(error.message, "task \"") || strcmp(error.message, error_pieces.message) == 0);
	else
		check_comes_back(whole, options.keep_missing, tasks);
	rec_store_close(whole);
	rec_store_close(pieces);
	return 0;
}
