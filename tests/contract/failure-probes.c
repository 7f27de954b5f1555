/* failure-probes.c - the operations that test-failure.c tries with faults, each in the world that it makes. */
#include "failure.h"

/* ---- Writes ---- */

static int probe_create(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	const struct rec_slice depends_on[] = {S("a"), S("b")};
	const struct rec_blocker blockers[] = {{.id = S("n1"), .question = S("?")},
					       {.id = S("n2"), .question = S("?")}};
	struct rec_task task = contract_task("new", REC_READY);
	task.parent_id = S("p");
	task.external_url = S("https://example.org/2");
	task.depends_on = depends_on;
	task.depends_on_count = 2;
	task.blockers = blockers;
	task.blocker_count = 2;
	return rec_store_create(s, &task, &c->error);
}

static int probe_edit(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	const struct rec_slice depends_on[] = {S("b")};
	const struct rec_task task = {.id = S("a"),
				      .title = S("new"),
				      .description = S("text"),
				      .priority = 7,
				      .depends_on = depends_on,
				      .depends_on_count = 1,
				      .parent_id = S("t"),
				      .external_url = S("https://example.org/3")};
	return rec_store_edit(s, &task, 63, &c->error);
}

static int probe_delete(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_delete(s, S("b"), &c->error);
}

static void rolled_up(void *context, const struct rec_rollup_change *change)
{
	rec_buffer_printf(context, "%.*s %d %d\n", (int)change->id.length, change->id.data, change->from, change->to);
}

static int probe_set_status(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	return rec_store_set_status(s, S("a"), REC_READY, REC_FAILED, NULL, rolled_up, out, &c->error);
}

static int probe_mark_composite(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_mark_composite(s, S("p"), &c->error);
}

static int probe_blocker_create(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	const struct rec_blocker blocker = {.id = S("new"), .task_id = S("b"), .question = S("?")};
	return rec_store_blocker_create(s, &blocker, &c->error);
}

static int probe_blocker_answer(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_blocker_answer(s, S("k2"), S("an answer"), &c->error);
}

static int probe_blocker_resolve(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_blocker_resolve(s, S("k1"), &c->error);
}

static int probe_event_add(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	const struct rec_event event = {.event = S("Y"), .task_id = S("a"), .detail = S("detail")};
	return rec_store_event_add(s, &event, &c->error);
}

static int probe_claim(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	struct rec_claim claim = {.task_id = S("a"), .owner = S("me"), .batch_id = S("batch")};
	int r = rec_store_claim(s, &claim, NULL, &c->error);
	if (r == 0)
		rec_buffer_printf(out, "attempt %u\n", claim.attempt);
	return r;
}

static int probe_claim_many(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	const struct rec_slice ids[] = {S("a"), S("missing"), S("p")};
	const struct rec_claim like = {.owner = S("me"), .batch_id = S("batch")};
	struct rec_claimed claimed[3] = {0};
	int r = rec_store_claim_many(s, &like, ids, 3, claimed, &c->error);
	for (size_t i = 0; r == 0 && i < 3; i++)
		rec_buffer_printf(out, "%d %u\n", claimed[i].result, claimed[i].attempt);
	return r;
}

static int probe_finish(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	enum rec_status after = REC_STATUS_ABSENT;
	const struct rec_finish finish = {.claim_id = c->claim, .to = REC_DONE, .outcome = S("done")};
	int r = rec_store_finish(s, &finish, &after, &c->error);
	if (r == 0)
		rec_buffer_printf(out, "after %d\n", after);
	return r;
}

static int probe_release(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_release(s, c->claim, &c->error);
}

static int probe_claim_take(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_claim_take(s, c->claim, S("host:1"), S("host:2"), &c->error);
}

static int probe_gc(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	struct rec_gc gc = {.older_than_us = c->clock.now_wall_us};
	int r = rec_store_gc(s, &gc, &c->error);
	if (r == 0)
		rec_buffer_printf(out, "%llu events, %llu attempts\n", (unsigned long long)gc.events,
				  (unsigned long long)gc.attempts);
	return r;
}

static int probe_group(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	int r = rec_store_begin(s, &c->error);
	if (r == 0)
		r = probe_create(c, s, out);
	if (r == 0)
		r = probe_claim(c, s, out);
	if (r == 0)
		r = probe_event_add(c, s, out);
	if (r == 0)
		return rec_store_commit(s, &c->error);
	rec_store_rollback(s);
	return r;
}

