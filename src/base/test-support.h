/* test-support.h - what the unit tests of this floor share. Not a part of the product. */
#ifndef REC_BASE_TEST_SUPPORT_H
#define REC_BASE_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/slice.h"

#define slice_of_array(array) ((struct rec_slice){(array), sizeof(array) - 1}) /* a literal with NULs in it */

#define assert_slice_equal(slice, text)                                                                                \
	do {                                                                                                           \
		struct rec_slice actual_ = (slice), wanted_ = rec_slice_of(text);                                      \
		if (!rec_slice_equal(actual_, wanted_))                                                                \
			fail_msg("\"%.*s\" is not \"%s\"", (int)actual_.length, actual_.data ? actual_.data : "",      \
				 wanted_.data);                                                                        \
	} while (0)

/* A reproducible sequence (xorshift64). */
static inline uint64_t test_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Runs the scenario with the first, second, ... allocation failing until one run needs no more of them. The
 * scenario returns a negative code if it failed and must have released everything either way. */
static inline void test_fail_every_allocation(int (*scenario)(const struct rec_allocator *a))
{
	for (int persistent = 0; persistent <= 1; persistent++) {
		struct rec_failing_allocator f;
		uint64_t n = 0;
		do {
			rec_failing_allocator_init(&f, ++n, persistent);
			int r = scenario(&f.allocator);
			assert_int_equal(f.live, 0);
			if (f.calls >= n)
				assert_int_equal(r, REC_E_NOMEM);
			else
				assert_int_equal(r, 0);
		} while (f.calls >= n);
		assert_true(n > 1); /* something was allocated */
	}
}

#endif
