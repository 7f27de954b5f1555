#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tracker/secrets.h"

static char environment_texts[][40] = {"GITHUB_TOKEN=ghp_0123456789",
				       "OTHER_TOKEN=ghp_0123456789abcdef",
				       "API_KEY=/.*key$",
				       "PGPASSWORD=geheim-geheim",
				       "CLIENT_SECRET=x=y=z=0=1",
				       "TOKENS=plain-words",
				       "USE_TOKEN=1",
				       "NO_VALUE_TOKEN",
				       "EMPTY_TOKEN="};
#define COUNT (sizeof environment_texts / sizeof *environment_texts)

static void assert_hidden(const char *text, const char *expected)
{
	struct rec_secrets secrets;
	struct rec_buffer out;
	char *environment[COUNT + 1] = {NULL};
	for (size_t i = 0; i < COUNT; i++)
		environment[i] = environment_texts[i];
	rec_secrets_init(&secrets, environment);
	rec_buffer_init(&out, NULL, 4096);
	assert_int_equal(rec_secrets_hide(&secrets, &out, rec_slice_of(text)), 0);
	assert_int_equal(rec_secrets_in(&secrets, rec_slice_of(text)), strcmp(text, expected) != 0);
	assert_int_equal(out.length, strlen(expected));
	assert_memory_equal(out.data ? out.data : "", expected, out.length);
	rec_buffer_release(&out);
}

static void test_secrets__values_are_hidden_wherever_they_stand(void **state)
{
	(void)state;
	assert_hidden("", "");
	assert_hidden("nothing of that 1", "nothing of that 1");
	assert_hidden("ghp_0123456789", "***");
	assert_hidden("bad token ghp_0123456789, geheim-geheim!", "bad token ***, ***!");
	assert_hidden("ghp_0123456789ghp_0123456789", "******");
	assert_hidden("x=y=z=0=1", "***");
	assert_hidden("ghp_012345678", "ghp_012345678");
}

static void test_secrets__the_longest_is_hidden_whole(void **state)
{
	(void)state;
	assert_hidden("a ghp_0123456789abcdef b", "a *** b");
}

static void test_secrets__what_is_no_secret_stays(void **state)
{
	(void)state;
	assert_hidden("plain-words, key$, 1, =", "plain-words, key$, 1, =");
}

static void test_secrets__a_full_buffer_is_told(void **state)
{
	struct rec_secrets secrets;
	struct rec_buffer out;
	(void)state;
	rec_secrets_init(&secrets, NULL);
	rec_buffer_init(&out, NULL, 5);
	assert_true(rec_secrets_hide(&secrets, &out, rec_slice_of("0123456789")) < 0);
	rec_buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secrets__values_are_hidden_wherever_they_stand),
		cmocka_unit_test(test_secrets__the_longest_is_hidden_whole),
		cmocka_unit_test(test_secrets__what_is_no_secret_stays),
		cmocka_unit_test(test_secrets__a_full_buffer_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
