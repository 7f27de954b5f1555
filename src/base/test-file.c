/* Files: read whole, replaced atomically, folders; on real failures of the system. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "base/test-file-support.h"

#define CANNOT 77 /* a child says that it cannot try this here */

/* ---- Reading ---- */

static void file_write(const char *path, size_t length)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < length; i++)
		fputc((char)('a' + i % 26), file);
	assert_int_equal(fclose(file), 0);
}

static void test_file_read__appends_the_whole_file(void **state)
{
	struct test_folder *folder = *state;
	static const size_t lengths[] = {0, 1, 26, 65535, 65536, 65537, 300000};
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		struct rec_buffer b;
		rec_buffer_init(&b, NULL, SIZE_MAX);
		rec_buffer_add_text(&b, "before ");
		file_write(folder->file, lengths[i]);
		assert_int_equal(rec_file_read(folder->file, SIZE_MAX, &b, NULL), 0);
		assert_int_equal(b.length, 7 + lengths[i]);
		assert_memory_equal(b.data, "before ", 7);
		for (size_t k = 0; k < lengths[i]; k++)
			assert_int_equal(b.data[7 + k], 'a' + k % 26);
		rec_buffer_release(&b);
	}
}

static void test_file_read__a_missing_file_is_an_outcome(void **state)
{
	struct test_folder *folder = *state;
	struct rec_buffer b;
	struct rec_error error = {.code = 7};
	rec_buffer_init(&b, NULL, 10);
	assert_int_equal(rec_file_read(folder->file, 10, &b, &error), REC_NOT_FOUND);
	assert_int_equal(error.code, 7);
	rec_buffer_release(&b);
}

static void test_file_read__a_directory_is_refused(void **state)
{
	struct test_folder *folder = *state;
	struct rec_buffer b;
	struct rec_error error;
	rec_buffer_init(&b, NULL, 10);
	assert_int_equal(rec_file_read(folder->path, 10, &b, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, folder->path));
	assert_non_null(strstr(error.message, "is a directory"));
	rec_buffer_release(&b);
}

static void test_file_read__the_limit_is_the_last_length_that_passes(void **state)
{
	struct test_folder *folder = *state;
	file_write(folder->file, 1000);
	for (size_t maximum = 999; maximum <= 1001; maximum++)
		for (int by_buffer = 0; by_buffer <= 1; by_buffer++) {
			struct rec_buffer b;
			struct rec_error error;
			rec_buffer_init(&b, NULL, by_buffer ? maximum + 2 : SIZE_MAX);
			rec_buffer_add_text(&b, "xy");
			int r = rec_file_read(folder->file, by_buffer ? SIZE_MAX : maximum, &b, &error);
			assert_int_equal(r, maximum < 1000 ? REC_E_LIMIT : 0);
			assert_int_equal(b.length, r ? 2 : 1002);
			assert_string_equal(b.data + b.length, "");
			if (r)
				assert_non_null(strstr(error.message, "longer than 999 bytes"));
			rec_buffer_release(&b);
		}
}

static void test_file_read__a_pipe_is_read_to_its_end(void **state)
{
	(void)state;
	int ends[2];
	char path[64];
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 100);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "hello", 5), 5);
	close(ends[1]);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	assert_int_equal(rec_file_read(path, 100, &b, NULL), 0);
	assert_slice_equal(rec_buffer_slice(&b), "hello");
	close(ends[0]);
	rec_buffer_release(&b);
}

static int read_scenario(const struct rec_allocator *a)
{
	struct rec_buffer b;
	rec_buffer_init(&b, a, SIZE_MAX);
	int r = rec_file_read("/proc/self/status", SIZE_MAX, &b, NULL);
	rec_buffer_release(&b);
	return r;
}

static void test_file_read__a_fifo_that_nobody_writes_to_is_empty(void **state)
{
	struct test_folder *folder = *state;
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 100);
	assert_int_equal(mkfifo(folder->file, 0600), 0);
	alarm(10); /* instead of waiting for a writer for ever */
	assert_int_equal(rec_file_read(folder->file, 100, &b, NULL), 0);
	alarm(0);
	assert_int_equal(b.length, 0);
	rec_buffer_release(&b);
}

