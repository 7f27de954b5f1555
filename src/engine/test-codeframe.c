/* codeframe's databases, exported and imported into new stores of every kind: the export is the same again, and a
 * check gives the expected results byte for byte. */
#include "engine/test-exchange.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/check.h"

struct place {
	char directory[32], uri[64];
};

static void place_new(struct place *p)
{
	snprintf(p->directory, sizeof p->directory, "/tmp/codeframe-XXXXXX");
	assert_non_null(mkdtemp(p->directory));
	snprintf(p->uri, sizeof p->uri, "sqlite:%s/state.db", p->directory);
}

static void place_free(struct place *p)
{
	static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm"};
	char path[80];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", p->directory, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(p->directory), 0);
}

static struct rec_store *store_open(const char *uri, enum rec_store_mode mode)
{
	struct rec_store_options options = {.mode = mode};
	struct rec_store *store;
	struct rec_error error;
	int r = rec_store_open(uri, &options, &store, &error);
	if (r)
		print_error("%s: %s\n", uri, error.message);
	assert_int_equal(r, 0);
	return store;
}

/* A file of codeframe's folder: before + name + after. */
static void path_of(char out[512], const char *before, const char *name, const char *after)
{
	int length = snprintf(out, 512, "%s/codeframe/%s%s%s", getenv("REC_TEST_DATA"), before, name, after);
	assert_true(length > 0 && length < 512);
}

static void read_file(const char *path, struct rec_buffer *out)
{
	struct rec_error error;
	rec_buffer_init(out, NULL, SIZE_MAX);
	assert_int_equal(rec_file_read(path, SIZE_MAX, out, &error), 0);
}

static void export_store(struct rec_store *store, struct rec_buffer *out)
{
	struct rec_error error;
	rec_buffer_init(out, NULL, SIZE_MAX);
	assert_int_equal(rec_export_all(store, line_write, out, &error), 0);
}

static void import_store(struct rec_store *store, const struct rec_buffer *text)
{
	struct rec_import *i;
	struct rec_error error;
	uint64_t tasks;
	assert_int_equal(rec_import_begin(store, NULL, &i, &error), 0);
	int r = rec_import_feed(i, rec_buffer_slice(text), &error);
	if (r == 0)
		r = rec_import_finish(i, &tasks, &error);
	if (r)
		print_error("%s\n", error.message);
	assert_int_equal(r, 0);
	rec_import_free(i);
}

/* The merged results for that batch state are those of the file. */
static void check_store(struct rec_store *store, const char *name)
{
	char path[512];
	struct rec_buffer batch, expected, found;
	struct rec_belief belief;
	struct rec_belief_parser parser;
	struct rec_results results;
	struct rec_error error;
	path_of(path, "", name, ".batch-state.json");
	read_file(path, &batch);
	path_of(path, "", name, ".expected-all.ndjson");
	read_file(path, &expected);
	rec_belief_init(&belief, NULL, 1);
	rec_belief_parser_init(&parser, &belief, false);
	assert_int_equal(rec_belief_parser_feed(&parser, rec_buffer_slice(&batch), &error), 0);
	assert_int_equal(rec_belief_parser_finish(&parser, &error), 0);
	assert_int_equal(rec_check(store, REC_CHECK_MERGED, NULL, 0, &belief, &results, &error), 0);
	rec_buffer_init(&found, NULL, SIZE_MAX);
	for (size_t k = 0; k < results.snapshot.count; k++) {
		struct rec_result_view view;
		rec_results_view(&results, k, &view);
		rec_result_write_json(&found, &view, -1);
		rec_buffer_add_text(&found, "\n");
	}
	assert_string_equal(found.data, expected.data);
	rec_results_release(&results);
	rec_belief_parser_release(&parser);
	rec_belief_release(&belief);
	rec_buffer_release(&batch);
	rec_buffer_release(&expected);
	rec_buffer_release(&found);
}

static void there_and_back(const char *name, const char *uri)
{
	char path[512];
	struct rec_buffer first, second;
	path_of(path, "codeframe-", name, ".db");
	struct rec_store *source = store_open(path, REC_STORE_READ);
	export_store(source, &first);
	check_store(source, name);
	rec_store_close(source);
	struct rec_store *target = store_open(uri, REC_STORE_INIT);
	import_store(target, &first);
	export_store(target, &second);
	assert_string_equal(second.data, first.data);
	check_store(target, name);
	rec_store_close(target);
	rec_buffer_release(&first);
	rec_buffer_release(&second);
}

static void test_codeframe__into_a_store_in_memory(void **state)
{
	(void)state;
	there_and_back("small", "memory:");
	there_and_back("medium", "memory:");
}

static void test_codeframe__into_a_new_sqlite_store(void **state)
{
	struct place p;
	(void)state;
	place_new(&p);
	there_and_back("small", p.uri);
	place_free(&p);
	place_new(&p);
	there_and_back("medium", p.uri);
	place_free(&p);
}

static void test_exchange__every_column_lives_in_sqlite_too(void **state)
{
	struct place p;
	struct rec_buffer text, found;
	(void)state;
	place_new(&p);
	rec_buffer_init(&text, NULL, SIZE_MAX);
	rec_buffer_add_text(&text, everything);
	struct rec_store *store = store_open(p.uri, REC_STORE_INIT);
	import_store(store, &text);
	export_store(store, &found);
	assert_string_equal(found.data, everything);
	rec_store_close(store);
	rec_buffer_release(&text);
	rec_buffer_release(&found);
	place_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codeframe__into_a_store_in_memory),
		cmocka_unit_test(test_codeframe__into_a_new_sqlite_store),
		cmocka_unit_test(test_exchange__every_column_lives_in_sqlite_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
