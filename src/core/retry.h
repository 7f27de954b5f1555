/* retry.h - how long to wait before trying again, and the randomness that spreads the tries. Pure. */
#ifndef REC_CORE_RETRY_H
#define REC_CORE_RETRY_H

#include <stdint.h>

#define REC_RETRY_CAP_US (5 * 60 * INT64_C(1000000)) /* no delay grows beyond this */

/* A stream of numbers that follows from its seed alone (splitmix64). */
struct rec_random {
	uint64_t state;
};
uint64_t rec_random_next(struct rec_random *r);
/* 0 to limit - 1, evenly enough for jitter; limit 0 gives 0. */
uint64_t rec_random_below(struct rec_random *r, uint64_t limit);

/* The delay before try number `times` + 1 (times >= 1: how often it failed): base, doubled each time, at most the
 * cap; of that a random share between half and all. base 0: no delay. */
int64_t rec_retry_delay_us(int64_t base_us, uint32_t times, struct rec_random *r);

#endif
