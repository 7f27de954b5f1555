/* clock.c - the only place where the time and randomness of the machine are asked for. */
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static int64_t clock_us(clockid_t id)
{
	struct timespec now = {0};
	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t real_wall_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_REALTIME);
}

static int64_t real_monotonic_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_MONOTONIC);
}

static int64_t real_boot_us(void *context)
{
	(void)context;
	return clock_us(CLOCK_BOOTTIME);
}

const struct rec_clock rec_clock_real = {
	.wall_us = real_wall_us,
	.monotonic_us = real_monotonic_us,
	.boot_us = real_boot_us,
};

int64_t rec_clock_boot_us(const struct rec_clock *clock)
{
	return clock->boot_us ? clock->boot_us(clock->context) : clock->monotonic_us(clock->context);
}

static int64_t manual_wall_us(void *context)
{
	const struct rec_clock_manual *m = context;
	return m->now_wall_us;
}

static int64_t manual_monotonic_us(void *context)
{
	const struct rec_clock_manual *m = context;
	return m->now_monotonic_us;
}

void rec_clock_manual_init(struct rec_clock_manual *m, int64_t wall_us)
{
	*m = (struct rec_clock_manual){
		.clock = {.wall_us = manual_wall_us, .monotonic_us = manual_monotonic_us, .context = m},
		.now_wall_us = wall_us,
	};
}

void rec_clock_manual_advance(struct rec_clock_manual *m, int64_t us)
{
	m->now_wall_us += us;
	m->now_monotonic_us += us;
}

static void random_fill(void *bytes, size_t length)
{
	size_t filled = 0;
	while (filled < length) {
		ssize_t got = getrandom((char *)bytes + filled, length - filled, 0);
		if (got > 0)
			filled += (size_t)got;
		else if (got < 0 && errno != EINTR)
			break;
	}
	if (filled == length)
		return;
	/* A kernel or a sandbox without getrandom: unique, though not secret. */
	int64_t now[2] = {clock_us(CLOCK_REALTIME), clock_us(CLOCK_MONOTONIC) ^ (int64_t)(intptr_t)bytes};
	memcpy(bytes, now, length < sizeof now ? length : sizeof now);
}

uint64_t rec_random_u64(void)
{
	uint64_t value = 0;
	random_fill(&value, sizeof value);
	return value;
}

static char *uuid_format(const uint8_t bytes[16], unsigned version, char out[REC_UUID_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	char *to = out;
	for (int i = 0; i < 16; i++) {
		unsigned byte = bytes[i];
		if (i == 6)
			byte = version << 4 | (byte & 0x0f);
		if (i == 8)
			byte = 0x80 | (byte & 0x3f); /* the variant of RFC 9562 */
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*to++ = '-';
		*to++ = digits[byte >> 4];
		*to++ = digits[byte & 15];
	}
	*to = '\0';
	return out;
}

char *rec_uuid_format(const uint8_t random[16], char out[REC_UUID_BYTES])
{
	return uuid_format(random, 4, out);
}

char *rec_uuid_new(char out[REC_UUID_BYTES])
{
	uint8_t random[16] = {0};
	random_fill(random, sizeof random);
	return rec_uuid_format(random, out);
}

char *rec_uuid_new_ordered(int64_t wall_us, char out[REC_UUID_BYTES])
{
	uint8_t bytes[16] = {0};
	uint64_t ms = (uint64_t)(wall_us / 1000);
	random_fill(bytes + 6, sizeof bytes - 6);
	for (int i = 0; i < 6; i++)
		bytes[i] = (uint8_t)(ms >> (40 - 8 * i));
	return uuid_format(bytes, 7, out);
}
