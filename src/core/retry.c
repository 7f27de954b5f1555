/* retry.c - doubling is done by comparison with the cap, so it cannot overflow. */
#include "core/retry.h"

uint64_t rec_random_next(struct rec_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t rec_random_below(struct rec_random *r, uint64_t limit)
{
	return limit ? rec_random_next(r) % limit : 0;
}

int64_t rec_retry_delay_us(int64_t base_us, uint32_t times, struct rec_random *r)
{
	if (base_us <= 0)
		return 0;
	int64_t delay = base_us < REC_RETRY_CAP_US ? base_us : REC_RETRY_CAP_US;
	for (uint32_t i = 1; i < times && delay < REC_RETRY_CAP_US; i++)
		delay = delay > REC_RETRY_CAP_US / 2 ? REC_RETRY_CAP_US : delay * 2;
	int64_t half = delay / 2;
	return half + (int64_t)rec_random_below(r, (uint64_t)(delay - half) + 1);
}