static void test_file_read__fails_cleanly_without_memory(void **state)
{
	(void)state;
	test_fail_every_allocation(read_scenario);
}

static void test_file_read__the_message_shows_a_hostile_path(void **state)
{
	(void)state;
	struct rec_buffer b;
	struct rec_error error;
	char path[PATH_MAX + 100];
	rec_buffer_init(&b, NULL, 10);
	assert_int_equal(rec_file_read("/dev/null/a\n\x1b[31m", 10, &b, &error), REC_E_IO);
	assert_string_equal(error.message, "/dev/null/a\\x0a\\x1b[31m: Not a directory");
	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	assert_int_equal(rec_file_read(path, 10, &b, &error), REC_E_IO);
	assert_non_null(strstr(error.message, "File name too long"));
	rec_buffer_release(&b);
}

/* ---- Replacing ---- */

static void test_file_replace__makes_and_replaces(void **state)
{
	struct test_folder *folder = *state;
	static const char *const contents[] = {"one", "", "a longer one than before", "two"};
	for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
		assert_int_equal(rec_file_replace(folder->file, rec_slice_of(contents[i]), 0644, NULL), 0);
		assert_file_holds(folder->file, rec_slice_of(contents[i]));
		assert_int_equal(test_entries(folder->path), 1);
	}
}

static unsigned mode_of(const char *path)
{
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 07777;
}

static void test_file_replace__a_new_file_gets_the_mode_an_old_one_keeps_it(void **state)
{
	struct test_folder *folder = *state;
	mode_t mask = umask(027);
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("a"), 0666, NULL), 0);
	umask(mask);
	assert_int_equal(mode_of(folder->file), 0640);
	assert_int_equal(chmod(folder->file, 0604), 0);
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("b"), 0666, NULL), 0);
	assert_int_equal(mode_of(folder->file), 0604);
}

static void test_file_replace__the_owner_stays(void **state)
{
	struct test_folder *folder = *state;
	struct stat status;
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("a"), 0666, NULL), 0);
	if (chown(folder->file, 65534, 65534) < 0)
		skip();
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("b"), 0666, NULL), 0);
	assert_int_equal(stat(folder->file, &status), 0);
	assert_int_equal(status.st_uid, 65534);
	assert_int_equal(status.st_gid, 65534);
}

static void test_file_replace__the_old_file_of_an_open_reader_stays_whole(void **state)
{
	struct test_folder *folder = *state;
	char text[8] = "";
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("old"), 0644, NULL), 0);
	int reader = open(folder->file, O_RDONLY | O_CLOEXEC);
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("newer"), 0644, NULL), 0);
	assert_int_equal(read(reader, text, sizeof text), 3);
	assert_string_equal(text, "old");
	close(reader);
}

