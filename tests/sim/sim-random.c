/* sim-random.c - worlds by the thousand: `sim-random [-t] [-H] FIRST COUNT` runs that many seeds from FIRST on and
 * stops at the first broken rule, which it then tells in full. `-t` tells everything from the start; `-H` gives every
 * world several hosts, and more time. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_options options_of(uint64_t seed, bool hosts)
{
	struct sim_options options = sim_options_from_seed(seed);
	if (hosts) {
		options.conductors = 2 + (unsigned)(seed % 2);
		options.hosts = 2 + (unsigned)(seed / 2 % 2);
		options.turns += 200;
	}
	return options;
}

int main(int argc, char **argv)
{
	bool trace = argc > 1 && strcmp(argv[1], "-t") == 0;
	bool hosts = argc > 1 + trace && strcmp(argv[1 + trace], "-H") == 0;
	char **numbers = argv + 1 + trace + hosts;
	int count_given = argc - 1 - trace - hosts;
	uint64_t first = count_given > 0 ? strtoull(numbers[0], NULL, 10) : 1;
	uint64_t count = count_given > 1 ? strtoull(numbers[1], NULL, 10) : 1000;
	printf("seeds %" PRIu64 " to %" PRIu64 "\n", first, first + count - 1);
	fflush(stdout);
	for (uint64_t seed = first; seed < first + count; seed++) {
		struct sim_options options = options_of(seed, hosts);
		options.trace = trace;
		if (sim_seed(&options))
			continue;
		if (!trace) {
			options.trace = true;
			sim_seed(&options);
		}
		printf("seed %" PRIu64 " breaks a rule (sim-random -t%s %" PRIu64 " 1)\n", seed, hosts ? " -H" : "",
		       seed);
		return 1;
	}
	printf("%" PRIu64 " worlds, no rule broken\n", count);
	return 0;
}
