/* sqlite-row.c - from rows to plain data. SQLite lets any column hold anything; what is not what it should be is
 * told as a warning and given the harmless value, and the row is used. Only a row whose id cannot be an id is
 * left out.
 */
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "store/sqlite.h"

/* ---- Single values ---- */

enum rec_status rec_sqlite_status(sqlite3_stmt *statement, int column)
{
	struct rec_slice text = rec_sqlite_text(statement, column);
	return text.data ? rec_status_parse(text) : REC_STATUS_UNRECOGNISED;
}

static struct rec_slice blob_shown(sqlite3_stmt *statement, int column, char buffer[REC_SQLITE_SHOWN_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = sqlite3_column_blob(statement, column);
	size_t count = (size_t)sqlite3_column_bytes(statement, column), length = 0, most = 32;
	buffer[length++] = 'x';
	buffer[length++] = '\'';
	for (size_t i = 0; bytes && i < count && i < most; i++) {
		buffer[length++] = digits[bytes[i] >> 4];
		buffer[length++] = digits[bytes[i] & 15];
	}
	if (count > most)
		for (int i = 0; i < 3; i++)
			buffer[length++] = '.';
	buffer[length++] = '\'';
	return (struct rec_slice){buffer, length};
}

struct rec_slice rec_sqlite_shown(sqlite3_stmt *statement, int column, char buffer[REC_SQLITE_SHOWN_BYTES])
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		return rec_slice_of("NULL");
	case SQLITE_BLOB:
		return blob_shown(statement, column, buffer);
	default:
		return rec_sqlite_column(statement, column);
	}
}

const char *rec_sqlite_id_problem(sqlite3_stmt *statement, int column)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		return "is NULL";
	case SQLITE_TEXT:
		return rec_id_problem(rec_sqlite_column(statement, column));
	default:
		return "is not text";
	}
}

static void warn(struct rec_sqlite *s, struct rec_slice task_id, const char *column_name, const char *problem,
		 sqlite3_stmt *statement, int column)
{
	char buffer[REC_SQLITE_SHOWN_BYTES];
	if (s->base.warn)
		rec_store_warn(&s->base, task_id, column_name, problem, rec_sqlite_shown(statement, column, buffer));
}

/* A text that must be there. */
static struct rec_slice required_text(struct rec_sqlite *s, struct rec_slice task_id, const char *name,
				      sqlite3_stmt *statement, int column)
{
	int type = sqlite3_column_type(statement, column);
	struct rec_slice text = rec_sqlite_column(statement, column);
	if (type == SQLITE_NULL)
		warn(s, task_id, name, "is NULL", statement, column);
	else if (type == SQLITE_BLOB)
		warn(s, task_id, name, "is not text", statement, column);
	else if (!rec_utf8_valid(text))
		warn(s, task_id, name, "is not UTF-8", statement, column);
	return text.data ? text : rec_slice_of("");
}

/* Kept as it is, but told if nobody can read it as a time. Absent if NULL. */
static struct rec_slice time_text(struct rec_sqlite *s, struct rec_slice task_id, const char *name,
				  sqlite3_stmt *statement, int column)
{
	int64_t us;
	struct rec_slice text = rec_sqlite_column(statement, column);
	if (!text.data)
		warn(s, task_id, name, "is NULL", statement, column);
	else if (rec_timestamp_parse(text, &us) != 0)
		warn(s, task_id, name, "is not a time", statement, column);
	return text;
}

static int64_t number(struct rec_sqlite *s, struct rec_slice task_id, const char *name, sqlite3_stmt *statement,
		      int column, int64_t otherwise)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		return sqlite3_column_int64(statement, column);
	case SQLITE_NULL:
		return otherwise;
	default:
		warn(s, task_id, name, "is not a number", statement, column);
		return otherwise;
	}
}

/* ---- Lists of ids ---- */

struct id_list {
	struct rec_arena *arena;
	struct rec_slice *ids;
	size_t count, capacity;
	unsigned documents; /* exactly one is a list */
};

