/* Tokens: what is one, and that none is shown. */
#include "base/test-support.h"

#include "github/token-text.h"

static void test_token__what_is_one(void **state)
{
	struct gh_token token = {0};
	char longest[GH_TOKEN_BYTES_MAX + 1];
	(void)state;
	assert_int_equal(gh_token_read(rec_slice_of("\r\n\t ghp_1234 \r\n"), &token), 0);
	assert_string_equal(token.text, "ghp_1234");
	assert_int_equal(gh_token_read(rec_slice_of("azAZ09-._~+/="), &token), 0);
	memset(longest, 'x', sizeof longest);
	assert_int_equal(gh_token_read((struct rec_slice){longest, GH_TOKEN_BYTES_MAX}, &token), 0);
	assert_int_equal(strlen(token.text), GH_TOKEN_BYTES_MAX);
	assert_int_equal(gh_token_read((struct rec_slice){longest, GH_TOKEN_BYTES_MAX + 1}, &token), REC_E_INVALID);
}

static void test_token__what_is_none(void **state)
{
	static const char *const bad[] = {"",
					  " ",
					  "\n",
					  "1234567",
					  "  1234567  ",
					  "two words",
					  "tab\tbed...",
					  "line\nline",
					  "********",
					  "a\"b\"c\"d\"",
					  "a\\b\\c\\d\\",
					  "\x7fghp_1234",
					  "gh\xc3\xb6_1234"};
	struct gh_token token = {.text = "former"};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (gh_token_read(rec_slice_of(bad[i]), &token) != REC_E_INVALID)
			fail_msg("\"%s\" was taken", bad[i]);
	assert_int_equal(gh_token_read(slice_of_array("ghp_\0"
						      "12345"),
				       &token),
			 REC_E_INVALID);
	assert_string_equal(token.text, "former");
}

static void assert_hidden(const char *text, const char *data, const char *wanted)
{
	struct gh_token token = {0};
	char out[64];
	size_t length = strlen(data);
	assert_true(length < sizeof out);
	memcpy(out, data, length + 1);
	if (text)
		assert_int_equal(gh_token_read(rec_slice_of(text), &token), 0);
	gh_token_hide(&token, out, length);
	assert_string_equal(out, wanted);
}

static void test_token__is_hidden_wherever_it_stands(void **state)
{
	(void)state;
	assert_hidden("ghp_1234", "ghp_1234 is ghp_1234ghp_1234", "******** is ****************");
	assert_hidden("ghp_1234", "ghp_123", "ghp_123");
	assert_hidden("abababab", "abababababab", "********abab");
	assert_hidden(NULL, "nothing to hide", "nothing to hide");
	assert_hidden("ghp_1234", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token__what_is_one),
		cmocka_unit_test(test_token__what_is_none),
		cmocka_unit_test(test_token__is_hidden_wherever_it_stands),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
