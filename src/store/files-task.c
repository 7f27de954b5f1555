/* files-task.c - from the text of a file to a task. What is not as it should be is told as a warning, takes the
 * harmless value and stays in the file as it is; only a file that is no task object, or that names another
 * task, is bad as a whole. */
#include "store/files.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/timestamp.h"

struct taking {
	struct rec_files_task *out;
	struct rec_arena *arena;
	struct rec_slice text; /* the file */
	struct rec_files_warning *warnings;
	size_t warning_capacity;
	struct rec_error *error;
};

typedef int taker_fn(struct taking *t, const struct rec_files_node *node, const char *column, void *value);

/* ---- Warnings ---- */

/* The value for a person: a string without its quotes, anything else as it stands in the file. */
static struct rec_slice node_shown(const struct taking *t, const struct rec_files_node *node)
{
	if (node->type == REC_JSON_STRING)
		return node->text;
	return (struct rec_slice){t->text.data + node->start, node->end - node->start};
}

static int warn(struct taking *t, const char *column, const char *problem, struct rec_slice value)
{
	struct rec_files_task *out = t->out;
	if (out->warning_count == t->warning_capacity) {
		size_t wanted = t->warning_capacity ? 2 * t->warning_capacity : 4;
		struct rec_files_warning *moved = rec_arena_alloc(t->arena, wanted * sizeof *moved);
		if (!moved)
			return rec_fail_nomem(t->error);
		if (out->warning_count)
			memcpy(moved, out->warnings, out->warning_count * sizeof *moved);
		out->warnings = moved;
		t->warning_capacity = wanted;
	}
	out->warnings[out->warning_count++] = (struct rec_files_warning){column, problem, value};
	return 0;
}

static int warn_node(struct taking *t, const char *column, const char *problem, const struct rec_files_node *node)
{
	return warn(t, column, problem, node_shown(t, node));
}

/* ---- Values ---- */

static bool absent(const struct rec_files_node *node)
{
	return !node || node->type == REC_JSON_NULL;
}

static int take_text(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	if (node->type != REC_JSON_STRING)
		return warn_node(t, column, "is not text", node);
	*(struct rec_slice *)value = node->text;
	return 0;
}

static int take_id(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	const char *problem = node->type == REC_JSON_STRING ? rec_id_problem(node->text) : "is not text";
	if (problem)
		return warn_node(t, column, problem, node);
	*(struct rec_slice *)value = node->text;
	return 0;
}

static int take_time(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	int64_t us;
	if (node->type != REC_JSON_STRING || node->text.length > REC_FILES_TIME_BYTES_MAX)
		return warn_node(t, column, "is not a time", node);
	*(struct rec_slice *)value = node->text;
	return rec_timestamp_parse(node->text, &us) == 0 ? 0 : warn_node(t, column, "is not a time", node);
}

static int take_integer(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	int64_t number;
	if (node->type != REC_JSON_NUMBER || rec_json_int64(node->text, &number) != 0)
		return warn_node(t, column, "is not a number", node);
	*(int64_t *)value = number;
	return 0;
}

static int take_real(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	if (node->type != REC_JSON_NUMBER || rec_number_parse(node->text, value) != 0)
		return warn_node(t, column, "is not a number", node);
	return 0;
}

static int flag_read(struct taking *t, const struct rec_files_node *node, const char *column, int64_t *ret)
{
	if (node->type == REC_JSON_TRUE || node->type == REC_JSON_FALSE)
		*ret = node->type == REC_JSON_TRUE;
	else
		return take_integer(t, node, column, ret);
	return 0;
}

static int take_boolean(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	int64_t number = *(bool *)value;
	int r = flag_read(t, node, column, &number);
	*(bool *)value = number != 0;
	return r;
}

static int take_flag(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	return flag_read(t, node, column, value);
}

/* ---- Lists ---- */

static bool is_list_of_texts(const struct rec_files_node *node)
{
	if (node->type != REC_JSON_ARRAY_BEGIN)
		return false;
	for (const struct rec_files_node *n = node->child; n; n = n->next)
		if (n->type != REC_JSON_STRING)
			return false;
	return true;
}

/* A list of texts is kept as the JSON text that other stores have in this column. */
static int take_list(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	struct rec_buffer list;
	if (node->type == REC_JSON_STRING)
		return take_text(t, node, column, value);
	if (!is_list_of_texts(node))
		return warn_node(t, column, "is not a list of texts", node);
	rec_buffer_init(&list, t->arena->allocator, SIZE_MAX / 2);
	rec_files_list_write(&list, node);
	char *copy = list.failed ? NULL : rec_arena_strndup(t->arena, list.data, list.length);
	if (copy)
		*(struct rec_slice *)value = (struct rec_slice){copy, list.length};
	rec_buffer_release(&list);
	return copy ? 0 : rec_fail_nomem(t->error);
}

