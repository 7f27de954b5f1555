/* exchange-read.c - a state machine over the tokens of the JSON reader: it walks one task object at a time into
 * a struct rec_task whose texts live in an arena, stores it exactly as given, forgets it, and goes on. Keys and
 * values are judged by exchange-fields.c; ids that are named before or after they exist are kept by
 * exchange-references.c and settled at the end. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "engine/exchange-import.h"

#define OBJECT_BYTES_MAX ((size_t)256 << 20) /* what one task object may hold in memory */

/* ---- Places and failures ---- */

static struct rec_place place_of(const struct rec_import *i, const struct rec_json_token *token)
{
	uint64_t column = token->offset - i->reader.line_offset + 1;
	return (struct rec_place){i->reader.line, column, token->offset};
}

const char *rec_place_show(struct rec_place place, char out[REC_PLACE_BYTES])
{
	snprintf(out, REC_PLACE_BYTES, "line %" PRIu64 ", column %" PRIu64 " (byte %" PRIu64 ")", place.line,
		 place.column, place.offset);
	return out;
}

static int fail_place(struct rec_place place, int code, const char *why, struct rec_error *error)
{
	char text[REC_PLACE_BYTES];
	return rec_fail(error, code, "%s: %s", rec_place_show(place, text), why);
}

/* Completes what exchange-fields.c said with the place and the key. */
static int fail_value(const struct rec_import *i, const struct rec_import_object *object,
		      const struct rec_json_token *token, int code, struct rec_error *error)
{
	char text[REC_PLACE_BYTES];
	if (code == REC_E_NOMEM)
		return code;
	return rec_fail_context(error, code, "%s: key \"%s\" of a %s", rec_place_show(place_of(i, token), text),
				object->field->name, object->table->what);
}

static int fail_task(const struct rec_import *i, int code, struct rec_error *error)
{
	char text[REC_PLACE_BYTES], shown[128];
	if (code == REC_E_NOMEM)
		return code;
	return rec_fail_context(error, code, "%s: task \"%s\"", rec_place_show(i->object.place, text),
				rec_text_shown(shown, sizeof shown, i->task.id));
}

/* ---- Keys ---- */

static int key_unknown(struct rec_import *i, struct rec_import_object *object, const struct rec_json_token *token,
		       struct rec_error *error)
{
	char text[REC_PLACE_BYTES], shown[128];
	if (!i->options.ignore_unknown)
		return rec_fail(error, REC_E_INVALID,
				"%s: unknown key \"%s\" in a %s (remove it, or import with --ignore-unknown)",
				rec_place_show(place_of(i, token), text),
				rec_text_shown(shown, sizeof shown, token->text), object->table->what);
	object->field = NULL;
	return 0;
}

static int key_take(struct rec_import *i, struct rec_import_object *object, const struct rec_json_token *token,
		    enum rec_walk value, struct rec_error *error)
{
	char text[REC_PLACE_BYTES];
	unsigned hint = object->field ? (unsigned)(object->field - object->table->fields) + 1 : 0;
	enum rec_walk here = i->walk;
	int index = rec_field_find(object->table, token->text, hint);
	if (index >= 0 && (object->seen & 1u << index))
		return rec_fail(error, REC_E_INVALID, "%s: key \"%s\" stands twice in one %s (remove one)",
				rec_place_show(place_of(i, token), text), object->table->fields[index].name,
				object->table->what);
	if (index >= 0) {
		object->seen |= 1u << index;
		object->field = &object->table->fields[index];
	}
	i->walk = value;
	if (index >= 0 && object->field->kind != REC_FIELD_IGNORED)
		return 0;
	i->walk = REC_WALK_SKIP;
	i->walk_after_skip = here;
	i->skip_depth = token->depth;
	return index >= 0 ? 0 : key_unknown(i, object, token, error);
}

static int skip_step(struct rec_import *i, const struct rec_json_token *token)
{
	bool begins = token->type == REC_JSON_OBJECT_BEGIN || token->type == REC_JSON_ARRAY_BEGIN;
	if (token->depth == i->skip_depth && !begins)
		i->walk = i->walk_after_skip;
	return 0;
}

/* ---- Values ---- */

static int object_bytes_judge(const struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	size_t bytes = i->arena.bytes + i->blocker_count * sizeof *i->blockers + i->link_count * sizeof *i->links +
		       i->element_count * sizeof *i->elements + i->list.length;
	if (bytes <= OBJECT_BYTES_MAX)
		return 0;
	return fail_place(place_of(i, token), REC_E_LIMIT, "this task object takes more than 256 MiB (split it)",
			  error);
}

