/* backend-files.c - the contract suite on a directory of task files. Another program is somebody with an editor: it
 * finds a key in the text of a file by its own means and writes the file anew, now in place and now by rename. */
#include "contract.h"
#include "failing-io.h"
#include "store/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
	char directory[256];
	struct failing_io io;
	unsigned edits;
};

/* In memory if there is such a place: thousands of stores are made, and none is to survive a power cut. */
static const char *where(void)
{
	const char *named = getenv("TMPDIR");
	if (named && strlen(named) < 200)
		return named;
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static void *place_new(void)
{
	struct place *place = rec_zalloc(NULL, 1, sizeof *place);
	assert_non_null(place);
	failing_io_init(&place->io);
	snprintf(place->directory, sizeof place->directory, "%s/rec-contract-XXXXXX", where());
	assert_non_null(mkdtemp(place->directory));
	return place;
}

static void folder_remove(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		char below[600];
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
		if (unlink(below) < 0)
			folder_remove(below);
	}
	if (folder)
		closedir(folder);
	assert_int_equal(rmdir(path), 0);
}

static void place_free(void *context)
{
	struct place *place = context;
	folder_remove(place->directory);
	rec_free(NULL, place);
}

static int place_open(void *context, const struct rec_store_options *options, struct rec_store **ret_store,
		      struct rec_error *error)
{
	struct place *place = context;
	return rec_store_files_open_with(place->directory, options, &place->io.io, ret_store, error);
}

/* ---- Another program ---- */

static void task_path(const struct place *place, const char *task_id, char path[600])
{
	char name[REC_FILES_NAME_BYTES];
	snprintf(path, 600, "%s/%s", place->directory, rec_files_name(S(task_id), name));
}

static char *text_read(const char *path, char *text, size_t capacity)
{
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	size_t length = fread(text, 1, capacity - 1, file);
	text[length] = '\0';
	fclose(file);
	return text;
}

static void text_write(struct place *place, const char *path, const char *text)
{
	char other[620];
	bool in_place = place->edits++ % 2;
	snprintf(other, sizeof other, "%s~", path);
	FILE *file = fopen(in_place ? path : other, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	if (!in_place)
		assert_int_equal(rename(other, path), 0);
}

/* The value behind "key": up to the end of its line, less a comma. */
static void key_write(struct place *place, const char *path, const char *after, const char *key, const char *value)
{
	char text[65536], changed[70000], quoted[80];
	text_read(path, text, sizeof text);
	char *from = after ? strstr(text, after) : text;
	assert_non_null(from);
	snprintf(quoted, sizeof quoted, "\"%s\": ", key);
	char *at = strstr(from, quoted);
	assert_non_null(at);
	at += strlen(quoted);
	char *end = strchr(at, '\n');
	assert_non_null(end);
	end -= end[-1] == ',';
	snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, value, end);
	text_write(place, path, changed);
}

/* As JSON. */
static char *quote(const char *text, char *out, size_t capacity)
{
	size_t length = 0;
	out[length++] = '"';
	for (; *text && length + 8 < capacity; text++) {
		if ((unsigned char)*text < 0x20)
			length += (size_t)snprintf(out + length, capacity - length, "\\u%04x", *text);
		else if (*text == '"' || *text == '\\')
			length += (size_t)snprintf(out + length, capacity - length, "\\%c", *text);
		else
			out[length++] = *text;
	}
	out[length++] = '"';
	out[length] = '\0';
	return out;
}

static void foreign_status(void *context, const char *task_id, const char *status)
{
	char path[600], value[256];
	task_path(context, task_id, path);
	key_write(context, path, NULL, "status", quote(status, value, sizeof value));
}

static void foreign_delete(void *context, const char *task_id)
{
	char path[600];
	task_path(context, task_id, path);
	assert_int_equal(unlink(path), 0);
}

/* A text that is JSON stands there as what it is, as a person would write it; any other as a string. */
static void foreign_value(void *context, const char *task_id, const char *column, const char *literal)
{
	char path[600], text[256], value[600];
	struct rec_arena arena;
	struct rec_files_node *root;
	task_path(context, task_id, path);
	if (literal[0] != '\'') {
		key_write(context, path, NULL, column,
			  strcmp(literal, "NULL") == 0 ? "null"
			  : literal[0] == 'x'          ? quote(literal, value, sizeof value)
						       : literal);
		return;
	}
	snprintf(text, sizeof text, "%.*s", (int)strlen(literal) - 2, literal + 1);
	rec_arena_init(&arena, NULL);
	bool json = rec_files_document(S(text), &arena, &root, NULL) == 0;
	rec_arena_release(&arena);
	key_write(context, path, NULL, column, json ? text : quote(text, value, sizeof value));
}

static void foreign_blocker_status(void *context, const char *blocker_id, const char *status)
{
	struct place *place = context;
	char path[600], text[65536], wanted[80], value[80];
	DIR *folder = opendir(place->directory);
	struct dirent *entry;
	assert_non_null(folder);
	snprintf(wanted, sizeof wanted, "\"id\": \"%s\"", blocker_id);
	while ((entry = readdir(folder))) {
		if (!rec_files_name_matters(entry->d_name))
			continue;
		snprintf(path, sizeof path, "%s/%s", place->directory, entry->d_name);
		if (strstr(text_read(path, text, sizeof text), wanted))
			key_write(place, path, wanted, "status", quote(status, value, sizeof value));
	}
	closedir(folder);
}

/* ---- Faults ---- */

static uint64_t set_io_failure(void *context, uint64_t n, bool persistent)
{
	struct place *place = context;
	return failing_io_set(&place->io, n, persistent);
}

const struct contract_backend contract_backend = {
	.name = "dir",
	.place_new = place_new,
	.place_free = place_free,
	.open = place_open,
	.processes = true,
	.foreign_status = foreign_status,
	.foreign_delete = foreign_delete,
	.foreign_value = foreign_value,
	.foreign_blocker_status = foreign_blocker_status,
	.set_io_failure = set_io_failure,
};