static int id_list_add(struct id_list *list, struct rec_slice id)
{
	if (list->count == list->capacity) {
		size_t wanted = list->capacity ? list->capacity * 2 : 4;
		struct rec_slice *moved = rec_arena_alloc(list->arena, wanted * sizeof *moved);
		if (!moved)
			return REC_E_NOMEM;
		if (list->count)
			memcpy(moved, list->ids, list->count * sizeof *moved);
		list->ids = moved;
		list->capacity = wanted;
	}
	char *copy = rec_arena_strndup(list->arena, id.data, id.length);
	if (!copy)
		return REC_E_NOMEM;
	list->ids[list->count++] = (struct rec_slice){copy, id.length};
	return 0;
}

/* One token of a list of texts: 0, REC_END, REC_E_... without a message. */
static int id_list_token(struct id_list *list, struct rec_json_reader *reader)
{
	struct rec_json_token token;
	int r = rec_json_next(reader, &token, NULL);
	if (r == REC_END || r < 0)
		return r;
	if (r == REC_JSON_NEED_MORE)
		return REC_E_INVALID;
	switch (token.type) {
	case REC_JSON_ARRAY_BEGIN:
		return token.depth == 0 && list->documents++ == 0 ? 0 : REC_E_INVALID;
	case REC_JSON_ARRAY_END:
	case REC_JSON_END_DOCUMENT:
		return 0;
	case REC_JSON_STRING:
		return token.depth == 1 ? id_list_add(list, token.text) : REC_E_INVALID;
	default:
		return REC_E_INVALID;
	}
}

int rec_sqlite_json_open(struct rec_json_reader *reader, const struct rec_allocator *a, struct rec_slice json)
{
	rec_json_init(reader, a, json.length + 1);
	char *space = rec_json_space(reader, json.length ? json.length : 1);
	if (!space) {
		rec_json_release(reader);
		return REC_E_NOMEM;
	}
	if (json.length)
		memcpy(space, json.data, json.length);
	rec_json_added(reader, json.length);
	rec_json_finish(reader);
	return 0;
}

static int id_list_read(struct id_list *list, struct rec_slice json)
{
	struct rec_json_reader reader;
	int r = rec_sqlite_json_open(&reader, list->arena->allocator, json);
	if (r)
		return r;
	while (r == 0)
		r = id_list_token(list, &reader);
	rec_json_release(&reader);
	if (r == REC_END)
		return list->documents == 1 ? 0 : REC_E_INVALID;
	return r;
}

int rec_sqlite_id_list(struct rec_slice json, struct rec_arena *arena, const struct rec_slice **ret_ids,
		       size_t *ret_count, struct rec_error *error)
{
	struct id_list list = {.arena = arena};
	int r = rec_slice_equal(json, rec_slice_of("[]")) ? 0 : id_list_read(&list, json);
	if (r == REC_E_NOMEM)
		return rec_fail_nomem(error);
	if (r)
		return REC_E_INVALID;
	*ret_ids = list.ids;
	*ret_count = list.count;
	return 0;
}

int rec_sqlite_id_list_write(struct rec_buffer *out, const struct rec_slice *ids, size_t count)
{
	rec_buffer_add_text(out, "[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			rec_buffer_add_text(out, ", ");
		rec_json_write_string(out, ids[i]);
	}
	return rec_buffer_add_text(out, "]");
}

/* ---- Tasks ---- */

static int depends_on(struct rec_sqlite *s, sqlite3_stmt *row, struct rec_arena *arena, struct rec_task *task,
		      struct rec_error *error)
{
	bool is_text = rec_sqlite_is_text(row, REC_SQLITE_TASK_depends_on);
	struct rec_slice text = rec_sqlite_column(row, REC_SQLITE_TASK_depends_on);
	if (!text.data || text.length == 0)
		return 0;
	int r = is_text ? rec_sqlite_id_list(text, arena, &task->depends_on, &task->depends_on_count, error)
			: REC_E_INVALID;
	if (r != REC_E_INVALID)
		return r;
	warn(s, task->id, "depends_on", "is not a list of ids", row, REC_SQLITE_TASK_depends_on);
	task->depends_on_raw = text;
	return 0;
}

