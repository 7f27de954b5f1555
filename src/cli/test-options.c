/* The option parser: every form, every mistake. */
#include "base/test-support.h"

#include "cli/options.h"

static int run_nothing(struct cli *cli, const struct arguments *arguments)
{
	(void)cli, (void)arguments;
	return 0;
}

static const char *const colours[] = {"red", "green", NULL};
static const struct option_spec top_options[] = {
	{.name = "store", .letter = 'S', .argument = "URI", .help = "where"},
	{.name = "quiet", .letter = 'q', .help = "less"},
	{.letter = 'C', .argument = "DIR", .help = "there"},
	{0},
};
static const struct option_spec add_options[] = {
	{.name = "colour", .argument = "C", .help = "which", .choices = colours},
	{.name = "after", .letter = 'a', .argument = "ID", .help = "what", .repeatable = true},
	{.name = "force", .letter = 'f', .help = "do"},
	{.name = "number", .argument = "N", .help = "how many"},
	{0},
};
static const struct command add = {
	.name = "add",
	.summary = "adds",
	.words = {{.name = "TITLE"}, {.name = "MORE", .optional = true}},
	.options = add_options,
	.run = run_nothing,
};
static const struct command any = {
	.name = "any",
	.summary = "takes any",
	.words = {{.name = "ID", .optional = true, .repeated = true}},
	.run = run_nothing,
};
static const struct command verify = {.name = "verify", .summary = "verifies", .run = run_nothing};
static const struct command *const log_subs[] = {&verify, NULL};
static const struct option_spec log_options[] = {{.name = "since", .argument = "N", .help = "from"}, {0}};
static const struct command log_command = {
	.name = "log", .summary = "logs", .options = log_options, .subcommands = log_subs, .run = run_nothing};
static const struct command *const task_subs[] = {&add, &any, NULL};
static const struct command task = {.name = "task", .summary = "tasks", .subcommands = task_subs};
static const struct command *const top_subs[] = {&task, &log_command, NULL};
static const struct command top = {
	.name = "program", .summary = "does", .options = top_options, .subcommands = top_subs};

static struct arguments arguments;
static struct rec_error error;

/* Parses "program" and the given words. */
#define parse(...) parse_words((const char *[]){"program", __VA_ARGS__, NULL})
static int parse_words(const char *const words[])
{
	int count = 0;
	while (words[count])
		count++;
	error.message[0] = '\0';
	return options_parse(&arguments, &top, count, words, &error);
}

static int forget(void **state)
{
	(void)state;
	arguments_release(&arguments);
	return 0;
}

static void test_options__finds_the_command_below_its_group(void **state)
{
	(void)state;
	char name[64];
	assert_int_equal(parse("task", "add", "x"), 0);
	assert_ptr_equal(arguments_command(&arguments), &add);
	assert_string_equal(arguments_command_name(&arguments, name, sizeof name), "program task add");
	assert_int_equal(arguments.word_count, 1);
	assert_string_equal(arguments.words[0], "x");
	assert_int_equal(arguments_complete(&arguments, &error), 0);
}

static void test_options__global_ones_stand_before_or_after_the_command(void **state)
{
	(void)state;
	assert_int_equal(parse("-S", "one", "task", "-q", "add", "x", "--store=two"), 0);
	assert_string_equal(option_text(&arguments, "store"), "two");
	assert_true(option_given(&arguments, "quiet"));
	assert_false(option_given(&arguments, "force"));
}

static void test_options__a_value_follows_or_is_attached(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add", "--after", "1", "--after=2", "-a3", "-a", "4", "-fa5", "x", "--after="),
			 0);
	size_t position = 0;
	for (const char *wanted = "12345"; *wanted; wanted++) {
		const char *text = option_next(&arguments, "after", &position);
		assert_non_null(text);
		assert_int_equal(text[0], *wanted);
	}
	assert_string_equal(option_next(&arguments, "after", &position), "");
	assert_null(option_next(&arguments, "after", &position));
	assert_true(option_given(&arguments, "force"));
}

static void test_options__a_value_may_look_like_an_option(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add", "--number", "-5", "x", "-C", "--", "y"), 0);
	int64_t number = 0;
	assert_int_equal(option_int64(&arguments, "number", &number, &error), 0);
	assert_int_equal(number, -5);
	assert_string_equal(option_text(&arguments, "C"), "--");
	assert_int_equal(arguments.word_count, 2);
}

