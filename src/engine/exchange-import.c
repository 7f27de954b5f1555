/* exchange-import.c - the life of an import: it opens a group, feeds the reader in pieces, settles at the end what
 * could only be judged then, and commits. The first failure rolls the group back at once, so that the store is
 * free again, and every later call repeats it. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "engine/exchange-import.h"

#define FEED_BYTES (64u << 10)
#define TOKEN_BYTES_MAX (6 * (size_t)REC_TEXT_BYTES_MAX) /* every byte may be written as \u00XX */

static void group_end(struct rec_import *i)
{
	if (i->group)
		rec_store_rollback(i->store);
	i->group = false;
}

/* Keeps the first failure for every later call, and lets go of the store. */
static int import_failed(struct rec_import *i, int code, const struct rec_error *failure, struct rec_error *error)
{
	group_end(i);
	i->failure = *failure;
	i->failure.code = code;
	if (error)
		*error = i->failure;
	return code;
}

static int import_repeat(const struct rec_import *i, struct rec_error *error)
{
	if (error)
		*error = i->failure;
	return i->failure.code;
}

int rec_import_begin(struct rec_store *s, const struct rec_import_options *options, struct rec_import **ret_import,
		     struct rec_error *error)
{
	const struct rec_allocator *a = rec_store_allocator(s);
	struct rec_import *i = rec_zalloc(a, 1, sizeof *i);
	if (!i)
		return rec_fail_nomem(error);
	i->store = s;
	i->allocator = a;
	if (options)
		i->options = *options;
	rec_json_init(&i->reader, a, TOKEN_BYTES_MAX);
	rec_references_init(&i->references, a);
	rec_arena_init(&i->arena, a);
	rec_buffer_init(&i->list, a, REC_TEXT_BYTES_MAX);
	int r = rec_store_begin(s, error);
	if (r) {
		rec_import_free(i);
		return r;
	}
	i->group = true;
	*ret_import = i;
	return 0;
}

struct rec_import *rec_import_free(struct rec_import *i)
{
	if (!i)
		return NULL;
	group_end(i);
	rec_json_release(&i->reader);
	rec_references_release(&i->references);
	rec_arena_release(&i->arena);
	rec_buffer_release(&i->list);
	rec_free(i->allocator, i->blockers);
	rec_free(i->allocator, i->links);
	rec_free(i->allocator, i->elements);
	return rec_free(i->allocator, i);
}

static int feed_some(struct rec_import *i, struct rec_slice bytes, struct rec_error *error)
{
	char *space = rec_json_space(&i->reader, bytes.length);
	if (space) {
		memcpy(space, bytes.data, bytes.length);
		rec_json_added(&i->reader, bytes.length);
	}
	int r = rec_import_walk(i, error);
	return r == REC_JSON_NEED_MORE ? 0 : r;
}

int rec_import_feed(struct rec_import *i, struct rec_slice bytes, struct rec_error *error)
{
	struct rec_error failure = {0};
	if (i->failure.code)
		return import_repeat(i, error);
	while (bytes.length) {
		size_t length = bytes.length < FEED_BYTES ? bytes.length : FEED_BYTES;
		int r = feed_some(i, (struct rec_slice){bytes.data, length}, &failure);
		if (r)
			return import_failed(i, r, &failure, error);
		bytes.data += length;
		bytes.length -= length;
	}
	return 0;
}

static int references_settle(struct rec_import *i, struct rec_error *error)
{
	char text[REC_PLACE_BYTES], shown[128];
	size_t missing;
	int r = i->options.keep_missing ? 0 : rec_references_check(&i->references, i->store, &missing, error);
	if (r == REC_NOT_FOUND) {
		const struct rec_reference *item = &i->references.items[missing];
		return rec_fail(error, REC_E_INVALID,
				"%s: key \"%s\" of a task: there is no task \"%s\" (import it too, or remove it here)",
				rec_place_show(item->place, text),
				item->flags & REC_REFERENCE_AS_PARENT ? "parent_id" : "depends_on",
				rec_text_shown(shown, sizeof shown, i->references.ids[missing]));
	}
	return r ? r : rec_references_mark_parents(&i->references, i->store, error);
}

static int event_write(struct rec_import *i, struct rec_error *error)
{
	char detail[64];
	snprintf(detail, sizeof detail, "%" PRIu64 " tasks", i->tasks);
	struct rec_event event = {
		.event = rec_slice_of("TASKS_IMPORTED"),
		.source = rec_slice_of("import"),
		.detail = rec_slice_of(detail),
	};
	return i->tasks ? rec_store_event_add(i->store, &event, error) : 0;
}

static int finish(struct rec_import *i, struct rec_error *error)
{
	rec_json_finish(&i->reader);
	int r = rec_import_walk(i, error);
	if (r != REC_END)
		return r;
	r = references_settle(i, error);
	if (r == 0)
		r = event_write(i, error);
	if (r || i->options.dry_run)
		return r;
	i->group = false;
	return rec_store_commit(i->store, error);
}

int rec_import_finish(struct rec_import *i, uint64_t *ret_tasks, struct rec_error *error)
{
	struct rec_error failure = {0};
	if (i->failure.code)
		return import_repeat(i, error);
	int r = finish(i, &failure);
	if (r)
		return import_failed(i, r, &failure, error);
	group_end(i);
	rec_fail(&i->failure, REC_E_BUG, "import: it is finished already (please report)");
	*ret_tasks = i->tasks;
	return 0;
}
