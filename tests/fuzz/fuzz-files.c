/* fuzz-files.c - what may lie in a directory of task files: a task file, read, changed and read again, must give what
 * was put in and keep every other key; the log, its records and the index must survive any bytes.
 */
#include "base/text.h"
#include "fuzz.h"
#include "store/files.h"

static void check_edit(struct rec_slice text, const struct rec_files_task *read, struct rec_arena *arena)
{
	struct rec_buffer out;
	struct rec_files_task again;
	struct rec_files_node *before, *after;
	struct rec_task changed = read->task;
	char name[REC_FILES_NAME_BYTES];
	struct rec_error error;

	changed.status = REC_DONE;
	changed.status_text = rec_slice_of("DONE");
	changed.title = rec_slice_of("changed \"title\"");
	rec_buffer_init(&out, NULL, SIZE_MAX / 2);
	require(rec_files_text_edit(text, &read->task, &changed, arena, &out, &error) == 0);
	rec_files_name(read->task.id, name);
	require(rec_files_task_read(rec_buffer_slice(&out), name, arena, &again, &error) == 0);
	require(!again.problem && again.task.status == REC_DONE && rec_slice_equal(again.task.title, changed.title));
	require(again.task.priority == read->task.priority && again.task.blocker_count == read->task.blocker_count);
	require(rec_files_document(text, arena, &before, &error) == 0);
	require(rec_files_document(rec_buffer_slice(&out), arena, &after, &error) == 0);
	for (struct rec_files_node *n = before->child; n; n = n->next) {
		char key[64];
		if (n->key.length >= sizeof key || rec_slice_equal(n->key, rec_slice_of("status")) ||
		    rec_slice_equal(n->key, rec_slice_of("title")) || memchr(n->key.data, '\0', n->key.length))
			continue;
		memcpy(key, n->key.data, n->key.length);
		key[n->key.length] = '\0';
		struct rec_files_node *kept = rec_files_member(after, key);
		require(kept && kept->end - kept->start == n->end - n->start);
		require(memcmp(out.data + kept->start, text.data + n->start, n->end - n->start) == 0);
	}
	rec_buffer_release(&out);
}

static void check_task(struct rec_slice text)
{
	struct rec_arena arena;
	struct rec_files_task read;
	struct rec_error error;

	rec_arena_init(&arena, NULL);
	require(rec_files_task_read(text, "some%20id.json", &arena, &read, &error) == 0);
	require(rec_slice_equal(read.task.id, rec_slice_of("some id")));
	if (!read.problem)
		check_edit(text, &read, &arena);
	else
		require(read.task.status == REC_STATUS_UNRECOGNISED);
	rec_arena_release(&arena);
}

static void check_log(struct rec_slice bytes)
{
	struct rec_files_group group;
	struct rec_files_step step;
	struct rec_arena arena;
	struct rec_error error;
	struct rec_slice steps = bytes;

	while (rec_files_group_next(bytes, &group, &error) == 0) {
		require(group.length > 0 && group.length <= bytes.length);
		bytes = (struct rec_slice){bytes.data + group.length, bytes.length - group.length};
	}
	rec_arena_init(&arena, NULL);
	while (rec_files_step_next(&steps, &arena, &step, &error) == 0)
		require(step.name.data != NULL);
	rec_arena_release(&arena);
}

/* Any bytes end, and what was put in comes out. */
static void check_index(struct rec_slice bytes)
{
	struct rec_files_indexed entry;
	struct rec_files_identity identity = {1, (int64_t)bytes.length, 2, 3};
	struct rec_buffer out;
	struct rec_slice rest = bytes, name = rec_slice_of("a.json");

	while (rec_files_index_next(&rest, &entry)) {
		require(entry.whole.length > entry.name.length + entry.text.length);
		require(entry.text.data + entry.text.length == rest.data);
		(void)rec_files_index_sound(&entry);
	}
	rec_buffer_init(&out, NULL, SIZE_MAX / 2);
	rec_files_index_head(&out, 7);
	rec_files_index_add(&out, name, &identity, bytes);
	rest = rec_buffer_slice(&out);
	require(rec_files_index_begin(&rest, 7) && rec_files_index_next(&rest, &entry) && rest.length == 0);
	require(rec_files_index_sound(&entry) && rec_files_identity_equal(&entry.identity, &identity));
	require(rec_slice_equal(entry.name, name) && rec_slice_equal(entry.text, bytes));
	rec_buffer_release(&out);
}

static void check_name(struct rec_slice text)
{
	char name[REC_FILES_NAME_BYTES], id[REC_ID_BYTES_MAX + 1];
	size_t length;

	if (rec_id_problem(text))
		return;
	rec_files_name(text, name);
	require(rec_files_name_matters(name) && !strchr(name, '/'));
	int r = rec_files_name_id(name, id, &length);
	require(r == 0 || r == REC_NOT_FOUND);
	if (r == 0)
		require(rec_slice_equal((struct rec_slice){id, length}, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_slice text = {(const char *)data, size};
	check_task(text);
	check_log(text);
	check_index(text);
	check_name(text);
	return 0;
}
