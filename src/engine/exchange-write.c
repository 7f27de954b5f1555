/* exchange-write.c - a task as one line of JSON. Keys come in a fixed order and every value is written in one
 * way only, so that what import reads back is written the same again, byte for byte.
 *
 * lineage and requirement_ids are stored as JSON texts. A text that our own list writer could have made is
 * written as the list it is; any other (other spacing, escapes, not a list) as a string that holds the text, or
 * import could not give the same bytes back. */
#include "engine/exchange.h"

#include "base/number.h"
#include "base/text.h"

static void put_key(struct rec_buffer *out, const char *key)
{
	bool first = out->length && out->data[out->length - 1] == '{';
	rec_buffer_add_text(out, first ? "\"" : ",\"");
	rec_buffer_add_text(out, key);
	rec_buffer_add_text(out, "\":");
}

static void put_text_or_null(struct rec_buffer *out, const char *key, struct rec_slice text)
{
	put_key(out, key);
	if (text.data)
		rec_json_write_string(out, text);
	else
		rec_buffer_add_text(out, "null");
}

static void put_text(struct rec_buffer *out, const char *key, struct rec_slice text)
{
	if (text.data)
		put_text_or_null(out, key, text);
}

static void put_integer(struct rec_buffer *out, const char *key, int64_t value)
{
	put_key(out, key);
	rec_buffer_printf(out, "%lld", (long long)value);
}

static void put_true(struct rec_buffer *out, const char *key)
{
	put_key(out, key);
	rec_buffer_add_text(out, "true");
}

/* The length of a string without escapes at the start of `text`, quotes included; 0: there is none. */
static size_t plain_string_length(struct rec_slice text)
{
	if (text.length < 2 || text.data[0] != '"')
		return 0;
	for (size_t i = 1; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];
		if (c == '"')
			return i + 1;
		if (c == '\\' || c < 0x20)
			return 0;
	}
	return 0;
}

static struct rec_slice after(struct rec_slice text, size_t length)
{
	return (struct rec_slice){text.data + length, text.length - length};
}

/* Is it [], or ["a", "b"] with strings that need no escape: what the list writer makes? */
static bool list_is_plain(struct rec_slice text)
{
	if (text.length < 2 || text.data[0] != '[' || !rec_utf8_valid(text))
		return false;
	if (text.length == 2)
		return text.data[1] == ']';
	for (text = after(text, 1);;) {
		size_t length = plain_string_length(text);
		if (!length || length == text.length)
			return false;
		text = after(text, length);
		if (text.data[0] == ']')
			return text.length == 1;
		if (text.length < 2 || text.data[0] != ',' || text.data[1] != ' ')
			return false;
		text = after(text, 2);
	}
}

/* A plain list without the blanks after its commas. */
static void put_plain_list(struct rec_buffer *out, struct rec_slice text)
{
	while (text.length) {
		size_t length = plain_string_length(text);
		if (!length)
			length = 1;
		rec_buffer_add(out, text.data, length);
		text = after(text, length);
		if (text.length && text.data[0] == ' ')
			text = after(text, 1);
	}
}

static void put_stored_list(struct rec_buffer *out, const char *key, struct rec_slice text)
{
	if (!text.data || !list_is_plain(text)) {
		put_text(out, key, text);
		return;
	}
	put_key(out, key);
	put_plain_list(out, text);
}

static void put_depends_on(struct rec_buffer *out, const struct rec_task *task)
{
	if (task->depends_on_raw.data) {
		put_text(out, "depends_on", task->depends_on_raw);
		return;
	}
	put_key(out, "depends_on");
	rec_buffer_add_text(out, "[");
	for (size_t i = 0; i < task->depends_on_count; i++) {
		if (i)
			rec_buffer_add_text(out, ",");
		rec_json_write_string(out, task->depends_on[i]);
	}
	rec_buffer_add_text(out, "]");
}

static void put_blockers(struct rec_buffer *out, const struct rec_task *task)
{
	put_key(out, "blockers");
	rec_buffer_add_text(out, "[");
	for (size_t i = 0; i < task->blocker_count; i++) {
		if (i)
			rec_buffer_add_text(out, ",");
		rec_blocker_write_json(out, &task->blockers[i], false);
	}
	rec_buffer_add_text(out, "]");
}

