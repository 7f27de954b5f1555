/* slots.c - the names of what slots say, for logs and traces. */
#include "conductor/slots.h"

static const char *const texts[] = {
	[REC_SLOT_RUNNING] = "RUNNING", [REC_SLOT_ENDED] = "ENDED", [REC_SLOT_VOID] = "VOID",
	[REC_SLOT_LOST] = "LOST",       [REC_SLOT_LIFE] = "LIFE",
};

const char *rec_slot_event_text(enum rec_slot_event_kind kind)
{
	return kind >= REC_SLOT_RUNNING && kind <= REC_SLOT_LIFE ? texts[kind] : "?";
}
