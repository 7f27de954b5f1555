/* Which file systems are shared: the two pure halves, and the question for a path. */
#include "base/test-support.h"

#include <limits.h>

#include "base/file.h"

#define FUSE 0x65735546u

static void test_network_name__by_number(void **state)
{
	(void)state;
	static const struct {
		uint32_t magic;
		const char *name;
	} cases[] = {
		{0x6969, "NFS"},
		{0x517b, "SMB"},
		{0xff534d42, "CIFS"},
		{0xfe534d42, "SMB"},
		{0x5346414f, "AFS"},
		{0x6b414653, "AFS"},
		{0x00c36400, "Ceph"},
		{0x01021997, "9P"},
		{0x0bd00bd0, "Lustre"},
		{0x01161970, "GFS2"},
		{0x7461636f, "OCFS2"},
		{0x73757245, "Coda"},
		{0x47504653, "GPFS"},
		{0xef53, NULL},
		{0x58465342, NULL},
		{0x9123683e, NULL},
		{0x01021994, NULL},
		{0x794c7630, NULL},
		{0x2fc12fc1, NULL},
		{0xf2f52010, NULL},
		{0x786f4256, "VirtualBox shared folder"},
		{0, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *name = rec_network_name(cases[i].magic, rec_slice_of("sshfs"));
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
	}
}

static void test_network_name__fuse_by_its_type(void **state)
{
	(void)state;
	static const char *const remote[] = {"sshfs",   "glusterfs", "s3fs",     "rclone",
					     "gcsfuse", "davfs",     "virtiofs", "juicefs"},
				 *const local[] = {"",         "ext2",   "ntfs",   "encfs", "gocryptfs",
						   "mergerfs", "bindfs", "sshfsx", "SSHFS", "ssh"};
	for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
		assert_non_null(rec_network_name(FUSE, rec_slice_of(remote[i])));
	for (size_t i = 0; i < sizeof local / sizeof *local; i++)
		assert_null(rec_network_name(FUSE, rec_slice_of(local[i])));
	assert_null(rec_network_name(FUSE, (struct rec_slice){NULL, 0}));
}

static const char mountinfo[] = "22 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n"
				"28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
				"40 28 0:45 / /mnt/my\\040files rw shared:3 master:4 - fuse.sshfs u@h:/ rw,user_id=0\n"
				"41 28 0:46 / /mnt/none rw - fuse none rw\n"
				"42 28 0:4 / /mnt/other rw - fuseblk /dev/sdb1 rw\n"
				"43 28 0:47 /sub /mnt/- rw - virtiofs share rw";

static void test_mount_type__is_found_by_device(void **state)
{
	(void)state;
	struct rec_slice text = rec_slice_of(mountinfo);
	assert_slice_equal(rec_mount_type(text, 254, 0), "ext4");
	assert_slice_equal(rec_mount_type(text, 0, 45), "sshfs");
	assert_slice_equal(rec_mount_type(text, 0, 46), "fuse");
	assert_slice_equal(rec_mount_type(text, 0, 4), "fuseblk");
	assert_slice_equal(rec_mount_type(text, 0, 47), "virtiofs");
	assert_int_equal(rec_mount_type(text, 0, 99).length, 0);
	assert_int_equal(rec_mount_type(text, 45, 0).length, 0);
}

static void test_mount_type__survives_lines_that_are_none(void **state)
{
	(void)state;
	static const char *const texts[] = {"",
					    "\n\n",
					    " ",
					    "1 2 0:45",
					    "1 2 0:45 / /x rw",
					    "1 2 0:45 / /x rw -",
					    "1 2 0:45 / /x rw - ",
					    "1 2 0:45 / /x rw -x fuse.sshfs",
					    "- - - - -"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_int_equal(rec_mount_type(rec_slice_of(texts[i]), 0, 45).length, 0);
	assert_int_equal(rec_mount_type((struct rec_slice){NULL, 0}, 0, 45).length, 0);
	assert_slice_equal(rec_mount_type(rec_slice_of("x\n1 2 0:45 / /x rw - fuse. y"), 0, 45), "fuse.");
}

static void test_file_on_network__asks_the_nearest_parent_that_exists(void **state)
{
	(void)state;
	static const char *const paths[] = {"/proc", "/proc/no/such/thing", "/",        "",           ".",
					    "none",  "none/at//all/",       "//none//", "/dev/null/x"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		bool network = true;
		const char *name = "untouched";
		assert_int_equal(rec_file_on_network(paths[i], &network, &name, NULL), 0);
		assert_int_equal(network, name != NULL);
	}
	bool network = true;
	const char *name = "untouched";
	assert_int_equal(rec_file_on_network("/proc/none", &network, &name, NULL), 0);
	assert_false(network);
	assert_null(name);
}

static void test_file_on_network__a_path_that_is_too_long(void **state)
{
	(void)state;
	char path[PATH_MAX + 10];
	bool network = true;
	const char *name = "untouched";
	struct rec_error error;
	memset(path, '/', sizeof path);
	path[sizeof path - 1] = '\0';
	assert_int_equal(rec_file_on_network(path, &network, &name, &error), REC_E_IO);
	memset(path + 1, 'x', 1000);
	path[1001] = '\0';
	assert_int_equal(rec_file_on_network(path, &network, &name, &error), REC_E_IO); /* one name of it */
	assert_non_null(strstr(error.message, "File name too long"));
	assert_string_equal(name, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_network_name__by_number),
		cmocka_unit_test(test_network_name__fuse_by_its_type),
		cmocka_unit_test(test_mount_type__is_found_by_device),
		cmocka_unit_test(test_mount_type__survives_lines_that_are_none),
		cmocka_unit_test(test_file_on_network__asks_the_nearest_parent_that_exists),
		cmocka_unit_test(test_file_on_network__a_path_that_is_too_long),
	};
	return cmocka_run_group_tests_name("base/file-network", tests, NULL, NULL);
}
