/* sim-random.c - worlds by the thousand: `sim-random [-t] FIRST COUNT` runs that many seeds from FIRST on and stops at
 * the first broken rule, which it then tells in full. `-t` tells everything from the start. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	bool trace = argc > 1 && strcmp(argv[1], "-t") == 0;
	char **numbers = argv + 1 + trace;
	int count_given = argc - 1 - trace;
	uint64_t first = count_given > 0 ? strtoull(numbers[0], NULL, 10) : 1;
	uint64_t count = count_given > 1 ? strtoull(numbers[1], NULL, 10) : 1000;
	printf("seeds %" PRIu64 " to %" PRIu64 "\n", first, first + count - 1);
	fflush(stdout);
	for (uint64_t seed = first; seed < first + count; seed++) {
		struct sim_options options = sim_options_from_seed(seed);
		options.trace = trace;
		if (sim_seed(&options))
			continue;
		if (!trace) {
			options.trace = true;
			sim_seed(&options);
		}
		printf("seed %" PRIu64 " breaks a rule (sim-random -t %" PRIu64 " 1)\n", seed, seed);
		return 1;
	}
	printf("%" PRIu64 " worlds, no rule broken\n", count);
	return 0;
}
