#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/edit.h"
#include "store/backend.h"

#define S(text) rec_slice_of(text)
#define EVENTS_MAX 64

/* A memory store, a counting allocator, and the events seen last. */
struct fixture {
	struct rec_failing_allocator memory;
	struct rec_clock_manual clock;
	struct rec_store *store;
	struct rec_error error;
	struct rec_arena arena;
	struct rec_event events[EVENTS_MAX];
	size_t event_count;
};

static void fixture_init(struct fixture *f, uint64_t fail_at)
{
	*f = (struct fixture){.store = NULL};
	rec_failing_allocator_init(&f->memory, 0, false);
	rec_clock_manual_init(&f->clock, 1767225600000000);
	rec_arena_init(&f->arena, NULL);
	struct rec_store_options options = {
		.mode = REC_STORE_INIT, .allocator = &f->memory.allocator, .clock = &f->clock.clock};
	assert_int_equal(rec_store_memory_open("", &options, &f->store, &f->error), 0);
	f->memory.calls = 0;
	f->memory.fail_at = fail_at;
}

static void fixture_release(struct fixture *f)
{
	f->memory.fail_at = 0;
	rec_store_close(f->store);
	rec_arena_release(&f->arena);
	assert_int_equal(f->memory.live, 0);
}

static int setup(void **state)
{
	static struct fixture f;
	fixture_init(&f, 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	fixture_release(*state);
	return 0;
}

static struct rec_slice keep(struct fixture *f, struct rec_slice text)
{
	if (text.data)
		text.data = rec_arena_strndup(&f->arena, text.data, text.length);
	return text;
}

static int event_keep(void *context, const struct rec_event *event)
{
	struct fixture *f = context;
	assert_true(f->event_count < EVENTS_MAX);
	struct rec_event *e = &f->events[f->event_count++];
	*e = *event;
	e->event = keep(f, event->event);
	e->task_id = keep(f, event->task_id);
	e->source = keep(f, event->source);
	e->current_status = keep(f, event->current_status);
	e->detail = keep(f, event->detail);
	return 0;
}

/* Every event so far. */
static void events_read(struct fixture *f)
{
	f->event_count = 0;
	assert_int_equal(rec_store_events(f->store, 0, 0, event_keep, f, &f->error), 0);
}

static void assert_slice(struct rec_slice slice, const char *text)
{
	assert_int_equal(slice.length, strlen(text));
	assert_memory_equal(slice.data, text, slice.length);
}

/* Event number i is so; source and from may be NULL. */
static void assert_event(const struct fixture *f, size_t i, const char *name, const char *task, const char *source,
			 const char *from, const char *detail)
{
	assert_true(i < f->event_count);
	assert_slice(f->events[i].event, name);
	assert_slice(f->events[i].task_id, task);
	assert_slice(f->events[i].source, source ? source : "");
	assert_slice(f->events[i].current_status, from ? from : "");
	assert_slice(f->events[i].detail, detail ? detail : "");
}

static enum rec_status status_of(struct fixture *f, const char *id)
{
	struct rec_snapshot snapshot;
	struct rec_slice slice = S(id);
	assert_int_equal(rec_store_snapshot(f->store, &slice, 1, 0, &snapshot, &f->error), 0);
	enum rec_status status = (enum rec_status)snapshot.facts[0].status;
	rec_snapshot_release(&snapshot);
	return status;
}

static struct rec_task task_of(struct fixture *f, const char *id)
{
	struct rec_task task;
	assert_int_equal(rec_store_get(f->store, S(id), &f->arena, &task, &f->error), 0);
	return task;
}

/* Straight into the store, without events. */
static void add(struct fixture *f, const char *id, enum rec_status status, const char *parent)
{
	struct rec_task task = {
		.id = S(id),
		.title = S("title"),
		.status = status,
		.status_text = S(rec_status_text(status)),
		.parent_id = S(parent),
		.is_leaf = true,
	};
	assert_int_equal(rec_store_create(f->store, &task, &f->error), 0);
}

/* ---- Statuses ---- */

static void test_set_status__legal_step_is_written_with_its_event(void **state)
{
	struct fixture *f = *state;
	enum rec_status current = REC_STATUS_ABSENT;
	add(f, "a", REC_READY, NULL);
	assert_int_equal(rec_edit_set_status(f->store, S("a"), REC_IN_PROGRESS, false, "person", &current, &f->error),
			 0);
	assert_int_equal(current, REC_READY);
	assert_int_equal(status_of(f, "a"), REC_IN_PROGRESS);
	events_read(f);
	assert_int_equal(f->event_count, 1);
	assert_event(f, 0, "TASK_STATUS_CHANGED", "a", "person", "READY", "IN_PROGRESS");
}

static void test_set_status__several_legal_steps_are_written_once(void **state)
{
	struct fixture *f = *state;
	add(f, "a", REC_BACKLOG, NULL);
	assert_int_equal(rec_edit_set_status(f->store, S("a"), REC_DONE, false, "person", NULL, &f->error), 0);
	assert_int_equal(status_of(f, "a"), REC_DONE);
	events_read(f);
	assert_int_equal(f->event_count, 1);
	assert_event(f, 0, "TASK_STATUS_CHANGED", "a", "person", "BACKLOG", "DONE");
}

static void test_set_status__illegal_change_is_refused_and_nothing_written(void **state)
{
	struct fixture *f = *state;
	enum rec_status current = REC_STATUS_ABSENT;
	add(f, "a", REC_MERGED, NULL);
	assert_int_equal(rec_edit_set_status(f->store, S("a"), REC_READY, false, "person", &current, &f->error),
			 REC_REFUSED);
	assert_int_equal(current, REC_MERGED);
	assert_int_equal(status_of(f, "a"), REC_MERGED);
	events_read(f);
	assert_int_equal(f->event_count, 0);
	assert_false(rec_store_in_group(f->store));
}

static void test_set_status__force_writes_anything_and_says_so(void **state)
{
	struct fixture *f = *state;
	enum rec_status current = REC_STATUS_ABSENT;
	add(f, "a", REC_MERGED, NULL);
	assert_int_equal(rec_edit_set_status(f->store, S("a"), REC_READY, true, "person", &current, &f->error), 0);
	assert_int_equal(current, REC_MERGED);
	assert_int_equal(status_of(f, "a"), REC_READY);
	events_read(f);
	assert_event(f, 0, "TASK_STATUS_CHANGED", "a", "person", "MERGED", "READY, forced");
}

static void test_set_status__to_itself_writes_nothing(void **state)
{
	struct fixture *f = *state;
	enum rec_status current = REC_STATUS_ABSENT;
	add(f, "a", REC_DONE, NULL);
	struct rec_slice before = task_of(f, "a").updated_at;
	rec_clock_manual_advance(&f->clock, 1000000);
	assert_int_equal(rec_edit_set_status(f->store, S("a"), REC_DONE, true, "person", &current, &f->error), 0);
	assert_int_equal(current, REC_DONE);
	assert_true(rec_slice_equal(before, task_of(f, "a").updated_at));
	events_read(f);
	assert_int_equal(f->event_count, 0);
}

static void test_set_status__missing_task_and_impossible_status(void **state)
{
	struct fixture *f = *state;
	enum rec_status current = REC_FAILED;
	assert_int_equal(rec_edit_set_status(f->store, S("nobody"), REC_DONE, true, "person", &current, &f->error),
			 REC_NOT_FOUND);
	assert_int_equal(current, REC_FAILED);
	add(f, "a", REC_READY, NULL);
	assert_int_equal(rec_edit_set_status(f->store, S("a"), REC_STATUS_ABSENT, true, "person", &current, &f->error),
			 REC_E_INVALID);
	assert_int_equal(status_of(f, "a"), REC_READY);
}

static void test_set_status__each_parent_that_moves_has_its_event(void **state)
{
	struct fixture *f = *state;
	add(f, "top", REC_READY, NULL);
	add(f, "middle", REC_READY, "top");
	add(f, "leaf", REC_READY, "middle");
	assert_int_equal(rec_edit_set_status(f->store, S("leaf"), REC_IN_PROGRESS, false, "person", NULL, &f->error),
			 0);
	events_read(f);
	assert_int_equal(f->event_count, 3);
	assert_event(f, 0, "TASK_STATUS_CHANGED", "leaf", "person", "READY", "IN_PROGRESS");
	assert_event(f, 1, "TASK_STATUS_CHANGED", "middle", "rollup", "READY", "IN_PROGRESS");
	assert_event(f, 2, "TASK_STATUS_CHANGED", "top", "rollup", "READY", "IN_PROGRESS");
}

static void test_set_status__inside_a_callers_group_is_part_of_it(void **state)
{
	struct fixture *f = *state;
	add(f, "a", REC_READY, NULL);
	assert_int_equal(rec_store_begin(f->store, &f->error), 0);
	assert_int_equal(rec_edit_set_status(f->store, S("a"), REC_DONE, false, "person", NULL, &f->error), 0);
	assert_true(rec_store_in_group(f->store));
	rec_store_rollback(f->store);
	assert_int_equal(status_of(f, "a"), REC_READY);
	events_read(f);
	assert_int_equal(f->event_count, 0);
}

static void test_retry__only_a_failed_task_becomes_ready(void **state)
{
	struct fixture *f = *state;
	enum rec_status current = REC_STATUS_ABSENT;
	add(f, "failed", REC_FAILED, NULL);
	add(f, "done", REC_DONE, NULL);
	assert_int_equal(rec_edit_retry(f->store, S("failed"), &current, &f->error), 0);
	assert_int_equal(current, REC_FAILED);
	assert_int_equal(status_of(f, "failed"), REC_READY);
	assert_int_equal(rec_edit_retry(f->store, S("done"), &current, &f->error), REC_REFUSED);
	assert_int_equal(current, REC_DONE);
	assert_int_equal(status_of(f, "done"), REC_DONE);
	assert_int_equal(rec_edit_retry(f->store, S("nobody"), &current, &f->error), REC_NOT_FOUND);
	events_read(f);
	assert_int_equal(f->event_count, 1);
	assert_event(f, 0, "TASK_STATUS_CHANGED", "failed", "retry", "FAILED", "READY");
}

/* ---- Tasks ---- */

static void test_create__makes_an_id_and_an_event(void **state)
{
	struct fixture *f = *state;
	char id[REC_ID_BYTES_MAX + 1] = "";
	struct rec_task task = {.title = S("t"), .status = REC_READY, .is_leaf = true};
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), 0);
	assert_int_equal(strlen(id), REC_UUID_BYTES - 1);
	assert_int_equal(status_of(f, id), REC_READY);
	events_read(f);
	assert_event(f, 0, "TASK_CREATED", id, NULL, NULL, NULL);
	task.id = S(id);
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), REC_EXISTS);
	events_read(f);
	assert_int_equal(f->event_count, 1);
}

