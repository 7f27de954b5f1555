/* file.h - the few things done to files: read whole, replace atomically, lock, ask what lies below. */
#ifndef REC_BASE_FILE_H
#define REC_BASE_FILE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

/* Appends the whole file (or standard input for "-" is NOT handled here). REC_E_LIMIT over bytes_max,
 * REC_E_INVALID for a directory, REC_NOT_FOUND if it does not exist (no error is filled in). */
int rec_file_read(const char *path, size_t bytes_max, struct rec_buffer *out, struct rec_error *error);
/* write to a temporary name beside it, fsync, rename, fsync the directory. mode for a new file. */
int rec_file_replace(const char *path, struct rec_slice content, unsigned mode, struct rec_error *error);
/* Every missing directory of path, mode 0777 less umask. */
int rec_directory_make(const char *path, struct rec_error *error);
/* An exclusive advisory lock on `path` (made if missing, CLOEXEC, open file description lock). 0 and a
 * descriptor that holds it until closed; REC_CONFLICT if another holds it. */
int rec_file_lock(const char *path, int *ret_fd, struct rec_error *error);
/* Whether somebody holds such a lock right now; a missing file is not locked. Takes no lock itself. */
int rec_file_locked(const char *path, bool *ret_locked, struct rec_error *error);

/* Is the path (or its nearest existing parent) on a network file system (NFS, CIFS/SMB, AFS, Ceph, 9P,
 * GlusterFS or another FUSE that is remote, Lustre, GFS2, OCFS2)? ret_name names it. Decided by statfs f_type and,
 * for FUSE, the type in /proc/self/mountinfo. */
int rec_file_on_network(const char *path, bool *ret_network, const char **ret_name, struct rec_error *error);

#endif
