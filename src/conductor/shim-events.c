/* shim-events.c - what shims say, and what is known when they can say nothing any more.
 *
 * A shim's last word about a claim is a message; if its socket ends first, its record is the last word; if
 * that says only RUNNING, the attempt is lost, and everything that the dead shim left to us, or that carries its
 * claim, is ended before that is said. A socket may end a moment before the kernel drops the dying shim's lock: only
 * the lock is believed. */
#include <errno.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "conductor/hunt.h"
#include "conductor/slot.h"

#define HANG_UP_US 2000000 /* a shim that hung up but holds its lock for so long is asked again */

struct slot_claim *rec_slot_claim(struct slot *slot, int64_t claim_id)
{
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++)
		if (slot->claims[i].state != SLOT_CLAIM_NONE && slot->claims[i].claim_id == claim_id)
			return &slot->claims[i];
	return NULL;
}

struct slot_claim *rec_slot_claim_add(struct slot *slot, int64_t claim_id, enum slot_claim_state state)
{
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++)
		if (slot->claims[i].state == SLOT_CLAIM_NONE) {
			slot->claims[i].claim_id = claim_id;
			slot->claims[i].state = state;
			slot->claims[i].order = (struct rec_shim_message){0};
			return &slot->claims[i];
		}
	return NULL;
}

void rec_slot_claim_remove(struct slot_claim *claim)
{
	claim->claim_id = 0;
	claim->state = SLOT_CLAIM_NONE;
}

/* ---- Telling ---- */

static int event_push(struct rec_shim_slots *s, struct rec_slot_event event)
{
	size_t end = s->event_first + s->event_count;
	int r = rec_grow(s->allocator, (void **)&s->events, &s->event_capacity, end + 1, sizeof *s->events);
	if (r == 0) {
		s->events[end] = event;
		s->event_count++;
	}
	return r;
}

int rec_slot_tell(struct rec_shim_slots *s, const struct slot *slot, int64_t claim_id, enum rec_slot_event_kind kind)
{
	return event_push(
		s, (struct rec_slot_event){.kind = kind, .slot = slot->number, .claim_id = claim_id, .took_us = -1});
}

static int tell_ended(struct rec_shim_slots *s, const struct slot *slot, const struct rec_record *end)
{
	bool by_signal = WIFSIGNALED(end->wait_status);
	return event_push(s, (struct rec_slot_event){.kind = REC_SLOT_ENDED,
						     .slot = slot->number,
						     .claim_id = end->claim_id,
						     .by_signal = by_signal && !end->spawn_errno,
						     .not_executed = end->spawn_errno != 0,
						     .code = end->spawn_errno ? end->spawn_errno
							     : by_signal      ? WTERMSIG(end->wait_status)
									      : WEXITSTATUS(end->wait_status),
						     .signalled = end->signalled != 0,
						     .survivors = end->survivors,
						     .took_us = end->ended_us >= end->started_us
									? end->ended_us - end->started_us
									: -1});
}

int rec_slot_claim_settle(struct rec_shim_slots *s, struct slot *slot, struct slot_claim *claim)
{
	struct rec_record record;
	int r = 0;
	if (rec_record_find(slot->map, REC_LANE_ENDED, claim->claim_id, &record)) {
		claim->state = SLOT_CLAIM_TOLD;
		r = record.phase == REC_RECORD_VOID ? rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_VOID)
						    : tell_ended(s, slot, &record);
	} else if (rec_record_find(slot->map, REC_LANE_RUNNING, claim->claim_id, &record)) {
		claim->state = SLOT_CLAIM_HUNTED;
		s->unsettled++;
	} else { /* RUNNING is written before the child exists, so there never was one */
		claim->state = SLOT_CLAIM_TOLD;
		r = rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_VOID);
	}
	return r;
}

/* ---- Hearing ---- */

static int hear(struct rec_shim_slots *s, struct slot *slot, const struct rec_shim_message *message)
{
	struct slot_claim *claim = rec_slot_claim(slot, message->claim_id);
	if (message->version != REC_SHIM_VERSION || !claim || claim->state == SLOT_CLAIM_TOLD)
		return 0;
	struct rec_record end = {.claim_id = message->claim_id,
				 .wait_status = message->number,
				 .spawn_errno = message->spawn_errno,
				 .survivors = message->survivors,
				 .signalled = message->signalled,
				 .started_us = message->started_us,
				 .ended_us = message->ended_us};
	switch (message->type) {
	case REC_SHIM_RUNNING:
		claim->state = SLOT_CLAIM_RUNNING;
		return rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_RUNNING);
	case REC_SHIM_ENDED:
		claim->state = SLOT_CLAIM_TOLD;
		return tell_ended(s, slot, &end);
	case REC_SHIM_VOID:
		claim->state = SLOT_CLAIM_TOLD;
		return rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_VOID);
	case REC_SHIM_LIFE:
		return event_push(s, (struct rec_slot_event){.kind = REC_SLOT_LIFE,
							     .slot = slot->number,
							     .claim_id = claim->claim_id,
							     .signs = message->output_bytes + message->cpu_us +
								      (uint64_t)message->heartbeat_us});
	default:
		return 0;
	}
}