static void test_file_replace__follows_a_symbolic_link(void **state)
{
	struct test_folder *folder = *state;
	char link[400], inner[400];
	struct stat status;
	snprintf(inner, sizeof inner, "%s/inner", folder->path);
	snprintf(link, sizeof link, "%s/link", folder->path);
	assert_int_equal(mkdir(inner, 0777), 0);
	snprintf(inner, sizeof inner, "%s/inner/target", folder->path);
	assert_int_equal(rec_file_replace(inner, rec_slice_of("a"), 0644, NULL), 0);
	assert_int_equal(symlink("inner/target", link), 0);
	assert_int_equal(rec_file_replace(link, rec_slice_of("b"), 0644, NULL), 0);
	assert_file_holds(inner, rec_slice_of("b"));
	assert_int_equal(lstat(link, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
}

static void test_file_replace__a_name_may_be_as_long_as_names_can_be(void **state)
{
	struct test_folder *folder = *state;
	char path[600], name[NAME_MAX + 1];
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	snprintf(path, sizeof path, "%s/%s", folder->path, name);
	assert_int_equal(rec_file_replace(path, rec_slice_of("a"), 0644, NULL), 0);
	assert_file_holds(path, rec_slice_of("a"));
	assert_int_equal(test_entries(folder->path), 1);
}

static void test_file_replace__a_relative_path_without_a_directory(void **state)
{
	struct test_folder *folder = *state;
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(chdir(folder->path), 0);
	int first = rec_file_replace("plain", rec_slice_of("a"), 0644, NULL);
	int second = rec_file_replace("plain", rec_slice_of("b"), 0644, NULL);
	assert_int_equal(fchdir(here), 0);
	close(here);
	assert_int_equal(first, 0);
	assert_int_equal(second, 0);
	assert_int_equal(test_entries(folder->path), 1);
}

static void test_file_replace__refuses_what_is_no_file(void **state)
{
	struct test_folder *folder = *state;
	char path[400];
	struct rec_error error;
	assert_int_equal(rec_file_replace(folder->path, rec_slice_of("a"), 0644, &error), REC_E_INVALID);
	assert_non_null(strstr(error.message, "is a directory"));
	snprintf(path, sizeof path, "%s/pipe", folder->path);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_int_equal(rec_file_replace(path, rec_slice_of("a"), 0644, &error), REC_E_INVALID);
	assert_int_equal(rec_file_replace("/dev/null", rec_slice_of("a"), 0644, &error), REC_E_INVALID);
	snprintf(path, sizeof path, "%s/none/file", folder->path);
	assert_int_equal(rec_file_replace(path, rec_slice_of("a"), 0644, &error), REC_E_IO);
	snprintf(path, sizeof path, "%s/none/", folder->path);
	assert_int_equal(rec_file_replace(path, rec_slice_of("a"), 0644, &error), REC_E_IO);
	assert_int_equal(rec_file_replace("", rec_slice_of("a"), 0644, &error), REC_E_IO);
	assert_int_equal(rec_file_replace("/", rec_slice_of("a"), 0644, &error), REC_E_INVALID);
	assert_int_equal(test_entries(folder->path), 1);
}

/* In a child: the directory belongs to another user and may not be written. */
static int replace_without_right(struct test_folder *folder)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return CANNOT;
	return -rec_file_replace(folder->file, rec_slice_of("new"), 0644, NULL);
}

static void test_file_replace__a_directory_without_the_right_to_write(void **state)
{
	struct test_folder *folder = *state;
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("old"), 0644, NULL), 0);
	assert_int_equal(chmod(folder->path, 0555), 0);
	int r = test_in_child(replace_without_right, folder);
	assert_int_equal(chmod(folder->path, 0755), 0);
	if (r == CANNOT)
		skip();
	assert_int_equal(r, -REC_E_PERMISSION);
	assert_file_holds(folder->file, rec_slice_of("old"));
	assert_int_equal(test_entries(folder->path), 1);
}

static int replace_with_large(struct test_folder *folder, struct rec_error *error)
{
	static char large[1 << 20];
	return rec_file_replace(folder->file, (struct rec_slice){large, sizeof large}, 0644, error);
}

/* In a child, because its limit may not be raised again. The message is checked here too. */
static int replace_beyond_the_limit(struct test_folder *folder)
{
	struct rec_error error;
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}) < 0)
		return CANNOT;
	int r = replace_with_large(folder, &error);
	return strstr(error.message, "File too large") ? -r : 1;
}

static void test_file_replace__a_file_size_limit(void **state)
{
	struct test_folder *folder = *state;
	assert_int_equal(rec_file_replace(folder->file, rec_slice_of("old"), 0644, NULL), 0);
	assert_int_equal(test_in_child(replace_beyond_the_limit, folder), -REC_E_IO);
	assert_file_holds(folder->file, rec_slice_of("old"));
	assert_int_equal(test_entries(folder->path), 1);
}

/* In a child with mounts of its own: the folder becomes a tiny volume, or a read-only one. */
static int mount_on(struct test_folder *folder, unsigned long flags)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	if (mount("tiny", folder->path, "tmpfs", 0, "size=64k") < 0)
		return -1;
	if (rec_file_replace(folder->file, rec_slice_of("old"), 0644, NULL) != 0)
		return -1;
	return flags ? mount("tiny", folder->path, "tmpfs", MS_REMOUNT | flags, NULL) : 0;
}

static int replace_on_mount(struct test_folder *folder, unsigned long flags)
{
	struct rec_buffer b;
	rec_buffer_init(&b, NULL, 100);
	if (mount_on(folder, flags) < 0)
		return CANNOT;
	int r = replace_with_large(folder, NULL);
	if (rec_file_read(folder->file, 100, &b, NULL) != 0 || strcmp(b.data, "old") != 0)
		return 1;
	rec_buffer_release(&b);
	return test_entries(folder->path) == 1 ? -r : 2;
}

