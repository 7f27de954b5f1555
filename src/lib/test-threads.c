/* One reconciler a thread, all on the same workspace: what each does stands, and nothing is shared behind their
 * backs (make tsan). */
#include "test-workspace.h"

#include <pthread.h>

#define THREADS 4
#define TASKS_EACH 20

struct worker {
	pthread_t thread;
	const char *place;
	int number, result;
	struct rec_error error;
};

/* Creates tasks, runs them, and looks at everything in between. */
static int work(struct worker *w, struct reconciler *r)
{
	int result = 0;
	for (int i = 0; result == 0 && i < TASKS_EACH; i++) {
		char id[32];
		struct rec_result_set *set;
		snprintf(id, sizeof id, "%d-%d", w->number, i);
		struct rec_task_info task = {.size = sizeof task, .id = id, .title = "a task"};
		result = rec_task_create(r, &task, NULL, &w->error);
		if (result == 0)
			result = rec_task_set_status(r, id, REC_DONE, 0, NULL, &w->error);
		if (result == 0)
			result = rec_check_all(r, NULL, 0, NULL, &set, &w->error);
		if (result == 0)
			rec_result_set_free(set);
	}
	return result;
}

static void *worker_run(void *context)
{
	struct worker *w = context;
	struct rec_open_options options = {.size = sizeof options, .mode = REC_OPEN_WRITE, .busy_timeout_ms = 60000};
	struct reconciler *r;
	w->result = rec_open(w->place, 0, &options, &r, &w->error);
	if (w->result)
		return NULL;
	w->result = work(w, r);
	rec_close(r);
	return NULL;
}

static void test_threads__each_with_a_reconciler_of_its_own(void **state)
{
	struct workspace place;
	struct worker workers[THREADS];
	struct rec_open_options options = {.size = sizeof options, .mode = REC_OPEN_INIT};
	struct rec_result_set *set;
	struct reconciler *r;
	struct rec_error error;
	(void)state;
	workspace_init(&place);
	assert_int_equal(rec_open(place.path, 0, &options, &r, &error), 0);
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.place = place.path, .number = i};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		if (workers[i].result)
			print_error("thread %d: %d %s\n", i, workers[i].result, workers[i].error.message);
		assert_int_equal(workers[i].result, 0);
	}
	assert_int_equal(rec_check_all(r, NULL, 0, NULL, &set, &error), 0);
	assert_int_equal(rec_result_set_count(set), THREADS * TASKS_EACH);
	assert_int_equal(rec_result_set_count_action(set, REC_SKIP), THREADS * TASKS_EACH);
	rec_result_set_free(set);
	rec_close(r);
	workspace_release(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads__each_with_a_reconciler_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