static int take_depends_on(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	struct rec_task *task = value;
	size_t count = 0;
	if (node->type == REC_JSON_STRING && node->text.length == 0)
		return 0;
	if (!is_list_of_texts(node)) {
		task->depends_on_raw = node_shown(t, node);
		return warn_node(t, column, "is not a list of ids", node);
	}
	for (const struct rec_files_node *n = node->child; n; n = n->next)
		count++;
	struct rec_slice *ids = rec_arena_alloc(t->arena, count * sizeof *ids);
	if (!ids)
		return rec_fail_nomem(t->error);
	for (const struct rec_files_node *n = node->child; n; n = n->next)
		*ids++ = n->text;
	task->depends_on = ids - count;
	task->depends_on_count = count;
	return 0;
}

/* ---- Statuses ---- */

static int take_status(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	struct rec_task *task = value;
	task->status_text = node_shown(t, node);
	if (node->type != REC_JSON_STRING)
		return warn_node(t, column, "is not text", node);
	task->status = rec_status_parse(node->text);
	return 0;
}

static int take_blocker_status(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	struct rec_blocker *blocker = value;
	blocker->status_text = node_shown(t, node);
	blocker->status =
		node->type == REC_JSON_STRING ? rec_blocker_status_parse(node->text) : REC_BLOCKER_UNRECOGNISED;
	if (blocker->status == REC_BLOCKER_UNRECOGNISED)
		return warn_node(t, column, "is none of OPEN, ANSWERED, RESOLVED", node);
	return 0;
}

/* ---- Objects ---- */

struct member {
	struct rec_slice key;
	const char *column;
	taker_fn *take;
	size_t offset, has_offset;
};
#define MEMBER(key, column, take, offset, has_offset)                                                                  \
	{                                                                                                              \
		{key, sizeof key - 1}, column, take, offset, has_offset                                                \
	}

static taker_fn take_blockers;

#define OF(field) offsetof(struct rec_task, field)
static const struct member task_members[] = {
	MEMBER("title", "title", take_text, OF(title), 0),
	MEMBER("description", "description", take_text, OF(description), 0),
	MEMBER("status", "status", take_status, 0, 0),
	MEMBER("priority", "priority", take_integer, OF(priority), 0),
	MEMBER("depends_on", "depends_on", take_depends_on, 0, 0),
	MEMBER("parent_id", "parent_id", take_id, OF(parent_id), 0),
	MEMBER("external_url", "external_url", take_text, OF(external_url), 0),
	MEMBER("created_at", "created_at", take_time, OF(created_at), 0),
	MEMBER("updated_at", "updated_at", take_time, OF(updated_at), 0),
	MEMBER("is_leaf", "is_leaf", take_boolean, OF(is_leaf), 0),
	MEMBER("prd_id", "prd_id", take_text, OF(prd_id), 0),
	MEMBER("estimated_hours", "estimated_hours", take_real, OF(estimated_hours), OF(has_estimated_hours)),
	MEMBER("complexity_score", "complexity_score", take_integer, OF(complexity_score), OF(has_complexity_score)),
	MEMBER("uncertainty_level", "uncertainty_level", take_text, OF(uncertainty_level), 0),
	MEMBER("lineage", "lineage", take_list, OF(lineage), 0),
	MEMBER("hierarchical_id", "hierarchical_id", take_text, OF(hierarchical_id), 0),
	MEMBER("github_issue_number", "github_issue_number", take_integer, OF(github_issue_number),
	       OF(has_github_issue_number)),
	MEMBER("requirement_ids", "requirement_ids", take_list, OF(requirement_ids), 0),
	MEMBER("auto_close_github_issue", "auto_close_github_issue", take_flag, OF(auto_close_github_issue), 0),
	MEMBER("blockers", "blockers", take_blockers, 0, 0),
};
#undef OF
#define OF(field) offsetof(struct rec_blocker, field)
static const struct member blocker_members[] = {
	MEMBER("id", "blocker id", take_id, OF(id), 0),
	MEMBER("question", "question", take_text, OF(question), 0),
	MEMBER("answer", "answer", take_text, OF(answer), 0),
	MEMBER("status", "blocker status", take_blocker_status, 0, 0),
	MEMBER("created_at", "blocker created_at", take_time, OF(created_at), 0),
	MEMBER("answered_at", "answered_at", take_time, OF(answered_at), 0),
	MEMBER("created_by", "created_by", take_text, OF(created_by), 0),
};
#undef OF
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The member of that name; files tend to keep the order of the table. */
static const struct member *member_find(const struct member *members, size_t count, struct rec_slice key, size_t hint)
{
	for (size_t i = 0; i < count; i++) {
		const struct member *m = &members[(hint + i) % count];
		if (rec_slice_equal(key, m->key))
			return m;
	}
	return NULL;
}