static void test_create__parent_and_dependencies_must_exist(void **state)
{
	struct fixture *f = *state;
	char id[REC_ID_BYTES_MAX + 1] = "untouched";
	struct rec_slice dependencies[] = {S("a"), S("nobody"), S("t")};
	add(f, "a", REC_READY, NULL);
	struct rec_task task = {.id = S("t"), .title = S("t"), .status = REC_READY, .depends_on = dependencies};
	task.depends_on_count = 2;
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), REC_E_INVALID);
	assert_non_null(strstr(f->error.message, "its dependency \"nobody\" does not exist"));
	task.depends_on_count = 1;
	task.parent_id = S("ghost");
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), REC_E_INVALID);
	assert_non_null(strstr(f->error.message, "its parent \"ghost\" does not exist"));
	task.parent_id = (struct rec_slice){NULL, 0};
	task.depends_on = dependencies + 2;
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), REC_E_INVALID);
	assert_non_null(strstr(f->error.message, "its own dependency"));
	assert_string_equal(id, "untouched");
	assert_int_equal(status_of(f, "t"), REC_STATUS_ABSENT);
}

static void test_create__bad_id_is_refused(void **state)
{
	struct fixture *f = *state;
	char id[REC_ID_BYTES_MAX + 1];
	struct rec_task task = {.id = S("a\nb"), .title = S("t"), .status = REC_READY};
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), REC_E_INVALID);
	task.id = S("");
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), REC_E_INVALID);
	task = (struct rec_task){.title = S("t"), .status = REC_STATUS_UNRECOGNISED};
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), REC_E_INVALID);
}

