/* files-text.c - writing task files. A new one is pretty-printed with its keys in one order. In one that exists only
 * the values that differ are replaced, each at its place, found afresh in the text after every replacement: files
 * are small, and offsets that move are a way to go wrong. A key that is not there yet is put behind the last one,
 * indented as that is. */
#include "store/files.h"

#include "base/number.h"
#include "base/text.h"

#define INDENT "  "

/* ---- Values ---- */

static void put_text(struct rec_buffer *out, struct rec_slice text)
{
	if (text.data)
		rec_json_write_string(out, text);
}

static void put_integer(struct rec_buffer *out, int64_t value)
{
	rec_buffer_printf(out, "%lld", (long long)value);
}

/* A text that a list of texts would be read back as is written as that list, any other as a string. */
static bool put_as_list(struct rec_buffer *out, struct rec_slice text)
{
	struct rec_arena arena;
	struct rec_files_node *root = NULL;
	size_t before = out->length;
	rec_arena_init(&arena, out->allocator);
	int r = text.length && text.data[0] == '[' ? rec_files_document(text, &arena, &root, NULL) : REC_E_INVALID;
	bool list = r == 0 && root->type == REC_JSON_ARRAY_BEGIN;
	for (struct rec_files_node *n = list ? root->child : NULL; n; n = n->next)
		list = list && n->type == REC_JSON_STRING;
	if (list) {
		rec_files_list_write(out, root);
		list = !out->failed &&
		       rec_slice_equal((struct rec_slice){out->data + before, out->length - before}, text);
		if (!list && !out->failed)
			out->length = before;
	}
	rec_arena_release(&arena);
	if (r == REC_E_NOMEM)
		out->failed = REC_E_NOMEM;
	return list;
}

static void put_list(struct rec_buffer *out, struct rec_slice text)
{
	if (text.data && !put_as_list(out, text))
		put_text(out, text);
}

static void put_depends_on(struct rec_buffer *out, const struct rec_task *task)
{
	if (!task->depends_on_raw.data)
		rec_files_texts_write(out, task->depends_on, task->depends_on_count, ", ");
	else
		put_text(out, task->depends_on_raw);
}

/* ---- Members ---- */

/* The value of a member as JSON; nothing: it is absent. The order is the order of a new file. */
struct member {
	const char *key;
	void (*put)(struct rec_buffer *out, const void *record);
};

#define TASK_VALUE(name, put)                                                                                          \
	static void task_##name(struct rec_buffer *out, const void *record)                                            \
	{                                                                                                              \
		const struct rec_task *task = record;                                                                  \
		put;                                                                                                   \
	}
#define TASK_TEXT(name) TASK_VALUE(name, put_text(out, task->name))
TASK_TEXT(id)
TASK_TEXT(title)
TASK_TEXT(description)
TASK_VALUE(status, put_text(out, task->status_text))
TASK_VALUE(priority, put_integer(out, task->priority))
TASK_VALUE(depends_on, put_depends_on(out, task))
TASK_TEXT(parent_id)
TASK_TEXT(external_url)
TASK_TEXT(created_at)
TASK_TEXT(updated_at)
TASK_VALUE(is_leaf, rec_buffer_add_text(out, task->is_leaf ? "true" : "false"))
TASK_TEXT(prd_id)
TASK_VALUE(estimated_hours, if (task->has_estimated_hours) rec_number_write(out, task->estimated_hours))
TASK_VALUE(complexity_score, if (task->has_complexity_score) put_integer(out, task->complexity_score))
TASK_TEXT(uncertainty_level)
TASK_VALUE(lineage, put_list(out, task->lineage))
TASK_TEXT(hierarchical_id)
TASK_VALUE(github_issue_number, if (task->has_github_issue_number) put_integer(out, task->github_issue_number))
TASK_VALUE(requirement_ids, put_list(out, task->requirement_ids))
TASK_VALUE(auto_close_github_issue, if (task->auto_close_github_issue) put_integer(out, task->auto_close_github_issue))

