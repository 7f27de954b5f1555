/* open.c - from what a person names to an open store: the kind of store by its prefix, a bare path by what lies
 * there, and the search upwards when nothing is named. */
#include "base/file.h"
#include "base/text.h"
#include "store/wrapper.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PATH_BYTES_MAX 4096u

static const char *const state_files[] = {".reconciler/state.db", ".codeframe/state.db"};
#define STATE_FILE_COUNT (sizeof state_files / sizeof *state_files)

/* ---- What lies there ---- */

/* 0 and the mode bits; REC_NOT_FOUND. What cannot be looked at is an error, not an absence. */
static int path_look(const char *path, mode_t *ret_mode, struct rec_error *error)
{
	struct stat status;
	char shown[256];
	if (stat(path, &status) == 0) {
		*ret_mode = status.st_mode;
		return 0;
	}
	if (errno == ENOENT || errno == ENOTDIR)
		return REC_NOT_FOUND;
	return rec_fail_errno(error, errno, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
}

static int path_join(struct rec_buffer *path, const char *directory, const char *name, struct rec_error *error)
{
	rec_buffer_clear(path);
	size_t length = strlen(directory);
	bool slash = length > 0 && directory[length - 1] == '/';
	if (rec_buffer_printf(path, "%s%s%s", directory, slash ? "" : "/", name) == 0)
		return 0;
	if (path->failed == REC_E_LIMIT)
		return rec_fail(error, REC_E_INVALID, "path: is longer than %u bytes", PATH_BYTES_MAX);
	return rec_fail_nomem(error);
}

/* The first state file of a directory, into `path`. REC_NOT_FOUND. */
static int directory_search(const char *directory, struct rec_buffer *path, struct rec_error *error)
{
	for (size_t i = 0; i < STATE_FILE_COUNT; i++) {
		mode_t mode;
		int r = path_join(path, directory, state_files[i], error);
		if (r == 0)
			r = path_look(path->data, &mode, error);
		if (r != REC_NOT_FOUND)
			return r;
	}
	return REC_NOT_FOUND;
}

static bool directory_up(char *directory)
{
	char *slash = strrchr(directory, '/');
	if (!slash || strcmp(directory, "/") == 0)
		return false;
	slash[slash == directory ? 1 : 0] = '\0';
	return true;
}

static int discover(char *directory, struct rec_buffer *found, struct rec_error *error)
{
	do {
		int r = directory_search(directory, found, error);
		if (r != REC_NOT_FOUND)
			return r;
	} while (directory_up(directory));
	return REC_NOT_FOUND;
}

int rec_store_discover(const char *directory, struct rec_buffer *ret_path, struct rec_error *error)
{
	char absolute[PATH_MAX], shown[256];
	struct rec_buffer found;
	if (!realpath(directory, absolute))
		return rec_fail_errno(error, errno, "%s", rec_text_shown(shown, sizeof shown, rec_slice_of(directory)));
	rec_buffer_init(&found, ret_path->allocator, PATH_BYTES_MAX);
	int r = discover(absolute, &found, error);
	if (r == 0 && rec_buffer_add(ret_path, found.data, found.length) < 0)
		r = ret_path->failed == REC_E_LIMIT ? rec_fail(error, REC_E_LIMIT, "path: is too long")
						    : rec_fail_nomem(error);
	rec_buffer_release(&found);
	return r;
}

/* ---- Opening ---- */

/* A directory that has no store yet gets one of its own, if that was asked for. */
static int directory_open(const char *directory, const struct rec_store_options *options, struct rec_store **ret_store,
			  struct rec_error *error)
{
	char shown[256];
	struct rec_buffer path;
	rec_buffer_init(&path, options->allocator, PATH_BYTES_MAX);
	int r = directory_search(directory, &path, error);
	if (r == REC_NOT_FOUND && options->mode == REC_STORE_INIT) {
		r = path_join(&path, directory, ".reconciler", error);
		if (r == 0)
			r = rec_directory_make(path.data, error);
		if (r == 0)
			r = path_join(&path, directory, state_files[0], error);
	}
	if (r == REC_NOT_FOUND)
		r = rec_fail(error, REC_E_NO_STORE,
			     "%s: has neither .reconciler/state.db nor .codeframe/state.db (`reconciler init` makes a "
			     "store there)",
			     rec_text_shown(shown, sizeof shown, rec_slice_of(directory)));
	if (r == 0)
		r = rec_store_sqlite_open(path.data, options, ret_store, error);
	rec_buffer_release(&path);
	return r;
}

static int path_open(const char *path, const struct rec_store_options *options, struct rec_store **ret_store,
		     struct rec_error *error)
{
	char shown[256];
	mode_t mode = 0;
	int r = path_look(path, &mode, error);
	if (r < 0)
		return r;
	if (r == REC_NOT_FOUND && options->mode != REC_STORE_INIT)
		return rec_fail(error, REC_E_NO_STORE, "%s: there is no such file (`reconciler init` makes a store)",
				rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
	if (r == 0 && S_ISDIR(mode))
		return directory_open(path, options, ret_store, error);
	if (r == 0 && !S_ISREG(mode))
		return rec_fail(error, REC_E_NOT_A_STORE, "%s: is neither a file nor a directory",
				rec_text_shown(shown, sizeof shown, rec_slice_of(path)));
	return rec_store_sqlite_open(path, options, ret_store, error);
}

/* "name:" at the front of a URI, or "name://" for kinds we never heard of; a bare path may hold a colon. */
static const char *prefixed(const char *uri, const char *prefix)
{
	size_t length = strlen(prefix);
	return strncmp(uri, prefix, length) == 0 ? uri + length : NULL;
}

static bool has_scheme(const char *uri)
{
	size_t length = strspn(uri, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
	return length > 0 && strncmp(uri + length, "://", 3) == 0;
}

/* A string of keys and values for libpq begins with one of its keys; a file named so is reached by "./". */
static bool is_conninfo(const char *uri)
{
	static const char *const keys[] = {"host",     "hostaddr",        "port",    "dbname",
					   "user",     "password",        "service", "application_name",
					   "passfile", "connect_timeout", "sslmode", "options"};
	size_t length = strspn(uri, "abcdefghijklmnopqrstuvwxyz_");
	if (uri[length + strspn(uri + length, " \t")] != '=')
		return false;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strlen(keys[i]) == length && memcmp(uri, keys[i], length) == 0)
			return true;
	return false;
}

bool rec_store_uri_is_postgres(const char *uri)
{
	return prefixed(uri, "postgresql:") || prefixed(uri, "postgres:") || is_conninfo(uri);
}

static int uri_open(const char *uri, const struct rec_store_options *options, struct rec_store **ret_store,
		    struct rec_error *error)
{
	const char *rest;
	if (!*uri)
		return rec_fail(error, REC_E_INVALID, "store: the name is empty (give sqlite:PATH or a path)");
	if ((rest = prefixed(uri, "memory:")))
		return rec_store_memory_open(rest, options, ret_store, error);
	if ((rest = prefixed(uri, "sqlite:"))) {
		if (!*rest)
			return rec_fail(error, REC_E_INVALID, "store 'sqlite:': the path is missing (sqlite:PATH)");
		return rec_store_sqlite_open(rest, options, ret_store, error);
	}
	if ((rest = prefixed(uri, "dir:"))) {
		if (!*rest)
			return rec_fail(error, REC_E_INVALID, "store 'dir:': the path is missing (dir:PATH)");
		return rec_store_files_open(rest, options, ret_store, error);
	}
	/* Nothing of such a URI is shown as it is: it may hold a password. */
	if (rec_store_uri_is_postgres(uri))
		return rec_store_postgres_open(uri, options, ret_store, error);
	if (has_scheme(uri))
		return rec_fail(error, REC_E_UNSUPPORTED,
				"store '%.*s': unknown kind of store (use sqlite:PATH, dir:PATH or postgresql://...)",
				(int)strcspn(uri, "/"), uri);
	return path_open(uri, options, ret_store, error);
}

static bool in_codeframe_directory(const char *location)
{
	static const char directory[] = "/.codeframe/";
	const char *end = location ? strrchr(location, '/') : NULL;
	size_t length = sizeof directory - 1;
	return end && (size_t)(end + 1 - location) >= length && memcmp(end + 1 - length, directory, length) == 0;
}

int rec_store_open(const char *uri, const struct rec_store_options *options, struct rec_store **ret_store,
		   struct rec_error *error)
{
	static const struct rec_store_options defaults = {.mode = REC_STORE_READ};
	struct rec_store *store = NULL;
	if (error)
		error->code = 0;
	int r = uri_open(uri, options ? options : &defaults, &store, error);
	if (r || !store)
		return r;
	if (in_codeframe_directory(store->info.location))
		store->info.codeframe = true;
	*ret_store = store;
	return 0;
}