static void test_create__rolls_a_parent_up_with_an_event(void **state)
{
	struct fixture *f = *state;
	char id[REC_ID_BYTES_MAX + 1];
	add(f, "top", REC_READY, NULL);
	struct rec_task task = {.id = S("x"), .title = S("t"), .status = REC_IN_PROGRESS, .parent_id = S("top")};
	assert_int_equal(rec_edit_create(f->store, &task, id, &f->error), 0);
	events_read(f);
	assert_int_equal(f->event_count, 2);
	assert_event(f, 0, "TASK_CREATED", "x", NULL, NULL, NULL);
	assert_event(f, 1, "TASK_STATUS_CHANGED", "top", "rollup", "READY", "IN_PROGRESS");
	assert_null(f->store->on_rollup);
}

static void test_edit__writes_the_fields_and_names_them(void **state)
{
	struct fixture *f = *state;
	add(f, "a", REC_READY, NULL);
	struct rec_task task = {.id = S("a"), .title = S("new"), .priority = 7, .description = S("unused")};
	assert_int_equal(rec_edit_task(f->store, &task, REC_EDIT_TITLE | REC_EDIT_PRIORITY, &f->error), 0);
	struct rec_task now = task_of(f, "a");
	assert_slice(now.title, "new");
	assert_int_equal(now.priority, 7);
	assert_null(now.description.data);
	events_read(f);
	assert_int_equal(f->event_count, 1);
	assert_event(f, 0, "TASK_EDITED", "a", NULL, NULL, "title, priority");
	task.id = S("nobody");
	assert_int_equal(rec_edit_task(f->store, &task, REC_EDIT_TITLE, &f->error), REC_NOT_FOUND);
}

