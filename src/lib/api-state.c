/* api-state.c - the batch state: the engine's belief and a count of what is not forgotten. */
#include "base/clock.h"
#include "lib/api.h"

int rec_batch_state_new(const struct rec_allocator *allocator, struct rec_batch_state **ret_state,
			struct rec_error *error)
{
	struct rec_batch_state *state = rec_zalloc(allocator, 1, sizeof *state);
	if (!state)
		return rec_fail_nomem(error);
	rec_belief_init(&state->belief, allocator, rec_random_u64());
	*ret_state = state;
	return 0;
}

struct rec_batch_state *rec_batch_state_free(struct rec_batch_state *state)
{
	if (!state)
		return NULL;
	const struct rec_allocator *a = state->belief.allocator;
	rec_belief_release(&state->belief);
	return rec_free(a, state);
}

/* ABSENT forgets. */
static int state_change(struct rec_batch_state *state, struct rec_slice id, enum rec_status status,
			struct rec_error *error)
{
	bool before = rec_belief_of(&state->belief, id) != REC_STATUS_ABSENT;
	int r = rec_belief_set(&state->belief, id, status, NULL, error);
	if (r)
		return r;
	state->held += status != REC_STATUS_ABSENT;
	state->held -= before;
	return 0;
}

int rec_batch_state_set(struct rec_batch_state *state, const char *task_id, enum rec_status status,
			struct rec_error *error)
{
	if ((unsigned)status >= REC_STATUS_COUNT)
		return rec_fail(error, REC_E_INVALID, "batch state: %d is none of the seven statuses", (int)status);
	return state_change(state, rec_slice_of(task_id), status, error);
}

int rec_batch_state_forget(struct rec_batch_state *state, const char *task_id, struct rec_error *error)
{
	struct rec_slice id = rec_slice_of(task_id);
	if (rec_belief_of(&state->belief, id) == REC_STATUS_ABSENT)
		return 0;
	return state_change(state, id, REC_STATUS_ABSENT, error);
}

enum rec_status rec_batch_state_get(const struct rec_batch_state *state, const char *task_id)
{
	return rec_belief_of(&state->belief, rec_slice_of(task_id));
}

size_t rec_batch_state_count(const struct rec_batch_state *state)
{
	return state->held;
}

/* ---- Parsing ---- */

static int text_parse(struct rec_belief *belief, struct rec_slice text, struct rec_error *error)
{
	struct rec_belief_parser parser;
	rec_belief_parser_init(&parser, belief, false);
	int r = rec_belief_parser_feed(&parser, text, error);
	if (r == 0)
		r = rec_belief_parser_finish(&parser, error);
	rec_belief_parser_release(&parser);
	return r;
}

/* Adds all of them or, if one is held already or memory runs out, none. */
static int belief_merge(struct rec_batch_state *state, const struct rec_belief *added, struct rec_error *error)
{
	char shown[128];
	size_t i;
	int r = 0;
	for (i = 0; i < added->count; i++)
		if (rec_belief_of(&state->belief, added->ids[i]) != REC_STATUS_ABSENT)
			return rec_fail(error, REC_E_INVALID,
					"batch state: \"%s\" is held already (forget it first, or set it)",
					rec_text_shown(shown, sizeof shown, added->ids[i]));
	for (i = 0; r == 0 && i < added->count; i++)
		r = state_change(state, added->ids[i], (enum rec_status)added->statuses[i], error);
	for (i--; r && i > 0; i--)
		(void)state_change(state, added->ids[i - 1], REC_STATUS_ABSENT, NULL);
	return r;
}

int rec_batch_state_parse(struct rec_batch_state *state, const char *bytes, size_t length, struct rec_error *error)
{
	struct rec_belief parsed;
	rec_belief_init(&parsed, state->belief.allocator, rec_random_u64());
	int r = text_parse(&parsed, (struct rec_slice){bytes, length}, error);
	if (r == 0)
		r = belief_merge(state, &parsed, error);
	rec_belief_release(&parsed);
	return r;
}
