/* selection.c - ids are taken literally here: a script that checks a list must get one result for each, "task
 * not found" included, and never one for another task that happens to begin the same way.
 */
#include "cli/selection.h"

#include "base/text.h"
#include "cli/input.h"
#include "cli/sync.h"

const char *const selection_kinds[] = {"tasks", "blockers", "trackers", NULL};

/* The first word is a kind if it is one and stands before "--"; so a task called "tasks" is `-- tasks`. */
static int read_kind(struct selection *selection, const struct arguments *arguments, size_t *ret_taken)
{
	const char *word = arguments->plain_count > 0 ? arguments->words[0] : "";
	*ret_taken = 1;
	selection->trackers = strcmp(word, "trackers") == 0;
	if (selection->trackers && strcmp(arguments_command(arguments)->name, "watch") == 0)
		return cli_fail(
			"watch trackers: is not in this version (sync asks them; a task called so: -- trackers)");
	if (strcmp(word, "tasks") == 0)
		selection->kind = REC_CHECK_TASKS;
	else if (strcmp(word, "blockers") == 0)
		selection->kind = REC_CHECK_BLOCKERS;
	else if (!selection->trackers)
		*ret_taken = 0;
	return STATUS_OK;
}

static int read_ids(struct selection *selection, struct cli *cli, const char *const *words, size_t count)
{
	char shown[REC_ID_BYTES_MAX + 1];
	if (count == 0)
		return STATUS_OK;
	selection->ids = rec_arena_alloc(&cli->arena, count * sizeof selection->ids[0]);
	if (!selection->ids)
		return cli_fail("out of memory");
	selection->id_count = count;
	for (size_t i = 0; i < count; i++) {
		selection->ids[i] = rec_slice_of(words[i]);
		const char *problem = rec_id_problem(selection->ids[i]);
		if (problem)
			return cli_fail("task id '%s': %s", rec_text_shown(shown, sizeof shown, selection->ids[i]),
					problem);
	}
	return STATUS_OK;
}

int selection_init(struct selection *selection, struct cli *cli, const struct arguments *arguments)
{
	size_t taken;
	*selection = (struct selection){.kind = REC_CHECK_MERGED};
	rec_belief_init(&selection->belief, NULL, rec_random_u64());
	selection->state_path = option_text(arguments, "batch-state");
	selection->batch = option_text(arguments, "batch");
	selection->believes = selection->state_path || selection->batch;
	if (selection->state_path && selection->batch)
		return cli_fail("--batch: stands beside --batch-state (give one of them)");
	int status = read_kind(selection, arguments, &taken);
	if (status)
		return status;
	return read_ids(selection, cli, arguments->words + taken, arguments->word_count - taken);
}

void selection_release(struct selection *selection)
{
	rec_belief_release(&selection->belief);
}

/* ---- Beliefs ------------------------------------------------------------------------------------ */

static int feed_state(void *context, struct rec_slice piece, struct rec_error *error)
{
	return rec_belief_parser_feed(context, piece, error);
}

int selection_read_state(struct selection *selection)
{
	struct rec_belief_parser parser;
	struct rec_error error;
	if (!selection->state_path)
		return STATUS_OK;
	rec_belief_parser_init(&parser, &selection->belief, false);
	int r = input_read(selection->state_path, feed_state, &parser, &error);
	if (r == 0) {
		r = rec_belief_parser_finish(&parser, &error);
		if (r < 0)
			rec_fail_context(&error, r, "%s", input_name(selection->state_path));
	}
	rec_belief_parser_release(&parser);
	return r < 0 ? cli_error(&error) : STATUS_OK;
}

/* Told each task of a batch; the error of a failed one waits here for the caller. */
struct batch_reading {
	struct rec_belief *belief;
	struct rec_error *error;
};

static int add_belief(void *context, struct rec_slice id, enum rec_status believed)
{
	struct batch_reading *reading = context;
	return rec_belief_set(reading->belief, id, believed, NULL, reading->error);
}

int selection_read_batch(struct selection *selection, struct cli *cli)
{
	struct rec_error error;
	struct batch_reading reading = {&selection->belief, &error};
	if (!selection->batch)
		return STATUS_OK;
	struct rec_slice id = rec_slice_of(selection->batch);
	int r = rec_store_batch_belief(cli->store, id, add_belief, &reading, &error);
	return cli_outcome(r, "batch", id, &error);
}

const struct rec_belief *selection_belief(const struct selection *selection)
{
	return selection->believes ? &selection->belief : NULL;
}

int selection_sync(const struct selection *selection, struct cli *cli, bool apply, uint64_t *ret_calls)
{
	static const struct rec_slice no_ids[1]; /* a batch of nothing is not every task */
	const struct rec_belief *belief = selection_belief(selection);
	struct rec_slice batch_id = rec_slice_of(selection->batch);
	if (selection->ids || !belief)
		return sync_pass(cli, selection->ids, selection->id_count, batch_id, apply, ret_calls);
	return sync_pass(cli, belief->count ? belief->ids : no_ids, belief->count, batch_id, apply, ret_calls);
}
