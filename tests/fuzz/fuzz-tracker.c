/* fuzz-tracker.c - a helper's line: whatever it is, an answer that holds what the protocol promises, or an error. */
#include <string.h>

#include "base/text.h"
#include "base/timestamp.h"
#include "fuzz.h"
#include "tracker/protocol.h"

static void check_observation(const struct rec_observation *o)
{
	int64_t us;
	require(o->url.data && rec_utf8_valid(o->url));
	require(o->state >= REC_OBSERVED_UNKNOWN && o->state <= REC_OBSERVED_UNCHANGED);
	require(o->kind >= REC_LINK_KIND_UNKNOWN && o->kind <= REC_LINK_PULL_REQUEST);
	require(!o->time.data || rec_timestamp_parse(o->time, &us) == 0);
	require(o->validator.length <= REC_VALIDATOR_BYTES_MAX);
	require(o->moved_to.length <= REC_LINK_URL_BYTES_MAX && (!o->moved_to.data || o->moved_to.length));
	require(!o->has_comments || o->comments >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_arena arena;
	struct rec_protocol_answer answer;
	struct rec_error error = {.code = 0};
	rec_arena_init(&arena, NULL);
	int r = rec_protocol_parse((struct rec_slice){(const char *)data, size}, &arena, &answer, &error);
	if (r == 0) {
		for (size_t i = 0; i < answer.observation_count; i++)
			check_observation(&answer.observations[i]);
		for (size_t i = 0; i < answer.cursor_count; i++)
			require(answer.cursors[i].key.length &&
				answer.cursors[i].key.length <= REC_CURSOR_KEY_BYTES_MAX &&
				answer.cursors[i].value.length <= REC_VALIDATOR_BYTES_MAX);
		rec_protocol_answer_release(&answer, NULL);
	} else {
		require(r == REC_E_INVALID && error.code == r && error.message[0]);
	}
	rec_arena_release(&arena);
	return 0;
}
