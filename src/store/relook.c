/* relook.c - when to look again after a wake-up. A wake-up can arrive before the commit it announces is
 * visible, so one look is not enough; the pause doubles from 50 us to 50 ms, and the last look lies at or
 * after the end of the 2 s window, so nothing that became visible within it is missed. */
#include "store/store.h"

#define STEP_FIRST_US 50
#define STEP_LARGEST_US 50000
#define WINDOW_US 2000000

/* step_us == 0: nothing is planned, as in a zero-initialised one. */

void rec_relook_woken(struct rec_relook *r, int64_t now_us)
{
	*r = (struct rec_relook){.last_wake_us = now_us, .next_us = now_us, .step_us = STEP_FIRST_US};
}

void rec_relook_committed(struct rec_relook *r, int64_t now_us)
{
	if (r->step_us && !r->own)
		return; /* somebody else is looked out for already */
	rec_relook_woken(r, now_us);
	r->own = true;
	rec_relook_looked(r, now_us); /* whoever commits looks afterwards anyway */
}

void rec_relook_looked(struct rec_relook *r, int64_t now_us)
{
	if (r->step_us == 0)
		return;
	if (now_us - r->last_wake_us >= WINDOW_US) {
		r->step_us = 0;
		return;
	}
	r->next_us = now_us + r->step_us;
	int64_t largest_us = r->own ? WINDOW_US : STEP_LARGEST_US;
	r->step_us = r->step_us < largest_us / 2 ? r->step_us * 2 : largest_us;
}

int64_t rec_relook_wait_us(const struct rec_relook *r, int64_t now_us)
{
	if (r->step_us == 0)
		return -1;
	return r->next_us > now_us ? r->next_us - now_us : 0;
}
