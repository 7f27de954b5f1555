/* test-stories-hosts.c - several hosts on one store: one falls silent, another takes over what it ran, and never do
 * both run it. The rules watch over that; here is told what it takes. */
#include "stories.h"

static struct story *hosts_open(void)
{
	struct story *s = story_open(1, 2);
	s->w.options.hosts = 2;
	return s;
}

/* The task hangs on the first host; on the second it will be done. Both batches have it. */
static unsigned task_on_first_host(struct story *s)
{
	unsigned t = task(s, REC_READY, 0, SIM_HANG, SIM_SUCCEED);
	sim_batch_start(&s->w, 0, 0);
	until_it_runs(s, t);
	sim_host_sleep(&s->w, 0); /* so that the next conductor begins elsewhere */
	sim_batch_start(&s->w, 1, 0);
	sim_host_wake(&s->w, 0);
	assert_int_equal(s->w.conductors[0].host, 0);
	assert_int_equal(s->w.conductors[1].host, 1);
	return t;
}

static int64_t until_taken_over(struct story *s, unsigned number)
{
	int64_t since_us = s->w.clock.now_monotonic_us;
	for (unsigned i = 0; i < 500 && s->w.tasks[number].children < 2 && !s->w.violation[0]; i++)
		sim_round(&s->w);
	assert_children(s, number, 2);
	return s->w.clock.now_monotonic_us - since_us;
}

static void is_cut_off(struct story *s)
{
	s->w.hosts[0].cut = true;
}

static void is_killed(struct story *s)
{
	sim_conductor_die(&s->w.conductors[0]);
	sim_conductors_bury(&s->w);
}

static void sleeps(struct story *s)
{
	sim_host_sleep(&s->w, 0);
}

static void check_taken_over(void (*falls_silent)(struct story *s))
{
	struct story *s = hosts_open();
	unsigned t = task_on_first_host(s);
	falls_silent(s);
	int64_t took_us = until_taken_over(s, t);
	assert_true(took_us >= SIM_LEASE_US / 2 && took_us <= 2 * SIM_LEASE_US);
	sim_hosts_settle(&s->w);
	if (falls_silent == is_killed)
		s->w.batches[0].has_ended = true;
	until_ended(s);
	assert_status(s, t, REC_DONE);
	assert_children(s, t, 2);
	story_close(s);
}

static void test_lease__a_host_cut_off_from_the_store_ends_its_child_before_another_runs_the_task(void **state)
{
	(void)state;
	check_taken_over(is_cut_off);
}

static void test_lease__the_child_of_a_killed_conductor_ends_before_another_host_runs_the_task(void **state)
{
	(void)state;
	check_taken_over(is_killed);
}

static void test_lease__a_host_that_wakes_too_late_ends_what_another_has_taken_over(void **state)
{
	(void)state;
	check_taken_over(sleeps);
}

static void test_lease__a_host_that_slept_for_less_than_its_lease_goes_on(void **state)
{
	(void)state;
	struct story *s = hosts_open();
	unsigned t = task_on_first_host(s);
	sim_host_sleep(&s->w, 0);
	sim_pass(&s->w, SIM_LEASE_US / 4);
	sim_host_wake(&s->w, 0);
	rounds(s, 20);
	assert_true(runs(s, t));
	assert_children(s, t, 1);
	sim_status_set(&s->w, t, REC_DONE, "person");
	until_ended(s);
	story_close(s);
}

static void test_lease__the_wall_clock_of_a_host_set_forward_takes_over_nothing(void **state)
{
	(void)state;
	struct story *s = hosts_open();
	unsigned t = task_on_first_host(s);
	s->w.hosts[1].wall_us = 3600 * SIM_SECOND;
	rounds(s, 40);
	assert_true(runs(s, t));
	assert_children(s, t, 1);
	sim_status_set(&s->w, t, REC_DONE, "person");
	until_ended(s);
	story_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lease__a_host_cut_off_from_the_store_ends_its_child_before_another_runs_the_task),
		cmocka_unit_test(test_lease__the_child_of_a_killed_conductor_ends_before_another_host_runs_the_task),
		cmocka_unit_test(test_lease__a_host_that_wakes_too_late_ends_what_another_has_taken_over),
		cmocka_unit_test(test_lease__a_host_that_slept_for_less_than_its_lease_goes_on),
		cmocka_unit_test(test_lease__the_wall_clock_of_a_host_set_forward_takes_over_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
