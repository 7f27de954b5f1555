/* record.c - the one behaviour of plain records: the names of blocker statuses. */
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
