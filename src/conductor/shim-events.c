/* shim-events.c - what shims say, and what is known when they can say nothing any more.
 *
 * A shim's last word about a claim is a message; if its socket ends first, its record is the last word; if
 * that says only RUNNING, the attempt is lost, and everything that the dead shim left to us, or that carries its
 * claim, is ended before that is said. A socket may end a moment before the kernel drops the dying shim's lock: only
 * the lock is believed.
 *
 * Whatever is said is said once. So there is room for it in the queue before anything is read or settled, and no word
 * is lost when memory runs out just then. */
#include <assert.h>
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

void rec_slot_claim_remove(struct rec_shim_slots *s, struct slot_claim *claim)
{
	s->unsettled -= claim->state == SLOT_CLAIM_HUNTED || claim->state == SLOT_CLAIM_RECALLED;
	claim->claim_id = 0;
	claim->state = SLOT_CLAIM_NONE;
}

/* ---- Telling ---- */

int rec_slots_room(struct rec_shim_slots *s, size_t count)
{
	void *events = s->events;
	size_t end = s->event_first + s->event_count;
	int r = rec_grow(s->allocator, &events, &s->event_capacity, end + count, sizeof *s->events);
	s->events = events;
	return r;
}

static void event_push(struct rec_shim_slots *s, struct rec_slot_event event)
{
	size_t end = s->event_first + s->event_count;
	assert(end < s->event_capacity);
	s->events[end] = event;
	s->event_count++;
}

void rec_slot_tell(struct rec_shim_slots *s, const struct slot *slot, int64_t claim_id, enum rec_slot_event_kind kind)
{
	event_push(s, (struct rec_slot_event){.kind = kind, .slot = slot->number, .claim_id = claim_id, .took_us = -1});
}

static void tell_ended(struct rec_shim_slots *s, const struct slot *slot, const struct rec_record *end)
{
	bool by_signal = WIFSIGNALED(end->wait_status);
	event_push(s, (struct rec_slot_event){
			      .kind = REC_SLOT_ENDED,
			      .slot = slot->number,
			      .claim_id = end->claim_id,
			      .by_signal = by_signal && !end->spawn_errno,
			      .not_executed = end->spawn_errno != 0,
			      .code = end->spawn_errno ? end->spawn_errno
				      : by_signal      ? WTERMSIG(end->wait_status)
						       : WEXITSTATUS(end->wait_status),
			      .signalled = end->signalled != 0,
			      .survivors = end->survivors,
			      .took_us = end->ended_us >= end->started_us ? end->ended_us - end->started_us : -1});
}

void rec_slot_claim_settle(struct rec_shim_slots *s, struct slot *slot, struct slot_claim *claim)
{
	struct rec_record record;
	if (rec_record_find(slot->map, REC_LANE_ENDED, claim->claim_id, &record)) {
		claim->state = SLOT_CLAIM_TOLD;
		if (record.phase == REC_RECORD_VOID)
			rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_VOID);
		else
			tell_ended(s, slot, &record);
	} else if (rec_record_find(slot->map, REC_LANE_RUNNING, claim->claim_id, &record)) {
		claim->state = SLOT_CLAIM_HUNTED;
		s->unsettled++;
	} else { /* RUNNING is written before the child exists, so there never was one */
		claim->state = SLOT_CLAIM_TOLD;
		rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_VOID);
	}
}

/* ---- Hearing ---- */

static void hear(struct rec_shim_slots *s, struct slot *slot, const struct rec_shim_message *message)
{
	struct slot_claim *claim = rec_slot_claim(slot, message->claim_id);
	if (message->version != REC_SHIM_VERSION || !claim || claim->state == SLOT_CLAIM_TOLD)
		return;
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
		rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_RUNNING);
		break;
	case REC_SHIM_ENDED:
		claim->state = SLOT_CLAIM_TOLD;
		tell_ended(s, slot, &end);
		break;
	case REC_SHIM_VOID:
		claim->state = SLOT_CLAIM_TOLD;
		rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_VOID);
		break;
	case REC_SHIM_LIFE:
		event_push(s, (struct rec_slot_event){.kind = REC_SLOT_LIFE,
						      .slot = slot->number,
						      .claim_id = claim->claim_id,
						      .signs = message->output_bytes + message->cpu_us +
							       (uint64_t)message->heartbeat_us});
		break;
	default:
		break;
	}
}

