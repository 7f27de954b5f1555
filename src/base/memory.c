/* memory.c - the one place that calls malloc. An arena is a list of blocks that double up to 1 MiB; large
 * pieces get a block of their own, so nothing ever moves. */
#include "base/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_KEPT (4 << 20)   /* bytes free at the end of the heap before some go back to the system */
#define HEAP_STEP (256 << 10) /* bytes that are asked of the system at once */

void rec_memory_keep(void)
{
#ifdef M_TRIM_THRESHOLD
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	(void)mallopt(M_TOP_PAD, HEAP_STEP);
#endif
}

void *rec_alloc(const struct rec_allocator *a, size_t size)
{
	size = size ? size : 1;
	return a ? a->allocate(a->context, size) : malloc(size);
}

void *rec_zalloc(const struct rec_allocator *a, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	if (!a)
		return calloc(1, bytes ? bytes : 1);
	void *memory = rec_alloc(a, bytes);
	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

void *rec_realloc_array(const struct rec_allocator *a, void *memory, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	bytes = bytes ? bytes : 1;
	return a ? a->reallocate(a->context, memory, bytes) : realloc(memory, bytes);
}

char *rec_strndup(const struct rec_allocator *a, const char *text, size_t length)
{
	char *copy = length < SIZE_MAX ? rec_alloc(a, length + 1) : NULL;
	if (!copy)
		return NULL;
	if (length)
		memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

void *rec_free(const struct rec_allocator *a, void *memory)
{
	if (a && memory)
		a->release(a->context, memory);
	else
		free(memory);
	return NULL;
}

int rec_grow(const struct rec_allocator *a, void **items, size_t *capacity, size_t need, size_t size)
{
	if (need <= *capacity)
		return 0;
	size_t wanted = *capacity ? *capacity : 8;
	while (wanted < need)
		wanted = wanted > SIZE_MAX / 2 ? need : wanted * 2;
	void *moved = rec_realloc_array(a, *items, wanted, size);
	if (!moved)
		return REC_E_NOMEM;
	*items = moved;
	*capacity = wanted;
	return 0;
}

/* ---- Arena ---- */

#define BLOCK_FIRST 4096u
#define BLOCK_LARGEST (1u << 20)

struct rec_arena_block {
	struct rec_arena_block *before;
	size_t used, capacity;
	_Alignas(max_align_t) char bytes[];
};

void rec_arena_init(struct rec_arena *arena, const struct rec_allocator *a)
{
	*arena = (struct rec_arena){.allocator = a};
}

static struct rec_arena_block *block_add(struct rec_arena *arena, size_t size)
{
	size_t capacity = arena->last ? arena->last->capacity * 2 : BLOCK_FIRST;
	if (capacity > BLOCK_LARGEST)
		capacity = BLOCK_LARGEST;
	if (capacity < size)
		capacity = size;
	if (capacity > SIZE_MAX - sizeof(struct rec_arena_block))
		return NULL;
	struct rec_arena_block *block = rec_alloc(arena->allocator, sizeof *block + capacity);
	if (!block)
		return NULL;
	*block = (struct rec_arena_block){.before = arena->last, .capacity = capacity};
	arena->last = block;
	return block;
}

static void *arena_take(struct rec_arena *arena, size_t size, size_t alignment)
{
	struct rec_arena_block *block = arena->last;
	size_t start = block ? (block->used + alignment - 1) & ~(alignment - 1) : 0;
	if (!block || start > block->capacity || block->capacity - start < size) {
		block = block_add(arena, size);
		start = 0;
	}
	if (!block)
		return NULL;
	block->used = start + size;
	arena->bytes += size;
	return block->bytes + start;
}

void *rec_arena_alloc(struct rec_arena *arena, size_t size)
{
	return arena_take(arena, size ? size : 1, _Alignof(max_align_t));
}

char *rec_arena_strndup(struct rec_arena *arena, const char *text, size_t length)
{
	char *copy = length < SIZE_MAX ? arena_take(arena, length + 1, 1) : NULL;
	if (!copy)
		return NULL;
	if (length)
		memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

void rec_arena_clear(struct rec_arena *arena)
{
	struct rec_arena_block *first = arena->last;
	while (first && first->before) {
		arena->last = first->before;
		rec_free(arena->allocator, first);
		first = arena->last;
	}
	if (first && first->capacity > BLOCK_FIRST)
		arena->last = rec_free(arena->allocator, first);
	else if (first)
		first->used = 0;
	arena->bytes = 0;
}

void rec_arena_release(struct rec_arena *arena)
{
	while (arena->last) {
		struct rec_arena_block *block = arena->last;
		arena->last = block->before;
		rec_free(arena->allocator, block);
	}
	arena->bytes = 0;
}

/* ---- The allocator that fails on purpose ---- */

static int fails_now(struct rec_failing_allocator *f)
{
	f->calls++;
	return f->fail_at && (f->persistent ? f->calls >= f->fail_at : f->calls == f->fail_at);
}

static void *failing_allocate(void *context, size_t size)
{
	struct rec_failing_allocator *f = context;
	void *memory = fails_now(f) ? NULL : malloc(size);
	f->live += memory != NULL;
	return memory;
}

static void *failing_reallocate(void *context, void *memory, size_t size)
{
	struct rec_failing_allocator *f = context;
	void *moved = fails_now(f) ? NULL : realloc(memory, size);
	f->live += moved && !memory;
	return moved;
}

static void failing_release(void *context, void *memory)
{
	struct rec_failing_allocator *f = context;
	f->live -= memory != NULL;
	free(memory);
}

void rec_failing_allocator_init(struct rec_failing_allocator *f, uint64_t fail_at, int persistent)
{
	*f = (struct rec_failing_allocator){
		.allocator = {failing_allocate, failing_reallocate, failing_release, f},
		.fail_at = fail_at,
		.persistent = persistent,
	};
}
