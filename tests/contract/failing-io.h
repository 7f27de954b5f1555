/* failing-io.h - the table of file calls with faults: the Nth call fails with EIO (a write may have been half done
 * by then). One thread only. */
#ifndef REC_TESTS_FAILING_IO_H
#define REC_TESTS_FAILING_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/io.h"

struct failing_io {
	struct rec_io io; /* hand out &this */
	uint64_t calls, fail_at;
	bool persistent;
};
void failing_io_init(struct failing_io *f);
/* Makes the Nth call from now on fail (1: the next; 0: none any more), and all after it if persistent. Returns how many
 * there were since the last call of this. */
uint64_t failing_io_set(struct failing_io *f, uint64_t n, bool persistent);

#endif
