/* failing-vfs.h - SQLite with faults: a VFS over the default one whose Nth call fails, and an allocator over libc's
 * whose Nth allocation fails. Both are installed once, before SQLite is first used, and stay harmless until set. One
 * thread only. */
#ifndef REC_TESTS_FAILING_VFS_H
#define REC_TESTS_FAILING_VFS_H

#include <stdbool.h>
#include <stdint.h>

void failing_vfs_install(void);
/* Makes the Nth operation from now on fail (1: the next; 0: none any more), and all after it if persistent.
 * Returns how many operations there were since the last call. */
uint64_t failing_vfs_set(uint64_t n, bool persistent);
uint64_t failing_memory_set(uint64_t n, bool persistent);

#endif
