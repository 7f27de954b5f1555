/* files-image.c - from files to rows. A change of the image is a change of all maps together: they keep their old
 * version until it ends, so that a file that cannot be read half-way leaves the image as it was. */
#include "store/files.h"

#include <endian.h>

#define NOTED_MAX 100000u

struct rec_files_file *rec_files_file(const struct rec_files *f, const char *name)
{
	return rec_memory_map_get(&f->files, REC_MEMORY_WORKING, rec_slice_of(name));
}

/* ---- All or nothing ---- */

int rec_files_change_begin(struct rec_files *f, struct rec_error *error)
{
	f->print_before = f->print;
	return rec_memory_begin(&f->memory.store, error);
}

void rec_files_change_end(struct rec_files *f, bool keep)
{
	if (keep) {
		(void)rec_memory_commit(&f->memory.store, NULL);
		rec_memory_map_commit(&f->files);
		rec_memory_map_commit(&f->warnings);
		return;
	}
	rec_memory_rollback(&f->memory.store);
	rec_memory_map_rollback(&f->files);
	rec_memory_map_rollback(&f->warnings);
	f->print = f->print_before;
}

/* ---- The print ---- */

static uint64_t mix(uint64_t sum, uint64_t value)
{
	sum = (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 32;
}

/* A sum that does not depend on the order of the files. */
static uint64_t file_print(const char *name, const struct rec_files_identity *identity)
{
	size_t length = strlen(name);
	uint64_t sum = length, word = 0;
	for (; length >= sizeof word; name += sizeof word, length -= sizeof word) {
		memcpy(&word, name, sizeof word);
		sum = mix(sum, le64toh(word));
	}
	word = 0;
	memcpy(&word, name, length);
	sum = mix(sum, le64toh(word));
	sum = mix(sum, identity->inode);
	sum = mix(sum, (uint64_t)identity->size);
	sum = mix(sum, (uint64_t)identity->mtime_ns);
	return mix(sum, (uint64_t)identity->ctime_ns);
}

/* ---- Rows of files ---- */

static int file_put(struct rec_files *f, const char *name, const struct rec_files_file *as, struct rec_error *error)
{
	const struct rec_files_file *before = rec_files_file(f, name);
	struct rec_files_file *row = NULL;
	uint64_t print = f->print;
	if (before)
		print -= file_print(name, &before->identity);
	if (as) {
		row = rec_memory_row_new(f->files.allocator, sizeof *row + as->id.length + 1);
		if (!row)
			return rec_fail_nomem(error);
		struct rec_memory_row head = row->row;
		*row = *as;
		row->row = head;
		row->seen = f->pass;
		if (as->id.data) {
			row->id.data = memcpy(row + 1, as->id.data, as->id.length);
			((char *)(row + 1))[as->id.length] = '\0';
		}
		print += file_print(name, &as->identity);
	}
	if (rec_memory_map_put(&f->files, rec_slice_of(name), row) < 0)
		return rec_fail_nomem(error);
	f->print = print;
	return 0;
}

int rec_files_image_written(struct rec_files *f, const char *name, const struct rec_files_file *as,
			    struct rec_error *error)
{
	return file_put(f, name, as, error);
}

void rec_files_image_settle(struct rec_files *f, const char *name, struct rec_files_file *file,
			    const struct stat *status)
{
	f->print -= file_print(name, &file->identity);
	rec_files_identity_of(status, &file->identity);
	f->print += file_print(name, &file->identity);
}

/* ---- Warnings ---- */

static size_t warnings_bytes(struct rec_slice id, const struct rec_files_task *task)
{
	size_t bytes = id.length + 1;
	for (size_t i = 0; i < task->warning_count; i++)
		bytes += sizeof *task->warnings + task->warnings[i].value.length + 1;
	return bytes;
}

static struct rec_slice text_move(struct rec_slice text, char **at)
{
	struct rec_slice moved = {*at, text.length};
	if (text.length)
		memcpy(*at, text.data, text.length);
	(*at)[text.length] = '\0';
	*at += text.length + 1;
	return moved;
}

static struct rec_files_warnings *warnings_new(const struct rec_allocator *a, struct rec_slice id,
					       const struct rec_files_task *task)
{
	struct rec_files_warnings *row = rec_memory_row_new(a, sizeof *row + warnings_bytes(id, task));
	if (!row)
		return NULL;
	row->list = (struct rec_files_warning *)(row + 1);
	row->count = task->warning_count;
	char *at = (char *)(row->list + row->count);
	row->id = text_move(id, &at);
	for (size_t i = 0; i < row->count; i++) {
		row->list[i] = task->warnings[i];
		row->list[i].value = text_move(task->warnings[i].value, &at);
	}
	return row;
}

static int warnings_put(struct rec_files *f, const char *name, const struct rec_files_task *task,
			struct rec_error *error)
{
	struct rec_slice key = rec_slice_of(name);
	struct rec_files_warning whole;
	struct rec_files_warnings *row = NULL;
	if (task && task->problem) {
		struct rec_files_task told = {.warnings = &whole, .warning_count = 1};
		whole = (struct rec_files_warning){"file", task->problem,
						   task->detail[0] ? rec_slice_of(task->detail) : key};
		row = warnings_new(f->warnings.allocator, task->task.id.data ? task->task.id : key, &told);
	} else if (task && task->warning_count) {
		row = warnings_new(f->warnings.allocator, task->task.id, task);
	} else {
		(void)rec_memory_map_put(&f->warnings, key, NULL);
		return 0;
	}
	return row && rec_memory_map_put(&f->warnings, key, row) == 0 ? 0 : rec_fail_nomem(error);
}

void rec_files_warn(struct rec_files *f, struct rec_slice id)
{
	struct rec_memory_cursor cursor;
	const struct rec_files_warnings *row;
	struct rec_store *s = &f->memory.store;
	if (!s->warn)
		return;
	rec_memory_cursor_init(&cursor, &f->warnings, REC_MEMORY_WORKING, (struct rec_slice){NULL, 0});
	while ((row = rec_memory_cursor_next(&cursor, NULL)))
		for (size_t i = 0; i < row->count && (!id.data || rec_slice_equal(id, row->id)); i++)
			rec_store_warn(s, row->id, row->list[i].column, row->list[i].problem, row->list[i].value);
}

/* ---- What is new to the feed ---- */

static bool blockers_differ(const struct rec_blocker *before, size_t count, const struct rec_task *after)
{
	if (count != after->blocker_count)
		return true;
	for (size_t i = 0; i < count; i++) {
		bool found = false;
		for (size_t k = 0; !found && k < count; k++)
			found = rec_slice_equal(before[i].id, after->blockers[k].id) &&
				before[i].status == after->blockers[k].status;
		if (!found)
			return true;
	}
	return false;
}

static bool facts_differ(const struct rec_task *before, const struct rec_task *after)
{
	if (before->status != after->status || before->priority != after->priority ||
	    before->is_leaf != after->is_leaf || before->depends_on_count != after->depends_on_count)
		return true;
	if (before->status == REC_STATUS_UNRECOGNISED && !rec_slice_equal(before->status_text, after->status_text))
		return true;
	for (size_t i = 0; i < before->depends_on_count; i++)
		if (!rec_slice_equal(before->depends_on[i], after->depends_on[i]))
			return true;
	return false;
}

/* after == NULL: gone. */
static int differs(struct rec_files *f, struct rec_slice id, const struct rec_task *after, bool *ret_differs,
		   struct rec_error *error)
{
	const struct rec_memory_task *before = rec_memory_get(&f->memory, REC_MEMORY_TASKS, id);
	struct rec_blocker *blockers = NULL;
	size_t count = 0;
	*ret_differs = !before != !after;
	if (!before || !after)
		return 0;
	*ret_differs = facts_differ(&before->task, after);
	if (*ret_differs)
		return 0;
	int r = rec_memory_blockers_of(&f->memory, id, &blockers, &count, error);
	if (r == 0)
		*ret_differs = blockers_differ(blockers, count, after);
	rec_free(f->memory.store.allocator, blockers);
	return r;
}

/* Without room for more they are all forgotten, and whoever counted them must take a snapshot. */
static void noted_forget(struct rec_files *f)
{
	rec_arena_release(&f->noted_arena);
	f->noted_base = rec_random_u64() | 1;
	f->noted_floor = f->noted_count = 1;
	f->noted_logged = 0;
	if (f->noted)
		f->noted[0] = (struct rec_slice){NULL, 0};
}

int rec_files_noted_add(struct rec_files *f, struct rec_slice id, struct rec_error *error)
{
	if (rec_grow(f->memory.store.allocator, (void **)&f->noted, &f->noted_capacity, f->noted_count + 1,
		     sizeof *f->noted) < 0)
		return rec_fail_nomem(error);
	if (f->noted_count >= NOTED_MAX) {
		noted_forget(f);
		return 0;
	}
	struct rec_slice kept = id;
	if (id.data)
		kept.data = rec_arena_strndup(&f->noted_arena, id.data, id.length);
	if (id.data && !kept.data)
		return rec_fail_nomem(error);
	f->noted[f->noted_count++] = kept;
	return 0;
}

static int note(struct rec_files *f, struct rec_slice id, const struct rec_task *after, struct rec_error *error)
{
	bool differ = false;
	if (!f->loaded)
		return 0; /* nobody has a cursor yet */
	int r = differs(f, id, after, &differ, error);
	return r == 0 && differ ? rec_files_noted_add(f, id, error) : r;
}

/* ---- One file ---- */

static int task_gone(struct rec_files *f, struct rec_slice id, struct rec_error *error)
{
	int r = note(f, id, NULL, error);
	if (r == 0)
		r = rec_memory_image_erase(&f->memory, id, error);
	f->reload |= f->doubled;
	return r;
}

/* `twice` must outlive the task's use. */
static int task_there(struct rec_files *f, struct rec_files_task *task, struct rec_files_warning *twice,
		      struct rec_error *error)
{
	*twice = (struct rec_files_warning){
		"file", "has the external_url or the id of a blocker of another task", {"", 0}};
	bool doubled = false;
	bool before = f->doubled && rec_memory_get(&f->memory, REC_MEMORY_TASKS, task->task.id);
	int r = note(f, task->task.id, &task->task, error);
	if (r == 0)
		r = rec_memory_image_put(&f->memory, &task->task, &doubled, error);
	f->reload |= before;
	f->doubled |= doubled;
	if (doubled && task->warning_count == 0) {
		task->warnings = twice;
		task->warning_count = 1;
	}
	return r;
}

int rec_files_image_put(struct rec_files *f, const char *name, const struct rec_files_file *as,
			const struct rec_files_task *task, struct rec_error *error)
{
	const struct rec_files_file *before = rec_files_file(f, name);
	struct rec_files_task there = task ? *task : (struct rec_files_task){0};
	struct rec_files_warning twice;
	int r = 0;
	if (before && before->id.data && !(task && rec_slice_equal(before->id, task->task.id)))
		r = task_gone(f, before->id, error);
	if (r == 0 && task && task->task.id.data)
		r = task_there(f, &there, &twice, error);
	if (r == 0)
		r = warnings_put(f, name, task ? &there : NULL, error);
	if (r == 0 && (before || as))
		r = file_put(f, name, as, error);
	return r;
}