/* codeframe's further columns, where they say more than the default. */
static void put_further_columns(struct rec_buffer *out, const struct rec_task *task)
{
	put_key(out, "is_leaf");
	rec_buffer_add_text(out, task->is_leaf ? "true" : "false");
	put_text(out, "prd_id", task->prd_id);
	if (task->has_estimated_hours) {
		put_key(out, "estimated_hours");
		rec_number_write(out, task->estimated_hours);
	}
	if (task->has_complexity_score)
		put_integer(out, "complexity_score", task->complexity_score);
	put_text(out, "uncertainty_level", task->uncertainty_level);
	put_stored_list(out, "lineage", task->lineage);
	put_text(out, "hierarchical_id", task->hierarchical_id);
	if (task->has_github_issue_number)
		put_integer(out, "github_issue_number", task->github_issue_number);
	put_stored_list(out, "requirement_ids", task->requirement_ids);
	if (task->auto_close_github_issue)
		put_integer(out, "auto_close_github_issue", task->auto_close_github_issue);
}

/* What was never observed is its address only. */
static void put_link(struct rec_buffer *out, const struct rec_link *link)
{
	rec_buffer_add_text(out, "{");
	put_text_or_null(out, "url", link->url);
	if (link->implicit)
		put_true(out, "implicit");
	if (link->state != REC_OBSERVED_UNKNOWN)
		put_text(out, "state", rec_slice_of(rec_observed_text(link->state)));
	if (link->kind != REC_LINK_KIND_UNKNOWN)
		put_text(out, "kind", rec_slice_of(rec_link_kind_text(link->kind)));
	put_text(out, "reason", link->reason);
	put_text(out, "time", link->time);
	if (link->has_comments)
		put_integer(out, "comments", link->comments);
	put_text(out, "moved_to", link->moved_to);
	put_text(out, "observed_at", link->observed_at);
	if (link->gone)
		put_true(out, "gone");
	put_text(out, "made_done_at", link->made_done_at);
	rec_buffer_add_text(out, "}");
}

static void put_links(struct rec_buffer *out, const struct rec_link *links, size_t count)
{
	if (count == 0)
		return;
	put_key(out, "links");
	for (size_t i = 0; i < count; i++) {
		rec_buffer_add_text(out, i ? "," : "[");
		put_link(out, &links[i]);
	}
	rec_buffer_add_text(out, "]");
}

static void put_task(struct rec_buffer *out, const struct rec_task *task, bool blockers)
{
	rec_buffer_add_text(out, "{");
	put_text_or_null(out, "id", task->id);
	put_text_or_null(out, "title", task->title);
	put_text_or_null(out, "description", task->description);
	put_text_or_null(out, "status", task->status_text);
	put_integer(out, "priority", task->priority);
	put_depends_on(out, task);
	put_text_or_null(out, "parent_id", task->parent_id);
	put_text_or_null(out, "external_url", task->external_url);
	put_text_or_null(out, "created_at", task->created_at);
	put_text_or_null(out, "updated_at", task->updated_at);
	if (blockers)
		put_blockers(out, task);
	put_further_columns(out, task);
}

int rec_task_write_json(struct rec_buffer *out, const struct rec_task *task, bool blockers)
{
	put_task(out, task, blockers);
	return rec_buffer_add_text(out, "}");
}

int rec_exported_write_json(struct rec_buffer *out, const struct rec_exported *exported)
{
	put_task(out, exported->task, true);
	put_links(out, exported->links, exported->link_count);
	return rec_buffer_add_text(out, "}");
}

int rec_blocker_write_json(struct rec_buffer *out, const struct rec_blocker *blocker, bool task_id)
{
	rec_buffer_add_text(out, "{");
	put_text_or_null(out, "id", blocker->id);
	if (task_id)
		put_text_or_null(out, "task_id", blocker->task_id);
	put_text_or_null(out, "question", blocker->question);
	put_text_or_null(out, "answer", blocker->answer);
	put_text_or_null(out, "status", blocker->status_text);
	put_text_or_null(out, "created_at", blocker->created_at);
	put_text_or_null(out, "answered_at", blocker->answered_at);
	put_text_or_null(out, "created_by", blocker->created_by);
	return rec_buffer_add_text(out, "}");
}