static void test_edit__a_ring_of_parents_is_refused(void **state)
{
	struct fixture *f = *state;
	add(f, "top", REC_READY, NULL);
	add(f, "middle", REC_READY, "top");
	add(f, "leaf", REC_READY, "middle");
	struct rec_task task = {.id = S("top"), .parent_id = S("leaf")};
	assert_int_equal(rec_edit_task(f->store, &task, REC_EDIT_PARENT, &f->error), REC_E_INVALID);
	assert_non_null(strstr(f->error.message, "\"leaf\" lies below it"));
	task.parent_id = S("top");
	assert_int_equal(rec_edit_task(f->store, &task, REC_EDIT_PARENT, &f->error), REC_E_INVALID);
	task = (struct rec_task){.id = S("leaf"), .parent_id = S("top")};
	assert_int_equal(rec_edit_task(f->store, &task, REC_EDIT_PARENT, &f->error), 0);
	assert_slice(task_of(f, "leaf").parent_id, "top");
	assert_true(task_of(f, "middle").is_leaf);
	task.parent_id = (struct rec_slice){NULL, 0};
	assert_int_equal(rec_edit_task(f->store, &task, REC_EDIT_PARENT, &f->error), 0);
	assert_null(task_of(f, "leaf").parent_id.data);
}

static void test_edit__a_ring_that_was_there_before_does_not_hang(void **state)
{
	struct fixture *f = *state;
	struct rec_task task = {.title = S("t"), .status = REC_READY};
	task.id = S("a"), task.parent_id = S("b");
	assert_int_equal(rec_store_create_as_given(f->store, &task, &f->error), 0);
	task.id = S("b"), task.parent_id = S("c");
	assert_int_equal(rec_store_create_as_given(f->store, &task, &f->error), 0);
	task.id = S("c"), task.parent_id = S("a");
	assert_int_equal(rec_store_create_as_given(f->store, &task, &f->error), 0);
	add(f, "d", REC_READY, NULL);
	task = (struct rec_task){.id = S("d"), .parent_id = S("a")};
	assert_int_equal(rec_edit_task(f->store, &task, REC_EDIT_PARENT, &f->error), 0);
}

static void test_delete__is_told_with_the_roll_up_it_caused(void **state)
{
	struct fixture *f = *state;
	add(f, "top", REC_READY, NULL);
	add(f, "one", REC_DONE, "top");
	add(f, "two", REC_READY, "top");
	events_read(f);
	size_t before = f->event_count;
	assert_int_equal(rec_edit_delete(f->store, S("two"), &f->error), 0);
	assert_int_equal(status_of(f, "two"), REC_STATUS_ABSENT);
	events_read(f);
	assert_int_equal(f->event_count, before + 2);
	assert_event(f, before, "TASK_DELETED", "two", NULL, NULL, NULL);
	assert_slice(f->events[before + 1].detail, "DONE");
	assert_int_equal(rec_edit_delete(f->store, S("two"), &f->error), REC_NOT_FOUND);
}

