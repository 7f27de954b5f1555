/* subject.h - what is measured: a store and a batch state in memory, through the floors of the library. */
#ifndef REC_BENCH_SUBJECT_H
#define REC_BENCH_SUBJECT_H

#include "engine/check.h"

/* An allocator that counts what is in use and the most that ever was. */
struct counting_allocator {
	struct rec_allocator allocator;
	size_t in_use, most;
};
void counting_allocator_init(struct counting_allocator *c);

struct subject {
	struct counting_allocator memory;
	struct rec_store *store;
	struct rec_belief belief;
};
/* Opens the store at path; batch (may be NULL) is the batch state file. allocator: &s->memory.allocator if
 * `counted`, else libc's. */
void subject_open(struct subject *s, const char *path, const char *batch, enum rec_store_mode mode, bool counted);
void subject_close(struct subject *s);
/* Reads a batch state file into the belief: microseconds without the reading of the file. ret_bytes may be NULL. */
double subject_parse(struct rec_belief *belief, const char *batch, size_t *ret_bytes);
/* A check of ten ids spread over the whole store, none of them BLOCKED or exactly one: microseconds, the median. */
double subject_few_us(struct subject *s, bool one_blocked, size_t runs);
/* Ends the program on a failure. */
void subject_must(int result, const struct rec_error *error);

#endif
