/* Locks on files: between descriptors of one process, between processes, after their end. */
#include <fcntl.h>
#include <signal.h>

#include "base/cleanup.h"
#include "base/test-file-support.h"

static bool locked(const char *path)
{
	bool is = false;
	assert_int_equal(rec_file_locked(path, &is, NULL), 0);
	return is;
}

static void test_file_lock__excludes_a_second_one_in_the_same_process(void **state)
{
	struct test_folder *folder = *state;
	int first, second = -7;
	struct rec_error error = {.code = 7};
	assert_false(locked(folder->file));
	assert_int_equal(test_entries(folder->path), 0);
	assert_int_equal(rec_file_lock(folder->file, &first, NULL), 0);
	assert_true(locked(folder->file));
	assert_int_equal(rec_file_lock(folder->file, &second, &error), REC_CONFLICT);
	assert_int_equal(second, -7);
	assert_int_equal(error.code, 7);
	close(first);
	assert_false(locked(folder->file));
	assert_int_equal(rec_file_lock(folder->file, &second, NULL), 0);
	close(second);
}

static void test_file_lock__survives_another_close_of_the_same_file(void **state)
{
	struct test_folder *folder = *state;
	int fd;
	assert_int_equal(rec_file_lock(folder->file, &fd, NULL), 0);
	int other = open(folder->file, O_RDWR | O_CLOEXEC);
	assert_true(other >= 0);
	close(other); /* a POSIX lock would be gone now */
	assert_true(locked(folder->file));
	close(fd);
}

static void test_file_lock__is_not_inherited_over_exec_and_keeps_the_content(void **state)
{
	struct test_folder *folder = *state;
	int fd;
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("pid 1"), 0644, NULL), 0);
	assert_int_equal(rec_file_lock(folder->file, &fd, NULL), 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_file_holds(folder->file, rec_slice_of("pid 1"));
}

static int lock_and_wait(struct test_folder *folder, int said, int wait)
{
	int fd;
	char byte = (char)('0' - rec_file_lock(folder->file, &fd, NULL));
	(void)!write(said, &byte, 1);
	(void)!read(wait, &byte, 1);
	return 0;
}

static void test_file_lock__ends_with_a_killed_process(void **state)
{
	struct test_folder *folder = *state;
	int said[2], wait[2], fd, status;
	char byte = 0;
	assert_int_equal(pipe(said), 0);
	assert_int_equal(pipe(wait), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(lock_and_wait(folder, said[1], wait[0]));
	assert_int_equal(read(said[0], &byte, 1), 1);
	assert_int_equal(byte, '0');
	assert_true(locked(folder->file));
	assert_int_equal(rec_file_lock(folder->file, &fd, NULL), REC_CONFLICT);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(locked(folder->file));
	assert_int_equal(rec_file_lock(folder->file, &fd, NULL), 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		close(said[i]);
		close(wait[i]);
	}
}

static void test_file_lock__a_removed_file_is_another_file(void **state)
{
	struct test_folder *folder = *state;
	int first, second;
	assert_int_equal(rec_file_lock(folder->file, &first, NULL), 0);
	assert_int_equal(unlink(folder->file), 0);
	assert_false(locked(folder->file));
	assert_int_equal(rec_file_lock(folder->file, &second, NULL), 0);
	assert_true(locked(folder->file));
	close(first);
	assert_true(locked(folder->file));
	close(second);
}

static void test_file_lock__a_place_that_is_none_is_an_error(void **state)
{
	struct test_folder *folder = *state;
	char path[400];
	int fd = -7;
	bool is = true;
	struct rec_error error;
	snprintf(path, sizeof path, "%s/none/lock", folder->path);
	unsigned before = test_open_descriptors();
	assert_int_equal(rec_file_lock(path, &fd, &error), REC_E_IO);
	assert_non_null(strstr(error.message, path));
	assert_int_equal(rec_file_lock(folder->path, &fd, &error), REC_E_IO);
	assert_int_equal(fd, -7);
	assert_int_equal(rec_file_locked("/dev/null/x", &is, &error), REC_E_IO);
	assert_true(is);
	assert_false(locked(path)); /* what is not there is not locked */
	assert_int_equal(test_open_descriptors(), before);
}

#define with_folder(test) cmocka_unit_test_setup_teardown(test, test_folder_setup, test_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_folder(test_file_lock__excludes_a_second_one_in_the_same_process),
		with_folder(test_file_lock__survives_another_close_of_the_same_file),
		with_folder(test_file_lock__is_not_inherited_over_exec_and_keeps_the_content),
		with_folder(test_file_lock__ends_with_a_killed_process),
		with_folder(test_file_lock__a_removed_file_is_another_file),
		with_folder(test_file_lock__a_place_that_is_none_is_an_error),
	};
	return cmocka_run_group_tests_name("base/file-lock", tests, NULL, NULL);
}
