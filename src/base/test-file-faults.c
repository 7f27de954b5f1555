/* Files when the system fails: each call that rec_file_replace and its neighbours make is failed in turn. The
 * linker puts these functions before the C library's (--wrap). */
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "base/test-file-support.h"

/* What the functions below shall do. */
static struct {
	bool armed;
	unsigned calls, fail_at; /* the how manieth call fails (0: none) */
	int errnum;
	bool renamed, failed_late;      /* late: behind the rename */
	const char *failed;             /* its name */
	size_t write_bytes_max;         /* no write takes more (0: any) */
	unsigned interruptions;         /* so many reads and writes are interrupted first */
	const char *remove_before_lock; /* removed just before a lock is tried */
	const char *mountinfo;          /* read instead of the system's */
	long statfs_type;               /* given instead of the file system's (0: its own) */
} fault;

static bool fails(const char *name)
{
	if (!fault.armed || ++fault.calls != fault.fail_at)
		return false;
	fault.failed = name;
	fault.failed_late = fault.renamed;
	errno = fault.errnum;
	return true;
}

static bool interrupts(void)
{
	if (!fault.armed || !fault.interruptions)
		return false;
	fault.interruptions--;
	errno = EINTR;
	return true;
}

#define FAULT_CALL(type, name, parameters, arguments)                                                                  \
	type __real_##name parameters;                                                                                 \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		return fails(#name) ? -1 : __real_##name arguments;                                                    \
	}

FAULT_CALL(int, openat64, (int at, const char *path, int flags, mode_t mode), (at, path, flags, mode))
FAULT_CALL(int, stat64, (const char *path, struct stat64 *status), (path, status))
FAULT_CALL(int, fstat64, (int fd, struct stat64 *status), (fd, status))
FAULT_CALL(int, fstatat64, (int at, const char *path, struct stat64 *status, int flags), (at, path, status, flags))
FAULT_CALL(int, fchmod, (int fd, mode_t mode), (fd, mode))
FAULT_CALL(int, fsync, (int fd), (fd))
FAULT_CALL(int, mkdir, (const char *path, mode_t mode), (path, mode))

int __real_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new)
{
	int r = fails("renameat") ? -1 : __real_renameat(from, old, to, new);
	fault.renamed |= r == 0;
	return r;
}

int __real_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, mode_t mode)
{
	if (fault.mountinfo && strcmp(path, "/proc/self/mountinfo") == 0)
		path = fault.mountinfo;
	return fails("open64") ? -1 : __real_open64(path, flags, mode);
}

ssize_t __real_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_write(int fd, const void *bytes, size_t length)
{
	if (fault.armed && fault.write_bytes_max && length > fault.write_bytes_max)
		length = fault.write_bytes_max;
	return interrupts() || fails("write") ? -1 : __real_write(fd, bytes, length);
}

ssize_t __real_read(int fd, void *bytes, size_t length);
ssize_t __wrap_read(int fd, void *bytes, size_t length);
ssize_t __wrap_read(int fd, void *bytes, size_t length)
{
	return interrupts() || fails("read") ? -1 : __real_read(fd, bytes, length);
}

/* A close that fails has closed all the same. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int r = __real_close(fd);
	return fails("close") ? -1 : r;
}

int __real_fcntl64(int fd, int command, void *argument);
int __wrap_fcntl64(int fd, int command, void *argument);
int __wrap_fcntl64(int fd, int command, void *argument)
{
	if (fault.remove_before_lock && command == F_OFD_SETLK) {
		assert_int_equal(unlink(fault.remove_before_lock), 0);
		fault.remove_before_lock = NULL;
	}
	return fails("fcntl64") ? -1 : __real_fcntl64(fd, command, argument);
}

int __real_statfs64(const char *path, struct statfs64 *status);
int __wrap_statfs64(const char *path, struct statfs64 *status);
int __wrap_statfs64(const char *path, struct statfs64 *status)
{
	int r = fails("statfs64") ? -1 : __real_statfs64(path, status);
	if (r == 0 && fault.statfs_type)
		status->f_type = fault.statfs_type;
	return r;
}

static void arm(unsigned fail_at, int errnum)
{
	memset(&fault, 0, sizeof fault);
	fault.armed = true;
	fault.fail_at = fail_at;
	fault.errnum = errnum;
}

static void disarm(void)
{
	fault.armed = false;
}

/* ---- Replacing ---- */

struct seen {
	bool open, write, mode, sync, close, rename;
};

static void seen_note(struct seen *seen, const char *name)
{
	seen->open |= strcmp(name, "openat64") == 0;
	seen->write |= strcmp(name, "write") == 0;
	seen->mode |= strcmp(name, "fchmod") == 0;
	seen->sync |= strcmp(name, "fsync") == 0;
	seen->close |= strcmp(name, "close") == 0;
	seen->rename |= strcmp(name, "renameat") == 0;
}

