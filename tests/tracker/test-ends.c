/* Trackers with real helpers: who ends when, and who has to. Arguments: fake-helper, reconciler-leash. */
#include "driving.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The other end of a FIFO that a stubborn helper holds open while it lives. */
static int life_open(const char *place)
{
	assert_int_equal(mkfifo(place, 0600), 0);
	int fd = open(place, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void assert_dies(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	char byte;
	assert_int_equal(poll(&wait, 1, 20000), 1);
	assert_int_equal(read(fd, &byte, 1), 0);
	close(fd);
}

static void test_ends__who_ignores_the_end_is_ended_with_its_children(void **state)
{
	char place[64];
	struct driving *d = *state;
	int fd = life_open(driving_place(place, sizeof place, "family"));
	driving_open(d, "stubborn-family", place, NULL);
	assert_int_equal(driving_ask(d, 1, 1, false), 0);
	assert_true(driving_run(d, -1));
	driving_assert_open(d, 1);
	driving_close(d);
	assert_dies(fd);
}

static void assert_ends_with_us(struct driving *d, const char *mode)
{
	char place[64];
	int status, fd = life_open(driving_place(place, sizeof place, mode));
	pid_t pid = fork();
	if (pid == 0) {
		driving_open(d, mode, place, NULL);
		driving_ask(d, 1, 1, false);
		driving_run(d, -1);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_dies(fd);
}

static void test_ends__a_helper_ends_with_the_process_that_asked(void **state)
{
	assert_ends_with_us(*state, "stubborn");
}

static void test_ends__what_a_helper_started_ends_with_the_process_that_asked(void **state)
{
	assert_ends_with_us(*state, "stubborn-runaway");
}

static void test_ends__what_a_helper_started_ends_with_it(void **state)
{
	static const char *const modes[] = {"runaway", "stubborn-runaway"};
	for (int i = 0; i < 2; i++) {
		char place[64];
		struct driving *d = *state;
		int fd = life_open(driving_place(place, sizeof place, i ? "closed-stubborn" : "closed"));
		driving_open(d, modes[i], place, NULL);
		assert_int_equal(driving_ask(d, 1, 1, false), 0);
		assert_true(driving_run(d, -1));
		driving_assert_open(d, 1);
		driving_close(d);
		assert_dies(fd);
	}
}

static void test_ends__a_helper_is_known_as_ours(void **state)
{
	struct driving *d = driving_of(state, "good");
	assert_false(rec_trackers_own(d->t, getpid()));
	assert_int_equal(driving_ask(d, 1, 1, false), 0);
	assert_true(driving_run(d, -1));
	bool found = false;
	char list[256] = "", path[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	FILE *children = fopen(path, "re");
	assert_non_null(children);
	(void)!fread(list, 1, sizeof list - 1, children);
	(void)fclose(children);
	for (char *at = list, *end; !found; at = end) {
		long pid = strtol(at, &end, 10);
		if (end == at)
			break;
		found = rec_trackers_own(d->t, (int)pid);
	}
	assert_true(found);
}

/* A conductor reaps every child that it does not know; ours may be among them. */
static void test_ends__a_helper_that_somebody_else_reaped_is_no_riddle(void **state)
{
	struct driving *d = driving_of(state, "one-shot");
	assert_int_equal(driving_ask(d, 1, 3, false), 0);
	assert_true(driving_run(d, -1));
	assert_true(waitpid(-1, NULL, 0) > 0);
	assert_int_equal(driving_ask(d, 1, 3, false), 0);
	assert_true(driving_run(d, -1));
	driving_assert_open(d, 3);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_ends__who_ignores_the_end_is_ended_with_its_children, driving_teardown),
		cmocka_unit_test_teardown(test_ends__a_helper_ends_with_the_process_that_asked, driving_teardown),
		cmocka_unit_test_teardown(test_ends__what_a_helper_started_ends_with_the_process_that_asked,
					  driving_teardown),
		cmocka_unit_test_teardown(test_ends__what_a_helper_started_ends_with_it, driving_teardown),
		cmocka_unit_test_teardown(test_ends__a_helper_is_known_as_ours, driving_teardown),
		cmocka_unit_test_teardown(test_ends__a_helper_that_somebody_else_reaped_is_no_riddle, driving_teardown),
	};
	return driving_main(count, arguments, tests, sizeof tests / sizeof *tests);
}