static void hang_up(struct rec_shim_slots *s, struct slot *slot)
{
	rec_slot_disconnect(s, slot);
	slot->hung_up_us = rec_clock_real.monotonic_us(NULL);
	s->unsettled++;
}

static int slot_read(struct rec_shim_slots *s, struct slot *slot)
{
	int r = 0;
	while (r == 0 && slot->socket >= 0) {
		struct rec_shim_message message;
		ssize_t n = recv(slot->socket, &message, sizeof message, MSG_DONTWAIT);
		if (n == (ssize_t)sizeof message)
			r = hear(s, slot, &message);
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (n == 0 || (n < 0 && errno != EINTR))
			hang_up(s, slot);
	}
	return r;
}

/* ---- Settling ---- */

static int slot_settle(struct rec_shim_slots *s, struct slot *slot)
{
	int r = 0;
	slot->hung_up_us = 0;
	slot->shim_pid = 0;
	s->unsettled--;
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX && r == 0; i++)
		if (slot->claims[i].state == SLOT_CLAIM_SENT || slot->claims[i].state == SLOT_CLAIM_RUNNING)
			r = rec_slot_claim_settle(s, slot, &slot->claims[i]);
	return r;
}

/* The socket ended. Once the lock fell, the record has the last word. A shim that holds on to it has given us up and is
 * connected to again. */
static int slot_hung_up(struct rec_shim_slots *s, struct slot *slot)
{
	int64_t running = 0, waited_us = rec_clock_real.monotonic_us(NULL) - slot->hung_up_us;
	if (rec_record_locked(slot->record_fd) != 1)
		return slot_settle(s, slot);
	if (waited_us < HANG_UP_US)
		return 0;
	if (rec_slot_shim_connect(s, slot, &running, NULL) != 0)
		return rec_record_locked(slot->record_fd) != 1 ? slot_settle(s, slot) : 0;
	slot->hung_up_us = 0;
	s->unsettled--;
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++)
		if (slot->claims[i].claim_id != running && slot->claims[i].state >= SLOT_CLAIM_SENT &&
		    slot->claims[i].state < SLOT_CLAIM_HUNTED) {
			int r = rec_slot_claim_settle(s, slot, &slot->claims[i]);
			if (r)
				return r;
		}
	return 0;
}

static int slot_hunt(struct rec_shim_slots *s, struct slot *slot)
{
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++) {
		struct slot_claim *claim = &slot->claims[i];
		if (claim->state != SLOT_CLAIM_HUNTED || rec_hunt(claim->claim_id, rec_slice_of(slot->batch_id)) > 0)
			continue;
		claim->state = SLOT_CLAIM_TOLD;
		s->unsettled--;
		int r = rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_LOST);
		if (r)
			return r;
	}
	return 0;
}

static bool is_shim(void *context, pid_t pid)
{
	const struct rec_shim_slots *s = context;
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i] && s->slots[i]->shim_pid == pid)
			return true;
	return s->options.own_child && s->options.own_child(s->options.context, pid);
}

static int unsettled_look(struct rec_shim_slots *s)
{
	int r = 0;
	for (size_t i = 0; i < s->slot_count && s->unsettled && r == 0; i++)
		if (s->slots[i] && s->slots[i]->hung_up_us)
			r = slot_hung_up(s, s->slots[i]);
	if (r != 0 || rec_orphans_end(is_shim, s) > 0)
		return r; /* something of a dead shim is not gone yet, whoever's it was */
	for (size_t i = 0; i < s->slot_count && s->unsettled && r == 0; i++)
		if (s->slots[i])
			r = slot_hunt(s, s->slots[i]);
	return r;
}

int rec_slots_gather(struct rec_shim_slots *s)
{
	struct epoll_event ready[64];
	int r = 0, n;
	do {
		n = epoll_wait(s->epoll_fd, ready, sizeof ready / sizeof *ready, 0);
		for (int i = 0; i < n && r == 0; i++)
			r = slot_read(s, ready[i].data.ptr);
	} while (r == 0 && (n == (int)(sizeof ready / sizeof *ready) || (n < 0 && errno == EINTR)));
	return r == 0 && s->unsettled ? unsettled_look(s) : r;
}
