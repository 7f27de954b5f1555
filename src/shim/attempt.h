/* attempt.h - one execution: starting the child, keeping its output, knowing how it ended. libc only. */
#ifndef REC_SHIM_ATTEMPT_H
#define REC_SHIM_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shim/log-name.h"
#include "shim/protocol.h"

/* What stays the same for all attempts of a shim. */
struct rec_shim_setup {
	int slot_fd, logs_fd;
	const char *slot_path; /* of the slot's folder, for REC_TASK_FILE */
	const char *workdir;
	uint64_t log_limit_bytes;
	char **command; /* arguments with {id}, {title}, {attempt}; command[0] is a path */
	char **environment;
};

/* An attempt as START gave it; texts are NUL-terminated. */
struct rec_attempt_order {
	int64_t claim_id; /* 0: none */
	int32_t number;
	uint32_t task_file;
	char id[256];
	char title[4097];
};

struct rec_attempt {
	int64_t claim_id; /* 0: nothing runs */
	pid_t pid;        /* the child until it is reaped, then 0 */
	int pidfd;
	int output_fd;  /* our end of the child's stdout and stderr; -1 once drained */
	int writing_fd; /* the child's end, held open: that its last holder is gone is no news beside its end */
	int log_fd;     /* made at the first byte */
	char log_name[REC_LOG_NAME_BYTES];
	uint64_t output_bytes;
	int wait_status, spawn_errno;
	bool reaped, signalled;
	int64_t started_us, ended_us;
	unsigned survivors;
	int64_t kill_at_us; /* monotonic: when survivors get SIGKILL; 0: not ending */
};

void rec_attempt_init(struct rec_attempt *attempt);
/* Starts the child: its task file is its stdin. Never fails as such: a command that cannot
 * be executed is an attempt that ended at once, with spawn_errno set. */
void rec_attempt_start(struct rec_attempt *attempt, const struct rec_shim_setup *setup,
		       const struct rec_attempt_order *order);
/* Reads what is in the pipe, up to a bound, into the log. */
void rec_attempt_output(struct rec_attempt *attempt, const struct rec_shim_setup *setup);
/* After the child ended: what is in the pipe now still counts; nobody is waited for. */
void rec_attempt_drain(struct rec_attempt *attempt, const struct rec_shim_setup *setup);
void rec_attempt_release(struct rec_attempt *attempt);

#endif
