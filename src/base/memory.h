/* memory.h - all memory goes through an allocator that the caller handed in, so that a test can fail the
 * Nth allocation without global state. malloc, realloc, free, strdup are banned elsewhere (tidy test).
 */
#ifndef REC_BASE_MEMORY_H
#define REC_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "reconciler.h"

/* NULL as allocator means libc's. Sizes are checked for overflow; size 0 is treated as 1. All return NULL
 * when out of memory. */
void *rec_alloc(const struct rec_allocator *a, size_t size);                /* uninitialised */
void *rec_zalloc(const struct rec_allocator *a, size_t count, size_t size); /* zeroed */
void *rec_realloc_array(const struct rec_allocator *a, void *memory, size_t count, size_t size);
char *rec_strndup(const struct rec_allocator *a, const char *text, size_t length); /* adds the NUL */
/* Releases and returns NULL, so that `p = rec_free(a, p)` leaves no dangling pointer. NULL is fine. */
void *rec_free(const struct rec_allocator *a, void *memory);

/* Grows *items (of `size` bytes each) so that at least `need` fit, doubling; *capacity counts items.
 * Returns 0 or REC_E_NOMEM with both unchanged. */
int rec_grow(const struct rec_allocator *a, void **items, size_t *capacity, size_t need, size_t size);

/* For a program, not for a library, since it holds for the whole process: libc keeps some MiB that were freed for later
 * instead of giving them back to the system each time. SQLite takes and frees 64 KiB per savepoint, which otherwise
 * costs a conductor two system calls and some page faults with each claim and each end. No effect without glibc. */
void rec_memory_keep(void);

/* An arena: many small pieces with one lifetime. Pieces never move. */
struct rec_arena {
	const struct rec_allocator *allocator;
	struct rec_arena_block *last;
	size_t bytes; /* handed out so far */
};
void rec_arena_init(struct rec_arena *arena, const struct rec_allocator *a);
void *rec_arena_alloc(struct rec_arena *arena, size_t size); /* aligned for any object; NULL: no memory */
char *rec_arena_strndup(struct rec_arena *arena, const char *text, size_t length); /* byte-aligned, adds NUL */
void rec_arena_clear(struct rec_arena *arena);   /* everything but its first few KiB, for the next of many */
void rec_arena_release(struct rec_arena *arena); /* everything; the arena may be used again */

/* The allocator that fails on purpose, for tests: passes to libc, counts calls, and fails number fail_at
 * (1 = the first), and all after it too if persistent. Also counts live blocks: live == 0 means no leak. */
struct rec_failing_allocator {
	struct rec_allocator allocator; /* hand out &this */
	uint64_t calls, fail_at, live;
	int persistent;
};
void rec_failing_allocator_init(struct rec_failing_allocator *f, uint64_t fail_at, int persistent);

#endif
