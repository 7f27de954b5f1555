/* measure-check.c - a whole check against the scan written by hand, in pairs; memory; a few ids; parsing.
 *
 * usage: measure-check FOLDER PAIRS     FOLDER as make-store left it
 * Prints lines "NAME TAB VALUE".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "reference.h"
#include "subject.h"

struct world {
	struct subject subject;
	struct reference reference;
	bool with_belief;
};

static double run_check(void *context)
{
	struct world *w = context;
	struct rec_results results;
	struct rec_error error;
	double begin = measure_cpu_us();

	int r = rec_check(w->subject.store, REC_CHECK_MERGED, NULL, 0, w->with_belief ? &w->subject.belief : NULL,
			  &results, &error);
	double end = measure_cpu_us();
	subject_must(r, &error);
	rec_results_release(&results);
	return end - begin;
}

static double run_reference(void *context)
{
	struct world *w = context;

	return reference_check(&w->reference, false);
}

static double run_reference_all(void *context)
{
	struct world *w = context;

	return reference_check(&w->reference, true);
}

/* Both must have seen the same world, or the comparison is worth nothing. */
static void compare_answers(struct world *w)
{
	struct rec_results results;
	struct rec_error error;
	size_t finished = 0, released = 0, finished_expected, released_expected;

	(void)run_reference(w);
	reference_counts(&w->reference, &finished_expected, &released_expected);
	subject_must(rec_check(w->subject.store, REC_CHECK_MERGED, NULL, 0, &w->subject.belief, &results, &error),
		     &error);
	for (size_t i = 0; i < results.snapshot.count; i++) {
		const struct rec_fact *fact = &results.snapshot.facts[i];
		finished += fact->status == REC_DONE && results.verdicts[i].action == REC_SKIP;
		released += fact->status == REC_BLOCKED && fact->blockers_total > 0 && fact->blockers_open == 0;
	}
	rec_results_release(&results);
	if (finished != finished_expected || released != released_expected)
		measure_die("answers", "the check and the reference disagree");
}

static void print_pairs(struct world *w, const char *name, size_t pairs, double (*b)(void *))
{
	struct measure_pairs p;

	measure_pairs_init(&p, pairs);
	measure_pairs_run(&p, run_check, b, w);
	struct measure_result result = measure_pairs_result(&p);
	printf("%s_ratio\t%.4f\n%s_us\t%.1f\n%s_reference_us\t%.1f\n", name, result.ratio, name, result.a_us, name,
	       result.b_us);
	measure_pairs_release(&p);
}

static void measure_parse(const char *batch, size_t runs)
{
	double *speeds = measure_alloc(runs, sizeof *speeds);

	for (size_t i = 0; i < runs; i++) {
		struct rec_belief belief;
		size_t bytes;
		rec_belief_init(&belief, NULL, i);
		double us = subject_parse(&belief, batch, &bytes);
		speeds[i] = (double)bytes / us; /* bytes per microsecond = MB/s */
		rec_belief_release(&belief);
	}
	printf("parse_mb_per_s\t%.0f\n", measure_quantile(speeds, runs, 0.5));
	free(speeds);
}

/* What belief and check take at their most, less the bytes of the ids themselves. */
static void measure_memory(const char *store, const char *batch)
{
	struct world w = {.with_belief = true};
	size_t id_bytes = 0;

	subject_open(&w.subject, store, batch, REC_STORE_READ, true);
	size_t count = w.subject.belief.count;
	for (size_t i = 0; i < count; i++)
		id_bytes += w.subject.belief.ids[i].length;
	size_t held = w.subject.memory.in_use;
	(void)run_check(&w);
	printf("bytes_per_task\t%.1f\n", (double)(w.subject.memory.most - id_bytes) / (double)count);
	printf("belief_bytes_per_task\t%.1f\n", (double)(held - id_bytes) / (double)count);
	subject_close(&w.subject);
}

int main(int count, char **arguments)
{
	char store[4096], batch[4096], table[4096];
	struct world w = {.with_belief = true};

	if (count != 3)
		measure_die("usage", "measure-check FOLDER PAIRS");
	size_t pairs = (size_t)measure_number(arguments[2]);
	snprintf(store, sizeof store, "%s/state.db", arguments[1]);
	snprintf(batch, sizeof batch, "%s/batch.json", arguments[1]);
	snprintf(table, sizeof table, "%s/batch.tsv", arguments[1]);
	reference_open(&w.reference, store, table);
	(void)run_reference(&w); /* from here on the database has its side files: both read it the same way */
	subject_open(&w.subject, store, batch, REC_STORE_READ, false);
	compare_answers(&w);
	print_pairs(&w, "check", pairs, run_reference);
	print_pairs(&w, "check_all", pairs, run_reference_all);
	w.with_belief = false;
	print_pairs(&w, "store_alone", pairs, run_reference);
	w.with_belief = true;
	printf("few_us\t%.1f\n", subject_few_us(&w.subject, false, pairs * 10));
	printf("few_blocked_us\t%.1f\n", subject_few_us(&w.subject, true, pairs * 10));
	subject_close(&w.subject);
	reference_close(&w.reference);
	measure_parse(batch, pairs);
	measure_memory(store, batch);
	return 0;
}