static void further_columns(struct rec_sqlite *s, sqlite3_stmt *row, struct rec_task *task)
{
	task->description = rec_sqlite_column(row, REC_SQLITE_TASK_description);
	task->external_url = rec_sqlite_column(row, REC_SQLITE_TASK_external_url);
	task->prd_id = rec_sqlite_column(row, REC_SQLITE_TASK_prd_id);
	task->uncertainty_level = rec_sqlite_column(row, REC_SQLITE_TASK_uncertainty_level);
	task->hierarchical_id = rec_sqlite_column(row, REC_SQLITE_TASK_hierarchical_id);
	task->lineage = rec_sqlite_column(row, REC_SQLITE_TASK_lineage);
	task->requirement_ids = rec_sqlite_column(row, REC_SQLITE_TASK_requirement_ids);
	task->has_estimated_hours = sqlite3_column_type(row, REC_SQLITE_TASK_estimated_hours) != SQLITE_NULL;
	task->estimated_hours = sqlite3_column_double(row, REC_SQLITE_TASK_estimated_hours);
	task->has_complexity_score = sqlite3_column_type(row, REC_SQLITE_TASK_complexity_score) != SQLITE_NULL;
	task->complexity_score = sqlite3_column_int64(row, REC_SQLITE_TASK_complexity_score);
	task->has_github_issue_number = sqlite3_column_type(row, REC_SQLITE_TASK_github_issue_number) != SQLITE_NULL;
	task->github_issue_number = sqlite3_column_int64(row, REC_SQLITE_TASK_github_issue_number);
	task->auto_close_github_issue =
		number(s, task->id, "auto_close_github_issue", row, REC_SQLITE_TASK_auto_close_github_issue, 0);
}

static void live_facts(sqlite3_stmt *row, struct rec_task *task)
{
	int claim = REC_SQLITE_TASK_workspace_id, ended = claim + 1;
	task->claimed = sqlite3_column_type(row, claim) != SQLITE_NULL;
	task->attempt = (uint32_t)sqlite3_column_int64(row, task->claimed ? claim : ended);
}

static bool has_column(const struct rec_sqlite *s, enum rec_sqlite_task_column column)
{
	return s->schema.task_columns & REC_SQLITE_BIT(column);
}

int rec_sqlite_task_row(struct rec_sqlite *s, sqlite3_stmt *row, struct rec_arena *arena, struct rec_task *task,
			struct rec_error *error)
{
	*task = (struct rec_task){0};
	const char *problem = rec_sqlite_id_problem(row, REC_SQLITE_TASK_id);
	if (problem) {
		warn(s, (struct rec_slice){0}, "id", problem, row, REC_SQLITE_TASK_id);
		return REC_NOT_FOUND;
	}
	char buffer[REC_SQLITE_SHOWN_BYTES];
	task->id = rec_sqlite_column(row, REC_SQLITE_TASK_id);
	task->status = rec_sqlite_status(row, REC_SQLITE_TASK_status);
	if (!rec_sqlite_is_text(row, REC_SQLITE_TASK_status))
		warn(s, task->id, "status", "is not text", row, REC_SQLITE_TASK_status);
	if (task->status != REC_STATUS_UNRECOGNISED)
		task->status_text = rec_slice_of(rec_status_text(task->status));
	else {
		task->status_text = rec_sqlite_shown(row, REC_SQLITE_TASK_status, buffer);
		char *kept = rec_arena_strndup(arena, task->status_text.data, task->status_text.length);
		if (!kept)
			return rec_fail_nomem(error);
		task->status_text.data = kept;
	}
	task->title = has_column(s, REC_SQLITE_TASK_title)
			      ? required_text(s, task->id, "title", row, REC_SQLITE_TASK_title)
			      : rec_slice_of("");
	task->priority = number(s, task->id, "priority", row, REC_SQLITE_TASK_priority, 0);
	task->is_leaf = number(s, task->id, "is_leaf", row, REC_SQLITE_TASK_is_leaf, 1) != 0;
	task->parent_id = rec_sqlite_column(row, REC_SQLITE_TASK_parent_id);
	if (has_column(s, REC_SQLITE_TASK_created_at))
		task->created_at = time_text(s, task->id, "created_at", row, REC_SQLITE_TASK_created_at);
	task->updated_at = rec_sqlite_column(row, REC_SQLITE_TASK_updated_at);
	further_columns(s, row, task);
	live_facts(row, task);
	return depends_on(s, row, arena, task, error);
}

