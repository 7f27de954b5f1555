/* argument.c - what may be written. Every text is checked before the backend sees it, so that backends agree
 * on what is refused, and a message names the field. A NUL is refused in every text: SQLite would store it, and
 * every tool that reads the store would show the text cut off. */
#include "base/idmap.h"
#include "base/text.h"
#include "store/wrapper.h"

#include <math.h>

#define SHORT_TEXT_BYTES_MAX 4096u /* times, owners, names of events */

int rec_argument_id(const char *what, struct rec_slice id, struct rec_error *error)
{
	char shown[96];
	const char *problem = id.data ? rec_id_problem(id) : "is missing";
	if (!problem)
		return 0;
	return rec_fail(error, REC_E_INVALID,
			"%s '%s': %s (an id is 1 to %d bytes of UTF-8 without control characters)", what,
			rec_text_shown(shown, sizeof shown, id), problem, REC_ID_BYTES_MAX);
}

/* Absent is fine. */
int rec_argument_text(const char *what, struct rec_slice text, size_t bytes_max, struct rec_error *error)
{
	if (!text.data)
		return 0;
	if (text.length > bytes_max)
		return rec_fail(error, REC_E_INVALID, "%s: is %zu bytes long (at most %zu are kept)", what, text.length,
				bytes_max);
	size_t bad = rec_utf8_error_offset(text);
	if (bad < text.length)
		return rec_fail(error, REC_E_INVALID, "%s: is not UTF-8 at byte %zu", what, bad);
	const char *nul = text.length ? memchr(text.data, '\0', text.length) : NULL;
	if (nul)
		return rec_fail(error, REC_E_INVALID, "%s: holds a NUL at byte %zu", what, (size_t)(nul - text.data));
	return 0;
}

int rec_argument_status(const char *what, enum rec_status status, struct rec_error *error)
{
	if ((unsigned)status < REC_STATUS_COUNT)
		return 0;
	return rec_fail(error, REC_E_INVALID, "%s: %d is no status that can be stored", what, (int)status);
}

struct text_rule {
	const char *what;
	struct rec_slice text;
	size_t bytes_max;
	bool required;
};

static int texts_check(const struct text_rule *rules, size_t count, struct rec_error *error)
{
	for (size_t i = 0; i < count; i++) {
		if (rules[i].required && !rules[i].text.data)
			return rec_fail(error, REC_E_INVALID, "%s: is missing", rules[i].what);
		int r = rec_argument_text(rules[i].what, rules[i].text, rules[i].bytes_max, error);
		if (r < 0)
			return r;
	}
	return 0;
}

#define TEXTS_CHECK(rules, error) texts_check(rules, sizeof(rules) / sizeof *(rules), error)

static bool one_of(struct rec_slice text, const char *const *words)
{
	for (; *words; words++)
		if (rec_slice_equal(text, rec_slice_of(*words)))
			return true;
	return false;
}

/* No message shows the address: what stands before its host may be a password. */
static int login_check(const char *what, struct rec_slice url, struct rec_error *error)
{
	if (!rec_link_url_has_login(url))
		return 0;
	return rec_fail(error, REC_E_INVALID,
			"%s: a user name or a password stands before the host (leave it out: the address is kept and "
			"shown as it is)",
			what);
}

int rec_argument_url_new(struct rec_slice url, struct rec_error *error)
{
	int r = rec_argument_url("link", url, error);
	return r ? r : login_check("link", url, error);
}

/* ---- Tasks ---- */

