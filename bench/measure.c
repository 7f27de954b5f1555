/* measure.c - time, medians and child processes for the benchmarks.
 *
 * Two programs are compared by pairs of runs, A B, B A, A B ...: what slows the machine down for a second slows both
 * of a pair down, and the median of the ratios forgets the pairs that were torn apart.
 */
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double measure_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

double measure_cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

void measure_die(const char *what, const char *why)
{
	(void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(2);
}

void *measure_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		measure_die("memory", "exhausted");
	return memory;
}

int measure_number(const char *text)
{
	char *end;
	errno = 0;
	long number = strtol(text, &end, 10);

	if (errno || end == text || *end || number < 1 || number > INT_MAX)
		measure_die(text, "is not a positive number");
	return (int)number;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double measure_quantile(double *values, size_t count, double part)
{
	qsort(values, count, sizeof *values, compare_doubles);
	size_t at = (size_t)((double)count * part);
	return values[at < count ? at : count - 1];
}

void measure_pairs_init(struct measure_pairs *p, size_t count)
{
	*p = (struct measure_pairs){.count = count};
	p->a_us = measure_alloc(count, sizeof *p->a_us);
	p->b_us = measure_alloc(count, sizeof *p->b_us);
	p->ratio = measure_alloc(count, sizeof *p->ratio);
}

void measure_pairs_release(struct measure_pairs *p)
{
	free(p->a_us);
	free(p->b_us);
	free(p->ratio);
}

void measure_pairs_run(struct measure_pairs *p, double (*a)(void *), double (*b)(void *), void *context)
{
	(void)a(context); /* warms caches, not counted */
	(void)b(context);
	for (size_t i = 0; i < p->count; i++) {
		if (i & 1)
			p->b_us[i] = b(context);
		p->a_us[i] = a(context);
		if (!(i & 1))
			p->b_us[i] = b(context);
		p->ratio[i] = p->a_us[i] / p->b_us[i];
	}
}

struct measure_result measure_pairs_result(struct measure_pairs *p)
{
	return (struct measure_result){
		.ratio = measure_quantile(p->ratio, p->count, 0.5),
		.a_us = measure_quantile(p->a_us, p->count, 0.5),
		.b_us = measure_quantile(p->b_us, p->count, 0.5),
	};
}

static double timeval_us(struct timeval t)
{
	return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

struct measure_command measure_command(char *const arguments[])
{
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	pid_t pid;
	double begin = measure_now_us();
	int failed = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);

	posix_spawn_file_actions_destroy(&actions);
	if (failed)
		measure_die(arguments[0], strerror(failed));
	int status;
	struct rusage usage;
	if (wait4(pid, &status, 0, &usage) < 0)
		measure_die("wait4", strerror(errno));
	double end = measure_now_us();
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		measure_die(arguments[0], "failed");
	return (struct measure_command){.wall_us = end - begin,
					.cpu_us = timeval_us(usage.ru_utime) + timeval_us(usage.ru_stime),
					.rss_kib = usage.ru_maxrss};
}
