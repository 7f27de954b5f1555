/* protocol.h - what conductor and shim say to each other over the slot's socket (SOCK_SEQPACKET, one
 * message a packet, both on one host and of one build: plain structs, checked by version and size).
 *
 * A shim is started as
 *     reconciler-shim SLOT-FD LOGS-FD SOCKET-FD WORKDIR LOG-LIMIT -- COMMAND [ARG...]
 * with the descriptors of the slot's folder, the folder of logs, and its end of a connected socket; its own
 * environment is the children's, to which it adds REC_TASK_ID, REC_TASK_TITLE, REC_ATTEMPT, REC_CLAIM and
 * REC_TASK_FILE. {id}, {title} and {attempt} in the arguments are replaced. It
 * serves one attempt after another until QUIT or until its conductor is gone and its attempt has ended.
 * It listens on the socket file `control` in the slot's folder for a conductor that adopts it.
 *
 *   conductor -> shim                         shim -> conductor
 *   START  claim, attempt, id, title, ...     HELLO    on each new connection: what runs (claim or 0)
 *   SIGNAL claim, signal number               RUNNING  claim
 *   RECALL claim (not started yet)            ENDED    claim, wait status, ...
 *   LIFE   (asks for signs of life)           VOID     claim: will never start
 *   QUIT   (when idle: exit)                  LIFE     claim, output bytes, CPU time, heartbeat
 *   DEADLINE times: what runs is stopped then, conductor or not; replaces the one before
 *
 * A shim whose child has just started hears the conductor 2 ms later, or when the child has ended; else at once.
 */
#ifndef REC_SHIM_PROTOCOL_H
#define REC_SHIM_PROTOCOL_H

#include <inttypes.h>
#include <stdint.h>

#define REC_SHIM_VERSION 3u
#define REC_SHIM_MESSAGE_BYTES_MAX 16384

enum rec_shim_type {
	REC_SHIM_START = 1,
	REC_SHIM_SIGNAL,
	REC_SHIM_RECALL,
	REC_SHIM_LIFE,
	REC_SHIM_QUIT,
	REC_SHIM_HELLO,
	REC_SHIM_RUNNING,
	REC_SHIM_ENDED,
	REC_SHIM_VOID,
	REC_SHIM_DEADLINE,
};

/* Every message begins with this; START is followed by its texts. */
struct rec_shim_message {
	uint32_t version; /* REC_SHIM_VERSION */
	uint32_t type;    /* enum rec_shim_type */
	int64_t claim_id;
	int32_t number;        /* SIGNAL: the signal; ENDED: wait status; START: attempt; HELLO, RUNNING: pid */
	int32_t spawn_errno;   /* ENDED */
	uint32_t survivors;    /* ENDED */
	uint32_t signalled;    /* ENDED, LIFE: a signal was asked for */
	int64_t started_us;    /* ENDED, HELLO, RUNNING: wall clock; DEADLINE: SIGTERM, boot clock */
	int64_t ended_us;      /* ENDED; DEADLINE: SIGKILL, boot clock */
	uint64_t output_bytes; /* ENDED, LIFE */
	uint64_t cpu_us;       /* LIFE: CPU time of the whole tree so far */
	int64_t heartbeat_us;  /* LIFE: wall clock of the last heartbeat, 0 if none */
	uint32_t id_length, title_length; /* START: the texts that follow, one after the other, no NUL */
	uint32_t task_file;               /* START: which of the slot's task files is the attempt's */
};
/* Names in a slot's folder. */
#define REC_SLOT_RECORD "record"     /* the lanes; its lock is the shim's life */
#define REC_SLOT_CONTROL "control"   /* the socket */
#define REC_SLOT_TASK "task-%u.json" /* what an attempt reads; of the one that runs and of the one ahead, by turns */
#define REC_SLOT_TASK_FILES 2u
#define REC_SLOT_TASK_BYTES 32
#define REC_SLOT_HEARTBEAT "heartbeat" /* touched by `reconciler heartbeat` */

#endif