static void test_delete__a_claimed_task_is_refused(void **state)
{
	struct fixture *f = *state;
	add(f, "a", REC_READY, NULL);
	struct rec_claim claim = {.task_id = S("a"), .owner = S("test")};
	assert_int_equal(rec_store_claim(f->store, &claim, NULL, &f->error), 0);
	assert_int_equal(rec_edit_delete(f->store, S("a"), &f->error), REC_REFUSED);
	assert_int_equal(status_of(f, "a"), REC_IN_PROGRESS);
}

/* ---- Blockers ---- */

static void test_blockers__life_with_events(void **state)
{
	struct fixture *f = *state;
	char id[REC_ID_BYTES_MAX + 1];
	add(f, "a", REC_BLOCKED, NULL);
	struct rec_blocker blocker = {.task_id = S("a"), .question = S("why?")};
	assert_int_equal(rec_edit_blocker_create(f->store, &blocker, id, &f->error), 0);
	assert_int_equal(rec_edit_blocker_resolve(f->store, S(id), &f->error), REC_REFUSED);
	assert_int_equal(rec_edit_blocker_answer(f->store, S(id), S("because"), &f->error), 0);
	assert_int_equal(rec_edit_blocker_resolve(f->store, S(id), &f->error), 0);
	assert_int_equal(rec_edit_blocker_resolve(f->store, S(id), &f->error), 0);
	assert_int_equal(rec_edit_blocker_answer(f->store, S(id), S("late"), &f->error), REC_REFUSED);
	assert_int_equal(status_of(f, "a"), REC_BLOCKED);
	events_read(f);
	assert_int_equal(f->event_count, 3);
	assert_event(f, 0, "BLOCKER_CREATED", "a", NULL, NULL, id);
	assert_event(f, 1, "BLOCKER_ANSWERED", "a", NULL, NULL, id);
	assert_event(f, 2, "BLOCKER_RESOLVED", "a", NULL, NULL, id);
}

static void test_blockers__what_cannot_be(void **state)
{
	struct fixture *f = *state;
	char id[REC_ID_BYTES_MAX + 1];
	add(f, "a", REC_BLOCKED, NULL);
	struct rec_blocker blocker = {.id = S("k"), .task_id = S("nobody"), .question = S("why?")};
	assert_int_equal(rec_edit_blocker_create(f->store, &blocker, id, &f->error), REC_NOT_FOUND);
	blocker.task_id = S("a");
	assert_int_equal(rec_edit_blocker_create(f->store, &blocker, id, &f->error), 0);
	assert_string_equal(id, "k");
	assert_int_equal(rec_edit_blocker_create(f->store, &blocker, id, &f->error), REC_EXISTS);
	blocker.id = S("a\tb");
	assert_int_equal(rec_edit_blocker_create(f->store, &blocker, id, &f->error), REC_E_INVALID);
	assert_int_equal(rec_edit_blocker_answer(f->store, S("none"), S("x"), &f->error), REC_NOT_FOUND);
	assert_int_equal(rec_edit_blocker_resolve(f->store, S("none"), &f->error), REC_NOT_FOUND);
	assert_int_equal(rec_edit_blocker_answer(f->store, S("k"), (struct rec_slice){NULL, 0}, &f->error),
			 REC_E_INVALID);
	events_read(f);
	assert_int_equal(f->event_count, 1);
}

/* ---- Links ---- */

static void test_links__are_made_and_taken_away_with_events(void **state)
{
	struct fixture *f = *state;
	add(f, "a", REC_READY, NULL);
	assert_int_equal(rec_edit_link(f->store, S("a"), S("x:1"), &f->error), 0);
	assert_int_equal(rec_edit_link(f->store, S("a"), S("x:1"), &f->error), REC_EXISTS);
	assert_int_equal(rec_edit_link(f->store, S("b"), S("x:1"), &f->error), REC_NOT_FOUND);
	assert_int_equal(rec_edit_link(f->store, S("a"), S("x 1"), &f->error), REC_E_INVALID);
	assert_int_equal(rec_edit_unlink(f->store, S("a"), S("x:2"), &f->error), REC_NOT_FOUND);
	assert_int_equal(rec_edit_unlink(f->store, S("a"), S("x:1"), &f->error), 0);
	assert_int_equal(rec_edit_unlink(f->store, S("a"), (struct rec_slice){0}, &f->error), REC_NOT_FOUND);
	events_read(f);
	assert_int_equal(f->event_count, 2);
	assert_event(f, 0, "TASK_LINKED", "a", NULL, NULL, "x:1");
	assert_event(f, 1, "TASK_UNLINKED", "a", NULL, NULL, "x:1");
}

