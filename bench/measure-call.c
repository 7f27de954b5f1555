/* measure-call.c - what a check costs a program in C, as a module that measure-python.py loads beside the package: both
 * are measured in one process, one right after the other. Ends the program on the first error. */
#include <reconciler.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define PUBLIC __attribute__((visibility("default")))

struct call {
	struct reconciler *reconciler;
	const char **ids;
	const unsigned char *statuses; /* believed; the caller's */
	size_t count;
	size_t actions[REC_ACTION_COUNT];
};

/* ids: `count` texts, each ended by NUL. ids and statuses must outlive the call. */
PUBLIC struct call *call_new(const char *place, const char *ids, const unsigned char *statuses, size_t count);
/* A batch state, a check, every result read, all released: processor time in microseconds. */
PUBLIC double call_us(struct call *call);
/* How many results of the last call had that action. */
PUBLIC size_t call_actions(const struct call *call, int action);

static void must(int result, const struct rec_error *error)
{
	if (result)
		measure_die("call", error->message);
}

struct call *call_new(const char *place, const char *ids, const unsigned char *statuses, size_t count)
{
	struct call *call = measure_alloc(1, sizeof *call);
	struct rec_error error;

	*call = (struct call){.statuses = statuses, .count = count};
	call->ids = measure_alloc(count, sizeof *call->ids);
	for (size_t i = 0; i < count; i++) {
		call->ids[i] = ids;
		ids += strlen(ids) + 1;
	}
	must(rec_open(place, 0, NULL, &call->reconciler, &error), &error);
	return call;
}

double call_us(struct call *call)
{
	struct rec_batch_state *state;
	struct rec_result_set *set;
	struct rec_result result = {.size = sizeof result};
	struct rec_error error;
	double begin = measure_cpu_us();

	memset(call->actions, 0, sizeof call->actions);
	must(rec_batch_state_new(NULL, &state, &error), &error);
	for (size_t i = 0; i < call->count; i++)
		must(rec_batch_state_set(state, call->ids[i], (enum rec_status)call->statuses[i], &error), &error);
	must(rec_check_tasks(call->reconciler, call->ids, call->count, state, &set, &error), &error);
	for (size_t i = 0; rec_result_set_get(set, i, &result) == 0; i++)
		call->actions[result.action]++;
	rec_result_set_free(set);
	rec_batch_state_free(state);
	return measure_cpu_us() - begin;
}

size_t call_actions(const struct call *call, int action)
{
	return call->actions[action];
}
