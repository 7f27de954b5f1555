/* test-processes.c - several processes on one store at the same time. Everything is closed before a fork, as SQLite
 * asks, and each process opens a handle of its own. */
#include "contract.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4
#define TASKS 60
#define BUSY_TIMEOUT_MS 60000

/* What a worker does on its handle; its result becomes the exit status. */
typedef int worker_fn(struct contract *c, struct rec_store *s, int number);

static struct rec_store *open_patiently(struct contract *c)
{
	struct rec_store *store = NULL;
	struct rec_store_options options = c->options;
	options.busy_timeout_ms = BUSY_TIMEOUT_MS;
	expect(c, 0, contract_backend.open(c->place, &options, &store, &c->error));
	return store;
}

static void worker_run(struct contract *c, worker_fn *work, int number)
{
	struct rec_store *store = NULL;
	struct rec_store_options options = c->options;
	options.busy_timeout_ms = BUSY_TIMEOUT_MS;
	if (contract_backend.open(c->place, &options, &store, &c->error) < 0)
		_exit(255);
	int r = work(c, store, number);
	if (r < 0 || r > 250)
		fprintf(stderr, "worker %d: %s\n", number, c->error.message);
	rec_store_close(store);
	_exit(r < 0 ? 255 : r);
}

/* Runs the workers at the same time and adds up their results; each is told whether it was killed. */
static int workers_run(struct contract *c, worker_fn *work, int count, int *ret_killed)
{
	pid_t pids[WORKERS];
	int sum = 0, killed = 0;
	for (int i = 0; i < count; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			worker_run(c, work, i);
	}
	for (int i = 0; i < count; i++) {
		int status;
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		killed += WIFSIGNALED(status) != 0;
		if (WIFEXITED(status)) {
			assert_int_not_equal(WEXITSTATUS(status), 255);
			sum += WEXITSTATUS(status);
		}
	}
	if (ret_killed)
		*ret_killed = killed;
	return sum;
}

static void alone(struct contract *c)
{
	if (!contract_backend.processes)
		skip();
	c->store = rec_store_close(c->store);
}

static void task_name(char name[16], int number)
{
	snprintf(name, 16, "t%03d", number);
}

static void tasks_add(struct contract *c)
{
	char name[16];
	c->store = open_patiently(c);
	expect(c, 0, rec_store_begin(c->store, &c->error));
	for (int i = 0; i < TASKS; i++) {
		task_name(name, i);
		contract_add(c, name, REC_READY);
	}
	expect(c, 0, rec_store_commit(c->store, &c->error));
	c->store = rec_store_close(c->store);
}

/* ---- Claims ---- */

static int claim_all(struct contract *c, struct rec_store *s, int number)
{
	int won = 0;
	for (int i = 0; i < TASKS; i++) {
		char name[16];
		task_name(name, (i + number * 7) % TASKS);
		struct rec_claim claim = {.task_id = S(name), .owner = S("worker")};
		int r = rec_store_claim(s, &claim, NULL, &c->error);
		if (r < 0)
			return r;
		won += r == 0;
	}
	return won;
}

static int count_claim(void *context, const struct rec_claim *claim)
{
	assert_int_equal(claim->attempt, 1);
	++*(int *)context;
	return 0;
}

static void test_processes__each_task_is_claimed_by_one(void **state)
{
	struct contract *c = *state;
	int count = 0;
	alone(c);
	tasks_add(c);
	assert_int_equal(workers_run(c, claim_all, WORKERS, NULL), TASKS);
	c->store = open_patiently(c);
	expect(c, 0, rec_store_claims(c->store, count_claim, &count, &c->error));
	assert_int_equal(count, TASKS);
}

/* ---- Counting: read, then write what was read plus one ---- */

#define ROUNDS 25

static int count_up(struct contract *c, struct rec_store *s, int number)
{
	(void)number;
	int done = 0, r = 0;
	while (done < ROUNDS && r == 0) {
		struct rec_task task;
		struct rec_arena arena;
		rec_arena_init(&arena, NULL);
		r = rec_store_begin(s, &c->error);
		if (r == 0)
			r = rec_store_get(s, S("t000"), &arena, &task, &c->error);
		if (r == 0) {
			task.priority++;
			r = rec_store_edit(s, &task, REC_EDIT_PRIORITY, &c->error);
		}
		if (r == 0)
			r = rec_store_commit(s, &c->error);
		rec_arena_release(&arena);
		done += r == 0;
	}
	return r < 0 ? r : done;
}

static void test_processes__nothing_is_written_between_a_groups_read_and_its_write(void **state)
{
	struct contract *c = *state;
	alone(c);
	tasks_add(c);
	assert_int_equal(workers_run(c, count_up, WORKERS, NULL), WORKERS * ROUNDS);
	c->store = open_patiently(c);
	assert_int_equal(contract_get(c, "t000").priority, WORKERS * ROUNDS);
}

/* ---- Creating, and a reader meanwhile ---- */