/* One replacement with call n failing. False: there was no call n. */
static bool replace_failing(struct test_folder *folder, unsigned n, int errnum, struct seen *seen)
{
	const struct rec_slice old = rec_slice_of("the old content"), new = rec_slice_of("the new content, longer");
	struct rec_error error = {0};
	assert_int_equal(rec_file_replace(folder->file, old, 0644, NULL), 0);
	unsigned descriptors = test_open_descriptors();
	arm(n, errnum);
	fault.write_bytes_max = 7;
	int r = rec_file_replace(folder->file, new, 0644, &error);
	disarm();
	assert_int_equal(test_open_descriptors(), descriptors);
	assert_int_equal(test_entries(folder->path), 1);
	if (!fault.failed) {
		assert_int_equal(r, 0);
		assert_file_holds(folder->file, new);
		return false;
	}
	seen_note(seen, fault.failed);
	/* Behind the rename there is the last fsync, which is reported, and the close of the directory. */
	assert_int_equal(fault.renamed, fault.failed_late);
	assert_file_holds(folder->file, fault.renamed ? new : old);
	if (fault.failed_late && strcmp(fault.failed, "close") == 0)
		assert_int_equal(r, 0);
	else
		assert_int_equal(r, errnum == ENOSPC ? REC_E_FULL : REC_E_IO);
	if (r)
		assert_non_null(strstr(error.message, folder->file));
	return true;
}

static void test_file_replace__any_failed_call_leaves_the_old_file_and_nothing_else(void **state)
{
	struct test_folder *folder = *state;
	static const int errnums[] = {EIO, ENOSPC};
	for (size_t i = 0; i < 2; i++) {
		struct seen seen = {0};
		unsigned n = 1;
		while (replace_failing(folder, n, errnums[i], &seen))
			n++;
		assert_true(seen.open && seen.write && seen.mode && seen.sync && seen.close && seen.rename);
		assert_true(n > 12);
	}
}

/* The same where there was no file before: then there is none afterwards. */
static void test_file_replace__a_failed_first_write_leaves_nothing(void **state)
{
	struct test_folder *folder = *state;
	bool failed = true;
	for (unsigned n = 1; failed; n++) {
		arm(n, EIO);
		int r = rec_file_replace(folder->file, rec_slice_of("new"), 0644, NULL);
		disarm();
		failed = fault.failed != NULL;
		assert_true(r == 0 || failed);
		if (fault.renamed) {
			assert_file_holds(folder->file, rec_slice_of("new"));
			assert_int_equal(unlink(folder->file), 0);
		}
		assert_int_equal(test_entries(folder->path), 0);
	}
}

static void test_file__interruptions_are_no_failures(void **state)
{
	struct test_folder *folder = *state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 7);
	arm(0, 0);
	fault.interruptions = 3;
	fault.write_bytes_max = 2;
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("content"), 0644, NULL), 0);
	assert_int_equal(fault.interruptions, 0);
	fault.interruptions = 3;
	assert_int_equal(rec_file_read(folder->file, 100, &b, NULL), 0);
	assert_int_equal(fault.interruptions, 0);
	disarm();
	assert_slice_equal(rec_buffer_slice(&b), "content");
	arm(0, 0);
	fault.interruptions = 0;
	rec_buffer_clear(&b);
	assert_int_equal(rec_file_read(folder->file, 100, &b, NULL), 0);
	disarm();
	rec_buffer_release(&b);
}

/* A file system whose directories cannot be synced at all says EINVAL; that is not a failure. */
static void test_file_replace__a_directory_that_cannot_be_synced(void **state)
{
	struct test_folder *folder = *state;
	bool found = false;
	for (unsigned n = 1; n == 1 || fault.failed; n++) {
		arm(n, EINVAL);
		int r = rec_file_replace(folder->file, rec_slice_of("a"), 0644, NULL);
		disarm();
		if (fault.renamed && fault.failed && strcmp(fault.failed, "fsync") == 0) {
			assert_int_equal(r, 0);
			found = true;
		}
	}
	assert_true(found);
}

/* ---- Reading, locking, making directories ---- */

static int file_read(struct test_folder *folder, struct rec_error *error)
{
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 3);
	int r = rec_file_read(folder->file, 100, &b, error);
	assert_int_equal(b.length, r ? 0 : 3);
	rec_buffer_release(&b);
	return r;
}

static int file_lock(struct test_folder *folder, struct rec_error *error)
{
	int fd = -7, r = rec_file_lock(folder->file, &fd, error);
	assert_int_equal(fd == -7, r != 0);
	if (r == 0)
		__real_close(fd);
	return r;
}

static int file_locked(struct test_folder *folder, struct rec_error *error)
{
	bool is = true;
	int r = rec_file_locked(folder->file, &is, error);
	assert_int_equal(is, r != 0);
	return r;
}

static int directory_make(struct test_folder *folder, struct rec_error *error)
{
	char path[400];
	snprintf(path, sizeof path, "%s/a", folder->path);
	(void)rmdir(path);
	return rec_directory_make(path, error);
}