static int value_take(struct rec_import *i, struct rec_import_object *object, void *record,
		      const struct rec_json_token *token, struct rec_error *error)
{
	int r = rec_field_set(object->field, record, token, &i->arena, error);
	return r ? fail_value(i, object, token, r, error) : object_bytes_judge(i, token, error);
}

static int task_value(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	enum rec_field_kind kind = i->object.field->kind;
	bool list = token->type == REC_JSON_ARRAY_BEGIN;
	i->element_count = 0;
	rec_buffer_clear(&i->list);
	if (list && (kind == REC_FIELD_BLOCKERS || kind == REC_FIELD_LINKS)) {
		i->walk = kind == REC_FIELD_LINKS ? REC_WALK_LINKS : REC_WALK_BLOCKERS;
		return 0;
	}
	if (list && (kind == REC_FIELD_IDS || kind == REC_FIELD_LIST)) {
		i->walk = REC_WALK_LIST;
		return 0;
	}
	i->walk = REC_WALK_TASK;
	int r = value_take(i, &i->object, &i->task, token, error);
	if (r || i->object.field->offset != offsetof(struct rec_task, parent_id) || !i->task.parent_id.data)
		return r;
	return rec_references_add(&i->references, i->task.parent_id, true, place_of(i, token), error);
}

/* ---- Lists ---- */

static int element_keep(struct rec_import *i, struct rec_slice text)
{
	void *elements = i->elements;
	int r = rec_grow(i->allocator, &elements, &i->element_capacity, i->element_count + 1, sizeof *i->elements);
	i->elements = elements;
	if (r == 0)
		i->elements[i->element_count++] = text;
	return r;
}

static int fail_list(const struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	if (i->list.failed == REC_E_NOMEM)
		return rec_fail_nomem(error);
	rec_fail(error, REC_E_LIMIT, "the list is over the limit of %u bytes (shorten it)", REC_TEXT_BYTES_MAX);
	return fail_value(i, &i->object, token, REC_E_LIMIT, error);
}

static int list_element(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	struct rec_slice text;
	int r = rec_field_element(i->object.field, token, &i->arena, &text, error);
	if (r)
		return fail_value(i, &i->object, token, r, error);
	if (i->object.field->kind == REC_FIELD_IDS) {
		if (element_keep(i, text))
			return rec_fail_nomem(error);
		r = rec_references_add(&i->references, text, false, place_of(i, token), error);
	} else {
		rec_buffer_add_text(&i->list, i->list.length ? ", " : "[");
		if (rec_json_write_string(&i->list, text))
			r = fail_list(i, token, error);
	}
	return r ? r : object_bytes_judge(i, token, error);
}

static int ids_end(struct rec_import *i, struct rec_error *error)
{
	size_t bytes = i->element_count * sizeof *i->elements;
	struct rec_slice *ids = rec_arena_alloc(&i->arena, bytes);
	if (!ids)
		return rec_fail_nomem(error);
	if (bytes)
		memcpy(ids, i->elements, bytes);
	i->task.depends_on = ids;
	i->task.depends_on_count = i->element_count;
	return 0;
}

static int list_end(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	if (i->list.length == 0)
		rec_buffer_add_text(&i->list, "[");
	if (rec_buffer_add_text(&i->list, "]"))
		return fail_list(i, token, error);
	char *copy = rec_arena_strndup(&i->arena, i->list.data, i->list.length);
	if (!copy)
		return rec_fail_nomem(error);
	struct rec_slice *value = (void *)((char *)&i->task + i->object.field->offset);
	*value = (struct rec_slice){copy, i->list.length};
	return 0;
}

static int list_step(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	if (token->type != REC_JSON_ARRAY_END)
		return list_element(i, token, error);
	i->walk = REC_WALK_TASK;
	return i->object.field->kind == REC_FIELD_IDS ? ids_end(i, error) : list_end(i, token, error);
}

/* ---- Blockers ---- */

static int blocker_begin(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	void *blockers = i->blockers;
	int r = rec_grow(i->allocator, &blockers, &i->blocker_capacity, i->blocker_count + 1, sizeof *i->blockers);
	i->blockers = blockers;
	if (r)
		return rec_fail_nomem(error);
	i->blockers[i->blocker_count++] = (struct rec_blocker){
		.status = REC_OPEN,
		.status_text = rec_slice_of(rec_blocker_status_text(REC_OPEN)),
		.created_by = rec_slice_of("human"),
	};
	i->blocker_object = (struct rec_import_object){.table = &rec_blocker_fields, .place = place_of(i, token)};
	i->walk = REC_WALK_BLOCKER;
	return object_bytes_judge(i, token, error);
}