static int probe_batch(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	const struct rec_batch batch = {.batch_id = S("batch"), .owner = S("me"), .options = S("{}")};
	const struct rec_batch_task task = {
		.task_id = S("a"), .phase = S("waiting"), .believed = REC_READY, .reason = S("a reason")};
	int r = rec_store_begin(s, &c->error);
	if (r == 0)
		r = rec_store_batch_create(s, &batch, &c->error);
	if (r == 0)
		r = rec_store_batch_task_put(s, S("batch"), &task, &c->error);
	if (r == 0)
		r = rec_store_batch_set_status(s, S("batch"), REC_BATCH_RUNNING, REC_BATCH_PARTIAL, S("you"), NULL,
					       &c->error);
	if (r == 0)
		return rec_store_commit(s, &c->error);
	rec_store_rollback(s);
	return r;
}

static int probe_link_put(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_link_put(s, S("b"), S("https://example.org/o/r/issues/1"), &c->error);
}

static int probe_link_remove(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_link_remove(s, S("a"), NO_TEXT, &c->error);
}

static int probe_link_observed(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	const struct rec_link link = {.task_id = S("a"),
				      .url = S("https://example.org/o/r/issues/1"),
				      .state = REC_OBSERVED_CLOSED,
				      .reason = S("completed"),
				      .made_done_at = S("2026-01-01T00:00:00Z")};
	return rec_store_link_observed(s, &link, &c->error);
}

static int probe_cursor_put(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)out;
	return rec_store_tracker_cursor_put(s, S("github"), S("repo"), S("2"), &c->error);
}

/* ---- Reads ---- */

static int link_tell(void *context, const struct rec_link *link)
{
	rec_buffer_printf(context, "%.*s %.*s %d\n", (int)link->task_id.length, link->task_id.data,
			  (int)link->url.length, link->url.data, link->state);
	return 0;
}

static int cursor_tell(void *context, struct rec_slice key, struct rec_slice value)
{
	rec_buffer_printf(context, "%.*s %.*s\n", (int)key.length, key.data, (int)value.length, value.data);
	return 0;
}

static int probe_links(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	int r = rec_store_links(s, NO_TEXT, link_tell, out, &c->error);
	return r ? r : rec_store_tracker_cursors(s, S("github"), cursor_tell, out, &c->error);
}

static int probe_get(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	struct rec_task task = {.id = S("untouched")};
	struct rec_arena arena;
	rec_arena_init(&arena, &c->memory.allocator);
	int r = rec_store_get(s, S("b"), &arena, &task, &c->error);
	if (r == 0)
		rec_buffer_printf(out, "%.*s %zu\n", (int)task.title.length, task.title.data, task.blocker_count);
	else
		assert_slice(task.id, "untouched");
	rec_arena_release(&arena);
	return r;
}

static int probe_get_many(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	const struct rec_slice ids[] = {S("t"), S("missing"), S("b")};
	struct rec_task tasks[3];
	struct rec_arena arena;
	rec_arena_init(&arena, &c->memory.allocator);
	int r = rec_store_get_many(s, ids, 3, &arena, tasks, &c->error);
	for (size_t i = 0; r == 0 && i < 3; i++)
		rec_buffer_printf(out, "%.*s %zu\n", (int)tasks[i].id.length, tasks[i].id.data, tasks[i].blocker_count);
	rec_arena_release(&arena);
	return r;
}

static int task_tell(void *context, const struct rec_task *task)
{
	rec_buffer_printf(context, "%.*s %d %zu\n", (int)task->id.length, task->id.data, task->status,
			  task->blocker_count);
	return 0;
}

static int probe_list(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	const struct rec_list_options options = {.blockers = true};
	return rec_store_list(s, &options, task_tell, out, &c->error);
}

static void facts_tell(struct rec_buffer *out, const struct rec_snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		rec_buffer_printf(out, "%.*s %u %u %u\n", (int)s->ids[i].length, s->ids[i].data, s->facts[i].status,
				  s->facts[i].attempt, s->facts[i].blockers_new);
}

static int snapshot(struct contract *c, struct rec_store *s, const struct rec_slice *ids, size_t count,
		    struct rec_buffer *out)
{
	unsigned fields = REC_SNAPSHOT_BLOCKERS | REC_SNAPSHOT_ATTEMPT | REC_SNAPSHOT_PRIORITY;
	struct rec_snapshot snapshot = {.count = 99};
	int r = rec_store_snapshot(s, ids, count, fields, &snapshot, &c->error);
	if (r == 0) {
		facts_tell(out, &snapshot);
		rec_snapshot_release(&snapshot);
	} else {
		assert_int_equal(snapshot.count, 99);
	}
	return r;
}

static int probe_snapshot_all(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	return snapshot(c, s, NULL, 0, out);
}

