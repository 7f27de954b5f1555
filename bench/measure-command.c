/* measure-command.c - the whole command from start to exit, in pairs with the scan written by hand, processor
 * time; start-up.
 *
 * usage: measure-command RECONCILER FOLDER PAIRS     FOLDER as make-store left it
 * Prints lines "NAME TAB VALUE". The command reads the batch state, checks, and prints NDJSON to /dev/null.
 */
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "reference.h"

struct world {
	struct reference reference;
	char **check;
	double *wall_us; /* of each run */
	size_t runs;
	long rss_kib;
};

static double run_command(void *context)
{
	struct world *w = context;

	struct measure_command run = measure_command(w->check);

	w->rss_kib = run.rss_kib;
	w->wall_us[w->runs++] = run.wall_us;
	return run.cpu_us;
}

static double run_reference(void *context)
{
	struct world *w = context;

	return reference_check(&w->reference, false);
}

static void measure_start(char *program, size_t runs)
{
	char option[] = "--version";
	char *arguments[] = {program, option, NULL};
	double *cpu = measure_alloc(runs, sizeof *cpu), *wall = measure_alloc(runs, sizeof *wall);

	for (size_t i = 0; i < runs; i++) {
		struct measure_command run = measure_command(arguments);
		cpu[i] = run.cpu_us;
		wall[i] = run.wall_us;
	}
	printf("start_us\t%.0f\nstart_wall_us\t%.0f\n", measure_quantile(cpu, runs, 0.5),
	       measure_quantile(wall, runs, 0.5));
	free(cpu);
	free(wall);
}

int main(int count, char **arguments)
{
	char store[4096], batch[4096], table[4096];
	char store_option[] = "-S", format[] = "--format=ndjson", check[] = "check", state[] = "--batch-state";

	if (count != 4)
		measure_die("usage", "measure-command RECONCILER FOLDER PAIRS");
	size_t pairs = (size_t)measure_number(arguments[3]);
	snprintf(store, sizeof store, "%s/state.db", arguments[2]);
	snprintf(batch, sizeof batch, "%s/batch.json", arguments[2]);
	snprintf(table, sizeof table, "%s/batch.tsv", arguments[2]);
	char *command[] = {arguments[1], store_option, store, format, check, state, batch, NULL};
	struct world w = {.check = command, .wall_us = measure_alloc(pairs + 1, sizeof(double))};
	reference_open(&w.reference, store, table);
	struct measure_pairs p;
	measure_pairs_init(&p, pairs);
	measure_pairs_run(&p, run_command, run_reference, &w);
	struct measure_result result = measure_pairs_result(&p);
	printf("command_ratio\t%.4f\ncommand_us\t%.0f\ncommand_reference_us\t%.1f\ncommand_rss_kib\t%ld\n",
	       result.ratio, result.a_us, result.b_us, w.rss_kib);
	measure_pairs_release(&p);
	reference_close(&w.reference);
	measure_start(arguments[1], 50);
	return 0;
}