static int blocker_end(struct rec_import *i, struct rec_error *error)
{
	struct rec_blocker *blocker = &i->blockers[i->blocker_count - 1];
	char made[REC_UUID_BYTES];
	i->walk = REC_WALK_BLOCKERS;
	if (!blocker->question.data)
		return fail_place(i->blocker_object.place, REC_E_INVALID,
				  "this blocker has no \"question\" (every blocker needs one)", error);
	if (blocker->id.data)
		return 0;
	char *id = rec_arena_strndup(&i->arena, rec_uuid_new(made), REC_UUID_BYTES - 1);
	if (!id)
		return rec_fail_nomem(error);
	blocker->id = (struct rec_slice){id, REC_UUID_BYTES - 1};
	return 0;
}

static int blockers_step(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	if (token->type == REC_JSON_OBJECT_BEGIN)
		return blocker_begin(i, token, error);
	i->walk = REC_WALK_TASK;
	if (token->type == REC_JSON_ARRAY_END)
		return 0;
	rec_fail(error, REC_E_INVALID, "every element must be a blocker object, not %s", rec_token_kind(token->type));
	return fail_value(i, &i->object, token, REC_E_INVALID, error);
}

/* A blocker may say whose it is, but it cannot be another's. */
static int blockers_own(const struct rec_import *i, struct rec_error *error)
{
	char shown[128];
	for (size_t k = 0; k < i->blocker_count; k++) {
		struct rec_slice task_id = i->blockers[k].task_id;
		if (task_id.data && !rec_slice_equal(task_id, i->task.id))
			return fail_task(i,
					 rec_fail(error, REC_E_INVALID,
						  "one of its blockers has the task_id \"%s\" (move it to that task)",
						  rec_text_shown(shown, sizeof shown, task_id)),
					 error);
	}
	return 0;
}

/* ---- Links ---- */

static int link_begin(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	void *links = i->links;
	int r = rec_grow(i->allocator, &links, &i->link_capacity, i->link_count + 1, sizeof *i->links);
	i->links = links;
	if (r)
		return rec_fail_nomem(error);
	i->links[i->link_count++] = (struct rec_import_link){.place = place_of(i, token)};
	i->link_object = (struct rec_import_object){.table = &rec_link_fields, .place = place_of(i, token)};
	i->walk = REC_WALK_LINK;
	return object_bytes_judge(i, token, error);
}

static int link_end(struct rec_import *i, struct rec_error *error)
{
	i->walk = REC_WALK_LINKS;
	if (i->links[i->link_count - 1].link.url.data)
		return 0;
	return fail_place(i->link_object.place, REC_E_INVALID, "this link has no \"url\" (every link needs one)",
			  error);
}

static int links_step(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	if (token->type == REC_JSON_OBJECT_BEGIN)
		return link_begin(i, token, error);
	i->walk = REC_WALK_TASK;
	if (token->type == REC_JSON_ARRAY_END)
		return 0;
	rec_fail(error, REC_E_INVALID, "every element must be a link object, not %s", rec_token_kind(token->type));
	return fail_value(i, &i->object, token, REC_E_INVALID, error);
}

/* ---- Tasks ---- */

static int task_begin(struct rec_import *i, const struct rec_json_token *token)
{
	rec_arena_release(&i->arena);
	i->task = (struct rec_task){
		.status = REC_READY,
		.status_text = rec_slice_of(rec_status_text(REC_READY)),
		.is_leaf = true,
	};
	i->blocker_count = i->link_count = 0;
	i->object = (struct rec_import_object){.table = &rec_task_fields, .place = place_of(i, token)};
	i->walk = REC_WALK_TASK;
	return 0;
}

