/* file-network.c - two constant lists: file systems by the number statfs gives, and FUSE, which has one number for
 * all, by the type in mountinfo. Shares between a virtual machine and its host are on both lists: two kernels
 * have no common memory for a write-ahead log. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/text.h"

#define MAGIC_FUSE 0x65735546u
#define MOUNTINFO_BYTES_MAX ((size_t)16 << 20)

static const struct {
	uint32_t magic;
	const char *name;
} networks[] = {
	{0x00006969, "NFS"},
	{0x0000517b, "SMB"},
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
	{0x0000564c, "NCP"},
	{0x47504653, "GPFS"},
	{0x20030528, "OrangeFS"},
	{0x19830326, "BeeGFS"},
	{0xaad7aaea, "PanFS"},
	{0x61636673, "ACFS"},
	{0xbeefdead, "SNFS"},
	{0x786f4256, "VirtualBox shared folder"},
	{0xbacbacbc, "VMware shared folder"},
	{0x7c7c6673, "Parallels shared folder"},
};

static const struct {
	const char *type, *name;
} fuses[] = {
	{"virtiofs", "virtiofs"},
	{"sshfs", "sshfs"},
	{"glusterfs", "GlusterFS"},
	{"ceph", "Ceph"},
	{"ceph-fuse", "Ceph"},
	{"s3fs", "s3fs"},
	{"mountpoint-s3", "mountpoint-s3"},
	{"goofys", "goofys"},
	{"gcsfuse", "gcsfuse"},
	{"blobfuse", "blobfuse"},
	{"blobfuse2", "blobfuse"},
	{"ossfs", "ossfs"},
	{"cosfs", "cosfs"},
	{"rclone", "rclone"},
	{"davfs", "WebDAV"},
	{"davfs2", "WebDAV"},
	{"curlftpfs", "FTP"},
	{"smbnetfs", "SMB"},
	{"fuse-nfs", "NFS"},
	{"gvfsd-fuse", "GVfs"},
	{"kio-fuse", "KIO"},
	{"mfs", "MooseFS"},
	{"lizardfs", "LizardFS"},
	{"saunafs", "SaunaFS"},
	{"seaweedfs", "SeaweedFS"},
	{"juicefs", "JuiceFS"},
	{"JuiceFS", "JuiceFS"},
	{"alluxio-fuse", "Alluxio"},
	{"fuse_dfs", "HDFS"},
	{"hdfs", "HDFS"},
	{"google-drive-ocamlfuse", "Google Drive"},
	{"onedriver", "OneDrive"},
	{"vmhgfs-fuse", "VMware shared folder"},
	{"prl_fsd", "Parallels shared folder"},
	{"grpcfuse", "Docker Desktop share"},
	{"osxfs", "Docker Desktop share"},
};

const char *rec_network_name(uint32_t magic, struct rec_slice fuse_type)
{
	if (magic != MAGIC_FUSE) {
		for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
			if (networks[i].magic == magic)
				return networks[i].name;
		return NULL;
	}
	for (size_t i = 0; i < sizeof fuses / sizeof *fuses; i++)
		if (rec_slice_equal(fuse_type, rec_slice_of(fuses[i].type)))
			return fuses[i].name;
	return NULL;
}

/* Cuts off and returns what stands before the next `end`. */
static struct rec_slice take_until(struct rec_slice *text, char end)
{
	const char *found = text->length ? memchr(text->data, end, text->length) : NULL;
	size_t length = found ? (size_t)(found - text->data) : text->length;
	struct rec_slice taken = {text->data, length};
	text->data += length + (found != NULL);
	text->length -= length + (found != NULL);
	return taken;
}

/* "36 35 98:0 /root /point options [optional fields] - type source ..." */
static struct rec_slice line_type(struct rec_slice line, struct rec_slice device)
{
	struct rec_slice none = {0};
	take_until(&line, ' ');
	take_until(&line, ' ');
	if (!rec_slice_equal(take_until(&line, ' '), device))
		return none;
	while (line.length)
		if (rec_slice_equal(take_until(&line, ' '), rec_slice_of("-")))
			return take_until(&line, ' ');
	return none;
}

struct rec_slice rec_mount_type(struct rec_slice mountinfo, unsigned device_major, unsigned device_minor)
{
	char device[32];
	snprintf(device, sizeof device, "%u:%u", device_major, device_minor);
	struct rec_slice type = {0};
	while (mountinfo.length && type.length == 0)
		type = line_type(take_until(&mountinfo, '\n'), rec_slice_of(device));
	if (type.length > 5 && memcmp(type.data, "fuse.", 5) == 0) {
		type.data += 5;
		type.length -= 5;
	}
	return type;
}

/* Shortens path to its parent; false at the top. "" stands for the current directory. */
static bool parent_take(char *path)
{
	size_t length = strlen(path);
	if (length == 0 || strcmp(path, "/") == 0)
		return false;
	while (length > 1 && path[length - 1] == '/')
		length--;
	while (length > 0 && path[length - 1] != '/')
		length--;
	while (length > 1 && path[length - 1] == '/')
		length--;
	path[length] = '\0';
	return true;
}

static int fail_path(struct rec_error *error, int errnum, const char *path)
{
	char shown[512];
	return rec_fail_errno(error, errnum, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
}

/* statfs of the path or its nearest parent that exists; *path is shortened to that. */
static int nearest_statfs(char *path, struct statfs *ret_status)
{
	while (statfs(path[0] ? path : ".", ret_status) < 0)
		if ((errno != ENOENT && errno != ENOTDIR) || !parent_take(path))
			return errno;
	return 0;
}

/* Without /proc the type stays unknown, and an unknown FUSE counts as local. */
static const char *fuse_name(const char *path, const struct rec_allocator *a)
{
	struct stat status;
	struct rec_buffer text;
	if (stat(path, &status) < 0)
		return NULL;
	rec_buffer_init(&text, a, MOUNTINFO_BYTES_MAX);
	const char *name = NULL;
	if (rec_file_read("/proc/self/mountinfo", MOUNTINFO_BYTES_MAX, &text, NULL) == 0)
		name = rec_network_name(MAGIC_FUSE, rec_mount_type(rec_buffer_slice(&text), major(status.st_dev),
								   minor(status.st_dev)));
	rec_buffer_release(&text);
	return name;
}

int rec_file_on_network(const char *path, bool *ret_network, const char **ret_name, struct rec_error *error)
{
	char nearest[PATH_MAX];
	size_t length = strlen(path);
	if (length >= sizeof nearest)
		return fail_path(error, ENAMETOOLONG, path);
	memcpy(nearest, path, length + 1);
	struct statfs status;
	int errnum = nearest_statfs(nearest, &status);
	if (errnum)
		return fail_path(error, errnum, path);
	uint32_t magic = (uint32_t)status.f_type;
	const char *name = magic == MAGIC_FUSE ? fuse_name(nearest[0] ? nearest : ".", NULL)
					       : rec_network_name(magic, (struct rec_slice){0});
	*ret_network = name != NULL;
	*ret_name = name;
	return 0;
}
