/* dump.c - everything that can be seen through the contract, one fact a line, so that two stores, or one store at two
 * times, can be compared and the difference read. */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Long texts are cut in the dump, but their whole content counts. */
static void dump_text(struct rec_buffer *out, const char *name, struct rec_slice text)
{
	uint64_t sum = UINT64_C(14695981039346656037);
	if (!text.data)
		return;
	for (size_t i = 0; i < text.length; i++)
		sum = (sum ^ (unsigned char)text.data[i]) * UINT64_C(1099511628211);
	rec_buffer_printf(out, " %s=", name);
	rec_text_show(out, text, 60);
	if (text.length > 40)
		rec_buffer_printf(out, "(%zu bytes, %016llx)", text.length, (unsigned long long)sum);
}

static int dump_blocker(void *context, const struct rec_blocker *b)
{
	struct rec_buffer *out = context;
	rec_buffer_add_text(out, "  blocker");
	dump_text(out, "id", b->id);
	dump_text(out, "task", b->task_id);
	dump_text(out, "question", b->question);
	dump_text(out, "answer", b->answer);
	dump_text(out, "status", b->status_text);
	dump_text(out, "created", b->created_at);
	dump_text(out, "answered", b->answered_at);
	dump_text(out, "by", b->created_by);
	rec_buffer_printf(out, " status=%d\n", b->status);
	return 0;
}

static void dump_columns(struct rec_buffer *out, const struct rec_task *t)
{
	dump_text(out, "prd", t->prd_id);
	dump_text(out, "uncertainty", t->uncertainty_level);
	dump_text(out, "hierarchical", t->hierarchical_id);
	dump_text(out, "lineage", t->lineage);
	dump_text(out, "requirements", t->requirement_ids);
	if (t->has_estimated_hours)
		rec_buffer_printf(out, " hours=%.17g", t->estimated_hours);
	if (t->has_complexity_score)
		rec_buffer_printf(out, " complexity=%lld", (long long)t->complexity_score);
	if (t->has_github_issue_number)
		rec_buffer_printf(out, " issue=%lld", (long long)t->github_issue_number);
	rec_buffer_printf(out, " auto_close=%lld", (long long)t->auto_close_github_issue);
}

static int dump_task(void *context, const struct rec_task *t)
{
	struct rec_buffer *out = context;
	rec_buffer_add_text(out, "task");
	dump_text(out, "id", t->id);
	dump_text(out, "title", t->title);
	dump_text(out, "description", t->description);
	dump_text(out, "status", t->status_text);
	rec_buffer_printf(out, " status=%d priority=%lld leaf=%d attempt=%u claimed=%d", t->status,
			  (long long)t->priority, t->is_leaf, t->attempt, t->claimed);
	for (size_t i = 0; i < t->depends_on_count; i++)
		dump_text(out, "depends", t->depends_on[i]);
	dump_text(out, "depends_raw", t->depends_on_raw);
	dump_text(out, "parent", t->parent_id);
	dump_text(out, "url", t->external_url);
	dump_text(out, "created", t->created_at);
	dump_text(out, "updated", t->updated_at);
	dump_columns(out, t);
	rec_buffer_add_text(out, "\n");
	for (size_t i = 0; i < t->blocker_count; i++)
		dump_blocker(out, &t->blockers[i]);
	return 0;
}

static void dump_number(struct rec_buffer *out, const char *name, bool has, int64_t number)
{
	if (has)
		rec_buffer_printf(out, " %s=%lld", name, (long long)number);
}

static int dump_event(void *context, const struct rec_event *e)
{
	struct rec_buffer *out = context;
	rec_buffer_printf(out, "event seq=%lld", (long long)e->seq);
	dump_text(out, "time", e->time);
	dump_text(out, "event", e->event);
	dump_text(out, "batch", e->batch_id);
	dump_text(out, "task", e->task_id);
	dump_text(out, "action", e->action);
	dump_text(out, "reason", e->reason);
	dump_text(out, "source", e->source);
	dump_text(out, "current", e->current_status);
	dump_text(out, "external", e->external_status);
	dump_text(out, "believed", e->believed);
	dump_text(out, "observation", e->observation);
	dump_text(out, "detail", e->detail);
	dump_number(out, "attempt", e->has_attempt, e->attempt);
	dump_number(out, "blockers_total", e->has_blockers, e->blockers_total);
	dump_number(out, "blockers_open", e->has_blockers, e->blockers_open);
	dump_number(out, "blockers_new", e->has_blockers, e->blockers_new);
	dump_number(out, "exit_code", e->has_exit_code, e->exit_code);
	dump_number(out, "exit_signal", e->has_exit_signal, e->exit_signal);
	dump_number(out, "survivors", e->has_survivors, e->survivors);
	rec_buffer_add_text(out, "\n");
	return 0;
}

static int dump_claim(void *context, const struct rec_claim *claim)
{
	struct rec_buffer *out = context;
	rec_buffer_printf(out, "claim %lld attempt=%u own=%d", (long long)claim->claim_id, claim->attempt,
			  claim->child_owns_run);
	dump_text(out, "task", claim->task_id);
	dump_text(out, "batch", claim->batch_id);
	dump_text(out, "owner", claim->owner);
	dump_text(out, "at", claim->claimed_at);
	rec_buffer_add_text(out, "\n");
	return 0;
}

