/* test-workspace.h - a folder on disk for the tests of the public API, empty or with a copy of a codeframe database. */
#ifndef REC_LIB_TEST_WORKSPACE_H
#define REC_LIB_TEST_WORKSPACE_H

#include "test-api.h"

#include <sys/stat.h>
#include <unistd.h>

struct workspace {
	char path[40];
};

static inline void workspace_init(struct workspace *w)
{
	snprintf(w->path, sizeof w->path, "/tmp/workspace-XXXXXX");
	assert_non_null(mkdtemp(w->path));
}

static inline void workspace_release(struct workspace *w)
{
	static const char *const names[] = {
		"/.reconciler/state.db",
		"/.reconciler/state.db-wal",
		"/.reconciler/state.db-shm",
		"/.reconciler",
		"/.codeframe/state.db",
		"/.codeframe/state.db-wal",
		"/.codeframe/state.db-shm",
		"/.codeframe",
		"/.codeframe/rec-run",
		"/.reconciler/rec-run",
		"",
	};
	char path[128];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s%s", w->path, names[i]);
		(void)remove(path);
	}
	assert_int_equal(access(w->path, F_OK), -1);
}

/* Puts the named fixture where codeframe keeps its database; gives the path. */
static inline void workspace_codeframe(struct workspace *w, const char *name, char path[128])
{
	char from[512];
	static char bytes[1u << 20];
	snprintf(path, 128, "%s/.codeframe", w->path);
	assert_int_equal(mkdir(path, 0777), 0);
	snprintf(path, 128, "%s/.codeframe/state.db", w->path);
	snprintf(from, sizeof from, "%s/codeframe/codeframe-%s.db", getenv("REC_TEST_DATA"), name);
	FILE *in = fopen(from, "rb"), *out = fopen(path, "wb");
	assert_true(in && out);
	for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
		assert_int_equal(fwrite(bytes, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

#endif
