/* file.h - the few things done to files: read whole, replace atomically, lock, ask what lies below. Messages
 * begin with the path. */
#ifndef REC_BASE_FILE_H
#define REC_BASE_FILE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

/* Appends the whole file to out, or nothing; "-" is a file's name here. REC_E_LIMIT over bytes_max, REC_E_INVALID
 * for a directory, REC_NOT_FOUND if it does not exist (no error is filled in). A FIFO that nobody writes to is empty;
 * one with a writer is waited for. */
int rec_file_read(const char *path, size_t bytes_max, struct rec_buffer *out, struct rec_error *error);
/* Writes a temporary name in the same directory, fsync, rename, fsync of the directory. At every moment the path
 * holds the old content or the new, whole; a failure leaves no temporary file. (If only the last fsync fails,
 * the new content is in place, but may not survive a power cut; that is reported as the failure it is.) mode:
 * of a new file, less umask; an existing one keeps its mode and, where allowed, its owner. A symbolic link is
 * followed, one that leads nowhere is replaced. O(content). */
int rec_file_replace(const char *path, struct rec_slice content, unsigned mode, struct rec_error *error);
/* Every missing directory of path, mode 0777 less umask. */
int rec_directory_make(const char *path, struct rec_error *error);
/* An exclusive advisory lock on `path` (made if missing, CLOEXEC, open file description lock). 0 and a
 * descriptor that holds it until closed; REC_CONFLICT if another holds it. */
int rec_file_lock(const char *path, int *ret_fd, struct rec_error *error);
/* Whether somebody holds such a lock right now; a missing file is not locked. Takes no lock itself. */
int rec_file_locked(const char *path, bool *ret_locked, struct rec_error *error);

/* Is the path (or its nearest existing parent) on a network file system, or one that another kernel shares (NFS,
 * CIFS/SMB, AFS, Ceph, 9P, virtiofs, GlusterFS or another FUSE that is remote, Lustre, GFS2, OCFS2, ...)?
 * *ret_name names it, NULL if not. Decided by statfs f_type and, for FUSE, the type in /proc/self/mountinfo; a
 * FUSE that is not known to be remote counts as local. */
int rec_file_on_network(const char *path, bool *ret_network, const char **ret_name, struct rec_error *error);
/* The two halves of that decision, pure. The name by f_type and FUSE type (without "fuse."; empty: not known);
 * NULL: local. */
const char *rec_network_name(uint32_t magic, struct rec_slice fuse_type);
/* The file system type of the mount of a device in the text of a mountinfo file, "fuse." left out; empty: none. */
struct rec_slice rec_mount_type(struct rec_slice mountinfo, unsigned device_major, unsigned device_minor);

#endif
