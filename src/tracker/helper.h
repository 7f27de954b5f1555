/* helper.h - one helper program: its process and the three pipes to it. Knows lines, not what they say. Nothing here
 * waits, but for rec_helper_leave. */
#ifndef REC_TRACKER_HELPER_H
#define REC_TRACKER_HELPER_H

#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

#define REC_HELPER_WORDS_BYTES 160
/* More than this since the last request, words for people included, is no conversation but a flood. */
#define REC_HELPER_FLOOD_BYTES (9u << 20)

struct rec_helper {
	const struct rec_allocator *allocator;
	int epoll_fd; /* lent: whatever is to be waited for is in it */
	pid_t pid;    /* 0: there is none */
	int pidfd;
	int input_fd, output_fd, error_fd; /* -1: closed */
	bool writing;                      /* the input is waited for */
	bool leashed;                      /* the process is the leash's, and the helper its child */
	bool exited;                       /* it has, and how is in `status`; not reaped */
	int status;                        /* as of waitid: si_status, and si_code in status_code */
	int status_code;
	struct rec_buffer to_say; /* from `said` on */
	size_t said;
	struct rec_buffer heard; /* lines, from `taken` on; before `scanned` there is no end of the next one */
	size_t taken, scanned;
	bool drained;                        /* the last look at its output found no more */
	uint64_t heard_bytes;                /* since the last rec_helper_say */
	struct rec_buffer words, words_line; /* the last line it said on standard error that is not empty; the next */
};

void rec_helper_init(struct rec_helper *h, const struct rec_allocator *a, int epoll_fd);
/* Starts it in a process group of its own, its standard descriptors our pipes, every other closed. leash: NULL, or the
 * path of reconciler-leash. 0; REC_E_IO with why; REC_E_NOMEM. */
int rec_helper_start(struct rec_helper *h, const char *leash, const char *const *command, struct rec_error *error);
/* To be said, and said as far as it takes it now: appends to h->to_say first, then call this. */
void rec_helper_say(struct rec_helper *h);
/* Reads what there is, writes what is left, sees whether it exited. 0, or REC_E_NOMEM: call again. */
int rec_helper_work(struct rec_helper *h);
/* The next whole line, without its end: 0; REC_END: none yet; REC_E_LIMIT: longer than allowed. The same again until
 * rec_helper_line_done; it lives until the next call of work. */
int rec_helper_line(struct rec_helper *h, struct rec_slice *ret_line);
void rec_helper_line_done(struct rec_helper *h, struct rec_slice line);
bool rec_helper_output_ended(const struct rec_helper *h);
/* "the helper exited with status 3: its last words", without secrets (secrets.h); only once it exited. */
void rec_helper_end_text(const struct rec_helper *h, struct rec_buffer *out);
/* Ends it and all that it started (without a leash: everything in its group), at once; it is reaped here or by a later
 * rec_helper_reap. */
void rec_helper_kill(struct rec_helper *h);
/* true: no process of it is left to wait for. */
bool rec_helper_reap(struct rec_helper *h);
/* Closes its input; the caller may wait for the exit with rec_helper_reap, and kill. */
void rec_helper_hang_up(struct rec_helper *h);
/* Frees the buffers. The process must be killed or reaped. */
void rec_helper_release(struct rec_helper *h);

#endif
