/* test-exchange.h - for the tests of export and import. Every accepted or refused input is fed whole and byte by
 * byte; the outcome, the message included, must be the same. */
#ifndef REC_ENGINE_TEST_EXCHANGE_H
#define REC_ENGINE_TEST_EXCHANGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/exchange.h"
#include "store/backend.h"

#define S(text) rec_slice_of(text)

/* Every column, odd but legal values, blockers in all states; in the order and shape in which export writes. */
static const char everything[] =
	"{\"id\":\" '\\\"/../\\\\é\u202e實裝 "
	"🚧\",\"title\":\"\",\"description\":\"a\\nb\\t\\u0001\\u007f\",\"status\":\"MERGED\","
	"\"priority\":-9223372036854775808,\"depends_on\":[\"z\",\"z\",\"-x\"],\"parent_id\":\"z\",\"external_url\":"
	"\"\","
	"\"created_at\":\"2026-01-01 00:00:02.5+01:00\",\"updated_at\":\"0001-01-01T00:00:00Z\",\"blockers\":["
	"{\"id\":\"k1\",\"question\":\"\",\"answer\":null,\"status\":\"OPEN\",\"created_at\":\"2026-01-01T00:00:01Z\","
	"\"answered_at\":null,\"created_by\":\"agent\"},"
	"{\"id\":\"k2\",\"question\":\"q\",\"answer\":\"\",\"status\":\"ANSWERED\",\"created_at\":\"2026-01-01T00:00:"
	"02Z\","
	"\"answered_at\":\"2026-01-02T00:00:00Z\",\"created_by\":\"human\"},"
	"{\"id\":\"k3\",\"question\":\"q\",\"answer\":\"да\",\"status\":\"RESOLVED\",\"created_at\":\"2026-01-01T00:00:"
	"03Z\","
	"\"answered_at\":\"2026-01-02T00:00:00Z\",\"created_by\":\"system\"}],\"is_leaf\":false,\"prd_id\":\"prd\","
	"\"estimated_hours\":0.1,\"complexity_score\":5,\"uncertainty_level\":\"high\",\"lineage\":[\"a\",\"é\",\"\"],"
	"\"hierarchical_id\":\"1.2\",\"github_issue_number\":9223372036854775807,"
	"\"requirement_ids\":\"[\\\"\\\\u00e9\\\"]\",\"auto_close_github_issue\":1,\"links\":["
	"{\"url\":\"https://t.example/a/b/issues/7\",\"state\":\"closed\",\"kind\":\"issue\",\"reason\":\"completed\","
	"\"time\":\"2026-01-01T00:00:00Z\",\"comments\":-3,\"moved_to\":\"https://t.example/c\","
	"\"observed_at\":\"2026-01-01T00:00:01.5Z\",\"gone\":true,\"made_done_at\":\"2026-01-01T00:00:02Z\"},"
	"{\"url\":\"x:\\\"é\"}]}\n"
	"{\"id\":\"-x\",\"title\":\"t\",\"description\":null,\"status\":\"BACKLOG\",\"priority\":0,\"depends_on\":[],"
	"\"parent_id\":null,\"external_url\":null,\"created_at\":\"2026-01-01T00:00:00.000000+00:00\","
	"\"updated_at\":\"2026-01-01T00:00:00.000000+00:00\",\"blockers\":[],\"is_leaf\":true,\"lineage\":[],"
	"\"requirement_ids\":\"not json\",\"auto_close_github_issue\":-7}\n"
	"{\"id\":\"z\",\"title\":\"t\",\"description\":\"\",\"status\":\"IN_PROGRESS\",\"priority\":5,\"depends_on\":[]"
	","
	"\"parent_id\":null,\"external_url\":\"https://example.org/a/b/pull/"
	"1\",\"created_at\":\"2026-01-01T00:00:00Z\","
	"\"updated_at\":\"2026-01-01T00:00:00Z\",\"blockers\":[],\"is_leaf\":false,\"estimated_hours\":1e+300,"
	"\"lineage\":\"[ ]\",\"requirement_ids\":\"[\\\"a\\\"] \",\"links\":["
	"{\"url\":\"https://example.org/a/b/pull/1\",\"implicit\":true,\"state\":\"open\",\"kind\":\"pull_request\","
	"\"observed_at\":\"2026-01-01T00:00:01Z\"}]}\n";

