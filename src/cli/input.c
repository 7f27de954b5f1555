/* input.c - plain read(2): pipes, terminals and files alike, a short read being as good as a full one. */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

const char *input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

static int read_pieces(int fd, char *piece, const char *name, input_fn *fn, void *context, struct rec_error *error)
{
	for (;;) {
		ssize_t length = read(fd, piece, INPUT_PIECE_BYTES);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return rec_fail_errno(error, errno, "%s", name);
		if (length == 0)
			return 0;
		int r = fn(context, (struct rec_slice){piece, (size_t)length}, error);
		if (r < 0)
			return rec_fail_context(error, r, "%s", name);
	}
}

int input_read(const char *path, input_fn *fn, void *context, struct rec_error *error)
{
	const char *name = input_name(path);
	rec_cleanup(rec_close_fd) int opened = -1;
	int fd = STDIN_FILENO;
	if (strcmp(path, "-") != 0) {
		fd = opened = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return rec_fail_errno(error, errno, "%s", name);
	}
	char *piece = rec_alloc(NULL, INPUT_PIECE_BYTES);
	if (!piece)
		return rec_fail_nomem(error);
	int r = read_pieces(fd, piece, name, fn, context, error);
	rec_free(NULL, piece);
	return r;
}
