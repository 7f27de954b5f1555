/* measure.h - time, medians and child processes for the benchmarks. Programs here end on the first error. */
#ifndef REC_BENCH_MEASURE_H
#define REC_BENCH_MEASURE_H

#include <stddef.h>

double measure_now_us(void); /* the wall's, where something is waited for */
/* What this process has used, user and system: nothing that is compared here waits for anything but the processor,
 * and other programs on the machine do not count. */
double measure_cpu_us(void);
/* Prints "PROGRAM: WHAT: WHY" to standard error and exits 2. */
void measure_die(const char *what, const char *why) __attribute__((noreturn));
/* Memory that is there, or the end of the program. */
void *measure_alloc(size_t count, size_t size);
/* A decimal number from 1 to 2^31-1, or the end of the program. */
int measure_number(const char *text);

/* Sorts values. part is 0.5 for the median. */
double measure_quantile(double *values, size_t count, double part);

/* A pair of runs, A and B, one right after the other; a list of them resists drift of the machine. */
struct measure_pairs {
	double *a_us, *b_us, *ratio; /* [count] */
	size_t count;
};
void measure_pairs_init(struct measure_pairs *p, size_t count);
void measure_pairs_release(struct measure_pairs *p);
/* Runs A and B `count` times, changing which is first; each returns how many microseconds count. */
void measure_pairs_run(struct measure_pairs *p, double (*a)(void *), double (*b)(void *), void *context);
struct measure_result {
	double ratio, a_us, b_us; /* medians; the ratio is the median of the pairs' ratios */
};
struct measure_result measure_pairs_result(struct measure_pairs *p);

struct measure_command {
	double wall_us, cpu_us; /* from the start to the end; what it used */
	long rss_kib;           /* its largest resident set */
};
/* Runs a program with standard output sent to /dev/null. Any end but one of the exit statuses 0 and 1 ends this
 * program. */
struct measure_command measure_command(char *const arguments[]);

#endif