/* ---- Memory ---- */

/* Every kind of change once; the first failure ends it. */
static int every_change(struct fixture *f, char id[REC_ID_BYTES_MAX + 1])
{
	struct rec_slice dependency = S("a");
	struct rec_task child = {.title = S("t"), .status = REC_READY, .parent_id = S("top"), .is_leaf = true};
	struct rec_task moved = {.id = S("a"), .parent_id = S("top"), .depends_on = &dependency};
	struct rec_blocker blocker = {.id = S("k"), .task_id = S("a"), .question = S("why?")};
	char blocker_id[REC_ID_BYTES_MAX + 1];
	child.depends_on = &dependency;
	child.depends_on_count = 1;
	int r = rec_edit_create(f->store, &child, id, &f->error);
	if (r == 0)
		r = rec_edit_set_status(f->store, S(id), REC_FAILED, false, "person", NULL, &f->error);
	if (r == 0)
		r = rec_edit_retry(f->store, S(id), NULL, &f->error);
	if (r == 0)
		r = rec_edit_task(f->store, &moved, REC_EDIT_PARENT | REC_EDIT_DEPENDS_ON, &f->error);
	if (r == 0)
		r = rec_edit_blocker_create(f->store, &blocker, blocker_id, &f->error);
	if (r == 0)
		r = rec_edit_blocker_answer(f->store, S("k"), S("x"), &f->error);
	if (r == 0)
		r = rec_edit_blocker_resolve(f->store, S("k"), &f->error);
	if (r == 0)
		r = rec_edit_link(f->store, S("a"), S("x:1"), &f->error);
	if (r == 0)
		r = rec_edit_unlink(f->store, S("a"), S("x:1"), &f->error);
	if (r == 0)
		r = rec_edit_delete(f->store, S(id), &f->error);
	return r;
}

static void test_edit__every_failed_allocation_is_a_clean_error(void **state)
{
	struct fixture *f = *state;
	(void)state;
	fixture_release(f);
	int r = REC_E_NOMEM;
	for (uint64_t fail_at = 1; r; fail_at++) {
		char id[REC_ID_BYTES_MAX + 1];
		fixture_init(f, 0);
		add(f, "top", REC_READY, NULL);
		add(f, "a", REC_READY, NULL);
		f->memory.calls = 0;
		f->memory.fail_at = fail_at;
		r = every_change(f, id);
		if (r)
			assert_int_equal(r, REC_E_NOMEM);
		assert_false(rec_store_in_group(f->store));
		if (r)
			fixture_release(f);
	}
}

int main(void)
{
#define T(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_set_status__legal_step_is_written_with_its_event),
		T(test_set_status__several_legal_steps_are_written_once),
		T(test_set_status__illegal_change_is_refused_and_nothing_written),
		T(test_set_status__force_writes_anything_and_says_so),
		T(test_set_status__to_itself_writes_nothing),
		T(test_set_status__missing_task_and_impossible_status),
		T(test_set_status__each_parent_that_moves_has_its_event),
		T(test_set_status__inside_a_callers_group_is_part_of_it),
		T(test_retry__only_a_failed_task_becomes_ready),
		T(test_create__makes_an_id_and_an_event),
		T(test_create__parent_and_dependencies_must_exist),
		T(test_create__bad_id_is_refused),
		T(test_create__rolls_a_parent_up_with_an_event),
		T(test_edit__writes_the_fields_and_names_them),
		T(test_edit__a_ring_of_parents_is_refused),
		T(test_edit__a_ring_that_was_there_before_does_not_hang),
		T(test_delete__is_told_with_the_roll_up_it_caused),
		T(test_delete__a_claimed_task_is_refused),
		T(test_blockers__life_with_events),
		T(test_blockers__what_cannot_be),
		T(test_links__are_made_and_taken_away_with_events),
		T(test_edit__every_failed_allocation_is_a_clean_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
