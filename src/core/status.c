/* status.c - names and transitions as constant tables. The third letter tells the seven names apart, so a
 * name is parsed by one table look-up and one comparison. */
#include "core/status.h"

#define TEXT(literal)                                                                                                  \
	{                                                                                                              \
		literal, sizeof literal - 1                                                                            \
	}

static const struct rec_slice texts[] = {
	[REC_BACKLOG] = TEXT("BACKLOG"), [REC_READY] = TEXT("READY"),     [REC_IN_PROGRESS] = TEXT("IN_PROGRESS"),
	[REC_BLOCKED] = TEXT("BLOCKED"), [REC_FAILED] = TEXT("FAILED"),   [REC_DONE] = TEXT("DONE"),
	[REC_MERGED] = TEXT("MERGED"),   [REC_STATUS_ABSENT] = TEXT("-"), [REC_STATUS_UNRECOGNISED] = TEXT("?"),
};

#define TO(status) (1u << REC_##status)

static const unsigned targets[REC_STATUS_COUNT] = {
	[REC_BACKLOG] = TO(READY),
	[REC_READY] = TO(IN_PROGRESS) | TO(BACKLOG),
	[REC_IN_PROGRESS] = TO(BLOCKED) | TO(DONE) | TO(READY) | TO(FAILED),
	[REC_BLOCKED] = TO(IN_PROGRESS) | TO(READY),
	[REC_FAILED] = TO(READY) | TO(IN_PROGRESS),
	[REC_DONE] = TO(READY) | TO(MERGED),
	[REC_MERGED] = 0,
};

static bool real(enum rec_status status)
{
	return (unsigned)status < REC_STATUS_COUNT;
}

const char *rec_status_text(enum rec_status status)
{
	return (unsigned)status < sizeof texts / sizeof *texts ? texts[status].data : "?";
}

static enum rec_status candidate(char third)
{
	switch (third) {
	case 'C':
		return REC_BACKLOG;
	case 'A':
		return REC_READY;
	case '_':
		return REC_IN_PROGRESS;
	case 'O':
		return REC_BLOCKED;
	case 'I':
		return REC_FAILED;
	case 'N':
		return REC_DONE;
	default:
		return REC_MERGED;
	}
}

enum rec_status rec_status_parse(struct rec_slice text)
{
	if (text.length < 4)
		return REC_STATUS_UNRECOGNISED;
	enum rec_status status = candidate(text.data[2]);
	return rec_slice_equal(text, texts[status]) ? status : REC_STATUS_UNRECOGNISED;
}

enum rec_status rec_status_parse_belief(struct rec_slice text)
{
	enum rec_status status = rec_status_parse(text);
	if (status != REC_STATUS_UNRECOGNISED)
		return status;
	if (rec_slice_equal(text, rec_slice_of("RUNNING")))
		return REC_IN_PROGRESS;
	if (rec_slice_equal(text, rec_slice_of("COMPLETED")))
		return REC_DONE;
	return REC_STATUS_UNRECOGNISED;
}

bool rec_status_terminal(enum rec_status status)
{
	return status == REC_FAILED || rec_status_success(status);
}

bool rec_status_success(enum rec_status status)
{
	return status == REC_DONE || status == REC_MERGED;
}

bool rec_transition_legal(enum rec_status from, enum rec_status to)
{
	return real(to) && (rec_transition_targets(from) >> to & 1u);
}

unsigned rec_transition_targets(enum rec_status from)
{
	return real(from) ? targets[from] : 0;
}

/* distance[s] = legal steps from s to `to`, REC_STATUS_COUNT if there is no path. Each round settles the
 * statuses that are one step further away. */
static void distances(enum rec_status to, unsigned distance[REC_STATUS_COUNT])
{
	for (unsigned s = 0; s < REC_STATUS_COUNT; s++)
		distance[s] = s == (unsigned)to ? 0 : REC_STATUS_COUNT;
	for (unsigned round = 1; round < REC_STATUS_COUNT; round++)
		for (unsigned s = 0; s < REC_STATUS_COUNT; s++)
			for (unsigned next = 0; next < REC_STATUS_COUNT; next++)
				if (distance[s] == REC_STATUS_COUNT && distance[next] == round - 1 &&
				    targets[s] >> next & 1u)
					distance[s] = round;
}

int rec_transition_path(enum rec_status from, enum rec_status to, enum rec_status steps[REC_STATUS_COUNT])
{
	unsigned distance[REC_STATUS_COUNT];
	if (!real(from) || !real(to))
		return -1;
	distances(to, distance);
	if (distance[from] == REC_STATUS_COUNT)
		return -1;
	int count = 0;
	for (unsigned at = from; at != (unsigned)to; count++) {
		unsigned next = 0;
		while (!(targets[at] >> next & 1u) || distance[next] != distance[at] - 1)
			next++;
		if (steps)
			steps[count] = (enum rec_status)next;
		at = next;
	}
	return count;
}

enum rec_status rec_rollup(const uint64_t children[REC_STATUS_COUNT])
{
	bool finished = children[REC_DONE] || children[REC_MERGED];
	bool unfinished = children[REC_BACKLOG] || children[REC_READY] || children[REC_IN_PROGRESS] ||
			  children[REC_BLOCKED] || children[REC_FAILED];
	if (!finished && !unfinished)
		return REC_STATUS_ABSENT;
	if (!unfinished)
		return REC_DONE;
	if (children[REC_FAILED])
		return REC_FAILED;
	if (children[REC_IN_PROGRESS])
		return REC_IN_PROGRESS;
	if (children[REC_BLOCKED])
		return REC_BLOCKED;
	if (finished)
		return REC_IN_PROGRESS;
	return children[REC_READY] ? REC_READY : REC_BACKLOG;
}
