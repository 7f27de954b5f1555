/* tracker-private.h - what tracker.c and tracker-talk.c share. */
#ifndef REC_TRACKER_TRACKER_PRIVATE_H
#define REC_TRACKER_TRACKER_PRIVATE_H

#include "tracker/helper.h"
#include "tracker/protocol.h"
#include "tracker/tracker.h"

#define CLOSES_MAX 256u

/* What the helper is doing. Phase x event is all there is to it; see tracker-talk.c. */
enum talk {
	TALK_NONE,  /* there is no helper */
	TALK_HELLO, /* it was started and asked who it is */
	TALK_READY, /* it waits for us */
	TALK_FETCH, /* a part of the pass was asked */
	TALK_CLOSE, /* the first of the closes was asked */
};

struct close_request {
	char *texts; /* owns the three */
	struct rec_slice url, comment, marker;
};

/* A pass: links[0, answered) are told, links[answered, asked) are with the helper. */
struct pass {
	bool on;
	bool sound; /* every request so far was answered, by nothing that cannot be */
	struct rec_arena texts;
	struct rec_protocol_link *links;
	struct rec_observation *observations; /* of the links; made beforehand, so that giving up needs no memory */
	size_t count, answered, asked;
	struct rec_tracker_cursor *cursors; /* as stored */
	size_t cursor_count;
	struct rec_tracker_cursor *kept; /* to be stored */
	size_t kept_count, kept_capacity;
};

struct tracker {
	char *name, *prefix;
	const char **command; /* owned, with its texts */
	int64_t timeout_us, interval_us;
	double budget_share;
	struct rec_tracker_health health;
	struct rec_helper helper;
	enum talk talk;
	int64_t request_id, deadline_us; /* of what was asked */
	bool served;                     /* it answered something since it was started */
	bool hung_up;                    /* its output ended while it owed an answer */
	unsigned strays;                 /* lines since then that answer nothing we asked */
	struct pass pass;
	struct close_request *closes;
	size_t close_count, close_capacity;
	bool answering; /* `answer` waits to be taken, or was and still lives */
	bool handed;
	char *closed_texts; /* of a close that is being answered */
	struct rec_tracker_answer answer;
	struct rec_arena answer_texts;
	struct rec_protocol_answer parsed;
};

struct rec_trackers {
	const struct rec_allocator *allocator;
	char *leash_path;
	int epoll_fd;
	struct tracker *items;
	size_t count;
};

/* tracker-talk.c: all that can be done now for one tracker. 0, REC_E_NOMEM. */
int rec_tracker_talk(const struct rec_trackers *t, struct tracker *tracker, int64_t now_us);
int64_t rec_tracker_talk_due_us(const struct tracker *tracker);

/* tracker.c */
static inline bool tracker_is_wanted(const struct tracker *tracker)
{
	return tracker->pass.on || tracker->close_count > 0;
}
/* The order of struct rec_protocol_link in a pass, for qsort and bsearch. */
int rec_tracker_by_url(const void *a, const void *b);
/* The first of the closes is over; its texts move into the answer. */
void rec_tracker_close_pop(const struct rec_trackers *t, struct tracker *tracker);

#endif
