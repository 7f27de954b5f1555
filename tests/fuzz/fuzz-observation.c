/* fuzz-observation.c - what an event records of an observation: refused, or read so that it can be decided again, and
 * written once more it is read as the same. */
#include "engine/observation.h"
#include "fuzz.h"

static struct rec_verdict decide(struct rec_observation_record *record, enum rec_status stored)
{
	struct rec_observed_outcome outcome;
	record->input.stored = stored;
	rec_observe(&record->input, &outcome);
	require(outcome.write == REC_STATUS_ABSENT || rec_transition_path(stored, outcome.write, NULL) > 0);
	return outcome.verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_arena arena;
	struct rec_buffer text;
	struct rec_error error;
	struct rec_observation_record first, second;
	rec_arena_init(&arena, NULL);
	rec_buffer_init(&text, NULL, 1u << 20);
	int r = rec_observation_read((struct rec_slice){(const char *)data, size}, &arena, &first, &error);
	require(r == 0 || (r < 0 && error.message[0]));
	if (r == 0 && rec_observation_write(&text, &first.input) == 0 && text.length < 60000) {
		require(rec_observation_read(rec_buffer_slice(&text), &arena, &second, &error) == 0);
		for (unsigned stored = 0; stored < REC_STATUS_COUNT; stored++)
			require(rec_verdict_equal(decide(&first, (enum rec_status)stored),
						  decide(&second, (enum rec_status)stored)));
	}
	rec_buffer_release(&text);
	rec_arena_release(&arena);
	return 0;
}