struct fixture {
	struct rec_failing_allocator memory;
	struct rec_clock_manual clock;
	struct rec_store *store;
	struct rec_error error;
	struct rec_arena arena;
	struct rec_import_options options;
	uint64_t imported;
	size_t step; /* bytes a feed; 0: all at once */
};

static inline void fixture_init(struct fixture *f)
{
	*f = (struct fixture){.step = 0};
	rec_failing_allocator_init(&f->memory, 0, false);
	rec_clock_manual_init(&f->clock, 1767225600000000);
	rec_arena_init(&f->arena, NULL);
	struct rec_store_options options = {
		.mode = REC_STORE_INIT, .allocator = &f->memory.allocator, .clock = &f->clock.clock};
	assert_int_equal(rec_store_memory_open("", &options, &f->store, &f->error), 0);
}

static inline void fixture_release(struct fixture *f)
{
	f->memory.fail_at = 0;
	rec_store_close(f->store);
	rec_arena_release(&f->arena);
	assert_int_equal(f->memory.live, 0);
}

static inline int setup(void **state)
{
	static struct fixture f;
	fixture_init(&f);
	*state = &f;
	return 0;
}

static inline int teardown(void **state)
{
	fixture_release(*state);
	return 0;
}

static inline void fixture_again(struct fixture *f)
{
	size_t step = f->step;
	struct rec_import_options options = f->options;
	fixture_release(f);
	fixture_init(f);
	f->step = step;
	f->options = options;
}

static inline int feed(struct rec_import *import, struct rec_slice text, size_t step, struct rec_error *error)
{
	int r = 0;
	for (size_t at = 0; r == 0 && at < text.length;) {
		size_t length = step && step < text.length - at ? step : text.length - at;
		r = rec_import_feed(import, (struct rec_slice){text.data + at, length}, error);
		at += length;
	}
	return r;
}

static inline int import(struct fixture *f, struct rec_slice text)
{
	struct rec_import *i = NULL;
	f->error.message[0] = '\0';
	int r = rec_import_begin(f->store, &f->options, &i, &f->error);
	if (r == 0)
		r = feed(i, text, f->step, &f->error);
	if (r == 0)
		r = rec_import_finish(i, &f->imported, &f->error);
	rec_import_free(i);
	assert_false(rec_store_in_group(f->store));
	return r;
}

static inline int line_write(void *context, const struct rec_exported *exported)
{
	struct rec_buffer *out = context;
	int r = rec_exported_write_json(out, exported);
	return r ? r : rec_buffer_add_text(out, "\n");
}

/* Every task, a line each; lives until the next call on that buffer. */
static inline const char *export_lines(struct fixture *f, struct rec_buffer *out)
{
	rec_buffer_clear(out);
	rec_buffer_add(out, "", 0);
	assert_int_equal(rec_export_all(f->store, line_write, out, &f->error), 0);
	return out->data ? out->data : "";
}

static inline struct rec_task task_of(struct fixture *f, const char *id)
{
	struct rec_task task;
	assert_int_equal(rec_store_get(f->store, S(id), &f->arena, &task, &f->error), 0);
	return task;
}

static inline void assert_slice(struct rec_slice slice, const char *text)
{
	assert_int_equal(slice.length, strlen(text));
	assert_memory_equal(slice.data, text, slice.length);
}

/* The text is imported, whole and in single bytes. */
static inline void assert_imported(struct fixture *f, const char *text, uint64_t tasks)
{
	for (f->step = 0; f->step < 2; f->step++) {
		fixture_again(f);
		int r = import(f, S(text));
		if (r)
			print_error("%s\n%s\n", text, f->error.message);
		assert_int_equal(r, 0);
		assert_int_equal(f->imported, tasks);
	}
}

/* The text is refused with that message, whole and in single bytes, and nothing is stored. */
static inline void assert_refused(struct fixture *f, const char *text, int code, const char *message)
{
	struct rec_buffer out;
	rec_buffer_init(&out, NULL, SIZE_MAX);
	for (f->step = 0; f->step < 2; f->step++) {
		int r = import(f, S(text));
		if (r != code || !strstr(f->error.message, message))
			print_error("%s\ngave %d: %s\nwanted %d: %s\n", text, r, f->error.message, code, message);
		assert_int_equal(r, code);
		assert_non_null(strstr(f->error.message, message));
		assert_string_equal(export_lines(f, &out), "");
	}
	rec_buffer_release(&out);
}

#define exchange_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
