/* slot.h - one slot of shim-slots.c: its folder, its shim, the claims it answers for. Private to the
 * shim-*.c files. */
#ifndef REC_CONDUCTOR_SLOT_H
#define REC_CONDUCTOR_SLOT_H

#include <sys/resource.h>
#include <sys/types.h>

#include "conductor/shim-slots.h"
#include "shim/protocol.h"
#include "shim/record.h"

enum slot_claim_state {
	SLOT_CLAIM_NONE,
	SLOT_CLAIM_PREPARED, /* STARTING is recorded; no START sent */
	SLOT_CLAIM_SENT,     /* START sent (or found by recovery) */
	SLOT_CLAIM_RUNNING,
	SLOT_CLAIM_HUNTED,   /* its shim is gone; LOST as soon as nothing carries it any more */
	SLOT_CLAIM_RECALLED, /* while it was prepared; VOID with the next gathering */
	SLOT_CLAIM_TOLD,     /* the last word was said; waits to be forgotten */
};
struct slot_claim {
	int64_t claim_id;
	enum slot_claim_state state;
	struct rec_shim_message order; /* START, while it is prepared; it names the task file */
	struct rec_buffer texts;       /* its id and title; kept for the next claim in this place */
};

struct slot {
	char *folder;   /* path */
	int owner_fd;   /* the lock: this slot is ours */
	int folder_fd;  /* -1 while not needed */
	int record_fd;  /* to ask whether the shim lives */
	int socket;     /* -1: no shim that we talk to */
	pid_t shim_pid; /* our child; 0 if there is none (an adopted shim is no child of ours) */
	int shim_pidfd; /* of an adopted shim, to end it if it does not answer; -1 */
	struct rec_record_map *map;
	char *batch_id; /* of whoever prepared its claims */
	struct slot_claim claims[REC_SLOT_CLAIMS_MAX];
	uint32_t number;             /* the driver's name for it */
	int64_t running_at_adoption; /* what its shim said by HELLO; 0: nothing */
	bool adopted;                /* of a dead conductor; let go when nothing is left to forget */
	int64_t hung_up_us;          /* the socket ended then, the shim's lock not yet; 0: no */
};

struct rec_shim_slots {
	struct rec_shim_options options;
	const struct rec_allocator *allocator;
	int run_fd, logs_fd, epoll_fd;
	struct slot **slots; /* [0, options.slot_count) are ours, adopted ones behind; NULL: gone again */
	size_t slot_count, slot_capacity;
	struct held_batch {
		char *id;
		int fd;
	} * held;
	size_t held_count, held_capacity;
	struct rec_slot_event *events; /* to be told; a ring would save nothing at these lengths */
	size_t event_first, event_count, event_capacity;
	int64_t term_us, kill_us; /* the deadline that shims are told; 0: none */
	size_t unsettled; /* slots that hung up, claims that are hunted or recalled: `next` looks again by itself */
	char **environment;
	char *batch_variable;
	struct rec_buffer json;     /* of the task that is prepared; kept */
	struct rlimit files_before; /* what children get */
};

/* shim-folder.c: folders and records */
/* Takes the folder `rec-run/slot-N` if nobody owns it: 0, REC_CONFLICT (owned), negative. make: also if it is missing,
 * else REC_NOT_FOUND. */
int rec_slot_take(struct rec_shim_slots *s, uint32_t number, bool make, struct slot **ret_slot,
		  struct rec_error *error);
struct slot *rec_slot_let_go(struct rec_shim_slots *s, struct slot *slot); /* closes everything, returns NULL */
/* Claims that are in some lane and not forgotten, at most REC_RECORD_CLAIMS_MAX of them. */
#define REC_RECORD_CLAIMS_MAX 6
size_t rec_slot_recorded(const struct slot *slot, int64_t claims[REC_RECORD_CLAIMS_MAX]);
/* Remembers durably whose claims are prepared here from now on. */
int rec_slot_batch_write(struct rec_shim_slots *s, struct slot *slot, struct rec_error *error);

/* shim-process.c: the shim's process and socket */
int rec_slot_shim_start(struct rec_shim_slots *s, struct slot *slot, struct rec_error *error);
/* Connects to a shim that lives on without a conductor and waits at most 2 s for its HELLO. 0 with the claim that runs
 * there (or 0); REC_NOT_FOUND: there is no shim; REC_CONFLICT: it did not answer, and was ended. */
int rec_slot_shim_connect(struct rec_shim_slots *s, struct slot *slot, int64_t *ret_running, struct rec_error *error);
/* false: the shim is gone. */
bool rec_slot_send(struct slot *slot, const struct rec_shim_message *message, struct rec_slice id,
		   struct rec_slice title);
/* To a shim that was just started or connected to, and to all when it changes. */
void rec_slot_deadline_send(const struct rec_shim_slots *s, struct slot *slot);
void rec_slot_disconnect(struct rec_shim_slots *s, struct slot *slot);

/* shim-events.c: what happened, as the driver wants to hear it */
struct slot_claim *rec_slot_claim(struct slot *slot, int64_t claim_id); /* NULL: not known (any more) */
struct slot_claim *rec_slot_claim_add(struct slot *slot, int64_t claim_id,
				      enum slot_claim_state state); /* NULL: full */
void rec_slot_claim_remove(struct rec_shim_slots *s, struct slot_claim *claim);
/* Lets go of its shim, which may live for a moment yet; what becomes of its claims the next gatherings tell. */
void rec_slot_hang_up(struct rec_shim_slots *s, struct slot *slot);
/* So that `count` events can be told. 0, REC_E_NOMEM. */
int rec_slots_room(struct rec_shim_slots *s, size_t count);
/* There must be room for it. */
void rec_slot_tell(struct rec_shim_slots *s, const struct slot *slot, int64_t claim_id, enum rec_slot_event_kind kind);
/* Says what the record says about a claim whose shim is gone: ENDED, VOID, or (it ran) the hunt begins. Room for one.
 */
void rec_slot_claim_settle(struct rec_shim_slots *s, struct slot *slot, struct slot_claim *claim);
/* Reads all sockets, settles, hunts, reaps; fills the queue of events. 0 or REC_E_NOMEM. */
int rec_slots_gather(struct rec_shim_slots *s);

#endif
