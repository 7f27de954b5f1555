/* SHA-256 against the examples of the standard and the lengths at which its padding changes. */
#include "base/test-support.h"

#include "base/sha256.h"

static void assert_hash(struct rec_slice bytes, const char *wanted)
{
	char hex[REC_SHA256_HEX_BYTES];
	assert_string_equal(rec_sha256_hex(bytes, hex), wanted);
}

static void test_sha256__examples_of_the_standard(void **state)
{
	(void)state;
	assert_hash((struct rec_slice){NULL, 0}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_hash(rec_slice_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_hash(rec_slice_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
		    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_sha256__every_length_around_a_block(void **state)
{
	(void)state;
	char bytes[128];
	memset(bytes, 'a', sizeof bytes);
	assert_hash((struct rec_slice){bytes, 55}, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	assert_hash((struct rec_slice){bytes, 56}, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
	assert_hash((struct rec_slice){bytes, 63}, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
	assert_hash((struct rec_slice){bytes, 64}, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	assert_hash((struct rec_slice){bytes, 65}, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256__examples_of_the_standard),
		cmocka_unit_test(test_sha256__every_length_around_a_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