static const struct member task_members[] = {
	{"id", task_id},
	{"title", task_title},
	{"description", task_description},
	{"status", task_status},
	{"priority", task_priority},
	{"depends_on", task_depends_on},
	{"parent_id", task_parent_id},
	{"external_url", task_external_url},
	{"created_at", task_created_at},
	{"updated_at", task_updated_at},
	{"is_leaf", task_is_leaf},
	{"prd_id", task_prd_id},
	{"estimated_hours", task_estimated_hours},
	{"complexity_score", task_complexity_score},
	{"uncertainty_level", task_uncertainty_level},
	{"lineage", task_lineage},
	{"hierarchical_id", task_hierarchical_id},
	{"github_issue_number", task_github_issue_number},
	{"requirement_ids", task_requirement_ids},
	{"auto_close_github_issue", task_auto_close_github_issue},
};

#define BLOCKER_TEXT(name, field)                                                                                      \
	static void blocker_##name(struct rec_buffer *out, const void *record)                                         \
	{                                                                                                              \
		put_text(out, ((const struct rec_blocker *)record)->field);                                            \
	}
BLOCKER_TEXT(id, id)
BLOCKER_TEXT(question, question)
BLOCKER_TEXT(status, status_text)
BLOCKER_TEXT(answer, answer)
BLOCKER_TEXT(created_at, created_at)
BLOCKER_TEXT(answered_at, answered_at)
BLOCKER_TEXT(created_by, created_by)