static int dump_batch(void *context, const struct rec_batch *b)
{
	struct rec_buffer *out = context;
	rec_buffer_printf(out, "batch %s stop=%d counts=%lld/%lld/%lld/%lld", rec_batch_status_text(b->status), b->stop,
			  (long long)b->skipped, (long long)b->killed, (long long)b->requeued, (long long)b->errors);
	dump_text(out, "id", b->batch_id);
	dump_text(out, "owner", b->owner);
	dump_text(out, "options", b->options);
	dump_text(out, "started", b->started_at);
	dump_text(out, "ended", b->ended_at);
	rec_buffer_add_text(out, "\n");
	return 0;
}

static int dump_link(void *context, const struct rec_link *link)
{
	struct rec_buffer *out = context;
	rec_buffer_printf(out, "link implicit=%d state=%s kind=%s gone=%d", link->implicit,
			  rec_observed_text(link->state), rec_link_kind_text(link->kind), link->gone);
	dump_text(out, "task", link->task_id);
	dump_text(out, "url", link->url);
	dump_text(out, "reason", link->reason);
	dump_text(out, "time", link->time);
	dump_number(out, "comments", link->has_comments, link->comments);
	dump_text(out, "moved_to", link->moved_to);
	dump_text(out, "validator", link->validator);
	dump_text(out, "observed_at", link->observed_at);
	dump_text(out, "made_done_at", link->made_done_at);
	rec_buffer_add_text(out, "\n");
	return 0;
}

static int dump_cursor(void *context, struct rec_slice key, struct rec_slice value)
{
	struct rec_buffer *out = context;
	rec_buffer_add_text(out, "cursor");
	dump_text(out, "key", key);
	dump_text(out, "value", value);
	rec_buffer_add_text(out, "\n");
	return 0;
}

static void dump_snapshot(struct rec_store *s, struct rec_buffer *out, struct rec_error *error)
{
	struct rec_snapshot snapshot;
	unsigned fields = REC_SNAPSHOT_ALL_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY;
	assert_int_equal(rec_store_snapshot(s, NULL, 0, fields, &snapshot, error), 0);
	for (size_t i = 0; i < snapshot.count; i++) {
		const struct rec_fact *f = &snapshot.facts[i];
		rec_buffer_add_text(out, "fact");
		dump_text(out, "id", snapshot.ids[i]);
		dump_text(out, "raw", rec_snapshot_raw(&snapshot, i));
		rec_buffer_printf(out, " status=%u leaf=%d priority=%d blockers=%u/%u new=%u claimed=%d attempt=%u\n",
				  f->status, f->is_leaf, f->priority, f->blockers_total, f->blockers_open,
				  f->blockers_new, f->claimed, f->attempt);
	}
	rec_snapshot_release(&snapshot);
}

void contract_dump(struct rec_store *s, struct rec_buffer *out)
{
	struct rec_error error = {0};
	const struct rec_list_options options = {.blockers = true};
	rec_buffer_init(out, NULL, SIZE_MAX / 2);
	int r = rec_store_list(s, &options, dump_task, out, &error);
	if (r == 0)
		r = rec_store_blockers(s, NO_TEXT, false, dump_blocker, out, &error);
	if (r == 0)
		r = rec_store_claims(s, dump_claim, out, &error);
	if (r == 0)
		r = rec_store_events(s, 0, 0, dump_event, out, &error);
	if (r == 0)
		r = rec_store_batches(s, dump_batch, out, &error);
	if (r == 0)
		r = rec_store_links(s, NO_TEXT, dump_link, out, &error);
	if (r == 0)
		r = rec_store_tracker_cursors(s, S("github"), dump_cursor, out, &error);
	if (r < 0)
		print_error("dump: %s\n", error.message);
	assert_int_equal(r, 0);
	dump_snapshot(s, out, &error);
	assert_int_equal(out->failed, 0);
}

static struct rec_slice line_at(const struct rec_buffer *b, size_t at)
{
	const char *end = at < b->length ? memchr(b->data + at, '\n', b->length - at) : NULL;
	return (struct rec_slice){at < b->length ? b->data + at : "(end)", end ? (size_t)(end - b->data) - at : 5};
}

void contract_assert_same_dump(const struct rec_buffer *a, const struct rec_buffer *b, const char *file, int line)
{
	if (rec_slice_equal(rec_buffer_slice(a), rec_buffer_slice(b)))
		return;
	size_t start = 0;
	for (size_t i = 0; i < a->length && i < b->length && a->data[i] == b->data[i]; i++)
		if (a->data[i] == '\n')
			start = i + 1;
	struct rec_slice x = line_at(a, start), y = line_at(b, start);
	print_error("dumps differ:\n- %.*s\n+ %.*s\n", (int)x.length, x.data, (int)y.length, y.data);
	_fail(file, line);
}