static void test_options__two_dashes_end_them(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "any", "a", "--", "-x", "--force", "--", "verify"), 0);
	assert_int_equal(arguments.word_count, 5);
	assert_int_equal(arguments.plain_count, 1);
	assert_string_equal(arguments.words[1], "-x");
	assert_string_equal(arguments.words[3], "--");
}

static void test_options__a_single_dash_is_a_word(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "any", "-"), 0);
	assert_string_equal(arguments.words[0], "-");
}

static void test_options__a_word_after_two_dashes_is_no_subcommand_of_a_command_that_runs(void **state)
{
	(void)state;
	assert_int_equal(parse("log", "--", "verify"), 0);
	assert_ptr_equal(arguments_command(&arguments), &log_command);
	assert_int_equal(arguments_complete(&arguments, &error), REC_E_INVALID);
	arguments_release(&arguments);
	assert_int_equal(parse("log", "verify"), 0);
	assert_ptr_equal(arguments_command(&arguments), &verify);
}

static void test_options__an_unknown_one_is_named_with_the_nearest(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add", "--forse"), REC_E_INVALID);
	assert_string_equal(error.message, "--forse: no such option of program task add (did you mean --force?)");
	arguments_release(&arguments);
	assert_int_equal(parse("task", "add", "--sotre=x"), REC_E_INVALID);
	assert_string_equal(error.message, "--sotre=x: no such option of program task add (did you mean --store?)");
	arguments_release(&arguments);
	assert_int_equal(parse("task", "add", "--entirely-else"), REC_E_INVALID);
	assert_non_null(strstr(error.message, "program task add --help lists them"));
	arguments_release(&arguments);
	assert_int_equal(parse("task", "add", "-qx"), REC_E_INVALID);
	assert_non_null(strstr(error.message, "-qx: no such option"));
}

static void test_options__those_of_another_command_are_unknown(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "any", "--force"), REC_E_INVALID);
	arguments_release(&arguments);
	assert_int_equal(parse("--force", "task", "add", "x"), REC_E_INVALID);
}

static void test_options__those_of_a_command_are_none_of_its_subcommands(void **state)
{
	(void)state;
	assert_int_equal(parse("log", "--since", "3"), 0);
	assert_int_equal(arguments_complete(&arguments, &error), 0);
	arguments_release(&arguments);
	assert_int_equal(parse("log", "verify", "--since", "3"), REC_E_INVALID);
	assert_non_null(strstr(error.message, "--since: no such option of program log verify"));
	arguments_release(&arguments);
	assert_int_equal(parse("-q", "log", "--since", "3", "verify", "-S", "u"), 0);
	assert_int_equal(arguments_complete(&arguments, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "--since: no such option of program log verify"));
}

static void test_options__no_abbreviations(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add", "x", "--forc"), REC_E_INVALID);
}

static void test_options__a_missing_value_is_named(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add", "x", "--after"), REC_E_INVALID);
	assert_string_equal(error.message, "--after: its value is missing (--after ID)");
	arguments_release(&arguments);
	assert_int_equal(parse("-C"), REC_E_INVALID);
	assert_string_equal(error.message, "-C: its value is missing (-C DIR)");
}

static void test_options__a_flag_takes_no_value(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add", "x", "--force=yes"), REC_E_INVALID);
	assert_string_equal(error.message, "--force: takes no value (write --force alone)");
}

static void test_options__a_value_outside_the_choices_is_refused(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add", "x", "--colour", "Red"), REC_E_INVALID);
	assert_string_equal(error.message, "--colour: 'Red' is not one of its values (red, green)");
	arguments_release(&arguments);
	assert_int_equal(parse("task", "add", "x", "--colour=red"), 0);
}

