/* loop.h - waiting: for the store to change, for input, for a signal, for the reader of standard output to go
 * away. A wake-up only says "look again".
 */
#ifndef REC_CLI_LOOP_H
#define REC_CLI_LOOP_H

#include "cli/cli.h"

enum loop_event {
	LOOP_LOOK = 1,  /* the store may have changed, or it is time anyway: look */
	LOOP_INPUT = 2, /* `input` can be read without waiting (its end too) */
	LOOP_GONE = 4,  /* nobody reads standard output any more */
	LOOP_STOP = 8,  /* a signal asked for the end: loop.signal */
};

struct loop {
	struct rec_store *store;
	int wake, input, signals; /* descriptors; -1: none. wake belongs to the store */
	int output;
	struct rec_relook relook;
	int64_t interval_us, looked_us;
	bool failed; /* the last look did: it is repeated soon */
	int signal;
};

/* From here on SIGINT, SIGTERM and SIGHUP are events of the loop. store: NULL, or whose wake-ups to wait for; input:
 * -1, or a descriptor to wait for. 0, or an error. Release afterwards in every case. */
int loop_init(struct loop *loop, struct rec_store *store, int input, struct rec_error *error);
void loop_release(struct loop *loop);
/* Call right before each look, so that a change that comes during the look is seen by the next one. */
void loop_looking(struct loop *loop);
/* Call after each look with what it gave: a store that is busy or unreachable for a while is asked again (told once),
 * any other error ends it. 0 or the exit status. */
int loop_looked(struct loop *loop, const struct cli *cli, int result, const struct rec_error *error);
/* Waits until something of enum loop_event is there; returns the bits, or an error. */
int loop_wait(struct loop *loop, struct rec_error *error);
int64_t loop_now_us(void);

#endif
