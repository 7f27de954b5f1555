/* Tables and the output below them. */
#include "base/test-support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/table.h"

static const struct table_column columns[] = {
	{.title = "ID", .columns_cut = 4},
	{.title = "N", .right = true},
	{.title = "TITLE", .columns_cut = 6},
};

/* Output that stays in the buffer. */
static struct output out;
static struct table table;

static int start(void **state)
{
	(void)state;
	output_init(&out, -1, COLOUR_NEVER);
	table_init(&table, &out, columns, 3);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	table_release(&table);
	output_release(&out);
	return 0;
}

static void row(const char *id, int64_t number, const char *title)
{
	table_text(&table, STYLE_RED, id);
	table_number(&table, number);
	table_text(&table, STYLE_PLAIN, title);
}

static void test_table__aligns_its_columns(void **state)
{
	(void)state;
	row("a", 1, "first");
	row("bbbbb", 1000, "second");
	table_flush(&table);
	assert_string_equal(out.buffer.data, "ID        N  TITLE\n"
					     "a         1  first\n"
					     "bbbbb  1000  second\n");
}

static void test_table__without_rows_writes_nothing(void **state)
{
	(void)state;
	table_flush(&table);
	assert_int_equal(out.buffer.length, 0);
}

static void test_table__measures_columns_not_bytes(void **state)
{
	(void)state;
	row("実装", 1, "x");
	row("äö", 1, "x");
	row("abcd", 1, "x");
	table_flush(&table);
	assert_string_equal(out.buffer.data, "ID    N  TITLE\n"
					     "実装  1  x\n"
					     "äö    1  x\n"
					     "abcd  1  x\n");
}

static void test_table__cuts_only_on_a_terminal_and_only_what_gives_way(void **state)
{
	(void)state;
	out.columns = 20;
	row("abcdefgh", 123456, "a long title");
	row("x", 1, "y");
	table_flush(&table);
	assert_string_equal(out.buffer.data, "ID         N  TITLE\n"
					     "abc…  123456  a lon…\n"
					     "x          1  y\n");
}

static void test_table__cuts_ids_only_to_where_they_differ(void **state)
{
	(void)state;
	static const struct table_column ids[] = {{.title = "ID", .is_id = true}, {.title = "TITLE"}};
	static const char *const uuids[] = {"4be03db0-dc25", "35bf992d-c9e9", "35bf992d-c9e9"};
	static const char *const words[] = {"component-parser-1", "component-parser-2", "component"};
	out.columns = 20;
	struct table table_of_ids;
	table_init(&table_of_ids, &out, ids, 2);
	for (size_t i = 0; i < 3; i++) {
		table_text(&table_of_ids, STYLE_PLAIN, uuids[i]);
		table_text(&table_of_ids, STYLE_PLAIN, "a title");
	}
	table_flush(&table_of_ids);
	assert_non_null(strstr(out.buffer.data, "\n4be03db0…  a title\n35bf992d…  a title\n35bf992d…  a title\n"));
	table_release(&table_of_ids);
	table_init(&table_of_ids, &out, ids, 2);
	for (size_t i = 0; i < 3; i++) {
		table_text(&table_of_ids, STYLE_PLAIN, words[i]);
		table_text(&table_of_ids, STYLE_PLAIN, "a title");
	}
	table_flush(&table_of_ids);
	assert_non_null(strstr(out.buffer.data, "\ncomponent-parser-1  a title\ncomponent-parser-2  a title\n"
						"component           a title\n"));
	table_release(&table_of_ids);
}

static void test_table__cuts_wide_characters_whole(void **state)
{
	(void)state;
	out.columns = 15;
	row("実装タスク", 1, "title");
	table_flush(&table);
	assert_non_null(strstr(out.buffer.data, "\n実装…"));
}

static void test_table__makes_control_characters_visible(void **state)
{
	(void)state;
	row("a\033[31m\nb", 1, "t\tt\x7f\x94");
	table_flush(&table);
	assert_non_null(strstr(out.buffer.data, "a\\x1b[31m\\x0ab"));
	assert_non_null(strstr(out.buffer.data, "t\\x09t\\x7f\\x94"));
}

static void test_table__colours_where_wanted(void **state)
{
	(void)state;
	out.colour = true;
	row("a", 1, "x");
	table_flush(&table);
	assert_non_null(strstr(out.buffer.data, "\033[1mID\033[0m"));
	assert_non_null(strstr(out.buffer.data, "\033[31ma\033[0m   1  x\n"));
}

static void test_table__streams_after_the_first_rows(void **state)
{
	(void)state;
	for (int i = 0; i < TABLE_ROWS_KEPT - 1; i++)
		row("a", i, "x");
	assert_int_equal(out.buffer.length, 0);
	row("a", 1, "x");
	size_t length = out.buffer.length;
	assert_true(length > 0);
	row("longer than all", 1, "the last one");
	assert_true(out.buffer.length > length);
	assert_int_equal(table.cells.length, 0);
	assert_int_equal(table.rows, TABLE_ROWS_KEPT + 1);
	assert_non_null(strstr(out.buffer.data, "longer than all"));
	assert_non_null(strstr(out.buffer.data, "the last one\n"));
}