static void test_options__control_characters_do_not_reach_the_message(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add", "--\033[31m\n"), REC_E_INVALID);
	assert_null(strpbrk(error.message, "\033\n"));
}

static void test_arguments_complete__counts_words(void **state)
{
	(void)state;
	assert_int_equal(parse("task", "add"), 0);
	assert_int_equal(arguments_complete(&arguments, &error), REC_E_INVALID);
	assert_string_equal(error.message, "task add: TITLE is missing (program task add --help tells more)");
	arguments_release(&arguments);
	assert_int_equal(parse("task", "add", "a", "b", "c"), 0);
	assert_int_equal(arguments_complete(&arguments, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "unexpected argument 'c'"));
	arguments_release(&arguments);
	assert_int_equal(parse("task", "any", "a", "b", "c", "d"), 0);
	assert_int_equal(arguments_complete(&arguments, &error), 0);
}

static void test_arguments_complete__wants_a_command(void **state)
{
	(void)state;
	assert_int_equal(parse("task"), 0);
	assert_int_equal(arguments_complete(&arguments, &error), REC_E_INVALID);
	assert_string_equal(error.message, "task: a command is missing (program task --help lists them)");
	arguments_release(&arguments);
	assert_int_equal(parse("taks"), REC_E_INVALID);
	assert_non_null(strstr(error.message, "did you mean task?"));
}

static void test_option_values__are_checked(void **state)
{
	(void)state;
	uint64_t count = 7;
	int64_t value = 7;
	assert_int_equal(parse("task", "add", "x"), 0);
	assert_int_equal(option_count(&arguments, "number", &count, &error), 0);
	assert_int_equal(option_int64(&arguments, "number", &value, &error), 0);
	assert_int_equal(option_duration(&arguments, "number", &value, &error), 0);
	assert_int_equal(count, 7);
	assert_int_equal(value, 7);
	arguments_release(&arguments);
	static const char *const bad[] = {"", "x", "1.5", "1e3", "99999999999999999999", " 1", "1 ", "-"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(parse("task", "add", "x", "--number", bad[i]), 0);
		assert_int_equal(option_int64(&arguments, "number", &value, &error), REC_E_INVALID);
		assert_non_null(strstr(error.message, "--number: '"));
		assert_int_equal(option_count(&arguments, "number", &count, &error), REC_E_INVALID);
		arguments_release(&arguments);
	}
	assert_int_equal(parse("task", "add", "x", "--number", "-1"), 0);
	assert_int_equal(option_count(&arguments, "number", &count, &error), REC_E_INVALID);
	arguments_release(&arguments);
	assert_int_equal(parse("task", "add", "x", "--number", "5m"), 0);
	assert_int_equal(option_duration(&arguments, "number", &value, &error), 0);
	assert_int_equal(value, 300000000);
	arguments_release(&arguments);
	assert_int_equal(parse("task", "add", "x", "--number", "5 parsecs"), 0);
	assert_int_equal(option_duration(&arguments, "number", &value, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "is not a duration"));
}

static void test_nearest_name__is_near_or_nothing(void **state)
{
	(void)state;
	static const char *const names[] = {"format", "store", "status", "gc", NULL};
	assert_string_equal(nearest_name("fromat", names), "format");
	assert_string_equal(nearest_name("formt", names), "format");
	assert_string_equal(nearest_name("statsu", names), "status");
	assert_null(nearest_name("zzzzzz", names));
	assert_null(nearest_name("", names));
	char long_name[100];
	memset(long_name, 'f', sizeof long_name);
	long_name[sizeof long_name - 1] = '\0';
	assert_null(nearest_name(long_name, names));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
	const struct CMUnitTest tests[] = {
		TEST(test_options__finds_the_command_below_its_group),
		TEST(test_options__global_ones_stand_before_or_after_the_command),
		TEST(test_options__a_value_follows_or_is_attached),
		TEST(test_options__a_value_may_look_like_an_option),
		TEST(test_options__two_dashes_end_them),
		TEST(test_options__a_single_dash_is_a_word),
		TEST(test_options__a_word_after_two_dashes_is_no_subcommand_of_a_command_that_runs),
		TEST(test_options__an_unknown_one_is_named_with_the_nearest),
		TEST(test_options__those_of_another_command_are_unknown),
		TEST(test_options__those_of_a_command_are_none_of_its_subcommands),
		TEST(test_options__no_abbreviations),
		TEST(test_options__a_missing_value_is_named),
		TEST(test_options__a_flag_takes_no_value),
		TEST(test_options__a_value_outside_the_choices_is_refused),
		TEST(test_options__control_characters_do_not_reach_the_message),
		TEST(test_arguments_complete__counts_words),
		TEST(test_arguments_complete__wants_a_command),
		TEST(test_option_values__are_checked),
		TEST(test_nearest_name__is_near_or_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
