/* stories.h - how a story is told: a small world in which nothing happens by chance, and short ways to say what does.
 */
#ifndef REC_TESTS_SIM_STORIES_H
#define REC_TESTS_SIM_STORIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

#define S(text) rec_slice_of(text)

struct story {
	struct sim w;
	struct sim_paths paths;
};

/* ---- Telling ---- */

static inline struct story *story_open(unsigned slots, unsigned conductors)
{
	struct story *s = calloc(1, sizeof *s);
	assert_non_null(s);
	struct sim_options options = {
		.seed = 1, .slots = slots, .conductors = conductors, .trace = getenv("SIM_TRACE") != NULL};
	options.machine = (struct rec_machine_options){
		.max_parallel = slots,
		.settle_us = 5 * SIM_SECOND,
		.grace_us = 5 * SIM_SECOND,
		.retry_delay_us = 10 * SIM_SECOND,
	};
	assert_int_equal(sim_open_story(&s->w, &options, &s->paths), 0);
	return s;
}

static inline void story_close(struct story *s)
{
	if (s->w.violation[0])
		fail_msg("%s", s->w.violation);
	sim_close(&s->w);
	free(s);
}

static inline unsigned task(struct story *s, enum rec_status status, unsigned depends_on, enum sim_script first,
			    enum sim_script second)
{
	unsigned number = sim_task_add(&s->w, status, depends_on);
	s->w.tasks[number].scripts[0] = (int)first;
	s->w.tasks[number].scripts[1] = (int)second;
	s->w.tasks[number].script_count = 2;
	return number;
}

static inline void rounds(struct story *s, unsigned count)
{
	while (count-- > 0)
		sim_round(&s->w);
}

static inline void until_ended(struct story *s)
{
	for (unsigned i = 0; i < 300 && !sim_all_ended(&s->w); i++)
		sim_round(&s->w);
	assert_true(sim_all_ended(&s->w));
	sim_rules_at_the_end(&s->w);
}

static inline struct sim_process *process_of(struct story *s, unsigned number)
{
	for (unsigned i = 0; i < SIM_PROCESSES_MAX; i++)
		if (s->w.processes[i].alive && s->w.processes[i].task == number)
			return &s->w.processes[i];
	return NULL;
}

static inline bool runs(struct story *s, unsigned number)
{
	return process_of(s, number) != NULL;
}

/* No further in time than it takes. */
static inline void until_it_runs(struct story *s, unsigned number)
{
	for (unsigned i = 0; i < 100 && !runs(s, number); i++) {
		for (unsigned k = 0; k < s->w.options.conductors; k++)
			sim_conductor_turn(&s->w.conductors[k]);
		sim_shims_act(&s->w);
		if (!runs(s, number))
			sim_pass_to_next(&s->w);
	}
	assert_true(runs(s, number));
}

static inline void until_it_is_gone(struct story *s, unsigned number)
{
	for (unsigned i = 0; i < 200 && runs(s, number); i++) {
		sim_conductor_turn(&s->w.conductors[0]);
		if (runs(s, number))
			sim_pass_to_next(&s->w);
	}
	assert_false(runs(s, number));
}

static inline const struct rec_machine *machine(struct story *s)
{
	return rec_driver_machine(s->w.conductors[0].driver);
}

#define assert_status(s, number, status) assert_int_equal(sim_status_of(&(s)->w, number), status)
#define assert_children(s, number, count) assert_int_equal((s)->w.tasks[number].children, count)
#define assert_outcome(s, status) assert_int_equal((s)->w.batches[0].outcome, status)

/* Events of a name about a task (NULL: any). */
struct event_count {
	const char *name, *task, *detail; /* how its detail begins */
	unsigned count;
};

static inline int event_match(void *context, const struct rec_event *event)
{
	struct event_count *c = context;
	size_t length = c->detail ? strlen(c->detail) : 0;
	c->count += rec_slice_equal(event->event, S(c->name)) &&
		    (!c->task || rec_slice_equal(event->task_id, S(c->task))) && event->detail.length >= length &&
		    (!length || memcmp(event->detail.data, c->detail, length) == 0);
	return 0;
}

static inline unsigned events(struct story *s, const char *name, const char *id)
{
	struct event_count c = {name, id, NULL, 0};
	assert_int_equal(rec_store_events(s->w.keeper, 0, 0, event_match, &c, NULL), 0);
	return c.count;
}

static inline unsigned events_with(struct story *s, const char *name, const char *detail)
{
	struct event_count c = {name, NULL, detail, 0};
	assert_int_equal(rec_store_events(s->w.keeper, 0, 0, event_match, &c, NULL), 0);
	return c.count;
}

#endif
