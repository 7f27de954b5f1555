/* health.c - see health.h. */
#include "tracker/health.h"

#include "base/text.h"

const char *rec_tracker_state_text(enum rec_tracker_state s)
{
	static const char *const texts[] = {
		[REC_TRACKER_UNTRIED] = "untried",
		[REC_TRACKER_REACHED] = "reached",
		[REC_TRACKER_PAUSED] = "paused",
		[REC_TRACKER_DOWN] = "down",
	};
	return texts[s];
}

static int64_t clamped_us(int64_t retry_after_ms)
{
	if (retry_after_ms <= 0)
		return 0;
	return retry_after_ms < REC_TRACKER_RETRY_AFTER_MAX_US / 1000 ? retry_after_ms * 1000
								      : REC_TRACKER_RETRY_AFTER_MAX_US;
}

static int64_t pause_us(uint32_t failures)
{
	int64_t pause = REC_TRACKER_PAUSE_FIRST_US;
	for (uint32_t i = 1; i < failures && pause < REC_TRACKER_PAUSE_MAX_US; i++)
		pause *= 2;
	return pause < REC_TRACKER_PAUSE_MAX_US ? pause : REC_TRACKER_PAUSE_MAX_US;
}

void rec_tracker_health_answered(struct rec_tracker_health *h, int64_t now_us, int64_t retry_after_ms)
{
	int64_t wait = clamped_us(retry_after_ms);
	h->state = wait ? REC_TRACKER_PAUSED : REC_TRACKER_REACHED;
	h->failures = 0;
	h->not_before_us = wait ? now_us + wait : 0;
	h->wished = wait > 0;
	h->reached_us = now_us;
	h->problem[0] = '\0';
}

void rec_tracker_health_failed(struct rec_tracker_health *h, int64_t now_us, int64_t retry_after_ms,
			       struct rec_slice problem)
{
	int64_t wish = clamped_us(retry_after_ms);
	if (h->failures < UINT32_MAX)
		h->failures++;
	int64_t wait = pause_us(h->failures);
	h->state = REC_TRACKER_DOWN;
	h->not_before_us = now_us + (wait > wish ? wait : wish);
	h->wished = wish > 0;
	rec_text_shown(h->problem, sizeof h->problem, problem);
}
