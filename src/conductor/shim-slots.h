/* shim-slots.h - slots.h on real processes: one shim per slot, started when it is first needed.
 *
 * Slots live in folders beside the store, `rec-run/slot-N`, made once and used again by whichever conductor
 * takes them next; a conductor owns a slot by the lock on the file `owner` in its folder, a batch by the lock on
 * `rec-run/batch-ID.lock`. The conductor's process is made a subreaper (prctl), which is process-wide. */
#ifndef REC_CONDUCTOR_SHIM_SLOTS_H
#define REC_CONDUCTOR_SHIM_SLOTS_H

#include "base/buffer.h"
#include "base/error.h"
#include "conductor/slots.h"

struct rec_shim_options {
	const char *run_directory; /* .../rec-run; made (0700) if missing */
	const char *shim_path;     /* of reconciler-shim */
	struct rec_slice batch_id; /* the batch that claims are prepared for; its lock is taken by ops->hold */
	uint32_t slot_count;
	const char *const *command;     /* NULL-terminated; command[0] is an absolute path */
	const char *const *environment; /* NULL-terminated; the children's; REC_BATCH_ID is put in front */
	const char *workdir;            /* absolute */
	uint64_t log_limit_bytes;
	const struct rec_allocator *allocator; /* NULL: libc */
	/* Children of this process that are not slots' and not to be ended as orphans. NULL: there are none. */
	bool (*own_child)(void *context, int pid);
	void *context;
};

struct rec_shim_slots;
/* Makes the folders and takes slot_count slots that nobody owns and that owe no end. No process is started. options'
 * texts must outlive the slots. REC_E_IO, REC_E_PERMISSION, REC_E_FULL, REC_E_NOMEM. */
int rec_shim_slots_open(const struct rec_shim_options *options, struct rec_shim_slots **ret_slots,
			struct rec_error *error);
/* Tells idle shims to leave, lets go of every lock. What still runs goes on and waits to be adopted. Returns NULL. */
struct rec_shim_slots *rec_shim_slots_close(struct rec_shim_slots *s);

/* The table for the driver; lives as long as s. */
struct rec_slots rec_shim_slots_table(struct rec_shim_slots *s);
/* Readable when `next` may have something; owned by s. */
int rec_shim_slots_fd(const struct rec_shim_slots *s);
/* How long the caller may wait before it calls `next` again even if the descriptor stays silent; -1: for ever. */
int rec_shim_slots_wait_ms(const struct rec_shim_slots *s);

/* The lock file of a batch below the run directory ("batch-ID.lock"; unusual bytes as %XX). 0, REC_E_NOMEM. */
int rec_batch_lock_path(struct rec_buffer *out, const char *run_directory, struct rec_slice batch_id);

#endif