static int replace_on_full(struct test_folder *folder)
{
	return replace_on_mount(folder, 0);
}

static int replace_on_read_only(struct test_folder *folder)
{
	return replace_on_mount(folder, MS_RDONLY);
}

static void test_file_replace__a_full_disk(void **state)
{
	int r = test_in_child(replace_on_full, *state);
	if (r == CANNOT)
		skip();
	assert_int_equal(r, -REC_E_FULL);
}

static void test_file_replace__a_read_only_disk(void **state)
{
	int r = test_in_child(replace_on_read_only, *state);
	if (r == CANNOT)
		skip();
	assert_int_equal(r, -REC_E_READ_ONLY);
}

/* ---- Directories ---- */

static bool is_directory(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void test_directory_make__makes_every_missing_one(void **state)
{
	struct test_folder *folder = *state;
	char path[400];
	snprintf(path, sizeof path, "%s/a//b/./c/", folder->path);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rec_directory_make(path, NULL), 0);
		assert_true(is_directory(path));
	}
	assert_int_equal(rec_directory_make("/", NULL), 0);
	assert_int_equal(rec_directory_make(".", NULL), 0);
}

static void test_directory_make__says_what_is_in_the_way(void **state)
{
	struct test_folder *folder = *state;
	char path[400], wanted[400];
	struct rec_error error;
	file_write(folder->file, 1);
	snprintf(path, sizeof path, "%s/a/b", folder->file);
	snprintf(wanted, sizeof wanted, "%s: Not a directory", folder->file);
	assert_int_equal(rec_directory_make(path, &error), REC_E_IO);
	assert_string_equal(error.message, wanted);
	assert_int_equal(rec_directory_make(folder->file, &error), REC_E_IO);
	assert_int_equal(rec_directory_make("", &error), REC_E_IO);
	char long_path[PATH_MAX + 10];
	memset(long_path, '/', sizeof long_path);
	long_path[sizeof long_path - 1] = '\0';
	assert_int_equal(rec_directory_make(long_path, &error), REC_E_IO);
	snprintf(path, sizeof path, "%s/dangling", folder->path);
	assert_int_equal(symlink("nowhere", path), 0);
	assert_int_equal(rec_directory_make(path, &error), REC_E_IO);
}

#define with_folder(test) cmocka_unit_test_setup_teardown(test, test_folder_setup, test_folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_folder(test_file_read__appends_the_whole_file),
		with_folder(test_file_read__a_missing_file_is_an_outcome),
		with_folder(test_file_read__a_directory_is_refused),
		with_folder(test_file_read__the_limit_is_the_last_length_that_passes),
		cmocka_unit_test(test_file_read__a_pipe_is_read_to_its_end),
		with_folder(test_file_read__a_fifo_that_nobody_writes_to_is_empty),
		cmocka_unit_test(test_file_read__fails_cleanly_without_memory),
		cmocka_unit_test(test_file_read__the_message_shows_a_hostile_path),
		with_folder(test_file_replace__makes_and_replaces),
		with_folder(test_file_replace__a_new_file_gets_the_mode_an_old_one_keeps_it),
		with_folder(test_file_replace__the_owner_stays),
		with_folder(test_file_replace__the_old_file_of_an_open_reader_stays_whole),
		with_folder(test_file_replace__follows_a_symbolic_link),
		with_folder(test_file_replace__a_name_may_be_as_long_as_names_can_be),
		with_folder(test_file_replace__a_relative_path_without_a_directory),
		with_folder(test_file_replace__refuses_what_is_no_file),
		with_folder(test_file_replace__a_directory_without_the_right_to_write),
		with_folder(test_file_replace__a_file_size_limit),
		with_folder(test_file_replace__a_full_disk),
		with_folder(test_file_replace__a_read_only_disk),
		with_folder(test_directory_make__makes_every_missing_one),
		with_folder(test_directory_make__says_what_is_in_the_way),
	};
	return cmocka_run_group_tests_name("base/file", tests, NULL, NULL);
}
