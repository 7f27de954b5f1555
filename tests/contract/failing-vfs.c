/* failing-vfs.c - see failing-vfs.h. Counted and failed are the calls that reach a file: open, delete, access, read,
 * write, truncate, sync, file size, lock, shared memory. Unlocking, closing and unmapping never fail, as their
 * callers have no use for a failure. A failed write or sync has written nothing, a failed open has opened
 * nothing. */
#include "failing-vfs.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

struct fault {
	uint64_t calls, at;
	bool persistent;
};

static struct fault file_fault, memory_fault;

static bool strikes(struct fault *f)
{
	f->calls++;
	return f->at && (f->persistent ? f->calls >= f->at : f->calls == f->at);
}

static uint64_t set(struct fault *f, uint64_t n, bool persistent)
{
	uint64_t calls = f->calls;
	*f = (struct fault){.at = n, .persistent = persistent};
	return calls;
}

uint64_t failing_vfs_set(uint64_t n, bool persistent)
{
	return set(&file_fault, n, persistent);
}

uint64_t failing_memory_set(uint64_t n, bool persistent)
{
	return set(&memory_fault, n, persistent);
}

/* ---- Files ---- */

struct file {
	sqlite3_file base;
	sqlite3_file *real; /* behind this struct, in the same memory */
};

static sqlite3_file *real(sqlite3_file *file)
{
	return ((struct file *)file)->real;
}

static int file_close(sqlite3_file *file)
{
	return real(file)->pMethods ? real(file)->pMethods->xClose(real(file)) : SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset)
{
	return strikes(&file_fault) ? SQLITE_IOERR_READ
				    : real(file)->pMethods->xRead(real(file), bytes, length, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset)
{
	return strikes(&file_fault) ? SQLITE_FULL : real(file)->pMethods->xWrite(real(file), bytes, length, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return strikes(&file_fault) ? SQLITE_IOERR_TRUNCATE : real(file)->pMethods->xTruncate(real(file), size);
}

/* No power fails in these tests, and waiting for the disk would be most of their time. */
static int file_sync(sqlite3_file *file, int flags)
{
	(void)file, (void)flags;
	return strikes(&file_fault) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	return strikes(&file_fault) ? SQLITE_IOERR_FSTAT : real(file)->pMethods->xFileSize(real(file), ret_size);
}

static int file_lock(sqlite3_file *file, int level)
{
	return strikes(&file_fault) ? SQLITE_IOERR_LOCK : real(file)->pMethods->xLock(real(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return real(file)->pMethods->xUnlock(real(file), level);
}

static int file_check_lock(sqlite3_file *file, int *ret_reserved)
{
	return strikes(&file_fault) ? SQLITE_IOERR_CHECKRESERVEDLOCK
				    : real(file)->pMethods->xCheckReservedLock(real(file), ret_reserved);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
	return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file)
{
	return real(file)->pMethods->xSectorSize(real(file));
}

static int file_characteristics(sqlite3_file *file)
{
	return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret_memory)
{
	return strikes(&file_fault) ? SQLITE_IOERR_SHMMAP
				    : real(file)->pMethods->xShmMap(real(file), region, size, extend, ret_memory);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
	if (flags & SQLITE_SHM_LOCK && strikes(&file_fault))
		return SQLITE_IOERR_SHMLOCK;
	return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
	real(file)->pMethods->xShmBarrier(real(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
	return real(file)->pMethods->xShmUnmap(real(file), remove);
}

/* Version 2: no xFetch, so that every read is seen. */
static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_lock,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_characteristics,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

/* ---- The VFS ---- */

static sqlite3_vfs *below(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct file *f = (struct file *)file;
	f->base.pMethods = NULL;
	if (strikes(&file_fault))
		return SQLITE_CANTOPEN;
	f->real = (sqlite3_file *)(f + 1);
	int rc = below(vfs)->xOpen(below(vfs), name, f->real, flags, ret_flags);
	if (rc == SQLITE_OK)
		f->base.pMethods = &methods;
	return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync_directory)
{
	return strikes(&file_fault) ? SQLITE_IOERR_DELETE : below(vfs)->xDelete(below(vfs), name, sync_directory);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret_result)
{
	return strikes(&file_fault) ? SQLITE_IOERR_ACCESS : below(vfs)->xAccess(below(vfs), name, flags, ret_result);
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *name, int length, char *out)
{
	return below(vfs)->xFullPathname(below(vfs), name, length, out);
}

static int vfs_randomness(sqlite3_vfs *vfs, int length, char *out)
{
	return below(vfs)->xRandomness(below(vfs), length, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
	return below(vfs)->xSleep(below(vfs), us);
}

static int vfs_current_time(sqlite3_vfs *vfs, double *ret_time)
{
	return below(vfs)->xCurrentTime(below(vfs), ret_time);
}

static int vfs_last_error(sqlite3_vfs *vfs, int length, char *out)
{
	return below(vfs)->xGetLastError(below(vfs), length, out);
}

static int vfs_current_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *ret_time)
{
	return below(vfs)->xCurrentTimeInt64(below(vfs), ret_time);
}

/* ---- Memory ---- */

static sqlite3_mem_methods libc;

static void *memory_malloc(int size)
{
	return strikes(&memory_fault) ? NULL : libc.xMalloc(size);
}

static void *memory_realloc(void *memory, int size)
{
	return strikes(&memory_fault) ? NULL : libc.xRealloc(memory, size);
}

void failing_vfs_install(void)
{
	static sqlite3_vfs vfs;
	if (vfs.zName)
		return;
	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &libc);
	sqlite3_mem_methods memory = libc;
	memory.xMalloc = memory_malloc;
	memory.xRealloc = memory_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
	sqlite3_vfs *real_vfs = sqlite3_vfs_find(NULL);
	vfs = (sqlite3_vfs){
		.iVersion = 2,
		.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile,
		.mxPathname = real_vfs->mxPathname,
		.zName = "failing",
		.pAppData = real_vfs,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_pathname,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_current_time,
		.xGetLastError = vfs_last_error,
		.xCurrentTimeInt64 = vfs_current_time_int64,
	};
	sqlite3_vfs_register(&vfs, 1);
}