static int probe_snapshot_few(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	const struct rec_slice ids[] = {S("running"), S("missing"), S("b"), S("b")};
	return snapshot(c, s, ids, 4, out);
}

static int probe_snapshot_many(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	static const char *const names[] = {"top", "p", "a", "b", "running", "t", "missing"};
	struct rec_slice ids[3000];
	for (size_t i = 0; i < 3000; i++)
		ids[i] = S(names[i % 7]);
	return snapshot(c, s, ids, 3000, out);
}

static int probe_find(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	struct rec_arena arena;
	struct rec_slice ids[4];
	size_t count = 99;
	rec_arena_init(&arena, &c->memory.allocator);
	int r = rec_store_find_blocker_prefix(s, S("k"), &arena, ids, 4, &count, &c->error);
	if (r < 0)
		assert_int_equal(count, 99);
	rec_buffer_printf(out, "%zu\n", count);
	rec_arena_release(&arena);
	return r;
}

static int blocker_tell(void *context, const struct rec_blocker *blocker)
{
	rec_buffer_printf(context, "%.*s %d\n", (int)blocker->id.length, blocker->id.data, blocker->status);
	return 0;
}

static int probe_blockers(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	return rec_store_blockers(s, NO_TEXT, false, blocker_tell, out, &c->error);
}

static int probe_blocker_get(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	struct rec_blocker blocker = {.id = S("untouched")};
	struct rec_arena arena;
	rec_arena_init(&arena, &c->memory.allocator);
	int r = rec_store_blocker_get(s, S("k1"), &arena, &blocker, &c->error);
	if (r == 0)
		blocker_tell(out, &blocker);
	else
		assert_slice(blocker.id, "untouched");
	rec_arena_release(&arena);
	return r;
}

static int event_tell(void *context, const struct rec_event *event)
{
	rec_buffer_printf(context, "%lld %.*s\n", (long long)event->seq, (int)event->event.length, event->event.data);
	return 0;
}

static int probe_events(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	return rec_store_events(s, 0, 0, event_tell, out, &c->error);
}

static int claim_tell(void *context, const struct rec_claim *claim)
{
	rec_buffer_printf(context, "%.*s %u\n", (int)claim->task_id.length, claim->task_id.data, claim->attempt);
	return 0;
}

static int probe_claims(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	return rec_store_claims(s, claim_tell, out, &c->error);
}

static int probe_lease(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	int64_t left_us = 0;
	int r = rec_store_renew(s, S("host:1"), INT64_C(3600000000), &c->error);
	if (r == 0)
		r = rec_store_lease(s, S("host:1"), &left_us, &c->error);
	if (r == 0)
		rec_buffer_printf(out, "%d\n", left_us > 0);
	return r;
}

static int id_tell(void *context, struct rec_slice id)
{
	rec_buffer_printf(context, "%.*s\n", (int)id.length, id.data);
	return 0;
}

static int probe_running_runs(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	return rec_store_running_runs(s, id_tell, out, &c->error);
}

static int probe_changes(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	struct rec_cursor cursor = c->cursor;
	int r = rec_store_changes(s, &cursor, id_tell, out, &c->error);
	if (r < 0)
		assert_memory_equal(&cursor, &c->cursor, sizeof cursor);
	return r;
}

static int probe_wake(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	int fd = -2, r = rec_store_wake_fd(s, &fd, &c->error);
	rec_buffer_printf(out, "%d\n", fd >= -1);
	rec_store_wake_drain(s);
	return r;
}

static int problem_tell(void *context, const char *kind, const char *sentence)
{
	rec_buffer_printf(context, "%s %s\n", kind, sentence);
	return 0;
}

static int probe_problems(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	return rec_store_problems(s, problem_tell, out, &c->error);
}

static int open_and_close(struct contract *c, enum rec_store_mode mode)
{
	struct rec_store *store = NULL;
	struct rec_store_options options = c->options;
	options.mode = mode;
	int r = contract_backend.open(c->place, &options, &store, &c->error);
	assert_true((r == 0) == (store != NULL));
	rec_store_close(store);
	return r;
}

static int probe_open_read(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)s;
	(void)out;
	return open_and_close(c, REC_STORE_READ);
}

static int probe_open_write(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)s;
	(void)out;
	return open_and_close(c, REC_STORE_WRITE);
}

static int probe_open_init(struct contract *c, struct rec_store *s, struct rec_buffer *out)
{
	(void)s;
	(void)out;
	return open_and_close(c, REC_STORE_INIT);
}

#define PROBE(name, writes) const struct failure_probe failure_probe_##name = {#name, probe_##name, writes};
FAILURE_PROBES(PROBE)
