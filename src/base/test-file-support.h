/* test-file-support.h - a folder of its own for each test of files. Not a part of the product. */
#ifndef REC_BASE_TEST_FILE_SUPPORT_H
#define REC_BASE_TEST_FILE_SUPPORT_H

#include "base/test-support.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

struct test_folder {
	char path[256], file[300]; /* file: a name in it, not made yet */
};

static inline int test_folder_setup(void **state)
{
	const char *place = getenv("TMPDIR");
	struct test_folder *folder = calloc(1, sizeof *folder);
	if (!folder)
		return -1;
	*state = folder;
	snprintf(folder->path, sizeof folder->path, "%s/reconciler-test-XXXXXX", place ? place : P_tmpdir);
	*state = folder;
	if (!mkdtemp(folder->path))
		return -1;
	snprintf(folder->file, sizeof folder->file, "%s/file", folder->path);
	return 0;
}

static inline int test_folder_remove(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status, (void)kind, (void)where;
	return remove(path);
}

static inline int test_folder_teardown(void **state)
{
	struct test_folder *folder = *state;
	int r = nftw(folder->path, test_folder_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
	return r;
}

static inline unsigned test_entries(const char *path)
{
	DIR *folder = opendir(path);
	unsigned count = 0;
	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(folder);
	return count;
}

static inline unsigned test_open_descriptors(void)
{
	return test_entries("/proc/self/fd");
}

static inline void assert_file_holds(const char *path, struct rec_slice wanted)
{
	struct rec_buffer b;
	struct rec_error error;
	rec_buffer_init(&b, NULL, SIZE_MAX);
	assert_int_equal(rec_file_read(path, SIZE_MAX, &b, &error), 0);
	assert_true(rec_slice_equal(rec_buffer_slice(&b), wanted));
	rec_buffer_release(&b);
}

/* Runs body in a child process; returns what it returned (0 to 127), or 128 and its signal. */
static inline int test_in_child(int (*body)(struct test_folder *folder), struct test_folder *folder)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(body(folder));
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