/* ---- Output -------------------------------------------------------------------------------------- */

static void test_output__tells_a_full_disk(void **state)
{
	(void)state;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	struct output full;
	output_init(&full, fd, COLOUR_AUTO);
	output_text(&full, "lost");
	assert_false(output_broken(&full));
	assert_int_equal(output_flush(&full), ENOSPC);
	assert_true(output_broken(&full));
	output_text(&full, "more");
	assert_int_equal(output_flush(&full), ENOSPC);
	output_release(&full);
	close(fd);
}

static void test_output__writes_a_full_buffer_by_itself(void **state)
{
	(void)state;
	int pipe_ends[2];
	assert_int_equal(pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_true(fcntl(pipe_ends[1], F_SETPIPE_SZ, OUTPUT_FLUSH_BYTES) > 0);
	struct output piped;
	output_init(&piped, pipe_ends[1], COLOUR_AUTO);
	char kilobyte[1024];
	memset(kilobyte, 'x', sizeof kilobyte);
	for (size_t i = 0; i + 1 < OUTPUT_FLUSH_BYTES / sizeof kilobyte; i++)
		output_bytes(&piped, (struct rec_slice){kilobyte, sizeof kilobyte});
	char byte;
	assert_int_equal(read(pipe_ends[0], &byte, 1), -1);
	output_bytes(&piped, (struct rec_slice){kilobyte, sizeof kilobyte});
	assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
	assert_int_equal(piped.buffer.length, 0);
	assert_int_equal(output_flush(&piped), 0);
	output_release(&piped);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void test_output__of_a_record_over_the_limit_is_a_problem(void **state)
{
	(void)state;
	struct output small;
	output_init(&small, -1, COLOUR_AUTO);
	small.buffer.maximum = 10;
	output_text(&small, "more than ten bytes");
	assert_int_equal(output_flush(&small), EMSGSIZE);
	output_release(&small);
}

static void set_environment(const char *no_color, const char *term)
{
	assert_int_equal(setenv("NO_COLOR", no_color, 1), 0);
	assert_int_equal(setenv("TERM", term, 1), 0);
}

static void test_output__is_coloured_on_terminals_unless_somebody_objects(void **state)
{
	(void)state;
	struct output terminal;
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		skip();
	static const struct {
		const char *no_color, *term;
		enum colour_choice choice;
		bool coloured;
	} cases[] = {
		{"", "xterm", COLOUR_AUTO, true},   {"1", "xterm", COLOUR_AUTO, false},
		{"", "dumb", COLOUR_AUTO, false},   {"", "", COLOUR_AUTO, false},
		{"1", "dumb", COLOUR_ALWAYS, true}, {"", "xterm", COLOUR_NEVER, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		set_environment(cases[i].no_color, cases[i].term);
		output_init(&terminal, fd, cases[i].choice);
		assert_true(terminal.terminal);
		assert_int_equal(terminal.colour, cases[i].coloured);
		output_release(&terminal);
	}
	close(fd);
}

static void test_output__takes_the_width_from_columns_or_the_terminal(void **state)
{
	(void)state;
	struct output terminal;
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		skip();
	assert_int_equal(setenv("COLUMNS", "123", 1), 0);
	output_init(&terminal, fd, COLOUR_AUTO);
	assert_int_equal(terminal.columns, 123);
	assert_int_equal(setenv("COLUMNS", "nonsense", 1), 0);
	output_init(&terminal, fd, COLOUR_AUTO);
	assert_int_equal(terminal.columns, 80);
	assert_int_equal(setenv("COLUMNS", "40", 1), 0);
	output_init(&terminal, -1, COLOUR_AUTO);
	assert_int_equal(terminal.columns, 0);
	close(fd);
}

int main(void)
{
#define TABLE_TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TABLE_TEST(test_table__aligns_its_columns),
		TABLE_TEST(test_table__without_rows_writes_nothing),
		TABLE_TEST(test_table__measures_columns_not_bytes),
		TABLE_TEST(test_table__cuts_only_on_a_terminal_and_only_what_gives_way),
		TABLE_TEST(test_table__cuts_ids_only_to_where_they_differ),
		TABLE_TEST(test_table__cuts_wide_characters_whole),
		TABLE_TEST(test_table__makes_control_characters_visible),
		TABLE_TEST(test_table__colours_where_wanted),
		TABLE_TEST(test_table__streams_after_the_first_rows),
		cmocka_unit_test(test_output__tells_a_full_disk),
		cmocka_unit_test(test_output__writes_a_full_buffer_by_itself),
		cmocka_unit_test(test_output__of_a_record_over_the_limit_is_a_problem),
		cmocka_unit_test(test_output__is_coloured_on_terminals_unless_somebody_objects),
		cmocka_unit_test(test_output__takes_the_width_from_columns_or_the_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