static int object_take(struct taking *t, const struct rec_files_node *object, const struct member *members,
		       size_t count, void *record)
{
	size_t hint = 0;
	int r = 0;
	for (const struct rec_files_node *n = object->child; r == 0 && n; n = n->next) {
		const struct member *m = member_find(members, count, n->key, hint);
		if (!m || absent(n))
			continue;
		hint = (size_t)(m - members) + 1;
		size_t told = t->out->warning_count;
		r = m->take(t, n, m->column, (char *)record + m->offset);
		if (m->has_offset && t->out->warning_count == told)
			*(bool *)((char *)record + m->has_offset) = true;
	}
	return r;
}

/* ---- Blockers ---- */

char *rec_files_blocker_id(struct rec_slice task_id, struct rec_slice question, char out[REC_FILES_BLOCKER_ID_BYTES])
{
	char hash[REC_SHA256_HEX_BYTES], both[REC_SHA256_HEX_BYTES + REC_ID_BYTES_MAX + 1];
	int length = snprintf(both, sizeof both, "%s %.*s", rec_sha256_hex(question, hash), (int)task_id.length,
			      task_id.data ? task_id.data : "");
	snprintf(out, REC_FILES_BLOCKER_ID_BYTES, "q-%.16s",
		 rec_sha256_hex((struct rec_slice){both, (size_t)length}, hash));
	return out;
}

static int blocker_complete(struct taking *t, struct rec_blocker *blocker)
{
	char made[REC_FILES_BLOCKER_ID_BYTES];
	if (!blocker->question.data)
		blocker->question = rec_slice_of("");
	if (blocker->id.data)
		return 0;
	rec_files_blocker_id(t->out->task.id, blocker->question, made);
	const char *copy = rec_arena_strndup(t->arena, made, strlen(made));
	blocker->id = rec_slice_of(copy);
	return copy ? 0 : rec_fail_nomem(t->error);
}

static int blocker_take(struct taking *t, const struct rec_files_node *node, struct rec_blocker *blocker)
{
	*blocker = (struct rec_blocker){
		.task_id = t->out->task.id,
		.status = REC_OPEN,
		.status_text = rec_slice_of("OPEN"),
		.created_at = rec_slice_of(""),
		.created_by = rec_slice_of("human"),
	};
	int r = object_take(t, node, blocker_members, COUNT(blocker_members), blocker);
	return r < 0 ? r : blocker_complete(t, blocker);
}

/* One that is no object counts as an open question: nothing is guessed to be released. */
static int take_blockers(struct taking *t, const struct rec_files_node *node, const char *column, void *value)
{
	struct rec_task *task = value;
	size_t count = 0;
	int r = 0;
	if (node->type != REC_JSON_ARRAY_BEGIN)
		return warn_node(t, column, "is not a list", node);
	for (const struct rec_files_node *n = node->child; n; n = n->next)
		count++;
	struct rec_blocker *blockers = rec_arena_alloc(t->arena, count * sizeof *blockers);
	if (!blockers)
		return rec_fail_nomem(t->error);
	task->blockers = blockers;
	task->blocker_count = count;
	for (const struct rec_files_node *n = node->child; r == 0 && n; n = n->next) {
		if (n->type != REC_JSON_OBJECT_BEGIN)
			r = warn_node(t, column, "holds something that is no blocker", n);
		if (r == 0)
			r = blocker_take(t, n, blockers++);
	}
	return r;
}

/* ---- Tasks ---- */

static int bad(struct rec_files_task *out, struct rec_arena *arena, const char *problem, const char *detail)
{
	char text[256];
	out->problem = problem;
	snprintf(out->detail, sizeof out->detail, "%s", detail);
	snprintf(text, sizeof text, "(bad file) %s%s%s", problem, *detail ? ": " : "", detail);
	const char *copy = rec_arena_strndup(arena, text, strlen(text));
	out->task = (struct rec_task){
		.id = out->task.id,
		.title = rec_slice_of(""),
		.status = REC_STATUS_UNRECOGNISED,
		.status_text = rec_slice_of(copy ? copy : "(bad file)"),
		.is_leaf = true,
	};
	out->warning_count = 0;
	return 0;
}

