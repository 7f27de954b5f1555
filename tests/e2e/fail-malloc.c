/* fail-malloc.c - preloaded into the command: allocation number FAIL_MALLOC_AT fails (and with FAIL_MALLOC_ON every
 * one after it), so that a test can let each of them fail in turn. Says on descriptor FAIL_MALLOC_FD, if given, whether
 * it got so far. Not a part of the product. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long calls;
static long fail_at = -1;
static int fail_on;

__attribute__((constructor)) static void read_environment(void)
{
	const char *at = getenv("FAIL_MALLOC_AT");
	fail_on = getenv("FAIL_MALLOC_ON") != NULL;
	atomic_store(&calls, 0);
	fail_at = at ? strtol(at, NULL, 10) : -1;
}

static int fails(void)
{
	long call = atomic_fetch_add(&calls, 1) + 1;
	const char *fd = getenv("FAIL_MALLOC_FD");
	if (fail_at <= 0 || call < fail_at || (call > fail_at && !fail_on))
		return 0;
	if (call == fail_at && fd && write((int)strtol(fd, NULL, 10), "x", 1) < 0)
		abort();
	errno = ENOMEM;
	return 1;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static void *failing_malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

static void *failing_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

static void *failing_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __libc_realloc(memory, size);
}

#define INSTEAD(function) __attribute__((alias(#function), visibility("default")))
void *malloc(size_t) INSTEAD(failing_malloc);
void *calloc(size_t, size_t) INSTEAD(failing_calloc);
void *realloc(void *, size_t) INSTEAD(failing_realloc);
