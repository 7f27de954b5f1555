/* test-api.h - for the tests of the public API, which see the installed header and the shared library alone. */
#ifndef REC_LIB_TEST_API_H
#define REC_LIB_TEST_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <reconciler.h>

/* ---- An allocator that counts and fails on purpose ---- */

struct memory {
	struct rec_allocator allocator;
	uint64_t calls, fail_at, live;
};

static inline int fails(struct memory *m)
{
	return ++m->calls == m->fail_at;
}

static inline void *memory_allocate(void *context, size_t size)
{
	struct memory *m = context;
	void *p = fails(m) ? NULL : malloc(size);
	m->live += p != NULL;
	return p;
}

static inline void *memory_reallocate(void *context, void *memory, size_t size)
{
	struct memory *m = context;
	void *p = fails(m) ? NULL : realloc(memory, size);
	m->live += p && !memory;
	return p;
}

static inline void memory_release(void *context, void *memory)
{
	struct memory *m = context;
	m->live -= memory != NULL;
	free(memory);
}

/* ---- A reconciler in memory ---- */

struct world {
	struct memory memory;
	struct reconciler *reconciler;
	struct rec_error error;
};

static inline void ok(struct world *w, int result)
{
	if (result)
		print_error("%d: %s\n", result, result < 0 ? w->error.message : "");
	assert_int_equal(result, 0);
}

static inline int open_memory(struct world *w)
{
	struct rec_open_options options = {
		.size = sizeof options, .mode = REC_OPEN_INIT, .allocator = &w->memory.allocator};
	return rec_open("memory:", 250, &options, &w->reconciler, &w->error);
}

static inline void world_init(struct world *w, uint64_t fail_at)
{
	*w = (struct world){.memory = {.fail_at = fail_at}};
	w->memory.allocator = (struct rec_allocator){memory_allocate, memory_reallocate, memory_release, &w->memory};
}

static inline int setup(void **state)
{
	static struct world w;
	world_init(&w, 0);
	ok(&w, open_memory(&w));
	*state = &w;
	return 0;
}

static inline int teardown(void **state)
{
	struct world *w = *state;
	assert_null(rec_close(w->reconciler));
	assert_int_equal(w->memory.live, 0);
	return 0;
}

static inline void add(struct world *w, const char *id, const char *status)
{
	struct rec_task_info task = {.size = sizeof task, .id = id, .title = "a task", .status = status};
	ok(w, rec_task_create(w->reconciler, &task, NULL, &w->error));
}

static inline void ask(struct world *w, const char *id, const char *task_id)
{
	struct rec_blocker_info info = {.size = sizeof info, .id = id, .task_id = task_id, .question = "why?"};
	ok(w, rec_blocker_create(w->reconciler, &info, NULL, &w->error));
}

static inline enum rec_status status_of(struct world *w, const char *id)
{
	struct rec_task_info *task;
	ok(w, rec_task_get(w->reconciler, id, &task, &w->error));
	enum rec_status status = rec_status_from_name(task->status);
	assert_null(rec_task_info_free(task));
	return status;
}

/* ---- What callbacks collect ---- */

struct text {
	char bytes[8192];
	size_t length;
	int end_with; /* what the callback returns */
};

static inline int text_append(void *context, const char *bytes, size_t length)
{
	struct text *text = context;
	assert_true(text->length + length < sizeof text->bytes);
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
	return text->end_with;
}

static inline int text_add(struct text *text, const char *word)
{
	return text_append(text, word, strlen(word));
}

static inline int id_append(void *context, const struct rec_task_info *task)
{
	return text_add(context, task->id);
}

static inline int blocker_append(void *context, const struct rec_blocker_info *blocker)
{
	return text_add(context, blocker->id);
}

/* "ID STATUS ACTION APPLIED;" */
static inline int result_append(void *context, const struct rec_result *result)
{
	char line[512];
	snprintf(line, sizeof line, "%s %s %s %d;", result->task_id,
		 result->current_status ? result->current_status : "-", rec_action_name(result->action),
		 result->applied);
	return text_add(context, line);
}

/* "KIND TASK|COMMAND;" */
static inline int finding_append(void *context, const struct rec_finding_info *finding)
{
	char line[512];
	snprintf(line, sizeof line, "%s %s|%s;", finding->kind, finding->task_id, finding->command);
	return text_add(context, line);
}

static inline int parse(struct rec_batch_state *s, const char *text, struct rec_error *error)
{
	return rec_batch_state_parse(s, text, strlen(text), error);
}

static inline int import(struct world *w, const char *text, uint64_t *ret_tasks)
{
	struct rec_importer *importer;
	int r = rec_importer_new(w->reconciler, NULL, &importer, &w->error);
	if (r)
		return r;
	r = rec_importer_feed(importer, text, strlen(text), &w->error);
	if (r == 0)
		r = rec_importer_finish(importer, ret_tasks, &w->error);
	assert_null(rec_importer_free(importer));
	return r;
}

#define api_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