static int on_network(struct test_folder *folder, struct rec_error *error)
{
	bool network = true;
	const char *name = "untouched";
	int r = rec_file_on_network(folder->path, &network, &name, error);
	assert_int_equal(network, r != 0);
	assert_int_equal(name == NULL, r == 0);
	return r;
}

static void test_file__any_failed_call_is_reported_and_leaks_nothing(void **state)
{
	struct test_folder *folder = *state;
	static int (*const actions[])(struct test_folder *, struct rec_error *) = {file_read, file_lock, file_locked,
										   directory_make, on_network};
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("abc"), 0644, NULL), 0);
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		unsigned descriptors = test_open_descriptors(), failures = 0;
		for (unsigned n = 1; n == 1 || fault.failed; n++) {
			struct rec_error error = {0};
			arm(n, EIO);
			int r = actions[i](folder, &error);
			disarm();
			assert_int_equal(test_open_descriptors(), descriptors);
			/* A lock is tried again; a directory that is there need not be made. */
			bool harmless = !fault.failed || strcmp(fault.failed, "close") == 0 ||
					(actions[i] == file_lock && strstr(fault.failed, "stat")) ||
					actions[i] == directory_make;
			if (r == 0)
				assert_true(harmless);
			else
				assert_true(r == REC_E_IO && error.message[0] == '/' && strstr(error.message, ": "));
			failures += r != 0;
			if (actions[i] == directory_make && r)
				assert_int_equal(test_entries(folder->path), 1);
		}
		assert_true(failures > 0);
	}
}

static void test_file_lock__a_file_removed_before_the_lock_is_tried_again(void **state)
{
	struct test_folder *folder = *state;
	int fd;
	bool is = false;
	arm(0, 0);
	fault.remove_before_lock = folder->file;
	assert_int_equal(rec_file_lock(folder->file, &fd, NULL), 0);
	disarm();
	assert_null(fault.remove_before_lock);
	assert_int_equal(rec_file_locked(folder->file, &is, NULL), 0);
	assert_true(is);
	__real_close(fd);
}

/* ---- Network file systems, as if they were mounted ---- */

static const char *network_name(const char *path, long type, const char *mountinfo)
{
	bool network;
	const char *name;
	arm(0, 0);
	fault.statfs_type = type;
	fault.mountinfo = mountinfo;
	int r = rec_file_on_network(path, &network, &name, NULL);
	disarm();
	assert_int_equal(r, 0);
	assert_int_equal(network, name != NULL);
	return name;
}

static void test_file_on_network__asks_the_file_system(void **state)
{
	struct test_folder *folder = *state;
	char path[400];
	snprintf(path, sizeof path, "%s/not/yet/made", folder->path);
	assert_null(network_name(folder->path, 0, NULL));
	assert_null(network_name(folder->path, 0xef53, NULL));
	assert_string_equal(network_name(folder->path, 0x6969, NULL), "NFS");
	assert_string_equal(network_name(path, 0x6969, NULL), "NFS");
	assert_string_equal(network_name(path, (int32_t)0xff534d42, NULL), "CIFS"); /* a long of 32 bits */
	assert_string_equal(network_name("relative/none", 0x01021997, NULL), "9P");
	assert_string_equal(network_name("", 0x01021997, NULL), "9P");
}

static void test_file_on_network__asks_mountinfo_about_fuse(void **state)
{
	struct test_folder *folder = *state;
	struct stat status;
	char text[400];
	static const struct {
		const char *type, *name;
	} cases[] = {{"fuse.sshfs", "sshfs"},
		     {"fuse.ext2", NULL},
		     {"fuse", NULL},
		     {"fuseblk", NULL},
		     {"virtiofs", "virtiofs"}};
	assert_int_equal(stat(folder->path, &status), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text,
			 "22 1 0:21 / /proc rw - proc proc rw\n30 1 %u:%u / / rw shared:1 - %s x rw\n",
			 major(status.st_dev), minor(status.st_dev), cases[i].type);
		assert_int_equal(rec_file_replace(folder->file, rec_slice_of(text), 0644, NULL), 0);
		const char *name = network_name(folder->path, 0x65735546, folder->file);
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
	snprintf(text, sizeof text, "%s/none", folder->path);
	assert_null(network_name(folder->path, 0x65735546, text)); /* no /proc */
}

#define with_folder(test) cmocka_unit_test_setup_teardown(test, test_folder_setup, test_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_folder(test_file_replace__any_failed_call_leaves_the_old_file_and_nothing_else),
		with_folder(test_file_replace__a_failed_first_write_leaves_nothing),
		with_folder(test_file__interruptions_are_no_failures),
		with_folder(test_file_replace__a_directory_that_cannot_be_synced),
		with_folder(test_file__any_failed_call_is_reported_and_leaks_nothing),
		with_folder(test_file_lock__a_file_removed_before_the_lock_is_tried_again),
		with_folder(test_file_on_network__asks_the_file_system),
		with_folder(test_file_on_network__asks_mountinfo_about_fuse),
	};
	return cmocka_run_group_tests_name("base/file-faults", tests, NULL, NULL);
}