static int create_many(struct contract *c, struct rec_store *s, int number)
{
	for (int i = 0; i < TASKS; i++) {
		char name[24];
		snprintf(name, sizeof name, "w%d-%d", number, i);
		struct rec_task task = contract_task(name, REC_READY);
		struct rec_event event = {.event = S("CREATED"), .task_id = S(name)};
		int r = rec_store_begin(s, &c->error);
		if (r == 0)
			r = rec_store_create(s, &task, &c->error);
		if (r == 0)
			r = rec_store_event_add(s, &event, &c->error);
		if (r == 0)
			r = rec_store_commit(s, &c->error);
		if (r)
			return -1;
	}
	return 0;
}

static int count_event(void *context, const struct rec_event *event)
{
	(void)event;
	++*(size_t *)context;
	return 0;
}

static int count_id(void *context, struct rec_slice id)
{
	(void)id;
	++*(size_t *)context;
	return 0;
}

/* Looks until all are there: never more events than tasks, never a task without its event, and the feed told of all. */
static int watch_creation(struct contract *c, struct rec_store *s)
{
	struct rec_cursor cursor = {0};
	size_t told = 0, before = 0;
	int r = rec_store_changes(s, &cursor, count_id, &told, &c->error);
	while (r == 0 || r == REC_RESCAN) {
		struct rec_snapshot all;
		size_t events = 0;
		r = rec_store_snapshot(s, NULL, 0, 0, &all, &c->error);
		if (r < 0)
			break;
		size_t tasks = all.count;
		rec_snapshot_release(&all);
		r = rec_store_events(s, 0, 0, count_event, &events, &c->error);
		if (r < 0 || tasks < before || events < tasks)
			return -1;
		before = tasks;
		if (tasks == (size_t)(WORKERS - 1) * TASKS)
			return 0;
		r = rec_store_changes(s, &cursor, count_id, &told, &c->error);
	}
	return r;
}

static int create_or_watch(struct contract *c, struct rec_store *s, int number)
{
	return number == WORKERS - 1 ? watch_creation(c, s) : create_many(c, s, number);
}

static void test_processes__a_reader_sees_whole_groups_while_others_write(void **state)
{
	struct contract *c = *state;
	size_t events = 0;
	alone(c);
	assert_int_equal(workers_run(c, create_or_watch, WORKERS, NULL), 0);
	c->store = open_patiently(c);
	expect(c, 0, rec_store_events(c->store, 0, 0, count_event, &events, &c->error));
	assert_int_equal(events, (WORKERS - 1) * TASKS);
}

static void test_processes__the_feed_tells_of_what_others_wrote(void **state)
{
	struct contract *c = *state;
	struct rec_cursor cursor = {0};
	alone(c);
	c->store = open_patiently(c);
	contract_catch_up(c->store, &cursor);
	c->store = rec_store_close(c->store);
	assert_int_equal(workers_run(c, create_many, WORKERS, NULL), 0);
	c->store = open_patiently(c);
	assert_true(contract_changes(c->store, &cursor, NULL, 0) >= WORKERS * TASKS);
	assert_int_equal(contract_changes(c->store, &cursor, NULL, 0), 0);
}

/* ---- Death ---- */

static int die_in_a_group(struct contract *c, struct rec_store *s, int number)
{
	if (number > 0)
		return claim_all(c, s, number);
	char name[16];
	if (rec_store_begin(s, &c->error) < 0)
		return -1;
	for (int i = 0; i < TASKS; i++) {
		task_name(name, i);
		struct rec_task task = contract_task("dead", REC_READY);
		if (i == 0 && rec_store_create(s, &task, &c->error) < 0)
			return -1;
		(void)rec_store_delete(s, S(name), &c->error);
	}
	kill(getpid(), SIGKILL);
	return -1;
}

static void test_processes__one_that_is_killed_in_a_group_leaves_nothing_of_it(void **state)
{
	struct contract *c = *state;
	int killed = 0, count = 0;
	alone(c);
	tasks_add(c);
	assert_int_equal(workers_run(c, die_in_a_group, WORKERS, &killed), TASKS);
	assert_int_equal(killed, 1);
	c->store = open_patiently(c);
	assert_int_equal(contract_status(c, "dead"), REC_STATUS_ABSENT);
	expect(c, 0, rec_store_claims(c->store, count_claim, &count, &c->error));
	assert_int_equal(count, TASKS);
	contract_add(c, "alive", REC_READY);
}

static const struct CMUnitTest tests[] = {
	contract_test(test_processes__each_task_is_claimed_by_one),
	contract_test(test_processes__nothing_is_written_between_a_groups_read_and_its_write),
	contract_test(test_processes__a_reader_sees_whole_groups_while_others_write),
	contract_test(test_processes__the_feed_tells_of_what_others_wrote),
	contract_test(test_processes__one_that_is_killed_in_a_group_leaves_nothing_of_it),
};
contract_run(processes, tests)
