/* clock.h - time, randomness and the file system's word, as the shell gives them to the core. */
#ifndef REC_BASE_CLOCK_H
#define REC_BASE_CLOCK_H

#include <stdint.h>

struct rec_clock {
	int64_t (*wall_us)(void *context);      /* CLOCK_REALTIME */
	int64_t (*monotonic_us)(void *context); /* CLOCK_MONOTONIC */
	void *context;
	int64_t (*boot_us)(void *context); /* CLOCK_BOOTTIME; NULL: this clock never sleeps, as monotonic_us */
};
int64_t rec_clock_boot_us(const struct rec_clock *clock);
extern const struct rec_clock rec_clock_real; /* const: not state */

/* A clock that stands still until it is moved; for tests and the simulator. */
struct rec_clock_manual {
	struct rec_clock clock;
	int64_t now_wall_us, now_monotonic_us;
};
void rec_clock_manual_init(struct rec_clock_manual *m, int64_t wall_us);
void rec_clock_manual_advance(struct rec_clock_manual *m, int64_t us); /* both hands */

/* getrandom(2); never fails after boot. */
uint64_t rec_random_u64(void);
#define REC_UUID_BYTES 37
/* A version 4 UUID in lower case from 16 random bytes given (pure), or from getrandom. */
char *rec_uuid_format(const uint8_t random[16], char out[REC_UUID_BYTES]);
char *rec_uuid_new(char out[REC_UUID_BYTES]);
/* A version 7 UUID (RFC 9562): begins with the milliseconds of that time, so that later ones sort behind, and an index
 * on them grows at its end. Not for what people type the beginning of. */
char *rec_uuid_new_ordered(int64_t wall_us, char out[REC_UUID_BYTES]);

#endif