void rec_slot_hang_up(struct rec_shim_slots *s, struct slot *slot)
{
	rec_slot_disconnect(s, slot);
	slot->hung_up_us = rec_clock_real.monotonic_us(NULL);
	s->unsettled++;
}

static int slot_read(struct rec_shim_slots *s, struct slot *slot)
{
	int r = 0;
	while (slot->socket >= 0 && (r = rec_slots_room(s, 1)) == 0) {
		struct rec_shim_message message;
		ssize_t n = recv(slot->socket, &message, sizeof message, MSG_DONTWAIT);
		if (n == (ssize_t)sizeof message)
			hear(s, slot, &message);
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (n == 0 || (n < 0 && errno != EINTR))
			rec_slot_hang_up(s, slot);
	}
	return r;
}

/* ---- Settling ---- */

static void slot_settle(struct rec_shim_slots *s, struct slot *slot)
{
	slot->hung_up_us = 0;
	slot->shim_pid = 0;
	s->unsettled--;
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++)
		if (slot->claims[i].state == SLOT_CLAIM_SENT || slot->claims[i].state == SLOT_CLAIM_RUNNING)
			rec_slot_claim_settle(s, slot, &slot->claims[i]);
}

/* The socket ended. Once the lock fell, the record has the last word. A shim that holds on to it has given us up and is
 * connected to again. */
static void slot_hung_up(struct rec_shim_slots *s, struct slot *slot)
{
	int64_t running = 0, waited_us = rec_clock_real.monotonic_us(NULL) - slot->hung_up_us;
	bool locked = rec_record_locked(slot->record_fd) == 1;
	if (locked && waited_us < HANG_UP_US)
		return;
	if (locked && rec_slot_shim_connect(s, slot, &running, NULL) != 0) {
		if (rec_record_locked(slot->record_fd) == 1)
			return;
		locked = false;
	}
	if (!locked) {
		slot_settle(s, slot);
		return;
	}
	slot->hung_up_us = 0;
	s->unsettled--;
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++)
		if (slot->claims[i].claim_id != running && slot->claims[i].state >= SLOT_CLAIM_SENT &&
		    slot->claims[i].state < SLOT_CLAIM_HUNTED)
			rec_slot_claim_settle(s, slot, &slot->claims[i]);
}

static void slot_hunt(struct rec_shim_slots *s, struct slot *slot)
{
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++) {
		struct slot_claim *claim = &slot->claims[i];
		if (claim->state != SLOT_CLAIM_HUNTED || rec_hunt(claim->claim_id, rec_slice_of(slot->batch_id)) > 0)
			continue;
		claim->state = SLOT_CLAIM_TOLD;
		s->unsettled--;
		rec_slot_tell(s, slot, claim->claim_id, REC_SLOT_LOST);
	}
}

static void recalled_tell(struct rec_shim_slots *s, struct slot *slot)
{
	for (size_t i = 0; i < REC_SLOT_CLAIMS_MAX; i++)
		if (slot->claims[i].state == SLOT_CLAIM_RECALLED) {
			slot->claims[i].state = SLOT_CLAIM_TOLD;
			s->unsettled--;
			rec_slot_tell(s, slot, slot->claims[i].claim_id, REC_SLOT_VOID);
		}
}

static bool is_shim(void *context, pid_t pid)
{
	const struct rec_shim_slots *s = context;
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i] && s->slots[i]->shim_pid == pid)
			return true;
	return s->options.own_child && s->options.own_child(s->options.context, pid);
}

/* Each slot has at most one word for each of its claims. */
static int each_unsettled(struct rec_shim_slots *s, void (*look)(struct rec_shim_slots *s, struct slot *slot))
{
	int r = 0;
	for (size_t i = 0; i < s->slot_count && s->unsettled && r == 0; i++) {
		r = s->slots[i] ? rec_slots_room(s, REC_SLOT_CLAIMS_MAX) : 0;
		if (s->slots[i] && r == 0)
			look(s, s->slots[i]);
	}
	return r;
}

static void hung_up_look(struct rec_shim_slots *s, struct slot *slot)
{
	if (slot->hung_up_us)
		slot_hung_up(s, slot);
}

static int unsettled_look(struct rec_shim_slots *s)
{
	int r = each_unsettled(s, recalled_tell);
	r = r ? r : each_unsettled(s, hung_up_look);
	if (r != 0 || rec_orphans_end(is_shim, s) > 0)
		return r; /* something of a dead shim is not gone yet, whoever's it was */
	return each_unsettled(s, slot_hunt);
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