static int depends_on_check(const struct rec_task *task, struct rec_error *error)
{
	if (task->depends_on_raw.data)
		return rec_fail(error, REC_E_INVALID, "depends_on: is no list of ids");
	for (size_t i = 0; i < task->depends_on_count; i++) {
		int r = rec_argument_id("depends_on", task->depends_on[i], error);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parent_check(const struct rec_task *task, struct rec_error *error)
{
	if (!task->parent_id.data)
		return 0;
	if (rec_slice_equal(task->parent_id, task->id))
		return rec_fail(error, REC_E_INVALID, "parent_id '%.*s': a task cannot be its own parent",
				(int)task->id.length, task->id.data);
	return rec_argument_id("parent_id", task->parent_id, error);
}

static int task_texts_check(const struct rec_task *task, struct rec_error *error)
{
	const struct text_rule rules[] = {
		{"title", task->title, REC_TITLE_BYTES_MAX, true},
		{"description", task->description, REC_TEXT_BYTES_MAX, false},
		{"external_url", task->external_url, REC_TEXT_BYTES_MAX, false},
		{"created_at", task->created_at, SHORT_TEXT_BYTES_MAX, false},
		{"updated_at", task->updated_at, SHORT_TEXT_BYTES_MAX, false},
		{"prd_id", task->prd_id, REC_TEXT_BYTES_MAX, false},
		{"hierarchical_id", task->hierarchical_id, REC_TEXT_BYTES_MAX, false},
		{"lineage", task->lineage, REC_TEXT_BYTES_MAX, false},
		{"requirement_ids", task->requirement_ids, REC_TEXT_BYTES_MAX, false},
	};
	return TEXTS_CHECK(rules, error);
}

/* What the schema of codeframe demands of its further columns. */
static int task_columns_check(const struct rec_task *task, struct rec_error *error)
{
	static const char *const levels[] = {"low", "medium", "high", NULL};
	if (task->has_complexity_score && (task->complexity_score < 1 || task->complexity_score > 5))
		return rec_fail(error, REC_E_INVALID, "complexity_score: %lld is not from 1 to 5",
				(long long)task->complexity_score);
	if (task->uncertainty_level.data && !one_of(task->uncertainty_level, levels))
		return rec_fail(error, REC_E_INVALID, "uncertainty_level: is none of low, medium, high");
	if (task->has_estimated_hours && !isfinite(task->estimated_hours))
		return rec_fail(error, REC_E_INVALID, "estimated_hours: is not a finite number");
	return 0;
}

static int blocker_rest_check(const struct rec_blocker *blocker, struct rec_error *error)
{
	static const char *const makers[] = {"human", "agent", "system", NULL};
	const struct text_rule rules[] = {
		{"question", blocker->question, REC_TEXT_BYTES_MAX, true},
		{"answer", blocker->answer, REC_TEXT_BYTES_MAX, false},
		{"created_at", blocker->created_at, SHORT_TEXT_BYTES_MAX, false},
		{"answered_at", blocker->answered_at, SHORT_TEXT_BYTES_MAX, false},
	};
	int r = rec_argument_id("blocker id", blocker->id, error);
	if (r == 0)
		r = TEXTS_CHECK(rules, error);
	if (r < 0)
		return r;
	if ((unsigned)blocker->status >= REC_BLOCKER_UNRECOGNISED)
		return rec_fail(error, REC_E_INVALID, "blocker status: %d is none that can be stored",
				(int)blocker->status);
	if (blocker->created_by.data && !one_of(blocker->created_by, makers))
		return rec_fail(error, REC_E_INVALID, "created_by: is none of human, agent, system");
	return 0;
}

int rec_argument_blocker(const struct rec_blocker *blocker, struct rec_error *error)
{
	int r = blocker->task_id.data ? rec_argument_id("task id", blocker->task_id, error) : 0;
	return r < 0 ? r : blocker_rest_check(blocker, error);
}

static int blocker_ids_differ(const struct rec_task *task, const struct rec_allocator *a, struct rec_error *error)
{
	uint32_t first;
	struct rec_idmap map;
	struct rec_slice *ids = rec_zalloc(a, task->blocker_count, sizeof *ids);
	if (!ids)
		return rec_fail_nomem(error);
	rec_idmap_init(&map, a, rec_random_u64());
	int r = rec_idmap_reserve(&map, task->blocker_count);
	for (size_t i = 0; r == 0 && i < task->blocker_count; i++) {
		ids[i] = task->blockers[i].id;
		r = rec_idmap_add(&map, ids, (uint32_t)i, &first);
		if (r == REC_EXISTS)
			r = rec_fail(error, REC_E_INVALID, "blocker id '%.*s': is given twice", (int)ids[i].length,
				     ids[i].data);
		else if (r < 0)
			r = rec_fail(error, r, "blockers: too many to compare their ids");
	}
	rec_idmap_release(&map);
	rec_free(a, ids);
	return r;
}

static int task_blockers_check(const struct rec_task *task, const struct rec_allocator *a, struct rec_error *error)
{
	for (size_t i = 0; i < task->blocker_count; i++) {
		int r = blocker_rest_check(&task->blockers[i], error);
		if (r < 0)
			return r;
	}
	return task->blocker_count > 1 ? blocker_ids_differ(task, a, error) : 0;
}

int rec_argument_task(const struct rec_task *task, const struct rec_allocator *a, struct rec_error *error)
{
	int r = rec_argument_id("task id", task->id, error);
	if (r == 0)
		r = rec_argument_status("status", task->status, error);
	if (r == 0)
		r = task_texts_check(task, error);
	if (r == 0)
		r = login_check("external_url", task->external_url, error);
	if (r == 0)
		r = task_columns_check(task, error);
	if (r == 0)
		r = depends_on_check(task, error);
	if (r == 0)
		r = parent_check(task, error);
	if (r == 0)
		r = task_blockers_check(task, a, error);
	return r;
}

int rec_argument_edit(const struct rec_task *task, unsigned fields, struct rec_error *error)
{
	int r = rec_argument_id("task id", task->id, error);
	if (r == 0 && (fields & REC_EDIT_TITLE) && !task->title.data)
		r = rec_fail(error, REC_E_INVALID, "title: is missing");
	if (r == 0 && (fields & REC_EDIT_TITLE))
		r = rec_argument_text("title", task->title, REC_TITLE_BYTES_MAX, error);
	if (r == 0 && (fields & REC_EDIT_DESCRIPTION))
		r = rec_argument_text("description", task->description, REC_TEXT_BYTES_MAX, error);
	if (r == 0 && (fields & REC_EDIT_EXTERNAL_URL))
		r = rec_argument_text("external_url", task->external_url, REC_TEXT_BYTES_MAX, error);
	if (r == 0 && (fields & REC_EDIT_EXTERNAL_URL))
		r = login_check("external_url", task->external_url, error);
	if (r == 0 && (fields & REC_EDIT_DEPENDS_ON))
		r = depends_on_check(task, error);
	if (r == 0 && (fields & REC_EDIT_PARENT))
		r = parent_check(task, error);
	return r;
}

/* ---- Events and claims ---- */

static int optional_id(const char *what, struct rec_slice id, struct rec_error *error)
{
	return id.data ? rec_argument_id(what, id, error) : 0;
}

int rec_argument_event(const struct rec_event *event, struct rec_error *error)
{
	const struct text_rule rules[] = {
		{"event", event->event, SHORT_TEXT_BYTES_MAX, true},
		{"time", event->time, SHORT_TEXT_BYTES_MAX, false},
		{"task_id", event->task_id, SHORT_TEXT_BYTES_MAX, false},
		{"batch_id", event->batch_id, SHORT_TEXT_BYTES_MAX, false},
		{"action", event->action, SHORT_TEXT_BYTES_MAX, false},
		{"reason", event->reason, REC_TEXT_BYTES_MAX, false},
		{"source", event->source, SHORT_TEXT_BYTES_MAX, false},
		{"current_status", event->current_status, REC_TEXT_BYTES_MAX, false},
		{"external_status", event->external_status, REC_TEXT_BYTES_MAX, false},
		{"believed", event->believed, REC_TEXT_BYTES_MAX, false},
		{"observation", event->observation, REC_TEXT_BYTES_MAX, false},
		{"detail", event->detail, REC_TEXT_BYTES_MAX, false},
	};
	return TEXTS_CHECK(rules, error);
}

int rec_argument_claim(const struct rec_claim *claim, struct rec_error *error)
{
	const struct text_rule rules[] = {
		{"owner", claim->owner, SHORT_TEXT_BYTES_MAX, false},
		{"claimed_at", claim->claimed_at, SHORT_TEXT_BYTES_MAX, false},
	};
	int r = rec_argument_id("task id", claim->task_id, error);
	if (r == 0)
		r = optional_id("batch id", claim->batch_id, error);
	if (r == 0)
		r = TEXTS_CHECK(rules, error);
	return r;
}

int rec_argument_owner(struct rec_slice owner, struct rec_error *error)
{
	return owner.data ? rec_argument_text("owner", owner, SHORT_TEXT_BYTES_MAX, error) : 0;
}

int rec_argument_finish(const struct rec_finish *finish, struct rec_error *error)
{
	int r = finish->to == REC_STATUS_ABSENT ? 0 : rec_argument_status("status", finish->to, error);
	if (r == 0)
		r = rec_argument_text("outcome", finish->outcome, SHORT_TEXT_BYTES_MAX, error);
	return r;
}

int rec_argument_batch(const struct rec_batch *batch, struct rec_error *error)
{
	const struct text_rule rules[] = {
		{"owner", batch->owner, SHORT_TEXT_BYTES_MAX, false},
		{"options", batch->options, REC_TEXT_BYTES_MAX, false},
		{"started_at", batch->started_at, SHORT_TEXT_BYTES_MAX, false},
	};
	int r = rec_argument_id("batch id", batch->batch_id, error);
	return r ? r : TEXTS_CHECK(rules, error);
}

int rec_argument_batch_task(const struct rec_batch_task *task, struct rec_error *error)
{
	const struct text_rule rules[] = {
		{"phase", task->phase, SHORT_TEXT_BYTES_MAX, true},
		{"reason", task->reason, SHORT_TEXT_BYTES_MAX, false},
	};
	int r = rec_argument_id("task id", task->task_id, error);
	if (r == 0 && task->believed != REC_STATUS_ABSENT)
		r = rec_argument_status("believed", task->believed, error);
	return r ? r : TEXTS_CHECK(rules, error);
}

/* ---- Links ---- */

int rec_argument_url(const char *what, struct rec_slice url, struct rec_error *error)
{
	if (!url.data || url.length == 0)
		return rec_fail(error, REC_E_INVALID, "%s: the address is missing", what);
	for (size_t i = 0; i < url.length; i++)
		if ((unsigned char)url.data[i] <= ' ' || url.data[i] == 0x7f)
			return rec_fail(error, REC_E_INVALID,
					"%s: the address holds a blank or a control character at byte %zu (write it "
					"as %%20 and the like)",
					what, i);
	return rec_argument_text(what, url, REC_LINK_URL_BYTES_MAX, error);
}

int rec_argument_link(const struct rec_link *link, struct rec_error *error)
{
	const struct text_rule rules[] = {
		{"reason", link->reason, SHORT_TEXT_BYTES_MAX, false},
		{"time", link->time, SHORT_TEXT_BYTES_MAX, false},
		{"validator", link->validator, REC_VALIDATOR_BYTES_MAX, false},
		{"observed_at", link->observed_at, SHORT_TEXT_BYTES_MAX, false},
		{"made_done_at", link->made_done_at, SHORT_TEXT_BYTES_MAX, false},
	};
	int r = rec_argument_id("task id", link->task_id, error);
	if (r == 0)
		r = rec_argument_url("link", link->url, error);
	if (r == 0 && link->moved_to.data)
		r = rec_argument_url("moved_to", link->moved_to, error);
	if (r == 0 && ((unsigned)link->state > REC_OBSERVED_MERGED || (unsigned)link->kind > REC_LINK_PULL_REQUEST))
		r = rec_fail(error, REC_E_INVALID, "link: %d, %d is no state that can be remembered", (int)link->state,
			     (int)link->kind);
	return r ? r : TEXTS_CHECK(rules, error);
}

int rec_argument_cursor(struct rec_slice tracker, struct rec_slice key, struct rec_slice value, struct rec_error *error)
{
	const struct text_rule rules[] = {
		{"cursor key", key, REC_CURSOR_KEY_BYTES_MAX, true},
		{"cursor", value, REC_VALIDATOR_BYTES_MAX, false},
	};
	int r = rec_argument_id("tracker", tracker, error);
	return r ? r : TEXTS_CHECK(rules, error);
}
