/* record.h - what a slot durably knows: four lanes of two checksummed records in one small mapped file.
 *
 * The record file of a slot is made once, preallocated (a full disk cannot lose an exit) and mapped by both
 * the conductor and the shim. A process killed while it writes leaves a record whose checksum is wrong; the
 * lane's other record then still stands. Writes reach the page cache at once, so they survive kill -9 of
 * everybody; after a power loss the attempt counts as lost.
 *
 *   lane      written by  holds
 *   AHEAD     conductor   STARTING: the claim that is about to commit or waits to be started
 *   RUNNING   shim        RUNNING: the claim whose child runs; written before the child exists
 *   ENDED     shim        ENDED: how it ended; or VOID: never started. Both records count: the ends of two
 *                         attempts may wait to be recorded in the store (at most one claim is ahead)
 *   FORGOTTEN conductor   FORGOTTEN: its end is in the store, or the claim never committed
 *
 * A claim's number is given again if its group is rolled back, maybe in another slot: whoever prepares a claim erases
 * it from FORGOTTEN after AHEAD has it, whoever forgets one erases it from AHEAD after FORGOTTEN has it.
 *
 * So a claim in any lane that is not in FORGOTTEN may still have to be accounted for (or not: only the last
 * two forgotten ones are kept, so whoever recovers asks the store whether the claim is still there).
 *
 * Whoever holds the lock on the record file (an open file description lock, held by the shim for as long as
 * it lives) is alive; no pid number is ever read back to decide that. libc only.
 */
#ifndef REC_SHIM_RECORD_H
#define REC_SHIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum rec_lane { REC_LANE_AHEAD, REC_LANE_RUNNING, REC_LANE_ENDED, REC_LANE_FORGOTTEN, REC_LANE_COUNT };

enum rec_record_phase {
	REC_RECORD_EMPTY,
	REC_RECORD_STARTING,
	REC_RECORD_RUNNING,
	REC_RECORD_ENDED,
	REC_RECORD_VOID,
	REC_RECORD_FORGOTTEN,
};

struct rec_record {
	uint32_t checksum; /* of all that follows */
	uint32_t phase;    /* enum rec_record_phase */
	uint64_t sequence; /* grows with each write to the lane */
	int64_t claim_id;
	int32_t wait_status; /* as waitpid gives it; ENDED */
	int32_t spawn_errno; /* ENDED: not 0 if the command could not be executed */
	uint32_t survivors;  /* ENDED: descendants that had to be ended after the child */
	uint32_t signalled;  /* ENDED: the conductor had asked for a signal */
	int64_t started_us;  /* wall clock */
	int64_t ended_us;
	uint64_t output_bytes; /* ENDED: all that was written, kept or not */
};

#define REC_RECORD_FILE_BYTES 4096
struct rec_record_map {
	struct rec_record lanes[REC_LANE_COUNT][2];
};

/* Maps the record file behind fd (made and preallocated if it is shorter). NULL with errno set. */
struct rec_record_map *rec_record_map_open(int fd);
void rec_record_map_close(struct rec_record_map *map); /* NULL is fine */

/* One of the two records of a lane (which: 0 or 1); phase EMPTY if it is not sound. */
struct rec_record rec_record_at(const struct rec_record_map *map, enum rec_lane lane, int which);
/* The newest sound record of a lane; phase EMPTY if there is none. */
struct rec_record rec_record_newest(const struct rec_record_map *map, enum rec_lane lane);
/* The record of `claim_id` in the lane, whichever of the two it is. */
bool rec_record_find(const struct rec_record_map *map, enum rec_lane lane, int64_t claim_id,
		     struct rec_record *ret_record);
/* Overwrites the older of the two (or the unsound one). Fills in checksum and sequence. */
void rec_record_write(struct rec_record_map *map, enum rec_lane lane, struct rec_record record);
/* The lane no longer tells of `claim_id`. Only for who writes the lane. */
void rec_record_erase(struct rec_record_map *map, enum rec_lane lane, int64_t claim_id);

/* Takes the lock that says "alive", without waiting: 0; 1 if somebody else holds it; -1 with errno. */
int rec_record_lock(int fd);
/* Whether somebody (else than this open file) holds it: 0, 1, -1 with errno. Takes nothing. */
int rec_record_locked(int fd);

#endif