/* Which id was taken: the task's, or that of one of its blockers. */
static int fail_exists(const struct rec_import *i, struct rec_error *error)
{
	struct rec_snapshot snapshot;
	struct rec_arena arena;
	struct rec_blocker found;
	char shown[128];
	int r = rec_store_snapshot(i->store, &i->task.id, 1, 0, &snapshot, error);
	if (r)
		return r;
	bool task_exists = snapshot.facts[0].status != REC_STATUS_ABSENT;
	rec_snapshot_release(&snapshot);
	if (task_exists)
		return fail_task(
			i, rec_fail(error, REC_E_INVALID, "it exists already (delete it first, or give another id)"),
			error);
	rec_arena_init(&arena, i->allocator);
	size_t k = 0;
	for (r = REC_NOT_FOUND; r == REC_NOT_FOUND && k < i->blocker_count; k++)
		r = rec_store_blocker_get(i->store, i->blockers[k].id, &arena, &found, error);
	rec_arena_release(&arena);
	if (r < 0)
		return r;
	if (r > 0)
		return rec_fail(error, REC_E_BUG, "import: an id exists, but none of those given (please report)");
	rec_fail(error, REC_E_INVALID, "its blocker \"%s\" exists already (give it another id)",
		 rec_text_shown(shown, sizeof shown, i->blockers[k - 1].id));
	return fail_task(i, REC_E_INVALID, error);
}

static int task_end(struct rec_import *i, struct rec_error *error)
{
	i->walk = REC_WALK_TOP;
	if (!i->task.title.data)
		return fail_place(i->object.place, REC_E_INVALID, "this task has no \"title\" (every task needs one)",
				  error);
	if (!i->task.id.data)
		i->task.id = rec_slice_of(rec_uuid_new(i->id_made));
	int r = blockers_own(i, error);
	if (r)
		return r;
	if (rec_references_seen(&i->references, i->task.id))
		i->task.is_leaf = false;
	i->task.blockers = i->blockers;
	i->task.blocker_count = i->blocker_count;
	r = rec_store_create_as_given(i->store, &i->task, error);
	if (r == REC_EXISTS)
		return fail_exists(i, error);
	if (r > 0)
		return rec_fail(error, REC_E_BUG, "import: the store answered %d to a new task (please report)", r);
	if (r < 0)
		return fail_task(i, r, error);
	i->tasks++;
	return rec_import_links(i, error);
}

/* ---- The walk ---- */

static int top_step(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	char why[128];
	bool first = i->documents == 0;
	if (token->type == REC_JSON_END_DOCUMENT) {
		i->documents++;
		return 0;
	}
	if (token->type == REC_JSON_ARRAY_END)
		return 0;
	if (token->type == REC_JSON_ARRAY_BEGIN && first && !i->array) {
		i->array = true;
		return 0;
	}
	if (token->type == REC_JSON_OBJECT_BEGIN && (first || !i->array))
		return task_begin(i, token);
	if (i->array && !first)
		return fail_place(place_of(i, token), REC_E_INVALID,
				  "something follows the list of tasks (it must be all there is)", error);
	snprintf(why, sizeof why, "expected a task object, found %s", rec_token_kind(token->type));
	return fail_place(place_of(i, token), REC_E_INVALID, why, error);
}

static int step(struct rec_import *i, const struct rec_json_token *token, struct rec_error *error)
{
	switch (i->walk) {
	case REC_WALK_TOP:
		return top_step(i, token, error);
	case REC_WALK_TASK:
		if (token->type == REC_JSON_OBJECT_END)
			return task_end(i, error);
		return key_take(i, &i->object, token, REC_WALK_TASK_VALUE, error);
	case REC_WALK_TASK_VALUE:
		return task_value(i, token, error);
	case REC_WALK_LIST:
		return list_step(i, token, error);
	case REC_WALK_BLOCKERS:
		return blockers_step(i, token, error);
	case REC_WALK_BLOCKER:
		if (token->type == REC_JSON_OBJECT_END)
			return blocker_end(i, error);
		return key_take(i, &i->blocker_object, token, REC_WALK_BLOCKER_VALUE, error);
	case REC_WALK_BLOCKER_VALUE:
		i->walk = REC_WALK_BLOCKER;
		return value_take(i, &i->blocker_object, &i->blockers[i->blocker_count - 1], token, error);
	case REC_WALK_LINKS:
		return links_step(i, token, error);
	case REC_WALK_LINK:
		if (token->type == REC_JSON_OBJECT_END)
			return link_end(i, error);
		return key_take(i, &i->link_object, token, REC_WALK_LINK_VALUE, error);
	case REC_WALK_LINK_VALUE:
		i->walk = REC_WALK_LINK;
		return value_take(i, &i->link_object, &i->links[i->link_count - 1].link, token, error);
	case REC_WALK_SKIP:
		break;
	}
	return skip_step(i, token);
}

int rec_import_walk(struct rec_import *i, struct rec_error *error)
{
	struct rec_json_token token;
	int r;
	do {
		r = rec_json_next(&i->reader, &token, error);
		if (r == 0)
			r = step(i, &token, error);
	} while (r == 0);
	return r;
}