/* ---- Blockers ---- */

int rec_sqlite_blocker_row(struct rec_sqlite *s, sqlite3_stmt *row, struct rec_blocker *blocker,
			   struct rec_error *error)
{
	(void)error;
	*blocker = (struct rec_blocker){0};
	if (rec_sqlite_is_text(row, REC_SQLITE_BLOCKER_task_id))
		blocker->task_id = rec_sqlite_column(row, REC_SQLITE_BLOCKER_task_id);
	const char *problem = rec_sqlite_id_problem(row, REC_SQLITE_BLOCKER_id);
	if (problem) {
		warn(s, blocker->task_id, "blocker id", problem, row, REC_SQLITE_BLOCKER_id);
		return REC_NOT_FOUND;
	}
	blocker->id = rec_sqlite_column(row, REC_SQLITE_BLOCKER_id);
	blocker->status = REC_BLOCKER_UNRECOGNISED;
	blocker->status_text = rec_slice_of("");
	if (rec_sqlite_is_text(row, REC_SQLITE_BLOCKER_status)) {
		blocker->status_text = rec_sqlite_column(row, REC_SQLITE_BLOCKER_status);
		blocker->status = rec_blocker_status_parse(blocker->status_text);
	}
	if (blocker->status == REC_BLOCKER_UNRECOGNISED)
		warn(s, blocker->task_id, "blocker status", "is none of OPEN, ANSWERED, RESOLVED", row,
		     REC_SQLITE_BLOCKER_status);
	blocker->question = required_text(s, blocker->task_id, "question", row, REC_SQLITE_BLOCKER_question);
	blocker->answer = rec_sqlite_column(row, REC_SQLITE_BLOCKER_answer);
	blocker->created_at = rec_sqlite_column(row, REC_SQLITE_BLOCKER_created_at);
	blocker->answered_at = rec_sqlite_column(row, REC_SQLITE_BLOCKER_answered_at);
	blocker->created_by = rec_sqlite_column(row, REC_SQLITE_BLOCKER_created_by);
	if (!blocker->created_by.data)
		blocker->created_by = rec_slice_of("human");
	return 0;
}

/* ---- Keeping ---- */

int rec_sqlite_keep(struct rec_arena *arena, struct rec_slice *const *texts, struct rec_error *error)
{
	for (; *texts; texts++) {
		if (!(*texts)->data)
			continue;
		char *copy = rec_arena_strndup(arena, (*texts)->data, (*texts)->length);
		if (!copy)
			return rec_fail_nomem(error);
		(*texts)->data = copy;
	}
	return 0;
}

int rec_sqlite_task_keep(struct rec_arena *arena, struct rec_task *task, struct rec_error *error)
{
	struct rec_slice *const texts[] = {
		&task->id,
		&task->title,
		&task->description,
		&task->status_text,
		&task->parent_id,
		&task->external_url,
		&task->created_at,
		&task->updated_at,
		&task->prd_id,
		&task->uncertainty_level,
		&task->hierarchical_id,
		&task->lineage,
		&task->requirement_ids,
		&task->depends_on_raw,
		NULL,
	};
	return rec_sqlite_keep(arena, texts, error);
}

int rec_sqlite_blocker_keep(struct rec_arena *arena, struct rec_blocker *blocker, struct rec_error *error)
{
	struct rec_slice *const texts[] = {
		&blocker->id,          &blocker->task_id,     &blocker->question,
		&blocker->answer,      &blocker->status_text, &blocker->created_at,
		&blocker->answered_at, &blocker->created_by,  NULL,
	};
	return rec_sqlite_keep(arena, texts, error);
}