/* The id that the name tells, into the task; absent if it tells none. */
static int name_take(const char *name, struct rec_arena *arena, struct rec_files_task *out)
{
	char id[REC_ID_BYTES_MAX + 1];
	size_t length = 0;
	out->task.id = (struct rec_slice){NULL, 0};
	int r = rec_files_name_id(name, id, &length);
	if (r)
		return r;
	out->task.id = (struct rec_slice){rec_arena_strndup(arena, id, length), length};
	return out->task.id.data ? 0 : REC_E_NOMEM;
}

void rec_files_task_bad(const char *name, const char *problem, struct rec_arena *arena, struct rec_files_task *out)
{
	*out = (struct rec_files_task){0};
	(void)name_take(name, arena, out);
	(void)bad(out, arena, problem, "");
}

static bool has_conflict_markers(struct rec_slice text)
{
	static const char mark[] = "<<<<<<< ";
	for (const char *at = text.data; at; at = memchr(at, '\n', (size_t)(text.data + text.length - at))) {
		at += *at == '\n';
		if ((size_t)(text.data + text.length - at) >= sizeof mark - 1 && memcmp(at, mark, sizeof mark - 1) == 0)
			return true;
	}
	return false;
}

static int id_take(struct taking *t, const struct rec_files_node *root, const char *name)
{
	char shown[100];
	struct rec_files_task *out = t->out;
	const struct rec_files_node *node = rec_files_member(root, "id");
	if (node && node->type == REC_JSON_STRING && !rec_id_problem(node->text) &&
	    rec_files_name_is(node->text, name)) {
		out->task.id = node->text;
		return 0;
	}
	int r = name_take(name, t->arena, out);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(t->error);
	if (absent(node)) {
		if (r == 0)
			return 0;
		return bad(out, t->arena, r == REC_NOT_FOUND ? "has no key \"id\"" : "has a name that no task has", "");
	}
	if (node->type != REC_JSON_STRING || rec_id_problem(node->text))
		return bad(out, t->arena, "its key \"id\" is no id",
			   rec_text_shown(shown, sizeof shown, node_shown(t, node)));
	return bad(out, t->arena, "its key \"id\" names another task", rec_text_shown(shown, sizeof shown, node->text));
}

static int task_complete(struct taking *t, const struct rec_files_node *root)
{
	struct rec_task *task = &t->out->task;
	int r = 0;
	if (task->status == REC_STATUS_UNRECOGNISED && !task->status_text.data) {
		task->status_text = rec_slice_of("");
		r = warn(t, "status", "is missing", rec_slice_of(""));
	}
	if (r == 0 && !task->title.data) {
		task->title = rec_slice_of("");
		if (absent(rec_files_member(root, "title")))
			r = warn(t, "title", "is missing", rec_slice_of(""));
	}
	return r;
}

static int root_take(struct taking *t, const struct rec_files_node *root, const char *name)
{
	if (root->type != REC_JSON_OBJECT_BEGIN) {
		if (name_take(name, t->arena, t->out) == REC_E_NOMEM)
			return rec_fail_nomem(t->error);
		return bad(t->out, t->arena, "is no JSON object", "");
	}
	int r = id_take(t, root, name);
	if (r || t->out->problem)
		return r;
	t->out->task = (struct rec_task){.id = t->out->task.id, .status = REC_STATUS_UNRECOGNISED, .is_leaf = true};
	r = object_take(t, root, task_members, COUNT(task_members), &t->out->task);
	return r < 0 ? r : task_complete(t, root);
}

int rec_files_task_read(struct rec_slice text, const char *name, struct rec_arena *arena, struct rec_files_task *out,
			struct rec_error *error)
{
	struct rec_error why = {0};
	struct rec_files_node *root = NULL;
	*out = (struct rec_files_task){0};
	struct taking t = {.out = out, .arena = arena, .text = text, .error = error};
	int r = rec_files_document(text, arena, &root, &why);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	if (r == 0)
		return root_take(&t, root, name);
	if (name_take(name, arena, out) == REC_E_NOMEM)
		return rec_fail_nomem(error);
	if (has_conflict_markers(text))
		return bad(out, arena, "holds the conflict markers of a merge", "");
	return bad(out, arena, "is not JSON", why.message);
}