static const struct member blocker_members[] = {
	{"id", blocker_id},
	{"question", blocker_question},
	{"status", blocker_status},
	{"answer", blocker_answer},
	{"created_at", blocker_created_at},
	{"answered_at", blocker_answered_at},
	{"created_by", blocker_created_by},
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- New files ---- */

/* The members of an object that have a value, each on its line. */
static void put_members(struct rec_buffer *out, const struct member *members, size_t count, const void *record,
			const char *indent)
{
	bool first = true;
	for (size_t i = 0; i < count; i++) {
		size_t before = out->length;
		if (members[i].put == task_is_leaf && ((const struct rec_task *)record)->is_leaf)
			continue; /* what most tasks are goes without saying */
		rec_buffer_printf(out, "%s\n%s\"%s\": ", first ? "" : ",", indent, members[i].key);
		size_t value = out->length;
		members[i].put(out, record);
		if (out->failed)
			return;
		if (out->length == value)
			out->length = before;
		else
			first = false;
	}
}

static void put_blocker(struct rec_buffer *out, const struct rec_blocker *blocker, const char *indent,
			const char *member_indent)
{
	rec_buffer_add_text(out, "{");
	put_members(out, blocker_members, COUNT(blocker_members), blocker, member_indent);
	rec_buffer_printf(out, "\n%s}", indent);
}

static void put_blockers(struct rec_buffer *out, const struct rec_blocker *blockers, size_t count)
{
	rec_buffer_add_text(out, "[");
	for (size_t i = 0; i < count; i++) {
		rec_buffer_add_text(out, i ? ",\n" INDENT INDENT : "\n" INDENT INDENT);
		put_blocker(out, &blockers[i], INDENT INDENT, INDENT INDENT INDENT);
	}
	rec_buffer_add_text(out, "\n" INDENT "]");
}

static int buffer_result(const struct rec_buffer *out, struct rec_error *error)
{
	if (!out->failed)
		return 0;
	if (out->failed == REC_E_NOMEM)
		return rec_fail_nomem(error);
	return rec_fail(error, REC_E_LIMIT, "the task: its file would be longer than %zu bytes",
			REC_FILES_TASK_BYTES_MAX);
}

int rec_files_text_new(struct rec_buffer *out, const struct rec_task *task, struct rec_error *error)
{
	rec_buffer_add_text(out, "{");
	put_members(out, task_members, COUNT(task_members), task, INDENT);
	if (task->blocker_count) {
		rec_buffer_add_text(out, ",\n" INDENT "\"blockers\": ");
		put_blockers(out, task->blockers, task->blocker_count);
	}
	rec_buffer_add_text(out, "\n}\n");
	return buffer_result(out, error);
}

/* ---- Changing a text ---- */

struct editing {
	struct rec_buffer text, next, before, after;
	struct rec_arena *arena;
	struct rec_error *error;
};

static void editing_release(struct editing *e)
{
	rec_buffer_release(&e->text);
	rec_buffer_release(&e->next);
	rec_buffer_release(&e->before);
	rec_buffer_release(&e->after);
}

/* text[start, end) becomes `piece`. */
static int text_splice(struct editing *e, size_t start, size_t end, struct rec_slice piece)
{
	struct rec_buffer spliced = e->next;
	rec_buffer_clear(&spliced);
	rec_buffer_add(&spliced, e->text.data, start);
	rec_buffer_add(&spliced, piece.data, piece.length);
	rec_buffer_add(&spliced, e->text.data + end, e->text.length - end);
	e->next = e->text;
	e->text = spliced;
	return buffer_result(&e->text, e->error);
}

static int root_find(struct editing *e, struct rec_files_node **ret_root)
{
	return rec_files_document(rec_buffer_slice(&e->text), e->arena, ret_root, e->error);
}

/* The element of "blockers" that has this id, or NULL. */
static struct rec_files_node *blocker_find(const struct rec_files_node *root, struct rec_slice task_id,
					   struct rec_slice id)
{
	char made[REC_FILES_BLOCKER_ID_BYTES];
	struct rec_files_node *list = rec_files_member(root, "blockers");
	for (struct rec_files_node *n = list ? list->child : NULL; n; n = n->next) {
		struct rec_files_node *own = rec_files_member(n, "id");
		struct rec_files_node *question = rec_files_member(n, "question");
		bool has_id = own && own->type == REC_JSON_STRING && !rec_id_problem(own->text);
		struct rec_slice asked =
			question && question->type == REC_JSON_STRING ? question->text : rec_slice_of("");
		if (rec_slice_equal(has_id ? own->text : rec_slice_of(rec_files_blocker_id(task_id, asked, made)), id))
			return n;
	}
	return NULL;
}

/* What stands before a key or an element on its line, if that is white space only; else a blank. */
static struct rec_slice indent_of(const struct editing *e, size_t at)
{
	size_t start = at;
	while (start > 0 && (e->text.data[start - 1] == ' ' || e->text.data[start - 1] == '\t'))
		start--;
	if (start == 0 || e->text.data[start - 1] != '\n')
		return rec_slice_of(" ");
	return (struct rec_slice){e->text.data + start - 1, at - start + 1};
}

/* Puts `item` behind the last child of a container. */
static int item_append(struct editing *e, const struct rec_files_node *container, struct rec_slice item)
{
	const struct rec_files_node *last = container->child;
	struct rec_buffer piece;
	while (last && last->next)
		last = last->next;
	rec_buffer_init(&piece, e->text.allocator, SIZE_MAX / 2);
	if (last) {
		bool object = container->type == REC_JSON_OBJECT_BEGIN;
		struct rec_slice indent = indent_of(e, object ? last->key_start : last->start);
		rec_buffer_add_text(&piece, ",");
		rec_buffer_add(&piece, indent.data, indent.length);
	}
	rec_buffer_add(&piece, item.data, item.length);
	size_t at = last ? last->end : container->start + 1;
	int r = buffer_result(&piece, e->error);
	if (r == 0)
		r = text_splice(e, at, at, rec_buffer_slice(&piece));
	rec_buffer_release(&piece);
	return r;
}

static int member_append(struct editing *e, const struct rec_files_node *object, const char *key,
			 struct rec_slice value)
{
	struct rec_buffer item;
	rec_buffer_init(&item, e->text.allocator, SIZE_MAX / 2);
	rec_buffer_printf(&item, "\"%s\": ", key);
	rec_buffer_add(&item, value.data, value.length);
	int r = buffer_result(&item, e->error);
	if (r == 0)
		r = item_append(e, object, rec_buffer_slice(&item));
	rec_buffer_release(&item);
	return r;
}

/* A value of nothing is written as null: a line that goes would take a comma of its neighbour with it. */
static int member_set(struct editing *e, const struct rec_files_node *object, const char *key, struct rec_slice value)
{
	const struct rec_files_node *node = rec_files_member(object, key);
	if (node)
		return text_splice(e, node->start, node->end, value.length ? value : rec_slice_of("null"));
	return value.length ? member_append(e, object, key, value) : 0;
}

/* `blocker` absent: the members of the task itself. */
static int members_edit(struct editing *e, struct rec_slice task_id, struct rec_slice blocker, const void *before,
			const void *after)
{
	const struct member *members = blocker.data ? blocker_members : task_members;
	size_t count = blocker.data ? COUNT(blocker_members) : COUNT(task_members);
	for (size_t i = 0; i < count; i++) {
		struct rec_files_node *root = NULL;
		rec_buffer_clear(&e->before);
		rec_buffer_clear(&e->after);
		members[i].put(&e->before, before);
		members[i].put(&e->after, after);
		int r = buffer_result(&e->before, e->error);
		if (r == 0)
			r = buffer_result(&e->after, e->error);
		if (r < 0)
			return r;
		if (rec_slice_equal(rec_buffer_slice(&e->before), rec_buffer_slice(&e->after)))
			continue;
		r = root_find(e, &root);
		if (r < 0)
			return r;
		struct rec_files_node *object = blocker.data ? blocker_find(root, task_id, blocker) : root;
		r = object ? member_set(e, object, members[i].key, rec_buffer_slice(&e->after)) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int blocker_append(struct editing *e, const struct rec_blocker *blocker)
{
	struct rec_files_node *root = NULL;
	int r = root_find(e, &root);
	if (r < 0)
		return r;
	struct rec_files_node *list = rec_files_member(root, "blockers");
	bool append = list && list->type == REC_JSON_ARRAY_BEGIN && list->child;
	rec_buffer_clear(&e->after);
	if (append)
		put_blocker(&e->after, blocker, INDENT INDENT, INDENT INDENT INDENT);
	else
		put_blockers(&e->after, blocker, 1);
	r = buffer_result(&e->after, e->error);
	if (r < 0)
		return r;
	return append ? item_append(e, list, rec_buffer_slice(&e->after))
		      : member_set(e, root, "blockers", rec_buffer_slice(&e->after));
}

static const struct rec_blocker *blocker_among(const struct rec_task *task, struct rec_slice id)
{
	for (size_t i = 0; i < task->blocker_count; i++)
		if (rec_slice_equal(task->blockers[i].id, id))
			return &task->blockers[i];
	return NULL;
}

static int edit(struct editing *e, const struct rec_task *before, const struct rec_task *after)
{
	int r = members_edit(e, after->id, (struct rec_slice){NULL, 0}, before, after);
	for (size_t i = 0; r == 0 && i < after->blocker_count; i++) {
		const struct rec_blocker *is = &after->blockers[i], *was = blocker_among(before, is->id);
		r = was ? members_edit(e, after->id, is->id, was, is) : blocker_append(e, is);
	}
	return r;
}

int rec_files_text_edit(struct rec_slice text, const struct rec_task *before, const struct rec_task *after,
			struct rec_arena *arena, struct rec_buffer *out, struct rec_error *error)
{
	struct editing e = {.arena = arena, .error = error};
	rec_buffer_init(&e.text, out->allocator, REC_FILES_TASK_BYTES_MAX);
	rec_buffer_init(&e.next, out->allocator, REC_FILES_TASK_BYTES_MAX);
	rec_buffer_init(&e.before, out->allocator, REC_FILES_TASK_BYTES_MAX);
	rec_buffer_init(&e.after, out->allocator, REC_FILES_TASK_BYTES_MAX);
	rec_buffer_add(&e.text, text.data, text.length);
	int r = buffer_result(&e.text, error);
	if (r == 0)
		r = edit(&e, before, after);
	if (r == 0) {
		rec_buffer_add(out, e.text.data, e.text.length);
		r = buffer_result(out, error);
	}
	editing_release(&e);
	return r;
}
