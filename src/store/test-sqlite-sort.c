/* test-sqlite-sort.c - sorting and searching lists of ids, against the simplest way to do either. */
#include "store/test-sqlite.h"

#define COUNT 6000

struct list {
	struct rec_arena arena;
	struct rec_slice ids[COUNT];
	size_t count;
	uint64_t random;
};

static uint64_t draw(struct list *l)
{
	l->random = l->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return l->random >> 33;
}

static void add(struct list *l, const char *bytes, size_t length)
{
	char *copy = rec_arena_strndup(&l->arena, bytes, length);
	assert_non_null(copy);
	l->ids[l->count++] = (struct rec_slice){copy, length};
}

typedef void make_fn(struct list *l, size_t i);

static void make_uuid(struct list *l, size_t i)
{
	char text[40];
	(void)i;
	snprintf(text, sizeof text, "%08llx-%04llx-4%03llx", (unsigned long long)draw(l) & 0xffffffff,
		 (unsigned long long)draw(l) & 0xffff, (unsigned long long)draw(l) & 0xfff);
	add(l, text, strlen(text));
}

static void make_numbered(struct list *l, size_t i)
{
	char text[40];
	snprintf(text, sizeof text, "a-long-common-front-%zu", i * 7919 % 9973);
	add(l, text, strlen(text));
}

static void make_long_equal_front(struct list *l, size_t i)
{
	char text[256];
	memset(text, 'x', sizeof text);
	snprintf(text + 100, sizeof text - 100, "%llu", (unsigned long long)draw(l) % 50);
	add(l, text, i % 3 ? strlen(text) : 100 + i % 4);
}

static void make_duplicate(struct list *l, size_t i)
{
	char text[16];
	(void)i;
	snprintf(text, sizeof text, "t%llu", (unsigned long long)draw(l) % 7);
	add(l, text, strlen(text));
}

static void make_bytes(struct list *l, size_t i)
{
	char text[12];
	size_t length = draw(l) % 12;
	(void)i;
	for (size_t j = 0; j < length; j++)
		text[j] = (char)(draw(l) % 3 ? draw(l) : draw(l) % 2);
	add(l, text, length);
}

static void make_ascending(struct list *l, size_t i)
{
	char text[16];
	snprintf(text, sizeof text, "%08zu", i);
	add(l, text, 8);
}

static void make_descending(struct list *l, size_t i)
{
	char text[16];
	snprintf(text, sizeof text, "%08zu", COUNT - i);
	add(l, text, 8);
}

static make_fn *const makers[] = {make_uuid,  make_numbered,  make_long_equal_front, make_duplicate,
				  make_bytes, make_ascending, make_descending};
#define MAKERS (sizeof makers / sizeof *makers)

static struct list *list_new(make_fn *make, size_t count, uint64_t seed)
{
	struct list *l = rec_zalloc(NULL, 1, sizeof *l);
	assert_non_null(l);
	rec_arena_init(&l->arena, NULL);
	l->random = seed;
	for (size_t i = 0; i < count; i++)
		make(l, i);
	return l;
}

static void list_free(struct list *l)
{
	rec_arena_release(&l->arena);
	rec_free(NULL, l);
}

static void assert_sorted(const struct rec_sqlite_sorted *sorted, size_t count)
{
	bool seen[COUNT] = {false};
	assert_int_equal(sorted->count, count);
	for (size_t i = 0; i < count; i++) {
		uint32_t at = sorted->entries[i].index;
		assert_true(at < count && !seen[at]);
		seen[at] = true;
		if (i == 0)
			continue;
		uint32_t before = sorted->entries[i - 1].index;
		int order = rec_slice_compare(sorted->ids[before], sorted->ids[at]);
		assert_true(order < 0 || (order == 0 && before < at));
	}
}

/* The first entry that is not smaller, by looking at each. */
static size_t naive_seek(const struct rec_sqlite_sorted *sorted, struct rec_slice id)
{
	size_t i = 0;
	while (i < sorted->count && rec_slice_compare(sorted->ids[sorted->entries[i].index], id) < 0)
		i++;
	return i;
}

static void assert_seeks(struct rec_sqlite_sorted *sorted, struct rec_slice id)
{
	bool equal;
	size_t wanted = naive_seek(sorted, id), found = rec_sqlite_sorted_seek(sorted, id, &equal);
	assert_int_equal(found, wanted);
	assert_int_equal(equal,
			 wanted < sorted->count && rec_slice_equal(sorted->ids[sorted->entries[wanted].index], id));
}

static void seek_around(struct list *l, struct rec_sqlite_sorted *sorted)
{
	char text[300];
	for (size_t i = 0; i < 300; i++) {
		struct rec_slice id = l->count ? l->ids[draw(l) % l->count] : S("none");
		assert_seeks(sorted, id);
		if (id.length > 250)
			continue;
		if (id.length)
			memcpy(text, id.data, id.length);
		text[id.length] = (char)draw(l);
		assert_seeks(sorted, (struct rec_slice){text, id.length + 1});
		assert_seeks(sorted, (struct rec_slice){text, id.length / 2});
		if (id.length > 0)
			text[draw(l) % id.length] ^= 1;
		assert_seeks(sorted, (struct rec_slice){text, id.length});
	}
	assert_seeks(sorted, S(""));
	assert_seeks(sorted, S("\xff\xff"));
}

static void test_sort__any_list_comes_out_in_bytewise_order_and_is_found(void **state)
{
	(void)state;
	static const size_t counts[] = {0, 1, 2, 3, 64, 65, 1000, COUNT};
	for (size_t m = 0; m < MAKERS; m++)
		for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
			struct rec_error error;
			struct rec_sqlite_sorted sorted;
			struct list *l = list_new(makers[m], counts[n], m * 100 + n);
			assert_int_equal(rec_sqlite_sort(&sorted, NULL, l->ids, l->count, &error), 0);
			assert_sorted(&sorted, l->count);
			seek_around(l, &sorted);
			rec_sqlite_sorted_release(&sorted);
			list_free(l);
		}
}

static void test_sort__a_merge_finds_every_entry(void **state)
{
	(void)state;
	struct rec_error error;
	struct rec_sqlite_sorted sorted;
	bool equal;
	struct list *l = list_new(make_uuid, COUNT, 3);
	assert_int_equal(rec_sqlite_sort(&sorted, NULL, l->ids, l->count, &error), 0);
	for (size_t i = 0; i < sorted.count; i += 3) {
		assert_int_equal(rec_sqlite_sorted_seek(&sorted, l->ids[sorted.entries[i].index], &equal), i);
		assert_true(equal);
	}
	rec_sqlite_sorted_release(&sorted);
	list_free(l);
}

static void test_sort__without_memory_is_an_error(void **state)
{
	(void)state;
	struct rec_failing_allocator memory;
	struct rec_error error;
	struct rec_sqlite_sorted sorted;
	const struct rec_slice ids[] = {S("b"), S("a")};
	rec_failing_allocator_init(&memory, 1, 0);
	assert_int_equal(rec_sqlite_sort(&sorted, &memory.allocator, ids, 2, &error), REC_E_NOMEM);
	assert_int_equal(error.code, REC_E_NOMEM);
	rec_sqlite_sorted_release(&sorted);
	assert_int_equal(memory.live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort__any_list_comes_out_in_bytewise_order_and_is_found),
		cmocka_unit_test(test_sort__a_merge_finds_every_entry),
		cmocka_unit_test(test_sort__without_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
