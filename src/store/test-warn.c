/* test-warn.c - warnings are told once, to whoever listens, and not without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/wrapper.h"

struct heard {
	size_t count;
	char last[256];
};

static void hear(void *context, const struct rec_warning *warning)
{
	struct heard *h = context;
	h->count++;
	snprintf(h->last, sizeof h->last, "%.*s %s %s [%s]", (int)warning->task_id.length,
		 warning->task_id.data ? warning->task_id.data : "", warning->column, warning->problem, warning->shown);
}

/* A store of which only the place for warnings is used. */
struct fixture {
	struct rec_store store;
	struct rec_failing_allocator memory;
	struct heard heard;
};

static void fixture_init(struct fixture *f)
{
	static const struct rec_store_ops none = {.backend = "none"};
	*f = (struct fixture){.heard = {0}};
	rec_failing_allocator_init(&f->memory, 0, 0);
	rec_store_setup(&f->store, &none, &(struct rec_store_options){.allocator = &f->memory.allocator});
	rec_store_on_warning(&f->store, hear, &f->heard);
}

static void fixture_end(struct fixture *f)
{
	f->store.warned = rec_warned_free(f->store.allocator, f->store.warned);
	assert_int_equal(f->memory.live, 0);
}

#define S(text) rec_slice_of(text)
#define NONE ((struct rec_slice){NULL, 0})

static void test_warn__is_told_once_for_each_id_and_column(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	for (int i = 0; i < 3; i++) {
		rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
		assert_int_equal(f.heard.count, 1);
	}
	assert_string_equal(f.heard.last, "t title is NULL []");
	rec_store_warn(&f.store, S("t"), "status", "is not known", S("WAIT\nING"));
	assert_string_equal(f.heard.last, "t status is not known [WAIT\\x0aING]");
	rec_store_warn(&f.store, S("tt"), "itle", "is NULL", NONE);
	rec_store_warn(&f.store, NONE, "id", "is NULL", NONE);
	rec_store_warn(&f.store, NONE, "id", "is NULL", NONE);
	assert_int_equal(f.heard.count, 4);
	fixture_end(&f);
}

static void test_warn__costs_nothing_while_nobody_listens(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	rec_store_on_warning(&f.store, NULL, NULL);
	rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
	assert_int_equal(f.memory.calls, 0);
	rec_store_on_warning(&f.store, hear, &f.heard);
	rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE); /* it was not told yet */
	assert_int_equal(f.heard.count, 1);
	fixture_end(&f);
}

static void test_warn__a_new_listener_hears_all_again(void **state)
{
	(void)state;
	struct fixture f;
	struct heard other = {0};
	rec_warning_fn *fn;
	void *context;
	fixture_init(&f);
	rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
	rec_store_warning_listener(&f.store, &fn, &context);
	assert_true(fn == hear && context == &f.heard);
	rec_store_on_warning(&f.store, hear, &other);
	rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
	assert_int_equal(other.count, 1);
	rec_store_on_warning(&f.store, fn, context);
	rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
	assert_int_equal(f.heard.count, 2);
	fixture_end(&f);
}

static void test_warn__ends_after_ten_thousand_with_one_that_says_so(void **state)
{
	(void)state;
	struct fixture f;
	char id[16];
	fixture_init(&f);
	for (int i = 0; i < 12000; i++) {
		snprintf(id, sizeof id, "t%d", i);
		rec_store_warn(&f.store, S(id), "title", "is NULL", NONE);
	}
	assert_int_equal(f.heard.count, 10001);
	assert_non_null(strstr(f.heard.last, "too many"));
	fixture_end(&f);
}

static void call_store(void *context, const struct rec_warning *warning)
{
	struct rec_error error;
	struct rec_store *s = context;
	(void)warning;
	assert_int_equal(rec_read_enter(s, &error), REC_E_BUG);
}

static void test_warn__listener_must_not_call_the_store(void **state)
{
	(void)state;
	struct fixture f;
	struct rec_error error;
	fixture_init(&f);
	rec_store_on_warning(&f.store, call_store, &f.store);
	rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
	assert_int_equal(rec_read_enter(&f.store, &error), 0);
	fixture_end(&f);
}

static void test_warn__memory_does_not_grow_with_repetition(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
	uint64_t calls = f.memory.calls;
	for (int i = 0; i < 100000; i++)
		rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
	assert_int_equal(f.memory.calls, calls);
	fixture_end(&f);
}

static void test_warn__endless_ids_and_columns_are_harmless(void **state)
{
	(void)state;
	struct fixture f;
	static char endless[100000], column[200];
	memset(endless, 'x', sizeof endless);
	memset(column, 'c', sizeof column - 1);
	fixture_init(&f);
	rec_store_warn(&f.store, (struct rec_slice){endless, sizeof endless}, column, "is too long",
		       (struct rec_slice){endless, sizeof endless});
	rec_store_warn(&f.store, (struct rec_slice){endless, sizeof endless - 1}, column, "is too long", NONE);
	assert_int_equal(f.heard.count, 1); /* alike in their first 255 bytes */
	fixture_end(&f);
}

static void test_warn__is_told_even_without_memory_to_remember_it(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 20; n++)
		for (int persistent = 0; persistent < 2; persistent++) {
			struct fixture f;
			fixture_init(&f);
			f.memory.fail_at = n;
			f.memory.persistent = persistent;
			rec_store_warn(&f.store, S("t"), "title", "is NULL", NONE);
			rec_store_warn(&f.store, S("u"), "title", "is NULL", NONE);
			assert_int_equal(f.heard.count, 2);
			f.memory.fail_at = 0;
			rec_store_warn(&f.store, S("v"), "title", "is NULL", NONE);
			rec_store_warn(&f.store, S("v"), "title", "is NULL", NONE);
			assert_int_equal(f.heard.count, 3);
			fixture_end(&f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_warn__is_told_once_for_each_id_and_column),
		cmocka_unit_test(test_warn__costs_nothing_while_nobody_listens),
		cmocka_unit_test(test_warn__a_new_listener_hears_all_again),
		cmocka_unit_test(test_warn__ends_after_ten_thousand_with_one_that_says_so),
		cmocka_unit_test(test_warn__listener_must_not_call_the_store),
		cmocka_unit_test(test_warn__memory_does_not_grow_with_repetition),
		cmocka_unit_test(test_warn__endless_ids_and_columns_are_harmless),
		cmocka_unit_test(test_warn__is_told_even_without_memory_to_remember_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
