/* fuzz-belief.c - the parser of batch states: whole or in pieces the answer is the same, and what is held is sound.
 *
 * The lowest bit of the first byte says whether the input is live updates, the others in pieces of which size the
 * rest is fed the second time.
 */
#include <string.h>

#include "base/text.h"
#include "engine/belief.h"
#include "fuzz.h"

static int parse(struct rec_belief *belief, bool live, struct rec_slice input, size_t piece, struct rec_error *error)
{
	struct rec_belief_parser parser;
	int r = 0;

	rec_belief_init(belief, NULL, 7);
	rec_belief_parser_init(&parser, belief, live);
	for (size_t at = 0; r == 0 && at < input.length; at += piece) {
		size_t length = input.length - at < piece ? input.length - at : piece;
		r = rec_belief_parser_feed(&parser, (struct rec_slice){input.data + at, length}, error);
	}
	if (r == 0)
		r = rec_belief_parser_finish(&parser, error);
	rec_belief_parser_release(&parser);
	return r;
}

/* Every id is an id, is found where it stands, and has a status that a batch can hold. */
static void check_belief(const struct rec_belief *belief, bool live)
{
	for (size_t i = 0; i < belief->count; i++) {
		require(rec_id_problem(belief->ids[i]) == NULL);
		require(belief->statuses[i] < REC_STATUS_COUNT || (live && belief->statuses[i] == REC_STATUS_ABSENT));
		require(rec_belief_of(belief, belief->ids[i]) == (enum rec_status)belief->statuses[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rec_belief whole, pieces;
	struct rec_error error, error_pieces;

	if (size == 0)
		return 0;
	bool live = data[0] & 1;
	struct rec_slice input = {(const char *)data + 1, size - 1};
	int r = parse(&whole, live, input, size, &error);
	require(parse(&pieces, live, input, (data[0] >> 1) % 32u + 1, &error_pieces) == r);
	if (r == 0) {
		require(whole.count == pieces.count);
		check_belief(&whole, live);
		for (size_t i = 0; i < whole.count; i++)
			require(rec_slice_equal(whole.ids[i], pieces.ids[i]) &&
				whole.statuses[i] == pieces.statuses[i]);
	} else {
		require(r < 0 && strcmp(error.message, error_pieces.message) == 0);
	}
	rec_belief_release(&whole);
	rec_belief_release(&pieces);
	return 0;
}
