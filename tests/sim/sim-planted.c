/* sim-planted.c - shows that the simulator bites: safeguards are switched off one at a time, and each must be missed
 * within the stated number of worlds. The first broken rule must be the one that the safeguard is for. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct planted {
	const char *name;
	unsigned fault;       /* enum rec_planted, or SIM_PLANTED_FORGETS */
	const char *rules[3]; /* part of what is said, one of these */
	unsigned seeds_max;   /* caught within so many */
} planted[] = {
	{"compare-and-set", REC_PLANTED_CAS, {"outside status"}, 500},
	{"claims outlive their conductors",
	 REC_PLANTED_CLAIM_DIES,
	 {"ends while its process lives", "two living children", "given back as never started"},
	 500},
	{"stale verdicts are dropped", REC_PLANTED_STALE, {"stopped without any reason"}, 2000},
	{"late exits are the child's own", REC_PLANTED_LATE_EXIT, {"counts as completed outside"}, 500},
	{"STARTING is recorded before the claim",
	 REC_PLANTED_NO_STARTING,
	 {"starts without a claim", "two living children", "ends while its process lives"},
	 500},
	{"claims are taken before they are adopted", REC_PLANTED_NOT_TAKEN, {"but the store says"}, 500},
	{"nothing runs beyond its lease",
	 REC_PLANTED_NO_DEADLINE,
	 {"two living children", "ends while its process lives"},
	 500},
	{"a lease is waited for",
	 REC_PLANTED_TAKEN_EARLY,
	 {"two living children", "ends while its process lives"},
	 500},
	{"a number given again is not forgotten",
	 SIM_PLANTED_TOMBSTONE,
	 {"ends while its process lives", "two living children"},
	 500},
	{"a number given back is nowhere ahead",
	 SIM_PLANTED_LEFT_AHEAD,
	 {"ends while its process lives", "two living children", "given back as never started"},
	 2000},
	{"claims look again", REC_PLANTED_NO_RECHECK, {"is claimed"}, 500},
	{"what is known of a link is remembered",
	 SIM_PLANTED_FORGETS,
	 {"an older observation acts", "acts again", "becomes older"},
	 500},
};

/* Which world catches it; 0: none. */
static uint64_t caught_at(const struct planted *p, char violation[400])
{
	struct sim *w = calloc(1, sizeof *w);
	uint64_t caught = 0;
	for (uint64_t seed = 1; w && !caught && seed <= p->seeds_max; seed++) {
		struct sim_options options = sim_options_from_seed(seed);
		options.planted = p->fault;
		if (sim_open(w, &options) == 0 && !sim_run(w))
			caught = seed;
		snprintf(violation, 400, "%s", w->violation);
		sim_close(w);
	}
	free(w);
	return caught;
}

static bool is_named(const struct planted *p, const char *violation)
{
	for (size_t i = 0; i < 3 && p->rules[i]; i++)
		if (strstr(violation, p->rules[i]))
			return true;
	return false;
}

int main(void)
{
	int missed = 0;
	for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
		char violation[400] = "";
		uint64_t seed = caught_at(&planted[i], violation);
		bool right = seed && is_named(&planted[i], violation);
		missed += !right;
		printf("%-40s off: %s %" PRIu64 " (at most %u): %s\n", planted[i].name,
		       right ? "caught by world" : "MISSED,", seed, planted[i].seeds_max, violation);
	}
	return missed != 0;
}
