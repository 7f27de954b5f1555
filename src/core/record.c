/* record.c - the one behaviour of plain records: names. */
#include "core/record.h"

static const char *const texts[] = {
	[REC_OPEN] = "OPEN",
	[REC_ANSWERED] = "ANSWERED",
	[REC_RESOLVED] = "RESOLVED",
	[REC_BLOCKER_UNRECOGNISED] = "?",
};

const char *rec_blocker_status_text(enum rec_blocker_status s)
{
	return (unsigned)s <= REC_BLOCKER_UNRECOGNISED ? texts[s] : "?";
}

enum rec_blocker_status rec_blocker_status_parse(struct rec_slice text)
{
	unsigned s = REC_OPEN;
	while (s < REC_BLOCKER_UNRECOGNISED && !rec_slice_equal(text, rec_slice_of(texts[s])))
		s++;
	return (enum rec_blocker_status)s;
}

/* The position of `text` among `count` texts, or -1. */
static int text_find(const char *const *names, int count, struct rec_slice text)
{
	for (int i = 0; i < count; i++)
		if (rec_slice_equal(text, rec_slice_of(names[i])))
			return i;
	return -1;
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char *const batch_texts[] = {
	[REC_BATCH_RUNNING] = "RUNNING",
	[REC_BATCH_COMPLETED] = "COMPLETED",
	[REC_BATCH_PARTIAL] = "PARTIAL",
	[REC_BATCH_CANCELLED] = "CANCELLED",
};

const char *rec_batch_status_text(enum rec_batch_status s)
{
	return (unsigned)s <= REC_BATCH_CANCELLED ? batch_texts[s] : "?";
}

int rec_batch_status_parse(struct rec_slice text)
{
	return text_find(batch_texts, COUNT(batch_texts), text);
}

static const char *const stop_texts[] = {
	[REC_BATCH_GO_ON] = "",
	[REC_BATCH_DRAIN] = "drain",
	[REC_BATCH_FORCE] = "force",
};

const char *rec_batch_stop_text(enum rec_batch_stop s)
{
	return (unsigned)s <= REC_BATCH_FORCE ? stop_texts[s] : "?";
}

int rec_batch_stop_parse(struct rec_slice text)
{
	return text_find(stop_texts, COUNT(stop_texts), text);
}
