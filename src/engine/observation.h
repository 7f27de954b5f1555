/* observation.h - what a decision about a tracker's observation rested on, as one JSON object in an event, so that the
 * decision can be made again from it. Sans-IO. */
#ifndef REC_ENGINE_OBSERVATION_H
#define REC_ENGINE_OBSERVATION_H

#include "base/buffer.h"
#include "core/observe.h"

/* Appends {"url":...,"state":"closed",...,"known":{...}}: the observation, and under "known" what was remembered of the
 * link. What is absent is left out. 0, or the buffer's sticky failure. */
int rec_observation_write(struct rec_buffer *out, const struct rec_observe_input *input);

struct rec_observation_record {
	struct rec_link link;
	struct rec_observation observation;
	struct rec_observe_input input; /* of the two above; stored is for the caller to fill in */
};
/* Reads it back; texts live in `arena`. The record must not move afterwards. REC_E_INVALID (anything that was not
 * written so), REC_E_NOMEM. */
int rec_observation_read(struct rec_slice text, struct rec_arena *arena, struct rec_observation_record *ret_record,
			 struct rec_error *error);

#endif
