/* driver-lease.c - on a store that hosts share: telling the others that we are alive, and stopping in time when we
 * cannot.
 *
 * Others take over our claims REC_LEASE_GRACE_US after the lease ran out by the store's clock. By then nothing of ours
 * may run, also if the store cannot be reached any more, so the end is known here: the time before the last renewal
 * that succeeded, plus the lease, less what stopping takes, less a margin. No call of the store waits for longer than
 * that, and none beyond the next signal once something is being stopped. The clock goes on while the machine sleeps. At
 * the end the batch is stopped by force, without asking the store first; what becomes of its claims is settled when the
 * store answers again, by their ids.
 *
 * The slots are given a margin of their own to do it by themselves in, should we be late: it must be over before others
 * begin, and ours must be over before it. */
#include "conductor/driver-private.h"

#define LEASE_US (10 * 60 * INT64_C(1000000))
#define RENEW_EVERY_US (30 * INT64_C(1000000))
#define MARGIN_US (5 * INT64_C(1000000)) /* of the slots */
#define MARGIN_SHARE 16                  /* more of our own: this part of the lease, but no more than the slots have */

static int64_t lease_of(const struct rec_driver *d)
{
	return d->options.lease_us > 0 ? d->options.lease_us : LEASE_US;
}

static bool has_leases(const struct rec_driver *d)
{
	return d->options.host.data != NULL;
}

bool rec_driver_is_here(const struct rec_driver *d, struct rec_slice owner)
{
	struct rec_slice host = d->options.host;
	return !has_leases(d) || (owner.data && owner.length >= host.length &&
				  memcmp(owner.data + owner.length - host.length, host.data, host.length) == 0);
}

bool rec_driver_is_over(int64_t lease_left_us)
{
	return lease_left_us < -REC_LEASE_GRACE_US;
}

static int64_t boot_us(const struct rec_driver *d)
{
	return rec_clock_boot_us(d->clock);
}

/* When to begin to stop, if the renewal was asked for at that time. */
static int64_t end_of(const struct rec_driver *d, int64_t asked_us)
{
	int64_t lease = lease_of(d), more = lease / MARGIN_SHARE;
	return asked_us + lease - d->options.machine.grace_us - MARGIN_US - (more < MARGIN_US ? more : MARGIN_US);
}

/* The slots stop what runs by themselves, should we not be there to do it: dead, paused, or waiting for an answer. Our
 * own stop comes first. */
static void slots_tell(const struct rec_driver *d, int64_t asked_us)
{
	const struct rec_slots *slots = &d->options.slots;
	int64_t kill_us = asked_us + lease_of(d) - MARGIN_US;
	if (slots->ops->deadline)
		slots->ops->deadline(slots->self, kill_us - d->options.machine.grace_us, kill_us);
}

static void lose(struct rec_driver *d)
{
	struct rec_error why = {0};
	d->lease_lost = true;
	(void)rec_fail(&why, REC_E_IO,
		       "could not be renewed in time: what runs is stopped before others may take it over "
		       "(`reconciler resume` goes on with the batch)");
	rec_driver_note_error(d, "lease", &why);
	rec_driver_force(d);
}

static int renew(struct rec_driver *d, struct rec_error *error)
{
	struct rec_error problem = {0};
	int64_t asked_us = boot_us(d), every_us = lease_of(d) / 20;
	int r = rec_store_renew(d->store, d->options.owner, lease_of(d), &problem);
	if (r == 0) {
		d->lease_held = true;
		d->lease_end_us = end_of(d, asked_us);
		slots_tell(d, asked_us);
		d->renew_pause_us = 0;
		rec_driver_store_answered(d);
		d->renew_due_us =
			rec_driver_now(d).monotonic_us + (every_us < RENEW_EVERY_US ? every_us : RENEW_EVERY_US);
		return 0;
	}
	if (!rec_driver_may_pass(r)) {
		*error = problem;
		return r;
	}
	rec_driver_note_error(d, "lease", &problem);
	d->renew_due_us = rec_driver_pause(d, &d->renew_pause_us);
	return d->lease_held ? 0 : REC_END;
}

void rec_driver_patience_set(struct rec_driver *d)
{
	int64_t left_us = NEVER;
	if (has_leases(d) && d->lease_held && !d->lease_lost)
		left_us = d->lease_end_us - boot_us(d);
	if (d->stopping && d->stop_due_us != NEVER) {
		int64_t due_us = d->stop_due_us - rec_driver_now(d).monotonic_us;
		left_us = due_us < left_us ? due_us : left_us;
	}
	rec_store_patience(d->store, left_us);
}

void rec_driver_lease_check(struct rec_driver *d)
{
	bool kept = !rec_planted(d->options.machine.planted, REC_PLANTED_NO_DEADLINE);
	if (has_leases(d) && d->lease_held && !d->lease_lost && boot_us(d) >= d->lease_end_us && kept)
		lose(d);
}

int rec_driver_lease_step(struct rec_driver *d, struct rec_error *error)
{
	rec_driver_lease_check(d);
	if (!has_leases(d) || d->lease_lost)
		return 0;
	if (rec_driver_now(d).monotonic_us >= d->renew_due_us)
		return renew(d, error);
	return d->lease_held ? 0 : REC_END;
}

int64_t rec_driver_lease_due(const struct rec_driver *d)
{
	if (!has_leases(d) || d->lease_lost)
		return NEVER;
	int64_t end_us = d->lease_held ? rec_driver_now(d).monotonic_us + d->lease_end_us - boot_us(d) : NEVER;
	return end_us < d->renew_due_us ? end_us : d->renew_due_us;
}
